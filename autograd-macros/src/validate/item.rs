//! Rules for the block as a whole and for the functions that have a role in it.

use std::ops::Range;

use quote::ToTokens;
use syn::ext::IdentExt as _;
use syn::{
    Attribute, FnArg, GenericArgument, GenericParam, Ident, PathArguments, PathSegment, Safety,
    Signature, TypeParam,
};

use super::inputs::ReadInputs;
use super::options::{BackwardOptions, Form, ForwardOptions, FunctionOptions, ResidualOptions};
use super::outputs::ReadOutputs;
use super::{arguments, elementwise, formula, lifetimes, parameters, residual};
use crate::diagnostics::Diagnostics;
use crate::lists::Lists as _;
use crate::lower;
use crate::model::{Definition, Forward, FunctionKind, Shapes};
use crate::parse::{Argument, Helper, ImplBlock, Item, Method, Part};
use crate::place::Place;
use crate::show::show;
use crate::spell::for_each_word;
use crate::types::last_segment;

/// The functions of the block that have a role.
pub(super) struct Roles<'a> {
    pub(super) forward: Option<(&'a Method, ForwardOptions)>,
    pub(super) backwards: Vec<(&'a Method, BackwardOptions)>,
    pub(super) adjoint: Option<(&'a Method, BackwardOptions)>,
    pub(super) jvp: Option<&'a Method>,
    pub(super) vmap: Option<&'a Method>,
    pub(super) residual: Option<(&'a Method, ResidualOptions)>,
}

/// The attribute must be on an `impl` block or, in its short form, on a function.
///
/// ```text
/// #[custom_function]
/// pub struct LinearFunction;
/// //  ^^^^^^ `#[custom_function]` must be applied to an `impl` block or a `fn`, found `struct`
/// ```
pub(super) fn block(
    item: Item,
    options: &mut FunctionOptions,
    place: &Place,
    diagnostics: &mut Diagnostics,
) -> Option<(ImplBlock, FunctionKind)> {
    match item {
        Item::Impl(block) => Some((*block, FunctionKind::Block)),
        Item::Function(function) => {
            let (sig, arguments) = (&function.sig, std::mem::take(&mut options.short));
            let Form {
                elementwise: order,
                scan,
                pairs,
            } = std::mem::take(&mut options.form);
            let given = pairs
                .map(|(_, order)| order)
                .or(order)
                .or(scan.as_ref().map(|_| elementwise::DEFAULT_ORDER));
            let Some(order) = elementwise::order_of(sig, given, diagnostics) else {
                return Some(lower::short::block(*function, arguments));
            };
            let of = (order, scan.as_ref(), pairs.map(|(reduce, _)| reduce));
            let elementwise = elementwise::read(sig, of, &arguments, diagnostics)?;
            let mut elementwise = lower::scan::sorted(elementwise);
            elementwise.functions.clone_from(&place.functions);
            let mut others = sig.to_token_stream();
            others.extend(
                place
                    .functions
                    .iter()
                    .map(|beside| beside.function.to_token_stream()),
            );
            elementwise.constants = place.constants.of_formula(&function.body, others);
            let body = function.body.stream();
            formula::check(&body, &elementwise, &place.elementwise, diagnostics);
            Some(lower::elementwise::block(*function, elementwise, arguments))
        }
        Item::Unfinished => {
            diagnostics.is_unreadable = true;
            None
        }
        Item::Other(keyword) => {
            let message = format!(
                "`#[custom_function]` must be applied to an `impl` block or a `fn`, found `{keyword}`"
            );
            let help = "write `#[custom_function] impl Name { #[forward] fn forward(…) … }`";
            diagnostics.error_with_help(&keyword, &message, help);
            None
        }
    }
}

/// The block must be an inherent one, of a type that has a name.
///
/// ```text
/// #[custom_function]
/// impl Clone for LinearFunction { … }
/// //   ^^^^^ `#[custom_function]` must be applied to an inherent `impl` block, found an `impl` of a trait
/// ```
pub(super) fn definition(
    block: &ImplBlock,
    kind: FunctionKind,
    options: FunctionOptions,
    diagnostics: &mut Diagnostics,
) -> Option<Definition> {
    let self_ty = &block.self_ty;
    if let Some(trait_) = &block.trait_ {
        let message = "`#[custom_function]` must be applied to an inherent `impl` block, found an `impl` of a trait";
        let help = format!("write `impl {} {{ … }}`", show(self_ty));
        diagnostics.error_with_help(trait_, message, &help);
        diagnostics.is_unreadable = true;
        return None;
    }
    let Some(segment) = last_segment(self_ty) else {
        let message = format!("`{}` has no name to call the function by", show(self_ty));
        diagnostics.error_with_help(
            self_ty,
            &message,
            "define a `struct` and write its name here",
        );
        return None;
    };
    if is_conditional(segment) {
        // The compiler reports it, and would report generated code again.
        return None;
    }
    are_of_the_type(block, segment, diagnostics)?;
    let named = |name: &str| {
        let attributes = block.attrs.iter();
        let named = attributes.filter(|attribute| attribute.path().is_ident(name));
        named.cloned().listed()
    };
    let name = options.name.unwrap_or_else(|| match kind.free() {
        Some(free) => free.ident.unraw().to_string(),
        None => segment.ident.to_string(),
    });
    Some(Definition {
        ident: segment.ident.clone(),
        self_ty: self_ty.clone(),
        generics: block.generics.clone(),
        cfgs: named("cfg"),
        docs: named("doc"),
        name,
        runtime: options.runtime,
        kind,
    })
}

/// Returns whether a type has conditions of its own, as in `Exp<T, D:>`.
fn is_conditional(segment: &PathSegment) -> bool {
    match &segment.arguments {
        PathArguments::AngleBracketed(bracketed) => bracketed.args.iter().any(|argument| {
            matches!(
                argument,
                GenericArgument::Constraint(_) | GenericArgument::AssocType(_)
            )
        }),
        _ => false,
    }
}

/// The type, or a condition, names each type parameter of the block.
///
/// ```text
/// struct Double;
/// impl<T: Element> Double { #[forward] fn forward(x: ArrayView1<T>) -> Array1<T> { … } … }
/// //   ^ `Double` has no type parameter `T`
/// ```
fn are_of_the_type(
    block: &ImplBlock,
    segment: &PathSegment,
    diagnostics: &mut Diagnostics,
) -> Option<()> {
    let mut words = Vec::new();
    let clause = block.generics.where_clause.as_ref();
    let tokens = [block.self_ty.to_token_stream(), clause.to_token_stream()];
    for tokens in tokens {
        for_each_word(tokens, &mut |word| words.push(word.clone()));
    }
    let names = block.generics.type_params();
    let names: Vec<&Ident> = names.map(|param| &param.ident).listed();
    let Some(missing) = names.iter().find(|name| !words.contains(name)) else {
        return Some(());
    };
    let name = &segment.ident;
    let list = names.iter().map(show).listed().join(", ");
    let marked = if names.len() == 1 {
        list.clone()
    } else {
        format!("({list})")
    };
    let params = block.generics.params.iter().map(|param| match param {
        GenericParam::Type(TypeParam { ident, bounds, .. }) if !bounds.is_empty() => {
            format!("{ident}: {}", show(bounds))
        }
        _ => show(param),
    });
    let params = params.listed().join(", ");
    let message = format!("`{name}` has no type parameter `{missing}`");
    let help = format!(
        "declare `struct {name}<{list}>(std::marker::PhantomData<{marked}>);`, and write `impl<{params}> {name}<{list}>`"
    );
    diagnostics.error_with_help(missing, &message, &help);
    // The compiler would report it too.
    diagnostics.is_unreadable = true;
    None
}

/// Finds forward and the backward functions, and checks each against the rules for its signature.
pub(super) fn roles<'a>(
    block: &'a ImplBlock,
    definition: &Definition,
    diagnostics: &mut Diagnostics,
) -> Roles<'a> {
    for (helper, keyword) in &block.misplaced {
        is_on_a_function(helper, keyword, diagnostics);
    }
    let mut forwards = Vec::new();
    let mut backwards = Vec::new();
    let (mut jvps, mut vmaps, mut residuals) = (Vec::new(), Vec::new(), Vec::new());
    let mut adjoints = Vec::new();
    for method in &block.methods {
        // The short form's own function is beside the type.
        if definition.kind.free().is_none() {
            is_not_generated(method, diagnostics);
        }
        let Some((helper, others)) = only_helper(method, diagnostics) else {
            continue;
        };
        is_plain(&method.sig, &method.attrs, diagnostics);
        let part = part(helper, diagnostics);
        if part != Part::Forward {
            lifetimes::are_declared(&method.sig, block, diagnostics);
        }
        match part {
            Part::Forward | Part::OfForward => forwards.push((method, helper, others)),
            Part::Backward | Part::OfBackward => {
                let mut options = arguments::backward(&helper.arguments, diagnostics);
                for other in others {
                    let more = arguments::backward(&other.arguments, diagnostics);
                    options.inputs.extend(more.inputs);
                    options.are_doubtful = true;
                }
                backwards.push((method, options));
            }
            Part::Adjoint => {
                let options = arguments::backward(&helper.arguments, diagnostics);
                adjoints.push((method, helper, options));
            }
            Part::Jvp => jvps.push((method, helper)),
            Part::Vmap => vmaps.push((method, helper)),
            Part::Residual => residuals.push((method, helper)),
        }
    }
    let is_whole = block.unfinished.is_empty();
    let forward = only_forward(definition, &forwards, is_whole, diagnostics);
    if let Some((method, ..)) = forward
        && backwards.is_empty()
        && residuals.is_empty()
        && adjoints.is_empty()
        && is_whole
        && diagnostics.len() == 0
    {
        has_no_backward(definition, block, &method.sig, diagnostics);
    }
    let forward = forward.map(|(method, helper, others)| {
        let options = forward_options(method, helper, &others, diagnostics);
        (method, options)
    });
    let others = backwards.iter().map(|(method, _)| *method);
    let mut others: Vec<&Method> = others
        .chain(jvps.iter().map(|(method, _)| *method))
        .listed();
    let of_adjoints: Vec<&Method> = adjoints.iter().map(|(method, ..)| *method).listed();
    let adjoint = only_adjoint(adjoints, &others, definition, diagnostics);
    others.extend(of_adjoints);
    let jvp = only_rule("jvp", definition, &jvps, diagnostics);
    let vmap = only_rule("vmap", definition, &vmaps, diagnostics);
    let residual = only_rule("residual", definition, &residuals, diagnostics);
    let residual = residual.map(|(method, helper)| {
        let options = arguments::residual(&helper.arguments, diagnostics);
        (method, options)
    });
    let is_alone = residual.is_none() || residual::is_alone(&others, definition, diagnostics);
    let mut without_arguments = |attribute, rule: Option<(&'a Method, &Helper)>| {
        let (method, helper) = rule?;
        arguments::none(attribute, &helper.arguments, diagnostics);
        Some(method)
    };
    let jvp = without_arguments("jvp", jvp);
    let vmap = without_arguments("vmap", vmap);
    let others = is_alone.then_some((backwards, adjoint, jvp));
    // Where they are to be removed, their rules would ask for more of them.
    let (backwards, adjoint, jvp) = others.unwrap_or_default();
    Roles {
        forward,
        backwards,
        adjoint,
        jvp,
        vmap,
        residual,
    }
}

/// Reads the options of forward, which may be in several attributes.
fn forward_options(
    method: &Method,
    helper: &Helper,
    others: &[&Helper],
    diagnostics: &mut Diagnostics,
) -> ForwardOptions {
    let is_argument = as_argument(helper).is_some();
    let mut arguments = if is_argument {
        Ok(Vec::new())
    } else {
        helper.arguments.clone()
    };
    if let Ok(arguments) = &mut arguments {
        let others = others
            .iter()
            .flat_map(|other| other.arguments.clone().unwrap_or_default());
        arguments.extend(others);
        arguments.extend(method.helpers.iter().filter_map(as_argument));
    }
    arguments::forward(&arguments, diagnostics)
}

/// Returns the generic parameters of a function that the block must have in its stead.
pub(super) fn own_parameters(sig: &Signature) -> impl Iterator<Item = &GenericParam> {
    let params = sig.generics.params.iter();
    params.filter(|param| !matches!(param, GenericParam::Lifetime(_)))
}

/// Returns whether the block has an `apply`, so that another would only cause follow-up errors. The function of the
/// short form is beside the type, and may have that name.
pub(super) fn has_apply(block: &ImplBlock, definition: &Definition) -> bool {
    let mut methods = block.methods.iter();
    definition.kind.free().is_none() && methods.any(|method| method.sig.ident == "apply")
}

/// Returns the places of functions that the compiler would report, or report again: all of ours if a type in them is
/// wrong, else those with lifetimes that an `async fn` cannot leave out or that are not declared, with two parameters of
/// one name, or, without a forward that could be read, with a generated struct that is then not there.
pub(super) fn dropped(
    block: ImplBlock,
    is_unreadable: bool,
    has_forward: bool,
) -> Vec<Range<usize>> {
    let mut dropped = block.unfinished;
    for method in block.methods {
        let mut is_refused = method.sig.asyncness.is_some()
            || parameters::twice(&method.sig).is_some()
            || lifetimes::undeclared(&method.sig, &block.generics).is_some();
        let sig = [
            method.sig.inputs.to_token_stream(),
            method.sig.output.to_token_stream(),
        ];
        for_each_word(sig.into_iter().tokens(), &mut |word| {
            let word = word.to_string();
            let generated = ["NeedsInputGrad", "Context", "Gradients"];
            let is_generated = generated.iter().any(|ending| word.ends_with(ending));
            is_refused |= is_generated && !has_forward;
        });
        if !method.helpers.is_empty() && (is_unreadable || is_refused) {
            dropped.push(method.place);
        }
    }
    dropped
}

/// Combines what was read of forward.
pub(super) fn forward(
    definition: &Definition,
    method: &Method,
    ReadInputs {
        inputs,
        needs_input_grad,
    }: ReadInputs,
    returns: ReadOutputs,
) -> Forward {
    let (mut inputs, mut returned) = (inputs, returns.returned);
    match &definition.kind {
        FunctionKind::Block | FunctionKind::Short(_) => {}
        FunctionKind::Elementwise(_, elementwise) => {
            let is_named = elementwise.pairs.is_none();
            let tensors = inputs.iter_mut().filter(|input| input.tensor.is_some());
            for input in tensors.filter(|_| is_named) {
                let mut names = elementwise.inputs.iter();
                if let Some(place) = names.position(|name| *name == input.name) {
                    let axes = elementwise.axes_of_input(place);
                    input.shown = elementwise.shown("ArrayView<'_, ", axes);
                }
            }
            let outputs = returned.iter_mut().zip(0..elementwise.outputs.len());
            for (output, place) in outputs.filter(|_| is_named) {
                output.shown = elementwise.shown("Array<", elementwise.axes_of_output(place));
            }
        }
    }
    let is_doc = |attribute: &&Attribute| attribute.path().is_ident("doc");
    let free = definition.kind.free();
    Forward {
        ident: free.map_or(&method.sig, |free| &free.kernel).ident.clone(),
        vis: method.vis.clone(),
        docs: method.attrs.iter().filter(is_doc).cloned().listed(),
        generics: method.sig.generics.clone(),
        inputs,
        needs_input_grad,
        returned,
        tuple: returns.tuple,
        fallible: returns.fallible,
        shapes: Shapes::default(),
    }
}

/// There must be one forward.
///
/// ```text
/// #[custom_function]
/// impl LinearFunction {}
/// //   ^^^^^^^^^^^^^^ `LinearFunction` has no forward function
/// ```
fn only_forward<'a>(
    definition: &Definition,
    forwards: &[(&'a Method, &'a Helper, Vec<&'a Helper>)],
    is_whole: bool,
    diagnostics: &mut Diagnostics,
) -> Option<(&'a Method, &'a Helper, Vec<&'a Helper>)> {
    let name = &definition.ident;
    let Some((first, rest)) = forwards.split_first() else {
        if !is_whole {
            return None;
        }
        let message = format!("`{name}` has no forward function");
        let help = "write `#[forward]` above the function that computes the outputs";
        diagnostics.error_with_help(&definition.self_ty, &message, help);
        return None;
    };
    for (_, helper, _) in rest {
        let message = format!(
            "`{name}` has more than one forward function: `{}` is marked already; \
             remove this `#[forward]`",
            first.0.sig.ident
        );
        diagnostics.error(&helper.name, message);
    }
    Some(first.clone())
}

/// There may be at most one rule for forward mode, one for a batch, and one residual.
///
/// ```text
/// #[jvp]
/// fn jvp(tangent_x: ArrayView1<f32>) -> Array1<f32>
/// #[jvp]
/// //^^^ `Exp` has more than one `#[jvp]` rule
/// fn forward_mode(tangent_x: ArrayView1<f32>) -> Array1<f32>
/// ```
fn only_rule<'a>(
    attribute: &str,
    definition: &Definition,
    rules: &[(&'a Method, &'a Helper)],
    diagnostics: &mut Diagnostics,
) -> Option<(&'a Method, &'a Helper)> {
    let (first, rest) = rules.split_first()?;
    for (_, helper) in rest {
        let message = format!(
            "`{}` has more than one {}: `{}` is marked already; remove this `#[{attribute}]`",
            definition.ident,
            match attribute {
                "residual" => "residual".to_owned(),
                _ => format!("`#[{attribute}]` rule"),
            },
            first.0.sig.ident
        );
        diagnostics.error(&helper.name, message);
    }
    Some(*first)
}

/// There may be one adjoint, and nothing that it gives already.
///
/// ```text
/// #[adjoint(x)]
/// fn adjoint(grad_output: ArrayView1<f64>) -> Array1<f64>
/// #[backward(x)]
/// fn backward(grad_output: ArrayView1<f64>) -> Array1<f64>
/// // ^^^^^^^^ `Sums` has an adjoint, which gives all gradients
/// ```
fn only_adjoint<'a>(
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
        let message = if part == Some(Part::Jvp) {
            format!(
                "`{name}` has an adjoint, so its rule for forward mode is forward; remove this rule"
            )
        } else {
            format!(
                "`{name}` has an adjoint, which gives all gradients; remove this function, or the adjoint"
            )
        };
        diagnostics.error(&other.sig.ident, message);
    }
    Some((method, options))
}

