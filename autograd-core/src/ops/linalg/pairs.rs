//! Quotients by differences and sums of eigenvalues or singular values, which are in the derivatives of their vectors.

use std::marker::PhantomData;

use ndarray::{Array2, ArrayView1, ArrayView2, Axis};

use super::rounding;
use crate::ops::add_tangents;
use crate::tensor::{Tensor1, Tensor2};
use crate::{Element, custom_function, kernels};

/// What the element in row i and column j of a matrix is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// xⱼ − xᵢ. The quotients on the diagonal are 0.
    Differences,
    /// xⱼ + xᵢ. The quotients on the diagonal are 0.
    Sums,
    /// xⱼ
    Second,
}

impl Pairs {
    /// Returns the divisor, or `None` for a quotient that is 0.
    fn divisor<T: Element>(self, x: &ArrayView1<'_, T>, (i, j): (usize, usize)) -> Option<T> {
        match self {
            Self::Second => Some(x[j]),
            _ if i == j => None,
            Self::Sums => Some(x[j] + x[i]),
            Self::Differences => Some(x[j] - x[i]),
        }
    }
}

/// Returns the magnitude up to which a difference of values may be rounding alone.
fn uncertainty<T: Element>(x: &ArrayView1<'_, T>) -> T {
    rounding::<T>() * x.fold(T::zero(), |largest, x| largest.max(x.abs()))
}

/// The quotients of the elements of a matrix by differences or sums of pairs of values.
#[derive(Debug)]
pub struct OverPairs<T>(PhantomData<T>);

#[custom_function(gradcheck(w = [3, 3], x = [3], pairs = Pairs::Differences))]
impl<T: Element> OverPairs<T> {
    /// Returns the quotients of the elements of `w` by differences, sums or single ones of the values `x`. Where the divisor
    /// is 0 to rounding, the quotient of 0 is 0, and any other NaN.
    ///
    /// # Panics
    /// If `w` does not have as many columns as there are values, or for pairs as many rows.
    #[forward]
    #[track_caller]
    pub fn forward(w: ArrayView2<T>, x: ArrayView1<T>, pairs: Pairs) -> Array2<T> {
        assert!(
            w.ncols() == x.len() && (pairs == Pairs::Second || w.is_square()),
            "a matrix of shape {:?} for {} values",
            w.shape(),
            x.len()
        );
        let uncertainty = uncertainty(&x);
        let mut quotients = kernels::row_major(&w);
        for (at, w) in quotients.indexed_iter_mut() {
            *w = match pairs.divisor(&x, at) {
                Some(divisor) if divisor.abs() > uncertainty => *w / divisor,
                Some(_) if *w != T::zero() => T::nan(),
                _ => T::zero(),
            };
        }
        quotients
    }

    #[backward(w)]
    fn grad_w(
        grad_output: &Tensor2<T>,
        x: &Tensor1<T>,
        pairs: Pairs,
    ) -> Result<Tensor2<T>, String> {
        defined(grad_output, x, pairs)?;
        Ok(Self::apply(grad_output, x, pairs))
    }

    #[backward(x)]
    fn grad_x(
        grad_output: &Tensor2<T>,
        x: &Tensor1<T>,
        output: &Tensor2<T>,
        pairs: Pairs,
    ) -> Tensor1<T> {
        let slopes = Self::apply(&(grad_output * output), x, pairs);
        let of_second = -slopes.sum_axis(Axis(0));
        match pairs {
            Pairs::Differences => of_second + slopes.sum_axis(Axis(1)),
            Pairs::Sums => of_second - slopes.sum_axis(Axis(1)),
            Pairs::Second => of_second,
        }
    }

    #[jvp]
    fn jvp(
        tangent_w: Option<&Tensor2<T>>,
        tangent_x: Option<&Tensor1<T>>,
        x: &Tensor1<T>,
        output: &Tensor2<T>,
        pairs: Pairs,
    ) -> Option<Tensor2<T>> {
        let along_x = tangent_x.map(|second| {
            let first = second.unsqueeze(Axis(1));
            -match pairs {
                Pairs::Differences => output * (second - first),
                Pairs::Sums => output * (second + first),
                Pairs::Second => output * second,
            }
        });
        let along = add_tangents(tangent_w.cloned(), along_x)?;
        Some(Self::apply(&along, x, pairs))
    }
}

/// Checks that nothing but 0 is divided by 0, to rounding: no vector without a derivative matters.
pub(super) fn defined<T: Element>(
    w: &Tensor2<T>,
    x: &Tensor1<T>,
    pairs: Pairs,
) -> Result<(), String> {
    let (w, x) = (w.view(), x.view());
    let uncertainty = uncertainty(&x);
    let is_zero = |divisor: T| divisor.abs() <= uncertainty;
    let is_lost = |&(at, w): &((usize, usize), &T)| {
        *w != T::zero() && pairs.divisor(&x, at).is_some_and(is_zero)
    };
    match w.indexed_iter().find(is_lost) {
        None => Ok(()),
        Some(((_, j), _)) if pairs == Pairs::Second => Err(format!(
            "value {j} is 0 to rounding, so its vectors have no derivative"
        )),
        Some(((i, j), _)) => Err(format!(
            "values {} and {} are equal to rounding, so their vectors have no derivative",
            i.min(j),
            i.max(j)
        )),
    }
}
