//! The kernels of built-in functions.

pub(crate) mod attention;
pub(crate) mod channels;
pub(crate) mod conv;
pub(crate) mod dropout;
pub(crate) mod indices;
pub(crate) mod pool2d;