/// There must be a backward.
///
/// ```text
/// #[custom_function]
/// impl Exp { #[forward] fn forward(x: ArrayView1<f32>) -> Array1<f32> { … } }
/// //   ^^^ `Exp` has no backward function
/// #[custom_function]
/// fn exp(x: ArrayView1<f32>) -> Array1<f32> { … }
/// // ^^^ `exp` has no gradients
/// #[custom_function]
/// impl Exp { #[forward] fn forward(…) -> … { … } fn backward(grad_output: …) -> … { … } }
/// //                                                ^^^^^^^^ `backward` asks for `grad_output`, but is not marked
/// ```
fn has_no_backward(
    definition: &Definition,
    block: &ImplBlock,
    forward: &Signature,
    diagnostics: &mut Diagnostics,
) {
    let (name, written) = (&definition.ident, &forward.ident);
    let asks = |method: &Method| {
        let mut names = parameters::names(&method.sig);
        names
            .find(|name| name.to_string().starts_with("grad_"))
            .cloned()
    };
    let unmarked = block
        .methods
        .iter()
        .filter(|method| method.helpers.is_empty());
    let unmarked = unmarked
        .filter_map(|method| Some((method, asks(method)?)))
        .listed();
    match &definition.kind {
        FunctionKind::Block if !unmarked.is_empty() => {
            for (method, asked) in unmarked {
                let name = &method.sig.ident;
                let message = format!("`{name}` asks for `{asked}`, but is not marked");
                let help = "write `#[backward(x)]` above it, if it returns the gradient of `x`, or `#[backward]`, if it \
                            returns those of all inputs";
                diagnostics.error_with_help(name, &message, help);
            }
        }
        FunctionKind::Block => diagnostics.error_with_help(
            &definition.self_ty,
            &format!("`{name}` has no backward function"),
            "write `#[backward(x)]` above a function that returns the gradient of `x`, or `#[backward]` above one that \
             returns them all",
        ),
        FunctionKind::Short(free) if free.complete => diagnostics.error_with_help(
            written,
            &format!("`{written}` has no gradients"),
            "write `#[custom_function(grad(x) = …)]`, with an expression for the gradient of each tensor that it takes",
        ),
        FunctionKind::Short(_) | FunctionKind::Elementwise(..) => {}
    }
}

