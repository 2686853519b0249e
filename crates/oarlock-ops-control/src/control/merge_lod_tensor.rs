//! `merge_lod_tensor`: puts back together what `split_lod_tensor` took apart.

use oarlock_ir::{Dim, Grad, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Sig, Traits, kernel};
use oarlock_tensor::{Tensor, Value};

use super::split_lod_tensor::{check_mask, mask_of};
use crate::control::sequence_pieces::Pieces;

pub(crate) const OPS: &[&dyn OpDef] = &[&MergeLodTensor, &MergeLodTensorInfer];

fn sig_of(op_type: &'static str) -> Sig {
    Sig::new(op_type, "Out = the sequences of InTrue where Mask is true, of InFalse elsewhere")
        .input("X", "has the LoD levels above `level`")
        .input("Mask", "bool [sequences, 1]")
        .input("InTrue", "sequences; without LoD, rows; nothing if no mask is true")
        .input("InFalse", "sequences; without LoD, rows; nothing if no mask is false")
        .output("Out", "all sequences")
        .attr("level", 0, "the LoD level whose sequences the mask tells apart")
}

fn infer_merged(cx: &mut Infer<'_>) -> Result<()> {
    check_mask(cx)?;
    let mut ty = cx.input("InTrue")?;
    if let Some(rows) = ty.shape.0.first_mut() {
        *rows = Dim::Any;
    }
    cx.set("Out", ty);
    Ok(())
}

fn merge_kernel(p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
    let (x, mask, level) = (p.input("X")?, p.input("Mask")?, p.attrs().count("level")?);
    let (sides, out) = ([p.input("InFalse")?, p.input("InTrue")?], p.output("Out")?);
    let mut pieces = Pieces::default();
    kernel(move |io| {
        let values = [io.value(sides[0])?, io.value(sides[1])?];
        // A branch that did not run leaves nothing, or a tensor without rows.
        let none = Tensor::new();
        let tensors = [tensor_or(&values[0], &none), tensor_or(&values[1], &none)];
        let Some(like) = like(io, tensors)? else {
            return Err(io.op_error(Kind::Missing, "has neither `InTrue` nor `InFalse`: none of the branches ran"));
        };
        let outer = io.dense(x)?.lod().levels().get(..level).map(<[_]>::to_vec);
        let Some(outer) = outer else {
            return Err(io.error(Kind::Lod, x, format!("has no LoD level {level}")));
        };
        pieces.clear();
        let mut next = [0, 0];
        for side in mask_of(io, mask)?.into_iter().map(usize::from) {
            pieces.add(side, tensors[side], 0, next[side]).map_err(|e| io.error(Kind::Lod, sides[side], e))?;
            next[side] += 1;
        }
        pieces.put_together(&tensors, like.dtype(), *like.dims(), &outer, &mut *io.out(out)?);
        Ok(())
    })
}

fn tensor_or<'v>(value: &'v Value, none: &'v Tensor) -> &'v Tensor {
    if let Value::Dense(t) = value { t } else { none }
}

/// The side that has rows; both must have rows of one size.
fn like<'t>(io: &Io<'_>, sides: [&'t Tensor; 2]) -> Result<Option<&'t Tensor>> {
    let with_rows: Vec<&Tensor> = sides.into_iter().filter(|t| t.numel() > 0).collect();
    if let [a, b] = with_rows[..]
        && (a.dtype(), a.dims().get(1..)) != (b.dtype(), b.dims().get(1..))
    {
        let what = format!("merges {}{} and {}{}", a.dtype(), a.dims(), b.dtype(), b.dims());
        return Err(io.op_error(Kind::Shape, what).help("let both branches give rows of the same size"));
    }
    let of_rank = sides.into_iter().find(|t| t.dims().rank() > 1);
    Ok(with_rows.first().copied().or(of_rank))
}

struct MergeLodTensor;

impl OpDef for MergeLodTensor {
    fn sig(&self) -> Sig {
        sig_of("merge_lod_tensor").traits(Traits::NONE.shape_only(&["X"]).maybe_empty(&["InTrue", "InFalse"]))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        infer_merged(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        merge_kernel(p)
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let mut op = g.make("split_lod_tensor", &["Mask"], &[]);
        op.inputs.set("X", g.arguments("Out@GRAD"));
        op.outputs.set("OutTrue", g.input_grads("InTrue"));
        op.outputs.set("OutFalse", g.input_grads("InFalse"));
        g.push(op)
    }
}

/// The same for inference, where Fluid gives the memory of the branches back.
struct MergeLodTensorInfer;

impl OpDef for MergeLodTensorInfer {
    fn sig(&self) -> Sig {
        sig_of("merge_lod_tensor_infer").traits(MergeLodTensor.traits())
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        infer_merged(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        merge_kernel(p)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor, tensor_of, with_lod};
    use oarlock_tensor::{B8, Tensor};

    fn mask(bits: &[bool]) -> Tensor {
        let bits: Vec<B8> = bits.iter().map(|b| B8::from(*b)).collect();
        tensor_of([bits.len(), 1], &bits)
    }

    fn merge(op_type: &str, x: Tensor, bits: &[bool], yes: Tensor, no: Tensor) -> Check {
        check(op_type).input("X", x).input("Mask", mask(bits)).input("InTrue", yes).input("InFalse", no)
    }

    #[test]
    fn rows_and_sequences() {
        let (yes, no) = (tensor([2, 1], &[1.0, 3.0]), tensor([1, 1], &[2.0]));
        for op_type in ["merge_lod_tensor", "merge_lod_tensor_infer"] {
            merge(op_type, yes.clone(), &[true, false, true], yes.clone(), no.clone())
                .output("Out", tensor([3, 1], &[1.0, 2.0, 3.0]))
                .run();
        }
        merge("merge_lod_tensor", yes.clone(), &[false, true, true], yes, no)
            .any_output("Out")
            .grad(&["InTrue", "InFalse"])
            .run();
        let whole = with_lod(tensor([3], &[1.0, 2.0, 3.0]), &[&[0, 3], &[0, 2, 2, 3]]);
        let (yes, no) = (with_lod(tensor([2], &[1.0, 2.0]), &[&[0, 2, 2]]), with_lod(tensor([1], &[3.0]), &[&[0, 1]]));
        merge("merge_lod_tensor", whole.clone(), &[true, true, false], yes, no)
            .attr("level", 1)
            .output("Out", whole)
            .run();
    }

    #[test]
    fn one_side_may_be_empty() {
        let (yes, none) = (tensor([1, 2], &[1.0, 3.0]), tensor([0], &[]));
        merge("merge_lod_tensor", yes.clone(), &[true], yes.clone(), none.clone()).output("Out", yes.clone()).run();
        let text = merge("merge_lod_tensor", yes.clone(), &[false], yes.clone(), none).any_output("Out").error();
        assert!(text.contains("input `InFalse` = `InFalse.0` has 0 rows, but row 0 is needed"), "{text}");
        let text =
            merge("merge_lod_tensor", yes.clone(), &[false], yes, tensor([1, 1], &[1.0])).any_output("Out").error();
        assert!(text.contains("`merge_lod_tensor` merges f32[1, 1] and f32[1, 2]"), "{text}");
    }
}
