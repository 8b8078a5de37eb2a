#[cfg(test)]
#[::core::prelude::v1::test]
fn blend_gradcheck() {
    use ::pullback::__private as __p;
    let input_0 = __p::sample::<
        ::core::primitive::f64,
        __p::ndarray::Ix2,
    >(&[ROWS, 2 + 1], 0, ::core::option::Option::None);
    let input_1 = __p::sample::<
        ::core::primitive::f64,
        __p::ndarray::Ix2,
    >(&[2, 3], 1, ::core::option::Option::None);
    let input_2 = __p::sample::<
        f32,
        __p::ndarray::IxDyn,
    >(&[], 2, ::core::option::Option::None);
    __p::gradcheck(
        "`Blend` for `map = |x:f64|x`",
        [2, 0],
        __p::Gradcheck::new(),
        &[
            __p::Drawn {
                either_sign: true,
                within: ::core::option::Option::None,
                estimated: false,
            },
            __p::Drawn {
                either_sign: true,
                within: ::core::option::Option::None,
                estimated: true,
            },
        ],
        |(input_0, input_1)| {
            let (output_0, _, output_2) = {
                #[allow(unused_imports)]
                use __p::NoReason as _;
                __p::succeeded(
                    <Blend<
                        '_,
                        ::core::primitive::f64,
                        __p::ndarray::Ix2,
                        Ix3,
                        _,
                        _,
                    >>::apply(
                        ::core::clone::Clone::clone(input_0),
                        ::core::option::Option::Some(input_1),
                        ::core::option::Option::Some(
                            ::core::clone::Clone::clone(&input_2),
                        ),
                        &[1, 2],
                        |x: f64| x,
                    ),
                    |error| __p::Reason(error).text(),
                )
            };
            (output_0, output_2)
        },
        (&input_0, &input_1),
    );
    __p::gradcheck(
        "`Blend` without `mask`, `y` for `map = |x:f64|x`",
        [2, 0],
        __p::Gradcheck::new(),
        &[
            __p::Drawn {
                either_sign: true,
                within: ::core::option::Option::None,
                estimated: false,
            },
        ],
        |(input_0,)| {
            let (output_0, _, output_2) = {
                #[allow(unused_imports)]
                use __p::NoReason as _;
                __p::succeeded(
                    <Blend<
                        '_,
                        ::core::primitive::f64,
                        __p::ndarray::Ix2,
                        Ix3,
                        _,
                        _,
                    >>::apply(
                        ::core::clone::Clone::clone(input_0),
                        ::core::option::Option::None,
                        ::core::option::Option::None,
                        &[1, 2],
                        |x: f64| x,
                    ),
                    |error| __p::Reason(error).text(),
                )
            };
            (output_0, output_2)
        },
        (&input_0,),
    );
    __p::gradcheck(
        "`Blend` for `map = |x:f64| -x`",
        [2, 0],
        __p::Gradcheck::new(),
        &[
            __p::Drawn {
                either_sign: true,
                within: ::core::option::Option::None,
                estimated: false,
            },
            __p::Drawn {
                either_sign: true,
                within: ::core::option::Option::None,
                estimated: true,
            },
        ],
        |(input_0, input_1)| {
            let (output_0, _, output_2) = {
                #[allow(unused_imports)]
                use __p::NoReason as _;
                __p::succeeded(
                    <Blend<
                        '_,
                        ::core::primitive::f64,
                        __p::ndarray::Ix2,
                        Ix3,
                        _,
                        _,
                    >>::apply(
                        ::core::clone::Clone::clone(input_0),
                        ::core::option::Option::Some(input_1),
                        ::core::option::Option::Some(
                            ::core::clone::Clone::clone(&input_2),
                        ),
                        &[1, 2],
                        |x: f64| -x,
                    ),
                    |error| __p::Reason(error).text(),
                )
            };
            (output_0, output_2)
        },
        (&input_0, &input_1),
    );
    __p::gradcheck(
        "`Blend` without `mask`, `y` for `map = |x:f64| -x`",
        [2, 0],
        __p::Gradcheck::new(),
        &[
            __p::Drawn {
                either_sign: true,
                within: ::core::option::Option::None,
                estimated: false,
            },
        ],
        |(input_0,)| {
            let (output_0, _, output_2) = {
                #[allow(unused_imports)]
                use __p::NoReason as _;
                __p::succeeded(
                    <Blend<
                        '_,
                        ::core::primitive::f64,
                        __p::ndarray::Ix2,
                        Ix3,
                        _,
                        _,
                    >>::apply(
                        ::core::clone::Clone::clone(input_0),
                        ::core::option::Option::None,
                        ::core::option::Option::None,
                        &[1, 2],
                        |x: f64| -x,
                    ),
                    |error| __p::Reason(error).text(),
                )
            };
            (output_0, output_2)
        },
        (&input_0,),
    );
}
#[cfg(test)]
#[::core::prelude::v1::test]
fn blend_gradcheck_2() {
    use ::pullback::__private as __p;
    let input_0 = __p::sample::<
        ::core::primitive::f64,
        __p::ndarray::Ix1,
    >(&[1], 0, ::core::option::Option::None);
    let input_1 = __p::sample::<
        ::core::primitive::f64,
        __p::ndarray::Ix1,
    >(&[1], 1, ::core::option::Option::None);
    let input_2 = __p::sample::<
        f32,
        __p::ndarray::IxDyn,
    >(&[2], 2, ::core::option::Option::None);
    __p::gradcheck(
        "`Blend`",
        [2, 0],
        __p::Gradcheck::new().eps(1e-5),
        &[
            __p::Drawn {
                either_sign: true,
                within: ::core::option::Option::None,
                estimated: false,
            },
            __p::Drawn {
                either_sign: true,
                within: ::core::option::Option::None,
                estimated: false,
            },
        ],
        |(input_0, input_1)| {
            let (output_0, _, output_2) = {
                #[allow(unused_imports)]
                use __p::NoReason as _;
                __p::succeeded(
                    <Blend<
                        '_,
                        ::core::primitive::f64,
                        __p::ndarray::Ix1,
                        Ix1,
                        _,
                        _,
                    >>::apply(
                        ::core::clone::Clone::clone(input_0),
                        ::core::option::Option::Some(input_1),
                        ::core::option::Option::Some(
                            ::core::clone::Clone::clone(&input_2),
                        ),
                        &[1],
                        |x: f64| x,
                    ),
                    |error| __p::Reason(error).text(),
                )
            };
            (output_0, output_2)
        },
        (&input_0, &input_1),
    );
    __p::gradcheck(
        "`Blend` without `y`",
        [2, 0],
        __p::Gradcheck::new().eps(1e-5),
        &[
            __p::Drawn {
                either_sign: true,
                within: ::core::option::Option::None,
                estimated: false,
            },
        ],
        |(input_0,)| {
            let (output_0, _, output_2) = {
                #[allow(unused_imports)]
                use __p::NoReason as _;
                __p::succeeded(
                    <Blend<
                        '_,
                        ::core::primitive::f64,
                        __p::ndarray::Ix1,
                        Ix1,
                        _,
                        _,
                    >>::apply(
                        ::core::clone::Clone::clone(input_0),
                        ::core::option::Option::None,
                        ::core::option::Option::Some(
                            ::core::clone::Clone::clone(&input_2),
                        ),
                        &[1],
                        |x: f64| x,
                    ),
                    |error| __p::Reason(error).text(),
                )
            };
            (output_0, output_2)
        },
        (&input_0,),
    );
    __p::gradcheck(
        "`Blend` without `mask`",
        [2, 0],
        __p::Gradcheck::new().eps(1e-5),
        &[
            __p::Drawn {
                either_sign: true,
                within: ::core::option::Option::None,
                estimated: false,
            },
            __p::Drawn {
                either_sign: true,
                within: ::core::option::Option::None,
                estimated: false,
            },
        ],
        |(input_0, input_1)| {
            let (output_0, _, output_2) = {
                #[allow(unused_imports)]
                use __p::NoReason as _;
                __p::succeeded(
                    <Blend<
                        '_,
                        ::core::primitive::f64,
                        __p::ndarray::Ix1,
                        Ix1,
                        _,
                        _,
                    >>::apply(
                        ::core::clone::Clone::clone(input_0),
                        ::core::option::Option::Some(input_1),
                        ::core::option::Option::None,
                        &[1],
                        |x: f64| x,
                    ),
                    |error| __p::Reason(error).text(),
                )
            };
            (output_0, output_2)
        },
        (&input_0, &input_1),
    );
}
