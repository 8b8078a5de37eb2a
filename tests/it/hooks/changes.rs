//! Hooks that change gradients, register hooks, run passes or fail.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use pullback::ndarray::{Array1, array};
use pullback::prelude::*;
use pullback::{AnyTensor, ElementType, ErrorKind, saved_tensors_hooks};

use super::*;

#[test]
fn prehooks_change_what_a_node_gets_and_hooks_what_it_gives() {
    let a = leaf(1.0);
    let mut b = Same::apply(&a);
    Double::apply(&mut b);
    let node = node(&b);
    for _ in 0..3 {
        node.register_prehook(|grads: &Gradients| {
            Some(vec![grads[0].as_ref().map(|grad| grad * 2.0)])
        });
        node.register_prehook(|_: &Gradients| None);
    }
    let seen = Arc::new(Mutex::new(None));
    let see = Arc::clone(&seen);
    node.register_hook(move |inputs: &Gradients, outputs: &Gradients| {
        let value = |grads: &Gradients| grads[0].as_ref().unwrap().item();
        *see.lock().unwrap() = Some((value(outputs), value(inputs)));
        None
    });
    b.sum().backward().unwrap();
    assert_eq!(*seen.lock().unwrap(), Some((8.0, 16.0)));
    assert_eq!(of(&a), Some(16.0));
}

#[test]
fn post_accumulate_hooks_come_in_their_order_after_accumulation() {
    let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    x.register_post_accumulate_grad_hook(|x| x.set_grad(x.grad().unwrap() - 1.0));
    x.register_post_accumulate_grad_hook(|x| {
        assert_eq!(x.to_array(), array![1.0, 2.0]);
        x.set_grad(x.grad().unwrap() * 4.0);
    });
    let weights = array![3.0, 5.0];
    (&x * Tensor::from(weights.clone()))
        .sum()
        .backward()
        .unwrap();
    assert_eq!(x.grad(), Some((weights - 1.0) * 4.0));

    let computed = &x * 2.0;
    let panic = catch_unwind(AssertUnwindSafe(|| {
        computed.register_post_accumulate_grad_hook(|_| {})
    }));
    let message = *panic.unwrap_err().downcast::<String>().unwrap();
    assert_eq!(
        message,
        "register_post_accumulate_grad_hook on a computed tensor of shape [2]: only leaves accumulate"
    );
}

#[test]
fn an_optimizer_can_step_in_the_backward_pass() {
    // The parameters live where the hook reaches them; each is stepped as soon as its gradient is there.
    let parameters = Arc::new(Mutex::new(vec![array![1.0], array![-2.0]]));
    let step = |parameters: &[Array1<f64>], hooked: bool, shared: &Arc<Mutex<Vec<Array1<f64>>>>| {
        let leaves: Vec<Vector> = parameters
            .iter()
            .map(|value| Tensor::from(value.clone()).set_requires_grad(true))
            .collect();
        for (place, leaf) in leaves.iter().enumerate().filter(|_| hooked) {
            let shared = Arc::clone(shared);
            leaf.register_post_accumulate_grad_hook(move |leaf| {
                shared.lock().unwrap()[place] -= &(leaf.grad().unwrap() * 0.1);
                leaf.zero_grad();
            });
        }
        (&leaves[0] * &leaves[0] * &leaves[1])
            .sum()
            .backward()
            .unwrap();
        leaves
    };
    let before = parameters.lock().unwrap().clone();
    let leaves = step(&before, true, &parameters);
    assert!(leaves.iter().all(|leaf| leaf.grad().is_none()));
    let after = step(&before, false, &parameters);
    let expected: Vec<_> = after
        .iter()
        .map(|leaf| leaf.to_array() - leaf.grad().unwrap() * 0.1)
        .collect();
    assert_eq!(*parameters.lock().unwrap(), expected);
}

#[test]
fn a_hook_may_register_hooks_and_run_passes() {
    let x = leaf(1.0);
    let y = Same::apply(&x);
    let (inner, again) = (leaf(3.0), x.clone());
    let square = inner.clone();
    y.register_hook(move |_| {
        // On this very leaf, with no lock held; and a pass of its own.
        again.register_hook(|grad| Some(grad * 5.0));
        enable_grad(|| (&square * &square).sum().backward()).unwrap();
        None
    });
    y.sum().backward().unwrap();
    assert_eq!((of(&x), of(&inner)), (Some(5.0), Some(6.0)));
}

/// A pass whose hook runs a pass, so many deep.
fn passes_in_hooks(levels: usize) {
    if levels > 0 {
        let x = leaf(1.0);
        let y = enable_grad(|| x.exp().sum());
        y.register_hook(move |_| {
            passes_in_hooks(levels - 1);
            None
        });
        y.backward().unwrap();
        assert!(x.grad().is_some());
    }
}

#[test]
fn passes_in_hooks_may_be_thousands_deep_and_keep_the_modes_of_the_first() {
    let packed = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&packed);
    let pack = move |tensor: AnyTensor| {
        count.fetch_add(1, Ordering::Relaxed);
        tensor
    };
    let run = || saved_tensors_hooks(pack, AnyTensor::clone, || passes_in_hooks(2000));
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(run);
    thread.unwrap().join().unwrap();
    assert_eq!(packed.load(Ordering::Relaxed), 2000);
}

