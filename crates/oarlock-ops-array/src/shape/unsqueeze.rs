//! `unsqueeze`: inserts axes of size 1.

use oarlock_ir::{Dim, In, Infer, Io, Kind, OpDef, Prepare, Result, Sig, VarType};
use oarlock_ops_support::int_list::{IntList, Known, axis_of};
use oarlock_tensor::{Dims, MAX_RANK};

use crate::shape::reshaping::{First, FirstGrad, Reform};

pub(crate) const OPS: &[&dyn OpDef] = &[&First::<Unsqueeze>::OP, &FirstGrad::<Unsqueeze>::OP];

pub(super) struct Unsqueeze {
    axes: IntList,
    list: Vec<i64>,
}

impl Reform for Unsqueeze {
    const TYPES: [&'static str; 4] = ["unsqueeze", "unsqueeze_grad", "unsqueeze2", "unsqueeze2_grad"];
    const DOC: &'static str = "Out = X with axes of size 1 inserted";

    fn describe(sig: Sig) -> Sig {
        sig.optional_input("AxesTensor", "the axes as one i32 tensor, instead of attribute `axes`")
            .optional_inputs("AxesTensorList", "the axes as i32 tensors of one number each, instead of all else")
            .attr("axes", Vec::<i32>::new(), "where to insert, one after the other; negative: from the end")
    }

    fn infer(cx: &Infer<'_>, x: &VarType) -> Result<Vec<Dim>> {
        let axes = cx.attrs().ints("axes")?;
        let axes = match IntList::infer(cx, "axes", "AxesTensor", "AxesTensorList")? {
            Known::All(axes) => axes,
            // Unlike elsewhere, the attribute goes first.
            Known::Length(_) if !axes.is_empty() => axes,
            Known::Length(Some(n)) => return Ok(vec![Dim::Any; x.shape.rank() + n]),
            Known::Length(None) => return Err(cx.shape_error("needs an `AxesTensor` of known size")),
        };
        let mut out = x.shape.0.clone();
        for axis in axes {
            match axis_of(axis, out.len() + 1) {
                Some(at) => out.insert(at, Dim::Is(1)),
                None => return Err(cx.shape_error(format!("cannot insert axis {axis} into {}", cx.describe("X")))),
            }
        }
        Ok(out)
    }

    fn prepare(p: &Prepare<'_>) -> Result<Unsqueeze> {
        let axes = p.attrs().ints("axes")?;
        let tensors = || IntList::prepare(p, "axes", "AxesTensor", "AxesTensorList");
        Ok(Unsqueeze { axes: if axes.is_empty() { tensors()? } else { IntList::Attr(axes) }, list: Vec::new() })
    }

    fn dims(&mut self, io: &Io<'_>, x: In, from: &Dims) -> Result<Dims> {
        self.axes.read(io, &mut self.list)?;
        let mut dims = *from;
        for axis in &self.list {
            let rank = dims.rank();
            let Some(at) = axis_of(*axis, rank + 1).filter(|_| rank < MAX_RANK) else {
                return Err(io.error(
                    Kind::Shape,
                    x,
                    format_args!("is {from}, axes {:?} cannot be inserted", self.list),
                ));
            };
            dims.push(1);
            dims[at..].rotate_right(1);
        }
        Ok(dims)
    }
}

#[test]
fn unsqueeze() {
    use crate::testing::{check, tensor, tensor_of};
    let unsqueeze = || check("unsqueeze").input("X", tensor([2, 2], &[1.0, 2.0, 3.0, 4.0]));
    let out = |dims: &[usize]| tensor(Dims::new(dims), &[1.0, 2.0, 3.0, 4.0]);
    unsqueeze().attr("axes", vec![0, 2]).output("Out", out(&[1, 2, 1, 2])).grad(&["X"]).run();
    unsqueeze().attr("axes", vec![-1]).output("Out", out(&[2, 2, 1])).grad(&["X"]).run();
    unsqueeze().attr("axes", vec![1, 1]).output("Out", out(&[2, 1, 1, 2])).run();
    let list = vec![tensor_of::<i32>([1], &[1])];
    unsqueeze().inputs("AxesTensorList", list).output("Out", out(&[2, 1, 2])).run();
    assert_eq!(
        unsqueeze().attr("axes", vec![4]).any_output("Out").error(),
        "error[shape]: `unsqueeze` cannot insert axis 4 into `X` = X.0 f32[2, 2]\n  at (`unsqueeze`, block 0, op 0)"
    );
}
