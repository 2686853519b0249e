//! Runs operators when they are called, and records them for gradients.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use oarlock_ir::{Attr, Attrs, Cell, Error, Grad, Io, Kind, Name, OpNames, Registry, Result, Runtime};
use oarlock_tensor::{Tensor, Value};
use parking_lot::{Mutex, RwLock};
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;

use super::args::{Args, Call, Results, Target};
use super::grad_plan::{GradPlan, Source};
use super::memory::{FreeLists, Held};
use super::node::{CustomGradient, Edge, Links, Node, Saved, Work};
use super::tensor::EagerTensor;
use super::trace::{Calls, Traced};
use super::variant::{NoBlocks, OpHandle, Values, Variant, check_counts, clear};
use crate::instance::not_finite;
use crate::profile::{Profile, Recorder};

/// Tells the line of the user's program that is running.
pub type FindSite = Arc<dyn Fn() -> Option<Name> + Send + Sync>;

/// Eager mode: operators run when they are called, on the same kernels as programs.
pub struct EagerEngine {
    registry: Arc<Registry>,
    runtime: Arc<Runtime>,
    pub(crate) free: Arc<FreeLists>,
    /// Handles by a hash of operator type and attributes.
    handles: RwLock<FxHashMap<u64, Vec<Arc<OpHandle>>>>,
    records: AtomicBool,
    check_nan_inf: AtomicBool,
    next_number: AtomicU64,
    recorder: RwLock<Option<Arc<Recorder>>>,
    find_site: Mutex<Option<FindSite>>,
    /// Is a trace on? Asked in every call.
    traces: AtomicBool,
    calls: Mutex<Calls>,
}

impl EagerEngine {
    /// An engine of these operators.
    pub fn new(registry: Arc<Registry>, runtime: Arc<Runtime>) -> EagerEngine {
        EagerEngine {
            registry,
            runtime,
            free: Arc::new(FreeLists::new()),
            handles: RwLock::default(),
            records: AtomicBool::new(true),
            check_nan_inf: AtomicBool::new(false),
            next_number: AtomicU64::new(0),
            recorder: RwLock::default(),
            find_site: Mutex::default(),
            traces: AtomicBool::new(false),
            calls: Mutex::default(),
        }
    }

    /// The operators it knows.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Threads and other resources that operators find.
    pub fn runtime(&self) -> &Arc<Runtime> {
        &self.runtime
    }

    /// Are operators recorded for gradients?
    pub fn records(&self) -> bool {
        self.records.load(Ordering::Relaxed)
    }

    /// Says whether operators are recorded from now on; returns what was before.
    pub fn set_records(&self, records: bool) -> bool {
        self.records.swap(records, Ordering::Relaxed)
    }

    /// Looks for nan and infinity in what every operator writes.
    pub fn set_check_nan_inf(&self, check: bool) {
        self.check_nan_inf.store(check, Ordering::Relaxed);
    }

    /// Records the time of every operator from now on.
    pub fn start_profile(&self) {
        *self.recorder.write() = Some(Arc::new(Recorder::new()));
    }

    /// Ends the recording and returns it.
    pub fn stop_profile(&self) -> Option<Profile> {
        let recorder = self.recorder.write().take()?;
        Arc::into_inner(recorder).map(Recorder::finish)
    }

    /// Asks this function for the user's line where an operator without gradient is recorded.
    pub fn set_find_site(&self, find: FindSite) {
        *self.find_site.lock() = Some(find);
    }

    /// A tensor with a value; no gradient flows to it unless told so.
    pub fn tensor(&self, value: impl Into<Value>) -> EagerTensor {
        EagerTensor::new(Some(self.hold(value.into())), true)
    }

    /// A tensor without a value.
    pub fn empty_tensor(&self) -> EagerTensor {
        EagerTensor::new(None, true)
    }

    pub(crate) fn hold(&self, value: Value) -> Held {
        Held::new(value, &self.free)
    }

    /// Gives a tensor another value, as an operator that works in place would: graphs that need the old one notice it.
    pub fn set_value(&self, tensor: &EagerTensor, value: impl Into<Value>) {
        tensor.replace(self.hold(value.into()));
    }

    /// Gives a tensor another value; graphs that need the old one keep it.
    pub fn exchange_value(&self, tensor: &EagerTensor, value: impl Into<Value>) {
        tensor.put(self.hold(value.into()));
    }

    /// Takes the value of a tensor out, to be changed elsewhere; [`EagerEngine::exchange_value`] gives it back.
    pub fn take_value(&self, tensor: &EagerTensor) -> Result<Value> {
        tensor.take()
    }

