//! Rules for fields.

use syn::ext::IdentExt as _;
use syn::visit::{Visit, visit_path_segment};
use syn::{
    GenericArgument, Ident, Member, ParenthesizedGenericArguments, PathArguments, PathSegment,
    Type, TypeFnPtr,
};

use super::arguments::{self, FieldOptions};
use crate::diagnostics::Diagnostics;
use crate::lists::Lists as _;
use crate::module::model::{Content, Definition, Field, Part, Shown, Variant};
use crate::module::parse;
use crate::show::show;
use crate::types::{
    Content as Elements, Form, Rank, array, inner_types, is_container, is_primitive, last_segment,
    peel,
};

/// Reads the fields of a struct, or of a variant that is not transparent.
pub(super) fn read(fields: &[parse::Field], diagnostics: &mut Diagnostics) -> Vec<Field> {
    let options: Vec<FieldOptions> = fields
        .iter()
        .map(|field| arguments::of_field(&field.helpers, diagnostics))
        .listed();
    are_distinct(fields, &options, diagnostics);
    let fields = fields.iter().zip(options);
    fields
        .map(|(field, options)| one(field, &options, diagnostics))
        .listed()
}

/// Reads a variant. One with a single field that has no name is transparent: it is the module in it.
pub(super) fn variant(variant: &parse::Variant, diagnostics: &mut Diagnostics) -> Variant {
    let mut fields = read(&variant.fields, diagnostics);
    let is_transparent = matches!(
        &fields[..],
        [field] if matches!(field.member, Member::Unnamed(_)) && field.is_visited()
    );
    let content = match fields.pop() {
        Some(field) if is_transparent => {
            is_not_renamed(&field, &variant.fields[0], diagnostics);
            // Who marked the variant meant the field: one mistake, one error.
            if !variant.has_helpers {
                is_a_module(&field.ty, diagnostics);
            }
            Content::Transparent(Box::new(field))
        }
        last => {
            fields.extend(last);
            Content::Fields(fields)
        }
    };
    Variant {
        ident: variant.ident.clone(),
        content,
    }
}

fn one(field: &parse::Field, options: &FieldOptions, diagnostics: &mut Diagnostics) -> Field {
    let renamed = options.rename.as_ref().map(syn::LitStr::value);
    let part = if let Some(skip) = &options.skip {
        is_plain(field, skip, diagnostics);
        if let (Some(rename), None) = (&options.rename, &options.show) {
            let message = "a skipped field has no name in paths; remove `rename`";
            diagnostics.error(rename, message);
        }
        let label = || match &field.member {
            Member::Named(name) => Some(name.unraw().to_string()),
            Member::Unnamed(_) => None,
        };
        let shown = options.show.as_ref().map(|_| Shown {
            label: renamed.or_else(label),
        });
        Part::Skipped(shown)
    } else {
        if let Some(show) = &options.show {
            shows_plain_data(show, diagnostics);
        }
        is_not_a_tensor(&field.ty, diagnostics);
        match (&field.member, renamed) {
            (_, Some(name)) => Part::Named(name),
            (Member::Named(name), None) => Part::Named(name.unraw().to_string()),
            (Member::Unnamed(number), None) => Part::Numbered(number.index as usize),
        }
    };
    Field {
        member: field.member.clone(),
        ty: field.ty.clone(),
        part,
    }
}

