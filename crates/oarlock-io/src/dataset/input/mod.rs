//! The bytes of a data set: files and patterns, compression, pipe commands. Knows nothing of what the bytes mean.

pub(crate) mod pipe;
pub(crate) mod source;
