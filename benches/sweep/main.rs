//! The time of every built-in function, forward and backward, for each element of its input, in `f32` and `f64`; beside
//! the plain loop by hand where there is one. It lists the functions that no line measures. See `benches/README.md`.

#[path = "../workloads/harness.rs"]
#[expect(
    dead_code,
    unreachable_pub,
    reason = "it is shared with `workloads`, which uses all of it"
)]
mod harness;
mod lines;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::env;
use std::hint::black_box;
use std::time::Instant;

use pullback::ndarray::{Array, Dimension, IxDyn};
use pullback::prelude::*;
use pullback::{catalogue, kernels};

use harness::Filter;

const RUNS: usize = 9;

fn main() {
    let filter = Filter::new(env::args().skip(1).collect());
    if !filter.wants("sweep") {
        return;
    }
    filter.set_threads();
    let sweep = Sweep {
        filter,
        measured: RefCell::default(),
    };
    lines::all::<f32>(&sweep);
    lines::all::<f64>(&sweep);
    let measured = sweep.measured.into_inner();
    let built_in = catalogue();
    let built_in = built_in
        .iter()
        .filter(|entry| entry.path().starts_with("autograd_core::"));
    let names: BTreeSet<&str> = built_in.map(|entry| entry.name()).collect();
    let missing: Vec<_> = names
        .into_iter()
        .filter(|name| !measured.contains(*name))
        .collect();
    println!("sweep measures no line of {}", missing.join(", "));
}

/// What is measured, and the functions that were.
struct Sweep {
    filter: Filter,
    measured: RefCell<BTreeSet<String>>,
}

impl Sweep {
    /// Prints the time of a function of leaves, and that of a loop by hand, for each element of the first leaf.
    fn line<T: Element, D: Dimension, E: Dimension>(
        &self,
        name: &str,
        leaves: &[&Tensor<T, D>],
        function: impl Fn() -> Tensor<T, E>,
        by_hand: Option<&dyn Fn() -> Vec<T>>,
    ) {
        let name = format!("sweep/{name}/{}", T::TYPE);
        if !self.filter.wants(&name) {
            return;
        }
        let (mut forward, mut backward, mut limit) = (f64::MAX, f64::MAX, f64::MAX);
        for _ in 0..RUNS {
            for leaf in leaves {
                leaf.zero_grad();
            }
            let start = Instant::now();
            let output = function();
            forward = forward.min(start.elapsed().as_secs_f64());
            self.note(&output);
            if output.requires_grad() {
                let seed = Array::from_elem(output.view().raw_dim(), T::one());
                let start = Instant::now();
                output.backward_with(seed).expect("a gradient");
                backward = backward.min(start.elapsed().as_secs_f64());
            }
            if let Some(by_hand) = by_hand {
                let start = Instant::now();
                let result = black_box(by_hand());
                limit = limit.min(start.elapsed().as_secs_f64());
                kernels::memory::give_back(result);
            }
        }
        let count = leaves[0].shape().iter().product::<usize>() as f64;
        let each = |seconds: f64| seconds * 1e9 / count;
        print!("{name} forward {:.3} ns", each(forward));
        if backward < f64::MAX {
            print!(" backward {:.3} ns", each(backward));
        }
        if limit < f64::MAX {
            print!(
                " by hand {:.3} ns ratio {:.2}",
                each(limit),
                forward / limit
            );
        }
        println!();
    }

    /// Notes the functions that an output was computed by.
    fn note<T: Element, E: Dimension>(&self, output: &Tensor<T, E>) {
        let mut nodes: Vec<_> = output.grad_fn().into_iter().collect();
        while let Some(node) = nodes.pop() {
            self.measured.borrow_mut().insert(node.name().to_owned());
            nodes.extend(node.next_functions().into_iter().flatten());
        }
    }
}

/// Returns numbers of a range, in no order.
fn numbers<T: Element>(shape: &[usize], low: f64, high: f64) -> TensorD<T> {
    let mut state = 88_172_645_463_325_252_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        T::from_f64(low + (state >> 11) as f64 / (1_u64 << 53) as f64 * (high - low))
    };
    Tensor::from(Array::from_shape_simple_fn(IxDyn(shape), next))
}
