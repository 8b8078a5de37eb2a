//! What can go wrong, and how each kind words it.

use std::fmt;

use autograd_kernels::{Shape, counted};

use super::{Derivative, Error, Mismatch};

/// What went wrong: see [`Error::kind`].
///
/// ```
/// use pullback::{ErrorKind, Tensor};
/// use pullback::ndarray::array;
///
/// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
/// let error = (&x * &x).backward().unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::NotScalar { shape } if shape[..] == [2]));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// `backward` or `grad` was started from a tensor of more (or fewer) than one element without a
    /// gradient for it.
    NotScalar {
        /// The tensor's shape.
        shape: Shape,
    },
    /// `backward` or `grad` was started from a tensor that nothing was recorded for.
    NoGraph,
    /// The gradient that a backward pass is started with has another shape than its tensor.
    SeedShape {
        /// The tensor's shape.
        expected: Shape,
        /// The gradient's shape.
        found: Shape,
    },
    /// An earlier backward pass freed the saved values.
    Freed,
    /// A backward function returned a gradient that does not have its input's shape.
    GradientShape {
        /// The input's name, in a list with the tensor's index: `parts[2]`.
        input: String,
        /// The input's shape.
        expected: Shape,
        /// The gradient's shape.
        found: Shape,
    },
    /// A backward function returned another number of gradients than a list has tensors.
    ListLength {
        /// The list's name.
        input: &'static str,
        /// The number of tensors in the list.
        expected: usize,
        /// The number of gradients.
        found: usize,
    },
    /// A backward function returned an error, which is the [source](std::error::Error::source) of this one.
    Backward {
        /// What it says.
        reason: String,
    },
    /// A gradient was differentiated whose backward function is written on arrays, or marked `once`.
    OnceDifferentiable,
    /// A function of numbers was differentiated once more than its derivatives were generated for.
    OrderExceeded {
        /// How often it can be differentiated.
        order: usize,
    },
    /// Inside [`detect_anomaly`](crate::detect_anomaly), a backward function returned a gradient that is not
    /// a number.
    NotANumber {
        /// The input's name.
        input: String,
        /// The first such entry of the gradient.
        entry: Vec<usize>,
    },
    /// `Backward::inputs` was given no tensors.
    NoInputs,
    /// A gradient was asked for with respect to a tensor that does not require it.
    InputWithoutGrad {
        /// The input's position in the call, from 0.
        position: usize,
    },
    /// A gradient was asked for with respect to a tensor that the output does not depend on.
    UnusedInput {
        /// The input's position in the call, from 0.
        position: usize,
    },
    /// A function of typed tensors was given another number of them, by a
    /// [`Recording`](crate::foreign::Recording).
    InputCount {
        /// The number that it takes; a list among them takes any.
        expected: usize,
        /// The number of tensors.
        found: usize,
    },
    /// A function of typed tensors was given one of another type, by a
    /// [`Recording`](crate::foreign::Recording).
    InputType {
        /// The input's position in the call, from 0.
        position: usize,
        /// The element type and the rank that it takes; `None` for any rank.
        expected: (&'static str, Option<usize>),
        /// The element type and the rank of the tensor.
        found: (&'static str, usize),
    },
    /// `Node::apply` was given another number of gradients than the node has outputs.
    GradientCount {
        /// The number of the node's outputs.
        expected: usize,
        /// The number of gradients.
        found: usize,
    },
    /// `Node::apply` or a hook was given, or returned, a gradient of another element type.
    ElementType,
    /// A hook returned a gradient of another shape.
    HookShape {
        /// The shape of the gradient that it was to replace.
        expected: Shape,
        /// The gradient's shape.
        found: Shape,
    },
    /// A hook of a node returned another number of gradients.
    HookCount {
        /// The number of gradients that were to be replaced.
        expected: usize,
        /// The number of gradients returned.
        found: usize,
    },
    /// A saved tensor that was packed could not be unpacked.
    Unpack {
        /// What `unpack` said.
        reason: String,
    },
    /// Forward mode met a function without a `#[jvp]` rule.
    NoForwardRule,
    /// A backward pass in a run of forward mode, through functions whose inputs have a tangent. Nodes save no
    /// tangents, so those of the gradients are not known. Its line is the one that called the pass; for `backward`,
    /// the one that applied the function which it starts from.
    PassInForwardMode {
        /// `backward`, `grad` or `Node::apply`.
        pass: &'static str,
    },
    /// A `#[jvp]` rule returned a tangent that does not have its output's shape, or forward mode was started
    /// with one that does not have its input's. In that case the function is `jvp`.
    TangentShape {
        /// The output's name, or the input's position.
        of: String,
        /// The tensor's shape.
        expected: Shape,
        /// The tangent's shape.
        found: Shape,
    },
    /// A `#[jvp]` rule returned another number of tangents than a list of outputs has tensors.
    TangentCount {
        /// The list's name.
        of: &'static str,
        /// The number of tensors in the list.
        expected: usize,
        /// The number of tangents.
        found: usize,
    },
    /// A derivative along a direction was asked for that neither mode knows: a function has no `#[jvp]`
    /// rule, and backward passes cannot replace it.
    NeitherMode {
        /// What forward mode lacks.
        forward: Error,
        /// What a backward pass through the gradients lacks.
        backward: Error,
    },
    /// The function that [`vmap`](crate::functional::vmap) called returned an error.
    Example {
        /// The example's position along the axis, from 0.
        example: usize,
        /// What the function returned.
        error: Error,
    },
    /// In strict mode, an output does not depend on an input.
    Independent {
        /// [`Derivative::First`], or [`Derivative::Second`]: then the outputs are the inputs' gradients.
        derivative: Derivative,
        /// The output's position, from 0; `None` if it is all of them.
        output: Option<usize>,
        /// The input's position, from 0; `None` if it is all of them.
        input: Option<usize>,
    },
    /// A system was to be solved, or an inverse or determinant computed, of a singular matrix.
    Singular {
        /// The matrix's shape.
        shape: Shape,
        /// The index on the diagonal where this shows, after the rows before it were eliminated.
        pivot: usize,
    },
    /// A Cholesky factor was asked for of a matrix that is not positive definite.
    NotPositiveDefinite {
        /// The matrix's shape.
        shape: Shape,
        /// The index on the diagonal where this shows.
        pivot: usize,
    },
    /// A gradient is not what finite differences say.
    Gradcheck(Mismatch),
}

impl ErrorKind {
    /// Writes the message, without the line.
    #[expect(clippy::too_many_lines, reason = "every message, one after the other")]
    pub(super) fn write(&self, function: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotScalar { shape } => write!(
                f,
                "backward from a tensor of shape {shape} needs a gradient to start with: \
                 reduce it to one element, or call `backward_with`"
            ),
            Self::NoGraph => f.write_str(
                "backward from a tensor that does not require grad: no input of its computation \
                 did, or it was computed inside `no_grad` or detached",
            ),
            Self::SeedShape { expected, found } => write!(
                f,
                "backward from a tensor of shape {expected} was started with a gradient of shape \
                 {found}"
            ),
            Self::Freed => write!(
                f,
                "backward of `{function}` ran a second time, but the first pass freed its saved \
                 values: run the first with `retain_graph(true)` of `Backward` or `Grad`"
            ),
            Self::GradientShape {
                input,
                expected,
                found,
            } => write!(
                f,
                "backward of `{function}` gave a gradient of shape {found} for `{input}` of shape \
                 {expected}"
            ),
            Self::ListLength {
                input,
                expected,
                found,
            } => write!(
                f,
                "backward of `{function}` gave {} for the {} of `{input}`",
                counted(*found, "gradient", "gradients"),
                counted(*expected, "tensor", "tensors"),
            ),
            Self::Backward { reason } => write!(f, "backward of `{function}` failed: {reason}"),
            Self::OnceDifferentiable => write!(
                f,
                "the gradient of `{function}` cannot be differentiated again: its backward is \
                 written on arrays, or marked `once`; write it on `&Tensor`, the short form with \
                 `higher_order`, to have higher orders"
            ),
            Self::OrderExceeded { order } => {
                let times = match order {
                    1 => "once",
                    2 => "twice",
                    _ => "three times",
                };
                write!(
                    f,
                    "`{function}` can be differentiated {times}, as its derivatives were generated"
                )?;
                match order {
                    1 | 2 => write!(f, ": `elementwise(order = {})` has the next", order + 1),
                    _ => Ok(()),
                }
            }
            Self::NotANumber { input, entry } => write!(
                f,
                "backward of `{function}` gave a gradient for `{input}` that is not a number at entry \
                 {entry:?}"
            ),
            Self::NoInputs => f.write_str(
                "backward with an empty list of inputs: name some, or leave `inputs` out to accumulate in \
                 every leaf",
            ),
            Self::InputWithoutGrad { position } => write!(
                f,
                "input {position} of `grad` does not require grad: call `set_requires_grad(true)` \
                 on it before it is used"
            ),
            Self::UnusedInput { position } => write!(
                f,
                "the output does not depend on input {position} of `grad`: set `allow_unused` if \
                 that is intended"
            ),
            Self::InputCount { expected, found } => write!(
                f,
                "a function of {} was given {found}",
                counted(*expected, "tensor", "tensors"),
            ),
            Self::InputType {
                position,
                expected: (element, rank),
                found: (found_element, found_rank),
            } => {
                write!(f, "input {position} is a tensor of {found_element} of rank {found_rank}")?;
                write!(f, "; the function takes one of {element}")?;
                match rank {
                    Some(rank) => write!(f, " of rank {rank}"),
                    None => Ok(()),
                }
            }
            Self::GradientCount { expected, found } => write!(
                f,
                "`{function}` has {}, but `apply` of its node was given {}",
                counted(*expected, "output", "outputs"),
                counted(*found, "gradient", "gradients"),
            ),
            Self::ElementType => write!(
                f,
                "a gradient of `{function}` has another element type than was asked for"
            ),
            Self::HookShape { expected, found } => write!(
                f,
                "a hook of `{function}` returned a gradient of shape {found} instead of one of shape {expected}"
            ),
            Self::HookCount { expected, found } => write!(
                f,
                "a hook of `{function}` returned {} instead of {expected}",
                counted(*found, "gradient", "gradients"),
            ),
            Self::Unpack { reason } => write!(
                f,
                "a saved tensor of `{function}` could not be unpacked: {reason}"
            ),
            Self::NoForwardRule => write!(
                f,
                "forward mode on `{function}`, which has no `#[jvp]` rule: write a function with that \
                 attribute beside its backward functions, as the page of `custom_function` shows"
            ),
            Self::PassInForwardMode { pass } => write!(
                f,
                "`{pass}` inside forward mode: nodes save no tangents, so those of the gradients are not \
                 known; run forward mode inside the backward pass, as `functional::hvp` does"
            ),
            Self::TangentShape {
                of,
                expected,
                found,
            } => write!(
                f,
                "`{function}` has a tangent of shape {found} for `{of}` of shape {expected}"
            ),
            Self::TangentCount {
                of,
                expected,
                found,
            } => write!(
                f,
                "the `#[jvp]` rule of `{function}` gave {} for the {} of `{of}`",
                counted(*found, "tangent", "tangents"),
                counted(*expected, "tensor", "tensors"),
            ),
            Self::NeitherMode { forward, backward } => {
                write!(f, "{forward}; backward passes cannot replace it: {backward}")
            }
            Self::Example { example, error } => write!(f, "example {example} of `vmap`: {error}"),
            Self::Independent {
                derivative,
                output,
                input,
            } => {
                match (derivative, output) {
                    (Derivative::Second, Some(output)) => {
                        write!(f, "the gradient of input {output}")
                    }
                    (Derivative::Second, None) => f.write_str("no gradient"),
                    (_, Some(output)) => write!(f, "output {output}"),
                    (_, None) => f.write_str("no output"),
                }?;
                match (output, input) {
                    (_, None) => f.write_str(" depends on no input"),
                    (Some(_), Some(input)) => write!(f, " does not depend on input {input}"),
                    (None, Some(input)) => write!(f, " depends on input {input}"),
                }?;
                f.write_str(", which `strict` does not allow")
            }
            Self::Singular { shape, pivot } => write!(
                f,
                "`{function}` of a singular matrix of shape {shape}: the pivot {pivot} of its elimination \
                 is 0"
            ),
            Self::NotPositiveDefinite { shape, pivot } => write!(
                f,
                "`{function}` of a matrix of shape {shape} that is not positive definite: the pivot {pivot} is not \
                 positive"
            ),
            Self::Gradcheck(mismatch) => fmt::Display::fmt(mismatch, f),
        }
    }
}
