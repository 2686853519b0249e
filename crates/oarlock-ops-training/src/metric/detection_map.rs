//! `detection_map`: how well detected boxes match true ones, as the mean over classes of average precision.

use std::collections::BTreeMap;
use std::ops::Range;

use oarlock_ir::{AttrView, Dim, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, VarType};
use oarlock_ir::{by_float, fail, kernel, sig, slots};
use oarlock_ops_support::lod_rows::offsets;
use oarlock_tensor::{DType, Dims, Float, Lod};

pub(crate) const OPS: &[&dyn OpDef] = &[&DetectionMap];

struct DetectionMap;

impl OpDef for DetectionMap {
    sig! {
        "detection_map":
            "MAP = the mean of average precision over classes that have true boxes. A detection counts for the true box it \
             overlaps most, if by more than the threshold; only the best one of a box is right";
        in "DetectRes": "[detections, 6] with LoD by image: class, score, xmin, ymin, xmax, ymax";
        in "Label":
            "[boxes, 6] with LoD by image: class, is it difficult, xmin, ymin, xmax, ymax; or [boxes, 5] without the second";
        in? "HasState": "[1], i32: not 0 if the counts of earlier batches count, too";
        in? "PosCount": "`AccumPosCount` of earlier batches";
        in? "TruePos": "`AccumTruePos` of earlier batches";
        in? "FalsePos": "`AccumFalsePos` of earlier batches";
        out "AccumPosCount": "[classes, 1], i32: true boxes of each class";
        out "AccumTruePos": "[detections, 2] with LoD by class: score, and 1 if it is right";
        out "AccumFalsePos": "[detections, 2] with LoD by class: score, and 1 if it is wrong";
        out "MAP": "[1]";
        attr "class_num": "how many classes there are";
        attr "background_label" = 0, "a class that does not count";
        attr "overlap_threshold" = 0.5f32, "the least overlap over union, exclusively";
        attr "evaluate_difficult" = true, "difficult boxes count";
        attr "ap_type" = "integral", "integral, or 11point: the mean of the best precision at 11 recalls";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        Rules::new(&cx.attrs())?;
        let (found, label) = (cx.float("DetectRes")?, cx.float("Label")?);
        let fits = |ty: &VarType, widths: &[usize]| {
            ty.shape.rank() == 2 && ty.shape[1].known().is_none_or(|n| widths.contains(&n))
        };
        if !fits(&found, &[6]) || !fits(&label, &[5, 6]) {
            let what = format_args!(
                "needs rows of 6 numbers, and labels of 5 or 6, but has {} and {}",
                cx.describe("DetectRes"),
                cx.describe("Label")
            );
            return Err(cx.shape_error(what));
        }
        let classes = Dim::Is(cx.attrs().count("class_num")?);
        cx.set("MAP", VarType::tensor(found.dtype, vec![Dim::Is(1)]));
        cx.set("AccumPosCount", VarType::tensor(DType::I32, vec![classes, Dim::Is(1)]));
        for slot in ["AccumTruePos", "AccumFalsePos"] {
            cx.set(slot, VarType::tensor(found.dtype, vec![Dim::Any, Dim::Is(2)]).with_lod(1));
        }
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let slots = Slots::new(p)?;
        let rules = Rules::new(&p.attrs())?;
        by_float!(p.float("DetectRes")?, T => kernel(move |io| slots.run::<T>(io, &rules)))
    }
}

/// The attributes.
struct Rules {
    classes: usize,
    background: i64,
    threshold: f64,
    evaluate_difficult: bool,
    eleven_points: bool,
}

impl Rules {
    fn new(attrs: &AttrView<'_>) -> Result<Rules> {
        let eleven_points = match attrs.str("ap_type")? {
            "integral" => false,
            "11point" => true,
            other => fail!(Kind::Argument, "`detection_map` knows the ap_types integral and 11point, not {other:?}"),
        };
        Ok(Rules {
            classes: attrs.count("class_num")?,
            background: attrs.int("background_label")?,
            threshold: attrs.f32("overlap_threshold")?.into(),
            evaluate_difficult: attrs.flag("evaluate_difficult"),
            eleven_points,
        })
    }
}

