//! `crop`: a part of a tensor.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Sig, Traits, kernel, sig};
use oarlock_ops_support::int_list::IntList;
use oarlock_tensor::{Dims, Lod};

use crate::slicing::crop_offsets;
use crate::slicing::sub_tensor;

pub(crate) const OPS: &[&dyn OpDef] = &[&Crop, &GRAD];

fn with_attrs(sig: Sig) -> Sig {
    sig.attr("offsets", Vec::<i32>::new(), "where the part starts along each axis").attr(
        "shape",
        Vec::<i32>::new(),
        "its sizes; a first one of -1 keeps that of `X`",
    )
}

struct Crop;

impl OpDef for Crop {
    sig! {
        "crop": "Out = the part of X that starts at `offsets` and has sizes `shape`";
        in "X": "any tensor";
        in? "Y": "its sizes replace `shape`";
        in? "Offsets": "replaces `offsets`";
        out "Out": "the part";
        with with_attrs;
        traits Traits::NONE.shape_only(&["Y"]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.input("X")?;
        let shape = if cx.has("Y") {
            cx.input("Y")?.shape.0
        } else {
            cx.attrs().ints("shape")?.into_iter().map(Dim::from_i64).collect()
        };
        let starts = crop_offsets::known_offsets(cx, "")?;
        let beyond = |axis: usize| {
            let start = starts.as_ref().and_then(|s| s.get(axis)).copied().unwrap_or(0) as usize;
            matches!((shape[axis].known(), x.shape[axis].known()), (Some(n), Some(all)) if start + n > all)
        };
        if shape.len() != x.shape.rank() || (0..shape.len()).any(beyond) {
            let what = format_args!("cannot take {} from {}", oarlock_ir::Shape(shape), cx.describe("X"));
            return Err(cx.shape_error(what).help("offsets plus shape stay within X along each axis"));
        }
        cx.set("Out", x.with_shape(shape).with_lod(0));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y, out) = (p.input("X")?, p.maybe_input("Y")?, p.output("Out")?);
        let (shape, list) = (p.attrs().ints("shape")?, IntList::prepare(p, "offsets", "Offsets", "")?);
        let mut scratch = Vec::new();
        kernel(move |io| {
            let whole = *io.dense(x)?.dims();
            let small = match y {
                Some(y) => *io.dense(y)?.dims(),
                None => sizes(io, x, &shape, &whole)?,
            };
            let at = crop_offsets::offsets(io, x, &list, whole.rank(), &mut scratch)?;
            sub_tensor::take(io, x, out, small, &at, Lod::NONE)
        })
    }
}

fn sizes(io: &Io<'_>, x: In, shape: &[i64], whole: &Dims) -> Result<Dims> {
    let mut small = *whole;
    if shape.len() != whole.rank() {
        return Err(io.error(Kind::Shape, x, format_args!("has sizes {whole}, of which {shape:?} is no part")));
    }
    for (n, &wanted) in small.iter_mut().zip(shape) {
        *n = usize::try_from(wanted).unwrap_or(*n);
    }
    Ok(small)
}

const GRAD: GradOp = GradOp::of(&Crop, "crop_grad(X, Offsets, Out@GRAD) -> X@GRAD")
    .doc("X@GRAD = Out@GRAD where the part was, 0 elsewhere")
    .traits(Traits::NONE.shape_only(&["X"]))
    .kernel(|p| crop_offsets::grad_kernel(p, ""));

#[test]
fn a_part() {
    use crate::testing::{check, noise, tensor, tensor_of};
    let x = || tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let case = || check("crop").input("X", x()).output("Out", tensor([1, 2], &[5.0, 6.0])).grad(&["X"]);
    case().attr("shape", vec![1, 2]).attr("offsets", vec![1, 1]).run();
    case().input("Y", noise([1, 2], 1)).input("Offsets", tensor_of::<i32>([2], &[1, 1])).run();
    let e = case().attr("shape", vec![2, 3]).attr("offsets", vec![1, 1]).error();
    assert!(e.contains("`crop` cannot take [2, 3] from `X` = X.0 f32[2, 3]"), "{e}");
}
