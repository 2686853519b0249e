//! `unique`: each number once, in the order of first appearance. `unique_with_counts` also counts them.

use std::collections::HashMap;

use oarlock_ir::{AttrView, Dim, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, Traits, VarType};
use oarlock_ir::{fail, kernel};
use oarlock_ops_support::number::{Number, by_number};
use oarlock_tensor::{DType, Dims, Element};

pub(crate) const OPS: &[&dyn OpDef] =
    &[&Unique { op_type: "unique", doc: "Out = each number of X once; X = Out[Index]", counts: false }];

/// The operator.
pub(crate) struct Unique {
    pub(crate) op_type: &'static str,
    pub(crate) doc: &'static str,
    /// It has an output `Count`.
    pub(crate) counts: bool,
}

impl OpDef for Unique {
    fn sig(&self) -> Sig {
        let sig = Sig::new(self.op_type, self.doc)
            .input("X", "[n], numbers")
            .output("Out", "[m], each number once, in the order of first appearance")
            .output("Index", "[n], where in `Out` each number of `X` is")
            .required_attr("dtype", "element type of indices and counts: i32 or i64");
        if self.counts { sig.output("Count", "[m], how often each number of `Out` is in `X`") } else { sig }
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, dtype) = (cx.input("X")?, index_dtype(cx.attrs())?);
        let [n] = x.shape[..] else {
            return Err(cx.shape_error(format!("needs a list, not {}", cx.describe("X"))));
        };
        cx.set("Out", VarType::tensor(x.dtype, vec![Dim::Any]));
        cx.set("Index", VarType::tensor(dtype, vec![n]));
        cx.set("Count", VarType::tensor(dtype, vec![Dim::Any]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
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

    fn traits(&self) -> Traits {
        Traits::GRADIENT_FREE
    }
}

fn index_dtype(attrs: AttrView<'_>) -> Result<DType> {
    match attrs.dtype("dtype")? {
        d @ (DType::I32 | DType::I64) => Ok(d),
        other => fail!(Kind::DType, "indices are i32 or i64, not {other}"),
    }
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

#[test]
fn unique() {
    use crate::testing::{check, tensor, tensor_of};
    use oarlock_tensor::DType;
    let unique = || check("unique").attr("dtype", DType::I64.proto());
    unique()
        .input("X", tensor_of::<i32>([4], &[3, 1, 3, 2]))
        .output("Out", tensor_of::<i32>([3], &[3, 1, 2]))
        .output("Index", tensor_of::<i64>([4], &[0, 1, 0, 2]))
        .run();
    unique()
        .input("X", tensor([4], &[0.0, f32::NAN, -0.0, f32::NAN]))
        .any_output("Out")
        .output("Index", tensor_of::<i64>([4], &[0, 1, 0, 2]))
        .run();
    let wrong = unique().input("X", tensor([1, 1], &[0.0])).any_output("Out").any_output("Index").error();
    assert!(wrong.contains("`unique` needs a list, not `X` = X.0 f32[1, 1]"), "{wrong}");
}
