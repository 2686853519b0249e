//! Beam search: its steps, and whole sentences out of them.

use oarlock_ir::{Op, Result};
use oarlock_tensor::DType;

use crate::declare::{Made, declare};
use crate::options::options;
use crate::{Net, VarRef};

options! {
    /// `beam_search(pre_ids, pre_scores, ids, scores, beam_size, end_id, level=0, is_accumulated=True, return_parent_idx=False)`
    BeamSearch::size(
        /// Branches that a source keeps.
        beam_size: i32,
        /// The id that ends a branch.
        end_id: i32,
    ) {
        /// The level of the scores' LoD that groups branches by source.
        level: i32 = 0,
        /// Scores are those of whole branches, not of the step.
        is_accumulated: bool = true,
    }
}

/// The results of [`Net::beam_search`].
#[derive(Debug, Clone)]
pub struct BeamVars {
    /// The next id of each branch that goes on.
    pub selected_ids: VarRef,
    /// Its score.
    pub selected_scores: VarRef,
    /// The row that it continues.
    pub parent_idx: VarRef,
}

impl Net {
    /// One step of a beam search; without `ids` the candidates are the columns of `scores`.
    #[track_caller]
    pub fn beam_search(
        &mut self,
        (pre_ids, pre_scores): (&VarRef, &VarRef),
        ids: Option<&VarRef>,
        scores: &VarRef,
        options: BeamSearch,
    ) -> Result<BeamVars> {
        let mut layer = self.layer("beam_search");
        let (score_type, id_type) = (layer.dtype(pre_scores)?, layer.dtype(pre_ids)?);
        let selected_scores = layer.temp(score_type);
        let (selected_ids, parent_idx) = (layer.temp(id_type), layer.temp(DType::I32));
        let mut op = Op::new("beam_search").input("pre_ids", [pre_ids]).input("pre_scores", [pre_scores]);
        if let Some(ids) = ids {
            op = op.input("ids", [ids]);
        }
        let op = op
            .input("scores", [scores])
            .output("selected_ids", [&selected_ids])
            .output("selected_scores", [&selected_scores])
            .output("parent_idx", [&parent_idx])
            .attr("level", options.level)
            .attr("beam_size", options.beam_size)
            .attr("end_id", options.end_id)
            .attr("is_accumulated", options.is_accumulated);
        layer.append_op(op)?;
        Ok(BeamVars { selected_ids, selected_scores, parent_idx })
    }

    /// `beam_search_decode(ids, scores, beam_size, end_id)`: whole sentences and their scores out of the arrays of all steps.
    #[track_caller]
    pub fn beam_search_decode(
        &mut self,
        ids: &VarRef,
        scores: &VarRef,
        beam_size: i32,
        end_id: i32,
    ) -> Result<(VarRef, VarRef)> {
        let mut layer = self.layer("beam_search_decode");
        let (id_type, score_type) = (layer.dtype(ids)?, layer.dtype(scores)?);
        let (sentence_ids, sentence_scores) = (layer.temp(id_type), layer.temp(score_type));
        let op = Op::new("beam_search_decode").input("Ids", [ids]).input("Scores", [scores]);
        let op = op.output("SentenceIds", [&sentence_ids]).output("SentenceScores", [&sentence_scores]);
        layer.append_op(op.attr("beam_size", beam_size).attr("end_id", end_id))?;
        Ok((sentence_ids, sentence_scores))
    }

    /// `gather_tree(ids, parents)`: whole sequences out of the steps of a beam search of fixed width, `[steps, batch, beams]`.
    #[track_caller]
    pub fn gather_tree(&mut self, ids: &VarRef, parents: &VarRef) -> Result<VarRef> {
        let dtype = self.dtype(ids)?;
        self.layer("gather_tree").out(dtype, Op::new("gather_tree").input("Ids", [ids]).input("Parents", [parents]))
    }
}

declare! {
    /// One step of a beam search; without `ids` the candidates are the columns of `scores`.
    ///
    /// Args:
    ///     pre_ids (Variable): i64, the last id of each branch.
    ///     pre_scores (Variable): the score of each branch.
    ///     ids (Variable): candidates of every prefix, of `topk`; ``None``: the columns of ``scores``.
    ///     scores (Variable): [branches, candidates] with the LoD of branches.
    ///     beam_size (int): branches that a source keeps.
    ///     end_id (int): the id that ends a branch.
    ///     level (int): the level of the scores' LoD that groups branches by source.
    ///     is_accumulated (bool): scores are those of whole branches, not of the step.
    ///     return_parent_idx (bool): return the position of every candidate's prefix, too.
    "rnn.beam_search(pre_ids, pre_scores, ids, scores, beam_size, end_id, level=0, is_accumulated=True, \
     name=None, return_parent_idx=False)"
        => |net, a| {
        let options = BeamSearch::size(a.i32("beam_size")?, a.i32("end_id")?).level(a.i32("level")?)
            .is_accumulated(a.bool("is_accumulated")?);
        let before = (a.var("pre_ids")?, a.var("pre_scores")?);
        let with_parents = a.bool("return_parent_idx")?;
        net.beam_search((&before.0, &before.1), a.opt_var("ids")?.as_ref(), &a.var("scores")?, options).map(|made| {
            let mut parts = vec![made.selected_ids.into(), made.selected_scores.into()];
            parts.extend(with_parents.then_some(Made::One(made.parent_idx)));
            Made::Tuple(parts)
        })
    };

    /// Whole sentences and their scores out of the arrays of all steps.
    ///
    /// Args:
    ///     ids (Variable): the array of `selected_ids` of all steps of `beam_search`.
    ///     scores (Variable): the array of `selected_scores` of all steps.
    ///     beam_size (int): how many branches a source has (must be set).
    ///     end_id (int): the id that ends a sentence (must be set).
    "rnn.beam_search_decode(ids, scores, beam_size, end_id, name=None)"
        => |net, a| net.beam_search_decode(&a.var("ids")?, &a.var("scores")?, a.i32("beam_size")?,
        a.i32("end_id")?);

    /// Whole sequences out of the steps of a beam search of fixed width, `[steps, batch, beams]`.
    ///
    /// Args:
    ///     ids (Variable): i32 or i64 [steps, batch, beams].
    ///     parents (Variable): like `Ids`: the beam of the step before that each continues.
    "nn.gather_tree(ids, parents)" => |net, a| net.gather_tree(&a.var("ids")?, &a.var("parents")?);
}
