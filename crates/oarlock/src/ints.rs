//! Lists of integers that layers take, whose entries may be known only when the program runs.

use oarlock_ir::{Op, Result};
use oarlock_tensor::DType;

use crate::VarRef;
use crate::layer::Layer;

/// A list of integers (a shape, starts, repetitions): each a number or a variable `[1]`, or all in one variable.
#[derive(Debug, Clone)]
pub enum Ints {
    /// Known when the program is built.
    Known(Vec<i64>),
    /// Some known, some in a variable `[1]` each.
    Mixed(Vec<IntOrVar>),
    /// All in one variable of one dimension.
    Var(VarRef),
}

/// An integer, or a variable `[1]` that will hold it.
#[derive(Debug, Clone)]
pub enum IntOrVar {
    /// A number.
    Int(i64),
    /// A variable.
    Var(VarRef),
}

/// The entry in the attribute whose value only a variable knows.
const UNKNOWN: i64 = -1;

impl Ints {
    /// The list as it stands in an attribute; unknown entries are -1. `None` if even the length is unknown.
    pub(crate) fn attr(&self) -> Option<Vec<i64>> {
        self.attr_with(UNKNOWN)
    }

    /// The same with another number for unknown entries.
    pub(crate) fn attr_with(&self, unknown: i64) -> Option<Vec<i64>> {
        match self {
            Ints::Known(list) => Some(list.clone()),
            Ints::Mixed(list) => Some(
                list.iter()
                    .map(|entry| match entry {
                        IntOrVar::Int(v) => *v,
                        IntOrVar::Var(_) => unknown,
                    })
                    .collect(),
            ),
            Ints::Var(_) => None,
        }
    }

    /// The list as an attribute of `int`s.
    pub(crate) fn attr_i32(&self) -> Option<Vec<i32>> {
        Some(self.attr()?.iter().map(|&v| v as i32).collect())
    }

    /// Is some entry known only when the program runs?
    pub(crate) fn has_vars(&self) -> bool {
        !matches!(self, Ints::Known(_))
    }

    /// Gives an operator the variables: one for all in slot `whole`, or one per entry in slot `each`.
    pub(crate) fn feed(&self, layer: &mut Layer<'_>, op: Op, whole: &str, each: &str, style: Style) -> Result<Op> {
        match self {
            Ints::Known(_) => Ok(op),
            Ints::Var(var) => Ok(op.input(whole, [&layer.int_var(var, style)?])),
            Ints::Mixed(list) => {
                let entry = |entry: &IntOrVar| match entry {
                    IntOrVar::Int(v) => layer.int(*v, style),
                    IntOrVar::Var(var) => layer.int_var(var, style),
                };
                let vars: Vec<VarRef> = list.iter().map(entry).collect::<Result<_>>()?;
                Ok(op.input(each, &vars))
            }
        }
    }
}

/// How Fluid makes variables of the known entries of a mixed list; it differs by layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Temporaries of the layer, i32.
    I32,
    /// Temporaries of the layer, i64.
    I64,
    /// Layers of their own, i32; variables of i64 are cast.
    Cast,
}

impl Layer<'_> {
    /// A variable that holds a known entry.
    fn int(&mut self, value: i64, style: Style) -> Result<VarRef> {
        let dtype = match style {
            Style::Cast => return self.fill_constant_on([1].into(), DType::I32, value as f64, true),
            Style::I32 => DType::I32,
            Style::I64 => DType::I64,
        };
        let out = self.temp(dtype);
        self.fill_into(&out, &[1], dtype, value as f64, true)?;
        Ok(out)
    }

    /// A variable of the user's that holds an entry, or all of them.
    fn int_var(&mut self, var: &VarRef, style: Style) -> Result<VarRef> {
        self.stop_gradient(var)?;
        if style == Style::Cast && self.dtype(var)? == DType::I64 {
            self.cast(var, DType::I32)
        } else {
            Ok(var.clone())
        }
    }
}

impl<const N: usize> From<[i64; N]> for Ints {
    fn from(list: [i64; N]) -> Ints {
        Ints::Known(list.to_vec())
    }
}

impl From<&[i64]> for Ints {
    fn from(list: &[i64]) -> Ints {
        Ints::Known(list.to_vec())
    }
}

impl From<Vec<i64>> for Ints {
    fn from(list: Vec<i64>) -> Ints {
        Ints::Known(list)
    }
}

impl From<Vec<IntOrVar>> for Ints {
    fn from(list: Vec<IntOrVar>) -> Ints {
        Ints::Mixed(list)
    }
}

impl From<&VarRef> for Ints {
    fn from(var: &VarRef) -> Ints {
        Ints::Var(var.clone())
    }
}

impl From<i64> for IntOrVar {
    fn from(v: i64) -> IntOrVar {
        IntOrVar::Int(v)
    }
}

impl From<&VarRef> for IntOrVar {
    fn from(var: &VarRef) -> IntOrVar {
        IntOrVar::Var(var.clone())
    }
}
