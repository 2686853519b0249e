//! The environment variables that describe a job, of Paddle and of other launchers and schedulers.

use std::collections::BTreeMap;
use std::fmt;

use oarlock_ir::{Error, Kind, Result};

use super::{Cluster, Role, split};
use crate::list;

/// The variables that describe a job: they are read, shown in errors, and not passed on to processes of another job.
pub const VARIABLES: [&str; 33] = [
    "TRAINING_ROLE",
    "PADDLE_TRAINING_ROLE",
    "PADDLE_ROLE",
    "PADDLE_PSERVERS_IP_PORT_LIST",
    "PADDLE_PSERVER_IPS",
    "PADDLE_PSERVER_PORT",
    "PADDLE_PSERVER_ID",
    "PADDLE_TRAINERS_NUM",
    "PADDLE_TRAINERS",
    "PADDLE_NUM_TRAINERS",
    "PADDLE_TRAINER_ID",
    "PADDLE_TRAINER_ENDPOINTS",
    "DISTRIBUTED_TRAINER_ENDPOINTS",
    "PADDLE_TRAINER_IPS",
    "PADDLE_CURRENT_ENDPOINT",
    "PADDLE_CURRENT_IP",
    "POD_IP",
    "PADDLE_PORT",
    "TRAINER_PORTS_NUM",
    "PADDLE_MASTER",
    "PADDLE_NNODES",
    "PADDLE_SERVER_NUM",
    "PADDLE_TRAINER_NUM",
    "RANK",
    "WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "PMI_RANK",
    "PMI_SIZE",
    "PMIX_RANK",
    "LOCAL_RANK",
];

/// Any one of these means that there is a job. (`POD_IP` and `PADDLE_PORT` alone are the address of a process.)
pub(super) const MARKERS: [&str; 13] = [
    "TRAINING_ROLE",
    "PADDLE_TRAINING_ROLE",
    "PADDLE_ROLE",
    "PADDLE_PSERVERS_IP_PORT_LIST",
    "PADDLE_PSERVER_IPS",
    "PADDLE_TRAINERS_NUM",
    "PADDLE_TRAINER_ENDPOINTS",
    "DISTRIBUTED_TRAINER_ENDPOINTS",
    "PADDLE_TRAINER_IPS",
    "PADDLE_MASTER",
    "WORLD_SIZE",
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
];

/// The port of servers whose list gives none, as in the tables of Fluid's manual.
const SERVER_PORT: &str = "6174";

