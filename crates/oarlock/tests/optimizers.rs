//! Wrappers around optimizers, averages and weight norm: their programs against those of Fluid 1.8, and what they compute.

use oarlock::WeightNorm;
use oarlock::ir::{Op, Role, Var};
use oarlock::optimizer::{
    DgcMomentum, ExponentialMovingAverage, GradientMerge, Lookahead, ModelAverage, Pipeline, PipelineOptions, Recompute,
};
use oarlock::prelude::*;
use oarlock_testkit::{Npz, Tolerance, assert_close};

use crate::fluid::{assert_same, program_archive, read};
use crate::programs::Build;
use crate::train::{CLOSE, replay_net};

fn dense(net: &mut Net) -> Result<VarRef> {
    let x = net.data("x", Data::shape([4]))?;
    let hidden = net.fc(&x, Fc::size(3).act("relu"))?;
    loss_of(net, &hidden)
}

fn loss_of(net: &mut Net, hidden: &VarRef) -> Result<VarRef> {
    let predicted = net.fc(hidden, Fc::size(1))?;
    let y = net.data("y", Data::shape([1]))?;
    let cost = net.square_error_cost(&predicted, &y)?;
    net.mean(&cost)
}

/// Four layers and what each of them puts out.
fn deep(net: &mut Net, dropout: bool, shared: bool) -> Result<(VarRef, Vec<VarRef>)> {
    let mut hidden = net.data("x", Data::shape([4]))?;
    let mut outs = Vec::new();
    for i in 0..4 {
        let attr = if shared { ParamAttr::name("shared") } else { ParamAttr::new() };
        hidden = net.fc(&hidden, Fc::size(4).act("relu").param_attr(attr))?;
        outs.push(hidden.clone());
        if dropout {
            hidden = net.dropout(&hidden, Dropout::prob(0.25).seed(Some(i + 1)))?;
        }
    }
    Ok((loss_of(net, &hidden)?, outs))
}

fn weight_norm(net: &mut Net, attr: ParamAttr) -> Result<()> {
    let x = net.data("x", Data::shape([4]))?;
    let hidden = net.fc(&x, Fc::size(3).param_attr(attr))?;
    let loss = loss_of(net, &hidden)?;
    optimizer::sgd(0.1).minimize(net, &loss).map(|_| ())
}

const WRAPPERS: [(&str, Build); 12] = [
    ("opt_adamax", |net| {
        let loss = dense(net)?;
        optimizer::adamax(0.05).minimize(net, &loss).map(|_| ())
    }),
    ("opt_lamb", |net| {
        let loss = dense(net)?;
        let exclude = |name: &str| name.ends_with("b_0");
        optimizer::lamb(0.05).exclude_from_weight_decay(exclude).minimize(net, &loss).map(|_| ())
    }),
    ("opt_dpsgd", |net| {
        let loss = dense(net)?;
        optimizer::dpsgd(0.05).clip(0.5).batch_size(16.0).sigma(0.0).minimize(net, &loss).map(|_| ())
    }),
    ("opt_lookahead", |net| {
        let loss = dense(net)?;
        Lookahead::new(optimizer::sgd(0.1), 0.4, 2)?.minimize(net, &loss).map(|_| ())
    }),
    ("opt_recompute", |net| {
        let (loss, outs) = deep(net, false, false)?;
        Recompute::new(optimizer::sgd(0.1), &[&outs[0], &outs[2]]).minimize(net, &loss).map(|_| ())
    }),
    ("opt_recompute_one", |net| {
        let (loss, outs) = deep(net, false, false)?;
        Recompute::new(optimizer::sgd(0.1), &[&outs[1]]).minimize(net, &loss).map(|_| ())
    }),
    ("opt_recompute_dropout", |net| {
        let (loss, outs) = deep(net, true, false)?;
        Recompute::new(optimizer::adam(0.05), &[&outs[0], &outs[1], &outs[3]]).minimize(net, &loss).map(|_| ())
    }),
    ("opt_recompute_shared", |net| {
        let (loss, outs) = deep(net, false, true)?;
        Recompute::new(optimizer::momentum(0.1, 0.9), &[&outs[1], &outs[3]]).minimize(net, &loss).map(|_| ())
    }),
    ("opt_weight_norm", |net| weight_norm(net, ParamAttr::weight_norm(None))),
    ("opt_weight_norm_first", |net| weight_norm(net, ParamAttr::weight_norm(Some(0)).named("wn"))),
    ("opt_weight_norm_last", |net| weight_norm(net, ParamAttr::weight_norm(Some(1)).named("wn"))),
    ("opt_weight_norm_middle", |net| {
        let x = net.data("x", Data::shape([2, 4, 4]))?;
        let attr = ParamAttr { weight_norm: Some(WeightNorm { dim: Some(1) }), ..ParamAttr::name("wn") };
        let hidden = net.conv2d(&x, Conv::new(3, 3).param_attr(attr))?;
        let loss = loss_of(net, &hidden)?;
        optimizer::sgd(0.1).minimize(net, &loss).map(|_| ())
    }),
];

