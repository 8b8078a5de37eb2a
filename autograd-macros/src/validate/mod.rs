//! Checks a definition against the rules: the only way to a [`FunctionModel`].
//!
//! Each rule is a function with a bad example above it; all of them run, so that all mistakes are
//! reported at once. Where to find them:
//!
//! - [`place`]: the names beside the item, and what it is in.
//! - [`arguments`], [`options`]: the arguments of `#[custom_function(…)]`, `#[forward(…)]` and the other attributes.
//! - [`item`]: an inherent `impl` block, one forward, a backward, plain associated functions.
//! - [`inputs`], [`parameters`]: the parameters of forward, tensor or value.
//! - [`outputs`]: what forward returns; its outputs and intermediates.
//! - [`bounds`]: type parameters that are element types and ranks.
//! - [`lifetimes`]: tensors are borrowed for one call.
//! - [`names`]: one thing per name.
//! - [`shapes`]: the axes of tensors.
//! - [`coverage`]: each differentiable input has exactly one gradient.
//! - [`asked`]: the parameters of backward functions and of the `#[jvp]` rule, by name.
//! - [`adjoint`]: the adjoint of a linear function.
//! - [`bodies`]: what the tokens of backward functions show.
//! - [`operands`]: the operators in gradients that are expressions.
//! - [`forms`]: the form in which something is asked for: view, owned, `&Tensor`, optional or not.
//! - [`agreement`]: rank and element type are the same wherever a name appears.
//! - [`returns`]: what these return.
//! - [`residual`]: the function that outputs make zero, in place of backward functions.
//! - [`vmap`]: the function of a batch.
//! - [`batch`]: the inputs that have a first axis for the examples in `apply_batch`.
//! - [`pairs`]: functions of rows and columns.
//! - [`order`]: once differentiable, or any number of times.
//! - [`gradcheck`]: the arguments of the generated test.
//! - [`elementwise`], [`formula`]: elementwise functions, and their bodies.
//! - [`scan`]: the states and the steps of a scan.
//!
//! A free function is judged as the block that [`lower`] makes of it.

mod adjoint;
mod agreement;
pub(crate) mod arguments;
mod asked;
mod batch;
mod bodies;
mod bounds;
mod context;
mod coverage;
mod elementwise;
mod expressions;
mod forms;
mod formula;
mod gradcheck;
mod inputs;
mod item;
mod lifetimes;
mod lookalikes;
mod methods;
mod names;
mod operands;
mod options;
mod order;
mod outputs;
mod pairs;
mod parameters;
mod place;
mod residual;
mod returns;
mod scan;
mod shapes;
mod vmap;

use std::ops::Range;

use asked::Asker;
use context::Context;
use coverage::Covers;
use options::{BackwardOptions, ForwardOptions, ResidualOptions};
use proc_macro2::TokenStream;
use syn::{Ident, ReturnType, Signature};

use crate::diagnostics::Diagnostics;
use crate::lists::Lists as _;
use crate::lower::{self, adjoint::Turned};
use crate::model::{
    Adjoint, Backward, Batch, Definition, Derivative, Elementwise, Forward, FunctionKind,
    FunctionModel, Input, Order, Residual, Saved, Source, Vmap, Wants, Written,
};
use crate::parse::{self, Argument, Attributes, ImplBlock, Item, Method, Part};
use crate::place::{Mistake, Place};
use crate::strip;
use crate::types::Floats;

pub(crate) use returns::struct_of_gradients;

/// A function with mistakes: all of them, and what could be read in spite of them.
#[derive(Default)]
pub(crate) struct Rejected {
    pub(crate) errors: TokenStream,
    pub(crate) definition: Option<Definition>,
    pub(crate) forward: Option<Forward>,
    pub(crate) backwards: Vec<Backward>,
    pub(crate) batch: Option<Batch>,
    /// Whether `apply` has the signature that was meant.
    pub(crate) apply_is_right: bool,
    /// The functions whose signatures have mistakes: errors in their bodies would only repeat those.
    pub(crate) flawed: Vec<Ident>,
    /// The places of functions that the compiler would report, or report again.
    pub(crate) dropped: Vec<Range<usize>>,
    /// Whether the compiler would report forward's types again.
    pub(crate) is_unreadable: bool,
    /// What there can be where nothing can be beside the function, which is a method or makes a type that is there already.
    pub(crate) alone: Option<Alone>,
}

