//! Normalisation.

use oarlock_ir::{Kind, Op, Result, fail, product};
use oarlock_tensor::DType;

use super::conv::Layout;
use crate::declare::{Args, declare};
use crate::layer::{Layer, Part, known};
use crate::options::options;
use crate::{Act, Initializer, Net, Param, ParamAttr, VarRef};

options! {
    /// `batch_norm(input, act=None, is_test=False, momentum=0.9, epsilon=1e-05, param_attr=None, bias_attr=None,
    /// data_layout='NCHW', in_place=False, name=None, moving_mean_name=None, moving_variance_name=None,
    /// do_model_average_for_mean_and_var=True, use_global_stats=False)`
    BatchNorm::new() {
        /// Activation.
        act(into): Act = Act::none(),
        /// Use the running statistics, and leave them alone.
        is_test: bool = false,
        /// How much of the running statistics stays.
        momentum: f32 = 0.9,
        /// Added to variances.
        epsilon: f32 = 1e-5,
        /// The factor of each channel.
        param_attr(into): Param = Param::default(),
        /// The term that is added to each channel.
        bias_attr(into): Param = Param::default(),
        /// Where the channels are.
        data_layout: Layout = Layout::ChannelsFirst,
        /// Write the result over the input.
        in_place: bool = false,
        /// Name of the running mean.
        moving_mean_name: Option<String> = None,
        /// Name of the running variance.
        moving_variance_name: Option<String> = None,
        /// Running statistics take part in `ModelAverage`.
        do_model_average_for_mean_and_var: bool = true,
        /// Use the running statistics while training, too.
        use_global_stats: bool = false,
    }
}

options! {
    /// `layer_norm(input, scale=True, shift=True, begin_norm_axis=1, epsilon=1e-05, param_attr=None, bias_attr=None, act=None,
    /// name=None)`
    LayerNorm::new() {
        /// With a factor for each element.
        scale: bool = true,
        /// With something added to each element.
        shift: bool = true,
        /// The first dimension that is normalised.
        begin_norm_axis: usize = 1,
        /// Added to variances.
        epsilon: f32 = 1e-5,
        /// The factors.
        param_attr(into): Param = Param::default(),
        /// The term that is added.
        bias_attr(into): Param = Param::default(),
        /// Activation.
        act(into): Act = Act::none(),
    }
}

options! {
    /// `group_norm(input, groups, epsilon=1e-05, param_attr=None, bias_attr=None, act=None, data_layout='NCHW', name=None)`
    GroupNorm::groups(
        /// Channels are normalised in this number of groups.
        groups: i32,
    ) {
        /// Added to variances.
        epsilon: f32 = 1e-5,
        /// The factor of each channel; by default there is none.
        param_attr(into): Param = Param::Without,
        /// The term that is added to each channel; none by default.
        bias_attr(into): Param = Param::Without,
        /// Activation.
        act(into): Act = Act::none(),
        /// Where the channels are.
        data_layout: Layout = Layout::ChannelsFirst,
    }
}

options! {
    /// `data_norm(input, act=None, epsilon=1e-05, param_attr=None, data_layout='NCHW', in_place=False, name=None, ...,
    /// slot_dim=-1, sync_stats=False, summary_decay_rate=0.9999999, enable_scale_and_shift=False)`
    DataNorm::new() {
        /// Activation.
        act(into): Act = Act::none(),
        /// Added to sums of squares.
        epsilon: f32 = 1e-5,
        /// First value of the count of examples.
        batch_size: f64 = 1e4,
        /// First value of the sums.
        batch_sum: f64 = 0.0,
        /// First value of the sums of squares.
        batch_square: f64 = 1e4,
        /// Width of a slot whose first element says whether it is there; negative for none.
        slot_dim: i32 = -1,
        /// Carried along for saved programs.
        sync_stats: bool = false,
        /// How much of the sums stays.
        summary_decay_rate: f32 = 0.9999999,
    }
}

