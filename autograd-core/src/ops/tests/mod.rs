//! Every built-in function against finite differences, to second order, backward and in forward mode, over
//! one table of shapes.

/// Checks the derivatives of a function to second order, in backward and in forward mode.
macro_rules! gradchecks {
    ($function:expr, $inputs:expr $(,)?) => {
        gradchecks!($function, $inputs, "derivatives")
    };
    ($function:expr, $inputs:expr, $($what:tt)+) => {
        let check = crate::Gradcheck::new().second_order().forward_mode();
        if let Err(error) = check.run($function, $inputs) {
            panic!("{}: {error}", format_args!($($what)+));
        }
    };
}

/// Checks that a mistake panics at the line of the call.
macro_rules! panics_here {
    ($mistake:expr) => {
        let line = crate::ops::tests::panic_line(Box::new(|| drop($mistake)));
        assert_eq!(line, (file!().to_owned(), line!()));
    };
}

mod attention;
mod elementwise;
mod images;
mod linear;
mod losses;
mod norms;
mod reductions;
mod shapes;

use ndarray::{Array, Array2, ArrayD, Axis, Dimension, IxDyn, array, s};

use crate::{Gradcheck, Tensor, Tensor2, TensorD, kernels};

const SHAPES: [&[usize]; 7] = [&[], &[1], &[4], &[2, 3], &[3, 1], &[0, 2], &[2, 1, 2, 2]];

/// Numbers between a half and three halves: no function here is steep or undefined there.
fn numbers(shape: &[usize]) -> ArrayD<f64> {
    let mut position = 0.0_f64;
    Array::from_shape_simple_fn(IxDyn(shape), || {
        position += 1.0;
        0.5 + (position * 0.754_877_666_246_693).fract()
    })
}

fn matrix(rows: usize, columns: usize) -> Array2<f64> {
    numbers(&[rows, columns]).into_dimensionality().unwrap()
}

fn leaf(shape: &[usize]) -> TensorD<f64> {
    Tensor::from(numbers(shape)).set_requires_grad(true)
}

/// Checks that arrays have one shape and nearly equal elements.
#[track_caller]
fn assert_close<D: Dimension>(found: &Array<f64, D>, expected: &Array<f64, D>) {
    assert_eq!(found.shape(), expected.shape());
    let is_close = (found - expected).iter().all(|off| off.abs() < 1e-12);
    assert!(is_close, "{found} is not {expected}");
}

#[track_caller]
fn unary(function: impl Fn(&TensorD<f64>) -> TensorD<f64>) {
    for shape in SHAPES {
        gradchecks!(|(x,)| function(x), (&leaf(shape),), "shape {shape:?}");
    }
}

#[track_caller]
fn binary(function: impl Fn(&TensorD<f64>, &TensorD<f64>) -> TensorD<f64>) {
    let pairs: [(&[usize], &[usize]); 7] = [
        (&[], &[]),
        (&[3], &[3]),
        (&[2, 3], &[3]),
        (&[2], &[3, 2]),
        (&[2, 1], &[1, 3]),
        (&[], &[2, 2]),
        (&[0, 2], &[2]),
    ];
    for (left, right) in pairs {
        // The right operand is shifted, so that the two differ.
        let y = Tensor::from(numbers(right) * 0.9 + 0.1).set_requires_grad(true);
        gradchecks!(
            |(x, y)| function(x, y),
            (&leaf(left), &y),
            "shapes {left:?} and {right:?}"
        );
    }
}

#[test]
fn arithmetic_between_tensors() {
    binary(|x, y| x + y);
    binary(|x, y| x - y);
    binary(|x, y| x * y);
    binary(|x, y| x / y);
    binary(|x, y| x * y / (x + y));
}

#[test]
fn arithmetic_with_numbers() {
    unary(|x| x + 1.5);
    unary(|x| x - 1.5);
    unary(|x| x * 1.5);
    unary(|x| x / 1.5);
    unary(|x| 1.5 + x);
    unary(|x| 1.5 - x);
    unary(|x| 1.5 * x);
    unary(|x| 1.5 / x);
    unary(|x| -x);
}

#[test]
fn elementwise_functions() {
    unary(|x| x.exp());
    unary(|x| x.ln());
    unary(|x| x.tanh());
    for n in [-2, -1, 0, 1, 2, 3] {
        unary(|x| x.powi(n));
    }
}

#[test]
fn powers_of_zero_have_their_derivatives() {
    let zero = Tensor::from(array![0.0]).set_requires_grad(true);
    for (n, expected) in [(0, 0.0), (1, 1.0), (2, 0.0), (3, 0.0)] {
        let (gradient,) = crate::grad(&zero.powi(n).sum(), (&zero,)).unwrap();
        assert_eq!(gradient.to_array(), array![expected], "n = {n}");
    }
}

