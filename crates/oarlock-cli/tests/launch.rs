//! `oarlock launch` with real processes on this machine. The programs are shell scripts, so that they start at once.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "real processes take real time, the length of a soak is set outside, and a test that is skipped says so"
)]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A directory of its own for a test.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("launch-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        Place(dir)
    }

    fn script(&self, text: &str) -> String {
        let path = self.0.join("program.sh");
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    fn launcher(&self, flags: &str, script: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oarlock"));
        command.current_dir(&self.0).env("LAUNCH_TEST", self.mark()).arg("launch");
        command.args(flags.split_whitespace()).args(["sh", &self.script(script)]);
        command
    }

    fn run(&self, flags: &str, script: &str) -> Ended {
        Ended::from(self.launcher(flags, script).output().unwrap())
    }

    /// Starts the launcher and waits until a process prints `up`.
    fn start(&self, flags: &str, script: &str) -> Child {
        let mut child = self.launcher(flags, script).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().ends_with("up")), "no process came up");
        child
    }

    fn log(&self, name: &str) -> String {
        fs::read_to_string(self.0.join("log").join(name)).unwrap()
    }

    /// A text that the environment of every process of this place contains.
    fn mark(&self) -> String {
        self.0.file_name().unwrap().to_str().unwrap().to_string()
    }

    /// The processes of this place that still run, the launcher aside.
    fn left(&self) -> Vec<String> {
        let mark = format!("LAUNCH_TEST={}", self.mark());
        let processes = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
            let environment = fs::read(entry.path().join("environ")).ok()?;
            let command = fs::read(entry.path().join("cmdline")).ok()?;
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            let is_ours = String::from_utf8_lossy(&environment).split('\0').any(|var| var == mark);
            (is_ours && !command.contains("oarlock launch")).then_some(command)
        });
        processes.collect()
    }

    /// Nothing of the job is left, at the latest in a moment.
    fn is_clean(&self) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while !self.left().is_empty() {
            assert!(Instant::now() < deadline, "left running: {:?}", self.left());
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Ended {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Ended {
    #[track_caller]
    fn says(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.err.contains(part) || self.out.contains(part), "no {part:?} in\n{}\n{}", self.out, self.err);
        }
    }
}

const NO_WAIT: &str = "--server_num 1 --worker_num 2 --ready_timeout 0";

/// A server that never ends by itself, and workers that do what follows.
fn workers(text: &str) -> String {
    format!("if [ $TRAINING_ROLE = PSERVER ]; then exec sleep 100; fi\n{text}")
}

#[test]
fn environment_of_every_process_names_its_role_and_rank() {
    let place = Place::new("environment");
    let script = "echo $TRAINING_ROLE $PADDLE_PSERVERS_IP_PORT_LIST $PADDLE_TRAINERS_NUM ${PADDLE_TRAINER_ID-none} \
                  ${PADDLE_PORT-none} \"$@\"; [ -z \"$PADDLE_MASTER\" ]";
    let mut launcher =
        place.launcher("--servers 127.0.0.1:17001,127.0.0.2:17001 --trainer-num 2 --ready-timeout 0", script);
    launcher.args(["--epochs", "3"]).env("PADDLE_TRAINER_ID", "7").env("PADDLE_MASTER", "elsewhere");
    let workers_are_listed = Ended::from(launcher.output().unwrap());
    workers_are_listed.says(&["the hosts of the workers must be known", "--workers"]);
    let mut launcher = place.launcher(
        "--servers 127.0.0.1:17001,127.0.0.2:17001 --workers 127.0.0.1,127.0.0.1:17003 --ready_timeout=0",
        script,
    );
    launcher.args(["--epochs", "3"]).env("PADDLE_TRAINER_ID", "7").env("PADDLE_MASTER", "elsewhere");
    let ended = Ended::from(launcher.output().unwrap());
    let list = "127.0.0.1:17001,127.0.0.2:17001";
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(place.log("serverlog.1"), format!("PSERVER {list} 2 none 17001 --epochs 3\n"));
    assert_eq!(place.log("workerlog.0"), format!("TRAINER {list} 2 0 6170 --epochs 3\n"));
    assert_eq!(place.log("workerlog.1"), format!("TRAINER {list} 2 1 17003 --epochs 3\n"));
    ended.says(&[&format!("[worker 1] TRAINER {list} 2 1"), "worker 0 is done", "the job is done after"]);
}

