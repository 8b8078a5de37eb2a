//! The functions that do not need the feature `ops`: operators, and functions that the engine and checks use.

mod add;
mod broadcast;
mod cast;
mod div;
mod mul;
mod neg;
pub(crate) mod operators;
mod reshape;
mod scalar;
mod slice;
mod stack;
mod sub;
mod sum;

pub use add::Add;
pub use broadcast::{BroadcastTo, SumTo};
pub use cast::Cast;
pub use div::Div;
pub use mul::Mul;
pub use neg::Neg;
pub use reshape::Reshape;
pub use scalar::{AddScalar, DivScalar, MulScalar, ScalarDiv, ScalarSub};
pub use slice::Slice;
pub use stack::Stack;
pub use sub::Sub;
pub use sum::Sum;
#[cfg(feature = "ops")]
pub(crate) use sum::mean_of;

use ndarray::Dimension;

use crate::Element;
use crate::tensor::Tensor;

/// Returns the sum of two tangents, each of which may be missing.
#[track_caller]
pub(crate) fn add_tangents<T: Element, D: Dimension>(
    x: Option<Tensor<T, D>>,
    y: Option<Tensor<T, D>>,
) -> Option<Tensor<T, D>> {
    match (x, y) {
        (Some(x), Some(y)) => Some(x + y),
        (x, y) => x.or(y),
    }
}
