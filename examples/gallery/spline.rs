//! A natural cubic spline through points, with gradients for its values and for the positions at which it is evaluated.
//!
//! Press et al., *Numerical Recipes*, section 3.3. The second derivatives m at the knots solve T m = R y, where T is
//! tridiagonal and symmetric; backward solves the same system for the gradient of m.

use pullback::ndarray::{Array1, Array2, ArrayView1};
use pullback::prelude::*;

pub struct Spline;

#[custom_function(gradcheck(y = [4], at = [3] in 0.1..2.9, knots = &[0.0, 1.0, 1.5, 3.0]))]
impl Spline {
    /// Evaluates the spline through `y` at the `knots`, at the positions `at`.
    #[forward(outputs(read), saves(m))]
    pub fn forward(
        y: ArrayView1<f64>,
        at: ArrayView1<f64>,
        knots: &[f64],
    ) -> (Array1<f64>, Array1<f64>) {
        let m = solved(knots, right(knots, y.len()).dot(&y));
        let values = |at: &f64| {
            weights(knots, *at, 0)
                .iter()
                .map(|(i, [of_y, of_m])| of_y * y[*i] + of_m * m[*i])
                .sum()
        };
        (at.iter().map(values).collect(), m)
    }

    #[backward(y)]
    fn grad_y(grad_read: ArrayView1<f64>, at: ArrayView1<f64>, knots: &[f64]) -> Array1<f64> {
        let n = knots.len();
        let (mut of_y, mut of_m) = (Array1::zeros(n), Array1::zeros(n));
        for (g, at) in grad_read.iter().zip(at) {
            for (i, [y, m]) in weights(knots, *at, 0) {
                of_y[i] += g * y;
                of_m[i] += g * m;
            }
        }
        of_y + right(knots, n).t().dot(&solved(knots, of_m))
    }

    #[backward(at)]
    fn grad_at(
        grad_read: ArrayView1<f64>,
        y: ArrayView1<f64>,
        at: ArrayView1<f64>,
        m: ArrayView1<f64>,
        knots: &[f64],
    ) -> Array1<f64> {
        let slope = |at: &f64| -> f64 {
            weights(knots, *at, 1)
                .iter()
                .map(|(i, [of_y, of_m])| of_y * y[*i] + of_m * m[*i])
                .sum()
        };
        grad_read
            .iter()
            .zip(at)
            .map(|(g, at)| g * slope(at))
            .collect()
    }
}

/// Returns the weights of the values and second derivatives at the two knots around `at`, in the spline or its slope.
fn weights(knots: &[f64], at: f64, order: u32) -> [(usize, [f64; 2]); 2] {
    let right = knots
        .partition_point(|knot| *knot <= at)
        .clamp(1, knots.len() - 1);
    let h = knots[right] - knots[right - 1];
    let (a, b) = ((knots[right] - at) / h, (at - knots[right - 1]) / h);
    if order == 0 {
        let cubic = |t: f64| (t * t * t - t) * h * h / 6.0;
        [(right - 1, [a, cubic(a)]), (right, [b, cubic(b)])]
    } else {
        let cubic = |t: f64| (3.0 * t * t - 1.0) * h / 6.0;
        [
            (right - 1, [-1.0 / h, -cubic(a)]),
            (right, [1.0 / h, cubic(b)]),
        ]
    }
}

/// Computes R y, the differences of the slopes of the values.
fn right(knots: &[f64], n: usize) -> Array2<f64> {
    let mut right = Array2::zeros((n, n));
    for i in 1..n - 1 {
        let (before, after) = (knots[i] - knots[i - 1], knots[i + 1] - knots[i]);
        right[[i, i - 1]] = 1.0 / before;
        right[[i, i]] = -1.0 / before - 1.0 / after;
        right[[i, i + 1]] = 1.0 / after;
    }
    right
}

/// Computes T⁻¹ of a vector, by elimination; 0 at both ends.
fn solved(knots: &[f64], mut m: Array1<f64>) -> Array1<f64> {
    let n = knots.len();
    let width = |i: usize| knots[i + 1] - knots[i];
    let mut diagonal: Vec<f64> = (1..n - 1)
        .map(|i| (width(i - 1) + width(i)) / 3.0)
        .collect();
    diagonal.insert(0, 1.0);
    for i in 2..n - 1 {
        let factor = width(i - 1) / 6.0 / diagonal[i - 1];
        diagonal[i] -= factor * width(i - 1) / 6.0;
        m[i] -= factor * m[i - 1];
    }
    (m[0], m[n - 1]) = (0.0, 0.0);
    for i in (1..n - 1).rev() {
        let after = if i + 2 < n {
            width(i) / 6.0 * m[i + 1]
        } else {
            0.0
        };
        m[i] = (m[i] - after) / diagonal[i];
    }
    m
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Case;

    #[test]
    fn as_in_pytorch() {
        Case::of("spline").check(|case| {
            let (y, at, knots) = (
                case.leaf("y"),
                case.leaf("at"),
                case.array::<pullback::ndarray::Ix1>("knots"),
            );
            (
                Spline::apply(&y, &at, &knots.to_vec()).into_dyn(),
                vec![y.into_dyn(), at.into_dyn()],
            )
        });
    }
}
