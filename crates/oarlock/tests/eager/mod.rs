//! Eager mode: gradients follow what was called; layers and optimizers compute what programs compute.

mod graph;
mod optimizers;
mod programs;

use oarlock::eager::{self, EagerEngine, EagerTensor};
use oarlock::prelude::*;

fn engine() -> EagerEngine {
    eager::engine(1)
}

/// A vector to which gradients flow.
fn leaf(engine: &EagerEngine, values: &[f32]) -> EagerTensor {
    let tensor = engine.tensor(Tensor::from_slice([values.len()], values).unwrap());
    tensor.set_stop_gradient(false);
    tensor
}

fn values(tensor: &EagerTensor) -> Vec<f64> {
    tensor.with_dense(|t| t.to_f64()).unwrap()
}

fn grad(tensor: &EagerTensor) -> Vec<f64> {
    values(&tensor.grad().expect("a gradient"))
}

fn unary(engine: &EagerEngine, op: &str, x: &EagerTensor) -> EagerTensor {
    engine.build(op).input("X", x).get("Out").unwrap()
}

fn binary(engine: &EagerEngine, op: &str, x: &EagerTensor, y: &EagerTensor) -> EagerTensor {
    engine.build(op).input("X", x).input("Y", y).get("Out").unwrap()
}