/// The variables of a job that are set.
pub(super) struct JobVariables(BTreeMap<&'static str, String>);

/// A value, and the variable that gave it.
type From<T> = (&'static str, T);

impl JobVariables {
    pub(super) fn new(get: impl Fn(&str) -> Option<String>) -> JobVariables {
        let set = |name: &'static str| Some((name, get(name).filter(|value| !value.trim().is_empty())?));
        JobVariables(VARIABLES.into_iter().filter_map(set).collect())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    fn text(&self, name: &'static str) -> Option<From<String>> {
        self.0.get(name).map(|value| (name, value.trim().to_string()))
    }

    fn number(&self, name: &'static str) -> Result<Option<From<usize>>> {
        let Some((_, text)) = self.text(name) else { return Ok(None) };
        match text.parse() {
            Ok(number) => Ok(Some((name, number))),
            Err(_) => Err(Error::new(Kind::Argument, format!("{name} must be a number, but it is {text:?}"))),
        }
    }

    fn endpoints(&self, name: &'static str) -> Result<Option<From<Vec<String>>>> {
        let Some((_, text)) = self.text(name) else { return Ok(None) };
        let endpoints = list(&text);
        match endpoints.iter().find(|endpoint| split(endpoint).1.parse::<u16>().is_err()) {
            None => Ok(Some((name, endpoints))),
            Some(bad) => Err(Error::new(Kind::Argument, format!("{name}: {bad:?} is no host:port"))),
        }
    }

    /// Hosts of one variable with the port of another.
    fn hosts(&self, name: &'static str) -> Option<From<Vec<String>>> {
        let (_, text) = self.text(name)?;
        let port = self.text("PADDLE_PSERVER_PORT").map_or(SERVER_PORT.to_string(), |(_, port)| port);
        Some((name, list(&text).iter().map(|host| format!("{host}:{port}")).collect()))
    }

    pub(super) fn cluster(&self) -> Result<Cluster> {
        let servers =
            one("the servers", [self.endpoints("PADDLE_PSERVERS_IP_PORT_LIST")?, self.hosts("PADDLE_PSERVER_IPS")])?;
        match servers {
            Some((name, servers)) => self.with_servers(name, servers),
            None => self.collective(),
        }
    }

    fn with_servers(&self, name: &'static str, servers: Vec<String>) -> Result<Cluster> {
        distinct(name, &servers)?;
        let worker_endpoints = self.worker_endpoints()?;
        let Some((_, workers)) = self.workers(worker_endpoints.as_deref())? else {
            return Err(missing("how many workers there are", "PADDLE_TRAINERS_NUM"));
        };
        let role = match self.role()? {
            None => return Err(missing("whether this is a server or a worker", "TRAINING_ROLE")),
            Some((_, "PSERVER")) => Role::Server(self.server_index(&servers)?),
            Some(_) => Role::Worker(self.worker_index(workers)?),
        };
        Ok(Cluster { servers, workers, worker_endpoints: worker_endpoints.unwrap_or_default(), master: None, role })
    }

    /// A job without servers.
    fn collective(&self) -> Result<Cluster> {
        if let Some((name, "PSERVER")) = self.role()? {
            let what = format!("{name} says that this is a server, but the list of servers is not set");
            return Err(Error::new(Kind::Argument, what).help("set PADDLE_PSERVERS_IP_PORT_LIST"));
        }
        let worker_endpoints = self.worker_endpoints()?;
        let Some((_, workers)) = self.workers(worker_endpoints.as_deref())? else {
            if self.has("PADDLE_MASTER") {
                return Err(Error::new(Kind::Argument, "the environment describes a node, not a process").help(
                    "let `oarlock launch` start the program: it agrees with the other nodes on the processes of each",
                ));
            }
            return Err(missing("how many workers there are", "PADDLE_TRAINER_ENDPOINTS or PADDLE_TRAINERS_NUM"));
        };
        let role = Role::Worker(self.worker_index(workers)?);
        let master = match (self.text("MASTER_ADDR"), self.text("MASTER_PORT")) {
            (Some((_, host)), Some((_, port))) => Some(format!("{host}:{port}")),
            _ => None,
        };
        Ok(Cluster {
            servers: Vec::new(),
            workers,
            worker_endpoints: worker_endpoints.unwrap_or_default(),
            master,
            role,
        })
    }

    /// `PSERVER` or `TRAINER`.
    fn role(&self) -> Result<Option<From<&'static str>>> {
        let read = |name| {
            let Some((_, text)) = self.text(name) else { return Ok(None) };
            match text.to_ascii_uppercase().as_str() {
                "PSERVER" | "SERVER" | "PS" => Ok(Some((name, "PSERVER"))),
                "TRAINER" | "WORKER" => Ok(Some((name, "TRAINER"))),
                _ => Err(Error::new(Kind::Argument, format!("{name} must be TRAINER or PSERVER, but it is {text:?}"))),
            }
        };
        one("the role", [read("TRAINING_ROLE")?, read("PADDLE_TRAINING_ROLE")?, read("PADDLE_ROLE")?])
    }

    fn worker_endpoints(&self) -> Result<Option<Vec<String>>> {
        let lists = [
            self.endpoints("PADDLE_TRAINER_ENDPOINTS")?,
            self.endpoints("DISTRIBUTED_TRAINER_ENDPOINTS")?,
            self.hosts("PADDLE_TRAINER_IPS"),
        ];
        let Some((name, endpoints)) = one("the workers", lists)? else { return Ok(None) };
        distinct(name, &endpoints)?;
        Ok(Some(endpoints))
    }

    /// How many workers there are. Paddle's variables come before those of others, which may tell of something around the job.
    fn workers(&self, endpoints: Option<&[String]>) -> Result<Option<From<usize>>> {
        // A number in Fluid's manual, a list of hosts on PaddleCloud.
        let trainers =
            self.text("PADDLE_TRAINERS").map(|(name, text)| (name, text.parse().unwrap_or(list(&text).len())));
        let paddle = [
            self.number("PADDLE_TRAINERS_NUM")?,
            endpoints.map(|endpoints| ("the list of their endpoints", endpoints.len())),
            trainers,
            self.number("PADDLE_NUM_TRAINERS")?,
        ];
        let workers = match one("the number of workers", paddle)? {
            Some(workers) => Some(workers),
            None => first([self.number("WORLD_SIZE")?, self.number("OMPI_COMM_WORLD_SIZE")?, self.number("PMI_SIZE")?]),
        };
        match workers {
            Some((name, 0)) => Err(Error::new(Kind::Argument, format!("{name} says that there are no workers"))),
            workers => Ok(workers),
        }
    }

    fn worker_index(&self, workers: usize) -> Result<usize> {
        let sources = ["PADDLE_TRAINER_ID", "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"];
        let numbers = sources.map(|name| self.number(name)).into_iter().collect::<Result<Vec<_>>>()?;
        match first(numbers) {
            Some((_, index)) if index < workers => Ok(index),
            Some((name, index)) => {
                let what = format!("{name} is {index}, but there are {workers} workers, counted from 0");
                Err(Error::new(Kind::Argument, what))
            }
            None if workers == 1 => Ok(0),
            None => Err(missing("which worker this is", "PADDLE_TRAINER_ID")),
        }
    }

    fn server_index(&self, servers: &[String]) -> Result<usize> {
        let position = |name, endpoint: String| match servers.iter().position(|server| *server == endpoint) {
            Some(index) => Ok(Some((name, index))),
            None => Err(Error::new(Kind::Argument, format!("{name}: {endpoint} is not in the list of servers"))),
        };
        let joined = |host, port| match (self.text(host), self.text(port)) {
            (Some((name, host)), Some((_, port))) => position(name, format!("{host}:{port}")),
            _ => Ok(None),
        };
        let sources = [
            self.number("PADDLE_PSERVER_ID")?,
            self.text("PADDLE_CURRENT_ENDPOINT").map_or(Ok(None), |(name, endpoint)| position(name, endpoint))?,
            joined("POD_IP", "PADDLE_PORT")?,
            joined("PADDLE_CURRENT_IP", "PADDLE_PSERVER_PORT")?,
        ];
        match one("which server this is", sources)? {
            Some((_, index)) if index < servers.len() => Ok(index),
            Some((name, index)) => {
                let what =
                    format!("{name} says server {index}, but there are {} servers, counted from 0", servers.len());
                Err(Error::new(Kind::Argument, what))
            }
            None => Err(missing("which server this is", "POD_IP and PADDLE_PORT, or PADDLE_PSERVER_ID")),
        }
    }

    /// Adds the variables that are set to an error.
    pub(super) fn explain(&self, error: Error) -> Error {
        let found: Vec<String> = self.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let error = error.note(format!("found in the environment: {}", found.join(" ")));
        match error.report().help {
            Some(_) => error,
            None => error.help("let `oarlock launch` start the processes: it sets all variables"),
        }
    }
}

fn missing(what: &str, names: &str) -> Error {
    Error::new(Kind::Argument, format!("the environment does not say {what}: {names} is not set"))
        .help(format!("set {names}, or let `oarlock launch` start the processes"))
}

/// The first that is set.
fn first<T>(values: impl IntoIterator<Item = Option<From<T>>>) -> Option<From<T>> {
    values.into_iter().flatten().next()
}

/// The first that is set; all that are set must agree.
fn one<T: PartialEq + fmt::Debug>(
    what: &str,
    values: impl IntoIterator<Item = Option<From<T>>>,
) -> Result<Option<From<T>>> {
    let mut values = values.into_iter().flatten();
    let Some((name, value)) = values.next() else { return Ok(None) };
    for (other, differs) in values {
        if differs != value {
            let what =
                format!("the environment contradicts itself about {what}: {name} gives {value:?}, {other} {differs:?}");
            return Err(Error::new(Kind::Argument, what));
        }
    }
    Ok(Some((name, value)))
}

fn distinct(name: &str, endpoints: &[String]) -> Result<()> {
    match endpoints.iter().enumerate().find(|(i, endpoint)| endpoints[..*i].contains(endpoint)) {
        None => Ok(()),
        Some((_, twice)) => Err(Error::new(Kind::Argument, format!("{name} has {twice} twice"))),
    }
}