impl Net {
    /// Normalises each channel over the batch, then scales and shifts it.
    #[track_caller]
    pub fn batch_norm(&mut self, input: &VarRef, options: BatchNorm) -> Result<VarRef> {
        let mut layer = self.layer("batch_norm");
        let op = layer.normalized("batch_norm", input, &options)?;
        let dtype = layer.dtype(input)?;
        let out = if options.in_place { input.clone() } else { layer.temp(dtype) };
        let op = op.output("Y", [&out]);
        layer.append_op(op)?;
        layer.activate(out, &options.act)
    }

    /// `batch_norm` with an activation (identity, leaky_relu or elu, whose alpha is `alpha`) written over its input, so that no
    /// second tensor is kept for the gradient.
    #[track_caller]
    pub fn inplace_abn(
        &mut self,
        input: &VarRef,
        activation: Option<&str>,
        alpha: f32,
        options: BatchNorm,
    ) -> Result<VarRef> {
        if !matches!(activation, None | Some("identity" | "leaky_relu" | "elu")) {
            let act = activation.unwrap_or_default();
            fail!(Kind::Argument, "`inplace_abn` takes the activations identity, leaky_relu and elu, not {act:?}");
        }
        let mut layer = self.layer("inplace_abn");
        let op = layer.normalized("inplace_abn", input, &options)?.output("Y", [input]).attr("alpha", alpha);
        let op = activation.iter().fold(op, |op, act| op.attr("activation", *act));
        layer.append_op(op)?;
        Ok(input.clone())
    }

    /// Normalises each example.
    #[track_caller]
    pub fn layer_norm(&mut self, input: &VarRef, options: LayerNorm) -> Result<VarRef> {
        let mut layer = self.layer("layer_norm");
        let (shape, dtype) = (layer.shape(input)?, layer.dtype(input)?);
        if options.begin_norm_axis >= shape.rank() {
            fail!(Kind::Argument, "begin_norm_axis is {}, but `{input}` has shape {shape}", options.begin_norm_axis);
        }
        let size = [known(&[product(&shape[options.begin_norm_axis..])], "`layer_norm`", input)?[0]];
        let mut op = Op::new("layer_norm").input("X", [input]);
        if options.scale {
            let first = Some(Initializer::constant(1.0));
            op = op.input("Scale", [&layer.weight_with(&options.param_attr, &size, dtype, first)?]);
        }
        if let (true, Some(attr)) = (options.shift, options.bias_attr.attr()) {
            op = op.input("Bias", [&layer.parameter(attr, Part::Bias, &size, dtype, None)?]);
        }
        let (mean, variance) = (layer.temp_without_gradient(dtype), layer.temp_without_gradient(dtype));
        let op = op.output("Mean", [&mean]).output("Variance", [&variance]);
        let op = op.attr("epsilon", options.epsilon).attr("begin_norm_axis", options.begin_norm_axis as i32);
        let out = layer.out_slot("Y", dtype, op)?;
        layer.activate(out, &options.act)
    }

    /// Normalises groups of channels of each example.
    #[track_caller]
    pub fn group_norm(&mut self, input: &VarRef, options: GroupNorm) -> Result<VarRef> {
        let mut layer = self.layer("group_norm");
        let ty = layer.tensor_type(input)?;
        let channels = layer.channel_count("group_norm", input, options.data_layout)?;
        let mut op = Op::new("group_norm").input("X", [input]);
        if let Some(attr) = options.param_attr.attr() {
            let first = Some(Initializer::constant(1.0));
            op = op.input("Scale", [&layer.parameter(attr, Part::Weight, &channels, ty.dtype, first)?]);
        }
        if let Some(attr) = options.bias_attr.attr() {
            op = op.input("Bias", [&layer.parameter(attr, Part::Bias, &channels, ty.dtype, None)?]);
        }
        let [mean, variance, out] = [(); 3].map(|()| layer.generated(ty.clone()));
        layer.stop_gradient(&mean)?;
        layer.stop_gradient(&variance)?;
        let op = op.output("Y", [&out]).output("Mean", [&mean]).output("Variance", [&variance]);
        let op = op.attr("epsilon", options.epsilon).attr("groups", options.groups);
        layer.append_op(op.attr("data_layout", options.data_layout.word(2)))?;
        layer.activate(out, &options.act)
    }

