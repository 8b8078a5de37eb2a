/**
 | | type | | saved for the gradient of |
 |---|---|---|---|
 | `x` | `ArrayView<'a, T, D>` | input | `x` |
 | `mask` | `Option<ArrayView<T, D>>` | optional input, not differentiable | `x` |
 | `n` | `i32` | value | `x` |
 | `axes` | `&'a [usize]` | value | `x` |
 | `label` | `Option<&str>` | value |  |
 | `f` | `&F` | value |  |
 | `y` | `Array<T, D>` | output |  |
 | `count` | `usize` | output, not differentiable | `x` |
 | `power` | `usize` | saved for backward | `x` |

 It can be differentiated any number of times.*/
#[track_caller]
#[allow(clippy::too_many_arguments, clippy::type_complexity)]
pub(crate) fn scaled_power<'a, T, D: Dimension, F: ?Sized>(
    x: &'a ::pullback::__private::Tensor<T, D>,
    mask: ::core::option::Option<&::pullback::__private::Tensor<T, D>>,
    n: i32,
    axes: &'a [usize],
    label: Option<&str>,
    f: &F,
) -> Result<(::pullback::__private::Tensor<T, D>, usize), Unfit>
where
    T: Element,
    F: Fn(&'a [usize]) -> T,
{
    <ScaledPower<T, D, F>>::apply(x, mask, n, axes, label, f)
}
/// The differentiable function behind `scaled_power`.
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
#[allow(dead_code)]
pub(crate) struct ScaledPower<T, D, F: ?Sized> {
    of: (
        ::core::marker::PhantomData<T>,
        ::core::marker::PhantomData<D>,
        ::core::marker::PhantomData<F>,
    ),
}
#[allow(
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    clippy::trivially_copy_pass_by_ref,
    clippy::type_complexity,
)]
impl<T, D: Dimension, F: ?Sized> ScaledPower<T, D, F>
where
    T: Element,
{
    /// Computes `scaled_power` on arrays, outside any graph.
    pub(crate) fn forward<'a>(
        #[allow(unused_variables)]
        x: ArrayView<'a, T, D>,
        #[allow(unused_variables)]
        mask: Option<ArrayView<T, D>>,
        #[allow(unused_variables)]
        n: i32,
        #[allow(unused_variables)]
        axes: &'a [usize],
        label: Option<&str>,
        f: &F,
    ) -> Result<(Array<T, D>, usize, usize), Unfit>
    where
        F: Fn(&'a [usize]) -> T,
    {
        todo!()
    }
}
const _: () = {
    use ::pullback::__private as __p;
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    impl<T, D: Dimension, F: ?Sized> ScaledPower<T, D, F>
    where
        T: Element,
    {
        #[allow(
            dead_code,
            unused_parens,
            clippy::ptr_arg,
            clippy::ref_option,
            clippy::trivially_copy_pass_by_ref,
        )]
        fn grad_x(
            grad_y: &__p::Tensor<T, D>,
            x: &__p::Tensor<T, D>,
            n: &i32,
            axes: &[usize],
            count: &usize,
            power: &usize,
            mask: ::core::option::Option<&__p::Tensor<T, D>>,
        ) -> __p::Tensor<T, D> {
            (grad_y * x.powi(n - 1) * T::from(axes.len() * count * power)
                * mask.map_or(x, |x| x))
        }
        /// Applies `scaled_power` to tensors.
        #[track_caller]
        pub(crate) fn apply<'a>(
            x: &'a __p::Tensor<T, D>,
            mask: ::core::option::Option<&__p::Tensor<T, D>>,
            n: i32,
            axes: &'a [usize],
            label: Option<&str>,
            f: &F,
        ) -> Result<(__p::Tensor<T, D>, usize), Unfit>
        where
            F: Fn(&'a [usize]) -> T,
        {
            __p::is_value::<&F>("scaled_power", "f");
            let depth = __p::largest([
                __p::Argument::depth(x),
                __p::Argument::depth(mask),
            ]);
            if depth > 0 {
                return Self::__pullback_forward_mode_of_forward(
                    depth,
                    x,
                    mask,
                    n,
                    axes,
                    label,
                    f,
                );
            }
            let edges = [__p::Single::edge(x)];
            let needs = __p::needs(&edges);
            let saved_n = __p::save_if(needs[0], || __p::SavedNumber::new(&n));
            let unrecorded = __p::unrecorded();
            let (y, count, power) = match __p::caught(|| match Self::forward(
                __p::View::view(x),
                __p::View::view(mask),
                n,
                axes,
                label,
                f,
            ) {
                ::core::result::Result::Ok((y, count, power)) => {
                    let y: __p::Tensor<T, D> = __p::IntoOutput::into_output(y);
                    ::core::result::Result::Ok((y, count, power))
                }
                ::core::result::Result::Err(error) => ::core::result::Result::Err(error),
            }) {
                ::core::result::Result::Ok(returned) => returned,
                ::core::result::Result::Err(panic) => {
                    __p::forward_panicked(
                        panic,
                        &<Self as __p::Function>::SIGNATURE,
                        &[__p::Argument::shapes(x), __p::Argument::shapes(mask)],
                    )
                }
            }?;
            ::core::mem::drop(unrecorded);
            if !__p::any(&needs) {
                return ::core::result::Result::Ok((y, count));
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
                    __p::Save::save(x, needs[0]),
                    (
                        __p::Save::save(mask, needs[0]),
                        (
                            saved_n,
                            (
                                __p::save_if(
                                    needs[0],
                                    || <<[usize] as ::std::borrow::ToOwned>::Owned as __p::SaveValue>::into_saved(
                                        <[usize] as ::std::borrow::ToOwned>::to_owned(axes),
                                    ),
                                ),
                                (
                                    __p::save_if(needs[0], || __p::SavedNumber::new(&count)),
                                    (
                                        __p::save_if(needs[0], || __p::SavedNumber::new(&power)),
                                        (),
                                    ),
                                ),
                            ),
                        ),
                    ),
                ),
                [__p::meta(&y)],
            );
            ::core::result::Result::Ok((__p::attach(y, node, 0), count))
        }
        #[doc(hidden)]
        fn __pullback_backward_of_forward(
            (
                saved_0,
                (saved_1, (saved_2, (saved_3, (saved_4, (saved_5, ()))))),
            ): (
                ::core::option::Option<__p::Saved<T>>,
                (
                    ::core::option::Option<__p::Saved<T>>,
                    (
                        ::core::option::Option<__p::SavedNumber<i32>>,
                        (
                            ::core::option::Option<
                                __p::SavedValue<<[usize] as ::std::borrow::ToOwned>::Owned>,
                            >,
                            (
                                ::core::option::Option<__p::SavedNumber<usize>>,
                                (::core::option::Option<__p::SavedNumber<usize>>, ()),
                            ),
                        ),
                    ),
                ),
            ),
            call: &mut __p::Call<'_>,
        ) -> ::core::result::Result<(), __p::Error> {
            let context = __Context::<T, D, F> {
                x: call.restore(saved_0, __p::Origin::Input(0))?,
                mask: call.restore(saved_1, __p::Origin::Constant)?,
                n: saved_2,
                axes: saved_3,
                count: saved_4,
                power: saved_5,
                __of: ::core::marker::PhantomData,
            };
            let mut grad_y = call.grad::<T, D>(0);
            if call.needs(0) {
                let gradient_0 = Self::grad_x(
                    grad_y.tensor(),
                    __p::saved(&context.x),
                    ::std::borrow::Borrow::<i32>::borrow(&**__p::saved(&context.n)),
                    ::std::borrow::Borrow::<
                        [usize],
                    >::borrow(&**__p::saved(&context.axes)),
                    ::std::borrow::Borrow::<
                        usize,
                    >::borrow(&**__p::saved(&context.count)),
                    ::std::borrow::Borrow::<
                        usize,
                    >::borrow(&**__p::saved(&context.power)),
                    ::core::option::Option::as_ref(&context.mask),
                );
                call.give::<T, D>(0, gradient_0);
            }
            ::core::result::Result::Ok(())
        }
        #[cold]
        #[track_caller]
        #[doc(hidden)]
        fn __pullback_forward_mode_of_forward<'a>(
            depth: ::core::primitive::u64,
            x: &'a __p::Tensor<T, D>,
            mask: ::core::option::Option<&__p::Tensor<T, D>>,
            n: i32,
            axes: &'a [usize],
            label: Option<&str>,
            f: &F,
        ) -> Result<(__p::Tensor<T, D>, usize), Unfit>
        where
            F: Fn(&'a [usize]) -> T,
        {
            let mut call = __p::ForwardCall::new(<Self as __p::Function>::NAME, depth);
            let (x, _) = __p::Argument::split(x, &mut call);
            let (mask, _) = __p::Argument::split(mask, &mut call);
            let (y, count) = Self::apply(
                &x,
                ::core::option::Option::as_ref(&mask),
                n,
                axes,
                label,
                f,
            )?;
            ::core::result::Result::Ok((call.without_tangent(y), count))
        }
    }
    struct __Context<T, D: Dimension, F: ?Sized>
    where
        T: Element,
    {
        x: ::core::option::Option<__p::Tensor<T, D>>,
        mask: ::core::option::Option<__p::Tensor<T, D>>,
        n: ::core::option::Option<__p::SavedNumber<i32>>,
        axes: ::core::option::Option<
            __p::SavedValue<<[usize] as ::std::borrow::ToOwned>::Owned>,
        >,
        count: ::core::option::Option<__p::SavedNumber<usize>>,
        power: ::core::option::Option<__p::SavedNumber<usize>>,
        __of: ::core::marker::PhantomData<(fn(*const T), fn(*const D), fn(*const F))>,
    }
    const __SIGNATURE: __p::Signature = __p::Signature::new(
            "scaled_power",
            &[
                __p::InputSignature::tensor("x", "ArrayView<'a, T, D>"),
                __p::InputSignature::tensor("mask", "Option<ArrayView<T, D>>")
                    .optional()
                    .exempt(),
                __p::InputSignature::value("n", "i32"),
                __p::InputSignature::value("axes", "&'a [usize]"),
                __p::InputSignature::value("label", "Option<&str>"),
                __p::InputSignature::value("f", "&F"),
            ],
            &[
                __p::OutputSignature::tensor("y", "Array<T, D>"),
                __p::OutputSignature::exempt("count", "usize"),
            ],
            &[
                __p::SavedSignature::new("x", &["x"]),
                __p::SavedSignature::new("mask", &["x"]),
                __p::SavedSignature::new("n", &["x"]),
                __p::SavedSignature::new("axes", &["x"]),
                __p::SavedSignature::new("count", &["x"]),
                __p::SavedSignature::new("power", &["x"]),
            ],
        )
        .with_order(__p::Order::Any);
    ::pullback::__private::register!(__SIGNATURE, "", "scaled_power");
    impl<T, D: Dimension, F: ?Sized> __p::Function for ScaledPower<T, D, F>
    where
        T: Element,
    {
        const NAME: &'static ::core::primitive::str = "scaled_power";
        const SIGNATURE: __p::Signature = __SIGNATURE;
    }
};
