//! Images and volumes made larger or smaller, cropped, sampled and put in another order.

use oarlock_ir::{Kind, Op, Result, Shape, Var, VarType, fail};
use oarlock_tensor::{DType, rng};

use super::Operand;
use super::conv::{Layout, Spatial};
use crate::declare::{Args, declare};
use crate::ints::{IntOrVar, Ints, Style};
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

    /// Images made larger or smaller, on curves of third degree through the pixels.
    #[track_caller]
    pub fn resize_bicubic(&mut self, input: &VarRef, options: Resize) -> Result<VarRef> {
        self.resize("bicubic", input, 2, &options)
    }

    /// `image_resize`, with `resample` one of BILINEAR, BICUBIC, NEAREST and TRILINEAR.
    #[track_caller]
    pub fn image_resize(&mut self, input: &VarRef, resample: &str, options: Resize) -> Result<VarRef> {
        match resample {
            "BILINEAR" => self.resize_bilinear(input, options),
            "BICUBIC" => self.resize_bicubic(input, options),
            "NEAREST" => self.resize_nearest(input, options),
            "TRILINEAR" => self.resize_trilinear(input, options),
            other => fail!(Kind::Argument, "resample must be BILINEAR, BICUBIC, NEAREST or TRILINEAR, not {other:?}"),
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

    /// `random_crop(x, shape, seed=None)`: a part of each example, at a place that is another one in every step. `shape` is that of
    /// the last dimensions. `seed` is a number, or a variable that holds the state; `None`: one that follows from the program's
    /// `random_seed` if that is set.
    #[track_caller]
    pub fn random_crop(&mut self, x: &VarRef, shape: &[i32], seed: Option<IntOrVar>) -> Result<VarRef> {
        let mut layer = self.layer("random_crop");
        let dtype = layer.dtype(x)?;
        let program_seed = Some(i64::from(layer.main.random_seed)).filter(|&seed| seed != 0);
        let seed = seed.or(program_seed.map(IntOrVar::Int));
        let seed = seed.unwrap_or_else(|| IntOrVar::Int((rng::fresh_seed() % (1 << 17)) as i64 - (1 << 16)));
        let mut op = Op::new("random_crop").input("X", [x]).attr("shape", shape.to_vec());
        let state = match seed {
            IntOrVar::Var(state) => state,
            IntOrVar::Int(number) => {
                op = op.attr("startup_seed", number as i32);
                let name = layer.names.generate("random_crop_seed");
                let mut var = Var::new(name, VarType::tensor(DType::I64, Shape::default()));
                var.persistable = true;
                layer.declare(var)
            }
        };
        layer.out(dtype, op.input("Seed", [&state]).output("SeedOut", [&state]))
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
    /// Takes a part of a tensor: ``shape`` elements from ``offsets`` on.
    ///
    /// Args:
    ///     x (Variable): float32, float64, int32 or int64, any shape.
    ///     shape (list, tuple or Variable): a size per dimension; it must be given; -1: all elements from the offset
    ///         on. A Variable is int32 with one dimension; elements of a list may be Variables ``[1]``.
    ///     offsets (list, tuple or Variable): the first position along each dimension; ``None``: zeros; in the same
    ///         forms.
    ///
    /// Returns:
    ///     Variable: ``shape``, the element type of ``x``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the part reaches beyond ``x``.
    ///     TypeError: there is no ``shape``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2, 3], [4, 5, 6]], "float32"))
    ///     >>> out = fluid.layers.crop_tensor(x, shape=[-1, 2], offsets=[1, 1])
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [[5.0, 6.0]]
    "nn.crop_tensor(x, shape=None, offsets=None, name=None)" => |net, a| {
        let shape = a.ints("shape")?;
        let none = Ints::Known(vec![0; net.shape(&a.var("x")?)?.rank()]);
        net.crop_tensor(&a.var("x")?, shape, a.opt("offsets", Args::ints)?.unwrap_or(none))
    };

    /// Divides a weight by its largest singular value, as a matrix, which is estimated by power iteration.
    ///
    /// The weight is seen as a matrix whose rows are the positions of dimension ``dim``. The two vectors with which the
    /// iteration starts are persistable variables with random values; runs do not change them, so that more
    /// ``power_iters`` are more exact. Discriminators of generative adversarial networks use it.
    ///
    /// Args:
    ///     weight (Variable): float32 or float64: the weight of a layer; its shape is known.
    ///     dim (int): the dimension of the rows: 0 for the weight of ``fc``, 1 for that of a transposed convolution.
    ///     power_iters (int): the iterations in each run.
    ///     eps (float): added to the norms that are divided by.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``weight``.
    ///
    /// Example:
    ///     >>> weight = fluid.layers.assign(np.array([[2, 0], [0, 1]], "float32"))
    ///     >>> out = fluid.layers.spectral_norm(weight, power_iters=50)
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> print(exe.run(fetch_list=[out])[0].round(3))
    ///     [[1.  0. ]
    ///      [0.  0.5]]
    "nn.spectral_norm(weight, dim=0, power_iters=1, eps=1e-12, name=None)"
        => |net, a| net.spectral_norm(&a.var("weight")?, a.usize("dim")?, a.i32("power_iters")?, a.f32("eps")?);

    /// Resizes images to ``out_shape`` or by the factor ``scale``.
    ///
    /// ``BILINEAR`` interpolates between four pixels, ``BICUBIC`` on curves of third degree through sixteen pixels,
    /// ``NEAREST`` takes the nearest one, ``TRILINEAR`` is for volumes. ``resize_bilinear``, ``resize_nearest`` and
    /// ``resize_trilinear`` are the same with a fixed ``resample``.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, channels, height, width]``; for ``TRILINEAR``
    ///         ``[batch, channels, depth, height, width]``; or channels last.
    ///     out_shape (list, tuple or Variable): ``[height, width]`` of the result, for ``TRILINEAR``
    ///         ``[depth, height, width]``. A Variable is int32 with one dimension; elements of a list may be Variables
    ///         ``[1]``. ``None``: ``scale`` counts.
    ///     scale (float or Variable): the size of the result divided by that of the input; used if ``out_shape`` is
    ///         ``None``; a Variable is float32 ``[1]``.
    ///     resample (str): ``BILINEAR``, ``BICUBIC``, ``NEAREST`` or ``TRILINEAR``.
    ///     actual_shape (Variable): int32 ``[2]``: the size of the result at run time, which replaces the others;
    ///         ``None``: not used.
    ///     align_corners (bool): the centres of the corner pixels of input and result coincide; otherwise the corners
    ///         of the images do.
    ///     align_mode (int): with ``align_corners=False``: pixel ``i`` of the result is taken from
    ///         ``r * (i + 0.5) - 0.5`` with 0, from ``r * i`` with 1, where ``r`` is the size of the input divided by
    ///         that of the result; ``BICUBIC`` does as with 0.
    ///     data_format (str): ``NCHW`` or ``NHWC``, for ``TRILINEAR`` ``NCDHW`` or ``NDHWC``: where the channels are.
    ///
    /// Returns:
    ///     Variable: the sizes of ``input`` but for height and width (and depth).
    ///
    /// Raises:
    ///     ValueError: neither ``out_shape`` nor a positive ``scale`` is given.
    ///     ValueError: ``resample`` is unknown.
    ///
    /// Example:
    ///     >>> image = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32").reshape(1, 1, 2, 2))
    ///     >>> out = fluid.layers.image_resize(image, out_shape=[3, 3])
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [[[[1.0, 1.5, 2.0], [2.0, 2.5, 3.0], [3.0, 3.5, 4.0]]]]
    ///     >>> curve = fluid.layers.assign(np.array([0, 0, 1, 0, 0], "float32").reshape(1, 1, 1, 5))
    ///     >>> out = fluid.layers.image_resize(curve, out_shape=[1, 9], resample="BICUBIC")
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].ravel().tolist()
    ///     [0.0, -0.09375, 0.0, 0.59375, 1.0, 0.59375, 0.0, -0.09375, 0.0]
    "nn.image_resize(input, out_shape=None, scale=None, name=None, resample='BILINEAR', actual_shape=None, \
     align_corners=True, align_mode=1, data_format='NCHW')"
        => |net, a| net.image_resize(&a.var("input")?, &a.str("resample")?, resize(a)?);

    /// Resizes images so that the shorter side has a given length; the longer side keeps the ratio.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, channels, height, width]``; height and width are known.
    ///     out_short_len (int): the length of the shorter side of the result.
    ///     resample (str): ``BILINEAR`` or ``NEAREST``.
    ///
    /// Returns:
    ///     Variable: ``[batch, channels, H, W]``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: height or width is not known.
    ///
    /// Example:
    ///     >>> image = fluid.data("image", [None, 3, 40, 60])
    ///     >>> fluid.layers.image_resize_short(image, out_short_len=20).shape
    ///     (-1, 3, 20, 30)
    "nn.image_resize_short(input, out_short_len, resample='BILINEAR')"
        => |net, a| net.image_resize_short(&a.var("input")?, a.usize("out_short_len")?, &a.str("resample")?);

    /// Resizes images by bilinear interpolation, to ``out_shape`` or by the factor ``scale``.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, channels, height, width]``, or channels last with ``NHWC``.
    ///     out_shape (list, tuple or Variable): ``[height, width]`` of the result. A Variable is int32 with one
    ///         dimension; elements of a list may be Variables ``[1]``. ``None``: ``scale`` counts.
    ///     scale (float or Variable): the size of the result divided by that of the input; used if ``out_shape`` is
    ///         ``None``; a Variable is float32 ``[1]``.
    ///     actual_shape (Variable): int32 ``[2]``: the size of the result at run time, which replaces the others;
    ///         ``None``: not used.
    ///     align_corners (bool): the centres of the corner pixels of input and result coincide; otherwise the corners
    ///         of the images do.
    ///     align_mode (int): with ``align_corners=False``: pixel ``i`` of the result is taken from
    ///         ``r * (i + 0.5) - 0.5`` with 0, from ``r * i`` with 1, where ``r`` is the size of the input divided by
    ///         that of the result.
    ///     data_format (str): ``NCHW``: the channels are dimension 1; ``NHWC``: they are last. The result has the same
    ///         format.
    ///
    /// Returns:
    ///     Variable: ``[batch, channels, *out_shape]``.
    ///
    /// Raises:
    ///     ValueError: neither ``out_shape`` nor a positive ``scale`` is given.
    ///
    /// Example:
    ///     >>> image = fluid.layers.assign(np.array([[1, 3]], "float32").reshape(1, 1, 1, 2))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.resize_bilinear(image, out_shape=[1, 3])])[0].tolist()
    ///     [[[[1.0, 2.0, 3.0]]]]
    ///     >>> photo = fluid.data("photo", [None, 3, 32, 32])
    ///     >>> fluid.layers.resize_bilinear(photo, scale=2.0).shape
    ///     (-1, 3, 64, 64)
    "nn.resize_bilinear(input, out_shape=None, scale=None, name=None, actual_shape=None, align_corners=True, \
     align_mode=1, data_format='NCHW')"
        => |net, a| net.resize_bilinear(&a.var("input")?, resize(a)?);

    /// Resizes images by taking the nearest pixel, to ``out_shape`` or by the factor ``scale``.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, channels, height, width]``, or channels last with ``NHWC``.
    ///     out_shape (list, tuple or Variable): ``[height, width]`` of the result. A Variable is int32 with one
    ///         dimension; elements of a list may be Variables ``[1]``. ``None``: ``scale`` counts.
    ///     scale (float or Variable): the size of the result divided by that of the input; used if ``out_shape`` is
    ///         ``None``; a Variable is float32 ``[1]``.
    ///     actual_shape (Variable): int32 ``[2]``: the size of the result at run time, which replaces the others;
    ///         ``None``: not used.
    ///     align_corners (bool): the centres of the corner pixels of input and result coincide; otherwise the corners
    ///         of the images do.
    ///     data_format (str): ``NCHW``: the channels are dimension 1; ``NHWC``: they are last. The result has the same
    ///         format.
    ///
    /// Returns:
    ///     Variable: ``[batch, channels, *out_shape]``.
    ///
    /// Raises:
    ///     ValueError: neither ``out_shape`` nor a positive ``scale`` is given.
    ///
    /// Example:
    ///     >>> image = fluid.layers.assign(np.array([[1, 2]], "float32").reshape(1, 1, 1, 2))
    ///     >>> out = fluid.layers.resize_nearest(image, out_shape=[2, 4], align_corners=False)
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [[[[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0]]]]
    "nn.resize_nearest(input, out_shape=None, scale=None, name=None, actual_shape=None, align_corners=True, \
     data_format='NCHW')"
        => |net, a| net.resize_nearest(&a.var("input")?, resize(a)?);

    /// Resizes volumes by trilinear interpolation, to ``out_shape`` or by the factor ``scale``.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, channels, depth, height, width]``, or channels last with
    ///         ``NDHWC``.
    ///     out_shape (list, tuple or Variable): ``[depth, height, width]`` of the result. A Variable is int32 with one
    ///         dimension; elements of a list may be Variables ``[1]``. ``None``: ``scale`` counts.
    ///     scale (float or Variable): the size of the result divided by that of the input; used if ``out_shape`` is
    ///         ``None``; a Variable is float32 ``[1]``.
    ///     actual_shape (Variable): int32 ``[3]``: the size of the result at run time, which replaces the others;
    ///         ``None``: not used.
    ///     align_corners (bool): the centres of the corner pixels of input and result coincide; otherwise the corners
    ///         of the images do.
    ///     align_mode (int): with ``align_corners=False``: pixel ``i`` of the result is taken from
    ///         ``r * (i + 0.5) - 0.5`` with 0, from ``r * i`` with 1, where ``r`` is the size of the input divided by
    ///         that of the result.
    ///     data_format (str): ``NCDHW``: the channels are dimension 1; ``NDHWC``: they are last. The result has the
    ///         same format.
    ///
    /// Returns:
    ///     Variable: ``[batch, channels, *out_shape]``.
    ///
    /// Raises:
    ///     ValueError: neither ``out_shape`` nor a positive ``scale`` is given.
    ///
    /// Example:
    ///     >>> volume = fluid.data("volume", [None, 3, 8, 16, 16])
    ///     >>> fluid.layers.resize_trilinear(volume, out_shape=[4, 8, 8]).shape
    ///     (-1, 3, 4, 8, 8)
    "nn.resize_trilinear(input, out_shape=None, scale=None, name=None, actual_shape=None, align_corners=True, \
     align_mode=1, data_format='NCDHW')"
        => |net, a| net.resize_trilinear(&a.var("input")?, resize(a)?);

    /// Takes a part of each sample, at a random place, which is another one in every step.
    ///
    /// Args:
    ///     x (Variable): float32, float64, int32, int16 or uint8; the first dimensions, all but those of ``shape``, number
    ///         the samples.
    ///     shape (list): the sizes of a part: those of the last dimensions of the result. Each is at most that of ``x``.
    ///     seed (int or Variable): the first seed; each step derives the next one from it. A Variable is int64 ``[1]`` and
    ///         holds the state. ``None``: a seed is drawn, or follows from ``Program.random_seed`` if that is set.
    ///
    /// Returns:
    ///     Variable: the sizes of ``x``, with ``shape`` for the last ones. No gradient flows through it.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``shape`` has as many sizes as ``x``, or a part is larger than a sample.
    ///
    /// Example:
    ///     >>> image = fluid.data("image", [None, 3, 256, 256])
    ///     >>> fluid.layers.random_crop(image, shape=[3, 224, 224]).shape
    ///     (-1, 3, 224, 224)
    ///     >>> numbers = fluid.layers.assign(np.arange(12, dtype="int32").reshape(1, 3, 4))
    ///     >>> out = fluid.layers.random_crop(numbers, shape=[2, 2], seed=7)
    ///     >>> fluid.Executor().run(feed={"image": np.zeros([1, 3, 256, 256], "float32")}, fetch_list=[out])[0].tolist()
    ///     [[[1, 2], [5, 6]]]
    "nn.random_crop(x, shape, seed=None)"
        => |net, a| net.random_crop(&a.var("x")?, &a.i32s("shape")?, a.opt("seed", Args::int_or_var)?);

    /// Adds pixels at the four sides of images.
    ///
    /// Args:
    ///     input (Variable): float32, float64, int32 or int64, ``[batch, channels, height, width]``, or channels last
    ///         with ``NHWC``.
    ///     paddings (list, tuple or Variable): ``[top, bottom, left, right]``; a Variable is int32 ``[4]``.
    ///     mode (str): ``constant``: pixels of ``pad_value``; ``reflect``: the image is mirrored, without its border;
    ///         ``edge``: the border is repeated.
    ///     pad_value (float): the value of the pixels of ``constant``.
    ///     data_format (str): ``NCHW``: the channels are dimension 1; ``NHWC``: they are last. The result has the same
    ///         format.
    ///
    /// Returns:
    ///     Variable: ``[batch, channels, top + height + bottom, left + width + right]``.
    ///
    /// Raises:
    ///     ValueError: ``mode`` is unknown.
    ///
    /// Example:
    ///     >>> image = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32").reshape(1, 1, 2, 2))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.pad2d(image, paddings=[1, 0, 0, 1])])[0].tolist()
    ///     [[[[0.0, 0.0, 0.0], [1.0, 2.0, 0.0], [3.0, 4.0, 0.0]]]]
    ///     >>> out = fluid.layers.pad2d(image, paddings=[1, 0, 0, 1], mode="reflect")
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [[[[3.0, 4.0, 3.0], [1.0, 2.0, 1.0], [3.0, 4.0, 3.0]]]]
    "nn.pad2d(input, paddings=[0, 0, 0, 0], mode='constant', pad_value=0.0, data_format='NCHW', name=None)"
        => |net, a| net.pad2d(&a.var("input")?, Pad2d::by(a.ints("paddings")?).mode(a.str("mode")?)
        .pad_value(a.f32("pad_value")?).data_format(a.layout("data_format")?));

    /// Takes the windows of images as columns (im2col).
    ///
    /// A column holds all channels of a window. A matrix product with it is a convolution.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, ``[batch, channels, height, width]``.
    ///     kernel_sizes (int or list): the window: ``[vertical, horizontal]``, or one number for both.
    ///     strides (int or list): the steps of the window: ``[vertical, horizontal]``, or one number for both.
    ///     paddings (int or list): zeros around the image: one number, ``[vertical, horizontal]`` or
    ///         ``[top, left, bottom, right]``.
    ///     dilations (int or list): the distance of neighbouring elements of a window: ``[vertical, horizontal]``, or
    ///         one number for both.
    ///
    /// Returns:
    ///     Variable: ``[batch, channels * window height * window width, windows]``.
    ///
    /// Example:
    ///     >>> image = fluid.layers.assign(np.arange(9, dtype="float32").reshape(1, 1, 3, 3))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.unfold(image, kernel_sizes=[2, 2])])[0].tolist()
    ///     [[[0.0, 1.0, 3.0, 4.0], [1.0, 2.0, 4.0, 5.0], [3.0, 4.0, 6.0, 7.0], [4.0, 5.0, 7.0, 8.0]]]
    "nn.unfold(x, kernel_sizes, strides=1, paddings=0, dilations=1, name=None)"
        => |net, a| net.unfold(&a.var("x")?, a.spatial("kernel_sizes")?, a.spatial("strides")?, a.spatial("paddings")?,
        a.spatial("dilations")?);

    /// Rearranges channels into pixels: ``[batch, c * r * r, h, w]`` becomes ``[batch, c, h * r, w * r]``.
    ///
    /// It makes images larger after a convolution with ``r * r`` times the channels (sub-pixel convolution).
    ///
    /// Args:
    ///     x (Variable): float32 or float64, ``[batch, channels, height, width]``.
    ///     upscale_factor (int): ``r``; its square divides the number of channels.
    ///
    /// Returns:
    ///     Variable: ``[batch, channels / r / r, height * r, width * r]``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the square of ``upscale_factor`` does not divide the channels.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.arange(4, dtype="float32").reshape(1, 4, 1, 1))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.pixel_shuffle(x, upscale_factor=2)])[0].tolist()
    ///     [[[[0.0, 1.0], [2.0, 3.0]]]]
    "nn.pixel_shuffle(x, upscale_factor)" => |net, a| net.pixel_shuffle(&a.var("x")?, a.i32("upscale_factor")?);

    /// Rearranges blocks of pixels into channels: ``[batch, c, h, w]`` becomes ``[batch, c * b * b, h / b, w / b]``.
    ///
    /// The order of the elements is that of Fluid, whose reorganization also divides the channels by ``b * b``.
    ///
    /// Args:
    ///     x (Variable): float32, float64, int32 or int64, ``[batch, channels, height, width]``.
    ///     blocksize (int): ``b``; it divides height and width, and its square divides the number of channels.
    ///
    /// Returns:
    ///     Variable: ``[batch, channels * b * b, height / b, width / b]``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``blocksize`` does not fit the sizes of ``x``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.arange(16, dtype="float32").reshape(1, 4, 2, 2))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.space_to_depth(x, blocksize=2)])[0].ravel().tolist()
    ///     [0.0, 4.0, 1.0, 5.0, 8.0, 12.0, 9.0, 13.0, 2.0, 6.0, 3.0, 7.0, 10.0, 14.0, 11.0, 15.0]
    ///     >>> fluid.layers.space_to_depth(fluid.data("image", [None, 4, 4, 6]), blocksize=2).shape
    ///     (-1, 16, 2, 3)
    "nn.space_to_depth(x, blocksize, name=None)" => |net, a| net.space_to_depth(&a.var("x")?, a.i64("blocksize")?);

    /// Reorders channels: one of every group in turn.
    ///
    /// With ``group`` groups of ``n`` channels, channel ``i * n + j`` becomes channel ``j * group + i``. Between
    /// grouped convolutions it lets groups exchange what they know.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, ``[batch, channels, height, width]``.
    ///     group (int): the number of groups; it divides the number of channels.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``x``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``group`` does not divide the number of channels.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.arange(6, dtype="float32").reshape(1, 6, 1, 1))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.shuffle_channel(x, group=2)])[0].ravel().tolist()
    ///     [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]
    "nn.shuffle_channel(x, group, name=None)" => |net, a| net.shuffle_channel(&a.var("x")?, a.i32("group")?);

    /// Shifts some channels of videos in time: the first ones come from the frame before, the next ones from the frame
    /// after.
    ///
    /// At the ends of a video zeros come in. It mixes neighbouring frames without any computation.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, ``[videos * seg_num, channels, height, width]``: the frames of each video
    ///         follow each other.
    ///     seg_num (int): the number of frames of a video.
    ///     shift_ratio (float): the share of channels that is shifted in each direction; at most 0.5.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``x``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``shift_ratio`` is above 0.5, or ``x`` does not hold whole videos.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.arange(8, dtype="float32").reshape(2, 4, 1, 1))
    ///     >>> out = fluid.layers.temporal_shift(x, seg_num=2, shift_ratio=0.25)
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].reshape(2, 4).tolist()
    ///     [[0.0, 5.0, 2.0, 3.0], [0.0, 0.0, 6.0, 7.0]]
    "nn.temporal_shift(x, seg_num, shift_ratio=0.25, name=None)"
        => |net, a| net.temporal_shift(&a.var("x")?, a.i32("seg_num")?, a.f32("shift_ratio")?);

    /// Marks the largest elements of chosen planes so that each row and each column is used at most once.
    ///
    /// In each plane the largest element whose row and column are free is marked, until no row or no column is left.
    /// The marks of all chosen planes are put together and repeated along ``axis``. No gradient flows through it.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, four dimensions.
    ///     axis (int): the dimension of the planes: 1, 2 or 3; the other two are their rows and columns.
    ///     indexes (list or int): the numbers of the planes.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``input``: 1 at marked positions, otherwise 0.
    ///
    /// Raises:
    ///     ValueError: ``axis`` is not 1, 2 or 3.
    ///     IndexError: there is no such plane (when the program runs).
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.arange(8, dtype="float32").reshape(1, 2, 2, 2))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.similarity_focus(x, axis=1, indexes=[0])])[0].tolist()
    ///     [[[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]]]
    "nn.similarity_focus(input, axis, indexes, name=None)"
        => |net, a| net.similarity_focus(&a.var("input")?, a.i32("axis")?, &a.i32s("indexes")?);

    /// Computes where affine maps take the pixels of images: the grid for ``grid_sampler``.
    ///
    /// Coordinates go from -1 to 1 over the image, in the order horizontal, vertical. Spatial transformers use it.
    ///
    /// Args:
    ///     theta (Variable): float32 or float64, ``[batch, 2, 3]``: a matrix of the map of each image.
    ///     out_shape (list, tuple or Variable): ``[batch, channels, height, width]`` of the images to make; a Variable
    ///         is int32 ``[4]``.
    ///
    /// Returns:
    ///     Variable: ``[batch, height, width, 2]``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``theta`` is not ``[batch, 2, 3]``.
    ///
    /// Example:
    ///     >>> identity = fluid.layers.assign(np.array([[[1, 0, 0], [0, 1, 0]]], "float32"))
    ///     >>> out = fluid.layers.affine_grid(identity, out_shape=[1, 1, 2, 2])
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [[[[-1.0, -1.0], [1.0, -1.0]], [[-1.0, 1.0], [1.0, 1.0]]]]
    "nn.affine_grid(theta, out_shape, name=None)" => |net, a| net.affine_grid(&a.var("theta")?, a.ints("out_shape")?);

    /// Takes pixels of images at the points of a grid, by bilinear interpolation.
    ///
    /// Coordinates go from -1, the centre of the first pixel, to 1, the centre of the last one. Pixels outside of the
    /// image count as 0.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, ``[batch, channels, height, width]``.
    ///     grid (Variable): the element type of ``x``, ``[batch, H, W, 2]``: horizontal and vertical coordinate of each
    ///         point, usually of ``affine_grid``. Fluid takes only the sizes of ``x``.
    ///
    /// Returns:
    ///     Variable: ``[batch, channels, H, W]``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the shapes of ``x`` and ``grid`` do not fit.
    ///
    /// Example:
    ///     >>> image = fluid.layers.assign(np.arange(4, dtype="float32").reshape(1, 1, 2, 2))
    ///     >>> grid = fluid.layers.assign(np.array([[[[-1, -1], [0, 0]], [[1, 1], [2, 2]]]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.grid_sampler(image, grid)])[0].tolist()
    ///     [[[[0.0, 1.5], [3.0, 0.75]]]]
    "nn.grid_sampler(x, grid, name=None)" => |net, a| net.grid_sampler(&a.var("x")?, &a.var("grid")?);

    /// Takes a part of a tensor: ``shape`` elements from ``offsets`` on.
    ///
    /// ``crop_tensor`` also takes Variables.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///     shape (list or tuple): a size per dimension; it must be given; a first size of -1 keeps that of ``x``.
    ///     offsets (list or tuple): the first position along each dimension; ``None``: zeros.
    ///
    /// Returns:
    ///     Variable: ``shape``, the element type of ``x``.
    ///
    /// Raises:
    ///     TypeError: there is no ``shape``, or it is a Variable.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2, 3], [4, 5, 6]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.crop(x, shape=[1, 2], offsets=[1, 1])])[0].tolist()
    ///     [[5.0, 6.0]]
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
