//! `group_norm`: groups of channels of every example moved and scaled to mean 0 and variance 1.

use oarlock_ir::{
    AttrView, Dim, Grad, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, VarType, by_float,
    fail, kernel, sig, slots,
};
use oarlock_ops_support::sliding_window::Format;
use oarlock_tensor::{Dims, Float, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&GroupNorm, &GRAD];

#[derive(Debug, Clone, Copy)]
struct Params {
    groups: usize,
    epsilon: f32,
    format: Format,
}

impl Params {
    fn new(attrs: &AttrView<'_>) -> Result<Params> {
        let groups = attrs.count("groups")?;
        if groups == 0 {
            fail!(Kind::Argument, "attribute `groups` must be above 0");
        }
        Ok(Params { groups, epsilon: attrs.f32("epsilon")?, format: Format::new(attrs, "data_layout")? })
    }

    fn axis(&self, rank: usize) -> usize {
        if self.format == Format::ChannelsFirst { 1 } else { rank - 1 }
    }
}

/// A tensor as groups of channels.
#[derive(Debug, Clone, Copy)]
struct Layout {
    images: usize,
    groups: usize,
    /// Channels of a group.
    channels: usize,
    /// Pixels of a channel.
    pixels: usize,
    format: Format,
}

impl Layout {
    fn new(io: &Io<'_>, x: In, params: &Params, dims: &Dims) -> Result<Layout> {
        let channels = if dims.rank() >= 2 { dims[params.axis(dims.rank())] } else { 0 };
        if channels == 0 || !channels.is_multiple_of(params.groups) {
            let what = format_args!("has sizes {dims}, whose channels cannot be cut into {} groups", params.groups);
            return Err(io.error(Kind::Shape, x, what));
        }
        let pixels = dims[1..].iter().product::<usize>() / channels;
        let (groups, format) = (params.groups, params.format);
        Ok(Layout { images: dims[0], groups, channels: channels / groups, pixels, format })
    }

    /// Elements of a group.
    fn count(&self) -> usize {
        self.channels * self.pixels
    }

    /// The elements of a group, each with its channel. Groups count through all images.
    fn group(self, group: usize) -> impl Iterator<Item = (usize, usize)> + Clone {
        let (image, first) = (group / self.groups, group % self.groups * self.channels);
        let all = self.groups * self.channels;
        (0..self.count()).map(move |i| match self.format {
            Format::ChannelsFirst => (first + i / self.pixels, (image * all + first) * self.pixels + i),
            Format::ChannelsLast => {
                let (pixel, channel) = (i / self.channels, first + i % self.channels);
                (channel, (image * self.pixels + pixel) * all + channel)
            }
        })
    }
}

struct GroupNorm;

impl OpDef for GroupNorm {
    sig! {
        "group_norm":
            "Y = Scale * (X - Mean) / sqrt(Variance + epsilon) + Bias, with statistics of each group of channels";
        in "X": "[n, channels, ...] or [n, ..., channels], f32 or f64";
        in? "Scale": "[channels]; 1 if left out";
        in? "Bias": "[channels]; 0 if left out";
        out "Y": "like `X`";
        out "Mean": "[n, groups]";
        out "Variance": "[n, groups]";
        attr "groups": "the number of groups of channels";
        attr "epsilon" = 1e-5f32, "added to the variance";
        attr "data_layout" = "NCHW", "NCHW or NHWC: channels second or last";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, params) = (cx.float("X")?, Params::new(&cx.attrs())?);
        if x.shape.rank() < 2 {
            return Err(cx.shape_error(format_args!("needs channels, but has {}", cx.describe("X"))));
        }
        let channels = x.shape[params.axis(x.shape.rank())];
        if channels.known().is_some_and(|c| c % params.groups != 0) {
            let what = format_args!("cannot cut the channels of {} into {} groups", cx.describe("X"), params.groups);
            return Err(cx.shape_error(what));
        }
        for slot in ["Scale", "Bias"].into_iter().filter(|s| cx.has(s)) {
            if !oarlock_ir::product(&cx.float(slot)?.shape).fits(channels) {
                let what = format_args!("needs one value per channel of {} in {}", cx.describe("X"), cx.describe(slot));
                return Err(cx.shape_error(what));
            }
        }
        let each = VarType::tensor(x.dtype, vec![x.shape[0], Dim::Is(params.groups)]);
        cx.set("Y", x);
        cx.set("Mean", each.clone());
        cx.set("Variance", each);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let inputs = (p.input("X")?, p.maybe_input("Scale")?, p.maybe_input("Bias")?);
        let outputs = (p.output("Y")?, p.output("Mean")?, p.output("Variance")?);
        let params = Params::new(&p.attrs())?;
        by_float!(p.float("X")?, T => kernel(move |io| forward::<T>(io, inputs, outputs, &params)))
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let reads = ["Bias", "Scale", "Variance", "Y", "Y@GRAD"];
        g.emit("group_norm_grad", &reads, &["Bias@GRAD", "Scale@GRAD", "X@GRAD"])
    }
}

