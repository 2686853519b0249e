//! Servers that end without a word and are started again, with their log and without it.
//!
//! Processes that are killed are in `python/tests/jobs/test_durability.py`; here servers end between requests, so that every difference
//! to an undisturbed run is one of the log.

use std::path::PathBuf;

use oarlock_exec::Scope;
use oarlock_net::NetOptions;
use oarlock_ps::client::ClientOptions;
use oarlock_ps::communicator::{CommunicatorMode, CommunicatorOptions};
use oarlock_ps::server::{LogOptions, Server, ServerOptions};
use oarlock_tensor::Tensor;
use oarlock_transpile::Config;

use super::{
    Feed, Job, Trainer, dense_feed, half_async, hash_tables, ids_kept, quiet, small, sparse_feed, trainer_options,
    wait_all,
};
use crate::programs::local;

/// A folder of logs, which is deleted at the end of a test.
struct Logs(PathBuf);

impl Logs {
    fn new(name: &str) -> Logs {
        let path = std::env::temp_dir().join(format!("oarlock-restarts-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Logs(path)
    }

    /// Options of servers that take a snapshot when the log has this number of bytes.
    fn options(&self, limit: u64) -> ServerOptions {
        let log = LogOptions { limit, ..LogOptions::at(&self.0) };
        ServerOptions { net: net(), log: Some(log), ..quiet() }
    }
}

impl Drop for Logs {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn net() -> NetOptions {
    NetOptions { job: "restarts".into(), ..NetOptions::default() }
}

fn trainer_of_job() -> ClientOptions {
    ClientOptions { net: net(), ..trainer_options() }
}

type Servers = Vec<(Server, Scope)>;

/// Ends all servers without a word, and starts them again.
fn restart(job: &Job, servers: Servers, options: &ServerOptions) -> Servers {
    drop(servers);
    job.serve(options)
}

/// Trains with all servers restarted after every other step if there are `logs`; returns the parameters.
fn train(job: &Job, feed: Feed, steps: usize, logs: Option<(&Logs, u64)>) -> Vec<Tensor> {
    let options = logs.map_or(ServerOptions { net: net(), ..quiet() }, |(logs, limit)| logs.options(limit));
    let mut servers = job.serve(&options);
    let count = 8 / job.trainers;
    let trainers: Vec<Trainer> = (0..job.trainers).map(|t| job.join(t, trainer_of_job()).unwrap()).collect();
    for step in 0..steps {
        std::thread::scope(|scope| {
            for (t, trainer) in trainers.iter().enumerate() {
                scope.spawn(move || trainer.step(&feed(step, t * count, count)).unwrap());
            }
        });
        if logs.is_some() && step % 2 == 0 {
            servers = restart(job, servers, &options);
        }
    }
    trainers.iter().for_each(Trainer::leave);
    let (summaries, scopes) = wait_all(servers);
    let pushes = (steps * job.trainers) as u64;
    assert!(summaries.iter().all(|s| (s.pushes, s.duplicates) == (pushes, 0)), "{summaries:?}");
    job.params().iter().map(|param| job.joined(&scopes, param)).collect()
}

/// The whole log is replayed, and snapshots are taken all the time.
const LIMITS: [u64; 2] = [1 << 30, 1];

fn ends_as_undisturbed(name: &str, job: &Job, feed: Feed) {
    let expected = train(job, feed, 4, None);
    for limit in LIMITS {
        let logs = Logs::new(name);
        assert!(train(job, feed, 4, Some((&logs, limit))) == expected, "{name}, a snapshot after {limit} bytes");
    }
}

#[test]
fn sync_training_with_restarted_servers_has_the_bits_of_an_undisturbed_run() {
    ends_as_undisturbed("sync-dense", &Job::new("dc_asgd", small(64), 2, 2), |s, f, c| dense_feed(8, s, f, c));
    ends_as_undisturbed("sync-decay", &Job::new("fit_a_line_decay", small(4), 2, 2), |s, f, c| dense_feed(13, s, f, c));
    ends_as_undisturbed("sync-sparse", &Job::new("half_async", small(64), 2, 2), sparse_feed);
}

/// One trainer, so that the order of its pushes is the same every time.
#[test]
fn asynchronous_training_with_restarted_servers_counts_every_push_once() {
    ends_as_undisturbed("half-async", &Job::new("half_async", half_async(), 1, 2), sparse_feed);
    let asynchronous = Config { sync_mode: false, ..small(64) };
    ends_as_undisturbed("async", &Job::new("half_async", asynchronous, 1, 2), sparse_feed);
    let compensated = Config { sync_mode: false, enable_dc_asgd: true, ..small(64) };
    ends_as_undisturbed("dc-asgd", &Job::new("dc_asgd", compensated, 1, 2), |s, f, c| dense_feed(8, s, f, c));
}

#[test]
fn hashed_tables_are_restored_with_their_rows_and_state() {
    let (mut main, startup) = local("half_async");
    hash_tables(&mut main);
    let mut found = Vec::new();
    for restarts in [None, Some(LIMITS[0]), Some(LIMITS[1])] {
        let job = Job::of(main.clone(), startup.clone(), small(64), 1, 2);
        let logs = Logs::new("hashed");
        let options = logs.options(restarts.unwrap_or(1 << 30));
        let mut servers = job.serve(&options);
        let trainer = job.join(0, trainer_of_job()).unwrap();
        for step in 0..4 {
            trainer.step(&sparse_feed(step, 0, 8)).unwrap();
            if restarts.is_some() {
                servers = restart(&job, servers, &options);
            }
        }
        let ids = ids_kept(&job, &trainer);
        let rows = super::rows_kept(&job, &trainer);
        trainer.leave();
        wait_all(servers);
        found.push((ids, rows));
    }
    assert!(!found[0].0.is_empty());
    assert!(found[1] == found[0] && found[2] == found[0]);
}

#[test]
fn geo_training_with_restarted_servers_loses_no_delta() {
    let geo = || Config { sync_mode: false, runtime_split_send_recv: true, geo_sgd_mode: true, ..small(64) };
    let mut found: Vec<Vec<Tensor>> = Vec::new();
    for restarts in [false, true] {
        let job = Job::new("half_async", geo(), 1, 2);
        let logs = Logs::new("geo");
        let options = logs.options(1);
        let mut servers = job.serve(&options);
        let trainer = job.join(0, trainer_of_job()).unwrap();
        let vars = job.transpiled(0).0.geo_vars().unwrap();
        for round in 0..3 {
            let mode = CommunicatorMode::Geo { push_nums: 3, vars: vars.clone() };
            let communicator = trainer.communicate(CommunicatorOptions { mode, ..CommunicatorOptions::default() });
            (0..3).for_each(|step| trainer.step(&sparse_feed(3 * round + step, 0, 8)).unwrap());
            communicator.stop().unwrap();
            if restarts {
                servers = restart(&job, servers, &options);
            }
        }
        trainer.leave();
        let (_, scopes) = wait_all(servers);
        found.push(job.params().iter().map(|param| job.joined(&scopes, param)).collect());
    }
    for (undisturbed, restarted) in found[0].iter().zip(&found[1]) {
        oarlock_testkit::assert_close(
            "a parameter",
            restarted,
            undisturbed,
            oarlock_testkit::Tolerance::new(1e-5, 1e-6),
        );
    }
}

#[test]
fn server_that_comes_back_without_its_log_is_refused_by_name() {
    for (config, logged) in [(half_async(), false), (half_async(), true), (small(64), false)] {
        let job = Job::new("half_async", config, 1, 2);
        let logs = Logs::new("without");
        let options = if logged { logs.options(1 << 30) } else { ServerOptions { net: net(), ..quiet() } };
        let mut servers = job.serve(&options);
        let trainer = job.join(0, trainer_of_job()).unwrap();
        (0..3).for_each(|step| trainer.step(&sparse_feed(step, 0, 8)).unwrap());
        drop(servers.pop());
        let endpoint = job.endpoints().nth(1).unwrap().to_string();
        let _without = job.serve_at(&endpoint, &ServerOptions { net: net(), ..quiet() });
        let error = trainer.step(&sparse_feed(3, 0, 8)).unwrap_err();
        let expected = format!(
            "server 1 ({endpoint}) of this job came back without its log: it has 0 of 3 pushes of this trainer; \
             the updates that it lacks are lost"
        );
        assert_eq!(error.report().what, expected);
        trainer.client().abandon();
    }
}

/// A log of which the last records are gone, as after a loss of power.
#[test]
fn server_whose_log_was_cut_short_is_refused_by_name() {
    for config in [half_async(), small(64)] {
        let job = Job::new("half_async", config, 1, 1);
        let logs = Logs::new("short");
        let options = logs.options(1 << 30);
        let servers = job.serve(&options);
        let trainer = job.join(0, trainer_of_job()).unwrap();
        (0..3).for_each(|step| trainer.step(&sparse_feed(step, 0, 8)).unwrap());
        drop(servers);
        let segment = logs.0.join("restarts/0/segment-00000001.log");
        let len = std::fs::metadata(&segment).unwrap().len();
        std::fs::File::options().write(true).open(&segment).unwrap().set_len(len - 1).unwrap();
        let _cut = job.serve(&options);
        let error = trainer.step(&sparse_feed(3, 0, 8)).unwrap_err();
        let what = &error.report().what;
        assert!(
            what.contains("came back with a part of its log: 1 pushes that it acknowledged are not in it"),
            "{what}"
        );
        trainer.client().abandon();
    }
}
