//! Sums of products over axes with names: `ij,jk->ik` is a product of matrices.
//!
//! A contraction has three kinds of loops: over axes that one operand and the output share, which become rows and
//! columns of matrices, over axes that are summed, and over axes of all three. `loops` finds them, and merges those
//! that are contiguous in memory. The longest loop of each kind becomes part of a product of matrices, which is
//! computed for each step of the other loops.

#![allow(unsafe_code, reason = "each block has its argument")]

mod loops;

use std::fmt;

use ndarray::{ArrayD, ArrayViewD, IxDyn};

use super::gemm::{Operand, Product};
use crate::checks::size;
use crate::element::Element;
use crate::memory;
use crate::parallel::{split, worth};
use loops::{Loop, Loops};

/// The names of the axes of two operands and of their contraction, in the order of the axes.
///
/// Names are arbitrary numbers. A name that the output does not have is summed over; a name that an operand has
/// twice is its diagonal.
#[derive(Clone, PartialEq, Eq)]
pub struct Subscripts {
    x: Box<[u8]>,
    y: Box<[u8]>,
    output: Box<[u8]>,
}

impl Subscripts {
    /// Returns subscripts with these names of axes.
    pub fn new(x: impl AsRef<[u8]>, y: impl AsRef<[u8]>, output: impl AsRef<[u8]>) -> Self {
        Self {
            x: x.as_ref().into(),
            y: y.as_ref().into(),
            output: output.as_ref().into(),
        }
    }

    /// Returns the subscripts of the first operand's gradient: it contracts the output's gradient and the second
    /// operand.
    #[must_use]
    pub fn of_x(&self) -> Self {
        Self::new(&self.output, &self.y, &self.x)
    }

    /// Returns the subscripts of the second operand's gradient: it contracts the first operand and the output's
    /// gradient.
    #[must_use]
    pub fn of_y(&self) -> Self {
        Self::new(&self.x, &self.output, &self.y)
    }
}

impl fmt::Debug for Subscripts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?},{:?}->{:?}", self.x, self.y, self.output)
    }
}

/// Returns the contraction of two arrays, as an array of `shape`. Along an axis of length 1 whose name is longer
/// elsewhere, an operand is repeated and the output is summed.
///
/// # Panics
/// If a rank is not the number of names, axes of one name have lengths that do not fit, or `shape` has too many
/// elements.
#[track_caller]
pub fn contract<T: Element>(
    x: &ArrayViewD<'_, T>,
    y: &ArrayViewD<'_, T>,
    subscripts: &Subscripts,
    shape: &[usize],
) -> ArrayD<T> {
    let Some(size) = size(shape) else {
        panic!("a contraction to shape {shape:?} has too many elements")
    };
    let mut found = loops::find(x, y, subscripts, shape);
    let mut elements = memory::take(size);
    let is_covered = loops::cover(&found, size);
    if size == 0 || !is_covered {
        elements.resize(size, T::zero());
    }
    if size > 0 && found.iter().all(|one| one.length > 0) {
        let arrays = Arrays {
            x: x.as_ptr(),
            y: y.as_ptr(),
            output: elements.as_mut_ptr(),
        };
        // SAFETY: the loops' strides are the arrays' own, and their lengths those of the axes; the memory
        // has `size` elements, and is not read before it is written unless it is initialized.
        unsafe { run(arrays, Loops::new(&mut found), !is_covered) };
    }
    // SAFETY: all `size` elements were written: one after the other if the loops do not cover them, else
    // by the loops.
    unsafe {
        elements.set_len(size);
        ArrayD::from_shape_vec_unchecked(IxDyn(shape), elements)
    }
}

/// Pointers to the first elements of the three arrays, or to those of a step of the loops.
#[derive(Clone, Copy)]
struct Arrays<T> {
    x: *const T,
    y: *const T,
    output: *mut T,
}

// SAFETY: threads read what `x` and `y` point to, and write to parts of the output that are disjoint.
unsafe impl<T: Sync> Sync for Arrays<T> {}

impl<T> Arrays<T> {
    /// Returns the pointers `count` steps of a loop further.
    ///
    /// # Safety
    /// The loop must have more steps than that.
    #[inline]
    unsafe fn step(self, one: &Loop, count: usize) -> Self {
        let count = count.cast_signed();
        // SAFETY: within the arrays, as the caller guarantees.
        unsafe {
            Self {
                x: self.x.offset(count * one.strides[0]),
                y: self.y.offset(count * one.strides[1]),
                output: self.output.offset(count * one.strides[2]),
            }
        }
    }

    /// Returns the pointers of the `index`th step of several loops, the last of which is the innermost.
    ///
    /// # Safety
    /// The loops must have more steps than that in all.
    unsafe fn seek(mut self, loops: &[Loop], mut index: usize) -> Self {
        for one in loops.iter().rev() {
            // SAFETY: a step of each loop.
            self = unsafe { self.step(one, index % one.length) };
            index /= one.length;
        }
        self
    }
}

/// Runs the loops, all of which must have steps. If `adds`, the results are added to the output.
///
/// # Safety
/// All steps of the loops must be within the arrays, and different steps of the loops that are not summed must write
/// to different elements. The output must be initialized if `adds`.
unsafe fn run<T: Element>(arrays: Arrays<T>, loops: Loops, adds: bool) {
    let [rows, summands, columns] = &loops.matrix;
    let each = rows.length * summands.length * columns.length;
    let sums: usize = loops.summed.iter().map(|one| one.length).product();
    let steps: usize = loops.outer.iter().map(|one| one.length).product();
    let at_least = worth::CONTRACTION.div_ceil(each.saturating_mul(sums).max(1));
    let arrays = &arrays;
    split(steps, at_least, |range| {
        for index in range {
            // SAFETY: steps of the loops; different steps write to different elements.
            unsafe {
                let at = arrays.seek(&loops.outer, index);
                for sum in 0..sums {
                    let at = at.seek(&loops.summed, sum);
                    let beta = if adds || sum > 0 { T::one() } else { T::zero() };
                    if each == 1 {
                        let rest = if beta == T::zero() {
                            T::zero()
                        } else {
                            *at.output
                        };
                        *at.output = rest + *at.x * *at.y;
                        continue;
                    }
                    let product = Product {
                        lengths: [rows.length, summands.length, columns.length],
                        alpha: T::one(),
                        a: Operand {
                            start: at.x,
                            strides: [rows.strides[0], summands.strides[0]],
                        },
                        b: Operand {
                            start: at.y,
                            strides: [summands.strides[1], columns.strides[1]],
                        },
                        beta,
                        c: at.output,
                        c_strides: [rows.strides[2], columns.strides[2]],
                    };
                    product.run();
                }
            }
        }
    });
}

#[cfg(test)]
mod tests;
