//! Which operators of a program update which parameter, and where each of them belongs.
//!
//! A training program ends with operators whose role is "optimize". Those that lead to the update of one parameter
//! (weight decay, the update itself, averages of it) move to the server that holds the parameter. Those that look at
//! several gradients at once stay with the trainer, and so do limits that a parameter asks for, as in Fluid. Operators are
//! told apart by what they read and write; of names only the scope of such limits is looked at, because a limit looks like any
//! other change of a gradient.

use std::collections::{BTreeMap, BTreeSet};

use oarlock_ir::{Attr, Error, Kind, Name, Op, Program, Registry, Result, Role, VarKind};

use super::table::hashed_tables;

/// The update of one parameter.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Update {
    /// The parameter.
    pub(super) param: Name,
    /// The gradient that leaves the trainer.
    pub(super) grad: Name,
    /// Is that gradient row-sparse?
    pub(super) sparse: bool,
    /// The operators of the server, by index in block 0 of the program for one machine.
    pub(super) ops: Vec<usize>,
    /// Which of them updates the parameter.
    pub(super) update_op: usize,
    /// May the parameter be partitioned?
    pub(super) divisible: bool,
}

/// The operators of a program, sorted.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Updates {
    /// In the order of the update operators.
    pub(super) updates: Vec<Update>,
    /// The operators that compute the learning rate.
    pub(super) lr_ops: Vec<usize>,
    /// Operators of the optimizer that stay with the trainer, and count as part of the gradient there.
    pub(super) on_trainer: BTreeSet<usize>,
}

pub(super) fn is_lr(op: &Op) -> bool {
    op.role().has(Role::LR_SCHED)
}

fn is_optimize(op: &Op) -> bool {
    op.role().has(Role::OPTIMIZE) && !is_lr(op)
}

fn is_update(op: &Op) -> bool {
    is_optimize(op) && [op.inputs.get("Param"), op.inputs.get("Grad")].iter().all(|args| args.len() == 1)
}

/// Is it a limit that a parameter asks for? As in Fluid, trainers apply it, each to its own gradient.
pub(super) fn is_clip(op: &Op) -> bool {
    matches!(op.attrs.get("op_namescope"), Some(Attr::String(scope)) if scope.contains("@CLIP"))
}

/// Sorts the operators of block 0.
pub(super) fn find_updates(program: &Program, registry: &Registry) -> Result<Updates> {
    let ops = &program.global().ops;
    let flow = Flow::new(ops, &hashed_tables(program), registry);
    let mut server: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let (mut placed, mut on_trainer) = (BTreeSet::new(), BTreeSet::new());
    for (i, op) in ops.iter().enumerate().filter(|(_, op)| is_optimize(op)) {
        match flow.server_of(i, op, &placed).map_err(|e| e.at(|| op.place(0, i)))? {
            Some(update) => {
                server.entry(update).or_default().push(i);
                placed.insert(i);
            }
            None if !flow.leads_to[i].is_empty() => drop(on_trainer.insert(i)),
            None => {}
        }
    }
    check_once(ops, server.keys())?;
    let updates = server.into_iter().map(|(update_op, own)| describe(program, &flow, update_op, own));
    let updates = updates.collect::<Result<Vec<Update>>>()?;
    let lr_ops = (0..ops.len()).filter(|i| is_lr(&ops[*i])).collect();
    Ok(Updates { updates, lr_ops, on_trainer })
}

fn check_once<'a>(ops: &[Op], mut updates: impl Iterator<Item = &'a usize>) -> Result<()> {
    let mut seen = BTreeSet::new();
    match updates.find(|i| !seen.insert(ops[**i].inputs.get("Param"))) {
        Some(twice) => {
            let op = &ops[*twice];
            let what = format!("parameter `{}` is updated twice in a step", op.inputs.get("Param")[0]);
            let help = "minimize once, or train the two losses in two programs";
            Err(Error::new(Kind::Unsupported, what).at(|| op.place(0, *twice)).help(help))
        }
        None => Ok(()),
    }
}

fn describe(program: &Program, flow: &Flow, update_op: usize, ops: Vec<usize>) -> Result<Update> {
    let all = &program.global().ops;
    let param = all[update_op].inputs.get("Param")[0].clone();
    let from_trainer = |writer: usize| !ops.contains(&writer) && !is_lr(&all[writer]);
    let reads = ops.iter().flat_map(|i| &flow.reads[*i]);
    let sent: BTreeSet<&Name> = reads.filter(|(_, writer)| from_trainer(*writer)).map(|(name, _)| name).collect();
    let place = || all[update_op].place(0, update_op);
    let [grad] = sent.iter().collect::<Vec<_>>()[..] else {
        let list: Vec<&str> = sent.iter().map(|n| n.as_str()).collect();
        let what = format!(
            "the update of `{param}` needs {} variables of the trainer ({}), but one gradient is sent per parameter",
            list.len(),
            list.join(", ")
        );
        return Err(Error::new(Kind::Unsupported, what)
            .at(place)
            .help("use an optimizer whose state depends on one gradient"));
    };
    let sparse = program.expect_var(0, grad).map_err(|e| e.at(place))?.kind == VarKind::SelectedRows;
    let divisible = ops.iter().all(|i| !flow.whole[*i]);
    Ok(Update { param, grad: (*grad).clone(), sparse, ops, update_op, divisible })
}

