//! Which anchors show an object and which the background: `rpn_target_assign` and `retinanet_target_assign`.

use oarlock_ir::{Dim, Infer, Io, Out, Result, Sig, VarType, slots};
use oarlock_ops_support::lod_rows::lod_of;
use oarlock_tensor::rng::MinStd;
use oarlock_tensor::{DType, Dims, Float, Lod};

use super::sampling::{PerImage, expect_same_rows, reservoir};
use crate::geometry::{Box4, centred, overlaps};
use crate::sizes;

/// Adds the outputs that both operators have.
pub(crate) fn with_outputs(sig: Sig) -> Sig {
    sig.output(
        "LocationIndex",
        "[places], i32, with a sequence per image: anchors whose place is learned, in the batch's order",
    )
    .output("ScoreIndex", "[samples], i32, with a sequence per image: anchors whose class is learned, objects first")
    .output("TargetBBox", "[places, 4]: how the box differs from the anchor")
    .output("TargetLabel", "[samples, 1], i32: the class of each of `ScoreIndex`, 0 for the background")
    .output("BBoxInsideWeight", "[places, 4]: 1, or 0 for anchors that only fill up")
}

/// Checks inputs and sets the types of these outputs.
pub(crate) fn infer(cx: &mut Infer<'_>) -> Result<()> {
    let anchor = sizes::boxes(cx, "Anchor")?;
    let boxes = sizes::boxes(cx, "GtBoxes")?;
    sizes::float(cx, "ImInfo", &[None, Some(3)], "[images, 3]")?;
    let per_box = [boxes.shape[0].known(), Some(1)];
    let crowd = cx.integer("IsCrowd")?;
    if crowd.shape.rank() != 1 {
        sizes::expect(cx, "IsCrowd", &crowd, &per_box, "a number per row of `GtBoxes`")?;
    }
    let rows = |dtype: DType, width: &[Dim]| VarType::tensor(dtype, [&[Dim::Any], width].concat()).with_lod(1);
    cx.set("LocationIndex", rows(DType::I32, &[]));
    cx.set("ScoreIndex", rows(DType::I32, &[]));
    cx.set("TargetBBox", rows(anchor.dtype, &[Dim::Is(4)]));
    cx.set("TargetLabel", rows(DType::I32, &[Dim::Is(1)]));
    cx.set("BBoxInsideWeight", rows(anchor.dtype, &[Dim::Is(4)]));
    Ok(())
}

/// How anchors are chosen.
#[derive(Clone, Copy)]
pub(crate) struct Choice {
    /// Anchors that overlap a box by as much show it.
    pub(crate) positive: f32,
    /// Anchors that overlap all boxes by less show the background.
    pub(crate) negative: f32,
    /// How many anchors of an image are sampled, and which part of them objects; `None` for all.
    pub(crate) sample: Option<(usize, f32)>,
    /// Anchors that reach out of the image by more are left out; `None` keeps all.
    pub(crate) straddle: Option<f32>,
    /// Samples by chance.
    pub(crate) random: bool,
}

slots! {
    /// Where inputs and outputs are; those of `retinanet_target_assign` alone may be missing.
    #[derive(Clone, Copy)]
    pub(crate) struct Slots(p) {
        anchor: input "Anchor",
        boxes: input "GtBoxes",
        labels: maybe_input "GtLabels",
        crowd: input "IsCrowd",
        info: input "ImInfo",
        location: output "LocationIndex",
        score: output "ScoreIndex",
        target: output "TargetBBox",
        label: output "TargetLabel",
        weight: output "BBoxInsideWeight",
        foreground: maybe_output "ForegroundNumber",
    }
}

/// The anchors of one image.
struct Assigned<T> {
    location: Vec<i32>,
    score: Vec<i32>,
    target: Vec<Box4<T>>,
    label: Vec<i32>,
    weight: Vec<Box4<T>>,
}

