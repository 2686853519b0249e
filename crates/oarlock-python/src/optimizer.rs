//! Optimizers: what Python describes by name and settings.

use oarlock::lr::LearningRate;
use oarlock::optimizer::{self as rules, ParamGrad, Rule};
use oarlock::prelude::*;
use parking_lot::Mutex;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::args::{Args, clip_of, decay_of, var_of};
use crate::builder::{Builder, Context};
use crate::error::IntoPy;

/// An optimizer with what it made so far.
#[pyclass(frozen)]
pub(crate) struct Optimizer {
    inner: Mutex<Option<rules::Optimizer<Box<dyn Rule>>>>,
}

/// The update rule of this name, with its settings.
fn rule_of(name: &str, a: &Args<'_>) -> PyResult<Box<dyn Rule>> {
    Ok(match name {
        "sgd" => Box::new(rules::Sgd {}),
        "momentum" => Box::new(rules::Momentum { momentum: a.f32("momentum")?, use_nesterov: a.bool("use_nesterov")? }),
        "adam" => Box::new(rules::Adam {
            beta1: a.f64("beta1")?,
            beta2: a.f64("beta2")?,
            epsilon: a.f32("epsilon")?,
            lazy_mode: a.bool("lazy_mode")?,
        }),
        "adamax" => {
            Box::new(rules::Adamax { beta1: a.f64("beta1")?, beta2: a.f32("beta2")?, epsilon: a.f32("epsilon")? })
        }
        "adagrad" => Box::new(rules::Adagrad {
            epsilon: a.f32("epsilon")?,
            initial_accumulator_value: a.f64("initial_accumulator_value")?,
        }),
        "adadelta" => Box::new(rules::Adadelta { epsilon: a.f32("epsilon")?, rho: a.f32("rho")? }),
        "rmsprop" => Box::new(rules::RmsProp {
            rho: a.f32("rho")?,
            epsilon: a.f32("epsilon")?,
            momentum: a.f32("momentum")?,
            centered: a.bool("centered")?,
        }),
        "ftrl" => Box::new(rules::Ftrl { l1: a.f32("l1")?, l2: a.f32("l2")?, lr_power: a.f32("lr_power")? }),
        "decayed_adagrad" => Box::new(rules::DecayedAdagrad { decay: a.f32("decay")?, epsilon: a.f32("epsilon")? }),
        "dpsgd" => Box::new(rules::Dpsgd {
            clip: a.f32("clip")?,
            batch_size: a.f32("batch_size")?,
            sigma: a.f32("sigma")?,
            seed: a.i32("seed")?,
        }),
        "lars_momentum" => Box::new(rules::LarsMomentum {
            momentum: a.f32("momentum")?,
            lars_coeff: a.f32("lars_coeff")?,
            lars_weight_decay: a.f32("lars_weight_decay")?,
        }),
        "lamb" => {
            let made = rules::lamb(0.0)
                .lamb_weight_decay(a.f32("lamb_weight_decay")?)
                .betas(a.f64("beta1")?, a.f64("beta2")?)
                .epsilon(a.f32("epsilon")?);
            Box::new(match a.get("exclude_from_weight_decay_fn")? {
                Some(exclude) => made.exclude_from_weight_decay(by_name(exclude.unbind())).rule,
                None => made.rule,
            })
        }
        _ => return Err(PyTypeError::new_err(format!("there is no optimizer `{name}`"))),
    })
}

/// A Python predicate of a parameter, called with something that has its name; one that fails counts as false.
fn by_name(predicate: Py<PyAny>) -> impl Fn(&str) -> bool + Send + Sync + 'static {
    move |name| {
        Python::attach(|py| {
            let named = PyDict::new(py);
            let type_of = |dict: &Bound<'_, PyDict>| {
                dict.set_item("name", name)?;
                let simple = py.import("types")?.getattr("SimpleNamespace")?;
                predicate.bind(py).call1((simple.call((), Some(dict))?,))?.is_truthy()
            };
            type_of(&named).unwrap_or(false)
        })
    }
}

