//! Generates the checks of declared shapes, and `output_shape`.
//!
//! One function reads the axes off the inputs and computes the shapes of what forward returns; `apply`, `output_shape`
//! and the rule for forward mode call it.

use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::{Expr, ExprGroup, ExprParen, Ident};

use super::interface;
use super::tokens::{at, is_consumed, local, number, option, reference};
use crate::docs;
use crate::model::{
    Computed, Declared, Forward, FunctionModel, Input, Length, Returned, Role, Shape, TensorInput,
};
use crate::types::{Kind, Rank, TensorType, is_primitive};

/// Returns the constant with the declared shapes of the inputs, which stands beside the signature.
pub(super) fn table(model: &FunctionModel, p: &TokenStream) -> Option<TokenStream> {
    let (forward, name) = (&model.forward, &model.definition.name);
    if forward.shapes.are_none() {
        return None;
    }
    let axes = forward.shapes.axes.iter();
    let axes = axes.map(|axis| axis.name.unraw().to_string());
    let inputs = compared(forward)
        .into_iter()
        .filter_map(|(input, _, declared)| {
            let Declared {
                leading,
                lengths,
                text,
            } = declared?;
            let lengths = lengths.iter().map(|length| match length {
                Length::Number(number) => quote!(#p::DeclaredLength::Number(#number)),
                Length::Axis(axis) => {
                    let axis = number(*axis);
                    quote!(#p::DeclaredLength::Axis(#axis))
                }
                Length::Any | Length::Computed(_) => quote!(#p::DeclaredLength::Any),
            });
            let name = input.name.unraw().to_string();
            Some(quote! {
                #p::DeclaredShape {
                    input: #name,
                    text: #text,
                    leading: #leading,
                    lengths: &[#(#lengths),*],
                }
            })
        });
    let constant = constant();
    Some(quote! {
        const #constant: #p::ShapeTable = #p::ShapeTable {
            function: #name,
            axes: &[#(#axes),*],
            inputs: &[#(#inputs),*],
        };
    })
}

fn constant() -> Ident {
    local("__SHAPES")
}

/// Returns the name of the function that computes them.
fn name(forward: &Forward) -> Ident {
    local(format_args!(
        "__pullback_shapes_of_{}",
        forward.ident.unraw()
    ))
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
    inputs.filter(is_used).collect()
}

/// Returns the values that forward returns whose shapes are declared.
fn returned(forward: &Forward) -> Vec<(&Returned, &Shape)> {
    let returned = forward.returned.iter().enumerate();
    returned
        .filter_map(|(index, one)| Some((one, forward.shapes.of_returned(index)?)))
        .collect()
}

/// Generates the function, and `output_shape`.
pub(super) fn functions(model: &FunctionModel, p: &TokenStream) -> Option<TokenStream> {
    let forward = &model.forward;
    if forward.shapes.are_none() {
        return None;
    }
    let function = &model.definition.name;
    let (name, table) = (name(forward), constant());
    let (inputs, applied_at, axes) = (local("inputs"), local("applied_at"), local("axes"));
    let (lifetimes, where_clause) = (&forward.generics.params, &forward.generics.where_clause);
    let compared = compared(forward);
    let (count, axis_count) = (number(compared.len()), number(forward.shapes.axes.len()));
    let values = values(forward).into_iter().map(|input| {
        let (name, ty) = (&input.name, &input.ty);
        if is_primitive(ty) {
            quote!(#name: #ty)
        } else {
            quote!(#name: &#ty)
        }
    });
    let names = forward.shapes.axes.iter().map(|axis| &axis.name);
    let place = |index: usize| {
        let mut places = compared.iter();
        let place = places.position(|(input, ..)| input.name == forward.inputs[index].name);
        number(place.unwrap_or_default())
    };
    let computed =
        compared
            .iter()
            .enumerate()
            .filter_map(|(place, (input, _, declared))| {
                let declared = (*declared)?;
                let is_computed = |length: &Length| matches!(length, Length::Computed(_));
                declared.lengths.iter().any(is_computed).then(|| {
            let (place, name) = (number(place), input.name.unraw().to_string());
            let lengths = declared.lengths.iter().enumerate();
            let lengths = lengths.map(|(axis, length)| match length {
                Length::Computed(computed) => self::computed(computed, axis, (function, &name), p),
                Length::Any | Length::Number(_) | Length::Axis(_) => quote!(#p::ANY),
            });
            let text = &declared.text;
            quote! {
                #p::check_computed(
                    [#function, #name, #text], &#inputs[#place], [#(#lengths),*], #applied_at,
                )?;
            }
        })
            });
    let computed: Vec<TokenStream> = computed.collect();
    let (types, expected) = expected(model, place, p);
    let output_shape = output_shape(model, p);
    Some(quote! {
        #[doc(hidden)]
        #[inline]
        #[allow(unused_variables)]
        fn #name<'__s, #lifetimes>(
            #inputs: &[#p::Dims<'__s>; #count],
            #applied_at: &'static ::core::panic::Location<'static>,
            #(#values),*
        ) -> ::core::result::Result<(#p::Axes<'__s, #axis_count>, (#(#types,)*)), #p::Error>
        #where_clause
        {
            let #axes = #table.axes::<#axis_count>(#inputs, #applied_at)?;
            let [#(#names),*] = #axes.lengths;
            #(#computed)*
            let expected = (#(#expected,)*);
            ::core::result::Result::Ok((#axes, expected))
        }

        #output_shape
    })
}

/// Returns the types and the expressions of the shapes of what forward returns; `place` is that of an input among those
/// that are compared.
fn expected(
    model: &FunctionModel,
    place: impl Fn(usize) -> Literal,
    p: &TokenStream,
) -> (Vec<TokenStream>, Vec<TokenStream>) {
    let (forward, function) = (&model.forward, &model.definition.name);
    let (inputs, axes) = (local("inputs"), local("axes"));
    let (mut types, mut expected) = (Vec::new(), Vec::new());
    for (one, shape) in returned(forward) {
        match shape {
            Shape::Like(index, _) => {
                let place = place(*index);
                types.push(quote!(#p::Expected<'__s, 0>));
                expected
                    .push(quote!(#p::Expected { leading: #inputs[#place].only(), lengths: [] }));
            }
            Shape::Written(declared) => {
                let count = number(declared.lengths.len());
                let name = one.name.unraw().to_string();
                let lengths =
                    declared
                        .lengths
                        .iter()
                        .enumerate()
                        .map(|(axis, length)| match length {
                            Length::Any => quote!(#p::ANY),
                            Length::Number(number) => quote!(#number),
                            Length::Axis(axis) => forward.shapes.axes[*axis].name.to_token_stream(),
                            Length::Computed(computed) => {
                                self::computed(computed, axis, (function, &name), p)
                            }
                        });
                let leading = if declared.leading {
                    quote!(#axes.leading)
                } else {
                    quote!(&[])
                };
                types.push(quote!(#p::Expected<'__s, #count>));
                expected.push(quote!(#p::Expected { leading: #leading, lengths: [#(#lengths),*] }));
            }
        }
    }
    (types, expected)
}

/// Returns the expression of one length.
fn computed(
    computed: &Computed,
    axis: usize,
    (function, tensor): (&str, &str),
    p: &TokenStream,
) -> TokenStream {
    let (applied_at, axis, text) = (local("applied_at"), number(axis), &computed.text);
    let value = arithmetic(&computed.expression, p);
    // Values that are no numbers themselves, as in `options.stride`, are not listed.
    let names = computed.names.iter();
    let numbers = names.filter(|name| stands_alone(&computed.expression, name));
    let terms = numbers.map(|name| {
        let text = name.unraw().to_string();
        quote!((#text, #p::IntoLength::into_length(&#name)))
    });
    let terms = quote!(&[#(#terms),*]);
    quote!(#p::Length::of_axis(#value, [#function, #tensor, #text], #axis, #terms, #applied_at)?)
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
    let is_consumed =
        |input: &Input, tensor: &TensorInput| is_consumed(&tensor.ty) || input.is_in_place();
    let mut kept = Vec::new();
    let dims = compared(forward).into_iter().map(|(input, tensor, _)| {
        let reference = reference(input, tensor);
        if !is_consumed(input, tensor) {
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
    let dims: Vec<TokenStream> = dims.collect();
    let read = read(forward, &dims, &location(model));
    let (error, expected, axes) = (local("error"), local("expected"), local("axes"));
    let refused = refused(model);
    let names = forward.shapes.axes.iter().map(|axis| &axis.name);
    let before = quote! {
        #(#kept)*
        let (#axes, #expected) = match #read {
            ::core::result::Result::Ok(shapes) => shapes,
            ::core::result::Result::Err(#error) => #p::#refused(&#error),
        };
        #[allow(unused_variables)]
        let [#(#names),*] = #axes.lengths;
    };
    let after = returned(forward)
        .into_iter()
        .enumerate()
        .filter_map(|(place, (one, shape))| {
            let is_there = one.role != Role::Intermediate
                || model.saved.iter().any(|saved| saved.name == one.name);
            let (name, text) = (&one.name, one.name.unraw().to_string());
            let (place, declared, function) = (
                number(place),
                forward.shapes.text(shape),
                &model.definition.name,
            );
            let location = location(model);
            let value = local("value");
            let check = |value: &TokenStream| {
                quote! {
                    if !#expected.#place.is(#value.shape()) {
                        #p::#refused(&#expected.#place.error(
                            [#function, #text, #declared], #value.shape(), #location,
                        ));
                    }
                }
            };
            is_there.then(|| match one.kind {
                Kind::Single => check(&name.to_token_stream()),
                Kind::Optional => {
                    let check = check(&value.to_token_stream());
                    quote!(if let ::core::option::Option::Some(#value) = &#name { #check })
                }
                Kind::List => {
                    let check = check(&value.to_token_stream());
                    quote!(for #value in &#name { #check })
                }
            })
        });
    Checks {
        before,
        after: after.collect(),
    }
}

/// Generates the lengths of axes for a rule for forward mode that asks for some; its inputs are tensors of its own.
pub(super) fn of_primals(
    model: &FunctionModel,
    primal: impl Fn(&Input) -> Ident,
    p: &TokenStream,
) -> TokenStream {
    let forward = &model.forward;
    let dims = compared(forward).into_iter().map(|(input, tensor, _)| {
        let primal = primal(input);
        match tensor.kind {
            Kind::Single => quote!(#p::Argument::dims(&#primal)),
            Kind::Optional => {
                quote!(#p::Argument::dims(::core::option::Option::as_ref(&#primal)))
            }
            Kind::List => quote!(#p::Argument::dims(&#p::references(&#primal)[..])),
        }
    });
    let dims: Vec<TokenStream> = dims.collect();
    let read = read(forward, &dims, &location(model));
    let (error, refused) = (local("error"), refused(model));
    let names = forward.shapes.axes.iter().map(|axis| &axis.name);
    quote! {
        #[allow(unused_variables)]
        let [#(#names),*] = match #read {
            ::core::result::Result::Ok((axes, _)) => axes.lengths,
            ::core::result::Result::Err(#error) => #p::#refused(&#error),
        };
    }
}

fn refused(model: &FunctionModel) -> Ident {
    local(if model.batch.is_some() {
        "refused_later"
    } else {
        "refused"
    })
}

/// Returns the line of the call.
fn location(model: &FunctionModel) -> TokenStream {
    if model.batch.is_some() {
        local("applied_at").into_token_stream()
    } else {
        quote!(::core::panic::Location::caller())
    }
}

fn read(forward: &Forward, dims: &[TokenStream], location: &TokenStream) -> TokenStream {
    let (name, values) = (name(forward), values(forward));
    let values = values.into_iter().map(|input| {
        let name = &input.name;
        let borrow = (!is_primitive(&input.ty)).then(|| quote!(&));
        quote!(#borrow #name)
    });
    quote!(Self::#name(&[#(#dims),*], #location, #(#values),*))
}

/// Generates `output_shape`.
fn output_shape(model: &FunctionModel, p: &TokenStream) -> TokenStream {
    let forward = &model.forward;
    let dims = compared(forward).into_iter().map(|(input, tensor, _)| {
        let name = &input.name;
        let is_fixed = fixed(&tensor.ty).is_some();
        match tensor.kind {
            Kind::Single => quote!(#p::Dims::One(&#name[..])),
            Kind::Optional if is_fixed => quote! {
                #p::Dims::from(::core::option::Option::map(::core::option::Option::as_ref(&#name), |shape| &shape[..]))
            },
            Kind::Optional => quote!(#p::Dims::from(#name)),
            Kind::List => quote!(#p::Dims::List(#name.iter().map(|shape| &shape[..]).collect())),
        }
    });
    let dims: Vec<TokenStream> = dims.collect();
    let location = quote!(::core::panic::Location::caller());
    let read = read(forward, &dims, &location);
    let returned = returned(forward);
    let outputs = returned.iter().enumerate();
    let outputs = outputs.filter(|(_, (one, _))| matches!(one.role, Role::Output { .. }));
    let shapes = outputs.map(|(place, (one, _))| {
        let place = number(place);
        let method = local(match one.tensor.as_ref().and_then(fixed) {
            Some(_) => "to_array",
            None => "to_vec",
        });
        quote!(expected.#place.#method())
    });
    let shapes = interface::tuple(shapes);
    let body = quote! {
        let (_, expected) = #read?;
        ::core::result::Result::Ok(#shapes)
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
    let outputs = interface::tuple(outputs);
    quote! {
        #attributes
        #[track_caller]
        #[allow(unused_variables, clippy::needless_pass_by_value, clippy::too_many_arguments)]
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
