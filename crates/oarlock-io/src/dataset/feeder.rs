//! Batches of samples that a program holds already: rows of nested values into tensors.

use std::fmt;

use oarlock_ir::{Error, Kind, Shape, Var, VarDType};
use oarlock_tensor::{DType, Dims, Element, Lod, Tensor, by_element};

/// One slot of a sample.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// An integer.
    Int(i64),
    /// A number.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A list: a sequence, or a dimension of an array.
    List(Vec<Item>),
    /// An array. Where a sequence is expected, its rows are the elements.
    Array(Tensor),
}

/// Turns samples into the tensors of variables, in the way of Fluid's `DataFeeder`.
#[derive(Debug, Clone)]
pub struct DataFeeder {
    slots: Vec<FeedSlot>,
}

#[derive(Debug, Clone)]
struct FeedSlot {
    name: String,
    dtype: DType,
    /// Samples are brought into this shape, unless they have as many dimensions already or two sizes are unknown.
    shape: Option<Shape>,
    lod_level: usize,
}

impl DataFeeder {
    /// For these variables, in the order of a sample's slots.
    pub fn new<'a>(vars: impl IntoIterator<Item = &'a Var>) -> oarlock_ir::Result<DataFeeder> {
        let slot = |var: &Var| {
            let VarDType::Is(dtype) = var.dtype else {
                let what = format!("variable `{}` has an element type that cannot be fed", var.name);
                return Err(Error::new(Kind::DType, what));
            };
            let unknown = var.shape.iter().filter(|d| d.known().is_none()).count();
            Ok(FeedSlot {
                name: var.name.to_string(),
                dtype,
                shape: (unknown <= 1).then(|| var.shape.clone()),
                lod_level: var.lod_level,
            })
        };
        Ok(DataFeeder { slots: vars.into_iter().map(slot).collect::<oarlock_ir::Result<_>>()? })
    }

    /// The tensors of a batch, one per variable.
    pub fn feed(&self, samples: &[Vec<Item>]) -> oarlock_ir::Result<Vec<Tensor>> {
        let want = self.slots.len();
        if let Some((i, sample)) = samples.iter().enumerate().find(|(_, s)| s.len() != want) {
            let what = format!("sample {i} has {} slots, but {want} variables are fed", sample.len());
            return Err(
                Error::new(Kind::Argument, what).help("a sample is one item per variable of `feed_list`, in order")
            );
        }
        let column = |i: usize| samples.iter().map(move |sample| &sample[i]);
        self.slots.iter().enumerate().map(|(i, slot)| slot.tensor(column(i))).collect()
    }
}

impl FeedSlot {
    fn tensor<'a>(&self, items: impl Iterator<Item = &'a Item>) -> oarlock_ir::Result<Tensor> {
        by_element!(self.dtype, T => self.typed::<T>(items))
    }

    fn typed<'a, T: Element>(&self, items: impl Iterator<Item = &'a Item>) -> oarlock_ir::Result<Tensor> {
        let mut gather =
            Gather::<T> { values: Vec::new(), leaf: None, leaves: 0, lengths: vec![Vec::new(); self.lod_level] };
        for (i, item) in items.enumerate() {
            gather.add(item, 0).map_err(|wrong| {
                let what = format!("slot `{}` of sample {i}: {}", self.name, wrong.what);
                Error::new(wrong.kind, what).help(wrong.help)
            })?;
        }
        let dims = self.dims(gather.leaves, &gather.leaf.unwrap_or_default(), gather.values.len())?;
        let mut tensor = Tensor::from_slice(dims, &gather.values)
            .map_err(|e| Error::internal(format!("slot `{}`: {e}", self.name)))?;
        if self.lod_level > 0 {
            tensor.set_lod(Lod::from_lengths(&gather.lengths));
        }
        Ok(tensor)
    }

    /// The sizes of `leaves` arrays of sizes `leaf`: in the variable's shape, if that has another number of dimensions.
    fn dims(&self, leaves: usize, leaf: &[usize], values: usize) -> oarlock_ir::Result<Dims> {
        let sizes: Vec<usize> = std::iter::once(leaves).chain(leaf.iter().copied()).collect();
        let own = Dims::try_new(&sizes).map_err(|e| Error::new(Kind::Shape, format!("slot `{}`: {e}", self.name)))?;
        let Some(shape) = self.shape.as_ref().filter(|s| s.rank() != sizes.len() && s.rank() > 0) else {
            return Ok(own);
        };
        let known: usize = shape.iter().filter_map(|d| d.known()).product();
        let wanted: Vec<usize> = shape.iter().map(|d| d.known().unwrap_or(values / known.max(1))).collect();
        match Dims::try_new(&wanted) {
            Ok(dims) if dims.numel() == values => Ok(dims),
            _ => {
                Err(Error::new(Kind::Shape, format!("slot `{}`: samples of shape {own} do not fit {shape}", self.name))
                    .help("feed what the variable declares, or declare what is fed"))
            }
        }
    }
}