#[test]
fn the_log_is_json_if_asked_for_and_has_no_token() {
    let place = Place::new("json");
    let mut launcher = place.launcher("--nproc_per_node 1 --job_id j7", "exit 3");
    launcher.env("OARLOCK_LOG_FORMAT", "json").env("OARLOCK_LOG", "trace").env("OARLOCK_TOKEN", "open sesame");
    let ended = Ended::from(launcher.output().unwrap());
    assert_eq!(ended.code, Some(3), "{}", ended.err);
    let records: Vec<serde_json::Value> = ended.err.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(records.iter().all(|record| record["role"] == "launcher" && record["job"] == "j7"), "{}", ended.err);
    let failure = records.last().unwrap();
    assert_eq!((&failure["level"], &failure["process"]), (&"error".into(), &"worker 0".into()));
    assert!(!ended.err.contains("open sesame"), "{}", ended.err);
    let mut launcher = place.launcher("--nproc_per_node 1", "exit 0");
    let ended = Ended::from(launcher.env("OARLOCK_LOG", "loud=er").output().unwrap());
    assert_eq!(ended.code, Some(1));
    ended.says(&["OARLOCK_LOG must be levels by module", "help: levels are off, error"]);
}

#[test]
fn collective_workers_know_each_others_endpoints() {
    let place = Place::new("equal");
    let ended =
        place.run("--nproc_per_node 2 --started_port 17100", "echo $PADDLE_TRAINER_ENDPOINTS $PADDLE_CURRENT_ENDPOINT");
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let all = "127.0.0.1:17100,127.0.0.1:17101";
    let log = fs::read_to_string(place.0.join("mylog/workerlog.1")).unwrap();
    assert_eq!(log, format!("{all} 127.0.0.1:17101\n"));
}

#[test]
fn elastic_workers_go_on_without_one_that_fails() {
    let place = Place::new("elastic");
    let script = "[ $PADDLE_TRAINER_ID = 1 ] && exit 3\nsleep 1; echo elastic $OARLOCK_ELASTIC";
    let ended = place.run("--nproc_per_node 2 --elastic --max_restart 1", script);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    ended.says(&["it is started again (1 of 1)", "the others go on without it", "elastic 1"]);
    place.is_clean();
    // One that fails when the others have finished has no job to rejoin.
    let script = "[ $PADDLE_TRAINER_ID = 0 ] && exit 0\nsleep 1; exit 3";
    let place = Place::new("elastic-late");
    let ended = place.run("--nproc_per_node 2 --elastic --max_restart 3", script);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    ended.says(&["worker 1 failed with exit code 3; it is not started again: the others have finished without it"]);
    ended.says(&["job launch-"]);
    let ended = Place::new("elastic-none").run("--nproc_per_node 2 --elastic --max_restart 0", "exit 3");
    assert_eq!(ended.code, Some(3), "{}", ended.err);
}

