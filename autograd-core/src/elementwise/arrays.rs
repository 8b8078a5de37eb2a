//! Arrays and shapes that the passes of elementwise functions share.

use autograd_kernels::{Element, Evaluation, Loops, Shape, evaluate};
use ndarray::{Array, ArrayView, ArrayViewD, Dimension, IxDyn};

use crate::basic::operators::common_shape;
use crate::tensor::Tensor;

/// Returns `count` views, each tensor's at its place.
pub(super) fn placed<'a, T, D: Dimension>(
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

/// Returns the results of an evaluation that has one for each output.
pub(super) fn of_outputs<T: Element, D: Dimension>(
    loops: &dyn Loops<T>,
    evaluation: Evaluation,
    inputs: &[Option<ArrayViewD<'_, T>>],
    shape: &[usize],
) -> Vec<Array<T, D>> {
    let wanted = vec![true; loops.outputs()];
    let results = evaluate(loops, evaluation, inputs, shape, &wanted);
    let results = results.into_iter().flatten();
    results.map(|result| array(result, shape)).collect()
}

/// Returns elements in row-major order as an array.
pub(super) fn array<T, D: Dimension>(elements: Vec<T>, shape: &[usize]) -> Array<T, D> {
    // INVARIANT: the loops give an element for each, and the shape is that of inputs of this rank.
    let array = Array::from_shape_vec(shape, elements).expect("an element for each");
    array.into_dimensionality().expect("the rank of the inputs")
}

/// Returns the shape that several shapes broadcast to.
pub(super) fn common<'a>(mut shapes: impl Iterator<Item = &'a [usize]>) -> Option<Shape> {
    let first = Shape::from(shapes.next().unwrap_or_default());
    shapes.try_fold(first, |common, shape| common_shape(&common, shape))
}

/// Returns the shape of the outputs.
pub(super) fn fitting<'a>(shapes: impl Iterator<Item = &'a [usize]>) -> Shape {
    // INVARIANT: forward has checked that the inputs broadcast; other shapes are those of an input or an output.
    common(shapes).expect("shapes that broadcast")
}

/// Returns a tensor of `shape` whose elements are all `value`.
pub(super) fn constant<T: Element, D: Dimension>(shape: &[usize], value: T) -> Tensor<T, D> {
    let number = Array::from_elem(IxDyn(&vec![1; shape.len()]), value);
    // INVARIANT: the shape is that of inputs of this rank.
    let number: Array<T, D> = number
        .into_dimensionality()
        .expect("the rank of the inputs");
    Tensor::from(number).broadcast_to(shape)
}
