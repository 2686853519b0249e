//! `conditional_block`: runs a block if a condition holds, or if there is something to run it on.

use std::collections::HashSet;

use oarlock_ir::{Attr, BlockRef, Grad, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, Traits};
use oarlock_ir::{fail, grad_name, kernel};
use oarlock_tensor::Value;

use crate::control::block_steps::{self, StepSlots, Steps};

pub(crate) const OPS: &[&dyn OpDef] = &[&ConditionalBlock, &ConditionalBlockGrad, &ConditionalBlockInfer];

fn forward_sig(op_type: &'static str) -> Sig {
    Sig::new(op_type, "runs `sub_block` if `Cond` holds (one bool), or if every `Input` has elements")
        .optional_inputs("Cond", "the condition, if `is_scalar_condition`")
        .optional_inputs("Input", "variables around the block that it reads")
        .optional_outputs("Out", "variables around the block that it writes; untouched if the block does not run")
        .output("Scope", "what the gradient needs")
        .required_attr("sub_block", "the block to run")
        .attr("is_scalar_condition", false, "`Cond` decides, not `Input`")
        .hints(&["skip_eager_deletion_vars"])
}

/// Decides whether the block runs.
struct Choice {
    scalar: bool,
    cond: Vec<In>,
    inputs: Vec<In>,
}

impl Choice {
    fn new(p: &Prepare<'_>) -> Result<Choice> {
        let choice = Choice {
            scalar: p.attrs().bool("is_scalar_condition")?,
            cond: p.inputs("Cond")?,
            inputs: p.inputs("Input")?,
        };
        if choice.scalar && choice.cond.len() != 1 {
            fail!(Kind::Argument, "`{}` needs one variable in `Cond`, not {}", p.op().op_type, choice.cond.len());
        }
        Ok(choice)
    }

