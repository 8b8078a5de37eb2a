//! Rules for scans: the states, the steps, and the new states that a formula returns.

use syn::{Attribute, Ident, PatType, Signature, Type};

use super::elementwise::returned_types;
use super::parameters::on_parameter;
use crate::diagnostics::{Diagnostics, list};
use crate::lists::Lists as _;
use crate::model::{Row, Scan, ScanRole as Role, Scanned};
use crate::parse::{Argument, meant_on_parameter};
use crate::show::show;
use crate::types::{bound, is_parameter, peel, row_of, same, slice_of};

/// A scan has one option.
///
/// ```text
/// #[custom_function(scan(backwards))]
/// //                     ^^^^^^^^^ `scan` has one option, `reverse`
/// ```
pub(super) fn option(argument: &Argument, diagnostics: &mut Diagnostics) -> Scanned {
    let mut is_reversed = false;
    let message = "`scan` has one option, `reverse`, with which it runs from the last step";
    let help = "write `scan` or `scan(reverse)`";
    if let Some(value) = &argument.value {
        diagnostics.error_with_help(value, message, help);
    }
    for option in argument.list.iter().flatten() {
        if option.name == "reverse" && option.value.is_none() && option.list.is_none() {
            is_reversed = true;
        } else {
            diagnostics.error_with_help(&option.name, message, help);
        }
    }
    Scanned {
        keyword: argument.name.clone(),
        is_reversed,
    }
}

/// A function is a scan or elementwise.
///
/// ```text
/// #[custom_function(elementwise, scan)]
/// //                             ^^^^ a scan is not elementwise
/// ```
pub(super) fn is_not_elementwise(scan: &Ident, diagnostics: &mut Diagnostics) {
    let message = "a scan is not elementwise: each step depends on the one before";
    diagnostics.error_with_help(scan, message, "remove one of `elementwise` and `scan`");
}

/// A scan has no options for saving, and no gradients of its own.
///
/// ```text
/// #[custom_function(scan, higher_order)]
/// //                      ^^^^^^^^^^^^ `scan` needs no `higher_order`
/// #[custom_function(scan, grad(x) = grad_output)]
/// //                      ^^^^ a scan has no gradient of its own
/// ```
pub(super) fn needs_no(name: &Ident, diagnostics: &mut Diagnostics) {
    let (message, help) = match name.to_string().as_str() {
        "grad" | "adjoint" => (
            "a scan has no gradient of its own: it follows from the formula, step by step"
                .to_owned(),
            "remove it; `hard + (soft - soft.detach())` is `hard` with the derivative of `soft`",
        ),
        "higher_order" => (
            "`scan` needs no `higher_order`; remove it".to_owned(),
            "it can be differentiated twice",
        ),
        "saves" => (
            "`scan` needs no `saves`; remove it".to_owned(),
            "it saves its inputs and the states of a few steps, and computes the rest again",
        ),
        _ => (
            format!("`scan` needs no `{name}`; remove it"),
            "an output computed by functions without a derivative, such as `floor`, has no gradient",
        ),
    };
    diagnostics.error_with_help(name, &message, help);
}

/// Returns the attribute of a parameter that says what it is in a scan.
fn marked<'a>(parameter: &'a PatType, name: &str) -> Option<&'a Attribute> {
    let is_it =
        |attr: &&Attribute| attr.path().get_ident().and_then(meant_on_parameter) == Some(name);
    parameter.attrs.iter().find(is_it)
}

/// Returns whether a parameter is marked as a state or a step.
pub(super) fn has_roles(sig: &Signature) -> bool {
    let mut parameters = sig.inputs.iter().filter_map(|argument| match argument {
        syn::FnArg::Typed(parameter) => Some(parameter),
        syn::FnArg::Receiver(_) => None,
    });
    parameters.any(|parameter| {
        marked(parameter, "state").is_some() || marked(parameter, "step").is_some()
    })
}

