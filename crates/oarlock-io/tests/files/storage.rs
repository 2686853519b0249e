//! Saves in a real S3 server on this machine: `OARLOCK_MOTO` names a `moto_server` program.
//!
//! Credentials stand in the environment, so whatever talks to the server runs in a process of its own.

#![expect(clippy::print_stdout, reason = "child processes answer on standard output")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use oarlock_io::{Checkpoints, Position, load_vars, open_around, open_store, persistables, save_vars};
use oarlock_ir::Kind;
use oarlock_testkit::skip;

use super::common::{Values, small_program, small_values};

/// Tells a child process what to do.
const CHILD: &str = "OARLOCK_TEST_STORAGE";

/// A server that ends with the test.
struct Server {
    process: Child,
    port: u16,
}

impl Server {
    /// Starts a server on a free port; `None`, and a line that says so, where there is none.
    #[expect(clippy::disallowed_methods, reason = "the place where these tests look for the server")]
    fn start() -> Option<Server> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let Ok(program) = std::env::var("OARLOCK_MOTO") else {
            skip("OARLOCK_MOTO names no moto_server (`cargo xtask soak` installs one)");
            return None;
        };
        let mut command = Command::new(program);
        command.args(["-H", "127.0.0.1", "-p", &port.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
        let server = Server { process: command.spawn().unwrap(), port };
        server.wait();
        server.request("PUT /bucket");
        Some(server)
    }

    fn wait(&self) {
        for _ in 0..600 {
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("the server does not answer");
    }

    fn request(&self, what: &str) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(stream, "{what} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{what}: {answer}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The test is over; a server that is gone already is as good.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// A process that knows how to reach the server and does what `order` says.
fn child_command(port: u16, order: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "files::storage::child", "--nocapture"]).env(CHILD, order);
    command.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test").env("AWS_REGION", "us-east-1");
    command.env("AWS_ENDPOINT", format!("http://127.0.0.1:{port}")).env("AWS_ALLOW_HTTP", "true");
    command
}

/// Does what `order` says in another process; returns what it printed.
fn run(port: u16, order: &str) -> String {
    let out = child_command(port, order).output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{order}: {text}");
    text
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how a test tells its child process what to do")]
fn child() {
    let Ok(order) = std::env::var(CHILD) else { return };
    match order.split_once(' ').unwrap_or((&order, "")) {
        ("round", url) => round_trip(url),
        ("save", url) => save_for_ever(url),
        ("load", url) => println!("\nloaded {}", load(url)),
        ("checkpoints", url) => keep_checkpoints(url),
        other => panic!("{other:?}"),
    }
}

fn save(url: &str, value: f32) {
    let program = small_program();
    save_vars(&*open_store(url).unwrap(), None, &persistables(&program), &small_values(value)).unwrap();
}

/// The value that all elements of all variables have.
fn load(url: &str) -> f64 {
    let (program, values) = (small_program(), Values::default());
    load_vars(&*open_store(url).unwrap(), None, &persistables(&program), &values).unwrap();
    let all: Vec<f64> = ["w", "b"].iter().flat_map(|n| values.tensor(n).to_f64()).collect();
    assert!(all.iter().all(|v| *v == all[0]), "half a save: {all:?}");
    all[0]
}

fn round_trip(url: &str) {
    save(url, 1.0);
    assert_eq!(load(url), 1.0);
    // A file of another system stays, and larger files go out in parts.
    let large = vec![7u8; 20 << 20];
    let store = open_store(url).unwrap();
    let mut staging = store.begin().unwrap();
    staging.file("large", &[], &mut |out| out.write_all(&large)).unwrap();
    staging.commit().unwrap();
    let view = store.view().unwrap();
    assert_eq!(view.files().unwrap(), ["b", "large", "lr", "w"]);
    assert_eq!(view.open("large").unwrap().bytes().unwrap(), large);
    // Replaced behind our back: noticed.
    let (folder, name) = open_around(&format!("{url}/w")).unwrap();
    assert_eq!((folder.describe(), name.as_str()), (store.describe(), "w"));
    save(url, 2.0);
    assert_eq!(load(url), 2.0);
    let e = open_store(&format!("{url}/nothing")).unwrap().view().err().unwrap();
    assert_eq!(e.kind(), Kind::Missing, "{e}");
}

/// Saves ever larger numbers, and prints each that is complete.
fn save_for_ever(url: &str) {
    for value in 1..1000 {
        save(url, value as f32);
        println!("\nsaved {value}");
    }
}

fn keep_checkpoints(url: &str) {
    let (program, checkpoints) = (small_program(), Checkpoints::new(open_store(url).unwrap()));
    for step in 0..4 {
        let position = Position { epoch: 1, step, ..Position::default() };
        checkpoints.save(&program, &small_values(step as f32), &position, 2).unwrap();
    }
    let found = checkpoints.list().unwrap();
    assert_eq!(found.iter().map(|c| (c.number, c.position.step)).collect::<Vec<_>>(), [(2, 2), (3, 3)]);
    checkpoints.verify(3).unwrap();
    let values = Values::default();
    assert_eq!(checkpoints.load(3, &program, &values).unwrap().step, 3);
    assert_eq!(values.tensor("b").to_f64(), [3.0; 2]);
    checkpoints.clear().unwrap();
    assert!(checkpoints.list().unwrap().is_empty());
}

#[test]
fn saves_and_checkpoints_come_back() {
    let Some(server) = Server::start() else { return };
    run(server.port, "round s3://bucket/models/one");
    run(server.port, "checkpoints s3://bucket/run");
}

#[test]
fn a_killed_save_leaves_the_one_before() {
    let Some(server) = Server::start() else { return };
    let url = "s3://bucket/killed";
    for pause in [40, 90, 150, 230, 310, 420, 530, 700] {
        let mut saver = child_command(server.port, &format!("save {url}")).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(saver.stdout.take().unwrap()).lines();
        let reader = std::thread::spawn(move || {
            let saved = lines.map_while(Result::ok).filter_map(|l| l.strip_prefix("saved ")?.parse::<f64>().ok());
            saved.last()
        });
        // At least one save is complete before the kill.
        std::thread::sleep(Duration::from_millis(1500 + pause));
        saver.kill().unwrap();
        saver.wait().unwrap();
        let Some(saved) = reader.join().unwrap() else { continue };
        let text = run(server.port, &format!("load {url}"));
        let loaded: f64 = text.lines().find_map(|l| l.strip_prefix("loaded ")?.parse().ok()).unwrap();
        assert!(loaded == saved || loaded == saved + 1.0, "loaded {loaded}, but {saved} was saved");
    }
}

/// A way to the server that breaks off the first connections. Its thread ends with the test's process.
fn bad_line_to(port: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming().skip(3).flatten() {
            let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
            for (mut from, mut to) in
                [(client.try_clone(), server.try_clone()), (server.try_clone(), client.try_clone())]
                    .map(|(from, to)| (from.unwrap(), to.unwrap()))
            {
                // Either side may hang up; the other then reads the end.
                std::thread::spawn(move || std::io::copy(&mut from, &mut to).map(|_| to.shutdown(Shutdown::Write)));
            }
        }
    });
    own
}

#[test]
fn what_fails_is_tried_again() {
    let Some(server) = Server::start() else { return };
    run(bad_line_to(server.port), "round s3://bucket/bad-line");
}

#[test]
fn missing_credentials_and_unknown_schemes_are_named() {
    let error = |url: &str| open_store(url).err().unwrap().to_string();
    // Which of them the environment of this test has is not known, but nobody names his bucket so.
    let text = error("s3://");
    assert!(text.contains("names no bucket"), "{text}");
    let text = error("ftp://host/dir");
    assert!(text.contains("there is no storage of that kind") && text.contains("s3://, gs://, az://"), "{text}");
    let out = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "files::storage::child", "--nocapture"])
        .env_clear()
        .env(CHILD, "load s3://bucket/x")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(text.contains("there are no credentials for s3://bucket"), "{text}");
    assert!(text.contains("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"), "{text}");
}
