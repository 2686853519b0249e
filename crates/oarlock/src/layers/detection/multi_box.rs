//! The head of SSD: predictions from feature maps, with their prior boxes.

use oarlock_ir::{Error, Kind, Result, fail};

use super::{PriorBox, VARIANCE};
use crate::declare::{Args, declare, refs};
use crate::layers::{Conv, Padding, Reshape, Spatial};
use crate::options::options;
use crate::{Net, VarRef};

/// The sizes of the prior boxes of every feature map.
#[derive(Debug, Clone)]
pub enum MultiBoxSizes {
    /// From a smallest to a largest fraction of `base_size`, in percent; for three maps or more.
    Ratios {
        /// The smaller side of the images.
        base_size: f64,
        /// The least percentage.
        min_ratio: i64,
        /// The largest percentage.
        max_ratio: i64,
    },
    /// As given: `min_sizes` and `max_sizes` of every map.
    Given(Vec<Vec<f32>>, Vec<Vec<f32>>),
}

options! {
    /// `multi_box_head(inputs, image, base_size, num_classes, aspect_ratios, min_ratio=None, max_ratio=None, min_sizes=None,
    /// max_sizes=None, steps=None, step_w=None, step_h=None, offset=0.5, variance=[0.1, 0.1, 0.2, 0.2], flip=True, clip=False,
    /// kernel_size=1, pad=0, stride=1, min_max_aspect_ratios_order=False)`
    MultiBoxHead::new(
        /// The number of classes, with the background.
        num_classes: usize,
        /// Sizes of prior boxes.
        sizes: MultiBoxSizes,
        /// Aspect ratios of every map; none: only squares.
        aspect_ratios(into): Vec<Vec<f32>>,
    ) {
        /// Pixels from cell to cell, across and down, for every map; none: by the sizes of image and map.
        steps: Vec<[f32; 2]> = Vec::new(),
        /// Where in its cell a box is centred, as a fraction.
        offset: f32 = 0.5,
        /// Four divisors of differences from the boxes.
        variance(into): Vec<f32> = VARIANCE.to_vec(),
        /// Also the inverse of every aspect ratio.
        flip: bool = true,
        /// Bring all sides into 0..1.
        clip: bool = false,
        /// Size of the filters.
        kernel_size(into): Spatial = Spatial::from(1),
        /// Padding around the maps.
        pad(into): Padding = Padding::from(0),
        /// Steps of the filters.
        stride(into): Spatial = Spatial::from(1),
        /// First the squares, then the other ratios.
        min_max_aspect_ratios_order: bool = false,
    }
}

/// Sizes by map.
type Lists = Vec<Vec<f32>>;

impl MultiBoxSizes {
    /// `min_sizes` and `max_sizes` of every one of `maps`.
    fn lists(&self, maps: usize) -> Result<(Lists, Lists)> {
        let (min, max) = match self {
            MultiBoxSizes::Given(min, max) => (min.clone(), max.clone()),
            &MultiBoxSizes::Ratios { base_size, min_ratio, max_ratio } => {
                let step = match (maps, max_ratio.checked_sub(min_ratio)) {
                    (3.., Some(range)) => range.div_euclid(maps as i64 - 2),
                    _ => 0,
                };
                if step <= 0 {
                    fail!(
                        Kind::Argument,
                        "`multi_box_head` needs three maps or more and a max_ratio ({max_ratio}) far enough above min_ratio \
                         ({min_ratio}), or min_sizes and max_sizes"
                    );
                }
                let ratios = || (0..).map(|i| min_ratio + i * step).take_while(|ratio| *ratio <= max_ratio);
                let size = |percent: i64| vec![(base_size * percent as f64 / 100.0) as f32];
                let first = |part: f64| std::iter::once(vec![(base_size * part) as f32]);
                (
                    first(0.1).chain(ratios().map(size)).take(maps).collect(),
                    first(0.2).chain(ratios().map(|ratio| size(ratio + step))).take(maps).collect(),
                )
            }
        };
        if min.len() < maps || max.len() < maps {
            let (n, m) = (min.len(), max.len());
            fail!(Kind::Argument, "`multi_box_head` needs min_sizes and max_sizes of {maps} maps, but has {n} and {m}");
        }
        Ok((min, max))
    }
}

