//! Hashed tables (`is_distributed`): in one process they are trained as on servers.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use oarlock::io::{Local, load_vars, persistables, save_vars};
use oarlock::prelude::*;
use oarlock::ps::PsState;
use oarlock::ps::client::{Client, ClientOptions};
use oarlock::ps::saving::fetch_whole;
use oarlock::ps::server::{Server, ServerOptions};
use oarlock::replicas::{Feeds, Replicas};
use oarlock::tensor::table::{Retention, Score};
use oarlock::tensor::{SelectedRows, Value};
use oarlock::transpile::{Arguments, Config, DistributeTranspiler, Trainers, VarLocations};
use oarlock_testkit::{Tolerance, assert_close};

const WIDTH: usize = 4;
const BATCH: usize = 6;

type Minimize = fn(&mut Net, &VarRef) -> Result<()>;

/// Two slots share a table; the loss is that of a regression.
fn net(table: Embedding, minimize: Minimize) -> Result<Net> {
    net_with(table, minimize, |_| Ok(()))
}

/// The same with more data.
fn net_with(table: Embedding, minimize: Minimize, more: impl Fn(&mut Net) -> Result<()>) -> Result<Net> {
    let mut net = Net::new();
    net.seed(1);
    more(&mut net)?;
    let first = || ParamAttr::name("table").initializer(Initializer::uniform(-0.5, 0.5));
    let mut slots = Vec::new();
    for name in ["a", "b"] {
        let ids = net.checked_data(name, &[-1, 1], DType::I64, 0)?;
        slots.push(net.embedding(&ids, table.clone().param_attr(first()))?);
    }
    let both = net.concat(&slots.iter().collect::<Vec<_>>(), 1)?;
    let predicted = net.fc(&both, Fc::size(1).param_attr(ParamAttr::name("w")).bias_attr(ParamAttr::name("b0")))?;
    let y = net.checked_data("y", &[-1, 1], DType::F32, 0)?;
    let cost = net.square_error_cost(&predicted, &y)?;
    let loss = net.mean(&cost)?;
    minimize(&mut net, &loss)?;
    Ok(net)
}

fn distributed() -> Embedding {
    Embedding::size(64, WIDTH).is_sparse(true).is_distributed(true)
}

/// The kind of ids.
#[derive(Clone, Copy, PartialEq)]
enum Ids {
    /// From all over the numbers.
    Any,
    /// Rows of a table that is a tensor.
    Small,
    /// Other ones from step to step.
    Passing,
    /// The same, with shows and clicks of each sample.
    Shown,
}

/// Ids, some of them repeated, and what they should give.
fn feed(ids: Ids, step: usize, from: usize, count: usize) -> Vec<(&'static str, Tensor)> {
    let (passing, shown) = (matches!(ids, Ids::Passing | Ids::Shown), ids == Ids::Shown);
    let id = |slot: usize, at: usize| match (at * 7 + step * 5 + slot) % 9 {
        _ if passing => (step / 2 * 3 + at % 4 + slot) as i64 - 2,
        n if ids == Ids::Small => n as i64,
        0 => i64::MIN,
        1 => i64::MAX,
        2 => -1,
        n => (n as i64) << 40,
    };
    let ids = |slot: usize| (from..from + count).map(|at| id(slot, at)).collect::<Vec<i64>>();
    let y: Vec<f32> = (from..from + count).map(|at| ((at * 13 + step * 3) % 7) as f32 - 3.0).collect();
    let mut feed = vec![
        ("a", Tensor::from_slice([count, 1], &ids(0)).unwrap()),
        ("b", Tensor::from_slice([count, 1], &ids(1)).unwrap()),
        ("y", Tensor::from_slice([count, 1], &y).unwrap()),
    ];
    if shown {
        let numbers =
            |of: fn(usize) -> usize| (from..from + count).map(|at| of(at + step) as i64).collect::<Vec<i64>>();
        feed.push(("show", Tensor::from_slice([count, 1], &numbers(|n| 1 + n % 3)).unwrap()));
        feed.push(("click", Tensor::from_slice([count, 1], &numbers(|n| n % 2)).unwrap()));
    }
    feed
}

