//! Rows 33 to 42: inputs that forward writes to. Memory is copied on write, so there are no versions to
//! compare: gradients are those of the values at `apply`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use pullback::ndarray::{Array1, ArrayView1, ArrayViewMut, ArrayViewMut1, Dimension, array, s};
use pullback::prelude::*;

use crate::functions::{Square, leaf};

/// x ← c·x in the first `count` places.
struct ScaleHead;

#[custom_function(gradcheck(x = [4], count = 2, c = 3.0))]
impl ScaleHead {
    #[forward]
    fn forward(mut x: ArrayViewMut1<f64>, count: usize, c: f64) {
        x.slice_mut(s![..count]).mapv_inplace(|x| x * c);
    }

    #[backward(x)]
    fn backward(mut grad_output: Array1<f64>, count: usize, c: f64) -> Array1<f64> {
        grad_output.slice_mut(s![..count]).mapv_inplace(|g| g * c);
        grad_output
    }
}

/// x ← x², of any rank, asking for the value before and for the value after.
struct Squared<D>(std::marker::PhantomData<D>);

#[custom_function]
impl<D: Dimension> Squared<D> {
    #[forward]
    fn forward(mut x: ArrayViewMut<f64, D>, token: Arc<()>) {
        assert!(Arc::strong_count(&token) > 0);
        x.mapv_inplace(|x| x * x);
    }

    #[backward(x)]
    fn backward(
        grad_output: &Tensor<f64, D>,
        x: &Tensor<f64, D>,
        output: &Tensor<f64, D>,
        token: &Arc<()>,
    ) -> Tensor<f64, D> {
        assert!(Arc::strong_count(token) > 0);
        grad_output * output / x * 2.0
    }
}

fn square<D: Dimension>(x: &mut Tensor<f64, D>) {
    Squared::apply(x, Arc::new(()));
}

#[test]
fn each_node_keeps_the_value_that_it_was_applied_to() {
    let x = leaf([2.0, 3.0, 5.0]);
    let mut y = &x * 1.0;
    let detached = y.detach();
    assert_eq!(
        detached.view().as_ptr(),
        y.view().as_ptr(),
        "shared until it is written to"
    );
    let before = Square::apply(&y);
    square(&mut y);
    let between = Square::apply(&y);
    square(&mut y);
    assert_eq!(detached.to_array(), x.to_array());
    assert_eq!(y.to_array(), array![16.0, 81.0, 625.0]);
    // x² + x⁴ + x⁴
    (before + between + &y).sum().backward().unwrap();
    let expected = x.to_array().mapv(|x| 2.0 * x + 8.0 * x * x * x);
    assert_eq!(x.grad(), Some(expected));
}

#[test]
fn a_part_that_is_written_to_has_its_own_gradient() {
    let x = leaf([1.0, 2.0, 3.0]);
    let mut y = &x * 1.0;
    ScaleHead::apply(&mut y, 2, 2.0);
    assert_eq!(y.to_array(), array![2.0, 4.0, 3.0]);
    y.sum().backward().unwrap();
    assert_eq!(x.grad(), Some(array![2.0, 2.0, 1.0]));

    let b = leaf([0.0, 1.0, 2.0, 3.0]);
    let a = &b * 1.0;
    let mut c = a.clone();
    ScaleHead::apply(&mut c, 2, 3.0);
    c.sum().backward().unwrap();
    assert_eq!(
        (a.to_array(), b.grad()),
        (b.to_array(), Some(array![3.0, 3.0, 1.0, 1.0]))
    );
}

/// The text of the panic that `run` ends with.
fn refusal(run: impl FnOnce()) -> String {
    let refused = catch_unwind(AssertUnwindSafe(run)).expect_err("it was not refused");
    *refused.downcast::<String>().unwrap()
}

/// `total` ← total + x, without a gradient of `total`.
struct Track;

#[custom_function]
impl Track {
    #[forward]
    fn forward(
        x: ArrayView1<f64>,
        #[non_differentiable] mut total: ArrayViewMut1<f64>,
    ) -> Array1<f64> {
        total += &x;
        x.to_owned()
    }

    #[backward(x)]
    fn backward(grad_output: Array1<f64>) -> Array1<f64> {
        grad_output
    }
}

