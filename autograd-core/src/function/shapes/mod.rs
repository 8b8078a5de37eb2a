//! Declared shapes: axes by name, checked before forward runs and where it returns.
//!
//! Generated code has a table for each function with `shapes(…)`: [`ShapeTable::axes`] reads the lengths of the axes off
//! the inputs, and [`Expected`] is the shape that an output must have. Expressions are in generated code, which computes
//! them with [`Length`].

mod length;

pub use length::{IntoLength, Length};

use std::panic::Location;

use autograd_kernels::{Element, Shape};
use ndarray::Dimension;

use crate::error::panic::unwind_to_pass;
use crate::error::{Error, ErrorKind};
use crate::tensor::Tensor;

/// The declared shapes of a function's inputs.
#[derive(Debug)]
pub struct ShapeTable {
    /// The function's name.
    pub function: &'static str,
    /// The names of the axes.
    pub axes: &'static [&'static str],
    /// The declared shapes, each with its input.
    pub inputs: &'static [DeclaredShape],
}

/// The declared shape of an input.
#[derive(Debug)]
pub struct DeclaredShape {
    /// The input's name.
    pub input: &'static str,
    /// The shape as it is written.
    pub text: &'static str,
    /// Whether leading axes come before the others.
    pub leading: bool,
    /// The lengths of the last axes.
    pub lengths: &'static [DeclaredLength],
}

/// The declared length of one axis.
#[derive(Debug)]
pub enum DeclaredLength {
    /// Any length, or one that is compared later: that of an expression.
    Any,
    /// This length.
    Number(usize),
    /// The length of the axis of this number.
    Axis(usize),
}

/// The shapes of the tensors of one input.
#[derive(Clone, Debug)]
pub enum Dims<'a> {
    /// Of a tensor.
    One(&'a [usize]),
    /// Of an optional tensor that is not there.
    Missing,
    /// Of a list.
    List(Vec<&'a [usize]>),
}

impl<'a> Dims<'a> {
    /// Returns the shape of a single tensor.
    #[inline]
    pub fn only(&self) -> &'a [usize] {
        match self {
            Self::One(shape) => shape,
            Self::Missing | Self::List(_) => &[],
        }
    }

    fn as_slice(&self) -> &[&'a [usize]] {
        match self {
            Self::One(shape) => std::slice::from_ref(shape),
            Self::Missing => &[],
            Self::List(shapes) => shapes,
        }
    }
}

impl<'a> From<Option<&'a [usize]>> for Dims<'a> {
    fn from(shape: Option<&'a [usize]>) -> Self {
        shape.map_or(Self::Missing, Self::One)
    }
}

/// The lengths of the axes in one call.
#[derive(Debug)]
pub struct Axes<'a, const N: usize> {
    /// The lengths, in the order of the names.
    pub lengths: [usize; N],
    /// The lengths of the leading axes; none if no input has any.
    pub leading: &'a [usize],
}

/// The length of an axis that no input has had yet, and of one that may have any length.
pub const ANY: usize = usize::MAX;

