//! rows/rotate: a million points, each turned by its own axis-angle vector, as an elementwise function of rows.

use std::time::Duration;

use pullback::kernels::{self, split_mut};
use pullback::ndarray::Array2;
use pullback::prelude::*;

use crate::harness::{Filter, medians, report_both, timed};
use crate::vectorized::vectorized;

const ROWS: usize = 1_000_000;
const ROUNDS: usize = 31;
/// The number of rows by hand that a thread takes at a time.
const PIECE: usize = 1 << 14;

#[custom_function(elementwise)]
fn rotate<T: Real>(w: [T; 3], p: [T; 3]) -> [T; 3] {
    let cross = |a: [T; 3], b: [T; 3]| {
        [
            a[1] * b[2] - a[2] * b[1],
            a[2] * b[0] - a[0] * b[2],
            a[0] * b[1] - a[1] * b[0],
        ]
    };
    let angle2 = w[0] * w[0] + w[1] * w[1] + w[2] * w[2] + 1e-12;
    let angle = angle2.sqrt();
    let (a, b) = (angle.sin() / angle, (1.0 - angle.cos()) / angle2);
    let wp = cross(w, p);
    let wwp = cross(w, wp);
    [
        p[0] + a * wp[0] + b * wwp[0],
        p[1] + a * wp[1] + b * wwp[1],
        p[2] + a * wp[2] + b * wwp[2],
    ]
}

pub fn run(filter: &Filter) {
    if !filter.wants("rows/rotate") {
        return;
    }
    let (w, p) = (values(997, 2.0), values(1009, 1.0));
    let leaf = |x: &Array2<f32>| Tensor::from(x.view()).set_requires_grad(true);
    let leaves = [leaf(&w), leaf(&p)];
    let mut by_hand = ByHand::new(w, p);
    let gradient = Tensor::from(Array2::ones((ROWS, 3)));
    ours(&leaves, &gradient);
    by_hand.run();
    for (leaf, limits) in leaves.iter().zip(&by_hand.gradients) {
        let gradient = leaf.grad().expect("a gradient");
        for (ours, limit) in gradient.iter().zip(limits) {
            let close = (ours - limit).abs() <= 1e-4 * limit.abs().max(1.0);
            assert!(close, "{ours} is not {limit}");
        }
    }
    let (ours, limit) = medians(
        ROUNDS,
        || {
            for leaf in &leaves {
                leaf.zero_grad();
            }
            ours(&leaves, &gradient)
        },
        || by_hand.run(),
    );
    report_both("rows/rotate", ours, limit, ("ms", 1e6));
}

fn values(period: usize, size: f32) -> Array2<f32> {
    let at = |(row, k): (usize, usize)| (row * 3 + k * 31) % period;
    Array2::from_shape_fn((ROWS, 3), |place| {
        size * (at(place) as f32 / period as f32 - 0.4)
    })
}

fn ours([w, p]: &[Tensor2<f32>; 2], gradient: &Tensor2<f32>) -> [Duration; 2] {
    let (forward, turned) = timed(|| rotate(w, p));
    let (backward, ()) = timed(|| {
        let pass = Backward::of(&turned).seed(gradient);
        pass.run().expect("the graph is whole");
        drop(turned);
    });
    [forward, backward]
}

type Row = [f32; 3];

/// One loop for the points and one for the gradients, which are derived by hand, in buffers that are used again.
struct ByHand {
    inputs: [Vec<f32>; 2],
    turned: Vec<f32>,
    of_turned: Vec<f32>,
    gradients: [Vec<f32>; 2],
}

impl ByHand {
    fn new(w: Array2<f32>, p: Array2<f32>) -> Self {
        let ones = vec![1.0; 3 * ROWS];
        Self {
            inputs: [w, p].map(|x| x.into_raw_vec_and_offset().0),
            turned: ones.clone(),
            of_turned: ones.clone(),
            gradients: [ones.clone(), ones],
        }
    }

