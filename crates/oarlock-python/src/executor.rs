//! Running programs. The interpreter goes on while a run computes; Ctrl-C stops it before its next operator.

use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use oarlock::replicas::{Feeds, LossScale, Replicas, joined};
use oarlock::tensor::Value;
use oarlock::trainer::{self, Handler, Observer, Show, TrainOptions};
use oarlock::{Derivation, Kind, Options, Tensor};
use parking_lot::Mutex;
use pyo3::exceptions::{PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::builder::registry;
use crate::dataset::Dataset;
use crate::error::{IntoPy, raise};
use crate::program::Program;
use crate::runtime::Runtime;
use crate::scope::Scope;
use crate::shared;
use crate::tensor::{fetched, tensor_of};

/// Runs programs.
#[pyclass(frozen)]
pub(crate) struct Executor {
    inner: oarlock::Executor,
    runtime: Py<Runtime>,
    /// Warnings of the next run.
    warnings: Arc<Mutex<Vec<String>>>,
}

#[pymethods]
impl Executor {
    /// In a runtime; settings that are None come from the environment.
    #[new]
    #[pyo3(signature = (runtime, check_nan_inf = None))]
    fn new(runtime: Py<Runtime>, check_nan_inf: Option<bool>) -> PyResult<Executor> {
        let mut options = Options::from_env().py()?.exec_options(registry());
        options.check_nan_inf = check_nan_inf.unwrap_or(options.check_nan_inf);
        let inner = oarlock::Executor::new(options, runtime.get().job.clone());
        let warnings: Arc<Mutex<Vec<String>>> = Arc::default();
        let sink = warnings.clone();
        inner.on_warning(move |text| sink.lock().push(text.to_string()));
        Ok(Executor { inner, runtime, warnings })
    }

    /// Runs a program: arrays by name in, arrays in the order of `fetches` out. Gradients are summed over `ranks`, if there are any,
    /// and with `prune` only the operators run that the fetches need.
    #[expect(clippy::too_many_arguments, reason = "as many as a run has")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        program: &Program,
        feed: &Bound<'py, PyDict>,
        fetches: Vec<Bound<'py, PyString>>,
        scope: &Scope,
        numpy: bool,
        ranks: usize,
        prune: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let fetches: Vec<std::borrow::Cow<'_, str>> = fetches.iter().map(|f| f.to_cow()).collect::<PyResult<_>>()?;
        let fetches: Vec<&str> = fetches.iter().map(|f| &**f).collect();
        let program = self.derived(program, Derivation { ranks, prune }, Some(feed), &fetches)?;
        let feeds = keep_persistable(py, &program, scope, feed_of(&program, feed)?)?;
        let feeds = by_name(&feeds);
        let mut values = Vec::new();
        self.compute(py, || self.inner.run_into(&program, &feeds, &fetches, &scope.inner, &mut values))?;
        for text in std::mem::take(&mut *self.warnings.lock()) {
            py.import("warnings")?.call_method1("warn", (text, py.get_type::<PyUserWarning>(), 2))?;
        }
        let list = values.into_iter().map(|v| fetched(py, v, numpy)).collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, list)
    }

    /// Runs a program on replicas, as `strategy` says: how many, how their losses count (0 mean, 1 sum, 2 fed), and whether batch
    /// normalisation is over all. `feed` is a dict, whose samples are dealt out, or a list of dicts. Returns for each fetch an array,
    /// or without `merged` a list of those of all replicas.
    #[expect(clippy::too_many_arguments, reason = "as many as a run has")]
    fn run_replicas<'py>(
        &self,
        py: Python<'py>,
        program: &Program,
        strategy: (usize, u8, bool),
        feed: &Bound<'py, PyAny>,
        fetches: Vec<String>,
        scope: &Scope,
        numpy: bool,
        merged: bool,
        ranks: usize,
        prune: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let how = replicas_of(strategy)?;
        let names: Vec<&str> = fetches.iter().map(String::as_str).collect();
        let first = match feed.cast::<PyDict>() {
            Ok(feed) => Some(feed.clone()),
            Err(_) => feed.try_iter()?.next().transpose()?.map(|first| first.cast_into::<PyDict>()).transpose()?,
        };
        let program = self.derived(program, Derivation { ranks, prune }, first.as_ref(), &names)?;
        let (split, feeds) = match feed.cast::<PyDict>() {
            Ok(feed) => (true, vec![keep_persistable(py, &program, scope, feed_of(&program, feed)?)?]),
            Err(_) => {
                let each = |item: PyResult<Bound<'py, PyAny>>| feed_of(&program, item?.cast::<PyDict>()?);
                (false, feed.try_iter()?.map(each).collect::<PyResult<_>>()?)
            }
        };
        let feeds: Vec<Vec<(&str, &Tensor)>> = feeds.iter().map(|feed| by_name(feed)).collect();
        let feeds = if split { Feeds::Split(&feeds[0]) } else { Feeds::Each(&feeds) };
        let values = self.compute(py, || {
            let values = self.inner.run_replicas(&program, &how, feeds, &names, &scope.inner)?;
            let join = |(name, parts): (&&str, Vec<Value>)| Ok(vec![joined(name, parts)?]);
            if merged { names.iter().zip(values).map(join).collect() } else { Ok(values) }
        })?;
        let of_name = |values: Vec<Value>| {
            let mut list = values.into_iter().map(|v| fetched(py, v, numpy)).collect::<PyResult<Vec<_>>>()?;
            if merged { Ok(list.remove(0)) } else { Ok(PyList::new(py, list)?.into_any()) }
        };
        PyList::new(py, values.into_iter().map(of_name).collect::<PyResult<Vec<_>>>()?)
    }

    /// Gives back the memory that temporaries of a program keep between its runs.
    fn drop_temporaries(&self, program: &Program) {
        self.inner.drop_temporaries(&program.get());
    }

    /// Trains on a data set, or with `infer` only computes. `print` gets lines, `handler` is `(names, seconds, function)`, whose
    /// function gets lists of arrays. Returns samples, batches, skipped lines, threads and seconds.
    #[expect(clippy::too_many_arguments, reason = "as many as Python's method has")]
    fn train<'py>(
        &self,
        py: Python<'py>,
        program: &Program,
        dataset: &Dataset,
        scope: &Scope,
        threads: usize,
        infer: bool,
        debug: bool,
        fetches: Vec<(String, String)>,
        print_period: usize,
        print: Py<PyAny>,
        handler: Option<(Vec<String>, f64, Py<PyAny>)>,
        ranks: usize,
    ) -> PyResult<(u64, u64, u64, usize, f64)> {
        // Only training exchanges gradients.
        let how = Derivation { ranks: if infer { 0 } else { ranks }, prune: false };
        let program = self.derived(program, how, None, &[])?;
        let dataset = dataset.snapshot()?;
        let mut observer = PyObserver { print, handler: None, raised: None };
        let mut options = TrainOptions {
            fetches,
            print_period,
            debug,
            show: Show::from_env().py()?,
            ..TrainOptions::threads(threads)
        };
        if let Some((names, seconds, call)) = handler {
            let every =
                Duration::try_from_secs_f64(seconds).map_err(|e| PyValueError::new_err(format!("period_secs: {e}")))?;
            options.handler = Some(Handler { names, every });
            observer.handler = Some(call);
        }
        let run = if infer { trainer::infer_from_dataset } else { trainer::train_from_dataset };
        let told = &mut observer;
        let done = self.compute(py, move || run(&self.inner, &program, &*dataset, &scope.inner, &options, told));
        if let Some(raised) = observer.raised {
            return Err(raised);
        }
        let s = done?;
        Ok((s.samples, s.batches, s.skipped, s.threads, s.time.as_secs_f64()))
    }

    /// Where the sequence of fresh seeds stands, if they do not come by chance.
    fn seeds(&self) -> Option<u64> {
        self.inner.runtime().seeds()
    }

    /// Draws fresh seeds from a sequence from now on; None lets chance decide.
    fn set_seeds(&self, state: Option<u64>) {
        self.inner.runtime().set_seeds(state);
    }

    /// Bytes that temporaries of a program took at most, if it ran.
    fn peak_bytes(&self, program: &Program) -> Option<usize> {
        self.inner.memory(&program.get()).map(|m| m.peak_bytes)
    }

    /// The program as it runs, after fusion.
    fn planned(&self, program: &Program, feeds: Vec<String>, fetches: Vec<String>) -> PyResult<Program> {
        let feeds: Vec<&str> = feeds.iter().map(String::as_str).collect();
        let fetches: Vec<&str> = fetches.iter().map(String::as_str).collect();
        Ok(Program::of(self.inner.planned_program(&program.get(), &feeds, &fetches).py()?))
    }

    /// How a program is compiled, as text: what each pass changes, and the plan.
    fn explain(&self, program: &Program, feeds: Vec<String>, fetches: Vec<String>) -> PyResult<String> {
        let feeds: Vec<&str> = feeds.iter().map(String::as_str).collect();
        let fetches: Vec<&str> = fetches.iter().map(String::as_str).collect();
        self.inner.explain(&program.get(), &feeds, &fetches).py()
    }

    /// Starts to record the time of every operator.
    fn start_profile(&self) {
        self.inner.start_profile();
    }

    /// Stops recording; a table for people and a Chrome trace.
    fn stop_profile(&self) -> Option<(String, String)> {
        self.inner.stop_profile().map(|p| (p.to_string(), p.chrome_trace()))
    }
}

