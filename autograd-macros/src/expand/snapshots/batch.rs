const _: () = {
    use ::pullback::__private as __p;
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    impl<T: Element, D: Dimension> Blend<T, D> {
        /// Applies `Blend` to tensors.
        /**
 | | type | | saved for the gradient of |
 |---|---|---|---|
 | `q` | `&'a Tensor<T, D>` | input |  |
 | `mask` | `Option<Array2<f64>>` | optional input |  |
 | `parts` | `&[ArrayView1<f64>]` | list of inputs |  |
 | `weight` | `ArrayView2<f64>` | input |  |
 | `mode` | `Mode` | value |  |
 | `y` | `Array<T, D>` | output |  |
 | `count` | `usize` | output, not differentiable |  |
 | `pieces` | `Vec<Array2<f64>>` | list of outputs |  |

 It can be differentiated once.
 `apply_batch` applies it to each example of a batch. The examples are along a first axis of `q`, `mask`, `parts` and of the tensors that it returns; what is not a tensor is returned as a `Vec`.*/
        #[track_caller]
        pub fn apply<'a>(
            q: &'a __p::Tensor<T, D>,
            mask: ::core::option::Option<__p::Tensor2<f64>>,
            parts: &[impl __p::ListElement<f64, __p::ndarray::Ix1>],
            weight: &__p::Tensor2<f64>,
            mode: Mode,
        ) -> Result<
            (__p::Tensor<T, D>, usize, ::std::vec::Vec<__p::Tensor2<f64>>),
            Unfit,
        > {
            let parts = __p::references::<f64, __p::ndarray::Ix1, _>(parts);
            let applied_at = ::core::panic::Location::caller();
            __p::catching_passes(|| Self::__pullback_apply_of_forward(
                applied_at,
                q,
                mask,
                &parts[..],
                weight,
                mode,
            ))
        }
        #[doc(hidden)]
        fn __pullback_apply_of_forward<'a>(
            applied_at: &'static ::core::panic::Location<'static>,
            q: &'a __p::Tensor<T, D>,
            mask: ::core::option::Option<__p::Tensor2<f64>>,
            parts: &[&__p::Tensor1<f64>],
            weight: &__p::Tensor2<f64>,
            mode: Mode,
        ) -> Result<
            (__p::Tensor<T, D>, usize, ::std::vec::Vec<__p::Tensor2<f64>>),
            Unfit,
        > {
            let depth = __p::largest([
                __p::Argument::depth(q),
                __p::Argument::depth(::core::option::Option::as_ref(&mask)),
                __p::Argument::depth(&parts[..]),
                __p::Argument::depth(weight),
            ]);
            if depth > 0 {
                return Self::__pullback_forward_mode_of_forward(
                    applied_at,
                    depth,
                    q,
                    mask,
                    &parts[..],
                    weight,
                    mode,
                );
            }
            let edges = __p::Lists::new([
                __p::Argument::edges(q),
                __p::Argument::edges(::core::option::Option::as_ref(&mask)),
                __p::Argument::edges(&parts[..]),
                __p::Argument::edges(weight),
            ]);
            let needs = edges.needs();
            let shape_mask = ::core::option::Option::map(
                ::core::option::Option::as_ref(&mask),
                __p::meta,
            );
            let unrecorded = __p::unrecorded();
            let (y, count, pieces) = match __p::caught(|| match Self::forward(
                q,
                ::core::option::Option::map(mask, __p::Tensor::into_array),
                &__p::View::view(&parts[..]),
                __p::View::view(weight),
                mode,
            ) {
                ::core::result::Result::Ok((y, count, pieces)) => {
                    let y: __p::Tensor<T, D> = __p::IntoOutput::into_output(y);
                    let pieces: ::std::vec::Vec<__p::Tensor2<f64>> = __p::into_outputs(
                        pieces,
                    );
                    ::core::result::Result::Ok((y, count, pieces))
                }
                ::core::result::Result::Err(error) => ::core::result::Result::Err(error),
            }) {
                ::core::result::Result::Ok(returned) => returned,
                ::core::result::Result::Err(panic) => {
                    __p::forward_panicked_at(
                        applied_at,
                        panic,
                        &<Self as __p::Function>::SIGNATURE,
                        &[
                            __p::Argument::shapes(q),
                            __p::shapes_of(shape_mask),
                            __p::Argument::shapes(&parts[..]),
                            __p::Argument::shapes(weight),
                        ],
                    )
                }
            }?;
            ::core::mem::drop(unrecorded);
            if !__p::any(&needs) {
                return ::core::result::Result::Ok((y, count, pieces));
            }
            let outputs = __p::Lists::new([
                ::std::vec![__p::meta(& y)],
                __p::metas(&pieces),
            ]);
            let starts = outputs.starts();
            let node = __p::record_at(
                applied_at,
                const {
                    &__p::Rule {
                        signature: &<Self as __p::Function>::SIGNATURE,
                        backward: Self::__pullback_backward_of_forward,
                    }
                },
                edges,
                (),
                outputs,
            );
            ::core::result::Result::Ok((
                __p::attach(y, ::core::clone::Clone::clone(&node), starts[0]),
                count,
                __p::attach_list(pieces, &node, starts[1]),
            ))
        }
        /** Applies `Blend` to each example of a batch, on all threads.

 The examples are along a first axis of `q`, `mask`, `parts` and of the tensors that it returns; what is not a tensor is returned as a `Vec`.
 The examples share `weight`, `mode`; gradients of shared tensors are added in the order of the examples.
 Values and gradients have the same bits on any number of threads.

 # Errors
 The error of the first example that has one, with its position.

 # Panics
 If the batches differ in the number of examples, if outputs of examples differ in their shapes, or if an example panics, with its position.*/
        #[track_caller]
        pub fn apply_batch<'a, BatchD: __p::ndarray::Dimension<Smaller = D>>(
            q: &'a __p::Tensor<T, BatchD>,
            mask: ::core::option::Option<__p::Tensor3<f64>>,
            parts: &[impl __p::ListElement<
                f64,
                <__p::ndarray::Ix1 as __p::ndarray::Dimension>::Larger,
            >],
            weight: &__p::Tensor2<f64>,
            mode: Mode,
        ) -> ::core::result::Result<
            (
                __p::Tensor<T, BatchD>,
                ::std::vec::Vec<usize>,
                ::std::vec::Vec<__p::Tensor3<f64>>,
            ),
            __p::ExampleError<Unfit>,
        > {
            let parts = __p::references(parts);
            __p::is_shared(&mode);
            let call = __p::BatchCall::new(
                <Self as __p::Function>::NAME,
                [
                    __p::BatchInput {
                        name: "q",
                        is_batched: true,
                        is_list: false,
                        tensors: __p::Argument::erased(q),
                    },
                    __p::BatchInput {
                        name: "mask",
                        is_batched: true,
                        is_list: false,
                        tensors: __p::Argument::erased(
                            ::core::option::Option::as_ref(&mask),
                        ),
                    },
                    __p::BatchInput {
                        name: "parts",
                        is_batched: true,
                        is_list: true,
                        tensors: __p::Argument::erased(&parts[..]),
                    },
                    __p::BatchInput {
                        name: "weight",
                        is_batched: false,
                        is_list: false,
                        tensors: __p::Argument::erased(weight),
                    },
                ],
            );
            let called_at = call.called_at();
            let (mut stacked, values) = call
                .try_run(|example| {
                    let part_q = example.tensor::<T, D>();
                    let part_mask = ::core::option::Option::map(
                        ::core::option::Option::as_ref(&mask),
                        |_| example.tensor::<f64, __p::ndarray::Ix2>(),
                    );
                    let part_parts = example.list::<f64, __p::ndarray::Ix1>(parts.len());
                    let part_parts = __p::references(&part_parts);
                    match Self::__pullback_apply_of_forward(
                        called_at,
                        &part_q,
                        part_mask,
                        &part_parts[..],
                        weight,
                        ::core::clone::Clone::clone(&mode),
                    ) {
                        ::core::result::Result::Ok((y, count, pieces)) => {
                            ::core::result::Result::Ok({
                                let mut outputs = <__p::BatchOutputs as ::core::default::Default>::default();
                                outputs.push("y", y);
                                outputs.push_list("pieces", pieces);
                                (outputs, (count, ()))
                            })
                        }
                        ::core::result::Result::Err(error) => {
                            ::core::result::Result::Err(error)
                        }
                    }
                })?;
            let (count, _): (::std::vec::Vec<_>, ::std::vec::Vec<_>) = ::core::iter::Iterator::unzip(
                ::core::iter::IntoIterator::into_iter(values),
            );
            let y = stacked.tensor();
            let pieces = stacked.list("pieces");
            ::core::result::Result::Ok((y, count, pieces))
        }
        #[doc(hidden)]
        fn __pullback_backward_of_forward(
            (): (),
            call: &mut __p::Call<'_>,
        ) -> ::core::result::Result<(), __p::Error> {
            let mut grad_y = call.grad::<T, D>(0);
            let mut grad_pieces = call.grad_of_list::<f64, __p::ndarray::Ix2>(1);
            if call.needs(0) || call.needs(1) || call.needs(2) || call.needs(3) {
                let (gradient_0, gradient_1, gradient_2, gradient_3) = Self::backward(
                    grad_y.view(),
                    &grad_pieces.view(),
                );
                if call.needs(0) {
                    call.give::<T, D>(0, gradient_0);
                }
                if call.needs(1) {
                    call.give::<f64, __p::ndarray::Ix2>(1, gradient_1);
                }
                if call.needs(2) {
                    call.give_list::<f64, __p::ndarray::Ix1>(2, gradient_2);
                }
                if call.needs(3) {
                    call.give::<f64, __p::ndarray::Ix2>(3, gradient_3);
                }
            }
            ::core::result::Result::Ok(())
        }
        #[cold]
        #[track_caller]
        #[doc(hidden)]
        fn __pullback_forward_mode_of_forward<'a>(
            applied_at: &'static ::core::panic::Location<'static>,
            depth: ::core::primitive::u64,
            q: &'a __p::Tensor<T, D>,
            mask: ::core::option::Option<__p::Tensor2<f64>>,
            parts: &[&__p::Tensor1<f64>],
            weight: &__p::Tensor2<f64>,
            mode: Mode,
        ) -> Result<
            (__p::Tensor<T, D>, usize, ::std::vec::Vec<__p::Tensor2<f64>>),
            Unfit,
        > {
            let mut call = __p::ForwardCall::at(
                applied_at,
                <Self as __p::Function>::NAME,
                depth,
            );
            let (q, _) = __p::Argument::split(q, &mut call);
            let (mask, _) = __p::Argument::split(
                ::core::option::Option::as_ref(&mask),
                &mut call,
            );
            let (parts, _) = __p::Argument::split(&parts[..], &mut call);
            let (weight, _) = __p::Argument::split(weight, &mut call);
            let (y, count, pieces) = Self::__pullback_apply_of_forward(
                applied_at,
                &q,
                ::core::clone::Clone::clone(&mask),
                &__p::references(&parts),
                &weight,
                mode,
            )?;
            ::core::result::Result::Ok((
                call.without_tangent(y),
                count,
                call.without_tangents(pieces),
            ))
        }
    }
    const __SIGNATURE: __p::Signature = __p::Signature::new(
        "Blend",
        &[
            __p::InputSignature::tensor("q", "&'a Tensor<T, D>"),
            __p::InputSignature::tensor("mask", "Option<Array2<f64>>").optional(),
            __p::InputSignature::tensor("parts", "&[ArrayView1<f64>]").list(),
            __p::InputSignature::tensor("weight", "ArrayView2<f64>"),
            __p::InputSignature::value("mode", "Mode"),
        ],
        &[
            __p::OutputSignature::tensor("y", "Array<T, D>"),
            __p::OutputSignature::exempt("count", "usize"),
            __p::OutputSignature::tensor("pieces", "Vec<Array2<f64>>").list(),
        ],
        &[],
    );
    ::pullback::__private::register!(__SIGNATURE, "", "Blend");
    const _: () = {
        #[allow(unused_imports)]
        use __p::HoldsNone as _;
        ::core::assert!(
            ! < __p::Probe < Mode >> ::AS_INPUT,
            "`Mode` is or contains a tensor or a module, which would get no gradient: take each tensor as a parameter, `mode: &Tensor1<f64>` or `ArrayView1<f64>`, or mark an alias of one with `#[tensor]`"
        );
    };
    impl<T: Element, D: Dimension> __p::Function for Blend<T, D> {
        const NAME: &'static ::core::primitive::str = "Blend";
        const SIGNATURE: __p::Signature = __SIGNATURE;
    }
};
