//! The head of YOLO: its boxes, and its loss.

use oarlock_ir::{Op, Result};
use oarlock_tensor::DType;

use crate::declare::declare;
use crate::options::options;
use crate::{Net, VarRef};

options! {
    /// `yolo_box(x, img_size, anchors, class_num, conf_thresh, downsample_ratio, clip_bbox=True, scale_x_y=1.0)`
    YoloBox::new(
        /// Width and height of each anchor, in pixels of the network's input.
        anchors(into): Vec<i32>,
        /// The number of classes.
        class_num: i32,
        /// Predictions with a lower objectness are left out.
        conf_thresh: f32,
        /// The network's input over the map.
        downsample_ratio: i32,
    ) {
        /// Bring boxes into their image.
        clip_bbox: bool = true,
        /// Factor of a centre's distance from the middle of its cell.
        scale_x_y: f32 = 1.0,
    }
}

options! {
    /// `yolov3_loss(x, gt_box, gt_label, anchors, anchor_mask, class_num, ignore_thresh, downsample_ratio, gt_score=None,
    /// use_label_smooth=True, scale_x_y=1.0)`
    YoloLoss::new(
        /// Width and height of each anchor, in pixels of the network's input.
        anchors(into): Vec<i32>,
        /// The anchors that the map has predictions for.
        anchor_mask(into): Vec<i32>,
        /// The number of classes.
        class_num: i32,
        /// Predictions that overlap a box by more are not punished for finding an object.
        ignore_thresh: f32,
        /// The network's input over the map.
        downsample_ratio: i32,
    ) {
        /// Take a little from the right class and give it to the others.
        use_label_smooth: bool = true,
        /// Factor of a centre's distance from the middle of its cell.
        scale_x_y: f32 = 1.0,
    }
}

/// The true boxes of images, the same number for each.
#[derive(Debug, Clone, Copy)]
pub struct YoloTruth<'a> {
    /// Centre x and y, width and height as fractions of the image, `[batch, boxes, 4]`; width or height 0 for none.
    pub gt_box: &'a VarRef,
    /// Classes, i32 `[batch, boxes]`.
    pub gt_label: &'a VarRef,
    /// Weights, `[batch, boxes]`.
    pub gt_score: Option<&'a VarRef>,
}

impl Net {
    /// The boxes and scores that YOLO predicts, in pixels of the images.
    #[track_caller]
    pub fn yolo_box(&mut self, x: &VarRef, img_size: &VarRef, options: YoloBox) -> Result<(VarRef, VarRef)> {
        let op = Op::new("yolo_box")
            .input("X", [x])
            .input("ImgSize", [img_size])
            .attr("anchors", options.anchors)
            .attr("class_num", options.class_num)
            .attr("conf_thresh", options.conf_thresh)
            .attr("downsample_ratio", options.downsample_ratio)
            .attr("clip_bbox", options.clip_bbox)
            .attr("scale_x_y", options.scale_x_y);
        let dtype = self.dtype(x)?;
        let [boxes, scores] = self.detection_op(op, [("Boxes", dtype), ("Scores", dtype)], true)?;
        Ok((boxes, scores))
    }

    /// The loss of YOLO for every image.
    #[track_caller]
    pub fn yolov3_loss(&mut self, x: &VarRef, truth: YoloTruth<'_>, options: YoloLoss) -> Result<VarRef> {
        let mut op = Op::new("yolov3_loss")
            .input("X", [x])
            .input("GTBox", [truth.gt_box])
            .input("GTLabel", [truth.gt_label])
            .attr("anchors", options.anchors)
            .attr("anchor_mask", options.anchor_mask)
            .attr("class_num", options.class_num)
            .attr("ignore_thresh", options.ignore_thresh)
            .attr("downsample_ratio", options.downsample_ratio)
            .attr("use_label_smooth", options.use_label_smooth)
            .attr("scale_x_y", options.scale_x_y);
        if let Some(score) = truth.gt_score {
            op = op.input("GTScore", [score]);
        }
        let dtype = self.dtype(x)?;
        let outputs = [("Loss", dtype), ("ObjectnessMask", DType::I32), ("GTMatchMask", DType::I32)];
        let [loss, _, _] = self.detection_op(op, outputs, true)?;
        Ok(loss)
    }
}

