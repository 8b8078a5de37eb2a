//! A custom function as the rules leave it: checked, with every name resolved.
//!
//! Only [`validate`](crate::validate) makes these, and [`expand`](crate::expand) needs to ask nothing
//! more. Written syntax stays wherever its spans matter: the compiler's own type errors are then
//! reported on it too.

mod gradcheck;
mod kind;
mod shapes;

pub(crate) use gradcheck::{Concrete, Draw, Gradcheck, Sample, Within};
pub(crate) use kind::{
    Beside, Branch, Condition, Elementwise, FreeFunction, FunctionKind, Operand, Operation, Pairs,
    Reduce, Replaced, Reversed, Role as ScanRole, Row, Scan, Scanned, Side, Style, Written,
};
pub(crate) use shapes::{Axis, Computed, Declared, Length, Shape, Shapes};

use proc_macro2::TokenStream;
use syn::ext::IdentExt as _;
use syn::{Attribute, Generics, Ident, LitInt, Path, Type, Visibility};

use crate::lists::Lists as _;
use crate::types::{
    Form, Kind, Rank, TensorType, array, inner_types, is_container, is_float, is_parameter,
    last_segment, peel, same, within_gradient,
};

/// A differentiable function.
pub(crate) struct FunctionModel {
    pub(crate) definition: Definition,
    pub(crate) forward: Forward,
    pub(crate) backwards: Vec<Backward>,
    /// The function marked `#[jvp]`.
    pub(crate) jvp: Option<Derivative>,
    /// The function marked `#[residual]`, in place of backward functions and of a rule for forward mode.
    pub(crate) residual: Option<Residual>,
    pub(crate) vmap: Option<Vmap>,
    pub(crate) batch: Option<Batch>,
    pub(crate) adjoint: Option<Adjoint>,
    /// Whether the function is the author's, not one that was made for it.
    pub(crate) is_written: bool,
    /// The values that backward functions ask for, in the order inputs, outputs, intermediates, axes.
    pub(crate) saved: Vec<Saved>,
    pub(crate) order: Order,
    /// The tests that are to be generated.
    pub(crate) gradchecks: Vec<Gradcheck>,
}

/// The block itself: known before anything about its functions is.
pub(crate) struct Definition {
    /// The last segment of the type's path: the stem of generated names.
    pub(crate) ident: Ident,
    pub(crate) self_ty: Type,
    pub(crate) generics: Generics,
    /// `#[cfg(…)]` of the block, which all that is generated beside it has too.
    pub(crate) cfgs: Vec<Attribute>,
    /// The documentation of the block, or of the function in the short form.
    pub(crate) docs: Vec<Attribute>,
    /// The name shown in graphs and errors.
    pub(crate) name: String,
    /// The runtime's path, where one is given.
    pub(crate) runtime: Option<Path>,
    pub(crate) kind: FunctionKind,
}

impl Definition {
    /// Returns the name in the source: that of the free function or of the type.
    pub(crate) fn item(&self) -> &Ident {
        self.kind.free().map_or(&self.ident, |free| &free.ident)
    }
}

/// The function marked `#[forward]`.
pub(crate) struct Forward {
    pub(crate) ident: Ident,
    pub(crate) vis: Visibility,
    pub(crate) docs: Vec<Attribute>,
    /// Its lifetimes; it has no other parameters.
    pub(crate) generics: Generics,
    pub(crate) inputs: Vec<Input>,
    /// The parameter by which it asks which inputs need a gradient.
    pub(crate) needs_input_grad: Option<NeedsInputGrad>,
    /// The values that it returns: outputs first, then intermediates. After them are the inputs that it writes to,
    /// which are outputs too.
    pub(crate) returned: Vec<Returned>,
    /// Whether it returns a tuple, if only of one.
    pub(crate) tuple: bool,
    /// The written `Result<…>`, if it returns one.
    pub(crate) fallible: Option<Type>,
    pub(crate) shapes: Shapes,
}

/// A parameter of forward.
pub(crate) struct Input {
    pub(crate) name: Ident,
    pub(crate) ty: Type,
    /// The type as it is shown.
    pub(crate) shown: String,
    /// `None`: a value.
    pub(crate) tensor: Option<TensorInput>,
}

