//! The errors of saving and loading.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path as FilePath, PathBuf};

use autograd_core::AnyTensor;

/// The element type and shape of a tensor, without its elements.
///
/// ```
/// use pullback::Tensor;
/// use pullback::ndarray::array;
/// use pullback::nn::TensorSpec;
///
/// let spec = TensorSpec::of(&Tensor::from(array![[1.0_f32, 2.0]]).into());
/// assert_eq!(spec.to_string(), "f32 of shape [1, 2]");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorSpec {
    /// The element type: `f32` or `f64`, and in files also `f16`, `bf16`, `i64` and so on.
    pub dtype: String,
    /// The shape.
    pub shape: Vec<usize>,
}

impl TensorSpec {
    /// Returns the element type and shape of a tensor.
    pub fn of(tensor: &AnyTensor) -> Self {
        Self {
            dtype: tensor.element_type().to_string(),
            shape: tensor.shape().to_vec(),
        }
    }
}

impl fmt::Display for TensorSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of shape {:?}", self.dtype, self.shape)
    }
}

/// One name at which a state does not fit a tree of parameters and buffers, or an optimizer.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::{Difference, Parameter, StateDict, StateError, Stateful};
///
/// let result = Parameter::new(array![1.0]).load_state_dict(&StateDict::new(), true);
/// let Err(StateError::Keys { differences, .. }) = result else { panic!("nothing fits") };
/// assert!(matches!(&differences[..], [Difference::Missing { .. }]));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Difference {
    /// The tree or optimizer has the name, and the state does not.
    Missing {
        /// The dotted path.
        key: String,
        /// The element type and shape in the tree or optimizer.
        expected: TensorSpec,
    },
    /// The state has the name, and the tree or optimizer does not.
    Unexpected {
        /// The name.
        key: String,
        /// The element type and shape in the state.
        found: TensorSpec,
    },
    /// Both have the name, with another shape or element type. Nothing is broadcast or cast to fit.
    Mismatched {
        /// The dotted path.
        key: String,
        /// The element type and shape in the tree or optimizer.
        expected: TensorSpec,
        /// The element type and shape in the state.
        found: TensorSpec,
    },
    /// A file has the name, with an element type that no tensor of this library has.
    Unsupported {
        /// The name.
        key: String,
        /// The element type and shape in the file.
        found: TensorSpec,
    },
    /// The tensor of the name has a number that is not allowed.
    Invalid {
        /// The name.
        key: String,
        /// The number.
        found: f64,
        /// A description of allowed numbers: "a whole number of at least 0".
        expected: String,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { key, expected } => write!(f, "`{key}` is missing, expected {expected}"),
            Self::Unexpected { key, found } => write!(f, "`{key}` is unexpected, found {found}"),
            Self::Mismatched {
                key,
                expected,
                found,
            } if expected.dtype == found.dtype => write!(
                f,
                "`{key}` has shape {:?}, expected {:?}",
                found.shape, expected.shape
            ),
            Self::Mismatched {
                key,
                expected,
                found,
            } if expected.shape == found.shape => write!(
                f,
                "`{key}` has elements of {}, expected {}",
                found.dtype, expected.dtype
            ),
            Self::Mismatched {
                key,
                expected,
                found,
            } => write!(f, "`{key}` is {found}, expected {expected}"),
            Self::Unsupported { key, found } => {
                write!(
                    f,
                    "`{key}` has elements of {}, expected f32 or f64",
                    found.dtype
                )
            }
            Self::Invalid {
                key,
                found,
                expected,
            } => write!(f, "`{key}` is {found}, expected {expected}"),
        }
    }
}

/// An error of saving or loading a state.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::{Parameter, StateDict, Stateful};
///
/// let mut model = (Parameter::new(array![1.0]), Parameter::new(array![2.0]));
/// let mut state = StateDict::new();
/// state.insert("0", array![1.0, 2.0]);
/// let error = model.load_state_dict(&state, true).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "the state does not fit: `0` has shape [2], expected [1]; `1` is missing, expected f64 of shape [1]"
/// );
/// ```
///
/// `Debug` writes the message too, since `?` in `main`, `unwrap` and `expect` show it.
#[non_exhaustive]
pub enum StateError {
    /// The state does not fit the tree or optimizer. Nothing was changed.
    Keys {
        /// The file, if the state was in one.
        path: Option<PathBuf>,
        /// Every name that does not fit, in the order of the tree or the optimizer; unexpected names come last.
        differences: Vec<Difference>,
    },
    /// The file system returned an error.
    Io {
        /// The file.
        path: PathBuf,
        /// The action that failed: "open", "read `layers.0.weight` from", "write".
        action: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is not a safetensors file, or it is damaged. Nothing was changed.
    Malformed {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The state cannot be written as a safetensors file. Nothing was written.
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
}

impl StateError {
    /// Returns a function for `map_err`.
    pub(super) fn io(path: &FilePath, action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let (path, action) = (path.to_owned(), action.into());
        move |source| Self::Io {
            path,
            action,
            source,
        }
    }

    pub(super) fn keys(path: Option<&FilePath>, differences: Vec<Difference>) -> Self {
        let path = path.map(FilePath::to_owned);
        Self::Keys { path, differences }
    }
}

/// The prefix of the model's names in a checkpoint.
pub(super) const MODEL: &str = "model";

/// Returns a missing name, and the one that it has in a checkpoint, if the state has that.
fn of_checkpoint(differences: &[Difference]) -> Option<(&str, &str)> {
    let missing = differences.iter().find_map(|difference| match difference {
        Difference::Missing { key, .. } => Some(&key[..]),
        _ => None,
    })?;
    let prefix = format!("{MODEL}.");
    differences.iter().find_map(|difference| match difference {
        Difference::Unexpected { key, .. } if key.strip_prefix(&prefix) == Some(missing) => {
            Some((missing, &key[..]))
        }
        _ => None,
    })
}

impl fmt::Debug for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keys { path, differences } => {
                match path {
                    Some(path) => write!(f, "the state in {} does not fit: ", path.display())?,
                    None => f.write_str("the state does not fit: ")?,
                }
                if let Some((key, in_file)) = of_checkpoint(differences).filter(|_| path.is_some())
                {
                    return write!(
                        f,
                        "its names are those of a checkpoint, `{in_file}` for `{key}`: load it with `load_checkpoint`"
                    );
                }
                for (number, difference) in differences.iter().enumerate() {
                    let between = if number > 0 { "; " } else { "" };
                    write!(f, "{between}{difference}")?;
                }
                Ok(())
            }
            Self::Io {
                path,
                action,
                source,
            } => write!(f, "could not {action} {}: {source}", path.display()),
            Self::Malformed { path, reason } => {
                let path = path.display();
                write!(f, "{path} is not a complete safetensors file: {reason}")
            }
            Self::Unwritable { path, reason } => {
                write!(f, "{} cannot be written: {reason}", path.display())
            }
        }
    }
}

impl Error for StateError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
