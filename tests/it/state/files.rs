//! Files: written values are read back, and only complete files are left behind.

use std::fs;
use std::path::{Path, PathBuf};

use pullback::AnyTensor;
use pullback::ndarray::{Array1, Array2, Array3, ArrayD, IxDyn, array};
use pullback::nn::{Parameter, StateDict, StateError, StateFile, Stateful};
use safetensors::SafeTensors;

use super::{Model, bits, model};

/// An empty folder, deleted with the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("state-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Writes a safetensors file with this header and number of bytes of elements.
pub(super) fn file_of(header: &str, elements: usize) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.resize(bytes.len() + elements, 0);
    bytes
}

#[test]
fn a_model_comes_back_from_a_file_bit_by_bit() {
    let folder = Folder::new("round-trip");
    let path = folder.file("model.safetensors");
    let mut source = model(1);
    let special = [
        f32::NAN,
        -0.0,
        f32::MIN_POSITIVE / 3.0,
        f32::INFINITY,
        1e38,
        -1.5,
    ];
    let special = Array2::from_shape_vec((2, 3), special.to_vec()).unwrap();
    source.layers[0].weight.set(special.view());
    source.save_safetensors(&path).unwrap();
    let mut target = model(5);
    let place = target.layers[0].weight.view().as_ptr();
    target.load_safetensors(&path).unwrap();
    assert_eq!(bits(&target.state_dict()), bits(&source.state_dict()));
    assert_eq!(
        bits(&StateDict::load_safetensors(&path).unwrap()),
        bits(&source.state_dict())
    );
    assert_eq!(target.layers[0].weight.view().as_ptr(), place);
}

