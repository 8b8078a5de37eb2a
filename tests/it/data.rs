//! Batches made ahead: the same as those that are not, in time and no earlier; errors and panics arrive
//! where they belong; threads end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use pullback::data::{
    ArrayDataset, BoxError, DataError, DataLoader, Dataset, Panicked, Xoshiro256PlusPlus, from_fn,
};
use pullback::ndarray::{Array1, Array2, Array3};
use rand_core::Rng;

/// Batches ahead, and threads.
const AHEAD: [(usize, usize); 6] = [(0, 0), (1, 0), (4, 0), (0, 1), (4, 3), (100, 8)];

/// Runs `f`, and fails instead of waiting for it forever.
fn in_time<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || sender.send(f()));
    match receiver.recv_timeout(Duration::from_secs(60)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it hangs"),
        Err(mpsc::RecvTimeoutError::Disconnected) => match thread.join() {
            Err(payload) => std::panic::resume_unwind(payload),
            Ok(_) => unreachable!("it has sent nothing and has not panicked"),
        },
        Ok(value) => value,
    }
}

fn wait_until(holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "it does not come"
        );
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn batches_are_the_same_however_many_are_made_ahead() {
    let rows = Array3::from_shape_fn((53, 2, 3), |(i, j, k)| (100 * i + 10 * j + k) as f32);
    let data = ArrayDataset::new(rows, (0..53_usize).collect());
    let noisy = data.augment(5, |(row, label), random: &mut Xoshiro256PlusPlus| {
        let noise = (random.next_u32() >> 8) as f32;
        (row + noise, label)
    });
    let noisy = Arc::new(noisy);
    let batches = |(ahead, threads), epoch| -> Vec<(Array3<f32>, Vec<usize>)> {
        let loader = DataLoader::new(Arc::clone(&noisy)).batch_size(8).shuffle(3);
        let loader = loader.prefetch(ahead).workers(threads);
        loader.epoch(epoch).map(Result::unwrap).collect()
    };
    for epoch in [0, 1, 1 << 40] {
        let expected = batches((0, 0), epoch);
        assert_eq!(expected.len(), 7);
        assert_eq!(expected[6].0.dim(), (5, 2, 3));
        for ahead in AHEAD {
            assert_eq!(batches(ahead, epoch), expected, "{ahead:?}");
        }
    }
}

/// Counts what is read, and goes with the last thread that holds it.
struct Counted {
    len: usize,
    read: Arc<AtomicUsize>,
}

impl Dataset for Counted {
    type Item = usize;

    fn len(&self) -> usize {
        self.len
    }

    fn get(&self, index: usize) -> Result<usize, BoxError> {
        self.read.fetch_add(1, Ordering::SeqCst);
        Ok(index)
    }
}

fn counted(len: usize) -> (Counted, Arc<AtomicUsize>) {
    let read = Arc::new(AtomicUsize::new(0));
    let data = Counted {
        len,
        read: Arc::clone(&read),
    };
    (data, read)
}

#[test]
fn no_more_is_made_ahead_than_asked_for() {
    for (ahead, threads) in [(1, 1), (3, 1), (3, 2), (5, 5)] {
        let (data, read) = counted(100);
        let loader = DataLoader::new(data).batch_size(2);
        let mut batches = loader.prefetch(ahead).workers(threads).epoch(0);
        let mut expected = 2 * ahead;
        for _ in 0..3 {
            wait_until(|| read.load(Ordering::SeqCst) == expected);
            thread::sleep(Duration::from_millis(10));
            assert_eq!(read.load(Ordering::SeqCst), expected, "{ahead} {threads}");
            batches.next().unwrap().unwrap();
            expected += 2;
        }
    }
}

#[test]
fn workers_work_at_the_same_time() {
    in_time(|| {
        let all = Barrier::new(3);
        let data = from_fn(6, move |index| {
            all.wait();
            Ok(index)
        });
        let batches = DataLoader::new(data).workers(3).epoch(0);
        let items: Vec<usize> = batches.flat_map(Result::unwrap).collect();
        assert_eq!(items, [0, 1, 2, 3, 4, 5]);
    });
}

#[test]
fn threads_have_ended_when_the_iterator_is_dropped() {
    for (ahead, threads) in AHEAD {
        for taken in [0, 1, 5, 50] {
            let (data, read) = counted(100);
            in_time(move || {
                let loader = DataLoader::new(data).batch_size(2);
                let mut batches = loader.prefetch(ahead).workers(threads).epoch(0);
                for _ in 0..taken {
                    batches.next().unwrap().unwrap();
                }
            });
            // Threads that were still there would hold the data set.
            assert_eq!(Arc::strong_count(&read), 1, "{ahead} {threads} {taken}");
        }
    }
}

