//! Recurrent layers over sequences.

use oarlock_ir::{Kind, Op, Result, VarKind, fail};
use oarlock_tensor::DType;

use super::Fc;
use crate::declare::{Args, declare};
use crate::layer::{Layer, Part, known};
use crate::network::opaque;
use crate::options::options;
use crate::{Initializer, Net, Param, ParamAttr, VarRef};

options! {
    /// `dynamic_lstm(input, size, h_0=None, c_0=None, param_attr=None, bias_attr=None, use_peepholes=True, is_reverse=False,
    /// gate_activation='sigmoid', cell_activation='tanh', candidate_activation='tanh', dtype='float32', name=None)`
    Lstm::size(
        /// Four times the width of the hidden state: the width of the input.
        size: usize,
    ) {
        /// The hidden state and the cell before the first step.
        initial: Option<(VarRef, VarRef)> = None,
        /// The weight.
        param_attr(into): Param = Param::default(),
        /// The bias, which also holds the weights of peepholes.
        bias_attr(into): Param = Param::default(),
        /// Gates see the cell.
        use_peepholes: bool = true,
        /// From the last step to the first.
        is_reverse: bool = false,
        /// Activation of gates.
        gate_activation(into): String = "sigmoid".to_string(),
        /// Activation of the cell's output.
        cell_activation(into): String = "tanh".to_string(),
        /// Activation of what enters the cell.
        candidate_activation(into): String = "tanh".to_string(),
        /// Element type.
        dtype: DType = DType::F32,
    }
}

options! {
    /// `dynamic_gru(input, size, param_attr=None, bias_attr=None, is_reverse=False, gate_activation='sigmoid',
    /// candidate_activation='tanh', h_0=None, origin_mode=False)`; `gru_unit` takes the same of one step.
    Gru::size(
        /// Width of the hidden state (of the input, three times that, for `gru_unit`).
        size: usize,
    ) {
        /// The weight.
        param_attr(into): Param = Param::default(),
        /// The bias.
        bias_attr(into): Param = Param::default(),
        /// From the last step to the first.
        is_reverse: bool = false,
        /// Activation of gates.
        gate_activation(into): String = "sigmoid".to_string(),
        /// Activation of the candidate.
        candidate_activation(into): String = "tanh".to_string(),
        /// The hidden state before the first step.
        h_0: Option<VarRef> = None,
        /// The update gate keeps the candidate, not the state.
        origin_mode: bool = false,
    }
}

options! {
    /// `lstm(input, init_h, init_c, max_len, hidden_size, num_layers, dropout_prob=0.0, is_bidirec=False, is_test=False, name=None,
    /// default_initializer=None, seed=-1)`
    LstmStack::new(
        /// The most steps of an input.
        max_len: usize,
        /// Width of the hidden state.
        hidden_size: usize,
        /// Layers one above the other.
        num_layers: usize,
    ) {
        /// Share of what is dropped between layers.
        dropout_prob: f32 = 0.0,
        /// Each layer runs in both directions, side by side.
        is_bidirec: bool = false,
        /// Nothing is dropped.
        is_test: bool = false,
        /// First value of the weights.
        default_initializer: Option<Initializer> = None,
        /// Chooses what is dropped.
        seed: i32 = -1,
    }
}

impl LstmStack {
    /// Numbers in all weights and biases, for an input of `columns` columns.
    fn weights(&self, columns: usize) -> usize {
        let directions = if self.is_bidirec { 2 } else { 1 };
        let of_layer = |layer: usize| {
            let inputs = if layer == 0 { columns } else { directions * self.hidden_size };
            directions * self.hidden_size * (4 * inputs + 4 * self.hidden_size + 8)
        };
        (0..self.num_layers).map(of_layer).sum()
    }
}

