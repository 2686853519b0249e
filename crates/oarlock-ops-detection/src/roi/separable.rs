//! Pooling whose weights are a product of a row's and a column's weight.
//!
//! Each bin of a region reads pixels of some rows and some columns of the map, in every channel alike; the weights are found once
//! per region and used for all channels. Threads share out regions, or planes of the gradient, never a sum.

use oarlock_ir::{In, Io, Out, Result};
use oarlock_tensor::{Dims, Float};

use super::regions::{ImagesOf, Pooled, Regions};
use crate::geometry::Box4;
use crate::sizes;

/// The weights of the pixels along one axis, bin by bin.
pub(crate) struct Axis<T> {
    taps: Vec<(usize, T)>,
    ends: Vec<usize>,
}

impl<T: Float> Axis<T> {
    fn new() -> Axis<T> {
        Axis { taps: Vec::new(), ends: Vec::new() }
    }

    fn clear(&mut self) {
        self.taps.clear();
        self.ends.clear();
    }

    /// Adds weight to a pixel of the bin.
    pub(crate) fn add(&mut self, pixel: usize, weight: T) {
        let start = self.ends.last().copied().unwrap_or(0);
        match self.taps[start..].iter_mut().rev().find(|tap| tap.0 == pixel) {
            Some(tap) => tap.1 += weight,
            None => self.taps.push((pixel, weight)),
        }
    }

    /// Goes on to the next bin.
    pub(crate) fn end_bin(&mut self) {
        self.ends.push(self.taps.len());
    }

    fn bins(&self) -> impl Iterator<Item = &[(usize, T)]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.taps[start..*end])
    }
}

/// A way of pooling: the weights of the rows and columns that the bins of a region read.
pub(crate) trait Separable<T>: Sync {
    /// Adds the weights of all bins of a region, on a map of this height and width.
    fn axes(&self, region: &Box4<T>, map: [usize; 2], rows: &mut Axis<T>, columns: &mut Axis<T>);
}

struct Weights<T> {
    rows: Axis<T>,
    columns: Axis<T>,
}

impl<T: Float> Weights<T> {
    fn new() -> Weights<T> {
        Weights { rows: Axis::new(), columns: Axis::new() }
    }

    fn find(&mut self, how: &impl Separable<T>, region: &Box4<T>, map: [usize; 2]) {
        self.rows.clear();
        self.columns.clear();
        how.axes(region, map, &mut self.rows, &mut self.columns);
    }

    fn pool(&self, plane: &[T], width: usize, out: &mut [T]) {
        let mut out = out.iter_mut();
        for rows in self.rows.bins() {
            for (columns, out) in self.columns.bins().zip(&mut out) {
                let row = |y: usize| columns.iter().map(|&(x, w)| plane[y * width + x] * w).sum::<T>();
                *out = rows.iter().map(|&(y, w)| row(y) * w).sum();
            }
        }
    }

    fn spread(&self, d: &[T], width: usize, plane: &mut [T]) {
        let mut d = d.iter();
        for rows in self.rows.bins() {
            for (columns, d) in self.columns.bins().zip(&mut d) {
                for &(y, row_weight) in rows {
                    let share = *d * row_weight;
                    columns.iter().for_each(|&(x, w)| plane[y * width + x] += share * w);
                }
            }
        }
    }
}

/// Pools regions of `x`.
pub(crate) fn forward<T: Float>(
    io: &Io<'_>,
    (x, rois, of): (In, In, ImagesOf),
    out: Out,
    pooled: &Pooled,
    how: &impl Separable<T>,
) -> Result<()> {
    let (x_tensor, roi_tensor) = (io.dense(x)?, io.dense(rois)?);
    let [n, channels, h, w] = sizes::dims(io, x, &x_tensor, sizes::IMAGES)?;
    let regions = Regions::<T>::new(io, (rois, &roi_tensor), of, (n, 4))?;
    let boxes = regions.values.as_chunks::<4>().0;
    let mut t = io.out_sized(out, T::DTYPE, Dims::from([boxes.len(), channels, pooled.height, pooled.width]))?;
    let (data, out) = (io.data::<T>(x, &x_tensor)?, io.data_mut::<T>(out, &mut t)?);
    let (images, plane, bins) = (regions.images(), h * w, pooled.bins());
    io.pool().pieces(out, channels * bins, |i, out| {
        let mut weights = Weights::new();
        weights.find(how, &boxes[i], [h, w]);
        for (c, out) in out.chunks_exact_mut(bins).enumerate() {
            weights.pool(&data[(images[i] * channels + c) * plane..][..plane], w, out);
        }
    });
    Ok(())
}

/// Channels of an image whose gradient one thread computes at a time; a region's weights are found once for all of them.
const CHANNELS: usize = 16;

/// The gradient of `x`, of which only the sizes are read.
pub(crate) fn backward<T: Float>(
    io: &Io<'_>,
    (x, rois, of, dout): (In, In, ImagesOf, In),
    dx: Out,
    pooled: &Pooled,
    how: &impl Separable<T>,
) -> Result<()> {
    let (x_tensor, roi_tensor, dout_tensor) = (io.dense(x)?, io.dense(rois)?, io.dense(dout)?);
    let [n, channels, h, w] = sizes::dims(io, x, &x_tensor, sizes::IMAGES)?;
    let regions = Regions::<T>::new(io, (rois, &roi_tensor), of, (n, 4))?;
    let boxes = regions.values.as_chunks::<4>().0;
    let (plane, bins) = (h * w, pooled.bins());
    let d = sizes::counted::<T>(io, dout, &dout_tensor, boxes.len() * channels * bins)?;
    let mut t = io.out_sized(dx, T::DTYPE, *x_tensor.dims())?;
    let dx = io.data_mut::<T>(dx, &mut t)?;
    dx.fill(T::ZERO);
    let images = dx.chunks_mut((channels * plane).max(1)).enumerate();
    let parts = images.flat_map(|(i, image)| {
        image.chunks_mut((CHANNELS * plane).max(1)).enumerate().map(move |(part, planes)| (i, part * CHANNELS, planes))
    });
    io.pool().each(n * channels.div_ceil(CHANNELS), parts, |(image, first, planes)| {
        let mut weights = Weights::new();
        for r in regions.of_image(image) {
            weights.find(how, &boxes[r], [h, w]);
            for (c, to) in planes.chunks_exact_mut(plane).enumerate() {
                weights.spread(&d[(r * channels + first + c) * bins..][..bins], w, to);
            }
        }
    });
    Ok(())
}
