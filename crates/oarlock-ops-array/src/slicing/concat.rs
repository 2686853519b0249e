//! `concat`: tensors one after the other along an axis.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, Traits, fail, kernel};
use oarlock_tensor::{Dims, Lod};

use crate::slicing::axis_blocks::{Axis, block, cut, put, unknown_like};

pub(crate) const OPS: &[&dyn OpDef] = &[&Concat, &GRAD];

fn with_axis(sig: Sig) -> Sig {
    sig.optional_input("AxisTensor", "the axis as an i32 tensor of one number, instead of attribute `axis`").attr(
        "axis",
        0,
        "the axis; negative ones count from the end",
    )
}

struct Concat;

impl OpDef for Concat {
    fn sig(&self) -> Sig {
        let sig = Sig::new("concat", "Out = all X, one after the other along an axis")
            .inputs("X", "any tensors of one dtype, with the same sizes but along `axis`");
        with_axis(sig.output("Out", "as large along `axis` as all X together"))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let all = cx.inputs("X")?;
        let Some(first) = all.first() else { fail!(Kind::Missing, "`concat` needs input `X`") };
        let Some(axis) = Axis::infer(cx, first)? else {
            cx.set("Out", unknown_like(first));
            return Ok(());
        };
        let mut out = first.shape.0.clone();
        for (name, x) in cx.op().inputs.get("X").iter().zip(&all).skip(1) {
            let same_rank = x.shape.rank() == out.len();
            let fits = |(i, (a, b)): (usize, (&Dim, &Dim))| i == axis || a.fits(*b);
            if !same_rank || !out.iter().zip(x.shape.iter()).enumerate().all(fits) || x.dtype != first.dtype {
                let what = format!("cannot put {name} {x} after {first} along axis {axis}");
                return Err(cx.shape_error(what).help("dtypes, and sizes along the other axes, must be the same"));
            }
            for (i, (o, d)) in out.iter_mut().zip(x.shape.iter()).enumerate() {
                *o = if i == axis { add(*o, *d) } else { o.or(*d) };
            }
        }
        let out = first.clone().with_shape(out);
        cx.set("Out", out);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (xs, out, axis) = (p.inputs("X")?, p.output("Out")?, Axis::prepare(p)?);
        kernel(move |io| {
            let (axis, dims) = whole(io, &xs, axis)?;
            let first = io.dense(xs[0])?;
            let mut to = io.out_sized(out, first.dtype(), dims)?;
            to.set_lod(if axis == 0 { joined_lod(io, &xs)? } else { first.lod().clone() });
            let row = block(&to, axis);
            let mut at = 0;
            for &x in &xs {
                let part = io.dense(x)?;
                let block = block(&part, axis);
                put(part.bytes(), block, to.bytes_mut(), row, at);
                // What has no elements may have any shape.
                at += if part.numel() == 0 { 0 } else { block };
            }
            Ok(())
        })
    }
}

fn add(a: Dim, b: Dim) -> Dim {
    a.known().zip(b.known()).map_or(Dim::Any, |(a, b)| Dim::Is(a + b))
}

/// The axis and the shape of the result. Tensors without elements may have any shape, if one has some.
fn whole(io: &Io<'_>, xs: &[In], axis: Axis) -> Result<(usize, Dims)> {
    let Some(&first) = xs.first() else { return Err(io.op_error(Kind::Missing, "needs input `X`")) };
    let mut model = first;
    for &x in xs {
        if io.dense(model)?.numel() == 0 {
            model = x;
        }
    }
    let like = io.dense(model)?;
    let mut dims = *like.dims();
    let axis = axis.of(io, model, &dims)?;
    dims[axis] = 0;
    for &x in xs {
        let part = io.dense(x)?;
        let (own, all) = (part.dims(), like.dims());
        let fits = own.rank() == all.rank() && (0..all.rank()).all(|i| i == axis || own[i] == all[i]);
        if fits && part.dtype() == like.dtype() {
            dims[axis] += own[axis];
        } else if part.numel() > 0 || like.numel() == 0 {
            let (a, b) = (part.dtype(), like.dtype());
            let what = format_args!("is {a}{own}, which does not go with {b}{all} along axis {axis}");
            return Err(io.error(Kind::Shape, x, what));
        }
    }
    Ok((axis, dims))
}