/// Runs either operator.
pub(crate) fn run<T: Float>(io: &Io<'_>, slots: &Slots, choice: &Choice) -> Result<()> {
    let (anchor, boxes) = (io.dense(slots.anchor)?, io.dense(slots.boxes)?);
    let (crowd, info) = (io.dense(slots.crowd)?, io.dense(slots.info)?);
    let anchors = sizes::boxes_of::<T>(io, slots.anchor, &anchor)?;
    let boxes = PerImage::<T>::new(io, slots.boxes, &boxes, 4, None)?;
    let crowd = PerImage::<i32>::new(io, slots.crowd, &crowd, 1, Some(boxes.images()))?;
    expect_same_rows(io, (slots.crowd, &crowd), &boxes)?;
    let infos = sizes::image_infos::<T>(io, slots.info, &info, boxes.images())?;
    let label_tensor = slots.labels.map(|slot| io.dense(slot)).transpose()?;
    let labels = match (slots.labels, &label_tensor) {
        (Some(slot), Some(t)) => {
            let labels = PerImage::<i32>::new(io, slot, t, 1, Some(boxes.images()))?;
            expect_same_rows(io, (slot, &labels), &boxes)?;
            Some(labels)
        }
        _ => None,
    };
    let engine = choice.random.then(|| MinStd::new(io.runtime().fresh_seed()));
    let mut images = Vec::new();
    for (i, info) in infos.iter().enumerate() {
        let real: Vec<usize> =
            crowd.of(i).iter().enumerate().filter(|(_, crowd)| **crowd == 0).map(|(i, _)| i).collect();
        let image = Image {
            choice,
            anchors,
            boxes: real.iter().map(|&k| boxes.of(i).as_chunks::<4>().0[k].map(|v| v * info[2])).collect(),
            labels: labels.as_ref().map(|labels| real.iter().map(|&k| labels.of(i)[k]).collect()),
            info,
        };
        images.push(image.assign(i * anchors.len(), engine.as_ref()));
    }
    write(io, slots, &images)
}

fn write<T: Float>(io: &Io<'_>, slots: &Slots, images: &[Assigned<T>]) -> Result<()> {
    let lod = |count: fn(&Assigned<T>) -> usize| lod_of(&Lod::NONE, images.iter().map(count));
    let (places, samples) = (lod(|image| image.location.len()), lod(|image| image.score.len()));
    let ints = |out: Out, lod: &Lod, column: bool, of: fn(&Assigned<T>) -> &[i32]| -> Result<()> {
        let values: Vec<i32> = images.iter().flat_map(of).copied().collect();
        let dims = if column { Dims::from([values.len(), 1]) } else { Dims::from([values.len()]) };
        let mut t = io.out_sized(out, DType::I32, dims)?;
        t.set_lod(lod.clone());
        io.data_mut::<i32>(out, &mut t)?.copy_from_slice(&values);
        Ok(())
    };
    ints(slots.location, &places, false, |image| &image.location)?;
    ints(slots.score, &samples, false, |image| &image.score)?;
    ints(slots.label, &samples, true, |image| &image.label)?;
    let boxes = |out: Out, of: fn(&Assigned<T>) -> &[Box4<T>]| -> Result<()> {
        let values: Vec<T> = images.iter().flat_map(of).flatten().copied().collect();
        let mut t = io.out_sized(out, T::DTYPE, Dims::from([values.len() / 4, 4]))?;
        t.set_lod(places.clone());
        io.data_mut::<T>(out, &mut t)?.copy_from_slice(&values);
        Ok(())
    };
    boxes(slots.target, |image| &image.target)?;
    boxes(slots.weight, |image| &image.weight)?;
    let Some(foreground) = slots.foreground else { return Ok(()) };
    let mut t = io.out_sized(foreground, DType::I32, Dims::from([images.len(), 1]))?;
    t.set_lod(lod_of(&Lod::NONE, images.iter().map(|_| 1)));
    let to = io.data_mut::<i32>(foreground, &mut t)?;
    // One more than there are, so that a loss is never divided by 0.
    to.iter_mut().zip(images).for_each(|(to, image)| *to = image.location.len() as i32 + 1);
    Ok(())
}

struct Image<'a, T> {
    choice: &'a Choice,
    anchors: &'a [Box4<T>],
    /// Boxes that are no crowd, in the network's pixels.
    boxes: Vec<Box4<T>>,
    labels: Option<Vec<i32>>,
    info: &'a [T; 3],
}

