//! Rules for the arguments of `#[module(…)]`.

use syn::{Expr, ExprLit, Ident, Lit, LitStr, Path};

use crate::diagnostics::Diagnostics;
use crate::parse::{Argument, Helper};
use crate::validate::arguments::{is_bare, known, path_to, read, runtime};

const OF_TYPE: [&str; 3] = ["name", "crate", "extra_repr"];
const OF_FIELD: [&str; 3] = ["skip", "show", "rename"];

/// The arguments of the attributes of the type.
#[derive(Default)]
pub(super) struct TypeOptions {
    pub(super) name: Option<String>,
    pub(super) runtime: Option<Path>,
    pub(super) extra_repr: Option<Path>,
}

/// The arguments of the attributes of a field.
#[derive(Default)]
pub(super) struct FieldOptions {
    pub(super) skip: Option<Ident>,
    pub(super) show: Option<Ident>,
    pub(super) rename: Option<LitStr>,
}

/// Reads the `#[module(…)]` of the type.
pub(super) fn of_type(helpers: &[Helper], diagnostics: &mut Diagnostics) -> TypeOptions {
    let mut options = TypeOptions::default();
    let given = given(helpers, diagnostics);
    for argument in in_place(&given, &OF_TYPE, &OF_FIELD, "a field", diagnostics) {
        match argument.name.to_string().as_str() {
            "name" => options.name = name(argument, diagnostics),
            "crate" => options.runtime = runtime(argument, diagnostics),
            _ => options.extra_repr = function(argument, diagnostics),
        }
    }
    options
}

/// Reads the `#[module(…)]` of a field.
pub(super) fn of_field(helpers: &[Helper], diagnostics: &mut Diagnostics) -> FieldOptions {
    let mut options = FieldOptions::default();
    let given = given(helpers, diagnostics);
    for argument in in_place(&given, &OF_FIELD, &OF_TYPE, "the type", diagnostics) {
        let name = argument.name.clone();
        match name.to_string().as_str() {
            "skip" => {
                is_bare(argument, diagnostics);
                options.skip = Some(name);
            }
            "show" => {
                is_bare(argument, diagnostics);
                options.show = Some(name);
            }
            _ => options.rename = path_segment(argument, diagnostics),
        }
    }
    options
}

/// The attribute must be on the type or on a field.
///
/// ```text
/// enum Layer { #[module(skip)] Linear(Linear) }
/// //             ^^^^^^ `#[module(…)]` must be applied to a type or a field, found a variant
/// ```
pub(super) fn is_misplaced(helper: &Helper, diagnostics: &mut Diagnostics) {
    let message = "`#[module(…)]` must be applied to a type or a field, found a variant";
    let help = "mark the fields in its parentheses or braces: `Variant(#[module(skip)] f32)`";
    diagnostics.error_with_help(&helper.name, message, help);
}

/// An attribute must have arguments.
///
/// ```text
/// #[module]
/// //^^^^^^ `#[module]` has no arguments
/// in_features: usize
/// ```
fn given(helpers: &[Helper], diagnostics: &mut Diagnostics) -> Vec<Argument> {
    let mut all = Vec::new();
    for helper in helpers {
        if matches!(&helper.arguments, Ok(arguments) if arguments.is_empty()) {
            let message =
                "`#[module]` has no arguments; write `#[module(skip)]` on plain data, or remove it";
            diagnostics.error(&helper.name, message);
        }
        all.extend(read(helper.arguments.clone(), diagnostics));
    }
    all
}

/// Arguments of a type and those of a field are different ones.
///
/// ```text
/// #[derive(Module)]
/// #[module(skip)]
/// //       ^^^^ `skip` belongs to a field
/// struct Linear { … }
/// ```
fn in_place<'a>(
    given: &'a [Argument],
    here: &[&str],
    elsewhere: &[&str],
    place: &str,
    diagnostics: &mut Diagnostics,
) -> Vec<&'a Argument> {
    let is_elsewhere = |argument: &&Argument| elsewhere.iter().any(|name| argument.name == name);
    let (strays, here_given): (Vec<_>, Vec<_>) = given.iter().partition(is_elsewhere);
    for stray in strays {
        let name = &stray.name;
        let message = format!("`{name}` belongs to {place}; move `#[module({name})]` there");
        diagnostics.error(name, message);
    }
    known("module", here, here_given, diagnostics)
}

/// The printed name must be a string that is not blank.
///
/// ```text
/// #[module(name = Linear)]
/// //       ^^^^ `name` must be a string
/// ```
fn name(argument: &Argument, diagnostics: &mut Diagnostics) -> Option<String> {
    if let Some(text) = text(argument)
        && !text.value().trim().is_empty()
    {
        return Some(text.value());
    }
    let message = "`name` must be a string, which is printed for the type; write `name = \"…\"`";
    diagnostics.error(&argument.name, message);
    None
}

/// A name in paths must not be empty, or have the dots that separate names.
///
/// ```text
/// #[module(rename = "layer.weight")]
/// //                ^^^^^^^^^^^^^^ a name in paths cannot contain dots
/// ```
fn path_segment(argument: &Argument, diagnostics: &mut Diagnostics) -> Option<LitStr> {
    let Some(text) = text(argument) else {
        let message = "`rename` must be a string, the name of this field in paths; \
                       write `rename = \"…\"`";
        diagnostics.error(&argument.name, message);
        return None;
    };
    if text.value().trim().is_empty() {
        diagnostics.error(text, "a name in paths cannot be empty");
        return None;
    }
    if text.value().contains('.') {
        let message = "a name in paths cannot contain dots, which separate the names";
        diagnostics.error(text, message);
        return None;
    }
    Some(text.clone())
}

/// The function for what is printed must be given by its path.
///
/// ```text
/// #[module(extra_repr = "sizes")]
/// //       ^^^^^^^^^^ `extra_repr` must be the path of a function
/// ```
fn function(argument: &Argument, diagnostics: &mut Diagnostics) -> Option<Path> {
    path_to(argument).or_else(|| {
        let message = "`extra_repr` must be the path of a function `fn(&Self) -> String`; \
                       write `extra_repr = path`, without quotes";
        diagnostics.error(&argument.name, message);
        None
    })
}

fn text(argument: &Argument) -> Option<&LitStr> {
    match (&argument.list, &argument.value) {
        (
            None,
            Some(Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            })),
        ) => Some(text),
        _ => None,
    }
}
