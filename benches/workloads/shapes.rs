//! What declared shapes cost an `apply`: two inputs of rank 2, with and without them, where nothing is recorded.

use pullback::ndarray::{Array2, ArrayView2};
use pullback::prelude::*;

use crate::harness::{Filter, medians, report, timed};

const CALLS: usize = 10_000;
const ROUNDS: usize = 101;

/// The first column of x times that of y.
struct Declared;

#[custom_function(shapes(x = [n, i], y = [n, i], output = [1, 1]))]
impl Declared {
    #[forward]
    fn forward(x: ArrayView2<f64>, y: ArrayView2<f64>) -> Array2<f64> {
        Array2::from_elem((1, 1), x[[0, 0]] * y[[0, 0]])
    }

    #[backward]
    fn backward(
        grad_output: ArrayView2<f64>,
        x: ArrayView2<f64>,
        y: ArrayView2<f64>,
    ) -> (Array2<f64>, Array2<f64>) {
        (&y * grad_output[[0, 0]], &x * grad_output[[0, 0]])
    }
}

/// The same without shapes.
struct Plain;

#[custom_function]
impl Plain {
    #[forward]
    fn forward(x: ArrayView2<f64>, y: ArrayView2<f64>) -> Array2<f64> {
        Array2::from_elem((1, 1), x[[0, 0]] * y[[0, 0]])
    }

    #[backward]
    fn backward(
        grad_output: ArrayView2<f64>,
        x: ArrayView2<f64>,
        y: ArrayView2<f64>,
    ) -> (Array2<f64>, Array2<f64>) {
        (&y * grad_output[[0, 0]], &x * grad_output[[0, 0]])
    }
}

pub fn run(filter: &Filter) {
    if !filter.wants("shapes/apply") {
        return;
    }
    let [x, y] = [1.0, 2.0].map(|one| Tensor::from(Array2::from_elem((2, 3), one)));
    let calls = |apply: &dyn Fn() -> Tensor2<f64>| {
        let (time, _) = timed(|| {
            for _ in 0..CALLS {
                std::hint::black_box(apply());
            }
        });
        [time]
    };
    let ours = || calls(&|| Declared::apply(&x, &y));
    let limit = || calls(&|| Plain::apply(&x, &y));
    let ([ours], [limit]) = medians(ROUNDS, ours, limit);
    let each = CALLS as f64;
    report("shapes/apply", ours / each, limit / each, "ns");
}
