//! What a failed gradient check says.

use std::fmt;

/// Which derivative was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derivative {
    /// The gradient.
    First,
    /// The gradient of the gradient.
    Second,
    /// The tangent: the derivative that forward mode computes.
    Tangent,
    /// The derivative of the tangent, by a backward pass or by forward mode once more.
    SecondTangent,
}

/// The first entry whose analytical derivative is not the numerical one.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Mismatch {
    /// The name of the function that computed the output, where it is known.
    pub function: Option<&'static str>,
    /// Which derivative.
    pub derivative: Derivative,
    /// The input's position in the tuple, from 0. Under [`Derivative::Second`] the gradients that came in
    /// follow the inputs, under [`Derivative::SecondTangent`] the directions.
    pub input: usize,
    /// The name by which the function knows the input, where it is known.
    pub input_name: Option<String>,
    /// The entry of the input that was moved.
    pub input_entry: Vec<usize>,
    /// The output's position, from 0. Under [`Derivative::Second`] the outputs are the inputs' gradients,
    /// under [`Derivative::SecondTangent`] the outputs' tangents.
    pub output: usize,
    /// The entry of the output.
    pub output_entry: Vec<usize>,
    /// The derivative that backward or forward mode computed.
    pub analytical: f64,
    /// The derivative that central differences give.
    pub numerical: f64,
    /// By how much the two may differ.
    pub tolerance: f64,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (checked, by) = match self.derivative {
            Derivative::First => ("gradient", "backward"),
            Derivative::Second => ("gradient of the gradient", "backward"),
            Derivative::Tangent => ("tangent", "forward mode"),
            Derivative::SecondTangent => ("derivative of the tangent", "differentiation"),
        };
        write!(f, "wrong {checked} of ")?;
        match self.function {
            Some(function) => write!(f, "`{function}`")?,
            None => f.write_str("a function")?,
        }
        write!(f, " with respect to ")?;
        match &self.input_name {
            Some(name) => write!(f, "`{name}` (input {})", self.input)?,
            None => write!(f, "input {}", self.input)?,
        }
        write!(
            f,
            ": for entry {:?} of the input and entry {:?} of output {} {by} computes {:e}, \
             central differences {:e}; they may differ by {:e}",
            self.input_entry,
            self.output_entry,
            self.output,
            self.analytical,
            self.numerical,
            self.tolerance
        )
    }
}
