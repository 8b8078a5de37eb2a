//! Models that several processes train.

use std::collections::BTreeMap;
use std::time::Duration;

use pullback::ndarray::{Array1, Array2, Axis, Ix0, Ix1, Ix2, Slice, arr0, array};
use pullback::nn::{Generator, Linear, Sequential, Tanh};
use pullback::optim::{Adam, Sgd};
use pullback::prelude::*;
use pullback_mpi::{Communicator, DataParallel, all_reduce_sum};

use crate::launch::{failing, from_one_process, on};

/// A parameter that is used twice, one of the other element type, one that only some processes use, one that none does.
#[derive(Module)]
struct Odd {
    twice: Parameter<f64, Ix2>,
    single: Parameter<f32, Ix1>,
    sometimes: Parameter<f64, Ix1>,
    never: Parameter<f64, Ix1>,
}

impl Odd {
    fn new(value: f64) -> Self {
        Self {
            twice: Parameter::new(Array2::from_elem((2, 2), value)),
            single: Parameter::new(Array1::from_elem(3, 0.5)),
            sometimes: Parameter::new(Array1::from_elem(2, value)),
            never: Parameter::new(Array1::from_elem(2, value)),
        }
    }
}

/// Σ (x W)² W, and the others times the rank.
fn losses(model: &Odd, comm: &Communicator) -> (Tensor0<f64>, Tensor0<f32>) {
    let rank = comm.rank() as f64;
    let x = Tensor::from(array![[1.0, rank], [2.0, -1.0]]);
    let h = x.matmul(&model.twice);
    let mut loss = (&h * &h).matmul(&model.twice).sum();
    if comm.rank() == 1 {
        loss = loss + (&*model.sometimes * 3.0).sum();
    }
    #[expect(clippy::cast_possible_truncation, reason = "a small number")]
    let single = (&*model.single * rank as f32).sum();
    (loss, single)
}

#[test]
fn gradients_are_means() {
    on(&[1, 2, 3], |comm| {
        for bucket_bytes in [1, 40, 1 << 20] {
            for overlap in [false, true] {
                let model = Odd::new(0.5 + comm.rank() as f64);
                let mut model = DataParallel::new(model, comm);
                assert_eq!(
                    model.never.to_array(),
                    array![0.5, 0.5],
                    "the value of rank 0"
                );
                model = model.bucket_bytes(bucket_bytes).overlap(overlap);
                for step in 1..=3 {
                    let own = Odd::new(0.5);
                    let (loss, single) = losses(&own, comm);
                    loss.backward().unwrap();
                    single.backward().unwrap();
                    let size = comm.size() as f64;
                    let mean = |grad: Array2<f64>| {
                        all_reduce_sum(&Tensor::from(grad), comm).to_array() / size
                    };
                    let twice = mean(own.twice.grad().unwrap());

                    // Gradients accumulate from step to step.
                    let (loss, single) = losses(&model, comm);
                    model.backward(&loss).unwrap();
                    model.backward(&single).unwrap();
                    let difference = model.twice.grad().unwrap() - twice * f64::from(step);
                    assert!(difference.iter().all(|difference| difference.abs() < 1e-12));
                    #[expect(clippy::cast_possible_truncation, reason = "a small number")]
                    let ranks = ((size - 1.0) / 2.0) as f32;
                    let single = model.single.grad().unwrap();
                    assert_eq!(single, Array1::from_elem(3, ranks * step as f32));
                    let sometimes = 3.0 * f64::from(step) / size;
                    let used = comm.size() > 1; // by the process of rank 1
                    assert_eq!(
                        model.sometimes.grad(),
                        used.then(|| array![sometimes, sometimes]),
                        "zeros of the processes that do not use it"
                    );
                    assert_eq!(model.never.grad(), None);
                }
            }
        }
    });
}

