//! `box_decoder_and_assign`: boxes of every class from their differences, and that of the most likely class.

use oarlock_ir::{Infer, Io, Kernel, OpDef, Prepare, Result, Traits, by_float, kernel, sig, slots};
use oarlock_tensor::{Dims, Float};

use crate::geometry::{Centred, centred};
use crate::sizes;

pub(crate) const OPS: &[&dyn OpDef] = &[&BoxDecoderAndAssign];

struct BoxDecoderAndAssign;

impl OpDef for BoxDecoderAndAssign {
    sig! {
        "box_decoder_and_assign":
            "DecodeBox[i, 4 c..] = the box of class c that differs from PriorBox[i] by TargetBox[i, 4 c..] times the variances; \
             OutputAssignBox[i] = that of the class above 0 with the highest score";
        in "PriorBox": "[n, 4], f32 or f64: left, top, right and bottom of each region, in pixels";
        in? "PriorBoxVar": "[4]: the variances of the differences";
        in "TargetBox": "[n, 4 * classes]: differences of each class";
        in "BoxScore": "[n, classes]; class 0 is the background";
        out "DecodeBox": "[n, 4 * classes]";
        out "OutputAssignBox": "[n, 4]; the region itself where no score is above -1";
        attr "box_clip" = 4.135f32, "the largest difference of width and height, so that exponentials stay small";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let prior = sizes::boxes(cx, "PriorBox")?;
        let score = sizes::float(cx, "BoxScore", &[prior.shape[0].known(), None], "a row per box of `PriorBox`")?;
        let columns = score.shape[1].known().map(|classes| 4 * classes);
        let target = sizes::float(
            cx,
            "TargetBox",
            &[prior.shape[0].known(), columns],
            "four differences per class of `BoxScore`, in a row per box of `PriorBox`,",
        )?;
        if cx.has("PriorBoxVar") {
            sizes::float(cx, "PriorBoxVar", &[Some(4)], "four variances")?;
        }
        cx.set("DecodeBox", target);
        cx.set("OutputAssignBox", prior);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let slots = Slots::new(p)?;
        let limit = p.attrs().f32("box_clip")?;
        by_float!(p.float("TargetBox")?, T => kernel(move |io| run::<T>(io, &slots, T::of(limit.into()))))
    }
}

slots! {
    struct Slots(p) {
        prior: input "PriorBox",
        variance: maybe_input "PriorBoxVar",
        target: input "TargetBox",
        score: input "BoxScore",
        out: output "DecodeBox",
        assigned: output "OutputAssignBox",
    }
}

fn run<T: Float>(io: &Io<'_>, slots: &Slots, limit: T) -> Result<()> {
    let (prior_tensor, target, score) = (io.dense(slots.prior)?, io.dense(slots.target)?, io.dense(slots.score)?);
    let priors = sizes::boxes_of::<T>(io, slots.prior, &prior_tensor)?;
    let [_, classes] = sizes::dims(io, slots.score, &score, "[boxes, classes]")?;
    let deltas = sizes::counted::<T>(io, slots.target, &target, priors.len() * classes * 4)?;
    let scores = sizes::counted::<T>(io, slots.score, &score, priors.len() * classes)?;
    let variance = match slots.variance {
        Some(v) => {
            let t = io.dense(v)?;
            let four = sizes::counted::<T>(io, v, &t, 4)?;
            [four[0], four[1], four[2], four[3]]
        }
        None => [T::ONE; 4],
    };
    let mut out = io.out_sized(slots.out, T::DTYPE, Dims::from([priors.len(), 4 * classes]))?;
    let mut assigned = io.out_sized(slots.assigned, T::DTYPE, Dims::from([priors.len(), 4]))?;
    out.set_lod(target.lod().clone());
    assigned.set_lod(prior_tensor.lod().clone());
    let out = io.data_mut::<T>(slots.out, &mut out)?.as_chunks_mut::<4>().0;
    let assigned = io.data_mut::<T>(slots.assigned, &mut assigned)?.as_chunks_mut::<4>().0;
    let deltas = deltas.as_chunks::<4>().0;
    for (i, (prior, assigned)) in priors.iter().zip(assigned).enumerate() {
        let row = i * classes..(i + 1) * classes;
        let region = centred(prior, false);
        let out = &mut out[row.clone()];
        out.iter_mut().zip(&deltas[row.clone()]).for_each(|(out, d)| *out = decode(&region, d, &variance, limit));
        *assigned = likeliest(&scores[row]).map_or(*prior, |class| out[class]);
    }
    Ok(())
}

fn decode<T: Float>(region: &Centred<T>, delta: &[T; 4], variance: &[T; 4], limit: T) -> [T; 4] {
    let size = |i: usize| (variance[i] * delta[i]).min(limit);
    region.moved([variance[0] * delta[0], variance[1] * delta[1], size(2), size(3)]).sides(false)
}

/// The class above 0 with the highest score; the first of equal ones.
fn likeliest<T: Float>(scores: &[T]) -> Option<usize> {
    let (mut best, mut class) = (-T::ONE, None);
    for (i, &score) in scores.iter().enumerate().skip(1) {
        if score > best {
            (best, class) = (score, Some(i));
        }
    }
    class
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, noise, tensor};

    #[test]
    fn likeliest_class_gives_the_box() {
        let ln2 = 2.0f32.ln();
        // Class 1 moves the box by a whole width, class 2 makes it twice as wide.
        let target = [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, ln2, 0.0];
        let boxes = [0.0, 0.0, 3.0, 1.0, 4.0, 0.0, 7.0, 1.0, -2.0, 0.0, 5.0, 1.0];
        check("box_decoder_and_assign")
            .input("PriorBox", tensor([1, 4], &[0.0, 0.0, 3.0, 1.0]))
            .input("PriorBoxVar", tensor([4], &[1.0; 4]))
            .input("TargetBox", tensor([1, 12], &target))
            .input("BoxScore", tensor([1, 3], &[0.9, 0.1, 0.3]))
            .output("DecodeBox", tensor([1, 12], &boxes))
            .output("OutputAssignBox", tensor([1, 4], &boxes[8..]))
            .run();
    }

    #[test]
    fn every_class_has_four_differences() {
        let e = check("box_decoder_and_assign")
            .input("PriorBox", noise([2, 4], 1))
            .input("TargetBox", noise([2, 8], 1))
            .input("BoxScore", noise([2, 3], 1))
            .any_output("DecodeBox")
            .any_output("OutputAssignBox")
            .error();
        assert!(e.contains("needs four differences per class of `BoxScore`"), "{e}");
    }
}
