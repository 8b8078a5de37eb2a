//! Named tensors.

use std::collections::{BTreeMap, btree_map};
use std::fmt;
use std::ops::Index;

use autograd_core::AnyTensor;

use crate::state::error::TensorSpec;

/// Tensors under dotted names, sorted by name: the state of a module, of an optimizer, or of both.
///
/// [`Stateful::state_dict`](crate::nn::Stateful::state_dict) returns one. It is a snapshot: it shares memory with the
/// module until the module changes, and keeps the values.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::{Parameter, StateDict, Stateful};
///
/// let mut model = vec![Parameter::new(array![1.0, 2.0])];
/// let state: StateDict = model.state_dict();
/// model[0].set(array![5.0, 6.0].view());
/// assert_eq!(state["0"].to_tensor::<f64>().unwrap().to_array(), array![1.0, 2.0].into_dyn());
/// assert_eq!(format!("{state:?}"), r#"{"0": f64 of shape [2]}"#);
/// ```
#[derive(Clone, Default)]
pub struct StateDict {
    tensors: BTreeMap<String, AnyTensor>,
}

impl StateDict {
    /// Creates a state without tensors.
    pub fn new() -> Self {
        Self::default()
    }

    /// Inserts a tensor or an array under a name, and returns the previous one.
    ///
    /// ```
    /// use pullback::ndarray::{arr0, array};
    /// use pullback::nn::StateDict;
    ///
    /// let mut state = StateDict::new();
    /// state.insert("mean", array![0.5_f32]);
    /// assert!(state.insert("steps", arr0(100.0)).is_none());
    /// assert_eq!(state.names().collect::<Vec<_>>(), ["mean", "steps"]);
    /// assert!(state.contains("steps") && state.get("epochs").is_none());
    /// assert!(state.remove("steps").is_some() && state.len() == 1);
    /// ```
    pub fn insert(
        &mut self,
        name: impl Into<String>,
        tensor: impl Into<AnyTensor>,
    ) -> Option<AnyTensor> {
        self.tensors.insert(name.into(), tensor.into())
    }

    /// Returns the tensor of this name.
    pub fn get(&self, name: &str) -> Option<&AnyTensor> {
        self.tensors.get(name)
    }

    /// Removes the tensor of this name and returns it.
    pub fn remove(&mut self, name: &str) -> Option<AnyTensor> {
        self.tensors.remove(name)
    }

    /// Returns whether the state has a tensor of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// Returns the number of tensors.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Returns whether the state has no tensors.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// Returns the names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// Returns names and tensors, sorted by name.
    pub fn iter(&self) -> btree_map::Iter<'_, String, AnyTensor> {
        self.tensors.iter()
    }

    /// Returns the tensors under the names that `name` returns, such as those of another model's part.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::StateDict;
    ///
    /// let mut state = StateDict::new();
    /// state.insert("module.weight", array![1.0]);
    /// let state = state.rename(|name| name.replace("module.", "encoder."));
    /// assert!(state.contains("encoder.weight"));
    /// ```
    #[must_use]
    pub fn rename(self, name: impl Fn(&str) -> String) -> Self {
        let tensors = self.tensors.into_iter();
        tensors.map(|(old, tensor)| (name(&old), tensor)).collect()
    }

    /// Returns all tensors with `prefix` and a dot before their names: the inverse of [`part`](Self::part).
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::StateDict;
    ///
    /// let mut state = StateDict::new();
    /// state.insert("weight", array![1.0]);
    /// assert!(state.prefixed("encoder").contains("encoder.weight"));
    /// ```
    #[must_use]
    pub fn prefixed(self, prefix: &str) -> Self {
        self.rename(|name| below(prefix, name))
    }

    /// Returns the tensors whose names begin with `prefix` and a dot, without that prefix.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::StateDict;
    ///
    /// let mut state = StateDict::new();
    /// state.insert("encoder.weight", array![1.0]);
    /// state.insert("decoder.weight", array![2.0]);
    /// let encoder = state.part("encoder");
    /// assert_eq!(encoder.names().collect::<Vec<_>>(), ["weight"]);
    /// assert!(encoder.prefixed("encoder").contains("encoder.weight"));
    /// ```
    #[must_use]
    pub fn part(&self, prefix: &str) -> Self {
        let parts = self.iter().filter_map(|(name, tensor)| {
            let name = strip(prefix, name)?;
            Some((name.to_owned(), tensor.clone()))
        });
        parts.collect()
    }
}

/// Returns a name with `prefix` and a dot before it. For an empty name, returns the prefix.
pub(super) fn below(prefix: &str, name: &str) -> String {
    match (prefix, name) {
        ("", name) => name.to_owned(),
        (prefix, "") => prefix.to_owned(),
        (prefix, name) => format!("{prefix}.{name}"),
    }
}

/// Inverts [`below`]; `None` if the name does not have that prefix.
pub(super) fn strip<'a>(prefix: &str, name: &'a str) -> Option<&'a str> {
    match (prefix, name.strip_prefix(prefix)?) {
        ("", rest) | (_, rest @ "") => Some(rest),
        (_, rest) => rest.strip_prefix('.'),
    }
}

impl Index<&str> for StateDict {
    type Output = AnyTensor;

    /// Returns the tensor of this name.
    ///
    /// # Panics
    /// If the state does not have the name.
    fn index(&self, name: &str) -> &AnyTensor {
        match self.get(name) {
            Some(tensor) => tensor,
            None => panic!("no tensor is named `{name}`"),
        }
    }
}

impl FromIterator<(String, AnyTensor)> for StateDict {
    fn from_iter<I: IntoIterator<Item = (String, AnyTensor)>>(tensors: I) -> Self {
        Self {
            tensors: BTreeMap::from_iter(tensors),
        }
    }
}

impl Extend<(String, AnyTensor)> for StateDict {
    fn extend<I: IntoIterator<Item = (String, AnyTensor)>>(&mut self, tensors: I) {
        self.tensors.extend(tensors);
    }
}

impl IntoIterator for StateDict {
    type Item = (String, AnyTensor);
    type IntoIter = btree_map::IntoIter<String, AnyTensor>;

    fn into_iter(self) -> Self::IntoIter {
        self.tensors.into_iter()
    }
}

impl<'a> IntoIterator for &'a StateDict {
    type Item = (&'a String, &'a AnyTensor);
    type IntoIter = btree_map::Iter<'a, String, AnyTensor>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Writes names, element types and shapes, as elements would fill many screens.
impl fmt::Debug for StateDict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for (name, tensor) in self {
            map.entry(name, &format_args!("{}", TensorSpec::of(tensor)));
        }
        map.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use autograd_core::ndarray::array;

    #[test]
    fn a_state_with_a_tensor_is_not_empty() {
        let mut state = StateDict::new();
        assert!(state.is_empty());
        state.insert("mean", array![0.5]);
        assert!(!state.is_empty());
    }
}
