//! What a data set is.

use std::fmt;
use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;

use super::adapters::{Augment, Map, Subset, TryMap};
use super::error::BoxError;
use super::order;

/// Items that can be asked for by index: PyTorch's map-style data set.
///
/// Two methods are needed. Items may be read from files as they are asked for; a
/// [`DataLoader`](super::DataLoader) does that on threads of its own.
///
/// ```
/// use pullback::data::{BoxError, DataLoader, Dataset};
/// use pullback::ndarray::{Array1, array};
///
/// /// x and x².
/// struct Squares(usize);
///
/// impl Dataset for Squares {
///     type Item = (Array1<f32>, f32);
///
///     fn len(&self) -> usize {
///         self.0
///     }
///
///     fn get(&self, index: usize) -> Result<Self::Item, BoxError> {
///         let x = u16::try_from(index)?;
///         Ok((array![x.into()], f32::from(x) * f32::from(x)))
///     }
/// }
///
/// let (x, y) = DataLoader::new(Squares(3)).batch_size(3).epoch(0).next().unwrap().unwrap();
/// assert_eq!(x, array![[0.0], [1.0], [2.0]]);
/// assert_eq!(y, array![0.0, 1.0, 4.0]);
/// ```
pub trait Dataset {
    /// What there is at an index, often a tuple of arrays and labels.
    type Item;

    /// The number of items.
    ///
    /// ```
    /// use pullback::data::{Dataset, from_fn};
    ///
    /// assert_eq!(from_fn(5, Ok).len(), 5);
    /// ```
    fn len(&self) -> usize;

    /// The item at `index`, which is less than the length.
    ///
    /// # Errors
    /// Whatever keeps it from being read. A loader passes it on with the index.
    ///
    /// ```
    /// use pullback::data::{Dataset, from_fn};
    ///
    /// let squares = from_fn(5, |index| Ok(index * index));
    /// assert_eq!(squares.get(3).unwrap(), 9);
    /// ```
    fn get(&self, index: usize) -> Result<Self::Item, BoxError>;

    /// The item at `index` as epoch `epoch` sees it, which is what loaders ask for. It is the same in all
    /// epochs but for [`augment`](Self::augment).
    ///
    /// # Errors
    /// As [`get`](Self::get).
    ///
    /// ```
    /// use pullback::data::{Dataset, from_fn};
    ///
    /// use rand::RngExt;
    ///
    /// let plain = from_fn(5, |index| Ok(index as f64));
    /// assert_eq!(plain.get_in_epoch(3, 1).unwrap(), plain.get_in_epoch(3, 2).unwrap());
    /// let noisy = plain.augment(7, |x, random| x + random.random_range(-0.1..0.1));
    /// assert_ne!(noisy.get_in_epoch(3, 1).unwrap(), noisy.get_in_epoch(3, 2).unwrap());
    /// ```
    fn get_in_epoch(&self, index: usize, epoch: u64) -> Result<Self::Item, BoxError> {
        let _ = epoch;
        self.get(index)
    }

    /// Whether there is no item.
    ///
    /// ```
    /// use pullback::data::{Dataset, from_fn};
    ///
    /// let (all, none) = from_fn(5, Ok).random_split(1.0, 7);
    /// assert!(!all.is_empty() && none.is_empty());
    /// ```
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The data set of `f(item)`, computed when an item is asked for.
    ///
    /// ```
    /// use pullback::data::{Dataset, from_fn};
    ///
    /// let halves = from_fn(10, Ok).map(|x| x as f32 / 2.0);
    /// assert_eq!(halves.get(3).unwrap(), 1.5);
    /// ```
    fn map<B, F>(self, f: F) -> Map<Self, F>
    where
        Self: Sized,
        F: Fn(Self::Item) -> B,
    {
        Map { dataset: self, f }
    }

    /// As [`map`](Self::map), with a function that may fail.
    ///
    /// ```
    /// use pullback::data::{Dataset, from_fn};
    ///
    /// let lines = from_fn(2, |index| Ok(["12", "x"][index]));
    /// let numbers = lines.try_map(|line| Ok(line.parse::<i32>()?));
    /// assert_eq!(numbers.get(0).unwrap(), 12);
    /// assert_eq!(numbers.get(1).unwrap_err().to_string(), "invalid digit found in string");
    /// ```
    fn try_map<B, F>(self, f: F) -> TryMap<Self, F>
    where
        Self: Sized,
        F: Fn(Self::Item) -> Result<B, BoxError>,
    {
        TryMap { dataset: self, f }
    }

