//! Rules for the rank and element type of a name, which must be the same wherever it appears.

use syn::Type;

use super::context::Context;
use crate::show::show;
use crate::types::{Content, Form, Rank, TensorType};

/// The rank and element type that a tensor must have.
pub(super) struct Expected<'a> {
    pub(super) content: &'a Content,
    /// `` `input` ``, ``the gradient of `input` ``
    pub(super) subject: String,
    /// `in forward`, ``like `input` ``
    pub(super) place: String,
}

/// Rank and element type must be those of forward.
///
/// ```text
/// fn forward(input: ArrayView2<f32>, …) -> Array2<f32>
/// fn grad_weight(grad_output: ArrayView2<f32>, input: ArrayView1<f32>) -> Array2<f32>
/// //                                                  ^^^^^^^^^^^^^^^ `input` has rank 2 in forward, but has rank 1 here
/// ```
pub(super) fn agree(
    expected: &Expected<'_>,
    found: &TensorType,
    on: &Type,
    context: &mut Context<'_>,
) {
    let Some((wanted, given)) = difference(expected.content, &found.content, context) else {
        return;
    };
    let Expected { subject, place, .. } = expected;
    let has = if place.starts_with("like") {
        "must have"
    } else {
        "has"
    };
    let message = format!("{subject} {has} {wanted} {place}, but has {given} here");
    let help = format!("write `{}`", spell(found.form, expected.content));
    context.diagnostics.error_with_help(on, &message, &help);
}

/// Returns what differs, on either side, as far as the macro can be certain: behind an alias there may be
/// anything.
fn difference(
    expected: &Content,
    found: &Content,
    context: &mut Context<'_>,
) -> Option<(String, String)> {
    let floats = context.floats;
    let (
        Content::Known { element, rank },
        Content::Known {
            element: given,
            rank: given_rank,
        },
    ) = (expected, found)
    else {
        return None;
    };
    let is_certain_rank = |rank: &Rank| match rank {
        Rank::Named(dimension) => floats.is_certain(dimension),
        Rank::Fixed(_) | Rank::Dyn => true,
    };
    let ranks = (show_rank(rank), show_rank(given_rank));
    let elements = (
        format!("elements of type `{}`", show(element)),
        format!("elements of type `{}`", show(given)),
    );
    let ranks_differ = ranks.0 != ranks.1 && is_certain_rank(rank) && is_certain_rank(given_rank);
    let elements_differ =
        elements.0 != elements.1 && floats.is_certain(element) && floats.is_certain(given);
    context.elements_differ |= elements_differ;
    let both = |rank: &str, element: &str| format!("{rank} and {element}");
    match (ranks_differ, elements_differ) {
        (false, false) => None,
        (true, false) => Some(ranks),
        (false, true) => Some(elements),
        (true, true) => Some((both(&ranks.0, &elements.0), both(&ranks.1, &elements.1))),
    }
}

/// Returns the type as people write it.
pub(super) fn spell(form: Form, content: &Content) -> String {
    let (element, rank) = match content {
        Content::Known { element, rank } => (element, rank),
        Content::Alias(alias) => return show(alias),
    };
    let stem = match form {
        Form::View => "ArrayView",
        Form::ViewMut => "ArrayViewMut",
        Form::Owned => "Array",
        Form::TensorRef => "&Tensor",
        Form::Tensor => "Tensor",
    };
    let element = show(element);
    match rank {
        Rank::Fixed(rank) => format!("{stem}{rank}<{element}>"),
        Rank::Dyn => format!("{stem}D<{element}>"),
        Rank::Named(dimension) => format!("{stem}<{element}, {}>", show(dimension)),
    }
}

fn show_rank(rank: &Rank) -> String {
    match rank {
        Rank::Fixed(rank) => format!("rank {rank}"),
        Rank::Dyn => "dynamic rank".to_owned(),
        Rank::Named(dimension) => format!("rank `{}`", show(dimension)),
    }
}
