//! `sample_logits`: the logits of the true classes and of some drawn ones, corrected for how probably they were drawn.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Shape, Traits, VarType};
use oarlock_ir::{by_float, fail, kernel, sig};
use oarlock_ops_support::checks;
use oarlock_tensor::{DType, Dims, Float, MAX_RANK};

use crate::sampling::samplers::{self, Sampler};

pub(crate) const OPS: &[&dyn OpDef] = &[&SampleLogits, &SAMPLE_LOGITS_GRAD];

/// The number subtracted from the logit of a drawn class that is a true one, so that softmax ignores it.
const HIT: f64 = 1e20;

struct SampleLogits;

impl OpDef for SampleLogits {
    sig! {
        "sample_logits":
            "SampledLogits = Logits at Samples - ln(Probabilities); less 1e20 at drawn classes that are true ones, if so asked. \
             Samples are the labels of a row and num_samples different classes, drawn once for all rows; \
             Probabilities are those of being among them";
        in "Logits": "[batch, classes]";
        in "Labels": "i64 [batch, true classes]";
        in? "CustomizedSamples": "i64 [batch, true classes + num_samples], instead of drawing";
        in? "CustomizedProbabilities": "like `CustomizedSamples`";
        out "Samples": "i64 [batch, true classes + num_samples]";
        out "Probabilities": "like `Samples`";
        out "LogitsDim": "no elements; its sizes are those of `Logits` before a 0";
        out "LabelsDim": "no elements; its sizes are those of `Labels` before a 0";
        out "SampledLogits": "like `Samples`";
        out "SampledLabels": "i64, where the labels are in `Samples`: 0, 1, ...";
        attr "num_samples": "how many classes are drawn";
        attr "use_customized_samples" = false, "take the customized samples";
        attr "remove_accidental_hits" = true, "make drawn classes that are true ones not count";
        attr "seed" = 0, "of the drawn classes; 0 for others in each step";
        hints ["uniq"];
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (logits, labels) = (cx.float("Logits")?, cx.integer("Labels")?);
        if logits.shape.rank() != 2 || labels.shape.rank() != 2 {
            let what = format!("needs matrices, but has {} and {}", cx.describe("Logits"), cx.describe("Labels"));
            return Err(cx.shape_error(what));
        }
        let samples = cx.attrs().count("num_samples")?;
        let columns = labels.shape[1].known().map_or(Dim::Any, |n| Dim::Is(n + samples));
        let table = Shape(vec![logits.shape[0], columns]);
        let with_zero = |s: &Shape| Shape(s.iter().copied().chain([Dim::Is(0)]).collect());
        cx.set("Samples", VarType::tensor(DType::I64, table.clone()));
        cx.set("Probabilities", VarType::tensor(logits.dtype, table.clone()));
        cx.set("SampledLogits", VarType::tensor(logits.dtype, table));
        cx.set("SampledLabels", VarType::tensor(DType::I64, labels.shape.clone()));
        cx.set("LogitsDim", VarType::tensor(logits.dtype, with_zero(&logits.shape)));
        cx.set("LabelsDim", VarType::tensor(labels.dtype, with_zero(&labels.shape)));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let custom = p.attrs().bool("use_customized_samples")?;
        let forward = Forward {
            logits: p.input("Logits")?,
            labels: p.input("Labels")?,
            custom: match custom {
                true => Some((p.input("CustomizedSamples")?, p.input("CustomizedProbabilities")?)),
                false => None,
            },
            samples: p.output("Samples")?,
            probabilities: p.output("Probabilities")?,
            dims: [p.maybe_output("LogitsDim")?, p.maybe_output("LabelsDim")?],
            sampled: p.output("SampledLogits")?,
            sampled_labels: p.output("SampledLabels")?,
            drawn: p.attrs().count("num_samples")?,
            remove_hits: p.attrs().bool("remove_accidental_hits")?,
            seed: p.attrs().int("seed")?,
        };
        if let (None, Some(classes)) = (forward.custom, p.var("Logits").and_then(|v| v.ty().shape.get(1)?.known()))
            && forward.drawn > classes
        {
            fail!(Kind::Argument, "`sample_logits` cannot draw {} different classes of {classes}", forward.drawn);
        }
        by_float!(p.float("Logits")?, T => kernel(move |io| forward.run::<T>(io)))
    }
}

