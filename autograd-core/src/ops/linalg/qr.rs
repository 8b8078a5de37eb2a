//! QR factors.

use std::marker::PhantomData;

use ndarray::{Array2, ArrayView2, Axis, s};

use super::rounding;
use crate::kernels::{self, Triangle};
use crate::ops::{TriangularPart, add_tangents};
use crate::tensor::{Tensor, Tensor2};
use crate::{Element, custom_function};

/// The factors of A = QR, where A has at least as many rows as columns.
#[derive(Debug)]
pub struct Qr<T>(PhantomData<T>);

#[custom_function(gradcheck(a = [4, 3]))]
impl<T: Element> Qr<T> {
    /// Returns Q, whose columns are orthonormal, and the upper triangle R of A = QR. The diagonal of R is not negative.
    #[doc = crate::math!(r"\frac{\partial L}{\partial A} = \left(G_Q + Q \left(P + P^\top\right)\right) R^{-\top}, \qquad P = \Phi\left(R \, G_R^\top - G_Q^\top Q\right)")]
    /// Here Φ is the lower triangle of a matrix, with half of its diagonal. Where columns of A are linearly dependent, the
    /// gradient is an error.
    ///
    /// # Panics
    /// If A has more columns than rows.
    #[forward(outputs(q, r))]
    #[track_caller]
    pub fn forward(a: ArrayView2<T>) -> (Array2<T>, Array2<T>) {
        let factors = kernels::Qr::new(&a);
        (factors.q(), factors.r().to_owned())
    }

    #[backward(a)]
    fn backward(
        grad_q: Option<&Tensor2<T>>,
        grad_r: Option<&Tensor2<T>>,
        q: &Tensor2<T>,
        r: &Tensor2<T>,
    ) -> Result<Option<Tensor2<T>>, String> {
        independent(r)?;
        let along_q = grad_q.map(|grad| -grad.t().matmul(q));
        let along_r = grad_r.map(|grad| r.matmul(&grad.t()));
        let whole = add_tangents(along_q, along_r).map(|inner| {
            let part = TriangularPart::apply(&inner, Triangle::Lower, T::from_f64(0.5));
            q.matmul(&(&part + part.t()))
        });
        let whole = add_tangents(whole, grad_q.cloned());
        Ok(whole.map(|whole| r.solve_triangular(&whole.t(), Triangle::Upper).t()))
    }

    #[jvp]
    fn jvp(tangent_a: &Tensor2<T>, q: &Tensor2<T>, r: &Tensor2<T>) -> (Tensor2<T>, Tensor2<T>) {
        let whole = r.t().solve_triangular(&tangent_a.t(), Triangle::Lower).t();
        let inner = q.t().matmul(&whole);
        let symmetric = &inner + inner.t();
        let part = TriangularPart::apply(&symmetric, Triangle::Upper, T::from_f64(0.5));
        (whole - q.matmul(&part), part.matmul(r))
    }
}

/// Checks that no column is a combination of those before it, to rounding: Q would have no derivative.
fn independent<T: Element>(r: &Tensor2<T>) -> Result<(), String> {
    for (i, column) in r.view().columns().into_iter().enumerate() {
        let largest = column.fold(T::zero(), |largest, x| largest.max(x.abs()));
        let squares: T = column.iter().map(|&x| (x / largest).powi(2)).sum();
        if column[i] <= rounding::<T>() * largest * squares.sqrt() || largest == T::zero() {
            return Err(format!(
                "column {i} is a combination of the columns before it, so Q has no derivative"
            ));
        }
    }
    Ok(())
}

impl<T: Element> Tensor2<T> {
    /// Returns Q, whose columns are orthonormal, as many as A has rows or columns, whichever are fewer, and the upper
    /// triangle R of A = QR. The diagonal of R is not negative, which makes the factors unique where the first columns of A
    /// are linearly independent. Where they are not, backward is an error.
    ///
    /// [`Qr`](crate::ops::Qr) has the formula of the gradient.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// let (q, r) = Tensor::from(array![[0.0, 2.0], [3.0, 4.0], [0.0, 0.0]]).qr();
    /// assert_eq!(q.to_array(), array![[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]);
    /// assert_eq!(r.to_array(), array![[3.0, 4.0], [0.0, 2.0]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn qr(&self) -> (Self, Self) {
        let [rows, columns] = [self.shape()[0], self.shape()[1]];
        if columns <= rows {
            return Qr::apply(self);
        }
        let (q, r) = Qr::apply(&self.slice(s![.., ..rows]));
        let rest = q.t().matmul(&self.slice(s![.., rows..]));
        let r = Tensor::concat(Axis(1), &[&r, &rest]);
        (q, r)
    }
}
