//! scan/selective: Mamba's selective scan, forward and backward: rows of 16 numbers as states. scan/slices: the same, with
//! rows of any length. scan/branches: the same, where lanes take one of two branches.

use std::time::Duration;

use pullback::kernels;
use pullback::ndarray::{Array, Array1, Array2, Array3};
use pullback::prelude::*;

use crate::harness::{Filter, medians, report_both, timed};
use crate::vectorized::vectorized;

const STEPS: usize = 2_048;
const CHANNELS: usize = 512;
const N: usize = 16;
const ROUNDS: usize = 7;

/// Defines the scan, of a formula of the skipped input.
macro_rules! of_rows {
    ($name:ident, |$d:ident, $x:ident| $skip:expr) => {
        #[custom_function(scan, outputs(last, y))]
        fn $name<T: Real>(
            #[state] h: [T; N],
            #[step] delta: T,
            #[step] $x: T,
            #[step] b: [T; N],
            #[step] c: [T; N],
            a: [T; N],
            $d: T,
        ) -> ([T; N], T) {
            let (mut next, mut y) = (h, $skip);
            for n in 0..N {
                next[n] = (delta * a[n]).exp() * h[n] + delta * b[n] * $x;
                y += c[n] * next[n];
            }
            (next, y)
        }
    };
}

of_rows!(selective, |d, x| d * x);
// The same numbers, in two ways.
of_rows!(of_branches, |d, x| if x > 0.0 { d * x } else { -(d * -x) });

#[custom_function(scan, outputs(last, y))]
fn of_slices<T: Real>(
    #[state] h: &mut [T],
    #[step] delta: T,
    #[step] x: T,
    #[step] b: &[T],
    #[step] c: &[T],
    a: &[T],
    d: T,
) -> T {
    let mut y = d * x;
    for n in 0..h.len() {
        h[n] = (delta * a[n]).exp() * h[n] + delta * b[n] * x;
        y += c[n] * h[n];
    }
    y
}

/// The tensors; `b` and `c` are those of all channels.
struct Leaves {
    h: Tensor2<f32>,
    delta: Tensor2<f32>,
    x: Tensor2<f32>,
    b: Tensor3<f32>,
    c: Tensor3<f32>,
    a: Tensor2<f32>,
    d: Tensor1<f32>,
}

pub fn run(filter: &Filter) {
    type Of = fn(&Leaves) -> Tensor2<f32>;
    let functions: [(&str, Of); 3] = [
        ("scan/selective", |of| {
            selective(&of.h, &of.delta, &of.x, &of.b, &of.c, &of.a, &of.d).1
        }),
        ("scan/slices", |of| {
            of_slices(&of.h, &of.delta, &of.x, &of.b, &of.c, &of.a, &of.d).1
        }),
        ("scan/branches", |of| {
            of_branches(&of.h, &of.delta, &of.x, &of.b, &of.c, &of.a, &of.d).1
        }),
    ];
    for (name, function) in functions {
        if filter.wants(name) {
            compare(name, function);
        }
    }
}

fn compare(name: &str, function: impl Fn(&Leaves) -> Tensor2<f32>) {
    let number = |place: usize| ((place * 7 + 31) % 997) as f32 / 997.0;
    let of_steps = |start: f32| {
        Array2::from_shape_fn((STEPS, CHANNELS), |(step, channel)| {
            start + number(step * 13 + channel)
        })
    };
    let of_rows = |factor: usize| {
        Array3::from_shape_fn((STEPS, 1, N), |(step, _, n)| {
            number(step * factor + n * 41) - 0.5
        })
    };
    let mut by_hand = ByHand::new(
        of_steps(0.1),
        of_steps(-0.5),
        [of_rows(3), of_rows(5)],
        Array2::from_shape_fn((CHANNELS, N), |(channel, n)| -0.5 - number(channel * 3 + n)),
        Array1::from_shape_fn(CHANNELS, number),
    );
    let leaves = by_hand.leaves();
    let gradient = Tensor::from(Array2::ones((STEPS, CHANNELS)));
    ours(&function, &leaves, &gradient);
    by_hand.run();
    check("delta", &leaves.delta, &by_hand.of_delta);
    check("x", &leaves.x, &by_hand.of_x);
    check("b", &leaves.b, &by_hand.of_b);
    check("c", &leaves.c, &by_hand.of_c);
    check("a", &leaves.a, &by_hand.of_a);
    check("d", &leaves.d, &by_hand.of_d);
    check("h", &leaves.h, &by_hand.of_h);
    let (ours, limit) = medians(
        ROUNDS,
        || {
            leaves.zero_grad();
            ours(&function, &leaves, &gradient)
        },
        || by_hand.run(),
    );
    report_both(name, ours, limit, ("ms", 1e6));
}

