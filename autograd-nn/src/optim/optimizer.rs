//! The trait of all optimizers.

use crate::state::dict::StateDict;
use crate::state::error::StateError;
use crate::visit::Field;

/// Changes parameters by their gradients.
///
/// The model is a module, or any other [`Field`]: a parameter, a list, a tuple. Use [`Borrowed`](crate::nn::Borrowed)
/// to make one of several models, or of a `dyn Module`. Tied parameters are updated once. A parameter without a
/// gradient, such as a frozen one, is left unchanged, with its state: momentum does not change without gradients.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::{Borrowed, Parameter};
/// use pullback::optim::{Optimizer, Sgd};
///
/// fn descend(optimizer: &mut dyn Optimizer, a: &mut Parameter<f64, pullback::ndarray::Ix1>) {
///     for _ in 0..50 {
///         a.zero_grad();
///         (&**a - 1.0).square().sum().backward().expect("a graph");
///         optimizer.step(&mut (Borrowed(a),));
///     }
/// }
///
/// let mut a = Parameter::new(array![5.0]);
/// descend(&mut Sgd::new(0.2), &mut a);
/// assert!((a.item() - 1.0).abs() < 1e-6);
/// ```
pub trait Optimizer {
    /// Updates all parameters of the model that have gradients. The first step fixes the list of parameters and their
    /// groups. The state of a parameter is allocated at its first gradient. After that a step allocates memory in
    /// three cases only: to share parameters of 131,072 elements or more between threads, for parameters of more than
    /// four axes, and to copy a value that has another handle.
    ///
    /// # Panics
    /// If the parameters are not those of the previous step, if settings contradict each other, or if a group has no
    /// parameters.
    #[track_caller]
    fn step(&mut self, model: &mut dyn Field);

    /// Returns the learning rate, without the factors of groups.
    fn learning_rate(&self) -> f64;

    /// Sets the learning rate of the following steps. Each group multiplies it by its factor.
    ///
    /// # Panics
    /// If the rate is negative or not finite.
    #[track_caller]
    fn set_learning_rate(&mut self, rate: f64);

    /// Returns a copy of the state, to save it: `learning_rate`, and for each parameter that was updated entries such
    /// as `layers.0.weight.exp_avg`, named by its path and their kind. Numbers are tensors of `f64` and rank 0.
    /// Settings and groups are not part of the state.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::Parameter;
    /// use pullback::optim::{Optimizer, Sgd};
    ///
    /// let mut model = vec![Parameter::new(array![1.0, 2.0])];
    /// model[0].set_grad(array![3.0, 4.0]);
    /// let mut optimizer = Sgd::new(0.5).momentum(0.9);
    /// optimizer.step(&mut model);
    /// let state = optimizer.state_dict();
    /// let names: Vec<&str> = state.names().collect();
    /// assert_eq!(names, ["0.momentum_buffer", "0.step", "learning_rate"]);
    /// ```
    fn state_dict(&self) -> StateDict;

    /// Loads a state that an optimizer with the same settings saved, for a model with the same paths. The following
    /// steps must use this model. Previous steps of this optimizer are forgotten.
    ///
    /// # Errors
    /// [`StateError::Keys`] with everything that does not fit. Nothing is changed then.
    ///
    /// # Panics
    /// If settings contradict each other, or no parameter belongs to a group.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::Parameter;
    /// use pullback::optim::{Optimizer, Sgd};
    ///
    /// let mut model = vec![Parameter::new(array![1.0])];
    /// model[0].set_grad(array![1.0]);
    /// let mut optimizer = Sgd::new(0.5).momentum(0.5);
    /// optimizer.step(&mut model);
    ///
    /// let mut resumed = Sgd::new(0.5).momentum(0.5);
    /// resumed.load_state_dict(&model, &optimizer.state_dict())?;
    /// resumed.step(&mut model);
    /// assert_eq!(model[0].item(), 1.0 - 0.5 * 1.0 - 0.5 * 1.5);
    ///
    /// let error = Sgd::new(0.5).load_state_dict(&model, &optimizer.state_dict()).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "the state does not fit: `0.momentum_buffer` is unexpected, found f64 of shape [1]"
    /// );
    /// # Ok::<(), pullback::nn::StateError>(())
    /// ```
    #[track_caller]
    fn load_state_dict(&mut self, model: &dyn Field, state: &StateDict) -> Result<(), StateError>;
}
