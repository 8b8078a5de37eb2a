//! The text of a definition, in lines with a role each.

use std::fmt::Write as _;

use super::model::{Element, Rank};
use super::random::Random;

/// A function of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Forward,
    /// A backward function, or the expression of a gradient in the short form.
    Backward(usize),
    Jvp,
}

/// The value that a parameter of a backward function or of the `#[jvp]` rule asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    /// A tensor of forward.
    Input(usize),
    Value(usize),
    /// A float output, or what was written.
    Output,
    /// An intermediate: an array, or a number.
    Saved(usize),
    Gradient(usize),
    Tangent(usize),
    NeedsInputGrad,
    Context,
}

/// The role of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// `#[custom_function(`
    Attribute,
    /// An argument of it.
    Argument,
    /// `gradcheck(`
    Gradcheck,
    /// An argument of that, for an input.
    Sample(usize),
    /// `)]`
    AttributeEnd,
    /// `impl … {`
    Block,
    /// `#[forward]`, `#[backward(x)]`, `#[jvp]`; in the short form `grad(x) = {`
    Helper(Part),
    /// `fn backward(`
    Function(Part),
    /// A parameter of forward.
    Parameter(usize),
    /// A parameter of another function.
    Asked(Part, Wants),
    /// `) -> (`
    Returns(Part),
    /// A type in it.
    Returned(Part, usize),
    /// `)`
    ReturnsEnd(Part),
    /// `fn of_batch(`
    Batch,
    /// A parameter of it.
    OfBatch(usize),
    /// `) -> Tensor2<f64> {`
    BatchReturns,
    /// A statement, or a bracket around some.
    Body(Part),
    /// The last expression.
    Last(Part),
    Other,
}

#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) role: Role,
    pub(crate) text: String,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Text(pub(crate) Vec<Line>);

impl Text {
    pub(crate) fn push(&mut self, role: Role, text: impl Into<String>) {
        let text = text.into();
        self.0.push(Line { role, text });
    }

    /// Returns the places of lines with a role that is accepted.
    pub(crate) fn places(&self, accept: impl Fn(Role) -> bool) -> Vec<usize> {
        let places = 0..self.0.len();
        places.filter(|place| accept(self.0[*place].role)).collect()
    }

    pub(crate) fn source(&self) -> String {
        self.0.iter().fold(String::new(), |mut source, line| {
            let _ = writeln!(source, "{}", line.text);
            source
        })
    }
}

/// The form of a tensor in a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    View,
    ViewMut,
    Owned,
    Tensor,
    TensorRef,
}

/// The element type and rank of a definition, to write types with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Types {
    pub(crate) element: Element,
    pub(crate) rank: Rank,
}

impl Types {
    pub(crate) fn element(self) -> &'static str {
        match self.element {
            Element::Double | Element::Number => "f64",
            Element::Generic => "T",
        }
    }

    /// Returns a number of the element type.
    pub(crate) fn number(self, number: f64) -> String {
        match self.element {
            Element::Double | Element::Number => format!("{number:?}"),
            Element::Generic => format!("T::from_f64({number:?})"),
        }
    }

    /// Returns an `f64` as a number of the element type.
    pub(crate) fn converted(self, number: &str) -> String {
        match self.element {
            Element::Double | Element::Number => number.to_owned(),
            Element::Generic => format!("T::from_f64({number})"),
        }
    }

    /// Returns the type of the rank.
    pub(crate) fn dimension(self) -> String {
        match self.rank {
            Rank::Fixed(axes) => format!("Ix{axes}"),
            Rank::Generic => "D".to_owned(),
            Rank::Dyn => "IxDyn".to_owned(),
        }
    }

    /// Returns the type of a tensor, in one of the ways to write it.
    pub(crate) fn tensor(self, form: Form, random: &mut Random) -> String {
        self.with_lifetime(form, "", random)
    }

    /// Returns the type of a tensor, with a lifetime if it is borrowed.
    pub(crate) fn with_lifetime(self, form: Form, lifetime: &str, random: &mut Random) -> String {
        let element = self.element();
        let name = match form {
            Form::View => "ArrayView",
            Form::ViewMut => "ArrayViewMut",
            Form::Owned => "Array",
            Form::Tensor | Form::TensorRef => "Tensor",
        };
        let suffix = match self.rank {
            Rank::Fixed(axes) => Some(axes.to_string()),
            Rank::Dyn => Some("D".to_owned()),
            Rank::Generic => None,
        };
        let lifetime = match form {
            Form::View | Form::ViewMut if !lifetime.is_empty() => format!("{lifetime}, "),
            _ => String::new(),
        };
        let ty = match suffix.filter(|_| random.chance(85)) {
            Some(suffix) => format!("{name}{suffix}<{lifetime}{element}>"),
            None => format!("{name}<{lifetime}{element}, {}>", self.dimension()),
        };
        match form {
            Form::TensorRef => format!("&{ty}"),
            _ => ty,
        }
    }

    /// Returns the type of an input under another name, of which a view has a lifetime.
    pub(crate) fn alias(self, form: Form, lifetime: &str) -> String {
        let (element, dimension) = (self.element(), self.dimension());
        let lifetime = if lifetime.is_empty() { "'_" } else { lifetime };
        match form {
            Form::Owned => format!("Held<{element}, {dimension}>"),
            Form::TensorRef => format!("&Known<{element}, {dimension}>"),
            _ => format!("Seen<{lifetime}, {element}, {dimension}>"),
        }
    }

    /// Returns the types for a tensor of rank 0.
    pub(crate) fn reduced(self) -> Self {
        Self {
            rank: Rank::Fixed(0),
            ..self
        }
    }
}
