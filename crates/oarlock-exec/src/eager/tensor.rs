//! Tensors of eager mode: a value, its place in the graph, its gradient.

use std::fmt;
use std::sync::{Arc, Weak};

use oarlock_ir::{Error, Kind, Name, Result, VarKind, VarType, fail};
use oarlock_tensor::{DType, Dims, Tensor, Value};
use parking_lot::Mutex;

use super::memory::Held;
use super::node::{Edge, Hook, Node};

/// A tensor of eager mode. Cloning gives another handle on the same tensor.
#[derive(Clone)]
pub struct EagerTensor(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    name: Option<Name>,
    value: Option<Held>,
    /// Counts the operators that changed the value in place.
    version: u32,
    stop_gradient: bool,
    persistable: bool,
    /// The recorded operator that computed it, and which of its outputs it is.
    producer: Option<(Arc<Node>, usize)>,
    grad: Option<EagerTensor>,
    hooks: Vec<Hook>,
}

impl EagerTensor {
    pub(crate) fn new(value: Option<Held>, stop_gradient: bool) -> EagerTensor {
        let state = State { value, stop_gradient, ..State::default() };
        EagerTensor(Arc::new(Inner { state: Mutex::new(state) }))
    }

    /// A tensor that a recorded operator computed.
    pub(crate) fn computed(value: Held, producer: Option<(Arc<Node>, usize)>) -> EagerTensor {
        let state = State { value: Some(value), stop_gradient: producer.is_none(), producer, ..State::default() };
        EagerTensor(Arc::new(Inner { state: Mutex::new(state) }))
    }

    /// Its name; `None` if it was given none.
    pub fn name(&self) -> Option<Name> {
        self.0.state.lock().name.clone()
    }

    /// Names it.
    pub fn set_name(&self, name: impl Into<Name>) {
        self.0.state.lock().name = Some(name.into());
    }

    /// Does no gradient flow to it?
    pub fn stop_gradient(&self) -> bool {
        self.0.state.lock().stop_gradient
    }

    /// Says whether gradients flow to it.
    pub fn set_stop_gradient(&self, stop: bool) {
        self.0.state.lock().stop_gradient = stop;
    }

    /// Is it a parameter or a buffer of a layer?
    pub fn persistable(&self) -> bool {
        self.0.state.lock().persistable
    }

    /// Makes it a parameter or a buffer of a layer.
    pub fn set_persistable(&self, persistable: bool) {
        self.0.state.lock().persistable = persistable;
    }

    /// How often operators changed its value in place.
    pub fn version(&self) -> u32 {
        self.0.state.lock().version
    }

    /// Did an operator that was recorded compute it?
    pub fn is_leaf(&self) -> bool {
        self.0.state.lock().producer.is_none()
    }

