//! Mistakes that cannot be compile errors: they are errors when they show, or found by a check, or
//! harmless here. Each test is named after its row in `tests/README.md`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pullback::ndarray::{Array1, Array2, ArrayView1, ArrayView2, array, s};
use pullback::prelude::*;
use pullback::{Error, ErrorKind};

use crate::functions::{Square, leaf};
use crate::pruning::is_shared;

/// x·y², whose gradients are returned in the wrong order, and have the same shapes.
struct Swapped;

#[custom_function]
impl Swapped {
    #[forward]
    fn forward(x: ArrayView1<f64>, y: ArrayView1<f64>) -> Array1<f64> {
        &x * &y * y
    }

    #[backward]
    fn backward(
        grad_output: ArrayView1<f64>,
        x: ArrayView1<f64>,
        y: ArrayView1<f64>,
    ) -> (Array1<f64>, Array1<f64>) {
        let grad_x = &grad_output * &y * y;
        let grad_y = &grad_output * &x * y * 2.0;
        (grad_y, grad_x)
    }
}

#[test]
fn gradients_in_the_wrong_order_are_found() {
    let (x, y) = (leaf([1.0, 2.0]), leaf([3.0, 0.5]));
    let result = Gradcheck::new().run(|(x, y)| Swapped::apply(x, y), (&x, &y));
    let error = result.unwrap_err();
    let found = error.mismatch().expect("a failed check");
    assert_eq!(
        (found.function, found.input_name.as_deref()),
        (Some("Swapped"), Some("x"))
    );
}

#[test]
fn a_saved_output_is_no_cycle() {
    let x = Tensor::from(Array2::<f64>::ones((3, 3))).set_requires_grad(true);
    let y = x.exp();
    let value = y.detach();
    drop(y);
    assert!(
        !is_shared(value),
        "the node and what it saved went with the output"
    );
}

/// 2x² by way of an intermediate that is saved.
struct Intermediate;

#[custom_function]
impl Intermediate {
    #[forward(outputs(output), saves(twice))]
    fn forward(x: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) {
        let twice = &x * 2.0;
        (&x * &twice, twice)
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>, mut twice: Array1<f64>) -> Array1<f64> {
        // What was saved is not what is written to.
        twice *= 2.0;
        &grad_output * &twice
    }
}

#[test]
fn a_saved_intermediate_is_freed_by_the_pass() {
    let x = leaf([3.0]);
    let y = Intermediate::apply(&x);
    y.backward_with(array![1.0]).unwrap();
    assert_eq!(x.grad(), Some(array![12.0]));
    assert!(y.backward_with(array![1.0]).unwrap_err().kind() == &ErrorKind::Freed);
}

#[test]
fn writing_to_a_saved_value_in_backward_does_not_change_it() {
    let x = leaf([3.0]);
    let y = Intermediate::apply(&x).sum();
    for _ in 0..3 {
        let (dx,) = Grad::of(&y).retain_graph(true).run((&x,)).unwrap();
        assert_eq!(dx.to_array(), array![12.0]);
    }
}

/// The identity, which returns its input as it is, and saves it.
struct Same;

#[custom_function]
impl Same {
    #[forward(outputs(first, second))]
    fn forward(x: &Tensor1<f64>) -> (Tensor1<f64>, Tensor1<f64>) {
        (x.clone(), x.clone())
    }

    #[backward(x)]
    fn backward(
        grad_first: &Tensor1<f64>,
        grad_second: &Tensor1<f64>,
        x: &Tensor1<f64>,
    ) -> Tensor1<f64> {
        (grad_first + grad_second) * x / x
    }
}

#[test]
fn an_input_returned_as_it_is_twice_and_saved() {
    let x = leaf([3.0, 4.0]);
    let (first, second) = Same::apply(&x);
    (&first * 2.0 + &second * 3.0).sum().backward().unwrap();
    assert_eq!(x.grad(), Some(array![5.0, 5.0]));
    Gradcheck::new()
        .second_order()
        .run(|(x,)| Same::apply(x), (&x,))
        .unwrap();
}

/// A forward that fails after it has computed something.
struct Panics;

#[custom_function]
impl Panics {
    #[forward]
    fn forward(x: ArrayView2<f64>, limit: usize) -> Array2<f64> {
        assert!(x.nrows() < limit, "too many rows");
        x.to_owned()
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView2<f64>, x: ArrayView2<f64>, limit: usize) -> Array2<f64> {
        assert!(x.nrows() < limit);
        grad_output.to_owned()
    }
}

