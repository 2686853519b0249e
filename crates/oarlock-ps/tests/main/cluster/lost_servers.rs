//! Reports of servers and trainers about the processes that they wait for, and when they stop to wait.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use oarlock_exec::Scope;
use oarlock_net::NetOptions;
use oarlock_ps::PsState;
use oarlock_ps::client::{ClientOptions, find_tables};
use oarlock_ps::server::{ServerOptions, serve};

use super::{Job, dense_feed, executor, quiet, small, trainer_options, wait_all};

/// Far more than the slowest machine needs, and far less than the deadlines that must not be waited for.
const GENEROUS: Duration = Duration::from_secs(60);

#[expect(clippy::disallowed_methods, reason = "how long something waits is what is tested")]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn trainer_that_never_joined_is_not_reported_as_lost() {
    let job = Job::new("dc_asgd", small(64), 2, 1);
    let servers = job.serve(&ServerOptions { deadline: Duration::from_secs(1), ..quiet() });
    let first = job.join(0, trainer_options()).unwrap();
    let error = first.step(&dense_feed(8, 0, 0, 4)).unwrap_err();
    assert_eq!(error.report().what, "trainer 1 did not join in 1 s, and the job cannot go on without it");
    first.client().abandon();
    for (server, _) in servers {
        let error = server.wait(|| false).unwrap_err().to_string();
        assert!(error.contains("did not join") && !error.contains("lost"), "{error}");
    }
}

/// It has ten seconds to introduce itself.
#[test]
fn silent_connection_does_not_delay_the_end_of_a_server() {
    let job = Job::new("dc_asgd", small(64), 1, 1);
    let servers = job.serve(&quiet());
    let trainer = job.join(0, trainer_options()).unwrap();
    let silent = TcpStream::connect(job.endpoints().next().unwrap()).unwrap();
    trainer.step(&dense_feed(8, 0, 0, 8)).unwrap();
    trainer.leave();
    let left = now();
    wait_all(servers);
    assert!(left.elapsed() < GENEROUS, "{:?}", left.elapsed());
    drop(silent);
}

/// A launcher makes up the name of a job; a predictor does not know it.
#[test]
fn reader_needs_no_job_id() {
    let job = Job::new("half_async", small(64), 1, 2);
    let net = |name: &str| NetOptions { job: name.to_string(), ..NetOptions::default() };
    let servers = job.serve(&ServerOptions { net: net("launch-1"), ..quiet() });
    let endpoints: Vec<String> = job.endpoints().map(str::to_string).collect();
    let reads = executor();
    PsState::of(reads.runtime()).set_options(trainer_options());
    assert!(find_tables(reads.runtime(), &endpoints, &[]).unwrap().is_empty());
    let error = job.join(0, trainer_options()).err().expect("refused").to_string();
    assert!(error.contains("belongs to job \"\", this process to job \"launch-1\""), "{error}");
    let trainer = job.join(0, ClientOptions { net: net("launch-1"), ..trainer_options() }).unwrap();
    trainer.leave();
    wait_all(servers);
}

#[test]
fn reading_from_a_lost_server_fails_long_before_the_deadline() {
    let job = Job::new("half_async", small(64), 1, 1);
    let endpoints: Vec<String> = job.endpoints().map(str::to_string).collect();
    let reads = executor();
    let patient = ClientOptions { deadline: 3 * GENEROUS, ..trainer_options() };
    PsState::of(reads.runtime()).set_options(patient);
    let begun = now();
    let error = find_tables(reads.runtime(), &endpoints, &[]).unwrap_err().to_string();
    assert!(error.contains(&format!("no connection to {}", endpoints[0])), "{error}");
    assert!(begun.elapsed() < GENEROUS, "{:?}", begun.elapsed());
}

#[test]
fn profile_of_a_server_has_updates_and_requests() {
    let job = Job::new("half_async", small(64), 1, 1);
    let (program, startup) = job.transpiled(0).0.get_pserver_programs(job.endpoints().next().unwrap()).unwrap();
    let (serves, scope) = (executor(), Scope::new());
    serves.run(&startup, &[], &[], &scope).unwrap();
    serves.start_profile();
    std::thread::scope(|threads| {
        let server = threads.spawn(|| serve(&serves, &program, &scope, quiet()));
        let trainer = job.join(0, trainer_options()).unwrap();
        (0..3).for_each(|step| trainer.step(&super::sparse_feed(step, 0, 8)).unwrap());
        trainer.leave();
        server.join().unwrap().unwrap();
    });
    let times = serves.stop_profile().expect("it records").by_type();
    let calls = |name: &str| times.iter().find(|t| &*t.op_type == name).map_or(0, |t| t.calls);
    assert_eq!(calls("serve push"), 3);
    assert!(calls("sgd") + calls("adam") + calls("adagrad") > 0 && calls("serve pull") > 0, "{times:?}");
}
