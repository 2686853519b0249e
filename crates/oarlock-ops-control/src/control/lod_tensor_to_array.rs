//! `lod_tensor_to_array`: sequences, longest first, as an array with an entry per step.

use oarlock_ir::{Dim, Grad, Infer, Kernel, Kind, OpDef, Prepare, Result, VarKind, kernel, sig};

use crate::control::sequence_pieces::Pieces;

pub(crate) const OPS: &[&dyn OpDef] = &[&LodTensorToArray];

struct LodTensorToArray;

impl OpDef for LodTensorToArray {
    sig! {
        "lod_tensor_to_array": "Out[t] = element t of each sequence that is so long, in the order of RankTable";
        in "X": "a tensor with LoD";
        in "RankTable": "made of `X`, or of a tensor with the same LoD";
        out "Out": "an array, as long as the longest sequence";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let mut x = cx.input("X")?.with_kind(VarKind::TensorArray);
        if let Some(rows) = x.shape.0.first_mut() {
            *rows = Dim::Any;
        }
        let lod = x.lod_level.saturating_sub(1);
        cx.set("Out", x.with_lod(lod));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, table, out) = (p.input("X")?, p.input("RankTable")?, p.output("Out")?);
        let mut pieces = Pieces::default();
        kernel(move |io| {
            let (tensor, table) = (io.dense(x)?, io.rank_table(table)?);
            let level = table.outer.len().saturating_sub(1);
            let Some(offsets) = tensor.lod().levels().get(level) else {
                let what = format!("has {} LoD levels, but level {level} is ranked", tensor.lod().len());
                return Err(io.error(Kind::Lod, x, what));
            };
            let mut array = io.write(out)?;
            let array = array.array_mut();
            array.resize(table.items.first().map_or(0, |(_, len)| *len));
            for (t, entry) in array.items_mut().iter_mut().enumerate() {
                pieces.clear();
                for (sequence, _) in table.items.iter().take_while(|(_, len)| t < *len) {
                    let Some(start) = offsets.get(*sequence) else {
                        let found = offsets.len().saturating_sub(1);
                        let what = format!("has {found} sequences, but {} are ranked", table.items.len());
                        return Err(io.error(Kind::Lod, x, what));
                    };
                    pieces.add(0, &tensor, level + 1, start + t).map_err(|e| io.error(Kind::Lod, x, e))?;
                }
                pieces.put_together(&[&tensor], tensor.dtype(), *tensor.dims(), &[], entry);
            }
            Ok(())
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let mut op = g.make("array_to_lod_tensor", &["RankTable"], &[]);
        op.inputs.set("X", g.arguments("Out@GRAD"));
        op.outputs.set("Out", g.input_grads("X"));
        g.push(op)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, tensor, with_lod};
    use oarlock_tensor::{Lod, RankTable, Tensor, TensorArray, Value};

    fn table(items: &[(usize, usize)], levels: &[&[usize]]) -> Value {
        let outer = Lod::new(levels.iter().map(|l| l.to_vec()).collect());
        Value::RankTable(RankTable { items: items.to_vec(), outer })
    }

    fn steps(items: Vec<Tensor>) -> Value {
        Value::Array(TensorArray::of(items))
    }

    #[test]
    fn sequences_by_steps_and_back() {
        let x = with_lod(tensor([4, 1], &[1.0, 2.0, 3.0, 4.0]), &[&[0, 1, 1, 4]]);
        let ranks = || table(&[(2, 3), (0, 1), (1, 0)], &[&[0, 1, 1, 4]]);
        let array = || steps(vec![tensor([2, 1], &[2.0, 1.0]), tensor([1, 1], &[3.0]), tensor([1, 1], &[4.0])]);
        check("lod_tensor_to_array").input("X", x.clone()).input("RankTable", ranks()).output("Out", array()).run();
        check("array_to_lod_tensor").input("X", array()).input("RankTable", ranks()).output("Out", x).run();
    }

    #[test]
    fn sequences_of_sequences() {
        let levels: &[&[usize]] = &[&[0, 1, 3], &[0, 2, 3, 5]];
        let x = with_lod(tensor([5], &[1.0, 2.0, 3.0, 4.0, 5.0]), levels);
        let ranks = || table(&[(1, 2), (0, 1)], &levels[..1]);
        let first = with_lod(tensor([3], &[3.0, 1.0, 2.0]), &[&[0, 1, 3]]);
        let second = with_lod(tensor([2], &[4.0, 5.0]), &[&[0, 2]]);
        let array = || steps(vec![first.clone(), second.clone()]);
        check("lod_tensor_to_array").input("X", x.clone()).input("RankTable", ranks()).output("Out", array()).run();
        check("array_to_lod_tensor").input("X", array()).input("RankTable", ranks()).output("Out", x).run();
    }

    #[test]
    fn the_table_must_fit() {
        let x = || with_lod(tensor([2], &[1.0, 2.0]), &[&[0, 2]]);
        let run =
            |ranks| check("lod_tensor_to_array").input("X", x()).input("RankTable", ranks).any_output("Out").error();
        let text = run(table(&[(1, 1)], &[&[0, 1]]));
        assert!(text.contains("has 2 rows, but row 2 is needed"), "{text}");
        let text = run(table(&[(9, 1)], &[&[0, 1]]));
        assert!(text.contains("has 1 sequences, but 1 are ranked"), "{text}");
        let text = run(table(&[(0, 1)], &[&[0, 1], &[0, 2]]));
        assert!(text.contains("has 1 LoD levels, but level 1 is ranked"), "{text}");
    }
}
