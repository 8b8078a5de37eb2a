//! W7: the gradient check of a linear layer, beside the same differences and products by hand.

use std::time::Duration;

use pullback::ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use pullback::prelude::*;

use crate::harness::{Filter, medians, report, timed};

/// y = x Wᵀ + b
struct Linear;

#[custom_function]
impl Linear {
    #[forward]
    fn forward(
        input: ArrayView2<f64>,
        weight: ArrayView2<f64>,
        bias: ArrayView1<f64>,
    ) -> Array2<f64> {
        input.dot(&weight.t()) + bias
    }

    #[backward(input)]
    fn grad_input(grad_output: ArrayView2<f64>, weight: ArrayView2<f64>) -> Array2<f64> {
        grad_output.dot(&weight)
    }

    #[backward(weight)]
    fn grad_weight(grad_output: ArrayView2<f64>, input: ArrayView2<f64>) -> Array2<f64> {
        grad_output.t().dot(&input)
    }

    #[backward(bias)]
    fn grad_bias(grad_output: ArrayView2<f64>) -> Array1<f64> {
        grad_output.sum_axis(Axis(0))
    }
}

pub fn run(filter: &Filter) {
    if filter.wants("W7") {
        let layer = Layer::new(20, 20, 30);
        let (ours, limit) = medians(21, || [layer.ours()], || [layer.by_hand()]);
        report("W7", ours[0] / 1e6, limit[0] / 1e6, "ms");
    }
}

const EPS: f64 = 1e-6;

struct Layer {
    input: Array2<f64>,
    weight: Array2<f64>,
    bias: Array1<f64>,
}

impl Layer {
    fn new(batch: usize, inputs: usize, outputs: usize) -> Self {
        let mut angle = 0.0_f64;
        let mut matrix = |rows, columns| {
            Array2::from_shape_simple_fn((rows, columns), || {
                angle += 1.0;
                angle.sin()
            })
        };
        Self {
            input: matrix(batch, inputs),
            weight: matrix(outputs, inputs),
            bias: Array1::ones(outputs),
        }
    }

    fn ours(&self) -> Duration {
        let leaf = |of: &Array2<f64>| Tensor::from(of.view()).set_requires_grad(true);
        let (input, weight) = (leaf(&self.input), leaf(&self.weight));
        let bias = Tensor::from(self.bias.view()).set_requires_grad(true);
        let (time, checked) = timed(|| {
            Gradcheck::new().run(|(x, w, b)| Linear::apply(x, w, b), (&input, &weight, &bias))
        });
        checked.expect("the gradients are right");
        time
    }

    /// The rows of the Jacobian, and then two outputs for each column of it.
    fn by_hand(&self) -> Duration {
        let (mut input, mut weight, mut bias) =
            (self.input.clone(), self.weight.clone(), self.bias.clone());
        let (time, ()) = timed(|| {
            let rows = self.rows();
            for place in 0..input.len() {
                let column = |rows: &Row| rows.0.as_slice().expect("one piece")[place];
                compare(&rows, column, |step| {
                    input.as_slice_mut().expect("one piece")[place] += step;
                    Linear::forward(input.view(), weight.view(), bias.view())
                });
            }
            for place in 0..weight.len() {
                let column = |rows: &Row| rows.1.as_slice().expect("one piece")[place];
                compare(&rows, column, |step| {
                    weight.as_slice_mut().expect("one piece")[place] += step;
                    Linear::forward(input.view(), weight.view(), bias.view())
                });
            }
            for place in 0..bias.len() {
                compare(
                    &rows,
                    |rows| rows.2[place],
                    |step| {
                        bias[place] += step;
                        Linear::forward(input.view(), weight.view(), bias.view())
                    },
                );
            }
        });
        time
    }

    fn rows(&self) -> Vec<Row> {
        let mut seed = Array2::zeros((self.input.nrows(), self.weight.nrows()));
        let mut row = |place: usize| {
            seed.as_slice_mut().expect("one piece")[place] = 1.0;
            let row = (
                Linear::grad_input(seed.view(), self.weight.view()),
                Linear::grad_weight(seed.view(), self.input.view())
                    .as_standard_layout()
                    .into_owned(),
                Linear::grad_bias(seed.view()),
            );
            seed.as_slice_mut().expect("one piece")[place] = 0.0;
            row
        };
        (0..self.input.nrows() * self.weight.nrows())
            .map(&mut row)
            .collect()
    }
}

/// The gradients of all inputs by one entry of the output.
type Row = (Array2<f64>, Array2<f64>, Array1<f64>);

/// Compares one column with the differences of what `moved` by some steps gives.
fn compare(rows: &[Row], column: impl Fn(&Row) -> f64, mut moved: impl FnMut(f64) -> Array2<f64>) {
    let above = moved(EPS);
    let below = moved(-2.0 * EPS);
    moved(EPS);
    for ((above, below), row) in above.iter().zip(&below).zip(rows) {
        let numerical = (above - below) / (2.0 * EPS);
        let off = (numerical - column(row)).abs();
        assert!(off <= 1e-5 + 1e-3 * numerical.abs(), "{off}");
    }
}
