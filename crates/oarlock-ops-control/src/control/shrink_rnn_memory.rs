//! `shrink_rnn_memory`: the rows of sequences that still go on at a step.

use oarlock_ir::{GradOp, Infer, Kernel, Kind, OpDef, Prepare, Result, Traits, kernel, sig};

use super::write_to_array::index;
use crate::control::block_steps;
use crate::control::sequence_pieces::Pieces;

pub(crate) const OPS: &[&dyn OpDef] = &[&ShrinkRnnMemory, &GRAD];

struct ShrinkRnnMemory;

impl OpDef for ShrinkRnnMemory {
    sig! {
        "shrink_rnn_memory": "Out = the first rows of X, one for each sequence longer than I";
        in "X": "a row (or, with LoD, a sequence) for each sequence of `RankTable`";
        in "RankTable": "the sequences, longest first";
        in "I": "one integer: the step";
        out "Out": "the first rows of `X`";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.integer("I")?;
        let mut x = cx.input("X")?;
        if let Some(rows) = x.shape.0.first_mut() {
            *rows = oarlock_ir::Dim::Any;
        }
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, table, i, out) = (p.input("X")?, p.input("RankTable")?, p.input("I")?, p.output("Out")?);
        let mut pieces = Pieces::default();
        kernel(move |io| {
            let step = index(io, i)?;
            let (tensor, table) = (io.dense(x)?, io.rank_table(table)?);
            pieces.clear();
            for (rank, _) in table.items.iter().take_while(|(_, len)| *len > step).enumerate() {
                pieces.add(0, &tensor, 0, rank).map_err(|e| io.error(Kind::Shape, x, e))?;
            }
            pieces.put_together(&[&tensor], tensor.dtype(), *tensor.dims(), &[], &mut *io.out(out)?);
            Ok(())
        })
    }
}

const GRAD: GradOp = GradOp::of(&ShrinkRnnMemory, "shrink_rnn_memory_grad(X, Out@GRAD?) -> X@GRAD")
    .doc("X@GRAD = Out@GRAD, then rows of zeros")
    .traits(Traits::NONE.shape_only(&["X"]).maybe_empty(&["Out@GRAD"]))
    .kernel(|p| {
        let (x, given, out) = (p.input("X")?, p.maybe_input("Out@GRAD")?, p.output("X@GRAD")?);
        kernel(move |io| {
            let like = io.dense(x)?;
            block_steps::zeros_like(&mut *io.write(out)?, &*io.value(x)?);
            let Some(given) = given else { return Ok(()) };
            if io.value(given)?.is_empty() {
                return Ok(());
            }
            let rows = io.dense(given)?;
            if rows.rows() > like.rows() || rows.dtype() != like.dtype() || rows.dims().get(1..) != like.dims().get(1..)
            {
                let what = format!("is {}{}, but `X` is {}{}", rows.dtype(), rows.dims(), like.dtype(), like.dims());
                return Err(io.error(Kind::Shape, given, what));
            }
            io.out(out)?.bytes_mut()[..rows.bytes().len()].copy_from_slice(rows.bytes());
            Ok(())
        })
    });

#[cfg(test)]
mod tests {
    use crate::testing::{check, noise, tensor, tensor_of, with_lod};
    use oarlock_tensor::{Lod, RankTable, Value};

    fn table() -> Value {
        Value::RankTable(RankTable { items: vec![(1, 3), (0, 2), (2, 1)], outer: Lod::new(vec![vec![0, 2, 5, 6]]) })
    }

    #[test]
    fn shrink_rnn_memory() {
        let shrink = |x, step: i64| {
            check("shrink_rnn_memory").input("X", x).input("RankTable", table()).input("I", tensor_of([1], &[step]))
        };
        let x = tensor([3, 1], &[1.0, 2.0, 3.0]);
        shrink(x.clone(), 1).output("Out", tensor([2, 1], &[1.0, 2.0])).grad(&["X"]).run();
        shrink(x.clone(), 3).output("Out", tensor([0, 1], &[])).run();
        let x = with_lod(x, &[&[0, 1, 2, 3]]);
        shrink(x, 2).output("Out", with_lod(tensor([1, 1], &[1.0]), &[&[0, 1]])).run();
        let text = shrink(tensor([1], &[1.0]), 0).any_output("Out").error();
        assert!(text.contains("input `X` = `X.0` has 1 rows, but row 1 is needed"), "{text}");
    }

    #[test]
    fn no_gradient_is_zero() {
        let zeros = tensor([2], &[0.0, 0.0]);
        check("shrink_rnn_memory_grad").input("X", noise([2], 1)).output("X@GRAD", zeros).run();
        let text = check("shrink_rnn_memory_grad")
            .input("X", noise([2], 1))
            .input("Out@GRAD", noise([3], 2))
            .any_output("X@GRAD")
            .error();
        assert!(text.contains("input `Out@GRAD` = `Out@GRAD.0` is f32[3], but `X` is f32[2]"), "{text}");
    }
}
