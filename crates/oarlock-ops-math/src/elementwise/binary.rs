//! Out = f(X, Y) with broadcasting, and its gradient; shared by the `elementwise_*` operators.
//!
//! An operator's file gives the formula; everything else is here.

use std::marker::PhantomData;

use oarlock_ir::{Error, Grad, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, Traits, VarType};
use oarlock_ir::{by_float, fail, kernel};
use oarlock_ops_support::broadcast::{self, HOW_TO_FIT, Spread, spread};
use oarlock_ops_support::number::{self, Number, by_number};
use oarlock_tensor::{Float, Tensor, Value, simd};

/// The formula of a binary operator.
pub(crate) trait Formula: Send + Sync + 'static {
    /// The operator's type.
    const TYPE: &'static str;
    /// The formula, for the documentation.
    const DOC: &'static str;
    /// An integer Y must not be 0.
    const DIVIDES: bool = false;
    /// X may be selected rows, if Y is one number.
    const TAKES_ROWS: bool = false;
    /// Only integers.
    const INTEGERS_ONLY: bool = false;
    /// Has no gradient, on purpose.
    const GRADIENT_FREE: bool = false;

    /// f(x, y)
    fn value<T: Number>(x: T, y: T) -> T;

    /// out = f(x, y), element by element.
    fn zip<T: Number>(out: &mut [T], x: &[T], y: &[T]) {
        number::zip(out, x, y, Self::value);
    }

    /// x = f(x, y), element by element.
    fn update<T: Number>(x: &mut [T], y: &[T]) {
        number::update(x, y, Self::value);
    }

    /// Emits the gradient operator.
    fn grad(g: &mut Grad<'_>) -> Result<()> {
        g.no_gradient()
    }
}

/// The gradient of a formula. What an operator does not need it must not use: it gets zeros instead.
pub(crate) trait Derivative: Formula {
    /// The gradient operator's type.
    const GRAD_TYPE: &'static str;
    /// The formula, for the documentation.
    const GRAD_DOC: &'static str;
    /// Needs the elements of X and Y, not only their sizes.
    const NEEDS_X: bool = false;
    /// See `NEEDS_X`.
    const NEEDS_Y: bool = false;
    /// Reads Out.
    const NEEDS_OUT: bool = false;
    /// Both gradients are that of Out.
    const PASSES_ON: bool = false;

    /// Emits the gradient of the gradient operator.
    fn second(g: &mut Grad<'_>) -> Result<()> {
        g.no_gradient()
    }

    /// The gradient of X, for the gradient `d` of one element of Out.
    fn dx<T: Float>(x: T, y: T, out: T, d: T) -> T;
    /// The gradient of Y, for the gradient `d` of one element of Out.
    fn dy<T: Float>(x: T, y: T, out: T, d: T) -> T;
}

