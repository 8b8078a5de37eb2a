//! Equations whose solutions have derivatives in closed form.

use pullback::kernels::Lu;
use pullback::ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, array, s};
use pullback::prelude::*;

/// The eccentric anomaly E of E − e sin E = M (Kepler).
pub(super) struct Kepler;

#[custom_function(
    shapes(mean = [n], eccentricity = [n], anomaly = [n]),
    gradcheck(n = 4, eccentricity = [4] in 0.1..0.9),
)]
impl Kepler {
    #[forward(outputs(anomaly))]
    pub(super) fn forward(mean: ArrayView1<f64>, eccentricity: ArrayView1<f64>) -> Array1<f64> {
        Array1::from_shape_fn(mean.len(), |i| {
            let (m, e) = (mean[i], eccentricity[i]);
            (0..50).fold(m, |x, _| x - (x - e * x.sin() - m) / (1.0 - e * x.cos()))
        })
    }

    #[residual]
    fn residual(
        anomaly: &Tensor1<f64>,
        mean: &Tensor1<f64>,
        eccentricity: &Tensor1<f64>,
    ) -> Tensor1<f64> {
        anomaly - eccentricity * anomaly.sin() - mean
    }
}

fn near<D: pullback::ndarray::Dimension>(
    found: &Tensor<f64, D>,
    expected: &pullback::ndarray::Array<f64, D>,
    tolerance: f64,
) {
    let error = (&found.view() - expected).mapv(f64::abs).sum();
    assert!(
        error < tolerance,
        "{found:?} in place of {expected}: {error:e}"
    );
}

#[test]
fn kepler() {
    let mean = Tensor::from(array![0.3, 1.5, 2.9]).set_requires_grad(true);
    let eccentricity = Tensor::from(array![0.1, 0.6, 0.9]).set_requires_grad(true);
    let anomaly = Kepler::apply(&mean, &eccentricity);
    let (x, e) = (anomaly.to_array(), eccentricity.to_array());
    let slope = (1.0 - &e * &x.mapv(f64::cos)).mapv(f64::recip);
    let sum = anomaly.sum();
    let first = Grad::of(&sum).create_graph(true);
    let (of_mean, of_e) = first.run((&mean, &eccentricity)).unwrap();
    near(&of_mean, &slope, 1e-12);
    near(&of_e, &(&slope * &x.mapv(f64::sin)), 1e-12);
    // d²E/dM² = −e sin E / (1 − e cos E)³
    let second = grad(&of_mean.sum(), &mean).unwrap();
    near(
        &second,
        &(-&e * &x.mapv(f64::sin) * slope.mapv(|slope| slope.powi(3))),
        1e-10,
    );
}

/// The X of AX + XB = C (Sylvester).
pub(super) struct Sylvester;

#[custom_function(
    shapes(a = [m, m], b = [n, n], c = [m, n], x = [m, n]),
    gradcheck(m = 2, n = 3, a = array![[3.0, 0.2], [-0.4, 2.5]]),
)]
impl Sylvester {
    #[forward(outputs(x))]
    pub(super) fn forward(
        a: ArrayView2<f64>,
        b: ArrayView2<f64>,
        c: ArrayView2<f64>,
    ) -> Array2<f64> {
        let (m, n) = c.dim();
        let matrix = kronecker(a, b);
        let right = Array1::from_iter(c.iter().copied());
        let x = Lu::new(&matrix.view()).unwrap().solve(&right.view());
        x.into_shape_with_order((m, n)).unwrap()
    }

    #[residual]
    fn residual(
        x: &Tensor2<f64>,
        a: &Tensor2<f64>,
        b: &Tensor2<f64>,
        c: &Tensor2<f64>,
    ) -> Tensor2<f64> {
        a.matmul(x) + x.matmul(b) - c
    }
}

/// Returns the matrix of X ↦ AX + XB for the elements of X in a row.
fn kronecker(a: ArrayView2<f64>, b: ArrayView2<f64>) -> Array2<f64> {
    let (m, n) = (a.nrows(), b.nrows());
    Array2::from_shape_fn((m * n, m * n), |(row, column)| {
        let ((i, j), (k, l)) = ((row / n, row % n), (column / n, column % n));
        let of_a = if j == l { a[[i, k]] } else { 0.0 };
        of_a + if i == k { b[[l, j]] } else { 0.0 }
    })
}

#[test]
fn sylvester() {
    let leaf = |x: Array2<f64>| Tensor::from(x).set_requires_grad(true);
    let a = leaf(array![[3.0, 0.2, 0.1], [-0.4, 2.5, 0.3], [0.0, 0.6, 2.0]]);
    let b = leaf(array![[1.0, -0.5], [0.3, 1.5]]);
    let c = leaf(array![[1.0, 2.0], [-1.0, 0.5], [0.7, -0.2]]);
    let x = Sylvester::apply(&a, &b, &c);
    let (of_a, of_b, of_c) = grad(&x.square().sum(), (&a, &b, &c)).unwrap();
    // AᵀΛ + ΛBᵀ = 2X, and the gradients are Λ, −ΛXᵀ and −XᵀΛ.
    let lambda = Sylvester::forward(a.t().view(), b.t().view(), (&x * 2.0).view());
    let x = x.to_array();
    near(&of_c, &lambda, 1e-12);
    near(&of_a, &-lambda.dot(&x.t()), 1e-12);
    near(&of_b, &-x.t().dot(&lambda), 1e-12);
}

