//! `anchor_generator`: boxes of several sizes and shapes at every cell of a feature map, as Faster R-CNN has them.

use oarlock_ir::{AttrView, Infer, Kernel, Kind, OpDef, Prepare, Result, Traits, by_float, fail, kernel, sig};
use oarlock_tensor::Float;

use super::grid;
use crate::sizes;

pub(crate) const OPS: &[&dyn OpDef] = &[&AnchorGenerator];

struct AnchorGenerator;

impl OpDef for AnchorGenerator {
    sig! {
        "anchor_generator": "Anchors[y, x] = boxes around the centre of cell (y, x), in pixels of the image, of each aspect ratio and each size";
        in "Input": "[n, channels, h, w], f32 or f64: the feature map, of which only the sizes are read";
        out "Anchors": "[h, w, boxes per cell, 4]: left, top, right and bottom";
        out "Variances": "like `Anchors`: `variances` for every box";
        attr "anchor_sizes": "roots of the boxes' areas, in pixels of the image";
        attr "aspect_ratios": "height over width";
        attr "variances": "four numbers for differences from the boxes";
        attr "stride" = vec![16.0f32, 16.0], "pixels from cell to cell, across and down";
        attr "offset" = 0.5f32, "where in its cell a box is centred, as a fraction";
        traits Traits::GRADIENT_FREE.shape_only(&["Input"]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let attrs = Anchors::new(&cx.attrs())?;
        grid::variances(&cx.attrs())?;
        grid::infer(cx, "Anchors", attrs.sizes.len() * attrs.ratios.len(), false)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (input, outs) = (p.input("Input")?, (p.output("Anchors")?, p.output("Variances")?));
        let (anchors, variances) = (Anchors::new(&p.attrs())?, grid::variances(&p.attrs())?);
        by_float!(p.float("Input")?, T => kernel(move |io| {
            let [_, _, h, w] = sizes::dims(io, input, &*io.dense(input)?, sizes::IMAGES)?;
            let halves = anchors.halves::<T>();
            let ([stride_x, stride_y], offset) = (anchors.stride.map(T::of), T::of(anchors.offset));
            grid::write::<T>(io, outs, ([h, w], halves.len(), false), variances, |y, x, cell| {
                let x = T::of(x as f64) * stride_x + offset * (stride_x - T::ONE);
                let y = T::of(y as f64) * stride_y + offset * (stride_y - T::ONE);
                for (out, [w, h]) in cell.iter_mut().zip(&halves) {
                    *out = [x - *w, y - *h, x + *w, y + *h];
                }
            })
        }))
    }
}

struct Anchors {
    sizes: Vec<f32>,
    ratios: Vec<f32>,
    stride: [f64; 2],
    offset: f64,
}

impl Anchors {
    fn new(attrs: &AttrView<'_>) -> Result<Anchors> {
        let stride = grid::positive(attrs, "stride")?;
        let [x, y] = stride[..] else {
            fail!(Kind::Argument, "attribute `stride` of `anchor_generator` has {} values; it needs 2", stride.len())
        };
        Ok(Anchors {
            sizes: grid::positive(attrs, "anchor_sizes")?,
            ratios: grid::positive(attrs, "aspect_ratios")?,
            stride: [f64::from(x), f64::from(y)],
            offset: f64::from(attrs.f32("offset")?),
        })
    }

    /// Half of width and height less one pixel, of each box of a cell.
    fn halves<T: Float>(&self) -> Vec<[T; 2]> {
        let [x, y] = self.stride.map(T::of);
        let half = |v: T| (v - T::ONE) * T::of(0.5);
        let one = |ratio: &f32, size: &f32| {
            let (ratio, size) = (T::of(f64::from(*ratio)), T::of(f64::from(*size)));
            // A cell of this aspect ratio, in whole pixels; the size then scales it.
            let width = (x * y / ratio).sqrt().round();
            let height = (width * ratio).round();
            [half(size / x * width), half(size / y * height)]
        };
        self.ratios.iter().flat_map(|ratio| self.sizes.iter().map(move |size| one(ratio, size))).collect()
    }
}

#[test]
fn anchors_stand_around_their_cells() {
    use crate::testing::{Check, check, noise, tensor};
    let case = || -> Check {
        check("anchor_generator")
            .input("Input", noise([1, 2, 1, 2], 1))
            .attr("anchor_sizes", vec![32.0f32])
            .attr("aspect_ratios", vec![1.0f32])
            .attr("variances", vec![0.1f32, 0.1, 0.2, 0.2])
    };
    case()
        .output("Anchors", tensor([1, 2, 1, 4], &[-8.0, -8.0, 23.0, 23.0, 8.0, -8.0, 39.0, 23.0]))
        .output("Variances", tensor([1, 2, 1, 4], &[0.1, 0.1, 0.2, 0.2, 0.1, 0.1, 0.2, 0.2]))
        .run();
    let e = case().attr("stride", vec![16.0f32]).any_output("Anchors").any_output("Variances").error();
    assert!(e.contains("attribute `stride` of `anchor_generator` has 1 values; it needs 2"), "{e}");
    let e = case().attr("anchor_sizes", vec![0.0f32]).any_output("Anchors").any_output("Variances").error();
    assert!(e.contains("attribute `anchor_sizes` is [0.0]; its values must be above 0"), "{e}");
}
