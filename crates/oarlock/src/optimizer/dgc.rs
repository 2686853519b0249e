//! Deep gradient compression.

use std::collections::HashSet;

use oarlock_ir::{Attr, Clip, Decay, Dim, Error, Kind, Name, Op, Result, Role, Var, VarKind, VarType, fail, product};
use oarlock_tensor::DType;

use super::{Minimize, Optimizer, ParamGrad, Rule, State};
use crate::layers::GlobalVar;
use crate::lr::LearningRate;
use crate::{Initializer, Net, VarRef};

/// Parameters with fewer elements are not worth compressing.
const FEWEST: usize = 16384;

const STEP: &str = "__g_dgc_counter__";
const RANKS: &str = "__g_nranks__";
const RAMPUP_BEGIN: &str = "__g_rampup_begin_step__";

/// `DGCMomentumOptimizer(learning_rate, momentum, rampup_begin_step, rampup_step=1, sparsity=[0.999], parameter_list=None,
/// use_nesterov=False, num_trainers=None, regularization=None, grad_clip=None, name=None)`: momentum whose gradients are compressed.
///
/// From step `rampup_begin_step` on, only the largest part of what a large parameter's gradients add up to is passed on; the rest
/// waits until it is large. Parameters of fewer than 16384 elements are updated by plain momentum.
///
/// The 1.8 release refuses to build this without a GPU. Here a worker that is alone (`num_trainers` 1, or not given) compresses
/// and updates with its own gradients, as a worker among others would with the gathered ones.
pub struct DgcMomentum {
    optimizer: Optimizer<Velocity>,
    compress: Compress,
    /// Variables of the program that was compressed last.
    vars: Option<Shared>,
    compressed: HashSet<Name>,
}

/// How gradients are compressed.
struct Compress {
    rampup_begin_step: f32,
    rampup_step: f32,
    sparsity: Vec<f32>,
    num_trainers: u32,
}

/// The state that all parameters share.
#[derive(Clone)]
struct Shared {
    step: VarRef,
    ranks: VarRef,
}

/// Momentum under the names of compression: the velocity is shared with it.
struct Velocity {
    momentum: f32,
    use_nesterov: bool,
}

impl Velocity {
    fn rest() -> State {
        State::like_param("_dgc_v_", "V", "V_out")
    }
}

impl Rule for Velocity {
    fn op_type(&self) -> &'static str {
        "momentum"
    }

    fn states(&self) -> Vec<State> {
        vec![State::like_param("_dgc_u_", "Velocity", "VelocityOut")]
    }

    fn attrs(&self, _param: &str) -> Vec<(&'static str, Attr)> {
        vec![("mu", self.momentum.into()), ("use_nesterov", self.use_nesterov.into())]
    }
}

impl DgcMomentum {
    /// Momentum that compresses from a step on.
    pub fn new(learning_rate: impl Into<LearningRate>, momentum: f32, rampup_begin_step: u32) -> DgcMomentum {
        DgcMomentum {
            optimizer: Optimizer::new(Velocity { momentum, use_nesterov: false }, learning_rate),
            compress: Compress {
                rampup_begin_step: rampup_begin_step as f32,
                rampup_step: 1.0,
                sparsity: vec![0.999],
                num_trainers: 1,
            },
            vars: None,
            compressed: HashSet::new(),
        }
    }

    /// For how many steps `sparsity` is spread.
    #[must_use]
    pub fn rampup_step(mut self, steps: u32) -> DgcMomentum {
        self.compress.rampup_step = steps as f32;
        self
    }

    /// Which part is kept back, one number for each part of the ramp-up; the last one counts from then on.
    #[must_use]
    pub fn sparsity(mut self, sparsity: Vec<f32>) -> DgcMomentum {
        self.compress.sparsity = sparsity;
        self
    }

    /// Updates only these parameters.
    #[must_use]
    pub fn parameter_list(mut self, params: &[&VarRef]) -> DgcMomentum {
        self.optimizer = self.optimizer.parameter_list(params);
        self
    }

    /// Look ahead along the velocity.
    #[must_use]
    pub fn use_nesterov(mut self, nesterov: bool) -> DgcMomentum {
        self.optimizer.rule.use_nesterov = nesterov;
        self
    }

    /// How many workers train together.
    #[must_use]
    pub fn num_trainers(mut self, trainers: u32) -> DgcMomentum {
        self.compress.num_trainers = trainers;
        self
    }

    /// Weight decay of parameters that have none of their own.
    #[must_use]
    pub fn regularization(mut self, decay: Decay) -> DgcMomentum {
        self.optimizer = self.optimizer.regularization(decay);
        self
    }

