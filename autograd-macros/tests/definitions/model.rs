//! A random definition, before it is text.

use super::formula::{Factor, Term};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    /// `f64`
    Double,
    /// `T: Element`
    Generic,
    /// `T: Real`, in an elementwise function, whose values are of `f64`.
    Number,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    Fixed(usize),
    /// `D: Dimension`
    Generic,
    /// `IxDyn`
    Dyn,
}

/// An argument that is not a tensor, and what number it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// A number of the element type.
    Number,
    /// `&[f64]`: their sum.
    Numbers,
    /// `usize`
    Count,
    /// `Option` of a number.
    Maybe,
    /// `&str`: its length.
    Label,
    /// A struct of the caller, by reference: a field of it.
    Settings,
    /// `&Array1<usize>`: their sum.
    Indices,
    /// `F: Fn(f64) -> f64`: what it returns for a number.
    Closure,
    /// `fn(f64) -> f64`, likewise.
    Pointer,
    /// `[f64; N]`: their sum, times `N`.
    Row,
    /// `#[each] name: &[i64]`: an entry for each element, in an elementwise function.
    Entries,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    View,
    Owned,
    TensorRef,
    List,
    InPlace,
    Value(Value),
}

#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is drawn alone")]
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) optional: bool,
    /// `#[non_differentiable]`
    pub(crate) exempt: bool,
    /// `#[tensor]`, with a type of another name.
    pub(crate) alias: bool,
    /// No result depends on it, and its gradient ignores what comes in.
    pub(crate) inert: bool,
}

impl Input {
    pub(crate) fn is_value(&self) -> bool {
        matches!(self.kind, Kind::Value(_))
    }

    pub(crate) fn is_differentiable(&self) -> bool {
        !self.is_value() && !self.exempt
    }

    /// Returns whether it is always there, and one tensor.
    pub(crate) fn is_certain(&self) -> bool {
        !self.is_value() && !self.optional && self.kind != Kind::List
    }
}

/// The container of an output's sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    One,
    /// An `Option`; absent where this input is.
    Maybe(Option<usize>),
    /// A `Vec`: the sum, and half of it.
    List,
}

#[derive(Clone, Debug)]
pub(crate) enum Content {
    Sum {
        terms: Vec<Term>,
        holds: Holds,
        /// Reduced to rank 0: the sum over all elements.
        reduced: bool,
        /// Returned as a `Tensor`.
        tensor: bool,
        /// `non_differentiable(…)`
        exempt: bool,
    },
    /// A `usize`.
    Count,
    /// An `Array1<usize>`.
    Indices,
}

#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub(crate) name: String,
    pub(crate) content: Content,
}

impl Output {
    pub(crate) fn is_exempt(&self) -> bool {
        matches!(self.content, Content::Sum { exempt: true, .. })
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Intermediate {
    Exp(usize),
    Number(f64),
}

#[derive(Clone, Debug)]
pub(crate) struct Save {
    pub(crate) name: String,
    pub(crate) what: Intermediate,
    /// The container of an array.
    pub(crate) holds: Holds,
}

/// A backward function.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a form of its own")]
pub(crate) struct Backward {
    pub(crate) name: String,
    pub(crate) covers: Vec<usize>,
    /// Without a list of inputs.
    pub(crate) plain: bool,
    /// On `&Tensor`.
    pub(crate) tensors: bool,
    /// `once`, perhaps with tensors beside arrays.
    pub(crate) once: bool,
    /// In the generated struct.
    pub(crate) by_name: bool,
}

impl Backward {
    /// Returns whether it may ask for what forward saves, whose derivative would be lost otherwise.
    pub(crate) fn loses_nothing(&self) -> bool {
        !self.tensors || self.once
    }
}

/// A value with a gradient that forward returns or writes.
#[derive(Clone, Debug)]
pub(crate) struct Differentiable {
    /// `grad_y`
    pub(crate) gradient: String,
    pub(crate) terms: Vec<Term>,
    pub(crate) holds: Holds,
    pub(crate) reduced: bool,
}

/// A derivative that is wrong on purpose: the coefficient of a term of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Twin {
    Backward,
    Jvp,
}

#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub(crate) name: String,
    /// A free function, with the gradients in the attribute.
    pub(crate) short: bool,
    pub(crate) element: Element,
    pub(crate) rank: Rank,
    /// The shape of all tensors in the checks.
    pub(crate) shape: Vec<usize>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) named_outputs: bool,
    pub(crate) outputs: Vec<Output>,
    /// The sum that is written to the input in place.
    pub(crate) written: Vec<Term>,
    pub(crate) saves: Vec<Save>,
    pub(crate) fallible: bool,
    pub(crate) backwards: Vec<Backward>,
    /// The `#[jvp]` rule, if there is one: whether it is on tensors.
    pub(crate) jvp: Option<bool>,
    /// The `#[vmap]` function, if there is one: for each input, whether it has an axis for the examples.
    pub(crate) vmap: Option<Vec<bool>>,
    /// `batch(…)`: the inputs with an axis for the examples.
    pub(crate) batch: Vec<usize>,
    pub(crate) twin: Option<Twin>,
}