/// A function must have one role, once.
///
/// ```text
/// #[forward]
/// #[backward(x)]
/// //^^^^^^^^ `double` is marked `#[forward]` already
/// fn double(x: ArrayView1<f32>) -> Array1<f32>
/// #[backward(q)]
/// #[backward(k)]
/// //^^^^^^^^ `backward` is marked `#[backward(q)]` already
/// fn backward(grad_output: ArrayView2<f32>, …) -> (Array2<f32>, Array2<f32>)
/// ```
///
/// Returns the attribute, and others of its name that have more arguments.
fn only_helper<'a>(
    method: &'a Method,
    diagnostics: &mut Diagnostics,
) -> Option<(&'a Helper, Vec<&'a Helper>)> {
    let is_argument = |helper: &&Helper| argument_of(helper).is_some();
    let (strays, roles): (Vec<_>, Vec<_>) = method.helpers.iter().partition(is_argument);
    for helper in &strays {
        is_on_its_own(helper, diagnostics);
    }
    let Some((first, rest)) = roles.split_first() else {
        return Some((strays.first()?, Vec::new()));
    };
    let function = &method.sig.ident;
    let mut others = Vec::new();
    for helper in rest {
        let name = Part::meant(&first.name).map_or("", Part::name);
        let is_same = Part::meant(&helper.name).map(Part::name) == Some(name);
        if let (true, Some(given), Some(more)) = (is_same, arguments(first), arguments(helper))
            && given != more
        {
            let message = format!("`{function}` is marked `#[{name}({given})]` already");
            let tuple = if name == "backward" {
                " if it returns a tuple of these gradients, or remove one of the two"
            } else {
                ""
            };
            let help = format!("write `#[{name}({given}, {more})]`{tuple}");
            diagnostics.error_with_help(&helper.name, &message, &help);
            others.push(*helper);
        } else {
            let name = &first.name;
            let message =
                format!("`{function}` is marked `#[{name}]` already; remove one of the two");
            diagnostics.error(&helper.name, message);
        }
    }
    Some((first, others))
}