/// An error in an item.
struct Wrong {
    kind: Kind,
    what: String,
    help: &'static str,
}

/// The values of one slot, collected over the samples.
struct Gather<T> {
    values: Vec<T>,
    /// The sizes of the innermost arrays, which must all be the same.
    leaf: Option<Vec<usize>>,
    leaves: usize,
    /// Lengths of sequences, outermost level first.
    lengths: Vec<Vec<usize>>,
}

impl<T: Element> Gather<T> {
    /// Adds an item that is `level` sequences deep.
    fn add(&mut self, item: &Item, level: usize) -> Result<(), Wrong> {
        if level == self.lengths.len() {
            let sizes = sizes(item)?;
            self.leaf_values(item)?;
            return self.end_leaf(sizes);
        }
        match item {
            Item::List(items) => {
                self.lengths[level].push(items.len());
                items.iter().try_for_each(|item| self.add(item, level + 1))
            }
            Item::Array(array) => self.add_rows(array, array.dims(), 0, level),
            _ => {
                let what = format!("a single value, but the variable has {} levels of sequences", self.lengths.len());
                Err(Wrong { kind: Kind::Lod, what, help: "feed a list of values, even for a sequence of one" })
            }
        }
    }

    /// Adds the part of an array from element `start` on, of sizes `dims`, that is `level` sequences deep.
    fn add_rows(&mut self, array: &Tensor, dims: &[usize], start: usize, level: usize) -> Result<(), Wrong> {
        let size: usize = dims.iter().product();
        if level == self.lengths.len() {
            self.array_values(array, start..start + size)?;
            return self.end_leaf(dims.to_vec());
        }
        let Some((&rows, inner)) = dims.split_first() else {
            let what = "an array with fewer dimensions than the variable has levels of sequences".to_string();
            return Err(Wrong { kind: Kind::Lod, what, help: "feed a list of arrays" });
        };
        self.lengths[level].push(rows);
        (0..rows).try_for_each(|row| self.add_rows(array, inner, start + row * (size / rows), level + 1))
    }

    fn end_leaf(&mut self, sizes: Vec<usize>) -> Result<(), Wrong> {
        self.leaves += 1;
        match &self.leaf {
            None => self.leaf = Some(sizes),
            Some(leaf) if *leaf == sizes => {}
            Some(leaf) => {
                let what = format!("an array of sizes {sizes:?} after one of sizes {leaf:?}");
                return Err(Wrong { kind: Kind::Shape, what, help: UNEVEN });
            }
        }
        Ok(())
    }

