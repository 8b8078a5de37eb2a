//! The parameters of functions: tensors, and the values that have a counterpart in Python.

use std::fmt::Display;

use numpy::{Element as NumpyElement, PyReadonlyArrayDyn};
use pullback::ndarray::{Array, ArrayD, ArrayRef, ArrayView, Dimension, IxDyn};
use pullback::{AnyTensor, Element, ElementType, Tensor};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::ffi::plain::{FromPlain, Plain};

/// An argument from Python, with the name of its parameter.
#[derive(Debug)]
pub struct Given<'a, 'py> {
    pub(crate) name: &'static str,
    pub(crate) value: Value<'a, 'py>,
}

#[derive(Debug)]
pub(crate) enum Value<'a, 'py> {
    /// The index among the tensors of the call; `None` for an optional tensor that was left out.
    Tensor(Option<usize>),
    /// The indices of the tensors of a list.
    List(Vec<usize>),
    Object(&'a Bound<'py, PyAny>),
    /// A value of a program of XLA.
    Plain(&'a Plain<'a>),
}

impl Value<'_, '_> {
    /// Returns the index of a tensor.
    pub(crate) const fn place(&self) -> Option<usize> {
        match self {
            Self::Tensor(place) => *place,
            _ => None,
        }
    }
}

/// A tensor argument: its index among the tensors of the call, and its name in errors.
#[derive(Debug)]
pub struct Place {
    name: &'static str,
    index: usize,
}

/// A list of tensors: their indices among the tensors of the call, and the list's name in errors.
#[derive(Debug)]
pub struct Places {
    name: &'static str,
    indices: Vec<usize>,
}

/// A parameter of a function, with `'static` in place of its lifetimes. `P` chooses the type parameters of a generic
/// function: [`Of`] or [`OfElement`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no counterpart in Python",
    label = "this function has a parameter of the type `{Self}`",
    note = "a parameter may be a tensor, an optional tensor, a list of tensors, a number, `bool`, a string, an `Option` of \
            these, a slice or a `Vec` of numbers, or an array of integers or of `bool`, of one element type"
)]
pub trait Argument<P>: Sized {
    /// The parameter's type for any lifetime.
    type With<'a>;
    /// The argument after it was read under Python's lock.
    type Given: Send + 'static;
    /// The value that the argument of the function borrows from.
    type Held;
    /// Its description in Python.
    const PARAMETER: Parameter;

    /// Reads the argument from Python.
    fn read(given: &Given<'_, '_>) -> PyResult<Self::Given>;
    /// Takes the value from the tensors of the call.
    fn hold(given: Self::Given, tensors: &[AnyTensor]) -> PyResult<Self::Held>;
    /// Borrows the argument of the function.
    fn with(held: &Self::Held) -> Self::With<'_>;
}

/// A parameter in the documentation and stubs of Python.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The type in stubs, `Array` for tensors.
    pub(crate) stub: &'static str,
    /// The number of axes of a tensor; `None` for any number.
    pub(crate) axes: Option<usize>,
    /// The element type of a tensor; `None` for a value.
    pub(crate) dtype: Option<&'static str>,
}

impl Parameter {
    const fn tensor(stub: &'static str, axes: Option<usize>, element: ElementType) -> Self {
        Self {
            stub,
            axes,
            dtype: Some(dtype(element)),
        }
    }

    const fn value(stub: &'static str) -> Self {
        let (axes, dtype) = (None, None);
        Self { stub, axes, dtype }
    }
}

/// Tensors of `T` of any rank, for a function that is generic over the rank.
#[derive(Debug)]
pub struct Of<T>(T);
/// Tensors of `T` of the ranks in the function's signature.
#[derive(Debug)]
pub struct OfElement<T>(T);

/// Returns the name of an element type in NumPy.
pub(crate) const fn dtype(element: ElementType) -> &'static str {
    match element {
        ElementType::F32 => "float32",
        ElementType::F64 => "float64",
    }
}

