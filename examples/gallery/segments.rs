//! Softmax within segments, as over the neighbors of each node of a graph, and sorting with its order.
//!
//! Segments as in PyTorch Geometric (Fey and Lenssen, 2019): element i belongs to segment sᵢ. Within each,
//! ∂L/∂x = y ∘ (g − Σ y∘g). Sorting returns the order too, as indices, which have no gradient.

use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

#[custom_function(gradcheck(x = [5], segments = &[0, 1, 0, 2, 1]), grad(x) = {
    let products = &grad_output * &output;
    let sums = sums(products.view(), segments);
    Array1::from_shape_fn(products.len(), |i| products[i] - output[i] * sums[segments[i]])
})]
pub fn segment_softmax(x: ArrayView1<f64>, segments: &[usize]) -> Array1<f64> {
    let mut largest = vec![f64::NEG_INFINITY; count(segments)];
    for (x, segment) in x.iter().zip(segments) {
        largest[*segment] = largest[*segment].max(*x);
    }
    let exp = Array1::from_shape_fn(x.len(), |i| (x[i] - largest[segments[i]]).exp());
    let sums = sums(exp.view(), segments);
    Array1::from_shape_fn(x.len(), |i| exp[i] / sums[segments[i]])
}

#[custom_function(outputs(sorted, order), gradcheck(x = [4]), grad(x) = {
    let mut grad = Array1::zeros(order.len());
    for (g, place) in grad_sorted.iter().zip(order) {
        grad[*place] = *g;
    }
    grad
})]
pub fn sort(x: ArrayView1<f64>) -> (Array1<f64>, Vec<usize>) {
    let mut order: Vec<usize> = (0..x.len()).collect();
    order.sort_by(|a, b| x[*a].total_cmp(&x[*b]));
    (order.iter().map(|place| x[*place]).collect(), order)
}

fn count(segments: &[usize]) -> usize {
    segments.iter().max().map_or(0, |last| last + 1)
}

fn sums(x: ArrayView1<f64>, segments: &[usize]) -> Vec<f64> {
    let mut sums = vec![0.0; count(segments)];
    for (x, segment) in x.iter().zip(segments) {
        sums[*segment] += x;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Case;

    #[test]
    fn as_in_pytorch() {
        Case::of("segments").check(|case| {
            let x = case.leaf("x");
            let (y, order) = sort(&segment_softmax(&x, &[0, 2, 0, 1, 2, 2]));
            assert_eq!(order.len(), x.len());
            (y.into_dyn(), vec![x.into_dyn()])
        });
    }
}
