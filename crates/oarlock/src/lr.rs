//! Learning-rate schedules: operators that compute the rate of the current step.
//!
//! Each counts steps in the variable `@LR_DECAY_COUNTER@`. Use the returned variable as an optimizer's rate.

use oarlock_ir::{Kind, Result, Role, fail};
use oarlock_tensor::DType;

use crate::declare::declare;
use crate::layers::{Elementwise, GlobalVar, Switch};
use crate::{Net, VarRef};

/// A rate: a number, or what a schedule computes.
#[derive(Debug, Clone)]
pub enum LearningRate {
    /// The same in every step, but a variable that can be changed between steps.
    Value(f64),
    /// A schedule.
    Var(VarRef),
}

impl From<f64> for LearningRate {
    fn from(v: f64) -> LearningRate {
        LearningRate::Value(v)
    }
}

impl From<&VarRef> for LearningRate {
    fn from(v: &VarRef) -> LearningRate {
        LearningRate::Var(v.clone())
    }
}

impl From<VarRef> for LearningRate {
    fn from(v: VarRef) -> LearningRate {
        LearningRate::Var(v)
    }
}

impl Net {
    #[track_caller]
    fn schedule(&mut self, build: impl FnOnce(&mut Net) -> Result<VarRef>) -> Result<VarRef> {
        self.located(|net| net.with_role(Role::LR_SCHED, Vec::new(), build))
    }

    /// The number of the current step, as f32; the first step is `begin`.
    fn decay_step(&mut self, begin: i64) -> Result<VarRef> {
        let step = self.autoincreased_step_counter(Some("@LR_DECAY_COUNTER@"), begin, 1)?;
        self.cast(&step, DType::F32)
    }

    /// `step / decay_steps`, in whole stairs if wanted.
    fn decay_progress(&mut self, decay_steps: f64, staircase: bool) -> Result<VarRef> {
        let step = self.decay_step(0)?;
        let progress = self.div(&step, decay_steps)?;
        if staircase { self.floor(&progress) } else { Ok(progress) }
    }

    /// `noam_decay(d_model, warmup_steps, learning_rate=1.0)`: grows for `warmup_steps`, then falls with the root of the step.
    #[track_caller]
    pub fn noam_decay(&mut self, d_model: f64, warmup_steps: f64, learning_rate: f64) -> Result<VarRef> {
        self.schedule(|net| {
            let step = net.decay_step(1)?;
            let falling = net.power(&step, -0.5)?;
            let growing = net.times(&step, warmup_steps.powf(-1.5))?;
            let smaller = net.elementwise_min(&falling, &growing, Elementwise::new())?;
            net.times(&smaller, learning_rate * d_model.powf(-0.5))
        })
    }

    /// `exponential_decay(learning_rate, decay_steps, decay_rate, staircase=False)`: `rate * decay_rate^(step / decay_steps)`.
    #[track_caller]
    pub fn exponential_decay(
        &mut self,
        learning_rate: f64,
        decay_steps: f64,
        decay_rate: f64,
        staircase: bool,
    ) -> Result<VarRef> {
        self.schedule(|net| {
            let progress = net.decay_progress(decay_steps, staircase)?;
            let factor = net.rpow(decay_rate, &progress)?;
            net.times(&factor, learning_rate)
        })
    }

    /// `natural_exp_decay(learning_rate, decay_steps, decay_rate, staircase=False)`: `rate * exp(-decay_rate * step / decay_steps)`.
    #[track_caller]
    pub fn natural_exp_decay(
        &mut self,
        learning_rate: f64,
        decay_steps: f64,
        decay_rate: f64,
        staircase: bool,
    ) -> Result<VarRef> {
        self.schedule(|net| {
            let progress = net.decay_progress(decay_steps, staircase)?;
            let exponent = net.times(&progress, -decay_rate)?;
            let factor = net.exp(&exponent)?;
            net.times(&factor, learning_rate)
        })
    }

    /// `inverse_time_decay(learning_rate, decay_steps, decay_rate, staircase=False)`:
    /// `rate / (1 + decay_rate * step / decay_steps)`.
    #[track_caller]
    pub fn inverse_time_decay(
        &mut self,
        learning_rate: f64,
        decay_steps: f64,
        decay_rate: f64,
        staircase: bool,
    ) -> Result<VarRef> {
        self.schedule(|net| {
            let progress = net.decay_progress(decay_steps, staircase)?;
            let growth = net.times(&progress, decay_rate)?;
            let divisor = net.add(&growth, 1.0)?;
            net.rdiv(learning_rate, &divisor)
        })
    }

