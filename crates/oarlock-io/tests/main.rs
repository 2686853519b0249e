//! Files as users meet them: compatible, checked, safe against crashes. One binary, a module per concern.

mod checkpoints;
mod common;
mod crash;
mod golden;
mod hostile;
mod mismatch;
mod predecessor;
