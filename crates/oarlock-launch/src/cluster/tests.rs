//! Clusters read from and written to environment variables.

use proptest::prelude::*;

use super::*;
use crate::list;

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
    fn emitted_variables_are_parsed_back(cluster in clusters()) {
        let vars = cluster.emit();
        let vars: Vec<(&str, &str)> = vars.iter().map(|(name, value)| (*name, value.as_str())).collect();
        prop_assert!(vars.iter().all(|(name, _)| VARIABLES.contains(name)));
        prop_assert_eq!(parse(&vars).unwrap(), Some(cluster));
    }
}

#[test]
fn variables_of_many_schedulers_are_parsed() {
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
    // Others: collective workers.
    let torch = read("RANK=1 WORLD_SIZE=4 LOCAL_RANK=1 MASTER_ADDR=node0 MASTER_PORT=29500");
    assert_eq!((torch.workers, torch.role, torch.master.as_deref()), (4, Role::Worker(1), Some("node0:29500")));
    assert_eq!(read("OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4"), cluster("", 4, "", Role::Worker(3)));
    assert_eq!(read("PMI_RANK=0 PMI_SIZE=2"), cluster("", 2, "", Role::Worker(0)));
    // Where a job of ours runs inside another, ours counts.
    let inner = read("PADDLE_TRAINER_ENDPOINTS=a:1,b:1 PADDLE_TRAINER_ID=1 RANK=5 WORLD_SIZE=8");
    assert_eq!(inner, cluster("", 2, "a:1,b:1", Role::Worker(1)));
}

#[test]
fn environment_without_a_job_is_no_error() {
    assert_eq!(parse(&[]).unwrap(), None);
    assert_eq!(parse(&[("POD_IP", "10.0.0.1"), ("PADDLE_PORT", "80"), ("TRAINING_ROLE", " ")]).unwrap(), None);
}

#[test]
fn missing_and_contradicting_variables_are_named() {
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
