//! `linspace`: numbers at equal distances.

use oarlock_ir::{Dim, Infer, Kernel, Kind, OpDef, Prepare, Result, Traits, VarType, by_float, kernel, sig};
use oarlock_tensor::{Dims, Element, Float};

use crate::fill::shape_source::checked_dims;

pub(crate) const OPS: &[&dyn OpDef] = &[&Linspace];

struct Linspace;

impl OpDef for Linspace {
    sig! {
        "linspace": "Out = Num numbers at equal distances, the first Start, the last Stop";
        in "Start": "one number, f32 or f64";
        in "Stop": "one number of the same dtype";
        in "Num": "one integer, at least 1";
        out "Out": "[Num]";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let start = cx.float("Start")?;
        cx.integer("Num")?;
        cx.set("Out", VarType::tensor(start.dtype, vec![Dim::Any]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (start, stop, num, out) = (p.input("Start")?, p.input("Stop")?, p.input("Num")?, p.output("Out")?);
        by_float!(p.float("Start")?, T => kernel(move |io| {
            let (first, last, count) = (T::of(io.scalar(start)?), T::of(io.scalar(stop)?), io.index(num)?);
            if count < 1 {
                return Err(io.error(Kind::Argument, num, format_args!("is {count}, but at least one is needed")));
            }
            let dims: Dims = checked_dims(io, &[count])?;
            let mut to = io.out_sized(out, T::DTYPE, dims)?;
            let step = if count > 1 { (last - first) / T::of((count - 1) as f64) } else { T::ZERO };
            // Step by step rather than by a product, for the bits that saved programs are used to.
            let mut value = first;
            for to in io.data_mut::<T>(out, &mut to)? {
                *to = value;
                value += step;
            }
            Ok(())
        }))
    }
}

#[test]
fn linspace() {
    use crate::testing::{check, tensor, tensor_of};
    let linspace = |num: i32| {
        check("linspace")
            .input("Start", tensor([1], &[1.0]))
            .input("Stop", tensor([1], &[3.0]))
            .input("Num", tensor_of([1], &[num]))
    };
    linspace(5).output("Out", tensor([5], &[1.0, 1.5, 2.0, 2.5, 3.0])).run();
    linspace(1).output("Out", tensor([1], &[1.0])).run();
    assert_eq!(
        linspace(0).any_output("Out").error(),
        "error[argument]: `linspace`: input `Num` = `Num.0` is 0, but at least one is needed\n  \
         at (`linspace`, block 0, op 0)"
    );
}
