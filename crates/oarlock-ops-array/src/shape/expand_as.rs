//! `expand_as`: a tensor repeated along its axes until it is as large as another one.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, by_float, kernel, sig};
use oarlock_tensor::Dims;

use crate::shape::tile::{tile, tile_grad, times_to};

pub(crate) const OPS: &[&dyn OpDef] = &[&ExpandAs, &GRAD];

struct ExpandAs;

impl OpDef for ExpandAs {
    sig! {
        "expand_as": "Out = X repeated along its axes until it is as large as `target_tensor`";
        in "X": "any tensor";
        in "target_tensor": "its sizes are multiples of those of `X`";
        out "Out": "as large as `target_tensor`";
        traits Traits::NONE.shape_only(&["target_tensor"]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, target) = (cx.input("X")?, cx.input("target_tensor")?);
        let fits = |(a, b): (&Dim, &Dim)| match (a.known(), b.known()) {
            (Some(a), Some(b)) => a > 0 && b.is_multiple_of(a),
            _ => true,
        };
        if x.shape.rank() != target.shape.rank() || !x.shape.iter().zip(target.shape.iter()).all(fits) {
            let what = format!("cannot repeat {} to the size of {}", cx.describe("X"), cx.describe("target_tensor"));
            return Err(cx.shape_error(what));
        }
        cx.set("Out", x.with_shape(target.shape).with_lod(0));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, target, out) = (p.input("X")?, p.input("target_tensor")?, p.output("Out")?);
        kernel(move |io| {
            let times = times(io, x, target)?;
            tile(io, x, out, &times)
        })
    }
}

fn times(io: &Io<'_>, x: In, target: In) -> Result<Dims> {
    let (from, to) = (*io.dense(x)?.dims(), *io.dense(target)?.dims());
    times_to(&from, &to).ok_or_else(|| {
        io.error(Kind::Shape, x, format_args!("is {from}, it cannot be repeated to {to} as {} is", io.describe(target)))
    })
}

const GRAD: GradOp = GradOp::of(&ExpandAs, "expand_as_grad(X, target_tensor, Out@GRAD) -> X@GRAD")
    .doc("X@GRAD = the sum of Out@GRAD over the repetitions")
    .traits(Traits::NONE.shape_only(&["X", "target_tensor"]))
    .kernel(|p| {
        let (x, target) = (p.input("X")?, p.input("target_tensor")?);
        let (dout, dx) = (p.input("Out@GRAD")?, p.output("X@GRAD")?);
        by_float!(p.float("Out@GRAD")?, T => kernel(move |io| {
            let times = times(io, x, target)?;
            tile_grad::<T>(io, x, dout, dx, &times)
        }))
    });

#[test]
fn expand_as() {
    use crate::testing::{check, noise, tensor};
    check("expand_as")
        .input("X", tensor([1, 2], &[1.0, 2.0]))
        .input("target_tensor", noise([2, 4], 1))
        .output("Out", tensor([2, 4], &[1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0]))
        .grad(&["X"])
        .run();
    let wrong = check("expand_as").input("X", noise([2, 2], 1)).input("target_tensor", noise([2, 3], 2));
    assert_eq!(
        wrong.any_output("Out").error(),
        "error[shape]: `expand_as` cannot repeat `X` = X.0 f32[2, 2] to the size of \
         `target_tensor` = target_tensor.0 f32[2, 3]\n  at (`expand_as`, block 0, op 0)"
    );
}
