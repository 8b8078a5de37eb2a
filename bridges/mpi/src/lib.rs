#![doc = include_str!("../README.md")]

mod call;
mod collectives;
mod communicator;
mod data_parallel;
mod run;
mod worker;

pub use collectives::*;
pub use communicator::Communicator;
pub use data_parallel::{BucketTimes, DataParallel, Timeline};
pub use run::run;
