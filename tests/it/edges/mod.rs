//! Every built-in function at the edges: axes of length 0, rank 0, views that are reversed, with gaps, transposed
//! or repeated, infinities, both zeros and NaN.
//!
//! The result is that of a plain computation on contiguous arrays, in f64 and in f32; gradients have the
//! shapes of their inputs and are those of contiguous copies. Each group of functions has a file of rows.

mod elementwise;
mod inputs;
mod linear;
mod norms;
mod reductions;
mod rows;
mod second;
mod shapes;

use std::collections::BTreeSet;
use std::path::PathBuf;

use pullback::Node;
use pullback::ndarray::{ArrayD, Zip};
use pullback::prelude::*;

use inputs::{Fill, Layout, ordinary};
use rows::Row;

use crate::sources::{files, root, text};

fn all<T: Element>() -> Vec<Row<T>> {
    let groups = [
        elementwise::rows(),
        linear::rows(),
        norms::rows(),
        reductions::rows(),
        shapes::rows(),
    ];
    groups.into_iter().flatten().collect()
}

/// Returns the result, and the gradient of each input.
fn run<T: Element>(row: &Row<T>, inputs: &[TensorD<T>]) -> (ArrayD<T>, Vec<ArrayD<T>>) {
    let leaf = |input: &TensorD<T>| input.detach().set_requires_grad(true);
    let leaves: Vec<TensorD<T>> = inputs.iter().map(leaf).collect();
    let output = (row.function)(&leaves);
    let upstream = ordinary(output.shape(), 7).mapv(T::from_f64);
    let passed = output.backward_with(upstream);
    passed.unwrap_or_else(|error| panic!("{}: {error}", row.name));
    let gradient = |leaf: &TensorD<T>| leaf.grad().expect("a gradient");
    (output.to_array(), leaves.iter().map(gradient).collect())
}

/// Returns whether the shapes are equal and the numbers are close; NaN and infinities must be equal.
fn agree<T: Element>(found: &ArrayD<T>, expected: &ArrayD<f64>, tolerance: f64) -> bool {
    let is_close = |found: f64, expected: f64| {
        let both_are_none = found.is_nan() && expected.is_nan();
        let is_near = (found - expected).abs() <= tolerance * (1.0 + expected.abs());
        both_are_none || found == expected || is_near
    };
    found.shape() == expected.shape()
        && Zip::from(found)
            .and(expected)
            .all(|found, &expected| is_close(found.as_f64(), expected))
}

fn check<T: Element>(row: &Row<T>, tolerance: f64) {
    for shapes in &row.shapes {
        let is_used = |fill: &Fill| fill.is_finite() || !row.is_of_finite;
        for (fill, first) in Fill::ALL
            .into_iter()
            .filter(is_used)
            .flat_map(Layout::starts)
        {
            let inputs: Vec<TensorD<T>> = shapes
                .iter()
                .zip(0..)
                .zip(Layout::from(first))
                .map(|((shape, seed), layout)| layout.show(&fill.array(shape, seed)))
                .collect();
            let copies: Vec<TensorD<T>> = inputs
                .iter()
                .map(|input| Tensor::from(input.view().as_standard_layout().into_owned()))
                .collect();
            let plain: Vec<ArrayD<f64>> = copies
                .iter()
                .map(|copy| copy.view().mapv(T::as_f64))
                .collect();
            let at = format!("{} of {shapes:?}, {fill:?}, {first:?} first", row.name);
            let (output, gradients) = run(row, &inputs);
            let expected = (row.plain)(&plain);
            assert!(
                agree(&output, &expected, tolerance),
                "{at}:\n{output}\nnot\n{expected}\nof\n{plain:?}"
            );
            let (_, expected) = run(row, &copies);
            for ((gradient, expected), input) in gradients.iter().zip(expected).zip(&inputs) {
                assert_eq!(gradient.shape(), input.shape(), "{at}");
                let expected = expected.mapv(T::as_f64);
                assert!(
                    agree(gradient, &expected, tolerance),
                    "{at}: the gradient is\n{gradient}\nof a copy\n{expected}\nof\n{plain:?}"
                );
            }
        }
    }
}

#[test]
fn every_function_is_right_at_the_edges_in_f64() {
    for row in all::<f64>() {
        check(&row, 1e-12);
    }
}

#[test]
fn every_function_is_right_at_the_edges_in_f32() {
    for row in all::<f32>() {
        check(&row, 1e-5);
    }
}

/// Adds the names of the nodes of a tensor's graph.
fn names(node: Option<Node>, into: &mut BTreeSet<&'static str>) {
    let mut rest: Vec<Node> = node.into_iter().collect();
    while let Some(node) = rest.pop() {
        into.insert(node.name());
        rest.extend(node.next_functions().into_iter().flatten());
    }
}

/// Returns the functions that the sources of the built-in functions define.
fn defined() -> BTreeSet<String> {
    let folders = ["basic", "ops"].map(|folder| root().join("autograd-core/src").join(folder));
    let sources = folders.iter().flat_map(|folder| files(folder, "rs"));
    let name = |line: &str| -> Option<String> {
        let (name, _) = line.strip_prefix("pub struct ")?.split_once('<')?;
        line.contains("(PhantomData<").then(|| name.to_owned())
    };
    let of_file = |file: PathBuf| text(&file).lines().filter_map(name).collect::<Vec<_>>();
    sources.flat_map(of_file).collect()
}

#[test]
fn every_function_has_a_row() {
    let mut seen = BTreeSet::new();
    for row in all::<f64>() {
        for shapes in &row.shapes {
            let leaf =
                |shape: &Vec<usize>| Tensor::from(ordinary(shape, 0)).set_requires_grad(true);
            let leaves: Vec<TensorD<f64>> = shapes.iter().map(leaf).collect();
            let output = (row.function)(&leaves);
            names(output.grad_fn(), &mut seen);
            // Some functions are there for the gradients of others.
            let upstream = ordinary(output.shape(), 7);
            let pass = Grad::of(&output).seed(upstream).create_graph(true);
            for gradient in pass.run(&leaves[..]).expect("gradients") {
                names(gradient.grad_fn(), &mut seen);
            }
        }
    }
    let mut functions = defined();
    assert!(functions.contains("Exp") && functions.contains("SumTo"));
    functions.retain(|function| !seen.contains(&function[..]));
    assert!(functions.is_empty(), "without a row: {functions:?}");
}
