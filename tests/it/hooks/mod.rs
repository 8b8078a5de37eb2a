//! Hooks on tensors, nodes and leaves: `order` has when they are called, `changes` what they may change
//! and do, `lifetime` how they come and go.

mod changes;
mod lifetime;
mod order;

use std::sync::{Arc, Mutex};

use pullback::ndarray::{Array1, ArrayView1, ArrayViewMut1, array};
use pullback::prelude::*;
use pullback::{HookHandle, Node};

type Vector = Tensor1<f64>;
type Gradients = [Option<TensorD<f64>>];

/// y = x: a function whose gradient is the incoming one.
struct Same;

#[custom_function(gradcheck(x = [3]))]
impl Same {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        x.to_owned()
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor1<f64>) -> Tensor1<f64> {
        grad_output.clone()
    }
}

/// x := 2 x
struct Double;

#[custom_function(gradcheck(x = [3]))]
impl Double {
    #[forward]
    fn forward(mut x: ArrayViewMut1<f64>) {
        x *= 2.0;
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor1<f64>) -> Tensor1<f64> {
        grad_output * 2.0
    }
}

fn leaf(value: f64) -> Vector {
    Tensor::from(array![value]).set_requires_grad(true)
}

fn of(tensor: &Vector) -> Option<f64> {
    tensor.grad().map(|grad| grad[0])
}

fn node(tensor: &Vector) -> Node {
    tensor.grad_fn().expect("a computed tensor")
}

/// The node that accumulates the gradient of the leaf that `tensor` was computed from.
fn leaf_node(tensor: &Vector) -> Node {
    node(tensor).next_functions()[0].clone().expect("a leaf")
}

/// Notes what happens, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<&'static str>>>);

impl Log {
    fn note(&self, what: &'static str) {
        self.0.lock().unwrap().push(what);
    }

    fn take(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn tensor(&self, tensor: &Vector, what: &'static str, factor: f64) -> HookHandle {
        let log = self.clone();
        tensor.register_hook(move |grad| {
            log.note(what);
            Some(grad * factor)
        })
    }

    fn pre(&self, node: &Node, what: &'static str, factor: f64) -> HookHandle {
        let log = self.clone();
        node.register_prehook(move |grads: &Gradients| {
            log.note(what);
            Some(
                grads
                    .iter()
                    .map(|grad| grad.as_ref().map(|grad| grad * factor))
                    .collect(),
            )
        })
    }

    fn post(&self, node: &Node, what: &'static str) -> HookHandle {
        let log = self.clone();
        node.register_hook(move |_: &Gradients, _: &Gradients| {
            log.note(what);
            None
        })
    }
}
