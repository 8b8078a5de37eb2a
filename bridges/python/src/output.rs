//! The outputs of functions: tensors, and the values that have a counterpart in Python.

use numpy::{Element as NumpyElement, PyArray};
use pullback::foreign::each_tuple;
use pullback::ndarray::{Array, Dimension, arr0};
use pullback::{AnyTensor, Element, Tensor};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::argument::dtype;
use crate::ffi::abi::Target;
use crate::ffi::plain::{self, Written};

/// A value that is not a tensor, before its conversion.
pub(crate) trait Value: Send {
    /// Converts the value to an object of Python.
    fn object(self: Box<Self>, py: Python<'_>) -> PyResult<Py<PyAny>>;
    /// Copies the value to a result of XLA.
    fn copy_to(&self, result: &mut Target<'_>) -> Result<(), String>;
}

/// The outputs of a call one by one: one for each tensor of a list.
#[derive(Default)]
#[expect(missing_debug_implementations, reason = "they may hold any value")]
pub struct Outputs {
    pub(crate) each: Vec<Returned>,
    /// The lengths of the lists.
    pub(crate) lengths: Vec<usize>,
}

/// An output before its conversion to an object, which needs Python's lock.
pub(crate) enum Returned {
    /// The next output of the recording.
    Tensor(AnyTensor),
    /// An optional tensor that is `None`.
    Missing,
    /// A value that is not a tensor.
    Value(Box<dyn Value>),
}

/// Returns the tensors among the outputs.
pub(crate) fn tensors(returned: &[Returned]) -> impl Iterator<Item = AnyTensor> {
    returned.iter().filter_map(|output| match output {
        Returned::Tensor(tensor) => Some(tensor.clone()),
        Returned::Missing | Returned::Value(_) => None,
    })
}

/// The type of an output in Python.
#[derive(Clone, Copy, Debug)]
pub struct OutputType {
    /// The type in stubs, `Array` for tensors.
    pub(crate) stub: &'static str,
    /// The element type of the array, or of the array of NumPy that a value becomes.
    pub(crate) dtype: &'static str,
}

/// The outputs of a function: tensors, lists of them, values, a tuple of these, or a `Result`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no counterpart in Python",
    label = "this function returns `{Self}`",
    note = "an output may be a tensor, an optional tensor, a list of tensors, a number, `bool`, a string, or an array of \
            integers or of `bool`; a function may return a tuple of these, and a `Result`"
)]
pub trait Output: Sized {
    /// Adds the types.
    fn types(to: &mut Vec<OutputType>);
    /// Adds the outputs, in order.
    fn write(self, to: &mut Outputs) -> PyResult<()>;
}

impl<T: Element, D: Dimension> Output for Tensor<T, D> {
    fn types(to: &mut Vec<OutputType>) {
        let (stub, dtype) = ("Array", dtype(T::TYPE));
        to.push(OutputType { stub, dtype });
    }

    fn write(self, to: &mut Outputs) -> PyResult<()> {
        to.each.push(Returned::Tensor(self.into()));
        Ok(())
    }
}

impl<T: Element, D: Dimension> Output for Option<Tensor<T, D>> {
    fn types(to: &mut Vec<OutputType>) {
        let (stub, dtype) = ("Array | None", dtype(T::TYPE));
        to.push(OutputType { stub, dtype });
    }

    fn write(self, to: &mut Outputs) -> PyResult<()> {
        if let Some(tensor) = self {
            return tensor.write(to);
        }
        to.each.push(Returned::Missing);
        Ok(())
    }
}

impl<T: Element, D: Dimension> Output for Vec<Tensor<T, D>> {
    fn types(to: &mut Vec<OutputType>) {
        let (stub, dtype) = ("list[Array]", dtype(T::TYPE));
        to.push(OutputType { stub, dtype });
    }

    fn write(self, to: &mut Outputs) -> PyResult<()> {
        to.lengths.push(self.len());
        let tensors = self.into_iter();
        to.each
            .extend(tensors.map(|tensor| Returned::Tensor(tensor.into())));
        Ok(())
    }
}

impl<O: Output, E: std::fmt::Display> Output for Result<O, E> {
    fn types(to: &mut Vec<OutputType>) {
        O::types(to);
    }

    fn write(self, to: &mut Outputs) -> PyResult<()> {
        let output = self.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        output.write(to)
    }
}

