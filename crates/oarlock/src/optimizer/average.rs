//! Averages of parameters over training, and programs that put them in place and take them out again.

use oarlock_ir::{Name, Op, Program, Result, Role, Shape, Var, VarType};
use oarlock_tensor::{DType, Tensor};

use super::State;
use crate::layers::{Elementwise, GlobalVar, Switch};
use crate::{Net, VarRef};

/// A parameter, and a variable that keeps its value while an average stands in its place.
struct Saved {
    param: VarRef,
    backup: VarRef,
}

impl Saved {
    fn names(&self) -> Vec<String> {
        vec![self.param.name().to_string(), self.backup.name().to_string()]
    }
}

/// Declares a backup for every parameter that takes part in averages.
fn backups(net: &mut Net, name: impl Fn(&Name) -> String) -> Vec<Saved> {
    let params: Vec<Var> = net.main.parameters().filter(|p| p.meta.do_model_average).cloned().collect();
    let saved = |param: Var| {
        let key = name(&param.name);
        let backup = net.names.generate(&key);
        let mut var = Var::new(backup, VarType::tensor(param.ty().dtype, Shape::default()));
        var.meta.stop_gradient = true;
        let backup = net.declare(var);
        Saved { param: VarRef::new(&param.name, 0), backup }
    };
    params.into_iter().map(saved).collect()
}

/// Builds a program of its own whose first values go to the net's startup program.
fn separate(net: &mut Net, build: impl FnOnce(&mut Net) -> Result<()>) -> Result<Program> {
    let mut program = Program::new();
    let mut startup = std::mem::take(&mut net.startup);
    let result = net.with_programs(&mut program, &mut startup, build);
    net.startup = startup;
    result.map(|()| program)
}

/// A copy of a variable's declaration in the program that is being built. It outlives a run there, as it is what several
/// programs hand to each other.
fn clone_into(net: &mut Net, from: &Program, var: &VarRef) -> Result<VarRef> {
    let mut var = from.expect_var(0, var.name())?.clone();
    var.persistable = true;
    Ok(net.declare(var))
}

/// A program that copies the backups over the parameters.
fn restore_program(net: &mut Net, saved: &[Saved]) -> Result<Program> {
    let main = net.main.clone();
    separate(net, |net| {
        for s in saved {
            let backup = clone_into(net, &main, &s.backup)?;
            let param = clone_into(net, &main, &s.param)?;
            net.assign_into(&backup, &param)?;
        }
        Ok(())
    })
}

/// `ExponentialMovingAverage(decay=0.999, thres_steps=None, name=None)`: means in which older values count less and less.
///
/// Make it after the optimizer, call [`ExponentialMovingAverage::update`] to have every step update it; run `apply_program` to
/// evaluate with the means, `restore_program` to go on training.
pub struct ExponentialMovingAverage {
    /// Puts the means in the place of the parameters.
    pub apply_program: Program,
    /// Takes them out again.
    pub restore_program: Program,
    decay: VarRef,
    saved: Vec<Saved>,
    means: Vec<VarRef>,
}

const EMA_STEP: &str = "@EMA_STEP_COUNTER@";

impl ExponentialMovingAverage {
    /// Of all parameters there are; with `thres_steps`, a counter of steps, young means follow faster.
    #[track_caller]
    pub fn new(
        net: &mut Net,
        decay: f64,
        thres_steps: Option<&VarRef>,
        name: &str,
    ) -> Result<ExponentialMovingAverage> {
        net.located(|net| {
            let decay = decay_var(net, decay, thres_steps)?;
            let saved = backups(net, |param| format!("{name}{param}.ema_tmp"));
            let mut means = Vec::new();
            for s in &saved {
                let mean = |net: &mut Net| net.name_scope("moving_average", |net| mean_var(net, name, &s.param));
                means.push(net.with_role(Role::OPTIMIZE, s.names(), mean)?);
            }
            let apply_program = ema_apply_program(net, &decay, &saved, &means)?;
            let restore_program = restore_program(net, &saved)?;
            Ok(ExponentialMovingAverage { apply_program, restore_program, decay, saved, means })
        })
    }

    /// Appends the operators that update the means: `mean = decay * mean + (1 - decay) * parameter`.
    #[track_caller]
    pub fn update(&self, net: &mut Net) -> Result<()> {
        net.located(|net| {
            net.autoincreased_step_counter(Some(EMA_STEP), 1, 1)?;
            for (s, mean) in self.saved.iter().zip(&self.means) {
                let update = |net: &mut Net| net.name_scope("moving_average", |net| self.follow(net, &s.param, mean));
                net.with_role(Role::OPTIMIZE, s.names(), update)?;
            }
            Ok(())
        })
    }

    fn follow(&self, net: &mut Net, param: &VarRef, mean: &VarRef) -> Result<()> {
        let old = net.times(mean, &self.decay)?;
        let rest = net.rsub(1.0, &self.decay)?;
        let new = net.times(param, &rest)?;
        let sum = net.add(&old, &new)?;
        net.assign_into(&sum, mean)
    }
}

/// The variable of the decay; with a counter of steps, it grows from 0.1 towards `decay`.
fn decay_var(net: &mut Net, decay: f64, thres_steps: Option<&VarRef>) -> Result<VarRef> {
    net.with_role(Role::LR_SCHED, Vec::new(), |net| {
        let options = GlobalVar::new([1], decay, DType::F32).persistable(true);
        let var = net.named("scheduled_ema_decay_rate").create_global_var(options)?;
        let Some(steps) = thres_steps else { return Ok(var) };
        // A counter of whole numbers would be divided as such, and the quotient below is always 0 then.
        let whole = !matches!(net.dtype(steps)?, DType::F32 | DType::F64);
        let steps = if whole { &net.cast(steps, DType::F32)? } else { steps };
        let (above, below) = (net.add(steps, 1.0)?, net.add(steps, 10.0)?);
        let growing = net.div(&above, &below)?;
        let young = net.lt(&growing, decay)?;
        let mut switch = Switch::new();
        switch.case(net, &young, |net| net.assign_into(&growing, &var))?;
        switch.default_case(net, |net| net.assign_value_into(&Tensor::scalar(decay as f32), &var))?;
        Ok(var)
    })
}

