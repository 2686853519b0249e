//! Collective workers as processes over loopback that are killed, stopped and restarted.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use oarlock_collective::{Backend, GroupOptions, finish};
use oarlock_transpile::CollectiveMode;

use crate::mpi::mpirun;
use crate::support::{ROWS, Worker, collective, feed, free_endpoints, options, parameters};

/// A process that has not ended by then hangs.
const LIMIT: Duration = Duration::from_secs(120);

#[expect(clippy::disallowed_methods, reason = "processes of a test are real")]
fn now() -> Instant {
    Instant::now()
}

/// The work of the processes of the tests below; does nothing in an ordinary run of all tests.
#[test]
#[expect(clippy::disallowed_methods, reason = "a process of a test reads its rank from the environment")]
fn one_process() {
    let var = |name: &str| std::env::var(name).ok();
    let Some(endpoints) = var("OARLOCK_TEST_ENDPOINTS") else { return };
    let Some(rank) = var("OARLOCK_TEST_RANK").or_else(|| var("OMPI_COMM_WORLD_RANK")) else { return };
    let rank: usize = rank.parse().unwrap();
    let endpoints: Vec<String> = endpoints.split(',').map(str::to_string).collect();
    let options = GroupOptions {
        backend: Backend::parse(&var("OARLOCK_TEST_BACKEND").unwrap_or_default()).unwrap(),
        elastic: var("OARLOCK_TEST_ELASTIC").is_some(),
        rejoins: var("OARLOCK_TEST_ELASTIC").is_some_and(|late| late == "late"),
        ..options()
    };
    let worker = Worker::join("dc_asgd", collective(CollectiveMode::GradAllreduce), rank, &endpoints, options).unwrap();
    let (steps, share) = (var("OARLOCK_TEST_STEPS").unwrap().parse::<usize>().unwrap(), ROWS / endpoints.len());
    for step in 0..steps {
        worker.step(&feed(8, step % 5, rank * share, share)).unwrap_or_else(|e| {
            eprintln!("{e}");
            std::process::exit(3);
        });
        if step == 2 {
            eprintln!("training");
            std::io::stderr().flush().unwrap();
        }
        if let Some(pause) = var("OARLOCK_TEST_PAUSE") {
            std::thread::sleep(Duration::from_millis(pause.parse().unwrap()));
        }
    }
    eprintln!("out of data");
    finish(&worker.executor, &worker.program, &worker.scope).unwrap();
    let sum: f64 =
        parameters("dc_asgd").iter().flat_map(|p| worker.scope.tensor(p).unwrap().to_f64()).map(f64::abs).sum();
    // At once: other processes may write to the same place.
    std::io::stderr().write_all(format!("\nsum {:x}\n", sum.to_bits()).as_bytes()).unwrap();
    worker.leave();
}

/// A process that does not outlive the test.
pub(crate) struct Process(pub(crate) Child);

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and need not be.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(rank: usize, endpoints: &[String], steps: usize, tcp: bool) -> Process {
    start_with(rank, endpoints, steps, tcp, &[])
}

fn start_with(rank: usize, endpoints: &[String], steps: usize, tcp: bool, more: &[(&str, &str)]) -> Process {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "processes::one_process", "--nocapture"]);
    command.env("OARLOCK_TEST_RANK", rank.to_string()).env("OARLOCK_TEST_ENDPOINTS", endpoints.join(","));
    command.env("OARLOCK_TEST_STEPS", steps.to_string()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env("OARLOCK_TEST_BACKEND", if tcp { "tcp" } else { "auto" });
    command.envs(more.iter().copied());
    Process(command.spawn().unwrap())
}

/// Waits for the end of a process, and returns its exit code and output.
pub(crate) fn output(mut process: Process) -> (Option<i32>, String) {
    let until = now() + LIMIT;
    while process.0.try_wait().unwrap().is_none() {
        assert!(now() < until, "a process does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
    let code = process.0.wait().unwrap().code();
    let mut text = String::new();
    std::io::Read::read_to_string(process.0.stdout.as_mut().unwrap(), &mut text).unwrap();
    std::io::Read::read_to_string(process.0.stderr.as_mut().unwrap(), &mut text).unwrap();
    (code, text)
}

#[test]
fn processes_end_with_the_same_bits() {
    for tcp in [false, true] {
        let endpoints = free_endpoints(2);
        let all: Vec<Process> = (0..2).map(|rank| start(rank, &endpoints, 5 + rank, tcp)).collect();
        let sums = sums(all);
        assert!(!sums[0].is_empty() && sums[0] == sums[1], "{sums:?}");
    }
}

/// Messages over MPI are reduced in the same order as those over TCP.
#[test]
fn processes_over_mpi_end_with_the_bits_of_tcp() {
    let endpoints = free_endpoints(2);
    let tcp: Vec<Process> = (0..2).map(|rank| start(rank, &endpoints, 6, true)).collect();
    let sum_of = |process| line(&output(process).1, "sum").to_string();
    let sums: Vec<String> = tcp.into_iter().map(sum_of).collect();
    let endpoints = free_endpoints(2).join(",");
    let vars = [("OARLOCK_TEST_ENDPOINTS", &*endpoints), ("OARLOCK_TEST_STEPS", "6"), ("OARLOCK_TEST_BACKEND", "mpi")];
    let Some(text) = mpirun(2, "processes::one_process", &vars) else { return };
    let found: Vec<&str> = text.lines().filter(|line| line.starts_with("sum")).collect();
    assert_eq!(found, sums, "{text}");
}

#[test]
fn killed_process_is_named_by_all_others() {
    for (tcp, victim) in [(false, 1), (true, 1), (false, 0)] {
        let endpoints = free_endpoints(3);
        let mut all: Vec<Process> = (0..3).map(|rank| start(rank, &endpoints, usize::MAX, tcp)).collect();
        let mut lost = all.remove(victim);
        wait_for_line(&mut lost, "training");
        lost.0.kill().unwrap();
        for process in all {
            let (code, text) = output(process);
            assert_eq!(code, Some(3), "{text}");
            assert!(text.contains(&format!("rank {victim} ({}) has died", endpoints[victim])), "{text}");
        }
    }
}

#[test]
fn stopped_process_is_named_after_missing_heartbeats() {
    let endpoints = free_endpoints(2);
    let mut all: Vec<Process> = (0..2).map(|rank| start(rank, &endpoints, usize::MAX, false)).collect();
    let mut stopped = all.remove(1);
    wait_for_line(&mut stopped, "training");
    let id = stopped.0.id().to_string();
    assert!(Command::new("kill").args(["-STOP", &id]).status().unwrap().success());
    let (code, text) = output(all.remove(0));
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("rank 1 (") && text.contains("is silent"), "{text}");
}

/// The sums of the parameters of processes that must end well.
fn sums(processes: impl IntoIterator<Item = Process>) -> Vec<String> {
    let sum_of = |process| {
        let (code, text) = output(process);
        assert_eq!(code, Some(0), "{text}");
        line(&text, "sum").to_string()
    };
    processes.into_iter().map(sum_of).collect()
}

/// The last line that begins with this word.
fn line<'a>(text: &'a str, word: &str) -> &'a str {
    text.lines().rev().find(|line| line.starts_with(word)).unwrap_or_default()
}

