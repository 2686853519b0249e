//! `split_lod_tensor`: the sequences for which a mask is true, and the others.

use oarlock_ir::{Dim, Grad, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, kernel, sig};

use crate::control::sequence_pieces::Pieces;

pub(crate) const OPS: &[&dyn OpDef] = &[&SplitLodTensor];

struct SplitLodTensor;

impl OpDef for SplitLodTensor {
    sig! {
        "split_lod_tensor": "OutTrue = the sequences of X where Mask is true; OutFalse = the others";
        in "X": "sequences; without LoD, rows";
        in "Mask": "bool [sequences, 1]";
        out? "OutTrue": "sequences of `X`";
        out? "OutFalse": "sequences of `X`";
        attr "level" = 0, "the LoD level whose sequences the mask tells apart";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        check_mask(cx)?;
        let mut x = cx.input("X")?;
        if let Some(rows) = x.shape.0.first_mut() {
            *rows = Dim::Any;
        }
        cx.set("OutTrue", x.clone());
        cx.set("OutFalse", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, mask, level) = (p.input("X")?, p.input("Mask")?, p.attrs().count("level")?);
        let outs = [(p.maybe_output("OutTrue")?, true), (p.maybe_output("OutFalse")?, false)];
        let mut pieces = Pieces::default();
        kernel(move |io| {
            let tensor = io.dense(x)?;
            for (out, side) in outs {
                let Some(out) = out else { continue };
                pieces.clear();
                for (i, m) in mask_of(io, mask)?.into_iter().enumerate() {
                    if m == side {
                        pieces.add(0, &tensor, level, i).map_err(|e| io.error(Kind::Lod, x, e))?;
                    }
                }
                pieces.put_together(&[&tensor], tensor.dtype(), *tensor.dims(), &[], &mut *io.out(out)?);
            }
            Ok(())
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let mut op = g.make("merge_lod_tensor", &["Mask", "X"], &[]);
        op.inputs.set("InTrue", g.arguments("OutTrue@GRAD"));
        op.inputs.set("InFalse", g.arguments("OutFalse@GRAD"));
        op.outputs.set("Out", g.input_grads("X"));
        g.push(op)
    }
}

/// The mask is a column.
pub(super) fn check_mask(cx: &Infer<'_>) -> Result<()> {
    let mask = cx.input("Mask")?;
    match mask.shape[..] {
        [_, Dim::Any | Dim::Is(1)] => Ok(()),
        _ => {
            let mask = cx.describe("Mask");
            Err(cx
                .shape_error(format!("needs a mask of one column, but it gets {mask}"))
                .help("make the condition of IfElse a tensor of shape [batch, 1]"))
        }
    }
}

/// The mask, an entry per sequence.
pub(super) fn mask_of(io: &Io<'_>, mask: In) -> Result<Vec<bool>> {
    let t = io.dense(mask)?;
    Ok(io.data::<oarlock_tensor::B8>(mask, &t)?.iter().map(|b| b.get()).collect())
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, tensor, tensor_of, with_lod};
    use oarlock_tensor::{B8, Tensor, Value};

    fn mask(bits: &[bool]) -> Tensor {
        let bits: Vec<B8> = bits.iter().map(|b| B8::from(*b)).collect();
        tensor_of([bits.len(), 1], &bits)
    }

    #[test]
    fn split_lod_tensor() {
        let x = tensor([3, 1], &[1.0, 2.0, 3.0]);
        check("split_lod_tensor")
            .input("X", x.clone())
            .input("Mask", mask(&[true, false, true]))
            .output("OutTrue", tensor([2, 1], &[1.0, 3.0]))
            .output("OutFalse", tensor([1, 1], &[2.0]))
            .grad(&["X"])
            .run();
        check("split_lod_tensor")
            .input("X", with_lod(x, &[&[0, 2, 2, 3]]))
            .input("Mask", mask(&[true, true, false]))
            .output("OutTrue", with_lod(tensor([2, 1], &[1.0, 2.0]), &[&[0, 2, 2]]))
            .output("OutFalse", with_lod(tensor([1, 1], &[3.0]), &[&[0, 1]]))
            .run();
    }

    #[test]
    fn one_side_may_be_empty() {
        let all = || check("split_lod_tensor").input("X", tensor([1], &[1.0])).input("Mask", mask(&[true]));
        all().output("OutTrue", tensor([1], &[1.0])).output("OutFalse", tensor([0], &[])).run();
        let split = || check("split_lod_tensor").input("X", tensor([1], &[1.0])).output("OutTrue", Value::Empty);
        let text = split().input("Mask", mask(&[true, true])).error();
        assert!(text.contains("input `X` = `X.0` has 1 rows, but row 1 is needed"), "{text}");
        let text = split().input("Mask", tensor_of([1, 2], &[B8::from(true); 2])).error();
        assert!(text.contains("needs a mask of one column, but it gets `Mask` = Mask.0 bool[1, 2]"), "{text}");
    }
}
