//! Convolutions of stride 1 by shifted views: with padded images, all pixels that one element of the filter meets are one
//! stretch of memory, so nothing is copied. Between the lines of the result the stretch holds elements that mean nothing.

use oarlock_tensor::Pool;
use oarlock_tensor::gemm::GemmElem;
use oarlock_tensor::simd::{Pairs, Shifted, shifted_dots, shifted_product};

use super::convolution::{Conv, Side};
use super::product::{Scratch, Task};

/// A convolution of stride 1 within one group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shifts {
    channels: usize,
    filters: usize,
    sides: [Side; 3],
}

/// Rows of shifted views are a multiple of this, so that no register is filled partly.
const ROUND: usize = 16;

impl Shifts {
    /// The convolution of one group, if shifted views do.
    pub(crate) fn forward(conv: &Conv) -> Option<Shifts> {
        let shifts = conv.sides.iter().all(|s| s.stride == 1) && !conv.pointwise();
        shifts.then_some(Shifts { channels: conv.channels, filters: conv.filters, sides: conv.sides })
    }

    /// The convolution that leads gradients of one group back, if shifted views do.
    pub(crate) fn backward(conv: &Conv) -> Option<Shifts> {
        let [z, y, x] = Shifts::forward(conv)?.sides;
        let sides = [z.backward()?, y.backward()?, x.backward()?];
        Some(Shifts { channels: conv.filters, filters: conv.channels, sides })
    }

    /// Elements of a padded channel.
    fn padded(&self) -> usize {
        self.sides.iter().map(Side::padded).product()
    }

    /// Where a pixel of a padded channel is.
    fn at(&self, z: usize, y: usize, x: usize) -> usize {
        (z * self.sides[1].padded() + y) * self.sides[2].padded() + x
    }

    /// The length of a shifted view: all lines of the output at the distance of padded lines.
    fn len(&self) -> usize {
        let [z, y, x] = self.sides.map(|s| s.out);
        (self.at(z - 1, y - 1, x - 1) + 1).next_multiple_of(ROUND)
    }

    /// Elements of a padded image: the last views reach beyond its end.
    fn buffer(&self) -> usize {
        let [z, y, x] = self.sides.map(|s| s.reach());
        let last = (self.channels - 1) * self.padded() + self.at(z, y, x);
        (last + self.len()).max(self.channels * self.padded())
    }

    /// Where the views of all elements of a filter start.
    fn starts(&self, starts: &mut Vec<usize>) {
        starts.clear();
        let [z, y, x] = self.sides;
        for c in 0..self.channels {
            for kz in 0..z.kernel {
                for ky in 0..y.kernel {
                    let line = c * self.padded() + self.at(kz * z.dilation, ky * y.dilation, 0);
                    starts.extend((0..x.kernel).map(|kx| line + kx * x.dilation));
                }
            }
        }
    }

    /// Copies an image into the middle of zeros.
    fn pad<T: GemmElem>(&self, image: &[T], to: &mut [T]) {
        to.fill(T::ZERO);
        let [z, y, x] = self.sides;
        for (c, channel) in image.chunks_exact(z.n * y.n * x.n).enumerate() {
            for (line, from) in channel.chunks_exact(x.n).enumerate() {
                let at = self.at(z.before + line / y.n, y.before + line % y.n, x.before);
                to[c * self.padded() + at..][..x.n].copy_from_slice(from);
            }
        }
    }

    /// Where the lines of the output are in a shifted view.
    fn lines(&self) -> impl Iterator<Item = usize> + '_ {
        let [z, y, _] = self.sides.map(|s| s.out);
        (0..z * y).map(move |line| self.at(line / y, line % y, 0))
    }

    /// One group of an image.
    pub(crate) fn convolve<T: GemmElem>(&self, image: &[T], filters: &[T], out: &mut [T], task: &mut Task<T>) {
        let Task { padded, wide, starts } = task;
        self.starts(starts);
        padded.resize(self.buffer(), T::ZERO);
        self.pad(image, padded);
        wide.resize(self.filters * self.len(), T::ZERO);
        shifted_product(wide, filters, Shifted::new(padded, starts, self.len()));
        let [z, y, x] = self.sides.map(|s| s.out);
        for (out, wide) in out.chunks_exact_mut(z * y * x).zip(wide.chunks_exact(self.len())) {
            let lines = out.chunks_exact_mut(x).zip(self.lines());
            lines.for_each(|(out, at)| out.copy_from_slice(&wide[at..at + x]));
        }
    }

    /// Adds the gradients of the filters of group `group` to `dw`: dot products of gradients, spread to the distance of padded
    /// lines, with shifted views of padded images; several images at a time. Threads share out filters, so each sum has one
    /// order.
    pub(crate) fn filter_grad<T: GemmElem>(
        &self,
        pool: &Pool,
        (group, groups): (usize, usize),
        (images, d): (&[T], &[T]),
        dw: &mut [T],
        scratch: &mut Scratch<T>,
    ) {
        let image_len: usize = self.sides.iter().map(|s| s.n).product();
        let out_len: usize = self.sides.iter().map(|s| s.out).product();
        let terms = dw.len() / self.filters;
        let (right_stride, left_stride) = (self.buffer(), self.filters * self.len());
        let all = d.len() / (groups * self.filters * out_len);
        let at_once = (GROUP / (right_stride + left_stride)).clamp(1, all);
        scratch.tasks.resize_with(scratch.tasks.len().max(1), Task::default);
        let Scratch { padded, spread, tasks, .. } = scratch;
        self.starts(&mut tasks[0].starts);
        let starts = &tasks[0].starts;
        padded.resize(at_once * right_stride, T::ZERO);
        spread.resize(at_once * left_stride, T::ZERO);
        for first in (0..all).step_by(at_once) {
            let count = at_once.min(all - first);
            for i in 0..count {
                let at = (first + i) * groups + group;
                let image = &images[at * self.channels * image_len..][..self.channels * image_len];
                self.pad(image, &mut padded[i * right_stride..][..right_stride]);
                let d = &d[at * self.filters * out_len..][..self.filters * out_len];
                self.spread(d, &mut spread[i * left_stride..][..left_stride]);
            }
            let right = Shifted::new(padded, starts, self.len());
            pool.pieces(dw, TILE * terms, |i, dw| {
                let left = &spread[i * TILE * self.len()..];
                let pairs = Pairs { left, left_stride, right_stride, count };
                shifted_dots(dw, dw.len() / terms, pairs, right);
            });
        }
    }

    /// Copies the lines of results to the distance of padded lines, with zeros between them.
    fn spread<T: GemmElem>(&self, d: &[T], to: &mut [T]) {
        to.fill(T::ZERO);
        let [z, y, x] = self.sides.map(|s| s.out);
        for (to, d) in to.chunks_exact_mut(self.len()).zip(d.chunks_exact(z * y * x)) {
            d.chunks_exact(x).zip(self.lines()).for_each(|(d, at)| to[at..at + x].copy_from_slice(d));
        }
    }
}

/// Elements of padded images and spread gradients that are prepared at once: what a cache of the second level holds.
const GROUP: usize = 1 << 17;

/// Filters whose gradients one task computes.
const TILE: usize = 4;
