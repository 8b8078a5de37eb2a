//! Generates what an elementwise function becomes: its formula, as other formulas call it and as the runtime's loops
//! do, and the functions on arrays and tensors that run these loops.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::{Attribute, Expr, FnArg, Ident, Pat, ReturnType, Signature, Type, parse_quote};

use super::items::Items;
use super::short::{OF_BOTH, OF_THE_BODY, is_one_of, whole};
use super::tokens::{at, local, number, tuple};
use super::values::{
    block_of_entries, fields, formula_name, list_of_values, list_values, of_note, value,
};
use super::{apply, pairs, probes, reversed, scan, slices};
use crate::compiler;
use crate::docs;
use crate::lists::Lists as _;
use crate::model::{
    Definition, Elementwise, Forward, FreeFunction, FunctionModel, Replaced, Row, Style,
};
use crate::spell::lasting;
use crate::strip;
use crate::types::{Passing, bound, is_sized, peel};

/// Generates `Squash::formula`, with the body as it is written.
pub(super) fn formula(
    definition: &Definition,
    free: &FreeFunction,
    elementwise: &Elementwise,
    root: &TokenStream,
    body: &TokenStream,
) -> TokenStream {
    let Definition { ident, cfgs, .. } = definition;
    let FreeFunction { attrs, vis, .. } = free;
    let is_moved = |attr: &&Attribute| {
        (is_one_of(attr, &OF_THE_BODY) || is_one_of(attr, &OF_BOTH))
            && !is_one_of(attr, &["inline", "cold"])
    };
    let attrs = attrs.iter().filter(is_moved);
    let attrs: Vec<&Attribute> = attrs.listed();
    let units = definition.generics.type_params().map(|_| quote!(()));
    let number = &elementwise.number;
    let mut formula = elementwise.formula.clone();
    formula.ident = format_ident!("formula", span = formula.ident.span());
    formula.asyncness = None;
    let mixes = quote_spanned!(at(number)=> ::core::primitive::f64: #root::Literal<#number>);
    let clause = formula.generics.make_where_clause();
    clause.predicates.push(parse_quote!(#mixes));
    let docs = docs::formula(free, !elementwise.replaced.is_empty());
    let inline = compiler::inline();
    let formula = if elementwise.replaced.is_empty() {
        quote! {
            #docs
            #(#attrs)*
            #inline
            #vis #formula #body
        }
    } else {
        let plain = plain(&formula, number, root);
        let hidden = formula_function(elementwise);
        let names = formula.inputs.iter().filter_map(|argument| match argument {
            FnArg::Typed(parameter) => bound(&parameter.pat),
            FnArg::Receiver(_) => None,
        });
        let call = quote!(Self::#hidden(#(#names),*));
        allow_unused(&mut formula, elementwise, body);
        formula.ident = hidden;
        quote! {
            #docs
            #vis #plain { #call }

            #(#attrs)*
            #[doc(hidden)]
            #inline
            #formula #body
        }
    };
    let gradients = elementwise
        .replaced
        .iter()
        .enumerate()
        .map(|(index, given)| gradient(index, given, elementwise, root));
    let checks = elementwise.constants.checks(cfgs);
    quote! {
        #checks
        #(#cfgs)*
        #[allow(
            dead_code,
            clippy::inline_always,
            clippy::multiple_bound_locations,
            clippy::must_use_candidate,
            clippy::needless_pass_by_value,
            clippy::too_many_arguments,
            clippy::trivially_copy_pass_by_ref,
            clippy::type_complexity,
        )]
        impl #ident<#(#units),*> {
            #formula
            #(#gradients)*
        }
    }
}

/// Allows that the body does not use a parameter that a given derivative uses.
fn allow_unused(formula: &mut Signature, elementwise: &Elementwise, body: &TokenStream) {
    let given = elementwise.replaced.iter();
    let names: Vec<&Ident> = given.flat_map(|given| &given.names).listed();
    let unused = strip::unused(&names, body);
    for argument in &mut formula.inputs {
        if let FnArg::Typed(parameter) = argument
            && bound(&parameter.pat).is_some_and(|name| unused.contains(&name))
        {
            parameter
                .attrs
                .push(parse_quote!(#[allow(unused_variables)]));
        }
    }
}

/// Returns the signature of `formula` where derivatives are given. Other formulas cannot call it: they would
/// differentiate its body.
fn plain(formula: &Signature, number: &Ident, root: &TokenStream) -> Signature {
    let mut plain = formula.clone();
    for argument in &mut plain.inputs {
        if let FnArg::Typed(parameter) = argument
            && let Pat::Ident(pattern) = &mut *parameter.pat
        {
            pattern.mutability = None;
        }
    }
    let clause = plain.generics.make_where_clause();
    clause.predicates.push(parse_quote!(#number: #root::Plain));
    plain
}

/// Returns the name of the function with the formula.
fn formula_function(elementwise: &Elementwise) -> Ident {
    local(if elementwise.replaced.is_empty() {
        "formula"
    } else {
        "__pullback_formula"
    })
}

/// Generates the function around a derivative that is given.
fn gradient(
    index: usize,
    given: &Replaced,
    elementwise: &Elementwise,
    root: &TokenStream,
) -> TokenStream {
    let Replaced {
        inputs,
        expression,
        names,
        once,
    } = given;
    let number = if *once {
        quote!(::core::primitive::f64)
    } else {
        elementwise.number.to_token_stream()
    };
    let item = |row: Option<&Expr>| match row {
        None => number.clone(),
        Some(length) => quote!([#number; #length]),
    };
    let parameters = names.iter().map(|name| {
        let value = elementwise.type_of(name);
        let ty = value.map_or_else(
            || item(elementwise.row(name).and_then(Row::length)),
            ToTokens::to_token_stream,
        );
        quote!(#name: #ty)
    });
    let returned = inputs
        .iter()
        .map(|&input| item(elementwise.rows[input].as_ref().and_then(Row::length)));
    let returned = tuple(returned);
    let (name, expression) = (gradient_name(index), whole(expression));
    if *once {
        let alias = &elementwise.number;
        return quote! {
            #[doc(hidden)]
            #[allow(unused_parens)]
            fn #name(#(#parameters),*) -> #returned {
                #[allow(dead_code)]
                type #alias = ::core::primitive::f64;
                #expression
            }
        };
    }
    let inline = compiler::inline();
    quote! {
        #[doc(hidden)]
        #[allow(unused_parens)]
        #inline
        fn #name<#number: #root::Real>(#(#parameters),*) -> #returned
        where
            ::core::primitive::f64: #root::Literal<#number>,
        {
            #expression
        }
    }
}

fn gradient_name(index: usize) -> Ident {
    local(format_args!("__pullback_gradient_{index}"))
}

/// Generates what the runtime's loops call: the formula with its values.
pub(super) fn loops(
    definition: &Definition,
    elementwise: &Elementwise,
    forward: &Forward,
    p: &TokenStream,
) -> TokenStream {
    if elementwise.has_slices() {
        return slices::formula(definition, elementwise, p);
    }
    let ident = &definition.ident;
    let name = formula_name(ident);
    let fields = fields(elementwise);
    let (of_inputs, of_outputs) = (Items::inputs(elementwise), Items::outputs(elementwise));
    let numbers = of_inputs.names("x");
    let arguments = elementwise.formula.inputs.iter().filter_map(|argument| {
        let FnArg::Typed(parameter) = argument else {
            return None;
        };
        let name = bound(&parameter.pat)?;
        let input = elementwise.inputs.iter().position(|input| input == name);
        let number = input.map(|input| numbers[input].to_token_stream());
        number.or_else(|| value(name, elementwise, &quote!(self)))
    });
    let units = definition.generics.type_params().map(|_| quote!(()));
    let function = formula_function(elementwise);
    let call = quote!(<#ident<#(#units),*>>::#function(#(#arguments),*));
    let results = of_outputs.names("y");
    let body = if returns_tuple(elementwise) {
        let put = of_outputs.put_together(&results, p);
        quote!(let (#(#results,)*) = #call; #put)
    } else if elementwise.has_rows() {
        let put = of_outputs.put_together(&results, p);
        quote!(let #(#results)* = #call; #put)
    } else {
        quote!([#call])
    };
    let (inputs, outputs) = (of_inputs.count(), of_outputs.count());
    let (numbers, taken) = (of_inputs.pattern("x"), of_inputs.taken_apart("x", p));
    let lists_of_items = lists_of_items(&of_inputs, &of_outputs, p);
    let real = local("R");
    let gradients = (!elementwise.replaced.is_empty())
        .then(|| gradients_formula(definition, elementwise, forward, p));
    let note = local("note");
    let list = list_of_values(elementwise, p);
    let lists = list_entries(elementwise, &note);
    let [entries, at] = if elementwise.entries.is_empty() {
        [quote!(_), quote!(_)]
    } else {
        block_of_entries().map(ToTokens::into_token_stream)
    };
    let block = entries_of(elementwise, p);
    let assertion = few_numbers(elementwise, p);
    let weights = pairs::weights(definition, elementwise, p);
    let sides = pairs::sides_of_formula(elementwise, p);
    let of_loops = match &elementwise.reversed {
        Some(reversed) if reversed.has_outputs => compiler::of_formula(),
        _ => of_loops(elementwise, p),
    };
    let has_angles = elementwise.has_angles.then(|| {
        quote!(
            const HAS_ANGLES: ::core::primitive::bool = true;
        )
    });
    let in_reverse = elementwise
        .reversed
        .as_ref()
        .map(|of| reversed::derivatives(of, elementwise, p));
    let inline = compiler::inline();
    quote! {
        #assertion

        struct #name { #(#fields),* }

        impl #p::Formula<#inputs, #outputs> for #name {
            #block
            #lists_of_items
            #sides
            #of_loops
            #has_angles

            #inline
            fn at<#real: #p::Real>(
                &self,
                #entries: &Self::Entries,
                #at: #p::Place,
                #numbers: [#real; #inputs],
            ) -> [#real; #outputs]
            where
                ::core::primitive::f64: #p::Literal<#real>,
            {
                #taken
                #body
            }

            #in_reverse
            #list
            #lists
        }

        #gradients
        #weights
    }
}

/// Generates what is to be said of the loops of a formula: that its crate is not optimized, or that it is not written out.
/// One with entries for each element is not replayed.
pub(super) fn of_loops(elementwise: &Elementwise, p: &TokenStream) -> Option<TokenStream> {
    let of_profile = compiler::of_formula();
    if elementwise.style == Style::WrittenOut || !elementwise.entries.is_empty() {
        return of_profile;
    }
    let constant = (elementwise.style == Style::Calls).then(|| {
        quote!(
            const IS_WRITTEN_OUT: ::core::primitive::bool = false;
        )
    });
    Some(quote! {
        #of_profile
        const IS_VECTOR_CODE: ::core::primitive::bool = false;
        #constant

        fn faster() -> ::core::option::Option<&'static #p::Faster> {
            static FASTER: #p::Faster = #p::Faster::new();
            ::core::option::Option::Some(&FASTER)
        }
    })
}

/// Generates the items of the inputs and of the outputs, where some are rows.
fn lists_of_items(inputs: &Items<'_>, outputs: &Items<'_>, p: &TokenStream) -> Option<TokenStream> {
    (inputs.has_rows() || outputs.has_rows()).then(|| {
        let (inputs, outputs) = (inputs.list(p), outputs.list(p));
        quote! {
            const INPUTS: &'static [#p::Item] = #inputs;
            const OUTPUTS: &'static [#p::Item] = #outputs;
        }
    })
}

/// Generates the entries of a block of elements, one of each list that has one for each element.
fn entries_of(elementwise: &Elementwise, p: &TokenStream) -> TokenStream {
    let inline = compiler::inline();
    if elementwise.entries.is_empty() {
        return quote! {
            type Entries = ();

            #inline
            fn entries(&self, _: #p::Elements) {}
        };
    }
    let elements = local("elements");
    let types = elementwise.entries.iter().map(|(_, ty)| {
        let lasting = lasting(ty);
        quote_spanned!(at(ty)=> #p::Entries<#lasting>)
    });
    let blocks = elementwise.entries.iter().map(|(name, ty)| {
        let (lasting, list) = (lasting(ty), quote!(&self.#name));
        quote_spanned!(at(ty)=> #p::entries::<#lasting>(#list, #elements))
    });
    quote! {
        type Entries = (#(#types,)*);

        #inline
        fn entries(&self, #elements: #p::Elements) -> Self::Entries {
            (#(#blocks,)*)
        }
    }
}

/// Generates the function that lists the values with an entry for each element, where there are any.
fn list_entries(elementwise: &Elementwise, note: &Ident) -> Option<TokenStream> {
    let notes = elementwise.entries.iter().map(|(name, _)| {
        let text = name.unraw().to_string();
        quote!(#note(#text, self.#name.len());)
    });
    let of_note = of_note();
    (!elementwise.entries.is_empty()).then(|| {
        quote! {
            fn list_entries(&self, #note: #of_note) {
                #(#notes)*
            }
        }
    })
}

/// Generates the gradients as a formula of the inputs and of the outputs' gradients, where some are given.
#[expect(
    clippy::too_many_lines,
    reason = "one function is generated, whose parts share their variables"
)]
fn gradients_formula(
    definition: &Definition,
    elementwise: &Elementwise,
    forward: &Forward,
    p: &TokenStream,
) -> TokenStream {
    let formula = formula_name(&definition.ident);
    let name = gradients_name(&definition.ident);
    let (of_inputs, of_outputs) = (Items::inputs(elementwise), Items::outputs(elementwise));
    let of_both = Items::both(elementwise);
    let (x, g, y) = (
        of_inputs.names("x"),
        of_outputs.names("g"),
        of_outputs.names("y"),
    );
    let units = definition
        .generics
        .type_params()
        .map(|_| quote!(()))
        .listed();
    let ident = &definition.ident;
    let is_held = |input: usize| {
        let mut given = elementwise.replaced.iter();
        !elementwise.differentiable[input] || given.any(|given| given.inputs.contains(&input))
    };
    let inputs_count = elementwise.inputs.len();
    let held = (0..inputs_count).map(is_held);
    let (sums, [entries, at]) = (local("sums"), block_of_entries());
    let real = local("R");
    let of = elementwise.replaced.iter().enumerate();
    let call = quote!(<#ident<#(#units),*>>);
    let steps = of.map(|(index, given)| {
        let arguments = given.names.iter().map(|name| {
            let number = name_of(name, elementwise, forward, [&x, &g, &y]);
            let number = number.map(|number| match (given.once, elementwise.row(name)) {
                (false, _) => number.to_token_stream(),
                (true, None) => quote!(#p::plain(#number)),
                (true, Some(_)) => quote!(#p::plain_row(#number)),
            });
            number.or_else(|| value(name, elementwise, &quote!(self.0)))
        });
        let function = gradient_name(index);
        let call = quote!(#call::#function(#(#arguments),*));
        let is_row = |input: &usize| of_inputs.row(*input).is_some();
        if !given.once && !given.inputs.iter().any(is_row) {
            let places = given.inputs.iter().map(|&input| of_inputs.start(input));
            let places = tuple(places.map(|place| quote!(#sums[#place])));
            return quote!(#places = #call;);
        }
        let results = numbered(
            if given.once { "plain" } else { "given" },
            given.inputs.len(),
        );
        let pattern = tuple(results.iter().map(ToTokens::to_token_stream));
        let puts = given.inputs.iter().zip(&results).map(|(input, result)| {
            let result = match (given.once, is_row(input)) {
                (false, _) => result.to_token_stream(),
                (true, false) => {
                    quote!(<#real as ::core::convert::From<::core::primitive::f64>>::from(#result))
                }
                (true, true) => quote!(#p::from_plain::<#real, _>(#result)),
            };
            of_inputs.put(*input, &sums, &result, p)
        });
        quote! {
            let #pattern = #call;
            #(#puts)*
        }
    });
    let numbers = of_both.pattern("all");
    let (both, inputs, outputs) = (of_both.count(), of_inputs.count(), of_outputs.count());
    let (computed, taken, held) = if of_both.has_rows() {
        let all = local("all");
        let taken = [("x", &of_inputs, 0), ("g", &of_outputs, inputs_count)];
        let taken = taken.map(|(name, items, before)| {
            let (pattern, parts) = (items.pattern(name), items.taken_apart(name, p));
            let (start, count) = (of_both.start(before), items.count());
            quote! {
                let #pattern: [#real; #count] = #p::row(&#all, #start);
                #parts
            }
        });
        let list = of_inputs.list(p);
        let held = quote!(const { #p::of_numbers::<_, #inputs>(#list, &[#(#held),*], false) });
        // The arrays are passed as they are.
        (
            quote!(#p::row(&#all, 0), #p::row(&#all, #inputs)),
            quote!(#(#taken)*),
            held,
        )
    } else {
        (
            quote!([#(#x),*], [#(#g),*]),
            TokenStream::new(),
            quote!([#(#held),*]),
        )
    };
    let (results, taken_results) = (of_outputs.pattern("y"), of_outputs.taken_apart("y", p));
    let names = if of_both.has_rows() {
        numbers
    } else {
        quote!([#(#x,)* #(#g),*])
    };
    let items = lists_of_items(&of_both, &of_inputs, p);
    let of_loops = of_loops(elementwise, p);
    let elements = local("elements");
    let note = local("note");
    let inline = compiler::inline();
    let list = list_values(
        elementwise,
        &quote!(#p::Formula::list_values(&self.0, #note);),
        &note,
    );
    quote! {
        struct #name(#formula);

        impl #p::Formula<#both, #inputs> for #name {
            type Entries = <#formula as #p::Formula<#inputs, #outputs>>::Entries;
            #items
            #of_loops

            #inline
            fn entries(&self, #elements: #p::Elements) -> Self::Entries {
                #p::Formula::entries(&self.0, #elements)
            }

            #inline
            #[allow(unused_variables)]
            fn at<#real: #p::Real>(
                &self,
                #entries: &Self::Entries,
                #at: #p::Place,
                #names: [#real; #both],
            ) -> [#real; #inputs]
            where
                ::core::primitive::f64: #p::Literal<#real>,
            {
                #taken
                let (mut #sums, #results) =
                    #p::pulled_back(&self.0, #entries, #at, #computed, #held);
                #taken_results
                #(#steps)*
                #sums
            }

            #list
        }
    }
}

/// Returns the variable of a name in a given gradient: an input, a gradient of an output, or an output.
fn name_of<'a>(
    name: &Ident,
    elementwise: &Elementwise,
    forward: &Forward,
    [x, g, y]: [&'a [Ident]; 3],
) -> Option<&'a Ident> {
    let returned = forward.differentiable_outputs();
    let input = elementwise.inputs.iter().position(|input| input == name);
    let mut outputs = returned.iter();
    let gradient = outputs.position(|(output, _)| output.gradient_name() == *name);
    let output = returned.iter().position(|(output, _)| output.name == *name);
    input
        .map(|input| &x[input])
        .or(gradient.map(|output| &g[output]))
        .or(output.map(|output| &y[output]))
}

fn numbered(name: &str, count: usize) -> Vec<Ident> {
    (0..count)
        .map(|index| local(format_args!("{name}_{index}")))
        .listed()
}

/// Generates forward and `apply`.
pub(super) fn functions(
    model: &FunctionModel,
    free: &FreeFunction,
    elementwise: &Elementwise,
    p: &TokenStream,
) -> TokenStream {
    let (vis, sig, docs) = (&free.vis, &free.kernel, docs::short_kernel(free));
    let inputs = &elementwise.inputs;
    let (of_inputs, of_outputs) = (Items::inputs(elementwise), Items::outputs(elementwise));
    let formula = made(&model.definition, elementwise);
    let order = elementwise.order;
    let loops = match &elementwise.scan {
        Some(_) => scan::loops(elementwise, &formula, p),
        None => blocks([&of_inputs, &of_outputs], order, &formula, p),
    };
    let results = of_outputs.names("y");
    let returned = |ranked: &TokenStream| {
        let results = results.iter().map(|result| quote!(#p::#ranked(#result)));
        if returns_tuple(elementwise) {
            quote!((#(#results,)*))
        } else {
            quote!(#(#results)*)
        }
    };
    let tensors = inputs.iter().map(|input| quote!(#p::dynamic(#input)));
    let arrays = inputs.iter().map(|input| quote!(#input.into_dyn()));
    let (tensors, arrays) = (quote!([#(#tensors),*]), quote!([#(#arrays),*]));
    let (of_tensors, of_arrays) = (returned(&quote!(ranked)), returned(&quote!(ranked_array)));
    let derivatives = derivatives(model, elementwise, p);
    let places = (0..inputs.len()).filter(|&input| elementwise.differentiable[input]);
    let places = places.map(number);
    let probes = probes::statements(model, p);
    let parts = [&loops, &tensors, &arrays];
    let (applied, computed) = match (&elementwise.scan, &elementwise.pairs) {
        (Some(scan), _) => scan::calls(model, elementwise, scan, parts, p),
        (None, Some(pairs)) => pairs::calls(model, elementwise, pairs, parts, p),
        (None, None) => (
            quote! {
                #p::Elementwise::<Self>::apply(
                    #loops,
                    #derivatives,
                    #tensors,
                    &[#(#places),*],
                )
            },
            quote!(#p::values(&<Self as #p::Function>::SIGNATURE, &#loops, &#arrays)),
        ),
    };
    let apply = quote! {
        #probes
        let [#(#results),*] = #applied;
        #of_tensors
    };
    let apply = apply::method(&model.forward, &docs::apply(model), &apply, p);
    quote! {
        #docs
        #[track_caller]
        #[allow(dead_code, clippy::needless_pass_by_value)]
        #vis #sig {
            let [#(#results),*] = #computed;
            #of_arrays
        }

        #apply
    }
}

/// Generates the check that there are not more numbers than the runtime has loops for, where a length is a constant that
/// only the compiler knows.
fn few_numbers(elementwise: &Elementwise, p: &TokenStream) -> Option<TokenStream> {
    let lengths = elementwise
        .rows
        .iter()
        .chain(&elementwise.outputs)
        .flatten()
        .filter_map(Row::length);
    let mut unknown = lengths
        .filter(|length| !matches!(length, Expr::Lit(_)))
        .peekable();
    let span = at(*unknown.peek()?);
    let counts =
        [Items::inputs(elementwise), Items::outputs(elementwise)].map(|items| items.count());
    let [inputs, outputs] = counts;
    let message = "a formula takes and returns at most 96 numbers, and a row has at least one";
    Some(quote_spanned! {span=>
        const _: () = ::core::assert!(
            #inputs <= #p::MOST_NUMBERS && #outputs <= #p::MOST_NUMBERS #(&& #unknown > 0)*,
            #message
        );
    })
}

/// Returns what makes derivatives of the loops: they are those of the formula, or those that are given.
fn derivatives(model: &FunctionModel, elementwise: &Elementwise, p: &TokenStream) -> TokenStream {
    if elementwise.replaced.is_empty() {
        return quote!(#p::Derivatives::Generated);
    }
    let (name, loops) = (gradients_name(&model.definition.ident), local("loops"));
    let (both, inputs) = (Items::both(elementwise), Items::inputs(elementwise));
    let order = elementwise.order - 1;
    let gradients = blocks([&both, &inputs], order, &quote!(#name(#loops.0)), p);
    quote!(|#loops| #p::Derivatives::Given(#gradients))
}

fn gradients_name(ident: &Ident) -> Ident {
    format_ident!("{ident}Gradients", span = at(ident))
}

pub(super) fn returns_tuple(elementwise: &Elementwise) -> bool {
    if elementwise.has_slices() {
        return elementwise.outputs.len() > 1;
    }
    let output = &elementwise.formula.output;
    matches!(output, ReturnType::Type(_, ty) if matches!(peel(ty), Type::Tuple(_)))
}

/// Returns the formula, made of the values as forward takes them.
fn made(definition: &Definition, elementwise: &Elementwise) -> TokenStream {
    let name = formula_name(&definition.ident);
    let fields = elementwise.values.iter().map(|(name, ty)| {
        let span = at(ty);
        let value = match Passing::of(ty) {
            Passing::Owned(_) => quote!(#name),
            Passing::Reference(target) if is_sized(&target) => {
                quote_spanned!(span=> <#target as ::core::clone::Clone>::clone(#name))
            }
            Passing::Reference(_) => {
                quote_spanned!(span=> ::std::borrow::ToOwned::to_owned(#name))
            }
            Passing::OptionalReference(_) => quote_spanned! {span=>
                ::core::option::Option::map(#name, ::std::borrow::ToOwned::to_owned)
            },
        };
        quote!(#name: #value)
    });
    quote!(#name { #(#fields),* })
}

/// Returns the loops of a formula of these inputs and outputs, to this order.
pub(super) fn blocks(
    items: [&Items<'_>; 2],
    order: usize,
    formula: &TokenStream,
    p: &TokenStream,
) -> TokenStream {
    let ([inputs, outputs], order) = (items.map(Items::count), number(order));
    quote!(#p::Blocks::<_, #inputs, #outputs, #order>(#formula))
}
