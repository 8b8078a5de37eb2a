//! Rows 20 to 30: gradients that share memory, what is saved, and derivatives of derivatives.

use std::cell::{Cell, RefCell};

use pullback::ndarray::{Array1, Array2, ArrayView1, array};
use pullback::prelude::*;
use pullback::{Error, ErrorKind};

use crate::functions::{SinhCosh, Square, leaf};

thread_local! {
    static GIVEN: Cell<usize> = const { Cell::new(0) };
    static KEPT: RefCell<Vec<Tensor1<f64>>> = const { RefCell::new(Vec::new()) };
}

/// The sum of two tensors, whose backward gives the same array for both.
struct Sum;

#[custom_function]
impl Sum {
    #[forward]
    fn forward(x: ArrayView1<f64>, y: ArrayView1<f64>) -> Array1<f64> {
        &x + &y
    }

    #[backward]
    fn backward(grad_output: &Tensor1<f64>) -> (Tensor1<f64>, Tensor1<f64>) {
        KEPT.with_borrow_mut(|kept| kept.push(grad_output.clone()));
        (grad_output.clone(), grad_output.clone())
    }
}

/// x, whose backward notes where the gradient that it returns is.
#[custom_function(grad(x) = {
    let gradient = grad_output.to_owned();
    GIVEN.set(gradient.as_ptr().addr());
    gradient
})]
fn noted(x: ArrayView1<f64>) -> Array1<f64> {
    x.to_owned()
}

#[test]
fn gradients_that_share_memory_are_accumulated_apart() {
    let (x, y) = (leaf([1.0, 2.0, 3.0]), leaf([4.0, 5.0, 6.0]));
    Sum::apply(&x, &y)
        .backward_with(array![1.0, 2.0, 3.0])
        .unwrap();
    // One more gradient for `x` alone: neither `y` nor what backward has kept sees it.
    x.sum().backward().unwrap();
    assert_eq!(x.grad(), Some(array![2.0, 3.0, 4.0]));
    assert_eq!(y.grad(), Some(array![1.0, 2.0, 3.0]));
    assert_eq!(KEPT.take()[0].to_array(), array![1.0, 2.0, 3.0]);
    // One number repeated, and a transposed gradient: accumulating writes to arrays of their own.
    let w = Tensor::from(Array2::<f64>::zeros((2, 3))).set_requires_grad(true);
    w.sum().backward().unwrap();
    w.sum().backward().unwrap();
    w.t()
        .backward_with(array![[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
        .unwrap();
    assert_eq!(w.grad(), Some(array![[2.0, 4.0, 6.0], [3.0, 5.0, 7.0]]));
    // An array that no other handle has is not copied on its way into the leaf.
    let z = leaf([1.0, 2.0, 3.0]);
    noted(&z).sum().backward().unwrap();
    let address = z.grad_tensor().unwrap().view().as_ptr().addr();
    assert_eq!(address, GIVEN.take());
}

/// sinh x, with an intermediate that its gradient needs: cosh x.
struct Sinh;

#[custom_function]
impl Sinh {
    #[forward(outputs(y), saves(cosh))]
    fn forward(x: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) {
        (x.mapv(f64::sinh), x.mapv(f64::cosh))
    }

    #[backward(x)]
    fn backward(grad_y: ArrayView1<f64>, cosh: ArrayView1<f64>) -> Array1<f64> {
        &grad_y * &cosh
    }
}

/// The second derivative at 0.5 of the square of what `sinh` computes.
fn second(sinh: impl Fn(&Tensor1<f64>) -> Tensor1<f64>) -> Result<f64, Error> {
    let x = leaf([0.5]);
    let y = Square::apply(&sinh(&x));
    let (first,) = Grad::of(&y).create_graph(true).run((&x,))?;
    assert!((first.item() - 1.0_f64.sinh()).abs() < 1e-12);
    Ok(grad(&first, (&x,))?.0.item())
}

#[test]
fn a_saved_intermediate_never_loses_a_term() {
    // d² sinh² = 2 cosh² + 2 sinh²; without the intermediate's own gradient it would be 2.5431.
    let error = second(|x| Sinh::apply(x)).unwrap_err();
    assert!((error.kind(), error.function()) == (&ErrorKind::OnceDifferentiable, Some("Sinh")));
    let right = second(|x| SinhCosh::apply(x).0).unwrap();
    assert!((right - 3.0862).abs() < 1e-4, "{right}");
    assert!((right - 2.0 * 1.0_f64.cosh()).abs() < 1e-12);
}

#[test]
fn derivatives_of_a_fifth_power() {
    let x = leaf([2.0]);
    let mut derivative = &x * Square::apply(&Square::apply(&x));
    for expected in [80.0, 160.0, 240.0, 240.0, 120.0] {
        (derivative,) = Grad::of(&derivative).create_graph(true).run((&x,)).unwrap();
        assert_eq!(derivative.to_array(), array![expected]);
    }
    // 120 is a constant: nothing leads back to `x`.
    assert_eq!(
        grad(&derivative, (&x,)).unwrap_err().kind(),
        &ErrorKind::NoGraph
    );
}

/// x · w, where w has one element; the gradient of w is summed, or not.
#[custom_function(
    grad(x) = &grad_output * &w,
    grad(w) = {
        let each = &grad_output * &x;
        if *summed { array![each.sum()] } else { each }
    },
)]
fn weighted(x: ArrayView1<f64>, w: ArrayView1<f64>, summed: bool) -> Array1<f64> {
    let _ = summed;
    &x * &w
}

#[test]
fn the_gradient_of_what_is_broadcast_is_summed_by_who_broadcasts() {
    let (x, w) = (leaf([1.0, 2.0, 3.0]), leaf([10.0]));
    let (dx, dw) = grad(&(&x * &w).sum(), (&x, &w)).unwrap();
    assert_eq!(
        (dx.to_array(), dw.to_array()),
        (array![10.0, 10.0, 10.0], array![6.0])
    );
    let (dw,) = grad(&weighted(&x, &w, true).sum(), (&w,)).unwrap();
    assert_eq!(dw.to_array(), array![6.0]);
    // A function that broadcasts answers for it: the engine sums nothing.
    let error = grad(&weighted(&x, &w, false).sum(), (&w,)).unwrap_err();
    let expected = "backward of `weighted` gave a gradient of shape [3] for `w` of shape [1]";
    assert!(error.to_string().starts_with(expected), "{error}");
}

#[test]
fn zero_sized_tensors_have_zero_sized_gradients() {
    let x = Tensor::from(Array2::<f64>::zeros((0, 3))).set_requires_grad(true);
    (&x * 2.0).sum().backward().unwrap();
    assert_eq!(x.grad().unwrap().dim(), (0, 3));
    let (dx,) = grad(&Square::apply(&x).sum(), (&x,)).unwrap();
    assert_eq!(dx.shape(), [0, 3]);
    // Broadcast to nothing, a gradient is zeros of its own length.
    let row = leaf([1.0, 2.0, 3.0]);
    let (drow,) = grad(&(&x * &row).sum(), (&row,)).unwrap();
    assert_eq!(drow.to_array(), array![0.0, 0.0, 0.0]);
}