/// Writes a [`Formula`], its [`Derivative`] if it has one, and the list of their operators. Names behind a documentation are
/// constants that are true.
macro_rules! binary {
    (
        @formula { $($more:tt)* } $name:ident: $op:literal, $doc:literal $(, $flag:ident)*;
        out($x:ident, $y:ident) = $value:expr;
        $(loops $zip:ident, $update:ident;)?
    ) => {
        struct $name;

        impl crate::elementwise::binary::Formula for $name {
            const TYPE: &'static str = $op;
            const DOC: &'static str = $doc;
            $(const $flag: bool = true;)*

            fn value<T: oarlock_ops_support::number::Number>($x: T, $y: T) -> T {
                $value
            }

            $(fn zip<T: oarlock_ops_support::number::Number>(out: &mut [T], x: &[T], y: &[T]) {
                T::$zip(out, x, y);
            }

            fn update<T: oarlock_ops_support::number::Number>(x: &mut [T], y: &[T]) {
                T::$update(x, y);
            })?

            $($more)*
        }
    };
    (
        $name:ident: $op:literal, $doc:literal $(, $flag:ident)*;
        out($x:ident, $y:ident) = $value:expr;
        $(loops $zip:ident, $update:ident;)?
        grad $grad_op:literal, $grad_doc:literal $(, $grad_flag:ident)*;
        dx($($dx_arg:pat),*) = $dx:expr;
        dy($($dy_arg:pat),*) = $dy:expr;
        $(double $second:ident;)?
    ) => {
        pub(crate) const OPS: &[&dyn oarlock_ir::OpDef] = &[
            &crate::elementwise::binary::Forward::<$name>::OP,
            &crate::elementwise::binary::Backward::<$name>::OP,
            $(&oarlock_ops_support::double_gradient::GradGrad::<$second>::OP,)?
        ];

        crate::elementwise::binary::binary! {
            @formula {
                fn grad(g: &mut oarlock_ir::Grad<'_>) -> oarlock_ir::Result<()> {
                    crate::elementwise::binary::emit_grad::<$name>(g)
                }
            }
            $name: $op, $doc $(, $flag)*;
            out($x, $y) = $value;
            $(loops $zip, $update;)?
        }

        impl crate::elementwise::binary::Derivative for $name {
            const GRAD_TYPE: &'static str = $grad_op;
            const GRAD_DOC: &'static str = $grad_doc;
            $(const $grad_flag: bool = true;)*

            fn dx<T: oarlock_tensor::Float>($($dx_arg: T),*) -> T {
                $dx
            }

            fn dy<T: oarlock_tensor::Float>($($dy_arg: T),*) -> T {
                $dy
            }

            $(fn second(g: &mut oarlock_ir::Grad<'_>) -> oarlock_ir::Result<()> {
                oarlock_ops_support::double_gradient::emit::<$second>(g)
            })?
        }
    };
    ($name:ident: $($rest:tt)*) => {
        pub(crate) const OPS: &[&dyn oarlock_ir::OpDef] = &[&crate::elementwise::binary::Forward::<$name>::OP];

        crate::elementwise::binary::binary! { @formula {} $name: $($rest)* }
    };
}
pub(crate) use binary;

/// The operator of a formula.
pub(crate) struct Forward<F>(PhantomData<F>);

/// The gradient operator of a formula.
pub(crate) struct Backward<F>(PhantomData<F>);

impl<F> Forward<F> {
    /// It.
    pub(crate) const OP: Forward<F> = Forward(PhantomData);
}

impl<F> Backward<F> {
    /// It.
    pub(crate) const OP: Backward<F> = Backward(PhantomData);
}

/// Emits the gradient operator of a formula.
pub(crate) fn emit_grad<F: Derivative>(g: &mut Grad<'_>) -> Result<()> {
    let reads: &[&str] = if F::NEEDS_OUT { &["X", "Y", "Out", "Out@GRAD"] } else { &["X", "Y", "Out@GRAD"] };
    g.emit(F::GRAD_TYPE, reads, &["X@GRAD", "Y@GRAD"])
}

/// The attributes of both.
fn with_attrs(sig: Sig) -> Sig {
    sig.attr("axis", -1, "where the shape of `Y` starts in that of `X`; -1 aligns their ends")
        .hints(&["x_data_format", "y_data_format"])
}

