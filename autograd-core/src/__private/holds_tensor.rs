//! Types that hold a tensor. The macro has only names, so generated code checks the types.

use std::any::type_name;
use std::collections::{BTreeMap, HashMap};
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::{Arc, Mutex, RwLock};

use ndarray::{ArrayBase, CowRepr, OwnedArcRepr, OwnedRepr, RawData, ViewRepr};

use crate::tensor::Tensor;
use autograd_kernels::Element;

/// A float, a tensor, an array of floats, a module, or a container of one.
pub trait HoldsTensor {
    /// Whether a parameter of this type would lose a gradient. Borrowed arrays, and arrays in a container, are data:
    /// they were copied from tensors before.
    const AS_INPUT: bool = true;
    /// Whether a parameter that contains this type would lose a gradient.
    const INSIDE: bool = true;
    /// Whether an output of this type would lose its gradient.
    const AS_OUTPUT: bool = true;
    /// Whether what forward computes of this type has a derivative, which a backward function on tensors would lose.
    const AS_SAVED: bool = true;
    /// Whether a module would neither train nor save it, if it were skipped.
    const AS_SKIPPED: bool = false;
}

impl<T, D> HoldsTensor for Tensor<T, D> {}

impl<S: Storage, D> HoldsTensor for ArrayBase<S, D> {
    const INSIDE: bool = S::IS_VIEW;
}

macro_rules! floats {
    ($($float:ty),*) => {
        $(impl HoldsTensor for $float {
            const AS_INPUT: bool = false;
            const INSIDE: bool = false;
            const AS_OUTPUT: bool = false;
        })*
    };
}

floats!(f32, f64);

/// The memory of an array of floats.
pub trait Storage: RawData {
    /// Whether the memory is borrowed, as that of a tensor.
    const IS_VIEW: bool = false;
}

impl<T: Element> Storage for OwnedRepr<T> {}
impl<T: Element> Storage for OwnedArcRepr<T> {}
impl<T: Element> Storage for CowRepr<'_, T> {}
impl<T: Element> Storage for ViewRepr<&T> {
    const IS_VIEW: bool = true;
}
impl<T: Element> Storage for ViewRepr<&mut T> {
    const IS_VIEW: bool = true;
}

macro_rules! holders {
    ($input:ident: $([$($generics:tt)*] $holder:ty),*) => {
        $(impl<$($generics)*> HoldsTensor for $holder {
            const AS_INPUT: bool = V::$input;
            const INSIDE: bool = V::INSIDE;
            const AS_OUTPUT: bool = V::AS_OUTPUT;
            const AS_SAVED: bool = V::AS_SAVED;
            const AS_SKIPPED: bool = V::AS_SKIPPED;
        })*
    };
}

holders!(AS_INPUT: [V: HoldsTensor] Option<V>, [V: HoldsTensor + ?Sized] &mut V);

// Containers, in which a parameter may have arrays as data.
holders!(
    INSIDE: [V: HoldsTensor + ?Sized] &V,
    [V: HoldsTensor] [V],
    [V: HoldsTensor, const N: usize] [V; N],
    [V: HoldsTensor] Vec<V>,
    [V: HoldsTensor + ?Sized] Box<V>,
    [V: HoldsTensor + ?Sized] Rc<V>,
    [V: HoldsTensor + ?Sized] Arc<V>,
    [V: HoldsTensor + ?Sized] Mutex<V>,
    [V: HoldsTensor + ?Sized] RwLock<V>,
    [K, V: HoldsTensor, S] HashMap<K, V, S>,
    [K, V: HoldsTensor] BTreeMap<K, V>
);

/// Has the constants of [`HoldsTensor`] if `V` implements it, else those of [`HoldsNone`]: constants of a type take
/// precedence over those of a trait.
#[derive(Debug)]
pub struct Probe<V: ?Sized>(PhantomData<V>);

impl<V: HoldsTensor + ?Sized> Probe<V> {
    /// See [`HoldsTensor`].
    pub const AS_INPUT: bool = V::AS_INPUT;
    /// See [`HoldsTensor`].
    pub const AS_OUTPUT: bool = V::AS_OUTPUT;
    /// See [`HoldsTensor`].
    pub const AS_SAVED: bool = V::AS_SAVED;
    /// See [`HoldsTensor`].
    pub const AS_SKIPPED: bool = V::AS_SKIPPED;
}

