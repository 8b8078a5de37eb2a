//! The loops of a function of one number, on slices: its values, and gradients times its derivative.
//!
//! The formula is the same as that of an elementwise function; the loops are fewer, and do not need whole registers of
//! elements, so that an array of one element costs little.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

use ndarray::{Array, ArrayView, Dimension};

use super::angles::are_near;
use super::dual::Dual;
use super::entries::Place;
use super::evaluation::BLOCK;
use super::formula::Formula;
use crate::element::number::Number;
use crate::element::{Element, Family, of_type};
use crate::loops::broadcast::{by_rows, repeated, row_block};
use crate::loops::map::filled;
use crate::loops::prefetch::{by_pages, prefetch_page};
use crate::loops::row_major::{in_row_major, row_major};
use crate::loops::wide::{Loop, SHORT, map_here, widest, zip_here, zip_in_place_here};
use crate::parallel::{split_mut, worth};

/// The loops of a formula of one number, for one element type.
pub trait UnaryLoops<T>: Send + Sync + sealed::Sealed {
    /// Whether the loops are shorter where all numbers are near: those of functions of angles.
    fn has_parts(&self) -> bool;

    /// Writes the value of each number.
    fn values(&self, x: &[T], out: &mut [MaybeUninit<T>], are_near: bool);

    /// Multiplies each gradient by the derivative at the number with its index.
    fn multiply(&self, gradients: &mut [T], x: &[T], are_near: bool);

    /// Writes the products of gradients and derivatives.
    fn products(&self, gradients: &[T], x: &[T], out: &mut [MaybeUninit<T>], are_near: bool);
}

mod sealed {
    /// Unsafe code relies on loops that write to all of `out`. Other types cannot promise that.
    pub trait Sealed {}
    impl<F: super::Formula<1, 1, Entries = ()> + Copy> Sealed for F {}
}

/// Returns the value of a formula.
#[cfg_attr(optimized, inline(always))]
fn value<T: Element, R: Number<T>>(formula: &impl Formula<1, 1, Entries = ()>, x: T) -> T {
    let [value] = formula.at(&(), Place(0), [Dual::<R, 0>::constant(R::of(x))]);
    value.value.element()
}

/// Returns a gradient times the derivative of a formula at a number: 0 where the formula is constant.
#[cfg_attr(optimized, inline(always))]
fn product<T: Element, R: Number<T>>(
    formula: &impl Formula<1, 1, Entries = ()>,
    gradient: T,
    x: T,
) -> T {
    let [result] = formula.at(&(), Place(0), [Dual::<R, 1>::variable(R::of(x), 0)]);
    match result.tangent(0) {
        Some(derivative) => gradient * derivative.element(),
        None => T::zero(),
    }
}

/// Runs loops that write to `out`, on all threads: on ranges of it and, where it matters, with whether all their numbers
/// are near. Where a loop may run twice, numbers are taken for near as long as they are, and tested afterwards: then they
/// are in the fastest cache, and memory is waited for while the loop computes. This is compiled once for all functions.
fn by_parts<T: Element, U: Send>(
    loops: &dyn UnaryLoops<T>,
    x: &[T],
    out: &mut [U],
    may_run_twice: bool,
    run: impl Fn(Range<usize>, &mut [U], bool) + Sync,
) {
    let has_parts = loops.has_parts();
    if x.len() < SHORT && !has_parts {
        return run(0..x.len(), out, false);
    }
    split_mut(out, 1, worth::LOOP, |first, out| {
        let mut takes_for_near = has_parts && may_run_twice;
        by_pages(first, out, |range, out| {
            prefetch_page(&x[range.end..]);
            if takes_for_near {
                run(range.clone(), out, true);
            }
            let mut are_near = has_parts;
            if has_parts {
                widest(AreNear(&x[range.clone()], &mut are_near));
            }
            if !(takes_for_near && are_near) {
                run(range, out, are_near);
            }
            takes_for_near = may_run_twice && are_near;
        });
    });
}

/// Whether all numbers are near.
struct AreNear<'a, T>(&'a [T], &'a mut bool);

impl<T: Element> Loop for AreNear<'_, T> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        *self.1 = are_near(self.0);
    }
}

// The closures own the formula, and the loops the closures: see `Loop`.
impl<T: Element, F: Formula<1, 1, Entries = ()> + Copy> UnaryLoops<T> for F {
    fn has_parts(&self) -> bool {
        F::OF_ANGLE
    }

    fn values(&self, x: &[T], out: &mut [MaybeUninit<T>], are_near: bool) {
        let formula = *self;
        if const { F::OF_ANGLE } && are_near {
            map_here(
                x,
                out,
                #[cfg_attr(optimized, inline(always))]
                move |x| value::<T, T::Near>(&formula, x),
            );
        } else {
            map_here(
                x,
                out,
                #[cfg_attr(optimized, inline(always))]
                move |x| value::<T, T::Number>(&formula, x),
            );
        }
    }

    fn multiply(&self, gradients: &mut [T], x: &[T], are_near: bool) {
        let formula = *self;
        if const { F::OF_ANGLE } && are_near {
            zip_in_place_here(
                gradients,
                x,
                #[cfg_attr(optimized, inline(always))]
                move |gradient, x| product::<T, T::Near>(&formula, gradient, x),
            );
        } else {
            zip_in_place_here(
                gradients,
                x,
                #[cfg_attr(optimized, inline(always))]
                move |gradient, x| product::<T, T::Number>(&formula, gradient, x),
            );
        }
    }

