//! Where the shape of a new tensor comes from: what operators share that make tensors out of nothing.

use oarlock_ir::{Dim, In, Infer, Io, Kind, Prepare, Result, Shape, Sig, VarType, fail, slots};
use oarlock_tensor::{Dims, Element, MAX_RANK, Tensor};

/// Adds the attributes and inputs that give a shape.
pub(crate) fn shape_inputs(sig: Sig) -> Sig {
    sig.optional_input("ShapeTensor", "the sizes, i32 or i64; replaces `shape`")
        .optional_inputs("ShapeTensorList", "one size each, i32 or i64; replaces `shape`")
        .attr("shape", Vec::<i64>::new(), "the sizes")
}

/// Sets `Out` to a tensor of attribute `dtype` and the shape of [`shape_inputs`], as far as it is known.
pub(crate) fn infer_shape(cx: &mut Infer<'_>) -> Result<()> {
    let dtype = cx.attrs().dtype("dtype")?;
    let shape = cx.attrs().ints("shape")?;
    let from_tensors = cx.has("ShapeTensor") || cx.has("ShapeTensorList");
    if !from_tensors && let Some(bad) = shape.iter().find(|&&n| n < 0) {
        return Err(cx
            .shape_error(format_args!("cannot make a tensor of shape {shape:?}: {bad} is no size"))
            .help("give every size, or a tensor with the shape"));
    }
    let shape = if shape.is_empty() && from_tensors { unknown_shape(cx)? } else { Shape::from_i64(&shape) };
    cx.set("Out", VarType::tensor(dtype, shape));
    Ok(())
}

/// As many unknown sizes as the tensors will give.
fn unknown_shape(cx: &Infer<'_>) -> Result<Shape> {
    if !cx.has("ShapeTensor") {
        return Ok(Shape(vec![Dim::Any; cx.inputs("ShapeTensorList")?.len()]));
    }
    match cx.input("ShapeTensor")?.shape.numel() {
        Some(rank) if rank <= MAX_RANK => Ok(Shape(vec![Dim::Any; rank])),
        _ => Err(cx
            .shape_error(format_args!("cannot tell how many dimensions {} stands for", cx.describe("ShapeTensor")))
            .help(format!("declare it with its length, at most {MAX_RANK}"))),
    }
}

slots! {
    /// The shape of [`shape_inputs`], found anew in every run.
    pub(crate) struct ShapeSource(p) {
        attr: Vec<i64> = p.attrs().ints("shape")?,
        tensor: maybe_input "ShapeTensor",
        list: inputs "ShapeTensorList",
    }
}

impl ShapeSource {
    /// The sizes in this run.
    pub(crate) fn dims(&self, io: &Io<'_>) -> Result<Dims> {
        if let Some(t) = self.tensor {
            return checked_dims(io, &integers(io, t)?);
        }
        if self.list.is_empty() {
            return checked_dims(io, &self.attr);
        }
        let sizes: Result<Vec<i64>> = self.list.iter().map(|&t| io.index(t)).collect();
        checked_dims(io, &sizes?)
    }
}

/// The elements of a small integer tensor.
fn integers(io: &Io<'_>, input: In) -> Result<Vec<i64>> {
    fn all<T: Element>(t: &Tensor) -> Vec<i64> {
        t.data::<T>().map(|d| d.iter().map(|v| v.to_i64()).collect()).unwrap_or_default()
    }
    let t = io.dense(input)?;
    if t.dtype().is_float() {
        return Err(io.error(Kind::DType, input, format_args!("must hold integers, but it holds {}", t.dtype())));
    }
    Ok(oarlock_tensor::by_element!(t.dtype(), T => all::<T>(&t)))
}

/// Sizes from outside as dims: none negative, not too many, the product within memory's reach.
pub(crate) fn checked_dims(io: &Io<'_>, sizes: &[i64]) -> Result<Dims> {
    let mut dims = (sizes.len() <= MAX_RANK).then(|| Dims::new(&[]));
    for &n in sizes {
        let size = usize::try_from(n).ok();
        dims = dims.zip(size).map(|(mut d, size)| {
            d.push(size);
            d
        });
    }
    let fits =
        |d: &Dims| d.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).is_some_and(|n| n < isize::MAX as usize / 8);
    match dims.filter(fits) {
        Some(dims) => Ok(dims),
        None => Err(io.op_error(Kind::Shape, format_args!("cannot make a tensor of shape {sizes:?}"))),
    }
}

