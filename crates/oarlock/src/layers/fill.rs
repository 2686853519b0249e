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
    /// A copy of a variable, or a constant from a numpy array.
    ///
    /// Args:
    ///     input (Variable or numpy.ndarray): the value.
    ///     output (Variable): where to write; otherwise a new variable.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2]], "float32"))
    ///     >>> x.shape
    ///     (1, 2)
    "tensor.assign(input, output=None)" => |net, a| match (a.is_var("input"), a.opt_var("output")?) {
        (true, None) => net.assign(&a.var("input")?),
        (true, Some(out)) => net.assign_into(&a.var("input")?, &out).map(|()| out),
        (false, None) => net.assign_value(&a.tensor("input")?),
        (false, Some(out)) => net.assign_value_into(&a.tensor("input")?, &out).map(|()| out),
    };

    /// ``start``, ``start + step``, ... up to ``end``, which is left out.
    ///
    /// Args:
    ///     start (float or Variable): one number.
    ///     end (float or Variable): one number of the same dtype.
    ///     step (float or Variable): one number of the same dtype, not 0.
    ///     dtype (str): the element type.
    "tensor.range(start, end, step, dtype)"
        => |net, a| net.range(a.operand("start")?, a.operand("end")?, a.operand("step")?,
        a.dtype("dtype")?);

    /// A tensor whose elements are all ``value``.
    ///
    /// Args:
    ///     shape (list or Variable): its sizes.
    ///     dtype (str): its element type.
    ///     value (float or Variable): the value.
    ///     force_cpu (bool): accepted; values are always on the CPU.
    ///     out (Variable): where to write; otherwise a new variable.
    ///
    /// Example:
    ///     >>> x = fluid.layers.fill_constant([2], "int64", 7)
    ///     >>> fluid.Executor().run(fetch_list=[x])[0].tolist()
    ///     [7, 7]
    "tensor.fill_constant(shape, dtype, value, force_cpu=False, out=None)" => |net, a| match a.opt_var("out")? {
        Some(out) => net.fill_constant_into(&out, &a.i64s("shape")?, a.dtype("dtype")?, a.f64("value")?).map(|()| out),
        None => net.fill_constant(a.ints("shape")?, a.dtype("dtype")?, a.f64("value")?),
    };

    /// `fill_constant` of ``shape``, in which dimension ``output_dim_idx`` has the size of dimension ``input_dim_idx`` of
    /// ``input``.
    ///
    /// Args:
    ///     input (Variable): the tensor that gives the size.
    ///     shape (int or list): the sizes; the one at `output_dim_idx` is replaced (must be set).
    ///     dtype (str): element type of `Out`.
    ///     value (float): the value.
    ///     input_dim_idx (int): which size of `Input` to take.
    ///     output_dim_idx (int): which size of `Out` it becomes.
    ///     force_cpu (bool): accepted; values are always on the CPU.
    "tensor.fill_constant_batch_size_like(input, shape, dtype, value, input_dim_idx=0, output_dim_idx=0, \
     force_cpu=False)"
        => |net, a| net.fill_constant_batch_size_like(&a.var("input")?, &a.i32s("shape")?,
        a.dtype("dtype")?, a.f64("value")?, (a.i32("input_dim_idx")?, a.i32("output_dim_idx")?));

    /// A tensor of zeros.
    ///
    /// Args:
    ///     shape (list or Variable): sizes of the result.
    ///     dtype (str): the element type.
    ///     force_cpu (bool): accepted; values are always on the CPU.
    ///
    /// Example:
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.zeros([2], "float32")])[0].tolist()
    ///     [0.0, 0.0]
    "tensor.zeros(shape, dtype, force_cpu=False)" => |net, a| net.zeros(a.ints("shape")?, a.dtype("dtype")?);

    /// A tensor of ones.
    ///
    /// Args:
    ///     shape (list or Variable): sizes of the result.
    ///     dtype (str): the element type.
    ///     force_cpu (bool): accepted; values are always on the CPU.
    ///
    /// Example:
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.ones([2], "int64")])[0].tolist()
    ///     [1, 1]
    "tensor.ones(shape, dtype, force_cpu=False)" => |net, a| net.ones(a.ints("shape")?, a.dtype("dtype")?);

    /// A tensor of zeros with the shape and element type of ``x``.
    ///
    /// Args:
    ///     x (Variable): the input.
    ///     out (Variable): the result goes into this Variable; ``None``: a new one.
    "tensor.zeros_like(x, out=None)" => |net, a| net.zeros_like(&a.var("x")?);

    /// A tensor of ones with the shape and element type of ``x``.
    ///
    /// Args:
    ///     x (Variable): the input.
    ///     out (Variable): the result goes into this Variable; ``None``: a new one.
    "tensor.ones_like(x, out=None)" => |net, a| net.ones_like(&a.var("x")?);

    /// A tensor with the shape of ``input`` and every element ``fill_value``.
    ///
    /// Args:
    ///     input (Variable): the input.
    ///     fill_value (float): the value of all elements.
    ///     out (Variable): the result goes into this Variable; ``None``: a new one.
    ///     dtype (str): the element type.
    ///     device (str): accepted; values are always on the CPU.
    ///     stop_gradient (bool): no gradient flows through the result.
    "nn.full_like(input, fill_value, out=None, dtype=None, device=None, stop_gradient=True, name=None)"
        => |net, a| net.full_like(&a.var("input")?, a.f32("fill_value")?, a.opt_dtype("dtype")?);

    /// A tensor of random numbers, uniform in ``[min, max)``. ``seed`` 0 takes the program's seed.
    ///
    /// Args:
    ///     shape (list or Variable): the sizes.
    ///     dtype (str): element type of `Out`: f32 or f64.
    ///     min (float): lower bound.
    ///     max (float): upper bound, excluded.
    ///     seed (int): start of the sequence; 0 for another one in every run.
    "ops.uniform_random(shape, dtype='float32', min=-1.0, max=1.0, seed=0)"
        => |net, a| net.uniform_random(a.ints("shape")?, a.dtype("dtype")?, (a.f32("min")?, a.f32("max")?),
        a.i32("seed")?);

    /// A tensor of normally distributed random numbers. ``seed`` 0 takes the program's seed.
    ///
    /// Args:
    ///     shape (list or Variable): the sizes.
    ///     mean (float): middle of the distribution.
    ///     std (float): its standard deviation.
    ///     seed (int): start of the sequence; 0 for another one in every run.
    ///     dtype (str): element type of `Out`: f32 or f64.
    "nn.gaussian_random(shape, mean=0.0, std=1.0, seed=0, dtype='float32')"
        => |net, a| net.gaussian_random(a.ints("shape")?, (a.f32("mean")?, a.f32("std")?), a.i32("seed")?,
        a.dtype("dtype")?);

    /// `uniform_random` of ``shape``, in which dimension ``output_dim_idx`` has the size of dimension ``input_dim_idx`` of
    /// ``input``.
    ///
    /// Args:
    ///     input (Variable): the tensor that gives the size.
    ///     shape (int or list): the sizes; the one at `output_dim_idx` is replaced (must be set).
    ///     dtype (str): element type of `Out`: f32 or f64.
    ///     input_dim_idx (int): which size of `Input` to take.
    ///     output_dim_idx (int): which size of `Out` it becomes.
    ///     min (float): lower bound.
    ///     max (float): upper bound, excluded.
    ///     seed (int): start of the sequence; 0 for another one in every run.
    "nn.uniform_random_batch_size_like(input, shape, dtype='float32', input_dim_idx=0, output_dim_idx=0, \
     min=-1.0, max=1.0, seed=0)"
        => |net, a| net.uniform_random_batch_size_like(&a.var("input")?, &a.i32s("shape")?,
        (a.f32("min")?, a.f32("max")?), a.i32("seed")?, (a.i32("input_dim_idx")?, a.i32("output_dim_idx")?));

    /// `gaussian_random` of ``shape``, in which dimension ``output_dim_idx`` has the size of dimension ``input_dim_idx`` of
    /// ``input``.
    ///
    /// Args:
    ///     input (Variable): the tensor that gives the size.
    ///     shape (int or list): the sizes; the one at `output_dim_idx` is replaced (must be set).
    ///     input_dim_idx (int): which size of `Input` to take.
    ///     output_dim_idx (int): which size of `Out` it becomes.
    ///     mean (float): middle of the distribution.
    ///     std (float): its standard deviation.
    ///     seed (int): start of the sequence; 0 for another one in every run.
    ///     dtype (str): element type of `Out`: f32 or f64.
    "nn.gaussian_random_batch_size_like(input, shape, input_dim_idx=0, output_dim_idx=0, mean=0.0, std=1.0, \
     seed=0, dtype='float32')"
        => |net, a| net.gaussian_random_batch_size_like(&a.var("input")?, &a.i32s("shape")?,
        (a.f32("mean")?, a.f32("std")?), a.i32("seed")?, (a.i32("input_dim_idx")?, a.i32("output_dim_idx")?));

    /// An identity matrix ``[num_rows, num_columns]``, repeated over the dimensions ``batch_shape``.
    ///
    /// Args:
    ///     num_rows (int): rows (must be set).
    ///     num_columns (int): columns; -1 for as many as rows.
    ///     batch_shape (list): the matrix is repeated over these dimensions.
    ///     dtype (str): element type of `Out`.
    "tensor.eye(num_rows, num_columns=None, batch_shape=None, dtype='float32')"
        => |net, a| {
            let eye = net.eye(a.i64("num_rows")?, a.opt("num_columns", Args::i64)?, a.dtype("dtype")?)?;
            match a.opt("batch_shape", Args::i64s)? {
                None => Ok::<_, Error>(eye),
                Some(batch) => net.repeat_over(&eye, &batch),
            }
        };

    /// ``num`` numbers from ``start`` to ``stop`` with equal distances.
    ///
    /// Args:
    ///     start (float): one number, f32 or f64.
    ///     stop (float): one number of the same dtype.
    ///     num (int): one integer, at least 1.
    ///     dtype (str): the element type.
    "tensor.linspace(start, stop, num, dtype)"
        => |net, a| net.linspace(a.f64("start")?, a.f64("stop")?, a.i32("num")?, a.dtype("dtype")?);

    /// Random whole numbers in ``[low, high)``; with one bound, in ``[0, low)``.
    ///
    /// Args:
    ///     low (int): the least number (must be set).
    ///     high (int): above the greatest number (must be set).
    ///     shape (list or Variable): the sizes.
    ///     out (Variable): the result goes into this Variable; ``None``: a new one.
    ///     dtype (str): element type of `Out`: i32 or i64.
    ///     device (str): accepted; values are always on the CPU.
    ///     stop_gradient (bool): no gradient flows through the result.
    ///     seed (int): start of the sequence; 0 for another one in every run.
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

    /// For each row of probabilities, the index of a random draw.
    ///
    /// Args:
    ///     x (Variable): probabilities [batch, classes].
    ///     min (float): lower bound of r.
    ///     max (float): upper bound of r.
    ///     seed (int): of r; 0 for another one in every run.
    ///     dtype (str): the element type.
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
