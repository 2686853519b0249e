//! Rendezvous of nodes that know only one address: the launchers of all hosts agree who runs what.
//!
//! One launcher listens at the rendezvous point, which is an address of its host. Each of the others connects and says in a line which
//! processes it will run; when all have come, each receives all of them. Lists are in the order of the nodes' ranks, or of
//! their arrival if they have none. With a token (`OARLOCK_TOKEN`) each side proves that it knows it, and that the messages were not
//! changed on the way. Nodes of another release, or with another program, are refused by name.

use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use oarlock_ir::{Error, Kind, Result};
use oarlock_net::{nonce, same_seal, seal};
use tracing::{info, warn};

use super::cluster::split;
use super::plan::Ask;
use super::{host, list, now, var};

/// The first word of every line, with the version of this exchange.
const WORD: &str = "oarlock-meet-2";

/// Pause between two attempts, and the limit of one.
const PAUSE: Duration = Duration::from_millis(200);

/// How often it is said for whom this node waits.
const REMIND: Duration = Duration::from_secs(5);

/// How long a connection may take, and how long a node that was turned away waits before it tries again.
const SPEAK: Duration = Duration::from_secs(5);

/// The place of the rendezvous.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendezvous {
    /// `host:port` of one of the nodes.
    pub master: String,
    /// How many nodes there are.
    pub nodes: usize,
    /// The place of this node among them, if it was given one.
    pub rank: Option<usize>,
    /// The name of the job; nodes of another are turned away.
    pub job: String,
    /// How long to wait for all nodes.
    pub patience: Duration,
    /// The secret that only the nodes of the job know.
    pub token: Option<String>,
    /// A digest of the program that the node runs; nodes that run something else are refused. Empty: not compared.
    pub program: String,
}

impl Default for Rendezvous {
    /// Nowhere, with the usual patience and the token of the environment.
    fn default() -> Rendezvous {
        Rendezvous {
            master: String::new(),
            nodes: 1,
            rank: None,
            job: String::new(),
            patience: Rendezvous::PATIENCE,
            token: var("OARLOCK_TOKEN"),
            program: String::new(),
        }
    }
}

impl Rendezvous {
    /// How long nodes usually wait for each other: a scheduler may take its time to start all of them.
    pub const PATIENCE: Duration = Duration::from_secs(900);
}

/// The processes of one node: lists of endpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Node {
    job: String,
    /// The release of Oarlock, and a digest of the program.
    version: String,
    program: String,
    rank: Option<usize>,
    servers: Vec<String>,
    workers: Vec<String>,
}

impl Node {
    fn line(&self) -> String {
        let rank = self.rank.map_or("-".to_string(), |rank| rank.to_string());
        let list = |endpoints: &[String]| if endpoints.is_empty() { "-".to_string() } else { endpoints.join(",") };
        let (servers, workers) = (list(&self.servers), list(&self.workers));
        let program = if self.program.is_empty() { "-" } else { &self.program };
        format!("{WORD} {} {} {program} {rank} {servers} {workers}", self.job, self.version)
    }

    fn parse(line: &str) -> Option<Node> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [WORD, job, version, program, rank, servers, workers] = words[..] else { return None };
        let endpoints = |text: &str| if text == "-" { Vec::new() } else { list(text) };
        let rank = if rank == "-" { None } else { Some(rank.parse().ok()?) };
        let program = if program == "-" { String::new() } else { program.to_string() };
        let (job, version) = (job.to_string(), version.to_string());
        Some(Node { job, version, program, rank, servers: endpoints(servers), workers: endpoints(workers) })
    }

    /// Why a node cannot be of the same job, if so.
    fn differs(&self, other: &Node) -> Option<String> {
        if self.version != other.version {
            return Some(format!(
                "it has Oarlock {}, and the node at the rendezvous point {}",
                other.version, self.version
            ));
        }
        let both = !self.program.is_empty() && !other.program.is_empty();
        (both && self.program != other.program).then(|| {
            format!(
                "its program has the fingerprint {}, and that of the node at the rendezvous point {}",
                other.program, self.program
            )
        })
    }
}

