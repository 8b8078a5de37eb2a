//! `Gradcheck::fast` has the result of the whole check, with fewer calls.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use pullback::ndarray::{Array1, Array2, ArrayView1, ArrayView2, array};
use pullback::prelude::*;
use pullback::{Derivative, ErrorKind};

use crate::functional::constant;
use crate::functions::{Square, SquareOnce};

/// A mistake in a derivative.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    Nothing,
    Factor(f64),
    OneEntry,
    Transposed,
    Reversed,
    /// Right, but for its own derivative by the input.
    ConstantInput,
    /// Right, but for its own derivative by the incoming gradient.
    ConstantGradient,
}

/// x², with a mistake in backward or in the rule.
struct Mistaken;

#[custom_function]
impl Mistaken {
    #[forward]
    fn forward(x: ArrayView2<f64>, in_backward: Mistake, in_rule: Mistake) -> Array2<f64> {
        assert!(in_backward == Mistake::Nothing || in_rule == Mistake::Nothing);
        &x * &x
    }

    #[backward(x)]
    fn backward(
        grad_output: &Tensor2<f64>,
        x: &Tensor2<f64>,
        in_backward: Mistake,
    ) -> Tensor2<f64> {
        doubled(grad_output, x, in_backward)
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor2<f64>, x: &Tensor2<f64>, in_rule: Mistake) -> Tensor2<f64> {
        doubled(tangent_x, x, in_rule)
    }
}

/// derivative · 2x, with a mistake.
fn doubled(derivative: &Tensor2<f64>, x: &Tensor2<f64>, mistake: Mistake) -> Tensor2<f64> {
    let right = derivative * x * 2.0;
    match mistake {
        Mistake::Nothing => right,
        Mistake::Factor(factor) => right * factor,
        Mistake::OneEntry => {
            let mut factors = Array2::ones((x.shape()[0], x.shape()[1]));
            factors[[0, x.shape()[1] - 1]] = 1.1;
            right * Tensor::from(factors)
        }
        // Of the same shape for square matrices, which are those of the table.
        Mistake::Transposed => right.t(),
        Mistake::Reversed => derivative * x.t() * 2.0,
        Mistake::ConstantInput => derivative * x.detach() * 2.0,
        Mistake::ConstantGradient => derivative.detach() * x * 2.0,
    }
}

#[test]
fn the_verdict_is_that_of_the_whole_check() {
    let mistakes = [
        Mistake::Nothing,
        Mistake::Factor(1.01),
        Mistake::Factor(-1.0),
        Mistake::Factor(0.0),
        Mistake::Factor(f64::NAN),
        Mistake::OneEntry,
        Mistake::Transposed,
        Mistake::Reversed,
        Mistake::ConstantInput,
        Mistake::ConstantGradient,
    ];
    let first = Gradcheck::new();
    let checks = [
        first,
        first.second_order(),
        first.forward_mode(),
        first.second_order().forward_mode(),
        first.thorough(),
    ];
    let (mut right, mut wrong) = (0, 0);
    for size in [1, 2, 4] {
        let x = Array2::from_shape_fn((size, size), |(row, column)| {
            0.5 + (row as f64) * 0.7 - (column as f64) * 0.3
        });
        let x = Tensor::from(x);
        for (mistake, in_rule) in mistakes.iter().flat_map(|of| [(*of, false), (*of, true)]) {
            for check in checks {
                let (backward, rule) = if in_rule {
                    (Mistake::Nothing, mistake)
                } else {
                    (mistake, Mistake::Nothing)
                };
                let function = |x: &Tensor2<f64>| Mistaken::apply(x, backward, rule).exp();
                let (whole, fast) = (check.run(function, &x), check.fast().run(function, &x));
                // A mistake is told in the same words; what is not a number is not equal to itself.
                assert_eq!(
                    format!("{fast:?}"),
                    format!("{whole:?}"),
                    "{mistake:?} {in_rule} {size} {check:?}"
                );
                *(if fast.is_ok() { &mut right } else { &mut wrong }) += 1;
            }
        }
    }
    assert!(right > 50 && wrong > 50, "{right} {wrong}");
}

