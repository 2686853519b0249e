//! `sequence_scatter`: adds the i-th sequence of updates to the i-th row, at columns given by ids.

use oarlock_ir::{Grad, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, by_float, kernel, sig};
use oarlock_ops_support::checks;
use oarlock_ops_support::ints::Ints;
use oarlock_ops_support::lod_rows;
use oarlock_tensor::{Dims, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&SequenceScatter, &GRAD];

struct SequenceScatter;

impl OpDef for SequenceScatter {
    sig! {
        "sequence_scatter": "Out = X; then Out[i, Ids[j]] += Updates[j] for each j of the i-th sequence of Ids";
        in "X": "a row per sequence";
        in "Ids": "columns, i32 or i64, one per row, with LoD";
        in "Updates": "one number per id";
        out "Out": "like `X`";
        traits Traits::X_TO_OUT;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.integer("Ids")?;
        let x = cx.float("X")?;
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, ids, updates, out) = (p.input("X")?, p.input("Ids")?, p.input("Updates")?, p.output("Out")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let (id_tensor, update_tensor) = (io.dense(ids)?, io.dense(updates)?);
            let mut to = io.update(x, out)?;
            let cells = Cells::new(io, ids, &id_tensor, to.dims())?;
            checks::expect_elements(io, updates, update_tensor.numel(), cells.len())?;
            let updates = io.data::<T>(updates, &update_tensor)?;
            let to = io.data_mut::<T>(out, &mut to)?;
            cells.each().for_each(|(j, cell)| to[cell] += updates[j]);
            Ok(())
        }))
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit("sequence_scatter_grad", &["Ids", "Out@GRAD", "Updates"], &["Updates@GRAD", "X@GRAD"])
    }
}

/// The cells of a matrix that the ids name.
struct Cells<'t> {
    ids: Ints<'t>,
    offsets: &'t [usize],
    width: usize,
}

impl<'t> Cells<'t> {
    fn new(io: &Io<'_>, input: In, ids: &'t Tensor, dims: &Dims) -> Result<Cells<'t>> {
        let cells = Cells {
            ids: Ints::of(io, input, ids)?,
            offsets: lod_rows::offsets(io, input, ids)?,
            width: dims.matrix(1).1,
        };
        let rows = dims.matrix(1).0;
        if cells.offsets.len() - 1 != rows || cells.ids.len() != ids.rows() {
            let what = format!("is {} in {} sequences, but `X` is {dims}", ids.dims(), cells.offsets.len() - 1);
            return Err(io
                .error(Kind::Lod, input, what)
                .help("there must be one sequence per row of X and one id per row of Ids"));
        }
        match cells.ids.iter().position(|id| id as u64 >= cells.width as u64) {
            None => Ok(cells),
            Some(at) => {
                let what = format!(
                    "holds {} at position {at}, but a row of `X` has {} columns",
                    cells.ids.at(at),
                    cells.width
                );
                Err(io.error(Kind::Range, input, what))
            }
        }
    }

    fn len(&self) -> usize {
        self.ids.len()
    }

    /// (position of the update, index of the cell)
    fn each(&self) -> impl Iterator<Item = (usize, usize)> {
        let row =
            move |(i, w): (usize, &[usize])| (w[0]..w[1]).map(move |j| (j, i * self.width + self.ids.at(j) as usize));
        self.offsets.windows(2).enumerate().flat_map(row)
    }
}

const GRAD: GradOp =
    GradOp::of(&SequenceScatter, "sequence_scatter_grad(Ids, Out@GRAD, Updates) -> X@GRAD, Updates@GRAD")
        .doc("X@GRAD = Out@GRAD; Updates@GRAD[j] = Out@GRAD[i, Ids[j]]")
        .traits(Traits::NONE.shape_only(&["Updates"]).in_place(&[("Out@GRAD", "X@GRAD")]))
        .infer(|cx| {
            cx.same("X@GRAD", "Out@GRAD")?;
            cx.same("Updates@GRAD", "Updates")
        })
        .kernel(|p| {
            let (ids, updates, dout) = (p.input("Ids")?, p.input("Updates")?, p.input("Out@GRAD")?);
            let (dx, dupdates) = (p.maybe_output("X@GRAD")?, p.maybe_output("Updates@GRAD")?);
            by_float!(p.float("Out@GRAD")?, T => kernel(move |io| {
                if let Some(to) = dupdates {
                    let (id_tensor, like, from) = (io.dense(ids)?, io.dense(updates)?, io.dense(dout)?);
                    let cells = Cells::new(io, ids, &id_tensor, from.dims())?;
                    checks::expect_elements(io, updates, like.numel(), cells.len())?;
                    let mut d = io.out_sized(to, like.dtype(), *like.dims())?;
                    let (from, d) = (io.data::<T>(dout, &from)?, io.data_mut::<T>(to, &mut d)?);
                    cells.each().for_each(|(j, cell)| d[j] = from[cell]);
                }
                if let Some(dx) = dx {
                    io.update(dout, dx)?;
                }
                Ok(())
            }))
        });

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor, tensor_of, with_lod};

    fn scatter(ids: &[i64]) -> Check {
        check("sequence_scatter")
            .input("X", tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
            .input("Ids", with_lod(tensor_of([3, 1], ids), &[&[0, 2, 3]]))
            .input("Updates", with_lod(tensor([3, 1], &[0.5, 1.0, 2.0]), &[&[0, 2, 3]]))
    }

    #[test]
    fn updates_add_up() {
        scatter(&[1, 1, 0])
            .output("Out", tensor([2, 3], &[1.0, 3.5, 3.0, 6.0, 5.0, 6.0]))
            .grad(&["X", "Updates"])
            .run();
    }

    #[test]
    fn a_column_that_is_not_there_is_named() {
        let e = scatter(&[1, 3, 0]).any_output("Out").error();
        assert!(e.contains("`Ids.0` holds 3 at position 1, but a row of `X` has 3 columns"), "{e}");
    }
}
