//! The gradients of `backward` and `grad`.

use std::cell::RefCell;
use std::sync::Arc;

use pullback::ErrorKind;
use pullback::ndarray::{Array1, ArrayView1, Axis, ShapeBuilder, array};
use pullback::prelude::*;

use crate::functions::{Square, leaf};

thread_local! {
    static EVENTS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static KEPT: RefCell<Option<Tensor1<f64>>> = const { RefCell::new(None) };
}

/// x, whose backward records that it ran.
#[custom_function(grad(x) = {
    EVENTS.with_borrow_mut(|events| events.push(name.to_owned()));
    grad_output.to_owned()
})]
fn told(x: ArrayView1<f64>, name: &str) -> Array1<f64> {
    let _ = name;
    x.to_owned()
}

#[test]
fn a_product_of_the_hessian_with_a_vector() {
    let (x, y) = (leaf([1.0]), leaf([1.0]));
    let z = &x * &x + &x * &y + &y * &y;
    let (dx, dy) = Grad::of(&z).create_graph(true).run((&x, &y)).unwrap();
    assert_eq!((dx.to_array(), dy.to_array()), (array![3.0], array![3.0]));
    let (hx, hy) = grad(&(&dx * 2.0 + &dy), (&x, &y)).unwrap();
    assert_eq!((hx.to_array(), hy.to_array()), (array![5.0], array![4.0]));
}

#[test]
fn derivatives_that_vanish_are_none_or_zeros() {
    let (x, a) = (leaf([0.5]), leaf([3.0]));
    let y = &x * &a;
    let derivative = || Grad::of(&y).create_graph(true).run((&x,)).unwrap().0;
    assert_eq!(derivative().to_array(), array![3.0]);
    let error = grad(&derivative(), (&x,)).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::UnusedInput { position: 0 });
    let (none,) = Grad::of(&derivative()).run_unused((&x,)).unwrap();
    assert!(none.is_none());
    let (zeros,) = Grad::of(&derivative())
        .allow_unused(true)
        .run((&x,))
        .unwrap();
    assert_eq!(zeros.to_array(), array![0.0]);
    assert!(!zeros.requires_grad());
    // Under `create_graph` the zeros can be differentiated in turn.
    let second = Grad::of(&derivative())
        .create_graph(true)
        .allow_unused(true)
        .run((&x,))
        .unwrap();
    let third = Grad::of(&second.0).allow_unused(true).run((&x,)).unwrap();
    assert_eq!(
        (second.0.to_array(), third.0.to_array()),
        (array![0.0], array![0.0])
    );
}

#[test]
fn what_does_not_lead_to_an_input_is_not_run() {
    let (x, apart) = (leaf([1.0, 2.0]), leaf([3.0]));
    let loss = |x: &Tensor1<f64>| (told(x, "first") * told(x, "second")).sum();
    // Nothing leads to `apart`: neither function runs, and nothing is freed.
    let y = loss(&x);
    let (none,) = Grad::of(&y).run_unused((&apart,)).unwrap();
    assert!(none.is_none());
    assert_eq!(EVENTS.take(), [] as [String; 0]);
    let (dx, none) = Grad::of(&y).run_unused((&x, &apart)).unwrap();
    assert_eq!(
        (dx.unwrap().to_array(), none.is_none()),
        (array![2.0, 4.0], true)
    );
    assert_eq!(EVENTS.take(), ["second", "first"]);
    // One branch of two.
    let branch = told(&x, "inner");
    let y = (told(&branch, "outer") * told(&apart, "apart")).sum();
    grad(&y, (&branch,)).unwrap();
    assert_eq!(EVENTS.take(), ["outer"]);
}

/// The two halves of x.
struct Halves;

#[custom_function]
impl Halves {
    #[forward(outputs(left, right))]
    fn forward(x: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) {
        let (left, right) = x.split_at(Axis(0), x.len() / 2);
        (left.to_owned(), right.to_owned())
    }

    #[backward(x)]
    fn backward(grad_left: ArrayView1<f64>, grad_right: ArrayView1<f64>) -> Array1<f64> {
        EVENTS.with_borrow_mut(|events| events.push("halves".to_owned()));
        pullback::ndarray::concatenate![Axis(0), grad_left, grad_right]
    }
}

