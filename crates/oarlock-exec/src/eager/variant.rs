//! Prepared calls: an operator with its attributes, and a kernel for every combination of arguments it was called with.
//!
//! A call is looked up in two steps. Attributes, dtypes, kinds of values and which arguments there are choose a [`Variant`], which has
//! kernels. The sizes of the inputs then say whether `OpDef::infer` accepted these sizes before. Only on a miss is an operator built
//! and inferred.

use std::sync::Arc;

use oarlock_ir::{
    Attrs, BlockRunner, Cell, EMPTY, Error, Frame, Kernel, Kind, Layout, Name, Op, Prepare, Program, Registry, Result,
    Sig, Var, VarType, fail, infer,
};
use oarlock_tensor::{DType, Dims, Value};
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::args::{Args, Target};
use super::grad_plan::GradPlan;
use super::memory::Held;
use super::tensor::var_type;

/// How many sets of input sizes a variant remembers before it forgets them all.
const MOST_SIZES: usize = 4096;

/// The values of inputs, by position.
pub(crate) type Values = SmallVec<[Option<Held>; 4]>;

/// An operator with its attributes, ready to be called.
pub struct OpHandle {
    registry: Arc<Registry>,
    op_type: Name,
    attrs: Attrs,
    sig: Sig,
    gradient_free: bool,
    variants: RwLock<Vec<(Key, Arc<Variant>)>>,
}

type Key = SmallVec<[u8; 32]>;

/// Sizes of inputs: the rank of each, then its sizes.
type Sizes = SmallVec<[usize; 16]>;

impl OpHandle {
    pub(crate) fn new(registry: &Arc<Registry>, op_type: &str, attrs: Attrs) -> Result<OpHandle> {
        let entry = registry.entry(op_type)?;
        let (sig, gradient_free) = (entry.sig.clone(), entry.traits.gradient_free);
        let variants = RwLock::default();
        Ok(OpHandle { registry: registry.clone(), op_type: op_type.into(), attrs, sig, gradient_free, variants })
    }

    /// The operator's type.
    pub fn op_type(&self) -> &Name {
        &self.op_type
    }

    /// The operator's signature.
    pub fn sig(&self) -> &Sig {
        &self.sig
    }

    /// The attributes, as set.
    pub fn attrs(&self) -> &Attrs {
        &self.attrs
    }

    /// Do gradients stop at this operator on purpose?
    pub(crate) fn is_gradient_free(&self) -> bool {
        self.gradient_free
    }

    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The variant for these arguments; made when it is first asked for.
    pub(crate) fn variant(&self, args: &Args<'_>, values: &Values) -> Result<Arc<Variant>> {
        let key = key_of(args, values);
        if let Some((_, variant)) = self.variants.read().iter().find(|(k, _)| *k == key) {
            return Ok(variant.clone());
        }
        let variant = Arc::new(Variant::new(self, args, values)?);
        self.variants.write().push((key, variant.clone()));
        Ok(variant)
    }

    /// The input that an output may overwrite: both are one tensor, and the operator's traits allow it.
    fn overwritten(&self, args: &Args<'_>, output: usize) -> Option<usize> {
        let Target::Into(tensor) = &args.outputs[output] else { return None };
        let at = args.inputs.iter().position(|i| i.as_ref().is_some_and(|i| i.is(tensor)))?;
        let input = slot_name(&self.sig.inputs, args.input_counts, at)?;
        let output = slot_name(&self.sig.outputs, args.output_counts, output)?;
        self.registry.traits(&self.op_type).in_place.contains(&(input, output)).then_some(at)
    }
}

/// The slot of the argument at a position.
fn slot_name(slots: &[oarlock_ir::SlotSig], counts: &[u16], at: usize) -> Option<&'static str> {
    let mut end = 0;
    let found = slots.iter().zip(counts).find(|(_, n)| {
        end += usize::from(**n);
        at < end
    });
    found.map(|(slot, _)| slot.name)
}

/// What tells variants apart: counts, kinds and dtypes of inputs, kinds of targets.
fn key_of(args: &Args<'_>, values: &Values) -> Key {
    let mut key = Key::new();
    for n in args.input_counts.iter().chain(args.output_counts) {
        key.extend(n.to_le_bytes());
    }
    for value in values {
        key.extend(match value.as_ref().map(Held::value) {
            None => [0, 0],
            Some(Value::Dense(t)) => [1 + 16 * t.lod().len().min(15) as u8, t.dtype() as u8],
            Some(Value::Rows(r)) => [2, r.value.dtype() as u8],
            Some(Value::Array(a)) => [3, a.items().first().map_or(0, |t| t.dtype() as u8)],
            Some(Value::RankTable(_)) => [4, 0],
            Some(Value::Table(_)) => [5, 0],
            Some(Value::Opaque(_)) => [6, 0],
            Some(Value::Empty) => [7, 0],
        });
    }
    for target in args.outputs {
        match target {
            Target::Skip => key.push(0),
            Target::New => key.push(1),
            Target::Into(tensor) => {
                let at = args.inputs.iter().position(|i| i.as_ref().is_some_and(|i| i.is(tensor)));
                key.push(2);
                key.extend(at.map_or(u16::MAX, |at| at as u16).to_le_bytes());
            }
        }
    }
    key
}

