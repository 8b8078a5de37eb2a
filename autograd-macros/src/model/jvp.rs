//! The rule for forward mode.

use syn::{Ident, Type};

use super::{Request, Source, tuple_elements};
use crate::types::Form;

/// The function marked `#[jvp]`.
pub(crate) struct Jvp {
    pub(crate) ident: Ident,
    /// Its parameters.
    pub(crate) given: Vec<Given>,
    /// What it returns: a tangent for each differentiable output.
    pub(crate) returns: Type,
}

/// A parameter of a `#[jvp]` rule.
pub(crate) struct Given {
    pub(crate) ty: Type,
    pub(crate) what: GivenWhat,
}

/// What a parameter of a `#[jvp]` rule gets.
pub(crate) enum GivenWhat {
    /// The tangent of a differentiable input.
    Tangent {
        edge: usize,
        form: Form,
        optional: bool,
    },
    /// An input or an output.
    Known(Request),
}

impl Jvp {
    /// The types of the tangents within what it returns.
    pub(crate) fn returned_types(&self) -> Vec<&Type> {
        tuple_elements(&self.returns)
    }

    /// Whether it works on tensors, so that what it computes can be differentiated again.
    pub(crate) fn is_on_tensors(&self) -> bool {
        self.given.iter().all(|given| match &given.what {
            GivenWhat::Tangent { form, .. } | GivenWhat::Known(Request::Tensor { form, .. }) => {
                form.is_tensor()
            }
            GivenWhat::Known(Request::Value { .. }) => true,
        })
    }

    /// Whether it asks for a source.
    pub(crate) fn asks_for(&self, wanted: Source) -> bool {
        self.given.iter().any(
            |given| matches!(&given.what, GivenWhat::Known(request) if request.source() == wanted),
        )
    }

    /// How each request for the tangent of a differentiable input is written.
    pub(crate) fn tangents(&self, input: usize) -> impl Iterator<Item = (Form, bool)> {
        self.given.iter().filter_map(move |given| match given.what {
            GivenWhat::Tangent {
                edge,
                form,
                optional,
            } if edge == input => Some((form, optional)),
            _ => None,
        })
    }
}
