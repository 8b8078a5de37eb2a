//! The loops of a function of one number, on slices: its values, and gradients times its derivative.
//!
//! The formula is the same as that of an elementwise function; the loops are fewer, and do not need whole registers of
//! elements, so that an array of one element costs little.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use ndarray::{Array, ArrayView, Dimension};

use super::dual::Dual;
use super::entries::Place;
use super::evaluation::BLOCK;
use super::formula::Formula;
use crate::element::number::Number;
use crate::element::{Any, Element, ElementType, Family};
use crate::loops::broadcast::repeated;
use crate::loops::map::filled;
use crate::loops::row_major::{in_row_major, row_major};
use crate::loops::wide::{map_into, zip_in_place, zip_into};
use crate::parallel::{split_mut, worth};

/// The loops of a formula of one number, for one element type.
pub trait UnaryLoops<T>: Send + Sync + sealed::Sealed {
    /// Writes the value of each number.
    fn values(&self, x: &[T], out: &mut [MaybeUninit<T>]);

    /// Multiplies each gradient by the derivative at the number with its index.
    fn multiply(&self, gradients: &mut [T], x: &[T]);

    /// Writes the products of gradients and derivatives.
    fn products(&self, gradients: &[T], x: &[T], out: &mut [MaybeUninit<T>]);
}

mod sealed {
    /// Unsafe code relies on loops that write to all of `out`. Other types cannot promise that.
    pub trait Sealed {}
    impl<F: super::Formula<1, 1, Entries = ()> + Copy> Sealed for F {}
}

/// Returns a gradient times the derivative of a formula at a number: 0 where the formula is constant.
#[inline(always)]
fn product<T: Element>(formula: &impl Formula<1, 1, Entries = ()>, gradient: T, x: T) -> T {
    let [result] = formula.at(
        &(),
        Place(0),
        [Dual::<T::Number, 1>::variable(T::Number::of(x), 0)],
    );
    match result.tangent(0) {
        Some(derivative) => gradient * derivative.element(),
        None => T::zero(),
    }
}

// The closures own the formula: what is borrowed could change with each element that is written.
impl<T: Element, F: Formula<1, 1, Entries = ()> + Copy> UnaryLoops<T> for F {
    fn values(&self, x: &[T], out: &mut [MaybeUninit<T>]) {
        let formula = *self;
        map_into(
            x,
            out,
            #[inline(always)]
            move |x| {
                let [value] = formula.at(
                    &(),
                    Place(0),
                    [Dual::<T::Number, 0>::constant(T::Number::of(x))],
                );
                value.value.element()
            },
        );
    }

    fn multiply(&self, gradients: &mut [T], x: &[T]) {
        let formula = *self;
        zip_in_place(
            gradients,
            x,
            #[inline(always)]
            move |gradient, x| product(&formula, gradient, x),
        );
    }

    fn products(&self, gradients: &[T], x: &[T], out: &mut [MaybeUninit<T>]) {
        let formula = *self;
        zip_into(
            gradients,
            x,
            out,
            #[inline(always)]
            move |gradient, x| product(&formula, gradient, x),
        );
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
    let loops = match T::TYPE {
        ElementType::F32 => Any::F32(function.single()),
        ElementType::F64 => Any::F64(function.double()),
    };
    // INVARIANT: they are of the type that was asked for.
    T::from_any::<LoopsOf<'_>>(loops).expect("the same type")
}

/// Returns the array of the function of each element.
pub fn values<T: Element, D: Dimension>(
    function: &impl Unary,
    x: &ArrayView<'_, T, D>,
) -> Array<T, D> {
    let loops = loops::<T>(function);
    if let Some(slice) = x.as_slice() {
        return filled(x, |out| loops.values(slice, out));
    }
    if let Some(element) = repeated(x) {
        let mut value = [MaybeUninit::uninit()];
        loops.values(&[element], &mut value);
        let [value] = value;
        // SAFETY: the loops have written it.
        #[expect(unsafe_code, reason = "see above")]
        let value = unsafe { value.assume_init() };
        return filled(x, |out| out.fill(MaybeUninit::new(value)));
    }
    values(function, &row_major(x).view())
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
    assert!(
        gradients.shape() == x.shape(),
        "gradients of shape {:?} are needed, found {:?}",
        x.shape(),
        gradients.shape()
    );
    let loops = loops::<T>(function);
    match (gradients.as_slice(), repeated(gradients), x.as_slice()) {
        (Some(gradients), _, Some(slice)) => filled(x, |out| loops.products(gradients, slice, out)),
        (None, Some(gradient), Some(slice)) => filled(x, |out| {
            split_mut(out, 1, worth::LOOP, |first, out| {
                let gradients = [gradient; BLOCK];
                let blocks = slice[first..].chunks(BLOCK);
                for (out, x) in out.chunks_mut(BLOCK).zip(blocks) {
                    loops.products(&gradients[..out.len()], &x[..out.len()], out);
                }
            });
        }),
        _ => {
            let (gradients, x) = (in_row_major(gradients), in_row_major(x));
            products(function, &gradients.view(), &x.view())
        }
    }
}

/// Multiplies gradients by derivatives of the function.
///
/// # Panics
/// If the lengths differ.
pub fn multiply<T: Element>(function: &impl Unary, gradients: &mut [T], x: &[T]) {
    loops::<T>(function).multiply(gradients, x);
}
