//! The same columns of several matrices; shared by `partial_concat` and `partial_sum`.

use oarlock_ir::{AttrView, Dim, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Sig, Traits, VarType};
use oarlock_ir::{fail, kernel};
use oarlock_tensor::Dims;

/// Adds the attributes that name the columns.
pub(crate) fn attrs(sig: Sig) -> Sig {
    sig.attr("start_index", 0, "the first column; negative ones count from the end").attr(
        "length",
        -1,
        "how many columns; negative: all from there on",
    )
}

/// Which columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stripe {
    start: i64,
    length: i64,
}

impl Stripe {
    /// Reads the attributes.
    pub(crate) fn parse(attrs: AttrView<'_>) -> Result<Stripe> {
        Ok(Stripe { start: attrs.int("start_index")?, length: attrs.int("length")? })
    }

    /// The first column and their number, in a matrix of that width; `None` if it does not have them.
    fn of(self, width: usize) -> Option<(usize, usize)> {
        let start = if self.start < 0 { self.start + width as i64 } else { self.start };
        let start = usize::try_from(start).ok().filter(|s| *s < width)?;
        let length = usize::try_from(self.length).unwrap_or(width - start);
        (start + length <= width).then_some((start, length))
    }

    /// The types of the inputs merged, and the number of columns taken of each.
    pub(crate) fn infer(self, cx: &Infer<'_>) -> Result<(VarType, Dim, usize)> {
        let all = cx.inputs("X")?;
        let Some(first) = all.first() else { fail!(Kind::Missing, "`{}` needs input `X`", cx.op().op_type) };
        let mut shape = first.shape.0.clone();
        for x in &all {
            let fits =
                x.shape.rank() == 2 && shape.len() == 2 && shape.iter().zip(x.shape.iter()).all(|(a, b)| a.fits(*b));
            if !fits {
                return Err(cx.shape_error(format!("needs matrices of one shape, not {first} and {x}")));
            }
            shape.iter_mut().zip(x.shape.iter()).for_each(|(a, b)| *a = a.or(*b));
        }
        let taken = match shape[1].known().map(|width| self.of(width)) {
            Some(Some((_, length))) => Dim::Is(length),
            None if self.length >= 0 => Dim::Is(self.length as usize),
            None => Dim::Any,
            Some(None) => return Err(cx.shape_error(format!("cannot take {} of {first}", self.words()))),
        };
        Ok((first.clone().with_shape(shape), taken, all.len()))
    }

    /// Rows and columns of the matrices, the first column taken and how many.
    pub(crate) fn measure(self, io: &Io<'_>, xs: &[In]) -> Result<Measure> {
        let Some(&slot) = xs.first() else { return Err(io.op_error(Kind::Missing, "needs input `X`")) };
        let first = *io.dense(slot)?.dims();
        for &x in xs {
            let dims = *io.dense(x)?.dims();
            if dims != first || dims.rank() != 2 {
                return Err(io.error(Kind::Shape, x, format_args!("is {dims}, but all must be matrices like {first}")));
            }
        }
        match self.of(first[1]) {
            Some((start, length)) => Ok(Measure { rows: first[0], width: first[1], start, length }),
            None => Err(io.error(Kind::Shape, slot, format_args!("is {first}: it has not {}", self.words()))),
        }
    }

    fn words(self) -> String {
        let length = if self.length < 0 { "all".to_string() } else { self.length.to_string() };
        format!("{length} columns from {} on", self.start)
    }
}

/// A stripe of matrices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measure {
    /// Rows of each matrix.
    pub(crate) rows: usize,
    /// Columns of each matrix.
    pub(crate) width: usize,
    /// The first column taken.
    pub(crate) start: usize,
    /// How many are taken.
    pub(crate) length: usize,
}

/// The gradient of both.
pub(crate) struct StripeGrad {
    pub(crate) op_type: &'static str,
    /// The result holds the columns of all matrices, not their sum.
    pub(crate) side_by_side: bool,
}

impl OpDef for StripeGrad {
    fn sig(&self) -> Sig {
        let sig = Sig::new(self.op_type, "X@GRAD = Out@GRAD in the named columns, 0 elsewhere")
            .inputs("X", "of the forward operator")
            .input("Out@GRAD", "gradient of `Out`")
            .outputs("X@GRAD", "gradients of `X`");
        attrs(sig).traits(Traits::NONE.shape_only(&["X"]))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.grads_of(&["X"])
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (xs, dout, dxs, stripe) =
            (p.inputs("X")?, p.input("Out@GRAD")?, p.outputs("X@GRAD")?, Stripe::parse(p.attrs())?);
        let parts = if self.side_by_side { xs.len() } else { 1 };
        kernel(move |io| {
            let (m, d) = (stripe.measure(io, &xs)?, io.dense(dout)?);
            if d.numel() != m.rows * m.length * parts {
                return Err(io.error(Kind::Shape, dout, format_args!("is {}, unlike the result", d.dims())));
            }
            let size = d.dtype().size();
            let length = m.length * size;
            for (n, dx) in dxs.iter().enumerate() {
                let Some(dx) = *dx else { continue };
                let mut to = io.out_sized(dx, d.dtype(), Dims::from([m.rows, m.width]))?;
                let to = to.bytes_mut();
                to.fill(0);
                for i in 0..m.rows {
                    let from = &d.bytes()[(i * parts + n % parts) * length..][..length];
                    to[(i * m.width + m.start) * size..][..length].copy_from_slice(from);
                }
            }
            Ok(())
        })
    }
}
