//! Functions of one element or two, element by element.

#![allow(
    clippy::inline_always,
    clippy::redundant_closure,
    reason = "a loop is vector code only if all of its body is in it; a closure under an attribute is inlined, and a \
              reference to a function may not be"
)]

use std::mem::MaybeUninit;

use ndarray::{Array, ArrayView, Dimension, Zip};

use super::broadcast::{LONG, RowBlocks, by_rows, repeated, row_block};
use super::row_major::in_row_major;
use super::wide::{map_into, zip_into};
use crate::element::Element;
use crate::memory;
use crate::parallel::{split_mut, worth};

/// The number of elements from which on blocks of rows pay.
const MANY: usize = 128;

/// Returns the array of `f` of each element. A closure that captures numbers should own them (`move`): the loop is
/// then vector code.
///
/// ```
/// use pullback::kernels::map;
/// use pullback::ndarray::array;
///
/// let x = array![[1.0, -2.0]];
/// assert_eq!(map(&x.view(), f64::abs), array![[1.0, 2.0]]);
/// ```
#[track_caller]
pub fn map<T: Copy + Send + Sync, U: Send, D: Dimension>(
    x: &ArrayView<'_, T, D>,
    f: impl Fn(T) -> U + Sync,
) -> Array<U, D> {
    map_by(
        x,
        #[cfg_attr(optimized, inline(always))]
        |x| f(x),
    )
}

/// [`map`] by a function that loops can own.
#[inline]
#[track_caller]
fn map_by<T: Copy + Send + Sync, U: Send, D: Dimension>(
    x: &ArrayView<'_, T, D>,
    f: impl Fn(T) -> U + Copy + Sync,
) -> Array<U, D> {
    match x.as_slice() {
        Some(elements) => map_slice(x, elements, f),
        None => map_apart(x, f),
    }
}

/// Returns what [`map`] returns, of a view that is not in row-major order. Not inlined: its code would be in the way of
/// small arrays that are.
#[inline(never)]
#[track_caller]
fn map_apart<T: Copy + Send + Sync, U: Send, D: Dimension>(
    x: &ArrayView<'_, T, D>,
    f: impl Fn(T) -> U + Copy + Sync,
) -> Array<U, D> {
    if let Some(element) = repeated(x) {
        return filled(x, |out| fill(out, element, f));
    }
    if x.len() < MANY {
        return x.map(|&x| f(x));
    }
    if row_block(x).is_some() {
        return filled(x, |out| by_rows([x], out, |[x], out| map_into(x, out, f)));
    }
    let x = in_row_major(x);
    // INVARIANT: it is in row-major order.
    map_slice(&x.view(), x.as_slice().expect("in one piece"), f)
}

/// Returns the array of `f` of the elements of two arrays of one shape.
///
/// # Panics
/// If the shapes differ.
///
/// ```
/// use pullback::kernels::zip;
/// use pullback::ndarray::array;
///
/// let (x, y) = (array![1.0, 2.0], array![10.0, 20.0]);
/// assert_eq!(zip(&x.view(), &y.view(), |x, y| x + y), array![11.0, 22.0]);
/// ```
#[track_caller]
pub fn zip<T: Copy + Send + Sync, U: Copy + Send + Sync, V: Send, D: Dimension>(
    x: &ArrayView<'_, T, D>,
    y: &ArrayView<'_, U, D>,
    f: impl Fn(T, U) -> V + Sync,
) -> Array<V, D> {
    assert!(
        x.shape() == y.shape(),
        "arrays of one shape are needed, found {:?} and {:?}",
        x.shape(),
        y.shape()
    );
    zip_by(
        x,
        y,
        #[cfg_attr(optimized, inline(always))]
        |x, y| f(x, y),
    )
}

/// [`zip`] by a function that loops can own.
#[inline]
#[track_caller]
fn zip_by<T: Copy + Send + Sync, U: Copy + Send + Sync, V: Send, D: Dimension>(
    x: &ArrayView<'_, T, D>,
    y: &ArrayView<'_, U, D>,
    f: impl Fn(T, U) -> V + Copy + Sync,
) -> Array<V, D> {
    match (x.as_slice(), y.as_slice()) {
        (Some(a), Some(b)) => zip_slices(x, a, b, f),
        _ => zip_apart(x, y, f),
    }
}

/// Returns the products of `f` of the elements of two arrays, and factors, which often are one number that repeats.
///
/// # Panics
/// If the shapes differ.
#[track_caller]
pub fn zip_times<T: Element, D: Dimension>(
    x: &ArrayView<'_, T, D>,
    y: &ArrayView<'_, T, D>,
    factors: &ArrayView<'_, T, D>,
    f: impl Fn(T, T) -> T + Copy + Sync,
) -> Array<T, D> {
    match repeated(factors) {
        Some(factor) => zip(x, y, move |x, y| f(x, y) * factor),
        None => zip(&zip(x, y, f).view(), factors, |slope, factor| {
            slope * factor
        }),
    }
}

