/**
 | | type | | saved for the gradient of |
 |---|---|---|---|
 | `x` | `ArrayView<'_, T, D>` | input | `x` |
 | `label` | `&[i64]` | value | `x` |
 | `output` | `Array<T, D>` | output |  |

 It can be differentiated once.
 Each pass, also in forward mode, is one loop over the elements, which computes this and its derivatives:

 ```text
 x*label as f64
 ```*/
#[must_use]
#[track_caller]
#[allow(clippy::too_many_arguments, clippy::type_complexity)]
fn chosen<
    T: ::pullback::__private::Element,
    D: ::pullback::__private::ndarray::Dimension,
>(
    x: &::pullback::__private::Tensor<T, D>,
    label: &[i64],
) -> ::pullback::__private::Tensor<T, D> {
    <Chosen<T, D>>::apply(x, label)
}
/// The differentiable function behind `chosen`.
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
#[allow(dead_code)]
struct Chosen<T, D> {
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
impl Chosen<(), ()> {
    /// Computes `chosen` of one element. It takes `f64` alone: other formulas cannot call it, because they would differentiate its body.
    fn formula<T: Real>(x: T, label: i64) -> T
    where
        ::core::primitive::f64: ::pullback::__private::Literal<T>,
        T: ::pullback::__private::Plain,
    {
        Self::__pullback_formula(x, label)
    }
    #[doc(hidden)]
    #[inline(always)]
    fn __pullback_formula<T: Real>(x: T, label: i64) -> T
    where
        ::core::primitive::f64: ::pullback::__private::Literal<T>,
    {
        x * label as f64
    }
    #[doc(hidden)]
    #[allow(unused_parens)]
    fn __pullback_gradient_0(
        grad_output: ::core::primitive::f64,
        x: ::core::primitive::f64,
        label: i64,
    ) -> ::core::primitive::f64 {
        #[allow(dead_code)]
        type T = ::core::primitive::f64;
        (grad_output * slope(x, label))
    }
}
const _: () = {
    use ::pullback::__private as __p;
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    impl<T: __p::Element, D: __p::ndarray::Dimension> Chosen<T, D> {
        /// Computes `chosen` on arrays, outside any graph.
        #[track_caller]
        #[allow(dead_code, clippy::needless_pass_by_value)]
        fn forward(
            x: __p::ndarray::ArrayView<'_, T, D>,
            label: &[i64],
        ) -> __p::ndarray::Array<T, D> {
            let [y_0] = __p::values(
                &<Self as __p::Function>::SIGNATURE,
                &__p::Blocks::<
                    _,
                    1,
                    1,
                    1,
                >(ChosenFormula {
                    label: ::std::borrow::ToOwned::to_owned(label),
                }),
                &[x.into_dyn()],
            );
            __p::ranked_array(y_0)
        }
        /// Applies `chosen` to tensors.
        #[must_use]
        #[track_caller]
        fn apply(x: &__p::Tensor<T, D>, label: &[i64]) -> __p::Tensor<T, D> {
            let [y_0] = __p::Elementwise::<
                Self,
            >::apply(
                __p::Blocks::<
                    _,
                    1,
                    1,
                    1,
                >(ChosenFormula {
                    label: ::std::borrow::ToOwned::to_owned(label),
                }),
                |loops| __p::Derivatives::Given(
                    __p::Blocks::<_, 2, 1, 0>(ChosenGradients(loops.0)),
                ),
                [__p::dynamic(x)],
                &[0],
            );
            __p::ranked(y_0)
        }
    }
    struct ChosenFormula {
        label: <[i64] as ::std::borrow::ToOwned>::Owned,
    }
    impl __p::Formula<1, 1> for ChosenFormula {
        type Entries = (__p::Entries<i64>,);
        #[inline(always)]
        fn entries(&self, elements: __p::Elements) -> Self::Entries {
            (__p::entries::<i64>(&self.label, elements),)
        }
        #[inline(always)]
        fn at<R: __p::Real>(
            &self,
            entries: &Self::Entries,
            at: __p::Place,
            [x_0,
            ]: [R; 1],
        ) -> [R; 1]
        where
            ::core::primitive::f64: __p::Literal<R>,
        {
            [<Chosen<(), ()>>::__pullback_formula(x_0, entries.0.at(at))]
        }
        fn list_values(
            &self,
            note: &mut dyn ::core::ops::FnMut(
                &'static ::core::primitive::str,
                ::core::primitive::usize,
            ),
        ) {
            __p::list_value(&self.label, note);
        }
        fn list_entries(
            &self,
            note: &mut dyn ::core::ops::FnMut(
                &'static ::core::primitive::str,
                ::core::primitive::usize,
            ),
        ) {
            note("label", self.label.len());
        }
    }
    struct ChosenGradients(ChosenFormula);
    impl __p::Formula<2, 1> for ChosenGradients {
        type Entries = <ChosenFormula as __p::Formula<1, 1>>::Entries;
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
            g_0,
            ]: [R; 2],
        ) -> [R; 1]
        where
            ::core::primitive::f64: __p::Literal<R>,
        {
            let (mut sums, [y_0]) = __p::pulled_back(
                &self.0,
                entries,
                at,
                [x_0],
                [g_0],
                [true],
            );
            let plain_0 = <Chosen<
                (),
                (),
            >>::__pullback_gradient_0(
                __p::plain(g_0),
                __p::plain(x_0),
                entries.0.at(at),
            );
            sums[0] = <R as ::core::convert::From<
                ::core::primitive::f64,
            >>::from(plain_0);
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
            "chosen",
            &[
                __p::InputSignature::tensor("x", "ArrayView<'_, T, D>"),
                __p::InputSignature::value("label", "&[i64]"),
            ],
            &[__p::OutputSignature::tensor("output", "Array<T, D>")],
            &[
                __p::SavedSignature::new("x", &["x"]),
                __p::SavedSignature::new("label", &["x"]),
            ],
        )
        .with_order(__p::Order::Times(1))
        .elementwise()
        .forward_mode();
    ::pullback::__private::register!(__SIGNATURE, "", "chosen");
    impl<T: __p::Element, D: __p::ndarray::Dimension> __p::Function for Chosen<T, D> {
        const NAME: &'static ::core::primitive::str = "chosen";
        const SIGNATURE: __p::Signature = __SIGNATURE;
    }
};