/// Options of [`Net::dynamic_lstmp`] beyond those of [`Lstm`]:
/// `dynamic_lstmp(input, size, proj_size, ..., proj_activation='tanh', cell_clip=None, proj_clip=None)`.
#[derive(Debug, Clone)]
pub struct Lstmp {
    /// As for an LSTM without projection; `initial` holds the projection and the cell.
    pub lstm: Lstm,
    /// Width of the projection.
    pub proj_size: usize,
    /// Activation of the projection.
    pub proj_activation: String,
    /// Bound of the cell; 0 for none.
    pub cell_clip: f32,
    /// Bound of the projection; 0 for none.
    pub proj_clip: f32,
}

impl Lstmp {
    /// An LSTM whose hidden state is projected to this width.
    pub fn new(lstm: Lstm, proj_size: usize) -> Lstmp {
        Lstmp { lstm, proj_size, proj_activation: "tanh".into(), cell_clip: 0.0, proj_clip: 0.0 }
    }
}

/// Activations by the numbers that `gru_unit` knows them by.
fn activation_number(name: &str) -> Result<i32> {
    match ["identity", "sigmoid", "tanh", "relu"].iter().position(|n| *n == name) {
        Some(number) => Ok(number as i32),
        None => fail!(Kind::Argument, "`gru_unit` knows identity, sigmoid, tanh and relu, not {name:?}"),
    }
}

impl Net {
    /// An LSTM over sequences; the input is already projected to the four gates. Returns the hidden states and the cells.
    #[track_caller]
    pub fn dynamic_lstm(&mut self, input: &VarRef, options: Lstm) -> Result<(VarRef, VarRef)> {
        let mut layer = self.layer("lstm");
        let (width, dtype) = (options.size / 4, options.dtype);
        let w = layer.weight(&options.param_attr, &[width, 4 * width], dtype)?;
        let b = layer.lstm_bias(&options, width)?;
        let [hidden, cell, gate, cell_pre_act] = [(); 4].map(|()| layer.temp(dtype));
        let op = Op::new("lstm")
            .input("Input", [input])
            .input("Weight", [&w])
            .input("Bias", [&b])
            .output("Hidden", [&hidden])
            .output("Cell", [&cell])
            .output("BatchGate", [&gate])
            .output("BatchCellPreAct", [&cell_pre_act]);
        layer.append_op(lstm_attrs(op, &options))?;
        Ok((hidden, cell))
    }

    /// An LSTM with a projection of its hidden state. Returns the projections and the cells.
    #[track_caller]
    pub fn dynamic_lstmp(&mut self, input: &VarRef, options: Lstmp) -> Result<(VarRef, VarRef)> {
        let mut layer = self.layer("lstmp");
        let lstm = &options.lstm;
        let (width, dtype) = (lstm.size / 4, lstm.dtype);
        let w = layer.weight(&lstm.param_attr, &[options.proj_size, 4 * width], dtype)?;
        let proj = layer.weight(&lstm.param_attr, &[width, options.proj_size], dtype)?;
        let b = layer.lstm_bias(lstm, width)?;
        let [projection, cell, ordered_proj, hidden, gate, cell_pre_act] = [(); 6].map(|()| layer.temp(dtype));
        // Fluid declares it although no slot takes it any more.
        layer.stop_gradient(&ordered_proj)?;
        let op = Op::new("lstmp")
            .input("Input", [input])
            .input("Weight", [&w])
            .input("ProjWeight", [&proj])
            .input("Bias", [&b])
            .output("Projection", [&projection])
            .output("Cell", [&cell])
            .output("BatchHidden", [&hidden])
            .output("BatchGate", [&gate])
            .output("BatchCellPreAct", [&cell_pre_act])
            .attr("proj_activation", options.proj_activation.as_str())
            .attr("cell_clip", options.cell_clip)
            .attr("proj_clip", options.proj_clip);
        layer.append_op(lstm_attrs(op, lstm))?;
        Ok((projection, cell))
    }

