//! The methods of reductions over one axis and over several.

/// Writes `x.R_axis(axis)`, `x.R_axes(axes)` and `x.R_keepdim(axes)` for a function of a tensor, its
/// [`Axes`](crate::kernels::Axes) and at most one further value. Where the function of a single axis is different, it
/// is given before that of several axes. The example shows the results of the rows of an array.
macro_rules! methods {
    ($function:path, $($rest:tt)*) => {
        methods! { |x, axes| $function(x, axes), |x, axes| $function(x, axes), $($rest)* }
    };
    ($function:path; $value:ident: $Value:ty = $example:literal, $($rest:tt)*) => {
        methods! {
            |x, axes| $function(x, axes, $value), |x, axes| $function(x, axes, $value), $value: $Value = $example, $($rest)*
        }
    };
    (
        |$x:ident, $of:ident| $single:expr, |$y:ident, $over:ident| $several:expr,
        $($value:ident: $Value:ty = $example:literal,)? [$axis:ident, $axes:ident, $keepdim:ident],
        $what:literal, $(single $of_single:literal, several $of_several:literal,)? of $array:literal: rows $rows:literal
    ) => {
        impl<T: $crate::Element, D: ndarray::Dimension> $crate::tensor::Tensor<T, D> {
            #[doc = concat!("Returns the ", $what, " along `axis`, which is removed.", $(" ", $of_single)?)]
            ///
            /// # Panics
            /// If the axis is out of range, or too few elements along it.
            ///
            /// ```
            /// use pullback::{Tensor, ndarray::{Axis, array}};
            ///
            #[doc = concat!("let x = Tensor::from(array!", $array, ");")]
            #[doc = concat!("let rows = x.", stringify!($axis), "(Axis(1)", $(", ", $example,)? ");")]
            #[doc = concat!("assert_eq!(rows.to_array(), array!", $rows, ");")]
            /// ```
            #[must_use]
            #[track_caller]
            pub fn $axis(&self, axis: ndarray::Axis $(, $value: $Value)?) -> $crate::tensor::Tensor<T, D::Smaller> {
                let ($x, $of) = (self, $crate::kernels::Axes::one(axis));
                $single
            }

            #[doc = concat!("Returns the ", $what, " over `axes`, which are removed: two fewer after `[0, 2]`, any number after a slice. Without axes, each element is reduced alone.", $(" ", $of_several)?)]
            ///
            /// # Panics
            /// If one of the axes does not exist or is named twice, or if there are too few elements along them.
            #[must_use]
            #[track_caller]
            pub fn $axes<A: $crate::ops::AxisList<D>>(
                &self,
                axes: A
                $(, $value: $Value)?
            ) -> $crate::tensor::Tensor<T, A::Left> {
                let ($y, $over) = (self, $crate::kernels::Axes::of(axes.axes()));
                $several
            }

            #[doc = concat!("Returns the ", $what, " over `axes`, which keep length 1.", $(" ", $of_several)?)]
            ///
            /// # Panics
            /// If one of the axes does not exist or is named twice, or if there are too few elements along them.
            #[must_use]
            #[track_caller]
            pub fn $keepdim(&self, axes: &[usize] $(, $value: $Value)?) -> Self {
                let ($y, $over) = (self, $crate::kernels::Axes::of(axes).keepdim());
                $several
            }
        }
    };
}

pub(in crate::ops) use methods;
