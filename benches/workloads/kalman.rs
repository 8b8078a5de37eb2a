//! scan/kalman: a Kalman filter of a place and a velocity, forward and backward: nine numbers, whose derivatives
//! the macro writes in reverse.

use std::time::Duration;

use pullback::kernels;
use pullback::ndarray::{Array1, Array2};
use pullback::prelude::*;

use crate::harness::{Filter, medians, report_both, timed};
use crate::vectorized::vectorized;

const NAME: &str = "scan/kalman";
const STEPS: usize = 256;
const LANES: usize = 1_024;
/// The place and the velocity, and their covariance.
const STATES: usize = 6;
const ROW: usize = STATES * LANES;
const DT: f32 = 0.1;
const ROUNDS: usize = 15;

#[custom_function(scan, outputs(last_x, last_p, likelihood))]
fn kalman<T: Real>(
    #[state] x: [T; 2],
    #[state] p: [T; 4],
    #[step] z: T,
    q: T,
    r: T,
    dt: f64,
) -> ([T; 2], [T; 4], T) {
    let x = [x[0] + dt * x[1], x[1]];
    let (above, below) = (p[1] + dt * p[3], p[2] + dt * p[3]);
    let p = [
        p[0] + dt * (p[1] + below) + q * (dt * dt * dt / 3.0),
        above + q * (dt * dt / 2.0),
        below + q * (dt * dt / 2.0),
        p[3] + q * dt,
    ];
    let spread = p[0] + r;
    let off = z - x[0];
    let gain = [p[0] / spread, p[2] / spread];
    (
        [x[0] + gain[0] * off, x[1] + gain[1] * off],
        [
            p[0] - gain[0] * p[0],
            p[1] - gain[0] * p[1],
            p[2] - gain[1] * p[0],
            p[3] - gain[1] * p[1],
        ],
        -0.5 * (spread.ln() + off * off / spread),
    )
}

struct Leaves {
    x: Tensor2<f32>,
    p: Tensor2<f32>,
    z: Tensor2<f32>,
    q: Tensor1<f32>,
    r: Tensor1<f32>,
}

pub fn run(filter: &Filter) {
    if !filter.wants(NAME) {
        return;
    }
    let mut by_hand = ByHand::new();
    let leaves = by_hand.leaves();
    ours(&leaves);
    by_hand.run();
    let of_z = leaves.z.grad().expect("a gradient");
    let of_r = leaves.r.grad().expect("a gradient");
    let found = of_z.iter().chain(&of_r);
    for (ours, limit) in found.zip(by_hand.of_z.iter().chain([&by_hand.of_r])) {
        let close = (ours - limit).abs() <= 1e-3 * (1.0 + limit.abs());
        assert!(close, "{ours} is not {limit}");
    }
    let (ours, limit) = medians(
        ROUNDS,
        || {
            leaves.x.zero_grad();
            leaves.p.zero_grad();
            leaves.z.zero_grad();
            leaves.q.zero_grad();
            leaves.r.zero_grad();
            ours(&leaves)
        },
        || by_hand.run(),
    );
    report_both(NAME, ours, limit, ("ms", 1e6));
}

fn ours(leaves: &Leaves) -> [Duration; 2] {
    let Leaves { x, p, z, q, r } = leaves;
    let (forward, sum) = timed(|| kalman(x, p, z, q, r, f64::from(DT)).2.sum());
    let (backward, ()) = timed(|| sum.backward().expect("the graph is whole"));
    [forward, backward]
}

/// A loop over the steps, which keeps all states, and one back, derived by hand, in buffers that are used again.
struct ByHand {
    z: Vec<f32>,
    q: f32,
    r: f32,
    states: Vec<f32>,
    likelihood: Vec<f32>,
    adjoints: Vec<f32>,
    of_z: Vec<f32>,
    of_shared: Vec<f32>,
    of_r: f32,
}

impl ByHand {
    fn new() -> Self {
        let number = |place: usize| ((place * 7 + 31) % 997) as f32 / 997.0 - 0.5;
        let mut states = vec![0.0; (STEPS + 1) * ROW];
        for variance in [2, 5] {
            states[variance * LANES..][..LANES].fill(1.0);
        }
        Self {
            z: (0..STEPS * LANES).map(number).collect(),
            q: 0.1,
            r: 0.5,
            states,
            likelihood: vec![0.0; STEPS * LANES],
            adjoints: vec![0.0; ROW],
            of_z: vec![0.0; STEPS * LANES],
            of_shared: vec![0.0; 2 * LANES],
            of_r: 0.0,
        }
    }

    fn leaves(&self) -> Leaves {
        let z = Array2::from_shape_vec((STEPS, LANES), self.z.clone());
        let p = Array2::from_shape_fn((LANES, 4), |(_, entry)| f32::from(entry % 3 == 0));
        Leaves {
            x: Tensor::from(Array2::zeros((LANES, 2))).set_requires_grad(true),
            p: Tensor::from(p).set_requires_grad(true),
            z: Tensor::from(z.expect("as many numbers")).set_requires_grad(true),
            q: Tensor::from(Array1::from_elem(1, self.q)).set_requires_grad(true),
            r: Tensor::from(Array1::from_elem(1, self.r)).set_requires_grad(true),
        }
    }