#[test]
fn gradients_of_a_functions_outputs_do_not_run_the_function() {
    let x = leaf([1.0, 2.0, 3.0, 4.0]);
    let (left, right) = Halves::apply(&x);
    let y = &left + &right * 2.0;
    let seed = || array![10.0, 20.0];
    let halves = Grad::of(&y)
        .seed(seed())
        .retain_graph(true)
        .run((&left, &right))
        .unwrap();
    assert_eq!(halves.0.to_array(), seed());
    assert_eq!(halves.1.to_array(), seed() * 2.0);
    assert_eq!((EVENTS.take(), x.grad()), (vec![], None));
    // One output and the input: the other output's gradient arrives there too.
    let (dright, dx) = Grad::of(&y).seed(seed()).run((&right, &x)).unwrap();
    assert_eq!(dright.to_array(), seed() * 2.0);
    assert_eq!(dx.to_array(), array![10.0, 20.0, 20.0, 40.0]);
    assert_eq!(EVENTS.take(), ["halves"]);
}

/// eˣ, which keeps `token`; its gradient leads back to its own node.
#[custom_function(higher_order, grad(x) = {
    assert!(Arc::strong_count(token) > 0);
    grad_output * output
})]
fn keeps(x: ArrayView1<f64>, token: Arc<()>) -> Array1<f64> {
    assert!(Arc::strong_count(&token) > 0);
    x.mapv(f64::exp)
}

#[test]
fn a_gradient_with_a_history_is_let_go_with_its_last_holder() {
    let token = Arc::new(());
    // Handed back: no leaf holds it.
    let x = leaf([3.0]);
    let y = keeps(&x, Arc::clone(&token));
    let (dx,) = Grad::of(&y).create_graph(true).run((&x,)).unwrap();
    drop((x, y));
    assert!(Arc::strong_count(&token) > 1, "`dx` can be differentiated");
    drop(dx);
    assert_eq!(Arc::strong_count(&token), 1);
    // Accumulated: the leaf holds it, until it is told to forget.
    let x = leaf([3.0]);
    Backward::of(&keeps(&x, Arc::clone(&token)))
        .create_graph(true)
        .run()
        .unwrap();
    assert!(Arc::strong_count(&token) > 1);
    x.zero_grad();
    assert_eq!(Arc::strong_count(&token), 1);
}

/// x ← 2x
#[custom_function(grad(x) = &grad_output * 2.0)]
fn double(mut x: pullback::ndarray::ArrayViewMut1<f64>) {
    x *= 2.0;
}

/// A clone of a tensor keeps an edge of the graph.
#[test]
fn a_clone_keeps_the_edge_that_the_tensor_had() {
    let x = leaf([1.0, 2.0, 3.0]);
    let mut y = &x * 5.0;
    let old = y.clone();
    double(&mut y);
    let loss = || y.sum();
    let (at_old, at_new) = grad(&loss(), (&old, &y)).unwrap();
    assert_eq!(at_old.to_array(), array![2.0, 2.0, 2.0]);
    assert_eq!(at_new.to_array(), array![1.0, 1.0, 1.0]);
    // A tensor that was given another value, of another shape, is not what it was cloned from.
    let mut moved = &x * 5.0;
    let edge = moved.clone();
    let z = (&moved * &moved).sum();
    moved = Tensor::from(array![0.0]);
    assert_eq!(moved.shape(), [1]);
    let (at_edge,) = Grad::of(&z).retain_graph(true).run((&edge,)).unwrap();
    assert_eq!(at_edge.to_array(), array![10.0, 20.0, 30.0]);
    // Two steps are one, and edges stand beside leaves.
    let (once, beside) = Grad::of(&z).retain_graph(true).run((&x, &edge)).unwrap();
    assert_eq!(beside.to_array(), at_edge.to_array());
    let (twice,) = Grad::of(&edge)
        .seed(at_edge.into_array())
        .run((&x,))
        .unwrap();
    assert_eq!(twice.to_array(), once.to_array());
}

#[test]
fn what_was_taken_of_a_gradient_does_not_change_as_it_accumulates() {
    for create_graph in [false, true] {
        let x = leaf([1.0, 2.0, 3.0]);
        let pass = || {
            Backward::of(&Square::apply(&x).sum())
                .create_graph(create_graph)
                .run()
                .unwrap();
        };
        pass();
        let first = x.grad_tensor().unwrap();
        pass();
        let second = x.grad_tensor().unwrap();
        assert_eq!(first.to_array(), array![2.0, 4.0, 6.0]);
        assert_eq!(second.to_array(), array![4.0, 8.0, 12.0]);
        assert_eq!(
            [first, second].map(|grad| grad.requires_grad()),
            [create_graph; 2]
        );
        // One more, onto an array that no other handle has.
        pass();
        assert_eq!(x.grad(), Some(array![6.0, 12.0, 18.0]));
        x.zero_grad();
    }
}