impl Net {
    /// The predictions of SSD from feature maps, with their prior boxes: places, scores, boxes and variances.
    #[track_caller]
    pub fn multi_box_head(&mut self, inputs: &[VarRef], image: &VarRef, options: MultiBoxHead) -> Result<[VarRef; 4]> {
        let maps = inputs.len();
        let (min, max) = options.sizes.lists(maps)?;
        let (ratios, steps) = (&options.aspect_ratios, &options.steps);
        for (name, n) in [("aspect_ratios", ratios.len()), ("steps", steps.len())] {
            if n != 0 && n != maps {
                fail!(Kind::Argument, "`multi_box_head` needs {name} for each of {maps} maps, but there are {n}");
            }
        }
        self.located(|net| {
            let mut parts: [Vec<VarRef>; 4] = Default::default();
            for (i, input) in inputs.iter().enumerate() {
                let priors = PriorBox::sizes(min[i].clone())
                    .max_sizes(max[i].clone())
                    .aspect_ratios(ratios.get(i).cloned().unwrap_or_default())
                    .variance(options.variance.clone())
                    .flip(options.flip)
                    .clip(options.clip)
                    .steps(steps.get(i).copied().unwrap_or_default())
                    .offset(options.offset)
                    .min_max_aspect_ratios_order(options.min_max_aspect_ratios_order);
                let (boxes, variances) = net.prior_box(input, image, priors)?;
                let per_cell = net.shape(&boxes)?.get(2).and_then(|d| d.known());
                let per_cell = per_cell.ok_or_else(|| Error::internal("prior_box knows its boxes"))?;
                let places = net.predicted(input, per_cell * 4, &options)?;
                let scores = net.predicted(input, per_cell * options.num_classes, &options)?;
                parts.iter_mut().zip([places, scores, boxes, variances]).for_each(|(list, var)| list.push(var));
            }
            net.joined_maps(parts, options.num_classes)
        })
    }

    /// Predictions for every cell of a map, one after the other: `[batch, cells * channels]`.
    #[track_caller]
    fn predicted(&mut self, input: &VarRef, channels: usize, options: &MultiBoxHead) -> Result<VarRef> {
        let conv = Conv::new(channels, options.kernel_size.clone())
            .padding(options.pad.clone())
            .stride(options.stride.clone());
        let out = self.conv2d(input, conv)?;
        let out = self.transpose(&out, &[0, 2, 3, 1])?;
        self.flatten(&out, 1)
    }

    /// The predictions and prior boxes of all maps. Those of one map stay as they are, as in Fluid.
    #[track_caller]
    fn joined_maps(&mut self, parts: [Vec<VarRef>; 4], classes: usize) -> Result<[VarRef; 4]> {
        if let [[places], [scores], [boxes], [variances]] = parts.each_ref().map(Vec::as_slice) {
            return Ok([places, scores, boxes, variances].map(VarRef::clone));
        }
        let [places, scores, boxes, variances] = parts;
        let (mut flat_boxes, mut flat_variances) = (Vec::new(), Vec::new());
        for (boxes, variances) in boxes.iter().zip(&variances) {
            flat_boxes.push(self.flatten(boxes, 3)?);
            flat_variances.push(self.flatten(variances, 3)?);
        }
        let boxes = self.concat(&refs(&flat_boxes), 0)?;
        let variances = self.concat(&refs(&flat_variances), 0)?;
        let places = self.concat(&refs(&places), 1)?;
        let places = self.reshape(&places, Reshape::shape([0, -1, 4]))?;
        let scores = self.concat(&refs(&scores), 1)?;
        let scores = self.reshape(&scores, Reshape::shape([0, -1, classes as i64]))?;
        self.stop_gradient(&boxes)?;
        self.stop_gradient(&variances)?;
        Ok([places, scores, boxes, variances])
    }
}

