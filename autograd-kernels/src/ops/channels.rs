//! Arrays as channels, whose elements are normalized together or scaled by one number.

use ndarray::{Array, Array1, Array2, ArrayView, ArrayView3, Axis, Dimension, Ix1, Ix3};

use crate::checks::{counted, size};
use crate::element::Element;
use crate::loops::axes::Axes;
use crate::loops::lanes::rows;
use crate::loops::mean_var::mean_var;
use crate::loops::pairwise::pairwise;
use crate::loops::sum::sum_over;
use crate::memory;

/// The elements of an array in row-major order as `outer` × `count` × `inner`, where the middle index is the
/// channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channels {
    /// The number of blocks, each of which has all channels.
    pub outer: usize,
    /// The number of channels.
    pub count: usize,
    /// The number of adjacent elements of a channel.
    pub inner: usize,
}

impl Channels {
    /// Returns a channel for each index along `axis`.
    ///
    /// # Panics
    /// If the axis is out of range.
    #[track_caller]
    pub fn along(shape: &[usize], axis: usize) -> Self {
        assert!(
            axis < shape.len(),
            "channels of shape {shape:?} along axis {axis}: the axis is out of range"
        );
        Self {
            outer: shape[..axis].iter().product(),
            count: shape[axis],
            inner: shape[axis + 1..].iter().product(),
        }
    }

    /// Returns a channel for each row of the axes from `first` on.
    ///
    /// # Panics
    /// If there are fewer axes.
    #[track_caller]
    pub fn rows(shape: &[usize], first: usize) -> Self {
        assert!(
            first <= shape.len(),
            "rows of shape {shape:?} from axis {first} on: the axis is out of range"
        );
        Self {
            outer: 1,
            count: shape[..first].iter().product(),
            inner: shape[first..].iter().product(),
        }
    }

    /// Returns the number of elements of a channel.
    pub fn size(self) -> usize {
        self.outer * self.inner
    }

    #[track_caller]
    fn check(self, shape: &[usize]) {
        let elements: usize = shape.iter().product();
        assert!(
            size(&[self.outer, self.count, self.inner]) == Some(elements),
            "channels of shape {shape:?}: they are not {} × {} × {}",
            self.outer,
            self.count,
            self.inner
        );
    }

    /// Returns the sum of each channel.
    fn sums<T: Element>(self, elements: &[T]) -> Vec<T> {
        let shape = (self.outer, self.count, self.inner);
        // INVARIANT: `check` has counted the elements.
        let blocks = ArrayView3::from_shape(shape, elements).expect("as many");
        sum_over::<_, _, Ix1>(&blocks, Axes::of(&[0, 2])).to_vec()
    }

    /// Returns Σ f(x, y, number of the channel) of each channel.
    fn sums_of<T: Element>(
        self,
        x: &[T],
        y: &[T],
        numbers: &[T],
        f: impl Fn(T, T, T) -> T + Copy + Sync,
    ) -> Vec<T> {
        if self.inner == 1 {
            let numbers: Vec<[T; 1]> = numbers.iter().map(|&number| [number]).collect();
            let shape = Ix3(self.outer, self.count, self.inner);
            let each = zipped(shape, x, y, self, &numbers, |x, y, [number]| {
                f(x, y, number)
            });
            return self.sums(each.as_slice().unwrap_or(&[]));
        }
        if self.size() == 0 {
            return vec![T::zero(); self.count];
        }
        let runs = x.chunks_exact(self.inner).zip(y.chunks_exact(self.inner));
        let each = runs
            .zip(numbers.iter().cycle())
            .map(|((x, y), &number)| pairwise(x, y, |x, y| f(x, y, number)))
            .collect();
        // INVARIANT: each block has a run for each channel.
        let each = Array2::from_shape_vec((self.outer, self.count), each).expect("a run for each");
        sum_over::<_, _, Ix1>(&each.view(), Axes::one(Axis(0))).to_vec()
    }
}

