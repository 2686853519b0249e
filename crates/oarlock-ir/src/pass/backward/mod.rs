//! Automatic gradients: appends the operators that compute the gradient of a loss.
//!
//! Operators, names and order are those of Fluid 1.8, because saved programs, other passes and users' scripts refer to them.
//! A pass goes through these steps:
//! 1. [`path`]: which operators lead to the loss, and into which variables no gradient flows;
//! 2. [`emit`]: their gradient operators, last operator first, sub-blocks included; or [`recompute`]: the same, but what lies
//!    between checkpoints is computed again first;
//! 3. [`accumulate`]: a sum where a variable receives several gradients;
//! 4. [`prune`]: gradient operators that are not needed are dropped, gradients that nothing computes become zeros;
//! 5. [`rename`]: names that an earlier pass over the same program took are avoided;
//! 6. [`declare`]: the variables are declared, with types by inference.
//!
//! Apart from `fill_constant`, `fill_zeros_like`, `seed`, `shape` and `sum`, which it emits itself, it knows no operator:
//! what an operator's gradient is stands in `OpDef::grad`.

mod accumulate;
mod declare;
mod emit;
mod path;
mod prune;
mod recompute;
mod rename;

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;

use crate::error::{Error, Kind, Result};
use crate::grad::{GRAD, grad_name};
use crate::registry::Registry;
use crate::{Attr, Name, Op, Program, Role, Var, VarDType, fail};

/// The suffix of the names of partial gradients, after the full name.
const PARTIAL: &str = "@RENAME@";

/// Called after each gradient operator is appended: the program, the block whose last operator it is, and the map from the
/// names of gradients to the variables they are gradients of. It may append operators to that block.
pub type AfterGradientOp<'a> = dyn Fn(&mut Program, usize, &HashMap<Name, Name>) -> Result<()> + 'a;

/// The gradients that a backward pass should and should not compute.
pub struct BackwardOptions<'a> {
    /// The parameters whose gradients are returned; `None` for all that are trainable.
    pub parameter_list: Option<Vec<Name>>,
    /// Variables into which no gradient flows, besides those marked `stop_gradient`.
    pub no_grad_set: HashSet<Name>,
    /// Called after each gradient operator.
    pub after_op: Option<&'a AfterGradientOp<'a>>,
    /// Variables to keep from the forward pass; what lies between them is computed again when its gradient is due. Empty to keep
    /// everything.
    pub checkpoints: &'a [Name],
}

/// The variables that [`gradients`] differentiates.
pub struct GradientTargets<'a> {
    /// The block from which the names are seen.
    pub block: usize,
    /// The variables to differentiate.
    pub names: &'a [Name],
    /// The gradient each of them receives; ones where `None`. Empty if all receive ones.
    pub gradients: &'a [Option<Name>],
}

/// Appends the gradient of a loss with respect to the parameters; returns pairs of a parameter and its gradient.
///
/// `loss` is a variable and the block in which it is minimised. In block 0 the gradient is appended to that block; inside
/// control flow it becomes a block of its own, which the operator around it must run. On an error the program stays as it was.
pub fn append_backward(
    program: &mut Program,
    loss: (usize, &str),
    registry: &Registry,
    options: &BackwardOptions<'_>,
) -> Result<Vec<(Name, Name)>> {
    undo_on_error(program, |program| minimise(program, loss, registry, options))
}

