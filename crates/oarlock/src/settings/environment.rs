//! The variables of the environment that Oarlock reads, and what becomes of those that look like one and are not.

use oarlock_ir::{Error, Kind, Result, nearest};

use super::{FLAGS, Setting, Value, on};

/// Variables for users.
pub(super) const VARIABLES: &[Setting] = &[
    on("OARLOCK_THREADS", Value::None, "compute threads of a process; all cores if not set"),
    on("OARLOCK_VERIFY", Value::Bool(false), "1: verifies a program after every pass of its compilation"),
    on("OARLOCK_GPU_AS_CPU", Value::Bool(false), "1: programs for `CUDAPlace` run on the CPU, with one warning"),
    on("OARLOCK_PROGRESS", Value::Text("auto"), "progress of `train_from_dataset`: auto, lines or off"),
    on(
        "OARLOCK_LOG",
        Value::Text("info"),
        "levels of log lines by module, for example `warn,oarlock_ps=debug`: off, error, warn, info, debug, trace",
    ),
    on("OARLOCK_LOG_FORMAT", Value::Text("text"), "log lines for people (text) or for machines (json)"),
    on(
        "OARLOCK_SYNTHETIC_DATA",
        Value::Bool(false),
        "1: `paddle.dataset` gives made samples of the same shapes, and downloads nothing",
    ),
    on("OARLOCK_ON_LOSS", Value::Text("fail"), "what servers do when a trainer is lost: fail, wait or shrink"),
    on(
        "OARLOCK_SILENCE",
        Value::None,
        "heartbeat timeout in milliseconds for a connected but unresponsive process: 20000 at servers, 4000 among collective workers",
    ),
    on("OARLOCK_STAY", Value::Bool(false), "1: servers keep running after the last trainer has left, to predict from"),
    on(
        "OARLOCK_SERVER_LOG",
        Value::None,
        "the directory in which servers keep their logs, in JOB/NUMBER; none if not set. Needs OARLOCK_JOB_ID (`oarlock launch` sets both)",
    ),
    on(
        "OARLOCK_SERVER_LOG_MB",
        Value::Int(512),
        "MiB of a server's log after which it takes a snapshot and removes what came before",
    ),
    on(
        "OARLOCK_DURABILITY",
        Value::Text("process"),
        "what an acknowledged push survives: process (the server's end by any signal) or power (a loss of power, too)",
    ),
    on("OARLOCK_PAYLOAD", Value::Text("f32"), "how numbers travel between trainers and servers: f32, bf16 or f16"),
    on("OARLOCK_MODEL_TABLES", Value::Text("auto"), "how inference models store hashed tables: auto, dense or rows"),
    on("OARLOCK_TABLE_FILES", Value::Text("auto"), "how hashed tables are saved: auto, one, parts or text"),
    on("OARLOCK_TABLE_PART_MB", Value::None, "MiB in a part of a table"),
    on("OARLOCK_JOB_ID", Value::None, "the name of the job; processes of other jobs are refused"),
    on("OARLOCK_TOKEN", Value::None, "a secret that all processes of a job share; peers without it are refused"),
    on("OARLOCK_TLS_CERT", Value::None, "PEM file of this process's certificate: all traffic is encrypted"),
    on("OARLOCK_TLS_KEY", Value::None, "PEM file of its key"),
    on("OARLOCK_TLS_CA", Value::None, "PEM file of the authorities that vouch for peers"),
    on("OARLOCK_TLS_NAME", Value::None, "the name to which a server's certificate must be made out"),
    on("OARLOCK_MAX_FRAME", Value::Int(1 << 30), "bytes that a frame may have; the same on every machine"),
    on("OARLOCK_NET_DEVICE", Value::None, "the network device, for example eth1"),
    on(
        "OARLOCK_NET_KEEPALIVE",
        Value::Int(10),
        "seconds of silence after which the system probes the other machine; 0: never",
    ),
    on("OARLOCK_NET_CHECKSUM", Value::Bool(true), "0 leaves out the checksum of payloads"),
    on("OARLOCK_BACKEND", Value::Text("auto"), "what carries the values of collective workers: auto, tcp or mpi"),
    on("OARLOCK_MPI_LIBRARY", Value::None, "the file of the MPI library; searched for if not set"),
    on("OARLOCK_FUSE_MB", Value::Int(4), "collective workers exchange gradients together up to this many MiB"),
    on("OARLOCK_HIERARCHICAL", Value::Bool(false), "1: all-reduce inside each machine first, then between machines"),
    on(
        "OARLOCK_ELASTIC",
        Value::Bool(false),
        "1: collective workers go on when one dies (`oarlock launch --elastic` sets it)",
    ),
    on(
        "OARLOCK_GROUP_DONE",
        Value::None,
        "the file that says that a group of elastic workers has finished; the launcher sets it",
    ),
    on("OARLOCK_RESTART", Value::Int(0), "how often this process was started again; the launcher sets it"),
];

