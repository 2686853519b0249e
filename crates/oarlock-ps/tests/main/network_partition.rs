//! A trainer on another machine, and a network that fails: two network namespaces with a cable between them.
//!
//! The namespaces belong to processes of the test and have no names, so they are gone with the processes. Making them takes root,
//! `unshare`, `nsenter` and `ip`.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use oarlock_net::NetOptions;
use oarlock_ps::client::{ClientOptions, SnapshotRequest};
use oarlock_ps::server::ServerOptions;

use crate::cluster::{Job, dense_feed, quiet, small, trainer_options};

/// Which test a process plays a part in; not there in an ordinary run of all tests.
const SCENE: &str = "OARLOCK_TEST_SCENE";
/// Where the server listens, in the namespace of the servers.
const SERVER: &str = "10.71.3.1:7164";
/// Longer than a short loss of the network, and short enough to be waited for.
const DEADLINE: Duration = Duration::from_secs(15);

#[expect(clippy::disallowed_methods, reason = "processes of a test are real, and get their roles by variables")]
fn scene() -> Option<String> {
    std::env::var(SCENE).ok()
}

#[expect(clippy::disallowed_methods, reason = "processes of a test are real")]
fn now() -> Instant {
    Instant::now()
}

/// A process that does not outlive the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and need not be.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a part of a scene in a network namespace of its own.
fn apart(part: &str, scene: &str) -> std::io::Result<Process> {
    let exe = std::env::current_exe()?;
    let mut command = Command::new("unshare");
    command
        .arg("--net")
        .arg(exe)
        .args(["--exact", &format!("network_partition::{part}"), "--nocapture"])
        .env(SCENE, scene);
    Ok(Process(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?))
}

/// Why no cable can be laid here, if so.
fn missing_means() -> Option<String> {
    let tried = |mut command: Command| match command.output() {
        Ok(out) if out.status.success() => None,
        Ok(out) => Some(format!("{command:?}: {}", String::from_utf8_lossy(&out.stderr).trim())),
        Err(e) => Some(format!("{command:?}: {e}")),
    };
    let mut veth = Command::new("unshare");
    veth.args(["--net", "ip", "link", "add", "here", "type", "veth", "peer", "name", "there"]);
    let mut enter = Command::new("nsenter");
    enter.arg("--version");
    tried(veth).or_else(|| tried(enter))
}

/// Plays a scene: the servers and trainer 0 in one namespace, which starts trainer 1 in another.
fn play(scene: &str) {
    if let Some(why) = missing_means() {
        return oarlock_testkit::skip(&format!("no network namespaces here: {why}"));
    }
    let (code, text) = ended(apart("servers", scene).unwrap(), Duration::from_secs(60));
    assert_eq!(code, Some(0), "{text}");
}

/// Waits for the end of a process, and returns what it wrote.
fn ended(mut process: Process, limit: Duration) -> (Option<i32>, String) {
    let until = now() + limit;
    while process.0.try_wait().unwrap().is_none() {
        assert!(now() < until, "a process does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
    let code = process.0.wait().unwrap().code();
    let mut text = String::new();
    for stream in [process.0.stdout.take().map(read_all), process.0.stderr.take().map(read_all)].into_iter().flatten() {
        text += &stream;
    }
    (code, text)
}

fn read_all(mut stream: impl std::io::Read) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).map(|_| text).unwrap_or_default()
}

fn ip(arguments: &str) {
    run(Command::new("ip").args(arguments.split(' ')));
}

fn run(command: &mut Command) {
    let Output { status, stderr, .. } = command.output().unwrap();
    assert!(status.success(), "{command:?}: {}", String::from_utf8_lossy(&stderr));
}

/// The machine of trainer 1, with a cable to this one.
struct Other {
    process: Process,
    lines: Receiver<String>,
}

impl Other {
    fn connect(scene: &str) -> Other {
        let mut process = apart("trainer", scene).unwrap();
        let pid = process.0.id().to_string();
        let namespace = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/net")).ok();
        let until = now() + Duration::from_secs(10);
        while namespace(&pid) == namespace("self") {
            assert!(now() < until, "the other machine does not start");
            std::thread::sleep(Duration::from_millis(2));
        }
        ip("link set lo up");
        ip(&format!("link add here type veth peer name there netns {pid}"));
        ip("addr add 10.71.3.1/24 dev here");
        ip("link set here up");
        for line in ["addr add 10.71.3.2/24 dev there", "link set there up", "link set lo up"] {
            run(Command::new("nsenter").args(["-t", &pid, "-n", "ip"]).args(line.split(' ')));
        }
        let (told, lines) = channel();
        let from = BufReader::new(process.0.stderr.take().unwrap());
        // It ends when the process does.
        std::thread::spawn(move || from.lines().map_while(Result::ok).all(|line| told.send(line).is_ok()));
        writeln!(process.0.stdin.as_mut().unwrap(), "the network is up").unwrap();
        Other { process, lines }
    }

