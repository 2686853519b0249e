//! Backward passes over recorded operators.
//!
//! Operators are numbered in the order in which they were recorded, so an operator comes after all it depends on. A pass takes the
//! operator with the highest number of those whose outputs have gradients: nothing that is still to come can add to them.

use std::collections::BTreeMap;
use std::sync::Arc;

use oarlock_ir::{Error, Kind, Place, Result, fail};
use oarlock_tensor::{DType, Dims, Tensor, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::args::{Args, Target};
use super::eager_engine::{EagerEngine, filled_like};
use super::grad_plan::{GradPlan, Of};
use super::memory::Held;
use super::node::{Edge, Links, Node, Saved, Work};
use super::tensor::EagerTensor;

/// What happens to a gradient that a leaf has from an earlier pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeafGradient {
    /// The new one takes its place, as in Fluid 1.8.
    Overwrite,
    /// The new one is added to it, as in Paddle 2.
    Accumulate,
}

/// How a backward pass works.
#[derive(Debug, Clone, Copy)]
pub struct BackwardOptions {
    /// Keep what recorded operators saved, for another pass.
    pub retain_graph: bool,
    /// Record the gradient operators, for gradients of gradients.
    pub create_graph: bool,
    /// What happens to earlier gradients of leaves.
    pub leaves: LeafGradient,
}

impl Default for BackwardOptions {
    /// One pass, as in Paddle 2.
    fn default() -> BackwardOptions {
        BackwardOptions { retain_graph: false, create_graph: false, leaves: LeafGradient::Accumulate }
    }
}

type Grads = SmallVec<[Option<EagerTensor>; 2]>;

/// A pass under way.
struct Pass<'a> {
    engine: &'a EagerEngine,
    options: BackwardOptions,
    /// Operators whose outputs have gradients, by number.
    ready: BTreeMap<u64, (Arc<Node>, Grads)>,
    /// Leaves with gradients, in the order in which they were reached.
    leaves: Vec<(EagerTensor, Option<EagerTensor>)>,
    leaf_at: FxHashMap<usize, usize>,
    /// For gradients of chosen tensors: operators to run, and where gradients are picked up.
    only: Option<Only>,
}

/// The part of a graph that leads to chosen tensors.
struct Only {
    /// Numbers of the operators on the way.
    needed: FxHashSet<u64>,
    /// Chosen tensors that are outputs of operators, by number and position.
    outputs: FxHashMap<(u64, usize), usize>,
    /// Chosen tensors that are leaves, by identity.
    leaves: FxHashMap<usize, usize>,
    /// The gradients of the chosen tensors so far.
    found: Vec<Option<EagerTensor>>,
}

impl EagerEngine {
    /// Computes the gradients of `roots` and leaves them in the tensors they depend on. A root comes with its gradient; ones if it
    /// has none.
    pub fn backward(&self, roots: &[(EagerTensor, Option<EagerTensor>)], options: BackwardOptions) -> Result<()> {
        let mut pass = Pass::new(self, options, None);
        for (root, grad) in roots {
            let Some(edge) = root.edge() else { continue };
            let grad = seed(self, root, grad.as_ref())?;
            pass.flow(edge, grad)?;
        }
        pass.run()?;
        pass.finish_leaves()
    }

    /// Computes the gradients of `outputs` with respect to `inputs`; `None` where one does not depend on the other. Leaves no
    /// gradient in any tensor.
    pub fn grad(
        &self,
        outputs: &[(EagerTensor, Option<EagerTensor>)],
        inputs: &[EagerTensor],
        stops: &[EagerTensor],
        options: BackwardOptions,
    ) -> Result<Vec<Option<EagerTensor>>> {
        let roots: Vec<EagerTensor> = outputs.iter().map(|(t, _)| t.clone()).collect();
        let mut pass = Pass::new(self, options, Some(Only::new(&roots, inputs, stops)));
        for (root, grad) in outputs {
            let Some(edge) = root.edge() else { continue };
            let grad = seed(self, root, grad.as_ref())?;
            pass.flow(edge, grad)?;
        }
        pass.run()?;
        Ok(pass.only.map(|only| only.found).unwrap_or_default())
    }
}

/// The gradient that a pass begins with.
fn seed(engine: &EagerEngine, root: &EagerTensor, grad: Option<&EagerTensor>) -> Result<EagerTensor> {
    let (dtype, dims) = (root.dtype()?, root.dims()?);
    match grad {
        Some(grad) if grad.dims()? != dims => {
            fail!(Kind::Shape, "the gradient given for a tensor of {dims} has the sizes {}", grad.dims()?)
        }
        Some(grad) => Ok(grad.clone()),
        None => filled_like(engine, (dtype, dims), 1.0),
    }
}

