//! Two-dimensional convolution: what `conv2d` and `depthwise_conv2d` share.
//!
//! With stride 1 an image convolved is a product of the filters with shifted views of the padded image, so no windows are
//! copied. Other strides copy windows side by side (as columns) and multiply matrices; for filters of one pixel the image
//! itself is that matrix.

use oarlock_ir::{
    AttrView, Dim, Grad, In, Infer, Io, Kernel, Kind, Out, Prepare, Result, Sig, VarType, by_float, fail, kernel,
};
use oarlock_tensor::gemm::{GemmElem, Mat, gemm, gemm_inline};
use oarlock_tensor::simd::{Pairs, Shifted, shifted_dots, shifted_product};
use oarlock_tensor::{Dims, Pool};

use crate::sliding::{self, Format, Padding};

/// Attributes of library-specific fusions; only their neutral values mean the same here.
const FUSED: [&str; 5] =
    ["fuse_relu", "fuse_brelu", "fuse_residual_connection", "fuse_relu_before_depthwise_conv", "force_fp32_output"];

/// The signature of the forward operator.
pub(crate) fn sig(op_type: &'static str, doc: &'static str) -> Sig {
    let sig = Sig::new(op_type, doc)
        .input("Input", "images [n, channels, h, w], f32 or f64")
        .input("Filter", "[out channels, channels / groups, kernel h, kernel w]")
        .optional_input("Bias", "only in programs rewritten for another library; refused")
        .optional_input("ResidualData", "only in programs rewritten for another library; refused")
        .output("Output", "[n, out channels, out h, out w]");
    attrs(sig)
}

/// The signature of the gradient operator.
pub(crate) fn grad_sig(op_type: &'static str, doc: &'static str) -> Sig {
    let sig = Sig::new(op_type, doc)
        .input("Input", "of the forward operator")
        .input("Filter", "of the forward operator")
        .optional_input("Bias", "of the forward operator; refused there")
        .input("Output@GRAD", "gradient of `Output`")
        .optional_output("Input@GRAD", "gradient of `Input`")
        .optional_output("Filter@GRAD", "gradient of `Filter`")
        .optional_output("Bias@GRAD", "never made");
    attrs(sig)
}

fn attrs(sig: Sig) -> Sig {
    let sig = sig
        .attr("strides", vec![1, 1], "steps of the window, vertical and horizontal")
        .attr("paddings", vec![0, 0], "zeros around the image: vertical, horizontal; or top, bottom, left, right")
        .attr(
            "padding_algorithm",
            "EXPLICIT",
            "EXPLICIT uses `paddings`; SAME keeps the size (over the stride); VALID pads nothing",
        )
        .attr("dilations", vec![1, 1], "distance of the window's elements; 1 with SAME")
        .attr("groups", 1, "channels are cut into so many parts that do not mix")
        .attr("data_format", "NCHW", "NCHW or NHWC; the filter is the same for both")
        .attr("fuse_activation", "", "only in programs rewritten for another library; refused")
        .hints(&[
            "workspace_size_MB",
            "exhaustive_search",
            "Scale_in",
            "Scale_out",
            "Scale_in_eltwise",
            "Scale_weights",
        ])
        .hints(&["fuse_alpha", "fuse_beta", "fuse_brelu_threshold"]);
    FUSED.iter().fold(sig, |sig, name| sig.attr(name, false, "only in programs rewritten for another library; refused"))
}

/// The attributes.
#[derive(Debug, Clone, Copy)]
struct Params {
    strides: [usize; 2],
    dilations: [usize; 2],
    padding: Padding,
    groups: usize,
    format: Format,
}

impl Params {
    fn new(attrs: &AttrView<'_>) -> Result<Params> {
        let fused = FUSED.iter().any(|name| attrs.flag(name)) || !attrs.str("fuse_activation")?.is_empty();
        if fused {
            fail!(
                Kind::Argument,
                "the convolution was fused with other operators for another library; save the program without that"
            );
        }
        let padding = Padding::new(attrs)?;
        let groups = attrs.count("groups")?;
        if groups == 0 {
            fail!(Kind::Argument, "attribute `groups` must be above 0");
        }
        let dilations = if padding == Padding::Same { [1, 1] } else { sliding::pair(attrs, "dilations")? };
        let format = Format::new(attrs, "data_format")?;
        Ok(Params { strides: sliding::pair(attrs, "strides")?, dilations, padding, groups, format })
    }

