//! The arguments of a layer, as Python passes them: by name, with the defaults of the signature filled in.

use oarlock::layers::{Spatial, SplitInto};
use oarlock::prelude::*;
use oarlock::tensor::DType;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::tensor::tensor_of;

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

/// Arguments by name; errors name the layer and the argument.
pub(crate) struct Args<'py> {
    layer: &'py str,
    dict: Bound<'py, PyDict>,
}

impl<'py> Args<'py> {
    /// Of one call.
    pub(crate) fn new(layer: &'py str, dict: Bound<'py, PyDict>) -> Args<'py> {
        Args { layer, dict }
    }

    fn bad(&self, name: &str, wanted: &str, value: &Bound<'_, PyAny>) -> PyErr {
        let kind = value.get_type().name().map_or_else(|_| "?".into(), |n| n.to_string());
        let shown = value.repr().map_or_else(|_| kind.clone(), |r| r.to_string());
        PyTypeError::new_err(format!("`{}` takes {wanted} as `{name}`, not {shown} ({kind})", self.layer))
    }

    /// The value, unless it is None or was not given.
    pub(crate) fn get(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.dict.get_item(name)?.filter(|v| !v.is_none()))
    }

    fn need(&self, name: &str) -> PyResult<Bound<'py, PyAny>> {
        match self.get(name)? {
            Some(value) => Ok(value),
            None => Err(PyTypeError::new_err(format!("`{}` needs `{name}`", self.layer))),
        }
    }

    fn convert<T>(&self, name: &str, wanted: &str, read: impl Fn(&Bound<'py, PyAny>) -> Option<T>) -> PyResult<T> {
        let value = self.need(name)?;
        read(&value).ok_or_else(|| self.bad(name, wanted, &value))
    }

    /// Was it given?
    pub(crate) fn has(&self, name: &str) -> PyResult<bool> {
        Ok(self.get(name)?.is_some())
    }

    /// The value if given, as a converter reads it.
    pub(crate) fn opt<T>(&self, name: &str, read: impl Fn(&Self, &str) -> PyResult<T>) -> PyResult<Option<T>> {
        if self.has(name)? { read(self, name).map(Some) } else { Ok(None) }
    }

    /// A variable.
    pub(crate) fn var(&self, name: &str) -> PyResult<VarRef> {
        self.convert(name, "a Variable", var_of)
    }

    /// A variable that may be left out.
    pub(crate) fn opt_var(&self, name: &str) -> PyResult<Option<VarRef>> {
        self.opt(name, Args::var)
    }

    /// A variable or a list of variables.
    pub(crate) fn vars(&self, name: &str) -> PyResult<Vec<VarRef>> {
        self.convert(name, "a Variable or a list of Variables", |v| match var_of(v) {
            Some(var) => Some(vec![var]),
            None => v.try_iter().ok()?.map(|item| var_of(&item.ok()?)).collect(),
        })
    }

    /// Is it a variable?
    pub(crate) fn is_var(&self, name: &str) -> PyResult<bool> {
        Ok(self.get(name)?.is_some_and(|v| var_of(&v).is_some()))
    }

    /// A number that is whole.
    pub(crate) fn i64(&self, name: &str) -> PyResult<i64> {
        self.convert(name, "an integer", int_of)
    }

    /// A number that is whole, as attributes hold it.
    pub(crate) fn i32(&self, name: &str) -> PyResult<i32> {
        let value = self.i64(name)?;
        i32::try_from(value)
            .map_err(|_| PyValueError::new_err(format!("`{}`: `{name}` = {value} is too large", self.layer)))
    }

    /// A size.
    pub(crate) fn usize(&self, name: &str) -> PyResult<usize> {
        let value = self.i64(name)?;
        usize::try_from(value)
            .map_err(|_| PyValueError::new_err(format!("`{}`: `{name}` = {value} must not be negative", self.layer)))
    }

    /// How many.
    pub(crate) fn count(&self, name: &str) -> PyResult<u32> {
        let value = self.i64(name)?;
        u32::try_from(value)
            .map_err(|_| PyValueError::new_err(format!("`{}`: `{name}` = {value} is no count", self.layer)))
    }

    /// A number.
    pub(crate) fn f64(&self, name: &str) -> PyResult<f64> {
        self.convert(name, "a number", |v| v.extract().ok())
    }

    /// A number.
    pub(crate) fn f32(&self, name: &str) -> PyResult<f32> {
        Ok(self.f64(name)? as f32)
    }

    /// True or false.
    pub(crate) fn bool(&self, name: &str) -> PyResult<bool> {
        self.convert(name, "True or False", |v| v.is_truthy().ok())
    }

    /// A text.
    pub(crate) fn str(&self, name: &str) -> PyResult<String> {
        self.convert(name, "a string", |v| v.extract().ok())
    }

    /// The text, if it is one.
    pub(crate) fn word(&self, name: &str) -> PyResult<Option<String>> {
        Ok(self.get(name)?.and_then(|v| v.extract().ok()))
    }

    /// A text that may be left out.
    pub(crate) fn opt_str(&self, name: &str) -> PyResult<Option<String>> {
        self.opt(name, Args::str)
    }

    /// Numbers that are whole; one stands for a list of one.
    pub(crate) fn i64s(&self, name: &str) -> PyResult<Vec<i64>> {
        self.convert(name, "an integer or a list of integers", |v| match int_of(v) {
            Some(one) => Some(vec![one]),
            None => v.try_iter().ok()?.map(|item| int_of(&item.ok()?)).collect(),
        })
    }

    /// Numbers that are whole, as attributes hold them.
    pub(crate) fn i32s(&self, name: &str) -> PyResult<Vec<i32>> {
        let list = self.i64s(name)?;
        list.iter().map(|v| i32::try_from(*v).ok()).collect::<Option<_>>().ok_or_else(|| {
            PyValueError::new_err(format!("`{}`: `{name}` = {list:?} holds numbers that are too large", self.layer))
        })
    }

    /// Numbers that are whole, in one list or in a list of lists.
    pub(crate) fn flat_i32s(&self, name: &str) -> PyResult<Vec<i32>> {
        self.convert(name, "an integer or (lists of) integers", |v| {
            if let Some(one) = int_of(v) {
                return Some(vec![one as i32]);
            }
            let mut flat = Vec::new();
            for item in v.try_iter().ok()? {
                let item = item.ok()?;
                match int_of(&item) {
                    Some(one) => flat.push(one as i32),
                    None => flat.extend(item.extract::<Vec<i32>>().ok()?),
                }
            }
            Some(flat)
        })
    }

    /// A fixed number of whole numbers.
    pub(crate) fn array<const N: usize>(&self, name: &str) -> PyResult<[i32; N]> {
        let list = self.i32s(name)?;
        <[i32; N]>::try_from(list.as_slice()).map_err(|_| {
            PyValueError::new_err(format!("`{}` takes {N} integers as `{name}`, not {list:?}", self.layer))
        })
    }

    /// Two whole numbers; one stands for both.
    pub(crate) fn pair(&self, name: &str) -> PyResult<[i32; 2]> {
        match self.i32s(name)?[..] {
            [one] => Ok([one, one]),
            _ => self.array(name),
        }
    }

    /// Sizes.
    pub(crate) fn sizes(&self, name: &str) -> PyResult<Vec<usize>> {
        let known = |v: &i64| usize::try_from(*v).ok();
        let list = self.i64s(name)?;
        list.iter().map(known).collect::<Option<Vec<_>>>().ok_or_else(|| {
            PyValueError::new_err(format!("`{}`: `{name}` = {list:?} must not hold negative sizes", self.layer))
        })
    }

    /// Numbers.
    pub(crate) fn f64s(&self, name: &str) -> PyResult<Vec<f64>> {
        self.convert(name, "a list of numbers", |v| v.try_iter().ok()?.map(|i| i.ok()?.extract().ok()).collect())
    }

    /// A number or a variable.
    pub(crate) fn operand(&self, name: &str) -> PyResult<Operand> {
        Ok(match self.is_var(name)? {
            true => Operand::from(&self.var(name)?),
            false => Operand::from(self.f64(name)?),
        })
    }

    /// An integer or a variable that holds one.
    pub(crate) fn int_or_var(&self, name: &str) -> PyResult<IntOrVar> {
        self.convert(name, "an integer or a Variable", int_or_var_of)
    }

    /// A list of integers, some or all of which may be variables.
    pub(crate) fn ints(&self, name: &str) -> PyResult<Ints> {
        self.convert(name, "integers or Variables", |v| {
            if let Some(var) = var_of(v) {
                return Some(Ints::Var(var));
            }
            if let Some(one) = int_of(v) {
                return Some(Ints::Known(vec![one]));
            }
            let mixed: Vec<IntOrVar> = v.try_iter().ok()?.map(|i| int_or_var_of(&i.ok()?)).collect::<Option<_>>()?;
            let known = mixed.iter().map(|e| if let IntOrVar::Int(v) = e { Some(*v) } else { None });
            Some(match known.collect::<Option<Vec<_>>>() {
                Some(known) => Ints::Known(known),
                None => Ints::Mixed(mixed),
            })
        })
    }

    /// An element type: a name, a numpy type, or a number of `VarDesc.VarType`.
    pub(crate) fn dtype(&self, name: &str) -> PyResult<DType> {
        self.convert(name, "an element type such as 'float32'", dtype_of)
    }

    /// An element type that may be left out.
    pub(crate) fn opt_dtype(&self, name: &str) -> PyResult<Option<DType>> {
        self.opt(name, Args::dtype)
    }

    /// How to make a parameter: None, False, a name, an initializer or a `ParamAttr`.
    pub(crate) fn param(&self, name: &str) -> PyResult<Param> {
        match self.get(name)? {
            None => Ok(Param::default()),
            Some(value) => param_of(&value)?.ok_or_else(|| self.bad(name, "a ParamAttr, a name or False", &value)),
        }
    }

    fn is_list(&self, name: &str) -> PyResult<bool> {
        Ok(self.get(name)?.is_some_and(|v| v.is_instance_of::<PyList>() || v.is_instance_of::<PyTuple>()))
    }

    /// How to make several parameters, if it is a list.
    pub(crate) fn param_list(&self, name: &str) -> PyResult<Option<Vec<Param>>> {
        if !self.is_list(name)? {
            return Ok(None);
        }
        let one = |item: PyResult<Bound<'py, PyAny>>| {
            let item = item?;
            if item.is_none() {
                return Ok(Param::default());
            }
            param_of(&item)?.ok_or_else(|| self.bad(name, "ParamAttrs, names or False", &item))
        };
        self.need(name)?.try_iter()?.map(one).collect::<PyResult<_>>().map(Some)
    }

    /// How to make one parameter; what a layer likes if a list says more.
    pub(crate) fn param_unless_list(&self, name: &str) -> PyResult<Param> {
        if self.is_list(name)? { Ok(Param::default()) } else { self.param(name) }
    }

    /// How to make a parameter of a layer that has none unless asked.
    pub(crate) fn param_or_none(&self, name: &str) -> PyResult<Param> {
        if self.has(name)? { self.param(name) } else { Ok(Param::Without) }
    }

    /// How to make a parameter that a layer cannot do without.
    pub(crate) fn param_attr(&self, name: &str) -> PyResult<ParamAttr> {
        Ok(self.param(name)?.attr().cloned().unwrap_or_default())
    }

    /// An activation by name, or none.
    pub(crate) fn act(&self, name: &str) -> PyResult<Act> {
        Ok(Act::from(self.opt_str(name)?.as_deref()))
    }

    /// A first value.
    pub(crate) fn initializer(&self, name: &str) -> PyResult<Initializer> {
        initializer_of(&self.need(name)?)
    }

    /// A size per axis, or one for all.
    pub(crate) fn spatial(&self, name: &str) -> PyResult<Spatial> {
        Ok(Spatial(self.i32s(name)?))
    }

    /// How to split an axis: into a number of equal parts, or into parts of these sizes.
    pub(crate) fn split_into(&self, name: &str) -> PyResult<SplitInto> {
        match self.get(name)?.as_ref().and_then(int_of) {
            Some(_) => Ok(SplitInto::Parts(self.usize(name)?)),
            None => Ok(SplitInto::Sections(self.i32s(name)?)),
        }
    }

    /// A constant: an array, a list or a number.
    pub(crate) fn tensor(&self, name: &str) -> PyResult<Tensor> {
        tensor_of(&self.need(name)?, None)
    }
}

/// A whole number or a variable that holds one.
fn int_or_var_of(value: &Bound<'_, PyAny>) -> Option<IntOrVar> {
    match var_of(value) {
        Some(var) => Some(IntOrVar::Var(var)),
        None => int_of(value).map(IntOrVar::Int),
    }
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

/// How to make a parameter; `None` if the value is nothing of the kind.
pub(crate) fn param_of(value: &Bound<'_, PyAny>) -> PyResult<Option<Param>> {
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Some(if flag.is_true() { Param::default() } else { Param::Without }));
    }
    if let Ok(name) = value.extract::<String>() {
        return Ok(Some(ParamAttr::name(name).into()));
    }
    Ok(match kind_of(value).as_deref() {
        Some("param_attr") => Some(attr_of(value)?.into()),
        Some("weight_norm_param_attr") => {
            let normed = ParamAttr::weight_norm(value.getattr("dim")?.extract()?);
            Some(ParamAttr { weight_norm: normed.weight_norm, ..attr_of(value)? }.into())
        }
        Some(_) => Some(ParamAttr::new().initializer(initializer_of(value)?).into()),
        None => None,
    })
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
