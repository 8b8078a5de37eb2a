//! pairs/gaussian, pairs/loop and pairs/functions: sums over 10,000 columns of a kernel in three dimensions, for 10,000 rows,
//! as a function of pairs: written out, with a loop over the dimensions, and with functions of numbers. pairs/recorded: with
//! functions that the macro does not see, so that derivatives are recorded.

use std::hint::black_box;
use std::time::Duration;

use pullback::kernels::{self, split_mut};
use pullback::ndarray::{Array1, Array2};
use pullback::prelude::*;

use crate::harness::{Filter, medians, report_both, timed};
use crate::vectorized::vectorized;

const POINTS: usize = 10_000;
const ROUNDS: usize = 7;
/// The columns by hand whose sums are in registers and in the nearest cache.
const TILE: usize = 2000;
const WIDTH: f32 = 2.0;

#[custom_function(pairs)]
fn gaussian<T: Real>(#[row] x: [T; 3], #[column] y: [T; 3], #[column] b: T, width: f64) -> T {
    let square = |k: usize| (x[k] - y[k]) * (x[k] - y[k]);
    (-(square(0) + square(1) + square(2)) / width).exp() * b
}

const DIMENSIONS: usize = 3;

#[custom_function(pairs)]
fn looped<T: Real>(#[row] x: [T; 3], #[column] y: [T; 3], #[column] b: T, width: f64) -> T {
    let mut square = T::from(0.0);
    for k in 0..DIMENSIONS {
        square += (x[k] - y[k]) * (x[k] - y[k]);
    }
    (-square / width).exp() * b
}

fn difference<T: Real, const N: usize>(x: [T; N], y: [T; N]) -> [T; N] {
    std::array::from_fn(|k| x[k] - y[k])
}

fn length2<T: Real>(x: &[T]) -> T {
    x.iter().map(|x| *x * *x).sum()
}

#[custom_function(pairs)]
fn called<T: Real>(
    #[row] x: [T; DIMENSIONS],
    #[column] y: [T; DIMENSIONS],
    #[column] b: T,
    width: f64,
) -> T {
    (-length2(&difference(x, y)) / width).exp() * b
}

/// The macro looks for functions in the module of the formula.
mod apart {
    use super::*;

    #[custom_function(pairs)]
    pub fn recorded<T: Real>(
        #[row] x: [T; 3],
        #[column] y: [T; 3],
        #[column] b: T,
        width: f64,
    ) -> T {
        (-length2(&difference(x, y)) / width).exp() * b
    }
}

/// The sums for the rows, of these, the columns and their weights.
type Sums = fn(&Tensor2<f32>, &Tensor2<f32>, &Tensor1<f32>) -> Tensor1<f32>;

pub fn run(filter: &Filter) {
    measure("pairs/gaussian", filter, |x, y, b| {
        gaussian(x, y, b, f64::from(WIDTH))
    });
    measure("pairs/loop", filter, |x, y, b| {
        looped(x, y, b, f64::from(WIDTH))
    });
    measure("pairs/functions", filter, |x, y, b| {
        called(x, y, b, f64::from(WIDTH))
    });
    measure("pairs/recorded", filter, |x, y, b| {
        apart::recorded(x, y, b, f64::from(WIDTH))
    });
}

fn measure(name: &str, filter: &Filter, function: Sums) {
    if !filter.wants(name) {
        return;
    }
    let points = |period: usize| {
        let at = |(i, k): (usize, usize)| (i * 3 + k * 31) % period;
        Array2::from_shape_fn((POINTS, 3), |place| at(place) as f32 / period as f32 - 0.4)
    };
    let (x, y) = (points(997), points(1009));
    let b = Array1::from_shape_fn(POINTS, |j| (j % 17) as f32 / 17.0 - 0.5);
    let leaf = |x: &Array2<f32>| Tensor::from(x.view()).set_requires_grad(true);
    let (leaves, weights) = (
        [leaf(&x), leaf(&y)],
        Tensor::from(b.view()).set_requires_grad(true),
    );
    let mut by_hand = ByHand::new(&x, &y, b);
    let ours = || {
        let (forward, sums) = timed(|| function(&leaves[0], &leaves[1], &weights));
        let (backward, ()) = timed(|| {
            let ones = Array1::ones(POINTS);
            sums.backward_with(ones).expect("the graph is whole");
        });
        [forward, backward]
    };
    ours();
    by_hand.run();
    let gradients = [&leaves[0], &leaves[1]].map(|leaf| leaf.grad().expect("a gradient"));
    for (found, by_hand) in gradients.iter().zip(&by_hand.gradients) {
        for (place, found) in found.indexed_iter() {
            let limit = by_hand[place.1][place.0];
            let close = (found - limit).abs() <= 1e-3 * limit.abs().max(100.0);
            assert!(close, "{found} is not {limit}");
        }
    }
    let (ours, limit) = medians(
        ROUNDS,
        || {
            leaves.iter().for_each(Tensor::zero_grad);
            weights.zero_grad();
            ours()
        },
        || by_hand.run(),
    );
    report_both(name, ours, limit, ("ms", 1e6));
}

/// Loops over rows and tiles of columns, with the gradients derived by hand, in buffers that are used again. Backward
/// has one loop for all gradients; those of columns are summed for each thread.
struct ByHand {
    x: [Vec<f32>; 3],
    y: [Vec<f32>; 3],
    b: Vec<f32>,
    sums: Vec<f32>,
    gradients: [[Vec<f32>; 3]; 2],
    /// The gradients of y and b, of each piece of the rows.
    of_columns: Vec<[Vec<f32>; 4]>,
    of_b: Vec<f32>,
}