#[test]
fn a_loss_may_be_a_parameter_and_has_to_have_a_history() {
    on(&[2], |comm| {
        let mut model = DataParallel::new(
            Penalty {
                value: Parameter::new(arr0(2.0)),
            },
            comm,
        );
        let value = Tensor::clone(&model.value);
        model.backward(&value).unwrap();
        assert_eq!(model.value.grad(), Some(arr0(1.0)));
        let error = model.backward(&value.detach()).unwrap_err();
        let single = value.detach().backward().unwrap_err();
        // Each has the line of its own call.
        assert_eq!(
            format!("{:?}", error.kind()),
            format!("{:?}", single.kind())
        );
    });
}

#[derive(Module)]
struct Penalty {
    value: Parameter<f64, Ix0>,
}

/// A regression on a part of a batch of 8 for each process; the losses of 20 steps of the whole batch.
fn train(comm: &Communicator, bucket_bytes: usize) -> Vec<f64> {
    let mut random = Generator::seed(3);
    let layers = (
        Linear::<f64>::new(4, 16, &mut random),
        Tanh,
        Linear::<f64>::new(16, 16, &mut random),
        Tanh,
        Linear::<f64>::new(16, 2, &mut random),
    );
    let mut model = DataParallel::new(Sequential::new(layers), comm).bucket_bytes(bucket_bytes);
    let mut optimizer = Adam::new(0.01);
    let x = Array2::from_shape_fn((8, 4), |(row, column)| {
        ((row * 5 + column * 3) as f64).sin()
    });
    let rows = 8 / comm.size();
    let own = |all: &Array2<f64>| {
        let mut parts = all.axis_chunks_iter(Axis(0), rows);
        Tensor::from(parts.nth(comm.rank()).unwrap())
    };
    let (own_x, own_y) = (
        own(&x),
        own(&x.slice_axis(Axis(1), Slice::from(..2)).mapv(|x| x * x)),
    );
    let step = |_| {
        model.zero_grad();
        let error = &model.forward(&own_x) - &own_y;
        let loss = (&error * &error).mean();
        model.backward(&loss).unwrap();
        optimizer.step(&mut *model);
        all_reduce_sum(&loss.detach(), comm).item() / comm.size() as f64
    };
    (0..20).map(step).collect()
}

#[test]
fn losses_are_the_same_on_any_number_of_processes() {
    on(&[1, 2, 4], |comm| {
        for bucket_bytes in [64, 1 << 20] {
            let losses = train(comm, bucket_bytes);
            assert!(losses[19] < 0.5 * losses[0], "{losses:?}");
            let difference = from_one_process("losses", &losses, comm);
            assert!(difference < 1e-12, "losses differ by {difference:e}");
        }
    });
}

#[derive(Module)]
struct Deep {
    layers: Vec<Linear<f32>>,
}

#[test]
fn buckets_are_sent_while_the_pass_runs() {
    on(&[2], |comm| {
        let slow = comm.with_delay(Duration::from_micros(400), 1e9);
        let x = Tensor::from(Array2::<f32>::ones((256, 128)));
        let pass = |overlap| {
            let mut random = Generator::seed(3);
            let layers = (0..6).map(|_| Linear::<f32>::new(128, 128, &mut random));
            let layers = layers.collect();
            let model = DataParallel::new(Deep { layers }, &slow);
            let mut model = model.bucket_bytes(128 * 129 * 4).overlap(overlap);
            let layers = model.layers.iter();
            let loss = layers
                .fold(x.clone(), |x, layer| layer.forward(&x).tanh())
                .sum();
            model.backward(&loss).unwrap()
        };
        let (after, during) = (pass(false), pass(true));
        assert_eq!((after.buckets.len(), during.buckets.len()), (6, 6));
        assert!(
            after
                .buckets
                .iter()
                .all(|bucket| bucket.start >= after.pass)
        );
        let first = during.buckets[0];
        assert!(first.end < during.pass, "{during:?}");
        assert!(during.buckets.is_sorted_by_key(|bucket| bucket.start));
    });
}

