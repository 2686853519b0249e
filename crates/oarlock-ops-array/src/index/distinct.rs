//! What `unique` and `unique_with_counts` share: each value once, in the order of first appearance.

use std::collections::HashMap;

use oarlock_ir::{AttrView, Dim, In, Infer, Io, Kernel, Kind, Out, Prepare, Result, Sig, VarType, fail, kernel};
use oarlock_ops_support::number::{Number, by_number};
use oarlock_tensor::{DType, Dims, Element};

/// The slots and attributes of both.
pub(crate) fn sig(op_type: &'static str, doc: &'static str) -> Sig {
    Sig::new(op_type, doc)
        .input("X", "[n], numbers")
        .output("Out", "[m], each number once, in the order of first appearance")
        .output("Index", "[n], where in `Out` each number of `X` is")
        .required_attr("dtype", "element type of indices and counts: i32 or i64")
}

fn index_dtype(attrs: AttrView<'_>) -> Result<DType> {
    match attrs.dtype("dtype")? {
        d @ (DType::I32 | DType::I64) => Ok(d),
        other => fail!(Kind::DType, "indices are i32 or i64, not {other}"),
    }
}

/// Sets the outputs; of `Count` too, where it is wanted.
pub(crate) fn infer(cx: &mut Infer<'_>) -> Result<()> {
    let (x, dtype) = (cx.input("X")?, index_dtype(cx.attrs())?);
    let [n] = x.shape[..] else {
        return Err(cx.shape_error(format!("needs a list, not {}", cx.describe("X"))));
    };
    cx.set("Out", VarType::tensor(x.dtype, vec![Dim::Any]));
    cx.set("Index", VarType::tensor(dtype, vec![n]));
    cx.set("Count", VarType::tensor(dtype, vec![Dim::Any]));
    Ok(())
}

/// The kernel of both; counts are written where they are wanted.
pub(crate) fn prepare(p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
    let (x, out, index, count) = (p.input("X")?, p.output("Out")?, p.output("Index")?, p.maybe_output("Count")?);
    let dtype = index_dtype(p.attrs())?;
    by_number!(p.dtype("X")?, T => {
        let mut found = Uniques::<T>::default();
        kernel(move |io| {
            found.find(io, x)?;
            let mut to = io.out_sized(out, T::DTYPE, Dims::from([found.values.len()]))?;
            io.data_mut::<T>(out, &mut to)?.copy_from_slice(&found.values);
            write(io, index, dtype, &found.places)?;
            count.map_or(Ok(()), |count| write(io, count, dtype, &found.counts))
        })
    }, other => fail!(Kind::DType, "`{}` works on f32, f64, i32 and i64, not on {other}", p.op().op_type))
}

fn write(io: &Io<'_>, out: Out, dtype: DType, numbers: &[usize]) -> Result<()> {
    let mut to = io.out_sized(out, dtype, Dims::from([numbers.len()]))?;
    match dtype {
        DType::I32 => io.data_mut::<i32>(out, &mut to)?.iter_mut().zip(numbers).for_each(|(t, n)| *t = *n as i32),
        _ => io.data_mut::<i64>(out, &mut to)?.iter_mut().zip(numbers).for_each(|(t, n)| *t = *n as i64),
    }
    Ok(())
}

/// Values found so far; kept from run to run for its memory.
struct Uniques<T> {
    values: Vec<T>,
    counts: Vec<usize>,
    places: Vec<usize>,
    by_value: HashMap<u64, usize>,
}

impl<T> Default for Uniques<T> {
    fn default() -> Uniques<T> {
        Uniques { values: Vec::new(), counts: Vec::new(), places: Vec::new(), by_value: HashMap::new() }
    }
}

impl<T: Number> Uniques<T> {
    fn find(&mut self, io: &Io<'_>, x: In) -> Result<()> {
        let tensor = io.dense(x)?;
        self.values.clear();
        self.counts.clear();
        self.places.clear();
        self.by_value.clear();
        for &v in io.data::<T>(x, &tensor)? {
            let next = self.values.len();
            // What is no number equals nothing, not even itself.
            let place = if v.is_nan() { next } else { *self.by_value.entry(key(v)).or_insert(next) };
            if place == next {
                self.values.push(v);
                self.counts.push(0);
            }
            self.counts[place] += 1;
            self.places.push(place);
        }
        Ok(())
    }
}

/// Equal numbers have equal keys.
fn key<T: Number>(v: T) -> u64 {
    // 0 and -0 are equal; adding 0 makes them one.
    if T::DTYPE.is_float() { (v.to_f64() + 0.0).to_bits() } else { v.to_i64() as u64 }
}
