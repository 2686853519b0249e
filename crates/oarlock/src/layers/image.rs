//! Images and volumes made larger or smaller, cropped, sampled and put in another order.

use oarlock_ir::{Kind, Op, Result, fail};

use super::Operand;
use super::conv::{Layout, Spatial};
use crate::declare::{Args, declare};
use crate::ints::{Ints, Style};
use crate::layer::known;
use crate::options::options;
use crate::{Initializer, Net, ParamAttr, VarRef};

options! {
    /// `image_resize(input, out_shape=None, scale=None, name=None, resample='BILINEAR', actual_shape=None, align_corners=True,
    /// align_mode=1, data_format='NCHW')`; `resize_bilinear`, `resize_nearest` and `resize_trilinear` alike.
    Resize::new() {
        /// Sizes of the result.
        out_shape: Option<Ints> = None,
        /// Sizes of the result over those of the input, if `out_shape` is not set.
        scale: Option<Operand> = None,
        /// Sizes of the result that are computed; they replace the others.
        actual_shape: Option<VarRef> = None,
        /// First and last pixels stay where they are.
        align_corners: bool = true,
        /// Without aligned corners: 0 compares centres of pixels, 1 their corners.
        align_mode: i32 = 1,
        /// Where the channels are.
        data_format: Layout = Layout::ChannelsFirst,
    }
}

impl Resize {
    /// To these sizes.
    pub fn to(out_shape: impl Into<Ints>) -> Resize {
        Resize::new().out_shape(Some(out_shape.into()))
    }

    /// By this factor.
    pub fn by(scale: impl Into<Operand>) -> Resize {
        Resize::new().scale(Some(scale.into()))
    }
}

options! {
    /// `pad2d(input, paddings=[0, 0, 0, 0], mode='constant', pad_value=0.0, data_format='NCHW')`
    Pad2d::by(
        /// Pixels above, below, left and right.
        paddings(into): Ints,
    ) {
        /// Their values: constant, reflect or edge.
        mode(into): String = "constant".to_string(),
        /// Their value, if they are constant.
        pad_value: f32 = 0.0,
        /// Where the channels are.
        data_format: Layout = Layout::ChannelsFirst,
    }
}

impl Net {
    /// Images `[batch, channels, height, width]` made larger or smaller, linear between pixels.
    #[track_caller]
    pub fn resize_bilinear(&mut self, input: &VarRef, options: Resize) -> Result<VarRef> {
        self.resize("bilinear", input, 2, &options)
    }

    /// Images made larger or smaller by repeating pixels or leaving them out.
    #[track_caller]
    pub fn resize_nearest(&mut self, input: &VarRef, options: Resize) -> Result<VarRef> {
        self.resize("nearest", input, 2, &options)
    }

    /// Volumes `[batch, channels, depth, height, width]` made larger or smaller, linear between pixels.
    #[track_caller]
    pub fn resize_trilinear(&mut self, input: &VarRef, options: Resize) -> Result<VarRef> {
        self.resize("trilinear", input, 3, &options)
    }

    /// `image_resize`, with `resample` one of BILINEAR, NEAREST and TRILINEAR.
    #[track_caller]
    pub fn image_resize(&mut self, input: &VarRef, resample: &str, options: Resize) -> Result<VarRef> {
        match resample {
            "BILINEAR" => self.resize_bilinear(input, options),
            "NEAREST" => self.resize_nearest(input, options),
            "TRILINEAR" => self.resize_trilinear(input, options),
            other => fail!(Kind::Argument, "resample must be BILINEAR, NEAREST or TRILINEAR, not {other:?}"),
        }
    }

    /// `image_resize_short(input, out_short_len, resample='BILINEAR')`: the shorter side gets this length, the other keeps
    /// its proportion.
    #[track_caller]
    pub fn image_resize_short(&mut self, input: &VarRef, out_short_len: usize, resample: &str) -> Result<VarRef> {
        let shape = self.shape(input)?;
        if shape.rank() != 4 {
            fail!(Kind::Shape, "`image_resize_short` needs images, but `{input}` has shape {shape}");
        }
        let sides = known(&shape[2..], "`image_resize_short`", input)?;
        let short = sides[0].min(sides[1]).max(1);
        let longer = |n: usize| (n as f64 * (out_short_len as f64 / short as f64) + 0.5) as i64;
        let sizes: Vec<i64> =
            sides.iter().map(|&n| if n == short { out_short_len as i64 } else { longer(n) }).collect();
        self.image_resize(input, resample, Resize::to(sizes))
    }

