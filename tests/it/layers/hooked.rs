//! Hooks around `forward`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use pullback::ndarray::array;
use pullback::nn::{ForwardHook, Hooked, Linear, Relu, Sequential};
use pullback::prelude::*;

use super::{generator, names};

type X = Tensor1<f64>;

#[test]
fn hooks_are_called_in_order_with_what_the_ones_before_gave() {
    let relu = Hooked::new(Relu);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = |name: &'static str| {
        let seen = Arc::clone(&seen);
        move |x: &X| seen.lock().expect("a list").push((name, x.item()))
    };
    let (first, second, third, fourth) = (
        note("before 1"),
        note("before 2"),
        note("after 1"),
        note("after 2"),
    );
    relu.register_forward_hook(move |_, input: &X, output| {
        third(input);
        third(output);
        Some(output + 1.0)
    });
    relu.register_forward_prehook(move |_, input| {
        first(input);
        Some(input * 2.0)
    });
    relu.register_forward_prehook(move |_, input| {
        second(input);
        None
    });
    relu.register_forward_hook(move |_, _, output| {
        fourth(output);
        None
    });
    assert_eq!(relu.forward(&Tensor::from(array![3.0])).item(), 7.0);
    let expected = [
        ("before 1", 3.0),
        ("before 2", 6.0),
        ("after 1", 6.0),
        ("after 1", 6.0),
        ("after 2", 7.0),
    ];
    assert_eq!(*seen.lock().expect("a list"), expected);
}

#[test]
fn gradients_go_through_what_hooks_put_in() {
    let relu = Hooked::new(Relu);
    relu.register_forward_prehook(|_, input: &X| Some(input * 3.0));
    relu.register_forward_hook(|_, _, output| Some(output * 5.0));
    let x = Tensor::from(array![1.0, -1.0]).set_requires_grad(true);
    relu.forward(&x).sum().backward().expect("a pass");
    assert_eq!(x.grad(), Some(array![15.0, 0.0]));
}

#[test]
fn a_hook_sees_the_module() {
    let linear = Hooked::<_, Tensor2<f32>>::new(Linear::new(3, 2, &mut generator()));
    let features = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&features);
    linear.register_forward_hook(move |linear, _, _| {
        seen.store(linear.in_features(), Ordering::Relaxed);
        None
    });
    let _ = linear.forward(&Tensor::from(array![[1.0, 2.0, 3.0]]));
    assert_eq!(features.load(Ordering::Relaxed), 3);
}

#[test]
fn removed_hooks_are_not_called_even_in_the_same_forward() {
    let relu = Hooked::new(Relu);
    let place: Arc<Mutex<Option<ForwardHook>>> = Arc::default();
    let other = Arc::clone(&place);
    let first = relu.register_forward_hook(move |_, _: &X, _| {
        other
            .lock()
            .expect("a handle")
            .as_ref()
            .expect("a hook")
            .remove();
        None
    });
    let captured = Arc::new(());
    let inner = Arc::clone(&captured);
    let second = relu.register_forward_hook(move |_, _, output| {
        let _ = &inner;
        Some(output * 100.0)
    });
    *place.lock().expect("a handle") = Some(second);
    assert_eq!(relu.forward(&Tensor::from(array![1.0])).item(), 1.0);
    assert_eq!(Arc::strong_count(&captured), 1);
    assert!(format!("{first:?}").contains("true"));
    first.remove();
    first.remove();
    assert!(format!("{first:?}").contains("false"));
}

#[test]
fn hooks_may_register_hooks_and_call_the_layer() {
    let relu = Arc::new(Hooked::new(Relu));
    let weak = Arc::downgrade(&relu);
    let depth = AtomicUsize::new(0);
    relu.register_forward_hook(move |_, input: &X, output| {
        if depth.fetch_add(1, Ordering::Relaxed) > 0 {
            return None;
        }
        let relu = weak.upgrade().expect("the layer");
        relu.register_forward_hook(|_, _, output| Some(output + 1.0));
        Some(output + relu.forward(input))
    });
    // The inner call already has the second hook, the outer one not yet.
    assert_eq!(relu.forward(&Tensor::from(array![1.0])).item(), 3.0);
    assert_eq!(relu.forward(&Tensor::from(array![1.0])).item(), 2.0);
}

#[test]
fn it_is_the_layer_to_whoever_looks() {
    let plain = Sequential::new((Linear::<f32>::new(3, 2, &mut generator()), Relu));
    let mut hooked = Sequential::new((
        Hooked::<_, Tensor2<f32>>::new(Linear::<f32>::new(3, 2, &mut generator())),
        Hooked::<_, Tensor2<f32>>::new(Relu),
    ));
    assert_eq!(hooked.to_string(), plain.to_string());
    assert_eq!(names(&hooked), names(&plain));
    let mut changed = 0;
    hooked.apply(&mut |module| changed += usize::from(module.is::<Linear<f32>>()));
    assert_eq!(changed, 1);
    hooked.layers.0.bias = None;
    assert_eq!(hooked.layers.0.parameter_count(), 6);
    assert!(hooked.layers.0.to_string().starts_with("Linear("));
    let (layer, _) = hooked.layers;
    assert!(layer.into_inner().bias.is_none());
}
