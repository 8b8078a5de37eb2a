//! Rows 1 to 22: what a custom function and the engine owe each other.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

use pullback::ErrorKind;
use pullback::ndarray::{Array, Array1, Array2, ArrayView, ArrayView1, ArrayView2, Ix2, array};
use pullback::prelude::*;

use crate::functions::{SquareOnce, leaf};

/// a + k·b + a·b, differentiable any number of times.
#[custom_function(
    higher_order,
    grad(a) = grad_output + grad_output * b,
    grad(b) = grad_output * *k + grad_output * a,
)]
fn blend(a: ArrayView1<f64>, b: ArrayView1<f64>, k: f64) -> Array1<f64> {
    &a + &b * k + &a * &b
}

#[test]
fn gradients_have_a_history_under_create_graph_alone() {
    let (a, b) = (leaf([3.0]), leaf([5.0]));
    let plain = Grad::of(&blend(&a, &b, 2.0)).run((&a, &b)).unwrap();
    assert!(plain.0.grad_fn().is_none() && plain.1.grad_fn().is_none());
    let (da, db) = Grad::of(&blend(&a, &b, 2.0))
        .create_graph(true)
        .run((&a, &b))
        .unwrap();
    assert_eq!((da.to_array(), db.to_array()), (array![6.0], array![5.0]));
    assert!(da.grad_fn().is_some() && db.grad_fn().is_some());
    // d(1 + b)/db and d(k + a)/da
    let (dda,) = grad(&da, (&b,)).unwrap();
    let (ddb,) = grad(&db, (&a,)).unwrap();
    assert_eq!((dda.to_array(), ddb.to_array()), (array![1.0], array![1.0]));
    Backward::of(&blend(&a, &b, 2.0))
        .create_graph(true)
        .run()
        .unwrap();
    assert_eq!((a.grad(), b.grad()), (Some(array![6.0]), Some(array![5.0])));
    assert!(a.grad_tensor().unwrap().grad_fn().is_some());
    assert!(b.grad_tensor().unwrap().grad_fn().is_some());
    a.zero_grad();
    b.zero_grad();
}

/// The short form of that function, differentiable once.
#[custom_function(
    grad(a) = &grad_output * &(&b + 1.0),
    grad(b) = &grad_output * &(&a + *k),
)]
fn blend_once(a: ArrayView1<f64>, b: ArrayView1<f64>, k: f64) -> Array1<f64> {
    &a + &b * k + &a * &b
}

#[test]
fn a_gradient_computed_on_arrays_ends_in_a_node_that_fails() {
    let (a, b) = (leaf([3.0]), leaf([5.0]));
    let line = line!() + 1;
    let (da, db) = Grad::of(&blend_once(&a, &b, 2.0))
        .create_graph(true)
        .run((&a, &b))
        .unwrap();
    assert_eq!((da.to_array(), db.to_array()), (array![6.0], array![5.0]));
    for derivative in [da, db] {
        let node = derivative.grad_fn().unwrap();
        assert_eq!(
            (node.name(), node.applied_at().line()),
            ("OnceDifferentiable", line)
        );
        let leaves = node.next_functions();
        assert_eq!(leaves.iter().flatten().count(), 2);
        assert!(
            leaves
                .iter()
                .flatten()
                .all(|node| node.name() == "AccumulateGrad")
        );
        let error = grad(&derivative, (&a,)).unwrap_err();
        assert!(
            (error.kind(), error.function())
                == (&ErrorKind::OnceDifferentiable, Some("blend_once"))
        );
    }
}

/// Returns its input as it is; the gradient is twice the incoming one.
struct Same<D>(std::marker::PhantomData<D>);

#[custom_function]
impl<D: pullback::ndarray::Dimension> Same<D> {
    #[forward]
    fn forward(x: &Tensor<f64, D>) -> Tensor<f64, D> {
        x.clone()
    }

    #[backward(x)]
    fn backward(grad_output: Array<f64, D>) -> Array<f64, D> {
        grad_output * 2.0
    }
}

#[test]
fn an_input_that_is_returned_as_it_is_has_the_functions_gradient() {
    let x = leaf([7.0]);
    let y = Same::apply(&x);
    assert!(!y.is_leaf());
    y.backward().unwrap();
    assert_eq!((x.grad(), x.is_leaf()), (Some(array![2.0]), true));
    let x = Tensor::from(pullback::ndarray::arr0(7.0)).set_requires_grad(true);
    Same::apply(&x).backward().unwrap();
    assert_eq!(x.grad(), Some(pullback::ndarray::arr0(2.0)));
}

/// x, without a gradient.
struct Opaque;

#[custom_function]
impl Opaque {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        x.to_owned()
    }

    #[backward(x, ignores_grad)]
    fn backward() -> Option<Array1<f64>> {
        None
    }
}