/// Returns the arguments of an attribute as they are written, if there are any.
fn arguments(helper: &Helper) -> Option<String> {
    let arguments = helper.arguments.as_ref().ok()?.iter();
    let written = arguments.map(|argument| match &argument.list {
        Some(list) => {
            let names: Vec<String> = list.iter().map(|one| one.name.to_string()).listed();
            format!("{}({})", argument.name, names.join(", "))
        }
        None => argument.name.to_string(),
    });
    let written: Vec<String> = written.listed();
    (!written.is_empty()).then(|| written.join(", "))
}

/// Arguments of `#[forward]` and `#[backward]` are no attributes themselves.
///
/// ```text
/// #[forward]
/// #[saves(mean)]
/// //^^^^^ `saves` is an argument of `#[forward]`
/// fn forward(x: ArrayView1<f32>) -> (Array1<f32>, f32)
/// #[once_differentiable]
/// //^^^^^^^^^^^^^^^^^^^ `once_differentiable` is not an attribute
/// #[backward(x)]
/// fn backward(grad_output: ArrayView1<f32>) -> Array1<f32>
/// ```
fn is_on_its_own(helper: &Helper, diagnostics: &mut Diagnostics) {
    let name = &helper.name;
    let is = |attribute| format!("`{name}` is an argument of `#[{attribute}]`");
    let (message, help) = match argument_of(helper) {
        Some(Part::OfForward) => (is("forward"), format!("write `#[forward({name}(…))]`")),
        _ if name == "once_differentiable" => (
            format!("`{name}` is not an attribute"),
            "remove it: a function on arrays is once differentiable; for one on tensors, write `#[backward(x, once)]`"
                .to_owned(),
        ),
        _ => (is("backward"), format!("write `#[backward(x, {name})]`")),
    };
    diagnostics.error_with_help(name, &message, &help);
}