/// A line with the proof that its sender knows the token; `said` is what the other end said before, so that no line can be used again.
fn sealed(line: &str, token: Option<&str>, said: &str) -> String {
    format!("{line} {}\n", seal(token, &[said.as_bytes(), line.as_bytes()]))
}

/// The line inside a sealed one; `None` if the seal is wrong.
fn open(text: &str, token: Option<&str>, said: &str) -> Option<String> {
    let (line, proof) = text.trim_end().rsplit_once(' ')?;
    same_seal(proof, &seal(token, &[said.as_bytes(), line.as_bytes()])).then(|| line.to_string())
}

/// Agrees with the other nodes: `ask` says how many servers and workers this node runs, the result lists those of all.
pub fn gather_nodes(ask: Ask, rendezvous: &Rendezvous) -> Result<Ask> {
    let deadline = now() + rendezvous.patience;
    let own = host::addresses()?;
    let (point, _) = split(&rendezvous.master);
    let listener = if host::is_here(point, &own) { listen(&rendezvous.master)? } else { None };
    let node = match &ask.node {
        Some(node) => node.clone(),
        None if listener.is_some() => point.to_string(),
        None => own_address(rendezvous, deadline)?,
    };
    let (servers, workers) = match ask.per_node {
        Some(equals) => (0, equals),
        None => (ask.server_num.unwrap_or(0), ask.worker_num.unwrap_or(0)),
    };
    let ports = match ask.first_port {
        Some(first) => (first..=u16::MAX).take(servers + workers).collect(),
        None => host::free_ports(&node, servers + workers, &[])?,
    };
    let endpoints: Vec<String> = ports.iter().map(|port| format!("{node}:{port}")).collect();
    let (servers, workers) = endpoints.split_at(servers.min(endpoints.len()));
    let job = if rendezvous.job.is_empty() { "-".to_string() } else { rendezvous.job.split_whitespace().collect() };
    let this = Node {
        job,
        version: env!("CARGO_PKG_VERSION").to_string(),
        program: rendezvous.program.clone(),
        rank: rendezvous.rank,
        servers: servers.to_vec(),
        workers: workers.to_vec(),
    };
    let all = match listener {
        Some(listener) => gather(&listener, this, rendezvous, deadline)?,
        None => join(&this, rendezvous, deadline)?,
    };
    let node = Some(node);
    Ok(match all.servers.is_empty() {
        false => Ask { servers: all.servers, workers: all.workers, node, ..Ask::default() },
        true => Ask { hosts: all.workers, per_node: Some(1), node, ..Ask::default() },
    })
}

/// Listens at the rendezvous point; `None` if another launcher of this host does already.
fn listen(master: &str) -> Result<Option<TcpListener>> {
    match TcpListener::bind(address(master)?) {
        Ok(listener) => Ok(Some(listener)),
        Err(e) if matches!(e.kind(), ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable) => Ok(None),
        Err(e) => Err(Error::new(Kind::Network, format!("nodes cannot gather at {master}: {e}"))),
    }
}

fn address(master: &str) -> Result<SocketAddr> {
    let (name, port) = split(master);
    let bad = |why: &str| {
        Error::new(Kind::Argument, format!("nodes cannot gather at {master:?}: {why}")).help("write --master host:port")
    };
    let port = port.parse().map_err(|_| bad("it has no port"))?;
    let ip = host::resolve(name).ok().and_then(|found| found.first().copied());
    Ok(SocketAddr::new(ip.ok_or_else(|| bad("the host is unknown"))?, port))
}

/// The address by which this machine reaches the rendezvous point, and so probably the other nodes reach it.
fn own_address(rendezvous: &Rendezvous, deadline: Instant) -> Result<String> {
    let stream = reach(rendezvous, deadline)?;
    let address = stream.local_addr().map_err(|e| broken(rendezvous, &e))?;
    Ok(address.ip().to_string())
}

