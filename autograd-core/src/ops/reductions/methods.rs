//! The methods of reductions over one axis and over several, which differ in their names alone.

/// Writes `x.R_axis(axis)`, `x.R_axes(axes)` and `x.R_keepdim(axes)` for a function of a tensor, its
/// [`Axes`](crate::kernels::Axes) and at most one further value: one for a single axis, one for several, mostly the
/// same. The examples are of the array given: the results
/// of its rows, and of the whole.
macro_rules! methods {
    (
        $single:path, $several:path, [$axis:ident, $axes:ident, $keepdim:ident],
        $($value:ident: $Value:ty = $example:literal,)?
        $what:literal, $(single $of_single:literal, several $of_several:literal,)? of $array:literal: rows $rows:literal, whole $whole:literal
    ) => {
        impl<T: $crate::Element, D: ndarray::Dimension> $crate::Tensor<T, D> {
            #[doc = concat!("Returns the ", $what, " along `axis`, which is removed.", $(" ", $of_single)?)]
            ///
            /// # Panics
            /// If there is no such axis, or too few elements along it.
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
                $single(self, $crate::kernels::Axes::one(axis) $(, $value)?)
            }

            #[doc = concat!("Returns the ", $what, " over `axes`, which are removed; over none, that of each element.", $(" ", $of_several)?)]
            ///
            /// # Panics
            /// If one of the axes does not exist or is named twice, or if there are too few elements along them.
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
                $several(self, $crate::kernels::Axes::of(axes) $(, $value)?)
            }

            #[doc = concat!("Returns the ", $what, " over `axes`, which keep length 1.", $(" ", $of_several)?)]
            ///
            /// # Panics
            /// If one of the axes does not exist or is named twice, or if there are too few elements along them.
            ///
            /// ```
            /// use autograd_core::Tensor;
            /// use autograd_core::ndarray::array;
            ///
            #[doc = concat!("let x = Tensor::from(array!", $array, ");")]
            #[doc = concat!("let whole = x.", stringify!($keepdim), "(&[0, 1]", $(", ", $example,)? ");")]
            #[doc = concat!("assert_eq!(whole.to_array(), array![[", $whole, "]]);")]
            /// ```
            #[must_use]
            #[track_caller]
            pub fn $keepdim(&self, axes: &[usize] $(, $value: $Value)?) -> Self {
                $several(self, $crate::kernels::Axes::of(axes).keepdim() $(, $value)?)
            }
        }
    };
}

pub(in crate::ops) use methods;
