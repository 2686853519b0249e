//! Numbers computed from several tensors of one size, element by element or row by row; shared by losses.

use std::cell::Ref;

use oarlock_ir::{Dim, In, Infer, Io, Kind, Out, Result, VarType};
use oarlock_tensor::{Dims, Float, Tensor};

/// The type of `a`, which must be float and have the sizes of `b`.
pub fn infer_same(cx: &Infer<'_>, a: &str, b: &str) -> Result<VarType> {
    let (x, y) = (cx.float(a)?, cx.float(b)?);
    let same = x.shape.rank() == y.shape.rank() && x.shape.iter().zip(y.shape.iter()).all(|(x, y)| x.fits(*y));
    if same {
        return Ok(x);
    }
    Err(cx
        .shape_error(format_args!("cannot compare {} with {}", cx.describe(a), cx.describe(b)))
        .help("both need the same shape"))
}

/// The type of one number per row of `x`.
pub fn infer_rows(x: &VarType) -> VarType {
    x.clone().with_shape(vec![x.shape.first().copied().unwrap_or(Dim::Is(1)), Dim::Is(1)])
}

/// Several dense tensors that are read together.
pub struct Together<'a, const N: usize> {
    tensors: Vec<Ref<'a, Tensor>>,
    inputs: [In; N],
}

impl<'a, const N: usize> Together<'a, N> {
    /// Reads them; all must have as many elements as the first.
    pub fn new(io: &Io<'a>, inputs: [In; N]) -> Result<Together<'a, N>> {
        let mut tensors = Vec::with_capacity(N);
        for input in inputs {
            tensors.push(io.dense(input)?);
        }
        let first = tensors[0].numel();
        if let Some(at) = tensors.iter().position(|t| t.numel() != first) {
            let what = format_args!("has {} elements, but {} has {first}", tensors[at].numel(), io.describe(inputs[0]));
            return Err(io.error(Kind::Shape, inputs[at], what));
        }
        Ok(Together { tensors, inputs })
    }

    /// The first tensor.
    pub fn first(&self) -> &Tensor {
        &self.tensors[0]
    }

    /// The elements of each.
    pub fn data<T: Float>(&self, io: &Io<'_>) -> Result<[&[T]; N]> {
        let mut data: [&[T]; N] = [&[]; N];
        for ((data, tensor), input) in data.iter_mut().zip(&self.tensors).zip(self.inputs) {
            *data = io.data(input, tensor)?;
        }
        Ok(data)
    }
}

/// out = f(elements), element by element; sizes and LoD are those of the first input.
pub fn each<T: Float, const N: usize>(io: &Io<'_>, inputs: [In; N], out: Out, f: impl Fn([T; N]) -> T) -> Result<()> {
    let together = Together::new(io, inputs)?;
    let data = together.data::<T>(io)?;
    let mut t = io.out_sized(out, T::DTYPE, *together.first().dims())?;
    t.set_lod(together.first().lod().clone());
    for (i, out) in io.data_mut::<T>(out, &mut t)?.iter_mut().enumerate() {
        *out = f(std::array::from_fn(|k| data[k][i]));
    }
    Ok(())
}

/// Makes `out` one number.
pub fn number<T: Float>(io: &Io<'_>, out: Out, value: T) -> Result<()> {
    let mut t = io.out_sized(out, T::DTYPE, Dims::from([1]))?;
    io.data_mut::<T>(out, &mut t)?[0] = value;
    Ok(())
}

/// Makes `out` a column of one number per row.
pub fn column<T: Float>(io: &Io<'_>, out: Out, rows: usize, f: impl FnMut(usize) -> T) -> Result<()> {
    let mut t = io.out_sized(out, T::DTYPE, Dims::from([rows, 1]))?;
    let column = io.data_mut::<T>(out, &mut t)?;
    column.iter_mut().zip((0..rows).map(f)).for_each(|(out, v)| *out = v);
    Ok(())
}
