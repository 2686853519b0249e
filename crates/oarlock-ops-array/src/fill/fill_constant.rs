//! `fill_constant`: a tensor of one value.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Traits, kernel, sig};
use oarlock_tensor::table::RowInit;
use oarlock_tensor::{DType, Element, by_element};

use crate::embedding::hashed_table;
use crate::fill::shape_source::{self, ShapeSource};

pub(crate) const OPS: &[&dyn OpDef] = &[&FillConstant];

struct FillConstant;

impl OpDef for FillConstant {
    sig! {
        "fill_constant": "Out = the value, everywhere";
        in? "ValueTensor": "[1]; replaces `value`";
        out "Out": "of `dtype` and of the shape";
        attr "dtype" = DType::F32.proto(), "element type of `Out`";
        attr "value" = 0.0f32, "the value";
        attr "str_value" = "", "the value as text, for numbers that f32 cannot hold; replaces `value`";
        hints ["force_cpu"];
        with shape_source::shape_inputs;
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        shape_source::infer_shape(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        if let Some(table) = hashed_table::start(p, RowInit::Constant(p.attrs().f32("value")?), 0)? {
            return Ok(table);
        }
        by_element!(p.attrs().dtype("dtype")?, T => fill_kernel::<T>(p))
    }
}

fn fill_kernel<T: Element>(p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
    let (out, shape) = (p.output("Out")?, ShapeSource::new(p)?);
    let (tensor, constant) = (p.maybe_input("ValueTensor")?, shape_source::fill_value::<T>(p)?);
    kernel(move |io| {
        let value = match tensor {
            Some(t) if T::DTYPE.is_float() => T::from_f64(io.scalar(t)?),
            Some(t) => T::from_i64(io.index(t)?),
            None => constant,
        };
        let mut t = io.out_sized(out, T::DTYPE, shape.dims(io)?)?;
        io.data_mut::<T>(out, &mut t)?.fill(value);
        Ok(())
    })
}

#[test]
fn shapes_and_values() {
    use crate::testing::{check, tensor, tensor_of};
    check("fill_constant")
        .attr("shape", vec![2i64, 2])
        .attr("value", 1.5f32)
        .output("Out", tensor([2, 2], &[1.5; 4]))
        .run();
    check("fill_constant")
        .attr("shape", vec![1i64])
        .attr("dtype", DType::I64.proto())
        .attr("str_value", "9007199254740993")
        .output("Out", tensor_of([1], &[9007199254740993i64]))
        .run();
    check("fill_constant")
        .inputs("ShapeTensorList", vec![tensor_of([1], &[2i32]), tensor_of([1], &[1i32])])
        .input("ValueTensor", tensor([1], &[3.0]))
        .output("Out", tensor([2, 1], &[3.0; 2]))
        .run();
}

#[test]
fn mistakes() {
    use crate::testing::{check, tensor_of};
    let negative = check("fill_constant").attr("shape", vec![2i64, -1]).any_output("Out").error();
    assert!(negative.contains("`fill_constant` cannot make a tensor of shape [2, -1]: -1 is no size"), "{negative}");
    let words = check("fill_constant").attr("shape", vec![1i64]).attr("str_value", "ten").any_output("Out").error();
    assert!(words.contains("attribute `str_value` of `fill_constant` is `ten`, not a number"), "{words}");
    let sizes = vec![tensor_of([1], &[-2i32])];
    let run = check("fill_constant").inputs("ShapeTensorList", sizes).any_output("Out").error();
    assert!(run.contains("`fill_constant` cannot make a tensor of shape [-2]"), "{run}");
}
