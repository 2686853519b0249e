//! Optimizers, learning-rate schedules and control flow against the programs Fluid 1.8 saved.

use oarlock::optimizer::ExponentialMovingAverage;
use oarlock::prelude::*;

use crate::fluid::{assert_same, program_archive, read};

/// Builds a program of the golden set.
pub(crate) type Build = fn(&mut Net) -> Result<()>;

fn dense(net: &mut Net) -> Result<VarRef> {
    let x = net.data("x", Data::shape([4]))?;
    regression(net, &x)
}

fn sparse(net: &mut Net) -> Result<VarRef> {
    let ids = net.data("ids", Data::shape([1]).dtype(DType::I64))?;
    let rows = net.embedding(&ids, Embedding::size(8, 4).is_sparse(true))?;
    regression(net, &rows)
}

fn regression(net: &mut Net, x: &VarRef) -> Result<VarRef> {
    let y = net.data("y", Data::shape([1]))?;
    let hidden = net.fc(x, Fc::size(3).act("relu"))?;
    let predicted = net.fc(&hidden, Fc::size(1))?;
    let cost = net.square_error_cost(&predicted, &y)?;
    net.mean(&cost)
}

macro_rules! trained {
    ($net:ident by $optimizer:expr) => {
        |net| {
            let loss = $net(net)?;
            $optimizer.minimize(net, &loss).map(|_| ())
        }
    };
}

pub(crate) const OPTIMIZERS: [(&str, Build); 20] = [
    ("opt_sgd", trained!(dense by optimizer::sgd(0.1))),
    ("opt_momentum", trained!(dense by optimizer::momentum(0.1, 0.9))),
    ("opt_adam", trained!(dense by optimizer::adam(0.05))),
    ("opt_adadelta", trained!(dense by optimizer::adadelta(0.5))),
    ("opt_adagrad", trained!(dense by optimizer::adagrad(0.1))),
    ("opt_adagrad_init", trained!(dense by optimizer::adagrad(0.1).initial_accumulator_value(0.1))),
    ("opt_decayed_adagrad", trained!(dense by optimizer::decayed_adagrad(0.1))),
    ("opt_ftrl", trained!(dense by optimizer::ftrl(0.1).l1(0.01).l2(0.01))),
    ("opt_lars", trained!(dense by optimizer::lars_momentum(0.1, 0.9))),
    ("opt_rmsprop", trained!(dense by optimizer::rmsprop(0.01))),
    ("opt_rmsprop_centered", trained!(dense by optimizer::rmsprop(0.01).centered(true).momentum(0.5))),
    ("opt_clip_norm", trained!(dense by optimizer::sgd(0.1).grad_clip(Clip::Norm(0.1)))),
    ("opt_clip_global", trained!(dense by optimizer::sgd(0.1).grad_clip(global_norm()))),
    ("opt_set_gradient_clip", |net| {
        let loss = dense(net)?;
        net.set_gradient_clip(&global_norm(), None)?;
        optimizer::sgd(0.1).minimize(net, &loss).map(|_| ())
    }),
    ("opt_momentum_l2_sparse", trained!(sparse by optimizer::momentum(0.1, 0.9).regularization(Decay::L2(0.1)))),
    ("opt_sparse_sgd", trained!(sparse by optimizer::sgd(0.1))),
    ("opt_sparse_adam", trained!(sparse by optimizer::adam(0.05))),
    ("opt_sparse_adagrad", trained!(sparse by optimizer::adagrad(0.1))),
    ("opt_sparse_rmsprop", trained!(sparse by optimizer::rmsprop(0.01))),
    ("opt_momentum_piecewise", |net| {
        let loss = dense(net)?;
        let rate = net.piecewise_decay(&[2.0, 4.0], &[0.1, 0.05, 0.01])?;
        optimizer::momentum(rate, 0.9).regularization(Decay::L2(0.001)).minimize(net, &loss).map(|_| ())
    }),
];

fn global_norm() -> Clip {
    Clip::GlobalNorm { norm: 0.1, group: "default_group".into() }
}

pub(crate) const ATTRIBUTES: [(&str, Build); 2] = [
    ("opt_param_lr_regularizer", |net| {
        let (x, y) = (net.data("x", Data::shape([4]))?, net.data("y", Data::shape([1]))?);
        let w1 = ParamAttr::name("w1").learning_rate(0.5).regularizer(Decay::L1(0.05));
        let b1 = ParamAttr::name("b1").learning_rate(2.0);
        let hidden = net.fc(&x, Fc::size(3).act("relu").param_attr(w1).bias_attr(b1))?;
        let w2 = ParamAttr::name("w2").trainable(false);
        let predicted = net.fc(&hidden, Fc::size(1).param_attr(w2).bias_attr(false))?;
        let cost = net.square_error_cost(&predicted, &y)?;
        let loss = net.mean(&cost)?;
        optimizer::sgd(0.1).regularization(Decay::L2(0.1)).minimize(net, &loss).map(|_| ())
    }),
    ("opt_ema", |net| {
        let loss = dense(net)?;
        optimizer::sgd(0.1).minimize(net, &loss)?;
        ExponentialMovingAverage::new(net, 0.9, None, "")?.update(net)
    }),
];

