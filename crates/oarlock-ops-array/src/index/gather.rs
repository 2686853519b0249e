//! `gather`: rows by index.

use oarlock_ir::{Dim, GradOp, Infer, Kernel, Kind, OpDef, Prepare, Result, Traits, by_float, kernel, sig};
use oarlock_ops_support::int_list::read_indices;
use oarlock_tensor::Element;

pub(crate) const OPS: &[&dyn OpDef] = &[&Gather, &GRAD];

struct Gather;

impl OpDef for Gather {
    sig! {
        "gather": "Out = the rows of X that Index names";
        in "X": "any tensor";
        in "Index": "i32 or i64, [n] or [n, 1]";
        out "Out": "[n], then the other axes of `X`";
        attr "overwrite" = true, "in the gradient, the last of several uses of a row wins; false: they are summed";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, index) = (cx.input("X")?, cx.integer("Index")?);
        let rows = match index.shape[..] {
            [n] => n,
            [n, Dim::Is(1)] => n,
            _ => {
                let what = format!("needs a list of rows, [n] or [n, 1], but has {}", cx.describe("Index"));
                return Err(cx.shape_error(what));
            }
        };
        if x.shape.rank() == 0 {
            return Err(cx.shape_error(format!("has no rows to choose from in {}", cx.describe("X"))));
        }
        let mut out = x.with_lod(0);
        out.shape.0[0] = rows;
        cx.set("Out", out);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, index, out) = (p.input("X")?, p.input("Index")?, p.output("Out")?);
        let mut rows = Vec::new();
        kernel(move |io| {
            let tensor = io.dense(x)?;
            read_indices(io, index, &*io.dense(index)?, tensor.rows(), &mut rows)?;
            let mut to = io.out_sized(out, tensor.dtype(), tensor.dims().with_rows(rows.len()))?;
            let width = tensor.dims().matrix(1).1 * tensor.dtype().size();
            if width > 0 {
                for (to, row) in to.bytes_mut().chunks_exact_mut(width).zip(&rows) {
                    to.copy_from_slice(&tensor.bytes()[row * width..][..width]);
                }
            }
            Ok(())
        })
    }
}

const GRAD: GradOp = GradOp::of(&Gather, "gather_grad(X, Index, Out@GRAD) -> X@GRAD")
    .doc("X@GRAD = the rows of Out@GRAD where they came from, 0 elsewhere")
    .traits(Traits::NONE.shape_only(&["X"]))
    .kernel(|p| {
        let (x, index, dout, dx) = (p.input("X")?, p.input("Index")?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
        let overwrite = p.attrs().bool("overwrite")?;
        let mut rows = Vec::new();
        by_float!(p.float("Out@GRAD")?, T => kernel(move |io| {
            let (tensor, d) = (io.dense(x)?, io.dense(dout)?);
            read_indices(io, index, &*io.dense(index)?, tensor.rows(), &mut rows)?;
            let width = tensor.dims().matrix(1).1;
            if d.numel() != rows.len() * width {
                let what = format_args!("is {}, but {} rows of {width} were taken", d.dims(), rows.len());
                return Err(io.error(Kind::Shape, dout, what));
            }
            let mut to = io.out_sized(dx, T::DTYPE, *tensor.dims())?;
            to.set_lod(tensor.lod().clone());
            let to = io.data_mut::<T>(dx, &mut to)?;
            to.fill(0.0);
            for (row, d) in rows.iter().zip(io.data::<T>(dout, &d)?.chunks_exact(width.max(1))) {
                let to = &mut to[row * width..][..width];
                if overwrite {
                    to.copy_from_slice(d);
                } else {
                    to.iter_mut().zip(d).for_each(|(t, d)| *t += *d);
                }
            }
            Ok(())
        }))
    });

#[test]
fn gather() {
    use crate::testing::{check, tensor, tensor_of};
    let x = || tensor([3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    check("gather")
        .input("X", x())
        .input("Index", tensor_of::<i32>([3], &[2, 0, 2]))
        .attr("overwrite", false)
        .output("Out", tensor([3, 2], &[5.0, 6.0, 1.0, 2.0, 5.0, 6.0]))
        .grad(&["X"])
        .run();
    check("gather")
        .input("X", x())
        .input("Index", tensor_of::<i64>([1, 1], &[1]))
        .output("Out", tensor([1, 2], &[3.0, 4.0]))
        .grad(&["X"])
        .run();
    let outside = check("gather").input("X", x()).input("Index", tensor_of::<i64>([2], &[1, 3])).any_output("Out");
    assert_eq!(
        outside.error(),
        "error[range]: `gather`: input `Index` = `Index.0` has index 3 at element 1, but only 0 to 2 exist\n  \
         at (`gather`, block 0, op 0)"
    );
}
