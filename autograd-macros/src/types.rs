//! Reads types by their tokens alone.
//!
//! A procedural macro gets names, never definitions, so a tensor is recognized by how it is written:
//! `ArrayView2<f32>`, `Array<T, D>`, `&TensorD<f64>`. Everything else is a value, unless it is marked
//! `#[tensor]`. All reading of types happens here; the rules ask [`Floats`].

use syn::{
    Expr, ExprLit, FnArg, GenericArgument, Generics, Ident, Lifetime, Lit, Pat, PathArguments,
    PathSegment, Signature, Type, TypeParamBound, TypePath, WherePredicate,
};

use crate::lists::Lists as _;
use crate::show::show;

/// The form in which a function takes or returns a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `ArrayView2<f32>`
    View,
    /// `ArrayViewMut2<f32>`
    ViewMut,
    /// `Array2<f32>`
    Owned,
    /// `&Tensor2<f32>`
    TensorRef,
    /// `Tensor2<f32>`
    Tensor,
}

impl Form {
    /// Returns whether a backward function that uses this form can be recorded.
    pub(crate) fn is_tensor(self) -> bool {
        matches!(self, Self::TensorRef | Self::Tensor)
    }
}

/// The rank of a tensor, as far as its type shows it.
#[derive(Clone)]
pub(crate) enum Rank {
    /// `Array2`, `Ix2`
    Fixed(u8),
    /// `ArrayD`, `IxDyn`
    Dyn,
    /// A dimension type that the macro cannot resolve, such as a parameter `D`.
    Named(Box<Type>),
}

/// The element type and rank of a tensor.
#[derive(Clone)]
pub(crate) enum Content {
    /// Element type and rank are written in the type.
    Known { element: Box<Type>, rank: Rank },
    /// They are behind an alias, which only the compiler can resolve.
    Alias(Box<Type>),
}

impl Content {
    pub(crate) fn element(&self) -> Option<&Type> {
        match self {
            Self::Known { element, .. } => Some(element),
            Self::Alias(_) => None,
        }
    }

    pub(crate) fn rank(&self) -> Option<&Rank> {
        match self {
            Self::Known { rank, .. } => Some(rank),
            Self::Alias(_) => None,
        }
    }
}

/// A type that the macro reads as a tensor.
#[derive(Clone)]
pub(crate) struct TensorType {
    pub(crate) form: Form,
    /// A lifetime that is named: `'a` of `ArrayView2<'a, f32>`.
    pub(crate) lifetime: Option<Lifetime>,
    pub(crate) content: Content,
}

/// Whether something is a tensor, may be one, or is a list of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Single,
    /// `Option<…>`
    Optional,
    /// `&[…]` of what is taken, `Vec<…>` of what is returned.
    List,
}

/// The way in which a parameter takes a value.
#[derive(Clone)]
pub(crate) enum Passing {
    /// `V`
    Owned(Type),
    /// `&V`
    Reference(Type),
    /// `Option<&V>`
    OptionalReference(Type),
}

impl Passing {
    /// Reads how a value is written.
    pub(crate) fn of(ty: &Type) -> Self {
        let referenced = |ty: &Type| match peel(ty) {
            Type::Reference(reference) => Some((*reference.elem).clone()),
            _ => None,
        };
        if let Some(target) = referenced(ty) {
            return Self::Reference(target);
        }
        match option_of(ty).and_then(referenced) {
            Some(target) => Self::OptionalReference(target),
            None => Self::Owned(ty.clone()),
        }
    }

    /// Returns the type without its reference.
    pub(crate) fn target(&self) -> &Type {
        match self {
            Self::Owned(ty) | Self::Reference(ty) | Self::OptionalReference(ty) => ty,
        }
    }
}

/// The types that count as float elements within one impl block.
pub(crate) struct Floats {
    /// `f32`, `f64` and the parameters of the block.
    certain: Vec<String>,
    /// Names that are marked as element types by hand.
    aliases: Vec<String>,
    /// Names of types with tensors in their fields.
    holders: Vec<String>,
}

