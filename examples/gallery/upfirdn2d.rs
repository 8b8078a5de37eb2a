//! Upsampling, a filter and downsampling in one, differentiable again: its gradient is the same function.
//!
//! Karras et al., 2019, arXiv 1912.04958, and 2021, arXiv 2106.12423. Zeros are inserted between the pixels of x and
//! around them, the result is convolved with a filter, and every down-th pixel is returned. In backward, up and down
//! change places, the filter is flipped, and the padding is chosen to give the shape of x.

use pullback::ndarray::{Array2, ArrayView2, s};
use pullback::prelude::*;

/// The factors of upsampling and downsampling, and the numbers of pixels added before and after, along each axis.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    pub up: usize,
    pub down: usize,
    pub pad: [[isize; 2]; 2],
}

pub struct Upfirdn2d;

#[custom_function(gradcheck(
    x = [4, 5],
    filter = &pullback::ndarray::array![[1.0, 3.0], [2.0, -1.0], [0.5, 2.0]],
    sampling = Sampling { up: 2, down: 3, pad: [[2, 1], [0, 3]] },
))]
impl Upfirdn2d {
    #[forward(outputs(y))]
    pub fn forward(x: ArrayView2<f64>, filter: &Array2<f64>, sampling: Sampling) -> Array2<f64> {
        let [rows, columns] =
            [0, 1].map(|axis| taps(x.shape()[axis], filter.shape()[axis], sampling, axis));
        Array2::from_shape_fn((rows.len(), columns.len()), |(i, j)| {
            let row = |(k, at): &(usize, usize)| -> f64 {
                columns[j]
                    .iter()
                    .map(|(l, of)| filter[[*k, *l]] * x[[*at, *of]])
                    .sum()
            };
            rows[i].iter().map(row).sum()
        })
    }

    #[backward(x)]
    fn backward(
        grad_y: &Tensor2<f64>,
        filter: &Array2<f64>,
        sampling: Sampling,
        shape_x: &[usize],
    ) -> Tensor2<f64> {
        let Sampling { up, down, pad } = sampling;
        let back = |axis: usize| {
            let [filter, x, y] = [
                filter.shape()[axis],
                shape_x[axis] * up,
                grad_y.shape()[axis] * down,
            ];
            let before = filter.cast_signed() - 1 - pad[axis][0];
            [
                before,
                x.cast_signed() - y.cast_signed() + pad[axis][0] - up.cast_signed() + 1,
            ]
        };
        let sampling = Sampling {
            up: down,
            down: up,
            pad: [back(0), back(1)],
        };
        Self::apply(grad_y, &filter.slice(s![..;-1, ..;-1]).to_owned(), sampling)
    }
}

/// Returns, for each output along an axis, the indices of the filter and of x in its sum.
fn taps(x: usize, filter: usize, sampling: Sampling, axis: usize) -> Vec<Vec<(usize, usize)>> {
    let Sampling { up, down, pad } = sampling;
    let padded = (x * up).saturating_add_signed(pad[axis].iter().sum());
    let outputs = padded.saturating_sub(filter) / down + 1;
    let tap = |at: usize, k: usize| {
        let at = (at + filter - 1 - k).checked_add_signed(-pad[axis][0])?;
        (at % up == 0 && at / up < x).then_some((k, at / up))
    };
    let all = (0..outputs).map(|i| (0..filter).filter_map(|k| tap(i * down, k)).collect());
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Case;

    #[test]
    fn as_in_pytorch() {
        Case::of("upfirdn2d").check(|case| {
            let x = case.leaf("x");
            let sampling = Sampling {
                up: 3,
                down: 2,
                pad: [[1, 2], [2, 0]],
            };
            (
                Upfirdn2d::apply(&x, &case.array("filter"), sampling).into_dyn(),
                vec![x.into_dyn()],
            )
        });
    }
}
