mod datasets;
mod failures;
mod fixture;
mod readers;
mod tables;
mod tools;