/// The sequences of all inputs, one after the other; none if an input has none or they have different numbers of levels.
fn joined_lod(io: &Io<'_>, xs: &[In]) -> Result<Lod> {
    let mut levels: Vec<Vec<usize>> = Vec::new();
    for (i, &x) in xs.iter().enumerate() {
        let part = io.dense(x)?;
        let more = part.lod().levels();
        if i == 0 {
            levels = more.to_vec();
            continue;
        }
        if more.len() != levels.len() || levels.is_empty() {
            return Ok(Lod::NONE);
        }
        for (level, more) in levels.iter_mut().zip(more) {
            let end = level.last().copied().unwrap_or(0);
            level.extend(more.iter().skip(1).map(|o| end + o));
        }
    }
    Ok(Lod::new(levels))
}

const GRAD: GradOp = GradOp::of(&Concat, "concat_grad(X, Out@GRAD, AxisTensor) -> X@GRAD")
    .positional()
    .doc("X@GRAD = the pieces of Out@GRAD")
    .traits(Traits::NONE.shape_only(&["X"]))
    .kernel(|p| {
        let (xs, dout, dxs, axis) = (p.inputs("X")?, p.input("Out@GRAD")?, p.outputs("X@GRAD")?, Axis::prepare(p)?);
        kernel(move |io| {
            let (axis, dims) = whole(io, &xs, axis)?;
            let d = io.dense(dout)?;
            if *d.dims() != dims || dxs.len() > xs.len() {
                let what = format_args!("is {}, but the forward operator's result is {dims}", d.dims());
                return Err(io.error(Kind::Shape, dout, what));
            }
            cut(io, &d, axis, &dxs, |i| Ok(*io.dense(xs[i])?.dims()))?;
            give_lod(io, &xs, &dxs)
        })
    });

fn give_lod(io: &Io<'_>, xs: &[In], dxs: &[Option<Out>]) -> Result<()> {
    for (&x, dx) in xs.iter().zip(dxs) {
        if let Some(dx) = dx {
            io.out(*dx)?.set_lod(io.dense(x)?.lod().clone());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, tensor, tensor_of, with_lod};

    #[test]
    fn columns() {
        check("concat")
            .inputs("X", vec![tensor([2, 1], &[1.0, 4.0]), tensor([2, 2], &[2.0, 3.0, 5.0, 6.0])])
            .attr("axis", 1)
            .output("Out", tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
            .grad(&["X"])
            .run();
    }

    #[test]
    fn rows_join_their_sequences() {
        let a = with_lod(tensor([3, 1], &[1.0, 2.0, 3.0]), &[&[0, 1, 3]]);
        let b = with_lod(tensor([1, 1], &[4.0]), &[&[0, 1]]);
        let out = with_lod(tensor([4, 1], &[1.0, 2.0, 3.0, 4.0]), &[&[0, 1, 3, 4]]);
        check("concat").inputs("X", vec![a, b]).attr("axis", -2).output("Out", out).grad(&["X"]).run();
    }

    #[test]
    fn integers_and_nothing() {
        let parts = vec![tensor_of::<i64>([2], &[1, 2]), tensor_of::<i64>([0], &[]), tensor_of::<i64>([1], &[3])];
        check("concat").inputs("X", parts).output("Out", tensor_of::<i64>([3], &[1, 2, 3])).run();
    }

    #[test]
    fn parts_that_do_not_fit() {
        let parts = vec![tensor([2, 1], &[1.0; 2]), tensor([3, 1], &[1.0; 3])];
        assert_eq!(
            check("concat").inputs("X", parts).attr("axis", 1).any_output("Out").error(),
            "error[shape]: `concat` cannot put X.1 f32[3, 1] after f32[2, 1] along axis 1\n  \
             at (`concat`, block 0, op 0)\n  help: dtypes, and sizes along the other axes, must be the same"
        );
    }
}
