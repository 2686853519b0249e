//! `generate_proposals`: the regions that a region proposal network finds.

use oarlock_ir::{
    AttrView, Dim, Infer, Io, Kernel, OpDef, Prepare, Result, Traits, VarType, by_float, kernel, sig, slots,
};
use oarlock_ops_support::lod_rows::lod_of;
use oarlock_tensor::{DType, Dims, Float, Lod};

use crate::geometry::{Box4, centred, clipped, jaccard};
use crate::sizes;
use crate::suppression::{Threshold, descending, suppress};

pub(crate) const OPS: &[&dyn OpDef] = &[&GenerateProposals];

struct GenerateProposals;

impl OpDef for GenerateProposals {
    sig! {
        "generate_proposals":
            "RpnRois = for each image the anchors with the highest scores, moved by their deltas, brought into the image, without \
             those that are too small or overlap a better one";
        in "Scores": "[n, anchors per cell, h, w]: how likely each anchor shows an object";
        in "BboxDeltas": "[n, 4 * anchors per cell, h, w]: how its box differs";
        in "ImInfo": "[n, 3]: height, width and scale of each image";
        in "Anchors": "[h, w, anchors per cell, 4], f32 or f64: left, top, right and bottom";
        in "Variances": "like `Anchors`: factors of the deltas";
        out "RpnRois": "[regions, 4], with a sequence per image, best first";
        out "RpnRoiProbs": "[regions, 1]: the scores";
        out? "RpnRoisLod": "[n], i64: where the regions of each image end";
        attr "pre_nms_topN": "how many anchors are looked at, best first; 0 or less for all";
        attr "post_nms_topN": "how many regions stay, best first; 0 or less for all";
        attr "nms_thresh": "regions that overlap a better one by more than this are dropped; 0 or less keeps all";
        attr "min_size": "the least width and height, in pixels of the original image, at least 1";
        attr "eta": "factor of nms_thresh after each kept region while it is above 0.5; 1 for none";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        Limits::new(&cx.attrs())?;
        let scores = sizes::images(cx, "Scores")?;
        let [n, a, h, w] = [0, 1, 2, 3].map(|axis: usize| scores.shape[axis].known());
        sizes::float(cx, "BboxDeltas", &[n, a.map(|a| 4 * a), h, w], "four deltas for each of `Scores`")?;
        sizes::float(cx, "ImInfo", &[n, Some(3)], "[n, 3]")?;
        for slot in ["Anchors", "Variances"] {
            let ty = cx.float(slot)?;
            if !ty.shape.last().is_some_and(|d| d.fits(Dim::Is(4))) {
                return Err(
                    cx.shape_error(format_args!("needs boxes, with 4 as the last size, in {}", cx.describe(slot)))
                );
            }
        }
        let dtype = cx.float("Anchors")?.dtype;
        let rows = |width: usize| VarType::tensor(dtype, vec![Dim::Any, Dim::Is(width)]).with_lod(1);
        cx.set("RpnRois", rows(4));
        cx.set("RpnRoiProbs", rows(1));
        cx.set("RpnRoisLod", VarType::tensor(DType::I64, vec![scores.shape[0]]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let slots = Slots::new(p)?;
        let limits = Limits::new(&p.attrs())?;
        by_float!(p.float("Anchors")?, T => kernel(move |io| slots.run::<T>(io, &limits)))
    }
}

struct Limits {
    before: usize,
    after: usize,
    threshold: Threshold<f32>,
    min_size: f32,
}

impl Limits {
    fn new(attrs: &AttrView<'_>) -> Result<Limits> {
        let top = |name: &str| Ok(usize::try_from(attrs.int(name)?).ok().filter(|n| *n > 0).unwrap_or(usize::MAX));
        Ok(Limits {
            before: top("pre_nms_topN")?,
            after: top("post_nms_topN")?,
            threshold: Threshold { overlap: attrs.f32("nms_thresh")?, eta: attrs.f32("eta")? },
            min_size: attrs.f32("min_size")?.max(1.0),
        })
    }
}

slots! {
    struct Slots(p) {
        scores: input "Scores",
        deltas: input "BboxDeltas",
        info: input "ImInfo",
        anchors: input "Anchors",
        variances: input "Variances",
        rois: output "RpnRois",
        probabilities: output "RpnRoiProbs",
        ends: maybe_output "RpnRoisLod",
    }
}

/// The predictions for one image: those of a cell lie planes apart.
struct Image<'a, T> {
    scores: &'a [T],
    deltas: &'a [T],
    info: &'a [T; 3],
    anchors: &'a [Box4<T>],
    variances: &'a [Box4<T>],
    per_cell: usize,
}

impl Slots {
    fn run<T: Float>(&self, io: &Io<'_>, limits: &Limits) -> Result<()> {
        let (scores, deltas, info) = (io.dense(self.scores)?, io.dense(self.deltas)?, io.dense(self.info)?);
        let (anchors, variances) = (io.dense(self.anchors)?, io.dense(self.variances)?);
        let [n, per_cell, h, w] = sizes::dims(io, self.scores, &scores, "[n, anchors per cell, h, w]")?;
        let count = per_cell * h * w;
        let delta_data = sizes::counted::<T>(io, self.deltas, &deltas, 4 * n * count)?;
        let infos = sizes::image_infos::<T>(io, self.info, &info, n)?;
        for (slot, t) in [(self.anchors, &anchors), (self.variances, &variances)] {
            let what = format_args!("{count} boxes, one for each score of an image");
            sizes::ensure(io, slot, t, t.numel() == 4 * count, what)?;
        }
        let score_data = io.data::<T>(self.scores, &scores)?;
        let (anchors, variances) =
            (sizes::boxes_of::<T>(io, self.anchors, &anchors)?, sizes::boxes_of::<T>(io, self.variances, &variances)?);
        let mut found: Vec<Vec<(Box4<T>, T)>> = vec![Vec::new(); n];
        io.pool().pieces(&mut found, 1, |i, found| {
            let image = Image {
                scores: &score_data[i * count..][..count],
                deltas: &delta_data[4 * i * count..][..4 * count],
                info: &infos[i],
                anchors,
                variances,
                per_cell,
            };
            found[0] = image.propose(limits);
        });
        self.write(io, &found)
    }

