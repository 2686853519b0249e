//! The windows of images side by side, as a result of its own: `unfold`.

use oarlock_ir::{AttrView, In, Io, Kind, Result, fail};
use oarlock_ops_support::sliding_window::{Axes, sizes};
use oarlock_tensor::Dims;
use oarlock_tensor::gemm::GemmElem;

use super::columns::{add_columns, columns};
use super::convolution::{Conv, Side};

/// Which windows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unfold {
    kernel: [usize; 3],
    strides: [usize; 3],
    dilations: [usize; 3],
    /// Before and after each axis.
    paddings: [(usize, usize); 3],
}

impl Unfold {
    /// Those of the attributes.
    pub(crate) fn new(attrs: &AttrView<'_>) -> Result<Unfold> {
        let paddings = match sizes(attrs, "paddings")?[..] {
            [up, left, down, right] => [(0, 0), (up, down), (left, right)],
            [y, x] => [(0, 0), (y, y), (x, x)],
            ref other => fail!(Kind::Argument, "attribute `paddings` has {} sizes; it needs 4", other.len()),
        };
        Ok(Unfold {
            kernel: Axes::Image.positive(attrs, "kernel_sizes")?,
            strides: Axes::Image.positive(attrs, "strides")?,
            dilations: Axes::Image.positive(attrs, "dilations")?,
            paddings,
        })
    }

    /// Pixels of a window.
    pub(crate) fn window(&self) -> usize {
        self.kernel.iter().product()
    }

    fn side(&self, axis: usize, n: usize) -> Option<Side> {
        let ((before, after), kernel) = (self.paddings[axis], self.kernel[axis]);
        let (stride, dilation) = (self.strides[axis], self.dilations[axis]);
        let out = (n + before + after).checked_sub(dilation * (kernel - 1) + 1)? / stride + 1;
        (n > 0).then_some(Side { n, before, after, kernel, stride, dilation, out })
    }

    /// How many windows an image has; `None` if they are larger than it.
    pub(crate) fn positions(&self, height: usize, width: usize) -> Option<usize> {
        Some(self.side(1, height)?.out * self.side(2, width)?.out)
    }

    /// Sizes for one run.
    pub(crate) fn sizes(&self, io: &Io<'_>, x: In, dims: &Dims) -> Result<Unfolded> {
        let conv = match dims[..] {
            [images, channels, h, w] => self
                .side(0, 1)
                .zip(self.side(1, h))
                .zip(self.side(2, w))
                .map(|((z, y), x)| Conv { images, groups: 1, channels, filters: 1, sides: [z, y, x] }),
            _ => None,
        };
        match conv {
            Some(conv) => Ok(Unfolded(conv)),
            None => Err(io.error(Kind::Shape, x, format_args!("has sizes {dims}, too small for the window"))),
        }
    }
}

/// Images and the sizes of their windows side by side.
pub(crate) struct Unfolded(Conv);

impl Unfolded {
    /// The sizes of the result: images, pixels of windows, windows.
    pub(crate) fn columns(&self) -> [usize; 3] {
        [self.0.images, self.0.terms(), self.0.pixels()]
    }

    /// The windows of every image.
    pub(crate) fn unfold<T: GemmElem>(&self, x: &[T], y: &mut [T], scratch: &mut Vec<T>) {
        let len = (self.0.terms() * self.0.pixels()).max(1);
        for (i, y) in y.chunks_exact_mut(len).enumerate() {
            y.copy_from_slice(columns(&self.0, &x[i * self.0.image_len()..][..self.0.image_len()], scratch));
        }
    }

    /// Adds windows back to the pixels they cover.
    pub(crate) fn fold<T: GemmElem>(&self, d: &[T], dx: &mut [T]) {
        dx.fill(T::ZERO);
        let len = self.0.terms() * self.0.pixels();
        for (i, dx) in dx.chunks_exact_mut(self.0.image_len().max(1)).enumerate() {
            add_columns(&self.0, &d[i * len..][..len], dx);
        }
    }
}
