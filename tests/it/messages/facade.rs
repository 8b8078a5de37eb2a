//! Messages of states and norms.

use std::error::Error;
use std::fs;
use std::io;
use std::path::PathBuf;

use pullback::ndarray::{arr0, array};
use pullback::nn::{Difference, StateDict, StateError, StateFile};
use pullback::optim::{Norm, Sgd, try_clip_grad_norm};
use pullback::prelude::*;

use super::{Page, message, name_of};

/// A folder that is removed when the value is dropped.
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
    let mut optimizer = StateDict::new();
    optimizer.insert("learning_rate", arr0(-1.5));
    let negative = Sgd::new(0.1).load_state_dict(&model, &optimizer);
    let mut all = differences(negative.unwrap_err());
    let half = folder.0.join("half");
    let header = r#"{"a":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}}"#;
    fs::write(&half, file(header, 2)).expect("a file");
    let mut half = StateFile::open(half).expect("a whole file");
    let of_file = half.state_dict().unwrap_err();
    let messages = [&error, &of_file].map(|error| folder.without(error, None));
    all.extend(differences(error));
    all.extend(differences(of_file));
    for difference in &all {
        page.line(&format!("{}: {difference}", name_of(difference)));
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

/// Under the name of its type, as it is no enum.
pub(super) fn norms(page: &mut Page) {
    page.section("pullback::optim::NonFiniteNorm");
    let w = Parameter::new(array![0.0]);
    w.set_grad(array![f64::INFINITY]);
    let error = try_clip_grad_norm(&w, 1.0, Norm::Euclidean).unwrap_err();
    page.says("NonFiniteNorm", &error);
}
