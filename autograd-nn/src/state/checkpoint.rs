//! Everything that a training run needs to continue, in one file.

use std::collections::BTreeMap;
use std::path::Path as FilePath;

use crate::path::ParameterPath;
use crate::state::dict::StateDict;
use crate::state::error::{MODEL, StateError};
use crate::state::file::StateFile;
use crate::state::load::{read, state_dict};
use crate::state::random::{differences, random_state, set_random_state};
use crate::visit::Field;

/// The prefix of the names of the model's random state.
const RANDOM: &str = "random";

/// The parts of a checkpoint beside the model, as [`load_checkpoint`] returns them.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::{Checkpoint, Parameter, StateDict, load_checkpoint, save_checkpoint};
///
/// let path = std::env::temp_dir().join(format!("kept-{}.safetensors", std::process::id()));
/// let mut progress = StateDict::new();
/// progress.insert("steps", array![100.0]);
/// let mut model = Parameter::new(array![3.0]);
/// save_checkpoint(&path, &model, &[("progress", progress)], &[("run", "baseline")])?;
///
/// let Checkpoint { extra, metadata } = load_checkpoint(&path, &mut model)?;
/// assert!(extra["progress"].contains("steps") && metadata["run"] == "baseline");
/// # std::fs::remove_file(path).unwrap();
/// # Ok::<(), pullback::nn::StateError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Checkpoint {
    /// The other states, by their prefixes.
    pub extra: BTreeMap<String, StateDict>,
    /// The metadata: the strings that were given when the checkpoint was saved, and `format` and `version`.
    pub metadata: BTreeMap<String, String>,
}

/// Writes a model and other states to one safetensors file, atomically like [`StateDict::save_safetensors`]. The
/// names are `model.…`, `random.…` for the model's [`random_state`](crate::nn::Stateful::random_state), and for each
/// of `extra` its prefix and a dot: `optimizer.…`. Save counters as tensors of rank 0, which hold integers up to 2⁵³
/// exactly, or as strings in the metadata.
///
/// A run continues bit for bit from the model, the [`state_dict`](crate::optim::Optimizer::state_dict) of its
/// optimizer and the number of the next epoch: a [schedule](crate::optim::schedule::Schedule) is a function of the
/// step, and the order of the data can be one of the epoch, from a `Generator::seed(epoch)`. The program that
/// continues must set up the rest: settings and groups of the optimizer, frozen parameters, `train` or `eval`.
///
/// # Errors
/// The errors of [`StateDict::save_safetensors`].
///
/// # Panics
/// If a prefix is empty, contains a dot, is `model` or `random` or occurs twice; if two parts of the model have the
/// same path.
///
/// ```
/// use pullback::ndarray::{arr0, array};
/// use pullback::nn::{StateDict, load_checkpoint_with, save_checkpoint};
/// use pullback::optim::Adam;
/// use pullback::prelude::*;
///
/// let path = std::env::temp_dir().join(format!("checkpoint-{}.safetensors", std::process::id()));
/// let (mut model, mut optimizer) = (vec![Parameter::new(array![3.0])], Adam::new(0.1));
/// model[0].set_grad(array![1.0]);
/// optimizer.step(&mut model);
/// let mut progress = StateDict::new();
/// progress.insert("steps", arr0(1.0));
/// let extra = [("optimizer", optimizer.state_dict()), ("progress", progress)];
/// save_checkpoint(&path, &model, &extra, &[("run", "baseline")])?;
///
/// let (mut resumed, mut optimizer) = (vec![Parameter::new(array![0.0])], Adam::new(0.1));
/// let checkpoint = load_checkpoint_with(&path, &mut resumed, |resumed, checkpoint| {
///     optimizer.load_state_dict(resumed, &checkpoint.extra["optimizer"])
/// })?;
/// assert_eq!(resumed[0].item(), model[0].item());
/// assert_eq!(checkpoint.extra["progress"]["steps"].to_tensor::<f64>().unwrap().item(), 1.0);
/// assert_eq!(checkpoint.metadata["run"], "baseline");
/// # std::fs::remove_file(path).unwrap();
/// # Ok::<(), pullback::nn::StateError>(())
/// ```
#[track_caller]
pub fn save_checkpoint(
    path: impl AsRef<FilePath>,
    model: &(impl Field + ?Sized),
    extra: &[(&str, StateDict)],
    metadata: &[(&str, &str)],
) -> Result<(), StateError> {
    let mut all = state_dict(model, &ParameterPath::root().field(MODEL));
    all.extend(random_state(model, &ParameterPath::root().field(RANDOM)));
    for (place, (prefix, state)) in extra.iter().enumerate() {
        let comes_twice = extra[..place].iter().any(|(other, _)| other == prefix);
        let is_the_models = [MODEL, RANDOM].contains(prefix);
        assert!(
            !prefix.is_empty() && !prefix.contains('.') && !is_the_models && !comes_twice,
            "a state with the prefix `{prefix}` in a checkpoint: prefixes must not be empty, repeat, contain dots, \
             or be `{MODEL}` or `{RANDOM}`"
        );
        all.extend(state.clone().prefixed(prefix));
    }
    all.save_safetensors(path, metadata)
}

