/// y = x / √(1 + (x/limit)²)
///
/// | | type | | saved for the gradient of |
/// |---|---|---|---|
/// | `x` | `ArrayView<'_, T, D>` | input | `x`, `limit` |
/// | `limit` | `ArrayView<'_, T, D>` | input | `x`, `limit` |
/// | `steps` | `usize` | value | `x`, `limit` |
/// | `output` | `Array<T, D>` | output |  |
///
/// It can be differentiated twice.
/// Each pass, also in forward mode, is one loop over the elements, which computes this and its derivatives:
///
/// ```text
/// x/(1.0 +(x/limit).powi(2)).sqrt()
/// ```
#[must_use]
#[track_caller]
#[allow(clippy::too_many_arguments, clippy::type_complexity)]
pub fn squash<T, D>(
    x: &::pullback::__private::Tensor<T, D>,
    limit: &::pullback::__private::Tensor<T, D>,
    steps: usize,
) -> ::pullback::__private::Tensor<T, D>
where
    T: ::pullback::__private::Element,
    D: ::pullback::__private::ndarray::Dimension,
{
    <Squash<T, D>>::apply(x, limit, steps)
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
    /// Computes `squash` of numbers, for other functions of numbers.
    ///
    /// Their derivatives go through it.
    #[inline(always)]
    pub fn scalar<T: Real>(x: T, limit: T, steps: usize) -> T
    where
        f64: ::pullback::__private::Literal<T>,
    {
        x / (1.0 + (x / limit).powi(2)).sqrt()
    }
}
/// The gradients of `Squash` that a backward pass needs.
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
#[derive(::core::cmp::PartialEq, ::core::cmp::Eq)]
#[allow(dead_code, clippy::struct_excessive_bools)]
pub struct SquashNeedsInputGrad {
    /// Whether the gradient of `x` is needed.
    pub x: bool,
    /// Whether the gradient of `limit` is needed.
    pub limit: bool,
}
const _: () = {
    use ::pullback::__private as __p;
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    impl<T, D> Squash<T, D>
    where
        T: __p::Element,
        D: __p::ndarray::Dimension,
    {
        /// Computes `squash` on arrays, outside any graph.
        #[track_caller]
        #[allow(
            clippy::too_many_arguments,
            clippy::type_complexity,
            clippy::needless_pass_by_value
        )]
        pub fn forward(
            x: __p::ndarray::ArrayView<'_, T, D>,
            limit: __p::ndarray::ArrayView<'_, T, D>,
            steps: usize,
        ) -> __p::ndarray::Array<T, D> {
            let [y_0] = __p::values(
                <Self as __p::Function>::NAME,
                &__p::Blocks::<_, 2, 1, 2>(SquashFormula { steps: steps }),
                &[x, limit],
            );
            y_0
        }
        #[track_caller]
        #[allow(clippy::too_many_arguments, clippy::type_complexity)]
        fn gradients(
            grad_output: ::core::option::Option<&__p::Tensor<T, D>>,
            x: &__p::Tensor<T, D>,
            limit: &__p::Tensor<T, D>,
            steps: &usize,
            needs: SquashNeedsInputGrad,
        ) -> (
            ::core::option::Option<__p::Tensor<T, D>>,
            ::core::option::Option<__p::Tensor<T, D>>,
        ) {
            let [g_0, g_1] = __p::gradients(
                <Self as __p::Function>::NAME,
                __p::Blocks::<
                    _,
                    2,
                    1,
                    2,
                >(SquashFormula {
                    steps: ::core::clone::Clone::clone(steps),
                }),
                [x, limit],
                [grad_output],
                [needs.x, needs.limit],
            );
            (g_0, g_1)
        }
        #[track_caller]
        #[allow(clippy::too_many_arguments, clippy::type_complexity)]
        fn tangents(
            tangent_x: ::core::option::Option<&__p::Tensor<T, D>>,
            tangent_limit: ::core::option::Option<&__p::Tensor<T, D>>,
            x: &__p::Tensor<T, D>,
            limit: &__p::Tensor<T, D>,
            steps: &usize,
        ) -> __p::Tensor<T, D> {
            let [y_0] = __p::tangents(
                <Self as __p::Function>::NAME,
                __p::Blocks::<
                    _,
                    2,
                    1,
                    2,
                >(SquashFormula {
                    steps: ::core::clone::Clone::clone(steps),
                }),
                [x, limit],
                [tangent_x, tangent_limit],
            );
            y_0
        }
        /// Applies `squash` to tensors.
        ///
        /// | | type | | saved for the gradient of |
        /// |---|---|---|---|
        /// | `x` | `ArrayView<'_, T, D>` | input | `x`, `limit` |
        /// | `limit` | `ArrayView<'_, T, D>` | input | `x`, `limit` |
        /// | `steps` | `usize` | value | `x`, `limit` |
        /// | `output` | `Array<T, D>` | output |  |
        ///
        /// It can be differentiated twice.
        /// Each pass, also in forward mode, is one loop over the elements, which computes this and its derivatives:
        ///
        /// ```text
        /// x/(1.0 +(x/limit).powi(2)).sqrt()
        /// ```
        #[must_use]
        #[track_caller]
        pub fn apply(
            x: &__p::Tensor<T, D>,
            limit: &__p::Tensor<T, D>,
            steps: usize,
        ) -> __p::Tensor<T, D> {
            let level = __p::largest([
                __p::Argument::level(x),
                __p::Argument::level(limit),
            ]);
            if level > 0 {
                return Self::__pullback_forward_mode_of_forward(level, x, limit, steps);
            }
            let edges = [__p::Single::edge(x), __p::Single::edge(limit)];
            let needs = __p::needs(&edges);
            let saved_steps = __p::save_if(
                needs[0] || needs[1],
                || __p::SavedNumber::new(&steps),
            );
            let unrecorded = __p::unrecorded();
            let output = Self::forward(
                __p::View::view(x),
                __p::View::view(limit),
                steps,
            );
            ::core::mem::drop(unrecorded);
            let output: __p::Tensor<T, D> = __p::IntoOutput::into_output(output);
            if !__p::any(&needs) {
                return output;
            }
            let node = __p::record(
                const {
                    &__p::Rule {
                        signature: &<Self as __p::Function>::SIGNATURE,
                        backward: Self::__pullback_backward_of_forward,
                    }
                },
                edges,
                (
                    __p::Save::save(x, needs[0] || needs[1]),
                    (__p::Save::save(limit, needs[0] || needs[1]), (saved_steps, ())),
                ),
                [__p::meta(&output)],
            );
            __p::attach(output, node, 0)
        }
        #[doc(hidden)]
        fn __pullback_backward_of_forward(
            (
                saved_0,
                (saved_1, (saved_2, ())),
            ): (
                ::core::option::Option<__p::Saved<T>>,
                (
                    ::core::option::Option<__p::Saved<T>>,
                    (::core::option::Option<__p::SavedNumber<usize>>, ()),
                ),
            ),
            call: &mut __p::Call<'_>,
        ) -> ::core::result::Result<(), __p::Error> {
            let needs_input_grad = SquashNeedsInputGrad {
                x: call.needs(0),
                limit: call.needs(1),
            };
            let context = __Context::<T, D> {
                x: call.restore(saved_0, __p::Origin::Input(0))?,
                limit: call.restore(saved_1, __p::Origin::Input(1))?,
                steps: saved_2,
                __of: ::core::marker::PhantomData,
            };
            let mut grad_output = call.grad::<T, D>(0);
            if call.needs(0) || call.needs(1) {
                let (gradient_0, gradient_1) = Self::gradients(
                    grad_output.tensor_optional(),
                    __p::saved(&context.x),
                    __p::saved(&context.limit),
                    ::std::borrow::Borrow::<
                        usize,
                    >::borrow(&**__p::saved(&context.steps)),
                    needs_input_grad,
                );
                if call.needs(0) {
                    call.give::<T, D>(0, gradient_0);
                }
                if call.needs(1) {
                    call.give::<T, D>(1, gradient_1);
                }
            }
            ::core::result::Result::Ok(())
        }
        #[cold]
        #[track_caller]
        #[doc(hidden)]
        fn __pullback_forward_mode_of_forward(
            level: u64,
            x: &__p::Tensor<T, D>,
            limit: &__p::Tensor<T, D>,
            steps: usize,
        ) -> __p::Tensor<T, D> {
            let mut call = __p::ForwardCall::new(<Self as __p::Function>::NAME, level);
            let (x, tangent_x) = __p::Argument::split(x, &mut call);
            let (limit, tangent_limit) = __p::Argument::split(limit, &mut call);
            let saved_steps = __p::save_if(true, || __p::SavedNumber::new(&steps));
            let output = Self::apply(&x, &limit, steps);
            if call.failed() {
                return call.without_tangent(output);
            }
            let tangent_output = Self::tangents(
                ::core::option::Option::as_ref(&tangent_x),
                ::core::option::Option::as_ref(&tangent_limit),
                &x,
                &limit,
                ::std::borrow::Borrow::<usize>::borrow(&**__p::saved(&saved_steps)),
            );
            call.with_tangent(output, "output", tangent_output)
        }
    }
    struct __Context<T, D>
    where
        T: __p::Element,
        D: __p::ndarray::Dimension,
    {
        x: ::core::option::Option<__p::Tensor<T, D>>,
        limit: ::core::option::Option<__p::Tensor<T, D>>,
        steps: ::core::option::Option<__p::SavedNumber<usize>>,
        __of: ::core::marker::PhantomData<(fn(*const T), fn(*const D))>,
    }
    struct SquashFormula {
        steps: usize,
    }
    impl __p::Formula<2, 1> for SquashFormula {
        #[inline(always)]
        fn at<R: __p::Real>(&self, [x_0, x_1]: [R; 2]) -> [R; 1]
        where
            f64: __p::Literal<R>,
        {
            [
                <Squash<
                    (),
                    (),
                >>::scalar(x_0, x_1, ::core::clone::Clone::clone(&self.steps)),
            ]
        }
    }
    const __SIGNATURE: __p::Signature = __p::Signature::new(
            "squash",
            &[
                __p::InputSignature::tensor("x", "ArrayView<'_, T, D>"),
                __p::InputSignature::tensor("limit", "ArrayView<'_, T, D>"),
                __p::InputSignature::value("steps", "usize"),
            ],
            &[__p::OutputSignature::tensor("output", "Array<T, D>")],
            &[
                __p::SavedSignature::new("x", &["x", "limit"]),
                __p::SavedSignature::new("limit", &["x", "limit"]),
                __p::SavedSignature::new("steps", &["x", "limit"]),
            ],
        )
        .with_order(__p::Order::Times(2))
        .forward_mode();
    ::pullback::__private::register!(__SIGNATURE, "y = x / √(1 + (x/limit)²)");
    impl<T, D> __p::Function for Squash<T, D>
    where
        T: __p::Element,
        D: __p::ndarray::Dimension,
    {
        const NAME: &'static str = "squash";
        const SIGNATURE: __p::Signature = __SIGNATURE;
    }
};