#[test]
fn right_functions_of_every_kind_pass() {
    let check = Gradcheck::new().fast();
    let both = check.second_order().forward_mode();
    let (x, w) = (constant([0.5, 1.0, 2.0]), constant([0.3]));
    let pair = |(x, w): (&Tensor1<f64>, &Tensor1<f64>)| (x * w, (x / w).tanh(), x.sum());
    both.run(pair, (&x, &w)).unwrap();
    both.run(|x| (x.exp().ln(), x.powi(-2)), &x).unwrap();
    check.second_order().run(Square::apply, &x).unwrap();
    let none = Tensor::from(Array2::<f64>::zeros((0, 3)));
    both.run(|x| x * x, &none).unwrap();
    // Large ones, in so few calls that no entry was looked at by itself.
    let calls = Cell::new(0);
    let few = |calls: &Cell<usize>| assert_eq!(calls.take(), 6);
    let counted = || calls.set(calls.get() + 1);
    let forward = check.forward_mode();
    let long = Array1::from_iter((1..500).map(|n| 1.0 + f64::from(n) * 0.01));
    let function = |x: &Tensor1<f64>| {
        counted();
        x.ln() * x
    };
    forward.run(function, &Tensor::from(long)).unwrap();
    few(&calls);
    let single = Array1::from_iter((1_u8..100).map(|n| 0.5 + f32::from(n) * 0.01));
    let function = |x: &Tensor1<f32>| {
        counted();
        x.exp() * x
    };
    forward.run(function, &Tensor::from(single)).unwrap();
    few(&calls);
    let wide = Array2::from_shape_fn((20, 30), |(i, j)| (i as f64 - j as f64) * 0.05);
    let function = |x: &Tensor2<f64>| {
        counted();
        x.matmul(&x.t()).tanh()
    };
    // In another order of memory too.
    for x in [wide.clone(), wide.reversed_axes()] {
        forward.run(function, &Tensor::from(x)).unwrap();
        few(&calls);
    }
    // Inputs that do not require grad beside one that does are not checked.
    let leaf = x.clone().set_requires_grad(true);
    let lost = |(x, w): (&Tensor1<f64>, &Tensor1<f64>)| x * w.detach();
    check.run(lost, (&leaf, &w)).unwrap();
    let error = check.run(lost, (&x, &w)).unwrap_err();
    let found = error.mismatch().expect("a lost gradient");
    assert_eq!(
        (found.input, found.derivative, found.analytical),
        (1, Derivative::First, 0.0)
    );
    // Other errors are returned at once.
    let error = check.second_order().run(SquareOnce::apply, &x).unwrap_err();
    assert!(error.kind() == &ErrorKind::OnceDifferentiable, "{error}");
}

/// W x, whose gradient is not transposed.
#[custom_function(grad(x) = w.dot(&grad_output))]
fn product(x: ArrayView1<f64>, #[non_differentiable] w: ArrayView2<f64>) -> Array1<f64> {
    w.dot(&x)
}

/// The difference is antisymmetric: it would vanish if the weights were the direction.
#[test]
fn a_matrix_that_is_transposed_too_little_is_found() {
    let w = Tensor::from(array![[1.0, 2.0], [-0.5, 0.25]]);
    let x = constant([1.0, 3.0]);
    let result = Gradcheck::new().fast().run(|x| product(x, &w), &x);
    assert!(result.unwrap_err().mismatch().is_some());
}

static BACKWARD: AtomicUsize = AtomicUsize::new(0);
static RULE: AtomicUsize = AtomicUsize::new(0);

/// x + w, for w of one element; counts the calls of its derivatives.
struct Counted;

#[custom_function]
impl Counted {
    #[forward]
    fn forward(x: ArrayView1<f64>, w: ArrayView1<f64>) -> Array1<f64> {
        &x + &w
    }

    #[backward]
    fn backward(grad_output: &Tensor1<f64>) -> (Tensor1<f64>, Tensor1<f64>) {
        BACKWARD.fetch_add(1, Ordering::Relaxed);
        (grad_output.clone(), grad_output.sum_to(&[1]))
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor1<f64>, tangent_w: &Tensor1<f64>) -> Tensor1<f64> {
        RULE.fetch_add(1, Ordering::Relaxed);
        tangent_x + tangent_w
    }
}

/// With `inputs` and `outputs` the numbers of their entries, or of tensors if the check is fast, the function
/// is called once to be recorded and twice for each of the inputs; backward goes once for each of the
/// outputs, and the rule once for each of the inputs.
#[test]
fn how_often_a_check_calls_what_it_checks() {
    let (x, w) = (constant([1.0, 2.0, 3.0]), constant([4.0]));
    let calls = Cell::new(0);
    let function = |(x, w): (&Tensor1<f64>, &Tensor1<f64>)| {
        calls.set(calls.get() + 1);
        let sum = Counted::apply(x, w);
        (sum.sum(), sum)
    };
    let count = |check: Gradcheck| {
        calls.set(0);
        BACKWARD.store(0, Ordering::Relaxed);
        RULE.store(0, Ordering::Relaxed);
        check.run(function, (&x, &w)).unwrap();
        [
            calls.get(),
            BACKWARD.load(Ordering::Relaxed),
            RULE.load(Ordering::Relaxed),
        ]
    };
    let (whole, fast) = (Gradcheck::new(), Gradcheck::new().fast());
    for (check, inputs, outputs) in [(whole, 4, 4), (fast, 2, 2)] {
        let first = 1 + 2 * inputs;
        assert_eq!(count(check), [first, outputs, 0]);
        // Forward mode has a run of its own for each of the inputs.
        assert_eq!(
            count(check.forward_mode()),
            [first + 3 * inputs, outputs, inputs]
        );
        // Of the gradients, inputs are the function's inputs and the gradients of its outputs.
        let second = 1 + 2 * (inputs + outputs);
        assert_eq!(count(check.second_order())[0], first + second);
    }
    assert_eq!(array![count(whole)[0], count(fast)[0]], array![9, 5]);
}
