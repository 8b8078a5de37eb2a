//! Functions of every form with `gradcheck(…)`, which generates a test for each.

use std::fmt;
use std::marker::PhantomData;

use pullback::ndarray::{
    Array, Array0, Array1, Array2, ArrayD, ArrayView, ArrayView1, ArrayView2, ArrayViewD,
    ArrayViewMut, ArrayViewMut1, Axis, Dimension, Ix2, arr0, array,
};
use pullback::prelude::*;

use crate::functions::leaf;

const ROWS: usize = 2;

/// y = x Wᵀ + b
#[custom_function(
    gradcheck(input = [ROWS, 4], weight = [ROWS + 1, 4], bias = [ROWS + 1]),
    grad(input) = grad_output.dot(&weight),
    grad(weight) = grad_output.t().dot(&input),
    grad(bias) = grad_output.sum_axis(Axis(0)),
)]
fn linear<T: Element>(
    input: ArrayView2<T>,
    weight: ArrayView2<T>,
    bias: Option<ArrayView1<T>>,
) -> Array2<T> {
    let output = input.dot(&weight.t());
    match bias {
        Some(bias) => output + bias,
        None => output,
    }
}

/// A constant, a closure, an exempt input that is optional, an owned one, an error.
#[custom_function(
    outputs(y, count, total),
    gradcheck(x = [2, 3], weights = [2, 3], factors = &[1.5, 2.0], map = |x: f64| x + 1.0, N = 2),
    grad(x) = {
        let weights = weights.map_or_else(|| Array::ones(y.raw_dim()), |weights| weights.to_owned());
        weights * &grad_y * factors[0] * factors[1] + grad_total[()]
    },
)]
#[allow(clippy::type_complexity, reason = "a form like any other")]
fn weighted<D: Dimension, F: Fn(f64) -> f64, const N: usize>(
    x: Array<f64, D>,
    #[non_differentiable] weights: Option<ArrayView<f64, D>>,
    factors: &[f64; N],
    map: F,
) -> Result<(Array<f64, D>, usize, Array0<f64>), fmt::Error> {
    if N == 0 {
        return Err(fmt::Error);
    }
    let total = arr0(x.sum());
    let factor: f64 = factors.iter().product();
    let shift = map(0.0);
    let y = match weights {
        Some(weights) => x * weights * factor + shift,
        None => x * factor + shift,
    };
    Ok((y, N, total))
}

/// Single precision has its own tolerances; the rank is known at run time only.
#[custom_function(higher_order, gradcheck(x = [2, 1, 3]), grad(x) = grad_output * output * 2.0)]
fn exp_of_twice(x: ArrayViewD<f32>) -> ArrayD<f32> {
    x.mapv(|x| (2.0 * x).exp())
}

type Row<'a> = ArrayView1<'a, f64>;

/// A function of an alias, whose rank the macro cannot read, and of a single optional input.
pub struct Aliased<'a, D>(PhantomData<(&'a (), D)>);

#[custom_function(gradcheck(x = [3], rank = PhantomData, D = Ix2))]
#[allow(clippy::elidable_lifetime_names, reason = "a form like any other")]
impl<'a, D: Dimension + Send + Sync + 'static> Aliased<'a, D> {
    #[forward]
    fn forward(#[tensor] x: Option<Row<'_>>, rank: PhantomData<D>) -> Array1<f64> {
        assert_eq!(D::NDIM, Some(2), "{rank:?}");
        x.map_or_else(|| Array1::ones(3), |x| &x * 3.0)
    }

    #[backward(x)]
    fn backward(grad_output: Array1<f64>) -> Array1<f64> {
        grad_output * 3.0
    }
}

/// Lists, of which one is a constant, beside a plain input: Σ w·part + x.
#[custom_function(
    higher_order,
    gradcheck(parts = [[3], [3]], factors = [[3], [3]], x = [3]),
    grad(parts) = factors.iter().map(|factor| grad_output * *factor).collect(),
    grad(x) = grad_output.clone(),
)]
fn blend<T: Element>(
    parts: &[ArrayView1<T>],
    #[non_differentiable] factors: &[ArrayView1<T>],
    x: ArrayView1<T>,
) -> Array1<T> {
    let products = parts
        .iter()
        .zip(factors)
        .map(|(part, factor)| part * factor);
    products.fold(x.to_owned(), |sum, product| sum + product)
}

/// With a rule for forward mode, that is checked too.
pub struct Cube;

#[custom_function(gradcheck(x = [2, 2]))]
impl Cube {
    #[forward]
    fn forward(x: ArrayView2<f64>) -> Array2<f64> {
        x.mapv(|x| x.powi(3))
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor2<f64>, x: &Tensor2<f64>) -> Tensor2<f64> {
        grad_output * x * x * 3.0
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor2<f64>, x: &Tensor2<f64>) -> Tensor2<f64> {
        tangent_x * x * x * 3.0
    }
}

