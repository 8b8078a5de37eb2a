//! Parameters of any element type and rank.

use std::marker::PhantomData;

use autograd_core::ndarray::{ArrayViewD, ArrayViewMutD, Dimension};
use autograd_core::{AnyTensor, Element, Tensor};
use autograd_kernels::{Any, Family};

use crate::parameter::{Parameter, ParameterId};

/// An array of either element type, to read.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::{AnyParameter, AnyView, Parameter};
///
/// let (w, v) = (Parameter::new(array![0.0_f32]), Parameter::new(array![0.0_f64]));
/// w.set_grad(array![3.0]);
/// v.set_grad(array![4.0]);
/// let mut squares = 0.0;
/// for parameter in [&w as &dyn AnyParameter, &v] {
///     parameter.with_grad_any(&mut |grad| {
///         squares += match grad {
///             AnyView::F32(grad) => grad.iter().map(|&x| f64::from(x * x)).sum::<f64>(),
///             AnyView::F64(grad) => grad.iter().map(|x| x * x).sum(),
///         };
///     });
/// }
/// assert_eq!(squares, 25.0);
/// ```
pub type AnyView<'a> = Any<Views<'a>>;

/// An array of either element type, to change. The elements of a parameter are in row-major order.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::{AnyParameter, AnyViewMut, Parameter};
///
/// let (mut w, mut v) = (Parameter::new(array![1.0_f32]), Parameter::new(array![2.0_f64]));
/// for parameter in [&mut w as &mut dyn AnyParameter, &mut v] {
///     parameter.update_any(&mut |value| match value {
///         AnyViewMut::F32(mut value) => value.fill(7.0),
///         AnyViewMut::F64(mut value) => value.fill(7.0),
///     });
/// }
/// assert_eq!((w.item(), v.item()), (7.0, 7.0));
/// ```
pub type AnyViewMut<'a> = Any<ViewsMut<'a>>;

/// [`AnyView`] of each element type.
#[derive(Debug)]
pub struct Views<'a>(PhantomData<&'a ()>);

impl<'a> Family for Views<'a> {
    type Of<T: Element> = ArrayViewD<'a, T>;
}

/// [`AnyViewMut`] of each element type.
#[derive(Debug)]
pub struct ViewsMut<'a>(PhantomData<&'a mut ()>);

impl<'a> Family for ViewsMut<'a> {
    type Of<T: Element> = ArrayViewMutD<'a, T>;
}

/// Copies the elements of a tensor of the same element type and shape.
pub(crate) fn assign(own: AnyViewMut<'_>, value: &AnyTensor) {
    match (own, value) {
        (Any::F32(mut own), AnyTensor::F32(value)) => own.assign(&value.view()),
        (Any::F64(mut own), AnyTensor::F64(value)) => own.assign(&value.view()),
        // INVARIANT: the callers compare the element types.
        _ => unreachable!("values of two element types"),
    }
}

/// A parameter of any element type and rank.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::{AnyParameter, Parameter};
///
/// let parameters: [&dyn AnyParameter; 2] =
///     [&Parameter::new(array![1.0_f32, 2.0]), &Parameter::new(array![[1.0_f64]])];
/// assert_eq!(parameters.map(AnyParameter::len), [2, 1]);
/// ```
pub trait AnyParameter: Send + Sync + sealed::Sealed {
    /// Returns the shape.
    fn shape(&self) -> &[usize];

    /// Returns the number of elements.
    fn len(&self) -> usize {
        self.shape().iter().product()
    }

    /// Returns whether the parameter has no elements.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the identity of the parameter. Tied parameters have the same.
    fn id(&self) -> ParameterId;

    /// Returns a clone of the tensor, which shares value and gradient.
    fn to_any(&self) -> AnyTensor;

    /// Returns whether the parameter is trained; see [`Module::requires_grad`](crate::nn::Module::requires_grad).
    fn requires_grad(&self) -> bool;

    /// Sets whether the parameter is trained. A frozen parameter drops its gradient.
    fn set_requires_grad(&mut self, required: bool);

    /// Ties the parameter to `other`: it takes the value of `other`, and shares its gradient and identity from now on.
    ///
    /// # Panics
    /// If the element types or shapes differ.
    fn tie(&mut self, other: &dyn AnyParameter);

    /// Replaces the tensor, with its gradient, by `tensor`; the identity stays.
    ///
    /// # Panics
    /// If the element types or shapes differ.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::{AnyParameter, Parameter};
    ///
    /// let (mut w, other) = (Parameter::new(array![1.0]), Parameter::new(array![2.0]));
    /// w.set_tensor(&other.to_any());
    /// assert!(w.item() == 2.0 && w.id() != other.id());
    /// ```
    fn set_tensor(&mut self, tensor: &AnyTensor);

