//! Layers on eager tensors.
//!
//! A layer appends operators to a program and nothing else, so calling one eagerly is building it into an empty program, in which its
//! arguments are variables `i0`, `i1`, ..., and running the operators. Every declared layer works eagerly that way. Building takes
//! longer than most operators, so what was built is kept for calls with the same arguments and sizes.

use std::collections::HashMap;
use std::sync::Arc;

use oarlock_exec::eager::{Args as CallArgs, EagerEngine, EagerTensor, OpHandle, Target};
use oarlock_ir::{EMPTY, Error, Kind, Name, Op, Program, Result, SlotSig, Slots, Var};
use parking_lot::Mutex;

use crate::declare::{self, Args, Declaration};
use crate::{Net, VarRef};

/// How many calls are kept before all are forgotten.
const MOST_KEPT: usize = 4096;

/// The tensors that a layer returns.
#[derive(Debug, Clone)]
pub enum Made {
    /// None.
    Nothing,
    /// One.
    One(EagerTensor),
    /// Several, each with its meaning.
    Tuple(Vec<Made>),
    /// A list of any length.
    List(Vec<EagerTensor>),
}

/// The name of the argument at a position, for [`crate::declare::Arg::Var`].
pub fn argument(at: usize) -> VarRef {
    VarRef::new(format!("i{at}"), 0)
}

/// Calls layers, and keeps what was built for them.
#[derive(Default)]
pub struct LayerCalls {
    kept: Mutex<HashMap<Vec<u8>, Arc<Recipe>>>,
}

impl LayerCalls {
    /// Calls a layer. Its [`Args`] name the tensors of `inputs` by [`argument`]. Parameters that it makes are new in every call.
    #[track_caller]
    pub fn call(
        &self,
        engine: &EagerEngine,
        net: &mut Net,
        layer: &Declaration,
        args: &Args,
        inputs: &[EagerTensor],
    ) -> Result<Made> {
        let key = key_of(net, layer, args, inputs)?;
        if let Some(recipe) = key.as_ref().and_then(|key| self.kept.lock().get(key).cloned()) {
            return recipe.run(engine, inputs.to_vec());
        }
        let (built, parameters) = build(engine, net, layer, args, inputs)?;
        let recipe = Arc::new(built);
        if let (Some(key), true) = (key, parameters.is_empty()) {
            let mut kept = self.kept.lock();
            if kept.len() >= MOST_KEPT {
                kept.clear();
            }
            kept.insert(key, recipe.clone());
        }
        recipe.run(engine, inputs.iter().cloned().chain(parameters).collect())
    }
}

/// The layer, the seeds that go into its operators, its plain arguments, and the types of its tensors; `None` if an argument cannot be
/// compared.
fn key_of(net: &Net, layer: &Declaration, args: &Args, inputs: &[EagerTensor]) -> Result<Option<Vec<u8>>> {
    let mut key = Vec::with_capacity(96);
    key.extend((layer.signature.as_ptr() as usize).to_le_bytes());
    key.extend(net.main.random_seed.to_le_bytes());
    key.extend(net.startup.random_seed.to_le_bytes());
    if !args.write_key(&mut key) {
        return Ok(None);
    }
    for tensor in inputs {
        let ty = tensor.var_type()?;
        key.extend([ty.kind.proto() as u8, ty.dtype as u8, ty.lod_level as u8, tensor.stop_gradient().into()]);
        key.push(ty.shape.rank() as u8);
        ty.shape.to_i64().iter().for_each(|n| key.extend(n.to_le_bytes()));
    }
    Ok(Some(key))
}

