//! Arrays and shapes that the passes of elementwise functions share.

use autograd_kernels::{Element, Item, Shape};
use ndarray::{Array, ArrayView, ArrayViewD, Axis, Dimension, IxDyn};

use crate::basic::operators::common_shape;
use crate::tensor::Tensor;

/// Returns `count` views, each tensor's at its place.
pub(crate) fn placed<'a, T, D: Dimension>(
    count: usize,
    places: impl Iterator<Item = usize>,
    tensors: &'a [ArrayView<'_, T, D>],
) -> Vec<Option<ArrayViewD<'a, T>>> {
    let mut views = Vec::new();
    views.resize_with(count, || None);
    for (place, tensor) in places.zip(tensors) {
        views[place] = Some(tensor.view().into_dyn());
    }
    views
}

/// Returns elements in row-major order as an array.
pub(super) fn array<T, D: Dimension>(elements: Vec<T>, shape: &[usize]) -> Array<T, D> {
    // INVARIANT: the loops give an element for each, and the shape is that of inputs of this rank.
    let array = Array::from_shape_vec(shape, elements).expect("an element for each");
    array.into_dimensionality().expect("the rank of the inputs")
}

/// Returns the shape of the tensor with such an item for each element of `shape`.
pub(super) fn whole(shape: &[usize], item: Item) -> Shape {
    match item {
        Item::Number => Shape::from(shape),
        Item::Row(length) => Shape::from(&[shape, &[length]].concat()[..]),
    }
}

/// Returns the shape without the axis of rows.
pub(crate) fn of_items(shape: &[usize], item: Item) -> &[usize] {
    match item {
        Item::Number => shape,
        Item::Row(_) => &shape[..shape.len() - 1],
    }
}

/// Returns the shape that several shapes broadcast to.
pub(crate) fn common<'a>(mut shapes: impl Iterator<Item = &'a [usize]>) -> Option<Shape> {
    let first = Shape::from(shapes.next().unwrap_or_default());
    shapes.try_fold(first, |common, shape| common_shape(&common, shape))
}

/// Returns the shape of the elements of the outputs, from shapes without the axis of rows.
pub(super) fn fitting<'a>(shapes: impl Iterator<Item = &'a [usize]>) -> Shape {
    // INVARIANT: forward has checked that the inputs broadcast; other shapes are those of an input or an output.
    common(shapes).expect("shapes that broadcast")
}

/// Returns a tensor of `shape` whose elements are all `value`.
pub(super) fn constant<T: Element, D: Dimension>(shape: &[usize], value: T) -> Tensor<T, D> {
    let number = Array::from_elem(IxDyn(&vec![1; shape.len()]), value);
    repeated(number, shape)
}

/// Returns a constant that is repeated to `shape`.
fn repeated<T: Element, D: Dimension>(array: Array<T, IxDyn>, shape: &[usize]) -> Tensor<T, D> {
    // INVARIANT: the shape is that of inputs of this rank.
    let array: Array<T, D> = array.into_dimensionality().expect("the rank of the inputs");
    Tensor::from(array).broadcast_to(shape)
}

/// Returns the derivatives of an output, from a function of the output's gradient that returns a number for each element
/// of `shape`: it is called with a gradient of 1, of a row for each number alone.
#[track_caller]
pub(super) fn of_each_number<T: Element, D: Dimension>(
    item: Item,
    shape: &[usize],
    derivative: impl Fn(&Tensor<T, D>) -> Tensor<T, D>,
) -> Tensor<T, D> {
    let Item::Row(length) = item else {
        return derivative(&constant(shape, T::one()));
    };
    let axis = shape.len();
    let numbers: Vec<Tensor<T, IxDyn>> = (0..length)
        .map(|number| {
            let mut lengths = vec![1; axis];
            lengths.push(length);
            let mut one = Array::zeros(lengths);
            one.as_slice_mut()
                .into_iter()
                .for_each(|row: &mut [T]| row[number] = T::one());
            derivative(&repeated(one, &whole(shape, item))).into_dyn()
        })
        .collect();
    let row = Tensor::stack(Axis(axis), &numbers.iter().collect::<Vec<_>>());
    // INVARIANT: tensors of rows have a rank that is known at run time.
    row.into_dimensionality().expect("the rank of the inputs")
}

/// Returns the sum of each row.
#[track_caller]
pub(super) fn row_sums<T: Element, D: Dimension>(tensor: Tensor<T, D>, item: Item) -> Tensor<T, D> {
    let shape = of_items(tensor.shape(), item).to_vec();
    if item == Item::Number {
        return tensor;
    }
    let sums: Tensor<T, IxDyn> = tensor.sum_to(&whole(&shape, Item::Row(1)));
    let sums = sums.reshape(shape);
    // INVARIANT: tensors of rows have a rank that is known at run time.
    sums.into_dimensionality().expect("the rank of the inputs")
}
