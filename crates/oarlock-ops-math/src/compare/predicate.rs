//! Tensors of numbers or truth values in, truth values out; shared by comparisons and logical operators.
//!
//! An operator's file gives the predicate.

use std::marker::PhantomData;

use oarlock_ir::{Dim, Error, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Shape, Sig, Traits, VarType};
use oarlock_ir::{fail, kernel};
use oarlock_ops_support::broadcast::spread;
use oarlock_ops_support::number::{Number, by_number};
use oarlock_tensor::{B8, DType, Element, Value};

use crate::elementwise::binary::{infer_broadcast, zip_with};

/// A predicate of two values.
pub(crate) trait Predicate: Send + Sync + 'static {
    /// The operator's type.
    const TYPE: &'static str;
    /// The formula, for the documentation.
    const DOC: &'static str;

    /// Does it hold?
    fn holds<T: PartialOrd>(x: T, y: T) -> bool;
}

/// Writes a [`Predicate`] and the list of its operator.
macro_rules! predicate {
    ($name:ident: $op:literal, $doc:literal, |$x:ident, $y:ident| $holds:expr) => {
        pub(crate) const OPS: &[&dyn oarlock_ir::OpDef] = &[&crate::compare::predicate::Compare::<$name>::OP];

        struct $name;

        impl crate::compare::predicate::Predicate for $name {
            const TYPE: &'static str = $op;
            const DOC: &'static str = $doc;

            fn holds<T: PartialOrd>($x: T, $y: T) -> bool {
                $holds
            }
        }
    };
}
pub(crate) use predicate;

/// The operator of a predicate.
pub(crate) struct Compare<P>(PhantomData<P>);

impl<P> Compare<P> {
    /// It.
    pub(crate) const OP: Compare<P> = Compare(PhantomData);
}

impl<P: Predicate> OpDef for Compare<P> {
    fn sig(&self) -> Sig {
        Sig::new(P::TYPE, P::DOC)
            .input("X", "any tensor of numbers or truth values")
            .input("Y", "of the same dtype; its sizes are those of `X` from `axis` on, or 1")
            .output("Out", "bool, of the broadcast shape, with the LoD of `X`")
            .attr("axis", -1, "where the shape of `Y` starts in that of `X`; -1 aligns their ends")
            .hints(&["force_cpu"])
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let out = infer_broadcast(cx)?.with_dtype(DType::Bool);
        cx.set("Out", out);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y, out, axis) = (p.input("X")?, p.input("Y")?, p.output("Out")?, p.attrs().int("axis")?);
        by_number!(p.dtype("X")?, T => kernel(move |io| compare(io, x, y, out, axis, P::holds::<T>)), other => {
            if other != DType::Bool {
                fail!(Kind::DType, "`{}` compares bool, i32, i64, f32 and f64, not {other}", P::TYPE);
            }
            kernel(move |io| compare(io, x, y, out, axis, |x: B8, y: B8| P::holds(x.get(), y.get())))
        })
    }

    fn traits(&self) -> Traits {
        Traits::GRADIENT_FREE
    }
}

fn compare<T: Element>(io: &Io<'_>, x: In, y: In, out: Out, axis: i64, holds: impl Fn(T, T) -> bool) -> Result<()> {
    let (x_tensor, y_tensor) = (io.dense(x)?, io.dense(y)?);
    let (x_data, y_data) = (io.data::<T>(x, &x_tensor)?, io.data::<T>(y, &y_tensor)?);
    let s = spread(io, x, x_tensor.dims(), y, y_tensor.dims(), axis)?;
    let mut to = io.out_sized(out, DType::Bool, s.out)?;
    if to.rows() == x_tensor.rows() {
        to.set_lod(x_tensor.lod().clone());
    }
    zip_with(&s, x_data, y_data, io.data_mut::<B8>(out, &mut to)?, |x, y| holds(x, y).into());
    Ok(())
}

/// An operator on two bool tensors of one shape.
pub(crate) struct Logical {
    /// The operator's type.
    pub(crate) op_type: &'static str,
    /// The formula, for the documentation.
    pub(crate) doc: &'static str,
    /// Does it hold?
    pub(crate) holds: fn(bool, bool) -> bool,
}

/// The type of an input that must hold truth values.
pub(crate) fn infer_bool(cx: &Infer<'_>, slot: &str) -> Result<VarType> {
    let ty = cx.input(slot)?;
    if ty.dtype == DType::Bool {
        return Ok(ty);
    }
    let what = format!("`{}` needs bool in {}", cx.op().op_type, cx.describe(slot));
    Err(Error::new(Kind::DType, what).help("compare or cast it first"))
}

