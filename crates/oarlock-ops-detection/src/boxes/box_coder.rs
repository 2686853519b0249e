//! `box_coder`: boxes as differences from prior boxes, and back.

use oarlock_ir::{
    AttrView, Dim, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, VarType, by_float, fail, kernel, sig,
    slots,
};
use oarlock_tensor::{Dims, Float, Tensor};

use crate::geometry::{Box4, Centred, centred};
use crate::sizes;

pub(crate) const OPS: &[&dyn OpDef] = &[&BoxCoder];

struct BoxCoder;

impl OpDef for BoxCoder {
    sig! {
        "box_coder": "encode: OutputBox[i, j] = how TargetBox[i] differs from PriorBox[j]: the distance of the centres over the prior's \
             sides, the logarithms of the ratios of the sides, all over the variances; decode: the boxes of such differences";
        in "PriorBox": "[m, 4], f32 or f64: left, top, right and bottom of each prior box";
        in? "PriorBoxVar": "[m, 4]: variances of each prior box, instead of `variance`";
        in "TargetBox": "encode: [n, 4], boxes; decode: [n, m, 4] (axis 0) or [m, n, 4] (axis 1), differences";
        out "OutputBox": "encode: [n, m, 4]; decode: like `TargetBox`";
        attr "code_type" = "encode_center_size", "encode_center_size or decode_center_size";
        attr "box_normalized" = true, "false for boxes of pixels, which include their right and bottom pixels";
        attr "axis" = 0, "decode: the axis of `TargetBox` along which prior boxes repeat, 0 or 1";
        attr "variance" = Vec::<f32>::new(), "four variances for all boxes; empty for none";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let coding = Coding::new(&cx.attrs())?;
        let prior = sizes::boxes(cx, "PriorBox")?;
        coding.one_variance(cx.has("PriorBoxVar"))?;
        if cx.has("PriorBoxVar") {
            let rows = prior.shape[0].known();
            sizes::float(cx, "PriorBoxVar", &[rows, Some(4)], "the sizes of `PriorBox`")?;
        }
        let target = cx.float("TargetBox")?;
        let (shape, lod) = match coding.what {
            What::Encode => {
                sizes::expect(cx, "TargetBox", &target, &[None, Some(4)], sizes::BOXES)?;
                (vec![target.shape[0], prior.shape[0], Dim::Is(4)].into(), target.lod_level)
            }
            What::Decode { axis } => {
                let priors = prior.shape[0].known();
                let expected = if axis == 0 { [None, priors, Some(4)] } else { [priors, None, Some(4)] };
                let what = format!("differences from each of {} prior boxes along axis {}", prior.shape[0], 1 - axis);
                sizes::expect(cx, "TargetBox", &target, &expected, &what)?;
                (target.shape.clone(), if axis == 1 { prior.lod_level } else { target.lod_level })
            }
        };
        cx.set("OutputBox", VarType::tensor(target.dtype, shape).with_lod(lod));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let coding = Coding::new(&p.attrs())?;
        let slots = Slots::new(p)?;
        coding.one_variance(slots.variances.is_some())?;
        by_float!(p.float("TargetBox")?, T => kernel(move |io| run::<T>(io, &slots, &coding)))
    }
}

slots! {
    #[derive(Clone, Copy)]
    struct Slots(p) {
        prior: input "PriorBox",
        variances: maybe_input "PriorBoxVar",
        target: input "TargetBox",
        out: output "OutputBox",
    }
}

#[derive(Clone, Copy, PartialEq)]
enum What {
    Encode,
    Decode { axis: usize },
}

#[derive(Clone, Copy)]
struct Coding {
    what: What,
    normalized: bool,
    variance: Option<[f32; 4]>,
}

impl Coding {
    fn new(attrs: &AttrView<'_>) -> Result<Coding> {
        let axis = attrs.int("axis")?;
        let what = match (attrs.str("code_type")?, axis) {
            ("encode_center_size", _) => What::Encode,
            ("decode_center_size", 0 | 1) => What::Decode { axis: axis as usize },
            ("decode_center_size", _) => {
                fail!(Kind::Argument, "attribute `axis` of `box_coder` is {axis}; it can be 0 or 1")
            }
            (other, _) => fail!(
                Kind::Argument,
                "attribute `code_type` of `box_coder` is `{other}`; it can be encode_center_size or decode_center_size"
            ),
        };
        let variance = attrs.floats("variance")?;
        let variance = match <[f32; 4]>::try_from(&variance[..]) {
            Ok(four) => Some(four),
            Err(_) if variance.is_empty() => None,
            Err(_) => {
                fail!(Kind::Argument, "attribute `variance` of `box_coder` has {} values; it needs 4", variance.len())
            }
        };
        Ok(Coding { what, normalized: attrs.bool("box_normalized")?, variance })
    }

    fn one_variance(&self, as_input: bool) -> Result<()> {
        if as_input && self.variance.is_some() {
            fail!(Kind::Argument, "`box_coder` takes variances as `PriorBoxVar` or as attribute `variance`, not both")
        }
        Ok(())
    }
}

/// Differences that one thread computes at a time.
const PIECE: usize = 1 << 12;