/// A function without what is generated beside it.
pub(crate) enum Alone {
    /// The function of tensors.
    OfTensors,
    /// As it is written: a trait defines its signature.
    AsWritten,
}

/// Checks an item against all rules.
pub(crate) fn function(
    (attributes, item): (Attributes, syn::Result<Item>),
    place: &Place,
) -> Result<FunctionModel, Box<Rejected>> {
    let mut diagnostics = Diagnostics::default();
    if let Some(Mistake::Repeated(name)) = &place.mistake {
        place::is_repeated(name, &mut diagnostics);
        return Err(Box::new(Rejected {
            errors: diagnostics.finish().err().unwrap_or_default(),
            is_unreadable: true,
            ..Rejected::default()
        }));
    }
    let in_block = matches!(item, Ok(Item::Impl(_)));
    let mut options = arguments::custom_function(attributes, in_block, &mut diagnostics);
    let (block, kind) = diagnostics
        .ok(item)
        .and_then(|item| item::block(item, &mut options, place, &mut diagnostics))
        .unzip();
    let asked_for = std::mem::take(&mut options.gradchecks);
    let batched = options.batch.take();
    let shapes = options.shapes.take();
    let definition = block
        .as_ref()
        .zip(kind)
        .and_then(|(block, kind)| item::definition(block, kind, options, &mut diagnostics));
    let mut forward = None;
    let mut rules = Rules::default();
    let mut flawed = Vec::new();
    let mut gradchecks = Vec::new();
    let mut batch = None;
    if let (Some(block), Some(definition)) = (&block, &definition) {
        let of = (definition, shapes.as_ref());
        (forward, rules) = functions(block, of, place, &mut flawed, &mut diagnostics);
        if let Some(forward) = forward.as_ref().filter(|_| !diagnostics.is_doubtful) {
            let of = (forward, rules.adjoint.is_some());
            let read = |argument| gradcheck::read(argument, definition, of, &mut diagnostics);
            gradchecks = asked_for.iter().filter_map(read).listed();
            batch = batched.and_then(|names| {
                batch::read(&names, block, definition, forward, &mut diagnostics)
            });
        }
        forward = forward.filter(|_| !item::has_apply(block, definition));
    }
    let alone = place::check(place, definition.as_ref(), &mut diagnostics);
    let is_unreadable = diagnostics.is_unreadable;
    let has_forward = forward.is_some();
    let dropped = block.map_or_else(Vec::new, |block| {
        item::dropped(block, is_unreadable, has_forward)
    });
    match (diagnostics.finish(), definition, forward) {
        (Ok(()), Some(definition), Some(forward)) if dropped.is_empty() => {
            let Rules {
                backwards,
                jvp,
                residual,
                vmap,
                adjoint,
                ..
            } = rules;
            let (saved, order) = match &residual {
                Some(residual) => (of_equations(&forward, residual), Order::Any),
                None => derivatives(&definition, &forward, &backwards),
            };
            Ok(FunctionModel {
                definition,
                forward,
                backwards,
                jvp,
                residual,
                vmap,
                batch,
                adjoint,
                is_written: true,
                saved,
                order,
                gradchecks,
            })
        }
        (errors, definition, forward) => {
            let errors = errors.err().unwrap_or_default();
            Err(Box::new(Rejected {
                errors,
                definition,
                apply_is_right: rules.forward_is_right && forward.is_some(),
                forward,
                backwards: rules.backwards,
                batch,
                flawed,
                dropped,
                is_unreadable,
                alone,
            }))
        }
    }
}

/// The backward functions and the rules, and whether forward is as it should be.
#[derive(Default)]
struct Rules {
    forward_is_right: bool,
    backwards: Vec<Backward>,
    jvp: Option<Derivative>,
    residual: Option<Residual>,
    vmap: Option<Vmap>,
    adjoint: Option<Adjoint>,
}

