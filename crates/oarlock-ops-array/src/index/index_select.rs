//! `index_select`: slices of an axis by their index.

use oarlock_ir::{GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, by_float, kernel, sig};
use oarlock_ops_support::int_list::{axis_of, read_indices};
use oarlock_tensor::{Dims, Element};

pub(crate) const OPS: &[&dyn OpDef] = &[&IndexSelect, &GRAD];

struct IndexSelect;

impl OpDef for IndexSelect {
    sig! {
        "index_select": "Out = the slices of X along `dim` that Index names";
        in "X": "any tensor";
        in "Index": "[k] or [k, 1], i32 or i64";
        out "Out": "like `X`, with k slices";
        attr "dim" = 0, "the axis; negative ones count from the end";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, index, dim) = (cx.input("X")?, cx.integer("Index")?, cx.attrs().int("dim")?);
        let Some(axis) = axis_of(dim, x.shape.rank()) else {
            return Err(cx.shape_error(format!("has no axis {dim} in {}", cx.describe("X"))));
        };
        let mut shape = x.shape.0.clone();
        shape[axis] = oarlock_ir::product(&index.shape);
        let lod = if axis == 0 { 0 } else { x.lod_level };
        cx.set("Out", x.with_shape(shape).with_lod(lod));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, index, out, dim) = (p.input("X")?, p.input("Index")?, p.output("Out")?, p.attrs().int("dim")?);
        let mut chosen = Vec::new();
        kernel(move |io| {
            let from = io.dense(x)?;
            let axis = axis(io, x, from.dims(), dim)?;
            let size = from.dims()[axis];
            read_indices(io, index, &*io.dense(index)?, size, &mut chosen)?;
            let mut dims = *from.dims();
            dims[axis] = chosen.len();
            let mut to = io.out_sized(out, from.dtype(), dims)?;
            if axis > 0 {
                to.set_lod(from.lod().clone());
            }
            let slice = from.dims().matrix(axis + 1).1 * from.dtype().size();
            if to.numel() > 0 {
                let blocks = from.bytes().chunks_exact(size * slice);
                for (to, from) in to.bytes_mut().chunks_exact_mut(chosen.len() * slice).zip(blocks) {
                    for (to, i) in to.chunks_exact_mut(slice).zip(&chosen) {
                        to.copy_from_slice(&from[i * slice..][..slice]);
                    }
                }
            }
            Ok(())
        })
    }
}

fn axis(io: &Io<'_>, x: In, dims: &Dims, dim: i64) -> Result<usize> {
    axis_of(dim, dims.rank()).ok_or_else(|| io.error(Kind::Shape, x, format_args!("is {dims}, it has no axis {dim}")))
}

const GRAD: GradOp = GradOp::of(&IndexSelect, "index_select_grad(X, Index, Out@GRAD) -> X@GRAD")
    .doc("X@GRAD = the sums of the slices of Out@GRAD where they came from")
    .traits(Traits::NONE.shape_only(&["X"]))
    .kernel(|p| {
        let (x, index, dout, dx) = (p.input("X")?, p.input("Index")?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
        let (dim, mut chosen) = (p.attrs().int("dim")?, Vec::new());
        by_float!(p.float("Out@GRAD")?, T => kernel(move |io| {
            let (dims, d) = (*io.dense(x)?.dims(), io.dense(dout)?);
            let axis = axis(io, x, &dims, dim)?;
            read_indices(io, index, &*io.dense(index)?, dims[axis], &mut chosen)?;
            let (outer, slice) = (dims.matrix(axis).0, dims.matrix(axis + 1).1);
            if d.numel() != outer * chosen.len() * slice {
                let what = format_args!("is {}, but {} slices of {dims} are needed", d.dims(), chosen.len());
                return Err(io.error(Kind::Shape, dout, what));
            }
            let mut to = io.out_sized(dx, T::DTYPE, dims)?;
            let (to, d) = (io.data_mut::<T>(dx, &mut to)?, io.data::<T>(dout, &d)?);
            to.fill(0.0);
            for (n, d) in d.chunks_exact(slice.max(1)).enumerate() {
                let (block, i) = (n / chosen.len(), chosen[n % chosen.len()]);
                let to = &mut to[(block * dims[axis] + i) * slice..][..slice];
                to.iter_mut().zip(d).for_each(|(to, d)| *to += *d);
            }
            Ok(())
        }))
    });

#[test]
fn index_select() {
    use crate::testing::{check, tensor, tensor_of};
    let select = |dim: i32, index: &[i64]| {
        let x = tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        check("index_select").input("X", x).input("Index", tensor_of([index.len()], index)).attr("dim", dim)
    };
    select(0, &[1]).output("Out", tensor([1, 3], &[4.0, 5.0, 6.0])).grad(&["X"]).run();
    select(-1, &[2, 0, 2]).output("Out", tensor([2, 3], &[3.0, 1.0, 3.0, 6.0, 4.0, 6.0])).grad(&["X"]).run();
    select(1, &[]).output("Out", tensor([2, 0], &[])).run();
    let outside = select(1, &[3]).any_output("Out").error();
    assert!(outside.contains("has index 3 at element 0, but only 0 to 2 exist"), "{outside}");
}
