//! Computing again what was not kept.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use pullback::ndarray::{Array, Array1, Array2, ArrayView1, array};
use pullback::nn::{BatchNorm1d, Dropout, Sequential, Tanh};
use pullback::prelude::*;
use pullback::{AnyTensor, Error, ErrorKind, checkpoint_steps, jvp, replayed, saved_tensors_hooks};

/// y = sin x, counting how often it is computed.
struct Sine;

#[custom_function]
impl Sine {
    #[forward]
    fn forward(x: ArrayView1<f64>, count: Arc<AtomicUsize>) -> Array1<f64> {
        count.fetch_add(1, Ordering::Relaxed);
        x.mapv(f64::sin)
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> {
        &grad_output * &x.mapv(f64::cos)
    }
}

fn leaf() -> Tensor1<f64> {
    Tensor::from(array![0.3, -0.7, 1.2]).set_requires_grad(true)
}

/// Returns the result of `body`, and the number of tensors that it saves.
fn kept<R>(body: impl FnOnce() -> R) -> (R, usize) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let pack = move |tensor: AnyTensor| {
        counted.fetch_add(1, Ordering::Relaxed);
        tensor
    };
    let result = saved_tensors_hooks(pack, AnyTensor::clone, body);
    (result, count.load(Ordering::Relaxed))
}

#[test]
fn gradients_are_those_without_a_checkpoint() {
    let (x, w) = (leaf(), leaf());
    let function = |x: &Tensor1<f64>, w: &Tensor1<f64>| (x * w).tanh() * x.exp() + w;
    function(&x, &w).sum().backward().unwrap();
    let plain = (x.grad(), w.grad());
    x.zero_grad();
    w.zero_grad();
    // As inputs, and captured.
    checkpoint(move |(x, w)| function(x, w), (&x, &w))
        .sum()
        .backward()
        .unwrap();
    assert_eq!((x.grad(), w.grad()), plain);
    x.zero_grad();
    w.zero_grad();
    let captured = w.clone();
    checkpoint(move |x| function(x, &captured), &x)
        .sum()
        .backward()
        .unwrap();
    assert_eq!((x.grad(), w.grad()), plain);
    Gradcheck::new()
        .second_order()
        .run(
            move |(x, w)| checkpoint(move |(x, w)| function(x, w), (x, w)),
            (&x, &w),
        )
        .unwrap();
}

#[test]
fn only_the_inputs_are_kept_and_the_function_runs_once_more() {
    let x = leaf();
    let count = Arc::new(AtomicUsize::new(0));
    let calls = Arc::clone(&count);
    let function = move |x: &Tensor1<f64>| {
        Sine::apply(&Sine::apply(x, Arc::clone(&calls)), Arc::clone(&calls)).exp()
    };
    let (y, kept) = kept(|| checkpoint(function, &x));
    assert_eq!((kept, count.load(Ordering::Relaxed)), (1, 2));
    Backward::of(&y.sum()).retain_graph(true).run().unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 4);
    // Nothing of the second call stays: a pass through the same graph calls it again.
    y.sum().backward().unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 6);
    let expected = x
        .to_array()
        .mapv(|x: f64| 2.0 * x.cos() * x.sin().cos() * x.sin().sin().exp());
    let error = (x.grad().unwrap() - expected).mapv(f64::abs).sum();
    assert!(error < 1e-12, "{error}");
}

#[test]
fn checkpoints_nest() {
    let x = leaf();
    let inner = |x: &Tensor1<f64>| checkpoint(|x| x.tanh().exp(), x);
    let middle = move |x: &Tensor1<f64>| checkpoint(move |x| inner(&inner(x)) * x, x);
    let (y, kept) = kept(|| checkpoint(move |x| middle(&inner(x)).tanh(), &x));
    assert_eq!(kept, 1);
    y.sum().backward().unwrap();
    let nested = x.grad();
    x.zero_grad();
    let inner = |x: &Tensor1<f64>| x.tanh().exp();
    let first = inner(&x);
    (inner(&inner(&first)) * &first)
        .tanh()
        .sum()
        .backward()
        .unwrap();
    assert_eq!(x.grad(), nested);
    Gradcheck::new()
        .second_order()
        .run(move |(x,)| checkpoint(move |x| middle(x).tanh(), x), (&x,))
        .unwrap();
}

