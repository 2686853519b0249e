//! One number that adds up something of every element; shared by `l1_norm` and `squared_l2_norm`.

use std::marker::PhantomData;

use oarlock_ir::{Dim, Grad, Infer, Kernel, OpDef, Prepare, Result, Sig, Traits, by_float, kernel};
use oarlock_ops_support::equal_sizes;
use oarlock_ops_support::pointwise;
use oarlock_tensor::Float;

/// The term of each element.
pub(crate) trait Total: Send + Sync + 'static {
    /// Operator types: itself, its gradient.
    const TYPES: [&'static str; 2];
    /// The formulas, for the documentation.
    const DOCS: [&'static str; 2];

    /// The sum.
    fn sum<T: Float>(x: &[T]) -> T;
    /// How the sum changes with an element.
    fn slope<T: Float>(x: T) -> T;
}

/// The operator.
pub(crate) struct Totalled<S>(PhantomData<S>);
/// Its gradient.
pub(crate) struct TotalledGrad<S>(PhantomData<S>);

impl<S> Totalled<S> {
    /// It.
    pub(crate) const OP: Totalled<S> = Totalled(PhantomData);
}

impl<S> TotalledGrad<S> {
    /// It.
    pub(crate) const OP: TotalledGrad<S> = TotalledGrad(PhantomData);
}

impl<S: Total> OpDef for Totalled<S> {
    fn traits(&self) -> Traits {
        Traits::NONE.whole_tensor()
    }

    fn sig(&self) -> Sig {
        Sig::new(S::TYPES[0], S::DOCS[0]).input("X", "f32 or f64").output("Out", "[1]")
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        cx.set("Out", x.with_shape(vec![Dim::Is(1)]).with_lod(0));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out) = (p.input("X")?, p.output("Out")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let sum = S::sum(io.data::<T>(x, &*io.dense(x)?)?);
            equal_sizes::number(io, out, sum)
        }))
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit(S::TYPES[1], &["Out@GRAD", "X"], &["X@GRAD"])
    }
}

impl<S: Total> OpDef for TotalledGrad<S> {
    fn sig(&self) -> Sig {
        Sig::new(S::TYPES[1], S::DOCS[1]).grad_of(&Totalled::<S>::OP.sig(), &["X", "Out@GRAD"], &["X@GRAD"])
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        pointwise::infer_grad_like(cx, "X")
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, d, dx) = (p.input("X")?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let d = T::of(io.scalar(d)?);
            pointwise::map(io, x, dx, |x: T| d * S::slope(x))
        }))
    }
}
