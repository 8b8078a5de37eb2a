//! The numbers that a function is checked with, and their layouts in memory.

use ndarray::{Array, ArrayD, Dimension, Slice};

use crate::erased::{AnyTensor, either};
use crate::tensor::Tensor;
use autograd_kernels::Element;

impl AnyTensor {
    /// Returns the tensor with a different layout: gaps between the elements, and axes in reverse order. The gaps
    /// contain NaN.
    #[inline]
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
    #[inline]
    pub(super) fn broadcast(&self, value: f64) -> Self {
        either!(self, map tensor => {
            let number = Tensor::from(ndarray::arr0(Element::from_f64(value)));
            // INVARIANT: a single number broadcasts to any shape.
            number.part(|one| one.broadcast(tensor.shape()).expect("one element"))
        })
    }

    /// Returns numbers without a pattern, of the tensor's shape: see [`arbitrary`]. Tensors with different places have
    /// different numbers, which no input has.
    #[inline]
    pub(super) fn arbitrary(&self, place: usize) -> Self {
        /// More than there are inputs, whose seeds count from 0.
        const FIRST: u32 = 1 << 16;
        // INVARIANT: there are no more than a few tensors.
        let seed = FIRST + u32::try_from(place).expect("the place of a tensor");
        either!(self, map tensor => Tensor::from(arbitrary(tensor.view().raw_dim(), seed)))
    }

    /// Returns numbers without a pattern, of the tensor's shape, of either sign and none near zero: a different
    /// direction for each seed.
    #[inline]
    pub(super) fn direction(&self, seed: u32) -> Self {
        either!(self, map tensor => Tensor::from(direction(tensor.view().raw_dim(), seed)))
    }