    fn holds(&self, io: &Io<'_>) -> Result<bool> {
        if self.scalar {
            return block_steps::condition(io, self.cond[0]);
        }
        for input in &self.inputs {
            let some = match &*io.value(*input)? {
                Value::Empty => false,
                Value::Dense(t) => t.numel() > 0,
                Value::Rows(r) => !r.rows.is_empty(),
                Value::Array(a) => !a.items().is_empty(),
                _ => true,
            };
            if !some {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn plain_kernel(choice: Choice, block: BlockRef) -> Result<Box<dyn Kernel>> {
    kernel(move |io| if choice.holds(io)? { io.run_block(block) } else { Ok(()) })
}

struct ConditionalBlock;

impl OpDef for ConditionalBlock {
    fn sig(&self) -> Sig {
        forward_sig("conditional_block").traits(Traits { branch: true, ..Traits::NONE })
    }

    // The operators of the block set the types.
    fn infer(&self, _cx: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (choice, block) = (Choice::new(p)?, p.block("sub_block")?);
        if !block_steps::is_read(p, "Scope")? {
            return plain_kernel(choice, block);
        }
        let slots = StepSlots { own: p.locals(block), ..StepSlots::default() };
        let var = p.output("Scope")?.0;
        kernel(move |io| {
            if !choice.holds(io)? {
                return Ok(());
            }
            Steps::record(io, var, &slots, |steps| steps.keep(io.frame(), || io.run_block(block)))
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let reads = ["Cond", "Input", "Out", "Out@GRAD", "Scope"];
        let mut op = g.make_keeping("conditional_block_grad", &reads, &["Input@GRAD"]);
        op.attrs.set("sub_block", Attr::Block(g.grad_block()?));
        op.attrs.remove("skip_eager_deletion_vars");
        g.push(op)
    }
}

struct ConditionalBlockInfer;

impl OpDef for ConditionalBlockInfer {
    fn sig(&self) -> Sig {
        forward_sig("conditional_block_infer")
    }

    fn infer(&self, _cx: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        plain_kernel(Choice::new(p)?, p.block("sub_block")?)
    }
}

struct ConditionalBlockGrad;

impl OpDef for ConditionalBlockGrad {
    fn sig(&self) -> Sig {
        Sig::new("conditional_block_grad", "runs the gradients of the block if the block ran; else gradients are zero")
            .optional_inputs("Cond", "of the forward operator")
            .optional_inputs("Input", "of the forward operator")
            .optional_inputs("Out", "of the forward operator")
            .optional_inputs("Out@GRAD", "gradients of `Out`")
            .input("Scope", "what the forward operator kept")
            .optional_outputs("Input@GRAD", "gradients of `Input`")
            .attrs_of(&forward_sig("conditional_block"))
            .traits(Traits::NONE.maybe_empty(&["Input", "Out", "Out@GRAD", "Scope"]))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        for (i, ty) in cx.inputs("Input")?.into_iter().enumerate() {
            cx.set_nth("Input@GRAD", i, ty);
        }
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (choice, block, scope) = (Choice::new(p)?, p.block("sub_block")?, p.input("Scope")?);
        let (given, wanted) = (given(p, block)?, wanted(p, block)?);
        kernel(move |io| {
            if !choice.holds(io)? {
                return wanted.iter().try_for_each(|w| w.pass_by(io));
            }
            let give = || given.iter().try_for_each(|g| block_steps::copy(io.frame(), g.outer, g.inner));
            Steps::replay(io, scope, |steps| {
                if steps.len() == 0 {
                    return Err(io.op_error(Kind::Missing, "runs, but the forward operator did not"));
                }
                steps.within(io.frame(), 0, &HashSet::new(), || io.run_block_with(block, give))
            })?;
            wanted.iter().try_for_each(|w| w.collect(io))
        })
    }
}

/// A gradient that the block of gradients reads under another name than the operator.
struct Given {
    outer: usize,
    inner: usize,
}

fn given(p: &Prepare<'_>, block: BlockRef) -> Result<Vec<Given>> {
    let mut found = Vec::new();
    for (name, outer) in p.op().inputs.get("Out").iter().zip(p.inputs_by_position("Out@GRAD")?) {
        let inner = p.maybe_in_block(block, &grad_name(name));
        found.extend(outer.zip(inner).map(|(outer, inner)| Given { outer: outer.0, inner }));
    }
    found.retain(|g| g.outer != g.inner);
    Ok(found)
}

/// A gradient that the operator computes.
struct Wanted {
    of: In,
    /// Where the block of gradients writes it, if it does.
    inner: Option<usize>,
    outer: usize,
    /// The gradient from outside, if the block changes the variable: it stays if the block does not run.
    from: Option<usize>,
}

fn wanted(p: &Prepare<'_>, block: BlockRef) -> Result<Vec<Wanted>> {
    let written = block_steps::written_slots(p, block);
    let (outs, from) = (p.op().inputs.get("Out"), p.inputs_by_position("Out@GRAD")?);
    let mut found = Vec::new();
    let inputs = p.op().inputs.get("Input").iter().zip(p.inputs_by_position("Input")?);
    for ((name, of), outer) in inputs.zip(p.outputs("Input@GRAD")?) {
        let (Some(of), Some(outer)) = (of, outer) else { continue };
        let inner = p.maybe_in_block(block, &grad_name(name)).filter(|s| written.contains(s));
        let from = outs.iter().position(|o| o == name).and_then(|i| from.get(i).copied().flatten());
        found.push(Wanted { of, inner, outer: outer.0, from: from.map(|i| i.0) });
    }
    Ok(found)
}

impl Wanted {
    /// The block did not run.
    fn pass_by(&self, io: &Io<'_>) -> Result<()> {
        match self.from {
            Some(from) => block_steps::copy(io.frame(), from, self.outer),
            None => self.zero(io),
        }
    }

    /// The block ran.
    fn collect(&self, io: &Io<'_>) -> Result<()> {
        match self.inner {
            Some(inner) if inner == self.outer => Ok(()),
            Some(inner) => {
                std::mem::swap(&mut *io.write(Out(self.outer))?, &mut *io.write(Out(inner))?);
                Ok(())
            }
            None => self.zero(io),
        }
    }

    fn zero(&self, io: &Io<'_>) -> Result<()> {
        block_steps::zeros_like(&mut *io.write(Out(self.outer))?, &*io.value(self.of)?);
        Ok(())
    }
}
