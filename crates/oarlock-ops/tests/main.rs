//! The operators against values that Fluid 1.8 computed, and in whole programs.
mod control_flow;
mod double_gradient;
mod golden_backward;
mod golden_cases;
mod golden_programs;
mod gradient_checks;
mod shapes;
mod unsupported;
