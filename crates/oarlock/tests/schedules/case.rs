//! A network, an optimizer, a schedule, and how it is trained.

use std::collections::BTreeSet;
use std::fmt;

use oarlock::fleet::Strategy;
use oarlock::lr::LearningRate;
use oarlock::optimizer::Rule;
use oarlock::prelude::*;
use oarlock::transpile::Config;

/// One value of each property.
#[derive(Clone, Copy)]
pub(super) struct Case {
    schedule: usize,
    optimizer: usize,
    pub(super) decay: usize,
    pub(super) clip: usize,
    pub(super) mode: Mode,
    pub(super) table: usize,
    pub(super) trainers: usize,
}

/// How trainers and servers work together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    Sync,
    Async,
    Fleet(Strategy),
}

const MODES: [Mode; 6] = [
    Mode::Sync,
    Mode::Async,
    Mode::Fleet(Strategy::Sync),
    Mode::Fleet(Strategy::HalfAsync),
    Mode::Fleet(Strategy::Async),
    Mode::Fleet(Strategy::Geo),
];

const OPTIMIZERS: [&str; 14] = [
    "sgd",
    "momentum",
    "nesterov",
    "lars_momentum",
    "adagrad",
    "adam",
    "lazy_adam",
    "adamax",
    "decayed_adagrad",
    "adadelta",
    "rmsprop",
    "ftrl",
    "lamb",
    "dpsgd",
];

const DECAYS: [&str; 4] = ["no decay", "L1", "L2", "L2 and a rate of one parameter"];
const CLIPS: [&str; 4] = ["no limit", "by value", "by norm", "by global norm"];
const TABLES: [&str; 3] = ["dense", "is_sparse", "is_distributed"];

type Schedule = fn(&mut Net) -> Result<VarRef>;

/// Schedules that change within the steps of a test.
const SCHEDULES: [(&str, Schedule); 9] = [
    ("exponential", |net| net.exponential_decay(0.1, 2.0, 0.5, false)),
    ("stairs", |net| net.exponential_decay(0.1, 2.0, 0.5, true)),
    ("natural_exp", |net| net.natural_exp_decay(0.1, 2.0, 0.5, false)),
    ("inverse_time", |net| net.inverse_time_decay(0.1, 2.0, 0.5, false)),
    ("polynomial", |net| net.polynomial_decay(0.1, 5.0, 0.01, 2.0, false)),
    ("polynomial, cycle", |net| net.polynomial_decay(0.1, 2.0, 0.01, 1.0, true)),
    ("piecewise", |net| net.piecewise_decay(&[2.0, 4.0], &[0.1, 0.05, 0.01])),
    ("noam", |net| net.noam_decay(64.0, 3.0, 0.5)),
    ("cosine", |net| net.cosine_decay(0.1, 2.0, 8.0)),
];

/// A number, a schedule, a warmup to a number, or a warmup around a schedule.
const RATES: usize = 2 + 2 * SCHEDULES.len();

/// How many values the properties have, in the order of the fields.
pub(super) const AXES: [usize; 7] = [RATES, OPTIMIZERS.len(), DECAYS.len(), CLIPS.len(), MODES.len(), TABLES.len(), 2];

impl Case {
    pub(super) fn of(choice: &[usize]) -> Case {
        let [schedule, optimizer, decay, clip, mode, table, trainers] = *choice else { panic!("{choice:?}") };
        Case { schedule, optimizer, decay, clip, mode: MODES[mode], table, trainers: trainers + 1 }
    }