    fn side(&self, axis: usize, n: usize, kernel: usize) -> Option<Side> {
        let (stride, dilation) = (self.strides[axis], self.dilations[axis]);
        let (before, after) = self.padding.around(axis, n, kernel, stride);
        let span = dilation * kernel.checked_sub(1)? + 1;
        let out = (n + before + after).checked_sub(span)? / stride + 1;
        Some(Side { n, before, after, kernel, stride, dilation, out })
    }
}

/// One axis of a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Side {
    n: usize,
    before: usize,
    after: usize,
    kernel: usize,
    stride: usize,
    dilation: usize,
    out: usize,
}

impl Side {
    fn padded(&self) -> usize {
        self.n + self.before + self.after
    }

    /// The same axis of the convolution that leads gradients back, if padding does not exceed the window.
    fn backward(&self) -> Option<Side> {
        let reach = self.dilation * (self.kernel - 1);
        let before = reach.checked_sub(self.before)?;
        let after = (self.n + reach).checked_sub(self.out + before)?;
        Some(Side { n: self.out, out: self.n, before, after, ..*self })
    }
}

/// Sizes of one run.
#[derive(Debug, Clone, Copy)]
struct Conv {
    images: usize,
    groups: usize,
    /// Channels of a group.
    channels: usize,
    /// Output channels of a group.
    filters: usize,
    y: Side,
    x: Side,
}

impl Conv {
    fn image_len(&self) -> usize {
        self.groups * self.channels * self.y.n * self.x.n
    }

    fn out_len(&self) -> usize {
        self.groups * self.filters * self.pixels()
    }

    /// Pixels of an output channel.
    fn pixels(&self) -> usize {
        self.y.out * self.x.out
    }

    /// Elements of one filter.
    fn terms(&self) -> usize {
        self.channels * self.y.kernel * self.x.kernel
    }

    /// Windows are single pixels, so the image is already the matrix of columns.
    fn pointwise(&self) -> bool {
        let one = |s: &Side| s.kernel == 1 && s.stride == 1 && s.before + s.after == 0;
        one(&self.y) && one(&self.x)
    }

    /// The plane of one group, if shifted views do.
    fn plane(&self) -> Option<Plane> {
        let shifts = self.y.stride == 1 && self.x.stride == 1 && !self.pointwise();
        shifts.then_some(Plane { channels: self.channels, filters: self.filters, y: self.y, x: self.x })
    }

    /// The plane of one group for gradients of the input, if shifted views do.
    fn backward_plane(&self) -> Option<Plane> {
        let plane = self.plane()?;
        Some(Plane { channels: self.filters, filters: self.channels, y: plane.y.backward()?, x: plane.x.backward()? })
    }
}

/// Infers `Output`.
pub(crate) fn infer(cx: &mut Infer<'_>) -> Result<()> {
    let params = Params::new(&cx.attrs())?;
    if cx.has("Bias") || cx.has("ResidualData") {
        fail!(
            Kind::Argument,
            "`{}` with `Bias` or `ResidualData` was made for another library; add them by operators of their own",
            cx.op().op_type
        );
    }
    let (input, filter) = (cx.float("Input")?, cx.float("Filter")?);
    let parts = (params.format.split(&input.shape), Format::Nchw.split(&filter.shape));
    let (Some((c, h, w)), Some((per_group, kh, kw))) = parts else {
        return Err(cx.shape_error(format_args!(
            "needs images and filters of four sizes, but has {} and {}",
            cx.describe("Input"),
            cx.describe("Filter")
        )));
    };
    let filters = filter.shape[0];
    check_channels(cx, &params, c, per_group, filters)?;
    let out = |axis: usize, n: Dim, k: Dim| match (n.known(), k.known()) {
        (Some(n), Some(k)) => match params.side(axis, n, k) {
            Some(side) => Ok(Dim::Is(side.out)),
            None => Err(cx.shape_error(format_args!(
                "has a window larger than the image: {} over {}",
                cx.describe("Filter"),
                cx.describe("Input")
            ))),
        },
        _ => Ok(Dim::Any),
    };
    let shape = params.format.join(input.shape[0], filters, out(0, h, kh)?, out(1, w, kw)?);
    cx.set("Output", VarType::tensor(input.dtype, shape.to_vec()));
    Ok(())
}

