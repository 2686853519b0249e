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
    /// The product of two matrices. Tensors are flattened to matrices: the first ``x_num_col_dims`` (``y_num_col_dims``)
    /// dimensions are the rows, the others the columns.
    ///
    /// Args:
    ///     x (Variable): any float tensor.
    ///     y (Variable): with as many rows as `X` has columns.
    ///     x_num_col_dims (int): the number of axes of `X` that make its rows; the others make its columns.
    ///     y_num_col_dims (int): the number of axes of `Y` that make its rows; the others make its columns.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 13])
    ///     >>> w = fluid.layers.create_parameter([13, 4], "float32")
    ///     >>> fluid.layers.mul(x, w).shape
    ///     (-1, 4)
    "nn.mul(x, y, x_num_col_dims=1, y_num_col_dims=1, name=None)"
        => |net, a| net.mul(&a.var("x")?, &a.var("y")?, a.i32("x_num_col_dims")?, a.i32("y_num_col_dims")?);

    /// The product of matrices, or of batches of matrices, as ``numpy.matmul``.
    ///
    /// Args:
    ///     x (Variable): ``[..., n, k]`` and ``[..., k, m]``.
    ///     y (Variable): ``[..., n, k]`` and ``[..., k, m]``.
    ///     transpose_x (bool): exchange the last two dimensions first.
    ///     transpose_y (bool): exchange the last two dimensions first.
    ///     alpha (float): a factor of the result.
    ///
    /// Returns:
    ///     Variable: ``[..., n, m]``.
    ///
    /// Example:
    ///     >>> x, y = fluid.data("x", [8, 2, 3]), fluid.data("y", [8, 4, 3])
    ///     >>> fluid.layers.matmul(x, y, transpose_y=True).shape
    ///     (8, 2, 4)
    "nn.matmul(x, y, transpose_x=False, transpose_y=False, alpha=1.0, name=None)"
        => |net, a| net.matmul(&a.var("x")?, &a.var("y")?, MatMul::new().transpose_x(a.bool("transpose_x")?)
        .transpose_y(a.bool("transpose_y")?).alpha(a.f32("alpha")?));

    /// `size` bilinear forms of `x` and `y`.
    ///
    /// Args:
    ///     x (Variable): [batch, m].
    ///     y (Variable): [batch, n].
    ///     size (int): columns of the result.
    ///     act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
    ///     param_attr (ParamAttr): name, initializer and regularizer of the weight.
    ///     bias_attr (ParamAttr): the same of the bias; ``False``: no bias.
    "nn.bilinear_tensor_product(x, y, size, act=None, name=None, param_attr=None, bias_attr=None)"
        => |net, a| net.bilinear_tensor_product(&a.var("x")?, &a.var("y")?, a.usize("size")?,
        a.act("act")?, a.param("param_attr")?, a.param("bias_attr")?);

    /// The cosine of the angle between the rows of ``X`` and ``Y``, ``[batch, 1]``; ``Y`` may have one row.
    ///
    /// Args:
    ///     X (Variable): [n, ...].
    ///     Y (Variable): like `X`, or one row for all.
    "nn.cos_sim(X, Y)" => |net, a| net.cos_sim(&a.var("X")?, &a.var("Y")?);

    /// Inner products of the channels of two feature maps, divided by the number of pixels: ``[batch, channels of x, channels
    /// of y]``.
    ///
    /// Args:
    ///     x (Variable): the input.
    ///     y (Variable): the second operand.
    "nn.fsp_matrix(x, y)" => |net, a| net.fsp_matrix(&a.var("x")?, &a.var("y")?);

    /// `beta * input + alpha * x * y`.
    ///
    /// Args:
    ///     input (Variable): float, broadcast to [m, n].
    ///     x (Variable): float, [m, k].
    ///     y (Variable): float, [k, n].
    ///     alpha (float): factor of the product.
    ///     beta (float): factor of `Input`.
    "nn.addmm(input, x, y, alpha=1.0, beta=1.0, name=None)"
        => |net, a| net.addmm(&a.var("input")?, &a.var("x")?, &a.var("y")?, a.f32("alpha")?, a.f32("beta")?);

    /// The product of two batches of matrices: ``[batch, n, k]`` and ``[batch, k, m]`` give ``[batch, n, m]``.
    ///
    /// Args:
    ///     x (Variable): float, [batch, m, k].
    ///     y (Variable): float, [batch, k, n].
    "nn.bmm(x, y, name=None)" => |net, a| net.bmm(&a.var("x")?, &a.var("y")?);

    /// The inner product of vectors ``[n]``, or of the rows of two matrices.
    ///
    /// Args:
    ///     x (Variable): numbers, [n] or [batch, n].
    ///     y (Variable): of the same dtype and shape.
    "nn.dot(x, y, name=None)" => |net, a| net.dot(&a.var("x")?, &a.var("y")?);

    /// The Kronecker product of ``x`` and ``y``: every element of ``x`` times the whole of ``y``.
    ///
    /// Args:
    ///     x (Variable): any tensor of numbers.
    ///     y (Variable): of the same dtype; the shorter shape gets axes of size 1 in front.
    ///     out (Variable): the result goes into this Variable; ``None``: a new one.
    "nn.kron(x, y, out=None, name=None)" => |net, a| net.kron(&a.var("x")?, &a.var("y")?);
}
