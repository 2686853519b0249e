//! The public face of the crate: what its users see.
mod data;