/// A parameter is a state or a step, and then a number, a row or a slice.
///
/// ```text
/// fn leaky<T: Real>(#[state] v: T, #[step] n: usize) -> T
/// //                                          ^^^^^ the step `n` must be `T`, a row `[T; N]` or a slice, found `usize`
/// fn leaky<T: Real>(#[state] #[step] v: T) -> T
/// //                           ^^^^ `v` is a state already
/// fn leaky<T: Real>(#[state] v: T, #[row] x: T) -> T
/// //                                 ^^^ `#[row]` is for `pairs`
/// ```
pub(super) fn role(
    parameter: &PatType,
    is_number: bool,
    number: &Ident,
    diagnostics: &mut Diagnostics,
) -> Role {
    let name = show(&parameter.pat);
    if let Some(other) = marked(parameter, "row").or_else(|| marked(parameter, "column")) {
        let written = show(other.path());
        let message = format!("`#[{written}]` is for `pairs`, but this is a scan");
        let help = "write `#[step]` for a tensor that has numbers for each step";
        diagnostics.error_with_help(other.path(), &message, help);
        return Role::Step;
    }
    if let Some(each) = marked(parameter, "each") {
        let message = "a scan has no values for each element";
        let help = format!("write `#[step] {name}: {number}`, or take the list as a value");
        diagnostics.error_with_help(each.path(), message, &help);
        diagnostics.is_doubtful = true;
    }
    let of =
        |name, diagnostics: &mut Diagnostics| on_parameter(&parameter.attrs, name, diagnostics);
    let (state, step) = (of("state", diagnostics), of("step", diagnostics));
    if let (Some(_), Some(step)) = (state, step) {
        let message = format!("`{name}` is a state already; remove one of the two attributes");
        diagnostics.error(step.path(), message);
    }
    let (role, noun) = match (state, step) {
        (Some(_), _) => (Role::State, "state"),
        (None, Some(_)) => (Role::Step, "step"),
        (None, None) => (Role::Shared, ""),
    };
    if let Some(is_mutable) = slice_of(&parameter.ty, number) {
        is_written_if_a_state(parameter, role, is_mutable, diagnostics);
    } else if !is_number && role != Role::Shared {
        let message = format!(
            "the {noun} `{name}` must be `{number}`, a row `[{number}; N]` or a slice, found `{}`",
            show(&parameter.ty)
        );
        let help = format!("write `{name}: {number}`; a value is the same in each step");
        diagnostics.error_with_help(&parameter.ty, &message, &help);
        diagnostics.is_doubtful = true;
    }
    role
}

/// A slice that is a state is written by the step, and no other is.
///
/// ```text
/// fn attention<T: Real>(#[state] memory: &[T], #[step] key: &[T], …) -> T
/// //                                     ^^^^ the state `memory` must be `&mut [T]`: a step writes the new one to it
/// fn attention<T: Real>(#[state] memory: &mut [T], #[step] key: &mut [T], …) -> T
/// //                                                            ^^^^^^^^ `key` is no state, so a step must not write to it
/// ```
fn is_written_if_a_state(
    parameter: &PatType,
    role: Role,
    is_mutable: bool,
    diagnostics: &mut Diagnostics,
) {
    let name = show(&parameter.pat);
    let ty = show(&parameter.ty);
    let (message, help) = match (role, is_mutable) {
        (Role::State, false) => {
            let written = ty.replacen('&', "&mut ", 1);
            (
                format!("the state `{name}` must be `{written}`: a step writes the new one to it"),
                format!("write `{name}: {written}`"),
            )
        }
        (Role::Step | Role::Shared, true) => {
            let read = ty.replacen("mut ", "", 1);
            (
                format!("`{name}` is no state, so a step must not write to it"),
                format!("write `{name}: {read}`, or `#[state]` before it"),
            )
        }
        _ => return,
    };
    diagnostics.error_with_help(&parameter.ty, &message, &help);
    diagnostics.is_doubtful = true;
}

