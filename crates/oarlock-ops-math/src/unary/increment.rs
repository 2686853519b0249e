//! `increment`: a counter plus a step.

use oarlock_ir::{Grad, Infer, Kernel, OpDef, Prepare, Result, Traits, kernel, sig};
use oarlock_tensor::by_element;

pub(crate) const OPS: &[&dyn OpDef] = &[&Increment];

struct Increment;

impl OpDef for Increment {
    sig! {
        "increment": "Out = X + step";
        in "X": "[1], any number";
        out "Out": "like `X`";
        attr "step" = 1.0f32, "what to add";
        traits Traits::X_TO_OUT;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.input("X")?;
        if x.shape.numel().is_some_and(|n| n != 1) {
            return Err(cx.shape_error(format_args!("counts with one element, but {} has more", cx.describe("X"))));
        }
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, step) = (p.input("X")?, p.output("Out")?, p.attrs().f32("step")?);
        by_element!(p.dtype("X")?, T => kernel(move |io| {
            let mut t = io.update(x, out)?;
            for v in io.data_mut::<T>(out, &mut t)? {
                *v = plus(*v, step);
            }
            Ok(())
        }))
    }

    // A loop's counter runs backwards in the gradient of the loop: this undoes the step instead of passing a gradient on.
    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let step = self.sig().attrs(g.op()).f32("step")?;
        let mut op = g.op().clone();
        op.inputs.set("X", g.op().outputs.get("Out").to_vec());
        op.outputs.set("Out", g.op().inputs.get("X").to_vec());
        op.attrs.set("step", -step);
        g.push(op)
    }
}

/// Integers count exactly: the step is cut to an integer first.
fn plus<T: oarlock_tensor::Element>(v: T, step: f32) -> T {
    if T::DTYPE.is_float() {
        T::from_f64(v.to_f64() + f64::from(step))
    } else {
        T::from_i64(v.to_i64().wrapping_add(step as i64))
    }
}

#[test]
fn increment() {
    use crate::testing::{check, tensor, tensor_of};
    check("increment").input("X", tensor_of([1], &[7i64])).output("Out", tensor_of([1], &[8i64])).run();
    check("increment").input("X", tensor([1], &[1.0])).attr("step", -0.5f32).output("Out", tensor([1], &[0.5])).run();
    let many = check("increment").input("X", tensor([2], &[1.0, 2.0])).any_output("Out").error();
    assert!(many.contains("`increment` counts with one element, but `X` = X.0 f32[2] has more"), "{many}");
}
