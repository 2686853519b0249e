//! Passes against the results of Fluid 1.8 for the same networks.

use std::fs;

use oarlock_ir::{Attr, Block, Op, Program, clone_for_test, diff, prune, verify};

use crate::support::{committed, golden_dir};

/// Networks whose programs are all beside this test.
const COMMITTED: [&str; 4] = ["fit_a_line", "mnist_mlp", "lenet_bn", "ctr_dnn_sgd"];

/// Networks in the directory named by `OARLOCK_GOLDEN`.
const LOCAL: [&str; 7] =
    ["fit_a_line", "fit_a_line_decay", "mnist_mlp", "lenet_bn", "ctr_dnn_sgd", "ctr_dnn_adam", "ctr_dnn_lod_sgd"];

/// A network's training program, its test program and its inference program.
struct Net {
    name: String,
    main: Program,
    test: Program,
    infer: Program,
}

fn nets() -> Vec<Net> {
    let read = |bytes: Vec<u8>| Program::from_bytes(&bytes).unwrap();
    let mut nets = Vec::new();
    for name in COMMITTED {
        let program = |kind: &str| read(committed(&format!("{name}.{kind}")));
        nets.push(Net { name: name.into(), main: program("main"), test: program("test"), infer: program("infer") });
    }
    let Some(dir) = golden_dir("seven networks for passes") else { return nets };
    for name in LOCAL {
        let program = |file: &str| read(fs::read(dir.join(name).join(file)).unwrap());
        let (main, test) = (program("main.program"), program("test.program"));
        nets.push(Net { name: name.into(), main, test, infer: program("infer_sep/__model__") });
    }
    nets
}

#[test]
fn clone_for_test_undoes_minimize() {
    for net in nets() {
        // `minimize` marks the operator that computes the loss, so roles differ.
        let cloned = clone_for_test(&net.main).unwrap();
        verify(&cloned, None).unwrap();
        assert_eq!(diff(&cloned, &net.test, &["op_role"]), None, "{}", net.name);
    }
}

#[test]
fn clone_for_test_keeps_a_test_program() {
    for net in nets() {
        assert_eq!(clone_for_test(&net.test).unwrap(), net.test, "{}", net.name);
    }
}

/// An inference program is: the training program, one `scale` per target, pruned, with feeds and fetches around.
#[test]
fn prune_finds_the_inference_program() {
    for net in nets() {
        let (feeds, fetches) = (ends(&net.infer, "feed"), ends(&net.infer, "fetch"));
        let mut main = net.main.clone();
        for fetch in &fetches {
            add_producer(&mut main, net.infer.global(), fetch);
        }
        let feeds: Vec<&str> = feeds.iter().map(String::as_str).collect();
        let fetches: Vec<&str> = fetches.iter().map(String::as_str).collect();
        let pruned = prune(&main, &feeds, &fetches).unwrap();
        verify(&pruned, None).unwrap();
        let expected = without_ends(&net.infer);
        assert_eq!(diff(&clone_for_test(&pruned).unwrap(), &expected, &[]), None, "{}", net.name);
    }
}

/// The variables that `feed` operators write, or `fetch` operators read.
fn ends(program: &Program, op_type: &str) -> Vec<String> {
    let arg =
        |op: &Op| if op_type == "feed" { op.outputs.get("Out")[0].clone() } else { op.inputs.get("X")[0].clone() };
    program.global().ops.iter().filter(|op| op.op_type == op_type).map(|op| arg(op).to_string()).collect()
}

/// Copies the operator that writes `name`, and the variable.
fn add_producer(main: &mut Program, from: &Block, name: &str) {
    let writer = from.ops.iter().find(|op| op.outputs.args().any(|out| out == name)).unwrap();
    main.global_mut().ops.push(writer.clone());
    main.global_mut().set_var(from.var(name).unwrap().clone());
}

fn without_ends(infer: &Program) -> Program {
    let mut program = infer.clone();
    program.global_mut().ops.retain(|op| op.op_type != "feed" && op.op_type != "fetch");
    program.global_mut().vars.retain(|name, _| name != "feed" && name != "fetch");
    program
}

#[test]
fn control_flow_loses_only_its_gradient() {
    let main = Program::from_bytes(&committed("while_sum_arrays.main")).unwrap();
    let test = clone_for_test(&main).unwrap();
    verify(&test, None).unwrap();
    assert_eq!(test.blocks().len(), 2);
    assert_eq!(test.block(1).ops.len(), main.block(1).ops.len());
    let subs: Vec<&Attr> = test.global().ops.iter().filter_map(|op| op.attrs.get("sub_block")).collect();
    assert_eq!(subs, [&Attr::Block(1)]);
}