    #[track_caller]
    fn resize(&mut self, method: &str, input: &VarRef, n: usize, options: &Resize) -> Result<VarRef> {
        let mut layer = self.layer(&format!("{method}_interp"));
        let dtype = layer.dtype(input)?;
        let mut op = Op::new(&*format!("{method}_interp")).input("X", [input]);
        let mut sizes = [-1; 3];
        match (&options.out_shape, &options.scale) {
            (Some(shape), _) => {
                if let Some(known) = shape.attr_i32() {
                    if known.len() != n {
                        fail!(Kind::Argument, "`{method}_interp` needs {n} sizes, but out_shape has {}", known.len());
                    }
                    sizes[3 - n..].copy_from_slice(&known);
                }
                op = shape.feed(&mut layer, op, "OutSize", "SizeTensor", Style::I32)?;
            }
            (None, Some(Operand::Number(scale))) if *scale > 0.0 => op = op.attr("scale", *scale as f32),
            (None, Some(Operand::Var(scale))) => {
                layer.stop_gradient(scale)?;
                op = op.input("Scale", [scale]);
            }
            _ => fail!(Kind::Argument, "`{method}_interp` needs out_shape or a scale above 0"),
        }
        if let Some(shape) = &options.actual_shape {
            layer.stop_gradient(shape)?;
            op = op.input("OutSize", [shape]);
        }
        let op = op
            .attr("out_d", sizes[0])
            .attr("out_h", sizes[1])
            .attr("out_w", sizes[2])
            .attr("interp_method", method)
            .attr("align_corners", options.align_corners)
            .attr("align_mode", options.align_mode)
            // 1.8 writes the word of images for volumes, too.
            .attr("data_layout", options.data_format.word(2));
        layer.out(dtype, op)
    }

    /// Images with more pixels around them.
    #[track_caller]
    pub fn pad2d(&mut self, input: &VarRef, options: Pad2d) -> Result<VarRef> {
        let op = Op::new("pad2d").attr("mode", options.mode.as_str()).attr("pad_value", options.pad_value);
        let op = op.attr("data_format", options.data_format.word(2));
        let op = match &options.paddings {
            Ints::Known(list) if list.len() == 4 => {
                op.attr("paddings", options.paddings.attr_i32().unwrap_or_default())
            }
            Ints::Var(paddings) => {
                self.stop_gradient(paddings)?;
                op.attr("paddings", Vec::<i32>::new()).input("Paddings", [paddings])
            }
            _ => fail!(Kind::Argument, "paddings of `pad2d` are four numbers, or one variable that holds them"),
        };
        self.unary(input, op)
    }

    /// `unfold(x, kernel_sizes, strides=1, paddings=0, dilations=1)`: the windows of images side by side. Paddings are one
    /// size, two (vertical, horizontal) or four (above, left, below, right).
    #[track_caller]
    pub fn unfold(
        &mut self,
        x: &VarRef,
        kernel_sizes: impl Into<Spatial>,
        strides: impl Into<Spatial>,
        paddings: impl Into<Spatial>,
        dilations: impl Into<Spatial>,
    ) -> Result<VarRef> {
        let paddings = match paddings.into().0[..] {
            [all] => vec![all; 4],
            [y, x] => vec![y, x, y, x],
            ref sides => Spatial(sides.to_vec()).each(4, "paddings")?,
        };
        let op = Op::new("unfold")
            .input("X", [x])
            .attr("kernel_sizes", kernel_sizes.into().each(2, "kernel_sizes")?)
            .attr("strides", strides.into().each(2, "strides")?)
            .attr("paddings", paddings)
            .attr("dilations", dilations.into().each(2, "dilations")?);
        let mut layer = self.layer("unfold");
        let dtype = layer.dtype(x)?;
        layer.out_slot("Y", dtype, op)
    }

    /// `pixel_shuffle(x, upscale_factor)`: channels become pixels.
    #[track_caller]
    pub fn pixel_shuffle(&mut self, x: &VarRef, upscale_factor: i32) -> Result<VarRef> {
        self.unary(x, Op::new("pixel_shuffle").attr("upscale_factor", upscale_factor))
    }