#[test]
fn no_gradient_is_none_however_far_back() {
    let x = leaf([1.0, 2.0]);
    Opaque::apply(&x).sum().backward().unwrap();
    Opaque::apply(&(&x * &x)).sum().backward().unwrap();
    Opaque::apply(&Opaque::apply(&x)).sum().backward().unwrap();
    assert_eq!(x.grad(), None);
    let unused = Grad::of(&Opaque::apply(&(&x * &x)).sum())
        .run_unused((&x,))
        .unwrap();
    assert!(unused.0.is_none());
    let error = grad(&Opaque::apply(&x).sum(), (&x,)).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::UnusedInput { position: 0 });
}

/// No tensor need be there.
#[custom_function(outputs(y, text), grad(x) = &grad_y * *factor)]
fn scaled(x: Option<ArrayView1<f64>>, factor: f64) -> (Array1<f64>, String) {
    let x = x.map_or_else(|| array![1.0], |x| x.to_owned());
    (x * factor, format!("times {factor}"))
}

#[test]
fn without_a_tensor_nothing_is_recorded() {
    let (y, text) = scaled(None, 3.0);
    assert_eq!((y.to_array(), &text[..]), (array![3.0], "times 3"));
    assert!(!y.requires_grad() && y.grad_fn().is_none());
    let (y, _) = scaled(Some(&leaf([2.0])), 3.0);
    assert!(y.requires_grad());
}

#[custom_function(grad(x) = {
    assert!(grad_output[0] < 0.0, "the gradient is {}", grad_output[0]);
    grad_output.to_owned()
})]
fn particular(x: ArrayView1<f64>) -> Array1<f64> {
    x.to_owned()
}

#[test]
fn a_panic_in_backward_reaches_the_caller_with_its_text() {
    let x = leaf([1.0]);
    let y = particular(&(&x * 2.0));
    let result = catch_unwind(AssertUnwindSafe(|| y.backward_with(array![2.5])));
    let text = *result.unwrap_err().downcast::<String>().unwrap();
    assert!(text.ends_with(", panicked: the gradient is 2.5"), "{text}");
    y.backward_with(array![-1.0]).unwrap();
    assert_eq!(x.grad(), Some(array![-2.0]));
}

/// Two matrices as vectors, scaled, and how many elements there are: in the long form.
struct Flattened;

#[custom_function]
impl Flattened {
    #[forward(outputs(first, second, count), saves(shapes))]
    fn forward(
        x: ArrayView2<f64>,
        y: ArrayView2<f64>,
        scale: [f64; 2],
    ) -> (Array1<f64>, Array1<f64>, usize, [Ix2; 2]) {
        let flat = |x: ArrayView2<f64>, scale: f64| x.iter().map(|x| x * scale).collect();
        let shapes = [x.raw_dim(), y.raw_dim()];
        (
            flat(x, scale[0]),
            flat(y, scale[1]),
            x.len() + y.len(),
            shapes,
        )
    }

    #[backward]
    fn backward(
        grad_first: Array1<f64>,
        grad_second: Array1<f64>,
        scale: [f64; 2],
        shapes: &[Ix2; 2],
    ) -> (Array2<f64>, Array2<f64>) {
        let shaped = |grad: Array1<f64>, of: usize| {
            grad.into_shape_with_order(shapes[of]).unwrap() * scale[of]
        };
        (shaped(grad_first, 0), shaped(grad_second, 1))
    }
}

/// The short form of that function, which asks for the inputs instead of their shapes.
#[custom_function(
    outputs(first, second, count),
    grad(x) = grad_first.to_shape(x.raw_dim()).unwrap().mapv(|g| g * scale[0]),
    grad(y) = grad_second.to_shape(y.raw_dim()).unwrap().mapv(|g| g * scale[1]),
)]
fn vectors(
    x: ArrayView2<f64>,
    y: ArrayView2<f64>,
    scale: [f64; 2],
) -> (Array1<f64>, Array1<f64>, usize) {
    let flat = |x: ArrayView2<f64>, scale: f64| x.iter().map(|x| x * scale).collect();
    (flat(x, scale[0]), flat(y, scale[1]), x.len() + y.len())
}

#[test]
fn both_forms_of_a_definition_are_the_same_function() {
    let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]).set_requires_grad(true);
    let y = Tensor::from(array![[5.0, 6.0, 7.0]]).set_requires_grad(true);
    let square = SquareOnce::apply(&leaf([3.0]));
    assert_eq!(square.to_array(), array![9.0]);
    let run = |(first, second, count): (Tensor1<f64>, Tensor1<f64>, usize)| {
        assert_eq!(count, 7);
        let loss = (&first * &first).sum() + second.sum();
        let (dx, dy) = grad(&loss, (&x, &y)).unwrap();
        (
            first.to_array(),
            second.to_array(),
            dx.to_array(),
            dy.to_array(),
        )
    };
    let long = run(Flattened::apply(&x, &y, [7.0, 11.0]));
    assert_eq!(long, run(vectors(&x, &y, [7.0, 11.0])));
    assert_eq!(long.2, x.to_array() * 98.0);
    assert_eq!(long.3, array![[11.0, 11.0, 11.0]]);
}