/// The values that flow from operator to operator.
struct Flow {
    /// For each operator: what it reads, and which operator wrote it.
    reads: Vec<Vec<(Name, usize)>>,
    /// For each operator: does it need a whole parameter or gradient, as for a norm? Then neither may be partitioned.
    whole: Vec<bool>,
    /// For each operator: does it compute the learning rate?
    lr: Vec<bool>,
    /// For each operator of the optimizer: the updates it leads to.
    leads_to: Vec<BTreeSet<usize>>,
    /// For each operator of the optimizer: the updates it follows from.
    follows: Vec<BTreeSet<usize>>,
    /// Updates of tables whose rows are spread over all servers.
    spread: BTreeSet<usize>,
}

impl Flow {
    fn new(ops: &[Op], hashed: &BTreeSet<Name>, registry: &Registry) -> Flow {
        let mut written: BTreeMap<&Name, usize> = BTreeMap::new();
        let mut reads = Vec::new();
        for (i, op) in ops.iter().enumerate() {
            reads.push(op.inputs.args().filter_map(|n| written.get(n).map(|w| (n.clone(), *w))).collect::<Vec<_>>());
            written.extend(op.outputs.args().map(|n| (n, i)));
        }
        let whole = ops.iter().map(|op| registry.traits(&op.op_type).whole_tensor).collect();
        let lr = ops.iter().map(is_lr).collect();
        let (leads_to, follows) = (vec![BTreeSet::new(); ops.len()], vec![BTreeSet::new(); ops.len()]);
        let of_table = |op: &Op| is_update(op) && hashed.contains(&op.inputs.get("Param")[0]);
        let spread = (0..ops.len()).filter(|i| of_table(&ops[*i])).collect();
        let mut flow = Flow { reads, whole, lr, leads_to, follows, spread };
        flow.follow(ops);
        flow
    }

    fn follow(&mut self, ops: &[Op]) {
        for (i, _) in ops.iter().enumerate().filter(|(_, op)| is_optimize(op)) {
            for (_, writer) in self.reads[i].clone() {
                let from = self.follows[writer].clone();
                self.follows[i].extend(from);
                if is_update(&ops[writer]) {
                    self.follows[i].insert(writer);
                }
            }
            let advanced = self.advanced_by(ops, i);
            self.follows[i].extend(advanced);
        }
        for (i, op) in ops.iter().enumerate().rev().filter(|(_, op)| is_optimize(op)) {
            // What only feeds an average of an updated parameter belongs to that update, too.
            let own = if is_update(op) { BTreeSet::from([i]) } else { self.follows[i].clone() };
            self.leads_to[i].extend(own);
            for (_, writer) in self.reads[i].clone() {
                let to = self.leads_to[i].clone();
                self.leads_to[writer].extend(to);
            }
        }
    }

    /// The earlier update whose state an operator changes, such as a power that counts its steps; none if several updates read it.
    fn advanced_by(&self, ops: &[Op], i: usize) -> Option<usize> {
        let reads = |op: &Op, out: &Name| op.inputs.args().any(|x| x == out);
        let earlier = ops[..i].iter().enumerate().filter(|(_, op)| is_update(op) && !is_update(&ops[i]));
        let readers = earlier.filter(|(_, op)| ops[i].outputs.args().any(|out| reads(op, out)));
        let mut readers = readers.map(|(at, _)| at);
        readers.next().filter(|_| readers.next().is_none())
    }

