//! Variables of a block.

use std::fmt;

use oarlock_tensor::{DType, Dims};

use crate::{Attr, Explicit, Name, UnknownInside};

/// A size known when the program is built, or not (the batch size).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dim {
    /// Known only when the program runs; -1 in files.
    Any,
    /// Known.
    Is(usize),
}

impl Dim {
    /// From a file or a user: negative means unknown.
    pub fn from_i64(v: i64) -> Dim {
        if v < 0 { Dim::Any } else { Dim::Is(v as usize) }
    }

    /// For a file: -1 means unknown.
    pub fn to_i64(self) -> i64 {
        match self {
            Dim::Any => -1,
            Dim::Is(n) => n as i64,
        }
    }

    /// The size, if known.
    pub fn known(self) -> Option<usize> {
        match self {
            Dim::Any => None,
            Dim::Is(n) => Some(n),
        }
    }

    /// Could both be the same size?
    pub fn fits(self, other: Dim) -> bool {
        self == Dim::Any || other == Dim::Any || self == other
    }

    /// The known one of two sizes that fit.
    pub fn or(self, other: Dim) -> Dim {
        if self == Dim::Any { other } else { self }
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Any => f.write_str("?"),
            Dim::Is(n) => write!(f, "{n}"),
        }
    }
}

/// Sizes of a variable, as far as they are known when the program is built.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Shape(pub Vec<Dim>);

impl Shape {
    /// From a file or a user: negative means unknown.
    pub fn from_i64(sizes: &[i64]) -> Shape {
        Shape(sizes.iter().map(|&v| Dim::from_i64(v)).collect())
    }

    /// For a file: -1 means unknown.
    pub fn to_i64(&self) -> Vec<i64> {
        self.0.iter().map(|d| d.to_i64()).collect()
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// The number of elements, if every size is known.
    pub fn numel(&self) -> Option<usize> {
        product(&self.0).known()
    }

    /// The sizes, if all are known.
    pub fn known(&self) -> Option<Dims> {
        let sizes: Option<Vec<usize>> = self.0.iter().map(|d| d.known()).collect();
        Dims::try_new(&sizes?).ok()
    }

    /// Could a tensor of `dims` be a value of this variable?
    pub fn fits(&self, dims: &Dims) -> bool {
        self.rank() == dims.rank() && self.0.iter().zip(dims.iter()).all(|(d, &n)| d.fits(Dim::Is(n)))
    }
}

/// The product of sizes; unknown if one is.
pub fn product(dims: &[Dim]) -> Dim {
    dims.iter().try_fold(1usize, |n, d| n.checked_mul(d.known()?)).map_or(Dim::Any, Dim::Is)
}

impl From<&Dims> for Shape {
    fn from(dims: &Dims) -> Shape {
        Shape(dims.iter().map(|&n| Dim::Is(n)).collect())
    }
}

impl From<Vec<Dim>> for Shape {
    fn from(dims: Vec<Dim>) -> Shape {
        Shape(dims)
    }
}

impl std::ops::Deref for Shape {
    type Target = [Dim];
    fn deref(&self) -> &[Dim] {
        &self.0
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, d) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            d.fmt(f)?;
        }
        f.write_str("]")
    }
}

/// The kind of value that a variable holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the file format's")]
pub enum VarKind {
    Tensor,
    SelectedRows,
    FeedList,
    FetchList,
    StepScopes,
    RankTable,
    TensorArray,
    PlaceList,
    Reader,
    Raw,
    Tuple,
    /// A kind of a newer release that we only carry along.
    Other(i32),
}

impl VarKind {
    /// The kinds with their numbers in files (`VarType.Type`).
    const NUMBERS: [(VarKind, i32); 11] = [
        (VarKind::Tensor, 7),
        (VarKind::SelectedRows, 8),
        (VarKind::FeedList, 9),
        (VarKind::FetchList, 10),
        (VarKind::StepScopes, 11),
        (VarKind::RankTable, 12),
        (VarKind::TensorArray, 13),
        (VarKind::PlaceList, 14),
        (VarKind::Reader, 15),
        (VarKind::Raw, 17),
        (VarKind::Tuple, 18),
    ];

    /// The number in files.
    pub fn proto(self) -> i32 {
        match self {
            VarKind::Other(number) => number,
            // Every other kind has a number.
            kind => VarKind::NUMBERS.iter().find(|(k, _)| *k == kind).map_or(0, |(_, number)| *number),
        }
    }

    /// The kind behind a number in a file.
    pub fn from_proto(number: i32) -> VarKind {
        let known = VarKind::NUMBERS.iter().find(|(_, n)| *n == number);
        known.map_or(VarKind::Other(number), |(kind, _)| *kind)
    }
}

/// The element type of a variable as declared: one we hold, or another release's number that we only carry along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VarDType {
    /// One of ours.
    Is(DType),
    /// A number in a file that is not an element type we hold (SIZE_T, complex numbers, ...).
    Other(i32),
}

/// The type of a variable: what shape inference computes.
#[derive(Debug, Clone, PartialEq)]
pub struct VarType {
    /// The kind of value it holds.
    pub kind: VarKind,
    /// Element type of the tensor, the rows or the array's tensors.
    pub dtype: DType,
    /// Sizes, as far as known.
    pub shape: Shape,
    /// LoD levels.
    pub lod_level: usize,
}

impl VarType {
    /// A dense tensor without LoD.
    pub fn tensor(dtype: DType, shape: impl Into<Shape>) -> VarType {
        VarType { kind: VarKind::Tensor, dtype, shape: shape.into(), lod_level: 0 }
    }

