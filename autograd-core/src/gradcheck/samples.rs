//! The numbers that a function is checked with, and their layouts in memory.

use ndarray::{Array, ArrayD, Dimension, Slice};

use crate::erased::{AnyTensor, either};
use crate::tensor::Tensor;
use autograd_kernels::Element;

impl AnyTensor {
    /// The same elements in memory that has gaps between them, with the axes in reverse order. What is
    /// not the tensor's there is not a number.
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

    /// One number repeated over the same shape, which is in memory once.
    pub(super) fn broadcast(&self, value: f64) -> Self {
        either!(self, map tensor => {
            let number = Tensor::from(ndarray::arr0(Element::from_f64(value)));
            // INVARIANT: a single number broadcasts to any shape.
            number.part(|one| one.broadcast(tensor.shape()).expect("one element"))
        })
    }

    /// Numbers of the same shape in no pattern: see [`arbitrary`].
    pub(super) fn arbitrary(&self) -> Self {
        either!(self, map tensor => Tensor::from(arbitrary(tensor.view().raw_dim(), 0)))
    }

    /// Numbers of the same shape in no pattern, of either sign and none near zero: another direction for
    /// each seed.
    pub(super) fn direction(&self, seed: u32) -> Self {
        either!(self, map tensor => Tensor::from(direction(tensor.view().raw_dim(), seed)))
    }

    /// The same tensor moved by `step` along a direction of its shape.
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

/// Numbers between a half and three halves that follow no pattern which a wrong derivative could
/// share: multiples of the golden ratio, without their whole part, from another place on for each seed. These lie
/// far from each other, but their differences are whole numbers (of three in a row, the outer two less twice the one in
/// between); the power of two keeps the first and takes away the second, on which a threshold could lie.
pub(super) fn arbitrary<T: Element, D: Dimension>(shape: D, seed: u32) -> Array<T, D> {
    let mut position = f64::from(seed) * 0.754_877_666_246_693;
    Array::from_shape_simple_fn(shape, || {
        position += 1.0;
        T::from_f64((position * 0.618_033_988_749_895).fract().exp2() - 0.5)
    })
}

/// [`arbitrary`] numbers with signs that follow no pattern either.
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