fn check<D: pullback::ndarray::Dimension>(name: &str, leaf: &Tensor<f32, D>, limits: &[f32]) {
    let gradient: Array<f32, D> = leaf.grad().expect("a gradient");
    let largest = limits
        .iter()
        .fold(1.0_f32, |most, limit| most.max(limit.abs()));
    for (ours, limit) in gradient.iter().zip(limits) {
        let close = (ours - limit).abs() <= 1e-4 * largest;
        assert!(close, "{name}: {ours} is not {limit}");
    }
}

fn ours(
    function: impl Fn(&Leaves) -> Tensor2<f32>,
    leaves: &Leaves,
    gradient: &Tensor2<f32>,
) -> [Duration; 2] {
    let (forward, y) = timed(|| function(leaves));
    let (backward, ()) = timed(|| {
        let pass = Backward::of(&y).seed(gradient);
        pass.run().expect("the graph is whole");
        drop(y);
    });
    [forward, backward]
}

impl Leaves {
    fn zero_grad(&self) {
        let Self {
            h,
            delta,
            x,
            b,
            c,
            a,
            d,
        } = self;
        h.zero_grad();
        delta.zero_grad();
        x.zero_grad();
        b.zero_grad();
        c.zero_grad();
        a.zero_grad();
        d.zero_grad();
    }
}

/// A loop over the steps, which keeps all states, and one back, derived by hand, in buffers that are used again.
struct ByHand {
    delta: Array2<f32>,
    x: Array2<f32>,
    rows: [Array3<f32>; 2],
    a: Array2<f32>,
    d: Array1<f32>,
    states: Vec<f32>,
    y: Vec<f32>,
    of_h: Vec<f32>,
    of_delta: Vec<f32>,
    of_x: Vec<f32>,
    of_b: Vec<f32>,
    of_c: Vec<f32>,
    of_a: Vec<f32>,
    of_d: Vec<f32>,
}

impl ByHand {
    fn new(
        delta: Array2<f32>,
        x: Array2<f32>,
        rows: [Array3<f32>; 2],
        a: Array2<f32>,
        d: Array1<f32>,
    ) -> Self {
        let buffer = |length: usize| vec![1.0; length];
        Self {
            delta,
            x,
            rows,
            a,
            d,
            states: buffer((STEPS + 1) * CHANNELS * N),
            y: buffer(STEPS * CHANNELS),
            of_h: buffer(CHANNELS * N),
            of_delta: buffer(STEPS * CHANNELS),
            of_x: buffer(STEPS * CHANNELS),
            of_b: buffer(STEPS * N),
            of_c: buffer(STEPS * N),
            of_a: buffer(CHANNELS * N),
            of_d: buffer(CHANNELS),
        }
    }

    fn leaves(&self) -> Leaves {
        Leaves {
            h: Tensor::from(Array2::zeros((CHANNELS, N))).set_requires_grad(true),
            delta: Tensor::from(self.delta.view()).set_requires_grad(true),
            x: Tensor::from(self.x.view()).set_requires_grad(true),
            b: Tensor::from(self.rows[0].view()).set_requires_grad(true),
            c: Tensor::from(self.rows[1].view()).set_requires_grad(true),
            a: Tensor::from(self.a.view()).set_requires_grad(true),
            d: Tensor::from(self.d.view()).set_requires_grad(true),
        }
    }

