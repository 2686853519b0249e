//! `StaticRNN`: a step of a recurrent network, run over the first dimension of its inputs.

use oarlock_ir::{Attr, Dim, Error, Kind, Name, Op, Result, Shape, Var, VarType, fail};

use crate::{Net, VarRef};

/// `StaticRNN(name=None)`: all sequences are as long as the inputs' first dimension.
#[derive(Debug)]
pub struct StaticRnn {
    prefix: String,
    length: Option<Dim>,
    inputs: Vec<VarRef>,
    memories: Vec<Link>,
    outputs: Vec<VarRef>,
    outer: usize,
}

/// A memory: its value before the first step, as a step sees it, and as the step leaves it.
#[derive(Debug)]
struct Link {
    init: VarRef,
    before: VarRef,
    after: Option<VarRef>,
}

/// How a memory starts without a variable: one value, in as many rows as the batch.
#[derive(Debug, Clone)]
pub struct Boot {
    /// Its sizes; -1 for the batch.
    pub shape: Vec<i32>,
    /// A variable with the batch in it.
    pub batch_ref: VarRef,
    /// The value (`init_value=0.0`).
    pub value: f32,
    /// The dimension of the batch in the memory (`init_batch_dim_idx=0`).
    pub init_batch_dim: i32,
    /// The dimension of the batch in `batch_ref` (`ref_batch_dim_idx=1`).
    pub ref_batch_dim: i32,
}

impl Boot {
    /// Zeros.
    pub fn zeros(shape: impl Into<Vec<i32>>, batch_ref: &VarRef) -> Boot {
        Boot { shape: shape.into(), batch_ref: batch_ref.clone(), value: 0.0, init_batch_dim: 0, ref_batch_dim: 1 }
    }
}

impl StaticRnn {
    /// Without a step yet.
    pub fn new(net: &mut Net) -> StaticRnn {
        let prefix = net.next_name.take().unwrap_or_else(|| net.names.generate("static_rnn"));
        let outer = net.block();
        StaticRnn { prefix, length: None, inputs: Vec::new(), memories: Vec::new(), outputs: Vec::new(), outer }
    }

    /// Builds the step; returns its outputs over all steps.
    #[track_caller]
    pub fn step(
        mut self,
        net: &mut Net,
        body: impl FnOnce(&mut Net, &mut StaticRnn) -> Result<()>,
    ) -> Result<Vec<VarRef>> {
        self.enter(net);
        let outer = self.outer;
        net.inside(outer, |net| body(net, &mut self))?;
        self.leave(net)
    }

    /// Begins the step.
    pub fn enter(&mut self, net: &mut Net) {
        self.outer = net.block();
        net.open_block();
    }

    /// The current step's slice of an input `[length, batch, ...]`.
    pub fn step_input(&mut self, net: &mut Net, x: &VarRef) -> Result<VarRef> {
        let ty = net.tensor_type(x)?;
        let Some((&length, rest)) = ty.shape.split_first() else {
            fail!(Kind::Shape, "`{x}` has no dimension to step through");
        };
        match self.length {
            Some(known) if !known.fits(length) => {
                fail!(Kind::Shape, "`{x}` has {length} steps, but earlier inputs have {known}");
            }
            Some(_) => {}
            None => self.length = Some(length),
        }
        let slice = net.declare(Var::new(x.name(), ty.clone().with_shape(rest.to_vec())));
        self.inputs.push(slice.clone());
        Ok(slice)
    }

    /// A memory that starts as a variable.
    pub fn memory(&mut self, net: &mut Net, init: &VarRef) -> Result<VarRef> {
        let ty = net.tensor_type(init)?;
        let name = net.names.generate(&format!("{}@mem", self.prefix));
        let before = net.declare(Var::new(name, ty));
        self.memories.push(Link { init: init.clone(), before: before.clone(), after: None });
        Ok(before)
    }

