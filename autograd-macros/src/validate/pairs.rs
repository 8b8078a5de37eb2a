//! Rules for functions of pairs.

use syn::{Attribute, FnArg, Ident, PatType, ReturnType, Signature};

use crate::diagnostics::Diagnostics;
use crate::lower::{self, ShortArguments};
use crate::model::{Pairs, Reduce, Side};
use crate::parse::meant_on_parameter;
use crate::show::show;
use crate::types::{bound, row_of};

/// Returns what the attribute of a parameter says that it has an item for.
fn side<'a>(
    parameter: &'a PatType,
    diagnostics: &mut Diagnostics,
) -> (Side, Option<&'a Attribute>) {
    match (marked(parameter, "row"), marked(parameter, "column")) {
        (Some(row), None) => (Side::Row, Some(row)),
        (None, Some(column)) => (Side::Column, Some(column)),
        (Some(_), Some(column)) => {
            let name = show(&parameter.pat);
            let message = format!("`{name}` is for rows or for columns");
            let help = "remove one of both; a tensor that is given for both is two parameters";
            diagnostics.error_with_help(column.path(), &message, help);
            (Side::Column, Some(column))
        }
        (None, None) => (Side::All, None),
    }
}

fn marked<'a>(parameter: &'a PatType, name: &str) -> Option<&'a Attribute> {
    let is_it =
        |attr: &&Attribute| attr.path().get_ident().and_then(meant_on_parameter) == Some(name);
    parameter.attrs.iter().find(is_it)
}

/// Reads what the inputs have items for.
///
/// ```text
/// #[custom_function(pairs)]
/// fn dot<T: Real>(x: T, #[column] y: T) -> T
/// // ^^^ `dot` has no `#[row]`
/// fn dot<T: Real>(#[row] n: usize, #[column] y: T) -> T
/// //                ^^^ `n` is a value, the same for all pairs
/// ```
pub(super) fn read(
    sig: &Signature,
    (inputs, number): (&[Ident], &Ident),
    reduce: Reduce,
    arguments: &ShortArguments,
    diagnostics: &mut Diagnostics,
) -> Pairs {
    let mistakes = diagnostics.len();
    let mut sides = vec![Side::All; inputs.len()];
    for argument in &sig.inputs {
        let FnArg::Typed(parameter) = argument else {
            continue;
        };
        let (side, attribute) = side(parameter, diagnostics);
        if let Some(each) = marked(parameter, "each") {
            let message = "a list with an entry for each element is for elementwise functions";
            let help = format!("write a number of each row or column: `#[row] label: {number}`");
            diagnostics.error_with_help(each.path(), message, &help);
        }
        let name = bound(&parameter.pat);
        let input = inputs.iter().position(|input| Some(input) == name);
        match (input, attribute) {
            (Some(input), _) => sides[input] = side,
            (None, Some(attribute)) => {
                let name = show(&parameter.pat);
                let message = format!("`{name}` is a value, the same for all pairs");
                let help = format!(
                    "remove the attribute, or write `{name}: {number}` for a number of each row or column"
                );
                diagnostics.error_with_help(attribute.path(), &message, &help);
            }
            (None, None) => {}
        }
    }
    for (side, word) in [(Side::Row, "row"), (Side::Column, "column")] {
        if diagnostics.len() == mistakes && !sides.contains(&side) {
            let message = format!("`{}` has no `#[{word}]`", sig.ident);
            let help = format!(
                "a function of pairs is computed for each row with each column: write `#[{word}]` before a parameter"
            );
            diagnostics.error_with_help(&sig.ident, &message, &help);
        }
    }
    is_one_number(sig, number, reduce, diagnostics);
    for given in &arguments.grads {
        let message = format!("the derivatives of `{}` are generated", sig.ident);
        let help = "remove this; a function whose gradient you know is one on arrays: `fn name(x: ArrayView2<f64>, …)`";
        diagnostics.error_with_help(&given.name, &message, help);
    }
    Pairs { reduce, sides }
}

/// What is not a sum is of one number.
///
/// ```text
/// #[custom_function(pairs(reduce = max))]
/// fn nearest<T: Real>(#[row] x: T, #[column] y: T) -> (T, T)
/// //                                                  ^^^^^^ only sums may be several
/// ```
fn is_one_number(sig: &Signature, number: &Ident, reduce: Reduce, diagnostics: &mut Diagnostics) {
    let returned = lower::elementwise::returned(&sig.output);
    let is_row = returned.iter().any(|ty| row_of(ty, number).is_some());
    if reduce != Reduce::Sum && (returned.len() > 1 || is_row) {
        let message = "only sums may be several numbers";
        let help = format!("return one `{number}`, and write a second function for another");
        if let ReturnType::Type(_, ty) = &sig.output {
            diagnostics.error_with_help(ty, message, &help);
        }
    }
}
