//! Properties of transpiled programs besides their form: they start from the values of one machine, they train as it
//! does, and what cannot be done is refused with a reason.

use std::collections::BTreeMap;
use std::sync::Arc;

use expect_test::{Expect, expect};
use oarlock_exec::{ExecOptions, Executor, Scope};
use oarlock_ir::{Block, Op, Program, Registry, Result, Role};
use oarlock_tensor::{DType, Tensor, Value};
use oarlock_testkit::{Tolerance, assert_close};
use oarlock_transpile::placement::SplitMethod;
use oarlock_transpile::{Arguments, Config, DistributeTranspiler, Trainers};

use crate::programs::{joined, local, noise, rows_of};

const SERVERS: &str = "ps0:6174,ps1:6174";

fn small_blocks() -> Config {
    Config { min_block_size: 64, ..Config::fluid() }
}

/// Transpiles for trainer 0; returns its startup program, too.
fn transpile(
    config: Config,
    trainers: usize,
    main: &Program,
    startup: &Program,
) -> Result<(DistributeTranspiler, Program)> {
    let (mut main, mut startup) = (main.clone(), startup.clone());
    let mut transpiler = DistributeTranspiler::new(config);
    transpiler.transpile(Arguments {
        registry: &registry(),
        trainer_id: 0,
        program: &mut main,
        startup_program: &mut startup,
        pservers: SERVERS,
        trainers: Trainers::Count(trainers),
        sync_mode: true,
        current_endpoint: "",
        slice_var_up: None,
        split_method: None,
    })?;
    Ok((transpiler, startup))
}

fn executor() -> Executor {
    Executor::new(ExecOptions {
        registry: Arc::new(registry()),
        threads: 1,
        fuse: false,
        without_fusions: Vec::new(),
        check_nan_inf: false,
    })
}

pub(crate) fn registry() -> Registry {
    Registry::new(oarlock_ops::ops().chain(oarlock_ps::ops()).chain(oarlock_collective::ops()), [])
}

fn run(program: &Program, scope: &Scope) {
    executor().run(program, &[], &[], scope).unwrap_or_else(|e| panic!("{e}"));
}

/// The scope of each server after its startup program.
fn started(transpiler: &DistributeTranspiler) -> Vec<Scope> {
    let start = |endpoint: &str| {
        let scope = Scope::new();
        run(&transpiler.get_startup_program(endpoint).expect("a program"), &scope);
        scope
    };
    SERVERS.split(',').map(start).collect()
}

#[test]
fn parameters_start_with_the_values_of_one_machine() {
    for split_method in [SplitMethod::RoundRobin, SplitMethod::HashName] {
        let (main, startup) = local("sync_full");
        let config = Config { split_method, ..small_blocks() };
        let (transpiler, _) = transpile(config, 2, &main, &startup).unwrap();
        let alone = Scope::new();
        run(&startup, &alone);
        let servers = started(&transpiler);
        for (param, _) in transpiler.placement().unwrap().iter() {
            let expected = alone.tensor(param).expect("initialized");
            assert_close(param, &joined(&transpiler, &servers, param), &expected, Tolerance::EXACT);
        }
    }
}

/// The operators of a block of a program, as a program of their own over the same variables.
fn block_program(program: &Program, block: &Block) -> Program {
    let mut alone = Program::new();
    for var in program.blocks().iter().flat_map(|b| b.vars.values()) {
        let mut var = var.clone();
        // Everything that passes between server and block stays in the scope.
        var.persistable = true;
        alone.global_mut().set_var(var);
    }
    alone.global_mut().ops = block.ops.clone();
    alone
}

/// The trainer's program up to what it sends: the names of what is sent, and a program that computes it.
fn gradients(trainer: &Program) -> (Vec<String>, Program) {
    let mut program = trainer.clone();
    let joins = |op: &Op| op.role().has(Role::DIST) && op.op_type == "concat";
    let sent = trainer.global().ops.iter().filter(|op| op.op_type == "send").flat_map(|op| op.inputs.get("X"));
    let sent = sent.map(|n| n.to_string()).collect();
    program.global_mut().ops.retain(|op| !op.role().has(Role::RPC) && !joins(op));
    for op in program.global_mut().ops.iter_mut().filter(|op| op.op_type == "split_byref") {
        // The same, with a copy.
        op.op_type = "split".into();
    }
    (sent, program)
}