    /// `instance_norm(input, epsilon=1e-05, param_attr=None, bias_attr=None)`: normalises each channel of each example.
    #[track_caller]
    pub fn instance_norm(
        &mut self,
        input: &VarRef,
        epsilon: f32,
        param_attr: impl Into<Param>,
        bias_attr: impl Into<Param>,
    ) -> Result<VarRef> {
        let mut layer = self.layer("instance_norm");
        let dtype = layer.dtype(input)?;
        let channels = layer.channel_count("instance_norm", input, Layout::ChannelsFirst)?;
        let (scale, bias) = layer.scale_and_bias(&param_attr.into(), &bias_attr.into(), &channels, dtype)?;
        let (mean, variance) = (layer.temp_without_gradient(dtype), layer.temp_without_gradient(dtype));
        let op = Op::new("instance_norm").input("X", [input]).input("Scale", [&scale]).input("Bias", [&bias]);
        let op = op.output("SavedMean", [&mean]).output("SavedVariance", [&variance]).attr("epsilon", epsilon);
        layer.out_slot("Y", dtype, op)
    }

    /// Normalises each element by sums that are kept over all of training.
    #[track_caller]
    pub fn data_norm(&mut self, input: &VarRef, options: DataNorm) -> Result<VarRef> {
        // A name that the user gives names the parameters; without one they share `dn`.
        let name = self.next_name.clone().unwrap_or_else(|| "dn".into());
        let mut layer = self.layer("data_norm");
        let ty = layer.tensor_type(input)?;
        let channels = layer.channel_count("data_norm", input, Layout::ChannelsFirst)?;
        let mut sums = Vec::new();
        let firsts = [
            ("batch_size", options.batch_size),
            ("batch_sum", options.batch_sum),
            ("batch_square_sum", options.batch_square),
        ];
        for (suffix, value) in firsts {
            let attr = ParamAttr::name(format!("{name}.{suffix}")).initializer(Initializer::constant(value));
            sums.push(layer.parameter(&attr, Part::Weight, &channels, ty.dtype, None)?);
        }
        let [means, scales, out] = [(); 3].map(|()| layer.generated(ty.clone()));
        layer.stop_gradient(&means)?;
        layer.stop_gradient(&scales)?;
        let mut op = Op::new("data_norm")
            .input("X", [input])
            .input("BatchSize", [&sums[0]])
            .input("BatchSum", [&sums[1]])
            .input("BatchSquareSum", [&sums[2]])
            .output("Y", [&out])
            .output("Means", [&means])
            .output("Scales", [&scales])
            .attr("epsilon", options.epsilon)
            .attr("sync_stats", options.sync_stats)
            .attr("summary_decay_rate", options.summary_decay_rate);
        if options.slot_dim > 0 {
            op = op.attr("slot_dim", options.slot_dim);
        }
        layer.append_op(op)?;
        layer.activate(out, &options.act)
    }

    /// `lrn(input, n=5, k=1.0, alpha=0.0001, beta=0.75)`: divides by the size of neighbouring channels.
    #[track_caller]
    pub fn lrn(&mut self, input: &VarRef, n: i32, k: f32, alpha: f32, beta: f32) -> Result<VarRef> {
        let mut layer = self.layer("lrn");
        let dtype = layer.dtype(input)?;
        let mid = layer.temp_without_gradient(dtype);
        let op = Op::new("lrn").input("X", [input]).output("MidOut", [&mid]);
        let op = op.attr("n", n).attr("k", k).attr("alpha", alpha).attr("beta", beta);
        layer.out(dtype, op.attr("data_format", "NCHW"))
    }

    /// `l2_normalize(x, axis, epsilon=1e-12)`: vectors along a dimension to length 1.
    #[track_caller]
    pub fn l2_normalize(&mut self, x: &VarRef, axis: i32, epsilon: f32) -> Result<VarRef> {
        let mut layer = self.layer("l2_normalize");
        let dtype = layer.dtype(x)?;
        let axis = if layer.shape(x)?.rank() == 1 { 0 } else { axis };
        let (out, norm) = (layer.temp(dtype), layer.temp(dtype));
        let op = Op::new("norm").input("X", [x]).output("Out", [&out]).output("Norm", [&norm]);
        layer.append_op(op.attr("axis", axis).attr("epsilon", epsilon))?;
        Ok(out)
    }