impl<F: Formula> OpDef for Forward<F> {
    fn sig(&self) -> Sig {
        let sig = Sig::new(F::TYPE, F::DOC)
            .input("X", "any tensor of numbers")
            .input("Y", "of the same dtype; its sizes are those of `X` from `axis` on, or 1")
            .output("Out", "of the broadcast shape, with the LoD of `X`");
        with_attrs(sig)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let out = infer_broadcast(cx)?;
        cx.set("Out", out);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y, out, axis) = (p.input("X")?, p.input("Y")?, p.output("Out")?, p.attrs().int("axis")?);
        by_number!(p.dtype("X")?, T => prepare_forward::<F, T>(x, y, out, axis), other => {
            fail!(Kind::DType, "`{}` works on f32, f64, i32 and i64, not on {other}", F::TYPE)
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        F::grad(g)
    }

    fn traits(&self) -> Traits {
        let base = if F::GRADIENT_FREE { Traits::GRADIENT_FREE } else { Traits::NONE };
        base.in_place(&[("X", "Out")])
    }
}

/// The broadcast type of X and Y.
pub(crate) fn infer_broadcast(cx: &Infer<'_>) -> Result<VarType> {
    let (x, y, axis) = (cx.input("X")?, cx.input("Y")?, cx.attrs().int("axis")?);
    if x.dtype != y.dtype {
        let what = format!("`{}` needs one dtype for {} and {}", cx.op().op_type, cx.describe("X"), cx.describe("Y"));
        return Err(Error::new(Kind::DType, what).help("cast one of them to the dtype of the other"));
    }
    match broadcast::infer(&x.shape, &y.shape, axis) {
        Some(shape) => Ok(x.with_shape(shape)),
        None => {
            let what = format!("cannot broadcast {} and {} with axis {axis}", cx.describe("X"), cx.describe("Y"));
            Err(cx.shape_error(what).help(HOW_TO_FIT))
        }
    }
}

fn prepare_forward<F: Formula, T: Number>(x: In, y: In, out: Out, axis: i64) -> Result<Box<dyn Kernel>> {
    if F::INTEGERS_ONLY && T::DTYPE.is_float() {
        fail!(Kind::DType, "`{}` works on i32 and i64, not on {}", F::TYPE, T::DTYPE);
    }
    let mut copy = Vec::new();
    kernel(move |io| {
        if F::DIVIDES {
            check_divisor::<T>(io, y)?;
        }
        if F::TAKES_ROWS && is_rows(io, x)? {
            return rows_by_number::<F, T>(io, x, y, out);
        }
        if out.is(x) { in_place::<F, T>(io, x, y, out, axis, &mut copy) } else { apart::<F, T>(io, x, y, out, axis) }
    })
}

/// Integers cannot be divided by 0; floats give infinity.
fn check_divisor<T: Number>(io: &Io<'_>, y: In) -> Result<()> {
    if T::DTYPE.is_float() {
        return Ok(());
    }
    let tensor = io.dense(y)?;
    match io.data::<T>(y, &tensor)?.iter().position(|v| *v == T::ZERO) {
        Some(at) => {
            Err(io.error(Kind::Argument, y, format_args!("is 0 at element {at}: integers cannot be divided by 0")))
        }
        None => Ok(()),
    }
}

fn is_rows(io: &Io<'_>, x: In) -> Result<bool> {
    Ok(matches!(&*io.value(x)?, Value::Rows(_)))
}

/// Every selected row by the one number of Y, as clipping by a global norm has it.
fn rows_by_number<F: Formula, T: Number>(io: &Io<'_>, x: In, y: In, out: Out) -> Result<()> {
    let y_tensor = io.dense(y)?;
    let &[factor] = io.data::<T>(y, &y_tensor)? else {
        return Err(io.error(Kind::Shape, y, "must be one number, because `X` is selected rows"));
    };
    let mut value = io.write(out)?;
    if !out.is(x) {
        value.rows_mut().copy_from(&*io.rows(x)?);
    }
    for v in io.data_mut::<T>(out, &mut value.rows_mut().value)? {
        *v = F::value(*v, factor);
    }
    Ok(())
}

fn apart<F: Formula, T: Number>(io: &Io<'_>, x: In, y: In, out: Out, axis: i64) -> Result<()> {
    let (x_tensor, y_tensor) = (io.dense(x)?, io.dense(y)?);
    let (x_data, y_data) = (io.data::<T>(x, &x_tensor)?, io.data::<T>(y, &y_tensor)?);
    let s = spread(io, x, x_tensor.dims(), y, y_tensor.dims(), axis)?;
    let mut to = io.out_sized(out, T::DTYPE, s.out)?;
    keep_lod(&mut to, &x_tensor);
    zip::<F, T>(&s, x_data, y_data, io.data_mut(out, &mut to)?);
    Ok(())
}

/// Rows of X stay rows of the result unless X itself is spread over more of them.
fn keep_lod(to: &mut Tensor, x: &Tensor) {
    if to.rows() == x.rows() {
        to.set_lod(x.lod().clone());
    }
}

fn in_place<F: Formula, T: Number>(io: &Io<'_>, x: In, y: In, out: Out, axis: i64, copy: &mut Vec<T>) -> Result<()> {
    let mut t = io.update(x, out)?;
    let y_tensor = io.dense(y)?;
    let y_data = io.data::<T>(y, &y_tensor)?;
    let s = spread(io, x, t.dims(), y, y_tensor.dims(), axis)?;
    if s.x_is_whole() {
        t.reshape(s.out).map_err(|e| io.about(x.0, e))?;
        zip_in_place::<F, T>(&s, io.data_mut(out, &mut t)?, y_data);
        return Ok(());
    }
    copy.clear();
    copy.extend_from_slice(io.data(x, &t)?);
    t.resize(T::DTYPE, s.out);
    zip::<F, T>(&s, copy, y_data, io.data_mut(out, &mut t)?);
    Ok(())
}

fn zip<F: Formula, T: Number>(s: &Spread, x: &[T], y: &[T], out: &mut [T]) {
    if !(s.x_moves && s.y_moves) {
        return zip_with(s, x, y, out, F::value);
    }
    let n = s.run;
    s.runs(|o, i, j| F::zip(&mut out[o..o + n], &x[i..i + n], &y[j..j + n]));
}

/// out = f(x, y), run by run.
pub(crate) fn zip_with<T: Copy, U>(s: &Spread, x: &[T], y: &[T], out: &mut [U], f: impl Fn(T, T) -> U) {
    let n = s.run;
    s.runs(|o, i, j| {
        let out = &mut out[o..o + n];
        match (s.x_moves, s.y_moves) {
            (true, true) => number::zip(out, &x[i..i + n], &y[j..j + n], &f),
            (true, false) => out.iter_mut().zip(&x[i..i + n]).for_each(|(o, x)| *o = f(*x, y[j])),
            _ => out.iter_mut().zip(&y[j..j + n]).for_each(|(o, y)| *o = f(x[i], *y)),
        }
    });
}

/// x = f(x, y), for an X of the result's size.
fn zip_in_place<F: Formula, T: Number>(s: &Spread, x: &mut [T], y: &[T]) {
    let n = s.run;
    s.runs(|o, _, j| {
        let x = &mut x[o..o + n];
        if s.y_moves {
            F::update(x, &y[j..j + n]);
        } else {
            x.iter_mut().for_each(|x| *x = F::value(*x, y[j]));
        }
    });
}

impl<F: Derivative> OpDef for Backward<F> {
    fn sig(&self) -> Sig {
        let reads: &[&str] = if F::NEEDS_OUT { &["X", "Y", "Out", "Out@GRAD"] } else { &["X", "Y", "Out@GRAD"] };
        Sig::new(F::GRAD_TYPE, F::GRAD_DOC).grad_of(&Forward::<F>::OP.sig(), reads, &["X@GRAD", "Y@GRAD"])
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.grads_of(&["X", "Y"])
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let slots = GradSlots {
            x: p.input("X")?,
            y: p.input("Y")?,
            out: if F::NEEDS_OUT { Some(p.input("Out")?) } else { None },
            dout: p.input("Out@GRAD")?,
            dx: p.maybe_output("X@GRAD")?,
            dy: p.maybe_output("Y@GRAD")?,
            axis: p.attrs().int("axis")?,
        };
        by_float!(p.float("X")?, T => {
            let mut scratch = Vec::new();
            kernel(move |io| slots.run::<F, T>(io, &mut scratch))
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        F::second(g)
    }

    fn traits(&self) -> Traits {
        const OVER_DOUT: Traits = Traits::NONE.in_place(&[("Out@GRAD", "X@GRAD")]);
        match (F::NEEDS_X, F::NEEDS_Y) {
            (false, false) => OVER_DOUT.shape_only(&["X", "Y"]),
            (false, true) => OVER_DOUT.shape_only(&["X"]),
            (true, false) => OVER_DOUT.shape_only(&["Y"]),
            (true, true) => OVER_DOUT,
        }
    }
}

#[derive(Clone, Copy)]
struct GradSlots {
    x: In,
    y: In,
    out: Option<In>,
    dout: In,
    dx: Option<Out>,
    dy: Option<Out>,
    axis: i64,
}

impl GradSlots {
    fn run<F: Derivative, T: Float>(&self, io: &Io<'_>, scratch: &mut Vec<T>) -> Result<()> {
        let (x, y) = (io.dense(self.x)?, io.dense(self.y)?);
        let out = self.out.map(|o| io.dense(o)).transpose()?;
        let s = spread(io, self.x, x.dims(), self.y, y.dims(), self.axis)?;
        let args = Args {
            own: F::NEEDS_X.then(|| io.data::<T>(self.x, &x)).transpose()?,
            other: F::NEEDS_Y.then(|| io.data::<T>(self.y, &y)).transpose()?,
            out: self.out.zip(out.as_ref()).map(|(slot, t)| io.data::<T>(slot, t)).transpose()?,
            zeros: &[T::ZERO; BLOCK],
            passes_on: F::PASSES_ON,
        };
        self.check_size(io, &s, args.out)?;
        // First Y, because the gradient of X may overwrite that of Out.
        if let Some(dy) = self.dy {
            let f = |y, x, out, d| F::dy(x, y, out, d);
            self.write(io, &y, dy, |d, to| args.flip().gradient(&s.flip(), d, to, f))?;
        }
        match self.dx {
            Some(dx) if dx.is(self.dout) => self.overwrite::<F, T>(io, &x, dx, &s, args, scratch),
            Some(dx) => self.write(io, &x, dx, |d, to| args.gradient(&s, d, to, F::dx)),
            None => Ok(()),
        }
    }

    /// Writes a gradient that is like `like`.
    fn write<T: Float>(&self, io: &Io<'_>, like: &Tensor, out: Out, f: impl FnOnce(&[T], &mut [T])) -> Result<()> {
        let d = io.dense(self.dout)?;
        let mut to = io.out_sized(out, T::DTYPE, *like.dims())?;
        to.set_lod(like.lod().clone());
        f(io.data(self.dout, &d)?, io.data_mut(out, &mut to)?);
        Ok(())
    }

    /// Writes the gradient of X over that of Out.
    fn overwrite<F: Derivative, T: Float>(
        &self,
        io: &Io<'_>,
        x: &Tensor,
        dx: Out,
        s: &Spread,
        args: Args<'_, T>,
        scratch: &mut Vec<T>,
    ) -> Result<()> {
        let mut to = io.update(self.dout, dx)?;
        if s.x_is_whole() {
            to.reshape(*x.dims()).map_err(|e| io.about(self.dout.0, e))?;
            args.whole(s, io.data_mut(dx, &mut to)?, F::dx);
        } else {
            scratch.clear();
            scratch.extend_from_slice(io.data(self.dout, &to)?);
            to.resize(T::DTYPE, *x.dims());
            args.gradient(s, scratch, io.data_mut(dx, &mut to)?, F::dx);
        }
        to.set_lod(x.lod().clone());
        Ok(())
    }

    fn check_size<T>(&self, io: &Io<'_>, s: &Spread, out: Option<&[T]>) -> Result<()> {
        let needed = s.out.numel();
        let found = io.dense(self.dout)?.numel();
        if found != needed || out.is_some_and(|o| o.len() != needed) {
            let what = format_args!("has {found} elements, but the forward operator's `Out` is {}", s.out);
            return Err(io.error(Kind::Shape, self.dout, what));
        }
        Ok(())
    }
}

/// The values a derivative may use: the tensor whose gradient is computed, the other one, and the result.
#[derive(Clone, Copy)]
struct Args<'a, T> {
    own: Option<&'a [T]>,
    other: Option<&'a [T]>,
    out: Option<&'a [T]>,
    /// A stand-in for the elements of a tensor that the derivative does not need.
    zeros: &'a [T; BLOCK],
    /// The gradient is that of the result.
    passes_on: bool,
}

/// Elements worked on at a time, so that what one step writes the next one finds in the cache.
const BLOCK: usize = 512;

impl<'a, T: Float> Args<'a, T> {
    fn flip(self) -> Self {
        Args { own: self.other, other: self.own, ..self }
    }

