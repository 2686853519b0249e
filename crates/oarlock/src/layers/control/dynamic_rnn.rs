//! `DynamicRNN`: a step of a recurrent network, run over sequences of different lengths.

use oarlock_ir::{Error, Kind, Op, Result, Var, VarKind, fail};
use oarlock_tensor::DType;

use super::super::array::array_of;
use super::While;
use crate::network::opaque;
use crate::options::options;
use crate::{Net, VarRef};

/// `DynamicRNN(name=None)`: longest sequences first; a sequence that ended takes no part any more.
#[derive(Debug)]
pub struct DynamicRnn {
    prefix: String,
    cond: VarRef,
    body: Option<While>,
    step: Option<VarRef>,
    zero: Option<VarRef>,
    /// The sequences by length, and the length of the longest.
    table: Option<(VarRef, VarRef)>,
    inputs: Vec<(VarRef, DType)>,
    /// A memory as the step sees it, and the array of its values.
    memories: Vec<(VarRef, VarRef)>,
    /// New values, and the arrays they go to.
    updates: Vec<(VarRef, VarRef)>,
    outputs: Vec<VarRef>,
    outer: usize,
}

options! {
    /// `memory(init=None, shape=None, value=0.0, need_reorder=False, dtype='float32')` without `init`.
    Memory::shape(
        /// Its sizes without the batch.
        shape(into): Vec<i32>,
    ) {
        /// Every element before the first step.
        value: f32 = 0.0,
        /// Element type.
        dtype: DType = DType::F32,
    }
}

impl DynamicRnn {
    /// Without a step yet.
    pub fn new(net: &mut Net) -> DynamicRnn {
        let prefix = net.next_name.take().unwrap_or_else(|| net.names.generate("dynamic_rnn"));
        let cond = net.unique(&format!("{prefix}.tmp"), DType::Bool);
        let body = Some(While::unchecked(net, &cond));
        DynamicRnn {
            prefix,
            cond,
            body,
            step: None,
            zero: None,
            table: None,
            inputs: Vec::new(),
            memories: Vec::new(),
            updates: Vec::new(),
            outputs: Vec::new(),
            outer: net.block(),
        }
    }

    /// Builds the step; returns its outputs over all steps, as sequences.
    #[track_caller]
    pub fn block(
        mut self,
        net: &mut Net,
        body: impl FnOnce(&mut Net, &mut DynamicRnn) -> Result<()>,
    ) -> Result<Vec<VarRef>> {
        self.enter(net)?;
        let outer = self.outer;
        net.inside(outer, |net| body(net, &mut self))?;
        self.leave(net)
    }

    /// Begins the step.
    #[track_caller]
    pub fn enter(&mut self, net: &mut Net) -> Result<()> {
        self.outer = net.block();
        let step = net.fill_constant_on([1].into(), DType::I64, 0.0, true)?;
        net.var_mut(&step)?.meta.stop_gradient = false;
        self.step = Some(step);
        match &mut self.body {
            Some(body) => body.enter(net),
            None => fail!(Kind::Argument, "a `DynamicRNN` has one block"),
        }
        Ok(())
    }

    fn step(&self) -> Result<VarRef> {
        self.step.clone().ok_or_else(|| Error::new(Kind::Argument, "this belongs inside the block of a `DynamicRNN`"))
    }

    fn table(&self, what: &str) -> Result<VarRef> {
        match &self.table {
            Some((table, _)) => Ok(table.clone()),
            None => fail!(Kind::Argument, "{what} of a `DynamicRNN` comes after step_input"),
        }
    }

    /// The current step's rows of sequences.
    #[track_caller]
    pub fn step_input(&mut self, net: &mut Net, x: &VarRef, level: i32) -> Result<VarRef> {
        let (step, dtype) = (self.step()?, net.dtype(x)?);
        let table = match &self.table {
            Some((table, _)) => table.clone(),
            None => self.rank(net, x, &step, level)?,
        };
        let array = net.in_parent(|net| {
            let name = net.names.generate("dynamic_rnn_input_array");
            let array = net.declare(Var::new(name, array_of(dtype)));
            let op = Op::new("lod_tensor_to_array").input("X", [x]).input("RankTable", [&table]);
            net.append_op(op.output("Out", [&array])).map(|()| array)
        })?;
        self.inputs.push((array.clone(), dtype));
        net.array_read(&array, &step)
    }

    /// Ranks the sequences of the first input, and says how long the loop runs.
    #[track_caller]
    fn rank(&mut self, net: &mut Net, x: &VarRef, step: &VarRef, level: i32) -> Result<VarRef> {
        let cond = self.cond.clone();
        let (table, longest) = net.in_parent(|net| -> Result<(VarRef, VarRef)> {
            let name = net.names.generate("lod_rank_table");
            let table = net.declare(Var::new(name, opaque(VarKind::RankTable)));
            net.stop_gradient(&table)?;
            net.append_op(Op::new("lod_rank_table").input("X", [x]).output("Out", [&table]).attr("level", level))?;
            let longest = net.unique("dynamic_rnn_max_seq_len", DType::I64);
            net.append_op(Op::new("max_sequence_len").input("RankTable", [&table]).output("Out", [&longest]))?;
            net.stop_gradient(&cond)?;
            let op = Op::new("less_than").input("X", [step]).input("Y", [&longest]).output("Out", [&cond]);
            net.append_op(op.attr("force_cpu", true))?;
            Ok((table, longest))
        })?;
        self.table = Some((table.clone(), longest));
        Ok(table)
    }

