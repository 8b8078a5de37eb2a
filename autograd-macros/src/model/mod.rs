//! A custom function as the rules leave it: checked, with every name resolved.
//!
//! Only [`validate`](crate::validate) makes these, and [`expand`](crate::expand) needs to ask nothing
//! more. Syntax of the author's is kept wherever its spans matter: the compiler's own type errors then
//! land on it too.

mod gradcheck;
mod jvp;
mod short;

pub(crate) use gradcheck::{Concrete, Gradcheck, Sample, Within};
pub(crate) use jvp::{Given, GivenWhat, Jvp};
pub(crate) use short::{Short, Written};

use syn::ext::IdentExt as _;
use syn::{Attribute, Generics, Ident, Path, Type, Visibility};

use crate::types::{Form, TensorType, peel};

/// A differentiable function.
pub(crate) struct FunctionModel {
    pub(crate) definition: Definition,
    pub(crate) forward: Forward,
    pub(crate) backwards: Vec<Backward>,
    pub(crate) jvp: Option<Jvp>,
    /// What backward functions ask for, in the order inputs, outputs, intermediates.
    pub(crate) saved: Vec<Saved>,
    pub(crate) order: Order,
    /// The test that is to be generated.
    pub(crate) gradcheck: Option<Gradcheck>,
}

/// The block itself: known before anything about its functions is.
pub(crate) struct Definition {
    /// The last segment of the type's path: the stem of generated names.
    pub(crate) ident: Ident,
    pub(crate) self_ty: Type,
    pub(crate) generics: Generics,
    /// `#[cfg(…)]` of the block: what stands beside it lives and dies with it.
    pub(crate) cfgs: Vec<Attribute>,
    /// The documentation of the block, or of the author's function.
    pub(crate) docs: Vec<Attribute>,
    /// The name shown in graphs and errors.
    pub(crate) name: String,
    /// The runtime's path, where the author gave one.
    pub(crate) runtime: Option<Path>,
    /// The author's function, if the block only stands for one.
    pub(crate) short: Option<Short>,
}

/// The function marked `#[forward]`.
pub(crate) struct Forward {
    pub(crate) ident: Ident,
    pub(crate) vis: Visibility,
    pub(crate) docs: Vec<Attribute>,
    /// Its lifetimes; it has no other parameters.
    pub(crate) generics: Generics,
    pub(crate) inputs: Vec<Input>,
    /// What it returns: outputs first, then intermediates. Behind them stand the inputs that it writes to,
    /// which are outputs too.
    pub(crate) returned: Vec<Returned>,
    /// Whether it returns a tuple, if only of one.
    pub(crate) tuple: bool,
    /// The author's `Result<…>`, if it returns one.
    pub(crate) fallible: Option<Type>,
}

/// A parameter of forward.
pub(crate) struct Input {
    pub(crate) name: Ident,
    pub(crate) ty: Type,
    /// `None`: a value.
    pub(crate) tensor: Option<TensorInput>,
}

/// The tensor side of an input.
pub(crate) struct TensorInput {
    pub(crate) ty: TensorType,
    pub(crate) optional: bool,
    /// Whether it is a list of such tensors.
    pub(crate) list: bool,
    /// Its place among the differentiable inputs.
    pub(crate) edge: Option<usize>,
}

/// One thing that forward returns.
pub(crate) struct Returned {
    pub(crate) name: Ident,
    /// Whether the author chose the name.
    pub(crate) named: bool,
    pub(crate) ty: Type,
    /// `None`: a value.
    pub(crate) tensor: Option<TensorType>,
    pub(crate) role: Role,
    /// What its gradient is named after, if not itself: that of an input `x` which is written to is
    /// `grad_x`, while the value is `output_x`.
    pub(crate) named_after: Option<Ident>,
}

/// What becomes of a returned thing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// `apply` returns it.
    Output {
        /// Its place among the differentiable outputs.
        gradient: Option<usize>,
    },
    /// Only backward functions see it.
    Intermediate,
    /// An input that forward writes to: the value that it has then.
    InPlace {
        input: usize,
        /// Its place among the differentiable outputs.
        gradient: Option<usize>,
    },
}

/// A function marked `#[backward]`.
pub(crate) struct Backward {
    pub(crate) ident: Ident,
    /// The differentiable inputs whose gradients it returns, in that order.
    pub(crate) covers: Vec<usize>,
    /// Its parameters.
    pub(crate) asked: Vec<Asked>,
    /// What it returns.
    pub(crate) returns: Type,
    /// The short form: the function as it is to be written.
    pub(crate) written: Option<Written>,
}

/// A parameter of a backward function.
pub(crate) struct Asked {
    pub(crate) ty: Type,
    pub(crate) what: What,
}

/// What a parameter of a backward function gets.
pub(crate) enum What {
    /// The gradient of a differentiable output.
    Gradient {
        output: usize,
        form: Form,
        optional: bool,
    },
    /// Something that was kept.
    Kept(Request),
    /// Which inputs need a gradient.
    NeedsInputGrad { by_reference: bool },
}

/// How an input, an output or an intermediate is asked for.
pub(crate) enum Request {
    Tensor {
        source: Source,
        form: Form,
        optional: bool,
    },
    Value {
        source: Source,
    },
}

/// Where a kept thing comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    Input(usize),
    Returned(usize),
}

/// Something that `apply` keeps for backward functions.
pub(crate) struct Saved {
    pub(crate) name: Ident,
    pub(crate) source: Source,
    /// The differentiable inputs whose backward functions ask for it.
    pub(crate) needed_for: Vec<usize>,
}

/// How often the function can be differentiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// A backward function works on arrays.
    Once,
    /// Every backward function works on tensors.
    Any,
}

