//! The kinds of errors, and their messages.

use std::fmt;

use autograd_kernels::{ElementType, Shape, counted};

use super::{Derivative, Error, Mismatch};

/// The kinds of errors: see [`Error::kind`].
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
    /// A pass starts from a tensor that does not have exactly one element, without a gradient for it.
    NotScalar {
        /// The tensor's shape.
        shape: Shape,
    },
    /// A pass starts from a tensor that does not require grad.
    NoGraph,
    /// A pass starts with a gradient that does not have its tensor's shape.
    SeedShape {
        /// The tensor's shape.
        expected: Shape,
        /// The gradient's shape.
        found: Shape,
    },
    /// An earlier pass freed the saved values.
    Freed,
    /// A backward function returned a gradient that does not have its input's shape.
    GradientShape {
        /// The input's name; in a list with the tensor's index: `parts[2]`.
        input: String,
        /// The input's shape.
        expected: Shape,
        /// The gradient's shape.
        found: Shape,
    },
    /// A backward function returned more or fewer gradients than a list has tensors.
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
        /// The message of that error.
        reason: String,
    },
    /// A `#[jvp]` rule returned an error, which is the [source](std::error::Error::source) of this one.
    ForwardRule {
        /// The message of that error.
        reason: String,
    },
    /// A residual returned an error, which is the [source](std::error::Error::source) of this one.
    Residual {
        /// The message of that error.
        reason: String,
    },
    /// A gradient was differentiated, but its backward function is written on arrays, or marked `once`.
    OnceDifferentiable,
    /// An elementwise function, or one of pairs, was differentiated more often than its derivatives were generated for.
    OrderExceeded {
        /// The highest order of a derivative of the function.
        order: usize,
        /// The argument of the attribute that can give a higher one, if there is one: `elementwise` or `pairs`.
        form: Option<&'static str>,
    },
    /// A residual does not have the shape of its output.
    ResidualShape {
        /// The output's name.
        output: &'static str,
        /// The output's shape.
        expected: Shape,
        /// The residual's shape.
        found: Shape,
    },
    /// The equations of a residual do not determine how its outputs change with the inputs: their derivative by the
    /// outputs is singular, or too nearly so for the precision of the numbers.
    SingularResidual {
        /// The number of the outputs' elements, and so of equations.
        unknowns: usize,
        /// An estimate of the condition, after rows and columns are scaled; infinite for a singular system, not a number
        /// if an element of the derivative is not finite.
        condition: f64,
        /// What is known of the reason: the unknown on which nothing depends, or that is not determined. May be empty.
        because: String,
    },
    /// The linear equations of a residual with many unknowns were not solved by the iteration.
    ResidualNotSolved {
        /// The number of the outputs' elements, and so of equations.
        unknowns: usize,
        /// The number of products with the derivative of the residual that were computed.
        products: usize,
        /// The norm of what remains, relative to that of the right side.
        remains: f64,
    },
    /// In the generated check, an output does not solve the equations of the residual.
    ResidualNotZero {
        /// The output's name.
        output: &'static str,
        /// The index of the residual's largest entry.
        entry: Vec<usize>,
        /// The magnitude of that entry.
        residual: f64,
    },
    /// Inside [`detect_anomaly`](crate::detect_anomaly), a backward function returned a gradient that is not
    /// a number.
    NotANumber {
        /// The input's name.
        input: String,
        /// The index of the first such entry of the gradient.
        entry: Vec<usize>,
    },
    /// Inside [`detect_anomaly`](crate::detect_anomaly), the derivative of a step of a scan was not a number.
    NotANumberAtStep {
        /// The number of the step.
        step: usize,
    },
    /// `Backward::inputs` was given no tensors.
    NoInputs,
    /// A gradient was requested for a tensor that does not require grad.
    InputWithoutGrad {
        /// The input's position in the call, from 0.
        position: usize,
    },
    /// A gradient was requested for a tensor that the output does not depend on.
    UnusedInput {
        /// The input's position in the call, from 0.
        position: usize,
    },
    /// A [`Recording`](crate::foreign::Recording) of a function was given more or fewer tensors than the function
    /// takes.
    InputCount {
        /// The number of tensors that the function takes, without those of a list.
        expected: usize,
        /// The number of tensors.
        found: usize,
    },
    /// A [`Recording`](crate::foreign::Recording) of a function was given a tensor of the wrong element type or rank.
    InputType {
        /// The input's position in the call, from 0.
        position: usize,
        /// The element type and the rank that the function takes; `None` for any rank.
        expected: (ElementType, Option<usize>),
        /// The element type and the rank of the tensor.
        found: (ElementType, usize),
    },
    /// `Node::apply` was given more or fewer gradients than the node has outputs.
    GradientCount {
        /// The number of the node's outputs.
        expected: usize,
        /// The number of gradients.
        found: usize,
    },
    /// A gradient has another element type than the caller, a hook or a backward function expects.
    ElementType {
        /// The expected element type.
        expected: ElementType,
        /// The gradient's element type.
        found: ElementType,
    },
    /// A hook returned a gradient of another shape.
    HookShape {
        /// The shape of the gradient to replace.
        expected: Shape,
        /// The gradient's shape.
        found: Shape,
    },
    /// A hook of a node returned more or fewer gradients than it was given.
    HookCount {
        /// The number of gradients to replace.
        expected: usize,
        /// The number of gradients returned.
        found: usize,
    },
    /// A saved tensor that was packed could not be unpacked.
    Unpack {
        /// The message of `unpack`.
        reason: String,
    },
    /// Forward mode reached a function without a `#[jvp]` rule.
    NoForwardRule,
    /// A backward pass ran inside forward mode, through functions whose inputs have a tangent. Nodes save no tangents,
    /// so the tangents of the gradients are unknown. The error's line is that of the call of the pass; for `backward`,
    /// the line that applied the function of the output.
    PassInForwardMode {
        /// `backward`, `grad` or `Node::apply`.
        pass: &'static str,
    },
    /// A `#[jvp]` rule returned a tangent that does not have its output's shape. If the function is `jvp`, forward mode
    /// was given a tangent that does not have its input's shape.
    TangentShape {
        /// The output's name; for `jvp`, the input's position.
        of: String,
        /// The tensor's shape.
        expected: Shape,
        /// The tangent's shape.
        found: Shape,
    },
    /// A `#[jvp]` rule returned more or fewer tangents than a list of outputs has tensors.
    TangentCount {
        /// The list's name.
        of: &'static str,
        /// The number of tensors in the list.
        expected: usize,
        /// The number of tangents.
        found: usize,
    },
    /// A derivative along a direction needs a `#[jvp]` rule that a function does not have, and backward passes cannot
    /// replace the rule.
    NeitherMode {
        /// The error of forward mode.
        forward: Error,
        /// The error of a backward pass through the gradients.
        backward: Error,
    },
    /// The function that [`vmap`](crate::functional::vmap) called returned an error, or a backward pass through an example
    /// of `apply_batch` has one.
    Example {
        /// The example's position along the axis, from 0.
        example: usize,
        /// The error of the example.
        error: Error,
    },
    /// A pass from outside reached an example of [`vmap`](crate::functional::vmap), through a tensor that left the
    /// example by another way than the function's result. The batch would silently get no gradient from it.
    LeftExample {
        /// The example's position along the axis, from 0.
        example: usize,
    },
    /// In strict mode, an output does not depend on an input.
    Independent {
        /// [`Derivative::First`], or [`Derivative::Second`]: then the outputs are the inputs' gradients.
        derivative: Derivative,
        /// The output's position, from 0; `None` for all outputs.
        output: Option<usize>,
        /// The input's position, from 0; `None` for all inputs.
        input: Option<usize>,
    },
    /// A solution, an inverse or a determinant of a singular matrix was requested.
    Singular {
        /// The matrix's shape.
        shape: Shape,
        /// The index on the diagonal of the pivot that is 0.
        pivot: usize,
    },
    /// A Cholesky factor of a matrix that is not positive definite was requested.
    NotPositiveDefinite {
        /// The matrix's shape.
        shape: Shape,
        /// The index on the diagonal of the pivot that is not positive.
        pivot: usize,
    },
    /// The iteration for eigenvalues or singular values did not converge, as where an element is infinite or NaN.
    NotConverged {
        /// The matrix's shape.
        shape: Shape,
    },
    /// Two inputs of a function differ in the length of an axis that its definition declares for both.
    AxisLength {
        /// The axis's name.
        axis: &'static str,
        /// The names of the inputs.
        inputs: [String; 2],
        /// Their shapes.
        shapes: [Shape; 2],
        /// The lengths that the axis has in them.
        lengths: [usize; 2],
    },
    /// Two inputs of a function differ in the leading axes that its definition declares for both, as `..`.
    LeadingAxes {
        /// The names of the inputs.
        inputs: [String; 2],
        /// Their shapes.
        shapes: [Shape; 2],
        /// The leading axes.
        lengths: [Shape; 2],
    },
    /// An input has another rank, or another length where its declared shape has a number.
    DeclaredShape {
        /// The input's name; in a list with the tensor's index: `parts[2]`.
        input: String,
        /// The declared shape, as it is written.
        declared: &'static str,
        /// The input's shape.
        found: Shape,
    },
    /// An input has another length where its declared shape has an expression.
    ComputedLength {
        /// The input's name; in a list with the tensor's index: `parts[2]`.
        input: String,
        /// The expression, as it is written.
        expression: &'static str,
        /// The length that it is in this call.
        expected: usize,
        /// The input's shape.
        found: Shape,
    },
    /// The expression of a declared length is below 0, or beyond all numbers.
    Length {
        /// The name of the tensor whose axis has the length.
        tensor: &'static str,
        /// The axis.
        axis: usize,
        /// The expression, as it is written.
        expression: &'static str,
        /// The number; `None` beyond the range of numbers and after a division by 0.
        length: Option<i128>,
        /// The numbers that it is computed from, by their names.
        terms: Vec<(&'static str, i128)>,
    },
    /// Forward returned an array of another shape than its definition declares.
    ReturnedShape {
        /// The name of the output, or of the saved intermediate.
        output: &'static str,
        /// The declared shape, as it is written.
        declared: &'static str,
        /// The declared shape in this call, with `_` for what may have any length.
        expected: String,
        /// The shape of the array.
        found: Shape,
    },
    /// A gradient differs from finite differences, or fails another check of [`Gradcheck`](crate::Gradcheck).
    Gradcheck(Mismatch),
}

