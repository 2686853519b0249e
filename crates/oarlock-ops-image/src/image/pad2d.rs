//! `pad2d`: images with a value, their mirror image or their edges around them.

use oarlock_ir::{
    AttrView, Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, Traits, VarType,
};
use oarlock_ir::{by_float, fail, kernel};
use oarlock_ops_support::int_list::IntList;
use oarlock_ops_support::sliding_window::{Axes, Format};
use oarlock_tensor::{Dims, Element, Float, Tensor, by_element};

pub(crate) const OPS: &[&dyn OpDef] = &[&Pad2d, &GRAD];

fn with_attrs(sig: Sig) -> Sig {
    sig.optional_input("Paddings", "[4], i32; replaces `paddings`")
        .required_attr("paddings", "how much is added above, below, left, right")
        .attr("mode", "constant", "constant: `pad_value`; reflect: the mirror image without the edge; edge: the edge")
        .attr("pad_value", 0.0f32, "what is added")
        .attr("data_format", "NCHW", "NCHW or NHWC")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Constant,
    Reflect,
    Edge,
}

#[derive(Debug, Clone, Copy)]
struct Params {
    mode: Mode,
    value: f32,
    format: Format,
}

impl Params {
    fn new(attrs: &AttrView<'_>) -> Result<Params> {
        let mode = match attrs.str("mode")? {
            "constant" => Mode::Constant,
            "reflect" => Mode::Reflect,
            "edge" => Mode::Edge,
            other => fail!(Kind::Argument, "attribute `mode` is `{other}`; it can be `constant`, `reflect` or `edge`"),
        };
        Ok(Params { mode, value: attrs.f32("pad_value")?, format: Format::new(attrs, "data_format")? })
    }

    /// The pixel of an axis of `n` that stands `i` pixels behind the start of the padded one; `None` for the value.
    fn source(&self, i: usize, before: usize, n: usize) -> Option<usize> {
        let place = i as i64 - before as i64;
        let last = n as i64 - 1;
        let found = match self.mode {
            Mode::Constant => place,
            Mode::Edge => place.clamp(0, last),
            Mode::Reflect => place.abs().min(2 * last - place),
        };
        usize::try_from(found).ok().filter(|&i| i < n)
    }

    /// Can an axis of `n` pixels be padded so?
    fn allows(&self, n: usize, before: usize, after: usize) -> bool {
        match self.mode {
            Mode::Constant => true,
            Mode::Edge => n > 0,
            Mode::Reflect => before.max(after) < n,
        }
    }
}

/// A batch and how it is padded.
struct Sizes {
    images: usize,
    channels: usize,
    image: [usize; 2],
    /// Above, below, left, right.
    pads: [usize; 4],
}

impl Sizes {
    fn new(io: &Io<'_>, x: In, dims: &Dims, params: &Params, list: &IntList, scratch: &mut Vec<i64>) -> Result<Sizes> {
        list.read(io, scratch)?;
        let pads: Option<Vec<usize>> = scratch.iter().map(|&v| usize::try_from(v).ok()).collect();
        let pads = pads.and_then(|p| <[usize; 4]>::try_from(p).ok());
        let image = params.format.split_dims(Axes::Image, dims);
        let Some(((channels, [_, h, w]), pads)) = image.zip(pads) else {
            return Err(io.error(
                Kind::Shape,
                x,
                format_args!("has sizes {dims}, which cannot be padded by {scratch:?}"),
            ));
        };
        if !params.allows(h, pads[0], pads[1]) || !params.allows(w, pads[2], pads[3]) {
            let what = format_args!("has sizes {dims}, too small to be padded by {pads:?} with what is there");
            return Err(io.error(Kind::Shape, x, what));
        }
        Ok(Sizes { images: dims[0], channels, image: [h, w], pads })
    }

    fn out(&self) -> [usize; 2] {
        [self.image[0] + self.pads[0] + self.pads[1], self.image[1] + self.pads[2] + self.pads[3]]
    }

    /// Calls `f` for every element of the result with where it comes from.
    fn each(&self, params: &Params, mut f: impl FnMut(usize, Option<usize>)) {
        let ([h, w], [out_h, out_w]) = (self.image, self.out());
        // Channels last are pixels of several elements.
        let (planes, width) = match params.format {
            Format::ChannelsFirst => (self.images * self.channels, 1),
            Format::ChannelsLast => (self.images, self.channels),
        };
        let mut to = 0;
        for plane in 0..planes {
            for y in 0..out_h {
                let line = params.source(y, self.pads[0], h).map(|y| (plane * h + y) * w);
                for x in 0..out_w {
                    let pixel = line.zip(params.source(x, self.pads[2], w)).map(|(line, x)| (line + x) * width);
                    for c in 0..width {
                        f(to, pixel.map(|p| p + c));
                        to += 1;
                    }
                }
            }
        }
    }
}

struct Pad2d;