impl Floats {
    pub(crate) fn of(block: &Generics, forward: &Signature, holders: &[String]) -> Self {
        let params = block.type_params().chain(forward.generics.type_params());
        let params = params.map(|param| param.ident.to_string());
        let certain = ["f32", "f64"]
            .into_iter()
            .map(String::from)
            .chain(params)
            .listed();
        let aliases = forward.inputs.iter().filter_map(element_alias).listed();
        Self {
            certain,
            aliases,
            holders: holders.to_vec(),
        }
    }

    fn contains(&self, element: &Type) -> bool {
        is_one_of(element, &self.certain) || is_one_of(element, &self.aliases)
    }

    /// Returns whether `ty` is not an alias, so that another name is another type.
    pub(crate) fn is_certain(&self, ty: &Type) -> bool {
        is_one_of(ty, &self.certain) || is_primitive(ty)
    }

    /// Reads the type of a parameter as a tensor, one that may be missing, or a list; `None`: it is a value.
    pub(crate) fn taken(&self, ty: &Type) -> Option<(TensorType, Kind)> {
        let is_listed = |form| matches!(form, Form::View | Form::TensorRef);
        self.in_any_kind(ty, list_of(ty), is_listed)
    }

    /// Reads the type of a returned value, like [`taken`](Self::taken).
    pub(crate) fn returned(&self, ty: &Type) -> Option<(TensorType, Kind)> {
        let is_listed = |form| matches!(form, Form::Owned | Form::Tensor);
        self.in_any_kind(ty, vec_of(ty), is_listed)
    }

    fn in_any_kind(
        &self,
        ty: &Type,
        listed: Option<&Type>,
        is_listed: impl Fn(Form) -> bool,
    ) -> Option<(TensorType, Kind)> {
        if let Some(tensor) = self.tensor(ty) {
            return Some((tensor, Kind::Single));
        }
        if let Some(tensor) = option_of(ty).and_then(|inner| self.tensor(inner)) {
            return Some((tensor, Kind::Optional));
        }
        let tensor = self.tensor(listed?)?;
        is_listed(tensor.form).then_some((tensor, Kind::List))
    }

    /// Returns the tensor somewhere inside `ty`, where the macro would not see it.
    pub(crate) fn hidden_tensor(
        &self,
        ty: &Type,
        counts: impl Fn(Form) -> bool + Copy,
    ) -> Option<TensorType> {
        let counted = |ty: &Type| self.tensor(ty).filter(|tensor| counts(tensor.form));
        inner_types(ty)
            .into_iter()
            .find_map(|inner| counted(inner).or_else(|| self.hidden_tensor(inner, counts)))
    }

    /// Returns the tensor that a type with these bounds gives out: `Iterator<Item = ArrayView1<f32>>`.
    pub(crate) fn tensor_of_bounds<'a>(
        &self,
        bounds: impl Iterator<Item = &'a TypeParamBound>,
    ) -> Option<TensorType> {
        bounds
            .flat_map(types_of_bound)
            .find_map(|ty| self.tensor(ty).or_else(|| self.hidden_tensor(ty, |_| true)))
    }

    /// Returns the name of a type with tensors in its fields.
    pub(crate) fn holder(&self, ty: &Type) -> Option<Ident> {
        let own = match peel(ty) {
            Type::Path(path) if path.path.segments.len() == 1 => last_segment(ty),
            _ => None,
        };
        let own = own.map(|last| &last.ident);
        let own = own.filter(|own| self.holders.iter().any(|holder| *own == holder));
        let inner = || inner_types(ty).into_iter().find_map(|ty| self.holder(ty));
        own.cloned().or_else(inner)
    }

    /// Returns the name of a type that is a tensor in a form which functions do not take: `ArcArray1<f64>`,
    /// `&Parameter<f64, Ix1>`.
    pub(crate) fn other_tensor(&self, ty: &Type) -> Option<Ident> {
        const OTHERS: [&str; 7] = [
            "ArcArray",
            "CowArray",
            "RcArray",
            "ArrayRef",
            "ArrayBase",
            "Parameter",
            "Buffer",
        ];
        let own = last_segment(ty).filter(|segment| {
            let name = segment.ident.to_string();
            let name = name.trim_end_matches(|last: char| last.is_ascii_digit() || last == 'D');
            let inner = inner_types(ty);
            let storage = inner.iter().flat_map(|inner| inner_types(inner));
            let mut elements = inner.iter().copied().chain(storage);
            OTHERS.contains(&name) && elements.any(|element| self.contains(element))
        });
        let inner = || {
            inner_types(ty)
                .into_iter()
                .find_map(|inner| self.other_tensor(inner))
        };
        own.map(|segment| segment.ident.clone()).or_else(inner)
    }

    /// Returns the float array that a value borrows: `&Array2<f32>`, also in `Option`. Taken as a view it would be
    /// a tensor.
    pub(crate) fn borrowed_array(&self, ty: &Type) -> Option<TensorType> {
        let Type::Reference(reference) = peel(option_of(ty).unwrap_or(ty)) else {
            return None;
        };
        self.owned_array(&reference.elem)
    }

    /// Returns the float array that a type is, if it is an owned one.
    pub(crate) fn owned_array(&self, ty: &Type) -> Option<TensorType> {
        self.tensor(ty).filter(|array| array.form == Form::Owned)
    }

    fn tensor(&self, ty: &Type) -> Option<TensorType> {
        array(ty).filter(|tensor| tensor.content.element().is_some_and(|ty| self.contains(ty)))
    }
}

