//! What trainers of parameter servers compute is fused as on one machine, although sends stand between the operators.

use oarlock::dist::transpile::{Arguments, Config, DistributeTranspiler, Trainers};
use oarlock::ir::Program;
use oarlock::prelude::*;

fn click_model() -> Result<Net> {
    let mut net = Net::new();
    let label = net.checked_data("label", &[-1, 1], DType::I64, 0)?;
    let mut features = vec![net.checked_data("dense", &[-1, 3], DType::F32, 0)?];
    for slot in ["a", "b"] {
        let ids = net.checked_data(slot, &[-1, 1], DType::I64, 0)?;
        let table = Embedding::size(1000, 4).is_sparse(true).param_attr(ParamAttr::name("table"));
        features.push(net.embedding(&ids, table)?);
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

fn trainer_program(config: Config) -> Result<Program> {
    let net = click_model()?;
    let sync_mode = config.sync_mode;
    let mut transpiler = DistributeTranspiler::new(config);
    let (mut main, mut startup) = (net.main.clone(), net.startup.clone());
    transpiler.transpile(Arguments {
        trainer_id: 0,
        program: &mut main,
        startup_program: &mut startup,
        pservers: "127.0.0.1:6174,127.0.0.1:6175",
        trainers: Trainers::Count(2),
        sync_mode,
        current_endpoint: "",
        slice_var_up: None,
        split_method: None,
    })?;
    transpiler.get_trainer_program()
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
        let plan = exe.planned_program(&trainer_program(config)?, &["label", "dense", "a", "b"], &[])?;
        let found = [count(&plan, "fused_fc"), count(&plan, "fused_fc_grad"), count(&plan, "relu_grad")];
        assert_eq!(found, [3, 3, 0], "{}", plan.summary());
        let rows = count(&plan, "fused_lookup_concat_grad") + count(&plan, "fused_lookup_sgd");
        assert_eq!(rows, 1, "{}", plan.summary());
    }
    Ok(())
}
