//! `nce`: noise-contrastive estimation, a loss over the true classes and a few drawn ones instead of all.

use oarlock_ir::{
    AttrView, Dim, Error, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, VarKind, VarType,
    by_float, fail, kernel, slots,
};
use oarlock_ops_support::checks;
use oarlock_ops_support::equal_sizes;
use oarlock_tensor::rng::Mt19937x64;
use oarlock_tensor::{DType, Dims, Float, Tensor, simd};

use crate::sampling::class_row_gradient::RowGrad;
use crate::sampling::samplers::{self, Custom, Sampler};

pub(crate) const OPS: &[&dyn OpDef] = &[&Nce, &GRAD];

struct Nce;

impl OpDef for Nce {
    fn sig(&self) -> Sig {
        Sig::new(
            "nce",
            "Cost = SampleWeight * (sum over true classes of -ln(o / (o + b)) + sum over drawn ones of -ln(b / (o + b))), where \
             o = sigmoid(Input . Weight[class] + Bias[class]) and b = num_neg_samples * (probability of drawing the class)",
        )
        .input("Input", "[batch, width]")
        .input("Label", "i64 [batch, true classes]")
        .input("Weight", "[classes, width]")
        .optional_input("Bias", "[classes, 1]")
        .optional_input("SampleWeight", "[batch, 1]")
        .optional_input("CustomDistProbs", "f32 [classes], the probability of each class (sampler 2)")
        .optional_input("CustomDistAlias", "i32 [classes], what a class that is not kept is replaced by; -1 for itself")
        .optional_input("CustomDistAliasProbs", "f32 [classes], how probably a class is kept")
        .output("Cost", "[batch, 1]")
        .output("SampleLogits", "[batch, true + drawn classes]: o, in spite of its name")
        .output("SampleLabels", "i64, the classes of `SampleLogits`")
        .required_attr("num_total_classes", "rows of `Weight`")
        .attr("num_neg_samples", 10, "how many classes are drawn per example")
        .attr("sampler", 0, "0: uniform; 1: log-uniform; 2: as CustomDist* say")
        .attr("seed", 0, "of the drawn classes; 0 for others in each step")
        .attr("is_sparse", false, "make the gradient of `Weight` row-sparse")
        .attr("custom_neg_classes", Vec::<i32>::new(), "take these instead of drawing")
        .attr("remote_prefetch", false, "ask the parameter servers for the rows")
        .attr("trainer_id", 0, "who asks")
        .attr("epmap", Vec::<String>::new(), "the servers")
        .attr("table_names", Vec::<String>::new(), "the parts of `Weight` on the servers")
        .attr("height_sections", Vec::<i64>::new(), "rows of each part")
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (input, label, weight) = (cx.float("Input")?, cx.integer("Label")?, cx.float("Weight")?);
        let settings = Settings::new(&cx.attrs())?;
        let fits = input.shape.rank() == 2 && weight.shape.rank() == 2 && input.shape[1].fits(weight.shape[1]);
        if !fits || !weight.shape[0].fits(Dim::Is(settings.classes)) {
            let what = format!("cannot score {} by {}", cx.describe("Input"), cx.describe("Weight"));
            let help = format!("weights have shape [{}, width of the input]", settings.classes);
            return Err(cx.shape_error(what).help(help));
        }
        let true_classes = label.shape.get(1).copied().unwrap_or(Dim::Is(1));
        let columns = true_classes.known().map_or(Dim::Any, |n| Dim::Is(n + settings.negatives));
        cx.set("Cost", VarType::tensor(input.dtype, vec![input.shape[0], Dim::Is(1)]));
        cx.set("SampleLogits", VarType::tensor(input.dtype, vec![input.shape[0], columns]));
        cx.set("SampleLabels", VarType::tensor(label.dtype, vec![input.shape[0], columns]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let inputs = Inputs::new(p)?;
        let (cost, out, labels) = (p.output("Cost")?, p.output("SampleLogits")?, p.output("SampleLabels")?);
        by_float!(p.float("Input")?, T => kernel(move |io| forward::<T>(io, &inputs, cost, (out, labels))))
    }
}

/// The attributes.
struct Settings {
    classes: usize,
    negatives: usize,
    sampler: i64,
    seed: i64,
    chosen: Vec<i64>,
}

impl Settings {
    fn new(attrs: &AttrView<'_>) -> Result<Settings> {
        let settings = Settings {
            classes: attrs.count("num_total_classes")?,
            negatives: attrs.count("num_neg_samples")?,
            sampler: attrs.int("sampler")?,
            seed: attrs.int("seed")?,
            chosen: attrs.ints("custom_neg_classes")?,
        };
        if !(0..=2).contains(&settings.sampler) {
            fail!(Kind::Argument, "`nce` has no sampler {}: 0 is uniform, 1 log-uniform, 2 custom", settings.sampler);
        }
        if !settings.chosen.is_empty() && settings.chosen.len() != settings.negatives {
            let (n, chosen) = (settings.negatives, settings.chosen.len());
            fail!(Kind::Argument, "`nce` needs num_neg_samples = {n} custom_neg_classes, but has {chosen}");
        }
        if attrs.bool("remote_prefetch")? && !attrs.strs("epmap")?.is_empty() {
            return Err(Error::new(
                Kind::Unsupported,
                "`nce` asks parameter servers for its rows, but runs without a client for them",
            )
            .help("run the program before it was transpiled"));
        }
        Ok(settings)
    }
}

/// The inputs that the operator and its gradient have in common.
struct Inputs {
    settings: Settings,
    input: In,
    label: In,
    weight: In,
    bias: Option<In>,
    sample_weight: Option<In>,
    custom: Option<[In; 3]>,
}

impl Inputs {
    fn new(p: &Prepare<'_>) -> Result<Inputs> {
        let settings = Settings::new(&p.attrs())?;
        let custom = match settings.sampler {
            2 => Some([p.input("CustomDistProbs")?, p.input("CustomDistAlias")?, p.input("CustomDistAliasProbs")?]),
            _ => None,
        };
        Ok(Inputs {
            settings,
            input: p.input("Input")?,
            label: p.input("Label")?,
            weight: p.input("Weight")?,
            bias: p.maybe_input("Bias")?,
            sample_weight: p.maybe_input("SampleWeight")?,
            custom,
        })
    }

    /// Runs `with` with the distribution that classes are drawn from.
    fn with_sampler<R>(&self, io: &Io<'_>, with: impl FnOnce(&Sampler<'_>) -> Result<R>) -> Result<R> {
        let range = self.settings.classes.saturating_sub(1) as u64;
        match (self.settings.sampler, self.custom) {
            (_, Some(inputs @ [probs, alias, keep])) => {
                let tensors = (io.dense(probs)?, io.dense(alias)?, io.dense(keep)?);
                let custom = Custom {
                    probs: io.data(probs, &tensors.0)?,
                    alias: io.data(alias, &tensors.1)?,
                    keep: io.data(keep, &tensors.2)?,
                };
                with(&Sampler::Custom(custom.check(io, inputs, self.settings.classes)?))
            }
            (1, _) => with(&Sampler::log_uniform(range)),
            _ => with(&Sampler::Uniform { range }),
        }
    }

    /// The true classes of every example, how many each has; checked.
    fn true_classes<'t>(&self, io: &Io<'_>, label: &'t Tensor, batch: usize) -> Result<(&'t [i64], usize)> {
        let labels = io.data::<i64>(self.label, label)?;
        let (rows, each) = label.dims().matrix(1);
        if rows != batch {
            return Err(io.error(
                Kind::Shape,
                self.label,
                format!("has labels of {rows} examples, but there are {batch}"),
            ));
        }
        Ok((labels, each))
    }