    /// Are two handles the same tensor?
    pub fn is(&self, other: &EagerTensor) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// An identity for maps; the tensor must live as long as it is used.
    pub(crate) fn id(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// Its value.
    pub(crate) fn held(&self) -> Result<Held> {
        let held = self.0.state.lock().value.clone();
        held.ok_or_else(|| self.has_no_value())
    }

    #[cold]
    fn has_no_value(&self) -> Error {
        let name = self.name();
        let which = name.as_ref().map_or("the tensor", |n| n.as_str());
        Error::new(Kind::Missing, format!("`{which}` has no value"))
            .help("its operator did not write this output, or an optimizer uses it at this moment")
    }

    /// Has it a value?
    pub fn has_value(&self) -> bool {
        self.0.state.lock().value.as_ref().is_some_and(|held| !held.value().is_empty())
    }

    /// Calls `read` with its value.
    pub fn with_value<T>(&self, read: impl FnOnce(&Value) -> T) -> Result<T> {
        let held = self.held()?;
        Ok(read(held.value()))
    }

    /// Calls `read` with its dense value.
    pub fn with_dense<T>(&self, read: impl FnOnce(&Tensor) -> T) -> Result<T> {
        self.with_value(|value| match value {
            Value::Dense(t) => Ok(read(t)),
            other => fail!(Kind::Argument, "this tensor is {}, not dense", other.kind()),
        })?
    }

    /// The sizes and the element type of a tensor; those of the whole matrix for selected rows.
    pub fn var_type(&self) -> Result<VarType> {
        self.with_value(var_type)?
    }

    /// The sizes.
    pub fn dims(&self) -> Result<Dims> {
        self.with_value(|value| match value {
            Value::Dense(t) => Ok(*t.dims()),
            Value::Rows(r) => Ok(r.whole_dims()),
            other => fail!(Kind::Argument, "this tensor is {}, which has no sizes", other.kind()),
        })?
    }

    /// The element type.
    pub fn dtype(&self) -> Result<DType> {
        self.with_value(|value| match value {
            Value::Rows(r) => r.value.dtype(),
            Value::Dense(t) => t.dtype(),
            _ => DType::F32,
        })
    }

    /// Gives it another value, as an operator that works in place would.
    pub(crate) fn replace(&self, held: Held) {
        let mut state = self.0.state.lock();
        let old = state.value.replace(held);
        state.version = state.version.wrapping_add(1);
        drop(state);
        drop(old);
    }

    /// Gives it another value of the same meaning, which counts as no change: optimizers use it.
    pub(crate) fn put(&self, held: Held) {
        let old = self.0.state.lock().value.replace(held);
        drop(old);
    }

    /// Takes its value out, to be changed; [`EagerTensor::put`] gives it back.
    pub(crate) fn take(&self) -> Result<Value> {
        let held = self.0.state.lock().value.take();
        let held = held.ok_or_else(|| self.has_no_value())?;
        held.into_value().map_err(|e| Error::new(Kind::Argument, e.to_string()))
    }

    /// Becomes what a recorded operator computed: its value and its place in the graph.
    pub fn become_result(&self, result: &EagerTensor) -> Result<()> {
        let held = result.held()?;
        let (producer, stop) = {
            let from = result.0.state.lock();
            (from.producer.clone(), from.stop_gradient)
        };
        if let Some((node, at)) = &producer {
            node.outputs.lock()[*at] = Arc::downgrade(&self.0);
        }
        let mut state = self.0.state.lock();
        let old = (state.value.replace(held), std::mem::replace(&mut state.producer, producer));
        state.stop_gradient = stop;
        state.version = state.version.wrapping_add(1);
        drop(state);
        drop(old);
        Ok(())
    }

    /// A tensor with the same value that is no part of the graph.
    pub fn detach(&self) -> Result<EagerTensor> {
        Ok(EagerTensor::new(Some(self.held()?), true))
    }

    /// Its gradient.
    pub fn grad(&self) -> Option<EagerTensor> {
        self.0.state.lock().grad.clone()
    }

    /// Sets or forgets its gradient.
    pub fn set_grad(&self, grad: Option<EagerTensor>) {
        let old = std::mem::replace(&mut self.0.state.lock().grad, grad);
        drop(old);
    }

    /// Calls `hook` with its gradient in every backward pass; what it returns takes the gradient's place.
    pub fn register_hook(&self, hook: Hook) {
        let mut state = self.0.state.lock();
        match &state.producer {
            Some((node, at)) => node.hooks.lock().push((*at, hook)),
            None => state.hooks.push(hook),
        }
    }

    /// Removes a hook.
    pub fn remove_hook(&self, hook: &Hook) {
        let mut state = self.0.state.lock();
        state.hooks.retain(|h| !Arc::ptr_eq(h, hook));
        if let Some((node, _)) = &state.producer {
            node.hooks.lock().retain(|(_, h)| !Arc::ptr_eq(h, hook));
        }
    }

    pub(crate) fn hooks(&self) -> Vec<Hook> {
        self.0.state.lock().hooks.clone()
    }

    /// Where its gradient goes; `None` if none flows to it.
    pub(crate) fn edge(&self) -> Option<Edge> {
        let state = self.0.state.lock();
        if state.stop_gradient {
            return None;
        }
        Some(match &state.producer {
            Some((node, at)) => Edge::Node(node.clone(), *at),
            None => {
                drop(state);
                Edge::Leaf(self.clone())
            }
        })
    }

    pub(crate) fn producer(&self) -> Option<(Arc<Node>, usize)> {
        self.0.state.lock().producer.clone()
    }

    pub(crate) fn downgrade(&self) -> Weak<Inner> {
        Arc::downgrade(&self.0)
    }
}

/// The type of a value, as a variable that holds it is declared.
pub(crate) fn var_type(value: &Value) -> Result<VarType> {
    match value {
        Value::Dense(t) => Ok(VarType::tensor(t.dtype(), t.dims()).with_lod(t.lod().len())),
        Value::Rows(r) => Ok(VarType::tensor(r.value.dtype(), &r.whole_dims()).with_kind(VarKind::SelectedRows)),
        Value::Array(a) => {
            let dtype = a.items().first().map_or(DType::F32, Tensor::dtype);
            Ok(VarType::tensor(dtype, &Dims::EMPTY).with_kind(VarKind::TensorArray))
        }
        Value::RankTable(_) => Ok(VarType::tensor(DType::I64, &Dims::EMPTY).with_kind(VarKind::RankTable)),
        Value::Empty | Value::Opaque(_) => Ok(VarType::tensor(DType::F32, &Dims::EMPTY).with_kind(VarKind::Raw)),
        other => fail!(Kind::Unsupported, "{} cannot be an argument of an eager operator", other.kind()),
    }
}

impl fmt::Debug for EagerTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.held() {
            Ok(held) => held.value().fmt(f),
            Err(_) => f.write_str("a tensor without value"),
        }
    }
}
