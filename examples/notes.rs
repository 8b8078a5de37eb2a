//! The three functions of PyTorch's notes on extending autograd, defined by their signatures.
//!
//! Run it with `cargo run --example notes` and read along: each part prints what it does.

#![allow(
    unreachable_pub,
    missing_docs,
    missing_debug_implementations,
    reason = "a program has no public items"
)]

use std::error::Error;
use std::marker::PhantomData;

use pullback::Order;
use pullback::ndarray::{
    Array, Array1, Array2, ArrayView, ArrayView1, ArrayView2, Axis, Dimension, array,
};
use pullback::prelude::*;

/// y = x Wᵀ + b
pub struct LinearFunction;

#[custom_function(gradcheck(input = [3, 4], weight = [5, 4], bias = [5]))]
impl LinearFunction {
    #[forward]
    pub fn forward(
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

    #[backward(input)]
    fn grad_input(grad_output: ArrayView2<f64>, weight: ArrayView2<f64>) -> Array2<f64> {
        grad_output.dot(&weight)
    }

    #[backward(weight)]
    fn grad_weight(grad_output: ArrayView2<f64>, input: ArrayView2<f64>) -> Array2<f64> {
        grad_output.t().dot(&input)
    }

    #[backward(bias)]
    fn grad_bias(grad_output: ArrayView2<f64>) -> Array1<f64> {
        grad_output.sum_axis(Axis(0))
    }
}

/// y = c·x, with a constant that is not a tensor
pub struct MulConstant;

#[custom_function(gradcheck(tensor = [2, 3], constant = 2.5))]
impl MulConstant {
    #[forward]
    pub fn forward(tensor: ArrayView2<f64>, constant: f64) -> Array2<f64> {
        &tensor * constant
    }

    #[backward(tensor)]
    fn backward(grad_output: Array2<f64>, constant: f64) -> Array2<f64> {
        grad_output * constant // owned: the gradient's buffer is reused
    }
}

/// y = eˣ, of any rank and element type, differentiable any number of times
pub struct Exp<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(i = [2, 3]))]
impl<T: Element, D: Dimension> Exp<T, D> {
    #[forward]
    pub fn forward(i: ArrayView<T, D>) -> Array<T, D> {
        i.mapv(T::exp)
    }

