//! Loading a state into a tree.
//!
//! # Note [All or nothing]
//! All names, shapes and element types are compared first; then all elements are read, those of a file into new
//! memory; then they are copied into the tree, which cannot fail. Until then an error changes
//! nothing. That takes the memory of what is read once more while a file is being loaded, and none for a state in
//! memory.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path as FilePath;

use super::dict::strip;
use super::{Difference, StateDict, StateError, TensorSpec};
use crate::nn::{
    AnyBuffer, AnyParameter, Field, ParameterId, ParameterPath, Visitor, VisitorMut, assign,
};
use crate::{AnyTensor, Element, Tensor};

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
    /// Paths of the tree that the state does not have, in the order of the tree. They keep their values.
    pub missing: Vec<String>,
    /// Names of the state that the tree does not have.
    pub unexpected: Vec<String>,
}

impl IncompatibleKeys {
    /// Returns whether everything fitted.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::{Parameter, StateDict, Stateful};
    ///
    /// let mut model = Parameter::new(array![1.0]);
    /// assert!(model.load_state_dict(&model.state_dict(), false)?.is_empty());
    /// assert!(!model.load_state_dict(&StateDict::new(), false)?.is_empty());
    /// # Ok::<(), pullback::nn::StateError>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.unexpected.is_empty()
    }
}

/// Where tensors come from: memory or a file.
pub(super) trait Source {
    /// The file, for errors.
    fn path(&self) -> Option<&FilePath>;

    /// All names.
    fn names(&self) -> Vec<String>;

    /// Returns what the tensor of this name is. Names beside [`names`](Self::names) may be known too.
    fn spec(&self, name: &str) -> Option<TensorSpec>;

    /// Returns the tensor of this name.
    fn read(&mut self, name: &str) -> Result<AnyTensor, StateError>;
}

/// Copies what `source` has below `root` into the tree, in place. Nothing is changed unless all fits and all is
/// read; with `strict` not set, names that only one of the two has may be left.
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

