//! Long chains of what a node holds beside its edges.

use pullback::ndarray::{Array1, ArrayView1, array};
use pullback::prelude::*;

use held::Owner;

/// The macro refuses a type that it sees to hold tensors.
mod held {
    use pullback::prelude::*;

    /// A value that owns a tensor.
    #[derive(Clone)]
    pub struct Owner(#[expect(dead_code, reason = "owned alone")] pub Tensor1<f64>);
}

/// y = x, which keeps a value.
struct Owns;

#[custom_function]
impl Owns {
    #[forward]
    fn forward(x: ArrayView1<f64>, owner: Owner) -> Array1<f64> {
        let _ = owner;
        x.to_owned()
    }

    #[backward(x)]
    fn backward(grad_output: Array1<f64>, owner: &Owner) -> Array1<f64> {
        let _ = owner;
        grad_output
    }
}

#[test]
fn chains_that_edges_do_not_show_are_dropped_without_recursion() {
    const LENGTH: usize = 50_000;
    let work = || {
        let leaf = Tensor::from(array![1.0]).set_requires_grad(true);
        // Through kept values.
        let mut y = Owns::apply(&leaf, Owner(leaf.clone()));
        for _ in 0..LENGTH {
            y = Owns::apply(&leaf, Owner(y));
        }
        drop(y);
        // Through what hooks capture, beside the edges.
        let mut y = leaf.exp();
        for _ in 0..LENGTH {
            let (next, before) = (&y * 1.0, y);
            next.register_hook(move |_| {
                let _ = &before;
                None
            });
            y = next;
        }
        drop(y);
        // Through what checkpointed functions capture.
        let mut y = leaf.exp();
        for _ in 0..LENGTH {
            let before = y;
            y = checkpoint(move |x| x * &before, &leaf);
        }
        drop(y);
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(work);
    thread.unwrap().join().unwrap();
}
