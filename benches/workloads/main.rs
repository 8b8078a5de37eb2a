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

mod counting;
mod harness;
mod vectorized;
mod vmap;
mod w1;
mod w2;
mod w3;
mod w4;
mod w4e;
mod w5;
mod w6;
mod w6e;
mod w7;
mod w9;

use harness::Filter;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments
        .first()
        .is_some_and(|argument| argument == w5::CHILD)
    {
        return w5::print_memory();
    }
    let filter = Filter::new(arguments);
    filter.set_threads();
    w1::run(&filter);
    w2::run(&filter);
    w3::run(&filter);
    w4::run(&filter);
    w4e::run(&filter);
    w5::run(&filter);
    w6::run(&filter);
    w6e::run(&filter);
    w7::run(&filter);
    w9::run(&filter);
    vmap::run(&filter);
}
