//! Optimizer groups: the `sgd`, `momentum` or `adam` operators of several parameters as one.
//!
//! One operator per parameter would update small parameters one after the other on one thread. A group divides all its parameters
//! into pieces of one size and shares them out among the threads. Every element is computed as by the single operator, so the
//! bits are the same. Row-sparse gradients stay with operators of their own.

use std::sync::Arc;

use oarlock_ir::{FuseBlock, Fusion, Infer, Io, Kernel, Name, Op, OpDef, Prepare, Result, Sig, Traits, VarKind};
use oarlock_ir::{by_float, checked_kernel};
use oarlock_ops_training::optimizer::adam::{Adam, AdamStep};
use oarlock_ops_training::optimizer::momentum::{Momentum, MomentumStep};
use oarlock_ops_training::optimizer::row_rule::{RowRule, Slices, Step, Update};
use oarlock_ops_training::optimizer::sgd::{Sgd, SgdStep};
use oarlock_tensor::Float;

pub(crate) const FUSIONS: &[&dyn Fusion] = &[&OptimizerGroup];

/// Elements of a piece: several fit into the first cache with their state, and handing one out costs little beside its work.
const PIECE: usize = 8192;

/// How many parameters are borrowed at once.
const TOGETHER: usize = 16;

struct OptimizerGroup;

impl Fusion for OptimizerGroup {
    fn name(&self) -> &'static str {
        "optimizer_group"
    }

    fn ops(&self) -> &'static [&'static dyn OpDef] {
        static OPS: [&dyn OpDef; 3] = [&FUSED_SGD, &FUSED_MOMENTUM, &FUSED_ADAM];
        &OPS
    }

    fn apply(&self, g: &mut FuseBlock<'_>) -> Result<()> {
        for group in [&FUSED_SGD, &FUSED_MOMENTUM, &FUSED_ADAM] {
            for first in 0..g.len() {
                let members = members(g, group.single, first);
                if let [_, .., last] = members[..] {
                    let op = joined(g, group, &members);
                    g.replace(&members, last, op);
                }
            }
        }
        Ok(())
    }
}

/// The operators that can be done together with the one at `first`, in the place of the last of them.
fn members(g: &FuseBlock<'_>, single: &str, first: usize) -> Vec<usize> {
    let mut members: Vec<usize> = Vec::new();
    let Some(leader) = g.typed(first, single).filter(|op| is_dense(g, op)) else { return members };
    members.push(first);
    for at in first + 1..g.len() {
        let alike = |op: &&Op| is_dense(g, op) && same_kind(g, leader, op);
        let joins = g.typed(at, single).filter(alike).is_some();
        if joins && members.iter().all(|&m| can_wait(g, m, at, &members)) && is_apart(g, at, &members) {
            members.push(at);
        }
    }
    members
}

fn is_dense(g: &FuseBlock<'_>, op: &Op) -> bool {
    let grad = op.inputs.get("Grad").first().and_then(|n| g.block.var(n));
    grad.is_some_and(|v| v.kind == VarKind::Tensor)
}

/// Do both differ in nothing but their variables?
fn same_kind(g: &FuseBlock<'_>, a: &Op, b: &Op) -> bool {
    let dtype = |op: &Op| op.inputs.get("Param").first().and_then(|n| g.block.var(n)).map(|v| v.ty().dtype);
    let slots = |op: &Op| op.inputs.iter().map(|(s, args)| (s.clone(), args.len())).collect::<Vec<_>>();
    let settings = |op: &Op| {
        let own = op.attrs.iter().filter(|(n, _)| !oarlock_ir::COMMON_ATTRS.contains(&n.as_str()));
        own.map(|(n, v)| (n.clone(), v.clone())).collect::<Vec<_>>()
    };
    dtype(a) == dtype(b) && slots(a) == slots(b) && settings(a) == settings(b)
}

/// Can the operator at `from` as well be done at `to`? Nothing between may touch what it writes or write what it reads.
fn can_wait(g: &FuseBlock<'_>, from: usize, to: usize, members: &[usize]) -> bool {
    let Some(op) = g.op(from) else { return false };
    let between = |i: &usize| (from + 1..to).contains(i) && !members.contains(i);
    let free = |name: &Name| !g.readers(name).iter().any(between) && !g.writers(name).iter().any(between);
    op.outputs.args().all(free) && op.inputs.args().all(|n| !g.writers(n).iter().any(between))
}

