//! `sequence_erase`: drops some ids from sequences.

use oarlock_ir::{Dim, In, Infer, Io, Kernel, OpDef, Prepare, Result, Traits, sig};
use oarlock_ops_support::ints::Ints;
use oarlock_ops_support::lod_rows::{self, RowMap};
use oarlock_tensor::{Lod, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&SequenceErase];

struct SequenceErase;

impl OpDef for SequenceErase {
    sig! {
        "sequence_erase": "Out holds the ids of X that are not among the tokens; sequences may become empty";
        in "X": "ids, one per row, with LoD";
        out "Out": "what is left, as sequences";
        attr "tokens": "the ids to drop";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.integer("X")?;
        let shape = lod_rows::with_rows(x.shape.clone(), Dim::Any);
        cx.set("Out", x.with_shape(shape));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        lod_rows::gather_kernel(p, Erase { tokens: p.attrs().ints("tokens")? }, "Out")
    }
}

struct Erase {
    tokens: Vec<i64>,
}

impl RowMap for Erase {
    fn sources(&self, io: &Io<'_>, (input, x): (In, &Tensor), sources: &mut Vec<usize>) -> Result<Lod> {
        let offsets = lod_rows::offsets(io, input, x)?;
        let ids = Ints::of(io, input, x)?;
        let rows = x.rows().min(ids.len());
        sources.extend((0..rows).filter(|&row| !self.tokens.contains(&ids.at(row))));
        let before = |end: usize| sources.partition_point(|&row| row < end);
        let left = |w: &[usize]| before(w[1]) - before(w[0]);
        Ok(lod_rows::lod_of(x.lod(), offsets.windows(2).map(left)))
    }
}

#[test]
fn sequence_erase() {
    use crate::testing::{check, tensor_of, with_lod};
    use oarlock_ir::Attr;
    check("sequence_erase")
        .input("X", with_lod(tensor_of([5, 1], &[2i64, 2, 1, 7, 2]), &[&[0, 2, 5]]))
        .attr("tokens", Attr::Ints(vec![2, 5]))
        .output("Out", with_lod(tensor_of([2, 1], &[1i64, 7]), &[&[0, 0, 2]]))
        .run();
}