/// The constants of [`Probe`] for all other types.
pub trait HoldsNone {
    /// See [`HoldsTensor`].
    const AS_INPUT: bool = false;
    /// See [`HoldsTensor`].
    const AS_OUTPUT: bool = false;
    /// See [`HoldsTensor`].
    const AS_SAVED: bool = false;
    /// See [`HoldsTensor`].
    const AS_SKIPPED: bool = false;
}

impl<V: ?Sized> HoldsNone for Probe<V> {}

/// Checks that a value whose type is a type parameter is not a tensor.
///
/// # Panics
/// If `V` is a tensor, also by reference, in an `Option` or in a list.
#[inline]
#[track_caller]
pub fn is_value<V: ?Sized>(function: &str, name: &str) {
    // By name: in a generic function `Probe` would see only the bounds of `V`, and `TypeId` would need `V: 'static` and
    // could not look inside `&V` or `Option<V>`.
    if names_tensor(type_name::<V>()) {
        refuse(function, name, type_name::<V>());
    }
}

#[inline]
fn names_tensor(mut name: &str) -> bool {
    const AROUND: [&str; 6] = [
        "&",
        "mut ",
        "[",
        "core::option::Option<",
        "alloc::vec::Vec<",
        "alloc::sync::Arc<",
    ];
    while let Some(inner) = AROUND.iter().find_map(|around| name.strip_prefix(around)) {
        name = inner;
    }
    name.starts_with("autograd_core::tensor::Tensor<")
}

#[cold]
#[track_caller]
fn refuse(function: &str, name: &str, ty: &str) -> ! {
    panic!(
        "`{name}` of `{function}` is a value and has no gradient, but a `{ty}` was given: give its `detach().to_array()`"
    )
}

#[cfg(test)]
mod tests {
    use ndarray::{ArcArray1, Array1, ArrayView1, ArrayViewMut1, CowArray, Ix1};

    use super::*;
    use crate::Tensor1;

    type Real = f64;

    /// Returns whether a type is a tensor as an input, and as an output.
    macro_rules! probed {
        ($ty:ty) => {
            (<Probe<$ty>>::AS_INPUT, <Probe<$ty>>::AS_OUTPUT)
        };
    }

    #[test]
    fn tensors_are_found_whatever_they_are_called() {
        let all = [
            probed!(Tensor1<f64>),
            probed!(&Tensor1<f32>),
            probed!(&[Tensor1<f64>]),
            probed!(Option<&Tensor1<f64>>),
            probed!(Vec<Arc<Tensor1<f64>>>),
            probed!(ArrayView1<Real>),
            probed!(&ArrayView1<f64>),
            probed!(&mut Array1<f64>),
            probed!(ArrayViewMut1<f64>),
            probed!(Array1<f64>),
            probed!(Option<Array1<f64>>),
            probed!(ArcArray1<f64>),
            probed!(CowArray<'static, f32, Ix1>),
        ];
        assert_eq!(all, [(true, true); 13]);
    }

    #[test]
    fn data_is_data() {
        let all = [
            probed!(&Array1<f64>),
            probed!(Vec<Array1<f64>>),
            probed!(&[Array1<f32>]),
        ];
        assert_eq!(all, [(false, true); 3]);
        let all = [
            probed!(f64),
            probed!(&[f64]),
            probed!(ArrayView1<'_, usize>),
            probed!(fn(f64) -> f64),
            probed!(&dyn Fn(&Tensor1<f64>) -> f64),
            probed!(str),
        ];
        assert_eq!(all, [(false, false); 6]);
    }

    #[test]
    fn floats_have_derivatives() {
        type Count = usize;
        let saved = [
            <Probe<Real>>::AS_SAVED,
            <Probe<Vec<Real>>>::AS_SAVED,
            <Probe<Option<[Real; 2]>>>::AS_SAVED,
            !<Probe<Count>>::AS_SAVED,
            !<Probe<Vec<Count>>>::AS_SAVED,
        ];
        assert_eq!(saved, [true; 5]);
        assert_eq!(probed!(Vec<Real>), (false, false));
    }

    #[test]
    fn type_parameters_are_checked_by_name() {
        is_value::<fn(&Tensor1<f64>)>("F", "f");
        is_value::<Array1<f64>>("F", "data");
        for name in [
            type_name::<Tensor1<f64>>(),
            type_name::<Option<&[Tensor1<f32>]>>(),
        ] {
            assert!(names_tensor(name), "{name}");
        }
    }

    #[test]
    #[should_panic(expected = "`scale` of `F` is a value and has no gradient")]
    fn a_tensor_for_a_type_parameter_is_refused() {
        is_value::<&Tensor1<f64>>("F", "scale");
    }
}
