#[allow(
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    clippy::trivially_copy_pass_by_ref,
    clippy::type_complexity,
)]
impl LinearFunction {
    /// y = x Wᵀ + b
    pub fn forward(
        input: ArrayView2<f32>,
        weight: ArrayView2<f32>,
        bias: Option<ArrayView1<f32>>,
    ) -> Array2<f32> {
        let output = input.dot(&weight.t());
        match bias {
            Some(bias) => output + bias,
            None => output,
        }
    }
    fn grad_input(grad_output: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> {
        grad_output.dot(&weight)
    }
    fn grad_weight(grad_output: ArrayView2<f32>, input: ArrayView2<f32>) -> Array2<f32> {
        grad_output.t().dot(&input)
    }
    fn grad_bias(grad_output: ArrayView2<f32>) -> Array1<f32> {
        grad_output.sum_axis(Axis(0))
    }
}
const _: () = {
    use ::pullback::__private as __p;
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    impl LinearFunction {
        /// y = x Wᵀ + b
        /**
 | | type | | saved for the gradient of |
 |---|---|---|---|
 | `input` | `ArrayView2<f32>` | input | `weight` |
 | `weight` | `ArrayView2<f32>` | input | `input` |
 | `bias` | `Option<ArrayView1<f32>>` | optional input |  |
 | `output` | `Array2<f32>` | output |  |

 It can be differentiated once.*/
        #[must_use]
        #[track_caller]
        pub fn apply(
            input: &__p::Tensor2<f32>,
            weight: &__p::Tensor2<f32>,
            bias: ::core::option::Option<&__p::Tensor1<f32>>,
        ) -> __p::Tensor2<f32> {
            let depth = __p::largest([
                __p::Argument::depth(input),
                __p::Argument::depth(weight),
                __p::Argument::depth(bias),
            ]);
            if depth > 0 {
                return Self::__pullback_forward_mode_of_forward(
                    depth,
                    input,
                    weight,
                    bias,
                );
            }
            let edges = [
                __p::Single::edge(input),
                __p::Single::edge(weight),
                __p::Single::edge(bias),
            ];
            let needs = __p::needs(&edges);
            let unrecorded = __p::unrecorded();
            let output = match __p::caught(|| {
                let output = Self::forward(
                    __p::View::view(input),
                    __p::View::view(weight),
                    __p::View::view(bias),
                );
                let output: __p::Tensor2<f32> = __p::IntoOutput::into_output(output);
                output
            }) {
                ::core::result::Result::Ok(returned) => returned,
                ::core::result::Result::Err(panic) => {
                    __p::forward_panicked(
                        panic,
                        &<Self as __p::Function>::SIGNATURE,
                        &[
                            __p::Argument::shapes(input),
                            __p::Argument::shapes(weight),
                            __p::Argument::shapes(bias),
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
                (
                    __p::Save::save(input, needs[1]),
                    (__p::Save::save(weight, needs[0]), ()),
                ),
                [__p::meta(&output)],
            );
            __p::attach(output, node, 0)
        }
        #[doc(hidden)]
        fn __pullback_backward_of_forward(
            (
                saved_0,
                (saved_1, ()),
            ): (
                ::core::option::Option<__p::Saved<f32>>,
                (::core::option::Option<__p::Saved<f32>>, ()),
            ),
            call: &mut __p::Call<'_>,
        ) -> ::core::result::Result<(), __p::Error> {
            let context = __Context {
                input: call.restore(saved_0, __p::Origin::Input(0))?,
                weight: call.restore(saved_1, __p::Origin::Input(1))?,
            };
            let mut grad_output = call.grad::<f32, __p::ndarray::Ix2>(0);
            if call.needs(0) {
                let gradient_0 = Self::grad_input(
                    grad_output.view(),
                    __p::View::view(__p::saved(&context.weight)),
                );
                call.give::<f32, __p::ndarray::Ix2>(0, gradient_0);
            }
            if call.needs(1) {
                let gradient_1 = Self::grad_weight(
                    grad_output.view(),
                    __p::View::view(__p::saved(&context.input)),
                );
                call.give::<f32, __p::ndarray::Ix2>(1, gradient_1);
            }
            if call.needs(2) {
                let gradient_2 = Self::grad_bias(grad_output.view());
                call.give::<f32, __p::ndarray::Ix1>(2, gradient_2);
            }
            ::core::result::Result::Ok(())
        }
        #[cold]
        #[track_caller]
        #[doc(hidden)]
        fn __pullback_forward_mode_of_forward(
            depth: ::core::primitive::u64,
            input: &__p::Tensor2<f32>,
            weight: &__p::Tensor2<f32>,
            bias: ::core::option::Option<&__p::Tensor1<f32>>,
        ) -> __p::Tensor2<f32> {
            let mut call = __p::ForwardCall::new(<Self as __p::Function>::NAME, depth);
            let (input, _) = __p::Argument::split(input, &mut call);
            let (weight, _) = __p::Argument::split(weight, &mut call);
            let (bias, _) = __p::Argument::split(bias, &mut call);
            let output = Self::apply(
                &input,
                &weight,
                ::core::option::Option::as_ref(&bias),
            );
            call.without_tangent(output)
        }
    }
    struct __Context {
        input: ::core::option::Option<__p::Tensor2<f32>>,
        weight: ::core::option::Option<__p::Tensor2<f32>>,
    }
    const __SIGNATURE: __p::Signature = __p::Signature::new(
        "LinearFunction",
        &[
            __p::InputSignature::tensor("input", "ArrayView2<f32>"),
            __p::InputSignature::tensor("weight", "ArrayView2<f32>"),
            __p::InputSignature::tensor("bias", "Option<ArrayView1<f32>>").optional(),
        ],
        &[__p::OutputSignature::tensor("output", "Array2<f32>")],
        &[
            __p::SavedSignature::new("input", &["weight"]),
            __p::SavedSignature::new("weight", &["input"]),
        ],
    );
    ::pullback::__private::register!(__SIGNATURE, "y = x Wᵀ + b", "LinearFunction");
    impl __p::Function for LinearFunction {
        const NAME: &'static ::core::primitive::str = "LinearFunction";
        const SIGNATURE: __p::Signature = __SIGNATURE;
    }
};
