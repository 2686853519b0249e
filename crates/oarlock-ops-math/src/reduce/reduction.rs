//! Folding a tensor along some of its axes, and the gradient of that; shared by the `reduce_*` operators.
//!
//! An operator's file gives the fold; which axes go and what shape stays is here.

use std::marker::PhantomData;

use oarlock_ir::{AttrView, Dim, Grad, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, Traits, VarType};
use oarlock_ir::{by_float, fail, kernel};
use oarlock_ops_support::broadcast::Spread;
use oarlock_ops_support::double_gradient::{Places, emit_from};
use oarlock_ops_support::number::{Number, by_number, fold};
use oarlock_tensor::{B8, DType, Dims, Element, Float, Tensor, by_element};

use crate::compare::predicate::infer_bool;

/// Folds numbers.
pub(crate) trait Reduction: Send + Sync + 'static {
    /// The operator's type.
    const TYPE: &'static str;
    /// The formula, for the documentation.
    const DOC: &'static str;

    /// The fold of no elements; changes nothing it is combined with.
    fn start<T: Number>() -> T;
    /// The term of an element.
    fn term<T: Number>(x: T) -> T {
        x
    }
    /// Two folded to one.
    fn step<T: Number>(a: T, b: T) -> T;
    /// The result for the fold of `count` elements.
    fn finish<T: Number>(folded: T, _count: usize) -> T {
        folded
    }
    /// Emits the gradient operator.
    fn grad(g: &mut Grad<'_>) -> Result<()>;
}

/// The gradient of a fold.
pub(crate) trait ReductionGrad: Reduction {
    /// The gradient operator's type.
    const GRAD_TYPE: &'static str;
    /// The formula, for the documentation.
    const GRAD_DOC: &'static str;
    /// Reads the elements of X and Out, not only sizes.
    const NEEDS_VALUES: bool = false;
    /// The gradient of the gradient operator is the forward operator.
    const LINEAR: bool = false;

    /// The gradient of the element `x`, for the gradient `d` of the fold `out` of `count` elements.
    fn dx<T: Float>(x: T, out: T, d: T, count: usize) -> T;
}

/// Writes a [`Reduction`], its [`ReductionGrad`] and the list of their operators. Names behind a documentation are constants that
/// are true.
macro_rules! reduction {
    (
        $name:ident: $op:literal, $doc:literal;
        start = $start:expr;
        step($a:ident, $b:ident) = $step:expr;
        $(finish($folded:ident, $count:ident) = $finish:expr;)?
        grad $grad_op:literal, $grad_doc:literal $(, $flag:ident)*;
        dx($x:pat, $out:pat, $d:pat, $count_of:pat) = $dx:expr;
    ) => {
        pub(crate) const OPS: &[&dyn oarlock_ir::OpDef] =
            &[&crate::reduce::reduction::Reduce::<$name>::OP, &crate::reduce::reduction::ReduceGrad::<$name>::OP];

        struct $name;

        impl crate::reduce::reduction::Reduction for $name {
            const TYPE: &'static str = $op;
            const DOC: &'static str = $doc;

            fn start<T: oarlock_ops_support::number::Number>() -> T {
                $start
            }

            fn step<T: oarlock_ops_support::number::Number>($a: T, $b: T) -> T {
                $step
            }

            $(fn finish<T: oarlock_ops_support::number::Number>($folded: T, $count: usize) -> T {
                $finish
            })?

            fn grad(g: &mut oarlock_ir::Grad<'_>) -> oarlock_ir::Result<()> {
                crate::reduce::reduction::emit_grad::<$name>(g)
            }
        }

        impl crate::reduce::reduction::ReductionGrad for $name {
            const GRAD_TYPE: &'static str = $grad_op;
            const GRAD_DOC: &'static str = $grad_doc;
            $(const $flag: bool = true;)*

            fn dx<T: oarlock_tensor::Float>($x: T, $out: T, $d: T, $count_of: usize) -> T {
                $dx
            }
        }
    };
}
pub(crate) use reduction;

