//! `roi_perspective_transform`: quadrilaterals of a feature map turned into rectangles.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, OpDef, Out, Prepare, Result, Traits, VarType, kernel, sig};
use oarlock_tensor::{DType, Dims};

use super::regions::{ImagesOf, Pooled, Regions};
use crate::sizes;

pub(crate) const OPS: &[&dyn OpDef] = &[&RoiPerspectiveTransform, &GRAD];

struct RoiPerspectiveTransform;

impl OpDef for RoiPerspectiveTransform {
    sig! {
        "roi_perspective_transform": "Out[r, c, i, j] = X[image of r, c] at the point that the perspective of quadrilateral r shows at (i, j), linear between \
             pixels; 0 outside of the quadrilateral and of the map";
        in "X": "[n, channels, h, w], f32: the feature map";
        in "ROIs": "[regions, 8]: x and y of four corners, from the upper left one clockwise, with a sequence per image";
        out "Out": "[regions, channels, transformed_height, transformed_width], with the LoD of `ROIs`";
        out "Mask": "[regions, 1, transformed_height, transformed_width], i32: 1 where the map is read";
        out "TransformMatrix": "[regions, 9]: from (j, i, 1) to the map, in homogeneous coordinates";
        out? "Out2InIdx": "accepted, never written: Fluid's GPU kernel keeps places for the gradient";
        out? "Out2InWeights": "accepted, never written: Fluid's GPU kernel keeps weights for the gradient";
        attr "spatial_scale" = 1.0f32, "the feature map's size over that of the image to which regions refer";
        attr "transformed_height" = 1, "rows of a transformed region";
        attr "transformed_width" = 1, "columns of a transformed region";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let pooled = Pooled::named(&cx.attrs(), "transformed_height", "transformed_width")?;
        let out = pooled.infer(cx, "X", 8, |channels| channels)?;
        let (regions, lod) = (out.shape[0], cx.input("ROIs")?.lod_level);
        let mask = vec![regions, Dim::Is(1), Dim::Is(pooled.height), Dim::Is(pooled.width)];
        cx.set("Mask", VarType::tensor(DType::I32, mask));
        cx.set("TransformMatrix", VarType::tensor(out.dtype, vec![regions, Dim::Is(9)]));
        cx.set("Out2InIdx", out.clone().with_dtype(DType::I32));
        cx.set("Out2InWeights", out.clone());
        cx.set("Out", out.with_lod(lod));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, rois) = (p.input("X")?, p.input("ROIs")?);
        let outs = (p.output("Out")?, p.output("Mask")?, p.output("TransformMatrix")?);
        let pooled = Pooled::named(&p.attrs(), "transformed_height", "transformed_width")?;
        kernel(move |io| forward(io, (x, rois), outs, &pooled))
    }
}

/// Two coordinates nearer to each other than this are taken for equal.
const NEAR: f32 = 1e-4;

fn at_least(a: f32, b: f32) -> bool {
    a > b || (a - b).abs() < NEAR
}

/// A quadrilateral and the perspective in which it is a rectangle.
struct Quad {
    x: [f32; 4],
    y: [f32; 4],
    matrix: [f32; 9],
}

impl Quad {
    fn new(corners: &[f32; 8], scale: f32, pooled: &Pooled) -> Quad {
        let x = [0, 1, 2, 3].map(|k| corners[2 * k] * scale);
        let y = [0, 1, 2, 3].map(|k| corners[2 * k + 1] * scale);
        Quad { x, y, matrix: matrix(&x, &y, pooled) }
    }

    /// The place on the map, across and down, that is shown at a row and column.
    fn source(&self, row: usize, column: usize) -> (f32, f32) {
        let m = &self.matrix;
        let at = |k: usize| m[k] * column as f32 + m[k + 1] * row as f32 + m[k + 2];
        let w = at(6);
        (at(0) / w, at(3) / w)
    }

    fn edges(&self) -> impl Iterator<Item = [f32; 4]> + '_ {
        (0..4).map(|i| [self.x[i], self.y[i], self.x[(i + 1) % 4], self.y[(i + 1) % 4]])
    }

    /// Is a point inside, or on an edge?
    fn contains(&self, x: f32, y: f32) -> bool {
        let level = |e: &[f32; 4]| (e[1] - e[3]).abs() < NEAR;
        let cut = |e: &[f32; 4]| (y - e[1]) * (e[2] - e[0]) / (e[3] - e[1]) + e[0];
        let within = |v: f32, a: f32, b: f32| at_least(v, a.min(b)) && at_least(a.max(b), v);
        let on_edge = |e: [f32; 4]| {
            if level(&e) {
                (y - e[1]).abs() < NEAR && (y - e[3]).abs() < NEAR && within(x, e[0], e[2])
            } else {
                (cut(&e) - x).abs() < NEAR && within(y, e[1], e[3])
            }
        };
        if self.edges().any(on_edge) {
            return true;
        }
        let crosses =
            |e: &[f32; 4]| !level(e) && !at_least(e[1].min(e[3]), y) && y - e[1].max(e[3]) <= NEAR && cut(e) - x > NEAR;
        self.edges().filter(crosses).count() % 2 == 1
    }
}

