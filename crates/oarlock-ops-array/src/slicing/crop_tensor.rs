//! `crop_tensor`: a part of a tensor whose place and sizes may be computed.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, kernel, sig};
use oarlock_ops_support::int_list::{IntList, Known};
use oarlock_tensor::{Dims, Lod};

use crate::slicing::crop_offsets;
use crate::slicing::sub_tensor;

pub(crate) const OPS: &[&dyn OpDef] = &[&CropTensor, &GRAD];

struct CropTensor;

impl OpDef for CropTensor {
    sig! {
        "crop_tensor": "Out = the part of X that starts at `offsets` and has sizes `shape`";
        in "X": "any tensor";
        in? "Shape": "replaces `shape`";
        in*? "ShapeTensor": "one number each; replace `shape`";
        in? "Offsets": "replaces `offsets`";
        in*? "OffsetsTensor": "one number each; replace `offsets`";
        out "Out": "the part";
        attr "offsets" = Vec::<i32>::new(), "where the part starts along each axis; -1 stands for one that is computed";
        attr "shape" = Vec::<i32>::new(), "its sizes; -1 stands for all that follows";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.input("X")?;
        let starts = crop_offsets::known_offsets(cx, "OffsetsTensor")?;
        let wanted = match IntList::infer(cx, "shape", "Shape", "ShapeTensor")? {
            Known::All(list) => list,
            Known::Length(_) => {
                // The attribute still tells which sizes are not computed.
                let hint = cx.attrs().ints("shape")?;
                if hint.len() == x.shape.rank() { hint } else { vec![-1; x.shape.rank()] }
            }
        };
        let computed = cx.has("Shape") || cx.has("ShapeTensor");
        let mut shape = Vec::new();
        for (axis, (&n, &all)) in wanted.iter().zip(x.shape.iter()).enumerate() {
            let start = starts.as_ref().map(|s| s.get(axis).copied().unwrap_or(0) as usize);
            let size = match (usize::try_from(n), start, all.known()) {
                (Ok(n), Some(start), Some(all)) if start + n > all => break,
                (Ok(n), ..) if n > 0 => Dim::Is(n),
                (Err(_), Some(start), Some(all)) if !computed && start <= all => Dim::Is(all - start),
                _ => Dim::Any,
            };
            shape.push(size);
        }
        if shape.len() != x.shape.rank() || wanted.len() != shape.len() {
            let what = format_args!("cannot take {wanted:?} from {}", cx.describe("X"));
            return Err(cx.shape_error(what).help("offsets plus shape stay within X along each axis"));
        }
        cx.set("Out", x.with_shape(shape).with_lod(0));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out) = (p.input("X")?, p.output("Out")?);
        let shape = IntList::prepare(p, "shape", "Shape", "ShapeTensor")?;
        let list = IntList::prepare(p, "offsets", "Offsets", "OffsetsTensor")?;
        let mut scratch = Vec::new();
        kernel(move |io| {
            let whole = *io.dense(x)?.dims();
            let at = crop_offsets::offsets(io, x, &list, whole.rank(), &mut scratch)?;
            shape.read(io, &mut scratch)?;
            let small = sizes(io, x, &scratch, &at, &whole)?;
            sub_tensor::take(io, x, out, small, &at, Lod::NONE)
        })
    }
}

fn sizes(io: &Io<'_>, x: In, shape: &[i64], at: &[usize], whole: &Dims) -> Result<Dims> {
    let mut small = *whole;
    if shape.len() != whole.rank() {
        return Err(io.error(Kind::Shape, x, format_args!("has sizes {whole}, of which {shape:?} is no part")));
    }
    for (n, (&wanted, &start)) in small.iter_mut().zip(shape.iter().zip(at)) {
        *n = usize::try_from(wanted).unwrap_or_else(|_| n.saturating_sub(start));
    }
    Ok(small)
}

const GRAD: GradOp = GradOp::of(&CropTensor, "crop_tensor_grad(X, Offsets, OffsetsTensor, Out@GRAD) -> X@GRAD")
    .doc("X@GRAD = Out@GRAD where the part was, 0 elsewhere")
    .traits(Traits::NONE.shape_only(&["X"]))
    .kernel(|p| crop_offsets::grad_kernel(p, "OffsetsTensor"));

#[test]
fn a_part() {
    use crate::testing::{check, tensor, tensor_of};
    let x = || tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let case = || check("crop_tensor").input("X", x()).output("Out", tensor([1, 2], &[5.0, 6.0])).grad(&["X"]);
    case().attr("shape", vec![1, 2]).attr("offsets", vec![1, 1]).run();
    case().attr("shape", vec![1, -1]).input("Offsets", tensor_of::<i32>([2], &[1, 1])).run();
    let number = |v: i32| tensor_of::<i32>([1], &[v]);
    case()
        .attr("shape", vec![1, -1])
        .inputs("ShapeTensor", vec![number(1), number(2)])
        .attr("offsets", vec![1, 1])
        .run();
    let e = case().attr("shape", vec![2, 3]).attr("offsets", vec![1, 1]).error();
    assert!(e.contains("`crop_tensor` cannot take [2, 3] from `X` = X.0 f32[2, 3]"), "{e}");
}
