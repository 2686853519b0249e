//! Boxes at every cell of a feature map: the sizes they come from and the tensors they go to.

use oarlock_ir::{AttrView, Dim, In, Infer, Io, Kind, Out, Result, VarType, fail};
use oarlock_tensor::{Dims, Float};

use crate::geometry::Box4;
use crate::sizes;

/// Four variances, repeated for every box.
pub(crate) fn variances(attrs: &AttrView<'_>) -> Result<[f32; 4]> {
    let values = attrs.floats("variances")?;
    match <[f32; 4]>::try_from(&values[..]) {
        Ok(four) if four.iter().all(|v| *v > 0.0) => Ok(four),
        _ => fail!(Kind::Argument, "attribute `variances` is {values:?}; it needs 4 values above 0"),
    }
}

/// A list of numbers that must be above 0.
pub(crate) fn positive(attrs: &AttrView<'_>, name: &str) -> Result<Vec<f32>> {
    let values = attrs.floats(name)?;
    // Also false for NaN.
    if values.iter().all(|v| *v > 0.0) {
        return Ok(values);
    }
    fail!(Kind::Argument, "attribute `{name}` is {values:?}; its values must be above 0")
}

/// Sets the types of the boxes and their variances: `per_cell` boxes at each cell of the feature map `Input`.
pub(crate) fn infer(cx: &mut Infer<'_>, boxes: &str, per_cell: usize, flat: bool) -> Result<()> {
    let input = sizes::images(cx, "Input")?;
    let (h, w, n) = (input.shape[2], input.shape[3], Dim::Is(per_cell));
    let shape = if flat { vec![oarlock_ir::product(&[h, w, n]), Dim::Is(4)] } else { vec![h, w, n, Dim::Is(4)] };
    let ty = VarType::tensor(input.dtype, shape);
    cx.set(boxes, ty.clone());
    cx.set("Variances", ty);
    Ok(())
}

/// Distances between cells in pixels of the image, and where in its cell a box is centred.
#[derive(Clone, Copy)]
pub(crate) struct Steps {
    width: f32,
    height: f32,
    offset: f32,
}

impl Steps {
    /// Those of attributes `step_w`, `step_h` and `offset`.
    pub(crate) fn new(attrs: &AttrView<'_>) -> Result<Steps> {
        let step = |name: &str| match attrs.f32(name)? {
            step if step >= 0.0 => Ok(step),
            step => fail!(Kind::Argument, "attribute `{name}` is {step}; it cannot be negative"),
        };
        Ok(Steps { width: step("step_w")?, height: step("step_h")?, offset: attrs.f32("offset")? })
    }

    /// The distances for these sizes; 0 stands for the image divided by the cells.
    fn resolved<T: Float>(&self, map: [usize; 2], image: [usize; 2]) -> [T; 2] {
        let of = |v: f32| T::of(v.into());
        if self.width == 0.0 || self.height == 0.0 {
            let ratio = |axis: usize| T::of(image[axis] as f64) / T::of(map[axis] as f64);
            return [ratio(0), ratio(1)];
        }
        [of(self.height), of(self.width)]
    }
}

/// The feature map and the image of one run.
pub(crate) struct Grid<T> {
    map: [usize; 2],
    /// Height and width of the image, in pixels.
    pub(crate) image: [usize; 2],
    /// Pixels of the image from cell to cell, down and across.
    pub(crate) step: [T; 2],
    offset: T,
}

impl<T: Float> Grid<T> {
    /// That of a feature map and an image.
    pub(crate) fn new(io: &Io<'_>, (input, image): (In, In), steps: &Steps) -> Result<Grid<T>> {
        let [_, _, h, w] = sizes::dims(io, input, &*io.dense(input)?, sizes::IMAGES)?;
        let [_, _, height, width] = sizes::dims(io, image, &*io.dense(image)?, sizes::IMAGES)?;
        let (map, image) = ([h, w], [height, width]);
        Ok(Grid { map, image, step: steps.resolved(map, image), offset: T::of(steps.offset.into()) })
    }

    /// Height and width of the feature map.
    pub(crate) fn map(&self) -> [usize; 2] {
        self.map
    }

    /// The centre of a cell, in pixels of the image: x and y.
    pub(crate) fn centre(&self, y: usize, x: usize) -> [T; 2] {
        let at = |i: usize, step: T| (T::of(i as f64) + self.offset) * step;
        [at(x, self.step[1]), at(y, self.step[0])]
    }
}

/// Writes the boxes of each cell, which `cell` gives by row, column and place, and the variances of all.
pub(crate) fn write<T: Float>(
    io: &Io<'_>,
    (boxes, variances): (Out, Out),
    ([h, w], per_cell, flat): ([usize; 2], usize, bool),
    values: [f32; 4],
    cell: impl Fn(usize, usize, &mut [Box4<T>]) + Sync,
) -> Result<()> {
    let dims = if flat { Dims::from([h * w * per_cell, 4]) } else { Dims::from([h, w, per_cell, 4]) };
    let mut t = io.out_sized(boxes, T::DTYPE, dims)?;
    let data = io.data_mut::<T>(boxes, &mut t)?.as_chunks_mut::<4>().0;
    let per_cell = per_cell.max(1);
    io.pool().pieces(data, (w * per_cell).max(1), |y, row| {
        row.chunks_exact_mut(per_cell).enumerate().for_each(|(x, boxes)| cell(y, x, boxes));
    });
    let mut t = io.out_sized(variances, T::DTYPE, dims)?;
    io.data_mut::<T>(variances, &mut t)?.as_chunks_mut::<4>().0.fill(values.map(|v| T::of(v.into())));
    Ok(())
}
