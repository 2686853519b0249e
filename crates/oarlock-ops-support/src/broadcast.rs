//! Fluid's broadcasting: how two tensors spread over the shape of their result.
//!
//! Knows sizes and offsets only; the formulas are in the operators.

use oarlock_ir::{Dim, In, Io, Kind, Result};
use oarlock_tensor::{Dims, MAX_RANK};

/// Where the shorter of two shapes stands under the longer one: from which axis on, and with how many of its sizes
/// (trailing ones are dropped if there is no room). `None` if it does not fit there.
fn place(long: usize, short: usize, trailing_ones: usize, axis: i64) -> Option<(usize, usize)> {
    if long == short {
        return Some((0, short));
    }
    let start = if axis == -1 { long - short } else { usize::try_from(axis).ok()? };
    let room = long.checked_sub(start)?;
    let len = short.min(room);
    (short - len <= trailing_ones).then_some((start, len))
}

/// The shape of the result, as far as it is known; `None` if the two do not fit.
pub fn infer(x: &[Dim], y: &[Dim], axis: i64) -> Option<Vec<Dim>> {
    let (long, short) = if x.len() >= y.len() { (x, y) } else { (y, x) };
    let ones = short.iter().rev().take_while(|d| **d == Dim::Is(1)).count();
    let (start, len) = place(long.len(), short.len(), ones, axis)?;
    let mut out = long.to_vec();
    for (o, s) in out[start..].iter_mut().zip(&short[..len]) {
        *o = match (*o, *s) {
            (a, b) if a == b => a,
            (Dim::Is(1), b) | (b, Dim::Is(1)) => b,
            (a, b) if a.fits(b) => a.or(b),
            _ => return None,
        };
    }
    Some(out)
}

/// Neighbouring axes over which each of the two tensors either moves or stands still.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Group {
    size: usize,
    x_moves: bool,
    y_moves: bool,
}

/// Two tensors spread over their common shape, as runs: stretches of the result along which each of the two either moves on
/// element by element or stands still.
#[derive(Debug, Clone)]
pub struct Spread {
    /// The shape of the result.
    pub out: Dims,
    /// The length of a run.
    pub run: usize,
    /// Does X move along a run?
    pub x_moves: bool,
    /// Does Y move along a run?
    pub y_moves: bool,
    /// The loops around the runs, outermost first.
    outer: [Group; MAX_RANK],
    outer_len: usize,
}

impl Spread {
    /// How `x` and `y` spread; `None` if they do not fit.
    pub fn new(x: &Dims, y: &Dims, axis: i64) -> Option<Spread> {
        if x == y {
            return Some(Spread::one_run(*x));
        }
        let x_longer = x.rank() >= y.rank();
        let (long, short) = if x_longer { (x, y) } else { (y, x) };
        let ones = short.iter().rev().take_while(|d| **d == 1).count();
        let (start, len) = place(long.rank(), short.rank(), ones, axis)?;
        let mut out = *long;
        let mut groups = Groups::default();
        for (i, size) in out.iter_mut().enumerate() {
            let own = *size;
            let other = if (start..start + len).contains(&i) { short[i - start] } else { 1 };
            let all = match (own, other) {
                (a, b) if a == b => a,
                (1, n) | (n, 1) => n,
                _ => return None,
            };
            *size = all;
            let (long_moves, short_moves) = (own == all, other == all);
            let (x_moves, y_moves) = if x_longer { (long_moves, short_moves) } else { (short_moves, long_moves) };
            groups.push(Group { size: all, x_moves, y_moves });
        }
        Some(groups.spread(out))
    }

    /// X over its whole shape, and Y of the same shape but for the axes where `reduced` says that it has only one element.
    pub fn reducing(x: &Dims, reduced: impl Fn(usize) -> bool) -> Spread {
        let mut groups = Groups::default();
        for (i, size) in x.iter().enumerate() {
            groups.push(Group { size: *size, x_moves: true, y_moves: !reduced(i) || *size == 1 });
        }
        groups.spread(*x)
    }

    fn one_run(out: Dims) -> Spread {
        let run = out.numel();
        Spread { out, run, x_moves: true, y_moves: true, outer: Default::default(), outer_len: 0 }
    }

    /// The same with X and Y exchanged.
    pub fn flip(&self) -> Spread {
        let mut other = self.clone();
        std::mem::swap(&mut other.x_moves, &mut other.y_moves);
        for g in &mut other.outer[..other.outer_len] {
            std::mem::swap(&mut g.x_moves, &mut g.y_moves);
        }
        other
    }

    /// Does X have an element for each of the result's?
    pub fn x_is_whole(&self) -> bool {
        self.x_moves && self.outer[..self.outer_len].iter().all(|g| g.x_moves)
    }

