const _: () = {
    use ::pullback::__private as __p;
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    impl<T: Element, D: Dimension> Root<T, D> {
        /// Applies `Root` to tensors.
        /**
 | | type | | saved for the gradient of |
 |---|---|---|---|
 | `a` | `Array<T, D>` | input | `a`, `shift`, `parts` |
 | `shift` | `Option<ArrayView1<T>>` | optional input | `a`, `shift`, `parts` |
 | `parts` | `&[ArrayView1<T>]` | list of inputs | `a`, `shift`, `parts` |
 | `mask` | `ArrayView1<T>` | input, not differentiable |  |
 | `options` | `&Options` | value |  |
 | `y` | `Array<T, D>` | output | `a`, `shift`, `parts` |
 | `steps` | `usize` | output, not differentiable |  |
 | `order` | `Vec<usize>` | saved for backward |  |
 | `multipliers` | `Array1<T>` | unknown of the equations | `a`, `shift`, `parts` |

 `residual` is zero at `y`, `multipliers`, which gives all derivatives.
 It can be differentiated any number of times.
 It has a rule for forward mode.*/
        #[track_caller]
        pub fn apply(
            a: __p::Tensor<T, D>,
            shift: ::core::option::Option<&__p::Tensor1<T>>,
            parts: &[impl __p::ListElement<T, __p::ndarray::Ix1>],
            mask: &__p::Tensor1<T>,
            options: &Options,
        ) -> Result<(__p::Tensor<T, D>, usize), Unfit> {
            let parts = __p::references::<T, __p::ndarray::Ix1, _>(parts);
            let applied_at = ::core::panic::Location::caller();
            __p::catching_passes(|| Self::__pullback_apply_of_forward(
                applied_at,
                &__p::Link::none(),
                a,
                shift,
                &parts[..],
                mask,
                options,
            ))
        }
        #[doc(hidden)]
        fn __pullback_apply_of_forward(
            applied_at: &'static ::core::panic::Location<'static>,
            link: &__p::Link,
            a: __p::Tensor<T, D>,
            shift: ::core::option::Option<&__p::Tensor1<T>>,
            parts: &[&__p::Tensor1<T>],
            mask: &__p::Tensor1<T>,
            options: &Options,
        ) -> Result<(__p::Tensor<T, D>, usize), Unfit> {
            let depth = __p::largest([
                __p::Argument::depth(&a),
                __p::Argument::depth(shift),
                __p::Argument::depth(&parts[..]),
                __p::Argument::depth(mask),
            ]);
            if depth > 0 {
                return Self::__pullback_forward_mode_of_forward(
                    applied_at,
                    link,
                    depth,
                    a,
                    shift,
                    &parts[..],
                    mask,
                    options,
                );
            }
            let edges = __p::Lists::new([
                __p::Argument::edges(&a),
                __p::Argument::edges(shift),
                __p::Argument::edges(&parts[..]),
            ]);
            let needs = edges.needs();
            let saved_a = __p::Save::save(&a, needs[0] || needs[1] || needs[2]);
            let makes_equations = link.is_wanted() || __p::any(&needs);
            let counts = [
                1,
                ::core::primitive::usize::from(::core::option::Option::is_some(&shift)),
                parts.len(),
            ];
            let constant_0 = if makes_equations {
                __p::constants(__p::Argument::erased(mask))
            } else {
                ::std::vec::Vec::new()
            };
            let constant_1 = __p::save_if(
                makes_equations,
                || <Options as __p::SaveValue>::save(options),
            );
            let shape_a = ::core::option::Option::Some(__p::meta(&a));
            let unrecorded = __p::unrecorded();
            let (y, steps, multipliers, order) = match __p::caught(|| match Self::forward(
                __p::Tensor::into_array(a),
                __p::View::view(shift),
                &__p::View::view(&parts[..]),
                __p::View::view(mask),
                options,
            ) {
                ::core::result::Result::Ok((y, steps, multipliers, order)) => {
                    let y: __p::Tensor<T, D> = __p::IntoOutput::into_output(y);
                    let multipliers: __p::Tensor1<T> = __p::IntoOutput::into_output(
                        multipliers,
                    );
                    ::core::result::Result::Ok((y, steps, multipliers, order))
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
                            __p::shapes_of(shape_a),
                            __p::Argument::shapes(shift),
                            __p::Argument::shapes(&parts[..]),
                            __p::Argument::shapes(mask),
                        ],
                    )
                }
            }?;
            ::core::mem::drop(unrecorded);
            let constant_2 = __p::save_if(
                makes_equations,
                || <Vec<usize> as __p::SaveValue>::into_saved(order),
            );
            let system = __p::save_if(
                makes_equations,
                || __p::System::new(
                    (<Self as __p::Function>::NAME, applied_at),
                    &["y", "multipliers"],
                    &counts,
                    512,
                    (constant_0, (constant_1, (constant_2, ()))),
                    Self::__pullback_residual_of_forward,
                ),
            );
            if !__p::any(&needs) {
                link.pass(
                    ::core::option::Option::as_ref(&system),
                    || {
                        ::std::vec![
                            < __p::AnyTensor as ::core::convert::From < _ >>
                            ::from(multipliers)
                        ]
                    },
                );
                return ::core::result::Result::Ok((y, steps));
            }
            let node = __p::record_at(
                applied_at,
                const {
                    &__p::Rule {
                        signature: &<Self as __p::Function>::SIGNATURE,
                        backward: Self::__pullback_backward_of_forward,
                    }
                },
                edges,
                (
                    saved_a,
                    (
                        __p::Save::save(shift, needs[0] || needs[1] || needs[2]),
                        (
                            __p::Save::save(
                                &parts[..],
                                needs[0] || needs[1] || needs[2],
                            ),
                            (
                                __p::Save::save(&y, needs[0] || needs[1] || needs[2]),
                                (
                                    __p::Save::save(
                                        &multipliers,
                                        needs[0] || needs[1] || needs[2],
                                    ),
                                    (
                                        ::core::option::Option::map(
                                            ::core::clone::Clone::clone(&system),
                                            __p::SavedValue::new,
                                        ),
                                        (),
                                    ),
                                ),
                            ),
                        ),
                    ),
                ),
                [__p::meta(&y), __p::meta(&multipliers)],
            );
            link.pass(
                ::core::option::Option::as_ref(&system),
                || {
                    ::std::vec![
                        < __p::AnyTensor as ::core::convert::From < _ >>
                        ::from(__p::attach(multipliers, ::core::clone::Clone::clone(&
                        node), 1))
                    ]
                },
            );
            ::core::result::Result::Ok((__p::attach(y, node, 0), steps))
        }
        #[doc(hidden)]
        fn __pullback_backward_of_forward(
            (
                saved_0,
                (saved_1, (saved_2, (saved_3, (saved_4, (system, ()))))),
            ): (
                ::core::option::Option<__p::Saved<T>>,
                (
                    ::core::option::Option<__p::Saved<T>>,
                    (
                        ::core::option::Option<__p::SavedList<T>>,
                        (
                            ::core::option::Option<__p::Saved<T>>,
                            (
                                ::core::option::Option<__p::Saved<T>>,
                                (::core::option::Option<__p::SavedValue<__p::System>>, ()),
                            ),
                        ),
                    ),
                ),
            ),
            call: &mut __p::Call<'_>,
        ) -> ::core::result::Result<(), __p::Error> {
            let saved_0: ::core::option::Option<__p::Tensor<T, D>> = call
                .restore(saved_0, __p::Origin::Input(0))?;
            let saved_1: ::core::option::Option<__p::Tensor1<T>> = call
                .restore(saved_1, __p::Origin::Input(1))?;
            let saved_2: ::core::option::Option<::std::vec::Vec<__p::Tensor1<T>>> = call
                .restore(saved_2, __p::Origin::Input(2))?;
            let saved_3: ::core::option::Option<__p::Tensor<T, D>> = call
                .restore(saved_3, __p::Origin::Output(0))?;
            let saved_4: ::core::option::Option<__p::Tensor1<T>> = call
                .restore(saved_4, __p::Origin::Output(1))?;
            let unknowns = [
                __p::Argument::erased(__p::saved(&saved_3)),
                __p::Argument::erased(__p::saved(&saved_4)),
            ]
                .concat();
            __p::saved(&system)
                .backward(
                    call,
                    &unknowns,
                    &[
                        __p::Argument::erased(__p::saved(&saved_0)),
                        __p::Argument::erased(::core::option::Option::as_ref(&saved_1)),
                        __p::Argument::erased(
                            &__p::references(&__p::saved(&saved_2)[..])[..],
                        ),
                    ],
                )
        }
        #[doc(hidden)]
        #[allow(clippy::type_complexity)]
        fn __pullback_residual_of_forward(
            (
                constant_0,
                (constant_1, (constant_2, ())),
            ): &(
                ::std::vec::Vec<__p::AnyTensor>,
                (
                    ::core::option::Option<__p::SavedValue<Options>>,
                    (::core::option::Option<__p::SavedValue<Vec<usize>>>, ()),
                ),
            ),
            unknowns: &[__p::AnyTensor],
            inputs: &[::std::vec::Vec<__p::AnyTensor>],
        ) -> ::core::result::Result<::std::vec::Vec<__p::AnyTensor>, __p::Failure> {
            let asked_0 = __p::single_of::<T, D>(&unknowns[0..]);
            let asked_1 = __p::single_of::<T, __p::ndarray::Ix1>(&unknowns[1..]);
            let asked_2 = __p::single_of::<T, D>(&inputs[0]);
            let asked_3 = __p::optional_of::<T, __p::ndarray::Ix1>(&inputs[1]);
            let asked_4 = __p::list_of::<T, __p::ndarray::Ix1>(&inputs[2]);
            let asked_5 = __p::single_of::<T, __p::ndarray::Ix1>(constant_0);
            let (residual_0, residual_1) = match Self::residual(
                &asked_0,
                &asked_1,
                &asked_2,
                ::core::option::Option::as_ref(&asked_3),
                &__p::references(&asked_4),
                &asked_5,
                ::std::borrow::Borrow::<Options>::borrow(&**__p::saved(constant_1)),
                ::std::borrow::Borrow::<[usize]>::borrow(&**__p::saved(constant_2)),
            ) {
                returned => {
                    ::core::result::Result::map_err(
                        returned,
                        __p::IntoSource::into_source,
                    )?
                }
            };
            ::core::result::Result::Ok(
                ::std::vec![
                    < __p::AnyTensor as ::core::convert::From < __p::Tensor < T, D >> >
                    ::from(residual_0), < __p::AnyTensor as ::core::convert::From <
                    __p::Tensor < T, __p::ndarray::Ix1 >> > ::from(residual_1)
                ],
            )
        }
        #[cold]
        #[track_caller]
        #[doc(hidden)]
        fn __pullback_forward_mode_of_forward(
            applied_at: &'static ::core::panic::Location<'static>,
            link: &__p::Link,
            depth: ::core::primitive::u64,
            a: __p::Tensor<T, D>,
            shift: ::core::option::Option<&__p::Tensor1<T>>,
            parts: &[&__p::Tensor1<T>],
            mask: &__p::Tensor1<T>,
            options: &Options,
        ) -> Result<(__p::Tensor<T, D>, usize), Unfit> {
            let mut call = __p::ForwardCall::at(
                applied_at,
                <Self as __p::Function>::NAME,
                depth,
            );
            let inner_link = __p::Link::wanted();
            let (a, tangent_a) = __p::Argument::split(&a, &mut call);
            let (shift, tangent_shift) = __p::Argument::split(shift, &mut call);
            let (parts, tangent_parts) = __p::Argument::split(&parts[..], &mut call);
            let (mask, _) = __p::Argument::split(mask, &mut call);
            let (y, steps) = Self::__pullback_apply_of_forward(
                applied_at,
                &inner_link,
                ::core::clone::Clone::clone(&a),
                ::core::option::Option::as_ref(&shift),
                &__p::references(&parts),
                &mask,
                options,
            )?;
            let (system, hidden) = inner_link.take();
            let unknowns = [
                __p::Argument::erased(&y),
                ::core::clone::Clone::clone(&hidden),
            ]
                .concat();
            let found = system
                .forward(
                    &mut call,
                    &unknowns,
                    &[
                        __p::Argument::erased(&a),
                        __p::Argument::erased(::core::option::Option::as_ref(&shift)),
                        __p::Argument::erased(&__p::references(&parts)[..]),
                    ],
                    &[
                        __p::erased_tangents([tangent_a]),
                        __p::erased_tangents([tangent_shift]),
                        __p::erased_tangents(tangent_parts),
                    ],
                );
            link.pass(
                ::core::option::Option::Some(&system),
                || {
                    system
                        .hidden(&call, hidden, ::core::option::Option::as_deref(&found))
                },
            );
            let ::core::option::Option::Some(found) = found else {
                return ::core::result::Result::Ok((call.without_tangent(y), steps));
            };
            let tangent_y = __p::single_of::<T, D>(&found[0..]);
            ::core::result::Result::Ok((call.with_tangent(y, "y", tangent_y), steps))
        }
    }
    const __SIGNATURE: __p::Signature = __p::Signature::new(
            "Root",
            &[
                __p::InputSignature::tensor("a", "Array<T, D>"),
                __p::InputSignature::tensor("shift", "Option<ArrayView1<T>>").optional(),
                __p::InputSignature::tensor("parts", "&[ArrayView1<T>]").list(),
                __p::InputSignature::tensor("mask", "ArrayView1<T>").exempt(),
                __p::InputSignature::value("options", "&Options"),
            ],
            &[
                __p::OutputSignature::tensor("y", "Array<T, D>"),
                __p::OutputSignature::exempt("steps", "usize"),
            ],
            &[
                __p::SavedSignature::new("a", &["a", "shift", "parts"]),
                __p::SavedSignature::new("shift", &["a", "shift", "parts"]),
                __p::SavedSignature::new("parts", &["a", "shift", "parts"]),
                __p::SavedSignature::new("y", &["a", "shift", "parts"]),
                __p::SavedSignature::new("multipliers", &["a", "shift", "parts"]),
                __p::SavedSignature::new("residual", &["a", "shift", "parts"]),
            ],
        )
        .with_order(__p::Order::Any)
        .forward_mode();
    ::pullback::__private::register!(__SIGNATURE, "", "Root");
    const _: () = {
        #[allow(unused_imports)]
        use __p::HoldsNone as _;
        ::core::assert!(
            ! < __p::Probe < & Options >> ::AS_INPUT,
            "`&Options` is or contains a tensor or a module, which would get no gradient: take each tensor as a parameter, `options: &Tensor1<f64>` or `ArrayView1<f64>`, or mark an alias of one with `#[tensor]`"
        );
    };
    impl<T: Element, D: Dimension> __p::Function for Root<T, D> {
        const NAME: &'static ::core::primitive::str = "Root";
        const SIGNATURE: __p::Signature = __SIGNATURE;
    }
};
