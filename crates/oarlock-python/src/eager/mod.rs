//! Eager mode for Python: tensors, calls of operators and layers, gradients, optimizers.

mod call;
mod grad;
mod optimizer;
mod tensor;

use std::sync::{Arc, OnceLock};

use oarlock::eager::EagerEngine;
use oarlock::ir;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::builder::registry;
use crate::runtime::Runtime;

pub(crate) use call::{Eager, ProgramFunction};
pub(crate) use grad::tensors;
pub(crate) use optimizer::EagerOptimizer;
pub(crate) use tensor::{VarBase, tensor_arg};

static ENGINE: OnceLock<Arc<EagerEngine>> = OnceLock::new();

/// The engine of this process.
pub(crate) fn engine() -> PyResult<&'static Arc<EagerEngine>> {
    ENGINE.get().ok_or_else(|| PyRuntimeError::new_err("eager mode has not begun: import oarlock.fluid.dygraph first"))
}

/// Makes the engine, on the threads of the process's runtime.
fn start(runtime: &Runtime) -> &'static Arc<EagerEngine> {
    ENGINE.get_or_init(|| {
        let inner: Arc<ir::Runtime> = runtime.inner.clone();
        Arc::new(EagerEngine::new(registry(), inner))
    })
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<VarBase>()?;
    m.add_class::<Eager>()?;
    m.add_class::<EagerOptimizer>()?;
    m.add_class::<ProgramFunction>()?;
    m.add_class::<grad::HookHandle>()
}
