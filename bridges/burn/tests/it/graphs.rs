//! The nodes in burn's graph, and the memory that they hold.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use burn::backend::{Autodiff, Flex};
use burn::tensor::{DType, Device, Tensor};
use pullback::{Tensor0, Tensor1};
use pullback_burn::apply;
use pullback_fixtures::polar;

use super::{Random, assert_close, devices, numbers, twin};

type Vector = Tensor1<f64>;

#[test]
fn a_tensor_that_is_used_twice() {
    let mut random = Random(7);
    for device in devices() {
        let x = random.leaf([4], DType::F64, &device);
        let burns = twin(&x);
        // Twice by one use, and by two.
        let y = apply(
            |(x, y): (&Vector, &Vector)| x * x * y,
            (x.clone(), x.clone()),
        );
        let z = apply(|(x, y): (&Vector, &Vector)| x * y, (x.clone(), y.clone()));
        let cube = burns.clone().powi_scalar(3);
        let expected = (cube.clone() + cube * burns.clone()).sum().backward();
        let grads = (y + z).sum().backward();
        assert_close(x.grad(&grads).unwrap(), burns.grad(&expected).unwrap());
    }
}

#[test]
fn checkpointing_computes_burns_operations_again_and_functions_once() {
    let mut random = Random(8);
    for device in devices() {
        let x = random.leaf([4], DType::F64, &device);
        let burns = twin(&x);
        let calls = AtomicUsize::new(0);
        let square = |x: &Vector| {
            calls.fetch_add(1, Ordering::Relaxed);
            x * x
        };
        // Before, between and after, operations that are computed again.
        let y = apply(square, x.clone().exp() + 1.0).sin();
        let (radius, angle) = apply(
            |(x, y): (&Vector, &Vector)| polar(x, y),
            (y.clone().cos(), y.exp()),
        );
        let loss = (radius.exp() * angle.cos()).sum();
        let y = (burns.clone().exp() + 1.0).powi_scalar(2).sin();
        let (x_axis, y_axis) = (y.clone().cos(), y.exp());
        let radius = (x_axis.clone() * x_axis.clone() + y_axis.clone() * y_axis.clone()).sqrt();
        let expected = (radius.exp() * y_axis.atan2(x_axis).cos()).sum();
        assert_close(loss.clone(), expected.clone());
        let (grads, expected) = (loss.backward(), expected.backward());
        assert_close(x.grad(&grads).unwrap(), burns.grad(&expected).unwrap());
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    }
}

#[test]
fn checkpointing_gives_the_same_numbers() {
    let grads = |device: Device| {
        let mut random = Random(9);
        let (x, y) = (
            random.leaf([8], DType::F64, &device),
            random.leaf([8], DType::F64, &device),
        );
        let (radius, angle) = apply(
            |(x, y): (&Vector, &Vector)| polar(x, y),
            (x.clone().tanh(), y.clone().exp()),
        );
        let grads = (radius.tanh() * angle.exp()).sum().backward();
        (
            numbers(x.grad(&grads).unwrap()),
            numbers(y.grad(&grads).unwrap()),
        )
    };
    let [once, again] = devices().map(grads);
    assert_eq!(once, again);
}

#[test]
fn an_input_that_takes_no_part_has_zeros() {
    for device in devices() {
        let x = Tensor::<1>::from_data([1.0, 2.0], (&device, DType::F64)).require_grad();
        let y = Tensor::<1>::from_data([5.0, 6.0, 7.0], (&device, DType::F64)).require_grad();
        let scale = Tensor::<1>::from_data([5.0], (&device, DType::F64)).require_grad();
        let first = |(x, _, _): (&Vector, &Vector, &Tensor0<f64>)| x * 3.0;
        // One that is a leaf, and one whose own backward waits for a gradient.
        let out = apply(first, (x.clone(), y.clone().exp(), scale.clone()));
        let grads = out.sum().backward();
        assert_eq!(numbers(x.grad(&grads).unwrap()), [3.0, 3.0]);
        assert_eq!(numbers(y.grad(&grads).unwrap()), [0.0, 0.0, 0.0]);
        assert_eq!(numbers(scale.grad(&grads).unwrap()), [0.0]);
    }
}