    /// A limit on the norm of gradients; shared among the workers, so each limits its own to `norm / sqrt(num_trainers)`.
    #[must_use]
    pub fn grad_clip(mut self, clip: Clip) -> DgcMomentum {
        self.optimizer = self.optimizer.grad_clip(clip);
        self
    }

    /// A name that what it remembers carries.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> DgcMomentum {
        self.optimizer = self.optimizer.name(name);
        self
    }

    /// Appends the gradient of a loss, its compression, and the updates.
    #[track_caller]
    pub fn minimize(&mut self, net: &mut Net, loss: &VarRef) -> Result<Vec<ParamGrad>> {
        Minimize::minimize(self, net, loss)
    }

    /// The limit for one worker's gradient.
    fn norm(&self) -> Result<Option<f32>> {
        match &self.optimizer.grad_clip {
            None => Ok(None),
            Some(Clip::Norm(norm)) => Ok(Some(norm * (self.compress.num_trainers as f32).powf(-0.5))),
            Some(_) => Err(Error::new(Kind::Unsupported, "compressed gradients can be limited by their norm only")
                .help("use Clip::Norm")),
        }
    }

    fn append_compression(&mut self, net: &mut Net, pairs: &[ParamGrad]) -> Result<()> {
        if self.compress.num_trainers == 0 {
            fail!(Kind::Argument, "`num_trainers` must be at least 1, but it is 0");
        }
        let norm = self.norm()?;
        let shared = self.make_shared(net)?;
        for pair in pairs {
            self.optimizer.make_states(net, &pair.param)?;
            if !is_large(net, pair)? {
                continue;
            }
            self.compressed.insert(pair.param.name().clone());
            forget_role_vars(net, pair);
            if let Some(norm) = norm {
                self.append_clip(net, pair, norm, &shared)?;
            }
            self.append_dgc(net, pair, &shared)?;
        }
        self.vars = Some(shared);
        Ok(())
    }

    /// The step counter, the number of workers, and where compression begins.
    fn make_shared(&self, net: &mut Net) -> Result<Shared> {
        let step = counter(net)?;
        let one = || VarType::tensor(DType::F32, vec![Dim::Is(1)]);
        let fixed = |value: f64| Initializer::Constant { value, force_cpu: true };
        let mut ranks = Var::new(RANKS, one());
        ranks.meta.stop_gradient = true;
        let ranks = net.global(ranks, &fixed(self.compress.num_trainers.into()))?;
        let begin = f64::from(self.compress.rampup_begin_step);
        net.named(RAMPUP_BEGIN).create_global_var(small(begin).force_cpu(true))?;
        Ok(Shared { step, ranks })
    }

    fn append_clip(&self, net: &mut Net, pair: &ParamGrad, norm: f32, shared: &Shared) -> Result<()> {
        let op = Op::new("dgc_clip_by_norm")
            .input("X", [&pair.grad])
            .input("current_step", [&shared.step])
            .output("Out", [&pair.grad])
            .attr("max_norm", norm)
            .attr("rampup_begin_step", self.compress.rampup_begin_step);
        net.with_role(Role::BACKWARD, Vec::new(), |net| net.append_op(op))
    }

    fn append_dgc(&self, net: &mut Net, pair: &ParamGrad, shared: &Shared) -> Result<()> {
        let velocity = self.optimizer.state("_dgc_u_", &pair.param)?;
        let rest = net.make_state(&pair.param, &self.kind("_dgc_v_"), &Velocity::rest())?;
        let mut buffer = |name: &str| net.named(format!("{}{name}", pair.param)).create_global_var(small(0.0));
        let (k, encoded, gathered) = (buffer("__dgc_k__")?, buffer("__dgc_encoded__")?, buffer("__dgc_gather__")?);
        let decay = net.var(&pair.param)?.meta.regularizer.or(self.optimizer.regularization);
        let (decay, coeff) = match decay {
            None => (0, 0.0),
            Some(Decay::L1(coeff)) => (1, coeff),
            Some(Decay::L2(coeff)) => (2, coeff),
        };
        let op = Op::new("dgc")
            .input("U", [&velocity])
            .input("V", [&rest])
            .input("Grad", [&pair.grad])
            .input("Param", [&pair.param])
            .input("current_step", [&shared.step])
            .input("nranks", [&shared.ranks])
            .output("U_out", [&velocity])
            .output("V_out", [&rest])
            .output("EncodeGrad", [&encoded])
            .output("k", [&k])
            .output("Grad_out", [&pair.grad])
            .output("GatherBuff", [&gathered])
            .attr("m", self.optimizer.rule.momentum)
            .attr("sparsity", self.compress.sparsity.clone())
            .attr("use_nesterov", self.optimizer.rule.use_nesterov)
            .attr("rampup_begin_step", self.compress.rampup_begin_step)
            .attr("rampup_step", self.compress.rampup_step)
            .attr("regular_coeff", coeff)
            .attr("regular_type", decay);
        net.with_role(Role::BACKWARD, pair.names(), |net| net.append_op(op))
    }

    fn kind(&self, kind: &str) -> String {
        self.optimizer.name.as_ref().map_or(kind.to_string(), |n| format!("{n}_{kind}"))
    }

    fn append_updates(&mut self, net: &mut Net, mut pairs: Vec<ParamGrad>) -> Result<()> {
        pairs.sort_by(|a, b| a.param.name().cmp(b.param.name()));
        let compressed = |p: &ParamGrad| self.compressed.contains(p.param.name());
        let (large, small): (Vec<_>, Vec<_>) = pairs.into_iter().partition(compressed);
        // Compression has limited and decayed the large ones already.
        let small = self.optimizer.limit_and_decay(net, small)?;
        let mut pairs = [large, small].concat();
        pairs.sort_by(|a, b| a.param.name().cmp(b.param.name()));
        let Some(shared) = self.vars.clone() else {
            fail!(Kind::Argument, "compressed momentum applies only gradients that it has appended itself");
        };
        let begin = self.compress.rampup_begin_step;
        let compressed = &self.compressed;
        self.optimizer.append_update_ops(net, &pairs, |pair, mut op| {
            if !compressed.contains(pair.param.name()) {
                return op;
            }
            op.op_type = "dgc_momentum".into();
            op.input("current_step", [&shared.step])
                .input("nranks", [&shared.ranks])
                .output("Grad_out", [&pair.grad])
                .attr("rampup_begin_step", begin)
        })
    }
}

