//! Parameters: the tensors that are trained.

pub(crate) mod any;

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};

use autograd_core::__private::HoldsTensor;
use autograd_core::ndarray::{Array, ArrayView, ArrayViewMut, Dimension, IxDyn};
use autograd_core::{Element, Tensor};

/// A leaf that requires grad, which an optimizer changes. It derefs to its [`Tensor`].
///
/// A clone shares gradient and identity: two fields that hold clones of one parameter are *tied*. They are listed
/// once, saved once and trained as one. Every step gives them the same value; a clone outside the module keeps its
/// value. For an independent copy write `Parameter::new(parameter.to_array())`.
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
pub struct Parameter<T, D = IxDyn> {
    tensor: Tensor<T, D>,
    id: ParameterId,
}

/// The identity of a parameter, which its clones share.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::{AnyParameter, Parameter};
///
/// let w = Parameter::new(array![1.0]);
/// let (tied, copy) = (w.clone(), Parameter::new(w.to_array()));
/// assert!(w.id() == tied.id() && w.id() != copy.id());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParameterId(u64);

impl ParameterId {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl<T: Element, D: Dimension> Parameter<T, D> {
    /// Creates a parameter with this value.
    #[track_caller]
    pub fn new(value: Array<T, D>) -> Self {
        Self {
            tensor: leaf(value),
            id: ParameterId::new(),
        }
    }

    /// Sets the value. The gradient and the ties stay.
    ///
    /// # Panics
    /// If the value does not have the parameter's shape.
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

/// Creates a leaf with elements in row-major order, which every update keeps.
#[track_caller]
fn leaf<T: Element, D: Dimension>(value: Array<T, D>) -> Tensor<T, D> {
    let value = if value.is_standard_layout() {
        value
    } else {
        value.as_standard_layout().into_owned()
    };
    Tensor::from(value).set_requires_grad(true)
}

// A function that takes a parameter as a value would not train it.
impl<T, D> HoldsTensor for Parameter<T, D> {
    const AS_SKIPPED: bool = true;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::any::{AnyParameter, AnyViewMut};
    use autograd_core::ndarray::{Array2, array};

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
    #[should_panic(expected = "set_tensor of a parameter of shape [1] with a tensor of shape [2]")]
    fn ties_need_one_shape() {
        Parameter::new(array![1.0]).tie(&Parameter::new(array![1.0, 2.0]));
    }

    #[test]
    #[should_panic(expected = "a value of shape [2] for a parameter of shape [1]")]
    fn a_value_of_another_shape_is_refused() {
        Parameter::new(array![1.0]).set(array![1.0, 2.0].view());
    }
}
