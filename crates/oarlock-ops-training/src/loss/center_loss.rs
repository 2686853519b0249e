//! `center_loss`: the distance of each example to the centre of its class; centres move towards their examples.

use oarlock_ir::{Dim, GradOp, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, VarType};
use oarlock_ir::{by_float, kernel, sig, slots};
use oarlock_ops_support::checks;
use oarlock_ops_support::class_axis::Labels;
use oarlock_ops_support::equal_sizes;
use oarlock_tensor::{Element, Float, simd};

pub(crate) const OPS: &[&dyn OpDef] = &[&CenterLoss, &CENTER_LOSS_GRAD];

struct CenterLoss;

impl OpDef for CenterLoss {
    sig! {
        "center_loss":
            "SampleCenterDiff = X - Centers[Label], Loss = |SampleCenterDiff|^2 / 2, \
             CentersOut = Centers + CenterUpdateRate * (sum of the differences of a class) / (1 + number of its examples)";
        in "X": "[batch, width]";
        in "Label": "i64 [batch, 1]";
        in "Centers": "[classes, width]";
        in "CenterUpdateRate": "[1]";
        out "CentersOut": "the centres after the step";
        out "SampleCenterDiff": "like `X`";
        out "Loss": "[batch, 1]";
        attr "cluster_num": "how many classes there are";
        attr "need_update": "move the centres";
        traits Traits::NONE.in_place(&[("Centers", "CentersOut")]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, centers) = (cx.float("X")?, cx.float("Centers")?);
        cx.integer("Label")?;
        let fits = x.shape.rank() == 2 && centers.shape.rank() == 2 && x.shape[1].fits(centers.shape[1]);
        if !fits {
            let what = format!("cannot compare {} with {}", cx.describe("X"), cx.describe("Centers"));
            return Err(cx.shape_error(what).help("centres are as wide as the examples"));
        }
        cx.set("Loss", VarType::tensor(x.dtype, vec![x.shape[0], Dim::Is(1)]));
        cx.set("SampleCenterDiff", x);
        cx.set("CentersOut", centers);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let loss = Loss::new(p)?;
        by_float!(p.float("X")?, T => {
            let (mut sums, mut counts) = (Vec::<T>::new(), Vec::new());
            kernel(move |io| loss.run(io, &mut sums, &mut counts))
        })
    }
}

slots! {
    struct Loss(p) {
        x: input "X",
        label: input "Label",
        centers: input "Centers",
        rate: input "CenterUpdateRate",
        centers_out: output "CentersOut",
        difference: output "SampleCenterDiff",
        loss: output "Loss",
        update: bool "need_update",
    }
}

impl Loss {
    fn run<T: Float>(&self, io: &Io<'_>, sums: &mut Vec<T>, counts: &mut Vec<usize>) -> Result<()> {
        let (x, label) = (io.dense(self.x)?, io.dense(self.label)?);
        let (batch, width) = x.dims().matrix(1);
        let rate = T::of(io.scalar(self.rate)?);
        let mut centers = io.update(self.centers, self.centers_out)?;
        let classes = centers.rows();
        if centers.dims()[..] != [classes, width] {
            let what = format!("is {}, but the examples are {width} wide", centers.dims());
            return Err(io.error(Kind::Shape, self.centers, what));
        }
        // Every label counts: none is to be ignored.
        let labels = Labels::new(io, self.label, &label, batch, classes, i64::MIN)?;
        let centers = io.data_mut::<T>(self.centers_out, &mut centers)?;
        let mut difference = io.out_sized(self.difference, T::DTYPE, *x.dims())?;
        let difference = io.data_mut::<T>(self.difference, &mut difference)?;
        sums.clear();
        sums.resize(classes * width, T::ZERO);
        counts.clear();
        counts.resize(classes, 1);
        let rows = io.data::<T>(self.x, &x)?.chunks_exact(width.max(1)).zip(difference.chunks_exact_mut(width.max(1)));
        for (class, (x, d)) in labels.iter().flatten().zip(rows) {
            simd::sub(d, x, &centers[class * width..][..width]);
            simd::add_assign(&mut sums[class * width..][..width], d);
            counts[class] += 1;
        }
        if self.update {
            for (class, &count) in counts.iter().enumerate().filter(|(_, n)| **n > 1) {
                let sum = &sums[class * width..][..width];
                simd::axpy(&mut centers[class * width..][..width], rate / T::of(count as f64), sum);
            }
        }
        let half = T::of(0.5);
        equal_sizes::column(io, self.loss, batch, |row| {
            simd::sum_of_squares(&difference[row * width..][..width]) * half
        })
    }
}

const CENTER_LOSS_GRAD: GradOp = GradOp::of(&CenterLoss, "center_loss_grad(Loss@GRAD, SampleCenterDiff, X) -> X@GRAD")
    .doc("X@GRAD = SampleCenterDiff * Loss@GRAD")
    .traits(Traits::NONE.shape_only(&["X"]))
    .kernel(|p| {
        let (d, difference, x) = (p.input("Loss@GRAD")?, p.input("SampleCenterDiff")?, p.input("X")?);
        let dx = p.output("X@GRAD")?;
        by_float!(p.float("SampleCenterDiff")?, T => kernel(move |io| {
            let (d_tensor, from, like) = (io.dense(d)?, io.dense(difference)?, io.dense(x)?);
            let (batch, width) = like.dims().matrix(1);
            let d = checks::sized::<T>(io, d, &d_tensor, batch)?;
            let from = checks::sized::<T>(io, difference, &from, like.numel())?;
            let mut t = io.out_sized(dx, T::DTYPE, *like.dims())?;
            t.set_lod(like.lod().clone());
            for (i, to) in io.data_mut::<T>(dx, &mut t)?.iter_mut().enumerate() {
                *to = from[i] * d[i / width];
            }
            Ok(())
        }))
    });

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor, tensor_of};

    fn loss() -> Check {
        check("center_loss")
            .input("X", tensor([3, 2], &[1.0, 1.0, 3.0, 0.0, 2.0, 5.0]))
            .input("Label", tensor_of([3, 1], &[1i64, 1, 0]))
            .input("Centers", tensor([3, 2], &[2.0, 4.0, 1.0, 0.0, 9.0, 9.0]))
            .input("CenterUpdateRate", tensor([1], &[0.3]))
            .attr("cluster_num", 3)
            .output("SampleCenterDiff", tensor([3, 2], &[0.0, 1.0, 2.0, 0.0, 0.0, 1.0]))
            .output("Loss", tensor([3, 1], &[0.5, 2.0, 0.5]))
            .counting(&["Loss"])
    }

    #[test]
    fn centres_move() {
        loss()
            .attr("need_update", true)
            .output("CentersOut", tensor([3, 2], &[2.0, 4.15, 1.2, 0.1, 9.0, 9.0]))
            .grad(&["X"])
            .run();
        let still = tensor([3, 2], &[2.0, 4.0, 1.0, 0.0, 9.0, 9.0]);
        loss().attr("need_update", false).output("CentersOut", still).run();
    }
}
