//! The trait for saving and loading.

use std::path::Path as FilePath;

use crate::path::ParameterPath;
use crate::state::dict::StateDict;
use crate::state::error::StateError;
use crate::state::file::StateFile;
use crate::state::load::{IncompatibleKeys, load, state_dict};
use crate::state::random::{differences, random_state, set_random_state};
use crate::visit::Field;

/// Saving and loading of every [`Module`](crate::nn::Module) and every other [`Field`]: a parameter, a list, a tuple.
///
/// The state contains the values of all parameters, trained or frozen, and of the
/// [persistent](crate::nn::Buffer::persistent) buffers, under their dotted paths. It does not contain gradients,
/// modes, skipped fields, and [`RngState`](crate::nn::RngState)s, which the [`random_state`](Self::random_state)
/// contains.
///
/// A tied parameter is saved under each of its paths, as in PyTorch. In a file its elements are written once, under
/// the path that sorts first; `__metadata__` maps the other paths to it, in the format of `save_model` and
/// `load_model` of Python's `safetensors.torch`. To load it, one of its paths is enough; if the state has several,
/// the first is used.
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
    /// Returns the values under their dotted paths. They are a snapshot: a later change of the model does not change
    /// them, and copies the values that it changes.
    ///
    /// # Panics
    /// If two parts have the same path, which an entry `"a.b"` of a map can cause.
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

    /// Loads the values of a state in place. Gradients, hooks, ties and `requires_grad` stay.
    ///
    /// With `strict`, the state must have the same names as the tree. Without, names that only one of them has are
    /// skipped and returned. Shapes and element types must agree in either case.
    ///
    /// # Errors
    /// [`StateError::Keys`] with everything that does not fit. Nothing is changed then.
    fn load_state_dict(
        &mut self,
        state: &StateDict,
        strict: bool,
    ) -> Result<IncompatibleKeys, StateError> {
        load(self, &mut &*state, &ParameterPath::root(), strict)
    }

    /// Returns the [`RngState`](crate::nn::RngState) of all modules under their dotted paths, from which modules draw
    /// random numbers. [`save_checkpoint`](crate::nn::save_checkpoint) saves it too. Each is an `f64` tensor of four
    /// integers below 2³²: the upper and lower halves of the first seed, then those of the number of calls.
    ///
    /// # Panics
    /// If two modules with seeds have the same path.
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

    /// Loads a [`random_state`](Self::random_state), so that the same random numbers are drawn as after it was
    /// returned.
    ///
    /// # Errors
    /// [`StateError::Keys`] with everything that does not fit. Nothing is changed then.
    fn load_random_state(&mut self, state: &StateDict) -> Result<(), StateError> {
        let root = ParameterPath::root();
        let differences = differences(self, state, &root);
        if !differences.is_empty() {
            return Err(StateError::keys(None, differences));
        }
        set_random_state(self, state, &root);
        Ok(())
    }

    /// Writes the state to a safetensors file, which Python's `safetensors` can read. An existing file is replaced
    /// after the new one is completely on the disk; see [`StateDict::save_safetensors`].
    ///
    /// # Panics
    /// If two parts have the same path, like [`state_dict`](Self::state_dict).
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

    /// Loads the values of a safetensors file. All of them are read before the first is copied, so they take their
    /// memory twice. The file must have the same names as the tree; [`StateFile::load_into`] can skip names.
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
