//! `generate_proposal_labels`: regions from which the head of a detector learns.

use oarlock_ir::{
    AttrView, Dim, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, VarType, by_float, fail, kernel, sig,
    slots,
};
use oarlock_ops_support::lod_rows::lod_of;
use oarlock_tensor::rng::MinStd;
use oarlock_tensor::{DType, Dims, Float, Lod};

use super::sampling::{PerImage, expect_same_rows, reservoir};
use crate::geometry::{Box4, centred, overlaps};
use crate::sizes;

pub(crate) const OPS: &[&dyn OpDef] = &[&GenerateProposalLabels];

struct GenerateProposalLabels;

impl OpDef for GenerateProposalLabels {
    sig! {
        "generate_proposal_labels": "Rois = for each image a sample of its regions and boxes: those that overlap a box by fg_thresh, with its class, and \
             those that overlap all boxes by bg_thresh_lo to bg_thresh_hi, with class 0; BboxTargets = how the boxes differ";
        in "RpnRois": "[regions, 4], f32 or f64, with a sequence per image, in the network's pixels";
        in "GtClasses": "[boxes, 1], i32, with a sequence per image: classes, from 1";
        in "IsCrowd": "[boxes, 1], i32, with a sequence per image: boxes with a number other than 0 are no examples";
        in "GtBoxes": "[boxes, 4], with a sequence per image, in pixels of the original images";
        in "ImInfo": "[images, 3]: height, width and scale of each image";
        out "Rois": "[n, 4], with a sequence per image, objects first";
        out "LabelsInt32": "[n, 1], i32";
        out "BboxTargets": "[n, 4 * class_nums]: differences, at the place of the region's class";
        out "BboxInsideWeights": "like `BboxTargets`: 1 where there is a target";
        out "BboxOutsideWeights": "like `BboxTargets`: 1 where there is a target";
        attr "batch_size_per_im": "how many regions of an image are sampled";
        attr "fg_fraction": "the largest part of objects among the samples";
        attr "fg_thresh": "the least overlap of an object";
        attr "bg_thresh_hi": "the overlap below which a region shows the background";
        attr "bg_thresh_lo": "the least overlap of a region that shows the background";
        attr "bbox_reg_weights": "four divisors of the differences";
        attr "class_nums": "how many classes there are, with the background";
        attr "use_random" = true, "sample by chance; false takes the first";
        attr "is_cascade_rcnn" = false, "regions come from another head and begin with the boxes: all of them are taken";
        attr "is_cls_agnostic" = false, "all classes learn the same differences, at place 1";
        traits Traits::GRADIENT_FREE.random(None);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let sampling = Sampling::new(&cx.attrs())?;
        let rois = sizes::boxes(cx, "RpnRois")?;
        sizes::boxes(cx, "GtBoxes")?;
        sizes::float(cx, "ImInfo", &[None, Some(3)], "[images, 3]")?;
        for slot in ["GtClasses", "IsCrowd"] {
            cx.integer(slot)?;
        }
        let rows = |dtype: DType, width: usize| VarType::tensor(dtype, vec![Dim::Any, Dim::Is(width)]).with_lod(1);
        cx.set("Rois", rows(rois.dtype, 4));
        cx.set("LabelsInt32", rows(DType::I32, 1));
        for slot in ["BboxTargets", "BboxInsideWeights", "BboxOutsideWeights"] {
            cx.set(slot, rows(rois.dtype, 4 * sampling.classes));
        }
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let slots = Slots::new(p)?;
        let sampling = Sampling::new(&p.attrs())?;
        by_float!(p.float("RpnRois")?, T => kernel(move |io| slots.run::<T>(io, &sampling)))
    }
}

struct Sampling {
    size: usize,
    share: f32,
    object: f32,
    background: (f32, f32),
    divisors: [f32; 4],
    classes: usize,
    random: bool,
    cascade: bool,
    agnostic: bool,
}

impl Sampling {
    fn new(attrs: &AttrView<'_>) -> Result<Sampling> {
        let divisors = attrs.floats("bbox_reg_weights")?;
        let Ok(divisors) = <[f32; 4]>::try_from(&divisors[..]) else {
            fail!(Kind::Argument, "attribute `bbox_reg_weights` has {} values; it needs 4", divisors.len())
        };
        let (classes, agnostic) = (attrs.count("class_nums")?, attrs.bool("is_cls_agnostic")?);
        if classes == 0 || agnostic && classes < 2 {
            fail!(Kind::Argument, "attribute `class_nums` is {classes}; it must be 1 or more, 2 with `is_cls_agnostic`")
        }
        Ok(Sampling {
            size: attrs.count("batch_size_per_im")?,
            share: attrs.f32("fg_fraction")?,
            object: attrs.f32("fg_thresh")?,
            background: (attrs.f32("bg_thresh_lo")?, attrs.f32("bg_thresh_hi")?),
            divisors,
            classes,
            random: attrs.bool("use_random")?,
            cascade: attrs.bool("is_cascade_rcnn")?,
            agnostic,
        })
    }
}

