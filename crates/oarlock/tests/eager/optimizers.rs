//! Optimizers on eager parameters give the bits that programs give.

use std::sync::Arc;

use oarlock::eager::{BackwardOptions, EagerOptimizer, LeafGradient, MakeOptimizer, ParamGrad};
use oarlock::ir::{Clip, Decay, VarMeta};
use oarlock::optimizer::{self as rules, Optimizer, Rule};
use oarlock::prelude::*;
use oarlock::{ExecOptions, Initializer, JobOptions, JobRuntime};

use super::{engine, values};

const RATE: f64 = 0.1;
const FIRST: [f32; 4] = [0.5, -0.25, 2.0, -1.5];
const STEPS: [[f32; 4]; 4] =
    [[1.0, 2.0, 3.0, -4.0], [0.5, -1.0, 0.25, 2.0], [-3.0, 0.0, 1.0, 1.5], [2.0, 2.0, -2.0, 0.125]];

fn boxed(rule: impl Rule + 'static) -> Box<dyn Rule> {
    Box::new(rule)
}

fn rule(name: &str) -> Box<dyn Rule> {
    match name {
        "sgd" => boxed(rules::sgd(RATE).rule),
        "momentum" => boxed(rules::momentum(RATE, 0.9).rule),
        "adam" => boxed(rules::adam(RATE).rule),
        "adamax" => boxed(rules::adamax(RATE).rule),
        "adagrad" => boxed(rules::adagrad(RATE).rule),
        "decayed_adagrad" => boxed(rules::decayed_adagrad(RATE).rule),
        "adadelta" => boxed(rules::adadelta(RATE).rule),
        "rmsprop" => boxed(rules::rmsprop(RATE).rule),
        "ftrl" => boxed(rules::ftrl(RATE).rule),
        "lamb" => boxed(rules::lamb(RATE).rule),
        name => boxed({
            assert_eq!(name, "lars_momentum");
            rules::lars_momentum(RATE, 0.9).rule
        }),
    }
}

fn optimizer(name: &str, decay: Option<Decay>, clip: Option<Clip>) -> Optimizer<Box<dyn Rule>> {
    let mut made = Optimizer::new(rule(name), RATE);
    if let Some(decay) = decay {
        made = made.regularization(decay);
    }
    if let Some(clip) = clip {
        made = made.grad_clip(clip);
    }
    made
}

fn vector(values: &[f32]) -> Tensor {
    Tensor::from_slice([values.len()], values).unwrap()
}

/// The parameter after every step of a program.
fn in_a_program(mut optimizer: Optimizer<Box<dyn Rule>>) -> Vec<Vec<f64>> {
    let mut net = Net::new();
    let x = net.checked_data("x", &[4], DType::F32, 0).unwrap();
    let first = ParamAttr::name("w").initializer(Initializer::Value(vector(&FIRST)));
    let w = net.create_parameter(&[4], DType::F32, &first).unwrap();
    let product = net.times(&w, &x).unwrap();
    let loss = net.mean(&product).unwrap();
    optimizer.minimize(&mut net, &loss).unwrap();
    let options = ExecOptions {
        registry: net.registry().clone(),
        threads: 1,
        fuse: true,
        without_fusions: Vec::new(),
        check_nan_inf: false,
    };
    let exe = Executor::new(options, Arc::new(JobRuntime::new(1, JobOptions::default())));
    let scope = Scope::new();
    exe.run(&net.startup, &[], &[], &scope).unwrap();
    let step = |x: &[f32; 4]| {
        exe.run(&net.main, &[("x", &vector(x))], &[], &scope).unwrap();
        scope.tensor("w").unwrap().to_f64()
    };
    STEPS.iter().map(step).collect()
}

/// The parameter after every eager step.
fn eagerly(make: MakeOptimizer) -> Vec<Vec<f64>> {
    let engine = engine();
    let w = engine.tensor(vector(&FIRST));
    w.set_stop_gradient(false);
    w.set_name("w");
    let mut optimizer = EagerOptimizer::new(&engine, make, RATE);
    let mut step = |x: &[f32; 4]| {
        let product = super::binary(&engine, "elementwise_mul", &w, &engine.tensor(vector(x)));
        let loss = super::unary(&engine, "mean", &product);
        let options = BackwardOptions { leaves: LeafGradient::Overwrite, ..BackwardOptions::default() };
        engine.backward(&[(loss, None)], options).unwrap();
        let pair = ParamGrad { param: w.clone(), grad: w.grad().unwrap(), meta: VarMeta::default() };
        optimizer.step(&engine, &[pair]).unwrap();
        values(&w)
    };
    STEPS.iter().map(&mut step).collect()
}

#[test]
fn every_optimizer_decay_and_limit_equals_the_program() {
    const NAMES: [&str; 11] = [
        "sgd",
        "momentum",
        "adam",
        "adamax",
        "adagrad",
        "decayed_adagrad",
        "adadelta",
        "rmsprop",
        "ftrl",
        "lamb",
        "lars_momentum",
    ];
    let decays = [None, Some(Decay::L1(0.01)), Some(Decay::L2(0.1))];
    let clips = [
        None,
        Some(Clip::Value { min: -0.3, max: 0.4 }),
        Some(Clip::Norm(0.5)),
        Some(Clip::GlobalNorm { norm: 0.5, group: "default_group".into() }),
    ];
    for name in NAMES {
        for decay in decays {
            for clip in &clips {
                let program = in_a_program(optimizer(name, decay, clip.clone()));
                let clip = clip.clone();
                let what = format!("{name} {decay:?} {clip:?}");
                let eager = eagerly(Box::new(move || Ok(optimizer(name, decay, clip.clone()))));
                assert_eq!(eager, program, "{what}");
            }
        }
    }
}

#[test]
fn state_goes_on_after_it_was_saved_and_loaded() {
    let make = || -> MakeOptimizer { Box::new(|| Ok(optimizer("adam", None, None))) };
    let whole = eagerly(make());
    let engine = engine();
    let w = engine.tensor(vector(&FIRST));
    w.set_stop_gradient(false);
    w.set_name("w");
    let mut optimizer = EagerOptimizer::new(&engine, make(), RATE);
    for (at, x) in STEPS.iter().enumerate() {
        if at == 2 {
            let state = optimizer.state().unwrap();
            let names: Vec<String> = state.iter().map(|(n, _)| n.to_string()).collect();
            assert!(names.contains(&"w_moment1_0".into()) && names.contains(&"w_beta1_pow_acc_0".into()), "{names:?}");
            optimizer = EagerOptimizer::new(&engine, make(), RATE);
            state.into_iter().for_each(|(name, value)| optimizer.load_state(&name, value).unwrap());
        }
        let product = super::binary(&engine, "elementwise_mul", &w, &engine.tensor(vector(x)));
        let loss = super::unary(&engine, "mean", &product);
        w.set_grad(None);
        engine.backward(&[(loss, None)], BackwardOptions::default()).unwrap();
        let pair = ParamGrad { param: w.clone(), grad: w.grad().unwrap(), meta: VarMeta::default() };
        optimizer.step(&engine, &[pair]).unwrap();
        assert_eq!(values(&w), whole[at]);
    }
}