fn run(
    exe: &Executor,
    program: &Program,
    scope: &Scope,
    feeds: &[(&str, Tensor)],
    fetch: &[&str],
) -> Result<Vec<Value>> {
    let feeds: Vec<(&str, &Tensor)> = feeds.iter().map(|(name, t)| (*name, t)).collect();
    exe.run(program, &feeds, fetch, scope)
}

fn executor() -> Executor {
    Options { threads: 1, check_nan_inf: false }.executor()
}

/// Trains in one process.
fn alone(net: &Net, ids: Ids, steps: usize) -> (Executor, Scope) {
    let (exe, scope) = (executor(), Scope::new());
    exe.run(&net.startup, &[], &[], &scope).unwrap();
    (0..steps).for_each(|step| drop(run(&exe, &net.main, &scope, &feed(ids, step, 0, BATCH), &[]).unwrap()));
    (exe, scope)
}

fn transpiled(net: &Net, trainer: usize, trainers: usize, servers: &str) -> (DistributeTranspiler, Program) {
    let (mut main, mut startup) = (net.main.clone(), net.startup.clone());
    let mut transpiler = DistributeTranspiler::new(Config { min_block_size: 4, ..Config::fluid() });
    let arguments = Arguments {
        registry: &oarlock::registry(),
        trainer_id: trainer,
        program: &mut main,
        startup_program: &mut startup,
        pservers: servers,
        trainers: Trainers::Count(trainers),
        sync_mode: true,
        current_endpoint: "",
        slice_var_up: None,
        split_method: None,
    };
    transpiler.transpile(arguments).unwrap();
    (transpiler, startup)
}

const PATIENCE: Duration = Duration::from_secs(30);

/// Trains with trainers and two servers; returns the values as a trainer fetches them in the end.
fn together(net: &Net, ids: Ids, trainers: usize, steps: usize) -> Scope {
    let held: Vec<TcpListener> = (0..2).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let servers: Vec<String> = held.iter().map(|l| l.local_addr().unwrap().to_string()).collect();
    drop(held);
    let (list, kept) = (servers.join(","), transpiled(net, 0, trainers, &servers.join(",")).0);
    let serving: Vec<Server> = servers
        .iter()
        .map(|endpoint| {
            let (program, startup) = kept.get_pserver_programs(endpoint).unwrap();
            let (exe, scope) = (executor(), Scope::new());
            exe.run(&startup, &[], &[], &scope).unwrap();
            let options = ServerOptions { deadline: PATIENCE, ..ServerOptions::default() };
            Server::start(&program, &scope, exe.options(), exe.runtime(), options).unwrap()
        })
        .collect();
    let train = |trainer: usize| {
        let (transpiler, startup) = transpiled(net, trainer, trainers, &list);
        let (program, exe, scope) = (transpiler.get_trainer_program().unwrap(), executor(), Scope::new());
        let options = ClientOptions { deadline: PATIENCE, ..ClientOptions::default() };
        PsState::of(exe.runtime()).set_client(Some(Arc::new(Client::new(options))));
        exe.run(&startup, &[], &[], &scope).unwrap();
        let count = BATCH / trainers;
        for step in 0..steps {
            run(&exe, &program, &scope, &feed(ids, step, trainer * count, count), &[]).unwrap();
        }
        let client = Client::of(exe.runtime());
        let all = transpiler.var_locations().unwrap();
        let whole = fetch_whole(&all.iter().collect::<Vec<&VarLocations>>(), &client, trainer, &scope).unwrap();
        client.leave().unwrap();
        whole
    };
    let learned = std::thread::scope(|threads| {
        let all: Vec<_> = (0..trainers).map(|t| threads.spawn(move || train(t))).collect();
        all.into_iter().map(|t| t.join().unwrap()).collect::<Vec<Scope>>()
    });
    for server in serving {
        assert_eq!(server.wait(|| false).unwrap().steps, steps as u64);
    }
    learned.into_iter().next().unwrap()
}