    /// A memory that starts with one value.
    #[track_caller]
    pub fn boot_memory(&mut self, net: &mut Net, boot: &Boot) -> Result<VarRef> {
        let dtype = net.dtype(&boot.batch_ref)?;
        let name = net.names.generate(&format!("{}@memory_boot", self.prefix));
        let sizes: Vec<i64> = boot.shape.iter().map(|&n| n.into()).collect();
        let ty = VarType::tensor(dtype, Shape::from_i64(&sizes));
        let init = net.in_parent(|net| net.declare(Var::new(name, ty)));
        let op = Op::new("fill_constant_batch_size_like")
            .input("Input", [&boot.batch_ref])
            .output("Out", [&init])
            .attr("value", boot.value)
            .attr("shape", boot.shape.clone())
            .attr("dtype", dtype.proto())
            .attr("input_dim_idx", boot.ref_batch_dim)
            .attr("output_dim_idx", boot.init_batch_dim);
        net.in_parent(|net| net.append_op(op))?;
        self.memory(net, &init)
    }

    /// Sets the value of a memory after the step.
    pub fn update_memory(&mut self, memory: &VarRef, value: &VarRef) -> Result<()> {
        match self.memories.iter_mut().find(|link| link.before == *memory) {
            Some(link) => link.after = Some(value.clone()),
            None => fail!(Kind::Argument, "`{memory}` is no memory of this `StaticRNN`"),
        }
        Ok(())
    }

    /// An output of every step.
    #[track_caller]
    pub fn step_output(&mut self, net: &mut Net, out: &VarRef) -> Result<()> {
        let copy = self.remembered(net, out)?;
        let ty = net.var(&copy)?.ty();
        let sizes = [&[self.length.unwrap_or(Dim::Any)], &*ty.shape].concat();
        let name = copy.name().clone();
        let outside = net.in_parent(|net| net.declare(Var::new(name, VarType::tensor(ty.dtype, sizes))));
        self.outputs.push(outside);
        Ok(())
    }

    /// A copy that the operator hands from step to step.
    #[track_caller]
    fn remembered(&self, net: &mut Net, var: &VarRef) -> Result<VarRef> {
        let dtype = net.dtype(var)?;
        let copy = net.unique(&format!("{}.tmp", self.prefix), dtype);
        let op = Op::new("rnn_memory_helper").input("X", [var]).output("Out", [&copy]);
        net.append_op(op.attr("dtype", dtype.proto()))?;
        Ok(copy)
    }

    /// Ends the step and appends the operator; returns the outputs `[length, ...]`.
    #[track_caller]
    pub fn leave(mut self, net: &mut Net) -> Result<Vec<VarRef>> {
        let sub_block = net.block();
        let local: Vec<&VarRef> = self.inputs.iter().chain(self.memories.iter().map(|m| &m.before)).collect();
        let parameters = net.known_outside(&net.flow(&local).reads);
        let memories = std::mem::take(&mut self.memories);
        let mut states = Vec::new();
        for link in &memories {
            let after = link.after.as_ref().ok_or_else(|| {
                Error::new(Kind::Argument, format!("memory `{}` of a `StaticRNN` is never updated", link.before))
                    .help("call update_memory in the step")
            })?;
            states.push(self.remembered(net, after)?.name().to_string());
        }
        let before: Vec<String> = memories.iter().map(|m| m.before.name().to_string()).collect();
        net.set_block(self.outer);
        let scopes = net.step_scopes();
        let inputs: Vec<Name> = self.inputs.iter().map(|v| v.name().clone()).collect();
        let op = Op::new("recurrent")
            .input("inputs", &inputs)
            .input("initial_states", memories.iter().map(|m| &m.init))
            .input("parameters", &parameters)
            .output("outputs", &self.outputs)
            .output("step_scopes", [&scopes])
            .attr("has_states", !memories.is_empty())
            .attr("ex_states", before)
            .attr("states", states)
            .attr("sub_block", Attr::Block(sub_block));
        net.append_op(op)?;
        Ok(self.outputs)
    }
}
