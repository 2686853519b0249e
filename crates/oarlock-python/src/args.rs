//! Python objects as arguments of layers and optimizers.

use std::ops::Deref;
use std::sync::Arc;

use numpy::PyUntypedArray;
use oarlock::declare::{Arg, Args, Predicate};
use oarlock::eager::EagerTensor;
use oarlock::prelude::*;
use oarlock::tensor::DType;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::eager::tensor_arg;
use crate::tensor::{LoDTensor, tensor_of};

/// The base of Python's `Variable`: a name, and the block from which it is seen.
#[pyclass(subclass, frozen, from_py_object)]
#[derive(Clone)]
pub(crate) struct VarHandle {
    name: String,
    block: usize,
}

#[pymethods]
impl VarHandle {
    #[new]
    #[pyo3(signature = (block, name, **_rest))]
    fn new(block: usize, name: String, _rest: Option<&Bound<'_, PyDict>>) -> VarHandle {
        VarHandle { name, block }
    }

    /// The variable's name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The block from which its name is seen.
    #[getter]
    fn _block_idx(&self) -> usize {
        self.block
    }
}

/// The variable behind a Python object.
pub(crate) fn var_of(value: &Bound<'_, PyAny>) -> Option<VarRef> {
    let handle = value.cast::<VarHandle>().ok()?.get();
    Some(VarRef::new(handle.name.as_str(), handle.block))
}

/// The arguments of a call, by name; `raw` gives what only Python can use, such as functions.
pub(crate) struct PyArgs<'py> {
    dict: Bound<'py, PyDict>,
    args: Args,
}

impl<'py> PyArgs<'py> {
    /// Of one call that builds a program.
    pub(crate) fn new(layer: &str, dict: Bound<'py, PyDict>) -> PyResult<PyArgs<'py>> {
        let mut tensors = Vec::new();
        let args = PyArgs::with_tensors(layer, dict, &mut tensors)?;
        if !tensors.is_empty() {
            return Err(PyTypeError::new_err(format!(
                "`{layer}` builds a program here and takes its Variables, not eager tensors; call it in eager mode (inside \
                 fluid.dygraph.guard()), or feed the tensor's numpy() to a data variable"
            )));
        }
        Ok(args)
    }

    /// Of one eager call: its tensors go to `tensors`, and the arguments name them by position.
    pub(crate) fn with_tensors(
        layer: &str,
        dict: Bound<'py, PyDict>,
        tensors: &mut Vec<EagerTensor>,
    ) -> PyResult<PyArgs<'py>> {
        let mut args = Args::new(layer);
        for (name, value) in dict.iter() {
            args.set(name.extract::<String>()?, arg_at(&value, 0, tensors)?);
        }
        Ok(PyArgs { dict, args })
    }

    /// The Python object, unless it is None or was not given.
    pub(crate) fn raw(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.dict.get_item(name)?.filter(|v| !v.is_none()))
    }
}

impl Deref for PyArgs<'_> {
    type Target = Args;

    fn deref(&self) -> &Args {
        &self.args
    }
}

/// The deepest list that is read; one that contains itself has no end.
const DEEPEST: usize = 32;

/// A Python object as an argument of a layer.
fn arg_at(value: &Bound<'_, PyAny>, depth: usize, tensors: &mut Vec<EagerTensor>) -> PyResult<Arg> {
    if depth > DEEPEST {
        return Err(PyValueError::new_err(format!("an argument of a layer has lists more than {DEEPEST} deep")));
    }
    if value.is_none() {
        return Ok(Arg::None);
    }
    if let Some(var) = var_of(value) {
        return Ok(Arg::Var(var));
    }
    if let Some(tensor) = tensor_arg(value) {
        let at = tensors.iter().position(|t| t.is(&tensor)).unwrap_or_else(|| {
            tensors.push(tensor);
            tensors.len() - 1
        });
        return Ok(Arg::Var(oarlock::eager::argument(at)));
    }
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Arg::Bool(flag.is_true()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Arg::Str(text.to_string()));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(Arg::Float(number.value()));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        return list_of(value, depth, tensors);
    }
    if value.is_instance_of::<PyUntypedArray>() || value.is_instance_of::<LoDTensor>() {
        return Ok(Arg::Tensor(tensor_of(value, None)?));
    }
    if let Some(number) = int_of(value) {
        return Ok(Arg::Int(number));
    }
    object_of(value, depth, tensors)
}

fn list_of(items: &Bound<'_, PyAny>, depth: usize, tensors: &mut Vec<EagerTensor>) -> PyResult<Arg> {
    items.try_iter()?.map(|item| arg_at(&item?, depth + 1, tensors)).collect::<PyResult<_>>().map(Arg::List)
}

