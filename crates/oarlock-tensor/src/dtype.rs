//! Element types.

use std::fmt;

use half::{bf16, f16};

/// The type of a tensor's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub enum DType {
    Bool,
    I16,
    I32,
    I64,
    F16,
    F32,
    F64,
    U8,
    I8,
    BF16,
}

impl DType {
    /// Every dtype.
    pub const ALL: [DType; 10] = [
        DType::Bool,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::F16,
        DType::F32,
        DType::F64,
        DType::U8,
        DType::I8,
        DType::BF16,
    ];

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            DType::Bool | DType::U8 | DType::I8 => 1,
            DType::I16 | DType::F16 | DType::BF16 => 2,
            DType::I32 | DType::F32 => 4,
            DType::I64 | DType::F64 => 8,
        }
    }

    /// The number by which saved programs, files and `dtype` attributes name this type (`VarType.Type`).
    pub const fn proto(self) -> i32 {
        match self {
            DType::Bool => 0,
            DType::I16 => 1,
            DType::I32 => 2,
            DType::I64 => 3,
            DType::F16 => 4,
            DType::F32 => 5,
            DType::F64 => 6,
            DType::U8 => 20,
            DType::I8 => 21,
            DType::BF16 => 22,
        }
    }

    /// The dtype behind a `VarType.Type` number, if it is an element type we hold.
    pub fn from_proto(number: i32) -> Option<DType> {
        DType::ALL.into_iter().find(|d| d.proto() == number)
    }

    /// f16, bf16, f32 or f64.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F16 | DType::BF16 | DType::F32 | DType::F64)
    }

    /// The name numpy and users write: `float32`, `int64`, ...
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::I16 => "int16",
            DType::I32 => "int32",
            DType::I64 => "int64",
            DType::F16 => "float16",
            DType::F32 => "float32",
            DType::F64 => "float64",
            DType::U8 => "uint8",
            DType::I8 => "int8",
            DType::BF16 => "bfloat16",
        }
    }

    /// The dtype of a name as users write it (`float32`, `f32`).
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|d| d.name() == name || d.short() == name)
    }

    /// The short name of texts and messages: `f32`, `i64`.
    pub const fn short(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::I16 => "i16",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::F16 => "f16",
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::U8 => "u8",
            DType::I8 => "i8",
            DType::BF16 => "bf16",
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.short())
    }
}

/// A boolean element. Not `bool`, because a byte that came from a file or a reused buffer may hold any value;
/// everything but 0 is true.
#[derive(Debug, Clone, Copy, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct B8(pub u8);