/// A variable as rows, whether it is a table or was fetched from servers.
fn rows(scope: &Scope, name: &str) -> SelectedRows {
    let var = scope.find(name).unwrap_or_else(|| panic!("{name} is there"));
    match &*var.read() {
        Value::Table(table) => table.to_rows().unwrap(),
        other => other.rows().unwrap().clone(),
    }
}

fn assert_same(net: &Net, one: &Scope, other: &Scope, within: Tolerance) {
    for var in net.main.global().vars.values().filter(|v| v.persistable) {
        if var.meta.is_distributed {
            let (one, other) = (rows(one, &var.name), rows(other, &var.name));
            if one.rows.is_empty() {
                // Nothing reads this state (of rmsprop that is not centered): it never joined the table.
                assert!(other.value.to_f64().iter().all(|v| *v == 0.0), "{}", var.name);
                continue;
            }
            assert_eq!(one.rows, other.rows, "{}", var.name);
            assert_close(&var.name, &one.value, &other.value, within);
        } else {
            assert_close(&var.name, &one.tensor(&var.name).unwrap(), &other.tensor(&var.name).unwrap(), within);
        }
    }
}

const OPTIMIZERS: [(&str, Minimize); 7] = [
    ("sgd", |net, loss| optimizer::sgd(0.1).minimize(net, loss).map(drop)),
    ("momentum", |net, loss| optimizer::momentum(0.05, 0.9).minimize(net, loss).map(drop)),
    ("adagrad", |net, loss| optimizer::adagrad(0.1).minimize(net, loss).map(drop)),
    ("adam", |net, loss| optimizer::adam(0.1).minimize(net, loss).map(drop)),
    ("lazy adam", |net, loss| optimizer::adam(0.1).lazy_mode(true).minimize(net, loss).map(drop)),
    ("rmsprop", |net, loss| optimizer::rmsprop(0.05).minimize(net, loss).map(drop)),
    ("ftrl", |net, loss| optimizer::ftrl(0.1).l1(0.01).l2(0.01).minimize(net, loss).map(drop)),
];

#[test]
fn one_process_trains_a_table_as_servers_do() {
    for (name, minimize) in OPTIMIZERS {
        let net = net(distributed(), minimize).unwrap();
        let (_, alone) = alone(&net, Ids::Any, 4);
        assert_eq!(rows(&alone, "table").rows.len(), 9, "{name}");
        // One trainer computes the very same numbers; two round other sums.
        assert_same(&net, &alone, &together(&net, Ids::Any, 1, 4), Tolerance::EXACT);
        assert_same(&net, &alone, &together(&net, Ids::Any, 2, 4), Tolerance::new(1e-5, 1e-6));
    }
}

#[test]
fn a_table_goes_on_from_what_was_saved() {
    for (name, minimize) in OPTIMIZERS {
        let net = net(distributed(), minimize).unwrap();
        let folder = std::env::temp_dir().join(format!("oarlock-tables-{}-{name}", std::process::id()));
        let (exe, scope) = alone(&net, Ids::Any, 2);
        let store = Local::at(&folder);
        save_vars(&store, None, &persistables(&net.main), &scope).unwrap();
        let (again, loaded) = alone(&net, Ids::Any, 1);
        load_vars(&store, None, &persistables(&net.main), &loaded).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        for step in 2..5 {
            run(&exe, &net.main, &scope, &feed(Ids::Any, step, 0, BATCH), &[]).unwrap();
            run(&again, &net.main, &loaded, &feed(Ids::Any, step, 0, BATCH), &[]).unwrap();
        }
        assert_same(&net, &scope, &loaded, Tolerance::EXACT);
    }
}

