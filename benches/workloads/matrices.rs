//! rows/product: products of 3 x 3 matrices, 18 numbers, as an elementwise function of rows.

use std::time::Duration;

use pullback::ndarray::Array2;
use pullback::prelude::*;

use crate::harness::{Filter, medians, report_both, timed};
use crate::vectorized::vectorized;

const ROWS: usize = 100_000;
const ROUNDS: usize = 31;

#[custom_function(elementwise)]
fn product<T: Real>(a: [T; 9], b: [T; 9]) -> [T; 9] {
    let mut c = [T::from(0.0); 9];
    for i in 0..3 {
        for j in 0..3 {
            c[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
        }
    }
    c
}

pub fn run(filter: &Filter) {
    if !filter.wants("rows/product") {
        return;
    }
    let (a, b) = (values(997), values(1009));
    let leaf = |x: &Array2<f32>| Tensor::from(x.view()).set_requires_grad(true);
    let leaves = [leaf(&a), leaf(&b)];
    let mut by_hand = ByHand::new(a, b);
    let gradient = Tensor::from(values(1013));
    ours(&leaves, &gradient);
    by_hand.run();
    for (leaf, limits) in leaves.iter().zip(&by_hand.gradients) {
        let gradient = leaf.grad().expect("a gradient");
        for (ours, limit) in gradient.iter().zip(limits) {
            assert!((ours - limit).abs() <= 1e-5, "{ours} is not {limit}");
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
    report_both("rows/product", ours, limit, ("ms", 1e6));
}

fn values(period: usize) -> Array2<f32> {
    let at = |(row, k): (usize, usize)| (row * 9 + k * 31) % period;
    Array2::from_shape_fn((ROWS, 9), |place| at(place) as f32 / period as f32 - 0.4)
}

fn ours([a, b]: &[Tensor2<f32>; 2], gradient: &Tensor2<f32>) -> [Duration; 2] {
    let (forward, c) = timed(|| product(a, b));
    let (backward, ()) = timed(|| {
        let pass = Backward::of(&c).seed(gradient);
        pass.run().expect("the graph is whole");
        drop(c);
    });
    [forward, backward]
}

type Row = [f32; 9];

/// One loop for the products and one for the gradients, in buffers that are used again.
struct ByHand {
    inputs: [Vec<f32>; 2],
    products: Vec<f32>,
    of_products: Vec<f32>,
    gradients: [Vec<f32>; 2],
}

impl ByHand {
    fn new(a: Array2<f32>, b: Array2<f32>) -> Self {
        let ones = vec![1.0; 9 * ROWS];
        Self {
            inputs: [a, b].map(|x| x.into_raw_vec_and_offset().0),
            products: ones.clone(),
            of_products: values(1013).into_raw_vec_and_offset().0,
            gradients: [ones.clone(), ones],
        }
    }

    fn run(&mut self) -> [Duration; 2] {
        let [a, b] = self.inputs.each_ref().map(|x| x.as_chunks::<9>().0);
        let (forward, ()) = timed(|| {
            let products = self.products.as_chunks_mut::<9>().0;
            products_of(a, b, products);
        });
        let (backward, ()) = timed(|| {
            let of_products = self.of_products.as_chunks::<9>().0;
            let [of_a, of_b] = &mut self.gradients;
            let (of_a, of_b) = (of_a.as_chunks_mut::<9>().0, of_b.as_chunks_mut::<9>().0);
            gradients(a, b, of_products, of_a, of_b);
        });
        [forward, backward]
    }
}

vectorized! {
    fn products_of(a: &[Row], b: &[Row], products: &mut [Row]) {
        for ((c, a), b) in products.iter_mut().zip(a).zip(b) {
            for i in 0..3 {
                for j in 0..3 {
                    c[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
                }
            }
        }
    }
}

vectorized! {
    fn gradients(a: &[Row], b: &[Row], g: &[Row], of_a: &mut [Row], of_b: &mut [Row]) {
        let inputs = a.iter().zip(b).zip(g);
        for ((of_a, of_b), ((a, b), g)) in of_a.iter_mut().zip(of_b).zip(inputs) {
            for i in 0..3 {
                for j in 0..3 {
                    // G Bᵀ and Aᵀ G.
                    of_a[3 * i + j] = g[3 * i] * b[3 * j] + g[3 * i + 1] * b[3 * j + 1] + g[3 * i + 2] * b[3 * j + 2];
                    of_b[3 * i + j] = a[i] * g[j] + a[3 + i] * g[3 + j] + a[6 + i] * g[6 + j];
                }
            }
        }
    }
}
