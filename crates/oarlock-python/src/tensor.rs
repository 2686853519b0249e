//! Tensors to and from numpy.
#![allow(unsafe_code, reason = "numpy's memory is read in place")]

use std::sync::Arc;

use numpy::{
    Element as NumpyElement, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods,
};
use oarlock::ir::SharedVar;
use oarlock::tensor::{self, DType, Dims, Element, Lod, Tensor, TensorArray, Value};
use parking_lot::RwLock;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::shared;

/// From this number of bytes on, a feed is read where numpy has it.
const IN_PLACE: usize = 1 << 16;

/// The memory of a numpy array, kept alive while it is read.
struct NumpyMemory {
    array: Py<PyAny>,
    start: *const u8,
    len: usize,
}

// SAFETY: the memory is only read, and the array that owns it lives as long as this value; numpy frees it with the interpreter's
// lock held, since dropping a `Py` waits for that.
unsafe impl Send for NumpyMemory {}
// SAFETY: as above.
unsafe impl Sync for NumpyMemory {}

impl AsRef<[u8]> for NumpyMemory {
    fn as_ref(&self) -> &[u8] {
        let _alive = &self.array;
        // SAFETY: `start` and `len` are those of a contiguous array that `array` keeps alive.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

/// A tensor of a numpy array, a LoDTensor, a list or a number. `dtype` is what lists and numbers become.
pub(crate) fn tensor_of(value: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Tensor> {
    if let Ok(t) = value.cast::<LoDTensor>() {
        return t.get().with(value.py(), |t| Ok(t.clone()));
    }
    let py = value.py();
    let numpy = py.import("numpy")?;
    let array = match value.cast::<PyUntypedArray>() {
        Ok(array) if array.is_c_contiguous() => array.clone(),
        Ok(array) => numpy.call_method1("ascontiguousarray", (array,))?.cast_into::<PyUntypedArray>()?,
        Err(_) => {
            let made = match dtype {
                Some(d) => numpy.call_method1("array", (value, d.name()))?,
                None => default_array(&numpy, value)?,
            };
            // A number of Python is one element.
            let made = numpy.call_method1("atleast_1d", (made,))?;
            made.cast_into::<PyUntypedArray>()?
        }
    };
    of_array(&array)
}

/// The same with memory of its own: who made the array may write into it again.
pub(crate) fn owned_tensor_of(value: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let mut t = tensor_of(value, None)?;
    t.bytes_mut();
    Ok(t)
}

/// Floats become f32, as in Fluid; whole numbers stay i64.
fn default_array<'py>(numpy: &Bound<'py, PyModule>, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let array = numpy.call_method1("array", (value,))?;
    let kind: String = array.getattr("dtype")?.getattr("name")?.extract()?;
    if kind == "float64" { array.call_method1("astype", ("float32",)) } else { Ok(array) }
}

/// Copies the values and sizes of an array into a tensor, whose memory and sequences stay.
pub(crate) fn copy_array(value: &Bound<'_, PyAny>, t: &mut Tensor) -> PyResult<()> {
    // New sizes forget the sequences.
    let lod = t.lod().clone();
    match value.cast::<PyUntypedArray>() {
        Ok(array) if array.is_c_contiguous() => {
            let (dtype, dims, start) = parts(array)?;
            t.resize(dtype, dims);
            copy_bytes(start, t);
        }
        _ => {
            let new = tensor_of(value, None)?;
            t.resize(new.dtype(), *new.dims());
            t.bytes_mut().copy_from_slice(new.bytes());
        }
    }
    t.set_lod(lod);
    Ok(())
}

/// Element type, sizes and first byte of a contiguous array.
fn parts(array: &Bound<'_, PyUntypedArray>) -> PyResult<(DType, Dims, *const u8)> {
    let dtype = array_dtype(array)?;
    let dims = Dims::try_new(array.shape()).map_err(|e| PyValueError::new_err(e.to_string()))?;
    // SAFETY: an array object's data pointer is valid for its length while the object lives.
    let start = unsafe { (*array.as_array_ptr()).fields.data }.cast_const().cast::<u8>();
    Ok((dtype, dims, start))
}

/// Fills a tensor with the bytes of a contiguous array of the same type and sizes.
fn copy_bytes(start: *const u8, t: &mut Tensor) {
    let to = t.bytes_mut();
    if !to.is_empty() {
        // SAFETY: contiguous, alive during the call, and no Python code runs meanwhile.
        to.copy_from_slice(unsafe { std::slice::from_raw_parts(start, to.len()) });
    }
}

fn of_array(array: &Bound<'_, PyUntypedArray>) -> PyResult<Tensor> {
    let (dtype, dims, start) = parts(array)?;
    let len = dims.numel() * dtype.size();
    let aligned = start.align_offset(dtype.size()) == 0;
    if len >= IN_PLACE && aligned {
        let memory = NumpyMemory { array: array.clone().into_any().unbind(), start, len };
        return Tensor::from_foreign(dtype, dims, Arc::new(memory)).map_err(|e| PyValueError::new_err(e.to_string()));
    }
    let mut t = Tensor::zeros(dtype, dims);
    copy_bytes(start, &mut t);
    Ok(t)
}

fn array_dtype(array: &Bound<'_, PyUntypedArray>) -> PyResult<DType> {
    let d = array.dtype();
    let found = match (d.kind(), d.itemsize()) {
        (b'b', 1) => Some(DType::Bool),
        (b'i', 1) => Some(DType::I8),
        (b'i', 2) => Some(DType::I16),
        (b'i', 4) => Some(DType::I32),
        (b'i', 8) => Some(DType::I64),
        (b'u', 1) => Some(DType::U8),
        (b'f', 2) => Some(DType::F16),
        (b'f', 4) => Some(DType::F32),
        (b'f', 8) => Some(DType::F64),
        _ => None,
    };
    let native = d.is_native_byteorder().unwrap_or(true);
    found.filter(|_| native).ok_or_else(|| {
        let help = "use float32, float64, float16, bool, uint8 or int8 to int64, in the machine's byte order";
        PyTypeError::new_err(format!("arrays of {d} are not supported: {help}"))
    })
}

/// A new numpy array with the elements of a tensor.
pub(crate) fn array_of<'py>(py: Python<'py>, t: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    fn typed<'py, T: Element + NumpyElement>(py: Python<'py>, t: &Tensor) -> PyResult<Bound<'py, PyAny>> {
        let data = t.data::<T>().map_err(|e| PyTypeError::new_err(e.to_string()))?;
        // SAFETY: every element is written before the array is shared.
        let array = unsafe { PyArrayDyn::<T>::new(py, &t.dims()[..], false) };
        // SAFETY: just made, so there is no other view of it.
        unsafe { array.as_slice_mut() }?.copy_from_slice(data);
        Ok(array.into_any())
    }
    match t.dtype() {
        DType::Bool => {
            let flags: Vec<bool> = t.bytes().iter().map(|b| *b != 0).collect();
            numpy::PyArray1::from_vec(py, flags).call_method1("reshape", (t.dims().to_vec(),))
        }
        DType::I8 => typed::<i8>(py, t),
        DType::I16 => typed::<i16>(py, t),
        DType::I32 => typed::<i32>(py, t),
        DType::I64 => typed::<i64>(py, t),
        DType::U8 => typed::<u8>(py, t),
        DType::F32 => typed::<f32>(py, t),
        DType::F64 => typed::<f64>(py, t),
        d => {
            // numpy's own half floats have no Rust twin here: the bits are passed on.
            let bits: Vec<u16> = t.bytes().chunks_exact(2).map(|b| u16::from_ne_bytes([b[0], b[1]])).collect();
            let bits = numpy::PyArray1::from_vec(py, bits).into_any();
            let shape: Vec<usize> = t.dims().to_vec();
            let bits = bits.call_method1("reshape", (shape,))?;
            if d == DType::F16 { bits.call_method1("view", ("float16",)) } else { Ok(bits) }
        }
    }
}

