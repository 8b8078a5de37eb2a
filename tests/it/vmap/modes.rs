//! Maps inside of what else there is: hooks, modes of threads, checkpoints, forward mode.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use pullback::functional::{Functional, hvp, jvp, vmap};
use pullback::kernels::set_threads;
use pullback::ndarray::{Array1, ArrayView1, Axis, array};
use pullback::prelude::*;
use pullback::{
    Backward, ErrorKind, checkpoint, inspect, is_grad_enabled, is_recomputing, replayed,
    saved_tensors_hooks,
};

use super::{leaf, numbers};
use crate::functions::{Square, SquareOnce};

#[test]
fn hooks_of_captured_tensors_are_called_once_with_the_sum() {
    let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    let w = leaf(array![1.0, 1.0]);
    let computed = &w * 2.0;
    let (of_leaf, of_computed) = (
        Arc::new(Mutex::new(Vec::new())),
        Arc::new(Mutex::new(Vec::new())),
    );
    let log = Arc::clone(&of_leaf);
    w.register_hook(move |grad| {
        log.lock().unwrap().push(grad.to_array());
        None
    });
    let log = Arc::clone(&of_computed);
    computed.register_hook(move |grad| {
        log.lock().unwrap().push(grad.to_array());
        Some(grad * 10.0)
    });
    computed.retain_grad();
    let y = vmap(|x| (x * &computed * &w).sum(), Axis(0), &x).unwrap();
    y.sum().backward().unwrap();
    assert_eq!(*of_computed.lock().unwrap(), [array![9.0, 12.0]]);
    assert_eq!(*of_leaf.lock().unwrap(), [array![198.0, 264.0]]);
    assert_eq!(computed.grad(), Some(array![90.0, 120.0]));
    assert_eq!(w.grad(), Some(array![198.0, 264.0]));
}

#[test]
fn hooks_inside_are_called_for_each_example() {
    let x = leaf(array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    let calls = Arc::new(AtomicUsize::new(0));
    let y: Tensor2<f64> = vmap(
        |x| {
            let calls = Arc::clone(&calls);
            x.register_hook(move |grad| {
                calls.fetch_add(1, Ordering::Relaxed);
                Some(grad * 3.0)
            });
            x * x
        },
        Axis(0),
        &x,
    )
    .unwrap();
    y.register_hook(|grad| Some(grad * 2.0));
    y.sum().backward().unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 3);
    assert_eq!(x.grad(), Some(x.to_array() * 12.0));
}

#[test]
fn gradients_that_are_retained_inside_come_with_the_pass() {
    let x = leaf(array![[1.0], [2.0], [3.0]]);
    let kept = Mutex::new(Vec::new());
    let y: Tensor2<f64> = vmap(
        |x| {
            let inside = x * 2.0;
            inside.retain_grad();
            kept.lock().unwrap().push((x.item(), inside.clone()));
            Square::apply(&inside)
        },
        Axis(0),
        &x,
    )
    .unwrap();
    y.sum().backward().unwrap();
    for (x, inside) in kept.into_inner().unwrap() {
        assert_eq!(inside.grad(), Some(array![4.0 * x]));
    }
}

#[test]
fn what_nothing_requires_has_no_history() {
    let (x, w) = (leaf(array![[1.0], [2.0]]), leaf(array![3.0]));
    let constants = (x.detach(), w.detach());
    let product = |x: &Tensor2<f64>, w: &Tensor1<f64>| vmap(|x| x * w, Axis(0), x).unwrap();
    assert!(!product(&constants.0, &constants.1).requires_grad());
    assert!(product(&x, &constants.1).requires_grad());
    assert!(product(&constants.0, &w).requires_grad());
    assert!(!no_grad(|| product(&x, &w)).requires_grad());
    let modes: Vec<bool> = no_grad(|| {
        let modes = Mutex::new(Vec::new());
        let inside = |x: &Tensor1<f64>| {
            modes.lock().unwrap().push(is_grad_enabled());
            enable_grad(|| x * &w)
        };
        assert!(!vmap(inside, Axis(0), &x).unwrap().requires_grad());
        modes.into_inner().unwrap()
    });
    assert_eq!(modes, [false, false]);
    // An output that depends on nothing, beside one that does.
    let (y, ones) = vmap(|x| (x * 2.0, Tensor::from(array![1.0])), Axis(0), &x).unwrap();
    assert!(y.requires_grad() && !ones.requires_grad());
    y.sum().backward().unwrap();
    assert_eq!(x.grad(), Some(array![[2.0], [2.0]]));
}

