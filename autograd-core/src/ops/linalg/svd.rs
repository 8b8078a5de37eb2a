//! Singular value decompositions.

use std::marker::PhantomData;

use ndarray::{Array1, Array2, ArrayView2, Axis};

use super::failed;
use super::pairs::{OverPairs, Pairs, defined};
use crate::error::Error;
use crate::kernels;
use crate::ops::add_tangents;
use crate::tensor::{Tensor1, Tensor2};
use crate::{Element, custom_function};

/// The singular values of a matrix, and its singular vectors.
#[derive(Debug)]
pub struct Svd<T>(PhantomData<T>);

#[custom_function(gradcheck(a = [4, 3]))]
impl<T: Element> Svd<T> {
    /// Returns U, σ and `Vᵀ` with `A = U diag(σ) Vᵀ`, where the columns of U and V are orthonormal, and σ in descending order.
    #[doc = crate::math!(r"\frac{\partial L}{\partial A} = U \left(\operatorname{diag}(g) + F\right) V^\top + H_U + H_V")]
    #[doc = crate::math!(r"F_{ij} = \frac{X_{ij} \sigma_j + Y_{ij} \sigma_i}{\sigma_j^2 - \sigma_i^2}")]
    #[doc = crate::math!(r"X = U^\top G_U - G_U^\top U, \quad Y = V^\top G_V - G_V^\top V")]
    #[doc = crate::math!(r"H_U = \left(I - U U^\top\right) G_U \Sigma^{-1} V^\top")]
    #[doc = crate::math!(r"H_V = U \Sigma^{-1} G_V^\top \left(I - V V^\top\right)")]
    /// Here g is the gradient of σ. Singular vectors of singular values that are equal to rounding have no derivative, nor
    /// have those of 0 if the matrix is not square: a gradient that depends on them is an error, and their tangent is NaN.
    /// The gradient of the singular values is right.
    ///
    /// # Errors
    /// [`NotConverged`](crate::ErrorKind::NotConverged) if an element is infinite or NaN.
    #[forward(outputs(u, values, vt))]
    #[track_caller]
    pub fn forward(a: ArrayView2<T>) -> Result<(Array2<T>, Array1<T>, Array2<T>), Error> {
        kernels::svd(&a).map_err(failed("svd", &a))
    }

    #[backward(a)]
    fn backward(
        grad_u: Option<&Tensor2<T>>,
        grad_values: Option<&Tensor1<T>>,
        grad_vt: Option<&Tensor2<T>>,
        u: &Tensor2<T>,
        values: &Tensor1<T>,
        vt: &Tensor2<T>,
    ) -> Result<Option<Tensor2<T>>, String> {
        let of_u = grad_u.map(|grad| u.t().matmul(grad));
        let of_v = grad_vt.map(|grad| vt.matmul(&grad.t()));
        for inner in of_u.iter().chain(&of_v) {
            defined(inner, values, Pairs::Differences)?;
        }
        let [skew_u, skew_v] = [&of_u, &of_v].map(|inner| {
            let inner = inner.as_ref()?;
            Some((inner - inner.t()) * T::from_f64(0.5))
        });
        // (Xσⱼ + Yσᵢ) / (σⱼ² − σᵢ²) is half of (X + Y) / (σⱼ − σᵢ) + (X − Y) / (σⱼ + σᵢ).
        let minus_v = skew_v.as_ref().map(|skew| -skew);
        let inner = add_tangents(
            add_tangents(skew_u.clone(), skew_v)
                .map(|sum| OverPairs::apply(&sum, values, Pairs::Differences)),
            add_tangents(skew_u, minus_v)
                .map(|difference| OverPairs::apply(&difference, values, Pairs::Sums)),
        );
        let mut left = add_tangents(
            inner.map(|inner| u.matmul(&inner)),
            grad_values.map(|grad| u * grad),
        );
        if let (Some(grad), Some(inner)) = (grad_u, of_u)
            && u.shape()[0] > u.shape()[1]
        {
            let outside = grad - u.matmul(&inner);
            defined(&outside, values, Pairs::Second)?;
            left = add_tangents(
                left,
                Some(OverPairs::apply(&outside, values, Pairs::Second)),
            );
        }
        let mut whole = left.map(|left| left.matmul(vt));
        if let (Some(grad), Some(inner)) = (grad_vt, of_v)
            && vt.shape()[1] > vt.shape()[0]
        {
            let outside = grad.t() - vt.t().matmul(&inner);
            defined(&outside, values, Pairs::Second)?;
            let right = OverPairs::apply(&outside, values, Pairs::Second);
            whole = add_tangents(whole, Some(u.matmul(&right.t())));
        }
        Ok(whole)
    }

