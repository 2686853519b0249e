//! The names that file formats give to element types.

use oarlock_tensor::DType;

/// An element type, numpy's name for it without a byte order, and the name in `safetensors`. numpy has no `bf16`.
const NAMES: [(DType, &str, &str); 10] = [
    (DType::Bool, "b1", "BOOL"),
    (DType::U8, "u1", "U8"),
    (DType::I8, "i1", "I8"),
    (DType::I16, "i2", "I16"),
    (DType::I32, "i4", "I32"),
    (DType::I64, "i8", "I64"),
    (DType::F16, "f2", "F16"),
    (DType::BF16, "", "BF16"),
    (DType::F32, "f4", "F32"),
    (DType::F64, "f8", "F64"),
];

/// Returns numpy's name, such as `f4`.
pub(crate) fn numpy(dtype: DType) -> Option<&'static str> {
    NAMES.iter().find(|(d, numpy, _)| *d == dtype && !numpy.is_empty()).map(|(_, numpy, _)| *numpy)
}

/// Returns the element type that numpy calls `name`.
pub(crate) fn of_numpy(name: &str) -> Option<DType> {
    NAMES.iter().find(|(_, numpy, _)| *numpy == name && !name.is_empty()).map(|(dtype, ..)| *dtype)
}

/// Returns the name in `safetensors`.
pub(crate) fn safetensors(dtype: DType) -> Option<&'static str> {
    NAMES.iter().find(|(d, ..)| *d == dtype).map(|(.., name)| *name)
}

/// Returns the element type that `safetensors` calls `name`.
pub(crate) fn of_safetensors(name: &str) -> Option<DType> {
    NAMES.iter().find(|(.., n)| *n == name).map(|(dtype, ..)| *dtype)
}
