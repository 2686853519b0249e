//! The operators and fusions a system knows.

use std::collections::HashMap;

use crate::def::{OpDef, Sig, Traits, nearest};
use crate::error::{Error, Kind, Result};
use crate::fusion::Fusion;
use crate::grad::Grad;
use crate::gradient_op::GradOp;

/// An operator with its signature computed once.
pub struct Entry {
    /// The definition.
    pub def: &'static dyn OpDef,
    /// Its signature.
    pub sig: Sig,
    /// What passes may assume of it.
    pub traits: Traits,
    gradient: Option<&'static GradOp>,
}

impl Entry {
    /// Emits the operators that compute its gradient, see [`OpDef::grad`].
    pub fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.gradient = self.gradient;
        self.def.grad(g)
    }
}

/// All operators and fusions, assembled once from every crate that defines some, and then immutable.
pub struct Registry {
    ops: HashMap<&'static str, Entry>,
    unsupported: HashMap<&'static str, &'static str>,
    fusions: Vec<&'static dyn Fusion>,
    verifies: bool,
}

impl Registry {
    /// Of these operators and fusions. Fusions bring operators of their own. They are tried in the order given, except that
    /// each comes behind those it [needs](Fusion::after).
    ///
    /// # Panics
    /// If two operators have the same type: a mistake in the code that assembles it.
    pub fn new(
        ops: impl IntoIterator<Item = &'static dyn OpDef>,
        fusions: impl IntoIterator<Item = &'static dyn Fusion>,
    ) -> Registry {
        let fusions: Vec<_> = fusions.into_iter().collect();
        let own: Vec<_> = fusions.iter().flat_map(|f| f.ops().iter().copied()).collect();
        let (ops_of, unsupported) = Default::default();
        Registry { ops: ops_of, unsupported, fusions: in_order(fusions), verifies: cfg!(debug_assertions) }
            .with(ops)
            .with(own)
    }

    /// With these operators, too.
    ///
    /// # Panics
    /// If two operators have the same type: a mistake in the code that assembles it.
    pub fn with(mut self, ops: impl IntoIterator<Item = &'static dyn OpDef>) -> Registry {
        let mut gradients = Vec::new();
        for def in ops {
            let sig = def.sig();
            let op_type = sig.op_type;
            let old = self.ops.insert(op_type, Entry { def, sig, traits: def.traits(), gradient: None });
            assert!(old.is_none(), "operator `{op_type}` is defined twice");
            gradients.extend(def.as_gradient());
        }
        for gradient in gradients {
            if let Some(forward) = self.ops.get_mut(gradient.forward_type()) {
                forward.gradient = Some(gradient);
            }
        }
        self
    }

    /// With operators that are known but not supported, and the reasons, for the errors of programs that have them.
    pub fn with_unsupported(mut self, unsupported: impl IntoIterator<Item = (&'static str, &'static str)>) -> Registry {
        self.unsupported.extend(unsupported);
        self
    }

    /// Programs are verified after every pass of a compilation, as they always are in debug builds.
    pub fn verifying(mut self) -> Registry {
        self.verifies = true;
        self
    }

    /// Are programs verified after every pass of a compilation?
    pub fn verifies(&self) -> bool {
        self.verifies
    }

    /// An operator, if known.
    pub fn get(&self, op_type: &str) -> Option<&Entry> {
        self.ops.get(op_type)
    }

    /// The traits of an operator; none if it is not known.
    pub fn traits(&self, op_type: &str) -> Traits {
        self.get(op_type).map_or(Traits::NONE, |entry| entry.traits)
    }

    /// An operator, or an error that says why it is unsupported or names the nearest known one.
    pub fn entry(&self, op_type: &str) -> Result<&Entry> {
        self.get(op_type).ok_or_else(|| {
            if let Some(reason) = self.unsupported.get(op_type) {
                let err = Error::new(Kind::Unsupported, format!("operator `{op_type}` is not supported: {reason}"));
                return err.help("docs/ops.md lists the operators of this version");
            }
            let names: Vec<&str> = self.types();
            let err = Error::new(Kind::Unknown, format!("there is no operator `{op_type}`"));
            match nearest(op_type, &names) {
                Some(close) => err.help(format!("did you mean `{close}`?")),
                None => err.help("docs/ops.md lists the operators of this version"),
            }
        })
    }

    /// The types of all operators, sorted.
    pub fn types(&self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = self.ops.keys().copied().collect();
        names.sort_unstable();
        names
    }

    /// The fusions, in the order they are tried.
    pub fn fusions(&self) -> &[&'static dyn Fusion] {
        &self.fusions
    }
}

/// The fusions in the order given, each behind those it needs.
fn in_order(mut waiting: Vec<&'static dyn Fusion>) -> Vec<&'static dyn Fusion> {
    let mut ordered = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let is_ready = |f: &&dyn Fusion| !f.after().iter().any(|name| waiting.iter().any(|w| w.name() == *name));
        // Fusions that need each other come as they were given.
        let at = waiting.iter().position(is_ready).unwrap_or(0);
        ordered.push(waiting.remove(at));
    }
    ordered
}
