//! Which server gets the next block.

use std::fmt;
use std::sync::Arc;

use oarlock_ir::Result;

use super::VarBlock;

/// Deals blocks out to servers.
pub trait Dispatcher {
    /// The server, by index, of each block of one variable. Called once for every variable, in order.
    fn dispatch(&mut self, blocks: &[VarBlock]) -> Result<Vec<usize>>;
}

/// Makes a dispatcher for a list of servers.
pub type MakeDispatcher = dyn Fn(&[String]) -> Box<dyn Dispatcher> + Send + Sync;

/// How blocks are dealt out.
#[derive(Clone)]
pub enum SplitMethod {
    /// In turn, the count running on from variable to variable.
    RoundRobin,
    /// By the name of the block.
    HashName,
    /// By a function of the user; every process of a job must decide alike.
    Custom(Arc<MakeDispatcher>),
}

impl SplitMethod {
    /// A new dispatcher for these servers.
    pub(super) fn dispatcher(&self, servers: &[String]) -> Box<dyn Dispatcher> {
        match self {
            SplitMethod::RoundRobin => Box::new(RoundRobin { servers: servers.len(), next: 0 }),
            SplitMethod::HashName => Box::new(HashName { servers: servers.len() }),
            SplitMethod::Custom(make) => make(servers),
        }
    }
}

impl fmt::Debug for SplitMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SplitMethod::RoundRobin => "RoundRobin",
            SplitMethod::HashName => "HashName",
            SplitMethod::Custom(_) => "Custom",
        })
    }
}

/// One server after the other.
#[derive(Debug)]
pub struct RoundRobin {
    servers: usize,
    next: usize,
}

impl Dispatcher for RoundRobin {
    fn dispatch(&mut self, blocks: &[VarBlock]) -> Result<Vec<usize>> {
        let first = self.next;
        self.next += blocks.len();
        Ok((first..self.next).map(|turn| turn % self.servers).collect())
    }
}

/// The server that the block's name hashes to: adding a parameter moves no other.
#[derive(Debug)]
pub struct HashName {
    servers: usize,
}

impl Dispatcher for HashName {
    fn dispatch(&mut self, blocks: &[VarBlock]) -> Result<Vec<usize>> {
        // The remainder is smaller than the number of servers, so it fits.
        Ok(blocks.iter().map(|block| (fnv1a(&block.name()) % self.servers as u64) as usize).collect())
    }
}

/// 64-bit FNV-1a: the same on every machine and in every release, which the hashes of standard libraries are not.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[test]
fn the_hash_is_the_published_one() {
    assert_eq!(fnv1a(""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(fnv1a("a"), 0xaf63_dc4c_8601_ec8c);
    assert_eq!(fnv1a("foobar"), 0x8594_4171_f739_67e8);
}