impl Definition {
    pub(crate) fn in_place(&self) -> Option<usize> {
        self.inputs
            .iter()
            .position(|input| input.kind == Kind::InPlace)
    }

    /// Returns the input that is always there and has the shape of all.
    pub(crate) fn anchor(&self) -> usize {
        let certain = self.inputs.iter().position(Input::is_certain);
        certain.expect("drawn so that one is certain")
    }

    pub(crate) fn differentiable_inputs(&self) -> Vec<usize> {
        let inputs = 0..self.inputs.len();
        inputs
            .filter(|input| self.inputs[*input].is_differentiable())
            .collect()
    }

    pub(crate) fn is_elementwise(&self) -> bool {
        self.element == Element::Number
    }

    /// Returns whether a backward function ignores the gradients that come in.
    pub(crate) fn ignores_grad(&self, backward: &Backward) -> bool {
        backward
            .covers
            .iter()
            .all(|input| self.inputs[*input].inert)
    }

    /// Returns whether there is an argument of this kind.
    pub(crate) fn takes(&self, value: Value) -> bool {
        let mut inputs = self.inputs.iter();
        inputs.any(|input| input.kind == Kind::Value(value))
    }

    /// Returns the differentiable outputs, and then what is written to an input.
    pub(crate) fn differentiable_outputs(&self) -> Vec<Differentiable> {
        let mut found = Vec::new();
        for output in &self.outputs {
            if let Content::Sum {
                terms,
                holds,
                reduced,
                exempt: false,
                ..
            } = &output.content
            {
                found.push(Differentiable {
                    gradient: format!("grad_{}", unraw(&output.name)),
                    terms: terms.clone(),
                    holds: *holds,
                    reduced: *reduced,
                });
            }
        }
        if let Some(input) = self.in_place().filter(|input| !self.inputs[*input].exempt) {
            let name = if found.is_empty() {
                "output"
            } else {
                unraw(&self.inputs[input].name)
            };
            found.push(Differentiable {
                gradient: format!("grad_{name}"),
                terms: self.written.clone(),
                holds: Holds::One,
                reduced: false,
            });
        }
        found
    }

    /// Returns the names of what forward saves or returns as the exponential of an input.
    pub(crate) fn names_of_exp(&self, input: usize) -> Vec<(String, Origin)> {
        let mut names = Vec::new();
        for output in &self.outputs {
            let Content::Sum {
                terms,
                holds: Holds::One,
                reduced: false,
                exempt,
                ..
            } = &output.content
            else {
                continue;
            };
            let origin = if *exempt {
                Origin::Exempt
            } else {
                Origin::Output
            };
            if let [
                Term {
                    coefficient: 1.0,
                    factors,
                },
            ] = &terms[..]
                && factors[..] == [Factor::Exp(input)]
            {
                names.push((output.name.clone(), origin));
            }
        }
        let saves = self.saves.iter();
        let saves = saves.filter(|save| save.what == Intermediate::Exp(input));
        names.extend(saves.map(|save| (save.name.clone(), Origin::Saved)));
        names
    }
}

/// The source of a value that forward computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Output,
    /// An output that is `non_differentiable`.
    Exempt,
    Saved,
}

/// Returns a name without `r#`.
pub(crate) fn unraw(name: &str) -> &str {
    name.strip_prefix("r#").unwrap_or(name)
}
