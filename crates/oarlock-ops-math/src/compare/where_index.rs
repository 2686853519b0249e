//! `where_index`: the indices of what is true.

use oarlock_ir::{Dim, Infer, Kernel, Kind, OpDef, Prepare, Result, Traits, VarType, kernel, sig};
use oarlock_tensor::{B8, DType, Dims};

use crate::compare::predicate::infer_bool;

pub(crate) const OPS: &[&dyn OpDef] = &[&WhereIndex];

struct WhereIndex;

impl OpDef for WhereIndex {
    sig! {
        "where_index": "Out = the indices of the elements of Condition that are true, a row each";
        in "Condition": "bool";
        out "Out": "[how many are true, axes of `Condition`], i64";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let rank = infer_bool(cx, "Condition")?.shape.rank();
        cx.set("Out", VarType::tensor(DType::I64, vec![Dim::Any, Dim::Is(rank)]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (condition, out) = (p.input("Condition")?, p.output("Out")?);
        kernel(move |io| {
            let tensor = io.dense(condition)?;
            let (dims, data) = (tensor.dims(), io.data::<B8>(condition, &tensor)?);
            if dims.rank() == 0 {
                return Err(io.error(Kind::Shape, condition, "has no axes to count along"));
            }
            let count = data.iter().filter(|v| v.get()).count();
            let mut to = io.out_sized(out, DType::I64, Dims::from([count, dims.rank()]))?;
            let rows = io.data_mut::<i64>(out, &mut to)?.chunks_exact_mut(dims.rank());
            let found = data.iter().enumerate().filter(|(_, v)| v.get());
            for (row, (mut at, _)) in rows.zip(found) {
                for (index, size) in row.iter_mut().zip(dims.iter()).rev() {
                    *index = (at % size) as i64;
                    at /= size;
                }
            }
            Ok(())
        })
    }
}

#[test]
fn where_index() {
    use crate::testing::{check, tensor_of};
    let truth = |v: [bool; 4]| check("where_index").input("Condition", tensor_of([2, 2], &v.map(B8::from)));
    truth([false, true, true, false]).output("Out", tensor_of::<i64>([2, 2], &[0, 1, 1, 0])).run();
    truth([false; 4]).output("Out", tensor_of::<i64>([0, 2], &[])).run();
}
