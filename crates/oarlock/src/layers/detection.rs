//! How well detected boxes match true ones.

use oarlock_ir::{Op, Result};
use oarlock_tensor::DType;

use crate::options::options;
use crate::{Net, VarRef};

use super::GlobalVar;

options! {
    /// `detection_map(detect_res, label, class_num, background_label=0, overlap_threshold=0.3, evaluate_difficult=True,
    /// has_state=None, input_states=None, out_states=None, ap_version='integral')`
    DetectionMap::classes(
        /// How many classes there are.
        class_num: i32,
    ) {
        /// A class that does not count. (Fluid's layer always took 0.)
        background_label: i32 = 0,
        /// The least overlap over union.
        overlap_threshold: f32 = 0.3,
        /// Difficult boxes count.
        evaluate_difficult: bool = true,
        /// `integral` or `11point`.
        ap_version(into): String = "integral".to_string(),
        /// The counts of earlier batches, which the operator updates.
        state: Option<MapState> = None,
    }
}

/// Counts of earlier batches.
#[derive(Debug, Clone)]
pub struct MapState {
    /// An i32 `[1]`: not 0 if there were any.
    pub has_state: VarRef,
    /// True boxes of each class, right detections, wrong detections.
    pub counts: [VarRef; 3],
}

/// The true boxes of images, each with LoD.
#[derive(Debug, Clone, Copy)]
pub struct Truth<'a> {
    /// Classes, `[boxes, 1]`.
    pub label: &'a VarRef,
    /// Sides, `[boxes, 4]`.
    pub sides: &'a VarRef,
    /// 1 for boxes that are hard to find, `[boxes, 1]`.
    pub difficult: Option<&'a VarRef>,
}

/// The results of [`Net::detection_map_metric`].
#[derive(Debug, Clone)]
pub struct MapVars {
    /// Of the batch.
    pub batch: VarRef,
    /// Of all batches since `has_state` was 0.
    pub all: VarRef,
    /// Set it to 0 to begin anew.
    pub has_state: VarRef,
}

impl Net {
    /// The mean over classes of average precision of detections `[n, 6]`: class, score and sides.
    #[track_caller]
    pub fn detection_map(&mut self, detected: &VarRef, label: &VarRef, options: DetectionMap) -> Result<VarRef> {
        let mut layer = self.layer("detection_map");
        let out = layer.temp(DType::F32);
        let mut op = Op::new("detection_map")
            .input("DetectRes", [detected])
            .input("Label", [label])
            .output("MAP", [&out])
            .attr("class_num", options.class_num)
            .attr("background_label", options.background_label)
            .attr("overlap_threshold", options.overlap_threshold)
            .attr("evaluate_difficult", options.evaluate_difficult)
            .attr("ap_type", options.ap_version.as_str());
        let counts = match options.state {
            Some(state) => {
                op = op.input("HasState", [&state.has_state]);
                for (slot, var) in ["PosCount", "TruePos", "FalsePos"].iter().zip(&state.counts) {
                    op = op.input(slot, [var]);
                }
                state.counts
            }
            None => [DType::I32, DType::F32, DType::F32].map(|dtype| layer.temp(dtype)),
        };
        for (slot, var) in ["AccumPosCount", "AccumTruePos", "AccumFalsePos"].iter().zip(&counts) {
            op = op.output(slot, [var]);
        }
        layer.append_op(op)?;
        Ok(out)
    }

    /// `fluid.metrics.DetectionMAP(input, gt_label, gt_box, gt_difficult=None, class_num=None, background_label=0,
    /// overlap_threshold=0.5, evaluate_difficult=True, ap_version='integral')`: of the batch, and of all batches.
    #[track_caller]
    pub fn detection_map_metric(
        &mut self,
        detected: &VarRef,
        truth: Truth<'_>,
        options: DetectionMap,
    ) -> Result<MapVars> {
        self.located(|net| {
            let prefix = net.names.generate("map_eval");
            let dtype = net.dtype(truth.sides)?;
            let label = net.cast(truth.label, dtype)?;
            let difficult = truth.difficult.map(|var| net.cast(var, dtype)).transpose()?;
            let parts: Vec<&VarRef> =
                [Some(&label), difficult.as_ref(), Some(truth.sides)].into_iter().flatten().collect();
            let label = net.concat(&parts, 1)?;
            let batch = net.detection_map(detected, &label, options.clone())?;
            let mut kept = |shape: &[i64], dtype: DType, end: &str| {
                let name = format!("{}_{end}", net.names.generate(&prefix));
                net.named(name).create_global_var(GlobalVar::new(shape.to_vec(), 0.0, dtype).persistable(true))
            };
            let counts = [
                kept(&[options.class_num.into(), 1], DType::I32, "accum_pos_count")?,
                kept(&[0, 2], DType::F32, "accum_true_pos")?,
                kept(&[0, 2], DType::F32, "accum_false_pos")?,
            ];
            let has_state = kept(&[1], DType::I32, "has_state")?;
            let state = MapState { has_state: has_state.clone(), counts };
            let all = net.detection_map(detected, &label, options.state(Some(state)))?;
            net.fill_constant_into(&has_state, &[1], DType::I32, 1.0)?;
            Ok(MapVars { batch, all, has_state })
        })
    }
}
