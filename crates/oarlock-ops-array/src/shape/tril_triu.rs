//! `tril_triu`: the lower or upper triangle of matrices.

use oarlock_ir::{GradOp, Infer, Kernel, Kind, OpDef, Prepare, Result, Sig, Traits, kernel};

pub(crate) const OPS: &[&dyn OpDef] = &[&TrilTriu, &GRAD];

fn with_attrs(sig: Sig) -> Sig {
    sig.required_attr("lower", "keep what is below the diagonal; else what is above").attr(
        "diagonal",
        0,
        "which diagonal: its distance above the main one, below if negative; it is kept itself",
    )
}

struct TrilTriu;

impl OpDef for TrilTriu {
    fn sig(&self) -> Sig {
        let sig = Sig::new("tril_triu", "Out = the triangles of the matrices of X, 0 elsewhere");
        with_attrs(sig.input("X", "at least two axes, any dtype").output("Out", "like `X`")).traits(Traits::X_TO_OUT)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        if cx.input("X")?.shape.rank() < 2 {
            return Err(cx.shape_error(format!("needs matrices, not {}", cx.describe("X"))));
        }
        cx.same("Out", "X")
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        triangle_kernel(p, "X", "Out")
    }
}

const GRAD: GradOp = GradOp::of(&TrilTriu, "tril_triu_grad(Out@GRAD) -> X@GRAD")
    .doc("X@GRAD = the triangles of the matrices of Out@GRAD, 0 elsewhere")
    .traits(Traits::NONE.in_place(&[("Out@GRAD", "X@GRAD")]))
    .infer(|cx| cx.same("X@GRAD", "Out@GRAD"))
    .kernel(|p| triangle_kernel(p, "Out@GRAD", "X@GRAD"));

fn triangle_kernel(p: &Prepare<'_>, from: &str, to: &str) -> Result<Box<dyn Kernel>> {
    let (x, out) = (p.input(from)?, p.output(to)?);
    let (lower, diagonal) = (p.attrs().bool("lower")?, p.attrs().int("diagonal")?);
    kernel(move |io| {
        let mut t = io.update(x, out)?;
        let [.., rows, columns] = t.dims()[..] else {
            return Err(io.error(Kind::Shape, x, format_args!("is {}, not a matrix", t.dims())));
        };
        let size = t.dtype().size();
        if t.numel() == 0 {
            return Ok(());
        }
        for (i, row) in t.bytes_mut().chunks_exact_mut(columns * size).enumerate() {
            // The column of the diagonal in this row.
            let at = (i % rows) as i64 + diagonal;
            let edge = |column: i64| column.clamp(0, columns as i64) as usize * size;
            if lower { row[edge(at + 1)..].fill(0) } else { row[..edge(at)].fill(0) }
        }
        Ok(())
    })
}

#[test]
fn tril_triu() {
    use crate::testing::{check, tensor, tensor_of};
    let triangle = |lower: bool, diagonal: i32| {
        let x = tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        check("tril_triu").input("X", x).attr("lower", lower).attr("diagonal", diagonal)
    };
    triangle(true, 0).output("Out", tensor([2, 3], &[1.0, 0.0, 0.0, 4.0, 5.0, 0.0])).grad(&["X"]).run();
    triangle(false, 1).output("Out", tensor([2, 3], &[0.0, 2.0, 3.0, 0.0, 0.0, 6.0])).grad(&["X"]).run();
    triangle(true, -5).output("Out", tensor([2, 3], &[0.0; 6])).run();
    let list = check("tril_triu").input("X", tensor_of::<i64>([2], &[1, 2])).attr("lower", true).any_output("Out");
    let wrong = list.error();
    assert!(wrong.contains("`tril_triu` needs matrices, not `X` = X.0 i64[2]"), "{wrong}");
}