/// A damped oscillator that is driven: place and speed, and a list of sums.
fn oscillate(
    (place, speed, sums): (&Tensor1<f64>, &Tensor1<f64>, &[Tensor0<f64>]),
    stiffness: &Tensor1<f64>,
    t: usize,
) -> (Tensor1<f64>, Tensor1<f64>, Vec<Tensor0<f64>>) {
    let force = place.sin() * stiffness * -1.0 + (t as f64 * 0.1).cos();
    let speed = speed * 0.99 + force * 0.05;
    let place = place + &speed * 0.05;
    let sums = vec![&sums[0] + place.square().sum(), &sums[1] + speed.sum()];
    (place, speed, sums)
}

#[test]
fn steps_have_the_gradients_of_a_loop() -> Result<(), Error> {
    let (place, speed, stiffness) = (leaf(), leaf(), leaf());
    let zero = || Tensor::from(0.0).set_requires_grad(true);
    let sums = [zero(), zero()];
    let loss = |(place, speed, sums): (Tensor1<f64>, Tensor1<f64>, Vec<Tensor0<f64>>)| {
        (place * speed).sum() + &sums[0] * &sums[1]
    };
    let inputs = (&place, &speed, &sums, &stiffness);
    for steps in [0, 1, 2, 3, 10, 99] {
        let first = (place.clone(), speed.clone(), sums.to_vec());
        let plain = (5..5 + steps).fold(first, |(place, speed, sums), t| {
            oscillate((&place, &speed, &sums), &stiffness, t)
        });
        let captured = stiffness.clone();
        let step = move |state: (&Tensor1<f64>, &Tensor1<f64>, &[Tensor0<f64>]), t| {
            oscillate(state, &captured, t)
        };
        let end = checkpoint_steps((&place, &speed, &sums), 5..5 + steps, step);
        let (plain, end) = (loss(plain), loss(end));
        assert_eq!(end.to_array(), plain.to_array(), "{steps} steps");
        let derivatives = |loss: &Tensor0<f64>| -> Result<_, Error> {
            let options = || Grad::of(loss).create_graph(true).allow_unused(true);
            let (a, b, c, d) = options().run(inputs)?;
            let sum = a.square().sum() + b.square().sum() + c[0].square() + d.square().sum();
            let second = Grad::of(&sum).allow_unused(true).run(inputs)?;
            let arrays =
                |(a, b, c, d): (Tensor1<f64>, Tensor1<f64>, Vec<Tensor0<f64>>, Tensor1<f64>)| {
                    let c = c.iter().map(Tensor::to_array).collect::<Vec<_>>();
                    (a.to_array(), b.to_array(), c, d.to_array())
                };
            Ok((arrays((a, b, c, d)), arrays(second)))
        };
        assert_eq!(derivatives(&end)?, derivatives(&plain)?, "{steps} steps");
    }
    Ok(())
}

#[test]
fn steps_are_computed_twice_and_only_some_states_are_saved() {
    let (x, count) = (leaf(), Arc::new(AtomicUsize::new(0)));
    for (steps, most) in [(1, 1), (4, 2), (100, 10), (1000, 33)] {
        count.store(0, Ordering::Relaxed);
        let calls = Arc::clone(&count);
        let step = move |x: &Tensor1<f64>, _| Sine::apply(x, Arc::clone(&calls));
        let (y, kept) = kept(|| checkpoint_steps(&x, 0..steps, step));
        assert_eq!((kept, count.load(Ordering::Relaxed)), (most, steps));
        y.sum().backward().unwrap();
        assert_eq!(count.load(Ordering::Relaxed), 2 * steps);
    }
    // Outside recording, and in forward mode, it is a loop.
    let step = |x: &Tensor1<f64>, t: usize| x.exp() * t as f64;
    let plain = no_grad(|| checkpoint_steps(&x, 1..3, step));
    assert_eq!(
        (plain.requires_grad(), plain.to_array()),
        (false, ((&x.exp() * 1.0).exp() * 2.0).to_array())
    );
    let direction = Tensor::from(array![1.0, 0.0, 0.0]);
    let along =
        |steps: fn(&Tensor1<f64>) -> Tensor1<f64>| jvp(steps, &x, &direction).unwrap().1.to_array();
    assert_eq!(
        along(|x| checkpoint_steps(x, 1..3, |x, t| x.exp() * t as f64)),
        along(|x| (x.exp() * 1.0).exp() * 2.0)
    );
    // Backwards, nothing is done.
    #[expect(clippy::reversed_empty_ranges, reason = "that it is")]
    let same = checkpoint_steps(&x, 3..1, step);
    assert!(same.is_leaf() && same.to_array() == x.to_array());
}