    /// `affine_channel(x, scale, bias, data_layout='NCHW', act=None)`: a factor and a summand for each channel, from variables.
    #[track_caller]
    pub fn affine_channel(&mut self, x: &VarRef, scale: &VarRef, bias: &VarRef, act: impl Into<Act>) -> Result<VarRef> {
        let mut layer = self.layer("affine_channel");
        let dtype = layer.dtype(x)?;
        let op = Op::new("affine_channel").input("X", [x]).input("Scale", [scale]).input("Bias", [bias]);
        let out = layer.out(dtype, op.attr("data_layout", "NCHW"))?;
        layer.activate(out, &act.into())
    }
}

impl Layer<'_> {
    /// The operator of a batch norm with its parameters and statistics, but for its output `Y`.
    fn normalized(&mut self, op_type: &str, input: &VarRef, options: &BatchNorm) -> Result<Op> {
        let dtype = self.dtype(input)?;
        let channels = self.channel_count(op_type, input, options.data_layout)?;
        let (scale, bias) = self.scale_and_bias(&options.param_attr, &options.bias_attr, &channels, dtype)?;
        let average = options.do_model_average_for_mean_and_var;
        let mean = self.statistic(options.moving_mean_name.clone(), 0.0, &channels, dtype, average)?;
        let variance = self.statistic(options.moving_variance_name.clone(), 1.0, &channels, dtype, average)?;
        let (saved_mean, saved_variance) = (self.temp_without_gradient(dtype), self.temp_without_gradient(dtype));
        Ok(Op::new(op_type)
            .input("X", [input])
            .input("Scale", [&scale])
            .input("Bias", [&bias])
            .input("Mean", [&mean])
            .input("Variance", [&variance])
            .output("MeanOut", [&mean])
            .output("VarianceOut", [&variance])
            .output("SavedMean", [&saved_mean])
            .output("SavedVariance", [&saved_variance])
            .attr("momentum", options.momentum)
            .attr("epsilon", options.epsilon)
            .attr("is_test", options.is_test)
            .attr("data_layout", options.data_layout.word(2))
            .attr("use_global_stats", options.use_global_stats))
    }

    fn channel_count(&self, op_type: &str, input: &VarRef, layout: Layout) -> Result<Vec<usize>> {
        let shape = self.shape(input)?;
        if shape.rank() < 2 {
            fail!(Kind::Shape, "`{op_type}` needs a batch of channels, but `{input}` has shape {shape}");
        }
        let axis = layout.channel_axis(shape.rank());
        known(&shape[axis..=axis], &format!("`{op_type}`"), input)
    }

    /// A factor that starts at one and a summand that starts at zero.
    fn scale_and_bias(
        &mut self,
        scale: &Param,
        bias: &Param,
        shape: &[usize],
        dtype: DType,
    ) -> Result<(VarRef, VarRef)> {
        let scale = self.weight_with(scale, shape, dtype, Some(Initializer::constant(1.0)))?;
        let Some(attr) = bias.attr() else {
            fail!(Kind::Argument, "`{}` cannot do without its bias: bias_attr must not be false", self.prefix());
        };
        Ok((scale, self.parameter(attr, Part::Bias, shape, dtype, None)?))
    }

    /// A running statistic: a parameter that no optimizer changes.
    fn statistic(
        &mut self,
        name: Option<String>,
        first: f64,
        shape: &[usize],
        dtype: DType,
        average: bool,
    ) -> Result<VarRef> {
        let mut attr = ParamAttr::new().initializer(Initializer::constant(first)).trainable(false);
        attr.name = name;
        let var = self.parameter(&attr.do_model_average(average), Part::Weight, shape, dtype, None)?;
        self.stop_gradient(&var)?;
        Ok(var)
    }
}

