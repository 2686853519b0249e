//! `write_to_array`: puts a tensor into an array.

use oarlock_ir::{Grad, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, VarKind, kernel, sig};

pub(crate) const OPS: &[&dyn OpDef] = &[&WriteToArray];

/// The longest array: an index beyond it is a mistake, and would take all memory.
const MAX_LEN: usize = 1 << 24;

struct WriteToArray;

impl OpDef for WriteToArray {
    sig! {
        "write_to_array": "Out[I] = X; the array grows as far as needed";
        in "X": "any tensor";
        in "I": "one integer";
        out "Out": "the array; its other entries stay";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.integer("I")?;
        let x = cx.input("X")?;
        cx.set("Out", x.with_kind(VarKind::TensorArray));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, i, out) = (p.input("X")?, p.input("I")?, p.output("Out")?);
        kernel(move |io| {
            let index = index(io, i)?;
            let mut array = io.write(out)?;
            let entry = array.array_mut().at_mut(index);
            // A branch that was not taken leaves its entry without elements.
            if !io.value(x)?.is_empty() {
                entry.copy_from(&*io.dense(x)?);
            }
            Ok(())
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let mut op = g.make("read_from_array", &["I"], &[]);
        op.inputs.set("X", g.arguments("Out@GRAD"));
        op.inputs.set("X_W", g.arguments("X"));
        op.outputs.set("Out", g.input_grads("X"));
        g.push(op)
    }
}

/// The index of an entry.
pub(super) fn index(io: &Io<'_>, i: In) -> Result<usize> {
    let found = io.index(i)?;
    match usize::try_from(found) {
        Ok(index) if index < MAX_LEN => Ok(index),
        _ => Err(io.error(Kind::Range, i, format!("is {found}, but an array has entries 0 to {}", MAX_LEN - 1))),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, noise, tensor_of, with_lod};
    use oarlock_tensor::{Dims, Tensor, TensorArray, Value};

    #[test]
    fn write_to_array() {
        let x = with_lod(noise([3, 2], 1), &[&[0, 1, 3]]);
        let mut empty = Tensor::new();
        empty.resize(x.dtype(), Dims::from([0]));
        check("write_to_array")
            .input("X", x.clone())
            .input("I", tensor_of([1], &[1i64]))
            .output("Out", Value::Array(TensorArray::of(vec![empty, x])))
            .run();
    }

    #[test]
    fn an_index_must_be_possible() {
        let run = |i: i64| {
            check("write_to_array").input("X", noise([1], 1)).input("I", tensor_of([1], &[i])).any_output("Out").error()
        };
        let text = "error[range]: `write_to_array`: input `I` = `I.0` is -1, but an array has entries 0 to 16777215\n  \
                    at (`write_to_array`, block 0, op 0)";
        assert_eq!(run(-1), text);
        assert!(run(1 << 40).contains("is 1099511627776"));
    }
}