pub(crate) const SCHEDULES: [(&str, Build); 9] = [
    ("lr_cosine", |net| net.cosine_decay(0.1, 2.0, 4.0).map(|_| ())),
    ("lr_inverse_time", |net| net.inverse_time_decay(0.1, 3.0, 0.5, false).map(|_| ())),
    ("lr_inverse_time_stair", |net| net.inverse_time_decay(0.1, 3.0, 0.5, true).map(|_| ())),
    ("lr_linear_warmup_const", |net| net.linear_lr_warmup(0.1, 4.0, 0.01, 0.1).map(|_| ())),
    ("lr_natural_exp_stair", |net| net.natural_exp_decay(0.1, 3.0, 0.5, true).map(|_| ())),
    ("lr_noam", |net| net.noam_decay(64.0, 4.0, 1.0).map(|_| ())),
    ("lr_piecewise", |net| net.piecewise_decay(&[3.0, 6.0], &[0.1, 0.05, 0.01]).map(|_| ())),
    ("lr_polynomial", |net| net.polynomial_decay(0.1, 5.0, 0.01, 2.0, false).map(|_| ())),
    ("lr_polynomial_cycle", |net| net.polynomial_decay(0.1, 5.0, 0.01, 1.0, true).map(|_| ())),
];

fn scaled(net: &mut Net, x: &VarRef, by: f64) -> Result<VarRef> {
    net.scale(x, Scale::by(by))
}

fn appended_backward(net: &mut Net, loss: &VarRef) -> Result<()> {
    optimizer::sgd(0.1).backward(net, loss).map(|_| ())
}

fn int(net: &mut Net, value: f64) -> Result<VarRef> {
    net.fill_constant([1], DType::I64, value)
}

