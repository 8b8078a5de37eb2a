//! The result of a failed gradient check.

use std::fmt;

/// The derivatives that a gradient check compares.
///
/// ```
/// use pullback::{Derivative, ErrorKind, Tensor, functional::Functional};
/// use pullback::ndarray::array;
///
/// // The gradient of a sum is 1, whatever the numbers: it does not depend on them.
/// let x = Tensor::from(array![1.0, 2.0]);
/// let error = Functional::new().strict(true).hessian(|x| x.sum(), &x).unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::Independent { derivative: Derivative::Second, .. }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derivative {
    /// The gradient.
    First,
    /// The gradient of the gradient.
    Second,
    /// The tangent: the derivative that forward mode computes.
    Tangent,
    /// The derivative of the tangent, by a backward pass or by forward mode once more.
    SecondTangent,
}

/// The checks of a derivative.
///
/// ```
/// use pullback::ndarray::{Array1, ArrayView1, array};
/// use pullback::{Check, Gradcheck, Tensor, custom_function};
///
/// #[custom_function(grad(x) = &grad_output * &grad_output)] // right where it is 1
/// fn copy(x: ArrayView1<f64>) -> Array1<f64> {
///     x.to_owned()
/// }
///
/// let x = Tensor::from(array![1.0, 2.0]);
/// assert!(Gradcheck::new().run(copy, &x).is_ok());
/// let error = Gradcheck::new().thorough().run(copy, &x).unwrap_err();
/// assert_eq!(error.mismatch().map(|mismatch| mismatch.check), Some(Check::Linearity));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Check {
    /// Central differences.
    Differences,
    /// Backward is linear in the incoming gradients: its result for all entries is the sum of its results for each.
    Linearity,
    /// A second pass computes the same numbers to the last bit.
    Repetition,
    /// Backward reads a gradient correctly that is not contiguous.
    ScatteredGradient,
    /// Backward reads a gradient correctly that repeats a single number in memory.
    BroadcastGradient,
    /// Backward reads inputs correctly that are not contiguous.
    ScatteredInputs,
    /// An undefined gradient of an output counts as zeros.
    UndefinedGradients,
    /// An input has the same gradient if no other input requires grad.
    SingleInput,
}

/// The first entry whose analytical derivative differs from the numerical one, or from the value that another check
/// expects.
///
/// ```
/// use pullback::ndarray::{Array1, ArrayView1, array};
/// use pullback::{Gradcheck, Tensor, custom_function};
///
/// #[custom_function(grad(x) = &grad_output * &x)] // 2x is right
/// fn square(x: ArrayView1<f64>) -> Array1<f64> {
///     &x * &x
/// }
///
/// let error = Gradcheck::new().run(square, &Tensor::from(array![3.0])).unwrap_err();
/// let found = error.mismatch().expect("a wrong gradient");
/// assert_eq!((found.function, found.input_name.as_deref()), (Some("square"), Some("x")));
/// assert_eq!((found.analytical, found.numerical.round()), (3.0, 6.0));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Mismatch {
    /// The name of the function, if the closure applies exactly one function.
    pub function: Option<&'static str>,
    /// The check that failed.
    pub check: Check,
    /// The derivative that was checked.
    pub derivative: Derivative,
    /// The input's position in the tuple, from 0. Under [`Derivative::Second`] the incoming gradients
    /// follow the inputs, under [`Derivative::SecondTangent`] the directions.
    pub input: usize,
    /// The name of the input, if `function` is known.
    pub input_name: Option<String>,
    /// The index of the input's entry that was changed.
    pub input_entry: Vec<usize>,
    /// The value of that entry of the input.
    pub input_value: f64,
    /// The output's position, from 0. Under [`Derivative::Second`] the outputs are the inputs' gradients,
    /// under [`Derivative::SecondTangent`] the outputs' tangents; under [`Check::UndefinedGradients`] it
    /// is the one with a gradient, and under other checks than [`Check::Differences`] the first.
    pub output: usize,
    /// The index of the output's entry; empty if all entries had a gradient.
    pub output_entry: Vec<usize>,
    /// The derivative that backward or forward mode computed.
    pub analytical: f64,
    /// The derivative by central differences, or the value that the check expects.
    pub numerical: f64,
    /// The differences to the left and to the right if they disagree: there may be no derivative.
    pub sides: Option<[f64; 2]>,
    /// The value of the output, and the error of a difference by its rounding, if that is larger than `tolerance`.
    pub coarse: Option<[f64; 2]>,
    /// Outputs of a function with a `#[residual]`, which forward may have left too early: its gradients are right for a
    /// solution of the equations.
    pub unsolved: Option<Unsolved>,
    /// The largest allowed difference between `analytical` and `numerical`.
    pub tolerance: f64,
}