fn minimise(
    program: &mut Program,
    (block, loss): (usize, &str),
    registry: &Registry,
    options: &BackwardOptions<'_>,
) -> Result<Vec<(Name, Name)>> {
    let home = home_of(program, block, loss)?;
    let seed = seed_of_loss(program, home, loss)?;
    if block == 0 {
        program.backward_passes += 1;
    }
    let listed = options.parameter_list.as_deref();
    let mut pass = Pass::new(program, registry, options.after_op);
    pass.stop_at(block, &options.no_grad_set);
    pass.stop_at_untrainable(listed.unwrap_or_default());

    let mut paths = Vec::new();
    for b in pass.outwards(block) {
        let reached = path::seen_from(pass.program, b, home, [Name::from(loss)].into());
        paths.push((b, pass.path_to_loss(b, reached)?));
    }
    if !options.checkpoints.is_empty() {
        paths = pass.prepare_to_recompute(paths)?;
    }
    let target =
        if block == 0 { 0 } else { pass.add_gradient_block(block, pass.program.block(block).parent.unwrap_or(0)) };
    let start = pass.program.block(target).ops.len();
    pass.program.block_mut(target).ops.push(seed);
    for (b, path) in paths {
        if !options.checkpoints.is_empty() {
            pass.emit_recomputing(&path, options.checkpoints)?;
            continue;
        }
        let flowing = (block == 0 && pass.order() > 1).then(|| HashSet::from([grad_name(loss)]));
        pass.emit(b, &path, target, flowing)?;
    }
    pass.finish(target, start, IndexMap::new())?;

    let parameters = match listed {
        Some(list) => list.to_vec(),
        None => pass.program.parameters().filter(|p| p.meta.trainable).map(|p| p.name.clone()).collect(),
    };
    Ok(pass.mark_parameter_gradients(parameters, target))
}

/// Appends the gradient of variables with respect to `inputs`; returns the gradient of each input, or `None` if it has no
/// influence. `no_grad_set` names variables into which no gradient flows. On an error the program stays as it was.
pub fn gradients(
    program: &mut Program,
    targets: &GradientTargets<'_>,
    inputs: &[Name],
    no_grad_set: &HashSet<Name>,
    registry: &Registry,
) -> Result<Vec<Option<Name>>> {
    undo_on_error(program, |program| {
        let block = block_of_targets(program, targets)?;
        program.backward_passes += 1;
        let mut pass = Pass::new(program, registry, None);
        pass.stop_at(block, no_grad_set);
        let path = pass.path_between(block, inputs, targets.names.iter().cloned().collect())?;

        let start = pass.program.block(block).ops.len();
        let mut flowing = HashSet::new();
        let mut given = IndexMap::new();
        for (i, target) in targets.names.iter().enumerate() {
            match targets.gradients.get(i).and_then(|g| g.as_ref()) {
                Some(grad) => {
                    check_same_shape(pass.program, block, target, grad)?;
                    // It takes its own name when the operators stand.
                    flowing.insert(grad_name(target));
                    given.insert(grad_name(target), grad.clone());
                }
                None => {
                    let ones = ones_like(pass.program.expect_var(block, target)?);
                    flowing.extend(ones.iter().flat_map(|op| op.outputs.args()).cloned());
                    pass.program.block_mut(block).ops.extend(ones);
                }
            }
        }
        let flowing = (pass.order() > 1).then_some(flowing);
        pass.emit(block, &path, block, flowing)?;
        pass.finish(block, start, given)?;
        Ok(inputs.iter().map(|n| pass.found.get(n).map(|(grad, _)| grad.clone())).collect())
    })
}

/// Runs `change`; if it fails, puts the program back as it was.
fn undo_on_error<T>(program: &mut Program, change: impl FnOnce(&mut Program) -> Result<T>) -> Result<T> {
    let (blocks, passes) = (program.blocks().to_vec(), program.backward_passes);
    let result = change(program);
    if result.is_err() {
        *program.blocks_mut() = blocks;
        program.backward_passes = passes;
    }
    result
}

/// Variables of one block into which no gradient flows, and the names of unwanted gradients.
#[derive(Default)]
struct NoGrad {
    vars: HashSet<Name>,
    grads: HashSet<Name>,
}

impl NoGrad {
    fn add(&mut self, var: &Name) {
        self.grads.insert(grad_name(var));
        self.vars.insert(var.clone());
    }
}

/// One backward pass over a program.
struct Pass<'a> {
    program: &'a mut Program,
    registry: &'a Registry,
    after_op: Option<&'a AfterGradientOp<'a>>,
    /// For each block that was there before the pass.
    no_grad: Vec<NoGrad>,
    /// From the name of a gradient to the variable it is the gradient of.
    grad_to_var: HashMap<Name, Name>,
    /// From a variable to its gradient and the block that declares the gradient.
    found: HashMap<Name, (Name, usize)>,
}

