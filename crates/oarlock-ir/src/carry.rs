//! Details of a file that mean nothing to a program but are kept, so that reading and writing it again loses nothing.

use std::fmt;

use crate::Name;

/// Fields of the file format that hold their default and yet were spelled out.
///
/// Whether a default is written means nothing: values that differ only here are equal. It is kept so that a file that
/// is read and written again stays the same, byte for byte.
#[derive(Clone, Copy, Default)]
pub struct Explicit(u8);

impl Explicit {
    /// The release, as 0.
    pub(crate) const VERSION: Explicit = Explicit(1);
    /// A block that differentiates no other, as -1.
    pub(crate) const FORWARD: Explicit = Explicit(1);
    /// An operator that is no target.
    pub(crate) const IS_TARGET: Explicit = Explicit(1);
    /// A variable that is not persistable.
    pub(crate) const PERSISTABLE: Explicit = Explicit(1);
    /// A variable whose feeds are not checked.
    pub(crate) const NEED_CHECK_FEED: Explicit = Explicit(2);
    /// No LoD levels, as 0.
    pub(crate) const LOD_LEVEL: Explicit = Explicit(4);
    /// A variable that is no parameter.
    pub(crate) const IS_PARAMETER: Explicit = Explicit(8);
    /// A variable that gradients flow into.
    pub(crate) const STOP_GRADIENT: Explicit = Explicit(16);
    /// The reverse: a kind of variable that has elements, without saying which.
    pub(crate) const NO_TENSOR: Explicit = Explicit(32);

    /// Was the field spelled out?
    pub(crate) fn has(self, field: Explicit) -> bool {
        self.0 & field.0 != 0
    }

    /// Remembers that the field was spelled out.
    pub(crate) fn add(&mut self, field: Explicit) {
        self.0 |= field.0;
    }

    /// Forgets that the field was spelled out.
    pub(crate) fn remove(&mut self, field: Explicit) {
        self.0 &= !field.0;
    }
}

impl PartialEq for Explicit {
    fn eq(&self, _: &Explicit) -> bool {
        true
    }
}

impl fmt::Debug for Explicit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#b}", self.0)
    }
}

/// Bytes of unknown fields inside nested messages, by place: `attr shape`, `in X`. No release we know writes any.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UnknownInside(Vec<(Name, Vec<u8>)>);

impl UnknownInside {
    /// The bytes found at a place.
    pub(crate) fn at(&self, place: &str) -> &[u8] {
        self.0.iter().find(|(p, _)| p == place).map_or(&[], |(_, bytes)| bytes)
    }

    /// The bytes found inside something with a name, such as the attribute `shape`.
    pub(crate) fn at_named(&self, kind: &str, name: &str) -> &[u8] {
        if self.0.is_empty() { &[] } else { self.at(&format!("{kind} {name}")) }
    }

    /// Adds bytes found at a place.
    pub(crate) fn add(&mut self, place: &str, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        match self.0.iter_mut().find(|(p, _)| p == place) {
            Some((_, known)) => known.extend_from_slice(bytes),
            None => self.0.push((place.into(), bytes.to_vec())),
        }
    }

    /// Adds bytes found inside something with a name.
    pub(crate) fn add_named(&mut self, kind: &str, name: &str, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.add(&format!("{kind} {name}"), bytes);
        }
    }

    /// Every place with its bytes.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Name, &[u8])> {
        self.0.iter().map(|(place, bytes)| (place, bytes.as_slice()))
    }
}
