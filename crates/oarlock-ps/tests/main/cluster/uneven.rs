//! Trainers in step that have unequal numbers of batches and wait for each other between epochs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use oarlock_exec::Scope;
use oarlock_ps::client::{ClientOptions, TrainerGroup};
use oarlock_ps::server::Policy;
use oarlock_tensor::Tensor;
use oarlock_testkit::{Tolerance, assert_close};
use oarlock_transpile::Config;

use super::{
    Feed, Job, Trainer, dense_feed, executor, quiet, small, sparse_feed, trainer_options, wait_all, with_policy,
};

/// Batches of trainer 0 and of trainer 1 in each epoch.
const EPOCHS: [[usize; 2]; 3] = [[3, 4], [2, 0], [1, 3]];

/// How trainers wait for each other between epochs.
type Between = fn(&Job, &Trainer, usize);

fn servers(job: &Job) -> Vec<String> {
    job.endpoints().map(str::to_string).collect()
}

fn barrier(job: &Job, trainer: &Trainer, index: usize) {
    let met =
        trainer.client().all_gather(index as u32, &servers(job), "barrier", &Tensor::scalar(index as f32)).unwrap();
    let numbers: Vec<f32> = met.iter().map(|t| t.data::<f32>().unwrap()[0]).collect();
    assert_eq!(numbers, [0.0, 1.0]);
}

/// The exchange of `global_shuffle`.
fn exchange(job: &Job, trainer: &Trainer, index: usize) {
    let mut group = TrainerGroup::new(trainer.client(), servers(job), index, 2).unwrap();
    assert_eq!(group.all_gather(&[index as u8]).unwrap(), [[0], [1]]);
}

/// The first number of the epoch, as a step of data of its own.
fn before(epoch: usize) -> usize {
    EPOCHS[..epoch].iter().map(|of| of[0].max(of[1])).sum()
}

fn train(job: &Job, trainer: &Trainer, index: usize, feed: Feed, between: Between) {
    for (epoch, batches) in EPOCHS.iter().enumerate() {
        if epoch > 0 {
            between(job, trainer, index);
        }
        (0..batches[index]).for_each(|batch| trainer.step(&feed(before(epoch) + batch, index * 4, 4)).unwrap());
    }
    trainer.leave();
}

/// The same steps in one process: of both halves of a batch, or of the one whose trainer has data.
fn alone(job: &Job, feed: Feed) -> Scope {
    let (executor, scope) = (executor(), Scope::new());
    executor.run(&job.startup, &[], &[], &scope).unwrap();
    let alone = Trainer { executor, scope, program: job.main.clone() };
    for (epoch, of) in EPOCHS.iter().enumerate() {
        for batch in 0..of[0].max(of[1]) {
            let (from, count) = match (batch < of[0], batch < of[1]) {
                (true, true) => (0, 8),
                (true, false) => (0, 4),
                _ => (4, 4),
            };
            alone.step(&feed(before(epoch) + batch, from, count)).unwrap();
        }
    }
    alone.scope
}

fn trains_as_one_process(job: &Job, feed: Feed, between: Between) {
    let serving = job.serve(&quiet());
    let trainers = [0, 1].map(|t| job.join(t, trainer_options()).unwrap());
    std::thread::scope(|scope| {
        for (index, trainer) in trainers.iter().enumerate() {
            scope.spawn(move || train(job, trainer, index, feed, between));
        }
    });
    let (summaries, scopes) = wait_all(serving);
    let steps = before(EPOCHS.len()) as u64;
    assert!(summaries.iter().all(|s| s.steps == steps && s.duplicates == 0), "{summaries:?}");
    let alone = alone(job, feed);
    for param in job.params() {
        let expected = alone.tensor(&param).expect("trained");
        assert_close(&param, &job.joined(&scopes, &param), &expected, Tolerance::new(1e-5, 1e-5));
    }
}

#[test]
fn step_does_not_wait_for_a_trainer_at_a_barrier() {
    trains_as_one_process(&Job::new("dc_asgd", small(64), 2, 2), |s, f, c| dense_feed(8, s, f, c), barrier);
    trains_as_one_process(&Job::new("fit_a_line_decay", small(4), 2, 2), |s, f, c| dense_feed(13, s, f, c), barrier);
    trains_as_one_process(&Job::new("half_async", small(64), 2, 2), sparse_feed, barrier);
}

