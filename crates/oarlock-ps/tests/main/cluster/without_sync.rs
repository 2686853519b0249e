//! Trainers that do not wait for each other, and their communicators.

use std::time::Duration;

use oarlock_exec::Scope;
use oarlock_ps::communicator::{CommunicatorOptions, Merge};
use oarlock_tensor::Tensor;
use oarlock_testkit::{Tolerance, assert_close};
use oarlock_transpile::Config;

use super::{Job, Trainer, half_async, quiet, small, sparse_feed, train_alone, trainer_options, wait_all};

fn asynchronous() -> Config {
    Config { sync_mode: false, runtime_split_send_recv: true, ..small(64) }
}

/// A single asynchronous trainer is alone: it trains as one process does.
#[test]
fn one_half_async_trainer_equals_one_process() {
    for config in [half_async(), Config { sync_mode: false, ..small(64) }] {
        let job = Job::new("half_async", config, 1, 2);
        let servers = job.serve(&quiet());
        let trainer = job.join(0, trainer_options()).unwrap();
        (0..5).for_each(|step| trainer.step(&sparse_feed(step, 0, 8)).unwrap());
        trainer.leave();
        let (_, scopes) = wait_all(servers);
        let alone = train_alone(&job, sparse_feed, 5);
        for param in job.params() {
            let expected = alone.tensor(&param).expect("trained");
            assert_close(&param, &job.joined(&scopes, &param), &expected, Tolerance::EXACT);
        }
    }
}

/// The sum of all elements of the difference between two tensors.
fn distance(a: &Tensor, b: &Tensor) -> f64 {
    a.to_f64().iter().zip(b.to_f64()).map(|(a, b)| (a - b).abs()).sum()
}

#[test]
fn async_trainers_push_and_pull_in_the_background() {
    for (independent_recv_thread, merge) in [(true, Merge::Mean), (false, Merge::Sum)] {
        let job = Job::new("half_async", asynchronous(), 2, 2);
        let servers = job.serve(&quiet());
        let before: Vec<Tensor> = {
            let scopes: Vec<Scope> = servers.iter().map(|(_, scope)| scope.clone()).collect();
            job.params().iter().map(|param| job.joined(&scopes, param)).collect()
        };
        let trainers: Vec<Trainer> = (0..2).map(|t| job.join(t, trainer_options()).unwrap()).collect();
        std::thread::scope(|scope| {
            for (t, trainer) in trainers.iter().enumerate() {
                scope.spawn(move || {
                    let options = CommunicatorOptions {
                        trainer: t,
                        trainers: 2,
                        max_merge_var_num: 3,
                        send_queue_size: 4,
                        independent_recv_thread,
                        merge,
                        ..CommunicatorOptions::default()
                    };
                    let communicator = trainer.communicate(options);
                    (0..20).for_each(|step| trainer.step(&sparse_feed(step, t * 4, 4)).unwrap());
                    communicator.stop().unwrap();
                    trainer.leave();
                });
            }
        });
        let (summaries, scopes) = wait_all(servers);
        assert!(summaries.iter().all(|s| s.pushes >= 14 && s.pushes <= 40), "{summaries:?}");
        for (param, before) in job.params().iter().zip(&before) {
            let after = job.joined(&scopes, param);
            assert!(distance(&after, before) > 0.0, "{param} did not move");
            assert!(after.to_f64().iter().all(|v| v.is_finite()), "{param}");
        }
    }
}

/// Trains some steps through a communicator; returns the pushes of a server before it stopped and in all, and whether new
/// parameters came.
fn communicated(steps: usize, options: CommunicatorOptions) -> (u64, u64, bool) {
    let job = Job::new("half_async", asynchronous(), 1, 1);
    let servers = job.serve(&quiet());
    let trainer = job.join(0, trainer_options()).unwrap();
    let dense = job.params().into_iter().find(|param| param != "tab").expect("a dense parameter");
    let before = trainer.scope.tensor(&dense).unwrap();
    let communicator = trainer.communicate(options);
    (0..steps).for_each(|step| trainer.step(&sparse_feed(step, 0, 8)).unwrap());
    std::thread::sleep(Duration::from_millis(100));
    let pushed = servers[0].0.summary().pushes;
    trainer.step(&sparse_feed(steps, 0, 8)).unwrap();
    communicator.stop().unwrap();
    let came = trainer.scope.tensor(&dense).unwrap() != before;
    trainer.leave();
    (pushed, wait_all(servers).0[0].pushes, came)
}

#[test]
fn every_option_of_the_communicator_has_an_effect() {
    let patient = CommunicatorOptions {
        max_merge_var_num: 100,
        send_queue_size: 100,
        send_wait_times: 3000,
        ..CommunicatorOptions::default()
    };
    // It waits for more, and sends all it has in one when it stops.
    assert_eq!(communicated(9, patient.clone()), (0, 1, false));
    // As soon as as many are there as become one.
    assert_eq!(communicated(9, CommunicatorOptions { max_merge_var_num: 3, ..patient.clone() }), (3, 4, true));
    // As soon as no more may wait.
    assert_eq!(communicated(9, CommunicatorOptions { send_queue_size: 3, ..patient.clone() }), (3, 4, true));
    // As soon as it waited long enough.
    let (pushed, ..) = communicated(9, CommunicatorOptions { send_wait_times: 1, ..patient.clone() });
    assert!(pushed > 0);
    // Parameters come after enough was sent, by either way.
    for independent_recv_thread in [true, false] {
        for (min_send_grad_num_before_recv, came) in [(2, true), (50, false)] {
            let options = CommunicatorOptions {
                max_merge_var_num: 1,
                independent_recv_thread,
                min_send_grad_num_before_recv,
                ..patient.clone()
            };
            assert_eq!(communicated(9, options), (9, 10, came), "{min_send_grad_num_before_recv}");
        }
    }
}

/// The faster of two trainers is never more steps ahead than the bound says; without the slower one it may go on.
#[test]
fn staleness_bound_makes_the_faster_trainer_wait() {
    let job = Job::new("half_async", Config { sync_mode: false, max_staleness: Some(2), ..small(64) }, 2, 2);
    let servers = job.serve(&quiet());
    let [fast, slow] = [0, 1].map(|t| job.join(t, trainer_options()).unwrap());
    let made = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for step in 0..8 {
                fast.step(&sparse_feed(step, 0, 4)).unwrap();
                made.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            }
        });
        for step in 0..4 {
            std::thread::sleep(Duration::from_millis(100));
            assert!(made.load(std::sync::atomic::Ordering::SeqCst) <= step + 2);
            slow.step(&sparse_feed(step, 4, 4)).unwrap();
        }
        slow.leave();
    });
    assert_eq!(made.load(std::sync::atomic::Ordering::SeqCst), 8);
    fast.leave();
    let (summaries, _) = wait_all(servers);
    for summary in summaries {
        assert_eq!((summary.pushes, summary.staleness.pushes), (12, 12));
        assert!(summary.staleness.most > 0 && summary.staleness.most <= 6, "{:?}", summary.staleness);
    }
}