/// Once differentiable, and so in forward mode.
pub struct CubeOnce;

#[custom_function(gradcheck(x = [4]))]
impl CubeOnce {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        x.mapv(|x| x.powi(3))
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> {
        &grad_output * &x * x * 3.0
    }

    #[jvp]
    fn jvp(tangent_x: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> {
        &tangent_x * &x * x * 3.0
    }
}

/// Written in place, and nothing returned: x becomes c·x·y, and a counter is counted up.
#[custom_function(
    gradcheck(x = [3], y = [3], calls = [1], c = 2.0),
    grad(x) = &grad_output * &y * *c,
    grad(y) = &grad_output * &x * *c,
)]
fn scale_in_place(
    mut x: ArrayViewMut1<f64>,
    y: ArrayView1<f64>,
    #[non_differentiable] mut calls: ArrayViewMut1<f64>,
    c: f64,
) {
    x *= &(&y * c);
    calls += 1.0;
}

/// Something is returned too: Σx, before x becomes eˣ.
#[custom_function(
    higher_order,
    gradcheck(x = [2, 2]),
    outputs(sum, count),
    grad(x) = grad_x * output_x + grad_sum,
)]
fn exp_in_place<D: Dimension>(mut x: ArrayViewMut<f64, D>) -> (Array0<f64>, usize) {
    let sum = arr0(x.sum());
    x.mapv_inplace(f64::exp);
    (sum, x.len())
}

#[test]
fn the_short_form_writes_in_place() {
    let x = leaf([1.0, 2.0, 3.0]);
    let (mut y, mut calls) = (&x * 1.0, Tensor::from(array![0.0]));
    scale_in_place(&mut y, &x, &mut calls, 2.0);
    assert_eq!(
        (y.to_array(), calls.to_array()),
        (array![2.0, 8.0, 18.0], array![1.0])
    );
    y.sum().backward().unwrap();
    assert_eq!(x.grad().unwrap(), array![4.0, 8.0, 12.0]);
}

/// The least that √ and arccos take.
const LEAST: f64 = 0.1;

/// Inputs, a list among them, whose elements lie where the function is defined.
#[custom_function(
    higher_order,
    gradcheck(x = [3] in -0.9..0.9, roots = [[3], [3]] in LEAST..2, y = [3]),
    grad(x) = -(grad_output / (1.0 - x * x).sqrt()),
    grad(roots) = roots.iter().map(|root| grad_output * 0.5 / root.sqrt()).collect(),
    grad(y) = grad_output.clone(),
)]
fn within(x: ArrayView1<f64>, roots: &[ArrayView1<f64>], y: ArrayView1<f64>) -> Array1<f64> {
    assert!(
        roots
            .iter()
            .flatten()
            .all(|root| *root > LEAST && *root < 2.0)
    );
    roots.iter().fold(x.mapv(f64::acos) + y, |sum, root| {
        sum + root.mapv(f64::sqrt)
    })
}

/// A function with the largest number of tensors and outputs that a generated check takes.
#[custom_function(
    outputs(a, b, c, d, e, f, g, h, i, j, k, l),
    gradcheck(parts = [[2], [2], [2], [2], [2], [2], [2], [2], [2], [2], [2], [2]]),
    grad(parts) = {
        let six = [grad_a, grad_b, grad_c, grad_d, grad_e, grad_f];
        let others = [grad_g, grad_h, grad_i, grad_j, grad_k, grad_l];
        let pairs = six.into_iter().chain(others).zip(parts);
        pairs.map(|(grad, part)| &grad * part * 2.0).collect()
    },
)]
#[expect(clippy::type_complexity, reason = "as many as there may be")]
fn squares(
    parts: &[ArrayView1<f64>],
) -> (
    Array1<f64>,
    Array1<f64>,
    Array1<f64>,
    Array1<f64>,
    Array1<f64>,
    Array1<f64>,
    Array1<f64>,
    Array1<f64>,
    Array1<f64>,
    Array1<f64>,
    Array1<f64>,
    Array1<f64>,
) {
    let square = |part: usize| &parts[part] * &parts[part];
    (
        square(0),
        square(1),
        square(2),
        square(3),
        square(4),
        square(5),
        square(6),
        square(7),
        square(8),
        square(9),
        square(10),
        square(11),
    )
}

/// The variants of [`penalty`].
#[derive(Clone, Copy, Debug)]
enum Norm {
    Sum,
    Squares,
}

