#[allow(
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    clippy::trivially_copy_pass_by_ref,
    clippy::type_complexity,
)]
impl LayerNorm {
    pub(crate) fn forward<'a>(
        #[allow(unused_variables)]
        mut x: Array2<f64>,
        gain: &Tensor1<f64>,
        #[allow(unused_variables)]
        mask: Option<ArrayView2<f64>>,
        #[allow(unused_variables)]
        axes: &'a [usize],
        #[allow(unused_variables)]
        mode: Mode,
    ) -> Result<(Array2<f64>, Array1<f64>, usize, Array1<f64>, usize), ShapeError> {
        todo!()
    }
    fn backward(
        grad_y: Option<Array2<f64>>,
        x: ArrayView2<f64>,
        mask: Option<ArrayView2<f64>>,
        axes: &[usize],
        mode: Mode,
        scale: ArrayView1<f64>,
        rank: usize,
        mean: ArrayView1<f64>,
        count: usize,
        needs_input_grad: LayerNormNeedsInputGrad,
        context: &LayerNormContext,
    ) -> (Array2<f64>, Option<Array1<f64>>) {
        todo!()
    }
    fn jvp(
        x: ArrayView2<f64>,
        tangent_x: ArrayView2<f64>,
        tangent_gain: Option<Array1<f64>>,
        mask: Option<ArrayView2<f64>>,
        axes: &[usize],
        rank: usize,
        y: ArrayView2<f64>,
    ) -> Array2<f64> {
        todo!()
    }
}
/// The gradients of `LayerNorm` that a backward pass needs.
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
#[derive(::core::cmp::PartialEq, ::core::cmp::Eq)]
#[allow(dead_code, clippy::struct_excessive_bools)]
pub(crate) struct LayerNormNeedsInputGrad {
    /// Whether the gradient of `x` is needed.
    pub(crate) x: ::core::primitive::bool,
    /// Whether the gradient of `gain` is needed.
    pub(crate) gain: ::core::primitive::bool,
}
/** The values that `LayerNorm` saves for its backward functions.

 A field is `None` if no gradient that needs it is needed, or if the input is absent. A backward function that asks for `context` asks for all of it.*/
