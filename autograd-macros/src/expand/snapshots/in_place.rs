#[allow(
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    clippy::trivially_copy_pass_by_ref,
    clippy::type_complexity,
)]
impl Update {
    fn forward(
        #[allow(unused_variables)]
        mut x: ArrayViewMut1<f64>,
        mut calls: ArrayViewMut1<f64>,
    ) -> Result<(), Full> {
        todo!()
    }
    fn backward(
        grad_output: ArrayView1<f64>,
        x: ArrayView1<f64>,
        output_x: ArrayView1<f64>,
    ) -> Array1<f64> {
        todo!()
    }
    fn jvp(tangent_x: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> {
        todo!()
    }
}
const _: () = {
    use ::pullback::__private as __p;
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    impl Update {
        /// Applies `Update` to tensors.
        /**
 | | type | | saved for the gradient of |
 |---|---|---|---|
 | `x` | `ArrayViewMut1<f64>` | input, written to | `x` |
 | `calls` | `ArrayViewMut1<f64>` | input, written to, not differentiable |  |
 | `output_x` | `ArrayViewMut1<f64>` | value of `x` after forward | `x` |
 | `output_calls` | `ArrayViewMut1<f64>` | value of `calls` after forward |  |

 It can be differentiated once.
 It has a rule for forward mode.*/
        #[track_caller]
        fn apply(
            x: &mut __p::Tensor1<f64>,
            calls: &mut __p::Tensor1<f64>,
        ) -> Result<(), Full> {
            let depth = __p::largest([
                __p::Argument::depth(&*x),
                __p::Argument::depth(&*calls),
            ]);
            if depth > 0 {
                return Self::__pullback_forward_mode_of_forward(depth, x, calls);
            }
            let edges = [__p::Single::edge(&*x)];
            let needs = __p::needs(&edges);
            let saved_x = __p::Save::save(&*x, needs[0]);
            let mut in_place_x = __p::InPlace::new(
                x,
                <Self as __p::Function>::NAME,
                "x",
                true,
            );
            let mut in_place_calls = __p::InPlace::exempt(
                calls,
                <Self as __p::Function>::NAME,
                "calls",
                true,
            );
            let unrecorded = __p::unrecorded();
            let () = match __p::caught(|| match Self::forward(
                in_place_x.view(),
                in_place_calls.view(),
            ) {
                ::core::result::Result::Ok(()) => ::core::result::Result::Ok(()),
                ::core::result::Result::Err(error) => ::core::result::Result::Err(error),
            }) {
                ::core::result::Result::Ok(returned) => returned,
                ::core::result::Result::Err(panic) => {
                    __p::forward_panicked(
                        panic,
                        &<Self as __p::Function>::SIGNATURE,
                        &[in_place_x.shapes(), in_place_calls.shapes()],
                    )
                }
            }?;
            ::core::mem::drop(unrecorded);
            in_place_x.finish();
            in_place_calls.finish();
            if !__p::any(&needs) {
                return ::core::result::Result::Ok(());
            }
            let node = __p::record(
                const {
                    &__p::Rule {
                        signature: &<Self as __p::Function>::SIGNATURE,
                        backward: Self::__pullback_backward_of_forward,
                    }
                },
                edges,
                (saved_x, (__p::Save::save(&*x, needs[0]), ())),
                [__p::meta(&*x)],
            );
            __p::attach_in_place(x, node, 0);
            ::core::result::Result::Ok(())
        }
        #[doc(hidden)]
        fn __pullback_backward_of_forward(
            (
                saved_0,
                (saved_1, ()),
            ): (
                ::core::option::Option<__p::Saved<f64>>,
                (::core::option::Option<__p::Saved<f64>>, ()),
            ),
            call: &mut __p::Call<'_>,
        ) -> ::core::result::Result<(), __p::Error> {
            let context = __Context {
                x: call.restore(saved_0, __p::Origin::Input(0))?,
                output_x: call.restore(saved_1, __p::Origin::Output(0))?,
            };
            let mut grad_output = call.grad::<f64, __p::ndarray::Ix1>(0);
            if call.needs(0) {
                let gradient_0 = Self::backward(
                    grad_output.view(),
                    __p::View::view(__p::saved(&context.x)),
                    __p::View::view(__p::saved(&context.output_x)),
                );
                call.give::<f64, __p::ndarray::Ix1>(0, gradient_0);
            }
            ::core::result::Result::Ok(())
        }
        #[cold]
        #[track_caller]
        #[doc(hidden)]
        fn __pullback_forward_mode_of_forward(
            depth: ::core::primitive::u64,
            x: &mut __p::Tensor1<f64>,
            calls: &mut __p::Tensor1<f64>,
        ) -> Result<(), Full> {
            let mut call = __p::ForwardCall::new(<Self as __p::Function>::NAME, depth);
            let (mut primal_x, tangent_x) = __p::Argument::split(&*x, &mut call);
            let tangent_x = call.or_zeros(tangent_x, &primal_x);
            let before_x = ::core::clone::Clone::clone(&primal_x);
            let (mut primal_calls, _) = __p::Argument::split(&*calls, &mut call);
            let () = Self::apply(&mut primal_x, &mut primal_calls)?;
            if call.failed() {
                *x = call.without_tangent(primal_x);
                *calls = primal_calls;
                return ::core::result::Result::Ok(());
            }
            let tangent_output_x = Self::jvp(
                __p::View::view(&tangent_x),
                __p::View::view(&before_x),
            );
            *x = call.with_tangent(primal_x, "output_x", tangent_output_x);
            *calls = primal_calls;
            ::core::result::Result::Ok(())
        }
    }
    struct __Context {
        x: ::core::option::Option<__p::Tensor1<f64>>,
        output_x: ::core::option::Option<__p::Tensor1<f64>>,
    }
    const __SIGNATURE: __p::Signature = __p::Signature::new(
            "Update",
            &[
                __p::InputSignature::tensor("x", "ArrayViewMut1<f64>").in_place(),
                __p::InputSignature::tensor("calls", "ArrayViewMut1<f64>")
                    .in_place()
                    .exempt(),
            ],
            &[
                __p::OutputSignature::tensor("output_x", "ArrayViewMut1<f64>"),
                __p::OutputSignature::exempt("output_calls", "ArrayViewMut1<f64>"),
            ],
            &[
                __p::SavedSignature::new("x", &["x"]),
                __p::SavedSignature::new("output_x", &["x"]),
            ],
        )
        .forward_mode();
    ::pullback::__private::register!(__SIGNATURE, "", "Update");
    impl __p::Function for Update {
        const NAME: &'static ::core::primitive::str = "Update";
        const SIGNATURE: __p::Signature = __SIGNATURE;
    }
};
