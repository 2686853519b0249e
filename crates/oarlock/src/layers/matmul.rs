//! Products of matrices and vectors.

use oarlock_ir::{Op, Result};

use crate::declare::declare;
use crate::layer::{Part, known};
use crate::options::options;
use crate::{Act, Net, Param, VarRef};

options! {
    /// `matmul(x, y, transpose_x=False, transpose_y=False, alpha=1.0, name=None)`
    MatMul::new() {
        /// Swap the last two dimensions of `x` first.
        transpose_x: bool = false,
        /// Swap the last two dimensions of `y` first.
        transpose_y: bool = false,
        /// Factor on the product.
        alpha: f32 = 1.0,
    }
}

impl Net {
    /// `mul(x, y, x_num_col_dims=1, y_num_col_dims=1)`: the product of two matrices, into which tensors are folded: the first `num_col_dims`
    /// dimensions are rows, the others columns.
    #[track_caller]
    pub fn mul(&mut self, x: &VarRef, y: &VarRef, x_num_col_dims: i32, y_num_col_dims: i32) -> Result<VarRef> {
        let op = Op::new("mul").attr("x_num_col_dims", x_num_col_dims).attr("y_num_col_dims", y_num_col_dims);
        self.product(op, "Out", x, y)
    }

    /// `matmul`: the product of matrices or of batches of matrices.
    #[track_caller]
    pub fn matmul(&mut self, x: &VarRef, y: &VarRef, options: MatMul) -> Result<VarRef> {
        let op = Op::new("matmul")
            .attr("transpose_X", options.transpose_x)
            .attr("transpose_Y", options.transpose_y)
            .attr("alpha", options.alpha);
        self.product(op, "Out", x, y)
    }

    /// `bmm(x, y)`: products of the matrices of two batches.
    #[track_caller]
    pub fn bmm(&mut self, x: &VarRef, y: &VarRef) -> Result<VarRef> {
        self.product(Op::new("bmm"), "Out", x, y)
    }

    /// `dot(x, y)`: inner products of vectors.
    #[track_caller]
    pub fn dot(&mut self, x: &VarRef, y: &VarRef) -> Result<VarRef> {
        self.product(Op::new("dot"), "Out", x, y)
    }

    /// `kron(x, y)`: the Kronecker product.
    #[track_caller]
    pub fn kron(&mut self, x: &VarRef, y: &VarRef) -> Result<VarRef> {
        self.product(Op::new("kron"), "Out", x, y)
    }

    /// `addmm(input, x, y, alpha=1.0, beta=1.0)`: `beta * input + alpha * x * y`.
    #[track_caller]
    pub fn addmm(&mut self, input: &VarRef, x: &VarRef, y: &VarRef, alpha: f32, beta: f32) -> Result<VarRef> {
        let op = Op::new("addmm").input("Input", [input]).attr("Alpha", alpha).attr("Beta", beta);
        self.product(op, "Out", x, y)
    }

    #[track_caller]
    fn product(&mut self, op: Op, slot: &str, x: &VarRef, y: &VarRef) -> Result<VarRef> {
        let dtype = self.dtype(x)?;
        let layer_type = op.op_type.clone();
        self.layer(&layer_type).out_slot(slot, dtype, op.input("X", [x]).input("Y", [y]))
    }

    /// `fsp_matrix(x, y)`: how the channels of two feature maps go together.
    #[track_caller]
    pub fn fsp_matrix(&mut self, x: &VarRef, y: &VarRef) -> Result<VarRef> {
        let dtype = self.dtype(x)?;
        self.layer("fsp_matrix").out(dtype, Op::new("fsp").input("X", [x]).input("Y", [y]))
    }

    /// `cos_sim(X, Y)`: the cosine between rows.
    #[track_caller]
    pub fn cos_sim(&mut self, x: &VarRef, y: &VarRef) -> Result<VarRef> {
        let mut layer = self.layer("cos_sim");
        let dtype = layer.dtype(x)?;
        let (out, x_norm, y_norm) = (layer.temp(dtype), layer.temp(dtype), layer.temp(dtype));
        let op = Op::new("cos_sim").input("X", [x]).input("Y", [y]).output("Out", [&out]);
        layer.append_op(op.output("XNorm", [&x_norm]).output("YNorm", [&y_norm]))?;
        Ok(out)
    }