declare! {
    /// Normalizes each channel over the batch: ``scale * (x - mean) / sqrt(variance + epsilon) + shift``.
    ///
    /// Mean and variance are those of the channel in the batch. ``scale`` and ``shift`` are trained, one number per
    /// channel. Every training step also updates a moving mean and variance,
    /// ``moving = moving * momentum + batch * (1 - momentum)``, which a program made by ``clone(for_test=True)`` uses
    /// instead of those of the batch. They are parameters that no optimizer changes, and they are saved with the model.
    /// Replicas of one process and collective workers normalize by their own batches; ``BuildStrategy.sync_batch_norm``
    /// makes the replicas of a process share their statistics.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, channels]`` or ``[batch, channels, ...]``, or channels last
    ///         with ``NHWC``.
    ///     is_test (bool): use the moving mean and variance and do not change them.
    ///     momentum (float): the share of the old value when the moving mean and variance are updated.
    ///     epsilon (float): added to the variance, so that the division is finite.
    ///     param_attr (ParamAttr): name, initializer, regularizer and learning rate of the scale; ``None``: ones.
    ///     bias_attr (ParamAttr): the same of the shift; ``None``: zeros.
    ///     data_layout (str): ``NCHW``: the channels are dimension 1; ``NHWC``: they are last.
    ///     in_place (bool): write the result over the input.
    ///     moving_mean_name (str): the name of the moving mean; ``None``: it is generated.
    ///     moving_variance_name (str): the name of the moving variance; ``None``: it is generated.
    ///     do_model_average_for_mean_and_var (bool): the moving mean and variance take part in
    ///         ``fluid.optimizer.ModelAverage``.
    ///     use_global_stats (bool): normalize by the moving mean and variance in training, too.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``input``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``input`` has only one dimension, or the number of channels is not known.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 2])
    ///     >>> out = fluid.layers.batch_norm(x)
    ///     >>> test_program = fluid.default_main_program().clone(for_test=True)
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> feed = {"x": np.array([[1, 10], [3, 30]], "float32")}
    ///     >>> print(exe.run(feed=feed, fetch_list=[out])[0].round(3))
    ///     [[-1. -1.]
    ///      [ 1.  1.]]
    ///     >>> print(exe.run(test_program, feed=feed, fetch_list=[out])[0].round(3))
    ///     [[0.8   2.423]
    ///      [2.8   8.481]]
    "nn.batch_norm(input, act=None, is_test=False, momentum=0.9, epsilon=1e-05, param_attr=None, bias_attr=None, \
     data_layout='NCHW', in_place=False, name=None, moving_mean_name=None, moving_variance_name=None, \
     do_model_average_for_mean_and_var=True, use_global_stats=False)"
        => |net, a| net.batch_norm(&a.var("input")?, batch_norm(a)?.in_place(a.bool("in_place")?).act(a.act("act")?));

    /// Normalizes each channel over the batch as ``batch_norm`` does, applies an activation, and writes over its input.
    ///
    /// The gradient computes the input again from the result, so a network keeps one tensor instead of two. Layers that
    /// read ``input`` and stand after this one see the result.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, channels]`` or ``[batch, channels, ...]``, or channels last
    ///         with ``NHWC``.
    ///     act (str): ``identity``, ``leaky_relu`` or ``elu``; ``None``: ``identity``.
    ///     is_test (bool): use the moving mean and variance and do not change them.
    ///     momentum (float): the share of the old value when the moving mean and variance are updated.
    ///     epsilon (float): added to the variance, so that the division is finite.
    ///     param_attr (ParamAttr): name, initializer, regularizer and learning rate of the scale; ``None``: ones.
    ///     bias_attr (ParamAttr): the same of the shift; ``None``: zeros.
    ///     data_layout (str): ``NCHW``: the channels are dimension 1; ``NHWC``: they are last.
    ///     moving_mean_name (str): the name of the moving mean; ``None``: it is generated.
    ///     moving_variance_name (str): the name of the moving variance; ``None``: it is generated.
    ///     do_model_average_for_mean_and_var (bool): the moving mean and variance take part in
    ///         ``fluid.optimizer.ModelAverage``.
    ///     use_global_stats (bool): normalize by the moving mean and variance in training, too.
    ///     act_alpha (float): the slope of ``leaky_relu`` below 0, or the bound of ``elu``; not 0.
    ///
    /// Returns:
    ///     Variable: ``input`` itself.
    ///
    /// Raises:
    ///     ValueError: ``act`` is another activation, or ``bias_attr`` is ``False``.
    ///     fluid.core.EnforceNotMet: ``input`` has only one dimension, or the number of channels is not known.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 2])
    ///     >>> hidden = fluid.layers.scale(x, 1.0)
    ///     >>> out = fluid.layers.inplace_abn(hidden, act="leaky_relu", act_alpha=0.5)
    ///     >>> out.name == hidden.name
    ///     True
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> print(exe.run(feed={"x": np.array([[1, 10], [3, 30]], "float32")}, fetch_list=[out])[0].round(3))
    ///     [[-0.5 -0.5]
    ///      [ 1.   1. ]]
    "nn.inplace_abn(input, act=None, is_test=False, momentum=0.9, epsilon=1e-05, param_attr=None, bias_attr=None, \
     data_layout='NCHW', name=None, moving_mean_name=None, moving_variance_name=None, \
     do_model_average_for_mean_and_var=True, use_global_stats=False, act_alpha=1.0)"
        => |net, a| net.inplace_abn(&a.var("input")?, a.opt_str("act")?.as_deref(), a.f32("act_alpha")?, batch_norm(a)?);

    /// Normalizes each sample over the dimensions from ``begin_norm_axis`` on:
    /// ``scale * (x - mean) / sqrt(variance + epsilon) + shift``.
    ///
    /// Mean and variance are those of one sample, so that training and prediction are the same. ``scale`` and ``shift``
    /// are trained, one number per normalized element.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, at least 2 dimensions.
    ///     scale (bool): multiply by a trained scale.
    ///     shift (bool): add a trained shift.
    ///     begin_norm_axis (int): the first dimension that is normalized; all after it belong together.
    ///     epsilon (float): added to the variance, so that the division is finite.
    ///     param_attr (ParamAttr): name, initializer, regularizer and learning rate of the scale; ``None``: ones.
    ///     bias_attr (ParamAttr): the same of the shift; ``None``: zeros.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``input``.
    ///
    /// Raises:
    ///     ValueError: ``input`` has no dimension ``begin_norm_axis``.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 3])
    ///     >>> out = fluid.layers.layer_norm(x)
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> print(exe.run(feed={"x": np.array([[1, 2, 3]], "float32")}, fetch_list=[out])[0].round(3))
    ///     [[-1.225  0.     1.225]]
    "nn.layer_norm(input, scale=True, shift=True, begin_norm_axis=1, epsilon=1e-05, param_attr=None, \
     bias_attr=None, act=None, name=None)"
        => |net, a| net.layer_norm(&a.var("input")?, LayerNorm::new().scale(a.bool("scale")?)
        .shift(a.bool("shift")?).begin_norm_axis(a.usize("begin_norm_axis")?).epsilon(a.f32("epsilon")?)
        .param_attr(a.param("param_attr")?).bias_attr(a.param("bias_attr")?).act(a.act("act")?));

    /// Normalizes each column by statistics of the whole training: ``(x - sum / size) * sqrt(size / square_sum)``.
    ///
    /// The layer keeps three parameters per column: ``size`` (starts at 1e4), ``sum`` (0) and ``square_sum`` (1e4).
    /// Their gradients are no derivatives: they are the size, the sum and the squared distances of the batch, for an
    /// update that adds them up. Models for click rates use it for dense features.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, width]``.
    ///     epsilon (float): added to the squares of a batch.
    ///     param_attr (dict): refused unless ``None``; set the sums in the scope after the startup program instead.
    ///     data_layout (str): only ``NCHW``.
    ///     in_place (bool): only ``False``.
    ///     moving_mean_name (str): accepted; Fluid does not use it either.
    ///     moving_variance_name (str): accepted; Fluid does not use it either.
    ///     do_model_average_for_mean_and_var (bool): accepted; Fluid does not use it either.
    ///     slot_dim (int): the columns belong to slots of this width, whose first column is 0 for a slot that was not
    ///         shown: it gives zeros and does not count. -1: there are no slots.
    ///     sync_stats (bool): kept in the program for Fluid; it has no effect here.
    ///     summary_decay_rate (float): kept in the program for Fluid; it has no effect here.
    ///     enable_scale_and_shift (bool): only ``False``; multiply and add parameters of your own instead.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``input``.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 2])
    ///     >>> out = fluid.layers.data_norm(x)
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> exe.run(feed={"x": np.array([[1, 2]], "float32")}, fetch_list=[out])[0].tolist()
    ///     [[1.0, 2.0]]
    ///     >>> [p.name for p in fluid.default_main_program().all_parameters()]
    ///     ['dn.batch_size', 'dn.batch_sum', 'dn.batch_square_sum']
    "nn.data_norm(input, act=None, epsilon=1e-05, param_attr=None, data_layout='NCHW', in_place=False, \
     name=None, moving_mean_name=None, moving_variance_name=None, do_model_average_for_mean_and_var=True, \
     slot_dim=-1, sync_stats=False, summary_decay_rate=0.9999999, enable_scale_and_shift=False)"
        => |net, a| net.data_norm(&a.var("input")?, DataNorm::new().act(a.act("act")?).epsilon(a.f32("epsilon")?)
        .slot_dim(a.i32("slot_dim")?).sync_stats(a.bool("sync_stats")?).summary_decay_rate(a.f32("summary_decay_rate")?));

    /// Divides vectors along a dimension by their L2 norm: ``x / sqrt(sum(x * x) + epsilon)``.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///     axis (int): the dimension of the vectors; negative ones count from the end.
    ///     epsilon (float): added to the sum, so that a vector of zeros stays finite.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``x``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``x`` has no dimension ``axis``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[3, 4], [0, 2]], "float32"))
    ///     >>> print(fluid.Executor().run(fetch_list=[fluid.layers.l2_normalize(x, axis=1)])[0].round(4))
    ///     [[0.6 0.8]
    ///      [0.  1. ]]
    "nn.l2_normalize(x, axis, epsilon=1e-12, name=None)"
        => |net, a| net.l2_normalize(&a.var("x")?, a.i32("axis")?, a.f32("epsilon")?);

    /// Normalizes groups of channels of each sample: ``scale * (x - mean) / sqrt(variance + epsilon) + shift``.
    ///
    /// Mean and variance are those of one group of one sample, so that the size of the batch does not matter and
    /// training and prediction are the same.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, channels, ...]``, or channels last with ``NHWC``.
    ///     groups (int): the number of groups; it divides the number of channels.
    ///     epsilon (float): added to the variance, so that the division is finite.
    ///     param_attr (ParamAttr): name, initializer, regularizer and learning rate of the scale, one number per
    ///         channel; ``None``: no scale.
    ///     bias_attr (ParamAttr): the same of the shift; ``None``: no shift.
    ///     data_layout (str): ``NCHW``: the channels are dimension 1; ``NHWC``: they are last.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``input``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``groups`` does not divide the channels.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([1, 3, 10, 30], "float32").reshape(1, 4, 1, 1))
    ///     >>> out = fluid.layers.group_norm(x, groups=2)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].ravel().round(3))
    ///     [-1.  1. -1.  1.]
    "nn.group_norm(input, groups, epsilon=1e-05, param_attr=None, bias_attr=None, act=None, data_layout='NCHW', \
     name=None)"
        => |net, a| net.group_norm(&a.var("input")?, GroupNorm::groups(a.i32("groups")?)
        .epsilon(a.f32("epsilon")?).param_attr(a.param_or_none("param_attr")?).bias_attr(a.param_or_none("bias_attr")?)
        .act(a.act("act")?).data_layout(a.layout("data_layout")?));

    /// Normalizes each channel of each sample: ``scale * (x - mean) / sqrt(variance + epsilon) + shift``.
    ///
    /// Mean and variance are those of one channel of one sample; they are not kept, so that training and prediction are
    /// the same. Style transfer uses it.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, channels, ...]``.
    ///     epsilon (float): added to the variance, so that the division is finite.
    ///     param_attr (ParamAttr): name, initializer, regularizer and learning rate of the scale; ``None``: ones.
    ///     bias_attr (ParamAttr): the same of the shift; ``None``: zeros.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``input``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``input`` has only one dimension, or the number of channels is not known.
    ///
    /// Example:
    ///     >>> image = fluid.data("image", [None, 1, 1, 3])
    ///     >>> out = fluid.layers.instance_norm(image)
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> pixels = np.array([1, 2, 3], "float32").reshape(1, 1, 1, 3)
    ///     >>> print(exe.run(feed={"image": pixels}, fetch_list=[out])[0].round(3))
    ///     [[[[-1.225  0.     1.225]]]]
    "nn.instance_norm(input, epsilon=1e-05, param_attr=None, bias_attr=None, name=None)"
        => |net, a| net.instance_norm(&a.var("input")?, a.f32("epsilon")?, a.param("param_attr")?,
        a.param("bias_attr")?);

    /// Divides each element by the squares of neighbouring channels: ``x / (k + alpha * sum(x * x)) ** beta``.
    ///
    /// The sum is over the ``n`` channels around that of the element (local response normalization).
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, channels, height, width]``.
    ///     n (int): the number of channels in the sum; odd.
    ///     k (float): added to the sum; positive.
    ///     alpha (float): factor of the sum.
    ///     beta (float): the exponent.
    ///     data_format (str): only ``NCHW``; transpose before and after for other formats.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``input``.
    ///
    /// Raises:
    ///     ValueError: ``n`` is even.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([1, 2, 3], "float32").reshape(1, 3, 1, 1))
    ///     >>> out = fluid.layers.lrn(x, n=3, alpha=1.0, beta=0.5)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].ravel().round(4))
    ///     [0.4082 0.5164 0.8018]
    "nn.lrn(input, n=5, k=1.0, alpha=0.0001, beta=0.75, name=None, data_format='NCHW')"
        => |net, a| net.lrn(&a.var("input")?, a.i32("n")?, a.f32("k")?, a.f32("alpha")?, a.f32("beta")?);

    /// Multiplies each channel by a number and adds another: ``scale[c] * x[:, c] + bias[c]``.
    ///
    /// ``scale`` and ``bias`` are Variables; to train them make them with ``create_parameter``. Networks with frozen
    /// batch normalization use it.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, ``[batch, channels, ...]``.
    ///     scale (Variable): ``[channels]``; it must be given.
    ///     bias (Variable): ``[channels]``; it must be given.
    ///     data_layout (str): only ``NCHW``; transpose before and after for other formats.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``scale`` or ``bias`` is missing.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.ones([1, 2, 1, 2], "float32"))
    ///     >>> scale = fluid.layers.assign(np.array([2, 3], "float32"))
    ///     >>> bias = fluid.layers.assign(np.array([0.5, 1], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.affine_channel(x, scale, bias)])[0].tolist()
    ///     [[[[2.5, 2.5]], [[4.0, 4.0]]]]
    "nn.affine_channel(x, scale=None, bias=None, data_layout='NCHW', name=None, act=None)"
        => |net, a| net.affine_channel(&a.var("x")?, &a.var("scale")?, &a.var("bias")?, a.act("act")?);
}

fn batch_norm(a: &Args) -> Result<BatchNorm> {
    Ok(BatchNorm::new()
        .is_test(a.bool("is_test")?)
        .momentum(a.f32("momentum")?)
        .epsilon(a.f32("epsilon")?)
        .param_attr(a.param("param_attr")?)
        .bias_attr(a.param("bias_attr")?)
        .data_layout(a.layout("data_layout")?)
        .moving_mean_name(a.opt_str("moving_mean_name")?)
        .moving_variance_name(a.opt_str("moving_variance_name")?)
        .do_model_average_for_mean_and_var(a.bool("do_model_average_for_mean_and_var")?)
        .use_global_stats(a.bool("use_global_stats")?))
}
