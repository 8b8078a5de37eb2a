//! Rules for what forward returns.

use syn::ext::IdentExt as _;
use syn::{Ident, ReturnType, Signature, Type, parse_quote};

use super::lookalikes;
use super::options::ForwardOptions;
use super::parameters::is_opaque;
use crate::diagnostics::{Diagnostics, count, did_you_mean, list};
use crate::lists::Lists as _;
use crate::model::{Elementwise, Input, Returned, Role};
use crate::show::show;
use crate::types::{
    Floats, Form, Kind, TensorType, error_of, inner_types, is_float, option_of, peel, result_of,
    vec_of,
};

/// The result of reading forward's return type.
pub(super) struct ReadOutputs {
    pub(super) returned: Vec<Returned>,
    pub(super) tuple: bool,
    pub(super) fallible: Option<Type>,
    /// Whether each thing certainly has the name that it was meant to have.
    pub(super) is_certain: bool,
}

/// Reads what forward returns; `None` if it is not clear what `apply` would return.
pub(super) fn read(
    sig: &Signature,
    elementwise: Option<&Elementwise>,
    (inputs, are_right): (&[Input], bool),
    options: &ForwardOptions,
    floats: &Floats,
    diagnostics: &mut Diagnostics,
) -> Option<ReadOutputs> {
    let writes = inputs.iter().any(Input::is_in_place) || diagnostics.is_doubtful;
    let Some(ty) = returns_something(sig, writes, diagnostics) else {
        return like_an_input(inputs);
    };
    let ok = result_of(&ty);
    let (types, tuple) = match peel(ok.unwrap_or(&ty)) {
        Type::Tuple(tuple) => (tuple.elems.iter().listed(), true),
        single => (vec![single], false),
    };
    let mistakes = diagnostics.len();
    if !lookalikes::are_readable(types.clone(), floats, diagnostics) {
        return None;
    }
    let tensors = types.iter().map(|ty| owned_tensor(ty, floats, diagnostics));
    let tensors = tensors.listed();
    // Where a type is not what it should be, so many things were not meant.
    let may_count = diagnostics.len() == mistakes;
    let of = (inputs, elementwise);
    let names = counted_names(&types, of, may_count, options, diagnostics);
    let returns_written = types
        .iter()
        .any(|ty| matches!(floats.returned(ty), Some((found, _)) if found.form == Form::ViewMut));
    let is_doubtful = options.are_doubtful || diagnostics.is_doubtful;
    let is_certain = diagnostics.len() == mistakes && !returns_written && !is_doubtful;
    let saves = options.saves.as_ref().map_or(0, |saves| saves.names.len());
    let outputs = types.len().saturating_sub(saves).max(min_outputs(writes));
    let mut returned = Vec::new();
    for (index, (ty, tensor)) in types.iter().copied().zip(tensors).enumerate() {
        let is_output = index < outputs;
        let (tensor, kind) = tensor.unzip();
        let name = names
            .get(index)
            .cloned()
            .unwrap_or_else(|| default_name(index, outputs));
        let role = if is_output {
            Role::Output { gradient: None }
        } else {
            Role::Intermediate
        };
        let named = options.outputs.is_some() || role == Role::Intermediate;
        returned.push(Returned {
            name,
            named,
            ty: ty.clone(),
            shown: show(ty),
            tensor,
            kind: kind.unwrap_or(Kind::Single),
            role,
            named_after: None,
        });
    }
    returned.extend(written(inputs, outputs));
    let is_flawed = diagnostics.len() > mistakes;
    let is_certain = is_certain && !is_flawed;
    number_gradients(&mut returned, inputs, &options.non_differentiable);
    name_gradients(&mut returned, inputs);
    if is_certain {
        exemptions_name_outputs(&returned, inputs, &options.non_differentiable, diagnostics);
    }
    // An input that was meant to be exempt has no gradient.
    let is_certain = is_certain && !exempts_an_input(inputs, &options.non_differentiable);
    // What is wrong with the inputs is often wrong here too.
    if !is_flawed && !writes && are_right {
        something_has_a_gradient(&ty, &returned, &options.non_differentiable, diagnostics);
    }
    // An empty body would not determine what `apply` returns.
    if is_opaque(&ty) {
        return None;
    }
    Some(ReadOutputs {
        returned,
        tuple,
        fallible: ok.is_some().then(|| ty.clone()),
        is_certain,
    })
}