#[test]
fn a_step_that_does_something_else_the_second_time_is_an_error() {
    let (x, count) = (leaf(), Arc::new(AtomicUsize::new(0)));
    let step = move |x: &Tensor1<f64>, _| match count.fetch_add(1, Ordering::Relaxed) {
        0..20 => x.exp() * 0.1,
        _ => x * 1.0,
    };
    let error = checkpoint_steps(&x, 0..20, step)
        .sum()
        .backward()
        .unwrap_err();
    assert!(
        error.to_string().contains("it must do the same each time"),
        "{error}"
    );
    assert_eq!(x.grad(), None);
}

#[test]
fn a_function_that_does_something_else_the_second_time_is_an_error() {
    let x = leaf();
    let calls = Arc::new(AtomicUsize::new(0));
    let call = Arc::clone(&calls);
    let more = move |x: &Tensor1<f64>| {
        let y = x.exp();
        if call.fetch_add(1, Ordering::Relaxed) == 0 {
            y
        } else {
            y.exp()
        }
    };
    let y = checkpoint(more, &x);
    let message = y.sum().backward().unwrap_err().to_string();
    assert!(
        message.starts_with(
            "a saved tensor of `Exp` could not be unpacked: the checkpointed function saved 2 tensors when it was \
             called again, 1 before: it must do the same each time"
        ),
        "{message}"
    );
    let call = Arc::new(AtomicUsize::new(0));
    let shorter = move |x: &Tensor1<f64>| {
        let length = 1 + call.fetch_add(1, Ordering::Relaxed);
        (Tensor::from(Array::ones((length, 3))) * x).exp().sum()
    };
    let message = checkpoint(shorter, &x).backward().unwrap_err().to_string();
    assert!(
        message.contains("saved a tensor of shape [2, 3] when it was called again, [1, 3] before"),
        "{message}"
    );
    assert_eq!(x.grad(), None);
}

#[test]
fn a_panic_in_the_second_call_changes_nothing() {
    let x = leaf();
    let calls = Arc::new(AtomicUsize::new(0));
    let call = Arc::clone(&calls);
    let y = checkpoint(
        move |x: &Tensor1<f64>| {
            assert_ne!(call.fetch_add(1, Ordering::Relaxed), 1, "on purpose");
            x.exp().tanh()
        },
        &x,
    );
    assert!(catch_unwind(AssertUnwindSafe(|| y.sum().backward())).is_err());
    assert_eq!(x.grad(), None);
    y.sum().backward().unwrap();
    assert!(x.grad().is_some());
    assert!(y.sum().backward().unwrap_err().kind() == &ErrorKind::Freed);
}

#[test]
fn outside_recording_and_in_forward_mode_the_function_is_just_called() {
    let x = leaf();
    let y = no_grad(|| checkpoint(|x| x.exp(), &x));
    assert!(!y.requires_grad());
    assert!(!checkpoint(|x| x.exp(), &x.detach()).requires_grad());
    let direction = Tensor::from(array![1.0, 0.0, 0.0]);
    let (value, along) = jvp(|x| checkpoint(|x| x.exp(), x), &x, &direction).unwrap();
    assert_eq!(along.to_array(), value.to_array() * array![1.0, 0.0, 0.0]);
}

#[test]
fn a_checkpoint_may_run_on_another_thread_and_on_several_at_once() {
    let x = leaf();
    let y = checkpoint(|x| x.exp().tanh().exp(), &x);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    Grad::of(&y.sum()).retain_graph(true).run((&x,)).unwrap();
                    Backward::of(&y.sum()).retain_graph(true).run().unwrap();
                }
            });
        }
    });
    let sum = x.grad().unwrap();
    x.zero_grad();
    y.sum().backward().unwrap();
    let error = (sum - x.grad().unwrap() * 100.0).mapv(f64::abs).sum();
    assert!(error < 1e-9, "{error}");
}