    fn check_classes(&self, io: &Io<'_>, classes: &[i64]) -> Result<()> {
        let count = self.settings.classes;
        match classes.iter().find(|c| !(0..count as i64).contains(c)) {
            Some(c) => Err(io.error(Kind::Range, self.label, format!("holds class {c}, but there are {count}"))),
            None => Ok(()),
        }
    }

    /// The weight of each example, 1 where there is none.
    fn example_weights<T: Float>(&self, io: &Io<'_>, batch: usize) -> Result<Vec<T>> {
        let Some(input) = self.sample_weight else { return Ok(vec![T::ONE; batch]) };
        let t = io.dense(input)?;
        let weights = io.data::<T>(input, &t)?;
        checks::expect_elements(io, input, weights.len(), batch)?;
        Ok(weights.to_vec())
    }

    /// The sizes of input and weight: examples and width.
    fn sizes(&self, io: &Io<'_>, input: &Tensor, weight: &Tensor) -> Result<(usize, usize)> {
        let (batch, width) = input.dims().matrix(1);
        if weight.dims()[..] != [self.settings.classes, width] {
            let what =
                format!("is {}, but {} classes of width {width} are needed", weight.dims(), self.settings.classes);
            return Err(io.error(Kind::Shape, self.weight, what));
        }
        Ok((batch, width))
    }
}

