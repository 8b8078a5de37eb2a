//! No prelude, and the usual names taken: generated code leans on neither.
#![no_implicit_prelude]
#![allow(dead_code)]

use ::pullback::ndarray::{Array1, ArrayView1, ArrayViewMut1};
use ::pullback::{Tensor1, custom_function};

struct Box;
struct Clone;
struct Err;
struct Function;
struct None;
struct Ok;
struct Result;
struct Some;
struct String;
struct Tensor;
struct Vec;
mod core {}
mod std {}
mod pullback {}

type Option<T> = ::core::option::Option<T>;

pub struct Scale;

// The names of inputs are those that generated code would choose for itself.
#[custom_function]
impl Scale {
    #[forward]
    pub fn forward(
        edges: ArrayView1<f64>,
        needs: Option<ArrayView1<f64>>,
        node: f64,
        state: &[usize],
        call: &str,
        context: u8,
    ) -> Array1<f64> {
        let _ = (needs, state, call, context);
        &edges * node
    }

    #[backward(edges)]
    fn edges(
        grad_output: Array1<f64>,
        node: f64,
        state: &[usize],
        call: &str,
        context: u8,
    ) -> Array1<f64> {
        let _ = (state, call, context);
        grad_output * node
    }

    #[backward(needs)]
    fn needs(grad_output: Array1<f64>) -> Array1<f64> {
        grad_output
    }

    #[jvp]
    fn level(
        tangent_edges: Option<Array1<f64>>,
        tangent_needs: Option<ArrayView1<f64>>,
        node: f64,
        state: &[usize],
        call: &str,
    ) -> Option<Array1<f64>> {
        let _ = (tangent_needs, state, call);
        ::core::option::Option::map(tangent_edges, |tangent| tangent * node)
    }
}

pub struct Shift;

#[custom_function]
impl Shift {
    #[forward]
    pub fn forward(lent: ArrayViewMut1<f64>, beneath: f64) {
        let mut lent = lent;
        lent += beneath;
    }

    #[backward(lent)]
    fn backward(grad_output: Array1<f64>) -> Array1<f64> {
        grad_output
    }
}

pub struct Join;

#[custom_function]
impl Join {
    #[forward]
    pub fn forward(list: &[ArrayView1<f64>], edge: ArrayView1<f64>) -> Array1<f64> {
        let _ = list;
        edge.to_owned()
    }

    #[backward]
    fn backward(
        grad_output: Array1<f64>,
        list: &[ArrayView1<f64>],
    ) -> (Option<::std::vec::Vec<Array1<f64>>>, Array1<f64>) {
        let _ = list;
        (::core::option::Option::None, grad_output)
    }
}

#[custom_function(grad(edges) = {
    let _ = (state, call, context);
    &grad_output * *node
})]
fn scale_by(
    edges: ArrayView1<f64>,
    node: f64,
    state: &[usize],
    call: &str,
    context: u8,
) -> Array1<f64> {
    let _ = (state, call, context);
    &edges * node
}

fn main() {
    let x: Tensor1<f64> = ::core::convert::From::from(Array1::ones(1));
    let x = x.set_requires_grad(true);
    let mut x = x;
    ::pullback::no_grad(|| Shift::apply(&mut x, 0.0));
    let y = Join::apply(&[&x], &x);
    let y = Scale::apply(&y, Option::None, 3.0, &[], "", 0);
    scale_by(&y, 2.0, &[], "", 0).sum().backward().unwrap();
    ::std::assert_eq!(x.grad().unwrap()[0], 6.0);
}
