//! Reading attributes by type, with defaults.

use oarlock_tensor::DType;

use crate::def::Sig;
use crate::error::{Error, Kind, Result};
use crate::{Attr, Op, fail};

/// The attributes of an operator: those set, and the defaults of its signature for the others.
#[derive(Clone, Copy)]
pub struct AttrView<'a> {
    op: &'a Op,
    sig: &'a Sig,
}

impl<'a> AttrView<'a> {
    pub(crate) fn new(op: &'a Op, sig: &'a Sig) -> AttrView<'a> {
        AttrView { op, sig }
    }

    /// The value of an attribute, or its default.
    pub fn get(&self, name: &str) -> Option<&'a Attr> {
        let default = || self.sig.attrs.iter().find(|a| a.name == name).and_then(|a| a.default.as_ref());
        self.op.attrs.get(name).or_else(default)
    }

    fn need(&self, name: &str) -> Result<&'a Attr> {
        self.get(name)
            .ok_or_else(|| Error::new(Kind::Argument, format!("`{}` needs attribute `{name}`", self.sig.op_type)))
    }

    fn wrong(&self, name: &str, expected: &str, found: &Attr) -> Error {
        let what =
            format!("attribute `{name}` of `{}` must be {expected}, but it is {}", self.sig.op_type, found.type_name());
        Error::new(Kind::Argument, what)
    }

    /// An integer.
    pub fn int(&self, name: &str) -> Result<i64> {
        match self.need(name)? {
            Attr::Int(v) => Ok(*v as i64),
            Attr::Long(v) => Ok(*v),
            Attr::Bool(v) => Ok(*v as i64),
            other => Err(self.wrong(name, "an integer", other)),
        }
    }

    /// A number that counts something: an integer of at least 0.
    pub fn count(&self, name: &str) -> Result<usize> {
        let v = self.int(name)?;
        match usize::try_from(v) {
            Ok(n) => Ok(n),
            Err(_) => fail!(
                Kind::Argument,
                "attribute `{name}` of `{}` must not be negative, but it is {v}",
                self.sig.op_type
            ),
        }
    }

    /// A float.
    pub fn f32(&self, name: &str) -> Result<f32> {
        match self.need(name)? {
            Attr::Float(v) => Ok(*v),
            Attr::Float64(v) => Ok(*v as f32),
            Attr::Int(v) => Ok(*v as f32),
            Attr::Long(v) => Ok(*v as f32),
            other => Err(self.wrong(name, "a number", other)),
        }
    }

    /// A boolean.
    pub fn bool(&self, name: &str) -> Result<bool> {
        match self.need(name)? {
            Attr::Bool(v) => Ok(*v),
            Attr::Int(v) => Ok(*v != 0),
            other => Err(self.wrong(name, "a bool", other)),
        }
    }

    /// A boolean that is false when it is neither set nor declared (`is_test`).
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Attr::Bool(true)) | Some(Attr::Int(1)))
    }

    /// A text.
    pub fn str(&self, name: &str) -> Result<&'a str> {
        match self.need(name)? {
            Attr::String(v) => Ok(v),
            other => Err(self.wrong(name, "a string", other)),
        }
    }

    /// A list of integers.
    pub fn ints(&self, name: &str) -> Result<Vec<i64>> {
        match self.need(name)? {
            Attr::Ints(v) => Ok(v.iter().map(|&v| v as i64).collect()),
            Attr::Longs(v) => Ok(v.clone()),
            // An empty list of another type is still an empty list.
            Attr::Strings(v) if v.is_empty() => Ok(Vec::new()),
            Attr::Floats(v) if v.is_empty() => Ok(Vec::new()),
            other => Err(self.wrong(name, "a list of integers", other)),
        }
    }

    /// A list of floats.
    pub fn floats(&self, name: &str) -> Result<Vec<f32>> {
        match self.need(name)? {
            Attr::Floats(v) => Ok(v.clone()),
            Attr::Float64s(v) => Ok(v.iter().map(|&v| v as f32).collect()),
            Attr::Ints(v) => Ok(v.iter().map(|&v| v as f32).collect()),
            other => Err(self.wrong(name, "a list of floats", other)),
        }
    }

    /// A list of booleans.
    pub fn bools(&self, name: &str) -> Result<Vec<bool>> {
        match self.need(name)? {
            Attr::Bools(v) => Ok(v.clone()),
            Attr::Ints(v) => Ok(v.iter().map(|&v| v != 0).collect()),
            other => Err(self.wrong(name, "a list of bools", other)),
        }
    }

    /// A list of texts.
    pub fn strs(&self, name: &str) -> Result<&'a [String]> {
        match self.need(name)? {
            Attr::Strings(v) => Ok(v),
            other => Err(self.wrong(name, "a list of strings", other)),
        }
    }

    /// An element type, given by its number in files.
    pub fn dtype(&self, name: &str) -> Result<DType> {
        let number = self.int(name)?;
        match i32::try_from(number).ok().and_then(DType::from_proto) {
            Some(d) => Ok(d),
            None => {
                fail!(Kind::DType, "attribute `{name}` of `{}` is {number}, which is no element type", self.sig.op_type)
            }
        }
    }

    /// A block of the program.
    pub fn block(&self, name: &str) -> Result<usize> {
        match self.need(name)? {
            Attr::Block(b) => Ok(*b),
            other => Err(self.wrong(name, "a block", other)),
        }
    }
}