    /// `bilinear_tensor_product(x, y, size, act=None, param_attr=None, bias_attr=None)`: `size` bilinear forms of `x` and `y`.
    #[track_caller]
    pub fn bilinear_tensor_product(
        &mut self,
        x: &VarRef,
        y: &VarRef,
        size: usize,
        act: impl Into<Act>,
        param_attr: impl Into<Param>,
        bias_attr: impl Into<Param>,
    ) -> Result<VarRef> {
        let mut layer = self.layer("bilinear_tensor_product");
        let dtype = layer.dtype(x)?;
        let (rows, columns) = (layer.shape(x)?, layer.shape(y)?);
        let rows = known(&rows[1..2.min(rows.rank())], "`bilinear_tensor_product`", x)?;
        let columns = known(&columns[1..2.min(columns.rank())], "`bilinear_tensor_product`", y)?;
        let shape = [vec![size], rows, columns].concat();
        let w = layer.weight(&param_attr.into(), &shape, dtype)?;
        let out = layer.temp(dtype);
        let mut op = Op::new("bilinear_tensor_product").input("X", [x]).input("Y", [y]).input("Weight", [&w]);
        if let Some(attr) = bias_attr.into().attr() {
            let b = layer.parameter(attr, Part::Bias, &[1, size], dtype, None)?;
            op = op.input("Bias", [&b]);
        }
        layer.append_op(op.output("Out", [&out]))?;
        layer.activate(out, &act.into())
    }
}