/// A parameter of forward that is none of `apply`.
pub(crate) struct NeedsInputGrad {
    /// The number of inputs before it.
    pub(crate) place: usize,
    pub(crate) ty: Type,
}

/// The tensor side of an input.
pub(crate) struct TensorInput {
    pub(crate) ty: TensorType,
    pub(crate) kind: Kind,
    /// Its index among the differentiable inputs.
    pub(crate) edge: Option<usize>,
    /// Its shape, which backward functions may ask for.
    pub(crate) shape: InputShape,
}

/// The shape of an input, as backward functions ask for it.
pub(crate) struct InputShape {
    /// `shape_x` for an input `x`.
    pub(crate) name: Ident,
    /// `&[usize]`
    pub(crate) ty: Type,
}

/// A value that forward returns.
pub(crate) struct Returned {
    pub(crate) name: Ident,
    /// Whether the name is written by hand.
    pub(crate) named: bool,
    pub(crate) ty: Type,
    /// The type as it is shown.
    pub(crate) shown: String,
    /// `None`: a value.
    pub(crate) tensor: Option<TensorType>,
    pub(crate) kind: Kind,
    pub(crate) role: Role,
    /// The name that its gradient has, if not its own: that of an input `x` which is written to is
    /// `grad_x`, while the value is `output_x`.
    pub(crate) named_after: Option<Ident>,
}

/// The role of a value that forward returns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// `apply` returns it.
    Output {
        /// Its place among the differentiable outputs.
        gradient: Option<usize>,
    },
    /// Only backward functions see it.
    Intermediate,
    /// An intermediate that the residual determines, with the outputs: the node has it as an output that `apply` does
    /// not return.
    Unknown {
        /// Its place among the differentiable outputs.
        gradient: usize,
    },
    /// An input that forward writes to: the value that it has then.
    InPlace {
        input: usize,
        /// Its place among the differentiable outputs.
        gradient: Option<usize>,
    },
}

/// A function marked `#[backward]`.
pub(crate) struct Backward {
    pub(crate) function: Derivative,
    pub(crate) vis: Visibility,
    /// The differentiable inputs whose gradients it returns, in that order.
    pub(crate) covers: Vec<usize>,
    /// The short form: the function as it is to be written.
    pub(crate) written: Option<Written>,
}

/// A backward function, or the `#[jvp]` rule.
pub(crate) struct Derivative {
    pub(crate) ident: Ident,
    pub(crate) parameters: Vec<Parameter>,
    /// The returned types: the gradients of the inputs that it covers, or a tangent for each differentiable output.
    pub(crate) returns: Type,
    /// Whether it returns gradients in the generated struct, by the names of their inputs.
    pub(crate) by_name: bool,
    /// The written `Result<…>` in which it returns them, if it may fail.
    pub(crate) fallible: Option<Type>,
    /// Whether what it computes is not to be differentiated, though it takes tensors.
    pub(crate) once: bool,
}

/// The function marked `#[residual]`: what the differentiable outputs and the unknowns make zero.
pub(crate) struct Residual {
    /// It returns a residual for each of them.
    pub(crate) function: Derivative,
    /// The number of unknowns up to which their equations are factored.
    pub(crate) dense: Option<LitInt>,
}

/// The function marked `#[vmap]`: the function of a batch.
pub(crate) struct Vmap {
    pub(crate) ident: Ident,
    /// For each input of forward, whether the examples have their own, along the first axis; they share the others.
    pub(crate) mapped: Vec<bool>,
    pub(crate) is_fallible: bool,
}

/// A linear function and its adjoint.
pub(crate) struct Adjoint {
    /// The adjoint, as the author wrote it.
    pub(crate) function: Backward,
    /// The rule for forward mode, which is generated.
    pub(crate) rule: Written,
    /// The function turned round.
    pub(crate) turned: Box<FunctionModel>,
    /// The block of that function, without our attributes.
    pub(crate) block: TokenStream,
}

/// `batch(…)`: `apply_batch` is generated.
pub(crate) struct Batch {
    /// For each input of forward, whether the examples have their own, along the first axis; they share the others.
    pub(crate) is_batched: Vec<bool>,
}

