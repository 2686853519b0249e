//! The settings of the wire, and the one place that reads them from the environment.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use oarlock_ir::{Error, Kind, Result};

/// The settings of connections and listeners.
#[derive(Clone)]
pub struct NetOptions {
    /// A secret that all processes of a job share (`OARLOCK_TOKEN`). It is never sent: each end proves that it knows it.
    pub token: Option<String>,
    /// Which job this process belongs to (`OARLOCK_JOB_ID`, `SYS_JOB_ID`): processes of different jobs that connect by mistake refuse each other.
    pub job: String,
    /// Lets a peer in that belongs to no job and says that it only reads ([`READS`]).
    pub lets_read: bool,
    /// The description of this process that each peer receives; the peer reads it with [`super::Conn::hello`].
    pub hello: Vec<u8>,
    /// Encrypts all traffic (`OARLOCK_TLS_CERT`, `OARLOCK_TLS_KEY`, `OARLOCK_TLS_CA`, `OARLOCK_TLS_NAME`).
    pub tls: Option<TlsFiles>,
    /// Bytes a frame may have (`OARLOCK_MAX_FRAME`).
    pub max_frame: u64,
    /// The network device to use (`OARLOCK_NET_DEVICE`): connections start from its address, and a listener on every address
    /// (`0.0.0.0`) listens on its address only.
    pub device: Option<String>,
    /// After so much silence the system asks whether the peer's machine is still there (`OARLOCK_NET_KEEPALIVE`, seconds; 0: never).
    pub keepalive: Option<Duration>,
    /// Send a checksum with each payload (`OARLOCK_NET_CHECKSUM`). Headers and metas always have one.
    pub checksum: bool,
    /// How long an unauthenticated peer may take to say who it is, and how long a peer may take to answer.
    pub handshake: Duration,
    /// Variables of the environment that hold endpoints, with their values: an error about an endpoint names the one it stands in.
    pub sources: Vec<(String, String)>,
}

/// The `hello` of a process that belongs to no job and only reads, such as a predictor.
pub const READS: &[u8] = b"reads";

/// The variables that say where the processes of a job listen; lists are separated by commas.
const ENDPOINTS: [&str; 7] = [
    "PADDLE_PSERVERS_IP_PORT_LIST",
    "PADDLE_PSERVERS",
    "PADDLE_PSERVER_IPS",
    "PADDLE_TRAINER_ENDPOINTS",
    "PADDLE_CURRENT_ENDPOINT",
    "POD_IP",
    "PADDLE_MASTER",
];

/// The files of TLS, in PEM form. Both ends show a certificate and check the other's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// This process's certificate, with those that lead to the authority's.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The certificates of the authorities that vouch for peers. Without: `cert`, which then must be the same everywhere.
    pub ca: Option<PathBuf>,
    /// The name that a server's certificate must be made out to. Without: the host of its endpoint.
    pub name: Option<String>,
}

impl Default for NetOptions {
    fn default() -> NetOptions {
        NetOptions {
            token: None,
            job: String::new(),
            lets_read: false,
            hello: Vec::new(),
            tls: None,
            max_frame: 1 << 30,
            device: None,
            keepalive: Some(Duration::from_secs(10)),
            checksum: true,
            handshake: Duration::from_secs(10),
            sources: Vec::new(),
        }
    }
}

/// Says whether there is a token, not which.
impl fmt::Debug for NetOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NetOptions")
            .field("token", &self.token.as_ref().map(|_| "secret"))
            .field("job", &self.job)
            .field("hello", &self.hello.len())
            .field("tls", &self.tls)
            .field("max_frame", &self.max_frame)
            .field("device", &self.device)
            .field("keepalive", &self.keepalive)
            .field("checksum", &self.checksum)
            .field("handshake", &self.handshake)
            .field("sources", &self.sources)
            .finish()
    }
}

