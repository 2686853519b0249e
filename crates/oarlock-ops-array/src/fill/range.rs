//! `range`: numbers from a start to before an end.

use oarlock_ir::{Dim, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Shape, Traits, VarType, fail, kernel, sig};
use oarlock_ops_support::number::{Number, by_number};
use oarlock_tensor::{Dims, Element};

pub(crate) const OPS: &[&dyn OpDef] = &[&Range];

struct Range;

impl OpDef for Range {
    sig! {
        "range": "Out = Start, Start + Step, ... before End";
        in "Start": "one number";
        in "End": "one number of the same dtype";
        in "Step": "one number of the same dtype, not 0";
        out "Out": "[n]";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let dtype = cx.input("Start")?.dtype;
        cx.set("Out", VarType::tensor(dtype, Shape(vec![Dim::Any])));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (start, end, step, out) = (p.input("Start")?, p.input("End")?, p.input("Step")?, p.output("Out")?);
        by_number!(p.dtype("Start")?, T => kernel(move |io| {
            let mut value = one::<T>(io, start)?;
            let step_value = one::<T>(io, step)?;
            let count = count(value, one(io, end)?, step_value);
            let Some(count) = count else {
                let what = format_args!("is {step_value:?}, which does not lead from the start to the end");
                return Err(io.error(Kind::Argument, step, what));
            };
            let mut to = io.out_sized(out, T::DTYPE, Dims::from([count]))?;
            for t in io.data_mut::<T>(out, &mut to)? {
                *t = value;
                value = value.plus(step_value);
            }
            Ok(())
        }), other => fail!(Kind::DType, "`range` works on f32, f64, i32 and i64, not on {other}"))
    }
}

fn one<T: Number>(io: &Io<'_>, slot: In) -> Result<T> {
    match io.data::<T>(slot, &*io.dense(slot)?)?.first() {
        Some(v) => Ok(*v),
        None => Err(io.error(Kind::Shape, slot, "has no elements, but one is needed")),
    }
}

/// How many numbers; `None` if the step does not lead from the start to the end.
fn count<T: Number>(start: T, end: T, step: T) -> Option<usize> {
    if T::DTYPE.is_float() {
        let steps = ((end.to_f64() - start.to_f64()) / step.to_f64()).ceil();
        // Not a number, or beyond any memory: no range.
        return (0.0..1e15).contains(&steps).then_some(steps as usize);
    }
    let (way, step) = (i128::from(end.to_i64()) - i128::from(start.to_i64()), i128::from(step.to_i64()));
    let leads_there = step != 0 && (way == 0 || (way < 0) == (step < 0));
    leads_there.then(|| way.unsigned_abs().div_ceil(step.unsigned_abs()) as usize)
}

#[test]
fn range() {
    use crate::testing::{check, tensor, tensor_of};
    let integers = |start: i64, end: i64, step: i64| {
        check("range")
            .input("Start", tensor_of([1], &[start]))
            .input("End", tensor_of([1], &[end]))
            .input("Step", tensor_of([1], &[step]))
    };
    integers(1, 8, 3).output("Out", tensor_of::<i64>([3], &[1, 4, 7])).run();
    integers(3, 0, -1).output("Out", tensor_of::<i64>([3], &[3, 2, 1])).run();
    check("range")
        .input("Start", tensor([1], &[0.0]))
        .input("End", tensor([1], &[1.0]))
        .input("Step", tensor([1], &[0.4]))
        .output("Out", tensor([3], &[0.0, 0.4, 0.8]))
        .run();
    assert_eq!(
        integers(0, 3, -1).any_output("Out").error(),
        "error[argument]: `range`: input `Step` = `Step.0` is -1, which does not lead from the start to the end\n  \
         at (`range`, block 0, op 0)"
    );
}