    /// Adds the values of an innermost array.
    fn leaf_values(&mut self, item: &Item) -> Result<(), Wrong> {
        match item {
            Item::List(items) => items.iter().try_for_each(|item| self.leaf_values(item)),
            Item::Array(array) => self.array_values(array, 0..array.numel()),
            Item::Int(v) => self.push(from_int(*v), v),
            Item::Float(v) => self.push(from_float(*v), v),
            Item::Bool(v) => self.push(Some(T::from_i64((*v).into())), v),
        }
    }

    fn push(&mut self, value: Option<T>, shown: impl fmt::Display) -> Result<(), Wrong> {
        let value = value.ok_or_else(|| {
            let what = format!("{shown} does not fit into {}", T::DTYPE.name());
            Wrong { kind: Kind::Range, what, help: "declare the variable with a type that holds it" }
        })?;
        self.values.push(value);
        Ok(())
    }

    fn array_values(&mut self, array: &Tensor, range: std::ops::Range<usize>) -> Result<(), Wrong> {
        by_element!(array.dtype(), S => self.convert::<S>(array, range))
    }

    fn convert<S: Element>(&mut self, array: &Tensor, range: std::ops::Range<usize>) -> Result<(), Wrong> {
        let data = array.data::<S>().map(|d| &d[range]).unwrap_or_default();
        if S::DTYPE == T::DTYPE {
            self.values.extend_from_slice(bytemuck::cast_slice(data));
            return Ok(());
        }
        for v in data {
            match S::DTYPE.is_float() {
                true => self.push(from_float(v.to_f64()), v.to_f64())?,
                false => self.push(from_int(v.to_i64()), v.to_i64())?,
            }
        }
        Ok(())
    }
}

const UNEVEN: &str = "all samples of a slot must have one shape; sequences of different lengths need lod_level above 0";

/// The sizes of nested lists, which must be those of an array.
fn sizes(item: &Item) -> Result<Vec<usize>, Wrong> {
    let items = match item {
        Item::List(items) => items,
        Item::Array(array) => return Ok(array.dims().to_vec()),
        _ => return Ok(Vec::new()),
    };
    let mut all = vec![items.len()];
    let is_single = |item: &Item| !matches!(item, Item::List(_) | Item::Array(_));
    // Spares the usual case, a list of numbers, a look at each.
    if items.iter().all(is_single) {
        return Ok(all);
    }
    let first = sizes(&items[0])?;
    for item in &items[1..] {
        let other = sizes(item)?;
        if other != first {
            let what = format!("lists that are no array: an element of sizes {other:?} after one of sizes {first:?}");
            return Err(Wrong { kind: Kind::Shape, what, help: UNEVEN });
        }
    }
    all.extend(first);
    Ok(all)
}

/// An integer as `T`, unless that has no room for it.
fn from_int<T: Element>(v: i64) -> Option<T> {
    let t = T::from_i64(v);
    (T::DTYPE.is_float() || T::DTYPE == DType::Bool || t.to_i64() == v).then_some(t)
}

/// A number as `T`, truncated to a whole one for integers as numpy does, unless there is no room for it.
fn from_float<T: Element>(v: f64) -> Option<T> {
    let t = T::from_f64(v);
    (T::DTYPE.is_float() || T::DTYPE == DType::Bool || t.to_f64() == v.trunc()).then_some(t)
}

#[cfg(test)]
mod tests {
    use oarlock_ir::VarType;

    use super::*;

    fn var(name: &str, dtype: DType, shape: &[i64], lod: usize) -> Var {
        Var::new(name, VarType::tensor(dtype, Shape::from_i64(shape)).with_lod(lod))
    }

    fn ints(values: &[i64]) -> Item {
        Item::List(values.iter().map(|v| Item::Int(*v)).collect())
    }

    fn feed(var: &Var, items: Vec<Item>) -> oarlock_ir::Result<Tensor> {
        let samples: Vec<Vec<Item>> = items.into_iter().map(|i| vec![i]).collect();
        Ok(DataFeeder::new([var])?.feed(&samples)?.remove(0))
    }