/// A parameter of a backward function or of the `#[jvp]` rule.
pub(crate) struct Parameter {
    pub(crate) ty: Type,
    pub(crate) wants: Wants,
    /// The form of a tensor, of a list that of its elements; `None` of anything else.
    pub(crate) form: Option<Form>,
    /// Whether the tensor, or each of a list, may be missing.
    pub(crate) optional: bool,
}

/// The value that a parameter gets, by its name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wants {
    /// The gradient of the differentiable output of this number.
    Gradient(usize),
    /// The tangent of the differentiable input of this number.
    Tangent(usize),
    /// An input, an output, an intermediate or the length of an axis.
    Saved(Source),
    /// The flags of the inputs that need a gradient.
    NeedsInputGrad,
    /// All that is saved.
    Context,
}

/// An input, something that forward returns, the length of an axis, or the shape of an input.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Input(usize),
    Returned(usize),
    Axis(usize),
    Shape(usize),
}

/// Something that `apply` saves for backward functions.
pub(crate) struct Saved {
    pub(crate) name: Ident,
    pub(crate) source: Source,
    /// The differentiable inputs whose backward functions ask for it.
    pub(crate) needed_for: Vec<usize>,
}

/// The number of times that the function can be differentiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// A backward function works on arrays.
    Once,
    /// Its derivatives are generated, to this order.
    Times(usize),
    /// Every backward function works on tensors.
    Any,
}

impl FunctionModel {
    /// Returns whether there are derivatives along directions: those of a rule, or of a formula.
    pub(crate) fn has_forward_mode(&self) -> bool {
        let is_elementwise = self.definition.kind.elementwise().is_some();
        self.jvp.is_some() || self.residual.is_some() || is_elementwise
    }

    /// Returns whether `apply` calls a function that is given its line.
    pub(crate) fn is_located(&self) -> bool {
        self.batch.is_some() || self.residual.is_some()
    }

    /// Returns whether a derivative asks for it: it is saved, or the residual takes it.
    pub(crate) fn is_asked_for(&self, source: Source) -> bool {
        let mut residual = self.residual.iter();
        self.saved.iter().any(|saved| saved.source == source)
            || residual.any(|residual| residual.function.asks_for(Wants::Saved(source)))
    }
}

