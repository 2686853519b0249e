//! Backward passes against what Fluid 1.8.5 appends to the same programs.

mod case;
mod golden;
mod operators;
mod small;
#[path = "../programs/support.rs"]
mod support;

use std::collections::HashSet;

use case::{Case, ops_as_text, vars_as_text};
use oarlock_ir::{BackwardOptions, GradientTargets, Name, Program, Registry, append_backward, gradients};

/// All parameters, and nothing left out.
fn options() -> BackwardOptions<'static> {
    BackwardOptions { parameter_list: None, no_grad_set: HashSet::new(), after_op: None, checkpoints: &[] }
}

fn check(text: &str) {
    let case = Case::parse(text);
    let mut program = case.before();
    let pairs = match case.word("call").as_str() {
        "append_backward" => run_append_backward(&case, &mut program, &operators::registry()),
        _ => run_gradients(&case, &mut program, &operators::registry()),
    };
    let expected = case.after();
    assert_same_lines(&ops_as_text(&program), &ops_as_text(&expected));
    assert_same_lines(&vars_as_text(&program), &vars_as_text(&expected));
    assert_eq!(pairs, case.pairs());
}

/// Fails with the first line that differs.
fn assert_same_lines(found: &str, expected: &str) {
    for (f, e) in found.lines().zip(expected.lines()) {
        assert_eq!(f, e, "found (left) is not what was expected (right) in\n{found}");
    }
    assert_eq!(found, expected);
}

fn run_append_backward(case: &Case, program: &mut Program, registry: &Registry) -> Vec<(Name, Option<Name>)> {
    let options = BackwardOptions {
        parameter_list: case.words("params"),
        no_grad_set: case.words("no_grad").unwrap_or_default().into_iter().collect(),
        after_op: None,
        checkpoints: &[],
    };
    let loss = case.word("loss");
    let pairs = append_backward(program, (case.number("block"), &loss), registry, &options).unwrap();
    pairs.into_iter().map(|(p, g)| (p, Some(g))).collect()
}

fn run_gradients(case: &Case, program: &mut Program, registry: &Registry) -> Vec<(Name, Option<Name>)> {
    let (names, inputs) = (case.words("targets").unwrap(), case.words("inputs").unwrap());
    let given = case.words("given").unwrap_or_default();
    let given: Vec<Option<Name>> = given.into_iter().map(|g| Some(g).filter(|g| *g != "-")).collect();
    let no_grad: HashSet<Name> = case.words("no_grad").unwrap_or_default().into_iter().collect();
    let targets = GradientTargets { block: case.number("block"), names: &names, gradients: &given };
    let grads = gradients(program, &targets, &inputs, &no_grad, registry).unwrap();
    inputs.into_iter().zip(grads).collect()
}

macro_rules! cases {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            check(include_str!(concat!("cases/", stringify!($name), ".txt")));
        }
    )*};
}

cases! {
    cond ctr_dnn dead_ends double_gradient dynamic_rnn fan_in fit_a_line gradient_penalty gradients_given gradients_of_two
    ifelse in_switch lenet_bn nested_while no_grad_set rewritten same_loss_twice scaled_loss static_rnn stop_gradient
    two_losses while_arrays
}
