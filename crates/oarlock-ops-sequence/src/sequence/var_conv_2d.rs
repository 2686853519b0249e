//! `var_conv_2d`: a convolution of images each of which has a size of its own.

use oarlock_ir::{
    AttrView, Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, Traits, VarType,
};
use oarlock_ir::{by_float, fail, kernel, sig, slots};
use oarlock_ops_support::{checks, lod_rows};
use oarlock_tensor::gemm::{GemmElem, Mat, gemm};
use oarlock_tensor::{Dims, Float, Lod, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&VarConv2d, &VAR_CONV_2D_GRAD];

struct VarConv2d;

fn with_sizes(sig: Sig) -> Sig {
    sig.attr("InputChannel", 1, "channels of an image")
        .attr("OutputChannel", 1, "channels of a result")
        .attr("StrideH", 1, "step of the window down")
        .attr("StrideW", 1, "step of the window to the right")
        .attr("KernelH", 1, "rows of the window")
        .attr("KernelW", 1, "columns of the window")
}

impl OpDef for VarConv2d {
    sig! {
        "var_conv_2d":
            "for each sequence, an image of InputChannel channels, a row per row of ROW and a column per row of COLUMN: its \
             convolution with W, padded by zeros so that the window stands over every StrideH-th row and StrideW-th column";
        in "X": "[elements of all images, 1], with a LoD of one sequence per image";
        in "ROW": "its LoD says how many rows each image has";
        in "COLUMN": "its LoD says how many columns each image has";
        in "W": "[OutputChannel, InputChannel * KernelH * KernelW]";
        out "Out": "[elements of all results, 1], with a LoD of one sequence per image";
        out "Col": "[elements, 1] with a LoD, for the gradient: what the window sees at each place";
        with with_sizes;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, w, window) = (cx.float("X")?, cx.float("W")?, Window::new(&cx.attrs())?);
        cx.input("ROW")?;
        cx.input("COLUMN")?;
        let fits = x.shape.rank() == 2
            && matches!(&w.shape[..], [a, b] if a.fits(Dim::Is(window.outputs)) && b.fits(Dim::Is(window.len())));
        if !fits {
            let what = format_args!("cannot use {} and {} together", cx.describe("X"), cx.describe("W"));
            let note = format!("X has two dimensions; W is [{}, {}] by the attributes", window.outputs, window.len());
            return Err(cx.shape_error(what).note(note));
        }
        let column = VarType::tensor(x.dtype, vec![Dim::Any, Dim::Is(1)]).with_lod(1);
        cx.set("Out", column.clone());
        cx.set("Col", column);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (slots, out, col) = (Slots::new(p)?, p.output("Out")?, p.output("Col")?);
        by_float!(p.float("X")?, T => kernel(move |io| forward::<T>(io, &slots, out, col)))
    }
}

/// The attributes.
#[derive(Debug, Clone, Copy)]
struct Window {
    inputs: usize,
    outputs: usize,
    /// Down and to the right.
    size: [usize; 2],
    stride: [usize; 2],
}

impl Window {
    fn new(attrs: &AttrView<'_>) -> Result<Window> {
        let above_zero = |name: &str| match attrs.count(name)? {
            0 => fail!(Kind::Argument, "attribute `{name}` of `var_conv_2d` is 0; it must be above 0"),
            n => Ok(n),
        };
        Ok(Window {
            inputs: above_zero("InputChannel")?,
            outputs: above_zero("OutputChannel")?,
            size: [above_zero("KernelH")?, above_zero("KernelW")?],
            stride: [above_zero("StrideH")?, above_zero("StrideW")?],
        })
    }

    /// Numbers that the window sees at one place.
    fn len(&self) -> usize {
        self.inputs * self.size[0] * self.size[1]
    }
}

slots! {
    struct Slots(p) {
        x: input "X",
        row: input "ROW",
        column: input "COLUMN",
        w: input "W",
        window: Window = Window::new(&p.attrs())?,
    }
}

/// An image: where it begins, its sizes and those of its result.
struct Image {
    start: usize,
    size: [usize; 2],
    places: [usize; 2],
}

impl Image {
    fn count(&self) -> usize {
        self.places[0] * self.places[1]
    }

    /// Calls `f` with every number that the window sees: its place in the columns, and in the image if it is inside.
    fn each(&self, window: &Window, mut f: impl FnMut(usize, Option<usize>)) {
        let [height, width] = self.size;
        let inside = |at: usize, step: usize, size: usize, n: usize| {
            (at + step).checked_sub(size / 2).filter(|place| *place < n)
        };
        let mut line = 0;
        for channel in 0..window.inputs {
            for (ky, kx) in (0..window.size[0]).flat_map(|ky| (0..window.size[1]).map(move |kx| (ky, kx))) {
                for py in 0..self.places[0] {
                    let y = inside(py * window.stride[0], ky, window.size[0], height);
                    for px in 0..self.places[1] {
                        let x = inside(px * window.stride[1], kx, window.size[1], width);
                        let from = y.zip(x).map(|(y, x)| self.start + (channel * height + y) * width + x);
                        f(line * self.count() + py * self.places[1] + px, from);
                    }
                }
                line += 1;
            }
        }
    }
}