    /// A GRU over sequences; the input is already projected to three times the width. Returns the hidden states.
    #[track_caller]
    pub fn dynamic_gru(&mut self, input: &VarRef, options: Gru) -> Result<VarRef> {
        let mut layer = self.layer("gru");
        let (width, dtype) = (options.size, layer.dtype(input)?);
        let w = layer.weight(&options.param_attr, &[width, 3 * width], dtype)?;
        let mut op = Op::new("gru").input("Input", [input]).input("Weight", [&w]);
        if let Some(attr) = options.bias_attr.attr() {
            op = op.input("Bias", [&layer.parameter(attr, Part::Bias, &[1, 3 * width], dtype, None)?]);
        }
        if let Some(h_0) = &options.h_0 {
            op = op.input("H0", [h_0]);
        }
        let [hidden, gate, reset, batch_hidden] = [(); 4].map(|()| layer.temp(dtype));
        let op = op
            .output("Hidden", [&hidden])
            .output("BatchGate", [&gate])
            .output("BatchResetHiddenPrev", [&reset])
            .output("BatchHidden", [&batch_hidden])
            .attr("is_reverse", options.is_reverse)
            .attr("gate_activation", options.gate_activation.as_str())
            .attr("activation", options.candidate_activation.as_str())
            .attr("origin_mode", options.origin_mode);
        layer.append_op(op)?;
        Ok(hidden)
    }

    /// An LSTM of several layers over sequences of one length: `input` is steps x batch x columns, the first states are layers (times
    /// directions) x batch x hidden. Returns the hidden states of the last layer, and the last hidden states and cells of all.
    #[track_caller]
    pub fn lstm(
        &mut self,
        input: &VarRef,
        init_h: &VarRef,
        init_c: &VarRef,
        options: LstmStack,
    ) -> Result<(VarRef, VarRef, VarRef)> {
        let mut layer = self.layer("cudnn_lstm");
        let (shape, dtype) = (layer.shape(input)?, layer.dtype(input)?);
        let columns = known(&shape[shape.rank().saturating_sub(1)..], "the weight of `lstm`", input)?.iter().product();
        let first = options.default_initializer.clone();
        let w = layer.parameter(&ParamAttr::new(), Part::Weight, &[options.weights(columns)], dtype, first)?;
        let [out, last_h, last_c] = [(); 3].map(|()| layer.temp(dtype));
        // Other systems keep state there; saved programs have it.
        let cache = layer.generated(opaque(VarKind::Raw));
        let var = layer.var_mut(&cache)?;
        var.persistable = true;
        var.meta.stop_gradient = true;
        let op = Op::new("cudnn_lstm")
            .input("Input", [input])
            .input("InitH", [init_h])
            .input("InitC", [init_c])
            .input("W", [&w])
            .input("Cache", [&cache])
            .output("Out", [&out])
            .output("last_h", [&last_h])
            .output("last_c", [&last_c])
            .attr("max_len", options.max_len as i32)
            .attr("is_bidirec", options.is_bidirec)
            .attr("input_size", columns as i32)
            .attr("hidden_size", options.hidden_size as i32)
            .attr("num_layers", options.num_layers as i32)
            .attr("is_test", options.is_test)
            .attr("dropout_prob", options.dropout_prob)
            .attr("seed", options.seed);
        layer.append_op(op)?;
        Ok((out, last_h, last_c))
    }

    /// `gru_unit(input, hidden, size, ...)`: one step of a GRU; `size` is three times the width. Returns the new hidden state, the
    /// reset state and the gates.
    #[track_caller]
    pub fn gru_unit(&mut self, input: &VarRef, hidden: &VarRef, options: Gru) -> Result<(VarRef, VarRef, VarRef)> {
        let activation = activation_number(&options.candidate_activation)?;
        let gate_activation = activation_number(&options.gate_activation)?;
        let mut layer = self.layer("gru_unit");
        let (width, dtype) = (options.size / 3, layer.dtype(input)?);
        let w = layer.weight(&options.param_attr, &[width, 3 * width], dtype)?;
        let [gate, reset, updated] = [(); 3].map(|()| layer.temp(dtype));
        let mut op = Op::new("gru_unit").input("Input", [input]).input("HiddenPrev", [hidden]).input("Weight", [&w]);
        if let Some(attr) = options.bias_attr.attr() {
            op = op.input("Bias", [&layer.parameter(attr, Part::Bias, &[1, 3 * width], dtype, None)?]);
        }
        let op = op
            .output("Gate", [&gate])
            .output("ResetHiddenPrev", [&reset])
            .output("Hidden", [&updated])
            .attr("activation", activation)
            .attr("gate_activation", gate_activation)
            .attr("origin_mode", options.origin_mode);
        layer.append_op(op)?;
        Ok((updated, reset, gate))
    }

