//! The selective scan of Mamba (Gu and Dao, 2023) on the CPU, with gradients.

use std::marker::PhantomData;

use pullback::kernels::{exp, map_in_place, split_mut};
use pullback::ndarray::{
    Array, Array2, Array3, Array4, ArrayBase, ArrayView, ArrayView1, ArrayView2, ArrayView3,
    ArrayView4, Axis, CowArray, Data, Dimension, Ix3, Ix4,
};
use pullback::prelude::*;

/// The steps of which only the first state is saved: backward computes the others again.
const SEGMENT: usize = 32;
/// The parts into which backward cuts the lanes of an example, each with gradients of `b` and `c` of its own. A constant,
/// so that sums have the same order on any number of threads.
const PARTS: usize = 4;
/// The products of a lane that are worth a thread.
const WORTH: usize = 1 << 14;

/// y[l] = Σₙ c[n, l]·x[n, l] + skip·u[l], for the states x[n, l] = exp(delta[l]·a[n])·x[n, l−1] + delta[l]·b[n, l]·u[l].
#[derive(Debug)]
pub struct SelectiveScan<T>(PhantomData<T>);

#[custom_function(
    shapes(
        u = [batch, dim, length],
        delta = [batch, dim, length],
        a = [dim, states],
        b = [batch, states, length],
        c = [batch, states, length],
        skip = [dim],
        y = [batch, dim, length],
    ),
    gradcheck(batch = 2, dim = 2, length = 4, states = 3),
)]
impl<T: Element> SelectiveScan<T> {
    /// Returns y of every channel: u and delta are [batch, dim, length], a is [dim, states], b and c are [batch, states,
    /// length], skip is [dim].
    ///
    /// Per channel of an example, y[l] = Σₙ c[n, l]·x[n, l] + skip·u[l], for the states x[n, l] =
    /// exp(delta[l]·a[n])·x[n, l−1] + delta[l]·b[n, l]·u[l]. The arguments are those of `selective_scan_fn` in
    /// mamba-ssm; softplus of delta and the gate are operations of the framework.
    #[forward(outputs(y), saves(starts))]
    pub fn forward(
        u: ArrayView3<T>,
        delta: ArrayView3<T>,
        a: ArrayView2<T>,
        b: ArrayView3<T>,
        c: ArrayView3<T>,
        skip: Option<ArrayView1<T>>,
    ) -> (Array3<T>, Array4<T>) {
        let inputs = Inputs::of(u, delta, a, b, c, skip);
        let [batch, dim, length, states] = inputs.lengths;
        let segments = length.div_ceil(SEGMENT);
        let mut y = Array3::zeros((batch, dim, length));
        let mut starts = Array4::zeros((batch, dim, segments, states));
        let mut lanes: Vec<_> = rows(&mut y, length)
            .zip(rows(&mut starts, segments * states))
            .collect();
        split_mut(&mut lanes, 1, inputs.at_least(), |first, lanes| {
            let mut work = Segment::of(states);
            for (index, (y, starts)) in lanes.iter_mut().enumerate() {
                let lane = inputs.lane(first + index);
                let starts = starts.chunks_mut(states);
                for ((segment, start), y) in (0..)
                    .step_by(SEGMENT)
                    .zip(starts)
                    .zip(y.chunks_mut(SEGMENT))
                {
                    start.copy_from_slice(work.last(segment));
                    work.run(&lane, segment, y.len());
                    for (t, y) in y.iter_mut().enumerate() {
                        let step = segment + t;
                        *y = dot(work.state(t + 1), lane.c(step)) + lane.skip * lane.u[step];
                    }
                }
            }
        });
        (y, starts)
    }

