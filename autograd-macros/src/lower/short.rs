//! Turns the short form, a free function and the expressions of its gradients, into the block that it
//! is short for; all other rules then look at that.
//!
//! This happens in two steps. [`block`] is made of syntax alone: forward is the free function, and
//! each `grad(…)` a backward function without parameters. What those ask for, and in which types,
//! depends on forward, so [`signature`] writes their signatures once forward has been read.

use std::borrow::Cow;

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt as _;
use syn::punctuated::Punctuated;
use syn::token::Group;
use syn::{
    FnArg, GenericParam, Generics, Ident, Signature, Type, TypeGroup, TypeParamBound, Visibility,
    WhereClause, parse_quote,
};

use super::ShortArguments;
use crate::lists::Lists as _;
use crate::model::{Definition, Forward, FreeFunction, FunctionKind, Source, Wants, Written};
use crate::parse::{Argument, Function, Helper, ImplBlock, Method, is_ours};
use crate::spell::{array, camel_case, placed, taken, tuple};
use crate::types::{Form, Kind, Passing};
use crate::uses;

/// Returns the block that a free function is short for.
pub(crate) fn block(function: Function, arguments: ShortArguments) -> (ImplBlock, FunctionKind) {
    let (block, free) = free_function(function, arguments);
    (block, FunctionKind::Short(Box::new(free)))
}