/// Variables that tests, benchmarks and examples of the project read: names, and beginnings that end in `_`.
const PROJECT: &[&str] = &[
    "OARLOCK_BENCH_",
    "OARLOCK_FAULT_SEED",
    "OARLOCK_FLUID_TESTS",
    "OARLOCK_FUZZ_",
    "OARLOCK_GOLDEN",
    "OARLOCK_HOUSING",
    "OARLOCK_MNIST",
    "OARLOCK_MOTO",
    "OARLOCK_OPS",
    "OARLOCK_PADDLEREC",
    "OARLOCK_PEER_",
    "OARLOCK_PROGRAMS",
    "OARLOCK_PYTHON",
    "OARLOCK_SIM_",
    "OARLOCK_SOAK",
    "OARLOCK_TEST_",
];

/// Looks for variables that are misspelt. One that begins with `OARLOCK_` and is close to a name that exists is an error:
/// it was meant for this program, which would run without what was asked for. Returns a warning for each other one that nothing
/// reads: `FLAGS_` may be meant for another program.
pub fn check_variables<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Vec<String>> {
    let mut warnings = Vec::new();
    for name in names {
        if name.starts_with("OARLOCK_") {
            let Some(near) = unknown(name, "OARLOCK_", VARIABLES) else { continue };
            if is_of_project(name) || is_of_kubernetes(name) {
                continue;
            }
            match near {
                Some(near) => {
                    let what = format!("there is no environment variable {name}");
                    return Err(
                        Error::new(Kind::Argument, what).help(format!("did you mean {near}? Otherwise unset it"))
                    );
                }
                None => warnings.push(format!("nothing reads {name}; docs/options.md lists the environment variables")),
            }
        } else if name.starts_with("FLAGS_")
            && let Some(near) = unknown(name, "FLAGS_", FLAGS)
        {
            warnings.push(match near {
                Some(near) => format!("nothing reads {name}; did you mean {near}?"),
                None => format!("nothing reads {name}; docs/options.md lists the flags"),
            });
        }
    }
    Ok(warnings)
}

/// `Some` if a name is not in the table, with the nearest one that is. What all names have in common does not count as near.
fn unknown(name: &str, prefix: &str, table: &'static [Setting]) -> Option<Option<&'static str>> {
    if table.iter().any(|s| s.name == name) {
        return None;
    }
    let known: Vec<&str> = table.iter().map(|s| &s.name[prefix.len()..]).collect();
    let near = nearest(&name[prefix.len()..], &known);
    Some(near.and_then(|near| table.iter().map(|s| s.name).find(|n| &n[prefix.len()..] == near)))
}

fn is_of_project(name: &str) -> bool {
    PROJECT.iter().any(|known| *known == name || (known.ends_with('_') && name.starts_with(known)))
}

/// Does it describe a service that is called `oarlock`? Kubernetes sets such variables in every pod.
fn is_of_kubernetes(name: &str) -> bool {
    name.contains("_SERVICE_") || name.contains("_PORT")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_variable_is_named_with_the_one_that_was_meant() {
        let error = check_variables(["PATH", "OARLOCK_THREADS", "OARLOCK_ON_LOS"]).expect_err("misspelt");
        assert_eq!(
            error.to_string(),
            "error[argument]: there is no environment variable OARLOCK_ON_LOS\n  \
             help: did you mean OARLOCK_ON_LOSS? Otherwise unset it"
        );
        let warnings = check_variables(["FLAGS_check_nan_in", "FLAGS_v", "OARLOCK_COLOUR_SCHEME"]).expect("no errors");
        assert_eq!(
            warnings,
            [
                "nothing reads FLAGS_check_nan_in; did you mean FLAGS_check_nan_inf?",
                "nothing reads FLAGS_v; docs/options.md lists the flags",
                "nothing reads OARLOCK_COLOUR_SCHEME; docs/options.md lists the environment variables",
            ]
        );
    }

    #[test]
    fn variables_of_tests_and_of_kubernetes_are_left_alone() {
        let names = ["OARLOCK_TEST_RANK", "OARLOCK_GOLDEN", "OARLOCK_PORT_6174_TCP", "OARLOCK_PS_SERVICE_HOST"];
        assert_eq!(check_variables(names).expect("no errors"), [""; 0]);
    }
}