#[test]
fn evaluation_makes_no_rows() {
    let net = net(distributed(), OPTIMIZERS[0].1).unwrap();
    let (exe, scope) = alone(&net, Ids::Any, 1);
    let before = rows(&scope, "table");
    let test = oarlock::ir::clone_for_test(&net.main).unwrap();
    let mut unseen = feed(Ids::Any, 0, 0, BATCH);
    unseen[0].1 = Tensor::from_slice([BATCH, 1], &[12345i64; BATCH]).unwrap();
    let out =
        net.main.global().ops.iter().find(|op| op.op_type == "lookup_table").unwrap().outputs.get("Out")[0].clone();
    let found = run(&exe, &test, &scope, &unseen, &[&out]).unwrap();
    assert_eq!(found[0].dense().unwrap().data::<f32>().unwrap(), [0.0; BATCH * WIDTH]);
    assert_eq!(rows(&scope, "table"), before);
}

#[test]
fn a_failed_step_leaves_the_table_as_it_was() {
    let net = net(distributed(), OPTIMIZERS[3].1).unwrap();
    let (exe, scope) = (Options { threads: 1, check_nan_inf: true }.executor(), Scope::new());
    exe.run(&net.startup, &[], &[], &scope).unwrap();
    run(&exe, &net.main, &scope, &feed(Ids::Any, 0, 0, BATCH), &[]).unwrap();
    let before = (rows(&scope, "table"), scope.tensor("w").unwrap());
    let mut bad = feed(Ids::Any, 0, 0, BATCH);
    bad[2].1 = Tensor::from_slice([BATCH, 1], &[f32::INFINITY; BATCH]).unwrap();
    run(&exe, &net.main, &scope, &bad, &[]).unwrap_err();
    assert_eq!((rows(&scope, "table"), scope.tensor("w").unwrap()), before);
}

#[test]
fn what_cannot_be_is_said() {
    let dense = net(distributed().is_sparse(false), OPTIMIZERS[0].1).unwrap();
    let (exe, scope) = (executor(), Scope::new());
    exe.run(&dense.startup, &[], &[], &scope).unwrap();
    let error = run(&exe, &dense.main, &scope, &feed(Ids::Any, 0, 0, BATCH), &[]).unwrap_err().to_string();
    assert!(error.contains("table `table` is distributed, but its gradient is dense"), "{error}");
    assert!(error.contains("set is_sparse=True together with is_distributed=True"), "{error}");
    let small = net(Embedding::size(3, WIDTH).is_sparse(true).is_distributed(true), OPTIMIZERS[0].1).unwrap();
    let (exe, scope) = (executor(), Scope::new());
    exe.run(&small.startup, &[], &[], &scope).unwrap();
    let error = run(&exe, &small.main, &scope, &feed(Ids::Any, 0, 0, BATCH), &[]).unwrap_err().to_string();
    assert!(error.contains("table `table` holds 3 rows, which is its limit"), "{error}");
}

