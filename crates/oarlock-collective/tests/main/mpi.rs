//! Workers that `mpirun` starts, and that exchange values over the MPI that is installed.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use oarlock_collective::{Backend, Group, GroupOptions, Reduce};

use crate::processes::{Process, output};
use crate::support::free_endpoints;

/// Runs a test of this binary in `count` processes, and returns their output; nothing where MPI is not installed.
pub(crate) fn mpirun(count: usize, test: &str, vars: &[(&str, &str)]) -> Option<String> {
    let (code, text) = try_mpirun(count, test, vars)?;
    assert_eq!(code, Some(0), "{text}");
    Some(text)
}

fn try_mpirun(count: usize, test: &str, vars: &[(&str, &str)]) -> Option<(Option<i32>, String)> {
    let start = |command: &mut Command| command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    if start(Command::new("mpirun").arg("--version")).map(|child| output(Process(child))).is_err() {
        eprintln!("skipped: there is no mpirun (Debian's openmpi-bin has it)");
        return None;
    }
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", &count.to_string()]);
    command.arg(std::env::current_exe().unwrap()).args(["--exact", test, "--nocapture"]).envs(vars.iter().copied());
    // Open MPI fails when two jobs make their common directory at the same time, so every job has one of its own.
    let dir = std::env::temp_dir().join(format!("oarlock-{}-{count}-{}", std::process::id(), test.replace("::", "-")));
    std::fs::create_dir_all(&dir).unwrap();
    let ended = output(Process(start(command.env("TMPDIR", &dir)).unwrap()));
    std::fs::remove_dir_all(&dir).ok();
    Some(ended)
}

fn numbers(rank: usize, len: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 7919 + rank * 104_729) % 1_000_003) as f32 * 1.7e-3 - 800.0).collect()
}

/// The work of each process of the test below; does nothing in an ordinary run of all tests.
#[test]
#[expect(clippy::disallowed_methods, reason = "a process of a test reads its rank from the environment")]
fn one_process() {
    let var = |name: &str| std::env::var(name).ok();
    let (Some(rank), Some(endpoints)) = (var("OMPI_COMM_WORLD_RANK"), var("OARLOCK_TEST_MPI")) else { return };
    let mut options =
        GroupOptions::new(rank.parse().unwrap(), endpoints.split(',').map(str::to_string).collect::<Vec<_>>());
    options.backend = Backend::Mpi;
    (options.deadline, options.hierarchical) = (Duration::from_secs(30), var("OARLOCK_TEST_MACHINES").is_some());
    options.machine = var("OARLOCK_TEST_MACHINES").map(|_| format!("m{}", options.rank / 2));
    let group = Group::join(options).unwrap();
    let count = group.world();
    for len in [0, 1, 1000, 20_000, 300_001] {
        exchange_all(&group, len);
    }
    // A rank in another call is named, also where many messages are under way.
    group.barrier().unwrap();
    let mut data = vec![0.0_f32; 100_000 * (1 + group.rank())];
    let error = group.all_reduce(&mut data, Reduce::Sum).unwrap_err().to_string();
    // At once: other processes write to the same place.
    let text = format!("rank {} of {count} over {}: {error}\n", group.rank(), group.route());
    std::io::stderr().write_all(text.as_bytes()).unwrap();
    group.leave();
}

fn exchange_all(group: &Group, len: usize) {
    let (rank, count) = (group.rank(), group.world());
    let mut sum = numbers(rank, len);
    group.all_reduce(&mut sum, Reduce::Sum).unwrap();
    let exact = |i: usize| (0..count).map(|rank| f64::from(numbers(rank, i + 1)[i])).sum::<f64>();
    for i in (0..len).step_by(4999) {
        assert!((f64::from(sum[i]) - exact(i)).abs() < 1e-2, "{i}: {} {}", sum[i], exact(i));
    }
    let mut most = [rank as i64, -(rank as i64)];
    group.all_reduce(&mut most, Reduce::Max).unwrap();
    assert_eq!(most, [count as i64 - 1, 0]);
    let mut all = vec![0.0; len * count];
    group.all_gather(&numbers(rank, len), &mut all).unwrap();
    assert!((0..count).all(|other| all[other * len..][..len] == numbers(other, len)));
    for root in 0..count {
        let mut data = numbers(rank, len);
        group.broadcast(&mut data, root).unwrap();
        assert_eq!(data, numbers(root, len));
    }
    let mut own = vec![0_i32; len];
    group.reduce_scatter(&vec![2_i32; len * count], &mut own, Reduce::Sum).unwrap();
    assert!(own.iter().all(|x| *x == 2 * count as i32));
    group.barrier().unwrap();
}

#[test]
fn processes_exchange_values_over_mpi() {
    for (count, machines) in [(2, false), (3, false), (4, true)] {
        let endpoints = free_endpoints(count).join(",");
        let mut vars = vec![("OARLOCK_TEST_MPI", &*endpoints)];
        if machines {
            vars.push(("OARLOCK_TEST_MACHINES", "1"));
        }
        let Some(text) = mpirun(count, "mpi::one_process", &vars) else { return };
        let way = if machines { "shared memory, then MPI between machines" } else { "MPI" };
        assert!(text.contains(&format!("rank 0 of {count} over {way}: error[argument]: rank ")), "{text}");
    }
}

/// The work of each process of the test below: the second fails while the first waits for it.
#[test]
#[expect(clippy::disallowed_methods, reason = "a process of a test reads its rank from the environment")]
fn one_process_that_fails() {
    let var = |name: &str| std::env::var(name).ok();
    let (Some(rank), Some(endpoints)) = (var("OMPI_COMM_WORLD_RANK"), var("OARLOCK_TEST_FAILS")) else { return };
    let mut options =
        GroupOptions::new(rank.parse().unwrap(), endpoints.split(',').map(str::to_string).collect::<Vec<_>>());
    options.backend = Backend::Mpi;
    let group = Group::join(options).unwrap();
    group.barrier().unwrap();
    if group.rank() == 1 {
        // Without leaving the group.
        std::process::exit(7);
    }
    let _ = group.barrier();
}

#[test]
fn mpirun_ends_all_processes_when_one_fails() {
    let endpoints = free_endpoints(2).join(",");
    let vars = [("OARLOCK_TEST_FAILS", &*endpoints)];
    let Some((code, text)) = try_mpirun(2, "mpi::one_process_that_fails", &vars) else {
        return;
    };
    assert_eq!(code, Some(7), "{text}");
}

#[test]
fn elastic_group_over_mpi_is_refused() {
    let endpoints = free_endpoints(1);
    let options = GroupOptions { backend: Backend::Mpi, elastic: true, ..GroupOptions::new(0, endpoints) };
    let error = Group::join(options).unwrap_err().to_string();
    assert!(error.contains("an elastic group cannot exchange values over MPI"), "{error}");
}
