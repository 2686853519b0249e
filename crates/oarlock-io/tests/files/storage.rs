//! Saves in a real S3 server on this machine: `OARLOCK_MOTO` names a `moto_server` program.
//!
//! Credentials stand in the environment, so whatever talks to the server runs in a process of its own.

#![expect(clippy::print_stdout, reason = "child processes answer on standard output")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use oarlock_io::data::{
    Batch, BatchSource, Format, InMemoryDataset, MemoryLimit, QueueDataset, SlotSpec, SlotType, Source,
};
use oarlock_io::{Checkpoints, Position, load_vars, open_around, open_store, persistables, save_vars};
use oarlock_ir::{Kind, Result};
use oarlock_testkit::skip;

use super::common::{
    FORMS, Values, error_without_environment, load_as, own_process, save_as, small_program, small_values,
};

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
        server.request("PUT /bucket", &[]);
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

    fn request(&self, what: &str, body: &[u8]) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let length = body.len();
        // The server looks at who asks, not at the signature.
        let who =
            "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";
        let head = format!(
            "{what} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {who}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
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
    let mut command = own_process("files::storage::child", CHILD, order);
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
        ("data", url) => read_data(url),
        ("save-as", words) => {
            let [form, url, value] = words.split(' ').collect::<Vec<_>>()[..] else { panic!("{words}") };
            save_as(form, url, value.parse().unwrap()).unwrap();
        }
        ("load-as", words) => {
            let (form, url) = words.split_once(' ').unwrap();
            println!("\nloaded {}", load_as(form, url));
        }
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

/// Lines of objects, by name and by pattern, compressed and through a command, streamed and loaded.
fn read_data(url: &str) {
    let source =
        |name: &str, pipe: &str| Source { pipe_command: pipe.into(), ..Source::files([format!("{url}/{name}")]) };
    let format = || Format::strict(vec![SlotSpec::sparse("ids", SlotType::Id)]);
    let ids = |reader: &mut dyn BatchSource| -> Result<Vec<i64>> {
        let (mut batch, mut all) = (Batch::new(), Vec::new());
        while reader.next(&mut batch)? {
            all.extend_from_slice(batch.tensors()[0].data::<i64>().unwrap());
        }
        Ok(all)
    };
    let stream = |name: &str, pipe: &str| {
        let dataset = QueueDataset { source: source(name, pipe), format: format(), batch_size: 100, queue: 2 };
        ids(&mut dataset.start(1, Arc::default())?.take_readers()[0])
    };
    assert_eq!(stream("part-*", "").unwrap(), [1, 2, 3]);
    assert_eq!(stream("part-1", "sed s/3/4/").unwrap(), [4]);
    assert_eq!(stream("more.gz", "").unwrap(), [5, 6]);
    let mut memory = InMemoryDataset::new(source("part-?", ""), format(), 10, MemoryLimit::Machine);
    memory.load_into_memory(2, Arc::default()).unwrap();
    assert_eq!(ids(&mut memory.readers(1)[0]).unwrap(), [1, 2, 3]);
    let missing = stream("none", "").unwrap_err();
    assert!(missing.to_string().contains(&format!("there is no file {url}/none")), "{missing}");
    assert!(stream("none-*", "").unwrap_err().to_string().contains("matches no file"));
}

#[test]
fn data_sets_are_read_from_buckets() {
    let Some(server) = Server::start() else { return };
    server.request("PUT /bucket/train/part-0", b"2 1 2\n");
    server.request("PUT /bucket/train/part-1", b"1 3\n");
    // `printf '2 5 6\n' | gzip -n`
    let gzip = [31, 139, 8, 0, 0, 0, 0, 0, 0, 3, 51, 82, 48, 85, 48, 227, 2, 0, 25, 30, 192, 175, 6, 0, 0, 0];
    server.request("PUT /bucket/train/more.gz", &gzip);
    run(server.port, "data s3://bucket/train");
}

#[test]
fn saves_and_checkpoints_come_back() {
    let Some(server) = Server::start() else { return };
    run(server.port, "round s3://bucket/models/one");
    run(server.port, "checkpoints s3://bucket/run");
}

#[test]
fn an_object_replaced_by_another_program_is_noticed() {
    let Some(server) = Server::start() else { return };
    for form in FORMS {
        let url = format!("s3://bucket/damaged-{form}");
        run(server.port, &format!("save-as {form} {url} 1"));
        let file = match form {
            "combined" => "all",
            "program" => "m.pdparams",
            "checkpoint" => "checkpoint_0/__params__",
            _ => "w",
        };
        server.request(&format!("PUT /bucket/damaged-{form}/{file}"), b"something else");
        let out = child_command(server.port, &format!("load-as {form} {url}")).output().unwrap();
        let text = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(!out.status.success() && text.contains("is not what was saved"), "{form}: {text}");
    }
}

/// A way to the server on which the request of this number kills the process that asks.
fn deadly_line_to(port: u16, deadly: usize, victim: &Arc<Mutex<Option<Child>>>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    let (victim, count) = (victim.clone(), Arc::new(AtomicUsize::new(0)));
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let (mut back, mut to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            std::thread::spawn(move || {
                // Either side may hang up; the other then reads the end.
                std::io::copy(&mut back, &mut to_client).map(|_| to_client.shutdown(Shutdown::Write))
            });
            let (victim, count) = (victim.clone(), count.clone());
            std::thread::spawn(move || pass_on(client, server, &count, deadly, &victim));
        }
    });
    own
}

