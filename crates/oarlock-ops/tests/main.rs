//! The operators against values that the predecessor computed.
mod golden_cases;
mod golden_programs;
