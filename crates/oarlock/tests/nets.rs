//! Whole networks, built with layers, against the programs Fluid 1.8 saved.

use oarlock::prelude::*;
use oarlock_ir::clone_for_test;

use crate::fluid::{assert_same, skipped, without_scope_numbers};
use crate::golden_runs::{GoldenRun, assert_losses, executor, train};

/// A network with its loss; the rest of training is the optimizer's.
pub(crate) type Build = fn(&mut Net) -> Result<VarRef>;

pub(crate) fn fit_a_line(net: &mut Net) -> Result<VarRef> {
    let x = net.checked_data("x", &[-1, 13], DType::F32, 0)?;
    let y = net.checked_data("y", &[-1, 1], DType::F32, 0)?;
    let predicted = net.fc(&x, Fc::size(1))?;
    let cost = net.square_error_cost(&predicted, &y)?;
    net.mean(&cost)
}

pub(crate) fn mnist_mlp(net: &mut Net) -> Result<VarRef> {
    let img = net.data("img", Data::shape([784]))?;
    let label = net.data("label", Data::shape([1]).dtype(DType::I64))?;
    let hidden = net.fc(&img, Fc::size(100).act("relu"))?;
    let predicted = net.fc(&hidden, Fc::size(10).act("softmax"))?;
    let cost = net.cross_entropy(&predicted, &label, CrossEntropy::new())?;
    net.mean(&cost)
}

pub(crate) fn lenet_bn(net: &mut Net) -> Result<VarRef> {
    let img = net.data("img", Data::shape([1, 28, 28]))?;
    let label = net.data("label", Data::shape([1]).dtype(DType::I64))?;
    let c = net.conv2d(&img, Conv::new(6, 5).padding(2).bias_attr(false))?;
    let c = net.batch_norm(&c, BatchNorm::new().act("relu"))?;
    let c = net.pool2d(&c, Pool::size(2).pool_stride(2))?;
    let c = net.conv2d(&c, Conv::new(16, 5))?;
    let c = net.batch_norm(&c, BatchNorm::new().act("relu"))?;
    let c = net.pool2d(&c, Pool::size(2).avg().pool_stride(2))?;
    let hidden = net.fc(&c, Fc::size(60).act("relu"))?;
    let logits = net.fc(&hidden, Fc::size(10))?;
    net.softmax(&logits, -1)?;
    let cost = net.softmax_with_cross_entropy(&logits, &label, CrossEntropy::new())?;
    net.mean(&cost)
}

fn ctr_dnn_of(net: &mut Net, lod: bool) -> Result<VarRef> {
    let dense = net.checked_data("dense_input", &[-1, 13], DType::F32, 0)?;
    let table = || {
        let first = Initializer::uniform(-0.5, 0.5);
        Embedding::size(1000, 8).is_sparse(true).param_attr(ParamAttr::name("SparseFeatFactors").initializer(first))
    };
    let mut features = Vec::new();
    for i in 1..=26 {
        let ids = net.checked_data(&format!("C{i}"), &[-1, 1], DType::I64, usize::from(lod))?;
        let rows = net.embedding(&ids, table())?;
        features.push(if lod { net.sequence_pool(&rows, "sum", false, 0.0)? } else { rows });
    }
    let label = net.checked_data("label", &[-1, 1], DType::I64, 0)?;
    features.push(dense);
    let joined = net.concat(&features.iter().collect::<Vec<_>>(), 1)?;
    let hidden = net.fc(&joined, Fc::size(64).act("relu"))?;
    let hidden = net.fc(&hidden, Fc::size(64).act("relu"))?;
    let predicted = net.fc(&hidden, Fc::size(2).act("softmax"))?;
    let cost = net.cross_entropy(&predicted, &label, CrossEntropy::new())?;
    net.mean(&cost)
}

pub(crate) fn ctr_dnn(net: &mut Net) -> Result<VarRef> {
    ctr_dnn_of(net, false)
}

pub(crate) fn ctr_dnn_lod(net: &mut Net) -> Result<VarRef> {
    ctr_dnn_of(net, true)
}

/// Appends what trains the network.
pub(crate) type Minimize = fn(&mut Net, &VarRef) -> Result<()>;

pub(crate) fn decayed_sgd(net: &mut Net, loss: &VarRef) -> Result<()> {
    let rate = net.exponential_decay(0.02, 5.0, 0.5, false)?;
    optimizer::sgd(rate).regularization(Decay::L2(0.1)).minimize(net, loss).map(|_| ())
}

/// The networks, what trains them, and their directories.
pub(crate) const NETS: [(&str, Build, Minimize); 7] = [
    ("fit_a_line", fit_a_line, |net, loss| optimizer::sgd(0.01).minimize(net, loss).map(|_| ())),
    ("fit_a_line_decay", fit_a_line, decayed_sgd),
    ("mnist_mlp", mnist_mlp, |net, loss| optimizer::adam(0.001).minimize(net, loss).map(|_| ())),
    ("lenet_bn", lenet_bn, |net, loss| optimizer::momentum(0.01, 0.9).minimize(net, loss).map(|_| ())),
    ("ctr_dnn_sgd", ctr_dnn, |net, loss| optimizer::sgd(0.1).minimize(net, loss).map(|_| ())),
    ("ctr_dnn_adam", ctr_dnn, |net, loss| optimizer::adam(0.01).minimize(net, loss).map(|_| ())),
    ("ctr_dnn_lod_sgd", ctr_dnn_lod, |net, loss| optimizer::sgd(0.1).minimize(net, loss).map(|_| ())),
];

/// The programs of a network: training, first values, testing.
fn programs(name: &str, build: Build, minimize: Minimize) -> (Net, Program) {
    let mut net = Net::new();
    net.seed(90);
    let loss = build(&mut net).unwrap_or_else(|e| panic!("{name}: {e}"));
    let test = clone_for_test(&net.main).unwrap_or_else(|e| panic!("{name}: {e}"));
    minimize(&mut net, &loss).unwrap_or_else(|e| panic!("{name}: {e}"));
    (net, test)
}

#[test]
fn networks_are_the_programs_that_fluid_saved() {
    for (name, build, minimize) in NETS {
        let run = GoldenRun::read(name);
        if skipped(name, &run.main, &oarlock::registry()) {
            continue;
        }
        let (net, test) = programs(name, build, minimize);
        let pairs = [("main", &net.main, run.main), ("startup", &net.startup, run.startup), ("test", &test, run.test)];
        for (what, ours, theirs) in pairs {
            let [ours, theirs] = [ours.clone(), theirs].map(without_scope_numbers);
            assert_same(&format!("{name} {what}"), &ours, &theirs, net.registry());
        }
    }
}

#[test]
fn networks_train_as_they_did_in_fluid() {
    for (name, build, minimize) in NETS {
        let run = GoldenRun::read(name);
        if skipped(name, &run.main, &oarlock::registry()) {
            continue;
        }
        let (net, _) = programs(name, build, minimize);
        let (losses, _) = train(&executor(1, true), &net.startup, &net.main, &run);
        assert_losses(name, &losses, &run.loss);
    }
}
