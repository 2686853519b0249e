//! Programs of trainers of parameter servers are fused as on one machine, although sends stand between the operators.

use std::net::TcpListener;
use std::sync::Arc;

use oarlock::JobOptions;
use oarlock::JobRuntime;
use oarlock::ir::Program;
use oarlock::prelude::*;
use oarlock::ps::PsState;
use oarlock::ps::client::{Client, ClientOptions};
use oarlock::ps::server::{Server, ServerOptions};
use oarlock::transpile::{Arguments, Config, DistributeTranspiler, Trainers};
use oarlock::{ExecOptions, registry};

/// Slots share a table; each may have one of its own besides.
fn click_model(own_tables: bool) -> Result<Net> {
    let mut net = Net::new();
    net.seed(3);
    let label = net.checked_data("label", &[-1, 1], DType::I64, 0)?;
    let mut features = vec![net.checked_data("dense", &[-1, 3], DType::F32, 0)?];
    for slot in ["a", "b"] {
        let ids = net.checked_data(slot, &[-1, 1], DType::I64, 0)?;
        let table = Embedding::size(1000, 4).is_sparse(true).param_attr(ParamAttr::name("table"));
        features.push(net.embedding(&ids, table)?);
        if !own_tables {
            continue;
        }
        let own = Embedding::size(1000, 3).is_sparse(true).param_attr(ParamAttr::name(format!("of_{slot}")));
        features.push(net.embedding(&ids, own)?);
    }
    let mut x = net.concat(&features.iter().collect::<Vec<_>>(), 1)?;
    for _ in 0..2 {
        x = net.fc(&x, Fc::size(8).act("relu"))?;
    }
    let predicted = net.fc(&x, Fc::size(2).act("softmax"))?;
    let cost = net.cross_entropy(&predicted, &label, CrossEntropy::new())?;
    let loss = net.mean(&cost)?;
    optimizer::sgd(0.1).minimize(&mut net, &loss)?;
    Ok(net)
}

fn trainer_program(config: Config, own_tables: bool) -> Result<Program> {
    transpiled(config, own_tables, 2, "127.0.0.1:6174,127.0.0.1:6175")?.0.get_trainer_program()
}

/// A transpiler, and the startup program of its trainer.
fn transpiled(
    config: Config,
    own_tables: bool,
    trainers: usize,
    pservers: &str,
) -> Result<(DistributeTranspiler, Program)> {
    let net = click_model(own_tables)?;
    let sync_mode = config.sync_mode;
    let mut transpiler = DistributeTranspiler::new(config);
    let (mut main, mut startup) = (net.main.clone(), net.startup.clone());
    transpiler.transpile(Arguments {
        registry: &registry(),
        trainer_id: 0,
        program: &mut main,
        startup_program: &mut startup,
        pservers,
        trainers: Trainers::Count(trainers),
        sync_mode,
        current_endpoint: "",
        slice_var_up: None,
        split_method: None,
    })?;
    Ok((transpiler, startup))
}

fn count(program: &Program, op_type: &str) -> usize {
    program.global().ops.iter().filter(|op| op.op_type == op_type).count()
}

#[test]
fn layers_of_trainers_are_fused() -> Result<()> {
    let exe = Options { threads: 1, check_nan_inf: false }.executor();
    let configs = [
        Config { min_block_size: 8, ..Config::fluid() },
        Config { sync_mode: false, runtime_split_send_recv: true, ..Config::fluid() },
        Config { sync_mode: false, geo_sgd_mode: true, ..Config::fluid() },
    ];
    for config in configs {
        let plan = exe.planned_program(&trainer_program(config, false)?, &["label", "dense", "a", "b"], &[])?;
        let found = [count(&plan, "fused_fc"), count(&plan, "fused_fc_grad"), count(&plan, "relu_grad")];
        assert_eq!(found, [3, 3, 0], "{}", plan.summary());
        let rows = count(&plan, "fused_lookup_concat_grad") + count(&plan, "fused_lookup_sgd");
        assert_eq!(rows, 1, "{}", plan.summary());
    }
    Ok(())
}

