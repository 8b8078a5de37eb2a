//! What a node saves of tensors for its backward, and the hooks through which it may go elsewhere.
//!
//! # Note [Packing]
//! Inside [`saved_tensors_hooks`] a tensor that a node would save goes through `pack` when the function is
//! applied, and the node saves what `pack` returns; `unpack` makes a tensor of it again when the node runs.
//! Shape and element type must be the former ones. Both run without recording, and outside any such hooks.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use ndarray::{Array, Dimension};

use crate::array::Buffer;
use crate::erased::AnyTensor;
use crate::tape::RawTensor;
use crate::tape::{SavedInfo, drop_held};
use crate::tensor::{Tensor, TensorD};
use crate::thread::{Scoped, current, no_grad};
use autograd_kernels::Element;
use autograd_kernels::Shape;

/// A saved tensor: its memory alone, or what `pack` made of it. See Note [No cycles] in `tape`.
pub enum Saved<T> {
    #[doc(hidden)]
    Plain(Buffer<T>),
    #[doc(hidden)]
    Packed(Arc<Packed>),
}

/// The saved tensors of a list.
pub type SavedList<T> = Box<[Saved<T>]>;

/// Saves a tensor of either element type; what comes back restores it, as a constant.
pub(crate) fn save(tensor: &AnyTensor) -> Unpack {
    fn save<T: Element>(tensor: &TensorD<T>) -> Unpack {
        let saved = Saved::new(tensor);
        Box::new(move || Ok(TensorD::constant(saved.clone().restore()?.0).into()))
    }
    match tensor {
        AnyTensor::F32(tensor) => save(tensor),
        AnyTensor::F64(tensor) => save(tensor),
    }
}

/// What `pack` made of a tensor.
#[doc(hidden)]
pub struct Packed {
    shape: Shape,
    /// There until it is dropped.
    unpack: Option<Unpack>,
}

/// Makes a tensor of what was packed, or says why that cannot be done.
pub(crate) type Unpack = Box<dyn Fn() -> Result<AnyTensor, String> + Send + Sync>;

impl<T: Element> Saved<T> {
    #[inline]
    pub(crate) fn new<D: Dimension>(tensor: &Tensor<T, D>) -> Self {
        Self::of(tensor.raw.buffer.clone())
    }

    pub(crate) fn from_array<D: Dimension>(array: Array<T, D>) -> Self {
        Self::of(Buffer::compact(array))
    }

    #[inline]
    fn of(buffer: Buffer<T>) -> Self {
        if PACKING.get() {
            Self::packed(buffer)
        } else {
            Self::Plain(buffer)
        }
    }

    #[cold]
    fn packed(buffer: Buffer<T>) -> Self {
        // INVARIANT: `PACKING` is set only while there are hooks.
        let hooks = current(&HOOKS).expect("hooks of a body");
        let shape = buffer.shape().clone();
        let tensor = TensorD::from_raw(RawTensor::new(buffer, None));
        let unpack = without_hooks(|| hooks.pack(AnyTensor::new(tensor)));
        let unpack = Some(unpack);
        Self::Packed(Arc::new(Packed { shape, unpack }))
    }

    /// What it is, for people.
    pub(crate) fn info(&self) -> SavedInfo {
        match self {
            Self::Plain(buffer) => SavedInfo::tensor(buffer),
            Self::Packed(packed) => SavedInfo::packed::<T>(&packed.shape),
        }
    }

    /// The saved tensor's memory, and whether it was packed; the error says why it cannot be had.
    #[inline]
    pub(crate) fn restore(self) -> Result<(Buffer<T>, bool), String> {
        match self {
            Self::Plain(buffer) => Ok((buffer, false)),
            Self::Packed(packed) => Ok((packed.restore()?, true)),
        }
    }
}

impl Packed {
    #[cold]
    fn restore<T: Element>(&self) -> Result<Buffer<T>, String> {
        // INVARIANT: taken in `drop` alone.
        let unpack = self.unpack.as_ref().expect("there until it is dropped");
        let tensor = without_hooks(unpack)?;
        if tensor.shape() != &self.shape[..] {
            let (expected, found) = (&self.shape, Shape::from(tensor.shape()));
            return Err(format!("`unpack` gave shape {found} for {expected}"));
        }
        let tensor = tensor.into_tensor::<T>();
        let tensor = tensor.ok_or("`unpack` gave another element type")?;
        Ok(tensor.raw.buffer)
    }
}

impl Drop for Packed {
    fn drop(&mut self) {
        drop_held(self.unpack.take());
    }
}

/// What tensors go through on their way into a node.
pub(crate) trait SavedHooks: Send + Sync {
    /// Packs `tensor`; what comes back unpacks it.
    fn pack(self: Arc<Self>, tensor: AnyTensor) -> Unpack;
}

thread_local! {
    /// Whether saved tensors are packed: read for each of them.
    pub(crate) static PACKING: Cell<bool> = const { Cell::new(false) };
    /// The innermost hooks.
    pub(crate) static HOOKS: Cell<Option<Arc<dyn SavedHooks>>> = const { Cell::new(None) };
}

/// Runs `body`; the tensors that functions applied in it save for their backward are packed by `hooks`.
pub(crate) fn with_saved_hooks<R>(hooks: Arc<dyn SavedHooks>, body: impl FnOnce() -> R) -> R {
    let _hooks = Scoped::set(&HOOKS, Some(hooks));
    let _packing = Scoped::set(&PACKING, true);
    body()
}

