//! Data sets made of others.

use std::fmt;

use rand_xoshiro::Xoshiro256PlusPlus;

use super::dataset::Dataset;
use super::error::BoxError;
use super::order;

/// What [`Dataset::map`] makes.
///
/// ```
/// use pullback::data::{Dataset, Map, from_fn};
///
/// let halves: Map<_, _> = from_fn(10, Ok).map(|x| x as f64 / 2.0);
/// assert_eq!((halves.len(), halves.get(3).unwrap()), (10, 1.5));
/// ```
#[derive(Clone)]
pub struct Map<D, F> {
    pub(super) dataset: D,
    pub(super) f: F,
}

impl<D: Dataset, B, F: Fn(D::Item) -> B> Dataset for Map<D, F> {
    type Item = B;

    fn len(&self) -> usize {
        self.dataset.len()
    }

    fn get(&self, index: usize) -> Result<B, BoxError> {
        self.dataset.get(index).map(&self.f)
    }

    fn get_in_epoch(&self, index: usize, epoch: u64) -> Result<B, BoxError> {
        self.dataset.get_in_epoch(index, epoch).map(&self.f)
    }
}

/// What [`Dataset::try_map`] makes.
///
/// ```
/// use pullback::data::{Dataset, TryMap, from_fn};
///
/// let numbers: TryMap<_, _> = from_fn(2, |index| Ok(["12", "x"][index])).try_map(|text| Ok(text.parse::<i32>()?));
/// assert!(numbers.get(0).is_ok_and(|number| number == 12) && numbers.get(1).is_err());
/// ```
#[derive(Clone)]
pub struct TryMap<D, F> {
    pub(super) dataset: D,
    pub(super) f: F,
}

impl<D: Dataset, B, F: Fn(D::Item) -> Result<B, BoxError>> Dataset for TryMap<D, F> {
    type Item = B;

    fn len(&self) -> usize {
        self.dataset.len()
    }

    fn get(&self, index: usize) -> Result<B, BoxError> {
        self.dataset.get(index).and_then(&self.f)
    }

    fn get_in_epoch(&self, index: usize, epoch: u64) -> Result<B, BoxError> {
        self.dataset.get_in_epoch(index, epoch).and_then(&self.f)
    }
}

/// What [`Dataset::augment`] makes.
///
/// ```
/// use pullback::data::{Augment, DataLoader, from_fn, Dataset};
///
/// use rand::RngExt;
///
/// let noisy: Augment<_, _> =
///     from_fn(10, |index| Ok(index as f64)).augment(7, |x, random| x + random.random_range(-0.1..0.1));
/// let loader = DataLoader::new(noisy).batch_size(10);
/// let batch = |epoch| loader.epoch(epoch).next().unwrap().unwrap();
/// assert_eq!(batch(1), batch(1));
/// assert_ne!(batch(1), batch(2));
/// ```
#[derive(Clone)]
pub struct Augment<D, F> {
    pub(super) dataset: D,
    pub(super) seed: u64,
    pub(super) f: F,
}

impl<D: Dataset, B, F: Fn(D::Item, &mut Xoshiro256PlusPlus) -> B> Dataset for Augment<D, F> {
    type Item = B;

    fn len(&self) -> usize {
        self.dataset.len()
    }

    fn get(&self, index: usize) -> Result<B, BoxError> {
        self.get_in_epoch(index, 0)
    }

    fn get_in_epoch(&self, index: usize, epoch: u64) -> Result<B, BoxError> {
        let item = self.dataset.get_in_epoch(index, epoch)?;
        let mut random = order::generator_of_item(self.seed, epoch, index);
        Ok((self.f)(item, &mut random))
    }
}

macro_rules! debug_without_function {
    ($($name:ident),*) => {$(
        impl<D: fmt::Debug, F> fmt::Debug for $name<D, F> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut shown = f.debug_struct(stringify!($name));
                shown.field("dataset", &self.dataset).finish_non_exhaustive()
            }
        }
    )*};
}

debug_without_function!(Map, TryMap, Augment);