fn check_channels(cx: &Infer<'_>, params: &Params, c: Dim, per_group: Dim, filters: Dim) -> Result<()> {
    let expected = per_group.known().map_or(Dim::Any, |n| Dim::Is(n * params.groups));
    let whole = filters.known().is_none_or(|n| n % params.groups == 0);
    if c.fits(expected) && whole {
        return Ok(());
    }
    Err(cx
        .shape_error(format_args!(
            "cannot apply {} to {} in {} groups",
            cx.describe("Filter"),
            cx.describe("Input"),
            params.groups
        ))
        .help("a filter has channels / groups channels, and there are as many filters in every group"))
}

/// Infers the gradients.
pub(crate) fn infer_grad(cx: &mut Infer<'_>) -> Result<()> {
    cx.grads_of(&["Input", "Filter"])
}

/// Emits the gradient operator.
pub(crate) fn grad(g: &mut Grad<'_>, op_type: &str) -> Result<()> {
    let reads = ["Bias", "Filter", "Input", "Output@GRAD"];
    g.emit(op_type, &reads, &["Bias@GRAD", "Filter@GRAD", "Input@GRAD"])
}

/// The sizes of a run, checked again because images are the user's.
fn sizes(io: &Io<'_>, input: In, params: &Params, image: &Dims, filter: &Dims) -> Result<Conv> {
    let parts = params.format.split(image).zip(Format::Nchw.split(filter));
    let conv = parts.and_then(|((c, h, w), (per_group, kh, kw))| {
        let fits = c == per_group * params.groups && filter[0].is_multiple_of(params.groups) && filter.numel() > 0;
        fits.then_some(Conv {
            images: image[0],
            groups: params.groups,
            channels: per_group,
            filters: filter[0] / params.groups,
            y: params.side(0, h, kh)?,
            x: params.side(1, w, kw)?,
        })
    });
    conv.ok_or_else(|| {
        io.error(Kind::Shape, input, format_args!("has sizes {image}, which filters {filter} do not fit"))
    })
}

/// The kernel of the forward operator.
pub(crate) fn forward_kernel(p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
    let (input, filter, output) = (p.input("Input")?, p.input("Filter")?, p.output("Output")?);
    let params = Params::new(&p.attrs())?;
    by_float!(p.float("Input")?, T => {
        let mut scratch = Scratch::<T>::default();
        kernel(move |io| forward(io, (input, filter), output, &params, &mut scratch))
    })
}

fn forward<T: GemmElem>(
    io: &Io<'_>,
    (input, filter): (In, In),
    output: Out,
    params: &Params,
    scratch: &mut Scratch<T>,
) -> Result<()> {
    let (image_tensor, filter_tensor) = (io.dense(input)?, io.dense(filter)?);
    let conv = sizes(io, input, params, image_tensor.dims(), filter_tensor.dims())?;
    let filters = io.data::<T>(filter, &filter_tensor)?;
    let shape = params.format.join(conv.images, conv.groups * conv.filters, conv.y.out, conv.x.out);
    let mut t = io.out_sized(output, T::DTYPE, Dims::from(shape))?;
    let Scratch { images, results, tasks, .. } = scratch;
    let images = params.format.to_nchw(image_tensor.dims(), io.data::<T>(input, &image_tensor)?, images);
    let dims = *t.dims();
    params.format.fill_nchw(&dims, io.data_mut::<T>(output, &mut t)?, results, |out| {
        each_image(io.pool(), tasks, out, conv.out_len(), |i, task, out| {
            let image = &images[i * conv.image_len()..][..conv.image_len()];
            convolve(&conv, image, filters, out, task);
        });
        Ok(())
    })
}

/// Memory that stays from run to run.
struct Scratch<T> {
    /// Images and results in the order NCHW, if they come in another one.
    images: Vec<T>,
    results: Vec<T>,
    /// Filters turned round, for gradients.
    turned: Vec<T>,
    /// Padded images and spread gradients of several images.
    padded: Vec<T>,
    spread: Vec<T>,
    /// One for each thread.
    tasks: Vec<Task<T>>,
}

