//! Reaching a peer: its addresses, and patience while it is not there yet.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use oarlock_ir::Error;
use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};
use tracing::{debug, trace};

use super::conn::Conn;
use super::endpoint::{Endpoint, device_addresses};
use super::handshake::Outcome;
use super::options::NetOptions;
use super::{fault, now};

/// Pauses between two attempts, growing from the first to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LAST_PAUSE: Duration = Duration::from_millis(500);

/// How long one attempt may take: a machine that drops packets must not use up all of the time.
const ATTEMPT: Duration = Duration::from_secs(5);

/// How long a name may be unknown: names of machines that are just being started appear a little later.
pub const UNKNOWN_NAME: Duration = Duration::from_secs(10);

/// Questions without an answer before the system gives a silent peer up.
const KEEPALIVE_PROBES: u32 = 3;

/// Connects, and tries again until the deadline while no process listens. See [`Conn::connect`].
pub(super) fn connect(text: &str, options: &NetOptions, deadline: Instant) -> std::result::Result<Conn, Failure> {
    let endpoint = Endpoint::parse(text, options).map_err(Failure::Final)?;
    let from = options.device.as_deref().map(device_addresses).transpose().map_err(Failure::Final)?;
    let start = now();
    let mut pause = FIRST_PAUSE;
    loop {
        let failure = match attempt(&endpoint, from.as_deref(), options, deadline) {
            Ok(conn) => {
                debug!(peer = conn.peer(), "connected");
                return Ok(conn);
            }
            Err(Failure::Unknown(e)) if now() >= start + UNKNOWN_NAME => return Err(Failure::Unknown(e)),
            Err(failure) => failure,
        };
        let left = deadline.saturating_duration_since(now());
        let tried = |e: Error| e.note(format!("tried for {:.1} s", start.elapsed().as_secs_f64()));
        match failure {
            Failure::Final(_) => return Err(failure),
            Failure::Unknown(e) if left <= pause => return Err(Failure::Unknown(tried(e))),
            Failure::Absent(e) if left <= pause => return Err(Failure::Absent(tried(e))),
            Failure::Unknown(e) | Failure::Absent(e) => trace!(peer = text, "not connected yet: {}", e.report().what),
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LAST_PAUSE);
    }
}

/// Does a process listen there? One that is too busy to answer does.
pub fn is_bound(text: &str, options: &NetOptions, deadline: Instant) -> bool {
    let Ok(endpoint) = Endpoint::parse(text, options) else { return false };
    let Ok(from) = options.device.as_deref().map(device_addresses).transpose() else { return false };
    let addresses = endpoint.resolve(deadline.saturating_duration_since(now()), options).unwrap_or_default();
    addresses.iter().any(|address| open(address, from.as_deref(), deadline).is_ok())
}

/// The reason why no peer was reached.
#[derive(Debug)]
pub enum Failure {
    /// Trying again cannot help.
    Final(Error),
    /// The name has no address, perhaps not yet.
    Unknown(Error),
    /// No process listens there, perhaps not yet.
    Absent(Error),
}

impl Failure {
    /// The error alone.
    pub fn into_error(self) -> Error {
        match self {
            Failure::Final(e) | Failure::Unknown(e) | Failure::Absent(e) => e,
        }
    }
}

fn attempt(
    endpoint: &Endpoint,
    from: Option<&[IpAddr]>,
    options: &NetOptions,
    deadline: Instant,
) -> std::result::Result<Conn, Failure> {
    let patience = deadline.saturating_duration_since(now()).min(UNKNOWN_NAME);
    let addresses = endpoint.resolve(patience, options).map_err(Failure::Unknown)?;
    let (socket, address) = reach(endpoint, &addresses, from, deadline)?;
    let peer = match address.ip().to_string() == endpoint.host {
        true => endpoint.to_string(),
        false => format!("{endpoint} ({address})"),
    };
    set_up(&socket, options).map_err(|e| Failure::Final(fault::broken("being set up", &peer, &e)))?;
    let mut conn = Conn::new(socket, Arc::from(peer), options);
    match conn.greet(endpoint, options, deadline) {
        Outcome::Known(hello) => {
            conn.known(hello);
            Ok(conn)
        }
        Outcome::Refused(e) => Err(Failure::Final(e)),
        Outcome::Gone(e) => Err(Failure::Absent(e)),
    }
}

/// A socket to the first address that answers.
fn reach(
    endpoint: &Endpoint,
    addresses: &[SocketAddr],
    from: Option<&[IpAddr]>,
    deadline: Instant,
) -> std::result::Result<(TcpStream, SocketAddr), Failure> {
    let mut failures = Vec::new();
    for address in addresses {
        match open(address, from, deadline) {
            Ok(socket) => return Ok((socket, *address)),
            Err(e) => failures.push(format!("{address}: {e}")),
        }
    }
    let text = format!("no connection to {endpoint}: {}", failures.join("; "));
    let help = "start the process that listens there, or check host, port and firewall";
    Err(Failure::Absent(fault::network(text).help(help)))
}

fn open(address: &SocketAddr, from: Option<&[IpAddr]>, deadline: Instant) -> io::Result<TcpStream> {
    let left = deadline.saturating_duration_since(now()).clamp(Duration::from_millis(1), ATTEMPT);
    let socket = Socket::new(Domain::for_address(*address), Type::STREAM, Some(Protocol::TCP))?;
    if let Some(from) = from {
        let own = from.iter().find(|own| own.is_ipv4() == address.is_ipv4());
        let own = own.ok_or_else(|| io::Error::other("the chosen network device has no address of this kind"))?;
        socket.bind(&SocketAddr::new(*own, 0).into())?;
    }
    socket.connect_timeout(&(*address).into(), left)?;
    let socket = TcpStream::from(socket);
    // While no process listens on a port of the range from which the system takes ports for connections, a connection can be given that
    // very port, and reach itself.
    if socket.local_addr()? == socket.peer_addr()? {
        return Err(ErrorKind::ConnectionRefused.into());
    }
    Ok(socket)
}

/// Sets the options of a socket, at either end.
pub(super) fn set_up(socket: &TcpStream, options: &NetOptions) -> io::Result<()> {
    socket.set_nodelay(true)?;
    if let Some(idle) = options.keepalive {
        let keepalive = TcpKeepalive::new()
            .with_time(idle)
            .with_interval((idle / 2).max(Duration::from_secs(1)))
            .with_retries(KEEPALIVE_PROBES);
        socket2::SockRef::from(socket).set_tcp_keepalive(&keepalive)?;
    }
    Ok(())
}

/// Asks every second whether the peer's machine is there, and gives up soon.
pub(super) fn watch_closely(socket: &TcpStream) -> io::Result<()> {
    let second = Duration::from_secs(1);
    let socket = socket2::SockRef::from(socket);
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(second).with_interval(second).with_retries(2))?;
    // The last message may be under way when the network fails: then no probe is sent, and this ends it.
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(UNREACHABLE))?;
    Ok(())
}

/// Between the first and the second time the system asks: what is unanswered for so long will not be answered.
#[cfg(target_os = "linux")]
const UNREACHABLE: Duration = Duration::from_millis(1800);
