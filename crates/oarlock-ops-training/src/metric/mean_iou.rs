//! `mean_iou`: how much predicted and true classes overlap, class by class.

use oarlock_ir::{Dim, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, VarType, kernel, sig, slots};
use oarlock_ops_support::ints::Ints;
use oarlock_tensor::{DType, Dims, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&MeanIou];

struct MeanIou;

impl OpDef for MeanIou {
    sig! {
        "mean_iou":
            "OutMeanIou = the mean of OutCorrect / (OutCorrect + OutWrong) over the classes that occur. A class is correct where it is \
             predicted and true, and wrong where it is only one of them. Earlier counts are added first, earlier means to the result";
        in "Predictions": "i32 or i64 classes";
        in "Labels": "like `Predictions`";
        in*? "InWrongs": "i32 [num_classes], earlier counts";
        in*? "InCorrects": "i32 [num_classes], earlier counts";
        in*? "InMeanIou": "[1] f32, earlier results";
        out "OutMeanIou": "[1] f32";
        out "OutWrong": "i32 [num_classes]";
        out "OutCorrect": "i32 [num_classes]";
        attr "num_classes": "how many classes there are";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.integer("Predictions")?;
        cx.integer("Labels")?;
        let classes = vec![Dim::Is(cx.attrs().count("num_classes")?)];
        cx.set("OutMeanIou", VarType::tensor(DType::F32, vec![Dim::Is(1)]));
        cx.set("OutWrong", VarType::tensor(DType::I32, classes.clone()));
        cx.set("OutCorrect", VarType::tensor(DType::I32, classes));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let mut iou = Iou::new(p)?;
        kernel(move |io| iou.run(io))
    }
}

slots! {
    struct Iou(p) {
        predictions: input "Predictions",
        labels: input "Labels",
        before: [Vec<In>; 2] = [p.inputs("InWrongs")?, p.inputs("InCorrects")?],
        means: inputs "InMeanIou",
        out: output "OutMeanIou",
        counts_out: [Out; 2] = [p.output("OutWrong")?, p.output("OutCorrect")?],
        /// Wrong and correct, by class.
        counts: [Vec<i32>; 2] = [vec![0; p.attrs().count("num_classes")?], vec![0; p.attrs().count("num_classes")?]],
    }
}

impl Iou {
    fn run(&mut self, io: &Io<'_>) -> Result<()> {
        for (counts, inputs) in self.counts.iter_mut().zip(&self.before) {
            counts.fill(0);
            for &input in inputs {
                let t = io.dense(input)?;
                let earlier = io.data::<i32>(input, &t)?;
                if earlier.len() != counts.len() {
                    let what = format!("holds {} counts for {} classes", earlier.len(), counts.len());
                    return Err(io.error(Kind::Shape, input, what));
                }
                counts.iter_mut().zip(earlier).for_each(|(a, b)| *a += b);
            }
        }
        self.count(io)?;
        let mut mean = self.mean();
        for &input in &self.means {
            mean += io.scalar(input)? as f32;
        }
        io.out(self.out)?.copy_from(&Tensor::scalar(mean));
        for (out, counts) in self.counts_out.into_iter().zip(&self.counts) {
            let mut t = io.out_sized(out, DType::I32, Dims::from([counts.len()]))?;
            io.data_mut::<i32>(out, &mut t)?.copy_from_slice(counts);
        }
        Ok(())
    }

    fn count(&mut self, io: &Io<'_>) -> Result<()> {
        let (predictions, labels) = (io.dense(self.predictions)?, io.dense(self.labels)?);
        let found = Ints::of(io, self.predictions, &predictions)?;
        let truth = Ints::of(io, self.labels, &labels)?;
        if found.len() != truth.len() {
            let what = format!("holds {} classes, but there are {} predictions", truth.len(), found.len());
            return Err(io.error(Kind::Shape, self.labels, what));
        }
        let [wrong, correct] = &mut self.counts;
        let class = |input: In, of: Ints<'_>, at: usize| {
            let found = usize::try_from(of.at(at)).ok().filter(|&c| c < correct.len());
            let what = || format!("holds class {} at position {at}, but there are {}", of.at(at), wrong.len());
            found.ok_or_else(|| io.error(Kind::Range, input, what()))
        };
        let mut pairs = Vec::with_capacity(found.len());
        for at in 0..found.len() {
            pairs.push((class(self.predictions, found, at)?, class(self.labels, truth, at)?));
        }
        for (a, b) in pairs {
            if a == b {
                correct[a] += 1;
            } else {
                wrong[a] += 1;
                wrong[b] += 1;
            }
        }
        Ok(())
    }

    fn mean(&self) -> f32 {
        let [wrong, correct] = &self.counts;
        let known = || wrong.iter().zip(correct).filter(|(w, c)| **w + **c > 0);
        let sum: f32 = known().map(|(&w, &c)| c as f32 / (w + c) as f32).sum();
        sum / known().count().max(1) as f32
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor, tensor_of};

    fn iou() -> Check {
        check("mean_iou").input("Predictions", tensor_of([4], &[0i32, 1, 1, 2])).attr("num_classes", 4)
    }

    #[test]
    fn with_earlier_results() {
        iou()
            .input("Labels", tensor_of([4], &[0i32, 1, 2, 2]))
            .inputs("InWrongs", vec![tensor_of([4], &[1i32, 0, 0, 0])])
            .inputs("InCorrects", vec![tensor_of([4], &[2i32, 0, 0, 0])])
            .inputs("InMeanIou", vec![tensor([1], &[0.25])])
            .output("OutMeanIou", tensor([1], &[0.8333333]))
            .output("OutWrong", tensor_of([4], &[1i32, 1, 1, 0]))
            .output("OutCorrect", tensor_of([4], &[3i32, 1, 1, 0]))
            .run();
    }

    #[test]
    fn classes_must_be_known() {
        let e = iou()
            .input("Labels", tensor_of([4], &[0i32, 1, 4, 2]))
            .any_output("OutMeanIou")
            .any_output("OutWrong")
            .any_output("OutCorrect")
            .error();
        assert!(e.contains("holds class 4 at position 2, but there are 4"), "{e}");
    }
}
