//! What the benchmark of parameter servers is made of.

pub(crate) mod cluster;
pub(crate) mod joined;
pub(crate) mod networks;
