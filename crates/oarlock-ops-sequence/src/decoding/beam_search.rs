//! `beam_search`: one step of a beam search: the best continuations of the branches of every source.

use oarlock_ir::{Dim, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, VarType};
use oarlock_ir::{by_float, kernel, sig, slots};
use oarlock_ops_support::ints::Ints;
use oarlock_tensor::{DType, Dims, Float, Lod, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&BeamSearch];

struct BeamSearch;

impl OpDef for BeamSearch {
    sig! {
        "beam_search":
            "For each source the beam_size best pairs of a branch and its next id. A branch that ended goes on with end_id \
             and its old score; a source all of whose branches ended goes on with nothing. \
             selected_* have a LoD of two levels: branches of each source, and continuations of each branch";
        in "pre_ids": "i64, the last id of each branch";
        in "pre_scores": "the score of each branch";
        in? "ids": "i64 [branches, candidates], the candidates; without it column k is id k";
        in "scores": "[branches, candidates] with the LoD of branches";
        out "selected_ids": "[selected, 1] i64";
        out "selected_scores": "[selected, 1]";
        out? "parent_idx": "[selected] i32, the branch that each continues";
        attr "level": "the level of the LoD of `scores` that groups branches by source";
        attr "beam_size": "how many branches a source keeps";
        attr "end_id": "the id that ends a branch";
        attr "is_accumulated" = true, "`scores` are those of whole branches; else probabilities of the step";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (ids, scores) = (cx.integer("pre_ids")?, cx.float("pre_scores")?);
        let column = |dtype| VarType::tensor(dtype, vec![Dim::Any, Dim::Is(1)]);
        cx.set("selected_ids", column(ids.dtype));
        cx.set("selected_scores", column(scores.dtype));
        cx.set("parent_idx", VarType::tensor(DType::I32, vec![Dim::Any]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let search = Search::new(p)?;
        by_float!(p.float("scores")?, T => kernel(move |io| search.run::<T>(io)))
    }
}

slots! {
    struct Search(p) {
        pre_ids: input "pre_ids",
        pre_scores: input "pre_scores",
        ids: maybe_input "ids",
        scores: input "scores",
        outs: (Out, Out, Option<Out>) = (p.output("selected_ids")?, p.output("selected_scores")?, p.maybe_output("parent_idx")?),
        level: count "level",
        beam: count "beam_size",
        end_id: int "end_id",
        accumulated: bool "is_accumulated",
    }
}

/// A branch and its next id.
#[derive(Debug, Clone, Copy)]
struct Item<T> {
    branch: usize,
    id: i64,
    score: T,
}

impl<T: Float> Item<T> {
    /// Of equal scores the later branch wins.
    fn worse_than(&self, other: &Item<T>) -> bool {
        self.score < other.score || (self.score == other.score && self.branch < other.branch)
    }
}

/// The candidates of a step, row by row.
struct Candidates<'a, T> {
    pre_ids: Ints<'a>,
    pre_scores: &'a [T],
    ids: Option<Ints<'a>>,
    scores: &'a [T],
    width: usize,
}

impl Search {
    fn run<T: Float>(&self, io: &Io<'_>) -> Result<()> {
        let (pre_ids, pre_scores, scores) =
            (io.dense(self.pre_ids)?, io.dense(self.pre_scores)?, io.dense(self.scores)?);
        let ids = self.ids.map(|ids| io.dense(ids)).transpose()?;
        let (branches, width) = scores.dims().matrix(1);
        let id_values = match (self.ids, &ids) {
            (Some(input), Some(t)) => Some(Ints::of(io, input, t)?),
            _ => None,
        };
        let candidates = Candidates {
            pre_ids: Ints::of(io, self.pre_ids, &pre_ids)?,
            pre_scores: io.data::<T>(self.pre_scores, &pre_scores)?,
            ids: id_values,
            scores: io.data::<T>(self.scores, &scores)?,
            width,
        };
        self.check(io, &candidates, branches)?;
        let sources = self.sources(io, &scores)?;
        let mut selected: Vec<Item<T>> = Vec::new();
        for source in sources.windows(2) {
            let from = selected.len();
            selected.extend(self.best(&candidates, source[0]..source[1]));
            let ended = |i: &Item<T>| i.id == self.end_id && candidates.pre_ids.at(i.branch) == self.end_id;
            if selected[from..].iter().all(ended) {
                selected.truncate(from);
            }
            // By branch; within a branch the best first.
            selected[from..].sort_by_key(|i| i.branch);
        }
        self.write(io, &selected, sources, branches)
    }

