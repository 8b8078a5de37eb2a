//! Gradient reversal: the identity, with the negative gradient.
//!
//! Ganin and Lempitsky, *Unsupervised Domain Adaptation by Backpropagation*, 2015: features that a classifier of
//! domains cannot use, by a gradient of −λg.

use pullback::ndarray::{Array, ArrayView, Dimension};
use pullback::prelude::*;

#[custom_function(higher_order, grad(x) = grad_output * -*lambda)]
pub fn reversed<T: Element, D: Dimension>(x: ArrayView<T, D>, lambda: T) -> Array<T, D> {
    x.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Case;

    #[test]
    fn as_in_pytorch() {
        Case::of("reversal").check(|case| {
            let x: Tensor2<f64> = case.leaf("x");
            (reversed(&x, 0.7).into_dyn(), vec![x.into_dyn()])
        });
    }
}
