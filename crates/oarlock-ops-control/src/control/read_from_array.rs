//! `read_from_array`: takes a copy of a tensor out of an array.

use oarlock_ir::{Grad, Infer, Kernel, Kind, OpDef, Prepare, Result, Traits, VarKind, kernel, sig};
use oarlock_tensor::Value;

use super::write_to_array::index;
use crate::control::block_steps;

pub(crate) const OPS: &[&dyn OpDef] = &[&ReadFromArray];

struct ReadFromArray;

impl OpDef for ReadFromArray {
    sig! {
        "read_from_array": "Out = X[I]; zeros like `X_W` beyond the end of the array";
        in "X": "an array";
        in "I": "one integer";
        in? "X_W": "as the gradient of `write_to_array`: what was written";
        out "Out": "the entry";
        traits Traits::NONE.shape_only(&["X_W"]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.integer("I")?;
        let x = cx.input("X")?;
        cx.set("Out", x.with_kind(VarKind::Tensor));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, i, written, out) = (p.input("X")?, p.input("I")?, p.maybe_input("X_W")?, p.output("Out")?);
        kernel(move |io| {
            let index = index(io, i)?;
            let array = io.value(x)?;
            let items = match &*array {
                Value::Array(a) => a.items(),
                Value::Empty => &[],
                other => return Err(io.error(Kind::Argument, x, format!("is {}, not a tensor array", other.kind()))),
            };
            // An entry that was not written has no elements; the gradient of something written there is zero.
            match (items.get(index), written) {
                (Some(t), None) => io.out(out)?.copy_from(t),
                (Some(t), Some(_)) if t.numel() > 0 => io.out(out)?.copy_from(t),
                (_, Some(w)) => block_steps::zeros_like(&mut *io.write(out)?, &*io.value(w)?),
                (None, None) => {
                    let what = format!("has {} entries, but entry {index} is read", items.len());
                    return Err(io.error(Kind::Range, x, what));
                }
            }
            Ok(())
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let mut op = g.make("write_to_array", &["I"], &[]);
        op.inputs.set("X", g.arguments("Out@GRAD"));
        op.outputs.set("Out", g.input_grads("X"));
        g.push(op)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, noise, tensor, tensor_of, with_lod};
    use oarlock_tensor::{Tensor, TensorArray, Value};

    fn array(items: &[Tensor]) -> Value {
        Value::Array(TensorArray::of(items.to_vec()))
    }

    #[test]
    fn read_from_array() {
        let (a, b) = (with_lod(noise([2], 1), &[&[0, 1, 2]]), noise([2], 2));
        check("read_from_array")
            .input("X", array(&[b.clone(), a.clone()]))
            .input("I", tensor_of([1], &[1i64]))
            .output("Out", a.clone())
            .run();
        // As a gradient: what was written beyond the end, or where nothing came back, has a gradient of zero.
        for i in [1i64, 7] {
            check("read_from_array")
                .input("X", array(&[b.clone(), Tensor::new()]))
                .input("I", tensor_of([1], &[i]))
                .input("X_W", a.clone())
                .output("Out", with_lod(tensor([2], &[0.0, 0.0]), &[&[0, 1, 2]]))
                .run();
        }
    }

    #[test]
    fn an_entry_must_be_there() {
        let x = array(&[noise([1], 1)]);
        let text = check("read_from_array").input("X", x).input("I", tensor_of([1], &[1i64])).any_output("Out").error();
        assert!(text.contains("input `X` = `X.0` has 1 entries, but entry 1 is read"), "{text}");
    }
}
