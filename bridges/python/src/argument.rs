//! What functions take: tensors, and the values that have a counterpart in Python.

use numpy::{Element as NumpyElement, PyReadonlyArray1};
use pullback::ndarray::{Array1, ArrayView1, Dimension, IxDyn};
use pullback::{AnyTensor, Element, Tensor};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// An argument that Python gave: its name, and a tensor by its place among them or a value.
#[derive(Debug)]
pub struct Given<'a, 'py> {
    pub(crate) name: &'static str,
    pub(crate) what: What<'a, 'py>,
}

#[derive(Debug)]
pub(crate) enum What<'a, 'py> {
    /// `None` for an optional one that was left out.
    Tensor(Option<usize>),
    Value(&'a Bound<'py, PyAny>),
}

/// A tensor on its way into a function: its place, and the name that errors give it.
#[derive(Debug)]
pub struct Place {
    name: &'static str,
    place: usize,
}

/// A parameter of a function, with `'static` in place of its lifetimes. `P` says which type parameters
/// the tensors of a generic function have: `Of`, `OfElement`.
pub trait Argument<P>: Sized {
    /// The parameter's type for any lifetime.
    type With<'a>;
    /// What is known of it while Python's lock is held.
    type Given: Send + 'static;
    /// What the function gets a reference into.
    type Held;
    /// How Python's pages call it.
    const PARAMETER: Parameter;

    /// Reads it from Python.
    fn read(given: &Given<'_, '_>) -> PyResult<Self::Given>;
    /// Takes it from the tensors of the call.
    fn hold(given: Self::Given, tensors: &[AnyTensor]) -> PyResult<Self::Held>;
    /// Shows it to the function.
    fn with(held: &Self::Held) -> Self::With<'_>;
}

/// A parameter, as Python's pages call it.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The type in stubs; tensors are `Array`.
    pub(crate) stub: &'static str,
    /// Of a tensor, how many axes; `None` for any number.
    pub(crate) axes: Option<usize>,
    pub(crate) is_tensor: bool,
}

impl Parameter {
    const fn tensor(stub: &'static str, axes: Option<usize>) -> Self {
        let is_tensor = true;
        Self {
            stub,
            axes,
            is_tensor,
        }
    }

    const fn value(stub: &'static str) -> Self {
        let (axes, is_tensor) = (None, false);
        Self {
            stub,
            axes,
            is_tensor,
        }
    }
}

/// Tensors of `T`, of any rank: of a function that is generic over both.
#[derive(Debug)]
pub struct Of<T>(T);
/// Tensors of `T`, of the ranks that the function says.
#[derive(Debug)]
pub struct OfElement<T>(T);

/// The element type's name in NumPy.
pub(crate) fn dtype<T>() -> &'static str {
    match std::any::type_name::<T>() {
        "f32" => "float32",
        _ => "float64",
    }
}

fn typed<T: Element, D: Dimension>(place: &Place, tensors: &[AnyTensor]) -> PyResult<Tensor<T, D>> {
    let (name, tensor) = (place.name, &tensors[place.place]);
    let found = tensor.to_tensor::<T>().ok_or_else(|| {
        let found = match tensor {
            AnyTensor::F32(_) => "float32",
            AnyTensor::F64(_) => "float64",
        };
        PyTypeError::new_err(format!("`{name}` must be {}, not {found}", dtype::<T>()))
    })?;
    found.into_dimensionality().ok_or_else(|| {
        let (shape, rank) = (tensor.shape(), D::NDIM.unwrap_or_default());
        let axes = match rank {
            1 => "axis",
            _ => "axes",
        };
        PyValueError::new_err(format!(
            "`{name}` must have {rank} {axes}, not the shape {shape:?}"
        ))
    })
}

fn place(given: &Given<'_, '_>) -> PyResult<Option<Place>> {
    match given.what {
        What::Tensor(place) => Ok(place.map(|place| Place {
            name: given.name,
            place,
        })),
        What::Value(_) => Err(PyTypeError::new_err(format!(
            "`{}` is not a tensor",
            given.name
        ))),
    }
}