impl Minimize for DgcMomentum {
    fn learning_rate_var(&self, net: &Net) -> Option<&VarRef> {
        self.optimizer.learning_rate_var(net)
    }

    #[track_caller]
    fn backward_from(&mut self, net: &mut Net, loss: &VarRef, checkpoints: &[VarRef]) -> Result<Vec<ParamGrad>> {
        let pairs = self.optimizer.backward_from(net, loss, checkpoints)?;
        net.located(|net| self.append_compression(net, &pairs))?;
        Ok(pairs)
    }

    #[track_caller]
    fn apply_gradients(&mut self, net: &mut Net, pairs: Vec<ParamGrad>) -> Result<()> {
        net.located(|net| self.append_updates(net, pairs))
    }
}

/// One number that outlives a run.
fn small(value: f64) -> GlobalVar {
    GlobalVar::new([1], value, DType::F32).persistable(true)
}

/// A counter in f32, as the operators read it; the first step is 0.
fn counter(net: &mut Net) -> Result<VarRef> {
    if net.main.global().var(STEP).is_some() {
        return Ok(VarRef::new(STEP, 0));
    }
    let first = Initializer::Constant { value: -1.0, force_cpu: true };
    let mut var = Var::new(STEP, VarType::tensor(DType::F32, vec![Dim::Is(1)]));
    var.meta.stop_gradient = true;
    let counter = net.global(var, &first)?;
    let op = Op::new("increment").input("X", [&counter]).output("Out", [&counter]).attr("step", 1.0f32);
    net.insert_op(0, op)?;
    Ok(counter)
}

/// Is a parameter worth compressing, and can it be?
fn is_large(net: &Net, pair: &ParamGrad) -> Result<bool> {
    let (param, grad) = (net.var(&pair.param)?, net.var(&pair.grad)?);
    let dense = param.kind == VarKind::Tensor && grad.kind == VarKind::Tensor;
    let numel = product(&param.shape).known().unwrap_or(0);
    Ok(dense && param.ty().dtype == DType::F32 && numel >= FEWEST)
}

/// Compression is what completes the gradient now, so the operators before it no longer say that they do.
fn forget_role_vars(net: &mut Net, pair: &ParamGrad) {
    for op in &mut net.main.global_mut().ops {
        let Some(Attr::Strings(noted)) = op.attrs.get("op_role_var") else { continue };
        if op.role() != Role::BACKWARD || !noted.iter().any(|n| **n == **pair.param.name()) {
            continue;
        }
        let names = pair.names();
        let left: Vec<String> = noted.iter().filter(|n| !names.contains(n)).cloned().collect();
        if left.is_empty() {
            op.attrs.remove("op_role_var");
        } else {
            op.attrs.set("op_role_var", left);
        }
    }
}