    /// `polynomial_decay(learning_rate, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False)`: from the one rate to the
    /// other in `decay_steps`; with `cycle`, again and again over longer and longer stretches.
    #[track_caller]
    pub fn polynomial_decay(
        &mut self,
        learning_rate: f64,
        decay_steps: f64,
        end_learning_rate: f64,
        power: f64,
        cycle: bool,
    ) -> Result<VarRef> {
        self.schedule(|net| {
            let step = net.decay_step(0)?;
            let progress = if cycle { net.cycled(&step, decay_steps)? } else { net.capped(&step, decay_steps)? };
            let left = net.rsub(1.0, &progress)?;
            let factor = net.power(&left, power)?;
            let above = net.times(&factor, learning_rate - end_learning_rate)?;
            net.add(&above, end_learning_rate)
        })
    }

    /// `step / stretch`, where the stretch is the first multiple of `decay_steps` that is not behind.
    fn cycled(&mut self, step: &VarRef, decay_steps: f64) -> Result<VarRef> {
        let stretches = self.div(step, decay_steps)?;
        let stretches = self.ceil(&stretches)?;
        let zero = self.fill_constant([1], DType::F32, 0.0)?;
        let one = self.fill_constant([1], DType::F32, 1.0)?;
        let first = self.eq(step, &zero)?;
        Switch::new().case(self, &first, |net| net.assign_into(&one, &stretches))?;
        let length = self.times(&stretches, decay_steps)?;
        self.div(step, &length)
    }

    /// `min(step, decay_steps) / decay_steps`
    fn capped(&mut self, step: &VarRef, decay_steps: f64) -> Result<VarRef> {
        let most = self.fill_constant([1], DType::F32, decay_steps)?;
        let step = self.elementwise_min(step, &most, Elementwise::new())?;
        self.div(&step, decay_steps)
    }

    /// `piecewise_decay(boundaries, values)`: a value up to each boundary, and the last one from then on.
    #[track_caller]
    pub fn piecewise_decay(&mut self, boundaries: &[f64], values: &[f64]) -> Result<VarRef> {
        let Some((last, values)) = values.split_last().filter(|(_, rest)| rest.len() == boundaries.len()) else {
            let (v, b) = (values.len(), boundaries.len());
            fail!(Kind::Argument, "`piecewise_decay` needs one value more than boundaries, but has {v} and {b}");
        };
        self.schedule(|net| {
            let step = net.decay_step(0)?;
            let rate = net.named("learning_rate").create_global_var(rate_var())?;
            let mut switch = Switch::new();
            for (&boundary, &value) in boundaries.iter().zip(values) {
                let boundary = net.fill_constant_on([1].into(), DType::F32, boundary, true)?;
                let value = net.fill_constant([1], DType::F32, value)?;
                let before = net.lt(&step, &boundary)?;
                switch.case(net, &before, |net| net.assign_into(&value, &rate))?;
            }
            let last = net.fill_constant([1], DType::F32, *last)?;
            switch.default_case(net, |net| net.assign_into(&last, &rate))?;
            Ok(rate)
        })
    }

    /// `cosine_decay(learning_rate, step_each_epoch, epochs)`: half a cosine over `epochs`, one stair per epoch.
    #[track_caller]
    pub fn cosine_decay(&mut self, learning_rate: f64, step_each_epoch: f64, epochs: f64) -> Result<VarRef> {
        self.schedule(|net| {
            let epoch = net.decay_progress(step_each_epoch, true)?;
            let angle = net.times(&epoch, std::f64::consts::PI)?;
            let angle = net.div(&angle, epochs)?;
            let cosine = net.cos(&angle)?;
            let wave = net.add(&cosine, 1.0)?;
            net.times(&wave, learning_rate * 0.5)
        })
    }

