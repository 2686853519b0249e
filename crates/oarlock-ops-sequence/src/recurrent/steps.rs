//! Activations by name, and the rows of sequences in the order of their steps; shared by recurrent operators.
//!
//! Knows nothing of gates; those are in `lstm_cell` and `gru_cell`.

use std::cmp::Reverse;
use std::ops::Range;

use oarlock_ir::{AttrView, In, Io, Kind, Result, fail};
use oarlock_ops_support::checks::expect_dims;
use oarlock_tensor::simd::{self, Math};
use oarlock_tensor::{Element, Float, Tensor};

/// A function of one number whose gradient can be told from its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activation {
    Identity,
    Sigmoid,
    Tanh,
    Relu,
}

impl Activation {
    /// By the numbers that `gru_unit` knows them by.
    const BY_NUMBER: [Activation; 4] = [Activation::Identity, Activation::Sigmoid, Activation::Tanh, Activation::Relu];

    /// That of a name.
    pub(crate) fn by_name(name: &str) -> Option<Activation> {
        match name {
            "identity" | "" => Some(Activation::Identity),
            "sigmoid" => Some(Activation::Sigmoid),
            "tanh" => Some(Activation::Tanh),
            "relu" => Some(Activation::Relu),
            _ => None,
        }
    }

    /// That of an attribute that holds a name.
    pub(crate) fn read(attrs: &AttrView<'_>, attr: &str) -> Result<Activation> {
        let name = attrs.str(attr)?;
        match Activation::by_name(name) {
            Some(a) => Ok(a),
            None => fail!(Kind::Argument, "attribute `{attr}` is `{name}`; it can be identity, sigmoid, tanh or relu"),
        }
    }

    /// That of an attribute that holds a number.
    pub(crate) fn read_number(attrs: &AttrView<'_>, attr: &str) -> Result<Activation> {
        let number = attrs.int(attr)?;
        match usize::try_from(number).ok().and_then(|n| Activation::BY_NUMBER.get(n)) {
            Some(a) => Ok(*a),
            None => fail!(
                Kind::Argument,
                "attribute `{attr}` is {number}; it can be 0 (identity), 1 (sigmoid), 2 (tanh) or 3 (relu)"
            ),
        }
    }

    /// `x` = f(`x`).
    pub(crate) fn apply<T: Math>(self, x: &mut [T]) {
        match self {
            Activation::Identity => {}
            Activation::Sigmoid => {
                // Fluid's recurrent operators limit what a sigmoid is taken of; gates near 1 show it.
                let (low, high) = (T::of(-40.0), T::of(13.0));
                x.iter_mut().for_each(|x| {
                    *x = if *x > high {
                        high
                    } else if *x < low {
                        low
                    } else {
                        *x
                    }
                });
                simd::sigmoid_assign(x);
            }
            Activation::Tanh => simd::tanh_assign(x),
            Activation::Relu => simd::relu_assign(x),
        }
    }

    /// From the gradient of `y` = f(x) to that of x, in place.
    pub(crate) fn grad<T: Float>(self, dy: &mut [T], y: &[T]) {
        match self {
            Activation::Identity => {}
            Activation::Sigmoid => simd::sigmoid_grad_assign(dy, y),
            Activation::Tanh => simd::tanh_grad_assign(dy, y),
            Activation::Relu => simd::relu_grad_assign(dy, y),
        }
    }
}

/// The rows of sequences in the order of their steps: the first rows of all sequences, then the second ones, ... Longer sequences come
/// first, so the rows of a step continue the first rows of the step before, and a step is one matrix.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    /// The sequences, from the longest to the shortest.
    order: Vec<usize>,
    /// Where each step begins; at the end, the number of rows.
    starts: Vec<usize>,
    /// The place of each row in the tensor.
    rows: Vec<usize>,
}

impl Steps {
    /// Arranges the sequences that `offsets` cut; `reverse` starts with their last rows.
    pub(crate) fn arrange(&mut self, offsets: &[usize], reverse: bool) {
        let length = |s: usize| offsets[s + 1] - offsets[s];
        self.order.clear();
        self.order.extend(0..offsets.len().saturating_sub(1));
        self.order.sort_unstable_by_key(|&s| (Reverse(length(s)), s));
        self.rows.clear();
        self.starts.clear();
        self.starts.push(0);
        for t in 0..self.order.first().map_or(0, |&s| length(s)) {
            let there = self.order.iter().take_while(|&&s| length(s) > t);
            self.rows.extend(there.map(|&s| if reverse { offsets[s + 1] - 1 - t } else { offsets[s] + t }));
            self.starts.push(self.rows.len());
        }
    }

    /// Arranges `count` sequences of `length` rows each that are in the order of steps already; `reverse` starts with their last rows.
    pub(crate) fn arrange_dense(&mut self, count: usize, length: usize, reverse: bool) {
        let step = |t: usize| if reverse { length - 1 - t } else { t };
        self.order.clear();
        self.order.extend(0..count);
        self.starts.clear();
        self.starts.extend((0..=length).map(|t| t * count));
        self.rows.clear();
        self.rows.extend((0..length).flat_map(|t| step(t) * count..(step(t) + 1) * count));
    }

    /// The number of steps.
    pub(crate) fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The place in the tensor of each row, in the order of steps.
    pub(crate) fn places(&self) -> impl Iterator<Item = usize> {
        self.rows.iter().copied()
    }

    /// The number of sequences that are not empty: the rows of the first step.
    pub(crate) fn width(&self) -> usize {
        self.starts.get(1).copied().unwrap_or(0)
    }