fn run<T: Float>(io: &Io<'_>, slots: &Slots, coding: &Coding) -> Result<()> {
    let (prior_tensor, target_tensor) = (io.dense(slots.prior)?, io.dense(slots.target)?);
    let [priors, _] = sizes::dims(io, slots.prior, &prior_tensor, sizes::BOXES)?;
    let dims = out_dims(io, slots.target, &target_tensor, priors, coding)?;
    let target = sizes::boxes_of::<T>(io, slots.target, &target_tensor)?;
    let prior: Vec<_> =
        sizes::boxes_of::<T>(io, slots.prior, &prior_tensor)?.iter().map(|b| centred(b, coding.normalized)).collect();
    let variance_tensor = slots.variances.map(|v| io.dense(v)).transpose()?;
    let variances = match (slots.variances, &variance_tensor) {
        (Some(v), Some(t)) => {
            sizes::ensure(io, v, t, t.dims()[..] == [priors, 4], format_args!("[{priors}, 4], like `PriorBox`"))?;
            sizes::boxes_of::<T>(io, v, t)?
        }
        _ => &[],
    };
    let all = coding.variance.unwrap_or([1.0; 4]).map(|v| T::of(v.into()));
    let variance = |p: usize| variances.get(p).unwrap_or(&all);
    let mut t = io.out_sized(slots.out, T::DTYPE, dims)?;
    t.set_lod(if coding.what == (What::Decode { axis: 1 }) { prior_tensor.lod() } else { target_tensor.lod() }.clone());
    let out = io.data_mut::<T>(slots.out, &mut t)?.as_chunks_mut::<4>().0;
    let columns = dims[1].max(1);
    io.pool().pieces(out, PIECE, |piece, out| {
        for (i, out) in out.iter_mut().enumerate() {
            let at = piece * PIECE + i;
            let (row, column) = (at / columns, at % columns);
            *out = match coding.what {
                What::Encode => encode(&target[row], &prior[column], variance(column), coding.normalized),
                What::Decode { axis } => {
                    let p = if axis == 0 { column } else { row };
                    decode(&target[at], &prior[p], variance(p), coding.normalized)
                }
            };
        }
    });
    Ok(())
}

fn out_dims(io: &Io<'_>, target: In, t: &Tensor, priors: usize, coding: &Coding) -> Result<Dims> {
    match coding.what {
        What::Encode => {
            let [boxes, _] = sizes::dims(io, target, t, sizes::BOXES)?;
            Ok(Dims::from([boxes, priors, 4]))
        }
        What::Decode { axis } => {
            let what = format_args!("[n, {priors}, 4] (axis 0) or [{priors}, n, 4] (axis 1)");
            sizes::ensure(io, target, t, t.dims().rank() == 3 && t.dims()[1 - axis] == priors, what)?;
            Ok(*t.dims())
        }
    }
}

fn encode<T: Float>(target: &Box4<T>, prior: &Centred<T>, variance: &[T; 4], normalized: bool) -> [T; 4] {
    let half = T::of(0.5);
    let mut target_box = centred(target, normalized);
    // Fluid leaves the border out of the target's centre, though not out of its sides.
    target_box.x = (target[2] + target[0]) * half;
    target_box.y = (target[3] + target[1]) * half;
    let mut delta = prior.delta_to(&target_box);
    delta.iter_mut().zip(variance).for_each(|(d, v)| *d /= *v);
    delta
}

fn decode<T: Float>(delta: &[T; 4], prior: &Centred<T>, variance: &[T; 4], normalized: bool) -> Box4<T> {
    let mut scaled = *variance;
    scaled.iter_mut().zip(delta).for_each(|(s, d)| *s *= *d);
    prior.moved(scaled).sides(normalized)
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, noise, tensor};

    #[test]
    fn decoding_undoes_encoding() {
        let priors = tensor([2, 4], &[0.1, 0.1, 0.5, 0.4, 0.2, 0.3, 0.9, 0.7]);
        let target = [0.15f32, 0.2, 0.55, 0.6];
        let ln = |v: f32| v.ln();
        let codes = [0.125, 0.5, 0.0, ln(0.4 / 0.3), -0.2 / 0.7, -0.25, ln(0.4 / 0.7), 0.0];
        let codes = tensor([1, 2, 4], &codes);
        check("box_coder")
            .input("PriorBox", priors.clone())
            .input("TargetBox", tensor([1, 4], &target))
            .output("OutputBox", codes.clone())
            .tolerance(1e-5, 1e-6)
            .run();
        check("box_coder")
            .input("PriorBox", priors)
            .input("TargetBox", codes)
            .attr("code_type", "decode_center_size")
            .output("OutputBox", tensor([1, 2, 4], &[target, target].concat()))
            .run();
    }

    #[test]
    fn mistakes_are_named() {
        let case = || check("box_coder").input("PriorBox", noise([2, 4], 1)).any_output("OutputBox");
        let target = || noise([3, 5, 4], 2);
        let e = case().input("TargetBox", target()).attr("code_type", "decode_center_size").error();
        assert!(e.contains("needs differences from each of 2 prior boxes along axis 1 in `TargetBox`"), "{e}");
        let e = case().input("TargetBox", target()).attr("code_type", "decode").error();
        assert!(e.contains("attribute `code_type` of `box_coder` is `decode`"), "{e}");
        let e = case().input("TargetBox", noise([3, 4], 2)).attr("variance", vec![0.1f32]).error();
        assert!(e.contains("attribute `variance` of `box_coder` has 1 values; it needs 4"), "{e}");
        let both = case().input("TargetBox", noise([3, 4], 2)).attr("variance", vec![0.1f32; 4]);
        let e = both.input("PriorBoxVar", noise([2, 4], 3)).error();
        assert!(e.contains("`PriorBoxVar` or as attribute `variance`, not both"), "{e}");
    }
}
