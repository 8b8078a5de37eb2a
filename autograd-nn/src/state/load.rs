//! Loading a state into a tree.
//!
//! # Note [All or nothing]
//! All names, shapes and element types are compared first; then all elements are read, those of a file into new
//! memory; then they are copied into the tree, which cannot fail. An error before that changes nothing. Loading a
//! file therefore takes the memory of its elements once more; loading a state in memory does not.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path as FilePath;

use autograd_core::{AnyTensor, Element, Tensor};

use crate::buffer::AnyBuffer;
use crate::parameter::ParameterId;
use crate::parameter::any::{AnyParameter, assign};
use crate::path::ParameterPath;
use crate::state::dict::{StateDict, strip};
use crate::state::error::{Difference, StateError, TensorSpec};
use crate::visit::{Field, Visitor, VisitorMut};

/// The names that only the tree or only the state has.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::{Parameter, StateDict, Stateful};
///
/// let mut model = (Parameter::new(array![1.0]), Parameter::new(array![2.0]));
/// let mut state = StateDict::new();
/// state.insert("1", array![7.0]);
/// state.insert("head", array![0.0]);
/// let left = model.load_state_dict(&state, false)?;
/// assert_eq!((left.missing, left.unexpected), (vec!["0".to_owned()], vec!["head".to_owned()]));
/// assert_eq!((model.0.item(), model.1.item()), (1.0, 7.0));
/// # Ok::<(), pullback::nn::StateError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IncompatibleKeys {
    /// Paths of the tree that the state does not have, in the order of the tree. Their values are not changed.
    pub missing: Vec<String>,
    /// Names of the state that the tree does not have.
    pub unexpected: Vec<String>,
}

impl IncompatibleKeys {
    /// Returns whether the tree and the state have the same names.
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.unexpected.is_empty()
    }
}

/// A source of tensors: memory or a file.
pub(super) trait Source {
    /// Returns the path of the file, for errors.
    fn path(&self) -> Option<&FilePath>;

    /// Returns all names.
    fn names(&self) -> Vec<String>;

    /// Returns the element type and shape of the tensor of this name, which need not be one of
    /// [`names`](Self::names).
    fn spec(&self, name: &str) -> Option<TensorSpec>;

    /// Returns the tensor of this name.
    fn read(&mut self, name: &str) -> Result<AnyTensor, StateError>;
}

/// Copies the tensors of `source` below `root` into the tree, in place. Nothing is changed unless all fit and are
/// read; without `strict`, names that only one of the two has are skipped.
pub(super) fn load<F: Field + ?Sized>(
    tree: &mut F,
    source: &mut dyn Source,
    root: &ParameterPath<'_>,
    strict: bool,
) -> Result<IncompatibleKeys, StateError> {
    let (values, left) = read(tree, source, root, strict, vec![])?;
    values.set(tree, root);
    Ok(left)
}

/// Reads the values for the tree, without copying them, and returns them with the names that were skipped. `others`
/// are differences that are reported as well. See Note [All or nothing].
pub(super) fn read<F: Field + ?Sized>(
    tree: &F,
    source: &mut dyn Source,
    root: &ParameterPath<'_>,
    strict: bool,
    others: Vec<Difference>,
) -> Result<(Values, IncompatibleKeys), StateError> {
    let plan = compare(&parts(tree, root), source, &root.to_string());
    let may_be_left = |difference: &Difference| match difference {
        Difference::Missing { .. } | Difference::Unexpected { .. } => !strict,
        Difference::Mismatched { .. }
        | Difference::Unsupported { .. }
        | Difference::Invalid { .. } => false,
    };
    let (left, mut wrong): (Vec<_>, Vec<_>) = plan.differences.into_iter().partition(may_be_left);
    wrong.extend(others);
    if !wrong.is_empty() {
        return Err(StateError::keys(source.path(), wrong));
    }
    Ok((Values::read(source, plan.names)?, incompatible(left)))
}

fn incompatible(differences: Vec<Difference>) -> IncompatibleKeys {
    let mut keys = IncompatibleKeys::default();
    for difference in differences {
        match difference {
            Difference::Missing { key, .. } => keys.missing.push(key),
            Difference::Unexpected { key, .. } => keys.unexpected.push(key),
            Difference::Mismatched { .. }
            | Difference::Unsupported { .. }
            | Difference::Invalid { .. } => {}
        }
    }
    keys
}

/// A parameter or a persistent buffer of a tree.
struct Part {
    key: String,
    /// `None` for a buffer.
    parameter: Option<ParameterId>,
    tensor: AnyTensor,
}

/// Lists the parts of a tree, under paths below `root`.
fn parts<F: Field + ?Sized>(tree: &F, root: &ParameterPath<'_>) -> Vec<Part> {
    struct List(Vec<Part>);
    impl<'a> Visitor<'a> for List {
        fn parameter(&mut self, path: &ParameterPath<'_>, parameter: &'a dyn AnyParameter) {
            self.0.push(Part {
                key: path.to_string(),
                parameter: Some(parameter.id()),
                tensor: parameter.to_any(),
            });
        }

        fn buffer(&mut self, path: &ParameterPath<'_>, buffer: &'a dyn AnyBuffer) {
            if buffer.is_persistent() {
                self.0.push(Part {
                    key: path.to_string(),
                    parameter: None,
                    tensor: buffer.to_any(),
                });
            }
        }
    }
    let mut list = List(vec![]);
    tree.visit(root, &mut list);
    list.0
}

