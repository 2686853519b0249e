//! `generate_mask_labels`: the masks of sampled regions, from which the head of Mask R-CNN learns.

use oarlock_ir::{
    AttrView, Dim, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, VarType, fail, kernel, sig, slots,
};
use oarlock_ops_support::lod_rows::lod_of;
use oarlock_tensor::{DType, Dims, Lod, Tensor};

use super::polygon_mask::polygon_mask;
use super::sampling::{PerImage, expect_same_rows};
use crate::geometry::{Box4, overlaps};
use crate::sizes;

pub(crate) const OPS: &[&dyn OpDef] = &[&GenerateMaskLabels];

struct GenerateMaskLabels;

impl OpDef for GenerateMaskLabels {
    sig! {
        "generate_mask_labels":
            "MaskRois = the regions of each image that show an object; MaskInt32 = which of resolution * resolution points of each \
             lie inside the polygons of the object it overlaps most, 1 or 0 at the place of its class, -1 at the others";
        in "ImInfo": "[images, 3], f32: height, width and scale of each image";
        in "GtClasses": "[objects, 1], i32, with a sequence per image: classes, from 1";
        in "IsCrowd": "[objects, 1], i32, with a sequence per image: objects with a number other than 0 are left out";
        in "GtSegms": "[points, 2], f32, with three levels of LoD: objects of images, polygons of objects, points of polygons";
        in "Rois": "[regions, 4], f32, with a sequence per image: left, top, right and bottom in the network's pixels";
        in "LabelsInt32": "[regions, 1], i32, with a sequence per image: classes of regions, 0 for the background";
        out "MaskRois": "[masks, 4], with a sequence per image; an image without objects has its first background region";
        out "RoiHasMaskInt32": "[masks, 1], i32: which region of the image each is";
        out "MaskInt32": "[masks, num_classes * resolution * resolution], i32";
        attr "num_classes": "how many classes there are, with the background";
        attr "resolution": "points of a mask along each axis";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let shape = MaskShape::new(&cx.attrs())?;
        for (slot, width) in [("ImInfo", 3), ("GtSegms", 2), ("Rois", 4)] {
            sizes::float(cx, slot, &[None, Some(width)], &format!("[rows, {width}]"))?;
        }
        for slot in ["GtClasses", "IsCrowd", "LabelsInt32"] {
            cx.integer(slot)?;
        }
        let (dtype, lod) = (cx.input("Rois")?.dtype, cx.input("Rois")?.lod_level);
        let rows = |dtype: DType, width: usize| VarType::tensor(dtype, vec![Dim::Any, Dim::Is(width)]).with_lod(lod);
        cx.set("MaskRois", rows(dtype, 4));
        cx.set("RoiHasMaskInt32", rows(DType::I32, 1));
        cx.set("MaskInt32", rows(DType::I32, shape.values()));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let slots = Slots::new(p)?;
        let shape = MaskShape::new(&p.attrs())?;
        kernel(move |io| slots.run(io, &shape))
    }
}

#[derive(Clone, Copy)]
struct MaskShape {
    classes: usize,
    side: usize,
}

impl MaskShape {
    fn new(attrs: &AttrView<'_>) -> Result<MaskShape> {
        let (classes, side) = (attrs.count("num_classes")?, attrs.count("resolution")?);
        // A larger mask fits no memory.
        if classes == 0 || side == 0 || side > 1 << 12 {
            fail!(Kind::Argument, "`num_classes` ({classes}) must be above 0, `resolution` ({side}) from 1 to 4096")
        }
        Ok(MaskShape { classes, side })
    }

    fn values(&self) -> usize {
        self.classes * self.side * self.side
    }
}

slots! {
    struct Slots(p) {
        info: input "ImInfo",
        classes: input "GtClasses",
        crowd: input "IsCrowd",
        segments: input "GtSegms",
        rois: input "Rois",
        labels: input "LabelsInt32",
        outs: [Out; 3] = [p.output("MaskRois")?, p.output("RoiHasMaskInt32")?, p.output("MaskInt32")?],
    }
}

/// A region with its number in the image, its class, and its mask if it shows an object.
struct Masked {
    region: Box4<f32>,
    number: i32,
    mask: Option<(usize, Vec<bool>)>,
}

/// The polygons of an object.
type Polygons<'t> = Vec<&'t [[f32; 2]]>;

