//! Typed values from the parsed file, for attributes and arrays.

use pullback::ndarray::{ArrayD, IxDyn};
use serde_json::Value;

/// A type of attributes.
pub trait Attribute: Sized {
    /// Returns `None` if the value has another type.
    fn read(value: &Value) -> Option<Self>;
}

impl Attribute for f64 {
    fn read(value: &Value) -> Option<Self> {
        value.as_f64()
    }
}

impl Attribute for usize {
    fn read(value: &Value) -> Option<Self> {
        value.as_u64()?.try_into().ok()
    }
}

impl Attribute for String {
    fn read(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }
}

impl<T: Attribute> Attribute for Vec<T> {
    fn read(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(T::read).collect()
    }
}

impl<T: Attribute, const N: usize> Attribute for [T; N] {
    fn read(value: &Value) -> Option<Self> {
        Vec::read(value)?.try_into().ok()
    }
}

/// `None` where the file has `null` or nothing.
impl<T: Attribute> Attribute for Option<T> {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => T::read(value).map(Some),
        }
    }
}

impl Attribute for ArrayD<f64> {
    fn read(value: &Value) -> Option<Self> {
        let shape = Vec::read(&value["shape"])?;
        Self::from_shape_vec(IxDyn(&shape), Vec::read(&value["data"])?).ok()
    }
}

/// The attributes of a case.
#[derive(Debug)]
pub struct Attributes(pub Value);

impl Attributes {
    /// Returns the attribute `name`; if it may be missing, `A` is an `Option`.
    #[track_caller]
    pub fn get<A: Attribute>(&self, name: &str) -> A {
        A::read(&self.0[name]).unwrap_or_else(|| {
            panic!(
                "no attribute `{name}` of type `{}` in {}",
                std::any::type_name::<A>(),
                self.0
            )
        })
    }
}
