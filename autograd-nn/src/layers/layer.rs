//! Modules as functions of an input by reference.

use crate::forward::Forward;
use crate::module::Module;

/// A module that computes an output from `&X`, and can be part of a [`Sequential`](crate::nn::Sequential).
/// Implemented for every module that implements [`Forward`] for references to `X`; implement `Forward` in its place.
///
/// Boxed layers with the same input and output can be in one list, and are layers too:
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::{Forward, Layer, LeakyRelu, Relu};
/// use pullback::prelude::*;
///
/// type Boxed = Box<dyn Layer<Tensor1<f64>, Output = Tensor1<f64>>>;
/// let layers: [Boxed; 2] = [Box::new(LeakyRelu::new(0.5)), Box::new(Relu)];
/// let outputs = layers.map(|layer| layer.forward(&Tensor::from(array![-1.0])).item());
/// assert_eq!(outputs, [-0.5, 0.0]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a layer of `&{X}`",
    label = "does not implement `Forward<&{X}>`",
    note = "a layer is a module that implements `Forward<&{X}>`; built-in layers are of `f32` unless they are written as \
            `Linear<f64>`"
)]
pub trait Layer<X>: Module {
    /// The type of the output.
    type Output;

    /// Computes the output, like [`Forward::forward`].
    fn call(&self, input: &X) -> Self::Output;
}

// The compiler then reports "not a layer" in place of the bound that is missing.
#[diagnostic::do_not_recommend]
impl<M, X, Y> Layer<X> for M
where
    M: Module + for<'a> Forward<&'a X, Output = Y>,
{
    type Output = Y;

    #[track_caller]
    fn call(&self, input: &X) -> Y {
        self.forward(input)
    }
}

impl<X: 'static, Y: 'static> Forward<&X> for Box<dyn Layer<X, Output = Y>> {
    type Output = Y;

    fn forward(&self, input: &X) -> Y {
        (**self).call(input)
    }
}