#[test]
fn a_graph_is_freed_or_retained_as_a_whole() {
    let (x, w) = (leaf(array![[1.0], [2.0]]), leaf(array![3.0]));
    let y = vmap(|x| (x * x * &w).sum(), Axis(0), &x).unwrap().sum();
    let node = y.grad_fn().unwrap().next_functions()[0].clone().unwrap();
    assert_eq!(
        (node.name(), node.input_name(0), node.input_name(1)),
        ("Vmap", "inputs[0]".into(), "captured[0]".into())
    );
    assert!(!node.saved().unwrap().is_empty());
    Backward::of(&y).retain_graph(true).run().unwrap();
    y.backward().unwrap();
    assert_eq!(x.grad(), Some(array![[12.0], [24.0]]));
    let error = y.backward().unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Freed);
    assert!(node.saved().is_none());
}

#[test]
fn a_pass_that_fails_changes_nothing_and_names_the_function() {
    let (x, w) = (leaf(array![[1.0], [2.0]]), leaf(array![3.0]));
    let y: Tensor2<f64> = vmap(|x| SquareOnce::apply(&(x * &w)), Axis(0), &x).unwrap();
    let first = Grad::of(&y).seed(array![[1.0], [1.0]]).create_graph(true);
    let dx = first.run(&x).unwrap();
    let error = dx.sum().backward().unwrap_err();
    assert_eq!(
        (error.kind(), error.function()),
        (&ErrorKind::OnceDifferentiable, Some("SquareOnce"))
    );
    assert_eq!((x.grad(), w.grad()), (None, None));

    let zero = leaf(array![[0.0], [1.0]]);
    let y = vmap(|x| x.powi(2).ln().sum(), Axis(0), &zero).unwrap();
    let error = detect_anomaly(|| y.sum().backward()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NotANumber { .. }));
    assert_eq!(zero.grad(), None);
}

#[test]
fn forward_mode_goes_through() {
    set_threads(2);
    let (x, along) = (numbers((3, 2), 0.5), numbers((3, 2), 0.6));
    let (w, along_w) = (numbers(2, 0.7), numbers(2, 0.8));
    let [x, along] = [x, along].map(Tensor::from);
    let [w, along_w]: [Tensor1<f64>; 2] = [w, along_w].map(Tensor::from);
    let mapped = |(x, w): (&Tensor2<f64>, &Tensor1<f64>)| {
        // Captured, and nothing else has a tangent.
        let of_captured = vmap(|x| x * w, Axis(0), &x.detach()).unwrap();
        vmap(|x| (x * w).tanh(), Axis(0), x).unwrap() * of_captured
    };
    let whole = |(x, w): (&Tensor2<f64>, &Tensor1<f64>)| (x * w).tanh() * (x.detach() * w);
    let options = Functional::new().forward_mode(true);
    let found = options.jvp(mapped, (&x, &w), (&along, &along_w)).unwrap();
    let expected = jvp(whole, (&x, &w), (&along, &along_w)).unwrap();
    assert_eq!(found.0.to_array(), expected.0.to_array());
    assert_eq!(found.1.to_array(), expected.1.to_array());
    let product = |options: Functional| {
        options.hvp(|(x, w)| mapped((x, w)).sum(), (&x, &w), (&along, &along_w))
    };
    let found = product(options).unwrap().1;
    let expected = hvp(|(x, w)| whole((x, w)).sum(), (&x, &w), (&along, &along_w))
        .unwrap()
        .1;
    let close = |x: &f64, y: &f64| (x - y).abs() < 1e-12;
    for (found, expected) in [
        (&found.0, &expected.0),
        (&product(Functional::new()).unwrap().1.0, &expected.0),
    ] {
        assert!(
            found
                .to_array()
                .iter()
                .zip(&expected.to_array())
                .all(|(x, y)| close(x, y))
        );
    }
    assert!(
        found
            .1
            .to_array()
            .iter()
            .zip(&expected.1.to_array())
            .all(|(x, y)| close(x, y))
    );
    // Forward mode inside.
    let inside: Tensor2<f64> = vmap(
        |(x, along)| Ok(jvp(|x| (x * &w).tanh(), x, along)?.1),
        Axis(0),
        (&x, &along),
    )
    .unwrap();
    let (_, expected) = jvp(|x| (x * &w).tanh(), &x, &along).unwrap();
    assert_eq!(inside.to_array(), expected.to_array());
}