    /// Waits until it says so.
    fn says(&self, what: &str) -> String {
        let (until, mut heard) = (now() + Duration::from_secs(30), String::new());
        while now() < until {
            match self.lines.recv_timeout(Duration::from_millis(50)) {
                Ok(line) if line.contains(what) => return line,
                Ok(line) => writeln!(heard, "{line}").unwrap(),
                Err(_) => {}
            }
        }
        panic!("the other machine never says {what:?}, but:\n{heard}");
    }

    fn ends_well(self) {
        let (code, text) = ended(self.process, Duration::from_secs(20));
        let said: Vec<String> = self.lines.try_iter().collect();
        assert_eq!(code, Some(0), "{text}{}", said.join("\n"));
    }
}

fn job() -> Job {
    Job::at("dc_asgd", small(64), 2, SERVER)
}

fn net(scene: &str) -> NetOptions {
    let token = (scene == "with a token").then(|| "shibboleth".to_string());
    NetOptions { token, ..NetOptions::default() }
}

fn server_options(scene: &str) -> ServerOptions {
    ServerOptions { net: net(scene), deadline: DEADLINE, ..quiet() }
}

fn client_options(scene: &str) -> ClientOptions {
    ClientOptions { net: net(scene), deadline: DEADLINE, ..trainer_options() }
}

/// Trainer 1, on its machine.
#[test]
fn trainer() {
    let Some(scene) = scene() else { return };
    std::io::stdin().read_line(&mut String::new()).unwrap();
    let trainer = job().join(1, client_options(&scene)).unwrap();
    if scene.ends_with("token") {
        let snapshot = SnapshotRequest {
            dir: std::env::temp_dir().join(format!("oarlock-token-{}", std::process::id())).display().to_string(),
            number: 0,
            servers: vec![SERVER.to_string()],
            variables: Vec::new(),
        };
        let done =
            trainer.client().begin_snapshot(1, &snapshot).and_then(|()| trainer.client().finish_snapshot(1, &snapshot));
        let written = Path::new(&snapshot.dir).exists();
        let _ = std::fs::remove_dir_all(&snapshot.dir);
        eprintln!("written: {written}, {}", done.err().map_or("no error".into(), |e| e.to_string().replace('\n', " ")));
    }
    for step in 0..8 {
        if step == 3 {
            eprintln!("in the middle");
            std::thread::sleep(Duration::from_millis(300));
        }
        if let Err(error) = trainer.step(&dense_feed(8, step, 4, 4)) {
            eprintln!("gave up: {}", error.to_string().replace('\n', " "));
            trainer.client().abandon();
            return;
        }
    }
    trainer.leave();
    eprintln!("left");
}

/// The servers and trainer 0.
#[test]
fn servers() {
    let Some(scene) = scene() else { return };
    let other = Other::connect(&scene);
    let servers = job().serve(&server_options(&scene));
    let near = std::thread::spawn(move || {
        let trainer = job().join(0, client_options(&scene)).unwrap();
        let done = (0..8).try_for_each(|step| trainer.step(&dense_feed(8, step, 0, 4)));
        match &done {
            Ok(()) => trainer.leave(),
            Err(_) => trainer.client().abandon(),
        }
        done
    });
    let scene = self::scene().unwrap();
    match scene.as_str() {
        "snapshot off for a second" => {
            other.says("in the middle");
            ip("link set here down");
            std::thread::sleep(Duration::from_secs(1));
            ip("link set here up");
        }
        "snapshot off for good" => {
            other.says("in the middle");
            ip("link set here down");
            let down = now();
            let error = near.join().unwrap().unwrap_err().to_string();
            assert!(error.contains("trainer 1 was lost in step 4"), "{error}");
            assert!(down.elapsed() < DEADLINE, "noticed after {:?}", down.elapsed());
            let gave_up = other.says("gave up");
            assert!(gave_up.contains(SERVER) && gave_up.contains("step 4"), "{gave_up}");
            assert!(down.elapsed() < DEADLINE + Duration::from_secs(4), "gave up after {:?}", down.elapsed());
            let failed = servers.into_iter().map(|(server, _)| server.wait(|| false).unwrap_err().to_string());
            failed.for_each(|error| assert!(error.contains("trainer 1 was lost in step 4"), "{error}"));
            return other.ends_well();
        }
        "without a token" => {
            let refused = other.says("written:");
            assert!(refused.contains("written: false") && refused.contains("this job has no token"), "{refused}");
            assert!(refused.contains("10.71.3.2:") && refused.contains("OARLOCK_TOKEN"), "{refused}");
        }
        _ => assert_eq!(other.says("written:"), "written: true, no error"),
    }
    other.says("left");
    near.join().unwrap().unwrap();
    let summaries = servers.into_iter().map(|(server, _)| server.wait(|| false).unwrap());
    summaries.for_each(|summary| assert_eq!(summary.steps, 8));
    other.ends_well();
}

#[test]
fn training_survives_a_second_without_network() {
    play("snapshot off for a second");
}

#[test]
fn disconnected_trainer_is_named_on_both_sides_within_the_deadline() {
    play("snapshot off for good");
}

#[test]
fn servers_write_files_for_other_machines_only_if_the_job_has_a_token() {
    play("without a token");
    play("with a token");
}
