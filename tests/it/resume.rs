//! A run that is saved and resumed ends with the bits of an uninterrupted run.

use std::path::Path;

use pullback::ndarray::{Array0, Array4, ArrayView0, Axis, Ix1, Ix2, arr0, array};
use pullback::nn::{
    AnyParameter, BatchNorm1d, BatchNorm2d, Conv2d, Dropout, Flatten, Generator, Linear, Relu,
    Sequential, StateDict, init, load_checkpoint, save_checkpoint,
};
use pullback::ops::Reduction;
use pullback::optim::schedule::{Cosine, LinearWarmUp, Schedule};
use pullback::optim::{Adam, AdamW, Sgd, clip_grad_norm};
use pullback::prelude::*;
use rand::seq::SliceRandom;

use crate::state::{Folder, bits};

const IMAGES: usize = 45;
const BATCH: usize = 8;
const EPOCHS: u64 = 6;
/// The last batch of an epoch is not full.
const BATCHES: u64 = 6;

#[derive(Module)]
struct Net {
    features: Sequential<(Conv2d, BatchNorm2d, Relu, Dropout)>,
    head: Sequential<(Flatten, Linear, BatchNorm1d, Relu, Dropout, Linear)>,
}

impl Net {
    fn new(g: &mut Generator) -> Self {
        let features = (
            Conv2d::new(1, 3, 3, g),
            BatchNorm2d::new(3),
            Relu,
            Dropout::new(0.2, g),
        );
        let head = (
            Flatten,
            Linear::new(3 * 4 * 4, 10, g),
            // Cumulative means need the number of batches.
            BatchNorm1d::new(10).momentum(None),
            Relu,
            Dropout::new(0.5, g),
            Linear::new(10, 3, g),
        );
        Self {
            features: Sequential::new(features),
            head: Sequential::new(head),
        }
    }
}

impl Forward<&Tensor4<f32>> for Net {
    type Output = Tensor2<f32>;

    fn forward(&self, images: &Tensor4<f32>) -> Tensor2<f32> {
        let features: Tensor4<f32> = self.features.forward(images);
        self.head.forward(&features)
    }
}

/// Everything that changes in training.
struct Run {
    net: Net,
    optimizer: AdamW,
    steps: u64,
}

impl Run {
    fn new(seed: u64) -> Self {
        Self {
            net: Net::new(&mut Generator::seed(seed)),
            optimizer: AdamW::new(0.01)
                .weight_decay(0.1)
                .param_group(
                    |path| path.ends_with("bias"),
                    |group| group.weight_decay(0.0),
                )
                .param_group(|path| path == "head.5.weight", |group| group.lr_scale(2.0)),
            steps: 0,
        }
    }

    /// Trains up to a number of steps in all, and returns the bits of each loss.
    fn train(&mut self, until: u64) -> Vec<u32> {
        let schedule = LinearWarmUp::new(0.01, 5).then(5, Cosine::new(0.01, EPOCHS * BATCHES - 5));
        let mut losses = vec![];
        while self.steps < until {
            let (images, labels) = batch(self.steps);
            self.optimizer.set_learning_rate(schedule.rate(self.steps));
            losses.push(self.step(images, &labels));
            self.steps += 1;
        }
        losses
    }

    fn step(&mut self, images: Array4<f32>, labels: &[usize]) -> u32 {
        self.net.zero_grad();
        let loss = self
            .net
            .forward(&images.into())
            .cross_entropy(labels, Reduction::Mean);
        loss.backward().expect("a graph");
        clip_grad_norm(&self.net, 0.5);
        self.optimizer.step(&mut self.net);
        loss.item().to_bits()
    }

    fn save(&self, path: &Path) {
        let mut progress = StateDict::new();
        progress.insert("steps", arr0(self.steps as f64));
        let extra = [
            ("optimizer", self.optimizer.state_dict()),
            ("progress", progress),
        ];
        save_checkpoint(path, &self.net, &extra, &[]).expect("a checkpoint");
    }

    /// Returns a run with other weights, seeds and settings, after loading a checkpoint.
    fn load(path: &Path, seed: u64) -> Self {
        let mut run = Self::new(seed);
        let checkpoint = load_checkpoint(path, &mut run.net).expect("a checkpoint");
        let state = &checkpoint.extra["optimizer"];
        run.optimizer
            .load_state_dict(&run.net, state)
            .expect("a state");
        let steps = &checkpoint.extra["progress"]["steps"];
        let steps = steps.to_tensor::<f64>().expect("a number").item();
        run.steps = steps.to_string().parse().expect("a whole number");
        run
    }

    /// Returns everything, as bits.
    fn state(&self) -> impl PartialEq + std::fmt::Debug + use<> {
        let states = [
            self.net.state_dict(),
            self.net.random_state(),
            self.optimizer.state_dict(),
        ];
        (states.map(|state| bits(&state)), self.steps)
    }
}

/// Returns the data of a step: images in an order that follows from the epoch, with noise that follows from the step.
fn batch(step: u64) -> (Array4<f32>, Vec<usize>) {
    let images: Array4<f32> = init::normal((IMAGES, 1, 6, 6), 0.0, 1.0, &mut Generator::seed(1));
    let mut order: Vec<usize> = (0..IMAGES).collect();
    order.shuffle(&mut Generator::seed(step / BATCHES));
    let number = usize::try_from(step % BATCHES).expect("a small number");
    let rows = order.chunks(BATCH).nth(number).expect("a batch");
    let images = images.select(Axis(0), rows);
    let noise: Array4<f32> = init::uniform(images.raw_dim(), -0.3, 0.3, &mut Generator::seed(step));
    (images + noise, rows.iter().map(|row| row % 3).collect())
}