/// Passes requests on, and counts them by their first words.
fn pass_on(mut from: TcpStream, mut to: TcpStream, count: &AtomicUsize, deadly: usize, victim: &Mutex<Option<Child>>) {
    let mut piece = vec![0; 1 << 16];
    while let Ok(n) = from.read(&mut piece)
        && n > 0
    {
        let starts = [&b"GET /"[..], b"PUT /", b"HEAD /", b"POST /", b"DELETE /"].iter().any(|w| piece.starts_with(w));
        if starts && count.fetch_add(1, Ordering::SeqCst) + 1 == deadly {
            if let Some(victim) = &mut *victim.lock().unwrap() {
                victim.kill().unwrap();
            }
            return;
        }
        if to.write_all(&piece[..n]).is_err() {
            return;
        }
    }
}

#[test]
fn killed_at_every_request_the_old_or_the_new_save_loads() {
    let Some(server) = Server::start() else { return };
    for form in FORMS {
        let (mut seen_old, mut seen_new) = (false, false);
        for deadly in 1.. {
            let url = format!("s3://bucket/{form}-{deadly}");
            run(server.port, &format!("save-as {form} {url} 1"));
            let victim = Arc::new(Mutex::new(None));
            let port = deadly_line_to(server.port, deadly, &victim);
            let mut locked = victim.lock().unwrap();
            *locked =
                Some(child_command(port, &format!("save-as {form} {url} 2")).stdout(Stdio::null()).spawn().unwrap());
            drop(locked);
            let died = loop {
                let ended = victim.lock().unwrap().as_mut().unwrap().try_wait().unwrap();
                match ended {
                    Some(status) => break !status.success(),
                    None => std::thread::sleep(Duration::from_millis(5)),
                }
            };
            let loaded = |url: &str| -> f64 {
                let text = run(server.port, &format!("load-as {form} {url}"));
                text.lines().find_map(|l| l.strip_prefix("loaded ")?.parse().ok()).unwrap()
            };
            match loaded(&url) {
                1.0 => seen_old = true,
                2.0 => seen_new = true,
                other => panic!("{form}, killed at request {deadly}: {other}"),
            }
            run(server.port, &format!("save-as {form} {url} 3"));
            assert_eq!(loaded(&url), 3.0, "{form}, killed at request {deadly}");
            if !died {
                break;
            }
        }
        assert!(seen_old && seen_new, "{form}");
    }
}

#[test]
fn a_killed_save_leaves_the_one_before() {
    let Some(server) = Server::start() else { return };
    let url = "s3://bucket/killed";
    for pause in [40, 90, 150, 230, 310, 420, 530, 700] {
        let mut saver = child_command(server.port, &format!("save {url}")).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(saver.stdout.take().unwrap()).lines();
        let reader = std::thread::spawn(move || {
            let saved =
                lines.map_while(std::result::Result::ok).filter_map(|l| l.strip_prefix("saved ")?.parse::<f64>().ok());
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
fn failed_requests_are_tried_again() {
    let Some(server) = Server::start() else { return };
    run(bad_line_to(server.port), "round s3://bucket/bad-line");
}

#[test]
fn missing_credentials_and_unknown_schemes_are_named() {
    let error = |url: &str| open_store(url).err().unwrap().to_string();
    // Which of them the environment of this test has is not known, but no bucket has this name.
    let text = error("s3://");
    assert!(text.contains("names no bucket"), "{text}");
    let text = error("ftp://host/dir");
    assert!(text.contains("there is no storage of that kind") && text.contains("s3://, gs://, az://"), "{text}");
    let text = error_without_environment("files::storage::child", CHILD, "load s3://bucket/x");
    assert!(text.contains("there are no credentials for s3://bucket"), "{text}");
    assert!(text.contains("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"), "{text}");
}
