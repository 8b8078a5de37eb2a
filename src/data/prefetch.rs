//! Batches made ahead, on threads of their own.
//!
//! # Note [Turns]
//!
//! Of `m` threads, the first makes the batches 0, m, 2m …, the second 1, m + 1, 2m + 1 …, each into a
//! channel of its own, and the loop takes from the channels in turn. So batches come in order without being
//! sorted, and no thread runs ahead of a slow one by more than its channel holds. A thread that has made a
//! batch waits in `send` until there is room: the batch that it holds counts as one ahead, and a channel
//! has one place less than it may be ahead.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use super::batches::{Plan, Source};
use super::collate::Collate;
use super::dataset::Dataset;
use super::error::DataError;

/// How far ahead, and on how many threads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ahead {
    pub(super) batches: usize,
    pub(super) threads: usize,
}

impl Ahead {
    pub(super) fn is_any(self) -> bool {
        self.batches > 0 || self.threads > 0
    }

    /// For each thread, how many batches it may be ahead. There are no more threads than `batches`.
    fn shares(self, batches: usize) -> Vec<usize> {
        let threads = self.threads.max(1);
        let ahead = self.batches.max(threads).min(batches);
        let threads = threads.min(ahead);
        let share = |thread| ahead / threads + usize::from(thread < ahead % threads);
        (0..threads).map(share).collect()
    }
}

/// The batches that threads make ahead. When it is dropped, they have ended.
pub(super) struct Prefetched<B> {
    workers: Vec<Worker<B>>,
    /// Whose turn it is. See Note [Turns].
    turn: usize,
    ended: Arc<AtomicBool>,
}

struct Worker<B> {
    made: Receiver<Result<B, DataError>>,
    /// None when it has panicked.
    thread: Option<JoinHandle<()>>,
}

/// Starts the threads.
///
/// # Panics
/// If the system refuses one.
#[track_caller]
pub(super) fn start<D, C>(
    source: &Arc<Source<D, C>>,
    plan: &Plan,
    ahead: Ahead,
) -> Prefetched<C::Batch>
where
    D: Dataset + Send + Sync + 'static,
    C: Collate<D::Item, Batch: Send> + Send + Sync + 'static,
{
    let shares = ahead.shares(plan.batches.len());
    let mut prefetched = Prefetched {
        workers: Vec::with_capacity(shares.len()),
        turn: 0,
        ended: Arc::default(),
    };
    for (number, &share) in shares.iter().enumerate() {
        let (sender, made) = sync_channel(share - 1);
        let turns = Turns {
            source: Arc::clone(source),
            plan: plan.clone(),
            first: number,
            step: shares.len(),
            ended: Arc::clone(&prefetched.ended),
        };
        let builder = Builder::new().name(format!("pullback data {number}"));
        match builder.spawn(move || turns.run(&sender)) {
            Ok(thread) => prefetched.workers.push(Worker {
                made,
                thread: Some(thread),
            }),
            // Those that have started end with `prefetched`.
            Err(error) => panic!("no thread for a DataLoader to make batches ahead: {error}"),
        }
    }
    prefetched
}

/// What one thread does.
struct Turns<D, C> {
    source: Arc<Source<D, C>>,
    plan: Plan,
    first: usize,
    step: usize,
    ended: Arc<AtomicBool>,
}

impl<D: Dataset, C: Collate<D::Item>> Turns<D, C> {
    fn run(self, sender: &SyncSender<Result<C::Batch, DataError>>) {
        let ended = || self.ended.load(Ordering::Relaxed);
        for batch in self
            .plan
            .batches
            .clone()
            .skip(self.first)
            .step_by(self.step)
        {
            let Some(made) = self.source.batch(&self.plan, batch, ended) else {
                return;
            };
            // Nobody is there any more to take it.
            if sender.send(made).is_err() {
                return;
            }
        }
    }
}

impl<B> Prefetched<B> {
    /// The next batch. It is called as often as there are batches in the plan.
    pub(super) fn next(&mut self) -> Result<B, DataError> {
        let turn = self.turn;
        self.turn = (turn + 1) % self.workers.len();
        if let Ok(made) = self.workers[turn].made.recv() {
            return made;
        }
        // The thread is gone although it owed a batch: a value of the user's has panicked when it was dropped,
        // the one thing that it does not catch.
        match self.workers[turn].thread.take().map(JoinHandle::join) {
            Some(Err(payload)) => resume_unwind(payload),
            _ => panic!("a thread that made batches ahead has panicked"),
        }
    }
}

impl<B> Drop for Prefetched<B> {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // All channels first: a thread that waits in `send` must find that nobody listens.
        let (channels, threads): (Vec<_>, Vec<_>) = self
            .workers
            .drain(..)
            .map(|worker| (worker.made, worker.thread))
            .unzip();
        drop(channels);
        for thread in threads.into_iter().flatten() {
            // A thread catches the panics of the user's code and passes them on. What remains is the panic of a
            // value that is dropped, and nobody asks for the batches of that thread any more; its message has
            // been printed.
            drop(thread.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_what_is_ahead() {
        let shares = |batches, threads, of| Ahead { batches, threads }.shares(of);
        assert_eq!(shares(4, 0, 10), [4]);
        assert_eq!(shares(5, 3, 10), [2, 2, 1]);
        assert_eq!(shares(0, 3, 10), [1, 1, 1]);
        assert_eq!(shares(2, 4, 10), [1, 1, 1, 1]);
        assert_eq!(shares(4, 4, 2), [1, 1]);
        assert_eq!(shares(4, 2, 0), []);
    }
}
