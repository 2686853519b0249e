//! Predictors: a saved network held ready to compute.
//!
//! A predictor plans its network once, packs the weights of its layers once, and from then on computes without allocating.
//! It knows files and programs, but no language binding and no network protocol.

mod pack;

use std::path::Path;
use std::sync::Arc;

use oarlock_exec::{Executor, Scope, Session};
use oarlock_io::{InferenceModel, ModelFiles, Store, find_model, persistables, set_vars};
use oarlock_ir::{Error, Kind, Name, Program, Result, nearest};
use oarlock_tensor::{Tensor, Value};

use crate::Options;

/// A network held ready to compute: fill the inputs, run, read the outputs.
///
/// ```no_run
/// # use oarlock::{DType, Options, Predictor, Tensor};
/// # fn main() -> oarlock::Result<()> {
/// let mut predictor = Predictor::load("model".as_ref(), &Options::from_env()?)?;
/// let x = Tensor::zeros(DType::F32, [1, 13]);
/// predictor.input("x")?.copy_from(&x);
/// predictor.run()?;
/// let y = predictor.output_at(0)?.to_f64();
/// # Ok(())
/// # }
/// ```
///
/// One thread uses a predictor at a time; [`Predictor::try_clone`] makes another for another thread, with the same weights.
pub struct Predictor {
    session: Session,
    feeds: Arc<[Name]>,
    fetches: Arc<[Name]>,
    /// Which inputs were filled; a run with one that was not would compute with zeros or nothing at all.
    filled: Vec<bool>,
}

impl Predictor {
    /// Loads the model that a path or URL means: a directory, a prefix, or one of the model's files.
    pub fn load(path: &Path, options: &Options) -> Result<Predictor> {
        let (store, files) = find_model(path)?;
        Predictor::open(&*store, &files, options)
    }

    /// Loads a model from given files of a folder.
    pub fn open(store: &dyn Store, files: &ModelFiles, options: &Options) -> Result<Predictor> {
        let (model, values) = InferenceModel::read_all(&*store.view()?, files)?;
        Predictor::new(&model, values, options)
    }

    /// Takes a network and the values of its variables.
    pub fn new(model: &InferenceModel, values: Vec<(Name, Value)>, options: &Options) -> Result<Predictor> {
        let scope = Scope::new();
        set_vars(&scope, &persistables(&model.program), values)?;
        Predictor::on(&options.executor(), model, &scope)
    }

    /// Takes a network whose variables are in a scope, to be run by an executor.
    pub(crate) fn on(executor: &Executor, model: &InferenceModel, scope: &Scope) -> Result<Predictor> {
        let names = |list: &[Name]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (feeds, fetches) = (names(&model.feeds), names(&model.fetches));
        let feeds: Vec<&str> = feeds.iter().map(String::as_str).collect();
        let fetches: Vec<&str> = fetches.iter().map(String::as_str).collect();
        let program = executor.planned_program(&model.program, &feeds, &fetches)?;
        let program = pack::pack_weights(executor, program, scope)?;
        let session = executor.session(&program, &feeds, &fetches, scope)?;
        drop_unused(scope, &model.program, session.program());
        let filled = vec![false; feeds.len()];
        Ok(Predictor { session, feeds: model.feeds.clone().into(), fetches: model.fetches.clone().into(), filled })
    }

    /// Another predictor for another thread. Both read the same weights; each has inputs and outputs of its own.
    pub fn try_clone(&self) -> Result<Predictor> {
        let (feeds, fetches) = (self.feeds.clone(), self.fetches.clone());
        Ok(Predictor { session: self.session.try_clone()?, filled: vec![false; feeds.len()], feeds, fetches })
    }

    /// The names of the inputs, in the order of the model.
    pub fn inputs(&self) -> &[Name] {
        &self.feeds
    }

    /// The names of the outputs, in the order of the model.
    pub fn outputs(&self) -> &[Name] {
        &self.fetches
    }

    /// The network as it is computed, after fusion and packing.
    pub fn program(&self) -> &Program {
        self.session.program()
    }