#[test]
fn trainers_split_where_they_send_and_ask_for_all_tables_at_once() -> Result<()> {
    let exe = Options { threads: 1, check_nan_inf: false }.executor();
    let program = trainer_program(Config { min_block_size: 8, ..Config::fluid() }, true)?;
    let plan = exe.planned_program(&program, &["label", "dense", "a", "b"], &[])?;
    let splits = |of: &Program| count(of, "split_byref") + count(of, "split_selected_rows");
    assert!(splits(&program) > 0 && splits(&plan) == 0, "{}", plan.summary());
    assert_eq!([count(&program, "distributed_lookup_table"), count(&plan, "fused_remote_lookup")], [3, 1]);
    Ok(())
}

/// The parameters of a trainer with two servers after some steps, and the number of lookups that its servers received.
fn learned(fuse: bool) -> Result<(Vec<(String, Tensor)>, u64)> {
    let held: Vec<TcpListener> = (0..2).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let ports: Vec<String> = held.iter().map(|l| l.local_addr().unwrap().to_string()).collect();
    drop(held);
    let (transpiler, startup) = transpiled(Config { min_block_size: 8, ..Config::fluid() }, true, 1, &ports.join(","))?;
    let executor = || {
        let without_fusions = Vec::new();
        let registry = Arc::new(registry());
        let options = ExecOptions { registry, threads: 1, fuse, without_fusions, check_nan_inf: false };
        Executor::new(options, Arc::new(JobRuntime::new(1, JobOptions::default())))
    };
    let mut servers = Vec::new();
    for endpoint in &ports {
        let (program, startup) = transpiler.get_pserver_programs(endpoint)?;
        let (exe, scope) = (executor(), Scope::new());
        exe.run(&startup, &[], &[], &scope)?;
        let options = ServerOptions { ..ServerOptions::default() };
        servers.push((Server::start(&program, &scope, exe.options(), exe.runtime(), options)?, scope));
    }
    let (exe, scope) = (executor(), Scope::new());
    PsState::of(exe.runtime()).set_client(Some(Arc::new(Client::new(ClientOptions { ..ClientOptions::default() }))));
    exe.run(&startup, &[], &[], &scope)?;
    let program = transpiler.get_trainer_program()?;
    for step in 0..4i64 {
        let tensor = |ids: Vec<i64>| Tensor::from_slice([6, 1], &ids).unwrap();
        let ids = |salt: i64| tensor((0..6).map(|i| (i * i + step + salt) % 7 * 160).collect());
        let dense: Vec<f32> = (0..18).map(|i| (i % 5) as f32 - step as f32).collect();
        let feeds = [
            ("label", tensor(vec![0, 1, 1, 0, 1, 0])),
            ("dense", Tensor::from_slice([6, 3], &dense).unwrap()),
            ("a", ids(0)),
            ("b", ids(3)),
        ];
        let feeds: Vec<(&str, &Tensor)> = feeds.iter().map(|(name, tensor)| (*name, tensor)).collect();
        exe.run(&program, &feeds, &[], &scope)?;
    }
    Client::of(exe.runtime()).leave()?;
    let (mut all, mut lookups) = (Vec::new(), 0);
    for (server, scope) in servers {
        lookups += server.wait(|| false)?.lookups;
        let params = scope.names().into_iter().filter(|name| !name.contains("@GRAD"));
        all.extend(params.filter_map(|name| Some((name.to_string(), scope.tensor(&name)?))));
    }
    all.sort_by(|a, b| a.0.cmp(&b.0));
    Ok((all, lookups))
}

#[test]
fn fused_trainers_learn_the_same() -> Result<()> {
    let (plain, asked_apart) = learned(false)?;
    let (fused, asked_at_once) = learned(true)?;
    assert_eq!(plain, fused);
    assert!(plain.len() >= 6, "servers hold parameters");
    assert_eq!((asked_apart, asked_at_once), (4 * 2 * 3, 4 * 2), "questions of four steps to two servers");
    Ok(())
}
