#[allow(
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    clippy::trivially_copy_pass_by_ref,
    clippy::type_complexity,
)]
impl Weighted {
    fn forward(
        #[allow(unused_variables)]
        parts: &[ArrayView1<f64>],
        weight: ArrayView1<f64>,
    ) -> Array1<f64> {
        todo!()
    }
    fn backward(
        grad_output: ArrayView1<f64>,
        parts: &[ArrayView1<f64>],
    ) -> (Vec<Array1<f64>>, Array1<f64>) {
        todo!()
    }
    fn jvp(
        parts: &[ArrayView1<f64>],
        tangent_parts: &[Option<ArrayView1<f64>>],
        tangent_weight: ArrayView1<f64>,
    ) -> Array1<f64> {
        todo!()
    }
}
const _: () = {
    use ::pullback::__private as __p;
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    impl Weighted {
        /// Applies `Weighted` to tensors.
        /**
 | | type | | saved for the gradient of |
 |---|---|---|---|
 | `parts` | `&[ArrayView1<f64>]` | list of inputs | `parts`, `weight` |
 | `weight` | `ArrayView1<f64>` | input |  |
 | `output` | `Array1<f64>` | output |  |

 It can be differentiated once.
 It has a rule for forward mode.*/
        #[must_use]
        #[track_caller]
        fn apply(
            parts: &[impl __p::ListElement<f64, __p::ndarray::Ix1>],
            weight: &__p::Tensor1<f64>,
        ) -> __p::Tensor1<f64> {
            let parts = __p::references::<f64, __p::ndarray::Ix1, _>(parts);
            let depth = __p::largest([
                __p::Argument::depth(&parts[..]),
                __p::Argument::depth(weight),
            ]);
            if depth > 0 {
                return Self::__pullback_forward_mode_of_forward(
                    depth,
                    &parts[..],
                    weight,
                );
            }
            let edges = __p::Lists::new([
                __p::Argument::edges(&parts[..]),
                __p::Argument::edges(weight),
            ]);
            let needs = edges.needs();
            let unrecorded = __p::unrecorded();
            let output = match __p::caught(|| {
                let output = Self::forward(
                    &__p::View::view(&parts[..]),
                    __p::View::view(weight),
                );
                let output: __p::Tensor1<f64> = __p::IntoOutput::into_output(output);
                output
            }) {
                ::core::result::Result::Ok(returned) => returned,
                ::core::result::Result::Err(panic) => {
                    __p::forward_panicked(
                        panic,
                        &<Self as __p::Function>::SIGNATURE,
                        &[
                            __p::Argument::shapes(&parts[..]),
                            __p::Argument::shapes(weight),
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
                (__p::Save::save(&parts[..], needs[0] || needs[1]), ()),
                [__p::meta(&output)],
            );
            __p::attach(output, node, 0)
        }
        #[doc(hidden)]
        fn __pullback_backward_of_forward(
            (saved_0, ()): (::core::option::Option<__p::SavedList<f64>>, ()),
            call: &mut __p::Call<'_>,
        ) -> ::core::result::Result<(), __p::Error> {
            let context = __Context {
                parts: call.restore(saved_0, __p::Origin::Input(0))?,
            };
            let mut grad_output = call.grad::<f64, __p::ndarray::Ix1>(0);
            if call.needs(0) || call.needs(1) {
                let (gradient_0, gradient_1) = Self::backward(
                    grad_output.view(),
                    &__p::View::view(__p::saved(&context.parts)),
                );
                if call.needs(0) {
                    call.give_list::<f64, __p::ndarray::Ix1>(0, gradient_0);
                }
                if call.needs(1) {
                    call.give::<f64, __p::ndarray::Ix1>(1, gradient_1);
                }
            }
            ::core::result::Result::Ok(())
        }
        #[cold]
        #[track_caller]
        #[doc(hidden)]
        fn __pullback_forward_mode_of_forward(
            depth: ::core::primitive::u64,
            parts: &[&__p::Tensor1<f64>],
            weight: &__p::Tensor1<f64>,
        ) -> __p::Tensor1<f64> {
            let mut call = __p::ForwardCall::new(<Self as __p::Function>::NAME, depth);
            let (parts, tangent_parts) = __p::Argument::split(&parts[..], &mut call);
            let (weight, tangent_weight) = __p::Argument::split(weight, &mut call);
            let tangent_weight = call.or_zeros(tangent_weight, &weight);
            let output = Self::apply(&parts[..], &weight);
            if call.failed() {
                return call.without_tangent(output);
            }
            let tangent_output = Self::jvp(
                &__p::View::view(&parts),
                &__p::View::view(&tangent_parts),
                __p::View::view(&tangent_weight),
            );
            call.with_tangent(output, "output", tangent_output)
        }
    }
    struct __Context {
        parts: ::core::option::Option<::std::vec::Vec<__p::Tensor1<f64>>>,
    }
    const __SIGNATURE: __p::Signature = __p::Signature::new(
            "Weighted",
            &[
                __p::InputSignature::tensor("parts", "&[ArrayView1<f64>]").list(),
                __p::InputSignature::tensor("weight", "ArrayView1<f64>"),
            ],
            &[__p::OutputSignature::tensor("output", "Array1<f64>")],
            &[__p::SavedSignature::new("parts", &["parts", "weight"])],
        )
        .forward_mode();
    ::pullback::__private::register!(__SIGNATURE, "", "Weighted");
    impl __p::Function for Weighted {
        const NAME: &'static ::core::primitive::str = "Weighted";
        const SIGNATURE: __p::Signature = __SIGNATURE;
    }
};
