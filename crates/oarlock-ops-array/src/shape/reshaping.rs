//! Other sizes for the same elements: shared by `reshape`, `squeeze`, `unsqueeze` and `flatten`.
//!
//! Each exists twice: the second form also writes `XShape`, a tensor without elements that carries the sizes of `X` to the gradient,
//! so that `X` itself need not be kept.

use std::marker::PhantomData;

use oarlock_ir::{Dim, Grad, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, Traits, VarType, kernel};
use oarlock_ops_support::double_gradient::{Places, emit_from};
use oarlock_tensor::{Dims, Lod, Tensor};

/// How sizes change.
pub(crate) trait Reform: Send + Sized + 'static {
    /// Operator types: first form, its gradient, second form, its gradient.
    const TYPES: [&'static str; 4];
    /// The formula, for the documentation.
    const DOC: &'static str;
    /// The gradient of the second form's gradient, where there is one.
    const GRAD_GRAD: Option<&'static str> = None;
    /// The inputs of its first gradient operator.
    const GRAD_READS: &'static [&'static str] = &["X", "Out@GRAD"];

    /// Adds inputs and attributes.
    fn describe(sig: Sig) -> Sig;
    /// Adds what only the first gradient operator has besides `X` and `Out@GRAD`.
    fn describe_grad(sig: Sig) -> Sig {
        sig
    }
    /// The sizes, as far as they are known.
    fn infer(cx: &Infer<'_>, x: &VarType) -> Result<Vec<Dim>>;
    /// Parses the operator.
    fn prepare(p: &Prepare<'_>) -> Result<Self>;
    /// The sizes of Out.
    fn dims(&mut self, io: &Io<'_>, x: In, from: &Dims) -> Result<Dims>;
}

/// The first form.
pub(crate) struct First<R>(PhantomData<fn() -> R>);
/// The gradient of the first form.
pub(crate) struct FirstGrad<R>(PhantomData<fn() -> R>);
/// The second form.
pub(crate) struct Second<R>(PhantomData<fn() -> R>);
/// The gradient of the second form.
pub(crate) struct SecondGrad<R>(PhantomData<fn() -> R>);

macro_rules! op {
    ($($form:ident),*) => {$(
        impl<R> $form<R> {
            /// It.
            pub(crate) const OP: $form<R> = $form(PhantomData);
        }
    )*};
}
op!(First, FirstGrad, Second, SecondGrad);

/// LoD goes along if rows stay rows.
fn infer_out<R: Reform>(cx: &mut Infer<'_>) -> Result<VarType> {
    let x = cx.input("X")?;
    let shape = R::infer(cx, &x)?;
    let lod = if shape.first() == x.shape.first() { x.lod_level } else { 0 };
    cx.set("Out", x.clone().with_shape(shape).with_lod(lod));
    Ok(x)
}

fn prepare_forward<R: Reform>(p: &Prepare<'_>, xshape: Option<Out>) -> Result<Box<dyn Kernel>> {
    let (x, out) = (p.input("X")?, p.output("Out")?);
    let mut reform = R::prepare(p)?;
    kernel(move |io| {
        let (from, lod) = {
            let tensor = io.dense(x)?;
            (*tensor.dims(), tensor.lod().clone())
        };
        let to = reform.dims(io, x, &from)?;
        if let Some(xshape) = xshape {
            carry_sizes(io, x, &from, lod, xshape)?;
        }
        let mut t = io.update(x, out)?;
        t.reshape(to).map_err(|e| io.about(x.0, e))?;
        if from.first() != to.first() {
            t.set_lod(Lod::NONE);
        }
        Ok(())
    })
}

/// The shape of `XShape`: 0, then the sizes of X.
pub(crate) fn xshape_type(x: &VarType) -> VarType {
    let shape: Vec<Dim> = std::iter::once(Dim::Is(0)).chain(x.shape.iter().copied()).collect();
    x.clone().with_shape(shape)
}

/// Writes `XShape`: a tensor without elements that carries the sizes and the LoD of X.
pub(crate) fn carry_sizes(io: &Io<'_>, x: In, from: &Dims, lod: Lod, xshape: Out) -> Result<()> {
    let mut sizes = [0; oarlock_tensor::MAX_RANK + 1];
    sizes[1..=from.rank()].copy_from_slice(from);
    let dims = Dims::try_new(&sizes[..=from.rank()]).map_err(|e| io.about(x.0, e))?;
    let mut to = io.out(xshape)?;
    let dtype = io.dense(x)?.dtype();
    to.resize(dtype, dims);
    to.set_lod(lod);
    Ok(())
}

/// The sizes of X that `XShape` carries.
pub(crate) fn carried_sizes(io: &Io<'_>, xshape: In, tensor: &Tensor) -> Result<Dims> {
    match tensor.dims().split_first() {
        Some((_, sizes)) => Ok(Dims::new(sizes)),
        None => Err(io.error(Kind::Shape, xshape, "carries no sizes")),
    }
}

/// `to` = `from` with the sizes and LoD that `like` has or carries.
pub(crate) fn prepare_like(p: &Prepare<'_>, like: &str, (from, to): (&str, &str)) -> Result<Box<dyn Kernel>> {
    let (like_x, carried) = (p.input(like)?, like == "XShape");
    let (from, to) = (p.input(from)?, p.output(to)?);
    kernel(move |io| {
        let like = io.dense(like_x)?;
        let dims = if carried { carried_sizes(io, like_x, &like)? } else { *like.dims() };
        let mut t = io.update(from, to)?;
        t.reshape(dims).map_err(|e| io.about(from.0, e))?;
        t.set_lod(like.lod().clone());
        Ok(())
    })
}

const OVER_DOUT: &[(&str, &str)] = &[("Out@GRAD", "X@GRAD")];

impl<R: Reform> OpDef for First<R> {
    fn sig(&self) -> Sig {
        R::describe(Sig::new(R::TYPES[0], R::DOC).input("X", "any tensor").output("Out", "the elements of `X`"))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        infer_out::<R>(cx).map(|_| ())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        prepare_forward::<R>(p, None)
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit(R::TYPES[1], R::GRAD_READS, &["X@GRAD"])
    }

    fn traits(&self) -> Traits {
        Traits::X_TO_OUT
    }
}

impl<R: Reform> OpDef for FirstGrad<R> {
    fn sig(&self) -> Sig {
        let forward = R::describe(Sig::new(R::TYPES[0], R::DOC));
        let sig = Sig::new(R::TYPES[1], "X@GRAD = Out@GRAD with the sizes of X")
            .input("X", "of the forward operator")
            .input("Out@GRAD", "gradient of `Out`")
            .output("X@GRAD", "gradient of `X`")
            .attrs_of(&forward);
        R::describe_grad(sig)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.grads_of(&["X"])
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        prepare_like(p, "X", OVER_DOUT[0])
    }

    fn traits(&self) -> Traits {
        Traits::NONE.in_place(OVER_DOUT).shape_only(&["X", "Out"])
    }
}

impl<R: Reform> OpDef for Second<R> {
    fn sig(&self) -> Sig {
        let sig = Sig::new(R::TYPES[2], R::DOC)
            .input("X", "any tensor")
            .output("Out", "the elements of `X`")
            .optional_output("XShape", "no elements; carries the sizes of `X` to the gradient");
        R::describe(sig)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = infer_out::<R>(cx)?;
        cx.set("XShape", xshape_type(&x));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        prepare_forward::<R>(p, p.maybe_output("XShape")?)
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit(R::TYPES[3], &["XShape", "Out@GRAD"], &["X@GRAD"])
    }

    fn traits(&self) -> Traits {
        Traits::X_TO_OUT
    }
}

impl<R: Reform> OpDef for SecondGrad<R> {
    fn sig(&self) -> Sig {
        let forward = R::describe(Sig::new(R::TYPES[2], R::DOC));
        let mut sig = Sig::new(R::TYPES[3], "X@GRAD = Out@GRAD with the sizes of X")
            .input("XShape", "of the forward operator")
            .input("Out@GRAD", "gradient of `Out`")
            .output("X@GRAD", "gradient of `X`")
            .attrs_of(&forward);
        // Other releases pass the sources of the sizes along.
        for input in forward.inputs {
            sig = sig.optional_inputs(input.name, input.doc);
        }
        sig
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        infer_from_xshape(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        prepare_like(p, "XShape", OVER_DOUT[0])
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        match R::GRAD_GRAD {
            Some(op_type) => {
                let (reads, grads) = (&[("DOut", "Out@GRAD")], &[("DDX", "X@GRAD")]);
                emit_from(g, op_type, &Places { reads, grads, writes: &[("DDOut", "Out@GRAD")] })
            }
            None => g.no_gradient(),
        }
    }

    fn traits(&self) -> Traits {
        Traits::NONE.in_place(OVER_DOUT).shape_only(&["XShape"])
    }
}

/// X@GRAD has the sizes that `XShape` carries.
pub(crate) fn infer_from_xshape(cx: &mut Infer<'_>) -> Result<()> {
    let (carried, d) = (cx.input("XShape")?, cx.input("Out@GRAD")?);
    let shape = carried.shape.get(1..).unwrap_or_default().to_vec();
    cx.set("X@GRAD", VarType::tensor(d.dtype, shape).with_lod(carried.lod_level));
    Ok(())
}
