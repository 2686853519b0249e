//! Lists of integers that an operator takes from an attribute, from one tensor, or from several tensors of one number each:
//! shapes, axes, starts and ends.

use oarlock_ir::{In, Infer, Io, Kind, Prepare, Result};
use oarlock_tensor::Tensor;

use crate::ints::Ints;

/// Where such a list comes from. Several tensors go before one, one before the attribute.
#[derive(Debug, Clone)]
pub enum IntList {
    /// The attribute.
    Attr(Vec<i64>),
    /// All elements of one tensor.
    Tensor(In),
    /// The first element of each tensor.
    Tensors(Vec<In>),
}

/// A list as far as it is known when the program is built.
pub enum Known {
    /// All of it.
    All(Vec<i64>),
    /// Only how long it is, if that.
    Length(Option<usize>),
}

impl IntList {
    /// Finds the source of a list.
    pub fn prepare(p: &Prepare<'_>, attr: &str, tensor: &str, tensors: &str) -> Result<IntList> {
        let several = p.inputs(tensors)?;
        if !several.is_empty() {
            return Ok(IntList::Tensors(several));
        }
        match p.maybe_input(tensor)? {
            Some(one) => Ok(IntList::Tensor(one)),
            None => Ok(IntList::Attr(p.attrs().ints(attr)?)),
        }
    }

    /// The list as far as it is known when the program is built.
    pub fn infer(cx: &Infer<'_>, attr: &str, tensor: &str, tensors: &str) -> Result<Known> {
        let several = cx.inputs(tensors)?;
        if !several.is_empty() {
            return Ok(Known::Length(Some(several.len())));
        }
        if cx.has(tensor) {
            return Ok(Known::Length(cx.input(tensor)?.shape.numel()));
        }
        Ok(Known::All(cx.attrs().ints(attr)?))
    }

    /// The list, now.
    pub fn read(&self, io: &Io<'_>, to: &mut Vec<i64>) -> Result<()> {
        to.clear();
        match self {
            IntList::Attr(list) => to.extend_from_slice(list),
            IntList::Tensor(slot) => to.extend(Ints::of(io, *slot, &*io.dense(*slot)?)?.iter()),
            IntList::Tensors(slots) => {
                for &slot in slots {
                    to.push(io.index(slot)?);
                }
            }
        }
        Ok(())
    }
}

/// The elements of a tensor of i32 or i64, each of which must be below `limit`.
pub fn read_indices(io: &Io<'_>, slot: In, tensor: &Tensor, limit: usize, to: &mut Vec<usize>) -> Result<()> {
    to.clear();
    for (at, v) in Ints::of(io, slot, tensor)?.iter().enumerate() {
        match usize::try_from(v) {
            Ok(i) if i < limit => to.push(i),
            _ => {
                let what = format_args!("has index {v} at element {at}, but only 0 to {} exist", limit as i64 - 1);
                return Err(io.error(Kind::Range, slot, what));
            }
        }
    }
    Ok(())
}

/// An axis counted from the front, if a tensor of that rank has it; negative ones count from the end.
pub fn axis_of(axis: i64, rank: usize) -> Option<usize> {
    let from_front = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(from_front).ok().filter(|a| *a < rank)
}
