/**
 | | type | | saved for the gradient of |
 |---|---|---|---|
 | `tau` | `ArrayView<'_, T, D>` | input | `tau`, `v`, `x` |
 | `v` | `ArrayView<'_, T, D>` | input | `tau`, `v`, `x` |
 | `x` | `ArrayView<'_, T, D::Larger>` | input | `tau`, `v`, `x` |
 | `scale` | `f64` | value | `tau`, `v`, `x` |
 | `last` | `Array<T, D>` | output |  |
 | `rate` | `Array<T, D::Larger>` | output |  |

 It can be differentiated twice.
 It runs once for each step, along the first axis of `x`, from the last one.
 Each pass, also in forward mode, is one loop over the elements, which computes this and its derivatives:

 ```text
 v = tau*v + scale*x; (v, v.sigmoid())
 ```*/
#[must_use]
#[track_caller]
#[allow(clippy::too_many_arguments, clippy::type_complexity)]
pub fn leaky<
    T: ::pullback::__private::Element,
    D: ::pullback::__private::ndarray::Dimension,
>(
    tau: &::pullback::__private::Tensor<T, D>,
    v: &::pullback::__private::Tensor<T, D>,
    x: &::pullback::__private::Tensor<
        T,
        <D as ::pullback::__private::ndarray::Dimension>::Larger,
    >,
    scale: f64,
) -> (
    ::pullback::__private::Tensor<T, D>,
    ::pullback::__private::Tensor<
        T,
        <D as ::pullback::__private::ndarray::Dimension>::Larger,
    >,
) {
    <Leaky<T, D>>::apply(tau, v, x, scale)
}
/// The differentiable function behind `leaky`.
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
#[allow(dead_code)]
pub struct Leaky<T, D> {
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
impl Leaky<(), ()> {
    /// Computes `leaky` of one element. Other formulas may call it: their derivatives include its own.
    #[inline(always)]
    pub fn formula<T: Real>(tau: T, mut v: T, x: T, scale: f64) -> (T, T)
    where
        ::core::primitive::f64: ::pullback::__private::Literal<T>,
    {
        v = tau * v + scale * x;
        (v, v.sigmoid())
    }
}
const _: () = {
    use ::pullback::__private as __p;
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    impl<T: __p::Element, D: __p::ndarray::Dimension> Leaky<T, D> {
        /// Computes `leaky` on arrays, outside any graph.
        #[track_caller]
        #[allow(dead_code, clippy::needless_pass_by_value)]
        pub fn forward(
            tau: __p::ndarray::ArrayView<'_, T, D>,
            v: __p::ndarray::ArrayView<'_, T, D>,
            x: __p::ndarray::ArrayView<'_, T, D::Larger>,
            scale: f64,
        ) -> (__p::ndarray::Array<T, D>, __p::ndarray::Array<T, D::Larger>) {
            let [y_0, y_1] = __p::scan_values(
                <Self as __p::Function>::NAME,
                __p::Scans::<_, 3, 2, 1, 1>(LeakyFormula { scale: scale }),
                true,
                [v.into_dyn(), x.into_dyn(), tau.into_dyn()],
                &["v", "x", "tau"],
            );
            (__p::ranked_array(y_0), __p::ranked_array(y_1))
        }
        /// Applies `leaky` to tensors.
        #[must_use]
        #[track_caller]
        pub fn apply(
            tau: &__p::Tensor<T, D>,
            v: &__p::Tensor<T, D>,
            x: &__p::Tensor<T, <D as __p::ndarray::Dimension>::Larger>,
            scale: f64,
        ) -> (
            __p::Tensor<T, D>,
            __p::Tensor<T, <D as __p::ndarray::Dimension>::Larger>,
        ) {
            let [y_0, y_1] = __p::Scan::<
                Self,
            >::apply(
                __p::Scans::<_, 3, 2, 1, 1>(LeakyFormula { scale: scale }),
                true,
                [__p::dynamic(v), __p::dynamic(x), __p::dynamic(tau)],
                &["v", "x", "tau"],
                &[2, 0, 1],
            );
            (__p::ranked(y_0), __p::ranked(y_1))
        }
    }
    struct LeakyFormula {
        scale: f64,
    }
    impl __p::Formula<3, 2> for LeakyFormula {
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
            x_2,
            ]: [R; 3],
        ) -> [R; 2]
        where
            ::core::primitive::f64: __p::Literal<R>,
        {
            let (y_0, y_1) = <Leaky<
                (),
                (),
            >>::formula(x_2, x_0, x_1, ::core::clone::Clone::clone(&self.scale));
            [y_0, y_1]
        }
        const IS_REVERSED: ::core::primitive::bool = true;
        #[inline(always)]
        fn pulled_back<__Number: __p::Real>(
            &self,
            entries: &Self::Entries,
            at: __p::Place,
            x: [__Number; 3],
            g: [__Number; 2],
        ) -> ([__Number; 3], [__Number; 2])
        where
            ::core::primitive::f64: __p::Literal<__Number>,
        {
            let scale = ::core::clone::Clone::clone(&self.scale);
            let number_0 = x[0];
            let number_1 = x[1];
            let number_2 = x[2];
            let number_3 = number_2 * number_0;
            let number_4 = scale * number_1;
            let number_5 = number_3 + number_4;
            let operation_6 = __p::Real::sigmoid(
                __p::variable::<__Number, 1>(number_5, 0),
            );
            let number_6 = __p::value_of(&operation_6);
            let adjoint_6 = g[1];
            let adjoint_5 = g[0] + __p::passed(adjoint_6, &operation_6, 0);
            let adjoint_4 = adjoint_5;
            let adjoint_3 = adjoint_5;
            let adjoint_2 = adjoint_3 * number_0;
            let adjoint_1 = adjoint_4 * scale;
            let adjoint_0 = adjoint_3 * number_2;
            ([adjoint_0, adjoint_1, adjoint_2], [number_5, number_6])
        }
        fn list_values(
            &self,
            note: &mut dyn ::core::ops::FnMut(
                &'static ::core::primitive::str,
                ::core::primitive::usize,
            ),
        ) {
            __p::list_value(&self.scale, note);
        }
    }
    const __SIGNATURE: __p::Signature = __p::Signature::new(
            "leaky",
            &[
                __p::InputSignature::tensor("tau", "ArrayView<'_, T, D>"),
                __p::InputSignature::tensor("v", "ArrayView<'_, T, D>"),
                __p::InputSignature::tensor("x", "ArrayView<'_, T, D::Larger>").step(),
                __p::InputSignature::value("scale", "f64"),
            ],
            &[
                __p::OutputSignature::tensor("last", "Array<T, D>").state("v"),
                __p::OutputSignature::tensor("rate", "Array<T, D::Larger>").step(),
            ],
            &[
                __p::SavedSignature::new("v", &["tau", "v", "x"]),
                __p::SavedSignature::new("x", &["tau", "v", "x"]),
                __p::SavedSignature::new("tau", &["tau", "v", "x"]),
                __p::SavedSignature::new("scale", &["tau", "v", "x"]),
                __p::SavedSignature::new("states", &["tau", "v", "x"]),
            ],
        )
        .with_order(__p::Order::Times(2))
        .forward_mode();
    ::pullback::__private::register!(__SIGNATURE, "", "leaky");
    impl<T: __p::Element, D: __p::ndarray::Dimension> __p::Function for Leaky<T, D> {
        const NAME: &'static ::core::primitive::str = "leaky";
        const SIGNATURE: __p::Signature = __SIGNATURE;
    }
};