fn functions(
    block: &ImplBlock,
    (definition, shapes): (&Definition, Option<&Argument>),
    place: &Place,
    flawed: &mut Vec<Ident>,
    diagnostics: &mut Diagnostics,
) -> (Option<Forward>, Rules) {
    let roles = item::roles(block, definition, diagnostics);
    let Some((method, options)) = roles.forward else {
        return (None, Rules::default());
    };
    let floats = Floats::of(&definition.generics, &method.sig, &place.holders);
    let mistakes = diagnostics.len();
    let (forward, is_certain) = read_forward(
        block,
        definition,
        method,
        options,
        &floats,
        flawed,
        diagnostics,
    );
    // Parameters of its own have been refused with the roles.
    let has_its_own = item::own_parameters(&method.sig).next().is_some();
    let is_right = diagnostics.len() == mistakes && !has_its_own;
    let Some(mut forward) = forward else {
        return (None, Rules::default());
    };
    if let Some(argument) = shapes {
        let mistakes = diagnostics.len();
        forward.shapes = shapes::read(argument, block, definition, &forward, diagnostics);
        // Lengths of axes would be compared with shapes that are wrong.
        diagnostics.is_doubtful |= diagnostics.len() > mistakes;
    }
    if let Some((residual, _)) = &roles.residual {
        residual::mark_unknowns(&residual.sig, &mut forward);
    }
    let nothing =
        forward.differentiable().is_empty() || forward.differentiable_outputs().is_empty();
    if nothing || !is_certain {
        // Reported already, and mistakes of backward functions could not be told apart from it.
        return (Some(forward), Rules::default());
    }
    match &definition.kind {
        FunctionKind::Block | FunctionKind::Short(_) => {}
        // The runtime has its derivatives.
        FunctionKind::Elementwise(..) => {
            let rules = Rules {
                forward_is_right: is_right,
                ..Rules::default()
            };
            return (Some(forward), rules);
        }
    }

    let mut context = Context {
        definition,
        forward: &forward,
        body: &method.body,
        floats: &floats,
        diagnostics,
        part: Part::Backward,
        elements_differ: false,
        has_strangers: false,
    };
    let is_whole = block.unfinished.is_empty();
    if let Some((method, options)) = &roles.adjoint {
        let rules = read_adjoint(method, options, is_right, flawed, &mut context);
        let vmap = roles
            .vmap
            .and_then(|rule| read_vmap(rule, is_right, flawed, &mut context));
        let rules = Rules {
            forward_is_right: is_right,
            vmap,
            ..rules
        };
        return (Some(forward), rules);
    }
    let backwards = read_backwards(&roles.backwards, is_whole, flawed, &mut context);
    let jvp = roles.jvp.and_then(|rule| {
        names::tangents_have_distinct_names(&forward, context.diagnostics);
        derivative(&rule.sig, &Asker::Jvp, flawed, &mut context)
    });
    let residual = (roles.residual)
        .and_then(|(method, options)| read_residual(method, options, flawed, &mut context));
    let vmap = (roles.vmap).and_then(|rule| read_vmap(rule, is_right, flawed, &mut context));
    if context.diagnostics.len() == 0 && is_whole {
        asked::every_intermediate_is_used(&backwards, residual.as_ref(), &mut context);
    }
    if context.has_strangers {
        flawed.push(definition.item().clone());
    }
    if context.elements_differ {
        // Which of the functions has the element type that was meant is not known.
        flawed.extend(block.methods.iter().map(|method| method.sig.ident.clone()));
    }
    let rules = Rules {
        forward_is_right: is_right,
        backwards,
        jvp,
        residual,
        vmap,
        adjoint: None,
    };
    (Some(forward), rules)
}

fn read_residual(
    method: &Method,
    options: ResidualOptions,
    flawed: &mut Vec<Ident>,
    context: &mut Context<'_>,
) -> Option<Residual> {
    context.part = Part::Residual;
    let read =
        |context: &mut Context<'_>| derivative(&method.sig, &Asker::Residual, flawed, context);
    let residual = residual::read(&method.sig, options, read, context);
    context.part = Part::Backward;
    residual
}

