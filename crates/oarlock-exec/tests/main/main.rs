//! Plans and runs, with operators that are defined here: the crate knows no others.

mod blocks;
mod explain;
mod failures;
mod feeds;
mod hogwild;
mod operators;
mod plans;
mod profile;
mod replicas;
mod runs;

use std::sync::Arc;

use oarlock_exec::{ExecOptions, Executor, Scope};
use oarlock_ir::{Program, Registry};
use oarlock_tensor::Tensor;

/// A program whose block 0 declares vectors of one element and holds these operators.
fn program(vars: &str, ops: &str) -> Program {
    let declare = |var: &str| match var.strip_prefix('*') {
        Some(name) => format!("var {name}: f32[1] persistable\n"),
        None => format!("var {var}: f32[?]\n"),
    };
    let vars: String = vars.split_whitespace().map(declare).collect();
    text(&format!("block 0 {{\n{vars}{ops}\n}}"))
}

fn text(text: &str) -> Program {
    Program::from_text(text).unwrap()
}

fn options() -> ExecOptions {
    let registry = Arc::new(Registry::new(operators::all(), []));
    ExecOptions { registry, threads: 1, fuse: true, without_fusions: Vec::new(), check_nan_inf: false }
}

fn executor() -> Executor {
    Executor::new(options())
}

fn vector(values: &[f32]) -> Tensor {
    Tensor::from_slice([values.len()], values).unwrap()
}

/// A scope with one variable, `w`.
fn scope(w: f32) -> Scope {
    let scope = Scope::new();
    scope.set("w", vector(&[w]));
    scope
}

fn value(scope: &Scope, name: &str) -> f32 {
    scope.tensor(name).unwrap().data::<f32>().unwrap()[0]
}

/// Runs a program and returns the first element of each fetch.
fn run(exe: &Executor, program: &Program, feeds: &[(&str, &Tensor)], fetches: &[&str], scope: &Scope) -> Vec<f32> {
    let fetched = exe.run_tensors(program, feeds, fetches, scope).unwrap();
    fetched.iter().map(|t| t.data::<f32>().unwrap()[0]).collect()
}

/// The whole text of the error of a run.
fn error(exe: &Executor, program: &Program, feeds: &[(&str, &Tensor)], fetches: &[&str], scope: &Scope) -> String {
    exe.run(program, feeds, fetches, scope).unwrap_err().to_string()
}
