//! The three products of a convolution, over batches with channels first: results, gradients of images, gradients of filters.
//!
//! Threads share out images or filters, never a sum, so results do not depend on how many there are.

use oarlock_tensor::Pool;
use oarlock_tensor::gemm::{GemmElem, Mat, gemm, gemm_inline};

use super::columns::{self, columns};
use super::convolution::Conv;
use super::shifts::Shifts;

/// Memory that stays from run to run.
pub(crate) struct Scratch<T> {
    /// Filters turned round, for gradients.
    turned: Vec<T>,
    /// Padded images and spread gradients of several images.
    pub(crate) padded: Vec<T>,
    pub(crate) spread: Vec<T>,
    /// One for each thread.
    pub(crate) tasks: Vec<Task<T>>,
}

impl<T> Default for Scratch<T> {
    fn default() -> Scratch<T> {
        Scratch { turned: Vec::new(), padded: Vec::new(), spread: Vec::new(), tasks: Vec::new() }
    }
}

/// Memory of one thread.
pub(crate) struct Task<T> {
    pub(crate) padded: Vec<T>,
    pub(crate) wide: Vec<T>,
    pub(crate) starts: Vec<usize>,
}

impl<T> Default for Task<T> {
    fn default() -> Task<T> {
        Task { padded: Vec::new(), wide: Vec::new(), starts: Vec::new() }
    }
}

/// Runs `work` for every image and its part of `out`, `len` elements; images are shared out among threads.
fn each_image<T: GemmElem>(
    pool: &Pool,
    tasks: &mut Vec<Task<T>>,
    out: &mut [T],
    len: usize,
    work: impl Fn(usize, &mut Task<T>, &mut [T]) + Sync,
) {
    if len == 0 {
        return;
    }
    let images = out.len() / len;
    let share = images.div_ceil(pool.threads()).max(1);
    tasks.resize_with(images.div_ceil(share), Task::default);
    let run = |part: usize, task: &mut Task<T>, out: &mut [T]| {
        for (i, out) in out.chunks_exact_mut(len).enumerate() {
            work(part * share + i, task, out);
        }
    };
    if let [task] = &mut tasks[..] {
        return run(0, task, out);
    }
    let mut parts: Vec<_> = tasks.iter_mut().zip(out.chunks_mut(share * len)).collect();
    pool.pieces(&mut parts, 1, |i, part| run(i, part[0].0, part[0].1));
}

impl Conv {
    fn group_lens(&self) -> (usize, usize, usize) {
        (self.image_len() / self.groups, self.out_len() / self.groups, self.filters * self.terms())
    }

    /// Results.
    pub(crate) fn forward<T: GemmElem>(
        &self,
        pool: &Pool,
        images: &[T],
        filters: &[T],
        out: &mut [T],
        scratch: &mut Scratch<T>,
    ) {
        let (image_len, out_len, filter_len) = self.group_lens();
        let shifts = Shifts::forward(self);
        each_image(pool, &mut scratch.tasks, out, self.out_len(), |i, task, out| {
            let image = &images[i * self.image_len()..][..self.image_len()];
            for (g, out) in out.chunks_exact_mut(out_len).enumerate() {
                let image = &image[g * image_len..][..image_len];
                let filters = &filters[g * filter_len..][..filter_len];
                match &shifts {
                    Some(shifts) => shifts.convolve(image, filters, out, task),
                    None => {
                        let columns = columns(self, image, &mut task.wide);
                        let left = Mat::new(filters, self.filters, self.terms());
                        gemm_inline(out, left, Mat::new(columns, self.terms(), self.pixels()), T::ONE, T::ZERO);
                    }
                }
            }
        });
    }

    /// Gradients of images.
    pub(crate) fn input_grad<T: GemmElem>(
        &self,
        pool: &Pool,
        filters: &[T],
        d: &[T],
        dx: &mut [T],
        scratch: &mut Scratch<T>,
    ) {
        let (image_len, out_len, filter_len) = self.group_lens();
        let Scratch { turned, tasks, .. } = scratch;
        let shifts = Shifts::backward(self);
        if shifts.is_some() {
            self.turn_filters(filters, turned);
        }
        each_image(pool, tasks, dx, self.image_len(), |i, task, dx| {
            for (g, dx) in dx.chunks_exact_mut(image_len).enumerate() {
                let d = &d[i * self.out_len() + g * out_len..][..out_len];
                let part = g * filter_len..(g + 1) * filter_len;
                match &shifts {
                    Some(shifts) => shifts.convolve(d, &turned[part], dx, task),
                    None => columns::input_grad(self, &filters[part], d, dx, &mut task.wide),
                }
            }
        });
    }

    /// Filters of the convolution that leads gradients back: channels and filters exchanged, windows turned round.
    fn turn_filters<T: GemmElem>(&self, filters: &[T], turned: &mut Vec<T>) {
        let window = self.window();
        turned.resize(filters.len(), T::ZERO);
        for (i, from) in filters.chunks_exact(window).enumerate() {
            let (g, f, c) = (i / self.channels / self.filters, i / self.channels % self.filters, i % self.channels);
            let to = &mut turned[((g * self.channels + c) * self.filters + f) * window..][..window];
            to.iter_mut().zip(from.iter().rev()).for_each(|(to, from)| *to = *from);
        }
    }

    /// Gradients of filters.
    pub(crate) fn filter_grad<T: GemmElem>(
        &self,
        pool: &Pool,
        images: &[T],
        d: &[T],
        dw: &mut [T],
        scratch: &mut Scratch<T>,
    ) {
        dw.fill(T::ZERO);
        if dw.is_empty() || d.is_empty() {
            return;
        }
        let (image_len, out_len, filter_len) = self.group_lens();
        if let Some(shifts) = Shifts::forward(self) {
            for (g, dw) in dw.chunks_exact_mut(filter_len).enumerate() {
                shifts.filter_grad(pool, (g, self.groups), (images, d), dw, scratch);
            }
            return;
        }
        // Image after image, so the sum does not depend on threads; large products use them all.
        for (part, (image, d)) in images.chunks_exact(image_len).zip(d.chunks_exact(out_len)).enumerate() {
            let columns = columns(self, image, &mut scratch.padded);
            let right = Mat::new(columns, self.terms(), self.pixels()).t();
            let dw = &mut dw[part % self.groups * filter_len..][..filter_len];
            gemm(pool, dw, Mat::new(d, self.filters, self.pixels()), right, T::ONE, T::ONE);
        }
    }
}