/// Returns one output like the first input, in place of a type that is not written yet: callers then have no errors.
fn like_an_input(inputs: &[Input]) -> Option<ReadOutputs> {
    let (input, tensor) = inputs
        .iter()
        .find_map(|input| Some((input, input.tensor.as_ref()?)))?;
    Some(ReadOutputs {
        returned: vec![Returned {
            name: default_name(0, 1),
            named: false,
            ty: input.ty.clone(),
            shown: input.shown.clone(),
            tensor: Some(TensorType {
                form: Form::Owned,
                lifetime: None,
                content: tensor.ty.content.clone(),
            }),
            kind: Kind::Single,
            role: Role::Output { gradient: Some(0) },
            named_after: None,
        }],
        tuple: false,
        fallible: None,
        is_certain: false,
    })
}

/// Forward must return something, or write to an input.
///
/// ```text
/// fn forward(x: ArrayView1<f32>) {}
/// // ^^^^^^^ `forward` returns nothing
/// ```
fn returns_something(sig: &Signature, writes: bool, diagnostics: &mut Diagnostics) -> Option<Type> {
    let is_unit = |ty: &Type| matches!(peel(ty), Type::Tuple(tuple) if tuple.elems.is_empty());
    match &sig.output {
        ReturnType::Type(_, ty) if writes || !is_unit(result_of(ty).unwrap_or(ty)) => {
            Some((**ty).clone())
        }
        ReturnType::Default if writes => Some(parse_quote!(())),
        _ => {
            let message = format!("`{}` returns nothing", sig.ident);
            let help = "return an array, or a tuple of arrays: `-> Array2<f32>`; only a function that takes \
                        `x: ArrayViewMut2<f32>` may return nothing";
            diagnostics.error_with_help(&sig.ident, &message, help);
            None
        }
    }
}

/// `outputs(…)` and `saves(…)` must name as many values as forward returns.
///
/// ```text
/// #[forward(outputs(y), saves(mean, rstd))]
/// //                    ^^^^^ 3 values are named, `y`, `mean`, `rstd`, but 2 values are returned by forward
/// fn forward(x: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>)
/// #[forward(outputs(y))]
/// //        ^^^^^^^ `y` names nothing: what forward writes to is an output already
/// fn forward(x: ArrayViewMut1<f32>)
/// #[custom_function(scan, outputs(y))]
/// //                      ^^^^^^^ 1 value is named, `y`, but the scan has 2 results: the state `v` is one
/// fn f<T: Real>(#[state] v: &mut [T], #[step] x: T) -> T
/// ```
fn counted_names(
    types: &[&Type],
    (inputs, elementwise): (&[Input], Option<&Elementwise>),
    may_count: bool,
    options: &ForwardOptions,
    diagnostics: &mut Diagnostics,
) -> Vec<Ident> {
    let writes = inputs.iter().any(Input::is_in_place) || diagnostics.is_doubtful;
    let saves = options
        .saves
        .as_ref()
        .map_or(&[][..], |saves| &saves.names[..]);
    let returned = types.len();
    let unnamed = returned
        .saturating_sub(saves.len())
        .max(min_outputs(writes));
    let outputs: Vec<Ident> = match &options.outputs {
        Some(outputs) => outputs.names.clone(),
        None => (0..unnamed)
            .map(|index| default_name(index, unnamed))
            .listed(),
    };
    let named = outputs.len() + saves.len();
    let keyword = options
        .saves
        .as_ref()
        .or(options.outputs.as_ref())
        .map(|names| &names.keyword);
    let names: Vec<Ident> = outputs.into_iter().chain(saves.iter().cloned()).listed();
    let is_certain = may_count && !options.are_doubtful && !diagnostics.is_doubtful;
    if let Some(keyword) = keyword.filter(|_| named != returned && is_certain) {
        let listed = list(names.iter().map(Ident::to_string));
        let named = format!("{} named, {listed}", count(named, "value"));
        let (message, help) = match elementwise {
            _ if types.is_empty() && saves.is_empty() => {
                let written = written(inputs, 0);
                let asked = written.iter().map(|one| one.name.to_string());
                (
                    format!("{listed} names nothing: what forward writes to is an output already"),
                    format!(
                        "remove `{keyword}(…)`; backward functions ask for {}",
                        list(asked)
                    ),
                )
            }
            Some(formula) => of_a_formula(formula, &named, returned),
            None => (
                format!(
                    "{named}, but {} returned by forward",
                    count(returned, "value")
                ),
                "forward returns the outputs first and then what is saved, all in one tuple"
                    .to_owned(),
            ),
        };
        diagnostics.error_with_help(keyword, &message, &help);
    }
    names
}

