//! `dgc`: deep gradient compression: only the largest part of what a gradient adds up to is passed on, the rest is kept for later.

use std::cmp::Ordering;

use oarlock_ir::{Dim, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, VarType, fail, kernel, sig};
use oarlock_tensor::{DType, Dims};

pub(crate) const OPS: &[&dyn OpDef] = &[&Dgc];

const U: (&str, &str) = ("U", "U_out");
const V: (&str, &str) = ("V", "V_out");
const GRAD: (&str, &str) = ("Grad", "Grad_out");

struct Dgc;

impl OpDef for Dgc {
    sig! {
        "dgc":
            "g = nranks * Grad + decay of Param; before the step `rampup_begin_step`, Grad_out = g and nothing else happens. \
             After it, U = m * U + g, V = V + U (with Nesterov, U = m * (U + g), V = V + U + g); the k largest of |V| are \
             encoded, and set to 0 in U and V. Grad_out is 0, to be filled with what all workers encoded; a worker that is \
             alone (nranks = 1) has its own part there at once";
        in "U": "f32: the velocity";
        in "V": "f32: what was not passed on yet";
        in "Grad": "f32: this worker's gradient";
        in "Param": "the parameter";
        in "current_step": "how many steps were done, one number";
        in "nranks": "how many workers there are, one number";
        out "U_out": "the velocity, updated";
        out "V_out": "what is left";
        out "EncodeGrad": "[2k]: k indices as the bits of i32, then k values";
        out "Grad_out": "see above";
        out "k": "one number: how many elements are encoded";
        out "GatherBuff": "[2k * nranks]: room for what the workers encoded";
        attr "m": "how much of the velocity stays from step to step";
        attr "use_nesterov": "look ahead along the velocity";
        attr "sparsity": "which part is kept back, one number for each part of the ramp-up";
        attr "rampup_begin_step" = 0.0f32, "the step from which gradients are compressed";
        attr "rampup_step" = 0.0f32, "for how many steps `sparsity` is spread";
        attr "regular_coeff" = 0.0f32, "factor of the weight decay";
        attr "regular_type" = 0, "weight decay: 0 none, 1 by the sign of Param, 2 by Param";
        traits Traits::GRADIENT_FREE.in_place(&[U, V, GRAD]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        for (input, output) in [U, V, GRAD] {
            cx.same(output, input)?;
        }
        for (slot, size) in [("EncodeGrad", Dim::Any), ("k", Dim::Is(1)), ("GatherBuff", Dim::Any)] {
            cx.set(slot, VarType::tensor(DType::F32, vec![size]));
        }
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let a = p.attrs();
        let decay = match a.int("regular_type")? {
            0 => Decay::None,
            1 => Decay::Sign(a.f32("regular_coeff")?),
            2 => Decay::Value(a.f32("regular_coeff")?),
            other => fail!(Kind::Argument, "`regular_type` of `dgc` must be 0, 1 or 2, but it is {other}"),
        };
        let sparsity = a.floats("sparsity")?;
        if sparsity.is_empty() || !sparsity.iter().all(|s| *s > 0.0 && *s <= 1.0) {
            fail!(Kind::Argument, "`sparsity` of `dgc` must be numbers above 0 and at most 1, but it is {sparsity:?}");
        }
        let step = Step {
            u: (p.input(U.0)?, p.output(U.1)?),
            v: (p.input(V.0)?, p.output(V.1)?),
            grad: (p.input(GRAD.0)?, p.output(GRAD.1)?),
            param: p.input("Param")?,
            current: p.input("current_step")?,
            ranks: p.input("nranks")?,
            encoded: p.output("EncodeGrad")?,
            k: p.output("k")?,
            gathered: p.output("GatherBuff")?,
            momentum: a.f32("m")?,
            nesterov: a.bool("use_nesterov")?,
            ramp: Ramp { sparsity, begin: a.f32("rampup_begin_step")?, steps: a.f32("rampup_step")? },
            decay,
        };
        let mut order = Vec::new();
        kernel(move |io| step.run(io, &mut order))
    }
}

/// Weight decay, which compression must see.
#[derive(Clone, Copy)]
enum Decay {
    None,
    Sign(f32),
    Value(f32),
}

impl Decay {
    fn of(self, param: f32) -> f32 {
        match self {
            Decay::None => 0.0,
            Decay::Sign(_) if param == 0.0 => 0.0,
            Decay::Sign(coeff) => coeff * param.signum(),
            Decay::Value(coeff) => coeff * param,
        }
    }
}

/// How much is kept back in a step.
struct Ramp {
    sparsity: Vec<f32>,
    begin: f32,
    steps: f32,
}

impl Ramp {
    /// The part that is kept back; `None` before compression begins.
    fn at(&self, step: f32) -> Option<f32> {
        // Steps are counted in whole numbers.
        if (step as i64) < self.begin as i64 {
            return None;
        }
        let stage = (step - self.begin) * self.sparsity.len() as f32 / self.steps;
        // A ramp of no steps is over at once.
        let stage = if stage.is_finite() { stage as usize } else { usize::MAX };
        self.sparsity.get(stage).or(self.sparsity.last()).copied()
    }
}

struct Step {
    u: (In, Out),
    v: (In, Out),
    grad: (In, Out),
    param: In,
    current: In,
    ranks: In,
    encoded: Out,
    k: Out,
    gathered: Out,
    momentum: f32,
    nesterov: bool,
    ramp: Ramp,
    decay: Decay,
}

impl Step {
    fn run(&self, io: &Io<'_>, order: &mut Vec<u32>) -> Result<()> {
        let ranks = io.scalar(self.ranks)?;
        if ranks < 1.0 {
            let what = format!("is {ranks}, but at least one worker is at work");
            return Err(io.error(Kind::Argument, self.ranks, what));
        }
        let current = io.scalar(self.current)? as f32;
        self.decay_gradient(io, ranks.trunc() as f32)?;
        let Some(sparsity) = self.ramp.at(current) else { return self.encode_nothing(io) };
        self.accumulate(io)?;
        let numel = io.dense(In(self.grad.1.0))?.numel();
        let k = (numel as f32 * (1.0 - sparsity)) as usize;
        self.pick(io, k.min(numel), order)?;
        self.pass_on(io, &order[..k.min(numel)], ranks as usize)
    }

