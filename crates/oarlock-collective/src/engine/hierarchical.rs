//! Workers of one machine first, then one of each machine: what crosses the network does not grow with the workers of a machine.

use oarlock_ir::Result;

use crate::call::Wait;
use crate::engine::Engine;

/// A worker's place in a group of several machines.
pub(crate) struct Layered {
    /// Places of workers, by machine; the first of each speaks for it.
    hosts: Vec<Vec<usize>>,
    me: usize,
    host: usize,
    /// The workers of this machine, if there are several.
    near: Option<Box<dyn Engine>>,
    /// Those who speak for machines, if this is one of them.
    far: Option<Box<dyn Engine>>,
}

impl Layered {
    pub(crate) fn new(
        hosts: Vec<Vec<usize>>,
        me: usize,
        near: Option<Box<dyn Engine>>,
        far: Option<Box<dyn Engine>>,
    ) -> Layered {
        let host = host_of(&hosts, me);
        Layered { hosts, me, host, near, far }
    }

    fn tell_near(&mut self, wait: &Wait<'_>, from: usize, data: &mut [u8]) -> Result<()> {
        self.near.as_mut().map_or(Ok(()), |near| near.broadcast(wait, from, data))
    }
}

fn host_of(hosts: &[Vec<usize>], place: usize) -> usize {
    hosts.iter().position(|host| host.contains(&place)).unwrap_or(0)
}

impl Engine for Layered {
    fn all_reduce(&mut self, wait: &Wait<'_>, data: &mut [u8]) -> Result<()> {
        if let Some(near) = &mut self.near {
            near.all_reduce(wait, data)?;
        }
        if let Some(far) = &mut self.far {
            far.all_reduce(wait, data)?;
        }
        self.tell_near(wait, 0, data)
    }

    fn reduce_scatter(&mut self, wait: &Wait<'_>, data: &[u8], own: &mut [u8]) -> Result<()> {
        let mut all = data.to_vec();
        self.all_reduce(wait, &mut all)?;
        own.copy_from_slice(&all[self.me * own.len()..][..own.len()]);
        Ok(())
    }

    /// Where one worker has bytes, all others have zeros: their sum.
    fn all_gather(&mut self, wait: &Wait<'_>, own: &[u8], all: &mut [u8]) -> Result<()> {
        all.fill(0);
        all[self.me * own.len()..][..own.len()].copy_from_slice(own);
        self.all_reduce(wait, all)
    }

    fn broadcast(&mut self, wait: &Wait<'_>, root: usize, data: &mut [u8]) -> Result<()> {
        let from = host_of(&self.hosts, root);
        let place = self.hosts[from].iter().position(|p| *p == root).unwrap_or(0);
        if self.host == from {
            self.tell_near(wait, place, data)?;
        }
        if let Some(far) = &mut self.far {
            far.broadcast(wait, from, data)?;
        }
        if self.host != from {
            self.tell_near(wait, 0, data)?;
        }
        Ok(())
    }

    fn flush(&mut self) {
        if let Some(far) = &mut self.far {
            far.flush();
        }
    }
}
