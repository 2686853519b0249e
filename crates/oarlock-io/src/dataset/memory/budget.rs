//! How much memory a data set may take: noticed before the machine runs out, because afterwards there is no memory to report it.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use oarlock_ir::{Error, Kind, Result};

/// How much memory a data set may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryLimit {
    /// The memory of the machine, but for a reserve of a twentieth of it and no less than 256 MiB.
    Machine,
    /// At most this number of bytes, and no more than the machine has.
    Bytes(u64),
}

/// Memory is asked for in steps of this; the machine is looked at once per step.
const STEP: u64 = 16 << 20;

const LEAST_RESERVE: u64 = 256 << 20;

/// Counts what is taken, over all threads.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: MemoryLimit,
    taken: AtomicU64,
}

impl Budget {
    /// With `taken` bytes in use already.
    pub(crate) fn new(limit: MemoryLimit, taken: u64) -> Budget {
        Budget { limit, taken: AtomicU64::new(taken) }
    }

    /// Takes `bytes` more, or says why not.
    pub(crate) fn take(&self, bytes: u64) -> Result<()> {
        let before = self.taken.fetch_add(bytes, Ordering::Relaxed);
        let now = before + bytes;
        if let MemoryLimit::Bytes(most) = self.limit
            && now > most
        {
            return Err(too_much(before, &format!("the limit is {}", Size(most))));
        }
        // A first look before anything is taken: the machine may be full already.
        if (before == 0 || before / STEP != now / STEP)
            && let Some(memory) = Memory::of_machine()
            && memory.left < bytes + (memory.total / 20).max(LEAST_RESERVE)
        {
            return Err(too_much(before, &format!("{} of {} are left", Size(memory.left), Size(memory.total))));
        }
        Ok(())
    }

    pub(crate) fn give_back(&self, bytes: u64) {
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
    }
}

fn too_much(taken: u64, why: &str) -> Error {
    let what = format!("the dataset does not fit into memory: it takes {} so far, and {why}", Size(taken));
    Error::new(Kind::Range, what)
        .help("use a QueueDataset, which streams; or give each trainer fewer files; or raise the memory limit")
}

/// Memory of the machine, or of the container that this process runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Memory {
    total: u64,
    left: u64,
}

impl Memory {
    fn of_machine() -> Option<Memory> {
        let machine = Memory::from_meminfo(&fs::read_to_string("/proc/meminfo").ok()?)?;
        Some(Memory::of_container().filter(|c| c.left < machine.left).unwrap_or(machine))
    }

    fn from_meminfo(text: &str) -> Option<Memory> {
        let field = |name: &str| -> Option<u64> {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.trim_end_matches("kB").trim().parse::<u64>().ok()? << 10)
        };
        Some(Memory { total: field("MemTotal:")?, left: field("MemAvailable:")? })
    }

    /// The limit of the control group (version 2), where there is one.
    fn of_container() -> Option<Memory> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
        Memory::from_group(&Path::new("/sys/fs/cgroup").join(group))
    }

    fn from_group(dir: &Path) -> Option<Memory> {
        let read = |name: &str| fs::read_to_string(dir.join(name)).ok();
        let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
        // `max` instead of a number means no limit.
        let total = number("memory.max")?;
        // Pages of files that were not used lately are given back when needed.
        let cached = read("memory.stat")
            .and_then(|s| s.lines().find_map(|l| l.strip_prefix("inactive_file "))?.trim().parse().ok())
            .unwrap_or(0u64);
        Some(Memory { total, left: (total + cached).saturating_sub(number("memory.current")?) })
    }
}

/// A number of bytes, as people read it.
pub(crate) struct Size(pub(crate) u64);

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            n if n < 1 << 20 => write!(f, "{:.1} KiB", n as f64 / f64::from(1 << 10)),
            n if n < 1 << 30 => write!(f, "{:.1} MiB", n as f64 / f64::from(1 << 20)),
            n => write!(f, "{:.1} GiB", n as f64 / f64::from(1 << 30)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_limit_is_kept_and_explained() {
        let budget = Budget::new(MemoryLimit::Bytes(3 << 20), 0);
        assert!(budget.take(2 << 20).is_ok());
        assert_eq!(
            budget.take(2 << 20).unwrap_err().to_string(),
            "error[range]: the dataset does not fit into memory: it takes 2.0 MiB so far, and the limit is 3.0 MiB\n  \
             help: use a QueueDataset, which streams; or give each trainer fewer files; or raise the memory limit"
        );
    }

    #[test]
    fn the_memory_of_the_machine_is_found() {
        let text = "MemTotal:       24000000 kB\nMemFree:  1 kB\nMemAvailable:   12000000 kB\n";
        assert_eq!(Memory::from_meminfo(text), Some(Memory { total: 24_000_000 << 10, left: 12_000_000 << 10 }));
        assert_eq!(Memory::from_meminfo("nonsense"), None);
        assert!(Memory::of_machine().is_some_and(|m| m.left <= m.total));
        // No machine has this much, so it must be refused.
        let error = Budget::new(MemoryLimit::Machine, 0).take(1 << 60).unwrap_err();
        assert!(error.to_string().contains("are left"), "{error}");
    }
}
