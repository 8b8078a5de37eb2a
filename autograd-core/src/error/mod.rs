//! The one error type; every message stands in its `Display`, in `message`.

mod message;
mod mismatch;

pub use mismatch::{Check, Derivative, Mismatch};

use std::panic::Location;

use autograd_kernels::Shape;

/// What can go wrong when gradients are asked for.
///
/// Mistakes that the types cannot rule out and that depend on state: a graph that was freed, an input
/// that no output depends on, a gradient of the wrong lengths. Each names the function, the argument
/// and the line of `apply` where there is one.
///
/// `Debug` writes the message too: it is what `?` in `main`, `unwrap` and `expect` show.
///
/// ```
/// let x = autograd_core::Tensor::from(autograd_core::ndarray::array![1.0, 2.0]);
/// assert_eq!(x.sum().backward(), Err(autograd_core::Error::NoGraph));
/// ```
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
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
    /// The saved values were freed by an earlier backward pass.
    Freed {
        /// The function's name.
        function: &'static str,
        /// The line of `apply`.
        applied_at: &'static Location<'static>,
    },
    /// A backward function gave a gradient whose lengths are not its input's.
    GradientShape {
        /// The function's name.
        function: &'static str,
        /// The input's name, in a list with the tensor's place: `parts[2]`.
        input: String,
        /// The input's shape.
        expected: Shape,
        /// The gradient's shape.
        found: Shape,
        /// The line of `apply`.
        applied_at: &'static Location<'static>,
    },
    /// A backward function gave another number of gradients than a list has tensors.
    ListLength {
        /// The function's name.
        function: &'static str,
        /// The list's name.
        input: &'static str,
        /// The tensors of the list.
        expected: usize,
        /// The gradients given.
        found: usize,
        /// The line of `apply`.
        applied_at: &'static Location<'static>,
    },
    /// A gradient was differentiated whose backward function is written on arrays.
    OnceDifferentiable {
        /// The function's name.
        function: &'static str,
        /// The line of `apply`.
        applied_at: &'static Location<'static>,
    },
    /// Inside [`detect_anomaly`](crate::detect_anomaly), a backward function gave a gradient that is not
    /// a number.
    NotANumber {
        /// The function's name.
        function: &'static str,
        /// The input's name.
        input: String,
        /// The first such entry of the gradient.
        entry: Vec<usize>,
        /// The line of `apply`.
        applied_at: &'static Location<'static>,
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
    /// `Node::apply` was given another number of gradients than the node has outputs.
    GradientCount {
        /// The function's name.
        function: &'static str,
        /// The node's outputs.
        expected: usize,
        /// The gradients given.
        found: usize,
    },
    /// `Node::apply` was given, or gave, a gradient of another element type.
    ElementType {
        /// The function's name.
        function: &'static str,
        /// The line of `apply`.
        applied_at: &'static Location<'static>,
    },
    /// A hook gave a gradient of another shape.
    HookShape {
        /// The name of the node's function.
        function: &'static str,
        /// The shape of the gradient that it was to replace.
        expected: Shape,
        /// The gradient's shape.
        found: Shape,
        /// The line of `apply`, for a leaf the line that made it one.
        applied_at: &'static Location<'static>,
    },
    /// A hook of a node gave another number of gradients.
    HookCount {
        /// The name of the node's function.
        function: &'static str,
        /// The gradients that were to be replaced.
        expected: usize,
        /// The gradients given.
        found: usize,
        /// The line of `apply`, for a leaf the line that made it one.
        applied_at: &'static Location<'static>,
    },
    /// A saved tensor that was packed could not be had back.
    Unpack {
        /// The function's name.
        function: &'static str,
        /// Why.
        reason: String,
        /// The line of `apply`.
        applied_at: &'static Location<'static>,
    },
    /// Forward mode met a function without a `#[jvp]` rule.
    NoForwardRule {
        /// The function's name.
        function: &'static str,
        /// The line of `apply`.
        applied_at: &'static Location<'static>,
    },
    /// A backward pass in a run of forward mode, through functions whose inputs have a tangent. Nodes keep no
    /// tangents, so those of the gradients are not known.
    PassInForwardMode {
        /// `backward`, `grad` or `Node::apply`.
        pass: &'static str,
        /// The line that called it; of `backward`, the line that applied the function which it starts from.
        called_at: &'static Location<'static>,
    },
    /// A `#[jvp]` rule gave a tangent whose lengths are not its output's, or forward mode was started
    /// with one whose lengths are not its input's.
    TangentShape {
        /// The function's name, `jvp` for the tangents that forward mode is started with.
        function: &'static str,
        /// The output's name, or the input's position.
        of: String,
        /// The tensor's shape.
        expected: Shape,
        /// The tangent's shape.
        found: Shape,
        /// The line of `apply`, or of `jvp`.
        applied_at: &'static Location<'static>,
    },
    /// A derivative along a direction was asked for that neither mode knows: a function has no `#[jvp]`
    /// rule, and backward cannot stand in.
    NeitherMode {
        /// What forward mode lacks.
        forward: Box<Error>,
        /// What a backward pass through the gradients lacks.
        backward: Box<Error>,
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
        /// The function's name.
        function: &'static str,
        /// The matrix's shape.
        shape: Shape,
        /// The place on the diagonal where this shows, after the rows before it were eliminated.
        pivot: usize,
        /// The line where this was asked for.
        applied_at: &'static Location<'static>,
    },
    /// A Cholesky factor was asked for of a matrix that is not positive definite.
    NotPositiveDefinite {
        /// The matrix's shape.
        shape: Shape,
        /// The place on the diagonal where this shows.
        pivot: usize,
        /// The line where this was asked for.
        applied_at: &'static Location<'static>,
    },
    /// A gradient is not what finite differences say.
    Gradcheck(Box<Mismatch>),
}

impl std::error::Error for Error {}
