//! The methods of reductions over one axis and over several, which differ in their names alone.

/// Writes `x.R_axis(…)`, `x.R_keepdim(…)`, `x.R_axes(…)` and `x.R_axes_keepdim(…)` for a function of a
/// tensor, an [`Over`](crate::kernels::Over) and further values, and one for several axes, mostly the same.
/// The examples are of the array given: the results of its rows, and of the whole.
macro_rules! methods {
    (
        $single:path, $several:path, [$axis:ident, $keepdim:ident, $axes:ident, $axes_keepdim:ident],
        $($value:ident: $Value:ty = $example:literal,)?
        $what:literal, of $array:literal: rows $rows:literal, whole $whole:literal
    ) => {
        impl<T: $crate::Element, D: ndarray::Dimension> $crate::Tensor<T, D> {
            #[doc = concat!("The ", $what, " along one axis, which goes.")]
            ///
            /// # Panics
            /// If there is no such axis, or nothing along it that such a result could be of.
            ///
            /// ```
            /// use autograd_core::Tensor;
            /// use autograd_core::ndarray::{Axis, array};
            ///
            #[doc = concat!("let x = Tensor::from(array!", $array, ");")]
            #[doc = concat!("let rows = x.", stringify!($axis), "(Axis(1)", $(", ", $example,)? ");")]
            #[doc = concat!("assert_eq!(rows.to_array(), array!", $rows, ");")]
            /// ```
            #[must_use]
            #[track_caller]
            pub fn $axis(&self, axis: ndarray::Axis $(, $value: $Value)?) -> $crate::Tensor<T, D::Smaller> {
                $single(self, $crate::kernels::Over::axis(axis) $(, $value)?)
            }

            #[doc = concat!("The ", $what, " along one axis, which stays with length 1.")]
            ///
            /// # Panics
            /// If there is no such axis, or nothing along it that such a result could be of.
            ///
            /// ```
            /// use autograd_core::Tensor;
            /// use autograd_core::ndarray::{Axis, array};
            ///
            #[doc = concat!("let x = Tensor::from(array!", $array, ");")]
            #[doc = concat!("let rows = x.", stringify!($keepdim), "(Axis(1)", $(", ", $example,)? ");")]
            /// assert_eq!(rows.shape(), [2, 1]);
            /// ```
            #[must_use]
            #[track_caller]
            pub fn $keepdim(&self, axis: ndarray::Axis $(, $value: $Value)?) -> Self {
                $single(self, $crate::kernels::Over::axis(axis).keepdim() $(, $value)?)
            }

            #[doc = concat!("The ", $what, " over several axes, which go; over none of them, of each element alone.")]
            ///
            /// # Panics
            /// If there are not all of these axes, if one stands there twice, or if there is nothing along them
            /// that such a result could be of.
            ///
            /// ```
            /// use autograd_core::Tensor;
            /// use autograd_core::ndarray::{arr0, array};
            ///
            #[doc = concat!("let x = Tensor::from(array!", $array, ");")]
            #[doc = concat!("let whole = x.", stringify!($axes), "(&[0, 1]", $(", ", $example,)? ");")]
            #[doc = concat!("assert_eq!(whole.to_array(), arr0(", $whole, ").into_dyn());")]
            /// ```
            #[must_use]
            #[track_caller]
            pub fn $axes(&self, axes: &[usize] $(, $value: $Value)?) -> $crate::TensorD<T> {
                $several(self, $crate::kernels::Over::axes(axes) $(, $value)?)
            }

            #[doc = concat!("The ", $what, " over several axes, which stay with length 1.")]
            ///
            /// # Panics
            /// If there are not all of these axes, if one stands there twice, or if there is nothing along them
            /// that such a result could be of.
            ///
            /// ```
            /// use autograd_core::Tensor;
            /// use autograd_core::ndarray::array;
            ///
            #[doc = concat!("let x = Tensor::from(array!", $array, ");")]
            #[doc = concat!("let whole = x.", stringify!($axes_keepdim), "(&[0, 1]", $(", ", $example,)? ");")]
            #[doc = concat!("assert_eq!(whole.to_array(), array![[", $whole, "]]);")]
            /// ```
            #[must_use]
            #[track_caller]
            pub fn $axes_keepdim(&self, axes: &[usize] $(, $value: $Value)?) -> Self {
                $several(self, $crate::kernels::Over::axes(axes).keepdim() $(, $value)?)
            }
        }
    };
}

pub(in crate::ops) use methods;
