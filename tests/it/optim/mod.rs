//! Optimizers: formulas, updates of models, states; schedules and clipping.

mod clip;
mod models;
mod refused;
mod schedules;
mod state;
mod updates;
