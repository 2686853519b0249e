//! `assign_value`: a tensor whose elements stand in the program.

use oarlock_ir::{Attr, AttrView, Infer, Kernel, Kind, OpDef, Prepare, Result, Shape, Traits, VarType};
use oarlock_ir::{fail, kernel, sig};
use oarlock_tensor::{B8, DType, Dims, Element, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&AssignValue];

struct AssignValue;

impl OpDef for AssignValue {
    sig! {
        "assign_value": "Out = the values";
        out "Out": "of `dtype` and `shape`";
        attr "shape": "sizes of `Out`";
        attr "dtype": "element type of `Out`: bool, i32, i64 or f32";
        attr "bool_values" = Vec::<i32>::new(), "the values, if `dtype` is bool";
        attr "fp32_values" = Vec::<f32>::new(), "the values, if `dtype` is f32";
        attr "int32_values" = Vec::<i32>::new(), "the values, if `dtype` is i32";
        attr "int64_values" = Vec::<i64>::new(), "the values, if `dtype` is i64";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let attrs = cx.attrs();
        let shape = Shape::from_i64(&attrs.ints("shape")?);
        cx.set("Out", VarType::tensor(attrs.dtype("dtype")?, shape));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (out, value) = (p.output("Out")?, values(&p.attrs())?);
        kernel(move |io| {
            io.out(out)?.copy_from(&value);
            Ok(())
        })
    }
}

/// The tensor of the attributes.
fn values(attrs: &AttrView<'_>) -> Result<Tensor> {
    match attrs.dtype("dtype")? {
        DType::Bool => {
            let bools: Vec<B8> = match attrs.get("bool_values") {
                Some(Attr::Bools(v)) => v.iter().map(|&v| v.into()).collect(),
                _ => attrs.ints("bool_values")?.into_iter().map(B8::from_i64).collect(),
            };
            filled(attrs, &bools)
        }
        DType::I32 => filled(attrs, &attrs.ints("int32_values")?.into_iter().map(i32::from_i64).collect::<Vec<_>>()),
        DType::I64 => filled(attrs, &attrs.ints("int64_values")?),
        DType::F32 => filled(attrs, &attrs.floats("fp32_values")?),
        other => fail!(Kind::DType, "`assign_value` makes bool, i32, i64 or f32, not {other}"),
    }
}

fn filled<T: Element>(attrs: &AttrView<'_>, data: &[T]) -> Result<Tensor> {
    let shape = attrs.ints("shape")?;
    let sizes: Option<Vec<usize>> = shape.iter().map(|&n| usize::try_from(n).ok()).collect();
    let dims = sizes.and_then(|s| Dims::try_new(&s).ok());
    match dims.and_then(|d| Tensor::from_slice(d, data).ok()) {
        Some(t) => Ok(t),
        None => fail!(Kind::Shape, "`assign_value` has {} values for shape {shape:?}", data.len()),
    }
}

#[test]
fn assign_value() {
    use crate::testing::{check, tensor, tensor_of};
    check("assign_value")
        .attr("shape", vec![2, 1])
        .attr("dtype", DType::F32.proto())
        .attr("fp32_values", vec![1.5f32, -2.0])
        .output("Out", tensor([2, 1], &[1.5, -2.0]))
        .run();
    check("assign_value")
        .attr("shape", vec![2])
        .attr("dtype", DType::Bool.proto())
        .attr("bool_values", vec![1, 0])
        .output("Out", tensor_of([2], &[B8(1), B8(0)]))
        .run();
    let few = check("assign_value")
        .attr("shape", vec![3])
        .attr("dtype", DType::I64.proto())
        .attr("int64_values", vec![1i64])
        .any_output("Out")
        .error();
    assert!(few.contains("`assign_value` has 1 values for shape [3]"), "{few}");
}
