//! Rows that come with the exchange of the step before: the same training with one exchange per server and step.

use std::sync::Arc;

use oarlock_exec::Scope;
use oarlock_ir::{Name, NextBatch};
use oarlock_ps::communicator::{CommunicatorMode, CommunicatorOptions};
use oarlock_ps::server::Summary;
use oarlock_tensor::Tensor;
use oarlock_testkit::{Tolerance, assert_close};
use oarlock_transpile::Config;
use parking_lot::Mutex;

use crate::cluster::{Job, Trainer, half_async, quiet, small, sparse_feed, trainer_options, wait_all};

const STEPS: usize = 5;

/// A batch that is there; none after the last.
struct Next(Option<Vec<(&'static str, Tensor)>>);

impl NextBatch for Next {
    fn peek(&mut self, names: &[Name], look: &mut dyn FnMut(&[&Tensor])) {
        let Some(batch) = &self.0 else { return };
        let find = |name: &Name| batch.iter().find(|(n, _)| name == *n).map(|(_, tensor)| tensor);
        if let Some(found) = names.iter().map(find).collect::<Option<Vec<&Tensor>>>() {
            look(&found);
        }
    }
}

/// The batch that a trainer expects after a step.
type Believes = fn(step: usize) -> Option<usize>;

fn train(trainer: &Trainer, number: usize, count: usize, believes: Believes) {
    let feed = |step| sparse_feed(step, number * count, count);
    for step in 0..STEPS {
        let next: Arc<Mutex<dyn NextBatch>> = Arc::new(Mutex::new(Next(believes(step).map(feed))));
        trainer.runtime().next_batches().set(next);
        trainer.step(&feed(step)).unwrap();
    }
    trainer.leave();
}

/// Trains with two servers; returns what they say, and what they hold in the end.
fn cluster(job: &Job, trainers: usize, believes: Believes) -> (Vec<Summary>, Vec<Scope>) {
    let servers = job.serve(&quiet());
    let joined: Vec<Trainer> = (0..trainers).map(|t| job.join(t, trainer_options()).unwrap()).collect();
    if !job.waits() {
        joined.iter().for_each(|trainer| {
            trainer.communicate(CommunicatorOptions { mode: CommunicatorMode::HalfAsync, ..Default::default() });
        });
    }
    std::thread::scope(|scope| {
        for (number, trainer) in joined.iter().enumerate() {
            scope.spawn(move || train(trainer, number, 8 / trainers, believes));
        }
    });
    wait_all(servers)
}

fn same_as_without(config: &Config, trainers: usize, believes: Believes) -> u64 {
    let job = Job::new("half_async", config.clone(), trainers, 2);
    let (plain, expected) = cluster(&job, trainers, |_| None);
    let job = Job::new("half_async", config.clone(), trainers, 2);
    let (ahead, scopes) = cluster(&job, trainers, believes);
    let lookups = |summaries: &[Summary]| summaries.iter().map(|s| s.lookups).sum::<u64>();
    assert_eq!(lookups(&plain), (trainers * 2 * STEPS) as u64, "a request to each server in each step");
    for param in job.params() {
        assert_close(&param, &job.joined(&scopes, &param), &job.joined(&expected, &param), Tolerance::EXACT);
    }
    lookups(&ahead)
}

#[test]
fn rows_of_the_next_step_come_with_the_push() {
    let knows = |step| (step + 1 < STEPS).then_some(step + 1);
    assert_eq!(same_as_without(&small(64), 2, knows), 4, "only the first step asks");
    assert_eq!(same_as_without(&half_async(), 1, knows), 2, "so does a trainer that waits for its own threads");
}

#[test]
fn wrong_prefetch_is_looked_up_again() {
    assert_eq!(same_as_without(&small(64), 2, |step| Some(step + 2)), (2 * 2 * STEPS) as u64);
}