    #[backward]
    fn backward(
        grad_y: ArrayView3<T>,
        u: ArrayView3<T>,
        delta: ArrayView3<T>,
        a: ArrayView2<T>,
        b: ArrayView3<T>,
        c: ArrayView3<T>,
        skip: Option<ArrayView1<T>>,
        starts: ArrayView4<T>,
    ) -> SelectiveScanGradients<T> {
        let with_skip = skip.is_some();
        let inputs = Inputs::of(u, delta, a, b, c, skip);
        let [batch, dim, length, states] = inputs.lengths;
        let grad_y = grad_y.as_standard_layout();
        let starts = starts.as_standard_layout();
        // Lanes in parts, of which each has its own sums.
        let lanes = dim.div_ceil(PARTS).max(1);
        let parts = dim.div_ceil(lanes);
        let [mut grad_u, mut grad_delta] = [(); 2].map(|()| Array3::zeros((batch, dim, length)));
        let mut grad_a = Array3::zeros((batch, dim, states));
        let mut grad_skip = Array3::zeros((batch, dim, 1));
        let [mut grad_b, mut grad_c] =
            [(); 2].map(|()| Array4::zeros((batch, parts, length, states)));
        let mut work: Vec<Part<'_, T>> = Vec::new();
        let mut sums = rows(&mut grad_b, length * states).zip(rows(&mut grad_c, length * states));
        let examples = rows(&mut grad_u, dim * length)
            .zip(rows(&mut grad_delta, dim * length))
            .zip(rows(&mut grad_a, dim * states))
            .zip(rows(&mut grad_skip, dim));
        for (example, (((u, delta), a), skip)) in examples.enumerate() {
            let pieces = u
                .chunks_mut(lanes * length)
                .zip(delta.chunks_mut(lanes * length))
                .zip(a.chunks_mut(lanes * states))
                .zip(skip.chunks_mut(lanes));
            for (part, (((u, delta), a), skip)) in pieces.enumerate() {
                let Some((b, c)) = sums.next() else { break };
                let first = example * dim + part * lanes;
                work.push(Part {
                    first,
                    u,
                    delta,
                    a,
                    skip,
                    b,
                    c,
                });
            }
        }
        drop(sums);
        let at_least = inputs.at_least().div_ceil(lanes);
        split_mut(&mut work, 1, at_least, |_, parts| {
            for part in parts {
                part.run(&inputs, &grad_y, &starts);
            }
        });
        let sum = |of_parts: Array4<T>| of_parts.sum_axis(Axis(1)).permuted_axes([0, 2, 1]);
        SelectiveScanGradients {
            a: grad_a.sum_axis(Axis(0)),
            skip: with_skip.then(|| grad_skip.sum_axis(Axis(0)).remove_axis(Axis(1))),
            u: grad_u,
            delta: grad_delta,
            b: sum(grad_b),
            c: sum(grad_c),
        }
    }
}

/// The inputs in the order in which they are read: the numbers of `b` and `c` at a step are beside each other.
struct Inputs<'a, T> {
    u: CowArray<'a, T, Ix3>,
    delta: CowArray<'a, T, Ix3>,
    a: Array2<T>,
    b: Array3<T>,
    c: Array3<T>,
    skip: Vec<T>,
    /// Examples, channels, steps, states.
    lengths: [usize; 4],
}

/// The inputs of one channel of one example.
struct Lane<'a, T> {
    u: &'a [T],
    delta: &'a [T],
    a: &'a [T],
    b: &'a [T],
    c: &'a [T],
    skip: T,
}

impl<'a, T: Element> Inputs<'a, T> {
    fn of(
        u: ArrayView3<'a, T>,
        delta: ArrayView3<'a, T>,
        a: ArrayView2<'a, T>,
        b: ArrayView3<'a, T>,
        c: ArrayView3<'a, T>,
        skip: Option<ArrayView1<'a, T>>,
    ) -> Self {
        let (batch, dim, length) = u.dim();
        assert!(a.ncols() > 0, "`a` must have at least one state");
        let steps_first =
            |x: ArrayView3<'a, T>| x.permuted_axes([0, 2, 1]).as_standard_layout().into_owned();
        Self {
            lengths: [batch, dim, length, a.ncols()],
            u: contiguous(u),
            delta: contiguous(delta),
            a: a.as_standard_layout().into_owned(),
            b: steps_first(b),
            c: steps_first(c),
            skip: skip.map_or_else(|| vec![T::zero(); dim], |skip| skip.to_vec()),
        }
    }