    /// `lstm_unit(x_t, hidden_t_prev, cell_t_prev, forget_bias=0.0, param_attr=None, bias_attr=None)`: one step of an LSTM; returns
    /// the hidden state and the cell.
    #[track_caller]
    pub fn lstm_unit(
        &mut self,
        x: &VarRef,
        hidden: &VarRef,
        cell: &VarRef,
        forget_bias: f32,
        param_attr: impl Into<Param>,
        bias_attr: impl Into<Param>,
    ) -> Result<(VarRef, VarRef)> {
        let mut layer = self.layer("lstm_unit");
        let shape = layer.shape(cell)?;
        let Some(width) = shape.get(1).and_then(|d| d.known()) else {
            fail!(Kind::Shape, "`lstm_unit` needs a cell of known width, but `{cell}` has shape {shape}");
        };
        let joined = layer.concat(&[x, hidden], 1)?;
        let gates = layer.fc(&joined, Fc::size(4 * width).param_attr(param_attr).bias_attr(bias_attr))?;
        let dtype = layer.dtype(x)?;
        let (c, h) = (layer.temp(dtype), layer.temp(dtype));
        let op = Op::new("lstm_unit").input("X", [&gates]).input("C_prev", [cell]);
        layer.append_op(op.output("C", [&c]).output("H", [&h]).attr("forget_bias", forget_bias))?;
        Ok((h, c))
    }
}

impl Layer<'_> {
    /// The bias of an LSTM: four gates, and three peepholes.
    fn lstm_bias(&mut self, options: &Lstm, width: usize) -> Result<VarRef> {
        let Some(attr) = options.bias_attr.attr() else {
            fail!(Kind::Argument, "`{}` cannot do without its bias: bias_attr must not be false", self.prefix());
        };
        let gates = if options.use_peepholes { 7 } else { 4 };
        self.parameter(attr, Part::Bias, &[1, gates * width], options.dtype, None)
    }
}

fn lstm_attrs(op: Op, options: &Lstm) -> Op {
    let op = match &options.initial {
        Some((h_0, c_0)) => op.input("H0", [h_0]).input("C0", [c_0]),
        None => op,
    };
    op.attr("use_peepholes", options.use_peepholes)
        .attr("is_reverse", options.is_reverse)
        .attr("gate_activation", options.gate_activation.as_str())
        .attr("cell_activation", options.cell_activation.as_str())
        .attr("candidate_activation", options.candidate_activation.as_str())
}

