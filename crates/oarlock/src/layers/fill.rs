//! Tensors of constants and of random numbers.

use oarlock_ir::{Error, Kind, Op, Result, fail};
use oarlock_tensor::{DType, Tensor};

use crate::declare::{Args, declare};
use crate::initializer::assigned_values;
use crate::ints::{Ints, Style};
use crate::{Net, VarRef};

use super::Operand;
use super::Reshape;

/// A number as saved programs write it in `str_value`: integers for integer types, else the shortest decimal that reads back.
fn number_text(value: f64, dtype: DType) -> String {
    if !dtype.is_float() && dtype != DType::Bool {
        return format!("{}", value as i64);
    }
    let exponent = if value == 0.0 || !value.is_finite() { 0.0 } else { value.abs().log10().floor() };
    if (-4.0..16.0).contains(&exponent) {
        return format!("{value:?}");
    }
    // Python writes two digits of exponent at least, with a sign: 1e-05, 1e+16.
    let text = format!("{value:e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => {
            let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |d| ('-', d));
            format!("{mantissa}e{sign}{digits:0>2}")
        }
        None => text,
    }
}

impl Net {
    /// `fill_constant(shape, dtype, value, force_cpu=False)`: every element is `value`.
    #[track_caller]
    pub fn fill_constant(&mut self, shape: impl Into<Ints>, dtype: DType, value: f64) -> Result<VarRef> {
        self.fill_constant_on(shape.into(), dtype, value, false)
    }

    /// `fill_constant` with `force_cpu`, which saved programs carry.
    #[track_caller]
    pub(crate) fn fill_constant_on(
        &mut self,
        shape: Ints,
        dtype: DType,
        value: f64,
        force_cpu: bool,
    ) -> Result<VarRef> {
        let mut layer = self.layer("fill_constant");
        let mut op = Op::new("fill_constant").attr("shape", shape.attr().unwrap_or_default());
        let out = layer.temp_without_gradient(dtype);
        op = shape.feed(&mut layer, op, "ShapeTensor", "ShapeTensorList", Style::Cast)?;
        layer.append_op(fill_op(op, &out, dtype, value, force_cpu))?;
        Ok(out)
    }

    /// `fill_constant(..., out=out)`: into a variable.
    #[track_caller]
    pub fn fill_constant_into(&mut self, out: &VarRef, shape: &[i64], dtype: DType, value: f64) -> Result<()> {
        self.fill_into(out, shape, dtype, value, false)
    }

    #[track_caller]
    pub(crate) fn fill_into(
        &mut self,
        out: &VarRef,
        shape: &[i64],
        dtype: DType,
        value: f64,
        force_cpu: bool,
    ) -> Result<()> {
        let mut layer = self.layer("fill_constant");
        let op = Op::new("fill_constant").attr("shape", shape.to_vec());
        layer.append_op(fill_op(op, out, dtype, value, force_cpu))?;
        layer.stop_gradient(out)
    }

    /// `zeros(shape, dtype)`
    #[track_caller]
    pub fn zeros(&mut self, shape: impl Into<Ints>, dtype: DType) -> Result<VarRef> {
        self.fill_constant(shape, dtype, 0.0)
    }

    /// `ones(shape, dtype)`
    #[track_caller]
    pub fn ones(&mut self, shape: impl Into<Ints>, dtype: DType) -> Result<VarRef> {
        self.fill_constant(shape, dtype, 1.0)
    }

    /// `zeros_like(x)`
    #[track_caller]
    pub fn zeros_like(&mut self, x: &VarRef) -> Result<VarRef> {
        let mut layer = self.layer("zeros_like");
        let dtype = layer.dtype(x)?;
        let out = layer.out(dtype, Op::new("fill_zeros_like").input("X", [x]))?;
        layer.stop_gradient(&out)?;
        Ok(out)
    }

    /// `ones_like(x)`
    #[track_caller]
    pub fn ones_like(&mut self, x: &VarRef) -> Result<VarRef> {
        let mut layer = self.layer("ones_like");
        let dtype = layer.dtype(x)?;
        layer.out(dtype, Op::new("fill_any_like").input("X", [x]).attr("value", 1.0f32))
    }