    fn write<T: Float>(&self, io: &Io<'_>, found: &[Vec<(Box4<T>, T)>]) -> Result<()> {
        let lod = lod_of(&Lod::NONE, found.iter().map(Vec::len));
        let rows = found.iter().map(Vec::len).sum();
        let mut t = io.out_sized(self.rois, T::DTYPE, Dims::from([rows, 4]))?;
        t.set_lod(lod.clone());
        let to = io.data_mut::<T>(self.rois, &mut t)?.as_chunks_mut::<4>().0;
        to.iter_mut().zip(found.iter().flatten()).for_each(|(to, (roi, _))| *to = *roi);
        let mut t = io.out_sized(self.probabilities, T::DTYPE, Dims::from([rows, 1]))?;
        t.set_lod(lod.clone());
        let to = io.data_mut::<T>(self.probabilities, &mut t)?;
        to.iter_mut().zip(found.iter().flatten()).for_each(|(to, (_, score))| *to = *score);
        let Some(ends) = self.ends else { return Ok(()) };
        let mut t = io.out_sized(ends, DType::I64, Dims::from([found.len()]))?;
        let offsets = lod.last().unwrap_or_default().iter().skip(1);
        io.data_mut::<i64>(ends, &mut t)?.iter_mut().zip(offsets).for_each(|(to, end)| *to = *end as i64);
        Ok(())
    }
}

impl<T: Float> Image<'_, T> {
    /// The score of an anchor; anchors count cell by cell.
    fn score(&self, i: usize) -> T {
        let cells = self.scores.len() / self.per_cell;
        self.scores[i % self.per_cell * cells + i / self.per_cell]
    }

