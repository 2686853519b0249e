//! `while`: runs a block as long as a condition holds.
//!
//! For the gradient each step keeps the values it computed with. A tensor that a step overwrites (`x = f(x)`) is kept as it was
//! before the step, and its gradient goes from step to step; Fluid gives a gradient of zero there.

use std::collections::HashSet;

use oarlock_ir::{
    BlockRef, EMPTY, Error, Grad, In, Infer, Io, Kernel, Kind, Name, OpDef, Out, Prepare, Result, Sig, Traits, VarKind,
    fail, grad_name, kernel, sig,
};
use oarlock_tensor::Value;

use crate::control::block_steps::{self, StepSlots, Steps, Total};

pub(crate) const OPS: &[&dyn OpDef] = &[&While, &WhileGrad];

struct While;

impl OpDef for While {
    sig! {
        "while": "runs `sub_block` as long as `Condition` holds";
        in* "Condition": "one bool, which the block writes";
        in*? "X": "variables around the block that it reads";
        out*? "Out": "variables around the block that it writes";
        out "StepScopes": "what the gradient needs of each step";
        attr "sub_block": "the block to run";
        attr "is_test" = false, "there is no gradient: nothing is kept";
        hints ["skip_eager_deletion_vars"];
    }

    // The operators of the block set the types.
    fn infer(&self, _cx: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (condition, block) = (p.input("Condition")?, p.block("sub_block")?);
        let keep = !p.attrs().flag("is_test") && block_steps::is_read(p, "StepScopes")?;
        if !keep {
            return kernel(move |io| {
                while goes_on(io, condition)? {
                    io.run_block(block)?;
                }
                Ok(())
            });
        }
        let (slots, var) = (step_slots(p, block)?, p.output("StepScopes")?.0);
        kernel(move |io| {
            Steps::record(io, var, &slots, |steps| {
                while goes_on(io, condition)? {
                    steps.keep(io.frame(), || io.run_block(block))?;
                }
                Ok(())
            })
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let block = g.grad_block()?;
        let made = made_in(g, block);
        let mut op = g.make_keeping("while_grad", &["X", "Out", "StepScopes"], &[]);
        let wanted = |n: Name| if made.contains(&n) { n } else { EMPTY.into() };
        op.outputs.set("X@GRAD", g.input_grads("X").into_iter().map(wanted).collect());
        let given = given_to(g, block)?;
        // The names outside may be changed later, those inside may not: the attribute keeps them.
        let names: Vec<String> = given.iter().map(|n| n.to_string()).collect();
        op.attrs.set("original_output_grad", names);
        op.inputs.set("Out@GRAD", given);
        op.attrs.set("sub_block", oarlock_ir::Attr::Block(block));
        op.attrs.set("skip_eager_deletion_vars", Vec::<String>::new());
        g.push(op)
    }
}

/// Does the loop go on? A loop over a block without operators must be stoppable too.
fn goes_on(io: &Io<'_>, condition: In) -> Result<bool> {
    if io.runtime().stopping() {
        fail!(Kind::Interrupted, "the run was interrupted");
    }
    block_steps::condition(io, condition)
}

/// The slots a step keeps. `X` lists what the block reads before it writes it, so such variables are kept as they were before.
fn step_slots(p: &Prepare<'_>, block: BlockRef) -> Result<StepSlots> {
    let mut slots = StepSlots { own: p.locals(block), ..StepSlots::default() };
    let read = p.op().inputs.get("X");
    for (name, out) in p.op().outputs.get("Out").iter().zip(p.outputs("Out")?) {
        let list = if read.contains(name) { &mut slots.before } else { &mut slots.after };
        list.extend(out.map(|o| o.0));
    }
    Ok(slots)
}

/// The variables that the operators of a block of gradients write.
fn made_in(g: &Grad<'_>, block: usize) -> HashSet<Name> {
    g.program.block(block).ops.iter().flat_map(|op| op.outputs.args().cloned()).collect()
}

/// The gradients that a block of gradients reads and neither it nor a forward operator computes: they come from outside.
fn given_to(g: &Grad<'_>, block: usize) -> Result<Vec<Name>> {
    let inner = g.program.block(block);
    let (Some(forward), Some(parent)) = (inner.forward, inner.parent) else {
        return Err(Error::internal(format!("block {block} is no block of gradients")));
    };
    let mut known: HashSet<&Name> = g.op().inputs.get("X").iter().chain(g.op().outputs.get("Out")).collect();
    let declared = |n: &str| g.program.resolve(forward, n).or_else(|| g.program.resolve(parent, n)).is_some();
    let mut given: Vec<Name> = Vec::new();
    for op in &inner.ops {
        for name in op.inputs.args() {
            if !known.contains(name) && !declared(name) && !given.contains(name) {
                given.push(name.clone());
            }
        }
        known.extend(op.outputs.args());
    }
    // Fluid collects them in a hash table, from which the last one comes out first.
    given.reverse();
    Ok(given)
}

struct WhileGrad;

impl OpDef for WhileGrad {
    fn sig(&self) -> Sig {
        Sig::new("while_grad", "runs the gradients of the block for each step, last step first")
            .optional_inputs("X", "of the forward operator")
            .optional_inputs("Out", "of the forward operator")
            .optional_inputs("Out@GRAD", "gradients that the block of gradients reads")
            .input("StepScopes", "what the forward operator kept")
            .optional_outputs("X@GRAD", "gradients of `X`")
            .attr("original_output_grad", Vec::<String>::new(), "`Out@GRAD` as the block of gradients names them")
            .attrs_of(&While.sig())
            .traits(Traits::NONE.maybe_empty(&["Out@GRAD"]))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        for (i, ty) in cx.inputs("X")?.into_iter().enumerate() {
            cx.set_nth("X@GRAD", i, ty);
        }
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let mut backward = Backward::new(p)?;
        let (steps, block) = (p.input("StepScopes")?, p.block("sub_block")?);
        let live = block_steps::written_slots(p, block);
        kernel(move |io| Steps::replay(io, steps, |steps| backward.run(io, steps, &live)))
    }
}

/// The gradient of a loop.
struct Backward {
    block: BlockRef,
    given: Vec<Given>,
    wanted: Vec<Wanted>,
}

/// A gradient that the steps read and do not pass on.
struct Given {
    outer: usize,
    inner: usize,
    /// The variable it is the gradient of.
    of: usize,
    /// Every step overwrites the variable, so the gradient belongs to the last step alone.
    last_only: bool,
    /// The gradient outside, while the block sees zeros in its place.
    aside: Value,
}

/// A gradient that the operator computes.
struct Wanted {
    of: usize,
    inner: usize,
    outer: usize,
    rule: Rule,
    total: Total,
}

/// How the gradients of the steps make the gradient of the loop.
enum Rule {
    /// The variable is the same in all steps: the sum.
    Sum,
    /// Steps overwrite the variable with something that does not depend on it: that of the first step.
    First,
    /// Steps change the variable: each step goes on with the gradient of the step after it, the last one with that from outside.
    Carry(Option<usize>),
}

impl Backward {
    fn new(p: &Prepare<'_>) -> Result<Backward> {
        let block = p.block("sub_block")?;
        let Some(forward) = p.program().block(block.0).forward.map(BlockRef) else {
            fail!(Kind::Verify, "`while_grad` runs block {}, which is no block of gradients", block.0);
        };
        let names = p.attrs().strs("original_output_grad")?;
        let outer = p.inputs_by_position("Out@GRAD")?;
        if names.len() != outer.len() {
            fail!(
                Kind::Verify,
                "`while_grad` has {} variables in `Out@GRAD`, but {} in `original_output_grad`",
                outer.len(),
                names.len()
            );
        }
        let from: Vec<(&str, Option<In>)> = names.iter().map(String::as_str).zip(outer).collect();
        let wanted = wanted(p, block, forward, &from)?;
        let given = given(p, block, forward, &from, &wanted)?;
        Ok(Backward { block, given, wanted })
    }

    fn run(&mut self, io: &Io<'_>, steps: &mut Steps, live: &HashSet<usize>) -> Result<()> {
        self.start(io)?;
        let walked = (0..steps.len()).rev().try_for_each(|step| {
            let last = step + 1 == steps.len();
            steps.within(io.frame(), step, live, || self.step(io, last))
        });
        self.put_back(io)?;
        walked?;
        self.finish(io)
    }

    fn start(&mut self, io: &Io<'_>) -> Result<()> {
        for w in &mut self.wanted {
            w.start(io)?;
        }
        for g in self.given.iter_mut().filter(|g| g.last_only && g.inner == g.outer) {
            copy_value(&*io.value(In(g.outer))?, &mut g.aside)?;
        }
        Ok(())
    }

    fn step(&mut self, io: &Io<'_>, last: bool) -> Result<()> {
        let (given, wanted, block) = (&self.given, &mut self.wanted, self.block);
        io.run_block_with(block, || {
            given.iter().try_for_each(|g| g.hand_in(io, last))?;
            wanted.iter_mut().try_for_each(|w| w.go_on(io))
        })?;
        wanted.iter_mut().try_for_each(|w| w.collect(io))
    }

    /// Puts the gradients back that were replaced by zeros for the earlier steps.
    fn put_back(&mut self, io: &Io<'_>) -> Result<()> {
        for g in self.given.iter_mut().filter(|g| g.last_only && g.inner == g.outer) {
            std::mem::swap(&mut *io.write(Out(g.outer))?, &mut g.aside);
        }
        Ok(())
    }

    fn finish(&mut self, io: &Io<'_>) -> Result<()> {
        for w in &mut self.wanted {
            let like = io.value(In(w.of))?;
            w.total.give(&mut *io.write(Out(w.outer))?, &like);
        }
        Ok(())
    }
}

fn copy_value(from: &Value, to: &mut Value) -> Result<()> {
    to.copy_from(from).map_err(|e| Error::new(Kind::Argument, format!("a gradient {e}")))
}

impl Given {
    fn hand_in(&self, io: &Io<'_>, last: bool) -> Result<()> {
        let missing = io.value(In(self.outer))?.is_empty();
        if missing || (self.last_only && !last) {
            block_steps::zeros_like(&mut *io.write(Out(self.inner))?, &*io.value(In(self.of))?);
            return Ok(());
        }
        block_steps::copy(io.frame(), self.outer, self.inner)
    }
}

impl Wanted {
    fn start(&mut self, io: &Io<'_>) -> Result<()> {
        self.total.reset();
        match self.rule {
            Rule::Carry(Some(from)) if from == self.outer => self.total.start_with(&mut *io.write(Out(from))?),
            Rule::Carry(Some(from)) => copy_value(&*io.value(In(from))?, self.total.start())?,
            Rule::Carry(None) => *self.total.start() = Value::Empty,
            Rule::Sum | Rule::First => return Ok(()),
        }
        let value = self.total.start();
        if value.is_empty() {
            match &*io.value(In(self.of))? {
                // Entries that no step reads are filled in the end.
                Value::Array(_) => value.array_mut().clear(),
                of => block_steps::zeros_like(value, of),
            }
        }
        Ok(())
    }

    fn go_on(&mut self, io: &Io<'_>) -> Result<()> {
        if let Rule::Carry(_) = self.rule {
            self.total.exchange(&mut *io.write(Out(self.inner))?);
        }
        Ok(())
    }

    fn collect(&mut self, io: &Io<'_>) -> Result<()> {
        let mut value = io.write(Out(self.inner))?;
        match self.rule {
            Rule::Sum => self.total.add(&mut value)?,
            Rule::First => self.total.start_with(&mut value),
            Rule::Carry(_) => self.total.exchange(&mut value),
        }
        Ok(())
    }
}

fn wanted(p: &Prepare<'_>, block: BlockRef, forward: BlockRef, from: &[(&str, Option<In>)]) -> Result<Vec<Wanted>> {
    let (names, slots, outer) = (p.op().inputs.get("X"), p.inputs_by_position("X")?, p.outputs("X@GRAD")?);
    if outer.len() != names.len() {
        fail!(Kind::Verify, "`while_grad` has {} variables in `X@GRAD`, but {} in `X`", outer.len(), names.len());
    }
    let mut found = Vec::new();
    for ((name, slot), outer) in names.iter().zip(slots).zip(outer) {
        let (Some(of), Some(outer)) = (slot, outer) else { continue };
        let grad = grad_name(name);
        let inner = p.in_block(block, &grad)?;
        let rule = match from.iter().find(|(n, _)| grad == *n) {
            Some((_, from)) => Rule::Carry(from.map(|i| i.0)),
            None if overwritten(p, forward, name) => Rule::First,
            None => Rule::Sum,
        };
        found.push(Wanted { of: of.0, inner, outer: outer.0, rule, total: Total::default() });
    }
    Ok(found)
}

fn given(
    p: &Prepare<'_>,
    block: BlockRef,
    forward: BlockRef,
    from: &[(&str, Option<In>)],
    wanted: &[Wanted],
) -> Result<Vec<Given>> {
    let outs: Vec<(&Name, Option<In>)> = p.op().inputs.get("Out").iter().zip(p.inputs_by_position("Out")?).collect();
    let mut found = Vec::new();
    for (name, outer) in from {
        let (Some(outer), Some(inner)) = (outer, p.maybe_in_block(block, name)) else { continue };
        if wanted.iter().any(|w| w.inner == inner) {
            continue;
        }
        let Some((of_name, Some(of))) = outs.iter().find(|(n, _)| grad_name(n) == *name) else { continue };
        let last_only = overwritten(p, forward, of_name);
        found.push(Given { outer: outer.0, inner, of: of.0, last_only, aside: Value::Empty });
    }
    Ok(found)
}

/// Does every step give the variable a new value? Arrays are written entry by entry.
fn overwritten(p: &Prepare<'_>, forward: BlockRef, name: &str) -> bool {
    let kind = p.program().find_var(forward.0, name).map(|v| v.kind);
    kind != Some(VarKind::TensorArray) && block_steps::surely_writes(p, forward, name)
}
