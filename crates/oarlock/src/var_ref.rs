use std::fmt;

use oarlock_ir::Name;

/// A handle on a variable of a [`Net`](crate::Net)'s main program: what layers take and return. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct VarRef {
    name: Name,
    block: usize,
}

impl VarRef {
    /// A handle on the variable that `name` means in `block`.
    pub fn new(name: impl Into<Name>, block: usize) -> VarRef {
        VarRef { name: name.into(), block }
    }

    /// The variable's name.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// The block from which its name is seen.
    pub fn block(&self) -> usize {
        self.block
    }
}

impl From<&VarRef> for Name {
    fn from(v: &VarRef) -> Name {
        v.name.clone()
    }
}

impl AsRef<str> for VarRef {
    fn as_ref(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for VarRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

impl fmt::Debug for VarRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}
