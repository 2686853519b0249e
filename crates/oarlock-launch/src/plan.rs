//! From what the user asks for to the processes of this host. Looks at addresses and ports; starts nothing.

use std::net::IpAddr;

use oarlock_ir::{Error, Kind, Result};

use super::cluster::{Cluster, Role, split};
use super::host;

/// Where ports begin on several hosts, where free ports cannot be agreed on: servers and their workers, and collective workers.
const SERVER_PORT: u16 = 6170;
const EQUAL_PORT: u16 = 6070;

/// The host of a job that names none.
const LOCALHOST: &str = "127.0.0.1";

/// The job that the user asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ask {
    /// Servers on any host: `host:port`, or `host` to be given a port.
    pub servers: Vec<String>,
    /// Workers on any host, written in the same way.
    pub workers: Vec<String>,
    /// How many servers.
    pub server_num: Option<usize>,
    /// How many workers.
    pub worker_num: Option<usize>,
    /// How many collective workers each host has; asks for a job without servers.
    pub per_node: Option<usize>,
    /// The hosts of a job without servers, or the one host of a job with them.
    pub hosts: Vec<String>,
    /// Which of the hosts this is; found out if not given.
    pub node: Option<String>,
    /// The first port to use; free ports if not given.
    pub first_port: Option<u16>,
}

/// The processes of a job that run on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The cluster as each process sees it; servers first.
    pub ranks: Vec<Cluster>,
    /// Whether all processes of the job are here.
    pub complete: bool,
}

impl Plan {
    /// The one process that the environment of this one speaks of; `None` if it speaks of no job.
    pub fn from_env() -> Result<Option<Plan>> {
        Ok(Cluster::from_env()?.map(|cluster| Plan { ranks: vec![cluster], complete: false }))
    }
}

/// Makes a plan of what is asked for.
pub fn plan(ask: &Ask) -> Result<Plan> {
    let with_servers =
        !ask.servers.is_empty() || ask.server_num.is_some() || ask.worker_num.is_some() || !ask.workers.is_empty();
    // One host with numbers of servers and workers says where these run.
    let equals = ask.per_node.is_some() || ask.hosts.len() > usize::from(with_servers);
    match (with_servers, equals) {
        (true, false) => plan_servers(ask),
        (false, true) => plan_equals(ask),
        (false, false) => Err(Error::new(Kind::Argument, "nothing says how many processes to start").help(
            "give --server-num and --worker-num for parameter servers, or --nproc-per-node for workers that are equal",
        )),
        (true, true) => Err(Error::new(Kind::Argument, "a job has either servers or collective workers")
            .help("use --servers, --workers, --server-num, --worker-num, or else --ips and --nproc-per-node")),
    }
}

fn plan_servers(ask: &Ask) -> Result<Plan> {
    let servers = entries("server", &ask.servers, ask.server_num, ask)?;
    if servers.is_empty() {
        return Err(Error::new(Kind::Argument, "the job has workers, but no servers")
            .help("add --server-num or --servers, or use --nproc-per-node for workers without servers"));
    }
    let hosts = distinct_hosts(&servers);
    let workers = match (ask.workers.is_empty(), hosts.as_slice()) {
        (false, _) => entries("worker", &ask.workers, ask.worker_num, ask)?,
        (true, [host]) => vec![host.clone(); ask.worker_num.unwrap_or(1)],
        (true, _) => {
            let what = format!("the servers run on {} hosts, so the hosts of the workers must be known", hosts.len());
            return Err(Error::new(Kind::Argument, what).help("list them with --workers host,host,..."));
        }
    };
    if workers.is_empty() {
        return Err(
            Error::new(Kind::Argument, "the job has servers, but no workers").help("add --worker-num or --workers")
        );
    }
    let entries = [servers.as_slice(), &workers].concat();
    let here = Here::new(ask, &entries)?;
    let all = with_ports(&entries, ask.first_port, SERVER_PORT)?;
    let (servers, workers) = all.split_at(servers.len());
    let rank = |role| Cluster {
        servers: servers.to_vec(),
        workers: workers.len(),
        worker_endpoints: workers.to_vec(),
        master: None,
        role,
    };
    let own_servers = here.indices(servers).map(|index| rank(Role::Server(index)));
    let own_workers = here.indices(workers).map(|index| rank(Role::Worker(index)));
    let ranks: Vec<Cluster> = own_servers.chain(own_workers).collect();
    Ok(Plan { complete: ranks.len() == all.len(), ranks })
}