/// The values that fit the tree, read and not yet copied, and what may be left alone. It is an error too if there are
/// `others` that do not fit. See Note [All or nothing].
pub(super) fn read<F: Field + ?Sized>(
    tree: &F,
    source: &mut dyn Source,
    root: &ParameterPath<'_>,
    strict: bool,
    others: Vec<Difference>,
) -> Result<(Values, IncompatibleKeys), StateError> {
    let mut wanted = Wants::default();
    tree.visit(root, &mut wanted);
    let plan = wanted.compare(source, &root.to_string());
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

/// What a tree needs from a state.
#[derive(Default)]
struct Wants {
    list: Vec<Want>,
}

struct Want {
    key: String,
    /// `None`: a buffer.
    parameter: Option<ParameterId>,
    spec: TensorSpec,
}

impl<'a> Visitor<'a> for Wants {
    fn parameter(&mut self, path: &ParameterPath<'_>, parameter: &'a dyn AnyParameter) {
        self.list.push(Want {
            key: path.to_string(),
            parameter: Some(parameter.id()),
            spec: TensorSpec::of(&parameter.to_any()),
        });
    }

    fn buffer(&mut self, path: &ParameterPath<'_>, buffer: &'a dyn AnyBuffer) {
        if buffer.is_persistent() {
            self.list.push(Want {
                key: path.to_string(),
                parameter: None,
                spec: TensorSpec::of(&buffer.to_any()),
            });
        }
    }
}

/// What is copied from where, and what does not fit.
struct Plan {
    names: Names,
    differences: Vec<Difference>,
}

/// The name that a value comes from. A parameter has one, however many paths lead to it.
#[derive(Default)]
struct Names {
    parameters: HashMap<ParameterId, String>,
    buffers: HashSet<String>,
}

impl Wants {
    fn compare(&self, source: &dyn Source, prefix: &str) -> Plan {
        let mut names = Names::default();
        let mut differences = Vec::new();
        for want in &self.list {
            let key = want.key.clone();
            let expected = want.spec.clone();
            match source.spec(&key) {
                // Looked at below, when all paths to it are known.
                None => {}
                Some(found) if found != expected => differences.push(Difference::Mismatched {
                    key,
                    expected,
                    found,
                }),
                Some(_) => match want.parameter {
                    Some(id) => drop(names.parameters.entry(id).or_insert(key)),
                    None => drop(names.buffers.insert(key)),
                },
            }
        }
        let is_there = |want: &Want| {
            let tied = want
                .parameter
                .is_some_and(|id| names.parameters.contains_key(&id));
            tied || source.spec(&want.key).is_some()
        };
        let missing = self.list.iter().filter(|want| !is_there(want));
        differences.extend(missing.map(|want| Difference::Missing {
            key: want.key.clone(),
            expected: want.spec.clone(),
        }));
        differences.extend(self.unexpected(source, prefix));
        Plan { names, differences }
    }

    fn unexpected(&self, source: &dyn Source, prefix: &str) -> Vec<Difference> {
        let wanted: HashSet<&str> = self.list.iter().map(|want| want.key.as_str()).collect();
        let mut unexpected = Vec::new();
        for key in source.names() {
            if wanted.contains(&key[..]) || strip(prefix, &key).is_none() {
                continue;
            }
            if let Some(found) = source.spec(&key) {
                unexpected.push(Difference::Unexpected { key, found });
            }
        }
        unexpected
    }
}

/// The values to load into a tree.
pub(super) struct Values {
    parameters: HashMap<ParameterId, AnyTensor>,
    buffers: BTreeMap<String, AnyTensor>,
}

impl Values {
    fn read(source: &mut dyn Source, names: Names) -> Result<Self, StateError> {
        let mut read = |name: &str| source.read(name);
        let parameters = names.parameters.into_iter();
        let parameters = parameters.map(|(id, name)| Ok((id, read(&name)?)));
        let parameters = parameters.collect::<Result<_, StateError>>()?;
        let buffers = names.buffers.into_iter();
        let buffers = buffers.map(|name| {
            let tensor = read(&name)?;
            Ok((name, tensor))
        });
        let buffers = buffers.collect::<Result<_, StateError>>()?;
        Ok(Self {
            parameters,
            buffers,
        })
    }

    /// Copies the values into the tree that they were read for.
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
    /// Tied parameters that have their value.
    done: HashMap<ParameterId, AnyTensor>,
}

impl VisitorMut for Copy {
    fn parameter(&mut self, _: &ParameterPath<'_>, parameter: &mut dyn AnyParameter) {
        let id = parameter.id();
        if let Some(tensor) = self.done.get(&id) {
            parameter.show(tensor);
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

/// The state of a tree, under paths below `root`. Tied parameters have one tensor, under each of their paths.
///
/// # Panics
/// If two parts have one path.
#[track_caller]
pub(super) fn state_dict<F: Field + ?Sized>(tree: &F, root: &ParameterPath<'_>) -> StateDict {
    let mut gathered = Gathered::default();
    tree.visit(root, &mut gathered);
    if let Some(path) = gathered.twice {
        panic!("two parameters or buffers have the path `{path}`");
    }
    gathered.state
}

#[derive(Default)]
struct Gathered {
    state: StateDict,
    tied: HashMap<ParameterId, AnyTensor>,
    twice: Option<String>,
}

impl Gathered {
    fn insert(&mut self, path: &ParameterPath<'_>, tensor: AnyTensor) {
        let path = path.to_string();
        if self.state.contains(&path) {
            self.twice = Some(path);
        } else {
            self.state.insert(path, tensor);
        }
    }
}

impl<'a> Visitor<'a> for Gathered {
    fn parameter(&mut self, path: &ParameterPath<'_>, parameter: &'a dyn AnyParameter) {
        let tied = self.tied.entry(parameter.id());
        let tensor = tied
            .or_insert_with(|| constant(&parameter.to_any()))
            .clone();
        self.insert(path, tensor);
    }

    fn buffer(&mut self, path: &ParameterPath<'_>, buffer: &'a dyn AnyBuffer) {
        if buffer.is_persistent() {
            self.insert(path, constant(&buffer.to_any()));
        }
    }
}

/// The same value without gradient and history.
fn constant(tensor: &AnyTensor) -> AnyTensor {
    fn of<T: Element>(tensor: &Tensor<T, crate::ndarray::IxDyn>) -> AnyTensor {
        tensor.detach().into()
    }
    match tensor {
        AnyTensor::F32(tensor) => of(tensor),
        AnyTensor::F64(tensor) => of(tensor),
    }
}
