//! Rows: a function, its plain computation and the shapes of its inputs.

use pullback::ndarray::{Array, ArrayD, Axis, Dimension, IxDyn, Zip};
use pullback::prelude::*;

const SHAPES: [&[usize]; 8] = [
    &[],
    &[1],
    &[0],
    &[5],
    &[2, 3],
    &[0, 3],
    &[3, 0, 2],
    &[2, 1, 3],
];

/// Some that broadcast.
const PAIRS: [[&[usize]; 2]; 6] = [
    [&[], &[]],
    [&[5], &[5]],
    [&[2, 3], &[2, 3]],
    [&[2, 1, 3], &[4, 1]],
    [&[0, 3], &[3]],
    [&[3, 0], &[]],
];

/// A function of its inputs.
type Function<T> = Box<dyn Fn(&[TensorD<T>]) -> TensorD<T>>;

/// The plain computation of a function on contiguous arrays.
type Plain = Box<dyn Fn(&[ArrayD<f64>]) -> ArrayD<f64>>;

/// A function and its expected results.
pub struct Row<T> {
    pub name: String,
    /// The shapes of the inputs, for each run.
    pub shapes: Vec<Vec<Vec<usize>>>,
    pub function: Function<T>,
    pub plain: Plain,
    /// Whether it is run on finite numbers only.
    pub is_of_finite: bool,
}

impl<T> Row<T> {
    /// Restricts a function to finite numbers, if the result on others depends on how it is computed.
    pub fn of_finite(mut self) -> Self {
        self.is_of_finite = true;
        self
    }
}

pub fn row<T>(
    name: impl Into<String>,
    shapes: &[&[&[usize]]],
    function: impl Fn(&[TensorD<T>]) -> TensorD<T> + 'static,
    plain: impl Fn(&[ArrayD<f64>]) -> ArrayD<f64> + 'static,
) -> Row<T> {
    let owned = |shapes: &&[&[usize]]| shapes.iter().map(|shape| shape.to_vec()).collect();
    Row {
        name: name.into(),
        shapes: shapes.iter().map(owned).collect(),
        function: Box::new(function),
        plain: Box::new(plain),
        is_of_finite: false,
    }
}

/// Returns a row for a function of one tensor of any shape.
pub fn whole<T: Element>(
    name: &str,
    function: impl Fn(&TensorD<T>) -> TensorD<T> + 'static,
    plain: impl Fn(&ArrayD<f64>) -> ArrayD<f64> + 'static,
) -> Row<T> {
    let shapes = SHAPES.map(|shape| [shape]);
    let shapes: Vec<&[&[usize]]> = shapes.iter().map(|shape| &shape[..]).collect();
    row(
        name,
        &shapes,
        move |x| function(&x[0]),
        move |x| plain(&x[0]),
    )
}

/// Returns a row for a function of each element.
pub fn unary<T: Element>(
    name: &str,
    function: impl Fn(&TensorD<T>) -> TensorD<T> + 'static,
    plain: impl Fn(f64) -> f64 + 'static,
) -> Row<T> {
    whole(name, function, move |x| x.mapv(&plain))
}

/// Returns a row for a function of the elements of two tensors that broadcast.
pub fn binary<T: Element>(
    name: &str,
    function: impl Fn(&TensorD<T>, &TensorD<T>) -> TensorD<T> + 'static,
    plain: impl Fn(f64, f64) -> f64 + 'static,
) -> Row<T> {
    let shapes: Vec<&[&[usize]]> = PAIRS.iter().map(|pair| &pair[..]).collect();
    let plain = move |x: &[ArrayD<f64>]| {
        // Addition broadcasts: this is for the shape.
        let zeros = &x[0] * 0.0 + &x[1] * 0.0;
        let repeated = |x: &ArrayD<f64>| x.broadcast(zeros.raw_dim()).expect("fits").to_owned();
        Zip::from(&repeated(&x[0]))
            .and(&repeated(&x[1]))
            .map_collect(|&x, &y| plain(x, y))
    };
    row(name, &shapes, move |x| function(&x[0], &x[1]), plain)
}

/// Returns a row for each axis, of a function that makes a lane of a lane.
pub fn lanes<T: Element>(
    name: &str,
    function: impl Fn(&TensorD<T>, Axis) -> TensorD<T> + Clone + 'static,
    plain: impl Fn(&[f64]) -> Vec<f64> + Clone + 'static,
) -> Vec<Row<T>> {
    each_axis(name, function, move |x, axis| along(x, axis, &plain))
}

/// Returns a row for each axis, of a function that makes a number of a lane.
pub fn folds<T: Element>(
    name: &str,
    function: impl Fn(&TensorD<T>, Axis) -> TensorD<T> + Clone + 'static,
    plain: impl Fn(&[f64]) -> f64 + Clone + 'static,
) -> Vec<Row<T>> {
    each_axis(name, function, move |x, axis| {
        along(x, axis, &|lane: &[f64]| vec![plain(lane)]).index_axis_move(axis, 0)
    })
}

fn each_axis<T: Element>(
    name: &str,
    function: impl Fn(&TensorD<T>, Axis) -> TensorD<T> + Clone + 'static,
    plain: impl Fn(&ArrayD<f64>, Axis) -> ArrayD<f64> + Clone + 'static,
) -> Vec<Row<T>> {
    let rows = (0..3).map(|axis| {
        let shapes = SHAPES.iter().filter(|shape| shape.len() > axis);
        let shapes: Vec<[&[usize]; 1]> = shapes.map(|shape| [*shape]).collect();
        let shapes: Vec<&[&[usize]]> = shapes.iter().map(|shape| &shape[..]).collect();
        let (function, plain) = (function.clone(), plain.clone());
        row(
            format!("{name} along axis {axis}"),
            &shapes,
            move |x| function(&x[0], Axis(axis)),
            move |x| plain(&x[0], Axis(axis)),
        )
    });
    rows.collect()
}

/// Returns the array of `plain` of each lane of `x`.
pub fn along(x: &ArrayD<f64>, axis: Axis, plain: &impl Fn(&[f64]) -> Vec<f64>) -> ArrayD<f64> {
    let mut shape = x.raw_dim();
    shape[axis.index()] = plain(&vec![0.0; x.len_of(axis)]).len();
    let mut result = Array::zeros(shape);
    for (mut to, from) in result.lanes_mut(axis).into_iter().zip(x.lanes(axis)) {
        to.assign(&Array::from(plain(&from.to_vec())));
    }
    result
}

/// Returns an array of a shape, whose elements are computed from their indices.
pub fn placed(shape: &[usize], element: impl Fn(&[usize]) -> f64) -> ArrayD<f64> {
    Array::from_shape_fn(IxDyn(shape), |index| element(index.slice()))
}

/// Returns an input with the rank of a function.
pub fn ranked<T: Element, D: Dimension>(x: &TensorD<T>) -> Tensor<T, D> {
    let ranked = x.clone().into_dimensionality();
    ranked.expect("the function's rank")
}
