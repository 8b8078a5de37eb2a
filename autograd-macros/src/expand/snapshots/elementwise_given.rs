/**
 | | type | | saved for the gradient of |
 |---|---|---|---|
 | `x` | `ArrayView<'_, T, D>` | input | `x` |
 | `step` | `ArrayView<'_, T, D>` | input, not differentiable | `x` |
 | `levels` | `&[f64]` | value | `x` |
 | `scale` | `f64` | value | `x` |
 | `output` | `Array<T, D>` | output |  |

 It can be differentiated twice.
 Each pass, also in forward mode, is one loop over the elements, which computes this and its derivatives:

 ```text
 T::from(levels [0]) +(x/step).round()*step*scale
 ```*/
#[must_use]
#[track_caller]
#[allow(clippy::too_many_arguments, clippy::type_complexity)]
fn quantized<
    T: ::pullback::__private::Element,
    D: ::pullback::__private::ndarray::Dimension,
>(
    x: &::pullback::__private::Tensor<T, D>,
    step: &::pullback::__private::Tensor<T, D>,
    levels: &[f64],
    scale: f64,
) -> ::pullback::__private::Tensor<T, D> {
    <Quantized<T, D>>::apply(x, step, levels, scale)
}
/// The differentiable function behind `quantized`.
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
#[allow(dead_code)]
struct Quantized<T, D> {
    of: (::core::marker::PhantomData<T>, ::core::marker::PhantomData<D>),
}
#[allow(
    dead_code,
    clippy::inline_always,
    clippy::multiple_bound_locations,
    clippy::must_use_candidate,
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    clippy::trivially_copy_pass_by_ref,
    clippy::type_complexity,
)]
impl Quantized<(), ()> {
    /// Computes `quantized` of one element. It takes `f64` alone: other formulas cannot call it, because they would differentiate its body.
    fn formula<T: Real>(x: T, step: T, levels: &[f64], scale: f64) -> T
    where
        ::core::primitive::f64: ::pullback::__private::Literal<T>,
        T: ::pullback::__private::Plain,
    {
        Self::__pullback_formula(x, step, levels, scale)
    }
    #[doc(hidden)]
    #[inline(always)]
    fn __pullback_formula<T: Real>(x: T, step: T, levels: &[f64], scale: f64) -> T
    where
        ::core::primitive::f64: ::pullback::__private::Literal<T>,
    {
        T::from(levels[0]) + (x / step).round() * step * scale
    }
    #[doc(hidden)]
    #[allow(unused_parens)]
    #[inline(always)]
    fn __pullback_gradient_0<T: ::pullback::__private::Real>(
        grad_output: T,
        scale: f64,
    ) -> T
    where
        ::core::primitive::f64: ::pullback::__private::Literal<T>,
    {
        (grad_output * scale)
    }
}
const _: () = {
    use ::pullback::__private as __p;
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    impl<T: __p::Element, D: __p::ndarray::Dimension> Quantized<T, D> {
        /// Computes `quantized` on arrays, outside any graph.
        #[track_caller]
        #[allow(dead_code, clippy::needless_pass_by_value)]
        fn forward(
            x: __p::ndarray::ArrayView<'_, T, D>,
            step: __p::ndarray::ArrayView<'_, T, D>,
            levels: &[f64],
            scale: f64,
        ) -> __p::ndarray::Array<T, D> {
            let [y_0] = __p::values(
                &<Self as __p::Function>::SIGNATURE,
                &__p::Blocks::<
                    _,
                    2,
                    1,
                    2,
                >(QuantizedFormula {
                    levels: ::std::borrow::ToOwned::to_owned(levels),
                    scale: scale,
                }),
                &[x.into_dyn(), step.into_dyn()],
            );
            __p::ranked_array(y_0)
        }
        /// Applies `quantized` to tensors.
        #[must_use]
        #[track_caller]
        fn apply(
            x: &__p::Tensor<T, D>,
            step: &__p::Tensor<T, D>,
            levels: &[f64],
            scale: f64,
        ) -> __p::Tensor<T, D> {
            let [y_0] = __p::Elementwise::<
                Self,
            >::apply(
                __p::Blocks::<
                    _,
                    2,
                    1,
                    2,
                >(QuantizedFormula {
                    levels: ::std::borrow::ToOwned::to_owned(levels),
                    scale: scale,
                }),
                |loops| __p::Derivatives::Given(
                    __p::Blocks::<_, 3, 2, 1>(QuantizedGradients(loops.0)),
                ),
                [__p::dynamic(x), __p::dynamic(step)],
                &[0],
            );
            __p::ranked(y_0)
        }
    }
    struct QuantizedFormula {
        levels: <[f64] as ::std::borrow::ToOwned>::Owned,
        scale: f64,
    }
    impl __p::Formula<2, 1> for QuantizedFormula {
        type Entries = ();
        #[inline(always)]
        fn entries(&self, _: __p::Elements) {}
        #[inline(always)]
        fn at<R: __p::Real>(
            &self,
            _: &Self::Entries,
            _: __p::Place,
            [x_0,
            x_1,
            ]: [R; 2],
        ) -> [R; 1]
        where
            ::core::primitive::f64: __p::Literal<R>,
        {
            [
                <Quantized<
                    (),
                    (),
                >>::__pullback_formula(
                    x_0,
                    x_1,
                    ::core::borrow::Borrow::<[f64]>::borrow(&self.levels),
                    ::core::clone::Clone::clone(&self.scale),
                ),
            ]
        }
        fn list_values(
            &self,
            note: &mut dyn ::core::ops::FnMut(
                &'static ::core::primitive::str,
                ::core::primitive::usize,
            ),
        ) {
            __p::list_value(&self.levels, note);
            __p::list_value(&self.scale, note);
        }
    }
    struct QuantizedGradients(QuantizedFormula);
    impl __p::Formula<3, 2> for QuantizedGradients {
        type Entries = <QuantizedFormula as __p::Formula<2, 1>>::Entries;
        #[inline(always)]
        fn entries(&self, elements: __p::Elements) -> Self::Entries {
            __p::Formula::entries(&self.0, elements)
        }
        #[inline(always)]
        #[allow(unused_variables)]
        fn at<R: __p::Real>(
            &self,
            entries: &Self::Entries,
            at: __p::Place,
            [x_0,
            x_1,
            g_0,
            ]: [R; 3],
        ) -> [R; 2]
        where
            ::core::primitive::f64: __p::Literal<R>,
        {
            let (mut sums, [y_0]) = __p::pulled_back(
                &self.0,
                entries,
                at,
                [x_0, x_1],
                [g_0],
                [true, true],
            );
            sums[0] = <Quantized<
                (),
                (),
            >>::__pullback_gradient_0(g_0, ::core::clone::Clone::clone(&self.0.scale));
            sums
        }
        fn list_values(
            &self,
            note: &mut dyn ::core::ops::FnMut(
                &'static ::core::primitive::str,
                ::core::primitive::usize,
            ),
        ) {
            __p::Formula::list_values(&self.0, note);
        }
    }
    const __SIGNATURE: __p::Signature = __p::Signature::new(
            "quantized",
            &[
                __p::InputSignature::tensor("x", "ArrayView<'_, T, D>"),
                __p::InputSignature::tensor("step", "ArrayView<'_, T, D>").exempt(),
                __p::InputSignature::value("levels", "&[f64]"),
                __p::InputSignature::value("scale", "f64"),
            ],
            &[__p::OutputSignature::tensor("output", "Array<T, D>")],
            &[
                __p::SavedSignature::new("x", &["x"]),
                __p::SavedSignature::new("step", &["x"]),
                __p::SavedSignature::new("levels", &["x"]),
                __p::SavedSignature::new("scale", &["x"]),
            ],
        )
        .with_order(__p::Order::Times(2))
        .elementwise()
        .forward_mode();
    ::pullback::__private::register!(__SIGNATURE, "", "quantized");
    impl<T: __p::Element, D: __p::ndarray::Dimension> __p::Function for Quantized<T, D> {
        const NAME: &'static ::core::primitive::str = "quantized";
        const SIGNATURE: __p::Signature = __SIGNATURE;
    }
};
