//! Optimizers: what Python describes by name and settings.

use oarlock::declare::Args;
use oarlock::lr::LearningRate;
use oarlock::optimizer::{self as rules, Minimize, ParamGrad, Rule};
use oarlock::prelude::*;
use parking_lot::Mutex;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::args::{PyArgs, by_name, clip_of, decay_of, var_of};
use crate::builder::{Builder, Context};
use crate::error::IntoPy;
use crate::program::Program;

/// A rule of updates, or something around one.
enum Inner {
    Plain(Box<rules::Optimizer<Box<dyn Rule>>>),
    Around(Box<dyn Minimize + Send>),
}

/// An optimizer with what it made so far; away while it is part of another.
#[pyclass(frozen)]
pub(crate) struct Optimizer {
    inner: Mutex<Option<Inner>>,
}

fn in_use() -> PyErr {
    PyTypeError::new_err("this optimizer is part of another one: use that")
}

impl Optimizer {
    fn of(inner: Inner) -> Optimizer {
        Optimizer { inner: Mutex::new(Some(inner)) }
    }

    fn take(&self) -> PyResult<Box<dyn Minimize + Send>> {
        match self.inner.lock().take() {
            Some(Inner::Plain(plain)) => Ok(plain),
            Some(Inner::Around(boxed)) => Ok(boxed),
            None => Err(in_use()),
        }
    }
}

fn rate_of(a: &PyArgs<'_>) -> PyResult<LearningRate> {
    Ok(match a.is_var("learning_rate") {
        true => LearningRate::Var(a.var("learning_rate").py()?),
        false => LearningRate::Value(a.f64("learning_rate").py()?),
    })
}

fn pipeline_options(a: &PyArgs<'_>) -> PyResult<rules::PipelineOptions> {
    let lists = |name: &str| -> PyResult<Vec<Bound<'_, PyAny>>> {
        a.raw(name)?.map_or(Ok(Vec::new()), |list| list.try_iter()?.collect())
    };
    let cuts = lists("cut_list")?.iter().map(|cut| vars_of(cut, 0)).collect::<PyResult<Vec<_>>>()?;
    let places = lists("place_list")?.iter().map(|p| Ok(p.repr()?.to_string())).collect::<PyResult<Vec<_>>>()?;
    Ok(rules::PipelineOptions::new()
        .cut_list(cuts)
        .place_list(places)
        .concurrency_list(a.opt("concurrency_list", Args::sizes).py()?.unwrap_or_default())
        .queue_size(a.usize("queue_size").py()?)
        .sync_steps(a.usize("sync_steps").py()?)
        .start_cpu_core_id(a.usize("start_cpu_core_id").py()?))
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
        let args = PyArgs::new(name, args)?;
        let rate = rate_of(&args)?;
        let mut inner = rules::Optimizer::new(rules::declared(name, &args).py()?, rate);
        if let Some(decay) = args.raw("regularization")? {
            inner = inner.regularization(decay_of(&decay)?);
        }
        if let Some(clip) = args.raw("grad_clip")? {
            inner = inner.grad_clip(clip_of(&clip)?);
            if let Ok(need) = clip.getattr("need_clip")
                && !need.is_none()
            {
                inner = inner.need_clip(by_name(need.unbind()));
            }
        }
        if let Some(name) = args.opt_str("name").py()? {
            inner = inner.name(name);
        }
        if let Some(list) = args.raw("parameter_list")? {
            let list = vars_of(&list, 0)?;
            inner = inner.parameter_list(&list.iter().collect::<Vec<_>>());
        }
        Ok(Optimizer::of(Inner::Plain(Box::new(inner))))
    }

    /// Something around another optimizer, which it takes over: `lookahead`, `recompute`, `gradient_merge` or `pipeline`.
    #[staticmethod]
    fn around(name: &str, inner: &Optimizer, args: Bound<'_, PyDict>) -> PyResult<Optimizer> {
        let a = PyArgs::new(name, args)?;
        let made: Box<dyn Minimize + Send> = match name {
            "lookahead" => Box::new(rules::Lookahead::new(inner.take()?, a.f64("alpha").py()?, a.i32("k").py()?).py()?),
            "recompute" => {
                let checkpoints = a.vars("checkpoints").py()?;
                Box::new(rules::Recompute::new(inner.take()?, &checkpoints.iter().collect::<Vec<_>>()))
            }
            "gradient_merge" => Box::new(
                rules::GradientMerge::new(inner.take()?, a.i32("k_steps").py()?).py()?.avg(a.bool("avg").py()?),
            ),
            "pipeline" => Box::new(rules::Pipeline::new(inner.take()?, pipeline_options(&a)?)),
            _ => return Err(PyTypeError::new_err(format!("there is no optimizer `{name}`"))),
        };
        Ok(Optimizer::of(Inner::Around(made)))
    }

    /// Momentum that sends only the largest gradients.
    #[staticmethod]
    fn dgc(args: Bound<'_, PyDict>) -> PyResult<Optimizer> {
        let a = PyArgs::new("DGCMomentumOptimizer", args)?;
        let rate = rate_of(&a)?;
        let mut made = rules::DgcMomentum::new(rate, a.f32("momentum").py()?, a.count("rampup_begin_step").py()?)
            .rampup_step(a.count("rampup_step").py()?)
            .sparsity(a.f64s("sparsity").py()?.into_iter().map(|v| v as f32).collect())
            .use_nesterov(a.bool("use_nesterov").py()?);
        if let Some(trainers) = a.opt("num_trainers", Args::count).py()? {
            made = made.num_trainers(trainers);
        }
        if let Some(decay) = a.raw("regularization")? {
            made = made.regularization(decay_of(&decay)?);
        }
        if let Some(clip) = a.raw("grad_clip")? {
            made = made.grad_clip(clip_of(&clip)?);
        }
        if let Some(name) = a.opt_str("name").py()? {
            made = made.name(name);
        }
        Ok(Optimizer::of(Inner::Around(Box::new(made))))
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
            let pairs = match inner.take().ok_or_else(in_use)? {
                Inner::Plain(mut plain) => {
                    if let Some(list) = &parameters {
                        *plain = plain.parameter_list(&list.iter().collect::<Vec<_>>());
                    }
                    if !stopped.is_empty() {
                        *plain = plain.no_grad_set(&stopped.iter().collect::<Vec<_>>());
                    }
                    let pairs = plain.backward(net, &loss);
                    *inner = Some(Inner::Plain(plain));
                    pairs
                }
                Inner::Around(mut around) => {
                    if parameters.is_some() || !stopped.is_empty() {
                        *inner = Some(Inner::Around(around));
                        return Err(PyTypeError::new_err("give parameter_list and no_grad_set to the inner optimizer"));
                    }
                    let pairs = around.backward_from(net, &loss, &[]);
                    *inner = Some(Inner::Around(around));
                    pairs
                }
            };
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
            Some(Inner::Plain(plain)) => plain.apply_gradients(net, pairs).py(),
            Some(Inner::Around(around)) => around.apply_gradients(net, pairs).py(),
            None => Err(in_use()),
        })
    }

    /// The variable of the learning rate in a program, once there is one.
    fn learning_rate_var(&self, builder: &Builder, at: Context<'_>) -> PyResult<Option<String>> {
        let find = |net: &mut oarlock::Net| {
            let inner = self.inner.lock();
            let rate = match &*inner {
                Some(Inner::Plain(plain)) => plain.learning_rate_var(net),
                Some(Inner::Around(around)) => around.learning_rate_var(net),
                None => None,
            };
            Ok(rate.map(|v| v.name().to_string()))
        };
        builder.within(&at, find)
    }
}

