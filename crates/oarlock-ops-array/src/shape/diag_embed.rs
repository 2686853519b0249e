//! `diag_embed`: matrices with given diagonals.

use oarlock_ir::{AttrView, Dim, Infer, Kernel, Kind, OpDef, Prepare, Result, Sig, kernel, sig};
use oarlock_tensor::Dims;

use crate::shape::diagonal::Plane;

pub(crate) const OPS: &[&dyn OpDef] = &[&DiagEmbed];

struct DiagEmbed;

impl OpDef for DiagEmbed {
    sig! {
        "diag_embed": "Out = matrices with the rows of Input on a diagonal and 0 elsewhere";
        in "Input": "[..., n], any dtype";
        out "Out": "the axes of `Input` but the last, and two of size n + |offset|";
        with plane_attrs;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (input, plane) = (cx.input("Input")?, plane(cx.attrs())?);
        let Some((rest, &n)) = input.shape.split_last().map(|(n, rest)| (rest, n)) else {
            return Err(cx.shape_error(format!("needs at least one axis in {}", cx.describe("Input"))));
        };
        let side = n.known().map_or(Dim::Any, |n| Dim::Is(side(n, plane)));
        let Some(shape) = whole(rest, side, plane) else {
            return Err(cx.shape_error(format!(
                "cannot put axes {} and {} into {}",
                plane.dim1,
                plane.dim2,
                cx.describe("Input")
            )));
        };
        cx.set("Out", input.with_shape(shape).with_lod(0));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (input, out, plane) = (p.input("Input")?, p.output("Out")?, plane(p.attrs())?);
        kernel(move |io| {
            let from = io.dense(input)?;
            let wrong = || io.error(Kind::Shape, input, format_args!("is {}: no diagonals", from.dims()));
            let (n, rest) = from.dims().split_last().ok_or_else(wrong)?;
            let dims = whole(rest, side(*n, plane), plane).and_then(|sizes| Dims::try_new(&sizes).ok());
            let dims = dims.ok_or_else(wrong)?;
            let diagonals = plane.of(&dims).ok_or_else(wrong)?;
            let mut to = io.out_sized(out, from.dtype(), dims)?;
            let (size, to) = (from.dtype().size(), to.bytes_mut());
            to.fill(0);
            diagonals.each(|row, places| {
                let row = from.bytes()[row * n * size..][..n * size].chunks_exact(size);
                places.zip(row).for_each(|(at, v)| to[at * size..][..size].copy_from_slice(v));
            });
            Ok(())
        })
    }
}

/// Adds the attributes that say where a diagonal is.
pub(super) fn plane_attrs(sig: Sig) -> Sig {
    sig.attr("offset", 0, "how far above the main diagonal; below if negative")
        .attr("dim1", -2, "the axis of rows; negative ones count from the end")
        .attr("dim2", -1, "the axis of columns")
}

/// Reads them.
pub(super) fn plane(attrs: AttrView<'_>) -> Result<Plane> {
    Ok(Plane { dim1: attrs.int("dim1")?, dim2: attrs.int("dim2")?, offset: attrs.int("offset")? })
}

/// The size of a matrix with `n` elements on the diagonal.
fn side(n: usize, plane: Plane) -> usize {
    n.saturating_add(usize::try_from(plane.offset.unsigned_abs()).unwrap_or(usize::MAX))
}

/// The sizes `rest` with those of the matrices put in; `None` if there are no such places.
fn whole<D: Copy>(rest: &[D], side: D, plane: Plane) -> Option<Vec<D>> {
    let (a, b) = plane.axes(rest.len() + 2)?;
    let mut sizes = rest.to_vec();
    sizes.insert(a.min(b), side);
    sizes.insert(a.max(b), side);
    Some(sizes)
}

#[test]
fn diag_embed() {
    use crate::testing::{check, tensor};
    let embed = || check("diag_embed").input("Input", tensor([2, 2], &[1.0, 2.0, 3.0, 4.0]));
    embed().output("Out", tensor([2, 2, 2], &[1.0, 0.0, 0.0, 2.0, 3.0, 0.0, 0.0, 4.0])).run();
    let mut last_axis_first = [0.0; 18];
    [(6, 1.0), (13, 2.0), (9, 3.0), (16, 4.0)].into_iter().for_each(|(at, v)| last_axis_first[at] = v);
    embed().attr("offset", -1).attr("dim1", 0).attr("dim2", 2).output("Out", tensor([3, 2, 3], &last_axis_first)).run();
    assert_eq!(
        embed().attr("dim1", 1).attr("dim2", -2).any_output("Out").error(),
        "error[shape]: `diag_embed` cannot put axes 1 and -2 into `Input` = Input.0 f32[2, 2]\n  \
         at (`diag_embed`, block 0, op 0)"
    );
}