    /// Returns the tensor moved by `step` along a direction of its shape.
    #[inline]
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

/// Returns [`arbitrary`] gradients of the outputs that have one, which have the places from `first` on.
#[inline]
pub(super) fn arbitrary_gradients(outputs: &[AnyTensor], first: usize) -> Vec<Option<AnyTensor>> {
    let mut place = first;
    let gradient = |output: &AnyTensor| {
        output.edge()?;
        place += 1;
        Some(output.arbitrary(place - 1))
    };
    outputs.iter().map(gradient).collect()
}

/// Returns numbers between a half and three halves that follow no pattern which a wrong derivative could share, the same
/// on every machine: fractional parts of multiples of the golden ratio, from a different multiple on for each seed. These
/// are far from each other, but their second differences are whole numbers, which could be at a threshold. The square
/// root keeps the first property and removes the second.
///
/// In their own order, the numbers of one seed would be those of another moved by a constant, as would be the rows of a
/// matrix: each 64 are [in another](shuffled), of their own.
pub(super) fn arbitrary<T: Element, D: Dimension>(shape: D, seed: u32) -> Array<T, D> {
    let start = f64::from(seed) * 0.754_877_666_246_693;
    let mut places = (0..).flat_map(|block| shuffled(seed, block));
    Array::from_shape_simple_fn(shape, || {
        // INVARIANT: the blocks do not end.
        let position = start + f64::from(places.next().expect("a place"));
        let part = (position * 0.618_033_988_749_895).fract();
        T::from_f64((1.0 + 3.0 * part).sqrt() - 0.5)
    })
}

/// Returns the 64 numbers from 64 times `block` on, in an order that has nothing to do with that of another block or seed.
#[inline]
fn shuffled(seed: u32, block: u32) -> [u32; 64] {
    /// Where the random numbers start. Found by trying: the tests below say what holds from here on.
    const START: u64 = 1_983_545;
    let mut state = (u64::from(seed) << 32 | u64::from(block)).wrapping_add(START);
    let mut order = [64 * block; 64];
    for (number, place) in order.iter_mut().zip(0..) {
        *number += place;
    }
    for place in 0..order.len() {
        // Half a step of `SplitMix64`: its high bits are random.
        state = (state ^ state >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let rest = order.len() - place;
        order.swap(place, place + (state >> 32) as usize % rest);
    }
    order
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
    use ndarray::{Array1, Array2, ArrayView1, Dim, Ix1, Ix2, array, s};

    /// Returns Pearson's correlation.
    fn correlation(x: &Array1<f64>, y: &Array1<f64>) -> f64 {
        let [x, y] = [x, y].map(|x| x - x.mean().expect("numbers"));
        x.dot(&y) / (x.dot(&x) * y.dot(&y)).sqrt()
    }

    /// Returns the volume of the parallelepiped with these corners.
    fn volume(corners: [ArrayView1<f64>; 4]) -> f64 {
        let [u, v, w] = [1, 2, 3].map(|corner| &corners[corner] - &corners[0]);
        let normal = array![
            v[1] * w[2] - v[2] * w[1],
            v[2] * w[0] - v[0] * w[2],
            v[0] * w[1] - v[1] * w[0],
        ];
        u.dot(&normal).abs()
    }

    #[test]
    fn the_numbers_are_the_same_on_every_machine() {
        let of_seed = |seed| arbitrary::<f64, _>(Dim([3]), seed);
        let first = array![
            1.342_585_582_475_488_2,
            1.046_614_369_754_602,
            0.978_297_969_368_696_4
        ];
        assert_eq!(of_seed(0), first);
        let sixth = array![
            0.529_006_275_525_728_5,
            1.446_366_893_425_518_3,
            0.805_066_718_146_656_9
        ];
        assert_eq!(of_seed(5), sixth);
    }

    #[test]
    fn inputs_of_one_shape_are_independent() {
        for length in 3..=64 {
            let inputs: [Array1<f64>; 5] =
                [0, 1, 2, 3, 4].map(|seed| arbitrary(Dim([length]), seed));
            let most = match length {
                3 => 0.95,
                4 => 0.9,
                _ => (2.2 / (length as f64).sqrt()).min(0.85),
            };
            for (one, other) in (0..5).flat_map(|one| (0..one).map(move |other| (one, other))) {
                let found = correlation(&inputs[one], &inputs[other]);
                assert!(
                    found.abs() < most,
                    "{found} for {length} numbers of {one} and {other}"
                );
            }
        }
    }

    #[test]
    fn inputs_of_one_shape_are_independent_in_ranges() {
        use crate::gradcheck::generated::sample;
        let [a, b, c, d] =
            [0, 1, 2, 3].map(|seed| sample::<f64, Ix2>(&[4, 3], seed, Some([0.5, 1.5])).to_array());
        for row in 0..4 {
            let found = volume([a.row(row), b.row(row), c.row(row), d.row(row)]);
            assert!(found > 0.005, "{found} for row {row}");
        }
    }

    #[test]
    fn rows_of_an_input_are_independent() {
        for seed in 0..4 {
            let rows: Array2<f64> = arbitrary(Dim([4, 3]), seed);
            let found = volume([0, 1, 2, 3].map(|row| rows.row(row)));
            assert!(found > 0.005, "{found} for seed {seed}");
            let rows: Array2<f64> = arbitrary(Dim([5, 64]), seed);
            for row in 1..5 {
                let found = correlation(&rows.row(0).to_owned(), &rows.row(row).to_owned());
                assert!(found.abs() < 0.4, "{found} for row {row} of seed {seed}");
            }
        }
    }

    /// The smallest difference of two of the numbers.
    fn gap(numbers: impl IntoIterator<Item = f64>) -> f64 {
        let mut numbers: Vec<f64> = numbers.into_iter().collect();
        numbers.sort_by(f64::total_cmp);
        let gaps = numbers.windows(2).map(|pair| pair[1] - pair[0]);
        gaps.fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn numbers_are_far_from_each_other() {
        for seed in 0..6 {
            let numbers: Array1<f64> = arbitrary(Dim([2048]), seed);
            for (count, least) in [
                (2, 0.15),
                (3, 0.06),
                (4, 0.03),
                (6, 0.015),
                (64, 0.004),
                (2048, 1e-4),
            ] {
                let found = gap(numbers.slice(s![..count]).to_vec());
                assert!(
                    found > least,
                    "{found} between {count} numbers of seed {seed}"
                );
            }
        }
        let single = (0..8).map(|seed| arbitrary::<f64, Ix1>(Dim([1]), seed)[0]);
        let found = gap(single);
        assert!(found > 0.03, "{found} between single numbers");
    }

    #[test]
    fn matrices_of_the_sequence_are_not_singular() {
        for (seed, rows) in (0..8).flat_map(|seed| (2..=8).map(move |rows| (seed, rows))) {
            let numbers = arbitrary::<f64, _>(Dim([40, rows, rows]), seed);
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
