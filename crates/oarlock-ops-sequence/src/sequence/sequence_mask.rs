//! `sequence_mask`: ones up to each length, zeros after.

use oarlock_ir::{Dim, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, VarType, kernel, sig};
use oarlock_ops_support::ints::Ints;
use oarlock_tensor::{Element, MAX_RANK, by_element};

pub(crate) const OPS: &[&dyn OpDef] = &[&SequenceMask];

struct SequenceMask;

impl OpDef for SequenceMask {
    sig! {
        "sequence_mask": "Y[..., j] = 1 where j < X[...], else 0";
        in "X": "lengths, i32 or i64";
        in? "MaxLenTensor": "in place of `maxlen`, one i32 or i64";
        out "Y": "one dimension more than `X`, of size maxlen";
        attr "maxlen" = -1, "size of the last dimension; -1 for the greatest length";
        attr "out_dtype": "element type of `Y`";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, maxlen) = (cx.integer("X")?, cx.attrs().int("maxlen")?);
        let mut dims = x.shape.to_vec();
        dims.push(if cx.has("MaxLenTensor") { Dim::Any } else { Dim::from_i64(maxlen) });
        cx.set("Y", VarType::tensor(cx.attrs().dtype("out_dtype")?, dims));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y, from_tensor) = (p.input("X")?, p.output("Y")?, p.maybe_input("MaxLenTensor")?);
        let maxlen = p.attrs().int("maxlen")?;
        by_element!(p.attrs().dtype("out_dtype")?, T => kernel(move |io| {
            let maxlen = from_tensor.map_or(Ok(maxlen), |t| io.index(t))?;
            mask::<T>(io, x, y, maxlen)
        }))
    }
}

fn mask<T: Element>(io: &Io<'_>, x: In, y: Out, maxlen: i64) -> Result<()> {
    let from = io.dense(x)?;
    let lengths = Ints::of(io, x, &from)?;
    if from.dims().rank() == MAX_RANK {
        return Err(io.error(Kind::Shape, x, "has too many dimensions to add one"));
    }
    let maxlen = usize::try_from(maxlen).unwrap_or_else(|_| lengths.iter().max().unwrap_or(0).max(0) as usize);
    let mut dims = *from.dims();
    dims.push(maxlen);
    let mut to = io.out_sized(y, T::DTYPE, dims)?;
    let rows = io.data_mut::<T>(y, &mut to)?.chunks_exact_mut(maxlen.max(1));
    for (row, length) in rows.zip(lengths.iter()) {
        let (ones, zeros) = row.split_at_mut(length.clamp(0, maxlen as i64) as usize);
        ones.fill(T::from_i64(1));
        zeros.fill(T::from_i64(0));
    }
    Ok(())
}

#[test]
fn sequence_mask() {
    use crate::testing::{check, tensor, tensor_of};
    use oarlock_tensor::DType;
    check("sequence_mask")
        .input("X", tensor_of([3], &[1i64, 0, 5]))
        .attr("maxlen", 2)
        .attr("out_dtype", DType::F32.proto())
        .output("Y", tensor([3, 2], &[1.0, 0.0, 0.0, 0.0, 1.0, 1.0]))
        .run();
    check("sequence_mask")
        .input("X", tensor_of([2, 1], &[1i32, 2]))
        .attr("out_dtype", DType::I64.proto())
        .output("Y", tensor_of([2, 1, 2], &[1i64, 0, 1, 1]))
        .run();
    check("sequence_mask")
        .input("X", tensor_of([2], &[1i64, 2]))
        .input("MaxLenTensor", tensor_of([1], &[3i32]))
        .attr("out_dtype", DType::I32.proto())
        .output("Y", tensor_of([2, 3], &[1i32, 0, 0, 1, 1, 0]))
        .run();
}
