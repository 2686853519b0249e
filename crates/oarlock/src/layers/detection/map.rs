//! How well detected boxes match true ones.

use oarlock_ir::{Error, Kind, Op, Result, fail};
use oarlock_tensor::DType;

use crate::declare::{Args, declare};
use crate::layers::GlobalVar;
use crate::options::options;
use crate::{Net, VarRef};

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

declare! {
    /// Computes the mean average precision of detected boxes, over the classes that have true boxes.
    ///
    /// Detections are taken from the highest score to the lowest. One is right if it overlaps a true box of its class,
    /// which no better one has taken, by more than ``overlap_threshold`` of the union. ``fluid.metrics.DetectionMAP``
    /// builds the states over batches. No gradient flows through it.
    ///
    /// Args:
    ///     detect_res (Variable): float32, ``[detections, 6]`` with a LoD by image: class, score, xmin, ymin, xmax,
    ///         ymax.
    ///     label (Variable): float32, ``[boxes, 6]`` with a LoD by image: class, 1 if it is difficult, xmin, ymin,
    ///         xmax, ymax; or ``[boxes, 5]`` without the second column.
    ///     class_num (int): the number of classes, with the background.
    ///     background_label (int): the class that does not count; Fluid's layer always takes 0.
    ///     overlap_threshold (float): the overlap that a right detection exceeds.
    ///     evaluate_difficult (bool): difficult boxes count, too.
    ///     has_state (Variable): int32 ``[1]``: 0 begins anew, otherwise the states count; ``None``: there are no
    ///         states.
    ///     input_states (list of Variable): the states of earlier batches: numbers of true boxes, right detections,
    ///         wrong detections; ``None``: this batch only.
    ///     out_states (list of Variable): three Variables that receive the states after this batch, usually those of
    ///         ``input_states``.
    ///     ap_version (str): ``integral``: the area under the curve of precision over recall; ``11point``: the mean of
    ///         the best precision at 11 recalls.
    ///
    /// Returns:
    ///     Variable: float32 ``[1]``.
    ///
    /// Example:
    ///     >>> boxes = [[1, 0.9, 0.1, 0.1, 0.5, 0.5], [1, 0.2, 0.6, 0.6, 0.9, 0.9]]
    ///     >>> found = fluid.layers.assign(np.array(boxes, "float32"))
    ///     >>> found = fluid.layers.lod_reset(found, target_lod=[0, 2])
    ///     >>> truth = fluid.layers.assign(np.array([[1, 0, 0.1, 0.1, 0.5, 0.5]], "float32"))
    ///     >>> truth = fluid.layers.lod_reset(truth, target_lod=[0, 1])
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.detection_map(found, truth, class_num=2)])[0].tolist()
    ///     [1.0]
    "detection.detection_map(detect_res, label, class_num, background_label=0, overlap_threshold=0.3, \
     evaluate_difficult=True, has_state=None, input_states=None, out_states=None, ap_version='integral')"
        => |net, a| net.detection_map(&a.var("detect_res")?, &a.var("label")?, detection_map(a)?);

    /// The variables of `fluid.metrics.DetectionMAP`.
    "_detection_map_metric(gt_label, gt_box, gt_difficult, input)" => |net, a| {
        let (label, sides, difficult) = (a.var("gt_label")?, a.var("gt_box")?, a.opt_var("gt_difficult")?);
        let truth = Truth { label: &label, sides: &sides, difficult: difficult.as_ref() };
        net.detection_map_metric(&a.var("input")?, truth, detection_map(a)?).map(|made| (made.batch, made.all, made.has_state))
    };
}

fn detection_map(a: &Args) -> Result<DetectionMap> {
    let updated = a.opt("out_states", Args::vars)?;
    if updated.is_some() && updated != a.opt("input_states", Args::vars)? {
        fail!(Kind::Argument, "out_states of detection_map must be the Variables of input_states");
    }
    let state = match (a.opt_var("has_state")?, a.opt("input_states", Args::vars)?) {
        (Some(has_state), Some(counts)) => match <[VarRef; 3]>::try_from(counts) {
            Ok(counts) => Some(MapState { has_state, counts }),
            Err(_) => return Err(Error::new(Kind::Argument, "input_states of detection_map are three Variables")),
        },
        _ => None,
    };
    Ok(DetectionMap::classes(a.i32("class_num")?)
        .background_label(a.i32("background_label")?)
        .overlap_threshold(a.f32("overlap_threshold")?)
        .evaluate_difficult(a.bool("evaluate_difficult")?)
        .ap_version(a.str("ap_version")?)
        .state(state))
}