/// Emits the gradient operator of a fold.
pub(crate) fn emit_grad<R: ReductionGrad>(g: &mut Grad<'_>) -> Result<()> {
    let reads: &[&str] = if R::NEEDS_VALUES { &["X", "Out", "Out@GRAD"] } else { &["X", "Out@GRAD"] };
    g.emit(R::GRAD_TYPE, reads, &["X@GRAD"])
}

fn with_attrs(sig: Sig) -> Sig {
    sig.attr("dim", vec![0], "the axes that go; negative ones count from the end")
        .attr("keep_dim", false, "keep the axes that go as axes of size 1")
        .attr("reduce_all", false, "all axes go")
        .attr("in_dtype", -1, "unused: the dtype of `X` is that of its variable")
        .attr("out_dtype", -1, "dtype to compute in and of `Out`; -1 means that of `X`")
}

fn forward_sig(op_type: &'static str, doc: &'static str, x: &'static str) -> Sig {
    with_attrs(Sig::new(op_type, doc).input("X", x).output("Out", "the axes of `X` that stay, [1] if none does"))
}

/// Which axes go. Attributes parsed, negative axes not resolved: the rank may be known only when it runs.
#[derive(Debug, Clone)]
pub(crate) struct Axes {
    dim: Vec<i64>,
    keep: bool,
    all: bool,
}

impl Axes {
    fn parse(attrs: AttrView<'_>) -> Result<Axes> {
        let dim = attrs.ints("dim")?;
        let all = attrs.bool("reduce_all")? || dim.is_empty();
        Ok(Axes { dim, keep: attrs.bool("keep_dim")?, all })
    }

    /// Does this axis of a tensor of that rank go?
    fn goes(&self, axis: usize, rank: usize) -> bool {
        let same = |d: &i64| *d == axis as i64 || *d + rank as i64 == axis as i64;
        self.all || self.dim.iter().any(same)
    }

    /// An axis that a tensor of that rank does not have.
    fn wrong(&self, rank: usize) -> Option<i64> {
        let rank = rank as i64;
        self.dim.iter().copied().filter(|_| !self.all).find(|d| !(-rank..rank).contains(d))
    }

    /// The sizes that stay.
    fn shape<D: Copy>(&self, x: &[D], one: D) -> Vec<D> {
        let stay = |i: usize| if !self.goes(i, x.len()) { Some(x[i]) } else { self.keep.then_some(one) };
        let mut out: Vec<D> = (0..x.len()).filter_map(stay).collect();
        if out.is_empty() {
            out.push(one);
        }
        out
    }

    fn infer(&self, cx: &Infer<'_>, x: &VarType) -> Result<VarType> {
        let rank = x.shape.rank();
        if let Some(axis) = self.wrong(rank) {
            let what = format!("has no axis {axis} to reduce in {}", cx.describe("X"));
            return Err(cx.shape_error(what).help(format!("give axes from {} to {}", -(rank as i64), rank as i64 - 1)));
        }
        let lod = if rank > 0 && self.goes(0, rank) { 0 } else { x.lod_level };
        Ok(VarType::tensor(x.dtype, self.shape(&x.shape, Dim::Is(1))).with_lod(lod))
    }

    /// How X and Out lie to each other, and the shape of Out.
    fn spread(&self, io: &Io<'_>, x: In, dims: &Dims) -> Result<(Spread, Dims)> {
        let rank = dims.rank();
        if let Some(axis) = self.wrong(rank) {
            return Err(io.error(Kind::Shape, x, format_args!("is {dims}, it has no axis {axis} to reduce")));
        }
        let out = Dims::try_new(&self.shape(dims, 1)).map_err(|e| io.about(x.0, e))?;
        Ok((Spread::reducing(dims, |i| self.goes(i, rank)), out))
    }

    fn keeps_rows(&self, rank: usize) -> bool {
        rank > 0 && !self.goes(0, rank)
    }
}

/// The operator of a fold of numbers.
pub(crate) struct Reduce<R>(PhantomData<R>);

impl<R> Reduce<R> {
    /// It.
    pub(crate) const OP: Reduce<R> = Reduce(PhantomData);
}

/// The dtype that an attribute asks for; -1 asks for none.
fn asked_dtype(attrs: AttrView<'_>, name: &str) -> Result<Option<DType>> {
    if attrs.int(name)? < 0 { Ok(None) } else { attrs.dtype(name).map(Some) }
}