/// Adds the input and attributes of a shape of which one size is that of another tensor.
pub(crate) fn batch_size_inputs(sig: Sig) -> Sig {
    sig.input("Input", "the tensor that gives the size")
        .required_attr("shape", "the sizes; the one at `output_dim_idx` is replaced")
        .attr("input_dim_idx", 0, "which size of `Input` to take")
        .attr("output_dim_idx", 0, "which size of `Out` it becomes")
}

/// Sets `Out` to a tensor of attribute `dtype` and the shape of [`batch_size_inputs`].
pub(crate) fn infer_batch_size(cx: &mut Infer<'_>) -> Result<()> {
    let attrs = cx.attrs();
    let (from, to) = (attrs.count("input_dim_idx")?, attrs.count("output_dim_idx")?);
    let (input, mut shape) = (cx.input("Input")?, Shape::from_i64(&attrs.ints("shape")?));
    match (input.shape.get(from), shape.0.get_mut(to)) {
        // A batch of sequences counts its sequences, which are known only when the program runs.
        (Some(_), Some(size)) if input.lod_level > 0 && from == 0 => *size = Dim::Any,
        (Some(n), Some(size)) => *size = *n,
        _ => {
            return Err(
                cx.shape_error(format_args!("cannot put size {from} of {} at {to} of {shape}", cx.describe("Input")))
            );
        }
    }
    cx.set("Out", VarType::tensor(attrs.dtype("dtype")?, shape));
    Ok(())
}

/// The shape of [`batch_size_inputs`], found anew in every run.
pub(crate) struct BatchShape {
    shape: Vec<i64>,
    input: In,
    from: usize,
    to: usize,
    sequences: bool,
}

impl BatchShape {
    /// Of an operator. With `sequences`, a batch of sequences counts its sequences instead of its rows.
    pub(crate) fn new(p: &Prepare<'_>, sequences: bool) -> Result<BatchShape> {
        let attrs = p.attrs();
        let (from, to) = (attrs.count("input_dim_idx")?, attrs.count("output_dim_idx")?);
        let shape = attrs.ints("shape")?;
        if to >= shape.len() {
            fail!(Kind::Argument, "`output_dim_idx` is {to}, but `shape` has {} sizes", shape.len());
        }
        Ok(BatchShape { shape, input: p.input("Input")?, from, to, sequences })
    }

    /// The sizes in this run.
    pub(crate) fn dims(&self, io: &Io<'_>) -> Result<Dims> {
        let input = io.dense(self.input)?;
        let size = match (input.lod().last(), input.dims().get(self.from)) {
            (Some(offsets), _) if self.sequences && self.from == 0 => offsets.len().saturating_sub(1),
            (_, Some(&n)) => n,
            (_, None) => {
                let what = format_args!("has no size {}, which `input_dim_idx` asks for", self.from);
                return Err(io.error(Kind::Shape, self.input, what));
            }
        };
        let mut shape = self.shape.clone();
        shape[self.to] = size as i64;
        checked_dims(io, &shape)
    }
}

/// The value of every element, as exact as the element type can hold it: attribute `str_value` if set, else `value`.
pub(crate) fn fill_value<T: Element>(p: &Prepare<'_>) -> Result<T> {
    let attrs = p.attrs();
    let text = attrs.str("str_value")?.trim();
    if text.is_empty() {
        return Ok(T::from_f64(attrs.f32("value")?.into()));
    }
    if let Ok(v) = text.parse::<i64>() {
        return Ok(T::from_i64(v));
    }
    match text.parse::<f64>() {
        Ok(v) => Ok(T::from_f64(v)),
        Err(_) => fail!(Kind::Argument, "attribute `str_value` of `{}` is `{text}`, not a number", p.op().op_type),
    }
}
