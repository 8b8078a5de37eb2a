//! Epochs cut into batches.

use std::fmt;
use std::sync::Arc;

use super::batches::{Batches, Indices, Plan, Source};
use super::collate::{Collate, Stack, Stacked};
use super::dataset::Dataset;
use super::order;
use super::prefetch::{self, Ahead, Prefetched};

/// Makes batches of a data set, epoch after epoch, in order or shuffled.
///
/// A loader keeps no state: [`epoch`](Self::epoch)`(k)` gives the same batches whenever it is called.
///
/// ```
/// use pullback::data::{ArrayDataset, DataLoader};
/// use pullback::ndarray::{Array2, array};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let rows = array![[0.0], [1.0], [2.0], [3.0], [4.0]];
/// let data = ArrayDataset::new(rows, vec!['a', 'b', 'c', 'd', 'e']);
/// let loader = DataLoader::new(data).batch_size(2);
/// let batches: Vec<(Array2<f64>, Vec<char>)> = loader.epoch(0).collect::<Result<_, _>>()?;
/// assert_eq!(batches[0], (array![[0.0], [1.0]], vec!['a', 'b']));
/// assert_eq!(batches[2], (array![[4.0]], vec!['e']));
///
/// let loader = loader.shuffle(1).drop_last(true).prefetch(2);
/// assert_eq!(loader.len(), 2);
/// let order = |epoch| -> String { loader.epoch(epoch).flat_map(|batch| batch.unwrap().1).collect() };
/// assert_eq!(order(7), order(7));
/// assert_ne!(order(7), order(8));
/// # Ok(())
/// # }
/// ```
pub struct DataLoader<D: Dataset, C: Collate<D::Item> = Stacked> {
    source: Arc<Source<D, C>>,
    batch_size: usize,
    drop_last: bool,
    order: Order,
    ahead: Ahead,
    /// Set where the types may go to other threads, so that others can be loaded without.
    start: Option<Start<D, C>>,
}

type Start<D, C> =
    fn(&Arc<Source<D, C>>, &Plan, Ahead) -> Prefetched<<C as Collate<<D as Dataset>::Item>>::Batch>;

#[derive(Clone)]
enum Order {
    Given,
    Shuffled { seed: u64 },
    Sampled(Arc<Sampler>),
}

type Sampler = dyn Fn(u64) -> Vec<usize> + Send + Sync;

impl<D: Dataset> DataLoader<D, Stacked>
where
    D::Item: Stack,
{
    /// A loader in order, of batches of one item, which are put together by [`Stack`].
    ///
    /// ```
    /// use pullback::data::{DataLoader, from_fn};
    /// use pullback::ndarray::array;
    ///
    /// let loader = DataLoader::new(from_fn(3, |index| Ok((index as f32, index)))).batch_size(2);
    /// let (x, labels) = loader.epoch(0).next().unwrap().unwrap();
    /// assert_eq!((x, labels), (array![0.0, 1.0], vec![0, 1]));
    /// ```
    pub fn new(dataset: D) -> Self {
        Self::with_collate(dataset, Stacked)
    }
}

impl<D: Dataset, C: Collate<D::Item>> DataLoader<D, C> {
    /// A loader that puts items together by a function of the user's, or another [`Collate`].
    ///
    /// ```
    /// use pullback::data::{DataLoader, from_fn};
    ///
    /// // Sentences of several lengths, padded to the longest.
    /// let sentences = from_fn(3, |index| Ok(vec![1; index + 1]));
    /// let loader = DataLoader::with_collate(sentences, |mut batch: Vec<Vec<i32>>| {
    ///     let longest = batch.iter().map(Vec::len).max().unwrap_or(0);
    ///     batch.iter_mut().for_each(|sentence| sentence.resize(longest, 0));
    ///     Ok(batch)
    /// });
    /// let batch = loader.batch_size(2).epoch(0).next().unwrap().unwrap();
    /// assert_eq!(batch, [[1, 0], [1, 1]]);
    /// ```
    pub fn with_collate(dataset: D, collate: C) -> Self {
        Self {
            source: Arc::new(Source { dataset, collate }),
            batch_size: 1,
            drop_last: false,
            order: Order::Given,
            ahead: Ahead::default(),
            start: None,
        }
    }

    /// The number of items in a batch; the last may have fewer.
    ///
    /// ```
    /// use pullback::data::{DataLoader, from_fn};
    ///
    /// let loader = DataLoader::new(from_fn(10, Ok)).batch_size(4);
    /// let sizes: Vec<usize> = loader.epoch(0).map(|batch| batch.unwrap().len()).collect();
    /// assert_eq!(sizes, [4, 4, 2]);
    /// ```
    ///
    /// # Panics
    /// If it is 0.
    #[track_caller]
    #[must_use]
    pub fn batch_size(mut self, batch_size: usize) -> Self {
        assert!(
            batch_size > 0,
            "DataLoader with the batch size 0: a batch has at least one item"
        );
        self.batch_size = batch_size;
        self
    }

