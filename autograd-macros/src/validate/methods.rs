//! Functions that `f64` has, or other libraries, and numbers of a formula have not.

use proc_macro2::Ident;

/// Returns what to write in place of a method of `x`, of the type `number`, with the argument `y` if it has one.
pub(super) fn instead(method: &Ident, x: &str, y: &str, number: &Ident) -> Option<String> {
    Some(match method.to_string().as_str() {
        "arccos" => format!("`{x}.acos()`"),
        "arcsin" => format!("`{x}.asin()`"),
        "arctan" => format!("`{x}.atan()`"),
        "arctan2" => format!("`{x}.atan2({y})`"),
        "copysign" => format!("`{x}.abs() * {y}.signum()`"),
        "div_euclid" => format!("`({x} / {y}).floor()`, of positive numbers"),
        "exp10" => format!("`{number}::from(10.0).powf({x})`"),
        "exp2" => format!("`{number}::from(2.0).powf({x})`"),
        "expm1" => format!("`{x}.exp_m1()`"),
        "fract" => format!("`{x} - {x}.floor()`, of positive numbers"),
        "is_finite" => format!("`{x}.abs() < f64::INFINITY`"),
        "is_infinite" => format!("`{x}.abs() == f64::INFINITY`"),
        "is_sign_negative" => format!("`{x}.signum() < 0.0`"),
        "is_sign_positive" => format!("`{x}.signum() > 0.0`"),
        "log" if y.starts_with(|first: char| first.is_ascii_digit()) => {
            format!("`{x}.ln() / f64::ln({y})`")
        }
        "log" => format!("`{x}.ln() / {y}.ln()`"),
        "log10" => format!("`{x}.ln() / std::f64::consts::LN_10`"),
        "log1p" => format!("`{x}.ln_1p()`"),
        "log2" => format!("`{x}.ln() / std::f64::consts::LN_2`"),
        "maximum" => format!("`{x}.max({y})`"),
        "minimum" => format!("`{x}.min({y})`"),
        "pow" => format!("`{x}.powi({y})`, or `powf(…)` of a number"),
        "rem_euclid" => format!("`{x} - ({x} / {y}).floor() * {y}`"),
        "sign" => format!("`{x}.signum()`"),
        "sin_cos" => format!("`({x}.sin(), {x}.cos())`"),
        "to_degrees" => format!("`{x} * (180.0 / std::f64::consts::PI)`"),
        "to_radians" => format!("`{x} * (std::f64::consts::PI / 180.0)`"),
        "trunc" => format!("`{x}.signum() * {x}.abs().floor()`"),
        _ => return None,
    })
}
