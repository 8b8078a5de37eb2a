//! Rules for the arguments of our attributes.

use syn::{Expr, ExprLit, Ident, Lit, Path};

use super::options::{
    BackwardOptions, Form, ForwardOptions, FunctionOptions, Names, ResidualOptions,
    options_are_given_once,
};
use super::{elementwise, scan};
use crate::diagnostics::{Diagnostics, did_you_mean, list};
use crate::lists::Lists as _;
use crate::lower::ShortArguments;
use crate::model::Reduce;
use crate::parse::{Argument, Arguments, Attributes, Part, is_argument, is_of_a_block};

/// Reads the arguments of `#[custom_function(…)]`, on a block or on a free function.
pub(super) fn custom_function(
    attributes: Attributes,
    in_block: bool,
    diagnostics: &mut Diagnostics,
) -> FunctionOptions {
    const COMMON: [&str; 5] = ["name", "crate", "gradcheck", "batch", "shapes"];
    const SHORT: [&str; 9] = [
        "elementwise",
        "pairs",
        "scan",
        "grad",
        "adjoint",
        "higher_order",
        "outputs",
        "saves",
        "non_differentiable",
    ];
    let mistakes = diagnostics.len();
    is_given_once(&attributes.repeated, diagnostics);
    let arguments = read(attributes.arguments, diagnostics);
    let is_short = |argument: &Argument| SHORT.iter().any(|short| argument.name == short);
    let (short, common): (Vec<_>, Vec<_>) = arguments.into_iter().partition(is_short);
    let is_check = |argument: &Argument| argument.name == "gradcheck";
    let (checks, common): (Vec<_>, Vec<_>) = common.into_iter().partition(is_check);
    let names = if in_block {
        &COMMON[..]
    } else {
        &[&COMMON[..], &SHORT[..]].concat()
    };
    let mut options = FunctionOptions {
        gradchecks: checks,
        ..FunctionOptions::default()
    };
    for argument in known("custom_function", names, &common, diagnostics) {
        match argument.name.to_string().as_str() {
            "name" => options.name = text(argument, diagnostics),
            "batch" => options.batch = name_list(argument, diagnostics),
            "shapes" => options.shapes = Some(argument.clone()),
            _ => options.runtime = runtime(argument, diagnostics),
        }
    }
    if in_block {
        let is_of_forward =
            |argument: &Argument| Part::meant(&argument.name) == Some(Part::OfForward);
        let (of_forward, others): (Vec<_>, Vec<_>) = short.into_iter().partition(is_of_forward);
        for argument in &others {
            belongs_to_a_function(&argument.name, diagnostics);
        }
        belong_to_forward(&of_forward, diagnostics);
    } else {
        (options.short, options.form) = short_form(short, diagnostics);
        options.short.complete = diagnostics.len() == mistakes;
    }
    options
}

/// All arguments are in one attribute.
///
/// ```text
/// #[custom_function(grad(x) = …)]
/// #[custom_function(gradcheck(x = [3]))]
/// //^^^^^^^^^^^^^^^ this item has a `#[custom_function]` already
/// #[custom_function(grad(x) = …)]
/// #[gradcheck(x = [3])]
/// //^^^^^^^^^ `gradcheck` is an argument of `#[custom_function]`
/// ```
fn is_given_once(repeated: &[Path], diagnostics: &mut Diagnostics) {
    for other in repeated {
        if let Some(name) = other.get_ident().filter(|name| is_of_a_block(name)) {
            let message = format!("`#[{name}]` is for functions in an `impl` block");
            let help =
                "in the short form, gradients are arguments: `#[custom_function(grad(x) = …)]`";
            diagnostics.error_with_help(name, &message, help);
            continue;
        }
        if let Some(name) = other.get_ident().filter(|name| is_argument(name)) {
            let message = format!("`{name}` is an argument of `#[custom_function]`");
            let help = match name.to_string().as_str() {
                "grad" => "write `#[custom_function(grad(x) = …)]`".to_owned(),
                "elementwise" | "pairs" | "scan" | "higher_order" => {
                    format!("write `#[custom_function({name})]`")
                }
                _ => format!("write `#[custom_function({name}(…))]`"),
            };
            diagnostics.error_with_help(name, &message, &help);
            continue;
        }
        let message = "this item has a `#[custom_function]` already";
        let help = "write all arguments in one: `#[custom_function(grad(x) = …, gradcheck(…))]`";
        diagnostics.error_with_help(other, message, help);
    }
}

