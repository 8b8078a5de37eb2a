//! What a formula is computed for, and what its results are summed to.

use autograd_kernels::{Element, Evaluation, Item, Loops, Shape, evaluate, evaluate_sums, sum_to};
use ndarray::{ArrayD, ArrayViewD, IxDyn};

use super::arrays::whole;
use super::short::{of_array, of_short};
use crate::array::Buffer;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// Each element of tensors that broadcast.
    Elements,
    /// Each row, along the first of two axes, with each column, along the second. Outputs are summed over columns.
    Pairs,
}

impl Over {
    /// Returns the results of an evaluation that has one for each output; `shape` is that of the elements, or of all pairs.
    pub(super) fn of_outputs<T: Element>(
        self,
        loops: &dyn Loops<T>,
        evaluation: Evaluation,
        inputs: &[Option<ArrayViewD<'_, T>>],
        shape: &[usize],
    ) -> Vec<Buffer<T>> {
        let outputs = match self {
            Self::Elements => Shape::from(shape),
            Self::Pairs => Shape::from(&[shape[0], 1][..]),
        };
        let items = loops.outputs().iter();
        let target = |item: &Item| Some((whole(&outputs, *item), *item));
        let targets: Vec<_> = items.map(target).collect();
        self.summed(loops, evaluation, inputs, shape, &targets)
    }

    /// Returns the results of an evaluation for which there is a target, each summed to that shape; with the item that the
    /// result has for each element.
    pub(super) fn summed<T: Element>(
        self,
        loops: &dyn Loops<T>,
        evaluation: Evaluation,
        inputs: &[Option<ArrayViewD<'_, T>>],
        shape: &[usize],
        targets: &[Option<(Shape, Item)>],
    ) -> Vec<Buffer<T>> {
        match self {
            Self::Elements => {
                let mut short: Vec<Option<Buffer<T>>> = vec![None; targets.len()];
                let give = &mut |index: usize, result| {
                    let target = targets[index].as_ref();
                    short[index] = target.map(|(target, _)| summed(result, target));
                };
                let slices = inputs.iter().map(|input| of_array(input.as_ref()));
                let wanted = targets.iter().map(Option::is_some);
                if of_short(loops, evaluation, slices, wanted, shape, give) {
                    return short.into_iter().flatten().collect();
                }
                let wanted: Vec<bool> = targets.iter().map(Option::is_some).collect();
                let results = evaluate(loops, evaluation, inputs, shape, &wanted).into_iter();
                let sums = results.zip(targets).filter_map(|(result, target)| {
                    let (target, item) = target.as_ref()?;
                    let result = Buffer::of_elements(result?.into(), whole(shape, *item));
                    Some(summed(result, target))
                });
                sums.collect()
            }
            Self::Pairs => {
                let both = |shape: &[usize]| [shape[0], shape[1]];
                let targets = targets
                    .iter()
                    .map(|target| target.as_ref().map(|(target, _)| both(target)));
                let targets: Vec<_> = targets.collect();
                let sums = evaluate_sums(loops, evaluation, inputs, both(shape), &targets);
                sums.into_iter().flatten().map(Buffer::compact).collect()
            }
        }
    }
}

/// Returns the sum of a result to a shape.
pub(super) fn summed<T: Element>(result: Buffer<T>, shape: &Shape) -> Buffer<T> {
    if result.shape() == shape {
        return result;
    }
    let sum: ArrayD<T> = sum_to(&result.view::<IxDyn>(), shape);
    Buffer::compact(sum)
}
