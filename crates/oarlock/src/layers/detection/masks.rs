//! The masks of Mask R-CNN, from polygons.

use oarlock_ir::{Op, Result};
use oarlock_tensor::DType;

use crate::declare::declare;
use crate::options::options;
use crate::{Net, VarRef};

options! {
    /// `generate_mask_labels(im_info, gt_classes, is_crowd, gt_segms, rois, labels_int32, num_classes, resolution)`
    MaskLabels::new(
        /// The number of classes, with the background.
        num_classes: i32,
        /// Points of a mask along each axis.
        resolution: i32,
    ) {}
}

/// The objects of images, each with a LoD by image.
#[derive(Debug, Clone, Copy)]
pub struct MaskObjects<'a> {
    /// Height, width and scale of each image, `[images, 3]`.
    pub im_info: &'a VarRef,
    /// Classes from 1, i32 `[objects, 1]`.
    pub gt_classes: &'a VarRef,
    /// Not 0 for a crowd, i32 `[objects, 1]`.
    pub is_crowd: &'a VarRef,
    /// Points of polygons, `[points, 2]`, with three levels of LoD.
    pub gt_segms: &'a VarRef,
}

impl Net {
    /// The regions that show an object, which of the image's regions they are, and their masks.
    #[track_caller]
    pub fn generate_mask_labels(
        &mut self,
        objects: MaskObjects<'_>,
        rois: &VarRef,
        labels_int32: &VarRef,
        options: MaskLabels,
    ) -> Result<[VarRef; 3]> {
        let op = Op::new("generate_mask_labels")
            .input("ImInfo", [objects.im_info])
            .input("GtClasses", [objects.gt_classes])
            .input("IsCrowd", [objects.is_crowd])
            .input("GtSegms", [objects.gt_segms])
            .input("Rois", [rois])
            .input("LabelsInt32", [labels_int32])
            .attr("num_classes", options.num_classes)
            .attr("resolution", options.resolution);
        let dtype = self.dtype(rois)?;
        self.detection_op(op, [("MaskRois", dtype), ("RoiHasMaskInt32", DType::I32), ("MaskInt32", DType::I32)], false)
    }
}

declare! {
    /// Computes the masks that the mask head of Mask R-CNN learns, from the polygons of objects.
    ///
    /// Each region that shows an object gets ``resolution * resolution`` points, 1 inside the polygons of the object it
    /// overlaps most and 0 outside. No gradient flows through it.
    ///
    /// Args:
    ///     im_info (Variable): float32, ``[images, 3]``: height, width and scale of each image.
    ///     gt_classes (Variable): int32, ``[objects, 1]`` with a LoD by image: classes, from 1.
    ///     is_crowd (Variable): int32, ``[objects, 1]`` with a LoD by image: objects with a number other than 0 are left
    ///         out.
    ///     gt_segms (Variable): float32, ``[points, 2]`` with three levels of LoD: objects of images, polygons of objects,
    ///         points of polygons; in pixels of the original images.
    ///     rois (Variable): float32, ``[regions, 4]`` with a LoD by image, in the network's pixels.
    ///     labels_int32 (Variable): int32, ``[regions, 1]`` with a LoD by image: classes of regions, 0 for the background.
    ///     num_classes (int): the number of classes, with the background.
    ///     resolution (int): points of a mask along each axis.
    ///
    /// Returns:
    ///     tuple: regions with an object ``[masks, 4]`` with a LoD by image; int32 ``[masks, 1]``: which region of the image
    ///     each is; int32 ``[masks, num_classes * resolution * resolution]``: 1 or 0 at the place of its class, -1 at the
    ///     others. An image without objects gives its first background region and a mask of -1.
    ///
    /// Example:
    ///     >>> def by_image(values, dtype):
    ///     ...     return fluid.layers.lod_reset(fluid.layers.assign(np.array(values, dtype)), target_lod=[0, 1])
    ///     >>> info = fluid.layers.assign(np.array([[8, 8, 1]], "float32"))
    ///     >>> classes, crowd = by_image([[1]], "int32"), by_image([[0]], "int32")
    ///     >>> points = fluid.data("points", [None, 2], "float32", lod_level=3)
    ///     >>> rois, labels = by_image([[0, 0, 4, 4]], "float32"), by_image([[1]], "int32")
    ///     >>> made = fluid.layers.generate_mask_labels(info, classes, crowd, points, rois, labels, 2, 2)
    ///     >>> corners = np.array([[0, 0], [4, 0], [4, 2], [0, 2]], "float32")
    ///     >>> fed = fluid.create_lod_tensor(corners, [[1], [1], [4]], fluid.CPUPlace())
    ///     >>> out = fluid.Executor().run(feed={"points": fed}, fetch_list=[made[2]], return_numpy=False)[0]
    ///     >>> np.array(out).tolist()
    ///     [[-1, -1, -1, -1, 1, 1, 0, 0]]
    "detection.generate_mask_labels(im_info, gt_classes, is_crowd, gt_segms, rois, labels_int32, num_classes, resolution)"
        => |net, a| {
        let (im_info, gt_classes) = (a.var("im_info")?, a.var("gt_classes")?);
        let (is_crowd, gt_segms) = (a.var("is_crowd")?, a.var("gt_segms")?);
        let objects =
            MaskObjects { im_info: &im_info, gt_classes: &gt_classes, is_crowd: &is_crowd, gt_segms: &gt_segms };
        let options = MaskLabels::new(a.i32("num_classes")?, a.i32("resolution")?);
        net.generate_mask_labels(objects, &a.var("rois")?, &a.var("labels_int32")?, options)
    };
}
