//! What is trained.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::ndarray::{Array, ArrayView, ArrayViewD, ArrayViewMut, ArrayViewMutD, Dimension};
use crate::{AnyTensor, Element, Tensor};

/// A leaf that requires grad: what an optimiser changes. It derefs to its [`Tensor`].
///
/// A clone shares gradient and identity: two fields that hold clones of one parameter are *tied*. They are
/// listed once, saved once and trained as one. Their values are equal after every step; a clone that stands
/// outside the module keeps the value of its time. For an independent copy write
/// `Parameter::new(parameter.to_array())`.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::Parameter;
///
/// let w = Parameter::new(array![1.0, 2.0]);
/// (&*w * 3.0).sum().backward()?;
/// assert_eq!(w.grad(), Some(array![3.0, 3.0]));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone)]
pub struct Parameter<T, D> {
    tensor: Tensor<T, D>,
    id: ParameterId,
}

/// Which parameter it is: clones have one, others never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParameterId(u64);

impl ParameterId {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl<T: Element, D: Dimension> Parameter<T, D> {
    /// A parameter with this value.
    #[track_caller]
    pub fn new(value: Array<T, D>) -> Self {
        Self {
            tensor: leaf(value),
            id: ParameterId::new(),
        }
    }

    /// Sets the value; gradient and ties stay.
    ///
    /// # Panics
    /// If the shape is another.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::Parameter;
    ///
    /// let mut w = Parameter::new(array![1.0, 2.0]);
    /// w.set(array![5.0, 6.0].view());
    /// assert_eq!(w.to_array(), array![5.0, 6.0]);
    /// ```
    #[track_caller]
    pub fn set(&mut self, value: ArrayView<'_, T, D>) {
        let shape = self.tensor.shape();
        assert!(
            value.shape() == shape,
            "a value of shape {:?} for a parameter of shape {shape:?}",
            value.shape(),
        );
        self.tensor.update(|mut own| own.assign(&value));
    }

    /// Changes the value in place; see [`Tensor::update`].
    pub fn update<R>(&mut self, change: impl FnOnce(ArrayViewMut<'_, T, D>) -> R) -> R {
        self.tensor.update(change)
    }
}

/// A leaf whose elements lie in row-major order, which no update changes.
#[track_caller]
fn leaf<T: Element, D: Dimension>(value: Array<T, D>) -> Tensor<T, D> {
    let value = if value.is_standard_layout() {
        value
    } else {
        value.as_standard_layout().into_owned()
    };
    Tensor::from(value).set_requires_grad(true)
}

impl<T, D> Deref for Parameter<T, D> {
    type Target = Tensor<T, D>;

    fn deref(&self) -> &Tensor<T, D> {
        &self.tensor
    }
}

impl<T: Element, D: Dimension> From<Array<T, D>> for Parameter<T, D> {
    #[track_caller]
    fn from(value: Array<T, D>) -> Self {
        Self::new(value)
    }
}

impl<T: Element, D: Dimension> fmt::Debug for Parameter<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Parameter").field(&self.tensor).finish()
    }
}