impl OpDef for Pad2d {
    fn sig(&self) -> Sig {
        let sig = Sig::new("pad2d", "Out = X with pixels around it").input("X", "images of four sizes");
        with_attrs(sig.output("Out", "larger images"))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, params) = (cx.input("X")?, Params::new(&cx.attrs())?);
        let pads = if cx.has("Paddings") {
            None
        } else {
            Some(oarlock_ops_support::sliding_window::sizes(&cx.attrs(), "paddings")?)
        };
        let parts =
            params.format.split_shape(Axes::Image, &x.shape).filter(|_| pads.as_ref().is_none_or(|p| p.len() == 4));
        let Some((c, image)) = parts else {
            let what = format_args!("cannot pad {} by {pads:?}", cx.describe("X"));
            return Err(cx.shape_error(what).help("X has four sizes, and paddings are above, below, left, right"));
        };
        let mut out = [Dim::Is(1), Dim::Any, Dim::Any];
        for axis in 1..3 {
            let Some((pads, n)) = pads.as_ref().zip(image[axis].known()) else { continue };
            let (before, after) = (pads[2 * axis - 2], pads[2 * axis - 1]);
            if !params.allows(n, before, after) {
                let what = format_args!("cannot pad {} by {before} and {after} with what is there", cx.describe("X"));
                return Err(cx.shape_error(what).help("a mirror image is smaller than the image"));
            }
            out[axis] = Dim::Is(n + before + after);
        }
        let shape: Vec<Dim> = params.format.join(Axes::Image, x.shape[0], c, out).collect();
        cx.set("Out", VarType::tensor(x.dtype, shape));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, params) = (p.input("X")?, p.output("Out")?, Params::new(&p.attrs())?);
        let (list, mut scratch) = (IntList::prepare(p, "paddings", "Paddings", "")?, Vec::new());
        kernel(move |io| {
            let tensor = io.dense(x)?;
            let sizes = Sizes::new(io, x, tensor.dims(), &params, &list, &mut scratch)?;
            by_element!(tensor.dtype(), T => forward::<T>(io, (x, out), &tensor, &params, &sizes))
        })
    }
}

fn forward<T: Element>(
    io: &Io<'_>,
    (x, out): (In, Out),
    tensor: &Tensor,
    params: &Params,
    sizes: &Sizes,
) -> Result<()> {
    let [h, w] = sizes.out();
    let dims = params.format.dims(Axes::Image, sizes.images, sizes.channels, [1, h, w]);
    let mut t = io.out_sized(out, T::DTYPE, dims)?;
    let (x, out, value) = (io.data::<T>(x, tensor)?, io.data_mut::<T>(out, &mut t)?, T::from_f64(params.value.into()));
    sizes.each(params, |to, from| out[to] = from.map_or(value, |i| x[i]));
    Ok(())
}

const GRAD: GradOp = GradOp::of(&Pad2d, "pad2d_grad(X, Out@GRAD, Paddings) -> X@GRAD")
    .doc("X@GRAD = for every pixel, the sum of Out@GRAD over its copies")
    .traits(Traits::NONE.shape_only(&["X"]))
    .kernel(|p| {
        let (x, dout, dx, params) =
            (p.input("X")?, p.input("Out@GRAD")?, p.output("X@GRAD")?, Params::new(&p.attrs())?);
        let (list, mut scratch) = (IntList::prepare(p, "paddings", "Paddings", "")?, Vec::new());
        by_float!(p.float("X")?, T => kernel(move |io| {
            let dims = *io.dense(x)?.dims();
            let sizes = Sizes::new(io, x, &dims, &params, &list, &mut scratch)?;
            backward::<T>(io, (dout, dx), dims, &params, &sizes)
        }))
    });

fn backward<T: Float>(io: &Io<'_>, (dout, dx): (In, Out), dims: Dims, params: &Params, sizes: &Sizes) -> Result<()> {
    let tensor = io.dense(dout)?;
    let d = io.data::<T>(dout, &tensor)?;
    let [h, w] = sizes.out();
    if d.len() != sizes.images * sizes.channels * h * w {
        return Err(io.error(Kind::Shape, dout, format_args!("has sizes {}, not those of the output", tensor.dims())));
    }
    let mut t = io.out_sized(dx, T::DTYPE, dims)?;
    let dx = io.data_mut::<T>(dx, &mut t)?;
    dx.fill(T::ZERO);
    sizes.each(params, |to, from| {
        if let Some(i) = from {
            dx[i] += d[to];
        }
    });
    Ok(())
}

#[test]
fn pixels_around() {
    use crate::testing::{check, noise, tensor, tensor_of};
    let x = || tensor([1, 1, 1, 3], &[1.0, 2.0, 3.0]);
    let case = |mode: &str, pads: [i32; 4]| check("pad2d").attr("mode", mode).attr("paddings", pads.to_vec());
    let out = |v: &[f32]| tensor([1, 1, 1, v.len()], v);
    case("constant", [0, 0, 1, 1])
        .attr("pad_value", 9.0f32)
        .input("X", x())
        .output("Out", out(&[9.0, 1.0, 2.0, 3.0, 9.0]))
        .run();
    case("reflect", [0, 0, 2, 1])
        .input("X", x())
        .output("Out", out(&[3.0, 2.0, 1.0, 2.0, 3.0, 2.0]))
        .grad(&["X"])
        .run();
    let edge = case("edge", [9, 9, 9, 9]).input("X", x()).input("Paddings", tensor_of::<i32>([4], &[0, 0, 2, 1]));
    edge.output("Out", out(&[1.0, 1.0, 1.0, 2.0, 3.0, 3.0])).grad(&["X"]).run();
    let last = case("reflect", [1, 0, 1, 1]).attr("data_format", "NHWC").input("X", noise([2, 2, 3, 2], 1));
    last.any_output("Out").grad(&["X"]).run();
    let e = case("reflect", [0, 0, 3, 0]).input("X", x()).any_output("Out").error();
    assert!(e.contains("`pad2d` cannot pad `X` = X.0 f32[1, 1, 1, 3] by 3 and 0 with what is there"), "{e}");
}
