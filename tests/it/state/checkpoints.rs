//! Model, optimizer and counters in one file.

use std::fs;

use pullback::ndarray::{Array1, Array2, Ix1, Ix2, arr0};
use pullback::nn::{
    Dropout, StateDict, StateError, StateFile, load_checkpoint, load_checkpoint_with,
    save_checkpoint,
};
use pullback::optim::Adam;
use pullback::prelude::*;

use super::bits;
use super::files::Folder;

#[derive(Module)]
struct Net {
    weight: Parameter<f64, Ix2>,
    bias: Parameter<f32, Ix1>,
    mean: Buffer<f64, Ix1>,
}

/// A run of training: a model, gradient descent with momentum, a counter.
struct Run {
    net: Net,
    velocity: (Array2<f64>, Array1<f32>),
    steps: u32,
}

impl Run {
    fn new(start: f64) -> Self {
        let weight = Array2::from_shape_fn((3, 2), |(i, j)| start + (i as f64).sin() - j as f64);
        Self {
            net: Net {
                weight: Parameter::new(weight),
                bias: Parameter::new(Array1::from_elem(2, 0.1)),
                mean: Buffer::new(Array1::zeros(3)),
            },
            velocity: (Array2::zeros((3, 2)), Array1::zeros(2)),
            steps: 0,
        }
    }

    fn step(&mut self) {
        let net = &mut self.net;
        net.zero_grad();
        let x = Array1::linspace(0.1, f64::from(self.steps % 7), 3);
        net.mean.set(net.mean.get() * 0.9 + Tensor::from(&x * 0.1));
        let x = Tensor::from(x) - net.mean.get();
        let y = (net.weight.t().matmul(&x)).tanh() - 0.3;
        (&y * &y).sum().backward().unwrap();
        (&*net.bias * &*net.bias).sum().backward().unwrap();
        let grads = (net.weight.grad().unwrap(), net.bias.grad().unwrap());
        self.velocity.0 = &self.velocity.0 * 0.9 + grads.0;
        self.velocity.1 = &self.velocity.1 * 0.9 + grads.1;
        net.weight
            .update(|mut weight| weight.scaled_add(-0.01, &self.velocity.0));
        net.bias
            .update(|mut bias| bias.scaled_add(-0.01, &self.velocity.1));
        self.steps += 1;
    }

    fn optimizer(&self) -> StateDict {
        let mut state = StateDict::new();
        state.insert("weight.momentum", self.velocity.0.clone());
        state.insert("bias.momentum", self.velocity.1.clone());
        state.insert("steps", arr0(f64::from(self.steps)));
        state
    }

    fn restore(&mut self, optimizer: &StateDict) {
        let weight = optimizer["weight.momentum"].to_tensor::<f64>().unwrap();
        self.velocity.0 = weight.to_array().into_dimensionality().unwrap();
        let bias = optimizer["bias.momentum"].to_tensor::<f32>().unwrap();
        self.velocity.1 = bias.to_array().into_dimensionality().unwrap();
        let steps = optimizer["steps"].to_tensor::<f64>().unwrap().item();
        self.steps = format!("{steps}").parse().unwrap();
    }
}

#[test]
fn training_goes_on_bit_by_bit() {
    let folder = Folder::new("goes-on");
    let path = folder.file("run.safetensors");
    let mut run = Run::new(0.5);
    (0..10).for_each(|_| run.step());
    let extra = [("optimizer", run.optimizer())];
    save_checkpoint(&path, &run.net, &extra, &[("run", "a")]).unwrap();
    (0..10).for_each(|_| run.step());

    let mut resumed = Run::new(7.0);
    let checkpoint = load_checkpoint(&path, &mut resumed.net).unwrap();
    resumed.restore(&checkpoint.extra["optimizer"]);
    assert_eq!(resumed.steps, 10);
    (0..10).for_each(|_| resumed.step());
    assert_eq!(bits(&resumed.net.state_dict()), bits(&run.net.state_dict()));
    assert_eq!(bits(&resumed.optimizer()), bits(&run.optimizer()));
    assert_eq!(checkpoint.metadata["run"], "a");
    assert_eq!(checkpoint.extra.len(), 1);
}

#[test]
fn a_checkpoint_that_is_loaded_as_a_state_is_recognized() {
    let folder = Folder::new("as-state");
    let path = folder.file("run.safetensors");
    let mut net = Run::new(0.5).net;
    save_checkpoint(&path, &net, &[], &[]).unwrap();
    let error = net.load_safetensors(&path).unwrap_err().to_string();
    let expected = "does not fit: its names are those of a checkpoint, `model.weight` for `weight`: load it with \
                    `load_checkpoint`";
    assert!(error.ends_with(expected), "{error}");
    // A state in memory, and one that has other names.
    let state = net.state_dict().prefixed("model");
    let error = net.load_state_dict(&state, true).unwrap_err().to_string();
    assert!(error.contains("`weight` is missing"), "{error}");
    state.save_safetensors(&path, &[]).unwrap();
    let error = vec![Run::new(0.5).net].load_safetensors(&path).unwrap_err();
    assert!(
        error.to_string().contains("`0.weight` is missing"),
        "{error}"
    );
}

