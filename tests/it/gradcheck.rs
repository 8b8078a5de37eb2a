//! `Gradcheck` finds wrong derivatives and names their entries.

use std::sync::atomic::{AtomicU32, Ordering};

use pullback::ndarray::{Array0, Array1, Array2, ArrayView1, ArrayView2, arr0, array};
use pullback::prelude::*;
use pullback::{Derivative, Error, ErrorKind, Mismatch};

use crate::functions::{Linear, Square, SquareOnce, leaf};

fn mismatch(result: Result<(), Error>) -> Mismatch {
    let error = result.expect_err("a wrong gradient");
    error.mismatch().expect("a mismatch").clone()
}

#[test]
fn right_gradients_pass() {
    let x = Tensor::from(array![[0.1, -0.4], [0.7, 0.2]]).set_requires_grad(true);
    let w = Tensor::from(array![[0.3, 0.5]]).set_requires_grad(true);
    let b = leaf([0.25]);
    let check = Gradcheck::new().eps(1e-6).atol(1e-4);
    check
        .run(|(x, w, b)| Linear::apply(x, w, Some(b)), (&x, &w, &b))
        .unwrap();
    check
        .run(|(x, w)| Linear::apply(x, w, None), (&x, &w))
        .unwrap();
    check
        .second_order()
        .run(|(x,)| Square::apply(x), (&x,))
        .unwrap();
    check
        .second_order()
        .run(|(x,)| (Square::apply(x), x * 2.0), (&x,))
        .unwrap();
}

/// Every number is exact in binary, so without tolerances the derivatives still agree.
#[test]
fn derivatives_may_differ_by_as_much_as_the_tolerances() {
    let exact = Gradcheck::new().eps(0.125).atol(0.0).rtol(0.0);
    exact.run(|(x,)| x * 2.0, (&leaf([0.5, -1.0]),)).unwrap();
}

#[test]
fn checking_leaves_the_inputs_alone() {
    let x = leaf([1.0, 2.0]);
    x.set_grad(array![5.0, 6.0]);
    Gradcheck::new()
        .second_order()
        .run(|(x,)| Square::apply(x), (&x,))
        .unwrap();
    assert_eq!(
        (x.to_array(), x.grad()),
        (array![1.0, 2.0], Some(array![5.0, 6.0]))
    );
}

/// x·y + y², whose gradient of `y` forgets the second term.
struct Forgetful;

#[custom_function]
impl Forgetful {
    #[forward]
    fn forward(x: ArrayView1<f64>, y: ArrayView1<f64>) -> Array1<f64> {
        &x * &y + &y * &y
    }

    #[backward(x)]
    fn grad_x(grad_output: ArrayView1<f64>, y: ArrayView1<f64>) -> Array1<f64> {
        &grad_output * &y
    }

    #[backward(y)]
    fn grad_y(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> {
        &grad_output * &x
    }
}

#[test]
fn a_wrong_gradient_is_named_with_its_entry_and_both_values() {
    let (x, y) = (leaf([1.0, 2.0]), leaf([0.0, 4.0]));
    let result = Gradcheck::new().run(|(x, y)| Forgetful::apply(x, y), (&x, &y));
    let found = mismatch(result.clone());
    assert_eq!(
        (found.function, found.derivative),
        (Some("Forgetful"), Derivative::First)
    );
    assert_eq!(
        (
            found.input,
            found.input_name.as_deref(),
            &found.input_entry[..]
        ),
        (1, Some("y"), &[1][..])
    );
    assert_eq!((found.output, &found.output_entry[..]), (0, &[1][..]));
    assert!((found.analytical - 2.0).abs() < 1e-12 && (found.numerical - 10.0).abs() < 1e-6);
    let text = result.unwrap_err().to_string();
    for part in [
        "wrong gradient of `Forgetful` with respect to `y` (input 1)",
        "entry [1] of the input, which is 4, and",
        "computes 2, central differences 10;",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

/// A transposed gradient has the right shape if the matrix is square.
struct Transposed;

#[custom_function]
impl Transposed {
    #[forward]
    fn forward(x: ArrayView2<f64>, y: ArrayView2<f64>) -> Array2<f64> {
        x.dot(&y)
    }

    #[backward]
    fn backward(
        grad_output: ArrayView2<f64>,
        x: ArrayView2<f64>,
        y: ArrayView2<f64>,
    ) -> (Array2<f64>, Array2<f64>) {
        (grad_output.dot(&y), x.t().dot(&grad_output))
    }
}

#[test]
fn a_transposed_gradient_is_found() {
    let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]).set_requires_grad(true);
    let y = Tensor::from(array![[0.5, 1.5], [-1.0, 2.0]]).set_requires_grad(true);
    let result = Gradcheck::new().run(|(x, y)| Transposed::apply(x, y), (&x, &y));
    assert_eq!(mismatch(result).input_name.as_deref(), Some("x"));
}

#[test]
fn a_lost_gradient_is_found() {
    let x = leaf([1.0]);
    let result = Gradcheck::new().run(|(x,)| x.detach() * 2.0, (&x,));
    let found = mismatch(result);
    assert_eq!((found.function, found.analytical), (None, 0.0));
}

/// x³, whose gradient has the wrong gradient: the history of `x` is cut.
struct Cut;

#[custom_function]
impl Cut {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        x.mapv(|x| x.powi(3))
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor1<f64>, x: &Tensor1<f64>) -> Tensor1<f64> {
        grad_output * x.detach() * x * 3.0
    }
}