#[test]
fn maps_and_checkpoints_go_into_each_other() {
    let (x, w) = (leaf(numbers((5, 3), 0.5)), leaf(numbers(3, 0.6)));
    let layer = |x: &Tensor1<f64>, w: &Tensor1<f64>| (x * w).exp().tanh() * x;
    let whole = |x: &Tensor2<f64>| vmap(|x| layer(x, &w), Axis(0), x).unwrap();
    whole(&x).sum().backward().unwrap();
    let expected = (x.grad(), w.grad());
    let found = |y: Tensor2<f64>| {
        x.zero_grad();
        w.zero_grad();
        y.sum().backward().unwrap();
        (x.grad(), w.grad())
    };
    let inside = vmap(
        |x| {
            let w = w.clone();
            checkpoint(move |x| layer(x, &w), x)
        },
        Axis(0),
        &x,
    );
    assert_eq!(found(inside.unwrap()), expected);
    let (runs, captured) = (Arc::new(AtomicUsize::new(0)), w.clone());
    let counted = Arc::clone(&runs);
    let around = checkpoint(
        move |x| {
            let function = |x: &Tensor1<f64>| {
                if is_recomputing() {
                    counted.fetch_add(1, Ordering::Relaxed);
                }
                layer(x, &captured)
            };
            vmap(function, Axis(0), x).unwrap()
        },
        &x,
    );
    assert_eq!(found(around), expected);
    assert_eq!(
        runs.load(Ordering::Relaxed),
        5,
        "each example runs again once"
    );
}

#[test]
fn numbers_are_drawn_again_for_the_same_examples() {
    let x = leaf(numbers((50, 2), 0.5));
    let (seeds, seen) = (
        Arc::new(AtomicUsize::new(0)),
        Arc::new(Mutex::new([Vec::new(), Vec::new()])),
    );
    let log = Arc::clone(&seen);
    let y = checkpoint(
        move |x| {
            let function = |x: &Tensor1<f64>| {
                let number = replayed(|| seeds.fetch_add(1, Ordering::Relaxed) as u64);
                log.lock().unwrap()[usize::from(is_recomputing())].push(number);
                x.exp() * number as f64
            };
            vmap(function, Axis(0), x).unwrap()
        },
        &x,
    );
    y.sum().backward().unwrap();
    let [first, second] = &*seen.lock().unwrap();
    assert!(first.len() == 50 && first == second);
    let factors = Array1::from_iter(first.iter().map(|&number| number as f64));
    let expected = x.detach().exp().to_array() * factors.insert_axis(Axis(1));
    assert_eq!(x.grad(), Some(expected));
}

#[test]
fn saved_tensors_are_packed_on_the_threads_of_the_examples() {
    set_threads(2);
    let x = leaf(numbers((20, 2), 0.5));
    let packed = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&packed);
    let y: Tensor2<f64> = saved_tensors_hooks(
        move |tensor| {
            count.fetch_add(1, Ordering::Relaxed);
            tensor
        },
        Clone::clone,
        || vmap(|x| x.exp(), Axis(0), &x).unwrap(),
    );
    y.sum().backward().unwrap();
    assert_eq!(packed.load(Ordering::Relaxed), 20);
    assert_eq!(x.grad(), Some(y.to_array()));
}

#[test]
fn a_trace_has_the_nodes_inside() {
    set_threads(2);
    let x = leaf(numbers((4, 2), 0.5));
    let y = vmap(|x| x.exp().sum(), Axis(0), &x).unwrap();
    let (result, events) = inspect::trace(|| y.sum().backward());
    result.unwrap();
    let names: Vec<&str> = events.iter().map(|event| event.name).collect();
    let mut expected = vec!["Sum", "Vmap"];
    expected.extend(["Sum", "Exp"].repeat(4));
    assert_eq!(names, expected);
}

/// y = x³, whose backward is computed by autograd.
struct Cube;

#[custom_function]
impl Cube {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        x.mapv(|x| x * x * x)
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor1<f64>, x: &Tensor1<f64>) -> Tensor1<f64> {
        let slopes = vmap(|(x, grad)| x * x * 3.0 * grad, Axis(0), (x, grad_output));
        slopes.expect("no example fails")
    }
}

#[test]
fn a_backward_function_may_map() {
    let x = leaf(array![1.0, 2.0, -0.5]);
    let check = Gradcheck::new().second_order();
    check.run(Cube::apply, &x).unwrap();
    let y = leaf(numbers((6, 3), 0.5));
    check
        .run(|y| vmap(Cube::apply, Axis(0), y).unwrap(), &y)
        .unwrap();
}

#[test]
fn a_tensor_of_a_thread_that_has_recorded_more_is_captured_as_it_is() {
    let w = leaf(array![2.0]);
    let (computed, kept) = std::thread::scope(|scope| {
        let computing = scope.spawn(|| {
            let mut last = w.exp();
            let kept = last.clone();
            for _ in 0..1000 {
                last = last * 1.0;
            }
            (last, kept)
        });
        computing.join().unwrap()
    });
    let x = Tensor::from(array![[1.0], [2.0]]);
    let y = vmap(|x| x * &computed, Axis(0), &x).unwrap().sum();
    let (of_computed, of_kept) = Grad::of(&y).run((&computed, &kept)).unwrap();
    assert_eq!(
        (of_computed.to_array(), of_kept.to_array()),
        (array![3.0], array![3.0])
    );
}