#[test]
fn devices_and_backends_that_are_not_there_are_named() {
    let place = Place::new("device");
    let ended = place.run("--nproc_per_node 2 --iface nope0", "echo");
    assert_eq!(ended.code, Some(1));
    ended.says(&["this machine has no network device \"nope0\"", "lo (127.0.0.1)", "NCCL_SOCKET_IFNAME"]);
    let ended = place.run("--nproc_per_node 2 --backend nccl", "echo");
    assert_eq!(ended.code, Some(1));
    ended.says(&["the backend nccl needs an Oarlock that was built for GPUs"]);
    let ended = place.run("--nproc_per_node 2 --backend mpi --elastic", "echo");
    assert_eq!(ended.code, Some(1));
    ended.says(&["MPI ends all processes when one fails"]);
    let mut launcher = place.launcher("--nproc_per_node 2 --backend mpi", "echo");
    let ended = Ended::from(launcher.env("PATH", "/nowhere").output().unwrap());
    assert_eq!(ended.code, Some(1));
    ended.says(&["there is no mpirun on this machine", "openmpi-bin"]);
}

/// Held by the test that runs `mpirun`: Open MPI fails when two jobs make their common directory at the same time.
static MPIRUN: Mutex<()> = Mutex::new(());

#[test]
fn mpirun_starts_the_workers_of_its_backend() {
    if Command::new("mpirun").arg("--version").output().is_err() {
        println!("skipped: there is no mpirun (Debian's openmpi-bin has it)");
        return;
    }
    let _alone = MPIRUN.lock().unwrap_or_else(PoisonError::into_inner);
    let place = Place::new("mpi");
    let script = "echo $PADDLE_TRAINER_ID of $PADDLE_TRAINERS_NUM is $OMPI_COMM_WORLD_RANK over $OARLOCK_BACKEND";
    let ended = place.run("--nproc_per_node 2 --backend mpi", script);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    ended.says(&["[mpirun] [1,0]<stdout>:0 of 2 is 0 over mpi", ":1 of 2 is 1 over mpi", "the job is done"]);
    assert!(fs::read_to_string(place.0.join("mylog/mpirunlog")).unwrap().contains(":1 of 2 is 1 over mpi"));
    let ended = place.run("--nproc_per_node 2 --backend mpi", "[ $PADDLE_TRAINER_ID = 1 ] && exit 3; sleep 60");
    assert_eq!(ended.code, Some(3), "{}", ended.err);
    ended.says(&["mpirun failed with exit code 3"]);
    place.is_clean();
}