/// Does the operator at `at` neither read nor write what a member writes?
fn is_apart(g: &FuseBlock<'_>, at: usize, members: &[usize]) -> bool {
    let Some(op) = g.op(at) else { return false };
    let written = |name: &Name| g.writers(name).iter().any(|i| members.contains(i));
    !op.inputs.args().chain(op.outputs.args()).any(written)
}

/// One operator whose slots hold the variables of all members, by position.
fn joined(g: &FuseBlock<'_>, group: &GroupDef, members: &[usize]) -> Op {
    let ops: Vec<&Op> = members.iter().filter_map(|&m| g.op(m)).collect();
    let mut joined = ops[0].clone();
    joined.op_type = group.fused.into();
    for (slot, args) in joined.inputs.iter_mut() {
        *args = ops.iter().flat_map(|op| op.inputs.get(slot)).cloned().collect();
    }
    for (slot, args) in joined.outputs.iter_mut() {
        *args = ops.iter().flat_map(|op| op.outputs.get(slot)).cloned().collect();
    }
    joined
}

/// The member at a position, as the operator it was.
fn member(group: &Op, single: &'static str, k: usize) -> Op {
    let mut op = group.clone();
    op.op_type = single.into();
    let keep = |args: &mut Vec<Name>| *args = args.get(k).cloned().into_iter().collect();
    op.inputs.iter_mut().for_each(|(_, args)| keep(args));
    op.outputs.iter_mut().for_each(|(_, args)| keep(args));
    op
}

/// The operator that stands for several of one kind.
struct GroupDef {
    fused: &'static str,
    single: &'static str,
    def: &'static dyn OpDef,
    prepare: fn(&GroupDef, &Prepare<'_>) -> Result<Box<dyn Kernel>>,
}

static FUSED_SGD: GroupDef = GroupDef { fused: "fused_sgd", single: "sgd", def: &Sgd, prepare: prepare::<SgdStep, 0> };
static FUSED_MOMENTUM: GroupDef =
    GroupDef { fused: "fused_momentum", single: "momentum", def: &Momentum, prepare: prepare::<MomentumStep, 1> };
static FUSED_ADAM: GroupDef =
    GroupDef { fused: "fused_adam", single: "adam", def: &Adam, prepare: prepare::<AdamStep, 2> };

impl OpDef for GroupDef {
    fn sig(&self) -> Sig {
        let mut sig = self.def.sig();
        sig.op_type = self.fused;
        sig.inputs.iter_mut().chain(&mut sig.outputs).for_each(|slot| slot.many = true);
        sig
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        (self.prepare)(self, p)
    }