/// An array of either element type, to look at.
#[derive(Clone, Debug)]
pub enum AnyView<'a> {
    /// Of `f32`.
    F32(ArrayViewD<'a, f32>),
    /// Of `f64`.
    F64(ArrayViewD<'a, f64>),
}

/// An array of either element type, to change. Of a parameter the elements lie in row-major order.
#[derive(Debug)]
pub enum AnyViewMut<'a> {
    /// Of `f32`.
    F32(ArrayViewMutD<'a, f32>),
    /// Of `f64`.
    F64(ArrayViewMutD<'a, f64>),
}

impl AnyViewMut<'_> {
    /// Copies the elements of a tensor of the same element type and shape, which the caller has seen to.
    pub(crate) fn assign(self, value: &AnyTensor) {
        match (self, value) {
            (Self::F32(mut own), AnyTensor::F32(value)) => own.assign(&value.view()),
            (Self::F64(mut own), AnyTensor::F64(value)) => own.assign(&value.view()),
            // INVARIANT: see above.
            _ => unreachable!("values of two element types"),
        }
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
    /// The lengths of the axes.
    fn shape(&self) -> &[usize];

    /// The number of elements.
    fn len(&self) -> usize {
        self.shape().iter().product()
    }

    /// Whether there are no elements.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Which parameter it is: tied ones have one id.
    fn id(&self) -> ParameterId;

    /// A clone of the tensor, which shares value and gradient.
    fn to_any(&self) -> AnyTensor;

    /// Whether it is trained; see [`Module::requires_grad`](super::Module::requires_grad).
    fn requires_grad(&self) -> bool;

    /// Trains it from now on, or no longer. A parameter that is no longer trained forgets its gradient.
    fn set_requires_grad(&mut self, required: bool);

    /// Ties it to `other`: they share gradient and identity from now on, and this one takes over the
    /// value.
    ///
    /// # Panics
    /// If element type or shape differ.
    fn tie(&mut self, other: &dyn AnyParameter);

    /// Makes it show `tensor`, with its gradient, under the identity that it has.
    ///
    /// # Panics
    /// If element type or shape differ.
    fn show(&mut self, tensor: &AnyTensor);

    /// Changes the value in place; see [`Tensor::update`].
    fn update_any(&mut self, change: &mut dyn FnMut(AnyViewMut<'_>));

    /// Changes the value in place by what is done with the gradient; false, and nothing is done, if there is
    /// none. See [`Tensor::update_by_grad`].
    fn update_by_grad_any(&mut self, change: &mut dyn FnMut(AnyViewMut<'_>, AnyView<'_>)) -> bool;

    /// Changes the gradient in place; false if there is none. See [`Tensor::update_grad`].
    fn update_grad_any(&self, change: &mut dyn FnMut(AnyViewMut<'_>)) -> bool;

    /// Looks at the gradient without copying it; false if there is none. See [`Tensor::with_grad`].
    fn look_at_grad_any(&self, look: &mut dyn FnMut(AnyView<'_>)) -> bool;

    /// Forgets the gradient.
    fn zero_grad(&self);
}

/// A clone of the tensor, as [`AnyParameter::to_any`] gives it: where a tensor is asked for, a parameter is one.
impl From<&dyn AnyParameter> for AnyTensor {
    fn from(parameter: &dyn AnyParameter) -> Self {
        parameter.to_any()
    }
}

mod sealed {
    pub trait Sealed {}
    impl<T, D> Sealed for super::Parameter<T, D> {}
}

/// A mutable reference as that of the element type which it has.
enum Mut<'a, D> {
    F32(&'a mut Tensor<f32, D>),
    F64(&'a mut Tensor<f64, D>),
}

impl<T: Element, D: Dimension + 'static> Parameter<T, D> {
    fn split_mut(&mut self) -> Mut<'_, D> {
        let tensor: &mut dyn Any = &mut self.tensor;
        if tensor.is::<Tensor<f32, D>>() {
            // INVARIANT: it was asked.
            return Mut::F32(tensor.downcast_mut().expect("f32"));
        }
        // INVARIANT: an element is `f32` or `f64`.
        Mut::F64(tensor.downcast_mut().expect("f64"))
    }
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
        self.show(&other.to_any());
        self.id = other.id();
    }

    fn show(&mut self, tensor: &AnyTensor) {
        let same_type = tensor.to_tensor::<T>();
        match same_type.and_then(Tensor::into_dimensionality::<D>) {
            Some(tensor) if tensor.shape() == self.shape() => self.tensor = tensor,
            _ => panic!(
                "a parameter of shape {:?} cannot show a tensor of shape {:?} or of another element type",
                self.shape(),
                tensor.shape()
            ),
        }
    }

    fn update_any(&mut self, change: &mut dyn FnMut(AnyViewMut<'_>)) {
        match self.split_mut() {
            Mut::F32(tensor) => tensor.update(|value| change(AnyViewMut::F32(value.into_dyn()))),
            Mut::F64(tensor) => tensor.update(|value| change(AnyViewMut::F64(value.into_dyn()))),
        }
    }

    fn update_by_grad_any(&mut self, change: &mut dyn FnMut(AnyViewMut<'_>, AnyView<'_>)) -> bool {
        let done = match self.split_mut() {
            Mut::F32(tensor) => tensor.update_by_grad(|value, grad| {
                change(
                    AnyViewMut::F32(value.into_dyn()),
                    AnyView::F32(grad.into_dyn()),
                );
            }),
            Mut::F64(tensor) => tensor.update_by_grad(|value, grad| {
                change(
                    AnyViewMut::F64(value.into_dyn()),
                    AnyView::F64(grad.into_dyn()),
                );
            }),
        };
        done.is_some()
    }

    fn update_grad_any(&self, change: &mut dyn FnMut(AnyViewMut<'_>)) -> bool {
        let done = match self.to_any() {
            AnyTensor::F32(tensor) => tensor.update_grad(|grad| change(AnyViewMut::F32(grad))),
            AnyTensor::F64(tensor) => tensor.update_grad(|grad| change(AnyViewMut::F64(grad))),
        };
        done.is_some()
    }

    fn look_at_grad_any(&self, look: &mut dyn FnMut(AnyView<'_>)) -> bool {
        let done = match self.to_any() {
            AnyTensor::F32(tensor) => tensor.with_grad(|grad| look(AnyView::F32(grad))),
            AnyTensor::F64(tensor) => tensor.with_grad(|grad| look(AnyView::F64(grad))),
        };
        done.is_some()
    }

    fn zero_grad(&self) {
        self.tensor.zero_grad();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ndarray::{Array2, array};

    #[test]
    fn updates_of_any_type_stay_where_the_value_is() {
        let mut w = Parameter::new(Array2::<f32>::ones((3, 4)));
        let place = w.view().as_ptr();
        let w_any: &mut dyn AnyParameter = &mut w;
        let untouched = w_any.update_by_grad_any(&mut |_, _| unreachable!("there is no gradient"));
        assert!(!untouched);
        w_any.update_any(&mut |value| match value {
            AnyViewMut::F32(mut value) => value.fill(2.0),
            AnyViewMut::F64(_) => unreachable!("it is of f32"),
        });
        assert_eq!(w.to_array(), Array2::from_elem((3, 4), 2.0));
        assert_eq!(w.view().as_ptr(), place);
    }

    #[test]
    fn elements_are_in_row_major_order() {
        let w = Parameter::new(array![[1.0, 2.0], [3.0, 4.0]].reversed_axes());
        assert_eq!(w.view().as_slice(), Some(&[1.0, 3.0, 2.0, 4.0][..]));
    }

    #[test]
    fn tied_parameters_have_one_gradient() {
        let w = Parameter::new(array![1.0]);
        let mut other = Parameter::new(array![5.0]);
        assert_ne!(AnyParameter::id(&w), AnyParameter::id(&other));
        other.tie(&w);
        assert_eq!(AnyParameter::id(&w), AnyParameter::id(&other));
        w.set_grad(array![2.0]);
        assert_eq!(
            (other.grad(), other.to_array()),
            (Some(array![2.0]), array![1.0])
        );
    }

    #[test]
    #[should_panic(expected = "of shape [1] cannot show a tensor of shape [2]")]
    fn ties_need_one_shape() {
        Parameter::new(array![1.0]).tie(&Parameter::new(array![1.0, 2.0]));
    }

    #[test]
    #[should_panic(expected = "a value of shape [2] for a parameter of shape [1]")]
    fn a_value_of_another_shape_is_refused() {
        Parameter::new(array![1.0]).set(array![1.0, 2.0].view());
    }
}
