//! Turns a linear function round: its adjoint becomes a function whose own adjoint is forward, so that each is the
//! derivative of the other, to every order and in both modes.
//!
//! The author writes forward and its adjoint. What follows from them is written here: the backward function, which
//! applies the adjoint to the incoming gradient; the rule for forward mode, which applies forward to the tangent; and the
//! block of the function turned round, which has both the other way.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::{Expr, Ident, Signature, Type, parse_quote};

use crate::lists::Lists as _;
use crate::model::{
    Definition, Derivative, Forward, Input, Named, Parameter, Source, TensorInput, Wants,
};
use crate::spell::{array, at, local, option, private, replaced, taken, tuple};
use crate::types::{Content, Form, Kind, Passing, TensorType, is_sized};

/// What follows from forward and its adjoint.
pub(crate) struct Turned {
    /// The backward function.
    pub(crate) backward: (Signature, Expr),
    /// The rule for forward mode.
    pub(crate) rule: (Signature, Expr),
    /// Its block, under the attribute.
    pub(crate) block: TokenStream,
}

/// Writes all that follows from an adjoint, as the rules have read it.
///
/// `covers` has the differentiable inputs in the order of what the adjoint returns.
pub(crate) fn turned(
    definition: &Definition,
    forward: &Forward,
    adjoint: &Derivative,
    covers: &[usize],
) -> Turned {
    let author = Author {
        definition,
        forward,
        adjoint,
        covers,
    };
    let ident = local("__Adjoint");
    Turned {
        backward: author.backward(&ident),
        rule: author.rule(),
        block: author.block(&ident),
    }
}

/// What the author wrote.
struct Author<'a> {
    definition: &'a Definition,
    forward: &'a Forward,
    adjoint: &'a Derivative,
    covers: &'a [usize],
}

