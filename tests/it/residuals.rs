//! `#[residual]`: functions whose outputs solve equations.

use pullback::functional::{Functional, hessian, jacobian};
use pullback::ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, array};
use pullback::prelude::*;
use pullback::{ErrorKind, Order};

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
    Gradcheck::new()
        .second_order()
        .forward_mode()
        .run(|a| Root::apply(a), &a)
        .unwrap();
    let third = |a: &Tensor1<f64>| {
        let once = Grad::of(&Root::apply(a).sum())
            .create_graph(true)
            .run(a)
            .unwrap();
        Grad::of(&once.sum()).create_graph(true).run(a).unwrap()
    };
    Gradcheck::new().run(third, &a).unwrap();
    assert_eq!(Root::SIGNATURE.order, Order::Any);
    assert!(Root::SIGNATURE.forward_mode);
}
