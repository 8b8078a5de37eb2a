//! `grad`: gradients handed back, of any order, of what is asked for alone.

use std::cell::Cell;

use pullback::ErrorKind;
use pullback::ndarray::{Array1, ArrayView1, array};
use pullback::prelude::*;

use crate::functions::{Square, SquareOnce, leaf};

#[test]
fn tuples_and_slices_of_inputs() {
    let (x, w) = (leaf([1.0, 2.0]), leaf([3.0, 4.0]));
    let loss = || (&x * &x * &w).sum();
    let (dx, dw) = grad(&loss(), (&x, &w)).unwrap();
    assert_eq!(dx.to_array(), array![6.0, 16.0]);
    assert_eq!(dw.to_array(), array![1.0, 4.0]);
    let both = grad(&loss(), &[&x, &w][..]).unwrap();
    assert_eq!(both[1].to_array(), array![1.0, 4.0]);
    let owned = [x.clone(), w.clone()];
    assert_eq!(
        grad(&loss(), &owned[..]).unwrap()[0].to_array(),
        array![6.0, 16.0]
    );
    assert_eq!((x.grad(), w.grad()), (None, None));
}

#[test]
fn inputs_that_are_no_leaves() {
    let x = leaf([3.0]);
    let square = Square::apply(&x);
    let loss = (&square * &square).sum();
    let (dsquare, dx, again) = grad(&loss, (&square, &x, &square)).unwrap();
    assert_eq!(dsquare.to_array(), array![18.0]);
    assert_eq!(again.to_array(), array![18.0]);
    assert_eq!(dx.to_array(), array![108.0]);
    let (one,) = grad(&square, (&square,)).unwrap();
    assert_eq!(one.to_array(), array![1.0]);
}

#[test]
fn seeds_for_outputs_of_any_shape() {
    let x = leaf([1.0, 2.0]);
    let (dx,) = Grad::of(&Square::apply(&x))
        .seed(array![1.0, 10.0])
        .run((&x,))
        .unwrap();
    assert_eq!(dx.to_array(), array![2.0, 40.0]);
    let error = Grad::of(&Square::apply(&x))
        .seed(array![1.0])
        .run((&x,))
        .unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::SeedShape { .. }),
        "{error}"
    );
}

#[test]
fn unused_inputs_are_errors_or_zeros_or_none() {
    let (x, unused) = (leaf([1.0]), leaf([2.0, 3.0]));
    let loss = || (&x * &x).sum();
    let kept = loss();
    let error = grad(&kept, (&x, &unused)).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::UnusedInput { position: 1 });
    // What failed has freed nothing.
    assert_eq!(grad(&kept, (&x,)).unwrap().0.to_array(), array![2.0]);
    assert!(
        error
            .to_string()
            .contains("does not depend on input 1 of `grad`")
    );
    let (_, zeros) = Grad::of(&loss())
        .allow_unused(true)
        .run((&x, &unused))
        .unwrap();
    assert_eq!(zeros.to_array(), array![0.0, 0.0]);
    let (dx, none) = Grad::of(&loss()).run_unused((&x, &unused)).unwrap();
    assert!(dx.is_some() && none.is_none());
    let constant = Tensor::from(array![1.0]);
    let error = grad(&loss(), (&x, &constant)).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::InputWithoutGrad { position: 1 });
}

#[test]
fn create_graph_in_backward_leaves_gradients_with_a_history() {
    let x = leaf([3.0]);
    Backward::of(&Square::apply(&x))
        .create_graph(true)
        .run()
        .unwrap();
    let first = x.grad_tensor().unwrap();
    assert!(first.requires_grad());
    let (second,) = grad(&(&first * &first), (&x,)).unwrap();
    assert_eq!(second.to_array(), array![24.0]);
    // The leaf holds a gradient whose history leads back to the leaf.
    x.zero_grad();
}

