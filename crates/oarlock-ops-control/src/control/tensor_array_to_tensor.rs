//! `tensor_array_to_tensor`: the entries of an array side by side, or stacked.

use oarlock_ir::{
    Dim, Error, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Shape, Traits, VarKind, VarType, kernel,
    sig,
};
use oarlock_tensor::{DType, Dims, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&TensorArrayToTensor, &GRAD];

struct TensorArrayToTensor;

impl OpDef for TensorArrayToTensor {
    sig! {
        "tensor_array_to_tensor": "Out = concat(X, axis), or stack(X, axis)";
        in "X": "an array";
        out "Out": "one tensor";
        out? "OutIndex": "i32: the size of each entry along `axis`";
        attr "axis" = 0, "where the entries are put together; counts from the end if negative";
        attr "use_stack" = false, "along a new axis";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.input("X")?;
        let (axis, stack) = (cx.attrs().int("axis")?, cx.attrs().bool("use_stack")?);
        cx.set("OutIndex", VarType::tensor(DType::I32, Shape(vec![Dim::Any])));
        // An array that nothing has written yet when the operator is built has no sizes.
        let mut dims = x.shape.0.clone();
        if !dims.is_empty() {
            let axis = place(axis, dims.len() + usize::from(stack)).map_err(|e| cx.shape_error(e))?;
            if stack {
                dims.insert(axis, Dim::Any);
            } else {
                dims[axis] = Dim::Any;
            }
        }
        cx.set("Out", VarType::tensor(x.dtype, Shape(dims)));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, sizes) = (p.input("X")?, p.output("Out")?, p.maybe_output("OutIndex")?);
        let (axis, stack) = (p.attrs().int("axis")?, p.attrs().bool("use_stack")?);
        kernel(move |io| {
            let array = io.array(x)?;
            let join = Join::new(io, x, array.items(), axis, stack)?;
            let mut out = io.out_sized(out, array.items()[0].dtype(), join.whole)?;
            let mut rest = out.bytes_mut();
            for row in 0..join.rows {
                for t in array.items() {
                    let bytes = t.bytes().len() / join.rows;
                    let (piece, behind) = rest.split_at_mut(bytes);
                    piece.copy_from_slice(&t.bytes()[row * bytes..(row + 1) * bytes]);
                    rest = behind;
                }
            }
            if let Some(sizes) = sizes {
                let along: Vec<i32> = array.items().iter().map(|t| join.size(t) as i32).collect();
                let mut sizes = io.out_sized(sizes, DType::I32, Dims::from([along.len()]))?;
                sizes.data_mut::<i32>().map_err(|e| Error::internal(e.to_string()))?.copy_from_slice(&along);
            }
            Ok(())
        })
    }
}

/// How entries are put together: as rows of bytes, an entry after the other in each row.
struct Join {
    axis: usize,
    whole: Dims,
    rows: usize,
}

impl Join {
    fn new(io: &Io<'_>, x: In, items: &[Tensor], axis: i64, stack: bool) -> Result<Join> {
        let Some(first) = items.first() else {
            return Err(io.error(Kind::Shape, x, "has no entries, but at least one is needed"));
        };
        let wrong = |what: String| io.error(Kind::Shape, x, what);
        let axis = place(axis, first.dims().rank() + usize::from(stack)).map_err(wrong)?;
        // All sizes but that along the axis must agree; when stacking, that one too.
        let same = |t: &Tensor| {
            let fits = |(i, (a, b)): (usize, (&usize, &usize))| a == b || (i == axis && !stack);
            t.dtype() == first.dtype()
                && t.dims().rank() == first.dims().rank()
                && t.dims().iter().zip(first.dims().iter()).enumerate().all(fits)
        };
        if let Some(i) = items.iter().position(|t| !same(t)) {
            let (a, b) = (first, &items[i]);
            return Err(wrong(format!(
                "has {}{} as entry 0, but {}{} as entry {i}, which do not fit along axis {axis}",
                a.dtype(),
                a.dims(),
                b.dtype(),
                b.dims()
            )));
        }
        let mut sizes = first.dims().to_vec();
        if stack {
            sizes.insert(axis, items.len());
        } else {
            sizes[axis] = items.iter().map(|t| t.dims()[axis]).sum();
        }
        let whole = Dims::try_new(&sizes).map_err(|e| wrong(e.to_string()))?;
        Ok(Join { axis, whole, rows: sizes[..axis].iter().product::<usize>().max(1) })
    }

    /// The size of an entry along the axis; of stacked ones along the axis of that number, if they have one.
    fn size(&self, t: &Tensor) -> usize {
        t.dims().get(self.axis).copied().unwrap_or(1)
    }
}

