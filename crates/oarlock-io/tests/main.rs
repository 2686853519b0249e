//! Files as users meet them. One binary, a module per concern.

mod data;
mod files;
