//! Strided views of a tensor: what transposing and slicing read, and what their gradients write.
//!
//! Knows sizes and offsets only.

use oarlock_tensor::{Dims, MAX_RANK};

/// Some elements of a tensor in an order of their own.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// The sizes of the view.
    dims: Dims,
    /// How far apart neighbours along each axis of the view are in the tensor.
    strides: [isize; MAX_RANK],
    /// Where the first element is.
    offset: usize,
}

impl View {
    /// All elements of a row-major tensor, in order.
    pub fn whole(dims: &Dims) -> View {
        let mut strides = [0; MAX_RANK];
        let mut step = 1;
        for (stride, size) in strides.iter_mut().zip(&dims[..]).rev() {
            *stride = step;
            step *= *size as isize;
        }
        // `zip` pairs from the front, `rev` then runs both from the back.
        View { dims: *dims, strides, offset: 0 }
    }

    /// With axes in another order: axis `i` of the result is axis `order[i]` of this one. `order` is a permutation.
    pub fn permuted(&self, order: &[usize]) -> View {
        let mut view = *self;
        for (i, from) in order.iter().enumerate() {
            view.dims[i] = self.dims[*from];
            view.strides[i] = self.strides[*from];
        }
        view
    }

    /// Along one axis only `count` elements, from `start` on and `step` apart. They must all exist.
    pub fn sliced(mut self, axis: usize, start: usize, step: isize, count: usize) -> View {
        self.offset += start * self.strides[axis] as usize;
        self.strides[axis] *= step;
        self.dims[axis] = count;
        self
    }

    /// The sizes of the view.
    pub fn dims(&self) -> &Dims {
        &self.dims
    }

    /// Copies the elements of the view out of `tensor`, in order.
    pub fn gather<T: Copy>(&self, tensor: &[T], to: &mut [T]) {
        let v = self.merged();
        v.runs(|at, start, len, stride| {
            let to = &mut to[at..at + len];
            if stride == 1 {
                return to.copy_from_slice(&tensor[start..start + len]);
            }
            for (i, t) in to.iter_mut().enumerate() {
                *t = tensor[(start as isize + i as isize * stride) as usize];
            }
        });
    }

    /// Copies `from` to the elements of the view in `tensor`, in order.
    pub fn scatter<T: Copy>(&self, from: &[T], tensor: &mut [T]) {
        let v = self.merged();
        v.runs(|at, start, len, stride| {
            let from = &from[at..at + len];
            if stride == 1 {
                return tensor[start..start + len].copy_from_slice(from);
            }
            for (i, v) in from.iter().enumerate() {
                tensor[(start as isize + i as isize * stride) as usize] = *v;
            }
        });
    }

    /// The same view with as few axes as possible.
    fn merged(&self) -> View {
        let mut dims = Dims::new(&[]);
        let mut strides = [0; MAX_RANK];
        for (size, stride) in self.dims.iter().zip(self.strides) {
            let last = dims.rank().wrapping_sub(1);
            if *size == 1 {
                continue;
            }
            if dims.rank() > 0 && strides[last] == stride * *size as isize {
                dims[last] *= *size;
                strides[last] = stride;
            } else {
                strides[dims.rank()] = stride;
                dims.push(*size);
            }
        }
        View { dims, strides, offset: self.offset }
    }

    /// Calls `f` for every stretch along the last axis: its position in the view, where it starts in the tensor, its length, and
    /// how far apart its elements are in the tensor.
    fn runs(&self, mut f: impl FnMut(usize, usize, usize, isize)) {
        if self.dims.numel() == 0 {
            return;
        }
        let (outer, len, stride) = match self.dims.rank().checked_sub(1) {
            Some(last) => (&self.dims[..last], self.dims[last], self.strides[last]),
            None => (&self.dims[..0], 1, 1),
        };
        let mut index = [0; MAX_RANK];
        let (mut at, mut start) = (0, self.offset as isize);
        loop {
            f(at, start as usize, len, stride);
            at += len;
            // Counts up like an odometer.
            let mut axis = outer.len();
            loop {
                let Some(next) = axis.checked_sub(1) else { return };
                axis = next;
                index[axis] += 1;
                start += self.strides[axis];
                if index[axis] < outer[axis] {
                    break;
                }
                start -= self.strides[axis] * index[axis] as isize;
                index[axis] = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposed_and_sliced() {
        let data: Vec<i32> = (0..24).collect();
        let view = View::whole(&Dims::from([2, 3, 4])).permuted(&[2, 0, 1]);
        let mut out = vec![0; 24];
        view.gather(&data, &mut out);
        assert_eq!(out[..6], [0, 4, 8, 12, 16, 20]);
        let mut back = vec![0; 24];
        view.scatter(&out, &mut back);
        assert_eq!(back, data);
        // Rows 2 and 1, every other column.
        let view = View::whole(&Dims::from([6, 4])).sliced(0, 2, -1, 2).sliced(1, 1, 2, 2);
        let mut out = vec![0; 4];
        view.gather(&data, &mut out);
        assert_eq!(out, [9, 11, 5, 7]);
    }

    #[test]
    fn a_slice_of_rows_is_one_stretch() {
        let view = View::whole(&Dims::from([6, 2, 2])).sliced(0, 1, 1, 3).merged();
        assert_eq!((view.dims, view.offset), (Dims::from([12]), 4));
        let none = View::whole(&Dims::from([0, 2]));
        none.gather::<f32>(&[], &mut []);
    }
}
