//! Programs as Python sees them: blocks, variables and operators by index and name.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oarlock::ir::{self, Attr, Dim, Mark, MemoryOptions, Var, VarKind, VarType};
use oarlock::tensor::DType;
use parking_lot::Mutex;
use pyo3::exceptions::{PyAttributeError, PyIndexError, PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::args::{attr_value, clip_of, decay_of, dtype_of, initializer_of};
use crate::builder::registry;
use crate::error::IntoPy;

/// A program. It is never locked while something runs: a run holds its own reference, and a change makes a new version.
#[pyclass(frozen)]
pub(crate) struct Program {
    inner: Mutex<Arc<ir::Program>>,
    /// Where layers are appended.
    current_block: AtomicUsize,
}

impl Program {
    /// Of a program.
    pub(crate) fn of(program: ir::Program) -> Program {
        Program { inner: Mutex::new(Arc::new(program)), current_block: AtomicUsize::new(0) }
    }

    /// Where layers are appended.
    pub(crate) fn current_block(&self) -> usize {
        self.current_block.load(Ordering::Relaxed)
    }

    /// Appends layers elsewhere from now on.
    pub(crate) fn set_current_block(&self, block: usize) {
        self.current_block.store(block, Ordering::Relaxed);
    }

    /// The program as it is now.
    pub(crate) fn get(&self) -> Arc<ir::Program> {
        self.inner.lock().clone()
    }

    fn check_block(&self, block: usize) -> PyResult<()> {
        let count = self.get().blocks().len();
        if block < count {
            return Ok(());
        }
        Err(PyIndexError::new_err(format!("there is no block {block} among {count}")))
    }

    /// Exchanges the program with another.
    pub(crate) fn exchange(&self, other: &mut ir::Program) {
        let mut inner = self.inner.lock();
        let mine = std::mem::take(&mut *inner);
        let mine = Arc::try_unwrap(mine).unwrap_or_else(|shared| (*shared).clone());
        *inner = Arc::new(std::mem::replace(other, mine));
    }

    /// Changes the program.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut ir::Program) -> T) -> T {
        let mut inner = self.inner.lock();
        let program = Arc::make_mut(&mut inner);
        program.touch();
        change(program)
    }
}

fn no_op(block: usize, index: usize) -> PyErr {
    PyIndexError::new_err(format!("block {block} has no operator {index}"))
}

#[pymethods]
impl Program {
    #[new]
    fn new() -> Program {
        Program::of(ir::Program::new())
    }