struct Forward {
    logits: In,
    labels: In,
    custom: Option<(In, In)>,
    samples: Out,
    probabilities: Out,
    dims: [Option<Out>; 2],
    sampled: Out,
    sampled_labels: Out,
    drawn: usize,
    remove_hits: bool,
    seed: i64,
}

impl Forward {
    fn run<T: Float>(&self, io: &Io<'_>) -> Result<()> {
        let (logits, labels) = (io.dense(self.logits)?, io.dense(self.labels)?);
        let ((batch, classes), (rows, each)) = (logits.dims().matrix(1), labels.dims().matrix(1));
        if rows != batch {
            return Err(io.error(Kind::Shape, self.labels, format!("has {rows} rows, but the logits have {batch}")));
        }
        for (out, tensor) in self.dims.iter().zip([&logits, &labels]) {
            if let Some(out) = *out
                && tensor.dims().rank() < MAX_RANK
            {
                let mut dims = *tensor.dims();
                dims.push(0);
                io.out_sized(out, tensor.dtype(), dims)?;
            }
        }
        let columns = each + self.drawn;
        let table = Dims::from([batch, columns]);
        let mut samples = io.out_sized(self.samples, DType::I64, table)?;
        let samples = io.data_mut::<i64>(self.samples, &mut samples)?;
        let mut probs = io.out_sized(self.probabilities, T::DTYPE, table)?;
        let probs = io.data_mut::<T>(self.probabilities, &mut probs)?;
        match self.custom {
            Some((from, p)) => {
                let (from_tensor, p_tensor) = (io.dense(from)?, io.dense(p)?);
                samples.copy_from_slice(checks::sized(io, from, &from_tensor, samples.len())?);
                probs.copy_from_slice(checks::sized(io, p, &p_tensor, probs.len())?);
            }
            None => self.draw(io, (io.data::<i64>(self.labels, &labels)?, each, classes), samples, probs)?,
        }
        if let Some(s) = samples.iter().find(|s| !(0..classes as i64).contains(s)) {
            return Err(io.error(
                Kind::Range,
                self.labels,
                format!("or a sample is class {s}, but there are {classes}"),
            ));
        }
        self.write(io, io.data::<T>(self.logits, &logits)?, (samples, probs), (each, columns, classes))
    }

    /// The labels of each row, then classes drawn until enough different ones are found, the same for all rows.
    fn draw<T: Float>(
        &self,
        io: &Io<'_>,
        (labels, each, classes): (&[i64], usize, usize),
        samples: &mut [i64],
        probs: &mut [T],
    ) -> Result<()> {
        if self.drawn > classes {
            let what = format!("has {classes} classes, of which {} different ones cannot be drawn", self.drawn);
            return Err(io.error(Kind::Argument, self.logits, what));
        }
        let sampler = Sampler::log_uniform(classes as u64);
        let mut engine = samplers::engine(io, self.seed);
        let mut drawn = Vec::with_capacity(self.drawn);
        let mut tries = 0usize;
        while drawn.len() < self.drawn {
            tries += 1;
            let class = sampler.draw(&mut engine);
            if !drawn.contains(&class) {
                drawn.push(class);
            }
        }
        for (row, to) in samples.chunks_exact_mut(each + self.drawn).enumerate() {
            to[..each].copy_from_slice(&labels[row * each..][..each]);
            to[each..].copy_from_slice(&drawn);
        }
        for (p, &class) in probs.iter_mut().zip(&*samples) {
            let once = f64::from(sampler.probability(class));
            // In as many tries as samples each try counts; else the chance of being found in any of them.
            let found =
                if tries == self.drawn { once * tries as f64 } else { -(tries as f64 * (-once).ln_1p()).exp_m1() };
            *p = T::of(found);
        }
        Ok(())
    }

    fn write<T: Float>(
        &self,
        io: &Io<'_>,
        logits: &[T],
        (samples, probs): (&[i64], &[T]),
        (each, columns, classes): (usize, usize, usize),
    ) -> Result<()> {
        let rows = samples.len() / columns.max(1);
        let mut sampled = io.out_sized(self.sampled, T::DTYPE, Dims::from([rows, columns]))?;
        let sampled = io.data_mut::<T>(self.sampled, &mut sampled)?;
        let bound = T::of(HIT);
        for (at, to) in sampled.iter_mut().enumerate() {
            let (row, column) = (at / columns, at % columns);
            let mut logit = logits[row * classes + samples[at] as usize];
            let hit = column >= each && samples[row * columns..][..each].contains(&samples[at]);
            if self.remove_hits && hit {
                logit -= bound;
            }
            *to = logit - probs[at].ln().max(-bound).min(bound);
        }
        let mut labels = io.out_sized(self.sampled_labels, DType::I64, Dims::from([rows, each]))?;
        let labels = io.data_mut::<i64>(self.sampled_labels, &mut labels)?;
        labels.iter_mut().enumerate().for_each(|(at, to)| *to = (at % each.max(1)) as i64);
        Ok(())
    }
}

