//! Trainers that finish every step together, and which processes may take part.

use std::thread::JoinHandle;
use std::time::Duration;

use oarlock_exec::{ExecOptions, Executor};
use oarlock_net::Floats;
use oarlock_ps::client::ClientOptions;
use oarlock_ps::server::Policy;
use oarlock_tensor::Tensor;
use oarlock_testkit::{Tolerance, assert_close};
use oarlock_transpile::Config;

use super::{
    Feed, Job, Trainer, dense_feed, quiet, small, sparse_feed, train_alone, trainer_options, wait_all, with_policy,
};
use crate::programs::noise;

/// Two trainers make steps together; the parameters end where one process with the joined batch ends.
fn trains_as_one_process(job: &Job, feed: Feed, steps: usize) {
    let servers = job.serve(&quiet());
    let trainers: Vec<JoinHandle<()>> = (0..job.trainers)
        .map(|t| {
            let (joined, count) = (job.join(t, trainer_options()).unwrap(), 8 / job.trainers);
            std::thread::spawn(move || {
                (0..steps).for_each(|step| joined.step(&feed(step, t * count, count)).unwrap());
                joined.leave();
            })
        })
        .collect();
    trainers.into_iter().for_each(|t| t.join().unwrap());
    let (summaries, scopes) = wait_all(servers);
    assert!(summaries.iter().all(|s| s.steps == steps as u64 && s.duplicates == 0), "{summaries:?}");
    let alone = train_alone(job, feed, steps);
    for param in job.params() {
        let expected = alone.tensor(&param).expect("trained");
        assert_close(&param, &job.joined(&scopes, &param), &expected, Tolerance::new(1e-6, 1e-6));
    }
}

#[test]
fn sync_training_equals_one_process() {
    trains_as_one_process(&Job::new("dc_asgd", small(64), 2, 2), |s, f, c| dense_feed(8, s, f, c), 5);
    trains_as_one_process(&Job::new("fit_a_line_decay", small(4), 2, 2), |s, f, c| dense_feed(13, s, f, c), 5);
    trains_as_one_process(&Job::new("fit_a_line_decay", small(4), 1, 2), |s, f, c| dense_feed(13, s, f, c), 3);
}

#[test]
fn sync_training_with_a_table_on_servers_equals_one_process() {
    trains_as_one_process(&Job::new("half_async", small(64), 2, 2), sparse_feed, 5);
}

/// Of three trainers one or the other comes last: the sums of their gradients are the same to the last bit.
#[test]
fn order_of_pushes_does_not_change_the_result() {
    let cases: [(&str, Feed); 2] = [("dc_asgd", |s, f, c| dense_feed(8, s, f, c)), ("half_async", sparse_feed)];
    for (case, feed) in cases {
        let mut first: Option<Vec<Tensor>> = None;
        for pauses in [[0, 20, 40], [40, 20, 0], [20, 0, 40]] {
            let job = Job::new(case, small(64), 3, 2);
            let servers = job.serve(&quiet());
            let trainers: Vec<Trainer> = (0..3).map(|t| job.join(t, trainer_options()).unwrap()).collect();
            std::thread::scope(|scope| {
                for (t, (trainer, pause)) in trainers.iter().zip(pauses).enumerate() {
                    scope.spawn(move || {
                        for step in 0..3 {
                            std::thread::sleep(Duration::from_millis(pause));
                            trainer.step(&feed(step, t * 2, 2)).unwrap();
                        }
                        trainer.leave();
                    });
                }
            });
            let (_, scopes) = wait_all(servers);
            let params: Vec<Tensor> = job.params().iter().map(|param| job.joined(&scopes, param)).collect();
            assert!(*first.get_or_insert_with(|| params.clone()) == params, "{case}, {pauses:?}");
        }
    }
}

