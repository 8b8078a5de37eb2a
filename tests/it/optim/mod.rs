//! Optimizers: their formulas, what they do to a model, what they save; schedules and clipping.

mod clip;
mod models;
mod refused;
mod schedules;
mod state;
mod updates;
