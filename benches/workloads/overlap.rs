//! pairs/overlap: how much each of 4,000 boxes overlaps each of 4,000 others with a weight: nine numbers and branches, as a
//! function of pairs.

use std::time::Duration;

use pullback::kernels::{self, split_mut};
use pullback::ndarray::{Array1, Array2};
use pullback::prelude::*;

use crate::harness::{Filter, medians, report_both, timed};
use crate::vectorized::vectorized;

const BOXES: usize = 4000;
const ROUNDS: usize = 15;

#[custom_function(pairs)]
fn overlap<T: Real>(#[row] x: [T; 4], #[column] y: [T; 4], #[column] weight: T) -> T {
    let left = if x[0] > y[0] { x[0] } else { y[0] };
    let top = if x[1] > y[1] { x[1] } else { y[1] };
    let right = if x[2] < y[2] { x[2] } else { y[2] };
    let bottom = if x[3] < y[3] { x[3] } else { y[3] };
    let (width, height) = (right - left, bottom - top);
    if width <= 0.0 || height <= 0.0 {
        return T::from(0.0);
    }
    let area = |x: [T; 4]| (x[2] - x[0]) * (x[3] - x[1]);
    let common = width * height;
    weight * common / (area(x) + area(y) - common)
}

pub fn run(filter: &Filter) {
    if !filter.wants("pairs/overlap") {
        return;
    }
    let boxes = |period: usize| {
        Array2::from_shape_fn((BOXES, 4), |(i, k)| {
            let at = |k: usize| ((i * 7 + k * 31) % period) as f32 / period as f32;
            at(k % 2) + if k < 2 { 0.0 } else { 0.1 + 0.3 * at(k) }
        })
    };
    let (x, y) = (boxes(997), boxes(1009));
    let weight = Array1::from_shape_fn(BOXES, |j| (j % 17) as f32 / 17.0 - 0.5);
    let leaf = |x: &Array2<f32>| Tensor::from(x.view()).set_requires_grad(true);
    let (u, v) = (leaf(&x), leaf(&y));
    let w = Tensor::from(weight.view()).set_requires_grad(true);
    let mut by_hand = ByHand::new(&x, &y, weight);
    let ours = || {
        let (forward, sums) = timed(|| overlap(&u, &v, &w));
        let (backward, ()) = timed(|| {
            let ones = Array1::ones(BOXES);
            sums.backward_with(ones).expect("the graph is whole");
        });
        [forward, backward]
    };
    ours();
    by_hand.run();
    let of_weight = w.grad().expect("a gradient").into_dyn();
    let of_boxes = [&u, &v].map(|leaf| leaf.grad().expect("a gradient"));
    for k in 0..4 {
        let found = of_boxes.each_ref().map(|of| of.column(k).to_vec());
        let limits = [&by_hand.of_rows[k], &by_hand.of_columns[k]];
        for (found, limit) in found.iter().zip(limits) {
            check(found, limit);
        }
    }
    check(
        &of_weight.iter().copied().collect::<Vec<_>>(),
        &by_hand.of_columns[4],
    );
    let (ours, limit) = medians(
        ROUNDS,
        || {
            u.zero_grad();
            v.zero_grad();
            w.zero_grad();
            ours()
        },
        || by_hand.run(),
    );
    report_both("pairs/overlap", ours, limit, ("ms", 1e6));
}

fn check(found: &[f32], limits: &[f32]) {
    for (found, limit) in found.iter().zip(limits) {
        let close = (found - limit).abs() <= 1e-3 * limit.abs().max(10.0);
        assert!(close, "{found} is not {limit}");
    }
}

/// Loops over rows and columns, with the gradients derived by hand, in buffers that are used again. Those of columns are
/// summed for each thread.
struct ByHand {
    x: [Vec<f32>; 4],
    /// The columns, and their weights.
    y: [Vec<f32>; 5],
    sums: Vec<f32>,
    of_rows: [Vec<f32>; 4],
    of_columns: [Vec<f32>; 5],
    /// Of each thread.
    parts: Vec<[Vec<f32>; 5]>,
}

impl ByHand {
    fn new(x: &Array2<f32>, y: &Array2<f32>, weight: Array1<f32>) -> Self {
        let of = |x: &Array2<f32>, k: usize| x.column(k).to_vec();
        let zeros = || vec![0.0; BOXES];
        let of_columns = || [zeros(), zeros(), zeros(), zeros(), zeros()];
        Self {
            x: [0, 1, 2, 3].map(|k| of(x, k)),
            y: [of(y, 0), of(y, 1), of(y, 2), of(y, 3), weight.to_vec()],
            sums: zeros(),
            of_rows: [zeros(), zeros(), zeros(), zeros()],
            of_columns: of_columns(),
            parts: (0..kernels::threads()).map(|_| of_columns()).collect(),
        }
    }

