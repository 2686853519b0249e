//! `concat`: tensors side by side along one axis.

use oarlock_ir::{
    Dim, Grad, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, Traits, VarKind, fail, kernel,
};
use oarlock_tensor::{Dims, Lod};

pub(crate) const OPS: &[&dyn OpDef] = &[&Concat, &ConcatGrad];

struct Concat;

impl OpDef for Concat {
    fn sig(&self) -> Sig {
        Sig::new("concat", "Out = the tensors of X, one after the other along `axis`")
            .inputs("X", "tensors that differ in the size of `axis` only")
            .optional_input("AxisTensor", "the axis, instead of the attribute")
            .output("Out", "sizes of `X`, those of `axis` added up")
            .attr("axis", 0, "negative: from the end")
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let parts = cx.inputs("X")?;
        let Some(first) = parts.first() else { fail!(Kind::Missing, "`concat` needs at least one tensor in `X`") };
        if cx.has("AxisTensor") {
            let unknown = vec![Dim::Any; first.shape.rank()];
            cx.set("Out", first.clone().with_shape(unknown));
            return Ok(());
        }
        let axis = normal_axis(cx.attrs().int("axis")?, first.shape.rank())?;
        let mut shape = first.shape.0.clone();
        for (i, part) in parts.iter().enumerate().skip(1) {
            let name = &cx.op().inputs.get("X")[i];
            if part.shape.rank() != shape.len() {
                let what = format_args!("cannot join {name} {part} to {first}: they have different ranks");
                return Err(cx.shape_error(what));
            }
            if part.dtype != first.dtype {
                fail!(Kind::DType, "`concat` cannot join {name} {part} to {first}: cast one of them");
            }
            for (d, (size, &other)) in shape.iter_mut().zip(part.shape.iter()).enumerate() {
                if d == axis {
                    *size = size.known().zip(other.known()).map_or(Dim::Any, |(a, b)| Dim::Is(a + b));
                } else if !size.fits(other) {
                    let what = format_args!("cannot join {name} {part} to {first} along axis {axis}");
                    return Err(cx
                        .shape_error(what)
                        .note(format!("dimension {d} must be the same: {size} and {other}")));
                } else {
                    *size = size.or(other);
                }
            }
        }
        let lod = parts.iter().map(|p| p.lod_level).max().unwrap_or(0);
        cx.set("Out", first.clone().with_shape(shape).with_lod(lod).with_kind(VarKind::Tensor));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (parts, out) = (p.inputs("X")?, p.output("Out")?);
        let axis = Axis::new(p)?;
        kernel(move |io| join(io, &parts, out, axis))
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit_keeping("concat_grad", &["AxisTensor", "Out@GRAD", "X"], &["X@GRAD"])
    }
}

/// The axis: given when the program is built, or computed.
#[derive(Clone, Copy)]
enum Axis {
    Is(i64),
    In(In),
}

impl Axis {
    fn new(p: &Prepare<'_>) -> Result<Axis> {
        Ok(match p.maybe_input("AxisTensor")? {
            Some(input) => Axis::In(input),
            None => Axis::Is(p.attrs().int("axis")?),
        })
    }

    fn of(self, io: &Io<'_>, rank: usize) -> Result<usize> {
        let axis = match self {
            Axis::Is(a) => a,
            Axis::In(input) => io.index(input)?,
        };
        normal_axis(axis, rank)
    }
}

fn normal_axis(axis: i64, rank: usize) -> Result<usize> {
    let from_start = if axis < 0 { axis + rank as i64 } else { axis };
    match usize::try_from(from_start).ok().filter(|&a| a < rank) {
        Some(a) => Ok(a),
        None => fail!(Kind::Argument, "axis {axis} is outside a tensor of {rank} dimensions"),
    }
}

fn join(io: &Io<'_>, parts: &[In], out: Out, axis: Axis) -> Result<()> {
    let Some(&first) = parts.first() else { return Err(io.op_error(Kind::Missing, "has no tensors to join")) };
    let first_tensor = io.dense(first)?;
    let axis = axis.of(io, first_tensor.dims().rank())?;
    let mut dims = *first_tensor.dims();
    dims[axis] = 0;
    for &part in parts {
        let t = io.dense(part)?;
        check_part(io, part, first, t.dims(), &dims, axis)?;
        dims[axis] += t.dims()[axis];
    }
    let dtype = first_tensor.dtype();
    let lod = if axis == 0 { Lod::NONE } else { first_tensor.lod().clone() };
    let mut to = io.out_sized(out, dtype, dims)?;
    to.set_lod(lod);
    let (rows, width) = (Dims::matrix(&dims, axis).0, row_bytes(&dims, axis, dtype.size()));
    let bytes = to.bytes_mut();
    let mut left = 0;
    for &part in parts {
        let t = io.dense(part)?;
        if t.dtype() != dtype {
            return Err(io.error(
                Kind::DType,
                part,
                format_args!("holds {}, but {} holds {dtype}", t.dtype(), io.describe(first)),
            ));
        }
        let part_width = row_bytes(t.dims(), axis, dtype.size());
        for r in 0..rows {
            bytes[r * width + left..][..part_width].copy_from_slice(&t.bytes()[r * part_width..][..part_width]);
        }
        left += part_width;
    }
    Ok(())
}