#[test]
fn a_history_that_is_cut_is_found() {
    let x = leaf([2.0]);
    Gradcheck::new().run(|(x,)| Cut::apply(x), (&x,)).unwrap();
    let found = mismatch(
        Gradcheck::new()
            .second_order()
            .run(|(x,)| Cut::apply(x), (&x,)),
    );
    assert_eq!((found.derivative, found.input), (Derivative::Second, 0));
    assert!((found.analytical / found.numerical - 0.5).abs() < 1e-3);
}

/// x·w, whose gradient of `w` has no history of the incoming gradient.
struct CutWeight;

#[custom_function]
impl CutWeight {
    #[forward]
    fn forward(x: ArrayView1<f64>, w: ArrayView1<f64>) -> Array1<f64> {
        &x * &w
    }

    #[backward(x)]
    fn grad_x(grad_output: &Tensor1<f64>, w: &Tensor1<f64>) -> Tensor1<f64> {
        grad_output * w
    }

    #[backward(w)]
    fn grad_w(grad_output: &Tensor1<f64>, x: &Tensor1<f64>) -> Tensor1<f64> {
        grad_output.detach() * x
    }
}

/// x·w with a right gradient, and a tangent whose history is cut.
struct CutTangent;

#[custom_function]
impl CutTangent {
    #[forward]
    fn forward(x: ArrayView1<f64>, w: ArrayView1<f64>) -> Array1<f64> {
        &x * &w
    }

    #[backward]
    fn backward(
        grad_output: &Tensor1<f64>,
        x: &Tensor1<f64>,
        w: &Tensor1<f64>,
    ) -> (Tensor1<f64>, Tensor1<f64>) {
        (grad_output * w, grad_output * x)
    }

    #[jvp]
    fn jvp(
        tangent_x: &Tensor1<f64>,
        tangent_w: &Tensor1<f64>,
        x: &Tensor1<f64>,
        w: &Tensor1<f64>,
    ) -> Tensor1<f64> {
        tangent_x * w + tangent_w.detach() * x
    }
}

/// The graph of a second derivative begins with what the backward functions apply.
#[test]
fn a_wrong_second_derivative_is_that_of_the_function() {
    let (x, w) = (leaf([1.0, 2.0]), leaf([3.0, 0.5]));
    let check = Gradcheck::new().second_order();
    let cut = check.run(|(x,)| Cut::apply(x), (&x,));
    let detached = check.run(|(x, w)| CutWeight::apply(x, w), (&x, &w));
    let tangent = check
        .forward_mode()
        .run(|(x, w)| CutTangent::apply(x, w), (&x, &w));
    for (result, start) in [
        (
            cut,
            "wrong gradient of the gradient of `Cut` with respect to `x` (input 0): for entry [0] of the \
             input, which is 1, and entry [0] of the gradient of input 0 backward computes 3.96632, \
             central differences 7.932641; they",
        ),
        (
            detached,
            "wrong gradient of the gradient of `CutWeight` with respect to `grad_output` (input 2): for \
             entry [0] of the input, which is ",
        ),
        (
            tangent,
            "wrong derivative of the tangent of `CutTangent` with respect to `tangent_w` (input 3): for \
             entry [0] of the input, which is ",
        ),
    ] {
        let text = result.unwrap_err().to_string();
        assert!(text.starts_with(start), "{text}");
    }
}

