//! Which prediction belongs to which true box, and what it should say.

use oarlock_ir::{Op, Result};
use oarlock_tensor::DType;

use crate::declare::{Args, declare};
use crate::{Net, VarRef};

impl Net {
    /// `bipartite_match(dist_matrix, match_type=None, dist_threshold=None)`: rows and columns of a matrix that go together best;
    /// the row of each column, and its value. `match_type` is `bipartite` (the default) or `per_prediction`, and
    /// `dist_threshold` (default 0.5) the least value of pairs of the latter.
    #[track_caller]
    pub fn bipartite_match(
        &mut self,
        dist_matrix: &VarRef,
        match_type: Option<&str>,
        dist_threshold: Option<f32>,
    ) -> Result<(VarRef, VarRef)> {
        let mut op = Op::new("bipartite_match").input("DistMat", [dist_matrix]);
        if let Some(kind) = match_type {
            op = op.attr("match_type", kind);
        }
        if let Some(least) = dist_threshold {
            op = op.attr("dist_threshold", least);
        }
        let dtype = self.dtype(dist_matrix)?;
        let outputs = [("ColToRowMatchIndices", DType::I32), ("ColToRowMatchDist", dtype)];
        let [indices, values] = self.detection_op(op, outputs, true)?;
        Ok((indices, values))
    }

    /// `target_assign(input, matched_indices, negative_indices=None, mismatch_value=None)`: the target of every prediction, and
    /// its weight.
    #[track_caller]
    pub fn target_assign(
        &mut self,
        input: &VarRef,
        matched_indices: &VarRef,
        negative_indices: Option<&VarRef>,
        mismatch_value: Option<i32>,
    ) -> Result<(VarRef, VarRef)> {
        let mut op = Op::new("target_assign").input("X", [input]).input("MatchIndices", [matched_indices]);
        if let Some(negative) = negative_indices {
            op = op.input("NegIndices", [negative]);
        }
        if let Some(value) = mismatch_value {
            op = op.attr("mismatch_value", value);
        }
        let dtype = self.dtype(input)?;
        let [out, weight] = self.detection_op(op, [("Out", dtype), ("OutWeight", DType::F32)], true)?;
        Ok((out, weight))
    }
}

declare! {
    /// Pairs the rows and columns of a matrix that go together best.
    ///
    /// The largest value of the matrix pairs its row and column, then the largest of the rest does, until no row or no
    /// positive value is left. SSD matches true boxes (rows) with prior boxes (columns) in this way. No gradient flows
    /// through it.
    ///
    /// Args:
    ///     dist_matrix (Variable): float32 or float64, ``[rows, columns]``, with a LoD of the rows of each image or without
    ///         one; larger values go together better.
    ///     match_type (str): ``bipartite``; or ``per_prediction``: columns that are left over take the row of their largest
    ///         value, if it is at least ``dist_threshold``. ``None``: ``bipartite``.
    ///     dist_threshold (float): the least value of such a pair; ``None``: 0.5.
    ///
    /// Returns:
    ///     tuple: int32 ``[images, columns]``: the row of each column, counted from the first of the image, or -1; and
    ///     ``[images, columns]``: the values of these pairs, or 0.
    ///
    /// Example:
    ///     >>> values = fluid.layers.assign(np.array([[0.9, 0.8, 0.1], [0.7, 0.6, 0.55]], "float32"))
    ///     >>> columns, _ = fluid.layers.bipartite_match(values)
    ///     >>> fluid.Executor().run(fetch_list=[columns])[0].tolist()
    ///     [[0, 1, -1]]
    "detection.bipartite_match(dist_matrix, match_type=None, dist_threshold=None, name=None)" => |net, a| {
        let kind = a.opt_str("match_type")?;
        net.bipartite_match(&a.var("dist_matrix")?, kind.as_deref(), a.opt("dist_threshold", Args::f32)?)
    };

    /// Gives every prediction the target that it was matched to, and a weight.
    ///
    /// A prediction that matches nothing has the target ``mismatch_value`` and weight 0; one of ``negative_indices`` has
    /// weight 1. No gradient flows through it.
    ///
    /// Args:
    ///     input (Variable): float32, float64, int32 or int64, ``[rows, p, k]`` with a LoD of the rows of each image: the
    ///         targets; column ``j`` takes those of position ``j % p``.
    ///     matched_indices (Variable): int32, ``[images, m]``: the row of each prediction, counted from the first of the
    ///         image, or -1, as ``bipartite_match`` returns it.
    ///     negative_indices (Variable): int32, ``[n, 1]`` with a LoD by image: predictions that count as negative examples;
    ///         ``None``: there are none.
    ///     mismatch_value (int): the target of predictions that match nothing; ``None``: 0.
    ///
    /// Returns:
    ///     tuple: the targets ``[images, m, k]`` with the element type of ``input``, and float32 weights
    ///     ``[images, m, 1]``.
    ///
    /// Example:
    ///     >>> rows = fluid.layers.assign(np.array([[[1, 2]], [[3, 4]]], "float32"))
    ///     >>> rows = fluid.layers.lod_reset(rows, target_lod=[0, 2])
    ///     >>> matched = fluid.layers.assign(np.array([[1, -1]], "int32"))
    ///     >>> targets, weights = fluid.layers.target_assign(rows, matched, mismatch_value=0)
    ///     >>> [v.tolist() for v in fluid.Executor().run(fetch_list=[targets, weights])]
    ///     [[[[3.0, 4.0], [0.0, 0.0]]], [[[1.0], [0.0]]]]
    "detection.target_assign(input, matched_indices, negative_indices=None, mismatch_value=None, name=None)" => |net, a| {
        let (negative, mismatch) = (a.opt_var("negative_indices")?, a.opt("mismatch_value", Args::i32)?);
        net.target_assign(&a.var("input")?, &a.var("matched_indices")?, negative.as_ref(), mismatch)
    };
}
