//! `transpose`: axes in another order.

use oarlock_ir::{
    AttrView, Error, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, Traits, VarType, kernel,
};
use oarlock_ops_support::strided_view::View;
use oarlock_tensor::{Element, Tensor, by_element};

pub(crate) const OPS: &[&dyn OpDef] = &[&Transpose, &GRAD];

/// The attributes of `transpose` and `transpose2`.
pub(super) fn with_attrs(sig: Sig) -> Sig {
    sig.required_attr("axis", "axis i of `Out` is axis `axis[i]` of `X`").hints(&["data_format"])
}

/// The order of axes that the attribute asks for: each named once.
pub(super) fn parse_order(attrs: AttrView<'_>) -> Result<Vec<usize>> {
    let axes = attrs.ints("axis")?;
    let order: Vec<usize> = axes.iter().filter_map(|a| usize::try_from(*a).ok()).collect();
    if order.len() == axes.len() && (0..axes.len()).all(|i| order.contains(&i)) {
        return Ok(order);
    }
    let what = format!("`transpose` cannot put axes in the order {axes:?}");
    Err(Error::new(Kind::Argument, what).help("name every axis of `X` once, counting from 0"))
}

/// The type of X with its axes in another order.
pub(super) fn infer(cx: &Infer<'_>) -> Result<VarType> {
    let (x, order) = (cx.input("X")?, parse_order(cx.attrs())?);
    if order.len() != x.shape.rank() {
        let what = format!("cannot put the axes of {} in the order {order:?}", cx.describe("X"));
        return Err(cx.shape_error(what).help("name every axis of `X` once"));
    }
    let shape: Vec<_> = order.iter().map(|i| x.shape[*i]).collect();
    Ok(x.with_shape(shape).with_lod(0))
}

/// The order that undoes another one.
pub(super) fn inverse(order: &[usize]) -> Vec<usize> {
    let mut inverse = vec![0; order.len()];
    order.iter().enumerate().for_each(|(i, o)| inverse[*o] = i);
    inverse
}

/// The kernel that puts axes in an order.
pub(super) fn prepare(from: In, to: Out, order: Vec<usize>) -> Result<Box<dyn Kernel>> {
    kernel(move |io| {
        let tensor = io.dense(from)?;
        if order.len() != tensor.dims().rank() {
            let what = format_args!("is {}, its axes cannot be put in the order {order:?}", tensor.dims());
            return Err(io.error(Kind::Shape, from, what));
        }
        by_element!(tensor.dtype(), T => permute::<T>(io, from, &tensor, to, &order))
    })
}

fn permute<T: Element>(io: &Io<'_>, slot: In, from: &Tensor, out: Out, order: &[usize]) -> Result<()> {
    let view = View::whole(from.dims()).permuted(order);
    let mut to = io.out_sized(out, T::DTYPE, *view.dims())?;
    view.gather(io.data::<T>(slot, from)?, io.data_mut(out, &mut to)?);
    Ok(())
}

struct Transpose;

impl OpDef for Transpose {
    fn sig(&self) -> Sig {
        let sig = Sig::new("transpose", "Out = X with its axes in another order");
        with_attrs(sig.input("X", "any tensor").output("Out", "the elements of `X`"))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let out = infer(cx)?;
        cx.set("Out", out);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        prepare(p.input("X")?, p.output("Out")?, parse_order(p.attrs())?)
    }
}

const GRAD: GradOp = GradOp::of(&Transpose, "transpose_grad(X, Out?, Out@GRAD) -> X@GRAD")
    .doc("X@GRAD = Out@GRAD with its axes put back")
    .traits(Traits::NONE.shape_only(&["X", "Out"]))
    .kernel(|p| prepare(p.input("Out@GRAD")?, p.output("X@GRAD")?, inverse(&parse_order(p.attrs())?)));

#[test]
fn transpose() {
    use crate::testing::{check, noise, tensor, tensor_of};
    let x = tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let out = tensor([3, 2], &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    check("transpose").input("X", x).attr("axis", vec![1, 0]).output("Out", out).grad(&["X"]).run();
    let (x, out) = (tensor_of::<i64>([1, 2], &[7, 8]), tensor_of::<i64>([2, 1], &[7, 8]));
    check("transpose").input("X", x).attr("axis", vec![1, 0]).output("Out", out).run();
    check("transpose").input("X", noise([2, 3, 4], 1)).attr("axis", vec![2, 0, 1]).any_output("Out").grad(&["X"]).run();
    let wrong = check("transpose").input("X", noise([2, 3], 1)).attr("axis", vec![0, 0]).any_output("Out");
    assert_eq!(
        wrong.error(),
        "error[argument]: `transpose` cannot put axes in the order [0, 0]\n  \
         at (`transpose`, block 0, op 0)\n  help: name every axis of `X` once, counting from 0"
    );
}
