//! `partial_concat`: some columns of several matrices, side by side.

use oarlock_ir::{Dim, Grad, Infer, Kernel, Kind, OpDef, Prepare, Result, VarType, kernel, sig};
use oarlock_tensor::Dims;

use crate::slicing::column_range::{self, Stripe, StripeGrad};

pub(crate) const OPS: &[&dyn OpDef] =
    &[&PartialConcat, &StripeGrad { op_type: "partial_concat_grad", side_by_side: true }];

struct PartialConcat;

impl OpDef for PartialConcat {
    sig! {
        "partial_concat": "Out = the named columns of all X, side by side";
        in* "X": "matrices of one dtype and shape";
        out "Out": "[rows, columns taken of each times their number]";
        with column_range::attrs;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, taken, count) = Stripe::parse(cx.attrs())?.infer(cx)?;
        let all = taken.known().map_or(Dim::Any, |n| Dim::Is(n * count));
        let shape = vec![x.shape[0], all];
        cx.set("Out", VarType::tensor(x.dtype, shape));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (xs, out, stripe) = (p.inputs("X")?, p.output("Out")?, Stripe::parse(p.attrs())?);
        let dtype = p.dtype("X")?;
        kernel(move |io| {
            let m = stripe.measure(io, &xs)?;
            let mut to = io.out_sized(out, dtype, Dims::from([m.rows, m.length * xs.len()]))?;
            let (size, to) = (dtype.size(), to.bytes_mut());
            let (length, row) = (m.length * size, m.length * xs.len() * size);
            for (n, &x) in xs.iter().enumerate() {
                let from = io.dense(x)?;
                if from.dtype() != dtype {
                    return Err(io.error(Kind::DType, x, format_args!("is {}, but {dtype} is needed", from.dtype())));
                }
                for i in 0..m.rows {
                    let from = &from.bytes()[(i * m.width + m.start) * size..][..length];
                    to[i * row + n * length..][..length].copy_from_slice(from);
                }
            }
            Ok(())
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit_keeping("partial_concat_grad", &["X", "Out@GRAD"], &["X@GRAD"])
    }
}

#[test]
fn partial_concat() {
    use crate::testing::{check, tensor};
    let concat = |start: i32, length: i32| {
        let xs =
            vec![tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), tensor([2, 3], &[7.0, 8.0, 9.0, 10.0, 11.0, 12.0])];
        check("partial_concat").inputs("X", xs).attr("start_index", start).attr("length", length)
    };
    concat(1, -1).output("Out", tensor([2, 4], &[2.0, 3.0, 8.0, 9.0, 5.0, 6.0, 11.0, 12.0])).grad(&["X"]).run();
    concat(-2, 1).output("Out", tensor([2, 2], &[2.0, 8.0, 5.0, 11.0])).grad(&["X"]).run();
    let wide = concat(2, 2).any_output("Out").error();
    assert!(wide.contains("`partial_concat` cannot take 2 columns from 2 on of f32[2, 3]"), "{wide}");
}
