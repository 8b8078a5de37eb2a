//! Declared shapes: axes by name, checked before forward runs and where it returns.
//!
//! Generated code has a [`ShapeTable`] for each function with `shapes(…)`. It reads the lengths of the axes off the
//! inputs, and compares what forward returns. Only expressions are generated code, which computes them with [`Length`].

mod dims;
mod length;
mod misfit;
mod outputs;
mod table;

pub use dims::{Dims, InputShapes, shape_of, shapes_of_dims};
pub use length::{IntoLength, Length};
pub use outputs::OutputShapes;
pub use table::ShapeTable;

use std::fmt;
use std::panic::Location;

use dims::named;
use misfit::{Misfit, Place};
use table::{DeclaredLength, Leading, MOST_AXES};

use crate::error::panic::unwind_to_pass;
use crate::error::{Error, ErrorKind};

/// The lengths of the axes in one call, and the expressions of them.
#[derive(Debug)]
pub struct Lengths<'a, const N: usize, const C: usize> {
    inputs: &'a [Dims<'a>],
    /// The lengths of the axes, in the order of their names.
    pub axes: [usize; N],
    leading: &'a [usize],
    computed: [usize; C],
}

impl<'a, const N: usize, const C: usize> Lengths<'a, N, C> {
    /// Returns what is to be read off the inputs, which are those with declared shapes and then others that shapes are
    /// like.
    #[inline]
    pub fn unread(inputs: &'a [Dims<'a>]) -> Self {
        Self {
            inputs,
            axes: [ANY; N],
            leading: &[],
            computed: [ANY; C],
        }
    }
}

/// The length of an axis that no input has had yet, and of one that may have any length.
const ANY: usize = usize::MAX;

/// Computes nothing: no declared length is an expression.
#[inline]
pub fn nothing_computed<const N: usize>(_: &[usize; N]) -> ([Length; 0], [Length; 0]) {
    ([], [])
}

impl ShapeTable {
    /// Reads the lengths of the axes off the inputs, and checks them. `compute` has the expressions, and the values that
    /// they are computed with.
    #[inline]
    fn read_lengths<const N: usize, const C: usize, const V: usize>(
        &self,
        lengths: &mut Lengths<'_, N, C>,
        compute: impl FnOnce(&[usize; N]) -> ([Length; C], [Length; V]),
        at: &'static Location<'static>,
    ) -> Result<(), Error> {
        let inputs = lengths.inputs;
        if let Err(misfit) = self.read(inputs, &mut lengths.axes, &mut lengths.leading) {
            return Err(self.mismatched(inputs, &misfit, at));
        }
        if C > 0 {
            let (computed, values) = compute(&lengths.axes);
            for (length, computed) in lengths.computed.iter_mut().zip(&computed) {
                *length = computed.to_usize().unwrap_or(ANY);
            }
            if lengths.computed.contains(&ANY) {
                return Err(self.not_a_length(lengths, &computed, &values, at));
            }
            self.compare_computed(inputs, &lengths.computed, at)?;
        }
        Ok(())
    }

    /// Reads the lengths for `apply`.
    ///
    /// # Panics
    /// If the inputs do not have the declared shapes, or a length is none.
    #[inline]
    #[track_caller]
    pub fn applied<const N: usize, const C: usize, const V: usize>(
        &self,
        lengths: &mut Lengths<'_, N, C>,
        compute: impl FnOnce(&[usize; N]) -> ([Length; C], [Length; V]),
    ) {
        if let Err(error) = self.read_lengths(lengths, compute, Location::caller()) {
            refused(&error)
        }
    }

    /// Reads the lengths for `apply` where none is an expression, with less for the compiler to infer.
    ///
    /// # Panics
    /// If the inputs do not have the declared shapes.
    #[inline]
    #[track_caller]
    pub fn applied_to_axes<const N: usize>(&self, lengths: &mut Lengths<'_, N, 0>) {
        self.applied(lengths, nothing_computed);
    }

    /// Reads the lengths for an `apply` at this line, which unwinds to the `catching_passes` around.
    pub fn applied_at<const N: usize, const C: usize, const V: usize>(
        &self,
        applied_at: &'static Location<'static>,
        lengths: &mut Lengths<'_, N, C>,
        compute: impl FnOnce(&[usize; N]) -> ([Length; C], [Length; V]),
    ) {
        if let Err(error) = self.read_lengths(lengths, compute, applied_at) {
            unwind_to_pass(error.message())
        }
    }

    /// Returns what [`output_shapes`](Self::output_shapes) does where no length is an expression.
    ///
    /// # Errors
    /// If the inputs do not have the declared shapes.
    #[track_caller]
    pub fn output_axes<S: OutputShapes>(
        &self,
        inputs: impl InputShapes,
        outputs: &[usize],
    ) -> Result<S, Error> {
        self.output_shapes::<S, MOST_AXES, 0, 0>(inputs, outputs, nothing_computed)
    }

