//! Collective workers as threads of one process: training gives the parameters of training in one process.

use oarlock_collective::{Backend, GroupOptions};
use oarlock_exec::Scope;
use oarlock_exec::replicas::{Feeds, Replicas};
use oarlock_ir::Program;
use oarlock_tensor::Tensor;
use oarlock_transpile::{CollectiveMode, Config, Mode};

use crate::programs::{local, noise};
use crate::support::{
    ROWS, Worker, assert_equal, collective, executor, feed, free_endpoints, options, parameters, train, train_alone,
    train_on, width,
};

#[test]
fn collective_workers_train_as_one_process() {
    let nccl2 = Config { mode: Mode::Nccl2, ..Config::fluid() };
    for (case, config) in [
        ("dc_asgd", collective(CollectiveMode::GradAllreduce)),
        ("fit_a_line_decay", collective(CollectiveMode::GradAllreduce)),
        ("dc_asgd", Config { nccl_comm_num: 2, ..collective(CollectiveMode::GradAllreduce) }),
        // One step of plain SGD is the mean of where the workers went.
        ("dc_asgd", collective(CollectiveMode::LocalSgd)),
        ("dc_asgd", nccl2),
    ] {
        for steps in [&[4, 4][..], &[3, 3, 3]] {
            let found = train(case, &config, &options(), steps);
            assert_equal(case, &found, &train_alone(case, steps));
        }
    }
}

/// Replicas add up their gradients first, then the processes theirs.
#[test]
fn collective_workers_with_replicas_train_as_one_process() {
    let nccl2 = Config { mode: Mode::Nccl2, ..Config::fluid() };
    let modes = [collective(CollectiveMode::GradAllreduce), collective(CollectiveMode::LocalSgd), nccl2];
    for (config, steps) in modes.iter().zip([&[4, 4][..], &[3, 3], &[2, 2, 2]]) {
        let found = train_on(2, "dc_asgd", config, &options(), steps);
        assert_equal("dc_asgd", &found, &train_alone("dc_asgd", steps));
    }
    // A rank without data makes zero-weight steps on replicas, too.
    let config = collective(CollectiveMode::GradAllreduce);
    let found = train_on(3, "dc_asgd", &config, &options(), &[2, 5]);
    assert_equal("dc_asgd", &found, &train_alone("dc_asgd", &[2, 5]));
}

#[test]
fn one_process_alone_is_a_group() {
    let config = collective(CollectiveMode::SingleProcessMultiThread);
    for replicas in [1, 2] {
        let found = train_on(replicas, "dc_asgd", &config, &options(), &[4]);
        assert_equal("dc_asgd", &found, &train_alone("dc_asgd", &[4]));
    }
}

#[test]
fn exchange_of_a_variable_that_differs_between_replicas_is_refused() {
    let text = "block 0 {\n var a: f32[?, 1]\n var b: f32[?, 1]\n b = scale(X: a)\n b = c_allreduce_sum(X: b)\n }";
    let Ok(program) = Program::from_text(text) else { panic!("the text is no program") };
    let (a, how) = (noise(4, 1, 0), Replicas::new(2));
    let run = executor().run_replicas(&program, &how, Feeds::Split(&[("a", &a)]), &[], &Scope::new());
    let error = run.unwrap_err().to_string();
    assert!(error.contains("`c_allreduce_sum` exchanges `b` with other processes"), "{error}");
}

#[test]
fn parameters_do_not_depend_on_bucket_size_or_transport() {
    let config = collective(CollectiveMode::GradAllreduce);
    let bits = |fuse_bytes: usize, backend: Backend| {
        let scopes = train("dc_asgd", &config, &GroupOptions { fuse_bytes, backend, ..options() }, &[3, 3, 3]);
        assert_equal("dc_asgd", &scopes, &train_alone("dc_asgd", &[3, 3, 3]));
        let bytes = |param: &String| scopes[0].tensor(param).unwrap().bytes().to_vec();
        parameters("dc_asgd").iter().map(bytes).collect::<Vec<_>>()
    };
    let large = bits(4 << 20, Backend::Auto);
    assert_eq!(bits(0, Backend::Auto), large);
    assert_eq!(bits(100, Backend::Auto), large);
    assert_eq!(bits(4 << 20, Backend::Tcp), bits(4 << 20, Backend::Tcp));
}

#[test]
fn rank_without_data_takes_part_with_weight_zero() {
    for mode in [CollectiveMode::GradAllreduce, CollectiveMode::LocalSgd] {
        for steps in [[2, 5], [5, 2], [0, 3], [4, 4]] {
            let found = train("dc_asgd", &collective(mode), &options(), &steps);
            assert_equal("dc_asgd", &found, &train_alone("dc_asgd", &steps));
        }
    }
    // The learning rate of a worker without data decays as that of the others.
    let found = train("fit_a_line_decay", &collective(CollectiveMode::GradAllreduce), &options(), &[1, 4, 4]);
    assert_equal("fit_a_line_decay", &found, &train_alone("fit_a_line_decay", &[1, 4, 4]));
}

