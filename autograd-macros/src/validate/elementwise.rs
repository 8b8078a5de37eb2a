//! Rules for elementwise functions.

use quote::{ToTokens as _, format_ident};
use syn::ext::IdentExt as _;
use syn::{
    Attribute, Expr, ExprLit, FnArg, GenericParam, Generics, Ident, Lit, PatType, Signature, Type,
    TypeParam, TypeParamBound, parse_quote,
};

use super::coverage::gives_gradients;
use super::options::options_are_given_once;
use super::parameters::is_opaque;
use crate::diagnostics::{Diagnostics, did_you_mean, list as list_of};
use crate::lower::{self, ShortArguments};
use crate::model::{Elementwise, Replaced};
use crate::parse::{Argument, meant_on_parameter};
use crate::show::show;
use crate::spell::{has_word, local};
use crate::types::{
    self, Floats, bound, bounds_of, is_parameter, is_primitive, last_segment, peel, vec_of,
};
use crate::uses;

/// The order of an elementwise function that gives none.
const DEFAULT_ORDER: usize = 2;

/// The most tensors that an elementwise function takes or returns: the runtime has a loop for each of them.
const MOST_NUMBERS: usize = 12;

/// The highest order that the runtime has loops for.
const HIGHEST_ORDER: usize = 3;

/// The order must be one that there are loops for.
///
/// ```text
/// #[custom_function(elementwise(order = 7))]
/// //                            ^^^^^^^^^ the order of an elementwise function is 1, 2 or 3
/// ```
pub(super) fn order(argument: &Argument, diagnostics: &mut Diagnostics) -> usize {
    let message =
        "the order of an elementwise function is 1, 2 or 3; write `elementwise(order = 3)`";
    if let Some(value) = &argument.value {
        diagnostics.error(value, message);
        return DEFAULT_ORDER;
    }
    let Some(list) = &argument.list else {
        return DEFAULT_ORDER;
    };
    let [only] = list.as_slice() else {
        diagnostics.error(&argument.name, message);
        return DEFAULT_ORDER;
    };
    let given = match &only.value {
        Some(Expr::Lit(ExprLit {
            lit: Lit::Int(number),
            ..
        })) if only.name == "order" => number.base10_parse().ok(),
        _ => None,
    };
    if let Some(order @ 1..=HIGHEST_ORDER) = given {
        return order;
    }
    match &only.value {
        Some(value) if only.name == "order" => diagnostics.error(value, message),
        _ => diagnostics.error(&only.name, message),
    }
    DEFAULT_ORDER
}

/// An elementwise function has no options for saving or for its order, except `elementwise(order = …)`.
///
/// ```text
/// #[custom_function(elementwise, higher_order)]
/// //                             ^^^^^^^^^^^^ `elementwise` needs no `higher_order`
/// ```
pub(super) fn needs_no(name: &Ident, diagnostics: &mut Diagnostics) {
    let help = match name.to_string().as_str() {
        "higher_order" => {
            "it can be differentiated twice, and three times with `elementwise(order = 3)`"
        }
        "saves" => "it saves its inputs, and computes the rest again",
        _ => {
            "an output computed by functions without a derivative, such as `floor`, has no gradient"
        }
    };
    diagnostics.error_with_help(
        name,
        &format!("`elementwise` needs no `{name}`; remove it"),
        help,
    );
}

/// A function that is generic over `Real` must be marked `elementwise`. Returns whether it is generic over `Real`.
///
/// ```text
/// #[custom_function]
/// fn square<T: Real>(x: T) -> T
/// // ^^^^^^ `square` is generic over `Real`, but not marked as elementwise
/// ```
fn is_meant(sig: &Signature, diagnostics: &mut Diagnostics) -> bool {
    // With a mistake in an attribute, that may be where it is missing.
    let has_mistakes = diagnostics.len() > 0;
    let mut numbers = sig.generics.type_params();
    let is_meant = numbers.any(|number| bounds_of(&sig.generics, &number.ident).any(is_real));
    if is_meant && !has_mistakes {
        let message = format!(
            "`{}` is generic over `Real`, but not marked as elementwise",
            sig.ident
        );
        diagnostics.error_with_help(
            &sig.ident,
            &message,
            "write `#[custom_function(elementwise)]`",
        );
    }
    is_meant
}

fn is_real(bound: &TypeParamBound) -> bool {
    match bound {
        TypeParamBound::Trait(bound) => {
            let name = bound.path.segments.last();
            name.is_some_and(|segment| segment.ident == "Real")
        }
        _ => false,
    }
}