impl<T> Default for Scratch<T> {
    fn default() -> Scratch<T> {
        Scratch {
            images: Vec::new(),
            results: Vec::new(),
            turned: Vec::new(),
            padded: Vec::new(),
            spread: Vec::new(),
            tasks: Vec::new(),
        }
    }
}

/// Memory of one thread.
struct Task<T> {
    padded: Vec<T>,
    wide: Vec<T>,
    starts: Vec<usize>,
}

impl<T> Default for Task<T> {
    fn default() -> Task<T> {
        Task { padded: Vec::new(), wide: Vec::new(), starts: Vec::new() }
    }
}

/// Runs `work` for every image and its part of `out`, `len` elements; images are shared out among threads.
fn each_image<T: GemmElem>(
    pool: &Pool,
    tasks: &mut Vec<Task<T>>,
    out: &mut [T],
    len: usize,
    work: impl Fn(usize, &mut Task<T>, &mut [T]) + Sync,
) {
    if len == 0 {
        return;
    }
    let images = out.len() / len;
    let share = images.div_ceil(pool.threads()).max(1);
    tasks.resize_with(images.div_ceil(share), Task::default);
    let run = |part: usize, task: &mut Task<T>, out: &mut [T]| {
        for (i, out) in out.chunks_exact_mut(len).enumerate() {
            work(part * share + i, task, out);
        }
    };
    if let [task] = &mut tasks[..] {
        return run(0, task, out);
    }
    let mut parts: Vec<_> = tasks.iter_mut().zip(out.chunks_mut(share * len)).collect();
    pool.pieces(&mut parts, 1, |i, part| run(i, part[0].0, part[0].1));
}

/// One image.
fn convolve<T: GemmElem>(conv: &Conv, image: &[T], filters: &[T], out: &mut [T], task: &mut Task<T>) {
    let (image_len, out_len) = (conv.image_len() / conv.groups, conv.out_len() / conv.groups);
    let filter_len = conv.filters * conv.terms();
    for g in 0..conv.groups {
        let image = &image[g * image_len..][..image_len];
        let filters = &filters[g * filter_len..][..filter_len];
        let out = &mut out[g * out_len..][..out_len];
        match conv.plane() {
            Some(plane) => plane.convolve(image, filters, out, task),
            None => {
                let columns = columns(conv, image, &mut task.wide);
                let left = Mat::new(filters, conv.filters, conv.terms());
                gemm_inline(out, left, Mat::new(columns, conv.terms(), conv.pixels()), T::ONE, T::ZERO);
            }
        }
    }
}

/// A convolution of stride 1 within one group, by shifted views.
#[derive(Debug, Clone, Copy)]
struct Plane {
    channels: usize,
    filters: usize,
    y: Side,
    x: Side,
}

/// Rows of shifted views are a multiple of this, so that no register is filled partly.
const ROUND: usize = 16;

impl Plane {
    /// Elements of a padded channel.
    fn padded(&self) -> usize {
        self.y.padded() * self.x.padded()
    }

    /// The length of a shifted view: all output rows at the distance of padded rows.
    fn len(&self) -> usize {
        ((self.y.out - 1) * self.x.padded() + self.x.out).next_multiple_of(ROUND)
    }

    /// Elements of a padded image: the last views reach beyond its end.
    fn buffer(&self) -> usize {
        let reach = |s: &Side| s.dilation * (s.kernel - 1);
        let last = (self.channels - 1) * self.padded() + reach(&self.y) * self.x.padded() + reach(&self.x);
        (last + self.len()).max(self.channels * self.padded())
    }

    /// Where the views of all elements of a filter start.
    fn starts(&self, starts: &mut Vec<usize>) {
        starts.clear();
        for c in 0..self.channels {
            for y in 0..self.y.kernel {
                let row = c * self.padded() + y * self.y.dilation * self.x.padded();
                starts.extend((0..self.x.kernel).map(|x| row + x * self.x.dilation));
            }
        }
    }

