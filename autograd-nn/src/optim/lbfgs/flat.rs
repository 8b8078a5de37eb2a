//! The trained parameters of a model as one vector.

use std::collections::HashMap;
use std::ops::Range;

use crate::Element;
use crate::ndarray::{ArrayViewD, ArrayViewMutD};
use crate::nn::{
    AnyParameter, AnyView, AnyViewMut, Field, ParameterId, ParameterPath, Visitor, VisitorMut,
};

/// Which part of the vector each parameter is, in the order of the visit. Tied ones have one part; those that
/// are not trained have none.
#[derive(Debug, PartialEq)]
pub(super) struct Layout {
    parts: Vec<(ParameterId, Option<Range<usize>>)>,
    pub(super) length: usize,
}

impl Layout {
    pub(super) fn of(model: &(impl Field + ?Sized)) -> Self {
        struct List {
            layout: Layout,
            first: HashMap<ParameterId, Range<usize>>,
        }
        impl<'a> Visitor<'a> for List {
            fn parameter(&mut self, _: &ParameterPath<'_>, parameter: &'a dyn AnyParameter) {
                let id = parameter.id();
                let range = parameter.requires_grad().then(|| {
                    let start = self.layout.length;
                    let new = start..start + parameter.len();
                    self.first.entry(id).or_insert(new).clone()
                });
                let end = range.as_ref().map_or(0, |range| range.end);
                self.layout.length = self.layout.length.max(end);
                self.layout.parts.push((id, range));
            }
        }
        let mut list = List {
            layout: Self {
                parts: vec![],
                length: 0,
            },
            first: HashMap::new(),
        };
        model.visit(&ParameterPath::root(), &mut list);
        list.layout
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
            crate::AnyTensor::F32(tensor) => read(&tensor.view(), part),
            crate::AnyTensor::F64(tensor) => read(&tensor.view(), part),
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
        read: impl FnMut(&dyn AnyParameter, &mut [f64]),
    ) -> Vec<f64> {
        struct Gather<'l, R> {
            parts: std::slice::Iter<'l, (ParameterId, Option<Range<usize>>)>,
            vector: Vec<f64>,
            read: R,
        }
        impl<'a, R: FnMut(&dyn AnyParameter, &mut [f64])> Visitor<'a> for Gather<'_, R> {
            fn parameter(&mut self, _: &ParameterPath<'_>, parameter: &'a dyn AnyParameter) {
                if let Some((_, Some(range))) = self.parts.next() {
                    (self.read)(parameter, &mut self.vector[range.clone()]);
                }
            }
        }
        let mut gather = Gather {
            parts: self.parts.iter(),
            vector: vec![0.0; self.length],
            read,
        };
        model.visit(&ParameterPath::root(), &mut gather);
        gather.vector
    }

    /// Gives all trained parameters their values.
    pub(super) fn set(&self, model: &mut (impl Field + ?Sized), values: &[f64]) {
        struct Set<'l> {
            parts: std::slice::Iter<'l, (ParameterId, Option<Range<usize>>)>,
            values: &'l [f64],
        }
        impl VisitorMut for Set<'_> {
            fn parameter(&mut self, _: &ParameterPath<'_>, parameter: &mut dyn AnyParameter) {
                let Some((_, Some(range))) = self.parts.next() else {
                    return;
                };
                let part = &self.values[range.clone()];
                parameter.update_any(&mut |value| match value {
                    AnyViewMut::F32(value) => write(value, part),
                    AnyViewMut::F64(value) => write(value, part),
                });
            }
        }
        let parts = self.parts.iter();
        model.visit_mut(&ParameterPath::root(), &mut Set { parts, values });
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

/// Drops the gradients.
pub(super) fn zero_grad(model: &(impl Field + ?Sized)) {
    struct Zero;
    impl<'a> Visitor<'a> for Zero {
        fn parameter(&mut self, _: &ParameterPath<'_>, parameter: &'a dyn AnyParameter) {
            parameter.zero_grad();
        }
    }
    model.visit(&ParameterPath::root(), &mut Zero);
}