impl Slots {
    fn run(&self, io: &Io<'_>, shape: &MaskShape) -> Result<()> {
        let (info, classes, crowd) = (io.dense(self.info)?, io.dense(self.classes)?, io.dense(self.crowd)?);
        let (segments, rois, labels) = (io.dense(self.segments)?, io.dense(self.rois)?, io.dense(self.labels)?);
        let classes = PerImage::<i32>::new(io, self.classes, &classes, 1, None)?;
        let images = classes.images();
        let crowd = PerImage::<i32>::new(io, self.crowd, &crowd, 1, Some(images))?;
        expect_same_rows(io, (self.crowd, &crowd), &classes)?;
        let rois = PerImage::<f32>::new(io, self.rois, &rois, 4, Some(images))?;
        let labels = PerImage::<i32>::new(io, self.labels, &labels, 1, Some(images))?;
        expect_same_rows(io, (self.labels, &labels), &rois)?;
        let infos = sizes::image_infos::<f32>(io, self.info, &info, images)?;
        let objects = self.objects(io, &segments, &classes)?;
        let mut masked: Vec<Vec<Masked>> = Vec::new();
        let mut first = 0;
        for (i, [_, _, scale]) in infos.iter().enumerate() {
            let count = classes.of(i).len();
            let of_image = objects[first..first + count].iter().zip(classes.of(i).iter().zip(crowd.of(i)));
            let usable = of_image.filter(|(_, (class, crowd))| **class > 0 && **crowd == 0);
            let polygons: Vec<&Polygons<'_>> = usable.map(|(polygons, _)| polygons).collect();
            first += count;
            let regions = rois.of(i).as_chunks::<4>().0;
            masked.push(self.image(io, regions, labels.of(i), &polygons, *scale, shape)?);
        }
        self.write(io, &masked, shape)
    }

    /// The polygons of all objects.
    fn objects<'t>(&self, io: &Io<'_>, t: &'t Tensor, classes: &PerImage<'_, i32>) -> Result<Vec<Polygons<'t>>> {
        t.lod().check(t.rows()).map_err(|e| io.about(self.segments.0, e))?;
        sizes::ensure(io, self.segments, t, t.dims().rank() == 2 && t.dims()[1] == 2, "[points, 2]")?;
        let [per_image, per_object, per_polygon] = t.lod().levels() else {
            let what = format_args!("has {} levels of LoD, but needs 3: objects, polygons and points", t.lod().len());
            return Err(io.error(Kind::Lod, self.segments, what));
        };
        let counts = |i: usize| per_image[i + 1] - per_image[i] == classes.of(i).len();
        if per_image.len() != classes.images() + 1 || !(0..classes.images()).all(counts) {
            return Err(io.error(Kind::Lod, self.segments, "has other objects than `GtClasses` has classes"));
        }
        let points = io.data::<f32>(self.segments, t)?.as_chunks::<2>().0;
        let polygon = |i: usize| &points[per_polygon[i]..per_polygon[i + 1]];
        Ok(per_object.windows(2).map(|rows| (rows[0]..rows[1]).map(polygon).collect()).collect())
    }

    fn image(
        &self,
        io: &Io<'_>,
        regions: &[Box4<f32>],
        labels: &[i32],
        objects: &[&Polygons<'_>],
        scale: f32,
        shape: &MaskShape,
    ) -> Result<Vec<Masked>> {
        let shown: Vec<usize> = (0..regions.len()).filter(|&i| labels[i] > 0).collect();
        let back = |b: Box4<f32>| b.map(|v| v * scale);
        if shown.is_empty() {
            // A run must learn from something: the first region stands for all of the background.
            let background = labels.iter().position(|label| *label == 0);
            let region =
                |i: usize| Masked { region: back(regions[0].map(|v| v / scale)), number: i as i32, mask: None };
            return Ok(background.map(region).into_iter().collect());
        }
        if let Some(&i) = shown.iter().find(|&&i| labels[i] as usize >= shape.classes) {
            let what = format_args!("has class {}, but `num_classes` is {}", labels[i], shape.classes);
            return Err(io.error(Kind::Range, self.labels, what));
        }
        if objects.is_empty() {
            return Err(io.error(Kind::Range, self.labels, "names objects in an image that has none but crowds"));
        }
        let originals: Vec<Box4<f32>> = shown.iter().map(|&i| regions[i].map(|v| v / scale)).collect();
        let bounds: Vec<Box4<f32>> = objects.iter().map(|polygons| bounds(polygons)).collect();
        let common = overlaps(&originals, &bounds);
        let one = |(k, (&i, b)): (usize, (&usize, &Box4<f32>))| {
            let row = &common[k * bounds.len()..][..bounds.len()];
            let nearest = (1..row.len()).fold(0, |best, j| if row[j] > row[best] { j } else { best });
            let mask = mask(objects[nearest], b, shape.side);
            Masked { region: back(*b), number: i as i32, mask: Some((labels[i] as usize, mask)) }
        };
        Ok(shown.iter().zip(&originals).enumerate().map(one).collect())
    }

    fn write(&self, io: &Io<'_>, masked: &[Vec<Masked>], shape: &MaskShape) -> Result<()> {
        let lod = lod_of(&Lod::NONE, masked.iter().map(Vec::len));
        let rows: Vec<&Masked> = masked.iter().flatten().collect();
        let [regions, numbers, masks] = self.outs;
        let mut t = io.out_sized(regions, DType::F32, Dims::from([rows.len(), 4]))?;
        t.set_lod(lod.clone());
        let to = io.data_mut::<f32>(regions, &mut t)?.as_chunks_mut::<4>().0;
        to.iter_mut().zip(&rows).for_each(|(to, row)| *to = row.region);
        let mut t = io.out_sized(numbers, DType::I32, Dims::from([rows.len(), 1]))?;
        t.set_lod(lod.clone());
        io.data_mut::<i32>(numbers, &mut t)?.iter_mut().zip(&rows).for_each(|(to, row)| *to = row.number);
        let mut t = io.out_sized(masks, DType::I32, Dims::from([rows.len(), shape.values()]))?;
        t.set_lod(lod);
        let to = io.data_mut::<i32>(masks, &mut t)?;
        to.fill(-1);
        for (to, row) in to.chunks_exact_mut(shape.values()).zip(&rows) {
            let Some((class, mask)) = &row.mask else { continue };
            let to = &mut to[class * mask.len()..][..mask.len()];
            to.iter_mut().zip(mask).for_each(|(to, inside)| *to = i32::from(*inside));
        }
        Ok(())
    }
}

