//! Graphs on several threads at once, and passes inside passes.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread;

use pullback::ErrorKind;
use pullback::ndarray::{Array1, ArrayView1, array};
use pullback::prelude::*;

use crate::functions::{Square, leaf};
use crate::graphs::SineInPlace;

/// Runs `work` on so many threads at once, each with its number.
fn on_threads(count: u32, work: impl Fn(u32) + Sync) {
    let (start, work) = (&Barrier::new(count as usize), &work);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..count)
            .map(|number| {
                scope.spawn(move || {
                    start.wait();
                    work(number);
                })
            })
            .collect();
        // Joined one by one, which tools that look at threads can follow.
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn gradients_of_a_shared_leaf_from_several_threads_are_all_counted() {
    let x = leaf([1.0, 2.0]);
    on_threads(4, |_| {
        for _ in 0..500 {
            (&x * 2.0).sum().backward().unwrap();
        }
    });
    assert_eq!(x.grad(), Some(array![4000.0, 4000.0]));
}

#[test]
fn one_retained_graph_walked_from_several_threads() {
    let x = leaf([3.0]);
    let trunk = Square::apply(&Square::apply(&x));
    let loss = (&trunk * &trunk).sum();
    on_threads(4, |_| {
        for _ in 0..200 {
            let (dx,) = Grad::of(&loss).retain_graph(true).run((&x,)).unwrap();
            assert_eq!(dx.to_array(), array![8.0 * 3.0_f64.powi(7)]);
        }
    });
}

#[test]
fn a_graph_can_be_built_on_one_thread_and_walked_on_another() {
    let x = leaf([2.0]);
    let loss = thread::scope(|scope| scope.spawn(|| Square::apply(&x).sum()).join().unwrap());
    // Made here, on a thread whose own count is behind.
    let loss = loss * 3.0;
    thread::scope(|scope| scope.spawn(|| loss.backward().unwrap()).join().unwrap());
    assert_eq!(x.grad(), Some(array![12.0]));
}

/// x², whose backward computes the gradient of its formula by a pass.
struct Nested;

#[custom_function]
impl Nested {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        &x * &x
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> {
        let (dx,) = enable_grad(|| {
            let x = Tensor::from(x).set_requires_grad(true);
            let y = if x.item() > 5.0 {
                Nested::apply(&x)
            } else {
                &x * &x
            };
            Grad::of(&y)
                .seed(grad_output.to_owned())
                .run((&x,))
                .unwrap()
        });
        dx.into_array()
    }
}

#[test]
fn a_backward_function_can_run_a_pass_of_its_own() {
    let x = leaf([3.0]);
    Nested::apply(&x).backward_with(array![10.0]).unwrap();
    assert_eq!(x.grad(), Some(array![60.0]));
}

/// Passes that meet nodes which an outer pass is visiting keep their notes elsewhere.
struct WalksAgain;

thread_local! {
    static OUTER: std::cell::RefCell<Option<(Tensor1<f64>, Tensor1<f64>)>> = const { std::cell::RefCell::new(None) };
}

#[custom_function]
impl WalksAgain {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        x.to_owned()
    }

    #[backward(x)]
    fn backward(grad_output: Array1<f64>) -> Array1<f64> {
        OUTER.with_borrow(|outer| {
            if let Some((leaf, shared)) = outer {
                let (dx,) = Grad::of(shared).retain_graph(true).run((leaf,)).unwrap();
                assert_eq!(dx.to_array(), array![6.0]);
            }
        });
        grad_output
    }
}

#[test]
fn passes_nest_on_the_same_nodes() {
    let x = leaf([3.0]);
    let shared = Square::apply(&x);
    // When `WalksAgain` runs, the outer pass has already delivered to `shared` and to the leaf.
    let loss = WalksAgain::apply(&(&shared * 1.0)) * &shared * &x;
    OUTER.set(Some((x.clone(), shared.clone())));
    loss.backward_with(array![1.0]).unwrap();
    OUTER.set(None);
    assert_eq!(x.grad(), Some(array![5.0 * 81.0]));
}

#[test]
fn passes_that_meet_in_a_shared_trunk_lose_nothing() {
    let (x, w) = (leaf([1.0, 2.0, 3.0]), leaf([2.0, 1.0, 1.0]));
    let trunk = Square::apply(&(&x * &w));
    on_threads(4, |number| {
        let head = (&trunk * (1.0 + f64::from(number))).sum();
        for round in 0..200 {
            Backward::of(&head).retain_graph(true).run().unwrap();
            let (dx, dw) = Grad::of(&head).retain_graph(true).run((&x, &w)).unwrap();
            let factor = 2.0 * (1.0 + f64::from(number));
            assert_eq!(
                dx.to_array(),
                array![4.0, 2.0, 3.0] * factor,
                "round {round}"
            );
            assert_eq!(
                dw.to_array(),
                array![2.0, 4.0, 9.0] * factor,
                "round {round}"
            );
        }
    });
    let times = 200.0 * 2.0 * (1.0 + 2.0 + 3.0 + 4.0);
    assert_eq!(x.grad(), Some(array![4.0, 2.0, 3.0] * times));
    assert_eq!(w.grad(), Some(array![2.0, 4.0, 9.0] * times));
}