    fn lane(&self, lane: usize) -> Lane<'_, T> {
        let [_, dim, length, states] = self.lengths;
        let (example, channel) = (lane / dim, lane % dim);
        Lane {
            u: row(&self.u, lane, length),
            delta: row(&self.delta, lane, length),
            a: row(&self.a, channel, states),
            b: row(&self.b, example, length * states),
            c: row(&self.c, example, length * states),
            skip: self.skip[channel],
        }
    }

    /// The number of lanes that are worth a thread.
    fn at_least(&self) -> usize {
        let [_, _, length, states] = self.lengths;
        1 + WORTH / (length * states).max(1)
    }
}

impl<T> Lane<'_, T> {
    fn b(&self, step: usize) -> &[T] {
        &self.b[step * self.a.len()..][..self.a.len()]
    }

    fn c(&self, step: usize) -> &[T] {
        &self.c[step * self.a.len()..][..self.a.len()]
    }
}

/// The states of a segment, with the one before it, and their decays.
struct Segment<T> {
    states: usize,
    decays: Vec<T>,
    x: Vec<T>,
    /// The steps that were computed last.
    steps: usize,
}

impl<T: Element> Segment<T> {
    fn of(states: usize) -> Self {
        Self {
            states,
            decays: vec![T::zero(); SEGMENT * states],
            x: vec![T::zero(); (SEGMENT + 1) * states],
            steps: 0,
        }
    }

    fn state(&self, step: usize) -> &[T] {
        &self.x[step * self.states..][..self.states]
    }

    /// Returns the state before the segment that begins at this step of the lane.
    fn last(&mut self, segment: usize) -> &[T] {
        if segment == 0 {
            self.x.fill(T::zero());
        }
        let steps = if segment == 0 { 0 } else { self.steps };
        let range = steps * self.states..(steps + 1) * self.states;
        self.x.copy_within(range, 0);
        self.state(0)
    }

    /// Computes the states of a segment from the one before it, which `x` begins with.
    fn run(&mut self, lane: &Lane<'_, T>, segment: usize, steps: usize) {
        let states = self.states;
        self.steps = steps;
        for (decays, &delta) in self
            .decays
            .chunks_mut(states)
            .zip(&lane.delta[segment..][..steps])
        {
            for (decay, &a) in decays.iter_mut().zip(lane.a) {
                *decay = delta * a;
            }
        }
        map_in_place(&mut self.decays[..steps * states], exp);
        for t in 0..steps {
            let step = segment + t;
            let drive = lane.delta[step] * lane.u[step];
            let (before, after) = self.x.split_at_mut((t + 1) * states);
            let before = &before[t * states..];
            let decays = &self.decays[t * states..][..states];
            for (((after, &before), &decay), &b) in
                after.iter_mut().zip(before).zip(decays).zip(lane.b(step))
            {
                *after = decay * before + drive * b;
            }
        }
    }
}

/// The gradients of some channels of one example.
struct Part<'a, T> {
    first: usize,
    u: &'a mut [T],
    delta: &'a mut [T],
    a: &'a mut [T],
    skip: &'a mut [T],
    b: &'a mut [T],
    c: &'a mut [T],
}