slots! {
    struct Slots(p) {
        rois: input "RpnRois",
        classes: input "GtClasses",
        crowd: input "IsCrowd",
        boxes: input "GtBoxes",
        info: input "ImInfo",
        out: output "Rois",
        labels: output "LabelsInt32",
        targets: output "BboxTargets",
        weights: [Out; 2] = [p.output("BboxInsideWeights")?, p.output("BboxOutsideWeights")?],
    }
}

/// A sampled region, its class and how its box differs.
type Sample<T> = (Box4<T>, i32, Option<Box4<T>>);

/// One image, in pixels of the original.
struct Image<'a, T> {
    sampling: &'a Sampling,
    /// Boxes first, then regions.
    candidates: Vec<Box4<T>>,
    boxes: &'a [Box4<T>],
    classes: &'a [i32],
    crowd: &'a [i32],
}

impl Slots {
    fn run<T: Float>(&self, io: &Io<'_>, sampling: &Sampling) -> Result<()> {
        let (rois, classes, crowd) = (io.dense(self.rois)?, io.dense(self.classes)?, io.dense(self.crowd)?);
        let (boxes, info) = (io.dense(self.boxes)?, io.dense(self.info)?);
        let rois = PerImage::<T>::new(io, self.rois, &rois, 4, None)?;
        let images = rois.images();
        let boxes = PerImage::<T>::new(io, self.boxes, &boxes, 4, Some(images))?;
        let classes = PerImage::<i32>::new(io, self.classes, &classes, 1, Some(images))?;
        let crowd = PerImage::<i32>::new(io, self.crowd, &crowd, 1, Some(images))?;
        expect_same_rows(io, (self.classes, &classes), &boxes)?;
        expect_same_rows(io, (self.crowd, &crowd), &boxes)?;
        let infos = sizes::image_infos::<T>(io, self.info, &info, images)?;
        let engine = sampling.random.then(|| MinStd::new(io.runtime().fresh_seed()));
        let mut samples: Vec<Vec<Sample<T>>> = Vec::new();
        for (i, [_, _, scale]) in infos.iter().enumerate() {
            let regions = rois.of(i).as_chunks::<4>().0;
            let boxes = boxes.of(i).as_chunks::<4>().0;
            if regions.is_empty() {
                samples.push(Vec::new());
                continue;
            }
            let own = if sampling.cascade { boxes.len().min(regions.len()) } else { 0 };
            let scaled = regions[own..].iter().map(|b| b.map(|v| v / *scale));
            let first = if sampling.cascade { &regions[..own] } else { boxes };
            let image = Image {
                sampling,
                candidates: first.iter().copied().chain(scaled).collect(),
                boxes,
                classes: classes.of(i),
                crowd: crowd.of(i),
            };
            let mut found = image.sample(engine.as_ref());
            found.iter_mut().for_each(|(b, ..)| *b = b.map(|v| v * *scale));
            samples.push(found);
        }
        let label = |sample: &&Sample<T>| sample.1 < 0 || sample.1 as usize >= sampling.classes && !sampling.agnostic;
        if let Some((_, class, _)) = samples.iter().flatten().find(label) {
            let what = format_args!("has class {class}, but `class_nums` is {}", sampling.classes);
            return Err(io.error(Kind::Range, self.classes, what));
        }
        self.write(io, sampling, &samples)
    }

    fn write<T: Float>(&self, io: &Io<'_>, sampling: &Sampling, samples: &[Vec<Sample<T>>]) -> Result<()> {
        let lod = lod_of(&Lod::NONE, samples.iter().map(Vec::len));
        let rows: Vec<&Sample<T>> = samples.iter().flatten().collect();
        let mut t = io.out_sized(self.out, T::DTYPE, Dims::from([rows.len(), 4]))?;
        t.set_lod(lod.clone());
        let to = io.data_mut::<T>(self.out, &mut t)?.as_chunks_mut::<4>().0;
        to.iter_mut().zip(&rows).for_each(|(to, row)| *to = row.0);
        let mut t = io.out_sized(self.labels, DType::I32, Dims::from([rows.len(), 1]))?;
        t.set_lod(lod.clone());
        io.data_mut::<i32>(self.labels, &mut t)?.iter_mut().zip(&rows).for_each(|(to, row)| *to = row.1);
        let expanded = |out: Out, value: &dyn Fn(&Box4<T>) -> Box4<T>| -> Result<()> {
            let mut t = io.out_sized(out, T::DTYPE, Dims::from([rows.len(), 4 * sampling.classes]))?;
            t.set_lod(lod.clone());
            let to = io.data_mut::<T>(out, &mut t)?;
            to.fill(T::ZERO);
            for (to, (_, class, target)) in to.chunks_exact_mut(4 * sampling.classes).zip(&rows) {
                let Some(target) = target.as_ref().filter(|_| *class > 0) else { continue };
                let place = if sampling.agnostic { 1 } else { *class as usize };
                to[4 * place..][..4].copy_from_slice(&value(target));
            }
            Ok(())
        };
        expanded(self.targets, &|target| *target)?;
        self.weights.iter().try_for_each(|out| expanded(*out, &|_| [T::ONE; 4]))
    }
}