    fn check<T>(&self, io: &Io<'_>, c: &Candidates<'_, T>, branches: usize) -> Result<()> {
        let wrong = |input, what: String| Err(io.error(Kind::Shape, input, what));
        if c.pre_ids.len() != branches {
            return wrong(self.pre_ids, format!("holds {} ids for {branches} rows of scores", c.pre_ids.len()));
        }
        if c.pre_scores.len() != branches {
            return wrong(self.pre_scores, format!("holds {} scores for {branches} rows", c.pre_scores.len()));
        }
        match (self.ids, c.ids) {
            (Some(input), Some(ids)) if ids.len() != c.scores.len() => {
                wrong(input, format!("holds {} ids, but there are {} scores", ids.len(), c.scores.len()))
            }
            _ => Ok(()),
        }
    }

    /// Where the rows of each source begin, and the end.
    fn sources(&self, io: &Io<'_>, scores: &Tensor) -> Result<Vec<usize>> {
        scores.lod().check(scores.rows()).map_err(|e| io.about(self.scores.0, e))?;
        let Some(level) = scores.lod().levels().get(self.level) else {
            let what = format!("has {} levels of LoD, but `level` is {}", scores.lod().len(), self.level);
            return Err(io.error(Kind::Lod, self.scores, what));
        };
        let below = &scores.lod().levels()[self.level + 1..];
        Ok(level.iter().map(|&at| below.iter().fold(at, |at, level| level[at])).collect())
    }

    /// The best continuations of the branches of one source, best first.
    fn best<T: Float>(&self, c: &Candidates<'_, T>, branches: std::ops::Range<usize>) -> Vec<Item<T>> {
        let mut best = Vec::with_capacity(self.beam + 1);
        for branch in branches {
            if c.pre_ids.at(branch) == self.end_id {
                self.insert(&mut best, Item { branch, id: self.end_id, score: c.pre_scores[branch] });
                continue;
            }
            for k in 0..c.width {
                let at = branch * c.width + k;
                let id = c.ids.map_or(k as i64, |ids| ids.at(at));
                let score = if self.accumulated { c.scores[at] } else { c.pre_scores[branch] + c.scores[at].ln() };
                self.insert(&mut best, Item { branch, id, score });
            }
        }
        best
    }

    fn insert<T: Float>(&self, best: &mut Vec<Item<T>>, item: Item<T>) {
        if best.len() == self.beam {
            // Of two alike the later one stays; that is how it always was.
            if best.last().is_none_or(|last| item.worse_than(last)) {
                return;
            }
            best.pop();
        }
        let at = best.iter().rposition(|other| !other.worse_than(&item)).map_or(0, |at| at + 1);
        best.insert(at, item);
    }

