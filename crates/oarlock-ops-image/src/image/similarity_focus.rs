//! `similarity_focus`: marks the largest elements of chosen planes, each row and column once.

use oarlock_ir::{AttrView, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits};
use oarlock_ir::{by_float, fail, kernel, sig};
use oarlock_tensor::{Dims, Float};

pub(crate) const OPS: &[&dyn OpDef] = &[&SimilarityFocus];

struct SimilarityFocus;

/// The axis, and the planes along it.
fn params(attrs: &AttrView<'_>) -> Result<(usize, Vec<usize>)> {
    let (axis, indexes) = (attrs.count("axis")?, oarlock_ops_support::sliding_window::sizes(attrs, "indexes")?);
    if !(1..=3).contains(&axis) || indexes.is_empty() {
        fail!(Kind::Argument, "`similarity_focus` needs an axis of 1, 2 or 3 and indexes, not {axis} and {indexes:?}");
    }
    Ok((axis, indexes))
}

impl OpDef for SimilarityFocus {
    sig! {
        "similarity_focus":
            "Out = 1 at every place whose row and column hold the largest remaining element of a chosen plane, else 0";
        in "X": "four sizes, f32 or f64";
        out "Out": "like `X`, the same along `axis`";
        attr "axis": "1, 2 or 3; the other two are rows and columns";
        attr "indexes": "the planes along `axis` to look at";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        params(&cx.attrs())?;
        let x = cx.float("X")?;
        if x.shape.rank() != 4 {
            return Err(cx.shape_error(format_args!("needs four sizes, but has {}", cx.describe("X"))));
        }
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, (axis, indexes)) = (p.input("X")?, p.output("Out")?, params(&p.attrs())?);
        by_float!(p.float("X")?, T => kernel(move |io| run::<T>(io, x, out, axis, &indexes)))
    }
}

fn run<T: Float>(io: &Io<'_>, x: In, out: Out, axis: usize, indexes: &[usize]) -> Result<()> {
    let tensor = io.dense(x)?;
    let dims: &Dims = tensor.dims();
    if dims.rank() != 4 || indexes.iter().any(|&i| i >= dims[axis]) {
        let what = format_args!("has sizes {dims}, but planes {indexes:?} along axis {axis} are wanted");
        return Err(io.error(Kind::Range, x, what));
    }
    let mut t = io.out_sized(out, T::DTYPE, *dims)?;
    let (x, out) = (io.data::<T>(x, &tensor)?, io.data_mut::<T>(out, &mut t)?);
    out.fill(T::ZERO);
    let strides = [dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1];
    let [rows, cols] = match axis {
        1 => [2, 3],
        2 => [1, 3],
        _ => [1, 2],
    };
    let mut places: Vec<(usize, usize)> = Vec::new();
    for image in 0..dims[0] {
        for &index in indexes {
            let base = image * strides[0] + index * strides[axis];
            places.clear();
            places.extend((0..dims[rows]).flat_map(|r| (0..dims[cols]).map(move |c| (r, c))));
            let value = |&(r, c): &(usize, usize)| x[base + r * strides[rows] + c * strides[cols]];
            places.sort_by(|a, b| value(b).f64().total_cmp(&value(a).f64()));
            let (mut row_taken, mut col_taken) = (vec![false; dims[rows]], vec![false; dims[cols]]);
            for &(r, c) in &places {
                if row_taken[r] || col_taken[c] {
                    continue;
                }
                (row_taken[r], col_taken[c]) = (true, true);
                for along in 0..dims[axis] {
                    out[image * strides[0] + along * strides[axis] + r * strides[rows] + c * strides[cols]] = T::ONE;
                }
            }
        }
    }
    Ok(())
}

#[test]
fn each_row_and_column_once() {
    use crate::testing::{check, tensor};
    let case = |index: i32| {
        check("similarity_focus")
            .attr("axis", 1)
            .attr("indexes", vec![index])
            .input("X", tensor([1, 2, 2, 2], &[0.8, 0.9, 0.1, 0.7, 0.0, 0.0, 0.0, 0.0]))
            .output("Out", tensor([1, 2, 2, 2], &[0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0]))
    };
    case(0).run();
    let e = case(2).error();
    assert!(e.contains("has sizes [1, 2, 2, 2], but planes [2] along axis 1 are wanted"), "{e}");
}