/// Builds a layer; returns its operators, and the parameters it made, with their first values.
#[track_caller]
fn build(
    engine: &EagerEngine,
    net: &mut Net,
    layer: &Declaration,
    args: &Args,
    inputs: &[EagerTensor],
) -> Result<(Recipe, Vec<EagerTensor>)> {
    let (mut main, mut startup) = (Program::new(), Program::new());
    main.random_seed = net.main.random_seed;
    startup.random_seed = net.startup.random_seed;
    let mut registers = Registers::default();
    for (at, tensor) in inputs.iter().enumerate() {
        let name: Name = format!("i{at}").into();
        let mut var = Var::new(&name, tensor.var_type()?);
        var.meta.stop_gradient = tensor.stop_gradient();
        main.global_mut().set_var(var);
        registers.of(&name);
    }
    let made = net.with_programs(&mut main, &mut startup, |net| layer.call(net, args))?;
    let mut names: Vec<Name> = Vec::new();
    for name in startup.global().ops.iter().flat_map(|op| op.outputs.args()) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    let wanted: Vec<&str> = names.iter().map(Name::as_str).collect();
    let parameters = run_program_once(engine, &startup, &wanted)?;
    for (name, tensor) in names.iter().zip(&parameters) {
        registers.of(name);
        tensor.set_name(name);
        tensor.set_persistable(true);
        tensor.set_stop_gradient(main.find_var(0, name).is_none_or(|v| !v.meta.is_parameter || !v.meta.trainable));
    }
    let mut recipe = Recipe::of(engine, &main, &mut registers)?;
    recipe.made = registers.made(&made)?;
    recipe.registers = registers.names.len();
    Ok((recipe, parameters))
}

/// Runs the operators of block 0 of a program once, without recording them; returns the variables `wanted`.
pub fn run_program_once(engine: &EagerEngine, program: &Program, wanted: &[&str]) -> Result<Vec<EagerTensor>> {
    let mut registers = Registers::default();
    let mut recipe = Recipe::of(engine, program, &mut registers)?;
    recipe.made = Place::List(wanted.iter().map(|&name| registers.find(name)).collect::<Result<_>>()?);
    recipe.registers = registers.names.len();
    let recorded = engine.set_records(false);
    let made = recipe.run(engine, Vec::new());
    engine.set_records(recorded);
    match made? {
        Made::List(list) => Ok(list),
        _ => Err(Error::internal("a list of places gives a list")),
    }
}

/// Operators over registers, the first of which are the inputs.
struct Recipe {
    steps: Vec<Step>,
    registers: usize,
    made: Place,
}

/// One operator of a recipe.
struct Step {
    op: Arc<OpHandle>,
    inputs: Vec<Option<usize>>,
    input_counts: Vec<u16>,
    outputs: Vec<Option<usize>>,
    output_counts: Vec<u16>,
    /// By output: no gradient flows into it.
    stops: Vec<bool>,
    /// For errors.
    place: oarlock_ir::Place,
}

/// Where the results of a layer are.
enum Place {
    Nothing,
    One(usize),
    Tuple(Vec<Place>),
    List(Vec<usize>),
}

/// Registers of variables.
#[derive(Default)]
struct Registers {
    names: Vec<Name>,
}

impl Registers {
    fn of(&mut self, name: &Name) -> usize {
        self.names.iter().position(|n| n == name).unwrap_or_else(|| {
            self.names.push(name.clone());
            self.names.len() - 1
        })
    }

    fn find(&self, name: &str) -> Result<usize> {
        let found = self.names.iter().position(|n| n == name);
        found.ok_or_else(|| Error::new(Kind::Missing, format!("nothing has written `{name}`")))
    }

    fn made(&self, made: &declare::Made) -> Result<Place> {
        Ok(match made {
            declare::Made::Nothing => Place::Nothing,
            declare::Made::One(v) => Place::One(self.find(v.name())?),
            declare::Made::List(list) => Place::List(list.iter().map(|v| self.find(v.name())).collect::<Result<_>>()?),
            declare::Made::Tuple(parts) => Place::Tuple(parts.iter().map(|m| self.made(m)).collect::<Result<_>>()?),
        })
    }
}

