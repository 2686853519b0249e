//! The plan that follows from the fields of Fleet 2.0's `DistributedStrategy`: which optimizer, what around it, and who exchanges what.
//! Front ends carry it out by names.

use oarlock_exec::Scope;
use oarlock_ir::{Error, Kind, Program, Result};
use oarlock_tensor::Value;
use oarlock_transpile::CollectiveMode;

use super::Strategy;

/// Switches of a strategy besides the exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extra {
    /// Computes again what it did not keep.
    Recompute,
    /// One update for several batches.
    GradientMerge,
    /// Momentum becomes LARS.
    Lars,
    /// Adam becomes Lamb.
    Lamb,
    /// Momentum becomes DGC.
    Dgc,
    /// Workers average parameters.
    LocalSgd,
}

impl Extra {
    const ALL: [Extra; 6] =
        [Extra::Recompute, Extra::GradientMerge, Extra::Lars, Extra::Lamb, Extra::Dgc, Extra::LocalSgd];

    /// By the name of its field.
    pub fn parse(name: &str) -> Option<Extra> {
        Extra::ALL.into_iter().find(|extra| extra.name() == name)
    }

    /// The name of its field.
    pub fn name(self) -> &'static str {
        match self {
            Extra::Recompute => "recompute",
            Extra::GradientMerge => "gradient_merge",
            Extra::Lars => "lars",
            Extra::Lamb => "lamb",
            Extra::Dgc => "dgc",
            Extra::LocalSgd => "localsgd",
        }
    }

    /// The rule that it replaces.
    fn replaces(self) -> Option<&'static str> {
        match self {
            Extra::Lars | Extra::Dgc => Some("momentum"),
            Extra::Lamb => Some("adam"),
            Extra::Recompute | Extra::GradientMerge | Extra::LocalSgd => None,
        }
    }
}

/// A strategy, as far as it decides.
#[derive(Debug, Clone)]
pub struct Switches {
    /// No worker waits for another.
    pub a_sync: bool,
    /// The number of steps between two exchanges; 0 or less for every step.
    pub k_steps: i64,
    /// Other switches that are on.
    pub extras: Vec<Extra>,
    /// How many servers the job has.
    pub servers: usize,
    /// How many workers.
    pub workers: usize,
    /// The rule of the optimizer: `sgd`, `momentum`, ...
    pub rule: String,
}

/// Who exchanges what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exchange {
    /// One process trains alone.
    Local,
    /// Through parameter servers; the number is of GEO's steps.
    Servers(Strategy, usize),
    /// Collective workers among each other.
    Workers(CollectiveMode),
}

/// The decisions of a strategy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Who exchanges what.
    pub exchange: Exchange,
    /// Replaces the optimizer, if it is set.
    pub becomes: Option<Extra>,
    /// Wrappers of the optimizer, from the inside out.
    pub around: Vec<Extra>,
}

/// Decides; what contradicts itself is an error that names the fields.
pub fn plan(switches: &Switches) -> Result<Plan> {
    let has = |extra| switches.extras.contains(&extra);
    let exchange = match (switches.servers, switches.workers) {
        (0, 0 | 1) => Exchange::Local,
        (0, _) if has(Extra::LocalSgd) => Exchange::Workers(CollectiveMode::LocalSgd),
        (0, _) => Exchange::Workers(CollectiveMode::GradAllreduce),
        _ => through_servers(switches)?,
    };
    let around = [Extra::Recompute, Extra::GradientMerge].into_iter().filter(|extra| has(*extra)).collect();
    Ok(Plan { exchange, becomes: replacement(switches)?, around })
}

fn through_servers(switches: &Switches) -> Result<Exchange> {
    for extra in [Extra::GradientMerge, Extra::Dgc, Extra::LocalSgd] {
        if switches.extras.contains(&extra) {
            let what = format!("`{}` is about workers without parameter servers", extra.name());
            return Err(Error::new(Kind::Unsupported, what)
                .help("leave it off, or start the job without servers and call fleet.init(is_collective=True)"));
        }
    }
    match (switches.a_sync, switches.k_steps) {
        (false, ..=0) => Ok(Exchange::Servers(Strategy::Sync, 0)),
        (true, ..=0) => Ok(Exchange::Servers(Strategy::Async, 0)),
        (true, k) => Ok(Exchange::Servers(Strategy::Geo, k as usize)),
        (false, k) => Err(Error::new(Kind::Argument, format!("`a_sync` is off, and `k_steps` is {k}")).help(
            "to exchange every few steps (GEO) set a_sync = True before a_sync_configs; workers in step exchange every step",
        )),
    }
}

