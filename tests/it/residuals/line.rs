//! A steady state on a line, −Δu + u³ = f: more unknowns than are factored at once, and equations that products with
//! their derivative do not solve, as information moves by one point with each.

use pullback::kernels::{FactorError, Lu};
use pullback::ndarray::{Array1, Array2, ArrayView1, Axis, s};
use pullback::prelude::*;

struct Steady;

#[custom_function(shapes(f = [n], u = [n]), gradcheck(n = 6))]
impl Steady {
    #[forward(outputs(u))]
    fn forward(f: ArrayView1<f64>) -> Result<Array1<f64>, FactorError> {
        let n = f.len();
        let scale = ((n + 1) as f64).powi(2);
        let mut u = Array1::<f64>::zeros(n);
        for _ in 0..30 {
            let beside = |i: usize| u.get(i).copied().unwrap_or(0.0);
            let residual = Array1::from_shape_fn(n, |i| {
                let second = 2.0 * u[i] - beside(i.wrapping_sub(1)) - beside(i + 1);
                scale * second + u[i].powi(3) - f[i]
            });
            let slope = Array2::from_shape_fn((n, n), |(i, j)| match i.abs_diff(j) {
                0 => 2.0 * scale + 3.0 * u[i] * u[i],
                1 => -scale,
                _ => 0.0,
            });
            let step = Lu::new(&slope.view())?.solve(&residual.view());
            u -= &step;
            if step.iter().all(|step| step.abs() < 1e-13) {
                break;
            }
        }
        Ok(u)
    }

    #[residual]
    fn residual(u: &Tensor1<f64>, f: &Tensor1<f64>, n: usize) -> Tensor1<f64> {
        let zero = Tensor::from(Array1::zeros(1));
        let before = Tensor1::concat(Axis(0), &[&zero, &u.slice(s![..n - 1])]);
        let after = Tensor1::concat(Axis(0), &[&u.slice(s![1..]), &zero]);
        (u * 2.0 - before - after) * ((n + 1) as f64).powi(2) + u.powi(3) - f
    }
}

#[test]
fn what_products_do_not_solve_is_factored() {
    let n = 300;
    let at = |i: usize| 30.0 * (i as f64 / n as f64 * 7.0).sin();
    let f = Tensor::from(Array1::from_shape_fn(n, at)).set_requires_grad(true);
    let direction = Tensor::from(Array1::from_shape_fn(n, |i| (i as f64 * 0.05).cos()));
    let size = |f: &Tensor1<f64>| Steady::apply(f).unwrap().square().sum();
    let gradient = grad(&size(&f), &f).unwrap();
    let along = (gradient * &direction).sum().item();
    let moved = |by: f64| size(&(f.detach() + &direction * by)).item();
    let difference = (moved(1e-3) - moved(-1e-3)) / 2e-3;
    assert!(
        (along - difference).abs() < 1e-7 * along.abs(),
        "{along} {difference}"
    );
    let (_, tangent) = jvp(size, &f.detach(), &direction).unwrap();
    assert!(
        (along - tangent.item()).abs() < 1e-9 * along.abs(),
        "{along} {tangent}"
    );
}
