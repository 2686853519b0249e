//! Operators that compute one number from one number: `Out` = f(`X`), element by element, and `X@GRAD` from `Out@GRAD`.
//!
//! An operator's file states the formula ([`Formula`]); [`Unary`] and [`UnaryGrad`] make operators of it.

use std::marker::PhantomData;

use oarlock_ir::{AttrView, Grad, In, Infer, Io, Kernel, OpDef, Out, Prepare, Result, Sig, Traits, by_float, kernel};
use oarlock_ops_support::pointwise;
use oarlock_tensor::simd::Math;
use oarlock_tensor::{DType, Element, Float};

/// A function of one number and its derivative. A value of the type holds the attributes.
pub(crate) trait Formula: Copy + Default + Send + Sync + 'static {
    /// The operator's type.
    const OP: &'static str;
    /// The gradient operator's type.
    const GRAD_OP: &'static str;
    /// The formula, for the documentation.
    const DOC: &'static str;
    /// The formula of the gradient, for the documentation.
    const GRAD_DOC: &'static str;
    /// The inputs of the gradient besides `Out@GRAD`.
    const GRAD_READS: Reads;
    /// The function for integers, where the operator takes them.
    const INTEGER: Option<fn(i64) -> i64> = None;

    /// Adds the operator's attributes to its signature.
    fn attrs(sig: Sig) -> Sig {
        sig
    }

    /// Reads the attributes.
    fn read(_attrs: &AttrView<'_>) -> Result<Self> {
        Ok(Self::default())
    }

    /// The function.
    fn value<T: Math>(self, x: T) -> T;

    /// The function of a slice, for formulas that have a faster loop than this.
    fn values<T: Math>(self, out: &mut [T], x: &[T]) {
        for (out, x) in out.iter_mut().zip(x) {
            *out = self.value(*x);
        }
    }

    /// The function of a slice, in place; the bits of [`Formula::values`].
    fn values_in_place<T: Math>(self, x: &mut [T]) {
        for x in x {
            *x = self.value(*x);
        }
    }

    /// Emits the gradient of the gradient operator.
    fn second(g: &mut Grad<'_>) -> Result<()> {
        g.no_gradient()
    }

    /// `X@GRAD` for one element of what [`Formula::GRAD_READS`] says and of `Out@GRAD`.
    fn grad<T: Math>(self, at: T, dout: T) -> T;
}

/// Writes a [`Formula`] and the list of its operators: a row per attribute, the value with its documentation, the gradient with
/// what it reads, and what else there is. Formulas name attributes as variables of the type `T`.
macro_rules! formula {
    (
        $name:ident: $op:literal, $grad_op:literal;
        $(attr $attr:ident = $default:literal, $attr_doc:literal;)*
        out($x:pat) = $value:expr, $doc:literal;
        grad $reads:ident($at:pat, $dout:pat) = $slope:expr, $grad_doc:literal;
        $(integers $integer:expr;)?
        $(loops $values:path, $values_in_place:path;)?
        $(double $second:ident;)?
    ) => {
        pub(crate) const OPS: &[&dyn oarlock_ir::OpDef] = &[
            &crate::unary::formula::Unary::<$name>::OP,
            &crate::unary::formula::UnaryGrad::<$name>::OP,
            $(&oarlock_ops_support::double_gradient::GradGrad::<$second>::OP,)?
        ];

        #[derive(Clone, Copy, Default)]
        struct $name {
            $($attr: f32,)*
        }

        #[allow(unused_variables, reason = "not every formula reads every attribute")]
        impl crate::unary::formula::Formula for $name {
            const OP: &'static str = $op;
            const GRAD_OP: &'static str = $grad_op;
            const DOC: &'static str = $doc;
            const GRAD_DOC: &'static str = $grad_doc;
            const GRAD_READS: crate::unary::formula::Reads = crate::unary::formula::Reads::$reads;
            $(const INTEGER: Option<fn(i64) -> i64> = Some($integer);)?

            fn attrs(sig: oarlock_ir::Sig) -> oarlock_ir::Sig {
                sig$(.attr(stringify!($attr), std::convert::identity::<f32>($default), $attr_doc))*
            }

            fn read(attrs: &oarlock_ir::AttrView<'_>) -> oarlock_ir::Result<Self> {
                Ok($name { $($attr: attrs.f32(stringify!($attr))?,)* })
            }

            fn value<T: oarlock_tensor::simd::Math>(self, $x: T) -> T {
                $(let $attr = T::of(self.$attr.into());)*
                $value
            }

            fn grad<T: oarlock_tensor::simd::Math>(self, $at: T, $dout: T) -> T {
                $(let $attr = T::of(self.$attr.into());)*
                $slope
            }

            $(fn values<T: oarlock_tensor::simd::Math>(self, out: &mut [T], x: &[T]) {
                $values(out, x);
            }

            fn values_in_place<T: oarlock_tensor::simd::Math>(self, x: &mut [T]) {
                $values_in_place(x);
            })?

            $(fn second(g: &mut oarlock_ir::Grad<'_>) -> oarlock_ir::Result<()> {
                oarlock_ops_support::double_gradient::emit::<$second>(g)
            })?
        }
    };
}
pub(crate) use formula;

