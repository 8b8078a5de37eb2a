//! Tests of everything that a user can rely on, in one binary: see `tests/README.md`.

#![allow(unreachable_pub, reason = "a test has no public items")]

mod adjoints;
mod backward;
mod batches;
mod behaviors;
mod browser;
mod by_name;
#[cfg(feature = "catalogue")]
mod catalogue;
mod chains;
mod checkpoint;
mod composed;
mod compositions;
mod edges;
mod elementwise;
mod entries;
mod expressions;
mod foreign;
#[cfg(feature = "catalogue")]
mod formulas;
mod forward_mode;
mod functional;
mod functional_edges;
mod functional_modes;
mod functions;
mod generated;
mod golden;
mod gradcheck;
mod gradcheck_fast;
mod grads;
mod graph;
mod graphs;
mod guide;
mod hooks;
mod house;
mod in_place;
mod init;
mod inputs;
mod kinds;
mod layers;
mod lists;
mod messages;
mod mistakes;
mod modules;
mod optim;
mod package;
mod panics;
mod pruning;
mod public_api;
mod renamed;
mod resume;
mod roots;
mod rules;
mod saved;
mod shapes;
mod short;
mod sources;
mod state;
mod thorough;
mod threads;
mod transaction;
mod transforms;
mod vmap;
