//! `match_matrix_tensor`: for each pair of sequences, how well every row of one matches every row of the other.

use oarlock_ir::{
    Dim, GradOp, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, VarType, by_float, fail, kernel, sig,
};
use oarlock_ir::{In, slots};
use oarlock_ops_support::{checks, lod_rows};
use oarlock_tensor::gemm::{GemmElem, Mat, gemm};
use oarlock_tensor::{Dims, Float, Lod, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&MatchMatrixTensor, &MATCH_MATRIX_TENSOR_GRAD];

struct MatchMatrixTensor;

impl OpDef for MatchMatrixTensor {
    sig! {
        "match_matrix_tensor":
            "for each pair of sequences x of X and y of Y, dim_t matrices one after the other: the t-th is x W[:, t, :] y^T, row \
             after row";
        in "X": "[rows, width of x], with a LoD";
        in "Y": "[rows, width of y], with a LoD of as many sequences";
        in "W": "[width of x, dim_t, width of y]";
        out "Out": "[elements of all matrices, 1], with a LoD of one sequence per pair";
        out "Tmp": "[elements, 1], X W, for the gradient";
        attr "dim_t" = 1, "matrices of a pair";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, y, w) = (cx.float("X")?, cx.float("Y")?, cx.float("W")?);
        let channels = cx.attrs().count("dim_t")?;
        let fits = match (&x.shape[..], &y.shape[..], &w.shape[..]) {
            ([_, left], [_, right], [a, t, b]) => left.fits(*a) && right.fits(*b) && t.fits(Dim::Is(channels)),
            _ => false,
        };
        if !fits {
            let all = ["X", "Y", "W"].map(|slot| cx.describe(slot)).join(", ");
            let note = format!("W is [width of X, {channels}, width of Y], where {channels} is `dim_t`");
            return Err(cx.shape_error(format_args!("cannot use {all} together")).note(note));
        }
        if x.lod_level == 0 || y.lod_level == 0 {
            fail!(
                Kind::Lod,
                "`match_matrix_tensor` needs sequences (lod_level=1) in {} and {}",
                cx.describe("X"),
                cx.describe("Y")
            );
        }
        let column = VarType::tensor(x.dtype, vec![Dim::Any, Dim::Is(1)]);
        cx.set("Out", column.clone().with_lod(1));
        cx.set("Tmp", column);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (slots, out, tmp) = (Slots::new(p)?, p.output("Out")?, p.output("Tmp")?);
        by_float!(p.float("X")?, T => kernel(move |io| forward::<T>(io, slots, out, tmp)))
    }
}

slots! {
    #[derive(Clone, Copy)]
    struct Slots(p) {
        x: input "X",
        y: input "Y",
        w: input "W",
        channels: count "dim_t",
    }
}

/// Rows of a pair in `X` and in `Y`, and where its matrices begin.
struct Pair {
    left: std::ops::Range<usize>,
    right: std::ops::Range<usize>,
    start: usize,
}

impl Pair {
    /// Elements of one matrix.
    fn len(&self) -> usize {
        self.left.len() * self.right.len()
    }
}

/// Checked sizes and the pairs.
struct Pairs {
    pairs: Vec<Pair>,
    /// Elements of all matrices.
    len: usize,
    left: usize,
    right: usize,
}

impl Slots {
    fn pairs(&self, io: &Io<'_>, x: &Tensor, y: &Tensor, w: &Tensor) -> Result<Pairs> {
        let (left, right) = (x.dims().matrix(1).1, y.dims().matrix(1).1);
        checks::expect_dims(io, self.w, w, &[left, self.channels, right], "widths of `X` and `Y` around `dim_t`")?;
        let (lefts, rights) = (lod_rows::offsets(io, self.x, x)?, lod_rows::offsets(io, self.y, y)?);
        if lefts.len() != rights.len() {
            let what = format_args!("has {} sequences, but `Y` has {}", lefts.len() - 1, rights.len() - 1);
            return Err(io.error(Kind::Lod, self.x, what));
        }
        let mut start = 0;
        let pairs = lefts.windows(2).zip(rights.windows(2)).map(|(l, r)| {
            let pair = Pair { left: l[0]..l[1], right: r[0]..r[1], start };
            start += self.channels * pair.len();
            pair
        });
        let pairs = pairs.collect();
        Ok(Pairs { pairs, len: start, left, right })
    }
}

