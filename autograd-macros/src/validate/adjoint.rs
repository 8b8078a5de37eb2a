//! Rules for the adjoint of a linear function, in place of backward functions.

use syn::Ident;

use super::asked::Asker;
use super::context::Context;
use super::coverage::{self, Covers};
use super::options::BackwardOptions;
use super::{Rules, derivative, function};
use crate::diagnostics::{Diagnostics, list};
use crate::lower::{self, adjoint::Turned};
use crate::model::{
    Adjoint, Backward, Definition, Derivative, Forward, FunctionModel, Role, Source, Wants, Written,
};
use crate::parse::{self, Attributes, Helper, Method, Part};
use crate::place::Place;
use crate::strip;
use crate::types::Kind;

/// There may be one adjoint, and nothing that it gives already.
///
/// ```text
/// #[adjoint(x)]
/// fn adjoint(grad_output: ArrayView1<f64>) -> Array1<f64>
/// #[backward(x)]
/// fn backward(grad_output: ArrayView1<f64>) -> Array1<f64>
/// // ^^^^^^^^ `Sums` has an adjoint, which gives all gradients
/// ```
pub(super) fn only<'a>(
    adjoints: Vec<(&'a Method, &'a Helper, BackwardOptions)>,
    others: &[&Method],
    definition: &Definition,
    diagnostics: &mut Diagnostics,
) -> Option<(&'a Method, BackwardOptions)> {
    let mut adjoints = adjoints.into_iter();
    let (method, _, options) = adjoints.next()?;
    let name = definition.item();
    for (second, helper, _) in adjoints {
        let on = if second.expression.is_some() {
            &second.sig.ident
        } else {
            &helper.name
        };
        let message = format!("`{name}` has an adjoint already");
        let help =
            "one adjoint gives the gradients of all inputs: `#[adjoint(x, y)]` returns a tuple";
        diagnostics.error_with_help(on, &message, help);
    }
    for other in others {
        let part = other
            .helpers
            .iter()
            .find_map(|helper| Part::meant(&helper.name));
        let (gives, what) = if part == Some(Part::Jvp) {
            ("is its own derivative along a direction", "this rule")
        } else {
            ("gives all gradients", "this function")
        };
        let message =
            format!("`{name}` has an adjoint, which {gives}; remove {what}, or the adjoint");
        diagnostics.error(&other.sig.ident, message);
    }
    Some((method, options))
}

/// Reads the adjoint, and what follows from it.
pub(super) fn read(
    method: &Method,
    options: &BackwardOptions,
    is_right: bool,
    flawed: &mut Vec<Ident>,
    context: &mut Context<'_>,
) -> Rules {
    let mistakes = context.diagnostics.len();
    context.in_adjoint = true;
    let covers = covers(method, options, context);
    is_always_there(context);
    let on = (context.definition, context.forward);
    let sig = lower::short::signature(method, &options.inputs, &covers.edges, on);
    let asker = Asker::Backward {
        method,
        options,
        covers: &covers,
    };
    let read = derivative(&sig, &asker, flawed, context);
    context.in_adjoint = false;
    let function = read.map(|function| Backward {
        vis: method.vis.clone(),
        written: lower::short::written(method, sig, covers.complete),
        function,
        covers: covers.edges.clone(),
    });
    if let Some(function) = &function {
        asks_for_nothing_that_varies(&function.function, context);
    }
    if context.diagnostics.len() > mistakes {
        flawed.push(method.sig.ident.clone());
    }
    let Some(function) = function.filter(|_| context.diagnostics.len() == mistakes && is_right)
    else {
        return Rules::default();
    };
    follow(function, &covers, flawed, context).unwrap_or_default()
}

