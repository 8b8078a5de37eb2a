//! An array whose rows are written in any order, by any thread, in fresh memory.

#![allow(unsafe_code, reason = "each block has its argument")]

use std::iter;
use std::mem::{MaybeUninit, take};

use crate::element::Element;
use crate::memory;

/// The elements of an array while its rows are written. Rows that are left out are zeros.
#[derive(Debug)]
pub struct Rows<T> {
    elements: Vec<T>,
    row: usize,
    /// Whether each row has been written.
    written: Vec<bool>,
}

/// One row of [`Rows`], to be written.
#[derive(Debug)]
pub struct Row<'a, T> {
    room: &'a mut [MaybeUninit<T>],
    written: &'a mut bool,
}

impl<T: Element> Rows<T> {
    /// Makes room for `count` rows of `row` elements.
    pub fn new(count: usize, row: usize) -> Self {
        Self {
            elements: memory::take(count.saturating_mul(row)),
            row,
            written: vec![false; count],
        }
    }

    /// Returns the rows.
    pub fn each(&mut self) -> impl Iterator<Item = Row<'_, T>> {
        let mut room = self.elements.spare_capacity_mut();
        let row = self.row;
        self.written.iter_mut().map(move |written| {
            let (first, others) = take(&mut room).split_at_mut(row);
            room = others;
            Row {
                room: first,
                written,
            }
        })
    }

    /// Returns all elements, row after row.
    pub fn into_elements(mut self) -> Vec<T> {
        let row = self.row;
        for mut missing in self.each().filter(|row| !*row.written) {
            missing.write(iter::repeat_n(T::zero(), row));
        }
        let length = self.written.len() * self.row;
        // SAFETY: the vector had no elements. `each` cuts the first `length` of its capacity into rows. Each has been
        // written as a whole: `write` sets `written` only then, and other rows were filled with zeros above. Elements
        // have no destructors, so that overwriting them loses nothing.
        unsafe { self.elements.set_len(length) };
        self.elements
    }
}

impl<T: Element> Row<'_, T> {
    /// Writes the elements of the row, as [`write`](Self::write) does, at once.
    ///
    /// # Panics
    /// If there are fewer or more.
    pub fn copy_from(&mut self, elements: &[T]) {
        assert!(
            elements.len() == self.room.len(),
            "a row of {} elements was given {}",
            self.room.len(),
            elements.len()
        );
        for (room, &element) in self.room.iter_mut().zip(elements) {
            room.write(element);
        }
        *self.written = true;
    }

    /// Writes the elements of the row.
    ///
    /// # Panics
    /// If there are fewer or more.
    pub fn write(&mut self, mut elements: impl Iterator<Item = T>) {
        let mut count = 0;
        for (room, element) in self.room.iter_mut().zip(&mut elements) {
            room.write(element);
            count += 1;
        }
        assert!(
            count == self.room.len() && elements.next().is_none(),
            "a row of {} elements was given another number of them",
            self.room.len()
        );
        *self.written = true;
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn rows_are_written_in_any_order_and_others_are_zeros() {
        let mut rows = Rows::new(4, 2);
        let mut each: Vec<Row<f64>> = rows.each().collect();
        each[2].write([5.0, 6.0].into_iter());
        each[0].write([1.0, 2.0].into_iter());
        let short = AssertUnwindSafe(|| each[1].write([3.0].into_iter()));
        assert!(catch_unwind(short).is_err());
        assert_eq!(
            rows.into_elements(),
            [1.0, 2.0, 0.0, 0.0, 5.0, 6.0, 0.0, 0.0]
        );
        assert_eq!(Rows::<f32>::new(3, 0).into_elements(), []);
    }

    #[test]
    fn a_row_is_copied_whole() {
        for length in [1, 2, 7, 64, 10_000] {
            // Memory that holds other numbers before.
            memory::give_back({
                let mut elements: Vec<f64> = memory::take(3 * length);
                elements.resize(3 * length, -1.0);
                elements
            });
            let expected: Vec<f64> = (0..3 * length).map(|element| element as f64).collect();
            let mut rows = Rows::new(3, length);
            for (mut row, elements) in rows.each().zip(expected.chunks(length)) {
                row.copy_from(elements);
            }
            assert_eq!(rows.into_elements(), expected);
        }
        let mut rows = Rows::new(2, 2);
        for elements in [&[1.0][..], &[1.0, 2.0, 3.0]] {
            let mut each: Vec<Row<f64>> = rows.each().collect();
            let other = AssertUnwindSafe(|| each[1].copy_from(elements));
            assert!(catch_unwind(other).is_err());
        }
        assert_eq!(rows.into_elements(), [0.0; 4]);
    }

    #[test]
    fn memory_that_was_used_before_does_not_show() {
        memory::give_back({
            let mut elements: Vec<f64> = memory::take(20_000);
            elements.resize(20_000, 7.0);
            elements
        });
        let elements = Rows::<f64>::new(200, 100).into_elements();
        assert!(elements.len() == 20_000 && elements.iter().all(|&element| element == 0.0));
    }
}