/// Returns the sum of each channel.
///
/// # Panics
/// If the array does not have as many elements as the channels.
#[track_caller]
pub fn channel_sums<T: Element, D: Dimension>(
    x: &ArrayView<'_, T, D>,
    channels: Channels,
) -> Array1<T> {
    channels.check(x.shape());
    channels.sums(&rows(x)).into()
}

/// Returns `f` of each element and the `parameters` of its channel.
///
/// # Panics
/// If the array does not have as many elements as the channels, or a channel has no parameters.
#[track_caller]
pub fn map_channels<T: Element, D: Dimension, const N: usize>(
    x: &ArrayView<'_, T, D>,
    channels: Channels,
    parameters: &[[T; N]],
    f: impl Fn(T, [T; N]) -> T,
) -> Array<T, D> {
    channels.check(x.shape());
    assert!(
        parameters.len() == channels.count,
        "an array of shape {:?} with parameters of {}",
        x.shape(),
        counted(parameters.len(), "channel", "channels")
    );
    let rows = rows(x);
    let each = |x, _, parameters| f(x, parameters);
    zipped(x.raw_dim(), &rows, &rows, channels, parameters, each)
}

/// Returns `f` of each element of `x`, the element of `y` at its index and the parameters of their channel.
fn zipped<T: Element, D: Dimension, const N: usize>(
    shape: D,
    x: &[T],
    y: &[T],
    channels: Channels,
    parameters: &[[T; N]],
    f: impl Fn(T, T, [T; N]) -> T,
) -> Array<T, D> {
    let mut results = memory::take(x.len());
    if channels.inner == 1 {
        let rows = x.chunks_exact(channels.count.max(1));
        for (x, y) in rows.zip(y.chunks_exact(channels.count.max(1))) {
            let elements = x.iter().zip(y).zip(parameters);
            results.extend(elements.map(|((&x, &y), &parameters)| f(x, y, parameters)));
        }
    } else {
        let runs = x
            .chunks_exact(channels.inner.max(1))
            .zip(y.chunks_exact(channels.inner.max(1)));
        for ((x, y), &parameters) in runs.zip(parameters.iter().cycle()) {
            results.extend(x.iter().zip(y).map(|(&x, &y)| f(x, y, parameters)));
        }
    }
    // INVARIANT: one for each element, as callers have counted them.
    Array::from_shape_vec(shape, results).expect("one for each")
}

/// Returns (x − mean) · rstd of each channel, with rstd = 1 / √(variance + eps), and also the mean, the variance
/// (with the divisor n) and rstd of each channel.
///
/// # Panics
/// If the array does not have as many elements as the channels.
#[track_caller]
pub fn normalize<T: Element, D: Dimension>(
    x: &ArrayView<'_, T, D>,
    channels: Channels,
    eps: T,
) -> (Array<T, D>, Vec<[T; 3]>) {
    channels.check(x.shape());
    let elements = rows(x);
    let size = T::from_f64(channels.size() as f64);
    let statistics = |(mean, squares): (T, T)| {
        let variance = squares / size;
        [mean, variance, T::one() / (variance + eps).sqrt()]
    };
    let statistics: Vec<[T; 3]> = if channels.outer == 1 && channels.inner > 0 {
        elements
            .chunks_exact(channels.inner)
            .map(|row| statistics(mean_var(row)))
            .collect()
    } else {
        let means: Vec<T> = channels
            .sums(&elements)
            .iter()
            .map(|&sum| sum / size)
            .collect();
        let square = |x: T, _, mean| (x - mean) * (x - mean);
        let squares = channels.sums_of(&elements, &elements, &means, square);
        means.into_iter().zip(squares).map(statistics).collect()
    };
    let center = |x: T, _, [mean, _, rstd]: [T; 3]| (x - mean) * rstd;
    let normalized = zipped(
        x.raw_dim(),
        &elements,
        &elements,
        channels,
        &statistics,
        center,
    );
    (normalized, statistics)
}