fn seeded() -> Net {
    let mut net = Net::new();
    net.seed(7);
    net
}

fn assert_program(name: &str, part: &str, net: &Net, ours: &Program, npz: &Npz) {
    let what = format!("{name} {part}");
    let theirs = read(&what, npz.array(&format!("program/{part}")).bytes());
    let mut ours = ours.clone();
    // Fluid declares what is computed again as bool unless inference says otherwise, and what is restored from a backup of no
    // known size as empty; ours are declared as they are written.
    let otherwise = |v: &Var| v.name.contains(".subprog_") || (part == "restore" && v.shape.to_i64() == [0]);
    for var in theirs.global().vars.values().filter(|v| otherwise(v)) {
        assert!(ours.global().var(&var.name).is_some(), "{what}: no `{}`", var.name);
        ours.global_mut().set_var(var.clone());
    }
    assert_same(&what, &ours, &theirs, net.registry());
}

#[test]
fn wrappers_build_and_compute_what_fluid_does() {
    for (name, build) in WRAPPERS {
        let npz = program_archive(name);
        let mut net = seeded();
        build(&mut net).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_program(name, "main", &net, &net.main, &npz);
        assert_program(name, "startup", &net, &net.startup, &npz);
        replay_net(name, &net, &["mean_0.tmp_0"], &npz);
    }
}

/// The programs of an average, and what they leave in the scope.
fn check_average(name: &str, net: &Net, apply: &Program, restore: &Program) {
    let npz = program_archive(name);
    assert_program(name, "main", net, &net.main, &npz);
    assert_program(name, "startup", net, &net.startup, &npz);
    assert_program(name, "apply", net, apply, &npz);
    assert_program(name, "restore", net, restore, &npz);
    let scope = replay_net(name, net, &["mean_0.tmp_0"], &npz);
    for (program, when) in [(apply, "applied/"), (restore, "restored/")] {
        executor().run(program, &[], &[], &scope).unwrap_or_else(|e| panic!("{name}: {e}"));
        for key in npz.names().filter(|k| k.starts_with(when)) {
            let found = scope.tensor(&key[when.len()..]).unwrap_or_else(|| panic!("{name}: no {key}"));
            assert_close(&format!("{name}: {key}"), &found, npz.array(key), CLOSE);
        }
    }
}

