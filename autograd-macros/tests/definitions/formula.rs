//! Sums of products, and their derivatives.

/// A factor of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Factor {
    /// An input; zero where an optional one is absent.
    Input(usize),
    /// The sum of the members of a list.
    List(usize),
    /// The exponential of an input.
    Exp(usize),
    /// An input that is a value, as a number.
    Value(usize),
    /// A number that forward saves.
    Saved(usize),
    /// The gradient of a differentiable result.
    Gradient(usize),
    /// The tangent of an input, summed over a list.
    Tangent(usize),
}

/// A product with a coefficient.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    pub(crate) coefficient: f64,
    pub(crate) factors: Vec<Factor>,
}

impl Term {
    /// Returns the product with another factor.
    pub(crate) fn times(mut self, factor: Factor) -> Self {
        self.factors.insert(0, factor);
        self
    }

    pub(crate) fn depends_on(&self, input: usize) -> bool {
        self.factors
            .iter()
            .any(|factor| factor.source() == Some(input))
    }
}

impl Factor {
    /// Returns the tensor that a factor of a formula of forward depends on.
    pub(crate) fn source(self) -> Option<usize> {
        match self {
            Self::Input(input) | Self::List(input) | Self::Exp(input) => Some(input),
            _ => None,
        }
    }
}

/// Returns the derivative of a sum by an input, or by each member of a list.
pub(crate) fn derivative(terms: &[Term], input: usize) -> Vec<Term> {
    let mut derivative = Vec::new();
    for term in terms {
        // One product for each factor that depends on the input: equal ones are not gathered.
        for (place, factor) in term.factors.iter().enumerate() {
            if factor.source() == Some(input) {
                let mut product = term.clone();
                if !matches!(factor, Factor::Exp(_)) {
                    product.factors.remove(place);
                }
                derivative.push(product);
            }
        }
    }
    derivative
}