/// Reads a checkpoint of [`save_checkpoint`]: copies the values and the random state into the model, and returns the
/// rest. Everything is read before the model is changed, so it takes its memory twice.
///
/// An optimizer checks its state only when it loads it, after the model was changed. [`load_checkpoint_with`] loads
/// the optimizer first.
///
/// # Errors
/// The errors of [`Stateful::load_safetensors`](crate::nn::Stateful::load_safetensors): the model must have the
/// parameters, buffers and random states of the checkpoint, and no others. Nothing is changed then.
/// [`StateFile::part`] reads a part of a checkpoint.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::{Parameter, load_checkpoint, save_checkpoint};
///
/// let path = std::env::temp_dir().join(format!("resume-{}.safetensors", std::process::id()));
/// save_checkpoint(&path, &Parameter::new(array![3.0]), &[], &[("epoch", "7")])?;
///
/// let mut parameter = Parameter::new(array![0.0]);
/// let checkpoint = load_checkpoint(&path, &mut parameter)?;
/// assert_eq!((parameter.item(), checkpoint.metadata["epoch"].parse()), (3.0, Ok(7)));
/// # std::fs::remove_file(path).unwrap();
/// # Ok::<(), pullback::nn::StateError>(())
/// ```
pub fn load_checkpoint(
    path: impl AsRef<FilePath>,
    model: &mut (impl Field + ?Sized),
) -> Result<Checkpoint, StateError> {
    load_checkpoint_with(path, model, |_, _| Ok(()))
}

/// Reads a checkpoint like [`load_checkpoint`], with `take`, which loads the rest. `take` is called when everything
/// has been read and the model's part fits, before the model is changed. If `take` returns an error, the model is
/// left unchanged, so that model and optimizer continue from one checkpoint or from none.
///
/// An optimizer that returns an error is left unchanged; optimizers that `take` loaded before it are not. Load
/// several into new ones, which are dropped if one fails.
///
/// # Errors
/// The errors of [`load_checkpoint`], and the error of `take`.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::{load_checkpoint_with, save_checkpoint};
/// use pullback::optim::{Adam, Sgd};
/// use pullback::prelude::*;
///
/// let path = std::env::temp_dir().join(format!("take-{}.safetensors", std::process::id()));
/// let (mut model, mut optimizer) = (vec![Parameter::new(array![3.0])], Adam::new(0.1));
/// model[0].set_grad(array![1.0]);
/// optimizer.step(&mut model);
/// save_checkpoint(&path, &model, &[("optimizer", optimizer.state_dict())], &[])?;
///
/// let (mut resumed, mut optimizer) = (vec![Parameter::new(array![0.0])], Adam::new(0.5));
/// load_checkpoint_with(&path, &mut resumed, |resumed, checkpoint| {
///     optimizer.load_state_dict(resumed, &checkpoint.extra["optimizer"])
/// })?;
/// assert_eq!((resumed[0].item(), optimizer.learning_rate()), (model[0].item(), 0.1));
///
/// // The state of another optimizer does not fit: nothing is loaded, not even the model.
/// let (mut resumed, mut other) = (vec![Parameter::new(array![0.0])], Sgd::new(0.5));
/// let refused = load_checkpoint_with(&path, &mut resumed, |resumed, checkpoint| {
///     other.load_state_dict(resumed, &checkpoint.extra["optimizer"])
/// });
/// assert!(refused.is_err());
/// assert_eq!((resumed[0].item(), other.learning_rate()), (0.0, 0.5));
/// # std::fs::remove_file(path).unwrap();
/// # Ok::<(), pullback::nn::StateError>(())
/// ```
pub fn load_checkpoint_with<F, E>(
    path: impl AsRef<FilePath>,
    model: &mut F,
    take: impl FnOnce(&F, &Checkpoint) -> Result<(), E>,
) -> Result<Checkpoint, E>
where
    F: Field + ?Sized,
    E: From<StateError>,
{
    let mut file = StateFile::open(path)?;
    let mut extra = other_parts(&mut file)?;
    let random = extra.remove(RANDOM).unwrap_or_default().prefixed(RANDOM);
    let root = ParameterPath::root();
    let (model_root, random_root) = (root.field(MODEL), root.field(RANDOM));
    let wrong = differences(model, &random, &random_root);
    let (values, _) = read(model, &mut file, &model_root, true, wrong)?;
    let metadata = file.metadata().clone();
    let checkpoint = Checkpoint { extra, metadata };
    take(model, &checkpoint)?;
    // Nothing can fail from here on.
    values.set(model, &model_root);
    set_random_state(model, &random, &random_root);
    Ok(checkpoint)
}

/// Returns all parts of a checkpoint but the model's, by their prefixes.
fn other_parts(file: &mut StateFile) -> Result<BTreeMap<String, StateDict>, StateError> {
    let names = file
        .names()
        .map(|name| name.split('.').next().unwrap_or(name));
    let mut prefixes: Vec<String> = names.map(str::to_owned).collect();
    prefixes.sort_unstable();
    prefixes.dedup();
    let mut parts = BTreeMap::new();
    for prefix in prefixes.into_iter().filter(|prefix| prefix != MODEL) {
        let state = file.part(&prefix)?;
        parts.insert(prefix, state);
    }
    Ok(parts)
}
