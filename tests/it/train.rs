//! A training that is interrupted and goes on ends with the same bits; its display is plain text where
//! nobody can see a bar.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use pullback::data::{ArrayDataset, BoxError, DataLoader, Dataset};
use pullback::ndarray::{Array1, Array2};
use pullback::prelude::*;
use pullback::train::{Checkpoints, Ended, History, Mode, Output, Progress, TrainError, Trainer};
use rand::RngExt;

const FEATURES: usize = 5;

/// A linear model and the momentum of its optimiser: all that changes.
#[derive(Clone, Debug, PartialEq)]
struct State {
    weight: Array1<f64>,
    momentum: Array1<f64>,
}

impl State {
    fn new() -> Self {
        Self {
            weight: Array1::zeros(FEATURES),
            momentum: Array1::zeros(FEATURES),
        }
    }

    fn step(&mut self, x: Array2<f64>, y: Array1<f64>) -> Result<(f64, usize), BoxError> {
        let count = y.len();
        let weight = Tensor::from(self.weight.clone()).set_requires_grad(true);
        let errors = &Tensor::from(x).matmul(&weight) - &Tensor::from(y);
        let loss = errors.square().mean();
        loss.backward()?;
        let gradient = weight.grad().ok_or("no gradient")?;
        self.momentum = &self.momentum * 0.9 + gradient;
        self.weight.scaled_add(-0.01, &self.momentum);
        Ok((loss.item(), count))
    }

    fn write(&self, path: &Path) -> Result<(), BoxError> {
        let numbers = self.weight.iter().chain(&self.momentum);
        let bytes: Vec<u8> = numbers.flat_map(|number| number.to_le_bytes()).collect();
        Ok(fs::write(path, bytes)?)
    }

    fn read(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap();
        let (numbers, rest) = bytes.as_chunks::<8>();
        assert!(rest.is_empty());
        let numbers: Array1<f64> = numbers
            .iter()
            .map(|bytes| f64::from_le_bytes(*bytes))
            .collect();
        let [weight, momentum] = [0, FEATURES].map(|start| {
            let range = pullback::ndarray::s![start..start + FEATURES];
            numbers.slice(range).to_owned()
        });
        Self { weight, momentum }
    }
}

/// Trains for `epochs`, of which some may be done; with noise on the data, in shuffled order, on threads.
fn train(
    state: &mut State,
    epochs: usize,
    history: History,
    folder: &Path,
) -> Result<History, TrainError> {
    let x = Array2::from_shape_fn((50, FEATURES), |(i, j)| {
        ((7 * i + 3 * j) % 11) as f64 / 11.0
    });
    let y = x.dot(&Array1::from_iter([1.0, -2.0, 3.0, -4.0, 5.0]));
    let data = ArrayDataset::new(x, y.to_vec()).augment(3, |(x, y), random| {
        let noise: f64 = random.random_range(-0.01..0.01);
        (x, y + noise)
    });
    let loader = DataLoader::new(data)
        .batch_size(8)
        .shuffle(5)
        .prefetch(4)
        .workers(2);
    let mut trainer = Trainer::new(epochs)
        .output(Output::silent())
        .resume(history)
        .history_csv(folder.join("history.csv"))
        .checkpoints("loss", checkpoints(folder), |state: &mut State, path| {
            state.write(path)
        });
    let ended = trainer.fit(
        state,
        |epoch| loader.epoch(epoch),
        |state, (x, y)| state.step(x, y),
    )?;
    assert_eq!(ended, Ended::AllEpochs);
    Ok(trainer.history().clone())
}

fn checkpoints(folder: &Path) -> Checkpoints {
    Checkpoints::new(folder.join("state.bin")).every(3).keep(2)
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

#[test]
fn a_training_that_goes_on_from_a_checkpoint_ends_with_the_same_bits() {
    let whole = folder("train-whole");
    let mut expected = State::new();
    let history = train(&mut expected, 12, History::new(), &whole).unwrap();
    let best = history.best("loss", Mode::Min).unwrap();
    assert!(
        best.value < 0.1 * history.get(1, "loss").unwrap(),
        "{history}"
    );

    // Interrupted after 8 epochs, of which the last checkpoint knows 6.
    let cut = folder("train-cut");
    train(&mut State::new(), 8, History::new(), &cut).unwrap();
    let (epoch, path) = checkpoints(&cut).latest().unwrap().unwrap();
    assert_eq!(epoch, 6);
    let mut earlier = History::read_csv(cut.join("history.csv")).unwrap();
    assert_eq!(earlier.last_epoch(), Some(8));
    earlier.truncate(epoch);
    let mut state = State::read(&path);
    let resumed = train(&mut state, 12, earlier, &cut).unwrap();
    assert_eq!(state, expected);
    assert_eq!(resumed, history);
    assert_eq!(State::read(&cut.join("state-0012.bin")), expected);
}

/// Is run alone, by the next test, with its output in a pipe.
#[test]
fn three_steps_are_shown() {
    let progress = Progress::new("three steps", None);
    for step in progress.over([1.0, 2.0, 3.0]) {
        progress.set("step", step);
    }
    progress.finish();
    assert_eq!(progress.done(), 3);
}

#[test]
fn progress_in_a_pipe_is_plain_lines() {
    let mut alone = Command::new(std::env::current_exe().unwrap());
    alone.args(["--exact", "train::three_steps_are_shown", "--nocapture"]);
    let output = alone.output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("three steps"))
        .collect();
    assert_eq!(lines.len(), 1, "{text}");
    assert!(lines[0].starts_with("three steps: 3 in "), "{text}");
    assert!(lines[0].ends_with(", step 3.0000"), "{text}");
    assert!(!text.contains(['\r', '\x1b']), "{text:?}");
}