/// A tensor with its sequences: of its own, or in a scope, where the next run sees what is set.
#[pyclass(frozen)]
pub(crate) struct LoDTensor {
    var: SharedVar,
}

impl LoDTensor {
    /// A tensor of its own.
    pub(crate) fn own(t: Tensor) -> LoDTensor {
        LoDTensor::at(Arc::new(RwLock::new(Value::Dense(t))))
    }

    /// The tensor of a variable.
    pub(crate) fn at(var: SharedVar) -> LoDTensor {
        LoDTensor { var }
    }

    /// Reads it.
    pub(crate) fn with<R>(&self, py: Python<'_>, read: impl FnOnce(&Tensor) -> PyResult<R>) -> PyResult<R> {
        shared::read(py, &self.var, |value| match value {
            Value::Dense(t) => read(t),
            Value::Rows(r) => read(&r.value),
            other => Err(PyValueError::new_err(format!("the variable is {}, not a tensor", other.kind()))),
        })
    }

    fn change(&self, py: Python<'_>, change: impl FnOnce(&mut Tensor) -> PyResult<()> + Send) -> PyResult<()> {
        shared::change(py, &self.var, |value| match value {
            Value::Rows(r) => change(&mut r.value),
            other => change(other.dense_mut()),
        })
    }
}