impl<'a> Pass<'a> {
    fn new(program: &'a mut Program, registry: &'a Registry, after_op: Option<&'a AfterGradientOp<'a>>) -> Pass<'a> {
        let mut no_grad = Vec::new();
        for block in program.blocks() {
            let mut stopped = NoGrad::default();
            block.vars.values().filter(|v| v.meta.stop_gradient).for_each(|v| stopped.add(&v.name));
            no_grad.push(stopped);
        }
        Pass { program, registry, after_op, no_grad, grad_to_var: HashMap::new(), found: HashMap::new() }
    }

    /// Which pass over this program it is, from 1.
    fn order(&self) -> usize {
        self.program.backward_passes
    }

    /// No gradient flows into these variables, as seen from `block`. Undeclared names are harmless.
    fn stop_at(&mut self, block: usize, names: &HashSet<Name>) {
        #[expect(clippy::iter_over_hash_type, reason = "the order does not matter: sets are filled")]
        for name in names {
            let home = self.program.resolve(block, name).unwrap_or(0);
            self.no_grad[home].add(name);
        }
    }

    /// No gradient flows into parameters that are not trained, unless asked for.
    fn stop_at_untrainable(&mut self, asked: &[Name]) {
        for p in self.program.parameters().filter(|p| !p.meta.trainable && !asked.contains(&p.name)) {
            self.no_grad[0].add(&p.name);
        }
    }

    /// `block`, then the blocks around it.
    fn outwards(&self, block: usize) -> Vec<usize> {
        std::iter::successors(Some(block), |&b| self.program.block(b).parent).collect()
    }

    /// Adds a block for the gradients of block `forward`; returns its index.
    fn add_gradient_block(&mut self, forward: usize, parent: usize) -> usize {
        let idx = self.program.add_block(parent);
        self.program.block_mut(idx).forward = Some(forward);
        idx
    }

    /// The steps after all gradient operators stand in `target` from `start` on.
    fn finish(&mut self, target: usize, start: usize, given: IndexMap<Name, Name>) -> Result<()> {
        self.avoid_taken_names(target, start, given);
        self.declare(target, start, &HashSet::new())
    }

    /// Notes each parameter with its gradient on the operator that completes the gradient; returns the pairs.
    fn mark_parameter_gradients(&mut self, parameters: Vec<Name>, target: usize) -> Vec<(Name, Name)> {
        let mut pairs = Vec::new();
        for param in parameters {
            let Some((grad, block)) = self.found.get(&param).cloned() else { continue };
            // A gradient that never leaves a sub-block is of no use to an optimizer outside.
            if block != target {
                continue;
            }
            let ops = &mut self.program.block_mut(block).ops;
            if let Some(op) = ops.iter_mut().rev().find(|op| op.outputs.args().any(|n| *n == grad)) {
                note_parameter(op, &param, &grad);
            }
            pairs.push((param, grad));
        }
        pairs
    }
}

/// Puts a parameter and its gradient in front of the operator's `op_role_var`.
fn note_parameter(op: &mut Op, param: &Name, grad: &Name) {
    let mut noted = vec![param.to_string(), grad.to_string()];
    if let Some(Attr::Strings(before)) = op.attrs.get("op_role_var") {
        noted.extend(before.iter().cloned());
    }
    op.attrs.set("op_role_var", noted);
}

