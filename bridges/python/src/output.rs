//! The outputs of functions: tensors, and the values that have a counterpart in Python.

use numpy::{Element as NumpyElement, PyArray};
use pullback::foreign::each_tuple;
use pullback::ndarray::{Array, Dimension};
use pullback::{AnyTensor, Element, Tensor};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::argument::dtype;

/// Converts a value to an object.
pub(crate) type Object = dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send;

/// An output before its conversion to an object, which needs Python's lock.
#[expect(missing_debug_implementations, reason = "it may hold a closure")]
pub enum Returned {
    /// The next output of the recording.
    Tensor(AnyTensor),
    /// An optional tensor that is `None`.
    Missing,
    /// A value that is not a tensor.
    Value(Box<Object>),
}

/// The type of an output in Python.
#[derive(Clone, Copy, Debug)]
pub struct OutputType {
    /// The type in stubs, `Array` for tensors.
    pub(crate) stub: &'static str,
    /// The element type of the array, or of the array of NumPy that a value becomes.
    pub(crate) dtype: &'static str,
}

/// The outputs of a function: tensors, values, a tuple of these, or a `Result`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no counterpart in Python",
    label = "this function returns `{Self}`",
    note = "an output may be a tensor, an optional tensor, a number, `bool`, a string, or an array of integers or of `bool`; \
            a function may return a tuple of these, and a `Result`"
)]
pub trait Output: Sized {
    /// Adds the types.
    fn types(to: &mut Vec<OutputType>);
    /// Adds the outputs, in order.
    fn write(self, to: &mut Vec<Returned>) -> PyResult<()>;
}

impl<T: Element, D: Dimension> Output for Tensor<T, D> {
    fn types(to: &mut Vec<OutputType>) {
        let (stub, dtype) = ("Array", dtype(T::TYPE));
        to.push(OutputType { stub, dtype });
    }

    fn write(self, to: &mut Vec<Returned>) -> PyResult<()> {
        to.push(Returned::Tensor(self.into()));
        Ok(())
    }
}

impl<T: Element, D: Dimension> Output for Option<Tensor<T, D>> {
    fn types(to: &mut Vec<OutputType>) {
        let (stub, dtype) = ("Array | None", dtype(T::TYPE));
        to.push(OutputType { stub, dtype });
    }

    fn write(self, to: &mut Vec<Returned>) -> PyResult<()> {
        if let Some(tensor) = self {
            return tensor.write(to);
        }
        to.push(Returned::Missing);
        Ok(())
    }
}

impl<O: Output, E: std::fmt::Display> Output for Result<O, E> {
    fn types(to: &mut Vec<OutputType>) {
        O::types(to);
    }

    fn write(self, to: &mut Vec<Returned>) -> PyResult<()> {
        let output = self.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        output.write(to)
    }
}

macro_rules! values {
    ($($V:ty => $stub:literal as $dtype:literal),+ $(,)?) => {$(
        impl Output for $V {
            fn types(to: &mut Vec<OutputType>) {
                let (stub, dtype) = ($stub, $dtype);
                to.push(OutputType { stub, dtype });
            }

            fn write(self, to: &mut Vec<Returned>) -> PyResult<()> {
                to.push(Returned::Value(Box::new(move |py| Ok(self.into_pyobject(py)?.into_any().unbind()))));
                Ok(())
            }
        }
    )+};
}

values!(
    f32 => "float" as "float64", f64 => "float" as "float64", String => "str" as "str",
    i8 => "int" as "int64", i16 => "int" as "int64", i32 => "int" as "int64", i64 => "int" as "int64",
    u8 => "int" as "int64", u16 => "int" as "int64", u32 => "int" as "int64", u64 => "int" as "int64",
    isize => "int" as "int64", usize => "int" as "int64",
    Option<f32> => "float | None" as "float64", Option<f64> => "float | None" as "float64",
    Option<String> => "str | None" as "str", Option<i64> => "int | None" as "int64",
    Option<usize> => "int | None" as "int64",
);

impl Output for bool {
    fn types(to: &mut Vec<OutputType>) {
        let (stub, dtype) = ("bool", "bool");
        to.push(OutputType { stub, dtype });
    }

    fn write(self, to: &mut Vec<Returned>) -> PyResult<()> {
        to.push(Returned::Value(Box::new(move |py| {
            Ok(self.into_pyobject(py)?.to_owned().into_any().unbind())
        })));
        Ok(())
    }
}

macro_rules! arrays {
    ($($V:ty as $N:ty, $dtype:literal => $convert:expr),+ $(,)?) => {$(
        impl<D: Dimension + 'static> Output for Array<$V, D> {
            fn types(to: &mut Vec<OutputType>) {
                let (stub, dtype) = ("IndexArray", $dtype);
                to.push(OutputType { stub, dtype });
            }

            fn write(self, to: &mut Vec<Returned>) -> PyResult<()> {
                fn written<V: NumpyElement, D: Dimension>(array: Array<V, D>, py: Python<'_>) -> Py<PyAny> {
                    PyArray::from_owned_array(py, array).into_any().unbind()
                }
                to.push(Returned::Value(Box::new(move |py| Ok(written::<$N, D>(self.mapv($convert), py)))));
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

            fn write(self, to: &mut Vec<Returned>) -> PyResult<()> {
                $(self.$place.write(to)?;)+
                Ok(())
            }
        }
    };
}

each_tuple!(tuple);
