//! Everything that needs operators: transpiled programs, and clusters that run them.

mod cluster;
mod golden_programs;
mod look_ahead;
mod mpi;
mod partition;
mod simulate;
mod trades;
mod transpile;
mod workers;