    /// A call that names its slots and attributes.
    pub fn build(&self, op_type: &str) -> Call<'_> {
        Call::new(self, op_type)
    }

    /// An operator with its attributes; calls of the same one share kernels.
    pub fn op(&self, op_type: &str, attrs: Attrs) -> Result<Arc<OpHandle>> {
        let key = hash_of(op_type, &attrs);
        let is_it = |h: &&Arc<OpHandle>| h.op_type() == op_type && *h.attrs() == attrs;
        if let Some(found) = self.handles.read().get(&key).and_then(|all| all.iter().find(is_it)) {
            return Ok(found.clone());
        }
        let made = Arc::new(OpHandle::new(&self.registry, op_type, attrs)?);
        self.handles.write().entry(key).or_default().push(made.clone());
        Ok(made)
    }

    /// Runs an operator, and records it if an input needs a gradient.
    pub fn call(&self, handle: &Arc<OpHandle>, args: Args<'_>) -> Result<Results> {
        let results = self.call_and(handle, args, self.records())?;
        if self.traces.load(Ordering::Relaxed) {
            self.calls.lock().push(handle, args, &results);
        }
        Ok(results)
    }

    /// Calls `work` and makes a program of the operators it calls. `named` names inputs and outputs, when `work` is done.
    pub fn trace<T>(
        &self,
        work: impl FnOnce() -> Result<T>,
        named: impl FnOnce(&T) -> Vec<(Name, EagerTensor)>,
    ) -> Result<(T, Traced)> {
        if self.traces.swap(true, Ordering::Relaxed) {
            return Err(Error::new(Kind::Argument, "a trace is on already: traces cannot be nested"));
        }
        let result = work();
        self.traces.store(false, Ordering::Relaxed);
        let calls = std::mem::take(&mut *self.calls.lock());
        let result = result?;
        let traced = calls.into_program(&named(&result), &self.registry)?;
        Ok((result, traced))
    }

    /// Runs an operator, and records it on request.
    pub(crate) fn call_and(&self, handle: &OpHandle, args: Args<'_>, record: bool) -> Result<Results> {
        check_counts(handle, &args)?;
        let mut values = Values::new();
        for input in args.inputs {
            values.push(input.as_ref().map(EagerTensor::held).transpose()?);
        }
        let variant = handle.variant(&args, &values)?;
        let bytes = variant.output_bytes(handle, &values)?;
        let mut edges: SmallVec<[Option<Edge>; 4]> = SmallVec::new();
        if record && !handle.is_gradient_free() {
            edges.extend(args.inputs.iter().map(|i| i.as_ref().and_then(EagerTensor::edge)));
        }
        let outputs = self.run(handle, &variant, args, &mut values, &bytes)?;
        let node = match edges.iter().any(Option::is_some) {
            true => self.record(handle, &variant, args, &values, &outputs, edges)?,
            false => None,
        };
        deliver(args, outputs, node)
    }

    /// Runs the kernel; returns the outputs by position. `values` of inputs that were overwritten are the new ones afterwards.
    fn run(
        &self,
        handle: &OpHandle,
        variant: &Variant,
        args: Args<'_>,
        values: &mut Values,
        bytes: &[usize],
    ) -> Result<SmallVec<[Option<Held>; 2]>> {
        if self.runtime.stopping() {
            return Err(Error::new(Kind::Interrupted, "the run was interrupted"));
        }
        let mut worker = variant.worker(handle)?;
        for (at, value) in values.iter().enumerate() {
            if let Some(held) = value {
                worker.frame.put(at, held.cell());
            }
        }
        for (out, slot) in variant.output_slots.iter().enumerate() {
            match (slot, variant.overwrites[out]) {
                (Some(slot), Some(input)) => {
                    // Nothing but the tensor may hold the value that is changed in place.
                    worker.frame.put(*slot, Cell::Vacant);
                    values[input] = None;
                    let Some(tensor) = &args.inputs[input] else { continue };
                    worker.frame.put(*slot, Cell::Local(tensor.take()?));
                }
                (Some(slot), None) => {
                    worker.frame.put(*slot, Cell::Local(Value::Dense(self.free.take(bytes[out]))));
                }
                (None, _) => {}
            }
        }
        let io = Io::new(&worker.frame, &NoBlocks, &self.runtime, OpNames { op: &variant.op, slots: &variant.names });
        let recorder = self.recorder.read().clone();
        let done = match recorder {
            Some(r) => r.time(&variant.op, || worker.kernel.run(&io)),
            None => worker.kernel.run(&io),
        };
        let outputs = self.collect(variant, args, values, &mut worker.frame);
        done?;
        if self.check_nan_inf.load(Ordering::Relaxed) {
            check_finite(handle, &outputs)?;
        }
        clear(&mut worker.frame);
        variant.give_back(worker);
        Ok(outputs)
    }

    /// Moves the outputs out of the frame. Tensors that were changed in place have their values back even after an error.
    fn collect(
        &self,
        variant: &Variant,
        args: Args<'_>,
        values: &mut Values,
        frame: &mut oarlock_ir::Frame,
    ) -> SmallVec<[Option<Held>; 2]> {
        let mut outputs = SmallVec::new();
        for (slot, over) in variant.output_slots.iter().zip(&variant.overwrites) {
            let Some(slot) = slot else {
                outputs.push(None);
                continue;
            };
            let Cell::Local(value) = std::mem::take(frame.cell_mut(*slot)) else {
                outputs.push(None);
                continue;
            };
            let held = self.hold(value);
            if let Some(input) = over {
                values[*input] = Some(held.clone());
                if let Some(tensor) = &args.inputs[*input] {
                    tensor.put(held.clone());
                }
            }
            outputs.push(Some(held));
        }
        outputs
    }

    /// Records a call whose inputs need gradients; `None` if none flows through it.
    fn record(
        &self,
        handle: &OpHandle,
        variant: &Variant,
        args: Args<'_>,
        values: &Values,
        outputs: &[Option<Held>],
        edges: SmallVec<[Option<Edge>; 4]>,
    ) -> Result<Option<Arc<Node>>> {
        let wanted = edges.iter().enumerate().filter(|(_, e)| e.is_some()).fold(0, |bits, (at, _)| bits | bit(at));
        let make = |program: &oarlock_ir::Program| {
            let no_grad = |name: &str| !GradPlan::is_wanted(name, wanted);
            let mut grad = Grad::new(program, &variant.op, &no_grad, None);
            handle.registry().entry(handle.op_type())?.grad(&mut grad)?;
            GradPlan::new(self, &variant.op, &variant.overwrites, grad.into_ops())
        };
        let mut site = None;
        let work = match variant.grad_plan(wanted, make) {
            Ok(None) => return Ok(None),
            Ok(Some(plan)) => {
                let saved = plan.saved.iter().filter_map(|s| saved(s, args, values, outputs)).collect();
                let shapes = match plan.out_grads.len() {
                    0 | 1 => SmallVec::new(),
                    _ => outputs.iter().map(sizes_of).collect(),
                };
                Work::Ops { plan, saved, shapes }
            }
            // The error belongs to a backward pass that comes this way.
            Err(e) if e.kind() == Kind::NoGradient => {
                site = self.site();
                Work::Custom(Arc::new(Fails(e)))
            }
            Err(e) => return Err(e),
        };
        Ok(Some(self.node(handle.op_type().clone(), site, outputs.len(), Links { work, edges })))
    }

    fn site(&self) -> Option<Name> {
        let find = self.find_site.lock().clone();
        find.and_then(|find| find())
    }

    fn node(&self, op_type: Name, site: Option<Name>, outputs: usize, links: Links) -> Arc<Node> {
        let outputs = std::iter::repeat_with(Default::default).take(outputs).collect();
        Arc::new(Node {
            number: self.next_number.fetch_add(1, Ordering::Relaxed),
            op_type,
            site,
            outputs: Mutex::new(outputs),
            hooks: Mutex::default(),
            links: Mutex::new(Some(links)),
        })
    }

    /// Makes tensors of values that a function computed from `inputs`, whose gradient `gradient` computes.
    pub fn record_custom(
        &self,
        name: &str,
        inputs: &[EagerTensor],
        values: Vec<Value>,
        gradient: Arc<dyn CustomGradient>,
    ) -> Vec<EagerTensor> {
        let edges: SmallVec<[Option<Edge>; 4]> = match self.records() {
            true => inputs.iter().map(EagerTensor::edge).collect(),
            false => SmallVec::new(),
        };
        let links = Links { work: Work::Custom(gradient), edges };
        let has_gradient = links.edges.iter().any(Option::is_some);
        let node = has_gradient.then(|| self.node(name.into(), None, values.len(), links));
        let held = values.into_iter().map(|v| Some(self.hold(v)));
        let tensors = held.enumerate().filter_map(|(at, h)| new_tensor(h?, node.as_ref(), at));
        tensors.collect()
    }
}

