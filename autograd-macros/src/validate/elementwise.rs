//! Rules for elementwise functions.

use quote::{ToTokens as _, format_ident};
use syn::ext::IdentExt as _;
use syn::{
    Attribute, Expr, ExprLit, FnArg, GenericParam, Generics, Ident, Lit, PatType, Signature, Type,
    TypeParam, TypeParamBound, parse_quote,
};

use super::coverage::gives_gradients;
use super::options::options_are_given_once;
use super::pairs;
use super::parameters::is_opaque;
use super::scan;
use crate::constants::Constants;
use crate::diagnostics::{Diagnostics, did_you_mean, list as list_of};
use crate::lists::Lists as _;
use crate::lower::{self, ShortArguments};
use crate::model::{Elementwise, Reduce, Replaced, Row, ScanRole as Role, Scanned, Style};
use crate::parse::{Argument, meant_on_parameter};
use crate::show::show;
use crate::spell::{has_word, local};
use crate::types::{
    self, Floats, bound, bounds_of, is_float, is_parameter, is_primitive, last_segment, peel,
    row_of, slice_of, vec_of, whole,
};
use crate::uses;

/// The order of an elementwise function that gives none.
pub(super) const DEFAULT_ORDER: usize = 2;

/// The most tensors that an elementwise function takes or returns.
const MOST_TENSORS: usize = 12;

/// The most numbers that an elementwise function takes or returns, rows counted by their length: the runtime has a loop
/// for each few of them.
const MOST_NUMBERS: u64 = 96;

/// The highest order that the runtime has loops for.
const HIGHEST_ORDER: usize = 3;

/// The order must be one that there are loops for.
///
/// ```text
/// #[custom_function(elementwise(order = 7))]
/// //                                    ^ the order is 1, 2 or 3
/// ```
pub(super) fn order(argument: &Argument, diagnostics: &mut Diagnostics) -> usize {
    let help = "write `elementwise(order = 3)`";
    let message = "`elementwise` has the argument `order`";
    if let Some(value) = &argument.value {
        diagnostics.error_with_help(value, message, help);
        return DEFAULT_ORDER;
    }
    let Some(list) = &argument.list else {
        return DEFAULT_ORDER;
    };
    match list.as_slice() {
        [only] if only.name == "order" => order_given(only, "elementwise", diagnostics),
        [only] => {
            diagnostics.error_with_help(&only.name, message, help);
            DEFAULT_ORDER
        }
        _ => {
            diagnostics.error_with_help(&argument.name, message, help);
            DEFAULT_ORDER
        }
    }
}

/// Reads `order = 3`.
pub(super) fn order_given(option: &Argument, of: &str, diagnostics: &mut Diagnostics) -> usize {
    let given = match &option.value {
        Some(Expr::Lit(ExprLit {
            lit: Lit::Int(number),
            ..
        })) => number.base10_parse().ok(),
        _ => None,
    };
    if let Some(order @ 1..=HIGHEST_ORDER) = given {
        return order;
    }
    let message = format!("the order is 1, 2 or 3; write `{of}(order = 3)`");
    match &option.value {
        Some(value) => diagnostics.error(value, message),
        None => diagnostics.error(&option.name, message),
    }
    DEFAULT_ORDER
}

/// An elementwise function has no options for saving or for its order, except `elementwise(order = …)`.
///
/// ```text
/// #[custom_function(elementwise, higher_order)]
/// //                             ^^^^^^^^^^^^ `elementwise` needs no `higher_order`
/// ```
pub(super) fn needs_no(name: &Ident, keyword: &Ident, diagnostics: &mut Diagnostics) {
    let help = match name.to_string().as_str() {
        "higher_order" if keyword == "pairs" => "it can be differentiated twice",
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
        &format!("`{keyword}` needs no `{name}`; remove it"),
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
        let word = if scan::has_roles(sig) {
            "scan"
        } else {
            "elementwise"
        };
        let kind = if word == "scan" { "a scan" } else { word };
        let name = &sig.ident;
        let message = format!("`{name}` is generic over `Real`, but not marked as {kind}");
        let help = format!("write `#[custom_function({word})]`");
        diagnostics.error_with_help(name, &message, &help);
    }
    is_meant
}

