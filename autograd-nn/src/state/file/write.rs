//! Writing a state into a file.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::Path as FilePath;

use autograd_core::AnyTensor;
use autograd_core::ndarray::ArrayViewD;

use crate::atomic;
use crate::state::dict::StateDict;
use crate::state::error::StateError;
use crate::state::file::header::{FORMAT, LONGEST, VERSION, check_version, is_reserved};
use crate::state::file::stored::{Dtype, METADATA, Stored};
use crate::state::file::{elements, json};

impl StateDict {
    /// Writes a safetensors file, which Python's `safetensors` can read, with `metadata` beside the tensors. `format`
    /// and `version` are added unless the metadata have them. The same state gives the same bytes.
    ///
    /// The file is written under another name in the same folder, flushed to the disk and renamed. After an error
    /// before that, an existing file is unchanged. A process that is killed meanwhile leaves a file `.tmp-…` behind,
    /// which the next save of the same file removes (not on Windows, nor where the file system has no locks).
    ///
    /// Tensors that share all of their memory, such as tied parameters, are written once; the metadata map the other
    /// names to the first.
    ///
    /// # Errors
    /// [`StateError::Io`] if the disk is full or the folder cannot be written; [`StateError::Unwritable`] if a tensor
    /// is named `__metadata__`, or a string of the metadata is a tensor's name, which readers would take for a tie.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::StateDict;
    ///
    /// let path = std::env::temp_dir().join(format!("dict-{}.safetensors", std::process::id()));
    /// let mut state = StateDict::new();
    /// state.insert("mean", array![1.0_f32, 2.0]);
    /// state.save_safetensors(&path, &[("epoch", "3")])?;
    /// assert!(StateDict::load_safetensors(&path)?.contains("mean"));
    /// # std::fs::remove_file(path).unwrap();
    /// # Ok::<(), pullback::nn::StateError>(())
    /// ```
    pub fn save_safetensors(
        &self,
        path: impl AsRef<FilePath>,
        metadata: &[(&str, &str)],
    ) -> Result<(), StateError> {
        let path = path.as_ref();
        let unwritable = |reason| StateError::Unwritable {
            path: path.to_owned(),
            reason,
        };
        let layout = Layout::of(self, metadata).map_err(unwritable)?;
        let header = layout.header().map_err(unwritable)?;
        let write = |writer: &mut dyn Write| {
            writer.write_all(&(header.len() as u64).to_le_bytes())?;
            writer.write_all(&header)?;
            let mut tensors = layout.tensors.iter();
            tensors.try_for_each(|(_, _, tensor)| elements::write(writer, tensor))
        };
        atomic::replace(path, write).map_err(StateError::io(path, "write"))
    }
}

/// The contents of the file, in their order.
struct Layout<'a> {
    metadata: BTreeMap<&'a str, &'a str>,
    tensors: Vec<(&'a str, Stored, &'a AnyTensor)>,
}

impl<'a> Layout<'a> {
    fn of(state: &'a StateDict, metadata: &[(&'a str, &'a str)]) -> Result<Self, String> {
        if state.contains(METADATA) {
            return Err(format!("no tensor can be named `{METADATA}`"));
        }
        let mut all = BTreeMap::from([("format", FORMAT), ("version", VERSION)]);
        all.extend(metadata.iter().copied());
        check_version(all.get("format").copied(), all.get("version").copied())?;
        let mut first_with: HashMap<Memory, &str> = HashMap::new();
        let (mut ties, mut tensors) = (BTreeMap::new(), Vec::new());
        for (name, tensor) in state {
            let first = first_with.entry(Memory::of(tensor)).or_insert(name);
            let may_be_tied = !tensor.shape().contains(&0) && !all.contains_key(&name[..]);
            if *first != name && may_be_tied {
                ties.insert(&name[..], *first);
            } else {
                tensors.push((&name[..], stored(tensor), tensor));
            }
        }
        for (key, value) in &all {
            if !is_reserved(key) && state.contains(value) && !state.contains(key) {
                return Err(format!(
                    "the metadata map `{key}` to `{value}`, the name of a tensor: readers would take \
                     `{key}` for a tensor that is tied to it"
                ));
            }
        }
        all.extend(ties);
        // Larger elements first, so that all are aligned.
        tensors.sort_by_key(|(_, stored, _)| Reverse(stored.dtype.bits));
        let mut layout = Self {
            metadata: all,
            tensors,
        };
        layout.place();
        Ok(layout)
    }

    /// Places the tensors one after another.
    fn place(&mut self) {
        let mut place = 0;
        for (_, stored, _) in &mut self.tensors {
            let bytes = stored.shape.iter().product::<usize>() * stored.dtype.bits / 8;
            (stored.begin, stored.end) = (place, place + bytes as u64);
            place = stored.end;
        }
    }

    /// Returns the header's text, padded with blanks to align the elements.
    fn header(&self) -> Result<Vec<u8>, String> {
        let tensors = self.tensors.iter().map(|(name, stored, _)| (*name, stored));
        let text = json::text(&self.metadata, tensors);
        let mut text = text.map_err(|error| error.to_string())?;
        text.resize(text.len().next_multiple_of(8), b' ');
        if text.len() as u64 > LONGEST {
            let length = text.len();
            return Err(format!(
                "names and metadata take {length} bytes, more than {LONGEST}"
            ));
        }
        Ok(text)
    }
}

fn stored(tensor: &AnyTensor) -> Stored {
    let dtype = match tensor {
        AnyTensor::F32(_) => Dtype::F32,
        AnyTensor::F64(_) => Dtype::F64,
    };
    Stored {
        dtype,
        shape: tensor.shape().to_vec(),
        begin: 0,
        end: 0,
    }
}

/// Returns the memory of a tensor's elements.
#[derive(PartialEq, Eq, Hash)]
struct Memory {
    dtype: &'static str,
    address: usize,
    shape: Vec<usize>,
    strides: Vec<isize>,
}

impl Memory {
    fn of(tensor: &AnyTensor) -> Self {
        fn new<T>(dtype: &'static str, view: &ArrayViewD<T>) -> Memory {
            Memory {
                dtype,
                address: view.as_ptr().addr(),
                shape: view.shape().to_vec(),
                strides: view.strides().to_vec(),
            }
        }
        match tensor {
            AnyTensor::F32(tensor) => new("f32", &tensor.view()),
            AnyTensor::F64(tensor) => new("f64", &tensor.view()),
        }
    }
}