    fn products(&self, gradients: &[T], x: &[T], out: &mut [MaybeUninit<T>], are_near: bool) {
        let formula = *self;
        if const { F::OF_ANGLE } && are_near {
            zip_here(
                gradients,
                x,
                out,
                #[cfg_attr(optimized, inline(always))]
                move |gradient, x| product::<T, T::Near>(&formula, gradient, x),
            );
        } else {
            zip_here(
                gradients,
                x,
                out,
                #[cfg_attr(optimized, inline(always))]
                move |gradient, x| product::<T, T::Number>(&formula, gradient, x),
            );
        }
    }
}

/// The loops of a function of one number for both element types. Functions that are not generic return them, and are not
/// inlined: the loops are then compiled in the crate that defines the function, whatever program calls it.
pub trait Unary {
    /// Returns the loops for `f32`.
    fn single(&self) -> &dyn UnaryLoops<f32>;

    /// Returns the loops for `f64`.
    fn double(&self) -> &dyn UnaryLoops<f64>;
}

/// The loops for one element type.
struct LoopsOf<'a>(PhantomData<&'a ()>);

impl<'a> Family for LoopsOf<'a> {
    type Of<T: Element> = &'a dyn UnaryLoops<T>;
}

fn loops<T: Element>(function: &impl Unary) -> &dyn UnaryLoops<T> {
    of_type::<T, LoopsOf<'_>>(function.single(), function.double())
}

/// Returns the array of the function of each element.
pub fn values<T: Element, D: Dimension>(
    function: &impl Unary,
    x: &ArrayView<'_, T, D>,
) -> Array<T, D> {
    values_by(loops(function), x)
}

/// Compiled once for all functions.
fn values_by<T: Element, D: Dimension>(
    loops: &dyn UnaryLoops<T>,
    x: &ArrayView<'_, T, D>,
) -> Array<T, D> {
    if let Some(slice) = x.as_slice() {
        return filled(x, |out| {
            by_parts(loops, slice, out, true, |range, out, are_near| {
                loops.values(&slice[range], out, are_near);
            });
        });
    }
    if let Some(element) = repeated(x) {
        let mut value = [MaybeUninit::uninit()];
        loops.values(&[element], &mut value, false);
        let [value] = value;
        // SAFETY: the loops have written it.
        #[expect(unsafe_code, reason = "see above")]
        let value = unsafe { value.assume_init() };
        return filled(x, |out| out.fill(MaybeUninit::new(value)));
    }
    if row_block(x).is_some() {
        return filled(x, |out| {
            by_rows([x], out, |[x], out| {
                by_parts(loops, x, out, true, |range, out, are_near| {
                    loops.values(&x[range], out, are_near);
                });
            });
        });
    }
    values_by(loops, &row_major(x).view())
}

/// Returns the products of gradients and derivatives of the function.
///
/// # Panics
/// If the shapes differ.
#[track_caller]
pub fn products<T: Element, D: Dimension>(
    function: &impl Unary,
    gradients: &ArrayView<'_, T, D>,
    x: &ArrayView<'_, T, D>,
) -> Array<T, D> {
    products_by(loops(function), gradients, x)
}

/// Compiled once for all functions.
#[track_caller]
fn products_by<T: Element, D: Dimension>(
    loops: &dyn UnaryLoops<T>,
    gradients: &ArrayView<'_, T, D>,
    x: &ArrayView<'_, T, D>,
) -> Array<T, D> {
    assert!(
        gradients.shape() == x.shape(),
        "gradients of shape {:?} are needed, found {:?}",
        x.shape(),
        gradients.shape()
    );
    match (gradients.as_slice(), repeated(gradients), x.as_slice()) {
        (Some(gradients), _, Some(slice)) => filled(x, |out| {
            by_parts(loops, slice, out, true, |range, out, are_near| {
                loops.products(&gradients[range.clone()], &slice[range], out, are_near);
            });
        }),
        (None, Some(gradient), Some(slice)) => filled(x, |out| {
            by_parts(loops, slice, out, true, |range, out, are_near| {
                let gradients = [gradient; BLOCK];
                let blocks = slice[range].chunks(BLOCK);
                for (out, x) in out.chunks_mut(BLOCK).zip(blocks) {
                    loops.products(&gradients[..out.len()], x, out, are_near);
                }
            });
        }),
        _ if row_block(gradients).is_some() && row_block(x).is_some() => filled(x, |out| {
            by_rows([gradients, x], out, |[gradients, x], out| {
                by_parts(loops, x, out, true, |range, out, are_near| {
                    loops.products(&gradients[range.clone()], &x[range], out, are_near);
                });
            });
        }),
        _ => {
            let (gradients, x) = (in_row_major(gradients), in_row_major(x));
            products_by(loops, &gradients.view(), &x.view())
        }
    }
}

/// Multiplies gradients by derivatives of the function.
///
/// # Panics
/// If the lengths differ.
pub fn multiply<T: Element>(function: &impl Unary, gradients: &mut [T], x: &[T]) {
    let loops = loops::<T>(function);
    by_parts(loops, x, gradients, false, |range, gradients, are_near| {
        loops.multiply(gradients, &x[range], are_near);
    });
}