/// Marks the operator that computes the loss; returns the operator that sets the gradient of the loss to 1.
fn seed_of_loss(program: &mut Program, home: usize, loss: &str) -> Result<Op> {
    let dtype = dtype_number(program.expect_var(home, loss)?);
    let writer = program.block_mut(home).ops.iter_mut().rev().find(|op| op.outputs.args().any(|n| n == loss));
    let Some(op) = writer else {
        return Err(Error::new(Kind::Argument, format!("no operator of block {home} computes the loss `{loss}`"))
            .help("minimise a variable that the program computes, such as the result of layers.mean"));
    };
    op.set_role(Role::FORWARD.and(Role::LOSS));
    let device = op.attrs.get("op_device").cloned().unwrap_or_else(|| "".into());
    Ok(Op::new("fill_constant")
        .output("Out", [grad_name(loss)])
        .attr("shape", vec![1i64])
        .attr("value", 1.0f32)
        .attr("dtype", dtype)
        .attr("force_cpu", false)
        .attr("op_role", Role::BACKWARD.and(Role::LOSS).0)
        .attr("op_device", device))
}

/// The operators that set a variable's gradient to ones of its size.
fn ones_like(var: &Var) -> Vec<Op> {
    let shape = Name::from(format!("{}_shape", var.name));
    let size = backward_op("shape").input("Input", [&var.name]).output("Out", [&shape]);
    let ones = backward_op("fill_constant")
        .input("ShapeTensor", [&shape])
        .output("Out", [grad_name(&var.name)])
        .attr("shape", var.shape.to_i64())
        .attr("value", 1.0f32)
        .attr("dtype", dtype_number(var));
    vec![size, ones]
}

/// An operator that the pass itself adds.
fn backward_op(op_type: &str) -> Op {
    Op::new(op_type).attr("op_role", Role::BACKWARD.0).attr("op_device", "")
}

/// The block that declares the variable.
fn home_of(program: &Program, block: usize, name: &str) -> Result<usize> {
    match program.resolve(block, name) {
        Some(home) => Ok(home),
        None => fail!(Kind::Unknown, "there is no variable `{name}` in block {block} or around it"),
    }
}

fn dtype_number(var: &Var) -> i32 {
    match var.dtype {
        VarDType::Is(d) => d.proto(),
        VarDType::Other(n) => n,
    }
}

/// The block that declares all targets.
fn block_of_targets(program: &Program, targets: &GradientTargets<'_>) -> Result<usize> {
    let (names, grads) = (targets.names, targets.gradients);
    if !grads.is_empty() && grads.len() != names.len() {
        fail!(Kind::Argument, "{} targets need as many target gradients, not {}", names.len(), grads.len());
    }
    let mut home = None;
    for name in names {
        let block = home_of(program, targets.block, name)?;
        if *home.get_or_insert(block) != block {
            fail!(
                Kind::Argument,
                "all targets must be of one block, but `{name}` is not of the block of `{}`",
                names[0]
            );
        }
    }
    match home {
        Some(block) => Ok(block),
        None => fail!(Kind::Argument, "gradients of no targets were asked for"),
    }
}

fn check_same_shape(program: &Program, block: usize, target: &Name, grad: &Name) -> Result<()> {
    let (t, g) = (program.expect_var(block, target)?, program.expect_var(block, grad)?);
    if t.shape != g.shape {
        fail!(Kind::Shape, "`{target}` is {} but the gradient `{grad}` given for it is {}", t.ty(), g.ty());
    }
    Ok(())
}

/// Is it the name of a gradient, partial ones included? Names are all that tells gradients apart here: operators' `grad`
/// functions make them, and a variable becomes a gradient by being named as one.
fn is_grad(name: &str) -> bool {
    name.contains(GRAD)
}

/// The variable of the network that `grad` is a gradient of, partial ones and gradients of gradients included.
fn forward_name<'a>(grad: &'a str, grad_to_var: &'a HashMap<Name, Name>) -> &'a str {
    let full = grad.rsplit_once(PARTIAL).map_or(grad, |(full, _)| full);
    let var = grad_to_var.get(grad).or_else(|| grad_to_var.get(full)).map_or(grad, |var| var.as_str());
    var.split_once(GRAD).map_or(var, |(forward, _)| forward)
}

/// The block that an operator runs.
fn sub_block(op: &Op) -> Option<usize> {
    match op.attrs.get("sub_block") {
        Some(Attr::Block(b)) => Some(*b),
        _ => None,
    }
}
