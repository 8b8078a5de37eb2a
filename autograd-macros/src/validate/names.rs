//! Rules for names.

use syn::Ident;

use crate::diagnostics::Diagnostics;
use crate::model::{Forward, Returned, Role};

const DEFAULT: &str = "the default name of an output";

/// A name must mean one thing, wherever a backward function asks for it.
///
/// ```text
/// #[forward(outputs(x))]
/// //                ^ `x` is an input already
/// fn forward(x: ArrayView1<f32>) -> Array1<f32>
/// ```
pub(super) fn are_distinct(forward: &Forward, diagnostics: &mut Diagnostics) {
    let mut taken = vec![("needs_input_grad".to_owned(), "generated")];
    let mut claim = |name: &Ident, kind: &str, is: &'static str| {
        let text = name.to_string();
        if let Some((_, earlier)) = taken.iter().find(|(taken, _)| *taken == text) {
            let message = format!("`{name}` is {earlier} already; give this {kind} another name");
            if *earlier == DEFAULT && kind == "input" {
                let help = "or name what forward returns: `outputs(…)`";
                diagnostics.error_with_help(name, &message, help);
            } else {
                diagnostics.error(name, message);
            }
        } else {
            taken.push((text, is));
        }
    };
    // Default names are taken first, so that the mistake is reported on one that was chosen.
    let (named, unnamed): (Vec<&Returned>, Vec<_>) =
        forward.returned.iter().partition(|returned| returned.named);
    for (output, _) in forward.differentiable_outputs() {
        claim(&output.gradient_name(), "output", "a gradient");
    }
    for output in unnamed {
        claim(&output.name, "output", DEFAULT);
    }
    for input in &forward.inputs {
        claim(&input.name, "input", "an input");
    }
    for returned in named {
        match returned.role {
            Role::Output { .. } | Role::InPlace { .. } => {
                claim(&returned.name, "output", "an output");
            }
            Role::Intermediate | Role::Unknown { .. } => {
                claim(&returned.name, "intermediate", "saved");
            }
        }
    }
}

/// The name of a tangent must mean nothing else.
///
/// ```text
/// fn forward(x: ArrayView1<f32>, tangent_x: ArrayView1<f32>) -> Array1<f32>
/// //                             ^^^^^^^^^ `tangent_x` is the tangent of `x` in a `#[jvp]` rule
/// ```
pub(super) fn tangents_have_distinct_names(forward: &Forward, diagnostics: &mut Diagnostics) {
    let inputs = forward.inputs.iter().map(|input| &input.name);
    let returned = forward.returned.iter().map(|returned| &returned.name);
    for name in inputs.chain(returned) {
        let mut owners = forward.differentiable().into_iter();
        if let Some((owner, _)) = owners.find(|(input, _)| input.tangent_name() == *name) {
            let message = format!(
                "`{name}` is the tangent of `{}` in a `#[jvp]` rule; choose another name",
                owner.name
            );
            diagnostics.error(name, message);
        }
    }
}