fn read_vmap(
    rule: &Method,
    is_right: bool,
    flawed: &mut Vec<Ident>,
    context: &mut Context<'_>,
) -> Option<Vmap> {
    let mistakes = context.diagnostics.len();
    // It repeats the types of forward, also the wrong ones.
    let vmap = is_right.then(|| vmap::read(&rule.sig, context)).flatten();
    if context.diagnostics.len() > mistakes || !is_right {
        flawed.push(rule.sig.ident.clone());
    }
    vmap
}

/// Reads forward; `None` if `apply` could not have the same signature. The flag is whether everything in it is certain.
fn read_forward(
    block: &ImplBlock,
    definition: &Definition,
    method: &Method,
    mut options: ForwardOptions,
    floats: &Floats,
    flawed: &mut Vec<Ident>,
    diagnostics: &mut Diagnostics,
) -> (Option<Forward>, bool) {
    options.are_doubtful |= matches!(definition.kind.free(), Some(free) if !free.complete);
    let sig = &method.sig;
    let mistakes = diagnostics.len();
    let inputs = inputs::read(sig, definition, floats, diagnostics);
    diagnostics.is_doubtful |= inputs.is_none();
    let known = inputs.as_ref().map_or(&[][..], |read| &read.inputs);
    let are_right = diagnostics.len() == mistakes;
    let formula = definition.kind.elementwise();
    let of = (known, are_right);
    let returned = outputs::read(sig, formula, of, &options, floats, diagnostics);
    // An empty body would not determine `impl Trait`.
    let is_opaque = matches!(&sig.output, ReturnType::Type(_, ty) if parameters::is_opaque(ty));
    if diagnostics.len() > mistakes && !is_opaque {
        flawed.push(sig.ident.clone());
    }
    let (Some(inputs), Some(returned)) = (inputs, returned) else {
        return (None, false);
    };
    let is_certain = returned.is_certain;
    let forward = item::forward(definition, method, inputs, returned);
    let mistakes = diagnostics.len();
    bounds::are_given(definition, &forward, diagnostics);
    let lacks_a_bound = diagnostics.len() > mistakes;
    if lacks_a_bound || diagnostics.is_doubtful {
        // What the bodies do with the parameters would be reported too.
        flawed.extend(block.methods.iter().map(|method| method.sig.ident.clone()));
    }
    names::are_distinct(&forward, diagnostics);
    (Some(forward), is_certain)
}

/// Reads the backward functions; `is_whole` unless there are more, which could not be read.
fn read_backwards(
    methods: &[(&Method, BackwardOptions)],
    is_whole: bool,
    flawed: &mut Vec<Ident>,
    context: &mut Context<'_>,
) -> Vec<Backward> {
    let mistakes = context.diagnostics.len();
    let covers = coverage::read(methods, is_whole, context);
    let are_covered = context.diagnostics.len() == mistakes;
    // A function that asks for something by another name may be the one that uses an output.
    let mut are_read = true;
    let mut backwards = Vec::new();
    for ((method, options), covers) in methods.iter().zip(&covers) {
        if let Some((backward, is_read)) = read_backward(method, options, covers, flawed, context) {
            are_read &= is_read;
            backwards.push(backward);
        }
    }
    if backwards.len() == methods.len() && is_whole && are_covered && are_read {
        let methods = methods
            .iter()
            .map(|(method, options)| (*method, options))
            .listed();
        asked::every_gradient_is_used(&methods, &backwards, context);
    }
    returns::one_is_by_name(&backwards, context);
    if context.diagnostics.len() == mistakes {
        asked::the_context_is_useful(&backwards, flawed, context);
    }
    backwards
}

/// Reads one backward function, or an adjoint. The flag is whether all of its parameters could be read.
fn read_backward(
    method: &Method,
    options: &BackwardOptions,
    covers: &Covers,
    flawed: &mut Vec<Ident>,
    context: &mut Context<'_>,
) -> Option<(Backward, bool)> {
    let on = (context.definition, context.forward);
    let sig = lower::short::signature(method, &options.inputs, &covers.edges, on);
    let asker = Asker::Backward {
        method,
        options,
        covers,
    };
    let function = derivative(&sig, &asker, flawed, context)?;
    let is_read = function.parameters.len() == sig.inputs.len();
    let backward = Backward {
        vis: method.vis.clone(),
        function,
        written: lower::short::written(method, sig, covers.complete),
        covers: covers.edges.clone(),
    };
    Some((backward, is_read))
}