/// Returns the text for a tensor of an element type that a function does not take.
pub(crate) fn wrong_type(name: &dyn Display, expected: &str, found: &str) -> String {
    let (method, with) = match expected {
        "float64" => ("double", " with `jax_enable_x64`"),
        _ => ("float", ""),
    };
    format!(
        "`{name}` must be {expected}, not {found}; pass `{name}.{method}()` in PyTorch, `{name}.astype(\"{expected}\")` \
         in NumPy and in JAX{with}"
    )
}

fn typed<T: Element, D: Dimension>(
    name: &dyn Display,
    tensor: &AnyTensor,
) -> PyResult<Tensor<T, D>> {
    let found = tensor.to_tensor::<T>().ok_or_else(|| {
        let (expected, found) = (dtype(T::TYPE), dtype(tensor.element_type()));
        PyTypeError::new_err(wrong_type(name, expected, found))
    })?;
    found
        .into_dimensionality()
        .ok_or_else(|| wrong_rank(name, D::NDIM.unwrap_or_default(), tensor.shape()))
}

fn place(given: &Given<'_, '_>) -> PyResult<Option<Place>> {
    match given.value {
        Value::Tensor(index) => Ok(index.map(|index| Place {
            name: given.name,
            index,
        })),
        _ => Err(PyTypeError::new_err(format!(
            "`{}` is not a tensor",
            given.name
        ))),
    }
}

/// Implements [`Argument`] for tensors, for each way to choose the parameters of a generic function.
macro_rules! tensors {
    ($([$($generics:tt)*] $Pin:ty: $V:ty => $Shown:ty as $T:ty, $D:ty, $show:expr;)+) => {$(
        impl<$($generics)*> Argument<$Pin> for $V {
            type With<'a> = $Shown;
            type Given = Place;
            type Held = Tensor<$T, $D>;
            const PARAMETER: Parameter = Parameter::tensor("Array", <$D>::NDIM, <$T>::TYPE);

            fn read(given: &Given<'_, '_>) -> PyResult<Place> {
                let missing = || {
                    PyTypeError::new_err(format!("`{}` must be an array, not None", given.name))
                };
                place(given)?.ok_or_else(missing)
            }

            fn hold(given: Place, tensors: &[AnyTensor]) -> PyResult<Self::Held> {
                typed(&given.name, &tensors[given.index])
            }

            fn with(held: &Self::Held) -> <Self as Argument<$Pin>>::With<'_> {
                $show(held)
            }
        }
    )+};
}

tensors! {
    [T: Element] Of<T>: &'static Tensor<T, IxDyn> => &'a Tensor<T, IxDyn> as T, IxDyn, |held| held;
    [T: Element] Of<T>: Tensor<T, IxDyn> => Tensor<T, IxDyn> as T, IxDyn, Tensor::clone;
    [T: Element, D: Dimension + 'static] OfElement<T>:
        &'static Tensor<T, D> => &'a Tensor<T, D> as T, D, |held| held;
    [T: Element, D: Dimension + 'static] OfElement<T>:
        Tensor<T, D> => Tensor<T, D> as T, D, Tensor::clone;
}

/// Implements [`Argument`] for optional tensors.
macro_rules! optional {
    ($([$($generics:tt)*] $Pin:ty, $T:ty, $D:ty;)+) => {$(
        impl<$($generics)*> Argument<$Pin> for Option<&'static Tensor<$T, $D>> {
            type With<'a> = Option<&'a Tensor<$T, $D>>;
            type Given = Option<Place>;
            type Held = Option<Tensor<$T, $D>>;
            const PARAMETER: Parameter = Parameter::tensor("Array | None", <$D>::NDIM, <$T>::TYPE);

            fn read(given: &Given<'_, '_>) -> PyResult<Option<Place>> {
                place(given)
            }

            fn hold(given: Option<Place>, tensors: &[AnyTensor]) -> PyResult<Self::Held> {
                let tensor = given.map(|place| typed(&place.name, &tensors[place.index]));
                tensor.transpose()
            }

            fn with(held: &Self::Held) -> Self::With<'_> {
                held.as_ref()
            }
        }
    )+};
}