#[test]
fn threads_end_in_the_middle_of_a_batch() {
    let read = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&read);
    // A batch takes ten seconds.
    let data = from_fn(5000, move |index| {
        count.fetch_add(1, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(2));
        Ok(index)
    });
    let batches = DataLoader::new(data).batch_size(5000).prefetch(1).epoch(0);
    wait_until(|| read.load(Ordering::SeqCst) > 0);
    drop(batches);
    assert_eq!(Arc::strong_count(&read), 1);
    assert!(read.load(Ordering::SeqCst) < 5000);
}

#[test]
fn threads_end_when_the_loop_panics() {
    let (data, read) = counted(100);
    let loader = DataLoader::new(data).prefetch(3).workers(2);
    let panic = catch_unwind(AssertUnwindSafe(|| {
        for batch in loader.epoch(0) {
            assert!(batch.unwrap()[0] < 4, "the fourth batch");
        }
    }));
    assert!(panic.is_err());
    drop(loader);
    assert_eq!(Arc::strong_count(&read), 1);
}

#[test]
fn errors_and_panics_arrive_with_the_index_and_the_rest_goes_on() {
    for (ahead, threads) in AHEAD {
        let data = from_fn(10, |index| match index {
            2 => Err("the file is damaged".into()),
            7 => panic!("no item {index}"),
            _ => Ok(index),
        });
        let loader = DataLoader::new(data).batch_size(2).prefetch(ahead);
        let batches: Vec<_> = loader.workers(threads).epoch(0).collect();
        assert_eq!(batches.len(), 5);
        for (batch, expected) in [(0, [0, 1]), (2, [4, 5]), (4, [8, 9])] {
            assert_eq!(batches[batch].as_ref().unwrap(), &expected);
        }
        let message = batches[1].as_ref().unwrap_err().to_string();
        assert_eq!(message, "item 2 of the data set: the file is damaged");
        let Err(DataError::Item { index: 7, source }) = &batches[3] else {
            panic!("{:?}", batches[3]);
        };
        let panicked = source.downcast_ref::<Panicked>().unwrap();
        assert_eq!(panicked.message(), "no item 7");
    }
}

#[test]
fn what_does_not_fit_together_arrives_with_the_indices() {
    for (ahead, threads) in AHEAD {
        let ragged = from_fn(6, |index| Ok(Array1::<f32>::zeros(1 + index / 3)));
        let loader = DataLoader::new(ragged).batch_size(2);
        let batches: Vec<_> = loader.prefetch(ahead).workers(threads).epoch(0).collect();
        assert_eq!(batches[0].as_ref().unwrap(), &Array2::<f32>::zeros((2, 1)));
        assert_eq!(
            batches[1].as_ref().unwrap_err().to_string(),
            "a batch of the items [2, 3]: arrays to stack must have one shape: the first has [1], number 1 has [2]"
        );

        let collate = |items: Vec<usize>| -> Result<usize, BoxError> { Ok(10 / items[0]) };
        let loader = DataLoader::with_collate(from_fn(2, Ok), collate);
        let batches: Vec<_> = loader.prefetch(ahead).workers(threads).epoch(0).collect();
        assert_eq!(
            batches[0].as_ref().unwrap_err().to_string(),
            "a batch of the items [0]: the code that makes it panicked: attempt to divide by zero"
        );
        assert_eq!(batches[1].as_ref().unwrap(), &10);
    }
}

/// Panics when it is dropped, which nobody can report as an item's error.
#[derive(Debug)]
struct Explosive;

impl Drop for Explosive {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

#[test]
fn a_panic_outside_of_the_data_set_reaches_the_loop() {
    for ahead in [0, 2] {
        let data = from_fn(2, |index| match index {
            0 => Ok(Explosive),
            _ => Err("the item before is dropped".into()),
        });
        let count = |items: Vec<Explosive>| Ok(items.len());
        let loader = DataLoader::with_collate(data, count)
            .batch_size(2)
            .prefetch(ahead);
        let payload = in_time(move || {
            catch_unwind(AssertUnwindSafe(|| loader.epoch(0).next().is_some())).unwrap_err()
        });
        assert_eq!(payload.downcast_ref(), Some(&"dropped"), "{ahead}");
    }
}

#[test]
fn a_data_set_without_items_has_no_batches() {
    for (ahead, threads) in AHEAD {
        let (data, read) = counted(0);
        let loader = DataLoader::new(data).batch_size(3).shuffle(1);
        let loader = loader.prefetch(ahead).workers(threads);
        assert!(loader.is_empty() && loader.epoch(0).next().is_none());
        assert!(loader.epoch(1).nth(3).is_none());
        assert_eq!(read.load(Ordering::SeqCst), 0);
    }
}