/// Each of the processes that mpirun starts may be a launcher, too.
#[test]
fn launchers_that_mpirun_starts_start_one_worker_each() {
    if Command::new("mpirun").arg("--version").output().is_err() {
        println!("skipped: there is no mpirun (Debian's openmpi-bin has it)");
        return;
    }
    let _alone = MPIRUN.lock().unwrap_or_else(PoisonError::into_inner);
    let place = Place::new("inside-mpi");
    let script = place.script("echo $PADDLE_TRAINER_ID of $PADDLE_TRAINERS_NUM is $OMPI_COMM_WORLD_RANK $PMIX_RANK");
    let mpirun = |flags: &[&str]| {
        let mut command = Command::new("mpirun");
        command.args(["--allow-run-as-root", "--oversubscribe", "-n", "2", env!("CARGO_BIN_EXE_oarlock"), "launch"]);
        command.args(flags).args(["--backend", "mpi", "sh", &script]).current_dir(&place.0);
        Ended::from(command.output().unwrap())
    };
    let ended = mpirun(&[]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    ended.says(&["[worker 0] 0 of 2 is 0 0", "[worker 1] 1 of 2 is 1 1"]);
    let ended = mpirun(&["--nproc_per_node", "2"]);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    ended.says(&["mpirun has started this launcher, which is to start 2 workers"]);
}

#[test]
fn hosts_with_a_rendezvous_agree_who_runs_what() {
    let place = Place::new("rendezvous");
    let master = free("127.0.0.1");
    let script = "echo $TRAINING_ROLE ${PADDLE_TRAINER_ID-$PADDLE_PSERVER_ID} of $PADDLE_TRAINERS_NUM $OARLOCK_JOB_ID";
    let node = |flags: &str| {
        let flags = format!("{flags} --master {master} --nnodes 2 --job_id j1 --ready_timeout 0");
        let mut launcher = place.launcher(&flags, script);
        launcher.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let second = node("--node_ip 127.0.0.2 --rank 1 --worker_num 2 --log_dir two");
    let first = node("--node_ip 127.0.0.1 --rank 0 --server_num 1 --worker_num 1");
    let ended = [first, second].map(|child| Ended::from(child.wait_with_output().unwrap()));
    assert_eq!(ended.each_ref().map(|e| e.code), [Some(0); 2], "{}{}", ended[0].err, ended[1].err);
    assert_eq!(place.log("serverlog.0"), "PSERVER 0 of 3 j1\n");
    ended[0].says(&["[worker 0] TRAINER 0 of 3 j1", "1 server (127.0.0.1:"]);
    ended[1].says(&["[worker 2] TRAINER 2 of 3 j1", "3 workers, 2 of them here"]);
}

#[test]
fn the_environment_of_a_pod_says_what_to_start() {
    let place = Place::new("pod");
    let mut launcher = place.launcher("", "echo $TRAINING_ROLE $PADDLE_TRAINER_ID");
    let vars = [
        ("TRAINING_ROLE", "TRAINER"),
        ("PADDLE_TRAINER_ID", "1"),
        ("PADDLE_TRAINERS_NUM", "2"),
        ("PADDLE_PSERVERS_IP_PORT_LIST", "ps0:6174"),
    ];
    let ended = Ended::from(launcher.envs(vars).output().unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(place.log("workerlog.1"), "TRAINER 1\n");
    let ended = Ended::from(place.launcher("", "echo up").env("TRAINING_ROLE", "TRAINER").output().unwrap());
    assert_eq!(ended.code, Some(1));
    ended.says(&["the environment does not say how many workers there are", "TRAINING_ROLE=TRAINER"]);
}

#[test]
fn the_first_failure_ends_the_job_with_its_code() {
    let place = Place::new("failure");
    let script = workers(
        "[ $PADDLE_TRAINER_ID = 0 ] && exec sleep 100\nfor i in 1 2 3; do echo line $i; done; echo no memory >&2; exit 3",
    );
    let start = Instant::now();
    let ended = place.run(NO_WAIT, &script);
    assert_eq!(ended.code, Some(3));
    ended.says(&[
        "worker 1 failed with exit code 3 after",
        "log/workerlog.1",
        "its last lines:",
        "    line 3\n    no memory",
    ]);
    assert!(start.elapsed() < Duration::from_secs(20));
    place.is_clean();
}

#[test]
fn processes_that_ignore_requests_are_killed() {
    let place = Place::new("stubborn");
    let script =
        workers("trap '' TERM; [ $PADDLE_TRAINER_ID = 0 ] || { sleep 0.2; exit 1; }; while :; do sleep 0.1; done");
    let ended = place.run(NO_WAIT, &script);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    place.is_clean();
}

#[test]
fn servers_that_stay_are_stopped_when_the_workers_are_done() {
    let place = Place::new("servers");
    let ended = place.run(NO_WAIT, &workers("echo done"));
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    ended.says(&["did not end with the last worker and is stopped"]);
    place.is_clean();
}

/// Longer than a server may take to end otherwise.
#[test]
fn servers_that_are_to_stay_may() {
    let place = Place::new("stay");
    let script = "if [ $TRAINING_ROLE = PSERVER ]; then exec sleep 7; fi\necho done";
    let ended = Ended::from(place.launcher(NO_WAIT, script).env("OARLOCK_STAY", "1").output().unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    ended.says(&["no worker is left, and servers stay (OARLOCK_STAY)"]);
    assert!(!ended.err.contains("is stopped"), "{}", ended.err);
    place.is_clean();
}

#[test]
fn a_server_that_never_listens_is_given_up() {
    let place = Place::new("late");
    let ended = place.run("--server_num 1 --worker_num 1 --ready_timeout 1", "echo loading; exec sleep 100");
    assert_eq!(ended.code, Some(1));
    ended.says(&[
        "error[timeout]: server 0 (127.0.0.1:",
        "did not listen within 1.0 s",
        "    loading",
        "--ready-timeout",
    ]);
    assert!(!place.0.join("log/workerlog.0").exists());
    place.is_clean();
}

#[test]
fn a_server_that_fails_is_not_waited_for() {
    let place = Place::new("broken");
    let ended = place.run("--server_num 2 --worker_num 1", "[ $PADDLE_PSERVER_ID = 1 ] && exit 5; exec sleep 100");
    assert_eq!(ended.code, Some(5), "{}", ended.err);
    ended.says(&["server 1 failed with exit code 5", "it wrote nothing"]);
    let ended = place.run("--server_num 1 --worker_num 1", "exit 0");
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    ended.says(&["server 0 ended before it listened"]);
    place.is_clean();
}

#[test]
fn script_that_imports_paddle_gets_an_error_with_the_right_command() {
    let place = Place::new("paddle");
    let ended = place.run("--nproc_per_node 1", "echo \"ModuleNotFoundError: No module named 'paddle'\"; exit 1");
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    ended.says(&["help: start it with `fleetrun` in place of `oarlock launch`"]);
    place.is_clean();
}

#[test]
fn workers_start_when_the_servers_listen() {
    let place = Place::new("ready");
    // The port is named, so that this test can listen in the server's stead.
    let port = free("127.0.0.1").port();
    let script = workers("cat $PWD/ready");
    let mut child = place.launcher(&format!("--servers 127.0.0.1:{port} --worker_num 1"), &script);
    let child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    thread::sleep(Duration::from_millis(300));
    fs::write(place.0.join("ready"), "it is\n").unwrap();
    let _listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let ended = Ended::from(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    ended.says(&["server 0 listens on", "[worker 0] it is"]);
}

#[test]
fn a_port_in_use_is_found_before_anything_starts() {
    let place = Place::new("port");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap();
    let ended = place.run(&format!("--servers {at} --worker_num 1"), "echo up");
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""));
    ended.says(&[&format!("cannot listen on {at}: another process has this port"), "server 0 is to listen there"]);
}

#[test]
fn addresses_and_files_that_are_wrong_are_named() {
    let place = Place::new("wrong");
    let ended = place.run("--servers 192.0.2.1:6170 --worker_num 1", "echo up");
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""));
    ended.says(&["none of 192.0.2.1 is this host", "127.0.0.1", "--node-ip"]);
    let mut launcher = Command::new(env!("CARGO_BIN_EXE_oarlock"));
    launcher.current_dir(&place.0).args(["launch", "--server_num", "1", "--worker_num", "1"]);
    let ended = Ended::from(launcher.arg("absent.py").output().unwrap());
    assert_eq!(ended.code, Some(1));
    ended.says(&["there is no file absent.py in "]);
    let ended = place.run("--sever_num 1 --worker_num 1", "echo up");
    assert_eq!(ended.code, Some(2));
    ended.says(&["--sever_num", "--server_num"]);
}

#[test]
fn a_failed_worker_is_started_again() {
    let place = Place::new("restart");
    let script =
        workers("echo try $OARLOCK_RESTART $OARLOCK_ON_LOSS; [ $PADDLE_TRAINER_ID = 0 ] || [ $OARLOCK_RESTART = 2 ]");
    let ended = place.run(&format!("{NO_WAIT} --max_restart 2"), &script);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(place.log("workerlog.1"), "try 0 wait\ntry 1 wait\ntry 2 wait\n");
    ended.says(&["worker 1 failed with exit code 1; it is started again (2 of 2)"]);
    let ended = place.run(&format!("{NO_WAIT} --max_restart 1"), &script);
    assert_eq!(ended.code, Some(1));
}

/// A script of which each process has a child: both must end.
const WITH_CHILD: &str = "sleep 100 & echo up; wait";

/// Was this process started with a signal ignored? What it starts inherits that.
fn is_ignored(signal: u32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    u64::from_str_radix(mask, 16).unwrap() >> (signal - 1) & 1 == 1
}

#[test]
fn nothing_is_left_when_the_launcher_is_killed() {
    for (signal, number) in [("KILL", 9), ("TERM", 15), ("INT", 2), ("HUP", 1)] {
        if is_ignored(number) {
            println!("skipped: SIG{signal} is ignored here, as in jobs that a shell puts into the background");
            continue;
        }
        let place = Place::new(&format!("kill-{signal}"));
        let mut child = place.start(NO_WAIT, WITH_CHILD);
        assert!(!place.left().is_empty());
        let sent = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let status = child.wait().unwrap();
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        match signal {
            "KILL" => assert_eq!(status.code(), None),
            "TERM" => assert_eq!(status.code(), Some(143), "{err}"),
            "INT" => assert_eq!(status.code(), Some(130), "{err}"),
            _ => assert_eq!(status.code(), Some(129), "{err}"),
        }
        place.is_clean();
    }
}

#[test]
fn a_killed_worker_is_reported_as_killed() {
    let place = Place::new("killed");
    let ended = place.run(NO_WAIT, &workers("[ $PADDLE_TRAINER_ID = 1 ] && kill -9 $$; exec sleep 100"));
    assert_eq!(ended.code, Some(137), "{}", ended.err);
    ended.says(&["worker 1 was killed with signal 9"]);
    place.is_clean();
}

/// A job of servers and workers that start when they like: no order may hang, and each one runs to its end.
#[test]
fn starts_in_any_order_end() {
    let place = Place::new("orders");
    // The delays of the processes of run n, from 0 to 0.3 s, differ from run to run.
    let script = "sleep 0.$(( ($RUN * 7 + ${PADDLE_PSERVER_ID-3} * 5 + ${PADDLE_TRAINER_ID-1} * 3) % 4 )); echo end";
    let launcher = |run: usize| {
        let flags = format!("--server_num 2 --worker_num 2 --ready_timeout 0 --log_dir log{run}");
        let mut launcher = place.launcher(&flags, script);
        launcher.env("RUN", run.to_string());
        launcher
    };
    let rounds = if std::env::var_os("OARLOCK_SOAK").is_some() { 50 } else { 1 };
    for round in 0..rounds {
        // All are made before the first runs: making one writes the script.
        let launchers: Vec<Command> = (20 * round..20 * (round + 1)).map(launcher).collect();
        thread::scope(|scope| {
            for mut launcher in launchers {
                scope.spawn(move || {
                    let ended = Ended::from(launcher.output().unwrap());
                    assert_eq!(ended.code, Some(0), "{}", ended.err);
                    assert_eq!(ended.out.lines().filter(|line| line.ends_with("] end")).count(), 4, "{}", ended.out);
                });
            }
        });
    }
    place.is_clean();
}

/// Where no process listens. The system gives such ports to no connection, launchers that look for free ones do not look there, and no other
/// test gets the same.
fn free(host: &str) -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let from = std::process::id() as u16;
    let ports = std::iter::repeat_with(|| 10_000 + from.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % 2_000);
    let mut free = ports.take(2_000).filter_map(|port| TcpListener::bind((host, port)).ok());
    free.next().and_then(|listener| listener.local_addr().ok()).expect("a free port")
}

