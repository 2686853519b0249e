//! `box_clip`: boxes cut off at the borders of their image.

use oarlock_ir::{In, Infer, Io, Kernel, OpDef, Out, Prepare, Result, Traits, by_float, kernel, sig};
use oarlock_ops_support::lod_rows;
use oarlock_tensor::Float;

use crate::geometry::clipped;
use crate::sizes;

pub(crate) const OPS: &[&dyn OpDef] = &[&BoxClip];

struct BoxClip;

impl OpDef for BoxClip {
    sig! {
        "box_clip": "Output = the boxes of Input, their sides brought into the image they belong to";
        in "Input": "[n, ..., 4] with a sequence per image, f32 or f64: left, top, right and bottom of each box";
        in "ImInfo": "[images, 3]: height and width as the network saw the image, and the scale from the original";
        out "Output": "like `Input`, in pixels of the original images";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let boxes = cx.float("Input")?;
        if !boxes.shape.last().is_some_and(|d| d.fits(oarlock_ir::Dim::Is(4))) {
            return Err(
                cx.shape_error(format_args!("needs boxes, with 4 as the last size, in {}", cx.describe("Input")))
            );
        }
        sizes::float(cx, "ImInfo", &[None, Some(3)], "[images, 3]")?;
        cx.set("Output", boxes);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (input, info, out) = (p.input("Input")?, p.input("ImInfo")?, p.output("Output")?);
        by_float!(p.float("Input")?, T => kernel(move |io| run::<T>(io, (input, info), out)))
    }
}

fn run<T: Float>(io: &Io<'_>, (input, info): (In, In), out: Out) -> Result<()> {
    let (tensor, info_tensor) = (io.dense(input)?, io.dense(info)?);
    let offsets = lod_rows::offsets(io, input, &tensor)?;
    let infos = sizes::image_infos::<T>(io, info, &info_tensor, offsets.len() - 1)?;
    let boxes = sizes::boxes_of::<T>(io, input, &tensor)?;
    // A row may hold several boxes, one per class.
    let per_row = boxes.len() / tensor.rows().max(1);
    let mut t = io.out_sized(out, T::DTYPE, *tensor.dims())?;
    t.set_lod(tensor.lod().clone());
    let out = io.data_mut::<T>(out, &mut t)?.as_chunks_mut::<4>().0;
    for (rows, [height, width, scale]) in offsets.windows(2).zip(infos) {
        let (right, bottom) = ((*width / *scale).round() - T::ONE, (*height / *scale).round() - T::ONE);
        let part = rows[0] * per_row..rows[1] * per_row;
        out[part.clone()].iter_mut().zip(&boxes[part]).for_each(|(out, b)| *out = clipped(b, right, bottom));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, noise, tensor, with_lod};

    #[test]
    fn boxes_end_at_the_border_of_the_original_image() {
        let boxes = [-3.0, 2.0, 30.0, 7.0, 1.0, 1.0, 4.0, 40.0];
        let lod: &[&[usize]] = &[&[0, 1, 2]];
        check("box_clip")
            .input("Input", with_lod(tensor([2, 4], &boxes), lod))
            .input("ImInfo", tensor([2, 3], &[10.0, 20.0, 1.0, 10.0, 20.0, 2.0]))
            .output("Output", with_lod(tensor([2, 4], &[0.0, 2.0, 19.0, 7.0, 1.0, 1.0, 4.0, 4.0]), lod))
            .run();
    }

    #[test]
    fn image_may_have_no_boxes() {
        let lod: &[&[usize]] = &[&[0, 0, 1]];
        check("box_clip")
            .input("Input", with_lod(tensor([1, 4], &[-3.0, 2.0, 30.0, 7.0]), lod))
            .input("ImInfo", tensor([2, 3], &[10.0, 20.0, 1.0, 10.0, 20.0, 1.0]))
            .output("Output", with_lod(tensor([1, 4], &[0.0, 2.0, 19.0, 7.0]), lod))
            .run();
    }

    #[test]
    fn every_image_has_its_info() {
        let boxes = with_lod(noise([2, 4], 1), &[&[0, 1, 2]]);
        let e = check("box_clip").input("Input", boxes).input("ImInfo", noise([3, 3], 2)).any_output("Output").error();
        assert!(
            e.contains("input `ImInfo` = `ImInfo.0` is [3, 3], but must be [2, 3]: height, width and scale"),
            "{e}"
        );
        let e = check("box_clip").input("Input", noise([2, 4], 1)).input("ImInfo", noise([2, 3], 2));
        assert!(e.any_output("Output").error().contains("has no LoD"));
    }
}
