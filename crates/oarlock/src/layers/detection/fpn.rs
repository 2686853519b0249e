//! Regions of a feature pyramid: gathered from its levels, and given to them.

use oarlock_ir::{Kind, Op, Result, fail};
use oarlock_tensor::DType;

use crate::declare::{Made, declare};
use crate::{Net, VarRef};

/// The levels of a pyramid, and which regions each has.
#[derive(Debug, Clone, Copy)]
pub struct FpnLevels {
    /// The level of the smallest regions.
    pub min_level: i32,
    /// The level of the largest regions.
    pub max_level: i32,
    /// The level of regions of size `refer_scale`.
    pub refer_level: i32,
    /// The root of the area of regions of `refer_level`, in pixels.
    pub refer_scale: i32,
}

/// The number of levels from `min_level` to `max_level`.
fn count(min_level: i32, max_level: i32) -> Result<usize> {
    match usize::try_from(i64::from(max_level) - i64::from(min_level) + 1) {
        Ok(n @ 1..) => Ok(n),
        _ => fail!(Kind::Argument, "max_level ({max_level}) must not be below min_level ({min_level})"),
    }
}

impl Net {
    /// `distribute_fpn_proposals(fpn_rois, min_level, max_level, refer_level, refer_scale)`: the regions of every level, and where
    /// each region is in all levels one after the other.
    #[track_caller]
    pub fn distribute_fpn_proposals(&mut self, fpn_rois: &VarRef, levels: FpnLevels) -> Result<(Vec<VarRef>, VarRef)> {
        let mut layer = self.layer("distribute_fpn_proposals");
        let dtype = layer.dtype(fpn_rois)?;
        let n = count(levels.min_level, levels.max_level)?;
        let rois: Vec<VarRef> = (0..n).map(|_| layer.temp(dtype)).collect();
        let restore = layer.temp(DType::I32);
        let op = Op::new("distribute_fpn_proposals")
            .input("FpnRois", [fpn_rois])
            .output("MultiFpnRois", &rois)
            .output("RestoreIndex", [&restore])
            .attr("min_level", levels.min_level)
            .attr("max_level", levels.max_level)
            .attr("refer_level", levels.refer_level)
            .attr("refer_scale", levels.refer_scale);
        layer.append_op(op)?;
        Ok((rois, restore))
    }

    /// `collect_fpn_proposals(multi_rois, multi_scores, min_level, max_level, post_nms_top_n)`: the best regions of all levels.
    #[track_caller]
    pub fn collect_fpn_proposals(
        &mut self,
        multi_rois: &[VarRef],
        multi_scores: &[VarRef],
        post_nms_top_n: i32,
    ) -> Result<VarRef> {
        let Some(first) = multi_rois.first() else {
            fail!(Kind::Argument, "`collect_fpn_proposals` needs the regions of at least one level");
        };
        let dtype = self.dtype(first)?;
        let op = Op::new("collect_fpn_proposals")
            .input("MultiLevelRois", multi_rois)
            .input("MultiLevelScores", multi_scores)
            .attr("post_nms_topN", post_nms_top_n);
        let [rois] = self.detection_op(op, [("FpnRois", dtype)], false)?;
        Ok(rois)
    }
}