/// Reads the adjoint, and what follows from it.
fn read_adjoint(
    method: &Method,
    options: &BackwardOptions,
    is_right: bool,
    flawed: &mut Vec<Ident>,
    context: &mut Context<'_>,
) -> Rules {
    let mistakes = context.diagnostics.len();
    context.part = Part::Adjoint;
    let covers = adjoint::covers(method, options, context);
    adjoint::is_always_there(context);
    let function = read_backward(method, options, &covers, flawed, context);
    if let Some((function, is_read)) = &function {
        adjoint::asks_for_nothing_that_varies(&function.function, context);
        adjoint::returns_arrays(&function.function, &covers, context);
        if *is_read && context.diagnostics.len() == mistakes {
            let (methods, functions) = ([(method, options)], std::slice::from_ref(function));
            asked::every_gradient_is_used(&methods, functions, context);
        }
    }
    let function = function.map(|(function, _)| function);
    context.part = Part::Backward;
    if context.diagnostics.len() > mistakes {
        flawed.push(method.sig.ident.clone());
    }
    let Some(function) = function.filter(|_| context.diagnostics.len() == mistakes && is_right)
    else {
        return Rules::default();
    };
    follow(function, &covers, flawed, context).unwrap_or_default()
}

/// Reads all that follows from an adjoint: by the rules, as if it were written.
fn follow(
    function: Backward,
    covers: &Covers,
    flawed: &mut Vec<Ident>,
    context: &mut Context<'_>,
) -> Option<Rules> {
    let (definition, forward) = (context.definition, context.forward);
    let turned = lower::adjoint::turned(definition, forward, &function.function, &covers.edges);
    let Turned {
        backward: (sig, expression),
        rule,
        block,
    } = turned;
    let options = BackwardOptions::default();
    let method = Method {
        attrs: Vec::new(),
        helpers: Vec::new(),
        vis: function.vis.clone(),
        sig: sig.clone(),
        body: TokenStream::new(),
        expression: None,
        place: 0..0,
    };
    let asker = Asker::Backward {
        method: &method,
        options: &options,
        covers,
    };
    let backward = derivative(&sig, &asker, flawed, context)?;
    let jvp = derivative(&rule.0, &Asker::Jvp, flawed, context)?;
    let ident = &function.function.ident;
    let turned = turned_round(&block, definition, ident, context.diagnostics)?;
    let adjoint = Adjoint {
        function,
        rule: Written {
            sig: rule.0,
            expression: rule.1,
        },
        turned: Box::new(turned),
        block: strip::helpers(block),
    };
    Some(Rules {
        backwards: vec![Backward {
            vis: method.vis.clone(),
            function: backward,
            written: Some(Written { sig, expression }),
            covers: covers.edges.clone(),
        }],
        jvp: Some(jvp),
        adjoint: Some(adjoint),
        ..Rules::default()
    })
}

/// Reads the function turned round.
fn turned_round(
    block: &TokenStream,
    definition: &Definition,
    adjoint: &Ident,
    diagnostics: &mut Diagnostics,
) -> Option<FunctionModel> {
    let item = parse::item(block.clone());
    let attributes = Attributes {
        arguments: Ok(Vec::new()),
        repeated: Vec::new(),
    };
    let Ok(mut turned) = function((attributes, item), &Place::default()) else {
        let message = "this adjoint cannot be turned into a function of its own";
        let help = "write its types out, or backward functions in its place";
        diagnostics.error_with_help(adjoint, message, help);
        return None;
    };
    turned.definition.name = format!("{}::adjoint", definition.name);
    turned.definition.runtime.clone_from(&definition.runtime);
    turned.is_written = false;
    Some(turned)
}

