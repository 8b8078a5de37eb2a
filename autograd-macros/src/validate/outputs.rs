//! Rules for what forward returns.

use syn::{Ident, ReturnType, Signature, Type};

use super::arguments::ForwardOptions;
use crate::diagnostics::{Diagnostics, count, did_you_mean, list};
use crate::model::{Returned, Role};
use crate::show::show;
use crate::types::{Class, Floats, Form, TensorType, peel, result_of};

/// What was read of forward's return type.
pub(super) struct ReadOutputs {
    pub(super) returned: Vec<Returned>,
    pub(super) tuple: bool,
    pub(super) fallible: Option<Type>,
    /// Whether each thing has the name that the author meant it to have.
    pub(super) is_certain: bool,
}

/// Reads what forward returns; `None` if it cannot be told what `apply` would return.
pub(super) fn read(
    sig: &Signature,
    options: &ForwardOptions,
    floats: &Floats,
    diagnostics: &mut Diagnostics,
) -> Option<ReadOutputs> {
    let ty = returns_something(sig, diagnostics)?;
    let ok = result_of(&ty);
    let (types, tuple) = match peel(ok.unwrap_or(&ty)) {
        Type::Tuple(tuple) => (tuple.elems.iter().collect(), true),
        single => (vec![single], false),
    };
    let mistakes = diagnostics.len();
    let names = counted_names(&types, options, diagnostics);
    let is_certain = diagnostics.len() == mistakes;
    let saves = options.saves.as_ref().map_or(0, |saves| saves.names.len());
    let outputs = types.len().saturating_sub(saves).max(1);
    let mut returned = Vec::new();
    for (index, ty) in types.iter().copied().enumerate() {
        let tensor = owned_tensor(ty, floats, diagnostics);
        let name = names
            .get(index)
            .cloned()
            .unwrap_or_else(|| default_name(index, outputs));
        let role = if index < outputs {
            Role::Output { gradient: None }
        } else {
            Role::Intermediate
        };
        let named = options.outputs.is_some() || role == Role::Intermediate;
        returned.push(Returned {
            name,
            named,
            ty: ty.clone(),
            tensor,
            role,
        });
    }
    let is_flawed = diagnostics.len() > mistakes;
    number_gradients(&mut returned, &options.non_differentiable);
    exemptions_name_outputs(&returned, &options.non_differentiable, diagnostics);
    if !is_flawed {
        something_has_a_gradient(&ty, &returned, &options.non_differentiable, diagnostics);
    }
    Some(ReadOutputs {
        returned,
        tuple,
        fallible: ok.is_some().then(|| ty.clone()),
        is_certain,
    })
}

/// Forward returns something.
///
/// ```text
/// fn forward(x: ArrayView1<f32>) {}
/// // ^^^^^^^ `forward` returns nothing
/// ```
fn returns_something(sig: &Signature, diagnostics: &mut Diagnostics) -> Option<Type> {
    let is_unit = |ty: &Type| matches!(peel(ty), Type::Tuple(tuple) if tuple.elems.is_empty());
    match &sig.output {
        ReturnType::Type(_, ty) if !is_unit(result_of(ty).unwrap_or(ty)) => Some((**ty).clone()),
        _ => {
            let message = format!("`{}` returns nothing", sig.ident);
            let help = "return an array, or a tuple of arrays: `-> Array2<f32>`";
            diagnostics.error_with_help(&sig.ident, &message, help);
            None
        }
    }
}

/// `outputs(…)` and `saves(…)` name as many things as forward returns.
///
/// ```text
/// #[forward(outputs(y), saves(mean, rstd))]
/// //                    ^^^^^ 3 things are named, `y`, `mean`, `rstd`, and 2 things are returned by forward
/// fn forward(x: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>)
/// ```
fn counted_names(
    types: &[&Type],
    options: &ForwardOptions,
    diagnostics: &mut Diagnostics,
) -> Vec<Ident> {
    let saves = options
        .saves
        .as_ref()
        .map_or(&[][..], |saves| &saves.names[..]);
    let returned = types.len();
    let unnamed = returned.saturating_sub(saves.len()).max(1);
    let outputs: Vec<Ident> = match &options.outputs {
        Some(outputs) => outputs.names.clone(),
        None => (0..unnamed)
            .map(|index| default_name(index, unnamed))
            .collect(),
    };
    let named = outputs.len() + saves.len();
    let keyword = options
        .saves
        .as_ref()
        .or(options.outputs.as_ref())
        .map(|names| &names.keyword);
    let names: Vec<Ident> = outputs.into_iter().chain(saves.iter().cloned()).collect();
    if let Some(keyword) = keyword.filter(|_| named != returned) {
        let message = format!(
            "{} named, {}, and {} returned by forward",
            count(named, "thing"),
            list(names.iter().map(Ident::to_string)),
            count(returned, "thing")
        );
        let help = "forward returns the outputs first and then what is saved, all in one tuple";
        diagnostics.error_with_help(keyword, &message, help);
    }
    names
}