/// The perspective that shows the four corners as those of a rectangle with the quadrilateral's mean aspect ratio.
fn matrix(x: &[f32; 4], y: &[f32; 4], pooled: &Pooled) -> [f32; 9] {
    let length = |i: usize, j: usize| ((x[i] - x[j]) * (x[i] - x[j]) + (y[i] - y[j]) * (y[i] - y[j])).sqrt();
    let height = (f64::from(length(1, 2) + length(3, 0)) / 2.0) as f32;
    let width = (f64::from(length(0, 1) + length(2, 3)) / 2.0) as f32;
    let rows = pooled.height.max(2) as f32 - 1.0;
    let columns = f64::from((width * rows / height).round()) + 1.0;
    // Also brings a width of NaN, from a quadrilateral without height, into range.
    let columns = columns.min(pooled.width as f64).max(2.0) as f32 - 1.0;
    let (dx1, dx2, dx3) = (x[1] - x[2], x[3] - x[2], x[0] - x[1] + x[2] - x[3]);
    let (dy1, dy2, dy3) = (y[1] - y[2], y[3] - y[2], y[0] - y[1] + y[2] - y[3]);
    let rest = f64::from(dx1 * dy2 - dx2 * dy1) + 1e-5;
    let m6 = (f64::from(dx3 * dy2 - dx2 * dy3) / rest / f64::from(columns)) as f32;
    let m7 = (f64::from(dx1 * dy3 - dx3 * dy1) / rest / f64::from(rows)) as f32;
    let across = |v: &[f32; 4]| (v[1] - v[0] + m6 * columns * v[1]) / columns;
    let down = |v: &[f32; 4]| (v[3] - v[0] + m7 * rows * v[3]) / rows;
    [across(x), down(x), x[0], across(y), down(y), y[0], m6, m7, 1.0]
}

/// The four pixels around a point with their weights; `None` for a point that is not on the map.
fn around(x: f32, y: f32, [h, w]: [usize; 2]) -> Option<[(usize, f32); 4]> {
    let outside = |v: f32, n: usize| at_least(-0.5, v) || at_least(v, n as f32 - 0.5);
    // NaN compares with nothing and is nowhere.
    if h == 0 || w == 0 || outside(x, w) || outside(y, h) || x.is_nan() || y.is_nan() {
        return None;
    }
    let split = |v: f32, n: usize| {
        let v = if at_least(0.0, v) { 0.0 } else { v };
        let low = v.floor() as usize;
        if low + 1 >= n { (n - 1, n - 1, 0.0) } else { (low, low + 1, v - low as f32) }
    };
    let ((x0, x1, across), (y0, y1, down)) = (split(x, w), split(y, h));
    let (left, up) = (1.0 - across, 1.0 - down);
    Some([
        (y0 * w + x0, left * up),
        (y1 * w + x0, left * down),
        (y1 * w + x1, across * down),
        (y0 * w + x1, across * up),
    ])
}

/// What each pixel of a transformed region reads.
fn taps<'a>(
    quad: &'a Quad,
    pooled: &'a Pooled,
    map: [usize; 2],
) -> impl Iterator<Item = Option<[(usize, f32); 4]>> + 'a {
    (0..pooled.bins()).map(move |i| {
        let (x, y) = quad.source(i / pooled.width, i % pooled.width);
        if quad.contains(x, y) { around(x, y, map) } else { None }
    })
}

fn forward(io: &Io<'_>, (x, rois): (In, In), (out, mask, matrix): (Out, Out, Out), pooled: &Pooled) -> Result<()> {
    let (x_tensor, roi_tensor) = (io.dense(x)?, io.dense(rois)?);
    let [n, channels, h, w] = sizes::dims(io, x, &x_tensor, sizes::IMAGES)?;
    let regions = Regions::<f32>::new(io, (rois, &roi_tensor), ImagesOf::Lod, (n, 8))?;
    let (quads, images) = (regions.values.as_chunks::<8>().0, regions.images());
    let count = quads.len();
    let data = io.data::<f32>(x, &x_tensor)?;
    let mut out_tensor = io.out_sized(out, DType::F32, Dims::from([count, channels, pooled.height, pooled.width]))?;
    out_tensor.set_lod(roi_tensor.lod().clone());
    let mut mask_tensor = io.out_sized(mask, DType::I32, Dims::from([count, 1, pooled.height, pooled.width]))?;
    let mut matrix_tensor = io.out_sized(matrix, DType::F32, Dims::from([count, 9]))?;
    let (bins, plane) = (pooled.bins(), h * w);
    let mut outs = io.data_mut::<f32>(out, &mut out_tensor)?.chunks_mut((channels * bins).max(1));
    let masks = io.data_mut::<i32>(mask, &mut mask_tensor)?.chunks_exact_mut(bins);
    let matrices = io.data_mut::<f32>(matrix, &mut matrix_tensor)?.as_chunks_mut::<9>().0;
    let parts = masks.zip(matrices).enumerate().map(|(r, part)| (r, part, outs.next().unwrap_or_default()));
    io.pool().each(count, parts, |(r, (mask, matrix), out)| {
        let quad = Quad::new(&quads[r], pooled.scale(), pooled);
        *matrix = quad.matrix;
        let image = &data[images[r] * channels * plane..][..channels * plane];
        for (i, (taps, mask)) in taps(&quad, pooled, [h, w]).zip(mask).enumerate() {
            *mask = i32::from(taps.is_some());
            for c in 0..channels {
                let plane = &image[c * plane..][..plane];
                out[c * bins + i] = taps.map_or(0.0, |taps| taps.iter().map(|&(at, weight)| weight * plane[at]).sum());
            }
        }
    });
    Ok(())
}