    /// `full_like(input, fill_value, dtype=None, stop_gradient=True)`: the shape of `input`, every element `value`.
    #[track_caller]
    pub fn full_like(&mut self, input: &VarRef, value: f32, dtype: Option<DType>) -> Result<VarRef> {
        let mut layer = self.layer("full_like");
        let dtype = dtype.map_or_else(|| layer.dtype(input), Ok)?;
        let op = Op::new("fill_any_like").input("X", [input]).attr("value", value).attr("dtype", dtype.proto());
        let out = layer.out(dtype, op)?;
        layer.stop_gradient(&out)?;
        Ok(out)
    }

    /// `fill_constant_batch_size_like(input, shape, dtype, value, input_dim_idx=0, output_dim_idx=0)`: as many rows as `input` has;
    /// `dims` are the dimensions of `input` and of the result that agree.
    #[track_caller]
    pub fn fill_constant_batch_size_like(
        &mut self,
        input: &VarRef,
        shape: &[i32],
        dtype: DType,
        value: f64,
        dims: (i32, i32),
    ) -> Result<VarRef> {
        self.batch_filled(input, shape, dtype, value, dims, false)
    }

    /// The same, with the device that saved programs name.
    #[track_caller]
    pub(crate) fn batch_filled(
        &mut self,
        input: &VarRef,
        shape: &[i32],
        dtype: DType,
        value: f64,
        dims: (i32, i32),
        force_cpu: bool,
    ) -> Result<VarRef> {
        let op = Op::new("fill_constant_batch_size_like").attr("str_value", number_text(value, dtype));
        let op = op.attr("value", value as f32).attr("force_cpu", force_cpu);
        self.batch_size_like(op, input, shape, dtype, dims)
    }

    /// `uniform_random_batch_size_like(input, shape, dtype='float32', ..., min=-1.0, max=1.0, seed=0)`
    #[track_caller]
    pub fn uniform_random_batch_size_like(
        &mut self,
        input: &VarRef,
        shape: &[i32],
        (min, max): (f32, f32),
        seed: i32,
        dims: (i32, i32),
    ) -> Result<VarRef> {
        let op = Op::new("uniform_random_batch_size_like").attr("min", min).attr("max", max).attr("seed", seed);
        self.batch_size_like(op, input, shape, DType::F32, dims)
    }

    /// `gaussian_random_batch_size_like(input, shape, ..., mean=0.0, std=1.0, seed=0, dtype='float32')`
    #[track_caller]
    pub fn gaussian_random_batch_size_like(
        &mut self,
        input: &VarRef,
        shape: &[i32],
        (mean, std): (f32, f32),
        seed: i32,
        dims: (i32, i32),
    ) -> Result<VarRef> {
        let op = Op::new("gaussian_random_batch_size_like").attr("mean", mean).attr("std", std).attr("seed", seed);
        self.batch_size_like(op, input, shape, DType::F32, dims)
    }

    #[track_caller]
    fn batch_size_like(
        &mut self,
        op: Op,
        input: &VarRef,
        shape: &[i32],
        dtype: DType,
        (input_dim, output_dim): (i32, i32),
    ) -> Result<VarRef> {
        let layer_type = op.op_type.clone();
        let op = op
            .input("Input", [input])
            .attr("shape", shape.to_vec())
            .attr("dtype", dtype.proto())
            .attr("input_dim_idx", input_dim)
            .attr("output_dim_idx", output_dim);
        let mut layer = self.layer(&layer_type);
        let out = layer.out(dtype, op)?;
        layer.stop_gradient(&out)?;
        Ok(out)
    }

    /// `uniform_random(shape, dtype='float32', min=-1.0, max=1.0, seed=0)`: in `[min, max)`.
    #[track_caller]
    pub fn uniform_random(
        &mut self,
        shape: impl Into<Ints>,
        dtype: DType,
        (min, max): (f32, f32),
        seed: i32,
    ) -> Result<VarRef> {
        let op = Op::new("uniform_random").attr("min", min).attr("max", max).attr("seed", seed);
        self.random(op, shape.into(), dtype)
    }

    /// `gaussian_random(shape, mean=0.0, std=1.0, seed=0, dtype='float32')`
    #[track_caller]
    pub fn gaussian_random(
        &mut self,
        shape: impl Into<Ints>,
        (mean, std): (f32, f32),
        seed: i32,
        dtype: DType,
    ) -> Result<VarRef> {
        let shape = shape.into();
        let mut layer = self.layer("gaussian_random");
        let out = layer.temp(dtype);
        let op = Op::new("gaussian_random").attr("mean", mean).attr("std", std).attr("seed", seed);
        let op = op.attr("dtype", dtype.proto()).attr("shape", shape.attr().unwrap_or_default());
        let op = shape.feed(&mut layer, op, "ShapeTensor", "ShapeTensorList", Style::Cast)?;
        layer.append_op(op.output("Out", [&out]))?;
        Ok(out)
    }

