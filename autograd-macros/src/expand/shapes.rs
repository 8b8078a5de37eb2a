//! Generates the checks of declared shapes, and `output_shape`.
//!
//! The runtime does the work, from a table. Generated are only the expressions, in a function that all callers share.

use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::{Expr, ExprGroup, ExprParen, Ident, LitInt};

use super::tokens::{at, is_consumed, local, number, option, reference, tuple};
use crate::docs;
use crate::lists::Lists as _;
use crate::model::{
    Computed, Declared, Forward, FunctionModel, Input, Length, Returned, Role, Shape, Source,
    TensorInput,
};
use crate::types::{Kind, Rank, TensorType, is_primitive};

/// Returns the table of the declared shapes, which stands beside the signature.
pub(super) fn table(model: &FunctionModel, p: &TokenStream) -> Option<TokenStream> {
    let (forward, name) = (&model.forward, &model.definition.name);
    if forward.shapes.are_none() {
        return None;
    }
    let compared = compared(forward);
    let (mut bytes, mut tensors) = (Bytes::default(), Vec::new());
    let mut inputs = Vec::new();
    for (input, _, declared) in &compared {
        if let Some(declared) = declared {
            bytes.declared(declared, &mut inputs);
            tensors.push(format!("{} {}", input.name.unraw(), declared.text));
        }
    }
    let mut outputs = Vec::new();
    for (_, one, shape) in returned(forward) {
        match shape {
            Shape::Written(declared) => bytes.declared(declared, &mut outputs),
            Shape::Like(index, _) => {
                let like = &forward.inputs[*index].name;
                let mut places = compared.iter();
                let place = places.position(|(input, ..)| input.name == *like);
                outputs.extend([byte(LIKE, place.unwrap_or_default()), 0]);
            }
        }
        let text = forward.shapes.text(shape);
        tensors.push(format!("{} {text}", one.name.unraw()));
    }
    let axes = forward.shapes.axes.iter();
    let axes = axes.map(|axis| axis.name.unraw().to_string()).listed();
    let values = numbers(forward).into_iter();
    let values = values.map(|name| name.unraw().to_string()).listed();
    let expressions = expressions(forward).into_iter();
    let expressions = expressions.map(|computed| computed.text.clone());
    let mut lines = vec![name.clone(), axes.join(" "), values.join(" ")];
    lines.extend(tensors.into_iter().chain(expressions));
    let text = lines.join("\n");
    let (inputs, outputs) = (
        Literal::byte_string(&inputs),
        Literal::byte_string(&outputs),
    );
    let (constant, numbers) = (constant(), bytes.numbers);
    Some(quote! {
        static #constant: #p::ShapeTable = #p::ShapeTable {
            text: #text,
            inputs: #inputs,
            outputs: #outputs,
            numbers: &[#(#numbers),*],
        };
    })
}

/// The first byte of a shape that is that of an input, to which the input's number is added.
const LIKE: u8 = 2;
/// The first of the bytes that stand for expressions, and the first of those for numbers, as `ShapeTable` says.
const COMPUTED: u8 = 64;
const NUMBER: u8 = 128;
const ANY: u8 = 255;

/// Writes declared shapes as bytes, and numbers what they have.
#[derive(Default)]
struct Bytes {
    expressions: usize,
    numbers: Vec<LitInt>,
}

impl Bytes {
    fn declared(&mut self, declared: &Declared, bytes: &mut Vec<u8>) {
        bytes.extend([u8::from(declared.leading), byte(0, declared.lengths.len())]);
        for length in &declared.lengths {
            bytes.push(match length {
                Length::Any => ANY,
                Length::Axis(axis) => byte(0, *axis),
                Length::Computed(_) => {
                    self.expressions += 1;
                    byte(COMPUTED, self.expressions - 1)
                }
                Length::Number(written) => {
                    self.numbers.push(written.clone());
                    byte(NUMBER, self.numbers.len() - 1)
                }
            });
        }
    }
}

/// Returns a number after the first byte of its kind. There are not more of them than bytes: the rules count them.
fn byte(first: u8, number: usize) -> u8 {
    first.saturating_add(u8::try_from(number).unwrap_or(u8::MAX))
}