/// Reads a backward function or the `#[jvp]` rule; `None` if it does not return its gradients or tangents.
fn derivative(
    sig: &Signature,
    asker: &Asker<'_>,
    flawed: &mut Vec<Ident>,
    context: &mut Context<'_>,
) -> Option<Derivative> {
    let mistakes = context.diagnostics.len();
    let parameters = asked::read(sig, asker, context);
    if matches!(asker, Asker::Residual) && context.diagnostics.len() > mistakes {
        // What it asks for determines the unknowns, and so what it returns.
        flawed.push(sig.ident.clone());
        return None;
    }
    let derivative = returns::read(sig, asker, context).map(|(returns, fallible)| Derivative {
        ident: sig.ident.clone(),
        parameters,
        by_name: returns::is_by_name(&returns, asker, context),
        returns,
        fallible,
        once: matches!(asker, Asker::Backward { options, .. } if options.once),
    });
    if let Some(derivative) = derivative.as_ref().filter(|_| !asker.may_be_once()) {
        order::is_uniform(derivative, context);
        order::keeps_numbers(derivative, asker, context);
    }
    if context.diagnostics.len() > mistakes {
        flawed.push(sig.ident.clone());
    }
    derivative
}

/// Returns the values that are saved for the derivatives, and the order to which there are any.
fn derivatives(
    definition: &Definition,
    forward: &Forward,
    backwards: &[Backward],
) -> (Vec<Saved>, Order) {
    let on_tensors = |backward: &Backward| backward.function.is_on_tensors();
    match &definition.kind {
        FunctionKind::Elementwise(_, elementwise) => (
            all_inputs(forward, elementwise),
            Order::Times(elementwise.order),
        ),
        FunctionKind::Block | FunctionKind::Short(_) => {
            let is_repeatable = backwards.iter().all(on_tensors);
            let order = if is_repeatable {
                Order::Any
            } else {
                Order::Once
            };
            (saved(forward, backwards), order)
        }
    }
}

/// Returns everything that some backward function asks for by name, and for whose gradient. One that asks for
/// the context asks for all of it.
fn saved(forward: &Forward, backwards: &[Backward]) -> Vec<Saved> {
    let asks_by_name =
        |backward: &Backward, source| backward.function.asks_for(Wants::Saved(source));
    let is_saved = |source: &Source| backwards.iter().any(|asker| asks_by_name(asker, *source));
    let saved = |source| {
        let needs = |edge: &usize| {
            backwards.iter().any(|asker| {
                asker.covers.contains(edge)
                    && (asks_by_name(asker, source) || asker.function.asks_for(Wants::Context))
            })
        };
        Saved {
            name: forward.source(source).name.clone(),
            source,
            needed_for: (0..forward.differentiable().len()).filter(needs).listed(),
        }
    };
    forward.sources().filter(is_saved).map(saved).listed()
}

/// Returns the tensors that the equations are differentiated by; the values that they need are saved with them.
fn of_equations(forward: &Forward, residual: &Residual) -> Vec<Saved> {
    let edges = forward.differentiable().len();
    let is_tensor = |source: &Source| match *source {
        Source::Input(index) => {
            let tensor = forward.inputs[index].tensor.as_ref();
            tensor.is_some_and(|tensor| tensor.edge.is_some())
        }
        Source::Returned(index) => forward.returned[index].has_gradient(),
        Source::Axis(_) | Source::Shape(_) => false,
    };
    let asked = |source: &Source| residual.function.asks_for(Wants::Saved(*source));
    let sources = forward.sources().filter(is_tensor).filter(asked);
    let saved = |source| Saved {
        name: forward.source(source).name.clone(),
        source,
        needed_for: (0..edges).listed(),
    };
    sources.map(saved).listed()
}

/// Returns what an elementwise function saves: its tensors first, as the runtime has them, and its values.
fn all_inputs(forward: &Forward, elementwise: &Elementwise) -> Vec<Saved> {
    let edges = forward.differentiable().len();
    let saved = |(index, input): (usize, &Input)| Saved {
        name: input.name.clone(),
        source: Source::Input(index),
        needed_for: (0..edges).listed(),
    };
    let inputs = || forward.inputs.iter().enumerate();
    let of = |name: &Ident| inputs().find(|(_, input)| input.name == *name);
    let tensors = elementwise.inputs.iter().filter_map(of);
    let values = inputs().filter(|(_, input)| input.tensor.is_none());
    tensors.chain(values).map(saved).listed()
}