impl Slots {
    fn images(&self, io: &Io<'_>, x: &Tensor) -> Result<Vec<Image>> {
        let (row, column) = (io.dense(self.row)?, io.dense(self.column)?);
        let offsets = lod_rows::offsets(io, self.x, x)?;
        let (rows, columns) = (lod_rows::offsets(io, self.row, &row)?, lod_rows::offsets(io, self.column, &column)?);
        if rows.len() != offsets.len() || columns.len() != offsets.len() {
            return Err(io.op_error(Kind::Lod, "needs as many sequences in `X`, `ROW` and `COLUMN`"));
        }
        checks::expect_dims(io, self.x, x, &[x.rows(), 1], "one number per row")?;
        let mut images = Vec::with_capacity(rows.len() - 1);
        for ((of, rows), columns) in offsets.windows(2).zip(rows.windows(2)).zip(columns.windows(2)) {
            let size = [rows[1] - rows[0], columns[1] - columns[0]];
            let expected = self.window.inputs * size[0] * size[1];
            if of[1] - of[0] != expected {
                let [h, w] = size;
                let found = of[1] - of[0];
                let channels = self.window.inputs;
                let what = format_args!(
                    "has an image of {found} numbers, but {channels} channels of {h} x {w} have {expected}"
                );
                return Err(io.error(Kind::Lod, self.x, what));
            }
            let places = [0, 1].map(|axis| size[axis].div_ceil(self.window.stride[axis]));
            images.push(Image { start: of[0], size, places });
        }
        Ok(images)
    }

    fn weights<'t, T: Float>(&self, io: &Io<'_>, w: &'t Tensor) -> Result<Mat<'t, T>> {
        let (rows, columns) = (self.window.outputs, self.window.len());
        checks::expect_dims(io, self.w, w, &[rows, columns], "output channels x what the window sees")?;
        Ok(Mat::new(io.data::<T>(self.w, w)?, rows, columns))
    }
}

/// The LoD of a piece per image, each of `lines` numbers per place.
fn lod(images: &[Image], lines: usize) -> Lod {
    lod_rows::lod_of(&Lod::default(), images.iter().map(|image| lines * image.count()))
}

fn total(images: &[Image], lines: usize) -> usize {
    images.iter().map(|image| lines * image.count()).sum()
}

fn forward<T: Float + GemmElem>(io: &Io<'_>, s: &Slots, out: Out, col: Out) -> Result<()> {
    let (x, w) = (io.dense(s.x)?, io.dense(s.w)?);
    let (images, weights) = (s.images(io, &x)?, s.weights::<T>(io, &w)?);
    let (lines, outputs) = (s.window.len(), s.window.outputs);
    let mut columns = io.out_sized(col, T::DTYPE, Dims::from([total(&images, lines), 1]))?;
    columns.set_lod(lod(&images, lines));
    let mut to = io.out_sized(out, T::DTYPE, Dims::from([total(&images, outputs), 1]))?;
    to.set_lod(lod(&images, outputs));
    let (x, mut columns) = (io.data::<T>(s.x, &x)?, io.data_mut::<T>(col, &mut columns)?);
    let mut to = io.data_mut::<T>(out, &mut to)?;
    for image in &images {
        let (seen, rest) = std::mem::take(&mut columns).split_at_mut(lines * image.count());
        let (result, more) = std::mem::take(&mut to).split_at_mut(outputs * image.count());
        image.each(&s.window, |at, from| seen[at] = from.map_or(T::ZERO, |from| x[from]));
        gemm(io.pool(), result, weights, Mat::new(seen, lines, image.count()), T::ONE, T::ZERO);
        (columns, to) = (rest, more);
    }
    Ok(())
}

const VAR_CONV_2D_GRAD: GradOp =
    GradOp::of(&VarConv2d, "var_conv_2d_grad(X, W, ROW, COLUMN, Col, Out?, Out@GRAD) -> X@GRAD, W@GRAD")
        .doc("gradients of the images and of the weight")
        .infer(|cx| cx.grads_of(&["X", "W"]))
        .traits(Traits::NONE.shape_only(&["X", "ROW", "COLUMN", "Out"]))
        .kernel(|p| {
            let (slots, inputs) = (Slots::new(p)?, (p.input("Col")?, p.input("Out@GRAD")?));
            let outs = (p.maybe_output("X@GRAD")?, p.maybe_output("W@GRAD")?);
            by_float!(p.float("W")?, T => {
                let mut scratch = Vec::<T>::new();
                kernel(move |io| backward(io, &slots, inputs, outs, &mut scratch))
            })
        });