fn forward<T: Float>(io: &Io<'_>, inputs: &Inputs, cost: Out, (out, labels_out): (Out, Out)) -> Result<()> {
    let (x, w, label) = (io.dense(inputs.input)?, io.dense(inputs.weight)?, io.dense(inputs.label)?);
    let (batch, width) = inputs.sizes(io, &x, &w)?;
    let (labels, each) = inputs.true_classes(io, &label, batch)?;
    inputs.check_classes(io, labels)?;
    inputs.check_classes(io, &inputs.settings.chosen)?;
    let columns = each + inputs.settings.negatives;
    let mut classes = io.out_sized(labels_out, DType::I64, Dims::from([batch, columns]))?;
    let classes = io.data_mut::<i64>(labels_out, &mut classes)?;
    let mut o = io.out_sized(out, T::DTYPE, Dims::from([batch, columns]))?;
    let o = io.data_mut::<T>(out, &mut o)?;
    inputs.with_sampler(io, |sampler| {
        draw(&inputs.settings, samplers::engine(io, inputs.settings.seed), sampler, (labels, each), classes);
        // A custom alias table was checked, so every class drawn is one.
        score::<T>(io, inputs, (&x, &w, width), (classes, columns), o)?;
        let weights = inputs.example_weights::<T>(io, batch)?;
        equal_sizes::column(io, cost, batch, |row| {
            let at = row * columns..(row + 1) * columns;
            let costs = o[at.clone()].iter().zip(&classes[at]).enumerate().map(|(j, (&o, &class))| {
                let b = T::of((sampler.probability(class) * inputs.settings.negatives as f32).into());
                let share = if j < each { o } else { b };
                -(share / (o + b)).ln()
            });
            weights[row] * costs.fold(T::ZERO, |sum, c| sum + c)
        })
    })
}

/// Writes, for each example, its true classes and those drawn for it.
fn draw(
    settings: &Settings,
    mut engine: Mt19937x64,
    sampler: &Sampler<'_>,
    (labels, each): (&[i64], usize),
    classes: &mut [i64],
) {
    let columns = each + settings.negatives;
    for (row, to) in classes.chunks_exact_mut(columns.max(1)).enumerate() {
        let (known, drawn) = to.split_at_mut(each);
        known.copy_from_slice(&labels[row * each..][..each]);
        if settings.chosen.is_empty() {
            drawn.iter_mut().for_each(|to| *to = sampler.draw(&mut engine));
        } else {
            drawn.copy_from_slice(&settings.chosen);
        }
    }
}

/// o of each example and class.
fn score<T: Float>(
    io: &Io<'_>,
    inputs: &Inputs,
    (x, w, width): (&Tensor, &Tensor, usize),
    (classes, columns): (&[i64], usize),
    o: &mut [T],
) -> Result<()> {
    let (x, w) = (io.data::<T>(inputs.input, x)?, io.data::<T>(inputs.weight, w)?);
    let bias_tensor = inputs.bias.map(|b| io.dense(b)).transpose()?;
    let bias = match (inputs.bias, &bias_tensor) {
        (Some(input), Some(t)) => Some(checks::sized::<T>(io, input, t, inputs.settings.classes)?),
        _ => None,
    };
    for (at, (o, &class)) in o.iter_mut().zip(classes).enumerate() {
        let class = class as usize;
        let logit = simd::dot(&x[at / columns * width..][..width], &w[class * width..][..width])
            + bias.map_or(T::ZERO, |b| b[class]);
        *o = T::ONE / (T::ONE + (-logit).exp());
    }
    Ok(())
}

const GRAD: GradOp = GradOp::of(
    &Nce,
    "nce_grad(Bias, Cost@GRAD, CustomDistAlias, CustomDistAliasProbs, CustomDistProbs, Input, Label, \
     SampleLabels, SampleLogits, SampleWeight, Weight) -> Bias@GRAD, Input@GRAD, Weight@GRAD",
)
.doc(
    "the derivative by each logit is (o - 1) b / (o + b) for true classes and o (1 - o) / (o + b) for drawn ones, \
             times SampleWeight and Cost@GRAD",
)
.infer(|cx| {
    cx.grads_of(&["Bias", "Input"])?;
    let kind = if cx.attrs().bool("is_sparse")? { VarKind::SelectedRows } else { VarKind::Tensor };
    let weight = cx.input("Weight")?;
    cx.set("Weight@GRAD", weight.with_kind(kind));
    Ok(())
})
.kernel(|p| {
    let backward = Backward::new(p)?;
    by_float!(p.float("Input")?, T => {
        let mut scratch = Vec::<T>::new();
        kernel(move |io| backward.run(io, &mut scratch))
    })
});

slots! {
    struct Backward(p) {
        inputs: Inputs = Inputs::new(p)?,
        dcost: input "Cost@GRAD",
        classes: input "SampleLabels",
        o: input "SampleLogits",
        dbias: maybe_output "Bias@GRAD",
        dinput: maybe_output "Input@GRAD",
        dweight: maybe_output "Weight@GRAD",
        sparse: bool "is_sparse",
    }
}

