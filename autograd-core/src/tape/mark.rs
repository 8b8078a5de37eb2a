//! Marks on nodes: the pass that visits a node, and the node's index in that pass.
//!
//! # Note [Marks]
//! A pass has a list of the nodes that it visits, with their gradients and whether they are needed. To find a node in
//! the list, the pass marks the node with its own number and the index: one atomic word instead of a hash map. A node
//! with the mark of another live pass (on another thread, or an outer pass whose backward function started this one) is
//! looked up in a map instead, so any number of passes can visit the same nodes at once. A pass removes its marks when
//! it ends, however it ends.
//!
//! No memory but the word itself is shared through it: a pass only trusts its own marks. So nothing needs to be ordered
//! with it. The test below tries every interleaving of two passes, with the reorderings that relaxed atomics allow.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The atomic word of a mark: std's, or the test's.
pub(crate) trait Word: Default {
    /// Loads the word.
    fn get(&self) -> u64;

    /// Stores `new`.
    fn set(&self, new: u64);

    /// Stores `new` if the word is `expected`, and returns whether it was.
    fn exchange(&self, expected: u64, new: u64) -> bool;
}

impl Word for AtomicU64 {
    #[inline]
    fn get(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }

    #[inline]
    fn set(&self, new: u64) {
        self.store(new, Ordering::Relaxed);
    }

    #[inline]
    fn exchange(&self, expected: u64, new: u64) -> bool {
        self.compare_exchange(expected, new, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }
}

/// The mark on a node: the number of the pass and the node's index in it; 0 for no mark.
#[derive(Debug, Default)]
pub(crate) struct Mark<W = AtomicU64>(W);

impl Mark {
    /// Returns whether no pass has marked the node.
    #[cfg(test)]
    pub(crate) fn is_free(&self) -> bool {
        self.0.get() == 0
    }
}

static PASSES: AtomicU32 = AtomicU32::new(1);

/// The indices that one pass has given to nodes.
pub(crate) struct Marks {
    /// The number of the pass; never 0, which is on nodes without a mark.
    number: u32,
    /// The indices of nodes that another pass had marked, by the nodes' addresses.
    unmarked: HashMap<usize, u32>,
}

impl Marks {
    /// Returns the marks of a new pass, which has none.
    pub(crate) fn new() -> Self {
        Self::of(next(&PASSES))
    }

    fn of(number: u32) -> Self {
        Self {
            number,
            unmarked: HashMap::new(),
        }
    }

    /// Returns the index of the node that has this mark, if the pass has visited it.
    #[inline]
    pub(crate) fn get<W: Word>(
        &self,
        mark: &Mark<W>,
        address: impl FnOnce() -> usize,
    ) -> Option<u32> {
        let mark = mark.0.get();
        if self.is_own(mark) {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the lower half is the index"
            )]
            return Some(mark as u32);
        }
        if self.unmarked.is_empty() {
            None
        } else {
            self.unmarked.get(&address()).copied()
        }
    }

    /// Sets the index of a node that the pass has not visited before.
    #[inline]
    pub(crate) fn set<W: Word>(
        &mut self,
        mark: &Mark<W>,
        address: impl FnOnce() -> usize,
        index: u32,
    ) {
        let own = u64::from(self.number) << 32 | u64::from(index);
        if !mark.0.exchange(0, own) {
            self.unmarked.insert(address(), index);
        }
    }

    /// Removes the mark of a node, for other passes.
    #[inline]
    pub(crate) fn remove<W: Word>(&self, mark: &Mark<W>) {
        if self.is_own(mark.0.get()) {
            mark.0.set(0);
        }
    }

    #[inline]
    fn is_own(&self, mark: u64) -> bool {
        mark >> 32 == u64::from(self.number)
    }
}

/// Returns the number of a new pass. After 2³² passes the numbers start again from 1.
fn next(passes: &AtomicU32) -> u32 {
    let next = || passes.fetch_add(1, Ordering::Relaxed);
    match next() {
        0 => next(),
        number => number,
    }
}

#[cfg(test)]
mod tests {
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU64 as Modeled;
    use loom::thread;

    use super::*;

    impl Word for Modeled {
        fn get(&self) -> u64 {
            self.load(Ordering::Relaxed)
        }

        fn set(&self, new: u64) {
            self.store(new, Ordering::Relaxed);
        }

        fn exchange(&self, expected: u64, new: u64) -> bool {
            self.compare_exchange(expected, new, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        }
    }

    type Nodes<const NODES: usize> = [Mark<Modeled>; NODES];

    /// Visits all nodes as a pass does, then removes their marks one by one.
    fn pass<const NODES: usize>(number: u32, nodes: &Nodes<NODES>) {
        let mut marks = Marks::of(number);
        let index = |node: usize| number * 10 + u32::try_from(node).unwrap();
        for (node, mark) in nodes.iter().enumerate() {
            assert_eq!(marks.get(mark, || node), None);
            marks.set(mark, || node, index(node));
        }
        for (node, mark) in nodes.iter().enumerate() {
            assert_eq!(marks.get(mark, || node), Some(index(node)));
            marks.remove(mark);
            assert!(!marks.is_own(mark.0.get()));
        }
    }

    /// Tries every interleaving with at most this number of interruptions of threads; `None` for any number.
    fn model<const THREADS: u32, const NODES: usize>(interruptions: Option<usize>) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = interruptions;
        builder.check(|| {
            let nodes: Arc<Nodes<NODES>> = Arc::new(std::array::from_fn(|_| Mark::default()));
            let others: Vec<_> = (2..=THREADS)
                .map(|number| {
                    let nodes = Arc::clone(&nodes);
                    thread::spawn(move || pass(number, &nodes))
                })
                .collect();
            pass(1, &nodes);
            for other in others {
                other.join().unwrap();
            }
            assert!(nodes.iter().all(|mark| mark.0.get() == 0), "a mark is left");
        });
    }

    #[test]
    fn no_pass_has_the_number_of_nodes_without_a_mark() {
        let passes = AtomicU32::new(u32::MAX);
        assert_eq!(
            [next(&passes), next(&passes), next(&passes)],
            [u32::MAX, 1, 2]
        );
    }

    #[test]
    fn every_pass_gets_its_own_indices_and_leaves_no_mark() {
        model::<2, 1>(None);
        model::<2, 2>(Some(4));
        model::<3, 1>(Some(3));
    }
}