pub(crate) const FLOW: [(&str, Build); 7] = [
    ("cond", |net| {
        let x = net.data("x", Data::shape([3]).append_batch_size(false).stop_gradient(false))?;
        let sum = net.reduce_sum(&x, Reduce::all())?;
        let zero = net.fill_constant([1], DType::F32, 0.0)?;
        let pred = net.less_than(&sum, &zero, Compare::new())?;
        let out = net.cond(&pred, |net| Ok(vec![scaled(net, &x, -2.0)?]), |net| Ok(vec![net.square(&x)?]))?;
        let loss = net.mean(&out[0])?;
        appended_backward(net, &loss)
    }),
    ("ifelse", |net| {
        let x = net.data("x", Data::shape([2]).stop_gradient(false))?;
        let zero = net.fill_constant_batch_size_like(&x, &[-1, 1], DType::F32, 0.0, (0, 0))?;
        let sum = net.reduce_sum(&x, Reduce::dims([1]).keep_dim(true))?;
        let cond = net.less_than(&sum, &zero, Compare::new())?;
        let mut ie = IfElse::new(net, &cond);
        ie.true_block(net, |net, ie| {
            let rows = ie.input(net, &x)?;
            let out = scaled(net, &rows, -1.0)?;
            ie.output(net, &[&out])
        })?;
        ie.false_block(net, |net, ie| {
            let rows = ie.input(net, &x)?;
            let out = scaled(net, &rows, 3.0)?;
            ie.output(net, &[&out])
        })?;
        let out = ie.merge(net)?;
        let loss = net.mean(&out[0])?;
        appended_backward(net, &loss)
    }),
    ("switch", |net| {
        let s = net.data("s", Data::shape([1]).append_batch_size(false))?;
        let out = net.create_global_var(GlobalVar::new([1], 0.0, DType::F32).persistable(true))?;
        let mut switch = Switch::new();
        for (bound, value) in [(1.0, 10.0), (2.0, 20.0)] {
            let bound = net.fill_constant([1], DType::F32, bound)?;
            let below = net.less_than(&s, &bound, Compare::new())?;
            switch.case(net, &below, |net| assigned(net, value, &out))?;
        }
        switch.default_case(net, |net| assigned(net, 30.0, &out))
    }),
    ("while_loop", |net| {
        let x = net.data("x", Data::shape([2]).append_batch_size(false))?;
        let (i, n) = (int(net, 0.0)?, int(net, 5.0)?);
        let body = |net: &mut Net, vars: &[VarRef]| {
            let i = net.add(&vars[0], 1.0)?;
            let twice = net.times(&vars[1], 2.0)?;
            Ok(vec![i, net.add(&twice, 1.0)?])
        };
        net.while_loop(|net, vars| net.less_than(&vars[0], &n, Compare::new()), body, &[i, x]).map(|_| ())
    }),
    ("while_sum_arrays", |net| {
        let d: Vec<VarRef> = ["d0", "d1", "d2"]
            .iter()
            .map(|name| net.data(name, Data::shape([4]).append_batch_size(false).stop_gradient(false)))
            .collect::<Result<_>>()?;
        let i = int(net, 0.0)?;
        let first = net.fill_constant([4], DType::F32, 0.0)?;
        let sums = net.array_write(&first, &i)?;
        let data = net.array_write(&d[0], &i)?;
        for d in &d[1..] {
            net.increment(&i, 1.0)?;
            net.array_write_into(d, &i, &data)?;
        }
        let (i, n) = (int(net, 0.0)?, int(net, 3.0)?);
        for var in [&i, &sums, &data] {
            net.var_mut(var)?.meta.stop_gradient = false;
        }
        let cond = net.less_than(&i, &n, Compare::new())?;
        While::new(net, &cond)?.block(net, |net| {
            let (d, sum) = (net.array_read(&data, &i)?, net.array_read(&sums, &i)?);
            let twice = scaled(net, &sum, 2.0)?;
            let sum = net.sum(&[&d, &twice])?;
            net.increment(&i, 1.0)?;
            net.array_write_into(&sum, &i, &sums)?;
            net.less_than(&i, &n, Compare::into_var(&cond)).map(|_| ())
        })?;
        let last = net.array_read(&sums, &i)?;
        let square = net.square(&last)?;
        let loss = net.mean(&square)?;
        appended_backward(net, &loss)
    }),
    ("static_rnn", |net| {
        let x = net.data("x", Data::shape([4, 2, 3]).append_batch_size(false).stop_gradient(false))?;
        let h0 = net.data("h0", Data::shape([2, 2]).append_batch_size(false).stop_gradient(false))?;
        let rnn = StaticRnn::new(net);
        let out = rnn.step(net, |net, rnn| {
            let word = rnn.step_input(net, &x)?;
            let before = rnn.memory(net, &h0)?;
            let hidden = net.fc_of(&[&word, &before], Fc::size(2).act("tanh").bias_attr(false))?;
            rnn.update_memory(&before, &hidden)?;
            rnn.step_output(net, &hidden)
        })?;
        let loss = net.mean(&out[0])?;
        appended_backward(net, &loss)
    }),
    ("dynamic_rnn_3", |net| {
        let x = net.data("x", Data::shape([3]).lod_level(1).stop_gradient(false))?;
        let h0 = net.data("h0", Data::shape([2]).stop_gradient(false))?;
        let rnn = DynamicRnn::new(net);
        let out = rnn.block(net, |net, rnn| {
            let word = rnn.step_input(net, &x, 0)?;
            let before = rnn.memory(net, &h0, true)?;
            let hidden = net.fc_of(&[&word, &before], Fc::size(2).act("tanh"))?;
            rnn.update_memory(&before, &hidden)?;
            rnn.output(net, &[&hidden])
        })?;
        let pooled = net.sequence_last_step(&out[0])?;
        let loss = net.mean(&pooled)?;
        appended_backward(net, &loss)
    }),
];

fn assigned(net: &mut Net, value: f64, to: &VarRef) -> Result<()> {
    let value = net.fill_constant([1], DType::F32, value)?;
    net.assign_into(&value, to)
}

fn check_all(all: &[(&str, Build)]) {
    for (name, build) in all {
        let mut net = Net::new();
        build(&mut net).unwrap_or_else(|e| panic!("{name}: {e}"));
        let npz = program_archive(name);
        for (part, ours) in [("main", &net.main), ("startup", &net.startup)] {
            let what = format!("{name} {part}");
            let theirs = read(&what, npz.array(&format!("program/{part}")).bytes());
            assert_same(&what, ours, &theirs, net.registry());
        }
    }
}

#[test]
fn optimizers_append_what_fluid_appends() {
    check_all(&OPTIMIZERS);
    check_all(&ATTRIBUTES);
}

#[test]
fn schedules_append_what_fluid_appends() {
    check_all(&SCHEDULES);
}

#[test]
fn control_flow_appends_what_fluid_appends() {
    check_all(&FLOW);
}