impl<'a> Pass<'a> {
    fn new(engine: &'a EagerEngine, options: BackwardOptions, only: Option<Only>) -> Pass<'a> {
        Pass { engine, options, ready: BTreeMap::new(), leaves: Vec::new(), leaf_at: FxHashMap::default(), only }
    }

    /// Adds a gradient where an edge leads.
    fn flow(&mut self, edge: Edge, grad: EagerTensor) -> Result<()> {
        let (node, at) = match edge {
            Edge::Leaf(leaf) => return self.flow_to_leaf(leaf, grad),
            Edge::Node(node, at) => (node, at),
        };
        if self.only.as_ref().is_some_and(|only| !only.wants(node.number, at)) {
            return Ok(());
        }
        let (node, grads) = self.ready.entry(node.number).or_insert_with(|| (node, Grads::new()));
        if grads.is_empty() {
            grads.resize(node.outputs.lock().len(), None);
        }
        let sum = match grads[at].take() {
            Some(before) => add(self.engine, before, grad, self.options.create_graph)?,
            None => grad,
        };
        grads[at] = Some(sum);
        Ok(())
    }

    fn flow_to_leaf(&mut self, leaf: EagerTensor, grad: EagerTensor) -> Result<()> {
        let (engine, create_graph) = (self.engine, self.options.create_graph);
        if let Some(only) = &mut self.only {
            if let Some(&at) = only.leaves.get(&leaf.id()) {
                only.add(engine, at, grad, create_graph)?;
            }
            return Ok(());
        }
        let Some(&at) = self.leaf_at.get(&leaf.id()) else {
            self.leaf_at.insert(leaf.id(), self.leaves.len());
            self.leaves.push((leaf, Some(grad)));
            return Ok(());
        };
        let sum = match self.leaves[at].1.take() {
            Some(before) => add(engine, before, grad, create_graph)?,
            None => grad,
        };
        self.leaves[at].1 = Some(sum);
        Ok(())
    }

    /// Runs the gradient operators of all recorded operators that gradients reach.
    fn run(&mut self) -> Result<()> {
        while let Some((_, (node, grads))) = self.ready.pop_last() {
            let grads = with_hooks(&node, grads)?;
            if self.pick_up(&node, &grads)? {
                self.run_node(&node, grads).map_err(|e| e.at(|| place(&node)))?;
            }
        }
        Ok(())
    }

    /// Leaves gradients in the outputs of an operator that something still holds, or keeps those asked for. Is the operator to be
    /// run?
    fn pick_up(&mut self, node: &Arc<Node>, grads: &Grads) -> Result<bool> {
        if let Some(only) = &mut self.only {
            for (at, grad) in grads.iter().enumerate() {
                if let (Some(&i), Some(grad)) = (only.outputs.get(&(node.number, at)), grad) {
                    only.add(self.engine, i, grad.clone(), self.options.create_graph)?;
                }
            }
            return Ok(only.needed.contains(&node.number));
        }
        let outputs = node.outputs.lock().clone();
        for (output, grad) in outputs.iter().zip(grads) {
            if let (Some(inner), Some(grad)) = (output.upgrade(), grad) {
                EagerTensor(inner).set_grad(Some(grad.clone()));
            }
        }
        Ok(true)
    }

    fn run_node(&mut self, node: &Arc<Node>, grads: Grads) -> Result<()> {
        let links = {
            let mut links = node.links.lock();
            if self.options.retain_graph { links.clone() } else { links.take() }
        };
        let Some(Links { work, edges }) = links else { return Err(freed(node)) };
        let results = match &work {
            Work::Custom(gradient) => gradient.backward(grads.into_vec())?,
            Work::Ops { plan, saved, shapes } => {
                check_versions(node, saved)?;
                self.run_plan(node, plan, saved, shapes, &edges, grads)?
            }
        };
        for (edge, grad) in edges.into_iter().zip(results) {
            if let (Some(edge), Some(grad)) = (edge, grad) {
                self.flow(edge, grad)?;
            }
        }
        Ok(())
    }

    /// Runs the gradient operators of one operator; returns the gradients of its inputs.
    fn run_plan(
        &self,
        node: &Arc<Node>,
        plan: &GradPlan,
        saved: &[Saved],
        shapes: &[(DType, Dims)],
        edges: &[Option<Edge>],
        mut grads: Grads,
    ) -> Result<Vec<Option<EagerTensor>>> {
        let mut registers: SmallVec<[Option<EagerTensor>; 8]> = SmallVec::new();
        registers.resize(plan.registers, None);
        let mut kept = saved.iter();
        for source in &plan.saved {
            let Some(saved) = kept.next() else { break };
            registers[source.register] = Some(self.restore(node, source.of, &saved.held, edges));
        }
        for wanted in &plan.out_grads {
            let grad = grads.get_mut(wanted.output).and_then(Option::take);
            registers[wanted.register] = match (grad, shapes.get(wanted.output)) {
                (Some(grad), _) => Some(grad),
                (None, Some(of)) if !wanted.optional => Some(filled_like(self.engine, *of, 0.0)?),
                (None, _) => None,
            };
        }
        for call in &plan.calls {
            let get = |r: &Option<usize>| r.and_then(|r| registers[r].clone());
            let inputs: SmallVec<[Option<EagerTensor>; 6]> = call.inputs.iter().map(get).collect();
            let target = |r: &Option<usize>| if r.is_some() { Target::New } else { Target::Skip };
            let outputs: SmallVec<[Target; 4]> = call.outputs.iter().map(target).collect();
            let args = Args {
                inputs: &inputs,
                input_counts: &call.input_counts,
                outputs: &outputs,
                output_counts: &call.output_counts,
            };
            let results = self.engine.call_and(&call.op, args, self.options.create_graph)?;
            for (register, result) in call.outputs.iter().zip(results) {
                if let Some(register) = register {
                    registers[*register] = result.filter(EagerTensor::has_value);
                }
            }
        }
        let mut found = vec![None; edges.len()];
        for &(input, register) in &plan.results {
            found[input] = registers[register].clone();
        }
        Ok(found)
    }

    /// A saved argument as a tensor; with its place in the graph if gradient operators are recorded.
    fn restore(&self, node: &Arc<Node>, of: Of, held: &Held, edges: &[Option<Edge>]) -> EagerTensor {
        let producer = match of {
            _ if !self.options.create_graph => None,
            Of::Output(at) => Some((node.clone(), at)),
            Of::Input(at) => match edges.get(at).and_then(Option::as_ref) {
                Some(Edge::Leaf(leaf)) => return leaf.clone(),
                Some(Edge::Node(producer, at)) => Some((producer.clone(), *at)),
                None => None,
            },
        };
        EagerTensor::computed(held.clone(), producer)
    }

    /// Leaves the sums in the leaves.
    fn finish_leaves(self) -> Result<()> {
        for (leaf, grad) in self.leaves {
            let Some(mut grad) = grad else { continue };
            for hook in leaf.hooks() {
                grad = hook(&grad)?.unwrap_or(grad);
            }
            let before = leaf.grad().filter(|_| self.options.leaves == LeafGradient::Accumulate);
            let sum = match before {
                Some(before) => {
                    leaf.set_grad(None);
                    add(self.engine, before, grad, self.options.create_graph)?
                }
                None => grad,
            };
            leaf.set_grad(Some(sum));
        }
        Ok(())
    }
}

impl Only {
    fn new(roots: &[EagerTensor], inputs: &[EagerTensor], stops: &[EagerTensor]) -> Only {
        let mut only = Only {
            needed: FxHashSet::default(),
            outputs: FxHashMap::default(),
            leaves: FxHashMap::default(),
            found: vec![None; inputs.len()],
        };
        for (at, input) in inputs.iter().enumerate() {
            match input.producer() {
                Some((node, output)) => only.outputs.insert((node.number, output), at),
                None => only.leaves.insert(input.id(), at),
            };
        }
        only.mark_needed(roots);
        for stop in stops {
            match stop.producer() {
                Some((node, output)) => {
                    only.outputs.remove(&(node.number, output));
                    only.needed.remove(&node.number);
                }
                None => drop(only.leaves.remove(&stop.id())),
            }
        }
        only
    }

