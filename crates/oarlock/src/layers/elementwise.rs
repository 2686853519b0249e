//! Arithmetic between two tensors, element by element.

use oarlock_ir::{Op, Result};

use crate::options::options;
use crate::{Act, Net, VarRef};

options! {
    /// The arguments of every `elementwise_*(x, y, axis=-1, act=None, name=None)`.
    Elementwise::new() {
        /// The dimension of `x` where the dimensions of `y` begin; -1: both end together.
        axis: i32 = -1,
        /// Activation.
        act(into): Act = Act::none(),
    }
}

macro_rules! elementwise {
    ($( $(#[$meta:meta])* $name:ident ),* $(,)?) => {
        impl Net {
            $(
                $(#[$meta])*
                #[track_caller]
                pub fn $name(&mut self, x: &VarRef, y: &VarRef, options: Elementwise) -> Result<VarRef> {
                    self.elementwise(stringify!($name), x, y, options)
                }
            )*
        }
    };
}

elementwise! {
    /// `x + y`
    elementwise_add,
    /// `x - y`
    elementwise_sub,
    /// `x * y`
    elementwise_mul,
    /// `x / y`
    elementwise_div,
    /// The larger of `x` and `y`.
    elementwise_max,
    /// The smaller of `x` and `y`.
    elementwise_min,
    /// `x` to the power of `y`.
    elementwise_pow,
    /// The remainder of integers, with the sign of `y`.
    elementwise_mod,
    /// The quotient of integers, rounded down.
    elementwise_floordiv,
}

impl Net {
    #[track_caller]
    fn elementwise(&mut self, op_type: &str, x: &VarRef, y: &VarRef, options: Elementwise) -> Result<VarRef> {
        let mut layer = self.layer(op_type);
        let dtype = layer.dtype(x)?;
        let op = Op::new(op_type).input("X", [x]).input("Y", [y]).attr("axis", options.axis);
        let out = layer.out(dtype, op)?;
        layer.activate(out, &options.act)
    }
}