/// A tensor alone would be neither trained nor saved, and a parameter has elements.
///
/// ```text
/// weight: Tensor2<f32>,
/// //      ^^^^^^^^^^^^ a tensor as a field would be neither trained nor saved
/// states: Vec<Tensor1<f32>>,
/// //          ^^^^^^^^^^^^
/// weight: Parameter<Tensor2<f32>>,
/// //                ^^^^^^^^^^^^ a `Parameter` is written with its element type and rank
/// ```
fn is_not_a_tensor(ty: &Type, diagnostics: &mut Diagnostics) {
    let state = last_segment(ty).filter(|last| last.ident == "Parameter" || last.ident == "Buffer");
    let inner = inner_types(ty);
    // `Parameter<f32, 2>`, which the compiler reports, and would report again.
    diagnostics.is_unreadable |= state.is_some_and(has_a_constant);
    if let (Some(state), Some(array)) = (state, inner.first().copied().and_then(array)) {
        let name = &state.ident;
        let message = format!("a `{name}` is written with its element type and rank");
        let help = format!("write `{name}<{}>`", parameters(&array.content));
        diagnostics.error_with_help(&inner[0], &message, &help);
        return;
    }
    let Some(array) = array(ty).filter(|array| array.form == Form::Tensor) else {
        // A type of another crate may do something else with it.
        let is_container = is_container(ty);
        for inner in inner.into_iter().filter(|_| is_container) {
            is_not_a_tensor(inner, diagnostics);
        }
        return;
    };
    let arguments = parameters(&array.content);
    let message = "a tensor as a field would be neither trained nor saved";
    let help = format!(
        "write `Parameter<{arguments}>` for what is trained, `Buffer<{arguments}>` for what is only saved, or mark it \
         `#[module(skip)]`"
    );
    diagnostics.error_with_help(ty, message, &help);
}

fn has_a_constant(segment: &PathSegment) -> bool {
    let PathArguments::AngleBracketed(bracketed) = &segment.arguments else {
        return false;
    };
    let mut arguments = bracketed.args.iter();
    arguments.any(|argument| matches!(argument, GenericArgument::Const(_)))
}

/// Returns `f32, Ix2`.
fn parameters(content: &Elements) -> String {
    match content {
        Elements::Known { element, rank } => {
            let rank = match rank {
                Rank::Fixed(rank) => format!("Ix{rank}"),
                Rank::Dyn => "IxDyn".to_owned(),
                Rank::Named(rank) => show(rank),
            };
            format!("{}, {rank}", show(element))
        }
        Elements::Alias(alias) => show(alias),
    }
}

/// Fields must have different names in paths.
///
/// ```text
/// #[module(rename = "bias")]
/// //                ^^^^^^ another field is named `bias` already
/// weight: Parameter<f32, Ix2>,
/// bias: Parameter<f32, Ix1>,
/// ```
fn are_distinct(fields: &[parse::Field], options: &[FieldOptions], diagnostics: &mut Diagnostics) {
    let name = |field: &parse::Field| match &field.member {
        Member::Named(name) => name.unraw().to_string(),
        Member::Unnamed(number) => number.index.to_string(),
    };
    let visited = || {
        let all = fields.iter().zip(options);
        all.filter(|(_, options)| options.skip.is_none())
    };
    let unnamed = visited().filter(|(_, options)| options.rename.is_none());
    let mut taken: Vec<String> = unnamed.map(|(field, _)| name(field)).listed();
    for rename in visited().filter_map(|(_, options)| options.rename.as_ref()) {
        let new = rename.value();
        if taken.contains(&new) {
            let message = format!("another field is named `{new}` already; choose another name");
            diagnostics.error(rename, message);
        }
        taken.push(new);
    }
}

/// A skipped field must be plain data: a parameter would silently not be trained, a buffer not be saved.
///
/// ```text
/// #[module(skip)]
/// //       ^^^^ `weight` holds a `Parameter`
/// weight: Parameter<f32, Ix2>,
/// ```
fn is_plain(field: &parse::Field, skip: &Ident, diagnostics: &mut Diagnostics) {
    let (name, what) = match held(&field.ty) {
        Some(Held::Parameter) => ("Parameter", "be neither trained nor saved"),
        Some(Held::Buffer) => ("Buffer", "not be saved"),
        None => return,
    };
    let message = match &field.member {
        Member::Named(field) => format!("`{field}` holds a `{name}`, which would {what}"),
        Member::Unnamed(_) => format!("this field holds a `{name}`, which would {what}"),
    };
    let help = match name {
        "Parameter" => "remove `skip`; to freeze a parameter, call `requires_grad(false)`",
        _ => "remove `skip`; to leave a buffer out of what is saved, call `persistent(false)`",
    };
    diagnostics.error_with_help(skip, &message, help);
}

