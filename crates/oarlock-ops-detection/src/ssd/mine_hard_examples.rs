//! `mine_hard_examples`: the negative examples that cost most.

use oarlock_ir::{
    AttrView, Dim, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, VarType, by_float, fail, kernel, sig, slots,
};
use oarlock_ops_support::lod_rows::lod_of;
use oarlock_tensor::{DType, Dims, Float, Lod};

use crate::sizes;
use crate::suppression::descending;

pub(crate) const OPS: &[&dyn OpDef] = &[&MineHardExamples];

struct MineHardExamples;

impl OpDef for MineHardExamples {
    sig! {
        "mine_hard_examples":
            "NegIndices = for each image the predictions without a match that have the highest loss: with max_negative \
             neg_pos_ratio times as many as there are matches, with hard_example those among the sample_size highest of all, \
             and matches outside of these are dropped";
        in "ClsLoss": "[images, m], f32 or f64: the loss of each prediction's class";
        in? "LocLoss": "[images, m]: the loss of its place, added for hard_example";
        in "MatchIndices": "[images, m], i32: what each prediction is matched to, -1 for nothing";
        in "MatchDist": "[images, m]: how well it matches";
        out "NegIndices": "[n, 1], i32, with a sequence per image, ascending";
        out "UpdatedMatchIndices": "like `MatchIndices`";
        attr "neg_pos_ratio" = 1.0f32, "max_negative: negative examples for each match";
        attr "neg_dist_threshold" = 0.5f32, "max_negative: predictions that match as well as this are no negative examples";
        attr "sample_size" = 0, "hard_example: how many predictions of an image count";
        attr "mining_type" = "max_negative", "max_negative or hard_example";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        Mining::new(&cx.attrs())?;
        let matches = cx.input("MatchIndices")?;
        sizes::expect(cx, "MatchIndices", &matches, &[None; 2], "[images, m]")?;
        let dims = [matches.shape[0].known(), matches.shape[1].known()];
        sizes::float(cx, "MatchDist", &dims, "the sizes of `MatchIndices`")?;
        // `ssd_loss` gives losses their shape by a tensor and declares another one, as in Fluid: only runs know it.
        for slot in ["ClsLoss", "LocLoss"].into_iter().filter(|slot| *slot != "LocLoss" || cx.has(slot)) {
            sizes::float(cx, slot, &[None; 2], "[images, m]")?;
        }
        cx.set("NegIndices", VarType::tensor(DType::I32, vec![Dim::Any, Dim::Is(1)]).with_lod(1));
        cx.set("UpdatedMatchIndices", VarType::tensor(DType::I32, matches.shape));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let slots = Slots::new(p)?;
        let mining = Mining::new(&p.attrs())?;
        by_float!(p.float("ClsLoss")?, T => kernel(move |io| slots.run::<T>(io, &mining)))
    }
}

#[derive(Clone, Copy)]
enum Mining {
    MaxNegative { ratio: f32, threshold: f32 },
    HardExample { sample: usize },
}

impl Mining {
    fn new(attrs: &AttrView<'_>) -> Result<Mining> {
        match attrs.str("mining_type")? {
            "max_negative" => {
                let (ratio, threshold) = (attrs.f32("neg_pos_ratio")?, attrs.f32("neg_dist_threshold")?);
                // Also false for NaN.
                if !(ratio > 0.0 && threshold > 0.0 && threshold < 1.0) {
                    fail!(
                        Kind::Argument,
                        "`mine_hard_examples` needs `neg_pos_ratio` ({ratio}) above 0 and `neg_dist_threshold` ({threshold}) \
                         between 0 and 1"
                    )
                }
                Ok(Mining::MaxNegative { ratio, threshold })
            }
            "hard_example" => match attrs.count("sample_size")? {
                0 => fail!(Kind::Argument, "`mine_hard_examples` needs `sample_size` above 0 for hard_example"),
                sample => Ok(Mining::HardExample { sample }),
            },
            other => fail!(
                Kind::Argument,
                "attribute `mining_type` of `mine_hard_examples` is `{other}`; it can be max_negative or hard_example"
            ),
        }
    }
}

slots! {
    struct Slots(p) {
        class_loss: input "ClsLoss",
        place_loss: maybe_input "LocLoss",
        matches: input "MatchIndices",
        dist: input "MatchDist",
        negative: output "NegIndices",
        updated: output "UpdatedMatchIndices",
    }
}

/// One image.
struct Image<'a, T> {
    class_loss: &'a [T],
    place_loss: Option<&'a [T]>,
    matches: &'a [i32],
    dist: &'a [T],
}

