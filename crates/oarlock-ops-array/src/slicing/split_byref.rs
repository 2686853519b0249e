//! `split_byref`: pieces of a tensor along its first axis, as programs for parameter servers have it.

use oarlock_ir::{Dim, Infer, Kernel, Kind, OpDef, Prepare, Result, kernel, sig};

use crate::slicing::axis_blocks::cut;
use crate::slicing::split::{Cut, along};

pub(crate) const OPS: &[&dyn OpDef] = &[&SplitByref];

struct SplitByref;

impl OpDef for SplitByref {
    sig! {
        "split_byref": "Out = pieces of X along its first axis; they are copies";
        in "X": "any tensor";
        out* "Out": "the pieces";
        attr "num" = 0, "the number of pieces of one size; 0: use `sections`";
        attr "sections" = Vec::<i32>::new(), "the size of each piece";
        hints ["axis"];
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.input("X")?;
        let count = cx.op().outputs.get("Out").len();
        let cut = Cut { num: cx.attrs().count("num")?, sections: cx.attrs().ints("sections")? };
        let mut sizes = Vec::new();
        match x.shape.first() {
            Some(Dim::Is(rows)) if cut.sizes(*rows, count, &mut sizes) => {}
            Some(Dim::Any) => sizes.clear(),
            _ => {
                let what = format!("cannot cut {} into {}", cx.describe("X"), cut.describe(count));
                return Err(cx.shape_error(what));
            }
        }
        for i in 0..count {
            let asked = cut.sections.get(i).filter(|_| cut.num == 0).map_or(Dim::Any, |s| Dim::from_i64(*s));
            cx.set_nth("Out", i, along(&x, 0, sizes.get(i).map_or(asked, |s| Dim::Is(*s))));
        }
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, outs) = (p.input("X")?, p.outputs("Out")?);
        let how = Cut { num: p.attrs().count("num")?, sections: p.attrs().ints("sections")? };
        let mut sizes = Vec::new();
        kernel(move |io| {
            let tensor = io.dense(x)?;
            if tensor.dims().rank() == 0 || !how.sizes(tensor.rows(), outs.len(), &mut sizes) {
                let what = format_args!("is {}, it cannot be cut into {}", tensor.dims(), how.describe(outs.len()));
                return Err(io.error(Kind::Shape, x, what));
            }
            cut(io, &tensor, 0, &outs, |i| Ok(tensor.dims().with_rows(sizes[i])))
        })
    }
}

#[test]
fn split_byref() {
    use crate::testing::{check, tensor};
    let pieces = || check("split_byref").input("X", tensor([3, 1], &[1.0, 2.0, 3.0]));
    let out = vec![tensor([1, 1], &[1.0]).into(), tensor([2, 1], &[2.0, 3.0]).into()];
    pieces().attr("sections", vec![1, 2]).outputs("Out", out).run();
    let e = pieces().attr("sections", vec![1, 1]).outputs("Out", vec![Default::default(), Default::default()]).error();
    assert!(e.contains("cannot cut `X` = X.0 f32[3, 1] into 2 pieces of [1, 1]"), "{e}");
}
