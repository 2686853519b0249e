//! Reductions along dimensions.

use oarlock_ir::{Op, Result};

use crate::options::options;
use crate::{Net, VarRef};

options! {
    /// The arguments of every `reduce_*(input, dim=None, keep_dim=False, name=None)`.
    Reduce::all() {
        /// The dimensions to reduce; `None` for all of them. Negative ones count from the end.
        dim: Option<Vec<i32>> = None,
        /// Leave reduced dimensions in place, with size 1.
        keep_dim: bool = false,
    }
}

impl Reduce {
    /// Along these dimensions.
    pub fn dims(dims: impl Into<Vec<i32>>) -> Reduce {
        Reduce::all().dim(Some(dims.into()))
    }
}

macro_rules! reductions {
    ($( $(#[$meta:meta])* $name:ident ),* $(,)?) => {
        impl Net {
            $(
                $(#[$meta])*
                #[track_caller]
                pub fn $name(&mut self, input: &VarRef, options: Reduce) -> Result<VarRef> {
                    self.reduce(stringify!($name), input, options)
                }
            )*
        }
    };
}

reductions! {
    /// Sums.
    reduce_sum,
    /// Means.
    reduce_mean,
    /// Largest elements.
    reduce_max,
    /// Smallest elements.
    reduce_min,
    /// Products.
    reduce_prod,
    /// Are all true?
    reduce_all,
    /// Is any true?
    reduce_any,
}

impl Net {
    #[track_caller]
    fn reduce(&mut self, op_type: &str, input: &VarRef, options: Reduce) -> Result<VarRef> {
        let rank = self.shape(input)?.rank();
        let dims = options.dim.unwrap_or_default();
        let all = dims.is_empty() || dims.len() == rank;
        let op = Op::new(op_type)
            .attr("dim", if dims.is_empty() { vec![0] } else { dims })
            .attr("keep_dim", options.keep_dim)
            .attr("reduce_all", all);
        self.unary(input, op)
    }
}