/// Returns the order of an elementwise function, which its attribute gives or its bound by `Real` implies.
pub(super) fn order_of(
    sig: &Signature,
    given: Option<usize>,
    diagnostics: &mut Diagnostics,
) -> Option<usize> {
    given.or_else(|| is_meant(sig, diagnostics).then_some(DEFAULT_ORDER))
}

/// Reads an elementwise function; `None` if the function of tensors could not even be called.
pub(super) fn read(
    sig: &Signature,
    order: usize,
    arguments: &ShortArguments,
    diagnostics: &mut Diagnostics,
) -> Option<Elementwise> {
    let number = number(sig, diagnostics)?;
    let parameters = parameters(sig, number, diagnostics)?;
    let outputs = outputs(sig, number, diagnostics);
    let known = Known {
        inputs: &parameters.inputs,
        differentiable: &parameters.differentiable,
        values: &parameters.values,
        gradients: &output_names(arguments, outputs),
        outputs: output_values(arguments, outputs),
        order,
        are_certain: arguments.complete && names_are_read(arguments, outputs),
    };
    let mut replaced = replaced(&arguments.grads, &known, diagnostics);
    if diagnostics.is_doubtful {
        // What they do with the numbers would be reported too.
        replaced.clear();
    }
    Some(Elementwise {
        formula: sig.clone(),
        number: number.clone(),
        inputs: parameters.inputs,
        differentiable: parameters.differentiable,
        values: parameters.values,
        entries: parameters.entries,
        outputs,
        order: if replaced.iter().any(|given| given.once) {
            1
        } else {
            order
        },
        replaced,
    })
}

/// The parameters of a formula.
#[derive(Default)]
struct Parameters {
    inputs: Vec<Ident>,
    differentiable: Vec<bool>,
    values: Vec<(Ident, Type)>,
    entries: Vec<(Ident, Type)>,
}

/// Reads the parameters.
fn parameters(
    sig: &Signature,
    number: &Ident,
    diagnostics: &mut Diagnostics,
) -> Option<Parameters> {
    let mistakes = diagnostics.len();
    let mut read = Parameters::default();
    for argument in &sig.inputs {
        let FnArg::Typed(parameter) = argument else {
            continue;
        };
        if is_opaque(&parameter.ty) {
            has_no_name(parameter, diagnostics);
            return None;
        }
        let is_number = is_a_number(parameter, number, diagnostics);
        let name = bound(&parameter.pat).cloned();
        let marked = |name: &str| {
            let is_it = |attr: &&Attribute| {
                attr.path().get_ident().and_then(meant_on_parameter) == Some(name)
            };
            parameter.attrs.iter().find(is_it)
        };
        if is_number {
            if let Some(each) = marked("each") {
                is_an_element_already(each, parameter, number, diagnostics);
            }
            read.differentiable
                .push(marked("non_differentiable").is_none());
            read.inputs.extend(name);
        } else {
            if marked("each").is_some()
                && let Some(entry) = entry(parameter, diagnostics)
            {
                read.entries
                    .extend(name.clone().map(|name| (name, entry.clone())));
            }
            read.values
                .extend(name.map(|name| (name, (*parameter.ty).clone())));
        }
    }
    if read.inputs.is_empty() && diagnostics.len() == mistakes {
        takes_no_number(&sig.ident, number, diagnostics);
        return None;
    }
    if let Some(name) = read.inputs.get(MOST_NUMBERS) {
        let message = format!(
            "an elementwise function takes at most {MOST_NUMBERS} tensors; `{name}` is one too many"
        );
        let help = "a number that is the same for all elements can be a value: `&[f64]`";
        diagnostics.error_with_help(name, &message, help);
    }
    Some(read)
}