    /// `randint(low, high=None, shape=None, dtype=None, seed=0)`: whole numbers in `[low, high)`.
    #[track_caller]
    pub fn randint(
        &mut self,
        (low, high): (i32, i32),
        shape: impl Into<Ints>,
        dtype: DType,
        seed: i32,
    ) -> Result<VarRef> {
        if low >= high {
            fail!(Kind::Argument, "`randint` needs low < high, but they are {low} and {high}");
        }
        let op = Op::new("randint").attr("low", low).attr("high", high).attr("seed", seed);
        self.random(op, shape.into(), dtype)
    }

    #[track_caller]
    fn random(&mut self, op: Op, shape: Ints, dtype: DType) -> Result<VarRef> {
        let layer_type = op.op_type.clone();
        let mut layer = self.layer(&layer_type);
        let mut op = op.attr("dtype", dtype.proto());
        if let Some(shape) = shape.attr() {
            op = op.attr("shape", shape);
        }
        let op = shape.feed(&mut layer, op, "ShapeTensor", "ShapeTensorList", Style::I64)?;
        layer.out(dtype, op)
    }

    /// `sampling_id(x, min=0.0, max=1.0, seed=0)`: an index per row, drawn with the row's probabilities.
    #[track_caller]
    pub fn sampling_id(&mut self, x: &VarRef, (min, max): (f32, f32), seed: i32) -> Result<VarRef> {
        self.unary(x, Op::new("sampling_id").attr("min", min).attr("max", max).attr("seed", seed))
    }

    /// `assign(input, output=None)`: a copy.
    #[track_caller]
    pub fn assign(&mut self, input: &VarRef) -> Result<VarRef> {
        self.unary(input, Op::new("assign"))
    }

    /// `assign(input, output)`: a copy into a variable.
    #[track_caller]
    pub fn assign_into(&mut self, input: &VarRef, output: &VarRef) -> Result<()> {
        self.layer("assign").append_op(Op::new("assign").input("X", [input]).output("Out", [output]))
    }

    /// `assign(numpy array)`: these values.
    #[track_caller]
    pub fn assign_value(&mut self, value: &Tensor) -> Result<VarRef> {
        self.layer("assign").out(value.dtype(), value_op(value)?)
    }

    /// `assign(numpy array, output)`: these values into a variable.
    #[track_caller]
    pub fn assign_value_into(&mut self, value: &Tensor, output: &VarRef) -> Result<()> {
        self.layer("assign").append_op(value_op(value)?.output("Out", [output]))
    }

    /// `eye(num_rows, num_columns=None, dtype='float32')`: ones on the diagonal.
    #[track_caller]
    pub fn eye(&mut self, rows: i64, columns: Option<i64>, dtype: DType) -> Result<VarRef> {
        let mut layer = self.layer("eye");
        let op = Op::new("eye").attr("num_rows", rows).attr("num_columns", columns.unwrap_or(rows));
        let out = layer.out(dtype, op.attr("dtype", dtype.proto()))?;
        layer.stop_gradient(&out)?;
        Ok(out)
    }

    /// `eye(..., batch_shape)`: a matrix repeated over further dimensions.
    #[track_caller]
    fn repeat_over(&mut self, matrix: &VarRef, batch: &[i64]) -> Result<VarRef> {
        let mut shape = vec![1; batch.len()];
        for dim in self.shape(matrix)?.iter() {
            shape.push(dim.known().map_or(-1, |n| n as i64));
        }
        let one = self.reshape(matrix, Reshape::shape(Ints::Known(shape)))?;
        self.expand(&one, Ints::Known([batch, &[1, 1]].concat()))
    }

    /// `linspace(start, stop, num, dtype)`: `num` numbers with equal distances.
    #[track_caller]
    pub fn linspace(&mut self, start: f64, stop: f64, num: i32, dtype: DType) -> Result<VarRef> {
        let mut layer = self.layer("linspace");
        let start = layer.fill_constant([1], dtype, start)?;
        let stop = layer.fill_constant([1], dtype, stop)?;
        let num = layer.fill_constant([1], DType::I32, num.into())?;
        let op = Op::new("linspace").input("Start", [&start]).input("Stop", [&stop]).input("Num", [&num]);
        layer.out(dtype, op)
    }