impl<T: Float> Image<'_, T> {
    fn sample(&self, engine: Option<&MinStd>) -> Vec<Sample<T>> {
        let sampling = self.sampling;
        let common = overlaps(&self.candidates, self.boxes);
        let (mut objects, mut background) = (Vec::new(), Vec::new());
        let [object, low, high] =
            [sampling.object, sampling.background.0, sampling.background.1].map(|v| T::of(v.into()));
        for (i, b) in self.candidates.iter().enumerate() {
            let row = &common[i * self.boxes.len()..][..self.boxes.len()];
            let largest = match self.crowd.get(i) {
                Some(crowd) if *crowd != 0 => -T::ONE,
                _ => row.iter().copied().fold(T::ZERO, T::max),
            };
            let is_empty = b[2] - b[0] + T::ONE <= T::ZERO || b[3] - b[1] + T::ONE <= T::ZERO;
            if sampling.cascade && is_empty {
                continue;
            }
            let nearest = row.iter().position(|v| (largest - *v).abs() < T::of(1e-5));
            if largest >= object {
                objects.extend(nearest.map(|j| (i, j)));
            } else if largest >= low && largest < high {
                background.push(i);
            }
        }
        if !sampling.cascade {
            reservoir(&mut objects, (sampling.size as f32 * sampling.share).floor() as usize, engine);
            reservoir(&mut background, sampling.size.saturating_sub(objects.len()), engine);
        }
        let of_object = |&(i, j): &(usize, usize)| {
            (self.candidates[i], self.classes[j], Some(self.target(&self.candidates[i], &self.boxes[j])))
        };
        let of_background = |&i: &usize| (self.candidates[i], 0, None);
        objects.iter().map(of_object).chain(background.iter().map(of_background)).collect()
    }

    fn target(&self, region: &Box4<T>, b: &Box4<T>) -> Box4<T> {
        let mut delta = centred(region, false).delta_to(&centred(b, false));
        delta.iter_mut().zip(self.sampling.divisors).for_each(|(d, by)| *d /= T::of(by.into()));
        delta
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor, tensor_of, with_lod};

    fn case() -> Check {
        check("generate_proposal_labels")
            .input("RpnRois", with_lod(tensor([2, 4], &[30.0, 30.0, 39.0, 39.0, 0.0, 0.0, 9.0, 8.0]), &[&[0, 2]]))
            .input("GtClasses", with_lod(tensor_of([1, 1], &[1]), &[&[0, 1]]))
            .input("IsCrowd", with_lod(tensor_of([1, 1], &[0]), &[&[0, 1]]))
            .input("GtBoxes", with_lod(tensor([1, 4], &[0.0, 0.0, 9.0, 9.0]), &[&[0, 1]]))
            .input("ImInfo", tensor([1, 3], &[50.0, 50.0, 1.0]))
            .attr("batch_size_per_im", 2)
            .attr("fg_fraction", 0.5f32)
            .attr("fg_thresh", 0.5f32)
            .attr("bg_thresh_hi", 0.5f32)
            .attr("bg_thresh_lo", 0.0f32)
            .attr("bbox_reg_weights", vec![0.1f32, 0.1, 0.2, 0.2])
            .attr("class_nums", 2)
            .attr("use_random", false)
    }

    #[test]
    fn objects_come_before_the_background() {
        let lod: &[&[usize]] = &[&[0, 2]];
        let weights = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        case()
            .output("Rois", with_lod(tensor([2, 4], &[0.0, 0.0, 9.0, 9.0, 30.0, 30.0, 39.0, 39.0]), lod))
            .output("LabelsInt32", with_lod(tensor_of([2, 1], &[1, 0]), lod))
            .output("BboxTargets", with_lod(tensor([2, 8], &[0.0; 16]), lod))
            .output("BboxInsideWeights", with_lod(tensor([2, 8], &weights), lod))
            .output("BboxOutsideWeights", with_lod(tensor([2, 8], &weights), lod))
            .run();
    }

    #[test]
    fn mistakes_are_named() {
        let outs = |case: Check| {
            let names = ["Rois", "LabelsInt32", "BboxTargets", "BboxInsideWeights", "BboxOutsideWeights"];
            names.iter().fold(case, |case, name| case.any_output(name)).error()
        };
        let e = outs(case().input("GtClasses", with_lod(tensor_of([1, 1], &[2]), &[&[0, 1]])));
        assert!(e.contains("input `GtClasses` = `GtClasses.0` has class 2, but `class_nums` is 2"), "{e}");
        let e = outs(case().attr("bbox_reg_weights", vec![0.1f32]));
        assert!(e.contains("attribute `bbox_reg_weights` has 1 values; it needs 4"), "{e}");
        let e = outs(case().input("IsCrowd", with_lod(tensor_of([2, 1], &[0, 0]), &[&[0, 2]])));
        assert!(e.contains("input `IsCrowd` = `IsCrowd.0` divides its rows at [0, 2]"), "{e}");
    }
}
