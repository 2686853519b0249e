//! `dropout`: sets random elements to 0 while training.

use oarlock_ir::{AttrView, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits};
use oarlock_ir::{by_float, fail, kernel, sig};
use oarlock_tensor::rng::MinStd;
use oarlock_tensor::{DType, Float};

pub(crate) const OPS: &[&dyn OpDef] = &[&Dropout, &GRAD];

/// The factor of an element.
#[derive(Debug, Clone, Copy)]
struct Rule {
    prob: f32,
    test: bool,
    /// Of an element that is kept.
    kept: f32,
}

impl Rule {
    fn new(attrs: &AttrView<'_>) -> Result<Rule> {
        let (prob, test) = (attrs.f32("dropout_prob")?, attrs.bool("is_test")?);
        if !(0.0..=1.0).contains(&prob) {
            fail!(Kind::Argument, "`dropout_prob` of `dropout` must be within 0 and 1, but it is {prob}");
        }
        let kept = match (attrs.str("dropout_implementation")?, test) {
            ("downgrade_in_infer", true) => 1.0 - prob,
            ("upscale_in_train", false) if prob == 1.0 => 0.0,
            ("upscale_in_train", false) => 1.0 / (1.0 - prob),
            ("downgrade_in_infer" | "upscale_in_train", _) => 1.0,
            (other, _) => fail!(
                Kind::Argument,
                "`dropout_implementation` of `dropout` is `{other}`; it can be `downgrade_in_infer` or `upscale_in_train`"
            ),
        };
        Ok(Rule { prob, test, kept })
    }
}

struct Dropout;

impl OpDef for Dropout {
    sig! {
        "dropout": "Out = X * Mask, scaled as `dropout_implementation` says";
        in "X": "f32 or f64";
        in? "Seed": "[1] i32; replaces `seed`";
        out "Out": "like `X`";
        out "Mask": "1 where an element is kept, else 0; not made in a test";
        attr "dropout_prob" = 0.5f32, "how likely an element is dropped";
        attr "is_test" = false, "drop nothing";
        attr "fix_seed" = false, "use `seed`; otherwise other elements are dropped in every run";
        attr "seed" = 0, "start of the random sequence, with `fix_seed`";
        attr "dropout_implementation" = "downgrade_in_infer",
            "downgrade_in_infer: a test multiplies by 1 - dropout_prob; upscale_in_train: training divides by it";
        traits Traits::X_TO_OUT.random(Some("Seed"));
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        cx.set("Out", x.clone());
        cx.set("Mask", x.with_dtype(DType::U8));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, rule) = (p.input("X")?, p.output("Out")?, Rule::new(&p.attrs())?);
        if rule.test {
            return by_float!(p.float("X")?, T => kernel(move |io| {
                let kept = T::of(rule.kept.into());
                oarlock_ops_support::pointwise::map(io, x, out, |v: T| v * kept)
            }));
        }
        let (mask, seed) = (p.output("Mask")?, Seed::new(p)?);
        by_float!(p.float("X")?, T => kernel(move |io| drop_some::<T>(io, x, (out, mask), rule, seed.draw(io)?)))
    }
}

/// Where the random sequence starts.
#[derive(Debug, Clone, Copy)]
struct Seed {
    tensor: Option<In>,
    fixed: Option<i64>,
}

impl Seed {
    fn new(p: &Prepare<'_>) -> Result<Seed> {
        let fixed = if p.attrs().bool("fix_seed")? { Some(p.attrs().int("seed")?) } else { None };
        Ok(Seed { tensor: p.maybe_input("Seed")?, fixed })
    }

    fn draw(self, io: &Io<'_>) -> Result<u64> {
        match (self.tensor, self.fixed) {
            (Some(t), _) => Ok(io.index(t)? as u64),
            (None, Some(seed)) => Ok(seed as u64),
            (None, None) => Ok(io.runtime().fresh_seed()),
        }
    }
}

/// Elements that one task works on; every task finds its place in the random sequence by itself.
const PIECE: usize = 1 << 15;

fn drop_some<T: Float>(io: &Io<'_>, x: In, (out, mask): (Out, Out), rule: Rule, seed: u64) -> Result<()> {
    let mut t = io.update(x, out)?;
    let mut mask_tensor = io.out_sized(mask, DType::U8, *t.dims())?;
    let mask = io.data_mut::<u8>(mask, &mut mask_tensor)?;
    io.pool().pieces(mask, PIECE, |i, mask| {
        let mut engine = MinStd::new(seed);
        engine.jump((i * PIECE) as u64);
        for m in mask {
            *m = u8::from(engine.uniform_f32(0.0, 1.0) >= rule.prob);
        }
    });
    let kept = T::of(rule.kept.into());
    for (v, m) in io.data_mut::<T>(out, &mut t)?.iter_mut().zip(mask) {
        *v = if *m != 0 { *v * kept } else { T::ZERO };
    }
    Ok(())
}

const GRAD: GradOp = GradOp::of(&Dropout, "dropout_grad(Mask, Out@GRAD) -> X@GRAD")
    .doc("X@GRAD = Out@GRAD * Mask, scaled as `dropout_implementation` says")
    .traits(Traits::NONE.in_place(&[("Out@GRAD", "X@GRAD")]))
    .infer(|cx| cx.same("X@GRAD", "Out@GRAD"))
    .kernel(|p| {
        let rule = Rule::new(&p.attrs())?;
        if rule.test {
            fail!(Kind::NoGradient, "`dropout` with `is_test` has no gradient; clone the program for training");
        }
        let (mask, dout, dx) = (p.input("Mask")?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
        by_float!(p.float("Out@GRAD")?, T => kernel(move |io| {
            let mask_tensor = io.dense(mask)?;
            let keep = io.data::<u8>(mask, &mask_tensor)?;
            let mut t = io.update(dout, dx)?;
            oarlock_ops_support::class_axis::same_count(io, dout, mask, t.numel(), keep.len())?;
            let kept = T::of(rule.kept.into());
            for (v, m) in io.data_mut::<T>(dx, &mut t)?.iter_mut().zip(keep) {
                *v = if *m != 0 { *v * kept } else { T::ZERO };
            }
            Ok(())
        }))
    });

#[test]
fn training() {
    use crate::testing::{check, tensor, tensor_of};
    // Seed 11 draws 0.0002..., 0.94, 0.45...: the first element is dropped.
    let half = || {
        check("dropout")
            .input("X", tensor([2, 2], &[1.0, 2.0, 3.0, 4.0]))
            .attr("fix_seed", true)
            .attr("seed", 11)
            .attr("dropout_prob", 0.25f32)
    };
    half()
        .output("Out", tensor([2, 2], &[0.0, 2.0, 3.0, 4.0]))
        .output("Mask", tensor_of([2, 2], &[0u8, 1, 1, 1]))
        .grad(&["X"])
        .run();
    half()
        .attr("dropout_implementation", "upscale_in_train")
        .output("Out", tensor([2, 2], &[0.0, 2.6666667, 4.0, 5.3333335]))
        .any_output("Mask")
        .grad(&["X"])
        .run();
}

#[test]
fn testing_and_mistakes() {
    use crate::testing::{check, tensor};
    let one = || check("dropout").input("X", tensor([1], &[2.0]));
    one().attr("is_test", true).attr("dropout_prob", 0.25f32).output("Out", tensor([1], &[1.5])).run();
    let e = one().attr("dropout_prob", 1.5f32).any_output("Out").any_output("Mask").error();
    assert!(e.contains("`dropout_prob` of `dropout` must be within 0 and 1, but it is 1.5"), "{e}");
}