    /// The same with other sizes.
    pub fn with_shape(mut self, shape: impl Into<Shape>) -> VarType {
        self.shape = shape.into();
        self
    }

    /// The same with another element type.
    pub fn with_dtype(mut self, dtype: DType) -> VarType {
        self.dtype = dtype;
        self
    }

    /// The same with another number of LoD levels.
    pub fn with_lod(mut self, lod_level: usize) -> VarType {
        self.lod_level = lod_level;
        self
    }

    /// The same of another kind.
    pub fn with_kind(mut self, kind: VarKind) -> VarType {
        self.kind = kind;
        self
    }
}

impl fmt::Display for VarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            VarKind::Tensor => {}
            VarKind::SelectedRows => f.write_str("rows ")?,
            VarKind::TensorArray => f.write_str("array ")?,
            other => return write!(f, "{other:?}"),
        }
        write!(f, "{}{}", self.dtype, self.shape)?;
        if self.lod_level > 0 {
            write!(f, " lod {}", self.lod_level)?;
        }
        Ok(())
    }
}

/// Facts that the file format does not hold but building a program needs; `clone` keeps them.
#[derive(Debug, Clone, PartialEq)]
pub struct VarMeta {
    /// Created as a parameter: has an initial value, is saved by `save_params`.
    pub is_parameter: bool,
    /// An optimizer may change it.
    pub trainable: bool,
    /// No gradient flows into it.
    pub stop_gradient: bool,
    /// Fed by the user.
    pub is_data: bool,
    /// The optimizer's learning rate is multiplied by this.
    pub learning_rate: f32,
    /// L1 or L2 decay of this parameter alone.
    pub regularizer: Option<Decay>,
    /// Gradient clipping of this parameter alone; the value is defined by the layer that sets it.
    pub grad_clip: Option<Clip>,
    /// Takes part in `ModelAverage`.
    pub do_model_average: bool,
    /// The table lives on parameter servers.
    pub is_distributed: bool,
}

impl Default for VarMeta {
    fn default() -> VarMeta {
        VarMeta {
            is_parameter: false,
            trainable: true,
            stop_gradient: false,
            is_data: false,
            learning_rate: 1.0,
            regularizer: None,
            grad_clip: None,
            do_model_average: false,
            is_distributed: false,
        }
    }
}

/// Weight decay added to a gradient.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Decay {
    /// g += coeff * sign(p)
    L1(f32),
    /// g += coeff * p
    L2(f32),
}

/// A limit on gradients.
#[derive(Debug, Clone, PartialEq)]
pub enum Clip {
    /// Each element into [min, max].
    Value {
        /// Lower bound.
        min: f32,
        /// Upper bound.
        max: f32,
    },
    /// The gradient's norm to at most this.
    Norm(f32),
    /// The norm over all gradients of a group to at most this.
    GlobalNorm {
        /// Largest norm.
        norm: f32,
        /// Parameters with the same group are clipped together.
        group: String,
    },
}

/// A variable of a block.
#[derive(Debug, Clone, PartialEq)]
pub struct Var {
    /// Its name, unique in the block.
    pub name: Name,
    /// The kind of value it holds.
    pub kind: VarKind,
    /// Element type; meaningless for kinds without elements.
    pub dtype: VarDType,
    /// Sizes.
    pub shape: Shape,
    /// LoD levels.
    pub lod_level: usize,
    /// Lives in the scope beyond a run.
    pub persistable: bool,
    /// Feeds are checked against dtype and shape.
    pub need_check_feed: bool,
    /// Facts that the file format does not hold.
    pub meta: VarMeta,
    /// For a reader: the types of what it reads.
    pub reads: Vec<VarType>,
    /// Attributes of the variable (newer releases).
    pub attrs: Vec<(Name, Attr)>,
    /// Fields of the file format that this version does not know, as bytes.
    pub unknown: Vec<u8>,
    /// Unknown fields inside the `VarType` message.
    pub unknown_type: Vec<u8>,
    /// Unknown fields deeper inside, by the place they stand at.
    pub unknown_inside: UnknownInside,
    /// Defaults that the file spelled out.
    pub explicit: Explicit,
}

impl Var {
    /// A temporary variable of a type.
    pub fn new(name: impl Into<Name>, ty: VarType) -> Var {
        Var {
            name: name.into(),
            kind: ty.kind,
            dtype: VarDType::Is(ty.dtype),
            shape: ty.shape,
            lod_level: ty.lod_level,
            persistable: false,
            need_check_feed: false,
            meta: VarMeta::default(),
            reads: Vec::new(),
            attrs: Vec::new(),
            unknown: Vec::new(),
            unknown_type: Vec::new(),
            unknown_inside: UnknownInside::default(),
            explicit: Explicit::default(),
        }
    }

    /// Does it outlive a run and hold values? Lists of feeds and fetches, and readers, are persistable in name only.
    pub fn holds_values(&self) -> bool {
        self.persistable && !matches!(self.kind, VarKind::FeedList | VarKind::FetchList | VarKind::Reader)
    }

    /// Its type. A dtype we do not hold counts as f32 here: no kernel of ours reads such a variable.
    pub fn ty(&self) -> VarType {
        let dtype = match self.dtype {
            VarDType::Is(d) => d,
            VarDType::Other(_) => DType::F32,
        };
        VarType { kind: self.kind, dtype, shape: self.shape.clone(), lod_level: self.lod_level }
    }

    /// Replaces its type.
    pub fn set_ty(&mut self, ty: VarType) {
        self.kind = ty.kind;
        self.dtype = VarDType::Is(ty.dtype);
        self.shape = ty.shape;
        self.lod_level = ty.lod_level;
    }
}
