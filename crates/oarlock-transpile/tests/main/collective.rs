//! Programs of collective workers: how they set up communication groups, sum gradients, and average parameters.

use expect_test::expect;
use oarlock_ir::{Program, Result};
use oarlock_transpile::{Arguments, CollectiveMode, Config, DistributeTranspiler, Mode, Trainers};

use crate::programs::local;
use crate::transpile::about;

/// Transpiles for the second of two collective workers.
fn worker(config: Config) -> Result<(Program, Program)> {
    let (mut main, mut startup) = local("dc_asgd");
    DistributeTranspiler::new(config).transpile(Arguments {
        registry: &crate::transpile::registry(),
        trainer_id: 1,
        program: &mut main,
        startup_program: &mut startup,
        pservers: "",
        trainers: Trainers::Endpoints("w0:1,w1:1".into()),
        sync_mode: true,
        current_endpoint: "w1:1",
        slice_var_up: None,
        split_method: None,
    })?;
    Ok((main, startup))
}

/// The operators of collective workers besides those that compute.
const EXCHANGE: [&str; 7] =
    ["c_sync_calc_stream", "c_allreduce_sum", "c_sync_comm_stream", "scale", "elementwise_sub", "assign", "sgd"];

fn collective(mode: CollectiveMode) -> Config {
    Config { mode: Mode::Collective, collective_mode: Some(mode), ..Config::fluid() }
}