impl Author<'_> {
    /// Returns the differentiable inputs, in the order of what the adjoint returns.
    fn covered(&self) -> Vec<(&Input, &TensorInput)> {
        let inputs = self.forward.differentiable();
        self.covers.iter().map(|edge| inputs[*edge]).listed()
    }

    /// Returns the inputs that are not differentiable.
    fn others(&self) -> impl Iterator<Item = (usize, &Input)> {
        let inputs = self.forward.inputs.iter().enumerate();
        inputs.filter(|(_, input)| !input.is_differentiable())
    }

    /// Returns the axes and shapes that the adjoint asks for, of which the function turned round has no tensor.
    fn lengths(&self) -> impl Iterator<Item = Named<'_>> {
        let sources = self.adjoint.sources();
        let lengths = sources.filter(|one| matches!(one, Source::Axis(_) | Source::Shape(_)));
        lengths.map(|source| self.forward.source(source))
    }

    /// Returns the parameters by which a function on tensors asks for the other inputs.
    fn asked(&self) -> Vec<TokenStream> {
        let asked = self.others().map(|(_, input)| {
            let name = &input.name;
            let ty = match &input.tensor {
                Some(tensor) => taken(tensor.kind, Form::TensorRef, &tensor.ty.content),
                None => elided(&input.ty),
            };
            quote!(#name: #ty)
        });
        asked.listed()
    }

    fn length_parameters(&self) -> Vec<TokenStream> {
        let lengths = self.lengths();
        lengths
            .map(|Named { name, ty, .. }| quote!(#name: #ty))
            .listed()
    }

    /// Returns the gradients of the outputs: their names, types and kinds.
    fn gradients(&self) -> Vec<(Ident, &TensorType, Kind)> {
        let outputs = self.forward.differentiable_outputs().into_iter();
        outputs
            .map(|(output, ty)| (output.gradient_name(), ty, output.kind))
            .listed()
    }

    /// Returns the backward function: the adjoint of the incoming gradient.
    fn backward(&self, turned: &Ident) -> (Signature, Expr) {
        let name = local(format_args!(
            "__pullback_adjoint_of_{}",
            self.forward.ident.unraw()
        ));
        let gradients = self.gradients().into_iter().map(|(name, ty, kind)| {
            let ty = taken(kind, Form::TensorRef, &ty.content);
            quote!(#name: #ty)
        });
        let (asked, lengths) = (self.asked(), self.length_parameters());
        let returns = tuple(
            self.covered()
                .into_iter()
                .map(|(_, tensor)| returned(tensor.kind, &tensor.ty.content)),
        );
        let returns = within(self.adjoint.fallible.as_ref(), &returns);
        let arguments = self.arguments(&Ident::clone);
        let (_, generics, _) = self.definition.generics.split_for_impl();
        let turbofish = generics.as_turbofish();
        (
            parse_quote!(fn #name(#(#gradients,)* #(#asked,)* #(#lengths),*) -> #returns),
            parse_quote!(#turned #turbofish::apply(#(#arguments),*)),
        )
    }

    /// Returns the arguments of the function turned round; `name` is that of a tensor in the place of a gradient.
    fn arguments(&self, name: &dyn Fn(&Ident) -> Ident) -> Vec<TokenStream> {
        let gradients = self.gradients().into_iter().map(|(gradient, _, kind)| {
            let form = self
                .gradient_parameter(&gradient)
                .and_then(|asked| asked.form);
            let is_owned = matches!(form, Some(Form::Owned)) && kind != Kind::List;
            passed(&name(&gradient), is_owned)
        });
        let others = self.others().map(|(index, input)| {
            let form = self.form_of(index, input);
            argument(input, matches!(form, Some(Form::Owned)))
        });
        let lengths = self.lengths().map(|length| length.name.to_token_stream());
        gradients.chain(others).chain(lengths).listed()
    }

    /// Returns the parameter of the adjoint for the gradient of this name.
    fn gradient_parameter(&self, name: &Ident) -> Option<&Parameter> {
        let outputs = self.forward.differentiable_outputs();
        let mut outputs = outputs.iter();
        let output = outputs.position(|(output, _)| output.gradient_name() == *name)?;
        self.adjoint.requests(Wants::Gradient(output)).next()
    }

    /// Returns the form in which the adjoint asks for an input that is a tensor; a view where it does not.
    fn form_of(&self, index: usize, input: &Input) -> Option<Form> {
        input.tensor.as_ref()?;
        let mut asked = self.adjoint.requests(Wants::Saved(Source::Input(index)));
        Some(asked.find_map(|asked| asked.form).unwrap_or(Form::View))
    }

    /// Returns the rule for forward mode: forward of the tangent.
    fn rule(&self) -> (Signature, Expr) {
        let name = local(format_args!(
            "__pullback_rule_of_{}",
            self.forward.ident.unraw()
        ));
        let inputs = self.covered().into_iter();
        let tangents = inputs.map(|(input, tensor)| {
            let (name, ty) = (
                input.tangent_name(),
                taken(tensor.kind, Form::TensorRef, &tensor.ty.content),
            );
            quote!(#name: #ty)
        });
        let asked = self.asked();
        let returns = self.outputs();
        let call = self.apply(&Input::tangent_name, &quote!(Self), &failed());
        let sig = parse_quote!(fn #name(#(#tangents,)* #(#asked),*) -> #returns);
        (sig, call)
    }

    /// Returns the type of the differentiable outputs, as tensors.
    fn outputs(&self) -> TokenStream {
        let gradients = self.gradients().into_iter();
        tuple(gradients.map(|(_, ty, kind)| returned(kind, &ty.content)))
    }

    /// Applies forward to tensors that have its inputs' place, and returns the differentiable outputs; `otherwise` is
    /// what becomes of its error.
    fn apply(
        &self,
        name: &dyn Fn(&Input) -> Ident,
        of: &TokenStream,
        otherwise: &TokenStream,
    ) -> Expr {
        let (mut before, mut arguments) = (TokenStream::new(), Vec::new());
        for input in &self.forward.inputs {
            let given = if input.is_differentiable() {
                name(input)
            } else {
                input.name.clone()
            };
            if input.is_in_place() {
                let written = written(input);
                before.extend(quote!(let mut #written = ::core::clone::Clone::clone(#given);));
                arguments.push(quote!(&mut #written));
                continue;
            }
            let tensor = input.tensor.as_ref();
            let is_consumed = tensor.is_some_and(|tensor| tensor.ty.form == Form::Owned);
            arguments.push(if input.is_differentiable() {
                passed(&given, is_consumed)
            } else {
                argument(input, is_consumed)
            });
        }
        let outputs = self.forward.outputs();
        let pattern = tuple(outputs.map(|output| {
            if output.has_gradient() {
                local(format_args!("output_{}", output.name.unraw())).into_token_stream()
            } else {
                quote!(_)
            }
        }));
        let returned = self.forward.differentiable_outputs().into_iter();
        let returned = tuple(returned.map(|(output, _)| {
            let mut written_to = self.forward.in_place();
            match written_to.find(|(one, _)| one.name == output.name) {
                Some((_, input)) => written(input).into_token_stream(),
                None => local(format_args!("output_{}", output.name.unraw())).into_token_stream(),
            }
        }));
        let call = quote!(#of::apply(#(#arguments),*));
        let call = if self.forward.fallible.is_some() {
            quote!(match #call {
                ::core::result::Result::Ok(outputs) => outputs,
                ::core::result::Result::Err(error) => #otherwise,
            })
        } else {
            call
        };
        parse_quote!({ #before let #pattern = #call; #returned })
    }

    /// Returns the block of the function turned round.
    fn block(&self, ident: &Ident) -> TokenStream {
        let Definition {
            self_ty, generics, ..
        } = self.definition;
        let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
        let names = self.covered().into_iter();
        let names: Vec<Ident> = names
            .map(|(input, _)| format_ident!("adjoint_of_{}", input.name.unraw()))
            .listed();
        let gradients = self.gradients().into_iter().map(|(name, ty, kind)| {
            let asked = self
                .gradient_parameter(&name)
                .map(|asked| elided(&asked.ty));
            let ty = asked.unwrap_or_else(|| taken(kind, Form::View, &ty.content));
            quote!(#name: #ty)
        });
        let others = self.others().map(|(index, input)| {
            let name = &input.name;
            if let (Some(tensor), Some(form)) = (&input.tensor, self.form_of(index, input)) {
                let ty = taken(tensor.kind, form, &tensor.ty.content);
                quote!(#[non_differentiable] #name: #ty)
            } else {
                let ty = elided(&input.ty);
                quote!(#name: #ty)
            }
        });
        let lengths = self.length_parameters();
        let adjoint = &self.adjoint.ident;
        let arguments = self.adjoint.parameters.iter();
        let arguments = arguments.map(|asked| self.argument_of_adjoint(asked));
        let returns = within(
            self.adjoint.fallible.as_ref(),
            &self.adjoint.returns.to_token_stream(),
        );
        let incoming = self.covered().into_iter().zip(&names);
        let incoming = incoming.map(|((_, tensor), name)| {
            let (name, ty) = (
                format_ident!("grad_{name}"),
                taken(tensor.kind, Form::TensorRef, &tensor.ty.content),
            );
            quote!(#name: #ty)
        });
        let asked = self.asked();
        let outputs = within(self.forward.fallible.as_ref(), &self.outputs());
        let of = quote!(<#self_ty>);
        let gradient = |input: &Input| format_ident!("grad_adjoint_of_{}", input.name.unraw());
        let error = quote!(return ::core::result::Result::Err(error));
        let again = self.apply(&gradient, &of, &error);
        let again = if self.forward.fallible.is_some() {
            quote!(::core::result::Result::Ok(#again))
        } else {
            again.to_token_stream()
        };
        let tangents = self.gradients().into_iter().map(|(name, ty, kind)| {
            let (name, ty) = (
                format_ident!("tangent_{name}"),
                taken(kind, Form::TensorRef, &ty.content),
            );
            quote!(#name: #ty)
        });
        let adjoints = self.covered().into_iter();
        let adjoints = tuple(adjoints.map(|(_, tensor)| returned(tensor.kind, &tensor.ty.content)));
        let along = self.arguments(&|name| format_ident!("tangent_{name}"));
        let mut forward_mode = quote!(Self::apply(#(#along),*));
        if self.adjoint.fallible.is_some() {
            let failed = failed();
            forward_mode = quote!(match #forward_mode {
                ::core::result::Result::Ok(adjoints) => adjoints,
                ::core::result::Result::Err(error) => #failed,
            });
        }
        quote! {
            impl #impl_generics #ident #ty_generics #where_clause {
                #[forward(outputs(#(#names),*))]
                #[allow(unused_variables)]
                fn forward(#(#gradients,)* #(#others,)* #(#lengths),*) -> #returns {
                    <#self_ty>::#adjoint(#(#arguments),*)
                }

                #[backward]
                fn backward(#(#incoming,)* #(#asked),*) -> #outputs {
                    #again
                }

                #[jvp]
                fn jvp(#(#tangents,)* #(#asked,)* #(#lengths),*) -> #adjoints {
                    #forward_mode
                }
            }
        }
    }

    /// Returns an argument of the author's adjoint, within forward of the function turned round.
    fn argument_of_adjoint(&self, asked: &Parameter) -> TokenStream {
        let span = at(&asked.ty);
        match asked.wants {
            Wants::Gradient(output) => {
                let (output, _) = self.forward.differentiable_outputs()[output];
                output.gradient_name().into_token_stream()
            }
            Wants::Saved(Source::Input(index)) => {
                let input = &self.forward.inputs[index];
                let name = &input.name;
                if input.tensor.is_some() {
                    return name.to_token_stream();
                }
                value(name, &Passing::of(&input.ty), &Passing::of(&asked.ty), span)
            }
            Wants::Saved(Source::Axis(axis)) => {
                let name = &self.forward.shapes.axes[axis].name;
                match Passing::of(&asked.ty) {
                    Passing::Owned(_) => name.to_token_stream(),
                    Passing::Reference(_) | Passing::OptionalReference(_) => quote!(&#name),
                }
            }
            Wants::Saved(source @ Source::Shape(_)) => {
                self.forward.source(source).name.to_token_stream()
            }
            // The rules refuse these.
            Wants::Saved(Source::Returned(_))
            | Wants::Tangent(_)
            | Wants::NeedsInputGrad
            | Wants::Context => TokenStream::new(),
        }
    }
}

/// Passes a value, which is there as forward takes it, as a function asks for it.
fn value(name: &Ident, given: &Passing, asked: &Passing, span: Span) -> TokenStream {
    match (given, asked) {
        (Passing::Owned(_), Passing::Owned(_)) => {
            quote_spanned!(span=> ::core::clone::Clone::clone(&#name))
        }
        (Passing::Owned(_), Passing::Reference(ty)) => {
            quote_spanned!(span=> ::std::borrow::Borrow::<#ty>::borrow(&#name))
        }
        (Passing::Reference(_), Passing::Reference(ty)) => {
            quote_spanned!(span=> ::std::borrow::Borrow::<#ty>::borrow(#name))
        }
        (Passing::Reference(ty), Passing::Owned(_)) if is_sized(ty) => {
            quote_spanned!(span=> ::core::clone::Clone::clone(#name))
        }
        (Passing::Reference(_), Passing::Owned(_)) => {
            quote_spanned!(span=> ::std::borrow::ToOwned::to_owned(#name))
        }
        (_, Passing::OptionalReference(ty)) => quote_spanned! {span=>
            #name.as_ref().map(|value| ::std::borrow::Borrow::<#ty>::borrow(value))
        },
        (Passing::OptionalReference(_), _) => name.to_token_stream(),
    }
}

/// What becomes of an error where a rule for forward mode cannot return one.
fn failed() -> TokenStream {
    quote!({
        ::core::mem::drop(error);
        ::core::panic!("it failed on a tangent, after it had succeeded on the value")
    })
}

/// Returns the variable for a copy of an input that forward writes to.
fn written(input: &Input) -> Ident {
    local(format_args!("written_{}", input.name.unraw()))
}

/// Returns an argument that a function on tensors has by reference.
fn passed(name: &Ident, is_owned: bool) -> TokenStream {
    if is_owned {
        quote!(::core::clone::Clone::clone(#name))
    } else {
        name.to_token_stream()
    }
}

/// Passes on an input that is not differentiable: a tensor that is there by reference, or a value.
fn argument(input: &Input, is_owned: bool) -> TokenStream {
    let name = &input.name;
    match &input.tensor {
        Some(tensor) if is_owned && tensor.kind == Kind::Optional => {
            quote!(::core::option::Option::cloned(#name))
        }
        Some(_) => passed(name, is_owned),
        None => name.to_token_stream(),
    }
}

/// Returns the type in which tensors are returned.
fn returned(kind: Kind, content: &Content) -> TokenStream {
    let ty = array(Form::Tensor, content);
    match kind {
        Kind::Single => ty,
        Kind::Optional => option(&ty),
        Kind::List => quote!(::std::vec::Vec<#ty>),
    }
}

/// Returns a type within the `Result` of a function, if it returns one.
fn within(fallible: Option<&Type>, ty: &TokenStream) -> TokenStream {
    let p = private();
    fallible.map_or_else(
        || ty.clone(),
        |result| {
            let result = elided(result);
            quote!(::core::result::Result<#ty, <#result as #p::Fallible>::Error>)
        },
    )
}

/// Returns a type without the names of lifetimes, which are forward's.
fn elided(ty: &Type) -> TokenStream {
    replaced(ty.to_token_stream(), &|word, before| {
        let is_named = before == Some('\'') && *word != "static";
        is_named.then(|| Ident::new("_", word.span()).into_token_stream())
    })
}
