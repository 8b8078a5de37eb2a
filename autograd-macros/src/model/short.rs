//! The short form: a free function, and an expression for each of its gradients.

use proc_macro2::Group;
use syn::{Attribute, Expr, Generics, Ident, Signature, Visibility};

/// A free function under the attribute.
pub(crate) struct Short {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) ident: Ident,
    pub(crate) generics: Generics,
    /// The author's signature as that of the block's forward.
    pub(crate) kernel: Signature,
    /// The author's body, in its braces.
    pub(crate) body: Group,
    /// Whether its gradients are written on tensors.
    pub(crate) higher_order: bool,
    /// Whether all that the attribute says could be read.
    pub(crate) complete: bool,
}

/// A backward function of which the author wrote one expression.
pub(crate) struct Written {
    pub(crate) sig: Signature,
    pub(crate) expression: Expr,
}