impl ShapeTable {
    /// Reads the lengths of the axes off the inputs with declared shapes, and checks them.
    #[inline]
    pub fn axes<'a, const N: usize>(
        &self,
        inputs: &[Dims<'a>],
        at: &'static Location<'static>,
    ) -> Result<Axes<'a, N>, Error> {
        let mut axes = Axes {
            lengths: [ANY; N],
            leading: &[],
        };
        match self.read(inputs, &mut axes.lengths, &mut axes.leading) {
            Ok(()) => Ok(axes),
            Err(mismatch) => Err(self.mismatched(inputs, &mismatch, at)),
        }
    }

    fn read<'a>(
        &self,
        inputs: &[Dims<'a>],
        lengths: &mut [usize],
        leading: &mut &'a [usize],
    ) -> Result<(), Misfit> {
        let mut has_leading = false;
        for (input, (declared, dims)) in self.inputs.iter().zip(inputs).enumerate() {
            for (element, shape) in dims.as_slice().iter().enumerate() {
                let misfit = |axis| Misfit {
                    input,
                    element,
                    axis,
                };
                let Some(begin) = shape.len().checked_sub(declared.lengths.len()) else {
                    return Err(misfit(Place::Rank));
                };
                if declared.leading {
                    let (first, _) = shape.split_at(begin);
                    if has_leading && *leading != first {
                        return Err(misfit(Place::Leading));
                    }
                    (has_leading, *leading) = (true, first);
                } else if begin != 0 {
                    return Err(misfit(Place::Rank));
                }
                let last = shape[begin..].iter().zip(declared.lengths);
                for (place, (&found, declared)) in last.enumerate() {
                    let is_right = match *declared {
                        DeclaredLength::Any => true,
                        DeclaredLength::Number(number) => number == found,
                        DeclaredLength::Axis(axis) => {
                            let known = &mut lengths[axis];
                            if *known == ANY {
                                *known = found;
                            }
                            *known == found
                        }
                    };
                    if !is_right {
                        return Err(misfit(Place::Axis(place)));
                    }
                }
            }
        }
        Ok(())
    }

    #[cold]
    fn mismatched(
        &self,
        inputs: &[Dims<'_>],
        misfit: &Misfit,
        at: &'static Location<'static>,
    ) -> Error {
        let declared = &self.inputs[misfit.input];
        let found = self.tensor(inputs, misfit.input, misfit.element);
        let kind = match misfit.axis {
            Place::Axis(place) => match declared.lengths[place] {
                DeclaredLength::Axis(axis) => self.axis_misfit(inputs, misfit, axis, found),
                DeclaredLength::Any | DeclaredLength::Number(_) => Self::declared(declared, found),
            },
            Place::Leading => self.leading_misfit(inputs, misfit, found),
            Place::Rank => Self::declared(declared, found),
        };
        kind.of(self.function, at)
    }

    fn declared(declared: &DeclaredShape, (input, shape): (String, Shape)) -> ErrorKind {
        ErrorKind::DeclaredShape {
            input,
            declared: declared.text,
            found: shape,
        }
    }

    /// Returns the name and the shape of a tensor.
    fn tensor(&self, inputs: &[Dims<'_>], input: usize, element: usize) -> (String, Shape) {
        let (name, dims) = (self.inputs[input].input, &inputs[input]);
        let name = match dims {
            Dims::List(_) => format!("{name}[{element}]"),
            Dims::One(_) | Dims::Missing => name.to_owned(),
        };
        (name, Shape::from(dims.as_slice()[element]))
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
        axis: usize,
        found: (String, Shape),
    ) -> ErrorKind {
        let place_of = |input: usize| {
            let lengths = self.inputs[input].lengths;
            let is_it = |length: &DeclaredLength| matches!(length, DeclaredLength::Axis(one) if *one == axis);
            lengths.iter().position(is_it)
        };
        let length = |input: usize, shape: &Shape, place: usize| {
            shape[shape.len() - self.inputs[input].lengths.len() + place]
        };
        let Place::Axis(place) = misfit.axis else {
            return Self::declared(&self.inputs[misfit.input], found);
        };
        let found_length = length(misfit.input, &found.1, place);
        let earlier = Self::before(inputs, misfit).into_iter();
        let mut earlier =
            earlier.filter_map(|(input, element)| Some((input, element, place_of(input)?)));
        let (expected, expected_length) = if let Some((input, element, place)) = earlier.next() {
            let tensor = self.tensor(inputs, input, element);
            let length = length(input, &tensor.1, place);
            (tensor, length)
        } else {
            // The same tensor has the axis twice.
            let first = place_of(misfit.input).unwrap_or(place);
            let length = length(misfit.input, &found.1, first);
            (found.clone(), length)
        };
        ErrorKind::AxisLength {
            axis: self.axes[axis],
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
        let has_leading = |(input, _): &(usize, usize)| self.inputs[*input].leading;
        let Some((input, element)) = earlier.find(has_leading) else {
            return Self::declared(&self.inputs[misfit.input], found);
        };
        let expected = self.tensor(inputs, input, element);
        let leading = |input: usize, shape: &Shape| {
            Shape::from(&shape[..shape.len() - self.inputs[input].lengths.len()])
        };
        let lengths = [leading(input, &expected.1), leading(misfit.input, &found.1)];
        ErrorKind::LeadingAxes {
            inputs: [expected.0, found.0],
            shapes: [expected.1, found.1],
            lengths,
        }
    }
}

/// Where an input does not fit.
struct Misfit {
    input: usize,
    /// The tensor of a list.
    element: usize,
    axis: Place,
}

enum Place {
    Rank,
    Leading,
    /// The axis of this number, after the leading ones.
    Axis(usize),
}

/// A shape that an input or an output must have.
#[derive(Debug)]
pub struct Expected<'a, const N: usize> {
    /// The lengths of the first axes.
    pub leading: &'a [usize],
    /// The lengths of the others; [`ANY`] for any.
    pub lengths: [usize; N],
}

impl<const N: usize> Expected<'_, N> {
    /// Returns whether a tensor has the shape.
    #[inline]
    pub fn is(&self, shape: &[usize]) -> bool {
        let begin = self.leading.len();
        shape.len() == begin + N
            && shape[..begin] == *self.leading
            && (shape[begin..].iter().zip(&self.lengths))
                .all(|(found, expected)| found == expected || *expected == ANY)
    }

    /// Returns the error of a tensor that forward returned with another shape.
    #[cold]
    pub fn error(
        &self,
        [function, output, declared]: [&'static str; 3],
        found: &[usize],
        at: &'static Location<'static>,
    ) -> Error {
        ErrorKind::ReturnedShape {
            output,
            declared,
            expected: self.shown(),
            found: found.into(),
        }
        .of(function, at)
    }

    /// Returns the shape as it is shown: `_` for any length.
    fn shown(&self) -> String {
        let lengths = self.leading.iter().chain(&self.lengths);
        let lengths = lengths.map(|&length| match length {
            ANY => "_".to_owned(),
            length => length.to_string(),
        });
        format!("[{}]", lengths.collect::<Vec<_>>().join(", "))
    }

    /// Returns the shape, of an output of a fixed rank.
    ///
    /// # Panics
    /// If the shape has another rank: that is a bug of the attribute.
    pub fn to_array<const R: usize>(&self) -> [usize; R] {
        let mut lengths = self.leading.iter().chain(&self.lengths);
        // INVARIANT: declared shapes have the ranks of their types.
        std::array::from_fn(|_| *lengths.next().expect("a length for each axis"))
    }

    /// Returns the shape, of an output of any rank.
    pub fn to_vec(&self) -> Vec<usize> {
        self.leading.iter().chain(&self.lengths).copied().collect()
    }
}

/// Compares the lengths of an input that are expressions; `expected` has [`ANY`] for the others.
#[inline]
pub fn check_computed<const N: usize>(
    [function, input, declared]: [&'static str; 3],
    dims: &Dims<'_>,
    expected: [usize; N],
    at: &'static Location<'static>,
) -> Result<(), Error> {
    for shape in dims.as_slice() {
        let expected = Expected {
            leading: &shape[..shape.len() - N],
            lengths: expected,
        };
        if !expected.is(shape) {
            return Err(ErrorKind::ComputedShape {
                input,
                declared,
                expected: expected.shown(),
                found: (*shape).into(),
            }
            .of(function, at));
        }
    }
    Ok(())
}

/// Returns the shape of a tensor that forward consumes, or writes to.
pub fn shape_of<T: Element, D: Dimension>(tensor: &Tensor<T, D>) -> Shape {
    tensor.to_shape()
}

/// Panics with the message of an error.
///
/// # Panics
/// Always.
#[cold]
#[track_caller]
pub fn refused(error: &Error) -> ! {
    panic!("{}", error.message())
}

/// Unwinds with the message of an error to the `catching_passes` around.
#[cold]
pub fn refused_later(error: &Error) -> ! {
    unwind_to_pass(error.message())
}

#[cfg(test)]
mod tests;
