//! Variables that outlive a run.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use oarlock_ir::{Name, SharedVar, Vars};
use oarlock_tensor::{Tensor, Value};
use parking_lot::RwLock;

/// Named variables, with an optional parent in which names are looked up further. Cheap to copy: copies are the same scope.
#[derive(Clone)]
pub struct Scope(Arc<Inner>);

struct Inner {
    id: u64,
    vars: RwLock<HashMap<Name, SharedVar>>,
    /// Grows when a variable appears or disappears, so that bindings can be kept while it stays the same.
    generation: AtomicU64,
    /// Variables that were loaded from files and not initialised since.
    loaded: RwLock<BTreeSet<Name>>,
    parent: Option<Scope>,
}

/// Ids only tell scopes apart, so one counter for the process is enough.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl Scope {
    /// Is it this one, and not just one like it?
    pub fn is(&self, other: &Scope) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// A scope without variables.
    pub fn new() -> Scope {
        Scope::with_parent(None)
    }

    /// A scope inside this one: it sees the variables here, and makes its own.
    pub fn child(&self) -> Scope {
        Scope::with_parent(Some(self.clone()))
    }

    fn with_parent(parent: Option<Scope>) -> Scope {
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let (vars, generation, loaded) = (RwLock::default(), AtomicU64::new(0), RwLock::default());
        Scope(Arc::new(Inner { id, vars, generation, loaded, parent }))
    }

    /// The scope around this one.
    pub fn parent(&self) -> Option<&Scope> {
        self.0.parent.as_ref()
    }

    /// The variable of this name, here or further out.
    pub fn find(&self, name: &str) -> Option<SharedVar> {
        let here = self.0.vars.read().get(name).cloned();
        here.or_else(|| self.0.parent.as_ref()?.find(name))
    }

    /// The variable of this name, here or further out; made here if there is none.
    pub fn find_or_create(&self, name: &str) -> SharedVar {
        self.find(name).unwrap_or_else(|| self.var(name))
    }

    /// The variable of this name in this very scope; made if there is none.
    pub fn var(&self, name: &str) -> SharedVar {
        if let Some(v) = self.0.vars.read().get(name) {
            return v.clone();
        }
        let mut vars = self.0.vars.write();
        self.0.generation.fetch_add(1, Ordering::Release);
        vars.entry(name.into()).or_default().clone()
    }

    /// Removes a variable of this scope; says whether there was one.
    pub fn erase(&self, name: &str) -> bool {
        let gone = self.0.vars.write().remove(name).is_some();
        if gone {
            self.0.generation.fetch_add(1, Ordering::Release);
        }
        gone
    }

    /// The names of this scope's own variables, sorted.
    pub fn names(&self) -> Vec<Name> {
        let mut names: Vec<Name> = self.0.vars.read().keys().cloned().collect();
        names.sort_unstable();
        names
    }

    /// A copy of a tensor; `None` if there is no such variable or it is not a tensor.
    pub fn tensor(&self, name: &str) -> Option<Tensor> {
        self.find(name)?.read().dense().ok().cloned()
    }

    /// Sets a variable of this scope.
    pub fn set(&self, name: &str, value: impl Into<Value>) {
        *self.var(name).write() = value.into();
    }

    /// Of these variables, those that were loaded; they count as initialised from now on.
    pub(crate) fn take_loaded(&self, names: &[Name]) -> Vec<Name> {
        if self.0.loaded.read().is_empty() {
            return Vec::new();
        }
        let mut loaded = self.0.loaded.write();
        names.iter().filter(|name| loaded.remove(*name)).cloned().collect()
    }

    /// Tells this scope, with what it and its parents hold now, from every other.
    pub(crate) fn stamp(&self) -> (u64, u64) {
        let mut generation = 0;
        let mut at = Some(self);
        while let Some(s) = at {
            generation += s.0.generation.load(Ordering::Acquire);
            at = s.parent();
        }
        (self.0.id, generation)
    }
}

impl Vars for Scope {
    fn find(&self, name: &str) -> Option<SharedVar> {
        Scope::find(self, name)
    }

    fn find_or_create(&self, name: &str) -> SharedVar {
        Scope::find_or_create(self, name)
    }

    fn loaded(&self, names: &[Name]) {
        self.0.loaded.write().extend(names.iter().cloned());
    }
}

impl Default for Scope {
    fn default() -> Scope {
        Scope::new()
    }
}

impl std::fmt::Debug for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Scope").field(&self.names()).finish()
    }
}

#[test]
fn a_child_sees_its_parent_and_keeps_its_own() {
    let outer = Scope::new();
    outer.set("w", Tensor::scalar(1.0f32));
    let inner = outer.child();
    let before = inner.stamp();
    assert_eq!(inner.tensor("w"), Some(Tensor::scalar(1.0f32)));
    inner.set("x", Tensor::scalar(2.0f32));
    assert_eq!(outer.tensor("x"), None);
    assert_ne!(inner.stamp(), before);
    assert!(inner.erase("x") && !inner.erase("w"));
}