/// Returns all differentiable inputs, which an adjoint covers.
///
/// ```text
/// #[adjoint(x)]
/// //^^^^^^^ one adjoint gives the gradients of all differentiable inputs: `y` is missing
/// fn adjoint(grad_output: ArrayView1<f64>) -> Array1<f64>
/// ```
fn covers(method: &Method, options: &BackwardOptions, context: &mut Context<'_>) -> Covers {
    let inputs = context.forward.differentiable();
    let methods = [(
        method,
        BackwardOptions {
            inputs: options.inputs.clone(),
            ..BackwardOptions::default()
        },
    )];
    let mistakes = context.diagnostics.len();
    // What is missing has words of its own.
    let Some(covers) = coverage::read(&methods, false, context).pop() else {
        return Covers {
            edges: (0..inputs.len()).collect(),
            complete: false,
        };
    };
    let missing = (0..inputs.len()).filter(|edge| !covers.edges.contains(edge));
    let missing: Vec<String> = missing
        .map(|edge| inputs[edge].0.name.to_string())
        .collect();
    if !missing.is_empty() && context.diagnostics.len() == mistakes {
        let on = options.inputs.first().unwrap_or(&method.sig.ident);
        let are = if missing.len() == 1 { "is" } else { "are" };
        let message = format!(
            "one adjoint gives the gradients of all differentiable inputs, and {} {are} missing",
            list(&missing)
        );
        let all = inputs.iter().map(|(input, _)| input.name.to_string());
        let help = format!(
            "write `adjoint({})`, which returns a tuple, or exempt an input: `#[non_differentiable] {}: …`",
            all.collect::<Vec<_>>().join(", "),
            missing[0]
        );
        context.diagnostics.error_with_help(on, &message, &help);
    }
    covers
}

/// What a linear function is of, and what it returns, is there in every call.
///
/// ```text
/// fn forward(x: ArrayView1<f64>, y: Option<ArrayView1<f64>>) -> Array1<f64>
/// //                                ^^^^^^^^^^^^^^^^^^^^^^^ `y` may be missing, and an adjoint is of inputs that are there
/// ```
fn is_always_there(context: &mut Context<'_>) {
    let inputs = context.forward.differentiable().into_iter();
    let inputs = inputs.filter(|(_, tensor)| tensor.kind == Kind::Optional);
    let inputs = inputs.map(|(input, _)| (&input.name, &input.ty, "inputs"));
    let outputs = context.forward.differentiable_outputs().into_iter();
    let outputs = outputs.filter(|(output, _)| output.kind == Kind::Optional);
    let outputs = outputs.map(|(output, _)| (&output.name, &output.ty, "outputs"));
    for (name, ty, what) in inputs.chain(outputs) {
        let message =
            format!("`{name}` may be missing, and an adjoint is of {what} that are always there");
        let help = "write two functions, or backward functions in place of the adjoint";
        context.diagnostics.error_with_help(ty, &message, help);
    }
}

/// An adjoint depends on no input that forward is linear in, and on nothing that is computed from one.
///
/// ```text
/// #[adjoint(x)]
/// fn adjoint(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64>
/// //                                       ^ forward is linear in `x`, so its adjoint does not depend on it
/// ```
fn asks_for_nothing_that_varies(adjoint: &Derivative, context: &mut Context<'_>) {
    let forward = context.forward;
    for parameter in &adjoint.parameters {
        let message = match parameter.wants {
            Wants::Gradient(output) if parameter.optional => {
                let (output, _) = forward.differentiable_outputs()[output];
                let name = output.gradient_name();
                format!("`{name}` is always there for an adjoint: an undefined one is zeros")
            }
            Wants::Gradient(_) | Wants::Saved(Source::Axis(_)) | Wants::Tangent(_) => continue,
            Wants::NeedsInputGrad => {
                "an adjoint gives the gradients of all inputs at once".to_owned()
            }
            Wants::Context => "an adjoint asks for values and axes by name".to_owned(),
            Wants::Saved(Source::Input(index)) => {
                let input = &forward.inputs[index];
                let tensor = input.tensor.as_ref();
                if tensor.is_none_or(|tensor| tensor.edge.is_none()) {
                    continue;
                }
                let name = &input.name;
                format!("forward is linear in `{name}`, so its adjoint does not depend on it")
            }
            Wants::Saved(Source::Returned(index)) => {
                let returned = &forward.returned[index];
                let what = match returned.role {
                    Role::Output { .. } | Role::InPlace { .. } => "an output",
                    Role::Intermediate => "saved by forward",
                };
                let name = &returned.name;
                format!("`{name}` is {what}, and may depend on the inputs; an adjoint does not")
            }
        };
        let help = "it may ask for the gradients of the outputs, for values, axes and `#[non_differentiable]` inputs; a \
                    function that is not linear has backward functions, `#[backward(x)]`";
        context
            .diagnostics
            .error_with_help(&parameter.ty, &message, help);
    }
}

