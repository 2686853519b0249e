//! Boxes at every cell of a feature map, from which detectors predict differences.

use oarlock_ir::{Kind, Op, Result, fail};
use oarlock_tensor::DType;

use super::{FLOATS, VARIANCE};
use crate::declare::{Args, declare};
use crate::options::options;
use crate::{Net, VarRef};

options! {
    /// `prior_box(input, image, min_sizes, max_sizes=None, aspect_ratios=[1.0], variance=[0.1, 0.1, 0.2, 0.2], flip=False,
    /// clip=False, steps=[0.0, 0.0], offset=0.5, min_max_aspect_ratios_order=False)`
    PriorBox::sizes(
        /// Sides of the squares, in pixels of the image.
        min_sizes(into): Vec<f32>,
    ) {
        /// As many as `min_sizes`, each larger; or none.
        max_sizes(into): Vec<f32> = Vec::new(),
        /// Width over height.
        aspect_ratios(into): Vec<f32> = vec![1.0],
        /// Four factors of differences from the boxes.
        variance(into): Vec<f32> = VARIANCE.to_vec(),
        /// Also the inverse of every aspect ratio.
        flip: bool = false,
        /// Bring all sides into 0..1.
        clip: bool = false,
        /// Pixels from cell to cell, across and down; 0 for the size of the image over that of the map.
        steps: [f32; 2] = [0.0; 2],
        /// Where in its cell a box is centred, as a fraction.
        offset: f32 = 0.5,
        /// First the squares of `min_sizes` and `max_sizes`, then the other ratios.
        min_max_aspect_ratios_order: bool = false,
    }
}

options! {
    /// `density_prior_box(input, image, densities, fixed_sizes, fixed_ratios, variance=[0.1, 0.1, 0.2, 0.2], clip=False,
    /// steps=[0.0, 0.0], offset=0.5, flatten_to_2d=False)`
    DensityPriorBox::new(
        /// How many boxes stand side by side, for each of `fixed_sizes`.
        densities(into): Vec<i32>,
        /// Roots of the boxes' areas, in pixels of the image.
        fixed_sizes(into): Vec<f32>,
        /// Width over height.
        fixed_ratios(into): Vec<f32>,
    ) {
        /// Four factors of differences from the boxes.
        variance(into): Vec<f32> = VARIANCE.to_vec(),
        /// Bring all sides into 0..1.
        clip: bool = false,
        /// Pixels from cell to cell, across and down; 0 for the size of the image over that of the map.
        steps: [f32; 2] = [0.0; 2],
        /// Where in its cell a box is centred, as a fraction.
        offset: f32 = 0.5,
        /// Results of shape `[boxes, 4]`.
        flatten_to_2d: bool = false,
    }
}

options! {
    /// `anchor_generator(input, anchor_sizes, aspect_ratios, variance=[0.1, 0.1, 0.2, 0.2], stride, offset=0.5)`
    AnchorGenerator::new(
        /// Roots of the anchors' areas, in pixels of the image.
        anchor_sizes(into): Vec<f32>,
        /// Height over width.
        aspect_ratios(into): Vec<f32>,
        /// Pixels from cell to cell, across and down.
        stride: [f32; 2],
    ) {
        /// Four factors of differences from the anchors.
        variance(into): Vec<f32> = VARIANCE.to_vec(),
        /// Where in its cell an anchor is centred, as a fraction.
        offset: f32 = 0.5,
    }
}

impl Net {
    /// The boxes of SSD at every cell of a feature map, and their variances.
    #[track_caller]
    pub fn prior_box(&mut self, input: &VarRef, image: &VarRef, options: PriorBox) -> Result<(VarRef, VarRef)> {
        let mut op = Op::new("prior_box")
            .input("Input", [input])
            .input("Image", [image])
            .attr("min_sizes", options.min_sizes)
            .attr("aspect_ratios", options.aspect_ratios)
            .attr("variances", options.variance)
            .attr("flip", options.flip)
            .attr("clip", options.clip)
            .attr("step_w", options.steps[0])
            .attr("step_h", options.steps[1])
            .attr("offset", options.offset)
            .attr("min_max_aspect_ratios_order", options.min_max_aspect_ratios_order);
        if options.max_sizes.first().is_some_and(|size| *size > 0.0) {
            op = op.attr("max_sizes", options.max_sizes);
        }
        self.boxes_of_cells(op, "Boxes", input)
    }

