//! `multiplex`: each row from one of several tensors.

use oarlock_ir::{GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, fail, kernel, sig};
use oarlock_ops_support::int_list::read_indices;

pub(crate) const OPS: &[&dyn OpDef] = &[&Multiplex, &GRAD];

struct Multiplex;

impl OpDef for Multiplex {
    sig! {
        "multiplex": "Out[i] = row i of the X that Ids[i] names";
        in "Ids": "[n, 1], i32 or i64";
        in* "X": "tensors of one dtype and shape, with n rows";
        out "Out": "like each `X`";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (ids, all) = (cx.integer("Ids")?, cx.inputs("X")?);
        let Some(first) = all.first() else { fail!(Kind::Missing, "`multiplex` needs input `X`") };
        let mut shape = first.shape.0.clone();
        for x in &all[1..] {
            let fits = x.shape.rank() == shape.len() && shape.iter().zip(x.shape.iter()).all(|(a, b)| a.fits(*b));
            if !fits || x.dtype != first.dtype {
                return Err(cx.shape_error(format!("cannot choose between rows of {first} and {x}: they differ")));
            }
            shape.iter_mut().zip(x.shape.iter()).for_each(|(a, b)| *a = a.or(*b));
        }
        if !ids.shape.first().zip(shape.first()).is_some_and(|(a, b)| a.fits(*b)) {
            return Err(cx.shape_error(format!("needs an id for each row of {first}, not {}", cx.describe("Ids"))));
        }
        let out = first.clone().with_shape(shape);
        cx.set("Out", out);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (ids, xs, out) = (p.input("Ids")?, p.inputs("X")?, p.output("Out")?);
        let mut chosen = Vec::new();
        kernel(move |io| {
            let Some(&first) = xs.first() else { return Err(io.op_error(Kind::Missing, "needs input `X`")) };
            let like = io.dense(first)?;
            choices(io, ids, xs.len(), like.rows(), &mut chosen)?;
            let mut to = io.out_sized(out, like.dtype(), *like.dims())?;
            to.set_lod(like.lod().clone());
            let row = like.bytes().len().checked_div(like.rows()).unwrap_or(0);
            for (n, &x) in xs.iter().enumerate() {
                let from = io.dense(x)?;
                if from.dims() != like.dims() || from.dtype() != like.dtype() {
                    let what = format_args!(
                        "is {}{}, but others are {}{}",
                        from.dtype(),
                        from.dims(),
                        like.dtype(),
                        like.dims()
                    );
                    return Err(io.error(Kind::Shape, x, what));
                }
                copy_rows(from.bytes(), to.bytes_mut(), row, &chosen, n);
            }
            Ok(())
        })
    }
}

/// Which tensor each row comes from.
fn choices(io: &Io<'_>, ids: In, count: usize, rows: usize, to: &mut Vec<usize>) -> Result<()> {
    read_indices(io, ids, &*io.dense(ids)?, count, to)?;
    if to.len() == rows {
        return Ok(());
    }
    Err(io.error(Kind::Shape, ids, format_args!("has {} ids for {rows} rows", to.len())))
}

/// Copies the rows for which tensor `n` was chosen.
fn copy_rows(from: &[u8], to: &mut [u8], row: usize, chosen: &[usize], n: usize) {
    for (i, _) in chosen.iter().enumerate().filter(|(_, c)| **c == n) {
        to[i * row..][..row].copy_from_slice(&from[i * row..][..row]);
    }
}

const GRAD: GradOp = GradOp::of(&Multiplex, "multiplex_grad(Ids, Out@GRAD) -> X@GRAD")
    .positional()
    .doc("X@GRAD = the rows of Out@GRAD that came from there, 0 elsewhere")
    .infer(|cx| {
        let d = cx.input("Out@GRAD")?;
        for i in 0..cx.op().outputs.get("X@GRAD").len() {
            cx.set_nth("X@GRAD", i, d.clone());
        }
        Ok(())
    })
    .kernel(|p| {
        let (ids, dout, dxs) = (p.input("Ids")?, p.input("Out@GRAD")?, p.outputs("X@GRAD")?);
        let mut chosen = Vec::new();
        kernel(move |io| {
            let d = io.dense(dout)?;
            choices(io, ids, dxs.len(), d.rows(), &mut chosen)?;
            let row = d.bytes().len().checked_div(d.rows()).unwrap_or(0);
            for (n, dx) in dxs.iter().enumerate() {
                let Some(dx) = *dx else { continue };
                let mut to = io.out_sized(dx, d.dtype(), *d.dims())?;
                to.bytes_mut().fill(0);
                copy_rows(d.bytes(), to.bytes_mut(), row, &chosen, n);
            }
            Ok(())
        })
    });

#[test]
fn multiplex() {
    use crate::testing::{check, tensor, tensor_of};
    let choose = |ids: &[i32]| {
        let xs = vec![tensor([2, 2], &[1.0, 2.0, 3.0, 4.0]), tensor([2, 2], &[5.0, 6.0, 7.0, 8.0])];
        check("multiplex").input("Ids", tensor_of([ids.len(), 1], ids)).inputs("X", xs)
    };
    choose(&[1, 0]).output("Out", tensor([2, 2], &[5.0, 6.0, 3.0, 4.0])).grad(&["X"]).run();
    assert_eq!(
        choose(&[1, 2]).any_output("Out").error(),
        "error[range]: `multiplex`: input `Ids` = `Ids.0` has index 2 at element 1, but only 0 to 1 exist\n  \
         at (`multiplex`, block 0, op 0)"
    );
    let short = choose(&[1]).any_output("Out").error();
    assert!(short.contains("needs an id for each row of f32[2, 2], not `Ids` = Ids.0 i32[1, 1]"), "{short}");
}