#[test]
fn a_run_goes_on_bit_by_bit_after_whole_epochs_and_within_one() {
    let folder = Folder::new("resume");
    let mut whole = Run::new(7);
    let losses = whole.train(EPOCHS * BATCHES);
    assert_eq!(losses.len(), 36);
    for (cut, seed) in [(3 * BATCHES, 7), (3 * BATCHES, 99), (2 * BATCHES + 4, 100)] {
        let path = folder.file("run.safetensors");
        let mut first = Run::new(7);
        let mut again = first.train(cut);
        first.save(&path);
        let saved = first.state();
        drop(first);

        let mut second = Run::load(&path, seed);
        assert_eq!(second.state(), saved, "step {cut}, seed {seed}");
        again.extend(second.train(EPOCHS * BATCHES));
        assert_eq!(again, losses, "step {cut}, seed {seed}");
        assert_eq!(second.state(), whole.state(), "step {cut}, seed {seed}");
    }
}

#[test]
fn without_its_seeds_or_its_optimizer_a_run_goes_on_otherwise() {
    let folder = Folder::new("resume-without");
    let path = folder.file("run.safetensors");
    let mut run = Run::new(7);
    run.train(BATCHES);
    run.save(&path);

    let mut without_seeds = Run::load(&path, 7);
    let fresh = Run::new(7).net.random_state();
    without_seeds.net.load_random_state(&fresh).unwrap();
    let mut without_optimizer = Run::load(&path, 7);
    without_optimizer.optimizer = Run::new(7).optimizer;

    let losses = run.train(2 * BATCHES);
    assert_ne!(without_seeds.train(2 * BATCHES), losses);
    assert_ne!(without_optimizer.train(2 * BATCHES), losses);
}

/// Parameters of both precisions; the last is frozen.
type Small = (
    Parameter<f64, Ix2>,
    Parameter<f32, Ix1>,
    Parameter<f64, Ix1>,
);

fn small() -> Small {
    let mut frozen = Parameter::new(array![0.25]);
    AnyParameter::set_requires_grad(&mut frozen, false);
    let weights = Parameter::new(array![[1.0, -0.3], [0.7, 2.0]]);
    (weights, Parameter::new(array![0.1, -4.0]), frozen)
}

/// A loss that is not quadratic, with its minimum far from the start.
fn loss(model: &Small) -> Tensor0<f64> {
    let (a, b, c) = model;
    let valley = (a.square().sum_axis(Axis(1)) - &**c).square().sum();
    let waves = ((&**b * 0.7).sin() + &b.square() * 0.1).sum();
    valley + Widen::apply(&waves) + (a.sin() * 0.5).sum()
}

/// Converts a number to double precision.
struct Widen;

#[custom_function]
impl Widen {
    #[forward]
    fn forward(x: ArrayView0<f32>) -> Array0<f64> {
        x.mapv(f64::from)
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView0<f64>) -> Array0<f32> {
        grad_output.mapv(f32::from_f64)
    }
}

/// Asserts that six steps give the same bits, of the model and of the state, as three steps, a file, and three more.
fn assert_resumes(name: &str, make: fn() -> Box<dyn Optimizer>) {
    let step = |optimizer: &mut Box<dyn Optimizer>, model: &mut Small| {
        model.0.zero_grad();
        model.1.zero_grad();
        loss(model).backward().unwrap();
        optimizer.step(model);
    };
    let folder = Folder::new(&format!("resume-{name}"));
    let path = folder.file("run.safetensors");
    let (mut whole, mut optimizer) = (small(), make());
    (0..6).for_each(|_| step(&mut optimizer, &mut whole));
    {
        let (mut model, mut optimizer) = (small(), make());
        (0..3).for_each(|_| step(&mut optimizer, &mut model));
        save_checkpoint(&path, &model, &[("optimizer", optimizer.state_dict())], &[]).unwrap();
    }
    let (mut model, mut resumed) = (small(), make());
    let checkpoint = load_checkpoint(&path, &mut model).unwrap();
    resumed
        .load_state_dict(&model, &checkpoint.extra["optimizer"])
        .unwrap();
    (0..3).for_each(|_| step(&mut resumed, &mut model));
    assert_ne!(bits(&model.state_dict()), bits(&small().state_dict()));
    assert_eq!(
        bits(&model.state_dict()),
        bits(&whole.state_dict()),
        "{name}"
    );
    assert_eq!(
        bits(&resumed.state_dict()),
        bits(&optimizer.state_dict()),
        "{name}"
    );
}

#[test]
fn every_optimizer_goes_on_from_a_file_bit_by_bit() {
    assert_resumes("sgd", || Box::new(Sgd::new(0.01).momentum(0.9)));
    assert_resumes("nesterov", || {
        Box::new(Sgd::new(0.01).momentum(0.9).nesterov(true))
    });
    assert_resumes("amsgrad", || Box::new(Adam::new(0.05).amsgrad(true)));
    assert_resumes("adamw", || Box::new(AdamW::new(0.05).amsgrad(true)));
}
