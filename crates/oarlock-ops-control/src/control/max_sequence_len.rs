//! `max_sequence_len`: the length of the longest sequence of a rank table.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Shape, Traits, VarType, kernel, sig};
use oarlock_tensor::{DType, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&MaxSequenceLen];

struct MaxSequenceLen;

impl OpDef for MaxSequenceLen {
    sig! {
        "max_sequence_len": "Out = the length of the first sequence of RankTable";
        in "RankTable": "a rank table";
        out "Out": "one i64";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.set("Out", VarType::tensor(DType::I64, Shape::from(&[1].into())));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (table, out) = (p.input("RankTable")?, p.output("Out")?);
        kernel(move |io| {
            let longest = io.rank_table(table)?.items.first().map_or(0, |(_, len)| *len);
            io.out(out)?.copy_from(&Tensor::scalar(longest as i64));
            Ok(())
        })
    }
}

#[test]
fn max_sequence_len() {
    use crate::testing::{check, tensor_of};
    use oarlock_tensor::{Lod, RankTable, Value};
    let table = |items: &[(usize, usize)]| Value::RankTable(RankTable { items: items.to_vec(), outer: Lod::NONE });
    check("max_sequence_len").input("RankTable", table(&[(1, 4), (0, 1)])).output("Out", tensor_of([1], &[4i64])).run();
    check("max_sequence_len").input("RankTable", table(&[])).output("Out", tensor_of([1], &[0i64])).run();
}