/// Returns rstd · (g − mean(g) − x̂ · mean(g · x̂)) of each channel: the gradient of the input of [`normalize`], where
/// g is the gradient of its output x̂.
///
/// # Panics
/// If the shapes differ, the arrays do not have as many elements as the channels, or a channel has no `rstd`.
#[track_caller]
pub fn normalize_backward<T: Element, D: Dimension>(
    g: &ArrayView<'_, T, D>,
    normalized: &ArrayView<'_, T, D>,
    rstd: &[T],
    channels: Channels,
) -> Array<T, D> {
    channels.check(g.shape());
    assert!(
        g.shape() == normalized.shape() && rstd.len() == channels.count,
        "a gradient of shape {:?} for an array of shape {:?} with parameters of {}",
        g.shape(),
        normalized.shape(),
        counted(rstd.len(), "channel", "channels")
    );
    let (g_rows, x_rows) = (rows(g), rows(normalized));
    let size = T::from_f64(channels.size() as f64);
    let sums = channels.sums(&g_rows);
    let dots = channels.sums_of(&g_rows, &x_rows, rstd, |g, x, _| g * x);
    let parameters: Vec<[T; 3]> = rstd
        .iter()
        .zip(sums.into_iter().zip(dots))
        .map(|(&rstd, (sum, dot))| [rstd, sum / size, dot / size])
        .collect();
    let gradient = |g: T, x: T, [rstd, mean, along]: [T; 3]| rstd * (g - mean - x * along);
    zipped(
        g.raw_dim(),
        &g_rows,
        &x_rows,
        channels,
        &parameters,
        gradient,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array4;

    #[test]
    fn channels_of_every_kind_are_normalized() {
        let x = Array4::from_shape_fn((3, 4, 2, 5), |(i, j, k, l)| {
            (i * 7 + j * j * 13 + k * l * 3) as f64 * 0.37 % 1.9 + j as f64 * 100.0
        });
        let shape = x.shape().to_vec();
        let all = [
            Channels::along(&shape, 0),
            Channels::along(&shape, 1),
            Channels::along(&shape, 3),
            Channels::rows(&shape, 0),
            Channels::rows(&shape, 2),
        ];
        for channels in all {
            for view in [x.view(), x.slice(ndarray::s![..;-1, .., .., ..])] {
                let (normalized, statistics) = normalize(&view, channels, 0.0);
                assert_eq!(statistics.len(), channels.count);
                let sums = channel_sums(&normalized.view(), channels);
                let squares = channel_sums(&(&normalized * &normalized).view(), channels);
                for (sum, square) in sums.iter().zip(&squares) {
                    assert!(sum.abs() < 1e-9 && (square - channels.size() as f64).abs() < 1e-8);
                }
                let means = channel_sums(&view, channels) / channels.size() as f64;
                for (mean, [expected, _, _]) in means.iter().zip(&statistics) {
                    assert!((mean - expected).abs() < 1e-10);
                }
            }
        }
        let along = channel_sums(&x.view(), Channels::along(&shape, 2));
        let expected = x.sum_axis(Axis(3)).sum_axis(Axis(1)).sum_axis(Axis(0));
        assert!(
            (along - expected)
                .iter()
                .all(|difference| difference.abs() < 1e-9)
        );
    }

    #[test]
    #[should_panic(expected = "channels of shape [3]: they are not 1 × 2 × 1")]
    fn other_channels_are_refused() {
        let channels = Channels::rows(&[2], 1);
        let _ = channel_sums(&ndarray::array![1.0, 2.0, 3.0].view(), channels);
    }

    #[test]
    #[should_panic(expected = "channels of shape [0]: they are not 2 × 9223372036854775808 × 1")]
    fn channels_that_cannot_be_counted_are_refused() {
        let channels = Channels {
            outer: 2,
            count: 1 << 63,
            inner: 1,
        };
        let _ = channel_sums(&Array1::<f64>::zeros(0).view(), channels);
    }
}
