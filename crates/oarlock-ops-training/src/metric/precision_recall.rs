//! `precision_recall`: precision, recall and F1 of classes, of a batch and of all so far.

use oarlock_ir::{Dim, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, VarType};
use oarlock_ir::{by_float, kernel, sig, slots};
use oarlock_ops_support::checks;
use oarlock_ops_support::ints::Ints;
use oarlock_tensor::{DType, Dims, Float};

pub(crate) const OPS: &[&dyn OpDef] = &[&PrecisionRecall];

struct PrecisionRecall;

impl OpDef for PrecisionRecall {
    sig! {
        "precision_recall":
            "BatchMetrics = macro precision, recall and F1 (means over classes), then micro ones (of all classes together); \
             AccumMetrics the same with the counts of StatesInfo. A class that never occurs has precision and recall 1";
        in "MaxProbs": "[batch, 1], the probabilities of the predictions; only their type matters";
        in "Indices": "[batch, 1] i32 or i64, the predicted classes";
        in "Labels": "[batch, 1] i32 or i64, the true classes";
        in? "Weights": "[batch, 1]";
        in? "StatesInfo": "[classes, 4], the counts so far";
        out "BatchMetrics": "[6] f64";
        out "AccumMetrics": "[6] f64";
        out "AccumStatesInfo": "[classes, 4]: true positives, false positives, true negatives, false negatives";
        attr "class_number": "how many classes there are";
        traits Traits::GRADIENT_FREE.shape_only(&["MaxProbs"]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let probs = cx.float("MaxProbs")?;
        cx.integer("Indices")?;
        cx.integer("Labels")?;
        let classes = cx.attrs().count("class_number")?;
        for slot in ["BatchMetrics", "AccumMetrics"] {
            cx.set(slot, VarType::tensor(DType::F64, vec![Dim::Is(6)]));
        }
        cx.set("AccumStatesInfo", VarType::tensor(probs.dtype, vec![Dim::Is(classes), Dim::Is(4)]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let mut metric = Metric::new(p)?;
        by_float!(p.float("MaxProbs")?, T => kernel(move |io| metric.run::<T>(io)))
    }
}

/// True positives, false positives, true negatives, false negatives of a class.
type State = [f64; 4];

slots! {
    struct Metric(p) {
        found: input "Indices",
        truth: input "Labels",
        weights: maybe_input "Weights",
        earlier: maybe_input "StatesInfo",
        metrics: [Option<Out>; 2] = [p.maybe_output("BatchMetrics")?, p.maybe_output("AccumMetrics")?],
        states_out: maybe_output "AccumStatesInfo",
        states: Vec<State> = vec![[0.0; 4]; p.attrs().count("class_number")?],
    }
}

impl Metric {
    fn run<T: Float>(&mut self, io: &Io<'_>) -> Result<()> {
        self.states.fill([0.0; 4]);
        self.count::<T>(io)?;
        self.write(io, self.metrics[0])?;
        if let Some(input) = self.earlier {
            let t = io.dense(input)?;
            let earlier = io.data::<T>(input, &t)?;
            if earlier.len() != self.states.len() * 4 {
                let what = format!("is {}, but [{}, 4] is needed", t.dims(), self.states.len());
                return Err(io.error(Kind::Shape, input, what));
            }
            let counts = self.states.as_flattened_mut();
            counts.iter_mut().zip(earlier).for_each(|(to, e)| *to += e.f64());
        }
        self.write(io, self.metrics[1])?;
        let Some(out) = self.states_out else { return Ok(()) };
        let mut t = io.out_sized(out, T::DTYPE, Dims::from([self.states.len(), 4]))?;
        let to = io.data_mut::<T>(out, &mut t)?;
        to.iter_mut().zip(self.states.as_flattened()).for_each(|(to, s)| *to = T::of(*s));
        Ok(())
    }

    fn count<T: Float>(&mut self, io: &Io<'_>) -> Result<()> {
        let (found, truth) = (io.dense(self.found)?, io.dense(self.truth)?);
        let (found, truth) = (Ints::of(io, self.found, &found)?, Ints::of(io, self.truth, &truth)?);
        checks::expect_elements(io, self.truth, truth.len(), found.len())?;
        let weight_tensor = self.weights.map(|w| io.dense(w)).transpose()?;
        let weights = match (self.weights, &weight_tensor) {
            (Some(input), Some(t)) => {
                checks::expect_elements(io, input, t.numel(), found.len())?;
                Some(io.data::<T>(input, t)?)
            }
            _ => None,
        };
        for row in 0..found.len() {
            let class = |input: In, of: Ints<'_>| {
                let class = usize::try_from(of.at(row)).ok().filter(|&c| c < self.states.len());
                let what = || format!("holds class {} in row {row}, but there are {}", of.at(row), self.states.len());
                class.ok_or_else(|| io.error(Kind::Range, input, what()))
            };
            let (a, b) = (class(self.found, found)?, class(self.truth, truth)?);
            let w = weights.map_or(1.0, |w| w[row].f64());
            for (k, state) in self.states.iter_mut().enumerate() {
                let which = match (k == a, k == b) {
                    (true, true) => 0,
                    (true, false) => 1,
                    (false, true) => 3,
                    (false, false) => 2,
                };
                state[which] += w;
            }
        }
        Ok(())
    }

    fn write(&self, io: &Io<'_>, out: Option<Out>) -> Result<()> {
        let Some(out) = out else { return Ok(()) };
        let mut t = io.out_sized(out, DType::F64, Dims::from([6]))?;
        io.data_mut::<f64>(out, &mut t)?.copy_from_slice(&metrics(&self.states));
        Ok(())
    }
}

/// Macro precision, recall, F1, then micro ones.
fn metrics(states: &[State]) -> [f64; 6] {
    let share = |part: f64, rest: f64| if part > 0.0 || rest > 0.0 { part / (part + rest) } else { 1.0 };
    let f1 = |p: f64, r: f64| if p > 0.0 || r > 0.0 { 2.0 * p * r / (p + r) } else { 0.0 };
    let n = states.len().max(1) as f64;
    let precision = states.iter().map(|s| share(s[0], s[1])).sum::<f64>() / n;
    let recall = states.iter().map(|s| share(s[0], s[3])).sum::<f64>() / n;
    let total = |k: usize| states.iter().map(|s| s[k]).sum::<f64>();
    let (all_precision, all_recall) = (share(total(0), total(1)), share(total(0), total(3)));
    [precision, recall, f1(precision, recall), all_precision, all_recall, f1(all_precision, all_recall)]
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor, tensor_of};

    fn metric() -> Check {
        check("precision_recall")
            .input("MaxProbs", tensor([2, 1], &[0.5, 0.5]))
            .input("Indices", tensor_of([2, 1], &[0i32, 1]))
            .attr("class_number", 2)
    }

    #[test]
    fn counts_accumulate() {
        metric()
            .input("Labels", tensor_of([2, 1], &[0i32, 0]))
            .input("StatesInfo", tensor([2, 4], &[0.0, 0.0, 2.0, 0.0, 2.0, 0.0, 0.0, 0.0]))
            .output("BatchMetrics", tensor_of([6], &[0.5f64, 0.75, 0.6, 0.5, 0.5, 0.5]))
            .output("AccumMetrics", tensor_of([6], &[5.0f64 / 6.0, 0.75, 15.0 / 19.0, 0.75, 0.75, 0.75]))
            .output("AccumStatesInfo", tensor([2, 4], &[1.0, 0.0, 2.0, 1.0, 2.0, 1.0, 1.0, 0.0]))
            .run();
    }

    #[test]
    fn classes_must_be_known() {
        let e = metric().input("Labels", tensor_of([2, 1], &[0i32, 2])).any_output("BatchMetrics").error();
        assert!(e.contains("holds class 2 in row 1, but there are 2"), "{e}");
    }
}