/// Receives the messages of all nodes, and sends each node all of them.
fn gather(listener: &TcpListener, this: Node, rendezvous: &Rendezvous, deadline: Instant) -> Result<Node> {
    listener.set_nonblocking(true).map_err(|e| broken(rendezvous, &e))?;
    let first = this.clone();
    let mut nodes: Vec<(Node, Option<(TcpStream, String)>)> = vec![(this, None)];
    let mut remind = now() + REMIND;
    while nodes.len() < rendezvous.nodes {
        match listener.accept() {
            Ok((stream, _)) => {
                nodes.extend(receive(stream, &first, rendezvous).map(|(node, end)| (node, Some(end))));
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => thread::sleep(PAUSE),
            Err(e) => return Err(broken(rendezvous, &e)),
        }
        let came = format!("{} of {} nodes have come to {}", nodes.len(), rendezvous.nodes, rendezvous.master);
        if now() >= deadline {
            return Err(Error::new(Kind::Timeout, format!("{came} in {} s", rendezvous.patience.as_secs()))
                .help("start the launcher on every node, with the same --master, --nnodes and --job-id"));
        }
        if now() >= remind {
            remind += REMIND;
            info!("waiting: {came}");
        }
    }
    // Nodes without a rank come after those with one, in the order of their arrival.
    nodes.sort_by_key(|(node, _)| node.rank.unwrap_or(usize::MAX));
    let all = Node {
        rank: None,
        servers: nodes.iter().flat_map(|(node, _)| node.servers.clone()).collect(),
        workers: nodes.iter().flat_map(|(node, _)| node.workers.clone()).collect(),
        ..first
    };
    for (stream, said) in nodes.into_iter().filter_map(|(_, end)| end) {
        // A node that went away meanwhile is missed by those who need it.
        let _ = (&stream).write_all(sealed(&all.line(), rendezvous.token.as_deref(), &said).as_bytes());
    }
    Ok(all)
}

/// Reads the message of a node of this job. Connections of others are closed: they try until their deadline and then say so. One that
/// could not work with the others receives the reason.
fn receive(stream: TcpStream, first: &Node, rendezvous: &Rendezvous) -> Option<(Node, (TcpStream, String))> {
    stream.set_nonblocking(false).ok()?;
    let (token, nonce) = (rendezvous.token.as_deref(), nonce());
    (&stream).write_all(format!("{WORD} {nonce}\n").as_bytes()).ok()?;
    let said = read_line(&stream, now(), || {}).ok()?;
    let Some(line) = open(&said, token, &nonce) else {
        if said.starts_with(WORD) {
            let peer = stream.peer_addr().map_or_else(|_| "an unknown peer".to_string(), |peer| peer.ip().to_string());
            warn!(peer, "{peer} came to {} without the token of this job, and was turned away", rendezvous.master);
        }
        return None;
    };
    let node = Node::parse(&line).filter(|node| node.job == first.job)?;
    if let Some(why) = first.differs(&node) {
        let refusal = format!("{REFUSED} {}", why.replace(' ', "_"));
        let _ = (&stream).write_all(sealed(&refusal, token, &said).as_bytes());
        warn!("a node was refused: {why}");
        return None;
    }
    Some((node, (stream, said)))
}

/// The first word of the answer to a node that cannot take part; why stands behind it.
const REFUSED: &str = "oarlock-refused";

/// Sends the rendezvous point what this node runs, and receives what all run.
fn join(this: &Node, rendezvous: &Rendezvous, deadline: Instant) -> Result<Node> {
    loop {
        let stream = reach(rendezvous, deadline)?;
        match ask(&stream, this, rendezvous, deadline) {
            Ok(answer) if answer.starts_with(REFUSED) => {
                let why = answer[REFUSED.len()..].trim().replace('_', " ");
                return Err(Error::new(
                    Kind::Argument,
                    format!("this node was refused at {}: {why}", rendezvous.master),
                )
                .help("install one release of Oarlock and one copy of the program on all nodes"));
            }
            Ok(answer) => {
                if let Some(all) = Node::parse(&answer) {
                    return Ok(all);
                }
            }
            Err(_) => {}
        }
        if now() >= deadline {
            let what = format!("the nodes of the job did not all come to {}", rendezvous.master);
            return Err(Error::new(Kind::Timeout, what)
                .help("start the launcher on every node, with the same --master, --nnodes and --job-id"));
        }
        info!("{} does not answer as a launcher of this job does; trying again", rendezvous.master);
        thread::sleep(SPEAK);
    }
}

/// Says who this node is, with the proof that it knows the token; returns the answer, if that has such a proof.
fn ask(stream: &TcpStream, this: &Node, rendezvous: &Rendezvous, deadline: Instant) -> io::Result<String> {
    let token = rendezvous.token.as_deref();
    let greeting = read_line(stream, now() + SPEAK, || {})?;
    let nonce = greeting.strip_prefix(WORD).map(str::trim).unwrap_or_default();
    let said = sealed(&this.line(), token, nonce);
    (&*stream).write_all(said.as_bytes())?;
    let answer = read_line(stream, deadline, || info!("waiting at {} for the other nodes", rendezvous.master))?;
    open(&answer, token, &said).ok_or_else(|| ErrorKind::InvalidData.into())
}

/// A connection to the rendezvous point, as soon as a process listens there.
fn reach(rendezvous: &Rendezvous, deadline: Instant) -> Result<TcpStream> {
    let mut remind = now() + REMIND;
    loop {
        // A name may become known while nodes are being started.
        let failure = match address(&rendezvous.master) {
            Ok(address) => match TcpStream::connect_timeout(&address, SPEAK) {
                Ok(stream) if stream.local_addr().ok() != stream.peer_addr().ok() => return Ok(stream),
                Ok(_) => broken(rendezvous, &ErrorKind::ConnectionRefused.into()),
                Err(e) => broken(rendezvous, &e),
            },
            Err(e) => e,
        };
        if now() >= deadline {
            return Err(failure.note(format!("tried for {} s", rendezvous.patience.as_secs())));
        }
        if now() >= remind {
            remind += REMIND;
            info!("waiting for the node at {}: {}", rendezvous.master, failure.report().what);
        }
        thread::sleep(PAUSE);
    }
}

/// A line of the other end; `waiting` is called now and then until it comes.
fn read_line(stream: &TcpStream, deadline: Instant, waiting: impl Fn()) -> io::Result<String> {
    stream.set_read_timeout(Some(REMIND))?;
    // Lists of some thousand processes; more is not from a launcher.
    let mut reader = BufReader::new(io::Read::take(stream, 1 << 20));
    let mut line = String::new();
    loop {
        match reader.read_line(&mut line) {
            Ok(_) => return Ok(line),
            Err(e) if !matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) || now() >= deadline => {
                return Err(e);
            }
            Err(_) => waiting(),
        }
    }
}

