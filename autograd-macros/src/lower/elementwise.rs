//! Turns an elementwise function into the short form of a function on arrays: each number becomes an array of such
//! numbers, all of one rank.

use proc_macro2::{Group, TokenStream};
use quote::{ToTokens as _, format_ident, quote};
use syn::{FnArg, GenericParam, Generics, Ident, Pat, PatType, ReturnType, Type, parse_quote};

use super::angles::has_angles;
use super::budget::{is_small, is_small_in_reverse};
use super::reversed::reversed;
use super::unrolled::unrolled;
use super::written_out::style;
use super::{ShortArguments, closures, short};
use crate::compiler;
use crate::lists::Lists as _;
use crate::model::{Elementwise, FunctionKind, Reversed, Row, Style};
use crate::parse::{Function, ImplBlock, is_ours};
use crate::spell::{at, has_word, placed, private};
use crate::types::{bound, peel};

/// The fewest numbers of a formula whose derivatives are written in reverse: of fewer, dual numbers are as fast, if the
/// compiler makes vector code of them.
const FEWEST: usize = 3;

/// Returns the block that an elementwise function stands for.
pub(crate) fn block(
    function: Function,
    mut elementwise: Elementwise,
    arguments: ShortArguments,
) -> (ImplBlock, FunctionKind) {
    let function = on_arrays(function, &elementwise);
    for argument in &mut elementwise.formula.inputs {
        if let FnArg::Typed(parameter) = argument {
            parameter.attrs.retain(|attr| !is_ours(attr));
            let mut entries = elementwise.entries.iter();
            let is_its = |entry: &&(Ident, Type)| bound(&parameter.pat) == Some(&entry.0);
            if let Some((_, entry)) = entries.find(is_its) {
                *parameter.ty = entry.clone();
            }
        }
    }
    // Derivatives that are given are those of the formula.
    let arguments = ShortArguments {
        grads: Vec::new(),
        ..arguments
    };
    let (block, mut free) = short::free_function(function, arguments);
    // The lanes of a scan take different branches more often, each of which is replayed: its steps stay compiled.
    if elementwise.scan.is_none() {
        elementwise.style = style(&free.body.stream(), &elementwise);
    }
    write_out(&mut free.body, &mut elementwise);
    elementwise.has_angles = has_angles(&free.body.stream(), &elementwise);
    if compiler::optimizes() {
        free.body = closures::inlined(free.body);
    }
    let kind = FunctionKind::Elementwise(Box::new(free), Box::new(elementwise));
    (block, kind)
}

/// Writes the derivatives of a formula in reverse, if it has them, and its loops out, if it has no others. If it becomes too
/// large, it is recorded.
fn write_out(body: &mut Group, elementwise: &mut Elementwise) {
    let mut reversed =
        reversed(body, elementwise).filter(|reversed| is_small_in_reverse(reversed, elementwise));
    let written = unrolled(body, elementwise);
    if style(&written.stream(), elementwise) != Style::WrittenOut {
        if let Some(reversed) = &mut reversed {
            reversed.has_outputs = reversed.is_straight() && elementwise.entries.is_empty();
        }
        elementwise.reversed = reversed;
        return;
    }
    let was_written_out = elementwise.style == Style::WrittenOut;
    let is_compiled = was_written_out || is_small(&written.stream(), elementwise);
    let is_better = |reversed: &Reversed| reversed.inputs >= FEWEST || !is_compiled;
    elementwise.reversed = reversed.filter(is_better);
    if elementwise.reversed.is_some() || is_compiled && !was_written_out {
        *body = written;
        elementwise.style = Style::WrittenOut;
    } else if !was_written_out {
        elementwise.style = Style::Calls;
    }
}

/// Returns the types that a formula returns, one for each output.
pub(crate) fn returned(output: &ReturnType) -> Vec<&Type> {
    match output {
        ReturnType::Default => Vec::new(),
        ReturnType::Type(_, ty) => match peel(ty) {
            Type::Tuple(tuple) if !tuple.elems.is_empty() => tuple.elems.iter().listed(),
            single => vec![single],
        },
    }
}

