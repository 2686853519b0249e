//! Transpiled programs against those of Fluid 1.8.
//!
//! `tests/golden/programs.npz` holds programs that Fluid 1.8.5 wrote: of its golden runs (`dist_*`), and of one small
//! network in every other mode (`tools/golden_transpile.py` makes the file). With `OARLOCK_GOLDEN` the golden runs are
//! read from there. What may differ is what the functions named `repaired_*` change, reason by reason.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use oarlock_ir::{Attr, Name, Op, Program, Registry, diff};
use oarlock_testkit::{Npz, golden_dir};
use oarlock_transpile::{Arguments, Config, DistributeTranspiler, Trainers};

fn archive() -> Npz {
    Npz::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/programs.npz"))
}

fn read(archive: &Npz, case: &str, name: &str) -> Program {
    let file = golden_dir().map(|dir| dir.join(case).join(format!("{name}.program"))).filter(|file| file.exists());
    let bytes = match file {
        Some(file) => std::fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display())),
        None => archive.array(&format!("{case}.{name}")).bytes().to_vec(),
    };
    Program::from_bytes(&bytes).unwrap_or_else(|e| panic!("{case} {name}: {e}"))
}

fn registry() -> Registry {
    Registry::new(oarlock_ops::ops().chain(oarlock_ps::ops()).chain(oarlock_collective::ops()), [])
}

/// A run of the transpiler of Fluid 1.8.
struct Case {
    /// Its input and its output.
    local: &'static str,
    made: &'static str,
    config: Config,
    trainers: usize,
    trainer_id: usize,
    servers: String,
}

impl Case {
    fn golden(local: &'static str, made: &'static str, port: u16, min_block_size: usize) -> Case {
        let config = Config { min_block_size, ..Config::fluid() };
        let servers = format!("127.0.0.1:{port},127.0.0.1:{}", port + 1);
        Case { local, made, config, trainers: 2, trainer_id: 0, servers }
    }

    fn small(name: &'static str, change: impl FnOnce(&mut Config)) -> Case {
        let mut case = Case::golden(name, name, 6170, 64);
        change(&mut case.config);
        case
    }

    fn transpile(&self, archive: &Npz) -> (DistributeTranspiler, Program) {
        let mut program = read(archive, self.local, "main");
        let mut startup = read(archive, self.local, "startup");
        // Files do not hold the seed of a program; all were built with this one.
        program.random_seed = 90;
        let mut transpiler = DistributeTranspiler::new(self.config.clone());
        let arguments = Arguments {
            registry: &registry(),
            trainer_id: self.trainer_id,
            program: &mut program,
            startup_program: &mut startup,
            pservers: &self.servers,
            trainers: Trainers::Count(self.trainers),
            sync_mode: true,
            current_endpoint: "127.0.0.1:6170",
            slice_var_up: None,
            split_method: None,
        };
        transpiler.transpile(arguments).unwrap_or_else(|e| panic!("{}: {e}", self.made));
        (transpiler, startup)
    }
}

fn asynchronous(config: &mut Config) {
    config.sync_mode = false;
}

fn split_at_runtime(config: &mut Config) {
    config.sync_mode = false;
    config.runtime_split_send_recv = true;
}

fn fleet_sync(config: &mut Config) {
    split_at_runtime(config);
    config.half_async = true;
    config.completely_not_async = true;
}

fn cases() -> Vec<Case> {
    vec![
        Case::golden("fit_a_line", "dist_fit_a_line", 36110, 8192),
        Case::golden("fit_a_line_decay", "dist_fit_a_line_decay", 36150, 8192),
        Case::golden("ctr_dnn_sgd", "dist_ctr_dnn_sgd", 36120, 8192),
        Case::golden("ctr_dnn_sgd", "dist_ctr_dnn_sgd_sliced", 36130, 1024),
        Case::golden("mnist_mlp", "dist_mnist_mlp", 36140, 8192),
        Case::small("sync_full", |_| {}),
        Case::small("sync_whole", |c| c.slice_var_up = false),
        Case::small("clip_old", |_| {}),
        Case::small("param_lr", |_| {}),
        Case::small("piecewise", |_| {}),
        Case::small("async_plain", asynchronous),
        Case { trainer_id: 1, ..Case::small("async_split", split_at_runtime) },
        Case::small("half_async", |c| {
            split_at_runtime(c);
            c.half_async = true;
        }),
        Case::small("fleet_sync", fleet_sync),
        Case { trainers: 1, ..Case::small("fleet_sync_1", fleet_sync) },
        Case::small("dc_asgd", |c| {
            asynchronous(c);
            c.enable_dc_asgd = true;
        }),
        Case::small("geo", |c| {
            split_at_runtime(c);
            c.geo_sgd_mode = true;
        }),
    ]
}