declare! {
    /// Computes boxes and scores from the predictions of a YOLO network.
    ///
    /// For each anchor of each cell the network predicts a place, a size, an objectness and a score per class. Boxes whose
    /// objectness is below ``conf_thresh`` are zeros. ``multiclass_nms`` takes the results, the scores transposed.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, ``[batch, anchors * (5 + class_num), h, w]``: the output of the network.
    ///     img_size (Variable): int32, ``[batch, 2]``: height and width of each image.
    ///     anchors (list or tuple): width and height of each anchor in turn, in pixels of the network's input.
    ///     class_num (int): the number of classes.
    ///     conf_thresh (float): the least objectness.
    ///     downsample_ratio (int): the size of the network's input over that of the map, such as 32, 16 or 8.
    ///     clip_bbox (bool): bring boxes into their image.
    ///     scale_x_y (float): factor of the distance of a centre from the middle of its cell.
    ///
    /// Returns:
    ///     tuple: boxes ``[batch, anchors * h * w, 4]``, left, top, right and bottom in pixels of the images; and scores
    ///     ``[batch, anchors * h * w, class_num]``.
    ///
    /// Raises:
    ///     TypeError: an argument has another Python type than is listed; ``conf_thresh`` must not be an int.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.zeros([1, 6, 1, 1], "float32"))
    ///     >>> size = fluid.layers.assign(np.array([[64, 64]], "int32"))
    ///     >>> boxes, scores = fluid.layers.yolo_box(x, size, [16, 8], 1, 0.01, 32)
    ///     >>> [v.tolist() for v in fluid.Executor().run(fetch_list=[boxes, scores])]
    ///     [[[[16.0, 24.0, 48.0, 40.0]]], [[[0.25]]]]
    "detection.yolo_box(x, img_size, anchors, class_num, conf_thresh, downsample_ratio, clip_bbox=True, name=None, \
     scale_x_y=1.0)" => |net, a| {
        let options = YoloBox::new(
            a.i32_list("anchors")?, a.i32("class_num")?, a.exact_f32("conf_thresh")?, a.i32("downsample_ratio")?)
            .clip_bbox(a.bool("clip_bbox")?)
            .scale_x_y(a.f32("scale_x_y")?);
        net.yolo_box(&a.var("x")?, &a.var("img_size")?, options)
    };

    /// Computes the loss of YOLO version 3 for every image.
    ///
    /// For each true box whose best anchor is in ``anchor_mask``, at the cell of its centre: the cross entropies of the
    /// place and the classes and the absolute differences of the sizes, smaller boxes counting more; and the cross entropy
    /// of all objectness values but those of predictions that overlap a box by more than ``ignore_thresh``. Gradients flow
    /// into ``x``.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, ``[batch, len(anchor_mask) * (5 + class_num), h, w]``: the output of the
    ///         network.
    ///     gt_box (Variable): the same element type, ``[batch, boxes, 4]``: centre x and y, width and height as fractions
    ///         of the image; a width or height of 0 marks a place without a box.
    ///     gt_label (Variable): int32, ``[batch, boxes]``: classes.
    ///     anchors (list or tuple): width and height of each anchor in turn, in pixels of the network's input.
    ///     anchor_mask (list or tuple): the anchors that this map has predictions for.
    ///     class_num (int): the number of classes.
    ///     ignore_thresh (float): predictions that overlap a box by more are not punished for finding an object.
    ///     downsample_ratio (int): the size of the network's input over that of the map, such as 32, 16 or 8.
    ///     gt_score (Variable): ``[batch, boxes]``: weights of the boxes, for mixed images; ``None``: 1.
    ///     use_label_smooth (bool): take ``1 / class_num``, at most 1 / 40, from the right class and give it to the others.
    ///     scale_x_y (float): factor of the distance of a centre from the middle of its cell.
    ///
    /// Returns:
    ///     Variable: ``[batch]``, with the element type of ``x``.
    ///
    /// Raises:
    ///     TypeError: an argument has another Python type than is listed; ``ignore_thresh`` must not be an int.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.zeros([1, 6, 1, 1], "float32"))
    ///     >>> box = fluid.layers.assign(np.array([[[0.5, 0.5, 0.5, 0.25]]], "float32"))
    ///     >>> label = fluid.layers.assign(np.array([[0]], "int32"))
    ///     >>> loss = fluid.layers.yolov3_loss(x, box, label, [16, 8], [0], 1, 0.7, 32, use_label_smooth=False)
    ///     >>> round(float(fluid.Executor().run(fetch_list=[loss])[0][0]), 4)
    ///     3.9856
    "detection.yolov3_loss(x, gt_box, gt_label, anchors, anchor_mask, class_num, ignore_thresh, downsample_ratio, \
     gt_score=None, use_label_smooth=True, name=None, scale_x_y=1.0)" => |net, a| {
        let (gt_box, gt_label, gt_score) = (a.var("gt_box")?, a.var("gt_label")?, a.opt_var("gt_score")?);
        let truth = YoloTruth { gt_box: &gt_box, gt_label: &gt_label, gt_score: gt_score.as_ref() };
        let options = YoloLoss::new(a.i32_list("anchors")?, a.i32_list("anchor_mask")?, a.i32("class_num")?,
            a.exact_f32("ignore_thresh")?, a.i32("downsample_ratio")?)
            .use_label_smooth(a.exact_bool("use_label_smooth")?)
            .scale_x_y(a.f32("scale_x_y")?);
        net.yolov3_loss(&a.var("x")?, truth, options)
    };
}