fn plan_equals(ask: &Ask) -> Result<Plan> {
    let hosts = if ask.hosts.is_empty() { vec![LOCALHOST.to_string()] } else { ask.hosts.clone() };
    let per_node = ask.per_node.unwrap_or(1);
    if per_node == 0 {
        return Err(Error::new(Kind::Argument, "--nproc-per-node is 0: nothing would be started"));
    }
    let entries = hosts.iter().flat_map(|host| std::iter::repeat_n(host.clone(), per_node)).collect::<Vec<_>>();
    let here = Here::new(ask, &entries)?;
    let all = with_ports(&entries, ask.first_port, EQUAL_PORT)?;
    let rank = |index| Cluster {
        servers: Vec::new(),
        workers: all.len(),
        worker_endpoints: all.clone(),
        master: None,
        role: Role::Worker(index),
    };
    let ranks: Vec<Cluster> = here.indices(&all).map(rank).collect();
    Ok(Plan { complete: ranks.len() == all.len(), ranks })
}

/// The hosts of servers or workers, with ports where they are given: as listed, or a number of them on this machine.
fn entries(what: &str, listed: &[String], number: Option<usize>, ask: &Ask) -> Result<Vec<String>> {
    match number {
        Some(number) if !listed.is_empty() && number != listed.len() => {
            let what = format!("--{what}-num is {number}, but {} {what}s are listed", listed.len());
            Err(Error::new(Kind::Argument, what).help("leave the number out, or make both agree"))
        }
        _ if !listed.is_empty() => Ok(listed.to_vec()),
        number => {
            let host = ask.hosts.first().map_or(LOCALHOST, String::as_str);
            Ok(vec![host.to_string(); number.unwrap_or(0)])
        }
    }
}

fn distinct_hosts(entries: &[String]) -> Vec<String> {
    let mut hosts: Vec<String> = Vec::new();
    for entry in entries {
        let (host, _) = split(entry);
        if !hosts.iter().any(|known| known == host) {
            hosts.push(host.to_string());
        }
    }
    hosts
}

/// Gives a port to each entry that has none: counted up from the first port on each host, or free ones if all are on one host.
fn with_ports(entries: &[String], first: Option<u16>, usual: u16) -> Result<Vec<String>> {
    let hosts = distinct_hosts(entries);
    let free = first.is_none() && hosts.len() == 1;
    let mut all = entries.to_vec();
    for host in &hosts {
        let of_host: Vec<usize> = (0..entries.len()).filter(|i| split(&entries[*i]).0 == host).collect();
        let taken: Vec<u16> = of_host.iter().filter_map(|i| split(&entries[*i]).1.parse().ok()).collect();
        let open: Vec<usize> = of_host.into_iter().filter(|i| split(&entries[*i]).1.is_empty()).collect();
        let ports = match free {
            true => host::free_ports(host, open.len(), &taken)?,
            false => {
                (first.unwrap_or(usual)..=u16::MAX).filter(|port| !taken.contains(port)).take(open.len()).collect()
            }
        };
        if ports.len() < open.len() {
            return Err(Error::new(Kind::Argument, format!("there are not {} ports from --start-port on", open.len())));
        }
        for (index, port) in open.into_iter().zip(ports) {
            all[index] = format!("{host}:{port}");
        }
    }
    for (i, endpoint) in all.iter().enumerate() {
        if split(endpoint).1.parse::<u16>().is_err() {
            return Err(Error::new(Kind::Argument, format!("{endpoint:?} is neither host nor host:port")));
        }
        if all[..i].contains(endpoint) {
            return Err(Error::new(Kind::Argument, format!("two processes cannot both have {endpoint}")));
        }
    }
    Ok(all)
}

/// Which endpoints are on this host.
struct Here {
    own: Vec<IpAddr>,
    node: Option<String>,
}

