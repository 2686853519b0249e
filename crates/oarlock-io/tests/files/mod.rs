//! Model files: compatible, checked, safe against crashes.

mod checkpoints;
mod common;
mod crash;
mod fluid;
mod golden;
mod hdfs;
mod hostile;
mod mismatch;
mod operators;
mod round_trip;
#[cfg(feature = "storage")]
mod storage;