    /// `linear_lr_warmup(learning_rate, warmup_steps, start_lr, end_lr)`: from `start_lr` to `end_lr` in `warmup_steps`, then
    /// `learning_rate`, which may be another schedule.
    #[track_caller]
    pub fn linear_lr_warmup(
        &mut self,
        learning_rate: impl Into<LearningRate>,
        warmup_steps: f64,
        start_lr: f64,
        end_lr: f64,
    ) -> Result<VarRef> {
        let learning_rate = learning_rate.into();
        self.schedule(|net| {
            let rate = net.named("learning_rate_warmup").create_global_var(rate_var())?;
            let step = net.decay_step(0)?;
            let warming = net.lt(&step, warmup_steps)?;
            let mut switch = Switch::new();
            switch.case(net, &warming, |net| {
                let progress = net.div(&step, warmup_steps)?;
                let above = net.times(&progress, end_lr - start_lr)?;
                let value = net.add(&above, start_lr)?;
                net.assign_into(&value, &rate)
            })?;
            switch.default_case(net, |net| {
                let value = match &learning_rate {
                    LearningRate::Value(value) => net.fill_constant([1], DType::F32, *value)?,
                    LearningRate::Var(var) => var.clone(),
                };
                net.assign_into(&value, &rate)
            })?;
            Ok(rate)
        })
    }
}

fn rate_var() -> GlobalVar {
    GlobalVar::new([1], 0.0, DType::F32).persistable(true)
}