/// Returns what is wrong with the names of the results of a formula, and what to write.
fn of_a_formula(formula: &Elementwise, named: &str, results: usize) -> (String, String) {
    let states = formula.written_states();
    let written: Vec<&Ident> = states.listed();
    if written.is_empty() {
        let first = match formula.scan {
            Some(_) => ", the new states first",
            None => "",
        };
        return (
            format!("{named}, but {} returned", count(results, "value")),
            format!("name each value that the formula returns{first}"),
        );
    }
    let nouns = if written.len() == 1 {
        ("state", "is one")
    } else {
        ("states", "are among them")
    };
    let all = list(written.iter().map(ToString::to_string));
    let names = written.iter().map(|name| format!("last_{}", name.unraw()));
    (
        format!(
            "{named}, but the scan has {results} results: the {} {all} {}",
            nouns.0, nouns.1
        ),
        format!(
            "name the last states first, {}, then the outputs of each step",
            list(names)
        ),
    )
}

/// Returns the smallest number of outputs that forward must return.
fn min_outputs(writes: bool) -> usize {
    usize::from(!writes)
}

/// Returns the inputs that forward writes to, as outputs: one that is alone is `output`, beside others that of `x`
/// is `output_x`.
fn written(inputs: &[Input], returned: usize) -> Vec<Returned> {
    let written = inputs.iter().enumerate();
    let written = written.filter(|(_, input)| input.is_in_place()).listed();
    let is_alone = returned == 0 && written.len() == 1;
    let output = |(index, input): (usize, &Input)| {
        let tensor = input.tensor.as_ref().map(|tensor| TensorType {
            form: Form::Owned,
            ..tensor.ty.clone()
        });
        let name = if is_alone {
            default_name(0, 1)
        } else {
            let name = format!("output_{}", input.name.unraw());
            Ident::new(&name, proc_macro2::Span::mixed_site())
        };
        Returned {
            name,
            named: false,
            ty: input.ty.clone(),
            shown: input.shown.clone(),
            tensor,
            kind: Kind::Single,
            role: Role::InPlace {
                input: index,
                gradient: None,
            },
            named_after: None,
        }
    };
    written.into_iter().map(output).listed()
}

/// Names the gradient of a tensor that is written to: `grad_output` if there is no other, else `grad_x`.
fn name_gradients(returned: &mut [Returned], inputs: &[Input]) {
    let is_alone = returned.iter().filter(|one| one.has_gradient()).count() == 1;
    for one in returned {
        if let Role::InPlace { input, .. } = one.role {
            let name = if is_alone {
                default_name(0, 1)
            } else {
                inputs[input].name.clone()
            };
            one.named_after = Some(name);
        }
    }
}

/// Returns `output` for a single output, `output_0`, `output_1`, … for several.
fn default_name(index: usize, outputs: usize) -> Ident {
    let span = proc_macro2::Span::mixed_site();
    if outputs == 1 && index == 0 {
        Ident::new("output", span)
    } else {
        Ident::new(&format!("output_{index}"), span)
    }
}