/// Rows go by themselves, and the same ones in one process and on servers, however many trainers there are.
#[test]
fn rows_go_by_themselves_wherever_they_are() {
    let score = Score { period: Some(3), decay: 0.5, below: 0.3, ..Score::default() };
    let clicked = Retention { unseen: None, score: Some(Score { below: 2.0, ..score }) };
    let (unseen, score) = (Retention { unseen: Some(3), score: None }, Retention { unseen: None, score: Some(score) });
    let told = Entry::ShowClick { show: "show".into(), click: "click".into() };
    let cases = [(unseen, Entry::Every), (score, Entry::Every), (clicked, told.clone()), (Retention::default(), told)];
    for (evict, entry) in cases {
        let ids = if entry == Entry::Every { Ids::Passing } else { Ids::Shown };
        let all = rows(&alone(&net(distributed(), OPTIMIZERS[3].1).unwrap(), Ids::Passing, 12).1, "table");
        let table = distributed().evict(evict).entry(entry.clone());
        let net = shown_net(table, ids, OPTIMIZERS[3].1).unwrap();
        let (_, alone) = alone(&net, ids, 12);
        let left = rows(&alone, "table");
        let goes = evict != Retention::default();
        assert_eq!(left.rows.len() < all.rows.len(), goes, "{evict} {entry:?}: {:?} of {:?}", left.rows, all.rows);
        assert!(left.rows.iter().any(|id| all.rows.contains(id)), "{evict}: some are left");
        assert_same(&net, &alone, &together(&net, ids, 1, 12), Tolerance::EXACT);
        assert_same(&net, &alone, &together(&net, ids, 2, 12), Tolerance::new(1e-4, 1e-5));
    }
}

/// Each replica counts the shows of its samples, and the table gets the sums.
#[test]
fn replicas_count_together() {
    let score = Score { period: Some(3), decay: 0.5, below: 2.0, ..Score::default() };
    let told = Entry::ShowClick { show: "show".into(), click: "click".into() };
    let table = distributed().evict(Retention { unseen: None, score: Some(score) }).entry(told);
    let net = shown_net(table, Ids::Shown, OPTIMIZERS[2].1).unwrap();
    let (_, alone) = alone(&net, Ids::Shown, 12);
    let (exe, scope) = (executor(), Scope::new());
    exe.run(&net.startup, &[], &[], &scope).unwrap();
    for step in 0..12 {
        let feed = feed(Ids::Shown, step, 0, BATCH);
        let feed: Vec<(&str, &Tensor)> = feed.iter().map(|(name, t)| (*name, t)).collect();
        exe.run_replicas(&net.main, &Replicas::new(2), Feeds::Split(&feed), &[], &scope).unwrap();
    }
    assert_same(&net, &alone, &scope, Tolerance::new(1e-4, 1e-5));
}

/// [`net`], with data of shows and clicks if they are fed.
fn shown_net(table: Embedding, ids: Ids, minimize: Minimize) -> Result<Net> {
    net_with(table, minimize, |net| {
        for name in ["show", "click"].into_iter().filter(|_| ids == Ids::Shown) {
            net.checked_data(name, &[-1, 1], DType::I64, 0)?;
        }
        Ok(())
    })
}

/// Where weights start from zero, rows that a gradient does not list are what a gradient of zero makes of them.
#[test]
fn ftrl_of_rows_is_ftrl_of_a_tensor() {
    let ftrl = OPTIMIZERS[6].1;
    let zeros = |net: Result<Net>| {
        let mut net = net.unwrap();
        let op = net.startup.global_mut().ops.iter_mut().find(|op| op.outputs.args().any(|out| *out == *"table"));
        let op = op.expect("the table starts");
        for bound in ["min", "max"] {
            op.attrs.set(bound, 0.0f32);
        }
        net
    };
    let whole = Embedding::size(9, WIDTH);
    let dense = alone(&zeros(net(whole.clone(), ftrl)), Ids::Small, 6).1.tensor("table").unwrap();
    let range = alone(&zeros(net(whole.clone().is_sparse(true), ftrl)), Ids::Small, 6).1.tensor("table").unwrap();
    assert!(dense.data::<f32>().unwrap().iter().any(|v| *v != 0.0));
    assert_close("rows of a tensor", &range, &dense, Tolerance::new(1e-6, 1e-7));
    let hashed = zeros(net(whole.is_sparse(true).is_distributed(true), ftrl));
    for scope in [alone(&hashed, Ids::Small, 6).1, together(&hashed, Ids::Small, 2, 6)] {
        let found = rows(&scope, "table");
        assert_eq!(found.rows, (0..9).collect::<Vec<i64>>());
        assert_close("rows of the table", &found.value, &dense, Tolerance::new(1e-5, 1e-6));
    }
}