fn short_form(arguments: Vec<Argument>, diagnostics: &mut Diagnostics) -> (ShortArguments, Form) {
    let (mut grads, others): (Vec<_>, Vec<_>) = arguments
        .into_iter()
        .partition(|argument| argument.name == "grad" || argument.name == "adjoint");
    if others.iter().any(|argument| argument.name == "scan") {
        for argument in grads.drain(..) {
            scan::needs_no(&argument.name, diagnostics);
        }
    }
    for argument in &grads {
        is_a_gradient(argument, diagnostics);
    }
    let mut short = ShortArguments {
        grads,
        ..ShortArguments::default()
    };
    let names = [
        "elementwise",
        "pairs",
        "scan",
        "higher_order",
        "outputs",
        "saves",
        "non_differentiable",
    ];
    let accepted = known("custom_function", &names, &others, diagnostics);
    let find = |name: &str| accepted.iter().copied().find(|one| one.name == name);
    let (elementwise, pairs) = (find("elementwise"), find("pairs"));
    let order = elementwise.map(|argument| elementwise::order(argument, diagnostics));
    let scan = find("scan");
    let scanned = scan.map(|argument| scan::option(argument, diagnostics));
    if let (Some(scanned), Some(_)) = (&scanned, order) {
        scan::is_not_elementwise(&scanned.keyword, diagnostics);
    }
    let reduce = pairs.map(|argument| self::pairs(argument, diagnostics));
    if let (Some(other), Some(_)) = (elementwise.or(scan), pairs) {
        let message = "a function of pairs is no elementwise function, and no scan";
        diagnostics.error_with_help(&other.name, message, "remove one of both");
    }
    for argument in accepted {
        let is_form = ["elementwise", "scan", "pairs"]
            .iter()
            .any(|form| argument.name == form);
        if is_form {
        } else if scanned.is_some() && argument.name != "outputs" {
            scan::needs_no(&argument.name, diagnostics);
        } else if let Some(formula) = pairs.or(elementwise)
            && argument.name != "outputs"
        {
            elementwise::needs_no(&argument.name, &formula.name, diagnostics);
        } else if argument.name == "higher_order" {
            is_bare(argument, diagnostics);
            short.higher_order = true;
        } else {
            short.forward.push(argument.clone());
        }
    }
    let form = Form {
        elementwise: order,
        scan: scanned.filter(|_| pairs.is_none()),
        pairs: reduce,
    };
    (short, form)
}

/// The words for `reduce = …`.
const REDUCTIONS: [(&str, Reduce); 4] = [
    ("sum", Reduce::Sum),
    ("max", Reduce::Max),
    ("min", Reduce::Min),
    ("log_sum_exp", Reduce::LogSumExp),
];

/// How columns are reduced must be one of four words.
///
/// ```text
/// #[custom_function(pairs(reduce = mean))]
/// //                               ^^^^ `reduce` is `sum`, `max`, `min` or `log_sum_exp`
/// ```
fn pairs(argument: &Argument, diagnostics: &mut Diagnostics) -> (Reduce, usize) {
    let help = "write `pairs`, or `pairs(reduce = max)`";
    if let Some(value) = &argument.value {
        diagnostics.error_with_help(value, "`pairs` has no value", help);
    }
    let mut options = (Reduce::Sum, elementwise::DEFAULT_ORDER);
    let (words, list): (Vec<&Argument>, Vec<&Argument>) = argument
        .list
        .iter()
        .flatten()
        .partition(|option| option.value.is_none() && reduction_of(&option.name).is_some());
    for word in words {
        let message = format!(
            "`{0}` is a reduction; write `pairs(reduce = {0})`",
            word.name
        );
        diagnostics.error(&word.name, message);
    }
    let known = known(
        "custom_function(pairs)",
        &["reduce", "order"],
        list,
        diagnostics,
    );
    for option in known {
        if option.name == "reduce" {
            options.0 = reduction(option, diagnostics);
        } else {
            options.1 = elementwise::order_given(option, "pairs", diagnostics);
        }
    }
    options
}

fn reduction_of(name: &Ident) -> Option<Reduce> {
    let known = REDUCTIONS.iter().find(|(word, _)| name == word);
    known.map(|(_, reduce)| *reduce)
}

