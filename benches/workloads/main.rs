//! The workloads, each beside its limit: the same arithmetic written by hand with no tape.
//!
//! `cargo bench` runs all, `cargo bench -- W1` those whose name begins so. One line a figure:
//! `W1/chain1 ours 153 ns limit 40 ns ratio 3.83`. Ours and the limit are measured in turns, on one
//! pinned thread or, with `--threads 2`, on two that are not pinned; a figure is the median of the rounds.
//! See `benches/README.md`.

#![allow(
    unreachable_pub,
    missing_docs,
    missing_debug_implementations,
    reason = "a program has no public items"
)]

mod black_scholes;
mod chain;
mod counting;
mod fused;
mod gradcheck;
mod harness;
mod kalman;
mod linear;
mod long_chain;
mod matrices;
mod overlap;
mod pairs;
mod rows;
mod scan;
mod second_order;
mod selective;
mod shapes;
mod softmax;
mod training_step;
mod vectorized;
mod vmap;

use harness::Filter;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments
        .first()
        .is_some_and(|argument| argument == long_chain::CHILD)
    {
        return long_chain::print_memory();
    }
    let filter = Filter::new(arguments);
    filter.set_threads();
    chain::run(&filter);
    linear::run(&filter);
    training_step::run(&filter);
    fused::run(&filter);
    long_chain::run(&filter);
    scan::run(&filter);
    selective::run(&filter);
    kalman::run(&filter);
    second_order::run(&filter);
    gradcheck::run(&filter);
    black_scholes::run(&filter);
    pairs::run(&filter);
    overlap::run(&filter);
    rows::run(&filter);
    matrices::run(&filter);
    softmax::run(&filter);
    vmap::run(&filter);
    shapes::run(&filter);
}