/// Returns `Real` of `#[tensor] x: ArrayView1<Real>`.
fn element_alias(argument: &FnArg) -> Option<String> {
    let FnArg::Typed(parameter) = argument else {
        return None;
    };
    parameter
        .attrs
        .iter()
        .find(|attribute| attribute.path().is_ident("tensor"))?;
    let tensor = array(option_of(&parameter.ty).unwrap_or(&parameter.ty))?;
    let element = tensor.content.element().filter(|ty| !is_primitive(ty))?;
    last_segment(element).map(|alias| alias.ident.to_string())
}

pub(crate) fn is_one_of<S: AsRef<str>>(ty: &Type, names: &[S]) -> bool {
    let Type::Path(TypePath {
        qself: None, path, ..
    }) = peel(ty)
    else {
        return false;
    };
    let mut segments = path.segments.iter().rev();
    let (last, before) = (segments.next(), segments.next());
    // `f64`, or `::core::primitive::f64`, as it is written beside another type of that name.
    before.is_none_or(|module| module.ident == "primitive")
        && last.is_some_and(|last| {
            last.arguments.is_none() && names.iter().any(|name| last.ident == name.as_ref())
        })
}

/// Reads a type as an array of any element type: `ArrayView1<usize>` is one too.
pub(crate) fn array(ty: &Type) -> Option<TensorType> {
    match peel(ty) {
        Type::Reference(reference) if reference.mutability.is_none() => {
            let tensor = array(&reference.elem)?;
            (tensor.form == Form::Tensor).then(|| TensorType {
                form: Form::TensorRef,
                lifetime: reference.lifetime.clone().filter(is_named),
                ..tensor
            })
        }
        Type::Path(TypePath {
            qself: None, path, ..
        }) => array_segment(path.segments.last()?),
        _ => None,
    }
}

fn array_segment(segment: &PathSegment) -> Option<TensorType> {
    const FORMS: [(&str, Form); 4] = [
        ("ArrayViewMut", Form::ViewMut),
        ("ArrayView", Form::View),
        ("Array", Form::Owned),
        ("Tensor", Form::Tensor),
    ];
    let name = segment.ident.to_string();
    let (suffix, form) = FORMS
        .into_iter()
        .find_map(|(prefix, form)| Some((name.strip_prefix(prefix)?, form)))?;
    let mut types = type_arguments(segment);
    let element = Box::new(types.next()?.clone());
    let rank = match (suffix, types.next()) {
        ("", Some(dimension)) => rank(dimension),
        ("", None) if form == Form::Tensor => Rank::Dyn,
        ("D", None) => Rank::Dyn,
        (digit, None) => Rank::Fixed(fixed_rank(digit)?),
        _ => return None,
    };
    let lifetime = lifetime_arguments(segment)
        .find(|lifetime| is_named(lifetime))
        .cloned();
    Some(TensorType {
        form,
        lifetime,
        content: Content::Known { element, rank },
    })
}

