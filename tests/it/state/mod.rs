//! Saving and loading.

mod checkpoints;
mod files;
mod fuzz;
mod hostile;
mod processes;
mod python;
mod random;

use std::collections::BTreeMap;

use pullback::AnyTensor;
use pullback::ndarray::{Array1, Array2, Ix1, Ix2, array};
use pullback::nn::{
    AnyParameter, Difference, IncompatibleKeys, StateDict, StateError, Stateful, TensorSpec,
};
use pullback::prelude::*;

pub(super) use files::Folder;

/// A layer with all kinds of fields that a state has.
#[derive(Module)]
struct Layer {
    weight: Parameter<f32, Ix2>,
    bias: Option<Parameter<f64, Ix1>>,
    mean: Buffer<f32, Ix1>,
    scratch: Buffer<f32, Ix1>,
}

#[derive(Module)]
struct Model {
    layers: Vec<Layer>,
    embedding: Parameter<f64, Ix1>,
    output: Parameter<f64, Ix1>,
}

/// Returns two layers, the second without bias, whose values count from `start`; `output` is tied to `embedding`.
fn model(start: i16) -> Model {
    let layer = |start: i16, bias| Layer {
        weight: Parameter::new(Array2::from_elem((2, 3), f32::from(start))),
        bias,
        mean: Buffer::new(array![f32::from(start) + 0.5]),
        scratch: Buffer::new(array![f32::from(start)]).persistent(false),
    };
    let bias = Parameter::new(array![f64::from(start), 0.1]);
    let embedding = Parameter::new(Array1::linspace(f64::from(start), 9.0, 4));
    Model {
        layers: vec![layer(start, Some(bias)), layer(start + 1, None)],
        output: embedding.clone(),
        embedding,
    }
}

/// Returns all names with the bits of their elements.
pub(super) fn bits(state: &StateDict) -> Vec<(String, Vec<usize>, Vec<u64>)> {
    let bits = |tensor: &AnyTensor| match tensor {
        AnyTensor::F32(tensor) => tensor.view().iter().map(|x| x.to_bits().into()).collect(),
        AnyTensor::F64(tensor) => tensor.view().iter().map(|x| x.to_bits()).collect(),
    };
    let entries = state.iter();
    entries
        .map(|(name, tensor)| (name.clone(), tensor.shape().to_vec(), bits(tensor)))
        .collect()
}

fn spec(dtype: &str, shape: &[usize]) -> TensorSpec {
    let (dtype, shape) = (dtype.to_owned(), shape.to_vec());
    TensorSpec { dtype, shape }
}

const NAMES: [&str; 7] = [
    "embedding",
    "layers.0.bias",
    "layers.0.mean",
    "layers.0.weight",
    "layers.1.mean",
    "layers.1.weight",
    "output",
];

#[test]
fn a_state_has_parameters_and_persistent_buffers() {
    let state = model(1).state_dict();
    assert_eq!(state.names().collect::<Vec<_>>(), NAMES);
    assert!(state.iter().all(|(_, tensor)| match tensor {
        AnyTensor::F32(tensor) => !tensor.requires_grad(),
        AnyTensor::F64(tensor) => !tensor.requires_grad(),
    }));
}

#[test]
fn a_state_is_a_snapshot() {
    let mut model = model(1);
    let state = model.state_dict();
    let before = bits(&state);
    model.layers[0].weight.update(|mut value| value.fill(50.0));
    model.layers[0].mean.set(array![60.0]);
    assert_eq!(bits(&state), before);
    assert_ne!(bits(&model.state_dict()), before);
}

#[test]
fn a_model_takes_over_a_state_in_place() {
    let (source, mut target) = (model(1), model(5));
    target.layers[1].requires_grad(false);
    target.layers[0]
        .weight
        .set_grad(Array2::from_elem((2, 3), 7.0));
    let place = target.layers[0].weight.view().as_ptr();
    let left = target.load_state_dict(&source.state_dict(), true).unwrap();
    assert!(left.is_empty());
    assert_eq!(bits(&target.state_dict()), bits(&source.state_dict()));
    assert_eq!(target.layers[0].weight.view().as_ptr(), place);
    let grad = target.layers[0].weight.grad();
    assert_eq!(grad, Some(Array2::from_elem((2, 3), 7.0)));
    assert!(!target.layers[1].weight.requires_grad() && target.layers[0].weight.requires_grad());
    assert_eq!(target.layers[0].scratch.get().item(), 5.0);
}