/// Outputs must be owned arrays or tensors, one by one, each in an `Option` if it may be missing, or in a `Vec`.
///
/// ```text
/// fn forward(x: ArrayView1<f32>) -> [Array1<f32>; 2]
/// //                                ^^^^^^^^^^^^^^^^ an array inside `[Array1<f32>; 2]` would have no gradient
/// ```
fn owned_tensor(
    ty: &Type,
    floats: &Floats,
    diagnostics: &mut Diagnostics,
) -> Option<(TensorType, Kind)> {
    match floats.returned(ty) {
        Some((tensor, kind)) if matches!(tensor.form, Form::Owned | Form::Tensor) => {
            Some((tensor, kind))
        }
        Some((tensor, kind)) if tensor.form == Form::ViewMut => {
            let message = format!("an output must be owned, but `{}` is borrowed", show(ty));
            let help = "what forward writes to is an output already: do not return it";
            diagnostics.error_with_help(ty, &message, help);
            Some((tensor, kind))
        }
        Some((tensor, kind)) => {
            let message = format!("an output must be owned, but `{}` is borrowed", show(ty));
            let form = if tensor.form.is_tensor() {
                Form::Tensor
            } else {
                Form::Owned
            };
            let owned = super::agreement::spell(form, &tensor.content);
            diagnostics.error_with_help(ty, &message, &format!("return `{owned}`"));
            Some((tensor, kind))
        }
        None => {
            if let Some(other) = floats.other_tensor(ty) {
                let message = format!("an output must be owned, but `{other}` may be shared");
                diagnostics.error_with_help(ty, &message, "return an array, as `Array1<f64>`");
            } else if let (Some(_), Some(error)) = (result_of(ty), error_of(ty)) {
                let message = "one `Result` is returned, around all outputs";
                let help = format!("write `Result<(…), {}>`", show(error));
                diagnostics.once(ty, message, &help);
            } else if floats.hidden_tensor(ty, |_| true).is_some() {
                let message = format!("an array inside `{}` would have no gradient", show(ty));
                let mut help =
                    "return arrays one by one, in a flat tuple, or a `Vec` of arrays".to_owned();
                let known = vec_of(ty).or_else(|| option_of(ty)).is_some();
                if let Some(Type::Tuple(tuple)) = option_of(ty).map(peel) {
                    let each = tuple.elems.iter().map(|ty| format!("Option<{}>", show(ty)));
                    help = format!("return `({})`", each.listed().join(", "));
                } else if let (false, [inner]) = (known, &inner_types(ty)[..]) {
                    let inner = show(inner);
                    help = format!(
                        "{help}; if it is an alias of `Result`, write `Result<{inner}, …>`"
                    );
                }
                diagnostics.error_with_help(ty, &message, &help);
            }
            None
        }
    }
}

fn number_gradients(returned: &mut [Returned], inputs: &[Input], exempt: &[Ident]) {
    let mut gradients = 0;
    for returned in returned.iter_mut() {
        let (place, is_exempt) = match &mut returned.role {
            Role::Output { gradient } => {
                let is_exempt = exempt.contains(&returned.name) || returned.tensor.is_none();
                (gradient, is_exempt)
            }
            Role::InPlace { input, gradient } => {
                let tensor = inputs[*input].tensor.as_ref();
                (gradient, tensor.is_none_or(|tensor| tensor.edge.is_none()))
            }
            Role::Intermediate | Role::Unknown { .. } => continue,
        };
        if !is_exempt {
            *place = Some(gradients);
            gradients += 1;
        }
    }
}