    /// Marks the operators from which a chosen tensor can be reached.
    fn mark_needed(&mut self, roots: &[EagerTensor]) {
        let mut nodes: BTreeMap<u64, Arc<Node>> = BTreeMap::new();
        let mut open: Vec<Arc<Node>> = roots.iter().filter_map(|r| Some(r.producer()?.0)).collect();
        while let Some(node) = open.pop() {
            if nodes.insert(node.number, node.clone()).is_none() {
                open.extend(edges_of(&node).into_iter().filter_map(|edge| match edge {
                    Edge::Node(node, _) => Some(node),
                    Edge::Leaf(_) => None,
                }));
            }
        }
        // In ascending order, what an operator depends on is known before it.
        for (number, node) in nodes {
            let leads = |edge: &Edge| match edge {
                Edge::Leaf(leaf) => self.leaves.contains_key(&leaf.id()),
                Edge::Node(node, at) => {
                    self.needed.contains(&node.number) || self.outputs.contains_key(&(node.number, *at))
                }
            };
            if edges_of(&node).iter().any(leads) {
                self.needed.insert(number);
            }
        }
    }

    /// Is the gradient of an output of use?
    fn wants(&self, number: u64, at: usize) -> bool {
        self.needed.contains(&number) || self.outputs.contains_key(&(number, at))
    }