/// Returns what [`zip`] returns, of views of which one is not in row-major order. Not inlined: its code would be in the
/// way of small arrays that are.
#[inline(never)]
#[track_caller]
fn zip_apart<T: Copy + Send + Sync, U: Copy + Send + Sync, V: Send, D: Dimension>(
    x: &ArrayView<'_, T, D>,
    y: &ArrayView<'_, U, D>,
    f: impl Fn(T, U) -> V + Copy + Sync,
) -> Array<V, D> {
    let (slice_x, slice_y) = (x.as_slice(), y.as_slice());
    match (slice_x, repeated(x), slice_y, repeated(y)) {
        (Some(a), _, _, Some(y)) => return map_slice(x, a, with_second(f, y)),
        (_, Some(x), Some(b), _) => return map_slice(y, b, with_first(f, x)),
        (_, Some(a), _, Some(b)) => return filled(x, |out| fill(out, a, with_second(f, b))),
        _ => {}
    }
    if x.len() >= MANY {
        if let (Some(block), Some(_)) = (row_block(x), row_block(y)) {
            return zip_blocks(x, y, block, f);
        }
        // A transpose beside an array in row-major order.
        if slice_x.is_some() != slice_y.is_some() {
            let (x, y) = (in_row_major(x), in_row_major(y));
            if let (Some(a), Some(b)) = (x.as_slice(), y.as_slice()) {
                return zip_slices(&x.view(), a, b, f);
            }
        }
    }
    memory::require::<V>(x.len());
    Zip::from(x).and(y).map_collect(|&a, &b| f(a, b))
}

/// Returns f of a first number, and of a second one that is always the same. A closure in each place would be another
/// function, and so would the loops over it.
#[cfg_attr(optimized, inline(always))]
fn with_second<T: Copy, U: Copy + Sync, V>(
    f: impl Fn(T, U) -> V + Copy + Sync,
    y: U,
) -> impl Fn(T) -> V + Copy + Sync {
    #[cfg_attr(optimized, inline(always))]
    move |x| f(x, y)
}

/// Returns f of a first number that is always the same, and of a second one.
#[cfg_attr(optimized, inline(always))]
fn with_first<T: Copy + Sync, U: Copy, V>(
    f: impl Fn(T, U) -> V + Copy + Sync,
    x: T,
) -> impl Fn(U) -> V + Copy + Sync {
    #[cfg_attr(optimized, inline(always))]
    move |y| f(x, y)
}

/// Returns the array of the shape of `like` of `f` of each element.
#[inline]
#[track_caller]
fn map_slice<L, T: Copy + Send + Sync, U: Send, D: Dimension>(
    like: &ArrayView<'_, L, D>,
    x: &[T],
    f: impl Fn(T) -> U + Copy + Sync,
) -> Array<U, D> {
    filled(like, |out| map_into(x, out, f))
}

/// Returns the array of the shape of `like` of `f` of the elements of both.
#[inline]
#[track_caller]
fn zip_slices<L, T: Copy + Send + Sync, U: Copy + Send + Sync, V: Send, D: Dimension>(
    like: &ArrayView<'_, L, D>,
    x: &[T],
    y: &[U],
    f: impl Fn(T, U) -> V + Copy + Sync,
) -> Array<V, D> {
    filled(like, |out| zip_into(x, y, out, f))
}

/// Writes `f` of one element everywhere.
fn fill<T: Copy, U>(out: &mut [MaybeUninit<U>], element: T, f: impl Fn(T) -> U) {
    for out in out {
        out.write(f(element));
    }
}

/// Returns the array of `f` of the elements of both, block by block.
#[track_caller]
fn zip_blocks<T: Copy + Send + Sync, U: Copy + Send + Sync, V: Send, D: Dimension>(
    x: &ArrayView<'_, T, D>,
    y: &ArrayView<'_, U, D>,
    block: usize,
    f: impl Fn(T, U) -> V + Copy + Sync,
) -> Array<V, D> {
    // INVARIANT: arrays without axes are contiguous.
    let row = *x.shape().last().expect("an axis");
    filled(x, |out| {
        split_mut(out, row, worth::LOOP.div_ceil(row), |first, out| {
            if row >= LONG {
                return zip_rows(x, y, first, out, f);
            }
            let (mut x, mut y) = (RowBlocks::new(x, first), RowBlocks::new(y, first));
            for out in out.chunks_mut(block) {
                zip_into(x.next(out.len()), y.next(out.len()), out, f);
            }
        });
    })
}

