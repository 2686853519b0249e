//! Trainers that train locally and exchange how far parameters moved.

use std::sync::Arc;

use oarlock_net::NetOptions;
use oarlock_ps::client::ClientOptions;
use oarlock_ps::communicator::{Communicator, CommunicatorMode, CommunicatorOptions};
use oarlock_ps::server::ServerOptions;
use oarlock_tensor::Tensor;
use oarlock_testkit::{Tolerance, assert_close};
use oarlock_transpile::Config;

use super::{Job, Trainer, ids, quiet, small, sparse_feed, train_alone, trainer_options, wait_all};

fn geo() -> Config {
    Config { sync_mode: false, runtime_split_send_recv: true, geo_sgd_mode: true, ..small(64) }
}

/// Alone, a GEO trainer and its servers end where one process ends: nothing of what it learned is lost, the last steps
/// included, and what servers send back is its own.
#[test]
fn one_geo_trainer_equals_one_process() {
    SIZES.into_iter().for_each(one_geo_trainer);
}

/// Frames as they are, and so small ones that the rows of a table take several.
const SIZES: [u64; 2] = [1 << 30, 4100];

fn one_geo_trainer(max_frame: u64) {
    let job = Job::new("half_async", geo(), 1, 2);
    let servers = job.serve(&framed_server(max_frame));
    let trainer = job.join(0, framed_trainer(max_frame)).unwrap();
    let vars = job.transpiled(0).0.geo_vars().unwrap();
    let mode = CommunicatorMode::Geo { push_nums: 3, vars };
    let communicator = trainer.communicate(CommunicatorOptions { mode, ..CommunicatorOptions::default() });
    (0..10).for_each(|step| trainer.step(&sparse_feed(step, 0, 8)).unwrap());
    communicator.stop().unwrap();
    trainer.leave();
    let (summaries, scopes) = wait_all(servers);
    // However many messages that took: three steps or more each time, and the rest.
    summaries.iter().for_each(|summary| assert!((1..=4).contains(&summary.pushes), "{}", summary.pushes));
    let alone = train_alone(&job, sparse_feed, 10);
    for param in job.params() {
        let expected = alone.tensor(&param).expect("trained");
        assert_close(&param, &job.joined(&scopes, &param), &expected, Tolerance::new(1e-5, 1e-6));
        assert_close(&param, &trainer.scope.tensor(&param).unwrap(), &expected, Tolerance::new(1e-5, 1e-6));
    }
}

/// An update of a row by one GEO trainer reaches another that never looked it up.
#[test]
fn geo_trainers_learn_every_row_from_each_other() {
    SIZES.into_iter().for_each(two_geo_trainers);
}

fn framed_server(max_frame: u64) -> ServerOptions {
    let net = NetOptions { max_frame, ..quiet().net };
    ServerOptions { net, ..quiet() }
}

fn framed_trainer(max_frame: u64) -> ClientOptions {
    let net = NetOptions { max_frame, ..trainer_options().net };
    ClientOptions { net, ..trainer_options() }
}

fn two_geo_trainers(max_frame: u64) {
    let job = Job::new("half_async", geo(), 2, 2);
    let servers = job.serve(&framed_server(max_frame));
    let trainers: Vec<Trainer> = (0..2).map(|t| job.join(t, framed_trainer(max_frame)).unwrap()).collect();
    let before = trainers[1].scope.tensor("tab").unwrap();
    let communicators: Vec<Arc<Communicator>> = (0..2)
        .map(|t| {
            let vars = job.transpiled(t).0.geo_vars().unwrap();
            let mode = CommunicatorMode::Geo { push_nums: 1, vars };
            trainers[t].communicate(CommunicatorOptions {
                mode,
                trainer: t,
                trainers: 2,
                ..CommunicatorOptions::default()
            })
        })
        .collect();
    // Only the first one looks these ids up; the second one learns of them.
    (0..6).for_each(|step| trainers[0].step(&sparse_feed(step, 0, 8)).unwrap());
    communicators[0].stop().unwrap();
    (0..3).for_each(|step| trainers[1].step(&sparse_feed(step + 50, 0, 4)).unwrap());
    communicators[1].stop().unwrap();
    let learned = trainers[1].scope.tensor("tab").unwrap();
    let first = ids(0, 1, 0, 8, 100);
    let row = *first.data::<i64>().unwrap().last().unwrap() as usize;
    let of = |t: &Tensor| t.to_f64()[row * 4..row * 4 + 4].to_vec();
    assert_ne!(of(&learned), of(&before), "row {row} was trained by the other trainer only");
    trainers.iter().for_each(Trainer::leave);
    let (_, scopes) = wait_all(servers);
    let servers_row = of(&job.joined(&scopes, "tab"));
    assert!(
        of(&learned).iter().zip(&servers_row).all(|(a, b)| (a - b).abs() < 1e-6),
        "{:?} {servers_row:?}",
        of(&learned)
    );
}
