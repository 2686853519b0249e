//! `prior_box`: boxes of several sizes and shapes at every cell of a feature map, as SSD has them.

use oarlock_ir::{
    AttrView, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, by_float, fail, kernel, sig,
};
use oarlock_tensor::Float;

use super::grid::{self, Grid, Steps};
use crate::sizes;

pub(crate) const OPS: &[&dyn OpDef] = &[&PriorBox];

struct PriorBox;

impl OpDef for PriorBox {
    sig! {
        "prior_box":
            "Boxes[y, x] = boxes around the centre of cell (y, x), as fractions of the image: for each of min_sizes one of every \
             aspect ratio, and one whose side is the root of min_size * max_size";
        in "Input": "[n, channels, h, w], f32 or f64: the feature map, of which only the sizes are read";
        in "Image": "[n, channels, height, width]: the images, of which only the sizes are read";
        out "Boxes": "[h, w, boxes per cell, 4]: left, top, right and bottom";
        out "Variances": "like `Boxes`: `variances` for every box";
        attr "min_sizes": "sides of the squares, in pixels of the image";
        attr "max_sizes" = Vec::<f32>::new(), "as many as min_sizes, each larger than its min_size; or none";
        attr "aspect_ratios": "width over height; 1 is always one of them";
        attr "variances": "four numbers for differences from the boxes";
        attr "flip" = true, "also the inverse of every aspect ratio";
        attr "clip" = true, "bring all sides into 0..1";
        attr "step_w" = 0.0f32, "pixels from cell to cell; 0 for the width of the image over that of the map";
        attr "step_h" = 0.0f32, "pixels from cell to cell; 0 for the height of the image over that of the map";
        attr "offset" = 0.5f32, "where in its cell a box is centred, as a fraction";
        attr "min_max_aspect_ratios_order" = false, "first the squares of min_size and max_size, then the other ratios";
        traits Traits::GRADIENT_FREE.shape_only(&["Input", "Image"]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let boxes = boxes(&cx.attrs())?;
        Steps::new(&cx.attrs())?;
        grid::variances(&cx.attrs())?;
        sizes::expect(cx, "Image", &cx.input("Image")?, &[None; 4], sizes::IMAGES)?;
        grid::infer(cx, "Boxes", boxes.len(), false)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (inputs, outs) = ((p.input("Input")?, p.input("Image")?), (p.output("Boxes")?, p.output("Variances")?));
        let attrs = p.attrs();
        let (steps, variances, clip) = (Steps::new(&attrs)?, grid::variances(&attrs)?, attrs.bool("clip")?);
        let boxes = boxes(&attrs)?;
        by_float!(p.float("Input")?, T => kernel(move |io| {
            run::<T>(io, inputs, outs, &steps, (&boxes, clip), variances)
        }))
    }
}

/// Half the width and height of each box of a cell, in pixels.
fn boxes(attrs: &AttrView<'_>) -> Result<Vec<[f64; 2]>> {
    let (min_sizes, max_sizes) = (grid::positive(attrs, "min_sizes")?, attrs.floats("max_sizes")?);
    if !max_sizes.is_empty() && max_sizes.len() != min_sizes.len() {
        let (min, max) = (min_sizes.len(), max_sizes.len());
        fail!(Kind::Argument, "`prior_box` needs as many of `max_sizes` ({max}) as of `min_sizes` ({min}), or none")
    }
    if let Some((min, max)) = min_sizes.iter().zip(&max_sizes).find(|(min, max)| *max <= *min) {
        fail!(
            Kind::Argument,
            "`prior_box` needs `max_sizes` larger than `min_sizes`, but {max} is not larger than {min}"
        )
    }
    let ratios = ratios(&grid::positive(attrs, "aspect_ratios")?, attrs.bool("flip")?);
    let squares_first = attrs.bool("min_max_aspect_ratios_order")?;
    let mut boxes = Vec::new();
    for (i, &min) in min_sizes.iter().enumerate() {
        let of_ratio = |ratio: &f32| {
            let (min, root) = (f64::from(min), f64::from(*ratio).sqrt());
            [min * root / 2.0, min / root / 2.0]
        };
        let largest = max_sizes.get(i).map(|max| [f64::from(min * max).sqrt() / 2.0; 2]);
        if squares_first {
            boxes.push([f64::from(min) / 2.0; 2]);
            boxes.extend(largest);
            boxes.extend(ratios[1..].iter().map(of_ratio));
        } else {
            boxes.extend(ratios.iter().map(of_ratio));
            boxes.extend(largest);
        }
    }
    Ok(boxes)
}

/// The aspect ratios without duplicates: 1, and each given one, with its inverse if it is asked for.
fn ratios(given: &[f32], flip: bool) -> Vec<f32> {
    let mut ratios = vec![1.0f32];
    for &ratio in given {
        if ratios.iter().all(|r| (ratio - r).abs() >= 1e-6) {
            ratios.push(ratio);
            ratios.extend(flip.then_some(1.0 / ratio));
        }
    }
    ratios
}

fn run<T: Float>(
    io: &Io<'_>,
    inputs: (In, In),
    outs: (Out, Out),
    steps: &Steps,
    (boxes, clip): (&[[f64; 2]], bool),
    variances: [f32; 4],
) -> Result<()> {
    let grid = Grid::<T>::new(io, inputs, steps)?;
    let halves: Vec<[T; 2]> = boxes.iter().map(|half| half.map(T::of)).collect();
    let [height, width] = grid.image.map(|n| T::of(n as f64));
    grid::write::<T>(io, outs, (grid.map(), boxes.len(), false), variances, |y, x, cell| {
        let [x, y] = grid.centre(y, x);
        for (out, [w, h]) in cell.iter_mut().zip(&halves) {
            *out = [(x - *w) / width, (y - *h) / height, (x + *w) / width, (y + *h) / height];
            if clip {
                *out = out.map(|v| v.max(T::ZERO).min(T::ONE));
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor};

    fn case() -> Check {
        check("prior_box")
            .input("Input", noise([1, 2, 1, 2], 1))
            .input("Image", noise([1, 3, 8, 16], 2))
            .attr("min_sizes", vec![4.0f32])
            .attr("aspect_ratios", vec![1.0f32, 4.0])
            .attr("variances", vec![0.1f32, 0.1, 0.2, 0.2])
            .attr("flip", false)
    }

    #[test]
    fn boxes_stand_around_their_cells() {
        let boxes =
            [0.125, 0.25, 0.375, 0.75, 0.0, 0.375, 0.5, 0.625, 0.625, 0.25, 0.875, 0.75, 0.5, 0.375, 1.0, 0.625];
        let variances: Vec<f32> = [0.1f32, 0.1, 0.2, 0.2].repeat(4);
        case()
            .output("Boxes", tensor([1, 2, 2, 4], &boxes))
            .output("Variances", tensor([1, 2, 2, 4], &variances))
            .run();
    }

    #[test]
    fn mistakes_are_named() {
        let case = || case().any_output("Boxes").any_output("Variances");
        let e = case().attr("max_sizes", vec![3.0f32]).error();
        assert!(e.contains("needs `max_sizes` larger than `min_sizes`, but 3 is not larger than 4"), "{e}");
        let e = case().attr("max_sizes", vec![8.0f32, 9.0]).error();
        assert!(e.contains("as many of `max_sizes` (2) as of `min_sizes` (1), or none"), "{e}");
        let e = case().attr("variances", vec![0.1f32]).error();
        assert!(e.contains("attribute `variances` is [0.1]; it needs 4 values above 0"), "{e}");
        let e = case().attr("step_w", -1.0f32).error();
        assert!(e.contains("attribute `step_w` is -1; it cannot be negative"), "{e}");
        let e = case().input("Image", noise([3, 8], 2)).error();
        assert!(e.contains("needs [images, channels, height, width] in `Image`"), "{e}");
    }
}