    /// Why it is refused, when the network is built or transpiled.
    pub(super) fn refusal(&self) -> Option<&'static str> {
        let (optimizer, table) = (OPTIMIZERS[self.optimizer], TABLES[self.table]);
        let decays = matches!(DECAYS[self.decay], "L1" | "L2");
        let dense_only = ["lars_momentum", "adamax", "decayed_adagrad", "adadelta", "dpsgd"].contains(&optimizer);
        match table {
            // Decay makes the gradient of a table dense.
            "is_sparse" if dense_only && !decays => Some("is row-sparse, which"),
            "is_distributed" if dense_only || optimizer == "lamb" => Some("cannot update one by one"),
            "is_distributed" if self.is_geo() => Some("GEO needs `table` whole"),
            _ => None,
        }
    }

    /// Servers decay the rows of a hashed table that a gradient names; one process refuses to decay all it has.
    pub(super) fn is_refused_alone(&self) -> bool {
        TABLES[self.table] == "is_distributed" && matches!(DECAYS[self.decay], "L1" | "L2")
    }

    /// Every mode, with one trainer and two, and a schedule that warms up to another one.
    pub(super) fn to_resume() -> Vec<Case> {
        let modes = MODES.iter().flat_map(|mode| [1, 2].map(|trainers| (*mode, trainers)));
        let adam = OPTIMIZERS.iter().position(|name| *name == "adam").expect("adam");
        let case = |(mode, trainers)| Case {
            schedule: RATES - 3,
            optimizer: adam,
            decay: 3,
            clip: 0,
            mode,
            table: 1,
            trainers,
        };
        modes.map(case).collect()
    }

    pub(super) fn is_geo(&self) -> bool {
        self.mode == Mode::Fleet(Strategy::Geo)
    }

    /// The same with a table that is a tensor.
    pub(super) fn with_a_tensor(&self) -> Case {
        Case { table: 0, optimizer: 0, ..*self }
    }

    /// Do servers count the steps of all trainers together?
    pub(super) fn counts_pushes(&self) -> bool {
        matches!(self.mode, Mode::Async | Mode::Fleet(Strategy::HalfAsync | Strategy::Async))
    }

    /// Is a step computed from parameters as they were before the last push?
    pub(super) fn is_late(&self) -> bool {
        self.mode == Mode::Fleet(Strategy::Async)
    }

    /// Is what is learned the same as in one process?
    pub(super) fn equals_one_process(&self) -> bool {
        !self.is_refused_alone()
            && (self.trainers == 1 || matches!(self.mode, Mode::Sync | Mode::Fleet(Strategy::Sync)))
    }

    pub(super) fn config(&self) -> Config {
        let config = Config { min_block_size: 4, geo_sgd_need_push_nums: 1, ..Config::fluid() };
        match self.mode {
            Mode::Sync => config,
            Mode::Async => Config { sync_mode: false, ..config },
            Mode::Fleet(strategy) => strategy.config(config),
        }
    }

    /// The network with its optimizer.
    pub(super) fn model(&self) -> Result<Model> {
        let mut net = Net::new();
        net.seed(1);
        let loss = if self.is_late() { self.linear(&mut net)? } else { self.regression(&mut net)? };
        let mut optimizer = Optimizer::new(self.rule(), self.rate(&mut net)?);
        optimizer = match DECAYS[self.decay] {
            "L1" => optimizer.regularization(Decay::L1(0.01)),
            "L2" => optimizer.regularization(Decay::L2(0.01)),
            _ => optimizer,
        };
        optimizer = match CLIPS[self.clip] {
            "by value" => optimizer.grad_clip(Clip::Value { min: -0.05, max: 0.05 }),
            "by norm" => optimizer.grad_clip(Clip::Norm(0.05)),
            "by global norm" => optimizer.grad_clip(Clip::GlobalNorm { norm: 0.1, group: "all".into() }),
            _ => optimizer,
        };
        optimizer.minimize(&mut net, &loss)?;
        let updates = net.main.global().ops.iter().filter(|op| !op.inputs.get("Param").is_empty());
        let rates: BTreeSet<String> =
            updates.flat_map(|op| op.inputs.get("LearningRate")).map(|name| name.to_string()).collect();
        let loss = loss.name().to_string();
        Ok(Model { net, loss, rates: rates.into_iter().collect() })
    }

    fn rate(&self, net: &mut Net) -> Result<LearningRate> {
        let warmup =
            |net: &mut Net, rate: LearningRate| net.linear_lr_warmup(rate, 3.0, 0.02, 0.08).map(LearningRate::Var);
        match self.schedule {
            0 => Ok(LearningRate::Value(0.1)),
            1 => warmup(net, LearningRate::Value(0.1)),
            n if n < 2 + SCHEDULES.len() => (SCHEDULES[n - 2].1)(net).map(LearningRate::Var),
            n => {
                let then = (SCHEDULES[n - 2 - SCHEDULES.len()].1)(net)?;
                warmup(net, LearningRate::Var(then))
            }
        }
    }

    fn schedule_name(&self) -> String {
        match self.schedule {
            0 => "constant".into(),
            1 => "warmup".into(),
            n if n < 2 + SCHEDULES.len() => SCHEDULES[n - 2].0.into(),
            n => format!("warmup to {}", SCHEDULES[n - 2 - SCHEDULES.len()].0),
        }
    }

    fn rule(&self) -> Box<dyn Rule> {
        match OPTIMIZERS[self.optimizer] {
            "sgd" => Box::new(optimizer::sgd(0.0).rule),
            "momentum" => Box::new(optimizer::momentum(0.0, 0.9).rule),
            "nesterov" => Box::new(optimizer::momentum(0.0, 0.9).use_nesterov(true).rule),
            // Larger than usual: within a few steps the rate should matter.
            "lars_momentum" => Box::new(optimizer::lars_momentum(0.0, 0.9).lars_coeff(0.1).rule),
            "adagrad" => Box::new(optimizer::adagrad(0.0).rule),
            "adam" => Box::new(optimizer::adam(0.0).rule),
            "lazy_adam" => Box::new(optimizer::adam(0.0).lazy_mode(true).rule),
            "adamax" => Box::new(optimizer::adamax(0.0).rule),
            "decayed_adagrad" => Box::new(optimizer::decayed_adagrad(0.0).rule),
            "adadelta" => Box::new(optimizer::adadelta(0.0).rule),
            "rmsprop" => Box::new(optimizer::rmsprop(0.0).momentum(0.5).rule),
            "ftrl" => Box::new(optimizer::ftrl(0.0).l1(0.001).l2(0.001).rule),
            "lamb" => Box::new(optimizer::lamb(0.0).rule),
            "dpsgd" => Box::new(optimizer::dpsgd(0.0).clip(1.0).batch_size(4.0).sigma(0.0).seed(3).rule),
            other => panic!("{other}"),
        }
    }

    /// The attributes of the parameter that may have a decay and a rate of its own.
    fn special(&self, name: &str) -> ParamAttr {
        let attr = ParamAttr::name(name).initializer(Initializer::uniform(-0.5, 0.5));
        match DECAYS[self.decay] {
            "L2 and a rate of one parameter" => attr.regularizer(Decay::L2(0.02)).learning_rate(0.5),
            _ => attr,
        }
    }

    fn rows(&self, net: &mut Net) -> Result<[VarRef; 2]> {
        let table = Embedding::size(ROWS, 3)
            .is_sparse(TABLES[self.table] != "dense")
            .is_distributed(TABLES[self.table] == "is_distributed")
            .param_attr(ParamAttr::name("table").initializer(Initializer::uniform(-0.5, 0.5)));
        let mut look_up = |name: &str| {
            let ids = net.checked_data(name, &[-1, 1], DType::I64, 0)?;
            net.embedding(&ids, table.clone())
        };
        Ok([look_up("a")?, look_up("b")?])
    }

    /// Two slots of one table and four numbers give one.
    fn regression(&self, net: &mut Net) -> Result<VarRef> {
        let [a, b] = self.rows(net)?;
        let x = net.checked_data("x", &[-1, 4], DType::F32, 0)?;
        let y = net.checked_data("y", &[-1, 1], DType::F32, 0)?;
        let all = net.concat(&[&a, &b, &x], 1)?;
        let hidden = Fc::size(4).act("tanh").param_attr(self.special("w0")).bias_attr(ParamAttr::name("b0"));
        let hidden = net.fc(&all, hidden)?;
        let found = net.fc(&hidden, Fc::size(1).param_attr(ParamAttr::name("w1")).bias_attr(ParamAttr::name("b1")))?;
        let cost = net.square_error_cost(&found, &y)?;
        net.mean(&cost)
    }

    /// A loss whose gradient does not depend on the parameters: it is the same for all parameters with which a trainer starts.
    fn linear(&self, net: &mut Net) -> Result<VarRef> {
        let [a, b] = self.rows(net)?;
        let x = net.checked_data("x", &[-1, 4], DType::F32, 0)?;
        let y = net.checked_data("y", &[-1, 1], DType::F32, 0)?;
        let line = net.fc(&x, Fc::size(1).param_attr(self.special("w0")).bias_attr(ParamAttr::name("b0")))?;
        let line = net.elementwise_mul(&line, &y, Elementwise::new())?;
        let rows = net.elementwise_add(&a, &b, Elementwise::new())?;
        let rows = net.elementwise_mul(&rows, &y, Elementwise::new())?;
        let [line, rows] = [net.mean(&line)?, net.mean(&rows)?];
        net.elementwise_add(&line, &rows, Elementwise::new())
    }

    /// A batch of one step, or a part of it.
    pub(super) fn feed(&self, step: usize, from: usize, count: usize) -> Vec<(&'static str, Tensor)> {
        let number = |at: usize, of: usize| ((at * 37 + step * 11 + of * 17) % 23) as f32 / 11.0 - 1.0;
        let id = |at: usize, of: usize| ((at * 7 + step * 5 + of * 3) % ROWS) as i64;
        let ids = |of: usize| (from..from + count).map(|at| id(at, of)).collect::<Vec<i64>>();
        let x: Vec<f32> = (from..from + count).flat_map(|at| (0..4).map(move |of| number(at, of))).collect();
        let y: Vec<f32> = (from..from + count).map(|at| 2.0 * number(at, 9)).collect();
        vec![
            ("a", Tensor::from_slice([count, 1], &ids(0)).unwrap()),
            ("b", Tensor::from_slice([count, 1], &ids(1)).unwrap()),
            ("x", Tensor::from_slice([count, 4], &x).unwrap()),
            ("y", Tensor::from_slice([count, 1], &y).unwrap()),
        ]
    }
}

/// A network, its loss, and the rates that its updates read.
pub(super) struct Model {
    pub(super) net: Net,
    pub(super) loss: String,
    pub(super) rates: Vec<String>,
}

/// The rows of the table.
const ROWS: usize = 12;

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (decay, clip, table) = (DECAYS[self.decay], CLIPS[self.clip], TABLES[self.table]);
        let mode = match self.mode {
            Mode::Sync => "transpiler, sync".to_string(),
            Mode::Async => "transpiler, async".to_string(),
            Mode::Fleet(strategy) => format!("fleet, {}", strategy.name()),
        };
        let (schedule, optimizer) = (self.schedule_name(), OPTIMIZERS[self.optimizer]);
        write!(f, "[{schedule} | {optimizer} | {decay} | {clip} | {mode} | {table} | {} trainers]", self.trainers)
    }
}
