//! Values, as parameter lists write them.

use syn::Type;

use crate::types::{option_of, peel};

/// How a value is written in a parameter list.
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

    /// The type without its reference.
    pub(crate) fn target(&self) -> &Type {
        match self {
            Self::Owned(ty) | Self::Reference(ty) | Self::OptionalReference(ty) => ty,
        }
    }
}