/// The axis among `rank` that a number means.
fn place(axis: i64, rank: usize) -> std::result::Result<usize, String> {
    let from_start = if axis < 0 { axis + rank as i64 } else { axis };
    match usize::try_from(from_start) {
        Ok(a) if a < rank => Ok(a),
        _ => Err(format!("has no axis {axis} to put entries together: there are {rank}")),
    }
}

const GRAD: GradOp = GradOp::of(&TensorArrayToTensor, "tensor_array_to_tensor_grad(X, Out@GRAD) -> X@GRAD")
    .doc("X@GRAD = Out@GRAD cut into entries like those of X")
    .traits(Traits::NONE.shape_only(&["X"]))
    .infer(|cx| {
        let x = cx.input("X")?;
        cx.set("X@GRAD", x.with_kind(VarKind::TensorArray));
        Ok(())
    })
    .kernel(|p| {
        let (x, given, out) = (p.input("X")?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
        let (axis, stack) = (p.attrs().int("axis")?, p.attrs().bool("use_stack")?);
        kernel(move |io| {
            let (array, given_t) = (io.array(x)?, io.dense(given)?);
            let join = Join::new(io, x, array.items(), axis, stack)?;
            if *given_t.dims() != join.whole || given_t.dtype() != array.items()[0].dtype() {
                let what = format!("is {}{}, but `Out` is {}", given_t.dtype(), given_t.dims(), join.whole);
                return Err(io.error(Kind::Shape, given, what));
            }
            let mut out = io.write(out)?;
            let grads = out.array_mut();
            grads.resize(array.items().len());
            for (grad, t) in grads.items_mut().iter_mut().zip(array.items()) {
                grad.resize(t.dtype(), *t.dims());
                grad.set_lod(t.lod().clone());
            }
            let mut rest = given_t.bytes();
            for row in 0..join.rows {
                for grad in grads.items_mut() {
                    let bytes = grad.bytes().len() / join.rows;
                    let (piece, behind) = rest.split_at(bytes);
                    grad.bytes_mut()[row * bytes..(row + 1) * bytes].copy_from_slice(piece);
                    rest = behind;
                }
            }
            Ok(())
        })
    });

#[cfg(test)]
mod tests {
    use crate::testing::{check, tensor, tensor_of};
    use oarlock_tensor::{Tensor, TensorArray, Value};

    fn array(items: &[Tensor]) -> Value {
        Value::Array(TensorArray::of(items.to_vec()))
    }

    #[test]
    fn side_by_side_and_stacked() {
        let (a, b) = (tensor([2, 1], &[1.0, 2.0]), tensor([2, 2], &[3.0, 4.0, 5.0, 6.0]));
        let whole = tensor([2, 3], &[1.0, 3.0, 4.0, 2.0, 5.0, 6.0]);
        for axis in [1, -1] {
            check("tensor_array_to_tensor")
                .input("X", array(&[a.clone(), b.clone()]))
                .attr("axis", axis)
                .output("Out", whole.clone())
                .output("OutIndex", tensor_of([2], &[1i32, 2]))
                .run();
        }
        check("tensor_array_to_tensor_grad")
            .input("X", array(&[a.clone(), b.clone()]))
            .input("Out@GRAD", whole)
            .attr("axis", 1)
            .output("X@GRAD", array(&[a.clone(), b]))
            .run();
        let stacked = tensor([2, 2, 1], &[1.0, 1.0, 2.0, 2.0]);
        check("tensor_array_to_tensor")
            .input("X", array(&[a.clone(), a.clone()]))
            .attr("axis", 1)
            .attr("use_stack", true)
            .output("Out", stacked.clone())
            .any_output("OutIndex")
            .run();
        check("tensor_array_to_tensor_grad")
            .input("X", array(&[a.clone(), a.clone()]))
            .input("Out@GRAD", stacked)
            .attr("axis", 1)
            .attr("use_stack", true)
            .output("X@GRAD", array(&[a.clone(), a]))
            .run();
    }

    #[test]
    fn entries_must_fit() {
        let join = |items: &[Tensor], axis: i32| {
            check("tensor_array_to_tensor").input("X", array(items)).attr("axis", axis).any_output("Out").error()
        };
        let (a, b) = (tensor([1, 1], &[1.0]), tensor([1, 2], &[1.0, 2.0]));
        let text = join(&[a.clone(), b], 0);
        assert!(text.contains("has f32[1, 1] as entry 0, but f32[1, 2] as entry 1"), "{text}");
        assert!(join(&[], 0).contains("has no entries"));
        let text = join(&[a], 5);
        assert!(text.contains("`tensor_array_to_tensor` has no axis 5 to put entries together: there are 2"), "{text}");
    }
}
