//! Functions that are compiled in this crate.
//!
//! A program compiles each generic function that it calls, with all generic functions that those call: of a function that
//! differentiates recorded operations, that is most of this crate. Where only the element type differs, of which there are
//! two, a call goes through a pointer instead.
//!
//! Without the feature `ops`, by which a program asks for the shortest build, it compiles what its own formulas call: three
//! of five functions of this crate were there for formulas, and a program that has none does not wait for them.

/// Returns a pointer to a function that is generic over the element type alone.
#[cfg(feature = "ops")]
macro_rules! compiled_once {
    ($T:ident, $function:ident: $Pointer:ty) => {{
        struct Pointers;
        impl autograd_kernels::Family for Pointers {
            type Of<$T: autograd_kernels::Element> = $Pointer;
        }
        static SINGLE: <Pointers as autograd_kernels::Family>::Of<f32> = $function::<f32>;
        static DOUBLE: <Pointers as autograd_kernels::Family>::Of<f64> = $function::<f64>;
        autograd_kernels::of_type::<$T, Pointers>(SINGLE, DOUBLE)
    }};
}

/// Returns the function, which is compiled where it is called.
#[cfg(not(feature = "ops"))]
macro_rules! compiled_once {
    ($T:ident, $function:ident: $Pointer:ty) => {
        $function::<$T>
    };
}

pub(crate) use compiled_once;