    /// Returns the shapes of the outputs, which have these numbers among the returned values with declared shapes.
    ///
    /// # Errors
    /// If the inputs do not have the declared shapes, or a length is none.
    #[track_caller]
    pub fn output_shapes<S: OutputShapes, const N: usize, const C: usize, const V: usize>(
        &self,
        inputs: impl InputShapes,
        outputs: &[usize],
        compute: impl FnOnce(&[usize; N]) -> ([Length; C], [Length; V]),
    ) -> Result<S, Error> {
        let mut dims = Vec::new();
        inputs.push_dims(&mut dims);
        let mut lengths = Lengths::unread(&dims);
        self.read_lengths(&mut lengths, compute, Location::caller())?;
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
        let lengths = expected.lengths.iter().map(|&code| expected.length(code));
        expected.leading.iter().copied().chain(lengths).collect()
    }

    #[inline]
    fn expected<'a, const N: usize, const C: usize>(
        &'a self,
        lengths: &'a Lengths<'_, N, C>,
        number: usize,
    ) -> Expected<'a> {
        // INVARIANT: the attribute numbers what is in the table.
        let declared = self.outputs().nth(number).expect("a declared shape");
        Expected {
            table: self,
            leading: match declared.leading {
                Leading::None => &[],
                Leading::Axes => lengths.leading,
                Leading::Of(input) => lengths.inputs[input].only(),
            },
            lengths: declared.lengths,
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
        let (output, declared) = self.tensor(self.inputs().count() + number);
        ErrorKind::ReturnedShape {
            output,
            declared,
            expected: expected.to_string(),
            found: found.into(),
        }
        .of(self.function(), at)
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
        let shapes = self.inputs().chain(self.outputs()).enumerate();
        let all = shapes.flat_map(|(tensor, declared)| {
            let first = match declared.leading {
                Leading::Axes => lengths.leading.len(),
                Leading::None | Leading::Of(_) => 0,
            };
            let lengths = (first..).zip(declared.lengths);
            lengths.map(move |(axis, code)| (tensor, axis, self.length(*code)))
        });
        let mut wrong = all.filter_map(|(tensor, axis, length)| match length {
            DeclaredLength::Computed(number) if computed[number].to_usize().is_none() => {
                Some((tensor, axis, number))
            }
            _ => None,
        });
        // INVARIANT: each expression is a length of some tensor.
        let (tensor, axis, number) = wrong.next().expect("an expression");
        let (tensor, _) = self.tensor(tensor);
        let (expression, length) = (self.expression(number), computed[number]);
        let of_axes = lengths.axes.iter();
        let of_axes = of_axes.map(|&length| i128::try_from(length).ok());
        let of_values = values.iter().map(|value| value.number());
        let terms = self.axes().zip(of_axes);
        let terms = terms.chain(self.values().zip(of_values));
        let terms = terms.filter(|(name, _)| has_word(expression, name));
        let terms = terms.filter_map(|(name, number)| Some((name, number?)));
        ErrorKind::Length {
            tensor,
            axis,
            expression,
            length: length.number(),
            terms: terms.collect(),
        }
        .of(self.function(), at)
    }

    /// Compares the lengths of inputs that are expressions.
    fn compare_computed(
        &self,
        inputs: &[Dims<'_>],
        computed: &[usize],
        at: &'static Location<'static>,
    ) -> Result<(), Error> {
        for (input, (declared, dims)) in self.inputs().zip(inputs).enumerate() {
            for (element, shape) in dims.as_slice().iter().enumerate() {
                let begin = shape.len() - declared.lengths.len();
                for (found, code) in shape[begin..].iter().zip(declared.lengths) {
                    if let DeclaredLength::Computed(number) = self.length(*code)
                        && computed[number] != *found
                    {
                        let (input, shape) = named(self.tensor(input).0, dims, element);
                        return Err(ErrorKind::ComputedLength {
                            input,
                            expression: self.expression(number),
                            expected: computed[number],
                            found: shape,
                        }
                        .of(self.function(), at));
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
        for (input, (declared, dims)) in self.inputs().zip(inputs).enumerate() {
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
                for (place, (&found, code)) in last.enumerate() {
                    let is_right = match self.length(*code) {
                        // Expressions are compared when all axes are known.
                        DeclaredLength::Any | DeclaredLength::Computed(_) => true,
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
    /// Those of the others.
    lengths: &'static [u8],
    axes: &'a [usize],
    computed: &'a [usize],
}

impl Expected<'_> {
    #[inline]
    fn length(&self, code: u8) -> usize {
        match self.table.length(code) {
            DeclaredLength::Any => ANY,
            DeclaredLength::Number(number) => number,
            DeclaredLength::Axis(axis) => self.axes[axis],
            DeclaredLength::Computed(number) => self.computed[number],
        }
    }

    /// Returns whether a tensor has the shape.
    #[inline]
    fn is(&self, shape: &[usize]) -> bool {
        let Some((first, last)) = shape.split_at_checked(self.leading.len()) else {
            return false;
        };
        let fits = |(found, &code): (&usize, &u8)| {
            let expected = self.length(code);
            expected == *found || expected == ANY
        };
        // By element: there are few, and a call that compares memory costs more.
        last.len() == self.lengths.len()
            && first.iter().eq(self.leading)
            && last.iter().zip(self.lengths).all(fits)
    }
}

/// The shape as it is shown: `_` for any length.
impl fmt::Display for Expected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths = self.lengths.iter().map(|&code| self.length(code));
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
