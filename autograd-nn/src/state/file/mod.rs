//! Safetensors files: eight bytes with the length of a JSON header, the header, the elements.
//!
//! The format: <https://huggingface.co/docs/safetensors>. `json` reads and writes the header, `header` checks it,
//! `elements` converts between numbers and bytes, `atomic` replaces files, `write` writes a state, and this file
//! reads one.

mod elements;
mod header;
mod json;
mod stored;
mod write;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom};
use std::path::{Path as FilePath, PathBuf};

use autograd_core::AnyTensor;
use autograd_core::ndarray::ArrayD;

use crate::parameter::any::AnyViewMut;
use crate::path::ParameterPath;
use crate::state::dict::{StateDict, strip};
use crate::state::error::{Difference, StateError, TensorSpec};
use crate::state::file::header::Header;
use crate::state::file::stored::{Dtype, Stored};
use crate::state::load::{IncompatibleKeys, Source, load};
use crate::visit::Field;

/// A safetensors file that was opened and checked, without reading an element.
///
/// Opening it reads the header and checks it against the length of the file. Names that occur twice, elements that
/// overlap, lie outside of the file or leave gaps, and shapes that do not fit the number of bytes are errors. The
/// memory that is allocated is bounded by the length of the file, whatever the header claims.
///
/// ```
/// use pullback::ndarray::{Array1, array};
/// use pullback::nn::{StateDict, StateFile};
///
/// let path = std::env::temp_dir().join(format!("file-{}.safetensors", std::process::id()));
/// let mut state = StateDict::new();
/// state.insert("mean", array![1.0, 2.0]);
/// state.insert("table", Array1::<f32>::zeros(1000));
/// state.save_safetensors(&path, &[("trained_on", "digits")])?;
///
/// let mut file = StateFile::open(&path)?;
/// assert_eq!(file.metadata()["trained_on"], "digits");
/// assert_eq!(file.spec("table").unwrap().to_string(), "f32 of shape [1000]");
/// let mean = file.tensor("mean")?.unwrap();
/// assert_eq!(mean.to_tensor::<f64>().unwrap().to_array(), array![1.0, 2.0].into_dyn());
/// # std::fs::remove_file(path).unwrap();
/// # Ok::<(), pullback::nn::StateError>(())
/// ```
#[derive(Debug)]
pub struct StateFile {
    path: PathBuf,
    file: File,
    /// The position of the first element.
    start: u64,
    header: Header,
}