impl Forward {
    /// Returns the types of all tensors that it takes or returns.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = &TensorType> {
        let inputs = self.inputs.iter().filter_map(|input| input.tensor.as_ref());
        let returned = self
            .returned
            .iter()
            .filter_map(|returned| returned.tensor.as_ref());
        let tensors = inputs.map(|input| &input.ty).chain(returned);
        tensors.listed().into_iter()
    }

    /// Returns whether a parameter of the block is the element type of a tensor.
    pub(crate) fn has_element(&self, param: &Ident) -> bool {
        self.tensors()
            .filter_map(|tensor| tensor.content.element())
            .any(|ty| is_parameter(ty, param))
    }

    /// Returns the element type of an input, if it is a parameter of the block and no other tensor's.
    pub(crate) fn own_element<'a>(&self, input: &'a TensorInput) -> Option<&'a Type> {
        let own = input.ty.content.element().filter(|ty| !is_float(ty))?;
        let elements = self.tensors().filter_map(|tensor| tensor.content.element());
        (elements.filter(|ty| same(ty, own)).count() == 1).then_some(own)
    }

    /// Returns whether a parameter of the block is the rank of a tensor.
    pub(crate) fn has_rank(&self, param: &Ident) -> bool {
        self.tensors()
            .filter_map(|tensor| tensor.content.rank())
            .any(|rank| matches!(rank, Rank::Named(ty) if is_parameter(ty, param)))
    }

    /// Returns whether a value is a number with a derivative, or a list of such, as far as the tokens of its type show.
    pub(crate) fn has_float(&self, ty: &Type) -> bool {
        let is_element = last_segment(ty).is_some_and(|last| self.has_element(&last.ident));
        let mut held = inner_types(ty).into_iter().filter(|_| is_container(ty));
        is_float(ty) || is_element || held.any(|ty| self.has_float(ty))
    }

    /// Returns whether a value holds numbers with derivatives, as far as the tokens of its type show: factors too, `Lu<f64>`.
    pub(crate) fn holds_float(&self, ty: &Type) -> bool {
        let is_marker = last_segment(ty).is_some_and(|last| last.ident == "PhantomData");
        let mut held = inner_types(ty).into_iter().filter(|_| !is_marker);
        self.has_float(ty) || held.any(|ty| self.holds_float(ty))
    }

    /// Returns the differentiable inputs, by their index among themselves.
    pub(crate) fn differentiable(&self) -> Vec<(&Input, &TensorInput)> {
        let tensors = self
            .inputs
            .iter()
            .filter_map(|input| Some((input, input.tensor.as_ref()?)));
        tensors.filter(|(_, tensor)| tensor.edge.is_some()).listed()
    }

    /// Returns the outputs of `apply`.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = &Returned> {
        self.returned
            .iter()
            .filter(|returned| matches!(returned.role, Role::Output { .. }))
            .listed()
            .into_iter()
    }

    /// Returns the inputs that it writes to, as outputs, each with the input.
    pub(crate) fn in_place(&self) -> impl Iterator<Item = (&Returned, &Input)> {
        self.returned
            .iter()
            .filter_map(|returned| match returned.role {
                Role::InPlace { input, .. } => Some((returned, &self.inputs[input])),
                Role::Output { .. } | Role::Intermediate | Role::Unknown { .. } => None,
            })
            .listed()
            .into_iter()
    }

    /// Returns the values that only backward functions see.
    pub(crate) fn intermediates(&self) -> impl Iterator<Item = &Returned> {
        self.returned
            .iter()
            .filter(|returned| returned.role == Role::Intermediate)
            .listed()
            .into_iter()
    }

    /// Returns the intermediates that the residual determines.
    pub(crate) fn unknowns(&self) -> impl Iterator<Item = &Returned> {
        self.returned
            .iter()
            .filter(|returned| matches!(returned.role, Role::Unknown { .. }))
            .listed()
            .into_iter()
    }

    /// Returns the outputs that have a gradient, by their index among themselves.
    pub(crate) fn differentiable_outputs(&self) -> Vec<(&Returned, &TensorType)> {
        let outputs = self
            .returned
            .iter()
            .filter(|returned| returned.has_gradient());
        outputs
            .filter_map(|output| Some((output, output.tensor.as_ref()?)))
            .listed()
    }

    /// Returns what a name means, in the `#[jvp]` rule or in a backward function.
    pub(crate) fn wanted(&self, name: &Ident, in_jvp: bool) -> Option<Wants> {
        let generated = if in_jvp {
            self.differentiable()
                .iter()
                .position(|(input, _)| input.tangent_name() == *name)
                .map(Wants::Tangent)
        } else if name == "needs_input_grad" {
            Some(Wants::NeedsInputGrad)
        } else {
            self.differentiable_outputs()
                .iter()
                .position(|(output, _)| output.gradient_name() == *name)
                .map(Wants::Gradient)
        };
        let input = || self.inputs.iter().position(|input| input.name == *name);
        let returned = || self.returned.iter().position(|one| one.name == *name);
        generated
            .or_else(|| Some(Wants::Saved(Source::Input(input()?))))
            .or_else(|| Some(Wants::Saved(Source::Returned(returned()?))))
            .or_else(|| Some(Wants::Saved(Source::Axis(self.shapes.axis(name)?))))
            .or_else(|| self.shape_named(name).filter(|_| !in_jvp))
            // Last: an input or output may have that name.
            .or_else(|| (!in_jvp && name == "context").then_some(Wants::Context))
    }

    /// Returns the inputs of whose shapes backward functions may ask, by their index. A list has several, and what may be
    /// missing has none.
    fn inputs_with_shapes(&self) -> impl Iterator<Item = (usize, &TensorInput)> {
        let inputs = self.inputs.iter().enumerate();
        let single = inputs.filter_map(|(index, input)| {
            let tensor = input.tensor.as_ref()?;
            (tensor.kind == Kind::Single).then_some((index, tensor))
        });
        single.listed().into_iter()
    }

    fn shape_named(&self, name: &Ident) -> Option<Wants> {
        let mut inputs = self.inputs_with_shapes();
        let (index, _) = inputs.find(|(_, tensor)| tensor.shape.name == *name)?;
        Some(Wants::Saved(Source::Shape(index)))
    }

    /// Returns all names that mean something in a backward function.
    pub(crate) fn known_names(&self) -> Vec<String> {
        let mut names = self.names(false);
        names.extend(self.shape_names());
        names.push("context".to_owned());
        names
    }

    /// Returns the names by which backward functions may ask for the shapes of inputs.
    fn shape_names(&self) -> impl Iterator<Item = String> {
        self.inputs_with_shapes()
            .map(|(_, tensor)| tensor.shape.name.to_string())
    }

    /// Returns the names that a backward function or the `#[jvp]` rule may ask for, as a message lists them: without those of
    /// shapes and `context`, which few ask for.
    pub(crate) fn names(&self, in_jvp: bool) -> Vec<String> {
        let mut names = if in_jvp {
            let inputs = self.differentiable().into_iter();
            inputs
                .map(|(input, _)| input.tangent_name().to_string())
                .listed()
        } else {
            self.gradient_names()
        };
        names.extend(self.inputs.iter().map(|input| input.name.to_string()));
        let returned = self.returned.iter();
        let visible = returned.filter(|one| !in_jvp || one.role != Role::Intermediate);
        names.extend(visible.map(|one| one.name.to_string()));
        names.extend(self.shapes.axes.iter().map(|axis| axis.name.to_string()));
        if !in_jvp {
            names.push("needs_input_grad".to_owned());
        }
        names
    }

    /// Returns the names that an adjoint may ask for.
    pub(crate) fn names_for_adjoint(&self) -> Vec<String> {
        let others = self.inputs.iter();
        let others = others.filter(|input| !input.is_differentiable());
        let axes = self.shapes.axes.iter();
        let mut names = self.gradient_names();
        names.extend(others.map(|input| input.name.to_string()));
        names.extend(axes.map(|axis| axis.name.to_string()));
        names.extend(self.shape_names());
        names
    }

    /// Returns the names of the gradients of its outputs.
    pub(crate) fn gradient_names(&self) -> Vec<String> {
        let outputs = self.differentiable_outputs().into_iter();
        outputs
            .map(|(output, _)| output.gradient_name().to_string())
            .listed()
    }

    /// Returns whether a backward function that covers these inputs is that of one input alone.
    pub(crate) fn is_alone(&self, source: Source, covers: &[usize]) -> bool {
        let Source::Input(index) = source else {
            return false;
        };
        let tensor = self.inputs[index].tensor.as_ref();
        tensor
            .and_then(|tensor| tensor.edge)
            .is_some_and(|edge| covers == [edge])
    }

    /// Returns all that can be saved, in the order inputs, outputs, intermediates, axes, shapes.
    pub(crate) fn sources(&self) -> impl Iterator<Item = Source> {
        let inputs = (0..self.inputs.len()).map(Source::Input);
        let axes = (0..self.shapes.axes.len()).map(Source::Axis);
        let shapes = self.inputs_with_shapes();
        inputs
            .chain((0..self.returned.len()).map(Source::Returned))
            .chain(axes)
            .chain(shapes.map(|(index, _)| Source::Shape(index)))
            .listed()
            .into_iter()
    }

    /// Returns the input, output, intermediate, axis or shape that a source names.
    pub(crate) fn source(&self, source: Source) -> Named<'_> {
        let value = |name, ty| Named {
            name,
            ty,
            tensor: None,
            kind: Kind::Single,
        };
        match source {
            Source::Shape(index) => {
                let Input {
                    name, ty, tensor, ..
                } = &self.inputs[index];
                let shape = tensor.as_ref().map(|tensor| &tensor.shape);
                shape.map_or_else(|| value(name, ty), |shape| value(&shape.name, &shape.ty))
            }
            Source::Input(index) => {
                let input = &self.inputs[index];
                let tensor = input.tensor.as_ref();
                Named {
                    name: &input.name,
                    ty: &input.ty,
                    tensor: tensor.map(|tensor| &tensor.ty),
                    kind: tensor.map_or(Kind::Single, |tensor| tensor.kind),
                }
            }
            Source::Returned(index) => {
                let returned = &self.returned[index];
                Named {
                    name: &returned.name,
                    ty: &returned.ty,
                    tensor: returned.tensor.as_ref(),
                    kind: returned.kind,
                }
            }
            Source::Axis(index) => {
                let axis = &self.shapes.axes[index];
                value(&axis.name, &axis.ty)
            }
        }
    }
}