    /// Copies an image into the middle of zeros.
    fn pad<T: GemmElem>(&self, image: &[T], to: &mut [T]) {
        to.fill(T::ZERO);
        let pixels = self.y.n * self.x.n;
        for c in 0..self.channels {
            let to = &mut to[c * self.padded() + self.y.before * self.x.padded() + self.x.before..];
            spread(&image[c * pixels..][..pixels], self.x.n, to, self.x.padded());
        }
    }

    fn convolve<T: GemmElem>(&self, image: &[T], filters: &[T], out: &mut [T], task: &mut Task<T>) {
        let Task { padded, wide, starts } = task;
        self.starts(starts);
        padded.resize(self.buffer(), T::ZERO);
        self.pad(image, padded);
        wide.resize(self.filters * self.len(), T::ZERO);
        shifted_product(wide, filters, Shifted::new(padded, starts, self.len()));
        let pixels = self.y.out * self.x.out;
        for (out, wide) in out.chunks_exact_mut(pixels).zip(wide.chunks_exact(self.len())) {
            let rows = out.chunks_exact_mut(self.x.out).zip(wide.chunks(self.x.padded()));
            rows.for_each(|(out, wide)| out.copy_from_slice(&wide[..self.x.out]));
        }
    }
}

/// Copies rows of `width` elements to places `stride` apart.
fn spread<T: GemmElem>(rows: &[T], width: usize, to: &mut [T], stride: usize) {
    for (row, to) in rows.chunks_exact(width).zip(to.chunks_mut(stride)) {
        to[..width].copy_from_slice(row);
    }
}

/// The windows of one group of an image side by side: a column per output pixel, a row per element of the window.
fn columns<'a, T: GemmElem>(conv: &Conv, image: &'a [T], scratch: &'a mut Vec<T>) -> &'a [T] {
    if conv.pointwise() {
        return image;
    }
    let (y, x) = (conv.y, conv.x);
    scratch.resize(conv.terms() * conv.pixels(), T::ZERO);
    let window = y.kernel * x.kernel;
    for (row, to) in scratch.chunks_exact_mut(conv.pixels()).enumerate() {
        let channel = &image[row / window * y.n * x.n..][..y.n * x.n];
        let (ky, kx) = (row % window / x.kernel, row % x.kernel);
        for (oy, to) in to.chunks_exact_mut(x.out).enumerate() {
            match inside(&y, oy, ky) {
                Some(iy) => copy_row(&x, kx, &channel[iy * x.n..][..x.n], to),
                None => to.fill(T::ZERO),
            }
        }
    }
    scratch
}

/// The input position of output position `out` and window position `k`, if it is not padding.
fn inside(side: &Side, out: usize, k: usize) -> Option<usize> {
    (out * side.stride + k * side.dilation).checked_sub(side.before).filter(|&i| i < side.n)
}

fn copy_row<T: GemmElem>(x: &Side, kx: usize, from: &[T], to: &mut [T]) {
    for (ox, to) in to.iter_mut().enumerate() {
        *to = inside(x, ox, kx).map_or(T::ZERO, |ix| from[ix]);
    }
}

/// Adds columns back to the pixels they were copied from.
fn add_columns<T: GemmElem>(conv: &Conv, columns: &[T], image: &mut [T]) {
    let (y, x) = (conv.y, conv.x);
    let window = y.kernel * x.kernel;
    for (row, from) in columns.chunks_exact(conv.pixels()).enumerate() {
        let channel = &mut image[row / window * y.n * x.n..][..y.n * x.n];
        let (ky, kx) = (row % window / x.kernel, row % x.kernel);
        for (oy, from) in from.chunks_exact(x.out).enumerate() {
            let Some(iy) = inside(&y, oy, ky) else { continue };
            for (ox, &v) in from.iter().enumerate() {
                if let Some(ix) = inside(&x, ox, kx) {
                    channel[iy * x.n + ix] += v;
                }
            }
        }
    }
}

/// The kernel of the gradient operator.
pub(crate) fn backward_kernel(p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
    let inputs = (p.input("Input")?, p.input("Filter")?, p.input("Output@GRAD")?);
    let outputs = (p.maybe_output("Input@GRAD")?, p.maybe_output("Filter@GRAD")?);
    let params = Params::new(&p.attrs())?;
    by_float!(p.float("Input")?, T => {
        let mut scratch = Scratch::<T>::default();
        kernel(move |io| backward(io, inputs, outputs, &params, &mut scratch))
    })
}