#[test]
fn buckets_do_not_wait_for_a_parameter_that_a_step_does_not_use() {
    on(&[2], |comm| {
        let mut random = Generator::seed(3);
        let layers = (0..4).map(|_| Linear::<f32>::new(64, 64, &mut random));
        let layers = layers.collect();
        let mut model = DataParallel::new(Deep { layers }, comm).bucket_bytes(1);
        let x = Tensor::from(Array2::<f32>::ones((64, 64)));
        // In the first step the last layer is ready first; in the second, rank 1 does not use it.
        let mut pass = |layers: usize| {
            let layers = model.layers[..layers].iter();
            let loss = layers
                .fold(x.clone(), |x, layer| layer.forward(&x).tanh())
                .sum();
            model.backward(&loss).unwrap()
        };
        pass(4);
        let timeline = pass(4 - comm.rank());
        let ready = timeline.buckets.iter().map(|bucket| bucket.ready);
        assert!(ready.clone().is_sorted(), "{timeline:?}");
        assert!(ready.max() < Some(timeline.pass), "{timeline:?}");
        let grads = model.layers[3].weight.grad().unwrap();
        assert!(grads.iter().any(|grad| *grad != 0.0));
    });
}

#[test]
fn one_process_saves() {
    on(&[3], |comm| {
        let path = crate::launch::file("saved.safetensors");
        let layer = Linear::<f64>::new(3, 2, &mut Generator::seed(7));
        let mut model = DataParallel::new(layer, comm);
        let x = Tensor::from(Array2::from_shape_fn((4, 3), |(row, column)| {
            (row + column * comm.rank()) as f64
        }));
        let loss = model.forward(&x).powi(2).sum();
        model.backward(&loss).unwrap();
        Sgd::new(0.1).step(&mut *model);
        model.save(&path).unwrap();
        // Every process reads what one has written, and finds its own values.
        let own = model.weight.to_array();
        model.load_safetensors(&path).unwrap();
        assert_eq!(model.weight.to_array(), own);
    });
}

#[test]
fn models_that_differ_are_reported() {
    let outcome = failing(2, |comm| {
        let model = Linear::<f32>::new(3 + comm.rank(), 2, &mut Generator::seed(7));
        DataParallel::new(model, comm);
    });
    crate::failures::ended(
        outcome,
        &[
            "rank 0 calls `DataParallel::new` of f32 of shape [2, 3] (parameter `weight`), rank 1 calls \
             `DataParallel::new` of f32 of shape [2, 4] (parameter `weight`)",
        ],
    );
}

#[derive(Module)]
struct Branches {
    first: BTreeMap<String, Linear<f32>>,
    second: Linear<f32>,
}

#[test]
fn parameters_of_other_names_are_reported() {
    let outcome = failing(2, |comm| {
        let layer = |seed| Linear::<f32>::new(3, 3, &mut Generator::seed(seed));
        let name = if comm.rank() == 0 { "a" } else { "b" };
        let first = BTreeMap::from([(name.to_owned(), layer(1))]);
        DataParallel::new(
            Branches {
                first,
                second: layer(2),
            },
            comm,
        );
    });
    crate::failures::ended(
        outcome,
        &[
            "(parameter `first.a.weight`)",
            "(parameter `first.b.weight`)",
        ],
    );
}

#[test]
fn another_number_of_steps_is_reported() {
    let outcome = failing(2, |comm| {
        let mut model = DataParallel::new(Linear::<f64>::new(1, 1, &mut Generator::seed(7)), comm);
        for _ in 0..3 - comm.rank() {
            let loss = model.forward(&Tensor::from(array![[1.0]])).sum();
            model.backward(&loss).unwrap();
        }
    });
    crate::failures::ended(
        outcome,
        &[
            "rank 0 calls `DataParallel::backward` of f64 of shape [4] (bucket 1 of 1, step 3), rank 1 calls `the end`",
        ],
    );
}

#[test]
fn a_pass_that_fails_on_one_process_ends_all() {
    let outcome = failing(2, |comm| {
        let mut model = DataParallel::new(Linear::<f64>::new(1, 1, &mut Generator::seed(7)), comm);
        let loss = model.forward(&Tensor::from(array![[1.0]])).sum();
        if comm.rank() == 1 {
            loss.register_hook(|_| panic!("the hook of rank 1"));
        }
        model.backward(&loss).unwrap();
    });
    crate::failures::ended(outcome, &["rank 1: panicked: the hook of rank 1"]);
}
