//! The public face of the crate: programs as Fluid 1.8 builds them, and what they compute.

mod allocations;
mod build;
mod eager;
mod errors;
mod faults;
mod fluid;
mod golden_runs;
mod high_level;
mod inference_models;
mod job_process;
mod layers;
mod nets;
mod optimizer_traits;
mod optimizers;
mod programs;
mod recurrent;
mod replicas;
mod schedules;
mod start_orders;
mod steady;
mod step_matrix;
mod tables;
mod train;
mod trainer;
mod trainer_plans;
mod twins;
