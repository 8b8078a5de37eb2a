//! Rust functions that Python can call: their parameters follow from their types.
//!
//! # Note [Generic functions]
//! `squash` alone names a function whose element type and rank are not chosen. [`Probe`] tries three traits, in the
//! order in which a method call looks for a receiver: tensors of this element type and of ranks known at run time
//! ([`ByRank`]); tensors of this element type and of the ranks in the signature ([`ByElement`]); or no such tensors
//! ([`Neither`]). The first trait that applies also chooses the type parameters. If none does for either element type,
//! [`Refused`] makes the compiler name the type that Python cannot give.
//!
//! # Note [Lists]
//! A function takes `&[Tensor1<f64>]` and `&[&Tensor1<f64>]`, so its type has a parameter more for each list, which no
//! trait above determines: both would do. So before, [`At`] tries each position: if the parameter there can be a slice
//! of tensors, [`Listed`] chooses tensors by value, and else [`Unlisted`] leaves all as it is.

use std::marker::PhantomData;

use pullback::catalogue::Entry;
use pullback::{AnyTensor, Tensor};
use pyo3::PyResult;

use crate::argument::{Argument, Given, Of, OfElement, Parameter};
use crate::output::{Output, OutputType, Outputs};

/// A call with its values, which takes the tensors.
pub(crate) type Prepared = Box<dyn FnOnce(&[AnyTensor]) -> PyResult<Outputs> + Send>;

/// Reads the values of a call.
pub(crate) type Prepare = dyn Fn(&[Given<'_, '_>]) -> PyResult<Prepared> + Send + Sync;

/// A function for one element type.
#[expect(missing_debug_implementations, reason = "it holds a closure")]
pub struct Variant {
    /// The entry of the function; `None` if `#[custom_function]` does not define it.
    pub(crate) entry: Option<&'static Entry>,
    pub(crate) parameters: Vec<Parameter>,
    /// The types of the outputs in Python.
    pub(crate) outputs: Vec<OutputType>,
    /// Reads the values of a call.
    pub(crate) prepare: Box<Prepare>,
}

/// Returns the element types that have a variant, for documentation and errors.
pub(crate) const fn element_types(variants: &[Option<Variant>; 2]) -> &'static str {
    match variants {
        [Some(_), Some(_)] => "float32 or float64",
        [Some(_), None] => "float32",
        _ => "float64",
    }
}

/// A function that Python can call. `M` has the types of its parameters, and is inferred.
pub trait Call<P, M>: Copy + Send + Sync + 'static {
    #[doc(hidden)]
    fn exported(self) -> Variant;
}

/// A function with these types of parameters and outputs, whatever they are. `M` has the types of its parameters.
pub trait Parts<M> {
    /// The parameters.
    type Inputs;
    /// The outputs.
    type Output;
}

/// Parameters that Python can give.
pub trait Arguments<P> {}

macro_rules! calls {
    ($($A:ident $held:ident),*) => {
        impl<Fun: Fn($($A),*) -> O, O, $($A),*> Parts<fn($($A),*) -> O> for Fun {
            type Inputs = ($($A,)*);
            type Output = O;
        }

        impl<P, $($A: Argument<P>),*> Arguments<P> for ($($A,)*) {}

        impl<P, Fun, O, $($A),*> Call<P, fn($($A),*) -> O> for Fun
        where
            Fun: Fn($($A),*) -> O + for<'a> Fn($($A::With<'a>),*) -> O + Copy + Send + Sync + 'static,
            O: Output,
            $($A: Argument<P>,)*
        {
            fn exported(self) -> Variant {
                let mut outputs = Vec::new();
                O::types(&mut outputs);
                Variant {
                    entry: Entry::of(&self),
                    parameters: vec![$($A::PARAMETER),*],
                    outputs,
                    prepare: Box::new(move |given| {
                        let mut given = given.iter();
                        // INVARIANT: `Functions::add` has compared the numbers of parameters.
                        $(let $held = $A::read(given.next().expect("an argument for each parameter"))?;)*
                        Ok(Box::new(move |tensors: &[AnyTensor]| {
                            $(let $held = $A::hold($held, tensors)?;)*
                            let mut returned = Outputs::default();
                            self($($A::with(&$held)),*).write(&mut returned)?;
                            Ok(returned)
                        }))
                    }),
                }
            }
        }
    };
}

calls!(A a);
calls!(A a, B b);
calls!(A a, B b, C c);
calls!(A a, B b, C c, D d);
calls!(A a, B b, C c, D d, E e);
calls!(A a, B b, C c, D d, E e, F f);
calls!(A a, B b, C c, D d, E e, F f, G g);
calls!(A a, B b, C c, D d, E e, F f, G g, H h);
calls!(A a, B b, C c, D d, E e, F f, G g, H h, I i);
calls!(A a, B b, C c, D d, E e, F f, G g, H h, I i, J j);
calls!(A a, B b, C c, D d, E e, F f, G g, H h, I i, J j, K k);
calls!(A a, B b, C c, D d, E e, F f, G g, H h, I i, J j, K k, L l);