impl Slots {
    fn run<T: Float>(&self, io: &Io<'_>, mining: &Mining) -> Result<()> {
        let (class_loss, matches, dist) = (io.dense(self.class_loss)?, io.dense(self.matches)?, io.dense(self.dist)?);
        let place_loss = self.place_loss.map(|slot| io.dense(slot)).transpose()?;
        let [images, m] = sizes::dims(io, self.matches, &matches, "[images, m]")?;
        let class_loss = sizes::counted::<T>(io, self.class_loss, &class_loss, images * m)?;
        let dist = sizes::counted::<T>(io, self.dist, &dist, images * m)?;
        let place_loss = match (self.place_loss, &place_loss) {
            (Some(slot), Some(t)) => Some(sizes::counted::<T>(io, slot, t, images * m)?),
            _ => None,
        };
        let mut updated = io.out_sized(self.updated, DType::I32, *matches.dims())?;
        let matches = io.data::<i32>(self.matches, &matches)?;
        let updated = io.data_mut::<i32>(self.updated, &mut updated)?;
        updated.copy_from_slice(matches);
        let (mut negative, mut lengths) = (Vec::new(), Vec::new());
        for i in 0..images {
            let row = i * m..(i + 1) * m;
            let image = Image {
                class_loss: &class_loss[row.clone()],
                place_loss: place_loss.map(|loss| &loss[row.clone()]),
                matches: &matches[row.clone()],
                dist: &dist[row.clone()],
            };
            let before = negative.len();
            image.mine(mining, &mut updated[row], &mut negative);
            lengths.push(negative.len() - before);
        }
        let mut t = io.out_sized(self.negative, DType::I32, Dims::from([negative.len(), 1]))?;
        t.set_lod(lod_of(&Lod::NONE, lengths.into_iter()));
        io.data_mut::<i32>(self.negative, &mut t)?.copy_from_slice(&negative);
        Ok(())
    }
}

impl<T: Float> Image<'_, T> {
    fn mine(&self, mining: &Mining, updated: &mut [i32], negative: &mut Vec<i32>) {
        let all = 0..self.matches.len();
        match *mining {
            Mining::MaxNegative { ratio, threshold } => {
                let threshold = T::of(threshold.into());
                let mut order: Vec<usize> =
                    all.filter(|&i| self.matches[i] == -1 && self.dist[i] < threshold).collect();
                let matched = self.matches.iter().filter(|m| **m != -1).count();
                order.sort_by(|&i, &j| descending(self.class_loss[i], self.class_loss[j]));
                order.truncate((matched as f32 * ratio) as usize);
                order.sort_unstable();
                negative.extend(order.into_iter().map(|i| i as i32));
            }
            Mining::HardExample { sample } => {
                let loss = |i: usize| self.class_loss[i] + self.place_loss.map_or(T::ZERO, |loss| loss[i]);
                let mut order: Vec<usize> = all.collect();
                order.sort_by(|&i, &j| descending(loss(i), loss(j)));
                let mut chosen = vec![false; order.len()];
                order.into_iter().take(sample).for_each(|i| chosen[i] = true);
                for (i, (&matched, chosen)) in self.matches.iter().zip(chosen).enumerate() {
                    match (matched > -1, chosen) {
                        (true, false) => updated[i] = -1,
                        (false, true) => negative.push(i as i32),
                        _ => {}
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, tensor_of, with_lod};

    fn case() -> Check {
        check("mine_hard_examples")
            .input("ClsLoss", tensor([2, 3], &[0.1, 0.3, 0.2, 0.5, 0.4, 0.6]))
            .input("MatchIndices", tensor_of([2, 3], &[0, -1, -1, -1, 0, 1]))
            .input("MatchDist", tensor([2, 3], &[0.9, 0.2, 0.1, 0.8, 0.7, 0.9]))
    }

    #[test]
    fn costly_negatives_are_found() {
        case()
            .output("NegIndices", with_lod(tensor_of([1, 1], &[1]), &[&[0, 1, 1]]))
            .output("UpdatedMatchIndices", tensor_of([2, 3], &[0, -1, -1, -1, 0, 1]))
            .run();
        case()
            .attr("mining_type", "hard_example")
            .attr("sample_size", 2)
            .output("NegIndices", with_lod(tensor_of([3, 1], &[1, 2, 0]), &[&[0, 2, 3]]))
            .output("UpdatedMatchIndices", tensor_of([2, 3], &[-1, -1, -1, -1, -1, 1]))
            .run();
    }

    #[test]
    fn mistakes_are_named() {
        let outs = |case: Check| case.any_output("NegIndices").any_output("UpdatedMatchIndices").error();
        let e = outs(case().attr("mining_type", "hard_example"));
        assert!(e.contains("needs `sample_size` above 0 for hard_example"), "{e}");
        let e = outs(case().attr("neg_dist_threshold", 1.5f32));
        assert!(e.contains("`neg_dist_threshold` (1.5) between 0 and 1"), "{e}");
        let e = outs(case().input("MatchDist", noise([2, 4], 1)));
        assert!(e.contains("needs the sizes of `MatchIndices` in `MatchDist`"), "{e}");
        let e = outs(case().input("ClsLoss", noise([2, 4], 1)));
        assert!(e.contains("input `ClsLoss` = `ClsLoss.0`"), "{e}");
    }
}
