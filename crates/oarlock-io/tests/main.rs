//! Files as users see them. One binary, a module per concern.

mod data;
mod files;
