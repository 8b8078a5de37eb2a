//! Declared shapes: axes by name, checked before forward runs and where it returns.
//!
//! Generated code has a [`ShapeTable`] for each function with `shapes(…)`. It reads the lengths of the axes off the
//! inputs, and compares what forward returns. Only expressions are generated code, which computes them with [`Length`].

mod length;

pub use length::{IntoLength, Length};

use std::fmt;
use std::panic::Location;

use autograd_kernels::{Element, Shape};
use ndarray::Dimension;

use crate::error::panic::unwind_to_pass;
use crate::error::{Error, ErrorKind};
use crate::tensor::Tensor;

/// The declared shapes of a function.
#[derive(Debug)]
pub struct ShapeTable {
    /// The function's name.
    pub function: &'static str,
    /// The names of the axes.
    pub axes: &'static [&'static str],
    /// The names of the values that expressions compute with.
    pub values: &'static [&'static str],
    /// The inputs that have a declared shape.
    pub inputs: &'static [DeclaredShape],
    /// The returned values that have one.
    pub returned: &'static [DeclaredShape],
}

/// A declared shape.
#[derive(Debug)]
pub struct DeclaredShape {
    /// The name of the tensor.
    pub name: &'static str,
    /// The shape as it is written.
    pub text: &'static str,
    /// What comes before the lengths.
    pub leading: Leading,
    /// The lengths of the last axes.
    pub lengths: &'static [DeclaredLength],
}

/// What comes before the lengths of a declared shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leading {
    /// Nothing.
    None,
    /// The leading axes, `..`.
    Axes,
    /// The shape of the input of this number.
    Of(usize),
}

/// The declared length of one axis.
#[derive(Debug)]
pub enum DeclaredLength {
    /// Any length.
    Any,
    /// This length.
    Number(usize),
    /// The length of the axis of this number.
    Axis(usize),
    /// The expression of this number, as it is written.
    Computed(usize, &'static str),
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
    fn only(&self) -> &'a [usize] {
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

/// The lengths of the axes in one call, and the expressions of them.
#[derive(Debug)]
pub struct Lengths<'a, const N: usize, const C: usize> {
    inputs: &'a [Dims<'a>],
    /// The lengths of the axes, in the order of their names.
    pub axes: [usize; N],
    leading: &'a [usize],
    computed: [usize; C],
}

/// The length of an axis that no input has had yet, and of one that may have any length.
const ANY: usize = usize::MAX;

/// Computes nothing: no declared length is an expression.
#[inline]
pub fn nothing_computed<const N: usize>(_: &[usize; N]) -> ([Length; 0], [Length; 0]) {
    ([], [])
}

