//! `fill_any_like`: a tensor of one value of another tensor's shape.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Traits, kernel, sig};
use oarlock_tensor::{Element, by_element};

pub(crate) const OPS: &[&dyn OpDef] = &[&FillAnyLike];

struct FillAnyLike;

impl OpDef for FillAnyLike {
    sig! {
        "fill_any_like": "Out = the value, everywhere";
        in "X": "a tensor";
        out "Out": "like `X`, but of `dtype`";
        attr "dtype" = -1, "element type of `Out`; -1 for that of `X`";
        attr "value" = 0.0f32, "the value";
        traits Traits::GRADIENT_FREE.shape_only(&["X"]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.input("X")?;
        let dtype = if cx.attrs().int("dtype")? < 0 { x.dtype } else { cx.attrs().dtype("dtype")? };
        cx.set("Out", x.with_dtype(dtype));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let dtype = if p.attrs().int("dtype")? < 0 { p.dtype("X")? } else { p.attrs().dtype("dtype")? };
        let (x, out, value) = (p.input("X")?, p.output("Out")?, p.attrs().f32("value")?);
        by_element!(dtype, T => kernel(move |io| {
            let x = io.dense(x)?;
            let mut t = io.out_sized(out, dtype, *x.dims())?;
            t.set_lod(x.lod().clone());
            io.data_mut::<T>(out, &mut t)?.fill(T::from_f64(value.into()));
            Ok(())
        }))
    }
}

#[test]
fn fill_any_like() {
    use crate::testing::{check, noise, tensor, tensor_of};
    use oarlock_tensor::DType;
    check("fill_any_like")
        .input("X", tensor_of([2], &[1i64, 2]))
        .attr("value", 3.0f32)
        .output("Out", tensor_of([2], &[3i64, 3]))
        .run();
    check("fill_any_like")
        .input("X", noise([2, 1], 1))
        .attr("dtype", DType::F32.proto())
        .attr("value", 0.5f32)
        .output("Out", tensor([2, 1], &[0.5; 2]))
        .run();
}
