//! From `host:port` to addresses.

use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use oarlock_ir::{Error, Kind, Result};

use super::fault;
use super::options::NetOptions;

/// A host, by name or address, and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Endpoint {
    /// Without the brackets of an IPv6 address.
    pub(super) host: String,
    pub(super) port: u16,
}

impl Endpoint {
    /// Reads `host:port` or `[ipv6]:port`.
    pub(super) fn parse(text: &str, options: &NetOptions) -> Result<Endpoint> {
        let bad = |why: &str| {
            Error::new(Kind::Argument, format!("the endpoint {text:?}{} {why}", origin(text, options)))
                .help("write host:port, for example ps0:6174, 10.0.0.5:6174 or [::1]:6174")
        };
        let (host, port) = text.trim().rsplit_once(':').ok_or_else(|| bad("has no port"))?;
        let host = match host.strip_prefix('[').map(|rest| rest.strip_suffix(']')) {
            Some(Some(inner)) => inner,
            Some(None) => return Err(bad("has a [ without ]")),
            None if host.contains(':') => return Err(bad("has an IPv6 address without brackets")),
            None => host,
        };
        if host.is_empty() {
            return Err(bad("has no host"));
        }
        let port = port.parse().map_err(|_| bad("has a port that is not a number up to 65535"))?;
        Ok(Endpoint { host: host.to_owned(), port })
    }

    /// Its addresses. A name is asked for in a thread of its own: the system's resolver knows no deadline.
    pub(super) fn resolve(&self, patience: Duration, options: &NetOptions) -> Result<Vec<SocketAddr>> {
        if let Ok(ip) = self.host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(ip, self.port)]);
        }
        let (send, answer) = mpsc::channel();
        let asked = (self.host.clone(), self.port);
        thread::spawn(move || {
            // If no caller waits any more, none needs the answer.
            let _ = send.send(asked.to_socket_addrs().map(Vec::from_iter));
        });
        let why = match answer.recv_timeout(patience) {
            Ok(Ok(addresses)) if !addresses.is_empty() => return Ok(addresses),
            Ok(Ok(_)) => "it has no address".to_owned(),
            Ok(Err(e)) => e.to_string(),
            Err(_) => format!("no answer within {:.1} s", patience.as_secs_f64()),
        };
        let from = origin(&self.host, options);
        Err(fault::network(format!("the host {:?} of the endpoint {self}{from} cannot be resolved: {why}", self.host))
            .help("check the name; it must be known on this machine (try `getent hosts NAME`)"))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// The variable of the environment that an endpoint or host stands in, if it stands in one.
fn origin(text: &str, options: &NetOptions) -> String {
    let is_it = |item: &str| item == text || item.strip_prefix(text).is_some_and(|rest| rest.starts_with(':'));
    let holds = |value: &str| value.split(',').any(|item| is_it(item.trim()));
    let found = options.sources.iter().find(|(_, value)| holds(value));
    found.map_or(String::new(), |(name, _)| format!(" (from {name})"))
}

/// The addresses of the chosen device.
pub(super) fn device_addresses(device: &str) -> Result<Vec<IpAddr>> {
    let all = oarlock_sys::network_devices()
        .map_err(|e| Error::new(Kind::Io, format!("the network devices of this machine cannot be listed: {e}")))?;
    let own: Vec<IpAddr> = all.iter().filter(|(name, _)| name == device).map(|(_, address)| *address).collect();
    if own.is_empty() {
        let list: Vec<String> = all.iter().map(|(name, address)| format!("{name} ({address})")).collect();
        return Err(Error::new(
            Kind::Argument,
            format!("this machine has no network device {device:?} with an address"),
        )
        .note(format!("it has {}", list.join(", ")))
        .help("set OARLOCK_NET_DEVICE to one of these, or unset it to let the system choose"));
    }
    Ok(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Endpoint> {
        let list = "a:1, ps0,ps0:99999,:80,::1:80,[::1:80".to_string();
        Endpoint::parse(text, &NetOptions { sources: vec![("PADDLE_PSERVERS".into(), list)], ..NetOptions::default() })
    }

    #[test]
    fn endpoints_are_read() {
        assert_eq!(parse("ps0:6174").unwrap(), Endpoint { host: "ps0".into(), port: 6174 });
        assert_eq!(parse("[::1]:80").unwrap().to_string(), "[::1]:80");
        for (text, why) in [
            ("ps0", "has no port"),
            ("ps0:99999", "has a port that"),
            (":80", "has no host"),
            ("::1:80", "without brackets"),
            ("[::1:80", "without ]"),
        ] {
            let e = parse(text).unwrap_err().to_string();
            assert!(e.contains(why) && e.contains("(from PADDLE_PSERVERS)"), "{e}");
        }
        let e = parse("written-in-a-script").unwrap_err().to_string();
        assert!(e.contains("has no port") && !e.contains("(from"), "{e}");
    }

    #[test]
    fn unknown_devices_are_answered_with_the_known() {
        let e = device_addresses("nope0").unwrap_err().to_string();
        assert!(e.contains("no network device \"nope0\"") && e.contains("127.0.0.1"), "{e}");
        assert!(!device_addresses("lo").unwrap().is_empty());
    }
}