    /// The update whose server runs an operator of the optimizer; `None` if the trainer does. `placed` are the earlier
    /// operators that servers run.
    fn server_of(&self, i: usize, op: &Op, placed: &BTreeSet<usize>) -> Result<Option<usize>> {
        if is_update(op) {
            return Ok(Some(i));
        }
        let only = |set: &BTreeSet<usize>| set.first().copied().filter(|_| set.len() == 1);
        match self.follows[i].len() {
            0 => {}
            1 => return Ok(only(&self.follows[i])),
            n => {
                let what =
                    format!("`{}` reads {n} updated parameters, which may live on different servers", op.op_type);
                return Err(
                    Error::new(Kind::Unsupported, what).help("compute it in a program of its own, after the step")
                );
            }
        }
        // Of the trainer's values a server gets the gradient alone: what joins it with another one is done before.
        let of_trainer = |writer: &usize| !placed.contains(writer) && !self.lr[*writer];
        let joined: BTreeSet<&Name> =
            self.reads[i].iter().filter(|(_, writer)| of_trainer(writer)).map(|(name, _)| name).collect();
        // Nor does any server see the whole gradient of a table that is spread over all.
        let sees_part = |update: &usize| self.spread.contains(update) && self.whole[i];
        Ok(only(&self.leads_to[i]).filter(|update| !is_clip(op) && joined.len() < 2 && !sees_part(update)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn updates(ops: &str) -> Result<Updates> {
        let vars = ["a", "b", "ga", "gb", "da", "sa", "sb", "s", "ca", "cb", "lr", "step", "e"];
        let vars: String = vars.iter().map(|v| format!("var {v}: f32[1]\n")).collect();
        let program = Program::from_text(&format!("block 0 {{\n{vars}{ops}\n}}")).unwrap();
        find_updates(&program, &Registry::new(oarlock_ops::ops(), []))
    }

    #[test]
    fn decay_and_averages_go_with_the_update() {
        let found = updates(
            "step = increment(X: step) {op_role: 16}
             lr = scale(X: step) {op_role: 16}
             ga = mean_grad() {op_role: 1}
             da = scale(X: a) {op_role: 2}
             ga = sum(X: [ga, da]) {op_role: 2}
             ParamOut: a = sgd(Param: a, Grad: ga, LearningRate: lr) {op_role: 2}
             sa = scale(X: e) {op_role: 2}
             e = sum(X: [sa, a]) {op_role: 2}",
        )
        .unwrap();
        assert_eq!(found.lr_ops, [0, 1]);
        assert_eq!(
            (&*found.updates[0].param, &*found.updates[0].grad, &found.updates[0].ops[..]),
            ("a", "ga", &[3, 4, 5, 6, 7][..])
        );
    }

    #[test]
    fn a_state_that_advances_after_the_updates_goes_with_its_own() {
        let found = updates(
            "ga = mean_grad() {op_role: 1}
             gb = mean_grad() {op_role: 1}
             ParamOut: a = adamax(Param: a, Grad: ga, Beta1Pow: sa, LearningRate: lr) {op_role: 2}
             ParamOut: b = adamax(Param: b, Grad: gb, Beta1Pow: sb, LearningRate: lr) {op_role: 2}
             sa = scale(X: sa) {op_role: 2}
             sb = scale(X: sb) {op_role: 2}",
        )
        .unwrap();
        assert_eq!(found.updates.iter().map(|u| &u.ops[..]).collect::<Vec<_>>(), [[2, 4], [3, 5]]);
    }

    const CLIPPED: &str = "ga = mean_grad() {op_role: 1}
             gb = mean_grad() {op_role: 1}
             sa = square(X: ga) {op_role: 2}
             sb = square(X: gb) {op_role: 2}
             s = sum(X: [sa, sb]) {op_role: 2}
             ca = elementwise_mul(X: ga, Y: s) {op_role: 2}
             cb = elementwise_mul(X: gb, Y: s) {op_role: 2}
             ParamOut: a = sgd(Param: a, Grad: ca) {op_role: 2}
             ParamOut: b = sgd(Param: b, Grad: cb) {op_role: 2}";

    #[test]
    fn what_joins_gradients_stays_with_the_trainer() {
        let found = updates(CLIPPED).unwrap();
        assert_eq!(found.on_trainer, BTreeSet::from([2, 3, 4, 5, 6]));
        assert_eq!(found.updates.iter().map(|u| &*u.grad).collect::<Vec<_>>(), ["ca", "cb"]);
    }

    #[test]
    fn decay_after_clipping_goes_to_the_server() {
        let decayed = CLIPPED.replace(
            "ParamOut: a",
            "da = scale(X: a) {op_role: 2}
             ca = sum(X: [ca, da]) {op_role: 2}
             ParamOut: a",
        );
        let found = updates(&decayed).unwrap();
        assert_eq!(found.on_trainer, BTreeSet::from([2, 3, 4, 5, 6]));
        assert_eq!((&*found.updates[0].grad, &found.updates[0].ops[..]), ("ca", &[7, 8, 9][..]));
    }

    #[test]
    fn a_limit_of_a_parameter_is_known_by_its_scope() {
        let text = "ga = mean_grad() {op_role: 1}
             ca = clip(X: ga) {op_role: 2, op_namescope: \"/gradient_clip_@CLIP/\"}
             ParamOut: a = sgd(Param: a, Grad: ca) {op_role: 2}";
        assert_eq!(updates(text).unwrap().updates[0].grad, "ca");
        assert_eq!(updates(&text.replace("_@CLIP", "")).unwrap().updates[0].grad, "ga");
    }

    #[test]
    fn what_cannot_be_placed_is_named() {
        let joined = format!("{CLIPPED}\n e = sum(X: [a, b]) {{op_role: 2}}");
        assert!(updates(&joined).unwrap_err().to_string().contains("`sum` reads 2 updated parameters"));
        let twice = format!("{CLIPPED}\n ParamOut: a = sgd(Param: a, Grad: ca) {{op_role: 2}}");
        assert!(updates(&twice).unwrap_err().to_string().contains("parameter `a` is updated twice in a step"));
    }
}
