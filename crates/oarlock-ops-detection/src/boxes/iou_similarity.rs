//! `iou_similarity`: intersection over union of boxes.

use oarlock_ir::{In, Infer, Io, Kernel, OpDef, Out, Prepare, Result, Traits, VarType, by_float, kernel, sig};
use oarlock_tensor::{Dims, Float};

use crate::geometry::{Box4, border};
use crate::sizes;

pub(crate) const OPS: &[&dyn OpDef] = &[&IouSimilarity];

struct IouSimilarity;

impl OpDef for IouSimilarity {
    sig! {
        "iou_similarity": "Out[i, j] = the area common to the boxes X[i] and Y[j] over the area that either covers";
        in "X": "[n, 4], f32 or f64: left, top, right and bottom of each box; its LoD becomes that of `Out`";
        in "Y": "[m, 4]: boxes";
        out "Out": "[n, m]";
        attr "box_normalized" = true, "false for boxes of pixels, which include their right and bottom pixels";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, y) = (sizes::boxes(cx, "X")?, sizes::boxes(cx, "Y")?);
        cx.set("Out", VarType::tensor(x.dtype, vec![x.shape[0], y.shape[0]]).with_lod(x.lod_level));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y, out) = (p.input("X")?, p.input("Y")?, p.output("Out")?);
        let normalized = p.attrs().bool("box_normalized")?;
        by_float!(p.float("X")?, T => kernel(move |io| run::<T>(io, (x, y), out, normalized)))
    }
}

/// Pairs of boxes that one thread compares at a time.
const PAIRS: usize = 1 << 14;

fn run<T: Float>(io: &Io<'_>, (x, y): (In, In), out: Out, normalized: bool) -> Result<()> {
    let (x_tensor, y_tensor) = (io.dense(x)?, io.dense(y)?);
    for (input, t) in [(x, &x_tensor), (y, &y_tensor)] {
        sizes::dims::<2>(io, input, t, sizes::BOXES)?;
    }
    let (xs, ys) = (sizes::boxes_of::<T>(io, x, &x_tensor)?, sizes::boxes_of::<T>(io, y, &y_tensor)?);
    let mut t = io.out_sized(out, T::DTYPE, Dims::from([xs.len(), ys.len()]))?;
    t.set_lod(x_tensor.lod().clone());
    let columns = ys.len().max(1);
    let rows = PAIRS.div_ceil(columns);
    io.pool().pieces(io.data_mut::<T>(out, &mut t)?, rows * columns, |i, part| {
        for (out, a) in part.chunks_exact_mut(columns).zip(&xs[i * rows..]) {
            out.iter_mut().zip(ys).for_each(|(out, b)| *out = similarity(a, b, normalized));
        }
    });
    Ok(())
}

fn similarity<T: Float>(a: &Box4<T>, b: &Box4<T>, normalized: bool) -> T {
    let border = border::<T>(normalized);
    let area = |b: &Box4<T>| (b[3] - b[1] + border) * (b[2] - b[0] + border);
    let width = (a[2].min(b[2]) - a[0].max(b[0]) + border).max(T::ZERO);
    let height = (a[3].min(b[3]) - a[1].max(b[1]) + border).max(T::ZERO);
    let common = width * height;
    // Two empty boxes do not divide by 0.
    common / (area(a) + area(b) - common + T::of(1e-10))
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, noise, tensor, with_lod};

    #[test]
    fn overlap_of_pixel_boxes_counts_the_border() {
        let x = with_lod(tensor([2, 4], &[0.0, 0.0, 2.0, 1.0, 5.0, 5.0, 6.0, 6.0]), &[&[0, 1, 2]]);
        let y = tensor([1, 4], &[1.0, 0.0, 3.0, 1.0]);
        let case = |normalized: bool, first: f32| {
            let out = with_lod(tensor([2, 1], &[first, 0.0]), &[&[0, 1, 2]]);
            let case = check("iou_similarity").input("X", x.clone()).input("Y", y.clone());
            case.attr("box_normalized", normalized).output("Out", out).run();
        };
        case(true, 1.0 / 3.0);
        case(false, 0.5);
    }

    #[test]
    fn boxes_have_four_sides() {
        let e = check("iou_similarity").input("X", noise([2, 5], 1)).input("Y", noise([2, 4], 2)).any_output("Out");
        assert!(e.error().contains("`iou_similarity` needs [boxes, 4] in `X` = X.0 f32[2, 5]"));
    }
}