fn backward<T: GemmElem>(
    io: &Io<'_>,
    (input, filter, dout): (In, In, In),
    (dinput, dfilter): (Option<Out>, Option<Out>),
    params: &Params,
    scratch: &mut Scratch<T>,
) -> Result<()> {
    let (image_tensor, filter_tensor, dout_tensor) = (io.dense(input)?, io.dense(filter)?, io.dense(dout)?);
    let conv = sizes(io, input, params, image_tensor.dims(), filter_tensor.dims())?;
    let filters = io.data::<T>(filter, &filter_tensor)?;
    let mut moved = Vec::new();
    let d = params.format.to_nchw(dout_tensor.dims(), io.data::<T>(dout, &dout_tensor)?, &mut moved);
    if d.len() != conv.images * conv.out_len() {
        let what = format_args!("has sizes {}, which are not those of the output", dout_tensor.dims());
        return Err(io.error(Kind::Shape, dout, what));
    }
    if let Some(dinput) = dinput {
        let mut t = io.out_sized(dinput, T::DTYPE, *image_tensor.dims())?;
        let dims = *t.dims();
        let Scratch { results, turned, tasks, .. } = &mut *scratch;
        params.format.fill_nchw(&dims, io.data_mut::<T>(dinput, &mut t)?, results, |dx| {
            input_grad(&conv, io.pool(), filters, d, dx, turned, tasks);
            Ok(())
        })?;
    }
    if let Some(dfilter) = dfilter {
        let mut t = io.out_sized(dfilter, T::DTYPE, *filter_tensor.dims())?;
        let dw = io.data_mut::<T>(dfilter, &mut t)?;
        let mut moved = std::mem::take(&mut scratch.images);
        let images = params.format.to_nchw(image_tensor.dims(), io.data::<T>(input, &image_tensor)?, &mut moved);
        filter_grad(&conv, io.pool(), images, d, dw, scratch);
        scratch.images = moved;
    }
    Ok(())
}

fn input_grad<T: GemmElem>(
    conv: &Conv,
    pool: &Pool,
    filters: &[T],
    d: &[T],
    dx: &mut [T],
    turned: &mut Vec<T>,
    tasks: &mut Vec<Task<T>>,
) {
    let (image_len, out_len) = (conv.image_len() / conv.groups, conv.out_len() / conv.groups);
    let filter_len = conv.filters * conv.terms();
    let plane = conv.backward_plane();
    if plane.is_some() {
        turn_filters(conv, filters, turned);
    }
    each_image(pool, tasks, dx, conv.image_len(), |i, task, dx| {
        for g in 0..conv.groups {
            let d = &d[i * conv.out_len() + g * out_len..][..out_len];
            let dx = &mut dx[g * image_len..][..image_len];
            let part = g * filter_len..(g + 1) * filter_len;
            match &plane {
                Some(plane) => plane.convolve(d, &turned[part], dx, task),
                None => input_grad_by_columns(conv, &filters[part], d, dx, &mut task.wide),
            }
        }
    });
}

/// Filters of the convolution that leads gradients back: channels and filters exchanged, windows turned by 180 degrees.
fn turn_filters<T: GemmElem>(conv: &Conv, filters: &[T], turned: &mut Vec<T>) {
    let window = conv.y.kernel * conv.x.kernel;
    turned.resize(filters.len(), T::ZERO);
    for (i, from) in filters.chunks_exact(window).enumerate() {
        let (g, f, c) = (i / conv.channels / conv.filters, i / conv.channels % conv.filters, i % conv.channels);
        let to = &mut turned[((g * conv.channels + c) * conv.filters + f) * window..][..window];
        to.iter_mut().zip(from.iter().rev()).for_each(|(to, from)| *to = *from);
    }
}

fn input_grad_by_columns<T: GemmElem>(conv: &Conv, filters: &[T], d: &[T], dx: &mut [T], scratch: &mut Vec<T>) {
    let left = Mat::new(filters, conv.filters, conv.terms()).t();
    let right = Mat::new(d, conv.filters, conv.pixels());
    if conv.pointwise() {
        return gemm_inline(dx, left, right, T::ONE, T::ZERO);
    }
    scratch.resize(conv.terms() * conv.pixels(), T::ZERO);
    gemm_inline(scratch, left, right, T::ONE, T::ZERO);
    dx.fill(T::ZERO);
    add_columns(conv, scratch, dx);
}

