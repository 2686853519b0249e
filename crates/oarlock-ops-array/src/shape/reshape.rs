//! `reshape`: the same elements under other sizes.

use oarlock_ir::{Dim, Error, In, Infer, Io, Kind, OpDef, Prepare, Result, Sig, VarType, product};
use oarlock_ops_support::int_list::{IntList, Known};
use oarlock_tensor::{Dims, MAX_RANK};

use crate::shape::reshaping::{First, FirstGrad, Reform};

pub(crate) const OPS: &[&dyn OpDef] = &[&First::<Reshape>::OP, &FirstGrad::<Reshape>::OP];

pub(super) struct Reshape {
    shape: IntList,
    list: Vec<i64>,
}

impl Reform for Reshape {
    const TYPES: [&'static str; 4] = ["reshape", "reshape_grad", "reshape2", "reshape2_grad"];
    const GRAD_GRAD: Option<&'static str> = Some("reshape2_grad_grad");
    const DOC: &'static str = "Out = the elements of X under other sizes";
    const GRAD_READS: &'static [&'static str] = &["X", "Shape", "ShapeTensor", "Out", "Out@GRAD"];

    fn describe(sig: Sig) -> Sig {
        sig.optional_input("Shape", "the sizes as one i32 tensor, instead of attribute `shape`")
            .optional_inputs("ShapeTensor", "the sizes as i32 tensors of one number each, instead of all else")
            .attr(
                "shape",
                Vec::<i32>::new(),
                "the sizes; 0 takes the size of `X` at that place, one -1 takes what is left",
            )
    }

    fn describe_grad(sig: Sig) -> Sig {
        sig.optional_input("Out", "of the forward operator")
            .optional_input("Shape", "of the forward operator")
            .optional_inputs("ShapeTensor", "of the forward operator")
            .optional_output("Shape@GRAD", "never written")
            .optional_outputs("ShapeTensor@GRAD", "never written")
    }

    fn infer(cx: &Infer<'_>, x: &VarType) -> Result<Vec<Dim>> {
        let wanted = cx.attrs().ints("shape")?;
        let known = match IntList::infer(cx, "shape", "Shape", "ShapeTensor")? {
            Known::All(list) => list,
            // Fluid's layers leave a hint in the attribute: -1 where only the tensor knows.
            Known::Length(_) if !wanted.is_empty() => {
                let hint =
                    |(i, v): (usize, &i64)| if *v == 0 { x.shape.get(i).copied() } else { Some(Dim::from_i64(*v)) };
                return Ok(wanted.iter().enumerate().map(|e| hint(e).unwrap_or(Dim::Any)).collect());
            }
            Known::Length(Some(n)) => return Ok(vec![Dim::Any; n]),
            Known::Length(None) => return Err(cx.shape_error("needs a `Shape` of known size")),
        };
        infer_shape(&known, &x.shape)
            .map_err(|why| cx.shape_error(format!("cannot give {} the shape {known:?}", cx.describe("X"))).note(why))
    }

    fn prepare(p: &Prepare<'_>) -> Result<Reshape> {
        Ok(Reshape { shape: IntList::prepare(p, "shape", "Shape", "ShapeTensor")?, list: Vec::new() })
    }

    fn dims(&mut self, io: &Io<'_>, x: In, from: &Dims) -> Result<Dims> {
        self.shape.read(io, &mut self.list)?;
        let mut dims = Dims::new(&[]);
        // A size that is copied says nothing about the others, even if it is 0: it counts on neither side.
        let mut rest = *from;
        let (mut open, mut given) = (None, 1);
        for (i, size) in self.list.iter().enumerate() {
            let size = match *size {
                0 if i < from.rank() => {
                    rest[i] = 1;
                    Some(from[i])
                }
                0 => None,
                -1 if open.is_none() => {
                    open = Some(i);
                    Some(1)
                }
                size => usize::try_from(size).ok().inspect(|n| given *= n),
            };
            match size {
                Some(size) if i < MAX_RANK => dims.push(size),
                _ => return Err(self.misfit(io, x, from)),
            }
        }
        if let Some(open) = open {
            dims[open] = rest.numel() / given;
            given *= dims[open];
        }
        if given == rest.numel() { Ok(dims) } else { Err(self.misfit(io, x, from)) }
    }
}

