//! `vmap`, compared with a loop over the examples.

mod edges;
mod modes;
mod rule;

use pullback::functional::vmap;
use pullback::kernels::set_threads;
use pullback::ndarray::{Array, Array1, Array2, Axis, Dimension, IntoDimension, array};
use pullback::prelude::*;
use pullback::{Backward, Error};

use crate::functions::{Linear, Square};

/// Numbers without a pattern.
pub fn numbers<S: IntoDimension>(shape: S, seed: f64) -> Array<f64, S::Dim> {
    let mut state = seed;
    Array::from_shape_fn(shape.into_dimension(), |_| {
        state = (state * 37.7 + 0.123).fract();
        state * 2.0 - 1.0
    })
}

pub fn leaf<D: Dimension>(array: Array<f64, D>) -> Tensor<f64, D> {
    Tensor::from(array).set_requires_grad(true)
}

/// y = x / √(1 + (x/limit)²)
#[custom_function(elementwise, gradcheck(x = [3], limit = [3]))]
fn squash<T: Real>(x: T, limit: T) -> T {
    x / (1.0 + (x / limit).powi(2)).sqrt()
}

/// The layers of a network, which examples share.
pub struct Network {
    hidden: Tensor2<f64>,
    bias: Tensor1<f64>,
    limit: Tensor1<f64>,
    last: Tensor2<f64>,
}

impl Network {
    pub fn new() -> Self {
        Self {
            hidden: leaf(numbers((4, 3), 0.1)),
            bias: leaf(numbers(4, 0.2)),
            limit: leaf(numbers(4, 0.3) + 2.0),
            last: leaf(numbers((2, 4), 0.4)),
        }
    }

    /// With weights that are used twice, and a custom function of each kind.
    pub fn call(&self, x: &Tensor1<f64>) -> Tensor1<f64> {
        let row = x.reshape((1, 3));
        let hidden = Linear::apply(&row, &self.hidden, Some(&self.bias)).reshape(4);
        let hidden = squash(&hidden, &self.limit) * &self.bias;
        let last = (&self.last * Square::apply(&hidden)).sum_axis(Axis(1));
        last.exp() * x.slice(pullback::ndarray::s![..2])
    }

    /// Returns what `call` does, by functions that are all differentiable again.
    pub fn call_twice_differentiable(&self, x: &Tensor1<f64>) -> Tensor1<f64> {
        let hidden = (&self.hidden * x).sum_axis(Axis(1)) + &self.bias;
        let hidden = squash(&hidden, &self.limit) * &self.bias;
        let last = (&self.last * Square::apply(&hidden)).sum_axis(Axis(1));
        last.exp() * x.slice(pullback::ndarray::s![..2])
    }

    pub fn gradients(&self) -> Vec<Array1<f64>> {
        let flat = |gradient: Option<Array2<f64>>| gradient.expect("one").flatten().into_owned();
        let of = |tensor: &Tensor1<f64>| tensor.grad().expect("a gradient");
        let gradients = vec![
            flat(self.hidden.grad()),
            of(&self.bias),
            of(&self.limit),
            flat(self.last.grad()),
        ];
        for tensor in [&self.hidden, &self.last] {
            tensor.zero_grad();
        }
        for tensor in [&self.bias, &self.limit] {
            tensor.zero_grad();
        }
        gradients
    }
}

/// Values, gradients of the batch, gradients of the network.
type Found = (Array2<f64>, Array2<f64>, Vec<Array1<f64>>);

fn by_loop(network: &Network, batch: &Array2<f64>, seeds: &Array2<f64>) -> Found {
    let (mut values, mut gradients) = (Vec::new(), Vec::new());
    for (x, seed) in batch.outer_iter().zip(seeds.outer_iter()) {
        let x = leaf(x.to_owned());
        let y = network.call(&x);
        y.backward_with(seed.to_owned()).unwrap();
        values.push(y.to_array());
        gradients.push(x.grad().expect("a gradient"));
    }
    (rows(&values), rows(&gradients), network.gradients())
}

pub fn rows(rows: &[Array1<f64>]) -> Array2<f64> {
    let rows: Vec<_> = rows.iter().map(|row| row.view()).collect();
    pullback::ndarray::stack(Axis(0), &rows).unwrap()
}

