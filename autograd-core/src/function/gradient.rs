//! Gradients in the forms that backward functions take and return.

use std::fmt;

use ndarray::{Array, ArrayView, Dimension};

use crate::array::{Buffer, PackedShape};
use crate::tape::Gradient;
use crate::tensor::Tensor;
use autograd_kernels::Element;

/// The gradient of one output, for backward functions that take it as a view, an array or a tensor.
pub struct GradOutput<'a, T, D> {
    value: Value<T, D>,
    /// `None` without an output.
    shape: Option<&'a PackedShape>,
    /// The zeros that replace an undefined gradient.
    zeros: Option<Tensor<T, D>>,
}

enum Value<T, D> {
    /// No gradient, which counts as zeros.
    Undefined,
    Buffer(Buffer<T>),
    Tensor(Tensor<T, D>),
}

impl<'a, T: Element, D: Dimension> GradOutput<'a, T, D> {
    #[inline]
    pub(crate) fn new(gradient: Option<Gradient<T>>, shape: &'a PackedShape) -> Self {
        let value = match gradient {
            None => Value::Undefined,
            Some(Gradient::Owned(buffer) | Gradient::Constant(buffer)) => Value::Buffer(buffer),
            Some(Gradient::Tensor(tensor)) => Value::Tensor(Tensor::from_raw(*tensor)),
        };
        Self {
            value,
            shape: Some(shape),
            zeros: None,
        }
    }

    /// Returns the gradient of a missing optional output.
    pub(crate) fn missing() -> Self {
        Self {
            value: Value::Undefined,
            shape: None,
            zeros: None,
        }
    }

    /// Returns a view of the gradient.
    #[inline]
    pub fn view(&mut self) -> ArrayView<'_, T, D> {
        match &self.value {
            Value::Undefined => zeros(&mut self.zeros, self.shape).view(),
            Value::Buffer(buffer) => buffer.view(),
            Value::Tensor(tensor) => tensor.view(),
        }
    }

    /// Returns a view of the gradient; `None` for an undefined one.
    #[inline]
    pub fn view_optional(&self) -> Option<ArrayView<'_, T, D>> {
        match &self.value {
            Value::Undefined => None,
            Value::Buffer(buffer) => Some(buffer.view()),
            Value::Tensor(tensor) => Some(tensor.view()),
        }
    }

    /// Returns the gradient as a tensor, with its history under `create_graph`.
    #[inline]
    pub fn tensor(&mut self) -> &Tensor<T, D> {
        self.share();
        match &self.value {
            Value::Tensor(tensor) => tensor,
            _ => zeros(&mut self.zeros, self.shape),
        }
    }

    /// Returns the gradient as a tensor; `None` for an undefined one.
    pub fn tensor_optional(&mut self) -> Option<&Tensor<T, D>> {
        self.share();
        match &self.value {
            Value::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// Returns the gradient as an owned array; the last caller (`last`) gets the buffer itself if no other handle holds
    /// it.
    #[inline]
    pub fn owned(&mut self, last: bool) -> Array<T, D> {
        self.owned_optional(last)
            .unwrap_or_else(|| filled(self.shape).into_array())
    }

    /// Returns an owned gradient like [`owned`](Self::owned); `None` for an undefined one.
    #[inline]
    pub fn owned_optional(&mut self, last: bool) -> Option<Array<T, D>> {
        if !last {
            return self.view_optional().map(|view| view.to_owned());
        }
        match std::mem::replace(&mut self.value, Value::Undefined) {
            Value::Undefined => None,
            Value::Buffer(buffer) => Some(buffer.into_array()),
            Value::Tensor(tensor) => Some(tensor.into_array()),
        }
    }

    /// Returns the gradient as an owned tensor; the last caller (`last`) gets it without another handle.
    #[inline]
    pub fn owned_tensor(&mut self, last: bool) -> Tensor<T, D> {
        match self.owned_tensor_optional(last) {
            Some(tensor) => tensor,
            None => zeros(&mut self.zeros, self.shape).clone(),
        }
    }

    /// Returns an owned tensor like [`owned_tensor`](Self::owned_tensor); `None` for an undefined gradient.
    #[inline]
    pub fn owned_tensor_optional(&mut self, last: bool) -> Option<Tensor<T, D>> {
        if !last {
            return match &self.value {
                Value::Buffer(buffer) => Some(Tensor::constant(buffer.copied_few())),
                _ => self.tensor_optional().cloned(),
            };
        }
        match std::mem::replace(&mut self.value, Value::Undefined) {
            Value::Undefined => None,
            Value::Buffer(buffer) => Some(Tensor::constant(buffer)),
            Value::Tensor(tensor) => Some(tensor),
        }
    }

    /// Makes the gradient a tensor, which shares its buffer.
    #[inline]
    fn share(&mut self) {
        self.value = match std::mem::replace(&mut self.value, Value::Undefined) {
            Value::Buffer(buffer) => Value::Tensor(Tensor::constant(buffer)),
            other => other,
        };
    }
}

fn zeros<'a, T: Element, D: Dimension>(
    zeros: &'a mut Option<Tensor<T, D>>,
    shape: Option<&PackedShape>,
) -> &'a Tensor<T, D> {
    zeros.get_or_insert_with(|| Tensor::constant(filled(shape)))
}

fn filled<T: Element>(shape: Option<&PackedShape>) -> Buffer<T> {
    // INVARIANT: backward functions take the gradient of an optional output as an `Option`.
    let shape = shape.expect("an output");
    Buffer::filled(shape.unpack(), T::zero())
}