/// Returns the types that a formula returns.
pub(super) fn returned_types(sig: &Signature) -> Vec<&Type> {
    lower::elementwise::returned(&sig.output)
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
    (order, scanned, pairs): (usize, Option<&Scanned>, Option<Reduce>),
    arguments: &ShortArguments,
    diagnostics: &mut Diagnostics,
) -> Option<Elementwise> {
    let number = number(sig, pairs.is_some(), diagnostics)?;
    let function = match (scanned, pairs) {
        (Some(_), _) => "a scan",
        (None, Some(_)) => "a function of pairs",
        (None, None) => "an elementwise function",
    };
    let parameters = parameters(sig, number, (function, scanned.is_some()), diagnostics)?;
    let pairs = pairs.map(|reduce| {
        let numbers = (&parameters.inputs[..], number);
        pairs::read(sig, numbers, reduce, arguments, diagnostics)
    });
    let has_slices = Row::have_slices(&parameters.rows);
    let mut outputs = outputs(sig, number, (function, has_slices), diagnostics);
    let scan = scanned.map(|scanned| {
        let inputs = (
            &parameters.inputs[..],
            &parameters.rows[..],
            parameters.roles,
        );
        scan::read(sig, scanned, inputs, (number, &mut outputs), diagnostics)
    });
    let count = outputs.len();
    let (gradients, values) = (
        output_names(arguments, count),
        output_values(arguments, count),
    );
    let known = Known {
        inputs: &parameters.inputs,
        differentiable: &parameters.differentiable,
        values: &parameters.values,
        gradients: &gradients,
        outputs: &values,
        order,
        are_certain: arguments.complete && names_are_read(arguments, count),
    };
    let grads = match &pairs {
        Some(_) => &[],
        None => &arguments.grads[..],
    };
    let mut replaced = replaced(grads, &known, diagnostics);
    if diagnostics.is_doubtful {
        // What they do with the numbers would be reported too.
        replaced.clear();
    }
    Some(Elementwise {
        formula: sig.clone(),
        number: number.clone(),
        inputs: parameters.inputs,
        rows: parameters.rows,
        differentiable: parameters.differentiable,
        values: parameters.values,
        entries: parameters.entries,
        outputs,
        pairs,
        returned: values.into_iter().zip(gradients).map(Into::into).listed(),
        order: if replaced.iter().any(|given| given.once) {
            1
        } else {
            order
        },
        replaced,
        scan,
        constants: Constants::default(),
        functions: Vec::new(),
        style: Style::WrittenOut,
        has_angles: false,
        reversed: None,
    })
}

/// The parameters of a formula.
#[derive(Default)]
struct Parameters {
    inputs: Vec<Ident>,
    rows: Vec<Option<Row>>,
    differentiable: Vec<bool>,
    values: Vec<(Ident, Type)>,
    entries: Vec<(Ident, Type)>,
    /// Of a scan, for each of the inputs.
    roles: Vec<Role>,
}

/// Reads the parameters.
fn parameters(
    sig: &Signature,
    number: &Ident,
    (function, is_scan): (&str, bool),
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
        let is_slice = is_scan && slice_of(&parameter.ty, number).is_some();
        let is_number = is_slice || is_a_number(parameter, (sig, is_scan), number, diagnostics);
        let name = bound(&parameter.pat).cloned();
        if name.is_none() && (is_slice || row_of(&parameter.ty, number).is_some()) {
            is_taken_apart(parameter, diagnostics);
            return None;
        }
        let marked = |name: &str| {
            let is_it = |attr: &&Attribute| {
                attr.path().get_ident().and_then(meant_on_parameter) == Some(name)
            };
            parameter.attrs.iter().find(is_it)
        };
        if is_scan {
            let role = scan::role(parameter, is_number, number, diagnostics);
            if is_number && name.is_some() {
                read.roles.push(role);
            }
        }
        let marked = |name: &str| marked(name).filter(|_| !is_scan || name != "each");
        if is_number {
            if let Some(each) = marked("each") {
                is_an_element_already(each, parameter, number, diagnostics);
            }
            if let Some(name) = name {
                let row = match row_of(&parameter.ty, number) {
                    _ if is_slice => Some(Row::Slice),
                    Some(length) => Some(Row::Of(length.clone())),
                    // What was reported stands for a row, so callers have a tensor with its axis.
                    None => row_for(&parameter.ty, number).map(|_| Row::Of(parse_quote!(1))),
                };
                read.differentiable
                    .push(marked("non_differentiable").is_none());
                read.rows.push(row);
                read.inputs.push(name);
            }
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
        takes_no_number(sig, number, diagnostics);
        return None;
    }
    if let Some(name) = read.inputs.get(MOST_TENSORS) {
        let message =
            format!("{function} takes at most {MOST_TENSORS} tensors; `{name}` is one too many");
        let help = "a number that is the same for all elements can be a value: `&[f64]`; several that are not can be \
                    a row: `[T; 3]`";
        diagnostics.error_with_help(name, &message, help);
    } else if let Some((place, count)) = too_many(&read.rows) {
        let name = &read.inputs[place];
        let message = format!(
            "{function} takes at most {MOST_NUMBERS} numbers, and with `{name}` there are {count}"
        );
        let many = if is_scan {
            format!("take a row of more as a slice: `&[{number}]`")
        } else {
            "with more that vary, write a function on arrays".to_owned()
        };
        let help = format!(
            "numbers that are the same for all elements and need no gradient can be a value: `&[f64]`; {many}"
        );
        diagnostics.error_with_help(name, &message, &help);
    }
    Some(read)
}

