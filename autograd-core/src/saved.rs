//! Saved tensors of nodes, and hooks that pack and unpack them.
//!
//! # Note [Packing]
//! Inside [`saved_tensors_hooks`], `pack` is called with each tensor that a node would save, and the node saves its
//! result; `unpack` makes a tensor of that result when the node runs, of the same shape and element type. Both run
//! without recording and without hooks.

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

/// A saved tensor: its buffer, or the result of `pack`. See Note [No cycles] in `tape`.
pub enum Saved<T> {
    #[doc(hidden)]
    Plain(Buffer<T>),
    #[doc(hidden)]
    Packed(Arc<Packed>),
}

/// The saved tensors of a list.
pub type SavedList<T> = Box<[Saved<T>]>;

/// Saves a tensor of either element type, and returns a function that restores it as a constant.
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

/// A packed tensor.
#[doc(hidden)]
pub struct Packed {
    shape: Shape,
    /// `Some` until it is dropped.
    unpack: Option<Unpack>,
}

/// Returns the unpacked tensor, or the reason why that failed.
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

    /// Describes the value for display.
    pub(crate) fn info(&self) -> SavedInfo {
        match self {
            Self::Plain(buffer) => SavedInfo::tensor(buffer),
            Self::Packed(packed) => SavedInfo::packed::<T>(&packed.shape),
        }
    }

    /// Returns the buffer of the saved tensor, and whether it was packed; or the reason why unpacking failed.
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
        // INVARIANT: taken only in `drop`.
        let unpack = self.unpack.as_ref().expect("`Some` until it is dropped");
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

/// Hooks that pack saved tensors.
pub(crate) trait SavedHooks: Send + Sync {
    /// Packs `tensor`, and returns a function that unpacks it.
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

/// Runs code of the hooks: nothing that it saves is packed, and nothing is recorded.
fn without_hooks<R>(body: impl FnOnce() -> R) -> R {
    let _packing = Scoped::set(&PACKING, false);
    no_grad(body)
}

/// Runs `body`, in which saved tensors are packed by `pack`, and unpacked by `unpack` when a backward pass needs them:
/// they may be on disk meanwhile, or compressed.
///
/// `pack` is called with each saved tensor, as a constant; `unpack` with the result of `pack`, each time that the node
/// runs, and returns a tensor of the same shape and element type, or a `Result` of one. Of nested calls the innermost
/// applies. Tensors that no backward function needs are neither saved nor packed.
///
/// A backward pass fails, and changes nothing, if `unpack` fails or panics.
///
/// This example saves tensors in temporary files, which are removed with the nodes:
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
///         let tensor = tensor.to_tensor::<f64>().unwrap();
///         let bytes: Vec<u8> = tensor.view().iter().flat_map(|x| x.to_le_bytes()).collect();
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

/// The result of `unpack` of [`saved_tensors_hooks`]: a tensor, or a `Result` of one.
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