    fn write<T: Float>(&self, io: &Io<'_>, items: &[Item<T>], sources: Vec<usize>, branches: usize) -> Result<()> {
        let ends = (0..branches).map(|b| items.partition_point(|i| i.branch <= b));
        let lod = Lod::new(vec![sources, std::iter::once(0).chain(ends).collect()]);
        let (ids, scores, parents) = self.outs;
        let column = Dims::from([items.len(), 1]);
        let mut t = io.out_sized(ids, DType::I64, column)?;
        t.set_lod(lod.clone());
        io.data_mut::<i64>(ids, &mut t)?.iter_mut().zip(items).for_each(|(to, i)| *to = i.id);
        let mut t = io.out_sized(scores, T::DTYPE, column)?;
        t.set_lod(lod);
        io.data_mut::<T>(scores, &mut t)?.iter_mut().zip(items).for_each(|(to, i)| *to = i.score);
        if let Some(parents) = parents {
            let mut t = io.out_sized(parents, DType::I32, Dims::from([items.len()]))?;
            io.data_mut::<i32>(parents, &mut t)?.iter_mut().zip(items).for_each(|(to, i)| *to = i.branch as i32);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use oarlock_tensor::Tensor;

    use crate::testing::{Check, check, tensor, tensor_of, with_lod};

    /// Two sources with two branches each.
    fn step(pre_ids: &[i64; 4], pre_scores: &[f32; 4], scores: &[f32; 8]) -> Check {
        let lod = |t: Tensor| with_lod(t, &[&[0, 2, 4], &[0, 1, 2, 3, 4]]);
        check("beam_search")
            .input("pre_ids", lod(tensor_of([4, 1], pre_ids)))
            .input("pre_scores", lod(tensor([4, 1], pre_scores)))
            .input("scores", lod(tensor([4, 2], scores)))
            .attr("level", 0)
            .attr("beam_size", 2)
            .attr("end_id", 0)
    }

    fn expect(check: Check, ids: &[i64], scores: &[f32], parents: &[i32], ends: &[usize]) {
        let lod: &[&[usize]] = &[&[0, 2, 4], ends];
        check
            .output("selected_ids", with_lod(tensor_of([ids.len(), 1], ids), lod))
            .output("selected_scores", with_lod(tensor([scores.len(), 1], scores), lod))
            .output("parent_idx", tensor_of([parents.len()], parents))
            .run();
    }

    #[test]
    fn the_best_of_all_branches() {
        let scores = [0.5, 0.3, 0.6, 0.1, 0.9, 0.5, 0.4, 0.2];
        let search = step(&[1, 2, 3, 4], &[0.0; 4], &scores);
        expect(search, &[0, 0, 0, 1], &[0.5, 0.6, 0.9, 0.5], &[0, 1, 2, 2], &[0, 1, 2, 4, 4]);
        let named =
            step(&[1, 2, 3, 4], &[0.0; 4], &scores).input("ids", tensor_of([4, 2], &[7i64, 8, 9, 10, 11, 12, 13, 14]));
        expect(named, &[7, 9, 11, 12], &[0.5, 0.6, 0.9, 0.5], &[0, 1, 2, 2], &[0, 1, 2, 4, 4]);
    }

    #[test]
    fn branches_that_ended_keep_their_score_and_sources_that_ended_go() {
        let search = step(&[0, 0, 3, 0], &[0.9, 0.8, 0.3, 0.7], &[9.0, 9.0, 9.0, 9.0, 0.5, 0.6, 9.0, 9.0]);
        expect(search, &[1, 0], &[0.6, 0.7], &[2, 3], &[0, 0, 0, 1, 2]);
    }

    #[test]
    fn probabilities_of_the_step_are_added_as_logarithms() {
        let half = 0.5f32.ln();
        let search = step(&[1, 2, 3, 4], &[-1.0, -9.0, -2.0, -9.0], &[0.5; 8]).attr("is_accumulated", false);
        let scores = [-1.0 + half, -1.0 + half, -2.0 + half, -2.0 + half];
        expect(search, &[0, 1, 0, 1], &scores, &[0, 0, 2, 2], &[0, 2, 2, 4, 4]);
    }

    #[test]
    fn scores_need_their_lod() {
        let e = step(&[1, 2, 3, 4], &[0.0; 4], &[0.0; 8])
            .input("scores", tensor([4, 2], &[0.0; 8]))
            .any_output("selected_ids")
            .any_output("selected_scores")
            .error();
        assert!(e.contains("has 0 levels of LoD, but `level` is 0"), "{e}");
    }
}