    fn run(&mut self) -> [Duration; 2] {
        let (x, y) = (&self.x, self.y.each_ref().map(|y| &y[..]));
        let (forward, ()) = timed(|| {
            split_mut(&mut self.sums, 1, 16, |first, sums| {
                for (row, sum) in sums.iter_mut().enumerate() {
                    *sum = 0.0;
                    overlaps(x.each_ref().map(|x| x[first + row]), y, sum);
                }
            });
        });
        let (backward, ()) = timed(|| {
            let rows = BOXES.div_ceil(self.parts.len());
            let [a, b, c, d] = &mut self.of_rows;
            let of_rows = a.chunks_mut(rows).zip(b.chunks_mut(rows));
            let of_rows = of_rows.zip(c.chunks_mut(rows)).zip(d.chunks_mut(rows));
            let mut work: Vec<_> = of_rows.zip(&mut self.parts).collect();
            split_mut(&mut work, 1, 1, |first, work| {
                for (piece, ((((a, b), c), d), part)) in work.iter_mut().enumerate() {
                    let mut of_columns = part.each_mut().map(|of| &mut of[..]);
                    for of in &mut of_columns {
                        of.fill(0.0);
                    }
                    for row in 0..a.len() {
                        let own = x.each_ref().map(|x| x[(first + piece) * rows + row]);
                        let mut sums = [0.0; 4];
                        gradients(own, y, &mut sums, &mut of_columns);
                        [a[row], b[row], c[row], d[row]] = sums;
                    }
                }
            });
            for (k, of) in self.of_columns.iter_mut().enumerate() {
                of.fill(0.0);
                for part in &self.parts {
                    of.iter_mut()
                        .zip(&part[k])
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
    fn overlaps(x: [f32; 4], columns: [&[f32]; 5], sum: &mut f32) {
        let mut lanes = [0.0; LANES];
        let own = (x[2] - x[0]) * (x[3] - x[1]);
        let [a, b, c, d, weight] = columns.map(|y| y.as_chunks::<LANES>().0);
        for ((((a, b), c), d), weight) in a.iter().zip(b).zip(c).zip(d).zip(weight) {
            for i in 0..LANES {
                let width = (if x[2] < c[i] { x[2] } else { c[i] }) - if x[0] > a[i] { x[0] } else { a[i] };
                let height = (if x[3] < d[i] { x[3] } else { d[i] }) - if x[1] > b[i] { x[1] } else { b[i] };
                let common = width * height;
                let all = own + (c[i] - a[i]) * (d[i] - b[i]) - common;
                let share = weight[i] * common / all;
                lanes[i] += if width > 0.0 && height > 0.0 { share } else { 0.0 };
            }
        }
        *sum += lanes.iter().sum::<f32>();
    }
}

vectorized! {
    fn gradients(x: [f32; 4], columns: [&[f32]; 5], of_row: &mut [f32; 4], of: &mut [&mut [f32]; 5]) {
        let mut lanes = [[0.0; LANES]; 4];
        let sides = [x[2] - x[0], x[3] - x[1]];
        let [a, b, c, d, weight] = columns.map(|y| y.as_chunks::<LANES>().0);
        let [of_a, of_b, of_c, of_d, of_weight] = of;
        let [of_a, of_b, of_c, of_d, of_weight] =
            [of_a, of_b, of_c, of_d, of_weight].map(|of| of.as_chunks_mut::<LANES>().0);
        let columns = a.iter().zip(b).zip(c).zip(d).zip(weight);
        let results = of_a.iter_mut().zip(of_b).zip(of_c).zip(of_d).zip(of_weight);
        for (((((a, b), c), d), weight), ((((of_a, of_b), of_c), of_d), of_weight)) in columns.zip(results) {
            for i in 0..LANES {
                let (is_left, is_top) = (x[0] > a[i], x[1] > b[i]);
                let (is_right, is_bottom) = (x[2] < c[i], x[3] < d[i]);
                let width = (if is_right { x[2] } else { c[i] }) - if is_left { x[0] } else { a[i] };
                let height = (if is_bottom { x[3] } else { d[i] }) - if is_top { x[1] } else { b[i] };
                let other = [c[i] - a[i], d[i] - b[i]];
                let common = width * height;
                let inverse = 1.0 / (sides[0] * sides[1] + other[0] * other[1] - common);
                let share = common * inverse;
                let is_common = width > 0.0 && height > 0.0;
                let slope = if is_common { weight[i] * inverse } else { 0.0 };
                // Of the area that is common, and of both.
                let (of_common, of_area) = (slope + slope * share, -slope * share);
                let (of_width, of_height) = (of_common * height, of_common * width);
                let [u, v] = [of_area * sides[1], of_area * sides[0]];
                let [p, q] = [of_area * other[1], of_area * other[0]];
                lanes[0][i] -= u + if is_left { of_width } else { 0.0 };
                lanes[1][i] -= v + if is_top { of_height } else { 0.0 };
                lanes[2][i] += u + if is_right { of_width } else { 0.0 };
                lanes[3][i] += v + if is_bottom { of_height } else { 0.0 };
                of_a[i] -= p + if is_left { 0.0 } else { of_width };
                of_b[i] -= q + if is_top { 0.0 } else { of_height };
                of_c[i] += p + if is_right { 0.0 } else { of_width };
                of_d[i] += q + if is_bottom { 0.0 } else { of_height };
                of_weight[i] += if is_common { share } else { 0.0 };
            }
        }
        for (of, lanes) in of_row.iter_mut().zip(&lanes) {
            *of += lanes.iter().sum::<f32>();
        }
    }
}