slots! {
    struct Slots(p) {
        found: input "DetectRes",
        label: input "Label",
        has_state: maybe_input "HasState",
        state: [Option<In>; 3] = [p.maybe_input("PosCount")?, p.maybe_input("TruePos")?, p.maybe_input("FalsePos")?],
        counts: output "AccumPosCount",
        marks: [Out; 2] = [p.output("AccumTruePos")?, p.output("AccumFalsePos")?],
        map: output "MAP",
    }
}

/// A box, and whether it is difficult.
struct Truth<T> {
    sides: [T; 4],
    difficult: bool,
}

/// The boxes of a class.
struct Class<T> {
    /// True boxes.
    positives: usize,
    /// Detections: score, and whether it is right.
    marks: Vec<(T, bool)>,
}

/// All classes that have true boxes or detections, by number.
type Classes<T> = BTreeMap<i64, Class<T>>;

fn class<T: Float>(classes: &mut Classes<T>, number: i64) -> &mut Class<T> {
    classes.entry(number).or_insert_with(|| Class { positives: 0, marks: Vec::new() })
}

/// The rows of each image.
fn images(offsets: &[usize]) -> impl Iterator<Item = Range<usize>> + '_ {
    offsets.windows(2).map(|w| w[0]..w[1])
}

impl Slots {
    fn run<T: Float>(&self, io: &Io<'_>, rules: &Rules) -> Result<()> {
        let mut classes = Classes::<T>::new();
        self.recall(io, rules, &mut classes)?;
        self.compare(io, rules, &mut classes)?;
        self.write(io, rules, &classes)
    }

    /// Reads the counts of earlier batches.
    fn recall<T: Float>(&self, io: &Io<'_>, rules: &Rules, classes: &mut Classes<T>) -> Result<()> {
        let (Some(has_state), [Some(counts), Some(right), Some(wrong)]) = (self.has_state, self.state) else {
            return Ok(());
        };
        if io.data::<i32>(has_state, &*io.dense(has_state)?)?.first().is_none_or(|flag| *flag == 0) {
            return Ok(());
        }
        let (count_tensor, right_tensor, wrong_tensor) = (io.dense(counts)?, io.dense(right)?, io.dense(wrong)?);
        let count_data = io.data::<i32>(counts, &count_tensor)?;
        if count_data.len() != rules.classes {
            let what = format_args!("has {} numbers, but there are {} classes", count_data.len(), rules.classes);
            return Err(io.error(Kind::Shape, counts, what));
        }
        for (number, count) in count_data.iter().enumerate().filter(|(_, count)| **count > 0) {
            class(classes, number as i64).positives = *count as usize;
        }
        // What was right says also what was wrong; only their numbers must agree.
        let rows = offsets(io, right, &right_tensor)?;
        let (data, other) = (io.data::<T>(right, &right_tensor)?, io.data::<T>(wrong, &wrong_tensor)?);
        oarlock_ops_support::class_axis::same_count(io, right, wrong, data.len(), other.len())?;
        for (number, rows) in images(rows).enumerate() {
            for row in data[2 * rows.start..2 * rows.end].chunks_exact(2) {
                class(classes, number as i64).marks.push((row[0], row[1] != T::ZERO));
            }
        }
        Ok(())
    }

