//! Jobs whose hosts are known to a scheduler: what it tells the launcher of each node.

use oarlock_ir::{Error, Kind, Result};

use super::plan::Ask;
use super::rendezvous::Rendezvous;
use super::{list, var};

/// Adds to `ask` what PaddleCloud and paddle-operator tell a node of a job without servers: `PADDLE_TRAINERS` (the hosts), `POD_IP`
/// (this one), `TRAINER_PORTS_NUM` and `PADDLE_PORT` (how many ports it has, and the first), or `DISTRIBUTED_TRAINER_ENDPOINTS`.
pub fn paddlecloud(ask: Ask) -> Result<Ask> {
    from_vars(ask, var)
}

fn from_vars(ask: Ask, get: impl Fn(&str) -> Option<String>) -> Result<Ask> {
    let need = |name: &str| {
        get(name).filter(|value| !value.trim().is_empty()).ok_or_else(|| {
            Error::new(Kind::Argument, format!("--use-paddlecloud needs {name}, which is not set"))
                .help("leave --use-paddlecloud out to name the hosts with --ips")
        })
    };
    let hosts = list(&need("PADDLE_TRAINERS")?);
    let node = Some(need("POD_IP")?);
    let ports = match get("TRAINER_PORTS_NUM") {
        Some(text) => number("TRAINER_PORTS_NUM", &text)?,
        None => 1,
    };
    let per_node = ask.per_node.unwrap_or(ports);
    if let Some(text) = get("DISTRIBUTED_TRAINER_ENDPOINTS") {
        let endpoints = list(&text);
        if ports == 0 || endpoints.len() != hosts.len() * ports || per_node > ports {
            let what = format!(
                "DISTRIBUTED_TRAINER_ENDPOINTS has {} endpoints, but {} hosts with {ports} ports each are needed",
                endpoints.len(),
                hosts.len()
            );
            return Err(Error::new(Kind::Argument, what).note(format!("{per_node} processes are to run on each")));
        }
        let hosts = endpoints.chunks(ports).flat_map(|of_host| of_host[..per_node].to_vec()).collect();
        return Ok(Ask { hosts, node, per_node: Some(1), ..ask });
    }
    let first_port = match (ask.first_port, get("PADDLE_PORT")) {
        (None, Some(text)) => Some(number("PADDLE_PORT", &text)?),
        (given, _) => given,
    };
    Ok(Ask { hosts, node, per_node: Some(per_node), first_port, ..ask })
}

/// Adds to `ask` what Kubeflow tells a node that it may run (`PADDLE_SERVER_NUM`, `PADDLE_TRAINER_NUM`, `POD_IP`), and returns where nodes
/// have their rendezvous (`PADDLE_MASTER`, `PADDLE_NNODES`, `PADDLE_JOB_ID`), if they are given one.
pub fn node_from_env(ask: &mut Ask) -> Result<Option<Rendezvous>> {
    node_from_vars(ask, var)
}

fn node_from_vars(ask: &mut Ask, get: impl Fn(&str) -> Option<String>) -> Result<Option<Rendezvous>> {
    let (Some(master), Some(nodes)) = (get("PADDLE_MASTER"), get("PADDLE_NNODES")) else { return Ok(None) };
    let nodes = number("PADDLE_NNODES", &nodes)?;
    let count = |name: &str| get(name).map(|text| number(name, &text)).transpose();
    ask.server_num = ask.server_num.or(count("PADDLE_SERVER_NUM")?);
    ask.worker_num = ask.worker_num.or(count("PADDLE_TRAINER_NUM")?);
    ask.node = ask.node.take().or_else(|| get("POD_IP"));
    let job = get("PADDLE_JOB_ID").unwrap_or_default();
    Ok(Some(Rendezvous { master, nodes, rank: None, job, ..Rendezvous::default() }))
}

fn number<T: std::str::FromStr>(name: &str, text: &str) -> Result<T> {
    text.trim().parse().map_err(|_| Error::new(Kind::Argument, format!("{name} must be a number, but it is {text:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan;

    fn asked(vars: &[(&str, &str)]) -> Result<Ask> {
        from_vars(Ask::default(), |name| vars.iter().find(|(n, _)| *n == name).map(|(_, value)| value.to_string()))
    }

    #[test]
    fn nodes_of_kubeflow_know_their_rendezvous() {
        let vars = [("PADDLE_MASTER", "job-worker-0:36543"), ("PADDLE_NNODES", "3"), ("PADDLE_TRAINER_NUM", "1")];
        let mut ask = Ask::default();
        let get = |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, value)| value.to_string());
        let rendezvous = node_from_vars(&mut ask, get).unwrap().unwrap();
        assert_eq!((rendezvous.master.as_str(), rendezvous.nodes), ("job-worker-0:36543", 3));
        assert_eq!((ask.server_num, ask.worker_num), (None, Some(1)));
        assert_eq!(node_from_vars(&mut ask, |_| None).unwrap(), None);
    }

    #[test]
    fn the_hosts_of_paddlecloud_are_planned() {
        let nodes = [("PADDLE_TRAINERS", "192.0.2.1,192.0.2.2"), ("POD_IP", "192.0.2.2"), ("TRAINER_PORTS_NUM", "2")];
        let by_port = asked(&[&nodes[..], &[("PADDLE_PORT", "36000")]].concat()).unwrap();
        let endpoints = "192.0.2.1:36000,192.0.2.1:36001,192.0.2.2:36000,192.0.2.2:36001";
        let by_list = asked(&[&nodes[..], &[("DISTRIBUTED_TRAINER_ENDPOINTS", endpoints)]].concat()).unwrap();
        for ask in [by_port, by_list] {
            let plan = plan(&ask).unwrap();
            assert_eq!(plan.ranks.len(), 2);
            assert_eq!(plan.ranks[1].role.to_string(), "worker 3");
            assert_eq!(plan.ranks[1].worker_endpoints, list(endpoints));
        }
        let e = asked(&nodes[..1]).unwrap_err();
        assert_eq!(e.report().what, "--use-paddlecloud needs POD_IP, which is not set");
    }
}
