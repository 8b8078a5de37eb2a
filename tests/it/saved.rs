//! Hooks on what nodes keep of tensors.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use pullback::ndarray::{Array1, ArrayView1, array};
use pullback::prelude::*;
use pullback::{AnyTensor, ErrorKind, saved_tensors_hooks};

/// y = a b, and c if there is one
struct Product;

#[custom_function]
impl Product {
    #[forward]
    fn forward(a: ArrayView1<f64>, b: ArrayView1<f64>, c: Option<ArrayView1<f64>>) -> Array1<f64> {
        let product = &a * &b;
        match c {
            Some(c) => product * c,
            None => product,
        }
    }

    #[backward]
    fn backward(
        grad_output: &Tensor1<f64>,
        a: &Tensor1<f64>,
        b: &Tensor1<f64>,
        c: Option<&Tensor1<f64>>,
    ) -> (Tensor1<f64>, Tensor1<f64>, Option<Tensor1<f64>>) {
        let with = |tensor: Tensor1<f64>| match c {
            Some(c) => tensor * c,
            None => tensor,
        };
        (
            with(grad_output * b),
            with(grad_output * a),
            c.map(|_| grad_output * a * b),
        )
    }
}

fn leaf(value: f64) -> Tensor1<f64> {
    Tensor::from(array![value]).set_requires_grad(true)
}

/// The tensor times a number.
fn scaled(tensor: &AnyTensor, factor: f64) -> AnyTensor {
    (tensor.to_tensor::<f64>().unwrap() * factor).into()
}

#[test]
fn backward_gets_what_comes_out_of_unpack() {
    let derivative = |pack: f64, unpack: f64| {
        let a = leaf(5.0);
        let pack = move |tensor: AnyTensor| scaled(&tensor, pack);
        let y = saved_tensors_hooks(
            pack,
            move |packed: &AnyTensor| scaled(packed, unpack),
            || &a * &a,
        );
        y.sum().backward().unwrap();
        a.grad().unwrap()[0]
    };
    assert_eq!(derivative(2.0, 0.5), 2.0 * 5.0);
    // Not undone, it shows that both factors were packed.
    assert_eq!(derivative(2.0, 1.0), 4.0 * 5.0);
    let a = leaf(5.0);
    let b = saved_tensors_hooks(
        |tensor| scaled(&tensor, 2.0),
        AnyTensor::clone,
        || &a * a.detach(),
    );
    b.sum().backward().unwrap();
    assert_eq!(a.grad(), Some(array![10.0]));
}

#[test]
fn what_cannot_be_unpacked_is_an_error_and_changes_nothing() {
    let a = leaf(5.0);
    let broken = Arc::new(AtomicUsize::new(0));
    let how = Arc::clone(&broken);
    let unpack = move |packed: &AnyTensor| match how.load(Ordering::Relaxed) {
        0 => Ok(packed.clone()),
        1 => Ok(Tensor::from(array![1.0, 2.0]).into()),
        2 => Ok(Tensor::from(array![1.0_f32]).into()),
        3 => Err("the disk is gone"),
        _ => panic!("on purpose"),
    };
    let y = saved_tensors_hooks(|tensor| tensor, unpack, || a.exp());
    let line = line!() - 1;
    let reasons = [
        "`unpack` gave shape [2] for [1]",
        "`unpack` gave another element type",
        "the disk is gone",
    ];
    for (how, reason) in reasons.iter().enumerate() {
        broken.store(how + 1, Ordering::Relaxed);
        let error = Backward::of(&y.sum()).retain_graph(true).run().unwrap_err();
        let file = file!();
        let expected = format!(
            "a saved tensor of `Exp` could not be unpacked: {reason} (applied at {file}:{line}:63)"
        );
        assert_eq!(error.to_string(), expected);
    }
    broken.store(4, Ordering::Relaxed);
    assert!(
        catch_unwind(AssertUnwindSafe(|| Backward::of(&y.sum())
            .retain_graph(true)
            .run()))
        .is_err()
    );
    assert_eq!(a.grad(), None);
    // The cause gone, it runs, twice if the graph is kept; after that it is freed.
    broken.store(0, Ordering::Relaxed);
    Backward::of(&y.sum()).retain_graph(true).run().unwrap();
    y.sum().backward().unwrap();
    assert_eq!(a.grad(), Some(array![2.0 * 5.0_f64.exp()]));
    assert!(
        (
            y.sum().backward().unwrap_err().kind(),
            y.sum().backward().unwrap_err().function()
        ) == (&ErrorKind::Freed, Some("Exp"))
    );
}

