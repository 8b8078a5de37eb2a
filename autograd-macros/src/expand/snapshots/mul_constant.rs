#[allow(
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    clippy::trivially_copy_pass_by_ref,
    clippy::type_complexity,
)]
impl MulConstant {
    pub fn forward(tensor: ArrayView2<f64>, constant: f64) -> Array2<f64> {
        &tensor * constant
    }
    fn backward(grad_output: Array2<f64>, constant: f64) -> Array2<f64> {
        grad_output * constant
    }
}
const _: () = {
    use ::pullback::__private as __p;
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    impl MulConstant {
        /// Applies `MulConstant` to tensors.
        ///
        /// | | type | | saved for the gradient of |
        /// |---|---|---|---|
        /// | `tensor` | `ArrayView2<f64>` | input |  |
        /// | `constant` | `f64` | value | `tensor` |
        /// | `output` | `Array2<f64>` | output |  |
        ///
        /// It can be differentiated once.
        #[must_use]
        #[track_caller]
        pub fn apply(tensor: &__p::Tensor2<f64>, constant: f64) -> __p::Tensor2<f64> {
            let depth = __p::largest([__p::Argument::depth(tensor)]);
            if depth > 0 {
                return Self::__pullback_forward_mode_of_forward(depth, tensor, constant);
            }
            let edges = [__p::Single::edge(tensor)];
            let needs = __p::needs(&edges);
            let saved_constant = __p::save_if(
                needs[0],
                || __p::SavedNumber::new(&constant),
            );
            let unrecorded = __p::unrecorded();
            let output = Self::forward(__p::View::view(tensor), constant);
            ::core::mem::drop(unrecorded);
            let output: __p::Tensor2<f64> = __p::IntoOutput::into_output(output);
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
                (saved_constant, ()),
                [__p::meta(&output)],
            );
            __p::attach(output, node, 0)
        }
        #[doc(hidden)]
        fn __pullback_backward_of_forward(
            (saved_0, ()): (::core::option::Option<__p::SavedNumber<f64>>, ()),
            call: &mut __p::Call<'_>,
        ) -> ::core::result::Result<(), __p::Error> {
            let context = __Context { constant: saved_0 };
            let mut grad_output = call.grad::<f64, __p::ndarray::Ix2>(0);
            if call.needs(0) {
                let gradient_0 = Self::backward(
                    grad_output.owned(true),
                    __p::saved(&context.constant).to_value(),
                );
                call.give::<f64, __p::ndarray::Ix2>(0, gradient_0);
            }
            ::core::result::Result::Ok(())
        }
        #[cold]
        #[track_caller]
        #[doc(hidden)]
        fn __pullback_forward_mode_of_forward(
            depth: u64,
            tensor: &__p::Tensor2<f64>,
            constant: f64,
        ) -> __p::Tensor2<f64> {
            let mut call = __p::ForwardCall::new(<Self as __p::Function>::NAME, depth);
            let (tensor, _) = __p::Argument::split(tensor, &mut call);
            let output = Self::apply(&tensor, constant);
            call.without_tangent(output)
        }
    }
    struct __Context {
        constant: ::core::option::Option<__p::SavedNumber<f64>>,
    }
    const __SIGNATURE: __p::Signature = __p::Signature::new(
        "mul_constant",
        &[
            __p::InputSignature::tensor("tensor", "ArrayView2<f64>"),
            __p::InputSignature::value("constant", "f64"),
        ],
        &[__p::OutputSignature::tensor("output", "Array2<f64>")],
        &[__p::SavedSignature::new("constant", &["tensor"])],
    );
    ::pullback::__private::register!(__SIGNATURE, "", "MulConstant");
    impl __p::Function for MulConstant {
        const NAME: &'static str = "mul_constant";
        const SIGNATURE: __p::Signature = __SIGNATURE;
    }
};