/// Runs code of the hooks: what it saves is not packed, and nothing is recorded.
fn without_hooks<R>(body: impl FnOnce() -> R) -> R {
    let _packing = Scoped::set(&PACKING, false);
    no_grad(body)
}

/// Runs `body`; what the functions applied in it save of tensors goes through `pack`, and comes back
/// through `unpack` when a backward pass needs it: on disk in between, say, or compressed.
///
/// `pack` gets each tensor that is saved, as a constant; `unpack` gets what `pack` gave, each time that
/// the node runs, and returns a tensor of the same shape and element type, or a `Result` of one. Of
/// nested calls the innermost applies. What no backward function asks for is not saved, hence not packed.
///
/// A backward pass fails, and changes nothing, if `unpack` fails or panics.
///
/// Saved tensors in temporary files, which are removed with the nodes that saved them:
///
/// ```
/// use pullback::ndarray::{ArrayD, array};
/// use pullback::{AnyTensor, Tensor, TensorD, saved_tensors_hooks};
/// use std::path::PathBuf;
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use std::{env, fs, io, process};
///
/// struct TemporaryFile { path: PathBuf, shape: Vec<usize> }
///
/// impl TemporaryFile {
///     fn write(tensor: &AnyTensor) -> io::Result<Self> {
///         static FILES: AtomicUsize = AtomicUsize::new(0);
///         let name = format!("saved-{}-{}", process::id(), FILES.fetch_add(1, Ordering::Relaxed));
///         let path = env::temp_dir().join(name);
///         let bytes: Vec<u8> = tensor.to_tensor::<f64>().unwrap().view().iter().flat_map(|x| x.to_le_bytes()).collect();
///         fs::write(&path, bytes)?;
///         Ok(Self { path, shape: tensor.shape().to_vec() })
///     }
///
///     fn read(&self) -> io::Result<AnyTensor> {
///         let bytes = fs::read(&self.path)?;
///         let elements = bytes.chunks_exact(8).map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap()));
///         let array = ArrayD::from_shape_vec(self.shape.clone(), elements.collect()).map_err(io::Error::other)?;
///         Ok(Tensor::from(array).into())
///     }
/// }
///
/// impl Drop for TemporaryFile {
///     fn drop(&mut self) {
///         let _ = fs::remove_file(&self.path);
///     }
/// }
///
/// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
/// let y = saved_tensors_hooks(
///     |tensor| TemporaryFile::write(&tensor).map_err(|error| error.to_string()),
///     |file| file.as_ref().map_err(Clone::clone)?.read().map_err(|error| error.to_string()),
///     || x.exp(),
/// );
/// y.sum().backward()?;
/// assert_eq!(x.grad(), Some(y.to_array()));
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn saved_tensors_hooks<P, U, R>(
    pack: impl Fn(AnyTensor) -> P + Send + Sync + 'static,
    unpack: impl Fn(&P) -> U + Send + Sync + 'static,
    body: impl FnOnce() -> R,
) -> R
where
    P: Send + Sync + 'static,
    U: Unpacked,
{
    let hooks = Closures {
        pack,
        unpack: move |packed: &P| unpack(packed).unpacked(),
    };
    with_saved_hooks(Arc::new(hooks), body)
}

/// What `unpack` of [`saved_tensors_hooks`] may give: a tensor, or a `Result` of one.
///
/// ```
/// use pullback::{ErrorKind, Tensor, saved_tensors_hooks};
/// use pullback::ndarray::array;
///
/// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
/// let found = saved_tensors_hooks(|tensor| tensor, Clone::clone, || x.exp().sum());
/// let lost = saved_tensors_hooks(|_| (), |()| Err("the disk is gone"), || x.exp().sum());
/// assert!(found.backward().is_ok());
/// assert!(matches!(lost.backward().unwrap_err().kind(), ErrorKind::Unpack { .. }));
/// ```
pub trait Unpacked {
    #[doc(hidden)]
    fn unpacked(self) -> Result<AnyTensor, String>;
}

impl Unpacked for AnyTensor {
    fn unpacked(self) -> Result<AnyTensor, String> {
        Ok(self)
    }
}

impl<E: fmt::Display> Unpacked for Result<AnyTensor, E> {
    fn unpacked(self) -> Result<AnyTensor, String> {
        self.map_err(|error| error.to_string())
    }
}

struct Closures<Pack, Unpack> {
    pack: Pack,
    unpack: Unpack,
}

impl<P, Pack, Unpack> SavedHooks for Closures<Pack, Unpack>
where
    P: Send + Sync + 'static,
    Pack: Fn(AnyTensor) -> P + Send + Sync + 'static,
    Unpack: Fn(&P) -> Result<AnyTensor, String> + Send + Sync + 'static,
{
    fn pack(self: Arc<Self>, tensor: AnyTensor) -> self::Unpack {
        let packed = (self.pack)(tensor);
        Box::new(move || (self.unpack)(&packed))
    }
}

impl<T> Clone for Saved<T> {
    #[inline]
    fn clone(&self) -> Self {
        match self {
            Self::Plain(buffer) => Self::Plain(buffer.clone()),
            Self::Packed(packed) => Self::Packed(Arc::clone(packed)),
        }
    }
}

impl<T> fmt::Debug for Saved<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain(_) => "Saved",
            Self::Packed(_) => "Saved(packed)",
        })
    }
}

impl fmt::Debug for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packed")
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}
