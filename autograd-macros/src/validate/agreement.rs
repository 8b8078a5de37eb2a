//! Rules for the rank and element type of a name: the same wherever it appears.

use syn::Type;

use super::Context;
use crate::types::{Content, Form, Rank, is_primitive, same, show};

/// Whether a type can be of the rank and element type that `name` has in forward.
///
/// ```ignore
/// fn forward(input: ArrayView2<f32>, …) -> Array2<f32>
/// fn grad_weight(grad_output: ArrayView2<f32>, input: ArrayView1<f32>) -> Array2<f32>
/// //                                                  ^^^^^^^^^^^^^^^ `input` is of rank 2, and of rank 1 here
/// ```
pub(super) fn agree(
    subject: &str,
    expected: &Content,
    found: &Content,
    on: &Type,
    form: Form,
    context: &mut Context<'_>,
) {
    let (
        Content::Known {
            element: expected_element,
            rank: expected_rank,
        },
        Content::Known { element, rank },
    ) = (expected, found)
    else {
        return;
    };
    let certain = |ty: &Type| context.floats.contains(ty) || is_primitive(ty);
    let elements_differ =
        !same(expected_element, element) && certain(expected_element) && certain(element);
    let certain = |rank: &Rank| match rank {
        Rank::Named(ty) => context.floats.contains(ty),
        Rank::Fixed(_) | Rank::Dyn => true,
    };
    let (expected_text, found_text) = (show_rank(expected_rank), show_rank(rank));
    let ranks_differ = expected_text != found_text && certain(expected_rank) && certain(rank);
    let difference = match (ranks_differ, elements_differ) {
        (false, false) => return,
        (true, false) => format!("{expected_text}, and {found_text} here"),
        (false, true) => {
            format!(
                "of `{}`, and of `{}` here",
                show(expected_element),
                show(element)
            )
        }
        (true, true) => format!(
            "{expected_text} and of `{}`, and {found_text} and of `{}` here",
            show(expected_element),
            show(element)
        ),
    };
    let help = format!("write `{}`", spell(form, expected));
    context
        .diagnostics
        .error_with_help(on, &format!("{subject} is {difference}"), &help);
}

/// The type that an author would write.
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
        Rank::Fixed(rank) => format!("of rank {rank}"),
        Rank::Dyn => "of dynamic rank".to_owned(),
        Rank::Named(dimension) => format!("of rank `{}`", show(dimension)),
    }
}