impl NetOptions {
    /// As the environment says.
    #[expect(clippy::disallowed_methods, reason = "the one place of this crate that reads the environment")]
    pub fn from_env() -> Result<NetOptions> {
        NetOptions::from_vars(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    /// As these variables say; an empty one counts as not set.
    fn from_vars(get: impl Fn(&str) -> Option<String>) -> Result<NetOptions> {
        let get = |name: &str| get(name).filter(|value| !value.trim().is_empty());
        let mut options = NetOptions {
            token: get("OARLOCK_TOKEN"),
            job: get("OARLOCK_JOB_ID").or_else(|| get("SYS_JOB_ID")).unwrap_or_default(),
            tls: tls_files(get)?,
            device: get("OARLOCK_NET_DEVICE"),
            sources: ENDPOINTS.iter().filter_map(|name| Some(((*name).to_owned(), get(name)?))).collect(),
            ..NetOptions::default()
        };
        if let Some(value) = get("OARLOCK_MAX_FRAME") {
            options.max_frame = number("OARLOCK_MAX_FRAME", &value, "a number of bytes above 4096", |n| n > 4096)?;
        }
        if let Some(value) = get("OARLOCK_NET_KEEPALIVE") {
            let seconds = number("OARLOCK_NET_KEEPALIVE", &value, "a number of seconds up to 32767", |n| n < 32_768)?;
            options.keepalive = (seconds > 0).then(|| Duration::from_secs(seconds));
        }
        if let Some(value) = get("OARLOCK_NET_CHECKSUM") {
            options.checksum = number("OARLOCK_NET_CHECKSUM", &value, "0 or 1", |n| n < 2)? == 1;
        }
        Ok(options)
    }
}

fn tls_files(get: impl Fn(&str) -> Option<String>) -> Result<Option<TlsFiles>> {
    let (cert, key) = (get("OARLOCK_TLS_CERT"), get("OARLOCK_TLS_KEY"));
    let (ca, name) = (get("OARLOCK_TLS_CA"), get("OARLOCK_TLS_NAME"));
    match (cert, key) {
        (Some(cert), Some(key)) => {
            Ok(Some(TlsFiles { cert: cert.into(), key: key.into(), ca: ca.map(PathBuf::from), name }))
        }
        (None, None) if ca.is_none() && name.is_none() => Ok(None),
        (cert, _) => {
            let missing = if cert.is_none() { "OARLOCK_TLS_CERT" } else { "OARLOCK_TLS_KEY" };
            Err(Error::new(Kind::Argument, format!("TLS is asked for, but {missing} is not set"))
                .help("set both OARLOCK_TLS_CERT and OARLOCK_TLS_KEY to PEM files, or no variable of TLS"))
        }
    }
}

fn number(name: &str, value: &str, wanted: &str, good: impl Fn(u64) -> bool) -> Result<u64> {
    match value.trim().parse::<u64>() {
        Ok(n) if good(n) => Ok(n),
        _ => Err(Error::new(Kind::Argument, format!("{name} must be {wanted}, but it is {value:?}"))
            .help(format!("unset {name} to use the default"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(vars: &[(&str, &str)]) -> Result<NetOptions> {
        NetOptions::from_vars(|name| vars.iter().find(|(n, _)| *n == name).map(|(_, value)| value.to_string()))
    }

    #[test]
    fn variables_are_read_and_checked() {
        let defaults = read(&[("OARLOCK_TOKEN", "")]).unwrap();
        assert_eq!((defaults.max_frame, defaults.token, defaults.checksum), (1 << 30, None, true));
        let set = read(&[
            ("OARLOCK_TOKEN", "hush"),
            ("SYS_JOB_ID", "j1"),
            ("OARLOCK_MAX_FRAME", "1000000"),
            ("OARLOCK_NET_KEEPALIVE", "0"),
            ("OARLOCK_NET_CHECKSUM", "0"),
            ("OARLOCK_TLS_CERT", "c.pem"),
            ("OARLOCK_TLS_KEY", "k.pem"),
        ])
        .unwrap();
        assert_eq!((set.token.as_deref(), set.job.as_str(), set.max_frame), (Some("hush"), "j1", 1_000_000));
        assert_eq!((set.keepalive, set.checksum), (None, false));
        assert_eq!(set.tls.clone().unwrap().cert, PathBuf::from("c.pem"));
        assert!(!format!("{set:?}").contains("hush"));
        assert!(read(&[("POD_IP", "10.0.0.5")]).unwrap().sources == [("POD_IP".to_string(), "10.0.0.5".to_string())]);
        let e = read(&[("OARLOCK_MAX_FRAME", "1GB")]).unwrap_err();
        assert_eq!(
            e.to_string(),
            "error[argument]: OARLOCK_MAX_FRAME must be a number of bytes above 4096, but it is \"1GB\"\n  \
             help: unset OARLOCK_MAX_FRAME to use the default"
        );
        assert!(read(&[("OARLOCK_TLS_CA", "ca.pem")]).unwrap_err().to_string().contains("OARLOCK_TLS_CERT is not set"));
        assert!(read(&[("OARLOCK_NET_CHECKSUM", "yes")]).is_err());
    }
}
