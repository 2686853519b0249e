//! Gradient operators of one operator.

use crate::error::{Error, Kind, Result};
use crate::{Attr, EMPTY, GradOp, Name, Op, OpDef, Program, SlotSig};

/// The suffix of gradients.
pub const GRAD: &str = "@GRAD";

/// The name of a variable's gradient.
pub fn grad_name(name: &str) -> Name {
    format!("{name}{GRAD}").into()
}

/// The argument of `OpDef::grad`: the forward operator, and a place to put the operators that compute its gradient.
pub struct Grad<'a> {
    /// The program, as far as it is built.
    pub program: &'a Program,
    op: &'a Op,
    no_grad: &'a dyn Fn(&str) -> bool,
    grad_block: Option<usize>,
    /// The gradient operator that the registry knows for the forward operator.
    pub(crate) gradient: Option<&'static GradOp>,
    ops: Vec<Op>,
}

impl<'a> Grad<'a> {
    /// For one forward operator. `no_grad` tells which gradients are not needed (asked with the gradient's name);
    /// `grad_block` is the block of gradients of the operator's sub-block.
    pub fn new(
        program: &'a Program,
        op: &'a Op,
        no_grad: &'a dyn Fn(&str) -> bool,
        grad_block: Option<usize>,
    ) -> Grad<'a> {
        Grad { program, op, no_grad, grad_block, gradient: None, ops: Vec::new() }
    }

    /// The operators emitted.
    pub fn into_ops(self) -> Vec<Op> {
        self.ops
    }

    /// The forward operator.
    pub fn op(&self) -> &'a Op {
        self.op
    }

    /// The block of gradients of the operator's sub-block.
    pub fn grad_block(&self) -> Result<usize> {
        self.grad_block.ok_or_else(|| Error::internal(format!("`{}` has no block of gradients", self.op.op_type)))
    }

    /// Does the forward operator have a variable in this input or output slot?
    pub fn has(&self, slot: &str) -> bool {
        !self.arguments(slot).is_empty()
    }

    /// The variables of a forward slot; for `S@GRAD` with a forward output `S`, their gradients. When the forward operator
    /// is itself a gradient operator, `Out@GRAD` may be a slot of its own.
    pub fn arguments(&self, slot: &str) -> Vec<Name> {
        for slots in [&self.op.inputs, &self.op.outputs] {
            if !slots.get(slot).is_empty() {
                return slots.get(slot).to_vec();
            }
        }
        let output = slot.strip_suffix(GRAD).unwrap_or_default();
        self.op.outputs.get(output).iter().map(|n| grad_name(n)).collect()
    }

    /// The gradients of the variables of a forward input slot; `@EMPTY@` where a gradient is not needed.
    pub fn input_grads(&self, slot: &str) -> Vec<Name> {
        let want = |n: &Name| {
            let grad = grad_name(n);
            if *n == EMPTY || (self.no_grad)(&grad) { EMPTY.into() } else { grad }
        };
        self.op.inputs.get(slot).iter().map(want).collect()
    }

    /// Makes a gradient operator with the forward operator's attributes. `reads` are forward slots (`X`, `Out`) and gradients of
    /// forward outputs (`Out@GRAD`); `writes` are gradients of forward inputs (`X@GRAD`). Unwanted gradients are left out of a slot.
    pub fn make(&self, op_type: &str, reads: &[&str], writes: &[&str]) -> Op {
        let mut op = self.make_keeping(op_type, reads, writes);
        for (_, args) in op.outputs.iter_mut() {
            args.retain(|n| *n != EMPTY);
        }
        op
    }

    /// Like [`Grad::make`], but unwanted gradients stand as `@EMPTY@`, for slots whose positions matter.
    pub fn make_keeping(&self, op_type: &str, reads: &[&str], writes: &[&str]) -> Op {
        let mut op = Op::new(op_type);
        op.attrs = self.op.attrs.clone();
        op.site = self.op.site.clone();
        for slot in reads {
            op.inputs.set(*slot, self.arguments(slot));
        }
        for slot in writes {
            let base = slot.strip_suffix(GRAD).unwrap_or(slot);
            op.outputs.set(*slot, self.input_grads(base));
        }
        op
    }

    /// Makes and emits a gradient operator that reads and writes what its signature names, see [`Grad::make`].
    pub fn emit_for(&mut self, def: &dyn OpDef) -> Result<()> {
        let sig = def.sig();
        let names = |slots: &[SlotSig]| slots.iter().map(|s| s.name).collect::<Vec<_>>();
        self.emit(sig.op_type, &names(&sig.inputs), &names(&sig.outputs))
    }

    /// Emits the gradient operator that the registry knows for the forward operator; without one, the error that names it.
    pub fn emit_gradient(&mut self) -> Result<()> {
        match self.gradient {
            Some(gradient) => gradient.emit(self),
            None => self.no_gradient(),
        }
    }

    /// Makes and emits a gradient operator, see [`Grad::make`].
    pub fn emit(&mut self, op_type: &str, reads: &[&str], writes: &[&str]) -> Result<()> {
        let op = self.make(op_type, reads, writes);
        self.push(op)
    }

    /// Makes and emits a gradient operator, see [`Grad::make_keeping`].
    pub fn emit_keeping(&mut self, op_type: &str, reads: &[&str], writes: &[&str]) -> Result<()> {
        let op = self.make_keeping(op_type, reads, writes);
        self.push(op)
    }

    /// Emits an operator.
    pub fn push(&mut self, op: Op) -> Result<()> {
        self.ops.push(op);
        Ok(())
    }

    /// The error of an operator without gradient.
    pub fn no_gradient(&self) -> Result<()> {
        Err(Error::new(
            Kind::NoGradient,
            format!("`{}` has no gradient, but the loss depends on its output through it", self.op.op_type),
        )
        .help("set stop_gradient on its inputs or outputs if no gradient should flow there, or use another operator"))
    }

    /// An attribute of the forward operator.
    pub fn attr(&self, name: &str) -> Option<&'a Attr> {
        self.op.attrs.get(name)
    }
}