impl OpDef for Logical {
    fn sig(&self) -> Sig {
        Sig::new(self.op_type, self.doc)
            .input("X", "a bool tensor")
            .input("Y", "a bool tensor of the same shape")
            .output("Out", "like `X`")
            .traits(Traits::GRADIENT_FREE)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, y) = (infer_bool(cx, "X")?, infer_bool(cx, "Y")?);
        let fits = x.shape.rank() == y.shape.rank() && x.shape.iter().zip(y.shape.iter()).all(|(a, b)| a.fits(*b));
        if !fits {
            let what = format!("needs one shape for {} and {}", cx.describe("X"), cx.describe("Y"));
            return Err(cx.shape_error(what));
        }
        let shape: Vec<Dim> = x.shape.iter().zip(y.shape.iter()).map(|(a, b)| a.or(*b)).collect();
        cx.set("Out", x.with_shape(shape));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y, out, holds) = (p.input("X")?, p.input("Y")?, p.output("Out")?, self.holds);
        kernel(move |io| {
            let (x_dims, y_dims) = (*io.dense(x)?.dims(), *io.dense(y)?.dims());
            if x_dims != y_dims {
                return Err(io.error(Kind::Shape, x, format_args!("is {x_dims}, but {} is {y_dims}", io.describe(y))));
            }
            compare(io, x, y, out, -1, |x: B8, y: B8| holds(x.get(), y.get()))
        })
    }
}

/// An operator that looks for numbers of a kind in a whole tensor, or in selected rows, and answers with one truth value.
pub(crate) struct Search {
    /// The operator's type.
    pub(crate) op_type: &'static str,
    /// The formula, for the documentation.
    pub(crate) doc: &'static str,
    /// Looks for NaN?
    pub(crate) nan: bool,
    /// Looks for infinity?
    pub(crate) infinite: bool,
    /// The answer if one is found.
    pub(crate) answer: bool,
}

/// A truth value of shape [1].
pub(crate) fn one_bool() -> VarType {
    VarType::tensor(DType::Bool, Shape(vec![Dim::Is(1)]))
}

/// Writes one truth value.
pub(crate) fn answer(io: &Io<'_>, out: Out, value: bool) -> Result<()> {
    let mut to = io.out_sized(out, DType::Bool, [1].into())?;
    io.data_mut::<B8>(out, &mut to)?[0] = value.into();
    Ok(())
}

impl OpDef for Search {
    fn sig(&self) -> Sig {
        Sig::new(self.op_type, self.doc)
            .input("X", "any tensor of numbers, or selected rows")
            .output("Out", "bool, of shape [1]")
            .traits(Traits::GRADIENT_FREE)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.set("Out", one_bool());
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, found) = (p.input("X")?, p.output("Out")?, self.answer);
        let (nan, infinite) = (self.nan, self.infinite);
        by_number!(p.dtype("X")?, T => kernel(move |io| {
            let wanted = |v: &T| (nan && Number::is_nan(*v)) || (infinite && Number::is_infinite(*v));
            let any = match &*io.value(x)? {
                Value::Rows(rows) => io.data::<T>(x, &rows.value)?.iter().any(wanted),
                _ => io.data::<T>(x, &*io.dense(x)?)?.iter().any(wanted),
            };
            answer(io, out, any == found)
        }), other => fail!(Kind::DType, "`{}` looks into f32, f64, i32 and i64, not into {other}", self.op_type))
    }
}

/// Checks a comparison of 1, 2, 3 and NaN with 2, as floats, and of 1, 2 and 3 as integers.
#[cfg(test)]
#[track_caller]
pub(crate) fn check_with_two(op_type: &str, floats: &[bool; 4], integers: &[bool; 3]) {
    use crate::testing::{check, tensor, tensor_of};
    let bools = |v: &[bool]| v.iter().map(|&b| oarlock_tensor::B8::from(b)).collect::<Vec<_>>();
    check(op_type)
        .input("X", tensor([2, 2], &[1.0, 2.0, 3.0, f32::NAN]))
        .input("Y", tensor([2], &[2.0, 2.0]))
        .output("Out", tensor_of([2, 2], &bools(floats)))
        .run();
    check(op_type)
        .input("X", tensor_of::<i64>([3], &[1, 2, 3]))
        .input("Y", tensor_of::<i64>([1], &[2]))
        .output("Out", tensor_of([3], &bools(integers)))
        .run();
}
