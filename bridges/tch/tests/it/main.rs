//! Functions of pullback in libtorch's graph, beside the same formulas in libtorch's operations.

mod failures;
mod graph;
mod training;
mod values;

use pullback::{Tensor1, Tensor2};
use pullback_fixtures::squash;
use pullback_tch::apply;
use tch::{Kind, Tensor};

/// Numbers between -2 and 2, the same for each seed.
fn random(seed: u64, shape: &[i64], kind: Kind) -> Tensor {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let numbers = (0..shape.iter().product::<i64>()).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 51) as f64 - 2.0
    });
    let numbers: Vec<f64> = numbers.collect();
    Tensor::from_slice(&numbers).reshape(shape).to_kind(kind)
}

fn leaf(numbers: &[f64]) -> Tensor {
    Tensor::from_slice(numbers).set_requires_grad(true)
}

/// The elements in row-major order.
fn numbers(tensor: &Tensor) -> Vec<f64> {
    Vec::try_from(tensor.to_kind(Kind::Double).contiguous().view(-1)).unwrap()
}

#[track_caller]
fn assert_close(found: &Tensor, expected: &Tensor, tolerance: f64) {
    assert_eq!(
        (found.size(), found.kind()),
        (expected.size(), expected.kind())
    );
    let largest = numbers(&(found - expected).abs())
        .into_iter()
        .fold(0.0, f64::max);
    assert!(
        largest <= tolerance,
        "{found:?} and {expected:?} differ by {largest}"
    );
}

/// The gradients of a tensor's sum, with a graph of their own.
fn gradients(of: &Tensor, inputs: &[&Tensor]) -> Vec<Tensor> {
    Tensor::run_backward(&[of.sum(of.kind())], inputs, true, true)
}

/// Asserts equal values, and equal gradients of a weighted sum.
#[track_caller]
fn assert_same(found: &Tensor, expected: &Tensor, inputs: &[&Tensor], tolerance: f64) {
    assert_close(found, expected, tolerance);
    let weights = random(200, &found.size(), found.kind());
    let [found, expected] = [found, expected].map(|y| gradients(&(y * &weights), inputs));
    for (found, expected) in found.iter().zip(&expected) {
        assert_close(found, expected, tolerance);
    }
}

fn squash_of_libtorch(x: &Tensor, limit: &Tensor) -> Tensor {
    x / ((x / limit).square() + 1.0).sqrt()
}

fn squash_1(x: &Tensor, limit: &Tensor) -> Tensor {
    let squash = |(x, limit): (&Tensor1<f64>, &Tensor1<f64>)| squash(x, limit);
    apply(squash, (x, limit)).unwrap()
}

fn squash_2(x: &Tensor, limit: &Tensor) -> Tensor {
    if x.kind() == Kind::Float {
        apply(
            |(x, limit): (&Tensor2<f32>, &Tensor2<f32>)| squash(x, limit),
            (x, limit),
        )
        .unwrap()
    } else {
        apply(
            |(x, limit): (&Tensor2<f64>, &Tensor2<f64>)| squash(x, limit),
            (x, limit),
        )
        .unwrap()
    }
}
