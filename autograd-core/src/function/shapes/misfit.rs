//! What is said where the shape of an input does not fit.

use std::panic::Location;

use autograd_kernels::Shape;

use super::ShapeTable;
use super::dims::{Dims, named};
use super::table::{DeclaredLength, Leading};
use crate::error::{Error, ErrorKind};

/// Where an input does not fit.
pub(super) struct Misfit {
    pub(super) input: usize,
    /// The tensor of a list.
    pub(super) element: usize,
    pub(super) axis: Place,
}

pub(super) enum Place {
    Rank,
    Leading,
    /// The axis of this number, after the leading ones.
    Axis(usize),
}

impl ShapeTable {
    #[cold]
    pub(super) fn mismatched(
        &self,
        inputs: &[Dims<'_>],
        misfit: &Misfit,
        at: &'static Location<'static>,
    ) -> Error {
        let found = self.shape_of(inputs, misfit.input, misfit.element);
        let kind = match misfit.axis {
            Place::Axis(place) => match self.length(self.lengths_of(misfit.input)[place]) {
                DeclaredLength::Axis(axis) => {
                    self.axis_misfit(inputs, misfit, (axis, place), found)
                }
                DeclaredLength::Any | DeclaredLength::Number(_) | DeclaredLength::Computed(_) => {
                    self.not_declared(misfit.input, found)
                }
            },
            Place::Leading => self.leading_misfit(inputs, misfit, found),
            Place::Rank => self.not_declared(misfit.input, found),
        };
        kind.of(self.function(), at)
    }

    fn not_declared(&self, number: usize, (input, found): (String, Shape)) -> ErrorKind {
        let (_, declared) = self.tensor(number);
        ErrorKind::DeclaredShape {
            input,
            declared,
            found,
        }
    }

    /// Returns the declared lengths of an input.
    fn lengths_of(&self, input: usize) -> &'static [u8] {
        let declared = self.inputs().nth(input);
        declared.map_or(&[], |declared| declared.lengths)
    }

    /// Returns the name and the shape of a tensor.
    fn shape_of(&self, inputs: &[Dims<'_>], input: usize, element: usize) -> (String, Shape) {
        named(self.tensor(input).0, &inputs[input], element)
    }

    /// Returns the tensors before one, in the order in which they are read.
    fn before(inputs: &[Dims<'_>], misfit: &Misfit) -> Vec<(usize, usize)> {
        let tensors = |input: usize| (0..inputs[input].as_slice().len()).map(move |e| (input, e));
        let all = (0..=misfit.input).flat_map(tensors);
        let is_before = |place: &(usize, usize)| *place < (misfit.input, misfit.element);
        all.filter(is_before).collect()
    }

    fn axis_misfit(
        &self,
        inputs: &[Dims<'_>],
        misfit: &Misfit,
        (axis, place): (usize, usize),
        found: (String, Shape),
    ) -> ErrorKind {
        let place_of = |input: usize| {
            let mut lengths = self.lengths_of(input).iter();
            lengths.position(|&code| usize::from(code) == axis)
        };
        let length = |input: usize, shape: &Shape, place: usize| {
            shape[shape.len() - self.lengths_of(input).len() + place]
        };
        let found_length = length(misfit.input, &found.1, place);
        let earlier = Self::before(inputs, misfit).into_iter();
        let mut earlier =
            earlier.filter_map(|(input, element)| Some((input, element, place_of(input)?)));
        let (expected, expected_length) = if let Some((input, element, place)) = earlier.next() {
            let tensor = self.shape_of(inputs, input, element);
            let length = length(input, &tensor.1, place);
            (tensor, length)
        } else {
            // The same tensor has the axis twice.
            let first = place_of(misfit.input).unwrap_or(place);
            let length = length(misfit.input, &found.1, first);
            (found.clone(), length)
        };
        ErrorKind::AxisLength {
            axis: self.axes().nth(axis).unwrap_or_default(),
            inputs: [expected.0, found.0],
            shapes: [expected.1, found.1],
            lengths: [expected_length, found_length],
        }
    }

    fn leading_misfit(
        &self,
        inputs: &[Dims<'_>],
        misfit: &Misfit,
        found: (String, Shape),
    ) -> ErrorKind {
        let mut earlier = Self::before(inputs, misfit).into_iter();
        let has_leading = |(input, _): &(usize, usize)| {
            let declared = self.inputs().nth(*input);
            declared.is_some_and(|declared| declared.leading == Leading::Axes)
        };
        let Some((input, element)) = earlier.find(has_leading) else {
            return self.not_declared(misfit.input, found);
        };
        let expected = self.shape_of(inputs, input, element);
        let leading = |input: usize, shape: &Shape| {
            Shape::from(&shape[..shape.len() - self.lengths_of(input).len()])
        };
        let lengths = [leading(input, &expected.1), leading(misfit.input, &found.1)];
        ErrorKind::LeadingAxes {
            inputs: [expected.0, found.0],
            shapes: [expected.1, found.1],
            lengths,
        }
    }
}
