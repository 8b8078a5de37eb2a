//! Declared shapes: axes by name, checked before forward runs and where it returns.
//!
//! Generated code has a [`ShapeTable`] for each function with `shapes(…)`. It reads the lengths of the axes off the
//! inputs, and compares what forward returns. Only expressions are generated code, which computes them with [`Length`].

mod dims;
mod length;
mod misfit;
mod outputs;

pub use dims::{Dims, IntoDims, shape_of, shapes_of_dims};
pub use length::{IntoLength, Length};
pub use outputs::OutputShapes;

use std::fmt;
use std::panic::Location;

use dims::named;
use misfit::{Misfit, Place};

use crate::error::panic::unwind_to_pass;
use crate::error::{Error, ErrorKind};

/// The declared shapes of a function.
#[derive(Debug)]
pub struct ShapeTable {
    /// The function's name.
    pub function: &'static str,
    /// The names of the axes.
    pub axes: &'static [&'static str],
    /// The expressions, as they are written.
    pub expressions: &'static [&'static str],
    /// The lengths that are written as numbers.
    pub numbers: &'static [usize],
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
    /// The lengths of the last axes: the index of each among the axes, the expressions and the numbers of the table, in
    /// this order, or [`ANY_LENGTH`].
    pub lengths: &'static [usize],
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

/// In place of the index of a length: it may be any.
pub const ANY_LENGTH: usize = usize::MAX;

/// The declared length of one axis.
#[derive(Debug)]
enum DeclaredLength {
    /// Any length.
    Any,
    /// This length.
    Number(usize),
    /// The length of the axis of this number.
    Axis(usize),
    /// The expression of this number, as it is written.
    Computed(usize, &'static str),
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
    /// Returns the declared length of this index.
    #[inline]
    fn declared(&self, index: usize) -> DeclaredLength {
        if index < self.axes.len() {
            return DeclaredLength::Axis(index);
        }
        let index = index - self.axes.len();
        if let Some(text) = self.expressions.get(index) {
            return DeclaredLength::Computed(index, text);
        }
        let number = self.numbers.get(index - self.expressions.len());
        number.map_or(DeclaredLength::Any, |number| {
            DeclaredLength::Number(*number)
        })
    }

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
                return Err(self.not_a_length(&lengths, &computed, &values, at));
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

    /// Returns the shapes of the outputs, which have these numbers among the returned values with declared shapes.
    ///
    /// # Errors
    /// If the inputs do not have the declared shapes, or a length is none.
    #[track_caller]
    pub fn output_shapes<S: OutputShapes, const N: usize, const C: usize, const V: usize>(
        &self,
        inputs: &[Dims<'_>],
        outputs: &[usize],
        compute: impl FnOnce(&[usize; N]) -> ([Length; C], [Length; V]),
    ) -> Result<S, Error> {
        let lengths = self.lengths(inputs, compute, Location::caller())?;
        let mut shapes = outputs.iter().map(|&number| self.shape(&lengths, number));
        Ok(S::of(&mut shapes))
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

    /// Returns the shape of something that forward returns.
    fn shape<const N: usize, const C: usize>(
        &self,
        lengths: &Lengths<'_, N, C>,
        number: usize,
    ) -> Vec<usize> {
        let expected = self.expected(lengths, number);
        let lengths = expected
            .lengths
            .iter()
            .map(|&length| expected.length(length));
        expected.leading.iter().copied().chain(lengths).collect()
    }

    #[inline]
    fn expected<'a, const N: usize, const C: usize>(
        &'a self,
        lengths: &'a Lengths<'_, N, C>,
        number: usize,
    ) -> Expected<'a> {
        let DeclaredShape {
            leading,
            lengths: declared,
            ..
        } = &self.returned[number];
        Expected {
            table: self,
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
    fn not_a_length<const N: usize, const C: usize>(
        &self,
        lengths: &Lengths<'_, N, C>,
        computed: &[Length],
        values: &[Length],
        at: &'static Location<'static>,
    ) -> Error {
        let tensors = self.inputs.iter().chain(self.returned);
        let all = tensors.flat_map(|declared| {
            let first = match declared.leading {
                Leading::Axes => lengths.leading.len(),
                Leading::None | Leading::Of(_) => 0,
            };
            let lengths = (first..).zip(declared.lengths);
            lengths.map(move |(axis, length)| (declared, axis, length))
        });
        let mut wrong = all.filter_map(|(declared, axis, &length)| match self.declared(length) {
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
        let of_axes = lengths
            .axes
            .iter()
            .map(|&length| i128::try_from(length).ok());
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
                |length: &usize| matches!(self.declared(*length), DeclaredLength::Computed(..));
            if !declared.lengths.iter().any(is_computed) {
                continue;
            }
            for (element, shape) in dims.as_slice().iter().enumerate() {
                let begin = shape.len() - declared.lengths.len();
                for (found, length) in shape[begin..].iter().zip(declared.lengths) {
                    let DeclaredLength::Computed(number, expression) = self.declared(*length)
                    else {
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
                    let is_right = match self.declared(*declared) {
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
    table: &'a ShapeTable,
    /// The lengths of the first axes.
    leading: &'a [usize],
    /// The indices of those of the others.
    lengths: &'static [usize],
    axes: &'a [usize],
    computed: &'a [usize],
}

impl Expected<'_> {
    #[inline]
    fn length(&self, declared: usize) -> usize {
        match self.table.declared(declared) {
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
        let fits = |(found, &declared): (&usize, &usize)| {
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
        let lengths = self.lengths.iter().map(|&length| self.length(length));
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

/// Panics with the message of an error.
#[cold]
#[track_caller]
fn refused(error: &Error) -> ! {
    panic!("{}", error.message())
}

#[cfg(test)]
mod tests;
