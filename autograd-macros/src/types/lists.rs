//! Lists of tensors and of their gradients.

use syn::Type;

use super::{option_of, peel, single_argument};

/// `X` of `&[X]`.
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

/// `X` of `Vec<X>`.
pub(crate) fn vec_of(ty: &Type) -> Option<&Type> {
    single_argument(ty, "Vec")
}

/// The array within a gradient: `X` of `X`, `Option<X>`, `Vec<X>`, `Vec<Option<X>>`.
pub(crate) fn within_gradient(ty: &Type) -> &Type {
    match option_of(ty).or_else(|| vec_of(ty)) {
        Some(inner) => within_gradient(inner),
        None => ty,
    }
}