/// Two jobs with the same names in one process, at the same time: each learns what it learns alone.
#[test]
fn two_clusters_in_one_process_do_not_touch_each_other() {
    std::thread::scope(|scope| {
        for shift in [0, 100] {
            scope.spawn(move || {
                let job = Job::new("half_async", small(64), 2, 2);
                let feed: Feed = if shift == 0 { sparse_feed } else { |s, f, c| sparse_feed(s + 100, f, c) };
                trains_as_one_process(&job, feed, 5);
            });
        }
    });
}

/// Numbers of 16 bits on the wire change results by their rounding, and not at all what is small or saved.
#[test]
fn payloads_of_16_bits_only_round() {
    for floats in [Floats::Bf16, Floats::F16] {
        let job = Job::new("half_async", small(64), 1, 2);
        let servers = job.serve(&quiet());
        let trainer = job.join(0, ClientOptions { floats, ..trainer_options() }).unwrap();
        (0..5).for_each(|step| trainer.step(&sparse_feed(step, 0, 8)).unwrap());
        trainer.leave();
        let (_, scopes) = wait_all(servers);
        let alone = train_alone(&job, sparse_feed, 5);
        let mut rounded = false;
        for param in job.params() {
            let (expected, got) = (alone.tensor(&param).expect("trained"), job.joined(&scopes, &param));
            assert_close(&param, &got, &expected, Tolerance::new(2e-2, 2e-2));
            rounded |= got.to_f64().iter().zip(expected.to_f64()).any(|(a, b)| (a - b).abs() > 1e-6);
        }
        assert!(rounded, "{floats:?}");
    }
}

#[test]
fn push_with_a_nan_is_an_error_of_its_trainer() {
    for mode in [true, false] {
        let config = Config { sync_mode: mode, ..small(64) };
        let job = Job { checks: true, ..Job::new("dc_asgd", config, 2, 1) };
        let servers = job.serve(&with_policy(Policy::Shrink));
        let [good, bad] = [0, 1].map(|t| job.join(t, trainer_options()).unwrap());
        let feed = [("x", Tensor::from_slice([4, 8], &[f32::NAN; 32]).unwrap()), ("y", noise(4, 1, 0))];
        let error = bad.step(&feed).unwrap_err();
        assert_eq!(error.kind(), oarlock_ir::Kind::Nan, "{error}");
        assert!(error.to_string().contains("sent by trainer 1"), "{error}");
        // With the check on, the trainer finds it first, and says who it is.
        let checking = Trainer { executor: checking_executor_of(&bad), ..bad };
        let error = checking.step(&feed).unwrap_err();
        assert!(error.report().what.starts_with("in trainer 1, `"), "{error}");
        checking.die();
        good.step(&dense_feed(8, 0, 0, 8)).unwrap();
        good.leave();
        wait_all(servers);
    }
}

fn checking_executor_of(trainer: &Trainer) -> Executor {
    let options = ExecOptions { check_nan_inf: true, ..trainer.executor.options().clone() };
    Executor::with_runtime(options, trainer.executor.runtime().clone())
}

#[test]
fn trainer_and_server_of_different_programs_refuse_each_other() {
    let job = Job::new("dc_asgd", small(64), 1, 2);
    let servers = job.serve(&quiet());
    let error = another_program(&job).join(0, trainer_options()).err().expect("it serves another program");
    assert!(error.report().what.starts_with("trainer 0 runs another program than server 127.0.0.1:"), "{error}");
    drop(servers);
}

/// Another network at the same servers.
fn another_program(job: &Job) -> Job {
    Job { pservers: job.pservers.clone(), ..Job::new("fit_a_line_decay", small(4), 1, 2) }
}

#[test]
fn missing_server_is_named_in_the_error() {
    let job = Job::new("dc_asgd", small(64), 1, 1);
    let options = ClientOptions { deadline: Duration::from_millis(400), ..trainer_options() };
    let error = job.join(0, options).err().unwrap();
    assert!(error.to_string().contains(&job.pservers), "{error}");
}
