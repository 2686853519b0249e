//! `density_prior_box`: boxes of fixed sizes, several side by side in every cell of a feature map.

use oarlock_ir::{
    AttrView, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, by_float, fail, kernel, sig,
};
use oarlock_tensor::Float;

use super::grid::{self, Grid, Steps};
use crate::sizes;

pub(crate) const OPS: &[&dyn OpDef] = &[&DensityPriorBox];

struct DensityPriorBox;

impl OpDef for DensityPriorBox {
    sig! {
        "density_prior_box":
            "Boxes[y, x] = boxes in cell (y, x), as fractions of the image: for each of fixed_sizes and each of fixed_ratios a \
             square of density * density of them";
        in "Input": "[n, channels, h, w], f32 or f64: the feature map, of which only the sizes are read";
        in "Image": "[n, channels, height, width]: the images, larger than the map; only the sizes are read";
        out "Boxes": "[h, w, boxes per cell, 4]: left, top, right and bottom";
        out "Variances": "like `Boxes`: `variances` for every box";
        attr "variances": "four numbers for differences from the boxes";
        attr "clip" = true, "bring all sides into 0..1";
        attr "flatten_to_2d" = false, "outputs of shape [boxes, 4]";
        attr "step_w" = 0.0f32, "pixels from cell to cell; 0 for the width of the image over that of the map";
        attr "step_h" = 0.0f32, "pixels from cell to cell; 0 for the height of the image over that of the map";
        attr "offset" = 0.5f32, "where in its cell a box is centred, as a fraction";
        attr "fixed_sizes" = Vec::<f32>::new(), "roots of the boxes' areas, in pixels of the image";
        attr "fixed_ratios" = Vec::<f32>::new(), "width over height";
        attr "densities" = Vec::<i32>::new(), "how many boxes stand side by side, for each of fixed_sizes";
        traits Traits::GRADIENT_FREE.shape_only(&["Input", "Image"]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (density, flat) = (Density::new(&cx.attrs())?, cx.attrs().bool("flatten_to_2d")?);
        Steps::new(&cx.attrs())?;
        grid::variances(&cx.attrs())?;
        sizes::expect(cx, "Image", &cx.input("Image")?, &[None; 4], sizes::IMAGES)?;
        grid::infer(cx, "Boxes", density.per_cell, flat)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (inputs, outs) = ((p.input("Input")?, p.input("Image")?), (p.output("Boxes")?, p.output("Variances")?));
        let attrs = p.attrs();
        let (steps, variances) = (Steps::new(&attrs)?, grid::variances(&attrs)?);
        let density = Density::new(&attrs)?;
        by_float!(p.float("Input")?, T => kernel(move |io| density.run::<T>(io, inputs, outs, &steps, variances)))
    }
}

/// The boxes of a cell.
struct Density {
    /// Side length and how many stand side by side.
    sizes: Vec<(f32, usize)>,
    /// Roots of width over height.
    roots: Vec<f32>,
    per_cell: usize,
    clip: bool,
    flat: bool,
}

impl Density {
    fn new(attrs: &AttrView<'_>) -> Result<Density> {
        let (sizes, densities) = (grid::positive(attrs, "fixed_sizes")?, attrs.ints("densities")?);
        if sizes.len() != densities.len() {
            let (sizes, densities) = (sizes.len(), densities.len());
            fail!(
                Kind::Argument,
                "`density_prior_box` needs one of `densities` ({densities}) for each of `fixed_sizes` ({sizes})"
            )
        }
        // A cell of more boxes than this fits no memory.
        if densities.iter().any(|d| !(1..=1 << 12).contains(d)) {
            fail!(Kind::Argument, "attribute `densities` is {densities:?}; its values must be from 1 to 4096")
        }
        let roots: Vec<f32> = grid::positive(attrs, "fixed_ratios")?.into_iter().map(f32::sqrt).collect();
        let sizes: Vec<_> = sizes.into_iter().zip(densities.into_iter().map(|d| d as usize)).collect();
        let per_cell = sizes.iter().map(|(_, d)| d * d * roots.len()).sum();
        let (clip, flat) = (attrs.bool("clip")?, attrs.bool("flatten_to_2d")?);
        Ok(Density { sizes, roots, per_cell, clip, flat })
    }