    /// The anchor's box, moved and brought into the image.
    fn region(&self, i: usize) -> Box4<T> {
        let cells = self.scores.len() / self.per_cell;
        let (cell, first) = (i / self.per_cell, 4 * (i % self.per_cell));
        let largest = T::of((1000.0f64 / 16.0).ln());
        let mut delta = self.variances[i];
        for (k, delta) in delta.iter_mut().enumerate() {
            *delta *= self.deltas[(first + k) * cells + cell];
        }
        delta[2] = delta[2].min(largest);
        delta[3] = delta[3].min(largest);
        let moved = centred(&self.anchors[i], false).moved(delta).sides(false);
        clipped(&moved, self.info[1] - T::ONE, self.info[0] - T::ONE)
    }

    /// Is a region large enough, and its centre in the image?
    fn counts(&self, b: &Box4<T>, min_size: T) -> bool {
        let [height, width, scale] = *self.info;
        let half = T::of(0.5);
        let original = |low: T, high: T| (high - low) / scale + T::ONE;
        let centre = |low: T, high: T| low + (high - low + T::ONE) * half;
        original(b[0], b[2]) >= min_size
            && original(b[1], b[3]) >= min_size
            && centre(b[0], b[2]) <= width
            && centre(b[1], b[3]) <= height
    }

    fn propose(&self, limits: &Limits) -> Vec<(Box4<T>, T)> {
        let mut order: Vec<usize> = (0..self.scores.len()).collect();
        order.sort_by(|&i, &j| descending(self.score(i), self.score(j)));
        order.truncate(limits.before);
        let min_size = T::of(limits.min_size.into());
        let regions = order.into_iter().map(|i| (self.region(i), self.score(i)));
        let regions: Vec<(Box4<T>, T)> = regions.filter(|(b, _)| self.counts(b, min_size)).collect();
        if limits.threshold.overlap <= 0.0 {
            return regions;
        }
        // They are sorted by now.
        let overlap = |a: usize, b: usize| jaccard(&regions[a].0, &regions[b].0, false);
        let kept = suppress(0..regions.len(), limits.threshold.of(), overlap);
        kept.into_iter().take(limits.after).map(|i| regions[i]).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, with_lod};

    fn case() -> Check {
        check("generate_proposals")
            .input("Scores", tensor([1, 1, 1, 3], &[0.5, 0.9, 0.7]))
            .input("BboxDeltas", tensor([1, 4, 1, 3], &[0.0; 12]))
            .input("ImInfo", tensor([1, 3], &[20.0, 20.0, 1.0]))
            .input("Anchors", tensor([1, 3, 1, 4], &[0.0, 0.0, 9.0, 9.0, 0.0, 0.0, 9.0, 8.0, 12.0, 12.0, 30.0, 30.0]))
            .input("Variances", tensor([1, 3, 1, 4], &[1.0; 12]))
            .attr("pre_nms_topN", 0)
            .attr("post_nms_topN", 0)
            .attr("nms_thresh", 0.5f32)
            .attr("min_size", 1.0f32)
            .attr("eta", 1.0f32)
    }

    #[test]
    fn best_regions_stay_inside_their_image() {
        let rois = [0.0, 0.0, 9.0, 8.0, 12.0, 12.0, 19.0, 19.0];
        let lod: &[&[usize]] = &[&[0, 2]];
        case()
            .output("RpnRois", with_lod(tensor([2, 4], &rois), lod))
            .output("RpnRoiProbs", with_lod(tensor([2, 1], &[0.9, 0.7]), lod))
            .run();
        let none: &[&[usize]] = &[&[0, 0]];
        case()
            .attr("min_size", 100.0f32)
            .output("RpnRois", with_lod(tensor([0, 4], &[]), none))
            .output("RpnRoiProbs", with_lod(tensor([0, 1], &[]), none))
            .run();
    }

    #[test]
    fn mistakes_are_named() {
        let outs = |case: Check| case.any_output("RpnRois").any_output("RpnRoiProbs").error();
        let e = outs(case().input("BboxDeltas", noise([1, 5, 1, 3], 1)));
        assert!(e.contains("needs four deltas for each of `Scores` in `BboxDeltas`"), "{e}");
        let e = outs(case().input("Anchors", noise([1, 2, 1, 4], 1)));
        assert!(e.contains("input `Anchors` = `Anchors.0` is [1, 2, 1, 4], but must be 3 boxes"), "{e}");
    }
}