    /// Writes the gradient: f(own, other, out, d), summed where one element of `own` has part in several results.
    fn gradient(self, s: &Spread, d: &[T], to: &mut [T], f: impl Fn(T, T, T, T) -> T + Copy) {
        if s.x_is_whole() {
            to.copy_from_slice(d);
            return self.whole(s, to, f);
        }
        to.fill(T::ZERO);
        let mut terms = [T::ZERO; BLOCK];
        self.blocks(s, |o, i, j, n| {
            let mut d = &d[o..o + n];
            if !self.passes_on {
                terms[..n].copy_from_slice(d);
                self.apply(s, (o, i, j), &mut terms[..n], f);
                d = &terms[..n];
            }
            if s.x_moves {
                simd::add_assign(&mut to[i..i + n], d);
            } else {
                to[i] += simd::sum(d);
            }
        });
    }

    /// Replaces a gradient of the result, where it stands, by that of an `own` of the result's size.
    fn whole(self, s: &Spread, d: &mut [T], f: impl Fn(T, T, T, T) -> T + Copy) {
        if !self.passes_on {
            self.blocks(s, |o, i, j, n| self.apply(s, (o, i, j), &mut d[o..o + n], f));
        }
    }

    /// Runs cut into blocks: offsets in result, own and other, and the length.
    fn blocks(self, s: &Spread, mut f: impl FnMut(usize, usize, usize, usize)) {
        s.runs(|o, i, j| {
            for at in (0..s.run).step_by(BLOCK) {
                let i = if s.x_moves { i + at } else { i };
                let j = if s.y_moves { j + at } else { j };
                f(o + at, i, j, BLOCK.min(s.run - at));
            }
        });
    }

    /// d = f(own, other, out, d) for one block.
    fn apply(self, s: &Spread, (o, i, j): (usize, usize, usize), d: &mut [T], f: impl Fn(T, T, T, T) -> T) {
        let n = d.len();
        let one = |a: Option<&[T]>, at: usize| a.map_or(T::ZERO, |a| a[at]);
        let some = |a: Option<&'a [T]>, at: usize| a.map_or(&self.zeros[..n], |a| &a[at..at + n]);
        let out = some(self.out, o);
        match (s.x_moves, s.y_moves) {
            (true, true) => {
                let own = some(self.own, i);
                let other = some(self.other, j);
                for (((d, x), y), out) in d.iter_mut().zip(own).zip(other).zip(out) {
                    *d = f(*x, *y, *out, *d);
                }
            }
            (true, false) => {
                let own = some(self.own, i);
                let other = one(self.other, j);
                for ((d, x), out) in d.iter_mut().zip(own).zip(out) {
                    *d = f(*x, other, *out, *d);
                }
            }
            _ => {
                let own = one(self.own, i);
                let other = some(self.other, j);
                for ((d, y), out) in d.iter_mut().zip(other).zip(out) {
                    *d = f(own, *y, *out, *d);
                }
            }
        }
    }
}
