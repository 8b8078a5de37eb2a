//! Describes the test that is to be generated.

use syn::{Expr, ExprArray, Ident};

/// The arguments of `gradcheck(…)`.
pub(crate) struct Gradcheck {
    /// For each input, in the order of forward.
    pub(crate) samples: Vec<Sample>,
    /// The types and ranks that parameters of the block become.
    pub(crate) parameters: Vec<(Ident, Concrete)>,
    /// The tolerances that are given, by the names of the options of `Gradcheck`.
    pub(crate) tolerances: Vec<(Ident, Expr)>,
    /// For each input, whether its gradient is an estimate, which differences need not agree with.
    pub(crate) estimated: Vec<bool>,
    /// The optional inputs that are left out together, each list once.
    pub(crate) left_out: Vec<Vec<usize>>,
}

/// The input of a test.
pub(crate) enum Sample {
    Tensor(Draw),
    List(Vec<Draw>),
    /// The variants of a value, each of which is checked.
    Value(Vec<Expr>),
}

/// A tensor of a test.
pub(crate) enum Draw {
    /// Random numbers of this shape.
    Shape(ExprArray, Option<Box<Within>>),
    /// The value of an expression.
    Made(Expr),
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
    /// Returns its tensors.
    pub(crate) fn tensors(&self) -> &[Draw] {
        match self {
            Self::Tensor(draw) => std::slice::from_ref(draw),
            Self::List(draws) => draws,
            Self::Value(_) => &[],
        }
    }
}