impl LoDTensor {
    fn retype(&self, py: Python<'_>, dtype: DType) -> PyResult<()> {
        self.change(py, |t| {
            let (dims, lod) = (*t.dims(), t.lod().clone());
            t.resize(dtype, dims);
            t.set_lod(lod);
            Ok(())
        })
    }

    fn element<T: Element>(&self, py: Python<'_>, index: usize) -> PyResult<T> {
        self.with(py, |t| {
            let data = t.data::<T>().map_err(|e| PyTypeError::new_err(e.to_string()))?;
            data.get(index).copied().ok_or_else(|| no_element(index, data.len()))
        })
    }

    fn set_element<T: Element>(&self, py: Python<'_>, index: usize, value: T) -> PyResult<()> {
        self.change(py, |t| {
            let data = t.data_mut::<T>().map_err(|e| PyTypeError::new_err(e.to_string()))?;
            let count = data.len();
            *data.get_mut(index).ok_or_else(|| no_element(index, count))? = value;
            Ok(())
        })
    }
}

fn no_element(index: usize, count: usize) -> PyErr {
    pyo3::exceptions::PyIndexError::new_err(format!("there is no element {index} among {count}"))
}

/// Sequences of a tensor; those of one without values yet are checked when it gets them.
fn checked_lod(lod: Lod, t: &Tensor) -> PyResult<Lod> {
    let rows = lod.levels().last().and_then(|level| level.last().copied()).unwrap_or(0);
    lod.check(if t.numel() == 0 { rows } else { t.rows() }).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(lod)
}

#[pymethods]
impl LoDTensor {
    /// An empty tensor, with sequences by their lengths if they are given.
    #[new]
    #[pyo3(signature = (recursive_sequence_lengths = None))]
    fn new(recursive_sequence_lengths: Option<Vec<Vec<usize>>>) -> PyResult<LoDTensor> {
        let mut t = Tensor::zeros(DType::F32, [0]);
        if let Some(lengths) = recursive_sequence_lengths {
            let lod = checked_lod(Lod::from_lengths(&lengths), &t)?;
            t.set_lod(lod);
        }
        Ok(LoDTensor::own(t))
    }

    /// Takes the values of an array; sequences stay if they fit its rows. The place is for compatibility: everything is on the CPU.
    #[pyo3(signature = (array, place = None))]
    fn set(&self, array: &Bound<'_, PyAny>, place: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let _ = place;
        let new = tensor_of(array, None)?;
        self.change(array.py(), |t| {
            let lod = t.lod().clone();
            t.copy_from(&new);
            t.set_lod(if lod.check(t.rows()).is_ok() { lod } else { Lod::NONE });
            Ok(())
        })
    }

    /// A tensor of its own with the same values and sequences.
    #[pyo3(signature = (place = None))]
    fn _copy(&self, py: Python<'_>, place: Option<&Bound<'_, PyAny>>) -> PyResult<LoDTensor> {
        let _ = place;
        self.with(py, |t| Ok(LoDTensor::own(t.clone())))
    }

