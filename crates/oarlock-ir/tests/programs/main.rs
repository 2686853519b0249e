//! Programs of real networks, and bytes that are none.
//!
//! The small programs beside this test are always read. With `OARLOCK_GOLDEN` naming a directory of programs and
//! models, everything in it is read, too.

mod golden;
mod hostile;
mod passes;
mod random;
mod support;