fn backward<T: Float + GemmElem>(
    io: &Io<'_>,
    s: &Slots,
    (col, dout): (In, In),
    (dx, dw): (Option<Out>, Option<Out>),
    scratch: &mut Vec<T>,
) -> Result<()> {
    let (x, w) = (io.dense(s.x)?, io.dense(s.w)?);
    let (images, weights) = (s.images(io, &x)?, s.weights::<T>(io, &w)?);
    let (lines, outputs) = (s.window.len(), s.window.outputs);
    let (columns, d) = (io.dense(col)?, io.dense(dout)?);
    let columns = checks::sized::<T>(io, col, &columns, total(&images, lines))?;
    let d = checks::sized::<T>(io, dout, &d, total(&images, outputs))?;
    let mut places = 0;
    // For each image, its columns and the gradient of its result.
    let part = |image| {
        let (at, count) = (places, Image::count(image));
        places += count;
        let seen = Mat::new(&columns[at * lines..][..count * lines], lines, count);
        (image, seen, Mat::new(&d[at * outputs..][..count * outputs], outputs, count))
    };
    let parts: Vec<_> = images.iter().map(part).collect();
    if let Some(out) = dw {
        let mut to = io.out_sized(out, T::DTYPE, *w.dims())?;
        let to = io.data_mut::<T>(out, &mut to)?;
        to.fill(T::ZERO);
        for (_, seen, d) in &parts {
            gemm(io.pool(), to, *d, seen.t(), T::ONE, T::ONE);
        }
    }
    let Some(out) = dx else { return Ok(()) };
    let mut to = io.out_sized(out, T::DTYPE, *x.dims())?;
    to.set_lod(x.lod().clone());
    let to = io.data_mut::<T>(out, &mut to)?;
    to.fill(T::ZERO);
    for (image, _, d) in &parts {
        scratch.clear();
        scratch.resize(lines * image.count(), T::ZERO);
        gemm(io.pool(), scratch, weights.t(), *d, T::ONE, T::ZERO);
        image.each(&s.window, |at, from| {
            if let Some(from) = from {
                to[from] += scratch[at];
            }
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, with_lod};

    /// Images of two by three and one by two pixels.
    fn case(channels: usize) -> Check {
        let (one, two) = (6 * channels, 8 * channels);
        check("var_conv_2d")
            .input("X", with_lod(noise([two, 1], 1), &[&[0, one, two]]))
            .input("ROW", with_lod(noise([3, 1], 2), &[&[0, 2, 3]]))
            .input("COLUMN", with_lod(noise([5, 1], 2), &[&[0, 3, 5]]))
            .attr("InputChannel", channels as i32)
    }

    #[test]
    fn window_stands_over_every_pixel() {
        check("var_conv_2d")
            .input("X", with_lod(tensor([4, 1], &[1.0, 2.0, 3.0, 4.0]), &[&[0, 4]]))
            .input("ROW", with_lod(noise([2, 1], 2), &[&[0, 2]]))
            .input("COLUMN", with_lod(noise([2, 1], 2), &[&[0, 2]]))
            .input("W", tensor([1, 3], &[1.0, 10.0, 100.0]))
            .attr("KernelW", 3)
            .output("Out", with_lod(tensor([4, 1], &[210.0, 21.0, 430.0, 43.0]), &[&[0, 4]]))
            .any_output("Col")
            .run();
    }

    #[test]
    fn gradients_of_images_and_weight() {
        let case = case(2).input("W", noise([3, 12], 4)).attr("OutputChannel", 3);
        case.attr("KernelH", 3)
            .attr("KernelW", 2)
            .attr("StrideW", 2)
            .any_output("Out")
            .any_output("Col")
            .counting(&["Out"])
            .grad(&["X", "W"])
            .run();
    }

    #[test]
    fn mistakes_are_named() {
        let e = case(1).input("W", noise([1, 2], 1)).any_output("Out").any_output("Col").error();
        assert!(e.contains("X has two dimensions; W is [1, 1] by the attributes"), "{e}");
        let e =
            case(2).input("W", noise([1, 1], 1)).attr("InputChannel", 1).any_output("Out").any_output("Col").error();
        assert!(e.contains("has an image of 12 numbers, but 1 channels of 2 x 3 have 6"), "{e}");
        let e = case(1).input("W", noise([1, 1], 1)).attr("StrideH", 0).any_output("Out").any_output("Col").error();
        assert!(e.contains("attribute `StrideH` of `var_conv_2d` is 0; it must be above 0"), "{e}");
    }
}