optional! {
    [T: Element] Of<T>, T, IxDyn;
    [T: Element, D: Dimension + 'static] OfElement<T>, T, D;
}

/// Implements [`Argument`] for lists of tensors.
macro_rules! tensor_lists {
    ($([$($generics:tt)*] $Pin:ty, $T:ty, $D:ty;)+) => {$(
        impl<$($generics)*> Argument<$Pin> for &'static [Tensor<$T, $D>] {
            type With<'a> = &'a [Tensor<$T, $D>];
            type Given = Places;
            type Held = Vec<Tensor<$T, $D>>;
            const PARAMETER: Parameter = Parameter::tensor("Sequence[Array]", <$D>::NDIM, <$T>::TYPE);

            fn read(given: &Given<'_, '_>) -> PyResult<Places> {
                let name = given.name;
                match &given.value {
                    Value::List(indices) => Ok(Places { name, indices: indices.clone() }),
                    _ => Err(PyTypeError::new_err(format!("`{name}` is not a list"))),
                }
            }

            fn hold(given: Places, tensors: &[AnyTensor]) -> PyResult<Self::Held> {
                let Places { name, indices } = given;
                let list = indices.iter().enumerate();
                list.map(|(place, &index)| typed(&format_args!("{name}[{place}]"), &tensors[index])).collect()
            }

            fn with(held: &Self::Held) -> Self::With<'_> {
                held
            }
        }
    )+};
}

tensor_lists! {
    [T: Element] Of<T>, T, IxDyn;
    [T: Element, D: Dimension + 'static] OfElement<T>, T, D;
}

/// Returns the argument for a parameter that is not a tensor.
fn object<'a, 'py>(given: &Given<'a, 'py>) -> PyResult<&'a Bound<'py, PyAny>> {
    let Value::Object(object) = given.value else {
        return Err(PyTypeError::new_err(format!(
            "`{}` is not a value",
            given.name
        )));
    };
    Ok(object)
}

fn value<'py, T: FromPyObjectOwned<'py> + FromPlain>(given: &Given<'_, 'py>) -> PyResult<T> {
    if let Value::Plain(plain) = given.value {
        return from_plain(given, plain);
    }
    let object = object(given)?;
    if requires_grad(object)? {
        return Err(PyTypeError::new_err(format!(
            "`{0}` is a value, which has no gradient, and was given a tensor that requires one; pass `{0}.detach()`",
            given.name
        )));
    }
    let converted = object.extract::<T>().map_err(Into::<PyErr>::into);
    // Python takes no array for a `bool`, and no tensor of PyTorch for a list.
    let converted =
        converted.or_else(
            |error| match object.call_method0(intern!(object.py(), "tolist")) {
                Ok(list) => list.extract::<T>().map_err(Into::<PyErr>::into),
                Err(_) => Err(error),
            },
        );
    converted.map_err(|error| refused(given, object, error))
}

fn from_plain<T: FromPlain>(given: &Given<'_, '_>, plain: &Plain<'_>) -> PyResult<T> {
    let other = || {
        format!(
            "`{}` is {plain}, which the type of the parameter does not have",
            given.name
        )
    };
    T::from_plain(plain).ok_or_else(|| PyValueError::new_err(other()))
}

/// Returns the error for a value that Python cannot convert.
fn refused(given: &Given<'_, '_>, value: &Bound<'_, PyAny>, error: impl Into<PyErr>) -> PyErr {
    let error = error.into();
    if error.is_instance_of::<PyOverflowError>(value.py()) {
        return PyValueError::new_err(format!(
            "`{}` is {value}, which is out of range",
            given.name
        ));
    }
    PyTypeError::new_err(format!("`{}`: {}", given.name, error.value(value.py())))
}

/// Returns whether `object` is, or has in it, a tensor of PyTorch whose gradient would be lost.
fn requires_grad(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        for item in object.try_iter()? {
            if requires_grad(&item?)? {
                return Ok(true);
            }
        }
    }
    object
        .getattr_opt("requires_grad")?
        .map_or(Ok(false), |requires_grad| requires_grad.is_truthy())
}