/// Writes `f` of the elements of rows, from row `first` on, each a slice or one element that repeats.
fn zip_rows<T: Copy + Send + Sync, U: Copy + Send + Sync, V: Send, D: Dimension>(
    x: &ArrayView<'_, T, D>,
    y: &ArrayView<'_, U, D>,
    first: usize,
    out: &mut [MaybeUninit<V>],
    f: impl Fn(T, U) -> V + Copy + Sync,
) {
    let rows = x.rows().into_iter().zip(y.rows()).skip(first);
    let length = x.shape().last().copied().unwrap_or(1);
    for ((x, y), out) in rows.zip(out.chunks_exact_mut(length)) {
        match (x.to_slice(), y.to_slice(), x.first(), y.first()) {
            (Some(x), Some(y), ..) => zip_into(x, y, out, f),
            (Some(x), None, _, Some(&y)) => map_into(x, out, with_second(f, y)),
            (None, Some(y), Some(&x), _) => map_into(y, out, with_first(f, x)),
            (None, None, Some(&x), Some(&y)) => fill(out, x, with_second(f, y)),
            _ => {}
        }
    }
}

/// Returns an array of the shape of `like`, all of whose elements `fill` writes.
#[inline]
#[track_caller]
pub(crate) fn filled<T, U, D: Dimension>(
    like: &ArrayView<'_, T, D>,
    fill: impl FnOnce(&mut [MaybeUninit<U>]),
) -> Array<U, D> {
    let length = like.len();
    let mut elements = memory::take(length);
    fill(&mut elements.spare_capacity_mut()[..length]);
    // SAFETY: the loops have written to each of as many elements as the shape has.
    #[expect(unsafe_code, reason = "see above")]
    unsafe {
        elements.set_len(length);
        Array::from_shape_vec_unchecked(like.raw_dim(), elements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array0, Array2, Array3, array, s};

    #[test]
    fn views_of_every_layout_give_the_same() {
        let x = Array2::from_shape_fn((4, 6), |(i, j)| (i * 10 + j) as f64);
        let views = [
            x.view(),
            x.slice(s![..;-1, 1..5]),
            x.t(),
            x.slice(s![1..1, ..]),
            x.slice(s![.., ..;2]),
        ];
        for view in views {
            assert_eq!(map(&view, |x| x * 2.0), view.mapv(|x| x * 2.0));
            assert_eq!(zip(&view, &view, |x, y| x + y), &view + &view);
            let three = Array0::from_elem((), 3.0);
            let threes = three.broadcast(view.raw_dim()).unwrap();
            assert_eq!(map(&threes, |x| x * 2.0), threes.mapv(|x| x * 2.0));
            assert_eq!(zip(&view, &threes, |x, y| x - y), &view - &threes);
            assert_eq!(zip(&threes, &view, |x, y| x - y), &threes - &view);
            assert_eq!(zip(&threes, &threes, |x, y| x * y), &threes * &threes);
            if let Some(row) = view.rows().into_iter().next() {
                let rows = row.broadcast(view.raw_dim()).unwrap();
                assert_eq!(zip(&view, &rows, |x, y| x - y), &view - &rows);
            }
        }
        assert_eq!(
            zip(&x.view(), &x.slice(s![..;-1, ..]), |x, y| x - y),
            &x - &x.slice(s![..;-1, ..])
        );
    }

    #[test]
    fn large_views_of_every_layout_give_the_same() {
        for shape in [
            [3, 5, 70],
            [2, 70, 5],
            [1, 33, 33],
            [2, 2, 5000],
            [600, 300, 3],
        ] {
            let number = |(i, j, k): (usize, usize, usize)| (i * 100 + j * 10 + k) as f64;
            let full = Array3::from_shape_fn((shape[0], shape[1], shape[2]), number);
            let stretched = |lengths: [usize; 3]| Array3::from_shape_fn(lengths, number);
            let lengths = [0, 1, 2, 3, 4, 5, 6, 7].map(|mask| {
                std::array::from_fn(|axis| {
                    if mask >> axis & 1 == 1 {
                        1
                    } else {
                        shape[axis]
                    }
                })
            });
            let arrays = lengths.map(stretched);
            let mut views: Vec<_> = arrays
                .iter()
                .map(|x| x.broadcast(full.raw_dim()).unwrap())
                .collect();
            let last_first = full
                .view()
                .reversed_axes()
                .as_standard_layout()
                .into_owned();
            views.push(last_first.view().reversed_axes());
            views.push(full.slice(s![..;-1, .., ..]));
            views.push(full.slice(s![.., .., ..;-1]));
            for x in &views {
                for y in &views {
                    assert_eq!(zip(x, y, |x, y| x - y), x - y);
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "found [1] and [2]")]
    fn nothing_is_broadcast() {
        zip(&array![1.0].view(), &array![1.0, 2.0].view(), |x, y| x + y);
    }
}
