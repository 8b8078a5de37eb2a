//! The functions that travel, as a module of Python.

use pullback_kernels::{MulConstant, above_smallest, linear, polar, squash};

pullback_python::module! { kernels: above_smallest, linear, polar, squash, MulConstant }
