//! `select_output`: a value under one of several names, by number.

use oarlock_ir::{Grad, Infer, Kernel, OpDef, Prepare, Result, kernel, sig};
use oarlock_tensor::Value;

use super::select_input::branch;

pub(crate) const OPS: &[&dyn OpDef] = &[&SelectOutput];

struct SelectOutput;

impl OpDef for SelectOutput {
    sig! {
        "select_output": "Out[Mask] = X; the others have no value";
        in "X": "a tensor, an array or rows";
        in "Mask": "one integer: which";
        out* "Out": "a copy in one of them";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let ty = cx.input("X")?;
        for i in 0..cx.op().outputs.get("Out").len() {
            cx.set_nth("Out", i, ty.clone());
        }
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, mask, outs) = (p.input("X")?, p.input("Mask")?, p.outputs("Out")?);
        kernel(move |io| {
            let at = branch(io, mask, outs.len())?;
            let value = io.value(x)?;
            for (i, out) in outs.iter().enumerate() {
                let Some(out) = out else { continue };
                let mut out = io.write(*out)?;
                if i == at {
                    out.copy_from(&value).map_err(|e| io.about(x.0, e))?;
                } else {
                    *out = Value::Empty;
                }
            }
            Ok(())
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let mut op = g.make_keeping("select_input", &["Mask"], &[]);
        op.inputs.set("X", g.arguments("Out@GRAD"));
        op.outputs.set("Out", g.input_grads("X"));
        g.push(op)
    }
}