/// An elementwise function must have one type parameter, bound by `Real`.
///
/// ```text
/// fn square(x: f64) -> f64
/// // ^^^^^^ `square` is not an elementwise function
/// fn square<T: Element>(x: T) -> T
/// //           ^^^^^^^ `T` must be bound by `Real` alone
/// ```
fn number<'a>(sig: &'a Signature, diagnostics: &mut Diagnostics) -> Option<&'a Ident> {
    let params = &sig.generics.params;
    let mut others = params.iter().filter_map(|param| match param {
        GenericParam::Type(param) => Some((param.ident.to_token_stream(), "type")),
        GenericParam::Const(param) => Some((param.ident.to_token_stream(), "const")),
        GenericParam::Lifetime(_) => None,
    });
    let mistakes = diagnostics.len();
    let is_meant = |param: &&TypeParam| bounds_of(&sig.generics, &param.ident).any(is_real);
    let types = || sig.generics.type_params();
    let Some(number) = types().find(is_meant).or_else(|| types().next()) else {
        let name = &sig.ident;
        let message = format!(
            "`{name}` is not an elementwise function: it has no type parameter bound by `Real`"
        );
        let help = format!("write `fn {name}<T: Real>(x: T) -> T`");
        diagnostics.error_with_help(name, &message, &help);
        // The compiler would report what the body does with an `impl Real`.
        diagnostics.is_unreadable |= has_word(sig.to_token_stream(), "impl");
        return None;
    };
    let number = &number.ident;
    if let Some((other, kind)) = others.find(|(other, _)| *number != other.to_string()) {
        let message = format!(
            "an elementwise function has one type parameter, `{number}`, but `{other}` is another ({kind})"
        );
        let help = "write the type of a value as it is: `table: &[f64]`, `f: fn(f64) -> f64`";
        diagnostics.error_with_help(&other, &message, help);
    }
    let mut bounds = bounds_of(&sig.generics, number).peekable();
    if bounds.peek().is_none() {
        let message = format!("`{number}` has no bound");
        diagnostics.error_with_help(number, &message, &format!("write `{number}: Real`"));
    }
    if let Some(bound) = bounds.find(|bound| !is_real(bound)) {
        let message = format!(
            "`{number}` must be bound by `Real` alone, found `{}`",
            show(bound)
        );
        let help =
            "derivatives are computed with other types of numbers, which implement `Real` alone";
        diagnostics.error_with_help(bound, &message, help);
    }
    // What the body does with the numbers would be reported too.
    diagnostics.is_doubtful |= diagnostics.len() > mistakes;
    Some(number)
}

/// A parameter must be a number, or a value whose type does not mention the type of numbers.
///
/// ```text
/// fn scale<T: Real>(x: &T, weights: [T; 3], bias: ArrayView1<f64>) -> T
/// //                   ^^ `x` must be `T`, or a value without `T`, found `&T`
/// ```
fn is_a_number(parameter: &PatType, number: &Ident, diagnostics: &mut Diagnostics) -> bool {
    let ty = peel(&parameter.ty);
    if is_parameter(ty, number) {
        return true;
    }
    let name = show(&parameter.pat);
    if has_word(ty.to_token_stream(), number) {
        let message = format!(
            "`{name}` must be `{number}`, or a value without `{number}`, found `{}`",
            show(ty)
        );
        let help = match ty {
            Type::Reference(to) if is_parameter(&to.elem, number) => {
                format!("write `{name}: {number}`: numbers are copied")
            }
            _ => format!(
                "write a parameter `{number}` for each tensor, whose elements the function gets, or a function on \
                 arrays: `{name}: ArrayView1<f64>`"
            ),
        };
        diagnostics.error_with_help(ty, &message, &help);
        diagnostics.is_doubtful = true;
        return true;
    }
    let floats = Floats::of(&Generics::default(), &parse_quote!(fn none()), &[]);
    if floats.taken(ty).is_some() || floats.other_tensor(ty).is_some() {
        let message = format!(
            "`{name}` is a tensor, but an elementwise function takes one element at a time"
        );
        let help = format!(
            "write `{name}: {number}` for its elements, or take an array as a slice: `&[f64]`"
        );
        diagnostics.error_with_help(ty, &message, &help);
        diagnostics.is_doubtful = true;
        return true;
    }
    can_be_kept(&name, ty, diagnostics);
    false
}

/// `#[each]` is for values: a number is an element already.
///
/// ```text
/// fn scaled<T: Real>(x: T, #[each] scale: T) -> T
/// //                         ^^^^ `scale` is an element of a tensor already
/// ```
fn is_an_element_already(
    each: &Attribute,
    parameter: &PatType,
    number: &Ident,
    diagnostics: &mut Diagnostics,
) {
    // Of another type it is refused already.
    if is_parameter(peel(&parameter.ty), number) {
        let name = show(&parameter.pat);
        let message = format!("`{name}` is an element of a tensor already; remove the attribute");
        diagnostics.error(each.path(), message);
    }
}