/// Returns the names that an adjoint may ask for.
pub(super) fn names(forward: &Forward) -> Vec<String> {
    let others = forward.inputs.iter().filter(|input| {
        let tensor = input.tensor.as_ref();
        tensor.is_none_or(|tensor| tensor.edge.is_none())
    });
    let axes = forward.shapes.axes.iter();
    let mut names = forward.gradient_names();
    names.extend(others.map(|input| input.name.to_string()));
    names.extend(axes.map(|axis| axis.name.to_string()));
    names
}

/// Reads all that follows from an adjoint: by the rules, as if it were written.
fn follow(
    function: Backward,
    covers: &Covers,
    flawed: &mut Vec<Ident>,
    context: &mut Context<'_>,
) -> Option<Rules> {
    let (definition, forward) = (context.definition, context.forward);
    let turned = lower::adjoint::turned(definition, forward, &function.function, &covers.edges);
    let Turned {
        backward: (sig, expression),
        rule,
        block,
        ..
    } = turned;
    let options = BackwardOptions::default();
    let method = Method {
        attrs: Vec::new(),
        helpers: Vec::new(),
        vis: function.vis.clone(),
        sig: sig.clone(),
        body: quote::ToTokens::to_token_stream(&expression),
        expression: None,
        place: 0..0,
    };
    let asker = Asker::Backward {
        method: &method,
        options: &options,
        covers,
    };
    let backward = derivative(&sig, &asker, flawed, context)?;
    let jvp = derivative(&rule.0, &Asker::Jvp, flawed, context)?;
    let ident = &function.function.ident;
    let turned = turned_round(&block, definition, ident, context.diagnostics)?;
    let adjoint = Adjoint {
        function,
        rule: Written {
            sig: rule.0,
            expression: rule.1,
        },
        turned: Box::new(turned),
        block: strip::helpers(block),
    };
    Some(Rules {
        backwards: vec![Backward {
            vis: method.vis.clone(),
            function: backward,
            written: Some(Written { sig, expression }),
            covers: covers.edges.clone(),
        }],
        jvp: Some(jvp),
        adjoint: Some(adjoint),
        ..Rules::default()
    })
}

/// Reads the function turned round.
fn turned_round(
    block: &proc_macro2::TokenStream,
    definition: &Definition,
    adjoint: &Ident,
    diagnostics: &mut Diagnostics,
) -> Option<FunctionModel> {
    let item = parse::item(block.clone());
    let attributes = Attributes {
        arguments: Ok(Vec::new()),
        repeated: Vec::new(),
    };
    let Ok(mut turned) = function((attributes, item), &Place::default()) else {
        let message = "this adjoint cannot be turned into a function of its own";
        let help = "write its types out, or backward functions in its place";
        diagnostics.error_with_help(adjoint, message, help);
        return None;
    };
    turned.definition.name = format!("{}::adjoint", definition.name);
    turned.definition.runtime.clone_from(&definition.runtime);
    turned.is_written = false;
    Some(turned)
}