/// Some items of a data set: see [`Dataset::subset`] and [`Dataset::random_split`].
///
/// ```
/// use pullback::data::{Dataset, Subset, from_fn};
///
/// let odd: Subset<_> = from_fn(6, |index| Ok(index * 10)).subset(vec![1, 3, 5]);
/// assert_eq!((odd.len(), odd.get(2).unwrap()), (3, 50));
/// ```
#[derive(Clone, Debug)]
pub struct Subset<D> {
    dataset: D,
    indices: Vec<usize>,
}

impl<D: Dataset> Subset<D> {
    #[track_caller]
    pub(super) fn new(dataset: D, indices: Vec<usize>) -> Self {
        let len = dataset.len();
        if let Some(index) = indices.iter().find(|index| **index >= len) {
            panic!("subset with the index {index} of a data set of length {len}: it is outside");
        }
        Self { dataset, indices }
    }

    /// Where its items are in the data set that it is a part of.
    ///
    /// ```
    /// use pullback::data::{Dataset, from_fn};
    ///
    /// let (training, test) = from_fn(10, Ok).random_split(0.8, 1);
    /// let mut all = [training.indices(), test.indices()].concat();
    /// all.sort_unstable();
    /// assert_eq!(all, (0..10).collect::<Vec<usize>>());
    /// ```
    pub fn indices(&self) -> &[usize] {
        &self.indices
    }
}

impl<D: Dataset> Dataset for Subset<D> {
    type Item = D::Item;

    fn len(&self) -> usize {
        self.indices.len()
    }

    fn get(&self, index: usize) -> Result<D::Item, BoxError> {
        self.dataset.get(self.indices[index])
    }

    fn get_in_epoch(&self, index: usize, epoch: u64) -> Result<D::Item, BoxError> {
        self.dataset.get_in_epoch(self.indices[index], epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::from_fn;
    use rand_core::Rng;

    #[test]
    fn every_adapter_passes_the_epoch_on() {
        let noise = from_fn(5, Ok).augment(3, |index, random| (index, random.next_u64()));
        let whole = (&noise).map(|item| item).try_map(Ok).subset(vec![4, 2]);
        for epoch in 0..3 {
            let direct = noise.get_in_epoch(2, epoch).unwrap();
            assert_eq!(whole.get_in_epoch(1, epoch).unwrap(), direct);
            let shared: Box<dyn Dataset<Item = (usize, u64)> + '_> = Box::new(&whole);
            assert_eq!(shared.get_in_epoch(1, epoch).unwrap(), direct);
        }
        assert_eq!(whole.get(1).unwrap(), noise.get_in_epoch(2, 0).unwrap());
    }

    #[test]
    fn what_augment_draws_differs_between_items_epochs_and_seeds() {
        let drawn = |seed, index, epoch| {
            let noise = from_fn(5, Ok).augment(seed, |_, random| random.next_u64());
            noise.get_in_epoch(index, epoch).unwrap()
        };
        let mut all = Vec::new();
        for seed in 0..4 {
            for index in 0..5 {
                all.extend((0..6).map(|epoch| drawn(seed, index, epoch)));
            }
        }
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn parts_of_a_split_are_the_whole() {
        for (len, fraction, expected) in [
            (10, 0.25, 3),
            (7, 0.0, 0),
            (7, 1.0, 7),
            (0, 0.5, 0),
            (1797, 0.8, 1438),
        ] {
            let (first, second) = from_fn(len, Ok).random_split(fraction, 9);
            assert_eq!(first.len(), expected);
            let mut all = [first.indices(), second.indices()].concat();
            all.sort_unstable();
            assert_eq!(all, (0..len).collect::<Vec<_>>());
        }
    }

    #[test]
    #[should_panic(expected = "random split with the fraction 1.5: it must be between 0 and 1")]
    fn a_fraction_is_a_fraction() {
        from_fn(3, Ok).random_split(1.5, 0);
    }

    #[test]
    #[should_panic(expected = "subset with the index 3 of a data set of length 3: it is outside")]
    fn a_subset_has_items_that_exist() {
        from_fn(3, Ok).subset(vec![0, 3]);
    }
}
