//! Reductions along dimensions.

use oarlock_ir::{Op, Result};

use crate::declare::{Args, declare};
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

declare! {
    /// Sums over dimensions.
    ///
    /// Args:
    ///     input (Variable): any tensor of numbers.
    ///     dim (int or list): the dimensions to sum over; ``None``: all.
    ///     keep_dim (bool): they stay, with size 1.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_sum(x, dim=1)])[0].tolist()
    ///     [3.0, 7.0]
    "nn.reduce_sum(input, dim=None, keep_dim=False, name=None)"
        => |net, a| net.reduce_sum(&a.var("input")?, reduce(a)?);

    /// Means over dimensions; arguments as in `reduce_sum`.
    ///
    /// Args:
    ///     input (Variable): any tensor of numbers.
    ///     dim (int or list): the dimensions to reduce; `None` for all of them. Negative ones count from the end.
    ///     keep_dim (bool): leave reduced dimensions in place, with size 1.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 3, 4])
    ///     >>> fluid.layers.reduce_mean(x, dim=[1, 2], keep_dim=True).shape
    ///     (-1, 1, 1)
    "nn.reduce_mean(input, dim=None, keep_dim=False, name=None)"
        => |net, a| net.reduce_mean(&a.var("input")?, reduce(a)?);

    /// The largest elements over dimensions; arguments as in `reduce_sum`.
    ///
    /// Args:
    ///     input (Variable): any tensor of numbers.
    ///     dim (int or list): the dimensions to reduce; `None` for all of them. Negative ones count from the end.
    ///     keep_dim (bool): leave reduced dimensions in place, with size 1.
    "nn.reduce_max(input, dim=None, keep_dim=False, name=None)"
        => |net, a| net.reduce_max(&a.var("input")?, reduce(a)?);

    /// The smallest elements over dimensions; arguments as in `reduce_sum`.
    ///
    /// Args:
    ///     input (Variable): any tensor of numbers.
    ///     dim (int or list): the dimensions to reduce; `None` for all of them. Negative ones count from the end.
    ///     keep_dim (bool): leave reduced dimensions in place, with size 1.
    "nn.reduce_min(input, dim=None, keep_dim=False, name=None)"
        => |net, a| net.reduce_min(&a.var("input")?, reduce(a)?);

    /// Products over dimensions; arguments as in `reduce_sum`.
    ///
    /// Args:
    ///     input (Variable): any tensor of numbers.
    ///     dim (int or list): the dimensions to reduce; `None` for all of them. Negative ones count from the end.
    ///     keep_dim (bool): leave reduced dimensions in place, with size 1.
    "nn.reduce_prod(input, dim=None, keep_dim=False, name=None)"
        => |net, a| net.reduce_prod(&a.var("input")?, reduce(a)?);

    /// True where all elements over dimensions are true; arguments as in `reduce_sum`.
    ///
    /// Args:
    ///     input (Variable): a bool tensor.
    ///     dim (int or list): the dimensions to reduce; `None` for all of them. Negative ones count from the end.
    ///     keep_dim (bool): leave reduced dimensions in place, with size 1.
    "nn.reduce_all(input, dim=None, keep_dim=False, name=None)"
        => |net, a| net.reduce_all(&a.var("input")?, reduce(a)?);

    /// True where any element over dimensions is true; arguments as in `reduce_sum`.
    ///
    /// Args:
    ///     input (Variable): a bool tensor.
    ///     dim (int or list): the dimensions to reduce; `None` for all of them. Negative ones count from the end.
    ///     keep_dim (bool): leave reduced dimensions in place, with size 1.
    "nn.reduce_any(input, dim=None, keep_dim=False, name=None)"
        => |net, a| net.reduce_any(&a.var("input")?, reduce(a)?);
}

fn reduce(a: &Args) -> Result<Reduce> {
    Ok(Reduce::all().dim(a.opt("dim", Args::i32s)?).keep_dim(a.bool("keep_dim")?))
}