/// Returns whose argument an attribute should be, if it is none itself.
fn argument_of(helper: &Helper) -> Option<Part> {
    Part::meant(&helper.name).filter(|part| matches!(part, Part::OfForward | Part::OfBackward))
}

/// Returns `#[saves(mean)]` as the argument that it should be.
fn as_argument(helper: &Helper) -> Option<Argument> {
    (argument_of(helper)? == Part::OfForward).then(|| Argument {
        name: helper.name.clone(),
        list: Some(helper.arguments.clone().unwrap_or_default()),
        value: None,
        within: None,
        each: None,
        is_quoted: false,
    })
}

/// Our attributes must be spelled right, be written without a path, and not depend on the configuration.
///
/// ```text
/// #[foward]
/// //^^^^^^ there is no attribute `#[foward]`; did you mean `#[forward]`?
/// #[cfg_attr(feature = "fast", backward(x))]
/// //                           ^^^^^^^^ `#[backward]` cannot depend on the configuration
/// ```
fn part(helper: &Helper, diagnostics: &mut Diagnostics) -> Part {
    let name = &helper.name;
    // Only attributes that are meant to be ours are read.
    let part = Part::meant(name).unwrap_or(Part::OfForward);
    let meant = part.name();
    match &helper.disguise {
        Some(attribute) if attribute.path().is_ident("cfg_attr") => {
            let message = format!("`#[{name}]` cannot depend on the configuration");
            let help = "put the `#[cfg(…)]` on the whole item, under `#[custom_function]`";
            diagnostics.error_with_help(name, &message, help);
        }
        Some(attribute) => {
            let message = format!("`#[{name}]` is written without a path");
            let help = format!("write `#[{name}]`");
            diagnostics.error_with_help(attribute.path(), &message, &help);
        }
        None if name != meant && !meant.is_empty() => {
            let message = format!("there is no attribute `#[{name}]`; did you mean `#[{meant}]`?");
            diagnostics.error(name, message);
        }
        None => {}
    }
    part
}

