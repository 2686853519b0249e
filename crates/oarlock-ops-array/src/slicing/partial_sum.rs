//! `partial_sum`: the sum of some columns of several matrices.

use oarlock_ir::{Grad, Infer, Kernel, Kind, OpDef, Prepare, Result, VarType, fail, kernel, sig};
use oarlock_ops_support::number::{Number, by_number};
use oarlock_tensor::{Dims, Element};

use crate::slicing::column_range::{self, Stripe, StripeGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&PartialSum, &StripeGrad { op_type: "partial_sum_grad", side_by_side: false }];

struct PartialSum;

impl OpDef for PartialSum {
    sig! {
        "partial_sum": "Out = the sum of the named columns of all X";
        in* "X": "matrices of numbers, of one dtype and shape";
        out "Out": "[rows, columns taken]";
        with column_range::attrs;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, taken, _) = Stripe::parse(cx.attrs())?.infer(cx)?;
        let shape = vec![x.shape[0], taken];
        cx.set("Out", VarType::tensor(x.dtype, shape));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (xs, out, stripe) = (p.inputs("X")?, p.output("Out")?, Stripe::parse(p.attrs())?);
        by_number!(p.dtype("X")?, T => kernel(move |io| {
            let m = stripe.measure(io, &xs)?;
            let mut to = io.out_sized(out, T::DTYPE, Dims::from([m.rows, m.length]))?;
            let to = io.data_mut::<T>(out, &mut to)?;
            to.fill(T::ZERO);
            for &x in &xs {
                let from = io.dense(x)?;
                let from = io.data::<T>(x, &from)?;
                for (i, to) in to.chunks_exact_mut(m.length.max(1)).enumerate() {
                    T::add_to(to, &from[i * m.width + m.start..][..m.length]);
                }
            }
            Ok(())
        }), other => fail!(Kind::DType, "`partial_sum` works on f32, f64, i32 and i64, not on {other}"))
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit_keeping("partial_sum_grad", &["X", "Out@GRAD"], &["X@GRAD"])
    }
}

#[test]
fn partial_sum() {
    use crate::testing::{check, tensor};
    let sum = |start: i32, length: i32| {
        let xs =
            vec![tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), tensor([2, 3], &[7.0, 8.0, 9.0, 10.0, 11.0, 12.0])];
        check("partial_sum").inputs("X", xs).attr("start_index", start).attr("length", length)
    };
    sum(1, -1).output("Out", tensor([2, 2], &[10.0, 12.0, 16.0, 18.0])).grad(&["X"]).run();
    sum(-2, 1).output("Out", tensor([2, 1], &[10.0, 16.0])).grad(&["X"]).run();
    let beyond = sum(3, 1).any_output("Out").error();
    assert!(beyond.contains("`partial_sum` cannot take 1 columns from 3 on of f32[2, 3]"), "{beyond}");
}
