//! The derivatives that are wanted, and the tensors that they are computed of.

use autograd_kernels::Element;

use crate::tensor::TensorD;

/// The meaning of each tensor of a list, and the derivatives that are wanted.
///
/// At order n, each input and each output's gradient has 2ⁿ⁻¹ components. The place of one is its component's number
/// times the width, plus the number of the input or, after those, of the output.
#[derive(Clone)]
pub(crate) struct Plan {
    /// The order of the derivatives, from 1 on.
    pub(crate) order: usize,
    /// The place of each tensor. What no tensor is given for is zero.
    pub(crate) places: Vec<usize>,
    /// The places, in rising order, with respect to which the pairing is differentiated.
    pub(crate) wanted: Vec<usize>,
    /// Whether each tensor requires grad.
    pub(crate) needs: Vec<bool>,
}

impl Plan {
    /// Returns a plan that wants nothing yet, and the tensors that there are. Each comes with its place.
    pub(crate) fn new<'a, X>(
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
    pub(crate) fn len(&self, width: usize) -> usize {
        width << (self.order - 1)
    }

    /// Wants the derivatives with respect to the tensors that need one.
    pub(crate) fn want(&mut self, needs: &[bool]) {
        let places = self.places.iter().zip(needs);
        self.wanted = places
            .filter_map(|(&place, &is_needed)| is_needed.then_some(place))
            .collect();
        self.wanted.sort_unstable();
    }

    /// Returns what is wanted of the first `count` tensors, each at its place, and `None` for the others.
    pub(crate) fn wanted_of<X>(&self, wanted: Vec<X>, count: usize) -> Vec<Option<X>> {
        let mut wanted: Vec<_> = wanted.into_iter().map(Some).collect();
        let of = |place| wanted[self.wanted.binary_search(place).ok()?].take();
        self.places[..count].iter().map(of).collect()
    }

    /// Returns the plan of the next order, with nothing wanted yet, and its tensors: those of this plan, and directions
    /// of the tensors at some places.
    pub(crate) fn differentiated<'a, T: Element>(
        &self,
        tensors: &[&'a TensorD<T>],
        width: usize,
        places: &[usize],
        directions: &[Option<&'a TensorD<T>>],
    ) -> (Self, Vec<&'a TensorD<T>>) {
        let lift = |place: &usize| lifted(*place, width);
        let known = self.places.iter().map(lift).zip(tensors.iter().copied());
        let along = places.iter().map(|place| lift(place) + width);
        Self::new(self.order + 1, known, along.zip(directions.iter().copied()))
    }
}

/// Returns the place that a component has at the next order, where its number has a new lowest bit: 1 for directions.
pub(crate) fn lifted(place: usize, width: usize) -> usize {
    place / width * 2 * width + place % width
}

/// Returns whether each tensor requires grad.
pub(crate) fn requires_grad<T: Element>(tensors: &[&TensorD<T>]) -> Vec<bool> {
    let tensors = tensors.iter();
    tensors.map(|tensor| tensor.requires_grad()).collect()
}