/// A function whose parameter at the position `K` is a list of tensors.
pub trait ListAt<const K: usize, M> {}

macro_rules! list_at {
    ($K:literal [$($Before:ident)*] $($After:ident)*) => {
        impl<Fun, O, T: 'static, D: 'static, $($Before,)* $($After),*>
            ListAt<$K, fn($($Before,)* &'static [Tensor<T, D>], $($After),*) -> O> for Fun
        where
            Fun: Fn($($Before,)* &'static [Tensor<T, D>], $($After),*) -> O,
        {
        }

        list_at!(fewer $K [$($Before)*] $($After)*);
    };
    (fewer $K:literal [$($Before:ident)*]) => {};
    (fewer $K:literal [$($Before:ident)*] $First:ident $($After:ident)*) => {
        list_at!($K [$($Before)*] $($After)*);
    };
}

list_at!(0 [] B C Q E F G H I J K L);
list_at!(1 [A] C Q E F G H I J K L);
list_at!(2 [A B] Q E F G H I J K L);
list_at!(3 [A B C] E F G H I J K L);
list_at!(4 [A B C Q] F G H I J K L);
list_at!(5 [A B C Q E] G H I J K L);
list_at!(6 [A B C Q E F] H I J K L);
list_at!(7 [A B C Q E F G] I J K L);
list_at!(8 [A B C Q E F G H] J K L);
list_at!(9 [A B C Q E F G H I] K L);
list_at!(10 [A B C Q E F G H I J] L);
list_at!(11 [A B C Q E F G H I J K]);

/// Finds whether the parameter of `F` at the position `K` is a list: see Note \[Lists\].
#[derive(Debug)]
pub struct At<const K: usize, F>(pub F);

/// A list.
pub trait Listed<F, M> {
    /// Returns the function of lists of tensors by value.
    fn chosen(self) -> F;
}

impl<const K: usize, F: ListAt<K, M>, M> Listed<F, M> for At<K, F> {
    fn chosen(self) -> F {
        self.0
    }
}

/// Another parameter, or none.
pub trait Unlisted<F> {
    /// Returns the function.
    fn chosen(&self) -> F;
}

impl<const K: usize, F: Copy> Unlisted<F> for At<K, F> {
    fn chosen(&self) -> F {
        self.0
    }
}

/// Finds whether `F` is a function of tensors of `T`: see Note \[Generic functions\].
#[derive(Debug)]
pub struct Probe<T, F> {
    function: F,
    of: PhantomData<T>,
}

impl<T, F> Probe<T, F> {
    /// A probe of this function.
    pub const fn new(function: F) -> Self {
        let of = PhantomData;
        Self { function, of }
    }
}

/// Tensors of `T` whose ranks are known at run time.
pub trait ByRank<M> {
    /// Returns the function of such tensors.
    fn variant(&self) -> Variant;
}

impl<T, F: Call<Of<T>, M>, M> ByRank<M> for &&Probe<T, F> {
    fn variant(&self) -> Variant {
        self.function.exported()
    }
}

/// Tensors of `T` of the ranks in the function's signature.
pub trait ByElement<M> {
    /// Returns the function of such tensors.
    fn variant(&self) -> Variant;
}

impl<T, F: Call<OfElement<T>, M>, M> ByElement<M> for &Probe<T, F> {
    fn variant(&self) -> Variant {
        self.function.exported()
    }
}

/// In place of a variant that the function `F` does not have.
#[derive(Debug)]
pub struct Missing<F>(PhantomData<F>);

/// No tensors of `T`.
pub trait Neither<F> {
    /// Returns that there is no function.
    fn variant(&self) -> Missing<F>;
}

impl<T, F> Neither<F> for Probe<T, F> {
    fn variant(&self) -> Missing<F> {
        Missing(PhantomData)
    }
}

/// The variants for `f32` and `f64`, of which there is one.
pub trait Found {
    /// Returns the variants.
    fn variants(self) -> [Option<Variant>; 2];
}

impl Found for (Variant, Variant) {
    fn variants(self) -> [Option<Variant>; 2] {
        [Some(self.0), Some(self.1)]
    }
}

impl<F> Found for (Variant, Missing<F>) {
    fn variants(self) -> [Option<Variant>; 2] {
        [Some(self.0), None]
    }
}

impl<F> Found for (Missing<F>, Variant) {
    fn variants(self) -> [Option<Variant>; 2] {
        [None, Some(self.1)]
    }
}

/// Neither variant. A call does not compile: the compiler names the type that has no counterpart in Python.
pub trait Refused<F> {
    /// Is never called.
    fn variants<M>(self) -> [Option<Variant>; 2]
    where
        F: Parts<M>,
        F::Inputs: Arguments<OfElement<f64>>,
        F::Output: Output;
}

impl<F> Refused<F> for (Missing<F>, Missing<F>) {
    fn variants<M>(self) -> [Option<Variant>; 2]
    where
        F: Parts<M>,
        F::Inputs: Arguments<OfElement<f64>>,
        F::Output: Output,
    {
        [None, None]
    }
}
