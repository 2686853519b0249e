//! `batch_norm`: every channel moved and scaled to mean 0 and variance 1 over the batch, then to a learned mean and scale.

use oarlock_ir::{
    AttrView, Dim, Grad, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Replica, Result, Sig, Traits, VarType,
    by_float, fail, kernel, slots,
};
use oarlock_ops_support::sliding_window::Format;
use oarlock_tensor::{Dims, Float, Pool, Tensor, simd};

pub(crate) const OPS: &[&dyn OpDef] = &[&BatchNorm(&VARIANT), &BatchNormGrad(&VARIANT)];

#[derive(Debug, Clone, Copy)]
pub(super) struct Params {
    momentum: f32,
    epsilon: f32,
    format: Format,
    /// Use the running statistics.
    pub(super) global: bool,
}

impl Params {
    pub(super) fn new(attrs: &AttrView<'_>) -> Result<Params> {
        if attrs.bool("fuse_with_relu")? {
            fail!(
                Kind::Argument,
                "`batch_norm` was fused with `relu` for another library; save the program without that"
            );
        }
        let test = attrs.bool("is_test")? && !attrs.bool("trainable_statistics")?;
        Ok(Params {
            momentum: attrs.f32("momentum")?,
            epsilon: attrs.f32("epsilon")?,
            format: Format::new(attrs, "data_layout")?,
            global: test || attrs.bool("use_global_stats")?,
        })
    }

    /// Which dimension the channels are; without spatial dimensions the last one in any format.
    fn axis(&self, rank: usize) -> usize {
        match self.format {
            Format::ChannelsFirst => 1,
            Format::ChannelsLast => rank - 1,
        }
    }

    /// 1 / sqrt(variance + epsilon), which is what the batch's statistics hold already.
    pub(super) fn inverse<T: Float>(&self, variance: &[T], inverse: &mut Vec<T>) {
        let epsilon = T::of(self.epsilon.into());
        inverse.clear();
        inverse.extend(variance.iter().map(|&v| if self.global { T::ONE / (v + epsilon).sqrt() } else { v }));
    }
}

/// A tensor seen as `[outer, channels, inner]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    outer: usize,
    pub(super) channels: usize,
    pub(super) inner: usize,
}

impl Layout {
    pub(super) fn new(io: &Io<'_>, x: In, params: &Params, dims: &Dims) -> Result<Layout> {
        if !(2..=5).contains(&dims.rank()) {
            return Err(io.error(Kind::Shape, x, format_args!("has sizes {dims}; two to five are needed")));
        }
        let axis = params.axis(dims.rank());
        let (outer, inner) = (dims[..axis].iter().product(), dims[axis + 1..].iter().product());
        Ok(Layout { outer, channels: dims[axis], inner })
    }

    /// Elements of a channel.
    fn count(&self) -> usize {
        self.outer * self.inner
    }

    /// The contiguous pieces of a channel.
    fn planes<'a, T>(&self, x: &'a [T], channel: usize) -> impl Iterator<Item = &'a [T]> + use<'a, T> {
        let Layout { outer, channels, inner } = *self;
        (0..outer).map(move |n| &x[(n * channels + channel) * inner..][..inner])
    }

    /// Sums a function of contiguous pieces over each channel; channels are shared out among threads.
    fn sums<T: Float>(&self, pool: &Pool, out: &mut [T], x: &[T], f: impl Fn(usize, &[T]) -> T + Sync) {
        pool.pieces(out, 1, |c, out| out[0] = self.planes(x, c).map(|plane| f(c, plane)).sum());
    }

    /// Runs a function on every contiguous piece of `out`, with its channel and where it starts.
    fn each<T: Float>(&self, pool: &Pool, out: &mut [T], f: impl Fn(usize, usize, &mut [T]) + Sync) {
        // A few channels per task; how many does not matter to the result.
        let planes = (1 << 15) / self.inner + 1;
        pool.pieces(out, planes * self.inner, |i, out| {
            for (p, out) in out.chunks_exact_mut(self.inner).enumerate() {
                let plane = i * planes + p;
                f(plane % self.channels, plane * self.inner, out);
            }
        });
    }
}

