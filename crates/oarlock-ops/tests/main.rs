//! The operators against values that the predecessor computed, and in whole programs.
mod control_flow;
mod double_gradient;
mod golden_backward;
mod golden_cases;
mod golden_programs;
mod refused;
mod shapes;
