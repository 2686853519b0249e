//! Comparisons and logic; results are bool and carry no gradient.

use oarlock_ir::{Op, Result};
use oarlock_tensor::DType;

use crate::options::options;
use crate::{Net, VarRef};

options! {
    /// The arguments of comparisons: `less_than(x, y, force_cpu=None, cond=None)` and the like, `logical_and(x, y, out=None)` and the like.
    Compare::new() {
        /// Write into this variable instead of a new one.
        cond: Option<VarRef> = None,
    }
}

impl Compare {
    /// Into this variable.
    pub fn into_var(cond: &VarRef) -> Compare {
        Compare::new().cond(Some(cond.clone()))
    }
}

macro_rules! comparisons {
    ($( $(#[$meta:meta])* $name:ident ),* $(,)?) => {
        impl Net {
            $(
                $(#[$meta])*
                #[track_caller]
                pub fn $name(&mut self, x: &VarRef, y: &VarRef, options: Compare) -> Result<VarRef> {
                    let op = Op::new(stringify!($name)).input("X", [x]).input("Y", [y]);
                    self.predicate(op, options.cond.as_ref())
                }
            )*
        }
    };
}

comparisons! {
    /// `x < y`
    less_than,
    /// `x <= y`
    less_equal,
    /// `x > y`
    greater_than,
    /// `x >= y`
    greater_equal,
    /// `x == y`
    equal,
    /// `x != y`
    not_equal,
    /// Both.
    logical_and,
    /// One or both.
    logical_or,
    /// One, but not both.
    logical_xor,
}

impl Net {
    /// `logical_not(x, out=None)`
    #[track_caller]
    pub fn logical_not(&mut self, x: &VarRef, options: Compare) -> Result<VarRef> {
        self.predicate(Op::new("logical_not").input("X", [x]), options.cond.as_ref())
    }

    /// `isfinite(x)`: is every element finite? `[1]`
    #[track_caller]
    pub fn isfinite(&mut self, x: &VarRef) -> Result<VarRef> {
        self.layer("isfinite").out(DType::Bool, Op::new("isfinite").input("X", [x]))
    }

    /// `has_inf(x)`: is an element infinite? `[1]`
    #[track_caller]
    pub fn has_inf(&mut self, x: &VarRef) -> Result<VarRef> {
        self.unary(x, Op::new("isinf"))
    }

    /// `has_nan(x)`: is an element not a number? `[1]`
    #[track_caller]
    pub fn has_nan(&mut self, x: &VarRef) -> Result<VarRef> {
        self.unary(x, Op::new("isnan"))
    }

    /// `is_empty(x, cond=None)`: has it no elements? `[1]`
    #[track_caller]
    pub fn is_empty(&mut self, x: &VarRef, options: Compare) -> Result<VarRef> {
        self.predicate(Op::new("is_empty").input("X", [x]), options.cond.as_ref())
    }

    #[track_caller]
    fn predicate(&mut self, op: Op, cond: Option<&VarRef>) -> Result<VarRef> {
        let layer_type = op.op_type.clone();
        let mut layer = self.layer(&layer_type);
        let out = match cond {
            Some(cond) => cond.clone(),
            None => layer.temp(DType::Bool),
        };
        layer.append_op(op.output("Out", [&out]))?;
        layer.stop_gradient(&out)?;
        Ok(out)
    }
}