impl Reshape {
    #[cold]
    fn misfit(&self, io: &Io<'_>, x: In, from: &Dims) -> Error {
        io.error(Kind::Shape, x, format_args!("is {from}, which cannot take the shape {:?}", self.list))
    }
}

/// The sizes asked for, as far as they are known; or what is wrong with them.
fn infer_shape(wanted: &[i64], x: &[Dim]) -> std::result::Result<Vec<Dim>, String> {
    let mut out = Vec::new();
    // Sizes of X and Out that do not cancel out because one was copied from the other.
    let (mut from, mut to) = (x.to_vec(), Vec::new());
    let mut open = None;
    for (i, size) in wanted.iter().enumerate() {
        match *size {
            0 => {
                let Some(size) = x.get(i) else { return Err(format!("`X` has no axis {i} to copy the size of")) };
                from[i] = Dim::Is(1);
                out.push(*size);
            }
            -1 if open.is_none() => {
                open = Some(i);
                out.push(Dim::Any);
            }
            -1 => return Err("only one size may be -1".into()),
            size if size < 0 => return Err(format!("{size} is no size")),
            size => {
                out.push(Dim::Is(size as usize));
                to.push(Dim::Is(size as usize));
            }
        }
    }
    let (Dim::Is(from), Dim::Is(to)) = (product(&from), product(&to)) else { return Ok(out) };
    match open {
        Some(i) if to > 0 && from.is_multiple_of(to) => out[i] = Dim::Is(from / to),
        Some(_) if to > 0 => return Err(format!("{from} elements cannot be shared out evenly over {to}")),
        None if from != to => return Err(format!("it has {from} elements, the shape has {to}")),
        _ => {}
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use oarlock_ir::Dim;

    use crate::testing::{check, noise, tensor, tensor_of, with_lod};

    #[test]
    fn reshape() {
        let x = || with_lod(tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), &[&[0, 1, 2]]);
        let wide = tensor([3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        check("reshape").input("X", x()).attr("shape", vec![-1, 2]).output("Out", wide).grad(&["X"]).run();
        let rows = with_lod(tensor([2, 3, 1], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), &[&[0, 1, 2]]);
        check("reshape").input("X", x()).attr("shape", vec![0, 3, -1]).output("Out", rows).grad(&["X"]).run();
    }

    #[test]
    fn no_rows() {
        // The last size is what it would be with rows.
        let none = || tensor([0, 2, 3], &[]);
        check("reshape").input("X", none()).attr("shape", vec![0, -1]).output("Out", tensor([0, 6], &[])).run();
        check("reshape").input("X", none()).attr("shape", vec![-1, 3]).output("Out", tensor([0, 3], &[])).run();
    }

    #[test]
    fn sizes_from_tensors() {
        let out = || tensor([3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let reshape =
            || check("reshape").input("X", tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])).output("Out", out());
        let list = vec![tensor_of::<i32>([1], &[-1]), tensor_of::<i32>([1], &[2])];
        reshape().inputs("ShapeTensor", list).attr("shape", vec![-1, 2]).run();
    }

    #[test]
    fn an_unknown_batch_cancels_out() {
        let x = [Dim::Any, Dim::Is(3), Dim::Is(4)];
        assert_eq!(super::infer_shape(&[0, -1], &x), Ok(vec![Dim::Any, Dim::Is(12)]));
        assert_eq!(super::infer_shape(&[-1, 6], &x), Ok(vec![Dim::Any, Dim::Is(6)]));
        assert_eq!(super::infer_shape(&[0, -1, 5], &x), Err("12 elements cannot be shared out evenly over 5".into()));
    }

    #[test]
    fn shapes_that_do_not_fit() {
        let wrong = check("reshape").input("X", noise([2, 3], 1)).attr("shape", vec![4]).any_output("Out");
        assert_eq!(
            wrong.error(),
            "error[shape]: `reshape` cannot give `X` = X.0 f32[2, 3] the shape [4]\n  \
             at (`reshape`, block 0, op 0)\n  it has 6 elements, the shape has 4"
        );
        let late = check("reshape").input("X", noise([2, 3], 1)).input("Shape", tensor_of::<i32>([1], &[4]));
        assert_eq!(
            late.any_output("Out").error(),
            "error[shape]: `reshape`: input `X` = `X.0` is [2, 3], which cannot take the shape [4]\n  \
             at (`reshape`, block 0, op 0)"
        );
    }
}