/// `non_differentiable(…)` must exempt outputs that would have a gradient.
///
/// ```text
/// #[forward(outputs(y, mask), non_differentiable(maks))]
/// //                                             ^^^^ no output is named `maks`
/// #[forward(non_differentiable(mask))]
/// //                           ^^^^ `mask` is an input; exempt it there
/// fn forward(x: ArrayView1<f32>, mask: ArrayView1<f32>) -> Array1<f32>
/// ```
fn exemptions_name_outputs(
    returned: &[Returned],
    inputs: &[Input],
    exempt: &[Ident],
    diagnostics: &mut Diagnostics,
) {
    let is_output = |returned: &&Returned| matches!(returned.role, Role::Output { .. });
    for name in exempt {
        let written = returned.iter().filter_map(|one| match one.role {
            Role::InPlace { input, .. } if one.name == *name => Some(&inputs[input]),
            _ => None,
        });
        let named = inputs.iter().filter(|input| input.name == *name);
        if let Some(input) = written.chain(named).next() {
            let input = &input.name;
            let message = format!("`{input}` is an input; exempt it there");
            let help = format!("write `#[non_differentiable] {input}: …`");
            diagnostics.error_with_help(name, &message, &help);
            continue;
        }
        match returned
            .iter()
            .filter(is_output)
            .find(|output| output.name == *name)
        {
            Some(output) if output.tensor.is_none() => {
                let message = format!(
                    "`{name}` is not an array of floats and has no gradient anyway; remove it"
                );
                diagnostics.error(name, message);
            }
            Some(_) => {}
            None => {
                let names: Vec<String> = returned
                    .iter()
                    .filter(is_output)
                    .map(|output| output.name.to_string())
                    .listed();
                let suggestion = did_you_mean(&name.to_string(), &names);
                let message = format!("no output is named `{name}`");
                let help = format!("{suggestion}the outputs: {}", list(&names));
                diagnostics.error_with_help(name, &message, &help);
            }
        }
    }
}

/// Returns what to write for a number that is to have a gradient.
pub(super) fn as_output(number: &str) -> String {
    format!("return `Array0<{number}>`: `arr0(…)` of the number")
}

fn exempts_an_input(inputs: &[Input], exempt: &[Ident]) -> bool {
    exempt
        .iter()
        .any(|name| inputs.iter().any(|input| input.name == *name))
}

/// Some output must be differentiable.
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
    let is_saved = |one: &Returned| one.role == Role::Intermediate && one.tensor.is_some();
    let is_output = |one: &&Returned| one.role != Role::Intermediate;
    let mut outputs = returned.iter().filter(is_output).map(|one| &one.ty);
    let number = outputs.find(|ty| is_float(ty));
    let numbers = vec_of(ty).filter(|ty| is_float(ty));
    let single = returned
        .first()
        .and_then(|one| lookalikes::discrete_element(&one.ty));
    if returned.iter().any(is_saved) {
        let message = "forward returns no array of floats before what is saved";
        let swapped = "outputs come first, then what `saves(…)` names: `(Array1<f64>, f64)`";
        let help = match number {
            Some(number) => format!("{swapped}; or {}", as_output(&show(number))),
            None => swapped.to_owned(),
        };
        diagnostics.error_with_help(ty, message, &help);
    } else if let Some(ty) = number {
        let number = show(ty);
        let message = format!("forward returns `{number}`, which can have no gradient");
        diagnostics.error_with_help(ty, &message, &as_output(&number));
    } else if let Some(number) = numbers {
        let message = "forward returns a `Vec`, which can have no gradient";
        let help = format!(
            "return `Array1<{}>`: `Array1::from(…)` of the `Vec`",
            show(number)
        );
        diagnostics.error_with_help(ty, message, &help);
    } else if let Some(element) = single {
        let message = format!("elements of type `{}` have no gradients", show(element));
        diagnostics.once(
            ty,
            &message,
            "write a tensor with elements of `f32` or `f64`",
        );
    } else if exempt.is_empty() {
        let message = "forward returns no array of floats that could have a gradient";
        let help = "return an array such as `Array2<f32>` or `Array<T, D>`; an alias of one is not recognized";
        diagnostics.error_with_help(ty, message, help);
    } else {
        let message = "every output is `non_differentiable`: there is nothing to differentiate";
        diagnostics.error(ty, message);
    }
}
