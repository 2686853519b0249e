//! Which server holds which rows of which variable.
//!
//! A placement is plain data, computed alike by every process of a job. This module knows names and sizes; it knows no
//! program and no network.

mod dispatch;
mod partition;
mod shard;
mod shuffle;

use std::fmt;

use indexmap::IndexMap;
use oarlock_ir::{Error, Kind, Name, Result};

pub use dispatch::{Dispatcher, HashName, MakeDispatcher, RoundRobin, SplitMethod};
pub use partition::block_name;
pub use partition::{Partition, VarBlock, partition};
pub use shard::server_of_id;
pub use shuffle::shuffle;

/// A variable to place.
#[derive(Debug, Clone, PartialEq)]
pub struct Placeable {
    /// Its name.
    pub name: Name,
    /// Its sizes, all known.
    pub dims: Vec<usize>,
    /// May it be partitioned? An update that looks at a whole parameter (at its norm, say) needs it in one piece.
    pub divisible: bool,
}

/// A block and the server that holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// The block.
    pub block: VarBlock,
    /// The index of its server.
    pub server: usize,
}

/// Where every block of every variable lives.
#[derive(Debug, Clone, PartialEq)]
pub struct Placement {
    servers: Vec<String>,
    vars: IndexMap<Name, Vec<Placed>>,
}

impl Placement {
    /// Partitions variables and deals their blocks out to servers, in the order of the variables.
    ///
    /// The order in which they are dealt may differ from that of `vars`: `order` lists their indices.
    pub fn new(
        vars: &[Placeable],
        order: &[usize],
        rule: Partition,
        servers: Vec<String>,
        method: &SplitMethod,
    ) -> Result<Placement> {
        let mut dispatcher = method.dispatcher(&servers);
        let mut placed: IndexMap<Name, Vec<Placed>> = vars.iter().map(|v| (v.name.clone(), Vec::new())).collect();
        for var in order.iter().filter_map(|i| vars.get(*i)) {
            let pieces = if var.divisible { rule } else { Partition { pieces: 1, ..rule } };
            let blocks = partition(&var.name, &var.dims, pieces);
            let chosen = dispatcher.dispatch(&blocks)?;
            check(&var.name, &chosen, blocks.len(), servers.len())?;
            let pairs = blocks.into_iter().zip(chosen).map(|(block, server)| Placed { block, server });
            placed.insert(var.name.clone(), pairs.collect());
        }
        Ok(Placement { servers, vars: placed })
    }

    /// The servers, by index.
    pub fn servers(&self) -> &[String] {
        &self.servers
    }

    /// The address of a server.
    pub fn endpoint(&self, placed: &Placed) -> &str {
        &self.servers[placed.server]
    }

    /// The blocks of a variable, in order of their rows; none if it was not placed.
    pub fn blocks(&self, var: &str) -> &[Placed] {
        self.vars.get(var).map_or(&[], Vec::as_slice)
    }

    /// Every variable with its blocks.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &[Placed])> {
        self.vars.iter().map(|(name, blocks)| (name, blocks.as_slice()))
    }
}

impl fmt::Display for Placement {
    /// A line per block: its name, sizes and server.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for placed in self.vars.values().flatten() {
            writeln!(f, "{} {:?} on {}", placed.block.name(), placed.block.dims, self.endpoint(placed))?;
        }
        Ok(())
    }
}

/// A dispatcher may come from outside: it must name one existing server for every block.
fn check(var: &Name, chosen: &[usize], blocks: usize, servers: usize) -> Result<()> {
    if chosen.len() != blocks {
        let what = format!("the dispatcher placed {} blocks of `{var}`, which has {blocks}", chosen.len());
        return Err(Error::new(Kind::Argument, what).help("return one server for every block that it was given"));
    }
    match chosen.iter().find(|server| **server >= servers) {
        Some(server) => {
            let what = format!("the dispatcher placed a block of `{var}` on server {server}; there are {servers}");
            Err(Error::new(Kind::Argument, what).help("return indices of the list of servers, counted from 0"))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn var(name: &str, dims: &[usize]) -> Placeable {
        Placeable { name: name.into(), dims: dims.to_vec(), divisible: true }
    }

    fn vars() -> Vec<Placeable> {
        let shapes: [(&str, &[usize]); 5] = [
            ("fc_0.b_0", &[64]),
            ("fc_0.w_0", &[221, 64]),
            ("fc_1.b_0", &[64]),
            ("fc_1.w_0", &[64, 2]),
            ("tab", &[2000, 8]),
        ];
        shapes.iter().map(|(name, dims)| var(name, dims)).collect()
    }

    fn place(method: &SplitMethod) -> Result<Vec<Vec<usize>>> {
        let (vars, order) = (vars(), [0, 1, 2, 3, 4]);
        let rule = Partition { pieces: 2, min_block_size: 1024 };
        let placement = Placement::new(&vars, &order, rule, vec!["a:1".into(), "b:2".into()], method)?;
        Ok(placement.iter().map(|(_, blocks)| blocks.iter().map(|b| b.server).collect()).collect())
    }

    #[test]
    fn round_robin_runs_on_from_variable_to_variable() {
        let expected: [&[usize]; 5] = [&[0], &[1, 0], &[1], &[0], &[1, 0]];
        assert_eq!(place(&SplitMethod::RoundRobin).unwrap(), expected);
    }

    #[test]
    fn names_decide_alike_in_every_process() {
        let expected: [&[usize]; 5] = [&[0], &[0, 1], &[1], &[0], &[1, 0]];
        assert_eq!(place(&SplitMethod::HashName).unwrap(), expected);
    }

    #[test]
    fn what_needs_to_be_whole_is_not_cut() {
        let whole = Placeable { divisible: false, ..var("w", &[4000, 8]) };
        let rule = Partition { pieces: 2, min_block_size: 1 };
        let servers = vec!["a:1".to_string(), "b:2".to_string()];
        let placement = Placement::new(&[whole], &[0], rule, servers, &SplitMethod::RoundRobin).unwrap();
        assert_eq!(placement.to_string(), "w [4000, 8] on a:1\n");
    }

    #[test]
    fn a_custom_dispatcher_is_checked() {
        struct Always(Vec<usize>);
        impl Dispatcher for Always {
            fn dispatch(&mut self, _: &[VarBlock]) -> Result<Vec<usize>> {
                Ok(self.0.clone())
            }
        }
        let custom = |answer: &'static [usize]| {
            SplitMethod::Custom(Arc::new(move |_: &[String]| Box::new(Always(answer.to_vec()))))
        };
        assert_eq!(
            place(&custom(&[0])).unwrap_err().to_string(),
            "error[argument]: the dispatcher placed 1 blocks of `fc_0.w_0`, which has 2\n  \
             help: return one server for every block that it was given"
        );
        assert_eq!(
            place(&custom(&[2])).unwrap_err().to_string(),
            "error[argument]: the dispatcher placed a block of `fc_0.b_0` on server 2; there are 2\n  \
             help: return indices of the list of servers, counted from 0"
        );
    }
}
