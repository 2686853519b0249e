//! `reorder_lod_tensor_by_rank`: sequences in the order of a rank table.

use oarlock_ir::{Grad, Infer, Kernel, Kind, Op, OpDef, Prepare, Result, Sig, kernel};

use crate::control::sequence_pieces::Pieces;

pub(crate) const OPS: &[&dyn OpDef] = &[&ReorderLodTensorByRank, &ReorderLodTensorByRankGrad];

fn sig_of(op_type: &'static str, doc: &'static str) -> Sig {
    Sig::new(op_type, doc)
        .input("X", "sequences; without LoD, rows")
        .input("RankTable", "their order, made of this or another tensor")
        .output("Out", "like `X`")
}

/// `order` makes the places to take the sequences from out of the sequences of the rank table.
fn reorder(p: &Prepare<'_>, order: fn(&[(usize, usize)]) -> Vec<usize>) -> Result<Box<dyn Kernel>> {
    let (x, table, out) = (p.input("X")?, p.input("RankTable")?, p.output("Out")?);
    let mut pieces = Pieces::default();
    kernel(move |io| {
        let (tensor, table) = (io.dense(x)?, io.rank_table(table)?);
        let sequences = tensor.lod().levels().first().map_or(tensor.rows(), |l| l.len().saturating_sub(1));
        if sequences != table.items.len() {
            let what = format!("has {sequences} sequences, but {} are ranked", table.items.len());
            return Err(io.error(Kind::Lod, x, what));
        }
        pieces.clear();
        for at in order(&table.items) {
            pieces.add(0, &tensor, 0, at).map_err(|e| io.error(Kind::Lod, x, e))?;
        }
        pieces.put_together(&[&tensor], tensor.dtype(), *tensor.dims(), &[], &mut *io.out(out)?);
        Ok(())
    })
}

struct ReorderLodTensorByRank;

impl OpDef for ReorderLodTensorByRank {
    fn sig(&self) -> Sig {
        sig_of("reorder_lod_tensor_by_rank", "the sequences of X in the order of RankTable")
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.same("Out", "X")
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        reorder(p, |items| items.iter().map(|(index, _)| *index).collect())
    }

    // Attributes are not passed on, as in Fluid.
    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let op = Op::new("reorder_lod_tensor_by_rank_grad")
            .input("X", g.arguments("Out@GRAD"))
            .input("RankTable", g.arguments("RankTable"))
            .output("Out", g.input_grads("X"));
        g.push(op)
    }
}

struct ReorderLodTensorByRankGrad;

impl OpDef for ReorderLodTensorByRankGrad {
    fn sig(&self) -> Sig {
        sig_of(
            "reorder_lod_tensor_by_rank_grad",
            "the sequences of X, which are in the order of RankTable, in their first order",
        )
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.same("Out", "X")
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        reorder(p, |items| {
            let mut ranks: Vec<usize> = (0..items.len()).collect();
            ranks.sort_by_key(|r| items[*r].0);
            ranks
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, tensor, with_lod};
    use oarlock_tensor::{Lod, RankTable, Tensor, Value};

    fn table() -> Value {
        Value::RankTable(RankTable { items: vec![(2, 3), (0, 2), (1, 1)], outer: Lod::new(vec![vec![0, 2, 3, 6]]) })
    }

    fn reorder(x: Tensor) -> crate::testing::Check {
        check("reorder_lod_tensor_by_rank").input("X", x).input("RankTable", table())
    }

    #[test]
    fn rows_and_sequences() {
        let rows = tensor([3, 1], &[1.0, 2.0, 3.0]);
        reorder(rows).output("Out", tensor([3, 1], &[3.0, 1.0, 2.0])).grad(&["X"]).run();
        let sequences = with_lod(tensor([4], &[1.0, 2.0, 3.0, 4.0]), &[&[0, 1, 3, 4]]);
        let sorted = with_lod(tensor([4], &[4.0, 1.0, 2.0, 3.0]), &[&[0, 1, 2, 4]]);
        reorder(sequences).output("Out", sorted).grad(&["X"]).run();
    }

    #[test]
    fn the_table_must_fit() {
        let text = reorder(tensor([2], &[1.0, 2.0])).any_output("Out").error();
        assert!(text.contains("input `X` = `X.0` has 2 sequences, but 3 are ranked"), "{text}");
    }
}
