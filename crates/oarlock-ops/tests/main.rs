//! The operators against values that the predecessor computed, and in whole programs.
mod control_flow;
mod golden_backward;
mod golden_cases;
mod golden_programs;