    fn run(&mut self) -> [Duration; 2] {
        let [w, p] = self.inputs.each_ref().map(|x| x.as_chunks::<3>().0);
        let (forward, ()) = timed(|| {
            let turned = self.turned.as_chunks_mut::<3>().0;
            split_mut(turned, 1, PIECE, |first, turned| {
                let at = first..first + turned.len();
                turn(&w[at.clone()], &p[at], turned);
            });
        });
        let (backward, ()) = timed(|| {
            let of_turned = self.of_turned.as_chunks::<3>().0;
            let [of_w, of_p] = &mut self.gradients;
            let of_w = of_w.as_chunks_mut::<3>().0.chunks_mut(PIECE);
            let of_p = of_p.as_chunks_mut::<3>().0.chunks_mut(PIECE);
            let mut pieces: Vec<_> = of_w.zip(of_p).collect();
            split_mut(&mut pieces, 1, 1, |first, pieces| {
                for (index, (of_w, of_p)) in pieces.iter_mut().enumerate() {
                    let start = (first + index) * PIECE;
                    let at = start..start + of_w.len();
                    gradients(&w[at.clone()], &p[at.clone()], &of_turned[at], of_w, of_p);
                }
            });
        });
        [forward, backward]
    }
}

vectorized! {
    fn turn(w: &[Row], p: &[Row], turned: &mut [Row]) {
        for ((turned, &[x, y, z]), &[p, q, r]) in turned.iter_mut().zip(w).zip(p) {
            let angle2 = x * x + y * y + z * z + 1e-12;
            let angle = angle2.sqrt();
            let (a, b) = (kernels::sin(angle) / angle, (1.0 - kernels::cos(angle)) / angle2);
            let (u, v, t) = (y * r - z * q, z * p - x * r, x * q - y * p);
            *turned = [
                p + a * u + b * (y * t - z * v),
                q + a * v + b * (z * u - x * t),
                r + a * t + b * (x * v - y * u),
            ];
        }
    }
}

vectorized! {
    fn gradients(w: &[Row], p: &[Row], of_turned: &[Row], of_w: &mut [Row], of_p: &mut [Row]) {
        let inputs = w.iter().zip(p).zip(of_turned);
        for ((of_w, of_p), ((&[x, y, z], &[p, q, r]), &[f, g, h])) in of_w.iter_mut().zip(of_p).zip(inputs) {
            let angle2 = x * x + y * y + z * z + 1e-12;
            let angle = angle2.sqrt();
            let (sin, cos) = (kernels::sin(angle), kernels::cos(angle));
            let (inverse, inverse2) = (1.0 / angle, 1.0 / angle2);
            let (a, b) = (sin * inverse, (1.0 - cos) * inverse2);
            // w × p, w × (w × p) and w × g.
            let (u, v, t) = (y * r - z * q, z * p - x * r, x * q - y * p);
            let (uu, vv, tt) = (y * t - z * v, z * u - x * t, x * v - y * u);
            let (k, l, m) = (y * h - z * g, z * f - x * h, x * g - y * f);
            // g · (w × p) and g · (w × (w × p)), times the derivatives of a and b by the angle, over the angle.
            let along = f * u + g * v + h * t;
            let along2 = f * uu + g * vv + h * tt;
            let slope_a = (cos - a) * inverse2;
            let slope_b = (a - 2.0 * b) * inverse2;
            let radial = slope_a * along + slope_b * along2;
            // The transposes: −w × g, and w × (w × g).
            let (kk, ll, mm) = (y * m - z * l, z * k - x * m, x * l - y * k);
            *of_p = [f - a * k + b * kk, g - a * l + b * ll, h - a * m + b * mm];
            // Of w × p: p × g. Of w × (w × p) = w (w·p) − p (w·w): g (w·p) + p (w·g) − 2 w (p·g).
            let (wp, wg, pg) = (x * p + y * q + z * r, x * f + y * g + z * h, p * f + q * g + r * h);
            let scale = radial - 2.0 * b * pg;
            *of_w = [
                a * (q * h - r * g) + b * (f * wp + p * wg) + x * scale,
                a * (r * f - p * h) + b * (g * wp + q * wg) + y * scale,
                a * (p * g - q * f) + b * (h * wp + r * wg) + z * scale,
            ];
        }
    }
}