fn constant() -> Ident {
    local("__SHAPES")
}

/// Returns the inputs whose shapes are looked at: those with declared shapes, and after them those whose shapes only
/// outputs have.
fn compared(forward: &Forward) -> Vec<(&Input, &TensorInput, Option<&Declared>)> {
    let shapes = &forward.shapes;
    let is_like = |index: usize| {
        let mut returned = shapes.returned.iter().flatten();
        returned.any(|shape| matches!(shape, Shape::Like(like, _) if *like == index))
    };
    let inputs = forward.inputs.iter().enumerate();
    let inputs = inputs.filter_map(|(index, input)| {
        let (tensor, declared) = (input.tensor.as_ref()?, shapes.of_input(index));
        (declared.is_some() || is_like(index)).then_some((input, tensor, declared))
    });
    let (mut declared, others): (Vec<_>, Vec<_>) =
        inputs.partition(|(.., declared)| declared.is_some());
    declared.extend(others);
    declared
}

/// Returns the values that expressions compute with.
fn values(forward: &Forward) -> Vec<&Input> {
    let inputs = forward.inputs.iter();
    let is_used = |input: &&Input| forward.shapes.used().any(|name| *name == input.name);
    inputs.filter(is_used).listed()
}

/// Returns the values that forward returns whose shapes are declared.
fn returned(forward: &Forward) -> Vec<(Source, &Returned, &Shape)> {
    let returned = forward.returned.iter().enumerate();
    returned
        .filter_map(|(index, one)| {
            let shape = forward.shapes.of_returned(index)?;
            Some((Source::Returned(index), one, shape))
        })
        .listed()
}

/// Returns all expressions, in the order of the table.
fn expressions(forward: &Forward) -> Vec<&Computed> {
    let inputs = compared(forward).into_iter();
    let inputs = inputs.filter_map(|(.., declared)| declared);
    let returned = returned(forward).into_iter();
    let returned = returned.filter_map(|(.., shape)| shape.written());
    let lengths = inputs
        .chain(returned)
        .flat_map(|declared| &declared.lengths);
    lengths
        .filter_map(|length| match length {
            Length::Computed(computed) => Some(&**computed),
            Length::Any | Length::Number(_) | Length::Axis(_) => None,
        })
        .listed()
}

/// Returns the values that are numbers wherever an expression uses them, which a message shows. A field of one, as in
/// `options.stride`, is not shown.
fn numbers(forward: &Forward) -> Vec<&Ident> {
    let expressions = expressions(forward);
    let is_number = |name: &&Ident| {
        let mut all = expressions.iter();
        all.all(|computed| stands_alone(&computed.expression, name))
    };
    let values = values(forward).into_iter();
    values.map(|input| &input.name).filter(is_number).listed()
}

/// Returns whether a name is an operand wherever it is.
fn stands_alone(expression: &Expr, name: &Ident) -> bool {
    match expression {
        Expr::Group(group) => stands_alone(&group.expr, name),
        Expr::Paren(paren) => stands_alone(&paren.expr, name),
        Expr::Binary(binary) => {
            stands_alone(&binary.left, name) && stands_alone(&binary.right, name)
        }
        Expr::Unary(unary) => stands_alone(&unary.expr, name),
        Expr::Path(_) | Expr::Lit(_) => true,
        other => !crate::spell::has_word(other.to_token_stream(), name),
    }
}