#[test]
fn reductions() {
    unary(|x| (x * x).sum().into_dyn());
    for shape in SHAPES.into_iter().filter(|shape| !shape.contains(&0)) {
        let x = leaf(shape);
        gradchecks!(|(x,)| (x * x).mean(), (&x,));
    }
}

#[test]
fn broadcasting_and_its_reverse() {
    let x = Tensor::from(array![[1.0], [2.0]]).set_requires_grad(true);
    gradchecks!(|(x,)| (x * x).broadcast_to::<IxDyn>(&[3, 2, 4]), (&x,));
    gradchecks!(
        |(x,)| (x * x).broadcast_to::<IxDyn>(&[2, 4]).sum_to::<IxDyn>(&[4]),
        (&x,)
    );
    gradchecks!(|(x,)| (x * x).sum_to::<IxDyn>(&[]), (&x,));
}

#[test]
fn products_of_matrices() {
    let (x, y) = (Tensor::from(matrix(2, 3)), Tensor::from(matrix(3, 4)));
    gradchecks!(|(x, y)| x.matmul(y), (&x, &y));
    gradchecks!(|(x,)| x.matmul(&x.t()), (&x,));
    let empty = Tensor::from(Array2::<f64>::zeros((0, 3)));
    gradchecks!(|(x, y)| x.matmul(y), (&empty, &y));
}

#[test]
fn views_of_every_layout_give_what_arrays_give() {
    let base = matrix(4, 6);
    let mut flipped = base.clone();
    flipped.invert_axis(Axis(1));
    let layouts = [
        base.clone().reversed_axes(),
        flipped,
        base.clone().slice_move(s![..;2, 1..4]),
        base.slice(s![.., ..;-1]).to_owned(),
    ];
    for array in layouts {
        let x: Tensor2<f64> = Tensor::from(array.clone()).set_requires_grad(true);
        assert_eq!(x.to_array(), array);
        assert_eq!(x.exp().to_array(), array.mapv(kernels::exp));
        assert_eq!((&x * 2.0 + &x).to_array(), &array * 3.0);
        assert!((x.sum().item() - array.sum()).abs() < 1e-12);
        Gradcheck::new().run(|(x,)| x * &x.exp(), (&x,)).unwrap();
        let row = Tensor::from(array.row(0).to_owned());
        assert_eq!((&x + &row).to_array(), &array + &array.row(0));
    }
}

#[test]
#[should_panic(expected = "add of shapes [2] and [3]: they do not broadcast")]
fn shapes_that_do_not_broadcast_are_named() {
    let _ = Tensor::from(array![1.0, 2.0]) + Tensor::from(array![1.0, 2.0, 3.0]);
}

#[test]
#[should_panic(
    expected = "matmul of tensors of shapes [1, 2] and [1, 2]: the inner lengths differ"
)]
fn matrices_that_do_not_fit_are_named() {
    let x = Tensor::from(array![[1.0, 2.0]]);
    let _ = x.matmul(&x);
}

#[test]
fn a_shape_mistake_is_reported_at_the_callers_line() {
    let x = Tensor::from(array![1.0, 2.0]);
    let y = Tensor::from(array![1.0, 2.0, 3.0]);
    panics_here!(&x * &y);
    panics_here!(x.clone() - y.clone());
    panics_here!(x.broadcast_to::<IxDyn>(&[3]));
    panics_here!(y.sum_to::<IxDyn>(&[2]));
}

/// Returns the file and line that a panic names.
fn panic_line(mistake: Box<dyn Fn() + '_>) -> (String, u32) {
    use std::panic;
    use std::sync::{Arc, Mutex, PoisonError};

    // The hook of one test at a time.
    static HOOK: Mutex<()> = Mutex::new(());
    let _alone = HOOK.lock().unwrap_or_else(PoisonError::into_inner);
    let found = Arc::new(Mutex::new(None));
    let (hook, thread) = (Arc::clone(&found), std::thread::current().id());
    let former = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() == thread {
            let location = info.location();
            *hook.lock().unwrap() = location.map(|at| (at.file().to_owned(), at.line()));
        }
    }));
    let result = panic::catch_unwind(panic::AssertUnwindSafe(mistake));
    panic::set_hook(former);
    assert!(result.is_err(), "a shape mistake went unnoticed");
    found
        .lock()
        .unwrap()
        .take()
        .expect("a panic with a location")
}
