//! Passes: functions that rewrite programs, one file each.

pub mod memory;
