//! `sequence_conv`: a convolution along each sequence.

use oarlock_ir::slots;
use oarlock_ir::{Attr, AttrView, Dim, Grad, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig};
use oarlock_ir::{by_float, fail, kernel};
use oarlock_ops_support::checks;
use oarlock_ops_support::lod_rows;
use oarlock_tensor::gemm::{GemmElem, Mat, gemm};
use oarlock_tensor::{Dims, Float, Tensor, simd};

pub(crate) const OPS: &[&dyn OpDef] = &[&SequenceConv, &SEQUENCE_CONV_GRAD];

struct SequenceConv;

impl OpDef for SequenceConv {
    fn sig(&self) -> Sig {
        Sig::new(
            "sequence_conv",
            "Out[t] = (X[t + contextStart], ..., X[t + contextStart + contextLength - 1]) Filter, where rows outside the \
             innermost sequence of t are rows of PaddingData, or zeros",
        )
        .input("X", "matrix with LoD")
        .optional_input("PaddingData", "rows before the start, then rows after the end, of a sequence")
        .input("Filter", "contextLength times the width of `X`, by the width of `Out`")
        .output("Out", "a row per row of `X`, with its LoD")
        .required_attr("contextLength", "how many rows a position sees")
        .attr("contextStart", 0, "the first row it sees, relative to itself")
        .attr("contextStride", 1, "must be 1")
        .attr("paddingTrainable", false, "rows outside a sequence are `PaddingData`")
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        infer(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (conv, out) = (Conv::new(p)?, p.output("Out")?);
        by_float!(p.float("X")?, T => {
            let mut seen = Vec::<T>::new();
            kernel(move |io| conv.forward(io, out, &mut seen))
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        if matches!(g.attr("paddingTrainable"), Some(Attr::Bool(true))) {
            let reads = ["Filter", "Out@GRAD", "PaddingData", "X"];
            return g.emit("sequence_conv_grad", &reads, &["Filter@GRAD", "PaddingData@GRAD", "X@GRAD"]);
        }
        g.emit("sequence_conv_grad", &["Filter", "Out@GRAD", "X"], &["Filter@GRAD", "X@GRAD"])
    }
}

/// Inference of a convolution along sequences.
pub(crate) fn infer(cx: &mut Infer<'_>) -> Result<()> {
    let (x, filter) = (cx.float("X")?, cx.float("Filter")?);
    let context = Context::new(&cx.attrs())?;
    let [rows, width] = x.shape[..] else {
        return Err(cx.shape_error(format!("needs a matrix, but has {}", cx.describe("X"))));
    };
    let expected = oarlock_ir::product(&[width, Dim::Is(context.length)]);
    match filter.shape[..] {
        [taps, out] if taps.fits(expected) => cx.set("Out", x.with_shape(vec![rows, out])),
        _ => {
            let what = format!(
                "needs a filter of {expected} rows (contextLength times the width of `X`), but has {}",
                cx.describe("Filter")
            );
            return Err(cx.shape_error(what));
        }
    }
    Ok(())
}

/// Which rows a position sees.
#[derive(Clone, Copy)]
struct Context {
    start: i64,
    length: usize,
}

/// Where a row comes from that a position sees.
enum Source {
    Row(usize),
    /// A row before the start or after the end, by its number in the padding.
    Padding(usize),
}

impl Context {
    fn new(attrs: &AttrView<'_>) -> Result<Context> {
        if attrs.int("contextStride")? != 1 {
            fail!(
                Kind::Unsupported,
                "`sequence_conv` takes a contextStride of 1 only, not {}",
                attrs.int("contextStride")?
            );
        }
        match attrs.count("contextLength")? {
            0 => fail!(Kind::Argument, "attribute `contextLength` of `sequence_conv` must be at least 1"),
            length => Ok(Context { start: attrs.int("contextStart")?, length }),
        }
    }

    /// How many rows before the start of a sequence a position may see.
    fn before(&self) -> usize {
        self.start.min(0).unsigned_abs() as usize
    }

    /// How many rows before the start and after the end of a sequence positions may see.
    fn padding(&self) -> usize {
        self.before() + (self.start + self.length as i64 - 1).max(0) as usize
    }

    /// The row that position `t` sees as its `tap`-th row, in a sequence of these rows.
    fn source(&self, rows: &[usize], t: usize, tap: usize) -> Source {
        let at = t as i64 + self.start + tap as i64;
        if at < rows[0] as i64 {
            Source::Padding((at - rows[0] as i64 + self.before() as i64) as usize)
        } else if at < rows[1] as i64 {
            Source::Row(at as usize)
        } else {
            Source::Padding(self.before() + (at - rows[1] as i64) as usize)
        }
    }

    /// Visits every (position, tap) and what is seen there.
    fn each(&self, offsets: &[usize], mut visit: impl FnMut(usize, Source)) {
        for rows in offsets.windows(2) {
            for t in rows[0]..rows[1] {
                (0..self.length).for_each(|tap| visit(t * self.length + tap, self.source(rows, t, tap)));
            }
        }
    }
}

/// The convolution, without its bias.
#[derive(Clone, Copy)]
pub(crate) struct Conv {
    x: In,
    filter: In,
    /// Rows outside of sequences; zeros if there are none.
    padding: Option<In>,
    context: Context,
}

impl Conv {
    fn new(p: &Prepare<'_>) -> Result<Conv> {
        let trainable = p.attrs().bool("paddingTrainable")?;
        let padding = if trainable { Some(p.input("PaddingData")?) } else { None };
        Ok(Conv { x: p.input("X")?, filter: p.input("Filter")?, padding, context: Context::new(&p.attrs())? })
    }

    /// That of an operator that has zeros outside of sequences.
    pub(crate) fn zero_padded(p: &Prepare<'_>) -> Result<Conv> {
        Ok(Conv { x: p.input("X")?, filter: p.input("Filter")?, padding: None, context: Context::new(&p.attrs())? })
    }

    /// Fills `seen` with what each position sees; returns the width of the output.
    fn look<T: Float>(&self, io: &Io<'_>, x: &Tensor, filter: &Tensor, seen: &mut Vec<T>) -> Result<usize> {
        let offsets = lod_rows::offsets(io, self.x, x)?;
        let width = x.dims().matrix(1).1;
        let taps = width * self.context.length;
        let (rows, out_width) = filter.dims().matrix(1);
        if rows != taps {
            let what = format!(
                "is {}, but {} is {} and a position sees {} rows",
                filter.dims(),
                io.describe(self.x),
                x.dims(),
                self.context.length
            );
            return Err(io.error(Kind::Shape, self.filter, what));
        }
        let padding = self.padding.map(|p| io.dense(p)).transpose()?;
        let padding = match (self.padding, &padding) {
            (Some(input), Some(t)) => Some(self.padding_rows::<T>(io, input, t, width)?),
            _ => None,
        };
        let data = io.data::<T>(self.x, x)?;
        seen.resize(x.rows() * taps, T::ZERO);
        self.context.each(offsets, |i, source| {
            let to = &mut seen[i * width..][..width];
            match (source, padding) {
                (Source::Row(row), _) => to.copy_from_slice(&data[row * width..][..width]),
                (Source::Padding(row), Some(p)) => to.copy_from_slice(&p[row * width..][..width]),
                (Source::Padding(_), None) => to.fill(T::ZERO),
            }
        });
        Ok(out_width)
    }

    fn padding_rows<'t, T: Float>(&self, io: &Io<'_>, input: In, t: &'t Tensor, width: usize) -> Result<&'t [T]> {
        let rows = self.context.padding();
        if t.numel() == rows * width {
            return io.data(input, t);
        }
        let what = format!("is {}, but {rows} rows of {width} can be seen outside of a sequence", t.dims());
        Err(io.error(Kind::Shape, input, what))
    }

    /// Writes `out`; `seen` is memory that the caller keeps.
    pub(crate) fn forward<T: Float + GemmElem>(&self, io: &Io<'_>, out: Out, seen: &mut Vec<T>) -> Result<()> {
        let (x, filter) = (io.dense(self.x)?, io.dense(self.filter)?);
        let out_width = self.look(io, &x, &filter, seen)?;
        let taps = filter.dims().matrix(1).0;
        let mut to = io.out_sized(out, T::DTYPE, Dims::from([x.rows(), out_width]))?;
        to.set_lod(x.lod().clone());
        let seen = Mat::new(seen, x.rows(), taps);
        let filter = Mat::new(io.data::<T>(self.filter, &filter)?, taps, out_width);
        gemm(io.runtime().pool(), io.data_mut::<T>(out, &mut to)?, seen, filter, T::ONE, T::ZERO);
        Ok(())
    }
}

const SEQUENCE_CONV_GRAD: GradOp = GradOp::of(
    &SequenceConv,
    "sequence_conv_grad(Filter, Out@GRAD, PaddingData, X) -> Filter@GRAD, PaddingData@GRAD, X@GRAD",
)
.doc("Filter@GRAD = seen' Out@GRAD; what is seen gets Out@GRAD Filter', added up per row")
.kernel(|p| {
    let grad = ConvGrad::new(p)?;
    by_float!(p.float("X")?, T => {
        let mut seen = Vec::<T>::new();
        kernel(move |io| grad.run(io, &mut seen))
    })
});

slots! {
    struct ConvGrad(p) {
        conv: Conv = Conv::new(p)?,
        dout: input "Out@GRAD",
        dx: maybe_output "X@GRAD",
        dfilter: maybe_output "Filter@GRAD",
        dpadding: maybe_output "PaddingData@GRAD",
    }
}

impl ConvGrad {
    fn run<T: Float + GemmElem>(&self, io: &Io<'_>, seen: &mut Vec<T>) -> Result<()> {
        let (x, filter, dout) = (io.dense(self.conv.x)?, io.dense(self.conv.filter)?, io.dense(self.dout)?);
        let out_width = self.conv.look(io, &x, &filter, seen)?;
        let (rows, taps) = (x.rows(), filter.dims().matrix(1).0);
        checks::expect_elements(io, self.dout, dout.numel(), rows * out_width)?;
        let dout = Mat::new(io.data::<T>(self.dout, &dout)?, rows, out_width);
        let pool = io.runtime().pool();
        if let Some(out) = self.dfilter {
            let mut to = io.out_sized(out, T::DTYPE, *filter.dims())?;
            gemm(pool, io.data_mut::<T>(out, &mut to)?, Mat::new(seen, rows, taps).t(), dout, T::ONE, T::ZERO);
        }
        let filter = Mat::new(io.data::<T>(self.conv.filter, &filter)?, taps, out_width);
        gemm(pool, seen, dout, filter.t(), T::ONE, T::ZERO);
        self.spread(io, &x, seen)
    }

    /// Adds the gradient of what each position saw to the row it saw.
    fn spread<T: Float>(&self, io: &Io<'_>, x: &Tensor, dseen: &[T]) -> Result<()> {
        let offsets = lod_rows::offsets(io, self.conv.x, x)?;
        let width = x.dims().matrix(1).1;
        let each = |visit: &mut dyn FnMut(Source, &[T])| {
            self.conv.context.each(offsets, |i, source| visit(source, &dseen[i * width..][..width]));
        };
        if let Some(out) = self.dx {
            let mut to = io.out_sized(out, T::DTYPE, *x.dims())?;
            to.set_lod(x.lod().clone());
            let to = io.data_mut::<T>(out, &mut to)?;
            to.fill(T::ZERO);
            each(&mut |source, d| {
                if let Source::Row(row) = source {
                    simd::add_assign(&mut to[row * width..][..width], d);
                }
            });
        }
        if let Some(out) = self.dpadding {
            let mut to = io.out_sized(out, T::DTYPE, Dims::from([self.conv.context.padding(), width]))?;
            let to = io.data_mut::<T>(out, &mut to)?;
            to.fill(T::ZERO);
            each(&mut |source, d| {
                if let Source::Padding(row) = source {
                    simd::add_assign(&mut to[row * width..][..width], d);
                }
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, with_lod};

    fn conv() -> Check {
        check("sequence_conv")
            .input("X", with_lod(tensor([3, 1], &[1.0, 2.0, 3.0]), &[&[0, 2, 3]]))
            .input("Filter", tensor([3, 1], &[100.0, 10.0, 1.0]))
            .attr("contextLength", 3)
            .attr("contextStart", -1)
    }

    #[test]
    fn zeros_outside_of_sequences() {
        conv()
            .output("Out", with_lod(tensor([3, 1], &[12.0, 120.0, 30.0]), &[&[0, 2, 3]]))
            .grad(&["X", "Filter"])
            .run();
    }

    #[test]
    fn trainable_rows_outside_of_sequences() {
        conv()
            .input("PaddingData", tensor([2, 1], &[7.0, 8.0]))
            .attr("paddingTrainable", true)
            .output("Out", with_lod(tensor([3, 1], &[712.0, 128.0, 738.0]), &[&[0, 2, 3]]))
            .grad(&["X", "Filter", "PaddingData"])
            .run();
    }

    #[test]
    fn the_filter_must_fit() {
        let e = check("sequence_conv")
            .input("X", with_lod(noise([3, 2], 1), &[&[0, 3]]))
            .input("Filter", noise([3, 1], 2))
            .attr("contextLength", 3)
            .any_output("Out")
            .error();
        assert!(
            e.contains(
                "needs a filter of 6 rows (contextLength times the width of `X`), but has `Filter` = Filter.0 f32[3, 1]"
            ),
            "{e}"
        );
    }
}
