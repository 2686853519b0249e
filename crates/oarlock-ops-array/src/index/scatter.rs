//! `scatter`: rows replaced, or summed up, by index.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits};
use oarlock_ir::{by_float, fail, kernel, sig};
use oarlock_ops_support::int_list::read_indices;
use oarlock_ops_support::number::{Number, by_number};
use oarlock_tensor::Element;

pub(crate) const OPS: &[&dyn OpDef] = &[&Scatter, &GRAD];

struct Scatter;

impl OpDef for Scatter {
    sig! {
        "scatter": "Out = X with the rows that Ids names replaced by Updates";
        in "X": "any tensor of numbers";
        in "Ids": "i32 or i64, [n] or [n, 1]";
        in "Updates": "[n], then the other axes of `X`";
        out "Out": "like `X`";
        attr "overwrite" = true, "the last update of a row wins; false: rows start from 0 and all updates are summed";
        traits Traits::X_TO_OUT;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, ids, updates) = (cx.input("X")?, cx.integer("Ids")?, cx.input("Updates")?);
        let list = matches!(ids.shape[..], [_] | [_, Dim::Is(1)]);
        let rows_fit = ids.shape.first().zip(updates.shape.first()).is_some_and(|(a, b)| a.fits(*b));
        let rest_fits = x.shape.iter().zip(updates.shape.iter()).skip(1).all(|(a, b)| a.fits(*b));
        if !list || !rows_fit || !rest_fits || x.shape.rank() != updates.shape.rank() {
            let what = format!("cannot put {} into {}", cx.describe("Updates"), cx.describe("X"));
            let note = format!("at the rows of {}: one row of `X` for each", cx.describe("Ids"));
            return Err(cx.shape_error(what).note(note));
        }
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, ids, updates, out) = (p.input("X")?, p.input("Ids")?, p.input("Updates")?, p.output("Out")?);
        let overwrite = p.attrs().bool("overwrite")?;
        let mut rows = Vec::new();
        by_number!(p.dtype("X")?, T => kernel(move |io| {
            let mut to = io.update(x, out)?;
            let width = to.dims().matrix(1).1;
            read_indices(io, ids, &*io.dense(ids)?, to.rows(), &mut rows)?;
            let updates_tensor = io.dense(updates)?;
            let values = io.data::<T>(updates, &updates_tensor)?;
            check_rows(io, updates, values.len(), rows.len(), width)?;
            let to = io.data_mut::<T>(out, &mut to)?;
            if !overwrite {
                rows.iter().for_each(|row| to[row * width..][..width].fill(T::ZERO));
            }
            for (row, v) in rows.iter().zip(values.chunks_exact(width.max(1))) {
                let to = &mut to[row * width..][..width];
                if overwrite {
                    to.copy_from_slice(v);
                } else {
                    to.iter_mut().zip(v).for_each(|(t, v)| *t = t.plus(*v));
                }
            }
            Ok(())
        }), other => fail!(Kind::DType, "`scatter` works on f32, f64, i32 and i64, not on {other}"))
    }
}

/// There must be `count` rows.
fn check_rows(io: &Io<'_>, slot: In, len: usize, count: usize, width: usize) -> Result<()> {
    if len == count * width {
        return Ok(());
    }
    let what = format_args!("has {len} elements, but {count} rows of {width} are needed");
    Err(io.error(Kind::Shape, slot, what))
}

const GRAD: GradOp = GradOp::of(&Scatter, "scatter_grad(Ids, Updates, Out@GRAD) -> X@GRAD, Updates@GRAD")
    .doc("X@GRAD = Out@GRAD, as in Fluid also at Ids; Updates@GRAD = its rows at Ids")
    .traits(Traits::NONE.in_place(&[("Out@GRAD", "X@GRAD")]).shape_only(&["Updates"]))
    .infer(|cx| {
        cx.same("X@GRAD", "Out@GRAD")?;
        cx.grads_of(&["Updates"])
    })
    .kernel(|p| {
        let (ids, updates, dout) = (p.input("Ids")?, p.input("Updates")?, p.input("Out@GRAD")?);
        let (dx, dupdates) = (p.maybe_output("X@GRAD")?, p.maybe_output("Updates@GRAD")?);
        let mut rows = Vec::new();
        by_float!(p.float("Out@GRAD")?, T => kernel(move |io| {
            if let Some(out) = dupdates {
                let d = io.dense(dout)?;
                let width = d.dims().matrix(1).1;
                read_indices(io, ids, &*io.dense(ids)?, d.rows(), &mut rows)?;
                let mut to = io.out_sized(out, T::DTYPE, *io.dense(updates)?.dims())?;
                let (to, d) = (io.data_mut::<T>(out, &mut to)?, io.data::<T>(dout, &d)?);
                check_rows(io, updates, to.len(), rows.len(), width)?;
                for (to, row) in to.chunks_exact_mut(width.max(1)).zip(&rows) {
                    to.copy_from_slice(&d[row * width..][..width]);
                }
            }
            if let Some(out) = dx {
                io.update(dout, out)?;
            }
            Ok(())
        }))
    });

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor, tensor_of};

    fn scatter(overwrite: bool) -> Check {
        check("scatter")
            .input("X", tensor([3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
            .input("Ids", tensor_of::<i64>([3], &[2, 0, 2]))
            .input("Updates", tensor([3, 2], &[10.0, 20.0, 30.0, 40.0, 50.0, 60.0]))
            .attr("overwrite", overwrite)
    }

    #[test]
    fn replaced_or_summed() {
        scatter(true).output("Out", tensor([3, 2], &[30.0, 40.0, 3.0, 4.0, 50.0, 60.0])).run();
        scatter(false).output("Out", tensor([3, 2], &[30.0, 40.0, 3.0, 4.0, 60.0, 80.0])).grad(&["Updates"]).run();
    }

    #[test]
    fn shapes_that_do_not_fit() {
        let wrong = scatter(true).input("Updates", tensor([3, 1], &[1.0; 3])).any_output("Out");
        assert_eq!(
            wrong.error(),
            "error[shape]: `scatter` cannot put `Updates` = Updates.0 f32[3, 1] into `X` = X.0 f32[3, 2]\n  \
             at (`scatter`, block 0, op 0)\n  \
             at the rows of `Ids` = Ids.0 i64[3]: one row of `X` for each"
        );
    }
}