/// The inputs of rows `from..from + count` of the batch of a step.
fn feed(width: usize, step: usize, from: usize, count: usize) -> [(&'static str, Tensor); 2] {
    [("x", noise(8, width, step)), ("y", noise(8, 1, step + 1000))].map(|(name, t)| (name, rows_of(&t, from, count)))
}

/// The variables that a trainer sends in a step, by the names under which they arrive.
fn trainer_step(
    transpiler: &DistributeTranspiler,
    servers: &[Scope],
    trainer: usize,
    feeds: &[(&str, Tensor)],
) -> BTreeMap<String, Tensor> {
    let (sent, compute) = gradients(&transpiler.get_trainer_program().unwrap());
    let scope = Scope::new();
    for (param, _) in transpiler.placement().unwrap().iter() {
        scope.set(param, Value::Dense(joined(transpiler, servers, param)));
    }
    let feeds: Vec<(&str, &Tensor)> = feeds.iter().map(|(name, t)| (*name, t)).collect();
    let fetches: Vec<&str> = sent.iter().map(String::as_str).collect();
    let found = executor().run_tensors(&compute, &feeds, &fetches, &scope).unwrap();
    // The programs of trainers differ in names only.
    let name = |name: &String| name.replace(".trainer_0", &format!(".trainer_{trainer}"));
    sent.iter().map(name).zip(found).collect()
}

fn server_step(transpiler: &DistributeTranspiler, endpoint: &str, scope: &Scope, arrived: &BTreeMap<String, Tensor>) {
    let program = transpiler.get_pserver_program(endpoint).unwrap();
    for name in program.global().ops[0].inputs.get("X") {
        scope.set(name, Value::Dense(arrived[name.as_str()].clone()));
    }
    program.blocks().iter().skip(1).for_each(|block| run(&block_program(&program, block), scope));
}

/// Two trainers and two servers exchange by hand what their programs say; one process trains the joined batch.
#[test]
fn two_trainers_train_as_one_process() {
    for (case, width, min_block_size) in [("dc_asgd", 8, 64), ("fit_a_line_decay", 13, 4)] {
        let (main, startup) = local(case);
        let config = Config { min_block_size, ..Config::fluid() };
        let (transpiler, _) = transpile(config, 2, &main, &startup).unwrap();
        let placement = transpiler.placement().unwrap();
        assert!(placement.iter().any(|(_, blocks)| blocks.len() == 2), "{case}: something is partitioned");
        let servers = started(&transpiler);
        let alone = Scope::new();
        run(&startup, &alone);
        for step in 0..5 {
            let whole = feed(width, step, 0, 8);
            executor().run_tensors(&main, &whole.each_ref().map(|(n, t)| (*n, t)), &[], &alone).unwrap();
            let halves = [0, 1].map(|t| trainer_step(&transpiler, &servers, t, &feed(width, step, t * 4, 4)));
            let arrived = halves.into_iter().flatten().collect();
            for (endpoint, scope) in SERVERS.split(',').zip(&servers) {
                server_step(&transpiler, endpoint, scope, &arrived);
            }
            for (param, _) in placement.iter() {
                let (found, expected) = (joined(&transpiler, &servers, param), alone.tensor(param).expect("trained"));
                assert_close(&format!("{case} step {step} {param}"), &found, &expected, Tolerance::new(1e-6, 1e-6));
            }
        }
    }
}

#[test]
fn one_trainer_needs_no_suffix_and_no_merging() {
    let (main, startup) = local("half_async");
    let (transpiler, _) = transpile(small_blocks(), 1, &main, &startup).unwrap();
    let (sent, _) = gradients(&transpiler.get_trainer_program().unwrap());
    let programs: Vec<Program> = SERVERS.split(',').map(|e| transpiler.get_pserver_program(e).unwrap()).collect();
    let mut expected: Vec<String> =
        programs.iter().flat_map(|p| p.global().ops[0].inputs.get("X")).map(|n| n.to_string()).collect();
    let mut sent = sent;
    sent.sort();
    expected.sort();
    assert_eq!(sent, expected);
    assert!(sent.iter().all(|name| !name.contains("trainer_")));
    assert!(programs.iter().flat_map(|p| p.blocks().iter().skip(1)).all(|b| b.ops[0].op_type == "sgd"));
}

#[test]
fn two_blocks_on_one_server_have_state_of_their_own() {
    let (main, startup) = local("sync_full");
    let first = |_: &[String]| -> Box<dyn oarlock_transpile::placement::Dispatcher> { Box::new(First) };
    struct First;
    impl oarlock_transpile::placement::Dispatcher for First {
        fn dispatch(&mut self, blocks: &[oarlock_transpile::placement::VarBlock]) -> Result<Vec<usize>> {
            Ok(vec![0; blocks.len()])
        }
    }
    let config = Config { split_method: SplitMethod::Custom(Arc::new(first)), ..small_blocks() };
    let (transpiler, _) = transpile(config, 2, &main, &startup).unwrap();
    let program = transpiler.get_pserver_program("ps0:6174").unwrap();
    for name in ["fc_0.w_0_moment1_0.block0", "fc_0.w_0_moment1_0.block1", "fc_0.b_0_moment1_0"] {
        assert!(program.global().var(name).is_some(), "no `{name}`");
    }
    let without_blocks = transpiler.get_pserver_program("ps1:6174").unwrap();
    assert_eq!(without_blocks.blocks().len(), 2);
    assert!(started(&transpiler)[0].tensor("fc_0.w_0_moment1_0.block1").is_some());
}

/// Fluid 1.8 deletes this clipping from the trainer, which then sends what nothing computes.
#[test]
fn clipping_of_the_optimizer_stays_with_the_trainer() {
    let (main, startup) = local("clip_new");
    let (transpiler, _) = transpile(small_blocks(), 2, &main, &startup).unwrap();
    let trainer = transpiler.get_trainer_program().unwrap();
    let mut written: Vec<&str> = Vec::new();
    for op in &trainer.global().ops {
        if op.op_type == "send" {
            assert!(op.inputs.get("X").iter().all(|x| written.contains(&x.as_str())), "{:?}", op.inputs);
        }
        written.extend(op.outputs.args().map(|n| n.as_str()));
    }
    assert!(trainer.global().ops.iter().any(|op| op.op_type == "elementwise_max"));
}

/// A learning rate that no operator reads (that of Adadelta) is with no server, and a save holds it.
#[test]
fn variables_that_no_operator_names_stay_with_the_trainer() {
    let (mut main, mut startup) = local("sync_full");
    for program in [&mut main, &mut startup] {
        let mut rate =
            oarlock_ir::Var::new("unread", oarlock_ir::VarType::tensor(DType::F32, vec![oarlock_ir::Dim::Is(1)]));
        rate.persistable = true;
        program.global_mut().set_var(rate);
    }
    let set = oarlock_ir::Op::new("fill_constant").output("Out", ["unread"]).attr("shape", vec![1i64]);
    startup.global_mut().ops.push(set.attr("value", 0.5f32).attr("dtype", DType::F32.proto()));
    let (transpiler, startup) = transpile(small_blocks(), 2, &main, &startup).unwrap();
    assert!(startup.global().ops.iter().any(|op| op.outputs.args().any(|out| out == "unread")));
    assert!(transpiler.var_locations().unwrap().iter().all(|kept| kept.var.name != "unread"));
}

/// Averages of parameters are kept where the parameters are.
#[test]
fn moving_averages_go_to_the_servers() {
    let (main, startup) = local("ema");
    let (transpiler, _) = transpile(small_blocks(), 2, &main, &startup).unwrap();
    let server = transpiler.get_pserver_program("ps0:6174").unwrap();
    let average = server.global().var("fc_0.w_0_ema_0").expect("an average");
    assert_eq!(average.shape.to_i64(), [4, 30]);
    let trainer = transpiler.get_trainer_program().unwrap();
    assert!(trainer.global().var("fc_0.w_0_ema_0").is_none());
}

#[test]
fn transpiled_programs_are_valid_and_survive_serialization() {
    let registry = registry();
    for case in ["sync_full", "piecewise", "geo"] {
        let (main, startup) = local(case);
        let config = Config { geo_sgd_mode: case == "geo", ..small_blocks() };
        let (transpiler, trainer_startup) = transpile(config, 2, &main, &startup).unwrap();
        let (server, server_startup) = transpiler.get_pserver_programs("ps1:6174").unwrap();
        for program in [transpiler.get_trainer_program().unwrap(), trainer_startup, server, server_startup] {
            // `split_byref` splits without copying; `split` has the same signature.
            oarlock_ir::verify(&program, Some(&|op| registry.get(op).is_some() || op == "split_byref")).unwrap();
            assert_eq!(Program::from_text(&program.to_string()).unwrap().to_string(), program.to_string());
            assert_eq!(oarlock_ir::diff(&Program::from_bytes(&program.to_bytes()).unwrap(), &program, &[]), None);
        }
    }
}

fn lookups(main: &Program) -> Vec<String> {
    let (_, startup) = local("half_async");
    let (transpiler, _) = transpile(small_blocks(), 2, main, &startup).unwrap();
    let trainer = transpiler.get_trainer_program().unwrap();
    let ops = trainer.global().ops.iter().enumerate().filter(|(_, op)| op.op_type == "distributed_lookup_table");
    ops.map(|(i, op)| format!("{i} {:?} {:?}", op.inputs.get("Ids"), op.attrs.get("padding_idx").unwrap())).collect()
}

#[test]
fn lookups_of_one_table_become_one_operator() {
    let (main, _) = local("half_async");
    assert_eq!(lookups(&main), [r#"0 ["C1", "C2"] Long(-1)"#]);
    let mut padded = main.clone();
    padded.global_mut().ops[1].attrs.set("padding_idx", 3i64);
    assert_eq!(lookups(&padded), [r#"0 ["C2"] Long(3)"#, r#"1 ["C1"] Long(-1)"#]);
    // The second ids are computed from the first rows.
    let mut chained = main.clone();
    let cast = Op::new("cast").input("X", ["embedding_0.tmp_0"]).output("Out", ["C2"]);
    chained.global_mut().ops.insert(1, cast);
    assert_eq!(lookups(&chained), [r#"0 ["C1"] Long(-1)"#, r#"2 ["C2"] Long(-1)"#]);
}

/// The table of `half_async` as a hashed one.
fn hashed() -> (Program, Program) {
    let (mut main, startup) = local("half_async");
    for op in &mut main.global_mut().ops {
        if op.attrs.get("is_distributed").is_some() {
            op.attrs.set("is_distributed", true);
            op.attrs.set("remote_prefetch", false);
        }
    }
    (main, startup)
}

/// Compares the operators of some types, in all blocks.
pub(crate) fn about(program: &Program, op_types: &[&str], expected: Expect) {
    let text = program.summary();
    let calls = |line: &&str| op_types.iter().any(|op| line.contains(&format!(" {op}(")));
    expected.assert_eq(&text.lines().filter(calls).map(|line| format!("{}\n", line.trim())).collect::<String>());
}

#[test]
fn hashed_tables_live_on_every_server() {
    let (main, startup) = hashed();
    let (transpiler, trainer_startup) = transpile(small_blocks(), 2, &main, &startup).unwrap();
    let trainer = transpiler.get_trainer_program().unwrap();
    about(
        &trainer,
        &["distributed_lookup_table", "lookup_table", "split_ids"],
        expect![[r#"
        Outputs: [embedding_0.tmp_0, embedding_1.tmp_0] = distributed_lookup_table(Ids: [C1, C2], W: tab) {dtype: 5, table_names: ["tab", "tab"], endpoints: ["ps0:6174", "ps1:6174"], height_sections: longs[], trainer_id: 0, lookup_table_version: "lookup_table", padding_idx: -1L}
    "#]],
    );
    let sends = |op: &&Op| op.op_type == "send" && op.inputs.get("X") == ["tab@GRAD"];
    let sent = trainer.global().ops.iter().find(sends).expect("the gradient of the table is sent");
    let parts: Vec<String> = vec!["tab@GRAD.trainer_0.pserver_0".into(), "tab@GRAD.trainer_0.pserver_1".into()];
    assert_eq!(sent.attrs.get("send_varnames"), Some(&parts.into()));
    about(
        &trainer_startup,
        &["fake_init"],
        expect![[r#"
        tab = fake_init() {shape: [100L, 4L]}
    "#]],
    );
    let (server, server_startup) = transpiler.get_pserver_programs("ps1:6174").unwrap();
    about(
        &server,
        &["sum", "sgd", "lookup_sparse_table"],
        expect![[r#"
        fc_0.w_0@GRAD.block0 = sum(X: [fc_0.w_0@GRAD.block0.trainer_0, fc_0.w_0@GRAD.block0.trainer_1])
        ParamOut: fc_0.w_0.block0 = sgd(Grad: fc_0.w_0@GRAD.block0, LearningRate: learning_rate_0, Param: fc_0.w_0.block0)
        fc_1.b_0@GRAD = sum(X: [fc_1.b_0@GRAD.trainer_0, fc_1.b_0@GRAD.trainer_1])
        ParamOut: fc_1.b_0 = sgd(Grad: fc_1.b_0@GRAD, LearningRate: learning_rate_0, Param: fc_1.b_0)
        tab@GRAD.pserver_1 = sum(X: [tab@GRAD.trainer_0.pserver_1, tab@GRAD.trainer_1.pserver_1])
        ParamOut: tab = sgd(Grad: tab@GRAD.pserver_1, LearningRate: learning_rate_0, Param: tab)
        tab.rows = lookup_sparse_table(Ids: tab.ids, W: tab) {padding_idx: -1L, auto_grown_table: true, is_test: false, initializer: ["tab:uniform_random&seed=90&min=-0.24019223&max=0.24019223"]}
    "#]],
    );
    assert_eq!(server.global().var("tab").unwrap().ty().to_string(), "rows f32[100, 4]");
    assert!(server_startup.global().var("tab").is_none());
}

#[test]
fn invalid_hashed_tables_are_errors() {
    let error = |change: &dyn Fn(&mut Op), config: Config| {
        let (mut main, startup) = hashed();
        main.global_mut().ops.iter_mut().for_each(change);
        transpile(config, 2, &main, &startup).unwrap_err().report().what.clone()
    };
    let dense = |op: &mut Op| {
        if op.op_type == "lookup_table" {
            op.attrs.set("is_sparse", false);
        }
    };
    assert_eq!(error(&dense, small_blocks()), "table `tab` is distributed, but its gradient is dense");
    let geo = Config { geo_sgd_mode: true, ..small_blocks() };
    assert_eq!(error(&|_| {}, geo), "GEO needs `tab` whole on every trainer, but only servers have its rows");
    let tied = |op: &mut Op| {
        if op.op_type == "mul" {
            op.inputs.set("Y", vec!["tab".into()]);
        }
    };
    assert_eq!(error(&tied, small_blocks()), "table `tab` is distributed, but `mul` reads it whole");
}

#[test]
fn arguments_come_before_the_config() {
    let (mut main, mut startup) = local("half_async");
    let mut transpiler = DistributeTranspiler::new(small_blocks());
    let arguments = Arguments {
        registry: &registry(),
        trainer_id: 0,
        program: &mut main,
        startup_program: &mut startup,
        pservers: SERVERS,
        trainers: Trainers::Count(2),
        sync_mode: false,
        current_endpoint: "",
        slice_var_up: Some(false),
        split_method: Some(SplitMethod::HashName),
    };
    transpiler.transpile(arguments).unwrap();
    expect![[r#"
        fc_0.b_0 [30] on ps0:6174
        fc_0.w_0 [16, 30] on ps1:6174
        fc_1.b_0 [1] on ps1:6174
        fc_1.w_0 [30, 1] on ps0:6174
        tab [100, 4] on ps0:6174
    "#]]
    .assert_eq(&transpiler.placement().unwrap().to_string());
    let trainer = transpiler.get_trainer_program().unwrap();
    assert!(trainer.global().ops.iter().all(|op| op.op_type != "send_barrier"));
    assert_eq!(transpiler.wait_for(true).unwrap(), ["ps0:6174", "ps1:6174"]);
    assert!(transpiler.wait_for(false).unwrap().is_empty());
}

#[test]
fn wrong_arguments_are_errors() {
    let (main, startup) = local("half_async");
    let transpiler = DistributeTranspiler::new(Config::fluid());
    assert_eq!(
        transpiler.get_trainer_program().unwrap_err().to_string(),
        "error[missing]: nothing was transpiled yet\n  help: call `transpile` before asking for programs"
    );
    let (transpiler, _) = transpile(small_blocks(), 2, &main, &startup).unwrap();
    assert_eq!(
        transpiler.get_pserver_program("ps2:6174").unwrap_err().to_string(),
        "error[argument]: `ps2:6174` is not one of the servers: ps0:6174, ps1:6174\n  \
         help: ask for one of those, spelt as in `pservers`"
    );
    let zero = transpile(small_blocks(), 0, &main, &startup).unwrap_err();
    assert_eq!(zero.report().what, "a job needs at least one trainer");
    let mut untrained = main.clone();
    untrained.global_mut().ops.retain(|op| op.op_type != "sgd");
    assert_eq!(
        transpile(small_blocks(), 2, &untrained, &startup).unwrap_err().to_string(),
        "error[missing]: the program updates no parameter, so there is nothing to distribute\n  \
         help: call `minimize` before `transpile`"
    );
    let sparse = Config { sync_mode: false, enable_dc_asgd: true, ..small_blocks() };
    let what = "DC-ASGD compensates dense gradients, and that of `tab` is row-sparse";
    assert_eq!(transpile(sparse, 2, &main, &startup).unwrap_err().report().what, what);
}
