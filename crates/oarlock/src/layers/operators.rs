//! Python's `a + b`, `2 * a`, `a < b`: operators on variables. Their results are named `tmp_0`, `tmp_1`, ...

use oarlock_ir::{Dim, Kind, Op, Result, fail};
use oarlock_tensor::DType;

use crate::declare::declare;
use crate::{Net, VarRef};

/// A side of an operator: a variable or a number.
#[derive(Debug, Clone)]
pub enum Operand {
    /// A variable.
    Var(VarRef),
    /// A number.
    Number(f64),
}

impl From<&VarRef> for Operand {
    fn from(v: &VarRef) -> Operand {
        Operand::Var(v.clone())
    }
}

impl From<f64> for Operand {
    fn from(v: f64) -> Operand {
        Operand::Number(v)
    }
}

macro_rules! operators {
    ($( $(#[$meta:meta])* $name:ident => $op:literal ),* $(,)?) => {
        impl Net {
            $(
                $(#[$meta])*
                #[track_caller]
                pub fn $name(&mut self, x: &VarRef, y: impl Into<Operand>) -> Result<VarRef> {
                    self.operator($op, x, y.into())
                }
            )*
        }
    };
}

operators! {
    /// `x + y`
    add => "elementwise_add",
    /// `x - y`
    sub => "elementwise_sub",
    /// `x * y`
    times => "elementwise_mul",
    /// `x / y`
    div => "elementwise_div",
    /// `x ** y`
    power => "elementwise_pow",
    /// `x // y`
    floor_div => "elementwise_floordiv",
    /// `x % y`
    rem => "elementwise_mod",
    /// `x == y`
    eq => "equal",
    /// `x != y`
    ne => "not_equal",
    /// `x < y`
    lt => "less_than",
    /// `x <= y`
    le => "less_equal",
    /// `x > y`
    gt => "greater_than",
    /// `x >= y`
    ge => "greater_equal",
}

const COMPARISONS: [&str; 6] = ["equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal"];

impl Net {
    /// `-x`
    #[track_caller]
    pub fn neg(&mut self, x: &VarRef) -> Result<VarRef> {
        self.scaled(x, -1.0, 0.0)
    }

    /// `number - x`
    #[track_caller]
    pub fn rsub(&mut self, number: f64, x: &VarRef) -> Result<VarRef> {
        self.whole(x, number)?;
        self.scaled(x, -1.0, number)
    }

    /// `number / x`
    #[track_caller]
    pub fn rdiv(&mut self, number: f64, x: &VarRef) -> Result<VarRef> {
        let left = self.filled_like(x, number)?;
        self.apply("elementwise_div", &left, x)
    }

    /// `number ** x`
    #[track_caller]
    pub fn rpow(&mut self, number: f64, x: &VarRef) -> Result<VarRef> {
        let left = self.filled_like(x, number)?;
        self.apply("elementwise_pow", &left, x)
    }

    /// `x.astype(dtype)`
    #[track_caller]
    pub fn astype(&mut self, x: &VarRef, dtype: DType) -> Result<VarRef> {
        let from = self.dtype(x)?;
        let out = self.unique("tmp", dtype);
        let op = Op::new("cast").input("X", [x]).output("Out", [&out]);
        self.append_op(op.attr("in_dtype", from.proto()).attr("out_dtype", dtype.proto()))?;
        Ok(out)
    }

    #[track_caller]
    fn operator(&mut self, op_type: &str, x: &VarRef, y: Operand) -> Result<VarRef> {
        let number = match y {
            Operand::Var(y) => return self.apply(op_type, x, &y),
            Operand::Number(number) => number,
        };
        let integers = !self.dtype(x)?.is_float();
        // Four operators with a number are one `scale`; but a quotient of integers is not a product.
        let (scale, bias) = match op_type {
            "elementwise_add" => (1.0, number),
            "elementwise_sub" => (1.0, -number),
            "elementwise_mul" => (number, 0.0),
            "elementwise_div" if !integers => (1.0 / number, 0.0),
            _ => {
                let y = self.filled(&[1], number, self.dtype(x)?)?;
                return self.apply(op_type, x, &y);
            }
        };
        self.whole(x, number)?;
        self.scaled(x, scale, bias)
    }

    /// A number combined with integers must be one.
    fn whole(&self, x: &VarRef, number: f64) -> Result<()> {
        let dtype = self.dtype(x)?;
        if !dtype.is_float() && number.fract() != 0.0 {
            fail!(Kind::DType, "`{x}` holds {dtype}, so {number} cannot be combined with it; cast it to float32 first");
        }
        Ok(())
    }

    #[track_caller]
    fn scaled(&mut self, x: &VarRef, scale: f64, bias: f64) -> Result<VarRef> {
        let dtype = self.dtype(x)?;
        let out = self.unique("tmp", dtype);
        let op = Op::new("scale").input("X", [x]).output("Out", [&out]);
        self.append_op(op.attr("scale", scale as f32).attr("bias", bias as f32))?;
        Ok(out)
    }

    #[track_caller]
    fn apply(&mut self, op_type: &str, x: &VarRef, y: &VarRef) -> Result<VarRef> {
        let dtype = self.dtype(x)?;
        let y = if self.dtype(y)? == dtype { y.clone() } else { self.astype(y, dtype)? };
        let result = if COMPARISONS.contains(&op_type) { DType::Bool } else { dtype };
        let out = self.unique("tmp", result);
        // A batch on the right begins where the batch on the left begins.
        let axis = if self.shape(&y)?.first() == Some(&Dim::Any) { 0 } else { -1 };
        let op = Op::new(op_type).input("X", [x]).input("Y", [&y]).output("Out", [&out]);
        self.append_op(op.attr("axis", axis))?;
        Ok(out)
    }

    #[track_caller]
    fn filled(&mut self, shape: &[i64], value: f64, dtype: DType) -> Result<VarRef> {
        let out = self.unique("tmp", dtype);
        let op = Op::new("fill_constant").output("Out", [&out]).attr("shape", shape.to_vec());
        self.append_op(op.attr("dtype", dtype.proto()).attr("value", value as f32).attr("force_cpu", false))?;
        self.stop_gradient(&out)?;
        Ok(out)
    }

    /// A number in every element, in the shape of `x`.
    #[track_caller]
    fn filled_like(&mut self, x: &VarRef, value: f64) -> Result<VarRef> {
        let (shape, dtype) = (self.shape(x)?, self.dtype(x)?);
        let Some(batch) = shape.iter().position(|d| *d == Dim::Any) else {
            return self.filled(&shape.to_i64(), value, dtype);
        };
        let sizes: Vec<i32> = shape
            .iter()
            .enumerate()
            .map(|(i, d)| if i == batch { -1 } else { d.known().unwrap_or(1) as i32 })
            .collect();
        let out = self.unique("tmp", dtype);
        let op = Op::new("fill_constant_batch_size_like").input("Input", [x]).output("Out", [&out]);
        let op = op.attr("shape", sizes).attr("value", value as f32);
        self.append_op(op.attr("input_dim_idx", batch as i32).attr("output_dim_idx", batch as i32))?;
        self.stop_gradient(&out)?;
        Ok(out)
    }
}

declare! {
    /// The operator `add` of Variables in Python.
    "_add(x, y)" => |net, a| net.add(&a.var("x")?, a.operand("y")?);

    /// The operator `sub` of Variables in Python.
    "_sub(x, y)" => |net, a| net.sub(&a.var("x")?, a.operand("y")?);

    /// The operator `mul` of Variables in Python.
    "_mul(x, y)" => |net, a| net.times(&a.var("x")?, a.operand("y")?);

    /// The operator `div` of Variables in Python.
    "_div(x, y)" => |net, a| net.div(&a.var("x")?, a.operand("y")?);

    /// The operator `pow` of Variables in Python.
    "_pow(x, y)" => |net, a| net.power(&a.var("x")?, a.operand("y")?);

    /// The operator `floordiv` of Variables in Python.
    "_floordiv(x, y)" => |net, a| net.floor_div(&a.var("x")?, a.operand("y")?);

    /// The operator `mod` of Variables in Python.
    "_mod(x, y)" => |net, a| net.rem(&a.var("x")?, a.operand("y")?);

    /// The operator `eq` of Variables in Python.
    "_eq(x, y)" => |net, a| net.eq(&a.var("x")?, a.operand("y")?);

    /// The operator `ne` of Variables in Python.
    "_ne(x, y)" => |net, a| net.ne(&a.var("x")?, a.operand("y")?);

    /// The operator `lt` of Variables in Python.
    "_lt(x, y)" => |net, a| net.lt(&a.var("x")?, a.operand("y")?);

    /// The operator `le` of Variables in Python.
    "_le(x, y)" => |net, a| net.le(&a.var("x")?, a.operand("y")?);

    /// The operator `gt` of Variables in Python.
    "_gt(x, y)" => |net, a| net.gt(&a.var("x")?, a.operand("y")?);

    /// The operator `ge` of Variables in Python.
    "_ge(x, y)" => |net, a| net.ge(&a.var("x")?, a.operand("y")?);

    /// The operator `rsub` of Variables in Python.
    "_rsub(y, x)" => |net, a| net.rsub(a.f64("y")?, &a.var("x")?);

    /// The operator `rdiv` of Variables in Python.
    "_rdiv(y, x)" => |net, a| net.rdiv(a.f64("y")?, &a.var("x")?);

    /// The operator `rpow` of Variables in Python.
    "_rpow(y, x)" => |net, a| net.rpow(a.f64("y")?, &a.var("x")?);

    /// `-x`
    "_neg(x)" => |net, a| net.neg(&a.var("x")?);

    /// `x.astype(dtype)`
    "_astype(x, dtype)" => |net, a| net.astype(&a.var("x")?, a.dtype("dtype")?);
}