/// An output that does not solve the equations of its residual to rounding.
///
/// ```
/// use pullback::ndarray::{Array1, ArrayView1, array};
/// use pullback::{Gradcheck, prelude::*};
///
/// struct Root;
///
/// #[custom_function]
/// impl Root {
///     #[forward]
///     fn forward(a: ArrayView1<f64>) -> Array1<f64> {
///         a.mapv(|a| (0..2).fold(1.0, |x, _| 0.5 * (x + a / x))) // too few steps
///     }
///     #[residual]
///     fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>) -> Tensor1<f64> {
///         output.square() - a
///     }
/// }
///
/// let error = Gradcheck::new().run(Root::apply, &Tensor::from(array![5.0])).unwrap_err();
/// let unsolved = error.mismatch().and_then(|mismatch| mismatch.unsolved).unwrap();
/// assert_eq!((unsolved.function, unsolved.output), ("Root", "output"));
/// assert!(unsolved.residual > 0.1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Unsolved {
    /// The name of the function.
    pub function: &'static str,
    /// The name of the output with the largest residual.
    pub output: &'static str,
    /// The magnitude of the residual there.
    pub residual: f64,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (checked, of, by) = match self.derivative {
            Derivative::First => ("gradient", "output", "backward"),
            Derivative::Second => (
                "gradient of the gradient",
                "the gradient of input",
                "backward",
            ),
            Derivative::Tangent => ("tangent", "output", "forward mode"),
            Derivative::SecondTangent => (
                "derivative of the tangent",
                "the tangent of output",
                "differentiation",
            ),
        };
        write!(f, "wrong {checked}")?;
        if let Some(function) = self.function {
            write!(f, " of `{function}`")?;
        }
        f.write_str(" with respect to ")?;
        match &self.input_name {
            Some(name) => write!(f, "`{name}` (input {})", self.input)?,
            None => write!(f, "input {}", self.input)?,
        }
        let Self {
            input_entry: entry,
            output,
            analytical,
            numerical,
            tolerance,
            ..
        } = self;
        let (found, expected) = (Short(*analytical), Short(*numerical));
        match self.check {
            Check::Differences => write!(
                f,
                ": for entry {entry:?} of the input, which is {}, and entry {:?} of {of} {output} {by} \
                 computes {found}, central differences {expected}",
                Short(self.input_value),
                self.output_entry,
            ),
            Check::Linearity => write!(
                f,
                ": backward is not linear in the incoming gradients: for entry {entry:?} it \
                 computes {found} from all of them, and {expected} is the sum of what it \
                 computes from each"
            ),
            Check::Repetition => write!(
                f,
                ": backward is not deterministic: for entry {entry:?} it computes {analytical:e}, and {numerical:e} \
                 before"
            ),
            Check::ScatteredGradient => write!(
                f,
                ": for entry {entry:?} backward computes {found} from a gradient that is not \
                 contiguous, and {expected} from its copy in row-major order"
            ),
            Check::BroadcastGradient => write!(
                f,
                ": for entry {entry:?} backward computes {found} from a gradient that repeats one \
                 number in memory (its strides are 0), and {expected} from its copy in row-major \
                 order"
            ),
            Check::ScatteredInputs => write!(
                f,
                ": for entry {entry:?} backward computes {found} with inputs that are not \
                 contiguous, and {expected} with their copies in row-major order"
            ),
            Check::UndefinedGradients => write!(
                f,
                ": for entry {entry:?} backward computes {found} with a gradient for output \
                 {output} alone, and {expected} with zeros for the others"
            ),
            Check::SingleInput => write!(
                f,
                ": for entry {entry:?} backward computes {found} if no other input requires grad, and {expected} if all \
                 do; look at what it does with `needs_input_grad`"
            ),
        }?;
        if *tolerance == 0.0 {
            return Ok(());
        }
        if self.check == Check::Differences && !numerical.is_finite() {
            return f.write_str("; there is nothing to compare where the function is not finite");
        }
        self.write_cause(f)
    }
}

impl Mismatch {
    /// Writes how large the difference may be, and what may have caused it.
    fn write_cause(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "; they may differ by {}", Short(self.tolerance))?;
        if let Some(unsolved) = &self.unsolved {
            write_unsolved(f, unsolved)?;
        }
        if let Some([value, rounding]) = self.coarse {
            return write!(
                f,
                ". The output is {value:.1e}, and the rounding of such a number changes a difference by {rounding:.1e}: \
                 check at numbers for which it is smaller"
            );
        }
        let Some([left, right]) = self.sides else {
            return self.write_estimate(f);
        };
        write!(
            f,
            ". The differences to the left and to the right, {} and {}, disagree: this may be a kink, where there is \
             no derivative; check at other numbers",
            Short(left),
            Short(right)
        )
    }

    /// Writes what can be said of a gradient that is meant not to be the derivative, such as that of rounding.
    fn write_estimate(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.input_name {
            Some(name) if self.check == Check::Differences && self.numerical == 0.0 => write!(
                f,
                ". The output does not change with this entry: if the gradient is an estimate on purpose, write \
                 `estimated({name})` in the attribute's `gradcheck(…)`"
            ),
            _ => Ok(()),
        }
    }
}

fn write_unsolved(f: &mut fmt::Formatter<'_>, unsolved: &Unsolved) -> fmt::Result {
    let Unsolved {
        function,
        output,
        residual,
    } = unsolved;
    write!(
        f,
        ". The residual of `{output}` in `{function}` is {residual:.1e}, not 0: if forward stops too early, the gradients \
         are not those of what it returns"
    )
}

/// A number that is displayed with seven digits.
struct Short(f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(number) = *self;
        let rounded = format!("{number:.6e}");
        // INVARIANT: a number was written.
        let number: f64 = rounded.parse().expect("a number");
        if number == 0.0 || (1e-4..1e7).contains(&number.abs()) {
            write!(f, "{number}")
        } else {
            write!(f, "{number:e}")
        }
    }
}