#[test]
fn every_difference_is_named_and_nothing_changed() {
    let mut state = model(1).state_dict();
    state.remove("layers.0.mean");
    state.insert("layers.0.weight", Array2::<f32>::zeros((3, 2)));
    state.insert("layers.1.weight", Array2::<f64>::zeros((2, 3)));
    state.insert("layers.0.bias", Array1::<f32>::zeros(1));
    state.insert("layer.1.mean", array![1.0_f32]);
    let mut target = model(5);
    let before = bits(&target.state_dict());
    let error = target.load_state_dict(&state, true).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the state does not fit: `layers.0.weight` has shape [3, 2], expected [2, 3]; \
         `layers.0.bias` is f32 of shape [1], expected f64 of shape [2]; \
         `layers.1.weight` has elements of f64, expected f32; \
         `layers.0.mean` is missing, expected f32 of shape [1]; \
         `layer.1.mean` is unexpected, found f32 of shape [1]"
    );
    // What a `main` that returns it prints.
    assert_eq!(format!("{error:?}"), error.to_string());
    let StateError::Keys {
        path: None,
        differences,
    } = error
    else {
        panic!("{error:?}");
    };
    assert_eq!(
        differences[4],
        Difference::Unexpected {
            key: "layer.1.mean".to_owned(),
            found: spec("f32", &[1])
        }
    );
    assert_eq!(bits(&target.state_dict()), before);
    // Without `strict`, shapes must agree too.
    let error = target.load_state_dict(&state, false).unwrap_err();
    let StateError::Keys { differences, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(differences.len(), 3);
    assert_eq!(bits(&target.state_dict()), before);
}

#[test]
fn what_only_one_side_has_may_be_left() {
    let mut state = model(1).state_dict();
    state.remove("layers.0.mean");
    state.insert("head", array![1.0]);
    let mut target = model(5);
    let left = target.load_state_dict(&state, false).unwrap();
    let expected = IncompatibleKeys {
        missing: vec!["layers.0.mean".to_owned()],
        unexpected: vec!["head".to_owned()],
    };
    assert_eq!(left, expected);
    assert_eq!(target.layers[0].mean.get().item(), 5.5);
    assert_eq!(target.layers[1].mean.get().item(), 2.5);
}

#[test]
fn buffers_that_are_not_persistent_are_not_expected() {
    let mut state = model(1).state_dict();
    state.insert("layers.0.scratch", array![1.0_f32]);
    let error = model(5).load_state_dict(&state, true).unwrap_err();
    let text = "the state does not fit: `layers.0.scratch` is unexpected, found f32 of shape [1]";
    assert_eq!(error.to_string(), text);
}

#[test]
fn tied_parameters_stay_tied() {
    let (source, mut target) = (model(1), model(5));
    target.load_state_dict(&source.state_dict(), true).unwrap();
    assert_eq!(
        target.embedding.view().as_ptr(),
        target.output.view().as_ptr()
    );
    assert_eq!(target.embedding.to_array(), source.embedding.to_array());
    (&*target.output * 2.0).sum().backward().unwrap();
    assert_eq!(target.embedding.grad(), Some(Array1::from_elem(4, 2.0)));
    assert_eq!(
        AnyParameter::id(&target.embedding),
        AnyParameter::id(&target.output)
    );
}

#[test]
fn one_of_the_paths_of_a_tied_parameter_is_enough() {
    let mut state = model(1).state_dict();
    state.remove("embedding");
    let mut target = model(5);
    target.load_state_dict(&state, true).unwrap();
    assert_eq!(target.embedding.to_array(), model(1).output.to_array());
    assert_eq!(target.output.to_array(), model(1).output.to_array());
    state.remove("output");
    let error = model(5)
        .load_state_dict(&state, true)
        .unwrap_err()
        .to_string();
    assert!(error.contains("`embedding` is missing") && error.contains("`output` is missing"));
}

#[test]
fn modules_without_their_type_and_single_parameters_have_a_state_too() {
    let mut boxed: Vec<Box<dyn Module>> = vec![Box::new(model(1)), Box::new(model(2))];
    let state = boxed.state_dict();
    assert!(state.contains("1.layers.0.weight"));
    boxed[1]
        .as_module_mut()
        .load_state_dict(&state.part("0"), true)
        .unwrap();
    assert_eq!(bits(&boxed.state_dict().part("1")), bits(&state.part("0")));

    let mut parameter = Parameter::new(array![1.0]);
    let mut state = parameter.state_dict();
    assert_eq!(state.names().collect::<Vec<_>>(), [""]);
    state.insert("", array![2.0]);
    parameter.load_state_dict(&state, true).unwrap();
    assert_eq!(parameter.item(), 2.0);
}

#[test]
#[should_panic(expected = "two parameters or buffers have the path `a.b.0`")]
fn two_parts_of_one_path_are_refused() {
    let one = |name: &str| BTreeMap::from([(name.to_owned(), Parameter::new(array![1.0]))]);
    let maps = BTreeMap::from([("a".to_owned(), one("b.0")), ("a.b".to_owned(), one("0"))]);
    let _ = maps.state_dict();
}

#[test]
fn parts_and_prefixes_are_inverse() {
    let state = model(1).state_dict();
    let moved = state.clone().prefixed("encoder");
    assert!(moved.names().all(|name| name.starts_with("encoder.")));
    assert_eq!(bits(&moved.part("encoder")), bits(&state));
    assert!(moved.part("enc").is_empty() && moved.part("encoder.layers.0.").is_empty());
    assert_eq!(bits(&state.part("")), bits(&state));
    assert_eq!(state.part("embedding").names().collect::<Vec<_>>(), [""]);
}