fn broken(rendezvous: &Rendezvous, e: &io::Error) -> Error {
    Error::new(Kind::Network, format!("no connection to the other nodes at {}: {e}", rendezvous.master))
        .help("check --master, and that the launcher runs on that host")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan;

    #[test]
    fn lines_are_read_back() {
        let node = node("1", "p");
        assert_eq!(Node::parse(&node.line()), Some(node));
        assert_eq!(Node::parse("GET / HTTP/1.1"), None);
    }

    fn node(version: &str, program: &str) -> Node {
        let (version, program) = (version.to_string(), program.to_string());
        Node { job: "j".into(), version, program, rank: Some(2), servers: vec!["a:1".into()], workers: Vec::new() }
    }

    #[test]
    fn a_seal_needs_the_token_and_what_was_said() {
        let text = sealed("a line", Some("secret"), "nonce");
        assert_eq!(open(&text, Some("secret"), "nonce").as_deref(), Some("a line"));
        for (token, said) in [(Some("other"), "nonce"), (None, "nonce"), (Some("secret"), "earlier")] {
            assert_eq!(open(&text, token, said), None, "{token:?} {said}");
        }
        assert_eq!(open(&text.replace("a line", "b line"), Some("secret"), "nonce"), None);
        assert_eq!(open(&sealed("a line", None, "nonce"), Some("secret"), "nonce"), None);
    }

    #[test]
    fn nodes_that_cannot_work_together_say_why() {
        assert_eq!(node("1", "p").differs(&node("1", "")), None);
        assert_eq!(
            node("1", "p").differs(&node("2", "p")).unwrap(),
            "it has Oarlock 2, and the node at the rendezvous point 1"
        );
        assert!(node("1", "p").differs(&node("1", "q")).unwrap().contains("fingerprint q"));
    }

    fn two_nodes(tokens: [Option<&str>; 2], programs: [&str; 2]) -> Vec<Result<Ask>> {
        let port = free_port();
        let start = |rank: usize| {
            let rendezvous = Rendezvous {
                master: format!("127.0.0.1:{port}"),
                nodes: 2,
                rank: Some(rank),
                job: "job".into(),
                patience: Duration::from_secs(2),
                token: tokens[rank].map(str::to_string),
                program: programs[rank].to_string(),
            };
            let node = Some(format!("127.0.0.{}", rank + 1));
            let ask = Ask { per_node: Some(1), node, ..Ask::default() };
            thread::sleep(Duration::from_millis(100));
            thread::spawn(move || gather_nodes(ask, &rendezvous))
        };
        let nodes: Vec<_> = (0..2).map(start).collect();
        nodes.into_iter().map(|node| node.join().unwrap()).collect()
    }

    #[test]
    fn nodes_form_a_job_with_one_token_and_one_program_only() {
        assert!(two_nodes([Some("secret"); 2], ["p"; 2]).iter().all(Result::is_ok));
        assert!(two_nodes([Some("secret"), None], ["p"; 2]).iter().all(Result::is_err));
        let refused = two_nodes([None; 2], ["p", "q"]).remove(1).unwrap_err();
        assert!(refused.report().what.contains("its program has the fingerprint q"), "{refused}");
    }

    /// One that the system gives to no other process soon.
    fn free_port() -> u16 {
        TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
    }

    /// Three nodes of one machine, told apart by their loopback addresses, that arrive in any order.
    #[test]
    fn nodes_agree_in_any_order() {
        for first in 0..3 {
            let port = free_port();
            let node = |turn: usize| {
                let rank = (first + turn) % 3;
                let rendezvous = Rendezvous {
                    master: format!("127.0.0.1:{port}"),
                    nodes: 3,
                    rank: Some(rank),
                    job: "job".into(),
                    patience: Duration::from_secs(30),
                    token: None,
                    program: String::new(),
                };
                let ask = Ask {
                    server_num: Some(1),
                    worker_num: Some(rank),
                    node: Some(format!("127.0.0.{}", rank + 1)),
                    ..Ask::default()
                };
                thread::sleep(Duration::from_millis(50));
                thread::spawn(move || (rank, plan(&gather_nodes(ask, &rendezvous).unwrap()).unwrap()))
            };
            let nodes: Vec<_> = (0..3).map(node).collect();
            for (rank, plan) in nodes.into_iter().map(|node| node.join().unwrap()) {
                let own: Vec<String> = plan.ranks.iter().map(|rank| rank.role.to_string()).collect();
                let expected: &[&str] =
                    [&["server 0"][..], &["server 1", "worker 0"], &["server 2", "worker 1", "worker 2"]][rank];
                assert_eq!(own, expected);
                assert_eq!(plan.ranks[0].workers, 3);
                assert!(plan.ranks[0].servers[2].starts_with("127.0.0.3:"));
            }
        }
    }

    #[test]
    fn a_node_that_never_comes_is_missed() {
        let port = free_port();
        let rendezvous = Rendezvous {
            master: format!("127.0.0.1:{port}"),
            nodes: 2,
            rank: None,
            job: String::new(),
            patience: Duration::from_millis(300),
            token: None,
            program: String::new(),
        };
        let e = gather_nodes(Ask { per_node: Some(1), ..Ask::default() }, &rendezvous).unwrap_err();
        assert_eq!(e.report().what, format!("1 of 2 nodes have come to 127.0.0.1:{port} in 0 s"));
    }
}