/// What has an entry for each element must be a slice. Returns the type of an entry.
///
/// ```text
/// fn chosen<T: Real>(x: T, #[each] label: i64) -> T
/// //                                      ^^^ `label` must be a slice with an entry for each element, found `i64`
/// ```
fn entry<'a>(parameter: &'a PatType, diagnostics: &mut Diagnostics) -> Option<&'a Type> {
    let ty = peel(&parameter.ty);
    if let Some(entry) = types::list_of(ty) {
        return Some(entry);
    }
    let name = show(&parameter.pat);
    let message = format!(
        "`{name}` must be a slice with an entry for each element, found `{}`",
        show(ty)
    );
    let target = match ty {
        Type::Reference(to) => peel(&to.elem),
        other => other,
    };
    let entry = match target {
        Type::Array(array) => Some(&*array.elem),
        other => vec_of(other),
    };
    let write = match entry {
        Some(entry) => show(entry),
        None if is_primitive(target) => show(target),
        None => "i64".to_owned(),
    };
    let help = format!("write `{name}: &[{write}]`; the formula gets one `{write}`");
    diagnostics.error_with_help(ty, &message, &help);
    diagnostics.is_doubtful = true;
    None
}

/// A value must be one that can be cloned and shared between threads. The compiler would report other types more than
/// once; this rule finds the usual ones first.
///
/// ```text
/// fn scaled<T: Real>(x: T, factor: Rc<f64>) -> T
/// //                               ^^^^^^^ `factor` cannot be shared between threads
/// fn logged<T: Real>(x: T, log: &mut Vec<f64>) -> T
/// //                            ^^^^^^^^^^^^^ `log` is written to
/// fn mapped<T: Real>(x: T, f: &dyn Fn(f64) -> f64) -> T
/// //                          ^^^^^^^^^^^^^^^^^^^ `f` cannot be cloned
/// ```
fn can_be_kept(name: &str, ty: &Type, diagnostics: &mut Diagnostics) {
    let is_named = |word: &str| has_word::<str>(ty.to_token_stream(), word);
    let (message, help) = match ty {
        Type::Reference(reference) if reference.mutability.is_some() => (
            format!(
                "`{name}` is written to, but several threads compute the elements, and derivatives compute them again"
            ),
            "return the written value as another output",
        ),
        Type::Reference(reference) if matches!(peel(&reference.elem), Type::TraitObject(_)) => (
            format!("`{name}` cannot be cloned, so it cannot be saved for backward"),
            "take a function as `fn(f64) -> f64`, or as an `Arc<dyn Fn(f64) -> f64 + Send + Sync>`",
        ),
        _ if matches!(ty, Type::Ptr(_)) || ["Rc", "RefCell"].into_iter().any(is_named) => (
            format!(
                "`{name}` cannot be shared between threads, so it cannot be saved for backward"
            ),
            "take an `Arc`, with a `Mutex` around a value that changes",
        ),
        _ => return,
    };
    diagnostics.error_with_help(ty, &message, help);
    diagnostics.is_doubtful = true;
}

/// The type of a value must have a name, to be saved.
///
/// ```text
/// fn apply<T: Real>(x: T, f: impl Fn(f64) -> f64) -> T
/// //                         ^^^^^^^^^^^^^^^^^^^ the type of `f` has no name
/// ```
fn has_no_name(parameter: &PatType, diagnostics: &mut Diagnostics) {
    let name = show(&parameter.pat);
    let message =
        format!("the type of `{name}` has no name, so `{name}` cannot be saved for backward");
    let help =
        format!("take a function as `{name}: fn(f64) -> f64`, or what it captures as values");
    diagnostics.error_with_help(&parameter.ty, &message, &help);
}

/// Some parameter must be a number.
///
/// ```text
/// fn ramp<T: Real>(steps: usize) -> T
/// // ^^^^ `ramp` has no parameter of type `T`
/// ```
fn takes_no_number(name: &Ident, number: &Ident, diagnostics: &mut Diagnostics) {
    let message = format!(
        "`{name}` has no parameter of type `{number}`, so there is nothing to differentiate"
    );
    diagnostics.error_with_help(name, &message, &format!("write `x: {number}`"));
    diagnostics.is_doubtful = true;
}

