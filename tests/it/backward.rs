//! `backward`: into leaves, once or twice, whole or not at all.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pullback::ndarray::{Array0, Array1, ArrayView1, array};
use pullback::prelude::*;
use pullback::{Backward, ErrorKind};

use crate::functions::{Linear, Square, SquareOnce, leaf};

#[test]
fn linear_has_the_gradients_of_the_hand_calculation() {
    let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]).set_requires_grad(true);
    let w = Tensor::from(array![[5.0, 6.0]]).set_requires_grad(true);
    let b = leaf([0.5]);
    let y = Linear::apply(&x, &w, Some(&b));
    assert_eq!(y.to_array(), array![[17.5], [39.5]]);
    y.backward_with(array![[1.0], [10.0]]).unwrap();
    assert_eq!(x.grad(), Some(array![[5.0, 6.0], [50.0, 60.0]]));
    assert_eq!(w.grad(), Some(array![[31.0, 42.0]]));
    assert_eq!(b.grad(), Some(array![11.0]));
}

#[test]
fn gradients_accumulate_until_they_are_zeroed() {
    let x = leaf([1.0, 2.0]);
    (&x * 2.0).sum().backward().unwrap();
    (&x * 3.0).sum().backward().unwrap();
    assert_eq!(x.grad(), Some(array![5.0, 5.0]));
    x.zero_grad();
    assert_eq!(x.grad(), None);
    x.sum().backward().unwrap();
    assert_eq!(x.grad(), Some(array![1.0, 1.0]));
}

#[test]
fn a_leaf_used_several_times_gets_the_sum() {
    let x = leaf([3.0]);
    // d(x·x + x·2 − x)/dx = 2x + 2 − 1
    (&x * &x + &x * 2.0 - &x).sum().backward().unwrap();
    assert_eq!(x.grad(), Some(array![7.0]));
}

#[test]
fn a_scalar_leaf_is_its_own_gradient() {
    let x = Tensor::from(Array0::from_elem((), 3.0)).set_requires_grad(true);
    x.backward().unwrap();
    assert_eq!(x.grad(), Some(Array0::from_elem((), 1.0)));
}

#[test]
fn broadcast_operands_get_gradients_of_their_own_shapes() {
    let column = Tensor::from(array![[1.0], [2.0]]).set_requires_grad(true);
    let row = leaf([10.0, 20.0, 30.0]);
    let number = Tensor::from(Array0::from_elem((), 2.0)).set_requires_grad(true);
    (&column * &row * &number).sum().backward().unwrap();
    assert_eq!(column.grad(), Some(array![[120.0], [120.0]]));
    assert_eq!(row.grad(), Some(array![6.0, 6.0, 6.0]));
    assert_eq!(number.grad(), Some(Array0::from_elem((), 180.0)));
}

#[test]
fn a_tensor_of_several_elements_needs_a_gradient() {
    let x = leaf([1.0, 2.0]);
    let error = (&x * 2.0).backward().unwrap_err();
    assert!(
        error
            .to_string()
            .contains("shape [2] needs a gradient to start with"),
        "{error}"
    );
    let error = (&x * 2.0).backward_with(array![1.0]).unwrap_err();
    assert_eq!(
        error.message(),
        "backward from a tensor of shape [2] was started with a gradient of shape [1]"
    );
}

#[test]
fn errors_of_a_call_have_its_line() {
    let (x, w, constant) = (leaf([1.0, 2.0]), leaf([3.0]), Tensor::from(array![1.0]));
    let (y, none): (_, &[&Tensor1<f64>]) = (&x * 2.0, &[]);
    let line = line!() + 2;
    let errors = [
        y.backward().unwrap_err(),
        y.backward_with(array![1.0]).unwrap_err(),
        constant.sum().backward().unwrap_err(),
        Backward::of(&y.sum()).inputs(none).run().unwrap_err(),
        Backward::of(&y.sum()).inputs(&constant).run().unwrap_err(),
        grad(&y.sum(), &w).unwrap_err(),
        grad(&y.sum(), (&x, &constant)).unwrap_err(),
        Grad::of(&y).run(&x).unwrap_err(),
        Grad::of(&y).seed(array![1.0]).run_unused(&x).unwrap_err(),
    ];
    for (error, line) in errors.iter().zip(line..) {
        let at = error.applied_at().expect("a line");
        assert_eq!((at.file(), at.line()), (file!(), line), "{error}");
    }
}

#[test]
fn a_tensor_without_history_is_refused() {
    let constant = Tensor::from(array![1.0]);
    assert_eq!(
        constant.sum().backward().unwrap_err().kind(),
        &ErrorKind::NoGraph
    );
    let x = leaf([1.0]);
    assert_eq!(
        no_grad(|| x.sum()).backward().unwrap_err().kind(),
        &ErrorKind::NoGraph
    );
    assert_eq!(
        x.sum().detach().backward().unwrap_err().kind(),
        &ErrorKind::NoGraph
    );
}

