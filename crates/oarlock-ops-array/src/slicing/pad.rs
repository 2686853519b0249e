//! `pad`: a tensor with a value around it.

use oarlock_ir::{AttrView, Dim, GradOp, Infer, Kernel, Kind, OpDef, Prepare, Result, Sig, fail, kernel};
use oarlock_ops_support::sliding_window::sizes;
use oarlock_tensor::{Dims, Lod};

use crate::slicing::sub_tensor;

pub(crate) const OPS: &[&dyn OpDef] = &[&Pad, &GRAD];

fn with_attrs(sig: Sig) -> Sig {
    sig.required_attr("paddings", "how much is added before and after each axis").attr(
        "pad_value",
        0.0f32,
        "what is added",
    )
}

/// The sizes added before and after each axis.
fn paddings(attrs: &AttrView<'_>) -> Result<Vec<(usize, usize)>> {
    let all = sizes(attrs, "paddings")?;
    if all.len() % 2 != 0 {
        fail!(Kind::Argument, "attribute `paddings` has {} sizes; it needs two for each axis", all.len());
    }
    Ok(all.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
}

/// The type of a tensor with sizes changed by `change` along each axis.
fn infer(cx: &mut Infer<'_>, (from, to): (&str, &str), change: fn(usize, usize) -> Option<usize>) -> Result<()> {
    let (x, paddings) = (cx.input(from)?, paddings(&cx.attrs())?);
    let size = |(d, p): (&Dim, &(usize, usize))| match d {
        Dim::Is(n) => change(*n, p.0 + p.1).map(Dim::Is),
        Dim::Any => Some(Dim::Any),
    };
    let shape: Option<Vec<Dim>> = x.shape.iter().zip(&paddings).map(size).collect();
    match shape.filter(|_| paddings.len() == x.shape.rank()) {
        Some(shape) => cx.set(to, x.with_shape(shape).with_lod(0)),
        None => {
            let what = format_args!("has paddings {paddings:?}, which do not suit {}", cx.describe(from));
            return Err(cx.shape_error(what).help("give two sizes for each axis"));
        }
    }
    Ok(())
}

struct Pad;

impl OpDef for Pad {
    fn sig(&self) -> Sig {
        with_attrs(
            Sig::new("pad", "Out = X with `pad_value` around it").input("X", "any tensor").output("Out", "larger"),
        )
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        infer(cx, ("X", "Out"), |n, by| n.checked_add(by))
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out) = (p.input("X")?, p.output("Out")?);
        let (paddings, value) = (paddings(&p.attrs())?, p.attrs().f32("pad_value")?);
        let before: Vec<usize> = paddings.iter().map(|p| p.0).collect();
        kernel(move |io| {
            let mut large = *io.dense(x)?.dims();
            large.iter_mut().zip(&paddings).for_each(|(n, p)| *n += p.0 + p.1);
            sub_tensor::put(io, x, out, large, &before, value.into(), Lod::NONE)
        })
    }
}

const GRAD: GradOp = GradOp::of(&Pad, "pad_grad(Out@GRAD) -> X@GRAD")
    .doc("X@GRAD = Out@GRAD without what is around it")
    .infer(|cx| infer(cx, ("Out@GRAD", "X@GRAD"), usize::checked_sub))
    .kernel(|p| {
        let (dout, dx, paddings) = (p.input("Out@GRAD")?, p.output("X@GRAD")?, paddings(&p.attrs())?);
        let before: Vec<usize> = paddings.iter().map(|p| p.0).collect();
        kernel(move |io| {
            let mut small: Dims = *io.dense(dout)?.dims();
            small.iter_mut().zip(&paddings).for_each(|(n, p)| *n = n.saturating_sub(p.0 + p.1));
            sub_tensor::take(io, dout, dx, small, &before, Lod::NONE)
        })
    });

#[test]
fn values_around() {
    use crate::testing::{check, noise, tensor};
    check("pad")
        .attr("paddings", vec![1, 0, 0, 2])
        .attr("pad_value", 0.5f32)
        .input("X", tensor([1, 2], &[1.0, 2.0]))
        .output("Out", tensor([2, 4], &[0.5, 0.5, 0.5, 0.5, 1.0, 2.0, 0.5, 0.5]))
        .grad(&["X"])
        .run();
    let e = check("pad").attr("paddings", vec![1, 0]).input("X", noise([2, 2], 1)).any_output("Out").error();
    assert!(e.contains("`pad` has paddings [(1, 0)], which do not suit `X` = X.0 f32[2, 2]"), "{e}");
}
