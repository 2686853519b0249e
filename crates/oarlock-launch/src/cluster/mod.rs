//! The description of a job that each of its processes has: read from the environment variables that schedulers and launchers set, and
//! written as such.

mod environment;
#[cfg(test)]
mod tests;

use std::fmt;

use oarlock_ir::Result;

use super::var;
pub use environment::VARIABLES;
use environment::{JobVariables, MARKERS};

/// The role of a process in its job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Parameter server, with its index.
    Server(usize),
    /// Worker, with its index.
    Worker(usize),
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Role::Server(index) => write!(f, "server {index}"),
            Role::Worker(index) => write!(f, "worker {index}"),
        }
    }
}

/// The processes of a job, and the role of this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// `host:port` of each server; none in collective training.
    pub servers: Vec<String>,
    /// The number of workers.
    pub workers: usize,
    /// `host:port` of each worker; empty if it is not known.
    pub worker_endpoints: Vec<String>,
    /// `host:port` of the rendezvous of collective workers, if it is given instead of their endpoints.
    pub master: Option<String>,
    /// The role of this process.
    pub role: Role,
}

impl Cluster {
    /// Reads the environment of this process; `None` if it describes no job.
    pub fn from_env() -> Result<Option<Cluster>> {
        Cluster::parse(var)
    }

    /// Reads these variables; `None` if they describe no job. An empty variable counts as not set.
    pub fn parse(get: impl Fn(&str) -> Option<String>) -> Result<Option<Cluster>> {
        let found = JobVariables::new(get);
        if !MARKERS.iter().any(|name| found.has(name)) {
            return Ok(None);
        }
        found.cluster().map(Some).map_err(|e| found.explain(e))
    }

    /// The variables for a process of this job; [`Cluster::parse`] reads them back.
    pub fn emit(&self) -> Vec<(&'static str, String)> {
        let mut vars = vec![("PADDLE_TRAINERS_NUM", self.workers.to_string())];
        if !self.worker_endpoints.is_empty() {
            vars.push(("PADDLE_TRAINER_ENDPOINTS", self.worker_endpoints.join(",")));
        }
        let role = match self.role {
            Role::Server(_) => "PSERVER",
            Role::Worker(_) => "TRAINER",
        };
        vars.extend([("TRAINING_ROLE", role.to_string()), ("PADDLE_TRAINING_ROLE", role.to_string())]);
        match self.role {
            Role::Server(index) => {
                vars.push(("PADDLE_PSERVER_ID", index.to_string()));
                self.emit_place(self.servers.get(index), &mut vars);
            }
            Role::Worker(index) => {
                vars.push(("PADDLE_TRAINER_ID", index.to_string()));
                self.emit_place(self.worker_endpoints.get(index), &mut vars);
            }
        }
        if self.servers.is_empty() {
            self.emit_collective(&mut vars)
        } else {
            self.emit_servers(&mut vars)
        }
        vars
    }

    fn emit_place(&self, endpoint: Option<&String>, vars: &mut Vec<(&'static str, String)>) {
        let Some(endpoint) = endpoint else { return };
        vars.push(("PADDLE_CURRENT_ENDPOINT", endpoint.clone()));
        let (host, port) = split(endpoint);
        vars.extend([("POD_IP", host.to_string()), ("PADDLE_PORT", port.to_string())]);
    }

    /// For a job with servers: their list, and Fluid's older form of it, which can only say "one port on several hosts".
    fn emit_servers(&self, vars: &mut Vec<(&'static str, String)>) {
        vars.push(("PADDLE_PSERVERS_IP_PORT_LIST", self.servers.join(",")));
        vars.push(("PADDLE_TRAINERS", self.workers.to_string()));
        let (_, port) = split(&self.servers[0]);
        if self.servers.iter().all(|server| split(server).1 == port) {
            let hosts: Vec<&str> = self.servers.iter().map(|server| split(server).0).collect();
            vars.push(("PADDLE_PSERVER_IPS", hosts.join(",")));
            vars.push(("PADDLE_PSERVER_PORT", port.to_string()));
            if let Role::Server(index) = self.role {
                vars.push(("PADDLE_CURRENT_IP", hosts[index].to_string()));
            }
        }
    }

    fn emit_collective(&self, vars: &mut Vec<(&'static str, String)>) {
        if let Role::Worker(index) = self.role {
            vars.extend([("RANK", index.to_string()), ("WORLD_SIZE", self.workers.to_string())]);
        }
        if let Some(master) = &self.master {
            let (host, port) = split(master);
            vars.extend([("MASTER_ADDR", host.to_string()), ("MASTER_PORT", port.to_string())]);
        }
    }
}

/// Host and port of an endpoint; the port is empty if there is none.
pub(super) fn split(endpoint: &str) -> (&str, &str) {
    match endpoint.rsplit_once(':') {
        // The last part of an IPv6 address without brackets is no port.
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, port),
        _ => (endpoint, ""),
    }
}