#[test]
fn the_graph_is_freed_unless_it_is_retained() {
    let x = leaf([3.0]);
    let line = line!() + 1;
    let y = SquareOnce::apply(&x).sum();
    Backward::of(&y).retain_graph(true).run().unwrap();
    y.backward().unwrap();
    assert_eq!(x.grad(), Some(array![12.0]));
    let error = y.backward().unwrap_err();
    assert!(
        (error.kind(), error.function()) == (&ErrorKind::Freed, Some("Sum")),
        "{error}"
    );
    assert!(
        error.to_string().contains(&format!("backward.rs:{line}:")),
        "{error}"
    );
    assert_eq!(x.grad(), Some(array![12.0]));
}

/// In PyTorch a graph that saved nothing can be walked twice, unnoticed.
#[test]
fn a_second_pass_is_an_error_even_where_nothing_was_saved() {
    let x = leaf([1.0]);
    let y = &x + 1.0;
    y.backward_with(array![1.0]).unwrap();
    let error = y.backward_with(array![1.0]).unwrap_err();
    assert_eq!(
        (error.kind(), error.function()),
        (&ErrorKind::Freed, Some("AddScalar"))
    );
    assert_eq!(x.grad(), Some(array![1.0]));
}

#[test]
fn no_grad_and_enable_grad_say_what_is_recorded() {
    let x = leaf([2.0]);
    let (inside, again) = no_grad(|| (&x * 2.0, enable_grad(|| &x * 2.0)));
    assert!(!inside.requires_grad() && inside.is_leaf() && inside.grad_fn().is_none());
    assert!(again.requires_grad() && !again.is_leaf());
}

/// y = 2x; its backward returns one element too many, or panics.
struct Faulty;

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    Shape,
    Panic,
}

thread_local! {
    static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
}

#[custom_function]
impl Faulty {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        &x * 2.0
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> {
        match FAULT.get() {
            None => &grad_output * 2.0,
            Some(Fault::Shape) => Array1::zeros(grad_output.len() + 1),
            Some(Fault::Panic) => panic!("as told"),
        }
    }
}

/// PyTorch leaves a graph half freed.
#[test]
fn a_pass_that_fails_changes_nothing_and_can_be_run_again() {
    let (x, w) = (leaf([1.0, 2.0]), leaf([3.0, 4.0]));
    x.sum().backward().unwrap();
    // The gradient of `w` is complete before the fault, and `Square` has run.
    let line = line!() + 1;
    let y = (Square::apply(&(Faulty::apply(&x) * &w)) + &w).sum();
    for fault in [Fault::Shape, Fault::Panic, Fault::Shape] {
        FAULT.set(Some(fault));
        let result = catch_unwind(AssertUnwindSafe(|| y.backward()));
        match fault {
            Fault::Panic => assert!(result.is_err()),
            Fault::Shape => {
                let error = result.unwrap().unwrap_err().to_string();
                let expected = "backward of `Faulty` gave a gradient of shape [3] for `x` of shape [2] (applied at tests/it/backward.rs:";
                assert!(error.starts_with(&format!("{expected}{line}:")), "{error}");
            }
        }
        assert_eq!((x.grad(), w.grad()), (Some(array![1.0, 1.0]), None));
    }
    FAULT.set(None);
    y.backward().unwrap();
    assert_eq!(
        w.grad(),
        Some(array![2.0 * 6.0 * 2.0 + 1.0, 2.0 * 16.0 * 4.0 + 1.0])
    );
    assert_eq!(
        x.grad(),
        Some(array![1.0 + 2.0 * 6.0 * 6.0, 1.0 + 2.0 * 16.0 * 8.0])
    );
}

#[test]
fn the_seed_and_given_gradients_are_never_written_into() {
    let (x, w) = (leaf([1.0, 2.0]), leaf([1.0, 1.0]));
    // Both inputs of `+` get the same gradient; `InPlace` writes into what it gets.
    let y = InPlace::apply(&x) + InPlace::apply(&w) + &x;
    let (seed, before) = (array![1.0, 10.0], array![1.0, 10.0]);
    let root = y.grad_fn().unwrap();
    let shared = Tensor::from(seed).into_dyn();
    root.apply::<f64>(&[Some(shared.clone())]).unwrap();
    assert_eq!(shared.to_array(), before.clone().into_dyn());
    y.backward_with(before).unwrap();
    assert_eq!(x.grad(), Some(array![101.0, 1010.0]));
    assert_eq!(w.grad(), Some(array![100.0, 1000.0]));
}

/// y = 100x, whose backward writes into the gradient that it owns.
struct InPlace;

#[custom_function]
impl InPlace {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        &x * 100.0
    }

    #[backward(x)]
    fn backward(mut grad_output: Array1<f64>) -> Array1<f64> {
        grad_output *= 100.0;
        grad_output
    }
}