impl ShapeTable {
    /// Reads the lengths of the axes off the inputs, which are those with declared shapes and then others that shapes are
    /// like, and checks them. `compute` has the expressions, and the values that they are computed with.
    #[inline]
    fn lengths<'a, const N: usize, const C: usize, const V: usize>(
        &self,
        inputs: &'a [Dims<'a>],
        compute: impl FnOnce(&[usize; N]) -> ([Length; C], [Length; V]),
        at: &'static Location<'static>,
    ) -> Result<Lengths<'a, N, C>, Error> {
        let mut lengths = Lengths {
            inputs,
            axes: [ANY; N],
            leading: &[],
            computed: [ANY; C],
        };
        if let Err(misfit) = self.read(inputs, &mut lengths.axes, &mut lengths.leading) {
            return Err(self.mismatched(inputs, &misfit, at));
        }
        if C > 0 {
            let (computed, values) = compute(&lengths.axes);
            for (length, computed) in lengths.computed.iter_mut().zip(&computed) {
                *length = computed.to_usize().unwrap_or(ANY);
            }
            if lengths.computed.contains(&ANY) {
                return Err(self.not_a_length(&lengths.axes, &computed, &values, at));
            }
            self.compare_computed(inputs, &lengths.computed, at)?;
        }
        Ok(lengths)
    }

    /// Reads the lengths for `apply`.
    ///
    /// # Panics
    /// If the inputs do not have the declared shapes, or a length is none.
    #[inline]
    #[track_caller]
    pub fn applied<'a, const N: usize, const C: usize, const V: usize>(
        &self,
        inputs: &'a [Dims<'a>],
        compute: impl FnOnce(&[usize; N]) -> ([Length; C], [Length; V]),
    ) -> Lengths<'a, N, C> {
        match self.lengths(inputs, compute, Location::caller()) {
            Ok(lengths) => lengths,
            Err(error) => refused(&error),
        }
    }

    /// Reads the lengths for an `apply` at this line, which unwinds to the `catching_passes` around.
    pub fn applied_at<'a, const N: usize, const C: usize, const V: usize>(
        &self,
        applied_at: &'static Location<'static>,
        inputs: &'a [Dims<'a>],
        compute: impl FnOnce(&[usize; N]) -> ([Length; C], [Length; V]),
    ) -> Lengths<'a, N, C> {
        match self.lengths(inputs, compute, applied_at) {
            Ok(lengths) => lengths,
            Err(error) => unwind_to_pass(error.message()),
        }
    }

    /// Reads the lengths for `output_shape`.
    #[track_caller]
    pub fn of_shapes<'a, const N: usize, const C: usize, const V: usize>(
        &self,
        inputs: &'a [Dims<'a>],
        compute: impl FnOnce(&[usize; N]) -> ([Length; C], [Length; V]),
    ) -> Result<Lengths<'a, N, C>, Error> {
        self.lengths(inputs, compute, Location::caller())
    }

    /// Compares the shape of something that forward returned, of this number among those with declared shapes.
    ///
    /// # Panics
    /// If it has another shape.
    #[inline]
    #[track_caller]
    pub fn returned<const N: usize, const C: usize>(
        &self,
        lengths: &Lengths<'_, N, C>,
        number: usize,
        shape: &[usize],
    ) {
        let expected = self.expected(lengths, number);
        if !expected.is(shape) {
            refused(&self.returned_error(number, &expected, shape, Location::caller()));
        }
    }

    /// Compares like [`returned`](Self::returned), for an `apply` at this line.
    pub fn returned_at<const N: usize, const C: usize>(
        &self,
        applied_at: &'static Location<'static>,
        lengths: &Lengths<'_, N, C>,
        number: usize,
        shape: &[usize],
    ) {
        let expected = self.expected(lengths, number);
        if !expected.is(shape) {
            let error = self.returned_error(number, &expected, shape, applied_at);
            unwind_to_pass(error.message());
        }
    }

    /// Returns the shape of something that forward returns, of a fixed rank.
    ///
    /// # Panics
    /// If the shape has another rank: that is a bug of the attribute.
    pub fn array<const N: usize, const C: usize, const R: usize>(
        &self,
        lengths: &Lengths<'_, N, C>,
        number: usize,
    ) -> [usize; R] {
        let shape = self.vec(lengths, number);
        // INVARIANT: declared shapes have the ranks of their types.
        shape.try_into().expect("a length for each axis")
    }

    /// Returns the shape of something that forward returns, of any rank.
    pub fn vec<const N: usize, const C: usize>(
        &self,
        lengths: &Lengths<'_, N, C>,
        number: usize,
    ) -> Vec<usize> {
        let expected = self.expected(lengths, number);
        let lengths = expected
            .lengths
            .iter()
            .map(|length| expected.length(length));
        expected.leading.iter().copied().chain(lengths).collect()
    }

    #[inline]
    fn expected<'a, const N: usize, const C: usize>(
        &self,
        lengths: &'a Lengths<'_, N, C>,
        number: usize,
    ) -> Expected<'a> {
        let DeclaredShape {
            leading,
            lengths: declared,
            ..
        } = &self.returned[number];
        Expected {
            leading: match *leading {
                Leading::None => &[],
                Leading::Axes => lengths.leading,
                Leading::Of(input) => lengths.inputs[input].only(),
            },
            lengths: declared,
            axes: &lengths.axes,
            computed: &lengths.computed,
        }
    }

    #[cold]
    fn returned_error(
        &self,
        number: usize,
        expected: &Expected<'_>,
        found: &[usize],
        at: &'static Location<'static>,
    ) -> Error {
        let DeclaredShape { name, text, .. } = self.returned[number];
        ErrorKind::ReturnedShape {
            output: name,
            declared: text,
            expected: expected.to_string(),
            found: found.into(),
        }
        .of(self.function, at)
    }

    /// Returns the error of an expression that is no length.
    #[cold]
    fn not_a_length(
        &self,
        axes: &[usize],
        computed: &[Length],
        values: &[Length],
        at: &'static Location<'static>,
    ) -> Error {
        let tensors = || self.inputs.iter().chain(self.returned);
        let lengths = tensors().flat_map(|declared| {
            let lengths = declared.lengths.iter().enumerate();
            lengths.map(move |(axis, length)| (declared, axis, length))
        });
        let mut wrong = lengths.filter_map(|(declared, axis, length)| match *length {
            DeclaredLength::Computed(number, text) if computed[number].to_usize().is_none() => {
                Some((declared.name, axis, text, computed[number]))
            }
            _ => None,
        });
        // INVARIANT: each expression is a length of some tensor.
        let (tensor, axis, expression, length) = wrong.next().expect("an expression");
        let named = |names: &'static [&'static str], of: Vec<Option<i128>>| {
            let is_used = move |name: &&'static str| has_word(expression, name);
            let pairs = names.iter().copied().zip(of);
            pairs
                .filter(move |(name, _)| is_used(name))
                .filter_map(|(name, number)| Some((name, number?)))
        };
        let of_axes = axes.iter().map(|&length| i128::try_from(length).ok());
        let of_values = values.iter().map(|value| value.number());
        let terms = named(self.axes, of_axes.collect());
        let terms = terms.chain(named(self.values, of_values.collect()));
        ErrorKind::Length {
            tensor,
            axis,
            expression,
            length: length.number(),
            terms: terms.collect(),
        }
        .of(self.function, at)
    }

    /// Compares the lengths of inputs that are expressions.
    fn compare_computed(
        &self,
        inputs: &[Dims<'_>],
        computed: &[usize],
        at: &'static Location<'static>,
    ) -> Result<(), Error> {
        for (declared, dims) in self.inputs.iter().zip(inputs) {
            let is_computed =
                |length: &DeclaredLength| matches!(length, DeclaredLength::Computed(..));
            if !declared.lengths.iter().any(is_computed) {
                continue;
            }
            for (element, shape) in dims.as_slice().iter().enumerate() {
                let begin = shape.len() - declared.lengths.len();
                for (found, length) in shape[begin..].iter().zip(declared.lengths) {
                    let DeclaredLength::Computed(number, expression) = *length else {
                        continue;
                    };
                    if computed[number] != *found {
                        let (input, shape) = named(declared.name, dims, element);
                        return Err(ErrorKind::ComputedLength {
                            input,
                            expression,
                            expected: computed[number],
                            found: shape,
                        }
                        .of(self.function, at));
                    }
                }
            }
        }
        Ok(())
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
                if declared.leading == Leading::Axes {
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
                        // Expressions are compared when all axes are known.
                        DeclaredLength::Any | DeclaredLength::Computed(..) => true,
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
                DeclaredLength::Any | DeclaredLength::Number(_) | DeclaredLength::Computed(..) => {
                    Self::declared(declared, found)
                }
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
        named(self.inputs[input].name, &inputs[input], element)
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
        let has_leading =
            |(input, _): &(usize, usize)| self.inputs[*input].leading == Leading::Axes;
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

/// Returns the name and the shape of a tensor; in a list with its index.
fn named(name: &str, dims: &Dims<'_>, element: usize) -> (String, Shape) {
    let name = match dims {
        Dims::List(_) => format!("{name}[{element}]"),
        Dims::One(_) | Dims::Missing => name.to_owned(),
    };
    (name, Shape::from(dims.as_slice()[element]))
}

/// Returns whether a name is one of the words of an expression.
fn has_word(expression: &str, name: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    expression
        .split(|letter| !is_part(letter))
        .any(|word| word == name)
}

/// The shape that something must have.
struct Expected<'a> {
    /// The lengths of the first axes.
    leading: &'a [usize],
    /// Those of the others.
    lengths: &'static [DeclaredLength],
    axes: &'a [usize],
    computed: &'a [usize],
}

impl Expected<'_> {
    #[inline]
    fn length(&self, declared: &DeclaredLength) -> usize {
        match *declared {
            DeclaredLength::Any => ANY,
            DeclaredLength::Number(number) => number,
            DeclaredLength::Axis(axis) => self.axes[axis],
            DeclaredLength::Computed(number, _) => self.computed[number],
        }
    }

    /// Returns whether a tensor has the shape.
    #[inline]
    fn is(&self, shape: &[usize]) -> bool {
        let begin = self.leading.len();
        let fits = |(found, declared): (&usize, &DeclaredLength)| {
            let expected = self.length(declared);
            expected == *found || expected == ANY
        };
        shape.len() == begin + self.lengths.len()
            && shape[..begin] == *self.leading
            && shape[begin..].iter().zip(self.lengths).all(fits)
    }
}

/// The shape as it is shown: `_` for any length.
impl fmt::Display for Expected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths = self.lengths.iter().map(|length| self.length(length));
        let lengths = self.leading.iter().copied().chain(lengths);
        f.write_str("[")?;
        for (place, length) in lengths.enumerate() {
            f.write_str(if place == 0 { "" } else { ", " })?;
            match length {
                ANY => f.write_str("_")?,
                length => write!(f, "{length}")?,
            }
        }
        f.write_str("]")
    }
}