macro_rules! values {
    ($($V:ty => $stub:literal as $dtype:literal, $N:ty),+ $(,)?) => {$(
        impl Output for $V {
            fn types(to: &mut Vec<OutputType>) {
                let (stub, dtype) = ($stub, $dtype);
                to.push(OutputType { stub, dtype });
            }

            fn write(self, to: &mut Outputs) -> PyResult<()> {
                to.each.push(Returned::Value(Box::new(self)));
                Ok(())
            }
        }

        impl Value for $V {
            fn object(self: Box<Self>, py: Python<'_>) -> PyResult<Py<PyAny>> {
                self.into_py_any(py)
            }

            #[allow(
                clippy::cast_possible_wrap,
                clippy::cast_lossless,
                trivial_numeric_casts,
                reason = "indices along an axis are at most `isize::MAX`, and JAX has no larger integers"
            )]
            fn copy_to(&self, result: &mut Target<'_>) -> Result<(), String> {
                plain::write(&arr0(*self as $N), result)
            }
        }
    )+};
}

values!(
    f32 => "float" as "float64", f32, f64 => "float" as "float64", f64, bool => "bool" as "bool", bool,
    i8 => "int" as "int64", i64, i16 => "int" as "int64", i64, i32 => "int" as "int64", i64,
    i64 => "int" as "int64", i64, isize => "int" as "int64", i64,
    u8 => "int" as "int64", i64, u16 => "int" as "int64", i64, u32 => "int" as "int64", i64,
    u64 => "int" as "int64", i64, usize => "int" as "int64", i64,
);

impl Output for String {
    fn types(to: &mut Vec<OutputType>) {
        let (stub, dtype) = ("str", "str");
        to.push(OutputType { stub, dtype });
    }

    fn write(self, to: &mut Outputs) -> PyResult<()> {
        to.each.push(Returned::Value(Box::new(self)));
        Ok(())
    }
}

impl Value for String {
    fn object(self: Box<Self>, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.into_py_any(py)
    }

    fn copy_to(&self, _: &mut Target<'_>) -> Result<(), String> {
        Err("an output is a text, which JAX does not have".to_owned())
    }
}

macro_rules! options {
    ($($V:ty => $stub:literal as $dtype:literal),+ $(,)?) => {$(
        impl Output for Option<$V> {
            fn types(to: &mut Vec<OutputType>) {
                let (stub, dtype) = ($stub, $dtype);
                to.push(OutputType { stub, dtype });
            }

            fn write(self, to: &mut Outputs) -> PyResult<()> {
                match self {
                    Some(value) => value.write(to)?,
                    None => to.each.push(Returned::Missing),
                }
                Ok(())
            }
        }
    )+};
}

options!(
    f32 => "float | None" as "float64", f64 => "float | None" as "float64",
    String => "str | None" as "str", i64 => "int | None" as "int64", usize => "int | None" as "int64",
);

/// An array of a type that NumPy has.
struct Elements<V, D: Dimension>(Array<V, D>);

impl<V: NumpyElement + Written, D: Dimension> Value for Elements<V, D> {
    fn object(self: Box<Self>, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(PyArray::from_owned_array(py, self.0).into_any().unbind())
    }

    fn copy_to(&self, result: &mut Target<'_>) -> Result<(), String> {
        plain::write(&self.0, result)
    }
}

macro_rules! arrays {
    ($($V:ty as $N:ty, $dtype:literal => $convert:expr),+ $(,)?) => {$(
        impl<D: Dimension + 'static> Output for Array<$V, D> {
            fn types(to: &mut Vec<OutputType>) {
                let (stub, dtype) = ("IndexArray", $dtype);
                to.push(OutputType { stub, dtype });
            }

            fn write(self, to: &mut Outputs) -> PyResult<()> {
                to.each.push(Returned::Value(Box::new(Elements::<$N, D>(self.mapv($convert)))));
                Ok(())
            }
        }
    )+};
}

// Indices are `int64` in Python's frameworks.
#[expect(
    clippy::cast_possible_wrap,
    reason = "indices along an axis are at most `isize::MAX`"
)]
const fn index(index: usize) -> i64 {
    index as i64
}

arrays!(
    usize as i64, "int64" => index,
    isize as i64, "int64" => |value| value as i64,
    i8 as i8, "int8" => |value| value,
    i16 as i16, "int16" => |value| value,
    i32 as i32, "int32" => |value| value,
    i64 as i64, "int64" => |value| value,
    u8 as u8, "uint8" => |value| value,
    u16 as u16, "uint16" => |value| value,
    u32 as u32, "uint32" => |value| value,
    u64 as u64, "uint64" => |value| value,
    bool as bool, "bool" => |value| value,
);

macro_rules! tuple {
    ($($Name:ident $place:tt)+) => {
        impl<$($Name: Output),+> Output for ($($Name,)+) {
            fn types(to: &mut Vec<OutputType>) {
                $($Name::types(to);)+
            }

            fn write(self, to: &mut Outputs) -> PyResult<()> {
                $(self.$place.write(to)?;)+
                Ok(())
            }
        }
    };
}

each_tuple!(tuple);
