//! Loops over slices, compiled for several instruction sets and chosen at run time.