/// Reads a type that is a tensor only by `#[tensor]` or by the name that has it.
///
/// A reference can only be `&Tensor`; of the rest, a view is written with its lifetime
/// (`Matrix<'_>`), an owned array has none.
pub(crate) fn alias(ty: &Type) -> TensorType {
    let (form, lifetime, target) = match peel(ty) {
        Type::Reference(reference) => (
            Form::TensorRef,
            reference.lifetime.clone(),
            peel(&reference.elem),
        ),
        ty => match last_segment(ty).and_then(|last| lifetime_arguments(last).next()) {
            Some(lifetime) => (Form::View, Some(lifetime.clone()), ty),
            None => (Form::Owned, None, ty),
        },
    };
    let lifetime = lifetime.filter(is_named);
    TensorType {
        form,
        lifetime,
        content: Content::Alias(Box::new(target.clone())),
    }
}

/// Reads a type as an alias of a tensor's, for a name that is known to be one.
///
/// It refuses what is certainly something else (a number, a `Vec`, a slice, a tuple).
pub(crate) fn tensor_alias(ty: &Type) -> Option<TensorType> {
    const OTHERS: [&str; 5] = ["Vec", "Box", "String", "Option", "Result"];
    let target = match peel(ty) {
        Type::Reference(reference) if reference.mutability.is_none() => &reference.elem,
        ty => ty,
    };
    let segment = last_segment(target)?;
    // An array by reference is not a `&Tensor`.
    let is_array = array(target).is_some_and(|array| array.form != Form::Tensor);
    if is_array && matches!(peel(ty), Type::Reference(_)) {
        return None;
    }
    let is_other = is_primitive(target) || OTHERS.iter().any(|other| segment.ident == other);
    (!is_other).then(|| alias(ty))
}

/// Returns whether a type holds a borrow that ends before backward runs.
pub(crate) fn borrows(ty: &Type) -> bool {
    let is_short = |lifetime: &Lifetime| lifetime.ident != "static";
    let borrowed = match peel(ty) {
        Type::Reference(reference) => reference.lifetime.as_ref().is_none_or(is_short),
        ty => last_segment(ty).is_some_and(|last| match lifetime_arguments(last).next() {
            Some(lifetime) => is_short(lifetime),
            None => array(ty).is_some_and(|array| matches!(array.form, Form::View | Form::ViewMut)),
        }),
    };
    borrowed || inner_types(ty).into_iter().any(borrows)
}

/// Returns `X` of `Option<X>`.
pub(crate) fn option_of(ty: &Type) -> Option<&Type> {
    single_argument(ty, "Option")
}