impl StateFile {
    /// Opens a file and checks it.
    ///
    /// # Errors
    /// [`StateError::Io`] if the file cannot be opened or read, [`StateError::Malformed`] if it is damaged or not a
    /// safetensors file.
    pub fn open(path: impl AsRef<FilePath>) -> Result<Self, StateError> {
        let path = path.as_ref();
        let malformed = |reason| StateError::Malformed {
            path: path.to_owned(),
            reason,
        };
        // Checked before opening, as opening a pipe would block.
        let about = fs::metadata(path).map_err(StateError::io(path, "open"))?;
        if !about.is_file() {
            return Err(malformed("it is not a regular file".to_owned()));
        }
        let mut file = File::open(path).map_err(StateError::io(path, "open"))?;
        let length = file.metadata().map_err(StateError::io(path, "read"))?.len();
        let text = header::read(&mut file, length)
            .map_err(StateError::io(path, "read"))?
            .map_err(malformed)?;
        let start = 8 + text.len() as u64;
        let header = Header::parse(&text, length - start).map_err(malformed)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            start,
            header,
        })
    }

    /// Returns the metadata: the strings that were given when the file was saved, and `format` and `version`.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.header.metadata
    }

    /// Returns all names, tied ones included.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let names = self.header.tensors.keys().chain(self.header.ties.keys());
        names.map(String::as_str)
    }

    /// Returns the element type and shape of the tensor of this name.
    pub fn spec(&self, name: &str) -> Option<TensorSpec> {
        self.header.get(name).map(spec)
    }

    /// Reads the tensor of this name. Returns `None` if the file does not have it.
    ///
    /// # Errors
    /// [`StateError::Keys`] if its elements are neither `f32` nor `f64`, [`StateError::Io`] if the disk fails.
    pub fn tensor(&mut self, name: &str) -> Result<Option<AnyTensor>, StateError> {
        let Some(stored) = self.header.get(name) else {
            return Ok(None);
        };
        let shape = &stored.shape[..];
        let tensor = match stored.dtype {
            Dtype::F32 => {
                let mut array = ArrayD::<f32>::zeros(shape);
                self.copy_to(name, AnyViewMut::F32(array.view_mut()))?;
                array.into()
            }
            Dtype::F64 => {
                let mut array = ArrayD::<f64>::zeros(shape);
                self.copy_to(name, AnyViewMut::F64(array.view_mut()))?;
                array.into()
            }
            _ => {
                return Err(StateError::keys(
                    Some(&self.path),
                    self.unsupported(&[name]),
                ));
            }
        };
        Ok(Some(tensor))
    }

    /// Reads all tensors.
    ///
    /// # Errors
    /// The errors of [`tensor`](Self::tensor); tensors of other element types are all named.
    pub fn state_dict(&mut self) -> Result<StateDict, StateError> {
        self.part("")
    }

    /// Reads the tensors whose names begin with `prefix` and a dot, without that prefix, like [`StateDict::part`].
    ///
    /// # Errors
    /// The errors of [`tensor`](Self::tensor); tensors of other element types are all named.
    pub fn part(&mut self, prefix: &str) -> Result<StateDict, StateError> {
        let names: Vec<String> = self
            .names()
            .filter(|name| strip(prefix, name).is_some())
            .map(str::to_owned)
            .collect();
        let borrowed: Vec<&str> = names.iter().map(String::as_str).collect();
        let unsupported = self.unsupported(&borrowed);
        if !unsupported.is_empty() {
            return Err(StateError::keys(Some(&self.path), unsupported));
        }
        let mut read: BTreeMap<&str, AnyTensor> = BTreeMap::new();
        let mut state = StateDict::new();
        for name in &borrowed {
            // Tied tensors are read once, and tied in memory too.
            let first = self.header.ties.get(*name).map(String::as_str);
            let tensor = match first.and_then(|first| read.get(first)) {
                Some(tensor) => tensor.clone(),
                None => self.read(name)?,
            };
            let short = strip(prefix, name).unwrap_or(name);
            state.insert(short, tensor.clone());
            read.insert(name, tensor);
        }
        Ok(state)
    }

    /// Loads the values into a module, or another [`Field`]. All of them are read before the first is copied, so they
    /// take their memory twice. See [`Stateful::load_state_dict`](crate::nn::Stateful::load_state_dict) for `strict`.
    ///
    /// # Errors
    /// The errors of [`Stateful::load_safetensors`](crate::nn::Stateful::load_safetensors).
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::{Parameter, StateDict, StateFile};
    ///
    /// let path = std::env::temp_dir().join(format!("load-{}.safetensors", std::process::id()));
    /// let mut state = StateDict::new();
    /// state.insert("0", array![1.0, 2.0]);
    /// state.save_safetensors(&path, &[])?;
    ///
    /// let mut model = (Parameter::new(array![0.0, 0.0]), Parameter::new(array![9.0]));
    /// let left = StateFile::open(&path)?.load_into(&mut model, false)?;
    /// assert_eq!(left.missing, ["1"]);
    /// assert_eq!(model.0.to_array(), array![1.0, 2.0]);
    /// # std::fs::remove_file(path).unwrap();
    /// # Ok::<(), pullback::nn::StateError>(())
    /// ```
    pub fn load_into(
        &mut self,
        tree: &mut (impl Field + ?Sized),
        strict: bool,
    ) -> Result<IncompatibleKeys, StateError> {
        load(tree, self, &ParameterPath::root(), strict)
    }

    /// Reads the elements of the tensor of this name into an array of its type and shape.
    fn copy_to(&mut self, name: &str, target: AnyViewMut<'_>) -> Result<(), StateError> {
        // INVARIANT: the callers pass names of the file.
        let stored = self.header.get(name).expect("a name of the file");
        let place = self.start + stored.begin;
        let copy = || {
            self.file.seek(SeekFrom::Start(place))?;
            elements::read(&mut self.file, target)
        };
        copy().map_err(StateError::io(&self.path, format!("read `{name}` from")))
    }

    fn unsupported(&self, names: &[&str]) -> Vec<Difference> {
        let stored = names
            .iter()
            .filter_map(|name| Some((name, self.header.get(name)?)));
        let others = stored.filter(|(_, stored)| {
            let dtype = stored.dtype;
            dtype != Dtype::F32 && dtype != Dtype::F64
        });
        let unsupported = others.map(|(name, stored)| Difference::Unsupported {
            key: (*name).to_owned(),
            found: spec(stored),
        });
        unsupported.collect()
    }
}

fn spec(stored: &Stored) -> TensorSpec {
    TensorSpec {
        dtype: stored.dtype.name.to_lowercase(),
        shape: stored.shape.clone(),
    }
}

impl Source for StateFile {
    fn path(&self) -> Option<&FilePath> {
        Some(&self.path)
    }

    fn names(&self) -> Vec<String> {
        // Tied names can be loaded too, but need not be.
        self.header.tensors.keys().cloned().collect()
    }

    fn spec(&self, name: &str) -> Option<TensorSpec> {
        StateFile::spec(self, name)
    }

    fn read(&mut self, name: &str) -> Result<AnyTensor, StateError> {
        let tensor = self.tensor(name)?;
        // INVARIANT: the callers pass names of the file.
        Ok(tensor.expect("a name of the file"))
    }
}

impl StateDict {
    /// Reads a safetensors file. [`StateFile`] can inspect it first, or read a part.
    ///
    /// # Errors
    /// The errors of [`StateFile::open`] and [`StateFile::state_dict`].
    pub fn load_safetensors(path: impl AsRef<FilePath>) -> Result<Self, StateError> {
        StateFile::open(path)?.state_dict()
    }
}