fn vars_of(list: &Bound<'_, PyAny>, seen_from: usize) -> PyResult<Vec<VarRef>> {
    list.try_iter()?
        .map(|item| {
            let item = item?;
            match var_of(&item) {
                Some(var) => Ok(var),
                None => Ok(VarRef::new(item.extract::<String>()?, seen_from)),
            }
        })
        .collect()
}

#[pymethods]
impl Optimizer {
    /// Of a rule by name, with its settings.
    #[new]
    fn new(name: &str, args: Bound<'_, PyDict>) -> PyResult<Optimizer> {
        let args = Args::new(name, args);
        let rate = match args.is_var("learning_rate")? {
            true => LearningRate::Var(args.var("learning_rate")?),
            false => LearningRate::Value(args.f64("learning_rate")?),
        };
        let mut inner = rules::Optimizer::new(rule_of(name, &args)?, rate);
        if let Some(decay) = args.get("regularization")? {
            inner = inner.regularization(decay_of(&decay)?);
        }
        if let Some(clip) = args.get("grad_clip")? {
            inner = inner.grad_clip(clip_of(&clip)?);
            if let Ok(need) = clip.getattr("need_clip")
                && !need.is_none()
            {
                inner = inner.need_clip(by_name(need.unbind()));
            }
        }
        if let Some(name) = args.opt_str("name")? {
            inner = inner.name(name);
        }
        Ok(Optimizer { inner: Mutex::new(Some(inner)) })
    }

    /// Appends the gradient of a loss; returns pairs of parameter and gradient.
    fn backward<'py>(
        &self,
        py: Python<'py>,
        builder: &Builder,
        at: Context<'py>,
        loss: Bound<'py, PyAny>,
        lists: (Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>),
        wrap: Bound<'py, PyAny>,
    ) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let loss = var_of(&loss).ok_or_else(|| PyTypeError::new_err("a loss must be a Variable"))?;
        let (parameters, stopped) = lists;
        let parameters = parameters.map(|l| vars_of(&l, 0)).transpose()?;
        let stopped = stopped.map(|l| vars_of(&l, 0)).transpose()?.unwrap_or_default();
        let pairs = builder.within(&at, |net| {
            let mut inner = self.inner.lock();
            let Some(mut optimizer) = inner.take() else { return Ok(Vec::new()) };
            if let Some(list) = &parameters {
                optimizer = optimizer.parameter_list(&list.iter().collect::<Vec<_>>());
            }
            if !stopped.is_empty() {
                optimizer = optimizer.no_grad_set(&stopped.iter().collect::<Vec<_>>());
            }
            let pairs = optimizer.backward(net, &loss);
            *inner = Some(optimizer);
            pairs.py()
        })?;
        let one = |v: &VarRef| wrap.call1((v.block(), v.name().as_str()));
        pairs.iter().map(|p| PyTuple::new(py, [one(&p.param)?, one(&p.grad)?])).collect()
    }

    /// Appends the updates for pairs of parameter and gradient.
    fn apply_gradients(
        &self,
        builder: &Builder,
        at: Context<'_>,
        pairs: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
    ) -> PyResult<()> {
        let pair = |(param, grad): &(Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            Some(ParamGrad { param: var_of(param)?, grad: var_of(grad)? })
        };
        let pairs: Option<Vec<ParamGrad>> = pairs.iter().map(pair).collect();
        let pairs = pairs.ok_or_else(|| PyTypeError::new_err("apply_gradients takes pairs of Variables"))?;
        builder.within(&at, |net| match &mut *self.inner.lock() {
            Some(optimizer) => optimizer.apply_gradients(net, pairs).py(),
            None => Ok(()),
        })
    }

    /// The variable of the learning rate in a program, once there is one.
    fn learning_rate_var(&self, builder: &Builder, at: Context<'_>) -> PyResult<Option<String>> {
        let find = |net: &mut oarlock::Net| {
            let inner = self.inner.lock();
            Ok(inner.as_ref().and_then(|o| o.learning_rate_var(net)).map(|v| v.name().to_string()))
        };
        builder.within(&at, find)
    }
}
