//! A value that a front end passes for an argument of a layer.

use std::fmt;
use std::sync::Arc;

use oarlock_tensor::{B8, DType, Dims, Tensor};

use crate::{Initializer, ParamAttr, VarRef};

/// A value of any type that arguments of layers have.
#[derive(Debug, Clone)]
pub enum Arg {
    /// Nothing: the argument was left out, or is Python's `None`.
    None,
    /// True or false.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A number.
    Float(f64),
    /// A text.
    Str(String),
    /// A variable.
    Var(VarRef),
    /// A list.
    List(Vec<Arg>),
    /// A constant.
    Tensor(Tensor),
    /// An element type.
    DType(DType),
    /// How to make a parameter.
    Param(Box<ParamAttr>),
    /// A first value.
    Initializer(Box<Initializer>),
    /// A rule of a hashed table, as programs say it.
    Rule(String),
    /// A function that decides by the name of a parameter.
    Predicate(Predicate),
    /// A value that no layer takes, as its type and text.
    Other(String, String),
}

/// A function of the name of a parameter.
#[derive(Clone)]
pub struct Predicate(pub Arc<dyn Fn(&str) -> bool + Send + Sync>);

impl fmt::Debug for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Predicate")
    }
}

impl Arg {
    /// Appends what tells this value from others; false if it cannot be compared.
    pub(crate) fn write_key(&self, key: &mut Vec<u8>) -> bool {
        let mut text = |kind: u8, text: &str| {
            key.push(kind);
            key.extend((text.len() as u32).to_le_bytes());
            key.extend(text.as_bytes());
        };
        match self {
            Arg::None => key.push(0),
            Arg::Bool(v) => key.extend([1, u8::from(*v)]),
            Arg::Int(v) => {
                key.push(2);
                key.extend(v.to_le_bytes());
            }
            Arg::Float(v) => {
                key.push(3);
                key.extend(v.to_bits().to_le_bytes());
            }
            Arg::Str(v) => text(4, v),
            Arg::Var(v) => text(5, v.name()),
            Arg::DType(v) => key.extend([6, *v as u8]),
            Arg::List(items) => {
                key.push(7);
                key.extend((items.len() as u32).to_le_bytes());
                return items.iter().all(|item| item.write_key(key));
            }
            Arg::Tensor(_)
            | Arg::Param(_)
            | Arg::Initializer(_)
            | Arg::Rule(_)
            | Arg::Predicate(_)
            | Arg::Other(..) => {
                return false;
            }
        }
        true
    }

