//! `gather_nd`: slices by index along several axes.

use oarlock_ir::{GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, by_float, kernel, sig};
use oarlock_ops_support::ints::Ints;
use oarlock_tensor::{Dims, Element, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&GatherNd, &GRAD];

struct GatherNd;

impl OpDef for GatherNd {
    sig! {
        "gather_nd": "Out = the slices of X that each row of Index names";
        in "X": "any tensor";
        in "Index": "i32 or i64, [..., k]: indices along the first k axes of `X`";
        out "Out": "the axes of `Index` but the last, then the axes of `X` from k on";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, index) = (cx.input("X")?, cx.integer("Index")?);
        let depth = index.shape.last().and_then(|d| d.known());
        let (Some(depth), rank) = (depth.filter(|d| *d <= x.shape.rank()), index.shape.rank()) else {
            let what = format!("cannot look up {} in {}", cx.describe("Index"), cx.describe("X"));
            return Err(cx
                .shape_error(what)
                .note("the last size of `Index` must be at most the number of axes of `X`"));
        };
        let out: Vec<_> = index.shape[..rank - 1].iter().chain(&x.shape[depth..]).copied().collect();
        cx.set("Out", x.with_shape(out).with_lod(0));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, index, out) = (p.input("X")?, p.input("Index")?, p.output("Out")?);
        let mut at = Vec::new();
        kernel(move |io| {
            let tensor = io.dense(x)?;
            let (dims, width) = slices(io, index, tensor.dims(), &mut at)?;
            let mut to = io.out_sized(out, tensor.dtype(), dims)?;
            let width = width * tensor.dtype().size();
            if width > 0 {
                for (to, at) in to.bytes_mut().chunks_exact_mut(width).zip(&at) {
                    to.copy_from_slice(&tensor.bytes()[at * width..][..width]);
                }
            }
            Ok(())
        })
    }
}

/// Which slices of X: their numbers in `at`, the shape of all of them, and the elements of one.
pub(super) fn slices(io: &Io<'_>, index: In, x: &Dims, at: &mut Vec<usize>) -> Result<(Dims, usize)> {
    let tensor: &Tensor = &*io.dense(index)?;
    let depth = tensor.dims().last().copied().unwrap_or(0);
    if depth > x.rank() || tensor.dims().rank() == 0 {
        let what = format_args!("is {}, which cannot be looked up in {x}", tensor.dims());
        return Err(io.error(Kind::Shape, index, what));
    }
    at.clear();
    let (mut axis, mut number) = (0, 0);
    for v in Ints::of(io, index, tensor)?.iter() {
        let Some(i) = usize::try_from(v).ok().filter(|i| *i < x[axis]) else {
            let what = format_args!("has index {v} for axis {axis}, but only 0 to {} exist", x[axis] as i64 - 1);
            return Err(io.error(Kind::Range, index, what));
        };
        number = number * x[axis] + i;
        axis += 1;
        if axis == depth {
            at.push(number);
            (axis, number) = (0, 0);
        }
    }
    if depth == 0 {
        // No index at all names the whole of X, once for every row.
        let rows = tensor.dims()[..tensor.dims().rank() - 1].iter().product();
        at.resize(rows, 0);
    }
    let all: Vec<usize> = tensor.dims()[..tensor.dims().rank() - 1].iter().chain(&x[depth..]).copied().collect();
    let dims = Dims::try_new(&all).map_err(|e| io.about(index.0, e))?;
    Ok((dims, x.matrix(depth).1))
}

const GRAD: GradOp = GradOp::of(&GatherNd, "gather_nd_grad(X, Index, Out@GRAD) -> X@GRAD")
    .doc("X@GRAD = the sums of the slices of Out@GRAD where they came from, 0 elsewhere")
    .traits(Traits::NONE.shape_only(&["X"]))
    .kernel(|p| {
        let (x, index, dout, dx) = (p.input("X")?, p.input("Index")?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
        let mut at = Vec::new();
        by_float!(p.float("Out@GRAD")?, T => kernel(move |io| {
            let (tensor, d) = (io.dense(x)?, io.dense(dout)?);
            let (dims, width) = slices(io, index, tensor.dims(), &mut at)?;
            if d.numel() != dims.numel() {
                let what = format_args!("is {}, but the forward operator's result is {dims}", d.dims());
                return Err(io.error(Kind::Shape, dout, what));
            }
            let mut to = io.out_sized(dx, T::DTYPE, *tensor.dims())?;
            let to = io.data_mut::<T>(dx, &mut to)?;
            to.fill(0.0);
            for (at, d) in at.iter().zip(io.data::<T>(dout, &d)?.chunks_exact(width.max(1))) {
                to[at * width..][..width].iter_mut().zip(d).for_each(|(t, d)| *t += *d);
            }
            Ok(())
        }))
    });

#[test]
fn gather_nd() {
    use crate::testing::{check, tensor, tensor_of};
    let x = || tensor([2, 2, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    check("gather_nd")
        .input("X", x())
        .input("Index", tensor_of::<i64>([3, 2], &[0, 1, 1, 0, 0, 1]))
        .output("Out", tensor([3, 2], &[3.0, 4.0, 5.0, 6.0, 3.0, 4.0]))
        .grad(&["X"])
        .run();
    check("gather_nd")
        .input("X", x())
        .input("Index", tensor_of::<i32>([1, 3], &[1, 1, 0]))
        .output("Out", tensor([1], &[7.0]))
        .grad(&["X"])
        .run();
    check("gather_nd")
        .input("X", tensor([2], &[1.0, 2.0]))
        .input("Index", tensor_of::<i32>([2, 0], &[]))
        .output("Out", tensor([2, 2], &[1.0, 2.0, 1.0, 2.0]))
        .grad(&["X"])
        .run();
    let outside =
        check("gather_nd").input("X", x()).input("Index", tensor_of::<i64>([1, 2], &[1, 2])).any_output("Out");
    assert_eq!(
        outside.error(),
        "error[range]: `gather_nd`: input `Index` = `Index.0` has index 2 for axis 1, but only 0 to 1 exist\n  \
         at (`gather_nd`, block 0, op 0)"
    );
}