fn forward<T: Float + GemmElem>(io: &Io<'_>, s: Slots, out: Out, tmp: Out) -> Result<()> {
    let (x, y, w) = (io.dense(s.x)?, io.dense(s.y)?, io.dense(s.w)?);
    let pairs = s.pairs(io, &x, &y, &w)?;
    let (rows, wide) = (x.rows(), s.channels * pairs.right);
    let mut product = io.out_sized(tmp, T::DTYPE, Dims::from([rows * wide, 1]))?;
    let product = io.data_mut::<T>(tmp, &mut product)?;
    let weights = Mat::new(io.data::<T>(s.w, &w)?, pairs.left, wide);
    gemm(io.pool(), product, Mat::new(io.data::<T>(s.x, &x)?, rows, pairs.left), weights, T::ONE, T::ZERO);
    let (product, right) = (Mat::new(product, rows, wide), Mat::new(io.data::<T>(s.y, &y)?, y.rows(), pairs.right));
    let mut to = io.out_sized(out, T::DTYPE, Dims::from([pairs.len, 1]))?;
    let starts = pairs.pairs.iter().map(|pair| pair.start);
    to.set_lod(Lod::new(vec![starts.chain([pairs.len]).collect()]));
    let to = io.data_mut::<T>(out, &mut to)?;
    for pair in &pairs.pairs {
        let right = right.view(pair.right.start, pair.right.len(), 0, pairs.right);
        for t in 0..s.channels {
            let left = product.view(pair.left.start, pair.left.len(), t * pairs.right, pairs.right);
            gemm(io.pool(), &mut to[pair.start + t * pair.len()..][..pair.len()], left, right.t(), T::ONE, T::ZERO);
        }
    }
    Ok(())
}

const MATCH_MATRIX_TENSOR_GRAD: GradOp =
    GradOp::of(&MatchMatrixTensor, "match_matrix_tensor_grad(X, Y, W, Tmp, Out@GRAD) -> X@GRAD, Y@GRAD, W@GRAD")
        .doc("gradients of both sequences and of the weight")
        .kernel(|p| {
            let (slots, tmp, dout) = (Slots::new(p)?, p.input("Tmp")?, p.input("Out@GRAD")?);
            let outs = ["X@GRAD", "Y@GRAD", "W@GRAD"];
            let outs = [p.maybe_output(outs[0])?, p.maybe_output(outs[1])?, p.maybe_output(outs[2])?];
            by_float!(p.float("X")?, T => {
                let mut scratch = Scratch::<T>::default();
                kernel(move |io| backward(io, slots, (tmp, dout), outs, &mut scratch))
            })
        });

#[derive(Default)]
struct Scratch<T> {
    /// Gradient of X W.
    dproduct: Vec<T>,
    part: Vec<T>,
    dy: Vec<T>,
}

fn backward<T: Float + GemmElem>(
    io: &Io<'_>,
    s: Slots,
    (tmp, dout): (In, In),
    [dx, dy, dw]: [Option<Out>; 3],
    scratch: &mut Scratch<T>,
) -> Result<()> {
    let (x, y, w) = (io.dense(s.x)?, io.dense(s.y)?, io.dense(s.w)?);
    let pairs = s.pairs(io, &x, &y, &w)?;
    let (rows, wide) = (x.rows(), s.channels * pairs.right);
    let (tmp_tensor, d) = (io.dense(tmp)?, io.dense(dout)?);
    let product = Mat::new(checks::sized::<T>(io, tmp, &tmp_tensor, rows * wide)?, rows, wide);
    let d = checks::sized::<T>(io, dout, &d, pairs.len)?;
    spread(io, s.channels, &pairs, (product, Mat::new(io.data::<T>(s.y, &y)?, y.rows(), pairs.right)), d, scratch);
    let dproduct = Mat::new(&scratch.dproduct, rows, wide);
    if let Some(out) = dx {
        let weights = Mat::new(io.data::<T>(s.w, &w)?, pairs.left, wide);
        let mut to = io.out_sized(out, T::DTYPE, *x.dims())?;
        to.set_lod(x.lod().clone());
        gemm(io.pool(), io.data_mut::<T>(out, &mut to)?, dproduct, weights.t(), T::ONE, T::ZERO);
    }
    if let Some(out) = dy {
        let mut to = io.out_sized(out, T::DTYPE, *y.dims())?;
        to.set_lod(y.lod().clone());
        io.data_mut::<T>(out, &mut to)?.copy_from_slice(&scratch.dy);
    }
    if let Some(out) = dw {
        let left = Mat::new(io.data::<T>(s.x, &x)?, rows, pairs.left);
        let mut to = io.out_sized(out, T::DTYPE, *w.dims())?;
        gemm(io.pool(), io.data_mut::<T>(out, &mut to)?, left.t(), dproduct, T::ONE, T::ZERO);
    }
    Ok(())
}