    /// `space_to_depth(x, blocksize)`: pixels become channels, in the order Fluid has.
    #[track_caller]
    pub fn space_to_depth(&mut self, x: &VarRef, blocksize: i64) -> Result<VarRef> {
        self.unary(x, Op::new("space_to_depth").attr("blocksize", blocksize))
    }

    /// `shuffle_channel(x, group)`: channels of all groups in turn.
    #[track_caller]
    pub fn shuffle_channel(&mut self, x: &VarRef, group: i32) -> Result<VarRef> {
        self.unary(x, Op::new("shuffle_channel").attr("group", group))
    }

    /// `temporal_shift(x, seg_num, shift_ratio=0.25)`: some channels from the frame before and after.
    #[track_caller]
    pub fn temporal_shift(&mut self, x: &VarRef, seg_num: i32, shift_ratio: f32) -> Result<VarRef> {
        self.unary(x, Op::new("temporal_shift").attr("seg_num", seg_num).attr("shift_ratio", shift_ratio))
    }

    /// `similarity_focus(input, axis, indexes)`: marks the largest elements of planes, each row and column once.
    #[track_caller]
    pub fn similarity_focus(&mut self, input: &VarRef, axis: i32, indexes: &[i32]) -> Result<VarRef> {
        self.unary(input, Op::new("similarity_focus").attr("axis", axis).attr("indexes", indexes.to_vec()))
    }

    /// `affine_grid(theta, out_shape)`: where affine maps lead the points of images of these sizes.
    #[track_caller]
    pub fn affine_grid(&mut self, theta: &VarRef, out_shape: impl Into<Ints>) -> Result<VarRef> {
        let mut layer = self.layer("affine_grid");
        let dtype = layer.dtype(theta)?;
        let op = Op::new("affine_grid").input("Theta", [theta]);
        let op = match out_shape.into() {
            Ints::Var(shape) => {
                layer.stop_gradient(&shape)?;
                op.input("OutputShape", [&shape])
            }
            Ints::Known(list) if list.len() == 4 => {
                op.attr("output_shape", list.iter().map(|&n| n as i32).collect::<Vec<_>>())
            }
            _ => fail!(Kind::Argument, "out_shape of `affine_grid` is four numbers, or one variable that holds them"),
        };
        layer.out_slot("Output", dtype, op)
    }

    /// `grid_sampler(x, grid)`: pixels of images at given points.
    #[track_caller]
    pub fn grid_sampler(&mut self, x: &VarRef, grid: &VarRef) -> Result<VarRef> {
        let mut layer = self.layer("grid_sampler");
        let dtype = layer.dtype(x)?;
        layer.out_slot("Output", dtype, Op::new("grid_sampler").input("X", [x]).input("Grid", [grid]))
    }

    /// `crop_tensor(x, shape, offsets)`: a part of a tensor; -1 in `shape` stands for all that follows.
    #[track_caller]
    pub fn crop_tensor(&mut self, x: &VarRef, shape: impl Into<Ints>, offsets: impl Into<Ints>) -> Result<VarRef> {
        let (shape, offsets) = (shape.into(), offsets.into());
        let mut layer = self.layer("crop_tensor");
        let dtype = layer.dtype(x)?;
        let out = layer.temp(dtype);
        let mut op = Op::new("crop_tensor").input("X", [x]).output("Out", [&out]);
        // What is unknown is written as 0 in a shape, as -1 in offsets.
        for (list, name, unknown, whole, each) in
            [(&offsets, "offsets", -1, "Offsets", "OffsetsTensor"), (&shape, "shape", 0, "Shape", "ShapeTensor")]
        {
            op = list.feed(&mut layer, op, whole, each, Style::I32)?;
            if let Some(list) = list.attr_with(unknown) {
                op = op.attr(name, list.iter().map(|&v| v as i32).collect::<Vec<_>>());
            }
        }
        layer.append_op(op)?;
        Ok(out)
    }

    /// `crop(x, shape, offsets)`: a part of a tensor.
    #[track_caller]
    pub fn crop(&mut self, x: &VarRef, shape: &[i32], offsets: &[i32]) -> Result<VarRef> {
        self.unary(x, Op::new("crop").attr("shape", shape.to_vec()).attr("offsets", offsets.to_vec()))
    }

