//! The guide: chapters from your first function to how the engine works.
//!
//! | chapter | read it if you |
//! |---|---|
//! | [Ten minutes](ten_minutes) | want a first program: a function, a model, training, saving |
//! | [Elementwise functions](elementwise) | have a formula for each element, row, step in time or pair: the derivative is generated |
//! | [Write a function](write_a_function) | have a kernel and its gradient: from eˣ to attention, one thing at a time |
//! | [Autograd inside a function](autograd_inside) | write reversible networks, adjoints or implicit layers |
//! | [Linear operators and equations](linear_operators_and_equations) | have a tomograph, a resampling, or an implicit function |
//! | [Many examples](many_examples) | want per-example gradients, batched Jacobians, or simulations |
//! | [What the compiler checks](what_the_compiler_checks) | want to know what can go wrong: ninety-nine mistakes, and the message of each |
//! | [From PyTorch](from_pytorch) | know `torch.autograd`, `torch.nn` and `torch.optim` |
//! | [From burn and candle](from_burn_and_candle) | know these frameworks |
//! | [Other frameworks](take_it_with_you) | have a model in PyTorch, JAX, candle, tch or burn, and a function here |
//! | [Distributed training](many_processors) | train on several processes or machines, over MPI |
//! | [How the engine works](how_the_engine_works) | want to look inside, with experiments |
//! | [Speed](speed) | want fast functions |
//!
//! Start with [Ten minutes](ten_minutes). [Elementwise functions](elementwise) are the easiest to write, and [Write a
//! function](write_a_function) has all others. The other chapters can be read in any order. Modules and optimizers
//! need the feature `nn`, and pictures need `graph`; the feature `full` has both.
//!
//! This module contains only text. Its code runs with the documentation tests.

#[doc = include_str!("../docs/ten_minutes.md")]
///
/// [Write a function]: write_a_function
/// [`kernels`]: crate::kernels
/// [`ops`]: crate::ops
pub mod ten_minutes {}

#[doc = include_str!("../docs/elementwise.md")]
///
/// [`Real`]: crate::Real
/// [`Error`]: crate::Error
/// [Write a function]: write_a_function
pub mod elementwise {}

#[doc = include_str!("../docs/write_a_function.md")]
///
/// [Elementwise functions]: elementwise
/// [Shapes]: linear_operators_and_equations#shapes
/// [`custom_function`]: macro@crate::custom_function
/// [`math!`]: crate::math
/// [`Gradcheck`]: crate::Gradcheck
/// [`kernels`]: crate::kernels
/// [`kernels::Lu`]: crate::kernels::Lu
/// [`ops`]: crate::ops
/// [`Tensor::scaled_dot_product_attention`]: crate::Tensor::scaled_dot_product_attention
/// [What the compiler checks]: what_the_compiler_checks
/// [Speed]: speed
/// [`jvp`]: fn@crate::jvp
/// [`graph::html`]: crate::graph::html
/// [`catalogue::html`]: crate::catalogue::html
/// [`detect_anomaly`]: crate::detect_anomaly
/// [`Error`]: crate::Error
pub mod write_a_function {}

#[doc = include_str!("../docs/autograd_inside.md")]
///
/// [`Error`]: crate::Error
/// [`Grad`]: crate::Grad
/// [`checkpoint`]: crate::checkpoint
/// [`is_grad_enabled`]: crate::is_grad_enabled
/// [Speed]: speed
pub mod autograd_inside {}

#[doc = include_str!("../docs/linear_operators_and_equations.md")]
///
/// [`vmap`]: crate::functional::vmap
/// [`Error`]: crate::Error
pub mod linear_operators_and_equations {}

#[doc = include_str!("../docs/many_examples.md")]
///
/// [`vmap`]: crate::functional::vmap
/// [`functional`]: crate::functional
/// [`ExampleError`]: crate::functional::ExampleError
/// [`checkpoint`]: fn@crate::checkpoint
pub mod many_examples {}

#[doc = include_str!("../docs/what_the_compiler_checks.md")]
pub mod what_the_compiler_checks {}

#[doc = include_str!("../docs/from_pytorch.md")]
///
/// [What the compiler checks]: what_the_compiler_checks
/// [`Gradcheck`]: crate::Gradcheck
/// [`saved_tensors_hooks`]: crate::saved_tensors_hooks
/// [`detect_anomaly`]: crate::detect_anomaly
/// [`TensorD`]: crate::TensorD
/// [`functional::jacobian`]: crate::functional::jacobian
/// [`functional::vmap`]: crate::functional::vmap
/// [`replayed`]: crate::replayed
/// [`graph`]: mod@crate::graph
/// [`nn::save_checkpoint`]: crate::nn::save_checkpoint
/// [`jvp`]: fn@crate::jvp
/// [`Forward`]: crate::nn::Forward
/// [`Parameter`]: crate::nn::Parameter
/// [`Buffer`]: crate::nn::Buffer
/// [`Mode`]: crate::nn::Mode
/// [`nn::init::kaiming_uniform`]: crate::nn::init::kaiming_uniform
/// [`optim::schedule`]: crate::optim::schedule
pub mod from_pytorch {}

#[doc = include_str!("../docs/from_burn_and_candle.md")]
///
/// [Write a function]: write_a_function
/// [`Forward`]: crate::nn::Forward
pub mod from_burn_and_candle {}

#[doc = include_str!("../docs/take_it_with_you.md")]
///
/// [`Tensor::from_owner`]: crate::Tensor::from_owner
/// [`Recording`]: crate::foreign::Recording
pub mod take_it_with_you {}

#[doc = include_str!("../docs/many_processors.md")]
pub mod many_processors {}

#[doc = include_str!("../docs/how_the_engine_works.md")]
///
/// [`jvp`]: fn@crate::jvp
/// [`graph::html`]: crate::graph::html
pub mod how_the_engine_works {}

#[doc = include_str!("../docs/speed.md")]
///
/// [Elementwise functions]: elementwise
/// [Write a function]: write_a_function
/// [`kernels`]: crate::kernels
/// [`checkpoint`]: fn@crate::checkpoint
/// [`checkpoint_steps`]: crate::checkpoint_steps
/// [`memory::set_limit`]: crate::memory::set_limit
/// [`memory::empty_cache`]: crate::memory::empty_cache
/// [`kernels::set_threads`]: crate::kernels::set_threads
/// [`graph::trace`]: fn@crate::graph::trace
/// [`graph::html`]: crate::graph::html
/// [`Graph::totals`]: crate::graph::Graph::totals
pub mod speed {}