    /// The rows of a variable that belong to the sequences that still run.
    #[track_caller]
    pub fn static_input(&mut self, net: &mut Net, x: &VarRef) -> Result<VarRef> {
        let (step, table) = (self.step()?, self.table("static_input")?);
        let ordered = reorder(net, x, &table, "dynamic_rnn_static_input_reordered")?;
        net.shrink_memory(&ordered, &step, &table)
    }

    /// A memory that starts as a variable; `need_reorder` if its rows are in the order of the input.
    #[track_caller]
    pub fn memory(&mut self, net: &mut Net, init: &VarRef, need_reorder: bool) -> Result<VarRef> {
        let (step, zero, dtype) = (self.step()?, self.zero(net)?, net.dtype(init)?);
        let table = self.table("memory")?;
        let init = match need_reorder {
            true => reorder(net, init, &table, "dynamic_rnn_mem_init_reordered")?,
            false => init.clone(),
        };
        let array = net.in_parent(|net| {
            let name = net.names.generate("dynamic_rnn_mem_array");
            let array = net.declare(Var::new(name, array_of(dtype)));
            let op = Op::new("write_to_array").input("X", [&init]).input("I", [&zero]).output("Out", [&array]);
            net.append_op(op).map(|()| array)
        })?;
        let value = net.array_read(&array, &step)?;
        let memory = net.shrink_memory(&value, &step, &table)?;
        self.memories.push((memory.clone(), array));
        Ok(memory)
    }

    /// A memory that starts with one value.
    #[track_caller]
    pub fn new_memory(&mut self, net: &mut Net, options: Memory) -> Result<VarRef> {
        let zero = self.zero(net)?;
        let Some((array, dtype)) = self.inputs.first().cloned() else {
            fail!(Kind::Argument, "memory of a `DynamicRNN` comes after step_input");
        };
        let init = net.in_parent(|net| -> Result<VarRef> {
            let init = net.unique("mem_init", options.dtype);
            let first = net.unique("in0", dtype);
            let op = Op::new("read_from_array").input("X", [&array]).input("I", [&zero]);
            net.append_op(op.output("Out", [&first]))?;
            let op = Op::new("fill_constant_batch_size_like").input("Input", [&first]).output("Out", [&init]);
            let op = op.attr("shape", [&[-1], &*options.shape].concat()).attr("value", options.value);
            net.append_op(op.attr("dtype", options.dtype.proto()))?;
            Ok(init)
        })?;
        self.memory(net, &init, false)
    }

    /// The index 0, made once.
    #[track_caller]
    fn zero(&mut self, net: &mut Net) -> Result<VarRef> {
        if let Some(zero) = &self.zero {
            return Ok(zero.clone());
        }
        let zero = net.in_parent(|net| -> Result<VarRef> {
            let zero = net.unique("zero_idx", DType::I64);
            let op = Op::new("fill_constant").output("Out", [&zero]).attr("shape", vec![1i64]).attr("value", 0.0f32);
            net.append_op(op.attr("dtype", DType::I64.proto()).attr("force_cpu", true))?;
            Ok(zero)
        })?;
        self.zero = Some(zero.clone());
        Ok(zero)
    }

    /// Sets the value of a memory after the step.
    pub fn update_memory(&mut self, memory: &VarRef, value: &VarRef) -> Result<()> {
        match self.memories.iter().find(|(of, _)| of == memory) {
            Some((_, array)) => self.updates.push((value.clone(), array.clone())),
            None => fail!(Kind::Argument, "`{memory}` is no memory of this `DynamicRNN`"),
        }
        Ok(())
    }

    /// Outputs of every step.
    #[track_caller]
    pub fn output(&mut self, net: &mut Net, outs: &[&VarRef]) -> Result<()> {
        let step = self.step()?;
        for out in outs {
            let dtype = net.dtype(out)?;
            let name = net.names.generate(&format!("{}_output_array_{out}", self.prefix));
            let array = net.in_parent(|net| net.declare(Var::new(name, array_of(dtype))));
            net.array_write_into(out, &step, &array)?;
            self.outputs.push(array);
        }
        Ok(())
    }

    /// Ends the step and appends the loop; returns the outputs as sequences.
    #[track_caller]
    pub fn leave(mut self, net: &mut Net) -> Result<Vec<VarRef>> {
        let step = self.step()?;
        let Some((table, longest)) = self.table.clone() else {
            fail!(Kind::Argument, "a `DynamicRNN` needs a step_input");
        };
        net.increment(&step, 1.0)?;
        for (value, array) in &self.updates {
            net.array_write_into(value, &step, array)?;
        }
        let less = Op::new("less_than").input("X", [&step]).input("Y", [&longest]).output("Out", [&self.cond]);
        net.names.generate("less_than");
        net.append_op(less.attr("force_cpu", true))?;
        match self.body.take() {
            Some(body) => body.leave(net)?,
            None => fail!(Kind::Argument, "a `DynamicRNN` has one block"),
        }
        self.outputs.iter().map(|array| net.array_to_lod_tensor(array, &table)).collect()
    }
}

/// Rows in the order of the table.
#[track_caller]
fn reorder(net: &mut Net, x: &VarRef, table: &VarRef, key: &str) -> Result<VarRef> {
    let dtype = net.dtype(x)?;
    net.in_parent(|net| {
        let ordered = net.unique(key, dtype);
        let op = Op::new("reorder_lod_tensor_by_rank").input("X", [x]).input("RankTable", [table]);
        net.append_op(op.output("Out", [&ordered])).map(|()| ordered)
    })
}
