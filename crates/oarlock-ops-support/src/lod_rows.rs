//! Reading a LoD, and outputs whose rows are rows of the input; shared by operators on sequences.

use oarlock_ir::{Dim, In, Infer, Io, Kernel, Kind, Prepare, Result, Shape, by_float, kernel};
use oarlock_tensor::{Dims, Float, Lod, Tensor, simd};

use crate::checks::expect_elements;

/// The offsets of a tensor's innermost sequences, checked.
pub fn offsets<'t>(io: &Io<'_>, input: In, t: &'t Tensor) -> Result<&'t [usize]> {
    t.lod().check(t.rows()).map_err(|e| io.about(input.0, e))?;
    match t.lod().last() {
        Some(offsets) => Ok(offsets),
        None => Err(io
            .error(Kind::Lod, input, "has no LoD, but its sequences are needed")
            .help("feed it with sequence lengths (lod_level=1)")),
    }
}

/// A LoD of sequences of these lengths, under the outer levels of another LoD.
pub fn lod_of(outer: &Lod, lengths: impl Iterator<Item = usize>) -> Lod {
    let mut level = vec![0];
    let mut end = 0;
    level.extend(lengths.map(|n| {
        end += n;
        end
    }));
    let mut levels = match outer.levels() {
        [outer @ .., _] => outer.to_vec(),
        [] => Vec::new(),
    };
    levels.push(level);
    Lod::new(levels)
}

/// A shape with another first size.
pub fn with_rows(mut shape: Shape, rows: Dim) -> Shape {
    if let Some(first) = shape.0.first_mut() {
        *first = rows;
    }
    shape
}

/// An operator whose output rows are rows of its input `X`, chosen by LoD and perhaps other inputs.
pub trait RowMap: Send + 'static {
    /// How many dimensions of `X` number its rows.
    const AXIS: usize = 1;

    /// Appends, for each row of the output, the row of `x` that it is; returns the LoD of the output.
    fn sources(&self, io: &Io<'_>, x: (In, &Tensor), sources: &mut Vec<usize>) -> Result<Lod>;
}

/// The sizes of the output of a row map.
fn out_dims<M: RowMap>(x: &Dims, rows: usize) -> Dims {
    let mut dims = Dims::from([rows]);
    x.iter().skip(M::AXIS).for_each(|&n| dims.push(n));
    if dims.rank() < 2 && M::AXIS > 1 {
        dims.push(1);
    }
    dims
}

/// The kernel of a row map, writing the output slot `out`. Works for any element type.
pub fn gather_kernel<M: RowMap>(p: &Prepare<'_>, map: M, out: &str) -> Result<Box<dyn Kernel>> {
    let (x, out) = (p.input("X")?, p.output(out)?);
    let mut sources = Vec::new();
    kernel(move |io| {
        let from = io.dense(x)?;
        sources.clear();
        let lod = map.sources(io, (x, &from), &mut sources)?;
        let mut to = io.out_sized(out, from.dtype(), out_dims::<M>(from.dims(), sources.len()))?;
        to.set_lod(lod);
        let bytes = from.dims().matrix(M::AXIS).1 * from.dtype().size();
        let from = from.bytes();
        for (to, &row) in to.bytes_mut().chunks_exact_mut(bytes.max(1)).zip(&sources) {
            to.copy_from_slice(&from[row * bytes..][..bytes]);
        }
        Ok(())
    })
}

/// The kernel of its gradient: each row of `Out@GRAD` is added to the row of `X@GRAD` it came from.
pub fn scatter_kernel<M: RowMap>(p: &Prepare<'_>, map: M) -> Result<Box<dyn Kernel>> {
    by_float!(p.float("X")?, T => scatter_kernel_of::<M, T>(p, map))
}

fn scatter_kernel_of<M: RowMap, T: Float>(p: &Prepare<'_>, map: M) -> Result<Box<dyn Kernel>> {
    let (x, dout, dx) = (p.input("X")?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
    let mut sources = Vec::new();
    kernel(move |io| {
        let (like, from) = (io.dense(x)?, io.dense(dout)?);
        sources.clear();
        map.sources(io, (x, &like), &mut sources)?;
        let width = like.dims().matrix(M::AXIS).1;
        expect_elements(io, dout, from.numel(), sources.len() * width)?;
        let mut to = io.out_sized(dx, T::DTYPE, *like.dims())?;
        to.set_lod(like.lod().clone());
        let to = io.data_mut::<T>(dx, &mut to)?;
        to.fill(T::ZERO);
        for (from, &row) in io.data::<T>(dout, &from)?.chunks_exact(width.max(1)).zip(&sources) {
            simd::add_assign(&mut to[row * width..][..width], from);
        }
        Ok(())
    })
}

/// Inference of an operator whose `Out` is like `X` but for the number of rows.
pub fn infer_other_rows(cx: &mut Infer<'_>) -> Result<()> {
    let x = cx.input("X")?;
    let shape = with_rows(x.shape.clone(), Dim::Any);
    cx.set("Out", x.with_shape(shape));
    Ok(())
}
