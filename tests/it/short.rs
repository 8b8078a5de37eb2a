//! The short form: a function, and an expression for the gradient of each of its inputs.

use std::fmt;

use pullback::ndarray::{
    Array, Array1, Array2, ArrayView, ArrayView1, ArrayView2, Axis, Dimension, Ix1, array,
};
use pullback::prelude::*;
use pullback::{ErrorKind, Order};

use crate::functions::leaf;

/// y = x Wᵀ + b
#[custom_function(
    grad(input) = grad_output.dot(&weight),
    grad(weight) = grad_output.t().dot(&input),
    grad(bias) = grad_output.sum_axis(Axis(0)),
)]
fn linear(
    input: ArrayView2<f64>,
    weight: ArrayView2<f64>,
    bias: Option<ArrayView1<f64>>,
) -> Array2<f64> {
    let output = input.dot(&weight.t());
    match bias {
        Some(bias) => output + bias,
        None => output,
    }
}

#[test]
fn a_function_and_expressions_are_a_differentiable_function() {
    let x = Tensor::from(array![[0.5, -1.0], [2.0, 0.25]]).set_requires_grad(true);
    let w = Tensor::from(array![[0.3, 0.7], [-0.2, 1.0], [0.1, 0.9]]).set_requires_grad(true);
    let b = leaf([0.1, 0.2, 0.3]);
    let check = Gradcheck::new();
    check
        .run(|(x, w, b)| linear(x, w, Some(b)), (&x, &w, &b))
        .unwrap();
    check.run(|(x, w)| linear(x, w, None), (&x, &w)).unwrap();
    // Behind it is a type like any other.
    let kernel = Linear::forward(x.view(), w.view(), None);
    assert_eq!(Linear::apply(&x, &w, None).to_array(), kernel);
    assert_eq!(linear(&x, &w, None).grad_fn().unwrap().name(), "linear");
}

#[test]
fn only_what_the_expressions_use_is_kept() {
    let saved: Vec<_> = Linear::SIGNATURE
        .saved
        .iter()
        .map(|saved| (saved.name, saved.needed_for))
        .collect();
    assert_eq!(saved, [("input", &["weight"][..]), ("weight", &["input"])]);
    assert_eq!(Linear::SIGNATURE.order, Order::Once);
}

/// xⁿ, of any rank and element type.
#[custom_function(higher_order, grad(x) = grad_output * x.powi(n - 1) * T::from_f64(f64::from(*n)))]
fn power<T: Element, D: Dimension>(x: ArrayView<T, D>, n: i32) -> Array<T, D> {
    x.mapv(|x| x.powi(n))
}

/// x·y + b, where b may be absent; its own gradient is asked for its shape.
#[custom_function(
    higher_order,
    grad(x) = grad_output * y + grad_output * bias.map_or_else(|| y * 0.0, |b| b * 0.0),
    grad(y) = grad_output * x,
    grad(bias) = grad_output + bias * 0.0,
)]
fn fused<D: Dimension>(
    x: ArrayView<f64, D>,
    y: ArrayView<f64, D>,
    bias: Option<ArrayView<f64, D>>,
) -> Array<f64, D> {
    let product = &x * &y;
    match bias {
        Some(bias) => product + bias,
        None => product,
    }
}

#[test]
fn with_higher_order_gradients_are_differentiated_again() {
    let check = Gradcheck::new().second_order();
    let x = Tensor::from(array![[0.5, 1.5], [0.75, 1.25]]).set_requires_grad(true);
    check.run(|(x,)| power(x, 3), (&x,)).unwrap();
    check
        .run(
            |(x, y, b)| fused(x, y, Some(b)),
            (&leaf([0.5, 1.0]), &leaf([2.0, 0.7]), &leaf([1.0, 0.1])),
        )
        .unwrap();
    check
        .run(|(x, y)| fused(x, y, None), (&leaf([0.5]), &leaf([2.0])))
        .unwrap();
    assert_eq!(Power::<f32, Ix1>::SIGNATURE.order, Order::Any);
    let single = Tensor::from(array![2.0_f32]).set_requires_grad(true);
    let (gradient,) = grad(&power(&single, 2).sum(), (&single,)).unwrap();
    assert_eq!(gradient.to_array(), array![4.0]);
}

#[test]
fn without_it_they_are_not() {
    let (x, w) = (Tensor::from(array![[1.0]]), Tensor::from(array![[2.0]]));
    let w = w.set_requires_grad(true);
    let y = linear(&x, &w, None) * linear(&x, &w, None);
    let (first,) = Grad::of(&y.sum()).create_graph(true).run((&w,)).unwrap();
    let error = grad(&first.sum(), (&w,)).unwrap_err();
    assert!((error.kind(), error.function()) == (&ErrorKind::OnceDifferentiable, Some("linear")));
}