    /// Reads the bytes of a `__model__` file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Program> {
        Ok(Program::of(ir::Program::from_bytes(bytes).py()?))
    }

    /// The bytes of a `__model__` file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.get().to_bytes())
    }

    /// The same, as scripts call it: `program.desc.serialize_to_string()`.
    fn serialize_to_string<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.to_bytes(py)
    }

    /// The readable form.
    fn to_text(&self) -> String {
        self.get().to_text()
    }

    /// The seed of random operators; 0 for a new one in every run.
    #[getter]
    fn random_seed(&self) -> i32 {
        self.get().random_seed
    }

    #[setter]
    fn set_random_seed(&self, seed: i32) {
        self.change(|p| p.random_seed = seed);
    }

    /// A number that changes when the program does.
    #[getter]
    fn version(&self) -> u64 {
        self.get().version()
    }

    #[getter(current_block)]
    fn py_current_block(&self) -> usize {
        self.current_block()
    }

    #[setter(current_block)]
    fn py_set_current_block(&self, block: usize) -> PyResult<()> {
        self.check_block(block)?;
        self.set_current_block(block);
        Ok(())
    }

    fn num_blocks(&self) -> usize {
        self.get().blocks().len()
    }

    /// The description of a block, as scripts read it: `program.desc.block(0).op(1).type()`.
    fn block<'py>(slf: Bound<'py, Program>, index: usize) -> PyResult<Bound<'py, PyAny>> {
        slf.get().check_block(index)?;
        slf.py().import("oarlock.fluid._desc")?.call_method1("block_of", (&slf, index))
    }

    /// A new block inside the one with a description; returns its description.
    fn append_block<'py>(slf: Bound<'py, Program>, parent: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let made = slf.get().add_block(parent.getattr("id")?.extract()?)?;
        Program::block(slf, made)
    }

    /// There is one description only: nothing to do.
    fn flush(&self) {}

    /// The block around a block, or -1.
    fn parent(&self, block: usize) -> i64 {
        self.get().block(block).parent.map_or(-1, |p| p as i64)
    }

    /// The block of which this one holds the gradients, or -1.
    fn forward(&self, block: usize) -> i64 {
        self.get().block(block).forward.map_or(-1, |p| p as i64)
    }

    /// A new block inside another.
    fn add_block(&self, parent: usize) -> PyResult<usize> {
        self.check_block(parent)?;
        Ok(self.change(|p| p.add_block(parent)))
    }

    /// A copy; for tests without what trains it.
    fn clone(&self, for_test: bool) -> PyResult<Program> {
        let program = self.get();
        Ok(Program::of(if for_test { ir::clone_for_test(&program).py()? } else { (*program).clone() }))
    }

    /// The part of the program that the targets need.
    fn prune(&self, feeds: Vec<String>, targets: Vec<String>) -> PyResult<Program> {
        let feeds: Vec<&str> = feeds.iter().map(String::as_str).collect();
        let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
        Ok(Program::of(ir::prune(&self.get(), &feeds, &targets).py()?))
    }

    /// The names of the variables of a block, in the order they were made.
    fn var_names(&self, block: usize) -> Vec<String> {
        self.get().block(block).vars.keys().map(|n| n.to_string()).collect()
    }

    /// The block in which a name is declared, as seen from a block.
    fn resolve(&self, block: usize, name: &str) -> Option<usize> {
        self.get().resolve(block, name)
    }

    /// Is the name declared in this very block?
    fn has_var(&self, block: usize, name: &str) -> bool {
        self.get().block(block).var(name).is_some()
    }

    /// Declares a variable.
    #[pyo3(signature = (block, name, kind, dtype, shape, lod_level, persistable))]
    #[allow(clippy::too_many_arguments, reason = "one call per variable")]
    fn declare(
        &self,
        block: usize,
        name: &str,
        kind: i32,
        dtype: Option<Bound<'_, PyAny>>,
        shape: Vec<i64>,
        lod_level: usize,
        persistable: bool,
    ) -> PyResult<()> {
        let dtype = match dtype {
            Some(d) => dtype_of(&d).ok_or_else(|| PyValueError::new_err(format!("unknown element type {d}")))?,
            None => DType::F32,
        };
        let shape: Vec<Dim> = shape.into_iter().map(Dim::from_i64).collect();
        let ty = VarType::tensor(dtype, shape).with_lod(lod_level).with_kind(VarKind::from_proto(kind));
        let mut var = Var::new(name, ty);
        var.persistable = persistable;
        self.change(|p| {
            p.block_mut(block).set_var(var);
        });
        Ok(())
    }

    /// Declares a reader of tensors, given by element type, shape and LoD levels.
    fn declare_reader(
        &self,
        block: usize,
        name: &str,
        reads: Vec<(Bound<'_, PyAny>, Vec<i64>, usize)>,
    ) -> PyResult<()> {
        let one = |(dtype, shape, lod_level): (Bound<'_, PyAny>, Vec<i64>, usize)| {
            let unknown = || PyValueError::new_err(format!("unknown element type {dtype}"));
            let shape: Vec<Dim> = shape.into_iter().map(Dim::from_i64).collect();
            Ok(VarType::tensor(dtype_of(&dtype).ok_or_else(unknown)?, shape).with_lod(lod_level))
        };
        let ty = VarType::tensor(DType::F32, Vec::new()).with_kind(VarKind::Reader);
        let mut var = Var::new(name, ty);
        var.persistable = true;
        var.reads = reads.into_iter().map(one).collect::<PyResult<_>>()?;
        self.change(|p| {
            p.block_mut(block).set_var(var);
        });
        Ok(())
    }

    /// Forgets a variable.
    fn remove_var(&self, block: usize, name: &str) {
        self.change(|p| {
            p.block_mut(block).vars.shift_remove(name);
        });
    }

    /// A property of a variable.
    fn var_get<'py>(&self, py: Python<'py>, block: usize, name: &str, field: &str) -> PyResult<Bound<'py, PyAny>> {
        let program = self.get();
        let Some(var) = program.find_var(block, name) else {
            return Err(PyKeyError::new_err(format!("there is no variable `{name}`")));
        };
        Ok(match field {
            "shape" => pyo3::types::PyTuple::new(py, var.shape.to_i64())?.into_any(),
            "dtype" => var.ty().dtype.proto().into_pyobject(py)?.into_any(),
            "lod_level" => var.lod_level.into_pyobject(py)?.into_any(),
            "type" => var.kind.proto().into_pyobject(py)?.into_any(),
            "persistable" => truth(py, var.persistable),
            "need_check_feed" => truth(py, var.need_check_feed),
            "stop_gradient" => truth(py, var.meta.stop_gradient),
            "is_data" => truth(py, var.meta.is_data),
            "is_parameter" => truth(py, var.meta.is_parameter),
            "trainable" => truth(py, var.meta.trainable),
            "do_model_average" => truth(py, var.meta.do_model_average),
            "is_distributed" => truth(py, var.meta.is_distributed),
            "learning_rate" => var.meta.learning_rate.into_pyobject(py)?.into_any(),
            "reads" => {
                let one = |ty: &VarType| (ty.dtype.proto(), ty.shape.to_i64(), ty.lod_level);
                var.reads.iter().map(one).collect::<Vec<_>>().into_pyobject(py)?.into_any()
            }
            "text" => format!("{}: {}", var.name, var.ty()).into_pyobject(py)?.into_any(),
            _ => return Err(PyAttributeError::new_err(format!("variables have no `{field}`"))),
        })
    }

    /// Sets a property of a variable.
    fn var_set(&self, block: usize, name: &str, field: &str, value: Bound<'_, PyAny>) -> PyResult<()> {
        let set = setter(field, &value)?;
        self.change(|program| match program.find_var_mut(block, name) {
            Some(var) => {
                set(var);
                Ok(())
            }
            None => Err(PyKeyError::new_err(format!("there is no variable `{name}`"))),
        })
    }

    /// Puts the operator of a variable's first value in front of a block.
    fn initialize(&self, block: usize, name: &str, initializer: Bound<'_, PyAny>) -> PyResult<()> {
        let initializer = initializer_of(&initializer)?;
        self.change(|program| {
            let var = program.expect_var(block, name).py()?.clone();
            let op = initializer.op(&var, program.random_seed).py()?;
            ir::insert_op(program, block, 0, op, &registry()).py()
        })
    }

    /// How many operators a block has.
    fn num_ops(&self, block: usize) -> usize {
        self.get().block(block).ops.len()
    }

    /// Marks of the operators of a block, by which they are found wherever they move. An operator keeps its mark; a copy of one
    /// inside its block gets a mark of its own.
    fn op_marks(&self, block: usize) -> Vec<u32> {
        let mut inner = self.inner.lock();
        let ops = &inner.block(block).ops;
        let mut next = ops.iter().map(|op| op.mark.0).max().unwrap_or(0);
        let mut seen = HashSet::new();
        let marks: Vec<u32> = ops
            .iter()
            .map(|op| match op.mark.0 {
                mark if mark > 0 && seen.insert(mark) => mark,
                _ => {
                    next += 1;
                    next
                }
            })
            .collect();
        if ops.iter().zip(&marks).any(|(op, mark)| op.mark.0 != *mark) {
            let ops = &mut Arc::make_mut(&mut inner).block_mut(block).ops;
            ops.iter_mut().zip(&marks).for_each(|(op, mark)| op.mark = Mark(*mark));
        }
        marks
    }

    /// Where the operator with this mark is now; most likely at `hint`. None if it was removed.
    fn op_position(&self, block: usize, mark: u32, hint: usize) -> Option<usize> {
        let program = self.get();
        let ops = &program.block(block).ops;
        let is_it = |op: &ir::Op| op.mark.0 == mark;
        if ops.get(hint).is_some_and(is_it) { Some(hint) } else { ops.iter().position(is_it) }
    }

    /// Puts an operator without type and slots at a position, for scripts that fill it in; the last argument is its type.
    fn insert_blank_op(&self, block: usize, position: usize, op_type: &str) -> PyResult<()> {
        self.check_block(block)?;
        self.change(|p| {
            let ops = &mut p.block_mut(block).ops;
            if position > ops.len() {
                return Err(no_op(block, position));
            }
            ops.insert(position, ir::Op::new(op_type));
            Ok(())
        })
    }

    /// Gives an operator another type.
    fn set_op_type(&self, block: usize, index: usize, op_type: &str) -> PyResult<()> {
        self.change(|p| {
            let op = p.block_mut(block).ops.get_mut(index).ok_or_else(|| no_op(block, index))?;
            op.op_type = op_type.into();
            Ok(())
        })
    }

    /// Infers the types of the outputs of an operator.
    fn infer_op(&self, block: usize, index: usize) -> PyResult<()> {
        let program = self.get();
        let op = program.block(block).ops.get(index).ok_or_else(|| no_op(block, index))?;
        let types = ir::infer(&program, block, op, &registry()).py()?;
        self.change(|p| {
            for (name, ty) in types {
                if let Some(var) = p.find_var_mut(block, &name) {
                    var.set_ty(ty);
                }
            }
        });
        Ok(())
    }

    /// Gives attributes of an operator that are not set their defaults.
    fn set_default_attrs(&self, block: usize, index: usize) -> PyResult<()> {
        let registry = registry();
        self.change(|p| {
            let op = p.block_mut(block).ops.get_mut(index).ok_or_else(|| no_op(block, index))?;
            let entry = registry.entry(&op.op_type).py()?;
            for attr in &entry.sig.attrs {
                if let (None, Some(default)) = (op.attrs.get(attr.name), &attr.default) {
                    op.attrs.set(attr.name, default.clone());
                }
            }
            Ok(())
        })
    }

    /// The type of an operator.
    fn op_type(&self, block: usize, index: usize) -> PyResult<String> {
        let program = self.get();
        let op = program.block(block).ops.get(index).ok_or_else(|| no_op(block, index))?;
        Ok(op.op_type.to_string())
    }

    /// The inputs (or outputs) of an operator by slot.
    fn op_slots(&self, block: usize, index: usize, inputs: bool) -> PyResult<Vec<(String, Vec<String>)>> {
        let program = self.get();
        let op = program.block(block).ops.get(index).ok_or_else(|| no_op(block, index))?;
        let slots = if inputs { &op.inputs } else { &op.outputs };
        Ok(slots.iter().map(|(s, args)| (s.to_string(), args.iter().map(|n| n.to_string()).collect())).collect())
    }

    /// Renames a variable in an operator.
    fn rename_arg(&self, block: usize, index: usize, inputs: bool, from: &str, to: &str) -> PyResult<()> {
        self.change(|p| {
            let op = p.block_mut(block).ops.get_mut(index).ok_or_else(|| no_op(block, index))?;
            let slots = if inputs { &mut op.inputs } else { &mut op.outputs };
            slots.rename(from, &to.into());
            Ok(())
        })
    }

    /// Sets the variables of a slot of an operator.
    fn set_slot(&self, block: usize, index: usize, inputs: bool, slot: &str, args: Vec<String>) -> PyResult<()> {
        self.change(|p| {
            let op = p.block_mut(block).ops.get_mut(index).ok_or_else(|| no_op(block, index))?;
            let slots = if inputs { &mut op.inputs } else { &mut op.outputs };
            slots.set(slot, args.iter().map(|a| a.as_str().into()).collect());
            Ok(())
        })
    }

    /// The attributes of an operator; blocks as `(block index,)`.
    fn op_attrs<'py>(&self, py: Python<'py>, block: usize, index: usize) -> PyResult<Bound<'py, PyDict>> {
        let program = self.get();
        let op = program.block(block).ops.get(index).ok_or_else(|| no_op(block, index))?;
        let dict = PyDict::new(py);
        for (name, value) in op.attrs.iter() {
            dict.set_item(name.as_str(), attr_to_py(py, value)?)?;
        }
        Ok(dict)
    }

    /// Sets an attribute of an operator, as the type it has already.
    fn set_attr(&self, block: usize, index: usize, name: &str, value: Bound<'_, PyAny>) -> PyResult<()> {
        let unusable = || PyValueError::new_err(format!("attribute `{name}` cannot be {value}"));
        let attr = attr_value(&value).ok_or_else(unusable)?;
        self.change(|p| {
            let op = p.block_mut(block).ops.get_mut(index).ok_or_else(|| no_op(block, index))?;
            let attr = match (op.attrs.get(name), attr) {
                (Some(Attr::Float(_)), Attr::Int(v)) => Attr::Float(v as f32),
                (Some(Attr::Long(_)), Attr::Int(v)) => Attr::Long(v.into()),
                (Some(Attr::Floats(_)), Attr::Ints(v)) => Attr::Floats(v.into_iter().map(|v| v as f32).collect()),
                (Some(Attr::Longs(_)), Attr::Ints(v)) => Attr::Longs(v.into_iter().map(i64::from).collect()),
                (_, attr) => attr,
            };
            op.attrs.set(name, attr);
            Ok(())
        })
    }

    /// Removes operators `from..to` of a block.
    fn remove_ops(&self, block: usize, from: usize, to: usize) -> PyResult<()> {
        self.change(|p| {
            let ops = &mut p.block_mut(block).ops;
            if from > to || to > ops.len() {
                return Err(no_op(block, to));
            }
            ops.drain(from..to);
            Ok(())
        })
    }

    /// Lets temporaries share memory; returns warnings. Variables of `skip` keep their own, and with `skip_grads` gradients, too.
    fn memory_optimize(&self, skip: Vec<String>, skip_grads: bool) -> Vec<String> {
        let options = MemoryOptions { skip: skip.iter().map(|n| n.as_str().into()).collect(), skip_grads };
        self.change(|p| ir::memory_optimize(p, &options))
    }

    /// Frees temporaries as soon as nothing needs them, but for those of `skip`; returns warnings.
    fn release_memory(&self, skip: Vec<String>) -> Vec<String> {
        let skip = skip.iter().map(|n| n.as_str().into()).collect();
        self.change(|p| ir::release_memory(p, &MemoryOptions { skip, skip_grads: false }))
    }
}

