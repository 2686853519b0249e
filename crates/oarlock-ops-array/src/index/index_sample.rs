//! `index_sample`: in each row, elements by their index.

use oarlock_ir::{GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, by_float, kernel, sig};
use oarlock_ops_support::int_list::read_indices;
use oarlock_tensor::{Dims, Element};

pub(crate) const OPS: &[&dyn OpDef] = &[&IndexSample, &GRAD];

struct IndexSample;

impl OpDef for IndexSample {
    sig! {
        "index_sample": "Out[i][j] = X[i][Index[i][j]]";
        in "X": "[n, m], any dtype";
        in "Index": "[n, k], i32 or i64, each from 0 to m - 1";
        out "Out": "[n, k]";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, index) = (cx.input("X")?, cx.integer("Index")?);
        let ([n, _], [rows, k]) = (&x.shape[..], &index.shape[..]) else {
            let what = format!("needs matrices, not {} and {}", cx.describe("X"), cx.describe("Index"));
            return Err(cx.shape_error(what));
        };
        if !n.fits(*rows) {
            let what = format!("needs as many rows in {} as in {}", cx.describe("Index"), cx.describe("X"));
            return Err(cx.shape_error(what));
        }
        let shape = vec![n.or(*rows), *k];
        cx.set("Out", x.with_shape(shape));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, index, out) = (p.input("X")?, p.input("Index")?, p.output("Out")?);
        let mut at = Vec::new();
        kernel(move |io| {
            let from = io.dense(x)?;
            let dims = places(io, index, from.dims(), &mut at)?;
            let mut to = io.out_sized(out, from.dtype(), dims)?;
            let size = from.dtype().size();
            for (to, at) in to.bytes_mut().chunks_exact_mut(size).zip(&at) {
                to.copy_from_slice(&from.bytes()[at * size..][..size]);
            }
            Ok(())
        })
    }
}

/// Where in X each element of Out comes from, and the sizes of Out.
fn places(io: &Io<'_>, index: In, x: &Dims, to: &mut Vec<usize>) -> Result<Dims> {
    let tensor = io.dense(index)?;
    let (&[n, m], &[rows, k]) = (&x[..], &tensor.dims()[..]) else {
        return Err(io.error(Kind::Shape, index, format_args!("is {}, but {x} needs a matrix", tensor.dims())));
    };
    if n != rows {
        return Err(io.error(Kind::Shape, index, format_args!("has {rows} rows, but there are {n}")));
    }
    read_indices(io, index, &tensor, m, to)?;
    if k > 0 {
        to.iter_mut().enumerate().for_each(|(i, at)| *at += i / k * m);
    }
    Ok(Dims::from([n, k]))
}

const GRAD: GradOp = GradOp::of(&IndexSample, "index_sample_grad(X, Index, Out@GRAD) -> X@GRAD")
    .doc("X@GRAD = the sums of Out@GRAD where its elements came from, 0 elsewhere")
    .traits(Traits::NONE.shape_only(&["X"]))
    .kernel(|p| {
        let (x, index, dout, dx) = (p.input("X")?, p.input("Index")?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
        let mut at = Vec::new();
        by_float!(p.float("Out@GRAD")?, T => kernel(move |io| {
            let (dims, d) = (*io.dense(x)?.dims(), io.dense(dout)?);
            let sampled = places(io, index, &dims, &mut at)?;
            if d.numel() != sampled.numel() {
                return Err(io.error(Kind::Shape, dout, format_args!("is {}, but {sampled} is needed", d.dims())));
            }
            let mut to = io.out_sized(dx, T::DTYPE, dims)?;
            let to = io.data_mut::<T>(dx, &mut to)?;
            to.fill(0.0);
            at.iter().zip(io.data::<T>(dout, &d)?).for_each(|(at, d)| to[*at] += *d);
            Ok(())
        }))
    });

#[test]
fn index_sample() {
    use crate::testing::{check, tensor, tensor_of};
    let sample = |index: &[i64]| {
        let x = tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        check("index_sample").input("X", x).input("Index", tensor_of([2, 2], index))
    };
    sample(&[2, 0, 1, 1]).output("Out", tensor([2, 2], &[3.0, 1.0, 5.0, 5.0])).grad(&["X"]).run();
    let outside = sample(&[2, 3, 1, 1]).any_output("Out").error();
    assert!(outside.contains("has index 3 at element 1, but only 0 to 2 exist"), "{outside}");
}