    /// Leaves out the last batch of an epoch if it is not full.
    ///
    /// ```
    /// use pullback::data::{DataLoader, from_fn};
    ///
    /// let loader = DataLoader::new(from_fn(10, Ok)).batch_size(4).drop_last(true);
    /// assert!(loader.epoch(0).all(|batch| batch.unwrap().len() == 4));
    /// ```
    #[must_use]
    pub fn drop_last(mut self, drop_last: bool) -> Self {
        self.drop_last = drop_last;
        self
    }

    /// Each epoch in a random order, which follows from `seed` and the epoch's number alone.
    ///
    /// ```
    /// use pullback::data::{DataLoader, from_fn};
    ///
    /// let order = |seed, epoch| -> Vec<usize> {
    ///     let loader = DataLoader::new(from_fn(10, Ok)).shuffle(seed);
    ///     loader.epoch(epoch).flat_map(Result::unwrap).collect()
    /// };
    /// assert_eq!(order(1, 4), order(1, 4));
    /// assert_ne!(order(1, 4), order(1, 5));
    /// assert_ne!(order(1, 4), order(2, 4));
    /// ```
    #[must_use]
    pub fn shuffle(mut self, seed: u64) -> Self {
        self.order = Order::Shuffled { seed };
        self
    }

    /// Each epoch over the indices that `sampler` gives for its number: any order, any of the items, as
    /// often as wanted. So that runs can be resumed, let them follow from the number alone.
    ///
    /// ```
    /// use pullback::data::{DataLoader, from_fn};
    ///
    /// // Every second item, others in odd epochs.
    /// let loader = DataLoader::new(from_fn(6, Ok))
    ///     .batch_size(3)
    ///     .sampler(|epoch| (0..6).filter(|index| index % 2 == epoch as usize % 2).collect());
    /// assert_eq!(loader.epoch(0).next().unwrap().unwrap(), [0, 2, 4]);
    /// assert_eq!(loader.epoch(1).next().unwrap().unwrap(), [1, 3, 5]);
    /// ```
    #[must_use]
    pub fn sampler(mut self, sampler: impl Fn(u64) -> Vec<usize> + Send + Sync + 'static) -> Self {
        self.order = Order::Sampled(Arc::new(sampler));
        self
    }

    /// The data set.
    ///
    /// ```
    /// use pullback::data::{DataLoader, Dataset, from_fn};
    ///
    /// assert_eq!(DataLoader::new(from_fn(10, Ok)).dataset().len(), 10);
    /// ```
    pub fn dataset(&self) -> &D {
        &self.source.dataset
    }

    /// The number of batches in an epoch; under a [`sampler`](Self::sampler), in epoch 0.
    ///
    /// ```
    /// use pullback::data::{DataLoader, from_fn};
    ///
    /// let loader = DataLoader::new(from_fn(10, Ok)).batch_size(4);
    /// assert_eq!(loader.len(), 3);
    /// assert_eq!(loader.drop_last(true).len(), 2);
    /// ```
    pub fn len(&self) -> usize {
        let items = match &self.order {
            Order::Given | Order::Shuffled { .. } => self.source.dataset.len(),
            Order::Sampled(sampler) => sampler(0).len(),
        };
        self.batches_of(items)
    }

    /// Whether an epoch has no batch.
    ///
    /// ```
    /// use pullback::data::{DataLoader, from_fn};
    ///
    /// let loader = DataLoader::new(from_fn(3, Ok)).batch_size(4);
    /// assert!(!loader.is_empty());
    /// assert!(loader.drop_last(true).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The batches of epoch `epoch`. Training loops count epochs from 1 or from 0, as they like.
    ///
    /// A batch with an item that cannot be read is an error that names the item; so is a panic of the data
    /// set. The batches after it are not touched by that: `?` ends a loop, `filter_map(Result::ok)` leaves
    /// such batches out.
    ///
    /// ```
    /// use pullback::data::{DataError, DataLoader, from_fn};
    ///
    /// fn sum(loader: &DataLoader<impl pullback::data::Dataset<Item = usize>>) -> Result<usize, DataError> {
    ///     let mut sum = 0;
    ///     for batch in loader.epoch(0) {
    ///         sum += batch?.iter().sum::<usize>();
    ///     }
    ///     Ok(sum)
    /// }
    ///
    /// assert_eq!(sum(&DataLoader::new(from_fn(5, Ok)).batch_size(2)).unwrap(), 10);
    /// let damaged = from_fn(5, |index| if index == 3 { Err("damaged".into()) } else { Ok(index) });
    /// assert!(sum(&DataLoader::new(damaged)).is_err());
    /// ```
    ///
    /// # Panics
    /// If the system refuses a thread for [`prefetch`](Self::prefetch).
    #[track_caller]
    pub fn epoch(&self, epoch: u64) -> Batches<D, C> {
        self.epoch_from(epoch, 0)
    }

