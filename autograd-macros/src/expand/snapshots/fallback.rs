#[allow(dead_code, unused_mut, unused_variables)]
impl<T: Element> Double<T> {
    pub fn forward(x: ArrayView1<T>) -> Array1<T> {
        &x + &x
    }
    fn backward(grad_output: ArrayView2<T>) -> Array1<T> {
        ::core::panic!("this function has mistakes that the compiler has reported")
    }
}
::core::compile_error! {
    "forward has no input named `y`\n= help: did you mean `x`? the differentiable inputs: `x`"
}
::core::compile_error! {
    "`grad_output` must have rank 1 like `output`, but has rank 2 here\n= help: write `ArrayView1<T>`"
}
/// The gradients of `Double` that a backward pass needs.
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
#[derive(::core::cmp::PartialEq, ::core::cmp::Eq)]
#[allow(dead_code, clippy::struct_excessive_bools)]
pub struct DoubleNeedsInputGrad {
    /// Whether the gradient of `x` is needed.
    pub x: ::core::primitive::bool,
}
#[allow(dead_code)]
pub struct DoubleContext<T: Element> {
    pub x: ::core::option::Option<::pullback::__private::Tensor1<T>>,
    pub output: ::core::option::Option<::pullback::__private::Tensor1<T>>,
    __of: ::core::marker::PhantomData<(fn(*const T),)>,
}
const _: () = {
    use ::pullback::__private as __p;
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    impl<T: Element> Double<T> {
        #[doc(hidden)]
        #[allow(unused_variables, dead_code)]
        #[must_use]
        #[track_caller]
        pub fn apply(x: &__p::Tensor1<T>) -> __p::Tensor1<T> {
            ::core::panic!("this function has mistakes that the compiler has reported")
        }
    }
    const __SIGNATURE: __p::Signature = __p::Signature::new(
        "Double",
        &[__p::InputSignature::tensor("x", "ArrayView1<T>")],
        &[__p::OutputSignature::tensor("output", "Array1<T>")],
        &[],
    );
    impl<T: Element> __p::Function for Double<T> {
        const NAME: &'static ::core::primitive::str = "Double";
        const SIGNATURE: __p::Signature = __SIGNATURE;
    }
};