declare! {
    /// Computes the product of two matrices, to which the operands are flattened.
    ///
    /// The first ``x_num_col_dims`` dimensions of ``x`` are the rows of its matrix and the others are its columns; the
    /// same holds for ``y`` and ``y_num_col_dims``. ``fc`` uses it. For batches of matrices use ``matmul``.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, at least 2 dimensions.
    ///     y (Variable): the element type of ``x``; its matrix has as many rows as that of ``x`` has columns.
    ///     x_num_col_dims (int): the number of dimensions of ``x`` that make the rows.
    ///     y_num_col_dims (int): the number of dimensions of ``y`` that make the rows.
    ///
    /// Returns:
    ///     Variable: the first ``x_num_col_dims`` dimensions of ``x``, then the dimensions of ``y`` from
    ///         ``y_num_col_dims`` on.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the columns of ``x`` and the rows of ``y`` differ in number.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
    ///     >>> y = fluid.layers.assign(np.array([[1, 1, 0], [0, 1, 2]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.mul(x, y)])[0].tolist()
    ///     [[1.0, 3.0, 4.0], [3.0, 7.0, 8.0]]
    ///     >>> image, w = fluid.data("image", [None, 4, 5]), fluid.data("w", [20, 3])
    ///     >>> fluid.layers.mul(image, w).shape
    ///     (-1, 3)
    "nn.mul(x, y, x_num_col_dims=1, y_num_col_dims=1, name=None)"
        => |net, a| net.mul(&a.var("x")?, &a.var("y")?, a.i32("x_num_col_dims")?, a.i32("y_num_col_dims")?);

    /// Computes ``alpha * x @ y``: the product of matrices, or of batches of matrices, as ``numpy.matmul``.
    ///
    /// The last two dimensions are the matrices. The dimensions before them are the batch: they are equal, or one
    /// operand is a single matrix, which is used for the whole batch. An operand with one dimension is a row on the
    /// left and a column on the right; the result then lacks that dimension, and of two vectors it is ``[1]``.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, ``[..., n, k]``.
    ///     y (Variable): the element type of ``x``, ``[..., k, m]``.
    ///     transpose_x (bool): ``x`` is ``[..., k, n]``; its last two dimensions are exchanged first.
    ///     transpose_y (bool): ``y`` is ``[..., m, k]``; its last two dimensions are exchanged first.
    ///     alpha (float): a factor of the result.
    ///
    /// Returns:
    ///     Variable: ``[..., n, m]``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the sizes of ``x`` and ``y`` do not fit.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
    ///     >>> y = fluid.layers.assign(np.array([[1, 0], [1, 1]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.matmul(x, y)])[0].tolist()
    ///     [[3.0, 2.0], [7.0, 4.0]]
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.matmul(x, y, transpose_y=True, alpha=0.5)])[0].tolist()
    ///     [[0.5, 1.5], [1.5, 3.5]]
    ///     >>> queries, keys = fluid.data("queries", [None, 8, 2, 3]), fluid.data("keys", [None, 8, 4, 3])
    ///     >>> fluid.layers.matmul(queries, keys, transpose_y=True).shape
    ///     (-1, 8, 2, 4)
    "nn.matmul(x, y, transpose_x=False, transpose_y=False, alpha=1.0, name=None)"
        => |net, a| net.matmul(&a.var("x")?, &a.var("y")?, MatMul::new().transpose_x(a.bool("transpose_x")?)
        .transpose_y(a.bool("transpose_y")?).alpha(a.f32("alpha")?));

    /// Computes ``size`` bilinear forms: ``out[:, i] = x @ W[i] @ y.T + b[i]``, row by row.
    ///
    /// The weight ``W`` is a parameter ``[size, m, n]``, the bias one ``[1, size]``.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, ``[batch, m]``.
    ///     y (Variable): the element type of ``x``, ``[batch, n]``.
    ///     size (int): the number of forms, the columns of the result.
    ///     param_attr (ParamAttr): name, initializer, regularizer and learning rate of the weight; ``None``: Xavier's
    ///         initializer.
    ///     bias_attr (ParamAttr): the same of the bias; ``None``: zeros; ``False``: no bias.
    ///
    /// Returns:
    ///     Variable: ``[batch, size]``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``x`` and ``y`` have different numbers of rows.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2]], "float32"))
    ///     >>> y = fluid.layers.assign(np.array([[3, 4]], "float32"))
    ///     >>> ones = fluid.initializer.Constant(1.0)
    ///     >>> out = fluid.layers.bilinear_tensor_product(x, y, size=2, param_attr=ones)
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> exe.run(fetch_list=[out])[0].tolist()
    ///     [[21.0, 21.0]]
    "nn.bilinear_tensor_product(x, y, size, act=None, name=None, param_attr=None, bias_attr=None)"
        => |net, a| net.bilinear_tensor_product(&a.var("x")?, &a.var("y")?, a.usize("size")?,
        a.act("act")?, a.param("param_attr")?, a.param("bias_attr")?);

    /// Computes the cosine of the angle between rows: ``sum(x * y) / (norm(x) * norm(y))``.
    ///
    /// Dimensions after the first one are flattened.
    ///
    /// Args:
    ///     X (Variable): float32 or float64, ``[batch, ...]``.
    ///     Y (Variable): the shape of ``X``, or one row that is compared with all rows of ``X``.
    ///
    /// Returns:
    ///     Variable: ``[batch, 1]``, in ``[-1, 1]``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the rows of ``X`` and ``Y`` differ in size, or ``Y`` has neither one row nor those
    ///         of ``X``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 0], [1, 1]], "float32"))
    ///     >>> y = fluid.layers.assign(np.array([[2, 0]], "float32"))
    ///     >>> print(fluid.Executor().run(fetch_list=[fluid.layers.cos_sim(x, y)])[0].round(4))
    ///     [[1.    ]
    ///      [0.7071]]
    "nn.cos_sim(X, Y)" => |net, a| net.cos_sim(&a.var("X")?, &a.var("Y")?);

    /// Computes the flow of solution procedure between two feature maps: the mean over pixels of the products of their
    /// channels.
    ///
    /// ``out[b, i, j]`` is the sum of ``x[b, i] * y[b, j]`` over all pixels, divided by ``height * width``.
    /// Distillation compares these matrices of a teacher and a student.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, ``[batch, x_channels, height, width]``.
    ///     y (Variable): ``[batch, y_channels, height, width]``.
    ///
    /// Returns:
    ///     Variable: ``[batch, x_channels, y_channels]``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the images differ in more than the number of channels.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.ones([1, 2, 2, 2], "float32"))
    ///     >>> y = fluid.layers.assign(np.full([1, 3, 2, 2], 2.0, "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.fsp_matrix(x, y)])[0].tolist()
    ///     [[[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]]
    "nn.fsp_matrix(x, y)" => |net, a| net.fsp_matrix(&a.var("x")?, &a.var("y")?);

    /// Computes ``beta * input + alpha * x @ y``.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[m, n]``; a size of 1 is repeated.
    ///     x (Variable): ``[m, k]``.
    ///     y (Variable): ``[k, n]``.
    ///     alpha (float): factor of the product.
    ///     beta (float): factor of ``input``.
    ///
    /// Returns:
    ///     Variable: ``[m, n]``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the sizes of ``x`` and ``y`` do not fit.
    ///
    /// Example:
    ///     >>> ones = fluid.layers.ones([2, 2], "float32")
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.addmm(ones, x, x, alpha=0.5, beta=10.0)])[0].tolist()
    ///     [[13.5, 15.0], [17.5, 21.0]]
    "nn.addmm(input, x, y, alpha=1.0, beta=1.0, name=None)"
        => |net, a| net.addmm(&a.var("input")?, &a.var("x")?, &a.var("y")?, a.f32("alpha")?, a.f32("beta")?);

    /// Multiplies two batches of matrices: ``out[b] = x[b] @ y[b]``.
    ///
    /// Unlike ``matmul``, it takes exactly three dimensions and repeats no batch.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, ``[batch, n, k]``.
    ///     y (Variable): the element type of ``x``, ``[batch, k, m]``.
    ///
    /// Returns:
    ///     Variable: ``[batch, n, m]``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: an operand does not have three dimensions, or their sizes do not fit.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.arange(4, dtype="float32").reshape(2, 1, 2))
    ///     >>> y = fluid.layers.assign(np.ones([2, 2, 1], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.bmm(x, y)])[0].tolist()
    ///     [[[1.0]], [[5.0]]]
    "nn.bmm(x, y, name=None)" => |net, a| net.bmm(&a.var("x")?, &a.var("y")?);

    /// Computes the inner product of two vectors, or of each pair of rows of two matrices.
    ///
    /// Args:
    ///     x (Variable): float32, float64, int32 or int64, ``[n]`` or ``[batch, n]``.
    ///     y (Variable): the shape and element type of ``x``.
    ///
    /// Returns:
    ///     Variable: ``[1]`` or ``[batch, 1]``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``x`` and ``y`` differ in shape, or have more than two dimensions.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
    ///     >>> y = fluid.layers.assign(np.array([[1, 1], [0, 2]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.dot(x, y)])[0].tolist()
    ///     [[3.0], [8.0]]
    "nn.dot(x, y, name=None)" => |net, a| net.dot(&a.var("x")?, &a.var("y")?);

    /// Computes the Kronecker product: every element of ``x`` times the whole of ``y``.
    ///
    /// The shape with fewer dimensions gets dimensions of size 1 in front; then each size of the result is the product
    /// of the sizes of ``x`` and ``y``.
    ///
    /// Args:
    ///     x (Variable): float32, float64, int32 or int64, any shape.
    ///     y (Variable): the element type of ``x``.
    ///     out (Variable): a Variable that receives the result and is returned; ``None``: a new Variable.
    ///
    /// Returns:
    ///     Variable: for matrices ``[n, m]`` and ``[p, q]`` it is ``[n * p, m * q]``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2]], "int64"))
    ///     >>> y = fluid.layers.assign(np.array([[1, 0], [0, 1]], "int64"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.kron(x, y)])[0].tolist()
    ///     [[1, 0, 2, 0], [0, 1, 0, 2]]
    "nn.kron(x, y, out=None, name=None)" => |net, a| net.kron(&a.var("x")?, &a.var("y")?);
}
