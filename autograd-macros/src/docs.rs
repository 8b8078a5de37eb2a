//! Writes the documentation of generated items.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Expr, ExprLit, Ident, Lit, Meta, parse_quote};

use crate::diagnostics::list;
use crate::lists::Lists as _;
use crate::model::{
    Batch, Definition, Elementwise, Forward, FreeFunction, FunctionKind, FunctionModel, Input,
    Order, Pairs, Reduce, Returned, Row, Saved, Scan, ScanRole,
};
use crate::show::show;
use crate::types::Kind;

/// Documents `apply`: the documentation of forward, then a table. In the short form, the function has both.
pub(crate) fn apply(model: &FunctionModel) -> TokenStream {
    if let Some(free) = model.definition.kind.free() {
        return doc(&[format!("Applies `{}` to tensors.", free.ident)]);
    }
    let authors = &model.forward.docs;
    let own = format!("Applies `{}` to tensors.", model.definition.ident);
    let own = authors.is_empty().then(|| doc(&[own]));
    let table = table(model);
    quote!(#(#authors)* #own #table)
}

/// Documents `apply_batch`.
pub(crate) fn apply_batch(model: &FunctionModel, batch: &Batch) -> TokenStream {
    let (definition, forward) = (&model.definition, &model.forward);
    let mut lines = vec![
        format!(
            "Applies `{}` to each example of a batch, on all threads.",
            definition.item()
        ),
        String::new(),
        batch_axes(forward, batch),
    ];
    let shared = forward.inputs.iter().zip(&batch.is_batched);
    let shared = shared.filter(|(_, is_batched)| !**is_batched);
    let shared = list(shared.map(|(input, _)| input.name.to_string()));
    if !shared.is_empty() {
        lines.push(format!(
            "The examples share {shared}; gradients of shared tensors are added in the order of the examples."
        ));
    }
    lines.extend([
        "Values and gradients have the same bits on any number of threads.".to_owned(),
        String::new(),
    ]);
    if forward.fallible.is_some() {
        lines.extend([
            "# Errors".to_owned(),
            "The error of the first example that has one, with its position.".to_owned(),
            String::new(),
        ]);
    }
    lines.extend([
        "# Panics".to_owned(),
        "If the batches differ in the number of examples, if outputs of examples differ in their shapes, or if an \
         example panics, with its position."
            .to_owned(),
    ]);
    doc(&lines)
}

/// Documents `output_shape`.
pub(crate) fn output_shape(model: &FunctionModel) -> TokenStream {
    let forward = &model.forward;
    let outputs = forward.outputs().filter(|output| output.tensor.is_some());
    let names = list(outputs.map(|output| output.name.to_string()));
    let of_lists = if forward.outputs().any(|output| output.kind == Kind::List) {
        "; of a list, that of each of its tensors"
    } else {
        ""
    };
    doc(&[
        format!(
            "Returns the shape of {names} that `{}` computes from inputs of these shapes, without computing it{of_lists}.",
            model.definition.item()
        ),
        String::new(),
        "# Errors".to_owned(),
        "If the inputs do not have the declared shapes, or if a length of an output is below 0."
            .to_owned(),
    ])
}

/// Describes which tensors of a batch have an axis for the examples.
fn batch_axes(forward: &Forward, batch: &Batch) -> String {
    let inputs = forward.inputs.iter().zip(&batch.is_batched);
    let batched = inputs.filter(|(_, is_batched)| **is_batched);
    let batched = list(batched.map(|(input, _)| input.name.to_string()));
    let mut outputs = forward.outputs();
    let values = if outputs.any(|output| output.tensor.is_none()) {
        "; what is not a tensor is returned as a `Vec`"
    } else {
        ""
    };
    format!(
        "The examples are along a first axis of {batched} and of the tensors that it returns{values}."
    )
}

/// Returns the documentation of the block and then that of forward, as a string. A free function has one of the two.
pub(crate) fn text(model: &FunctionModel) -> TokenStream {
    let (of_block, of_forward) = (&model.definition.docs, &model.forward.docs);
    let between: Attribute = parse_quote!(#[doc = ""]);
    let between = (!of_block.is_empty() && !of_forward.is_empty()).then_some(&between);
    let docs = of_block.iter().chain(between).chain(of_forward);
    // `#[doc(hidden)]` has no text.
    let values = docs.filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) => Some(&pair.value),
        _ => None,
    });
    let mut pieces = Vec::new();
    let mut known = String::new();
    for value in values {
        if !(known.is_empty() && pieces.is_empty()) {
            known.push('\n');
        }
        match value {
            // Sugared documentation starts with a space.
            Expr::Lit(ExprLit {
                lit: Lit::Str(line),
                ..
            }) => {
                let line = line.value();
                known.push_str(line.strip_prefix(' ').unwrap_or(&line));
            }
            // `#[doc = include_str!("…")]`
            expanded => {
                let before = std::mem::take(&mut known);
                pieces.push(quote!(#before, #expanded));
            }
        }
    }
    if pieces.is_empty() {
        return quote!(#known);
    }
    quote!(::core::concat!(#(#pieces,)* #known))
}

/// Documents a function with a table, below its own documentation.
pub(crate) fn table(model: &FunctionModel) -> TokenStream {
    let FunctionModel {
        forward,
        saved,
        order,
        jvp,
        vmap,
        ..
    } = model;
    let heads = if forward.shapes.are_none() {
        [
            "",
            "| | type | | saved for the gradient of |",
            "|---|---|---|---|",
        ]
    } else {
        [
            "",
            "| | type | shape | | saved for the gradient of |",
            "|---|---|---|---|---|",
        ]
    };
    let mut lines: Vec<String> = heads.map(String::from).into();
    lines.extend(
        forward
            .inputs
            .iter()
            .map(|input| input_row(input, saved, model)),
    );
    lines.extend(
        forward
            .outputs()
            .map(|output| output_row(output, saved, model)),
    );
    lines.extend(forward.in_place().map(|(output, input)| {
        let kind = format!("value of `{}` after forward", input.name);
        row(&output.name, &output.shown, &kind, saved, forward)
    }));
    lines.extend(
        forward
            .intermediates()
            .map(|one| row(&one.name, &one.shown, "saved for backward", saved, forward)),
    );
    lines.extend(forward.unknowns().map(|one| {
        let kind = "unknown of the equations";
        row(&one.name, &one.shown, kind, saved, forward)
    }));
    lines.push(String::new());
    if let Some(residual) = &model.residual {
        let outputs = forward.differentiable_outputs().into_iter();
        let outputs = list(outputs.map(|(output, _)| output.name.to_string()));
        let residual = &residual.function.ident;
        lines.push(format!(
            "`{residual}` is zero at {outputs}, which gives all derivatives."
        ));
    }
    lines.push(match order {
        Order::Once | Order::Times(1) => "It can be differentiated once.".to_owned(),
        Order::Times(2) => "It can be differentiated twice.".to_owned(),
        Order::Times(times) => format!("It can be differentiated {times} times."),
        Order::Any => "It can be differentiated any number of times.".to_owned(),
    });
    match &model.definition.kind {
        FunctionKind::Elementwise(free, elementwise) => {
            lines.extend(
                elementwise
                    .scan
                    .as_ref()
                    .map(|scan| steps(elementwise, scan)),
            );
            lines.extend(written_formula(free, elementwise.pairs.as_ref()));
        }
        FunctionKind::Block | FunctionKind::Short(_) => {
            let rule = "It has a rule for forward mode.".to_owned();
            let has_rule = jvp.is_some() || model.residual.is_some();
            lines.extend(has_rule.then_some(rule));
        }
    }
    if let Some(batch) = &model.batch {
        let of = if model.definition.kind.free().is_some() {
            format!("{}::", model.definition.ident)
        } else {
            String::new()
        };
        let axes = batch_axes(forward, batch);
        lines.push(format!(
            "`{of}apply_batch` applies it to each example of a batch. {axes}"
        ));
    }
    if let Some(vmap) = vmap {
        let inputs = forward.inputs.iter().zip(&vmap.mapped);
        let mapped = inputs.filter(|(_, is_mapped)| **is_mapped);
        let mapped = list(mapped.map(|(input, _)| input.name.to_string()));
        lines.push(format!(
            "`{}` computes a batch at once, along a first axis of {mapped} and of what it returns.",
            vmap.ident
        ));
    }
    doc(&lines)
}

/// Returns the line that says how a scan runs.
fn steps(elementwise: &Elementwise, scan: &Scan) -> String {
    let inputs = elementwise.inputs.iter().zip(&scan.roles);
    let steps = inputs.filter(|(_, role)| **role == ScanRole::Step);
    let steps = list(steps.map(|(input, _)| input.to_string()));
    let first = if scan.is_reversed { "last" } else { "first" };
    format!("It runs once for each step, along the first axis of {steps}, from the {first} one.")
}

/// Returns the formula of an elementwise function, as it is written.
fn written_formula(free: &FreeFunction, pairs: Option<&Pairs>) -> Vec<String> {
    let body = &free.body;
    let written = body.span().source_text();
    let text = written.unwrap_or_else(|| show(body));
    let text = text
        .trim_start_matches('{')
        .trim_end_matches('}')
        .trim_end();
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let indent = lines
        .clone()
        .map(|line| line.len() - line.trim_start().len())
        .min();
    let code = lines.map(|line| line[indent.unwrap_or(0)..].to_owned());
    let loops = match pairs.map(|pairs| pairs.reduce) {
        None => {
            "Each pass, also in forward mode, is one loop over the elements, which computes this and its derivatives:"
        }
        Some(Reduce::Sum) => "For each row, it is the sum over all columns of this:",
        Some(Reduce::Max) => "For each row, it is the maximum over all columns of this:",
        Some(Reduce::Min) => "For each row, it is the minimum over all columns of this:",
        Some(Reduce::LogSumExp) => {
            "For each row, it is the logarithm of the sum over all columns of e to the power of this:"
        }
    };
    let before = [loops, "", "```text"];
    let before = before.map(String::from).into_iter();
    before.chain(code).chain(["```".to_owned()]).listed()
}

/// Documents the type behind a function in the short form.
pub(crate) fn short_type(free: &FreeFunction) -> TokenStream {
    doc(&[format!(
        "The differentiable function behind `{}`.",
        free.ident
    )])
}

/// Documents the formula of an elementwise function, of which derivatives may be given.
pub(crate) fn formula(free: &FreeFunction, has_given: bool) -> TokenStream {
    let calls = if has_given {
        "It takes `f64` alone: other formulas cannot call it, because they would differentiate its body."
    } else {
        "Other formulas may call it: their derivatives include its own."
    };
    let name = &free.ident;
    doc(&[format!("Computes `{name}` of one element. {calls}")])
}

/// Documents the forward of that type.
pub(crate) fn short_kernel(free: &FreeFunction) -> TokenStream {
    doc(&[format!(
        "Computes `{}` on arrays, outside any graph.",
        free.ident
    )])
}

/// Documents `LinearFunctionNeedsInputGrad`.
pub(crate) fn needs_input_grad(definition: &Definition) -> TokenStream {
    doc(&[format!(
        "The gradients of `{}` that a backward pass needs.",
        definition.ident
    )])
}

/// Documents one of its fields.
pub(crate) fn needs_field(input: &Ident) -> TokenStream {
    doc(&[format!("Whether the gradient of `{input}` is needed.")])
}

/// Documents `LinearFunctionGradients`.
pub(crate) fn gradients(definition: &Definition, backward: &Ident) -> TokenStream {
    doc(&[format!(
        "The gradients that `{backward}` of `{}` returns.",
        definition.ident
    )])
}

/// Documents one of its fields.
pub(crate) fn gradient_field(input: &Ident) -> TokenStream {
    doc(&[format!("The gradient of `{input}`.")])
}

/// Documents `LinearFunctionContext`.
pub(crate) fn context(definition: &Definition) -> TokenStream {
    doc(&[
        format!("The values that `{}` saves for its backward functions.", definition.ident),
        String::new(),
        "A field is `None` if no gradient that needs it is needed, or if the input is absent. A backward function that \
         asks for `context` asks for all of it."
            .to_owned(),
    ])
}

/// Documents one of its fields.
pub(crate) fn context_field(saved: &Saved, forward: &Forward) -> TokenStream {
    doc(&[format!(
        "Saved for the gradient of {}.",
        needed_for(saved, forward)
    )])
}

fn input_row(input: &Input, saved: &[Saved], model: &FunctionModel) -> String {
    let kind = match &input.tensor {
        None => "value",
        Some(tensor) if input.is_in_place() && tensor.edge.is_some() => "input, written to",
        Some(_) if input.is_in_place() => "input, written to, not differentiable",
        Some(tensor) => match (tensor.kind, tensor.edge.is_some()) {
            (Kind::Single, true) => "input",
            (Kind::Optional, true) => "optional input",
            (Kind::List, true) => "list of inputs",
            (Kind::Single, false) => "input, not differentiable",
            (Kind::Optional, false) => "optional input, not differentiable",
            (Kind::List, false) => "list of inputs, not differentiable",
        },
    };
    let kind = format!("{kind}{}", rows(&input.name, model));
    row(&input.name, &input.shown, &kind, saved, &model.forward)
}

fn output_row(output: &Returned, saved: &[Saved], model: &FunctionModel) -> String {
    let kind = match (output.kind, output.has_gradient()) {
        (Kind::Single, true) => "output",
        (Kind::Optional, true) => "optional output",
        (Kind::List, true) => "list of outputs",
        (_, false) => "output, not differentiable",
    };
    let kind = format!("{kind}{}", rows(&output.name, model));
    row(&output.name, &output.shown, &kind, saved, &model.forward)
}

/// Returns the length of the rows of a tensor of an elementwise function, to be added to what it is.
fn rows(name: &Ident, model: &FunctionModel) -> String {
    let elementwise = model.definition.kind.elementwise();
    match elementwise.and_then(|elementwise| elementwise.row(name)) {
        None => String::new(),
        Some(Row::Of(length)) => format!(", rows of {}", show(length)),
        Some(Row::Slice) => ", rows".to_owned(),
    }
}

fn row(name: &Ident, ty: &str, kind: &str, saved: &[Saved], forward: &Forward) -> String {
    let needed = saved
        .iter()
        .find(|saved| saved.name == *name)
        .map(|saved| needed_for(saved, forward))
        .unwrap_or_default();
    let shape = if forward.shapes.are_none() {
        String::new()
    } else {
        let shape = shape(name, forward).map(|shape| format!("`{shape}`"));
        format!(" {} |", shape.unwrap_or_default())
    };
    // A bar would end the cell, even within code.
    format!(
        "| `{name}` | `{}` |{shape} {kind} | {needed} |",
        ty.replace('|', "\\|")
    )
}

/// Returns the declared shape of an input, or of something that forward returns.
pub(crate) fn shape(name: &Ident, forward: &Forward) -> Option<String> {
    let shapes = &forward.shapes;
    let mut inputs = forward.inputs.iter();
    if let Some(index) = inputs.position(|input| input.name == *name) {
        return Some(shapes.of_input(index)?.text.clone());
    }
    let mut returned = forward.returned.iter();
    let index = returned.position(|one| one.name == *name)?;
    Some(shapes.text(shapes.of_returned(index)?))
}

fn needed_for(saved: &Saved, forward: &Forward) -> String {
    let inputs = forward.differentiable();
    list(
        saved
            .needed_for
            .iter()
            .map(|edge| inputs[*edge].0.name.to_string()),
    )
}

/// Writes documentation as one attribute: each is read on its own by the compiler.
fn doc(lines: &[String]) -> TokenStream {
    // Sugared documentation starts with a space, and lines of the definition do.
    let lines = lines.iter().map(|line| {
        if line.is_empty() {
            String::new()
        } else {
            format!(" {line}")
        }
    });
    let text = lines.listed().join("\n");
    quote!(#[doc = #text])
}
