//! Transpiled programs: compared with Fluid's, printed, and run with the operators of servers and collective workers.

mod collective;
mod golden_programs;
#[path = "../programs/mod.rs"]
mod programs;
mod transpile;