    /// Compares the detections of every image with its true boxes.
    fn compare<T: Float>(&self, io: &Io<'_>, rules: &Rules, classes: &mut Classes<T>) -> Result<()> {
        let (found_tensor, label_tensor) = (io.dense(self.found)?, io.dense(self.label)?);
        let (found_rows, label_rows) =
            (offsets(io, self.found, &found_tensor)?, offsets(io, self.label, &label_tensor)?);
        if found_rows.len() != label_rows.len() {
            let what = format_args!(
                "has {} images, but {} has {}",
                found_rows.len() - 1,
                io.describe(self.label),
                label_rows.len() - 1
            );
            return Err(io.error(Kind::Lod, self.found, what));
        }
        let (found, label) = (io.data::<T>(self.found, &found_tensor)?, io.data::<T>(self.label, &label_tensor)?);
        let width = label_tensor.dims().matrix(1).1;
        if found_tensor.dims().matrix(1).1 != 6 || !(5..=6).contains(&width) {
            return Err(io.error(Kind::Shape, self.label, "must have 5 or 6 columns, and detections 6"));
        }
        for (found_rows, label_rows) in images(found_rows).zip(images(label_rows)) {
            let truths = truths(&label[width * label_rows.start..width * label_rows.end], width);
            for (number, boxes) in &truths {
                let count = boxes.iter().filter(|t| rules.evaluate_difficult || !t.difficult).count();
                if count > 0 {
                    class(classes, *number).positives += count;
                }
            }
            let mut detections = BTreeMap::<i64, Vec<&[T]>>::new();
            for row in found[6 * found_rows.start..6 * found_rows.end].chunks_exact(6) {
                detections.entry(row[0].f64() as i64).or_default().push(row);
            }
            for (number, mut rows) in detections {
                let marks = &mut class(classes, number).marks;
                match truths.get(&number) {
                    None => marks.extend(rows.iter().map(|row| (row[1], false))),
                    Some(boxes) => {
                        rows.sort_by(|a, b| b[1].f64().total_cmp(&a[1].f64()));
                        judge(&rows, boxes, rules, marks);
                    }
                }
            }
        }
        Ok(())
    }

    fn write<T: Float>(&self, io: &Io<'_>, rules: &Rules, classes: &Classes<T>) -> Result<()> {
        let mut counts = io.out_sized(self.counts, DType::I32, Dims::from([rules.classes, 1]))?;
        let counts = io.data_mut::<i32>(self.counts, &mut counts)?;
        let none = Class { positives: 0, marks: Vec::new() };
        let each: Vec<&Class<T>> = (0..rules.classes as i64).map(|n| classes.get(&n).unwrap_or(&none)).collect();
        counts.iter_mut().zip(&each).for_each(|(count, class)| *count = class.positives as i32);
        let lod = Lod::from_lengths(&[each.iter().map(|class| class.marks.len()).collect()]);
        let rows = each.iter().map(|class| class.marks.len()).sum::<usize>();
        for (out, counted) in self.marks.into_iter().zip([true, false]) {
            let mut t = io.out_sized(out, T::DTYPE, Dims::from([rows, 2]))?;
            t.set_lod(lod.clone());
            let to = io.data_mut::<T>(out, &mut t)?.chunks_exact_mut(2);
            for (to, (score, right)) in to.zip(each.iter().flat_map(|class| &class.marks)) {
                to.copy_from_slice(&[*score, if *right == counted { T::ONE } else { T::ZERO }]);
            }
        }
        let mut t = io.out_sized(self.map, T::DTYPE, Dims::from([1]))?;
        io.data_mut::<T>(self.map, &mut t)?[0] = T::of(mean_precision(classes, rules));
        Ok(())
    }
}

/// The true boxes of an image by class.
fn truths<T: Float>(label: &[T], width: usize) -> BTreeMap<i64, Vec<Truth<T>>> {
    let mut all = BTreeMap::<i64, Vec<Truth<T>>>::new();
    for row in label.chunks_exact(width) {
        let difficult = width == 6 && row[1].abs().f64() >= 1e-6;
        let sides = [row[width - 4], row[width - 3], row[width - 2], row[width - 1]];
        all.entry(row[0].f64() as i64).or_default().push(Truth { sides, difficult });
    }
    all
}

/// Says which detections of a class, best first, are right.
fn judge<T: Float>(rows: &[&[T]], boxes: &[Truth<T>], rules: &Rules, marks: &mut Vec<(T, bool)>) {
    let mut taken = vec![false; boxes.len()];
    for row in rows {
        let inside = |v: T| v.max(T::ZERO).min(T::ONE);
        let sides = [inside(row[2]), inside(row[3]), inside(row[4]), inside(row[5])];
        let (mut most, mut best) = (T::of(-1.0), 0);
        for (i, truth) in boxes.iter().enumerate() {
            let overlap = overlap(&sides, &truth.sides);
            if overlap > most {
                (most, best) = (overlap, i);
            }
        }
        if most.f64() <= rules.threshold {
            marks.push((row[1], false));
        } else if rules.evaluate_difficult || !boxes[best].difficult {
            marks.push((row[1], !taken[best]));
            taken[best] = true;
        }
    }
}