/// The gradients of a list of outputs, for backward functions that take them as views or tensors.
#[derive(Debug)]
pub struct GradOutputs<'a, T: Element, D: Dimension>(pub(crate) Vec<GradOutput<'a, T, D>>);

impl<T: Element, D: Dimension> GradOutputs<'_, T, D> {
    /// Returns views of the gradients.
    pub fn view(&mut self) -> Vec<ArrayView<'_, T, D>> {
        self.0.iter_mut().map(GradOutput::view).collect()
    }

    /// Returns views of the gradients; `None` for undefined ones.
    pub fn view_optional(&self) -> Vec<Option<ArrayView<'_, T, D>>> {
        self.0.iter().map(GradOutput::view_optional).collect()
    }

    /// Returns the gradients as tensors, with their histories under `create_graph`.
    pub fn tensor(&mut self) -> Vec<&Tensor<T, D>> {
        self.0.iter_mut().map(GradOutput::tensor).collect()
    }

    /// Returns the gradients as tensors; `None` for undefined ones.
    pub fn tensor_optional(&mut self) -> Vec<Option<&Tensor<T, D>>> {
        self.0.iter_mut().map(GradOutput::tensor_optional).collect()
    }
}

impl<T: Element, D: Dimension> fmt::Debug for GradOutput<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GradOutput")
            .field(&self.view_optional())
            .finish()
    }
}

/// A gradient that a backward function may return for an input: an array or, to be differentiable again, a tensor;
/// `None` for no gradient.
#[diagnostic::on_unimplemented(
    message = "backward returns `{Self}`, which is not a gradient of a `{T}` input of this rank",
    label = "not the gradient's type",
    note = "a gradient has the element type and the rank of its input: return an owned array or a \
            tensor of them, or an `Option` of one"
)]
pub trait IntoGradient<T, D> {
    /// Converts the gradient: to a buffer if it was computed on arrays, else to a tensor.
    #[doc(hidden)]
    fn into_gradient(self) -> Option<Gradient<T>>;
}

/// Gradients that are differentiable once: they count as computed on arrays.
#[derive(Debug)]
pub struct Once<G>(pub G);

impl<T, D, G: IntoGradient<T, D>> IntoGradient<T, D> for Once<G> {
    fn into_gradient(self) -> Option<Gradient<T>> {
        self.0.into_gradient().map(on_arrays)
    }
}

impl<T, D, G: IntoGradients<T, D>> IntoGradients<T, D> for Once<G> {
    fn into_gradients(self) -> Option<Vec<Option<Gradient<T>>>> {
        let gradients = self.0.into_gradients()?.into_iter();
        Some(gradients.map(|gradient| gradient.map(on_arrays)).collect())
    }
}

fn on_arrays<T>(gradient: Gradient<T>) -> Gradient<T> {
    Gradient::Owned(match gradient {
        Gradient::Owned(buffer) | Gradient::Constant(buffer) => buffer,
        Gradient::Tensor(tensor) => tensor.buffer,
    })
}

/// Gradients that a backward function may return for a list: one for each tensor, in order; `None` for no gradients.
#[diagnostic::on_unimplemented(
    message = "backward returns `{Self}`, which are not gradients of a list of `{T}` tensors of this rank",
    label = "not the gradients' type",
    note = "return a `Vec` of owned arrays or of tensors, or of `Option`s of them"
)]
pub trait IntoGradients<T, D> {
    /// Converts the gradients, one for each tensor of the list.
    #[doc(hidden)]
    fn into_gradients(self) -> Option<Vec<Option<Gradient<T>>>>;
}

impl<T, D, G: IntoGradient<T, D>> IntoGradients<T, D> for Vec<G> {
    fn into_gradients(self) -> Option<Vec<Option<Gradient<T>>>> {
        let gradients = self.into_iter().map(IntoGradient::into_gradient);
        Some(gradients.collect())
    }
}

impl<T, D, G: IntoGradients<T, D>> IntoGradients<T, D> for Option<G> {
    fn into_gradients(self) -> Option<Vec<Option<Gradient<T>>>> {
        self.and_then(IntoGradients::into_gradients)
    }
}

impl<T: Element, D: Dimension> IntoGradient<T, D> for Array<T, D> {
    #[inline]
    fn into_gradient(self) -> Option<Gradient<T>> {
        Some(Gradient::Owned(Buffer::from_array(self)))
    }
}

impl<T: Element, D: Dimension> IntoGradient<T, D> for Tensor<T, D> {
    #[inline]
    fn into_gradient(self) -> Option<Gradient<T>> {
        Some(Gradient::from_tensor(self.raw))
    }
}

impl<T, D, G: IntoGradient<T, D>> IntoGradient<T, D> for Option<G> {
    #[inline]
    fn into_gradient(self) -> Option<Gradient<T>> {
        self.and_then(IntoGradient::into_gradient)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, Ix1, array};

    use super::*;

    #[test]
    fn an_undefined_gradient_is_printed_as_none() {
        let missing = GradOutput::<f64, Ix1>::missing();
        assert_eq!(format!("{missing:?}"), "GradOutput(None)");
    }

    #[test]
    fn the_gradients_of_a_list_may_be_optional() {
        let count = |gradients: Option<Vec<Array1<f64>>>| {
            let found = IntoGradients::<f64, Ix1>::into_gradients(gradients)?;
            Some(found.into_iter().flatten().count())
        };
        assert_eq!(count(Some(vec![array![1.0], array![2.0]])), Some(2));
        assert_eq!(count(None), None);
    }
}
