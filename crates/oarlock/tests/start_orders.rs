//! Jobs of real processes that start in any order: none may hang, and each comes to the same end.
//!
//! The processes are this test binary, asked for one test: `process`, which is a server or a worker if the environment says so.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "processes find out by the environment who they are, tell what they found, and take real time"
)]

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use oarlock::JobOptions;
use oarlock::fleet::{JobProcess, Place, Role, Strategy};
use oarlock::launch::{Ask, Cluster, plan};
use oarlock::prelude::*;
use oarlock::transpile::Config;

const PROCESS: &str = "OARLOCK_TEST_PROCESS";
const STEPS: usize = 5;
const LIMIT: Duration = Duration::from_secs(60);

fn network() -> Result<(Net, VarRef)> {
    let mut net = Net::new();
    net.seed(7);
    let x = net.data("x", Data::shape([4]))?;
    let y = net.data("y", Data::shape([1]))?;
    let predicted = net.fc(&x, Fc::size(1))?;
    let cost = net.square_error_cost(&predicted, &y)?;
    let loss = net.mean(&cost)?;
    optimizer::sgd(0.1).minimize(&mut net, &loss)?;
    Ok((net, loss))
}

/// One process of a job, if the environment says which; nothing otherwise.
#[test]
fn process() {
    if std::env::var_os(PROCESS).is_none() {
        return;
    }
    let (net, loss) = network().unwrap();
    let place = Place::from_cloud(&std::env::vars().collect()).unwrap();
    let process = JobProcess::new(place, &net, Strategy::Sync, Config::fluid()).unwrap();
    let (exe, scope) =
        (Options { threads: 1, check_nan_inf: false }.executor_in(JobOptions::from_env().unwrap()), Scope::new());
    if process.place().role == Role::Server {
        process.init_server(&exe, &scope, None).unwrap();
        return process.run_server(&exe, &scope).unwrap();
    }
    process.init_worker(&exe, &scope).unwrap();
    let feed = |columns| Tensor::from_slice([2, columns], &vec![1.0_f32; 2 * columns]).unwrap();
    let (x, y) = (feed(4), feed(1));
    let mut last = 0.0;
    for _ in 0..STEPS {
        last =
            exe.run_tensors(process.program(), &[("x", &x), ("y", &y)], &[loss.name()], &scope).unwrap()[0].to_f64()[0];
    }
    process.stop_worker(&exe).unwrap();
    println!("\nlast loss {last:e}");
}

fn start(rank: &Cluster) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["start_orders::process", "--exact", "--nocapture"]).envs(rank.emit()).env(PROCESS, "1");
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// Runs a job whose processes start in this order, some milliseconds apart; returns the last loss of each worker.
fn run(order: &[usize], pause: Duration) -> Vec<String> {
    let ranks = plan(&Ask { server_num: Some(2), worker_num: Some(2), ..Ask::default() }).unwrap().ranks;
    let mut children = Vec::new();
    for at in order {
        children.push(start(&ranks[*at]));
        std::thread::sleep(pause);
    }
    let until = Instant::now() + LIMIT;
    while children.iter_mut().any(|child| child.try_wait().unwrap().is_none()) {
        if Instant::now() > until {
            children.iter_mut().for_each(|child| child.kill().unwrap());
            panic!("the order {order:?} hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let said = children.into_iter().map(|child| child.wait_with_output().unwrap());
    let losses = said.filter_map(|output| {
        assert!(output.status.success(), "{order:?}: {}", String::from_utf8_lossy(&output.stdout));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().find_map(|line| line.strip_prefix("last loss ").map(str::to_string))
    });
    losses.collect()
}

#[test]
fn any_order_of_starts_comes_to_the_same_end() {
    let orders = if std::env::var_os("OARLOCK_SOAK").is_some() { 1000 } else { 20 };
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % below
    };
    let mut expected: Option<Vec<String>> = None;
    for _ in 0..orders {
        let mut order = [0, 1, 2, 3];
        (1..4).rev().for_each(|i| order.swap(i, next(i + 1)));
        let losses = run(&order, Duration::from_millis(next(60) as u64));
        assert_eq!(losses.len(), 2, "{order:?}");
        assert!(losses.iter().all(|loss| *loss == losses[0]), "{order:?}: {losses:?}");
        assert_eq!(expected.get_or_insert_with(|| losses.clone()), &losses, "{order:?}");
    }
}