/// The common area of two boxes over the area of both.
fn overlap<T: Float>(a: &[T; 4], b: &[T; 4]) -> T {
    let common = |i: usize| a[i + 2].min(b[i + 2]) - a[i].max(b[i]);
    let (width, height) = (common(0), common(1));
    if width < T::ZERO || height < T::ZERO {
        return T::ZERO;
    }
    let area = |s: &[T; 4]| (s[2] - s[0]) * (s[3] - s[1]);
    let both = width * height;
    both / (area(a) + area(b) - both)
}

fn mean_precision<T: Float>(classes: &Classes<T>, rules: &Rules) -> f64 {
    let counted = classes.iter().filter(|(number, class)| **number != rules.background && class.positives > 0);
    let each: Vec<f64> = counted.map(|(_, class)| precision(class, rules.eleven_points)).collect();
    each.iter().sum::<f64>() / each.len().max(1) as f64
}

/// The average precision of a class.
fn precision<T: Float>(class: &Class<T>, eleven_points: bool) -> f64 {
    let mut marks = class.marks.clone();
    marks.sort_by(|a, b| b.0.f64().total_cmp(&a.0.f64()));
    let mut right = 0.0;
    let curve: Vec<(f64, f64)> = marks
        .iter()
        .enumerate()
        .map(|(i, mark)| {
            right += if mark.1 { 1.0 } else { 0.0 };
            (right / class.positives as f64, right / (i + 1) as f64)
        })
        .collect();
    if eleven_points {
        let best = |recall: f64| curve.iter().filter(|p| p.0 >= recall).map(|p| p.1).fold(0.0, f64::max);
        return (0..=10).map(|j| best(f64::from(j) / 10.0)).sum::<f64>() / 11.0;
    }
    let mut before = 0.0;
    let mut area = 0.0;
    for (recall, precision) in curve {
        if (recall - before).abs() > 1e-6 {
            area += precision * (recall - before).abs();
            before = recall;
        }
    }
    area
}

#[cfg(test)]
mod tests {
    use oarlock_tensor::Tensor;

    use crate::testing::{Check, check, tensor, tensor_of, with_lod};

    const FOUND: [f32; 42] = [
        1.0, 0.9, 0.1, 0.1, 0.4, 0.4, 1.0, 0.8, 0.1, 0.1, 0.4, 0.45, 2.0, 0.7, 0.5, 0.5, 0.9, 0.9, 3.0, 0.6, 0.0, 0.0,
        0.2, 0.2, 1.0, 0.95, 0.6, 0.6, 1.2, 0.9, 2.0, 0.3, 0.2, 0.2, 0.6, 0.6, 2.0, 0.4, 0.2, 0.2, 0.5, 0.5,
    ];
    const TRUE: [f32; 30] = [
        1.0, 0.0, 0.1, 0.1, 0.4, 0.4, 2.0, 1.0, 0.5, 0.5, 0.9, 0.8, 1.0, 0.0, 0.6, 0.6, 0.95, 0.9, 2.0, 0.0, 0.2, 0.2,
        0.55, 0.55, 4.0, 0.0, 0.1, 0.1, 0.2, 0.2,
    ];

    /// Two images, whose results Fluid gave.
    fn two_images() -> Check {
        check("detection_map")
            .input("DetectRes", with_lod(tensor([7, 6], &FOUND), &[&[0, 4, 7]]))
            .input("Label", with_lod(tensor([5, 6], &TRUE), &[&[0, 2, 5]]))
            .attr("class_num", 5)
    }

    fn counts(of: [i32; 5]) -> Tensor {
        tensor_of::<i32>([5, 1], &of)
    }