/// Waits until a process writes a line that ends with this word.
fn wait_for_line(process: &mut Process, word: &str) {
    let (mut read, end) = (Vec::new(), format!("{word}\n"));
    while !read.ends_with(end.as_bytes()) {
        let mut byte = [0];
        assert_eq!(std::io::Read::read(process.0.stderr.as_mut().unwrap(), &mut byte).unwrap(), 1, "it ended early");
        read.push(byte[0]);
    }
}

#[test]
fn elastic_group_goes_on_without_a_killed_rank() {
    for (tcp, victim) in [(false, 1), (true, 2), (false, 0)] {
        let endpoints = free_endpoints(3);
        let more = [("OARLOCK_TEST_ELASTIC", "1"), ("OARLOCK_TEST_PAUSE", "20")];
        let mut all: Vec<Process> = (0..3).map(|rank| start_with(rank, &endpoints, 40, tcp, &more)).collect();
        let mut lost = all.remove(victim);
        wait_for_line(&mut lost, "training");
        lost.0.kill().unwrap();
        let sums = sums(all);
        assert!(!sums[0].is_empty() && sums[0] == sums[1], "{sums:?}");
    }
}

#[test]
fn elastic_rank_without_data_goes_on_without_a_killed_rank() {
    let endpoints = free_endpoints(3);
    let more = [("OARLOCK_TEST_ELASTIC", "1"), ("OARLOCK_TEST_PAUSE", "40")];
    let start = |rank: usize, steps| start_with(rank, &endpoints, steps, true, &more);
    let (first, mut idle, mut lost) = (start(0, 50), start(1, 4), start(2, 1000));
    wait_for_line(&mut lost, "training");
    wait_for_line(&mut idle, "out of data");
    lost.0.kill().unwrap();
    let sums = sums([first, idle]);
    assert!(!sums[0].is_empty() && sums[0] == sums[1], "{sums:?}");
}

/// The coordinator is one of the two, or not.
#[test]
fn elastic_group_goes_on_without_two_ranks_killed_at_once() {
    for (tcp, victims) in [(false, [1, 3]), (true, [0, 1]), (false, [0, 2])] {
        let endpoints = free_endpoints(4);
        let more = [("OARLOCK_TEST_ELASTIC", "1"), ("OARLOCK_TEST_PAUSE", "20")];
        let mut all: Vec<Process> = (0..4).map(|rank| start_with(rank, &endpoints, 40, tcp, &more)).collect();
        wait_for_line(&mut all[victims[0]], "training");
        victims.iter().for_each(|victim| all[*victim].0.kill().unwrap());
        let left = all.into_iter().enumerate().filter(|(rank, _)| !victims.contains(rank));
        let sums = sums(left.map(|(_, process)| process));
        assert!(sums.len() == 2 && !sums[0].is_empty() && sums[0] == sums[1], "{sums:?}");
    }
}

#[test]
fn restarted_rank_rejoins_with_the_variables_of_the_others() {
    for (tcp, victim) in [(false, 1), (true, 0)] {
        let endpoints = free_endpoints(2);
        let more = [("OARLOCK_TEST_ELASTIC", "1"), ("OARLOCK_TEST_PAUSE", "50")];
        let mut all: Vec<Process> = (0..2).map(|rank| start_with(rank, &endpoints, 200, tcp, &more)).collect();
        let mut lost = all.remove(victim);
        wait_for_line(&mut lost, "training");
        lost.0.kill().unwrap();
        drop(lost);
        // It has fewer steps to make, and makes zero-weight steps until the other is done.
        let late = [("OARLOCK_TEST_ELASTIC", "late"), ("OARLOCK_TEST_PAUSE", "50")];
        all.push(start_with(victim, &endpoints, 20, tcp, &late));
        let sums = sums(all);
        assert!(!sums[0].is_empty() && sums[0] == sums[1], "{sums:?}");
    }
}