    /// Changes the value in place; see [`Tensor::update`].
    fn update_any(&mut self, change: &mut dyn FnMut(AnyViewMut<'_>));

    /// Changes the value in place by the gradient. Returns false, and does nothing, if the parameter has no gradient.
    /// See [`Tensor::update_by_grad`].
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::{AnyParameter, AnyView, AnyViewMut, Parameter};
    ///
    /// let mut w = Parameter::new(array![1.0, 2.0]);
    /// let mut step = |value: AnyViewMut<'_>, grad: AnyView<'_>| {
    ///     if let (AnyViewMut::F64(mut value), AnyView::F64(grad)) = (value, grad) {
    ///         value.scaled_add(-0.5, &grad);
    ///     }
    /// };
    /// assert!(!w.update_by_grad_any(&mut step)); // no gradient yet
    /// w.set_grad(array![2.0, 4.0]);
    /// assert!(w.update_by_grad_any(&mut step));
    /// assert_eq!(w.to_array(), array![0.0, 0.0]);
    /// ```
    fn update_by_grad_any(&mut self, change: &mut dyn FnMut(AnyViewMut<'_>, AnyView<'_>)) -> bool;

    /// Changes the gradient in place. Returns false if the parameter has no gradient. See [`Tensor::update_grad`].
    fn update_grad_any(&self, change: &mut dyn FnMut(AnyViewMut<'_>)) -> bool;

    /// Reads the gradient without copying it. Returns false if the parameter has no gradient. See
    /// [`Tensor::with_grad`].
    fn with_grad_any(&self, read: &mut dyn FnMut(AnyView<'_>)) -> bool;

    /// Drops the gradient.
    fn zero_grad(&self);
}

/// Returns a clone of the tensor, like [`AnyParameter::to_any`].
impl From<&dyn AnyParameter> for AnyTensor {
    fn from(parameter: &dyn AnyParameter) -> Self {
        parameter.to_any()
    }
}

mod sealed {
    pub trait Sealed {}
    impl<T, D> Sealed for super::Parameter<T, D> {}
}

impl<T: Element, D: Dimension + 'static> AnyParameter for Parameter<T, D> {
    fn shape(&self) -> &[usize] {
        self.tensor.shape()
    }

    fn id(&self) -> ParameterId {
        self.id
    }

    fn to_any(&self) -> AnyTensor {
        self.tensor.clone().into()
    }

    fn requires_grad(&self) -> bool {
        self.tensor.requires_grad()
    }

    fn set_requires_grad(&mut self, required: bool) {
        self.tensor = self.tensor.clone().set_requires_grad(required);
    }

    fn tie(&mut self, other: &dyn AnyParameter) {
        self.set_tensor(&other.to_any());
        self.id = other.id();
    }

    fn set_tensor(&mut self, tensor: &AnyTensor) {
        let same_type = tensor.to_tensor::<T>();
        match same_type.and_then(Tensor::into_dimensionality::<D>) {
            Some(tensor) if tensor.shape() == self.shape() => self.tensor = tensor,
            _ => panic!(
                "set_tensor of a parameter of shape {:?} with a tensor of shape {:?}: the shapes or element types differ",
                self.shape(),
                tensor.shape()
            ),
        }
    }

    fn update_any(&mut self, change: &mut dyn FnMut(AnyViewMut<'_>)) {
        self.tensor
            .update(|value| change(T::into_any(value.into_dyn())));
    }

    fn update_by_grad_any(&mut self, change: &mut dyn FnMut(AnyViewMut<'_>, AnyView<'_>)) -> bool {
        let done = self.tensor.update_by_grad(|value, grad| {
            change(T::into_any(value.into_dyn()), T::into_any(grad.into_dyn()));
        });
        done.is_some()
    }

    fn update_grad_any(&self, change: &mut dyn FnMut(AnyViewMut<'_>)) -> bool {
        let done = self
            .tensor
            .update_grad(|grad| change(T::into_any(grad.into_dyn())));
        done.is_some()
    }

    fn with_grad_any(&self, read: &mut dyn FnMut(AnyView<'_>)) -> bool {
        let done = self
            .tensor
            .with_grad(|grad| read(T::into_any(grad.into_dyn())));
        done.is_some()
    }

    fn zero_grad(&self) {
        self.tensor.zero_grad();
    }
}
