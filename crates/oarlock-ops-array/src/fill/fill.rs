//! `fill`: a tensor of listed values.

use oarlock_ir::{AttrView, Infer, Kernel, Kind, OpDef, Prepare, Result, Shape, Traits, VarType, fail, kernel, sig};
use oarlock_tensor::{DType, Element, by_element};

use crate::fill::shape_source::checked_dims;

pub(crate) const OPS: &[&dyn OpDef] = &[&Fill];

struct Fill;

impl OpDef for Fill {
    sig! {
        "fill": "Out = the listed values";
        out "Out": "of `dtype` and `shape`";
        attr "value": "the values, row by row";
        attr "shape": "the sizes";
        attr "dtype" = DType::F32.proto(), "element type of `Out`";
        hints ["force_cpu"];
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (shape, values) = shape_and_values(cx.attrs())?;
        if Shape::from_i64(&shape).numel() != Some(values.len()) {
            return Err(cx.shape_error(format_args!("has {} values for a tensor of shape {shape:?}", values.len())));
        }
        cx.set("Out", VarType::tensor(cx.attrs().dtype("dtype")?, Shape::from_i64(&shape)));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (out, (shape, values)) = (p.output("Out")?, shape_and_values(p.attrs())?);
        by_element!(p.attrs().dtype("dtype")?, T => kernel(move |io| {
            let mut to = io.out_sized(out, T::DTYPE, checked_dims(io, &shape)?)?;
            let to = io.data_mut::<T>(out, &mut to)?;
            to.iter_mut().zip(&values).for_each(|(to, v)| *to = T::from_f64(f64::from(*v)));
            Ok(())
        }))
    }
}

fn shape_and_values(attrs: AttrView<'_>) -> Result<(Vec<i64>, Vec<f32>)> {
    let (shape, values) = (attrs.ints("shape")?, attrs.floats("value")?);
    if shape.iter().any(|&n| n < 0) {
        fail!(Kind::Shape, "`fill` cannot make a tensor of shape {shape:?}");
    }
    Ok((shape, values))
}

#[test]
fn fill() {
    use crate::testing::{check, tensor_of};
    let fill = |shape: Vec<i32>| {
        check("fill").attr("shape", shape).attr("value", vec![1.0f32, 2.0]).attr("dtype", DType::I32.proto())
    };
    fill(vec![2, 1]).output("Out", tensor_of::<i32>([2, 1], &[1, 2])).run();
    let wrong = fill(vec![3]).any_output("Out").error();
    assert!(wrong.contains("`fill` has 2 values for a tensor of shape [3]"), "{wrong}");
}