#[test]
fn step_does_not_wait_for_a_trainer_in_an_all_to_all() {
    trains_as_one_process(&Job::new("dc_asgd", small(64), 2, 2), |s, f, c| dense_feed(8, s, f, c), exchange);
    trains_as_one_process(&Job::new("half_async", small(64), 2, 3), sparse_feed, exchange);
}

/// The norm of all gradients is taken at the first server, where the other trainer waits in a barrier.
#[test]
fn global_norm_is_that_of_the_trainers_in_the_step() {
    trains_as_one_process(&Job::new("clip_old", small(64), 2, 2), sparse_feed, barrier);
}

/// Trainers that wait for different things get an error at once, both of them.
#[test]
fn barrier_and_all_to_all_at_once_are_an_error() {
    let job = Job::new("dc_asgd", small(64), 2, 2);
    let serving = job.serve(&quiet());
    let trainers = [0, 1].map(|t| job.join(t, trainer_options()).unwrap());
    let (job, [first, second]) = (&job, &trainers);
    let errors = std::thread::scope(|scope| {
        let at_barrier = scope.spawn(move || {
            first.client().all_gather(0, &servers(job), "barrier", &Tensor::scalar(0.0f32)).unwrap_err()
        });
        let at_exchange = scope.spawn(move || {
            TrainerGroup::new(second.client(), servers(job), 1, 2).unwrap().all_gather(&[1]).unwrap_err()
        });
        [at_barrier, at_exchange].map(|thread| thread.join().unwrap().to_string())
    });
    for error in &errors {
        assert!(error.contains("an exchange between trainers") && error.contains("barrier"), "{errors:?}");
    }
    trainers.iter().for_each(Trainer::leave);
    wait_all(serving);
}

/// A trainer that is in a barrier when it dies has no data: the others go on, and wait for it at the barrier.
#[test]
fn trainer_that_dies_at_a_barrier_rejoins_it() {
    let job = Job::new("dc_asgd", small(64), 2, 2);
    let serving = job.serve(&with_policy(Policy::Wait));
    let interrupted = Arc::new(AtomicBool::new(false));
    let first = job.join(0, trainer_options()).unwrap();
    let second = job.join(1, ClientOptions { interrupted: Some(interrupted.clone()), ..trainer_options() }).unwrap();
    std::thread::scope(|scope| {
        let both = scope.spawn(|| first.step(&dense_feed(8, 0, 0, 4)).unwrap());
        second.step(&dense_feed(8, 0, 4, 4)).unwrap();
        both.join().unwrap();
    });
    let joined = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (job, second, joined) = (&job, &second, &joined);
        let waits =
            scope.spawn(move || second.client().all_gather(1, &servers(job), "barrier", &Tensor::scalar(1.0f32)));
        // Steps are made without it: it is at the barrier.
        (1..4).for_each(|step| first.step(&dense_feed(8, step, 0, 4)).unwrap());
        interrupted.store(true, Ordering::Release);
        assert!(waits.join().unwrap().is_err());
        second.client().abandon();
        let mut step = 4;
        let back = scope.spawn(move || {
            let again = job.join(1, trainer_options()).unwrap();
            joined.store(true, Ordering::Release);
            barrier(job, &again, 1);
            again.step(&dense_feed(8, 4, 4, 4)).unwrap();
            again.leave();
        });
        while !joined.load(Ordering::Acquire) {
            first.step(&dense_feed(8, step % 8, 0, 4)).unwrap();
            step += 1;
        }
        barrier(job, &first, 0);
        first.step(&dense_feed(8, 4, 0, 4)).unwrap();
        first.leave();
        back.join().unwrap();
    });
    let (summaries, _) = wait_all(serving);
    assert_eq!(summaries[0].steps, summaries[1].steps);
}

/// In asynchronous training, a trainer at a barrier does not count for the staleness bound.
#[test]
fn staleness_bound_ignores_a_trainer_at_a_barrier() {
    let config = Config { sync_mode: false, max_staleness: Some(1), ..small(64) };
    let job = Job::new("dc_asgd", config, 2, 2);
    let serving = job.serve(&quiet());
    let trainers = [0, 1].map(|t| job.join(t, trainer_options()).unwrap());
    std::thread::scope(|scope| {
        for (index, trainer) in trainers.iter().enumerate() {
            let job = &job;
            scope.spawn(move || {
                (0..1 + 9 * index).for_each(|step| trainer.step(&dense_feed(8, step, index * 4, 4)).unwrap());
                barrier(job, trainer, index);
                (0..5).for_each(|step| trainer.step(&dense_feed(8, step, index * 4, 4)).unwrap());
                trainer.leave();
            });
        }
    });
    wait_all(serving);
}