/// The elements of an optional input, one per channel.
fn per_channel<'a, T: Float>(io: &Io<'_>, layout: &Layout, input: Option<(In, &'a Tensor)>) -> Result<Option<&'a [T]>> {
    let Some((input, tensor)) = input else { return Ok(None) };
    let channels = layout.groups * layout.channels;
    if tensor.numel() != channels {
        let what = format_args!("has {} elements, but there are {channels} channels", tensor.numel());
        return Err(io.error(Kind::Shape, input, what));
    }
    io.data::<T>(input, tensor).map(Some)
}

fn forward<T: Float>(
    io: &Io<'_>,
    (x, scale, bias): (In, Option<In>, Option<In>),
    (y, mean, variance): (Out, Out, Out),
    params: &Params,
) -> Result<()> {
    let x_tensor = io.dense(x)?;
    let layout = Layout::new(io, x, params, x_tensor.dims())?;
    let (scale_tensor, bias_tensor) = (scale.map(|s| io.dense(s)).transpose()?, bias.map(|b| io.dense(b)).transpose()?);
    let scale = per_channel::<T>(io, &layout, scale.zip(scale_tensor.as_deref()))?;
    let bias = per_channel::<T>(io, &layout, bias.zip(bias_tensor.as_deref()))?;
    let each = Dims::from([layout.images, layout.groups]);
    let (mut mean_tensor, mut variance_tensor) =
        (io.out_sized(mean, T::DTYPE, each)?, io.out_sized(variance, T::DTYPE, each)?);
    let mut t = io.out_sized(y, T::DTYPE, *x_tensor.dims())?;
    t.set_lod(x_tensor.lod().clone());
    let (x, y) = (io.data::<T>(x, &x_tensor)?, io.data_mut::<T>(y, &mut t)?);
    let means = io.data_mut::<T>(mean, &mut mean_tensor)?.iter_mut();
    let variances = io.data_mut::<T>(variance, &mut variance_tensor)?.iter_mut();
    let count = T::of(layout.count().max(1) as f64);
    for (group, (mean, variance)) in means.zip(variances).enumerate() {
        *mean = layout.group(group).map(|(_, i)| x[i]).sum::<T>() / count;
        *variance = layout.group(group).map(|(_, i)| (x[i] - *mean) * (x[i] - *mean)).sum::<T>() / count;
        let inverse = T::ONE / (*variance + T::of(params.epsilon.into())).sqrt();
        for (c, i) in layout.group(group) {
            let normal = (x[i] - *mean) * inverse;
            y[i] = normal * scale.map_or(T::ONE, |s| s[c]) + bias.map_or(T::ZERO, |b| b[c]);
        }
    }
    Ok(())
}

const GRAD: GradOp =
    GradOp::of(&GroupNorm, "group_norm_grad(Y, Scale, Bias, Variance, Y@GRAD) -> X@GRAD, Scale@GRAD, Bias@GRAD")
        .doc("gradients of `group_norm`")
        .traits(Traits::NONE)
        .infer(|cx| {
            cx.same("X@GRAD", "Y")?;
            cx.grads_of(&["Scale", "Bias"])
        })
        .kernel(|p| {
            let s = GradSlots::new(p)?;
            let params = Params::new(&p.attrs())?;
            by_float!(p.float("Y")?, T => {
                let mut normal = Vec::<T>::new();
                kernel(move |io| backward::<T>(io, &s, &params, &mut normal))
            })
        });

slots! {
    struct GradSlots(p) {
        y: input "Y",
        scale: maybe_input "Scale",
        bias: maybe_input "Bias",
        variance: input "Variance",
        dy: input "Y@GRAD",
        dx: maybe_output "X@GRAD",
        dscale: maybe_output "Scale@GRAD",
        dbias: maybe_output "Bias@GRAD",
    }
}

/// Normalised elements are computed back from `Y`; where the scale is 0 they are lost and count as 0, as in Fluid.
fn backward<T: Float>(io: &Io<'_>, s: &GradSlots, params: &Params, normal: &mut Vec<T>) -> Result<()> {
    let (y_tensor, dy_tensor, variance_tensor) = (io.dense(s.y)?, io.dense(s.dy)?, io.dense(s.variance)?);
    let layout = Layout::new(io, s.y, params, y_tensor.dims())?;
    let scale_tensor = s.scale.map(|s| io.dense(s)).transpose()?;
    let bias_tensor = s.bias.map(|b| io.dense(b)).transpose()?;
    let scale = per_channel::<T>(io, &layout, s.scale.zip(scale_tensor.as_deref()))?;
    let bias = per_channel::<T>(io, &layout, s.bias.zip(bias_tensor.as_deref()))?;
    let (y, d) = (io.data::<T>(s.y, &y_tensor)?, io.data::<T>(s.dy, &dy_tensor)?);
    let variances = io.data::<T>(s.variance, &variance_tensor)?;
    oarlock_ops_support::class_axis::same_count(io, s.y, s.dy, y.len(), d.len())?;
    oarlock_ops_support::class_axis::same_count(io, s.y, s.variance, layout.images * layout.groups, variances.len())?;
    let factor = |c: usize| scale.map_or(T::ONE, |s| s[c]);
    normal.resize(y.len(), T::ZERO);
    let all = (0..variances.len()).flat_map(|group| layout.group(group));
    for (c, i) in all.clone() {
        let shifted = y[i] - bias.map_or(T::ZERO, |b| b[c]);
        normal[i] = if factor(c) == T::ZERO { T::ZERO } else { shifted / factor(c) };
    }
    for (out, weight) in [(s.dscale, Some(&*normal)), (s.dbias, None)] {
        let Some(out) = out else { continue };
        let mut t = io.out_sized(out, T::DTYPE, Dims::from([layout.groups * layout.channels]))?;
        let sums = io.data_mut::<T>(out, &mut t)?;
        sums.fill(T::ZERO);
        all.clone().for_each(|(c, i)| sums[c] += d[i] * weight.map_or(T::ONE, |w| w[i]));
    }
    let Some(dx) = s.dx else { return Ok(()) };
    let mut t = io.out_sized(dx, T::DTYPE, *y_tensor.dims())?;
    t.set_lod(y_tensor.lod().clone());
    let dx = io.data_mut::<T>(dx, &mut t)?;
    let count = T::of(layout.count().max(1) as f64);
    for (group, variance) in variances.iter().enumerate() {
        let inverse = T::ONE / (*variance + T::of(params.epsilon.into())).sqrt();
        // Fluid forgets this term when there is no scale; trained models have seen that.
        let mean = scale.map_or(T::ZERO, |s| layout.group(group).map(|(c, i)| d[i] * s[c]).sum::<T>() / count);
        let slope = layout.group(group).map(|(c, i)| d[i] * factor(c) * normal[i]).sum::<T>() / count;
        layout.group(group).for_each(|(c, i)| dx[i] = (d[i] * factor(c) - mean - normal[i] * slope) * inverse);
    }
    Ok(())
}

#[test]
fn groups_of_channels() {
    use crate::testing::{check, noise, tensor};
    let case = |x: oarlock_tensor::Tensor, groups: i32| check("group_norm").attr("groups", groups).input("X", x);
    case(tensor([1, 4], &[1.0, 3.0, 0.0, 8.0]), 2)
        .attr("epsilon", 0.0f32)
        .input("Scale", tensor([4], &[1.0, 2.0, 1.0, 1.0]))
        .input("Bias", tensor([4], &[0.0, 0.0, 0.5, 0.0]))
        .output("Y", tensor([1, 4], &[-1.0, 2.0, -0.5, 1.0]))
        .output("Mean", tensor([1, 2], &[2.0, 4.0]))
        .output("Variance", tensor([1, 2], &[1.0, 16.0]))
        .run();
    case(noise([2, 4, 2], 1), 2)
        .input("Scale", noise([4], 2))
        .input("Bias", noise([4], 3))
        .any_output("Y")
        .any_output("Mean")
        .any_output("Variance")
        .counting(&["Y"])
        .grad(&["X", "Scale", "Bias"])
        .run();
    let e = case(noise([2, 3, 2], 1), 2).any_output("Y").error();
    assert!(e.contains("`group_norm` cannot cut the channels of `X` = X.0 f32[2, 3, 2] into 2 groups"), "{e}");
}