/// Two separate trainings; after the steps where workers average, both get the mean of their parameters.
fn average_by_hand(case: &str, (every, begin): (usize, usize), steps: [usize; 2]) -> Scope {
    let (program, startup) = local(case);
    let alone = [0, 1].map(|_| (executor(), Scope::new()));
    alone.iter().for_each(|(executor, scope)| drop(executor.run(&startup, &[], &[], scope).unwrap()));
    let average = |of: &[usize]| {
        for param in parameters(case) {
            let parts: Vec<Tensor> = of.iter().map(|rank| alone[*rank].1.tensor(&param).unwrap()).collect();
            let mut mean = parts[0].clone();
            let sums = mean.data_mut::<f32>().unwrap().iter_mut().enumerate();
            sums.for_each(|(i, v)| {
                *v = parts.iter().map(|p| p.data::<f32>().unwrap()[i]).sum::<f32>() / of.len() as f32
            });
            alone.iter().for_each(|(_, scope)| scope.set(&param, mean.clone()));
        }
    };
    // A rank without data is in the next average once, with its steps since the last.
    let (mut last, mut averaged) = ([0, 0], 0);
    for step in 1..=steps.into_iter().max().unwrap() {
        for rank in (0..2).filter(|rank| step <= steps[*rank]) {
            let feeds = feed(width(case), step - 1, rank * ROWS / 2, ROWS / 2);
            let feeds: Vec<(&str, &Tensor)> = feeds.iter().map(|(name, t)| (*name, t)).collect();
            alone[rank].0.run(&program, &feeds, &[], &alone[rank].1).unwrap();
            last[rank] = step;
        }
        if step <= begin || step - averaged == every {
            average(&(0..2).filter(|rank| last[*rank] > averaged).collect::<Vec<_>>());
            averaged = step;
        }
    }
    let rest: Vec<usize> = (0..2).filter(|rank| last[*rank] > averaged).collect();
    if !rest.is_empty() {
        average(&rest);
    }
    alone.into_iter().next().unwrap().1
}

#[test]
fn local_sgd_averages_after_every_k_steps() {
    for (every, begin) in [(2, 1), (3, 2), (3, 0), (50, 1)] {
        let config =
            Config { local_sgd_k_steps: every, local_sgd_begin_step: begin, ..collective(CollectiveMode::LocalSgd) };
        for steps in [[6, 6], [7, 7], [7, 4], [2, 7]] {
            let found = train("dc_asgd", &config, &options(), &steps);
            assert_equal("dc_asgd", &found, &average_by_hand("dc_asgd", (every, begin), steps));
        }
        let found = train_on(2, "dc_asgd", &config, &options(), &[5, 5]);
        assert_equal("dc_asgd", &found, &average_by_hand("dc_asgd", (every, begin), [5, 5]));
    }
    let never = Config { local_sgd_k_steps: 0, ..collective(CollectiveMode::LocalSgd) };
    let error = Worker::join("dc_asgd", never, 0, &free_endpoints(2), options()).err().expect("refused");
    assert_eq!(error.report().what, "parameters cannot be averaged after every 0 steps");
}

#[test]
fn ranks_with_different_programs_are_refused() {
    let endpoints = free_endpoints(2);
    let error = |rank: usize| {
        let (case, endpoints) = (["dc_asgd", "fit_a_line_decay"][rank], endpoints.clone());
        let config = collective(CollectiveMode::GradAllreduce);
        std::thread::spawn(move || Worker::join(case, config, rank, &endpoints, options()).err().unwrap().to_string())
    };
    for worker in [error(0), error(1)] {
        let error = worker.join().unwrap();
        assert!(error.contains("the programs differ: rank 1 has fc_0.b_0"), "{error}");
        assert!(error.contains("where rank 0 has"), "{error}");
    }
}

#[test]
fn exchange_without_a_group_is_an_error() {
    let text = "block 0 {\n var a: f32[2]\n a = c_allreduce_sum(X: a)\n }";
    let program = Program::from_text(text).unwrap();
    let error = executor().run(&program, &[("a", &noise(2, 1, 0))], &["a"], &Scope::new()).unwrap_err().to_string();
    assert!(error.contains("communication group 0 (ring_id) is not joined"), "{error}");
}

#[test]
fn sync_operators_pass_values_through() {
    for op in ["c_sync_calc_stream", "c_sync_comm_stream"] {
        let text =
            format!("block 0 {{\n var a: f32[2]\n var b: f32[2]\n var c: f32[2]\n Out: [a, c] = {op}(X: [a, b])\n }}");
        let program = Program::from_text(&text).unwrap();
        let numbers = |values: &[f32]| Tensor::from_slice([2], values).unwrap();
        let (a, b) = (numbers(&[1.0, 2.0]), numbers(&[3.0, 4.0]));
        let found = executor().run_tensors(&program, &[("a", &a), ("b", &b)], &["a", "c"], &Scope::new()).unwrap();
        assert_eq!(found[0].data::<f32>().unwrap(), [1.0, 2.0], "{op}");
        assert_eq!(found[1].data::<f32>().unwrap(), [3.0, 4.0], "{op}");
    }
}

/// An exchange runs beside the computation: a reader that came before the operator that waits for it would see the old value.
#[test]
fn sync_operators_keep_their_place_between_exchange_and_reader() {
    let text = "block 0 {
        var a: f32[2]
        var b: f32[2]
        var c: f32[2]
        b = scale(X: a)
        b = c_sync_calc_stream(X: b)
        b = c_allreduce_sum(X: b)
        b = c_sync_comm_stream(X: b)
        c = scale(X: b)
    }";
    let program = Program::from_text(text).unwrap();
    let planned = executor().planned_program(&program, &["a"], &["c"]).unwrap();
    let ops: Vec<&str> = planned.global().ops.iter().map(|op| op.op_type.as_str()).collect();
    let expected = ["scale", "c_sync_calc_stream", "c_allreduce_sum", "c_sync_comm_stream", "scale"];
    assert_eq!(ops.iter().filter(|op| expected.contains(op)).copied().collect::<Vec<_>>(), expected, "{ops:?}");
}