fn reduction(option: &Argument, diagnostics: &mut Diagnostics) -> Reduce {
    let message = "`reduce` is `sum`, `max`, `min` or `log_sum_exp`";
    let Some(value) = &option.value else {
        diagnostics.error_with_help(&option.name, message, "write `reduce = max`");
        return Reduce::Sum;
    };
    let given = match value {
        Expr::Path(path) => path.path.get_ident(),
        _ => None,
    };
    if let Some(reduce) = given.and_then(reduction_of) {
        return reduce;
    }
    let words: Vec<String> = REDUCTIONS
        .iter()
        .map(|(word, _)| (*word).to_owned())
        .listed();
    let suggestion = match given.map(ToString::to_string).as_deref() {
        Some("mean" | "avg" | "average") => {
            "divide the sum by the number of columns for a mean".to_owned()
        }
        Some("logsumexp" | "lse") => "did you mean `log_sum_exp`?".to_owned(),
        Some(name) => did_you_mean(name, &words).trim().to_owned(),
        None => "write one of these words, without quotes".to_owned(),
    };
    if suggestion.is_empty() {
        diagnostics.error(value, message);
    } else {
        diagnostics.error_with_help(value, message, &suggestion);
    }
    Reduce::Sum
}

/// Reads the arguments of `#[forward(…)]`.
pub(super) fn forward(arguments: &Arguments, diagnostics: &mut Diagnostics) -> ForwardOptions {
    let is_read = arguments.is_ok();
    let arguments = &read(arguments.clone(), diagnostics);
    let mut options = ForwardOptions::default();
    let names = ["outputs", "saves", "non_differentiable"];
    let given = arguments.len();
    let accepted = known("forward", &names, arguments, diagnostics);
    options.are_doubtful = !is_read || accepted.len() < given;
    for argument in accepted {
        let names = name_list(argument, diagnostics);
        options.are_doubtful |= names.is_none();
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
    let mut options = BackwardOptions {
        are_doubtful: arguments.is_err(),
        ..BackwardOptions::default()
    };
    let arguments = &read(arguments.clone(), diagnostics);
    options_are_given_once(arguments.iter(), diagnostics);
    for argument in arguments {
        is_bare(argument, diagnostics);
        if argument.name == "ignores_grad" {
            options.ignores_grad = Some(argument.name.clone());
        } else if argument.name == "once" {
            options.once = true;
        } else {
            options.inputs.push(argument.name.clone());
        }
    }
    options
}

/// Reads the arguments of `#[residual(…)]`: the number of unknowns up to which their equations are factored.
///
/// ```text
/// #[residual(dens = 512)]
/// //         ^^^^ `#[residual]` has no argument `dens`; did you mean `dense`?
/// #[residual(dense = "large")]
/// //                 ^^^^^^^ `dense` is a number of unknowns
/// ```
pub(super) fn residual(arguments: &Arguments, diagnostics: &mut Diagnostics) -> ResidualOptions {
    let arguments = read(arguments.clone(), diagnostics);
    let mut options = ResidualOptions::default();
    for argument in known("residual", &["dense"], &arguments, diagnostics) {
        let message = "`dense` is the number of unknowns up to which their equations are factored; write `dense = 512`";
        match (&argument.list, &argument.value) {
            (
                None,
                Some(Expr::Lit(ExprLit {
                    lit: Lit::Int(number),
                    ..
                })),
            ) if number.base10_parse::<usize>().is_ok() => options.dense = Some(number.clone()),
            (None, Some(value)) => diagnostics.error(value, message),
            _ => diagnostics.error(&argument.name, message),
        }
    }
    options
}

/// `#[jvp]` and `#[vmap]` take no arguments.
///
/// ```text
/// #[jvp(x)]
/// //    ^ `#[jvp]` takes no arguments
/// ```
pub(super) fn none(attribute: &str, arguments: &Arguments, diagnostics: &mut Diagnostics) {
    if let Some(first) = read(arguments.clone(), diagnostics).first() {
        let message = format!("`#[{attribute}]` takes no arguments; write `#[{attribute}]`");
        diagnostics.error(&first.name, message);
    }
}

/// Arguments of the short form are for a free function; a block has other attributes for them.
///
/// ```text
/// #[custom_function(grad(input) = grad_output.dot(&weight))]
/// //                ^^^^ `grad` belongs to the short form
/// impl LinearFunction { … }
/// ```
fn belongs_to_a_function(name: &Ident, diagnostics: &mut Diagnostics) {
    let message =
        format!("`{name}` belongs to the short form, a free `fn`, but this is an `impl` block");
    let help = match name.to_string().as_str() {
        "grad" => {
            "write a function for the gradient: `#[backward(x)] fn grad_x(…) -> …`".to_owned()
        }
        "elementwise" => {
            "write an elementwise function: `fn name<T: Real>(x: T) -> T { … }`".to_owned()
        }
        "pairs" => {
            "write a function of pairs: `fn name<T: Real>(#[row] x: T, #[column] y: T) -> T { … }`"
                .to_owned()
        }
        "scan" => {
            "write a formula of one step: `fn name<T: Real>(#[state] v: T, #[step] x: T) -> T { … }`"
                .to_owned()
        }
        "adjoint" => {
            "write a function for the adjoint: `#[adjoint(x)] fn adjoint(…) -> …`".to_owned()
        }
        _ => "write the backward functions on `&Tensor…`, and remove it".to_owned(),
    };
    diagnostics.error_with_help(name, &message, &help);
}

/// What a block's forward returns is named above it.
///
/// ```text
/// #[custom_function(outputs(y), saves(place))]
/// //                ^^^^^^^ `outputs` is written above the forward function of an `impl` block
/// impl Max { … }
/// ```
fn belong_to_forward(arguments: &[Argument], diagnostics: &mut Diagnostics) {
    let Some(first) = arguments.first() else {
        return;
    };
    let message = format!(
        "`{}` is written above the forward function of an `impl` block",
        first.name
    );
    let all: Vec<String> = arguments
        .iter()
        .map(|one| format!("{}(…)", one.name))
        .listed();
    let help = format!("write `#[forward({})]`", all.join(", "));
    diagnostics.error_with_help(&first.name, &message, &help);
    // Backward functions may go by these names, or by those without them.
    diagnostics.is_doubtful = true;
}

/// A residual is a function of the block.
///
/// ```text
/// #[custom_function(residual = balance)]
/// //                ^^^^^^^^ a residual is a function in the `impl` block
/// ```
fn belongs_to_a_block(name: &Ident, diagnostics: &mut Diagnostics) {
    let message = "a residual is a function in the `impl` block, beside forward";
    let help = "write `#[residual]` above it: `#[residual] fn residual(…) -> Tensor1<f64> { … }`";
    diagnostics.error_with_help(name, message, help);
}

/// A gradient must name its input and have an expression.
///
/// ```text
/// #[custom_function(grad = grad_output.dot(&weight))]
/// //                ^^^^ `grad` must name the input whose gradient it gives
/// #[custom_function(grad(input))]
/// //                ^^^^ this gradient has no expression
/// ```
fn is_a_gradient(argument: &Argument, diagnostics: &mut Diagnostics) {
    let names_an_input = |list: &Vec<Argument>| list.iter().any(Argument::is_an_input);
    if !argument.list.as_ref().is_some_and(names_an_input) {
        let name = &argument.name;
        let message =
            format!("`{name}` must name the input whose gradient it gives; write `{name}(x) = …`");
        diagnostics.error(name, message);
    } else if argument.value.is_none() {
        let names = argument.list.iter().flatten();
        let names: Vec<String> = names.map(|name| name.name.to_string()).listed();
        let (name, names) = (&argument.name, names.join(", "));
        let message = format!("`{name}({names})` has no expression; write `{name}({names}) = …`");
        diagnostics.error(name, message);
    }
}

/// Arguments must be known to the attribute, and given once.
///
/// ```text
/// #[forward(output(y))]
/// //        ^^^^^^ `#[forward]` has no argument `output`; did you mean `outputs`?
/// #[forward(saves(mean), saves(rstd))]
/// //                     ^^^^^ `saves` is given twice
/// ```
pub(crate) fn known<'a>(
    attribute: &str,
    names: &[&str],
    arguments: impl IntoIterator<Item = &'a Argument>,
    diagnostics: &mut Diagnostics,
) -> Vec<&'a Argument> {
    let mut accepted: Vec<&Argument> = Vec::new();
    for argument in arguments {
        let name = argument.name.to_string();
        if attribute == "custom_function" && Part::meant(&argument.name) == Some(Part::Residual) {
            belongs_to_a_block(&argument.name, diagnostics);
        } else if !names.contains(&name.as_str()) {
            let message = format!("`#[{attribute}]` has no argument `{name}`");
            let candidates: Vec<String> = names.iter().copied().map(String::from).listed();
            let option = option_of_another(&name).filter(|_| names.contains(&"elementwise"));
            let suggestion = match (option, meant_gradient(argument, names)) {
                (Some(option), _) => format!("write `{option}`; "),
                (None, Some(input)) => format!("write `grad({input}) = …`; "),
                (None, None) => did_you_mean(&name, &candidates),
            };
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

/// Returns how an option of another argument is written.
fn option_of_another(name: &str) -> Option<String> {
    Some(match name {
        "order" => format!("elementwise({name} = …)"),
        "reduce" => format!("pairs({name} = …)"),
        "reverse" => format!("scan({name})"),
        "eps" | "atol" | "rtol" => format!("gradcheck(…, {name} = …)"),
        _ => return None,
    })
}

/// Returns `x` of `grad_x = …` and `backward(x) = …`, where `grad(x) = …` is known.
fn meant_gradient(argument: &Argument, names: &[&str]) -> Option<String> {
    let name = argument.name.to_string();
    if !names.contains(&"grad") || argument.value.is_none() {
        return None;
    }
    let listed = argument.list.as_deref().and_then(<[Argument]>::first);
    let candidates: Vec<String> = names.iter().copied().map(String::from).listed();
    match (name.strip_prefix("grad_"), listed) {
        (None, None) if did_you_mean(&name, &candidates).is_empty() => Some(name),
        (Some(input), None) => Some(input.to_owned()),
        (None, Some(input)) if Part::meant(&argument.name) == Some(Part::Backward) => {
            Some(input.name.to_string())
        }
        _ => None,
    }
}

/// A list of names must not be empty, and must name each thing once.
///
/// ```text
/// #[forward(outputs = y)]
/// //        ^^^^^^^ `outputs` must be a list of names; write `outputs(…)`
/// #[forward(outputs(y, y))]
/// //                   ^ `y` is listed twice in `outputs`
/// ```
pub(super) fn name_list(argument: &Argument, diagnostics: &mut Diagnostics) -> Option<Names> {
    let keyword = &argument.name;
    let (Some(list), None) = (&argument.list, &argument.value) else {
        let message = format!("`{keyword}` must be a list of names; write `{keyword}(…)`");
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
            let message = format!(
                "`{}` is listed twice in `{keyword}`; remove one",
                entry.name
            );
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

/// A name must be without arguments and value.
///
/// ```text
/// #[backward(input = 1)]
/// //         ^^^^^ `input` takes neither arguments nor a value here
/// ```
pub(crate) fn is_bare(argument: &Argument, diagnostics: &mut Diagnostics) {
    if argument.list.is_some() || argument.value.is_some() {
        let name = &argument.name;
        let message = format!("`{name}` takes neither arguments nor a value here; write `{name}`");
        diagnostics.error(name, message);
    }
}

/// The shown name must be a string that is not blank.
///
/// ```text
/// #[custom_function(name = linear)]
/// //                ^^^^ `name` must be a string; write `name = "…"`
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
    let message = "`name` must be a string, which graphs and errors show; write `name = \"…\"`";
    diagnostics.error(&argument.name, message);
    None
}

/// The runtime must be given by its path.
///
/// ```text
/// #[custom_function(crate = "pb")]
/// //                ^^^^^ `crate` must be a path; write `crate = pb`
/// ```
pub(crate) fn runtime(argument: &Argument, diagnostics: &mut Diagnostics) -> Option<Path> {
    if let Some(path) = path_to(argument) {
        return Some(path);
    }
    let message = "`crate` must be the path of the library in this crate; \
                   write `crate = path`, without quotes";
    diagnostics.error(&argument.name, message);
    None
}

/// Returns the path in `name = path`.
pub(crate) fn path_to(argument: &Argument) -> Option<Path> {
    match (&argument.list, &argument.value) {
        (None, Some(Expr::Path(path))) if path.qself.is_none() => Some(path.path.clone()),
        _ => None,
    }
}

/// Returns the arguments, or none if they could not be read.
pub(crate) fn read(arguments: Arguments, diagnostics: &mut Diagnostics) -> Vec<Argument> {
    let arguments = diagnostics.ok(arguments).unwrap_or_default();
    have_no_quotes(&arguments, diagnostics);
    arguments
}

/// Names have no quotes.
///
/// ```text
/// #[forward(outputs("value", "place"))]
/// //                ^^^^^^^ a name has no quotes; write `value, place`
/// ```
fn have_no_quotes(arguments: &[Argument], diagnostics: &mut Diagnostics) {
    if let Some(first) = arguments.iter().find(|argument| argument.is_quoted) {
        let names = arguments.iter().map(|argument| argument.name.to_string());
        let names: Vec<String> = names.listed();
        let message = format!("a name has no quotes; write `{}`", names.join(", "));
        diagnostics.error(&first.name, message);
    }
    for argument in arguments {
        have_no_quotes(argument.list.as_deref().unwrap_or_default(), diagnostics);
    }
}