impl Here {
    fn new(ask: &Ask, entries: &[String]) -> Result<Here> {
        let here = Here { own: host::addresses()?, node: ask.node.clone() };
        if here.indices(entries).next().is_some() {
            return Ok(here);
        }
        let what = match &here.node {
            Some(node) => format!("this host is {node}, which is not among {}", distinct_hosts(entries).join(", ")),
            None => format!("none of {} is this host", distinct_hosts(entries).join(", ")),
        };
        let own: Vec<String> = here.own.iter().map(IpAddr::to_string).collect();
        Err(Error::new(Kind::Argument, what).note(format!("this machine has the addresses {}", own.join(", "))).help(
            "name this host as it is written in the lists with --node-ip, or start the job on a host of the lists",
        ))
    }

    fn contains(&self, endpoint: &str) -> bool {
        let (host, _) = split(endpoint);
        match &self.node {
            Some(node) => node == host,
            None => host::is_here(host, &self.own),
        }
    }

    fn indices(&self, endpoints: &[String]) -> impl Iterator<Item = usize> {
        (0..endpoints.len()).filter(|index| self.contains(&endpoints[*index])).collect::<Vec<_>>().into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(words: &str) -> Vec<String> {
        words.split_whitespace().map(str::to_string).collect()
    }

    fn roles(plan: &Plan) -> Vec<String> {
        plan.ranks.iter().map(|rank| rank.role.to_string()).collect()
    }

    #[test]
    fn numbers_alone_mean_this_machine_and_free_ports() {
        let plan = plan(&Ask { server_num: Some(2), worker_num: Some(2), ..Ask::default() }).unwrap();
        assert_eq!(roles(&plan), ["server 0", "server 1", "worker 0", "worker 1"]);
        let rank = &plan.ranks[0];
        assert!(plan.complete && rank.servers.len() == 2 && rank.worker_endpoints.len() == 2);
        assert!(rank.servers[0].starts_with("127.0.0.1:") && rank.servers[0] != rank.servers[1]);
    }

    #[test]
    fn only_the_processes_of_this_host_are_planned() {
        let ask = Ask {
            servers: texts("127.0.0.1:7000 192.0.2.1:7000"),
            workers: texts("127.0.0.1 192.0.2.1 127.0.0.1"),
            ..Ask::default()
        };
        let plan = plan(&ask).unwrap();
        assert_eq!(roles(&plan), ["server 0", "worker 0", "worker 2"]);
        assert_eq!(plan.ranks[0].worker_endpoints, texts("127.0.0.1:6170 192.0.2.1:6170 127.0.0.1:6171"));
        assert!(!plan.complete);
        let other = super::plan(&Ask { node: Some("192.0.2.1".into()), ..ask }).unwrap();
        assert_eq!(roles(&other), ["server 1", "worker 1"]);
    }

    #[test]
    fn ranks_are_counted_through_the_hosts() {
        let ask = Ask {
            hosts: texts("192.0.2.1 192.0.2.2"),
            per_node: Some(2),
            node: Some("192.0.2.2".into()),
            ..Ask::default()
        };
        let plan = plan(&ask).unwrap();
        assert_eq!(roles(&plan), ["worker 2", "worker 3"]);
        assert_eq!(
            plan.ranks[0].worker_endpoints,
            texts("192.0.2.1:6070 192.0.2.1:6071 192.0.2.2:6070 192.0.2.2:6071")
        );
    }

    #[test]
    fn what_cannot_be_is_explained() {
        let error = |ask: Ask| plan(&ask).unwrap_err().report().what.clone();
        assert_eq!(error(Ask::default()), "nothing says how many processes to start");
        assert_eq!(error(Ask { worker_num: Some(1), ..Ask::default() }), "the job has workers, but no servers");
        assert_eq!(
            error(Ask { servers: texts("a:1 b:1"), server_num: Some(3), ..Ask::default() }),
            "--server-num is 3, but 2 servers are listed"
        );
        assert_eq!(
            error(Ask { servers: texts("127.0.0.1:1 127.0.0.1:1"), worker_num: Some(1), ..Ask::default() }),
            "two processes cannot both have 127.0.0.1:1"
        );
        assert_eq!(
            error(Ask { servers: texts("192.0.2.1:1"), worker_num: Some(1), ..Ask::default() }),
            "none of 192.0.2.1 is this host"
        );
    }
}
