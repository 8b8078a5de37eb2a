//! The short form: a free function, and an expression for each of its gradients.

use proc_macro2::Group;
use syn::{Attribute, Expr, Generics, Ident, Signature, Type, Visibility};

/// A free function under the attribute.
pub(crate) struct Short {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) ident: Ident,
    pub(crate) generics: Generics,
    /// The signature of the function, as that of the block's forward.
    pub(crate) kernel: Signature,
    /// The body of the function, in its braces.
    pub(crate) body: Group,
    /// Whether its gradients are written on tensors.
    pub(crate) higher_order: bool,
    /// Whether all arguments of the attribute could be read.
    pub(crate) complete: bool,
    /// The function of numbers that it was.
    pub(crate) elementwise: Option<Elementwise>,
}

/// A function of numbers, which becomes one of tensors.
pub(crate) struct Elementwise {
    /// Its signature, as it is written.
    pub(crate) scalar: Box<Signature>,
    /// The type parameter of its numbers.
    pub(crate) number: Ident,
    /// The parameters that are numbers.
    pub(crate) inputs: Vec<Ident>,
    /// Which of them are differentiable.
    pub(crate) differentiable: Vec<bool>,
    /// The others, with their types.
    pub(crate) values: Vec<(Ident, Type)>,
    /// How many numbers it returns.
    pub(crate) outputs: usize,
    /// How often it can be differentiated.
    pub(crate) order: usize,
    /// The derivatives that are given.
    pub(crate) replaced: Vec<Replaced>,
}

/// `grad(x) = …` of a function of numbers.
pub(crate) struct Replaced {
    /// The places of the inputs whose derivatives it gives.
    pub(crate) inputs: Vec<usize>,
    pub(crate) expression: Expr,
    /// The names that it uses.
    pub(crate) names: Vec<Ident>,
}

/// A backward function that is written as one expression.
pub(crate) struct Written {
    pub(crate) sig: Signature,
    pub(crate) expression: Expr,
}