impl Backward {
    fn run<T: Float>(&self, io: &Io<'_>, d: &mut Vec<T>) -> Result<()> {
        let inputs = &self.inputs;
        let (x, w, label) = (io.dense(inputs.input)?, io.dense(inputs.weight)?, io.dense(inputs.label)?);
        let (batch, width) = inputs.sizes(io, &x, &w)?;
        let (_, each) = inputs.true_classes(io, &label, batch)?;
        let columns = each + inputs.settings.negatives;
        let (classes, o, dcost) = (io.dense(self.classes)?, io.dense(self.o)?, io.dense(self.dcost)?);
        let classes = checks::sized::<i64>(io, self.classes, &classes, batch * columns)?;
        inputs.check_classes(io, classes)?;
        let o = checks::sized::<T>(io, self.o, &o, batch * columns)?;
        let dcost = checks::sized::<T>(io, self.dcost, &dcost, batch)?;
        let weights = inputs.example_weights::<T>(io, batch)?;
        d.clear();
        inputs.with_sampler(io, |sampler| {
            d.extend(o.iter().zip(classes).enumerate().map(|(at, (&o, &class))| {
                let b = T::of((sampler.probability(class) * inputs.settings.negatives as f32).into());
                let by_logit =
                    if at % columns < each { b / (o + b) * (o - T::ONE) } else { o * (T::ONE - o) / (o + b) };
                weights[at / columns] * by_logit * dcost[at / columns]
            }));
            Ok(())
        })?;
        let rows = RowGrad { classes, columns, d, width, height: inputs.settings.classes };
        let (x, w) = (io.data::<T>(inputs.input, &x)?, io.data::<T>(inputs.weight, &w)?);
        rows.bias(io, self.dbias, inputs.bias)?;
        rows.weight(io, self.dweight, x, self.sparse)?;
        rows.input(io, self.dinput, inputs.input, w)
    }
}

#[cfg(test)]
mod tests {
    use oarlock_ir::Attr;

    use crate::testing::{Check, check, noise, tensor, tensor_of};

    fn nce() -> Check {
        check("nce")
            .input("Input", noise([2, 3], 1))
            .input("Label", tensor_of([2, 1], &[1i64, 4]))
            .input("Weight", noise([5, 3], 2))
            .input("Bias", noise([5, 1], 3))
            .attr("num_total_classes", 5)
            .attr("num_neg_samples", 2)
            .attr("seed", 3)
            .any_output("Cost")
            .any_output("SampleLogits")
            .counting(&["Cost"])
    }

    #[test]
    fn gradients() {
        nce().any_output("SampleLabels").grad(&["Input", "Weight", "Bias"]).run();
        nce()
            .input("SampleWeight", tensor([2, 1], &[0.5, 2.0]))
            .attr("sampler", 1)
            .any_output("SampleLabels")
            .grad(&["Input", "Weight", "Bias"])
            .run();
    }

    #[test]
    fn a_custom_distribution() {
        // Classes 0 and 1 only, through the alias table; class 2 is never kept.
        nce()
            .input("CustomDistProbs", tensor([5], &[0.4, 0.6, 0.0, 0.0, 0.0]))
            .input("CustomDistAlias", tensor_of([5], &[-1i32, -1, 1, 0, 1]))
            .input("CustomDistAliasProbs", tensor([5], &[1.0, 1.0, 0.0, 0.0, 0.0]))
            .attr("sampler", 2)
            .any_output("SampleLabels")
            .run();
    }

    #[test]
    fn chosen_classes_and_a_cost_by_hand() {
        // Two classes, all scores 0: o = 1/2 and b = 1/2, so each of the two terms is ln 2.
        check("nce")
            .input("Input", tensor([1, 1], &[0.0]))
            .input("Label", tensor_of([1, 1], &[1i64]))
            .input("Weight", tensor([2, 1], &[1.0, -1.0]))
            .attr("num_total_classes", 2)
            .attr("num_neg_samples", 1)
            .attr("custom_neg_classes", Attr::Ints(vec![0]))
            .output("Cost", tensor([1, 1], &[2.0 * 2f32.ln()]))
            .output("SampleLogits", tensor([1, 2], &[0.5, 0.5]))
            .output("SampleLabels", tensor_of([1, 2], &[1i64, 0]))
            .run();
    }

    #[test]
    fn labels_must_be_classes() {
        let e = nce().input("Label", tensor_of([2, 1], &[1i64, 5])).any_output("SampleLabels").error();
        assert!(e.contains("input `Label` = `Label.0` holds class 5, but there are 5"), "{e}");
    }
}
