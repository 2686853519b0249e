//! `temporal_shift`: some channels of every frame replaced by those of the frame before or after.

use oarlock_ir::{AttrView, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, by_float, kernel};
use oarlock_tensor::Float;

pub(crate) const OPS: &[&dyn OpDef] = &[&TemporalShift, &GRAD];

fn with_attrs(sig: Sig) -> Sig {
    sig.required_attr("seg_num", "frames of a sequence").attr(
        "shift_ratio",
        0.25f32,
        "the part of the channels that comes from each neighbour; at most one half",
    )
}

#[derive(Debug, Clone, Copy)]
struct Params {
    frames: usize,
    ratio: f32,
}

impl Params {
    fn new(attrs: &AttrView<'_>) -> Result<Params> {
        Ok(Params { frames: attrs.count("seg_num")?, ratio: attrs.f32("shift_ratio")? })
    }

    /// Where channel `c` of `channels` comes from: frames back, if any.
    fn shift(&self, c: usize, channels: usize) -> isize {
        let end = |ratio: f32| (channels as f32 * ratio) as usize;
        if c < end(self.ratio) {
            -1
        } else if c < end(2.0 * self.ratio) {
            1
        } else {
            0
        }
    }
}

fn infer(cx: &mut Infer<'_>, input: &str, output: &str) -> Result<()> {
    let (x, params) = (cx.float(input)?, Params::new(&cx.attrs())?);
    let whole = x.shape.first().and_then(|n| n.known()).is_none_or(|n| params.frames > 0 && n % params.frames == 0);
    if x.shape.rank() != 4 || !whole || !(0.0..=0.5).contains(&params.ratio) {
        let what = format_args!("cannot shift {} in sequences of {} frames", cx.describe(input), params.frames);
        return Err(cx
            .shape_error(what)
            .help("X is [sequences * seg_num, channels, h, w]; shift_ratio is at most 0.5"));
    }
    cx.set(output, x);
    Ok(())
}

/// `direction` 1 shifts, -1 shifts back.
fn run<T: Float>(io: &Io<'_>, from: In, to: Out, params: &Params, direction: isize) -> Result<()> {
    let tensor = io.dense(from)?;
    let dims = tensor.dims();
    if dims.rank() != 4 || params.frames == 0 || !dims[0].is_multiple_of(params.frames) {
        let what = format_args!("has sizes {dims}, which are no sequences of {} frames", params.frames);
        return Err(io.error(Kind::Shape, from, what));
    }
    let (channels, pixels) = (dims[1], dims[2] * dims[3]);
    let mut t = io.out_sized(to, T::DTYPE, *dims)?;
    let (x, out) = (io.data::<T>(from, &tensor)?, io.data_mut::<T>(to, &mut t)?);
    for (plane, out) in out.chunks_mut(pixels.max(1)).enumerate() {
        let (frame, c) = (plane / channels, plane % channels);
        let shift = direction * params.shift(c, channels);
        let source = (frame % params.frames).checked_add_signed(shift).filter(|&f| f < params.frames);
        match source {
            Some(_) => {
                let start = plane.wrapping_add_signed(shift * channels as isize) * pixels;
                out.copy_from_slice(&x[start..start + pixels]);
            }
            None => out.fill(T::ZERO),
        }
    }
    Ok(())
}

struct TemporalShift;

impl OpDef for TemporalShift {
    fn sig(&self) -> Sig {
        let doc =
            "Out = X, but the first channels are those of the frame before and the next ones those of the frame after";
        let sig = Sig::new("temporal_shift", doc).input("X", "[sequences * seg_num, channels, h, w], f32 or f64");
        with_attrs(sig.output("Out", "like `X`"))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        infer(cx, "X", "Out")
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, params) = (p.input("X")?, p.output("Out")?, Params::new(&p.attrs())?);
        by_float!(p.float("X")?, T => kernel(move |io| run::<T>(io, x, out, &params, 1)))
    }
}

const GRAD: GradOp = GradOp::of(&TemporalShift, "temporal_shift_grad(Out@GRAD) -> X@GRAD")
    .doc("X@GRAD = Out@GRAD with channels shifted back")
    .infer(|cx| infer(cx, "Out@GRAD", "X@GRAD"))
    .kernel(|p| {
        let (dout, dx, params) = (p.input("Out@GRAD")?, p.output("X@GRAD")?, Params::new(&p.attrs())?);
        by_float!(p.float("Out@GRAD")?, T => kernel(move |io| run::<T>(io, dout, dx, &params, -1)))
    });

#[test]
fn neighbouring_frames() {
    use crate::testing::{check, noise, tensor};
    let case = |frames: i32| check("temporal_shift").attr("seg_num", frames);
    let x = tensor([2, 4, 1, 1], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    let out = tensor([2, 4, 1, 1], &[0.0, 6.0, 3.0, 4.0, 1.0, 0.0, 7.0, 8.0]);
    case(2).input("X", x).output("Out", out).grad(&["X"]).run();
    let e = case(2).input("X", noise([3, 4, 1, 1], 1)).any_output("Out").error();
    assert!(e.contains("cannot shift `X` = X.0 f32[3, 4, 1, 1] in sequences of 2 frames"), "{e}");
}