/// Returns `X` of `&[X]`.
pub(crate) fn list_of(ty: &Type) -> Option<&Type> {
    match peel(ty) {
        Type::Reference(reference) if reference.mutability.is_none() => {
            match peel(&reference.elem) {
                Type::Slice(slice) => Some(&slice.elem),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns `X` of `[X]`, `[X; 3]` and `Vec<X>`.
pub(crate) fn entry_of(ty: &Type) -> Option<&Type> {
    match peel(ty) {
        Type::Array(array) => Some(&array.elem),
        Type::Slice(slice) => Some(&slice.elem),
        ty => vec_of(ty),
    }
}

/// Returns `X` of `Vec<X>`.
pub(crate) fn vec_of(ty: &Type) -> Option<&Type> {
    single_argument(ty, "Vec")
}

/// Returns `X` of `Box<X>`, `Arc<X>`, `Rc<X>`.
pub(crate) fn pointed_at(ty: &Type) -> Option<&Type> {
    ["Box", "Arc", "Rc"]
        .into_iter()
        .find_map(|name| single_argument(ty, name))
}

/// Returns the array within a gradient: `X` of `X`, `Option<X>`, `Vec<X>`, `Vec<Option<X>>`.
pub(crate) fn within_gradient(ty: &Type) -> &Type {
    match option_of(ty).or_else(|| vec_of(ty)) {
        Some(inner) => within_gradient(inner),
        None => ty,
    }
}

/// Returns the first argument of `Result<X, …>`.
pub(crate) fn result_of(ty: &Type) -> Option<&Type> {
    let segment = last_segment(ty).filter(|segment| segment.ident == "Result")?;
    type_arguments(segment).next()
}

/// Returns the error of `Result<…, E>`.
pub(crate) fn error_of(ty: &Type) -> Option<&Type> {
    let segment = last_segment(ty).filter(|segment| segment.ident == "Result")?;
    type_arguments(segment).nth(1)
}

/// Returns whether two types are written alike.
pub(crate) fn same(a: &Type, b: &Type) -> bool {
    show(a) == show(b)
}

/// Returns whether `ty` is `f32` or `f64`.
pub(crate) fn is_float(ty: &Type) -> bool {
    is_one_of(ty, &["f32", "f64"])
}

/// Returns whether `ty` is a number, `bool`, `char` or `str`, which is certainly not an alias.
pub(crate) fn is_primitive(ty: &Type) -> bool {
    const PRIMITIVES: [&str; 17] = [
        "f32", "f64", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64",
        "i128", "isize", "bool", "char", "str",
    ];
    is_one_of(ty, &PRIMITIVES)
}

/// Returns a length that is written as a number.
pub(crate) fn whole(length: &Expr) -> Option<u64> {
    match length {
        Expr::Lit(ExprLit {
            lit: Lit::Int(number),
            ..
        }) => number.base10_parse().ok(),
        _ => None,
    }
}

/// Returns whether a type is none of those whose size is not known.
pub(crate) fn is_sized(ty: &Type) -> bool {
    const UNSIZED: [&str; 4] = ["str", "Path", "OsStr", "CStr"];
    match peel(ty) {
        Type::Path(_) => {
            last_segment(ty).is_none_or(|last| !UNSIZED.iter().any(|name| last.ident == name))
        }
        Type::Slice(_) | Type::TraitObject(_) => false,
        _ => true,
    }
}

/// Returns whether a type certainly holds no tensor, however its names are defined.
pub(crate) fn is_data(ty: &Type) -> bool {
    match peel(ty) {
        Type::FnPtr(_) | Type::Never(_) | Type::Ptr(_) => true,
        Type::Path(TypePath { path, .. }) if path.get_ident().is_some() => {
            is_primitive(ty) || path.is_ident("String")
        }
        Type::Path(_) => {
            let inner = inner_types(ty);
            let is_holder = option_of(ty).or_else(|| vec_of(ty)).is_some();
            is_holder && inner.into_iter().all(is_data)
        }
        _ => {
            let inner = inner_types(ty);
            !inner.is_empty() && inner.into_iter().all(is_data)
        }
    }
}

/// Returns whether a type certainly holds values of the types that it is written with.
pub(crate) fn is_container(ty: &Type) -> bool {
    const CONTAINERS: [&str; 6] = ["Option", "Vec", "Box", "Arc", "HashMap", "BTreeMap"];
    match peel(ty) {
        Type::Array(_) | Type::Slice(_) | Type::Tuple(_) | Type::Reference(_) => true,
        ty => {
            let last = last_segment(ty);
            last.is_some_and(|last| CONTAINERS.iter().any(|name| last.ident == name))
        }
    }
}

/// Returns whether a type is a parameter of this name.
pub(crate) fn is_parameter(ty: &Type, param: &Ident) -> bool {
    last_segment(ty).is_some_and(|segment| segment.ident == *param)
}

/// Returns the length of `[T; N]`, a row of numbers.
pub(crate) fn row_of<'a>(ty: &'a Type, number: &Ident) -> Option<&'a Expr> {
    match peel(ty) {
        Type::Array(array) if is_parameter(&array.elem, number) => Some(&array.len),
        _ => None,
    }
}

/// Returns whether a slice of numbers is `&mut [T]`; `None` if the type is none.
pub(crate) fn slice_of(ty: &Type, number: &Ident) -> Option<bool> {
    let Type::Reference(to) = peel(ty) else {
        return None;
    };
    match peel(&to.elem) {
        Type::Slice(slice) if is_parameter(&slice.elem, number) => Some(to.mutability.is_some()),
        _ => None,
    }
}

/// Returns the bounds of a parameter, wherever they are written.
pub(crate) fn bounds_of<'a>(
    generics: &'a Generics,
    param: &Ident,
) -> impl Iterator<Item = &'a TypeParamBound> {
    let of_param = generics
        .type_params()
        .find(|other| other.ident == *param)
        .map(|param| &param.bounds);
    let predicates = generics
        .where_clause
        .as_ref()
        .map(|clause| &clause.predicates);
    let in_clause = predicates
        .into_iter()
        .flatten()
        .filter_map(|predicate| match predicate {
            WherePredicate::Type(of) if is_parameter(&of.bounded_ty, param) => Some(&of.bounds),
            _ => None,
        });
    let bounds = of_param.into_iter().chain(in_clause).flatten();
    bounds.listed().into_iter()
}