#[test]
fn the_crates_own_reader_finds_the_same() {
    let folder = Folder::new("reader");
    let path = folder.file("model.safetensors");
    let state = model(1).state_dict();
    state.save_safetensors(&path, &[("epoch", "3")]).unwrap();
    let bytes = fs::read(&path).unwrap();
    let read = SafeTensors::deserialize(&bytes).unwrap();
    // `output` is tied to `embedding`, and written once.
    assert_eq!(read.len(), state.len() - 1);
    let weight = read.tensor("layers.0.weight").unwrap();
    assert_eq!(
        (weight.shape(), weight.dtype()),
        (&[2, 3][..], safetensors::Dtype::F32)
    );
    assert_eq!(weight.data(), [0, 0, 128, 63].repeat(6));
    let (header, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
    assert_eq!(header % 8, 0);
    let metadata = metadata.metadata().clone().unwrap();
    let get = |key: &str| metadata.get(key).map(String::as_str);
    assert_eq!(get("epoch"), Some("3"));
    assert_eq!(
        (get("format"), get("version")),
        (Some("pullback"), Some("1"))
    );
    assert_eq!(get("output"), Some("embedding"));
    let mut state = read.tensors();
    state.sort_by_key(|(_, view)| view.data().as_ptr());
    for (name, view) in state {
        let place = view.data().as_ptr().addr() - bytes.as_ptr().addr();
        assert_eq!(
            place % (view.dtype().bitsize() / 8),
            0,
            "`{name}` is not aligned"
        );
    }
}

#[test]
fn one_state_gives_the_same_bytes_every_time() {
    let folder = Folder::new("same");
    let bytes = |name: &str| {
        let metadata = [("b", "2"), ("a", "1"), ("z", "3"), ("k", "4")];
        model(1)
            .state_dict()
            .save_safetensors(folder.file(name), &metadata)
            .unwrap();
        fs::read(folder.file(name)).unwrap()
    };
    let first = bytes("first");
    assert!((0..5).all(|again| bytes(&again.to_string()) == first));
}

#[test]
fn tied_parameters_are_written_once_and_tied_again() {
    let folder = Folder::new("tied");
    let path = folder.file("model.safetensors");
    model(1).save_safetensors(&path).unwrap();
    let mut file = StateFile::open(&path).unwrap();
    assert!(!file.metadata().contains_key("output"));
    assert_eq!(file.spec("output"), file.spec("embedding"));
    let state = file.state_dict().unwrap();
    let place = |name: &str| match &state[name] {
        AnyTensor::F64(tensor) => tensor.view().as_ptr(),
        AnyTensor::F32(_) => panic!("`{name}` is f32"),
    };
    assert_eq!(place("output"), place("embedding"));
    // Saved again, they are still tied.
    let again = folder.file("again.safetensors");
    state.save_safetensors(&again, &[]).unwrap();
    assert_eq!(fs::read(&again).unwrap(), fs::read(&path).unwrap());
    // A model with two parameters in place of the tied one loads both.
    let mut untied = Model {
        output: Parameter::new(Array1::zeros(4)),
        ..model(5)
    };
    untied.load_safetensors(&path).unwrap();
    assert_eq!(untied.output.to_array(), untied.embedding.to_array());
    assert_ne!(
        untied.output.view().as_ptr(),
        untied.embedding.view().as_ptr()
    );
}

#[test]
fn arrays_of_any_layout_and_rank_come_back() {
    let folder = Folder::new("layouts");
    let path = folder.file("state.safetensors");
    let wide = Array3::from_shape_fn((4, 3, 5), |(i, j, k)| (i * 100 + j * 10 + k) as f64);
    let mut state = StateDict::new();
    state.insert("reversed", wide.clone().reversed_axes());
    state.insert("scalar", ArrayD::from_elem(IxDyn(&[]), 2.5_f32));
    state.insert("empty", Array2::<f32>::zeros((0, 3)));
    state.insert("also empty", Array2::<f32>::zeros((0, 3)));
    state.insert("ähm \"\\/ \u{1f600}\n\u{1}\u{7f}", array![1.0]);
    state.insert("six axes", ArrayD::<f32>::ones(IxDyn(&[1, 2, 1, 2, 1, 2])));
    state.save_safetensors(&path, &[]).unwrap();
    let read = StateDict::load_safetensors(&path).unwrap();
    assert_eq!(bits(&read), bits(&state));
    let back = read["reversed"].to_tensor::<f64>().unwrap().to_array();
    assert_eq!(back, wide.reversed_axes().into_dyn());
}

#[test]
fn no_tensors_at_all_are_a_state_too() {
    let folder = Folder::new("empty");
    let path = folder.file("empty.safetensors");
    StateDict::new().save_safetensors(&path, &[]).unwrap();
    assert!(StateDict::load_safetensors(&path).unwrap().is_empty());
    fs::write(&path, file_of("{}", 0)).unwrap();
    assert!(StateDict::load_safetensors(&path).unwrap().is_empty());
}

#[test]
fn every_difference_from_a_file_is_named_and_nothing_changed() {
    let folder = Folder::new("differences");
    let path = folder.file("other.safetensors");
    let mut state = model(1).state_dict();
    state.remove("layers.1.mean");
    state.insert("layers.0.weight", Array2::<f32>::zeros((9, 3)));
    state.insert("layers.0.wieght", Array2::<f32>::zeros((2, 3)));
    state.save_safetensors(&path, &[]).unwrap();
    let mut target = model(5);
    let before = bits(&target.state_dict());
    let error = target.load_safetensors(&path).unwrap_err();
    let shown = format!(
        "the state in {} does not fit: `layers.0.weight` has shape [9, 3], expected [2, 3]; \
         `layers.1.mean` is missing, expected f32 of shape [1]; \
         `layers.0.wieght` is unexpected, found f32 of shape [2, 3]",
        path.display()
    );
    assert_eq!(error.to_string(), shown);
    assert_eq!(bits(&target.state_dict()), before);
    state.insert("layers.0.weight", Array2::<f32>::ones((2, 3)));
    state.save_safetensors(&path, &[]).unwrap();
    let left = StateFile::open(&path)
        .unwrap()
        .load_into(&mut target, false)
        .unwrap();
    assert_eq!(left.missing, ["layers.1.mean"]);
    assert_eq!(left.unexpected, ["layers.0.wieght"]);
    let weight = target.layers[0].weight.to_array();
    assert_eq!(weight, Array2::<f32>::ones((2, 3)));
}

#[test]
fn other_element_types_are_named() {
    let folder = Folder::new("types");
    let path = folder.file("half.safetensors");
    let header = r#"{"0":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},"1":{"dtype":"BF16","shape":[2],"data_offsets":[4,8]},"2":{"dtype":"I64","shape":[],"data_offsets":[8,16]},"3":{"dtype":"F32","shape":[1],"data_offsets":[16,20]}}"#;
    fs::write(&path, file_of(header, 20)).unwrap();
    let error = StateDict::load_safetensors(&path).unwrap_err().to_string();
    let named = "`0` has elements of f16, expected f32 or f64; `1` has elements of bf16, expected f32 or f64; \
                 `2` has elements of i64, expected f32 or f64";
    assert!(error.ends_with(named), "{error}");
    let mut wide = (
        Parameter::new(array![0.0_f32, 0.0]),
        Parameter::new(array![0.0, 0.0]),
        Parameter::new(array![0.0]),
        Parameter::new(array![0.0]),
    );
    let error = wide.load_safetensors(&path).unwrap_err().to_string();
    let named = "`0` has elements of f16, expected f32; `1` has elements of bf16, expected f64; \
                 `2` is i64 of shape [], expected f64 of shape [1]; `3` has elements of f32, expected f64";
    assert!(error.ends_with(named), "{error}");
    // Tensors that are not loaded may have any type.
    let mut file = StateFile::open(&path).unwrap();
    assert!(file.tensor("3").unwrap().is_some() && file.tensor("4").unwrap().is_none());
    assert!(file.tensor("2").is_err());
}

#[test]
fn metadata_that_readers_would_misread_are_refused() {
    let folder = Folder::new("metadata");
    let path = folder.file("state.safetensors");
    let mut state = StateDict::new();
    state.insert("weight", array![1.0]);
    let error = state
        .save_safetensors(&path, &[("best", "weight")])
        .unwrap_err();
    assert!(matches!(error, StateError::Unwritable { .. }));
    assert!(
        error
            .to_string()
            .contains("the metadata map `best` to `weight`"),
        "{error}"
    );
    assert!(state.save_safetensors(&path, &[("version", "2")]).is_err());
    state.insert("__metadata__", array![1.0]);
    let error = state.save_safetensors(&path, &[]).unwrap_err().to_string();
    assert!(
        error.contains("no tensor can be named `__metadata__`"),
        "{error}"
    );
    assert!(!path.exists());
    // Another format has its own versions.
    state.remove("__metadata__");
    state
        .save_safetensors(&path, &[("format", "pt"), ("version", "7")])
        .unwrap();
    assert_eq!(StateFile::open(&path).unwrap().metadata()["version"], "7");
    let header = r#"{"__metadata__":{"format":"pullback","version":"2"}}"#;
    fs::write(&path, file_of(header, 0)).unwrap();
    let error = StateFile::open(&path).unwrap_err().to_string();
    assert!(
        error.ends_with("its format `pullback` has version 2, expected 1"),
        "{error}"
    );
}

#[test]
fn a_file_that_is_there_survives_what_fails() {
    let folder = Folder::new("survives");
    let path = folder.file("model.safetensors");
    model(1).save_safetensors(&path).unwrap();
    let before = fs::read(&path).unwrap();
    let mut state = model(2).state_dict();
    state.insert("__metadata__", array![1.0]);
    assert!(state.save_safetensors(&path, &[]).is_err());
    assert_eq!(fs::read(&path).unwrap(), before);
    let is_folder = model(2).save_safetensors(&folder.0).unwrap_err();
    assert!(
        is_folder
            .to_string()
            .ends_with("the path exists and is not a regular file")
    );
    assert!(model(2).save_safetensors(Path::new("/dev/full")).is_err());
    assert!(
        model(2)
            .save_safetensors(folder.file("none/model"))
            .is_err()
    );
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
}

#[test]
fn many_threads_may_save_to_one_file() {
    let folder = Folder::new("threads");
    let path = &folder.file("model.safetensors");
    std::thread::scope(|scope| {
        for start in 0..4 {
            scope.spawn(move || {
                for _ in 0..20 {
                    model(start).save_safetensors(path).unwrap();
                    let mut read = model(9);
                    read.load_safetensors(path).unwrap();
                    let start = read.layers[0].weight.view()[[0, 0]];
                    assert_eq!(read.layers[1].weight.view()[[1, 2]], start + 1.0);
                }
            });
        }
    });
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
}
