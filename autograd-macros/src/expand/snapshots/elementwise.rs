/// y = x / √(1 + (x/limit)²)
/**
 | | type | | saved for the gradient of |
 |---|---|---|---|
 | `x` | `ArrayView<'_, T, D>` | input | `x`, `limit` |
 | `limit` | `ArrayView<'_, T, D>` | input | `x`, `limit` |
 | `output` | `Array<T, D>` | output |  |

 It can be differentiated twice.
 Each pass, also in forward mode, is one loop over the elements, which computes this and its derivatives:

 ```text
 x/(1.0 +(x/limit).powi(2)).sqrt()
 ```*/
#[must_use]
#[track_caller]
#[allow(clippy::too_many_arguments, clippy::type_complexity)]
pub fn squash<
    T: ::pullback::__private::Element,
    D: ::pullback::__private::ndarray::Dimension,
>(
    x: &::pullback::__private::Tensor<T, D>,
    limit: &::pullback::__private::Tensor<T, D>,
) -> ::pullback::__private::Tensor<T, D> {
    <Squash<T, D>>::apply(x, limit)
}
/// The differentiable function behind `squash`.
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
#[allow(dead_code)]
pub struct Squash<T, D> {
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
impl Squash<(), ()> {
    /// Computes `squash` of one element. Other formulas may call it: their derivatives include its own.
    #[inline(always)]
    pub fn formula<T: Real>(x: T, limit: T) -> T
    where
        ::core::primitive::f64: ::pullback::__private::Literal<T>,
    {
        x / (1.0 + (x / limit).powi(2)).sqrt()
    }
}
const _: () = {
    use ::pullback::__private as __p;
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    impl<T: __p::Element, D: __p::ndarray::Dimension> Squash<T, D> {
        /// Computes `squash` on arrays, outside any graph.
        #[track_caller]
        #[allow(dead_code, clippy::needless_pass_by_value)]
        pub fn forward(
            x: __p::ndarray::ArrayView<'_, T, D>,
            limit: __p::ndarray::ArrayView<'_, T, D>,
        ) -> __p::ndarray::Array<T, D> {
            let [y_0] = __p::values(
                &<Self as __p::Function>::SIGNATURE,
                &__p::Blocks::<_, 2, 1, 2>(SquashFormula {}),
                &[x.into_dyn(), limit.into_dyn()],
            );
            __p::ranked_array(y_0)
        }
        /// Applies `squash` to tensors.
        #[must_use]
        #[track_caller]
        pub fn apply(
            x: &__p::Tensor<T, D>,
            limit: &__p::Tensor<T, D>,
        ) -> __p::Tensor<T, D> {
            let [y_0] = __p::Elementwise::<
                Self,
            >::apply(
                __p::Blocks::<_, 2, 1, 2>(SquashFormula {}),
                __p::Derivatives::Generated,
                [__p::dynamic(x), __p::dynamic(limit)],
                &[0, 1],
            );
            __p::ranked(y_0)
        }
    }
    struct SquashFormula {}
    impl __p::Formula<2, 1> for SquashFormula {
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
            [<Squash<(), ()>>::formula(x_0, x_1)]
        }
    }
    const __SIGNATURE: __p::Signature = __p::Signature::new(
            "squash",
            &[
                __p::InputSignature::tensor("x", "ArrayView<'_, T, D>"),
                __p::InputSignature::tensor("limit", "ArrayView<'_, T, D>"),
            ],
            &[__p::OutputSignature::tensor("output", "Array<T, D>")],
            &[
                __p::SavedSignature::new("x", &["x", "limit"]),
                __p::SavedSignature::new("limit", &["x", "limit"]),
            ],
        )
        .with_order(__p::Order::Times(2))
        .elementwise()
        .forward_mode();
    ::pullback::__private::register!(
        __SIGNATURE, "y = x / √(1 + (x/limit)²)", "squash"
    );
    impl<T: __p::Element, D: __p::ndarray::Dimension> __p::Function for Squash<T, D> {
        const NAME: &'static ::core::primitive::str = "squash";
        const SIGNATURE: __p::Signature = __SIGNATURE;
    }
};