#[test]
fn a_checkpoint_that_does_not_fit_changes_nothing() {
    let folder = Folder::new("not-fit");
    let path = folder.file("run.safetensors");
    let run = Run::new(0.5);
    save_checkpoint(&path, &vec![Run::new(0.5).net], &[], &[]).unwrap();
    let mut other = Run::new(3.0);
    let before = bits(&other.net.state_dict());
    let error = load_checkpoint(&path, &mut other.net)
        .unwrap_err()
        .to_string();
    for named in [
        "`model.weight` is missing",
        "`model.0.weight` is unexpected",
    ] {
        assert!(error.contains(named), "{error}");
    }
    assert_eq!(bits(&other.net.state_dict()), before);
    // A file without the prefix is not a checkpoint.
    run.net.save_safetensors(&path).unwrap();
    assert!(load_checkpoint(&path, &mut other.net).is_err());
    assert_eq!(bits(&other.net.state_dict()), before);
    // Damage is found before anything is changed.
    save_checkpoint(&path, &run.net, &[("optimizer", run.optimizer())], &[]).unwrap();
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    assert!(load_checkpoint(&path, &mut other.net).is_err());
    assert_eq!(bits(&other.net.state_dict()), before);
}

/// Returns a model with seeds and its optimizer, after some steps.
fn trained(steps: u64, width: usize) -> ((Parameter<f32, Ix1>, Dropout), Adam) {
    let weight = Parameter::new(Array1::from_elem(width, steps as f32));
    let mut model = (weight, Dropout::seeded(0.5, 7));
    let mut optimizer = Adam::new(0.1 / steps as f64);
    for _ in 0..steps {
        model.0.set_grad(Array1::linspace(0.0, 1.0, width));
        optimizer.step(&mut model);
        let _ = model.1.forward(&*model.0);
    }
    (model, optimizer)
}

#[test]
fn an_optimizer_that_refuses_its_part_leaves_the_model_and_the_seeds() {
    let folder = Folder::new("refused-part");
    let path = folder.file("run.safetensors");
    let (saved, optimizer) = trained(3, 4);
    let (_, wider) = trained(3, 5);
    let (mut model, mut resumed) = trained(1, 4);
    let all = |model: &(Parameter<f32, Ix1>, Dropout), optimizer: &Adam| {
        [
            bits(&model.state_dict()),
            bits(&model.random_state()),
            bits(&optimizer.state_dict()),
        ]
    };
    let before = all(&model, &resumed);
    let mut negative = optimizer.state_dict();
    negative.insert("learning_rate", arr0(-1.0));
    for (refused, named) in [
        (
            wider.state_dict(),
            "`0.exp_avg` has shape [5], expected [4]",
        ),
        (negative, "`learning_rate` is -1"),
        (StateDict::new(), "`learning_rate` is missing"),
    ] {
        save_checkpoint(
            &path,
            &saved,
            &[("other", StateDict::new()), ("optimizer", refused)],
            &[],
        )
        .unwrap();
        let error = load_checkpoint_with(&path, &mut model, |model, checkpoint| {
            let state = checkpoint.extra.get("optimizer").cloned();
            resumed.load_state_dict(model, &state.unwrap_or_default())
        });
        let error = error.unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
        assert_eq!(all(&model, &resumed), before);
    }
    save_checkpoint(&path, &saved, &[("optimizer", optimizer.state_dict())], &[]).unwrap();
    load_checkpoint_with(&path, &mut model, |model, checkpoint| {
        resumed.load_state_dict(model, &checkpoint.extra["optimizer"])
    })
    .unwrap();
    assert_eq!(all(&model, &resumed), all(&saved, &optimizer));
}

#[test]
fn a_file_that_ends_while_it_is_read_changes_nothing() {
    let folder = Folder::new("ends");
    let path = folder.file("model.safetensors");
    let net = Run::new(0.5).net;
    net.save_safetensors(&path).unwrap();
    let length = fs::metadata(&path).unwrap().len();
    let mut other = Run::new(3.0).net;
    let before = bits(&other.state_dict());
    // The file loses all of its elements, or the last of them.
    for left in [length - 8 * 6 - 8 * 3 - 4 * 2, length - 1] {
        net.save_safetensors(&path).unwrap();
        let mut file = StateFile::open(&path).unwrap();
        // Another program truncates the file, which is like a disk that fails.
        let shortened = fs::OpenOptions::new().write(true).open(&path).unwrap();
        shortened.set_len(left).unwrap();
        for strict in [true, false] {
            let error = file.load_into(&mut other, strict).unwrap_err();
            assert!(matches!(error, StateError::Io { .. }), "{error}");
            assert_eq!(bits(&other.state_dict()), before);
        }
    }
}

#[test]
fn a_part_of_a_checkpoint_can_be_read_alone() {
    let folder = Folder::new("part");
    let path = folder.file("run.safetensors");
    let run = Run::new(0.5);
    let extra = [
        ("optimizer", run.optimizer()),
        ("average", run.net.state_dict()),
    ];
    save_checkpoint(&path, &run.net, &extra, &[]).unwrap();
    let mut file = StateFile::open(&path).unwrap();
    assert_eq!(
        bits(&file.part("optimizer").unwrap()),
        bits(&run.optimizer())
    );
    let model = file.part("model").unwrap();
    assert_eq!(bits(&model), bits(&run.net.state_dict()));
    // The average still shares the values of the model, and is written once.
    assert_eq!(bits(&file.part("average").unwrap()), bits(&model));
    let mut net = Run::new(9.0).net;
    net.load_state_dict(&model, true).unwrap();
    assert_eq!(bits(&net.state_dict()), bits(&model));
}

#[test]
#[should_panic(expected = "a state with the prefix `model` in a checkpoint")]
fn the_models_prefix_is_its_own() {
    let run = Run::new(0.5);
    let _ = save_checkpoint(
        "never written",
        &run.net,
        &[("model", run.optimizer())],
        &[],
    );
}
