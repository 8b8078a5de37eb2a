//! Functions that run autograd inside: what they hold on to, and what they copy.

use pullback::ndarray::{Array0, Array1, Array2, arr0};
use pullback::prelude::*;
use pullback::{Error, memory};

use super::adjoint::Adjoint;
use super::alone;
use super::counting::{bytes, signed};
use super::reversible::Reversible;

const ROWS: usize = 2000;
const WIDTH: usize = 8;

fn weights(blocks: usize) -> Vec<Tensor2<f64>> {
    let weight = |k| {
        Array2::from_shape_fn((WIDTH, WIDTH), |(i, j)| {
            ((i * 7 + j * 3 + k) % 11) as f64 / 60.0
        })
    };
    (0..2 * blocks)
        .map(|k| Tensor::from(weight(k)).set_requires_grad(true))
        .collect()
}

fn state(scale: f64) -> Tensor2<f64> {
    Tensor::from(Array2::from_shape_fn((ROWS, WIDTH), |(i, j)| {
        scale * ((i + j) % 5) as f64
    }))
}

/// Runs the blocks, each recorded.
fn recorded(
    x1: &Tensor2<f64>,
    x2: &Tensor2<f64>,
    weights: &[Tensor2<f64>],
) -> (Tensor2<f64>, Tensor2<f64>) {
    let (mut y1, mut y2) = (x1.clone(), x2.clone());
    for pair in weights.chunks(2) {
        y1 = y1 + y2.matmul(&pair[0]).tanh();
        y2 = y2 + y1.matmul(&pair[1]).tanh();
    }
    (y1, y2)
}

#[test]
fn a_reversible_network_of_100_blocks_takes_the_memory_of_3() {
    let _alone = alone();
    let (x1, x2) = (state(0.1), state(0.2));
    let train = |weights: &[Tensor2<f64>], is_reversible: bool| {
        memory::empty_cache();
        bytes(|| {
            let (y1, y2) = if is_reversible {
                Reversible::apply(&x1, &x2, weights)
            } else {
                recorded(&x1, &x2, weights)
            };
            (y1 * y2).sum().backward().unwrap();
        })
        .1
    };
    let [long, short] = [weights(100), weights(3)];
    let (reversible, plain) = (train(&long, true), train(&short, false));
    assert!(
        reversible <= plain,
        "{reversible} bytes for 100 blocks, {plain} for 3"
    );
    // It is the same network, up to rounding that the way back adds.
    let expected: Vec<_> = short.iter().map(|w| w.grad().unwrap()).collect();
    short.iter().for_each(Tensor::zero_grad);
    train(&short, true);
    for (w, expected) in short.iter().zip(expected) {
        assert!(
            (w.grad().unwrap() - &expected)
                .iter()
                .all(|d| d.abs() < 1e-8 * ROWS as f64)
        );
    }
}

/// Σ p² of all parameters, by a pass of its own.
struct Squares;

#[custom_function]
impl Squares {
    #[forward]
    fn forward(params: &[&Tensor2<f64>]) -> Array0<f64> {
        arr0(
            params
                .iter()
                .map(|p| p.view().iter().map(|p| p * p).sum::<f64>())
                .sum(),
        )
    }

    #[backward(params, once)]
    fn backward(
        grad_output: &Tensor0<f64>,
        params: &[&Tensor2<f64>],
    ) -> Result<Vec<Tensor2<f64>>, Error> {
        let leaves: Vec<_> = params
            .iter()
            .map(|p| p.detach().set_requires_grad(true))
            .collect();
        let sum: Tensor0<f64> = enable_grad(|| leaves.iter().map(|p| (p * p).sum()).sum());
        Grad::of(&sum).seed(grad_output).run(&leaves)
    }
}

#[test]
fn a_pass_over_30_parameters_copies_none() {
    let _alone = alone();
    let of_one = 200 * 200 * size_of::<f64>();
    let parameter = || Tensor::from(Array2::from_elem((200, 200), 0.5)).set_requires_grad(true);
    let params: Vec<Tensor2<f64>> = (0..30).map(|_| parameter()).collect();
    let (_, forward, loss) = bytes(|| Squares::apply(&params));
    assert!(forward < signed(of_one / 4), "{forward} bytes");
    // The gradients, and what the products in between take.
    let (_, backward, ()) = bytes(|| loss.backward().unwrap());
    assert!(
        backward < signed(36 * of_one),
        "{backward} bytes for gradients of {}",
        30 * of_one
    );
    assert!(params.iter().all(|p| p.grad().unwrap()[[0, 0]] == 1.0));
}

#[test]
fn an_adjoint_takes_memory_that_does_not_grow_with_its_steps() {
    let _alone = alone();
    let weights: Vec<Tensor2<f64>> = weights(15);
    let z = Tensor::from(Array1::from_elem(WIDTH, 0.5)).set_requires_grad(true);
    let train = |steps| {
        memory::empty_cache();
        bytes(|| {
            Adjoint::apply(&z, &weights, 1.0, steps)
                .unwrap()
                .sum()
                .backward()
                .unwrap();
        })
        .1
    };
    train(2);
    let [few, many] = [train(2), train(200)];
    assert!(
        many < few + few / 10,
        "{many} bytes for 200 steps, {few} for 2"
    );
}