    /// Boxes of fixed sizes, several side by side in every cell of a feature map, and their variances.
    #[track_caller]
    pub fn density_prior_box(
        &mut self,
        input: &VarRef,
        image: &VarRef,
        options: DensityPriorBox,
    ) -> Result<(VarRef, VarRef)> {
        let (densities, sizes) = (options.densities.len(), options.fixed_sizes.len());
        if densities != sizes {
            fail!(
                Kind::Argument,
                "`density_prior_box` needs a density for each of fixed_sizes, but there are {densities} for {sizes}"
            );
        }
        let op = Op::new("density_prior_box")
            .input("Input", [input])
            .input("Image", [image])
            .attr("variances", options.variance)
            .attr("clip", options.clip)
            .attr("step_w", options.steps[0])
            .attr("step_h", options.steps[1])
            .attr("offset", options.offset)
            .attr("densities", options.densities)
            .attr("fixed_sizes", options.fixed_sizes)
            .attr("fixed_ratios", options.fixed_ratios)
            .attr("flatten_to_2d", options.flatten_to_2d);
        self.boxes_of_cells(op, "Boxes", input)
    }

    /// The anchors of Faster R-CNN at every cell of a feature map, and their variances.
    #[track_caller]
    pub fn anchor_generator(&mut self, input: &VarRef, options: AnchorGenerator) -> Result<(VarRef, VarRef)> {
        let op = Op::new("anchor_generator")
            .input("Input", [input])
            .attr("anchor_sizes", options.anchor_sizes)
            .attr("aspect_ratios", options.aspect_ratios)
            .attr("variances", options.variance)
            .attr("stride", options.stride.to_vec())
            .attr("offset", options.offset);
        self.boxes_of_cells(op, "Anchors", input)
    }

    #[track_caller]
    fn boxes_of_cells(&mut self, op: Op, slot: &str, input: &VarRef) -> Result<(VarRef, VarRef)> {
        let dtype = self.dtype(input)?;
        let [boxes, variances] = self.detection_op(op, [(slot, dtype), ("Variances", dtype)], false)?;
        Ok((boxes, variances))
    }
}