declare! {
    /// Computes the schedule of the Transformer:
    /// ``learning_rate * d_model ** -0.5 * min(step ** -0.5, step * warmup_steps ** -1.5)``.
    ///
    /// The rate grows linearly for ``warmup_steps`` steps and then falls with the square root of the step. Steps are
    /// counted by ``@LR_DECAY_COUNTER@``, a persistable variable that grows by 1 in every run of the program. The first
    /// step is 1.
    ///
    /// Args:
    ///     d_model (float): the width of the model.
    ///     warmup_steps (float): the steps in which the rate grows.
    ///     learning_rate (float): a factor of the rate.
    ///
    /// Returns:
    ///     Variable: float32 ``[1]``; pass it to an optimizer as ``learning_rate``.
    ///
    /// Example:
    ///     >>> rate = fluid.layers.noam_decay(d_model=1, warmup_steps=4)
    ///     >>> optimizer = fluid.optimizer.Adam(learning_rate=rate)
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> print([round(float(exe.run(fetch_list=[rate])[0][0]), 4) for _ in range(5)])
    ///     [0.125, 0.25, 0.375, 0.5, 0.4472]
    "learning_rate_scheduler.noam_decay(d_model, warmup_steps, learning_rate=1.0)"
        => |net, a| net.noam_decay(a.f64("d_model")?, a.f64("warmup_steps")?, a.f64("learning_rate")?);

    /// Computes a rate that falls exponentially: ``learning_rate * decay_rate ** (step / decay_steps)``.
    ///
    /// Steps are counted by ``@LR_DECAY_COUNTER@``, a persistable variable that grows by 1 in every run of the program.
    /// The first step is 0.
    ///
    /// Args:
    ///     learning_rate (float): the rate of the first step.
    ///     decay_steps (float): the number of steps to which ``decay_rate`` belongs.
    ///     decay_rate (float): the factor per ``decay_steps`` steps.
    ///     staircase (bool): change the rate once per ``decay_steps`` steps, by rounding ``step / decay_steps`` down,
    ///         instead of a little in every step.
    ///
    /// Returns:
    ///     Variable: float32 ``[1]``; pass it to an optimizer as ``learning_rate``.
    ///
    /// Example:
    ///     >>> rate = fluid.layers.exponential_decay(0.1, decay_steps=2, decay_rate=0.5, staircase=True)
    ///     >>> optimizer = fluid.optimizer.SGD(learning_rate=rate)
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> print([round(float(exe.run(fetch_list=[rate])[0][0]), 4) for _ in range(5)])
    ///     [0.1, 0.1, 0.05, 0.05, 0.025]
    "learning_rate_scheduler.exponential_decay(learning_rate, decay_steps, decay_rate, staircase=False)"
        => |net, a| net.exponential_decay(a.f64("learning_rate")?, a.f64("decay_steps")?, a.f64("decay_rate")?,
        a.bool("staircase")?);

    /// Computes a rate that falls exponentially: ``learning_rate * exp(-decay_rate * step / decay_steps)``.
    ///
    /// Steps are counted by ``@LR_DECAY_COUNTER@``, a persistable variable that grows by 1 in every run of the program.
    /// The first step is 0.
    ///
    /// Args:
    ///     learning_rate (float): the rate of the first step.
    ///     decay_steps (float): the number of steps to which ``decay_rate`` belongs.
    ///     decay_rate (float): the exponent per ``decay_steps`` steps.
    ///     staircase (bool): change the rate once per ``decay_steps`` steps, by rounding ``step / decay_steps`` down,
    ///         instead of a little in every step.
    ///
    /// Returns:
    ///     Variable: float32 ``[1]``; pass it to an optimizer as ``learning_rate``.
    ///
    /// Example:
    ///     >>> rate = fluid.layers.natural_exp_decay(0.1, decay_steps=2, decay_rate=0.5)
    ///     >>> optimizer = fluid.optimizer.SGD(learning_rate=rate)
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> print([round(float(exe.run(fetch_list=[rate])[0][0]), 4) for _ in range(5)])
    ///     [0.1, 0.0779, 0.0607, 0.0472, 0.0368]
    "learning_rate_scheduler.natural_exp_decay(learning_rate, decay_steps, decay_rate, staircase=False)"
        => |net, a| net.natural_exp_decay(a.f64("learning_rate")?, a.f64("decay_steps")?, a.f64("decay_rate")?,
        a.bool("staircase")?);

    /// Computes a rate that falls with the inverse of the time:
    /// ``learning_rate / (1 + decay_rate * step / decay_steps)``.
    ///
    /// Steps are counted by ``@LR_DECAY_COUNTER@``, a persistable variable that grows by 1 in every run of the program.
    /// The first step is 0.
    ///
    /// Args:
    ///     learning_rate (float): the rate of the first step.
    ///     decay_steps (float): the number of steps to which ``decay_rate`` belongs.
    ///     decay_rate (float): how fast the rate falls.
    ///     staircase (bool): change the rate once per ``decay_steps`` steps, by rounding ``step / decay_steps`` down,
    ///         instead of a little in every step.
    ///
    /// Returns:
    ///     Variable: float32 ``[1]``; pass it to an optimizer as ``learning_rate``.
    ///
    /// Example:
    ///     >>> rate = fluid.layers.inverse_time_decay(0.1, decay_steps=2, decay_rate=0.5)
    ///     >>> optimizer = fluid.optimizer.SGD(learning_rate=rate)
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> print([round(float(exe.run(fetch_list=[rate])[0][0]), 4) for _ in range(5)])
    ///     [0.1, 0.08, 0.0667, 0.0571, 0.05]
    "learning_rate_scheduler.inverse_time_decay(learning_rate, decay_steps, decay_rate, staircase=False)"
        => |net, a| net.inverse_time_decay(a.f64("learning_rate")?, a.f64("decay_steps")?,
        a.f64("decay_rate")?, a.bool("staircase")?);

    /// Computes a rate that falls by a polynomial:
    /// ``(learning_rate - end_learning_rate) * (1 - step / decay_steps) ** power + end_learning_rate``.
    ///
    /// After ``decay_steps`` steps it stays at ``end_learning_rate``. Steps are counted by ``@LR_DECAY_COUNTER@``, a
    /// persistable variable that grows by 1 in every run of the program. The first step is 0.
    ///
    /// Args:
    ///     learning_rate (float): the rate of the first step.
    ///     decay_steps (float): the number of steps in which the rate falls.
    ///     end_learning_rate (float): the last rate.
    ///     power (float): the exponent; 1: a straight line.
    ///     cycle (bool): begin again after ``decay_steps`` steps: the rate jumps up to the same polynomial over twice
    ///         the steps, then three times, and so on.
    ///
    /// Returns:
    ///     Variable: float32 ``[1]``; pass it to an optimizer as ``learning_rate``.
    ///
    /// Example:
    ///     >>> rate = fluid.layers.polynomial_decay(0.1, decay_steps=4, end_learning_rate=0.02)
    ///     >>> optimizer = fluid.optimizer.SGD(learning_rate=rate)
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> print([round(float(exe.run(fetch_list=[rate])[0][0]), 4) for _ in range(5)])
    ///     [0.1, 0.08, 0.06, 0.04, 0.02]
    "learning_rate_scheduler.polynomial_decay(learning_rate, decay_steps, end_learning_rate=0.0001, power=1.0, \
     cycle=False)"
        => |net, a| net.polynomial_decay(a.f64("learning_rate")?, a.f64("decay_steps")?,
        a.f64("end_learning_rate")?, a.f64("power")?, a.bool("cycle")?);

    /// Takes a rate from a list by the number of the step: ``values[i]`` before step ``boundaries[i]``, and the last
    /// value from the last boundary on.
    ///
    /// Steps are counted by ``@LR_DECAY_COUNTER@``, a persistable variable that grows by 1 in every run of the program.
    /// The first step is 0.
    ///
    /// Args:
    ///     boundaries (list or tuple): the steps at which the rate changes, in increasing order.
    ///     values (list or tuple): the rates, one more than boundaries.
    ///
    /// Returns:
    ///     Variable: float32 ``[1]``; pass it to an optimizer as ``learning_rate``.
    ///
    /// Raises:
    ///     ValueError: ``values`` does not have one element more than ``boundaries``.
    ///
    /// Example:
    ///     >>> rate = fluid.layers.piecewise_decay(boundaries=[2, 3], values=[1.0, 0.5, 0.1])
    ///     >>> optimizer = fluid.optimizer.SGD(learning_rate=rate)
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> print([round(float(exe.run(fetch_list=[rate])[0][0]), 4) for _ in range(5)])
    ///     [1.0, 1.0, 0.5, 0.1, 0.1]
    "learning_rate_scheduler.piecewise_decay(boundaries, values)"
        => |net, a| net.piecewise_decay(&a.f64s("boundaries")?, &a.f64s("values")?);

    /// Computes a rate that falls by half a cosine: ``learning_rate * 0.5 * (cos(epoch * pi / epochs) + 1)``.
    ///
    /// The rate changes once per epoch, ``epoch = step // step_each_epoch``. Steps are counted by
    /// ``@LR_DECAY_COUNTER@``, a persistable variable that grows by 1 in every run of the program. The first step is 0.
    ///
    /// Args:
    ///     learning_rate (float): the rate of the first step.
    ///     step_each_epoch (float): the number of steps in an epoch.
    ///     epochs (float): the number of epochs until the rate is 0.
    ///
    /// Returns:
    ///     Variable: float32 ``[1]``; pass it to an optimizer as ``learning_rate``.
    ///
    /// Example:
    ///     >>> rate = fluid.layers.cosine_decay(0.1, step_each_epoch=1, epochs=4)
    ///     >>> optimizer = fluid.optimizer.SGD(learning_rate=rate)
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> print([round(float(exe.run(fetch_list=[rate])[0][0]), 4) for _ in range(5)])
    ///     [0.1, 0.0854, 0.05, 0.0146, 0.0]
    "learning_rate_scheduler.cosine_decay(learning_rate, step_each_epoch, epochs)"
        => |net, a| net.cosine_decay(a.f64("learning_rate")?, a.f64("step_each_epoch")?, a.f64("epochs")?);

    /// Raises the rate linearly from ``start_lr`` towards ``end_lr`` in the first ``warmup_steps`` steps; then
    /// ``learning_rate`` counts.
    ///
    /// In the warm-up the rate is ``start_lr + (end_lr - start_lr) * step / warmup_steps``. Steps are counted by
    /// ``@LR_DECAY_COUNTER@``, a persistable variable that grows by 1 in every run of the program. The first step is 0.
    ///
    /// Args:
    ///     learning_rate (Variable or float): the rate after the warm-up: a number, or another schedule.
    ///     warmup_steps (float): the number of steps in the warm-up.
    ///     start_lr (float): the rate of the first step.
    ///     end_lr (float): the rate that the warm-up approaches, usually ``learning_rate``.
    ///
    /// Returns:
    ///     Variable: float32 ``[1]``; pass it to an optimizer as ``learning_rate``.
    ///
    /// Example:
    ///     >>> rate = fluid.layers.linear_lr_warmup(0.1, warmup_steps=4, start_lr=0.0, end_lr=0.1)
    ///     >>> optimizer = fluid.optimizer.SGD(learning_rate=rate)
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> print([round(float(exe.run(fetch_list=[rate])[0][0]), 4) for _ in range(5)])
    ///     [0.0, 0.025, 0.05, 0.075, 0.1]
    "learning_rate_scheduler.linear_lr_warmup(learning_rate, warmup_steps, start_lr, end_lr)" => |net, a| {
        let rate = match a.is_var("learning_rate") {
            true => LearningRate::Var(a.var("learning_rate")?),
            false => LearningRate::Value(a.f64("learning_rate")?),
        };
        net.linear_lr_warmup(rate, a.f64("warmup_steps")?, a.f64("start_lr")?, a.f64("end_lr")?)
    };
}