    /// Takes over the values of another tensor.
    fn _share_data_with(&self, py: Python<'_>, other: &LoDTensor) -> PyResult<()> {
        let new = other.with(py, |t| Ok(t.clone()))?;
        self.change(py, |t| {
            *t = new;
            Ok(())
        })
    }

    /// Makes its elements f32; their values are arbitrary.
    #[pyo3(signature = (place = None))]
    fn _alloc_float(&self, py: Python<'_>, place: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let _ = place;
        self.retype(py, DType::F32)
    }

    /// Makes its elements f64; their values are arbitrary.
    #[pyo3(signature = (place = None))]
    fn _alloc_double(&self, py: Python<'_>, place: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let _ = place;
        self.retype(py, DType::F64)
    }

    /// Makes its elements i32; their values are arbitrary.
    #[pyo3(signature = (place = None))]
    fn _alloc_int(&self, py: Python<'_>, place: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let _ = place;
        self.retype(py, DType::I32)
    }

    /// Gives its elements a type, by its number; returns the address of the first one.
    fn _mutable_data(&self, py: Python<'_>, place: &Bound<'_, PyAny>, dtype: i32) -> PyResult<usize> {
        let _ = place;
        let unknown = || PyValueError::new_err(format!("there is no element type {dtype}"));
        self.retype(py, DType::from_proto(dtype).ok_or_else(unknown)?)?;
        self.with(py, |t| Ok(t.bytes().as_ptr() as usize))
    }

    /// An element of a tensor of f32.
    fn _get_float_element(&self, py: Python<'_>, index: usize) -> PyResult<f32> {
        self.element(py, index)
    }

    /// Sets an element of a tensor of f32.
    fn _set_float_element(&self, py: Python<'_>, index: usize, value: f32) -> PyResult<()> {
        self.set_element(py, index, value)
    }

    /// An element of a tensor of f64.
    fn _get_double_element(&self, py: Python<'_>, index: usize) -> PyResult<f64> {
        self.element(py, index)
    }

    /// Sets an element of a tensor of f64.
    fn _set_double_element(&self, py: Python<'_>, index: usize, value: f64) -> PyResult<()> {
        self.set_element(py, index, value)
    }

    /// Where it is: on the CPU.
    fn _place<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let core = py.import("oarlock.fluid.core")?;
        let place = core.getattr("Place")?.call0()?;
        place.call_method1("set_place", (core.getattr("CPUPlace")?.call0()?,))?;
        Ok(place)
    }

    /// The number of its elements.
    fn _numel(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |t| Ok(t.numel()))
    }

    /// A part of it, as numpy slices arrays.
    fn __getitem__(&self, py: Python<'_>, index: &Bound<'_, PyAny>) -> PyResult<LoDTensor> {
        let part = self.with(py, |t| array_of(py, t))?.get_item(index)?;
        let part = py.import("numpy")?.call_method1("atleast_1d", (part,))?;
        Ok(LoDTensor::own(owned_tensor_of(&part)?))
    }

    /// Sequences by their offsets.
    fn lod(&self, py: Python<'_>) -> PyResult<Vec<Vec<usize>>> {
        self.with(py, |t| Ok(t.lod().levels().to_vec()))
    }

    /// Sets sequences by their offsets.
    fn set_lod(&self, py: Python<'_>, lod: Vec<Vec<usize>>) -> PyResult<()> {
        self.change(py, |t| {
            let lod = checked_lod(Lod::new(lod), t)?;
            t.set_lod(lod);
            Ok(())
        })
    }

    /// Sequences by their lengths.
    fn recursive_sequence_lengths(&self, py: Python<'_>) -> PyResult<Vec<Vec<usize>>> {
        self.with(py, |t| Ok(t.lod().lengths()))
    }

    /// Sets sequences by their lengths.
    fn set_recursive_sequence_lengths(&self, py: Python<'_>, lengths: Vec<Vec<usize>>) -> PyResult<()> {
        self.change(py, |t| {
            let lod = checked_lod(Lod::from_lengths(&lengths), t)?;
            t.set_lod(lod);
            Ok(())
        })
    }

    /// Do the sequences cover the rows?
    fn has_valid_recursive_sequence_lengths(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |t| Ok(t.lod().check(t.rows()).is_ok()))
    }

    /// Its sizes.
    fn shape(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        self.with(py, |t| Ok(t.dims().to_vec()))
    }

    /// Its sizes, by an older name.
    fn _get_dims(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        self.shape(py)
    }

    /// Gives it other sizes; values are arbitrary where their number differs.
    fn _set_dims(&self, py: Python<'_>, dims: Vec<usize>) -> PyResult<()> {
        let dims = Dims::try_new(&dims).map_err(|e| PyValueError::new_err(e.to_string()))?;
        self.change(py, |t| {
            t.resize(t.dtype(), dims);
            Ok(())
        })
    }

    /// Does it have values?
    fn _is_initialized(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |t| Ok(t.numel() > 0))
    }

    /// Forgets values and sequences.
    fn _clear(&self, py: Python<'_>) -> PyResult<()> {
        self.change(py, |t| {
            t.resize(t.dtype(), Dims::from([0]));
            t.set_lod(Lod::NONE);
            Ok(())
        })
    }

    /// The number of its element type.
    fn _dtype(&self, py: Python<'_>) -> PyResult<i32> {
        self.with(py, |t| Ok(t.dtype().proto()))
    }

    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _always = copy;
        let array = self.with(py, |t| array_of(py, t))?;
        match dtype {
            Some(d) => array.call_method1("astype", (d,)),
            None => Ok(array),
        }
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |t| Ok(t.rows()))
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        let values = self.with(py, |t| array_of(py, t))?.str()?.to_string();
        self.with(py, |t| Ok(format!("lod: {:?}\ndim: {}\n{values}", t.lod().levels(), t.dims())))
    }
}

