//! The public face of the crate: programs as Fluid 1.8 builds them, and what they compute.

mod build;
mod golden;
mod golden_runs;
mod layers;
mod nets;
mod programs;
mod train;