    /// Calls `f` with the offsets in result, X and Y of every run, in the order of the result.
    pub fn runs(&self, mut f: impl FnMut(usize, usize, usize)) {
        if self.out.numel() == 0 {
            return;
        }
        let outer = &self.outer[..self.outer_len];
        let (x_strides, y_strides) = self.strides();
        let mut at = [0; MAX_RANK];
        let (mut o, mut x, mut y) = (0, 0, 0);
        loop {
            f(o, x, y);
            o += self.run;
            // Counts up like an odometer.
            let mut axis = outer.len();
            loop {
                let Some(next) = axis.checked_sub(1) else { return };
                axis = next;
                at[axis] += 1;
                x += x_strides[axis];
                y += y_strides[axis];
                if at[axis] < outer[axis].size {
                    break;
                }
                x -= x_strides[axis] * at[axis];
                y -= y_strides[axis] * at[axis];
                at[axis] = 0;
            }
        }
    }

    /// How far X and Y move with one step of each outer group.
    fn strides(&self) -> ([usize; MAX_RANK], [usize; MAX_RANK]) {
        let (mut xs, mut ys) = ([0; MAX_RANK], [0; MAX_RANK]);
        let mut x = if self.x_moves { self.run } else { 1 };
        let mut y = if self.y_moves { self.run } else { 1 };
        for (i, g) in self.outer[..self.outer_len].iter().enumerate().rev() {
            if g.x_moves {
                xs[i] = x;
                x *= g.size;
            }
            if g.y_moves {
                ys[i] = y;
                y *= g.size;
            }
        }
        (xs, ys)
    }
}

/// Groups as they are found, axis by axis.
#[derive(Default)]
struct Groups {
    list: [Group; MAX_RANK],
    len: usize,
}

impl Groups {
    /// Adds an axis, to the group before it if both tensors move alike there.
    fn push(&mut self, g: Group) {
        if g.size == 1 {
            return;
        }
        if let Some(last) = self.list[..self.len].last_mut()
            && (last.x_moves, last.y_moves) == (g.x_moves, g.y_moves)
        {
            last.size *= g.size;
            return;
        }
        self.list[self.len] = g;
        self.len += 1;
    }

    fn spread(self, out: Dims) -> Spread {
        let Some(outer_len) = self.len.checked_sub(1) else { return Spread::one_run(out) };
        let Group { size: run, x_moves, y_moves } = self.list[outer_len];
        Spread { out, run, x_moves, y_moves, outer: self.list, outer_len }
    }
}

/// How to make two tensors broadcast, for messages.
pub const HOW_TO_FIT: &str = "sizes must be equal or 1, those of `Y` standing under those of `X` from `axis` on (-1: at the end); \
     set `axis`, or reshape one of them";

/// How two tensors spread over their result, or an error that names them.
pub fn spread(io: &Io<'_>, x: In, x_dims: &Dims, y: In, y_dims: &Dims, axis: i64) -> Result<Spread> {
    Spread::new(x_dims, y_dims, axis).ok_or_else(|| {
        let what = format_args!("{x_dims} does not broadcast with {} {y_dims} and axis {axis}", io.describe(y));
        io.error(Kind::Shape, x, what).help(HOW_TO_FIT)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(x: &[usize], y: &[usize], axis: i64) -> (Dims, usize, Vec<(usize, usize, usize)>) {
        let spread = Spread::new(&Dims::new(x), &Dims::new(y), axis).expect("they fit");
        let mut all = Vec::new();
        spread.runs(|o, x, y| all.push((o, x, y)));
        (spread.out, spread.run, all)
    }

    #[test]
    fn rows_columns_and_both_ways() {
        assert_eq!(runs(&[2, 3], &[2, 3], -1), (Dims::from([2, 3]), 6, vec![(0, 0, 0)]));
        assert_eq!(runs(&[2, 3], &[3], -1), (Dims::from([2, 3]), 3, vec![(0, 0, 0), (3, 3, 0)]));
        assert_eq!(runs(&[2, 3], &[2], 0), (Dims::from([2, 3]), 3, vec![(0, 0, 0), (3, 3, 1)]));
        assert_eq!(runs(&[3], &[2, 3], -1), (Dims::from([2, 3]), 3, vec![(0, 0, 0), (3, 0, 3)]));
        let both = vec![(0, 0, 0), (3, 1, 0)];
        assert_eq!(runs(&[2, 1], &[1, 3], -1), (Dims::from([2, 3]), 3, both));
        // Trailing ones of Y make room.
        assert_eq!(runs(&[2, 3, 4, 5], &[4, 1, 1], 2).2.len(), 24);
        assert_eq!(runs(&[0, 3], &[3], -1).2, []);
    }

    #[test]
    fn what_does_not_fit() {
        assert!(Spread::new(&Dims::from([2, 3]), &Dims::from([2]), -1).is_none());
        assert!(Spread::new(&Dims::from([2, 3]), &Dims::from([3, 2]), 1).is_none());
        assert!(Spread::new(&Dims::from([2, 3]), &Dims::from([3]), 7).is_none());
        assert!(infer(&[Dim::Any, Dim::Is(3)], &[Dim::Is(2)], -1).is_none());
        let known = infer(&[Dim::Any, Dim::Is(3)], &[Dim::Is(4), Dim::Is(1)], -1);
        assert_eq!(known, Some(vec![Dim::Is(4), Dim::Is(3)]));
    }
}