    #[test]
    fn values_take_the_shape_of_the_variable() {
        let t = feed(&var("y", DType::I64, &[-1, 1], 0), vec![Item::Int(3), Item::Bool(true)]).unwrap();
        assert_eq!(t, Tensor::from_slice([2, 1], &[3i64, 1]).unwrap());
        let image = Item::Array(Tensor::from_slice([4], &[1u8, 2, 3, 4]).unwrap());
        let t = feed(&var("x", DType::F32, &[-1, 1, 2, 2], 0), vec![image.clone(), ints(&[5, 6, 7, 8])]).unwrap();
        assert_eq!(t, Tensor::from_slice([2, 1, 2, 2], &[1f32, 2., 3., 4., 5., 6., 7., 8.]).unwrap());
        // As many dimensions already: taken as it is.
        let t = feed(&var("x", DType::F64, &[-1, 9], 0), vec![image]).unwrap();
        assert_eq!(*t.dims(), Dims::from([1, 4]));
    }

    #[test]
    fn sequences_become_levels() {
        let t = feed(&var("w", DType::I64, &[-1, 1], 1), vec![ints(&[7, 8]), ints(&[]), ints(&[9])]).unwrap();
        assert_eq!((t.dims(), t.lod().levels()), (&Dims::from([3, 1]), &[vec![0, 2, 2, 3]][..]));
        let deep = Item::List(vec![ints(&[1]), ints(&[2, 3])]);
        let rows = Item::Array(Tensor::from_slice([2, 2], &[4i64, 5, 6, 7]).unwrap());
        let t = feed(&var("w", DType::I64, &[-1, 1], 2), vec![deep, rows]).unwrap();
        assert_eq!(t.data::<i64>().unwrap(), [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(t.lod().levels(), [vec![0, 2, 4], vec![0, 1, 3, 5, 7]]);
        let vectors = Item::List(vec![ints(&[1, 2]), ints(&[3, 4])]);
        let t = feed(&var("v", DType::F32, &[-1, 2], 1), vec![vectors]).unwrap();
        assert_eq!((t.dims(), t.lod().levels()), (&Dims::from([2, 2]), &[vec![0, 2]][..]));
    }

    #[test]
    fn errors_name_slot_and_sample() {
        let text = |v: &Var, items| feed(v, items).unwrap_err().to_string();
        let y = var("y", DType::U8, &[-1, 2], 0);
        assert_eq!(
            text(&y, vec![ints(&[1, 2]), ints(&[1, 300])]),
            "error[range]: slot `y` of sample 1: 300 does not fit into uint8\n  help: declare the variable with a \
             type that holds it"
        );
        assert!(
            text(&y, vec![ints(&[1, 2]), ints(&[1])])
                .contains("sample 1: an array of sizes [1] after one of sizes [2]")
        );
        assert!(
            text(&y, vec![Item::List(vec![ints(&[1]), ints(&[1, 2])])]).contains("sample 0: lists that are no array")
        );
        assert!(
            text(&y, vec![Item::List(vec![Item::Int(1), ints(&[1])])]).contains("sample 0: lists that are no array")
        );
        assert!(text(&y, vec![Item::Float(f64::NAN)]).contains("sample 0: NaN does not fit into uint8"));
        assert_eq!(
            text(&y, vec![Item::Int(1)]),
            "error[shape]: slot `y`: samples of shape [1] do not fit [?, 2]\n  help: feed what the variable declares, or \
             declare what is fed"
        );
        let w = var("w", DType::I64, &[-1, 1], 1);
        assert!(
            text(&w, vec![Item::Int(1)]).contains("slot `w` of sample 0: a single value, but the variable has 1 level")
        );
        let e = DataFeeder::new([&y, &w]).unwrap().feed(&[vec![Item::Int(1)]]).unwrap_err();
        assert!(e.to_string().contains("sample 0 has 1 slots, but 2 variables are fed"));
    }
}