/// Returns the shapes of the tensors of all inputs, for a message.
pub fn shapes_of_dims(inputs: &[Dims<'_>]) -> Vec<Vec<Shape>> {
    let shapes = |dims: &Dims<'_>| {
        dims.as_slice()
            .iter()
            .map(|shape| Shape::from(*shape))
            .collect()
    };
    inputs.iter().map(shapes).collect()
}

/// Returns the shape of a tensor that forward consumes, or writes to.
pub fn shape_of<T: Element, D: Dimension>(tensor: &Tensor<T, D>) -> Shape {
    tensor.to_shape()
}

/// Panics with the message of an error.
#[cold]
#[track_caller]
fn refused(error: &Error) -> ! {
    panic!("{}", error.message())
}

/// The shape or the shapes that `output_shape` takes for an input.
pub trait IntoDims {
    /// Returns them as those of tensors.
    fn dims(&self) -> Dims<'_>;
}

impl<const R: usize> IntoDims for [usize; R] {
    fn dims(&self) -> Dims<'_> {
        Dims::One(self)
    }
}

impl IntoDims for &[usize] {
    fn dims(&self) -> Dims<'_> {
        Dims::One(self)
    }
}

impl<S: IntoDims> IntoDims for Option<S> {
    fn dims(&self) -> Dims<'_> {
        self.as_ref().map_or(Dims::Missing, IntoDims::dims)
    }
}

impl<const R: usize> IntoDims for &[[usize; R]] {
    fn dims(&self) -> Dims<'_> {
        Dims::List(self.iter().map(|shape| &shape[..]).collect())
    }
}

impl IntoDims for &[&[usize]] {
    fn dims(&self) -> Dims<'_> {
        Dims::List(self.to_vec())
    }
}

#[cfg(test)]
mod tests;
