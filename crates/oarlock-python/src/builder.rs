//! The building context: lends Python's programs to a [`Net`] for the time of one call.

use std::sync::Arc;

use oarlock::declare::{self, Made};
use oarlock::ir::Op;
use oarlock::{Backward, CallSite, Net, UniqueNames, VarRef};
use parking_lot::Mutex;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::args::{PyArgs, attr_value, clip_of, var_of};
use crate::error::IntoPy;
use crate::program::Program;
use crate::py_func;

/// Where a call builds: main program (in its current block), startup program, and the user's line.
#[derive(FromPyObject)]
pub(crate) struct Context<'py>(
    pub(crate) Bound<'py, Program>,
    pub(crate) Bound<'py, Program>,
    pub(crate) Option<(String, u32, String)>,
);

impl Context<'_> {
    fn exchange(&self, net: &mut Net) {
        self.0.get().exchange(&mut net.main);
        self.1.get().exchange(&mut net.startup);
    }
}

/// Builds programs; owns the unique names and the name scopes.
#[pyclass(frozen)]
pub(crate) struct Builder {
    /// Taken out while a layer is built.
    net: Mutex<Option<Net>>,
}

impl Builder {
    fn take(&self) -> PyResult<Net> {
        let busy = "another thread is building a network: build in one thread at a time";
        self.net.lock().take().ok_or_else(|| PyRuntimeError::new_err(busy))
    }

    fn with<T>(&self, work: impl FnOnce(&mut Net) -> T) -> PyResult<T> {
        let mut net = self.take()?;
        let result = work(&mut net);
        *self.net.lock() = Some(net);
        Ok(result)
    }

    /// Runs `build` in the programs of the context. The main program's current block follows it.
    pub(crate) fn within<T>(&self, at: &Context<'_>, build: impl FnOnce(&mut Net) -> PyResult<T>) -> PyResult<T> {
        if at.0.is(&at.1) {
            return Err(PyValueError::new_err("the main program and the startup program must be two programs"));
        }
        let mut net = self.take()?;
        at.exchange(&mut net);
        net.set_block(at.0.get().current_block());
        net.set_call_site(at.2.as_ref().map(|(file, line, function)| CallSite {
            file: file.clone(),
            line: *line,
            function: Some(function.clone()),
        }));
        let result = build(&mut net);
        net.set_call_site(None);
        at.0.get().set_current_block(net.block());
        at.exchange(&mut net);
        *self.net.lock() = Some(net);
        result
    }

    /// Gives everything back to Python while `call` runs, which may build on: the body of a loop, a branch.
    pub(crate) fn suspended<T>(
        &self,
        at: &Context<'_>,
        net: &mut Net,
        call: impl FnOnce() -> PyResult<T>,
    ) -> PyResult<T> {
        at.0.get().set_current_block(net.block());
        at.exchange(net);
        let real = std::mem::replace(net, Net::with_registry(registry()));
        *self.net.lock() = Some(real);
        let result = call();
        *net = self.take()?;
        at.exchange(net);
        net.set_block(at.0.get().current_block());
        result
    }

    /// Makes Python variables of what a layer returned.
    pub(crate) fn wrap<'py>(py: Python<'py>, wrap: &Bound<'py, PyAny>, made: Made) -> PyResult<Bound<'py, PyAny>> {
        let one = |v: &VarRef| wrap.call1((v.block(), v.name().as_str()));
        match made {
            Made::Nothing => Ok(py.None().into_bound(py)),
            Made::One(v) => one(&v),
            Made::List(list) => Ok(list.iter().map(one).collect::<PyResult<Vec<_>>>()?.into_pyobject(py)?.into_any()),
            Made::Tuple(parts) => {
                let parts = parts.into_iter().map(|m| Builder::wrap(py, wrap, m)).collect::<PyResult<Vec<_>>>()?;
                Ok(PyTuple::new(py, parts)?.into_any())
            }
        }
    }
}

#[pymethods]
impl Builder {
    #[new]
    fn new() -> Builder {
        Builder { net: Mutex::new(Some(Net::with_registry(registry()))) }
    }