/// The tensors of a feed dict, in one order, so that a program is planned once however a dict was filled.
fn feed_of(program: &oarlock::Program, feed: &Bound<'_, PyDict>) -> PyResult<Vec<(String, Tensor)>> {
    let mut feeds: Vec<(String, Tensor)> = Vec::with_capacity(feed.len());
    for (name, value) in feed.iter() {
        let name: String = name.extract()?;
        let dtype = program.global().var(&name).map(|v| v.ty().dtype);
        feeds.push((name, tensor_of(&value, dtype)?));
    }
    feeds.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(feeds)
}

/// Moves what is fed for variables that outlive runs into the scope, where this run and later ones find it.
fn keep_persistable(
    py: Python<'_>,
    program: &oarlock::Program,
    scope: &Scope,
    mut feeds: Vec<(String, Tensor)>,
) -> PyResult<Vec<(String, Tensor)>> {
    let kept = |name: &str| program.global().var(name).is_some_and(|v| v.persistable);
    for (name, tensor) in feeds.extract_if(.., |(name, _)| kept(name)) {
        shared::change(py, &scope.inner.var(&name), |value| {
            *value = Value::Dense(tensor);
            Ok(())
        })?;
    }
    Ok(feeds)
}

fn by_name(feeds: &[(String, Tensor)]) -> Vec<(&str, &Tensor)> {
    feeds.iter().map(|(n, t)| (n.as_str(), t)).collect()
}

