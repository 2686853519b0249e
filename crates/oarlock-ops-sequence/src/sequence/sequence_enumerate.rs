//! `sequence_enumerate`: the window of ids that begins at each position of a sequence.

use oarlock_ir::{Dim, Infer, Kernel, Kind, OpDef, Prepare, Result, Traits, kernel, sig};
use oarlock_ops_support::lod_rows;
use oarlock_tensor::{DType, Dims, Element};

pub(crate) const OPS: &[&dyn OpDef] = &[&SequenceEnumerate];

struct SequenceEnumerate;

impl OpDef for SequenceEnumerate {
    sig! {
        "sequence_enumerate": "Out[r, j] = X[r + j] within the innermost sequence of row r, pad_value beyond its end";
        in "X": "ids, one per row, with LoD";
        out "Out": "a window per row, with the LoD of `X`";
        attr "win_size": "how many ids a window has";
        attr "pad_value" = 0, "what stands beyond the end of a sequence";
        hints ["@ALL_KERNELS_MUST_COMPUTE_RUNTIME_SHAPE@"];
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, window) = (cx.integer("X")?, cx.attrs().count("win_size")?);
        let rows = x.shape.first().copied().unwrap_or(Dim::Any);
        cx.set("Out", x.with_shape(vec![rows, Dim::Is(window)]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        match p.dtype("X")? {
            DType::I32 => enumerate_kernel::<i32>(p),
            _ => enumerate_kernel::<i64>(p),
        }
    }
}

fn enumerate_kernel<T: Element>(p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
    let (x, out) = (p.input("X")?, p.output("Out")?);
    let (window, pad) = (p.attrs().count("win_size")?, T::from_i64(p.attrs().int("pad_value")?));
    kernel(move |io| {
        let from = io.dense(x)?;
        let offsets = lod_rows::offsets(io, x, &from)?;
        if from.numel() != from.rows() {
            return Err(io.error(Kind::Shape, x, format!("is {}, but must have one id per row", from.dims())));
        }
        let mut to = io.out_sized(out, T::DTYPE, Dims::from([from.rows(), window]))?;
        to.set_lod(from.lod().clone());
        let (ids, to) = (io.data::<T>(x, &from)?, io.data_mut::<T>(out, &mut to)?);
        let mut rows = to.chunks_exact_mut(window.max(1));
        for w in offsets.windows(2) {
            for (start, to) in (w[0]..w[1]).zip(&mut rows) {
                let found = &ids[start..w[1].min(start + window)];
                to[..found.len()].copy_from_slice(found);
                to[found.len()..].fill(pad);
            }
        }
        Ok(())
    })
}

#[test]
fn sequence_enumerate() {
    use crate::testing::{check, tensor_of, with_lod};
    check("sequence_enumerate")
        .input("X", with_lod(tensor_of([4, 1], &[1i64, 2, 3, 4]), &[&[0, 3, 3, 4]]))
        .attr("win_size", 2)
        .attr("pad_value", 9)
        .output("Out", with_lod(tensor_of([4, 2], &[1i64, 2, 2, 3, 3, 9, 4, 9]), &[&[0, 3, 3, 4]]))
        .run();
}