#[test]
fn averages_stand_in_for_parameters() -> Result<()> {
    let mut net = seeded();
    let loss = dense(&mut net)?;
    optimizer::sgd(0.1).minimize(&mut net, &loss)?;
    let average = ModelAverage::new(&mut net, 0.5, (2, 3))?;
    check_average("opt_model_average", &net, &average.apply_program, &average.restore_program);

    let mut net = seeded();
    let loss = dense(&mut net)?;
    optimizer::sgd(0.1).minimize(&mut net, &loss)?;
    let steps = net.autoincreased_step_counter(Some("steps"), 1, 1)?;
    let steps = net.cast(&steps, DType::F32)?;
    let average = ExponentialMovingAverage::new(&mut net, 0.9, Some(&steps), "")?;
    average.update(&mut net)?;
    check_average("opt_ema_steps", &net, &average.apply_program, &average.restore_program);
    Ok(())
}

fn executor() -> Executor {
    Options { threads: 1, check_nan_inf: false }.executor()
}

/// Numbers that repeat, in -0.5..0.5.
fn numbers(rows: usize, columns: usize, seed: usize) -> Tensor {
    let number = |i: usize| ((i * 7919 + seed * 104_729) % 1000) as f32 / 1000.0 - 0.5;
    Tensor::from_slice([rows, columns], &(0..rows * columns).map(number).collect::<Vec<f32>>())
        .expect("as many numbers")
}

/// Trains on batches `(x, y)`; returns the scope.
fn train(exe: &Executor, net: &Net, batches: &[(Tensor, Tensor)]) -> Scope {
    let scope = Scope::new();
    exe.run(&net.startup, &[], &[], &scope).unwrap_or_else(|e| panic!("{e}"));
    for (x, y) in batches {
        exe.run(&net.main, &[("x", x), ("y", y)], &[], &scope).unwrap_or_else(|e| panic!("{e}"));
    }
    scope
}

fn batches(count: usize, rows: usize, columns: usize) -> Vec<(Tensor, Tensor)> {
    (0..count).map(|i| (numbers(rows, columns, i), numbers(rows, 1, i + 100))).collect()
}

/// Every parameter and state of `expected` is in `found`, within a tolerance.
fn assert_scopes(what: &str, found: &Scope, expected: &Scope, tolerance: Tolerance) {
    for name in expected.names() {
        let (Some(a), Some(b)) = (found.tensor(&name), expected.tensor(&name)) else { continue };
        assert_close(&format!("{what}: `{name}`"), &a, &b, tolerance);
    }
}

/// A deep net with everything that recomputation must be careful with; `checkpoints` is the number of layers between two of them.
fn careful(every: Option<usize>) -> Result<Net> {
    let mut net = seeded();
    let mut hidden = net.data("x", Data::shape([16]))?;
    let mut outs = Vec::new();
    for i in 0..12 {
        hidden = net.fc(&hidden, Fc::size(16).act("relu"))?;
        hidden = net.batch_norm(&hidden, BatchNorm::new())?;
        hidden = net.dropout(&hidden, Dropout::prob(0.5).seed(Some(i + 1)))?;
        outs.push(hidden.clone());
    }
    let loss = loss_of(&mut net, &hidden)?;
    match every {
        Some(n) => {
            let checkpoints: Vec<&VarRef> = outs.iter().skip(n - 1).step_by(n).collect();
            Recompute::new(optimizer::adam(0.01), &checkpoints).minimize(&mut net, &loss)?;
        }
        None => {
            optimizer::adam(0.01).minimize(&mut net, &loss)?;
        }
    }
    Ok(net)
}

#[test]
fn recomputation_changes_no_bit() -> Result<()> {
    let steps = batches(3, 8, 16);
    let plain = train(&executor(), &careful(None)?, &steps);
    for every in [1, 3, 12] {
        let found = train(&executor(), &careful(Some(every))?, &steps);
        assert_scopes(&format!("checkpoints every {every} layers"), &found, &plain, Tolerance::EXACT);
    }
    Ok(())
}