#[test]
fn nobody_is_named_where_several_functions_are_checked() {
    let (x, y) = (leaf([1.0, 2.0]), leaf([0.5, 4.0]));
    let check = Gradcheck::new();
    let sum = check.run(|(x, y)| Forgetful::apply(x, y).sum(), (&x, &y));
    assert_eq!(
        sum.clone().map_err(|error| mismatch(Err(error)).function),
        Err(None)
    );
    let text = sum.unwrap_err().to_string();
    assert!(
        text.starts_with("wrong gradient with respect to input 1: "),
        "{text}"
    );
    let second = check
        .second_order()
        .run(|(x,)| Cut::apply(&(x * 2.0)), (&x,));
    let text = second.unwrap_err().to_string();
    let start = "wrong gradient of the gradient with respect to input 0: ";
    assert!(text.starts_with(start), "{text}");
    // Of two outputs, each has a function of its own.
    let both = |(x, y): (&Tensor1<f64>, &Tensor1<f64>)| (x * y, Forgetful::apply(x, y));
    let found = mismatch(check.run(both, (&x, &y)));
    assert_eq!(
        (found.function, found.input_name.as_deref(), found.output),
        (Some("Forgetful"), Some("y"), 1)
    );
}

#[test]
fn a_second_order_that_does_not_exist_is_an_error() {
    let x = leaf([2.0]);
    let error = Gradcheck::new()
        .second_order()
        .run(|(x,)| SquareOnce::apply(x), (&x,))
        .unwrap_err();
    assert!(
        (error.kind(), error.function()) == (&ErrorKind::OnceDifferentiable, Some("SquareOnce")),
        "{error}"
    );
}

/// A gradient that is not a number agrees with nothing.
#[test]
fn not_a_number_is_found() {
    let x = leaf([-1.0]);
    assert!(
        mismatch(Gradcheck::new().run(|(x,)| x.ln(), (&x,)))
            .numerical
            .is_nan()
    );
}

#[test]
fn inputs_without_grad_are_not_moved_beside_others_with_it() {
    let (x, y) = (leaf([1.0, 2.0]), Tensor::from(array![3.0, 4.0]));
    // The wrong gradient of `y` does not matter, as `y` is a constant.
    Gradcheck::new()
        .run(|(x, y)| Forgetful::apply(x, y), (&x, &y))
        .unwrap();
}

#[test]
fn single_precision_has_tolerances_of_its_own() {
    let x = Tensor::from(array![0.5_f32, 1.5]).set_requires_grad(true);
    Gradcheck::new().run(|(x,)| x.exp() * x, (&x,)).unwrap();
    let result = Gradcheck::new().run(|(x,)| x.exp() * x.detach(), (&x,));
    assert_eq!(mismatch(result).input, 0);
}

/// Σ |xᵢ₋₁ − 2xᵢ + xᵢ₊₁|, which has kinks where three neighbors lie on a line: its generated test must not meet one.
#[custom_function(
    grad(x) = {
        let sign = x.windows(3).into_iter().map(|x| (x[0] - 2.0 * x[1] + x[2]).signum());
        let mut gradient = Array1::zeros(x.len());
        for (i, sign) in sign.enumerate() {
            gradient[i] += sign;
            gradient[i + 1] -= 2.0 * sign;
            gradient[i + 2] += sign;
        }
        gradient * *grad_output.into_scalar()
    },
    gradcheck(x = [40]),
)]
fn roughness(x: ArrayView1<f64>) -> Array0<f64> {
    let bends = x
        .windows(3)
        .into_iter()
        .map(|x| (x[0] - 2.0 * x[1] + x[2]).abs());
    arr0(bends.sum())
}