#[test]
fn a_forward_that_panics_leaves_nothing_behind() {
    let x = Tensor::from(Array2::<f64>::ones((3, 3))).set_requires_grad(true);
    let result = catch_unwind(AssertUnwindSafe(|| Panics::apply(&x, 2)));
    assert!(result.is_err());
    assert!(
        !is_shared(x.detach()) || !is_shared(x),
        "the input has no other handle"
    );
    // Recording is on as before.
    assert!((&leaf([1.0]) * 2.0).requires_grad());
}

/// x², computed with tensors in forward.
struct OnTensors;

#[custom_function]
impl OnTensors {
    #[forward]
    fn forward(x: &Tensor1<f64>) -> Tensor1<f64> {
        let square = x * x;
        assert!(
            !square.requires_grad(),
            "what forward computes is not recorded"
        );
        square
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> {
        &grad_output * &x * 2.0
    }
}

#[test]
fn operations_in_forward_are_not_recorded() {
    let x = leaf([3.0]);
    let y = OnTensors::apply(&x);
    assert_eq!(y.grad_fn().unwrap().name(), "OnTensors");
    y.backward_with(array![1.0]).unwrap();
    assert_eq!(x.grad(), Some(array![6.0]));
}

/// A function whose backward runs a pass without recording.
struct Forgets;

thread_local! {
    static INNER: std::cell::RefCell<Option<Error>> = const { std::cell::RefCell::new(None) };
}

#[custom_function]
impl Forgets {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        x.to_owned()
    }

    #[backward(x)]
    fn backward(grad_output: Array1<f64>, x: ArrayView1<f64>) -> Array1<f64> {
        let inner = Tensor::from(x).set_requires_grad(true);
        INNER.set((&inner * 2.0).sum().backward().err());
        grad_output
    }
}

#[test]
fn a_pass_inside_backward_needs_enable_grad() {
    Forgets::apply(&leaf([1.0])).sum().backward().unwrap();
    let error = INNER.take().expect("an error");
    assert_eq!(error.kind(), &ErrorKind::NoGraph);
    assert!(error.to_string().contains("`no_grad`"));
}

#[test]
fn inside_no_grad_nothing_is_saved() {
    let x = Tensor::from(Array2::<f64>::ones((3, 3))).set_requires_grad(true);
    let y = no_grad(|| Square::apply(&x));
    assert!(!is_shared(x) && y.grad_fn().is_none());
}

/// x, whose backward reports the layout of its gradient.
struct Layout;

#[custom_function]
impl Layout {
    #[forward]
    fn forward(x: ArrayView2<f64>) -> Array2<f64> {
        x.to_owned()
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView2<f64>) -> Array2<f64> {
        grad_output.to_owned()
    }
}

#[test]
fn gradients_of_any_layout_are_views_that_know_it() {
    let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]).set_requires_grad(true);
    // From a sum the gradient is one number repeated, from a transpose one with swapped strides.
    Layout::apply(&x).sum().backward().unwrap();
    assert_eq!(x.grad(), Some(array![[1.0, 1.0], [1.0, 1.0]]));
    let seed = array![[1.0, 2.0], [3.0, 4.0]];
    let (dx,) = Grad::of(&Layout::apply(&x).t())
        .seed(seed.clone())
        .run((&x,))
        .unwrap();
    assert_eq!(dx.to_array(), seed.t());
    let reversed = seed.slice(s![..;-1, ..;-1]).to_owned();
    let mut backwards = reversed.clone();
    backwards.invert_axis(pullback::ndarray::Axis(0));
    let (dx,) = Grad::of(&Layout::apply(&x))
        .seed(backwards.clone())
        .run((&x,))
        .unwrap();
    assert_eq!(dx.to_array(), backwards);
}

/// √x, whose gradient at 0 is 0 · ∞ where the incoming gradient is 0.
struct Root;

#[custom_function]
impl Root {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        x.mapv(f64::sqrt)
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>, output: ArrayView1<f64>) -> Array1<f64> {
        &grad_output * &output.mapv(|y| 0.5 / y)
    }
}

#[test]
fn what_is_not_a_number_is_named_where_it_arises() {
    let x = leaf([4.0, 0.0]);
    let loss = (Root::apply(&x) * Tensor::from(array![1.0, 0.0])).sum();
    let line = line!() - 1;
    let error = detect_anomaly(|| loss.backward()).unwrap_err().to_string();
    let expected = "backward of `Root` gave a gradient for `x` that is not a number at entry [1] \
                    (applied at tests/it/mistakes.rs:";
    assert!(error.starts_with(&format!("{expected}{line}:")), "{error}");
    assert_eq!(x.grad(), None);
    // Outside, and for numbers however large, nothing is looked at.
    loss.backward().unwrap();
    assert!(x.grad().unwrap()[1].is_nan());
    let y = leaf([0.0]);
    detect_anomaly(|| Root::apply(&y).sum().backward()).unwrap();
    assert_eq!(y.grad(), Some(array![f64::INFINITY]));
}
