//! Object detection: anchors, boxes and their matching, heads and losses of detectors, suppression of overlaps, regions of
//! interest. A box is left, top, right and bottom unless a layer says otherwise.

pub(super) mod anchors;
pub(super) mod boxes;
pub(super) mod deformable;
pub(super) mod fpn;
pub(super) mod map;
pub(super) mod masks;
pub(super) mod matching;
pub(super) mod multi_box;
pub(super) mod nms;
pub(super) mod retinanet;
pub(super) mod roi;
pub(super) mod rpn;
pub(super) mod ssd;
pub(super) mod yolo;

use oarlock_ir::{Op, Result};
use oarlock_tensor::DType;

pub use anchors::{AnchorGenerator, DensityPriorBox, PriorBox};
pub use boxes::{BoxCoder, BoxVariance};
pub use deformable::{DeformableConv, DeformableRoiPooling};
pub use fpn::FpnLevels;
pub use map::{DetectionMap, MapState, MapVars, Truth};
pub use masks::{MaskLabels, MaskObjects};
pub use multi_box::{MultiBoxHead, MultiBoxSizes};
pub use nms::{MatrixNms, Nms};
pub use retinanet::{RetinanetOutput, RetinanetTargets};
pub use roi::{RegionImages, RoiPool};
pub use rpn::{AnchorPredictions, ImageObjects, ProposalLabels, Proposals, RpnTargets};
pub use ssd::{DetectionOutput, Priors, SsdLoss, SsdPredictions, SsdTruth};
pub use yolo::{YoloBox, YoloLoss, YoloTruth};

use crate::{Net, VarRef};

/// Element types of boxes, scores and images.
const FLOATS: &[DType] = &[DType::F32, DType::F64];

/// Factors of the differences between a box and its prior box, unless others are given.
const VARIANCE: [f32; 4] = [0.1, 0.1, 0.2, 0.2];

impl Net {
    /// A layer of one operator whose outputs have these dtypes; `gradient` says whether gradients flow through them.
    #[track_caller]
    fn detection_op<const N: usize>(
        &mut self,
        op: Op,
        outputs: [(&str, DType); N],
        gradient: bool,
    ) -> Result<[VarRef; N]> {
        let op_type = op.op_type.clone();
        let mut layer = self.layer(&op_type);
        let vars = outputs.map(|(_, dtype)| match gradient {
            true => layer.temp(dtype),
            false => layer.temp_without_gradient(dtype),
        });
        let op = outputs.iter().zip(&vars).fold(op, |op, ((slot, _), var)| op.output(slot, [var]));
        layer.append_op(op)?;
        Ok(vars)
    }
}