    /// `spectral_norm(weight, dim=0, power_iters=1, eps=1e-12)`: a weight divided by its largest singular value.
    #[track_caller]
    pub fn spectral_norm(&mut self, weight: &VarRef, dim: usize, power_iters: i32, eps: f32) -> Result<VarRef> {
        let mut layer = self.layer("spectral_norm");
        let ty = layer.tensor_type(weight)?;
        let sizes = known(&ty.shape, "`spectral_norm`", weight)?;
        let Some(&rows) = sizes.get(dim) else {
            fail!(Kind::Argument, "`spectral_norm`: `{weight}` has shape {}, but no dimension {dim}", ty.shape);
        };
        let columns = sizes.iter().product::<usize>() / rows.max(1);
        let attr = ParamAttr::new().initializer(Initializer::normal(0.0, 1.0));
        let mut op = Op::new("spectral_norm").input("Weight", [weight]);
        for (slot, size) in [("U", rows), ("V", columns)] {
            let vector = layer.parameter(&attr, crate::layer::Part::Weight, &[size], ty.dtype, None)?;
            layer.stop_gradient(&vector)?;
            op = op.input(slot, [&vector]);
        }
        let out = layer.generated(ty);
        layer.append_op(
            op.output("Out", [&out]).attr("dim", dim as i32).attr("power_iters", power_iters).attr("eps", eps),
        )?;
        Ok(out)
    }
}

