//! A gallery of published differentiable functions, one in each file: the paper, the definition, its generated check,
//! and its values and gradients beside PyTorch's.
//!
//! `cargo run --example gallery` prints a table of them, `cargo run --release --example gallery -- speed` their times.
//! `README.md` lists what each one teaches, and compares each with the published class.

#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    missing_debug_implementations,
    reason = "the functions are listed here, and only their tests call them"
)]
#![allow(
    clippy::inline_always,
    reason = "a helper of a formula is part of its loop"
)]

mod adjoint;
mod attention;
mod biquad;
mod blackbox;
mod ctc;
mod entmax;
mod grouped;
mod gru;
mod lsq;
mod matern;
#[cfg(test)]
mod reference;
mod reversal;
mod reversible;
mod segments;
mod selective;
#[cfg(test)]
mod single;
mod sinkhorn;
mod so3;
mod soft_dtw;
mod softmax_sums;
mod sparsemax;
mod speed;
mod spikes;
mod spline;
mod sqrtm;
mod transducer;
mod transport;
mod upfirdn2d;

use pullback::catalogue;

fn main() {
    if std::env::args().nth(1).as_deref() == Some("speed") {
        return speed::print();
    }
    let functions = catalogue();
    let gallery = functions
        .iter()
        .filter(|one| one.module.starts_with("gallery"));
    println!("{:<16} {:<34} {:<20} saved", "function", "inputs", "order");
    for function in gallery {
        let signature = function.signature;
        let names = |names: Vec<&str>| names.join(", ");
        println!(
            "{:<16} {:<34} {:<20} {}",
            function.name(),
            names(signature.inputs.iter().map(|input| input.name).collect()),
            signature.order,
            names(signature.saved.iter().map(|saved| saved.name).collect()),
        );
    }
}
