//! `shuffle_batch`: the rows of a batch in a random order.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, VarType, kernel, sig};
use oarlock_ops_support::checks;
use oarlock_tensor::rng::{MinStd0, shuffle};
use oarlock_tensor::{DType, Dims};

pub(crate) const OPS: &[&dyn OpDef] = &[&ShuffleBatch, &GRAD];

struct ShuffleBatch;

impl OpDef for ShuffleBatch {
    sig! {
        "shuffle_batch": "Out[ShuffleIdx[i]] = X[i], where all dimensions but the last number the rows";
        in "X": "any tensor";
        in "Seed": "one i64; `startup_seed` is used while it is empty";
        out "Out": "like `X`";
        out "ShuffleIdx": "i64, where each row went";
        out "SeedOut": "one i64, for the next step";
        attr "startup_seed" = 0, "of the first step";
        // Its seed is another one in the next run.
        traits Traits::NONE.random(None).maybe_empty(&["Seed"]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.input("X")?;
        let rows = x.shape.split_last().map_or(Dim::Any, |(_, rows)| oarlock_ir::product(rows));
        cx.set("Out", x);
        cx.set("ShuffleIdx", VarType::tensor(DType::I64, vec![rows]));
        cx.set("SeedOut", VarType::tensor(DType::I64, vec![Dim::Is(1)]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, seed) = (p.input("X")?, p.input("Seed")?);
        let (out, index, seed_out) = (p.output("Out")?, p.output("ShuffleIdx")?, p.output("SeedOut")?);
        let startup = p.attrs().int("startup_seed")?;
        kernel(move |io| {
            let first = io.value(seed)?.is_empty();
            let seed = if first { startup } else { io.index(seed)? };
            let mut engine = MinStd0::new(seed as u64);
            let rows = io.dense(x)?.dims().split_last().map_or(1, |(_, rows)| rows.iter().product());
            let mut order = io.out_sized(index, DType::I64, Dims::from([rows]))?;
            let order = io.data_mut::<i64>(index, &mut order)?;
            order.iter_mut().zip(0..).for_each(|(to, i)| *to = i);
            shuffle(order, &mut engine);
            let mut next = io.out_sized(seed_out, DType::I64, Dims::from([1]))?;
            io.data_mut::<i64>(seed_out, &mut next)?[0] = engine.next() as i64;
            move_rows(io, x, out, order, |i, to| (i, to))
        })
    }
}

/// Copies rows; `pair` makes (from, to) of a position and what `order` says of it.
fn move_rows(io: &Io<'_>, x: In, out: Out, order: &[i64], pair: fn(usize, usize) -> (usize, usize)) -> Result<()> {
    let from = io.dense(x)?;
    let mut to = io.out_sized(out, from.dtype(), *from.dims())?;
    to.set_lod(from.lod().clone());
    let bytes = from.bytes().len() / order.len().max(1);
    let to = to.bytes_mut();
    for (i, &other) in order.iter().enumerate() {
        let (a, b) = pair(i, other as usize);
        to[b * bytes..][..bytes].copy_from_slice(&from.bytes()[a * bytes..][..bytes]);
    }
    Ok(())
}

const GRAD: GradOp = GradOp::of(&ShuffleBatch, "shuffle_batch_grad(Out@GRAD, ShuffleIdx) -> X@GRAD")
    .doc("X@GRAD[i] = Out@GRAD[ShuffleIdx[i]]")
    .infer(|cx| cx.same("X@GRAD", "Out@GRAD"))
    .kernel(|p| {
        let (dout, index, dx) = (p.input("Out@GRAD")?, p.input("ShuffleIdx")?, p.output("X@GRAD")?);
        kernel(move |io| {
            let order = io.dense(index)?;
            let order = io.data::<i64>(index, &order)?;
            let dims = *io.dense(dout)?.dims();
            let width = dims.last().copied().unwrap_or(1);
            checks::expect_elements(io, dout, io.dense(dout)?.numel(), order.len() * width)?;
            if let Some(&row) = order.iter().find(|&&row| row as u64 >= order.len() as u64) {
                return Err(io.error(Kind::Range, index, format!("names row {row} of {}", order.len())));
            }
            move_rows(io, dout, dx, order, |i, other| (other, i))
        })
    });

/// The order that PaddlePaddle 1.8.5 gives rows for seed 5.
#[test]
fn shuffle_batch() {
    use crate::testing::{check, tensor, tensor_of};
    check("shuffle_batch")
        .input("X", tensor([4, 1], &[1.0, 2.0, 3.0, 4.0]))
        .input("Seed", tensor_of([1], &[5i64]))
        .output("Out", tensor([4, 1], &[3.0, 1.0, 2.0, 4.0]))
        .output("ShuffleIdx", tensor_of([4], &[1i64, 2, 0, 3]))
        .output("SeedOut", tensor_of([1], &[629_750_996i64]))
        .grad(&["X"])
        .run();
}