declare! {
    /// A part of a tensor of size ``shape`` that begins at ``offsets``; -1 in ``shape`` means all the rest.
    ///
    /// Args:
    ///     x (Variable): any tensor.
    ///     shape (list or Variable): its sizes; -1 stands for all that follows.
    ///     offsets (list or Variable): where the part starts along each axis; -1 stands for one that is computed.
    "nn.crop_tensor(x, shape=None, offsets=None, name=None)" => |net, a| {
        let shape = a.ints("shape")?;
        let none = Ints::Known(vec![0; net.shape(&a.var("x")?)?.rank()]);
        net.crop_tensor(&a.var("x")?, shape, a.opt("offsets", Args::ints)?.unwrap_or(none))
    };

    /// A weight divided by its largest singular value, estimated by ``power_iters`` power iterations.
    ///
    /// Args:
    ///     weight (Variable): f32 or f64.
    ///     dim (int): the axis whose positions are rows of the matrix; all others together are columns.
    ///     power_iters (int): how often the estimate is improved.
    ///     eps (float): added to norms that are divided by.
    "nn.spectral_norm(weight, dim=0, power_iters=1, eps=1e-12, name=None)"
        => |net, a| net.spectral_norm(&a.var("weight")?, a.usize("dim")?, a.i32("power_iters")?, a.f32("eps")?);

    /// Resizes images by ``resample``: ``BILINEAR``, ``NEAREST`` or ``TRILINEAR``, to ``out_shape`` or by the factor
    /// ``scale``.
    ///
    /// Args:
    ///     input (Variable): the input.
    ///     out_shape (list or Variable): sizes of the result.
    ///     scale (float or Variable): sizes of the result over those of the input, if `out_shape` is not set.
    ///     resample (str): ``BILINEAR``, ``NEAREST`` or ``TRILINEAR``.
    ///     actual_shape (Variable): sizes of the result that are computed; they replace the others.
    ///     align_corners (bool): first and last pixels stay where they are.
    ///     align_mode (int): without aligned corners: 0 compares centres of pixels, 1 their corners.
    ///     data_format (str): where the channels are: ``NCHW`` or ``NHWC`` (``NCDHW`` or ``NDHWC`` for volumes).
    "nn.image_resize(input, out_shape=None, scale=None, name=None, resample='BILINEAR', actual_shape=None, \
     align_corners=True, align_mode=1, data_format='NCHW')"
        => |net, a| net.image_resize(&a.var("input")?, &a.str("resample")?, resize(a)?);

    /// The shorter side gets this length, the other keeps its proportion.
    ///
    /// Args:
    ///     input (Variable): the input.
    ///     out_short_len (int): the shorter side of the result; the longer one keeps the ratio.
    ///     resample (str): ``BILINEAR``, ``NEAREST`` or ``TRILINEAR``.
    "nn.image_resize_short(input, out_short_len, resample='BILINEAR')"
        => |net, a| net.image_resize_short(&a.var("input")?, a.usize("out_short_len")?, &a.str("resample")?);

    /// Resizes images ``[batch, channels, height, width]`` by bilinear interpolation, to ``out_shape`` or by the factor
    /// ``scale``.
    ///
    /// Args:
    ///     input (Variable): the input.
    ///     out_shape (list or Variable): sizes of the result.
    ///     scale (float or Variable): sizes of the result over those of the input, if `out_shape` is not set.
    ///     actual_shape (Variable): sizes of the result that are computed; they replace the others.
    ///     align_corners (bool): first and last pixels stay where they are.
    ///     align_mode (int): without aligned corners: 0 compares centres of pixels, 1 their corners.
    ///     data_format (str): where the channels are: ``NCHW`` or ``NHWC`` (``NCDHW`` or ``NDHWC`` for volumes).
    "nn.resize_bilinear(input, out_shape=None, scale=None, name=None, actual_shape=None, align_corners=True, \
     align_mode=1, data_format='NCHW')"
        => |net, a| net.resize_bilinear(&a.var("input")?, resize(a)?);

    /// Resizes images by nearest-neighbour interpolation, to ``out_shape`` or by the factor ``scale``.
    ///
    /// Args:
    ///     input (Variable): the input.
    ///     out_shape (list or Variable): sizes of the result.
    ///     scale (float or Variable): sizes of the result over those of the input, if `out_shape` is not set.
    ///     actual_shape (Variable): sizes of the result that are computed; they replace the others.
    ///     align_corners (bool): first and last pixels stay where they are.
    ///     data_format (str): where the channels are: ``NCHW`` or ``NHWC`` (``NCDHW`` or ``NDHWC`` for volumes).
    "nn.resize_nearest(input, out_shape=None, scale=None, name=None, actual_shape=None, align_corners=True, \
     data_format='NCHW')"
        => |net, a| net.resize_nearest(&a.var("input")?, resize(a)?);

    /// Resizes volumes ``[batch, channels, depth, height, width]`` by trilinear interpolation, to ``out_shape`` or by the
    /// factor ``scale``.
    ///
    /// Args:
    ///     input (Variable): the input.
    ///     out_shape (list or Variable): sizes of the result.
    ///     scale (float or Variable): sizes of the result over those of the input, if `out_shape` is not set.
    ///     actual_shape (Variable): sizes of the result that are computed; they replace the others.
    ///     align_corners (bool): first and last pixels stay where they are.
    ///     align_mode (int): without aligned corners: 0 compares centres of pixels, 1 their corners.
    ///     data_format (str): where the channels are: ``NCHW`` or ``NHWC`` (``NCDHW`` or ``NDHWC`` for volumes).
    "nn.resize_trilinear(input, out_shape=None, scale=None, name=None, actual_shape=None, align_corners=True, \
     align_mode=1, data_format='NCDHW')"
        => |net, a| net.resize_trilinear(&a.var("input")?, resize(a)?);

    /// Adds pixels to images; ``paddings`` are ``[above, below, left, right]``, ``mode`` is ``constant``, ``reflect`` or
    /// ``edge``.
    ///
    /// Args:
    ///     input (Variable): images of four sizes.
    ///     paddings (list or Variable): pixels above, below, left and right.
    ///     mode (str): what they are: constant, reflect or edge.
    ///     pad_value (float): their value, if they are constant.
    ///     data_format (str): where the channels are: ``NCHW`` or ``NHWC`` (``NCDHW`` or ``NDHWC`` for volumes).
    "nn.pad2d(input, paddings=[0, 0, 0, 0], mode='constant', pad_value=0.0, data_format='NCHW', name=None)"
        => |net, a| net.pad2d(&a.var("input")?, Pad2d::by(a.ints("paddings")?).mode(a.str("mode")?)
        .pad_value(a.f32("pad_value")?).data_format(a.layout("data_format")?));

    /// The windows of images as columns (im2col). ``paddings`` are one size, two (vertical, horizontal) or four (above, left,
    /// below, right).
    ///
    /// Args:
    ///     x (Variable): [n, channels, h, w], f32 or f64.
    ///     kernel_sizes (int or list): height and width of the window (must be set).
    ///     strides (int or list): steps of the window, vertical and horizontal (must be set).
    ///     paddings (int or list): zeros above, left, below, right (must be set).
    ///     dilations (int or list): distance of the window's elements, vertical and horizontal (must be set).
    "nn.unfold(x, kernel_sizes, strides=1, paddings=0, dilations=1, name=None)"
        => |net, a| net.unfold(&a.var("x")?, a.spatial("kernel_sizes")?, a.spatial("strides")?, a.spatial("paddings")?,
        a.spatial("dilations")?);

    /// Rearranges ``[batch, c * r * r, h, w]`` to ``[batch, c, h * r, w * r]`` with ``r = upscale_factor``.
    ///
    /// Args:
    ///     x (Variable): [n, channels, h, w].
    ///     upscale_factor (int): r; its square divides the number of channels.
    "nn.pixel_shuffle(x, upscale_factor)" => |net, a| net.pixel_shuffle(&a.var("x")?, a.i32("upscale_factor")?);

    /// Rearranges blocks of ``blocksize * blocksize`` pixels into channels, in Fluid's order.
    ///
    /// Args:
    ///     x (Variable): [n, channels, h, w].
    ///     blocksize (int): b; it divides height and width, and its square the number of channels.
    "nn.space_to_depth(x, blocksize, name=None)" => |net, a| net.space_to_depth(&a.var("x")?, a.i64("blocksize")?);

    /// Takes channels of all ``group`` groups in turn.
    ///
    /// Args:
    ///     x (Variable): [n, channels, h, w].
    ///     group (int): the number of groups; it divides the number of channels.
    "nn.shuffle_channel(x, group, name=None)" => |net, a| net.shuffle_channel(&a.var("x")?, a.i32("group")?);

    /// Shifts a share of the channels by one frame forwards and backwards in time.
    ///
    /// Args:
    ///     x (Variable): [sequences * seg_num, channels, h, w], f32 or f64.
    ///     seg_num (int): frames of a sequence (must be set).
    ///     shift_ratio (float): the part of the channels that comes from each neighbour; at most one half.
    "nn.temporal_shift(x, seg_num, shift_ratio=0.25, name=None)"
        => |net, a| net.temporal_shift(&a.var("x")?, a.i32("seg_num")?, a.f32("shift_ratio")?);

    /// A mask of the largest elements of the selected planes, each row and column used once.
    ///
    /// Args:
    ///     input (Variable): four sizes, f32 or f64.
    ///     axis (int): 1, 2 or 3; the other two are rows and columns (must be set).
    ///     indexes (int or list): the planes along `axis` to look at (must be set).
    "nn.similarity_focus(input, axis, indexes, name=None)"
        => |net, a| net.similarity_focus(&a.var("input")?, a.i32("axis")?, &a.i32s("indexes")?);

    /// The points to which affine maps ``theta`` lead the pixels of images of size ``out_shape``.
    ///
    /// Args:
    ///     theta (Variable): [n, 2, 3], f32 or f64.
    ///     out_shape (list or Variable): ``[batch, channels, height, width]`` of the image to sample.
    "nn.affine_grid(theta, out_shape, name=None)" => |net, a| net.affine_grid(&a.var("theta")?, a.ints("out_shape")?);

    /// Pixels of images at the points of ``grid``, by bilinear interpolation.
    ///
    /// Args:
    ///     x (Variable): [n, channels, h, w], f32 or f64.
    ///     grid (Variable): [n, h, w, 2]: horizontal and vertical place, from -1 to 1 over the image.
    "nn.grid_sampler(x, grid, name=None)" => |net, a| net.grid_sampler(&a.var("x")?, &a.var("grid")?);

    /// A part of a tensor of size ``shape`` that begins at ``offsets``.
    ///
    /// Args:
    ///     x (Variable): any tensor.
    ///     shape (int or list): its sizes; a first one of -1 keeps that of `X`.
    ///     offsets (int or list): where the part starts along each axis.
    "nn.crop(x, shape=None, offsets=None, name=None)"
        => |net, a| net.crop(&a.var("x")?, &a.i32s("shape")?, &a.opt("offsets", Args::i32s)?.unwrap_or_default());
}

fn resize(a: &Args) -> Result<Resize> {
    Ok(Resize::new()
        .out_shape(a.opt("out_shape", Args::ints)?)
        .scale(a.opt("scale", Args::operand)?)
        .actual_shape(a.opt_var("actual_shape")?)
        .align_corners(a.bool("align_corners")?)
        .align_mode(a.opt("align_mode", Args::i32)?.unwrap_or(1))
        .data_format(a.layout("data_format")?))
}
