//! The operating-system calls that need `unsafe`, behind safe functions. Knows nothing of tensors or programs.
#![allow(unsafe_code, reason = "system calls")]

mod exit;
mod mpi;
mod net;
mod pages;
mod process;
#[cfg(all(test, target_os = "linux"))]
mod rerun;
mod shared;

pub use exit::at_exit;
pub use mpi::{Mpi, Transit};
pub use net::network_devices;
pub use pages::Pages;
pub use process::{Caught, Signals, spawn_bound};
pub use shared::{SharedMemory, sleep_while, wake_all};

/// Bytes of a huge page on the systems we run on.
pub const HUGE_PAGE: usize = 2 << 20;
