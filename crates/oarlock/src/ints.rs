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

/// What goes into the attribute for an entry that only a variable knows.
const UNKNOWN: i64 = -1;

impl Ints {
    /// The list as it stands in an attribute; unknown entries are -1. `None` if even the length is unknown.
    pub(crate) fn attr(&self) -> Option<Vec<i64>> {
        match self {
            Ints::Known(list) => Some(list.clone()),
            Ints::Mixed(list) => Some(
                list.iter()
                    .map(|entry| match entry {
                        IntOrVar::Int(v) => *v,
                        IntOrVar::Var(_) => UNKNOWN,
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
    pub(crate) fn feed(&self, layer: &mut Layer<'_>, op: Op, whole: &str, each: &str) -> Result<Op> {
        match self {
            Ints::Known(_) => Ok(op),
            Ints::Var(var) => {
                layer.stop_gradient(var)?;
                Ok(op.input(whole, [var]))
            }
            Ints::Mixed(list) => {
                let mut vars = Vec::new();
                for entry in list {
                    vars.push(match entry {
                        IntOrVar::Int(v) => layer.int(*v)?,
                        IntOrVar::Var(var) => {
                            layer.stop_gradient(var)?;
                            var.clone()
                        }
                    });
                }
                Ok(op.input(each, &vars))
            }
        }
    }
}

impl Layer<'_> {
    /// A temporary of the layer that holds one i32.
    fn int(&mut self, value: i64) -> Result<VarRef> {
        let out = self.temp(DType::I32);
        self.fill_into(&out, &[1], DType::I32, value as f64, true)?;
        Ok(out)
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