#[test]
fn an_output_without_a_history_is_a_constant() {
    for device in devices() {
        let x = Tensor::<1>::from_data([1.0, 2.0], (&device, DType::F64)).require_grad();
        let (y, detached) = apply(|x: &Vector| (x * 2.0, x.detach()), x.clone());
        assert!(y.is_tracked() && !detached.is_tracked() && detached.is_autodiff());
        let grads = (y * detached.exp()).sum().backward();
        let expected = [1.0_f64, 2.0].map(|x| 2.0 * x.exp());
        assert_eq!(numbers(x.grad(&grads).unwrap()), expected);

        // One of several outputs.
        let (y, z, detached) = apply(|x: &Vector| (x * 2.0, x * x, x.detach()), x.clone());
        let grads = (y * detached.clone() + z).sum().backward();
        assert_eq!(numbers(x.grad(&grads).unwrap()), [4.0, 8.0]);
    }
}

#[test]
fn a_second_backward_is_refused_as_for_burns_own() {
    let device = Device::flex().autodiff();
    let x = Tensor::<1>::from_data([1.0, 2.0], (&device, DType::F64)).require_grad();
    let (radius, angle) = apply(
        |(x, y): (&Vector, &Vector)| polar(x, y),
        (x.clone(), x.clone()),
    );
    let _ = radius.sum().backward();
    let again = catch_unwind(AssertUnwindSafe(|| angle.sum().backward()));
    let message = *again.err().unwrap().downcast::<String>().unwrap();
    assert!(
        message.contains("graph tape has already been consumed"),
        "{message}"
    );
}

#[test]
fn what_was_saved_is_freed() {
    let device = Device::flex().autodiff();
    let holders = |x: &Tensor<1>| {
        let x = x.clone().try_into_primitive::<Autodiff<Flex>>().unwrap();
        std::sync::Arc::strong_count(&x.into_primitive().data_arc())
    };
    let x = Tensor::<1>::from_data([1.0, 2.0], (&device, DType::F64)).require_grad();
    let alone = holders(&x);
    let forgotten = apply(
        |(x, y): (&Vector, &Vector)| polar(x, y),
        (x.clone(), x.clone()),
    );
    drop(forgotten);
    let y = apply(|x: &Vector| x * x, x.clone());
    assert!(holders(&x) > alone);
    // burn frees its graph when it runs backward: what has run, and what nothing refers to.
    let _ = y.sum().backward();
    assert_eq!(holders(&x), alone);
}

/// A tracked tensor that two threads use at once stops burn 0.22 itself: one locks a graph and then all graphs, to
/// run backward, the other all and then that one, to join it to its own.
#[test]
fn threads_have_graphs_of_their_own_and_share_constants() {
    for device in devices() {
        let shared = Tensor::<1>::from_data([3.0], (&device, DType::F64));
        let work = |number: u32| {
            let (device, shared) = (device.clone(), shared.clone());
            move || {
                for step in 0..50 {
                    let number = f64::from(number + step);
                    let x = Tensor::<1>::from_data([number], (&device, DType::F64)).require_grad();
                    let inputs = (x.clone(), shared.clone());
                    let y = apply(|(x, y): (&Vector, &Vector)| x * x * y, inputs);
                    let grads = y.sum().backward();
                    assert_eq!(numbers(x.grad(&grads).unwrap()), [6.0 * number]);
                }
            }
        };
        let threads = [1, 2, 3].map(|number| std::thread::spawn(work(number)));
        for thread in threads {
            thread.join().unwrap();
        }

        // Forward here, backward there.
        let x = Tensor::<1>::from_data([2.0], (&device, DType::F64)).require_grad();
        let y = apply(|x: &Vector| x * x, x.clone());
        let there = std::thread::spawn(move || numbers(x.grad(&y.sum().backward()).unwrap()));
        assert_eq!(there.join().unwrap(), [4.0]);
    }
}
