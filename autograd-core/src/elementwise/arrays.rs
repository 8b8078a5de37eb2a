//! Arrays and shapes that the passes of elementwise functions share.

use autograd_kernels::{Element, Item, Loops, Shape};
use ndarray::{Array, ArrayD, ArrayViewD, Axis, IxDyn};

use crate::basic::operators::common_shape;
use crate::tensor::{Tensor, TensorD};

/// Returns `count` views, each tensor's at its place.
pub(crate) fn placed<'a, T>(
    count: usize,
    places: impl Iterator<Item = usize>,
    tensors: &'a [ArrayViewD<'_, T>],
) -> Vec<Option<ArrayViewD<'a, T>>> {
    let mut views = Vec::new();
    views.resize_with(count, || None);
    for (place, tensor) in places.zip(tensors) {
        views[place] = Some(tensor.view());
    }
    views
}

/// Returns the item of the tensor at a place: that of an input or, after those, of an output; each component repeats them.
pub(super) fn item_at<T: Element>(loops: &dyn Loops<T>, place: usize) -> Item {
    let (inputs, outputs) = (loops.inputs(), loops.outputs());
    let place = place % (inputs.len() + outputs.len());
    match place.checked_sub(inputs.len()) {
        None => inputs[place],
        Some(output) => outputs[output],
    }
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
pub(super) fn constant<T: Element>(shape: &[usize], value: T) -> TensorD<T> {
    let number = Array::from_elem(IxDyn(&vec![1; shape.len()]), value);
    repeated(number, shape)
}

/// Returns a constant that is repeated to `shape`.
fn repeated<T: Element>(array: ArrayD<T>, shape: &[usize]) -> TensorD<T> {
    Tensor::from(array).broadcast_to(shape)
}

/// Returns the derivatives of an output, from a function of the output's gradient that returns a number for each element
/// of `shape`: it is called with a gradient of 1, of a row for each number alone.
#[track_caller]
pub(super) fn of_each_number<T: Element>(
    item: Item,
    shape: &[usize],
    derivative: impl Fn(&TensorD<T>) -> TensorD<T>,
) -> TensorD<T> {
    let Item::Row(length) = item else {
        return derivative(&constant(shape, T::one()));
    };
    let axis = shape.len();
    let numbers: Vec<TensorD<T>> = (0..length)
        .map(|number| {
            let mut lengths = vec![1; axis];
            lengths.push(length);
            let mut one = Array::zeros(lengths);
            one.as_slice_mut()
                .into_iter()
                .for_each(|row: &mut [T]| row[number] = T::one());
            derivative(&repeated(one, &whole(shape, item)))
        })
        .collect();
    Tensor::stack(Axis(axis), &numbers.iter().collect::<Vec<_>>())
}

/// Returns the sum of each row.
#[track_caller]
pub(super) fn row_sums<T: Element>(tensor: TensorD<T>, item: Item) -> TensorD<T> {
    let shape = of_items(tensor.shape(), item).to_vec();
    if item == Item::Number {
        return tensor;
    }
    let sums: TensorD<T> = tensor.sum_to(&whole(&shape, Item::Row(1)));
    sums.reshape(shape)
}
