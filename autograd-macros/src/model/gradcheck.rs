//! The test that is to be generated.

use syn::{Expr, ExprArray, Ident};

/// What `gradcheck(…)` says.
pub(crate) struct Gradcheck {
    /// For each input, in the order of forward.
    pub(crate) samples: Vec<Sample>,
    /// What parameters of the block become.
    pub(crate) parameters: Vec<(Ident, Concrete)>,
}

/// What an input is in a test.
pub(crate) enum Sample {
    /// A tensor of this shape.
    Shape(ExprArray),
    /// A list of tensors of these shapes.
    Shapes(Vec<ExprArray>),
    Value(Expr),
}

/// What a parameter of the block is in a test.
pub(crate) enum Concrete {
    /// An element type.
    Double,
    /// The dimension of so many axes.
    Rank(usize),
    /// What the author says.
    Given(Expr),
    /// What the compiler finds out.
    Inferred,
}

impl Sample {
    /// The shapes of its tensors.
    pub(crate) fn shapes(&self) -> &[ExprArray] {
        match self {
            Self::Shape(shape) => std::slice::from_ref(shape),
            Self::Shapes(shapes) => shapes,
            Self::Value(_) => &[],
        }
    }
}
