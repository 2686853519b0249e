//! `diag`: a matrix with a given diagonal.

use oarlock_ir::{Infer, Kernel, Kind, OpDef, Prepare, Result, VarType, kernel, sig};
use oarlock_tensor::Dims;

pub(crate) const OPS: &[&dyn OpDef] = &[&Diag];

struct Diag;

impl OpDef for Diag {
    sig! {
        "diag": "Out = a matrix with Diagonal on its diagonal and 0 elsewhere";
        in "Diagonal": "[n], any dtype";
        out "Out": "[n, n]";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let diagonal = cx.input("Diagonal")?;
        let [n] = diagonal.shape[..] else {
            return Err(cx.shape_error(format!("needs a list, not {}", cx.describe("Diagonal"))));
        };
        cx.set("Out", VarType::tensor(diagonal.dtype, vec![n, n]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (diagonal, out) = (p.input("Diagonal")?, p.output("Out")?);
        kernel(move |io| {
            let from = io.dense(diagonal)?;
            let n = from.numel();
            if from.dims().rank() != 1 || n.checked_mul(n).is_none() {
                return Err(io.error(Kind::Shape, diagonal, format_args!("is {}, not a list", from.dims())));
            }
            let mut to = io.out_sized(out, from.dtype(), Dims::from([n, n]))?;
            let size = from.dtype().size();
            to.bytes_mut().fill(0);
            let places = to.bytes_mut().chunks_exact_mut(size).step_by(n + 1);
            places.zip(from.bytes().chunks_exact(size)).for_each(|(to, from)| to.copy_from_slice(from));
            Ok(())
        })
    }
}

#[test]
fn diag() {
    use crate::testing::{check, tensor, tensor_of};
    check("diag")
        .input("Diagonal", tensor([2], &[1.5, 2.5]))
        .output("Out", tensor([2, 2], &[1.5, 0.0, 0.0, 2.5]))
        .run();
    check("diag").input("Diagonal", tensor_of::<i64>([1], &[7])).output("Out", tensor_of::<i64>([1, 1], &[7])).run();
    assert_eq!(
        check("diag").input("Diagonal", tensor([1, 2], &[1.0, 2.0])).any_output("Out").error(),
        "error[shape]: `diag` needs a list, not `Diagonal` = Diagonal.0 f32[1, 2]\n  at (`diag`, block 0, op 0)"
    );
}