/// The name of the input at a position in a variant's operator.
pub(crate) fn input_name(at: usize) -> Name {
    format!("i{at}").into()
}

/// The name of the output at a position in a variant's operator.
pub(crate) fn output_name(at: usize) -> Name {
    format!("o{at}").into()
}

/// An operator that was called with arguments of certain kinds.
pub(crate) struct Variant {
    /// The operator over names that stand for positions.
    pub(crate) op: Op,
    pub(crate) names: Vec<(Name, usize)>,
    /// By output: the slot of the frame, unless it is skipped.
    pub(crate) output_slots: Vec<Option<usize>>,
    /// By output: the input it overwrites.
    pub(crate) overwrites: Vec<Option<usize>>,
    /// The declared types; their sizes are those of the last inference.
    program: Mutex<Program>,
    workers: Mutex<Vec<Worker>>,
    /// Bytes of the outputs, by the sizes of the inputs.
    sizes: Mutex<FxHashMap<Sizes, Arc<[usize]>>>,
    grad_plans: Mutex<Vec<(u128, Option<Arc<GradPlan>>)>>,
}

/// A kernel with the frame it works on. Calls may be nested, so each takes one for itself.
pub(crate) struct Worker {
    pub(crate) kernel: Box<dyn Kernel>,
    pub(crate) frame: Frame,
}

impl Variant {
    fn new(handle: &OpHandle, args: &Args<'_>, values: &Values) -> Result<Variant> {
        let mut op = Op::new(&handle.op_type);
        op.attrs = handle.attrs.clone();
        let mut program = Program::new();
        let mut names = Vec::new();
        let mut at = 0;
        for (slot, &n) in handle.sig.inputs.iter().zip(args.input_counts) {
            let mut variables = Vec::new();
            for _ in 0..n {
                variables.push(match &values[at] {
                    Some(held) => {
                        let name = input_name(at);
                        program.global_mut().set_var(Var::new(&name, var_type(held.value())?));
                        names.push((name.clone(), at));
                        name
                    }
                    None => EMPTY.into(),
                });
                at += 1;
            }
            if n > 0 {
                op.inputs.set(slot.name, variables);
            }
        }
        let (mut output_slots, mut overwrites, mut out) = (Vec::new(), Vec::new(), 0);
        for (slot, &n) in handle.sig.outputs.iter().zip(args.output_counts) {
            let mut variables = Vec::new();
            for _ in 0..n {
                let over = handle.overwritten(args, out);
                overwrites.push(over);
                variables.push(match (&args.outputs[out], over) {
                    (Target::Skip, _) => {
                        output_slots.push(None);
                        EMPTY.into()
                    }
                    (_, Some(input)) => {
                        output_slots.push(Some(input));
                        input_name(input)
                    }
                    (_, None) => {
                        let name = output_name(out);
                        program.global_mut().set_var(Var::new(&name, VarType::tensor(DType::F32, &Dims::EMPTY)));
                        output_slots.push(Some(values.len() + out));
                        names.push((name.clone(), values.len() + out));
                        name
                    }
                });
                out += 1;
            }
            if n > 0 {
                op.outputs.set(slot.name, variables);
            }
        }
        let variant = Variant {
            op,
            names,
            output_slots,
            overwrites,
            program: Mutex::new(program),
            workers: Mutex::default(),
            sizes: Mutex::default(),
            grad_plans: Mutex::default(),
        };
        variant.output_bytes(handle, values)?;
        Ok(variant)
    }

    /// The bytes that each output will take, as far as known, for inputs of these sizes; an error if they do not fit the operator.
    pub(crate) fn output_bytes(&self, handle: &OpHandle, values: &Values) -> Result<Arc<[usize]>> {
        let mut key = Sizes::new();
        for value in values.iter().flatten() {
            if let Value::Dense(t) = value.value() {
                key.push(t.dims().rank());
                key.extend_from_slice(t.dims());
            } else if let Value::Rows(r) = value.value() {
                let dims = r.whole_dims();
                key.push(dims.rank());
                key.extend_from_slice(&dims);
            }
        }
        if let Some(known) = self.sizes.lock().get(&key) {
            return Ok(known.clone());
        }
        let bytes: Arc<[usize]> = self.infer(handle, values)?.into();
        let mut sizes = self.sizes.lock();
        if sizes.len() >= MOST_SIZES {
            sizes.clear();
        }
        sizes.insert(key, bytes.clone());
        Ok(bytes)
    }

