//! `core.VarBase`: an eager tensor. What is not written for speed here is added in Python (`fluid/dygraph/_tensor_methods.py`).

use oarlock::eager::{Args, EagerTensor, OpHandle, Target};
use oarlock::ir::Attrs;
use oarlock::tensor::{DType, Element, Tensor, Value};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};
use std::sync::{Arc, OnceLock};

use super::engine;
use super::grad::{HookHandle, register_hook};
use crate::error::IntoPy;
use crate::tensor::{LoDTensor, array_of, owned_tensor_of};

/// An eager tensor: a value, its place in the graph, its gradient.
#[pyclass(subclass, frozen, dict, weakref, from_py_object)]
#[derive(Clone)]
pub(crate) struct VarBase {
    pub(crate) tensor: EagerTensor,
}

impl VarBase {
    pub(crate) fn of(tensor: EagerTensor) -> VarBase {
        VarBase { tensor }
    }
}

/// The tensor behind a Python object.
pub(crate) fn tensor_arg(value: &Bound<'_, PyAny>) -> Option<EagerTensor> {
    Some(value.cast::<VarBase>().ok()?.get().tensor.clone())
}

/// An operator of two tensors, found once.
struct Binary {
    op_type: &'static str,
    layer: &'static str,
    handle: OnceLock<Arc<OpHandle>>,
}

impl Binary {
    const fn new(op_type: &'static str, layer: &'static str) -> Binary {
        Binary { op_type, layer, handle: OnceLock::new() }
    }

    fn handle(&self) -> PyResult<&Arc<OpHandle>> {
        if let Some(handle) = self.handle.get() {
            return Ok(handle);
        }
        let made = engine()?.op(self.op_type, Attrs::default()).py()?;
        Ok(self.handle.get_or_init(|| made))
    }

    /// `x op y`: two tensors of one dtype go straight to the operator; a number or another dtype takes the way of the layer.
    fn call<'py>(&self, x: &Bound<'py, VarBase>, y: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = x.py();
        if let Ok(other) = y.cast::<VarBase>() {
            let (a, b) = (&x.get().tensor, &other.get().tensor);
            if a.dtype().py()? == b.dtype().py()? {
                let args = Args {
                    inputs: &[Some(a.clone()), Some(b.clone())],
                    input_counts: &[1, 1],
                    outputs: &[Target::New],
                    output_counts: &[1],
                };
                let made = engine()?.call(self.handle()?, args).py()?;
                return wrap_first(py, made);
            }
        } else if !is_number(y) {
            return Ok(py.NotImplemented().into_bound(py));
        }
        layer_of(py, self.layer, x.as_any(), y)
    }

    /// `y op x` for a number `y`.
    fn call_reversed<'py>(layer: &str, x: &Bound<'py, VarBase>, y: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if !is_number(y) {
            return Ok(x.py().NotImplemented().into_bound(x.py()));
        }
        layer_of(x.py(), layer, x.as_any(), y)
    }
}

fn is_number(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyFloat>()
        || value.is_instance_of::<PyInt>()
        || value.is_instance_of::<PyBool>()
        || value.extract::<f64>().is_ok()
        || value.hasattr("dtype").unwrap_or(false)
}

/// Calls a layer of two operands in Python, which knows the names in use.
fn layer_of<'py>(
    py: Python<'py>,
    layer: &str,
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    py.import("oarlock.fluid.dygraph._tensor_methods")?.call_method1("operate", (layer, x, y))
}

fn wrap_first<'py>(py: Python<'py>, made: oarlock::eager::Results) -> PyResult<Bound<'py, PyAny>> {
    match made.into_iter().next() {
        Some(Some(tensor)) => Ok(Bound::new(py, VarBase::of(tensor))?.into_any()),
        _ => Err(PyValueError::new_err("the operator has no output")),
    }
}

