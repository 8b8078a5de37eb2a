//! The forms in which a function can be written.

use proc_macro2::Group;
use syn::{Attribute, Expr, Generics, Ident, Signature, Type, Visibility};

/// The form in which a function is written, with what only that form has.
pub(crate) enum FunctionKind {
    /// An `impl` block.
    Block,
    /// A free function, with an expression for each gradient.
    Short(Box<FreeFunction>),
    /// An elementwise function: a formula, whose derivatives the runtime computes.
    Elementwise(Box<FreeFunction>, Box<Elementwise>),
}

/// A free function under the attribute, for which a block was made.
pub(crate) struct FreeFunction {
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
}

/// A function of one element of each tensor, which becomes a function of the tensors.
pub(crate) struct Elementwise {
    /// Its signature, as it is written.
    pub(crate) formula: Signature,
    /// The type parameter of its numbers.
    pub(crate) number: Ident,
    /// The parameters that are numbers.
    pub(crate) inputs: Vec<Ident>,
    /// For each of `inputs`, whether it is differentiable.
    pub(crate) differentiable: Vec<bool>,
    /// The other parameters, with their types.
    pub(crate) values: Vec<(Ident, Type)>,
    /// The values that have an entry for each element, with its type.
    pub(crate) entries: Vec<(Ident, Type)>,
    /// The number of numbers that it returns.
    pub(crate) outputs: usize,
    /// The number of times that it can be differentiated.
    pub(crate) order: usize,
    /// The derivatives that are given.
    pub(crate) replaced: Vec<Replaced>,
}

/// `grad(x) = …` of an elementwise function.
pub(crate) struct Replaced {
    /// The places of the inputs whose derivatives it gives.
    pub(crate) inputs: Vec<usize>,
    pub(crate) expression: Expr,
    /// The names that it uses.
    pub(crate) names: Vec<Ident>,
    /// Whether it computes with `f64`, and is not to be differentiated.
    pub(crate) once: bool,
}

/// A backward function that is written as one expression.
pub(crate) struct Written {
    pub(crate) sig: Signature,
    pub(crate) expression: Expr,
}

impl Elementwise {
    /// Returns the type that a value has in the formula, which gets one entry of a list that has one for each element.
    pub(crate) fn type_of(&self, name: &Ident) -> Option<&Type> {
        let is_it = |(value, _): &&(Ident, Type)| value == name;
        let entry = self.entries.iter().find(is_it);
        entry
            .or_else(|| self.values.iter().find(is_it))
            .map(|(_, ty)| ty)
    }

    /// Returns the type parameter that stands for the rank of all tensors.
    pub(crate) fn rank(&self) -> Ident {
        let rank = if self.number == "D" { "Dim" } else { "D" };
        Ident::new(rank, self.number.span())
    }

    /// Returns the type of its tensors on arrays, as it is shown: `ArrayView<'_, ` is completed.
    pub(crate) fn shown(&self, array: &str) -> String {
        format!("{array}{}, {}>", self.number, self.rank())
    }
}

impl FunctionKind {
    /// Returns the free function that is written in place of a block.
    pub(crate) fn free(&self) -> Option<&FreeFunction> {
        match self {
            Self::Block => None,
            Self::Short(free) | Self::Elementwise(free, _) => Some(free),
        }
    }

    /// Returns the formula of an elementwise function.
    pub(crate) fn elementwise(&self) -> Option<&Elementwise> {
        match self {
            Self::Elementwise(_, elementwise) => Some(elementwise),
            Self::Block | Self::Short(_) => None,
        }
    }
}