#[test]
fn the_doctor_finds_what_would_fail() {
    let place = Place::new("doctor");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap();
    let doctor = |flags: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oarlock"));
        command.current_dir(&place.0).arg("doctor").args(flags.split_whitespace());
        Ended::from(command.args(["--python", "no-such-python"]).output().unwrap())
    };
    let ended = doctor(&format!("--servers {at} --worker_num 1"));
    assert_eq!(ended.code, Some(1));
    ended.says(&[
        "ok    host 127.0.0.1 is this machine",
        &format!("bad   cannot listen on {at}"),
        "help: end that process",
    ]);
    let hosts = format!("--servers {},{} --workers 127.0.0.1,127.0.0.2", free("127.0.0.1"), free("127.0.0.2"));
    let ended = doctor(&format!("{hosts} --node_ip 127.0.0.1"));
    ended.says(&["?     versions and programs of the 2 hosts are not compared: add `--wait 60`"]);
    let there = |node: usize| doctor(&format!("{hosts} --node_ip 127.0.0.{node} --wait 20"));
    thread::scope(|scope| {
        let first = scope.spawn(|| there(1));
        there(2).says(&["ok    all 2 hosts have Oarlock ", "ok    server 1 can listen on 127.0.0.2:"]);
        first.join().unwrap().says(&["ok    all 2 hosts have Oarlock ", "ok    server 0 can listen on 127.0.0.1:"]);
    });
    let ended = doctor(&format!("{hosts} --node_ip 127.0.0.1 --wait 1"));
    assert_eq!(ended.code, Some(1));
    ended.says(&["bad   "]);
    let ended = doctor("--server_num 2 --worker_num 1");
    assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
    ended.says(&["ok    server 1 can listen on 127.0.0.1:"]);
}

