//! Rows 79 and 80: passes that backward functions start.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use pullback::ndarray::{Array1, ArrayView1, array};
use pullback::prelude::*;
use pullback::{Backward, ErrorKind, Node};

use crate::functions::leaf;

/// x − 1, whose backward differentiates the same function of the result, down to 0.
struct Deep;

#[derive(Clone, Copy)]
enum By {
    Backward,
    Grad,
    Node,
}

#[custom_function]
impl Deep {
    #[forward]
    fn forward(x: ArrayView1<f64>, by: By, calls: Arc<AtomicUsize>) -> Array1<f64> {
        assert!(matches!(by, By::Backward | By::Grad | By::Node) && Arc::strong_count(&calls) > 0);
        &x - 1.0
    }

    #[backward(x)]
    fn backward(
        grad_output: Array1<f64>,
        output: ArrayView1<f64>,
        by: By,
        calls: Arc<AtomicUsize>,
    ) -> Array1<f64> {
        calls.fetch_add(1, Ordering::Relaxed);
        if output[0] > 0.0 {
            let x = Tensor::from(output).set_requires_grad(true);
            let gradient = enable_grad(|| gradient_of(&x, by, &calls));
            assert_eq!(gradient, array![1.0]);
        }
        grad_output
    }
}

fn gradient_of(x: &Tensor1<f64>, by: By, calls: &Arc<AtomicUsize>) -> Array1<f64> {
    let y = Deep::apply(x, by, Arc::clone(calls));
    match by {
        By::Backward => {
            y.sum().backward().unwrap();
            x.grad().unwrap()
        }
        By::Grad => grad(&y.sum(), (x,)).unwrap().0.into_array(),
        By::Node => {
            let seed = Tensor::from(array![1.0]).into_dyn();
            let mut gradients = y.grad_fn().unwrap().apply(&[Some(seed)]).unwrap();
            let gradient = gradients.pop().flatten().unwrap();
            gradient.into_dimensionality().unwrap().into_array()
        }
    }
}

#[test]
fn passes_inside_of_passes_do_not_overflow_a_thread_of_2_mib() {
    let nest = || {
        for by in [By::Backward, By::Grad, By::Node] {
            for (depth, levels) in [(2000.0, 2000), (200.0, 200)] {
                let calls = Arc::new(AtomicUsize::new(0));
                let x = leaf([depth]);
                assert_eq!(gradient_of(&x, by, &calls), array![1.0]);
                assert_eq!(calls.load(Ordering::Relaxed), levels);
                assert_eq!(Arc::strong_count(&calls), 1);
            }
        }
    };
    thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(nest)
        .unwrap()
        .join()
        .unwrap();
}

/// The names of what has run, in order.
type Events = Arc<Mutex<Vec<&'static str>>>;

#[custom_function(grad(x) = {
    events.lock().unwrap().push("outer");
    grad_output.to_owned()
})]
fn outer(x: ArrayView1<f64>, events: Events) -> Array1<f64> {
    let _ = events;
    x.to_owned()
}

/// x − 1, whose backward runs a pass through itself until the result is negative.
#[custom_function(grad(x) = {
    events.lock().unwrap().push("inner");
    if output[0] >= 0.0 {
        enable_grad(|| {
            let x = Tensor::from(output).set_requires_grad(true);
            inner(&x, Arc::clone(events)).backward().unwrap();
        });
    }
    grad_output.to_owned()
})]
fn inner(x: ArrayView1<f64>, events: Events) -> Array1<f64> {
    let _ = events;
    &x - 1.0
}

#[test]
fn an_inner_pass_ends_before_the_outer_one_goes_on() {
    for inner_is_newer in [true, false] {
        let events = Events::default();
        let (x, y) = (leaf([6.0]), leaf([9.0]));
        let first = (!inner_is_newer).then(|| inner(&y, Arc::clone(&events)));
        let a = outer(&x, Arc::clone(&events));
        let b = first.unwrap_or_else(|| inner(&y, Arc::clone(&events)));
        (a * b).backward().unwrap();
        let events = events.lock().unwrap();
        assert_eq!(events.len(), 11);
        assert_eq!(events.iter().filter(|event| **event == "outer").count(), 1);
        // The ten inner passes, each begun within the last, are one step of the outer pass.
        let place = if inner_is_newer { 10 } else { 0 };
        assert_eq!(events[place], "outer");
    }
}