fn replacement(switches: &Switches) -> Result<Option<Extra>> {
    let mut found: Option<Extra> = None;
    for extra in switches.extras.iter().copied() {
        let Some(replaces) = extra.replaces() else { continue };
        if let Some(other) = found {
            let what = format!("`{}` and `{}` both replace the optimizer", other.name(), extra.name());
            return Err(Error::new(Kind::Argument, what).help("choose one of them"));
        }
        if switches.rule != replaces {
            let what = format!("`{}` replaces {replaces}, and the optimizer is {}", extra.name(), switches.rule);
            return Err(
                Error::new(Kind::Argument, what).help(format!("use {replaces}, or leave `{}` off", extra.name()))
            );
        }
        found = Some(extra);
    }
    Ok(found)
}

/// Has the startup program run? A worker's communicator takes over what it fetched.
pub fn check_started(startup: &Program, scope: &Scope) -> Result<()> {
    let block = startup.global();
    let written = block.ops.iter().flat_map(|op| op.outputs.args());
    let mut kept = written.filter(|name| block.var(name).is_some_and(|v| v.persistable));
    let empty = |name: &str| scope.find(name).is_none_or(|var| matches!(*var.read(), Value::Empty));
    match kept.find(|name| empty(name)) {
        None => Ok(()),
        Some(name) => {
            let what = format!("fleet.init_worker() came before the startup program: `{name}` has no value yet");
            Err(Error::new(Kind::Missing, what)
                .help("call exe.run(paddle.static.default_startup_program()) first, then fleet.init_worker()"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switches(servers: usize, workers: usize, extras: &[Extra]) -> Switches {
        Switches { a_sync: true, k_steps: -1, extras: extras.to_vec(), servers, workers, rule: "momentum".into() }
    }

    #[test]
    fn a_sync_and_k_steps_say_who_waits() {
        let of = |a_sync, k_steps| plan(&Switches { a_sync, k_steps, ..switches(2, 2, &[]) }).map(|p| p.exchange);
        assert_eq!(of(true, -1).unwrap(), Exchange::Servers(Strategy::Async, 0));
        assert_eq!(of(false, 0).unwrap(), Exchange::Servers(Strategy::Sync, 0));
        assert_eq!(of(true, 7).unwrap(), Exchange::Servers(Strategy::Geo, 7));
        assert_eq!(
            of(false, 7).unwrap_err().to_string(),
            "error[argument]: `a_sync` is off, and `k_steps` is 7\n  help: to exchange every few steps (GEO) set a_sync = True \
             before a_sync_configs; workers in step exchange every step"
        );
    }

    #[test]
    fn without_servers_workers_are_equal() {
        assert_eq!(plan(&switches(0, 1, &[Extra::LocalSgd])).unwrap().exchange, Exchange::Local);
        let of = |extras: &[Extra]| plan(&switches(0, 4, extras)).unwrap().exchange;
        assert_eq!(of(&[]), Exchange::Workers(CollectiveMode::GradAllreduce));
        assert_eq!(of(&[Extra::LocalSgd]), Exchange::Workers(CollectiveMode::LocalSgd));
    }

    #[test]
    fn what_does_not_go_together_is_named() {
        let error = |servers, extras: &[Extra]| plan(&switches(servers, 2, extras)).unwrap_err().report().what.clone();
        assert_eq!(error(0, &[Extra::Lars, Extra::Dgc]), "`lars` and `dgc` both replace the optimizer");
        assert_eq!(error(0, &[Extra::Lamb]), "`lamb` replaces adam, and the optimizer is momentum");
        assert_eq!(error(1, &[Extra::Dgc]), "`dgc` is about workers without parameter servers");
        let both = plan(&switches(0, 1, &[Extra::GradientMerge, Extra::Recompute, Extra::Dgc])).unwrap();
        assert_eq!((both.around, both.becomes), (vec![Extra::Recompute, Extra::GradientMerge], Some(Extra::Dgc)));
    }
}
