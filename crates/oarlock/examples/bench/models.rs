//! Models that several benchmarks train, each with a batch for it.

use oarlock::prelude::*;
use oarlock::transpile::{Arguments, CollectiveMode, Config, DistributeTranspiler, Mode, Trainers};

/// A loss, and what to feed.
pub(crate) type Model = (VarRef, Vec<(&'static str, Tensor)>);

/// A perceptron for wide rows of numbers.
pub(crate) fn perceptron(net: &mut Net, batch: usize) -> Result<Model> {
    let x = net.data("x", Data::shape([273]))?;
    let label = net.data("label", Data::shape([1]).dtype(DType::I64))?;
    let mut hidden = x;
    for _ in 0..3 {
        hidden = net.fc(&hidden, Fc::size(400).act("relu"))?;
    }
    let loss = classified(net, &hidden, 2, &label)?;
    Ok((loss, vec![("x", pixels(&[batch, 273])), ("label", labels(batch, 2))]))
}

/// LeNet with batch normalisation.
pub(crate) fn lenet(net: &mut Net, batch: usize) -> Result<Model> {
    let img = net.data("img", Data::shape([1, 28, 28]))?;
    let label = net.data("label", Data::shape([1]).dtype(DType::I64))?;
    let c = net.conv2d(&img, Conv::new(6, 5).padding(2).bias_attr(false))?;
    let c = net.batch_norm(&c, BatchNorm::new().act("relu"))?;
    let c = net.pool2d(&c, Pool::size(2).pool_stride(2))?;
    let c = net.conv2d(&c, Conv::new(16, 5))?;
    let c = net.batch_norm(&c, BatchNorm::new().act("relu"))?;
    let c = net.pool2d(&c, Pool::size(2).avg().pool_stride(2))?;
    let hidden = net.fc(&c, Fc::size(60).act("relu"))?;
    let loss = classified(net, &hidden, 10, &label)?;
    Ok((loss, vec![("img", pixels(&[batch, 1, 28, 28])), ("label", labels(batch, 10))]))
}

fn classified(net: &mut Net, hidden: &VarRef, classes: usize, label: &VarRef) -> Result<VarRef> {
    let logits = net.fc(hidden, Fc::size(classes))?;
    let cost = net.softmax_with_cross_entropy(&logits, label, CrossEntropy::new())?;
    net.mean(&cost)
}

fn pixels(dims: &[usize]) -> Tensor {
    let data: Vec<f32> = (0..dims.iter().product()).map(|i| (i * 7919 % 1000) as f32 / 1000.0).collect();
    Tensor::from_slice(oarlock::tensor::Dims::new(dims), &data).expect("as many pixels")
}

fn labels(batch: usize, classes: usize) -> Tensor {
    let data: Vec<i64> = (0..batch as i64).map(|i| i % classes as i64).collect();
    Tensor::from_slice([batch, 1], &data).expect("as many labels")
}

/// Lets a program exchange gradients with those of the other workers.
pub(crate) fn join(net: &mut Net, rank: usize, endpoints: &str) -> Result<()> {
    let grad_allreduce = Some(CollectiveMode::GradAllreduce);
    let config = Config { mode: Mode::Collective, collective_mode: grad_allreduce, ..Config::fluid() };
    DistributeTranspiler::new(config).transpile(Arguments {
        registry: &oarlock::registry(),
        trainer_id: rank,
        program: &mut net.main,
        startup_program: &mut net.startup,
        pservers: "",
        trainers: Trainers::Endpoints(endpoints.to_string()),
        sync_mode: true,
        current_endpoint: endpoints.split(',').nth(rank).unwrap_or_default(),
        slice_var_up: None,
        split_method: None,
    })
}
