use super::*;
use crate::data::{DataError, from_fn};

fn sizes(len: usize, batch_size: usize, drop_last: bool) -> Vec<usize> {
    let loader = DataLoader::new(from_fn(len, Ok)).batch_size(batch_size);
    let loader = loader.drop_last(drop_last);
    let batches: Vec<Vec<usize>> = loader.epoch(0).map(Result::unwrap).collect();
    assert_eq!(batches.len(), loader.len());
    assert_eq!(batches.is_empty(), loader.is_empty());
    batches.iter().map(Vec::len).collect()
}

#[test]
fn batches_of_every_size() {
    assert_eq!(sizes(7, 3, false), [3, 3, 1]);
    assert_eq!(sizes(7, 3, true), [3, 3]);
    assert_eq!(sizes(6, 3, false), [3, 3]);
    assert_eq!(sizes(6, 3, true), [3, 3]);
    assert_eq!(sizes(2, 3, false), [2]);
    assert_eq!(sizes(2, usize::MAX, false), [2]);
    assert_eq!(sizes(2, 3, true), []);
    assert_eq!(sizes(0, 3, false), []);
    assert_eq!(sizes(0, 3, true), []);
}

#[test]
#[should_panic(expected = "DataLoader with the batch size 0")]
fn a_batch_is_not_empty() {
    let _ = DataLoader::new(from_fn(3, Ok)).batch_size(0);
}

#[test]
fn batches_say_exactly_how_many_are_left() {
    for ahead in [0, 2] {
        let loader = DataLoader::new(from_fn(10, Ok))
            .batch_size(3)
            .prefetch(ahead);
        let mut batches = loader.epoch(0);
        for left in (0..4).rev() {
            assert!(batches.next().is_some());
            assert_eq!(batches.size_hint(), (left, Some(left)));
            assert_eq!(batches.len(), left);
        }
        assert!(batches.next().is_none() && batches.next().is_none());
        assert_eq!(loader.epoch_from(0, 9).len(), 0);
    }
}

#[test]
fn an_epoch_has_every_item_once_in_an_order_of_its_own() {
    let loader = DataLoader::new(from_fn(50, Ok)).batch_size(7).shuffle(4);
    let order = |epoch| -> Vec<usize> { loader.epoch(epoch).flat_map(Result::unwrap).collect() };
    for epoch in [0, 1, u64::MAX] {
        let mut items = order(epoch);
        assert_ne!(items, order(epoch ^ 2));
        items.sort_unstable();
        assert_eq!(items, (0..50).collect::<Vec<_>>());
    }
    let other = loader.clone().shuffle(5);
    assert_ne!(
        order(0),
        other.epoch(0).flat_map(Result::unwrap).collect::<Vec<_>>()
    );
}

#[test]
fn data_that_is_borrowed_or_bound_to_a_thread_is_loaded_too() {
    let text = String::from("abc");
    let count = std::cell::Cell::new(0);
    let letters = from_fn(text.len(), |index| {
        count.set(count.get() + 1);
        Ok(text.as_bytes()[index])
    });
    let loader = DataLoader::new(&letters).batch_size(2);
    let all: Vec<u8> = loader.epoch(0).flat_map(Result::unwrap).collect();
    assert_eq!((&all[..], count.get()), (&b"abc"[..], 3));
    // What is skipped is not read.
    assert_eq!(loader.epoch(0).nth(1).unwrap().unwrap(), [b'c']);
    assert_eq!(count.get(), 4);
    assert!(loader.epoch(0).nth(2).is_none());
}

#[test]
fn a_sampler_that_asks_for_too_much_is_told() {
    let loader = DataLoader::new(from_fn(3, Ok)).sampler(|_| vec![2, 3, 0]);
    let batches: Vec<_> = loader.epoch(0).collect();
    assert!(matches!(
        batches[1],
        Err(DataError::OutOfBounds { index: 3, len: 3 })
    ));
    assert_eq!(batches[2].as_ref().unwrap(), &[0]);
}