    /// Calls a layer with its arguments by name; `wrap(block, name)` makes what Python sees of a variable.
    fn layer<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        args: Bound<'py, PyDict>,
        at: Context<'py>,
        wrap: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(layer) = declare::find(name) else {
            return Err(PyTypeError::new_err(format!("there is no layer `{name}`")));
        };
        let args = PyArgs::new(name, args)?;
        let made = self.within(&at, |net| layer.call(net, &args).py())?;
        Builder::wrap(py, &wrap, made)
    }

    /// Inserts an operator at a position of the block (at the end without one).
    #[allow(clippy::too_many_arguments, reason = "the parts of an operator")]
    fn append_op(
        &self,
        at: Context<'_>,
        block: usize,
        position: Option<usize>,
        op_type: &str,
        inputs: Vec<(String, Vec<String>)>,
        outputs: Vec<(String, Vec<String>)>,
        attrs: Bound<'_, PyDict>,
    ) -> PyResult<()> {
        let mut op = Op::new(op_type);
        for (slot, args) in inputs {
            op = op.input(&slot, args.iter().map(String::as_str));
        }
        for (slot, args) in outputs {
            op = op.output(&slot, args.iter().map(String::as_str));
        }
        for (name, value) in attrs.iter() {
            if value.is_none() {
                continue;
            }
            let name: String = name.extract()?;
            let Some(attr) = attr_value(&value) else {
                return Err(PyTypeError::new_err(format!(
                    "`{op_type}`: attribute `{name}` cannot be {}",
                    value.repr()?
                )));
            };
            op.attrs.set(name, attr);
        }
        self.within(&at, |net| {
            let current = net.block();
            net.set_block(block);
            let end = net.main.block(block).ops.len();
            let done = net.insert_op(position.unwrap_or(end), op).py();
            net.set_block(current);
            done
        })
    }

    /// `append_backward`: appends the gradient of a loss; returns pairs of parameter and gradient.
    fn append_backward<'py>(
        &self,
        py: Python<'py>,
        at: Context<'py>,
        loss: Bound<'py, PyAny>,
        parameters: Option<Vec<String>>,
        stopped: Vec<String>,
        wrap: Bound<'py, PyAny>,
    ) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let loss = var_of(&loss).ok_or_else(|| PyTypeError::new_err("a loss must be a Variable"))?;
        let names = |list: Vec<String>| list.into_iter().map(|n| n.as_str().into());
        let options = Backward::new()
            .parameter_list(parameters.map(|l| names(l).collect()))
            .no_grad_set(names(stopped).collect());
        let pairs = self.within(&at, |net| net.append_backward(&loss, options).py())?;
        let one = |v: &VarRef| wrap.call1((v.block(), v.name().as_str()));
        pairs.iter().map(|p| PyTuple::new(py, [one(&p.param)?, one(&p.grad)?])).collect()
    }

    /// `gradients`: the gradients of targets by inputs; None for an input without influence.
    fn gradients<'py>(
        &self,
        at: Context<'py>,
        targets: Vec<Bound<'py, PyAny>>,
        inputs: Vec<Bound<'py, PyAny>>,
        target_gradients: Option<Vec<Bound<'py, PyAny>>>,
        stopped: Vec<String>,
        wrap: Bound<'py, PyAny>,
    ) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
        let vars = |list: &[Bound<'py, PyAny>]| list.iter().filter_map(var_of).collect::<Vec<_>>();
        let (targets, inputs) = (vars(&targets), vars(&inputs));
        let received = target_gradients.map(|list| list.iter().map(var_of).collect::<Vec<_>>());
        let stopped = stopped.iter().map(|n| n.as_str().into()).collect();
        let found = self.within(&at, |net| {
            let (targets, inputs): (Vec<_>, Vec<_>) = (targets.iter().collect(), inputs.iter().collect());
            net.gradients(&targets, &inputs, received.as_deref(), &stopped).py()
        })?;
        found.iter().map(|g| g.as_ref().map(|v| wrap.call1((v.block(), v.name().as_str()))).transpose()).collect()
    }

    /// `set_gradient_clip` and `error_clip`: limits that parameters and variables keep.
    fn set_gradient_clip(&self, at: Context<'_>, clip: Bound<'_, PyAny>, params: Option<Vec<String>>) -> PyResult<()> {
        let clip = clip_of(&clip)?;
        let params = params.map(|l| l.into_iter().map(|n| VarRef::new(n, 0)).collect::<Vec<_>>());
        self.within(&at, |net| {
            let list = params.as_ref().map(|l| l.iter().collect::<Vec<_>>());
            net.set_gradient_clip(&clip, list.as_deref()).py()
        })
    }

    /// Limits the gradient of a variable while it flows back.
    fn set_error_clip(&self, var: Bound<'_, PyAny>, min: f32, max: f32) -> PyResult<()> {
        let var = var_of(&var).ok_or_else(|| PyTypeError::new_err("only Variables have an error clip"))?;
        self.with(|net| net.set_error_clip(&var, min, max))
    }

    /// The next unique name of a key.
    fn generate(&self, key: &str) -> PyResult<String> {
        self.with(|net| net.names.generate(key))
    }

    /// Names with a new generator from now on; returns a token that brings the old one back.
    #[pyo3(signature = (prefix = None))]
    fn push_names(&self, prefix: Option<String>) -> PyResult<Names> {
        let new = prefix.map_or_else(UniqueNames::new, UniqueNames::with_prefix);
        self.with(|net| Names(Mutex::new(std::mem::replace(&mut net.names, new))))
    }

    /// Names with an earlier generator again; the token then holds the one used so far.
    fn swap_names(&self, names: &Names) -> PyResult<()> {
        self.with(|net| std::mem::swap(&mut net.names, &mut *names.0.lock()))
    }

    /// Begins a name scope; returns what `leave_scope` needs.
    fn enter_scope(&self, name: &str) -> PyResult<String> {
        self.with(|net| net.enter_scope(name))
    }

    /// Ends a name scope.
    fn leave_scope(&self, outer: String) -> PyResult<()> {
        self.with(|net| net.leave_scope(outer))
    }

    /// The operators that exist.
    fn op_types(&self) -> Vec<String> {
        registry().types().into_iter().map(String::from).collect()
    }
}

/// A generator of unique names that is not in use now.
#[pyclass(frozen)]
pub(crate) struct Names(Mutex<UniqueNames>);

/// The registry all executors and programs share.
pub(crate) fn registry() -> Arc<oarlock::Registry> {
    use std::sync::OnceLock;
    static REGISTRY: OnceLock<Arc<oarlock::Registry>> = OnceLock::new();
    REGISTRY.get_or_init(|| Arc::new(oarlock::registry().with(py_func::ops()))).clone()
}
