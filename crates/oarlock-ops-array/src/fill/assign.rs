//! `assign`: a copy of a tensor, of selected rows or of an array.

use oarlock_ir::{Grad, Infer, Kernel, Kind, Op, OpDef, Prepare, Result, Traits, grad_name, kernel, sig};
use oarlock_tensor::Value;

pub(crate) const OPS: &[&dyn OpDef] = &[&Assign];

struct Assign;

impl OpDef for Assign {
    sig! {
        "assign": "Out = X";
        in "X": "a tensor, selected rows or an array";
        out "Out": "like `X`";
        traits Traits::X_TO_OUT;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.same("Out", "X")
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out) = (p.input("X")?, p.output("Out")?);
        kernel(move |io| {
            if out.is(x) {
                return Ok(());
            }
            let value = io.value(x)?;
            if let Value::Empty = *value {
                return Err(io.error(Kind::Missing, x, "has not been written"));
            }
            io.write(out)?.copy_from(&value).map_err(|e| io.about(x.0, e))
        })
    }

    // Saved programs have the operator itself here: the gradient of a copy is a copy.
    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let mut op = Op::new("assign");
        op.site = g.op().site.clone();
        op.inputs.set("X", g.op().outputs.get("Out").iter().map(|n| grad_name(n)).collect());
        op.outputs.set("Out", g.input_grads("X"));
        g.push(op)
    }
}

#[test]
fn assign() {
    use crate::testing::{check, noise, with_lod};
    use oarlock_tensor::{SelectedRows, TensorArray};
    let x = with_lod(noise([3, 2], 1), &[&[0, 1, 3]]);
    check("assign").input("X", x.clone()).output("Out", x).grad(&["X"]).run();
    let rows = SelectedRows { rows: vec![4, 1], height: 6, value: noise([2, 2], 1) };
    check("assign").input("X", Value::Rows(rows.clone())).output("Out", Value::Rows(rows)).run();
    let array = || Value::Array(TensorArray::of(vec![noise([2], 1), noise([1, 3], 2)]));
    check("assign").input("X", array()).output("Out", array()).run();
}