/// How a program runs on replicas; numbers as in Fluid's enumeration.
fn replicas_of((count, scale, sync_batch_norm): (usize, u8, bool)) -> PyResult<Replicas> {
    let scale = match scale {
        0 => LossScale::Mean,
        1 => LossScale::Sum,
        2 => LossScale::Fed,
        other => return Err(PyValueError::new_err(format!("there is no gradient_scale_strategy {other}"))),
    };
    Ok(Replicas { count, scale, sync_batch_norm })
}

/// Hands what happens in a pass to Python. What Python raises ends the pass and is raised again afterwards.
struct PyObserver {
    print: Py<PyAny>,
    handler: Option<Py<PyAny>>,
    raised: Option<PyErr>,
}

impl PyObserver {
    fn call(&mut self, work: impl FnOnce(Python<'_>, &PyObserver) -> PyResult<()>) -> oarlock::Result<()> {
        Python::attach(|py| work(py, self)).map_err(|raised| {
            self.raised = Some(raised);
            oarlock::Error::new(Kind::Interrupted, "a function of the user raised an exception")
        })
    }
}

impl Observer for PyObserver {
    fn line(&mut self, text: &str) -> oarlock::Result<()> {
        self.call(|py, this| this.print.call1(py, (text,)).map(drop))
    }