    #[test]
    fn as_fluid() {
        let right = [0.9, 1.0, 0.8, 0.0, 0.95, 1.0, 0.7, 1.0, 0.4, 1.0, 0.3, 0.0, 0.6, 0.0];
        let wrong = [0.9, 0.0, 0.8, 1.0, 0.95, 0.0, 0.7, 0.0, 0.4, 0.0, 0.3, 1.0, 0.6, 1.0];
        two_images()
            .output("AccumPosCount", counts([0, 2, 2, 0, 1]))
            .output("AccumTruePos", with_lod(tensor([7, 2], &right), &[&[0, 0, 3, 6, 7, 7]]))
            .output("AccumFalsePos", with_lod(tensor([7, 2], &wrong), &[&[0, 0, 3, 6, 7, 7]]))
            .output("MAP", tensor([1], &[0.6666667]))
            .run();
        let right = [0.9, 1.0, 0.8, 0.0, 0.95, 1.0, 0.4, 1.0, 0.3, 0.0, 0.6, 0.0];
        two_images()
            .attr("evaluate_difficult", false)
            .output("AccumPosCount", counts([0, 2, 1, 0, 1]))
            .output("AccumTruePos", with_lod(tensor([6, 2], &right), &[&[0, 0, 3, 5, 6, 6]]))
            .any_output("AccumFalsePos")
            .output("MAP", tensor([1], &[0.6666667]))
            .run();
        let eleven = two_images().attr("ap_type", "11point").any_output("AccumPosCount");
        let eleven = eleven.any_output("AccumTruePos").any_output("AccumFalsePos");
        eleven.output("MAP", tensor([1], &[0.6666668])).run();
    }

    #[test]
    fn a_later_batch() {
        let right = [0.9, 1.0, 0.8, 0.0, 0.95, 1.0, 0.7, 1.0, 0.4, 1.0, 0.3, 0.0, 0.6, 0.0];
        let wrong = [0.9, 0.0, 0.8, 1.0, 0.95, 0.0, 0.7, 0.0, 0.4, 0.0, 0.3, 1.0, 0.6, 1.0];
        let found = [2.0, 0.5, 0.5, 0.5, 0.9, 0.9, 1.0, 0.85, 0.0, 0.0, 0.1, 0.1];
        let truth = [2.0, 0.5, 0.5, 0.9, 0.9, 1.0, 0.3, 0.3, 0.6, 0.6];
        let lod: &[&[usize]] = &[&[0, 0, 3, 6, 7, 7]];
        check("detection_map")
            .input("DetectRes", with_lod(tensor([2, 6], &found), &[&[0, 1, 2]]))
            .input("Label", with_lod(tensor([2, 5], &truth), &[&[0, 1, 2]]))
            .input("HasState", tensor_of::<i32>([1], &[1]))
            .input("PosCount", counts([0, 2, 2, 0, 1]))
            .input("TruePos", with_lod(tensor([7, 2], &right), lod))
            .input("FalsePos", with_lod(tensor([7, 2], &wrong), lod))
            .attr("class_num", 5)
            .output("AccumPosCount", counts([0, 3, 3, 0, 1]))
            .any_output("AccumTruePos")
            .any_output("AccumFalsePos")
            .output("MAP", tensor([1], &[0.5555556]))
            .run();
    }

    #[test]
    fn mistakes() {
        let outputs = |check: Check| {
            let slots = ["AccumPosCount", "AccumTruePos", "AccumFalsePos", "MAP"];
            slots.into_iter().fold(check, |check, slot| check.any_output(slot))
        };
        let e = outputs(two_images().attr("ap_type", "mean")).error();
        assert!(e.contains("`detection_map` knows the ap_types integral and 11point, not \"mean\""), "{e}");
        let one_image = check("detection_map")
            .input("DetectRes", with_lod(tensor([7, 6], &FOUND), &[&[0, 7]]))
            .input("Label", with_lod(tensor([5, 6], &TRUE), &[&[0, 2, 5]]))
            .attr("class_num", 5);
        let e = outputs(one_image).error();
        assert!(e.contains("has 1 images, but input `Label` = `Label.0` has 2"), "{e}");
    }
}
