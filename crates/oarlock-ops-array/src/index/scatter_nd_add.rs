//! `scatter_nd_add`: slices added at indices along several axes.

use oarlock_ir::{GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, fail, kernel, sig};
use oarlock_ops_support::number::{Number, by_number};
use oarlock_tensor::Dims;

use super::gather_nd::slices;

pub(crate) const OPS: &[&dyn OpDef] = &[&ScatterNdAdd, &GRAD];

struct ScatterNdAdd;

impl OpDef for ScatterNdAdd {
    sig! {
        "scatter_nd_add": "Out = X with Updates added to the slices that each row of Index names";
        in "X": "any tensor of numbers";
        in "Index": "i32 or i64, [..., k]: indices along the first k axes of `X`";
        in "Updates": "the axes of `Index` but the last, then the axes of `X` from k on";
        out "Out": "like `X`";
        traits Traits::X_TO_OUT;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, index, updates) = (cx.input("X")?, cx.integer("Index")?, cx.input("Updates")?);
        let depth = index.shape.last().and_then(|d| d.known()).filter(|d| *d <= x.shape.rank());
        let needed: Option<Vec<_>> =
            depth.map(|depth| index.shape[..index.shape.rank() - 1].iter().chain(&x.shape[depth..]).copied().collect());
        // One number in all may also stand as [1].
        let fits = needed.is_some_and(|n| {
            n.is_empty()
                || n.len() == updates.shape.rank() && n.iter().zip(updates.shape.iter()).all(|(a, b)| a.fits(*b))
        });
        if !fits {
            let what = format!("cannot add {} to {}", cx.describe("Updates"), cx.describe("X"));
            let note = format!("at {}: one slice of `X` for each row of indices", cx.describe("Index"));
            return Err(cx.shape_error(what).note(note));
        }
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, index, updates, out) = (p.input("X")?, p.input("Index")?, p.input("Updates")?, p.output("Out")?);
        let mut at = Vec::new();
        by_number!(p.dtype("X")?, T => kernel(move |io| {
            let mut to = io.update(x, out)?;
            let (dims, width) = slices(io, index, to.dims(), &mut at)?;
            let values = io.dense(updates)?;
            check_count(io, updates, values.numel(), &dims)?;
            let (to, values) = (io.data_mut::<T>(out, &mut to)?, io.data::<T>(updates, &values)?);
            for (at, v) in at.iter().zip(values.chunks_exact(width.max(1))) {
                T::add_to(&mut to[at * width..][..width], v);
            }
            Ok(())
        }), other => fail!(Kind::DType, "`scatter_nd_add` works on f32, f64, i32 and i64, not on {other}"))
    }
}

fn check_count(io: &Io<'_>, updates: In, found: usize, dims: &Dims) -> Result<()> {
    if found == dims.numel() {
        return Ok(());
    }
    Err(io.error(Kind::Shape, updates, format_args!("has {found} elements, but the indices name slices {dims}")))
}

const GRAD: GradOp = GradOp::of(&ScatterNdAdd, "scatter_nd_add_grad(Index, Updates, Out@GRAD) -> X@GRAD, Updates@GRAD")
    .doc("X@GRAD = Out@GRAD; Updates@GRAD = its slices that Index names")
    .traits(Traits::NONE.in_place(&[("Out@GRAD", "X@GRAD")]).shape_only(&["Updates"]))
    .infer(|cx| {
        cx.same("X@GRAD", "Out@GRAD")?;
        cx.grads_of(&["Updates"])
    })
    .kernel(|p| {
        let (index, updates, dout) = (p.input("Index")?, p.input("Updates")?, p.input("Out@GRAD")?);
        let (dx, dupdates) = (p.maybe_output("X@GRAD")?, p.maybe_output("Updates@GRAD")?);
        let mut at = Vec::new();
        kernel(move |io| {
            // First the updates, because the gradient of X may overwrite that of Out.
            if let Some(out) = dupdates {
                let d = io.dense(dout)?;
                let (dims, width) = slices(io, index, d.dims(), &mut at)?;
                let mut to = io.out_sized(out, d.dtype(), *io.dense(updates)?.dims())?;
                check_count(io, updates, to.numel(), &dims)?;
                let width = width * d.dtype().size();
                for (to, at) in to.bytes_mut().chunks_exact_mut(width.max(1)).zip(&at) {
                    to.copy_from_slice(&d.bytes()[at * width..][..width]);
                }
            }
            if let Some(out) = dx {
                io.update(dout, out)?;
            }
            Ok(())
        })
    });

#[test]
fn scatter_nd_add() {
    use crate::testing::{check, tensor, tensor_of};
    let add = |index: &[i64]| {
        check("scatter_nd_add")
            .input("X", tensor([2, 2], &[1.0, 2.0, 3.0, 4.0]))
            .input("Index", tensor_of([index.len(), 1], index))
    };
    let updates = || tensor([2, 2], &[10.0, 20.0, 30.0, 40.0]);
    add(&[1, 1])
        .input("Updates", updates())
        .output("Out", tensor([2, 2], &[1.0, 2.0, 43.0, 64.0]))
        .grad(&["X", "Updates"])
        .run();
    let outside = add(&[0, 2]).input("Updates", updates()).any_output("Out").error();
    assert!(outside.contains("has index 2 for axis 0, but only 0 to 1 exist"), "{outside}");
    let wrong = add(&[0]).input("Updates", updates()).any_output("Out").error();
    assert!(
        wrong.contains("`scatter_nd_add` cannot add `Updates` = Updates.0 f32[2, 2] to `X` = X.0 f32[2, 2]"),
        "{wrong}"
    );
}