/// Bytes of one row of the matrix whose columns begin at `axis`.
fn row_bytes(dims: &Dims, axis: usize, size: usize) -> usize {
    dims.matrix(axis).1 * size
}

fn check_part(io: &Io<'_>, part: In, first: In, dims: &Dims, expected: &Dims, axis: usize) -> Result<()> {
    let same = dims.rank() == expected.rank() && (0..dims.rank()).all(|d| d == axis || dims[d] == expected[d]);
    if same {
        return Ok(());
    }
    Err(io.error(
        Kind::Shape,
        part,
        format_args!("is {dims}, which cannot stand beside {} along axis {axis}", io.describe(first)),
    ))
}

struct ConcatGrad;

impl OpDef for ConcatGrad {
    fn sig(&self) -> Sig {
        Sig::new("concat_grad", "X@GRAD = the parts of Out@GRAD that came from each tensor of X")
            .inputs("X", "of the forward operator, for their sizes")
            .optional_input("AxisTensor", "of the forward operator")
            .input("Out@GRAD", "gradient of `Out`")
            .outputs("X@GRAD", "gradients of `X`, where wanted")
            .attrs_of(&Concat.sig())
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.grads_of(&["X"])
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (parts, dout, grads) = (p.inputs("X")?, p.input("Out@GRAD")?, p.outputs("X@GRAD")?);
        let axis = Axis::new(p)?;
        kernel(move |io| cut(io, &parts, dout, &grads, axis))
    }

    fn traits(&self) -> Traits {
        Traits::NONE.shape_only(&["X"])
    }
}

fn cut(io: &Io<'_>, parts: &[In], dout: In, grads: &[Option<Out>], axis: Axis) -> Result<()> {
    let from = io.dense(dout)?;
    let axis = axis.of(io, from.dims().rank())?;
    let size = from.dtype().size();
    let (rows, width) = (from.dims().matrix(axis).0, row_bytes(from.dims(), axis, size));
    let mut left = 0;
    for (&part, grad) in parts.iter().zip(grads) {
        let x = io.dense(part)?;
        let part_width = row_bytes(x.dims(), axis, size);
        if left + part_width > width || x.dims().matrix(axis).0 != rows {
            return Err(io.error(
                Kind::Shape,
                part,
                format_args!("is {}, which is no part of {}", x.dims(), from.dims()),
            ));
        }
        if let Some(grad) = *grad {
            let mut to = io.out_sized(grad, from.dtype(), *x.dims())?;
            to.set_lod(x.lod().clone());
            let bytes = to.bytes_mut();
            for r in 0..rows {
                bytes[r * part_width..][..part_width].copy_from_slice(&from.bytes()[r * width + left..][..part_width]);
            }
        }
        left += part_width;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, noise, tensor};

    #[test]
    fn concat() {
        let (a, b) = (tensor([2, 1], &[1.0, 2.0]), tensor([2, 2], &[3.0, 4.0, 5.0, 6.0]));
        let out = tensor([2, 3], &[1.0, 3.0, 4.0, 2.0, 5.0, 6.0]);
        check("concat")
            .inputs("X", vec![a.clone(), b.clone()])
            .attr("axis", 1)
            .output("Out", out.clone())
            .grad(&["X"])
            .run();
        check("concat").inputs("X", vec![a, b]).attr("axis", -1).output("Out", out).run();
        check("concat").inputs("X", vec![noise([1, 3], 1), noise([2, 3], 2)]).any_output("Out").grad(&["X"]).run();
    }

    #[test]
    fn the_message_names_the_tensor_that_does_not_fit() {
        let e = check("concat")
            .inputs("X", vec![noise([2, 3], 1), noise([3, 3], 2)])
            .attr("axis", 1)
            .any_output("Out")
            .error();
        assert_eq!(
            e,
            "error[shape]: `concat` cannot join X.1 f32[3, 3] to f32[2, 3] along axis 1\n  \
             at (`concat`, block 0, op 0)\n  dimension 0 must be the same: 2 and 3"
        );
    }
}
