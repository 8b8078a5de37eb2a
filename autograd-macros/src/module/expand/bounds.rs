//! Adds the bounds that generated code needs of the type's parameters, where they are not written.
//!
//! `struct Linear<T> { weight: Parameter<T, Ix2> }` is a module for each `T: Element`; `struct
//! Residual<L> { inner: L }` for each field `L`. A bound is put on a parameter wherever that is what
//! the field's type depends on, and else on the field's type. None is put on what can never be a
//! field: the mistake is then an error here, and not where the module is used.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::ext::IdentExt as _;
use syn::{
    GenericArgument, Generics, Path, PathArguments, PathSegment, Type, WherePredicate, parse_quote,
};

use crate::lists::Lists as _;
use crate::module::model::{Body, Definition};
use crate::show::show;
use crate::spell::for_each_word;
use crate::types::peel;

/// Containers of std that are not fields, whatever they hold.
const NEVER_FIELDS: [&str; 10] = [
    "Arc",
    "Rc",
    "RefCell",
    "Mutex",
    "RwLock",
    "OnceLock",
    "VecDeque",
    "HashSet",
    "BTreeSet",
    "PhantomData",
];

/// Returns the type's parameters with the bounds that its fields need.
pub(super) fn completed(definition: &Definition, body: &Body, root: &TokenStream) -> Generics {
    let mut needs = Needs {
        root,
        definition,
        predicates: Vec::new(),
        texts: Vec::new(),
    };
    for param in definition.generics.type_params() {
        let ident = &param.ident;
        needs.add(parse_quote!(
            #ident: ::core::marker::Send + ::core::marker::Sync + 'static
        ));
    }
    for (field, transparent) in body.fields() {
        if transparent {
            needs.module(&field.ty);
        } else if field.is_visited() {
            needs.field(&field.ty);
        }
    }
    let predicates = needs.predicates;
    let mut completed = definition.generics.clone();
    if !predicates.is_empty() {
        completed.make_where_clause().predicates.extend(predicates);
    }
    completed
}

struct Needs<'a> {
    root: &'a TokenStream,
    definition: &'a Definition,
    predicates: Vec<WherePredicate>,
    /// `predicates` as text, by which they are compared.
    texts: Vec<String>,
}

impl Needs<'_> {
    fn add(&mut self, predicate: WherePredicate) {
        let text = show(&predicate);
        if !self.texts.contains(&text) {
            self.texts.push(text);
            self.predicates.push(predicate);
        }
    }

    /// Adds what a type needs to be a field.
    fn field(&mut self, ty: &Type) {
        let ty = peel(ty);
        if !self.is_open(ty) {
            return;
        }
        match ty {
            Type::Array(array) => self.field(&array.elem),
            Type::Slice(slice) => self.field(&slice.elem),
            Type::Tuple(tuple) => tuple.elems.iter().for_each(|ty| self.field(ty)),
            Type::Path(path) if path.qself.is_some() || self.is_projection(&path.path) => {
                self.bound(ty, &quote!(Field), true);
            }
            Type::Path(path) => {
                if let Some(last) = path.path.segments.last() {
                    self.field_of_path(ty, last);
                }
            }
            _ => {}
        }
    }

    fn field_of_path(&mut self, ty: &Type, last: &PathSegment) {
        let (name, arguments) = (last.ident.to_string(), type_arguments(last));
        match (name.as_str(), &arguments[..]) {
            ("Parameter" | "Buffer", [element, rank]) => {
                let root = self.root;
                if self.is_open(element) {
                    self.add(parse_quote!(#element: #root::Element));
                }
                if self.is_open(rank) {
                    self.add(parse_quote!(#rank: #root::ndarray::Dimension + 'static));
                }
            }
            ("Option" | "Vec", [inner]) => self.field(inner),
            ("HashMap" | "BTreeMap", [_, inner, rest @ ..]) => {
                self.field(inner);
                if let [hasher] = rest
                    && self.is_open(hasher)
                {
                    self.add(parse_quote!(#hasher: ::core::hash::BuildHasher));
                }
            }
            ("Box", [inner]) => self.module(inner),
            (name, _) if NEVER_FIELDS.contains(&name) => {}
            _ => self.bound(ty, &quote!(Field), false),
        }
    }

    /// Adds what a type needs to be a module: in a `Box`, and in a variant that is transparent.
    fn module(&mut self, ty: &Type) {
        let ty = peel(ty);
        if !self.is_open(ty) {
            return;
        }
        let Type::Path(path) = ty else {
            return;
        };
        let last = path.path.segments.last();
        if path.qself.is_none()
            && let Some(last) = last
            && let ("Box", [inner]) = (last.ident.to_string().as_str(), &type_arguments(last)[..])
        {
            self.module(inner);
        } else {
            self.bound(ty, &quote!(Module), false);
        }
    }

    fn bound(&mut self, ty: &Type, name: &TokenStream, is_foreign: bool) {
        let root = self.root;
        self.add(parse_quote!(#ty: #root::nn::#name));
        if is_foreign {
            self.add(parse_quote!(#ty: ::core::marker::Send + ::core::marker::Sync + 'static));
        }
    }

    /// Returns whether a type depends on parameters of the module. One that names the module itself does so by
    /// the very impl that the bounds are for.
    fn is_open(&self, ty: &Type) -> bool {
        let (mut mentions_a_parameter, mut mentions_itself) = (false, false);
        for_each_word(ty.to_token_stream(), &mut |word| {
            let mut params = self.definition.generics.type_params();
            mentions_a_parameter |= params.any(|param| param.ident.unraw() == word.unraw());
            mentions_itself |= word == "Self" || *word == self.definition.ident;
        });
        mentions_a_parameter && !mentions_itself
    }

    /// Returns whether a path is `L::Inner`, of a parameter `L`.
    fn is_projection(&self, path: &Path) -> bool {
        let first = path.segments.first().map(|segment| &segment.ident);
        let mut params = self.definition.generics.type_params();
        path.segments.len() > 1 && params.any(|param| Some(&param.ident) == first)
    }
}

fn type_arguments(segment: &PathSegment) -> Vec<&Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return Vec::new();
    };
    let types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    types.listed()
}
