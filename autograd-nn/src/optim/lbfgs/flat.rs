//! The trained parameters of a model as one vector.

use std::collections::HashMap;
use std::ops::Range;

use autograd_core::Element;
use autograd_core::ndarray::{ArrayViewD, ArrayViewMutD};

use crate::parameter::ParameterId;
use crate::parameter::any::{AnyParameter, AnyView, AnyViewMut};
use crate::visit::{Field, each_parameter, each_parameter_mut};

/// Which part of the vector each parameter is, in the order of the visit. Tied ones have one part; those that
/// are not trained have none.
#[derive(Debug, PartialEq)]
pub(super) struct Layout {
    parts: Vec<(ParameterId, Option<Range<usize>>)>,
    pub(super) length: usize,
}

impl Layout {
    pub(super) fn of(model: &(impl Field + ?Sized)) -> Self {
        let (mut parts, mut length) = (vec![], 0);
        let mut first: HashMap<ParameterId, Range<usize>> = HashMap::new();
        each_parameter(model, |_, parameter| {
            let id = parameter.id();
            let range = parameter.requires_grad().then(|| {
                let new = length..length + parameter.len();
                first.entry(id).or_insert(new).clone()
            });
            length = range.as_ref().map_or(length, |range| range.end.max(length));
            parts.push((id, range));
        });
        Self { parts, length }
    }

    /// Whether both have the same parameters, trained or not.
    pub(super) fn has_parameters_of(&self, other: &Self) -> bool {
        let ids = |layout: &Self| -> Vec<_> { layout.parts.iter().map(|(id, _)| *id).collect() };
        ids(self) == ids(other)
    }

    pub(super) fn parameters(&self) -> usize {
        self.parts.len()
    }

    pub(super) fn values(&self, model: &(impl Field + ?Sized)) -> Vec<f64> {
        self.gather(model, |parameter, part| match parameter.to_any() {
            autograd_core::AnyTensor::F32(tensor) => read(&tensor.view(), part),
            autograd_core::AnyTensor::F64(tensor) => read(&tensor.view(), part),
        })
    }

    /// The gradients, zeros where there are none.
    pub(super) fn gradient(&self, model: &(impl Field + ?Sized)) -> Vec<f64> {
        self.gather(model, |parameter, part| {
            parameter.look_at_grad_any(&mut |grad| match grad {
                AnyView::F32(grad) => read(&grad, part),
                AnyView::F64(grad) => read(&grad, part),
            });
        })
    }

    fn gather(
        &self,
        model: &(impl Field + ?Sized),
        mut read: impl FnMut(&dyn AnyParameter, &mut [f64]),
    ) -> Vec<f64> {
        let (mut parts, mut vector) = (self.parts.iter(), vec![0.0; self.length]);
        each_parameter(model, |_, parameter| {
            if let Some((_, Some(range))) = parts.next() {
                read(parameter, &mut vector[range.clone()]);
            }
        });
        vector
    }

    /// Gives all trained parameters their values.
    pub(super) fn set(&self, model: &mut (impl Field + ?Sized), values: &[f64]) {
        let mut parts = self.parts.iter();
        each_parameter_mut(model, |parameter| {
            let Some((_, Some(range))) = parts.next() else {
                return;
            };
            let part = &values[range.clone()];
            parameter.update_any(&mut |value| match value {
                AnyViewMut::F32(value) => write(value, part),
                AnyViewMut::F64(value) => write(value, part),
            });
        });
    }
}

fn read<T: Element>(array: &ArrayViewD<'_, T>, part: &mut [f64]) {
    for (own, element) in part.iter_mut().zip(array) {
        *own = element.as_f64();
    }
}

fn write<T: Element>(array: ArrayViewMutD<'_, T>, part: &[f64]) {
    for (own, &element) in array.into_iter().zip(part) {
        *own = T::from_f64(element);
    }
}
