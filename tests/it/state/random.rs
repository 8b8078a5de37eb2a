//! Saving and loading of random states.

use std::collections::BTreeMap;

use pullback::ndarray::{Array1, arr0, array};
use pullback::nn::{
    Dropout, Generator, Linear, MultiheadAttention, RngState, StateDict, StateFile,
    load_checkpoint, save_checkpoint,
};
use pullback::prelude::*;

use super::bits;
use super::files::Folder;

#[test]
fn seeds_have_their_paths_and_all_their_bits() {
    let g = &mut Generator::seed(7);
    let attention = MultiheadAttention::<f32>::builder(4, 2).dropout(0.1);
    let mut model = (vec![Dropout::new(0.5, g)], attention.build(g));
    let names: Vec<String> = model.random_state().names().map(str::to_owned).collect();
    assert_eq!(names, ["0.0.seeds", "1.dropout.seeds"]);
    assert!(
        model
            .state_dict()
            .names()
            .all(|name| !name.contains("seeds"))
    );

    let folder = Folder::new("seeds");
    let path = folder.file("run.safetensors");
    for (first, calls) in [
        (0, 0),
        (u64::MAX, u64::MAX),
        (1 << 63, 1),
        (3, (1 << 53) + 1),
    ] {
        let seeds = RngState::new(first);
        seeds.set_calls(calls);
        save_checkpoint(&path, &seeds, &[], &[]).unwrap();
        let mut loaded = RngState::new(5);
        load_checkpoint(&path, &mut loaded).unwrap();
        assert_eq!((loaded.first(), loaded.calls()), (first, calls));
    }

    // The state of another model.
    let mut state = model.random_state();
    state.insert("0.0.seeds", array![0.0, 1.0, 0.0, 0.5]);
    state.insert("1.dropout.seeds", Array1::<f32>::zeros(4));
    state.insert("2", arr0(1.0));
    let before = bits(&model.random_state());
    let error = model.load_random_state(&state).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the state does not fit: `0.0.seeds` is 0.5, expected whole numbers of at least 0 and below 2³²; \
         `1.dropout.seeds` has elements of f32, expected f64; `2` is unexpected, found f64 of shape []"
    );
    assert_eq!(bits(&model.random_state()), before);
}

#[test]
fn a_checkpoint_whose_seeds_do_not_fit_changes_nothing() {
    let folder = Folder::new("seeds-not-fit");
    let path = folder.file("run.safetensors");
    let model = |seed| {
        let g = &mut Generator::seed(seed);
        (Linear::<f32>::new(2, 2, g), Dropout::new(0.5, g))
    };
    let saved = model(1);
    save_checkpoint(&path, &saved, &[], &[]).unwrap();
    let names: Vec<String> = StateFile::open(&path)
        .unwrap()
        .names()
        .map(str::to_owned)
        .collect();
    assert_eq!(names, ["model.0.bias", "model.0.weight", "random.1.seeds"]);

    // The state has a seed too many.
    let mut plain = (model(2).0,);
    let before = bits(&plain.state_dict());
    let error = load_checkpoint(&path, &mut plain).unwrap_err().to_string();
    assert!(
        error.ends_with("`random.1.seeds` is unexpected, found f64 of shape [4]"),
        "{error}"
    );
    assert_eq!(bits(&plain.state_dict()), before);
    // The state lacks a seed.
    save_checkpoint(&path, &plain, &[], &[]).unwrap();
    let mut other = model(3);
    let before = bits(&other.state_dict());
    let error = load_checkpoint(&path, &mut other).unwrap_err().to_string();
    assert!(
        error.ends_with("`random.1.seeds` is missing, expected f64 of shape [4]"),
        "{error}"
    );
    assert_eq!(bits(&other.state_dict()), before);
    // Of either, the model can be read alone.
    StateFile::open(&path)
        .and_then(|mut file| file.part("model"))
        .and_then(|state| other.load_state_dict(&state, true))
        .unwrap();
    assert_eq!(bits(&other.state_dict()), bits(&plain.state_dict()));
}

#[test]
#[should_panic(expected = "a state with the prefix `random` in a checkpoint")]
fn the_prefix_of_the_seeds_is_their_own() {
    let _ = save_checkpoint(
        "never written",
        &RngState::new(1),
        &[("random", StateDict::new())],
        &[],
    );
}

#[test]
#[should_panic(expected = "two modules have seeds with the path `a.b.0`")]
fn two_seeds_of_one_path_are_refused() {
    let one = |name: &str| BTreeMap::from([(name.to_owned(), RngState::new(1))]);
    let maps = BTreeMap::from([("a".to_owned(), one("b.0")), ("a.b".to_owned(), one("0"))]);
    let _ = maps.random_state();
}