/// The bit of an input in a set of inputs; those far behind share the last one.
pub(crate) fn bit(at: usize) -> u128 {
    1 << at.min(127)
}

fn new_tensor(held: Held, node: Option<&Arc<Node>>, at: usize) -> Option<EagerTensor> {
    let tensor = EagerTensor::computed(held, node.map(|n| (n.clone(), at)));
    if let Some(node) = node {
        node.outputs.lock()[at] = tensor.downgrade();
    }
    Some(tensor)
}

/// Puts outputs into their targets.
fn deliver(args: Args<'_>, outputs: SmallVec<[Option<Held>; 2]>, node: Option<Arc<Node>>) -> Result<Results> {
    let mut results = Results::new();
    for (at, (held, target)) in outputs.into_iter().zip(args.outputs).enumerate() {
        results.push(match (held, target) {
            (Some(held), Target::New) => new_tensor(held, node.as_ref(), at),
            (Some(held), Target::Into(tensor)) => {
                match &node {
                    Some(node) if !tensor.stop_gradient() => {
                        tensor.become_result(&EagerTensor::computed(held, Some((node.clone(), at))))?;
                    }
                    _ => tensor.put(held),
                }
                Some(tensor.clone())
            }
            _ => None,
        });
    }
    Ok(results)
}