/// Implements [`Argument`] for values that a function takes by value.
macro_rules! values {
    ($($V:ty => $stub:literal),+ $(,)?) => {$(
        impl<P> Argument<P> for $V {
            type With<'a> = $V;
            type Given = $V;
            type Held = $V;
            const PARAMETER: Parameter = Parameter::value($stub);

            fn read(given: &Given<'_, '_>) -> PyResult<$V> {
                value(given)
            }

            fn hold(given: $V, _: &[AnyTensor]) -> PyResult<$V> {
                Ok(given)
            }

            fn with(held: &$V) -> $V {
                held.clone()
            }
        }
    )+};
}

values!(
    f32 => "float", f64 => "float", bool => "bool", String => "str",
    i8 => "int", i16 => "int", i32 => "int", i64 => "int", isize => "int",
    u8 => "int", u16 => "int", u32 => "int", u64 => "int", usize => "int",
    Option<f32> => "float | None", Option<f64> => "float | None", Option<bool> => "bool | None",
    Option<String> => "str | None",
    Option<i8> => "int | None", Option<i16> => "int | None", Option<i32> => "int | None",
    Option<i64> => "int | None", Option<isize> => "int | None",
    Option<u8> => "int | None", Option<u16> => "int | None", Option<u32> => "int | None",
    Option<u64> => "int | None", Option<usize> => "int | None",
);

/// Implements [`Argument`] for values that a function takes by reference.
macro_rules! references {
    ($([$($generics:tt)*] $V:ty => $Shown:ty as $Held:ty, $stub:literal, $read:expr, $show:expr;)+) => {$(
        impl<P, $($generics)*> Argument<P> for $V {
            type With<'a> = $Shown;
            type Given = $Held;
            type Held = $Held;
            const PARAMETER: Parameter = Parameter::value($stub);

            fn read(given: &Given<'_, '_>) -> PyResult<$Held> {
                $read(given)
            }

            fn hold(given: $Held, _: &[AnyTensor]) -> PyResult<$Held> {
                Ok(given)
            }

            fn with(held: &$Held) -> <Self as Argument<P>>::With<'_> {
                $show(held)
            }
        }
    )+};
}

references! {
    [] &'static str => &'a str as String, "str", value, String::as_str;
    [] Option<&'static str> => Option<&'a str> as Option<String>, "str | None", value, Option::as_deref;
    [] &'static bool => &'a bool as bool, "bool", value, |held| held;
    [] &'static f32 => &'a f32 as f32, "float", value, |held| held;
    [] &'static f64 => &'a f64 as f64, "float", value, |held| held;
}

/// Implements [`Argument`] for lists of numbers.
macro_rules! lists {
    ($($V:ty => $stub:literal),+ $(,)?) => {
        values!($(Vec<$V> => $stub),+);
        references!($([] &'static [$V] => &'a [$V] as Vec<$V>, $stub, value, Vec::as_slice;)+);
    };
}

lists!(
    f32 => "Sequence[float]", f64 => "Sequence[float]", bool => "Sequence[bool]",
    i8 => "Sequence[int]", i16 => "Sequence[int]", i32 => "Sequence[int]", i64 => "Sequence[int]",
    isize => "Sequence[int]",
    u16 => "Sequence[int]", u32 => "Sequence[int]", u64 => "Sequence[int]", usize => "Sequence[int]",
);

/// Implements [`Argument`] for references to integers, and for arrays of integers and of `bool`.
macro_rules! integers {
    ($($V:ty),+) => {
        references!($([] &'static $V => &'a $V as $V, "int", value, |held| held;)+);
        arrays!($($V => convert::<$V>),+);
    };
}