    /// As [`epoch`](Self::epoch), without its first batches, which are not read: for a run that is resumed
    /// in the middle of an epoch.
    ///
    /// ```
    /// use pullback::data::{DataLoader, from_fn};
    ///
    /// let loader = DataLoader::new(from_fn(100, Ok)).batch_size(8).shuffle(1).prefetch(2);
    /// let rest: Vec<_> = loader.epoch_from(3, 10).map(Result::unwrap).collect();
    /// assert_eq!(rest, loader.epoch(3).skip(10).map(Result::unwrap).collect::<Vec<_>>());
    /// ```
    ///
    /// # Panics
    /// As [`epoch`](Self::epoch).
    #[track_caller]
    pub fn epoch_from(&self, epoch: u64, first_batch: usize) -> Batches<D, C> {
        let len = self.source.dataset.len();
        let indices = match &self.order {
            Order::Given => Indices::All(len),
            Order::Shuffled { seed } => Indices::Listed(order::shuffled(len, *seed, epoch).into()),
            Order::Sampled(sampler) => Indices::Listed(sampler(epoch).into()),
        };
        let end = self.batches_of(indices.len());
        let plan = Plan {
            indices,
            epoch,
            batch_size: self.batch_size,
            batches: first_batch.min(end)..end,
        };
        let prefetched = self
            .start
            .map(|start| start(&self.source, &plan, self.ahead));
        Batches::new(Arc::clone(&self.source), plan, prefetched)
    }

    fn batches_of(&self, items: usize) -> usize {
        if self.drop_last {
            items / self.batch_size
        } else {
            items.div_ceil(self.batch_size)
        }
    }
}

impl<D, C> DataLoader<D, C>
where
    D: Dataset + Send + Sync + 'static,
    C: Collate<D::Item, Batch: Send> + Send + Sync + 'static,
{
    /// Makes up to `batches` batches ahead of the loop that uses them, on a thread of its own, or on
    /// several: [`workers`](Self::workers). With 0, the default, each is made when it is asked for. The
    /// batches are the same.
    ///
    /// The threads end with the iterator. One that is dropped in the middle of an epoch waits for the items
    /// that are being read, and reads no more.
    ///
    /// ```
    /// use pullback::data::{DataLoader, from_fn};
    ///
    /// let loader = DataLoader::new(from_fn(10, Ok)).batch_size(4).prefetch(2);
    /// let all: Vec<usize> = loader.epoch(0).flat_map(Result::unwrap).collect();
    /// assert_eq!(all, (0..10).collect::<Vec<_>>());
    /// ```
    #[must_use]
    pub fn prefetch(mut self, batches: usize) -> Self {
        self.ahead.batches = batches;
        self.with_threads()
    }

    /// Makes batches on so many threads, each whole batches: for items that are slow to read or to
    /// decode. At least one batch for each is made ahead. With 0, the default, there is one thread if
    /// [`prefetch`](Self::prefetch) asks for any.
    ///
    /// ```
    /// use pullback::data::{DataLoader, from_fn};
    ///
    /// let slow = from_fn(20, |index| {
    ///     std::thread::sleep(std::time::Duration::from_millis(1));
    ///     Ok(index)
    /// });
    /// let loader = DataLoader::new(slow).batch_size(4).workers(3);
    /// let all: Vec<usize> = loader.epoch(0).flat_map(Result::unwrap).collect();
    /// assert_eq!(all, (0..20).collect::<Vec<_>>());
    /// ```
    #[must_use]
    pub fn workers(mut self, threads: usize) -> Self {
        self.ahead.threads = threads;
        self.with_threads()
    }

    fn with_threads(mut self) -> Self {
        self.start = self.ahead.is_any().then_some(prefetch::start);
        self
    }
}

impl<D: Dataset, C: Collate<D::Item>> Clone for DataLoader<D, C> {
    /// Another loader of the same data set, which is shared.
    fn clone(&self) -> Self {
        Self {
            source: Arc::clone(&self.source),
            order: self.order.clone(),
            ..*self
        }
    }
}

impl<D: Dataset, C: Collate<D::Item>> fmt::Debug for DataLoader<D, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match &self.order {
            Order::Given => "in order".to_owned(),
            Order::Shuffled { seed } => format!("shuffled with the seed {seed}"),
            Order::Sampled(_) => "sampled".to_owned(),
        };
        f.debug_struct("DataLoader")
            .field("items", &self.source.dataset.len())
            .field("batch_size", &self.batch_size)
            .field("drop_last", &self.drop_last)
            .field("order", &order)
            .field("ahead", &self.ahead)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
