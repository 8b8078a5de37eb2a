//! Registration, removal and lifetime of hooks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use pullback::HookHandle;
use pullback::ndarray::array;
use pullback::prelude::*;

use super::*;

#[test]
fn hooks_are_added_and_removed() {
    let count = Arc::new(AtomicUsize::new(0));
    let counting = |tensor: &Vector| {
        let count = Arc::clone(&count);
        tensor.register_hook(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            None
        })
    };
    let x = leaf(1.0);
    let run = || Same::apply(&x).sum().backward().unwrap();
    let first = counting(&x);
    run();
    assert_eq!(count.load(Ordering::Relaxed), 1);
    let _second = counting(&x);
    let third = counting(&x);
    run();
    assert_eq!(count.load(Ordering::Relaxed), 4);
    first.remove();
    third.remove();
    third.remove();
    run();
    assert_eq!(count.load(Ordering::Relaxed), 5);
    assert_eq!(format!("{third:?}"), "HookHandle { registered: false }");
}

#[test]
fn hooks_may_remove_themselves_and_others_while_a_pass_runs() {
    let x = leaf(1.0);
    let handles: Arc<Mutex<Vec<HookHandle>>> = Arc::default();
    let log = Log::default();
    let (own, note) = (Arc::clone(&handles), log.clone());
    let remover = x.register_hook(move |_| {
        note.note("remover");
        own.lock()
            .unwrap()
            .drain(..)
            .for_each(|handle| handle.remove());
        None
    });
    let later = log.tensor(&x, "later", 7.0);
    handles.lock().unwrap().extend([remover, later]);
    for _ in 0..2 {
        Same::apply(&x).sum().backward().unwrap();
    }
    assert_eq!(log.take(), ["remover"]);
    assert_eq!(of(&x), Some(2.0));
}

#[test]
fn hooks_need_a_gradient_to_come() {
    let x: Vector = Tensor::from(array![1.0, 2.0]);
    let message =
        |result: std::thread::Result<()>| *result.unwrap_err().downcast::<String>().unwrap();
    let hook = catch_unwind(AssertUnwindSafe(|| drop(x.register_hook(|_| None))));
    assert_eq!(
        message(hook),
        "register_hook on a tensor of shape [2] that does not require grad: there will be no gradient"
    );
    let retain = catch_unwind(AssertUnwindSafe(|| x.retain_grad()));
    assert!(message(retain).starts_with("retain_grad on a tensor of shape [2]"));
}

/// Counts how many of it there are.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn what_hooks_capture_goes_with_the_graph() {
    let alive = Arc::new(AtomicUsize::new(0));
    let hooked = |x: &Vector| {
        let y = Same::apply(x);
        let (in_hook, in_node) = (Counted::new(&alive), Counted::new(&alive));
        y.register_hook(move |_| {
            let _ = &in_hook;
            None
        });
        node(&y).register_prehook(move |_: &Gradients| {
            let _ = &in_node;
            None
        });
        y
    };
    let x = leaf(1.0);
    drop(hooked(&x));
    assert_eq!(alive.load(Ordering::Relaxed), 0);
    // A pass that frees the graph drops them, one that retains it does not.
    let y = hooked(&x);
    Backward::of(&y).retain_graph(true).run().unwrap();
    assert_eq!(alive.load(Ordering::Relaxed), 2);
    y.backward().unwrap();
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn a_hook_that_captures_its_own_tensor_goes_when_the_graph_is_freed_or_it_is_removed() {
    let alive = Arc::new(AtomicUsize::new(0));
    let cyclic = |x: &Vector| {
        let y = Same::apply(x);
        let (captured, counted) = (y.clone(), Counted::new(&alive));
        let handle = y.register_hook(move |_| {
            let _ = (&captured, &counted);
            None
        });
        (y, handle)
    };
    let x = leaf(1.0);
    let (y, _) = cyclic(&x);
    y.backward().unwrap();
    assert_eq!(alive.load(Ordering::Relaxed), 0);
    let (y, handle) = cyclic(&x);
    drop(y);
    assert_eq!(alive.load(Ordering::Relaxed), 1);
    handle.remove();
    assert_eq!(alive.load(Ordering::Relaxed), 0);
    // Post-accumulate hooks get their leaf and need not capture it.
    let leaf = leaf(1.0);
    let counted = Counted::new(&alive);
    leaf.register_post_accumulate_grad_hook(move |leaf| {
        let _ = &counted;
        leaf.zero_grad();
    });
    drop(leaf);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}
