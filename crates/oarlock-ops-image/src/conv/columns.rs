//! Windows copied side by side, so that a convolution is a product of matrices; for filters of one pixel the image itself is
//! that matrix.

use oarlock_ops_support::sliding_window::met;
use oarlock_tensor::gemm::{GemmElem, Mat, gemm_inline};

use super::convolution::{Conv, Side};

/// The windows of one group of an image side by side: a column per output pixel, a row per element of the window.
pub(crate) fn columns<'a, T: GemmElem>(conv: &Conv, image: &'a [T], scratch: &'a mut Vec<T>) -> &'a [T] {
    if conv.pointwise() {
        return image;
    }
    scratch.resize(conv.terms() * conv.pixels(), T::ZERO);
    let (out_width, width) = (conv.sides[2].out, conv.sides[2].n);
    for (row, to) in scratch.chunks_exact_mut(conv.pixels()).enumerate() {
        let term = Term::new(conv, row);
        let channel = &image[term.channel * conv.image_pixels()..][..conv.image_pixels()];
        for (line, to) in to.chunks_exact_mut(out_width).enumerate() {
            match term.line(conv, line) {
                Some(from) => copy_row(&conv.sides[2], term.at[2], &channel[from * width..][..width], to),
                None => to.fill(T::ZERO),
            }
        }
    }
    scratch
}

/// An element of a filter: its channel, and its position in the window.
struct Term {
    channel: usize,
    at: [usize; 3],
}

impl Term {
    fn new(conv: &Conv, term: usize) -> Term {
        let [_, y, x] = conv.sides.map(|s| s.kernel);
        let window = conv.window();
        let inside = term % window;
        Term { channel: term / window, at: [inside / (y * x), inside / x % y, inside % x] }
    }

    /// The line of the image that this element of the window meets for a line of the output, unless it is padding.
    fn line(&self, conv: &Conv, line: usize) -> Option<usize> {
        let [z, y, _] = &conv.sides;
        let (oz, oy) = (line / y.out, line % y.out);
        Some(z.inside(oz, self.at[0])? * y.n + y.inside(oy, self.at[1])?)
    }
}

fn copy_row<T: GemmElem>(x: &Side, k: usize, from: &[T], to: &mut [T]) {
    let (range, start) = met(x.n, x.before, x.stride, k * x.dilation, x.out);
    to[..range.start].fill(T::ZERO);
    to[range.end..].fill(T::ZERO);
    if range.is_empty() {
        return;
    }
    let to = &mut to[range];
    match x.stride {
        1 => to.copy_from_slice(&from[start..][..to.len()]),
        stride => to.iter_mut().zip(from[start..].iter().step_by(stride)).for_each(|(to, from)| *to = *from),
    }
}

/// Adds columns back to the pixels they were copied from.
pub(crate) fn add_columns<T: GemmElem>(conv: &Conv, columns: &[T], image: &mut [T]) {
    let (out_width, width) = (conv.sides[2].out, conv.sides[2].n);
    for (row, from) in columns.chunks_exact(conv.pixels()).enumerate() {
        let term = Term::new(conv, row);
        let channel = &mut image[term.channel * conv.image_pixels()..][..conv.image_pixels()];
        let x = &conv.sides[2];
        let (range, start) = met(x.n, x.before, x.stride, term.at[2] * x.dilation, x.out);
        if range.is_empty() {
            continue;
        }
        for (line, from) in from.chunks_exact(out_width).enumerate() {
            let Some(to) = term.line(conv, line) else { continue };
            let to = channel[to * width..][start..width].iter_mut().step_by(conv.sides[2].stride);
            to.zip(&from[range.clone()]).for_each(|(to, from)| *to += *from);
        }
    }
}

/// The gradient of one group of an image: of the products first, then back to the pixels.
pub(crate) fn input_grad<T: GemmElem>(conv: &Conv, filters: &[T], d: &[T], dx: &mut [T], scratch: &mut Vec<T>) {
    let left = Mat::new(filters, conv.filters, conv.terms()).t();
    let right = Mat::new(d, conv.filters, conv.pixels());
    if conv.pointwise() {
        return gemm_inline(dx, left, right, T::ONE, T::ZERO);
    }
    scratch.resize(conv.terms() * conv.pixels(), T::ZERO);
    gemm_inline(scratch, left, right, T::ONE, T::ZERO);
    dx.fill(T::ZERO);
    add_columns(conv, scratch, dx);
}