impl Input {
    /// Returns whether forward writes to it.
    pub(crate) fn is_in_place(&self) -> bool {
        let tensor = self.tensor.as_ref();
        tensor.is_some_and(|tensor| tensor.ty.form == Form::ViewMut)
    }

    /// Returns whether it has a gradient.
    pub(crate) fn is_differentiable(&self) -> bool {
        let tensor = self.tensor.as_ref();
        tensor.is_some_and(|tensor| tensor.edge.is_some())
    }

    /// Returns the name by which a `#[jvp]` rule asks for its tangent.
    pub(crate) fn tangent_name(&self) -> Ident {
        Ident::new(&format!("tangent_{}", self.name.unraw()), self.name.span())
    }
}

impl Returned {
    /// Its place among the differentiable outputs.
    pub(crate) fn gradient(&self) -> Option<usize> {
        match self.role {
            Role::Output { gradient } | Role::InPlace { gradient, .. } => gradient,
            Role::Unknown { gradient } => Some(gradient),
            Role::Intermediate => None,
        }
    }

    /// Returns whether it is a differentiable output.
    pub(crate) fn has_gradient(&self) -> bool {
        self.gradient().is_some()
    }

    /// Returns the name by which backward functions ask for its gradient.
    pub(crate) fn gradient_name(&self) -> Ident {
        let name = self.named_after.as_ref().unwrap_or(&self.name);
        Ident::new(&format!("grad_{}", name.unraw()), name.span())
    }
}