#[test]
fn recomputation_draws_the_same_random_numbers_again() -> Result<()> {
    let mut net = Net::new();
    let x = net.data("x", Data::shape([64]).stop_gradient(false))?;
    let first = net.scale(&x, Scale::by(1.0))?;
    let dropped = net.dropout(&first, Dropout::prob(0.5))?;
    let second = net.scale(&dropped, Scale::by(1.0))?;
    let loss = net.mean(&second)?;
    let options = oarlock::Backward::new().checkpoints(vec![first.name().clone(), second.name().clone()]);
    net.append_backward(&loss, options)?;
    let fetches = [dropped.name().as_str(), "x@GRAD"];
    let x = Tensor::from_slice([4, 64], &[1.0f32; 256]).expect("256 numbers");
    let out = executor().run_tensors(&net.main, &[("x", &x)], &fetches, &Scope::new())?;
    let (kept, grads) = (out[0].data::<f32>().expect("f32"), out[1].data::<f32>().expect("f32"));
    assert!(kept.contains(&0.0) && kept.contains(&1.0), "some elements are dropped, some kept");
    assert!(kept.iter().zip(grads).all(|(k, g)| (*k != 0.0) == (*g != 0.0)), "the same ones as in the gradient");
    Ok(())
}

#[test]
fn recomputation_takes_less_memory() -> Result<()> {
    let peak = |checkpoints: bool| -> Result<usize> {
        let mut net = seeded();
        let mut hidden = net.data("x", Data::shape([64]))?;
        let mut outs = Vec::new();
        for _ in 0..36 {
            hidden = net.fc(&hidden, Fc::size(64).act("tanh"))?;
            outs.push(hidden.clone());
        }
        let loss = loss_of(&mut net, &hidden)?;
        let every_sixth: Vec<&VarRef> = outs.iter().skip(5).step_by(6).collect();
        if checkpoints {
            Recompute::new(optimizer::sgd(0.1), &every_sixth).minimize(&mut net, &loss)?;
        } else {
            optimizer::sgd(0.1).minimize(&mut net, &loss)?;
        }
        let exe = executor();
        train(&exe, &net, &batches(2, 512, 64));
        Ok(exe.memory(&net.main).expect("it ran").peak_bytes)
    };
    let (with, without) = (peak(true)?, peak(false)?);
    assert!(with * 2 < without, "{with} bytes with checkpoints, {without} without");
    Ok(())
}

#[test]
fn recomputation_says_what_it_cannot_do() -> Result<()> {
    let mut net = seeded();
    let loss = dense(&mut net)?;
    let error = Recompute::new(optimizer::sgd(0.1), &[]).minimize(&mut net, &loss).expect_err("no checkpoints");
    assert_eq!(
        error.to_string(),
        "error[argument]: recomputation needs checkpoints, but has none\n  \
         help: name variables to keep, such as the output of every few layers"
    );
    Ok(())
}

#[test]
fn merged_gradients_are_those_of_one_large_batch() -> Result<()> {
    let rows = |t: &Tensor, from: usize, columns: usize| {
        let part = t.data::<f32>().expect("f32")[from * columns..(from + 4) * columns].to_vec();
        Tensor::from_slice([4, columns], &part).expect("four rows")
    };
    let large = batches(3, 12, 4);
    let split = |(x, y): &(Tensor, Tensor)| [0, 4, 8].map(|at| (rows(x, at, 4), rows(y, at, 1)));
    let small: Vec<(Tensor, Tensor)> = large.iter().flat_map(split).collect();
    let clip = || Clip::GlobalNorm { norm: 0.5, group: "default_group".into() };
    let inner = || optimizer::momentum(0.1, 0.9).grad_clip(clip()).regularization(Decay::L2(0.01));

    let mut plain = seeded();
    let loss = dense(&mut plain)?;
    inner().minimize(&mut plain, &loss)?;
    let mut merged = seeded();
    let loss = dense(&mut merged)?;
    GradientMerge::new(inner(), 3)?.minimize(&mut merged, &loss)?;
    let close = Tolerance::new(1e-5, 1e-6);
    assert_scopes("merged", &train(&executor(), &merged, &small), &train(&executor(), &plain, &large), close);
    // Two batches later nothing has been updated.
    let exe = executor();
    let (before, after) = (train(&exe, &merged, &small[..3]), train(&exe, &merged, &small[..5]));
    for param in merged.main.parameters() {
        let (a, b) = (before.tensor(&param.name), after.tensor(&param.name));
        assert_eq!(a.map(|t| t.to_f64()), b.map(|t| t.to_f64()), "{}", param.name);
    }
    // A program to test with has neither sums nor updates.
    let test = oarlock::ir::clone_for_test(&merged.main)?;
    assert!(test.global().ops.iter().all(|op| op.role() == Role::FORWARD || op.role().has(Role::LOSS)));
    Ok(())
}

