//! The trait of all optimizers.

use crate::state::dict::StateDict;
use crate::state::error::StateError;
use crate::visit::Field;

/// Changes parameters by their gradients.
///
/// The model is a module, or anything that can be a module's field: a parameter, a list, a tuple. Of
/// several, or of what has no size, make one by [`Borrowed`](crate::nn::Borrowed). Tied parameters are updated
/// once. A parameter without gradient, as all frozen ones are, stays what it is, and so does what is saved
/// for it: momentum does not change without gradients.
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
    /// Updates all parameters of the model that have gradients. The first step decides which parameters
    /// there are and which groups they belong to; the memory for what is saved for a parameter is allocated when
    /// its first gradient comes. After that a step allocates nothing, except to give parts of parameters of
    /// 131,072 elements or more to other threads, for parameters of more than four axes, or where a value has
    /// another handle: it is then copied.
    ///
    /// # Panics
    /// If it is another model than in the steps before: parameters more or fewer, or others in their place. If
    /// settings contradict each other, or no parameter belongs to a group.
    #[track_caller]
    fn step(&mut self, model: &mut dyn Field);

    /// Returns the learning rate, before the scales of groups.
    fn learning_rate(&self) -> f64;

    /// Sets the learning rate from the next step on. Each group multiplies it by its scale.
    ///
    /// # Panics
    /// If it is negative or not finite.
    #[track_caller]
    fn set_learning_rate(&mut self, rate: f64);

    /// Returns a copy of the state, to save: `learning_rate`, and for each parameter that was updated its path with
    /// the kind behind it, such as `layers.0.weight.exp_avg`. Numbers are of `f64` and rank 0. Settings are not
    /// in it, and neither are the groups.
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

    /// Loads a state that was saved, of an optimizer with the same settings of a model with the same
    /// paths. The model is the one that is stepped from now on; whether there were steps before does not
    /// matter.
    ///
    /// # Errors
    /// [`StateError::Keys`] with everything that does not fit. Then nothing is changed.
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
    ///     "the state does not fit: `0.momentum_buffer` was not expected, found f64 of shape [1]"
    /// );
    /// # Ok::<(), pullback::nn::StateError>(())
    /// ```
    #[track_caller]
    fn load_state_dict(&mut self, model: &dyn Field, state: &StateDict) -> Result<(), StateError>;
}