    /// Infers the types of the outputs from the values of the inputs, and declares them.
    fn infer(&self, handle: &OpHandle, values: &Values) -> Result<Vec<usize>> {
        let mut program = self.program.lock();
        for (name, at) in self.names.iter().filter(|(_, at)| *at < values.len()) {
            if let (Some(var), Some(held)) = (program.find_var_mut(0, name), &values[*at]) {
                var.set_ty(var_type(held.value())?);
            }
        }
        let found = infer(&program, 0, &self.op, &handle.registry)?;
        let mut bytes = vec![0; self.output_slots.len()];
        for (name, ty) in found {
            let out = self
                .output_slots
                .iter()
                .position(|slot| slot.is_some_and(|slot| self.names.iter().any(|(n, s)| *s == slot && *n == name)));
            if let Some(out) = out {
                bytes[out] = ty.shape.numel().unwrap_or(0).saturating_mul(ty.dtype.size());
            }
            if let Some(var) = program.find_var_mut(0, &name) {
                var.set_ty(ty);
            }
        }
        Ok(bytes)
    }

    /// A kernel with a frame; made if all are at work.
    pub(crate) fn worker(&self, handle: &OpHandle) -> Result<Worker> {
        if let Some(worker) = self.workers.lock().pop() {
            return Ok(worker);
        }
        let entry = handle.registry.entry(&handle.op_type)?;
        let program = self.program.lock();
        let layout = Positions { program: &program, names: &self.names };
        let kernel = entry.def.prepare(&Prepare::new(&self.op, &entry.sig, 0, &layout, &[]))?;
        let slots = self.names.iter().map(|(_, slot)| slot + 1).max().unwrap_or(0);
        Ok(Worker { kernel, frame: Frame::new(slots) })
    }

    /// Takes a worker back.
    pub(crate) fn give_back(&self, worker: Worker) {
        self.workers.lock().push(worker);
    }

    /// The gradient of this call for the inputs whose bits are set; `None` if nothing flows.
    pub(crate) fn grad_plan(
        &self,
        wanted: u128,
        make: impl FnOnce(&Program) -> Result<Option<GradPlan>>,
    ) -> Result<Option<Arc<GradPlan>>> {
        if let Some((_, plan)) = self.grad_plans.lock().iter().find(|(bits, _)| *bits == wanted) {
            return Ok(plan.clone());
        }
        let program = self.program.lock().clone();
        let plan = make(&program)?.map(Arc::new);
        self.grad_plans.lock().push((wanted, plan.clone()));
        Ok(plan)
    }
}

/// The layout of a frame that holds inputs and outputs by position.
struct Positions<'a> {
    program: &'a Program,
    names: &'a [(Name, usize)],
}

impl Layout for Positions<'_> {
    fn program(&self) -> &Program {
        self.program
    }

    fn slot(&self, _block: usize, name: &str) -> Option<usize> {
        self.names.iter().find(|(n, _)| n == name).map(|(_, slot)| *slot)
    }

    fn var(&self, block: usize, name: &str) -> Option<&Var> {
        self.program.find_var(block, name)
    }

    fn locals(&self, _block: usize) -> Vec<usize> {
        Vec::new()
    }
}

/// Eager operators have no blocks: loops and branches are the caller's.
pub(crate) struct NoBlocks;

impl BlockRunner for NoBlocks {
    fn clear_block(&self, _block: usize, _frame: &Frame) {}

    fn run_block(&self, _block: usize, _frame: &Frame) -> Result<()> {
        Err(Error::new(Kind::Unsupported, "an operator with a block runs in a program, not eagerly")
            .help("use `if` and `while` of Python, or a function made static"))
    }
}

/// Empties the slots of a frame.
pub(crate) fn clear(frame: &mut Frame) {
    for slot in 0..frame.len() {
        frame.put(slot, Cell::Vacant);
    }
}

/// An argument list that does not fit the signature.
pub(crate) fn check_counts(handle: &OpHandle, args: &Args<'_>) -> Result<()> {
    let sum = |counts: &[u16]| counts.iter().map(|n| usize::from(*n)).sum::<usize>();
    let fits = args.input_counts.len() <= handle.sig.inputs.len()
        && args.output_counts.len() <= handle.sig.outputs.len()
        && sum(args.input_counts) == args.inputs.len()
        && sum(args.output_counts) == args.outputs.len();
    if !fits {
        fail!(Kind::Argument, "the arguments of `{}` do not fit its signature", handle.op_type);
    }
    Ok(())
}
