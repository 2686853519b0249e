//! Everything that needs operators: transpiled programs, and clusters that run them.

mod cluster;
mod golden_programs;
mod simulate;
mod trades;
mod transpile;
mod workers;