    /// `range(start, end, step, dtype)`: `start`, `start + step`, ... up to but without `end`.
    #[track_caller]
    pub fn range(
        &mut self,
        start: impl Into<Operand>,
        end: impl Into<Operand>,
        step: impl Into<Operand>,
        dtype: DType,
    ) -> Result<VarRef> {
        let mut layer = self.layer("range");
        let mut op = Op::new("range");
        for (slot, bound) in [("Start", start.into()), ("End", end.into()), ("Step", step.into())] {
            let bound = match bound {
                Operand::Number(number) => layer.fill_constant([1], dtype, number)?,
                Operand::Var(var) if layer.dtype(&var)? == dtype => var,
                Operand::Var(var) => layer.cast(&var, dtype)?,
            };
            op = op.input(slot, [&bound]);
        }
        let out = layer.out(dtype, op)?;
        layer.stop_gradient(&out)?;
        Ok(out)
    }
}

/// More values would make the program, not the data, their place.
const MOST_VALUES: usize = 1024 * 1024;

fn value_op(value: &Tensor) -> Result<Op> {
    if value.numel() > MOST_VALUES {
        let what = format!("{} values are too many to stand in a program", value.numel());
        return Err(Error::new(Kind::Argument, what).help("feed them, or make them a parameter"));
    }
    let (name, values) = assigned_values(value)?;
    let shape: Vec<i32> = value.dims().iter().map(|&n| n as i32).collect();
    let op = Op::new("assign_value").attr("dtype", value.dtype().proto()).attr("shape", shape);
    Ok(op.attr(name, values))
}

fn fill_op(op: Op, out: &VarRef, dtype: DType, value: f64, force_cpu: bool) -> Op {
    op.output("Out", [out])
        .attr("dtype", dtype.proto())
        .attr("value", value as f32)
        .attr("str_value", number_text(value, dtype))
        .attr("force_cpu", force_cpu)
}

