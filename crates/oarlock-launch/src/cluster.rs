//! What a process knows of its job, as a value: read from the variables that schedulers and launchers set, and written as them.

use std::collections::BTreeMap;
use std::fmt;

use oarlock_ir::{Error, Kind, Result};

use super::{list, var};

/// What a process does in its job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Keeps parameters; its place among the servers.
    Server(usize),
    /// Trains; its place among the workers.
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

/// The processes of a job, and which of them this is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// `host:port` of each server; none if all workers are equal (collective training).
    pub servers: Vec<String>,
    /// How many workers there are.
    pub workers: usize,
    /// `host:port` of each worker; empty if it is not known.
    pub worker_endpoints: Vec<String>,
    /// `host:port` where equal workers meet, if they were told one instead of each other's endpoints.
    pub master: Option<String>,
    /// What this process does.
    pub role: Role,
}

/// The variables that tell of a job: they are read, shown in errors, and not passed on to processes of another job.
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

/// Any one of these says that there is a job. (`POD_IP` and `PADDLE_PORT` alone say only where a process runs.)
const TELLING: [&str; 13] = [
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

impl Cluster {
    /// As the environment of this process says; `None` if it speaks of no job.
    pub fn from_env() -> Result<Option<Cluster>> {
        Cluster::parse(var)
    }

    /// As these variables say; `None` if they speak of no job. An empty variable counts as not set.
    pub fn parse(get: impl Fn(&str) -> Option<String>) -> Result<Option<Cluster>> {
        let found = Found::new(get);
        if !TELLING.iter().any(|name| found.has(name)) {
            return Ok(None);
        }
        found.cluster().map(Some).map_err(|e| found.explain(e))
    }

    /// The variables that tell a process all of this; [`Cluster::parse`] reads them back.
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
            self.emit_equal(&mut vars)
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

    fn emit_equal(&self, vars: &mut Vec<(&'static str, String)>) {
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

/// The variables that are set.
struct Found(BTreeMap<&'static str, String>);

/// A value, and the variable that gave it.
type From<T> = (&'static str, T);

impl Found {
    fn new(get: impl Fn(&str) -> Option<String>) -> Found {
        let set = |name: &'static str| Some((name, get(name).filter(|value| !value.trim().is_empty())?));
        Found(VARIABLES.into_iter().filter_map(set).collect())
    }

    fn has(&self, name: &str) -> bool {
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

    fn cluster(&self) -> Result<Cluster> {
        let servers =
            one("the servers", [self.endpoints("PADDLE_PSERVERS_IP_PORT_LIST")?, self.hosts("PADDLE_PSERVER_IPS")])?;
        match servers {
            Some((name, servers)) => self.with_servers(name, servers),
            None => self.of_equals(),
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
    fn of_equals(&self) -> Result<Cluster> {
        if let Some((name, "PSERVER")) = self.role()? {
            let what = format!("{name} says that this is a server, but the list of servers is not set");
            return Err(Error::new(Kind::Argument, what).help("set PADDLE_PSERVERS_IP_PORT_LIST"));
        }
        let worker_endpoints = self.worker_endpoints()?;
        let Some((_, workers)) = self.workers(worker_endpoints.as_deref())? else {
            if self.has("PADDLE_MASTER") {
                return Err(Error::new(Kind::Argument, "the environment describes a node, not a process")
                    .help("let `oarlock launch` start the program: it agrees with the other nodes who does what"));
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

    /// Adds what was found to an error.
    fn explain(&self, error: Error) -> Error {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(vars: &[(&str, &str)]) -> Result<Option<Cluster>> {
        Cluster::parse(|name| vars.iter().find(|(n, _)| *n == name).map(|(_, value)| value.to_string()))
    }

    fn read(text: &str) -> Cluster {
        let vars: Vec<(&str, &str)> = text.split_whitespace().filter_map(|word| word.split_once('=')).collect();
        parse(&vars).unwrap().unwrap()
    }

    fn cluster(servers: &str, workers: usize, endpoints: &str, role: Role) -> Cluster {
        Cluster { servers: list(servers), workers, worker_endpoints: list(endpoints), master: None, role }
    }

    fn endpoint() -> impl Strategy<Value = String> {
        let host = prop_oneof![
            (1..5u8, any::<u8>()).prop_map(|(a, b)| format!("10.0.{a}.{b}")),
            "[a-z]{1,6}(-[0-9])?(\\.[a-z]{2,3})?",
            Just("[::1]".to_string()),
        ];
        // Few ports, so that "one port on several hosts" happens.
        (host, 6170..6173u16).prop_map(|(host, port)| format!("{host}:{port}"))
    }

    fn endpoints(least: usize) -> impl Strategy<Value = Vec<String>> {
        proptest::collection::btree_set(endpoint(), least..5).prop_map(|set| set.into_iter().collect()).prop_shuffle()
    }

    fn clusters() -> impl Strategy<Value = Cluster> {
        let parts =
            (endpoints(0), endpoints(0), 1..5usize, proptest::option::of(endpoint()), any::<bool>(), any::<usize>());
        parts.prop_map(|(servers, worker_endpoints, number, master, serves, index)| {
            let workers = if worker_endpoints.is_empty() { number } else { worker_endpoints.len() };
            let role = match serves && !servers.is_empty() {
                true => Role::Server(index % servers.len()),
                false => Role::Worker(index % workers),
            };
            let master = master.filter(|_| servers.is_empty());
            Cluster { servers, workers, worker_endpoints, master, role }
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(cluster in clusters()) {
            let vars = cluster.emit();
            let vars: Vec<(&str, &str)> = vars.iter().map(|(name, value)| (*name, value.as_str())).collect();
            prop_assert!(vars.iter().all(|(name, _)| VARIABLES.contains(name)));
            prop_assert_eq!(parse(&vars).unwrap(), Some(cluster));
        }
    }

    #[test]
    fn the_variables_of_many_schedulers_are_read() {
        // Fluid's manual; hosts by name.
        let manual = "PADDLE_PSERVER_IPS=ps0,ps1 PADDLE_PSERVER_PORT=6174 PADDLE_TRAINERS=2";
        let servers = "ps0:6174,ps1:6174";
        assert_eq!(
            read(&format!("{manual} PADDLE_TRAINING_ROLE=PSERVER PADDLE_CURRENT_IP=ps1")),
            cluster(servers, 2, "", Role::Server(1))
        );
        assert_eq!(
            read(&format!("{manual} PADDLE_TRAINING_ROLE=TRAINER PADDLE_TRAINER_ID=1")),
            cluster(servers, 2, "", Role::Worker(1))
        );
        let nccl = "PADDLE_TRAINER_IPS=a,b PADDLE_TRAINER_ID=1 PADDLE_PSERVER_PORT=6174 PADDLE_CURRENT_IP=b";
        assert_eq!(read(nccl), cluster("", 2, "a:6174,b:6174", Role::Worker(1)));
        // PaddleCloud and launch_ps.
        let cloud = "PADDLE_PSERVERS_IP_PORT_LIST=10.0.0.1:6170,10.0.0.2:6170 PADDLE_TRAINERS_NUM=3";
        let servers = "10.0.0.1:6170,10.0.0.2:6170";
        assert_eq!(
            read(&format!("{cloud} TRAINING_ROLE=PSERVER POD_IP=10.0.0.2 PADDLE_PORT=6170")),
            cluster(servers, 3, "", Role::Server(1))
        );
        // A worker of `launch_ps` inherits the place of the last server.
        assert_eq!(
            read(&format!("{cloud} TRAINING_ROLE=TRAINER PADDLE_TRAINER_ID=2 POD_IP=10.0.0.2 PADDLE_PORT=6170")),
            cluster(servers, 3, "", Role::Worker(2))
        );
        // paddle-operator.
        let operator = "PADDLE_PSERVERS_IP_PORT_LIST=job-ps-0:36000 PADDLE_TRAINER_ENDPOINTS=job-worker-0:36000,job-worker-1:36000 \
                        PADDLE_TRAINERS=job-worker-0,job-worker-1 PADDLE_TRAINERS_NUM=2 PADDLE_PORT=36000 TRAINER_PORTS_NUM=1 \
                        PADDLE_TRAINER_ID=0";
        let workers = "job-worker-0:36000,job-worker-1:36000";
        assert_eq!(
            read(&format!("{operator} TRAINING_ROLE=PSERVER POD_IP=job-ps-0")),
            cluster("job-ps-0:36000", 2, workers, Role::Server(0))
        );
        assert_eq!(
            read(&format!("{operator} TRAINING_ROLE=TRAINER POD_IP=job-worker-0")),
            cluster("job-ps-0:36000", 2, workers, Role::Worker(0))
        );
        // Others: equal workers.
        let torch = read("RANK=1 WORLD_SIZE=4 LOCAL_RANK=1 MASTER_ADDR=node0 MASTER_PORT=29500");
        assert_eq!((torch.workers, torch.role, torch.master.as_deref()), (4, Role::Worker(1), Some("node0:29500")));
        assert_eq!(read("OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4"), cluster("", 4, "", Role::Worker(3)));
        assert_eq!(read("PMI_RANK=0 PMI_SIZE=2"), cluster("", 2, "", Role::Worker(0)));
        // Where a job of ours runs inside another, ours counts.
        let inner = read("PADDLE_TRAINER_ENDPOINTS=a:1,b:1 PADDLE_TRAINER_ID=1 RANK=5 WORLD_SIZE=8");
        assert_eq!(inner, cluster("", 2, "a:1,b:1", Role::Worker(1)));
    }

    #[test]
    fn no_job_is_no_error() {
        assert_eq!(parse(&[]).unwrap(), None);
        assert_eq!(parse(&[("POD_IP", "10.0.0.1"), ("PADDLE_PORT", "80"), ("TRAINING_ROLE", " ")]).unwrap(), None);
    }

    #[test]
    fn what_is_missing_or_contradicts_is_named_with_what_was_found() {
        let list = ("PADDLE_PSERVERS_IP_PORT_LIST", "a:1,b:1");
        let num = ("PADDLE_TRAINERS_NUM", "2");
        let error = |vars: &[(&str, &str)]| parse(vars).unwrap_err().to_string();
        assert_eq!(
            error(&[list, num, ("TRAINING_ROLE", "TRAINER")]),
            "error[argument]: the environment does not say which worker this is: PADDLE_TRAINER_ID is not set\n  \
             found in the environment: PADDLE_PSERVERS_IP_PORT_LIST=a:1,b:1 PADDLE_TRAINERS_NUM=2 TRAINING_ROLE=TRAINER\n  \
             help: set PADDLE_TRAINER_ID, or let `oarlock launch` start the processes"
        );
        assert_eq!(
            error(&[list, num, ("TRAINING_ROLE", "PSERVER"), ("POD_IP", "c"), ("PADDLE_PORT", "1")]),
            "error[argument]: POD_IP: c:1 is not in the list of servers\n  \
             found in the environment: PADDLE_PORT=1 PADDLE_PSERVERS_IP_PORT_LIST=a:1,b:1 PADDLE_TRAINERS_NUM=2 POD_IP=c \
             TRAINING_ROLE=PSERVER\n  help: let `oarlock launch` start the processes: it sets all variables"
        );
        let starts = [
            (vec![list, num], "the environment does not say whether this is a server or a worker"),
            (vec![list, ("TRAINING_ROLE", "TRAINER")], "the environment does not say how many workers there are"),
            (vec![("TRAINING_ROLE", "PSERVER")], "TRAINING_ROLE says that this is a server, but the list of servers"),
            (vec![("TRAINING_ROLE", "BOSS")], "TRAINING_ROLE must be TRAINER or PSERVER, but it is \"BOSS\""),
            (
                vec![list, num, ("TRAINING_ROLE", "TRAINER"), ("PADDLE_ROLE", "PSERVER")],
                "the environment contradicts itself about the role: TRAINING_ROLE gives \"TRAINER\", PADDLE_ROLE \"PSERVER\"",
            ),
            (
                vec![list, num, ("TRAINING_ROLE", "TRAINER"), ("PADDLE_TRAINER_ID", "2")],
                "PADDLE_TRAINER_ID is 2, but there are 2 workers, counted from 0",
            ),
            (vec![("PADDLE_TRAINERS_NUM", "two")], "PADDLE_TRAINERS_NUM must be a number, but it is \"two\""),
            (vec![("PADDLE_TRAINER_ENDPOINTS", "a:1,a:1")], "PADDLE_TRAINER_ENDPOINTS has a:1 twice"),
            (vec![("PADDLE_TRAINER_ENDPOINTS", "a:1,b")], "PADDLE_TRAINER_ENDPOINTS: \"b\" is no host:port"),
            (vec![("PADDLE_MASTER", "m:1"), ("PADDLE_NNODES", "2")], "the environment describes a node, not a process"),
        ];
        for (vars, start) in starts {
            let text = error(&vars);
            assert!(text.starts_with(&format!("error[argument]: {start}")), "{text}");
        }
    }
}