/// A Python predicate of a parameter, called with something that has its name; one that fails counts as false.
pub(crate) fn by_name(predicate: Py<PyAny>) -> impl Fn(&str) -> bool + Send + Sync + 'static {
    move |name| {
        Python::attach(|py| {
            let named = PyDict::new(py);
            let type_of = |dict: &Bound<'_, PyDict>| {
                dict.set_item("name", name)?;
                let simple = py.import("types")?.getattr("SimpleNamespace")?;
                predicate.bind(py).call1((simple.call((), Some(dict))?,))?.is_truthy()
            };
            type_of(&named).unwrap_or_else(|e| {
                // There is no way to pass it on from inside the core; it must not go unseen.
                e.write_unraisable(py, Some(predicate.bind(py)));
                false
            })
        })
    }
}

/// An object of another class: settings of ours, a number or an element type of numpy, or something to iterate.
fn object_of(value: &Bound<'_, PyAny>, depth: usize, tensors: &mut Vec<EagerTensor>) -> PyResult<Arg> {
    if let Some(kind) = kind_of(value) {
        match kind.as_str() {
            kind @ ("param_attr" | "weight_norm_param_attr") => return param_of(value, kind).map(Arg::from),
            kind if INITIALIZERS.contains(&kind) => return initializer_of(value).map(Arg::from),
            _ => {}
        }
    }
    if let Ok(rule) = value.getattr("_to_attr") {
        return Ok(Arg::Rule(rule.call0()?.extract()?));
    }
    if let Ok(number) = value.extract::<f64>() {
        return Ok(Arg::Float(number));
    }
    if let Some(dtype) = dtype_of(value) {
        return Ok(Arg::DType(dtype));
    }
    if value.try_iter().is_ok() {
        return list_of(value, depth, tensors);
    }
    if value.is_callable() {
        return Ok(Arg::Predicate(Predicate(Arc::new(by_name(value.clone().unbind())))));
    }
    let kind = value.get_type().name().map_or_else(|_| "?".into(), |n| n.to_string());
    let shown = value.repr().map_or_else(|_| kind.clone(), |r| r.to_string());
    Ok(Arg::Other(kind, shown))
}

/// A whole number, also of numpy; a bool is none.
pub(crate) fn int_of(value: &Bound<'_, PyAny>) -> Option<i64> {
    if value.is_instance_of::<PyBool>() || value.is_instance_of::<PyString>() || value.is_instance_of::<PyFloat>() {
        return None;
    }
    value.extract().ok()
}

/// An element type by name, number, or numpy type.
pub(crate) fn dtype_of(value: &Bound<'_, PyAny>) -> Option<DType> {
    if let Some(number) = int_of(value) {
        return DType::from_proto(number as i32);
    }
    let by_name = |name: &str| DType::ALL.into_iter().find(|d| d.name() == name);
    if let Ok(name) = value.extract::<String>() {
        return by_name(&name);
    }
    let numpy = value.py().import("numpy").ok()?.getattr("dtype").ok()?;
    let name: String = numpy.call1((value,)).ok()?.getattr("name").ok()?.extract().ok()?;
    by_name(&name)
}

/// The `_kind` by which our Python classes of settings tell what they are.
fn kind_of(value: &Bound<'_, PyAny>) -> Option<String> {
    value.getattr("_kind").ok()?.extract().ok()
}

/// How to make a parameter, from an object of a class `ParamAttr`.
fn param_of(value: &Bound<'_, PyAny>, kind: &str) -> PyResult<ParamAttr> {
    let attr = attr_of(value)?;
    if kind == "param_attr" {
        return Ok(attr);
    }
    let normed = ParamAttr::weight_norm(value.getattr("dim")?.extract()?);
    Ok(ParamAttr { weight_norm: normed.weight_norm, ..attr })
}

fn given<'py>(value: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    Ok(Some(value.getattr(name)?).filter(|v| !v.is_none()))
}

fn attr_of(value: &Bound<'_, PyAny>) -> PyResult<ParamAttr> {
    let mut attr = ParamAttr::new()
        .learning_rate(value.getattr("learning_rate")?.extract()?)
        .trainable(value.getattr("trainable")?.is_truthy()?)
        .do_model_average(value.getattr("do_model_average")?.is_truthy()?);
    attr.name = value.getattr("name")?.extract()?;
    attr.initializer = given(value, "initializer")?.as_ref().map(initializer_of).transpose()?;
    attr.regularizer = given(value, "regularizer")?.as_ref().map(decay_of).transpose()?;
    attr.gradient_clip = given(value, "gradient_clip")?.as_ref().map(clip_of).transpose()?;
    Ok(attr)
}

/// The kinds of first values.
const INITIALIZERS: [&str; 8] =
    ["constant", "uniform", "normal", "truncated_normal", "xavier", "msra", "bilinear", "assign"];