/// A list of tensors: of its own, or in a scope.
#[pyclass(frozen)]
pub(crate) struct LoDTensorArray(SharedVar);

impl LoDTensorArray {
    /// The list of a variable; an empty variable becomes a list.
    pub(crate) fn at(py: Python<'_>, var: &SharedVar) -> PyResult<LoDTensorArray> {
        become_kind(py, var, Value::array_mut)?;
        shared::read(py, var, |value| value.array().map(|_| ()).map_err(wrong_kind))?;
        Ok(LoDTensorArray(var.clone()))
    }

    fn with<R>(&self, py: Python<'_>, read: impl FnOnce(&[Tensor]) -> PyResult<R>) -> PyResult<R> {
        shared::read(py, &self.0, |value| read(value.array().map_err(wrong_kind)?.items()))
    }
}

/// Python's index into a list of this length.
fn position(index: isize, len: usize) -> PyResult<usize> {
    let at = if index < 0 { index + len as isize } else { index };
    let found = usize::try_from(at).ok().filter(|at| *at < len);
    found.ok_or_else(|| pyo3::exceptions::PyIndexError::new_err(format!("no tensor {index} among {len}")))
}

#[pymethods]
impl LoDTensorArray {
    #[new]
    fn new() -> LoDTensorArray {
        LoDTensorArray(Arc::new(RwLock::new(Value::Array(TensorArray::default()))))
    }

    /// Adds a tensor.
    fn append(&self, py: Python<'_>, t: &LoDTensor) -> PyResult<()> {
        let t = t.with(py, |t| Ok(t.clone()))?;
        shared::change(py, &self.0, |value| {
            let array = value.array_mut();
            let end = array.items().len();
            *array.at_mut(end) = t;
            Ok(())
        })
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |items| Ok(items.len()))
    }

    fn __getitem__(&self, py: Python<'_>, index: isize) -> PyResult<LoDTensor> {
        self.with(py, |items| Ok(LoDTensor::own(items[position(index, items.len())?].clone())))
    }

    fn __setitem__(&self, py: Python<'_>, index: isize, t: &LoDTensor) -> PyResult<()> {
        let t = t.with(py, |t| Ok(t.clone()))?;
        shared::change(py, &self.0, |value| {
            let items = value.array_mut().items_mut();
            items[position(index, items.len())?] = t;
            Ok(())
        })
    }
}