/// Sets a property of a variable.
type Set = Box<dyn FnOnce(&mut Var)>;

/// How to set a property of a variable. The value is converted here: the program is locked while it is set, and a conversion may
/// run Python.
fn setter(field: &str, value: &Bound<'_, PyAny>) -> PyResult<Set> {
    let truth = || value.is_truthy();
    Ok(match field {
        "shape" => {
            let dims: Vec<i64> = value.extract()?;
            let shape: Vec<Dim> = dims.into_iter().map(Dim::from_i64).collect();
            Box::new(move |v| v.set_ty(v.ty().with_shape(shape)))
        }
        "dtype" => {
            let unknown = || PyValueError::new_err(format!("unknown element type {value}"));
            let dtype = dtype_of(value).ok_or_else(unknown)?;
            Box::new(move |v| v.set_ty(v.ty().with_dtype(dtype)))
        }
        "lod_level" => set(value.extract()?, |v, level| v.lod_level = level),
        "type" => set(VarKind::from_proto(value.extract()?), |v, kind| v.kind = kind),
        "persistable" => set(truth()?, |v, on| v.persistable = on),
        "need_check_feed" => set(truth()?, |v, on| v.need_check_feed = on),
        "stop_gradient" => set(truth()?, |v, on| v.meta.stop_gradient = on),
        "is_data" => set(truth()?, |v, on| v.meta.is_data = on),
        "is_parameter" => set(truth()?, |v, on| v.meta.is_parameter = on),
        "trainable" => set(truth()?, |v, on| v.meta.trainable = on),
        "do_model_average" => set(truth()?, |v, on| v.meta.do_model_average = on),
        "is_distributed" => set(truth()?, |v, on| v.meta.is_distributed = on),
        "learning_rate" => set(value.extract()?, |v, factor| v.meta.learning_rate = factor),
        "regularizer" => set(unless_none(value, decay_of)?, |v, decay| v.meta.regularizer = decay),
        "gradient_clip" => set(unless_none(value, clip_of)?, |v, clip| v.meta.grad_clip = clip),
        _ => return Err(PyAttributeError::new_err(format!("`{field}` of a variable cannot be set"))),
    })
}