    /// Grad_out = nranks * Grad + decay.
    fn decay_gradient(&self, io: &Io<'_>, ranks: f32) -> Result<()> {
        let mut grad = io.update(self.grad.0, self.grad.1)?;
        let param = io.dense(self.param)?;
        let param = io.data::<f32>(self.param, &param)?;
        for (g, p) in io.data_mut::<f32>(self.grad.1, &mut grad)?.iter_mut().zip(param) {
            *g = ranks * *g + self.decay.of(*p);
        }
        Ok(())
    }

    /// Before compression begins: velocity and sum stay, and nothing is encoded.
    fn encode_nothing(&self, io: &Io<'_>) -> Result<()> {
        io.update(self.u.0, self.u.1)?;
        io.update(self.v.0, self.v.1)?;
        io.out_sized(self.encoded, DType::F32, Dims::from([0]))?;
        io.out_sized(self.gathered, DType::F32, Dims::from([0]))?;
        let mut count = io.out_sized(self.k, DType::F32, Dims::from([1]))?;
        io.data_mut::<f32>(self.k, &mut count)?.fill(0.0);
        Ok(())
    }

    /// Updates velocity and sum.
    fn accumulate(&self, io: &Io<'_>) -> Result<()> {
        let (mut u, mut v) = (io.update(self.u.0, self.u.1)?, io.update(self.v.0, self.v.1)?);
        let grad = io.dense(In(self.grad.1.0))?;
        let grad = io.data::<f32>(In(self.grad.1.0), &grad)?;
        let (u, v) = (io.data_mut::<f32>(self.u.1, &mut u)?, io.data_mut::<f32>(self.v.1, &mut v)?);
        for ((u, v), g) in u.iter_mut().zip(v).zip(grad) {
            if self.nesterov {
                *u = self.momentum * (*u + g);
                *v = *u + *v + g;
            } else {
                *u = self.momentum * *u + g;
                *v += *u;
            }
        }
        Ok(())
    }

    /// Puts the indices of the `k` largest elements of V in front, in ascending order. Of equal ones the first count.
    fn pick(&self, io: &Io<'_>, k: usize, order: &mut Vec<u32>) -> Result<()> {
        let v = io.dense(In(self.v.1.0))?;
        let v = io.data::<f32>(In(self.v.1.0), &v)?;
        order.clear();
        order.extend(0..v.len() as u32);
        let size = |i: &u32| v[*i as usize].abs();
        let larger = |a: &u32, b: &u32| size(b).partial_cmp(&size(a)).unwrap_or(Ordering::Equal).then(a.cmp(b));
        if 0 < k && k < order.len() {
            order.select_nth_unstable_by(k - 1, larger);
        }
        order[..k].sort_unstable();
        Ok(())
    }

