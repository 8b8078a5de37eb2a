//! The derivatives that are wanted, and the tensors that they are computed of.

use autograd_kernels::Element;
use ndarray::Dimension;

use super::shared::Shared;
use crate::tensor::Tensor;

/// The meaning of each tensor of a list, and the derivatives that are wanted.
///
/// At order n, each input and each output's gradient has 2ⁿ⁻¹ components. The place of one is its component's number
/// times the width, plus the number of the input or, after those, of the output.
#[derive(Clone)]
pub(super) struct Plan {
    /// The order of the derivatives, from 1 on.
    pub(super) order: usize,
    /// The place of each tensor. What no tensor is given for is zero.
    pub(super) places: Vec<usize>,
    /// The places, in rising order, with respect to which the pairing is differentiated.
    pub(super) wanted: Vec<usize>,
    /// Whether each tensor requires grad.
    pub(super) needs: Vec<bool>,
}

impl Plan {
    /// Returns a plan that wants nothing yet, and the tensors that there are. Each comes with its place.
    pub(super) fn new<'a, X>(
        order: usize,
        known: impl Iterator<Item = (usize, &'a X)>,
        others: impl Iterator<Item = (usize, Option<&'a X>)>,
    ) -> (Self, Vec<&'a X>) {
        let others = others.filter_map(|(place, other)| Some((place, other?)));
        let (places, tensors) = known.chain(others).unzip();
        let (wanted, needs) = (Vec::new(), Vec::new());
        let plan = Self {
            order,
            places,
            wanted,
            needs,
        };
        (plan, tensors)
    }

    /// Returns the number of places.
    pub(super) fn len(&self, width: usize) -> usize {
        width << (self.order - 1)
    }

    /// Returns the plan of the next order, with nothing wanted yet, and its tensors: those of this plan, and directions
    /// of the tensors at some places.
    pub(super) fn differentiated<'a, T: Element, D: Dimension>(
        &self,
        tensors: &[&'a Tensor<T, D>],
        function: &Shared<T>,
        places: &[usize],
        directions: &[Option<&'a Tensor<T, D>>],
    ) -> (Self, Vec<&'a Tensor<T, D>>) {
        let width = function.width();
        let lift = |place: &usize| lifted(*place, width);
        let known = self.places.iter().map(lift).zip(tensors.iter().copied());
        let along = places.iter().map(|place| lift(place) + width);
        Self::new(self.order + 1, known, along.zip(directions.iter().copied()))
    }
}

/// Returns the place that a component has at the next order, where its number has a new lowest bit: 1 for directions.
pub(super) fn lifted(place: usize, width: usize) -> usize {
    place / width * 2 * width + place % width
}

/// Returns whether each tensor requires grad.
pub(super) fn requires_grad<T: Element, D: Dimension>(tensors: &[&Tensor<T, D>]) -> Vec<bool> {
    let tensors = tensors.iter();
    tensors.map(|tensor| tensor.requires_grad()).collect()
}