/// A first value.
pub(crate) fn initializer_of(value: &Bound<'_, PyAny>) -> PyResult<Initializer> {
    let f = |name: &str| value.getattr(name)?.extract::<f64>();
    let i = |name: &str| value.getattr(name)?.extract::<i32>();
    let fan = |name: &str| value.getattr(name)?.extract::<Option<f64>>();
    Ok(match kind_of(value).as_deref() {
        Some("constant") => {
            Initializer::Constant { value: f("_value")?, force_cpu: value.getattr("_force_cpu")?.is_truthy()? }
        }
        Some("uniform") => Initializer::Uniform {
            low: f("_low")?,
            high: f("_high")?,
            seed: i("_seed")?,
            diag_num: i("_diag_num")?,
            diag_step: i("_diag_step")?,
            diag_val: f("_diag_val")?,
        },
        Some("normal") => Initializer::Normal { loc: f("_mean")?, scale: f("_std_dev")?, seed: i("_seed")? },
        Some("truncated_normal") => {
            Initializer::TruncatedNormal { loc: f("_mean")?, scale: f("_std_dev")?, seed: i("_seed")? }
        }
        Some("xavier") => Initializer::Xavier {
            uniform: value.getattr("_uniform")?.is_truthy()?,
            fan_in: fan("_fan_in")?,
            fan_out: fan("_fan_out")?,
            seed: i("_seed")?,
        },
        Some("msra") => Initializer::Msra {
            uniform: value.getattr("_uniform")?.is_truthy()?,
            fan_in: fan("_fan_in")?,
            seed: i("_seed")?,
        },
        Some("bilinear") => Initializer::Bilinear,
        Some("assign") => Initializer::Value(tensor_of(&value.getattr("_value")?, None)?),
        _ => return Err(PyTypeError::new_err(format!("{} is not an initializer", value.repr()?))),
    })
}

/// Weight decay.
pub(crate) fn decay_of(value: &Bound<'_, PyAny>) -> PyResult<Decay> {
    let coeff = || value.getattr("_regularization_coeff")?.extract::<f32>();
    match kind_of(value).as_deref() {
        Some("l1") => Ok(Decay::L1(coeff()?)),
        Some("l2") => Ok(Decay::L2(coeff()?)),
        _ => Err(PyTypeError::new_err(format!("{} is not a regularizer", value.repr()?))),
    }
}

/// A limit on gradients.
pub(crate) fn clip_of(value: &Bound<'_, PyAny>) -> PyResult<Clip> {
    let f = |name: &str| value.getattr(name)?.extract::<f32>();
    match kind_of(value).as_deref() {
        Some("clip_value") => Ok(Clip::Value { min: f("min")?, max: f("max")? }),
        Some("clip_norm") => Ok(Clip::Norm(f("clip_norm")?)),
        Some("clip_global_norm") => {
            Ok(Clip::GlobalNorm { norm: f("clip_norm")?, group: value.getattr("group_name")?.extract()? })
        }
        _ => Err(PyTypeError::new_err(format!("{} is not a gradient clip", value.repr()?))),
    }
}

/// An attribute of an operator from a Python value.
pub(crate) fn attr_value(value: &Bound<'_, PyAny>) -> Option<oarlock::ir::Attr> {
    use oarlock::ir::Attr;
    if let Ok(flag) = value.cast::<PyBool>() {
        return Some(flag.is_true().into());
    }
    if value.is_instance_of::<PyInt>() {
        let v: i64 = value.extract().ok()?;
        return Some(i32::try_from(v).map_or(Attr::Long(v), Attr::Int));
    }
    if let Ok(v) = value.cast::<PyFloat>() {
        return Some(Attr::Float(v.value() as f32));
    }
    if let Ok(text) = value.extract::<String>() {
        return Some(Attr::String(text));
    }
    if let Ok(idx) = value.getattr("idx") {
        return Some(Attr::Block(idx.extract().ok()?));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        if let Ok(v) = value.extract::<Vec<bool>>() {
            return Some(if v.is_empty() { Attr::Ints(Vec::new()) } else { Attr::Bools(v) });
        }
        if let Ok(v) = value.extract::<Vec<i64>>() {
            let small: Option<Vec<i32>> = v.iter().map(|v| i32::try_from(*v).ok()).collect();
            return Some(small.map_or(Attr::Longs(v), Attr::Ints));
        }
        if let Ok(v) = value.extract::<Vec<f32>>() {
            return Some(Attr::Floats(v));
        }
        return value.extract().ok().map(Attr::Strings);
    }
    // numpy numbers.
    if let Some(v) = int_of(value) {
        return Some(i32::try_from(v).map_or(Attr::Long(v), Attr::Int));
    }
    value.extract::<f32>().ok().map(Attr::Float)
}