#[test]
fn the_hooks_see_exactly_what_a_function_keeps() {
    let counted = |apply: &dyn Fn()| {
        let shapes: Arc<Mutex<Vec<Vec<usize>>>> = Arc::default();
        let seen = Arc::clone(&shapes);
        let pack = move |tensor: AnyTensor| {
            seen.lock().unwrap().push(tensor.shape().to_vec());
            tensor
        };
        saved_tensors_hooks(pack, AnyTensor::clone, apply);
        let shapes = shapes.lock().unwrap();
        shapes.len()
    };
    let (a, b) = (leaf(2.0), leaf(3.0));
    assert_eq!(counted(&|| drop(Product::apply(&a, &b, None))), 2);
    assert_eq!(counted(&|| drop(Product::apply(&a, &b, Some(&b)))), 3);
    assert_eq!(counted(&|| drop(&a + &b)), 0);
    assert_eq!(counted(&|| drop(&a * b.detach())), 1);
    assert_eq!(
        counted(&|| no_grad(|| drop(Product::apply(&a, &b, None)))),
        0
    );
}

#[test]
fn a_hook_that_is_registered_while_a_tensor_is_unpacked_is_called() {
    let a = leaf(5.0);
    let node: Arc<Mutex<Option<pullback::Node>>> = Arc::default();
    let (own, registered) = (Arc::clone(&node), AtomicBool::new(false));
    let unpack = move |packed: &AnyTensor| {
        if !registered.swap(true, Ordering::Relaxed) {
            let node = own.lock().unwrap().take().unwrap();
            node.register_hook(
                |inputs: &[Option<TensorD<f64>>], outputs: &[Option<TensorD<f64>>]| {
                    // The incoming gradient was not stored for a hook that was not there.
                    assert!(outputs[0].is_none());
                    Some(vec![inputs[0].as_ref().map(|grad| grad / 2.0)])
                },
            );
        }
        packed.clone()
    };
    let y = saved_tensors_hooks(|tensor| tensor, unpack, || a.exp());
    *node.lock().unwrap() = y.grad_fn();
    y.sum().backward().unwrap();
    assert_eq!(a.grad(), Some(array![5.0_f64.exp() / 2.0]));
}

#[test]
fn the_innermost_hooks_apply_and_code_of_the_hooks_is_outside_all() {
    let a = leaf(5.0);
    let counts: [Arc<AtomicUsize>; 2] = Default::default();
    let counting = |place: usize| {
        let count = Arc::clone(&counts[place]);
        move |tensor: AnyTensor| {
            count.fetch_add(1, Ordering::Relaxed);
            // Neither recorded nor packed: it would not end.
            let leaf = tensor.to_tensor::<f64>().unwrap().set_requires_grad(true);
            assert!(!leaf.exp().requires_grad());
            tensor
        }
    };
    let y = saved_tensors_hooks(counting(0), AnyTensor::clone, || {
        let inner = saved_tensors_hooks(counting(1), AnyTensor::clone, || a.exp().exp());
        inner.exp()
    });
    let seen = || [0, 1].map(|place| counts[place].load(Ordering::Relaxed));
    assert_eq!(seen(), [1, 2]);
    let _ = catch_unwind(AssertUnwindSafe(|| {
        saved_tensors_hooks(counting(1), AnyTensor::clone, || panic!("on purpose"));
    }));
    drop(y.exp());
    assert_eq!(seen(), [1, 2]);
}

#[test]
fn packed_tensors_are_differentiable_again() {
    let x = leaf(0.5);
    let pack = |tensor: AnyTensor| tensor.to_tensor::<f64>().unwrap().to_array();
    let unpack = |packed: &pullback::ndarray::ArrayD<f64>| Tensor::from(packed.clone()).into();
    let run =
        || saved_tensors_hooks::<_, AnyTensor, _>(pack, unpack, || (&x * &x * x.exp()).tanh());
    Gradcheck::new()
        .second_order()
        .run(
            move |(x,)| {
                saved_tensors_hooks::<_, AnyTensor, _>(pack, unpack, || (x * x * x.exp()).tanh())
            },
            (&x,),
        )
        .unwrap();
    let y = run();
    y.sum().backward().unwrap();
    let packed = x.grad();
    x.zero_grad();
    (&x * &x * x.exp()).tanh().sum().backward().unwrap();
    assert_eq!(x.grad(), packed);
}