    /// The rows of a step, in the order of steps.
    pub(crate) fn step(&self, t: usize) -> Range<usize> {
        self.starts[t]..self.starts[t + 1]
    }

    /// The rows of step `t - 1` that go on in step `t`.
    pub(crate) fn before(&self, t: usize) -> Range<usize> {
        let start = self.starts[t - 1];
        start..start + self.step(t).len()
    }

    /// Puts rows of `width` elements into the order of steps, with `bias` added if there is one.
    pub(crate) fn gather<T: Float>(&self, to: &mut [T], from: &[T], width: usize, bias: Option<&[T]>) {
        for (to, &row) in to.chunks_exact_mut(width.max(1)).zip(&self.rows) {
            let from = &from[row * width..][..width];
            match bias {
                Some(bias) => simd::add(to, from, bias),
                None => to.copy_from_slice(from),
            }
        }
    }

    /// Puts rows in the order of steps back where they belong.
    pub(crate) fn scatter<T: Element>(&self, to: &mut [T], from: &[T], width: usize) {
        for (from, &row) in from.chunks_exact(width.max(1)).zip(&self.rows) {
            to[row * width..][..width].copy_from_slice(from);
        }
    }

    /// Like [`Steps::gather`], with the first `cut` elements of each row in one matrix and the others in another.
    pub(crate) fn gather_parts<T: Float>(
        &self,
        left: &mut [T],
        right: &mut [T],
        from: &[T],
        (cut, rest): (usize, usize),
        bias: Option<&[T]>,
    ) {
        let width = cut + rest;
        let to = left.chunks_exact_mut(cut.max(1)).zip(right.chunks_exact_mut(rest.max(1)));
        for ((left, right), &row) in to.zip(&self.rows) {
            let from = &from[row * width..][..width];
            left.copy_from_slice(&from[..cut]);
            right.copy_from_slice(&from[cut..]);
            if let Some(bias) = bias {
                simd::add_assign(left, &bias[..cut]);
                simd::add_assign(right, &bias[cut..]);
            }
        }
    }

    /// The way back of [`Steps::gather_parts`], for matrices of these widths.
    pub(crate) fn scatter_parts<T: Element>(&self, to: &mut [T], left: &[T], right: &[T], (cut, rest): (usize, usize)) {
        let from = left.chunks_exact(cut.max(1)).zip(right.chunks_exact(rest.max(1)));
        for ((left, right), &row) in from.zip(&self.rows) {
            let to = &mut to[row * (cut + rest)..][..cut + rest];
            to[..cut].copy_from_slice(left);
            to[cut..].copy_from_slice(right);
        }
    }

    /// For every row from the second step on, the row before it.
    pub(crate) fn gather_before<T: Element>(&self, to: &mut [T], from: &[T], width: usize) {
        let before = (1..self.len()).flat_map(|t| &self.rows[self.before(t)]);
        for (to, &row) in to.chunks_exact_mut(width.max(1)).zip(before) {
            to.copy_from_slice(&from[row * width..][..width]);
        }
    }

    /// Puts what belongs to sequences (a first state) into the order of the first step.
    pub(crate) fn gather_first<'s, T: Float>(&self, scratch: &'s mut Vec<T>, from: &[T], width: usize) -> &'s [T] {
        scratch.resize(self.width() * width, T::ZERO);
        for (to, &sequence) in scratch.chunks_exact_mut(width.max(1)).zip(&self.order) {
            to.copy_from_slice(&from[sequence * width..][..width]);
        }
        scratch
    }

    /// Puts what belongs to sequences, in the order of the first step, back where it belongs; empty sequences get zeros.
    pub(crate) fn scatter_first<T: Float>(&self, to: &mut [T], from: &[T], width: usize) {
        to.fill(T::ZERO);
        for (from, &sequence) in from.chunks_exact(width.max(1)).zip(&self.order) {
            to[sequence * width..][..width].copy_from_slice(from);
        }
    }
}

/// The elements of an optional first state, which must have a row per sequence.
pub(crate) fn first_state<'t, T: Float>(
    io: &Io<'_>,
    state: &'t Option<(In, std::cell::Ref<'_, Tensor>)>,
    sequences: usize,
    width: usize,
) -> Result<Option<&'t [T]>> {
    let Some((input, t)) = state else { return Ok(None) };
    expect_dims(io, *input, t, &[sequences, width], "a row per sequence")?;
    Ok(Some(io.data(*input, t)?))
}

/// Reads an optional input together with its index, for messages.
pub(crate) fn maybe_dense<'a>(io: &Io<'a>, input: Option<In>) -> Result<Option<(In, std::cell::Ref<'a, Tensor>)>> {
    input.map(|i| Ok((i, io.dense(i)?))).transpose()
}

#[test]
fn longer_sequences_come_first() {
    let mut steps = Steps::default();
    steps.arrange(&[0, 1, 1, 4, 6], false);
    assert_eq!(
        (&steps.order[..], &steps.rows[..], &steps.starts[..]),
        (&[2, 3, 0, 1][..], &[1, 4, 0, 2, 5, 3][..], &[0, 3, 5, 6][..])
    );
    assert_eq!((steps.len(), steps.width(), steps.before(1), steps.before(2)), (3, 3, 0..2, 3..4));
    let mut before = [0; 3];
    steps.gather_before(&mut before, &[10, 11, 12, 13, 14, 15], 1);
    assert_eq!(before, [11, 14, 12]);
    steps.arrange(&[0, 1, 1, 4, 6], true);
    assert_eq!(steps.rows, [3, 5, 0, 2, 4, 1]);
    steps.arrange(&[0], false);
    assert_eq!((steps.len(), steps.rows(), steps.width()), (0, 0, 0));
}
