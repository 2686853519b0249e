//! `clip`: every element into an interval; of selected rows too, whose repeated rows are added first.

use oarlock_ir::{GradOp, In, Infer, Io, Kernel, OpDef, Out, Prepare, Result, Sig, Traits, by_float, kernel, sig};
use oarlock_tensor::{Float, Value};

use crate::unary::merged_rows::merged_rows;
use oarlock_ops_support::pointwise;
use oarlock_tensor::merge::RowMerger;

pub(crate) const OPS: &[&dyn OpDef] = &[&Clip, &GRAD];

fn bounds(sig: Sig) -> Sig {
    sig.optional_input("Min", "[1]; replaces `min`")
        .optional_input("Max", "[1]; replaces `max`")
        .required_attr("min", "lower bound")
        .required_attr("max", "upper bound")
}

/// The bounds, found anew in every run.
#[derive(Clone, Copy)]
struct Bounds {
    min: (Option<In>, f32),
    max: (Option<In>, f32),
}

impl Bounds {
    fn new(p: &Prepare<'_>) -> Result<Bounds> {
        let attrs = p.attrs();
        Ok(Bounds { min: (p.maybe_input("Min")?, attrs.f32("min")?), max: (p.maybe_input("Max")?, attrs.f32("max")?) })
    }

    fn get<T: Float>(self, io: &Io<'_>) -> Result<(T, T)> {
        let one = |(tensor, attr): (Option<In>, f32)| tensor.map_or(Ok(attr.into()), |t| io.scalar(t));
        Ok((T::of(one(self.min)?), T::of(one(self.max)?)))
    }
}

struct Clip;

impl OpDef for Clip {
    sig! {
        "clip": "Out = min(max(X, min), max)";
        in "X": "a tensor or selected rows";
        out "Out": "like `X`";
        with bounds;
        traits Traits::X_TO_OUT;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        pointwise::infer_like_x(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, bounds) = (p.input("X")?, p.output("Out")?, Bounds::new(p)?);
        by_float!(p.float("X")?, T => {
            let mut merger = RowMerger::<T>::default();
            kernel(move |io| {
                let (min, max) = bounds.get::<T>(io)?;
                let sparse = matches!(*io.value(x)?, Value::Rows(_));
                if sparse {
                    return clip_rows(io, x, out, &mut merger, |v| within(v, min, max));
                }
                pointwise::map(io, x, out, |v: T| within(v, min, max))
            })
        })
    }
}

/// The nearest value in the interval; NaN stays NaN.
fn within<T: Float>(v: T, min: T, max: T) -> T {
    if v < min {
        min
    } else if v > max {
        max
    } else {
        v
    }
}

fn clip_rows<T: Float>(io: &Io<'_>, x: In, out: Out, merger: &mut RowMerger<T>, f: impl Fn(T) -> T) -> Result<()> {
    let mut value = merged_rows(io, x, out, merger)?;
    for v in value.rows_mut().value.data_mut::<T>().map_err(|e| io.about(out.0, e))? {
        *v = f(*v);
    }
    Ok(())
}

const GRAD: GradOp = GradOp::of(&Clip, "clip_grad(X, Out@GRAD, Min, Max) -> X@GRAD")
    .doc("X@GRAD = Out@GRAD where min < X < max, else 0")
    .traits(Traits::NONE.in_place(&[("Out@GRAD", "X@GRAD")]))
    .kernel(|p| {
        let (x, dout, dx, bounds) = (p.input("X")?, p.input("Out@GRAD")?, p.output("X@GRAD")?, Bounds::new(p)?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let (min, max) = bounds.get::<T>(io)?;
            pointwise::zip(io, x, dout, dx, |x: T, d: T| if x > min && x < max { d } else { T::ZERO })
        }))
    });

#[test]
fn clip() {
    use crate::testing::{check, tensor};
    check("clip")
        .input("X", tensor([4], &[-2.0, -0.5, 0.25, 3.0]))
        .attr("min", -1.0f32)
        .attr("max", 0.5f32)
        .output("Out", tensor([4], &[-1.0, -0.5, 0.25, 0.5]))
        .grad(&["X"])
        .run();
    check("clip")
        .input("X", tensor([2], &[-2.0, 3.0]))
        .input("Min", tensor([1], &[-0.5]))
        .attr("min", -1.0f32)
        .attr("max", 1.0f32)
        .output("Out", tensor([2], &[-0.5, 1.0]))
        .run();
}

#[test]
fn repeated_rows_are_added_first() {
    use crate::testing::{check, tensor};
    use oarlock_tensor::SelectedRows;
    check("clip")
        .rows_input("X", &[3, 1, 3], 5, tensor([3, 1], &[0.5, -2.0, 0.25]))
        .attr("min", -1.0f32)
        .attr("max", 0.6f32)
        .output("Out", Value::Rows(SelectedRows { rows: vec![1, 3], height: 5, value: tensor([2, 1], &[-1.0, 0.6]) }))
        .run();
}
