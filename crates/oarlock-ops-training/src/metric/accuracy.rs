//! `accuracy`: how many rows have their label among the best classes.

use oarlock_ir::{Dim, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, VarType, kernel, sig};
use oarlock_tensor::{DType, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&Accuracy];

struct Accuracy;

impl OpDef for Accuracy {
    sig! {
        "accuracy": "Accuracy = Correct / Total, where a row is correct if its label is among its Indices";
        in "Out": "the best scores [n, k], of `top_k`";
        in "Indices": "their classes [n, k], i64";
        in "Label": "the true classes [n, 1], i64";
        out "Accuracy": "[1] f32";
        out "Correct": "[1] i32, how many rows are correct";
        out "Total": "[1] i32, how many rows there are";
        traits Traits::GRADIENT_FREE.shape_only(&["Out"]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (indices, label) = (cx.integer("Indices")?, cx.integer("Label")?);
        let rows = |ty: &VarType| ty.shape.first().copied().unwrap_or(Dim::Any);
        if !rows(&indices).fits(rows(&label)) {
            let what = format!("cannot compare {} with {}", cx.describe("Indices"), cx.describe("Label"));
            return Err(cx.shape_error(what).help("both need one row per sample"));
        }
        cx.set("Accuracy", VarType::tensor(DType::F32, vec![Dim::Is(1)]));
        cx.set("Correct", VarType::tensor(DType::I32, vec![Dim::Is(1)]));
        cx.set("Total", VarType::tensor(DType::I32, vec![Dim::Is(1)]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (indices, label) = (p.input("Indices")?, p.input("Label")?);
        let (accuracy, correct, total) = (p.output("Accuracy")?, p.output("Correct")?, p.output("Total")?);
        kernel(move |io| {
            let (hits, rows) = count(io, indices, label)?;
            let share = if rows == 0 { 0.0 } else { hits as f32 / rows as f32 };
            io.out(accuracy)?.copy_from(&Tensor::scalar(share));
            io.out(correct)?.copy_from(&Tensor::scalar(hits as i32));
            io.out(total)?.copy_from(&Tensor::scalar(rows as i32));
            Ok(())
        })
    }
}

/// Correct rows, and all.
fn count(io: &Io<'_>, indices: In, label: In) -> Result<(usize, usize)> {
    let (indices_tensor, label_tensor) = (io.dense(indices)?, io.dense(label)?);
    let (found, labels) = (io.data::<i64>(indices, &indices_tensor)?, io.data::<i64>(label, &label_tensor)?);
    let (rows, best) = indices_tensor.dims().matrix(1);
    if labels.len() != rows {
        return Err(io.error(Kind::Shape, label, format_args!("has {} labels for {rows} rows", labels.len())));
    }
    if best == 0 {
        return Ok((0, rows));
    }
    let hits = found.chunks_exact(best).zip(labels).filter(|(found, label)| found.contains(label)).count();
    Ok((hits, rows))
}

#[test]
fn accuracy() {
    use crate::testing::{check, noise, tensor, tensor_of};
    check("accuracy")
        .input("Out", noise([4, 2], 1))
        .input("Indices", tensor_of([4, 2], &[0i64, 1, 2, 0, 1, 2, 0, 3]))
        .input("Label", tensor_of([4, 1], &[1i64, 1, 1, 0]))
        .output("Accuracy", tensor([1], &[0.75]))
        .output("Correct", tensor_of([1], &[3i32]))
        .output("Total", tensor_of([1], &[4i32]))
        .run();
}