declare! {
    /// Predicts places and scores from feature maps, and generates their prior boxes: the head of SSD.
    ///
    /// Every map has a convolution for the places and one for the scores of its prior boxes. Gradients flow into
    /// ``inputs`` and the parameters.
    ///
    /// Args:
    ///     inputs (list or tuple): feature maps, float32 or float64 Variables ``[batch, channels, h, w]``.
    ///     image (Variable): the images, ``[batch, channels, height, width]``; only their sizes are read.
    ///     base_size (int): the smaller side of the images, of which ``min_ratio`` and ``max_ratio`` are percentages.
    ///     num_classes (int): the number of classes, with the background.
    ///     aspect_ratios (list or tuple): for every map a list of ratios of width to height, or one; ``None``: squares.
    ///     min_ratio (int): the least size of prior boxes in percent, with three maps or more; the first map has 10.
    ///     max_ratio (int): the largest size of prior boxes in percent, with three maps or more.
    ///     min_sizes (list or tuple): for every map the sides of its squares, or one side; needed with one or two maps.
    ///     max_sizes (list or tuple): for every map as many larger sides, or one; needed with one or two maps.
    ///     steps (list or tuple): for every map the pixels from cell to cell, for both axes.
    ///     step_w (list or tuple): for every map the pixels from cell to cell, across.
    ///     step_h (list or tuple): for every map the pixels from cell to cell, down; read with ``step_w`` only, as in Fluid
    ///         1.8.5.
    ///     offset (float): where in its cell a box is centred, as a fraction of the step.
    ///     variance (list): four numbers by which differences from the boxes are divided when they are learnt.
    ///     flip (bool): also the inverse of every aspect ratio.
    ///     clip (bool): bring all sides into 0..1.
    ///     kernel_size (int): size of the filters.
    ///     pad (int): padding around the maps.
    ///     stride (int): steps of the filters.
    ///     name (str): accepted; it names nothing, as in Fluid 1.8.5.
    ///     min_max_aspect_ratios_order (bool): first the squares of ``min_sizes`` and ``max_sizes``, then the other ratios.
    ///
    /// Returns:
    ///     tuple: places ``[batch, boxes, 4]``; scores ``[batch, boxes, num_classes]``; prior boxes and their variances,
    ///     both ``[boxes, 4]``. With one map, as in Fluid 1.8.5, places and scores are ``[batch, boxes * 4]`` and
    ///     ``[batch, boxes * num_classes]``, prior boxes and variances ``[h, w, boxes per cell, 4]``.
    ///
    /// Raises:
    ///     ValueError: a list has not one entry for every map, or the sizes of the boxes are not given.
    ///
    /// Example:
    ///     >>> image = fluid.data("image", [None, 3, 64, 64])
    ///     >>> maps = [fluid.data("a", [None, 8, 4, 4]), fluid.data("b", [None, 8, 2, 2])]
    ///     >>> places, scores, boxes, variances = fluid.layers.multi_box_head(
    ///     ...     maps, image, base_size=64, num_classes=3, aspect_ratios=[[2.0], [2.0]], min_sizes=[16.0, 32.0],
    ///     ...     max_sizes=[32.0, 48.0])
    ///     >>> boxes.shape, variances.shape
    ///     ((80, 4), (80, 4))
    "detection.multi_box_head(inputs, image, base_size, num_classes, aspect_ratios, min_ratio=None, max_ratio=None, \
     min_sizes=None, max_sizes=None, steps=None, step_w=None, step_h=None, offset=0.5, variance=[0.1, 0.1, 0.2, 0.2], \
     flip=True, clip=False, kernel_size=1, pad=0, stride=1, name=None, min_max_aspect_ratios_order=False)" => |net, a| {
        // The name would be that of its first layer.
        net.take_name();
        if !a.is_list("inputs") {
            fail!(Kind::Argument, "`inputs` of `multi_box_head` takes a list of feature maps");
        }
        let inputs = a.vars("inputs")?;
        let ratios = a.opt("aspect_ratios", Args::f32_lists)?.unwrap_or_default();
        let options = MultiBoxHead::new(a.usize("num_classes")?, sizes(a, inputs.len())?, ratios)
            .steps(steps(a, inputs.len())?)
            .offset(a.f32("offset")?)
            .variance(a.f32s("variance")?)
            .flip(a.bool("flip")?)
            .clip(a.bool("clip")?)
            .kernel_size(a.spatial("kernel_size")?)
            .pad(a.padding("pad")?)
            .stride(a.spatial("stride")?)
            .min_max_aspect_ratios_order(a.bool("min_max_aspect_ratios_order")?);
        net.multi_box_head(&inputs, &a.var("image")?, options)
    };
}

/// The sizes of prior boxes, as the arguments give them.
fn sizes(a: &Args, maps: usize) -> Result<MultiBoxSizes> {
    let (min, max) = (a.opt("min_sizes", Args::f32_lists)?, a.opt("max_sizes", Args::f32_lists)?);
    Ok(match (min, max) {
        (None, None) if maps > 2 => MultiBoxSizes::Ratios {
            base_size: a.f64("base_size")?,
            min_ratio: a.i64("min_ratio")?,
            max_ratio: a.i64("max_ratio")?,
        },
        (min, max) => MultiBoxSizes::Given(min.unwrap_or_default(), max.unwrap_or_default()),
    })
}

/// Steps across and down for every map, or none.
fn steps(a: &Args, maps: usize) -> Result<Vec<[f32; 2]>> {
    let list = |name: &str| match a.opt(name, Args::f32_list)? {
        Some(list) if list.len() != maps => {
            fail!(Kind::Argument, "`{name}` takes a number for each of {maps} maps, but has {}", list.len())
        }
        list => Ok(list),
    };
    let (both, across, down) = (list("steps")?, list("step_w")?, list("step_h")?);
    match (both.clone().or(across), both.or(down)) {
        (None, _) => Ok(Vec::new()),
        (Some(across), Some(down)) => Ok(across.into_iter().zip(down).map(|(w, h)| [w, h]).collect()),
        (Some(_), None) => fail!(Kind::Type, "`multi_box_head` needs step_h with step_w"),
    }
}
