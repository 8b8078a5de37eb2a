//! What each error says.

use std::fmt;

use super::{Derivative, Error};
use autograd_kernels::counted;

/// The message: it is what `?` in `main` shows.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    #[expect(clippy::too_many_lines, reason = "every message, one after the other")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
            Self::Freed {
                function,
                applied_at,
            } => write!(
                f,
                "backward of `{function}` ran a second time, but the first pass freed its saved \
                 values: have that one keep them, with `retain_graph(true)` of `Backward` or `Grad` \
                 (`{function}` was applied at {applied_at})"
            ),
            Self::GradientShape {
                function,
                input,
                expected,
                found,
                applied_at,
            } => write!(
                f,
                "backward of `{function}` gave a gradient of shape {found} for `{input}` of shape \
                 {expected} (applied at {applied_at})"
            ),
            Self::ListLength {
                function,
                input,
                expected,
                found,
                applied_at,
            } => write!(
                f,
                "backward of `{function}` gave {} for the {} of `{input}` (applied at {applied_at})",
                counted(*found, "gradient", "gradients"),
                counted(*expected, "tensor", "tensors"),
            ),
            Self::OnceDifferentiable {
                function,
                applied_at,
            } => write!(
                f,
                "the gradient of `{function}` cannot be differentiated again: its backward is \
                 written on arrays; write it on `&Tensor` to have higher orders (applied at \
                 {applied_at})"
            ),
            Self::NotANumber {
                function,
                input,
                entry,
                applied_at,
            } => write!(
                f,
                "backward of `{function}` gave a gradient for `{input}` that is not a number at entry \
                 {entry:?} (applied at {applied_at})"
            ),
            Self::NoInputs => f.write_str(
                "backward with a list of inputs that is empty: name some, or leave `inputs` out to accumulate in \
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
                 that is meant"
            ),
            Self::GradientCount {
                function,
                expected,
                found,
            } => write!(
                f,
                "`{function}` has {}, but `apply` of its node was given {}",
                counted(*expected, "output", "outputs"),
                counted(*found, "gradient", "gradients"),
            ),
            Self::ElementType {
                function,
                applied_at,
            } => write!(
                f,
                "a gradient of `{function}` has another element type than was asked for (applied \
                 at {applied_at})"
            ),
            Self::HookShape {
                function,
                expected,
                found,
                applied_at,
            } => write!(
                f,
                "a hook of `{function}` gave a gradient of shape {found} in place of one of shape {expected} \
                 (applied at {applied_at})"
            ),
            Self::HookCount {
                function,
                expected,
                found,
                applied_at,
            } => write!(
                f,
                "a hook of `{function}` gave {} in place of {expected} (applied at {applied_at})",
                counted(*found, "gradient", "gradients"),
            ),
            Self::Unpack {
                function,
                reason,
                applied_at,
            } => write!(
                f,
                "a saved tensor of `{function}` could not be unpacked: {reason} (applied at {applied_at})"
            ),
            Self::NoForwardRule {
                function,
                applied_at,
            } => write!(
                f,
                "forward mode on `{function}`, which has no `#[jvp]` rule: write a function with that \
                 attribute beside its backward functions, as the page of `custom_function` shows (applied \
                 at {applied_at})"
            ),
            Self::PassInForwardMode { pass, called_at } => write!(
                f,
                "`{pass}` inside of forward mode: nodes keep no tangents, so those of the gradients are not \
                 known; run forward mode inside of the backward pass, as `functional::hvp` does (at \
                 {called_at})"
            ),
            Self::TangentShape {
                function,
                of,
                expected,
                found,
                applied_at,
            } => write!(
                f,
                "`{function}` has a tangent of shape {found} for `{of}` of shape {expected} (applied \
                 at {applied_at})"
            ),
            Self::NeitherMode { forward, backward } => {
                write!(f, "{forward}; backward passes cannot stand in: {backward}")
            }
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
            Self::Singular {
                function,
                shape,
                pivot,
                applied_at,
            } => write!(
                f,
                "`{function}` of a singular matrix of shape {shape}: the pivot {pivot} of its elimination \
                 is 0 (applied at {applied_at})"
            ),
            Self::NotPositiveDefinite {
                shape,
                pivot,
                applied_at,
            } => write!(
                f,
                "`cholesky` of a matrix of shape {shape} that is not positive definite: the pivot {pivot} is not \
                 positive (applied at {applied_at})"
            ),
            Self::Gradcheck(mismatch) => mismatch.fmt(f),
        }
    }
}