    /// Encodes the picked elements and takes them out of U and V.
    fn pass_on(&self, io: &Io<'_>, picked: &[u32], ranks: usize) -> Result<()> {
        let k = picked.len();
        let (mut u, mut v, mut grad) = (io.out(self.u.1)?, io.out(self.v.1)?, io.out(self.grad.1)?);
        let mut encoded = io.out_sized(self.encoded, DType::F32, Dims::from([2 * k]))?;
        let u = io.data_mut::<f32>(self.u.1, &mut u)?;
        let v = io.data_mut::<f32>(self.v.1, &mut v)?;
        let grad = io.data_mut::<f32>(self.grad.1, &mut grad)?;
        let (indices, values) = io.data_mut::<f32>(self.encoded, &mut encoded)?.split_at_mut(k);
        grad.fill(0.0);
        for (j, &i) in picked.iter().enumerate() {
            let at = i as usize;
            (indices[j], values[j]) = (f32::from_bits(i), v[at]);
            if ranks == 1 {
                grad[at] = v[at];
            }
            (u[at], v[at]) = (0.0, 0.0);
        }
        let mut count = io.out_sized(self.k, DType::F32, Dims::from([1]))?;
        io.data_mut::<f32>(self.k, &mut count)?.fill(k as f32);
        let mut gathered = io.out_sized(self.gathered, DType::F32, Dims::from([2 * k * ranks]))?;
        io.data_mut::<f32>(self.gathered, &mut gathered)?.fill(0.0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor};

    fn dgc(step: f32, ranks: f32) -> Check {
        check("dgc")
            .input("U", tensor([4], &[1.0, 0.0, 0.0, 0.0]))
            .input("V", tensor([4], &[0.0, 0.0, 2.0, 0.0]))
            .input("Grad", tensor([4], &[1.0, -4.0, 0.5, 0.25]))
            .input("Param", tensor([4], &[2.0, 2.0, -2.0, 0.0]))
            .input("current_step", tensor([1], &[step]))
            .input("nranks", tensor([1], &[ranks]))
            .attr("m", 0.5f32)
            .attr("use_nesterov", false)
            .attr("sparsity", vec![0.25f32, 0.5])
            .attr("rampup_begin_step", 1.0f32)
            .attr("rampup_step", 2.0f32)
    }

    #[test]
    fn the_gradient_itself_at_first() {
        let decayed = dgc(0.0, 2.0).attr("regular_type", 2).attr("regular_coeff", 0.5f32);
        decayed
            .output("Grad_out", tensor([4], &[3.0, -7.0, 0.0, 0.5]))
            .output("U_out", tensor([4], &[1.0, 0.0, 0.0, 0.0]))
            .output("V_out", tensor([4], &[0.0, 0.0, 2.0, 0.0]))
            .output("EncodeGrad", tensor([0], &[]))
            .output("k", tensor([1], &[0.0]))
            .output("GatherBuff", tensor([0], &[]))
            .run();
    }

    #[test]
    fn the_largest_part_of_one_worker() {
        // U = [1.5 -4 .5 .25], V = [1.5 -4 2.5 .25]; half of it is passed on.
        dgc(2.0, 1.0)
            .output("Grad_out", tensor([4], &[0.0, -4.0, 2.5, 0.0]))
            .output("U_out", tensor([4], &[1.5, 0.0, 0.0, 0.25]))
            .output("V_out", tensor([4], &[1.5, 0.0, 0.0, 0.25]))
            .output("EncodeGrad", tensor([4], &[f32::from_bits(1), f32::from_bits(2), -4.0, 2.5]))
            .output("k", tensor([1], &[2.0]))
            .output("GatherBuff", tensor([4], &[0.0; 4]))
            .run();
    }

    #[test]
    fn several_workers_wait_for_each_other() {
        dgc(9.0, 2.0)
            .output("Grad_out", tensor([4], &[0.0; 4]))
            .output("U_out", tensor([4], &[2.5, 0.0, 0.0, 0.5]))
            .output("V_out", tensor([4], &[2.5, 0.0, 0.0, 0.5]))
            .output("EncodeGrad", tensor([4], &[f32::from_bits(1), f32::from_bits(2), -8.0, 3.0]))
            .output("k", tensor([1], &[2.0]))
            .output("GatherBuff", tensor([8], &[0.0; 8]))
            .run();
    }
}