/// An input, an output, an intermediate, an axis or a shape, by its name.
#[derive(Clone, Copy)]
pub(crate) struct Named<'a> {
    pub(crate) name: &'a Ident,
    pub(crate) ty: &'a Type,
    pub(crate) tensor: Option<&'a TensorType>,
    pub(crate) kind: Kind,
}

impl Derivative {
    /// Returns the parameters that ask for this.
    pub(crate) fn requests(&self, wants: Wants) -> impl Iterator<Item = &Parameter> {
        self.parameters
            .iter()
            .filter(|parameter| parameter.wants == wants)
            .listed()
            .into_iter()
    }

    /// Returns whether some parameter asks for this.
    pub(crate) fn asks_for(&self, wants: Wants) -> bool {
        self.requests(wants).next().is_some()
    }

    /// Returns the inputs, outputs, intermediates, axes and shapes that it asks for.
    pub(crate) fn sources(&self) -> impl Iterator<Item = Source> {
        self.parameters
            .iter()
            .filter_map(|parameter| match parameter.wants {
                Wants::Saved(source) => Some(source),
                _ => None,
            })
            .listed()
            .into_iter()
    }

    /// Returns the types of the gradients or tangents within what it returns.
    pub(crate) fn returned_types(&self) -> Vec<&Type> {
        tuple_elements(&self.returns)
    }

    /// Returns whether it works on tensors, so that what it computes can be differentiated again.
    pub(crate) fn is_on_tensors(&self) -> bool {
        if self.once {
            return false;
        }
        let mut forms = self.parameters.iter().filter_map(|asked| asked.form);
        match forms.next() {
            Some(form) => form.is_tensor(),
            None if self.by_name => false,
            None => self
                .returned_types()
                .into_iter()
                .filter_map(|ty| array(within_gradient(ty)))
                .all(|returned| returned.form.is_tensor()),
        }
    }
}

/// Returns the elements of a tuple type, or the type itself.
pub(crate) fn tuple_elements(ty: &Type) -> Vec<&Type> {
    match peel(ty) {
        Type::Tuple(tuple) => tuple.elems.iter().listed(),
        single => vec![single],
    }
}