/// The nearest point of the simplex, by thresholds of sums of the largest entries.
#[custom_function(
    grad(x) = {
        let mut gradient = grad_output.to_owned();
        for (mut gradient, y) in gradient.outer_iter_mut().zip(output.outer_iter()) {
            let support = y.iter().filter(|y| **y > 0.0).count();
            let chosen = gradient.iter().zip(&y).filter(|(_, y)| **y > 0.0);
            let mean = chosen.map(|(gradient, _)| gradient).sum::<f64>() / support as f64;
            gradient.zip_mut_with(&y, |gradient, y| {
                *gradient = if *y > 0.0 { *gradient - mean } else { 0.0 };
            });
        }
        gradient
    },
    gradcheck(x = [2, 4]),
)]
fn sparsemax(x: ArrayView2<f64>) -> Array2<f64> {
    let mut y = x.to_owned();
    for mut row in y.outer_iter_mut() {
        let mut sorted = row.to_vec();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let (mut sum, mut threshold) = (0.0, 0.0);
        for (i, x) in sorted.into_iter().enumerate() {
            sum += x;
            let count = (i + 1) as f64;
            if 1.0 + count * x > sum {
                threshold = (sum - 1.0) / count;
            }
        }
        row.mapv_inplace(|x| (x - threshold).max(0.0));
    }
    y
}

/// y = x², whose backward returns a little more each time.
struct Drifting;

static CALLS: AtomicU32 = AtomicU32::new(0);

#[custom_function]
impl Drifting {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        &x * &x
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor1<f64>, x: &Tensor1<f64>) -> Tensor1<f64> {
        let calls = CALLS.fetch_add(1, Ordering::Relaxed);
        grad_output * x * 2.0 + 1e-7 * f64::from(calls)
    }
}

#[test]
fn a_backward_with_state_is_no_kink() {
    let x = Tensor::from(array![1.0]).set_requires_grad(true);
    Gradcheck::new()
        .run(|(x,)| Drifting::apply(x), (&x,))
        .unwrap();
    let second = Gradcheck::new().second_order();
    let error = second.run(|(x,)| Drifting::apply(x), (&x,)).unwrap_err();
    let mismatch = error.mismatch().expect("a wrong derivative");
    assert_eq!(
        (mismatch.derivative, mismatch.sides),
        (Derivative::Second, None)
    );
}

/// Rounds; the gradient goes straight through.
#[custom_function(grad(x) = grad_output.to_owned())]
fn rounded(x: ArrayView1<f64>) -> Array1<f64> {
    x.mapv(f64::round)
}

#[test]
fn the_message_says_how_an_estimate_is_declared() {
    let error = Gradcheck::new().run(rounded, &leaf([0.7])).unwrap_err();
    let message = error.to_string();
    let hint = "if the gradient is an estimate on purpose, write `estimated(x)` in the attribute's `gradcheck(…)`";
    assert!(message.ends_with(hint), "{message}");
}

#[test]
fn a_kink_is_told_from_a_wrong_gradient() {
    let kink = Gradcheck::new()
        .run(|x| x.relu(), &leaf([-1.0, 0.0, 2.0]))
        .unwrap_err();
    let sides = kink.mismatch().and_then(|mismatch| mismatch.sides);
    assert!(sides.is_some_and(|[left, right]| left == 0.0 && (right - 1.0).abs() < 1e-6));
    assert!(kink.to_string().contains("this may be a kink"), "{kink}");
    let wrong = Gradcheck::new()
        .run(wrong_square, &leaf([1.5]))
        .unwrap_err();
    assert_eq!(wrong.mismatch().and_then(|mismatch| mismatch.sides), None);
}

#[test]
fn a_small_step_does_not_reach_a_kink_nearby() {
    let x = leaf([1e-7]);
    assert!(Gradcheck::new().run(|x| x.abs(), &x).is_err());
    assert!(Gradcheck::new().eps(1e-8).run(|x| x.abs(), &x).is_ok());
}

#[custom_function(grad(x) = &grad_output * &x)]
fn wrong_square(x: ArrayView1<f64>) -> Array1<f64> {
    &x * &x
}