#[test]
fn merged_gradients_of_rows_are_dense_and_sums_are_not_divided() -> Result<()> {
    let build = |merge: bool| -> Result<Net> {
        let mut net = seeded();
        let ids = net.data("x", Data::shape([1]).dtype(DType::I64))?;
        let rows = net.embedding(&ids, Embedding::size(6, 3).is_sparse(true))?;
        let loss = loss_of(&mut net, &rows)?;
        match merge {
            true => GradientMerge::new(optimizer::sgd(0.1), 2)?.avg(false).minimize(&mut net, &loss)?,
            false => optimizer::sgd(0.2).minimize(&mut net, &loss)?,
        };
        Ok(net)
    };
    let ids = |ids: Vec<i64>| Tensor::from_slice([ids.len(), 1], &ids).expect("a column");
    let y = numbers(4, 1, 1);
    let halves = |t: &Tensor| {
        let all = t.data::<f32>().expect("f32");
        [&all[..2], &all[2..]].map(|half| Tensor::from_slice([2, 1], half).expect("two"))
    };
    let [first, second] = halves(&y);
    let small = [(ids(vec![1, 4]), first), (ids(vec![4, 0]), second)];
    let plain = build(false)?;
    let found = train(&executor(), &build(true)?, &small);
    let expected = train(&executor(), &plain, &[(ids(vec![1, 4, 4, 0]), y)]);
    for param in plain.main.parameters() {
        let value = |scope: &Scope| scope.tensor(&param.name).expect("a parameter");
        assert_close(&param.name, &value(&found), &value(&expected), Tolerance::new(1e-5, 1e-6));
    }
    Ok(())
}

/// A net with one parameter that is large enough for compression.
fn wide(net: &mut Net) -> Result<VarRef> {
    let x = net.data("x", Data::shape([128]))?;
    let hidden = net.fc(&x, Fc::size(128))?;
    loss_of(net, &hidden)
}

#[test]
fn compression_begins_after_the_ramp_up() -> Result<()> {
    let build = |minimize: &dyn Fn(&mut Net, &VarRef) -> Result<()>| -> Result<Net> {
        let mut net = seeded();
        let loss = wide(&mut net)?;
        minimize(&mut net, &loss)?;
        Ok(net)
    };
    let compressed = build(&|net, loss| {
        let mut dgc = DgcMomentum::new(0.1, 0.9, 2).sparsity(vec![0.75]).regularization(Decay::L2(0.01));
        dgc.minimize(net, loss).map(|_| ())
    })?;
    let plain = build(&|net, loss| {
        let mut momentum = optimizer::momentum(0.1, 0.9).regularization(Decay::L2(0.01));
        momentum.minimize(net, loss).map(|_| ())
    })?;
    let types: Vec<&str> = compressed.main.global().ops.iter().map(|op| op.op_type.as_str()).collect();
    assert_eq!(types[0], "increment");
    let count = |op_type: &str| types.iter().filter(|t| **t == op_type).count();
    assert_eq!([count("dgc"), count("dgc_momentum"), count("momentum")], [1, 1, 3]);

    let steps = batches(3, 8, 128);
    let weight = |scope: &Scope| scope.tensor("fc_0.w_0").expect("the weight").to_f64();
    let at = |net: &Net, n: usize| weight(&train(&executor(), net, &steps[..n]));
    let (ours, theirs) = (at(&compressed, 2), at(&plain, 2));
    assert!(ours.iter().zip(&theirs).all(|(a, b)| (a - b).abs() < 1e-6), "momentum while it warms up");
    let changed = ours.iter().zip(at(&compressed, 3)).filter(|(a, b)| **a != *b).count();
    assert!(changed > 0 && changed <= 128 * 128 / 4, "{changed} elements changed, a quarter at most should");
    Ok(())
}