impl<T: Element> Part<'_, T> {
    fn run(
        &mut self,
        inputs: &Inputs<'_, T>,
        grad_y: &CowArray<'_, T, Ix3>,
        starts: &CowArray<'_, T, Ix4>,
    ) {
        let [_, _, length, states] = inputs.lengths;
        let segments = length.div_ceil(SEGMENT);
        let mut work = Segment::of(states);
        let mut grad_x = vec![T::zero(); states];
        for index in 0..self.skip.len() {
            let lane = inputs.lane(self.first + index);
            let grad_y = row(grad_y, self.first + index, length);
            let starts = row(starts, self.first + index, segments * states);
            let grad_a = &mut self.a[index * states..][..states];
            grad_x.fill(T::zero());
            for segment in (0..length).step_by(SEGMENT).rev() {
                let steps = SEGMENT.min(length - segment);
                work.x[..states].copy_from_slice(&starts[segment / SEGMENT * states..][..states]);
                work.run(&lane, segment, steps);
                for t in (0..steps).rev() {
                    let step = segment + t;
                    let (u, delta, grad_y) = (lane.u[step], lane.delta[step], grad_y[step]);
                    let drive = delta * u;
                    let sums = step * states..(step + 1) * states;
                    let (grad_b, grad_c) = (&mut self.b[sums.clone()], &mut self.c[sums]);
                    for (((grad_x, grad_c), &c), &x) in grad_x
                        .iter_mut()
                        .zip(grad_c)
                        .zip(lane.c(step))
                        .zip(work.state(t + 1))
                    {
                        *grad_x += grad_y * c;
                        *grad_c += grad_y * x;
                    }
                    let of_b = dot(&grad_x, lane.b(step));
                    for (grad_b, &grad_x) in grad_b.iter_mut().zip(&grad_x) {
                        *grad_b += drive * grad_x;
                    }
                    // From here on it is the gradient of the state before.
                    let decays = &work.decays[t * states..][..states];
                    for (grad_x, &decay) in grad_x.iter_mut().zip(decays) {
                        *grad_x *= decay;
                    }
                    let mut of_decay = T::zero();
                    for (((grad_a, &grad_x), &a), &x) in grad_a
                        .iter_mut()
                        .zip(&grad_x)
                        .zip(lane.a)
                        .zip(work.state(t))
                    {
                        *grad_a += delta * grad_x * x;
                        of_decay += grad_x * x * a;
                    }
                    self.u[index * length + step] = of_b * delta + lane.skip * grad_y;
                    self.delta[index * length + step] = of_b * u + of_decay;
                    self.skip[index] += grad_y * u;
                }
            }
        }
    }
}

fn contiguous<T: Clone, D: Dimension>(x: ArrayView<'_, T, D>) -> CowArray<'_, T, D> {
    if x.is_standard_layout() {
        return x.into();
    }
    x.as_standard_layout().into_owned().into()
}

/// Returns the rows of this length, in their order in memory.
fn rows<T, D: Dimension>(x: &mut Array<T, D>, length: usize) -> std::slice::ChunksMut<'_, T> {
    // INVARIANT: its callers made it with zeros, in row-major order.
    let elements = x.as_slice_mut().expect("contiguous memory");
    elements.chunks_mut(length.max(1))
}

fn row<T, S, D>(x: &ArrayBase<S, D>, row: usize, length: usize) -> &[T]
where
    S: Data<Elem = T>,
    D: Dimension,
{
    // INVARIANT: `Inputs::of` and `as_standard_layout` have copied what was not.
    &x.as_slice().expect("contiguous memory")[row * length..][..length]
}

/// Returns the sum of products, in eight sums beside each other.
fn dot<T: Element>(x: &[T], y: &[T]) -> T {
    let mut sums = [T::zero(); 8];
    let (x_chunks, y_chunks) = (x.chunks_exact(8), y.chunks_exact(8));
    let rest = x_chunks.remainder().iter().zip(y_chunks.remainder());
    let rest: T = rest.map(|(&x, &y)| x * y).sum();
    for (x, y) in x_chunks.zip(y_chunks) {
        for ((sum, &x), &y) in sums.iter_mut().zip(x).zip(y) {
            *sum += x * y;
        }
    }
    sums.into_iter().sum::<T>() + rest
}

pullback_python::module! { selective_scan: SelectiveScan }