    fn add(&mut self, engine: &EagerEngine, at: usize, grad: EagerTensor, create_graph: bool) -> Result<()> {
        let sum = match self.found[at].take() {
            Some(before) => add(engine, before, grad, create_graph)?,
            None => grad,
        };
        self.found[at] = Some(sum);
        Ok(())
    }
}

fn edges_of(node: &Node) -> Vec<Edge> {
    node.links.lock().iter().flat_map(|links| links.edges.iter().flatten().cloned()).collect()
}

/// The gradients after the hooks of an operator's outputs.
fn with_hooks(node: &Node, mut grads: Grads) -> Result<Grads> {
    let hooks = node.hooks.lock().clone();
    for (at, hook) in hooks {
        if let Some(grad) = &grads[at]
            && let Some(other) = hook(grad)?
        {
            grads[at] = Some(other);
        }
    }
    Ok(grads)
}

/// The sum of two gradients, in the memory of the first if nothing else holds it.
fn add(engine: &EagerEngine, a: EagerTensor, b: EagerTensor, create_graph: bool) -> Result<EagerTensor> {
    if !create_graph && Arc::strong_count(&a.0) == 1 {
        let other = b.held()?;
        let fits = {
            let held = a.held()?;
            matches!((held.value(), other.value()), (Value::Dense(x), Value::Dense(y))
                if x.dtype() == y.dtype() && x.dims() == y.dims() && matches!(x.dtype(), DType::F32 | DType::F64))
        };
        if let (true, Value::Dense(y)) = (fits, other.value()) {
            let mut value = a.take()?;
            add_into(value.dense_mut(), y)?;
            a.put(engine.hold(value));
            return Ok(a);
        }
    }
    let sum = engine.op("sum", Default::default())?;
    let args = Args { inputs: &[Some(a), Some(b)], input_counts: &[2], outputs: &[Target::New], output_counts: &[1] };
    match engine.call_and(&sum, args, create_graph)?.into_iter().next() {
        Some(Some(sum)) => Ok(sum),
        _ => Err(Error::internal("`sum` gave no result")),
    }
}

fn add_into(x: &mut Tensor, y: &Tensor) -> Result<()> {
    let internal = |e: oarlock_tensor::Error| Error::internal(e.to_string());
    oarlock_ir::by_float!(x.dtype(), T => {
        let y = y.data::<T>().map_err(internal)?;
        x.data_mut::<T>().map_err(internal)?.iter_mut().zip(y).for_each(|(x, y)| *x += *y);
    });
    Ok(())
}

fn place(node: &Node) -> Place {
    Place { block: 0, op: node.number as usize, op_type: node.op_type.clone(), site: node.site.clone() }
}

/// Fails if something that gradient operators read was changed in place since the operator ran.
fn check_versions(node: &Node, saved: &[Saved]) -> Result<()> {
    for (tensor, version) in saved.iter().filter_map(|s| s.watched.as_ref()) {
        if let Some(inner) = tensor.upgrade()
            && EagerTensor(inner).version() != *version
        {
            let what = format!("the gradient of `{}` needs a tensor that was changed in place since", node.op_type);
            return Err(Error::new(Kind::Argument, what)
                .help("run backward before the change, or change a copy: an operator without `_` at its end"));
        }
    }
    Ok(())
}

#[cold]
fn freed(node: &Node) -> Error {
    let what = format!("a backward pass has gone through `{}` already, and its graph was freed", node.op_type);
    Error::new(Kind::Argument, what).help("call the first backward with retain_graph=True")
}