declare! {
    /// Copies a Variable, or makes a constant from a numpy array.
    ///
    /// The gradient passes through a copy. A constant is part of the program; keep it small.
    ///
    /// Args:
    ///     input (Variable or numpy.ndarray): the value; an array of float32, int32, int64 or bool.
    ///     output (Variable): a Variable that receives the value and is returned; ``None``: a new Variable.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``input``.
    ///
    /// Raises:
    ///     TypeError: the array has another element type, such as float64, the default of numpy.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2]], "float32"))
    ///     >>> y = fluid.layers.assign(x)
    ///     >>> fluid.Executor().run(fetch_list=[y])[0].tolist()
    ///     [[1.0, 2.0]]
    "tensor.assign(input, output=None)" => |net, a| match (a.is_var("input"), a.opt_var("output")?) {
        (true, None) => net.assign(&a.var("input")?),
        (true, Some(out)) => net.assign_into(&a.var("input")?, &out).map(|()| out),
        (false, None) => net.assign_value(&a.tensor("input")?),
        (false, Some(out)) => net.assign_value_into(&a.tensor("input")?, &out).map(|()| out),
    };

    /// Makes the numbers ``start``, ``start + step``, ... up to, but without, ``end``.
    ///
    /// Args:
    ///     start (float or Variable): the first number; a Variable has one element.
    ///     end (float or Variable): the bound, which is left out.
    ///     step (float or Variable): the distance of neighbours, not 0; negative ones count down.
    ///     dtype (dtype): the element type: float32, float64, int32 or int64.
    ///
    /// Returns:
    ///     Variable: ``[ceil((end - start) / step)]``, of ``dtype``.
    ///
    /// Raises:
    ///     ValueError: ``step`` is 0 or has the wrong sign (when the program runs).
    ///
    /// Example:
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.range(0, 10, 3, "int64")])[0].tolist()
    ///     [0, 3, 6, 9]
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.range(1, 0, -0.25, "float32")])[0].tolist()
    ///     [1.0, 0.75, 0.5, 0.25]
    "tensor.range(start, end, step, dtype)"
        => |net, a| net.range(a.operand("start")?, a.operand("end")?, a.operand("step")?,
        a.dtype("dtype")?);

    /// Makes a tensor whose elements all have one value.
    ///
    /// No gradient flows through it.
    ///
    /// Args:
    ///     shape (list, tuple or Variable): the sizes. A Variable is int32 with one dimension; elements of a list may
    ///         be Variables ``[1]``.
    ///     dtype (dtype): the element type, such as float32, int64 or bool.
    ///     value (float): the value of every element.
    ///     force_cpu (bool): accepted; values are always on the CPU.
    ///     out (Variable): a Variable that receives the result and is returned; ``None``: a new Variable.
    ///
    /// Returns:
    ///     Variable: ``shape``, of ``dtype``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: a size in ``shape`` is negative.
    ///
    /// Example:
    ///     >>> x = fluid.layers.fill_constant([2], "int64", 7)
    ///     >>> fluid.Executor().run(fetch_list=[x])[0].tolist()
    ///     [7, 7]
    "tensor.fill_constant(shape, dtype, value, force_cpu=False, out=None)" => |net, a| match a.opt_var("out")? {
        Some(out) => net.fill_constant_into(&out, &a.i64s("shape")?, a.dtype("dtype")?, a.f64("value")?).map(|()| out),
        None => net.fill_constant(a.ints("shape")?, a.dtype("dtype")?, a.f64("value")?),
    };

    /// Makes a tensor of one value with a size that is taken from another tensor when the program runs, usually that of
    /// the batch.
    ///
    /// No gradient flows through it.
    ///
    /// Args:
    ///     input (Variable): gives one size; its values are not used.
    ///     shape (list or tuple): the sizes; the one at ``output_dim_idx`` is replaced, give it as -1.
    ///     dtype (dtype): the element type, such as float32, int64 or bool.
    ///     value (float): the value of every element.
    ///     input_dim_idx (int): the dimension of ``input`` that gives the size.
    ///     output_dim_idx (int): the dimension of the result that gets it.
    ///     force_cpu (bool): accepted; values are always on the CPU.
    ///
    /// Returns:
    ///     Variable: ``shape`` with the size from ``input``, of ``dtype``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``input`` or the result does not have the named dimension.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 8])
    ///     >>> state = fluid.layers.fill_constant_batch_size_like(x, [-1, 3], "float32", 0.5)
    ///     >>> fluid.Executor().run(feed={"x": np.zeros([2, 8], "float32")}, fetch_list=[state])[0].tolist()
    ///     [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]
    "tensor.fill_constant_batch_size_like(input, shape, dtype, value, input_dim_idx=0, output_dim_idx=0, \
     force_cpu=False)"
        => |net, a| net.fill_constant_batch_size_like(&a.var("input")?, &a.i32s("shape")?,
        a.dtype("dtype")?, a.f64("value")?, (a.i32("input_dim_idx")?, a.i32("output_dim_idx")?));

    /// Makes a tensor of zeros.
    ///
    /// Args:
    ///     shape (list, tuple or Variable): the sizes. A Variable is int32 with one dimension; elements of a list may
    ///         be Variables ``[1]``.
    ///     dtype (dtype): the element type, such as float32, int64 or bool.
    ///     force_cpu (bool): accepted; values are always on the CPU.
    ///
    /// Returns:
    ///     Variable: ``shape``, of ``dtype``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: a size in ``shape`` is negative.
    ///
    /// Example:
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.zeros([2], "float32")])[0].tolist()
    ///     [0.0, 0.0]
    "tensor.zeros(shape, dtype, force_cpu=False)" => |net, a| net.zeros(a.ints("shape")?, a.dtype("dtype")?);

    /// Makes a tensor of ones.
    ///
    /// Args:
    ///     shape (list, tuple or Variable): the sizes. A Variable is int32 with one dimension; elements of a list may
    ///         be Variables ``[1]``.
    ///     dtype (dtype): the element type, such as float32, int64 or bool.
    ///     force_cpu (bool): accepted; values are always on the CPU.
    ///
    /// Returns:
    ///     Variable: ``shape``, of ``dtype``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: a size in ``shape`` is negative.
    ///
    /// Example:
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.ones([2], "int64")])[0].tolist()
    ///     [1, 1]
    "tensor.ones(shape, dtype, force_cpu=False)" => |net, a| net.ones(a.ints("shape")?, a.dtype("dtype")?);

    /// Makes zeros with the shape and element type of another tensor.
    ///
    /// Args:
    ///     x (Variable): gives shape and element type; its values are not used.
    ///     out (Variable): a Variable that receives the result and is returned; ``None``: a new Variable.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``x``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.zeros_like(x)])[0].tolist()
    ///     [[0.0, 0.0], [0.0, 0.0]]
    "tensor.zeros_like(x, out=None)" => |net, a| net.zeros_like(&a.var("x")?);

    /// Makes ones with the shape and element type of another tensor.
    ///
    /// Args:
    ///     x (Variable): gives shape and element type; its values are not used.
    ///     out (Variable): a Variable that receives the result and is returned; ``None``: a new Variable.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``x``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.ones_like(x)])[0].tolist()
    ///     [[1.0, 1.0], [1.0, 1.0]]
    "tensor.ones_like(x, out=None)" => |net, a| net.ones_like(&a.var("x")?);

    /// Makes a tensor of one value with the shape of another one.
    ///
    /// Args:
    ///     input (Variable): gives the shape; its values are not used.
    ///     fill_value (float): the value of every element.
    ///     out (Variable): a Variable that receives the result and is returned; ``None``: a new Variable.
    ///     dtype (dtype): the element type; ``None``: that of ``input``.
    ///     device (str): accepted; values are always on the CPU.
    ///     stop_gradient (bool): the result's ``stop_gradient``: no gradient is computed for it.
    ///
    /// Returns:
    ///     Variable: the shape of ``input``, of ``dtype``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.zeros([1, 3], "float32")
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.full_like(x, 2, dtype="int64")])[0].tolist()
    ///     [[2, 2, 2]]
    "nn.full_like(input, fill_value, out=None, dtype=None, device=None, stop_gradient=True, name=None)"
        => |net, a| net.full_like(&a.var("input")?, a.f32("fill_value")?, a.opt_dtype("dtype")?);

    /// Makes a tensor of random numbers that are uniformly distributed over ``[min, max)``.
    ///
    /// The numbers differ from those of Fluid with the same seed.
    ///
    /// Args:
    ///     shape (list, tuple or Variable): the sizes. A Variable is int32 with one dimension; elements of a list may
    ///         be Variables ``[1]``.
    ///     dtype (dtype): the element type: float32 or float64.
    ///     min (float): lower bound.
    ///     max (float): upper bound, excluded.
    ///     seed (int): the same seed gives the same numbers in every run; 0: other numbers in every run, which follow
    ///         from ``Program.random_seed`` if that is set.
    ///
    /// Returns:
    ///     Variable: ``shape``, of ``dtype``.
    ///
    /// Raises:
    ///     TypeError: ``dtype`` is neither float32 nor float64.
    ///     ValueError: ``min`` is above ``max``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.uniform_random([100], min=0.0, max=2.0, seed=1)
    ///     >>> out = fluid.Executor().run(fetch_list=[x])[0]
    ///     >>> out.shape, bool(out.min() >= 0.0), bool(out.max() < 2.0)
    ///     ((100,), True, True)
    "ops.uniform_random(shape, dtype='float32', min=-1.0, max=1.0, seed=0)"
        => |net, a| net.uniform_random(a.ints("shape")?, a.dtype("dtype")?, (a.f32("min")?, a.f32("max")?),
        a.i32("seed")?);

    /// Makes a tensor of normally distributed random numbers.
    ///
    /// The numbers differ from those of Fluid with the same seed.
    ///
    /// Args:
    ///     shape (list, tuple or Variable): the sizes. A Variable is int32 with one dimension; elements of a list may
    ///         be Variables ``[1]``.
    ///     mean (float): mean of the distribution.
    ///     std (float): its standard deviation.
    ///     seed (int): the same seed gives the same numbers in every run; 0: other numbers in every run, which follow
    ///         from ``Program.random_seed`` if that is set.
    ///     dtype (dtype): the element type: float32 or float64.
    ///
    /// Returns:
    ///     Variable: ``shape``, of ``dtype``.
    ///
    /// Raises:
    ///     TypeError: ``dtype`` is neither float32 nor float64.
    ///
    /// Example:
    ///     >>> x = fluid.layers.gaussian_random([10000], mean=5.0, std=0.1, seed=1)
    ///     >>> out = fluid.Executor().run(fetch_list=[x])[0]
    ///     >>> round(float(out.mean()), 1), round(float(out.std()), 1)
    ///     (5.0, 0.1)
    "nn.gaussian_random(shape, mean=0.0, std=1.0, seed=0, dtype='float32')"
        => |net, a| net.gaussian_random(a.ints("shape")?, (a.f32("mean")?, a.f32("std")?), a.i32("seed")?,
        a.dtype("dtype")?);

    /// Makes random numbers uniform over ``[min, max)``, with a size that is taken from another tensor when the program
    /// runs.
    ///
    /// Args:
    ///     input (Variable): gives one size; its values are not used.
    ///     shape (list or tuple): the sizes; the one at ``output_dim_idx`` is replaced, give it as -1.
    ///     dtype (dtype): the element type; only float32.
    ///     input_dim_idx (int): the dimension of ``input`` that gives the size.
    ///     output_dim_idx (int): the dimension of the result that gets it.
    ///     min (float): lower bound.
    ///     max (float): upper bound, excluded.
    ///     seed (int): the same seed gives the same numbers in every run; 0: other numbers in every run, which follow
    ///         from ``Program.random_seed`` if that is set.
    ///
    /// Returns:
    ///     Variable: ``shape`` with the size from ``input``.
    ///
    /// Raises:
    ///     NotImplementedError: ``dtype`` is not float32; cast the result instead.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 8])
    ///     >>> noise = fluid.layers.uniform_random_batch_size_like(x, [-1, 3])
    ///     >>> fluid.Executor().run(feed={"x": np.zeros([2, 8], "float32")}, fetch_list=[noise])[0].shape
    ///     (2, 3)
    "nn.uniform_random_batch_size_like(input, shape, dtype='float32', input_dim_idx=0, output_dim_idx=0, \
     min=-1.0, max=1.0, seed=0)"
        => |net, a| net.uniform_random_batch_size_like(&a.var("input")?, &a.i32s("shape")?,
        (a.f32("min")?, a.f32("max")?), a.i32("seed")?, (a.i32("input_dim_idx")?, a.i32("output_dim_idx")?));

    /// Makes normally distributed random numbers, with a size that is taken from another tensor when the program runs.
    ///
    /// Args:
    ///     input (Variable): gives one size; its values are not used.
    ///     shape (list or tuple): the sizes; the one at ``output_dim_idx`` is replaced, give it as -1.
    ///     input_dim_idx (int): the dimension of ``input`` that gives the size.
    ///     output_dim_idx (int): the dimension of the result that gets it.
    ///     mean (float): mean of the distribution.
    ///     std (float): its standard deviation.
    ///     seed (int): the same seed gives the same numbers in every run; 0: other numbers in every run, which follow
    ///         from ``Program.random_seed`` if that is set.
    ///     dtype (dtype): the element type; only float32.
    ///
    /// Returns:
    ///     Variable: ``shape`` with the size from ``input``.
    ///
    /// Raises:
    ///     NotImplementedError: ``dtype`` is not float32; cast the result instead.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 8])
    ///     >>> noise = fluid.layers.gaussian_random_batch_size_like(x, [-1, 3])
    ///     >>> fluid.Executor().run(feed={"x": np.zeros([2, 8], "float32")}, fetch_list=[noise])[0].shape
    ///     (2, 3)
    "nn.gaussian_random_batch_size_like(input, shape, input_dim_idx=0, output_dim_idx=0, mean=0.0, std=1.0, \
     seed=0, dtype='float32')"
        => |net, a| net.gaussian_random_batch_size_like(&a.var("input")?, &a.i32s("shape")?,
        (a.f32("mean")?, a.f32("std")?), a.i32("seed")?, (a.i32("input_dim_idx")?, a.i32("output_dim_idx")?));

    /// Makes an identity matrix, or a batch of them.
    ///
    /// Args:
    ///     num_rows (int): the number of rows.
    ///     num_columns (int): the number of columns; ``None``: that of the rows.
    ///     batch_shape (list): sizes of dimensions in front, over which the matrix is repeated; ``None``: none.
    ///     dtype (dtype): the element type: float16, float32, float64, int32 or int64.
    ///
    /// Returns:
    ///     Variable: ``[*batch_shape, num_rows, num_columns]``, of ``dtype``.
    ///
    /// Raises:
    ///     ValueError: a size is negative.
    ///
    /// Example:
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.eye(2, 3, dtype="int64")])[0].tolist()
    ///     [[1, 0, 0], [0, 1, 0]]
    ///     >>> fluid.layers.eye(3, batch_shape=[4]).shape
    ///     (4, 3, 3)
    "tensor.eye(num_rows, num_columns=None, batch_shape=None, dtype='float32')"
        => |net, a| {
            let eye = net.eye(a.i64("num_rows")?, a.opt("num_columns", Args::i64)?, a.dtype("dtype")?)?;
            match a.opt("batch_shape", Args::i64s)? {
                None => Ok::<_, Error>(eye),
                Some(batch) => net.repeat_over(&eye, &batch),
            }
        };

    /// Makes ``num`` numbers from ``start`` to ``stop``, both included, at equal distances.
    ///
    /// Args:
    ///     start (float): the first number.
    ///     stop (float): the last number.
    ///     num (int): how many numbers, at least 1; 1 gives ``start``.
    ///     dtype (dtype): the element type: float32 or float64.
    ///
    /// Returns:
    ///     Variable: ``[num]``, of ``dtype``.
    ///
    /// Raises:
    ///     ValueError: ``num`` is less than 1 (when the program runs).
    ///     TypeError: ``dtype`` is neither float32 nor float64.
    ///
    /// Example:
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.linspace(0, 10, 5, "float32")])[0].tolist()
    ///     [0.0, 2.5, 5.0, 7.5, 10.0]
    "tensor.linspace(start, stop, num, dtype)"
        => |net, a| net.linspace(a.f64("start")?, a.f64("stop")?, a.i32("num")?, a.dtype("dtype")?);

    /// Makes a tensor of random whole numbers that are uniformly distributed over ``[low, high)``.
    ///
    /// Args:
    ///     low (int): the smallest number; with ``high=None`` the upper bound, and the smallest number is 0.
    ///     high (int): upper bound, excluded; ``None``: numbers lie in ``[0, low)``.
    ///     shape (list, tuple or Variable): the sizes; ``None``: ``[1]``. A Variable is int32 with one dimension;
    ///         elements of a list may be Variables ``[1]``.
    ///     out (Variable): a Variable that receives the result and is returned; ``None``: a new Variable.
    ///     dtype (dtype): the element type, int32 or int64; ``None``: int64.
    ///     device (str): accepted; values are always on the CPU.
    ///     stop_gradient (bool): the result's ``stop_gradient``: no gradient is computed for it.
    ///     seed (int): the same seed gives the same numbers in every run; 0: other numbers in every run, which follow
    ///         from ``Program.random_seed`` if that is set.
    ///
    /// Returns:
    ///     Variable: ``shape``, of ``dtype``.
    ///
    /// Raises:
    ///     ValueError: ``low`` is not below ``high``.
    ///     TypeError: ``dtype`` is neither int32 nor int64.
    ///
    /// Example:
    ///     >>> x = fluid.layers.randint(low=3, high=6, shape=[50], seed=1)
    ///     >>> sorted(set(fluid.Executor().run(fetch_list=[x])[0].tolist()))
    ///     [3, 4, 5]
    "nn.randint(low, high=None, shape=None, out=None, dtype=None, device=None, stop_gradient=False, seed=0, \
     name=None)"
        => |net, a| {
        let range = match a.opt("high", Args::i32)? {
            Some(high) => (a.i32("low")?, high),
            None => (0, a.i32("low")?),
        };
        let shape = a.opt("shape", Args::ints)?.unwrap_or(Ints::Known(vec![1]));
        net.randint(range, shape, a.opt_dtype("dtype")?.unwrap_or(DType::I64), a.i32("seed")?)
    };

    /// Draws a column of each row, with the probabilities in the row.
    ///
    /// A uniform random number ``r`` in ``[min, max)`` is compared with the running sums of the row.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, ``[batch, classes]``; each row sums to 1.
    ///     min (float): lower bound of ``r``.
    ///     max (float): upper bound of ``r``.
    ///     seed (int): the same seed gives the same numbers in every run; 0: other numbers in every run, which follow
    ///         from ``Program.random_seed`` if that is set.
    ///     dtype (dtype): accepted; the result has the type int64.
    ///
    /// Returns:
    ///     Variable: ``[batch]``: the column that was drawn for each row.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``x`` does not have two dimensions.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[0, 1, 0], [0, 0, 1]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.sampling_id(x)])[0].tolist()
    ///     [1, 2]
    "nn.sampling_id(x, min=0.0, max=1.0, seed=0, dtype='float32')"
        => |net, a| net.sampling_id(&a.var("x")?, (a.f32("min")?, a.f32("max")?), a.i32("seed")?);
}

#[test]
fn numbers_are_written_as_python_does() {
    let text = |v| number_text(v, DType::F32);
    assert_eq!([text(3.0), text(0.1), text(-0.5), text(0.0001)], ["3.0", "0.1", "-0.5", "0.0001"]);
    assert_eq!([text(1e-5), text(1.5e16), text(123456789.0)], ["1e-05", "1.5e+16", "123456789.0"]);
    assert_eq!(number_text(5.0, DType::I64), "5");
}