type Loss = fn(&Tensor2<f64>) -> Tensor0<f64>;

#[test]
fn the_layout_of_a_leaf_does_not_show_in_its_gradient() {
    let values = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let mut columns = pullback::ndarray::Array2::<f64>::zeros((2, 3).f());
    columns.assign(&values);
    assert_eq!(columns.strides(), [1, 2]);
    let (rows, columns) = (Tensor::from(values), Tensor::from(columns));
    let (rows, columns) = (
        rows.set_requires_grad(true),
        columns.set_requires_grad(true),
    );
    // Elementwise, one number repeated, and through a product of matrices.
    let losses: [Loss; 3] = [
        |x| (Square::apply(x) * x).sum(),
        |x| x.sum(),
        |x| x.t().matmul(x).sum(),
    ];
    for loss in losses {
        loss(&rows).backward().unwrap();
        loss(&columns).backward().unwrap();
        assert_eq!(rows.grad(), columns.grad());
        let [by_rows, by_columns] = [&rows, &columns].map(|x| x.to_array() - x.grad().unwrap());
        assert_eq!(by_rows, by_columns, "an optimizer's step");
    }
    let sums = rows.to_array().sum_axis(Axis(1)).insert_axis(Axis(1));
    let expected = rows.to_array().mapv(|x| 3.0 * x * x + 1.0) + sums * 2.0;
    assert_eq!(columns.grad(), Some(expected));
}

/// x, whose backward gives a tensor that it holds on to.
struct Constant;

#[custom_function]
impl Constant {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        x.to_owned()
    }

    #[backward(x, ignores_grad)]
    fn backward() -> Tensor1<f64> {
        KEPT.with_borrow(|kept| kept.clone().expect("set by the test"))
    }
}

/// −x, whose backward writes to the gradient that it owns.
struct Negated;

#[custom_function]
impl Negated {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        -&x
    }

    #[backward(x)]
    fn backward(mut grad_output: Array1<f64>) -> Array1<f64> {
        grad_output.mapv_inplace(|g| -g);
        grad_output
    }
}

#[test]
fn what_a_backward_function_returns_is_not_written_to() {
    let kept = Tensor::from(array![1.0, 2.0, 3.0]);
    KEPT.set(Some(kept.clone()));
    let x = leaf([0.0, 0.0, 0.0]);
    // Added to what is there, and there when something is added.
    x.sum().backward().unwrap();
    Constant::apply(&x).sum().backward().unwrap();
    (&x * 10.0).sum().backward().unwrap();
    assert_eq!(x.grad(), Some(array![12.0, 13.0, 14.0]));
    x.zero_grad();
    (Constant::apply(&x) + Constant::apply(&x) + &x)
        .sum()
        .backward()
        .unwrap();
    Constant::apply(&x).sum().backward().unwrap();
    assert_eq!(x.grad(), Some(array![4.0, 7.0, 10.0]));
    // Nor by a function that takes its gradient by value.
    x.zero_grad();
    let mut y = &x * 1.0;
    double(&mut y);
    Negated::apply(&Constant::apply(&Negated::apply(&y)))
        .sum()
        .backward()
        .unwrap();
    assert_eq!(x.grad(), Some(array![-2.0, -4.0, -6.0]));
    assert_eq!(kept.to_array(), array![1.0, 2.0, 3.0]);
    KEPT.take();
}

/// x in double precision.
#[custom_function(grad(x) = grad_output.mapv(f32::from_f64))]
fn widened(x: ArrayView1<f32>) -> Array1<f64> {
    x.mapv(f64::from)
}

#[test]
fn a_gradient_has_the_element_type_of_its_tensor() {
    let x = Tensor::from(array![0.1_f32, 2.0]).set_requires_grad(true);
    let y = widened(&x);
    (&y * &y).sum().backward().unwrap();
    let gradient: Array1<f32> = x.grad().unwrap();
    assert_eq!(gradient, array![0.2_f32, 4.0]);
    // In one call, each in its own.
    let y = widened(&x);
    let (single, double): (Tensor1<f32>, Tensor1<f64>) = grad(&(&y * &y).sum(), (&x, &y)).unwrap();
    assert_eq!(single.to_array(), array![0.2_f32, 4.0]);
    assert_eq!(double.to_array(), array![2.0 * f64::from(0.1_f32), 4.0]);
}