#[test]
fn transpiled_programs_are_those_of_fluid() {
    let (archive, registry) = (archive(), registry());
    let mut differences = Vec::new();
    for case in cases() {
        let (transpiler, trainer_startup) = case.transpile(&archive);
        let trainer = if case.local == case.made { "trainer" } else { "trainer0" };
        let main = transpiler.get_trainer_program().unwrap();
        let expected_main = read(&archive, case.made, trainer);
        let mut compare = |what: &str, found: &Program, expected: &Program| {
            let [found, expected] = [found, expected].map(|p| plain(p, &registry));
            if let Some(d) = diff(&found, &expected, &[]) {
                differences.push(format!("{} {what}: {d}", case.made));
            }
        };
        compare("trainer", &main, &as_communication(&case, repaired_trainer(&case, &expected_main)));
        let expected = read(&archive, case.made, &format!("{trainer}_startup"));
        compare(
            "trainer startup",
            &trainer_startup,
            &as_communication(&case, repaired_startup(&case, &expected, &repaired_trainer(&case, &expected_main))),
        );
        for (i, endpoint) in case.servers.split(',').enumerate() {
            let (main, startup) = transpiler.get_pserver_programs(endpoint).unwrap();
            let expected = read(&archive, case.made, &format!("pserver{i}"));
            compare(&format!("server {i}"), &main, &repaired_server(&case, i, &expected));
            let expected = read(&archive, case.made, &format!("pserver{i}_startup"));
            compare(
                &format!("server {i} startup"),
                &whole_then_split(&startup),
                &drop_unused(&start_counting(&expected)),
            );
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

// Repairs: each function makes one intended change in the program of Fluid 1.8.

/// The attributes that a GEO trainer has for its communicator are no part of the network: a test program leaves it out.
fn as_communication(case: &Case, mut program: Program) -> Program {
    let sends = program.global_mut().ops.iter_mut().filter(|op| case.config.geo_sgd_mode && op.op_type == "send");
    sends.for_each(|op| op.set_role(oarlock_ir::Role::RPC));
    program
}

fn repaired_trainer(case: &Case, expected: &Program) -> Program {
    let mut program = expected.clone();
    for op in &mut program.global_mut().ops {
        // Without `split`, Fluid 1.8 leaves out the sender.
        if op.op_type == "send" {
            op.attrs.set("trainer_id", case.trainer_id as i32);
        }
        if case.config.geo_sgd_mode {
            repair_geo(op);
        }
    }
    if case.made == "clip_old" {
        see_means(case, &mut program);
    }
    if case.config.completely_not_async {
        send_no_count(&mut program);
    }
    // Branches of the schedule stay in the program of Fluid 1.8, although nothing runs them.
    let run: BTreeSet<usize> = program.blocks().iter().flat_map(|b| &b.ops).flat_map(Op::sub_blocks).collect();
    for block in program.blocks_mut().iter_mut().skip(1).filter(|b| !run.contains(&b.idx)) {
        block.ops.clear();
        block.vars.clear();
    }
    // Fluid 1.8 leaves variables behind that nothing uses: blocks, deltas, the schedule's temporaries. The stale
    // step counter among them would be saved with the model.
    drop_unused(&program)
}

/// Where servers wait for all trainers they count the steps themselves. Fluid 1.8 sends counts of steps there that no operator reads: with
/// Fleet's sync strategy a schedule stands still.
fn send_no_count(program: &mut Program) {
    let counts = |op: &Op| op.op_type == "send" && op.inputs.args().any(|x| x.starts_with(COUNTER));
    let dummies: Vec<Name> =
        program.global().ops.iter().filter(|op| counts(op)).flat_map(|op| op.outputs.get("Out").to_vec()).collect();
    program.global_mut().ops.retain(|op| !counts(op));
    for op in program.global_mut().ops.iter_mut().filter(|op| op.op_type == "send_barrier") {
        let sent = op.inputs.get("X").iter().filter(|x| !dummies.contains(x)).cloned().collect::<Vec<Name>>();
        op.inputs.set("X", sent);
    }
}

/// A norm of gradients is that of their mean; trainers of Fluid 1.8 use their own.
fn see_means(case: &Case, program: &mut Program) {
    let looks = |op: &Op| {
        ["square", "merge_selected_rows"].contains(&op.op_type.as_str()) && op.inputs.get("X")[0].contains("@GRAD")
    };
    let first = program.global().ops.iter().position(looks).expect("a norm");
    let mut gradients: Vec<Name> = Vec::new();
    for op in program.global_mut().ops.iter_mut().filter(|op| looks(op)) {
        let gradient = op.inputs.get("X")[0].clone();
        op.inputs.set("X", vec![format!("{gradient}@MEAN").into()]);
        gradients.push(gradient);
    }
    for gradient in &gradients {
        let mut mean = program.global().var(gradient).expect("declared").clone();
        mean.name = format!("{gradient}@MEAN").into();
        program.global_mut().set_var(mean);
    }
    let mut exchange = Op::new("trainer_mean")
        .input("X", gradients.clone())
        .output("Out", gradients.iter().map(|g| Name::from(format!("{g}@MEAN"))))
        .attr("endpoints", case.servers.split(',').map(str::to_string).collect::<Vec<_>>())
        .attr("trainer_id", case.trainer_id as i32);
    exchange.set_role(oarlock_ir::Role::RPC);
    program.global_mut().ops.insert(first, exchange);
}

/// Of two attributes that mean the same Fluid 1.8 resets one; and it names a server that does not exist.
fn repair_geo(op: &mut Op) {
    if op.attrs.get("remote_prefetch").is_some() {
        op.attrs.set("remote_prefetch", false);
    }
    if op.op_type == "send" {
        op.attrs.set("epmap", Vec::<String>::new());
    }
}

fn repaired_startup(case: &Case, expected: &Program, trainer: &Program) -> Program {
    let mut program = expected.clone();
    // Only what the trainer uses is initialized: counters of other trainers and the schedule's are not.
    let used = named(trainer);
    program.global_mut().ops.retain(|op| {
        op.inputs.args().next().is_some()
            || op.op_type != "fill_constant"
            || op.outputs.args().any(|out| used.contains(out))
    });
    if case.config.geo_sgd_mode {
        program.global_mut().ops.iter_mut().for_each(repair_geo);
        receive_tables(&mut program);
    }
    drop_unused(&program)
}

/// With GEO every trainer must start from the servers' table, too; Fluid 1.8 trusts that seeds agree.
fn receive_tables(program: &mut Program) {
    let blocks: Vec<Name> = vec!["tab.block0".into(), "tab.block1".into()];
    let ops = &mut program.global_mut().ops;
    let recv = ops.iter().position(|op| op.outputs.get("Out").len() > 1).expect("a recv of two blocks");
    let concat = ops.iter().position(|op| op.op_type == "concat").expect("a concat");
    let (mut tables, mut joined) = (ops[recv].clone(), ops[concat].clone());
    tables.outputs.set("Out", blocks.clone());
    joined.inputs.set("X", blocks.clone());
    joined.outputs.set("Out", vec!["tab".into()]);
    ops.insert(concat + 1, joined);
    let barrier = ops.iter().position(|op| op.op_type == "fetch_barrier").expect("a barrier");
    ops.insert(barrier, tables);
    for block in blocks {
        let mut var = program.global().var("tab").expect("the table").clone();
        var.name = block;
        var.persistable = false;
        var.shape.0[0] = oarlock_ir::Dim::Is(50);
        program.global_mut().set_var(var);
    }
}

fn repaired_server(case: &Case, server: usize, expected: &Program) -> Program {
    let mut program = expected.clone();
    for op in program.blocks_mut().iter_mut().flat_map(|b| &mut b.ops) {
        // Which trainer asked for the server's program does not matter.
        if let Some(Attr::Strings(vars)) = op.attrs.get("op_role_var").cloned() {
            let suffix = format!(".trainer_{}", case.trainer_id);
            let plain = vars.iter().map(|v| v.strip_suffix(&suffix).unwrap_or(v).to_string());
            op.attrs.set("op_role_var", plain.collect::<Vec<_>>());
        }
        // A GEO server knows its number, too.
        if op.op_type == "listen_and_serv" {
            op.attrs.set("pserver_id", server as i32);
        }
    }
    stand_in_learning_rate(&mut program);
    count_steps(case, &mut program);
    declare_once(&mut program);
    if case.config.enable_dc_asgd {
        name_compensation(&mut program);
    }
    program
}

/// Branches of a schedule write the learning rate of the server; Fluid 1.8 declares one of their own in them.
fn declare_once(program: &mut Program) {
    let outside: BTreeSet<Name> = program.global().vars.keys().cloned().collect();
    program.blocks_mut().iter_mut().skip(1).for_each(|b| b.vars.retain(|name, _| !outside.contains(name)));
}

/// Without sync the schedule goes on with every step of a trainer, as it does on one machine. Fluid 1.8 sums the steps that
/// trainers say they made, from one too many on, and loses count of them when a job goes on from a save.
fn count_steps(case: &Case, program: &mut Program) {
    let Some(Attr::Int(lr)) = program.global().ops[0].attrs.get("lr_decay_block_id").cloned() else { return };
    let Ok(lr) = usize::try_from(lr) else { return };
    let counts = |op: &Op| op.op_type == "sum" && op.inputs.args().all(|x| x.starts_with(COUNTER));
    let mut notices = Vec::new();
    for op in program.block_mut(lr).ops.iter_mut().filter(|op| counts(op)) {
        notices = op.inputs.get("X").to_vec();
        let counted = Op::new("increment").input("X", [COUNTER]).output("Out", [COUNTER]).attr("step", 1.0f32);
        let role = op.role();
        *op = counted;
        op.set_role(role);
    }
    program.global_mut().vars.retain(|name, _| !notices.contains(name));
    if !notices.is_empty() && !case.config.completely_not_async {
        let names: Vec<String> = notices.iter().map(|name| name.to_string()).collect();
        program.global_mut().ops[0].attrs.set("oarlock_step_notices", names);
    }
}

/// The startup program for that.
fn start_counting(expected: &Program) -> Program {
    let mut program = expected.clone();
    program.global_mut().ops.retain(|op| !op.outputs.args().any(|out| out.starts_with(&format!("{COUNTER}."))));
    program.global_mut().vars.retain(|name, _| !name.starts_with(&format!("{COUNTER}.")));
    for op in program.global_mut().ops.iter_mut().filter(|op| op.outputs.args().any(|out| out == COUNTER)) {
        op.attrs.set("value", -1.0f32);
    }
    program
}

const COUNTER: &str = "@LR_DECAY_COUNTER@";

/// Updates stand in the block of the learning rate. If that has blocks of its own, Fluid 1.8 puts them into the
/// last of those, by mistake: it takes the last block there is.
fn stand_in_learning_rate(program: &mut Program) {
    let Some(Attr::Int(lr)) = program.global().ops[0].attrs.get("lr_decay_block_id").cloned() else { return };
    let Some(Attr::Blocks(optimize)) = program.global().ops[0].attrs.get("optimize_blocks").cloned() else { return };
    if let Ok(lr) = usize::try_from(lr) {
        optimize.iter().filter(|b| **b != lr).for_each(|b| program.block_mut(*b).parent = Some(lr));
    }
}

/// Temporaries of the compensation are named after the parameter, and belong to its block.
fn name_compensation(program: &mut Program) {
    for block in program.blocks_mut().iter_mut().skip(1) {
        let param = block.ops[1].inputs.get("X")[0].clone();
        for (i, word) in ["moved", "moved_g", "moved_g_g", "compensated"].iter().enumerate() {
            let (from, to) = (block.ops[i + 1].outputs.get("Out")[0].clone(), Name::from(format!("{param}.{word}")));
            for op in &mut block.ops {
                op.inputs.rename(&from, &to);
                op.outputs.rename(&from, &to);
            }
            if let Some(mut var) = block.vars.shift_remove(&from) {
                var.name = to;
                block.set_var(var);
            }
        }
    }
}

/// A block of a parameter is taken out of the whole, so that it has the values it has on one machine. Fluid 1.8
/// initializes the block: undo ours to compare.
fn whole_then_split(startup: &Program) -> Program {
    let mut program = startup.clone();
    let mut ops: Vec<Op> = Vec::new();
    for op in &startup.global().ops {
        if op.op_type != "slice" {
            ops.push(op.clone());
            continue;
        }
        let (whole, block) = (&op.inputs.get("Input")[0], &op.outputs.get("Out")[0]);
        let mut init = ops.pop().expect("an initializer before the partition");
        assert_eq!(&init.outputs.get("Out")[0], whole);
        init.outputs.set("Out", vec![block.clone()]);
        init.attrs.set("shape", startup.global().var(block).expect("declared").shape.to_i64());
        ops.push(init);
    }
    program.global_mut().ops = ops;
    drop_unused(&program)
}

// Comparing.

fn named(program: &Program) -> BTreeSet<Name> {
    let ops = program.blocks().iter().flat_map(|b| &b.ops);
    ops.flat_map(|op| op.inputs.args().chain(op.outputs.args())).cloned().collect()
}

fn drop_unused(program: &Program) -> Program {
    let mut program = program.clone();
    let used = named(&program);
    program.global_mut().vars.retain(|name, _| used.contains(name));
    program
}

/// The program with only what counts: attributes that differ from their defaults, variables that only order operators
/// under names in order, lists that are sets in order.
fn plain(program: &Program, registry: &Registry) -> Program {
    let mut program = program.clone();
    let mut dummies: BTreeMap<Name, Name> = BTreeMap::new();
    for block in program.blocks_mut() {
        block.vars.retain(|name, _| !name.starts_with("__control_var@") && name != "param_init");
        for op in &mut block.ops {
            plain_op(op, registry);
            for slots in [&mut op.inputs, &mut op.outputs] {
                for arg in slots.iter_mut().flat_map(|(_, args)| args).filter(|a| a.starts_with("__control_var@")) {
                    let next: Name = format!("control {}", dummies.len()).into();
                    *arg = dummies.entry(arg.clone()).or_insert(next).clone();
                }
            }
            // With `slice_var_up` off Fluid 1.8 lists these in the order of the shuffle.
            if ["send_barrier", "listen_and_serv"].contains(&op.op_type.as_str()) {
                op.inputs.iter_mut().for_each(|(_, args)| args.sort());
            }
        }
    }
    program
}

fn plain_op(op: &mut Op, registry: &Registry) {
    // Ours alone: the attributes by which two jobs on one port refuse each other, and predictors know that they ask all servers.
    op.attrs.remove("oarlock_fingerprint");
    op.attrs.remove("oarlock_servers");
    let set: Vec<_> = op.attrs.iter().map(|(n, v)| (n.clone(), v.clone())).collect();
    let entry = registry.get(&op.op_type);
    for (name, mut value) in set {
        if let (Attr::Strings(list), "grad_to_block_id") = (&mut value, name.as_str()) {
            list.sort();
            op.attrs.set(&name, value.clone());
        }
        let sig = entry.and_then(|e| e.sig.attrs.iter().find(|a| a.name == name.as_str()));
        let ordinary = match name.as_str() {
            "op_role" => value == Attr::Int(0),
            "op_role_var" => value == Attr::Strings(Vec::new()),
            "op_namescope" => value == "/".into(),
            "op_device" | "op_callstack" => true,
            _ => match sig {
                Some(sig) => sig.default.as_ref() == Some(&value),
                None => entry.is_some(),
            },
        };
        if ordinary {
            op.attrs.remove(&name);
        }
    }
}