/// Rows of a large table, which and their values: of its own, or in a scope.
#[pyclass(frozen)]
pub(crate) struct SelectedRows(SharedVar);

impl SelectedRows {
    /// Rows of their own.
    fn own(rows: tensor::SelectedRows) -> SelectedRows {
        SelectedRows(Arc::new(RwLock::new(Value::Rows(rows))))
    }

    /// The rows of a variable; an empty variable becomes rows.
    pub(crate) fn at(py: Python<'_>, var: &SharedVar) -> PyResult<SelectedRows> {
        become_kind(py, var, Value::rows_mut)?;
        shared::read(py, var, |value| value.rows().map(|_| ()).map_err(wrong_kind))?;
        Ok(SelectedRows(var.clone()))
    }

    fn with<R>(&self, py: Python<'_>, read: impl FnOnce(&tensor::SelectedRows) -> R) -> PyResult<R> {
        shared::read(py, &self.0, |value| value.rows().map(read).map_err(wrong_kind))
    }
}

#[pymethods]
impl SelectedRows {
    #[new]
    #[pyo3(signature = (rows = Vec::new(), height = 0))]
    fn new(rows: Vec<i64>, height: i64) -> SelectedRows {
        SelectedRows::own(tensor::SelectedRows { rows, height, value: Tensor::zeros(DType::F32, [0]) })
    }

    /// Which rows.
    fn rows(&self, py: Python<'_>) -> PyResult<Vec<i64>> {
        self.with(py, |r| r.rows.clone())
    }

    /// Sets which rows.
    fn set_rows(&self, py: Python<'_>, rows: Vec<i64>) -> PyResult<()> {
        shared::change(py, &self.0, |value| {
            value.rows_mut().rows = rows;
            Ok(())
        })
    }

    /// Rows of the whole table.
    fn height(&self, py: Python<'_>) -> PyResult<i64> {
        self.with(py, |r| r.height)
    }

    /// Sets how many rows the whole table has.
    fn set_height(&self, py: Python<'_>, height: i64) -> PyResult<()> {
        shared::change(py, &self.0, |value| {
            value.rows_mut().height = height;
            Ok(())
        })
    }

    /// Changes nothing: rows are found without an index.
    fn sync_index(&self) {}

    /// The number of elements of the listed rows.
    fn numel(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |r| r.value.numel())
    }

    /// The values of the rows, to read and to set.
    fn get_tensor(&self) -> LoDTensor {
        LoDTensor::at(self.0.clone())
    }
}

fn wrong_kind(e: tensor::Error) -> PyErr {
    PyValueError::new_err(e.to_string())
}

/// Makes an empty variable hold a kind of value.
fn become_kind<T>(py: Python<'_>, var: &SharedVar, make: fn(&mut Value) -> &mut T) -> PyResult<()> {
    if shared::read(py, var, |value| Ok(matches!(value, Value::Empty)))? {
        shared::change(py, var, |value| {
            make(value);
            Ok(())
        })?;
    }
    Ok(())
}

/// Converts a fetched value to Python.
pub(crate) fn fetched<'py>(py: Python<'py>, value: Value, numpy: bool) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Dense(t) if numpy && t.lod().is_empty() => array_of(py, &t)?,
        Value::Dense(_) if numpy => {
            let help = "pass return_numpy=False to fetch it as a LoDTensor";
            return Err(PyValueError::new_err(format!(
                "a fetched variable has sequences (LoD), which numpy arrays cannot hold: {help}"
            )));
        }
        Value::Dense(t) => LoDTensor::own(t).into_pyobject(py)?.into_any(),
        Value::Rows(r) => SelectedRows::own(r).into_pyobject(py)?.into_any(),
        Value::Array(_) if !numpy => LoDTensorArray(Arc::new(RwLock::new(value))).into_pyobject(py)?.into_any(),
        Value::Array(a) => {
            let items = a.items().iter().map(|t| fetched(py, Value::Dense(t.clone()), numpy));
            PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        other => return Err(PyTypeError::new_err(format!("a fetched variable is {}, not a tensor", other.kind()))),
    })
}
