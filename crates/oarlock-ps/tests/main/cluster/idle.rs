//! Processes of a job that have nothing to do.

use std::time::Duration;

use oarlock_ps::communicator::{CommunicatorMode, CommunicatorOptions};
use oarlock_transpile::Config;

use super::{Job, quiet, small, sparse_feed, trainer_options, wait_all};

/// How long nothing happens, and what may be computed meanwhile: sleepers that wake up some times a second need a small part of it.
const IDLE: Duration = Duration::from_secs(2);
const BOUND: Duration = Duration::from_millis(100);

/// Runs itself again, alone in a process, because other tests compute beside this one.
#[test]
fn idle_communicators_and_servers_use_little_cpu() {
    const ALONE: &str = "OARLOCK_TEST_ALONE";
    #[expect(clippy::disallowed_methods, reason = "how this process knows that it is alone")]
    if std::env::var_os(ALONE).is_some() {
        return idles();
    }
    if processor_time().is_none() {
        return oarlock_testkit::skip("no /proc that tells how long this process computed");
    }
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    let name = "cluster::idle::idle_communicators_and_servers_use_little_cpu";
    let ended = again.args([name, "--exact", "--nocapture"]).env(ALONE, "1").output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&ended.stderr));
}

fn idles() {
    let asynchronous = Config { sync_mode: false, runtime_split_send_recv: true, ..small(64) };
    let geo = Config { geo_sgd_mode: true, ..asynchronous.clone() };
    for config in [asynchronous, geo] {
        let job = Job::new("half_async", config, 1, 2);
        let servers = job.serve(&quiet());
        let trainer = job.join(0, trainer_options()).unwrap();
        let mode = match job.config.geo_sgd_mode {
            true => CommunicatorMode::Geo { push_nums: 2, vars: job.transpiled(0).0.geo_vars().unwrap() },
            false => CommunicatorMode::Async,
        };
        let communicator = trainer.communicate(CommunicatorOptions { mode, ..CommunicatorOptions::default() });
        (0..4).for_each(|step| trainer.step(&sparse_feed(step, 0, 8)).unwrap());
        // What it has to send is sent by then.
        std::thread::sleep(Duration::from_millis(500));
        let before = processor_time().unwrap();
        std::thread::sleep(IDLE);
        let computed = processor_time().unwrap() - before;
        assert!(communicator.is_running());
        assert!(computed < BOUND, "{computed:?} of {IDLE:?}, geo: {}", job.config.geo_sgd_mode);
        communicator.stop().unwrap();
        trainer.leave();
        wait_all(servers);
    }
}

/// How long all threads of this process have computed, ended ones included, to a hundredth of a second.
fn processor_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program is in brackets and may have any characters; the 14th and 15th field count hundredths of a second.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 10))
}
