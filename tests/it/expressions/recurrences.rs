//! Random recurrences, beside the same expressions on tensors in a loop over the steps.

use pullback::functional::Functional;
use pullback::ndarray::{Array1, Array2, Axis, s};
use pullback::prelude::*;

use super::check::{Points, Verdict, all_agree};
use super::rows::Trees;
use super::tensors::on_tensors;

#[custom_function(scan, outputs(last, output))]
fn recurrence<T: Real>(#[state] h: [T; 2], #[step] x: T, a: T, trees: &Trees) -> ([T; 2], T) {
    let [next, other, output] = trees.each_ref();
    let numbers = [h[0], h[1], x];
    let bounded = |number: T| number * (number.square() + 1.0).rsqrt();
    let next = [
        bounded(next.on_numbers(&numbers)),
        bounded(other.on_numbers(&numbers)),
    ];
    (next, output.on_numbers(&[next[0], a, x]))
}

/// More lanes than a register has, so that there is a whole one and a rest; more than one segment.
const LANES: usize = 17;
const STEPS: usize = 4;

type Inputs<'a> = (&'a Tensor2<f64>, &'a Tensor2<f64>, &'a Tensor1<f64>);

type Outputs = fn(Inputs<'_>, &Trees) -> [Tensor2<f64>; 2];

fn by_scan((h, x, a): Inputs<'_>, trees: &Trees) -> [Tensor2<f64>; 2] {
    let (last, output) = recurrence(h, x, a, trees);
    [last, output]
}

fn by_loop((h, x, a): Inputs<'_>, trees: &Trees) -> [Tensor2<f64>; 2] {
    let [next, other, output] = trees.each_ref();
    let bounded = |number: Tensor1<f64>| &number * (number.square() + 1.0).rsqrt();
    let mut state = [h.slice(s![.., 0]), h.slice(s![.., 1])];
    let mut outputs = Vec::new();
    for step in 0..STEPS {
        let x = x.slice(s![step, ..]);
        let numbers = [state[0].clone(), state[1].clone(), x.clone()];
        state = [next, other].map(|tree| bounded(on_tensors(tree, &numbers)));
        outputs.push(on_tensors(output, &[state[0].clone(), a.clone(), x]));
    }
    let outputs: Vec<&Tensor1<f64>> = outputs.iter().collect();
    let last = Tensor::stack(Axis(1), &[&state[0], &state[1]]);
    [last, Tensor::stack(Axis(0), &outputs)]
}

/// Returns the outputs with their derivatives along a direction, the gradients of a weighted sum of them, the derivatives
/// of these along the direction, with respect to the weights too, and the second derivatives of the outputs along it.
fn derivatives(outputs: Outputs, points: &Points, trees: &Trees) -> [Vec<f64>; 4] {
    let numbers = |shift: usize, scale: f64| {
        let at = move |place: usize| {
            points.0[(place + shift) % 10] * scale + 0.013 * (place % 23) as f64
        };
        let h = Array2::from_shape_fn((LANES, 2), |(lane, k)| at(7 * lane + k));
        let x = Array2::from_shape_fn((STEPS, LANES), |(step, lane)| at(3 * lane + step + 2));
        // No two numbers are equal: there is a kink of `max`.
        let a = Array1::from_shape_fn(LANES, |lane| at(9 * lane + 5) - 0.0071);
        let h = h.mapv(|h| h + 0.0043);
        (Tensor::from(h), Tensor::from(x), Tensor::from(a))
    };
    let (h, x, a) = numbers(0, 1.0);
    let [h, x] = [h, x].map(|leaf| leaf.set_requires_grad(true));
    let a = a.set_requires_grad(true);
    let (along_h, along_x, along_a) = numbers(3, 0.5);
    let weights = [[LANES, 2], [STEPS, LANES]].map(|shape| {
        let weight = |(i, j)| 0.75 - 0.5 * f64::from(u8::try_from((i + 2 * j) % 5).unwrap());
        Tensor::from(Array2::from_shape_fn(shape, weight)).set_requires_grad(true)
    });
    // An expression may use no input, and a derivative neither.
    let unused = || {
        let weights = weights[0].sum() + weights[1].sum();
        (h.sum() + x.sum() + a.sum() + weights) * 0.0
    };
    let values = outputs((&h, &x, &a), trees);
    let products = values.iter().zip(&weights);
    let sum = products.fold(unused(), |sum, (output, weight)| {
        sum + (output * weight).sum()
    });
    let first = Grad::of(&sum).create_graph(true).run((&h, &x, &a)).unwrap();
    let along = (&first.0 * &along_h).sum() + (&first.1 * &along_x).sum();
    let along = along + (&first.2 * &along_a).sum() + unused();
    let second = Grad::of(&along)
        .retain_graph(true)
        .run((&h, &x, &a))
        .unwrap();
    let of_weights = grad(&along, &weights[..]).unwrap();
    let point = (h.detach(), x.detach(), a.detach());
    let direction = (&along_h, &along_x, &along_a);
    let forward = |(h, x, a): Inputs<'_>| {
        let function = |inputs: Inputs<'_>| outputs(inputs, trees).to_vec();
        jvp(function, (h, x, a), direction).unwrap().1
    };
    let inputs = (&point.0, &point.1, &point.2);
    let tangents = forward(inputs);
    let again = Functional::new().jvp(forward, inputs, direction).unwrap().1;
    let flat = |tensors: &[Tensor2<f64>]| -> Vec<f64> {
        let arrays = tensors.iter().map(Tensor::to_array);
        arrays.flatten().collect()
    };
    let all = |(h, x, a): (Tensor2<f64>, Tensor2<f64>, Tensor1<f64>)| -> Vec<f64> {
        [flat(&[h, x]), a.to_array().to_vec()].concat()
    };
    [
        [flat(&values), flat(&tangents)].concat(),
        all(first),
        [all(second), flat(&of_weights)].concat(),
        flat(&again),
    ]
}

/// Compares a scan with the loop on the tape.
pub(super) fn agree(trees: &Trees, points: &Points) -> Result<Verdict, String> {
    let expected = derivatives(by_loop, points, trees);
    let found = derivatives(by_scan, points, trees);
    all_agree(&found, &expected, 1e-8)
}