impl Forward {
    /// The types of all tensors that it takes or returns.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = &TensorType> {
        let inputs = self.inputs.iter().filter_map(|input| input.tensor.as_ref());
        let returned = self
            .returned
            .iter()
            .filter_map(|returned| returned.tensor.as_ref());
        inputs.map(|input| &input.ty).chain(returned)
    }

    /// The differentiable inputs, by their place among themselves.
    pub(crate) fn differentiable(&self) -> Vec<(&Input, &TensorInput)> {
        let tensors = self
            .inputs
            .iter()
            .filter_map(|input| Some((input, input.tensor.as_ref()?)));
        tensors
            .filter(|(_, tensor)| tensor.edge.is_some())
            .collect()
    }

    /// What `apply` returns.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = &Returned> {
        self.returned
            .iter()
            .filter(|returned| matches!(returned.role, Role::Output { .. }))
    }

    /// The inputs that it writes to, as outputs, each with the input.
    pub(crate) fn in_place(&self) -> impl Iterator<Item = (&Returned, &Input)> {
        self.returned
            .iter()
            .filter_map(|returned| match returned.role {
                Role::InPlace { input, .. } => Some((returned, &self.inputs[input])),
                Role::Output { .. } | Role::Intermediate => None,
            })
    }

    /// What only backward functions see.
    pub(crate) fn intermediates(&self) -> impl Iterator<Item = &Returned> {
        self.returned
            .iter()
            .filter(|returned| returned.role == Role::Intermediate)
    }

    /// The outputs that have a gradient, by their place among themselves.
    pub(crate) fn differentiable_outputs(&self) -> Vec<(&Returned, &TensorType)> {
        let outputs = self
            .returned
            .iter()
            .filter(|returned| returned.has_gradient());
        outputs
            .filter_map(|output| Some((output, output.tensor.as_ref()?)))
            .collect()
    }

    /// The thing that a source names.
    pub(crate) fn source(&self, source: Source) -> Sourced<'_> {
        match source {
            Source::Input(index) => {
                let input = &self.inputs[index];
                let tensor = input.tensor.as_ref();
                Sourced {
                    name: &input.name,
                    ty: &input.ty,
                    tensor: tensor.map(|tensor| &tensor.ty),
                    optional: tensor.is_some_and(|tensor| tensor.optional),
                    list: tensor.is_some_and(|tensor| tensor.list),
                }
            }
            Source::Returned(index) => {
                let Returned {
                    name, ty, tensor, ..
                } = &self.returned[index];
                Sourced {
                    name,
                    ty,
                    tensor: tensor.as_ref(),
                    optional: false,
                    list: false,
                }
            }
        }
    }
}

impl Input {
    /// Whether forward writes to it.
    pub(crate) fn is_in_place(&self) -> bool {
        let tensor = self.tensor.as_ref();
        tensor.is_some_and(|tensor| tensor.ty.form == Form::ViewMut)
    }

    /// The name by which a `#[jvp]` rule asks for its tangent.
    pub(crate) fn tangent_name(&self) -> Ident {
        Ident::new(&format!("tangent_{}", self.name.unraw()), self.name.span())
    }
}

impl Returned {
    /// Its place among the differentiable outputs.
    pub(crate) fn gradient(&self) -> Option<usize> {
        match self.role {
            Role::Output { gradient } | Role::InPlace { gradient, .. } => gradient,
            Role::Intermediate => None,
        }
    }

    /// Whether it is a differentiable output.
    pub(crate) fn has_gradient(&self) -> bool {
        self.gradient().is_some()
    }

    /// The name by which backward functions ask for its gradient.
    pub(crate) fn gradient_name(&self) -> Ident {
        let name = self.named_after.as_ref().unwrap_or(&self.name);
        Ident::new(&format!("grad_{}", name.unraw()), name.span())
    }
}

/// What inputs, outputs and intermediates have in common.
#[derive(Clone, Copy)]
pub(crate) struct Sourced<'a> {
    pub(crate) name: &'a Ident,
    pub(crate) ty: &'a Type,
    pub(crate) tensor: Option<&'a TensorType>,
    pub(crate) optional: bool,
    pub(crate) list: bool,
}

impl Backward {
    /// How each request for the gradient of an output is written.
    pub(crate) fn gradients(&self, output: usize) -> impl Iterator<Item = (Form, bool)> {
        self.asked.iter().filter_map(move |asked| match asked.what {
            What::Gradient {
                output: of,
                form,
                optional,
            } if of == output => Some((form, optional)),
            _ => None,
        })
    }

    /// The kept things that it asks for.
    pub(crate) fn sources(&self) -> impl Iterator<Item = Source> {
        self.asked.iter().filter_map(|asked| match asked.what {
            What::Kept(ref request) => Some(request.source()),
            What::Gradient { .. } | What::NeedsInputGrad { .. } => None,
        })
    }

    /// The types of the gradients within what it returns.
    pub(crate) fn returned_types(&self) -> Vec<&Type> {
        tuple_elements(&self.returns)
    }
}

impl Request {
    /// What is asked for.
    pub(crate) fn source(&self) -> Source {
        match *self {
            Self::Tensor { source, .. } | Self::Value { source } => source,
        }
    }

    /// The form of a tensor.
    pub(crate) fn form(&self) -> Option<Form> {
        match self {
            Self::Tensor { form, .. } => Some(*form),
            Self::Value { .. } => None,
        }
    }
}

/// The elements of a tuple type, or the type itself.
pub(crate) fn tuple_elements(ty: &Type) -> Vec<&Type> {
    match peel(ty) {
        Type::Tuple(tuple) => tuple.elems.iter().collect(),
        single => vec![single],
    }
}
