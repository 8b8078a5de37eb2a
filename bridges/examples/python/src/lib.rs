//! The functions of `pullback-fixtures` as a Python module.

use pullback_fixtures::{
    Exp, Lines, MulConstant, Penalized, above_smallest, affine, attention, blend, boxcox, centered,
    decaying, focal, gaussian, hamilton, leaky, linear, logarithm, lookup, masked, normalized,
    pick, polar, powers, rising, rounded, rows, scaled, selective, smooth, split, squash,
    transposed, tridiagonal, unit, windows,
};

pullback_python::module! {
    diffops: above_smallest, affine, attention, blend, boxcox, centered, decaying, focal, gaussian, hamilton, leaky, linear,
    logarithm, lookup(factor = 1.0), masked, normalized, pick, polar, powers, rising, rounded, rows, scaled, selective, smooth,
    split, squash, transposed, tridiagonal, unit, windows, Exp, Lines, MulConstant, Penalized
}