impl<R: Reduction> OpDef for Reduce<R> {
    fn traits(&self) -> Traits {
        Traits::NONE.whole_tensor()
    }

    fn sig(&self) -> Sig {
        forward_sig(R::TYPE, R::DOC, "any tensor of numbers")
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.input("X")?;
        let mut out = Axes::parse(cx.attrs())?.infer(cx, &x)?;
        if let Some(dtype) = asked_dtype(cx.attrs(), "out_dtype")? {
            out.dtype = dtype;
        }
        cx.set("Out", out);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, axes) = (p.input("X")?, p.output("Out")?, Axes::parse(p.attrs())?);
        let dtype = asked_dtype(p.attrs(), "out_dtype")?.unwrap_or(p.dtype("X")?);
        by_number!(dtype, T => {
            let mut cast = Tensor::new();
            kernel(move |io| {
                let tensor = io.dense(x)?;
                let data = in_dtype::<T>(io, x, &tensor, &mut cast)?;
                reduce(io, (x, tensor.dims()), data, out, &axes, (R::start(), R::term, R::step, R::finish))?;
                keep_lod(io, &tensor, out, &axes)
            })
        }, other => {
            fail!(Kind::DType, "`{}` works on f32, f64, i32 and i64, not on {other}", R::TYPE)
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        R::grad(g)
    }
}

/// The elements of a tensor in the dtype to compute in.
fn in_dtype<'t, T: Number>(io: &Io<'_>, x: In, from: &'t Tensor, to: &'t mut Tensor) -> Result<&'t [T]> {
    if from.dtype() == T::DTYPE {
        return io.data(x, from);
    }
    fn convert<S: Element, T: Element>(from: &[S], to: &mut [T]) {
        for (t, s) in to.iter_mut().zip(from) {
            *t = if S::DTYPE.is_float() { T::from_f64(s.to_f64()) } else { T::from_i64(s.to_i64()) };
        }
    }
    to.resize(T::DTYPE, *from.dims());
    let target = to.data_mut::<T>().map_err(|e| io.about(x.0, e))?;
    by_element!(from.dtype(), S => convert::<S, T>(io.data(x, from)?, target));
    io.data(x, to)
}

fn keep_lod(io: &Io<'_>, x: &Tensor, out: Out, axes: &Axes) -> Result<()> {
    if !x.lod().is_empty() && axes.keeps_rows(x.dims().rank()) {
        io.out(out)?.set_lod(x.lod().clone());
    }
    Ok(())
}

/// Folds `data`, the elements of `x`, into `out`.
fn reduce<T: Element>(
    io: &Io<'_>,
    (x, dims): (In, &Dims),
    data: &[T],
    out: Out,
    axes: &Axes,
    (start, term, step, finish): (T, impl Fn(T) -> T, impl Fn(T, T) -> T, impl Fn(T, usize) -> T),
) -> Result<()> {
    let (s, out_dims) = axes.spread(io, x, dims)?;
    let mut to = io.out_sized(out, T::DTYPE, out_dims)?;
    let to = io.data_mut::<T>(out, &mut to)?;
    to.fill(start);
    let n = s.run;
    s.runs(|_, i, j| {
        let data = &data[i..i + n];
        if s.y_moves {
            to[j..j + n].iter_mut().zip(data).for_each(|(t, v)| *t = step(*t, term(*v)));
        } else {
            to[j] = step(to[j], fold(data, start, &term, &step));
        }
    });
    let count = dims.numel().checked_div(to.len()).unwrap_or(0);
    to.iter_mut().for_each(|t| *t = finish(*t, count));
    Ok(())
}

/// The gradient operator of a fold.
pub(crate) struct ReduceGrad<R>(PhantomData<R>);

impl<R> ReduceGrad<R> {
    /// It.
    pub(crate) const OP: ReduceGrad<R> = ReduceGrad(PhantomData);
}