    fn traits(&self) -> Traits {
        self.def.traits()
    }
}

fn prepare<S: Step<N>, const N: usize>(group: &GroupDef, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
    let sig = group.def.sig();
    let count = p.op().inputs.get("Param").len();
    let one = |k: usize| S::new(&p.of(&member(p.op(), group.single, k), &sig));
    let members: Arc<[(Update<N>, S)]> = (0..count).map(one).collect::<Result<_>>()?;
    let checked = members.clone();
    by_float!(p.float("Param")?, T => checked_kernel(
        move |io| checked.iter().try_for_each(|(update, step)| {
            step.check::<T>(io)?;
            update.check::<T>(io)
        }),
        move |io| members.chunks(TOGETHER).try_for_each(|few| run::<T, S, N>(io, few)),
    ))
}

/// The rest of a parameter that is not updated yet.
type Left<'t, R, T, const N: usize> = Option<(&'t R, Slices<'t, T, N>)>;

/// Updates up to [`TOGETHER`] parameters.
fn run<T: Float, S: Step<N>, const N: usize>(io: &Io<'_>, members: &[(Update<N>, S)]) -> Result<()> {
    let mut rules: [Option<S::Rule<T>>; TOGETHER] = [const { None }; TOGETHER];
    {
        let mut tensors = [const { None }; TOGETHER];
        let mut left: [Left<'_, S::Rule<T>, T, N>; TOGETHER] = [const { None }; TOGETHER];
        let places = rules.iter_mut().zip(&mut tensors).zip(&mut left);
        let mut elements = 0;
        for ((update, step), ((rule, tensors), left)) in members.iter().zip(places) {
            let rule = rule.insert(step.rule::<T>(io)?);
            let slices = update.slices(io, tensors.insert(update.tensors(io)?))?;
            elements += slices.grad.len();
            *left = Some((rule, slices));
        }
        let work = left.iter_mut().flatten().flat_map(|(rule, slices)| {
            std::iter::from_fn(move || (!slices.grad.is_empty()).then(|| (*rule, slices.take(PIECE))))
        });
        // Small parameters are not worth waking a thread for, however many there are.
        io.pool().each(elements.div_ceil(PIECE), work, |(rule, s)| rule.update(s.param, s.state, s.grad));
    }
    members.iter().zip(rules.iter().flatten()).try_for_each(|((_, step), rule)| step.finish(io, rule))
}

#[cfg(test)]
mod tests {
    use oarlock_tensor::Dims;

    use crate::testing::{fusion, noise, tensor};

    /// A program of four updates, the third of another learning rate and the last with another attribute.
    fn program(op: &str, states: &[&str], extra: &str) -> String {
        let mut vars = String::new();
        let mut ops = String::new();
        for (i, shape) in ["[3, 5]", "[20000]", "[1]", "[7]"].iter().enumerate() {
            let rate = if i == 2 { "slow" } else { "rate" };
            for name in ["p", "g"].iter().chain(states) {
                let persistable = if *name == "g" { "" } else { " persistable" };
                let shape = if name.starts_with("Beta") { "[1]" } else { shape };
                vars += &format!("  var {name}{i}: f32{shape}{persistable}\n");
            }
            let ins: String = states.iter().map(|s| format!(", {s}: {s}{i}")).collect();
            let outs: String = states.iter().map(|s| format!(", {s}Out: {s}{i}")).collect();
            let attrs = if i == 3 { extra.replace("0.5", "0.25") } else { extra.to_string() };
            ops +=
                &format!("  ParamOut: p{i}{outs} = {op}(Param: p{i}, Grad: g{i}, LearningRate: {rate}{ins}){attrs}\n");
        }
        format!("program 1008005\nblock 0 {{\n  var rate: f32[1]\n  var slow: f32[1]\n{vars}{ops}}}\n")
    }

    fn check(op: &str, states: &[&str], extra: &str, fused: &[&str]) {
        let text = program(op, states, extra);
        let mut inputs = vec![("rate".to_string(), tensor([1], &[0.1])), ("slow".into(), tensor([1], &[0.01]))];
        for (i, dims) in [&[3, 5][..], &[20000], &[1], &[7]].into_iter().enumerate() {
            for (k, name) in ["p", "g"].iter().chain(states).enumerate() {
                let seed = (7 * i + k) as u32;
                let value = if name.starts_with("Beta") { tensor([1], &[0.9]) } else { noise(Dims::new(dims), seed) };
                let positive = value.data::<f32>().expect("f32").iter().map(|v| v.abs()).collect::<Vec<_>>();
                let value = if k > 1 { tensor(*value.dims(), &positive) } else { value };
                inputs.push((format!("{name}{i}"), value));
            }
        }
        let fetches: Vec<String> =
            (0..4).flat_map(|i| ["p"].iter().chain(states).map(move |n| format!("{n}{i}"))).collect();
        let fetches: Vec<&str> = fetches.iter().map(String::as_str).collect();
        fusion(&text, inputs.iter().map(|(n, t)| (n.as_str(), t.clone())).collect()).run(&fetches, fused);
    }

    #[test]
    fn same_bits() {
        check("sgd", &[], "", &["fused_sgd"]);
        check("momentum", &["Velocity"], " {mu: 0.5}", &["fused_momentum", "momentum"]);
        let adam = ["Moment1", "Moment2", "Beta1Pow", "Beta2Pow"];
        check("adam", &adam, " {beta1: 0.5}", &["fused_adam", "adam"]);
    }

    #[test]
    fn what_is_used_in_between_stays_where_it_is() {
        let text = "program 1008005
block 0 {
  var rate: f32[1]
  var a: f32[3]
  var b: f32[3]
  var g: f32[3]
  var seen: f32[3]
  ParamOut: a = sgd(Param: a, Grad: g, LearningRate: rate)
  seen = scale(X: a) {scale: 2.0}
  ParamOut: b = sgd(Param: b, Grad: seen, LearningRate: rate)
}
";
        let inputs =
            vec![("rate", tensor([1], &[0.5])), ("a", noise([3], 1)), ("b", noise([3], 2)), ("g", noise([3], 3))];
        fusion(text, inputs).run(&["a", "b", "seen"], &["sgd", "sgd"]);
    }
}
