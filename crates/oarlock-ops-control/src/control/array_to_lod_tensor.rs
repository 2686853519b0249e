//! `array_to_lod_tensor`: the sequences that `lod_tensor_to_array` took apart, in their first order.

use oarlock_ir::{Dim, Grad, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, VarKind, kernel, sig};
use oarlock_tensor::Tensor;

use crate::control::sequence_pieces::Pieces;

pub(crate) const OPS: &[&dyn OpDef] = &[&ArrayToLodTensor];

struct ArrayToLodTensor;

impl OpDef for ArrayToLodTensor {
    sig! {
        "array_to_lod_tensor": "puts sequences together: element t of the n-th longest one is row n of X[t]";
        in "X": "an array with an entry per step";
        in "RankTable": "the order of the sequences in the entries";
        out "Out": "a tensor with the LoD of what was ranked";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let mut x = cx.input("X")?.with_kind(VarKind::Tensor);
        if let Some(rows) = x.shape.0.first_mut() {
            *rows = Dim::Any;
        }
        let lod = x.lod_level + 1;
        cx.set("Out", x.with_lod(lod));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, table, out) = (p.input("X")?, p.input("RankTable")?, p.output("Out")?);
        let mut pieces = Pieces::default();
        kernel(move |io| {
            let (array, table) = (io.array(x)?, io.rank_table(table)?);
            let steps = array.items();
            let longest = table.items.iter().map(|(_, len)| *len).max().unwrap_or(0);
            let Some(first) = steps.first().filter(|_| steps.len() >= longest) else {
                let what = format!("has {} entries, but the longest sequence {longest}", steps.len());
                return Err(io.error(Kind::Shape, x, what));
            };
            check_alike(io, x, &steps[..longest.max(1)])?;
            pieces.clear();
            for rank in first_order(&table.items) {
                for (t, step) in steps[..table.items[rank].1].iter().enumerate() {
                    pieces.add(t, step, 0, rank).map_err(|e| io.error(Kind::Lod, x, format!("entry {t} {e}")))?;
                }
            }
            let sources: Vec<&Tensor> = steps.iter().collect();
            pieces.put_together(&sources, first.dtype(), *first.dims(), table.outer.levels(), &mut *io.out(out)?);
            Ok(())
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let mut op = g.make("lod_tensor_to_array", &["RankTable"], &[]);
        op.inputs.set("X", g.arguments("Out@GRAD"));
        op.outputs.set("Out", g.input_grads("X"));
        g.push(op)
    }
}

#[test]
fn every_step_must_be_there() {
    use crate::testing::{check, tensor};
    use oarlock_tensor::{Lod, RankTable, TensorArray, Value};
    let run = |steps: Vec<Tensor>| {
        let table = RankTable { items: vec![(0, 2)], outer: Lod::new(vec![vec![0, 2]]) };
        let array = Value::Array(TensorArray::of(steps));
        check("array_to_lod_tensor")
            .input("X", array)
            .input("RankTable", Value::RankTable(table))
            .any_output("Out")
            .error()
    };
    let text = run(vec![tensor([1], &[1.0])]);
    assert!(text.contains("input `X` = `X.0` has 1 entries, but the longest sequence 2"), "{text}");
    let text = run(vec![tensor([1, 1], &[1.0]), tensor([1, 2], &[1.0, 2.0])]);
    assert!(text.contains("has f32[1, 1] as entry 0, but f32[1, 2] as entry 1"), "{text}");
    let text = run(vec![tensor([1], &[1.0]), tensor([0], &[])]);
    assert!(text.contains("entry 1 has 0 rows, but row 0 is needed"), "{text}");
}

/// Ranks in the order the sequences had before they were sorted.
fn first_order(items: &[(usize, usize)]) -> Vec<usize> {
    let mut ranks: Vec<usize> = (0..items.len()).collect();
    ranks.sort_by_key(|r| items[*r].0);
    ranks
}

fn check_alike(io: &Io<'_>, x: In, steps: &[Tensor]) -> Result<()> {
    let row = |t: &Tensor| (t.dtype(), t.dims().with_rows(0));
    match steps.iter().position(|s| row(s) != row(&steps[0])) {
        None => Ok(()),
        Some(t) => {
            let (a, b) = (&steps[0], &steps[t]);
            let what = format!("has {}{} as entry 0, but {}{} as entry {t}", a.dtype(), a.dims(), b.dtype(), b.dims());
            Err(io.error(Kind::Shape, x, what))
        }
    }
}