macro_rules! arrays {
    ($($V:ty => $convert:expr),+) => {
        references! {$(
            [D: Dimension + 'static] &'static Array<$V, D> => &'a Array<$V, D> as Array<$V, D>, "IndexArray",
                |given| ranked(given, $convert(given)?), |held| held;
            [D: Dimension + 'static] ArrayView<'static, $V, D> => ArrayView<'a, $V, D> as Array<$V, D>, "IndexArray",
                |given| ranked(given, $convert(given)?), ArrayRef::view;
        )+}
    };
}

integers!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);
arrays!(bool => flags);

/// Returns an array of the rank that the function takes.
fn ranked<V, D: Dimension>(given: &Given<'_, '_>, array: ArrayD<V>) -> PyResult<Array<V, D>> {
    let shape = array.shape().to_vec();
    let array = array.into_dimensionality();
    array.map_err(|_| wrong_rank(&given.name, D::NDIM.unwrap_or_default(), &shape))
}

fn wrong_rank(name: &dyn Display, rank: usize, shape: &[usize]) -> PyErr {
    let axes = match rank {
        1 => "axis",
        _ => "axes",
    };
    PyValueError::new_err(format!(
        "`{name}` must have {rank} {axes}, not the shape {shape:?}"
    ))
}

/// Reads an array of NumPy, and the kind of its elements.
fn array_of<'py>(given: &Given<'_, 'py>) -> PyResult<(Bound<'py, PyAny>, String)> {
    let object = object(given)?;
    let numpy = object.py().import("numpy")?;
    let array = numpy.call_method1("asarray", (object,));
    let array = array.map_err(|error| refused(given, object, error))?;
    let kind = array.getattr("dtype")?.getattr("kind")?.extract()?;
    Ok((array, kind))
}

/// Reads an array of integers, of any number of bits: 64 in PyTorch, 32 in JAX.
fn convert<V>(given: &Given<'_, '_>) -> PyResult<ArrayD<V>>
where
    V: TryFrom<i64> + TryFrom<u64>,
    ArrayD<V>: FromPlain,
{
    if let Value::Plain(plain) = given.value {
        return from_plain(given, plain);
    }
    let (array, kind) = array_of(given)?;
    match &*kind {
        "i" => integers::<i64, V>(given, &array),
        "u" => integers::<u64, V>(given, &array),
        _ => Err(PyTypeError::new_err(format!(
            "`{}` must be an array of integers",
            given.name
        ))),
    }
}

fn integers<T: NumpyElement + Copy + Display, V: TryFrom<T>>(
    given: &Given<'_, '_>,
    array: &Bound<'_, PyAny>,
) -> PyResult<ArrayD<V>> {
    let array = array.call_method1("astype", (T::get_dtype(array.py()),))?;
    let array = array.extract::<PyReadonlyArrayDyn<'_, T>>()?;
    let array = array.as_array();
    let converted = array
        .iter()
        .map(|&number| V::try_from(number).map_err(|_| number));
    let converted = converted.collect::<Result<Vec<_>, _>>();
    let converted = converted.map_err(|number| {
        PyValueError::new_err(format!(
            "`{}` has {number}, which is out of range",
            given.name
        ))
    })?;
    // INVARIANT: each element was converted.
    Ok(ArrayD::from_shape_vec(array.raw_dim(), converted).expect("the same shape"))
}

/// Reads an array of `bool`.
fn flags(given: &Given<'_, '_>) -> PyResult<ArrayD<bool>> {
    if let Value::Plain(plain) = given.value {
        return from_plain(given, plain);
    }
    let (array, kind) = array_of(given)?;
    if kind != "b" {
        let name = given.name;
        return Err(PyTypeError::new_err(format!(
            "`{name}` must be an array of bool"
        )));
    }
    let array = array.extract::<PyReadonlyArrayDyn<'_, bool>>()?;
    Ok(array.as_array().to_owned())
}