/// x, whose backward runs a pass that fails.
#[custom_function(grad(x) = {
    let inner = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    let error = enable_grad(|| (&inner * 2.0).backward()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NotScalar { .. }) && inner.grad().is_none());
    grad_output.to_owned()
})]
fn survives(x: ArrayView1<f64>) -> Array1<f64> {
    x.to_owned()
}

#[test]
fn an_inner_pass_that_fails_is_the_authors_to_handle() {
    let x = leaf([1.0]);
    survives(&(&x * 3.0)).backward().unwrap();
    assert_eq!(x.grad(), Some(array![3.0]));
}

/// The macro refuses a type that it sees to hold tensors.
mod held {
    use std::sync::{Arc, Mutex};

    use pullback::Node;
    use pullback::prelude::*;

    /// A value that reads tensors and nodes when it is cloned and when it is dropped.
    #[derive(Default)]
    pub struct Looks {
        pub node: Arc<Mutex<Option<Node>>>,
        pub leaf: Option<Tensor1<f64>>,
    }

    impl Looks {
        fn look(&self) {
            let node = self.node.lock().unwrap().clone();
            if let Some(node) = node {
                let _ = node.saved();
            }
            if let Some(leaf) = &self.leaf {
                let _ = leaf.grad();
            }
        }
    }

    impl Clone for Looks {
        fn clone(&self) -> Self {
            self.look();
            let (node, leaf) = (Arc::clone(&self.node), self.leaf.clone());
            Self { node, leaf }
        }
    }

    impl Drop for Looks {
        fn drop(&mut self) {
            self.look();
        }
    }
}

/// A value without drop glue, whose author's `clone` looks at the node that saved it.
struct Watches(f64);

static WATCHED: Mutex<Option<Node>> = Mutex::new(None);

impl Clone for Watches {
    fn clone(&self) -> Self {
        let node = WATCHED.lock().unwrap().clone();
        if let Some(node) = node {
            let _ = node.saved();
        }
        Self(self.0)
    }
}

#[custom_function(
    grad(x) = grad_output * x * (2.0 * by.0),
    higher_order
)]
fn scaled_square(x: ArrayView1<f64>, by: Watches, looks: held::Looks) -> Array1<f64> {
    let _ = looks;
    &x * &x * by.0
}

#[test]
fn no_lock_is_held_while_an_authors_code_runs() {
    let (done, waits) = channel();
    thread::spawn(move || {
        let (x, other) = (leaf([1.0]), leaf([3.0]));
        let looks = |node: &Arc<Mutex<Option<Node>>>| held::Looks {
            node: Arc::clone(node),
            leaf: Some(x.clone()),
        };
        let node = Arc::default();
        let y = scaled_square(&other, Watches(1.0), looks(&node));
        *node.lock().unwrap() = y.grad_fn();
        *WATCHED.lock().unwrap() = y.grad_fn();
        y.sum().backward().unwrap();
        assert_eq!(other.grad(), Some(array![6.0]));
        *WATCHED.lock().unwrap() = None;
        node.lock().unwrap().take();
        x.set_grad(array![1.0]);
        x.update_grad(|mut grad| {
            grad.fill(2.0);
            // A pass in between, whose gradient has a history that nothing else holds.
            let y = (scaled_square(&other, Watches(1.0), looks(&Arc::default())) * &x).sum();
            Backward::of(&y)
                .inputs((&x,))
                .create_graph(true)
                .run()
                .unwrap();
        });
        done.send(x.grad()).unwrap();
    });
    let grad = waits
        .recv_timeout(Duration::from_secs(20))
        .expect("no deadlock");
    assert_eq!(grad, Some(array![11.0]));
}
