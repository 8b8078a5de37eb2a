//! The shapes that `shapes(…)` declares.

use syn::{Expr, Ident, LitInt, Type};

use crate::lists::Lists as _;

/// The declared shapes of a function; empty if there are none.
#[derive(Default)]
pub(crate) struct Shapes {
    /// The axes that have names, in the order in which inputs bind them.
    pub(crate) axes: Vec<Axis>,
    /// For each input of forward.
    pub(crate) inputs: Vec<Option<Declared>>,
    /// For each value that forward returns.
    pub(crate) returned: Vec<Option<Shape>>,
}

/// An axis that has a name.
pub(crate) struct Axis {
    pub(crate) name: Ident,
    /// `usize`
    pub(crate) ty: Type,
    /// Whether every call has a tensor with it, so that its length is known.
    pub(crate) is_bound: bool,
}

/// The declared shape of something that forward returns.
pub(crate) enum Shape {
    Written(Declared),
    /// The shape of this input.
    Like(usize, Ident),
}

/// A list of lengths.
pub(crate) struct Declared {
    /// Whether it begins with `..`.
    pub(crate) leading: bool,
    pub(crate) lengths: Vec<Length>,
    /// The shape as it is shown: `[.., n, l / factor]`.
    pub(crate) text: String,
}

/// The length of one axis.
pub(crate) enum Length {
    /// `_`
    Any,
    Number(LitInt),
    /// The axis of this number.
    Axis(usize),
    Computed(Box<Computed>),
}

/// An expression of axes and values.
pub(crate) struct Computed {
    pub(crate) expression: Expr,
    /// The expression as it is shown.
    pub(crate) text: String,
    /// The axes and values that it uses.
    pub(crate) names: Vec<Ident>,
}

impl Declared {
    /// Returns whether all lengths are axes and numbers.
    fn is_of_axes(&self) -> bool {
        let mut lengths = self.lengths.iter();
        lengths.all(|length| matches!(length, Length::Axis(_) | Length::Number(_)))
    }
}

impl Shape {
    /// Returns the list of lengths, if it is one.
    pub(crate) fn written(&self) -> Option<&Declared> {
        match self {
            Self::Written(declared) => Some(declared),
            Self::Like(..) => None,
        }
    }
}

impl Shapes {
    /// Returns whether nothing is declared.
    pub(crate) fn are_none(&self) -> bool {
        self.inputs.iter().all(Option::is_none) && self.returned.iter().all(Option::is_none)
    }

    /// Returns the number of an axis.
    pub(crate) fn axis(&self, name: &Ident) -> Option<usize> {
        self.axes.iter().position(|axis| axis.name == *name)
    }

    /// Returns the declared shape of an input.
    pub(crate) fn of_input(&self, input: usize) -> Option<&Declared> {
        self.inputs.get(input)?.as_ref()
    }

    /// Returns the declared shape of something that forward returns.
    pub(crate) fn of_returned(&self, returned: usize) -> Option<&Shape> {
        self.returned.get(returned)?.as_ref()
    }

    /// Returns the text of the shape of something that forward returns: with axes and numbers alone, or that of an input.
    pub(crate) fn text<'a>(&'a self, shape: &'a Shape) -> String {
        match shape {
            Shape::Written(declared) => declared.text.clone(),
            Shape::Like(input, name) => match self.of_input(*input) {
                Some(declared) if declared.is_of_axes() => declared.text.clone(),
                _ => format!("shape of {name}"),
            },
        }
    }

    /// Returns the names that expressions use.
    pub(crate) fn used(&self) -> impl Iterator<Item = &Ident> {
        let returned = self.returned.iter().flatten();
        let returned = returned.filter_map(Shape::written);
        let all = self.inputs.iter().flatten().chain(returned);
        let lengths = all.flat_map(|declared| &declared.lengths);
        let names = lengths.flat_map(|length| match length {
            Length::Computed(computed) => &computed.names[..],
            Length::Any | Length::Number(_) | Length::Axis(_) => &[],
        });
        names.listed().into_iter()
    }
}