/// Returns the place of the item with which there are more numbers than there are loops for, and their number, as far
/// as lengths are written as numbers.
fn too_many(rows: &[Option<Row>]) -> Option<(usize, u64)> {
    // A formula with slices is recorded, however many numbers there are.
    if Row::have_slices(rows) {
        return None;
    }
    let mut count = 0_u64;
    let mut counts = rows.iter().map(|row| {
        let length = row.as_ref().map_or(Some(1), |row| whole(row.length()?));
        count = count.saturating_add(length.unwrap_or(1));
        count
    });
    let place = counts.position(|count| count > MOST_NUMBERS)?;
    Some((place, count))
}

/// An elementwise function must have one type parameter, bound by `Real`.
///
/// ```text
/// fn square(x: f64) -> f64
/// // ^^^^^^ `square` is not an elementwise function
/// fn square<T: Element>(x: T) -> T
/// //           ^^^^^^^ `T` must be bound by `Real` alone
/// ```
fn number<'a>(
    sig: &'a Signature,
    of_pairs: bool,
    diagnostics: &mut Diagnostics,
) -> Option<&'a Ident> {
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
        let (kind, parameters) = if of_pairs {
            ("a function of pairs", "#[row] x: T, #[column] y: T")
        } else {
            ("an elementwise function", "x: T")
        };
        let message = format!("`{name}` is not {kind}: it has no type parameter bound by `Real`");
        let help = format!("write `fn {name}<T: Real>({parameters}) -> T`");
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
        let help = if kind == "const" {
            "write the length of rows as a number or a constant, `[T; 3]`, and other numbers as values: `n: usize`"
        } else {
            "write the type of a value as it is: `table: &[f64]`, `f: fn(f64) -> f64`"
        };
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

