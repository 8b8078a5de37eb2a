//! Generates the tests that `gradcheck(…)` asks for: the function at inputs of the given shapes, with all of them
//! and without each optional one, for each variant of a value.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Expr, Ident};

use super::tokens::{at, dimension, element, is_consumed, local, number, private, runtime, tuple};
use crate::diagnostics::list;
use crate::lists::Lists as _;
use crate::model::{
    Concrete, Definition, Derivative, Draw, FunctionModel, Gradcheck, Input, Order, Returned, Role,
    Sample, Vmap, Within,
};
use crate::show::show;
use crate::spell::replaced;
use crate::types::Kind;

/// Generates all tests.
pub(super) fn tests(model: &FunctionModel, default_crate: &str) -> TokenStream {
    let gradchecks = model.gradchecks.iter().enumerate();
    let tests = gradchecks.map(|(place, gradcheck)| {
        let Definition { cfgs, .. } = &model.definition;
        let (root, p) = (runtime(&model.definition, default_crate), &private());
        let name = name(&model.definition, place);
        let samples = samples(model, gradcheck, p);
        let runs = cases(gradcheck).into_iter().flat_map(|case| {
            let vmap = model.vmap.as_ref();
            let of_a_batch = vmap.and_then(|vmap| batch(model, vmap, gradcheck, &case, p));
            [run(model, gradcheck, &case, p), of_a_batch]
        });
        let runs = runs.flatten();
        quote! {
            #(#cfgs)*
            #[cfg(test)]
            #[::core::prelude::v1::test]
            fn #name() {
                use #root as #p;
                #(#samples)*
                #(#runs)*
            }
        }
    });
    tests.tokens()
}

/// One call of the function in a test.
struct Case<'a> {
    /// The inputs that are missing.
    missing: &'a [usize],
    /// For each input that is a value, the variant that it has.
    variants: Vec<usize>,
}

/// Returns all cases: for each variant of the values, with all inputs and without those that may be missing.
fn cases(gradcheck: &Gradcheck) -> Vec<Case<'_>> {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for sample in &gradcheck.samples {
        let count = match sample {
            Sample::Value(variants) => variants.len(),
            Sample::Tensor(_) | Sample::List(_) => 1,
        };
        let longer = all.iter().flat_map(|variants| {
            (0..count).map(move |variant| [&variants[..], &[variant]].concat())
        });
        all = longer.listed();
    }
    let left_out = || {
        let left_out = gradcheck.left_out.iter().map(Vec::as_slice);
        std::iter::once(&[][..]).chain(left_out)
    };
    let cases = all.into_iter().flat_map(|variants| {
        left_out().map(move |missing| Case {
            missing,
            variants: variants.clone(),
        })
    });
    cases.listed()
}

