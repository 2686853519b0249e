//! The random numbers of Fluid programs.