/// A parameter must be a number, a row of numbers, or a value whose type does not mention the type of numbers.
///
/// ```text
/// fn scale<T: Real>(x: &T, weights: Vec<T>, bias: ArrayView1<f64>) -> T
/// //                   ^^ `x` must be `T`, a row `[T; N]`, or a value without `T`, found `&T`
/// ```
fn is_a_number(
    parameter: &PatType,
    (sig, is_scan): (&Signature, bool),
    number: &Ident,
    diagnostics: &mut Diagnostics,
) -> bool {
    let ty = peel(&parameter.ty);
    if is_parameter(ty, number) {
        return true;
    }
    if let Some(length) = row_of(ty, number) {
        row_has_a_length(length, sig, number, diagnostics);
        return true;
    }
    let name = show(&parameter.pat);
    if has_word(ty.to_token_stream(), number) {
        let message = format!(
            "`{name}` must be `{number}`, a row `[{number}; N]`, or a value without `{number}`, found `{}`",
            show(ty)
        );
        let help = match ty {
            Type::Reference(to) if is_parameter(&to.elem, number) => {
                format!("write `{name}: {number}`: numbers are copied")
            }
            Type::Reference(to) if row_of(&to.elem, number).is_some() => {
                format!("write `{name}: {}`: rows are copied", show(&to.elem))
            }
            _ => match row_for(ty, number) {
                Some(row) if is_scan => {
                    let is_state = parameter
                        .attrs
                        .iter()
                        .any(|attr| attr.path().is_ident("state"));
                    let slice = if is_state { "&mut " } else { "&" };
                    format!(
                        "write `{name}: {row}`, a row of numbers along the last axis, or `{name}: {slice}[{number}]`, \
                         whose length is the tensor's"
                    )
                }
                Some(row) => format!("write `{name}: {row}`, a row of numbers along the last axis"),
                None => format!(
                    "write a parameter `{number}` for each tensor, whose elements the function gets, or a function on \
                     arrays: `{name}: ArrayView1<f64>`"
                ),
            },
        };
        diagnostics.error_with_help(ty, &message, &help);
        diagnostics.is_doubtful = true;
        // The compiler would report that its length is not known.
        diagnostics.is_unreadable |= matches!(ty, Type::Slice(_));
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

/// A parameter must have a name; the numbers of a row have theirs in the body.
///
/// ```text
/// fn total<T: Real>([x, y]: [T; 2]) -> T
/// //                ^^^^^^ this parameter has no name
/// ```
fn is_taken_apart(parameter: &PatType, diagnostics: &mut Diagnostics) {
    let (pattern, ty) = (show(&parameter.pat), show(&parameter.ty));
    let help = format!("write `row: {ty}`, and `let {pattern} = row;` in the body");
    diagnostics.error_with_help(&parameter.pat, "this parameter has no name", &help);
    diagnostics.is_doubtful = true;
}

/// Returns the row that a type stands for: that of a list, a tuple or a matrix of numbers, or of numbers without
/// derivatives.
fn row_for(ty: &Type, number: &Ident) -> Option<String> {
    let target = match peel(ty) {
        Type::Reference(to) => peel(&to.elem),
        other => other,
    };
    let is_number = |ty: &Type| is_parameter(ty, number) || is_float(ty);
    let length = match target {
        Type::Slice(slice) if is_number(&slice.elem) => "3".to_owned(),
        Type::Tuple(tuple) if tuple.elems.len() > 1 && tuple.elems.iter().all(is_number) => {
            tuple.elems.len().to_string()
        }
        Type::Array(array) if is_number(&array.elem) => show(&array.len),
        Type::Array(array) => {
            let inner = match peel(&array.elem) {
                Type::Array(inner) if is_number(&inner.elem) => inner,
                _ => return None,
            };
            match (whole(&array.len), whole(&inner.len)) {
                (Some(rows), Some(columns)) => rows.saturating_mul(columns).to_string(),
                _ => format!("{{ {} * {} }}", show(&array.len), show(&inner.len)),
            }
        }
        other => {
            vec_of(other).filter(|ty| is_number(ty))?;
            "3".to_owned()
        }
    };
    Some(format!("[{number}; {length}]"))
}

/// The length of a row must be a constant, and at least 1.
///
/// ```text
/// fn norm<T: Real>(x: [T; n], n: usize) -> T
/// //                      ^ `n` is a value, but the length of a row is part of its type
/// fn norm<T: Real>(x: [T; 0]) -> T
/// //                      ^ a row has at least one number
/// ```
fn row_has_a_length(length: &Expr, sig: &Signature, number: &Ident, diagnostics: &mut Diagnostics) {
    let names = sig.inputs.iter().filter_map(|argument| match argument {
        FnArg::Typed(parameter) => bound(&parameter.pat),
        FnArg::Receiver(_) => None,
    });
    let mut values = names.filter(|name| has_word(length.to_token_stream(), *name));
    let (message, help) = if let Some(value) = values.next() {
        (
            format!("`{value}` is a value, but the length of a row is part of its type"),
            format!(
                "write a number or a constant: `[{number}; 3]`; rows whose length only a call has are slices of a scan, \
                 `&[{number}]`, or for a function on arrays"
            ),
        )
    } else if matches!(length, Expr::Infer(_)) {
        (
            "the length of a row is part of its type".to_owned(),
            format!("write a number or a constant: `[{number}; 3]`"),
        )
    } else if whole(length) == Some(0) {
        (
            "a row has at least one number".to_owned(),
            format!("write `[{number}; 3]`, or remove it"),
        )
    } else {
        return;
    };
    diagnostics.error_with_help(length, &message, &help);
    diagnostics.is_doubtful = true;
    // The compiler would report the length again.
    diagnostics.is_unreadable = true;
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
    if is_parameter(peel(&parameter.ty), number) || row_of(&parameter.ty, number).is_some() {
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

/// Some parameter must be a number or a row.
///
/// ```text
/// fn ramp<T: Real>(steps: usize) -> T
/// // ^^^^ `ramp` has no parameter of type `T`
/// fn norm<T: Real>(x: [f64; 3]) -> T
/// //                  ^^^^^^^^ `x` is a value, so there is nothing to differentiate
/// ```
fn takes_no_number(sig: &Signature, number: &Ident, diagnostics: &mut Diagnostics) {
    diagnostics.is_doubtful = true;
    let mut rows = sig.inputs.iter().filter_map(|argument| match argument {
        FnArg::Typed(parameter) => {
            let row = row_for(&parameter.ty, number)?;
            Some((parameter, row))
        }
        FnArg::Receiver(_) => None,
    });
    if let Some((parameter, row)) = rows.next() {
        let name = show(&parameter.pat);
        let message = format!(
            "`{name}` is a value, and there is no parameter of type `{number}`, so there is nothing to differentiate"
        );
        let help = format!("write `{name}: {row}`, a row of numbers along the last axis");
        diagnostics.error_with_help(&parameter.ty, &message, &help);
        return;
    }
    let name = &sig.ident;
    let message = format!(
        "`{name}` has no parameter of type `{number}`, so there is nothing to differentiate"
    );
    diagnostics.error_with_help(name, &message, &format!("write `x: {number}`"));
}

/// An elementwise function must return a number, a row of numbers, or a tuple of these. Returns the length of the rows of
/// each output.
///
/// ```text
/// fn square<T: Real>(x: T) -> f64
/// //                          ^^^ `square` must return `T`, a row `[T; N]` or a tuple of these, found `f64`
/// ```
fn outputs(
    sig: &Signature,
    number: &Ident,
    (function, has_slices): (&str, bool),
    diagnostics: &mut Diagnostics,
) -> Vec<Option<Row>> {
    let name = &sig.ident;
    let types = lower::elementwise::returned(&sig.output);
    if types.is_empty() && has_slices {
        return Vec::new();
    }
    if types.is_empty() {
        // A parameter that is written to may be what it would return.
        if !diagnostics.is_doubtful {
            let message = format!("`{name}` returns nothing");
            diagnostics.error_with_help(name, &message, &format!("write `-> {number}`"));
            diagnostics.is_doubtful = true;
        }
        return vec![None];
    }
    let is_item = |ty: &Type| is_parameter(ty, number) || row_of(ty, number).is_some();
    if let Some(other) = types.iter().find(|ty| !is_item(ty)) {
        let message = format!(
            "`{name}` must return `{number}`, a row `[{number}; N]` or a tuple of these, found `{}`",
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
            _ => match row_for(other, number) {
                Some(row) => format!("write `{row}`, a row of numbers along the last axis"),
                None => "each output is a tensor of the elements that it returns".to_owned(),
            },
        };
        diagnostics.error_with_help(other, &message, &help);
        diagnostics.is_doubtful = true;
    }
    let row = |ty: &&Type| row_of(ty, number).cloned().map(Row::Of);
    let rows: Vec<Option<Row>> = types.iter().map(row).listed();
    for length in rows.iter().flatten().filter_map(Row::length) {
        row_has_a_length(length, sig, number, diagnostics);
    }
    if let Some(other) = types.get(MOST_TENSORS) {
        let message = format!(
            "{function} returns at most {MOST_TENSORS} tensors, found {}",
            types.len()
        );
        diagnostics.error_with_help(other, &message, "write a second function");
    } else if let Some((place, count)) = too_many(&rows) {
        let message = format!(
            "{function} returns at most {MOST_NUMBERS} numbers, and with this row there are {count}"
        );
        diagnostics.error_with_help(types[place], &message, "write a second function");
    }
    rows
}

/// The names that `grad(x) = …` may use.
struct Known<'a> {
    inputs: &'a [Ident],
    /// For each of the inputs.
    differentiable: &'a [bool],
    values: &'a [(Ident, Type)],
    gradients: &'a [Ident],
    outputs: &'a [Ident],
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
    let words = |names: &mut dyn Iterator<Item = &Ident>| names.map(Ident::to_string).listed();
    let gradients: Vec<String> = words(&mut known.gradients.iter());
    let all: Vec<String> = words(
        &mut known
            .inputs
            .iter()
            .chain(known.values.iter().map(|(name, _)| name))
            .chain(known.gradients)
            .chain(known.outputs),
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
        let others = (0..known.inputs.len())
            .filter(|place| known.differentiable[*place] && !given.contains(place));
        let places = inputs.iter().copied().chain(others);
        let candidates: Vec<&Ident> = places.map(|place| &known.inputs[place]).listed();
        // What the expression gives would be too much for the inputs that are left.
        let are_right = diagnostics.len() == mistakes
            && gives_gradients(expression, inputs.len(), &candidates, diagnostics)
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
        return named.iter().map(|one| one.name.clone()).listed();
    }
    if count == 1 {
        return vec![local("output")];
    }
    (0..count)
        .map(|output| local(format_args!("output_{output}")))
        .listed()
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
        return names.listed();
    }
    if count == 1 {
        return vec![local("grad_output")];
    }
    (0..count)
        .map(|output| local(format_args!("grad_output_{output}")))
        .listed()
}