    /// The integer, if it is one.
    pub fn int(&self) -> Option<i64> {
        match self {
            Arg::Int(v) => Some(*v),
            Arg::Tensor(t) if t.numel() == 1 && is_integer(t.dtype()) => ints_of(t)?.first().copied(),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn float(&self) -> Option<f64> {
        match self {
            Arg::Float(v) => Some(*v),
            Arg::Bool(v) => Some(f64::from(u8::from(*v))),
            Arg::Tensor(t) if t.numel() == 1 => t.to_f64().first().copied(),
            _ => self.int().map(|v| v as f64),
        }
    }

    /// The elements, if it is a list or a constant of one dimension.
    pub fn items(&self) -> Option<Vec<Arg>> {
        match self {
            Arg::List(items) => Some(items.clone()),
            Arg::Tensor(t) if is_integer(t.dtype()) => Some(ints_of(t)?.into_iter().map(Arg::Int).collect()),
            Arg::Tensor(t) => Some(t.to_f64().into_iter().map(Arg::Float).collect()),
            _ => None,
        }
    }

    /// True for everything but nothing, zero and empty values, as in Python.
    pub fn is_true(&self) -> bool {
        match self {
            Arg::None => false,
            Arg::Bool(v) => *v,
            Arg::Str(v) => !v.is_empty(),
            Arg::List(v) => !v.is_empty(),
            other => other.float() != Some(0.0),
        }
    }

    /// The constant: numbers in lists become i64, f32 or bool.
    pub fn tensor(&self) -> Option<Tensor> {
        if let Arg::Tensor(t) = self {
            return Some(t.clone());
        }
        let (mut dims, mut flat) = (Vec::new(), Vec::new());
        flatten(self, 0, &mut dims, &mut flat)?;
        let dims = Dims::try_new(&dims).ok()?;
        if flat.iter().all(|v| matches!(v, Arg::Bool(_))) && !flat.is_empty() {
            let values: Vec<B8> = flat.iter().map(|v| B8::from(v.is_true())).collect();
            return Tensor::from_slice(dims, &values).ok();
        }
        match flat.iter().map(Arg::int).collect::<Option<Vec<i64>>>() {
            Some(ints) if !ints.is_empty() => Tensor::from_slice(dims, &ints).ok(),
            _ => {
                let values: Vec<f32> = flat.iter().map(|v| Some(v.float()? as f32)).collect::<Option<_>>()?;
                Tensor::from_slice(dims, &values).ok()
            }
        }
    }

    /// The name of its type in Python, for messages.
    pub fn type_name(&self) -> &str {
        match self {
            Arg::None => "NoneType",
            Arg::Bool(_) => "bool",
            Arg::Int(_) => "int",
            Arg::Float(_) => "float",
            Arg::Str(_) => "str",
            Arg::Var(_) => "Variable",
            Arg::List(_) => "list",
            Arg::Tensor(_) => "ndarray",
            Arg::DType(_) => "dtype",
            Arg::Param(_) => "ParamAttr",
            Arg::Initializer(_) => "Initializer",
            Arg::Rule(_) => "rule",
            Arg::Predicate(_) => "function",
            Arg::Other(name, _) => name,
        }
    }
}

/// The numbers of nested lists in order, with the sizes of the lists; `None` if lists at one depth differ in size.
fn flatten(value: &Arg, depth: usize, dims: &mut Vec<usize>, flat: &mut Vec<Arg>) -> Option<()> {
    let Arg::List(items) = value else {
        flat.push(value.clone());
        return (depth == dims.len()).then_some(());
    };
    match dims.get(depth) {
        None if flat.is_empty() => dims.push(items.len()),
        Some(&n) if n == items.len() => {}
        _ => return None,
    }
    items.iter().try_for_each(|item| flatten(item, depth + 1, dims, flat))
}

fn is_integer(dtype: DType) -> bool {
    !dtype.is_float() && dtype != DType::Bool
}

fn ints_of(t: &Tensor) -> Option<Vec<i64>> {
    match t.dtype() {
        DType::I64 => Some(t.data::<i64>().ok()?.to_vec()),
        _ => Some(t.to_f64().into_iter().map(|v| v as i64).collect()),
    }
}

/// As Python shows it.
impl fmt::Display for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arg::None => write!(f, "None"),
            Arg::Bool(true) => write!(f, "True"),
            Arg::Bool(false) => write!(f, "False"),
            Arg::Int(v) => write!(f, "{v}"),
            Arg::Float(v) => write!(f, "{v:?}"),
            Arg::Str(v) => write!(f, "'{v}'"),
            Arg::Var(v) => write!(f, "Variable {v}"),
            Arg::List(items) => {
                let shown: Vec<String> = items.iter().map(Arg::to_string).collect();
                write!(f, "[{}]", shown.join(", "))
            }
            Arg::Tensor(t) => write!(f, "an array of shape {}", t.dims()),
            Arg::DType(d) => write!(f, "{}", d.name()),
            Arg::Param(_) => write!(f, "a ParamAttr"),
            Arg::Initializer(_) => write!(f, "an initializer"),
            Arg::Rule(rule) => write!(f, "{rule}"),
            Arg::Predicate(_) => write!(f, "a function"),
            Arg::Other(_, shown) => write!(f, "{shown}"),
        }
    }
}

macro_rules! from {
    ($($ty:ty => |$v:ident| $arg:expr;)*) => {$(
        impl From<$ty> for Arg {
            fn from($v: $ty) -> Arg {
                $arg
            }
        }
    )*};
}

from! {
    bool => |v| Arg::Bool(v);
    i32 => |v| Arg::Int(v.into());
    i64 => |v| Arg::Int(v);
    f32 => |v| Arg::Float(v.into());
    f64 => |v| Arg::Float(v);
    &str => |v| Arg::Str(v.to_string());
    String => |v| Arg::Str(v);
    VarRef => |v| Arg::Var(v);
    &VarRef => |v| Arg::Var(v.clone());
    Tensor => |v| Arg::Tensor(v);
    DType => |v| Arg::DType(v);
    ParamAttr => |v| Arg::Param(Box::new(v));
    Initializer => |v| Arg::Initializer(Box::new(v));
}

impl<T: Into<Arg>> From<Vec<T>> for Arg {
    fn from(v: Vec<T>) -> Arg {
        Arg::List(v.into_iter().map(T::into).collect())
    }
}

impl<T: Into<Arg>> From<Option<T>> for Arg {
    fn from(v: Option<T>) -> Arg {
        v.map_or(Arg::None, T::into)
    }
}