static ADD: Binary = Binary::new("elementwise_add", "_add");
static SUB: Binary = Binary::new("elementwise_sub", "_sub");
static MUL: Binary = Binary::new("elementwise_mul", "_mul");
static DIV: Binary = Binary::new("elementwise_div", "_div");

#[pymethods]
impl VarBase {
    /// A tensor of an array; without one, a tensor without a value.
    #[new]
    #[pyo3(signature = (value = None, **_rest))]
    fn new(value: Option<&Bound<'_, PyAny>>, _rest: Option<&Bound<'_, pyo3::types::PyDict>>) -> PyResult<VarBase> {
        let engine = engine()?;
        let tensor = match value {
            Some(value) => engine.tensor(owned_tensor_of(value)?),
            None => engine.empty_tensor(),
        };
        Ok(VarBase { tensor })
    }

    #[getter]
    fn _name(&self) -> Option<String> {
        self.tensor.name().map(|n| n.to_string())
    }

    #[setter(_name)]
    fn set_name(&self, name: &str) {
        self.tensor.set_name(name);
    }

    /// Does no gradient flow to it?
    #[getter]
    fn stop_gradient(&self) -> bool {
        self.tensor.stop_gradient()
    }

    #[setter]
    fn set_stop_gradient(&self, stop: bool) {
        self.tensor.set_stop_gradient(stop);
    }

    /// Is it a parameter or a buffer of a layer?
    #[getter]
    fn persistable(&self) -> bool {
        self.tensor.persistable()
    }

    #[setter]
    fn set_persistable(&self, persistable: bool) {
        self.tensor.set_persistable(persistable);
    }

    /// Sizes.
    #[getter]
    fn shape(&self) -> PyResult<Vec<usize>> {
        if !self.tensor.has_value() {
            return Ok(Vec::new());
        }
        Ok(self.tensor.dims().py()?.to_vec())
    }

    /// The number of the element type.
    #[getter]
    fn _dtype_number(&self) -> PyResult<i32> {
        if !self.tensor.has_value() {
            return Ok(DType::F32.proto());
        }
        Ok(self.tensor.dtype().py()?.proto())
    }

    /// Did no recorded operator compute it?
    #[getter]
    fn is_leaf(&self) -> bool {
        self.tensor.is_leaf()
    }

    /// How often operators changed its value in place.
    #[getter]
    fn inplace_version(&self) -> u32 {
        self.tensor.version()
    }

    fn _has_value(&self) -> bool {
        self.tensor.has_value()
    }

    fn _is_rows(&self) -> PyResult<bool> {
        self.tensor.with_value(|v| matches!(v, Value::Rows(_))).py()
    }

