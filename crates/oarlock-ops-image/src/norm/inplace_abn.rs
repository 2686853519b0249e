//! `inplace_abn`: `batch_norm` and an activation that overwrite their input; gradients find that input again from the output.

use oarlock_ir::{AttrView, Grad, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Sig, by_float, fail, kernel};
use oarlock_tensor::Float;

use super::batch_norm::{BatchNorm, Given, GradOuts, Layout, Params, Slots, Variant, forward, gradients, per_channel};

pub(crate) const OPS: &[&dyn OpDef] = &[&InplaceAbn, &InplaceAbnGrad];

const NORM: BatchNorm = BatchNorm(&Variant {
    types: ["inplace_abn", "inplace_abn_grad"],
    docs: [
        "Y = activation(`batch_norm` of X); usually Y is X itself",
        "gradients of `inplace_abn`, with X computed from Y: the activation and the scale must not be 0 where they are divided by",
    ],
    // It depends on an attribute instead.
    sync: true,
});

/// The activation.
#[derive(Debug, Clone, Copy)]
enum Activation {
    Identity,
    LeakyRelu(f32),
    Elu(f32),
}

impl Activation {
    fn new(attrs: &AttrView<'_>) -> Result<Activation> {
        let alpha = attrs.f32("alpha")?;
        let found = match attrs.str("activation")? {
            "" | "identity" => Activation::Identity,
            "leaky_relu" => Activation::LeakyRelu(alpha),
            "elu" => Activation::Elu(alpha),
            other => fail!(
                Kind::Argument,
                "attribute `activation` of `inplace_abn` is `{other}`; it can be identity, leaky_relu or elu"
            ),
        };
        if alpha == 0.0 && !matches!(found, Activation::Identity) {
            fail!(
                Kind::Argument,
                "attribute `alpha` of `inplace_abn` is 0, so that no gradient could find the input again"
            );
        }
        Ok(found)
    }

    fn apply<T: Float>(self, x: T) -> T {
        match self {
            Activation::Identity => x,
            Activation::LeakyRelu(alpha) => x.max(x * T::of(alpha.into())),
            Activation::Elu(alpha) => x.max(T::ZERO) + (T::of(alpha.into()) * (x.exp() - T::ONE)).min(T::ZERO),
        }
    }

    /// The x of which `y` is the activation, and the gradient of the activation there.
    fn undo<T: Float>(self, y: T) -> (T, T) {
        match self {
            _ if y > T::ZERO => (y, T::ONE),
            Activation::Identity => (y, T::ONE),
            Activation::LeakyRelu(alpha) => (y / T::of(alpha.into()), T::of(alpha.into())),
            Activation::Elu(alpha) => {
                let alpha = T::of(alpha.into());
                ((y / alpha + T::ONE).ln(), y + alpha)
            }
        }
    }
}

struct InplaceAbn;

