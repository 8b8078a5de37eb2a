//! The computation of a module.

/// Computes an output from an input: a tensor by reference, a tuple of them, or any other type.
///
/// ```
/// use pullback::ndarray::{Ix1, array};
/// use pullback::prelude::*;
///
/// #[derive(Module)]
/// struct Scale {
///     factor: Parameter<f64, Ix1>,
/// }
///
/// impl Forward<&Tensor1<f64>> for Scale {
///     type Output = Tensor1<f64>;
///     fn forward(&self, input: &Tensor1<f64>) -> Tensor1<f64> {
///         input * &*self.factor
///     }
/// }
///
/// let scale = Scale { factor: Parameter::new(array![2.0, 3.0]) };
/// assert_eq!(scale.forward(&Tensor::from(array![1.0, 1.0])).to_array(), array![2.0, 3.0]);
/// ```
pub trait Forward<Input> {
    /// The type of the output.
    type Output;

    /// Computes the output.
    fn forward(&self, input: Input) -> Self::Output;
}
