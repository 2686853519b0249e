//! `cvm`: show and click counts in front of an embedding, as logarithms or dropped.

use oarlock_ir::{Dim, Grad, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, Traits, sig};
use oarlock_ir::{by_float, kernel};
use oarlock_ops_support::checks;
use oarlock_ops_support::lod_rows;
use oarlock_tensor::{Float, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&Cvm, &CvmGrad];

/// The columns of counts: shows and clicks.
const COUNTS: usize = 2;

struct Cvm;

impl OpDef for Cvm {
    sig! {
        "cvm":
            "use_cvm: Y[:, 0] = log(X[:, 0] + 1), Y[:, 1] = log(X[:, 1] + 1) - log(X[:, 0] + 1), other columns as they are; \
             otherwise Y = X without its first two columns";
        in "X": "a show count, a click count and an embedding per row";
        in "CVM": "show and click counts of each instance";
        out "Y": "with the LoD of `X`";
        attr "use_cvm" = true, "keep the counts";
        traits Traits::NONE.shape_only(&["CVM"]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        let [rows, width] = x.shape[..] else {
            return Err(cx.shape_error(format!("needs a matrix, but has {}", cx.describe("X"))));
        };
        let width = match width {
            Dim::Is(n) if n < COUNTS => {
                return Err(cx.shape_error(format!("needs two columns of counts, but has {}", cx.describe("X"))));
            }
            Dim::Is(n) if !cx.attrs().bool("use_cvm")? => Dim::Is(n - COUNTS),
            other => other,
        };
        cx.set("Y", x.with_shape(vec![rows, width]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y, keep) = (p.input("X")?, p.output("Y")?, p.attrs().bool("use_cvm")?);
        by_float!(p.float("X")?, T => kernel(move |io| forward::<T>(io, x, y, keep)))
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit_for(&CvmGrad)
    }
}

/// Elements of a row, of which two are counts.
fn width_of(io: &Io<'_>, x: In, t: &Tensor) -> Result<usize> {
    match t.dims().matrix(1).1 {
        n if n < COUNTS => Err(io.error(Kind::Shape, x, format!("is {}, but needs two columns of counts", t.dims()))),
        n => Ok(n),
    }
}

fn forward<T: Float>(io: &Io<'_>, x: In, y: Out, keep: bool) -> Result<()> {
    let from = io.dense(x)?;
    let width = width_of(io, x, &from)?;
    let skip = if keep { 0 } else { COUNTS };
    let mut to = io.out_sized(y, T::DTYPE, oarlock_tensor::Dims::from([from.rows(), width - skip]))?;
    to.set_lod(from.lod().clone());
    let to = io.data_mut::<T>(y, &mut to)?.chunks_exact_mut((width - skip).max(1));
    for (to, from) in to.zip(io.data::<T>(x, &from)?.chunks_exact(width)) {
        to.copy_from_slice(&from[skip..]);
        if keep {
            to[0] = (from[0] + T::ONE).ln();
            to[1] = (from[1] + T::ONE).ln() - to[0];
        }
    }
    Ok(())
}

struct CvmGrad;

impl OpDef for CvmGrad {
    fn sig(&self) -> Sig {
        Sig::new("cvm_grad", "X@GRAD is Y@GRAD behind the counts; in place of the counts stand those of the instance, which is how a parameter \
             server learns of them: the sequence of the row if X has LoD, else the row itself").grad_of(&Cvm.sig(), &["CVM", "X", "Y@GRAD"], &["X@GRAD"])
            .traits(Traits::NONE.shape_only(&["X"]))
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let grad = Backward { x: p.input("X")?, cvm: p.input("CVM")?, dy: p.input("Y@GRAD")?, dx: p.output("X@GRAD")? };
        let skip = if p.attrs().bool("use_cvm")? { 0 } else { COUNTS };
        by_float!(p.float("X")?, T => kernel(move |io| grad.run::<T>(io, skip)))
    }
}

struct Backward {
    x: In,
    cvm: In,
    dy: In,
    dx: Out,
}

impl Backward {
    fn run<T: Float>(&self, io: &Io<'_>, skip: usize) -> Result<()> {
        let (x, cvm, dy) = (io.dense(self.x)?, io.dense(self.cvm)?, io.dense(self.dy)?);
        let width = width_of(io, self.x, &x)?;
        checks::expect_elements(io, self.dy, dy.numel(), x.rows() * (width - skip))?;
        let mut to = io.out_sized(self.dx, T::DTYPE, *x.dims())?;
        to.set_lod(x.lod().clone());
        let to = io.data_mut::<T>(self.dx, &mut to)?;
        let dy = io.data::<T>(self.dy, &dy)?;
        let rest = width - skip;
        for (row, to) in to.chunks_exact_mut(width).enumerate() {
            to[skip..].copy_from_slice(&dy[row * rest..][..rest]);
        }
        self.put_counts(io, &x, io.data::<T>(self.cvm, &cvm)?, to)
    }

    /// Writes the counts of each row's instance into its first two columns.
    fn put_counts<T: Float>(&self, io: &Io<'_>, x: &Tensor, counts: &[T], to: &mut [T]) -> Result<()> {
        let width = x.dims().matrix(1).1;
        let offsets = if x.lod().is_empty() { None } else { Some(lod_rows::offsets(io, self.x, x)?) };
        let instances = offsets.map_or(x.rows(), |o| o.len() - 1);
        if counts.len() != instances * COUNTS {
            let what =
                format!("holds {} numbers, but there are {instances} instances with two counts each", counts.len());
            return Err(io.error(Kind::Shape, self.cvm, what));
        }
        for (i, counts) in counts.chunks_exact(COUNTS).enumerate() {
            let rows = offsets.map_or(i..i + 1, |o| o[i]..o[i + 1]);
            for to in to[rows.start * width..rows.end * width].chunks_exact_mut(width) {
                to[..COUNTS].copy_from_slice(counts);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, noise, tensor, with_lod};

    #[test]
    fn counts_become_logarithms_or_go() {
        let x = || tensor([2, 3], &[0.0, 1.0, 5.0, 3.0, 1.0, 6.0]);
        let (two, four) = (2.0f32.ln(), 4.0f32.ln());
        check("cvm")
            .input("X", x())
            .input("CVM", noise([2, 2], 1))
            .output("Y", tensor([2, 3], &[0.0, two, 5.0, four, two - four, 6.0]))
            .run();
        check("cvm")
            .input("X", x())
            .input("CVM", noise([2, 2], 1))
            .attr("use_cvm", false)
            .output("Y", tensor([2, 1], &[5.0, 6.0]))
            .run();
    }

    #[test]
    fn the_gradient_carries_the_counts_of_the_instance() {
        check("cvm_grad")
            .input("X", with_lod(noise([3, 3], 1), &[&[0, 2, 3]]))
            .input("CVM", tensor([2, 2], &[1.0, 0.0, 1.0, 1.0]))
            .input("Y@GRAD", tensor([3, 1], &[7.0, 8.0, 9.0]))
            .attr("use_cvm", false)
            .output("X@GRAD", with_lod(tensor([3, 3], &[1.0, 0.0, 7.0, 1.0, 0.0, 8.0, 1.0, 1.0, 9.0]), &[&[0, 2, 3]]))
            .run();
        let e = check("cvm_grad")
            .input("X", noise([3, 3], 1))
            .input("CVM", noise([2, 2], 1))
            .input("Y@GRAD", noise([3, 3], 1))
            .any_output("X@GRAD")
            .error();
        assert!(e.contains("holds 4 numbers, but there are 3 instances with two counts each"), "{e}");
    }
}