    /// Its values as an array, a copy. Selected rows give the whole matrix.
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let dense = self.tensor.with_value(|value| match value {
            Value::Dense(t) => array_of(py, t),
            Value::Rows(r) => array_of(py, &dense_of(r)?),
            other => Err(PyTypeError::new_err(format!("a tensor that is {} has no array", other.kind()))),
        });
        dense.py()?
    }

    /// The rows and values of a sparse gradient.
    fn _rows<'py>(&self, py: Python<'py>) -> PyResult<(Vec<i64>, Bound<'py, PyAny>)> {
        let parts = self.tensor.with_value(|value| match value {
            Value::Rows(r) => Ok((r.rows.clone(), array_of(py, &r.value)?)),
            other => Err(PyTypeError::new_err(format!("this tensor is {}, not selected rows", other.kind()))),
        });
        parts.py()?
    }

    /// A copy as `fluid.LoDTensor`.
    fn _lod_tensor(&self) -> PyResult<LoDTensor> {
        let dense = self.tensor.with_dense(Tensor::clone).py()?;
        Ok(LoDTensor::own(dense))
    }

    /// Gives it the values of an array. With `in_place`, graphs that need the old ones notice it.
    #[pyo3(signature = (value, in_place = false))]
    fn _set(&self, value: &Bound<'_, PyAny>, in_place: bool) -> PyResult<()> {
        let new = match tensor_arg(value) {
            Some(other) => other.with_dense(Tensor::clone).py()?,
            None => owned_tensor_of(value)?,
        };
        let engine = engine()?;
        if in_place {
            engine.set_value(&self.tensor, new);
        } else {
            engine.exchange_value(&self.tensor, new);
        }
        Ok(())
    }

    /// Takes over value and place in the graph of what an operator computed from it: an operator in place.
    fn _become(&self, result: &VarBase) -> PyResult<()> {
        self.tensor.become_result(&result.tensor).py()
    }

    /// A tensor with the same value that is no part of the graph.
    fn detach(&self) -> PyResult<VarBase> {
        Ok(VarBase::of(self.tensor.detach().py()?))
    }

    /// The gradient, or None.
    fn _grad_ivar(&self) -> Option<VarBase> {
        self.tensor.grad().map(VarBase::of)
    }

    #[pyo3(signature = (grad))]
    fn _set_grad_ivar(&self, grad: Option<&VarBase>) {
        self.tensor.set_grad(grad.map(|g| g.tensor.clone()));
    }

    /// Calls a function with its gradient in every backward pass; what it returns takes the gradient's place.
    fn register_hook(&self, hook: Py<PyAny>) -> HookHandle {
        register_hook(&self.tensor, hook)
    }

    /// Are both the same tensor?
    fn _is(&self, other: &VarBase) -> bool {
        self.tensor.is(&other.tensor)
    }

    fn __add__<'py>(slf: &Bound<'py, Self>, y: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        ADD.call(slf, y)
    }

    fn __radd__<'py>(slf: &Bound<'py, Self>, y: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Binary::call_reversed("_add", slf, y)
    }

    fn __sub__<'py>(slf: &Bound<'py, Self>, y: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        SUB.call(slf, y)
    }

    fn __rsub__<'py>(slf: &Bound<'py, Self>, y: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Binary::call_reversed("_rsub", slf, y)
    }

    fn __mul__<'py>(slf: &Bound<'py, Self>, y: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        MUL.call(slf, y)
    }

    fn __rmul__<'py>(slf: &Bound<'py, Self>, y: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Binary::call_reversed("_mul", slf, y)
    }

    fn __truediv__<'py>(slf: &Bound<'py, Self>, y: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        DIV.call(slf, y)
    }

    fn __rtruediv__<'py>(slf: &Bound<'py, Self>, y: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Binary::call_reversed("_rdiv", slf, y)
    }
}

/// The whole matrix of selected rows; a repeated row is the sum.
fn dense_of(rows: &oarlock::tensor::SelectedRows) -> PyResult<Tensor> {
    if let Some(row) = rows.rows.iter().find(|row| !(0..rows.height).contains(*row)) {
        return Err(PyValueError::new_err(format!("row {row} is outside a matrix of {} rows", rows.height)));
    }
    match rows.value.dtype() {
        DType::F32 => Ok(scatter_rows::<f32>(rows)),
        DType::F64 => Ok(scatter_rows::<f64>(rows)),
        other => Err(PyTypeError::new_err(format!("selected rows of {other} have no dense array"))),
    }
}

fn scatter_rows<T: Element + std::ops::AddAssign>(rows: &oarlock::tensor::SelectedRows) -> Tensor {
    let mut whole = Tensor::zeros(rows.value.dtype(), rows.whole_dims());
    let width = rows.width();
    if let (Ok(to), Ok(from)) = (whole.data_mut::<T>(), rows.value.data::<T>()) {
        for (row, from) in rows.rows.iter().zip(from.chunks_exact(width.max(1))) {
            let start = *row as usize * width;
            to[start..start + width].iter_mut().zip(from).for_each(|(to, from)| *to += *from);
        }
    }
    whole
}
