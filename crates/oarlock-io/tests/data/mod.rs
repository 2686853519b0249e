mod datasets;
mod failures;
mod fixture;
mod tools;
