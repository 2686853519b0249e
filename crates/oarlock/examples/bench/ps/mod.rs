//! The parts of the benchmark of parameter servers.

pub(crate) mod cluster;
pub(crate) mod joined;
pub(crate) mod networks;
