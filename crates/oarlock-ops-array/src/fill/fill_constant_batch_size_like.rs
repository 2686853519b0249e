//! `fill_constant_batch_size_like`: a tensor of one value with as many rows as another tensor, or as that has sequences.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Traits, kernel, sig};
use oarlock_tensor::{DType, by_element};

use crate::fill::shape_source::{self, BatchShape};

pub(crate) const OPS: &[&dyn OpDef] = &[&FillConstantBatchSizeLike];

struct FillConstantBatchSizeLike;

impl OpDef for FillConstantBatchSizeLike {
    sig! {
        "fill_constant_batch_size_like": "Out = the value, everywhere";
        out "Out": "of `dtype` and of the shape";
        attr "dtype" = DType::F32.proto(), "element type of `Out`";
        attr "value" = 0.0f32, "the value";
        attr "str_value" = "", "the value as text, for numbers that f32 cannot hold; replaces `value`";
        hints ["force_cpu"];
        with shape_source::batch_size_inputs;
        traits Traits::GRADIENT_FREE.shape_only(&["Input"]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        shape_source::infer_batch_size(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (out, shape) = (p.output("Out")?, BatchShape::new(p, true)?);
        let dtype = p.attrs().dtype("dtype")?;
        by_element!(dtype, T => {
            let value = shape_source::fill_value::<T>(p)?;
            kernel(move |io| {
                let mut t = io.out_sized(out, dtype, shape.dims(io)?)?;
                io.data_mut::<T>(out, &mut t)?.fill(value);
                Ok(())
            })
        })
    }
}

#[test]
fn rows_and_sequences() {
    use crate::testing::{check, noise, tensor, tensor_of, with_lod};
    check("fill_constant_batch_size_like")
        .input("Input", noise([5, 3], 1))
        .attr("shape", vec![2, -1])
        .attr("input_dim_idx", 1)
        .attr("output_dim_idx", 1)
        .attr("dtype", DType::I32.proto())
        .attr("value", 7.0f32)
        .output("Out", tensor_of([2, 3], &[7i32; 6]))
        .run();
    check("fill_constant_batch_size_like")
        .input("Input", with_lod(noise([5, 3], 1), &[&[0, 2, 5]]))
        .attr("shape", vec![-1, 1])
        .output("Out", tensor([2, 1], &[0.0; 2]))
        .run();
}