const GRAD: GradOp = GradOp::of(
    &RoiPerspectiveTransform,
    "roi_perspective_transform_grad(X, ROIs, Out2InIdx?, Out2InWeights?, Out@GRAD) -> X@GRAD",
)
.doc("gradient of `roi_perspective_transform`")
.traits(Traits::NONE.shape_only(&["X"]).maybe_empty(&["Out2InIdx", "Out2InWeights"]))
.kernel(|p| {
    let (inputs, dx) = ((p.input("X")?, p.input("ROIs")?, p.input("Out@GRAD")?), p.output("X@GRAD")?);
    let pooled = Pooled::named(&p.attrs(), "transformed_height", "transformed_width")?;
    kernel(move |io| backward(io, inputs, dx, &pooled))
});

fn backward(io: &Io<'_>, (x, rois, dout): (In, In, In), dx: Out, pooled: &Pooled) -> Result<()> {
    let (x_tensor, roi_tensor, dout_tensor) = (io.dense(x)?, io.dense(rois)?, io.dense(dout)?);
    let [n, channels, h, w] = sizes::dims(io, x, &x_tensor, sizes::IMAGES)?;
    let regions = Regions::<f32>::new(io, (rois, &roi_tensor), ImagesOf::Lod, (n, 8))?;
    let quads = regions.values.as_chunks::<8>().0;
    let (bins, plane) = (pooled.bins(), h * w);
    let d = sizes::counted::<f32>(io, dout, &dout_tensor, quads.len() * channels * bins)?;
    let mut t = io.out_sized(dx, DType::F32, *x_tensor.dims())?;
    io.pool().pieces(io.data_mut::<f32>(dx, &mut t)?, channels * plane, |image, dx| {
        dx.fill(0.0);
        for r in regions.of_image(image) {
            let quad = Quad::new(&quads[r], pooled.scale(), pooled);
            for (i, taps) in taps(&quad, pooled, [h, w]).enumerate() {
                for (c, (at, weight)) in
                    taps.into_iter().flat_map(|taps| (0..channels).flat_map(move |c| taps.map(|tap| (c, tap))))
                {
                    dx[c * plane + at] += d[(r * channels + c) * bins + i] * weight;
                }
            }
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, tensor_of, with_lod};

    fn case() -> Check {
        check("roi_perspective_transform")
            .input("X", tensor([1, 1, 2, 2], &[1.0, 2.0, 3.0, 4.0]))
            .input("ROIs", with_lod(tensor([1, 8], &[0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0]), &[&[0, 1]]))
            .attr("transformed_height", 2)
            .attr("transformed_width", 2)
    }

    #[test]
    fn square_stays_a_square() {
        let identity = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        case()
            .output("Out", with_lod(tensor([1, 1, 2, 2], &[1.0, 2.0, 3.0, 4.0]), &[&[0, 1]]))
            .output("Mask", tensor_of([1, 1, 2, 2], &[1, 1, 1, 1]))
            .output("TransformMatrix", tensor([1, 9], &identity))
            .run();
        let quads = tensor([2, 8], &[0.2, 0.1, 3.1, 0.4, 2.8, 2.2, 0.3, 1.9, 1.0, 1.0, 9.0, 1.0, 9.0, 5.0, 1.0, 5.0]);
        let case = case().input("X", noise([1, 2, 3, 4], 1)).input("ROIs", with_lod(quads, &[&[0, 2]]));
        let case = case.attr("transformed_width", 3).any_output("Out").any_output("Mask").any_output("TransformMatrix");
        case.counting(&["Out"]).grad(&["X"]).run();
    }

    #[test]
    fn quadrilaterals_have_four_corners() {
        let rois = with_lod(noise([1, 4], 1), &[&[0, 1]]);
        let e = case().input("ROIs", rois).any_output("Out").any_output("Mask").any_output("TransformMatrix").error();
        assert!(e.contains("needs [regions, 8] in `ROIs`"), "{e}");
    }
}