fn set<T: 'static>(value: T, set: impl FnOnce(&mut Var, T) + 'static) -> Set {
    Box::new(move |var| set(var, value))
}

fn unless_none<'py, T>(
    value: &Bound<'py, PyAny>,
    convert: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Option<T>> {
    if value.is_none() { Ok(None) } else { convert(value).map(Some) }
}

fn truth(py: Python<'_>, value: bool) -> Bound<'_, PyAny> {
    pyo3::types::PyBool::new(py, value).to_owned().into_any()
}

pub(crate) fn attr_to_py<'py>(py: Python<'py>, attr: &Attr) -> PyResult<Bound<'py, PyAny>> {
    Ok(match attr {
        Attr::Int(v) => v.into_pyobject(py)?.into_any(),
        Attr::Long(v) => v.into_pyobject(py)?.into_any(),
        Attr::Float(v) => f64::from(*v).into_pyobject(py)?.into_any(),
        Attr::Float64(v) => v.into_pyobject(py)?.into_any(),
        Attr::String(v) => v.into_pyobject(py)?.into_any(),
        Attr::Bool(v) => truth(py, *v),
        Attr::Ints(v) => v.into_pyobject(py)?.into_any(),
        Attr::Longs(v) => v.into_pyobject(py)?.into_any(),
        Attr::Floats(v) => v.into_pyobject(py)?.into_any(),
        Attr::Float64s(v) => v.into_pyobject(py)?.into_any(),
        Attr::Strings(v) => v.into_pyobject(py)?.into_any(),
        Attr::Bools(v) => v.into_pyobject(py)?.into_any(),
        Attr::Block(v) => (*v,).into_pyobject(py)?.into_any(),
        Attr::Blocks(v) => v.iter().map(|b| (*b,)).collect::<Vec<_>>().into_pyobject(py)?.into_any(),
        Attr::Var(v) => v.as_str().into_pyobject(py)?.into_any(),
        Attr::Vars(v) => v.iter().map(|n| n.to_string()).collect::<Vec<_>>().into_pyobject(py)?.into_any(),
        Attr::Opaque(v) => PyBytes::new(py, v).into_any(),
    })
}