/// `batch_norm` or `sync_batch_norm`.
pub(super) struct Variant {
    /// The types of the operator and of its gradient.
    pub(super) types: [&'static str; 2],
    pub(super) docs: [&'static str; 2],
    /// Statistics are those of all replicas.
    pub(super) sync: bool,
}

const VARIANT: Variant = Variant {
    types: ["batch_norm", "batch_norm_grad"],
    docs: [
        "Y = Scale * (X - mean) / sqrt(variance + epsilon) + Bias, with statistics of each channel over the batch",
        "gradients of `batch_norm`, through the batch's statistics if those were used",
    ],
    sync: false,
};

impl Variant {
    /// With the operator that takes this one's place on replicas.
    fn traits(&self, traits: Traits, synchronized: &'static str) -> Traits {
        if self.sync { traits } else { traits.synchronized(synchronized) }
    }
}

pub(super) struct BatchNorm(pub(super) &'static Variant);

impl OpDef for BatchNorm {
    fn sig(&self) -> Sig {
        Sig::new(self.0.types[0], self.0.docs[0])
            .input("X", "[n, channels, ...] or [n, ..., channels]")
            .input("Scale", "[channels]")
            .input("Bias", "[channels]")
            .input("Mean", "[channels], running mean")
            .input("Variance", "[channels], running variance")
            .optional_input("MomentumTensor", "[1]; replaces `momentum`")
            .output("Y", "like `X`")
            .output("MeanOut", "the running mean with this batch; usually `Mean` itself")
            .output("VarianceOut", "the running variance with this batch; usually `Variance` itself")
            .output("SavedMean", "[channels], mean of the batch")
            .output("SavedVariance", "[channels], 1 / sqrt(variance of the batch + epsilon)")
            .optional_output("ReserveSpace", "never made")
            .attr("momentum", 0.9f32, "how much of the running statistics a batch keeps")
            .attr("epsilon", 1e-5f32, "added to the variance")
            .attr("data_layout", "NCHW", "NCHW or NHWC: channels second or last")
            .attr("is_test", false, "use the running statistics")
            .attr("use_global_stats", false, "use the running statistics in training too")
            .attr("trainable_statistics", false, "use the batch's statistics in a test too")
            .attr("fuse_with_relu", false, "only in programs rewritten for another library; not supported")
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        let params = Params::new(&cx.attrs())?;
        if !(2..=5).contains(&x.shape.rank()) {
            return Err(cx.shape_error(format_args!("needs two to five sizes, but has {}", cx.describe("X"))));
        }
        let channels = x.shape[params.axis(x.shape.rank())];
        for slot in ["Scale", "Bias", "Mean", "Variance"] {
            let ty = cx.float(slot)?;
            if ty.shape.rank() != 1 || !ty.shape[0].fits(channels) {
                let what = format!("needs one value per channel of {} in {}", cx.describe("X"), cx.describe(slot));
                return Err(cx.shape_error(what));
            }
        }
        let each = VarType::tensor(x.dtype, vec![channels.or(cx.input("Scale")?.shape[0])]);
        cx.set("Y", x);
        for slot in ["MeanOut", "VarianceOut", "SavedMean", "SavedVariance"] {
            cx.set(slot, each.clone());
        }
        cx.set("ReserveSpace", each.with_shape(vec![Dim::Any]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let sync = self.0.sync;
        let slots = Slots::new(p)?;
        let params = Params::new(&p.attrs())?;
        by_float!(p.float("X")?, T => {
            let mut scratch = [const { Vec::<T>::new() }; 2];
            kernel(move |io| forward(io, &slots, params, sync, &mut scratch))
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let reads = ["Bias", "SavedMean", "SavedVariance", "Scale", "X", "Y@GRAD"];
        let mut op = g.make(self.0.types[1], &reads, &["Bias@GRAD", "Scale@GRAD", "X@GRAD"]);
        // The batch's statistics were not used then.
        if self.sig().attrs(g.op()).bool("use_global_stats")? {
            op.inputs.set("Mean", g.arguments("MeanOut"));
            op.inputs.set("Variance", g.arguments("VarianceOut"));
        }
        g.push(op)
    }

    fn traits(&self) -> Traits {
        // Running statistics are usually updated where they are.
        let traits = Traits::NONE.in_place(&[("Mean", "MeanOut"), ("Variance", "VarianceOut")]);
        self.0.traits(traits, "sync_batch_norm")
    }
}

slots! {
    pub(super) struct Slots(p) {
        x: input "X",
        scale: input "Scale",
        bias: input "Bias",
        momentum: maybe_input "MomentumTensor",
        /// Mean and variance.
        running: [(In, Out); 2] = [(p.input("Mean")?, p.output("MeanOut")?), (p.input("Variance")?, p.output("VarianceOut")?)],
        saved: [Option<Out>; 2] = [p.maybe_output("SavedMean")?, p.maybe_output("SavedVariance")?],
        pub(super) y: output "Y",
    }
}

pub(super) fn forward<T: Float>(
    io: &Io<'_>,
    s: &Slots,
    params: Params,
    sync: bool,
    [mean, inverse]: &mut [Vec<T>; 2],
) -> Result<()> {
    let replica = io.runtime().replica().filter(|_| sync);
    let (x_tensor, scale_tensor, bias_tensor) = (io.dense(s.x)?, io.dense(s.scale)?, io.dense(s.bias)?);
    let layout = Layout::new(io, s.x, &params, x_tensor.dims())?;
    let x = io.data::<T>(s.x, &x_tensor)?;
    let (scale, bias) = (io.data::<T>(s.scale, &scale_tensor)?, io.data::<T>(s.bias, &bias_tensor)?);
    let [mut running_mean, mut running_variance] =
        [io.update(s.running[0].0, s.running[0].1)?, io.update(s.running[1].0, s.running[1].1)?];
    let running = [
        io.data_mut::<T>(s.running[0].1, &mut running_mean)?,
        io.data_mut::<T>(s.running[1].1, &mut running_variance)?,
    ];
    let sizes = [
        (s.scale, scale.len()),
        (s.bias, bias.len()),
        (s.running[0].0, running[0].len()),
        (s.running[1].0, running[1].len()),
    ];
    per_channel(io, layout.channels, &sizes)?;
    let mut t = io.out_sized(s.y, T::DTYPE, *x_tensor.dims())?;
    t.set_lod(x_tensor.lod().clone());
    let y = io.data_mut::<T>(s.y, &mut t)?;
    let epsilon = T::of(params.epsilon.into());
    mean.resize(layout.channels, T::ZERO);
    inverse.resize(layout.channels, T::ZERO);
    if params.global {
        mean.copy_from_slice(running[0]);
        inverse.iter_mut().zip(&*running[1]).for_each(|(i, v)| *i = T::ONE / (*v + epsilon).sqrt());
    } else if layout.count() <= 1 && replica.is_none() {
        // One value has no variance; Fluid passes it through and leaves the statistics alone.
        y.copy_from_slice(x);
        mean.fill(T::ZERO);
        inverse.fill(T::ZERO);
        return save(io, s, &[mean, inverse]);
    } else {
        statistics(layout, io.pool(), x, mean, inverse, replica)?;
        let momentum = T::of(s.momentum.map_or(Ok(params.momentum.into()), |m| io.scalar(m))?);
        for (running, batch) in running.into_iter().zip([&*mean, &*inverse]) {
            let pairs = running.iter_mut().zip(batch);
            pairs.for_each(|(running, batch)| *running = *running * momentum + *batch * (T::ONE - momentum));
        }
        inverse.iter_mut().for_each(|v| *v = T::ONE / (*v + epsilon).sqrt());
        save(io, s, &[mean, inverse])?;
    }
    normalize(layout, io.pool(), x, y, |c| {
        let factor = scale[c] * inverse[c];
        (factor, bias[c] - mean[c] * factor)
    });
    Ok(())
}

pub(super) fn per_channel(io: &Io<'_>, channels: usize, sizes: &[(In, usize)]) -> Result<()> {
    match sizes.iter().find(|(_, len)| *len != channels) {
        Some((input, len)) => {
            Err(io.error(Kind::Shape, *input, format_args!("has {len} elements, but there are {channels} channels")))
        }
        None => Ok(()),
    }
}

fn save<T: Float>(io: &Io<'_>, s: &Slots, values: &[&[T]; 2]) -> Result<()> {
    for (out, values) in s.saved.iter().zip(values) {
        if let Some(out) = *out {
            let mut t = io.out_sized(out, T::DTYPE, Dims::from([values.len()]))?;
            io.data_mut::<T>(out, &mut t)?.copy_from_slice(values);
        }
    }
    Ok(())
}

/// Mean and (biased) variance of every channel, over the samples of all replicas if there are some.
fn statistics<T: Float>(
    layout: Layout,
    pool: &Pool,
    x: &[T],
    mean: &mut [T],
    variance: &mut [T],
    replica: Option<&Replica>,
) -> Result<()> {
    if layout.inner == 1 {
        simd::column_sums(mean, x);
    } else {
        layout.sums(pool, mean, x, |_, plane| simd::sum(plane));
    }
    let count = add_up(replica, layout.count(), &mut [&mut *mean])?;
    mean.iter_mut().for_each(|m| *m /= count);
    if layout.inner == 1 {
        variance.fill(T::ZERO);
        for row in x.chunks_exact(layout.channels) {
            for ((v, x), m) in variance.iter_mut().zip(row).zip(&*mean) {
                *v += (*x - *m) * (*x - *m);
            }
        }
    } else {
        layout.sums(pool, variance, x, |c, plane| simd::sum_of_squared_deviations(plane, mean[c]));
    }
    let count = add_up(replica, layout.count(), &mut [&mut *variance])?;
    variance.iter_mut().for_each(|v| *v /= count);
    Ok(())
}

/// Adds up a count and sums over all replicas; returns the count.
fn add_up<T: Float>(replica: Option<&Replica>, count: usize, sums: &mut [&mut [T]]) -> Result<T> {
    let Some(replica) = replica else { return Ok(T::of(count as f64)) };
    let mut all = vec![count as f64];
    sums.iter().for_each(|sums| all.extend(sums.iter().map(|v| v.to_f64())));
    replica.sum(&mut all)?;
    let mut totals = all[1..].iter();
    for (sum, total) in sums.iter_mut().flat_map(|sums| sums.iter_mut()).zip(&mut totals) {
        *sum = T::of(*total);
    }
    Ok(T::of(all[0]))
}

/// y = x * factor + offset, both per channel.
fn normalize<T: Float>(layout: Layout, pool: &Pool, x: &[T], y: &mut [T], of: impl Fn(usize) -> (T, T) + Sync) {
    if layout.inner == 1 {
        let factors: Vec<(T, T)> = (0..layout.channels).map(of).collect();
        for (y, x) in y.chunks_exact_mut(layout.channels.max(1)).zip(x.chunks_exact(layout.channels.max(1))) {
            y.iter_mut().zip(x).zip(&factors).for_each(|((y, x), (a, b))| *y = *x * *a + *b);
        }
        return;
    }
    layout.each(pool, y, |c, at, y| {
        let (a, b) = of(c);
        simd::scale_bias(y, &x[at..][..y.len()], a, b);
    });
}

pub(super) struct BatchNormGrad(pub(super) &'static Variant);

impl OpDef for BatchNormGrad {
    fn sig(&self) -> Sig {
        let reads = ["X", "Scale", "Bias?", "SavedMean?", "SavedVariance?", "Mean?", "Variance?", "Y@GRAD"];
        Sig::new(self.0.types[1], self.0.docs[1]).grad_of(
            &BatchNorm(self.0).sig(),
            &reads,
            &["X@GRAD", "Scale@GRAD", "Bias@GRAD"],
        )
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.grads_of(&["X", "Scale"])?;
        cx.same("Bias@GRAD", "Scale")
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let sync = self.0.sync;
        let params = Params::new(&p.attrs())?;
        if params.global && !p.attrs().bool("use_global_stats")? {
            fail!(
                Kind::NoGradient,
                "`batch_norm` with `is_test` has no gradient; train a program that was not cloned for tests"
            );
        }
        let statistics = if params.global { ["Mean", "Variance"] } else { ["SavedMean", "SavedVariance"] };
        let slots = GradSlots {
            x: p.input("X")?,
            scale: p.input("Scale")?,
            statistics: [p.input(statistics[0])?, p.input(statistics[1])?],
            dy: p.input("Y@GRAD")?,
            outs: GradOuts::new(p)?,
        };
        by_float!(p.float("X")?, T => {
            let mut scratch = [const { Vec::<T>::new() }; 3];
            kernel(move |io| backward(io, &slots, params, sync, &mut scratch))
        })
    }

    fn traits(&self) -> Traits {
        self.0.traits(Traits::NONE.shape_only(&["Bias"]), "sync_batch_norm_grad")
    }
}

struct GradSlots {
    x: In,
    scale: In,
    /// Mean, and 1 / sqrt(variance + epsilon) or the running variance.
    statistics: [In; 2],
    dy: In,
    outs: GradOuts,
}

/// The gradients that are wanted.
#[derive(Clone, Copy)]
pub(super) struct GradOuts {
    dx: Option<Out>,
    dscale: Option<Out>,
    dbias: Option<Out>,
}

impl GradOuts {
    pub(super) fn new(p: &Prepare<'_>) -> Result<GradOuts> {
        Ok(GradOuts {
            dx: p.maybe_output("X@GRAD")?,
            dscale: p.maybe_output("Scale@GRAD")?,
            dbias: p.maybe_output("Bias@GRAD")?,
        })
    }
}

/// The values that gradients are computed from.
pub(super) struct Given<'t, T> {
    /// A tensor with the sizes and the LoD of `x`.
    pub(super) like: &'t Tensor,
    pub(super) x: &'t [T],
    /// The gradient of the normalised and scaled `x`.
    pub(super) d: &'t [T],
    pub(super) scale: &'t [T],
    pub(super) mean: &'t [T],
    /// 1 / sqrt(variance + epsilon)
    pub(super) inverse: &'t [T],
}

fn backward<T: Float>(io: &Io<'_>, s: &GradSlots, params: Params, sync: bool, scratch: &mut [Vec<T>; 3]) -> Result<()> {
    let (x_tensor, scale_tensor, dy_tensor) = (io.dense(s.x)?, io.dense(s.scale)?, io.dense(s.dy)?);
    let [mean_tensor, variance_tensor] = [io.dense(s.statistics[0])?, io.dense(s.statistics[1])?];
    let layout = Layout::new(io, s.x, &params, x_tensor.dims())?;
    let (x, d, scale) =
        (io.data::<T>(s.x, &x_tensor)?, io.data::<T>(s.dy, &dy_tensor)?, io.data::<T>(s.scale, &scale_tensor)?);
    let mean = io.data::<T>(s.statistics[0], &mean_tensor)?;
    let variance = io.data::<T>(s.statistics[1], &variance_tensor)?;
    let sizes = [(s.scale, scale.len()), (s.statistics[0], mean.len()), (s.statistics[1], variance.len())];
    per_channel(io, layout.channels, &sizes)?;
    oarlock_ops_support::class_axis::same_count(io, s.x, s.dy, x.len(), d.len())?;
    let [inverse, sums @ ..] = scratch;
    params.inverse(variance, inverse);
    let given = Given { like: &x_tensor, x, d, scale, mean, inverse };
    gradients(io, (params, layout, sync), &given, s.outs, sums)
}

/// Writes the gradients.
pub(super) fn gradients<T: Float>(
    io: &Io<'_>,
    (params, layout, sync): (Params, Layout, bool),
    given: &Given<'_, T>,
    outs: GradOuts,
    [dscale, dbias]: &mut [Vec<T>; 2],
) -> Result<()> {
    let &Given { like, x, d, scale, mean, inverse } = given;
    let replica = io.runtime().replica().filter(|_| sync && !params.global);
    gradient_sums(layout, io.pool(), x, d, mean, dscale, dbias);
    dscale.iter_mut().zip(inverse).for_each(|(d, i)| *d *= *i);
    let passed_through = !params.global && layout.count() <= 1 && replica.is_none();
    if passed_through {
        dscale.fill(T::ZERO);
        dbias.fill(T::ZERO);
    }
    for (out, values) in [(outs.dscale, &*dscale), (outs.dbias, &*dbias)] {
        if let Some(out) = out {
            let mut t = io.out_sized(out, T::DTYPE, Dims::from([layout.channels]))?;
            io.data_mut::<T>(out, &mut t)?.copy_from_slice(values);
        }
    }
    let Some(dx) = outs.dx else { return Ok(()) };
    let mut t = io.out_sized(dx, T::DTYPE, *like.dims())?;
    t.set_lod(like.lod().clone());
    let dx = io.data_mut::<T>(dx, &mut t)?;
    if passed_through {
        dx.copy_from_slice(d);
        return Ok(());
    }
    // The statistics depend on the samples of all replicas, and so do all gradients on the sums.
    let count = add_up(replica, layout.count(), &mut [dscale, dbias])?;
    // dx = factor * (d - mean of d - normalised x * mean of d * normalised x); constant statistics leave the first term.
    input_gradient(layout, io.pool(), (x, d, mean), dx, |c| {
        let factor = scale[c] * inverse[c];
        let through = if params.global { T::ZERO } else { factor / count };
        [factor, -through * inverse[c] * dscale[c], -through * dbias[c]]
    });
    Ok(())
}

/// Per channel, the sums of d * (x - mean) and of d.
fn gradient_sums<T: Float>(
    layout: Layout,
    pool: &Pool,
    x: &[T],
    d: &[T],
    mean: &[T],
    dscale: &mut Vec<T>,
    dbias: &mut Vec<T>,
) {
    dscale.clear();
    dscale.resize(layout.channels, T::ZERO);
    dbias.clear();
    dbias.resize(layout.channels, T::ZERO);
    if layout.inner == 1 {
        simd::column_sums(dbias, d);
        for (x, d) in x.chunks_exact(layout.channels.max(1)).zip(d.chunks_exact(layout.channels.max(1))) {
            for (((sum, x), d), m) in dscale.iter_mut().zip(x).zip(d).zip(mean) {
                *sum += *d * (*x - *m);
            }
        }
        return;
    }
    layout.sums(pool, dbias, d, |_, plane| simd::sum(plane));
    pool.pieces(dscale, 1, |c, sum| {
        let planes = layout.planes(d, c).zip(layout.planes(x, c));
        sum[0] = planes.map(|(d, x)| simd::dot_deviations(d, x, mean[c])).sum();
    });
}

fn input_gradient<T: Float>(
    layout: Layout,
    pool: &Pool,
    (x, d, mean): (&[T], &[T], &[T]),
    dx: &mut [T],
    of: impl Fn(usize) -> [T; 3] + Sync,
) {
    if layout.inner == 1 {
        let factors: Vec<[T; 3]> = (0..layout.channels).map(of).collect();
        for (i, dx) in dx.iter_mut().enumerate() {
            let c = i % layout.channels;
            let [a, b, e] = factors[c];
            *dx = d[i] * a + (x[i] - mean[c]) * b + e;
        }
        return;
    }
    layout.each(pool, dx, |c, at, dx| {
        let part = at..at + dx.len();
        simd::normalize_grad(dx, &d[part.clone()], &x[part], mean[c], of(c));
    });
}

#[cfg(test)]
pub(super) mod tests {
    use oarlock_tensor::Tensor;

    use crate::testing::{Check, check, noise, tensor};

    fn case(x: Tensor) -> Check {
        case_of("batch_norm", x)
    }

    pub(crate) fn case_of(op_type: &str, x: Tensor) -> Check {
        check(op_type)
            .input("X", x)
            .input("Scale", tensor([2], &[1.0, 2.0]))
            .input("Bias", tensor([2], &[0.0, 1.0]))
            .input("Mean", tensor([2], &[0.5, 0.0]))
            .input("Variance", tensor([2], &[1.0, 4.0]))
    }

    #[test]
    fn statistics_of_the_batch() {
        case(tensor([2, 2], &[1.0, 2.0, 3.0, 6.0]))
            .attr("epsilon", 0.0f32)
            .output("Y", tensor([2, 2], &[-1.0, -1.0, 1.0, 3.0]))
            .output("MeanOut", tensor([2], &[0.65, 0.4]))
            .output("VarianceOut", tensor([2], &[1.0, 4.0]))
            .output("SavedMean", tensor([2], &[2.0, 4.0]))
            .output("SavedVariance", tensor([2], &[1.0, 0.5]))
            .run();
    }

    #[test]
    fn running_statistics() {
        case(tensor([1, 2], &[1.5, 2.0]))
            .attr("is_test", true)
            .attr("epsilon", 0.0f32)
            .output("Y", tensor([1, 2], &[1.0, 3.0]))
            .output("MeanOut", tensor([2], &[0.5, 0.0]))
            .output("VarianceOut", tensor([2], &[1.0, 4.0]))
            .run();
    }

    #[test]
    fn one_value_passes_through() {
        case(tensor([1, 2], &[1.5, 2.0]))
            .output("Y", tensor([1, 2], &[1.5, 2.0]))
            .output("MeanOut", tensor([2], &[0.5, 0.0]))
            .output("SavedVariance", tensor([2], &[0.0, 0.0]))
            .any_output("VarianceOut")
            .any_output("SavedMean")
            .run();
    }

    #[test]
    fn gradients_of_running_statistics() {
        // They stay in place, so that they are no part of the loss.
        let grad = |x: Tensor, layout: &str| {
            case(x)
                .attr("data_layout", layout)
                .attr("use_global_stats", true)
                .in_place("Mean", "MeanOut")
                .in_place("Variance", "VarianceOut")
                .any_output("Y")
                .grad(&["X", "Scale", "Bias"])
        };
        grad(noise([4, 2], 1), "NCHW").run();
        grad(noise([2, 2, 3, 2], 1), "NCHW").run();
        grad(noise([2, 3, 2], 1), "NHWC").run();
    }

    #[test]
    fn gradients_of_the_statistics_of_the_batch() {
        for (x, layout) in [(noise([4, 2], 1), "NCHW"), (noise([2, 2, 3], 1), "NCHW"), (noise([2, 3, 2], 1), "NHWC")] {
            case(x)
                .attr("data_layout", layout)
                .in_place("Mean", "MeanOut")
                .in_place("Variance", "VarianceOut")
                .any_output("Y")
                .any_output("SavedMean")
                .any_output("SavedVariance")
                .counting(&["Y"])
                .grad(&["X", "Scale", "Bias"])
                .run();
        }
    }

    #[test]
    fn gradients_of_the_batch() {
        // Normalised x is -1.2247, 0, 1.2247; dx = inverse * (d - mean of d - x * mean of d * x).
        check("batch_norm_grad")
            .input("X", tensor([3, 1], &[1.0, 2.0, 3.0]))
            .input("Scale", tensor([1], &[2.0]))
            .input("SavedMean", tensor([1], &[2.0]))
            .input("SavedVariance", tensor([1], &[1.2247449]))
            .input("Y@GRAD", tensor([3, 1], &[1.0, 0.0, 0.0]))
            .output("X@GRAD", tensor([3, 1], &[0.40824834, -0.8164966, 0.40824834]))
            .output("Scale@GRAD", tensor([1], &[-1.2247449]))
            .output("Bias@GRAD", tensor([1], &[1.0]))
            .run();
    }

    #[test]
    fn mistakes() {
        let e = case(noise([2, 3], 1)).any_output("Y").any_output("MeanOut").any_output("VarianceOut").error();
        assert!(
            e.contains("`batch_norm` needs one value per channel of `X` = X.0 f32[2, 3] in `Scale` = Scale.0 f32[2]"),
            "{e}"
        );
    }
}
