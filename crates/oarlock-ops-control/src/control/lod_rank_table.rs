//! `lod_rank_table`: sequences in order of descending length.

use oarlock_ir::{Infer, Kernel, Kind, OpDef, Prepare, Result, Shape, Traits, VarKind, VarType, kernel, sig};
use oarlock_tensor::{DType, Lod, RankTable, Value};

pub(crate) const OPS: &[&dyn OpDef] = &[&LodRankTable];

struct LodRankTable;

impl OpDef for LodRankTable {
    sig! {
        "lod_rank_table": "the sequences of one LoD level of X, longest first; equal ones stay in order";
        in "X": "a tensor with LoD";
        out "Out": "a rank table";
        attr "level" = 0, "the LoD level";
        traits Traits::GRADIENT_FREE.shape_only(&["X"]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.set("Out", VarType::tensor(DType::F32, Shape::default()).with_kind(VarKind::RankTable));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, level) = (p.input("X")?, p.output("Out")?, p.attrs().count("level")?);
        kernel(move |io| {
            let lod = io.dense(x)?.lod().clone();
            let Some(offsets) = lod.levels().get(level) else {
                let what = format!("has {} LoD levels, but level {level} is ranked", lod.len());
                return Err(io.error(Kind::Lod, x, what).help("feed sequences: a LoDTensor, not a plain array"));
            };
            let mut items: Vec<(usize, usize)> = offsets.windows(2).map(|w| w[1] - w[0]).enumerate().collect();
            items.sort_by_key(|(_, len)| std::cmp::Reverse(*len));
            let outer = Lod::new(lod.levels()[..=level].to_vec());
            *io.write(out)? = Value::RankTable(RankTable { items, outer });
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, noise, with_lod};
    use oarlock_tensor::{Lod, RankTable, Value};

    #[test]
    fn lod_rank_table() {
        let table = |items: &[(usize, usize)], levels: &[&[usize]]| {
            let outer = Lod::new(levels.iter().map(|l| l.to_vec()).collect());
            Value::RankTable(RankTable { items: items.to_vec(), outer })
        };
        check("lod_rank_table")
            .input("X", with_lod(noise([7, 1], 1), &[&[0, 2, 3, 5, 7]]))
            .output("Out", table(&[(0, 2), (2, 2), (3, 2), (1, 1)], &[&[0, 2, 3, 5, 7]]))
            .run();
        check("lod_rank_table")
            .input("X", with_lod(noise([5, 1], 1), &[&[0, 2], &[0, 1, 5]]))
            .attr("level", 1)
            .output("Out", table(&[(1, 4), (0, 1)], &[&[0, 2], &[0, 1, 5]]))
            .run();
    }

    #[test]
    fn sequences_are_needed() {
        let text = check("lod_rank_table").input("X", noise([2], 1)).any_output("Out").error();
        assert!(text.contains("input `X` = `X.0` has 0 LoD levels, but level 0 is ranked"), "{text}");
    }
}
