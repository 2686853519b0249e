//! The hierarchical engine: ranks of one machine first, then one rank of each machine, so that network traffic does not grow with the
//! number of ranks on a machine.

use oarlock_ir::Result;

use crate::call::Wait;
use crate::engine::Engine;

/// A rank in a group of several machines.
pub(crate) struct HierarchicalEngine {
    /// Places of ranks, by machine; the first of each exchanges with other machines.
    hosts: Vec<Vec<usize>>,
    me: usize,
    host: usize,
    /// The engine inside this machine, if it has several ranks.
    near: Option<Box<dyn Engine>>,
    /// The engine between machines, if this is the first rank of its machine.
    far: Option<Box<dyn Engine>>,
}

impl HierarchicalEngine {
    pub(crate) fn new(
        hosts: Vec<Vec<usize>>,
        me: usize,
        near: Option<Box<dyn Engine>>,
        far: Option<Box<dyn Engine>>,
    ) -> HierarchicalEngine {
        let host = host_of(&hosts, me);
        HierarchicalEngine { hosts, me, host, near, far }
    }

    fn broadcast_near(&mut self, wait: &Wait<'_>, from: usize, data: &mut [u8]) -> Result<()> {
        self.near.as_mut().map_or(Ok(()), |near| near.broadcast(wait, from, data))
    }
}

fn host_of(hosts: &[Vec<usize>], place: usize) -> usize {
    hosts.iter().position(|host| host.contains(&place)).unwrap_or(0)
}

impl Engine for HierarchicalEngine {
    fn all_reduce(&mut self, wait: &Wait<'_>, data: &mut [u8]) -> Result<()> {
        if let Some(near) = &mut self.near {
            near.all_reduce(wait, data)?;
        }
        if let Some(far) = &mut self.far {
            far.all_reduce(wait, data)?;
        }
        self.broadcast_near(wait, 0, data)
    }

    fn reduce_scatter(&mut self, wait: &Wait<'_>, data: &[u8], own: &mut [u8]) -> Result<()> {
        let mut all = data.to_vec();
        self.all_reduce(wait, &mut all)?;
        own.copy_from_slice(&all[self.me * own.len()..][..own.len()]);
        Ok(())
    }

    /// Where one rank has bytes, all others have zeros: their sum.
    fn all_gather(&mut self, wait: &Wait<'_>, own: &[u8], all: &mut [u8]) -> Result<()> {
        all.fill(0);
        all[self.me * own.len()..][..own.len()].copy_from_slice(own);
        self.all_reduce(wait, all)
    }

    fn broadcast(&mut self, wait: &Wait<'_>, root: usize, data: &mut [u8]) -> Result<()> {
        let from = host_of(&self.hosts, root);
        let place = self.hosts[from].iter().position(|p| *p == root).unwrap_or(0);
        if self.host == from {
            self.broadcast_near(wait, place, data)?;
        }
        if let Some(far) = &mut self.far {
            far.broadcast(wait, from, data)?;
        }
        if self.host != from {
            self.broadcast_near(wait, 0, data)?;
        }
        Ok(())
    }

    fn flush(&mut self) {
        if let Some(far) = &mut self.far {
            far.flush();
        }
    }
}