/// PyTorch loses the term in silence where the incoming gradient is a constant.
#[test]
fn a_gradient_computed_on_arrays_cannot_be_differentiated_again() {
    let x = leaf([2.0]);
    // (x²)³: with a constant seed PyTorch computes 96; right is 480.
    let cube = |x: &Tensor1<f64>| x * x * x;
    let y = cube(&SquareOnce::apply(&x));
    let line = line!() - 1;
    let (first,) = Grad::of(&y).create_graph(true).run((&x,)).unwrap();
    assert_eq!(first.to_array(), array![192.0]);
    let error = grad(&first, (&x,)).unwrap_err();
    assert!(
        (error.kind(), error.function()) == (&ErrorKind::OnceDifferentiable, Some("SquareOnce"))
    );
    assert!(
        error
            .to_string()
            .contains(&format!("applied at tests/it/grads.rs:{line}:")),
        "{error}"
    );
    assert!(first.backward().is_err());
    assert_eq!(x.grad(), None);
    // Whatever does not go through it can be: d(192 · w)/dw.
    let w = leaf([1.0]);
    let (dw,) = grad(&(&first * &w), (&w,)).unwrap();
    assert_eq!(dw.to_array(), array![192.0]);

    let y = cube(&Square::apply(&x));
    let (first,) = Grad::of(&y).create_graph(true).run((&x,)).unwrap();
    let (second,) = grad(&first, (&x,)).unwrap();
    assert_eq!(second.to_array(), array![480.0]);
}

thread_local! {
    static CALLS: [Cell<u32>; 2] = const { [Cell::new(0), Cell::new(0)] };
}

fn calls() -> [u32; 2] {
    CALLS.with(|calls| [calls[0].take(), calls[1].take()])
}

fn called(input: usize) {
    CALLS.with(|calls| calls[input].set(calls[input].get() + 1));
}

/// x·y, which counts the calls of its backward functions.
struct Counted;

#[custom_function]
impl Counted {
    #[forward]
    fn forward(x: ArrayView1<f64>, y: ArrayView1<f64>) -> Array1<f64> {
        &x * &y
    }

    #[backward(x)]
    fn grad_x(grad_output: ArrayView1<f64>, y: ArrayView1<f64>) -> Array1<f64> {
        called(0);
        &grad_output * &y
    }

    #[backward(y)]
    fn grad_y(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> {
        called(1);
        &grad_output * &x
    }
}

/// PyTorch computes all branches.
#[test]
fn only_what_leads_to_an_input_is_computed() {
    let (x, y) = (leaf([2.0]), leaf([3.0]));
    let z = Counted::apply(&x, &y);
    let unused = Counted::apply(&y, &y);
    let loss = &z + &unused;
    grad(&loss, (&x,)).unwrap();
    assert_eq!(calls(), [1, 0]);
    let loss = Counted::apply(&x, &y) + Counted::apply(&y, &y);
    grad(&loss, (&y,)).unwrap();
    assert_eq!(calls(), [1, 2]);
    // What was not visited was not freed either.
    let z = Counted::apply(&x, &y);
    let w = leaf([1.0]);
    grad(&(&z * &w), (&w,)).unwrap();
    assert_eq!(calls(), [0, 0]);
    z.backward_with(array![1.0]).unwrap();
    assert_eq!((x.grad(), y.grad()), (Some(array![3.0]), Some(array![2.0])));
}

#[test]
fn nodes_can_be_run_by_hand() {
    let (x, y) = (leaf([2.0]), leaf([3.0]));
    let node = Counted::apply(&x, &y).grad_fn().unwrap();
    let seed = || Tensor::from(array![10.0]).into_dyn();
    let grads = node.apply::<f64>(&[Some(seed())]).unwrap();
    let grads: Vec<_> = grads.iter().flatten().map(Tensor::to_array).collect();
    assert_eq!(grads, [array![30.0].into_dyn(), array![20.0].into_dyn()]);
    let error = node.apply::<f64>(&[]).unwrap_err().to_string();
    let expected =
        "`Counted` has 1 output, but `apply` of its node was given 0 gradients (applied at ";
    assert!(error.starts_with(expected), "{error}");
    assert!(matches!(
        node.apply::<f64>(&[Some(Tensor::from(array![1.0, 2.0]).into_dyn())])
            .unwrap_err()
            .kind(),
        ErrorKind::SeedShape { .. }
    ));
    let single = Tensor::from(array![1.0_f32]).into_dyn();
    let error = node.apply(&[Some(single)]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ElementType { .. }));
}