#[test]
fn numbers_drawn_in_a_checkpoint_are_those_of_its_first_call() -> Result<(), Error> {
    let next = Arc::new(AtomicU64::new(1));
    let draw = {
        let next = Arc::clone(&next);
        move || replayed(|| next.fetch_add(1, Ordering::Relaxed)) as f64
    };
    let x = leaf();
    let y = {
        let (inner, outer) = (draw.clone(), draw.clone());
        checkpoint(
            move |x: &Tensor1<f64>| {
                let first = x.exp() * outer();
                let inner = inner.clone();
                let middle = checkpoint(move |x: &Tensor1<f64>| x.exp().tanh() * inner(), &first);
                middle.exp() * outer()
            },
            &x,
        )
    };
    // Drawn from outside between the calls.
    assert_eq!(draw(), 4.0);
    let seed = x.to_array();
    let on_another_thread = std::thread::scope(|scope| {
        let pass = scope.spawn(|| y.backward_with(seed.clone()));
        pass.join().expect("no panic")
    });
    on_another_thread?;
    assert_eq!(draw(), 5.0);
    let kept = x.grad();
    x.zero_grad();
    let plain = ((x.exp() * 1.0).exp().tanh() * 2.0).exp() * 3.0;
    assert_eq!(y.to_array(), plain.to_array());
    plain.backward_with(seed)?;
    assert_eq!(x.grad(), kept);
    Ok(())
}

#[test]
fn layers_that_change_with_each_call_may_stand_in_a_checkpoint() -> Result<(), Error> {
    let norm = BatchNorm1d::<f64>::new(2).momentum(0.5);
    let model = Arc::new(Sequential::new((norm, Dropout::seeded(0.5, 7), Tanh)));
    let x = Tensor::from(Array2::from_shape_fn((8, 2), |(i, j)| (3 * i + j) as f64))
        .set_requires_grad(true);
    let again = Arc::clone(&model);
    let y: Tensor2<f64> = checkpoint(move |x: &Tensor2<f64>| again.forward(x), &x);
    let statistics = || {
        model
            .layers
            .0
            .running_mean
            .as_ref()
            .map(|mean| mean.get().to_array())
    };
    let after_one = statistics();
    let seed = x.to_array();
    y.backward_with(seed.clone())?;
    assert_eq!((statistics(), model.layers.1.calls()), (after_one, 1));
    let kept = x.grad();
    x.zero_grad();
    model.layers.1.set_calls(0);
    let plain: Tensor2<f64> = model.forward(&x);
    assert_eq!(plain.to_array(), y.to_array());
    plain.backward_with(seed)?;
    assert_eq!(x.grad(), kept);
    assert!(kept.is_some_and(|grad| grad.iter().any(|grad| *grad != 0.0)));
    Ok(())
}

#[test]
fn numbers_are_drawn_again_in_a_pass_that_runs_on_a_thread_of_its_own() {
    /// Calls `body` with so much of the stack in use that a pass in `body` gets a new thread.
    #[inline(never)]
    #[expect(clippy::large_stack_arrays, reason = "it is to use the stack")]
    fn deep<R>(body: impl FnOnce() -> R) -> R {
        let used = std::hint::black_box([1_u8; 700 << 10]);
        let result = body();
        std::hint::black_box(&used);
        result
    }
    let drawn: Arc<std::sync::Mutex<Vec<(u64, bool)>>> = Arc::default();
    let next = Arc::new(AtomicU64::new(1));
    let (noted, seeds) = (Arc::clone(&drawn), Arc::clone(&next));
    let body = move || {
        let x = leaf();
        let function = move |x: &Tensor1<f64>| {
            let inner = x.detach().set_requires_grad(true);
            let energy = (&inner * 2.0).sum();
            let (noted, seeds) = (Arc::clone(&noted), Arc::clone(&seeds));
            energy.register_hook(move |grad| {
                let number = replayed(|| seeds.fetch_add(1, Ordering::Relaxed));
                let again = pullback::is_recomputing();
                noted.lock().unwrap().push((number, again));
                Some(grad * number as f64)
            });
            let (slope,) = deep(|| grad(&energy, (&inner,)).unwrap());
            x.exp() * slope
        };
        let y = checkpoint(function, &x);
        y.sum().backward().unwrap();
        assert_eq!(x.grad(), Some(y.to_array()));
    };
    let worker = std::thread::Builder::new().stack_size(16 << 20).spawn(body);
    worker.unwrap().join().unwrap();
    assert_eq!(*drawn.lock().unwrap(), [(1, false), (1, true)]);
}