fn mean_var(net: &mut Net, name: &str, param: &VarRef) -> Result<VarRef> {
    let ty = net.var(param)?.ty();
    let name = net.names.generate(&format!("{name}{param}_ema"));
    net.named(name).create_global_var(GlobalVar::new(ty.shape.to_i64(), 0.0, ty.dtype).persistable(true))
}

/// Saves the parameters and replaces them by the means, which are corrected for having started at zero.
fn ema_apply_program(net: &mut Net, decay: &VarRef, saved: &[Saved], means: &[VarRef]) -> Result<Program> {
    let main = net.main.clone();
    separate(net, |net| {
        let counter = GlobalVar::new([1], 0.0, DType::I64).persistable(true);
        let counter = net.named(EMA_STEP).create_global_var(counter)?;
        let step = net.cast(&counter, DType::F32)?;
        let decay = clone_into(net, &main, decay)?;
        let left = net.elementwise_pow(&decay, &step, Elementwise::new())?;
        for (s, mean) in saved.iter().zip(means) {
            let param = clone_into(net, &main, &s.param)?;
            let backup = clone_into(net, &main, &s.backup)?;
            let mean = clone_into(net, &main, mean)?;
            net.assign_into(&param, &backup)?;
            let begun = net.gt(&step, 0.0)?;
            Switch::new().case(net, &begun, |net| {
                let weight = net.rsub(1.0, &left)?;
                let corrected = net.div(&mean, &weight)?;
                net.assign_into(&corrected, &mean)
            })?;
            net.assign_into(&mean, &param)?;
        }
        Ok(())
    })
}

/// `ModelAverage(average_window_rate, min_average_window=10000, max_average_window=10000, ...)`: plain means over a window of steps.
///
/// Make it after the optimizer; every step then adds up the parameters. Run `apply_program` to evaluate with the means,
/// `restore_program` to go on training.
pub struct ModelAverage {
    /// Puts the means in the place of the parameters.
    pub apply_program: Program,
    /// Takes them out again.
    pub restore_program: Program,
}

/// The sums of a parameter: three that follow each other, and counts.
const SUMS: [&str; 3] = ["sum_1", "sum_2", "sum_3"];
const COUNTS: [&str; 3] = ["num_accumulates", "old_num_accumulates", "num_updates"];

impl ModelAverage {
    /// Of all parameters there are. The window is `average_window_rate` of all steps, within bounds `window`.
    #[track_caller]
    pub fn new(net: &mut Net, average_window_rate: f32, window: (i64, i64)) -> Result<ModelAverage> {
        net.located(|net| {
            let saved = backups(net, |param| format!("{param}.tmp"));
            let mut sums = Vec::new();
            for s in &saved {
                let append = |net: &mut Net| {
                    net.name_scope("move_average", |net| accumulate(net, &s.param, average_window_rate, window))
                };
                sums.push(net.with_role(Role::OPTIMIZE, s.names(), append)?);
            }
            let apply_program = mean_apply_program(net, &saved, &sums)?;
            let restore_program = restore_program(net, &saved)?;
            Ok(ModelAverage { apply_program, restore_program })
        })
    }
}

/// Appends the operator that adds up a parameter; returns its sums and counts.
fn accumulate(net: &mut Net, param: &VarRef, rate: f32, (min, max): (i64, i64)) -> Result<Vec<VarRef>> {
    let mut op = Op::new("average_accumulates").input("param", [param]);
    let mut vars = Vec::new();
    for kind in SUMS.into_iter().chain(COUNTS) {
        let counts = COUNTS.contains(&kind);
        let dtype = counts.then_some(DType::I64);
        let state = State { kind, slot: "", out: None, first: 0.0, single: counts, dtype };
        let var = net.make_state(param, kind, &state)?;
        op = op.input(&format!("in_{kind}"), [&var]).output(&format!("out_{kind}"), [&var]);
        vars.push(var);
    }
    let op = op.attr("average_window", rate).attr("min_average_window", min);
    net.append_op(op.attr("max_average_window", max))?;
    Ok(vars)
}

/// Saves the parameters and replaces them by sum / count.
fn mean_apply_program(net: &mut Net, saved: &[Saved], sums: &[Vec<VarRef>]) -> Result<Program> {
    let main = net.main.clone();
    separate(net, |net| {
        for (s, sums) in saved.iter().zip(sums) {
            let param = clone_into(net, &main, &s.param)?;
            let backup = clone_into(net, &main, &s.backup)?;
            let sums: Vec<VarRef> = sums.iter().map(|v| clone_into(net, &main, v)).collect::<Result<_>>()?;
            net.assign_into(&param, &backup)?;
            let count = net.sum(&[&sums[3], &sums[4]])?;
            let sum = net.sum(&[&sums[0], &sums[1], &sums[2]])?;
            let count = net.cast(&count, DType::F32)?;
            let sum = net.cast(&sum, DType::F32)?;
            let op = Op::new("elementwise_div").input("X", [&sum]).input("Y", [&count]).output("Out", [&param]);
            net.append_op(op)?;
        }
        Ok(())
    })
}