/// Returns the block, and the function as it was.
pub(super) fn free_function(
    function: Function,
    arguments: ShortArguments,
) -> (ImplBlock, FreeFunction) {
    let Function {
        attrs,
        vis,
        sig,
        body,
    } = function;
    let ShortArguments {
        grads,
        forward,
        higher_order,
        complete,
    } = arguments;
    let (of_block, of_forward) = split(&sig.generics);
    let free = FreeFunction {
        attrs: attrs.clone(),
        vis: vis.clone(),
        ident: sig.ident.clone(),
        generics: sig.generics.clone(),
        kernel: kernel(&sig, &of_forward),
        body: body.clone(),
        higher_order,
        complete,
    };
    let ident = camel_case(&sig.ident, &sig.generics);
    let arguments = of_block.split_for_impl().1.to_token_stream();
    let self_ty = parse_quote!(#ident #arguments);
    let forward = Method {
        attrs: Vec::new(),
        helpers: vec![helper("forward", forward)],
        vis,
        sig: Signature {
            generics: of_forward,
            ..sig
        },
        body: body.stream(),
        expression: None,
        place: 0..0,
    };
    let gradients = grads.into_iter().filter_map(gradient);
    let block = ImplBlock {
        attrs,
        generics: of_block,
        trait_: None,
        self_ty,
        methods: std::iter::once(forward).chain(gradients).listed(),
        misplaced: Vec::new(),
        unfinished: Vec::new(),
    };
    (block, free)
}

/// Returns `grad(x) = …` or `adjoint(x) = …` as a function whose signature is not known yet.
fn gradient(argument: Argument) -> Option<Method> {
    let names = argument.list?;
    let covered = names.iter().filter(|name| name.is_an_input());
    let words: Vec<String> = covered.map(|name| name.name.unraw().to_string()).listed();
    let (prefix, attribute) = if argument.name == "adjoint" {
        ("adjoint", "adjoint")
    } else {
        ("grad", "backward")
    };
    let ident = format_ident!("{prefix}_{}", words.join("_"), span = argument.name.span());
    Some(Method {
        attrs: Vec::new(),
        helpers: vec![helper(attribute, names)],
        vis: Visibility::Inherited,
        sig: parse_quote!(fn #ident()),
        body: argument.value.to_token_stream(),
        expression: Some(argument.value?),
        place: 0..0,
    })
}

fn helper(name: &str, arguments: Vec<Argument>) -> Helper {
    let name = Ident::new(name, Span::call_site());
    let arguments = Ok(arguments);
    Helper {
        name,
        arguments,
        disguise: None,
    }
}

/// Returns the signature of a backward function: the written one, or, in the short form, one whose parameters
/// are the names that its expression uses.
pub(crate) fn signature<'a>(
    method: &'a Method,
    named: &[Ident],
    covers: &[usize],
    (definition, forward): (&Definition, &Forward),
) -> Cow<'a, Signature> {
    let Some(expression) = &method.expression else {
        return Cow::Borrowed(&method.sig);
    };
    let mut sig = method.sig.clone();
    let of = Gradient {
        covers,
        definition,
        forward,
    };
    for name in uses::names(expression, &forward.known_names()) {
        let ty = of.asked_type(&name).unwrap_or_default();
        let ty = placed_type(ty, name.span());
        sig.inputs.push(parse_quote!(#name: #ty));
    }
    let place = named.first().map_or_else(Span::call_site, Ident::span);
    let returned = placed_type(of.returned_type(), place);
    sig.output = parse_quote!(-> #returned);
    Cow::Owned(sig)
}

/// Returns the function to generate around an expression, if its type is known.
pub(crate) fn written(method: &Method, sig: Cow<'_, Signature>, complete: bool) -> Option<Written> {
    let expression = method.expression.clone().filter(|_| complete)?;
    let sig = sig.into_owned();
    Some(Written { sig, expression })
}

/// A gradient that is an expression: what its names mean.
struct Gradient<'a> {
    /// The inputs whose gradients it gives.
    covers: &'a [usize],
    definition: &'a Definition,
    forward: &'a Forward,
}

impl Gradient<'_> {
    /// Returns the type that a name has in an expression: tensors as views, or as `&Tensor` with
    /// `higher_order`; values by reference. What is optional in forward is so here, but for an input in
    /// its own gradient; a list is a slice.
    fn asked_type(&self, name: &Ident) -> Option<TokenStream> {
        let (forward, form) = (self.forward, self.form());
        let source = match forward.wanted(name, false)? {
            Wants::NeedsInputGrad => {
                let ty = format_ident!("{}NeedsInputGrad", self.definition.ident);
                return Some(quote!(#ty));
            }
            Wants::Context => {
                let ty = format_ident!("{}Context", self.definition.ident);
                let (_, arguments, _) = self.definition.generics.split_for_impl();
                return Some(quote!(&#ty #arguments));
            }
            Wants::Gradient(output) => {
                let (returned, ty) = forward.differentiable_outputs()[output];
                return Some(taken(returned.kind, form, &ty.content));
            }
            // Lengths are numbers whatever they are used for.
            Wants::Saved(source @ (Source::Axis(_) | Source::Shape(_))) => {
                return Some(forward.source(source).ty.to_token_stream());
            }
            Wants::Saved(source) => source,
            // Only a `#[jvp]` rule has any.
            Wants::Tangent(_) => return None,
        };
        let named = forward.source(source);
        let Some(tensor) = named.tensor else {
            return Some(match Passing::of(named.ty) {
                Passing::Owned(ty) | Passing::Reference(ty) => quote!(&#ty),
                Passing::OptionalReference(ty) => quote!(::core::option::Option<&#ty>),
            });
        };
        // Its own gradient is asked for only where it is there.
        let kind = match named.kind {
            Kind::Optional if forward.is_alone(source, self.covers) => Kind::Single,
            kind => kind,
        };
        Some(taken(kind, form, &tensor.content))
    }

    fn returned_type(&self) -> TokenStream {
        let inputs = self.forward.differentiable();
        let form = match self.form() {
            Form::TensorRef => Form::Tensor,
            _ => Form::Owned,
        };
        let gradient = |edge: &usize| {
            let tensor = inputs[*edge].1;
            let ty = array(form, &tensor.ty.content);
            if tensor.kind == Kind::List {
                quote!(::std::vec::Vec<#ty>)
            } else {
                ty
            }
        };
        tuple(self.covers.iter().map(gradient))
    }

    fn form(&self) -> Form {
        let free = self.definition.kind.free();
        if free.is_some_and(|free| free.higher_order) {
            Form::TensorRef
        } else {
            Form::View
        }
    }
}

/// Returns a type at `place`, where the compiler then reports its errors.
fn placed_type(tokens: TokenStream, place: Span) -> Type {
    let tokens = placed(tokens, place);
    // All of it was read as types before, or is written here.
    let elem = syn::parse2(tokens.clone()).unwrap_or(Type::Verbatim(tokens));
    Type::Group(TypeGroup {
        attrs: Vec::new(),
        group_token: Group { span: place },
        elem: Box::new(elem),
    })
}

/// Returns the signature of `Linear::forward`, the function on arrays.
fn kernel(sig: &Signature, generics: &Generics) -> Signature {
    let mut kernel = Signature {
        ident: Ident::new("forward", sig.ident.span()),
        // Refused, and `async` would be refused again.
        asyncness: None,
        generics: generics.clone(),
        ..sig.clone()
    };
    for argument in &mut kernel.inputs {
        let attrs = match argument {
            FnArg::Typed(parameter) => &mut parameter.attrs,
            FnArg::Receiver(receiver) => &mut receiver.attrs,
        };
        attrs.retain(|attr| !is_ours(attr));
    }
    kernel
}

/// Splits the parameters of the function: types and constants are the block's, for backward functions
/// share them; lifetimes, and bounds that speak of them, are forward's.
fn split(generics: &Generics) -> (Generics, Generics) {
    let is_lifetime = |param: &&GenericParam| matches!(param, GenericParam::Lifetime(_));
    let lifetimes: Vec<String> = generics
        .lifetimes()
        .map(|param| param.lifetime.ident.to_string())
        .listed();
    let speaks_of_one = |tokens: TokenStream| mentions(tokens, &lifetimes);
    let (mut block, mut forward) = (Generics::default(), Generics::default());
    let mut clauses: [WhereClause; 2] = std::array::from_fn(|_| parse_quote!(where));
    for param in &generics.params {
        if is_lifetime(&param) {
            forward.params.push(param.clone());
            continue;
        }
        let mut param = param.clone();
        if let GenericParam::Type(param) = &mut param {
            let bounds = std::mem::take(&mut param.bounds);
            let (moved, kept): (Vec<TypeParamBound>, Vec<_>) = bounds
                .into_iter()
                .partition(|bound| speaks_of_one(bound.to_token_stream()));
            param.bounds = kept.into_iter().collect();
            let (ident, moved) = (
                &param.ident,
                Punctuated::<_, syn::Token![+]>::from_iter(moved),
            );
            if !moved.is_empty() {
                clauses[1].predicates.push(parse_quote!(#ident: #moved));
            }
        }
        block.params.push(param);
    }
    for predicate in generics
        .where_clause
        .iter()
        .flat_map(|clause| &clause.predicates)
    {
        let of_forward = usize::from(speaks_of_one(predicate.to_token_stream()));
        clauses[of_forward].predicates.push(predicate.clone());
    }
    for (generics, clause) in [&mut block, &mut forward].into_iter().zip(clauses) {
        generics.where_clause = (!clause.predicates.is_empty()).then_some(clause);
    }
    (block, forward)
}

/// Returns whether one of the lifetimes is somewhere in the tokens.
fn mentions(tokens: TokenStream, lifetimes: &[String]) -> bool {
    let mut follows_apostrophe = false;
    tokens.into_iter().any(|token| {
        let is_one = match &token {
            TokenTree::Group(group) => mentions(group.stream(), lifetimes),
            TokenTree::Ident(name) => follows_apostrophe && lifetimes.contains(&name.to_string()),
            _ => false,
        };
        follows_apostrophe = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '\'');
        is_one
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_follow_the_lifetimes_that_they_speak_of() {
        let generics: Signature = parse_quote! {
            fn f<'a, T: Element + 'a, F: Fn(&'a T) -> T, const N: usize>() where T: Copy, F: 'a, [T; N]: Sized
        };
        let mut generics = generics.generics;
        generics.where_clause = parse_quote!(where T: Copy, F: 'a, [T; N]: Sized);
        let (block, forward) = split(&generics);
        let shown = |generics: &Generics| {
            let clause = &generics.where_clause;
            quote!(#generics #clause).to_string().replace(' ', "")
        };
        assert_eq!(
            shown(&block),
            "<T:Element,F,constN:usize>whereT:Copy,[T;N]:Sized"
        );
        assert_eq!(shown(&forward), "<'a>whereT:'a,F:Fn(&'aT)->T,F:'a");
    }
}