#[test]
fn graphs_are_built_walked_and_dropped_on_different_threads() {
    let x = leaf([1.0, 2.0]);
    let (to_walk, walked) = channel::<Tensor1<f64>>();
    let (to_drop, dropped) = channel::<Tensor1<f64>>();
    thread::scope(|scope| {
        scope.spawn(|| {
            for y in walked {
                // The rest of the graph, on a thread whose count of nodes is another.
                Backward::of(&(&y * 3.0 + &y).sum())
                    .retain_graph(true)
                    .run()
                    .unwrap();
                to_drop.send(y).unwrap();
            }
            drop(to_drop);
        });
        scope.spawn(|| dropped.into_iter().for_each(drop));
        for _ in 0..500 {
            let (same, y) = (x.clone(), &x * 2.0);
            let y = thread::scope(|scope| scope.spawn(move || &y + &same).join().unwrap());
            to_walk.send(y).unwrap();
        }
        drop(to_walk);
    });
    assert_eq!(x.grad(), Some(array![6000.0, 6000.0]));
}

/// The identity, which keeps a value that counts how often it is dropped.
struct Counted;

#[derive(Clone)]
struct Drops(Arc<AtomicUsize>);

impl Drop for Drops {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[custom_function]
impl Counted {
    #[forward]
    fn forward(x: ArrayView1<f64>, drops: Drops) -> Array1<f64> {
        let _ = drops;
        x.to_owned()
    }

    #[backward(x)]
    fn backward(grad_output: Array1<f64>, drops: &Drops) -> Array1<f64> {
        let _ = drops;
        grad_output
    }
}

#[test]
fn the_last_references_are_dropped_on_several_threads_at_once() {
    for round in 0..2000 {
        let counter = Arc::new(AtomicUsize::new(0));
        let apply = |x: &Tensor1<f64>| Counted::apply(x, Drops(Arc::clone(&counter)));
        // The last references to the middle of a chain: two tensors, or a tensor and the node that comes
        // after it, at the end of a walk of some length.
        let above = round % 20;
        let middle = (0..50).fold(leaf([1.0]), |y, _| apply(&y));
        let end = (0..above).fold(middle.clone(), |y, _| apply(&y));
        counter.store(0, Ordering::Relaxed);
        let start = &Barrier::new(2);
        thread::scope(|scope| {
            for tensor in [end, middle] {
                scope.spawn(move || {
                    start.wait();
                    drop(tensor);
                });
            }
        });
        assert_eq!(counter.load(Ordering::Relaxed), 50 + above, "round {round}");
        assert_eq!(Arc::strong_count(&counter), 1, "nothing is left");
    }
}

#[test]
fn gradients_are_read_and_set_whole_while_passes_run() {
    const LENGTH: usize = 500;
    let x = Tensor::from(Array1::<f64>::ones(LENGTH)).set_requires_grad(true);
    let loss = (&x * 2.0).sum();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let passes = scope.spawn(|| {
            on_threads(2, |_| {
                (0..300).for_each(|_| Backward::of(&loss).retain_graph(true).run().unwrap());
            });
            done.store(true, Ordering::Relaxed);
        });
        while !done.load(Ordering::Relaxed) && !passes.is_finished() {
            let gradient = x.grad().unwrap_or_else(|| Array1::zeros(LENGTH));
            assert!(gradient.iter().all(|element| *element == gradient[0]));
            assert_eq!(gradient[0] % 2.0, 0.0);
            let shared = x.grad_tensor();
            x.set_grad(Array1::zeros(LENGTH));
            x.zero_grad();
            if let Some(shared) = shared {
                let view = shared.view();
                assert!(
                    view.iter().all(|element| *element == view[0]),
                    "copied on write"
                );
            }
        }
        passes.join().unwrap();
    });
    x.zero_grad();
    loss.backward().unwrap();
    assert_eq!(x.grad(), Some(Array1::from_elem(LENGTH, 2.0)));
}

#[test]
fn a_pass_that_frees_beside_one_that_walks_gives_the_gradient_or_an_error() {
    for _ in 0..300 {
        let x = leaf([3.0]);
        let loss = Square::apply(&Square::apply(&x)).sum();
        on_threads(3, |number| {
            let keep = number == 0;
            match Grad::of(&loss).retain_graph(keep).run((&x,)) {
                Ok((dx,)) => assert_eq!(dx.to_array(), array![108.0]),
                Err(error) => assert!(error.kind() == &ErrorKind::Freed, "{error}"),
            }
        });
        let late = Grad::of(&loss).run((&x,));
        assert!(late.unwrap_err().kind() == &ErrorKind::Freed);
    }
}

#[test]
fn passes_nest_on_several_threads_in_the_same_nodes() {
    let x = leaf([3.0]);
    let shared = Square::apply(&x);
    let loss = WalksAgain::apply(&(&shared * 1.0)) * &shared * &x;
    on_threads(3, |_| {
        OUTER.set(Some((x.clone(), shared.clone())));
        for _ in 0..100 {
            let pass = Grad::of(&loss).seed(array![1.0]).retain_graph(true);
            let (dx,) = pass.run((&x,)).unwrap();
            assert_eq!(dx.to_array(), array![5.0 * 81.0]);
        }
        OUTER.set(None);
    });
}

#[test]
fn who_writes_to_a_tensor_is_alone_in_seeing_it() {
    let x = leaf([1.0, 2.0]);
    let shared = &x * 1.0;
    on_threads(4, |number| {
        for _ in 0..200 {
            let mut own = shared.clone();
            if number % 2 == 0 {
                SineInPlace::apply(&mut own);
                assert_eq!(own.to_array(), array![1.0_f64.sin(), 2.0_f64.sin()]);
                let (dx,) = Grad::of(&own.sum()).retain_graph(true).run((&x,)).unwrap();
                assert_eq!(dx.to_array(), array![1.0_f64.cos(), 2.0_f64.cos()]);
            }
            assert_eq!(shared.to_array(), array![1.0, 2.0]);
        }
    });
}
