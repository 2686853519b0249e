//! `unpool`: maxima put back to where they were.

use oarlock_ir::{AttrView, Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, VarType};
use oarlock_ir::{by_float, fail, kernel, sig};
use oarlock_ops_support::ints::Ints;
use oarlock_ops_support::sliding_window::{Axes, sizes};
use oarlock_tensor::{Dims, Element, Float};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unpool, &GRAD];

/// The size of the image along each axis, as pools with these attributes see it.
#[derive(Clone, Copy)]
struct Params {
    ksize: [usize; 3],
    strides: [usize; 3],
    paddings: [usize; 2],
}

impl Params {
    fn new(attrs: &AttrView<'_>) -> Result<Params> {
        match attrs.str("unpooling_type")? {
            "max" => {}
            other => fail!(Kind::Argument, "attribute `unpooling_type` is `{other}`; it can only be `max`"),
        }
        let [y, x] = sizes(attrs, "paddings")?[..] else {
            fail!(Kind::Argument, "attribute `paddings` needs two sizes");
        };
        let (ksize, strides) = (Axes::Image.positive(attrs, "ksize")?, Axes::Image.positive(attrs, "strides")?);
        Ok(Params { ksize, strides, paddings: [y, x] })
    }

    /// Of an axis (0: vertical) with `n` windows.
    fn size(&self, axis: usize, n: usize) -> Option<usize> {
        let all = n.checked_sub(1)? * self.strides[axis + 1] + self.ksize[axis + 1];
        all.checked_sub(2 * self.paddings[axis])
    }
}

struct Unpool;

impl OpDef for Unpool {
    sig! {
        "unpool": "Out = each element of X at its index in its channel, 0 elsewhere";
        in "X": "[n, channels, h, w], f32 or f64";
        in "Indices": "like `X`, i32";
        out "Out": "[n, channels, height and width before the pool]";
        attr "ksize": "sizes of the window, vertical and horizontal";
        attr "unpooling_type": "max";
        attr "strides" = vec![1, 1], "steps of the window";
        attr "paddings" = vec![0, 0], "what was added around the image";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, params) = (cx.float("X")?, Params::new(&cx.attrs())?);
        let [n, c, h, w] = x.shape[..] else {
            return Err(cx.shape_error(format_args!("needs images of four sizes, but has {}", cx.describe("X"))));
        };
        let size = |axis, n: Dim| n.known().and_then(|n| params.size(axis, n)).map_or(Dim::Any, Dim::Is);
        cx.set("Out", VarType::tensor(x.dtype, vec![n, c, size(0, h), size(1, w)]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, indices, out) = (p.input("X")?, p.input("Indices")?, p.output("Out")?);
        let params = Params::new(&p.attrs())?;
        by_float!(p.float("X")?, T => kernel(move |io| forward::<T>(io, (x, indices), out, &params)))
    }
}

fn forward<T: Float>(io: &Io<'_>, (x, indices): (In, In), out: Out, params: &Params) -> Result<()> {
    let (x_tensor, index_tensor) = (io.dense(x)?, io.dense(indices)?);
    let dims = x_tensor.dims();
    let size = if dims.rank() == 4 { params.size(0, dims[2]).zip(params.size(1, dims[3])) } else { None };
    let Some((h, w)) = size else {
        return Err(io.error(Kind::Shape, x, format_args!("has sizes {dims}, which no pool of this window gives")));
    };
    let mut t = io.out_sized(out, T::DTYPE, Dims::from([dims[0], dims[1], h, w]))?;
    let (x, out) = (io.data::<T>(x, &x_tensor)?, io.data_mut::<T>(out, &mut t)?);
    out.fill(T::ZERO);
    let places = (dims[2] * dims[3], h * w);
    each(io, indices, Ints::of(io, indices, &index_tensor)?, x.len(), places, |from, to| out[to] = x[from])
}

/// Calls `f` with each element and its place in the batch. There are `places.0` elements and `places.1` places per channel.
fn each(
    io: &Io<'_>,
    input: In,
    indices: Ints<'_>,
    len: usize,
    places: (usize, usize),
    mut f: impl FnMut(usize, usize),
) -> Result<()> {
    if indices.len() != len {
        return Err(io.error(Kind::Shape, input, format_args!("has {} elements, but `X` has {len}", indices.len())));
    }
    for (i, index) in indices.iter().enumerate() {
        match usize::try_from(index) {
            Ok(index) if index < places.1 => f(i, i / places.0 * places.1 + index),
            _ => {
                let what = format_args!("has index {index} at element {i}, but channels have {} elements", places.1);
                return Err(io.error(Kind::Range, input, what));
            }
        }
    }
    Ok(())
}

const GRAD: GradOp = GradOp::of(&Unpool, "unpool_grad(X, Indices, Out?, Out@GRAD) -> X@GRAD")
    .doc("X@GRAD = the elements of Out@GRAD at the indices")
    .traits(Traits::NONE.shape_only(&["X", "Out"]))
    .kernel(|p| {
        let (x, indices, dout, dx) = (p.input("X")?, p.input("Indices")?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let (x_tensor, index_tensor, dout_tensor) = (io.dense(x)?, io.dense(indices)?, io.dense(dout)?);
            let mut t = io.out_sized(dx, T::DTYPE, *x_tensor.dims())?;
            let (dx, d) = (io.data_mut::<T>(dx, &mut t)?, io.data::<T>(dout, &dout_tensor)?);
            let places = (x_tensor.dims().matrix(2).1, dout_tensor.dims().matrix(2).1);
            if places.0 * d.len() != places.1 * dx.len() {
                return Err(io.error(Kind::Shape, dout, format_args!("has sizes {}, not those of the output", dout_tensor.dims())));
            }
            each(io, indices, Ints::of(io, indices, &index_tensor)?, dx.len(), places, |from, to| dx[from] = d[to])
        }))
    });

#[test]
fn maxima_go_back() {
    use crate::testing::{check, tensor, tensor_of};
    let case = |last: i32| {
        check("unpool")
            .attr("ksize", vec![1, 2])
            .attr("strides", vec![1, 2])
            .attr("unpooling_type", "max")
            .input("X", tensor([1, 2, 1, 1], &[3.0, 4.0]))
            .input("Indices", tensor_of::<i32>([1, 2, 1, 1], &[1, last]))
            .output("Out", tensor([1, 2, 1, 2], &[0.0, 3.0, 4.0, 0.0]))
    };
    case(0).grad(&["X"]).run();
    let e = case(2).error();
    assert!(e.contains("input `Indices` = `Indices.0` has index 2 at element 1, but channels have 2 elements"), "{e}");
}
