//! `randint`: random whole numbers.

use oarlock_ir::{AttrView, Infer, Kernel, Kind, OpDef, Prepare, Result, Traits, fail, kernel, sig};
use oarlock_ops_support::seed::seed_or_fresh;
use oarlock_tensor::rng::{MinStd, uniform_int};
use oarlock_tensor::{DType, Element};

use crate::fill::shape_source::{self, ShapeSource};

pub(crate) const OPS: &[&dyn OpDef] = &[&Randint];

struct Randint;

/// The least number, and how far the greatest is from it.
fn range(attrs: AttrView<'_>) -> Result<(i64, u64)> {
    let (low, high) = (attrs.int("low")?, attrs.int("high")?);
    if low >= high {
        fail!(Kind::Argument, "`randint` needs low < high, but they are {low} and {high}");
    }
    Ok((low, low.abs_diff(high) - 1))
}

impl OpDef for Randint {
    sig! {
        "randint": "Out = random whole numbers, uniform in [low, high)";
        out "Out": "of `dtype` and of the shape";
        attr "low": "the least number";
        attr "high": "above the greatest number";
        attr "dtype" = DType::I64.proto(), "element type of `Out`: i32 or i64";
        attr "seed" = 0, "start of the sequence; 0 for another one in every run";
        with shape_source::shape_inputs;
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        range(cx.attrs())?;
        shape_source::infer_shape(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        match p.attrs().dtype("dtype")? {
            DType::I32 => prepare::<i32>(p),
            DType::I64 => prepare::<i64>(p),
            other => fail!(Kind::DType, "`randint` makes i32 or i64, not {other}"),
        }
    }
}

fn prepare<T: Element>(p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
    let (out, shape, seed) = (p.output("Out")?, ShapeSource::new(p)?, p.attrs().int("seed")?);
    let (low, span) = range(p.attrs())?;
    kernel(move |io| {
        let mut to = io.out_sized(out, T::DTYPE, shape.dims(io)?)?;
        let mut engine = MinStd::new(seed_or_fresh(io, seed));
        for v in io.data_mut::<T>(out, &mut to)? {
            *v = T::from_i64(low + uniform_int(&mut engine, 0, span) as i64);
        }
        Ok(())
    })
}

#[test]
fn randint() {
    use crate::testing::{check, tensor_of};
    let random = |low: i32, high: i32| check("randint").attr("low", low).attr("high", high).attr("shape", vec![6i64]);
    // As std::uniform_int_distribution gives them with std::minstd_rand.
    random(-5, 6).attr("seed", 7).output("Out", tensor_of::<i64>([6], &[-5, 1, -3, -3, 3, -2])).run();
    random(-5, 6)
        .attr("seed", -7)
        .attr("dtype", DType::I32.proto())
        .output("Out", tensor_of::<i32>([6], &[5, 1, 5, 0, -4, -5]))
        .run();
    let empty = random(3, 3).any_output("Out").error();
    assert!(empty.contains("`randint` needs low < high, but they are 3 and 3"), "{empty}");
}
