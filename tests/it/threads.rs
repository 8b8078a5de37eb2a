//! Graphs on several threads at once, and passes inside passes.

use std::thread;

use pullback::ndarray::{Array1, ArrayView1, array};
use pullback::prelude::*;

use crate::functions::{Square, leaf};

#[test]
fn gradients_of_a_shared_leaf_from_several_threads_are_all_counted() {
    let x = leaf([1.0, 2.0]);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..500 {
                    (&x * 2.0).sum().backward().unwrap();
                }
            });
        }
    });
    assert_eq!(x.grad(), Some(array![4000.0, 4000.0]));
}

#[test]
fn one_retained_graph_walked_from_several_threads() {
    let x = leaf([3.0]);
    let trunk = Square::apply(&Square::apply(&x));
    let loss = (&trunk * &trunk).sum();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let (dx,) = Grad::of(&loss).retain_graph(true).run((&x,)).unwrap();
                    assert_eq!(dx.to_array(), array![8.0 * 3.0_f64.powi(7)]);
                }
            });
        }
    });
}

#[test]
fn a_graph_can_be_built_on_one_thread_and_walked_on_another() {
    let x = leaf([2.0]);
    let loss = thread::scope(|scope| scope.spawn(|| Square::apply(&x).sum()).join().unwrap());
    // Made here, on a thread whose own count is behind.
    let loss = loss * 3.0;
    thread::scope(|scope| scope.spawn(|| loss.backward().unwrap()).join().unwrap());
    assert_eq!(x.grad(), Some(array![12.0]));
}

/// x², whose backward asks the engine for the gradient of its own formula.
struct Nested;

#[custom_function]
impl Nested {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        &x * &x
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> {
        let (dx,) = enable_grad(|| {
            let x = Tensor::from(x).set_requires_grad(true);
            let y = if x.item() > 5.0 {
                Nested::apply(&x)
            } else {
                &x * &x
            };
            Grad::of(&y)
                .seed(grad_output.to_owned())
                .run((&x,))
                .unwrap()
        });
        dx.into_array()
    }
}

#[test]
fn a_backward_function_can_run_a_pass_of_its_own() {
    let x = leaf([3.0]);
    Nested::apply(&x).backward_with(array![10.0]).unwrap();
    assert_eq!(x.grad(), Some(array![60.0]));
}

/// Passes that meet nodes which an outer pass is visiting keep their notes elsewhere.
struct WalksAgain;

thread_local! {
    static OUTER: std::cell::RefCell<Option<(Tensor1<f64>, Tensor1<f64>)>> = const { std::cell::RefCell::new(None) };
}

#[custom_function]
impl WalksAgain {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        x.to_owned()
    }

    #[backward(x)]
    fn backward(grad_output: Array1<f64>) -> Array1<f64> {
        OUTER.with_borrow(|outer| {
            if let Some((leaf, shared)) = outer {
                let (dx,) = Grad::of(shared).retain_graph(true).run((leaf,)).unwrap();
                assert_eq!(dx.to_array(), array![6.0]);
            }
        });
        grad_output
    }
}

#[test]
fn passes_nest_on_the_same_nodes() {
    let x = leaf([3.0]);
    let shared = Square::apply(&x);
    // When `WalksAgain` runs, the outer pass has already delivered to `shared` and to the leaf.
    let loss = WalksAgain::apply(&(&shared * 1.0)) * &shared * &x;
    OUTER.set(Some((x.clone(), shared.clone())));
    loss.backward_with(array![1.0]).unwrap();
    OUTER.set(None);
    assert_eq!(x.grad(), Some(array![5.0 * 81.0]));
}