impl<R: ReductionGrad> OpDef for ReduceGrad<R> {
    fn sig(&self) -> Sig {
        let reads: &[&str] = if R::NEEDS_VALUES { &["X", "Out", "Out@GRAD"] } else { &["X", "Out@GRAD"] };
        Sig::new(R::GRAD_TYPE, R::GRAD_DOC).grad_of(&Reduce::<R>::OP.sig(), reads, &["X@GRAD"])
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.grads_of(&["X"])
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, dout, dx, axes) = (p.input("X")?, p.input("Out@GRAD")?, p.output("X@GRAD")?, Axes::parse(p.attrs())?);
        let out = if R::NEEDS_VALUES { Some(p.input("Out")?) } else { None };
        by_float!(p.float("X")?, T => {
            let (mut cast_out, mut cast_d) = (Tensor::new(), Tensor::new());
            kernel(move |io| {
                let d = io.dense(dout)?;
                let d = in_dtype::<T>(io, dout, &d, &mut cast_d)?;
                let Some(out) = out else {
                    return spread_grad::<R, T>(io, x, d, d, dx, &axes, dout);
                };
                let tensor = io.dense(out)?;
                let values = in_dtype::<T>(io, out, &tensor, &mut cast_out)?;
                spread_grad::<R, T>(io, x, values, d, dx, &axes, dout)
            })
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        if !R::LINEAR {
            return g.no_gradient();
        }
        emit_from(g, R::TYPE, &Places { reads: &[], grads: &[("X", "X@GRAD")], writes: &[("Out", "Out@GRAD")] })
    }

    fn traits(&self) -> Traits {
        if R::NEEDS_VALUES { Traits::NONE } else { Traits::NONE.shape_only(&["X"]) }
    }
}

/// X@GRAD, each element from the element of Out it was folded into.
fn spread_grad<R: ReductionGrad, T: Float>(
    io: &Io<'_>,
    x: In,
    out: &[T],
    d: &[T],
    dx: Out,
    axes: &Axes,
    dout: In,
) -> Result<()> {
    let tensor = io.dense(x)?;
    let (s, out_dims) = axes.spread(io, x, tensor.dims())?;
    if d.len() != out_dims.numel() || out.len() != d.len() {
        let what = format_args!("has {} elements, but `Out` of the forward operator is {out_dims}", d.len());
        return Err(io.error(Kind::Shape, dout, what));
    }
    let mut to = io.out_sized(dx, T::DTYPE, *tensor.dims())?;
    to.set_lod(tensor.lod().clone());
    let to = io.data_mut::<T>(dx, &mut to)?;
    if R::NEEDS_VALUES {
        to.copy_from_slice(io.data(x, &tensor)?);
    }
    let count = to.len().checked_div(d.len()).unwrap_or(0);
    let n = s.run;
    s.runs(|_, i, j| {
        let to = &mut to[i..i + n];
        if s.y_moves {
            for ((t, out), d) in to.iter_mut().zip(&out[j..j + n]).zip(&d[j..j + n]) {
                *t = R::dx(*t, *out, *d, count);
            }
        } else {
            to.iter_mut().for_each(|t| *t = R::dx(*t, out[j], d[j], count));
        }
    });
    Ok(())
}

/// The operator of a fold of truth values, without gradient.
pub(crate) struct ReduceBool {
    /// The operator's type.
    pub(crate) op_type: &'static str,
    /// The formula, for the documentation.
    pub(crate) doc: &'static str,
    /// The fold of no elements.
    pub(crate) start: bool,
    /// Two folded to one.
    pub(crate) step: fn(bool, bool) -> bool,
}

impl OpDef for ReduceBool {
    fn sig(&self) -> Sig {
        forward_sig(self.op_type, self.doc, "a bool tensor").traits(Traits::GRADIENT_FREE)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = infer_bool(cx, "X")?;
        let out = Axes::parse(cx.attrs())?.infer(cx, &x)?;
        cx.set("Out", out);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, axes) = (p.input("X")?, p.output("Out")?, Axes::parse(p.attrs())?);
        let (start, step) = (B8::from(self.start), self.step);
        kernel(move |io| {
            let tensor = io.dense(x)?;
            let data = io.data::<B8>(x, &tensor)?;
            let step = |a: B8, b: B8| B8::from(step(a.get(), b.get()));
            reduce(io, (x, tensor.dims()), data, out, &axes, (start, |v| v, step, |folded, _| folded))?;
            keep_lod(io, &tensor, out, &axes)
        })
    }
}