/// What a gradient operator will read.
fn saved(source: &Source, args: Args<'_>, values: &Values, outputs: &[Option<Held>]) -> Option<Saved> {
    match source.of {
        super::grad_plan::Of::Input(at) => {
            let watched = args.inputs[at].as_ref().filter(|_| !source.only_sizes).map(|t| (t.downgrade(), t.version()));
            Some(Saved { held: values[at].clone()?, watched })
        }
        super::grad_plan::Of::Output(at) => Some(Saved { held: outputs[at].clone()?, watched: None }),
    }
}

fn sizes_of(held: &Option<Held>) -> (oarlock_tensor::DType, oarlock_tensor::Dims) {
    match held.as_ref().map(Held::value) {
        Some(Value::Dense(t)) => (t.dtype(), *t.dims()),
        Some(Value::Rows(r)) => (r.value.dtype(), r.whole_dims()),
        _ => (oarlock_tensor::DType::F32, oarlock_tensor::Dims::EMPTY),
    }
}

/// The gradient of an operator that has none.
struct Fails(Error);

impl CustomGradient for Fails {
    fn backward(&self, _grads: Vec<Option<EagerTensor>>) -> Result<Vec<Option<EagerTensor>>> {
        Err(self.0.clone())
    }
}

fn check_finite(handle: &OpHandle, outputs: &[Option<Held>]) -> Result<()> {
    for held in outputs.iter().flatten() {
        let bad = match held.value() {
            Value::Dense(t) => not_finite(t),
            Value::Rows(r) => not_finite(&r.value),
            _ => None,
        };
        if let Some((index, v)) = bad {
            let what = format!("`{}` wrote {v} into its output (element {index})", handle.op_type());
            return Err(Error::new(Kind::Nan, what)
                .help("look at this operator's inputs; a smaller learning rate or gradient clipping often helps"));
        }
    }
    Ok(())
}

fn hash_of(op_type: &str, attrs: &Attrs) -> u64 {
    let mut hasher = FxBuildHasher.build_hasher();
    op_type.hash(&mut hasher);
    for (name, value) in attrs.iter() {
        name.hash(&mut hasher);
        hash_attr(value, &mut hasher);
    }
    hasher.finish()
}

fn hash_attr(value: &Attr, to: &mut impl Hasher) {
    match value {
        Attr::Int(v) => v.hash(to),
        Attr::Bool(v) => v.hash(to),
        Attr::Long(v) => v.hash(to),
        Attr::Float(v) => v.to_bits().hash(to),
        Attr::String(v) => v.hash(to),
        Attr::Ints(v) => v.hash(to),
        Attr::Longs(v) => v.hash(to),
        Attr::Bools(v) => v.hash(to),
        Attr::Strings(v) => v.hash(to),
        Attr::Floats(v) => v.iter().for_each(|v| v.to_bits().hash(to)),
        // Others are rare; handles with the same hash are compared.
        _ => {}
    }
}

/// The value of a tensor of ones like another.
pub(crate) fn filled_like(
    engine: &EagerEngine,
    of: (oarlock_tensor::DType, oarlock_tensor::Dims),
    value: f64,
) -> Result<EagerTensor> {
    let (dtype, dims) = of;
    let mut t = engine.free.take(dims.numel() * dtype.size());
    t.resize(dtype, dims);
    fill(&mut t, value)?;
    Ok(engine.tensor(t))
}

fn fill(t: &mut Tensor, value: f64) -> Result<()> {
    use oarlock_tensor::Element;
    oarlock_tensor::by_element!(t.dtype(), T => {
        let data = t.data_mut::<T>().map_err(|e| Error::internal(e.to_string()))?;
        data.fill(T::from_f64(value));
    });
    Ok(())
}
