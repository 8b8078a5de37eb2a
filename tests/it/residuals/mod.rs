//! `#[residual]`: functions whose outputs solve equations.

mod cases;
mod custom_root;
mod known;
mod line;
pub(crate) mod mistakes;
mod systems;

use pullback::Order;
use pullback::functional::Functional;
use pullback::ndarray::{Array1, ArrayView1, array};
use pullback::prelude::*;

/// The x with x³ + x = a.
struct Root;

#[custom_function(shapes(a = [n], output = a), gradcheck(a = [5] in 0.5..3.0))]
impl Root {
    #[forward]
    fn forward(a: ArrayView1<f64>) -> Array1<f64> {
        a.mapv(|a| (0..60).fold(a, |x, _| x - (x * x * x + x - a) / (3.0 * x * x + 1.0)))
    }

    #[residual]
    fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>) -> Tensor1<f64> {
        output.powi(3) + output - a
    }
}

#[test]
fn a_root_has_every_derivative() {
    let a = Tensor::from(array![2.0, 10.0, 0.625]).set_requires_grad(true);
    let every = Gradcheck::new().second_order().forward_mode();
    every.run(|a| Root::apply(a), &a).unwrap();
    let x = Root::apply(&a);
    let slope = x.view().mapv(|x| 1.0 / (3.0 * x * x + 1.0));
    let first = Grad::of(&x.sum()).create_graph(true).run(&a).unwrap();
    let second = Grad::of(&first.sum()).create_graph(true).run(&a).unwrap();
    let third = grad(&second.sum(), &a).unwrap();
    let by_hand = |power: i32, factor: &dyn Fn(f64) -> f64| {
        x.view().mapv(factor) * slope.mapv(|slope| slope.powi(power))
    };
    let near = |found: &Tensor1<f64>, expected: Array1<f64>| {
        let error = (&found.view() - &expected).mapv(f64::abs).sum();
        assert!(error < 1e-12, "{found} {expected}");
    };
    near(&first, by_hand(1, &|_| 1.0));
    near(&second, by_hand(3, &|x| -6.0 * x));
    near(&third, by_hand(5, &|x| 90.0 * x * x - 6.0));
    assert_eq!(Root::SIGNATURE.order, Order::Any);
    const { assert!(Root::SIGNATURE.forward_mode) };
}

#[test]
fn forward_mode_nests_and_mixes() {
    let (a, v) = (
        Tensor::from(array![2.0, 10.0]),
        Tensor::from(array![1.0, 0.5]),
    );
    let once = |a: &Tensor1<f64>| jvp(|a| Root::apply(a), a, &v).unwrap().1;
    let (_, twice) = Functional::new()
        .forward_mode(true)
        .jvp(once, &a, &v)
        .unwrap();
    let x = Root::apply(&a);
    let expected = x.view().mapv(|x| -6.0 * x / (3.0 * x * x + 1.0).powi(3)) * v.view() * v.view();
    assert!((&twice.view() - &expected).mapv(f64::abs).sum() < 1e-13);
    let weighted = |a: &Tensor1<f64>| (Root::apply(a) * Root::apply(a)).sum();
    let modes = [false, true].map(|mode| {
        let options = Functional::new().forward_mode(mode);
        (
            options.hessian(weighted, &a).unwrap(),
            options.hvp(weighted, &a, &v).unwrap().1,
        )
    });
    assert!((&modes[0].0 - &modes[1].0).view().mapv(f64::abs).sum() < 1e-13);
    assert!((&modes[0].1 - &modes[1].1).view().mapv(f64::abs).sum() < 1e-13);
}