/// The source of each value, and everything that does not fit.
struct Plan {
    names: Names,
    differences: Vec<Difference>,
}

/// The name of each value's source. A parameter has one, even if it has several paths.
#[derive(Default)]
struct Names {
    parameters: HashMap<ParameterId, String>,
    buffers: HashSet<String>,
}

fn compare(parts: &[Part], source: &dyn Source, prefix: &str) -> Plan {
    let mut names = Names::default();
    let mut differences = Vec::new();
    for part in parts {
        let key = part.key.clone();
        let expected = TensorSpec::of(&part.tensor);
        match source.spec(&key) {
            // Checked below, when all its paths are known.
            None => {}
            Some(found) if found != expected => differences.push(Difference::Mismatched {
                key,
                expected,
                found,
            }),
            Some(_) => match part.parameter {
                Some(id) => drop(names.parameters.entry(id).or_insert(key)),
                None => drop(names.buffers.insert(key)),
            },
        }
    }
    let is_there = |part: &Part| {
        let tied = part
            .parameter
            .is_some_and(|id| names.parameters.contains_key(&id));
        tied || source.spec(&part.key).is_some()
    };
    let missing = parts.iter().filter(|part| !is_there(part));
    differences.extend(missing.map(|part| Difference::Missing {
        key: part.key.clone(),
        expected: TensorSpec::of(&part.tensor),
    }));
    let wanted: HashSet<&str> = parts.iter().map(|part| part.key.as_str()).collect();
    for key in source.names() {
        if wanted.contains(&key[..]) || strip(prefix, &key).is_none() {
            continue;
        }
        if let Some(found) = source.spec(&key) {
            differences.push(Difference::Unexpected { key, found });
        }
    }
    Plan { names, differences }
}

/// The values to load into a tree.
pub(super) struct Values {
    parameters: HashMap<ParameterId, AnyTensor>,
    buffers: BTreeMap<String, AnyTensor>,
}

impl Values {
    fn read(source: &mut dyn Source, names: Names) -> Result<Self, StateError> {
        let parameters = names.parameters.into_iter();
        let parameters = parameters.map(|(id, name)| Ok((id, source.read(&name)?)));
        let parameters = parameters.collect::<Result<_, StateError>>()?;
        let buffers = names.buffers.into_iter();
        let buffers = buffers.map(|name| source.read(&name).map(|tensor| (name, tensor)));
        let buffers = buffers.collect::<Result<_, StateError>>()?;
        Ok(Self {
            parameters,
            buffers,
        })
    }

    /// Copies the values into the tree for which they were read.
    pub(super) fn set<F: Field + ?Sized>(self, tree: &mut F, root: &ParameterPath<'_>) {
        let mut copy = Copy {
            values: self,
            done: HashMap::new(),
        };
        tree.visit_mut(root, &mut copy);
    }
}

/// Copies values into a tree that they fit, and drops each.
struct Copy {
    values: Values,
    /// The tied parameters that were copied.
    done: HashMap<ParameterId, AnyTensor>,
}

impl VisitorMut for Copy {
    fn parameter(&mut self, _: &ParameterPath<'_>, parameter: &mut dyn AnyParameter) {
        let id = parameter.id();
        if let Some(tensor) = self.done.get(&id) {
            parameter.set_tensor(tensor);
            return;
        }
        let Some(value) = self.values.parameters.remove(&id) else {
            return;
        };
        // INVARIANT: element type and shape were compared.
        parameter.update_any(&mut |own| assign(own, &value));
        self.done.insert(id, parameter.to_any());
    }

    fn buffer(&mut self, path: &ParameterPath<'_>, buffer: &mut dyn AnyBuffer) {
        if let Some(tensor) = self.values.buffers.remove(&path.to_string()) {
            // INVARIANT: element type and shape were compared.
            assert!(buffer.set_any(&tensor), "the tensor fits the buffer");
        }
    }
}

/// A state in memory.
impl Source for &StateDict {
    fn path(&self) -> Option<&FilePath> {
        None
    }

    fn names(&self) -> Vec<String> {
        StateDict::names(self).map(str::to_owned).collect()
    }

    fn spec(&self, name: &str) -> Option<TensorSpec> {
        self.get(name).map(TensorSpec::of)
    }

    fn read(&mut self, name: &str) -> Result<AnyTensor, StateError> {
        Ok(self[name].clone())
    }
}

/// Returns the state of a tree, under paths below `root`. Tied parameters share one tensor, under each of their
/// paths.
///
/// # Panics
/// If two parts have the same path.
#[track_caller]
pub(super) fn state_dict<F: Field + ?Sized>(tree: &F, root: &ParameterPath<'_>) -> StateDict {
    let mut state = StateDict::new();
    let mut tied: HashMap<ParameterId, AnyTensor> = HashMap::new();
    for part in parts(tree, root) {
        let value = || constant(&part.tensor);
        let tensor = match part.parameter {
            Some(id) => tied.entry(id).or_insert_with(value).clone(),
            None => value(),
        };
        assert!(
            state.insert(&part.key[..], tensor).is_none(),
            "two parameters or buffers have the path `{}`",
            part.key
        );
    }
    state
}

/// Returns the same value without gradient and history.
fn constant(tensor: &AnyTensor) -> AnyTensor {
    fn of<T: Element>(tensor: &Tensor<T, autograd_core::ndarray::IxDyn>) -> AnyTensor {
        tensor.detach().into()
    }
    match tensor {
        AnyTensor::F32(tensor) => of(tensor),
        AnyTensor::F64(tensor) => of(tensor),
    }
}
