//! All that a training run needs to go on, in one file.

use std::collections::BTreeMap;
use std::path::Path as FilePath;

use super::load::{load, state_dict};
use super::{StateDict, StateError, StateFile};
use crate::nn::{Field, Path};

/// The prefix of the model's names.
const MODEL: &str = "model";

/// What a checkpoint has beside the model: what [`load_checkpoint`] returns.
#[derive(Clone, Debug, Default)]
pub struct Checkpoint {
    /// The other states, by their prefixes.
    pub extra: BTreeMap<String, StateDict>,
    /// The strings beside the tensors: those of whoever saved it, `format` and `version`.
    pub metadata: BTreeMap<String, String>,
}

/// Writes a model and other states into one safetensors file, atomically as
/// [`StateDict::save_safetensors`] does. The names are `model.…` and, for each of `extra`, its prefix and a dot
/// before them: `optimizer.…`. Counters are best kept as tensors of rank 0, which hold whole numbers up to
/// 2⁵³ exactly, or as strings in the metadata.
///
/// # Errors
/// As [`StateDict::save_safetensors`].
///
/// # Panics
/// If a prefix is empty, has a dot, is `model` or comes twice; if two parts of the model have one path.
///
/// ```
/// use pullback::ndarray::{arr0, array};
/// use pullback::nn::{Parameter, StateDict, load_checkpoint, save_checkpoint};
///
/// let path = std::env::temp_dir().join(format!("checkpoint-{}.safetensors", std::process::id()));
/// let model = vec![Parameter::new(array![3.0])];
/// let mut progress = StateDict::new();
/// progress.insert("steps", arr0(1200.0));
/// save_checkpoint(&path, &model, &[("progress", progress)], &[("run", "baseline")])?;
///
/// let mut model = vec![Parameter::new(array![0.0])];
/// let checkpoint = load_checkpoint(&path, &mut model)?;
/// assert_eq!(model[0].item(), 3.0);
/// assert_eq!(checkpoint.extra["progress"]["steps"].to_tensor::<f64>().unwrap().item(), 1200.0);
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
    let mut all = state_dict(model, &Path::root().field(MODEL));
    for (place, (prefix, state)) in extra.iter().enumerate() {
        let comes_twice = extra[..place].iter().any(|(other, _)| other == prefix);
        assert!(
            !prefix.is_empty() && !prefix.contains('.') && *prefix != MODEL && !comes_twice,
            "a state with the prefix `{prefix}` in a checkpoint: prefixes are not empty, have no dots, differ, and \
             `{MODEL}` is the model's"
        );
        all.extend(state.clone().prefixed(prefix));
    }
    all.save_safetensors(path, metadata)
}

/// Reads what [`save_checkpoint`] wrote: copies the values into the model, each read straight into its place,
/// and returns the rest. Everything else is read before the model is touched.
///
/// # Errors
/// As [`Stateful::load_safetensors`](super::Stateful::load_safetensors): the model must have exactly the paths
/// that it had. [`StateFile::part`] reads a part of a checkpoint alone.
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
    let mut file = StateFile::open(path)?;
    let names = file
        .names()
        .map(|name| name.split('.').next().unwrap_or(name));
    let mut prefixes: Vec<String> = names.map(str::to_owned).collect();
    prefixes.sort_unstable();
    prefixes.dedup();
    let mut extra = BTreeMap::new();
    for prefix in prefixes.into_iter().filter(|prefix| prefix != MODEL) {
        let state = file.part(&prefix)?;
        extra.insert(prefix, state);
    }
    load(model, &mut file, &Path::root().field(MODEL), true)?;
    let metadata = file.metadata().clone();
    Ok(Checkpoint { extra, metadata })
}
