//! Behaviors of an engine, each test named after its row in `tests/README.md`.

mod checks;
mod engine;
mod functions;
mod gradients;
mod in_place;
mod lifetimes;
mod reentrant;
mod saved;
mod views;