impl ByHand {
    fn new(x: &Array2<f32>, y: &Array2<f32>, b: Array1<f32>) -> Self {
        let apart = |x: &Array2<f32>| [0, 1, 2].map(|k| x.column(k).to_vec());
        let zeros = || vec![0.0; POINTS];
        let pieces = kernels::threads();
        Self {
            x: apart(x),
            y: apart(y),
            b: b.into_raw_vec_and_offset().0,
            sums: zeros(),
            gradients: [[zeros(), zeros(), zeros()], [zeros(), zeros(), zeros()]],
            of_columns: (0..pieces)
                .map(|_| [zeros(), zeros(), zeros(), zeros()])
                .collect(),
            of_b: zeros(),
        }
    }

    fn run(&mut self) -> [Duration; 2] {
        let (x, y, b) = (&self.x, &self.y, &self.b[..]);
        // The function has it as a value.
        let width = black_box(WIDTH);
        let (forward, ()) = timed(|| {
            split_mut(&mut self.sums, 1, 16, |first, sums| {
                sums.fill(0.0);
                for start in (0..POINTS).step_by(TILE) {
                    let at = start..start + TILE;
                    for (row, sum) in sums.iter_mut().enumerate() {
                        let point = [0, 1, 2].map(|k| x[k][first + row]);
                        let [p, q, r] = [0, 1, 2].map(|k| &y[k][at.clone()]);
                        kernel_sum(point, p, q, r, &b[at.clone()], width, sum);
                    }
                }
            });
        });
        let (backward, ()) = timed(|| {
            let [of_x, of_y] = &mut self.gradients;
            let pieces = self.of_columns.len();
            let rows = POINTS.div_ceil(pieces);
            let [u, v, w] = of_x;
            let of_rows = u
                .chunks_mut(rows)
                .zip(v.chunks_mut(rows))
                .zip(w.chunks_mut(rows));
            let mut work: Vec<_> = of_rows.zip(&mut self.of_columns).collect();
            split_mut(&mut work, 1, 1, |first, work| {
                for (piece, (((u, v), w), of_columns)) in work.iter_mut().enumerate() {
                    let offset = (first + piece) * rows;
                    for of_row in [&mut **u, &mut **v, &mut **w] {
                        of_row.fill(0.0);
                    }
                    for of_column in &mut **of_columns {
                        of_column.fill(0.0);
                    }
                    for start in (0..POINTS).step_by(TILE) {
                        let at = start..start + TILE;
                        let [p, q, r] = [0, 1, 2].map(|k| &y[k][at.clone()]);
                        let [a, c, d, e] = &mut **of_columns;
                        let mut columns = [a, c, d, e].map(|of| &mut of[at.clone()]);
                        for row in 0..u.len() {
                            let point = [0, 1, 2].map(|k| x[k][offset + row]);
                            let mut of_point = [0.0; 3];
                            let of_tile = [p, q, r, &b[at.clone()]];
                            kernel_gradients(point, of_tile, width, &mut of_point, &mut columns);
                            u[row] += of_point[0];
                            v[row] += of_point[1];
                            w[row] += of_point[2];
                        }
                    }
                }
            });
            let [a, c, d] = of_y;
            for (k, of) in [a, c, d, &mut self.of_b].into_iter().enumerate() {
                of.fill(0.0);
                for of_columns in &self.of_columns {
                    of.iter_mut()
                        .zip(&of_columns[k])
                        .for_each(|(of, part)| *of += part);
                }
            }
        });
        [forward, backward]
    }
}

/// The sums that run beside each other: so many fit the registers.
const LANES: usize = 16;

vectorized! {
    fn kernel_sum(
        point: [f32; 3],
        p: &[f32],
        q: &[f32],
        r: &[f32],
        b: &[f32],
        width: f32,
        sum: &mut f32,
    ) {
        let mut lanes = [0.0; LANES];
        let [p, q, r, b] = [p, q, r, b].map(|x| x.as_chunks::<LANES>().0);
        for (((p, q), r), b) in p.iter().zip(q).zip(r).zip(b) {
            for i in 0..LANES {
                let (u, v, w) = (point[0] - p[i], point[1] - q[i], point[2] - r[i]);
                lanes[i] += kernels::exp(-(u * u + v * v + w * w) / width) * b[i];
            }
        }
        *sum += lanes.iter().sum::<f32>();
    }
}

vectorized! {
    fn kernel_gradients(
        point: [f32; 3],
        columns: [&[f32]; 4],
        width: f32,
        of_point: &mut [f32; 3],
        of: &mut [&mut [f32]; 4],
    ) {
        let mut lanes = [[0.0; LANES]; 3];
        let [p, q, r, b] = columns.map(|x| x.as_chunks::<LANES>().0);
        let [of_p, of_q, of_r, of_b] = of;
        let [of_p, of_q, of_r, of_b] = [of_p, of_q, of_r, of_b].map(|x| x.as_chunks_mut::<LANES>().0);
        let columns = p.iter().zip(q).zip(r).zip(b);
        let results = of_p.iter_mut().zip(of_q).zip(of_r).zip(of_b);
        for ((((p, q), r), b), (((of_p, of_q), of_r), of_b)) in columns.zip(results) {
            for i in 0..LANES {
                let (u, v, w) = (point[0] - p[i], point[1] - q[i], point[2] - r[i]);
                let weight = kernels::exp(-(u * u + v * v + w * w) / width);
                let slope = weight * b[i] * (2.0 / width);
                of_b[i] += weight;
                of_p[i] += slope * u;
                of_q[i] += slope * v;
                of_r[i] += slope * w;
                lanes[0][i] -= slope * u;
                lanes[1][i] -= slope * v;
                lanes[2][i] -= slope * w;
            }
        }
        for (of, lanes) in of_point.iter_mut().zip(&lanes) {
            *of += lanes.iter().sum::<f32>();
        }
    }
}