    /// The data set of `f(item, random)`: noise, crops and flips that are other ones in each epoch. The
    /// generator follows from `seed`, the epoch and the index alone, so that neither the order nor the
    /// number of threads matters. [`get`](Self::get) gives what epoch 0 sees.
    ///
    /// ```
    /// use pullback::data::{Dataset, from_fn};
    /// use rand::RngExt;
    ///
    /// let noisy = from_fn(10, |index| Ok(index as f64))
    ///     .augment(7, |x, random| x + random.random_range(-0.1..0.1));
    /// let [first, again, later] = [1, 1, 2].map(|epoch| noisy.get_in_epoch(3, epoch).unwrap());
    /// assert!((first - 3.0).abs() <= 0.1);
    /// assert_eq!(first, again);
    /// assert_ne!(first, later);
    /// ```
    fn augment<B, F>(self, seed: u64, f: F) -> Augment<Self, F>
    where
        Self: Sized,
        F: Fn(Self::Item, &mut Xoshiro256PlusPlus) -> B,
    {
        Augment {
            dataset: self,
            seed,
            f,
        }
    }

    /// The items at `indices`, in that order; an index may come several times.
    ///
    /// ```
    /// use pullback::data::{Dataset, from_fn};
    ///
    /// let even = from_fn(6, Ok).subset(vec![0, 2, 4]);
    /// assert_eq!((even.len(), even.get(2).unwrap()), (3, 4));
    /// ```
    ///
    /// # Panics
    /// If an index is not less than the length.
    #[track_caller]
    fn subset(self, indices: Vec<usize>) -> Subset<Self>
    where
        Self: Sized,
    {
        Subset::new(self, indices)
    }

    /// Two data sets without a common item, in an order that follows from `seed`: the first has `fraction`
    /// of the items, to the nearest whole number, the second the others. They share this one, nothing is
    /// copied.
    ///
    /// ```
    /// use pullback::data::{Dataset, from_fn};
    ///
    /// let (training, test) = from_fn(10, Ok).random_split(0.8, 1);
    /// assert_eq!((training.len(), test.len()), (8, 2));
    /// assert!(!training.indices().contains(&test.indices()[0]));
    /// ```
    ///
    /// # Panics
    /// If `fraction` is not between 0 and 1.
    #[track_caller]
    fn random_split(self, fraction: f64, seed: u64) -> (Subset<Arc<Self>>, Subset<Arc<Self>>)
    where
        Self: Sized,
    {
        let (first, second) = order::split(self.len(), fraction, seed);
        let shared = Arc::new(self);
        (
            Subset::new(Arc::clone(&shared), first),
            Subset::new(shared, second),
        )
    }
}

macro_rules! behind {
    ($($pointer:ty),*) => {$(
        impl<D: Dataset + ?Sized> Dataset for $pointer {
            type Item = D::Item;

            fn len(&self) -> usize {
                (**self).len()
            }

            fn get(&self, index: usize) -> Result<Self::Item, BoxError> {
                (**self).get(index)
            }

            fn get_in_epoch(&self, index: usize, epoch: u64) -> Result<Self::Item, BoxError> {
                (**self).get_in_epoch(index, epoch)
            }
        }
    )*};
}

behind!(&D, Box<D>, Arc<D>);

/// The data set of `len` items in which `f(index)` gives the item at an index.
///
/// ```
/// use pullback::data::{DataLoader, from_fn};
///
/// let files = ["Cargo.toml", "README.md"];
/// let texts = from_fn(files.len(), move |index| Ok(std::fs::read_to_string(files[index])?));
/// let batch = DataLoader::new(texts).batch_size(2).epoch(0).next().unwrap().unwrap();
/// assert_eq!(batch.len(), 2);
/// ```
pub fn from_fn<T, F: Fn(usize) -> Result<T, BoxError>>(len: usize, f: F) -> FromFn<F> {
    FromFn { len, f }
}

/// A data set that is a function: see [`from_fn`].
///
/// ```
/// use pullback::data::{Dataset, FromFn, from_fn};
///
/// let cubes: FromFn<_> = from_fn(5, |index| Ok(index.pow(3)));
/// assert_eq!((cubes.len(), cubes.get(2).unwrap()), (5, 8));
/// ```
#[derive(Clone)]
pub struct FromFn<F> {
    len: usize,
    f: F,
}

impl<F> fmt::Debug for FromFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("FromFn");
        shown.field("len", &self.len).finish_non_exhaustive()
    }
}

impl<T, F: Fn(usize) -> Result<T, BoxError>> Dataset for FromFn<F> {
    type Item = T;

    fn len(&self) -> usize {
        self.len
    }

    fn get(&self, index: usize) -> Result<T, BoxError> {
        (self.f)(index)
    }
}