declare! {
    /// Gives regions to the levels of a feature pyramid, by their sizes.
    ///
    /// A region belongs to level ``refer_level + log2(root of its area / refer_scale)``, rounded down and limited to
    /// ``min_level`` to ``max_level``.
    ///
    /// Args:
    ///     fpn_rois (Variable): float32 or float64, ``[n, 4]`` with a LoD by image: left, top, right and bottom in pixels.
    ///     min_level (int): the level of the smallest regions, usually 2.
    ///     max_level (int): the level of the largest regions, usually 5.
    ///     refer_level (int): the level of regions of size ``refer_scale``, usually 4.
    ///     refer_scale (int): the root of the area of regions of ``refer_level``, in pixels, usually 224.
    ///
    /// Returns:
    ///     tuple: a list with the regions of every level, each ``[regions, 4]`` with a LoD by image; and int32 ``[n, 1]``:
    ///     where each region is in all levels one after the other, with which ``gather`` restores the order.
    ///
    /// Raises:
    ///     ValueError: ``max_level`` is below ``min_level``.
    ///
    /// Example:
    ///     >>> rois = fluid.layers.assign(np.array([[0, 0, 447, 447], [0, 0, 99, 99]], "float32"))
    ///     >>> rois = fluid.layers.lod_reset(rois, target_lod=[0, 2])
    ///     >>> levels, order = fluid.layers.distribute_fpn_proposals(rois, 2, 5, 4, 224)
    ///     >>> len(levels)
    ///     4
    ///     >>> fluid.Executor().run(fetch_list=[order])[0].tolist()
    ///     [[1], [0]]
    "detection.distribute_fpn_proposals(fpn_rois, min_level, max_level, refer_level, refer_scale, name=None)" => |net, a| {
        let levels = FpnLevels {
            min_level: a.i32("min_level")?,
            max_level: a.i32("max_level")?,
            refer_level: a.i32("refer_level")?,
            refer_scale: a.i32("refer_scale")?,
        };
        let made = net.distribute_fpn_proposals(&a.var("fpn_rois")?, levels);
        made.map(|(rois, order)| Made::Tuple(vec![Made::List(rois), Made::One(order)]))
    };

    /// Gathers the regions of all levels of a feature pyramid that have the highest scores.
    ///
    /// No gradient flows through it.
    ///
    /// Args:
    ///     multi_rois (list of Variable): float32 or float64, ``[regions, 4]`` for each level, with a LoD by image.
    ///     multi_scores (list of Variable): ``[regions, 1]`` for each level, divided alike.
    ///     min_level (int): the lowest level, usually 2.
    ///     max_level (int): the highest level, usually 5; lists that are longer than there are levels are cut off.
    ///     post_nms_top_n (int): the number of regions of the batch that stay.
    ///
    /// Returns:
    ///     Variable: ``[n, 4]`` with a LoD by image, best first in each image.
    ///
    /// Raises:
    ///     ValueError: ``max_level`` is below ``min_level``.
    ///
    /// Example:
    ///     >>> low = fluid.layers.assign(np.array([[0, 0, 9, 9], [0, 0, 5, 5]], "float32"))
    ///     >>> high = fluid.layers.assign(np.array([[0, 0, 99, 99]], "float32"))
    ///     >>> low_score = fluid.layers.assign(np.array([[0.9], [0.1]], "float32"))
    ///     >>> high_score = fluid.layers.assign(np.array([[0.5]], "float32"))
    ///     >>> cut = lambda x, n: fluid.layers.lod_reset(x, target_lod=[0, n])
    ///     >>> rois = fluid.layers.collect_fpn_proposals(
    ///     ...     [cut(low, 2), cut(high, 1)], [cut(low_score, 2), cut(high_score, 1)], 2, 3, post_nms_top_n=2)
    ///     >>> out = fluid.Executor().run(fetch_list=[rois], return_numpy=False)[0]
    ///     >>> np.array(out).tolist()
    ///     [[0.0, 0.0, 9.0, 9.0], [0.0, 0.0, 99.0, 99.0]]
    "detection.collect_fpn_proposals(multi_rois, multi_scores, min_level, max_level, post_nms_top_n, name=None)" => |net, a| {
        let n = count(a.i32("min_level")?, a.i32("max_level")?)?;
        let (mut rois, mut scores) = (a.vars("multi_rois")?, a.vars("multi_scores")?);
        rois.truncate(n);
        scores.truncate(n);
        net.collect_fpn_proposals(&rois, &scores, a.i32("post_nms_top_n")?)
    };
}
