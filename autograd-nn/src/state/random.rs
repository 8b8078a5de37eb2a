//! Conversion between the seeds of modules and tensors.

use std::collections::HashSet;

use autograd_core::AnyTensor;
use autograd_core::ndarray::Array1;

use crate::path::ParameterPath;
use crate::rng_state::RngState;
use crate::state::dict::{StateDict, strip};
use crate::state::error::{Difference, TensorSpec};
use crate::visit::{Field, Visitor, VisitorMut};

/// The first seed and the number of calls, each as its upper and its lower 32 bits, which a float holds exactly.
const SHAPE: [usize; 1] = [4];
const HALF: f64 = 4_294_967_296.0;

fn tensor(seeds: &RngState) -> AnyTensor {
    let halves = |number: u64| [number >> 32, number & 0xffff_ffff].map(|half| half as f64);
    let numbers = [halves(seeds.first()), halves(seeds.calls())].concat();
    Array1::from(numbers).into()
}

/// Inverts [`tensor`], or returns the reason why it cannot.
fn seeds(key: &str, tensor: &AnyTensor) -> Result<RngState, Difference> {
    let key = || key.to_owned();
    let numbers = match tensor.to_tensor::<f64>() {
        Some(numbers) if numbers.shape() == SHAPE => numbers,
        _ => {
            return Err(Difference::Mismatched {
                key: key(),
                expected: spec(),
                found: TensorSpec::of(tensor),
            });
        }
    };
    let numbers: Vec<f64> = numbers.view().iter().copied().collect();
    let is_half = |half: &&f64| half.fract() == 0.0 && (0.0..HALF).contains(*half);
    if let Some(&found) = numbers.iter().find(|half| !is_half(half)) {
        return Err(Difference::Invalid {
            key: key(),
            found,
            expected: "whole numbers of at least 0 and below 2³²".to_owned(),
        });
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "they were just seen to be whole numbers of 32 bits"
    )]
    let whole = |place: usize| (numbers[place] as u64) << 32 | numbers[place + 1] as u64;
    Ok(RngState::after(whole(0), whole(2)))
}

fn spec() -> TensorSpec {
    TensorSpec {
        dtype: "f64".to_owned(),
        shape: SHAPE.to_vec(),
    }
}

/// Lists the seeds of a tree with their paths, below `root`.
fn listed<'a, F: Field + ?Sized>(
    tree: &'a F,
    root: &ParameterPath<'_>,
) -> Vec<(String, &'a RngState)> {
    struct List<'a>(Vec<(String, &'a RngState)>);
    impl<'a> Visitor<'a> for List<'a> {
        fn rng_state(&mut self, path: &ParameterPath<'_>, seeds: &'a RngState) {
            self.0.push((path.to_string(), seeds));
        }
    }
    let mut list = List(vec![]);
    tree.visit(root, &mut list);
    list.0
}

/// Returns the state of all seeds of a tree, under paths below `root`.
///
/// # Panics
/// If two modules with seeds have the same path.
#[track_caller]
pub(super) fn random_state(tree: &(impl Field + ?Sized), root: &ParameterPath<'_>) -> StateDict {
    let mut state = StateDict::new();
    for (path, seeds) in listed(tree, root) {
        assert!(
            state.insert(&path[..], tensor(seeds)).is_none(),
            "two modules have seeds with the path `{path}`"
        );
    }
    state
}

/// Returns the differences between `state` and the seeds of the tree, whose paths are below `root`.
pub(super) fn differences(
    tree: &(impl Field + ?Sized),
    state: &StateDict,
    root: &ParameterPath<'_>,
) -> Vec<Difference> {
    let mut wanted = HashSet::new();
    let mut differences = vec![];
    for (key, _) in listed(tree, root) {
        match state.get(&key) {
            Some(tensor) => differences.extend(seeds(&key, tensor).err()),
            None => differences.push(Difference::Missing {
                key: key.clone(),
                expected: spec(),
            }),
        }
        wanted.insert(key);
    }
    let root = root.to_string();
    for (key, tensor) in state {
        if strip(&root, key).is_some() && !wanted.contains(key) {
            differences.push(Difference::Unexpected {
                key: key.clone(),
                found: TensorSpec::of(tensor),
            });
        }
    }
    differences
}

/// Loads a state that has no [`differences`].
pub(super) fn set_random_state(
    tree: &mut (impl Field + ?Sized),
    state: &StateDict,
    root: &ParameterPath<'_>,
) {
    struct Set<'s>(&'s StateDict);
    impl VisitorMut for Set<'_> {
        fn rng_state(&mut self, path: &ParameterPath<'_>, own: &mut RngState) {
            let key = path.to_string();
            if let Some(Ok(saved)) = self.0.get(&key).map(|tensor| seeds(&key, tensor)) {
                *own = saved;
            }
        }
    }
    tree.visit_mut(root, &mut Set(state));
}