thread_local! {
    static NEEDS: RefCell<Vec<(bool, bool)>> = const { RefCell::new(Vec::new()) };
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

struct Product;

#[custom_function]
impl Product {
    #[forward]
    fn forward(x: ArrayView1<f64>, y: ArrayView1<f64>) -> Array1<f64> {
        &x * &y
    }

    #[backward]
    fn backward(
        grad_output: ArrayView1<f64>,
        x: ArrayView1<f64>,
        y: ArrayView1<f64>,
        needs_input_grad: &ProductNeedsInputGrad,
    ) -> (Array1<f64>, Option<Array1<f64>>) {
        let ProductNeedsInputGrad {
            x: need_x,
            y: need_y,
        } = *needs_input_grad;
        NEEDS.with_borrow_mut(|needs| needs.push((need_x, need_y)));
        (&grad_output * &y, need_y.then(|| &grad_output * &x))
    }
}

#[test]
fn a_function_is_told_which_gradients_are_needed() {
    let (x, constant) = (leaf([2.0]), Tensor::from(array![3.0]));
    Product::apply(&x, &constant).backward().unwrap();
    Product::apply(&constant, &x).backward().unwrap();
    Product::apply(&x, &x).backward().unwrap();
    assert_eq!(NEEDS.take(), [(true, false), (false, true), (true, true)]);
    assert_eq!(x.grad(), Some(array![3.0 + 3.0 + 4.0]));
}

/// Twice x, returned twice.
struct Twice;

#[custom_function]
impl Twice {
    #[forward]
    fn forward(x: &Tensor1<f64>) -> (Tensor1<f64>, Tensor1<f64>) {
        let twice = x * 2.0;
        (twice.clone(), twice)
    }

    #[backward(x)]
    fn backward(grad_output_0: &Tensor1<f64>, grad_output_1: &Tensor1<f64>) -> Tensor1<f64> {
        (grad_output_0 + grad_output_1) * 2.0
    }
}

#[test]
fn one_result_returned_twice_is_two_outputs_of_one_memory() {
    let x = leaf([1.0, 2.0, 3.0]);
    let (a, b) = Twice::apply(&x);
    assert_eq!(a.view().as_ptr(), b.view().as_ptr());
    (&a * 10.0 + &b).sum().backward().unwrap();
    assert_eq!(x.grad(), Some(array![22.0, 22.0, 22.0]));
    let check = Gradcheck::new().second_order();
    check.run(|(x,)| Twice::apply(x), (&x,)).unwrap();
    let product = |(x,): (&Tensor1<f64>,)| {
        let (a, b) = Twice::apply(x);
        &a * &b
    };
    check.run(product, (&x,)).unwrap();
}

/// x, its signs, and the gradient of neither.
struct Signs;

#[custom_function]
impl Signs {
    #[forward(outputs(y, signs), non_differentiable(signs))]
    fn forward(x: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) {
        (x.to_owned(), x.mapv(f64::signum))
    }

    #[backward(x)]
    fn backward(grad_y: ArrayView1<f64>) -> Option<Array1<f64>> {
        CALLS.set(CALLS.get() + 1);
        assert_eq!(grad_y.len(), 2);
        None
    }
}

#[test]
fn what_is_behind_a_gradient_of_none_does_not_run() {
    let (x, w) = (leaf([1.0, -2.0]), leaf([1.0, 1.0]));
    let (y, signs) = Signs::apply(&(&x * &Product::apply(&x, &w)));
    assert!(y.requires_grad() && !signs.requires_grad());
    (y * signs + &w).sum().backward().unwrap();
    assert_eq!((x.grad(), w.grad()), (None, Some(array![1.0, 1.0])));
    assert_eq!((CALLS.take(), NEEDS.take()), (1, vec![]));
}

/// x + b, or x; the gradient asks for both.
struct Shifted;

#[custom_function]
impl Shifted {
    #[forward]
    fn forward(x: ArrayView1<f64>, b: Option<ArrayView1<f64>>) -> Array1<f64> {
        b.map_or_else(|| x.to_owned(), |b| &x + &b)
    }

    #[backward]
    fn backward(
        grad_output: ArrayView<f64, pullback::ndarray::Ix1>,
        x: ArrayView1<f64>,
        b: Option<ArrayView1<f64>>,
    ) -> (Array1<f64>, Option<Array1<f64>>) {
        assert_eq!(x.len(), grad_output.len());
        CALLS.set(CALLS.get() + u32::from(b.is_none()));
        (grad_output.to_owned(), b.map(|_| grad_output.to_owned()))
    }
}

#[test]
fn an_input_that_is_absent_is_saved_as_absent() {
    let x = leaf([1.0, 2.0]);
    let y = Shifted::apply(&x, None).sum();
    y.backward().unwrap();
    assert_eq!((x.grad(), CALLS.take()), (Some(array![1.0, 1.0]), 1));
    assert!(y.backward().unwrap_err().kind() == &ErrorKind::Freed);
    let node = Shifted::apply(&x, Some(&x)).grad_fn().unwrap();
    let ones = || Some(Tensor::from(array![1.0, 1.0]).into_dyn());
    assert_eq!(node.apply::<f64>(&[ones()]).unwrap().len(), 2);
    assert_eq!(CALLS.take(), 0);
}