/// An elementwise function must return a number, or a tuple of numbers.
///
/// ```text
/// fn square<T: Real>(x: T) -> f64
/// //                          ^^^ `square` must return `T` or a tuple of `T`, found `f64`
/// ```
fn outputs(sig: &Signature, number: &Ident, diagnostics: &mut Diagnostics) -> usize {
    let name = &sig.ident;
    let types = lower::elementwise::returned(&sig.output);
    if types.is_empty() {
        let message = format!("`{name}` returns nothing");
        diagnostics.error_with_help(name, &message, &format!("write `-> {number}`"));
        diagnostics.is_doubtful = true;
        return 1;
    }
    if let Some(other) = types.iter().find(|ty| !is_parameter(ty, number)) {
        let message = format!(
            "`{name}` must return `{number}` or a tuple of `{number}`, found `{}`",
            show(other)
        );
        let help = match last_segment(other)
            .map(|segment| segment.ident.to_string())
            .as_deref()
        {
            Some("f32" | "f64") => format!("`{number}::from(…)` converts an `f64`"),
            Some("Result" | "Option") => {
                format!(
                    "every element has a result; for an element without one, return `{number}::from(f64::NAN)`"
                )
            }
            _ => "each output is a tensor of the elements that it returns".to_owned(),
        };
        diagnostics.error_with_help(other, &message, &help);
        diagnostics.is_doubtful = true;
    }
    if let Some(other) = types.get(MOST_NUMBERS) {
        let message = format!(
            "an elementwise function returns at most {MOST_NUMBERS} numbers, found {}",
            types.len()
        );
        diagnostics.error_with_help(other, &message, "write a second function");
    }
    types.len()
}

/// The names that `grad(x) = …` may use.
struct Known<'a> {
    inputs: &'a [Ident],
    /// For each of the inputs.
    differentiable: &'a [bool],
    values: &'a [(Ident, Type)],
    gradients: &'a [Ident],
    outputs: Vec<Ident>,
    order: usize,
    /// Whether the names of the outputs are certain.
    are_certain: bool,
}

/// A given derivative must be that of a number, be given once, and use the gradient of an output, unless it is marked
/// `ignores_grad`.
///
/// ```text
/// #[custom_function(elementwise, grad(steps) = grad_output)]
/// //                                  ^^^^^ `steps` is a value, which has no gradient
/// #[custom_function(elementwise, grad(k) = grad_output)]
/// //                                  ^ `k` is `#[non_differentiable]` and has no gradient
/// fn scaled<T: Real>(x: T, #[non_differentiable] k: T) -> T
/// #[custom_function(elementwise, grad(x, ignores_grad) = grad_output * k)]
/// //                                     ^^^^^^^^^^^^ this expression uses the gradient of an output
/// ```
fn replaced(grads: &[Argument], known: &Known<'_>, diagnostics: &mut Diagnostics) -> Vec<Replaced> {
    let mut given: Vec<usize> = Vec::new();
    let mut read = Vec::new();
    let words = |names: &mut dyn Iterator<Item = &Ident>| names.map(Ident::to_string).collect();
    let gradients: Vec<String> = words(&mut known.gradients.iter());
    let all: Vec<String> = words(
        &mut known
            .inputs
            .iter()
            .chain(known.values.iter().map(|(name, _)| name))
            .chain(known.gradients)
            .chain(&known.outputs),
    );
    for argument in grads {
        let (Some(list), Some(expression)) = (&argument.list, &argument.value) else {
            continue;
        };
        options_are_given_once(list.iter(), diagnostics);
        let mistakes = diagnostics.len();
        let mut inputs = Vec::new();
        let (mut ignores, mut once) = (None, false);
        for Argument { name, .. } in list {
            let place = known.inputs.iter().position(|input| input == name);
            match place {
                Some(place) if given.contains(&place) => {
                    let message =
                        format!("the gradient of `{name}` is given already; remove one of the two");
                    diagnostics.error(name, message);
                }
                Some(place) if !known.differentiable[place] => {
                    let message =
                        format!("`{name}` is `#[non_differentiable]` and has no gradient");
                    diagnostics.error(name, message);
                }
                Some(place) => {
                    given.push(place);
                    inputs.push(place);
                }
                None if name == "ignores_grad" => ignores = Some(name),
                None if name == "once" => {
                    once = true;
                    leaves_one_order(name, known.order, diagnostics);
                }
                None if known.values.iter().any(|(value, _)| value == name) => {
                    let message = format!("`{name}` is a value, which has no gradient");
                    diagnostics.error(name, message);
                }
                None => {
                    let candidates: Vec<String> = words(&mut known.inputs.iter());
                    let message = format!("no input is named `{name}`");
                    let suggestion = did_you_mean(&name.to_string(), &candidates);
                    let help = format!("{suggestion}the inputs: {}", list_of(&candidates));
                    diagnostics.error_with_help(name, &message, &help);
                }
            }
        }
        // What the expression gives would be too much for the inputs that are left.
        let are_right = diagnostics.len() == mistakes
            && gives_gradients(expression, inputs.len(), diagnostics)
            && knows_its_names(expression, &all, known, diagnostics);
        let names = uses::names(expression, &all);
        let uses_one = names
            .iter()
            .any(|name| gradients.contains(&name.to_string()));
        if let Some(ignores_grad) = ignores.filter(|_| uses_one) {
            let message = "this expression uses the gradient of an output; remove `ignores_grad`";
            diagnostics.error(ignores_grad, message);
        }
        if are_right && !uses_one && ignores.is_none() && !inputs.is_empty() && known.are_certain {
            let message = format!(
                "this gradient does not use {}, so the incoming gradient would be ignored",
                list_of(&gradients)
            );
            let help = "multiply by the gradient of the output, or mark it as intended: `grad(x, ignores_grad) = …`";
            diagnostics.error_with_help(expression, &message, help);
        }
        if are_right && !inputs.is_empty() {
            read.push(Replaced {
                inputs,
                expression: expression.clone(),
                names,
                once,
            });
        }
    }
    read
}

