//! Behaviours of an engine, each test named after its row in `tests/README.md`.

mod functions;
mod gradients;
mod in_place;
mod saved;
mod views;