impl Recipe {
    /// Of the operators of block 0 of a program.
    fn of(engine: &EagerEngine, program: &Program, registers: &mut Registers) -> Result<Recipe> {
        let mut steps = Vec::new();
        for (at, op) in program.global().ops.iter().enumerate() {
            let step = Step::new(engine, program, op, at, registers).map_err(|e| e.at(|| op.place(0, at)))?;
            steps.push(step);
        }
        Ok(Recipe { steps, registers: registers.names.len(), made: Place::Nothing })
    }

    fn run(&self, engine: &EagerEngine, inputs: Vec<EagerTensor>) -> Result<Made> {
        let mut registers: Vec<Option<EagerTensor>> = inputs.into_iter().map(Some).collect();
        registers.resize(self.registers, None);
        for step in &self.steps {
            step.run(engine, &mut registers).map_err(|e| e.at(|| step.place.clone()))?;
        }
        collect(&self.made, &registers)
    }
}

impl Step {
    fn new(engine: &EagerEngine, program: &Program, op: &Op, at: usize, registers: &mut Registers) -> Result<Step> {
        let mut attrs = op.attrs.clone();
        for common in oarlock_ir::COMMON_ATTRS {
            attrs.remove(common);
        }
        let handle = engine.op(&op.op_type, attrs)?;
        let sig = handle.sig();
        let mut register = |name: &Name| (*name != EMPTY).then(|| registers.of(name));
        let (inputs, input_counts) = by_slot(&sig.inputs, &op.inputs, &mut register);
        let (outputs, output_counts) = by_slot(&sig.outputs, &op.outputs, &mut register);
        let stops = |name: &Name| program.find_var(0, name).is_some_and(|v| v.meta.stop_gradient);
        let stops = sig.outputs.iter().flat_map(|slot| op.outputs.get(slot.name)).map(stops).collect();
        Ok(Step { inputs, input_counts, outputs, output_counts, stops, place: op.place(0, at), op: handle })
    }

    fn run(&self, engine: &EagerEngine, registers: &mut [Option<EagerTensor>]) -> Result<()> {
        let inputs: Vec<Option<EagerTensor>> =
            self.inputs.iter().map(|r| r.and_then(|r| registers[r].clone())).collect();
        let target = |r: &Option<usize>| match r {
            None => Target::Skip,
            Some(r) => registers[*r].clone().map_or(Target::New, Target::Into),
        };
        let outputs: Vec<Target> = self.outputs.iter().map(target).collect();
        let args = CallArgs {
            inputs: &inputs,
            input_counts: &self.input_counts,
            outputs: &outputs,
            output_counts: &self.output_counts,
        };
        let results = engine.call(&self.op, args)?;
        for ((register, result), stop) in self.outputs.iter().zip(results).zip(&self.stops) {
            if let (Some(register), Some(tensor)) = (register, result) {
                if *stop {
                    tensor.set_stop_gradient(true);
                }
                registers[*register] = Some(tensor);
            }
        }
        Ok(())
    }
}

fn collect(place: &Place, registers: &[Option<EagerTensor>]) -> Result<Made> {
    let one = |r: &usize| {
        registers[*r].clone().ok_or_else(|| Error::new(Kind::Missing, "the layer did not compute one of its results"))
    };
    Ok(match place {
        Place::Nothing => Made::Nothing,
        Place::One(r) => Made::One(one(r)?),
        Place::List(list) => Made::List(list.iter().map(one).collect::<Result<_>>()?),
        Place::Tuple(parts) => Made::Tuple(parts.iter().map(|p| collect(p, registers)).collect::<Result<_>>()?),
    })
}

/// The arguments of an operator in the order of its signature, and how many each slot has.
fn by_slot<T>(sig: &[SlotSig], slots: &Slots, mut convert: impl FnMut(&Name) -> T) -> (Vec<T>, Vec<u16>) {
    let (mut flat, mut counts) = (Vec::new(), Vec::new());
    for slot in sig {
        let args = slots.get(slot.name);
        counts.push(args.len() as u16);
        flat.extend(args.iter().map(&mut convert));
    }
    (flat, counts)
}
