//! Weight normalisation: a weight as a direction and a length, which are trained apart.

use oarlock_ir::{Kind, Op, Result, fail};
use oarlock_tensor::DType;

use crate::layer::Layer;
use crate::layers::{Elementwise, Reshape};
use crate::{Initializer, ParamAttr, VarRef};

impl Layer<'_> {
    /// Makes `<name>_v` (the direction, which has the weight's first value) and `<name>_g` (the length, first that of `v`);
    /// returns the weight `g * v / |v|`. With `dim`, every slice along that dimension has a length of its own.
    pub(crate) fn weight_normalized(
        &mut self,
        name: &str,
        attr: &ParamAttr,
        dim: Option<usize>,
        ty: (&[usize], DType),
        first: &Initializer,
    ) -> Result<VarRef> {
        let (shape, dtype) = ty;
        if dim.is_some_and(|d| d >= shape.len()) {
            let dim = dim.unwrap_or_default();
            fail!(Kind::Argument, "weight norm of `{name}` is along dimension {dim}, but it has only {}", shape.len());
        }
        let lengths: Vec<usize> = (0..shape.len()).map(|d| if dim == Some(d) { shape[d] } else { 1 }).collect();
        let g = self.declare_parameter(format!("{name}_g"), attr, &lengths, dtype)?;
        let v = self.make_parameter(format!("{name}_v"), attr, shape, dtype, first)?;
        self.in_startup(|layer| {
            layer.norm_into(&v, &g, dim, (shape, dtype))?;
            layer.reshape_into(&g, &lengths, &g)
        })?;

        let norm = self.weight_norm_temp("norm", dtype);
        self.norm_into(&v, &norm, dim, (shape, dtype))?;
        let mut scale = self.elementwise_div(&g, &norm, Elementwise::new())?;
        if let Some(dim) = dim {
            scale = self.reshape(&scale, Reshape::shape([shape[dim] as i64]))?;
        }
        let axis = dim.map_or(-1, |d| d as i32);
        self.elementwise_mul(&v, &scale, Elementwise::new().axis(axis))
    }

    /// Appends operators to the startup program instead of the main program.
    fn in_startup(&mut self, build: impl FnOnce(&mut Layer<'_>) -> Result<()>) -> Result<()> {
        let mut startup = std::mem::take(&mut self.startup);
        let outer = self.block();
        std::mem::swap(&mut self.main, &mut startup);
        self.set_block(0);
        let result = build(self);
        self.set_block(outer);
        std::mem::swap(&mut self.main, &mut startup);
        self.startup = startup;
        result
    }

    fn weight_norm_temp(&mut self, what: &str, dtype: DType) -> VarRef {
        let key = format!("{}.weight_norm_{what}", self.prefix());
        self.unique(&key, dtype)
    }

    /// Appends `x` to a new variable `what`, by an operator.
    fn norm_step(&mut self, x: &VarRef, what: &str, dtype: DType, op: Op) -> Result<VarRef> {
        let out = self.weight_norm_temp(what, dtype);
        self.append_op(op.input("X", [x]).output("Out", [&out]))?;
        Ok(out)
    }

    fn reshape_into(&mut self, x: &VarRef, shape: &[usize], out: &VarRef) -> Result<()> {
        let shape: Vec<i32> = shape.iter().map(|&n| n as i32).collect();
        self.append_op(Op::new("reshape").input("X", [x]).output("Out", [out]).attr("shape", shape))
    }

    /// `out = |x|` over all dimensions but `dim`.
    fn norm_into(&mut self, x: &VarRef, out: &VarRef, dim: Option<usize>, ty: (&[usize], DType)) -> Result<()> {
        let (shape, dtype) = ty;
        let Some(dim) = dim else { return self.norm_along(x, None, out, dtype) };
        let last = shape.len() - 1;
        let flat = |sizes: [i32; 2]| Op::new("reshape").attr("shape", sizes.to_vec());
        if dim == 0 || dim == last {
            let size = shape[dim] as i32;
            let (sizes, along) = if dim == 0 { ([size, -1], 1) } else { ([-1, size], 0) };
            let mut lengths = vec![1; shape.len()];
            lengths[dim] = shape[dim];
            let matrix = self.norm_step(x, "reshape", dtype, flat(sizes))?;
            let norm = self.weight_norm_temp("norm", dtype);
            self.norm_along(&matrix, Some(along), &norm, dtype)?;
            return self.reshape_into(&norm, &lengths, out);
        }
        let mut order: Vec<i32> = (0..shape.len() as i32).collect();
        order.swap(0, dim);
        let mut lengths = vec![1; shape.len()];
        lengths[0] = shape[dim];
        let turned = self.norm_step(x, "transpose", dtype, Op::new("transpose").attr("axis", order.clone()))?;
        let matrix = self.norm_step(&turned, "reshape", dtype, flat([shape[dim] as i32, -1]))?;
        let norm = self.weight_norm_temp("norm", dtype);
        self.norm_along(&matrix, Some(1), &norm, dtype)?;
        let turned = self.weight_norm_temp("reshape", dtype);
        self.reshape_into(&norm, &lengths, &turned)?;
        self.append_op(Op::new("transpose").input("X", [&turned]).output("Out", [out]).attr("axis", order))
    }

    /// `out = sum(|x|^2)^(1/2)` along a dimension, or over all.
    fn norm_along(&mut self, x: &VarRef, dim: Option<i32>, out: &VarRef, dtype: DType) -> Result<()> {
        let size = self.norm_step(x, "abs", dtype, Op::new("abs"))?;
        let square = self.norm_step(&size, "pow", dtype, Op::new("pow").attr("factor", 2.0f32))?;
        let mut sum = Op::new("reduce_sum").attr("keep_dim", false).attr("reduce_all", dim.is_none());
        if let Some(dim) = dim {
            sum = sum.attr("dim", vec![dim]);
        }
        let sum = self.norm_step(&square, "sum", dtype, sum)?;
        self.append_op(Op::new("pow").input("X", [&sum]).output("Out", [out]).attr("factor", 0.5f32))
    }
}
