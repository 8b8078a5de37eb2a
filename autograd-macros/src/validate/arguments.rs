//! Rules for the arguments of our attributes.

use syn::{Expr, ExprLit, Ident, Lit, Path};

use crate::diagnostics::{Diagnostics, did_you_mean, list};
use crate::parse::{Argument, Arguments};

/// What `#[custom_function(…)]` says.
#[derive(Default)]
pub(super) struct FunctionOptions {
    pub(super) name: Option<String>,
    pub(super) runtime: Option<Path>,
}

/// What `#[forward(…)]` says.
#[derive(Default)]
pub(super) struct ForwardOptions {
    pub(super) outputs: Option<Names>,
    pub(super) saves: Option<Names>,
    pub(super) non_differentiable: Vec<Ident>,
}

/// What `#[backward(…)]` says.
#[derive(Default)]
pub(super) struct BackwardOptions {
    pub(super) inputs: Vec<Ident>,
    pub(super) ignores_grad: Option<Ident>,
}

/// `outputs(values, indices)`
pub(super) struct Names {
    pub(super) keyword: Ident,
    pub(super) names: Vec<Ident>,
}

/// Reads the arguments of `#[custom_function(…)]`.
pub(super) fn custom_function(
    arguments: Arguments,
    diagnostics: &mut Diagnostics,
) -> FunctionOptions {
    let arguments = diagnostics.ok(arguments).unwrap_or_default();
    let arguments = supported(&arguments, diagnostics);
    let mut options = FunctionOptions::default();
    for argument in known(
        "custom_function",
        &["name", "crate"],
        &arguments,
        diagnostics,
    ) {
        if argument.name == "name" {
            options.name = text(argument, diagnostics);
        } else {
            options.runtime = path(argument, diagnostics);
        }
    }
    options
}

/// Reads the arguments of `#[forward(…)]`.
pub(super) fn forward(arguments: &Arguments, diagnostics: &mut Diagnostics) -> ForwardOptions {
    let arguments = borrowed(arguments, diagnostics);
    let mut options = ForwardOptions::default();
    let names = ["outputs", "saves", "non_differentiable"];
    for argument in known("forward", &names, &arguments, diagnostics) {
        let names = name_list(argument, diagnostics);
        match argument.name.to_string().as_str() {
            "outputs" => options.outputs = names,
            "saves" => options.saves = names,
            _ => options.non_differentiable = names.map(|names| names.names).unwrap_or_default(),
        }
    }
    options
}

/// Reads the arguments of `#[backward(…)]`.
pub(super) fn backward(arguments: &Arguments, diagnostics: &mut Diagnostics) -> BackwardOptions {
    let mut options = BackwardOptions::default();
    for argument in borrowed(arguments, diagnostics) {
        is_bare(argument, diagnostics);
        if argument.name == "ignores_grad" {
            options.ignores_grad = Some(argument.name.clone());
        } else {
            options.inputs.push(argument.name.clone());
        }
    }
    options
}

/// `#[jvp]` takes no arguments.
///
/// ```text
/// #[jvp(x)]
/// //    ^ `#[jvp]` takes no arguments
/// ```
pub(super) fn none(attribute: &str, arguments: &Arguments, diagnostics: &mut Diagnostics) {
    if let Some(first) = borrowed(arguments, diagnostics).first() {
        let message = format!("`#[{attribute}]` takes no arguments; write `#[{attribute}]`");
        diagnostics.error(&first.name, message);
    }
}

/// An attribute of a parameter takes no arguments and stands there once.
///
/// ```text
/// fn forward(#[tensor] #[tensor] x: Matrix<'_>) -> Array2<f32>
/// //                     ^^^^^^ `#[tensor]` stands here twice
/// ```
pub(super) fn on_parameter<'a>(
    attributes: &'a [syn::Attribute],
    name: &str,
    diagnostics: &mut Diagnostics,
) -> Option<&'a syn::Attribute> {
    let mut ours = attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident(name));
    let first = ours.next()?;
    if first.meta.require_path_only().is_err() {
        diagnostics.error(
            &first.meta,
            format!("`#[{name}]` takes no arguments; write `#[{name}]`"),
        );
    }
    if let Some(second) = ours.next() {
        diagnostics.error(
            second.path(),
            format!("`#[{name}]` stands here twice; remove one"),
        );
    }
    Some(first)
}

