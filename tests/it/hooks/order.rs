//! The order in which hooks are called.

use std::sync::{Arc, Mutex};

use pullback::Backward;
use pullback::ndarray::array;
use pullback::prelude::*;

use super::*;

#[test]
fn the_hooks_of_a_leaf_come_in_their_order() {
    let x = leaf(1.0);
    let y = Same::apply(&x);
    let accumulation = leaf_node(&y);
    // Registered in another order than they are called in.
    let kept = x.clone();
    let cyclic = accumulation.register_hook(move |inputs: &Gradients, outputs: &Gradients| {
        assert!(inputs.is_empty());
        assert_eq!(outputs[0].as_ref().unwrap().item(), -0.2);
        let grad = kept.grad().unwrap();
        kept.set_grad(grad * 10.0);
        None
    });
    x.register_post_accumulate_grad_hook(|x| x.set_grad(x.grad().unwrap() + 0.5));
    accumulation
        .register_prehook(|grads: &Gradients| Some(vec![grads[0].as_ref().map(|grad| grad / 5.0)]));
    x.register_hook(|grad| Some(grad - 2.0));
    y.backward_with(array![1.0]).unwrap();
    assert!((of(&x).unwrap() - 3.0).abs() < 1e-12);
    cyclic.remove();
}

#[test]
fn hooks_are_called_in_the_order_of_their_registration_by_kind() {
    let log = Log::default();
    let a = leaf(1.0);
    let b = Same::apply(&a);
    log.pre(&node(&b), "2", 2.0);
    log.tensor(&b, "1", 3.0);
    log.pre(&node(&b), "2", 2.0);
    log.tensor(&a, "1", 3.0);
    log.pre(&leaf_node(&b), "2", 2.0);
    log.tensor(&a, "1", 3.0);
    Backward::of(&b.sum()).retain_graph(true).run().unwrap();
    assert_eq!(log.take(), ["1", "2", "2", "1", "1", "2"]);
    assert_eq!(of(&a), Some(3.0 * 4.0 * 9.0 * 2.0));

    // What is handed back is not accumulated: the leaf's node does not run, its tensor's hooks do.
    let (da,) = Grad::of(&b.sum()).retain_graph(true).run((&a,)).unwrap();
    assert_eq!(log.take(), ["1", "2", "2", "1", "1"]);
    assert_eq!(da.item(), 3.0 * 4.0 * 9.0);

    // A node that does not run calls no hooks of its own; the gradient is what the tensor's made of it.
    Backward::of(&b.sum()).inputs((&b,)).run().unwrap();
    assert_eq!(log.take(), ["1"]);
    assert_eq!(of(&b), Some(3.0));
}

#[test]
fn what_is_retained_has_been_through_the_hooks() {
    let x = leaf(1.0);
    let y = Same::apply(&x);
    y.register_hook(|grad| Some(grad * 2.0));
    y.retain_grad();
    y.register_hook(|grad| Some(grad * 2.0));
    y.sum().backward().unwrap();
    assert_eq!((of(&y), of(&x)), (Some(4.0), Some(4.0)));

    let y = Same::apply(&x);
    y.retain_grad();
    y.register_hook(|grad| Some(grad * 2.0));
    y.sum().backward().unwrap();
    assert_eq!(of(&y), Some(2.0));
    y.zero_grad();
    assert_eq!(of(&y), None);
}

#[test]
fn a_hook_belongs_to_the_value_that_the_tensor_had() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let see = |tensor: &Vector| {
        let seen = Arc::clone(&seen);
        tensor.register_hook(move |grad| {
            seen.lock().unwrap().push(grad.to_array()[0]);
            Some(grad * 2.0)
        })
    };
    let a = leaf(1.0);
    let mut b = Same::apply(&a);
    see(&b);
    Double::apply(&mut b);
    see(&b);
    b.sum().backward().unwrap();
    // The later hook is met first: 1; then twice two times that.
    assert_eq!(*seen.lock().unwrap(), [1.0, 4.0]);
    assert_eq!(of(&a), Some(8.0));
}

#[test]
fn what_is_retained_is_the_gradient_of_the_value_that_the_tensor_had() {
    let a = leaf(1.0);
    let mut b = Same::apply(&a);
    b.retain_grad();
    let former = b.clone();
    Double::apply(&mut b);
    b.retain_grad();
    b.sum().backward().unwrap();
    assert_eq!((of(&b), of(&former)), (Some(1.0), Some(2.0)));
}

#[test]
fn each_way_to_run_a_pass_calls_the_hooks_of_what_it_runs() {
    let counted = |run: fn(&Vector, &Vector, &Vector)| {
        let log = Log::default();
        let a = leaf(1.0);
        let b = Same::apply(&a);
        let c = Same::apply(&b);
        for (tensor, node) in [(&a, leaf_node(&b)), (&b, node(&b))] {
            log.tensor(tensor, "tensor", 1.0);
            log.post(&node, "post");
            log.pre(&node, "pre", 1.0);
        }
        run(&a, &b, &c.clone());
        let events = log.take();
        ["tensor", "post", "pre"].map(|what| events.iter().filter(|event| **event == what).count())
    };
    assert_eq!(
        counted(|_, b, c| drop(grad(&c.sum(), (b,)).unwrap())),
        [1, 0, 0]
    );
    assert_eq!(
        counted(|a, b, c| drop(grad(&c.sum(), (a, b)).unwrap())),
        [2, 1, 1]
    );
    assert_eq!(counted(|_, _, c| c.sum().backward().unwrap()), [2, 2, 2]);
    let both = |a: &Vector, b: &Vector, c: &Vector| {
        Backward::of(c)
            .seed(array![1.0])
            .inputs((a, b))
            .run()
            .unwrap();
    };
    assert_eq!(counted(both), [2, 2, 2]);
}

#[test]
fn all_kinds_of_hooks_around_one_function() {
    let log = Log::default();
    let (x, w) = (leaf(2.0), leaf(3.0));
    let y = &x * &w;
    let product = node(&y);
    for (tensor, what) in [(&w, "w"), (&x, "x"), (&y, "y")] {
        log.tensor(tensor, what, 1.0);
    }
    log.post(&product, "post y");
    log.pre(&product, "pre y", 1.0);
    for (place, (tensor, [pre, post, accumulated])) in [
        (&x, ["pre x", "post x", "x accumulated"]),
        (&w, ["pre w", "post w", "w accumulated"]),
    ]
    .into_iter()
    .enumerate()
    {
        let node = product.next_functions()[place].clone().unwrap();
        log.post(&node, post);
        log.pre(&node, pre, 1.0);
        let log = log.clone();
        tensor.register_post_accumulate_grad_hook(move |_| log.note(accumulated));
    }
    y.backward_with(array![1.0]).unwrap();
    // A pass may still fail in what comes before accumulation, so all of that comes first.
    let expected = [
        "y",
        "pre y",
        "post y",
        "x",
        "pre x",
        "w",
        "pre w",
        "x accumulated",
        "post x",
        "w accumulated",
        "post w",
    ];
    assert_eq!(log.take(), expected);
}
