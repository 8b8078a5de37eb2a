//! The numbers that a function is checked with, and their layouts in memory.

use ndarray::{Array, ArrayD, Dimension, Slice};

use crate::erased::{AnyTensor, either};
use crate::tensor::Tensor;
use autograd_kernels::Element;

impl AnyTensor {
    /// Returns the tensor with a different layout: gaps between the elements, and axes in reverse order. The gaps
    /// contain NaN.
    pub(super) fn scattered(&self) -> Self {
        let every_other = |_| Slice::new(0, None, 2);
        either!(self, map tensor => {
            let wide: Vec<usize> = tensor.shape().iter().rev().map(|length| 2 * length).collect();
            let gap = Element::from_f64(f64::NAN);
            let mut wide = ArrayD::from_elem(wide, gap).reversed_axes();
            wide.slice_each_axis_mut(every_other).assign(&tensor.view());
            Tensor::from(wide).part(|whole| whole.slice_each_axis(every_other))
        })
    }

    /// Returns one number repeated over the tensor's shape, stored once.
    pub(super) fn broadcast(&self, value: f64) -> Self {
        either!(self, map tensor => {
            let number = Tensor::from(ndarray::arr0(Element::from_f64(value)));
            // INVARIANT: a single number broadcasts to any shape.
            number.part(|one| one.broadcast(tensor.shape()).expect("one element"))
        })
    }

    /// Returns numbers without a pattern, of the tensor's shape: see [`arbitrary`].
    pub(super) fn arbitrary(&self) -> Self {
        either!(self, map tensor => Tensor::from(arbitrary(tensor.view().raw_dim(), 0)))
    }

    /// Returns numbers without a pattern, of the tensor's shape, of either sign and none near zero: a different
    /// direction for each seed.
    pub(super) fn direction(&self, seed: u32) -> Self {
        either!(self, map tensor => Tensor::from(direction(tensor.view().raw_dim(), seed)))
    }

    /// Returns the tensor moved by `step` along a direction of its shape.
    pub(super) fn moved(&self, direction: &Self, step: f64) -> Self {
        let direction = direction.values();
        either!(self, map tensor => {
            let mut array = tensor.to_array();
            for (value, direction) in array.iter_mut().zip(direction) {
                *value = Element::from_f64(value.as_f64() + step * direction);
            }
            Tensor::from(array)
        })
    }
}

/// Returns numbers between a half and three halves that follow no pattern which a wrong derivative could share:
/// fractional parts of multiples of the golden ratio, from a different multiple on for each seed. These are far from
/// each other, but their second differences are whole numbers, which could be at a threshold. The power of two keeps
/// the first property and removes the second.
///
/// In their own order they would be singular as matrices, as the rows would differ by a factor: each 64 are
/// [in another](shuffled).
pub(super) fn arbitrary<T: Element, D: Dimension>(shape: D, seed: u32) -> Array<T, D> {
    let start = f64::from(seed) * 0.754_877_666_246_693;
    let mut index = 0;
    Array::from_shape_simple_fn(shape, || {
        index += 1;
        let position = start + f64::from(shuffled(index));
        T::from_f64((position * 0.618_033_988_749_895).fract().exp2() - 0.5)
    })
}

/// Exchanges the numbers of each 64 among themselves, by a polynomial with which the first few are still spread over the whole
/// range, and no square matrix of 2 to 8 rows in the sequence is near a singular one: condition numbers are below 10,000.
fn shuffled(index: u32) -> u32 {
    let place = index % 64;
    let place = (25 * place + 44 * place * place) % 64;
    index - index % 64 + (place ^ (place >> 2))
}

/// Returns [`arbitrary`] numbers with signs that follow no pattern either.
fn direction<T: Element, D: Dimension>(shape: D, seed: u32) -> Array<T, D> {
    let mut position = f64::from(seed) * 0.569_840_290_998_053;
    let mut numbers = arbitrary::<T, D>(shape, seed);
    for number in &mut numbers {
        position += 1.0;
        if (position * std::f64::consts::SQRT_2).fract() < 0.5 {
            *number = -*number;
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_of_the_sequence_are_not_singular() {
        for (seed, rows) in (0..5).flat_map(|seed| (2..=8).map(move |rows| (seed, rows))) {
            let numbers = arbitrary::<f64, _>(ndarray::Dim([40, rows, rows]), seed);
            for matrix in numbers.outer_iter() {
                let matrix = Tensor::from(matrix.to_owned());
                let inverse = matrix.inv().expect("it has an inverse");
                let largest = |matrix: &Tensor<f64, _>| {
                    matrix.view().fold(0.0_f64, |most, x| most.max(x.abs()))
                };
                let condition = largest(&matrix) * largest(&inverse);
                assert!(condition < 1e4, "{condition} with seed {seed}: {matrix}");
            }
        }
    }
}
