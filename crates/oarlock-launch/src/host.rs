//! This host: its addresses and its ports.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, ToSocketAddrs};

use oarlock_ir::{Error, Kind, Result};

use super::cluster::split;

/// Ports below those that the system gives to outgoing connections: one of these cannot be taken by a connection between the
/// moment it is found free and the moment a server listens on it.
const PORTS: std::ops::Range<u16> = 12_000..32_000;

/// The addresses of this machine.
pub(super) fn addresses() -> Result<Vec<IpAddr>> {
    let devices = oarlock_sys::network_devices()
        .map_err(|e| Error::new(Kind::Io, format!("the network devices of this machine cannot be listed: {e}")))?;
    Ok(devices.into_iter().map(|(_, address)| address).collect())
}

/// The address of a network device of this machine; one that is not known is answered with those that are.
pub fn device_address(device: &str) -> Result<IpAddr> {
    let devices = oarlock_sys::network_devices()
        .map_err(|e| Error::new(Kind::Io, format!("the network devices of this machine cannot be listed: {e}")))?;
    let mut own = devices.iter().filter(|(name, _)| name == device).map(|(_, address)| *address);
    let first = own.clone().find(IpAddr::is_ipv4).or_else(|| own.next());
    first.ok_or_else(|| {
        let found: Vec<String> = devices.iter().map(|(name, address)| format!("{name} ({address})")).collect();
        Error::new(Kind::Argument, format!("this machine has no network device {device:?} with an address"))
            .note(format!("it has {}", found.join(", ")))
            .help("give one of these to --iface (or NCCL_SOCKET_IFNAME), or none to let the system choose")
    })
}

/// The addresses of a host. Asking the system's resolver may take a while.
pub(super) fn resolve(host: &str) -> io::Result<Vec<IpAddr>> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    Ok((bare, 0u16).to_socket_addrs()?.map(|address| address.ip()).collect())
}

/// Whether a host, as it is written in a list, is this machine, which has the addresses `own`.
pub(super) fn is_here(host: &str, own: &[IpAddr]) -> bool {
    // A name that does not resolve is not ours; the process that must reach that host reports it.
    resolve(host).is_ok_and(|found| found.iter().any(|ip| ip.is_loopback() || own.contains(ip)))
}

/// Free ports for processes that will listen on `host`, all different, and none of `taken`.
pub(super) fn free_ports(host: &str, count: usize, taken: &[u16]) -> Result<Vec<u16>> {
    let ip = resolve(host).ok().and_then(|found| found.first().copied()).unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    // Launchers that start at the same time look at different places; hash maps know where to get a random number.
    let offset = RandomState::new().build_hasher().finish() as usize % PORTS.len();
    let candidates = PORTS.cycle().skip(offset).take(PORTS.len()).filter(|port| !taken.contains(port));
    let free: Vec<u16> = candidates.filter(|port| bind(SocketAddr::new(ip, *port)).is_ok()).take(count).collect();
    if free.len() < count {
        let what = format!("{count} free ports are needed on {host}, but only {} were found", free.len());
        return Err(Error::new(Kind::Network, what).help("name ports with --servers, or a first one with --start-port"));
    }
    Ok(free)
}

/// Takes a port for a moment.
fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(address)
}

/// Why a process of this machine could not listen on this endpoint, and what to do.
pub(super) fn cannot_listen(endpoint: &str) -> Option<Error> {
    let (host, port) = split(endpoint);
    let fault = |why: String, help: &str| {
        Some(Error::new(Kind::Network, format!("cannot listen on {endpoint}: {why}")).help(help))
    };
    let Ok(port) = port.parse::<u16>() else {
        return fault("it has no port".into(), "write host:port");
    };
    let ip = match resolve(host).map(|found| found.first().copied()) {
        Ok(Some(ip)) => ip,
        Ok(None) => return fault("the host has no address".into(), "check the name with `getent hosts NAME`"),
        Err(e) => return fault(format!("the host is unknown ({e})"), "check the name with `getent hosts NAME`"),
    };
    match bind(SocketAddr::new(ip, port)) {
        Ok(_) => None,
        Err(e) if e.kind() == ErrorKind::AddrInUse => fault(
            "another process has this port".into(),
            "end that process, choose other ports, or name none: free ones are then picked",
        ),
        Err(e) if e.kind() == ErrorKind::AddrNotAvailable => {
            fault("this machine does not have that address".into(), "use an address of this machine (`ip address`)")
        }
        Err(e) => fault(e.to_string(), "check host and port"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_recognized() {
        let own = addresses().unwrap();
        assert!(is_here("127.0.0.1", &own) && is_here("127.0.0.2", &own) && is_here("localhost", &own));
        assert!(is_here("[::1]", &own));
        assert!(!is_here("192.0.2.1", &own) && !is_here("no-such-host.invalid", &own));
    }

    #[test]
    fn free_ports_differ_and_can_be_listened_on() {
        let ports = free_ports("127.0.0.1", 3, &[]).unwrap();
        assert!(ports[0] != ports[1] && ports[1] != ports[2] && ports[0] != ports[2]);
        let taken = bind(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), ports[0])).unwrap();
        let endpoint = taken.local_addr().unwrap().to_string();
        let e = cannot_listen(&endpoint).unwrap().to_string();
        assert!(e.contains("another process has this port"), "{e}");
        assert!(!free_ports("127.0.0.1", 3, &[ports[1]]).unwrap().iter().any(|p| ports[..2].contains(p)));
        assert!(cannot_listen("192.0.2.1:80").unwrap().to_string().contains("does not have that address"));
    }
}