impl OpDef for InplaceAbn {
    fn sig(&self) -> Sig {
        NORM.sig()
            .attr("activation", "", "identity, leaky_relu or elu; identity if empty")
            .attr("alpha", 0.1f32, "of leaky_relu and elu")
            .attr("use_sync_bn", false, "statistics are those of the samples of all replicas")
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        Activation::new(&cx.attrs())?;
        NORM.infer(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (slots, params, act) = (Slots::new(p)?, Params::new(&p.attrs())?, Activation::new(&p.attrs())?);
        let sync = p.attrs().bool("use_sync_bn")?;
        by_float!(p.float("X")?, T => {
            let mut scratch = [const { Vec::<T>::new() }; 2];
            kernel(move |io| {
                forward(io, &slots, params, sync, &mut scratch)?;
                let mut y = io.out(slots.y)?;
                io.data_mut::<T>(slots.y, &mut y)?.iter_mut().for_each(|y| *y = act.apply(*y));
                Ok(())
            })
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let reads = ["Bias", "SavedMean", "SavedVariance", "Scale", "Y", "Y@GRAD"];
        let mut op = g.make("inplace_abn_grad", &reads, &["Bias@GRAD", "Scale@GRAD", "X@GRAD"]);
        // The batch's statistics were not used then.
        if self.sig().attrs(g.op()).bool("use_global_stats")? {
            op.inputs.set("Mean", g.arguments("MeanOut"));
            op.inputs.set("Variance", g.arguments("VarianceOut"));
        }
        g.push(op)
    }

    fn traits(&self) -> oarlock_ir::Traits {
        NORM.traits()
    }
}

struct InplaceAbnGrad;

impl OpDef for InplaceAbnGrad {
    fn sig(&self) -> Sig {
        let reads = ["Y", "Scale", "Bias", "SavedMean?", "SavedVariance?", "Mean?", "Variance?", "Y@GRAD"];
        let writes = ["X@GRAD", "Scale@GRAD", "Bias@GRAD"];
        Sig::new("inplace_abn_grad", NORM.0.docs[1]).grad_of(&InplaceAbn.sig(), &reads, &writes)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.same("X@GRAD", "Y")?;
        cx.same("Scale@GRAD", "Scale")?;
        cx.same("Bias@GRAD", "Scale")
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (params, act) = (Params::new(&p.attrs())?, Activation::new(&p.attrs())?);
        if params.global && !p.attrs().bool("use_global_stats")? {
            fail!(
                Kind::NoGradient,
                "`inplace_abn` with `is_test` has no gradient; train a program that was not cloned for tests"
            );
        }
        let statistics = if params.global { ["Mean", "Variance"] } else { ["SavedMean", "SavedVariance"] };
        let slots = GradSlots {
            y: p.input("Y")?,
            scale: p.input("Scale")?,
            bias: p.input("Bias")?,
            statistics: [p.input(statistics[0])?, p.input(statistics[1])?],
            dy: p.input("Y@GRAD")?,
            outs: GradOuts::new(p)?,
            sync: p.attrs().bool("use_sync_bn")?,
        };
        by_float!(p.float("Y")?, T => {
            let mut scratch = Scratch::<T>::default();
            kernel(move |io| backward(io, &slots, params, act, &mut scratch))
        })
    }
}

struct GradSlots {
    y: In,
    scale: In,
    bias: In,
    /// Mean, and 1 / sqrt(variance + epsilon) or the running variance.
    statistics: [In; 2],
    dy: In,
    outs: GradOuts,
    sync: bool,
}

#[derive(Default)]
struct Scratch<T> {
    inverse: Vec<T>,
    x: Vec<T>,
    d: Vec<T>,
    sums: [Vec<T>; 2],
}

fn backward<T: Float>(
    io: &Io<'_>,
    s: &GradSlots,
    params: Params,
    act: Activation,
    scratch: &mut Scratch<T>,
) -> Result<()> {
    let (y, dy, scale, bias) = (io.dense(s.y)?, io.dense(s.dy)?, io.dense(s.scale)?, io.dense(s.bias)?);
    let (mean, variance) = (io.dense(s.statistics[0])?, io.dense(s.statistics[1])?);
    let layout = Layout::new(io, s.y, &params, y.dims())?;
    let like = &*y;
    let (y, dy) = (io.data::<T>(s.y, &y)?, io.data::<T>(s.dy, &dy)?);
    let (scale, bias) = (io.data::<T>(s.scale, &scale)?, io.data::<T>(s.bias, &bias)?);
    let mean = io.data::<T>(s.statistics[0], &mean)?;
    let variance = io.data::<T>(s.statistics[1], &variance)?;
    let sizes = [
        (s.scale, scale.len()),
        (s.bias, bias.len()),
        (s.statistics[0], mean.len()),
        (s.statistics[1], variance.len()),
    ];
    per_channel(io, layout.channels, &sizes)?;
    oarlock_ops_support::class_axis::same_count(io, s.y, s.dy, y.len(), dy.len())?;
    let Scratch { inverse, x, d, sums } = scratch;
    params.inverse(variance, inverse);
    x.clear();
    d.clear();
    for (i, (&y, &dy)) in y.iter().zip(dy).enumerate() {
        let c = i / layout.inner % layout.channels;
        let (normal, slope) = act.undo(y);
        x.push((normal - bias[c]) / scale[c] / inverse[c] + mean[c]);
        d.push(dy * slope);
    }
    let given = Given { like, x, d, scale, mean, inverse };
    gradients(io, (params, layout, s.sync), &given, s.outs, sums)
}

#[cfg(test)]
mod tests {
    use super::super::batch_norm::tests::case_of;
    use crate::testing::{noise, tensor};

    #[test]
    fn activation_follows_the_normalisation() {
        let case = |act: &str| {
            case_of("inplace_abn", tensor([2, 2], &[1.0, 2.0, 3.0, 6.0]))
                .attr("epsilon", 0.0f32)
                .attr("activation", act)
        };
        let outputs = |case: crate::testing::Check, y: [f32; 4]| {
            case.output("Y", tensor([2, 2], &y))
                .any_output("MeanOut")
                .any_output("VarianceOut")
                .output("SavedMean", tensor([2], &[2.0, 4.0]))
                .any_output("SavedVariance")
                .run();
        };
        outputs(case(""), [-1.0, -1.0, 1.0, 3.0]);
        outputs(case("leaky_relu").attr("alpha", 0.25f32), [-0.25, -0.25, 1.0, 3.0]);
        let low = 0.5 * ((-1f32).exp() - 1.0);
        outputs(case("elu").attr("alpha", 0.5f32), [low, low, 1.0, 3.0]);
    }

    #[test]
    fn gradients_find_the_input_from_the_output() {
        for (act, layout) in [("identity", "NCHW"), ("leaky_relu", "NHWC"), ("elu", "NCHW")] {
            for global in [false, true] {
                // Far from zero, where the activations bend.
                let x = tensor([4, 2], &[-4.0, -3.0, -3.0, -4.0, 3.0, 4.0, 4.0, 3.0]);
                let case = case_of("inplace_abn", x);
                // Running statistics leave nothing to save.
                let case = if global { case } else { case.any_output("SavedMean").any_output("SavedVariance") };
                case.attr("data_layout", layout)
                    .attr("activation", act)
                    .attr("alpha", 0.5f32)
                    .attr("use_global_stats", global)
                    .in_place("Mean", "MeanOut")
                    .in_place("Variance", "VarianceOut")
                    .any_output("Y")
                    .counting(&["Y"])
                    .grad(&["X", "Scale", "Bias"])
                    .run();
            }
        }
    }

    #[test]
    fn mistakes_are_named() {
        let e = case_of("inplace_abn", noise([2, 2], 1)).attr("activation", "relu").any_output("Y").error();
        assert!(
            e.contains("attribute `activation` of `inplace_abn` is `relu`; it can be identity, leaky_relu or elu"),
            "{e}"
        );
    }
}
