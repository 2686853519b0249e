//! Products of matrices and vectors.

use oarlock_ir::{Op, Result};

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
