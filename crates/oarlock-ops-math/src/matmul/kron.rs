//! `kron`: Kronecker's product.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, VarType};
use oarlock_ir::{by_float, fail, kernel, sig};
use oarlock_ops_support::number::{Number, by_number};
use oarlock_tensor::{Dims, Element};

pub(crate) const OPS: &[&dyn OpDef] = &[&Kron, &GRAD];

struct Kron;

impl OpDef for Kron {
    sig! {
        "kron": "Out = X with each element replaced by the element times Y";
        in "X": "any tensor of numbers";
        in "Y": "of the same dtype; the shorter shape gets axes of size 1 in front";
        out "Out": "sizes are those of `X` times those of `Y`";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, y) = (cx.input("X")?, cx.input("Y")?);
        let rank = x.shape.rank().max(y.shape.rank());
        let size =
            |shape: &[Dim], axis: usize| (axis + shape.len()).checked_sub(rank).map_or(Dim::Is(1), |axis| shape[axis]);
        let shape: Vec<Dim> =
            (0..rank).map(|axis| oarlock_ir::product(&[size(&x.shape, axis), size(&y.shape, axis)])).collect();
        cx.set("Out", VarType::tensor(x.dtype, shape));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y, out) = (p.input("X")?, p.input("Y")?, p.output("Out")?);
        let mut places = Places::default();
        by_number!(p.dtype("X")?, T => kernel(move |io| {
            let (a, b) = (io.dense(x)?, io.dense(y)?);
            let dims = places.find(io, y, a.dims(), b.dims())?;
            let mut to = io.out_sized(out, T::DTYPE, dims)?;
            let (a, b, to) = (io.data::<T>(x, &a)?, io.data::<T>(y, &b)?, io.data_mut::<T>(out, &mut to)?);
            for (a, i) in a.iter().zip(&places.x) {
                b.iter().zip(&places.y).for_each(|(b, j)| to[i + j] = a.times(*b));
            }
            Ok(())
        }), other => fail!(Kind::DType, "`kron` works on f32, f64, i32 and i64, not on {other}"))
    }
}

/// The product of element i of X and element j of Y stands at x[i] + y[j].
#[derive(Default)]
struct Places {
    x: Vec<usize>,
    y: Vec<usize>,
}

impl Places {
    /// Finds the places; returns the sizes of the result.
    fn find(&mut self, io: &Io<'_>, y_slot: In, x: &Dims, y: &Dims) -> Result<Dims> {
        let rank = x.rank().max(y.rank());
        let (x, y) = (padded(x, rank), padded(y, rank));
        let mut dims = x;
        for (size, factor) in dims.iter_mut().zip(y.iter()) {
            *size =
                size.checked_mul(*factor).ok_or_else(|| io.error(Kind::Shape, y_slot, "makes the result too large"))?;
        }
        let mut strides = Dims::new(&vec![1; rank]);
        for axis in (1..rank).rev() {
            strides[axis - 1] = strides[axis] * dims[axis];
        }
        fill(&mut self.y, &y, &strides);
        strides.iter_mut().zip(y.iter()).for_each(|(stride, size)| *stride *= size);
        fill(&mut self.x, &x, &strides);
        Ok(dims)
    }
}

/// The same sizes with axes of size 1 in front.
fn padded(dims: &Dims, rank: usize) -> Dims {
    let mut all = Dims::new(&vec![1; rank]);
    all[rank - dims.rank()..].copy_from_slice(dims);
    all
}

/// Where each element of a tensor of these sizes stands if its axes have these strides.
fn fill(places: &mut Vec<usize>, dims: &Dims, strides: &Dims) {
    places.clear();
    places.extend((0..dims.numel()).map(|mut i| {
        let mut at = 0;
        for (size, stride) in dims.iter().zip(strides.iter()).rev() {
            at += i % size * stride;
            i /= size;
        }
        at
    }));
}

const GRAD: GradOp = GradOp::of(&Kron, "kron_grad(X, Y, Out@GRAD) -> X@GRAD, Y@GRAD")
    .doc("X@GRAD and Y@GRAD = Out@GRAD times the other one, summed over the products it has part in")
    .kernel(|p| {
        let (x, y, dout) = (p.input("X")?, p.input("Y")?, p.input("Out@GRAD")?);
        let (dx, dy) = (p.maybe_output("X@GRAD")?, p.maybe_output("Y@GRAD")?);
        let mut places = Places::default();
        by_float!(p.float("X")?, T => kernel(move |io| {
            let (a, b, d) = (io.dense(x)?, io.dense(y)?, io.dense(dout)?);
            let dims = places.find(io, y, a.dims(), b.dims())?;
            if d.numel() != dims.numel() {
                return Err(io.error(Kind::Shape, dout, format_args!("is {}, but {dims} is needed", d.dims())));
            }
            let (a_data, b_data, d) = (io.data::<T>(x, &a)?, io.data::<T>(y, &b)?, io.data::<T>(dout, &d)?);
            let sum = |at: usize, other: &[T], places: &[usize]| -> T {
                other.iter().zip(places).map(|(v, i)| *v * d[at + i]).sum()
            };
            if let Some(out) = dx {
                let mut to = io.out_sized(out, T::DTYPE, *a.dims())?;
                let to = io.data_mut::<T>(out, &mut to)?;
                to.iter_mut().zip(&places.x).for_each(|(to, i)| *to = sum(*i, b_data, &places.y));
            }
            if let Some(out) = dy {
                let mut to = io.out_sized(out, T::DTYPE, *b.dims())?;
                let to = io.data_mut::<T>(out, &mut to)?;
                to.iter_mut().zip(&places.y).for_each(|(to, j)| *to = sum(*j, a_data, &places.x));
            }
            Ok(())
        }))
    });

#[test]
fn kron() {
    use crate::testing::{check, noise, tensor, tensor_of};
    check("kron")
        .input("X", tensor([1, 2], &[1.0, 2.0]))
        .input("Y", tensor([2, 2], &[1.0, 2.0, 3.0, 4.0]))
        .output("Out", tensor([2, 4], &[1.0, 2.0, 2.0, 4.0, 3.0, 4.0, 6.0, 8.0]))
        .grad(&["X", "Y"])
        .run();
    check("kron").input("X", noise([2, 1, 2], 1)).input("Y", noise([3], 2)).any_output("Out").grad(&["X", "Y"]).run();
    check("kron")
        .input("X", tensor_of::<i64>([2], &[1, 2]))
        .input("Y", tensor_of::<i64>([2], &[3, 4]))
        .output("Out", tensor_of::<i64>([4], &[3, 4, 6, 8]))
        .run();
}
