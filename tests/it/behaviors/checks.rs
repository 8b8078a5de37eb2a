//! Rows 94 to 103: where mistakes are reported, what checks find, forward mode, modes.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

use pullback::ndarray::{Array1, ArrayView1, ArrayViewMut2, array};
use pullback::prelude::*;
use pullback::{Check, Error, Mismatch, is_grad_enabled, jvp};

use crate::functions::{Linear, leaf, panics_of};

thread_local! {
    static EXPECTED: Cell<u32> = const { Cell::new(0) };
}

/// The line of this file at which `run` panics.
fn line_of_panic(run: impl FnOnce()) -> u32 {
    // The first: that of the caller follows.
    let (file, line) = panics_of(run).1.swap_remove(0);
    assert_eq!(file, file!());
    line
}

struct Explicit;

#[custom_function]
impl Explicit {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        x.to_owned()
    }

    #[backward(x)]
    fn backward(grad_output: Array1<f64>) -> Array1<f64> {
        if grad_output.len() == 1 {
            EXPECTED.set(line!() + 1);
            panic!("in backward");
        }
        grad_output
    }
}

#[custom_function(grad(x) = {
    EXPECTED.set(line!() + 1);
    array![grad_output[0] * x.get(1).unwrap()]
})]
fn unwraps(x: ArrayView1<f64>) -> Array1<f64> {
    x.to_owned()
}

#[test]
fn a_panic_in_backward_names_the_authors_line() {
    let x = leaf([1.0]);
    let (explicit, implicit) = (Explicit::apply(&x), unwraps(&x));
    assert_eq!(
        line_of_panic(|| explicit.backward().unwrap()),
        EXPECTED.take()
    );
    assert_eq!(
        line_of_panic(|| implicit.backward().unwrap()),
        EXPECTED.take()
    );
    // A mistake in shapes names the caller's line, an error the line of `apply`.
    let (y, matrix) = (leaf([1.0, 2.0, 3.0]), Tensor::from(array![[1.0, 2.0]]));
    let line = line!() + 1;
    assert_eq!(line_of_panic(|| drop(&leaf([1.0, 2.0]) + &y)), line);
    assert_eq!(line_of_panic(|| drop(matrix.matmul(&matrix))), line + 1);
    let wrong = crate::functions::SquareOnce::apply(&x).sum();
    assert_eq!(wrong.grad_fn().unwrap().applied_at().line(), line + 2);
    assert_eq!(wrong.grad_fn().unwrap().applied_at().file(), file!());
}

fn found(result: Result<(), Error>) -> Mismatch {
    let error = result.expect_err("a wrong gradient");
    error.mismatch().expect("a mismatch").clone()
}

/// 2x, whose gradient is 3.
#[custom_function(grad(x) = &grad_output * 3.0)]
fn twice(x: ArrayView1<f64>) -> Array1<f64> {
    &x * 2.0
}

/// x², whose gradient forgets to multiply by the incoming gradient.
struct NotMultiplied;

#[custom_function]
impl NotMultiplied {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        &x * &x
    }

    #[backward(x, ignores_grad)]
    fn backward(x: ArrayView1<f64>) -> Array1<f64> {
        &x * 2.0
    }
}

/// x, whose gradient jumps by a millionth from call to call.
#[custom_function(grad(x) = {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let odd = CALLS.fetch_add(1, Ordering::Relaxed) % 2;
    &grad_output * (1.0 + 1e-6 * f64::from(odd))
})]
fn jittery(x: ArrayView1<f64>) -> Array1<f64> {
    x.to_owned()
}

#[test]
fn gradcheck_finds_what_is_wrong() {
    let (check, one) = (Gradcheck::new(), leaf([0.5]));
    for x in [leaf([1.0, -2.0]), Tensor::from(array![1.0, -2.0])] {
        // Inputs are checked all the same if none of them requires grad.
        let mismatch = found(check.run(|(x,)| twice(x), (&x,)));
        assert_eq!(
            (mismatch.analytical, mismatch.function),
            (3.0, Some("twice"))
        );
        assert!((mismatch.numerical - 2.0).abs() < 1e-6);
    }
    // Of one element the plain check cannot tell: the incoming gradient is 1.
    check.run(|(x,)| NotMultiplied::apply(x), (&one,)).unwrap();
    found(check.run(|(x,)| NotMultiplied::apply(x), (&leaf([0.5, 2.0]),)));
    let mismatch = found(
        check
            .thorough()
            .run(|(x,)| NotMultiplied::apply(x), (&one,)),
    );
    assert_eq!(mismatch.check, Check::Linearity);
    // Less than the tolerance, and yet not the same twice.
    check.run(|(x,)| jittery(x), (&one,)).unwrap();
    let mismatch = found(check.thorough().run(|(x,)| jittery(x), (&one,)));
    assert_eq!(mismatch.check, Check::Repetition);
    // An expanded input, whose strides are 0.
    let row: Tensor2<f64> = leaf([1.0, 2.0]).detach().broadcast_to(&[3, 2]);
    assert_eq!(row.view().strides(), [0, 1]);
    let weight = Tensor::from(array![[0.5, 1.5]]).set_requires_grad(true);
    let linear = |(x, w): (&Tensor2<f64>, &Tensor2<f64>)| Linear::apply(x, w, None);
    check
        .run(linear, (&row.set_requires_grad(true), &weight))
        .unwrap();
}

