//! Operators that put the elements of images in another order: `pixel_shuffle`, `space_to_depth`, `shuffle_channel`.

use oarlock_ir::{Attr, Dim, Grad, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, Traits, kernel};
use oarlock_ops_support::strided_view::View;
use oarlock_tensor::{Dims, Element, Tensor, by_element};

/// Sizes of a batch of images.
pub(crate) type Sizes = [Dim; 4];

/// One of the operators. All of them cut sizes into factors and exchange those.
pub(crate) struct Order {
    /// The operator's type.
    pub(crate) op_type: &'static str,
    /// Its gradient operator's type.
    pub(crate) grad_type: &'static str,
    /// The formula, for the documentation.
    pub(crate) doc: &'static str,
    /// Its attribute: name, default, meaning.
    pub(crate) attr: (&'static str, Attr, &'static str),
    /// The inputs of its gradient operator.
    pub(crate) grad_reads: &'static [&'static str],
    /// The sizes of `Out` for those of `X` and the attribute; `None` if they do not fit.
    pub(crate) sizes: fn(Sizes, usize) -> Option<Sizes>,
    /// The sizes of `X` for those of `Out`.
    pub(crate) sizes_back: fn(Sizes, usize) -> Option<Sizes>,
    /// The factors of the sizes of `X`.
    pub(crate) factors: fn([usize; 4], usize) -> Dims,
    /// Their order in `Out`.
    pub(crate) order: &'static [usize],
}

/// A size times a number.
pub(crate) fn times(size: Dim, by: usize) -> Dim {
    size.known().map_or(Dim::Any, |n| Dim::Is(n * by))
}

/// A size cut into `by` parts, if it can be.
pub(crate) fn over(size: Dim, by: usize) -> Option<Dim> {
    match size {
        Dim::Is(n) => (by > 0 && n.is_multiple_of(by)).then(|| Dim::Is(n / by)),
        Dim::Any => (by > 0).then_some(Dim::Any),
    }
}

impl Order {
    fn with_attr(&self, sig: Sig) -> Sig {
        sig.attr(self.attr.0, self.attr.1.clone(), self.attr.2)
    }

    fn infer(&self, cx: &mut Infer<'_>, (input, output): (&str, &str), back: bool) -> Result<()> {
        let (x, by) = (cx.input(input)?, cx.attrs().count(self.attr.0)?);
        let sizes: Option<Sizes> = x.shape.0.as_slice().try_into().ok();
        let Some(sizes) = sizes.and_then(|s| if back { (self.sizes_back)(s, by) } else { (self.sizes)(s, by) }) else {
            let what = format_args!("cannot cut {} by `{}` {by}", cx.describe(input), self.attr.0);
            return Err(cx.shape_error(what).help(self.attr.2));
        };
        cx.set(output, x.with_shape(sizes.to_vec()).with_lod(0));
        Ok(())
    }

    fn prepare(&'static self, p: &Prepare<'_>, (from, to): (In, Out), back: bool) -> Result<Box<dyn Kernel>> {
        let by = p.attrs().count(self.attr.0)?;
        kernel(move |io| {
            let tensor = io.dense(from)?;
            by_element!(tensor.dtype(), T => self.run::<T>(io, (from, to), &tensor, by, back))
        })
    }

    fn run<T: Element>(
        &self,
        io: &Io<'_>,
        (from, to): (In, Out),
        tensor: &Tensor,
        by: usize,
        back: bool,
    ) -> Result<()> {
        let dims = tensor.dims();
        let here: Option<[usize; 4]> = dims[..].try_into().ok();
        let there = here.and_then(|s| {
            let sizes = s.map(Dim::Is);
            let found = if back { (self.sizes_back)(sizes, by)? } else { (self.sizes)(sizes, by)? };
            let known: Option<Vec<usize>> = found.iter().map(|d| d.known()).collect();
            <[usize; 4]>::try_from(known?).ok()
        });
        let Some((here, there)) = here.zip(there) else {
            let what = format_args!("has sizes {dims}, which cannot be cut by `{}` {by}", self.attr.0);
            return Err(io.error(Kind::Shape, from, what));
        };
        let view = View::whole(&(self.factors)(if back { there } else { here }, by)).permuted(self.order);
        let mut t = io.out_sized(to, T::DTYPE, Dims::from(there))?;
        let (from, to) = (io.data::<T>(from, tensor)?, io.data_mut::<T>(to, &mut t)?);
        if back {
            view.scatter(from, to)
        } else {
            view.gather(from, to)
        }
        Ok(())
    }
}

/// The operator.
pub(crate) struct Shuffle(pub(crate) &'static Order);

impl OpDef for Shuffle {
    fn sig(&self) -> Sig {
        let sig = Sig::new(self.0.op_type, self.0.doc).input("X", "[n, channels, h, w]");
        self.0.with_attr(sig.output("Out", "the elements of `X`"))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        self.0.infer(cx, ("X", "Out"), false)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        self.0.prepare(p, (p.input("X")?, p.output("Out")?), false)
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit(self.0.grad_type, self.0.grad_reads, &["X@GRAD"])
    }
}

/// Its gradient.
pub(crate) struct ShuffleGrad(pub(crate) &'static Order);

impl OpDef for ShuffleGrad {
    fn sig(&self) -> Sig {
        Sig::new(self.0.grad_type, "X@GRAD = the elements of Out@GRAD put back")
            .grad_of(&Shuffle(self.0).sig(), &["X?", "Out@GRAD"], &["X@GRAD"])
            .traits(Traits::NONE.shape_only(&["X"]))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        self.0.infer(cx, ("Out@GRAD", "X@GRAD"), true)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        self.0.prepare(p, (p.input("Out@GRAD")?, p.output("X@GRAD")?), true)
    }
}