declare! {
    /// Runs an LSTM over sequences whose input is already projected to the four gates.
    ///
    /// With ``(g, i, f, o) = input[t] + h[t-1] @ W + b`` the cell is
    /// ``c[t] = sigmoid(i) * tanh(g) + sigmoid(f) * c[t-1]`` and the hidden state ``h[t] = sigmoid(o) * tanh(c[t])``.
    /// With peepholes ``i`` and ``f`` also see ``c[t-1]``, and ``o`` sees ``c[t]``. Put an ``fc`` of ``4 * width``
    /// columns without an activation in front of it. The weight is a parameter ``[width, 4 * width]``.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[rows, 4 * width]`` with LoD: the parts of candidate, input gate,
    ///         forget gate and output gate.
    ///     size (int): ``4 * width``, the columns of the input.
    ///     h_0 (Variable): the hidden state before the first step, ``[sequences, width]``; ``None``: zeros. Give both
    ///         states or none.
    ///     c_0 (Variable): the cell before the first step, ``[sequences, width]``; ``None``: zeros.
    ///     param_attr (ParamAttr): name, initializer, regularizer and learning rate of the weight; ``None``: Xavier's
    ///         initializer.
    ///     bias_attr (ParamAttr): the same of the bias, which also holds the weights of the peepholes; ``None``: zeros.
    ///     use_peepholes (bool): the gates see the cell, too; the bias then is ``[1, 7 * width]`` instead of
    ///         ``[1, 4 * width]``.
    ///     is_reverse (bool): go from the last step of a sequence to the first.
    ///     gate_activation (str): the activation of the gates: ``sigmoid``, ``tanh``, ``relu`` or ``identity``.
    ///     cell_activation (str): the activation of the cell in the hidden state; a name as for ``gate_activation``.
    ///     candidate_activation (str): the activation of the candidate; a name as for ``gate_activation``.
    ///     dtype (dtype): the element type: float32 or float64.
    ///
    /// Returns:
    ///     tuple: (hidden, cell): both ``[rows, width]`` with the LoD of ``input``. No gradient flows through the cell.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the input does not have ``size`` columns.
    ///     ValueError: an activation is unknown.
    ///
    /// Example:
    ///     >>> words = fluid.data("words", [None, 1], "int64", lod_level=1)
    ///     >>> embedded = fluid.layers.embedding(words, [1000, 16])
    ///     >>> hidden, cell = fluid.layers.dynamic_lstm(fluid.layers.fc(embedded, 4 * 32), size=4 * 32)
    ///     >>> hidden.shape, cell.shape
    ///     ((-1, 32), (-1, 32))
    ///     >>> sentiment = fluid.layers.fc(fluid.layers.sequence_last_step(hidden), 2, act="softmax")
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> sentences = fluid.create_lod_tensor(np.array([[1], [2], [3], [4]]), [[3, 1]], fluid.CPUPlace())
    ///     >>> exe.run(feed={"words": sentences}, fetch_list=[sentiment])[0].shape
    ///     (2, 2)
    "rnn.dynamic_lstm(input, size, h_0=None, c_0=None, param_attr=None, bias_attr=None, use_peepholes=True, \
     is_reverse=False, gate_activation='sigmoid', cell_activation='tanh', candidate_activation='tanh', \
     dtype='float32', name=None)"
        => |net, a| net.dynamic_lstm(&a.var("input")?, lstm(a)?);

    /// Runs an LSTM over sequences whose hidden state is projected to fewer columns.
    ///
    /// It is ``dynamic_lstm`` in which the gates see the projection ``p[t] = proj_activation(h[t] @ P)`` of the hidden
    /// state instead of the state: the weight is ``[proj_size, 4 * width]`` and ``P`` is ``[width, proj_size]``.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[rows, 4 * width]`` with LoD: the parts of candidate, input gate,
    ///         forget gate and output gate.
    ///     size (int): ``4 * width``, the columns of the input.
    ///     proj_size (int): the columns of the projection.
    ///     param_attr (ParamAttr): name, initializer, regularizer and learning rate of the weight; ``None``: Xavier's
    ///         initializer.
    ///     bias_attr (ParamAttr): the same of the bias, which also holds the weights of the peepholes; ``None``: zeros.
    ///     use_peepholes (bool): the gates see the cell, too; the bias then is ``[1, 7 * width]`` instead of
    ///         ``[1, 4 * width]``.
    ///     is_reverse (bool): go from the last step of a sequence to the first.
    ///     gate_activation (str): the activation of the gates: ``sigmoid``, ``tanh``, ``relu`` or ``identity``.
    ///     cell_activation (str): the activation of the cell in the hidden state; a name as for ``gate_activation``.
    ///     candidate_activation (str): the activation of the candidate; a name as for ``gate_activation``.
    ///     proj_activation (str): the activation of the projection; a name as for ``gate_activation``.
    ///     dtype (dtype): the element type: float32 or float64.
    ///     h_0 (Variable): the projection before the first step, ``[sequences, proj_size]``; ``None``: zeros. Give both
    ///         states or none.
    ///     c_0 (Variable): the cell before the first step, ``[sequences, width]``; ``None``: zeros.
    ///     cell_clip (float): cells are limited to ``[-cell_clip, cell_clip]``; ``None``: no limit.
    ///     proj_clip (float): projections are limited likewise; ``None``: no limit.
    ///
    /// Returns:
    ///     tuple: (projection, cell): ``[rows, proj_size]`` and ``[rows, width]`` with the LoD of ``input``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the input does not have ``size`` columns.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 16], lod_level=1)
    ///     >>> gates = fluid.layers.fc(x, 4 * 32, bias_attr=False)
    ///     >>> projection, cell = fluid.layers.dynamic_lstmp(gates, size=4 * 32, proj_size=8)
    ///     >>> projection.shape, cell.shape
    ///     ((-1, 8), (-1, 32))
    "rnn.dynamic_lstmp(input, size, proj_size, param_attr=None, bias_attr=None, use_peepholes=True, \
     is_reverse=False, gate_activation='sigmoid', cell_activation='tanh', candidate_activation='tanh', \
     proj_activation='tanh', dtype='float32', name=None, h_0=None, c_0=None, cell_clip=None, proj_clip=None)"
        => |net, a| net.dynamic_lstmp(&a.var("input")?, lstmp(a)?);

    /// Runs a GRU over sequences whose input is already projected to update gate, reset gate and candidate.
    ///
    /// With ``(xu, xr, xc) = input[t] + b`` it computes ``u = sigmoid(xu + h[t-1] @ Wu)``,
    /// ``r = sigmoid(xr + h[t-1] @ Wr)``, ``c = tanh(xc + (r * h[t-1]) @ Wc)`` and ``h[t] = (1 - u) * h[t-1] + u * c``.
    /// Put an ``fc`` of ``3 * size`` columns without an activation in front of it. The weight is a parameter
    /// ``[size, 3 * size]``.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[rows, 3 * size]`` with LoD.
    ///     size (int): the columns of the hidden state.
    ///     param_attr (ParamAttr): name, initializer, regularizer and learning rate of the weight; ``None``: Xavier's
    ///         initializer.
    ///     bias_attr (ParamAttr): the same of the bias; ``None``: zeros; ``False``: no bias.
    ///     is_reverse (bool): go from the last step of a sequence to the first.
    ///     gate_activation (str): the activation of the gates: ``sigmoid``, ``tanh``, ``relu`` or ``identity``.
    ///     candidate_activation (str): the activation of the candidate; a name as for ``gate_activation``.
    ///     h_0 (Variable): the hidden state before the first step, ``[sequences, size]``; ``None``: zeros.
    ///     origin_mode (bool): compute ``h[t] = u * h[t-1] + (1 - u) * c``, as the paper that introduced the GRU does.
    ///
    /// Returns:
    ///     Variable: the hidden states, ``[rows, size]`` with the LoD of ``input``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the input does not have ``3 * size`` columns.
    ///     ValueError: an activation is unknown.
    ///
    /// Example:
    ///     >>> words = fluid.data("words", [None, 1], "int64", lod_level=1)
    ///     >>> embedded = fluid.layers.embedding(words, [1000, 16])
    ///     >>> hidden = fluid.layers.dynamic_gru(fluid.layers.fc(embedded, 3 * 32), size=32)
    ///     >>> hidden.shape
    ///     (-1, 32)
    ///     >>> last = fluid.layers.sequence_last_step(hidden)
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> sentences = fluid.create_lod_tensor(np.array([[1], [2], [3], [4]]), [[3, 1]], fluid.CPUPlace())
    ///     >>> exe.run(feed={"words": sentences}, fetch_list=[last])[0].shape
    ///     (2, 32)
    "rnn.dynamic_gru(input, size, param_attr=None, bias_attr=None, is_reverse=False, gate_activation='sigmoid', \
     candidate_activation='tanh', h_0=None, origin_mode=False)"
        => |net, a| net.dynamic_gru(&a.var("input")?, Gru::size(a.usize("size")?).param_attr(a.param("param_attr")?)
        .bias_attr(a.param("bias_attr")?).is_reverse(a.bool("is_reverse")?).gate_activation(a.str("gate_activation")?)
        .candidate_activation(a.str("candidate_activation")?).h_0(a.opt_var("h_0")?).origin_mode(a.bool("origin_mode")?));

    /// Computes one step of a GRU, for loops that are written out, such as ``DynamicRNN`` and ``StaticRNN``.
    ///
    /// The formulas are those of ``dynamic_gru``. Note that ``size`` is three times the width here.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, size]``: the parts of update gate, reset gate and candidate.
    ///     hidden (Variable): the hidden state before the step, ``[batch, size / 3]``.
    ///     size (int): ``3 * width``, the columns of the input.
    ///     param_attr (ParamAttr): name, initializer, regularizer and learning rate of the weight; ``None``: Xavier's
    ///         initializer.
    ///     bias_attr (ParamAttr): the same of the bias; ``None``: zeros; ``False``: no bias.
    ///     activation (str): the activation of the candidate: ``sigmoid``, ``tanh``, ``relu`` or ``identity``.
    ///     gate_activation (str): the activation of the gates; a name as for ``activation``.
    ///     origin_mode (bool): compute the new state as ``u * hidden + (1 - u) * c``.
    ///
    /// Returns:
    ///     tuple: (hidden, reset_hidden, gate): the new state ``[batch, size / 3]``, the old state times the reset
    ///         gate, and the gates ``[batch, size]``.
    ///
    /// Example:
    ///     >>> x, h = fluid.data("x", [None, 3 * 8]), fluid.data("h", [None, 8])
    ///     >>> hidden, reset, gate = fluid.layers.gru_unit(x, h, size=3 * 8)
    ///     >>> hidden.shape, reset.shape, gate.shape
    ///     ((-1, 8), (-1, 8), (-1, 24))
    "rnn.gru_unit(input, hidden, size, param_attr=None, bias_attr=None, activation='tanh', \
     gate_activation='sigmoid', origin_mode=False)"
        => |net, a| net.gru_unit(&a.var("input")?, &a.var("hidden")?, Gru::size(a.usize("size")?)
        .param_attr(a.param("param_attr")?).bias_attr(a.param("bias_attr")?).gate_activation(a.str("gate_activation")?)
        .candidate_activation(a.str("activation")?).origin_mode(a.bool("origin_mode")?));

    /// Computes one step of an LSTM from the input and the state before it.
    ///
    /// ``fc`` projects the input and the hidden state together to the four gates; then
    /// ``c = sigmoid(f + forget_bias) * cell_t_prev + sigmoid(i) * tanh(g)`` and ``h = sigmoid(o) * tanh(c)``.
    ///
    /// Args:
    ///     x_t (Variable): float32 or float64, ``[batch, width]``: the input of the step.
    ///     hidden_t_prev (Variable): the hidden state before the step, ``[batch, size]``.
    ///     cell_t_prev (Variable): the cell before the step, ``[batch, size]``.
    ///     forget_bias (float): added to the forget gate.
    ///     param_attr (ParamAttr): name, initializer, regularizer and learning rate of the weight; ``None``: Xavier's
    ///         initializer.
    ///     bias_attr (ParamAttr): the same of the bias; ``None``: zeros; ``False``: no bias.
    ///
    /// Returns:
    ///     tuple: (hidden, cell): both ``[batch, size]``.
    ///
    /// Example:
    ///     >>> x, h, c = fluid.data("x", [None, 24]), fluid.data("h", [None, 8]), fluid.data("c", [None, 8])
    ///     >>> hidden, cell = fluid.layers.lstm_unit(x, h, c, forget_bias=1.0)
    ///     >>> hidden.shape, cell.shape
    ///     ((-1, 8), (-1, 8))
    "rnn.lstm_unit(x_t, hidden_t_prev, cell_t_prev, forget_bias=0.0, param_attr=None, bias_attr=None, name=None)"
        => |net, a| net.lstm_unit(&a.var("x_t")?, &a.var("hidden_t_prev")?, &a.var("cell_t_prev")?,
        a.f32("forget_bias")?, a.param("param_attr")?, a.param("bias_attr")?);

    /// Runs an LSTM of several layers over sequences of one length.
    ///
    /// Input and states are projected by the layer itself. Each layer computes
    /// ``c[t] = sigmoid(f) * c[t-1] + sigmoid(i) * tanh(g)`` and ``h[t] = sigmoid(o) * tanh(c[t])``, and ``h`` is the
    /// input of the next layer. All weights and biases are one flat parameter, in the order of cuDNN, as in Fluid.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[steps, batch, width]``.
    ///     init_h (Variable): the first hidden states, ``[num_layers * directions, batch, hidden_size]``; there are 2
    ///         directions with ``is_bidirec``, otherwise 1.
    ///     init_c (Variable): the first cells, the shape of ``init_h``.
    ///     max_len (int): the largest number of steps.
    ///     hidden_size (int): the columns of the hidden state.
    ///     num_layers (int): the number of layers.
    ///     dropout_prob (float): the share of elements that is dropped between layers in training.
    ///     is_bidirec (bool): each layer runs in both directions; their results stand side by side.
    ///     is_test (bool): drop nothing; ``clone(for_test=True)`` sets it.
    ///     default_initializer (Initializer): the first value of the weights; ``None``: Xavier's initializer.
    ///     seed (int): the same seed drops the same elements in every run; -1: other ones in every run.
    ///
    /// Returns:
    ///     tuple: (out, last_h, last_c): the hidden states of the last layer
    ///         ``[steps, batch, hidden_size * directions]``, and the last hidden states and cells of all layers, each
    ///         with the shape of ``init_h``.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [20, None, 16])
    ///     >>> h, c = fluid.data("h", [2, None, 32]), fluid.data("c", [2, None, 32])
    ///     >>> out, last_h, last_c = fluid.layers.lstm(x, h, c, max_len=20, hidden_size=32, num_layers=2)
    ///     >>> out.shape, last_h.shape
    ///     ((20, -1, 32), (2, -1, 32))
    "rnn.lstm(input, init_h, init_c, max_len, hidden_size, num_layers, dropout_prob=0.0, is_bidirec=False, \
     is_test=False, name=None, default_initializer=None, seed=-1)"
        => |net, a| net.lstm(&a.var("input")?, &a.var("init_h")?, &a.var("init_c")?,
        LstmStack::new(a.usize("max_len")?, a.usize("hidden_size")?, a.usize("num_layers")?)
        .dropout_prob(a.f32("dropout_prob")?).is_bidirec(a.bool("is_bidirec")?).is_test(a.bool("is_test")?)
        .default_initializer(a.opt("default_initializer", Args::initializer)?).seed(a.i32("seed")?));
}

fn lstm(a: &Args) -> Result<Lstm> {
    Ok(Lstm::size(a.usize("size")?)
        .initial(a.opt_var("h_0")?.zip(a.opt_var("c_0")?))
        .param_attr(a.param("param_attr")?)
        .bias_attr(a.param("bias_attr")?)
        .use_peepholes(a.bool("use_peepholes")?)
        .is_reverse(a.bool("is_reverse")?)
        .gate_activation(a.str("gate_activation")?)
        .cell_activation(a.str("cell_activation")?)
        .candidate_activation(a.str("candidate_activation")?)
        .dtype(a.dtype("dtype")?))
}

fn lstmp(a: &Args) -> Result<Lstmp> {
    let mut lstmp = Lstmp::new(lstm(a)?, a.usize("proj_size")?);
    lstmp.proj_activation = a.str("proj_activation")?;
    lstmp.cell_clip = a.opt("cell_clip", Args::f32)?.unwrap_or(0.0);
    lstmp.proj_clip = a.opt("proj_clip", Args::f32)?.unwrap_or(0.0);
    Ok(lstmp)
}
