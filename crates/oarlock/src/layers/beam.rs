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
    /// Computes one step of a beam search: the ``beam_size`` best continuations of the branches of each source.
    ///
    /// A branch that has ended goes on with ``end_id`` and its old score. A source whose branches have all ended gets
    /// no continuation. The LoD of the results has two levels: the branches of each source, and the continuations of
    /// each branch; the next step and ``beam_search_decode`` need it. Append the results to tensor arrays in a
    /// ``While`` loop. No gradient flows through it.
    ///
    /// Args:
    ///     pre_ids (Variable): int64, ``[branches, 1]``: the last id of each branch.
    ///     pre_scores (Variable): float32, ``[branches, 1]``: the score of each branch.
    ///     ids (Variable): int64, ``[branches, candidates]``: the next ids to choose from, usually of ``topk``;
    ///         ``None``: the columns of ``scores``.
    ///     scores (Variable): float32, ``[branches, candidates]`` with LoD: the scores of the continuations.
    ///     beam_size (int): the branches that a source keeps.
    ///     end_id (int): the id that ends a branch.
    ///     level (int): the LoD level of ``scores`` that groups branches by source.
    ///     is_accumulated (bool): ``scores`` are those of whole branches; otherwise they are probabilities of the step,
    ///         whose logarithms are added to ``pre_scores``.
    ///     return_parent_idx (bool): also return the branch that each continuation comes from.
    ///
    /// Returns:
    ///     tuple: (ids, scores): int64 and float32, ``[selected, 1]`` with LoD; with ``return_parent_idx`` also int32
    ///         ``[selected]``.
    ///
    /// Example:
    ///     >>> def sequences(values, dtype):
    ///     ...     x = fluid.layers.assign(np.array(values, dtype))
    ///     ...     return fluid.layers.lod_append(fluid.layers.lod_reset(x, target_lod=[0, 2]), [0, 1, 2])
    ///     >>> pre_ids, pre_scores = sequences([[4], [5]], "int64"), sequences([[-1], [-2]], "float32")
    ///     >>> ids, scores = sequences([[7, 8], [9, 6]], "int64"), sequences([[-1.5, -3], [-2.25, -4]], "float32")
    ///     >>> found = fluid.layers.beam_search(
    ///     ...     pre_ids, pre_scores, ids, scores, beam_size=2, end_id=0, return_parent_idx=True)
    ///     >>> out = fluid.Executor().run(fetch_list=list(found), return_numpy=False)
    ///     >>> [np.array(tensor).ravel().tolist() for tensor in out]
    ///     [[7, 9], [-1.5, -2.25], [0, 1]]
    ///     >>> out[0].lod()
    ///     [[0, 2], [0, 1, 2]]
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

    /// Puts the steps of a beam search together to whole sentences.
    ///
    /// It follows the branches from the last step back to the first. Repeated ``end_id`` at the end of a sentence are
    /// one. No gradient flows through it.
    ///
    /// Args:
    ///     ids (Variable): the tensor array of the ids that ``beam_search`` has returned in all steps.
    ///     scores (Variable): the tensor array of their scores.
    ///     beam_size (int): the branches of a source.
    ///     end_id (int): the id that ends a sentence.
    ///
    /// Returns:
    ///     tuple: (sentence_ids, sentence_scores): int64 and float32, a row per id, with a LoD of two levels: the
    ///         sentences of each source, best first, and the ids of each sentence.
    ///
    /// Example:
    ///     >>> def step(name, dtype):
    ///     ...     return fluid.data(name, [None, 1], dtype, lod_level=2)
    ///     >>> i = fluid.layers.fill_constant([1], "int64", 0)
    ///     >>> ids = fluid.layers.array_write(step("ids_0", "int64"), i)
    ///     >>> scores = fluid.layers.array_write(step("scores_0", "float32"), i)
    ///     >>> i = fluid.layers.increment(i)
    ///     >>> _ = fluid.layers.array_write(step("ids_1", "int64"), i, array=ids)
    ///     >>> _ = fluid.layers.array_write(step("scores_1", "float32"), i, array=scores)
    ///     >>> sentences, totals = fluid.layers.beam_search_decode(ids, scores, beam_size=2, end_id=0)
    ///     >>> def fed(values, dtype, lengths):
    ///     ...     return fluid.create_lod_tensor(np.array(values, dtype), lengths, fluid.CPUPlace())
    ///     >>> feed = {"ids_0": fed([[4], [5]], "int64", [[1], [2]])}
    ///     >>> feed["scores_0"] = fed([[-1], [-2]], "float32", [[1], [2]])
    ///     >>> feed["ids_1"] = fed([[7], [0]], "int64", [[2], [1, 1]])
    ///     >>> feed["scores_1"] = fed([[-3], [-4]], "float32", [[2], [1, 1]])
    ///     >>> out = fluid.Executor().run(feed=feed, fetch_list=[sentences], return_numpy=False)[0]
    ///     >>> np.array(out).ravel().tolist(), out.lod()
    ///     ([4, 7, 5, 0], [[0, 2], [0, 2, 4]])
    "rnn.beam_search_decode(ids, scores, beam_size, end_id, name=None)"
        => |net, a| net.beam_search_decode(&a.var("ids")?, &a.var("scores")?, a.i32("beam_size")?,
        a.i32("end_id")?);

    /// Puts the steps of a beam search of fixed width together to whole sequences.
    ///
    /// It follows ``parents`` from the last step back to the first.
    ///
    /// Args:
    ///     ids (Variable): int32 or int64, ``[steps, batch, beams]``: the id of each beam in each step.
    ///     parents (Variable): the type and shape of ``ids``: the beam of the step before that each one continues.
    ///
    /// Returns:
    ///     Variable: the type and shape of ``ids``: column ``b`` holds the whole sequence of the last step's beam
    ///         ``b``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``ids`` and ``parents`` differ in shape.
    ///
    /// Example:
    ///     >>> ids = fluid.layers.assign(np.array([[[2, 2]], [[3, 9]], [[0, 1]]], "int64"))
    ///     >>> parents = fluid.layers.assign(np.array([[[0, 0]], [[1, 0]], [[1, 0]]], "int64"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.gather_tree(ids, parents)])[0].tolist()
    ///     [[[2, 2]], [[9, 3]], [[0, 1]]]
    "nn.gather_tree(ids, parents)" => |net, a| net.gather_tree(&a.var("ids")?, &a.var("parents")?);
}