/// Tables of several widths, of which one batch needs rows.
#[test]
fn tables_of_several_widths_are_trained_together() {
    let build = |net: &mut Net| -> Result<()> {
        let y = net.checked_data("y", &[-1, 1], DType::F32, 0)?;
        let mut parts = Vec::new();
        for name in ["a", "b"] {
            let ids = net.checked_data(name, &[-1, 1], DType::I64, 0)?;
            for width in [1, 3, 16] {
                let table = Embedding::size(64, width).is_sparse(true).is_distributed(true);
                let first = Initializer::uniform(-0.5, 0.5);
                let named = ParamAttr::name(format!("wide_{width}")).initializer(first);
                parts.push(net.embedding(&ids, table.param_attr(named))?);
            }
        }
        let all = net.concat(&parts.iter().collect::<Vec<_>>(), 1)?;
        let predicted = net.fc(&all, Fc::size(1).param_attr(ParamAttr::name("w")).bias_attr(ParamAttr::name("b0")))?;
        let cost = net.square_error_cost(&predicted, &y)?;
        let loss = net.mean(&cost)?;
        OPTIMIZERS[3].1(net, &loss)
    };
    let mut net = Net::new();
    net.seed(1);
    build(&mut net).unwrap();
    let (_, alone) = alone(&net, Ids::Any, 4);
    assert_eq!([1, 3, 16].map(|width| rows(&alone, &format!("wide_{width}")).value.dims()[1]), [1, 3, 16]);
    assert_same(&net, &alone, &together(&net, Ids::Any, 1, 4), Tolerance::EXACT);
    assert_same(&net, &alone, &together(&net, Ids::Any, 2, 4), Tolerance::new(1e-4, 1e-5));
}

#[test]
fn what_shows_and_clicks_need_is_said() {
    let told = || Entry::ShowClick { show: "show".into(), click: "click".into() };
    let error = net(distributed().entry(told()), OPTIMIZERS[0].1).err().unwrap().to_string();
    assert!(error.contains("has ShowClickEntry(\"show\", \"click\"), but there is no `show`"), "{error}");
    let decayed: Minimize =
        |net, loss| optimizer::sgd(0.1).regularization(Decay::L2(0.1)).minimize(net, loss).map(drop);
    let error = shown_net(distributed().entry(told()), Ids::Shown, decayed).err().unwrap().to_string();
    assert!(error.contains("has ShowClickEntry and weight decay, which do not go together"), "{error}");
    let whole = Embedding::size(9, WIDTH).is_sparse(true);
    let error =
        net(whole.evict(Retention { unseen: Some(1), score: None }), OPTIMIZERS[0].1).err().unwrap().to_string();
    assert!(
        error.contains("`evict` chooses the rows of a table that is distributed, and this table is not"),
        "{error}"
    );
}

/// The norm is that of the mean gradient over all trainers, so it does not matter how many there are.
#[test]
fn gradients_are_clipped_together() {
    let clipped: Minimize = |net, loss| {
        let clip = Clip::GlobalNorm { norm: 0.05, group: "default_group".into() };
        optimizer::sgd(1.0).grad_clip(clip).minimize(net, loss).map(drop)
    };
    let whole = Embedding::size(9, WIDTH).is_sparse(true);
    for (table, ids) in [(distributed(), Ids::Any), (whole.clone(), Ids::Small), (whole.is_sparse(false), Ids::Small)] {
        let net = net(table, clipped).unwrap();
        let (_, alone) = alone(&net, ids, 4);
        assert_same(&net, &alone, &together(&net, ids, 2, 4), Tolerance::new(1e-5, 1e-6));
        assert_same(&net, &alone, &together(&net, ids, 3, 4), Tolerance::new(1e-5, 1e-6));
    }
}
