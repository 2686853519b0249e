//! `fill_zeros_like`: zeros of another tensor's shape; for an array, an array of them.

use oarlock_ir::{Infer, Kernel, Kind, OpDef, Prepare, Result, Traits, kernel, sig};
use oarlock_tensor::{DType, Tensor, Value};

pub(crate) const OPS: &[&dyn OpDef] = &[&FillZerosLike, &FillZerosLike2];

struct FillZerosLike;

impl OpDef for FillZerosLike {
    sig! {
        "fill_zeros_like": "Out = 0, everywhere";
        in "X": "a tensor or array";
        out "Out": "like `X`";
        traits Traits::GRADIENT_FREE.in_place(&[("X", "Out")]).shape_only(&["X"]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.same("Out", "X")
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        zeros_kernel(p, None)
    }
}

struct FillZerosLike2;

impl OpDef for FillZerosLike2 {
    sig! {
        "fill_zeros_like2": "Out = 0, everywhere";
        in "X": "a tensor or array";
        out "Out": "like `X`, but of `dtype`";
        attr "dtype" = DType::F32.proto(), "element type of `Out`";
        traits Traits::GRADIENT_FREE.shape_only(&["X"]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let dtype = cx.attrs().dtype("dtype")?;
        let x = cx.input("X")?;
        cx.set("Out", x.with_dtype(dtype));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        zeros_kernel(p, Some(p.attrs().dtype("dtype")?))
    }
}

fn zeros_kernel(p: &Prepare<'_>, dtype: Option<DType>) -> Result<Box<dyn Kernel>> {
    let (x, out) = (p.input("X")?, p.output("Out")?);
    kernel(move |io| {
        if out.is(x) {
            match &mut *io.write(out)? {
                Value::Array(a) => a.items_mut().iter_mut().for_each(|t| t.bytes_mut().fill(0)),
                other => other.dense_mut().bytes_mut().fill(0),
            }
            return Ok(());
        }
        match (&*io.value(x)?, &mut *io.write(out)?) {
            (Value::Dense(x), out) => zeros_like(x, dtype, out.dense_mut()),
            (Value::Array(x), out) => {
                let out = out.array_mut();
                out.resize(x.items().len());
                x.items().iter().zip(out.items_mut()).for_each(|(x, out)| zeros_like(x, dtype, out));
            }
            (Value::Empty, _) => return Err(io.error(Kind::Missing, x, "has not been written")),
            (other, _) => {
                return Err(io.error(Kind::Argument, x, format_args!("is {}, not a tensor or array", other.kind())));
            }
        }
        Ok(())
    })
}

fn zeros_like(x: &Tensor, dtype: Option<DType>, out: &mut Tensor) {
    out.resize(dtype.unwrap_or(x.dtype()), *x.dims());
    out.set_lod(x.lod().clone());
    out.bytes_mut().fill(0);
}

#[test]
fn zeros() {
    use crate::testing::{check, noise, tensor, tensor_of, with_lod};
    use oarlock_tensor::TensorArray;
    check("fill_zeros_like")
        .input("X", with_lod(noise([3, 2], 1), &[&[0, 1, 3]]))
        .output("Out", with_lod(tensor([3, 2], &[0.0; 6]), &[&[0, 1, 3]]))
        .run();
    check("fill_zeros_like2")
        .input("X", noise([2], 1))
        .attr("dtype", DType::I64.proto())
        .output("Out", tensor_of([2], &[0i64; 2]))
        .run();
    check("fill_zeros_like")
        .input("X", Value::Array(TensorArray::of(vec![noise([2], 1), noise([1, 3], 2)])))
        .output("Out", Value::Array(TensorArray::of(vec![tensor([2], &[0.0; 2]), tensor([1, 3], &[0.0; 3])])))
        .run();
}