/// The field of a transparent variant must be a module, as far as the tokens of its type show.
///
/// ```text
/// enum Layer { Scale(Parameter<f32, Ix1>) }
/// //                 ^^^^^^^^^^^^^^^^^^^ a `Parameter` is not a module
/// ```
fn is_a_module(ty: &Type, diagnostics: &mut Diagnostics) {
    const NO_MODULES: [&str; 8] = [
        "Parameter",
        "Buffer",
        "Mode",
        "Option",
        "Vec",
        "HashMap",
        "BTreeMap",
        "PhantomData",
    ];
    let is_none = match peel(ty) {
        Type::Array(_) | Type::Tuple(_) | Type::Slice(_) => true,
        ty => last_segment(ty).is_some_and(|last| NO_MODULES.iter().any(|no| last.ident == no)),
    };
    let help = if is_none {
        "give the field a name: `Variant { name: … }`"
    } else if is_primitive(peel(ty)) {
        "mark plain data `#[module(skip)]`"
    } else {
        return;
    };
    let message = format!(
        "a variant with one unnamed field must hold a module, and `{}` is not a module",
        show(ty)
    );
    diagnostics.error_with_help(ty, &message, help);
}

enum Held {
    Parameter,
    Buffer,
}

/// Returns the part of a module's state that a type holds, as far as its tokens show. A type that only mentions it, as
/// the argument of a function, does not hold it.
fn held(ty: &Type) -> Option<Held> {
    struct Search(Option<Held>);
    impl<'ast> Visit<'ast> for Search {
        fn visit_path_segment(&mut self, segment: &'ast PathSegment) {
            if segment.ident == "Parameter" {
                self.0 = Some(Held::Parameter);
            } else if segment.ident == "Buffer" && self.0.is_none() {
                self.0 = Some(Held::Buffer);
            }
            if segment.ident != "PhantomData" {
                visit_path_segment(self, segment);
            }
        }

        fn visit_type_fn_ptr(&mut self, _: &'ast TypeFnPtr) {}

        fn visit_parenthesized_generic_arguments(
            &mut self,
            _: &'ast ParenthesizedGenericArguments,
        ) {
        }
    }
    let mut search = Search(None);
    search.visit_type(ty);
    search.0
}

/// `show` is for plain data: parameters, buffers and modules are always printed.
///
/// ```text
/// #[module(show)]
/// //       ^^^^ `show` prints plain data
/// weight: Parameter<f32, Ix2>,
/// ```
fn shows_plain_data(show: &Ident, diagnostics: &mut Diagnostics) {
    let message = "`show` prints plain data, and this field is not marked as plain data";
    let help = "write `#[module(skip, show)]` if it is plain data, or remove `show`";
    diagnostics.error_with_help(show, message, help);
}

/// The printed text must be defined in one place.
///
/// ```text
/// #[derive(Module)]
/// #[module(extra_repr = sizes)]
/// struct Linear { #[module(skip, show)] in_features: usize, … }
/// //                             ^^^^ `extra_repr` of the type defines what is printed already
/// ```
pub(super) fn is_defined_once(
    definition: &Definition,
    fields: &[&parse::Field],
    diagnostics: &mut Diagnostics,
) {
    if definition.extra_repr.is_none() {
        return;
    }
    let arguments = fields.iter().flat_map(|field| &field.helpers);
    let arguments = arguments.filter_map(|helper| helper.arguments.as_ref().ok());
    for argument in arguments
        .flatten()
        .filter(|argument| argument.name == "show")
    {
        let message =
            "`extra_repr` of the type defines what is printed already; remove one of the two";
        diagnostics.error(&argument.name, message);
    }
}

/// The field of a transparent variant has no name in paths.
///
/// ```text
/// enum Layer { Linear(#[module(rename = "linear")] Linear) }
/// //                           ^^^^^^^^ this field has no name there
/// ```
fn is_not_renamed(field: &Field, written: &parse::Field, diagnostics: &mut Diagnostics) {
    if let (Part::Named(_), Some(helper)) = (&field.part, written.helpers.first()) {
        let message = "a variant with one unnamed field has the path of the module in it, \
                       and the field has no name there";
        let help = "remove `rename`, or give the field a name: `Variant { name: … }`";
        diagnostics.error_with_help(&helper.name, message, help);
    }
}
