//! `p_norm`: the norm along an axis.

use oarlock_ir::{AttrView, Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Sig, VarType};
use oarlock_ir::{by_float, fail, kernel};
use oarlock_ops_support::int_list::axis_of;
use oarlock_tensor::{Dims, Element, Float};

pub(crate) const OPS: &[&dyn OpDef] = &[&PNorm, &GRAD];

fn with_attrs(sig: Sig) -> Sig {
    sig.attr("porder", 2.0f32, "which norm, a number above 0")
        .attr("axis", -1, "the axis; negative ones count from the end")
        .attr("keepdim", false, "keep the axis as one of size 1")
        // Fluid declares it and its CPU kernel does not read it.
        .hints(&["epsilon"])
}

struct PNorm;

impl OpDef for PNorm {
    fn sig(&self) -> Sig {
        let sig = Sig::new("p_norm", "Out = (the sum of |X| to the p, along an axis) to the 1 / p");
        with_attrs(sig.input("X", "f32 or f64").output("Out", "`X` without the axis, [1] if it has no other"))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        order(cx.attrs())?;
        let (x, axis) = (cx.float("X")?, cx.attrs().int("axis")?);
        let Some(axis) = axis_of(axis, x.shape.rank()) else {
            return Err(cx.shape_error(format!("has no axis {axis} in {}", cx.describe("X"))));
        };
        let shape = result(&x.shape, axis, cx.attrs().bool("keepdim")?, Dim::Is(1));
        cx.set("Out", VarType::tensor(x.dtype, shape));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, order) = (p.input("X")?, p.output("Out")?, order(p.attrs())?);
        let (axis, keep) = (p.attrs().int("axis")?, p.attrs().bool("keepdim")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let (tensor, p) = (io.dense(x)?, T::of(order.into()));
            let lines = Lines::of(io, x, tensor.dims(), axis)?;
            let dims = Dims::try_new(&result(tensor.dims(), lines.axis, keep, 1)).map_err(|e| io.about(x.0, e))?;
            let mut to = io.out_sized(out, T::DTYPE, dims)?;
            let (x, to) = (io.data::<T>(x, &tensor)?, io.data_mut::<T>(out, &mut to)?);
            to.fill(T::ZERO);
            lines.each(x.len(), |at, line| to[line] += x[at].abs().powf(p));
            to.iter_mut().for_each(|v| *v = v.powf(T::ONE / p));
            Ok(())
        }))
    }
}

fn order(attrs: AttrView<'_>) -> Result<f32> {
    match attrs.f32("porder")? {
        p if p > 0.0 && p.is_finite() => Ok(p),
        p => fail!(Kind::Argument, "`p_norm` needs a `porder` above 0, but it is {p}"),
    }
}

/// The sizes without the axis.
fn result<D: Copy>(x: &[D], axis: usize, keep: bool, one: D) -> Vec<D> {
    let mut sizes = x.to_vec();
    if keep || sizes.len() == 1 {
        sizes[axis] = one;
    } else {
        sizes.remove(axis);
    }
    sizes
}

/// The lines of a tensor along an axis.
struct Lines {
    axis: usize,
    size: usize,
    inner: usize,
}

impl Lines {
    fn of(io: &Io<'_>, x: In, dims: &Dims, axis: i64) -> Result<Lines> {
        match axis_of(axis, dims.rank()) {
            Some(axis) => Ok(Lines { axis, size: dims[axis], inner: dims.matrix(axis + 1).1 }),
            None => Err(io.error(Kind::Shape, x, format_args!("is {dims}, it has no axis {axis}"))),
        }
    }

    /// Calls `f` with each element and its line.
    fn each(&self, count: usize, mut f: impl FnMut(usize, usize)) {
        (0..count).for_each(|at| f(at, at / (self.size * self.inner) * self.inner + at % self.inner));
    }
}

const GRAD: GradOp = GradOp::of(&PNorm, "p_norm_grad(X, Out, Out@GRAD) -> X@GRAD")
    .doc("X@GRAD = Out@GRAD * sign(X) * (|X| / Out) to the p - 1, 0 where X is 0")
    .kernel(|p| {
        let (x, out, dout, dx) = (p.input("X")?, p.input("Out")?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
        let (order, axis) = (order(p.attrs())?, p.attrs().int("axis")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let (tensor, norm, d) = (io.dense(x)?, io.dense(out)?, io.dense(dout)?);
            let lines = Lines::of(io, x, tensor.dims(), axis)?;
            let count = tensor.numel().checked_div(lines.size).unwrap_or(0);
            if tensor.numel() > 0 && (norm.numel() != count || d.numel() != count) {
                return Err(io.error(Kind::Shape, dout, format_args!("is {}, but there are {count} norms", d.dims())));
            }
            let mut to = io.out_sized(dx, T::DTYPE, *tensor.dims())?;
            let (x, norm, d) = (io.data::<T>(x, &tensor)?, io.data::<T>(out, &norm)?, io.data::<T>(dout, &d)?);
            let (to, p) = (io.data_mut::<T>(dx, &mut to)?, T::of(order.into()));
            lines.each(x.len(), |at, line| to[at] = slope(x[at], norm[line], p) * d[line]);
            Ok(())
        }))
    });

/// The derivative of a norm by one of its elements.
fn slope<T: Float>(x: T, norm: T, p: T) -> T {
    if x == T::ZERO {
        return T::ZERO;
    }
    let size = (x.abs() / norm).powf(p - T::ONE);
    if x > T::ZERO { size } else { -size }
}

#[test]
fn p_norm() {
    use crate::testing::{check, noise, tensor};
    let x = || tensor([2, 2], &[3.0, -4.0, 5.0, 12.0]);
    check("p_norm").input("X", x()).output("Out", tensor([2], &[5.0, 13.0])).grad(&["X"]).run();
    check("p_norm")
        .input("X", x())
        .attr("porder", 1.0f32)
        .attr("axis", 0)
        .attr("keepdim", true)
        .output("Out", tensor([1, 2], &[8.0, 16.0]))
        .grad(&["X"])
        .run();
    check("p_norm")
        .input("X", noise([2, 3, 2], 1))
        .attr("porder", 3.0f32)
        .attr("axis", 1)
        .any_output("Out")
        .grad(&["X"])
        .run();
    let wrong = check("p_norm").input("X", x()).attr("porder", 0.0f32).any_output("Out").error();
    assert!(wrong.contains("`p_norm` needs a `porder` above 0, but it is 0"), "{wrong}");
}