const SAMPLE_LOGITS_GRAD: GradOp =
    GradOp::of(&SampleLogits, "sample_logits_grad(LabelsDim, LogitsDim, SampledLogits@GRAD, Samples) -> Logits@GRAD")
        .doc("Logits@GRAD at Samples += SampledLogits@GRAD; 0 at other classes")
        .traits(Traits::NONE.shape_only(&["LabelsDim", "LogitsDim"]))
        .infer(|cx| {
            let dims = cx.input("LogitsDim")?;
            let mut shape = dims.shape.clone();
            shape.0.pop();
            cx.set("Logits@GRAD", dims.with_shape(shape));
            Ok(())
        })
        .kernel(|p| {
            let (samples, d, dims) = (p.input("Samples")?, p.input("SampledLogits@GRAD")?, p.input("LogitsDim")?);
            let out = p.output("Logits@GRAD")?;
            by_float!(p.float("SampledLogits@GRAD")?, T => kernel(move |io| backward::<T>(io, (samples, d, dims), out)))
        });

fn backward<T: Float>(io: &Io<'_>, (samples, d, dims): (In, In, In), out: Out) -> Result<()> {
    let (samples_tensor, d_tensor, dims_tensor) = (io.dense(samples)?, io.dense(d)?, io.dense(dims)?);
    let &[batch, classes, 0] = &dims_tensor.dims()[..] else {
        return Err(io.error(
            Kind::Shape,
            dims,
            format!("is {}, but the sizes of a matrix are needed", dims_tensor.dims()),
        ));
    };
    let at = io.data::<i64>(samples, &samples_tensor)?;
    let d = checks::sized::<T>(io, d, &d_tensor, at.len())?;
    let columns = at.len() / batch.max(1);
    let mut t = io.out_sized(out, T::DTYPE, Dims::from([batch, classes]))?;
    let to = io.data_mut::<T>(out, &mut t)?;
    to.fill(T::ZERO);
    for (i, (&class, &d)) in at.iter().zip(d).enumerate() {
        if class as u64 >= classes as u64 {
            return Err(io.error(Kind::Range, samples, format!("holds class {class}, but there are {classes}")));
        }
        to[i / columns * classes + class as usize] += d;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, tensor_of};

    fn sample() -> Check {
        check("sample_logits")
            .input("Logits", tensor([2, 4], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]))
            .input("Labels", tensor_of([2, 1], &[1i64, 3]))
            .any_output("LogitsDim")
            .any_output("LabelsDim")
            .counting(&["SampledLogits"])
    }

    #[test]
    fn samples_of_ones_own() {
        sample()
            .input("CustomizedSamples", tensor_of([2, 3], &[1i64, 0, 1, 3, 2, 2]))
            .input("CustomizedProbabilities", tensor([2, 3], &[1.0, 0.5, 1.0, 1.0, 1.0, 1.0]))
            .attr("use_customized_samples", true)
            .attr("num_samples", 2)
            .output("Samples", tensor_of([2, 3], &[1i64, 0, 1, 3, 2, 2]))
            .any_output("Probabilities")
            .output("SampledLogits", tensor([2, 3], &[2.0, 1.0 + 2f32.ln(), -1e20, 8.0, 7.0, 7.0]))
            .output("SampledLabels", tensor_of([2, 1], &[0i64, 0]))
            .run();
    }

    #[test]
    fn gradients() {
        sample()
            .input("Logits", noise([2, 4], 1))
            .attr("num_samples", 3)
            .attr("seed", 5)
            .attr("remove_accidental_hits", false)
            .any_output("Samples")
            .any_output("Probabilities")
            .any_output("SampledLogits")
            .any_output("SampledLabels")
            .grad(&["Logits"])
            .run();
    }

    #[test]
    fn there_must_be_enough_classes() {
        let e = sample()
            .attr("num_samples", 5)
            .any_output("Samples")
            .any_output("Probabilities")
            .any_output("SampledLogits")
            .any_output("SampledLabels")
            .error();
        assert!(e.contains("cannot draw 5 different classes of 4"), "{e}");
    }
}