/// The box around all polygons of an object.
fn bounds(polygons: &Polygons<'_>) -> Box4<f32> {
    let start = [f32::MAX, f32::MAX, f32::MIN_POSITIVE, f32::MIN_POSITIVE];
    let grow = |b: Box4<f32>, p: &[f32; 2]| [b[0].min(p[0]), b[1].min(p[1]), b[2].max(p[0]), b[3].max(p[1])];
    polygons.iter().copied().flatten().fold(start, grow)
}

/// The points of a region that lie in any of the polygons.
fn mask(polygons: &Polygons<'_>, b: &Box4<f32>, side: usize) -> Vec<bool> {
    let (width, height) = ((b[2] - b[0]).max(1.0), (b[3] - b[1]).max(1.0));
    let mut inside = vec![false; side * side];
    for polygon in polygons {
        let place = |p: &[f32; 2]| [(p[0] - b[0]) * side as f32 / width, (p[1] - b[1]) * side as f32 / height];
        let corners: Vec<[f32; 2]> = polygon.iter().map(place).collect();
        inside.iter_mut().zip(polygon_mask(&corners, side)).for_each(|(all, one)| *all |= one);
    }
    inside
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor, tensor_of, with_lod};

    fn case() -> Check {
        let square = tensor([4, 2], &[0.0, 0.0, 4.0, 0.0, 4.0, 2.0, 0.0, 2.0]);
        check("generate_mask_labels")
            .input("ImInfo", tensor([1, 3], &[10.0, 10.0, 1.0]))
            .input("GtClasses", with_lod(tensor_of([1, 1], &[1]), &[&[0, 1]]))
            .input("IsCrowd", with_lod(tensor_of([1, 1], &[0]), &[&[0, 1]]))
            .input("GtSegms", with_lod(square, &[&[0, 1], &[0, 1], &[0, 4]]))
            .input("Rois", with_lod(tensor([2, 4], &[0.0, 0.0, 4.0, 4.0, 5.0, 5.0, 6.0, 6.0]), &[&[0, 2]]))
            .input("LabelsInt32", with_lod(tensor_of([2, 1], &[1, 0]), &[&[0, 2]]))
            .attr("num_classes", 2)
            .attr("resolution", 2)
    }

    #[test]
    fn mask_of_the_upper_half() {
        let lod: &[&[usize]] = &[&[0, 1]];
        case()
            .output("MaskRois", with_lod(tensor([1, 4], &[0.0, 0.0, 4.0, 4.0]), lod))
            .output("RoiHasMaskInt32", with_lod(tensor_of([1, 1], &[0]), lod))
            .output("MaskInt32", with_lod(tensor_of([1, 8], &[-1, -1, -1, -1, 1, 1, 0, 0]), lod))
            .run();
    }

    #[test]
    fn mistakes_are_named() {
        let outs = |case: Check| {
            ["MaskRois", "RoiHasMaskInt32", "MaskInt32"].iter().fold(case, |case, name| case.any_output(name)).error()
        };
        let e = outs(case().input("GtSegms", with_lod(tensor([4, 2], &[0.0; 8]), &[&[0, 4]])));
        assert!(e.contains("has 1 levels of LoD, but needs 3: objects, polygons and points"), "{e}");
        let e = outs(case().input("LabelsInt32", with_lod(tensor_of([2, 1], &[2, 0]), &[&[0, 2]])));
        assert!(e.contains("input `LabelsInt32` = `LabelsInt32.0` has class 2, but `num_classes` is 2"), "{e}");
        let e = outs(case().input("IsCrowd", with_lod(tensor_of([1, 1], &[1]), &[&[0, 1]])));
        assert!(e.contains("names objects in an image that has none but crowds"), "{e}");
    }
}