#[derive(Clone, Copy, Debug)]
enum Made {
    View,
    Copy,
}

fn made(x: &Tensor2<f64>, made: Made) -> Tensor2<f64> {
    match made {
        Made::View => x.clone(),
        Made::Copy => x * 1.0,
    }
}

/// x as it is, or a copy of it; its tangent likewise.
struct Same;

#[custom_function]
impl Same {
    #[forward]
    fn forward(x: &Tensor2<f64>, value: Made, tangent: Made) -> Tensor2<f64> {
        let _ = tangent;
        made(x, value)
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor2<f64>) -> Tensor2<f64> {
        grad_output.clone()
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor2<f64>, tangent: Made) -> Tensor2<f64> {
        made(tangent_x, tangent)
    }
}

/// x ← x², differentiable any number of times in either mode.
struct Squared;

#[custom_function]
impl Squared {
    #[forward]
    fn forward(mut x: ArrayViewMut2<f64>) {
        x.mapv_inplace(|x| x * x);
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor2<f64>, x: &Tensor2<f64>) -> Tensor2<f64> {
        grad_output * x * 2.0
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor2<f64>, x: &Tensor2<f64>) -> Tensor2<f64> {
        tangent_x * x * 2.0
    }
}

/// The square, in place, of the input as a function has returned it, beside that input; transposed on
/// the way if `through_view`.
fn squared(
    x: &Tensor2<f64>,
    [output, tangent]: [Made; 2],
    through_view: bool,
) -> (Tensor2<f64>, Tensor2<f64>) {
    let input = x * 3.0;
    let mut y = Same::apply(&input, output, tangent);
    if through_view {
        y = y.t();
    }
    Squared::apply(&mut y);
    (y, input)
}

#[test]
fn tangents_follow_views_and_writes() {
    let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    let direction = Tensor::from(array![[1.0, 0.0], [0.5, -1.0], [2.0, 0.0]]);
    for output in [Made::View, Made::Copy] {
        for tangent in [Made::View, Made::Copy] {
            for through_view in [false, true] {
                let which = (output, tangent, through_view);
                let run = |(x,): (&Tensor2<f64>,)| squared(x, [output, tangent], through_view);
                let (values, along) = jvp(run, (&x,), (&direction,)).unwrap();
                // The input that the output may share memory with does not see the write.
                assert_eq!(values.1.to_array(), x.to_array() * 3.0, "{which:?}");
                assert_eq!(along.1.to_array(), direction.to_array() * 3.0, "{which:?}");
                let mut expected = x.to_array() * direction.to_array() * 18.0;
                if through_view {
                    expected = expected.reversed_axes();
                }
                assert_eq!(along.0.to_array(), expected, "{which:?}");
                let check = Gradcheck::new().forward_mode().second_order();
                check.run(run, (&x,)).unwrap();
            }
        }
    }
}

#[test]
fn modes_nest_in_recursion() {
    fn nested(levels: u32, x: &Tensor1<f64>) -> u32 {
        let recorded = |expected: bool| {
            assert_eq!(is_grad_enabled(), expected);
            assert_eq!((x * 2.0).requires_grad(), expected);
        };
        if levels == 0 {
            return 0;
        }
        let enabled = levels.is_multiple_of(2);
        let inside = || {
            recorded(enabled);
            let deeper = nested(levels - 1, x);
            recorded(enabled);
            deeper + 1
        };
        if enabled {
            enable_grad(inside)
        } else {
            no_grad(inside)
        }
    }
    let x = leaf([1.0]);
    assert_eq!((nested(7, &x), nested(8, &x)), (7, 8));
    assert!(is_grad_enabled());
    // Leaves that are made inside, and functions that were made outside.
    let double = |x: &Tensor1<f64>| x * 2.0;
    no_grad(|| {
        let made = leaf([1.0]);
        assert!(made.requires_grad() && !double(&made).requires_grad());
        assert!(enable_grad(|| double(&made)).requires_grad());
    });
}