impl ErrorKind {
    /// Returns the error of a gradient that is not of the element type `expected`, hence of the other one.
    pub(crate) const fn element_type(expected: ElementType) -> Self {
        let found = match expected {
            ElementType::F32 => ElementType::F64,
            ElementType::F64 => ElementType::F32,
        };
        Self::ElementType { expected, found }
    }

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
            Self::ForwardRule { reason } => {
                write!(f, "the `#[jvp]` rule of `{function}` failed: {reason}")
            }
            Self::Residual { reason } => {
                write!(f, "the residual of `{function}` failed: {reason}")
            }
            Self::OnceDifferentiable => write!(
                f,
                "the gradient of `{function}` cannot be differentiated again: its backward is \
                 written on arrays, or marked `once`; for higher orders, write it on `&Tensor`, or the \
                 short form with `higher_order`"
            ),
            Self::OrderExceeded { order, form } => {
                let times = match order {
                    1 => "once",
                    2 => "twice",
                    _ => "three times",
                };
                write!(f, "`{function}` can be differentiated only {times}")?;
                match (order, form) {
                    (1, Some(form)) => {
                        write!(f, "; write `{form}(order = 2)`, and no `once` in `grad(…)`")
                    }
                    (2, Some(form)) => write!(f, "; write `{form}(order = 3)`"),
                    _ => Ok(()),
                }
            }
            Self::ResidualShape {
                output,
                expected,
                found,
            } => write!(
                f,
                "the residual of `{function}` has the shape {found} for `{output}` of shape {expected}"
            ),
            Self::SingularResidual {
                unknowns,
                condition,
                because,
            } => {
                let equations = counted(*unknowns, "equation", "equations");
                write!(f, "the residual of `{function}` has no solution that depends smoothly on the inputs: ")?;
                if condition.is_nan() {
                    return write!(f, "its derivative by the outputs, of {equations}, is not finite");
                }
                write!(f, "its {equations} are singular, linearized at the outputs (condition {condition:.1e})")?;
                match &because[..] {
                    "" => Ok(()),
                    because => write!(f, "; {because}"),
                }
            }
            Self::ResidualNotSolved {
                unknowns,
                products,
                remains,
            } => write!(
                f,
                "the {} of the residual of `{function}`, linearized at the outputs, were not solved by {}: {remains:.1e} \
                 of the right side remains; `#[residual(dense = {unknowns})]` factors them",
                counted(*unknowns, "equation", "equations"),
                counted(*products, "product", "products"),
            ),
            Self::ResidualNotZero {
                output,
                entry,
                residual,
            } => write!(
                f,
                "the outputs of `{function}` do not solve the equations of its residual: the residual of `{output}` is \
                 {residual:.1e} at entry {entry:?}"
            ),
            Self::NotANumber { input, entry } => write!(
                f,
                "backward of `{function}` gave a gradient for `{input}` that is not a number at entry \
                 {entry:?}"
            ),
            Self::NotANumberAtStep { step } => write!(
                f,
                "backward of `{function}` gave a gradient that is not a number at step {step}"
            ),
            Self::NoInputs => f.write_str(
                "backward with an empty list of inputs: name inputs, or omit `inputs` to accumulate in every \
                 leaf",
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
                "the function takes {}, but {found} {} given",
                counted(*expected, "tensor", "tensors"),
                if *found == 1 { "was" } else { "were" },
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
            Self::ElementType { expected, found } => write!(
                f,
                "a gradient of `{function}` is of {found}, but {expected} was expected"
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
                "forward mode on `{function}`, which has no `#[jvp]` rule: write it as an `impl` block that has a \
                 function with that attribute beside its backward functions, as the page of `custom_function` shows"
            ),
            Self::PassInForwardMode { pass } => write!(
                f,
                "`{pass}` inside forward mode: nodes save no tangents, so the tangents of the gradients are \
                 unknown; run forward mode inside the backward pass, as `functional::hvp` does"
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
            Self::Example { example, error } => {
                write!(f, "example {example} of `{function}`: {error}")
            }
            Self::LeftExample { example } => write!(
                f,
                "a tensor of example {example} of `vmap` left the example by another way than the function's \
                 result, so the batch would lose its gradient: return the tensor from the function"
            ),
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
                "`{function}` of a singular matrix of shape {shape}: pivot {pivot} of the elimination is 0"
            ),
            Self::NotPositiveDefinite { shape, pivot } => write!(
                f,
                "`{function}` of a matrix of shape {shape} that is not positive definite: pivot {pivot} is not \
                 positive"
            ),
            Self::NotConverged { shape } => write!(
                f,
                "`{function}` of a matrix of shape {shape} did not converge, as where an element is infinite or NaN"
            ),
            Self::AxisLength {
                axis,
                inputs: [first, second],
                shapes: [shape, _],
                lengths: [expected, found],
            } if first == second => {
                write!(f, "`{function}` of `{first}` of shape {shape}: axis `{axis}` is {expected} and {found}")
            }
            Self::AxisLength {
                axis,
                inputs: [first, second],
                shapes: [shape, other],
                lengths: [expected, found],
            } => write!(
                f,
                "`{function}` of `{first}` of shape {shape} and `{second}` of shape {other}: axis `{axis}` is \
                 {expected} in `{first}` and {found} in `{second}`"
            ),
            Self::LeadingAxes {
                inputs: [first, second],
                shapes: [shape, other],
                lengths: [expected, found],
            } => write!(
                f,
                "`{function}` of `{first}` of shape {shape} and `{second}` of shape {other}: the leading axes are \
                 {expected} in `{first}` and {found} in `{second}`"
            ),
            Self::DeclaredShape {
                input,
                declared,
                found,
            } => write!(
                f,
                "`{function}` of `{input}` of shape {found}, which is not of the declared form `{declared}`"
            ),
            Self::ComputedLength {
                input,
                expression,
                expected,
                found,
            } => write!(
                f,
                "`{function}` of `{input}` of shape {found}: the length declared as `{expression}` is {expected} here"
            ),
            Self::Length {
                tensor,
                axis,
                expression,
                length,
                terms,
            } => {
                write!(f, "`{function}`: axis {axis} of `{tensor}` is `{expression}`")?;
                match length {
                    Some(length) => write!(f, " = {length}")?,
                    None => f.write_str(", which is not a number")?,
                }
                for (place, (name, number)) in terms.iter().enumerate() {
                    let joined = if place == 0 { ", with" } else { "," };
                    write!(f, "{joined} `{name}` = {number}")?;
                }
                Ok(())
            }
            Self::ReturnedShape {
                output,
                declared,
                expected,
                found,
            } => write!(
                f,
                "forward of `{function}` returned `{output}` of shape {found}, but its declared shape, `{declared}`, is \
                 {expected} here"
            ),
            Self::Gradcheck(mismatch) => fmt::Display::fmt(mismatch, f),
        }
    }
}
