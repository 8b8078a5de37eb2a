//! What can be saved and loaded.

use std::path::Path as FilePath;

use crate::path::ParameterPath;
use crate::state::dict::StateDict;
use crate::state::error::StateError;
use crate::state::file::StateFile;
use crate::state::load::{IncompatibleKeys, load, state_dict};
use crate::state::random::{differences, random_state, set_random_state};
use crate::visit::Field;

/// Saving and loading, for every [`Module`](crate::nn::Module) and every other [`Field`]: a parameter, a
/// list, a tuple.
///
/// The state is the values of all parameters, trained or frozen, and of the buffers that are
/// [persistent](crate::nn::Buffer::persistent), under their dotted paths. Gradients, `train` or `eval`, and
/// fields that are skipped do not belong to it, nor do [`RngState`](crate::nn::RngState), which are the
/// [`random_state`](Self::random_state).
///
/// Tied parameters are there under each of their paths, as in PyTorch. In a file their elements are written
/// once, under the path that sorts first; `__metadata__` maps the other paths to it, as Python's
/// `safetensors.torch.save_model` does, whose `load_model` reads it. For loading one of their paths is enough,
/// and the first that the state has counts.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::{Parameter, Stateful};
///
/// let trained = vec![Parameter::new(array![1.0, 2.0]), Parameter::new(array![3.0, 4.0])];
/// let mut copy = vec![Parameter::new(array![0.0, 0.0]), Parameter::new(array![0.0, 0.0])];
/// copy.load_state_dict(&trained.state_dict(), true)?;
/// assert_eq!(copy[1].to_array(), array![3.0, 4.0]);
/// # Ok::<(), pullback::nn::StateError>(())
/// ```
pub trait Stateful: Field {
    /// Returns the values under dotted paths: a snapshot that no later change of the model touches. Nothing is copied
    /// before that change.
    ///
    /// # Panics
    /// If two parts have one path, as an entry `"a.b"` of a map can have.
    ///
    /// ```
    /// use pullback::ndarray::{Ix1, Ix2, array};
    /// use pullback::prelude::*;
    ///
    /// #[derive(Module)]
    /// struct Norm {
    ///     weight: Parameter<f32, Ix1>,
    ///     mean: Buffer<f32, Ix1>,
    /// }
    ///
    /// let norm = Norm { weight: Parameter::new(array![1.0]), mean: Buffer::new(array![0.0]) };
    /// let state = vec![norm].state_dict();
    /// assert_eq!(state.names().collect::<Vec<_>>(), ["0.mean", "0.weight"]);
    /// ```
    #[track_caller]
    fn state_dict(&self) -> StateDict {
        state_dict(self, &ParameterPath::root())
    }

    /// Takes the values of a state, in place: gradients, hooks, ties and `requires_grad` stay.
    ///
    /// With `strict` every path of the tree must be a name of the state and the other way round. Without, those
    /// that only one of them has are left alone and returned. Shapes and element types must fit either way.
    ///
    /// # Errors
    /// [`StateError::Keys`] with everything that does not fit. Then nothing is changed.
    fn load_state_dict(
        &mut self,
        state: &StateDict,
        strict: bool,
    ) -> Result<IncompatibleKeys, StateError> {
        load(self, &mut &*state, &ParameterPath::root(), strict)
    }

    /// Returns the [`RngState`](crate::nn::RngState) of all modules under their dotted paths: they decide what is
    /// drawn from now on. [`save_checkpoint`](crate::nn::save_checkpoint) saves it too. Each is four numbers, of
    /// 32 bits each: the upper and the lower half of the first seed, then those of the number of calls.
    ///
    /// # Panics
    /// If two modules have seeds with one path.
    ///
    /// ```
    /// use pullback::ndarray::Array1;
    /// use pullback::nn::{Dropout, Sequential};
    /// use pullback::prelude::*;
    ///
    /// let mut model = Sequential::new((Dropout::seeded(0.5, 7),));
    /// let state = model.random_state();
    /// assert_eq!(state.names().collect::<Vec<_>>(), ["0.seeds"]);
    ///
    /// let x = Tensor::from(Array1::<f32>::ones(64));
    /// let first = model.forward(&x).to_array();
    /// assert_ne!(model.forward(&x).to_array(), first);
    /// model.load_random_state(&state)?;
    /// assert_eq!(model.forward(&x).to_array(), first);
    /// # Ok::<(), pullback::nn::StateError>(())
    /// ```
    #[track_caller]
    fn random_state(&self) -> StateDict {
        random_state(self, &ParameterPath::root())
    }

    /// Continues drawing where [`random_state`](Self::random_state) was taken.
    ///
    /// # Errors
    /// [`StateError::Keys`] with everything that does not fit. Then nothing is changed.
    fn load_random_state(&mut self, state: &StateDict) -> Result<(), StateError> {
        let root = ParameterPath::root();
        let differences = differences(self, state, &root);
        if !differences.is_empty() {
            return Err(StateError::keys(None, differences));
        }
        set_random_state(self, state, &root);
        Ok(())
    }

    /// Writes the state into a safetensors file, which Python's `safetensors` can read. A file that is there is
    /// replaced only when the new one is whole and on the disk; see [`StateDict::save_safetensors`].
    ///
    /// # Panics
    /// As [`state_dict`](Self::state_dict).
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::{Parameter, Stateful};
    ///
    /// let path = std::env::temp_dir().join(format!("save-{}.safetensors", std::process::id()));
    /// let trained = vec![Parameter::new(array![3.0])];
    /// trained.save_safetensors(&path)?;
    ///
    /// let mut fresh = vec![Parameter::new(array![0.0])];
    /// fresh.load_safetensors(&path)?;
    /// assert_eq!(fresh[0].item(), 3.0);
    /// # std::fs::remove_file(path).unwrap();
    /// # Ok::<(), pullback::nn::StateError>(())
    /// ```
    #[track_caller]
    fn save_safetensors(&self, path: impl AsRef<FilePath>) -> Result<(), StateError> {
        self.state_dict().save_safetensors(path, &[])
    }

    /// Takes the values of a safetensors file, when all of them have been read: they are in memory once more
    /// until then. Every path of the tree must be in the file and the other way round; [`StateFile::load_into`] can
    /// leave some.
    ///
    /// # Errors
    /// [`StateError::Malformed`] for a damaged file, [`StateError::Keys`] with everything that does not fit,
    /// [`StateError::Io`] if the disk fails. Nothing is changed then.
    fn load_safetensors(&mut self, path: impl AsRef<FilePath>) -> Result<(), StateError> {
        StateFile::open(path)?.load_into(self, true)?;
        Ok(())
    }
}

impl<F: Field + ?Sized> Stateful for F {}