    #[jvp]
    fn jvp(
        tangent_a: &Tensor2<T>,
        u: &Tensor2<T>,
        values: &Tensor1<T>,
        vt: &Tensor2<T>,
    ) -> (Tensor2<T>, Tensor1<T>, Tensor2<T>) {
        let along_v = tangent_a.matmul(&vt.t());
        let along_u = tangent_a.t().matmul(u);
        let inner = u.t().matmul(&along_v);
        let half = T::from_f64(0.5);
        let symmetric = (&inner + inner.t()) * half;
        let skew = (&inner - inner.t()) * half;
        let differences = OverPairs::apply(&symmetric, values, Pairs::Differences);
        let sums = OverPairs::apply(&skew, values, Pairs::Sums);
        let mut of_u = u.matmul(&(&differences + &sums));
        let mut of_v = vt.t().matmul(&(differences - sums));
        if u.shape()[0] > u.shape()[1] {
            let outside = &along_v - u.matmul(&inner);
            of_u = of_u + OverPairs::apply(&outside, values, Pairs::Second);
        }
        if vt.shape()[1] > vt.shape()[0] {
            let outside = along_u - vt.t().matmul(&inner.t());
            of_v = of_v + OverPairs::apply(&outside, values, Pairs::Second);
        }
        (of_u, (u * along_v).sum_axis(Axis(0)), of_v.t())
    }
}

impl<T: Element> Tensor2<T> {
    /// Returns U, σ and `Vᵀ` with `A = U diag(σ) Vᵀ`, where the columns of U and V are orthonormal, as many as A has rows or
    /// columns, whichever are fewer, and the singular values σ are in descending order.
    ///
    /// The sign of each pair of singular vectors is arbitrary. Here the first element of a column of U whose magnitude is
    /// within 1 % of the largest is positive. Singular vectors of singular values that are equal to rounding have no
    /// derivative, nor have those of 0 if the matrix is not square: a backward pass that depends on them is an error. The
    /// gradient of the singular values is right. Vectors whose gradient is exactly 0 count as ones that the result does not
    /// depend on: where singular values of 0 are equal, U diag(σ) Vᵀ has no error and lacks a part of its gradient.
    /// [`Svd`](crate::ops::Svd) has the formula.
    ///
    /// # Errors
    /// [`NotConverged`](crate::ErrorKind::NotConverged) if an element is infinite or NaN.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// let a = Tensor::from(array![[0.0, 2.0], [-3.0, 0.0]]).set_requires_grad(true);
    /// let (u, values, vt) = a.svd()?;
    /// assert_eq!(u.to_array(), array![[0.0, 1.0], [1.0, 0.0]]);
    /// assert_eq!(values.to_array(), array![3.0, 2.0]);
    /// assert_eq!(vt.to_array(), array![[-1.0, 0.0], [0.0, 1.0]]);
    ///
    /// // The nuclear norm.
    /// values.sum().backward()?;
    /// assert_eq!(a.grad(), Some(array![[0.0, 1.0], [-1.0, 0.0]]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[track_caller]
    pub fn svd(&self) -> Result<(Self, Tensor1<T>, Self), Error> {
        Svd::apply(self)
    }
}