/// Tensors, for each way to choose the parameters of a generic function: how they are held, and how they are shown.
macro_rules! tensors {
    ($([$($generics:tt)*] $Pin:ty: $V:ty => $Shown:ty as $T:ty, $D:ty, $show:expr;)+) => {$(
        impl<$($generics)*> Argument<$Pin> for $V {
            type With<'a> = $Shown;
            type Given = Place;
            type Held = Tensor<$T, $D>;
            const PARAMETER: Parameter = Parameter::tensor("Array", <$D>::NDIM);

            fn read(given: &Given<'_, '_>) -> PyResult<Place> {
                let missing = || {
                    PyTypeError::new_err(format!("`{}` must be an array, not None", given.name))
                };
                place(given)?.ok_or_else(missing)
            }

            fn hold(given: Place, tensors: &[AnyTensor]) -> PyResult<Self::Held> {
                typed(&given, tensors)
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

/// The same of tensors that may be left out.
macro_rules! optional {
    ($([$($generics:tt)*] $Pin:ty, $T:ty, $D:ty;)+) => {$(
        impl<$($generics)*> Argument<$Pin> for Option<&'static Tensor<$T, $D>> {
            type With<'a> = Option<&'a Tensor<$T, $D>>;
            type Given = Option<Place>;
            type Held = Option<Tensor<$T, $D>>;
            const PARAMETER: Parameter = Parameter::tensor("Array | None", <$D>::NDIM);

            fn read(given: &Given<'_, '_>) -> PyResult<Option<Place>> {
                place(given)
            }

            fn hold(given: Option<Place>, tensors: &[AnyTensor]) -> PyResult<Self::Held> {
                given.map(|place| typed(&place, tensors)).transpose()
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

/// What Python gave for a parameter that is not a tensor.
fn object<'a, 'py>(given: &Given<'a, 'py>) -> PyResult<&'a Bound<'py, PyAny>> {
    let What::Value(object) = given.what else {
        return Err(PyTypeError::new_err(format!(
            "`{}` is not a value",
            given.name
        )));
    };
    Ok(object)
}

fn value<'py, T: FromPyObjectOwned<'py>>(given: &Given<'_, 'py>) -> PyResult<T> {
    let object = object(given)?;
    if requires_grad(object)? {
        return Err(PyTypeError::new_err(format!(
            "`{0}` is a value, which has no gradient, and was given a tensor that requires one; pass `{0}.detach()`",
            given.name
        )));
    }
    let value = object.extract();
    value.map_err(|error| refused(given, object, error))
}

/// What Python says of a value that it cannot convert.
fn refused(given: &Given<'_, '_>, value: &Bound<'_, PyAny>, error: impl Into<PyErr>) -> PyErr {
    let error = error.into();
    PyTypeError::new_err(format!("`{}`: {}", given.name, error.value(value.py())))
}

/// Whether it is a tensor of PyTorch whose gradient would be lost, or a list with one.
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

/// Values by value.
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
    Option<f32> => "float | None", Option<f64> => "float | None", Option<usize> => "int | None",
    Vec<usize> => "Sequence[int]", Vec<f64> => "Sequence[float]",
);

/// Values by reference: what is held, and how it is shown.
macro_rules! references {
    ($($V:ty => $Shown:ty as $Held:ty, $stub:literal, $read:expr, $show:expr;)+) => {$(
        impl<P> Argument<P> for $V {
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
    &'static str => &'a str as String, "str", value, String::as_str;
    &'static [usize] => &'a [usize] as Vec<usize>, "Sequence[int]", value, Vec::as_slice;
    &'static [f64] => &'a [f64] as Vec<f64>, "Sequence[float]", value, Vec::as_slice;
    &'static f64 => &'a f64 as f64, "float", value, |held| held;
    &'static usize => &'a usize as usize, "int", value, |held| held;
    &'static Array1<usize> => &'a Array1<usize> as Array1<usize>, "IndexArray", indices, |held| held;
    ArrayView1<'static, usize> => ArrayView1<'a, usize> as Array1<usize>, "IndexArray", indices, view;
}

fn view(indices: &Array1<usize>) -> ArrayView1<'_, usize> {
    indices.view()
}

/// Places along an axis: an array of whole numbers, of 64 bits in PyTorch and of 32 in JAX.
fn indices(given: &Given<'_, '_>) -> PyResult<Array1<usize>> {
    let object = object(given)?;
    let numpy = object.py().import("numpy")?;
    let array = numpy.call_method1("asarray", (object,));
    let array = array.map_err(|error| refused(given, object, error))?;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    match &*kind {
        "i" => places::<i64>(given, &array),
        "u" => places::<u64>(given, &array),
        _ => Err(no_places(given)),
    }
}

fn places<T: NumpyElement + Copy>(
    given: &Given<'_, '_>,
    array: &Bound<'_, PyAny>,
) -> PyResult<Array1<usize>>
where
    usize: TryFrom<T>,
{
    let array = array.call_method1("astype", (T::get_dtype(array.py()),))?;
    let array = array.extract::<PyReadonlyArray1<'_, T>>();
    let array = array.map_err(|_| no_places(given))?;
    let places = array.as_array().into_iter().map(|&place| place.try_into());
    let places = places.collect::<Result<_, _>>();
    places.map_err(|_| PyValueError::new_err(format!("`{}` has a negative place", given.name)))
}

fn no_places(given: &Given<'_, '_>) -> PyErr {
    PyTypeError::new_err(format!(
        "`{}` must be an array of whole numbers with one axis",
        given.name
    ))
}
