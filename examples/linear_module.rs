//! The `Linear` module of PyTorch's notes on extending `torch.nn`: parameters, an optional bias that is
//! registered as absent, and a printed form, around a custom function.
//!
//! It is trained to recover a plane from noisy points on it. Run it with
//! `cargo run --release --example linear_module`.

#![allow(
    unreachable_pub,
    missing_docs,
    missing_debug_implementations,
    reason = "a program has no public items"
)]

use std::error::Error;

use pullback::ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, Ix1, Ix2, array};
use pullback::nn::{Generator, init};
use pullback::ops::Reduction;
use pullback::optim::{Optimizer, Sgd};
use pullback::prelude::*;

/// y = x Wᵀ + b
#[custom_function(
    grad(input) = grad_output.dot(&weight),
    grad(weight) = grad_output.t().dot(&input),
    grad(bias) = grad_output.sum_axis(Axis(0)),
    gradcheck(input = [3, 4], weight = [5, 4], bias = [5]),
)]
pub fn linear_function(
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

/// A linear layer.
#[derive(Module)]
#[module(extra_repr = Linear::sizes)]
pub struct Linear {
    weight: Parameter<f64, Ix2>,
    // `None` is registered and printed as `None`.
    bias: Option<Parameter<f64, Ix1>>,
}

impl Linear {
    /// Creates a layer with weights and bias uniform between −0.1 and 0.1, as in the notes.
    pub fn new(inputs: usize, outputs: usize, bias: bool, random: &mut Generator) -> Self {
        Self {
            weight: init::uniform((outputs, inputs), -0.1, 0.1, random).into(),
            bias: bias.then(|| init::uniform(outputs, -0.1, 0.1, random).into()),
        }
    }

    fn sizes(&self) -> String {
        let [outputs, inputs] = [0, 1].map(|axis| self.weight.shape()[axis]);
        format!("input_features={inputs}, output_features={outputs}")
    }
}

impl Forward<&Tensor2<f64>> for Linear {
    type Output = Tensor2<f64>;

    fn forward(&self, input: &Tensor2<f64>) -> Tensor2<f64> {
        linear_function(input, &self.weight, self.bias.as_deref())
    }
}

const POINTS: usize = 400;
const STEPS: usize = 300;
const NOISE: f64 = 0.01;

fn main() -> Result<(), Box<dyn Error>> {
    let mut random = Generator::seed(7);
    println!(
        "{}\n{}\n",
        Linear::new(20, 30, true, &mut random),
        Linear::new(20, 30, false, &mut random)
    );

    // Points on y = A x + c, with noise.
    let slopes: Array2<f64> = array![[1.5, -2.0, 0.5], [0.0, 1.0, -1.0]];
    let offsets = array![0.3, -0.7];
    let x: Array2<f64> = init::normal((POINTS, 3), 0.0, 1.0, &mut random);
    let noise: Array2<f64> = init::normal((POINTS, 2), 0.0, NOISE, &mut random);
    let (x, y) = (
        Tensor::from(x.clone()),
        Tensor::from(x.dot(&slopes.t()) + &offsets + noise),
    );

    let mut linear = Linear::new(3, 2, true, &mut random);
    let mut optimizer = Sgd::new(0.1).momentum(0.9);
    for step in 1..=STEPS {
        linear.zero_grad();
        let loss = linear.forward(&x).mse_loss(&y, Reduction::Mean);
        loss.backward()?;
        optimizer.step(&mut linear);
        if step % 100 == 0 {
            println!("step {step}: loss {:.3e}", loss.item());
        }
    }

    println!("\n{linear}");
    for (name, parameter) in linear.named_parameters() {
        println!("  {name} of shape {:?}", parameter.shape());
    }
    let found = linear.bias.as_ref().ok_or("the layer has a bias")?;
    let error_of_slopes = largest(&(&linear.weight.view() - &slopes).flatten().to_owned());
    let error = error_of_slopes.max(largest(&(&found.view() - &offsets)));
    println!("largest error of the plane: {error:.1e}");
    // The mean of the noise over the points cannot be known.
    if error > 5.0 * NOISE / (POINTS as f64).sqrt() {
        return Err(format!("the plane was not found: {error}").into());
    }
    Ok(())
}

fn largest(differences: &Array1<f64>) -> f64 {
    differences
        .iter()
        .fold(0.0, |largest, difference| difference.abs().max(largest))
}
