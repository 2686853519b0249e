//! `polygon_box_transform`: corners of polygons from their distances.

use oarlock_ir::{In, Infer, Io, Kernel, OpDef, Out, Prepare, Result, Traits, by_float, kernel, sig};
use oarlock_tensor::Float;

use crate::sizes;

pub(crate) const OPS: &[&dyn OpDef] = &[&PolygonBoxTransform];

struct PolygonBoxTransform;

impl OpDef for PolygonBoxTransform {
    sig! {
        "polygon_box_transform": "Output[n, c, y, x] = 4 x - Input[n, c, y, x] for even n * channels + c, 4 y - Input[n, c, y, x] for odd";
        in "Input": "[n, channels, height, width], f32 or f64: how far corners lie from each pixel, x and y in turn";
        out "Output": "like `Input`: the corners, in pixels of an image four times as large";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let ty = sizes::images(cx, "Input")?;
        cx.set("Output", ty);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (input, out) = (p.input("Input")?, p.output("Output")?);
        by_float!(p.float("Input")?, T => kernel(move |io| run::<T>(io, input, out)))
    }
}

fn run<T: Float>(io: &Io<'_>, input: In, out: Out) -> Result<()> {
    let tensor = io.dense(input)?;
    let [_, _, height, width] = sizes::dims(io, input, &tensor, sizes::IMAGES)?;
    let mut t = io.out_sized(out, T::DTYPE, *tensor.dims())?;
    let data = io.data::<T>(input, &tensor)?;
    let (plane, width) = ((height * width).max(1), width.max(1));
    io.pool().pieces(io.data_mut::<T>(out, &mut t)?, plane, |i, out| {
        let rows = out.chunks_exact_mut(width).zip(data[i * plane..].chunks_exact(width)).enumerate();
        for (y, (out, row)) in rows {
            for (x, (out, v)) in out.iter_mut().zip(row).enumerate() {
                let place = if i % 2 == 0 { x } else { y };
                *out = T::of(4.0 * place as f64) - *v;
            }
        }
    });
    Ok(())
}

#[test]
fn corners_from_distances() {
    use crate::testing::{check, noise, tensor};
    let distances = tensor([1, 2, 2, 2], &[0.5; 8]);
    let corners = tensor([1, 2, 2, 2], &[-0.5, 3.5, -0.5, 3.5, -0.5, -0.5, 3.5, 3.5]);
    check("polygon_box_transform").input("Input", distances).output("Output", corners).run();
    let e = check("polygon_box_transform").input("Input", noise([2, 2], 1)).any_output("Output").error();
    assert!(e.contains("needs [images, channels, height, width] in `Input`"), "{e}");
}