/// y = x, whose gradient has length `length`.
struct Stretched;

#[custom_function]
impl Stretched {
    #[forward]
    fn forward(x: ArrayView1<f64>, length: usize) -> Array1<f64> {
        assert!(length > 0);
        x.to_owned()
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>, length: usize) -> Array1<f64> {
        Array1::from_elem(length, grad_output[0])
    }
}

#[test]
fn what_a_node_gives_is_judged_when_it_is_run_by_hand() {
    let x = leaf([2.0]);
    let of = |length: usize, grad: f64| {
        let node = Stretched::apply(&x, length).grad_fn().unwrap();
        node.apply(&[Some(Tensor::from(array![grad]).into_dyn())])
    };
    assert!(of(1, f64::NAN).is_ok());
    assert!(matches!(
        of(3, 1.0).unwrap_err().kind(),
        ErrorKind::GradientShape { .. }
    ));
    let watched = detect_anomaly(|| of(1, f64::NAN));
    assert!(matches!(
        watched.unwrap_err().kind(),
        ErrorKind::NotANumber { .. }
    ));
}

#[test]
fn nodes_tell_their_names_and_order() {
    let x = leaf([2.0]);
    let y = Square::apply(&x) * &x;
    let node = y.grad_fn().unwrap();
    assert_eq!(
        format!("{node:?} -> {:?}", node.next_functions()),
        "Mul -> [Some(Square), Some(AccumulateGrad)]"
    );
    let square = node.next_functions()[0].clone().unwrap();
    assert!(square.sequence_nr() < node.sequence_nr());
    assert!(node.applied_at().file().ends_with("grads.rs"));
}

#[test]
fn sequences_of_every_kind() {
    let inputs = vec![leaf([1.0]), leaf([2.0])];
    let loss = || (&inputs[0] * &inputs[1]).sum();
    let array = [inputs[0].clone(), inputs[1].clone()];
    for gradients in [
        grad(&loss(), &inputs).unwrap(),
        grad(&loss(), &inputs[..]).unwrap(),
        grad(&loss(), &array).unwrap(),
        grad(&loss(), &[&inputs[0], &inputs[1]]).unwrap(),
    ] {
        assert_eq!(gradients[0].to_array(), array![2.0]);
        assert_eq!(gradients[1].to_array(), array![1.0]);
    }
    let none: [&Tensor1<f64>; 0] = [];
    assert!(grad(&loss(), &none).unwrap().is_empty());
}

#[test]
fn lists_beside_tensors() {
    let x = Tensor::from(array![[3.0_f32]]).set_requires_grad(true);
    let params = [leaf([2.0]), leaf([5.0]), leaf([7.0])];
    let product = (&params[0] * &params[1]).sum();
    let square = (&x * &x).sum();
    let both = || Grad::of(&product).output(&square).retain_graph(true);
    let (dx, used, second) = both().run((&x, &params[..2], &params[1])).unwrap();
    assert_eq!(dx.to_array(), array![[6.0]]);
    let used: Vec<_> = used.iter().map(Tensor::to_array).collect();
    assert_eq!(used, [array![5.0], array![2.0]]);
    assert_eq!(second.to_array(), array![2.0]);
    // Errors count the tensors of a list one by one.
    let unused = both().run((&x, &params));
    assert_eq!(
        unused.unwrap_err().kind(),
        &ErrorKind::UnusedInput { position: 3 }
    );
    let (found, dx) = both().run_unused((&params, &x)).unwrap();
    let is_found: Vec<bool> = found.iter().map(Option::is_some).collect();
    assert_eq!((is_found, dx.is_some()), (vec![true, true, false], true));
    let dx = grad(&square, &x).unwrap();
    assert_eq!(dx.to_array(), array![[6.0]]);
}