/// A scan has a state and a step, and returns the new states first.
///
/// ```text
/// #[custom_function(scan)]
/// fn leaky<T: Real>(#[step] x: T) -> T
/// // ^^^^^ `leaky` has no state
/// fn leaky<T: Real>(#[state] v: T, #[state] u: T, #[step] x: T) -> T
/// //                                                               ^ `leaky` has 2 states, but returns 1 number
/// fn leaky<T: Real>(#[state] v: [T; 3], #[step] x: T) -> (T, [T; 3])
/// //                                                      ^ the first result is the new `v`, …
/// ```
pub(super) fn read(
    sig: &Signature,
    scanned: &Scanned,
    (inputs, rows, roles): (&[Ident], &[Option<Row>], Vec<Role>),
    (number, outputs): (&Ident, &mut Vec<Option<Row>>),
    diagnostics: &mut Diagnostics,
) -> Scan {
    let name = &sig.ident;
    let of = |role: Role| {
        let both = inputs.iter().zip(rows).zip(&roles);
        let found: Vec<(&Ident, bool)> = both
            .filter(|(_, its)| **its == role)
            .map(|((name, row), _)| (name, matches!(row, Some(Row::Slice))))
            .listed();
        found
    };
    let (states, steps) = (of(Role::State), of(Role::Step));
    if !diagnostics.is_doubtful {
        if states.is_empty() {
            let message = format!("`{name}` has no state");
            let help = "write `#[state]` before the number that a step passes to the next one";
            diagnostics.error_with_help(name, &message, help);
            diagnostics.is_doubtful = true;
        }
        if steps.is_empty() {
            let message = format!("`{name}` has no step");
            let help = "write `#[step]` before a number that differs from step to step; its tensor has the axis of steps";
            diagnostics.error_with_help(name, &message, help);
            diagnostics.is_doubtful = true;
        }
    }
    let is_slice = |(_, is_slice): &&(&Ident, bool)| *is_slice;
    let returned = states.iter().filter(|state| !is_slice(state));
    let returned: Vec<&Ident> = returned.map(|(name, _)| *name).listed();
    returns_the_states(sig, &returned, number, diagnostics);
    // What is written is a result too, in the order of the parameters.
    for (place, _) in states
        .iter()
        .enumerate()
        .filter(|(_, state)| is_slice(state))
    {
        // After a mistake there may be too few.
        outputs.insert(place.min(outputs.len()), Some(Row::Slice));
    }
    Scan {
        is_reversed: scanned.is_reversed,
        roles,
    }
}

/// The results begin with the new states, in their order.
fn returns_the_states(
    sig: &Signature,
    states: &[&Ident],
    number: &Ident,
    diagnostics: &mut Diagnostics,
) {
    if diagnostics.is_doubtful {
        return;
    }
    let results = returned_types(sig);
    let item = |ty: &Type| is_parameter(ty, number) || row_of(ty, number).is_some();
    if !results.iter().all(|ty| item(peel(ty))) {
        // Reported already.
        return;
    }
    let name = &sig.ident;
    if results.len() < states.len() {
        let all = list(states.iter().map(ToString::to_string));
        let help = format!("return the new {all} first, then the outputs of the step");
        if results.is_empty() {
            // Of a scan without slices, this is reported already.
            let message =
                format!("`{name}` returns nothing, but {all} is not a slice that it writes");
            diagnostics.error_with_help(name, &message, &help);
        } else {
            let found = match results.len() {
                1 => "1 result".to_owned(),
                count => format!("{count} results"),
            };
            let message = format!("`{name}` has {} states, but returns {found}", states.len());
            diagnostics.error_with_help(&sig.output, &message, &help);
        }
        diagnostics.is_doubtful = true;
        return;
    }
    for (place, (state, result)) in states.iter().zip(&results).enumerate() {
        let mut parameters = sig.inputs.iter().filter_map(|argument| match argument {
            syn::FnArg::Typed(parameter) => Some(parameter),
            syn::FnArg::Receiver(_) => None,
        });
        let parameter = parameters.find(|parameter| bound(&parameter.pat) == Some(state));
        let Some(ty) = parameter.map(|parameter| peel(&parameter.ty)) else {
            continue;
        };
        if !same(ty, peel(result)) {
            let message = format!(
                "result {} is the new `{state}`, which is `{}`, but this is `{}`",
                place + 1,
                show(ty),
                show(result)
            );
            let help = "return the new states first, in the order of the parameters, then the outputs of the step";
            diagnostics.error_with_help(result, &message, help);
            diagnostics.is_doubtful = true;
            return;
        }
    }
}

/// `#[state]` and `#[step]` are for scans.
///
/// ```text
/// #[custom_function(elementwise)]
/// fn decay<T: Real>(#[state] v: T, rate: T) -> T
/// //                  ^^^^^ `#[state]` is for scans
/// ```
pub(super) fn is_of_a_scan(attributes: &[Attribute], diagnostics: &mut Diagnostics) {
    if diagnostics.len() > 0 {
        // Another parameter has been reported, or `scan` is misspelled.
        return;
    }
    for attr in attributes {
        let Some(word) = attr.path().get_ident().and_then(meant_on_parameter) else {
            continue;
        };
        if let "state" | "step" = word {
            let message = format!("`#[{word}]` is for scans");
            let help = "write `#[custom_function(scan)]`, or remove the attribute";
            diagnostics.error_with_help(attr.path(), &message, help);
        }
    }
}