#[test]
fn collective_workers_agree_on_communication_groups() {
    let nccl2 = Config { mode: Mode::Nccl2, nccl_comm_num: 2, ..Config::fluid() };
    let (_, startup) = worker(nccl2).unwrap();
    about(
        &startup,
        &["gen_nccl_id"],
        expect![[r#"
            NCCLID: NCCLID = gen_nccl_id() {trainers: ["w0:1", "w1:1"], trainer_id: 1, nccl_comm_num: 2, use_hierarchical_allreduce: false, hierarchical_allreduce_inter_nranks: 0, oarlock_program: ["fc_0.b_0 f32[30] (sgd)", "fc_0.w_0 f32[8, 30] (sgd)", "fc_1.b_0 f32[1] (sgd)", "fc_1.w_0 f32[30, 1] (sgd)"], oarlock_fuse_mb: -1.0}
        "#]],
    );
    assert!(["NCCLID", "NCCLID_1"].iter().all(|id| startup.global().var(id).is_some()));
}

#[test]
fn collective_workers_sum_gradients() {
    let (main, startup) = worker(collective(CollectiveMode::GradAllreduce)).unwrap();
    about(
        &startup,
        &["c_gen_nccl_id", "c_comm_init", "c_broadcast", "c_sync_comm_stream", "assign"],
        expect![[r#"
            nccl_id_0 = c_gen_nccl_id() {rank: 1, endpoint: "w1:1", other_endpoints: ["w0:1"], oarlock_program: ["fc_0.b_0 f32[30] (sgd)", "fc_0.w_0 f32[8, 30] (sgd)", "fc_1.b_0 f32[1] (sgd)", "fc_1.w_0 f32[30, 1] (sgd)"], oarlock_fuse_mb: -1.0, use_hierarchical_allreduce: false}
            c_comm_init(X: nccl_id_0) {nranks: 2, rank: 1, ring_id: 0}
            fc_0.b_0 = c_broadcast(X: fc_0.b_0) {ring_id: 0, root: 0}
            fc_0.w_0 = c_broadcast(X: fc_0.w_0) {ring_id: 0, root: 0}
            fc_1.b_0 = c_broadcast(X: fc_1.b_0) {ring_id: 0, root: 0}
            fc_1.w_0 = c_broadcast(X: fc_1.w_0) {ring_id: 0, root: 0}
            Out: [fc_0.b_0, fc_0.w_0, fc_1.b_0, fc_1.w_0] = c_sync_comm_stream(X: [fc_0.b_0, fc_0.w_0, fc_1.b_0, fc_1.w_0]) {ring_id: 0}
        "#]],
    );
    about(
        &main,
        &EXCHANGE,
        expect![[r#"
            square_error_cost_0.tmp_0 = elementwise_sub(X: fc_1.tmp_1, Y: y) {y_data_format: "", x_data_format: "", use_mkldnn: false, axis: -1}
            mean_0.tmp_0@GRAD = scale(X: mean_0.tmp_0@GRAD) {scale: 0.5, bias: 0.0, bias_after_scale: true}
            fc_1.b_0@GRAD = c_sync_calc_stream(X: fc_1.b_0@GRAD)
            fc_1.b_0@GRAD = c_allreduce_sum(X: fc_1.b_0@GRAD) {ring_id: 0, oarlock_weight: 1.0}
            fc_1.w_0@GRAD = c_sync_calc_stream(X: fc_1.w_0@GRAD)
            fc_1.w_0@GRAD = c_allreduce_sum(X: fc_1.w_0@GRAD) {ring_id: 0, oarlock_weight: 1.0}
            fc_0.b_0@GRAD = c_sync_calc_stream(X: fc_0.b_0@GRAD)
            fc_0.b_0@GRAD = c_allreduce_sum(X: fc_0.b_0@GRAD) {ring_id: 0, oarlock_weight: 1.0}
            fc_0.w_0@GRAD = c_sync_calc_stream(X: fc_0.w_0@GRAD)
            fc_0.w_0@GRAD = c_allreduce_sum(X: fc_0.w_0@GRAD) {ring_id: 0, oarlock_weight: 1.0}
            Out: [fc_1.b_0@GRAD, fc_1.w_0@GRAD, fc_0.b_0@GRAD, fc_0.w_0@GRAD] = c_sync_comm_stream(X: [fc_1.b_0@GRAD, fc_1.w_0@GRAD, fc_0.b_0@GRAD, fc_0.w_0@GRAD]) {ring_id: 0}
            ParamOut: fc_0.b_0 = sgd(Grad: fc_0.b_0@GRAD, LearningRate: learning_rate_0, Param: fc_0.b_0)
            ParamOut: fc_0.w_0 = sgd(Grad: fc_0.w_0@GRAD, LearningRate: learning_rate_0, Param: fc_0.w_0)
            ParamOut: fc_1.b_0 = sgd(Grad: fc_1.b_0@GRAD, LearningRate: learning_rate_0, Param: fc_1.b_0)
            ParamOut: fc_1.w_0 = sgd(Grad: fc_1.w_0@GRAD, LearningRate: learning_rate_0, Param: fc_1.w_0)
        "#]],
    );
}

#[test]
fn local_sgd_averages_how_far_parameters_moved() {
    let (main, startup) = worker(collective(CollectiveMode::LocalSgd)).unwrap();
    about(
        &startup,
        &["assign"],
        expect![[r#"
        fc_0.b_0@SNAPSHOT = assign(X: fc_0.b_0)
        fc_0.w_0@SNAPSHOT = assign(X: fc_0.w_0)
        fc_1.b_0@SNAPSHOT = assign(X: fc_1.b_0)
        fc_1.w_0@SNAPSHOT = assign(X: fc_1.w_0)
    "#]],
    );
    about(
        &main,
        &EXCHANGE,
        expect![[r#"
            square_error_cost_0.tmp_0 = elementwise_sub(X: fc_1.tmp_1, Y: y) {y_data_format: "", x_data_format: "", use_mkldnn: false, axis: -1}
            ParamOut: fc_0.b_0 = sgd(Grad: fc_0.b_0@GRAD, LearningRate: learning_rate_0, Param: fc_0.b_0)
            fc_0.b_0 = elementwise_sub(X: fc_0.b_0@SNAPSHOT, Y: fc_0.b_0) {axis: -1}
            fc_0.b_0 = c_sync_calc_stream(X: fc_0.b_0)
            fc_0.b_0 = c_allreduce_sum(X: fc_0.b_0) {ring_id: 0, oarlock_weight: 1.0}
            ParamOut: fc_0.w_0 = sgd(Grad: fc_0.w_0@GRAD, LearningRate: learning_rate_0, Param: fc_0.w_0)
            fc_0.w_0 = elementwise_sub(X: fc_0.w_0@SNAPSHOT, Y: fc_0.w_0) {axis: -1}
            fc_0.w_0 = c_sync_calc_stream(X: fc_0.w_0)
            fc_0.w_0 = c_allreduce_sum(X: fc_0.w_0) {ring_id: 0, oarlock_weight: 1.0}
            ParamOut: fc_1.b_0 = sgd(Grad: fc_1.b_0@GRAD, LearningRate: learning_rate_0, Param: fc_1.b_0)
            fc_1.b_0 = elementwise_sub(X: fc_1.b_0@SNAPSHOT, Y: fc_1.b_0) {axis: -1}
            fc_1.b_0 = c_sync_calc_stream(X: fc_1.b_0)
            fc_1.b_0 = c_allreduce_sum(X: fc_1.b_0) {ring_id: 0, oarlock_weight: 1.0}
            ParamOut: fc_1.w_0 = sgd(Grad: fc_1.w_0@GRAD, LearningRate: learning_rate_0, Param: fc_1.w_0)
            fc_1.w_0 = elementwise_sub(X: fc_1.w_0@SNAPSHOT, Y: fc_1.w_0) {axis: -1}
            fc_1.w_0 = c_sync_calc_stream(X: fc_1.w_0)
            fc_1.w_0 = c_allreduce_sum(X: fc_1.w_0) {ring_id: 0, oarlock_weight: 1.0}
            Out: [fc_0.b_0, fc_0.w_0, fc_1.b_0, fc_1.w_0] = c_sync_comm_stream(X: [fc_0.b_0, fc_0.w_0, fc_1.b_0, fc_1.w_0]) {ring_id: 0}
            fc_0.b_0 = scale(X: fc_0.b_0) {scale: 0.5, bias: 0.0, bias_after_scale: true}
            fc_0.b_0 = elementwise_sub(X: fc_0.b_0@SNAPSHOT, Y: fc_0.b_0) {axis: -1}
            fc_0.b_0@SNAPSHOT = assign(X: fc_0.b_0)
            fc_0.w_0 = scale(X: fc_0.w_0) {scale: 0.5, bias: 0.0, bias_after_scale: true}
            fc_0.w_0 = elementwise_sub(X: fc_0.w_0@SNAPSHOT, Y: fc_0.w_0) {axis: -1}
            fc_0.w_0@SNAPSHOT = assign(X: fc_0.w_0)
            fc_1.b_0 = scale(X: fc_1.b_0) {scale: 0.5, bias: 0.0, bias_after_scale: true}
            fc_1.b_0 = elementwise_sub(X: fc_1.b_0@SNAPSHOT, Y: fc_1.b_0) {axis: -1}
            fc_1.b_0@SNAPSHOT = assign(X: fc_1.b_0)
            fc_1.w_0 = scale(X: fc_1.w_0) {scale: 0.5, bias: 0.0, bias_after_scale: true}
            fc_1.w_0 = elementwise_sub(X: fc_1.w_0@SNAPSHOT, Y: fc_1.w_0) {axis: -1}
            fc_1.w_0@SNAPSHOT = assign(X: fc_1.w_0)
        "#]],
    );
}