/// From the gradients of the matrices to those of X W and of Y.
fn spread<T: Float + GemmElem>(
    io: &Io<'_>,
    channels: usize,
    pairs: &Pairs,
    (product, y): (Mat<'_, T>, Mat<'_, T>),
    d: &[T],
    scratch: &mut Scratch<T>,
) {
    let (wide, width) = (product.cols(), pairs.right);
    let Scratch { dproduct, part, dy } = scratch;
    dproduct.clear();
    dproduct.resize(product.rows() * wide, T::ZERO);
    dy.clear();
    dy.resize(y.rows() * width, T::ZERO);
    for pair in &pairs.pairs {
        let right = y.view(pair.right.start, pair.right.len(), 0, width);
        for t in 0..channels {
            let d = &d[pair.start + t * pair.len()..][..pair.len()];
            let d = Mat::new(d, pair.left.len(), pair.right.len());
            part.clear();
            part.resize(pair.left.len() * width, T::ZERO);
            gemm(io.pool(), part, d, right, T::ONE, T::ZERO);
            for (row, part) in pair.left.clone().zip(part.chunks_exact(width.max(1))) {
                dproduct[row * wide + t * width..][..width].copy_from_slice(part);
            }
            let left = product.view(pair.left.start, pair.left.len(), t * width, width);
            let to = &mut dy[pair.right.start * width..pair.right.end * width];
            gemm(io.pool(), to, d.t(), left, T::ONE, T::ONE);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, with_lod};

    fn case() -> Check {
        check("match_matrix_tensor")
            .input("X", with_lod(noise([3, 2], 1), &[&[0, 2, 3]]))
            .input("Y", with_lod(noise([3, 2], 2), &[&[0, 1, 3]]))
            .input("W", noise([2, 2, 2], 3))
            .attr("dim_t", 2)
    }

    #[test]
    fn matrices_follow_each_other() {
        check("match_matrix_tensor")
            .input("X", with_lod(tensor([2, 1], &[1.0, 2.0]), &[&[0, 2]]))
            .input("Y", with_lod(tensor([2, 1], &[3.0, 5.0]), &[&[0, 2]]))
            .input("W", tensor([1, 2, 1], &[1.0, 10.0]))
            .attr("dim_t", 2)
            .output("Out", with_lod(tensor([8, 1], &[3.0, 5.0, 6.0, 10.0, 30.0, 50.0, 60.0, 100.0]), &[&[0, 8]]))
            .output("Tmp", tensor([4, 1], &[1.0, 10.0, 2.0, 20.0]))
            .run();
    }

    #[test]
    fn gradients_of_both_sequences_and_the_weight() {
        case().any_output("Out").any_output("Tmp").counting(&["Out"]).grad(&["X", "Y", "W"]).run();
    }

    #[test]
    fn mistakes_are_named() {
        let e = case().attr("dim_t", 3).any_output("Out").any_output("Tmp").error();
        assert!(e.contains("W is [width of X, 3, width of Y], where 3 is `dim_t`"), "{e}");
        let one = with_lod(noise([3, 2], 2), &[&[0, 3]]);
        let e = case().input("Y", one).any_output("Out").any_output("Tmp").error();
        assert!(e.contains("has 2 sequences, but `Y` has 1"), "{e}");
        let e = case().input("Y", noise([3, 2], 2)).any_output("Out").any_output("Tmp").error();
        assert!(e.contains("needs sequences (lod_level=1) in"), "{e}");
    }
}