    fn run<T: Float>(
        &self,
        io: &Io<'_>,
        inputs: (In, In),
        outs: (Out, Out),
        steps: &Steps,
        variances: [f32; 4],
    ) -> Result<()> {
        let grid = Grid::<T>::new(io, inputs, steps)?;
        let smaller = grid.map().iter().zip(&grid.image).all(|(map, image)| map < image);
        sizes::ensure(io, inputs.0, &*io.dense(inputs.0)?, smaller, "smaller than `Image`")?;
        // Fluid places boxes on whole pixels: the cell's mean side and the distances in it are integers.
        let cell = ((grid.step[0] + grid.step[1]) * T::of(0.5)).f64() as i64;
        let image = grid.image.map(|n| n as f64);
        grid::write::<T>(io, outs, (grid.map(), self.per_cell, self.flat), variances, |y, x, out| {
            let centre = grid.centre(y, x).map(Float::f64);
            let mut out = out.iter_mut();
            for &(size, density) in &self.sizes {
                let shift = cell / density as i64;
                let first = |c: f64| (c - cell as f64 / 2.0 + shift as f64 / 2.0) as f32;
                for root in &self.roots {
                    let (w, h) = (f64::from(size * root) / 2.0, f64::from(size / root) / 2.0);
                    for i in 0..density * density {
                        let (row, column) = ((i / density) as i64, (i % density) as i64);
                        let x = f64::from(first(centre[0]) + (column * shift) as f32);
                        let y = f64::from(first(centre[1]) + (row * shift) as f32);
                        let sides = [
                            ((x - w) / image[1]).max(0.0),
                            ((y - h) / image[0]).max(0.0),
                            ((x + w) / image[1]).min(1.0),
                            ((y + h) / image[0]).min(1.0),
                        ];
                        let sides = if self.clip { sides.map(|v| v.clamp(0.0, 1.0)) } else { sides };
                        out.next().into_iter().for_each(|out| *out = sides.map(T::of));
                    }
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor};

    fn case() -> Check {
        check("density_prior_box")
            .input("Input", noise([1, 2, 1, 1], 1))
            .input("Image", noise([1, 3, 8, 8], 2))
            .attr("variances", vec![0.1f32, 0.1, 0.2, 0.2])
            .attr("fixed_sizes", vec![4.0f32])
            .attr("fixed_ratios", vec![1.0f32])
            .attr("densities", vec![2])
    }

    #[test]
    fn boxes_fill_their_cell() {
        let boxes = [0.0, 0.0, 0.5, 0.5, 0.5, 0.0, 1.0, 0.5, 0.0, 0.5, 0.5, 1.0, 0.5, 0.5, 1.0, 1.0];
        let variances: Vec<f32> = [0.1f32, 0.1, 0.2, 0.2].repeat(4);
        case()
            .output("Boxes", tensor([1, 1, 4, 4], &boxes))
            .output("Variances", tensor([1, 1, 4, 4], &variances))
            .run();
        let flat = case().attr("flatten_to_2d", true).output("Boxes", tensor([4, 4], &boxes));
        flat.output("Variances", tensor([4, 4], &variances)).run();
    }

    #[test]
    fn mistakes_are_named() {
        let case = || case().any_output("Boxes").any_output("Variances");
        let e = case().attr("densities", vec![1, 2]).error();
        assert!(e.contains("needs one of `densities` (2) for each of `fixed_sizes` (1)"), "{e}");
        let e = case().attr("densities", vec![0]).error();
        assert!(e.contains("attribute `densities` is [0]; its values must be from 1 to 4096"), "{e}");
        let e = case().input("Image", noise([1, 3, 1, 8], 2)).error();
        assert!(e.contains("input `Input` = `Input.0` is [1, 2, 1, 1], but must be smaller than `Image`"), "{e}");
    }
}
