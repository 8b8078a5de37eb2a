#![doc = include_str!("../README.md")]

mod call;
mod collectives;
mod communicator;
mod link;
mod run;
mod worker;

pub use collectives::*;
pub use communicator::Communicator;
pub use link::Link;
pub use run::run;