/// A function with a derivative that is not differentiated has no third order.
///
/// ```text
/// #[custom_function(elementwise(order = 3), grad(x, once) = grad_output * slope(x))]
/// //                                                ^^^^ `once` leaves one derivative, but `order = 3` asks for three
/// ```
fn leaves_one_order(once: &Ident, order: usize, diagnostics: &mut Diagnostics) {
    if order > DEFAULT_ORDER {
        let message = format!(
            "`once` leaves one derivative, but `order = {order}` asks for three; remove one of the two"
        );
        diagnostics.error(once, message);
    }
}

/// A given derivative computes with the inputs, the values, the outputs and their gradients.
///
/// ```text
/// #[custom_function(elementwise, grad(x) = grad_output * slope)]
/// //                                                     ^^^^^ this function has nothing of the name `slope`
/// ```
fn knows_its_names(
    expression: &Expr,
    all: &[String],
    known: &Known<'_>,
    diagnostics: &mut Diagnostics,
) -> bool {
    let strangers = uses::strangers(expression, all);
    for name in strangers.iter().filter(|_| known.are_certain) {
        let message = format!("this function has nothing of the name `{name}`");
        let suggestion = did_you_mean(&name.to_string(), all);
        let help = format!("{suggestion}a gradient may use {}", list_of(all));
        diagnostics.error_with_help(name, &message, &help);
    }
    strangers.is_empty() || !known.are_certain
}

/// Returns the names of the outputs, as the rules will read them.
fn output_values(options: &ShortArguments, count: usize) -> Vec<Ident> {
    let named = named_outputs(options, count);
    if let Some(named) = named {
        return named.iter().map(|one| one.name.clone()).collect();
    }
    if count == 1 {
        return vec![local("output")];
    }
    (0..count)
        .map(|output| local(format_args!("output_{output}")))
        .collect()
}

/// Returns whether `outputs(…)`, if there is one, names as many as there are.
fn names_are_read(options: &ShortArguments, count: usize) -> bool {
    let mut options_of_forward = options.forward.iter();
    let is_named = options_of_forward.any(|one| one.name == "outputs");
    !is_named || named_outputs(options, count).is_some()
}

/// Returns what `outputs(…)` names, if it is as many as there are.
fn named_outputs(options: &ShortArguments, count: usize) -> Option<&Vec<Argument>> {
    let outputs = options.forward.iter().find(|one| one.name == "outputs")?;
    outputs.list.as_ref().filter(|named| named.len() == count)
}

/// Returns the names of the gradients of the outputs, as the rules will read them.
fn output_names(options: &ShortArguments, count: usize) -> Vec<Ident> {
    if let Some(named) = named_outputs(options, count) {
        let names = named
            .iter()
            .map(|one| format_ident!("grad_{}", one.name.unraw()));
        return names.collect();
    }
    if count == 1 {
        return vec![local("grad_output")];
    }
    (0..count)
        .map(|output| local(format_args!("grad_output_{output}")))
        .collect()
}
