#[allow(
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    clippy::trivially_copy_pass_by_ref,
    clippy::type_complexity,
)]
impl<T: Element, D: Dimension> Exp<T, D> {
    pub fn forward(i: ArrayView<T, D>) -> Array<T, D> {
        i.mapv(T::exp)
    }
    fn backward(grad_output: &Tensor<T, D>, output: &Tensor<T, D>) -> Tensor<T, D> {
        grad_output * output
    }
}
const _: () = {
    use pb::__private as __p;
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    impl<T: Element, D: Dimension> Exp<T, D> {
        /// Applies `Exp` to tensors.
        ///
        /// | | type | | saved for the gradient of |
        /// |---|---|---|---|
        /// | `i` | `ArrayView<T, D>` | input |  |
        /// | `output` | `Array<T, D>` | output | `i` |
        ///
        /// It can be differentiated any number of times.
        #[must_use]
        #[track_caller]
        pub fn apply(i: &__p::Tensor<T, D>) -> __p::Tensor<T, D> {
            let depth = __p::largest([__p::Argument::depth(i)]);
            if depth > 0 {
                return Self::__pullback_forward_mode_of_forward(depth, i);
            }
            let edges = [__p::Single::edge(i)];
            let needs = __p::needs(&edges);
            let unrecorded = __p::unrecorded();
            let output = Self::forward(__p::View::view(i));
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
                (__p::Save::save(&output, needs[0]), ()),
                [__p::meta(&output)],
            );
            __p::attach(output, node, 0)
        }
        #[doc(hidden)]
        fn __pullback_backward_of_forward(
            (saved_0, ()): (::core::option::Option<__p::Saved<T>>, ()),
            call: &mut __p::Call<'_>,
        ) -> ::core::result::Result<(), __p::Error> {
            let context = __Context::<T, D> {
                output: call.restore(saved_0, __p::Origin::Output(0))?,
                __of: ::core::marker::PhantomData,
            };
            let mut grad_output = call.grad::<T, D>(0);
            if call.needs(0) {
                let gradient_0 = Self::backward(
                    grad_output.tensor(),
                    __p::saved(&context.output),
                );
                call.give::<T, D>(0, gradient_0);
            }
            ::core::result::Result::Ok(())
        }
        #[cold]
        #[track_caller]
        #[doc(hidden)]
        fn __pullback_forward_mode_of_forward(
            depth: u64,
            i: &__p::Tensor<T, D>,
        ) -> __p::Tensor<T, D> {
            let mut call = __p::ForwardCall::new(<Self as __p::Function>::NAME, depth);
            let (i, _) = __p::Argument::split(i, &mut call);
            let output = Self::apply(&i);
            call.without_tangent(output)
        }
    }
    struct __Context<T: Element, D: Dimension> {
        output: ::core::option::Option<__p::Tensor<T, D>>,
        __of: ::core::marker::PhantomData<(fn(*const T), fn(*const D))>,
    }
    const __SIGNATURE: __p::Signature = __p::Signature::new(
            "Exp",
            &[__p::InputSignature::tensor("i", "ArrayView<T, D>")],
            &[__p::OutputSignature::tensor("output", "Array<T, D>")],
            &[__p::SavedSignature::new("output", &["i"])],
        )
        .with_order(__p::Order::Any);
    pb::__private::register!(__SIGNATURE, "", "Exp");
    impl<T: Element, D: Dimension> __p::Function for Exp<T, D> {
        const NAME: &'static str = "Exp";
        const SIGNATURE: __p::Signature = __SIGNATURE;
    }
};