    fn run(&mut self) -> [Duration; 2] {
        fn slice<D: pullback::ndarray::Dimension>(array: &Array<f32, D>) -> &[f32] {
            array.as_slice().expect("in row-major order")
        }
        let (delta, x, a, d) = (
            slice(&self.delta),
            slice(&self.x),
            slice(&self.a),
            slice(&self.d),
        );
        let (b, c) = (slice(&self.rows[0]), slice(&self.rows[1]));
        let (forward, ()) = timed(|| {
            self.states[..CHANNELS * N].fill(0.0);
            forward((delta, x), (b, c), (a, d), &mut self.states, &mut self.y);
        });
        let (backward, ()) = timed(|| {
            for sums in [
                &mut self.of_h,
                &mut self.of_b,
                &mut self.of_c,
                &mut self.of_a,
                &mut self.of_d,
            ] {
                sums.fill(0.0);
            }
            backward(
                (delta, x, &self.states),
                (b, c),
                (a, d),
                (&mut self.of_h, &mut self.of_delta, &mut self.of_x),
                (&mut self.of_b, &mut self.of_c),
                (&mut self.of_a, &mut self.of_d),
            );
        });
        [forward, backward]
    }
}

/// Returns the row of a number.
fn row(elements: &[f32], number: usize) -> &[f32; N] {
    elements[number * N..].first_chunk().expect("a row")
}

fn row_mut(elements: &mut [f32], number: usize) -> &mut [f32; N] {
    elements[number * N..].first_chunk_mut().expect("a row")
}

vectorized! {
    fn forward(
        steps: (&[f32], &[f32]),
        rows: (&[f32], &[f32]),
        shared: (&[f32], &[f32]),
        states: &mut [f32],
        y: &mut [f32],
    ) {
        let ((delta, x), (b, c), (a, d)) = (steps, rows, shared);
        for step in 0..STEPS {
            let (before, after) = states[step * CHANNELS * N..].split_at_mut(CHANNELS * N);
            let (b, c) = (row(b, step), row(c, step));
            for (channel, &skipped) in d.iter().enumerate() {
                let place = step * CHANNELS + channel;
                let (delta, x) = (delta[place], x[place]);
                let (h, a) = (row(before, channel), row(a, channel));
                let next = row_mut(after, channel);
                let mut products = [0.0; N];
                for n in 0..N {
                    next[n] = kernels::exp(delta * a[n]) * h[n] + delta * b[n] * x;
                    products[n] = c[n] * next[n];
                }
                y[place] = skipped * x + products.iter().sum::<f32>();
            }
        }
    }
}

vectorized! {
    fn backward(
        steps: (&[f32], &[f32], &[f32]),
        rows: (&[f32], &[f32]),
        shared: (&[f32], &[f32]),
        of_steps: (&mut [f32], &mut [f32], &mut [f32]),
        of_rows: (&mut [f32], &mut [f32]),
        of_shared: (&mut [f32], &mut [f32]),
    ) {
        let ((delta, x, states), (b, c), (a, d)) = (steps, rows, shared);
        let ((of_h, of_delta, of_x), (of_b, of_c), (of_a, of_d)) = (of_steps, of_rows, of_shared);
        for step in (0..STEPS).rev() {
            let (b, c) = (row(b, step), row(c, step));
            let (of_b, of_c) = (row_mut(of_b, step), row_mut(of_c, step));
            for channel in 0..CHANNELS {
                let place = step * CHANNELS + channel;
                let (delta, x) = (delta[place], x[place]);
                let (before, after) = (row(states, place), row(states, place + CHANNELS));
                let (a, of_a) = (row(a, channel), row_mut(of_a, channel));
                let of_h = row_mut(of_h, channel);
                let (mut for_delta, mut for_x) = ([0.0; N], [0.0; N]);
                for n in 0..N {
                    let of_next = of_h[n] + c[n];
                    let decay = kernels::exp(delta * a[n]);
                    let kept = of_next * decay * before[n];
                    of_c[n] += after[n];
                    of_b[n] += of_next * delta * x;
                    of_a[n] += kept * delta;
                    for_delta[n] = kept * a[n] + of_next * b[n] * x;
                    for_x[n] = of_next * delta * b[n];
                    of_h[n] = of_next * decay;
                }
                of_delta[place] = for_delta.iter().sum();
                of_x[place] = d[channel] + for_x.iter().sum::<f32>();
                of_d[channel] += x;
            }
        }
    }
}