/// `output` for a single output, `output_0`, `output_1`, … for several.
fn default_name(index: usize, outputs: usize) -> Ident {
    let span = proc_macro2::Span::mixed_site();
    if outputs == 1 && index == 0 {
        Ident::new("output", span)
    } else {
        Ident::new(&format!("output_{index}"), span)
    }
}

/// Outputs are owned arrays or tensors, one by one.
///
/// ```text
/// fn forward(x: ArrayView1<f32>) -> Vec<Array1<f32>>
/// //                                ^^^^^^^^^^^^^^^^ an array inside `Vec<Array1<f32>>` would have no gradient
/// ```
fn owned_tensor(ty: &Type, floats: &Floats, diagnostics: &mut Diagnostics) -> Option<TensorType> {
    match floats.classify(ty) {
        Class::Tensor(tensor) if matches!(tensor.form, Form::Owned | Form::Tensor) => Some(tensor),
        Class::Tensor(tensor) => {
            let message = format!("`{}` is borrowed, and an output is owned", show(ty));
            let owned = super::agreement::spell(Form::Owned, &tensor.content);
            diagnostics.error_with_help(ty, &message, &format!("return `{owned}`"));
            Some(tensor)
        }
        Class::Optional(tensor) => {
            let message = format!("`{}` may be absent, and an output never is", show(ty));
            diagnostics.error_with_help(ty, &message, "return the array itself");
            Some(tensor)
        }
        Class::List(_) | Class::Value => {
            if floats.hidden_tensor(ty, |_| true).is_some() {
                let message = format!("an array inside `{}` would have no gradient", show(ty));
                let help = "return arrays one by one, in a flat tuple";
                diagnostics.error_with_help(ty, &message, help);
            }
            None
        }
    }
}

fn number_gradients(returned: &mut [Returned], exempt: &[Ident]) {
    let mut gradients = 0;
    for returned in returned.iter_mut() {
        let is_exempt = exempt.contains(&returned.name) || returned.tensor.is_none();
        if let (Role::Output { gradient }, false) = (&mut returned.role, is_exempt) {
            *gradient = Some(gradients);
            gradients += 1;
        }
    }
}

/// `non_differentiable(…)` exempts outputs that would have a gradient.
///
/// ```text
/// #[forward(outputs(y, mask), non_differentiable(maks))]
/// //                                             ^^^^ no output is named `maks`
/// ```
fn exemptions_name_outputs(returned: &[Returned], exempt: &[Ident], diagnostics: &mut Diagnostics) {
    let is_output = |returned: &&Returned| returned.role != Role::Intermediate;
    for name in exempt {
        match returned
            .iter()
            .filter(is_output)
            .find(|output| output.name == *name)
        {
            Some(output) if output.tensor.is_none() => {
                let message =
                    format!("`{name}` is no array of floats and has no gradient anyway; remove it");
                diagnostics.error(name, message);
            }
            Some(_) => {}
            None => {
                let names: Vec<String> = returned
                    .iter()
                    .filter(is_output)
                    .map(|output| output.name.to_string())
                    .collect();
                let suggestion = did_you_mean(&name.to_string(), &names);
                let message = format!("no output is named `{name}`");
                let help = format!("{suggestion}the outputs: {}", list(&names));
                diagnostics.error_with_help(name, &message, &help);
            }
        }
    }
}

/// Some output is differentiable.
///
/// ```text
/// fn forward(x: ArrayView1<f32>) -> usize
/// //                                ^^^^^ forward returns no array of floats
/// ```
fn something_has_a_gradient(
    ty: &Type,
    returned: &[Returned],
    exempt: &[Ident],
    diagnostics: &mut Diagnostics,
) {
    if returned
        .iter()
        .any(|one| matches!(one.role, Role::Output { gradient: Some(_) }))
    {
        return;
    }
    if exempt.is_empty() {
        let message = "forward returns no array of floats that could have a gradient";
        let help = "return `Array2<f32>`, `Array<T, D>` or the like; an alias for one is not seen";
        diagnostics.error_with_help(ty, message, help);
    } else {
        let message = "every output is `non_differentiable`: there is nothing to differentiate";
        diagnostics.error(ty, message);
    }
}