/// Generates the function with the expressions, if there are any, and `output_shape`.
pub(super) fn functions(model: &FunctionModel, p: &TokenStream) -> Option<TokenStream> {
    let forward = &model.forward;
    if forward.shapes.are_none() {
        return None;
    }
    let computed = computed(forward, p);
    let output_shape = output_shape(model, p);
    Some(quote!(#computed #output_shape))
}

fn computed_name(forward: &Forward) -> Ident {
    local(format_args!(
        "__pullback_lengths_of_{}",
        forward.ident.unraw()
    ))
}

fn computed(forward: &Forward, p: &TokenStream) -> Option<TokenStream> {
    let expressions = expressions(forward);
    if expressions.is_empty() {
        return None;
    }
    let name = computed_name(forward);
    let (lifetimes, _, where_clause) = forward.generics.split_for_impl();
    let values = values(forward).into_iter().map(|input| {
        let (name, ty) = (&input.name, &input.ty);
        if is_primitive(ty) {
            quote!(#name: #ty)
        } else {
            quote!(#name: &#ty)
        }
    });
    let axes = forward.shapes.axes.iter().map(|axis| &axis.name);
    let (count, shown) = (number(expressions.len()), numbers(forward));
    let (axis_count, shown_count) = (number(forward.shapes.axes.len()), number(shown.len()));
    let lengths = expressions.iter();
    let lengths = lengths.map(|computed| arithmetic(&computed.expression, p));
    let shown = shown.iter().map(|name| {
        // Where an expression has it, so that a value that is no number is one error.
        let mut used = forward.shapes.used();
        let used = used.find(|used| used == name).unwrap_or(name);
        let span = at(used);
        quote_spanned!(span=> #p::IntoLength::into_length(&#used))
    });
    Some(quote! {
        #[doc(hidden)]
        #[inline]
        #[allow(unused_variables)]
        fn #name #lifetimes (
            &[#(#axes),*]: &[::core::primitive::usize; #axis_count],
            #(#values),*
        ) -> ([#p::Length; #count], [#p::Length; #shown_count]) #where_clause {
            ([#(#lengths),*], [#(#shown),*])
        }
    })
}

/// Returns an expression with its arithmetic checked.
fn arithmetic(expression: &Expr, p: &TokenStream) -> TokenStream {
    match expression {
        Expr::Group(ExprGroup { expr, .. }) | Expr::Paren(ExprParen { expr, .. }) => {
            let inner = arithmetic(expr, p);
            quote!((#inner))
        }
        Expr::Binary(binary) => {
            let (left, right) = (arithmetic(&binary.left, p), arithmetic(&binary.right, p));
            let operator = &binary.op;
            quote!(#left #operator #right)
        }
        Expr::Unary(unary) => {
            let operand = arithmetic(&unary.expr, p);
            quote!(-#operand)
        }
        Expr::Lit(_) => {
            let span = at(expression);
            quote_spanned!(span=> #p::IntoLength::into_length(#expression as ::core::primitive::i128))
        }
        operand => {
            let span = at(operand);
            quote_spanned!(span=> #p::IntoLength::into_length(&#operand))
        }
    }
}

/// Returns what computes the expressions, with the values that are in scope; `None` if there are none.
fn compute(forward: &Forward) -> Option<TokenStream> {
    if expressions(forward).is_empty() {
        return None;
    }
    let name = computed_name(forward);
    let values = values(forward).into_iter().map(|input| {
        let name = &input.name;
        let borrow = (!is_primitive(&input.ty)).then(|| quote!(&));
        quote!(#borrow #name)
    });
    Some(quote!(|axes| Self::#name(axes, #(#values),*)))
}

/// What `apply` does with declared shapes: nothing, if there are none.
#[derive(Default)]
pub(super) struct Checks {
    /// Before forward runs.
    pub(super) before: TokenStream,
    /// After it has run.
    pub(super) after: TokenStream,
}

/// Generates the checks of `apply`.
pub(super) fn checks(model: &FunctionModel, p: &TokenStream) -> Checks {
    let forward = &model.forward;
    if forward.shapes.are_none() {
        return Checks::default();
    }
    let mut kept = Vec::new();
    let dims = compared(forward).into_iter().map(|(input, tensor, _)| {
        let reference = reference(input, tensor);
        if !is_consumed(&tensor.ty) && !input.is_in_place() {
            return quote!(#p::Argument::dims(#reference));
        }
        // Forward takes it, or writes to it.
        let shape = local(format_args!("shape_of_{}", input.name.unraw()));
        if tensor.kind == Kind::Optional {
            kept.push(quote!(let #shape = ::core::option::Option::map(#reference, #p::shape_of);));
            quote!(#p::Dims::from(::core::option::Option::as_deref(&#shape)))
        } else {
            kept.push(quote!(let #shape = #p::shape_of(#reference);));
            quote!(#p::Dims::One(&#shape))
        }
    });
    let dims: Vec<TokenStream> = dims.listed();
    let (read, lengths) = (read(model, &dims, p), local("lengths"));
    let axes = forward.shapes.axes.iter().enumerate();
    let axes = axes.filter(|(axis, _)| model.is_asked_for(Source::Axis(*axis)));
    let axes = axes.map(|(axis, of)| {
        let (axis, name) = (number(axis), &of.name);
        quote!(let #name = #lengths.axes[#axis];)
    });
    let before = quote! {
        #(#kept)*
        #read
        #(#axes)*
    };
    let (table, value) = (constant(), local("value"));
    let (returned_at, applied_at) = in_batch(model, "returned");
    let returned = returned(forward).into_iter().enumerate();
    let after = returned.filter_map(|(place, (source, one, _))| {
        let is_there = one.role != Role::Intermediate || model.is_asked_for(source);
        let (name, place) = (&one.name, number(place));
        let check = |value: &Ident| {
            quote!(#table.#returned_at(#applied_at &#lengths, #place, #value.shape());)
        };
        is_there.then(|| match one.kind {
            Kind::Single => check(name),
            Kind::Optional => {
                let check = check(&value);
                quote!(if let ::core::option::Option::Some(#value) = &#name { #check })
            }
            Kind::List => {
                let check = check(&value);
                quote!(for #value in &#name { #check })
            }
        })
    });
    Checks {
        before,
        after: after.tokens(),
    }
}

/// Returns the shapes of all tensors for a message, if all have been looked at.
pub(super) fn of_all(forward: &Forward, p: &TokenStream) -> Option<TokenStream> {
    let tensors = forward.inputs.iter().enumerate();
    let mut tensors = tensors.filter(|(_, input)| input.tensor.is_some());
    let all = tensors.all(|(index, _)| forward.shapes.of_input(index).is_some());
    let inputs = local("dims");
    all.then(|| quote!(&#p::shapes_of_dims(&#inputs)))
}

/// Returns the statement that reads the lengths.
fn read(model: &FunctionModel, dims: &[TokenStream], p: &TokenStream) -> TokenStream {
    let (table, compute) = (constant(), compute(&model.forward));
    let (inputs, lengths) = (local("dims"), local("lengths"));
    let (applied, applied_at) = in_batch(model, "applied");
    let axes = number(model.forward.shapes.axes.len());
    // They are read where they are used: a copy would cost more than the comparisons.
    let read = if compute.is_none() && model.batch.is_none() {
        quote! {
            let mut #lengths = #p::Lengths::<#axes, 0>::unread(&#inputs);
            #table.applied_to_axes(&mut #lengths);
        }
    } else {
        let compute = compute.unwrap_or_else(|| quote!(#p::nothing_computed));
        quote! {
            let mut #lengths = #p::Lengths::<#axes, _>::unread(&#inputs);
            #table.#applied(#applied_at &mut #lengths, #compute);
        }
    };
    quote! {
        let #inputs = [#(#dims),*];
        #read
    }
}

/// Returns the name of a method and, where the line of the call is an argument, that of the one that takes it.
fn in_batch(model: &FunctionModel, method: &str) -> (Ident, Option<TokenStream>) {
    if model.batch.is_some() {
        let applied_at = local("applied_at");
        (
            local(format_args!("{method}_at")),
            Some(quote!(#applied_at,)),
        )
    } else {
        (local(method), None)
    }
}

/// Generates the lengths of axes for a rule for forward mode that asks for some; its inputs are tensors of its own.
pub(super) fn of_primals(
    model: &FunctionModel,
    primal: impl Fn(&Input) -> Ident,
    p: &TokenStream,
) -> TokenStream {
    let (mut lists, forward) = (Vec::new(), &model.forward);
    let dims = compared(forward).into_iter().map(|(input, tensor, _)| {
        let primal = primal(input);
        match tensor.kind {
            Kind::Single => quote!(#p::Argument::dims(&#primal)),
            Kind::Optional => {
                quote!(#p::Argument::dims(::core::option::Option::as_ref(&#primal)))
            }
            Kind::List => {
                let list = local(format_args!("list_of_{}", input.name.unraw()));
                lists.push(quote!(let #list = #p::references(&#primal);));
                quote!(#p::Argument::dims(&#list[..]))
            }
        }
    });
    let dims: Vec<TokenStream> = dims.listed();
    let (read, lengths) = (read(model, &dims, p), local("lengths"));
    let names = forward.shapes.axes.iter().map(|axis| &axis.name);
    quote! {
        #[allow(unused_variables)]
        let [#(#names),*] = {
            #(#lists)*
            #read
            #lengths.axes
        };
    }
}

/// Generates `output_shape`.
fn output_shape(model: &FunctionModel, p: &TokenStream) -> TokenStream {
    let forward = &model.forward;
    let inputs = compared(forward).into_iter().rev();
    let inputs = inputs.fold(quote!(()), |others, (input, ..)| {
        let name = &input.name;
        quote!((#name, #others))
    });
    let table = constant();
    let axes = number(forward.shapes.axes.len());
    let returned = returned(forward);
    let outputs = returned.iter().enumerate();
    let outputs = outputs.filter(|(_, (_, one, _))| matches!(one.role, Role::Output { .. }));
    let (places, names): (Vec<_>, Vec<_>) = outputs
        .map(|(place, (_, one, _))| {
            let shape = local(format_args!("shape_of_{}", one.name.unraw()));
            (number(place), shape)
        })
        .unzip();
    let places = quote!(&[#(#places),*]);
    let shapes = if let Some(compute) = compute(forward) {
        quote!(#table.output_shapes::<_, #axes, _, _>(#inputs, #places, #compute))
    } else {
        quote!(#table.output_axes(#inputs, #places))
    };
    let body = match &names[..] {
        [] | [_] => shapes,
        [before @ .., last] => {
            let pairs = before.iter().rev();
            let pairs = pairs.fold(quote!(#last), |others, name| quote!((#name, #others)));
            quote!(::core::result::Result::map(#shapes, |#pairs| (#(#names),*)))
        }
    };
    let docs = docs::output_shape(model);
    method(forward, &docs, &body, p)
}

/// Generates `output_shape` around a given body, which the fallback has too.
pub(super) fn method(
    forward: &Forward,
    attributes: &TokenStream,
    body: &TokenStream,
    p: &TokenStream,
) -> TokenStream {
    let (lifetimes, _, where_clause) = forward.generics.split_for_impl();
    let vis = &forward.vis;
    let parameters = forward.inputs.iter().map(|input| {
        let (name, ty) = (&input.name, &input.ty);
        let Some(tensor) = &input.tensor else {
            return quote!(#name: #ty);
        };
        let shape = fixed(&tensor.ty).map_or_else(
            || quote!(&[::core::primitive::usize]),
            |rank| quote!([::core::primitive::usize; #rank]),
        );
        let ty = match tensor.kind {
            Kind::Single => shape,
            Kind::Optional => option(&shape),
            Kind::List => quote!(&[#shape]),
        };
        quote!(#name: #ty)
    });
    let outputs = forward.outputs().filter(|output| output.tensor.is_some());
    let outputs = outputs.map(|output| {
        output.tensor.as_ref().and_then(fixed).map_or_else(
            || quote!(::std::vec::Vec<::core::primitive::usize>),
            |rank| quote!([::core::primitive::usize; #rank]),
        )
    });
    let outputs = tuple(outputs);
    quote! {
        #attributes
        #[track_caller]
        #[allow(unused_variables, clippy::needless_pass_by_value)]
        #vis fn output_shape #lifetimes (
            #(#parameters),*
        ) -> ::core::result::Result<#outputs, #p::Error> #where_clause {
            #body
        }
    }
}

/// Returns the rank of a tensor, if its type has one.
fn fixed(ty: &TensorType) -> Option<Literal> {
    match ty.content.rank() {
        Some(Rank::Fixed(rank)) => Some(number(usize::from(*rank))),
        _ => None,
    }
}
