//! Optimizers, schedules of the learning rate, and clipping of gradients.
//!
//! `step` takes the model by mutable reference and changes its parameters by their gradients. The state of each
//! parameter is found by the order of the visit:
//!
//! ```
//! use pullback::ndarray::array;
//! use pullback::nn::Parameter;
//! use pullback::optim::schedule::{Cosine, LinearWarmUp, Schedule};
//! use pullback::optim::{Adam, Optimizer, clip_grad_norm};
//!
//! // Any module, or anything that can be a field of one.
//! let mut model = vec![Parameter::new(array![3.0, -2.0]), Parameter::new(array![1.0])];
//! let mut optimizer = Adam::new(0.1).param_group(|path| path == "1", |group| group.weight_decay(0.0));
//! let schedule = LinearWarmUp::new(0.1, 10).then(10, Cosine::new(0.1, 290));
//! for step in 0..300 {
//!     model.iter().for_each(|parameter| parameter.zero_grad());
//!     let loss = model[0].square().sum() + (&*model[1] + 2.0).square().sum();
//!     loss.backward()?;
//!     clip_grad_norm(&model, 10.0);
//!     optimizer.set_learning_rate(schedule.rate(step));
//!     optimizer.step(&mut model);
//! }
//! assert!((model[1].item() + 2.0_f64).abs() < 1e-3);
//! # Ok::<(), pullback::Error>(())
//! ```
//!
//! Read first [`Adam`], whose page lists its settings. Then:
//!
//! - [`Optimizer`]: the trait of all optimizers: a step, the learning rate, the state to save.
//! - [`Sgd`], [`Adam`], [`AdamW`], with groups of parameters that have different settings.
//! - [`schedule`]: learning rates as functions of the step.
//! - [`clip_grad_norm`], [`clip_grad_value`]: clipping of gradients.

mod adam;
mod clip;
mod first_order;
mod group;
mod optimizer;
mod rule;
pub mod schedule;
mod settings;
mod sgd;
mod slot;
mod state;

pub use adam::{Adam, AdamW};
pub use clip::{
    NonFiniteNorm, Norm, clip_grad_norm, clip_grad_norm_of, clip_grad_value, grad_norm,
    try_clip_grad_norm,
};
pub use first_order::FirstOrder;
pub use optimizer::Optimizer;
pub use sgd::Sgd;
