//! The options of a server.

use std::time::Duration;

use oarlock_net::NetOptions;

use super::{LogOptions, Policy};

/// The options of a server, besides those in its program.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Where to listen; the program's endpoint if not given. Port 0 takes a free one.
    pub endpoint: Option<String>,
    /// Sockets.
    pub net: NetOptions,
    /// The fingerprint of the program; trainers of another are refused. Empty: not compared.
    pub fingerprint: String,
    /// The reaction to the loss of a trainer.
    pub policy: Policy,
    /// How long a step may wait for a trainer.
    pub deadline: Duration,
    /// After how long without a heartbeat a trainer is lost whose connection stands: it is stopped, or its machine is too busy.
    pub silence: Duration,
    /// Keep serving when every trainer has left.
    pub stay: bool,
    /// Where to keep the log of the server; none keeps none.
    pub log: Option<LogOptions>,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            endpoint: None,
            net: NetOptions::default(),
            fingerprint: String::new(),
            policy: Policy::Fail,
            deadline: Duration::from_secs(180),
            silence: Duration::from_secs(20),
            stay: false,
            log: None,
        }
    }
}