/// The steady state of a flow reactor in which 2A ⇌ B: A flows in, and both are washed out.
pub(super) struct SteadyState;

#[custom_function(gradcheck(rates = [2] in 0.5..2.0, feed = [1] in 1.0..2.0, washout = 0.4))]
impl SteadyState {
    #[forward(outputs(state))]
    pub(super) fn forward(
        rates: ArrayView1<f64>,
        feed: ArrayView1<f64>,
        washout: f64,
    ) -> Result<Array1<f64>, String> {
        let (forth, back, feed) = (rates[0], rates[1], feed[0]);
        let mut state = array![feed, 0.0];
        for _ in 0..100 {
            let (a, b) = (state[0], state[1]);
            let flow = forth * a * a - back * b;
            let residual = array![washout * (feed - a) - 2.0 * flow, flow - washout * b];
            let slope = array![
                [-washout - 4.0 * forth * a, 2.0 * back],
                [2.0 * forth * a, -back - washout],
            ];
            let step = Lu::new(&slope.view()).map_err(|error| error.to_string())?;
            let step = step.solve(&residual.view());
            state -= &step;
            if step.mapv(f64::abs).sum() < 1e-15 {
                return Ok(state);
            }
        }
        Ok(state)
    }

    #[residual]
    fn residual(
        state: &Tensor1<f64>,
        rates: &Tensor1<f64>,
        feed: &Tensor1<f64>,
        washout: f64,
    ) -> Tensor1<f64> {
        let at = |tensor: &Tensor1<f64>, i: usize| tensor.slice(s![i..=i]);
        let (a, b) = (at(state, 0), at(state, 1));
        let flow = at(rates, 0) * a.square() - at(rates, 1) * &b;
        let of_a = (feed - &a) * washout - &flow * 2.0;
        let of_b = flow - b * washout;
        Tensor::concat(Axis(0), &[&of_a, &of_b])
    }
}

#[test]
fn a_steady_state_of_a_reactor() {
    let rates = Tensor::from(array![1.3, 0.6]).set_requires_grad(true);
    let feed = Tensor::from(array![2.0]).set_requires_grad(true);
    let state = SteadyState::apply(&rates, &feed, 0.4).unwrap();
    // A + 2B is the feed, and B = k A² / (l + w): a quadratic equation for A, 2rA² + A = f with r = k / (l + w).
    let r = 1.3 / (0.6 + 0.4);
    let a = ((1.0 + 8.0 * r * 2.0_f64).sqrt() - 1.0) / (4.0 * r);
    near(&state, &array![a, r * a * a], 1e-13);
    let (of_rates, of_feed) = grad(&state.slice(s![..1]).sum(), (&rates, &feed)).unwrap();
    let slope = 1.0 / (4.0 * r * a + 1.0);
    near(&of_feed, &array![slope], 1e-13);
    let by_r = -2.0 * a * a * slope;
    near(&of_rates, &array![by_r, -by_r * 1.3], 1e-12);
}

/// The state z = tanh(z w + x) (a deep equilibrium model).
pub(super) struct Equilibrium;

#[custom_function(
    shapes(x = [n, h], w = [h, h], z = [n, h]),
    gradcheck(n = 2, h = 3, w = Array2::from_elem((3, 3), 0.1)),
)]
impl Equilibrium {
    #[forward(outputs(z))]
    pub(super) fn forward(x: ArrayView2<f64>, w: ArrayView2<f64>) -> Array2<f64> {
        let step = |z: Array2<f64>, _| (z.dot(&w) + x).mapv(f64::tanh);
        (0..200).fold(Array2::zeros(x.dim()), step)
    }

    #[residual]
    fn residual(z: &Tensor2<f64>, x: &Tensor2<f64>, w: &Tensor2<f64>) -> Tensor2<f64> {
        (z.matmul(w) + x).tanh() - z
    }
}

#[test]
fn an_equilibrium_has_the_gradients_of_its_iteration() {
    let number = |i: usize, j: usize| ((i * 5 + j * 3) as f64).sin();
    let x = Tensor::from(Array2::from_shape_fn((3, 4), |(i, j)| number(i, j)));
    let w = Array2::from_shape_fn((4, 4), |(i, j)| 0.3 * number(i + 2, j));
    let (x, w) = (
        x.set_requires_grad(true),
        Tensor::from(w).set_requires_grad(true),
    );
    let unrolled = (0..200).fold(&x * 0.0, |z, _| (z.matmul(&w) + &x).tanh());
    let derivatives = |z: Tensor2<f64>| {
        let loss = z.powi(3).sum();
        let (of_x, of_w) = Grad::of(&loss).create_graph(true).run((&x, &w)).unwrap();
        let again = (of_x.square().sum() + of_w.square().sum()) * 0.5;
        (
            of_x.detach(),
            of_w.detach(),
            grad(&again, (&x, &w)).unwrap(),
        )
    };
    let expected = derivatives(unrolled);
    let found = derivatives(Equilibrium::apply(&x, &w));
    near(&found.0, &expected.0.to_array(), 1e-10);
    near(&found.1, &expected.1.to_array(), 1e-10);
    near(&found.2.0, &expected.2.0.to_array(), 1e-10);
    near(&found.2.1, &expected.2.1.to_array(), 1e-10);
}