    fn run(&mut self) -> [Duration; 2] {
        let Self { q, r, .. } = *self;
        let (forward, ()) = timed(|| {
            forward(&self.z, (q, r), &mut self.states, &mut self.likelihood);
        });
        let (backward, ()) = timed(|| {
            self.adjoints.fill(0.0);
            self.of_shared.fill(0.0);
            backward(
                (&self.z, &self.states),
                (q, r),
                &mut self.adjoints,
                &mut self.of_z,
                &mut self.of_shared,
            );
            self.of_r = self.of_shared[LANES..].iter().sum();
        });
        [forward, backward]
    }
}

/// Returns the lanes of each number of a row.
fn lanes<const N: usize>(row: &[f32]) -> [&[f32; LANES]; N] {
    std::array::from_fn(|number| row[number * LANES..].first_chunk().expect("lanes"))
}

fn lanes_mut<const N: usize>(row: &mut [f32]) -> [&mut [f32; LANES]; N] {
    let mut rest = row.chunks_exact_mut(LANES);
    std::array::from_fn(|_| {
        let lanes = rest.next().and_then(|lanes| lanes.first_chunk_mut());
        lanes.expect("lanes")
    })
}

vectorized! {
    fn forward(z: &[f32], shared: (f32, f32), states: &mut [f32], likelihood: &mut [f32]) {
        let (q, r) = shared;
        for step in 0..STEPS {
            let (before, after) = states[step * ROW..].split_at_mut(ROW);
            let [x0, x1, p0, p1, p2, p3] = lanes(before);
            let [y0, y1, s0, s1, s2, s3] = lanes_mut(after);
            let ([z], [l]) = (lanes(&z[step * LANES..]), lanes_mut(&mut likelihood[step * LANES..]));
            for i in 0..LANES {
                let x = x0[i] + DT * x1[i];
                let (above, below) = (p1[i] + DT * p3[i], p2[i] + DT * p3[i]);
                let a = p0[i] + DT * (p1[i] + below) + q * (DT * DT * DT / 3.0);
                let (b, c) = (above + q * (DT * DT / 2.0), below + q * (DT * DT / 2.0));
                let spread = a + r;
                let off = z[i] - x;
                let (k0, k1) = (a / spread, c / spread);
                (y0[i], y1[i]) = (x + k0 * off, x1[i] + k1 * off);
                (s0[i], s1[i]) = (a - k0 * a, b - k0 * b);
                (s2[i], s3[i]) = (c - k1 * a, p3[i] + q * DT - k1 * b);
                l[i] = -0.5 * (kernels::ln(spread) + off * off / spread);
            }
        }
    }
}

vectorized! {
    fn backward(
        kept: (&[f32], &[f32]),
        shared: (f32, f32),
        adjoints: &mut [f32],
        of_z: &mut [f32],
        of_shared: &mut [f32],
    ) {
        let ((z, states), (q, r)) = (kept, shared);
        let [g0, g1, h0, h1, h2, h3] = lanes_mut(adjoints);
        let [of_q, of_r] = lanes_mut(of_shared);
        for step in (0..STEPS).rev() {
            let [x0, x1, p0, p1, p2, p3] = lanes(&states[step * ROW..]);
            let ([z], [of_z]) = (lanes(&z[step * LANES..]), lanes_mut(&mut of_z[step * LANES..]));
            for i in 0..LANES {
                let x = x0[i] + DT * x1[i];
                let (above, below) = (p1[i] + DT * p3[i], p2[i] + DT * p3[i]);
                let a = p0[i] + DT * (p1[i] + below) + q * (DT * DT * DT / 3.0);
                let (b, c) = (above + q * (DT * DT / 2.0), below + q * (DT * DT / 2.0));
                let inverse = 1.0 / (a + r);
                let off = z[i] - x;
                let (k0, k1) = (a * inverse, c * inverse);
                let of_k0 = g0[i] * off - h0[i] * a - h1[i] * b;
                let of_k1 = g1[i] * off - h2[i] * a - h3[i] * b;
                let of_off = g0[i] * k0 + g1[i] * k1 - off * inverse;
                let of_spread = -0.5 * (inverse - off * off * inverse * inverse)
                    - (of_k0 * k0 + of_k1 * k1) * inverse;
                let of_a = h0[i] * (1.0 - k0) - h2[i] * k1 + of_k0 * inverse + of_spread;
                let of_b = h1[i] * (1.0 - k0) - h3[i] * k1;
                let of_c = h2[i] + of_k1 * inverse;
                of_z[i] = of_off;
                of_q[i] += of_a * (DT * DT * DT / 3.0) + (of_b + of_c) * (DT * DT / 2.0) + h3[i] * DT;
                of_r[i] += of_spread;
                let of_x = g0[i] - of_off;
                (g0[i], g1[i]) = (of_x, g1[i] + DT * of_x);
                let of_below = of_c + DT * of_a;
                h3[i] += DT * of_b + DT * of_below;
                (h0[i], h1[i], h2[i]) = (of_a, of_b + DT * of_a, of_below);
            }
        }
    }
}