    /// The tensor of an input, to fill in place. It keeps its contents until it is filled again.
    pub fn input(&mut self, name: &str) -> Result<&mut Tensor> {
        let at = self.input_number(name)?;
        Ok(self.input_at(at))
    }

    /// The number of an input.
    pub fn input_number(&self, name: &str) -> Result<usize> {
        position(&self.feeds, name, "input")
    }

    /// The number of an output.
    pub fn output_number(&self, name: &str) -> Result<usize> {
        position(&self.fetches, name, "output")
    }

    /// The tensor of an input by its number, to fill. Panics if there is no such input.
    pub fn input_at(&mut self, input: usize) -> &mut Tensor {
        self.filled[input] = true;
        self.session.input_mut(input)
    }

    /// The tensor of an input by its number, to look at or to make ready: that does not count as filling it. Panics if there
    /// is no such input.
    pub fn unfilled_input_at(&mut self, input: usize) -> &mut Tensor {
        self.session.input_mut(input)
    }

    /// Computes the outputs from what the inputs hold. After the first calls it allocates nothing. Fails if an input was
    /// never filled.
    pub fn run(&mut self) -> Result<()> {
        if let Some(missing) = self.filled.iter().position(|filled| !filled) {
            return Err(self.not_given(&self.feeds[missing]));
        }
        self.session.run()
    }

    fn not_given(&self, input: &Name) -> Error {
        let what = format!("input `{input}` is not given");
        Error::new(Kind::Missing, what).help(format!("the model needs {}", list(&self.feeds)))
    }

    /// An output of the last run.
    pub fn output(&self, name: &str) -> Result<&Tensor> {
        self.output_at(self.output_number(name)?)
    }

    /// An output by its number. Panics if there is no such output.
    pub fn output_at(&self, output: usize) -> Result<&Tensor> {
        match self.session.output(output) {
            Value::Dense(tensor) => Ok(tensor),
            Value::Empty => {
                let what = format!("output `{}` has no value yet", self.fetches[output]);
                Err(Error::new(Kind::Missing, what).help("fill the inputs and run the predictor first"))
            }
            other => {
                let what = format!("output `{}` is {}, not a tensor", self.fetches[output], other.kind());
                Err(Error::new(Kind::Unsupported, what))
            }
        }
    }

    /// Fills all inputs, runs, and copies all outputs: for when convenience counts more than speed.
    pub fn predict(&mut self, inputs: &[(&str, &Tensor)]) -> Result<Vec<Tensor>> {
        for (name, _) in inputs {
            self.input_number(name)?;
        }
        if let Some(missing) = self.feeds.iter().find(|f| !inputs.iter().any(|(name, _)| f.as_str() == *name)) {
            return Err(self.not_given(missing));
        }
        for (name, tensor) in inputs {
            self.input(name)?.copy_from(tensor);
        }
        self.run()?;
        (0..self.fetches.len()).map(|i| self.output_at(i).cloned()).collect()
    }
}

fn position(names: &[Name], wanted: &str, what: &str) -> Result<usize> {
    names.iter().position(|n| n.as_str() == wanted).ok_or_else(|| {
        let known: Vec<&str> = names.iter().map(Name::as_str).collect();
        let error = Error::new(Kind::Unknown, format!("the model has no {what} `{wanted}`"));
        match nearest(wanted, &known) {
            Some(close) => error.help(format!("did you mean `{close}`?")),
            None => error.help(format!("it has {}", list(names))),
        }
    })
}

fn list(names: &[Name]) -> String {
    names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}

/// Forgets variables of the model that only their packed copies need.
fn drop_unused(scope: &Scope, model: &Program, planned: &Program) {
    let used = |name: &Name| planned.blocks().iter().flat_map(|b| &b.ops).any(|op| op.inputs.args().any(|n| n == name));
    for var in oarlock_io::persistables(model) {
        if scope.find(&var.name).is_some() && !used(&var.name) {
            scope.erase(&var.name);
        }
    }
}
