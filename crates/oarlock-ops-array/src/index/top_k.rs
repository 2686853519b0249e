//! `top_k`: the k largest elements along the last axis, in descending order.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, fail, kernel, sig};
use oarlock_ops_support::number::by_number;
use oarlock_tensor::{DType, Element};

use crate::index::sorting::{larger_first, put_back};

pub(crate) const OPS: &[&dyn OpDef] = &[&TopK, &GRAD];

struct TopK;

impl OpDef for TopK {
    sig! {
        "top_k": "Out = the k largest elements of X along the last axis; Indices = where they were";
        in "X": "any tensor of numbers";
        in? "K": "an i32 tensor of one number, instead of attribute `k`";
        out "Out": "like `X`, with k along the last axis; of equal ones the first goes first";
        out "Indices": "i64, of the shape of `Out`";
        attr "k" = 1, "how many";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (mut x, k) = (cx.input("X")?, cx.attrs().count("k")?);
        let k = if cx.has("K") { Dim::Any } else { Dim::Is(k) };
        let enough = |last: &Dim| last.known().zip(k.known()).is_none_or(|(n, k)| (1..=n).contains(&k));
        match x.shape.0.last_mut() {
            Some(last) if enough(last) => *last = k,
            _ => return Err(cx.shape_error(format!("cannot take the {k} largest of {}", cx.describe("X")))),
        }
        let indices = x.clone().with_dtype(DType::I64);
        cx.set("Out", x);
        cx.set("Indices", indices);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, indices) = (p.input("X")?, p.output("Out")?, p.output("Indices")?);
        let (k, k_tensor) = (p.attrs().count("k")?, p.maybe_input("K")?);
        by_number!(p.dtype("X")?, T => {
            let mut order: Vec<u32> = Vec::new();
            kernel(move |io| {
                let k = match k_tensor {
                    Some(tensor) => usize::try_from(io.index(tensor)?).unwrap_or(0),
                    None => k,
                };
                let tensor = io.dense(x)?;
                let mut dims = *tensor.dims();
                let width = dims.last().copied().unwrap_or(0);
                if !(1..=width).contains(&k) {
                    return Err(io.error(Kind::Shape, x, format_args!("is {dims}: there are no {k} largest in a row")));
                }
                let last = dims.rank() - 1;
                dims[last] = k;
                let (mut values, mut places) = (io.out_sized(out, T::DTYPE, dims)?, io.out_sized(indices, DType::I64, dims)?);
                values.set_lod(tensor.lod().clone());
                places.set_lod(tensor.lod().clone());
                let to = io.data_mut::<T>(out, &mut values)?.chunks_exact_mut(k);
                let at = io.data_mut::<i64>(indices, &mut places)?.chunks_exact_mut(k);
                for ((row, to), at) in io.data::<T>(x, &tensor)?.chunks_exact(width).zip(to).zip(at) {
                    largest(row, k, &mut order);
                    for ((to, at), i) in to.iter_mut().zip(at).zip(&order) {
                        (*to, *at) = (row[*i as usize], i64::from(*i));
                    }
                }
                Ok(())
            })
        }, other => fail!(Kind::DType, "`top_k` works on f32, f64, i32 and i64, not on {other}"))
    }
}

/// The places of the k largest elements of a row, which has at least k.
fn largest<T: PartialOrd>(row: &[T], k: usize, order: &mut Vec<u32>) {
    order.clear();
    order.extend(0..row.len() as u32);
    let by_size = |a: &u32, b: &u32| larger_first(&row[*a as usize], &row[*b as usize]).then(a.cmp(b));
    if k < row.len() {
        order.select_nth_unstable_by(k - 1, by_size);
        order.truncate(k);
    }
    order.sort_unstable_by(by_size);
}

const GRAD: GradOp = GradOp::of(&TopK, "top_k_grad(X, Indices, Out@GRAD) -> X@GRAD")
    .doc("X@GRAD = Out@GRAD where the elements were, 0 elsewhere")
    .traits(Traits::NONE.shape_only(&["X"]))
    .kernel(|p| put_back(p, |io: &Io<'_>, x: In| Ok(io.dense(x)?.dims().rank().saturating_sub(1))));

#[test]
fn top_k() {
    use crate::testing::{check, tensor, tensor_of};
    let x = || tensor([2, 3], &[1.0, 3.0, 2.0, 5.0, 4.0, 5.0]);
    check("top_k")
        .input("X", x())
        .attr("k", 2)
        .output("Out", tensor([2, 2], &[3.0, 2.0, 5.0, 5.0]))
        .output("Indices", tensor_of::<i64>([2, 2], &[1, 2, 0, 2]))
        .grad(&["X"])
        .run();
    check("top_k")
        .input("X", tensor_of::<i64>([2], &[3, 7]))
        .input("K", tensor_of::<i32>([1], &[1]))
        .output("Out", tensor_of::<i64>([1], &[7]))
        .output("Indices", tensor_of::<i64>([1], &[1]))
        .run();
    assert_eq!(
        check("top_k").input("X", x()).attr("k", 4).any_output("Out").any_output("Indices").error(),
        "error[shape]: `top_k` cannot take the 4 largest of `X` = X.0 f32[2, 3]\n  at (`top_k`, block 0, op 0)"
    );
}
