//! The batches of one epoch.

use std::fmt;
use std::iter::FusedIterator;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::collate::Collate;
use super::dataset::Dataset;
use super::error::{BoxError, DataError, Panicked};
use super::prefetch::Prefetched;

/// The batches of one epoch: see [`DataLoader::epoch`](super::DataLoader::epoch). Its length is exact, and
/// [`nth`](Iterator::nth) and [`skip`](Iterator::skip) do not read what they pass over, unless it has been
/// made ahead.
///
/// ```
/// use pullback::data::{DataLoader, from_fn};
///
/// let mut batches = DataLoader::new(from_fn(10, Ok)).batch_size(4).epoch(0);
/// assert_eq!(batches.len(), 3);
/// assert_eq!(batches.nth(1).unwrap().unwrap(), [4, 5, 6, 7]);
/// assert_eq!(batches.len(), 1);
/// ```
pub struct Batches<D: Dataset, C: Collate<D::Item>> {
    source: Arc<Source<D, C>>,
    /// Its `batches` are those to come.
    plan: Plan,
    prefetched: Option<Prefetched<C::Batch>>,
}

impl<D: Dataset, C: Collate<D::Item>> Batches<D, C> {
    pub(super) fn new(
        source: Arc<Source<D, C>>,
        plan: Plan,
        prefetched: Option<Prefetched<C::Batch>>,
    ) -> Self {
        Self {
            source,
            plan,
            prefetched,
        }
    }
}

impl<D: Dataset, C: Collate<D::Item>> Iterator for Batches<D, C> {
    type Item = Result<C::Batch, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.plan.batches.next()?;
        Some(match &mut self.prefetched {
            Some(prefetched) => prefetched.next(),
            // Nobody else can end it.
            None => self.source.batch(&self.plan, batch, || false)?,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.plan.batches.size_hint()
    }

    fn nth(&mut self, count: usize) -> Option<Self::Item> {
        for _ in 0..count.min(self.len()) {
            self.plan.batches.next();
            if let Some(prefetched) = &mut self.prefetched {
                drop(prefetched.next());
            }
        }
        self.next()
    }
}

impl<D: Dataset, C: Collate<D::Item>> ExactSizeIterator for Batches<D, C> {}

impl<D: Dataset, C: Collate<D::Item>> FusedIterator for Batches<D, C> {}

impl<D: Dataset, C: Collate<D::Item>> fmt::Debug for Batches<D, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches")
            .field("epoch", &self.plan.epoch)
            .field("left", &self.plan.batches)
            .finish_non_exhaustive()
    }
}

/// Which items an epoch consists of, and which of its batches are wanted.
#[derive(Clone)]
pub(super) struct Plan {
    pub(super) indices: Indices,
    pub(super) epoch: u64,
    pub(super) batch_size: usize,
    pub(super) batches: Range<usize>,
}

#[derive(Clone)]
pub(super) enum Indices {
    /// All below a length, in order, without a list of them.
    All(usize),
    Listed(Arc<[usize]>),
}

impl Indices {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::All(len) => *len,
            Self::Listed(indices) => indices.len(),
        }
    }
}

impl Plan {
    /// The items of a batch.
    fn indices_of(&self, batch: usize) -> Vec<usize> {
        let start = batch * self.batch_size;
        let end = start
            .saturating_add(self.batch_size)
            .min(self.indices.len());
        match &self.indices {
            Indices::All(_) => (start..end).collect(),
            Indices::Listed(indices) => indices[start..end].to_vec(),
        }
    }
}

/// What batches are made of and how, shared by the threads that make them.
pub(super) struct Source<D, C> {
    pub(super) dataset: D,
    pub(super) collate: C,
}

impl<D: Dataset, C: Collate<D::Item>> Source<D, C> {
    /// Reads and puts together one batch; `None` if `ended` says so between two items.
    pub(super) fn batch(
        &self,
        plan: &Plan,
        batch: usize,
        ended: impl Fn() -> bool,
    ) -> Option<Result<C::Batch, DataError>> {
        let indices = plan.indices_of(batch);
        let mut items = Vec::with_capacity(indices.len());
        for &index in &indices {
            if ended() {
                return None;
            }
            match self.item(index, plan.epoch) {
                Ok(item) => items.push(item),
                Err(error) => return Some(Err(error)),
            }
        }
        let batch = caught(|| self.collate.collate(items));
        Some(batch.map_err(|source| DataError::Collate { indices, source }))
    }

    fn item(&self, index: usize, epoch: u64) -> Result<D::Item, DataError> {
        let len = self.dataset.len();
        if index >= len {
            return Err(DataError::OutOfBounds { index, len });
        }
        let item = caught(|| self.dataset.get_in_epoch(index, epoch));
        item.map_err(|source| DataError::Item { index, source })
    }
}

/// Makes a panic an error, on the loop's own thread too: what happens must not depend on who makes the
/// batch. `f` only has shared references, to what other threads might use after a panic just as well.
fn caught<T>(f: impl FnOnce() -> Result<T, BoxError>) -> Result<T, BoxError> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|payload| Err(Panicked::new(&*payload).into()))
}
