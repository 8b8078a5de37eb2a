//! Second derivatives at NaN, where each is NaN, and far out, where the slopes of these functions are constant.

use pullback::ndarray::{Array1, array};
use pullback::prelude::*;

type Function<T> = (&'static str, fn(&Tensor1<T>) -> Tensor1<T>);

/// Functions that are smooth, with slopes that are constant far out.
fn bounded<T: Element>() -> Vec<Function<T>> {
    vec![
        ("atan", |x| x.atan()),
        ("tanh", |x| x.tanh()),
        ("sigmoid", |x| x.sigmoid()),
        ("softplus", |x| x.softplus()),
        ("silu", |x| x.silu()),
        ("gelu", |x| x.gelu()),
        ("gelu_tanh", |x| x.gelu_tanh()),
        ("erf", |x| x.erf()),
        ("asinh", |x| x.asinh()),
        ("normal_cdf", |x| x.normal_cdf()),
        ("normal_pdf", |x| x.normal_pdf()),
        ("elu", |x| x.elu(T::one())),
    ]
}

/// Other smooth functions.
fn others<T: Element>() -> Vec<Function<T>> {
    vec![
        ("exp", |x| x.exp()),
        ("ln", |x| x.ln()),
        ("sqrt", |x| x.sqrt()),
        ("rsqrt", |x| x.rsqrt()),
        ("recip", |x| x.recip()),
        ("sin", |x| x.sin()),
        ("cos", |x| x.cos()),
        ("tan", |x| x.tan()),
        ("asin", |x| x.asin()),
        ("acos", |x| x.acos()),
        ("acosh", |x| x.acosh()),
        ("atanh", |x| x.atanh()),
        ("cbrt", |x| x.cbrt()),
        ("sinh", |x| x.sinh()),
        ("cosh", |x| x.cosh()),
        ("exp_m1", |x| x.exp_m1()),
        ("ln_1p", |x| x.ln_1p()),
    ]
}

fn second<T: Element>(function: fn(&Tensor1<T>) -> Tensor1<T>, at: &Array1<T>) -> Array1<T> {
    let x = Tensor::from(at.clone()).set_requires_grad(true);
    let first = Grad::of(&function(&x).sum())
        .create_graph(true)
        .run(&x)
        .unwrap();
    Grad::of(&first.sum()).run(&x).unwrap().to_array()
}

fn check<T: Element>(far: T) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, function) in bounded::<T>().into_iter().chain(others()) {
        let found = second(function, &array![T::nan()])[0];
        if !found.is_nan() {
            wrong.push(format!("{name}″ of {} is {found} at NaN", T::TYPE));
        }
    }
    for (name, function) in bounded::<T>() {
        let points = array![far, -far];
        let found = second(function, &points);
        for (x, found) in points.iter().zip(&found) {
            if *found != T::zero() {
                wrong.push(format!("{name}″ of {} is {found} at {x:e}", T::TYPE));
            }
        }
    }
    wrong
}

#[test]
fn second_derivatives_at_nan_and_far_out() {
    let wrong = [
        check(3e38_f32),
        check(1e308_f64),
        check(1e30_f32),
        check(1e200_f64),
    ]
    .concat();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