/// A server that leaves what a log leaves, ends itself by a signal, and stays when it is restarted; a worker that waits for that.
const KILLED_SERVER: &str = "if [ $TRAINING_ROLE = PSERVER ]; then \
     if [ -n \"$OARLOCK_SERVER_LOG\" ]; then d=$OARLOCK_SERVER_LOG/$OARLOCK_JOB_ID/$PADDLE_PSERVER_ID/server; \
     mkdir -p $d; echo {} > $d/server.json; fi; \
     [ $OARLOCK_RESTART = 0 ] && kill -9 $$; touch back; exec sleep 100; fi\n\
     while [ ! -e back ]; do sleep 0.05; done";

const ONE_WORKER: &str = "--server_num 1 --worker_num 1 --ready_timeout 0";

#[test]
fn server_that_a_signal_ended_is_restarted_with_its_log() {
    let place = Place::new("server-restart");
    let ended = place.run(ONE_WORKER, KILLED_SERVER);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    ended.says(&["server 0 was killed with signal 9", "it is restarted with its log", "the job is done after"]);
    assert!(!place.0.join("log/server-state").exists(), "logs of a job that is done are deleted");
    place.is_clean();
}

#[test]
fn server_without_a_log_is_not_restarted() {
    for flags in ["--no-server-log", "--max-server-restart 0"] {
        let place = Place::new("server-no-restart");
        let ended = place.run(&format!("{ONE_WORKER} {flags}"), KILLED_SERVER);
        assert_eq!(ended.code, Some(137), "{flags}: {}", ended.err);
        place.is_clean();
    }
}

#[test]
fn job_that_failed_says_how_it_goes_on_and_is_not_begun_again_by_chance() {
    let place = Place::new("server-resume");
    let fails = format!("{KILLED_SERVER}\nexit 3");
    let ended = place.run(&format!("{ONE_WORKER} --job-id j7"), &fails);
    assert_eq!(ended.code, Some(3), "{}", ended.err);
    let ended = place.run(&format!("{ONE_WORKER} --job-id j7"), KILLED_SERVER);
    ended.says(&["job \"j7\" has logs of servers in", "--resume"]);
    let ended = place.run(&format!("{ONE_WORKER} --job-id j8 --resume"), KILLED_SERVER);
    ended.says(&["job \"j8\" has no logs of servers in"]);
    let ended = place.run(&format!("{ONE_WORKER} --job-id j7 --resume"), KILLED_SERVER);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
}