impl B8 {
    /// The truth value.
    pub fn get(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for B8 {
    fn from(b: bool) -> B8 {
        B8(b as u8)
    }
}

impl PartialEq for B8 {
    fn eq(&self, other: &B8) -> bool {
        self.get() == other.get()
    }
}

/// A type that can be an element of a tensor: every bit pattern is a value.
pub trait Element: bytemuck::Pod + Default + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// Its dtype.
    const DTYPE: DType;
    /// The nearest value of this type, with Rust's `as` rules (bool: not zero).
    fn from_f64(v: f64) -> Self;
    /// The value as f64 (i64 beyond 2^53 is rounded).
    fn to_f64(self) -> f64;
    /// The value from an i64, exact where the type can hold it.
    fn from_i64(v: i64) -> Self;
    /// The value as i64, with Rust's `as` rules.
    fn to_i64(self) -> i64;
}

macro_rules! elements {
    ($($t:ty => $d:ident),*) => {$(
        impl Element for $t {
            const DTYPE: DType = DType::$d;
            fn from_f64(v: f64) -> Self { v as $t }
            fn to_f64(self) -> f64 { self as f64 }
            fn from_i64(v: i64) -> Self { v as $t }
            fn to_i64(self) -> i64 { self as i64 }
        }
    )*};
}
elements!(i16 => I16, i32 => I32, i64 => I64, f32 => F32, f64 => F64, u8 => U8, i8 => I8);

macro_rules! half_elements {
    ($($t:ty => $d:ident),*) => {$(
        impl Element for $t {
            const DTYPE: DType = DType::$d;
            fn from_f64(v: f64) -> Self { <$t>::from_f64(v) }
            fn to_f64(self) -> f64 { self.to_f64() }
            fn from_i64(v: i64) -> Self { <$t>::from_f64(v as f64) }
            fn to_i64(self) -> i64 { self.to_f64() as i64 }
        }
    )*};
}
half_elements!(f16 => F16, bf16 => BF16);

impl Element for B8 {
    const DTYPE: DType = DType::Bool;
    fn from_f64(v: f64) -> Self {
        B8::from(v != 0.0)
    }
    fn to_f64(self) -> f64 {
        self.get() as u8 as f64
    }
    fn from_i64(v: i64) -> Self {
        B8::from(v != 0)
    }
    fn to_i64(self) -> i64 {
        self.get() as i64
    }
}

/// f32 and f64, the types kernels compute in.
#[allow(missing_docs, reason = "the functions of std's floats, under their names")]
pub trait Float:
    Element
    + PartialOrd
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
    + std::ops::Neg<Output = Self>
    + std::ops::AddAssign
    + std::ops::SubAssign
    + std::ops::MulAssign
    + std::ops::DivAssign
    + std::iter::Sum
{
    const ZERO: Self;
    const ONE: Self;
    const INFINITY: Self;
    fn of(v: f64) -> Self;
    fn f64(self) -> f64;
    fn exp(self) -> Self;
    fn ln(self) -> Self;
    fn ln_1p(self) -> Self;
    fn sqrt(self) -> Self;
    fn abs(self) -> Self;
    fn tanh(self) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn asin(self) -> Self;
    fn acos(self) -> Self;
    fn atan(self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn round(self) -> Self;
    fn powf(self, e: Self) -> Self;
    fn max(self, other: Self) -> Self;
    fn min(self, other: Self) -> Self;
    fn is_nan(self) -> bool;
    fn is_finite(self) -> bool;
}

macro_rules! floats {
    ($($t:ident),*) => {$(
        impl Float for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const INFINITY: Self = $t::INFINITY;
            fn of(v: f64) -> Self { v as $t }
            fn f64(self) -> f64 { self as f64 }
            fn exp(self) -> Self { $t::exp(self) }
            fn ln(self) -> Self { $t::ln(self) }
            fn ln_1p(self) -> Self { $t::ln_1p(self) }
            fn sqrt(self) -> Self { $t::sqrt(self) }
            fn abs(self) -> Self { $t::abs(self) }
            fn tanh(self) -> Self { $t::tanh(self) }
            fn sin(self) -> Self { $t::sin(self) }
            fn cos(self) -> Self { $t::cos(self) }
            fn asin(self) -> Self { $t::asin(self) }
            fn acos(self) -> Self { $t::acos(self) }
            fn atan(self) -> Self { $t::atan(self) }
            fn floor(self) -> Self { $t::floor(self) }
            fn ceil(self) -> Self { $t::ceil(self) }
            fn round(self) -> Self { $t::round(self) }
            fn powf(self, e: Self) -> Self { $t::powf(self, e) }
            fn max(self, other: Self) -> Self { $t::max(self, other) }
            fn min(self, other: Self) -> Self { $t::min(self, other) }
            fn is_nan(self) -> bool { $t::is_nan(self) }
            fn is_finite(self) -> bool { $t::is_finite(self) }
        }
    )*};
}
floats!(f32, f64);

/// Runs an expression with `$T` standing for the element type of a dtype: `by_element!(dtype, T => f::<T>())`.
#[macro_export]
macro_rules! by_element {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            $crate::DType::Bool => {
                type $T = $crate::B8;
                $body
            }
            $crate::DType::I16 => {
                type $T = i16;
                $body
            }
            $crate::DType::I32 => {
                type $T = i32;
                $body
            }
            $crate::DType::I64 => {
                type $T = i64;
                $body
            }
            $crate::DType::F16 => {
                type $T = $crate::f16;
                $body
            }
            $crate::DType::F32 => {
                type $T = f32;
                $body
            }
            $crate::DType::F64 => {
                type $T = f64;
                $body
            }
            $crate::DType::U8 => {
                type $T = u8;
                $body
            }
            $crate::DType::I8 => {
                type $T = i8;
                $body
            }
            // The enum is non-exhaustive for other crates; bf16 is the last one.
            _ => {
                type $T = $crate::bf16;
                $body
            }
        }
    };
}