/// Arguments that a later version will understand are refused rather than ignored.
///
/// ```text
/// #[custom_function(gradcheck(x = [3]))]
/// //                ^^^^^^^^^ `gradcheck(…)` is not supported yet
/// ```
fn supported<'a>(arguments: &'a [Argument], diagnostics: &mut Diagnostics) -> Vec<&'a Argument> {
    const LATER: [&str; 3] = ["gradcheck", "grad", "higher_order"];
    let is_later = |argument: &&Argument| LATER.iter().any(|later| argument.name == later);
    let (later, now): (Vec<_>, Vec<_>) = arguments.iter().partition(is_later);
    for argument in later {
        let name = &argument.name;
        diagnostics.error(name, format!("`{name}` is not supported yet"));
    }
    now
}
/// Only arguments that the attribute knows, and each once.
///
/// ```text
/// #[forward(output(y))]
/// //        ^^^^^^ `#[forward]` has no argument `output`; did you mean `outputs`?
/// #[forward(saves(mean), saves(rstd))]
/// //                     ^^^^^ `saves` is given twice
/// ```
fn known<'a>(
    attribute: &str,
    names: &[&str],
    arguments: &[&'a Argument],
    diagnostics: &mut Diagnostics,
) -> Vec<&'a Argument> {
    let mut accepted: Vec<&Argument> = Vec::new();
    for argument in arguments {
        let name = argument.name.to_string();
        if !names.contains(&name.as_str()) {
            let message = format!("`#[{attribute}]` has no argument `{name}`");
            let candidates: Vec<String> = names.iter().copied().map(String::from).collect();
            let suggestion = did_you_mean(&name, &candidates);
            let help = format!("{suggestion}its arguments: {}", list(names));
            diagnostics.error_with_help(&argument.name, &message, &help);
        } else if accepted.iter().any(|earlier| earlier.name == argument.name) {
            let message = format!("`{name}` is given twice; write it once");
            diagnostics.error(&argument.name, message);
        } else {
            accepted.push(argument);
        }
    }
    accepted
}

/// A list of names is one, with something in it, and names each thing once.
///
/// ```text
/// #[forward(outputs = y)]
/// //        ^^^^^^^ `outputs` is a list of names; write `outputs(…)`
/// #[forward(outputs(y, y))]
/// //                   ^ `y` stands twice in `outputs`
/// ```
fn name_list(argument: &Argument, diagnostics: &mut Diagnostics) -> Option<Names> {
    let keyword = &argument.name;
    let (Some(list), None) = (&argument.list, &argument.value) else {
        let message = format!("`{keyword}` is a list of names; write `{keyword}(…)`");
        diagnostics.error(keyword, message);
        return None;
    };
    if list.is_empty() {
        diagnostics.error(keyword, format!("`{keyword}` names nothing; remove it"));
        return None;
    }
    let mut names: Vec<Ident> = Vec::new();
    for entry in list {
        is_bare(entry, diagnostics);
        if names.contains(&entry.name) {
            let message = format!("`{}` stands twice in `{keyword}`; remove one", entry.name);
            diagnostics.error(&entry.name, message);
        } else {
            names.push(entry.name.clone());
        }
    }
    Some(Names {
        keyword: keyword.clone(),
        names,
    })
}

/// A name stands alone.
///
/// ```text
/// #[backward(input = 1)]
/// //         ^^^^^ `input` is a name and takes no arguments
/// ```
fn is_bare(argument: &Argument, diagnostics: &mut Diagnostics) {
    if argument.list.is_some() || argument.value.is_some() {
        let name = &argument.name;
        let message = format!("`{name}` is a name here and takes no arguments; write `{name}`");
        diagnostics.error(name, message);
    }
}

/// The shown name is a text that shows something.
///
/// ```text
/// #[custom_function(name = linear)]
/// //                ^^^^ `name` is a text; write `name = "…"`
/// ```
fn text(argument: &Argument, diagnostics: &mut Diagnostics) -> Option<String> {
    if let (
        None,
        Some(Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        })),
    ) = (&argument.list, &argument.value)
        && !text.value().trim().is_empty()
    {
        return Some(text.value());
    }
    let message = "`name` is a text that graphs and errors show; write `name = \"…\"`";
    diagnostics.error(&argument.name, message);
    None
}

/// The runtime is named by a path.
///
/// ```text
/// #[custom_function(crate = "pb")]
/// //                ^^^^^ `crate` is a path; write `crate = pb`
/// ```
fn path(argument: &Argument, diagnostics: &mut Diagnostics) -> Option<Path> {
    if let (None, Some(Expr::Path(path))) = (&argument.list, &argument.value)
        && path.qself.is_none()
    {
        return Some(path.path.clone());
    }
    let message = "`crate` is the path under which this crate knows the library; \
                   write `crate = path`, without quotes";
    diagnostics.error(&argument.name, message);
    None
}

/// The arguments, or none if they could not be read.
fn borrowed<'a>(arguments: &'a Arguments, diagnostics: &mut Diagnostics) -> Vec<&'a Argument> {
    match arguments {
        Ok(arguments) => arguments.iter().collect(),
        Err(error) => {
            diagnostics.ok::<()>(Err(error.clone()));
            Vec::new()
        }
    }
}
