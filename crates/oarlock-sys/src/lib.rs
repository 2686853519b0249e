//! The operating-system calls that need `unsafe`, behind safe functions. Knows nothing of tensors or programs.
#![allow(unsafe_code, reason = "system calls")]

mod exit;
mod mpi;
mod net;
mod process;
mod shared;

use std::mem::MaybeUninit;

pub use exit::at_exit;
pub use mpi::{Mpi, Transit};
pub use net::network_devices;
pub use process::{Caught, Signals, spawn_bound};
pub use shared::{SharedMemory, sleep_while, wake_all};

/// Bytes of a huge page on the systems we run on.
pub const HUGE_PAGE: usize = 2 << 20;

/// Asks the system to back this memory with huge pages. Best before it is first touched. A system that cannot does nothing:
/// this changes speed (a lookup in a large table then misses the page tables less often), never contents.
pub fn prefer_huge_pages(memory: &mut [MaybeUninit<u8>]) {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: the range is memory we borrow exclusively; this advice changes no contents and no permissions. The call wants
        // whole pages at the start and fails otherwise, which is as good as not having asked.
        unsafe { libc::madvise(memory.as_mut_ptr().cast(), memory.len(), libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

#[test]
fn any_memory_will_do() {
    prefer_huge_pages(&mut []);
    prefer_huge_pages(&mut [MaybeUninit::uninit(); 100]);
    let mut large = vec![MaybeUninit::<u8>::uninit(); 3 * HUGE_PAGE];
    prefer_huge_pages(&mut large);
}