/// Our attributes must be on functions.
///
/// ```text
/// #[forward]
/// //^^^^^^^ `#[forward]` must be applied to a function, found `const`
/// const RATE: f64 = 0.5;
/// ```
fn is_on_a_function(helper: &Helper, keyword: &Ident, diagnostics: &mut Diagnostics) {
    let name = &helper.name;
    let message = format!("`#[{name}]` must be applied to a function, found `{keyword}`");
    diagnostics.error(name, message);
}

/// `apply` must not be written by hand.
///
/// ```text
/// pub fn apply(x: &Tensor1<f32>) -> Tensor1<f32>
/// //     ^^^^^ `apply` is generated
/// ```
fn is_not_generated(method: &Method, diagnostics: &mut Diagnostics) {
    if method.sig.ident == "apply" {
        let message = "`apply` is generated from forward; give this function another name";
        diagnostics.error(&method.sig.ident, message);
    }
}

/// Forward and the backward functions must be plain associated functions: no `self`, no qualifiers, no
/// type parameters, and no `#[cfg]` or documentation of parameters.
///
/// ```text
/// #[forward]
/// fn forward(&self, x: ArrayView1<f32>) -> Array1<f32>
/// //         ^^^^^ a differentiable function cannot take `self`
/// ```
fn is_plain(sig: &Signature, attrs: &[Attribute], diagnostics: &mut Diagnostics) {
    if let Some(receiver) = sig.receiver() {
        let message = "a differentiable function cannot take `self`";
        let help =
            "pass what it needs as a value: backward can ask for each parameter of forward by name";
        diagnostics.once(receiver, message, help);
    }
    let mut qualifier = |on: &dyn ToTokens, name: &str| {
        let message = format!("`{}` cannot be `{name}`; remove it", sig.ident);
        diagnostics.error(&on.to_token_stream(), message);
    };
    if let Some(constness) = &sig.constness {
        qualifier(constness, "const");
    }
    if let Some(asyncness) = &sig.asyncness {
        qualifier(asyncness, "async");
    }
    if let Safety::Unsafe(unsafety) = &sig.safety {
        qualifier(unsafety, "unsafe");
    }
    if let Some(abi) = &sig.abi {
        qualifier(abi, "extern");
    }
    if let Some(variadic) = &sig.variadic {
        diagnostics.error(variadic, format!("`{}` cannot be variadic", sig.ident));
    }
    for param in own_parameters(sig) {
        let message = "functions of the block cannot have generic parameters of their own";
        let help = "put them on the type and on its `impl` block, which forward and backward share";
        diagnostics.once(param, message, help);
    }
    let on_parameters = || {
        sig.inputs.iter().flat_map(|argument| match argument {
            FnArg::Typed(parameter) => &parameter.attrs,
            FnArg::Receiver(receiver) => &receiver.attrs,
        })
    };
    let is_cfg = |attribute: &&Attribute| attribute.path().is_ident("cfg");
    if let Some(cfg) = attrs.iter().chain(on_parameters()).find(is_cfg) {
        let message = format!("`{}` cannot depend on the configuration", sig.ident);
        diagnostics.error_with_help(
            cfg,
            &message,
            "put the `#[cfg(…)]` on the whole item, under `#[custom_function]`",
        );
        // What it adds or leaves out may be what others are about.
        diagnostics.is_doubtful = true;
    }
    let is_doc = |attribute: &&Attribute| attribute.path().is_ident("doc");
    if let Some(doc) = on_parameters().find(is_doc) {
        let message = "a parameter cannot have documentation";
        let help = "write it above the function, or begin the comment with `//`";
        diagnostics.error_with_help(doc, message, help);
    }
}