/// The inputs of a gradient besides `Out@GRAD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reads {
    /// The forward input.
    X,
    /// The forward output, so that the input can be overwritten.
    Out,
    /// Nothing: the gradient is 0 wherever it exists.
    Nothing,
}

impl Reads {
    /// All input slots of the gradient operator, in the order saved programs have them.
    const fn slots(self) -> &'static [&'static str] {
        match self {
            Reads::X => &["Out@GRAD", "X"],
            Reads::Out => &["Out", "Out@GRAD"],
            Reads::Nothing => &["Out@GRAD"],
        }
    }

    /// The slot whose type the gradient has.
    const fn like(self) -> &'static str {
        match self {
            Reads::X => "X",
            Reads::Out => "Out",
            Reads::Nothing => "Out@GRAD",
        }
    }
}

/// The operator of a formula.
pub(crate) struct Unary<F>(PhantomData<F>);

impl<F> Unary<F> {
    /// The operator.
    pub(crate) const OP: Unary<F> = Unary(PhantomData);
}

impl<F: Formula> OpDef for Unary<F> {
    fn sig(&self) -> Sig {
        let takes = if F::INTEGER.is_some() { "numbers" } else { "f32 or f64" };
        F::attrs(Sig::new(F::OP, F::DOC).input("X", takes).output("Out", "like `X`"))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let integer = matches!(cx.input("X")?.dtype, DType::I32 | DType::I64);
        if integer && F::INTEGER.is_some() { cx.same("Out", "X") } else { pointwise::infer_like_x(cx) }
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out) = (p.input("X")?, p.output("Out")?);
        let f = F::read(&p.attrs())?;
        match (p.dtype("X")?, F::INTEGER) {
            (DType::I32, Some(int)) => kernel(move |io| map_integers::<i32>(io, x, out, int)),
            (DType::I64, Some(int)) => kernel(move |io| map_integers::<i64>(io, x, out, int)),
            _ => by_float!(p.float("X")?, T => kernel(move |io| map_floats::<T, F>(io, x, out, f))),
        }
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit(F::GRAD_OP, F::GRAD_READS.slots(), &["X@GRAD"])
    }

    fn traits(&self) -> Traits {
        Traits::X_TO_OUT
    }
}

/// Elements that one task works on.
const PIECE: usize = 1 << 15;

fn map_floats<T: Math, F: Formula>(io: &Io<'_>, x: In, out: Out, f: F) -> Result<()> {
    if out.is(x) {
        let mut t = io.update(x, out)?;
        io.pool().pieces(io.data_mut::<T>(out, &mut t)?, PIECE, |_, part| f.values_in_place(part));
        return Ok(());
    }
    let from = io.dense(x)?;
    let mut to = io.out_sized(out, T::DTYPE, *from.dims())?;
    to.set_lod(from.lod().clone());
    let from = io.data::<T>(x, &from)?;
    io.pool().pieces(io.data_mut::<T>(out, &mut to)?, PIECE, |i, part| {
        f.values(part, &from[i * PIECE..][..part.len()]);
    });
    Ok(())
}

fn map_integers<T: Element>(io: &Io<'_>, x: In, out: Out, f: fn(i64) -> i64) -> Result<()> {
    let mut t = io.update(x, out)?;
    for v in io.data_mut::<T>(out, &mut t)? {
        *v = T::from_i64(f(v.to_i64()));
    }
    Ok(())
}

/// The gradient operator of a formula.
pub(crate) struct UnaryGrad<F>(PhantomData<F>);

impl<F> UnaryGrad<F> {
    /// The operator.
    pub(crate) const OP: UnaryGrad<F> = UnaryGrad(PhantomData);
}

impl<F: Formula> OpDef for UnaryGrad<F> {
    fn sig(&self) -> Sig {
        let reads: &[&str] = match F::GRAD_READS {
            Reads::X => &["X", "Out@GRAD"],
            Reads::Out => &["Out", "Out@GRAD"],
            Reads::Nothing => &["Out@GRAD"],
        };
        Sig::new(F::GRAD_OP, F::GRAD_DOC).grad_of(&Unary::<F>::OP.sig(), reads, &["X@GRAD"])
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        pointwise::infer_grad_like(cx, F::GRAD_READS.like())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (at, dout, dx) = (p.input(F::GRAD_READS.like())?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
        let f = F::read(&p.attrs())?;
        by_float!(p.float("Out@GRAD")?, T => match F::GRAD_READS {
            Reads::Nothing => kernel(move |io| pointwise::map(io, dout, dx, |d: T| f.grad(T::ZERO, d))),
            Reads::X | Reads::Out => kernel(move |io| pointwise::zip(io, at, dout, dx, |a: T, d: T| f.grad(a, d))),
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        F::second(g)
    }

    fn traits(&self) -> Traits {
        Traits::NONE.in_place(&[("Out@GRAD", "X@GRAD")])
    }
}

/// Checks an operator on a list of numbers, and its gradient by differences.
#[cfg(test)]
#[track_caller]
pub(crate) fn check_values(op_type: &str, x: &[f32], out: &[f32]) {
    use crate::testing::{check, tensor};
    check(op_type).input("X", tensor([x.len()], x)).output("Out", tensor([out.len()], out)).grad(&["X"]).run();
}