#[test]
fn a_pipeline_trains_as_its_optimizer_does() -> Result<()> {
    let mut plain = seeded();
    let loss = dense(&mut plain)?;
    optimizer::adam(0.05).minimize(&mut plain, &loss)?;

    let mut net = seeded();
    let x = net.data("x", Data::shape([4]))?;
    let hidden = net.fc(&x, Fc::size(3).act("relu"))?;
    let loss = loss_of(&mut net, &hidden)?;
    let options = PipelineOptions::new().cut_list(vec![vec![hidden], vec![loss.clone()]]).queue_size(2);
    let two = options.clone().concurrency_list(vec![1, 4]);
    let error = Pipeline::new(optimizer::adam(0.05), two).minimize(&mut net, &loss).expect_err("two for three");
    assert_eq!(
        error.to_string(),
        "error[argument]: `concurrency_list` has 2 entries, but a `cut_list` of 2 makes sections: 3, backward included\n  \
         help: give one entry for each section, or leave `concurrency_list` out"
    );
    let three = options.concurrency_list(vec![1, 1, 4]);
    Pipeline::new(optimizer::adam(0.05), three).minimize(&mut net, &loss)?;
    assert_same("pipeline", &net.main, &plain.main, net.registry());
    let steps = batches(5, 6, 4);
    let (found, expected) = (train(&executor(), &net, &steps), train(&executor(), &plain, &steps));
    assert_scopes("pipeline", &found, &expected, Tolerance::EXACT);
    Ok(())
}

#[test]
fn wrappers_go_around_each_other() -> Result<()> {
    let mut net = seeded();
    let (loss, outs) = deep(&mut net, false, false)?;
    let recompute = Recompute::new(optimizer::adam(0.05), &[&outs[1], &outs[3]]);
    Lookahead::new(GradientMerge::new(recompute, 2)?, 0.5, 4)?.minimize(&mut net, &loss)?;
    let scope = train(&executor(), &net, &batches(4, 6, 4));
    let slow = scope.tensor("fc_0.w_0@SLOW").expect("the slow weight").to_f64();
    assert_eq!(slow, scope.tensor("fc_0.w_0").expect("the weight").to_f64());
    Ok(())
}

#[test]
fn programs_save_and_load_variables() -> Result<()> {
    let dir = std::env::temp_dir().join(format!("oarlock-save-op-{}", std::process::id()));
    let path = dir.join("w").to_string_lossy().into_owned();
    let mut net = seeded();
    dense(&mut net)?;
    net.append_op(Op::new("save").input("X", ["fc_0.w_0"]).attr("file_path", path.as_str()))?;
    let scope = train(&executor(), &net, &batches(1, 2, 4));
    let mut load = Program::new();
    let var = net.main.expect_var(0, "fc_0.w_0")?.clone();
    load.global_mut().set_var(var);
    load.global_mut().ops.push(Op::new("load").output("Out", ["fc_0.w_0"]).attr("file_path", path.as_str()));
    let other = Scope::new();
    executor().run(&load, &[], &[], &other)?;
    let value = |scope: &Scope| scope.tensor("fc_0.w_0").expect("the weight").to_f64();
    assert_eq!(value(&other), value(&scope));
    std::fs::remove_dir_all(dir).expect("the directory was made");
    Ok(())
}