/// Returns the signature on arrays, with the body of the formula.
fn on_arrays(function: Function, elementwise: &Elementwise) -> Function {
    let number = &elementwise.number;
    let rank = elementwise.rank();
    let p = &private();
    let array = |on: &Type, axes: usize, name: &str, lifetime: TokenStream| {
        let array = if elementwise.pairs.is_some() {
            let name = format_ident!("{name}{axes}");
            quote!(#p::ndarray::#name<#lifetime #number>)
        } else {
            let (rank, others) = elementwise.rank_of(axes);
            let others = others.iter().map(|other| Ident::new(other, rank.span()));
            let rank = others
                .enumerate()
                .fold(quote!(#rank), |rank, (place, other)| {
                    if place == 0 {
                        quote!(#rank::#other)
                    } else {
                        quote!(<#rank as #p::ndarray::Dimension>::#other)
                    }
                });
            let name = format_ident!("{name}");
            quote!(#p::ndarray::#name<#lifetime #number, #rank>)
        };
        let array = placed(array, at(on));
        syn::parse2(array.clone()).unwrap_or(Type::Verbatim(array))
    };
    let mut sig = function.sig;
    for argument in &mut sig.inputs {
        let FnArg::Typed(parameter) = argument else {
            continue;
        };
        if let Pat::Ident(pattern) = &mut *parameter.pat {
            pattern.mutability = None;
        }
        if !is_a_value(parameter, elementwise) {
            let mut names = elementwise.inputs.iter();
            let place = names.position(|name| bound(&parameter.pat) == Some(name));
            let axes = place.map_or(0, |place| elementwise.axes_of_input(place));
            *parameter.ty = array(&parameter.ty, axes, "ArrayView", quote!('_,));
        }
    }
    let mut results = returned(&sig.output).into_iter();
    let arrays = elementwise.outputs.iter().enumerate().map(|(place, row)| {
        let axes = elementwise.axes_of_output(place);
        let number = parse_quote!(#number);
        let written = match row {
            Some(Row::Slice) => None,
            _ => results.next(),
        };
        array(
            written.unwrap_or(&number),
            axes,
            "Array",
            TokenStream::new(),
        )
    });
    let arrays: Vec<Type> = arrays.listed();
    sig.output = match &sig.output {
        _ if elementwise.has_slices() => match &arrays[..] {
            [single] => parse_quote!(-> #single),
            several => parse_quote!(-> (#(#several,)*)),
        },
        // A mistake, which the rules report.
        ReturnType::Default => {
            let array = array(&parse_quote!(#number), 0, "Array", TokenStream::new());
            parse_quote!(-> #array)
        }
        ReturnType::Type(arrow, ty) if matches!(peel(ty), Type::Tuple(_)) => {
            let tuple = parse_quote!((#(#arrays,)*));
            ReturnType::Type(*arrow, Box::new(tuple))
        }
        ReturnType::Type(..) => parse_quote!(-> #(#arrays)*),
    };
    let lifetimes = sig.generics.lifetimes().cloned();
    sig.generics = Generics {
        params: lifetimes.map(GenericParam::Lifetime).collect(),
        ..Generics::default()
    };
    sig.generics.params.push(parse_quote!(#number));
    if elementwise.pairs.is_none() {
        sig.generics.params.push(parse_quote!(#rank));
    }
    Function { sig, ..function }
}

fn is_a_value(parameter: &PatType, elementwise: &Elementwise) -> bool {
    match bound(&parameter.pat) {
        Some(name) => elementwise.values.iter().any(|(value, _)| value == name),
        // A parameter without a name is a mistake, which the rules report.
        None => !has_word(parameter.ty.to_token_stream(), &elementwise.number),
    }
}