/// Returns the name that a parameter's pattern binds.
pub(crate) fn bound(pattern: &Pat) -> Option<&Ident> {
    match pattern {
        Pat::Ident(pattern) => Some(&pattern.ident),
        Pat::Reference(reference) => bound(&reference.pat),
        Pat::Paren(paren) => bound(&paren.pat),
        _ => None,
    }
}

/// Returns the last segment of a path type.
pub(crate) fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match peel(ty) {
        Type::Path(TypePath { path, .. }) => path.segments.last(),
        _ => None,
    }
}

/// Returns a type without parentheses and the invisible groups that `macro_rules!` leaves.
pub(crate) fn peel(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => peel(&group.elem),
        Type::Paren(paren) => peel(&paren.elem),
        ty => ty,
    }
}

fn rank(dimension: &Type) -> Rank {
    let name = last_segment(dimension).map(|segment| segment.ident.to_string());
    let known = name
        .as_deref()
        .and_then(|name| match name.strip_prefix("Ix")? {
            "Dyn" => Some(Rank::Dyn),
            digit => fixed_rank(digit).map(Rank::Fixed),
        });
    known.unwrap_or_else(|| Rank::Named(Box::new(dimension.clone())))
}

fn fixed_rank(digit: &str) -> Option<u8> {
    digit
        .parse()
        .ok()
        .filter(|rank| *rank <= 6 && digit.len() == 1)
}

fn is_named(lifetime: &Lifetime) -> bool {
    lifetime.ident != "_"
}

fn single_argument<'a>(ty: &'a Type, name: &str) -> Option<&'a Type> {
    let segment = last_segment(ty).filter(|segment| segment.ident == name)?;
    let mut arguments = type_arguments(segment);
    let first = arguments.next()?;
    arguments.next().is_none().then_some(first)
}

fn type_arguments(segment: &PathSegment) -> impl Iterator<Item = &Type> {
    let types = arguments(segment).filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    types.listed().into_iter()
}

fn lifetime_arguments(segment: &PathSegment) -> impl Iterator<Item = &Lifetime> {
    let lifetimes = arguments(segment).filter_map(|argument| match argument {
        GenericArgument::Lifetime(lifetime) => Some(lifetime),
        _ => None,
    });
    lifetimes.listed().into_iter()
}

fn arguments(segment: &PathSegment) -> impl Iterator<Item = &GenericArgument> {
    let bracketed = match &segment.arguments {
        PathArguments::AngleBracketed(bracketed) => Some(&bracketed.args),
        _ => None,
    };
    bracketed.into_iter().flatten()
}

pub(crate) fn inner_types(ty: &Type) -> Vec<&Type> {
    match peel(ty) {
        Type::Array(array) => vec![&array.elem],
        Type::Slice(slice) => vec![&slice.elem],
        Type::Reference(reference) => vec![&reference.elem],
        Type::Tuple(tuple) => tuple.elems.iter().listed(),
        Type::Path(path) => path.path.segments.iter().flat_map(type_arguments).listed(),
        _ => Vec::new(),
    }
}

/// Returns `X` of `AsRef<X>` and of `Iterator<Item = X>`; what a closure takes is not in it.
fn types_of_bound(bound: &TypeParamBound) -> Vec<&Type> {
    let TypeParamBound::Trait(bound) = bound else {
        return Vec::new();
    };
    let arguments = bound.path.segments.iter().flat_map(arguments);
    let types = arguments.filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        GenericArgument::AssocType(assoc) => Some(&assoc.ty),
        _ => None,
    });
    types.listed()
}