    #[backward(i)]
    fn backward(grad_output: &Tensor<T, D>, output: &Tensor<T, D>) -> Tensor<T, D> {
        grad_output * output
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    linear()?;
    graph();
    mul_constant()?;
    exp()?;
    checks()?;
    mistakes()
}

fn title(text: &str) {
    println!("\n{text}\n{}", "-".repeat(text.chars().count()));
}

fn linear() -> Result<(), Box<dyn Error>> {
    title("LinearFunction: y = x Wᵀ + b");
    let x = Tensor::from(array![[1.0, 2.0]]);
    let w = Tensor::from(array![[3.0, 4.0], [5.0, 6.0]]).set_requires_grad(true);
    let b = Tensor::from(array![0.5, 0.25]).set_requires_grad(true);

    // `apply` is an ordinary function: it can be given a shorter name.
    let linear = LinearFunction::apply;
    let y = linear(&x, &w, Some(&b));
    println!("x = {}, W = {}, b = {}", flat(&x), flat(&w), flat(&b));
    println!("y = {}", flat(&y));

    y.sum().backward()?;
    println!(
        "after `y.sum().backward()`: dW = {}, db = {}",
        show(&w),
        show(&b)
    );
    println!(
        "x is a constant: dx = {:?}, and `weight` was not saved for it",
        x.grad()
    );

    w.zero_grad();
    let y = linear(&x, &w, None);
    y.sum().backward()?;
    println!("without a bias: y = {}, dW = {}", flat(&y), show(&w));

    // The macro reads this from the signatures:
    println!("what is saved, and for which gradient:");
    for saved in LinearFunction::SIGNATURE.saved {
        println!("  `{}` for {}", saved.name, saved.needed_for.join(", "));
    }
    Ok(())
}

/// Writes an array on one line.
fn flat(array: &impl std::fmt::Display) -> String {
    array.to_string().replace(",\n ", ", ")
}

/// Writes the accumulated gradient on one line.
fn show<D: Dimension>(leaf: &Tensor<f64, D>) -> String {
    leaf.grad()
        .map_or_else(|| "none".to_owned(), |grad| flat(&grad))
}

fn graph() {
    title("The chain of grad_fn");
    let x = Tensor::from(array![[1.0, 2.0]]).set_requires_grad(true);
    let w = Tensor::from(array![[3.0, 4.0], [5.0, 6.0]]).set_requires_grad(true);
    let loss = (LinearFunction::apply(&x, &w, None) * 2.0).sum();
    let mut node = loss.grad_fn();
    while let Some(current) = node {
        let next = current.next_functions();
        let line = current.applied_at().line();
        println!(
            "{current:?} (line {line}, number {}) -> {next:?}",
            current.sequence_nr()
        );
        node = next.into_iter().flatten().next();
    }
}

fn mul_constant() -> Result<(), Box<dyn Error>> {
    title("MulConstant: y = c·x, where c is not a tensor");
    let t = Tensor::from(array![[1.0, -2.0]]).set_requires_grad(true);
    let y = MulConstant::apply(&t, 2.5);
    y.backward_with(array![[1.0, 10.0]])?;
    println!(
        "y = {y}; with an incoming gradient of [[1, 10]], dt = {}",
        t.grad().unwrap_or_default()
    );

    // Its backward is written on arrays: asking for a second derivative is an error, not a zero.
    let loss = (&t * MulConstant::apply(&t, 2.5)).sum();
    let (first,) = Grad::of(&loss).create_graph(true).run((&t,))?;
    if let Err(error) = grad(&first.sum(), (&t,)) {
        println!("second derivative: {error}");
    }
    Ok(())
}

fn exp() -> Result<(), Box<dyn Error>> {
    title("Exp: differentiable any number of times");
    assert_eq!(
        Exp::<f64, pullback::ndarray::Ix1>::SIGNATURE.order,
        Order::Any
    );
    let x = Tensor::from(array![0.0, 1.0]).set_requires_grad(true);
    let mut derivative = Exp::apply(&(&x * 2.0));
    println!("e^(2x) at {x}: {derivative}");
    for order in ["first", "second", "third"] {
        (derivative,) = Grad::of(&derivative.sum()).create_graph(true).run((&x,))?;
        println!("{order} derivative: {derivative}");
    }
    let expected = x.view().mapv(|x: f64| 8.0 * (2.0 * x).exp());
    assert!(
        (derivative.to_array() - expected)
            .iter()
            .all(|error| error.abs() < 1e-12)
    );
    Ok(())
}

fn checks() -> Result<(), Box<dyn Error>> {
    title("Gradcheck: central differences against backward");
    let input = wave(20, 20).set_requires_grad(true);
    let weight = wave(30, 20).set_requires_grad(true);
    let check = Gradcheck::new().eps(1e-6).atol(1e-4);
    check.run(
        |(x, w)| LinearFunction::apply(x, w, None),
        (&input, &weight),
    )?;
    println!("linear, (20, 20) x (30, 20), eps 1e-6, atol 1e-4: passed");
    let bias = Tensor::from(wave(1, 30).to_array().row(0).to_owned()).set_requires_grad(true);
    check.run(
        |(x, w, b)| LinearFunction::apply(x, w, Some(b)),
        (&input, &weight, &bias),
    )?;
    println!("the same with a bias: passed");
    check.run(|(t,)| MulConstant::apply(t, 2.5), (&wave(3, 4),))?;
    println!("MulConstant: passed");
    check
        .second_order()
        .run(|(t,)| Exp::apply(t), (&wave(3, 4),))?;
    println!("Exp, to second order: passed");
    Ok(())
}

/// Returns numbers between -1 and 1 without a pattern that a wrong gradient could share.
fn wave(rows: usize, columns: usize) -> Tensor2<f64> {
    let mut angle = 0.0_f64;
    Tensor::from(Array2::from_shape_simple_fn((rows, columns), || {
        angle += 1.0;
        (angle * angle).sin()
    }))
}

/// A function whose gradient is wrong in a way that a compiler cannot find.
struct Halved;

#[custom_function]
impl Halved {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        &x * &x
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> {
        &grad_output * &x
    }
}

fn mistakes() -> Result<(), Box<dyn Error>> {
    title("What a wrong gradient looks like");
    let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    match Gradcheck::new().run(|(x,)| Halved::apply(x), (&x,)) {
        Err(error) => println!("{error}"),
        Ok(()) => return Err("a wrong gradient went unnoticed".into()),
    }
    println!(
        "\nMistakes in names, arity, ranks and types do not get this far: they do not compile."
    );
    Ok(())
}