#[test]
fn what_may_not_be_written_to_is_refused_in_words_of_its_own() {
    let mut x = leaf([1.0, 2.0, 3.0]);
    let text = refusal(|| ScaleHead::apply(&mut x, 1, 2.0));
    assert_eq!(
        text,
        "`ScaleHead` writes to `x`, a leaf that requires grad: apply it inside `no_grad`, or to a result of \
         the leaf"
    );
    let mut total = &x * 0.0;
    let text = refusal(|| drop(Track::apply(&x, &mut total)));
    assert_eq!(
        text,
        "`Track` writes to `total` without a gradient, but the tensor requires grad: apply it inside \
         `no_grad`, or to a detached tensor"
    );
    assert_eq!((x.to_array()[0], total.to_array()[0]), (1.0, 0.0));
    // A view of a leaf is a result, and what shows the same memory does not see the write.
    let matrix = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]).set_requires_grad(true);
    let mut view = matrix.t();
    square(&mut view);
    view.sum().backward().unwrap();
    assert_eq!(matrix.to_array(), array![[1.0, 2.0], [3.0, 4.0]]);
    assert_eq!(matrix.grad(), Some(array![[2.0, 4.0], [6.0, 8.0]]));
    // The memory stays where it is, with and without a gradient, if it has no other handle.
    for requires_grad in [false, true] {
        let constant = Tensor::from(array![1.0, 2.0, 3.0]).set_requires_grad(requires_grad);
        let mut y = &constant * 1.0;
        let address = y.view().as_ptr();
        ScaleHead::apply(&mut y, 1, 2.0);
        assert_eq!(
            (y.view().as_ptr(), y.requires_grad()),
            (address, requires_grad)
        );
    }
}

/// 4x in the first place, computed with writes to what only forward sees.
struct Inside;

#[custom_function]
impl Inside {
    #[forward]
    fn forward(x: &Tensor1<f64>, on_tensors: bool) -> Tensor1<f64> {
        let mut y = x.clone();
        if on_tensors {
            ScaleHead::apply(&mut y, 1, 4.0);
            return y;
        }
        let mut array = y.into_array();
        array.slice_mut(s![..1]).mapv_inplace(|x| x * 4.0);
        Tensor::from(array)
    }

    #[backward(x)]
    fn backward(mut grad_output: Array1<f64>) -> Array1<f64> {
        grad_output[0] *= 4.0;
        grad_output
    }
}

#[test]
fn writes_inside_of_forward_leave_the_functions_own_node() {
    for on_tensors in [false, true] {
        let x = leaf([1.0, 2.0]);
        let y = Inside::apply(&x, on_tensors);
        assert_eq!(
            (y.to_array(), x.to_array()),
            (array![4.0, 2.0], array![1.0, 2.0])
        );
        let node = y.grad_fn().unwrap();
        assert_eq!(
            format!("{node:?} {:?}", node.next_functions()),
            "Inside [Some(AccumulateGrad)]"
        );
        y.sum().backward().unwrap();
        assert_eq!(x.grad(), Some(array![4.0, 1.0]));
    }
}

#[test]
fn a_view_that_is_written_to_and_saved_is_no_cycle() {
    let token = Arc::new(());
    let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]).set_requires_grad(true);
    let base = &x * 1.0;
    for pass in [false, true] {
        let mut view = base.t();
        Squared::apply(&mut view, Arc::clone(&token));
        assert_eq!(Arc::strong_count(&token), 2);
        if pass {
            Backward::of(&view.sum()).retain_graph(true).run().unwrap();
        }
        drop(view);
        assert_eq!(
            Arc::strong_count(&token),
            1,
            "the node went with the tensor"
        );
    }
    assert_eq!(x.grad(), Some(array![[2.0, 4.0], [6.0, 8.0]]));
}

#[test]
fn what_is_detached_after_it_was_saved_stays_in_the_graph() {
    let x = leaf([2.0, 3.0]);
    let mut input = &x * 1.0;
    let mut output = input.exp();
    let loss = (&output * Square::apply(&input)).sum();
    input = input.detach();
    output = output.detach();
    assert!(!input.requires_grad() && !output.requires_grad());
    loss.backward().unwrap();
    // d(eˣ x²) = eˣ (x² + 2x)
    let expected = x.to_array().mapv(|x| x.exp() * x * x + 2.0 * x * x.exp());
    assert_eq!(x.grad(), Some(expected));
    // A leaf that becomes a constant does so for what comes after.
    let y = Square::apply(&x);
    let constant = x.clone().set_requires_grad(false);
    assert!(!Square::apply(&constant).requires_grad());
    x.zero_grad();
    y.sum().backward().unwrap();
    assert_eq!(x.grad(), Some(array![4.0, 6.0]));
}