#[test]
fn values_and_gradients_are_those_of_the_loop_on_any_number_of_threads() {
    let network = Network::new();
    for count in [1, 2, 5, 40] {
        let (batch, seeds) = (numbers((count, 3), 0.5), numbers((count, 2), 0.6));
        let expected = by_loop(&network, &batch, &seeds);
        for threads in [1, 2, 3] {
            set_threads(threads);
            for axis in [0, 1] {
                let turned = |array: &Array2<f64>| match axis {
                    0 => array.clone(),
                    _ => array.t().to_owned(),
                };
                let x = leaf(turned(&batch));
                let y: Tensor2<f64> = vmap(|x| network.call(x), Axis(axis), &x).unwrap();
                y.backward_with(seeds.clone()).unwrap();
                let of_batch = turned(&x.grad().expect("a gradient"));
                let found = (y.to_array(), of_batch, network.gradients());
                assert!(found == expected, "{count} examples on {threads} threads");
            }
        }
    }
}

#[test]
fn second_derivatives_are_those_of_the_loop() {
    let (batch, along) = (numbers((7, 3), 0.5), numbers((7, 3), 0.7));
    let along_bias = numbers(4, 0.8);
    let network = Network::new();
    let mut of_batch = Vec::new();
    for (x, along) in batch.outer_iter().zip(along.outer_iter()) {
        let x = leaf(x.to_owned());
        let y = network.call_twice_differentiable(&x).sum();
        let first = Grad::of(&y).create_graph(true);
        let (dx, dbias) = first.run((&x, &network.bias)).unwrap();
        let second = Backward::of(&dx).seed(along.to_owned());
        second
            .output(&dbias)
            .seed(along_bias.clone())
            .run()
            .unwrap();
        of_batch.push(x.grad().expect("a gradient"));
    }
    let expected = (rows(&of_batch), network.gradients());
    for threads in [1, 2, 3] {
        set_threads(threads);
        let x = leaf(batch.clone());
        let function = |x: &Tensor1<f64>| network.call_twice_differentiable(x).sum();
        let y: Tensor1<f64> = vmap(function, Axis(0), &x).unwrap();
        let first = Grad::of(&y).seed(Array1::ones(7)).create_graph(true);
        let (dx, dbias) = first.run((&x, &network.bias)).unwrap();
        assert_eq!(dx.grad_fn().unwrap().name(), "Vmap");
        let second = Backward::of(&dx).seed(along.clone());
        second
            .output(&dbias)
            .seed(along_bias.clone())
            .run()
            .unwrap();
        let found = (x.grad().expect("a gradient"), network.gradients());
        assert!(found == expected, "on {threads} threads");
    }
}

#[test]
fn derivatives_of_examples_are_computed_within() {
    let network = Network::new();
    let batch = numbers((6, 3), 0.5);
    let x = Tensor::from(batch.clone());
    let weights = (&network.hidden, &network.bias);
    // Gradients of the weights for each example.
    let (hidden, bias): (Tensor3<f64>, Tensor2<f64>) =
        vmap(|x| grad(&network.call(x).sum(), weights), Axis(0), &x).unwrap();
    // The Jacobian of each example, and the second derivative of each number.
    let jacobians: Tensor3<f64> = vmap(
        |x| pullback::functional::jacobian(|x| network.call(x), x),
        Axis(0),
        &x,
    )
    .unwrap();
    for (place, x) in batch.outer_iter().enumerate() {
        let x = Tensor::from(x.to_owned());
        let (of_hidden, of_bias) = grad(&network.call(&x).sum(), weights).unwrap();
        assert_eq!(
            hidden.to_array().index_axis(Axis(0), place),
            of_hidden.view()
        );
        assert_eq!(bias.to_array().index_axis(Axis(0), place), of_bias.view());
        let jacobian = pullback::functional::jacobian(|x| network.call(x), &x).unwrap();
        assert_eq!(
            jacobians.to_array().index_axis(Axis(0), place),
            jacobian.view()
        );
    }
    let x = leaf(array![0.5, 1.0, 2.0]);
    let second = |x: &Tensor0<f64>| {
        let x = x.detach().set_requires_grad(true);
        let first = Grad::of(&x.powi(4)).create_graph(true).run(&x)?;
        grad(&first, &x)
    };
    let found: Tensor1<f64> = vmap(second, Axis(0), &x).unwrap();
    assert_eq!(found.to_array(), array![3.0, 12.0, 48.0]);
}