#[derive(Debug, PartialEq)]
struct Unfit;

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the weights do not fit")
    }
}

/// Everything at once: several outputs, an intermediate, values, an exempt input, an error.
#[custom_function(
    name = "weighted norm",
    outputs(scaled, total, count),
    saves(factor),
    grad(x) = {
        let mut gradient = &grad_scaled * *factor * weights;
        gradient += grad_total[()];
        assert_eq!((gradient.len(), axes.len()), (*count, 2), "{label:?} {axes:?}");
        gradient
    },
)]
fn weighted<'a>(
    mut x: Array1<f64>,
    #[non_differentiable] weights: ArrayView1<f64>,
    factor_of: fn(usize) -> f64,
    &axes: &'a [usize; 2],
    label: Option<&'a str>,
) -> Result<(Array1<f64>, pullback::ndarray::Array0<f64>, usize, f64), Unfit> {
    if x.len() != weights.len() || label.is_none() {
        return Err(Unfit);
    }
    let factor = factor_of(axes[1]);
    let total = pullback::ndarray::arr0(x.sum());
    x *= &(&weights * factor);
    let count = x.len();
    Ok((x, total, count, factor))
}

#[test]
fn all_that_a_block_can_say_can_be_said() {
    let x = leaf([1.0, 2.0]);
    let weights = Tensor::from(array![3.0, 4.0]);
    let factor: fn(usize) -> f64 = |axis| axis as f64;
    let apply = |x: &Tensor1<f64>| weighted(x.clone(), &weights, factor, &[1, 2], Some("l"));
    let (scaled, total, count) = apply(&x).unwrap();
    assert_eq!((scaled.to_array(), count), (array![6.0, 16.0], 2));
    assert_eq!(scaled.grad_fn().unwrap().name(), "weighted norm");
    (scaled.sum() + total.sum() * 10.0).backward().unwrap();
    assert_eq!(x.grad().unwrap(), array![16.0, 18.0]);
    let unfit = weighted(leaf([1.0]), &weights, factor, &[0, 0], None);
    assert_eq!(unfit.unwrap_err(), Unfit);
    Gradcheck::new()
        .run(
            |(x,)| {
                let (scaled, total, _) = apply(x).unwrap();
                (scaled, total)
            },
            (&x,),
        )
        .unwrap();
}

/// Two gradients that share their work, and one that ignores the incoming gradient.
#[custom_function(
    grad(x, y) = {
        let both = &grad_output * 2.0;
        (if needs_input_grad.x { &both * &y } else { Array1::zeros(y.len()) }, both * x)
    },
    grad(z, ignores_grad) = Array1::zeros(z.len()),
)]
fn twice(x: ArrayView1<f64>, y: ArrayView1<f64>, z: ArrayView1<f64>) -> Array1<f64> {
    let _ = z;
    &x * &y * 2.0
}

#[test]
fn an_expression_can_give_several_gradients() {
    let (x, y, z) = (leaf([1.0, 2.0]), leaf([0.5, 0.25]), leaf([1.0]));
    Gradcheck::new()
        .run(|(x, y, z)| twice(x, y, z), (&x, &y, &z))
        .unwrap();
}

type Row<'a> = ArrayView1<'a, f64>;

/// An alias, and a name that Rust keeps for itself.
#[custom_function(grad(r#in) = &grad_output * &factors)]
fn r#loop(
    #[tensor] r#in: Row<'_>,
    #[tensor]
    #[non_differentiable]
    factors: Row<'_>,
) -> Array1<f64> {
    &r#in * &factors
}

#[test]
fn aliases_and_raw_identifiers_are_taken() {
    let (x, factors) = (leaf([1.0, 2.0]), Tensor::from(array![3.0, 4.0]));
    Gradcheck::new()
        .run(|(x,)| r#loop(x, &factors), (&x,))
        .unwrap();
    assert_eq!(Loop::NAME, "loop");
}

/// A node has the line that called the function, not one inside it.
#[test]
fn nodes_know_the_callers_line() {
    let x = Tensor::from(array![[1.0]]).set_requires_grad(true);
    let (y, line) = (linear(&x, &x, None), line!());
    let place = y.grad_fn().unwrap().applied_at();
    assert_eq!((place.file(), place.line()), (file!(), line));
}