/// A norm of x and of what is beside it: gain and shift are there or missing together. Each check is a test, each of
/// all variants of both values.
#[custom_function(
    gradcheck(
        x = [4], gain = [4], shift = [4], mask = [4],
        norm = each [Norm::Sum, Norm::Squares], power = each [1, 2],
        together(gain, shift),
    ),
    gradcheck(x = [1], gain = [1], shift = [1], mask = [1], norm = Norm::Squares, power = 3, together(shift, gain)),
    higher_order,
    grad(x) = match (norm, gain) {
        (Norm::Sum, gain) => grad_output * slope(x, gain, mask, *power),
        (Norm::Squares, gain) => {
            let value = affine(x, gain, shift, mask, *power);
            grad_output * (value * slope(x, gain, mask, *power) * 2.0)
        }
    },
    grad(gain) = {
        let gradient = grad_output * x.powi(*power) * weights(mask, x);
        match norm {
            Norm::Sum => gradient,
            Norm::Squares => gradient * affine(x, Some(gain), shift, mask, *power) * 2.0,
        }
    },
    grad(shift) = {
        let gradient = grad_output * weights(mask, x);
        match norm {
            Norm::Sum => gradient,
            Norm::Squares => gradient * affine(x, gain, Some(shift), mask, *power) * 2.0,
        }
    },
)]
fn penalty(
    x: &Tensor1<f64>,
    gain: Option<&Tensor1<f64>>,
    shift: Option<&Tensor1<f64>>,
    #[non_differentiable] mask: Option<&Tensor1<f64>>,
    norm: Norm,
    power: i32,
) -> Tensor0<f64> {
    assert_eq!(gain.is_some(), shift.is_some(), "both or none");
    let value = affine(x, gain, shift, mask, power);
    match norm {
        Norm::Sum => value.sum(),
        Norm::Squares => (&value * &value).sum(),
    }
}

fn weights(mask: Option<&Tensor1<f64>>, x: &Tensor1<f64>) -> Tensor1<f64> {
    mask.map_or_else(|| Tensor::from(Array1::ones(x.len())), Tensor::clone)
}

fn affine(
    x: &Tensor1<f64>,
    gain: Option<&Tensor1<f64>>,
    shift: Option<&Tensor1<f64>>,
    mask: Option<&Tensor1<f64>>,
    power: i32,
) -> Tensor1<f64> {
    let scaled = gain.map_or_else(|| x.powi(power), |gain| gain * x.powi(power));
    let shifted = shift.map_or_else(|| scaled.clone(), |shift| &scaled + shift);
    shifted * weights(mask, x)
}

fn slope(
    x: &Tensor1<f64>,
    gain: Option<&Tensor1<f64>>,
    mask: Option<&Tensor1<f64>>,
    power: i32,
) -> Tensor1<f64> {
    let slope = x.powi(power - 1) * f64::from(power) * weights(mask, x);
    gain.map_or_else(|| slope.clone(), |gain| &slope * gain)
}

/// Rounds to steps; the gradient of x goes straight through, and that of the step is a derivative.
#[custom_function(elementwise, grad(x) = grad_output, gradcheck(x = [3, 2], step = [3, 1], estimated(x)))]
fn quantized<T: Real>(x: T, step: T) -> T {
    (x / step).round() * step
}

/// A straight-through estimator with a rule for forward mode, of an input that may be named like an option.
struct Sign;

#[custom_function(gradcheck(estimated = [3], together = 2.0, estimated(estimated)))]
impl Sign {
    #[forward]
    fn forward(estimated: ArrayView1<f64>, together: f64) -> Array1<f64> {
        estimated.mapv(|x| together * x.signum())
    }

    #[backward(estimated)]
    fn backward(grad_output: ArrayView1<f64>, together: f64) -> Array1<f64> {
        &grad_output * together
    }

    #[jvp]
    fn jvp(tangent_estimated: ArrayView1<f64>, together: f64) -> Array1<f64> {
        &tangent_estimated * together
    }
}

/// Generated tests lean on no names.
#[no_implicit_prelude]
mod hygiene {
    use ::pullback::custom_function;
    use ::pullback::ndarray::{Array1, ArrayView1};

    #[allow(dead_code, reason = "it is in the way")]
    struct Option;
    #[allow(dead_code, reason = "it is in the way")]
    struct Tensor;

    #[custom_function(gradcheck(input_0 = [2] in -1.0..1.0, f64 = 2.5), grad(input_0) = &grad_output * *f64)]
    #[allow(dead_code, reason = "only its test is of interest")]
    fn scale(input_0: ArrayView1<f64>, f64: ::core::primitive::f64) -> Array1<f64> {
        &input_0 * f64
    }
}
