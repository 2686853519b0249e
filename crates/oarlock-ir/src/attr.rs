//! Attributes of operators.

use crate::Name;

/// The value of an attribute. Each variant is one attribute type of the file format.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the names are the types'")]
pub enum Attr {
    Int(i32),
    Float(f32),
    String(String),
    Ints(Vec<i32>),
    Floats(Vec<f32>),
    Strings(Vec<String>),
    Bool(bool),
    Bools(Vec<bool>),
    /// The index of a block of the same program.
    Block(usize),
    Long(i64),
    Blocks(Vec<usize>),
    Longs(Vec<i64>),
    Float64s(Vec<f64>),
    /// The name of a variable (written by newer releases).
    Var(Name),
    Vars(Vec<Name>),
    Float64(f64),
    /// A type this version cannot read, kept as the bytes of its message so that saving loses nothing.
    Opaque(Vec<u8>),
}

impl Attr {
    /// The type, as messages name it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Attr::Int(_) => "int",
            Attr::Float(_) => "float",
            Attr::String(_) => "string",
            Attr::Ints(_) => "list of int",
            Attr::Floats(_) => "list of float",
            Attr::Strings(_) => "list of string",
            Attr::Bool(_) => "bool",
            Attr::Bools(_) => "list of bool",
            Attr::Block(_) => "block",
            Attr::Long(_) => "long",
            Attr::Blocks(_) => "list of block",
            Attr::Longs(_) => "list of long",
            Attr::Float64s(_) => "list of double",
            Attr::Var(_) => "variable",
            Attr::Vars(_) => "list of variable",
            Attr::Float64(_) => "double",
            Attr::Opaque(_) => "unknown type",
        }
    }
}

macro_rules! from {
    ($($t:ty => $v:ident),* $(,)?) => {$(
        impl From<$t> for Attr {
            fn from(v: $t) -> Attr { Attr::$v(v) }
        }
    )*};
}
from!(
    i32 => Int, f32 => Float, String => String, Vec<i32> => Ints, Vec<f32> => Floats, Vec<String> => Strings,
    bool => Bool, Vec<bool> => Bools, i64 => Long, Vec<i64> => Longs,
);

impl From<&str> for Attr {
    fn from(v: &str) -> Attr {
        Attr::String(v.into())
    }
}

/// Attributes in the order they were set.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Attrs(Vec<(Name, Attr)>);

impl Attrs {
    /// The value of an attribute.
    pub fn get(&self, name: &str) -> Option<&Attr> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    /// Sets or replaces an attribute.
    pub fn set(&mut self, name: impl Into<Name>, value: impl Into<Attr>) {
        let (name, value) = (name.into(), value.into());
        match self.0.iter_mut().find(|(n, _)| *n == name) {
            Some((_, v)) => *v = value,
            None => self.0.push((name, value)),
        }
    }

    /// Removes an attribute.
    pub fn remove(&mut self, name: &str) -> Option<Attr> {
        let i = self.0.iter().position(|(n, _)| n == name)?;
        Some(self.0.remove(i).1)
    }

    /// All attributes.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &Attr)> {
        self.0.iter().map(|(n, v)| (n, v))
    }

    /// All values, to change.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&Name, &mut Attr)> {
        self.0.iter_mut().map(|(n, v)| (&*n, v))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// None at all?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<N: Into<Name>, A: Into<Attr>> FromIterator<(N, A)> for Attrs {
    fn from_iter<I: IntoIterator<Item = (N, A)>>(items: I) -> Attrs {
        let mut attrs = Attrs::default();
        for (n, a) in items {
            attrs.set(n, a);
        }
        attrs
    }
}