fn filter_grad<T: GemmElem>(conv: &Conv, pool: &Pool, images: &[T], d: &[T], dw: &mut [T], scratch: &mut Scratch<T>) {
    dw.fill(T::ZERO);
    if dw.is_empty() || d.is_empty() {
        return;
    }
    match conv.plane() {
        Some(plane) => {
            for g in 0..conv.groups {
                filter_grad_by_shifts(conv, &plane, pool, g, images, d, dw, scratch);
            }
        }
        None => filter_grad_by_columns(conv, pool, images, d, dw, &mut scratch.padded),
    }
}

/// Image after image, so the sum does not depend on threads; large products use them all.
fn filter_grad_by_columns<T: GemmElem>(
    conv: &Conv,
    pool: &Pool,
    images: &[T],
    d: &[T],
    dw: &mut [T],
    scratch: &mut Vec<T>,
) {
    let (image_len, out_len) = (conv.image_len() / conv.groups, conv.out_len() / conv.groups);
    for (part, (image, d)) in images.chunks_exact(image_len).zip(d.chunks_exact(out_len)).enumerate() {
        let columns = columns(conv, image, scratch);
        let right = Mat::new(columns, conv.terms(), conv.pixels()).t();
        let len = conv.filters * conv.terms();
        let dw = &mut dw[part % conv.groups * len..][..len];
        gemm(pool, dw, Mat::new(d, conv.filters, conv.pixels()), right, T::ONE, T::ONE);
    }
}

/// Elements of padded images and spread gradients that are prepared at once: what a cache of the second level holds.
const GROUP: usize = 1 << 17;

/// Dot products of gradients, spread to the distance of padded rows, with shifted views of padded images; several images at a
/// time. Threads share out filters, so each sum has one order.
#[expect(clippy::too_many_arguments, reason = "one call site; the arguments are those of its caller")]
fn filter_grad_by_shifts<T: GemmElem>(
    conv: &Conv,
    plane: &Plane,
    pool: &Pool,
    group: usize,
    images: &[T],
    d: &[T],
    dw: &mut [T],
    scratch: &mut Scratch<T>,
) {
    let (image_len, out_len) = (conv.image_len() / conv.groups, conv.out_len() / conv.groups);
    let filter_len = conv.filters * conv.terms();
    let dw = &mut dw[group * filter_len..][..filter_len];
    let (right_stride, left_stride) = (plane.buffer(), plane.filters * plane.len());
    let at_once = (GROUP / (right_stride + left_stride)).clamp(1, conv.images);
    scratch.tasks.resize_with(scratch.tasks.len().max(1), Task::default);
    let Scratch { padded, spread: wide, tasks, .. } = scratch;
    plane.starts(&mut tasks[0].starts);
    let starts = &tasks[0].starts;
    padded.resize(at_once * right_stride, T::ZERO);
    wide.resize(at_once * left_stride, T::ZERO);
    for first in (0..conv.images).step_by(at_once) {
        let count = at_once.min(conv.images - first);
        for i in 0..count {
            let at = (first + i) * conv.groups + group;
            plane.pad(&images[at * image_len..][..image_len], &mut padded[i * right_stride..][..right_stride]);
            let wide = &mut wide[i * left_stride..][..left_stride];
            wide.fill(T::ZERO);
            let filters = wide.chunks_exact_mut(plane.len()).zip(d[at * out_len..].chunks_exact(conv.pixels()));
            filters.for_each(|(wide, d)| spread(d, plane.x.out, wide, plane.x.padded()));
        }
        let right = Shifted::new(padded, starts, plane.len());
        pool.pieces(dw, TILE * conv.terms(), |i, dw| {
            let left = &wide[i * TILE * plane.len()..];
            let pairs = Pairs { left, left_stride, right_stride, count };
            shifted_dots(dw, dw.len() / conv.terms(), pairs, right);
        });
    }
}

/// Filters whose gradients one task computes.
const TILE: usize = 4;