    fn fetched(&mut self, values: Vec<Value>) -> oarlock::Result<()> {
        self.call(|py, this| {
            let Some(handler) = &this.handler else { return Ok(()) };
            let arrays = values.into_iter().map(|v| fetched(py, v, true)).collect::<PyResult<Vec<_>>>()?;
            handler.call1(py, (PyList::new(py, arrays)?,)).map(drop)
        })
    }
}

/// Runs `work` without the interpreter's lock; a signal sets the flag that it gets.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(Arc<AtomicBool>) -> oarlock::Result<T> + Send,
) -> PyResult<T> {
    let (stop, running) = (Arc::<AtomicBool>::default(), Arc::new(AtomicUsize::new(1)));
    watch(&stop, &running);
    match py.detach(|| work(stop)) {
        Err(e) if e.kind() == Kind::Interrupted => {
            py.check_signals()?;
            Err(raise(e))
        }
        other => other.py(),
    }
}

/// A runtime that Ctrl-C may stop: its stop flag, and how many runs are under way.
type Watched = (Weak<AtomicBool>, Weak<AtomicUsize>);

static WATCHED: Mutex<Vec<Watched>> = Mutex::new(Vec::new());

/// Lets a signal set `stop` while `running` is not 0.
pub(crate) fn watch(stop: &Arc<AtomicBool>, running: &Arc<AtomicUsize>) {
    WATCHED.lock().push((Arc::downgrade(stop), Arc::downgrade(running)));
}

/// Stops running programs when a byte arrives on `fd`: Python writes one there at every signal, while its own handlers wait for the
/// interpreter. Called once per process.
#[pyfunction]
pub(crate) fn watch_signals(fd: i32) -> PyResult<()> {
    let path = format!("/proc/self/fd/{fd}");
    let mut pipe = std::fs::File::open(path)?;
    std::thread::Builder::new().name("oarlock-signals".into()).spawn(move || {
        let mut byte = [0u8];
        while let Ok(1) = pipe.read(&mut byte) {
            let is_running = |(stop, running): &Watched| {
                let runs = running.upgrade().map_or(0, |r| r.load(Ordering::Relaxed));
                stop.upgrade().filter(|_| runs > 0)
            };
            let mut watched = WATCHED.lock();
            watched.retain(|(stop, _)| stop.strong_count() > 0);
            watched.iter().filter_map(is_running).for_each(|stop| stop.store(true, Ordering::Relaxed));
        }
    })?;
    Ok(())
}

impl Executor {
    /// The executor itself.
    pub(crate) fn inner(&self) -> &oarlock::Executor {
        &self.inner
    }

    /// The program that is run in place of a program of Python.
    fn derived(
        &self,
        program: &Program,
        how: Derivation,
        feed: Option<&Bound<'_, PyDict>>,
        fetches: &[&str],
    ) -> PyResult<Arc<oarlock::Program>> {
        let program = program.get();
        if how == Derivation::default() {
            return Ok(program);
        }
        let mut feeds: Vec<String> = feed.map_or(Ok(Vec::new()), |feed| feed.keys().extract())?;
        feeds.sort_unstable();
        let feeds: Vec<&str> = feeds.iter().map(String::as_str).collect();
        self.inner.derived(&program, how, &feeds, fetches).py()
    }

    /// Runs `work` without the interpreter's lock.
    fn compute<T: Send>(&self, py: Python<'_>, work: impl FnOnce() -> oarlock::Result<T> + Send) -> PyResult<T> {
        self.runtime.get().compute(py, work)
    }
}
