//! Layers on eager tensors.
//!
//! A layer appends operators to a program and nothing else, so calling one eagerly is building it into an empty program, in which its
//! arguments are variables `i0`, `i1`, ..., and running the operators. Every declared layer works eagerly that way.

use std::collections::HashMap;

use oarlock_exec::eager::{Args as CallArgs, EagerTensor, Engine, Target};
use oarlock_ir::{EMPTY, Error, Kind, Name, Op, Program, Result, SlotSig, Slots, Var};

use crate::declare::{self, Args, Declaration};
use crate::{Net, VarRef};

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

/// Calls a layer. Its [`Args`] name the tensors of `inputs` by [`argument`]. Parameters that it makes are new in every call.
#[track_caller]
pub fn call_layer(
    engine: &Engine,
    net: &mut Net,
    layer: &Declaration,
    args: &Args,
    inputs: &[EagerTensor],
) -> Result<Made> {
    let (mut main, mut startup) = (Program::new(), Program::new());
    main.random_seed = net.main.random_seed;
    startup.random_seed = net.startup.random_seed;
    let mut values = Values::default();
    for (at, tensor) in inputs.iter().enumerate() {
        let name: Name = format!("i{at}").into();
        let mut var = Var::new(&name, tensor.var_type()?);
        var.meta.stop_gradient = tensor.stop_gradient();
        main.global_mut().set_var(var);
        values.tensors.insert(name, tensor.clone());
    }
    let made = net.with_programs(&mut main, &mut startup, |net| layer.call(net, args))?;
    let recorded = engine.set_records(false);
    let started = values.run(engine, &startup);
    engine.set_records(recorded);
    started?;
    for (name, tensor) in &values.made {
        tensor.set_name(name);
        tensor.set_persistable(true);
        tensor.set_stop_gradient(main.find_var(0, name).is_none_or(|v| !v.meta.is_parameter || !v.meta.trainable));
    }
    values.made.clear();
    values.run(engine, &main)?;
    values.made(&made, &main)
}

/// Runs the operators of block 0 of a program once, without recording them; returns the variables `wanted`.
pub fn run_program_once(engine: &Engine, program: &Program, wanted: &[&str]) -> Result<Vec<EagerTensor>> {
    let mut values = Values::default();
    let recorded = engine.set_records(false);
    let done = values.run(engine, program);
    engine.set_records(recorded);
    done?;
    wanted.iter().map(|name| values.get(name)).collect()
}

/// The tensors of variables.
#[derive(Default)]
struct Values {
    tensors: HashMap<Name, EagerTensor>,
    /// In the order in which they were made.
    made: Vec<(Name, EagerTensor)>,
}

impl Values {
    fn get(&self, name: &str) -> Result<EagerTensor> {
        let found = self.tensors.get(name).cloned();
        found.ok_or_else(|| Error::new(Kind::Missing, format!("nothing has written `{name}`")))
    }

    fn run(&mut self, engine: &Engine, program: &Program) -> Result<()> {
        for (at, op) in program.global().ops.iter().enumerate() {
            self.run_op(engine, program, op).map_err(|e| e.at(|| op.place(0, at)))?;
        }
        Ok(())
    }

    fn run_op(&mut self, engine: &Engine, program: &Program, op: &Op) -> Result<()> {
        let mut attrs = op.attrs.clone();
        for common in oarlock_ir::COMMON_ATTRS {
            attrs.remove(common);
        }
        let handle = engine.op(&op.op_type, attrs)?;
        let sig = handle.sig();
        let (inputs, input_counts) = by_slot(&sig.inputs, &op.inputs, |name| match name == EMPTY {
            true => Ok(None),
            false => self.get(name).map(Some),
        })?;
        let (outputs, output_counts) = by_slot(&sig.outputs, &op.outputs, |name| {
            Ok(match self.tensors.get(name) {
                _ if name == EMPTY => Target::Skip,
                Some(tensor) => Target::Into(tensor.clone()),
                None => Target::New,
            })
        })?;
        let args =
            CallArgs { inputs: &inputs, input_counts: &input_counts, outputs: &outputs, output_counts: &output_counts };
        let results = engine.call(&handle, args)?;
        let names = sig.outputs.iter().flat_map(|slot| op.outputs.get(slot.name));
        for (name, result) in names.zip(results) {
            let Some(tensor) = result else { continue };
            if program.find_var(0, name).is_some_and(|v| v.meta.stop_gradient) {
                tensor.set_stop_gradient(true);
            }
            if self.tensors.insert(name.clone(), tensor.clone()).is_none() {
                self.made.push((name.clone(), tensor));
            }
        }
        Ok(())
    }

    fn made(&self, made: &declare::Made, main: &Program) -> Result<Made> {
        let one = |v: &VarRef| self.get(v.name());
        Ok(match made {
            declare::Made::Nothing => Made::Nothing,
            declare::Made::One(v) => {
                let tensor = one(v)?;
                if main.find_var(0, v.name()).is_some_and(|v| v.meta.stop_gradient) {
                    tensor.set_stop_gradient(true);
                }
                Made::One(tensor)
            }
            declare::Made::List(list) => Made::List(list.iter().map(one).collect::<Result<_>>()?),
            declare::Made::Tuple(parts) => {
                Made::Tuple(parts.iter().map(|m| self.made(m, main)).collect::<Result<_>>()?)
            }
        })
    }
}

/// The arguments of an operator in the order of its signature, and how many each slot has.
fn by_slot<T>(
    sig: &[SlotSig],
    slots: &Slots,
    mut convert: impl FnMut(&Name) -> Result<T>,
) -> Result<(Vec<T>, Vec<u16>)> {
    let (mut flat, mut counts) = (Vec::new(), Vec::new());
    for slot in sig {
        let args = slots.get(slot.name);
        counts.push(args.len() as u16);
        for name in args {
            flat.push(convert(name)?);
        }
    }
    Ok((flat, counts))
}