impl<T: Float> Image<'_, T> {
    /// Anchors that do not reach out of the image too far.
    fn inside(&self) -> Vec<usize> {
        let [height, width, _] = *self.info;
        let fits = |b: &Box4<T>| match self.choice.straddle.map(|by| T::of(by.into())) {
            Some(by) => b[0] >= -by && b[1] >= -by && b[2] < width + by && b[3] < height + by,
            None => true,
        };
        (0..self.anchors.len()).filter(|&i| fits(&self.anchors[i])).collect()
    }

    fn assign(&self, offset: usize, engine: Option<&MinStd>) -> Assigned<T> {
        let inside = self.inside();
        let candidates: Vec<Box4<T>> = inside.iter().map(|&i| self.anchors[i]).collect();
        let common = overlaps(&candidates, &self.boxes);
        let rows = |i: usize| &common[i * self.boxes.len()..][..self.boxes.len()];
        let nearest: Vec<usize> = (0..candidates.len()).map(|i| first_largest(rows(i))).collect();
        let chosen = self.choose(&common, candidates.len(), engine);
        let number = |&i: &usize| (inside[i] + offset) as i32;
        let target = |&i: &usize| {
            let delta_to = |b: &Box4<T>| centred(&candidates[i], false).delta_to(&centred(b, false));
            self.boxes.get(nearest[i]).map_or([T::ZERO; 4], delta_to)
        };
        let label = |&i: &usize| self.labels.as_ref().map_or(1, |labels| labels[nearest[i]]);
        let filling = chosen.places.len() - chosen.objects.len();
        Assigned {
            location: chosen.places.iter().map(number).collect(),
            score: chosen.objects.iter().chain(&chosen.background).map(number).collect(),
            target: chosen.places.iter().map(target).collect(),
            label: chosen.objects.iter().map(label).chain(chosen.background.iter().map(|_| 0)).collect(),
            weight: (0..chosen.places.len()).map(|i| if i < filling { [T::ZERO; 4] } else { [T::ONE; 4] }).collect(),
        }
    }

    fn choose(&self, common: &[T], count: usize, engine: Option<&MinStd>) -> Chosen {
        let boxes = self.boxes.len();
        let rows = |i: usize| &common[i * boxes..][..boxes];
        let largest = |i: usize| rows(i).iter().copied().fold(T::ZERO, T::max);
        let per_box: Vec<T> =
            (0..boxes).map(|j| (0..count).map(|i| common[i * boxes + j]).fold(T::ZERO, T::max)).collect();
        // An anchor also shows a box if no other overlaps that box by more.
        let is_best = |i: usize| rows(i).iter().zip(&per_box).any(|(v, best)| (*v - *best).abs() < T::of(1e-5));
        let positive = T::of(self.choice.positive.into());
        let mut objects: Vec<usize> =
            (0..count).filter(|&i| boxes > 0 && (is_best(i) || largest(i) >= positive)).collect();
        let negative = T::of(self.choice.negative.into());
        let mut background: Vec<usize> = (0..count).filter(|&i| largest(i) < negative).collect();
        if let Some((size, share)) = self.choice.sample {
            reservoir(&mut objects, (share * size as f32) as usize, engine);
            reservoir(&mut background, size.saturating_sub(objects.len()), engine);
        }
        let mut is_object = vec![None; count];
        objects.iter().for_each(|&i| is_object[i] = Some(true));
        // What counts as background after all leaves its place to the first object, with weight 0.
        let first = objects.first().copied().unwrap_or(0);
        let mut places = Vec::new();
        for &i in &background {
            if is_object[i] == Some(true) {
                places.push(first);
            }
            is_object[i] = Some(false);
        }
        let of = |which: bool| (0..count).filter(|&i| is_object[i] == Some(which)).collect::<Vec<_>>();
        let (objects, background) = (of(true), of(false));
        places.extend_from_slice(&objects);
        Chosen { objects, background, places }
    }
}

/// Anchors of an image by their number among those inside.
struct Chosen {
    objects: Vec<usize>,
    background: Vec<usize>,
    /// Those whose place is learned; the first ones only fill up.
    places: Vec<usize>,
}

/// The index of the largest value, the first of equal ones.
fn first_largest<T: Float>(values: &[T]) -> usize {
    (1..values.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best })
}