#[test]
fn recorded_gradients_of_examples_are_differentiated_by_what_they_came_from() {
    let x = leaf(array![[1.0, 2.0], [3.0, 4.0], [0.5, -1.0]]);
    let w = leaf(array![0.5, -2.0]);
    let penalty = |x: &Tensor1<f64>, w: &Tensor1<f64>| -> Result<_, Error> {
        let y = (x * w).tanh().sum();
        let slope = Grad::of(&y).create_graph(true).run(x)?;
        Ok(Square::apply(&slope).sum())
    };
    let penalties = vmap(|x| penalty(x, &w), Axis(0), &x).unwrap();
    penalties.sum().backward().unwrap();
    let (of_x, of_w) = (x.grad().unwrap(), w.grad().unwrap());
    w.zero_grad();
    for (place, row) in x.to_array().outer_iter().enumerate() {
        let row = leaf(row.to_owned());
        penalty(&row, &w).unwrap().backward().unwrap();
        assert_eq!(row.grad().unwrap(), of_x.row(place));
    }
    assert_eq!(w.grad(), Some(of_w));
}

#[test]
fn gradcheck_agrees_to_second_order() {
    let x = leaf(numbers((3, 2), 0.5));
    let (scale, shift) = (leaf(numbers(3, 0.6)), leaf(numbers(2, 0.7)));
    let function = |(x, scale, shift): (&Tensor2<f64>, &Tensor1<f64>, &Tensor1<f64>)| {
        let computed = shift.exp();
        let (y, z): (Tensor2<f64>, Tensor1<f64>) = vmap(
            |(x, scale)| ((x * scale + shift).tanh() * &computed, (x * shift).sum()),
            Axis(0),
            (x, scale),
        )
        .unwrap();
        (y, z)
    };
    let check = Gradcheck::new().second_order().thorough();
    check.run(function, (&x, &scale, &shift)).unwrap();
}

#[test]
fn maps_nest() {
    let x = leaf(numbers((2, 3, 4), 0.5));
    let w = leaf(numbers(4, 0.6));
    let inner = |x: &Tensor1<f64>| (x * &w).tanh() * x;
    let nested: Tensor3<f64> = vmap(
        |x: &Tensor2<f64>| {
            let last = w.exp() * x.sum();
            vmap(|x| inner(x) * &last, Axis(0), x)
        },
        Axis(0),
        &x,
    )
    .unwrap();
    let check = Gradcheck::new().second_order();
    check
        .run(
            |(x, w)| {
                let outer = |x: &Tensor2<f64>| {
                    let last = w.exp() * x.sum();
                    vmap(|x| (x * w).tanh() * x * &last, Axis(0), x)
                };
                vmap(outer, Axis(1), x).unwrap()
            },
            (&x, &w),
        )
        .unwrap();
    nested.sum().backward().unwrap();
    let (of_x, of_w) = (x.grad().unwrap(), w.grad().unwrap());
    x.zero_grad();
    w.zero_grad();
    let sums = x.sum_axis(Axis(2)).sum_axis(Axis(1)).reshape((2, 1, 1));
    ((&x * &w).tanh() * &x * (w.exp() * sums))
        .sum()
        .backward()
        .unwrap();
    let close = |found: f64, expected: f64| (found - expected).abs() < 1e-12;
    assert!(
        of_x.iter()
            .zip(&x.grad().unwrap())
            .all(|(x, y)| close(*x, *y))
    );
    assert!(
        of_w.iter()
            .zip(&w.grad().unwrap())
            .all(|(x, y)| close(*x, *y))
    );
}

#[test]
fn maps_are_differentiated_as_functions_are() {
    use pullback::functional::{hessian, jacobian};
    let w = Tensor::from(array![0.5, -1.0]);
    let mapped = |x: &Tensor2<f64>| vmap(|x| (x * &w).tanh().sum(), Axis(0), x).unwrap();
    let whole = |x: &Tensor2<f64>| (x * &w).tanh().sum_axis(Axis(1));
    let x = Tensor::from(numbers((3, 2), 0.5));
    let close = |x: &f64, y: &f64| (x - y).abs() < 1e-14;
    let pairs = [
        (
            jacobian(mapped, &x).unwrap().to_array().into_dyn(),
            jacobian(whole, &x).unwrap().to_array().into_dyn(),
        ),
        (
            hessian(|x| mapped(x).sum(), &x)
                .unwrap()
                .to_array()
                .into_dyn(),
            hessian(|x| whole(x).sum(), &x)
                .unwrap()
                .to_array()
                .into_dyn(),
        ),
    ];
    for (found, expected) in pairs {
        assert!(found.iter().zip(&expected).all(|(x, y)| close(x, y)));
    }
}