#[test]
fn a_hook_that_fails_changes_nothing() {
    let x = leaf(1.0);
    x.set_grad(array![10.0]);
    let y = &x * &x;
    let wrong = y.register_hook(|_| Some(Tensor::from(array![1.0, 2.0])));
    let error = y.sum().backward().unwrap_err();
    let (line, file) = (line!() - 3, file!());
    assert_eq!(
        error.to_string(),
        format!(
            "a hook of `Mul` returned a gradient of shape [2] instead of one of shape [1] (applied at {file}:{line}:13)"
        )
    );
    wrong.remove();

    let panics = [
        y.register_hook(|_| panic!("in the tensor's hook")),
        node(&y).register_prehook(|_: &Gradients| panic!("in the prehook")),
        node(&y).register_hook(|_: &Gradients, _: &Gradients| panic!("in the node's hook")),
        x.register_hook(|_| panic!("in the leaf's hook")),
        x.register_post_accumulate_grad_hook(|_| panic!("after accumulation")),
    ];
    for handle in panics {
        let panic = catch_unwind(AssertUnwindSafe(|| Backward::of(&y.sum()).run()));
        assert!(panic.is_err());
        assert_eq!(of(&x), Some(10.0));
        handle.remove();
    }
    let count = node(&y).register_prehook(|_: &Gradients| Some(vec![]));
    let error = y.sum().backward().unwrap_err();
    assert!(matches!(
        (error.kind(), error.function()),
        (
            ErrorKind::HookCount {
                expected: 1,
                found: 0,
                ..
            },
            Some("Mul")
        )
    ));
    count.remove();
    let other = node(&y).register_prehook(|_: &[Option<TensorD<f32>>]| None);
    assert!(
        (
            y.sum().backward().unwrap_err().kind(),
            y.sum().backward().unwrap_err().function()
        ) == (
            &ErrorKind::ElementType {
                expected: ElementType::F32,
                found: ElementType::F64
            },
            Some("Mul")
        )
    );
    other.remove();
    y.sum().backward().unwrap();
    assert_eq!(of(&x), Some(12.0));
}

#[test]
fn a_hook_after_accumulation_that_panics_brings_all_gradients_back() {
    let (a, b) = (leaf(1.0), leaf(2.0));
    b.set_grad(array![7.0]);
    let y = &a * &b;
    y.retain_grad();
    let handle = b.register_post_accumulate_grad_hook(|_| panic!("on purpose"));
    let panic = catch_unwind(AssertUnwindSafe(|| y.sum().backward()));
    assert!(panic.is_err());
    assert_eq!((of(&a), of(&b), of(&y)), (None, Some(7.0), None));
    handle.remove();
    y.sum().backward().unwrap();
    assert_eq!((of(&a), of(&b), of(&y)), (Some(2.0), Some(8.0), Some(1.0)));
}

#[test]
fn what_a_hook_computes_is_differentiable_under_create_graph() {
    let x = leaf(3.0);
    let y = &x * &x;
    // The gradient g of y becomes g · g; so dx = g² · 2x, and with respect to the seed's own leaf …
    y.register_hook(|grad| Some(grad * grad));
    let scale = leaf(5.0);
    let (dx,) = Grad::of(&(&y * &scale).sum())
        .create_graph(true)
        .run((&x,))
        .unwrap();
    assert_eq!(dx.to_array(), array![25.0 * 6.0]);
    let (by_scale, by_x) = grad(&dx.sum(), (&scale, &x)).unwrap();
    assert_eq!(
        (by_scale.item(), by_x.item()),
        (2.0 * 5.0 * 6.0, 25.0 * 2.0)
    );
}

#[test]
fn without_create_graph_a_hook_adds_no_history() {
    let (x, factor) = (leaf(3.0), leaf(2.0));
    let y = Same::apply(&x);
    let captured = factor.clone();
    y.register_hook(move |grad| Some(enable_grad(|| grad * &captured)));
    y.sum().backward().unwrap();
    assert_eq!(of(&x), Some(2.0));
    assert!(!x.grad_tensor().unwrap().requires_grad());
}

#[test]
fn hooks_on_gradients_of_gradients() {
    let x = leaf(2.0);
    let y = &x * &x * &x;
    let (first,) = Grad::of(&y.sum()).create_graph(true).run((&x,)).unwrap();
    first.register_hook(|grad| Some(grad * 10.0));
    let (second,) = Grad::of(&first.sum())
        .create_graph(true)
        .run((&x,))
        .unwrap();
    assert_eq!(second.item(), 10.0 * 6.0 * 2.0);
    // The gradient of the sum of two uses, which the engine added.
    let seen = Arc::new(AtomicUsize::new(0));
    let see = Arc::clone(&seen);
    let (sum,) = Grad::of(&(&x * &x).sum())
        .create_graph(true)
        .run((&x,))
        .unwrap();
    sum.register_hook(move |_| {
        see.fetch_add(1, Ordering::Relaxed);
        None
    });
    let (by_x,) = grad(&sum.sum(), (&x,)).unwrap();
    assert_eq!((by_x.item(), seen.load(Ordering::Relaxed)), (2.0, 1));
}
