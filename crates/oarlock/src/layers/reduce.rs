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
    /// Sums the elements over one, several or all dimensions.
    ///
    /// Args:
    ///     input (Variable): float32, float64, int32 or int64, any shape.
    ///     dim (int or list): the dimensions to reduce; negative ones count from the end; ``None``: all.
    ///     keep_dim (bool): keep each reduced dimension with size 1 instead of removing it.
    ///
    /// Returns:
    ///     Variable: the element type of ``input``; its shape without the reduced dimensions, ``[1]`` if all are
    ///         reduced.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``dim`` names a dimension that ``input`` does not have.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_sum(x)])[0].tolist()
    ///     [10.0]
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_sum(x, dim=1)])[0].tolist()
    ///     [3.0, 7.0]
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_sum(x, dim=-1, keep_dim=True)])[0].tolist()
    ///     [[3.0], [7.0]]
    "nn.reduce_sum(input, dim=None, keep_dim=False, name=None)"
        => |net, a| net.reduce_sum(&a.var("input")?, reduce(a)?);

    /// Computes the mean of the elements over one, several or all dimensions.
    ///
    /// Args:
    ///     input (Variable): float32, float64, int32 or int64, any shape. The mean of integers is rounded towards 0.
    ///     dim (int or list): the dimensions to reduce; negative ones count from the end; ``None``: all.
    ///     keep_dim (bool): keep each reduced dimension with size 1 instead of removing it.
    ///
    /// Returns:
    ///     Variable: the element type of ``input``; its shape without the reduced dimensions, ``[1]`` if all are
    ///         reduced.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``dim`` names a dimension that ``input`` does not have.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 6]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_mean(x, dim=0)])[0].tolist()
    ///     [2.0, 4.0]
    ///     >>> volume = fluid.data("volume", [None, 3, 4])
    ///     >>> fluid.layers.reduce_mean(volume, dim=[1, 2], keep_dim=True).shape
    ///     (-1, 1, 1)
    "nn.reduce_mean(input, dim=None, keep_dim=False, name=None)"
        => |net, a| net.reduce_mean(&a.var("input")?, reduce(a)?);

    /// Finds the largest element over one, several or all dimensions.
    ///
    /// The gradient goes to every element that equals the maximum.
    ///
    /// Args:
    ///     input (Variable): float32, float64, int32 or int64, any shape.
    ///     dim (int or list): the dimensions to reduce; negative ones count from the end; ``None``: all.
    ///     keep_dim (bool): keep each reduced dimension with size 1 instead of removing it.
    ///
    /// Returns:
    ///     Variable: the element type of ``input``; its shape without the reduced dimensions, ``[1]`` if all are
    ///         reduced.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``dim`` names a dimension that ``input`` does not have.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 5], [3, 4]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_max(x, dim=1)])[0].tolist()
    ///     [5.0, 4.0]
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_max(x)])[0].tolist()
    ///     [5.0]
    "nn.reduce_max(input, dim=None, keep_dim=False, name=None)"
        => |net, a| net.reduce_max(&a.var("input")?, reduce(a)?);

    /// Finds the smallest element over one, several or all dimensions.
    ///
    /// The gradient goes to every element that equals the minimum.
    ///
    /// Args:
    ///     input (Variable): float32, float64, int32 or int64, any shape.
    ///     dim (int or list): the dimensions to reduce; negative ones count from the end; ``None``: all.
    ///     keep_dim (bool): keep each reduced dimension with size 1 instead of removing it.
    ///
    /// Returns:
    ///     Variable: the element type of ``input``; its shape without the reduced dimensions, ``[1]`` if all are
    ///         reduced.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``dim`` names a dimension that ``input`` does not have.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 5], [3, 4]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_min(x, dim=1)])[0].tolist()
    ///     [1.0, 3.0]
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_min(x, dim=0, keep_dim=True)])[0].tolist()
    ///     [[1.0, 4.0]]
    "nn.reduce_min(input, dim=None, keep_dim=False, name=None)"
        => |net, a| net.reduce_min(&a.var("input")?, reduce(a)?);

    /// Multiplies the elements over one, several or all dimensions.
    ///
    /// Args:
    ///     input (Variable): float32, float64, int32 or int64, any shape.
    ///     dim (int or list): the dimensions to reduce; negative ones count from the end; ``None``: all.
    ///     keep_dim (bool): keep each reduced dimension with size 1 instead of removing it.
    ///
    /// Returns:
    ///     Variable: the element type of ``input``; its shape without the reduced dimensions, ``[1]`` if all are
    ///         reduced.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``dim`` names a dimension that ``input`` does not have.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_prod(x, dim=1)])[0].tolist()
    ///     [2.0, 12.0]
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_prod(x)])[0].tolist()
    ///     [24.0]
    "nn.reduce_prod(input, dim=None, keep_dim=False, name=None)"
        => |net, a| net.reduce_prod(&a.var("input")?, reduce(a)?);

    /// Computes the logical ``and`` of the elements over one, several or all dimensions.
    ///
    /// No gradient flows through it.
    ///
    /// Args:
    ///     input (Variable): bool, any shape.
    ///     dim (int or list): the dimensions to reduce; negative ones count from the end; ``None``: all.
    ///     keep_dim (bool): keep each reduced dimension with size 1 instead of removing it.
    ///
    /// Returns:
    ///     Variable: bool; the shape of ``input`` without the reduced dimensions, ``[1]`` if all are reduced.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``dim`` names a dimension that ``input`` does not have.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[True, False], [True, True]], "bool"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_all(x, dim=1)])[0].tolist()
    ///     [False, True]
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_all(x)])[0].tolist()
    ///     [False]
    "nn.reduce_all(input, dim=None, keep_dim=False, name=None)"
        => |net, a| net.reduce_all(&a.var("input")?, reduce(a)?);

    /// Computes the logical ``or`` of the elements over one, several or all dimensions.
    ///
    /// No gradient flows through it.
    ///
    /// Args:
    ///     input (Variable): bool, any shape.
    ///     dim (int or list): the dimensions to reduce; negative ones count from the end; ``None``: all.
    ///     keep_dim (bool): keep each reduced dimension with size 1 instead of removing it.
    ///
    /// Returns:
    ///     Variable: bool; the shape of ``input`` without the reduced dimensions, ``[1]`` if all are reduced.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``dim`` names a dimension that ``input`` does not have.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[True, False], [False, False]], "bool"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_any(x, dim=1)])[0].tolist()
    ///     [True, False]
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_any(x)])[0].tolist()
    ///     [True]
    "nn.reduce_any(input, dim=None, keep_dim=False, name=None)"
        => |net, a| net.reduce_any(&a.var("input")?, reduce(a)?);
}

fn reduce(a: &Args) -> Result<Reduce> {
    Ok(Reduce::all().dim(a.opt("dim", Args::i32s)?).keep_dim(a.bool("keep_dim")?))
}
