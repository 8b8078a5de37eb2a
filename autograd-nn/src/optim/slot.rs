//! The state of an optimizer for one parameter.

use std::collections::HashMap;

use autograd_core::ndarray::{ArrayViewD, ArrayViewMutD};
use autograd_core::{AnyTensor, Element};
use autograd_kernels::{Any, Family, counted};

use crate::optim::rule::{Rule, Step};
use crate::parameter::ParameterId;
use crate::parameter::any::AnyParameter;
use crate::visit::{Field, each_parameter};

/// A parameter at its place in the order of the visit, with its state.
pub(super) struct Slot {
    pub(super) id: ParameterId,
    pub(super) path: String,
    pub(super) shape: Vec<usize>,
    /// The place of the first field with the same parameter, if this field is not the first.
    pub(super) tied_to: Option<usize>,
    /// Whether a later field has the same parameter.
    pub(super) has_ties: bool,
    /// The new value, for later fields with the same parameter. It is dropped after the visit, since the next update
    /// copies a value that has another handle.
    pub(super) shared: Option<AnyTensor>,
    /// The number of its group, if it belongs to one.
    pub(super) group: Option<usize>,
    pub(super) saved: Any<Arrays>,
    /// The number of updates.
    pub(super) steps: u64,
}

/// Up to three arrays of the parameter's shape, in row-major order. Arrays that are not saved, or not yet, are empty.
pub(super) struct Arrays;

impl Family for Arrays {
    type Of<T: Element> = [Vec<T>; 3];
}

/// Creates the slots of a model's parameters, in the order of the visit, before any update.
pub(super) fn slots(model: &dyn Field) -> Vec<Slot> {
    let mut slots: Vec<Slot> = vec![];
    let mut first: HashMap<ParameterId, usize> = HashMap::new();
    each_parameter(model, |path, parameter| {
        let tied_to = first.get(&parameter.id()).copied();
        match tied_to {
            Some(first) => slots[first].has_ties = true,
            None => drop(first.insert(parameter.id(), slots.len())),
        }
        slots.push(Slot {
            id: parameter.id(),
            path: path.to_string(),
            shape: parameter.shape().to_vec(),
            tied_to,
            has_ties: false,
            shared: None,
            group: None,
            saved: match parameter.to_any() {
                AnyTensor::F32(_) => Any::F32(Default::default()),
                AnyTensor::F64(_) => Any::F64(Default::default()),
            },
            steps: 0,
        });
    });
    slots
}

/// Describes the first difference between the slots and the model's parameters, if there is one.
pub(super) fn mismatch(slots: &[Slot], model: &dyn Field) -> Option<String> {
    let (mut count, mut problem) = (0, None);
    each_parameter(model, |path, parameter| {
        let slot = slots.get(count);
        count += 1;
        if problem.is_some() || slot.is_some_and(|slot| slot.id == parameter.id()) {
            return;
        }
        let shape = parameter.shape();
        problem = Some(match slot {
            Some(slot) if path.to_string() == slot.path && shape == slot.shape => {
                format!("`{path}` is not the parameter of the previous step")
            }
            Some(slot) => format!(
                "found `{path}` of shape {shape:?} in place of `{}` of shape {:?}",
                slot.path, slot.shape
            ),
            None => format!(
                "`{path}` of shape {shape:?} was not in the previous step, which had {}",
                counted(slots.len(), "parameter", "parameters")
            ),
        });
    });
    problem.or_else(|| {
        let slot = slots.get(count)?;
        let (path, shape) = (&slot.path, &slot.shape);
        Some(format!("`{path}` of shape {shape:?} is missing"))
    })
}

impl Slot {
    /// Updates the parameter. Returns false, and does nothing, if it has no gradient.
    pub(super) fn update<R: Rule>(
        &mut self,
        rule: &R,
        rate: f64,
        parameter: &mut dyn AnyParameter,
    ) -> bool {
        let step = Step {
            rate,
            count: self.steps + 1,
        };
        let saved = &mut self.saved;
        let updated =
            parameter.update_by_grad_any(&mut |value, grad| match (value, grad, &mut *saved) {
                (Any::F32(value), Any::F32(grad), Any::F32(saved)) => {
                    update(rule, step, value, saved, &grad);
                }
                (Any::F64(value), Any::F64(grad), Any::F64(saved)) => {
                    update(rule, step, value, saved, &grad);
                }
                // INVARIANT: a parameter keeps its element type, for which the slot was created.
                _ => unreachable!("a parameter of another element type"),
            });
        self.steps += u64::from(updated);
        updated
    }
}

fn update<T: Element, R: Rule>(
    rule: &R,
    step: Step,
    mut value: ArrayViewMutD<'_, T>,
    saved: &mut [Vec<T>; 3],
    grad: &ArrayViewD<'_, T>,
) {
    for (saved, kind) in saved.iter_mut().zip(rule.kinds()) {
        if kind.is_some() {
            // Allocates at the first update only.
            saved.resize(value.len(), T::zero());
        }
    }
    // INVARIANT: a parameter's elements are in row-major order.
    let value = value.as_slice_mut().expect("row-major order");
    if let Some(grad) = grad.as_slice() {
        return rule.update(
            step,
            value,
            saved.each_mut().map(|saved| &mut saved[..]),
            grad,
        );
    }
    in_blocks(grad, |first, grad| {
        let range = first..first + grad.len();
        let saved = saved.each_mut();
        // Arrays that are not saved are empty.
        let saved = saved.map(|saved| saved.get_mut(range.clone()).unwrap_or_default());
        rule.update(step, &mut value[range], saved, grad);
    });
}

/// Calls `work` with blocks of the elements of an array of any layout, in row-major order, and the index of their
/// first element.
pub(super) fn in_blocks<T: Element>(array: &ArrayViewD<'_, T>, mut work: impl FnMut(usize, &[T])) {
    let mut block = [T::zero(); 256];
    let (mut first, mut filled) = (0, 0);
    for &element in array {
        block[filled] = element;
        filled += 1;
        if filled == block.len() {
            work(first, &block);
            first += filled;
            filled = 0;
        }
    }
    work(first, &block[..filled]);
}
