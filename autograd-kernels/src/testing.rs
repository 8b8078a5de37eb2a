//! Numbers for tests.

use ndarray::{Array, ShapeBuilder};

/// Returns numbers between −½ and ½, which look random and depend on `seed`.
pub(crate) fn numbers<S: ShapeBuilder>(shape: S, seed: f64) -> Array<f64, S::Dim> {
    let mut position = seed;
    Array::from_shape_simple_fn(shape, || {
        position += 1.0;
        (position * 0.618_033_988_749_895).fract() - 0.5
    })
}