#[derive(::core::fmt::Debug)]
struct LayerNormContext {
    /// Saved for the gradient of `x`, `gain`.
    x: ::core::option::Option<::pullback::__private::Tensor2<f64>>,
    /// Saved for the gradient of `x`, `gain`.
    mask: ::core::option::Option<::pullback::__private::Tensor2<f64>>,
    /// Saved for the gradient of `x`, `gain`.
    axes: ::core::option::Option<
        ::pullback::__private::SavedValue<<[usize] as ::std::borrow::ToOwned>::Owned>,
    >,
    /// Saved for the gradient of `x`, `gain`.
    mode: ::core::option::Option<::pullback::__private::SavedValue<Mode>>,
    /// Saved for the gradient of `x`, `gain`.
    scale: ::core::option::Option<::pullback::__private::Tensor1<f64>>,
    /// Saved for the gradient of `x`, `gain`.
    rank: ::core::option::Option<::pullback::__private::SavedNumber<usize>>,
    /// Saved for the gradient of `x`, `gain`.
    mean: ::core::option::Option<::pullback::__private::Tensor1<f64>>,
    /// Saved for the gradient of `x`, `gain`.
    count: ::core::option::Option<::pullback::__private::SavedNumber<usize>>,
}
const _: () = {
    use ::pullback::__private as __p;
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    impl LayerNorm {
        /// Applies `LayerNorm` to tensors.
        /**
 | | type | | saved for the gradient of |
 |---|---|---|---|
 | `x` | `Array2<f64>` | input | `x`, `gain` |
 | `gain` | `&Tensor1<f64>` | input |  |
 | `mask` | `Option<ArrayView2<f64>>` | optional input, not differentiable | `x`, `gain` |
 | `axes` | `&'a [usize]` | value | `x`, `gain` |
 | `mode` | `Mode` | value | `x`, `gain` |
 | `y` | `Array2<f64>` | output |  |
 | `scale` | `Array1<f64>` | output, not differentiable | `x`, `gain` |
 | `rank` | `usize` | output, not differentiable | `x`, `gain` |
 | `mean` | `Array1<f64>` | saved for backward | `x`, `gain` |
 | `count` | `usize` | saved for backward | `x`, `gain` |

 It can be differentiated once.
 It has a rule for forward mode.*/
        #[track_caller]
        pub(crate) fn apply<'a>(
            x: __p::Tensor2<f64>,
            gain: &__p::Tensor1<f64>,
            mask: ::core::option::Option<&__p::Tensor2<f64>>,
            axes: &'a [usize],
            mode: Mode,
        ) -> Result<(__p::Tensor2<f64>, __p::Tensor1<f64>, usize), ShapeError> {
            let depth = __p::largest([
                __p::Argument::depth(&x),
                __p::Argument::depth(gain),
                __p::Argument::depth(mask),
            ]);
            if depth > 0 {
                return Self::__pullback_forward_mode_of_forward(
                    depth,
                    x,
                    gain,
                    mask,
                    axes,
                    mode,
                );
            }
            let edges = [__p::Single::edge(&x), __p::Single::edge(gain)];
            let needs = __p::needs(&edges);
            let saved_x = __p::Save::save(&x, needs[0] || needs[1]);
            let saved_mode = __p::save_if(
                needs[0] || needs[1],
                || <Mode as __p::SaveValue>::save(&mode),
            );
            let shape_x = ::core::option::Option::Some(__p::meta(&x));
            let unrecorded = __p::unrecorded();
            let (y, scale, rank, mean, count) = match __p::caught(|| match Self::forward(
                __p::Tensor::into_array(x),
                gain,
                __p::View::view(mask),
                axes,
                mode,
            ) {
                ::core::result::Result::Ok((y, scale, rank, mean, count)) => {
                    let y: __p::Tensor2<f64> = __p::IntoOutput::into_output(y);
                    let scale: __p::Tensor1<f64> = __p::IntoOutput::into_output(scale);
                    ::core::result::Result::Ok((y, scale, rank, mean, count))
                }
                ::core::result::Result::Err(error) => ::core::result::Result::Err(error),
            }) {
                ::core::result::Result::Ok(returned) => returned,
                ::core::result::Result::Err(panic) => {
                    __p::forward_panicked(
                        panic,
                        &<Self as __p::Function>::SIGNATURE,
                        &[
                            __p::shapes_of(shape_x),
                            __p::Argument::shapes(gain),
                            __p::Argument::shapes(mask),
                        ],
                    )
                }
            }?;
            ::core::mem::drop(unrecorded);
            if !__p::any(&needs) {
                return ::core::result::Result::Ok((y, scale, rank));
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
                    saved_x,
                    (
                        __p::Save::save(mask, needs[0] || needs[1]),
                        (
                            __p::save_if(
                                needs[0] || needs[1],
                                || <<[usize] as ::std::borrow::ToOwned>::Owned as __p::SaveValue>::into_saved(
                                    <[usize] as ::std::borrow::ToOwned>::to_owned(axes),
                                ),
                            ),
                            (
                                saved_mode,
                                (
                                    __p::Save::save(&scale, needs[0] || needs[1]),
                                    (
                                        __p::save_if(
                                            needs[0] || needs[1],
                                            || __p::SavedNumber::new(&rank),
                                        ),
                                        (
                                            __p::Save::save(mean, needs[0] || needs[1]),
                                            (
                                                __p::save_if(
                                                    needs[0] || needs[1],
                                                    || __p::SavedNumber::new(&count),
                                                ),
                                                (),
                                            ),
                                        ),
                                    ),
                                ),
                            ),
                        ),
                    ),
                ),
                [__p::meta(&y)],
            );
            ::core::result::Result::Ok((__p::attach(y, node, 0), scale, rank))
        }
        #[doc(hidden)]
        fn __pullback_backward_of_forward(
            (
                saved_0,
                (
                    saved_1,
                    (saved_2, (saved_3, (saved_4, (saved_5, (saved_6, (saved_7, ())))))),
                ),
            ): (
                ::core::option::Option<__p::Saved<f64>>,
                (
                    ::core::option::Option<__p::Saved<f64>>,
                    (
                        ::core::option::Option<
                            __p::SavedValue<<[usize] as ::std::borrow::ToOwned>::Owned>,
                        >,
                        (
                            ::core::option::Option<__p::SavedValue<Mode>>,
                            (
                                ::core::option::Option<__p::Saved<f64>>,
                                (
                                    ::core::option::Option<__p::SavedNumber<usize>>,
                                    (
                                        ::core::option::Option<__p::Saved<f64>>,
                                        (::core::option::Option<__p::SavedNumber<usize>>, ()),
                                    ),
                                ),
                            ),
                        ),
                    ),
                ),
            ),
            call: &mut __p::Call<'_>,
        ) -> ::core::result::Result<(), __p::Error> {
            let needs_input_grad = LayerNormNeedsInputGrad {
                x: call.needs(0),
                gain: call.needs(1),
            };
            let context = LayerNormContext {
                x: call.restore(saved_0, __p::Origin::Input(0))?,
                mask: call.restore(saved_1, __p::Origin::Constant)?,
                axes: saved_2,
                mode: saved_3,
                scale: call.restore(saved_4, __p::Origin::Constant)?,
                rank: saved_5,
                mean: call.restore(saved_6, __p::Origin::Constant)?,
                count: saved_7,
            };
            let mut grad_y = call.grad::<f64, __p::ndarray::Ix2>(0);
            if call.needs(0) || call.needs(1) {
                let (gradient_0, gradient_1) = Self::backward(
                    grad_y.owned_optional(true),
                    __p::View::view(__p::saved(&context.x)),
                    __p::View::view(::core::option::Option::as_ref(&context.mask)),
                    ::std::borrow::Borrow::<
                        [usize],
                    >::borrow(&**__p::saved(&context.axes)),
                    __p::saved(&context.mode).to_value(),
                    __p::View::view(__p::saved(&context.scale)),
                    __p::saved(&context.rank).to_value(),
                    __p::View::view(__p::saved(&context.mean)),
                    __p::saved(&context.count).to_value(),
                    needs_input_grad,
                    &context,
                );
                if call.needs(0) {
                    call.give::<f64, __p::ndarray::Ix2>(0, gradient_0);
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
        fn __pullback_forward_mode_of_forward<'a>(
            depth: ::core::primitive::u64,
            x: __p::Tensor2<f64>,
            gain: &__p::Tensor1<f64>,
            mask: ::core::option::Option<&__p::Tensor2<f64>>,
            axes: &'a [usize],
            mode: Mode,
        ) -> Result<(__p::Tensor2<f64>, __p::Tensor1<f64>, usize), ShapeError> {
            let mut call = __p::ForwardCall::new(<Self as __p::Function>::NAME, depth);
            let (x, tangent_x) = __p::Argument::split(&x, &mut call);
            let tangent_x = call.or_zeros(tangent_x, &x);
            let (gain, tangent_gain) = __p::Argument::split(gain, &mut call);
            let (mask, _) = __p::Argument::split(mask, &mut call);
            let saved_axes = __p::save_if(
                true,
                || <<[usize] as ::std::borrow::ToOwned>::Owned as __p::SaveValue>::into_saved(
                    <[usize] as ::std::borrow::ToOwned>::to_owned(axes),
                ),
            );
            let (y, scale, rank) = Self::apply(
                ::core::clone::Clone::clone(&x),
                &gain,
                ::core::option::Option::as_ref(&mask),
                axes,
                mode,
            )?;
            if call.failed() {
                return ::core::result::Result::Ok((
                    call.without_tangent(y),
                    scale,
                    rank,
                ));
            }
            let saved_rank = __p::save_if(true, || __p::SavedNumber::new(&rank));
            let tangent_y = Self::jvp(
                __p::View::view(&x),
                __p::View::view(&tangent_x),
                ::core::option::Option::map(
                    ::core::option::Option::as_ref(&tangent_gain),
                    __p::Tensor::to_array,
                ),
                __p::View::view(::core::option::Option::as_ref(&mask)),
                ::std::borrow::Borrow::<[usize]>::borrow(&**__p::saved(&saved_axes)),
                __p::saved(&saved_rank).to_value(),
                __p::View::view(&y),
            );
            ::core::result::Result::Ok((
                call.with_tangent(y, "y", tangent_y),
                scale,
                rank,
            ))
        }
    }
    const __SIGNATURE: __p::Signature = __p::Signature::new(
            "LayerNorm",
            &[
                __p::InputSignature::tensor("x", "Array2<f64>"),
                __p::InputSignature::tensor("gain", "&Tensor1<f64>"),
                __p::InputSignature::tensor("mask", "Option<ArrayView2<f64>>")
                    .optional()
                    .exempt(),
                __p::InputSignature::value("axes", "&'a [usize]"),
                __p::InputSignature::value("mode", "Mode"),
            ],
            &[
                __p::OutputSignature::tensor("y", "Array2<f64>"),
                __p::OutputSignature::exempt("scale", "Array1<f64>"),
                __p::OutputSignature::exempt("rank", "usize"),
            ],
            &[
                __p::SavedSignature::new("x", &["x", "gain"]),
                __p::SavedSignature::new("mask", &["x", "gain"]),
                __p::SavedSignature::new("axes", &["x", "gain"]),
                __p::SavedSignature::new("mode", &["x", "gain"]),
                __p::SavedSignature::new("scale", &["x", "gain"]),
                __p::SavedSignature::new("rank", &["x", "gain"]),
                __p::SavedSignature::new("mean", &["x", "gain"]),
                __p::SavedSignature::new("count", &["x", "gain"]),
            ],
        )
        .forward_mode();
    ::pullback::__private::register!(__SIGNATURE, "", "LayerNorm");
    const _: () = {
        #[allow(unused_imports)]
        use __p::HoldsNone as _;
        ::core::assert!(
            ! < __p::Probe < Mode >> ::AS_INPUT,
            "`Mode` is or contains a tensor or a module, which would get no gradient: take each tensor as a parameter, `mode: &Tensor1<f64>` or `ArrayView1<f64>`, or mark an alias of one with `#[tensor]`"
        );
    };
    impl __p::Function for LayerNorm {
        const NAME: &'static ::core::primitive::str = "LayerNorm";
        const SIGNATURE: __p::Signature = __SIGNATURE;
    }
};
