//! Waiting for peers.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use oarlock_ir::{Error, Kind, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{Domain, Protocol, Socket, Type};

use super::conn::Conn;
use super::connect::set_up;
use super::endpoint::{Endpoint, device_addresses};
use super::fault;
use super::options::NetOptions;
use super::secure;

/// How often a waiting listener looks whether it should stop.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// How long the name of this machine may take to resolve.
const RESOLVE: Duration = Duration::from_secs(10);

/// Connections the system keeps for us until they are accepted.
const BACKLOG: i32 = 1024;

/// A port on which peers connect.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    endpoint: String,
    options: Arc<NetOptions>,
}

impl Listener {
    /// Listens on `host:port`, on port 0 on any free one.
    pub fn bind(endpoint: &str, options: &NetOptions) -> Result<Listener> {
        let mut endpoint = Endpoint::parse(endpoint, options)?;
        restrict(&mut endpoint, options)?;
        options.tls.as_ref().map_or(Ok(()), secure::check)?;
        let addresses = endpoint.resolve(RESOLVE, options)?;
        let mut failure = ErrorKind::AddrNotAvailable.into();
        for address in addresses {
            match listen(&address) {
                Ok(socket) => {
                    endpoint.port = socket.local_addr().map_err(|e| cannot_listen(&endpoint, &e))?.port();
                    return Ok(Listener { socket, endpoint: endpoint.to_string(), options: Arc::new(options.clone()) });
                }
                Err(e) => failure = e,
            }
        }
        Err(cannot_listen(&endpoint, &failure))
    }

    /// Where it listens: the host as it was given, the actual port.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Waits for a peer; `None` soon after `stop` was set. Who the peer is, is found out when the connection is first used.
    pub fn accept(&self, stop: &AtomicBool) -> Result<Option<Conn>> {
        while !stop.load(Ordering::Acquire) {
            match self.next() {
                Ok(Some(conn)) => return Ok(Some(conn)),
                Ok(None) => {}
                // The peer gave up before it was accepted.
                Err(e) if matches!(e.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) => {}
                Err(e) => {
                    return Err(fault::network(format!("{} can accept no connection: {e}", self.endpoint))
                        .help("if files are exhausted, raise their number with `ulimit -n`"));
                }
            }
        }
        Ok(None)
    }

    /// A peer, if one comes soon.
    fn next(&self) -> io::Result<Option<Conn>> {
        match poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&LOOK)) {
            Ok(0) => return Ok(None),
            Err(e) if e != rustix::io::Errno::INTR => return Err(e.into()),
            _ => {}
        }
        match self.socket.accept() {
            Ok((socket, address)) => {
                // Some systems let it inherit from the listener, which does not block.
                socket.set_nonblocking(false)?;
                set_up(&socket, &self.options)?;
                Ok(Some(Conn::accepted(socket, Arc::from(address.to_string()), &self.options)))
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
            Err(e) => Err(e),
        }
    }
}

/// With a device, "every address" means every address of the device, of which the first is taken.
fn restrict(endpoint: &mut Endpoint, options: &NetOptions) -> Result<()> {
    let Some(device) = &options.device else { return Ok(()) };
    let own = device_addresses(device)?;
    if let Ok(ip) = endpoint.host.parse::<IpAddr>()
        && ip.is_unspecified()
        && let Some(first) = own.iter().find(|own| own.is_ipv4() == ip.is_ipv4())
    {
        endpoint.host = first.to_string();
    }
    Ok(())
}

fn listen(address: &SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(*address), Type::STREAM, Some(Protocol::TCP))?;
    // A server that is started again gets its port back at once, although the system still remembers connections of the last one.
    socket.set_reuse_address(true)?;
    socket.bind(&(*address).into())?;
    socket.listen(BACKLOG)?;
    let socket = TcpListener::from(socket);
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn cannot_listen(endpoint: &Endpoint, e: &io::Error) -> Error {
    let (why, help) = match e.kind() {
        ErrorKind::AddrInUse => {
            ("another process has this port".to_owned(), "end that process, or choose another port")
        }
        ErrorKind::AddrNotAvailable => {
            ("this machine does not have that address".to_owned(), "use a name or address of this machine, or 0.0.0.0")
        }
        ErrorKind::PermissionDenied => (e.to_string(), "use a port above 1023"),
        _ => (e.to_string(), "check host and port"),
    };
    Error::new(Kind::Network, format!("cannot listen on {endpoint}: {why}")).help(help)
}
