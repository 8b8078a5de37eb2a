//! What is said of states, data and training.

use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pullback::data::{BoxError, DataError, DataLoader, from_fn};
use pullback::ndarray::{arr0, array};
use pullback::nn::{Difference, StateDict, StateError, StateFile};
use pullback::optim::schedule::Plateau;
use pullback::optim::{Norm, try_clip_grad_norm};
use pullback::prelude::*;
use pullback::train::{CheckpointError, Checkpoints, History, Output, Trainer};

use super::{Page, message, variant};

/// A folder that goes with the value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("pullback-messages-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    /// A message with `<folder>` for the folder, and a word of this library's for the system's.
    fn without(&self, error: &dyn Error, system: Option<&io::Error>) -> String {
        let folder = self.0.display().to_string();
        let message = message(error).replace(&folder, "<folder>");
        match system {
            Some(error) => message.replace(&error.to_string(), "<what the system says>"),
            None => message,
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that stays does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn differences(error: StateError) -> Vec<Difference> {
    match error {
        StateError::Keys { differences, .. } => differences,
        error => panic!("{error}"),
    }
}

/// A file with this header, and zeros for elements.
fn file(header: &str, elements: usize) -> Vec<u8> {
    let length = (header.len() as u64).to_le_bytes();
    [&length[..], header.as_bytes(), &vec![0; elements]].concat()
}

pub(super) fn states(page: &mut Page) {
    let folder = Folder::new("states");
    page.section("pullback::nn::Difference");
    let mut model: Vec<_> = (0..4).map(|_| Parameter::new(array![1.0])).collect();
    let mut state = StateDict::new();
    state.insert("1", array![1.0, 2.0]);
    state.insert("2", array![1.0_f32]);
    state.insert("3", array![[1.0_f32]]);
    state.insert("4", array![1.0]);
    let error = model.load_state_dict(&state, true).unwrap_err();
    let mut plateau = Plateau::new().state_dict();
    plateau.insert("bad", arr0(-1.5));
    let mut all = differences(Plateau::new().load_state_dict(&plateau).unwrap_err());
    let half = folder.0.join("half");
    let header = r#"{"a":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}}"#;
    fs::write(&half, file(header, 2)).expect("a file");
    let mut half = StateFile::open(half).expect("a whole file");
    let of_file = half.state_dict().unwrap_err();
    let messages = [&error, &of_file].map(|error| folder.without(error, None));
    all.extend(differences(error));
    all.extend(differences(of_file));
    for difference in &all {
        let name =
            variant!(difference, Difference: Missing Unexpected Mismatched Unsupported Invalid);
        page.line(&format!("{name}: {difference}"));
    }

    page.section("pullback::nn::StateError");
    for message in messages {
        page.line(&format!("Keys: {message}"));
    }
    let error = StateFile::open(folder.0.join("none")).unwrap_err();
    let StateError::Io { source, .. } = &error else {
        panic!("{error}")
    };
    page.line(&format!("Io: {}", folder.without(&error, Some(source))));
    malformed(page, &folder);
    let path = folder.0.join("model");
    let mut named = StateDict::new();
    named.insert("__metadata__", array![1.0]);
    let version = StateDict::new().save_safetensors(&path, &[("version", "9")]);
    for error in [
        named.save_safetensors(&path, &[]).unwrap_err(),
        version.unwrap_err(),
    ] {
        assert!(matches!(error, StateError::Unwritable { .. }), "{error:?}");
        page.line(&format!("Unwritable: {}", folder.without(&error, None)));
    }
}

fn malformed(page: &mut Page, folder: &Folder) {
    let one = |rest: &str| file(&format!(r#"{{"a":{{{rest}}}}}"#), 4);
    let files = [
        vec![],
        u64::MAX.to_le_bytes().to_vec(),
        9_u64.to_le_bytes().to_vec(),
        file("[]", 0),
        file("{\0}", 0),
        file("{}", 1),
        file(r#"{"__metadata__":{"a":1}}"#, 0),
        file(r#"{"__metadata__":{"format":"pullback","version":"9"}}"#, 0),
        file(r#"{"a":1}"#, 0),
        one(r#""dtype":"F32""#),
        one(r#""dtype":"F99","shape":[1],"data_offsets":[0,4]"#),
        one(r#""dtype":"F32","shape":[-1],"data_offsets":[0,4]"#),
        one(r#""dtype":"F32","shape":[1],"data_offsets":[0]"#),
        one(r#""dtype":"F32","shape":[1],"data_offsets":[0,4],"strides":[1]"#),
        one(r#""dtype":"F32","shape":[2],"data_offsets":[0,4]"#),
        one(r#""dtype":"F32","shape":[1],"data_offsets":[4,8]"#),
        one(r#""dtype":"F32","shape":[9999999999,9999999999],"data_offsets":[0,4]"#),
    ];
    for bytes in files {
        let path = folder.0.join("file");
        fs::write(&path, bytes).expect("a file");
        let error = StateFile::open(&path).expect_err("a damaged file");
        assert!(matches!(error, StateError::Malformed { .. }), "{error:?}");
        page.line(&format!("Malformed: {}", folder.without(&error, None)));
    }
    let error = StateFile::open(&folder.0).expect_err("a folder");
    page.line(&format!("Malformed: {}", folder.without(&error, None)));
}

pub(super) fn data(page: &mut Page) {
    page.section("pullback::data::DataError");
    let first = |error: Option<Result<Vec<usize>, DataError>>| error.expect("a batch").unwrap_err();
    let damaged = from_fn(3, |_| Err::<usize, _>("the file is damaged".into()));
    let panics = from_fn(3, |_| -> Result<usize, BoxError> { panic!("no such file") });
    let sampled = DataLoader::new(from_fn(3, Ok)).sampler(|_| vec![3]);
    let collate = |_: Vec<usize>| Err::<Vec<usize>, BoxError>("the lengths differ".into());
    let collated = DataLoader::with_collate(from_fn(3, Ok), collate).batch_size(2);
    for error in [
        first(DataLoader::new(damaged).epoch(0).next()),
        first(DataLoader::new(panics).epoch(0).next()),
        first(sampled.epoch(0).next()),
        first(collated.epoch(0).next()),
    ] {
        let name = variant!(&error, DataError: Item OutOfBounds Collate);
        page.says(name, &error);
    }
}

/// Errors that are no enum, under the names of their types.
pub(super) fn training(page: &mut Page) {
    page.section("pullback::train::TrainError");
    let losses: [Result<f64, &str>; 2] = [Ok(f64::NAN), Err("the file is damaged")];
    for loss in losses {
        let mut trainer = Trainer::new(1).output(Output::silent());
        let error = trainer
            .fit(&mut (), |_| [loss], |(), loss| Ok(loss))
            .unwrap_err();
        page.says("TrainError", &error);
    }
    let mut trainer = Trainer::new(1).output(Output::silent());
    trainer = trainer.after_epoch(|(), _| Err("the disk is full".into()));
    let one = |_| [Ok::<_, io::Error>(1.0)];
    let error = trainer.fit(&mut (), one, |(), loss| Ok(loss)).unwrap_err();
    page.says("TrainError", &error);

    page.section("pullback::train::CheckpointError");
    checkpoints(page);

    page.section("pullback::train::CsvError");
    for text in [
        "",
        "loss\n0.5\n",
        "epoch,a,b,a\n",
        "epoch,a\n1,2,3\n",
        "epoch,a\n-1,2\n",
        "epoch,a\n1,x\n",
        "epoch,a\n2,2\n1,2\n",
        "epoch,\"a\n1,2\n",
    ] {
        page.says("CsvError", &History::from_csv(text).unwrap_err());
    }

    page.section("pullback::optim::NonFiniteNorm");
    let w = Parameter::new(array![0.0]);
    w.set_grad(array![f64::INFINITY]);
    let error = try_clip_grad_norm(&w, 1.0, Norm::Euclidean).unwrap_err();
    page.says("NonFiniteNorm", &error);
}

fn checkpoints(page: &mut Page) {
    let folder = Folder::new("checkpoints");
    let write = |path: &Path| fs::write(path, "a model");
    let mut checkpoints = Checkpoints::new(folder.0.join("model.bin")).keep(1);
    let refused = checkpoints.save(1, 0.5, |_| Err("the model cannot be written"));
    let refused = refused.unwrap_err();
    page.line(&format!("Write: {}", folder.without(&refused, None)));
    // A folder in the place of the old checkpoint is not removed.
    let old = checkpoints
        .save(1, 0.5, write)
        .expect("written")
        .expect("due");
    fs::remove_file(&old).expect("a file");
    fs::create_dir(&old).expect("a folder");
    let error = checkpoints.save(2, 0.5, write).unwrap_err();
    let CheckpointError::Remove { source, .. } = &error else {
        panic!("{error}")
    };
    page.line(&format!("Remove: {}", folder.without(&error, Some(source))));
}
