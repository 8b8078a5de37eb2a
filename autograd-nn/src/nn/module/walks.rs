//! What is done with all fields of a module.

use std::collections::{HashMap, HashSet};

use crate::AnyTensor;
use crate::nn::{AnyParameter, Field, Mode, Module, ParameterId, Path, Visitor, VisitorMut};

/// The parameters, tied ones once, each with what `name` makes of its path.
pub(super) struct ListParameters<'a, N> {
    name: fn(&Path<'_>) -> N,
    seen: HashSet<ParameterId>,
    list: Vec<(N, &'a dyn AnyParameter)>,
}

impl<'a, N> ListParameters<'a, N> {
    pub(super) fn of(
        module: &'a dyn Module,
        name: fn(&Path<'_>) -> N,
    ) -> Vec<(N, &'a dyn AnyParameter)> {
        let mut list = Self {
            name,
            seen: HashSet::new(),
            list: vec![],
        };
        module.visit(&Path::root(), &mut list);
        list.list
    }
}

impl<'a, N> Visitor<'a> for ListParameters<'a, N> {
    fn parameter(&mut self, path: &Path<'_>, parameter: &'a dyn AnyParameter) {
        if self.seen.insert(parameter.id()) {
            self.list.push(((self.name)(path), parameter));
        }
    }
}

pub(super) struct SetMode {
    training: bool,
}

impl SetMode {
    pub(super) fn within(module: &mut dyn Module, training: bool) {
        module.visit_mut(&Path::root(), &mut Self { training });
    }
}

impl VisitorMut for SetMode {
    fn mode(&mut self, _: &Path<'_>, mode: &mut Mode) {
        mode.set_training(self.training);
    }
}

pub(super) struct SetRequiresGrad {
    pub(super) required: bool,
    /// The tensors that tied parameters share from now on.
    pub(super) seen: HashMap<ParameterId, AnyTensor>,
}

impl VisitorMut for SetRequiresGrad {
    fn parameter(&mut self, _: &Path<'_>, parameter: &mut dyn AnyParameter) {
        if let Some(tensor) = self.seen.get(&parameter.id()) {
            return parameter.show(tensor);
        }
        parameter.set_requires_grad(self.required);
        self.seen.insert(parameter.id(), parameter.to_any());
    }
}