/// Generates the statements that make the tensors.
fn samples(model: &FunctionModel, gradcheck: &Gradcheck, p: &TokenStream) -> Vec<TokenStream> {
    let mut statements = Vec::new();
    for (index, (input, sample)) in model
        .forward
        .inputs
        .iter()
        .zip(&gradcheck.samples)
        .enumerate()
    {
        let Some(tensor) = &input.tensor else {
            continue;
        };
        let element = concrete(element(&tensor.ty.content, p), gradcheck, p);
        let dimension = concrete(dimension(&tensor.ty.content, p), gradcheck, p);
        let vmap = model.vmap.as_ref();
        let is_mapped = vmap.is_some_and(|vmap| vmap.mapped[index]);
        for (name, draw) in names(index, sample).iter().zip(sample.tensors()) {
            let seed = number(statements.len());
            let (one, many) = match draw {
                Draw::Shape(shape, within) => {
                    let within = self::within(within.as_deref());
                    let lengths = shape.elems.iter();
                    (
                        quote!(#p::sample::<#element, #dimension>(&#shape, #seed, #within)),
                        quote! {
                            #p::sample::<#element, <#dimension as #p::ndarray::Dimension>::Larger>(
                                &[#p::EXAMPLES, #(#lengths),*], #seed, #within,
                            )
                        },
                    )
                }
                Draw::Made(expression) => {
                    let made = Ident::new("made", expression.span());
                    let one = quote!(#p::#made::<#element, #dimension>(#expression));
                    let many = quote!(#p::batch([(); #p::EXAMPLES].map(|()| #one)));
                    (one, many)
                }
            };
            statements.push(quote!(let #name = #one;));
            if is_mapped {
                let name = many_of(index);
                statements.push(quote!(let #name = #many;));
            }
        }
    }
    statements
}

/// Returns the range of the elements of an input, if one is given.
fn within(within: Option<&Within>) -> TokenStream {
    within.map_or_else(
        || quote!(::core::option::Option::None),
        |Within { low, high }| {
            let double = quote!(<::core::primitive::f64 as ::core::convert::From<_>>::from);
            quote!(::core::option::Option::Some([#double(#low), #double(#high)]))
        },
    )
}

/// Generates one check; `None` if the case leaves nothing to differentiate by.
fn run(
    model: &FunctionModel,
    gradcheck: &Gradcheck,
    case: &Case<'_>,
    p: &TokenStream,
) -> Option<TokenStream> {
    let forward = &model.forward;
    let (mut moved, mut drawn, mut arguments) = (Vec::new(), Vec::new(), Vec::new());
    for (index, (input, sample)) in forward.inputs.iter().zip(&gradcheck.samples).enumerate() {
        let taken = |name: &Ident| consumed(input, by_reference(input, name));
        arguments.push(argument(index, input, sample, case, &taken));
        if input.is_differentiable() && !case.missing.contains(&index) {
            let names = names(index, sample);
            let is_estimated = gradcheck.estimated[index];
            let properties = |draw: &Draw| {
                let (is_free, within) = match draw {
                    Draw::Shape(_, within) => (true, self::within(within.as_deref())),
                    Draw::Made(_) => (false, within(None)),
                };
                quote!(#p::Drawn {
                    either_sign: #is_free, within: #within, estimated: #is_estimated,
                })
            };
            drawn.extend(sample.tensors().iter().map(properties));
            moved.extend(names);
        }
    }
    let is_fallible = forward.fallible.is_some();
    let apply = (&local("apply"), is_fallible);
    let body = body(model, &call(model, apply, &arguments, gradcheck, p), p);
    let (what, orders) = (what(model, gradcheck, case), orders(model));
    let tolerances = gradcheck.tolerances.iter();
    let tolerances = tolerances.map(|(option, value)| quote!(.#option(#value)));
    let options = quote!(#p::Gradcheck::new() #(#tolerances)*);
    if moved.is_empty() {
        return None;
    }
    if model.adjoint.is_some() {
        return Some(quote! {
            #p::adjoint(#what, #options, |(#(#moved,)*)| #body, (#(&#moved,)*));
        });
    }
    Some({
        quote! {
            #p::gradcheck(
                #what, #orders, #options, &[#(#drawn),*],
                |(#(#moved,)*)| #body, (#(&#moved,)*)
            );
        }
    })
}

/// Generates one check of the rule for a batch; `None` if the case leaves nothing to differentiate by.
fn batch(
    model: &FunctionModel,
    vmap: &Vmap,
    gradcheck: &Gradcheck,
    case: &Case<'_>,
    p: &TokenStream,
) -> Option<TokenStream> {
    let forward = &model.forward;
    let place = local("place");
    let (mut moved, mut texts) = (Vec::new(), Vec::new());
    let (mut together, mut apart) = (Vec::new(), Vec::new());
    for (index, (input, sample)) in forward.inputs.iter().zip(&gradcheck.samples).enumerate() {
        let is_mapped = vmap.mapped[index];
        let variable = |name: &Ident| {
            if is_mapped {
                many_of(index)
            } else {
                name.clone()
            }
        };
        let all = |name: &Ident| by_reference(input, &variable(name));
        let one = |name: &Ident| {
            let all = all(name);
            let one = if is_mapped {
                quote!(&#p::example(#all, #place))
            } else {
                all
            };
            consumed(input, one)
        };
        together.push(argument(index, input, sample, case, &all));
        apart.push(argument(index, input, sample, case, &one));
        if input.is_differentiable() && !case.missing.contains(&index) {
            moved.extend(names(index, sample).iter().map(variable));
            texts.push(input.name.unraw().to_string());
        }
    }
    let rule = call(
        model,
        (&vmap.ident, vmap.is_fallible),
        &together,
        gradcheck,
        p,
    );
    let is_fallible = forward.fallible.is_some();
    let apply = call(model, (&local("apply"), is_fallible), &apart, gradcheck, p);
    let what = what(model, gradcheck, case);
    let order = number(1 + usize::from(is_differentiable_again(model)));
    (!moved.is_empty()).then(|| {
        quote! {
            #p::vmap(
                #what, &[#(#texts),*], #order,
                |(#(#moved,)*)| #rule, |(#(#moved,)*), #place| #apply, (#(&#moved,)*)
            );
        }
    })
}

/// Calls a function of the block.
fn call(
    model: &FunctionModel,
    (function, is_fallible): (&Ident, bool),
    arguments: &[TokenStream],
    gradcheck: &Gradcheck,
    p: &TokenStream,
) -> TokenStream {
    let self_ty = concrete(model.definition.self_ty.to_token_stream(), gradcheck, p);
    let call = quote!(<#self_ty>::#function(#(#arguments),*));
    if is_fallible {
        let error = local("error");
        quote! {{
            #[allow(unused_imports)]
            use #p::NoReason as _;
            #p::succeeded(#call, |#error| #p::Reason(#error).text())
        }}
    } else {
        call
    }
}

/// Returns what a case checks: `` `Linear` without `bias` for `norm = Norm::Sum` ``.
fn what(model: &FunctionModel, gradcheck: &Gradcheck, case: &Case<'_>) -> String {
    let inputs = &model.forward.inputs;
    let mut what = format!("`{}`", model.definition.name);
    if !case.missing.is_empty() {
        let names = case.missing.iter();
        let names = list(names.map(|&index| inputs[index].name.unraw().to_string()));
        what = format!("{what} without {names}");
    }
    let samples = inputs.iter().zip(&gradcheck.samples).zip(&case.variants);
    let chosen = samples.filter_map(|((input, sample), &variant)| match sample {
        Sample::Value(variants) if variants.len() > 1 => Some(format!(
            "{} = {}",
            input.name.unraw(),
            show(&variants[variant])
        )),
        _ => None,
    });
    let chosen = list(chosen);
    if chosen.is_empty() {
        what
    } else {
        format!("{what} for {chosen}")
    }
}

/// Returns an argument of `apply`, or of a rule that takes the same; `taken` is what it gets of each tensor.
fn argument(
    index: usize,
    input: &Input,
    sample: &Sample,
    case: &Case<'_>,
    taken: &dyn Fn(&Ident) -> TokenStream,
) -> TokenStream {
    let Some(tensor) = &input.tensor else {
        return match sample {
            Sample::Value(variants) => variants[case.variants[index]].to_token_stream(),
            Sample::Tensor(_) | Sample::List(_) => TokenStream::new(),
        };
    };
    if case.missing.contains(&index) {
        return quote!(::core::option::Option::None);
    }
    if input.is_in_place() {
        let name = in_place(index);
        return quote!(&mut #name);
    }
    let names = names(index, sample);
    let taken = names.iter().map(taken);
    match tensor.kind {
        Kind::Single => quote!(#(#taken)*),
        Kind::Optional => quote!(::core::option::Option::Some(#(#taken)*)),
        Kind::List => quote!(&[#(#taken),*]),
    }
}

/// Returns a reference to a tensor, within a closure that takes the differentiable inputs by reference.
fn by_reference(input: &Input, name: &Ident) -> TokenStream {
    let reference = (!input.is_differentiable()).then(|| quote!(&));
    quote!(#reference #name)
}

/// Returns a tensor in place of a reference to it, if that is what `apply` takes.
fn consumed(input: &Input, reference: TokenStream) -> TokenStream {
    let tensor = input.tensor.as_ref();
    if tensor.is_some_and(|tensor| is_consumed(&tensor.ty)) {
        quote!(::core::clone::Clone::clone(#reference))
    } else {
        reference
    }
}

/// Returns whether the function can be differentiated more than once.
fn is_differentiable_again(model: &FunctionModel) -> bool {
    !matches!(model.order, Order::Once | Order::Times(1))
}

/// Returns the number of times that the function can be differentiated, by backward passes and by forward mode.
fn orders(model: &FunctionModel) -> TokenStream {
    let again = is_differentiable_again(model);
    let backward = number(1 + usize::from(again));
    // A residual may run a backward pass, and nodes save no tangents: then there is no forward mode twice.
    let on_tensors =
        model.residual.is_none() && model.jvp.as_ref().is_none_or(Derivative::is_on_tensors);
    let forward = number(if model.has_forward_mode() {
        1 + usize::from(again && on_tensors)
    } else {
        0
    });
    quote!([#backward, #forward])
}

/// Generates the body of the closure: `call`, and the differentiable ones among what it returns or writes to.
fn body(model: &FunctionModel, call: &TokenStream, p: &TokenStream) -> TokenStream {
    let inputs = model.forward.inputs.iter().enumerate();
    let lent = inputs.filter(|(_, input)| input.is_in_place());
    let lent: Vec<TokenStream> = lent
        .map(|(index, input)| {
            let (name, sample) = (in_place(index), local(format_args!("input_{index}")));
            let value = if input.is_differentiable() {
                quote!(#p::lent(#sample))
            } else {
                quote!(#sample.detach())
            };
            quote!(let mut #name = #value;)
        })
        .listed();
    let outputs: Vec<&Returned> = model.forward.outputs().listed();
    let is_plain = |output: &&Returned| output.has_gradient() && output.kind != Kind::Optional;
    if lent.is_empty() && outputs.iter().all(is_plain) {
        return call.clone();
    }
    let named = outputs.iter().enumerate().map(|(index, output)| {
        let name = local(format_args!("output_{index}"));
        output.has_gradient().then_some(name)
    });
    let named: Vec<Option<Ident>> = named.listed();
    let pattern = tuple(named.iter().map(|name| {
        name.as_ref()
            .map_or_else(|| quote!(_), ToTokens::to_token_stream)
    }));
    let written = model
        .forward
        .returned
        .iter()
        .filter_map(|one| match one.role {
            Role::InPlace {
                input,
                gradient: Some(_),
            } => Some(in_place(input)),
            _ => None,
        });
    let named = outputs.iter().zip(&named);
    let named = named.filter_map(|(output, name)| {
        let name = name.as_ref()?;
        Some(match output.kind {
            // A list of one, or of none.
            Kind::Optional => quote!(::std::vec::Vec::from_iter(#name)),
            Kind::Single | Kind::List => quote!(#name),
        })
    });
    let results = named.chain(written.map(ToTokens::into_token_stream));
    quote!({
        #(#lent)*
        let #pattern = #call;
        (#(#results,)*)
    })
}

/// Returns the variable of a tensor that is written to.
fn in_place(index: usize) -> Ident {
    local(format_args!("in_place_{index}"))
}

/// Returns the variable of a batch of an input.
fn many_of(index: usize) -> Ident {
    local(format_args!("batch_{index}"))
}

/// Returns the variables of an input's tensors.
fn names(index: usize, sample: &Sample) -> Vec<Ident> {
    let one = || local(format_args!("input_{index}"));
    let of_list = |element| local(format_args!("input_{index}_{element}"));
    match sample {
        Sample::Tensor(_) => vec![one()],
        Sample::List(draws) => (0..draws.len()).map(of_list).listed(),
        Sample::Value(_) => Vec::new(),
    }
}

/// Returns a written type with the block's parameters replaced by what they become; the compiler infers the rest.
fn concrete(ty: TokenStream, gradcheck: &Gradcheck, p: &TokenStream) -> TokenStream {
    replaced(ty, &|word, before| {
        if before == Some('\'') {
            // A lifetime of the block has no name in the test.
            return Some(Ident::new("_", word.span()).into_token_stream());
        }
        let mut parameters = gradcheck.parameters.iter();
        let (_, concrete) = parameters.find(|(name, _)| before != Some(':') && name == word)?;
        Some(spelled(concrete, p))
    })
}

fn spelled(concrete: &Concrete, p: &TokenStream) -> TokenStream {
    match concrete {
        Concrete::Double => quote!(::core::primitive::f64),
        Concrete::Rank(rank @ 0..=6) => {
            let name = local(format_args!("Ix{rank}"));
            quote!(#p::ndarray::#name)
        }
        Concrete::Rank(_) => quote!(#p::ndarray::IxDyn),
        Concrete::Inferred => quote!(_),
        // A type, or a constant.
        Concrete::Given(given @ (Expr::Path(_) | Expr::Lit(_))) => given.to_token_stream(),
        Concrete::Given(given) => quote!({ #given }),
    }
}

/// Returns `linear_function_gradcheck`; those after the first have a number.
pub(super) fn name(definition: &Definition, place: usize) -> Ident {
    let ident = definition.item();
    let text = ident.unraw().to_string();
    let letters: Vec<char> = text.chars().listed();
    let mut name = String::new();
    for (index, letter) in letters.iter().enumerate() {
        let is_upper = |index: Option<usize>| {
            let letter = index.and_then(|index| letters.get(index));
            letter.map(|letter| letter.is_uppercase())
        };
        // A word begins with a capital that follows a small letter, or comes before one.
        let (before, after) = (is_upper(index.checked_sub(1)), is_upper(Some(index + 1)));
        let begins = before == Some(false) || (before == Some(true) && after == Some(false));
        if letter.is_uppercase() && begins && !name.ends_with('_') {
            name.push('_');
        }
        name.extend(letter.to_lowercase());
    }
    name.push_str("_gradcheck");
    if place > 0 {
        name = format!("{name}_{}", place + 1);
    }
    Ident::new(&name, at(ident))
}
