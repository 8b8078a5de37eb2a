//! Random formulas of rows, beside the same expressions on the columns as tensors.

use std::sync::Arc;

use pullback::functional::Functional;
use pullback::ndarray::{Array1, Array2, s};
use pullback::prelude::*;

use super::check::{Points, Verdict, all_agree};
use super::tensors::on_tensors;
use super::tree::Tree;

/// The trees of an element of a row each, and of a number.
pub(super) type Trees = Arc<[Tree; 3]>;

#[custom_function(elementwise, outputs(row, number))]
fn computed<T: Real>(u: [T; 2], z: T, trees: &Trees) -> ([T; 2], T) {
    let numbers = [u[0], u[1], z];
    let [a, b, c] = trees.each_ref().map(|tree| tree.on_numbers(&numbers));
    ([a, b], c)
}

/// The number of rows: more than the lanes of a register, so that there is a whole one and a rest.
const ROWS: usize = 19;

type Inputs<'a> = (&'a Tensor2<f64>, &'a Tensor1<f64>);

fn by_rows((u, z): Inputs<'_>, trees: &Trees) -> [Tensor1<f64>; 3] {
    let (row, number) = computed(u, z, trees);
    [row.slice(s![.., 0]), row.slice(s![.., 1]), number]
}

fn by_columns((u, z): Inputs<'_>, trees: &Trees) -> [Tensor1<f64>; 3] {
    let columns = [u.slice(s![.., 0]), u.slice(s![.., 1]), z.clone()];
    trees.each_ref().map(|tree| on_tensors(tree, &columns))
}

type Outputs = fn(Inputs<'_>, &Trees) -> [Tensor1<f64>; 3];

/// Returns the outputs, the gradients of a weighted sum of them, the derivatives of these along a direction, with respect
/// to the weights too, and the derivatives of the outputs along it and, again, along it.
fn derivatives(outputs: Outputs, points: &Points, trees: &Trees) -> [Vec<f64>; 4] {
    let numbers = |shift: usize, scale: f64| {
        let at = move |place: usize| points.0[(place + shift) % 10] * scale;
        let u = Array2::from_shape_fn((ROWS, 2), |(row, k)| at(7 * row + k) + 0.01 * row as f64);
        let z = Array1::from_shape_fn(ROWS, |row| at(7 * row + 2) - 0.01 * row as f64);
        (Tensor::from(u), Tensor::from(z))
    };
    let (u, z) = numbers(0, 1.0);
    let (u, z) = (u.set_requires_grad(true), z.set_requires_grad(true));
    let (along_u, along_z) = numbers(3, 0.5);
    let weights = [0.75, -1.5, 0.5].map(|weight| {
        let row = Array1::from_shape_fn(ROWS, |row| weight + 0.02 * row as f64);
        Tensor::from(row).set_requires_grad(true)
    });
    let sum = |of: &[Tensor1<f64>; 3]| {
        let products = of.iter().zip(&weights);
        let unused = (u.sum() + z.sum()) * 0.0;
        products.fold(unused, |sum, (output, weight)| {
            sum + (output * weight).sum()
        })
    };
    let values = outputs((&u, &z), trees);
    let first = Grad::of(&sum(&values))
        .create_graph(true)
        .run((&u, &z))
        .unwrap();
    let along = (&first.0 * &along_u).sum() + (&first.1 * &along_z).sum();
    let along = along
        + (u.sum()
            + z.sum()
            + weights
                .iter()
                .fold(Tensor::from(0.0), |sum, w| sum + w.sum()))
            * 0.0;
    let (second_u, second_z) = Grad::of(&along).retain_graph(true).run((&u, &z)).unwrap();
    let of_weights = grad(&along, &weights[..]).unwrap();
    let (u, z) = (u.detach(), z.detach());
    let forward = |u: &Tensor2<f64>, z: &Tensor1<f64>| {
        let function = |(u, z): Inputs<'_>| outputs((u, z), trees).to_vec();
        jvp(function, (u, z), (&along_u, &along_z)).unwrap().1
    };
    let tangents = forward(&u, &z);
    let again = Functional::new()
        .jvp(
            |(u, z): Inputs<'_>| forward(u, z),
            (&u, &z),
            (&along_u, &along_z),
        )
        .unwrap()
        .1;
    let flat = |tensors: &[Tensor1<f64>]| -> Vec<f64> {
        tensors.iter().flat_map(Tensor::to_array).collect()
    };
    let both = |u: Tensor2<f64>, z: Tensor1<f64>| -> Vec<f64> {
        u.to_array().into_iter().chain(z.to_array()).collect()
    };
    [
        [flat(&values), flat(&tangents)].concat(),
        both(first.0, first.1),
        [both(second_u, second_z), flat(&of_weights)].concat(),
        flat(&again),
    ]
}

/// Compares a formula of rows with the same on columns.
pub(super) fn agree(trees: &Trees, points: &Points) -> Result<Verdict, String> {
    let expected = derivatives(by_columns, points, trees);
    let found = derivatives(by_rows, points, trees);
    all_agree(&found, &expected, 1e-9)
}
