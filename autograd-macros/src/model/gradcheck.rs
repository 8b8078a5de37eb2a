//! Describes the test that is to be generated.

use syn::{Expr, ExprArray, Ident};

/// The arguments of `gradcheck(…)`.
pub(crate) struct Gradcheck {
    /// For each input, in the order of forward.
    pub(crate) samples: Vec<Sample>,
    /// The types and ranks that parameters of the block become.
    pub(crate) parameters: Vec<(Ident, Concrete)>,
}

/// The input of a test.
pub(crate) enum Sample {
    /// A tensor of this shape.
    Shape(ExprArray, Option<Within>),
    /// A list of tensors of these shapes.
    Shapes(Vec<ExprArray>, Option<Within>),
    Value(Expr),
}

/// The ends of the range that the elements of tensors are drawn from.
pub(crate) struct Within {
    pub(crate) low: Expr,
    pub(crate) high: Expr,
}

/// The type or rank that a parameter of the block has in a test.
pub(crate) enum Concrete {
    /// An element type.
    Double,
    /// The dimension with this number of axes.
    Rank(usize),
    /// An expression that is given.
    Given(Expr),
    /// Left to the compiler.
    Inferred,
}

impl Sample {
    /// Returns the shapes of its tensors.
    pub(crate) fn shapes(&self) -> &[ExprArray] {
        match self {
            Self::Shape(shape, _) => std::slice::from_ref(shape),
            Self::Shapes(shapes, _) => shapes,
            Self::Value(_) => &[],
        }
    }

    /// Returns the range that is given.
    pub(crate) fn within(&self) -> Option<&Within> {
        match self {
            Self::Shape(_, within) | Self::Shapes(_, within) => within.as_ref(),
            Self::Value(_) => None,
        }
    }
}
