//! Optimizers of eager parameters.

use std::sync::Arc;

use oarlock::eager::{self, ParamGrad};
use oarlock::ir::VarMeta;
use oarlock::optimizer::{self as rules, Optimizer, Rule};
use oarlock::{Clip, Decay, declare};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::engine;
use super::tensor::VarBase;
use crate::args::{PyArgs, by_name, clip_of, decay_of};
use crate::error::IntoPy;
use crate::tensor::{array_of, owned_tensor_of};

/// Does the gradient of the parameter of this name have a limit?
type NeedClip = dyn Fn(&str) -> bool + Send + Sync;

/// The settings of an optimizer, from which it is made again for every set of parameters.
struct Settings {
    rule: String,
    args: declare::Args,
    decay: Option<Decay>,
    clip: Option<Clip>,
    need: Option<Arc<NeedClip>>,
    name: Option<String>,
}

impl Settings {
    fn make(&self) -> oarlock::Result<Optimizer<Box<dyn Rule>>> {
        let mut made = Optimizer::new(rules::declared(&self.rule, &self.args)?, 0.0);
        if let Some(decay) = self.decay {
            made = made.regularization(decay);
        }
        if let Some(clip) = &self.clip {
            made = made.grad_clip(clip.clone());
        }
        if let Some(need) = self.need.clone() {
            made = made.need_clip(move |name: &str| need(name));
        }
        if let Some(name) = &self.name {
            made = made.name(name);
        }
        Ok(made)
    }
}

/// An optimizer of eager parameters, with its state.
#[pyclass(frozen)]
pub(crate) struct EagerOptimizer {
    inner: Mutex<eager::EagerOptimizer>,
}

#[pymethods]
impl EagerOptimizer {
    /// Of a rule by name, with its settings.
    #[new]
    #[pyo3(signature = (rule, args, clip = None))]
    fn new(rule: &str, args: Bound<'_, PyDict>, clip: Option<Bound<'_, PyAny>>) -> PyResult<EagerOptimizer> {
        let args = PyArgs::new(rule, args)?;
        let decay = args.raw("regularization")?.map(|d| decay_of(&d)).transpose()?;
        let clip = match clip {
            Some(clip) => Some(clip),
            None => args.raw("grad_clip")?,
        };
        let need = match clip.as_ref().map(|c| c.getattr("need_clip")) {
            Some(Ok(need)) if !need.is_none() => Some(Arc::new(by_name(need.unbind())) as Arc<NeedClip>),
            _ => None,
        };
        let settings = Settings {
            rule: rule.into(),
            decay,
            clip: clip.as_ref().map(clip_of).transpose()?,
            need,
            name: args.opt_str("name").py()?,
            args: (*args).clone(),
        };
        let make = Box::new(move || settings.make());
        Ok(EagerOptimizer { inner: Mutex::new(eager::EagerOptimizer::new(engine()?, make, 0.0)) })
    }

    /// Updates parameters: (parameter, gradient, learning rate factor, regularizer or None, trainable, gradient clip or None).
    fn step(&self, py: Python<'_>, rate: f64, pairs: Vec<Bound<'_, PyTuple>>) -> PyResult<()> {
        let mut given = Vec::with_capacity(pairs.len());
        for pair in &pairs {
            let (param, grad): (VarBase, VarBase) = (pair.get_item(0)?.extract()?, pair.get_item(1)?.extract()?);
            let optional = |at: usize| pair.get_item(at).map(|v| Some(v).filter(|v| !v.is_none()));
            let meta = VarMeta {
                learning_rate: pair.get_item(2)?.extract()?,
                regularizer: optional(3)?.map(|d| decay_of(&d)).transpose()?,
                grad_clip: optional(4)?.map(|c| clip_of(&c)).transpose()?,
                ..VarMeta::default()
            };
            given.push(ParamGrad { param: param.tensor, grad: grad.tensor, meta });
        }
        let engine = engine()?;
        py.detach(|| {
            let mut inner = self.inner.lock();
            inner.set_rate(rate);
            inner.step(engine, &given)
        })
        .py()
    }

    /// The state by name, as arrays.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
        let state = self.inner.lock().state().py()?;
        state.iter().map(|(name, t)| Ok((name.to_string(), array_of(py, t)?))).collect()
    }

    /// Takes over state by name.
    fn load_state(&self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = owned_tensor_of(value)?;
        self.inner.lock().load_state(name, value).py()
    }
}