/// `ExponentialMovingAverage` and `ModelAverage`: programs that put means in the place of parameters, and take them out again.
#[pyfunction]
pub(crate) fn moving_average(
    builder: &Builder,
    at: Context<'_>,
    kind: &str,
    args: Bound<'_, PyDict>,
) -> PyResult<(Program, Program, Option<Average>)> {
    let a = PyArgs::new(kind, args)?;
    if kind == "model" {
        let window = (a.i64("min_average_window").py()?, a.i64("max_average_window").py()?);
        let rate = a.f32("average_window_rate").py()?;
        let made = builder.within(&at, |net| rules::ModelAverage::new(net, rate, window).py())?;
        return Ok((Program::of(made.apply_program), Program::of(made.restore_program), None));
    }
    let (decay, steps) = (a.f64("decay").py()?, a.opt_var("thres_steps").py()?);
    let name = a.opt_str("name").py()?.unwrap_or_default();
    let mut made =
        builder.within(&at, |net| rules::ExponentialMovingAverage::new(net, decay, steps.as_ref(), &name).py())?;
    let programs = (std::mem::take(&mut made.apply_program), std::mem::take(&mut made.restore_program));
    Ok((Program::of(programs.0), Program::of(programs.1), Some(Average(made))))
}

/// The means of an `ExponentialMovingAverage`.
#[pyclass(frozen)]
pub(crate) struct Average(rules::ExponentialMovingAverage);

#[pymethods]
impl Average {
    /// Appends what updates the means in every step.
    fn update(&self, builder: &Builder, at: Context<'_>) -> PyResult<()> {
        builder.within(&at, |net| self.0.update(net).py())
    }
}
