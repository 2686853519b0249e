//! `cast`: the same numbers in another element type.

use oarlock_ir::{Grad, Infer, Kernel, Op, OpDef, Prepare, Result, grad_name, kernel, sig};
use oarlock_tensor::{Element, Tensor, by_element};

pub(crate) const OPS: &[&dyn OpDef] = &[&Cast];

struct Cast;

impl OpDef for Cast {
    sig! {
        "cast": "Out = X in another element type";
        in "X": "any tensor";
        out "Out": "shape and LoD of `X`";
        attr "in_dtype": "element type of `X`";
        attr "out_dtype": "element type of `Out`";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.input("X")?;
        cx.set("Out", x.with_dtype(cx.attrs().dtype("out_dtype")?));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, to) = (p.input("X")?, p.output("Out")?, p.attrs().dtype("out_dtype")?);
        kernel(move |io| {
            let x = io.dense(x)?;
            let mut t = io.out_sized(out, to, *x.dims())?;
            t.set_lod(x.lod().clone());
            let done = if x.dtype() == to {
                t.bytes_mut().copy_from_slice(x.bytes());
                Ok(())
            } else {
                by_element!(x.dtype(), A => by_element!(to, B => convert::<A, B>(&x, &mut t)))
            };
            done.map_err(|e| io.about(out.0, e))
        })
    }

    // Saved programs have the operator itself here, with the types exchanged.
    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let mut op = Op::new("cast");
        op.site = g.op().site.clone();
        op.inputs.set("X", g.op().outputs.get("Out").iter().map(|n| grad_name(n)).collect());
        op.outputs.set("Out", g.input_grads("X"));
        for (to, from) in [("in_dtype", "out_dtype"), ("out_dtype", "in_dtype")] {
            if let Some(dtype) = g.attr(from) {
                op.attrs.set(to, dtype.clone());
            }
        }
        g.push(op)
    }
}

/// Integers go through i64 and floats through f64, so nothing is rounded twice.
fn convert<A: Element, B: Element>(x: &Tensor, out: &mut Tensor) -> oarlock_tensor::Result<()> {
    let pairs = x.data::<A>()?.iter().zip(out.data_mut::<B>()?);
    if A::DTYPE.is_float() {
        pairs.for_each(|(a, b)| *b = B::from_f64(a.to_f64()));
    } else {
        pairs.for_each(|(a, b)| *b = B::from_i64(a.to_i64()));
    }
    Ok(())
}

#[test]
fn cast() {
    use crate::testing::{check, tensor, tensor_of};
    use oarlock_tensor::{B8, DType};
    let between = |from: DType, to: DType| check("cast").attr("in_dtype", from.proto()).attr("out_dtype", to.proto());
    between(DType::F32, DType::I64)
        .input("X", tensor([3], &[-1.5, 0.5, 2.0]))
        .output("Out", tensor_of([3], &[-1i64, 0, 2]))
        .run();
    between(DType::F32, DType::F64)
        .input("X", tensor([2], &[-1.5, 0.5]))
        .output("Out", tensor_of([2], &[-1.5f64, 0.5]))
        .run();
    between(DType::I64, DType::Bool)
        .input("X", tensor_of([2], &[0i64, 5]))
        .output("Out", tensor_of([2], &[B8(0), B8(1)]))
        .run();
    between(DType::F32, DType::F32)
        .input("X", tensor([1], &[0.5]))
        .output("Out", tensor([1], &[0.5]))
        .grad(&["X"])
        .run();
}
