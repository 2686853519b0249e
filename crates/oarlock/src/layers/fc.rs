//! Fully connected layers.

use oarlock_ir::{Kind, Op, Result, fail};

use crate::declare::{declare, refs};
use crate::layer::known;
use crate::options::options;
use crate::{Act, Net, Param, VarRef};

options! {
    /// `fc(input, size, num_flatten_dims=1, param_attr=None, bias_attr=None, act=None, name=None)`
    Fc::size(
        /// Outputs.
        size: usize,
    ) {
        /// The input's first dimensions that are rows; the others are joined to columns.
        num_flatten_dims: usize = 1,
        /// The weight.
        param_attr(into): Param = Param::default(),
        /// The weights of several inputs, one each, in place of `param_attr`.
        param_attrs: Option<Vec<Param>> = None,
        /// The bias.
        bias_attr(into): Param = Param::default(),
        /// Activation.
        act(into): Act = Act::none(),
    }
}

impl Net {
    /// A fully connected layer: `act(input * W + b)`.
    #[track_caller]
    pub fn fc(&mut self, input: &VarRef, options: Fc) -> Result<VarRef> {
        self.fc_of(&[input], options)
    }

    /// A fully connected layer of several inputs: `act(sum(input * W) + b)`, with a weight for each.
    #[track_caller]
    pub fn fc_of(&mut self, inputs: &[&VarRef], options: Fc) -> Result<VarRef> {
        let mut layer = self.layer("fc");
        let Some(first) = inputs.first() else {
            fail!(Kind::Argument, "`fc` needs at least one input");
        };
        let dtype = layer.dtype(first)?;
        let rows = options.num_flatten_dims;
        let mut products = Vec::new();
        if let Some(attrs) = options.param_attrs.as_ref().filter(|attrs| attrs.len() != inputs.len()) {
            fail!(Kind::Argument, "`fc` has {} inputs, but {} weights", inputs.len(), attrs.len());
        }
        for (i, input) in inputs.iter().enumerate() {
            let attr = options.param_attrs.as_ref().map_or(&options.param_attr, |attrs| &attrs[i]);
            let shape = layer.shape(input)?;
            if rows == 0 || rows >= shape.rank() {
                fail!(Kind::Argument, "num_flatten_dims is {rows}, but `{input}` has shape {shape}");
            }
            let columns: usize = known(&shape[rows..], "the weight of `fc`", input)?.iter().product();
            let w = layer.weight(attr, &[columns, options.size], dtype)?;
            let op = Op::new("mul").input("X", [*input]).input("Y", [&w]);
            products.push(layer.out(dtype, op.attr("x_num_col_dims", rows as i32).attr("y_num_col_dims", 1))?);
        }
        let sum = match products.as_slice() {
            [one] => one.clone(),
            several => layer.out(dtype, Op::new("sum").input("X", several))?,
        };
        let out = layer.bias(&sum, &options.bias_attr, rows, None)?;
        layer.activate(out, &options.act)
    }
}

declare! {
    /// Computes a fully connected layer: ``act(input @ W + b)``.
    ///
    /// The dimensions from ``num_flatten_dims`` on are flattened to one. With a list of inputs each one has a weight of
    /// its own, and the products are summed before bias and activation. The weight is a parameter
    /// ``[width of the input, size]``, the bias one ``[size]``.
    ///
    /// Args:
    ///     input (Variable or list): float32 or float64, ``[batch, ...]``, or a list of such Variables.
    ///     size (int): the columns of the result.
    ///     num_flatten_dims (int): the number of dimensions that stay; the others become the columns of a matrix. For
    ///         the rows of ``[batch, steps, width]`` use 2.
    ///     param_attr (ParamAttr or list): name, initializer, regularizer and learning rate of the weight, or a list
    ///         with one for each input; ``None``: Xavier's initializer.
    ///     bias_attr (ParamAttr): the same of the bias; ``None``: zeros; ``False``: no bias.
    ///
    /// Returns:
    ///     Variable: the first ``num_flatten_dims`` dimensions of the input, then ``size``; with LoD as the input.
    ///
    /// Raises:
    ///     ValueError: ``num_flatten_dims`` is negative, or not less than the dimensions of the input.
    ///     fluid.core.EnforceNotMet: a size of the input that becomes a column is not known.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 2])
    ///     >>> hidden = fluid.layers.fc(x, 3, param_attr=fluid.initializer.Constant(0.5), act="relu")
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> exe.run(feed={"x": np.array([[1, 2]], "float32")}, fetch_list=[hidden])[0].tolist()
    ///     [[1.5, 1.5, 1.5]]
    ///     >>> words = fluid.data("words", [None, 20, 8])
    ///     >>> fluid.layers.fc(words, 16, num_flatten_dims=2).shape
    ///     (-1, 20, 16)
    ///     >>> fluid.layers.fc([x, hidden], 4, bias_attr=False).shape
    ///     (-1, 4)
    "nn.fc(input, size, num_flatten_dims=1, param_attr=None, bias_attr=None, act=None, name=None)"
        => |net, a| net.fc_of(&refs(&a.vars("input")?), Fc::size(a.usize("size")?)
        .num_flatten_dims(a.usize("num_flatten_dims")?).param_attr(a.param_unless_list("param_attr")?)
    .param_attrs(a.param_list("param_attr")?).bias_attr(a.param("bias_attr")?)
        .act(a.act("act")?));
}
