//! `squeeze`: drops axes of size 1.

use oarlock_ir::{AttrView, Dim, In, Infer, Io, Kind, OpDef, Prepare, Result, Sig, VarType};
use oarlock_ops_support::int_list::axis_of;
use oarlock_tensor::Dims;

use crate::shape::reshaping::{First, FirstGrad, Reform};

pub(crate) const OPS: &[&dyn OpDef] = &[&First::<Squeeze>::OP, &FirstGrad::<Squeeze>::OP];

pub(super) struct Squeeze {
    axes: Vec<i64>,
}

impl Reform for Squeeze {
    const TYPES: [&'static str; 4] = ["squeeze", "squeeze_grad", "squeeze2", "squeeze2_grad"];
    const DOC: &'static str = "Out = X without axes of size 1";

    fn describe(sig: Sig) -> Sig {
        sig.attr("axes", Vec::<i32>::new(), "the axes to drop if their size is 1; empty: all of size 1")
    }

    fn infer(cx: &Infer<'_>, x: &VarType) -> Result<Vec<Dim>> {
        let squeeze = Squeeze::parse(cx.attrs())?;
        let rank = x.shape.rank();
        if let Some(axis) = squeeze.wrong(rank) {
            return Err(cx.shape_error(format!("has no axis {axis} to drop in {}", cx.describe("X"))));
        }
        // An unknown size is taken for 1 only where the axis was named.
        let one = |d: &Dim| *d == Dim::Is(1) || (*d == Dim::Any && !squeeze.axes.is_empty());
        let stays = |(i, d): &(usize, &Dim)| !(squeeze.names(*i, rank) && one(d));
        Ok(x.shape.iter().enumerate().filter(stays).map(|(_, d)| *d).collect())
    }

    fn prepare(p: &Prepare<'_>) -> Result<Squeeze> {
        Squeeze::parse(p.attrs())
    }

    fn dims(&mut self, io: &Io<'_>, x: In, from: &Dims) -> Result<Dims> {
        if let Some(axis) = self.wrong(from.rank()) {
            return Err(io.error(Kind::Shape, x, format_args!("is {from}, it has no axis {axis} to drop")));
        }
        let mut dims = Dims::new(&[]);
        for (i, size) in from.iter().enumerate() {
            if !(*size == 1 && self.names(i, from.rank())) {
                dims.push(*size);
            }
        }
        Ok(dims)
    }
}

impl Squeeze {
    fn parse(attrs: AttrView<'_>) -> Result<Squeeze> {
        Ok(Squeeze { axes: attrs.ints("axes")? })
    }

    fn names(&self, axis: usize, rank: usize) -> bool {
        self.axes.is_empty() || self.axes.iter().any(|a| axis_of(*a, rank) == Some(axis))
    }

    /// An axis that a tensor of that rank does not have.
    fn wrong(&self, rank: usize) -> Option<i64> {
        self.axes.iter().copied().find(|a| axis_of(*a, rank).is_none())
    }
}

#[test]
fn squeeze() {
    use crate::testing::{check, tensor};
    let squeeze = |axes: Vec<i32>| check("squeeze").input("X", tensor([1, 2, 1], &[1.0, 2.0])).attr("axes", axes);
    let all = check("squeeze").input("X", tensor([2, 1, 1], &[1.0, 2.0]));
    all.output("Out", tensor([2], &[1.0, 2.0])).grad(&["X"]).run();
    squeeze(vec![0]).output("Out", tensor([2, 1], &[1.0, 2.0])).grad(&["X"]).run();
    squeeze(vec![-1]).output("Out", tensor([1, 2], &[1.0, 2.0])).run();
    // An axis of another size stays.
    squeeze(vec![1, 2]).output("Out", tensor([1, 2], &[1.0, 2.0])).run();
    assert_eq!(
        squeeze(vec![3]).any_output("Out").error(),
        "error[shape]: `squeeze` has no axis 3 to drop in `X` = X.0 f32[1, 2, 1]\n  at (`squeeze`, block 0, op 0)"
    );
}