declare! {
    /// Generates the prior boxes of SSD: boxes of several sizes and shapes around the centre of every cell of a feature
    /// map, as fractions of the image.
    ///
    /// For each of ``min_sizes`` a cell has a square of this side, a box of the same area for every other aspect ratio,
    /// and, with ``max_sizes``, a square whose side is the root of ``min_size * max_size``. No gradient flows through it.
    ///
    /// Args:
    ///     input (Variable): the feature map, float32 or float64, ``[batch, channels, h, w]``; only its sizes are read.
    ///     image (Variable): the images, ``[batch, channels, height, width]``; only their sizes are read.
    ///     min_sizes (list, tuple or float): sides of the squares, in pixels of the image.
    ///     max_sizes (list or tuple): as many numbers as ``min_sizes``, each larger than its ``min_size``; ``None`` or a
    ///         first number of at most 0: none.
    ///     aspect_ratios (list, tuple or float): width over height; 1 is always one of them.
    ///     variance (list): four numbers by which differences from the boxes are divided when they are learnt.
    ///     flip (bool): also the inverse of every aspect ratio.
    ///     clip (bool): bring all sides into 0..1.
    ///     steps (list or tuple): pixels from cell to cell, across and down; 0: the size of the image over that of the
    ///         map.
    ///     offset (float): where in its cell a box is centred, as a fraction of the step.
    ///     min_max_aspect_ratios_order (bool): first the squares of ``min_sizes`` and ``max_sizes``, then the other ratios,
    ///         as Caffe has them; it changes the order of the boxes, and so the meaning of trained weights.
    ///
    /// Returns:
    ///     tuple: the boxes and their variances, both ``[h, w, boxes per cell, 4]`` and of the element type of ``input``.
    ///
    /// Raises:
    ///     ValueError: ``steps`` are not two numbers.
    ///     TypeError: the elements of ``input`` are not of a type that is listed.
    ///
    /// Example:
    ///     >>> feature = fluid.layers.assign(np.zeros([1, 2, 1, 2], "float32"))
    ///     >>> image = fluid.layers.assign(np.zeros([1, 3, 8, 16], "float32"))
    ///     >>> boxes, variances = fluid.layers.prior_box(feature, image, min_sizes=[4.0])
    ///     >>> fluid.Executor().run(fetch_list=[boxes])[0].tolist()
    ///     [[[[0.125, 0.25, 0.375, 0.75]], [[0.625, 0.25, 0.875, 0.75]]]]
    "detection.prior_box(input, image, min_sizes, max_sizes=None, aspect_ratios=[1.0], variance=[0.1, 0.1, 0.2, 0.2], \
     flip=False, clip=False, steps=[0.0, 0.0], offset=0.5, name=None, min_max_aspect_ratios_order=False)" => |net, a| {
        let input = a.typed_var(net, "input", &[DType::U8, DType::I8, DType::F32, DType::F64])?;
        let options = PriorBox::sizes(a.f32s("min_sizes")?)
            .max_sizes(a.opt("max_sizes", Args::f32_list)?.unwrap_or_default())
            .aspect_ratios(a.f32s("aspect_ratios")?)
            .variance(a.f32s("variance")?)
            .flip(a.bool("flip")?)
            .clip(a.bool("clip")?)
            .steps(steps(a, "steps")?)
            .offset(a.f32("offset")?)
            .min_max_aspect_ratios_order(a.bool("min_max_aspect_ratios_order")?);
        net.prior_box(&input, &a.var("image")?, options)
    };

    /// Generates prior boxes of fixed sizes, several side by side in every cell of a feature map, as fractions of the image.
    ///
    /// For each of ``fixed_sizes`` and each of ``fixed_ratios`` a cell has a square of ``density * density`` boxes. Face
    /// detectors use it for small faces. As in Fluid 1.8.5, boxes stand on whole pixels. No gradient flows through it.
    ///
    /// Args:
    ///     input (Variable): the feature map, float32 or float64, ``[batch, channels, h, w]``; only its sizes are read.
    ///     image (Variable): the images, ``[batch, channels, height, width]``, larger than the map; only their sizes are
    ///         read.
    ///     densities (list or tuple): how many boxes stand side by side, an integer for each of ``fixed_sizes``; it must be
    ///         given.
    ///     fixed_sizes (list or tuple): roots of the boxes' areas, in pixels of the image; it must be given.
    ///     fixed_ratios (list or tuple): width over height; it must be given.
    ///     variance (list): four numbers by which differences from the boxes are divided when they are learnt.
    ///     clip (bool): bring all sides into 0..1.
    ///     steps (list or tuple): pixels from cell to cell, across and down; 0: the size of the image over that of the
    ///         map.
    ///     offset (float): where in its cell the boxes are centred, as a fraction of the step.
    ///     flatten_to_2d (bool): results of shape ``[h * w * boxes per cell, 4]``.
    ///
    /// Returns:
    ///     tuple: the boxes and their variances, both ``[h, w, boxes per cell, 4]`` and of the element type of ``input``.
    ///
    /// Raises:
    ///     ValueError: ``densities`` and ``fixed_sizes`` are not equally long, or ``steps`` are not two numbers.
    ///     TypeError: an argument is no list, or the elements of ``input`` are no floats.
    ///
    /// Example:
    ///     >>> feature = fluid.layers.assign(np.zeros([1, 2, 1, 1], "float32"))
    ///     >>> image = fluid.layers.assign(np.zeros([1, 3, 8, 8], "float32"))
    ///     >>> boxes, variances = fluid.layers.density_prior_box(
    ///     ...     feature, image, densities=[2], fixed_sizes=[4.0], fixed_ratios=[1.0], flatten_to_2d=True)
    ///     >>> fluid.Executor().run(fetch_list=[boxes])[0].tolist()
    ///     [[0.0, 0.0, 0.5, 0.5], [0.5, 0.0, 1.0, 0.5], [0.0, 0.5, 0.5, 1.0], [0.5, 0.5, 1.0, 1.0]]
    "detection.density_prior_box(input, image, densities=None, fixed_sizes=None, fixed_ratios=None, \
     variance=[0.1, 0.1, 0.2, 0.2], clip=False, steps=[0.0, 0.0], offset=0.5, flatten_to_2d=False, name=None)" => |net, a| {
        let input = a.typed_var(net, "input", FLOATS)?;
        // Fluid takes `int(density)` of every number.
        let densities: Vec<i32> = a.f32_list("densities")?.into_iter().map(|v| v as i32).collect();
        let options = DensityPriorBox::new(densities, a.f32_list("fixed_sizes")?, a.f32_list("fixed_ratios")?)
            .variance(a.f32s("variance")?)
            .clip(a.bool("clip")?)
            .steps(steps(a, "steps")?)
            .offset(a.f32("offset")?)
            .flatten_to_2d(a.bool("flatten_to_2d")?);
        net.density_prior_box(&input, &a.var("image")?, options)
    };

    /// Generates the anchors of Faster R-CNN: boxes of several sizes and shapes around the centre of every cell of a feature
    /// map, in pixels of the image.
    ///
    /// No gradient flows through it.
    ///
    /// Args:
    ///     input (Variable): the feature map, float32 or float64, ``[batch, channels, h, w]``; only its sizes are read.
    ///     anchor_sizes (list, tuple or float): roots of the anchors' areas, in pixels of the image; it must be given.
    ///     aspect_ratios (list, tuple or float): height over width; it must be given.
    ///     variance (list): four numbers by which differences from the anchors are multiplied.
    ///     stride (list or tuple): pixels from cell to cell, across and down; it must be given.
    ///     offset (float): where in its cell an anchor is centred, as a fraction of the stride.
    ///
    /// Returns:
    ///     tuple: the anchors and their variances, both ``[h, w, anchors per cell, 4]`` and of the element type of
    ///     ``input``. The anchors of a cell are in the order of ratios, and for each ratio in the order of sizes.
    ///
    /// Raises:
    ///     ValueError: ``stride`` is not two numbers.
    ///
    /// Example:
    ///     >>> feature = fluid.layers.assign(np.zeros([1, 2, 1, 2], "float32"))
    ///     >>> anchors, variances = fluid.layers.anchor_generator(
    ///     ...     feature, anchor_sizes=[32.0], aspect_ratios=[1.0], stride=[16.0, 16.0])
    ///     >>> fluid.Executor().run(fetch_list=[anchors])[0].tolist()
    ///     [[[[-8.0, -8.0, 23.0, 23.0]], [[8.0, -8.0, 39.0, 23.0]]]]
    "detection.anchor_generator(input, anchor_sizes=None, aspect_ratios=None, variance=[0.1, 0.1, 0.2, 0.2], stride=None, \
     offset=0.5, name=None)" => |net, a| {
        let options = AnchorGenerator::new(a.f32s("anchor_sizes")?, a.f32s("aspect_ratios")?, steps(a, "stride")?)
            .variance(a.f32s("variance")?)
            .offset(a.f32("offset")?);
        net.anchor_generator(&a.var("input")?, options)
    };
}

/// Two numbers: across and down.
fn steps(a: &Args, name: &str) -> Result<[f32; 2]> {
    let list = a.opt(name, Args::f32s)?.unwrap_or_default();
    match <[f32; 2]>::try_from(list.as_slice()) {
        Ok(steps) => Ok(steps),
        Err(_) => fail!(Kind::Argument, "`{name}` takes two numbers, across and down, not {list:?}"),
    }
}
