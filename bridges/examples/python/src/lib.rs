//! The functions of `pullback-fixtures` as a Python module.

use pullback_fixtures::{Exp, MulConstant, above_smallest, linear, logarithm, pick, polar, squash};

pullback_python::module! {
    kernels: above_smallest, linear, logarithm, pick, polar, squash, Exp, MulConstant
}
