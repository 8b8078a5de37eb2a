/// The gradients that `backward` of `Blend` returns.
#[derive(::core::fmt::Debug)]
struct BlendGradients<
    T: ::pullback::__private::Element,
    D: ::pullback::__private::ndarray::Dimension,
> {
    /// The gradient of `a`.
    a: ::pullback::__private::ndarray::Array<T, D>,
    /// The gradient of `b`.
    b: ::core::option::Option<::pullback::__private::ndarray::Array<T, D>>,
    /// The gradient of `parts`.
    parts: ::std::vec::Vec<
        ::pullback::__private::ndarray::Array<f32, ::pullback::__private::ndarray::Ix1>,
    >,
}
const _: () = {
    use ::pullback::__private as __p;
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    impl<T: Element, D: Dimension, F> Blend<T, D, F> {
        /// Applies `Blend` to tensors.
        /**
 | | type | | saved for the gradient of |
 |---|---|---|---|
 | `a` | `ArrayView<T, D>` | input |  |
 | `b` | `Option<ArrayView<T, D>>` | optional input |  |
 | `parts` | `&[ArrayView1<f32>]` | list of inputs |  |
 | `output` | `Array<T, D>` | output |  |

 It can be differentiated once.*/
        #[must_use]
        #[track_caller]
        pub(crate) fn apply(
            a: &__p::Tensor<T, D>,
            b: ::core::option::Option<&__p::Tensor<T, D>>,
            parts: &[impl __p::ListElement<f32, __p::ndarray::Ix1>],
        ) -> __p::Tensor<T, D> {
            let parts = __p::references::<f32, __p::ndarray::Ix1, _>(parts);
            let depth = __p::largest([
                __p::Argument::depth(a),
                __p::Argument::depth(b),
                __p::Argument::depth(&parts[..]),
            ]);
            if depth > 0 {
                return Self::__pullback_forward_mode_of_forward(depth, a, b, &parts[..]);
            }
            let edges = __p::Lists::new([
                __p::Argument::edges(a),
                __p::Argument::edges(b),
                __p::Argument::edges(&parts[..]),
            ]);
            let needs = edges.needs();
            let unrecorded = __p::unrecorded();
            let output = match __p::caught(|| {
                let output = Self::forward(
                    __p::View::view(a),
                    __p::View::view(b),
                    &__p::View::view(&parts[..]),
                );
                let output: __p::Tensor<T, D> = __p::IntoOutput::into_output(output);
                output
            }) {
                ::core::result::Result::Ok(returned) => returned,
                ::core::result::Result::Err(panic) => {
                    __p::forward_panicked(
                        panic,
                        &<Self as __p::Function>::SIGNATURE,
                        &[
                            __p::Argument::shapes(a),
                            __p::Argument::shapes(b),
                            __p::Argument::shapes(&parts[..]),
                        ],
                    )
                }
            };
            ::core::mem::drop(unrecorded);
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
                (),
                [__p::meta(&output)],
            );
            __p::attach(output, node, 0)
        }
        #[doc(hidden)]
        fn __pullback_backward_of_forward(
            (): (),
            call: &mut __p::Call<'_>,
        ) -> ::core::result::Result<(), __p::Error> {
            let mut grad_output = call.grad::<T, D>(0);
            if call.needs(0) || call.needs(1) || call.needs(2) {
                let BlendGradients { a: gradient_0, b: gradient_1, parts: gradient_2 } = match Self::backward(
                    grad_output.view(),
                ) {
                    returned => call.succeeded(returned)?,
                };
                if call.needs(0) {
                    call.give::<T, D>(0, gradient_0);
                }
                if call.needs(1) {
                    call.give::<T, D>(1, gradient_1);
                }
                if call.needs(2) {
                    call.give_list::<f32, __p::ndarray::Ix1>(2, gradient_2);
                }
            }
            ::core::result::Result::Ok(())
        }
        #[cold]
        #[track_caller]
        #[doc(hidden)]
        fn __pullback_forward_mode_of_forward(
            depth: ::core::primitive::u64,
            a: &__p::Tensor<T, D>,
            b: ::core::option::Option<&__p::Tensor<T, D>>,
            parts: &[&__p::Tensor1<f32>],
        ) -> __p::Tensor<T, D> {
            let mut call = __p::ForwardCall::new(<Self as __p::Function>::NAME, depth);
            let (a, _) = __p::Argument::split(a, &mut call);
            let (b, _) = __p::Argument::split(b, &mut call);
            let (parts, _) = __p::Argument::split(&parts[..], &mut call);
            let output = Self::apply(&a, ::core::option::Option::as_ref(&b), &parts[..]);
            call.without_tangent(output)
        }
    }
    const __SIGNATURE: __p::Signature = __p::Signature::new(
        "Blend",
        &[
            __p::InputSignature::tensor("a", "ArrayView<T, D>"),
            __p::InputSignature::tensor("b", "Option<ArrayView<T, D>>").optional(),
            __p::InputSignature::tensor("parts", "&[ArrayView1<f32>]").list(),
        ],
        &[__p::OutputSignature::tensor("output", "Array<T, D>")],
        &[],
    );
    ::pullback::__private::register!(__SIGNATURE, "", "Blend");
    impl<T: Element, D: Dimension, F> __p::Function for Blend<T, D, F> {
        const NAME: &'static ::core::primitive::str = "Blend";
        const SIGNATURE: __p::Signature = __SIGNATURE;
    }
};
