//! Rules for `gradcheck(…)`: a shape for each tensor, an expression for each value.

use proc_macro2::TokenStream;
use quote::ToTokens as _;
use syn::{
    Expr, ExprArray, ExprLit, ExprMacro, ExprRange, ExprUnary, Ident, Lit, Type, UnOp, parse_quote,
};

use super::arguments;
use super::expressions::{lengths, peel};
use super::options::Names;
use crate::diagnostics::{Diagnostics, count, did_you_mean, list};
use crate::lists::Lists as _;
use crate::model::{
    Concrete, Definition, Draw, Forward, FunctionKind, Gradcheck, Input, Sample, Within,
};
use crate::parse::Argument;
use crate::show::show;
use crate::spell::{has_word, of_rows};
use crate::types::{Content, Kind, Rank, TensorType, is_primitive, last_segment};
use crate::uses;
use by_axis::Lengths;

mod by_axis;
mod examples;

/// The options of `Gradcheck` that a generated test may have, unless an input has their name.
const TOLERANCES: [&str; 3] = ["eps", "atol", "rtol"];

/// The lists of inputs that a generated test may have, unless an input of their name has a value.
const SETS: [&str; 2] = ["estimated", "together"];

/// The largest number of tensors that one check varies, and of outputs that it compares: the runtime has no longer
/// tuples.
const LONGEST: usize = 12;

/// Reads `gradcheck(…)` of a function, which may be linear; `None` if anything is wrong with it.
pub(super) fn read(
    argument: &Argument,
    definition: &Definition,
    (forward, is_linear): (&Forward, bool),
    diagnostics: &mut Diagnostics,
) -> Option<Gradcheck> {
    let mistakes = diagnostics.len();
    if is_linear {
        nothing_is_estimated(argument, definition, diagnostics);
    }
    let mut reader = Reader {
        keyword: &argument.name,
        definition,
        forward,
        given: forward.inputs.iter().map(|_| None).listed(),
        lengths: Lengths::of(forward),
        parameters: Vec::new(),
        tolerances: Vec::new(),
        estimated: None,
        together: Vec::new(),
        diagnostics,
    };
    for entry in reader.entries(argument)? {
        reader.entry(entry);
    }
    if reader.diagnostics.len() == mistakes {
        reader.shapes_from_axes();
        reader.everything_is_given();
    }
    // The rank of what is missing may be that of others.
    if reader.diagnostics.len() == mistakes {
        reader.parameters_are_known();
        reader.constants_are_known();
        reader.it_is_small_enough();
        reader.infer_others();
    }
    let Reader {
        given,
        parameters,
        tolerances,
        estimated,
        together,
        ..
    } = reader;
    (diagnostics.len() == mistakes).then(|| Gradcheck {
        samples: given.into_iter().flatten().listed(),
        parameters,
        tolerances,
        estimated: (0..forward.inputs.len())
            .map(|input| estimated.iter().flatten().any(|one| *one == input))
            .listed(),
        left_out: left_out(forward, together),
    })
}

/// An adjoint is compared with forward, and not with differences.
///
/// ```text
/// #[custom_function(gradcheck(x = [3], estimated(x)))]
/// //                                   ^^^^^^^^^ the adjoint of `Sums` gives its gradients
/// ```
fn nothing_is_estimated(
    argument: &Argument,
    definition: &Definition,
    diagnostics: &mut Diagnostics,
) {
    let entries = argument.list.iter().flatten();
    for entry in entries.filter(|entry| entry.name == "estimated" && entry.value.is_none()) {
        let message = format!(
            "`{}` has an adjoint, so its gradients are not estimated",
            definition.item()
        );
        let help =
            "remove it; a function whose gradients are no derivatives has backward functions";
        diagnostics.error_with_help(&entry.name, &message, help);
    }
}

/// Returns the optional inputs that are left out at once: those that are together, and each other one alone.
fn left_out(forward: &Forward, mut together: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    for (index, input) in forward.inputs.iter().enumerate() {
        if is_an_optional_tensor(input) && !together.iter().flatten().any(|one| *one == index) {
            together.push(vec![index]);
        }
    }
    together
}

fn is_an_optional_tensor(input: &Input) -> bool {
    let tensor = input.tensor.as_ref();
    tensor.is_some_and(|tensor| tensor.kind == Kind::Optional)
}

struct Reader<'a> {
    keyword: &'a Ident,
    definition: &'a Definition,
    forward: &'a Forward,
    given: Vec<Option<Sample>>,
    lengths: Lengths,
    /// The types and ranks of the block's parameters, each with the input that determines it.
    parameters: Vec<(Ident, Concrete)>,
    tolerances: Vec<(Ident, Expr)>,
    /// The inputs in `estimated(…)`.
    estimated: Option<Vec<usize>>,
    /// The inputs in each `together(…)`.
    together: Vec<Vec<usize>>,
    diagnostics: &'a mut Diagnostics,
}

impl Reader<'_> {
    /// `gradcheck` must be a list.
    ///
    /// ```text
    /// #[custom_function(gradcheck)]
    /// //                ^^^^^^^^^ `gradcheck` gives a shape for each tensor
    /// ```
    fn entries<'a>(&mut self, argument: &'a Argument) -> Option<&'a [Argument]> {
        if argument.value.is_none()
            && let Some(list) = &argument.list
        {
            return Some(list);
        }
        let message = "`gradcheck` gives a shape for each tensor and an expression for each value; \
                       write `gradcheck(x = [3, 4], …)`";
        self.diagnostics.error(self.keyword, message);
        None
    }

    /// An entry is an input, or a parameter of the block that the inputs do not determine.
    ///
    /// ```text
    /// #[custom_function(gradcheck(inptu = [3]))]
    /// //                          ^^^^^ forward has no input named `inptu`
    /// #[custom_function(gradcheck(input([3])))]
    /// //                          ^^^^^ `input` has no value
    /// #[custom_function(gradcheck(input = [3], second_order))]
    /// //                                       ^^^^^^^^^^^^ forward has no input named `second_order`
    /// ```
    fn entry(&mut self, entry: &Argument) {
        let name = &entry.name;
        let mut inputs = self.forward.inputs.iter();
        let input = inputs.position(|input| input.name == *name);
        if SETS.iter().any(|set| name == set) && (input.is_none() || entry.value.is_none()) {
            self.set(entry);
            return;
        }
        if let Some(each) = &entry.each {
            self.each(input, each, entry);
            return;
        }
        let (Some(value), None) = (&entry.value, &entry.list) else {
            let is_known = self.is_parameter(name)
                || input.is_some()
                || self.forward.shapes.axis(name).is_some()
                || TOLERANCES.iter().any(|tolerance| name == tolerance);
            if is_known {
                let message = format!("`{name}` has no value; write `{name} = …`");
                self.diagnostics.error(name, message);
            } else {
                self.is_not_an_input(name);
            }
            return;
        };
        if let Some(axis) = self.forward.shapes.axis(name) {
            self.is_not_drawn(name, entry.within.as_ref());
            self.length(axis, name, value);
        } else if let Some(index) = input {
            self.is_given_once(name, self.given[index].is_some());
            self.lengths_agree(index, value);
            let within = entry.within.as_ref();
            self.given[index] = Some(self.given(&self.forward.inputs[index], value, within));
        } else if self.is_parameter(name) {
            let given = self.parameters.iter().any(|(earlier, _)| earlier == name);
            self.is_given_once(name, given);
            self.is_of_its_kind(name, value);
            self.is_not_drawn(name, entry.within.as_ref());
            self.parameters
                .push((name.clone(), Concrete::Given(value.clone())));
        } else if TOLERANCES.iter().any(|tolerance| name == tolerance) {
            let given = self.tolerances.iter().any(|(earlier, _)| earlier == name);
            self.is_given_once(name, given);
            self.is_not_drawn(name, entry.within.as_ref());
            self.tolerances.push((name.clone(), value.clone()));
        } else {
            self.is_not_an_input(name);
        }
    }

    /// `each` gives all variants of a value, in a list.
    ///
    /// ```text
    /// #[custom_function(gradcheck(x = [3], norm = each Norm::Sum))]
    /// //                                          ^^^^ `each` must be followed by a list of the variants of `norm`
    /// #[custom_function(gradcheck(x = each [[3], [4]], norm = Norm::Sum))]
    /// //                              ^^^^ `each` is for values, and `x` is a tensor
    /// ```
    fn each(&mut self, input: Option<usize>, each: &Ident, entry: &Argument) {
        let name = &entry.name;
        let Some(index) = input else {
            if !self.is_parameter(name) && !TOLERANCES.iter().any(|tolerance| name == tolerance) {
                self.is_not_an_input(name);
                return;
            }
            let message = format!("`each` is for values, and `{name}` is not an input");
            let help = format!("write `{name} = …`, and another `gradcheck(…)` for each");
            self.diagnostics.error_with_help(each, &message, &help);
            return;
        };
        self.is_given_once(name, self.given[index].is_some());
        // Whatever is wrong with it, it is given.
        let mut variants = vec![parse_quote!(())];
        if self.forward.inputs[index].tensor.is_some() {
            let message = format!("`each` is for values, and `{name}` is a tensor");
            let help = format!("write `{name} = …`, and another `gradcheck(…)` for each shape");
            self.diagnostics.error_with_help(each, &message, &help);
        } else {
            match entry.value.as_ref().and_then(lengths) {
                Some(list) if !list.elems.is_empty() => {
                    variants = list.elems.iter().cloned().listed();
                    self.is_not_drawn(name, entry.within.as_ref());
                }
                _ => {
                    let message =
                        format!("`each` must be followed by a list of the variants of `{name}`");
                    let help = format!("write `{name} = each […, …]`");
                    self.diagnostics.error_with_help(each, &message, &help);
                }
            }
        }
        self.given[index] = Some(Sample::Value(variants));
    }

    /// `estimated` and `together` name inputs, each once.
    ///
    /// ```text
    /// #[custom_function(gradcheck(x = [3], estimated))]
    /// //                                   ^^^^^^^^^ `estimated` must be a list of names
    /// #[custom_function(gradcheck(x = [3], estimated(y)))]
    /// //                                             ^ forward has no input named `y`
    /// ```
    fn set(&mut self, entry: &Argument) {
        let is_estimated = entry.name == "estimated";
        if is_estimated {
            self.is_given_once(&entry.name, self.estimated.is_some());
        }
        let names = arguments::name_list(entry, self.diagnostics);
        let Names { keyword, names } = match names {
            Some(names) => names,
            None if is_estimated => {
                self.estimated = Some(Vec::new());
                return;
            }
            None => return,
        };
        let mut known = Vec::new();
        for name in &names {
            let mut inputs = self.forward.inputs.iter();
            let Some(index) = inputs.position(|input| input.name == *name) else {
                self.is_not_an_input(name);
                continue;
            };
            let is_fine = if is_estimated {
                self.has_a_gradient(index, name)
            } else {
                self.may_be_missing(index, name)
            };
            if is_fine {
                known.push(index);
            }
        }
        if is_estimated {
            self.estimated = Some(known);
            return;
        }
        if names.len() == 1 && known.len() == 1 {
            let name = &names[0];
            let message = format!("`together` names only `{name}`");
            let help = format!("name all inputs that are missing with it: `together({name}, …)`");
            self.diagnostics.error_with_help(&keyword, &message, &help);
        }
        self.together.push(known);
    }

    /// Only a gradient can be estimated.
    ///
    /// ```text
    /// #[custom_function(gradcheck(x = [3], scale = 2.0, estimated(scale)))]
    /// //                                                          ^^^^^ `scale` is a value and has no gradient
    /// fn forward(x: ArrayView1<f64>, scale: f64) -> Array1<f64>
    /// ```
    fn has_a_gradient(&mut self, index: usize, name: &Ident) -> bool {
        let message = match &self.forward.inputs[index].tensor {
            None => format!("`{name}` is a value and has no gradient"),
            Some(tensor) if tensor.edge.is_none() => {
                format!("`{name}` is `#[non_differentiable]` and has no gradient")
            }
            Some(_) => return true,
        };
        let inputs = self.forward.differentiable().into_iter();
        let names = inputs.map(|(input, _)| input.name.to_string());
        let help = format!("the differentiable inputs: {}", list(names));
        self.diagnostics.error_with_help(name, &message, &help);
        false
    }

    /// Only optional inputs can be missing, each with some others.
    ///
    /// ```text
    /// #[custom_function(gradcheck(x = [3], scale = [3], shift = [3], together(x, scale)))]
    /// //                                                                      ^ `x` is not optional
    /// fn forward(x: ArrayView1<f64>, scale: Option<ArrayView1<f64>>, shift: Option<ArrayView1<f64>>) -> Array1<f64>
    /// ```
    fn may_be_missing(&mut self, index: usize, name: &Ident) -> bool {
        let inputs = &self.forward.inputs;
        if !is_an_optional_tensor(&inputs[index]) {
            let optional = inputs.iter().filter(|input| is_an_optional_tensor(input));
            let optional: Vec<String> = optional.map(|input| input.name.to_string()).listed();
            let message = format!("`{name}` is not an optional tensor, so it is never missing");
            let help = if optional.is_empty() {
                "remove it: forward has no optional tensor".to_owned()
            } else {
                format!("the optional tensors: {}", list(optional))
            };
            self.diagnostics.error_with_help(name, &message, &help);
            return false;
        }
        let is_there = self.together.iter().flatten().any(|one| *one == index);
        if is_there {
            let message = format!("`{name}` is in a `together` already");
            let help = "name all inputs that are missing together in one";
            self.diagnostics.error_with_help(name, &message, help);
        }
        !is_there
    }

    /// An entry cannot be an option of `Gradcheck`: a generated test always has it, or never.
    fn is_not_an_input(&mut self, name: &Ident) {
        let inputs = self.forward.inputs.iter();
        let axes = self.forward.shapes.axes.iter();
        let axes = axes.map(|axis| axis.name.to_string());
        let names: Vec<String> = inputs
            .map(|input| input.name.to_string())
            .chain(axes)
            .listed();
        let no_axis = if self.forward.shapes.axes.is_empty() {
            ""
        } else {
            " and no axis"
        };
        let message = format!("forward has no input{no_axis} named `{name}`");
        let text = name.to_string();
        let suggestion = match &text[..] {
            "second_order" => "the second order is always checked where backward takes tensors; ",
            "thorough" => "the check is always thorough; ",
            "forward_mode" => "forward mode is always checked where there is a `#[jvp]` rule; ",
            "fast" => "a test of your own with `Gradcheck` can set this; ",
            "tol" | "tolerance" | "epsilon" => "its tolerances: `eps`, `atol`, `rtol`; ",
            _ => &did_you_mean(&text, &names),
        };
        let what = if no_axis.is_empty() {
            "its inputs"
        } else {
            "its inputs and axes"
        };
        let help = format!("{suggestion}{what}: {}", list(&names));
        self.diagnostics.error_with_help(name, &message, &help);
    }

    /// Nothing may be given twice.
    ///
    /// ```text
    /// #[custom_function(gradcheck(input = [3], input = [4]))]
    /// //                                       ^^^^^ `input` is given twice
    /// ```
    fn is_given_once(&mut self, name: &Ident, given: bool) {
        if given {
            let message = format!("`{name}` is given twice; write it once");
            self.diagnostics.error(name, message);
        }
    }

    /// A type parameter of the block must be given as a type.
    ///
    /// ```text
    /// #[custom_function(gradcheck(x = [3], D = { Ix1 }))]
    /// //                                       ^^^^^^^ `D` is a type parameter, and this is not a type
    /// ```
    fn is_of_its_kind(&mut self, name: &Ident, value: &Expr) {
        let mut types = self.definition.generics.type_params();
        let is_type = syn::parse2::<Type>(value.to_token_stream()).is_ok();
        if !is_type && types.any(|param| param.ident == *name) {
            let message = format!("`{name}` is a type parameter, and this is not a type");
            let help = format!("write a type without braces: `{name} = Type`");
            self.diagnostics.error_with_help(value, &message, &help);
        }
    }

    /// Reads what is given for an input.
    fn given(&mut self, input: &Input, value: &Expr, within: Option<&Expr>) -> Sample {
        let shape = lengths(value);
        match (&input.tensor, shape) {
            (Some(tensor), Some(list)) if tensor.kind == Kind::List => {
                Sample::List(self.list(input, &tensor.ty, list, within))
            }
            (Some(tensor), shape) => {
                if tensor.kind == Kind::List || (shape.is_none() && is_no_array(value)) {
                    self.is_a_shape(input, value);
                }
                Sample::Tensor(self.draw(input, &tensor.ty, value, within))
            }
            (None, _) => {
                self.is_not_a_shape(input, shape);
                self.is_not_drawn(&input.name, within);
                Sample::Value(vec![value.clone()])
            }
        }
    }

    /// Reads what is given for one tensor: a shape, or an expression that makes it.
    fn draw(
        &mut self,
        input: &Input,
        ty: &TensorType,
        value: &Expr,
        within: Option<&Expr>,
    ) -> Draw {
        let Some(shape) = lengths(value) else {
            self.is_not_made(input, within);
            return Draw::Made(value.clone());
        };
        self.lengths_are_numbers(shape);
        self.has_the_rank(input, ty, shape);
        Draw::Shape(shape.clone(), self.within(input, within))
    }

    /// A tensor that is given by an expression cannot have a range.
    ///
    /// ```text
    /// #[custom_function(gradcheck(x = identity(3) in -1.0..1.0))]
    /// //                                             ^^^^^^^^^ `x` is given by an expression
    /// ```
    fn is_not_made(&mut self, input: &Input, within: Option<&Expr>) {
        if let Some(within) = within {
            let name = &input.name;
            let message = format!("`{name}` is given by an expression, so it cannot have a range");
            let help = format!("write a shape, `{name} = {} in …`", self.example(input));
            self.diagnostics.error_with_help(within, &message, &help);
        }
    }

    /// A range must have two ends, the lower one first.
    ///
    /// ```text
    /// #[custom_function(gradcheck(x = [3] in 2.0))]
    /// //                                     ^^^ the range of `x` must have two ends
    /// #[custom_function(gradcheck(x = [3] in 1.0..-1.0))]
    /// //                                     ^^^^^^^^^ this range is empty
    /// ```
    fn within(&mut self, input: &Input, within: Option<&Expr>) -> Option<Box<Within>> {
        let (name, within) = (&input.name, within?);
        let help = format!(
            "write two numbers: `{name} = {} in -1.0..1.0`",
            self.example(input)
        );
        let Expr::Range(ExprRange {
            start: Some(low),
            end: Some(high),
            ..
        }) = peel(within)
        else {
            let message = format!("the range of `{name}` must have two ends");
            self.diagnostics.error_with_help(within, &message, &help);
            return None;
        };
        self.has_no_axis(low);
        self.has_no_axis(high);
        if let (Some(low), Some(high)) = (literal(low), literal(high))
            && low >= high
        {
            let message = "this range is empty";
            self.diagnostics.error_with_help(within, message, &help);
        }
        let (low, high) = (Expr::clone(low), Expr::clone(high));
        Some(Box::new(Within { low, high }))
    }

    /// The lengths of axes are not known in a range.
    ///
    /// ```text
    /// #[custom_function(shapes(x = [n], output = x), gradcheck(n = 3, x = [3] in 0.0..n as f64))]
    /// //                                                                              ^ `n` is an axis
    /// ```
    fn has_no_axis(&mut self, end: &Expr) {
        let axes = self.forward.shapes.axes.iter();
        let names: Vec<String> = axes.map(|axis| axis.name.to_string()).listed();
        // A capital may be a constant of the module.
        let is_small = |name: &Ident| !name.to_string().starts_with(char::is_uppercase);
        if let Some(axis) = uses::names(end, &names).into_iter().find(is_small) {
            let message = format!("`{axis}` is an axis, whose length is not known here");
            self.diagnostics
                .error_with_help(&axis, &message, "write a number: `in 0.0..3.0`");
        }
    }

    /// A value cannot have a range.
    ///
    /// ```text
    /// #[custom_function(gradcheck(x = [3], factor = 2.5 in 1.0..3.0))]
    /// //                                                   ^^^^^^^^ `factor` is not a tensor
    /// ```
    fn is_not_drawn(&mut self, name: &Ident, within: Option<&Expr>) {
        if let Some(within) = within {
            let message = format!("`{name}` is not a tensor, so it cannot have a range");
            let help = format!("write one expression for it: `{name} = …`");
            self.diagnostics.error_with_help(within, &message, &help);
        }
    }

    /// A list must be given by a list of shapes.
    ///
    /// ```text
    /// #[custom_function(gradcheck(parts = [3]))]
    /// //                                   ^ `parts` is a list of tensors, and this is not a shape
    /// ```
    fn list(
        &mut self,
        input: &Input,
        ty: &TensorType,
        list: &ExprArray,
        within: Option<&Expr>,
    ) -> Vec<Draw> {
        if list.elems.is_empty() {
            let message = format!("a check needs at least one tensor in `{}`", input.name);
            let help = format!(
                "write a shape for each: `{} = {}`",
                input.name,
                self.example(input)
            );
            self.diagnostics.error_with_help(list, &message, &help);
        }
        let mut draws = Vec::new();
        for element in &list.elems {
            if lengths(element).is_some() || !is_no_array(element) {
                // What is wrong with the range is wrong once.
                let within = within.filter(|_| draws.is_empty() || draws_from_range(&draws));
                draws.push(self.draw(input, ty, element, within));
            } else {
                let name = &input.name;
                let message = format!("`{name}` is a list of tensors, and this is not a shape");
                let help = format!("write a shape for each: `{name} = {}`", self.example(input));
                self.diagnostics.error_with_help(element, &message, &help);
            }
        }
        draws
    }

    /// A tensor must be given by its shape, or by an expression that makes it.
    ///
    /// ```text
    /// #[custom_function(gradcheck(input = 2.5))]
    /// //                                  ^^^ `input` is a tensor, and this is not a shape
    /// ```
    fn is_a_shape(&mut self, input: &Input, value: &Expr) {
        let name = &input.name;
        let message = format!("`{name}` is a tensor, and this is not a shape");
        let shape = self.example(input);
        let help = if is_optional(value) {
            format!("write a shape, `{name} = {shape}`: the check runs with it and without it")
        } else {
            format!(
                "write the lengths of its axes, and the range of its elements if it matters: `{name} = {shape}`, \
                 `{name} = {shape} in -1.0..1.0`; or an expression for an array"
            )
        };
        self.diagnostics.error_with_help(value, &message, &help);
    }

    /// A value must be given by an expression, not by a shape.
    ///
    /// ```text
    /// #[custom_function(gradcheck(constant = [3]))]
    /// //                                     ^^^ `constant` is a value of type `f64`, and this is a shape
    /// ```
    fn is_not_a_shape(&mut self, input: &Input, shape: Option<&ExprArray>) {
        // An array is a value too, but no number.
        if let Some(shape) = shape.filter(|_| is_primitive(&input.ty)) {
            let (name, ty) = (&input.name, show(&input.ty));
            let message = format!("`{name}` is a value of type `{ty}`, and this is a shape");
            let help = format!("write an expression of that type: `{name} = …`");
            self.diagnostics.error_with_help(shape, &message, &help);
        }
    }

    /// Lengths must be whole numbers.
    ///
    /// ```text
    /// #[custom_function(gradcheck(input = [3, 2.5]))]
    /// //                                      ^^^ a length must be a whole number
    /// ```
    fn lengths_are_numbers(&mut self, shape: &ExprArray) {
        for length in &shape.elems {
            let is_number = match peel(length) {
                Expr::Lit(ExprLit { lit, .. }) => matches!(lit, Lit::Int(_)),
                Expr::Unary(ExprUnary {
                    op: UnOp::Neg(_), ..
                })
                | Expr::Array(_)
                | Expr::Tuple(_) => false,
                // A constant, or what can be computed from some.
                _ => true,
            };
            if !is_number {
                let message = "a length must be a whole number or an expression of type `usize`";
                self.diagnostics.error(length, message);
            }
        }
    }

    /// A shape must have a length for each axis.
    ///
    /// ```text
    /// #[custom_function(gradcheck(input = [3]))]
    /// //                                  ^^^ `input` has rank 2, but this shape has 1 length
    /// fn forward(input: ArrayView2<f32>) -> Array2<f32>
    /// ```
    fn has_the_rank(&mut self, input: &Input, ty: &TensorType, shape: &ExprArray) {
        let (name, found) = (&input.name, shape.elems.len());
        let plural = if found == 1 { "" } else { "s" };
        let has = format!("{found} length{plural}");
        match ty.content.rank() {
            Some(Rank::Fixed(rank)) if usize::from(*rank) != found => {
                let message = format!("`{name}` has rank {rank}, but this shape has {has}");
                let help = format!(
                    "write a length for each axis: `{name} = {}`",
                    self.example(input)
                );
                self.diagnostics.error_with_help(shape, &message, &help);
            }
            Some(Rank::Named(dimension)) => self.has_a_rank(name, dimension, shape, &has),
            _ => {}
        }
        self.has_its_row(name, shape);
    }

    /// A rank that is a parameter of the block must be the same wherever it is.
    fn has_a_rank(&mut self, name: &Ident, dimension: &Type, shape: &ExprArray, has: &str) {
        let found = shape.elems.len();
        let Some((parameter, more)) = self.rank_of(dimension) else {
            return;
        };
        // Tensors with rows have an axis more than those with numbers.
        let is_scan = self
            .definition
            .kind
            .elementwise()
            .is_some_and(|formula| formula.scan.is_some());
        let its_rank = match (more, is_scan) {
            (0, false) => "the rank of all tensors",
            (0, true) => "the rank of the states",
            (_, false) => "an axis for its rows after those of numbers",
            (1, true) => "an axis of steps before those of the states, or one of rows after them",
            (_, true) => "an axis of steps and one of rows more than the states",
        };
        let known = self
            .parameters
            .iter()
            .find(|(known, _)| *known == parameter);
        match known {
            Some((_, Concrete::Rank(rank))) if *rank + more != found => {
                let rank_of_it = match self.definition.kind {
                    // The rank has no name that is the author's.
                    FunctionKind::Elementwise(..) => its_rank.to_owned(),
                    FunctionKind::Block | FunctionKind::Short(_) => {
                        format!("rank `{parameter}`")
                    }
                };
                let needed = match more {
                    0 => String::new(),
                    _ => format!(": it needs {} lengths", rank + more),
                };
                let message = format!(
                    "`{name}` has {rank_of_it}, for which {} given before{needed}, but this shape has {has}",
                    count(*rank, "length")
                );
                self.diagnostics.error(shape, message);
            }
            None if found >= more => {
                self.parameters
                    .push((parameter, Concrete::Rank(found - more)));
            }
            Some(_) | None => {}
        }
    }

    /// The last length of a tensor with rows must be theirs.
    ///
    /// ```text
    /// #[custom_function(elementwise, gradcheck(w = [4, 2]))]
    /// //                                              ^ `w` has rows of length 3, but this is 2
    /// fn norm<T: Real>(w: [T; 3]) -> T
    /// ```
    fn has_its_row(&mut self, name: &Ident, shape: &ExprArray) {
        let elementwise = self.definition.kind.elementwise();
        let Some(row) = elementwise.and_then(|elementwise| elementwise.row(name)) else {
            return;
        };
        let Some(last) = shape.elems.last() else {
            let message = format!("`{name}` has rows, but this shape has no length");
            let length = row.length().map_or_else(|| "3".to_owned(), show);
            let help = format!("write their length last: `{name} = [2, {length}]`");
            self.diagnostics.error_with_help(shape, &message, &help);
            return;
        };
        if let (Some(found), Some(length)) = (literal(last), row.length().and_then(literal))
            && found.to_bits() != length.to_bits()
        {
            let message = format!("`{name}` has rows of length {length}, but this is {found}");
            let help = format!("write their length last: `{name} = [2, {length}]`");
            self.diagnostics.error_with_help(last, &message, &help);
        }
    }

    /// Every input must be given.
    ///
    /// ```text
    /// #[custom_function(gradcheck(input = [3, 4]))]
    /// //                ^^^^^^^^^ `gradcheck` has no argument for `weight`
    /// fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32>
    /// ```
    fn everything_is_given(&mut self) {
        let inputs = self.forward.inputs.iter().zip(&self.given);
        let missing: Vec<&Input> = inputs
            .filter(|(_, given)| given.is_none())
            .map(|(input, _)| input)
            .listed();
        if missing.is_empty() {
            return;
        }
        let names = missing.iter().map(|input| input.name.to_string());
        let message = format!("`gradcheck` has no argument for {}", list(names));
        let write = |input: &&Input| match &input.tensor {
            Some(_) => format!("{} = {}", input.name, self.example(input)),
            None => format!("{} = …", input.name),
        };
        let help = format!("add {}", list(missing.iter().map(write)));
        self.diagnostics
            .error_with_help(self.keyword, &message, &help);
    }

    /// Element types become `f64`; ranks follow from shapes, or are given.
    ///
    /// ```text
    /// #[custom_function(gradcheck(x = [2], shape = &[3, 2]))]
    /// //                ^^^^^^^^^ the rank `E` does not follow from the inputs
    /// impl<T: Element, D: Dimension, E: Dimension> BroadcastTo<T, D, E>
    /// ```
    fn parameters_are_known(&mut self) {
        let forward = self.forward;
        for tensor in forward.tensors() {
            let Content::Known { element, rank } = &tensor.content else {
                continue;
            };
            if let Some(element) = self.parameter(element) {
                self.becomes(element, Concrete::Double);
            }
            let Rank::Named(dimension) = rank else {
                continue;
            };
            let Some((dimension, _)) = self.rank_of(dimension) else {
                continue;
            };
            if !self.parameters.iter().any(|(known, _)| *known == dimension) {
                let message = format!("the rank `{dimension}` does not follow from the inputs");
                let help = format!("add it to the shapes: `{dimension} = Ix2`");
                self.diagnostics
                    .error_with_help(self.keyword, &message, &help);
                // Once is enough.
                self.becomes(dimension, Concrete::Rank(0));
            }
        }
    }

    /// A constant of the block that no type has must be given.
    ///
    /// ```text
    /// #[custom_function(grad(x) = &grad_output * N as f64, gradcheck(x = [3]))]
    /// //                                                   ^^^^^^^^^ the number `N` does not follow from the inputs
    /// fn scaled<const N: usize>(x: ArrayView1<f64>) -> Array1<f64>
    /// ```
    fn constants_are_known(&mut self) {
        let generics = &self.definition.generics;
        let types = self.forward.inputs.iter();
        let types = types.map(|input| input.ty.to_token_stream());
        let bounds = generics.type_params();
        let bounds = bounds.map(|param| param.bounds.to_token_stream());
        let clause = generics.where_clause.to_token_stream();
        let tokens: Vec<TokenStream> = types.chain(bounds).chain([clause]).listed();
        for constant in generics.const_params().map(|param| &param.ident) {
            let is_given = self.parameters.iter().any(|(known, _)| known == constant);
            if !is_given
                && !tokens
                    .iter()
                    .any(|tokens| has_word(tokens.clone(), constant))
            {
                let message = format!("the number `{constant}` does not follow from the inputs");
                let help = format!("add it to the shapes: `{constant} = 2`");
                self.diagnostics
                    .error_with_help(self.keyword, &message, &help);
            }
        }
    }

    /// A check takes only so many inputs and outputs.
    ///
    /// ```text
    /// #[custom_function(gradcheck(a = [2], b = [2], …))]
    /// //                ^^^^^^^^^ a generated check takes up to 12 differentiable inputs, and there are 13
    /// ```
    fn it_is_small_enough(&mut self) {
        let inputs = self.forward.inputs.iter().zip(&self.given);
        let tensors = inputs.filter_map(|(input, given)| {
            let _ = input.tensor.as_ref()?.edge?;
            Some(given.as_ref()?.tensors().len())
        });
        let inputs = tensors.sum();
        let outputs = self.forward.differentiable_outputs().len();
        for (things, number) in [("inputs", inputs), ("outputs", outputs)] {
            if number > LONGEST {
                let message = format!(
                    "a generated check takes up to {LONGEST} differentiable {things}, and there are \
                     {number}"
                );
                self.diagnostics.error(self.keyword, message);
            }
        }
    }

    /// Leaves the other parameters to the compiler.
    fn infer_others(&mut self) {
        for name in names(self.definition) {
            self.becomes(name.clone(), Concrete::Inferred);
        }
    }

    fn becomes(&mut self, parameter: Ident, concrete: Concrete) {
        if !self.parameters.iter().any(|(known, _)| *known == parameter) {
            self.parameters.push((parameter, concrete));
        }
    }

    fn is_parameter(&self, name: &Ident) -> bool {
        names(self.definition).any(|param| param == name)
    }

    /// Returns the block's parameter that a rank is, and how many axes it has more.
    fn rank_of(&self, rank: &Type) -> Option<(Ident, usize)> {
        match of_rows(rank) {
            Some((parameter, others)) => {
                let more = others.iter().filter(|other| **other == "Larger").count();
                let is_known = self.is_parameter(parameter);
                is_known.then(|| (parameter.clone(), more))
            }
            None => Some((self.parameter(rank)?, 0)),
        }
    }

    /// Returns the block's parameter that a type is, if it is one.
    fn parameter(&self, ty: &Type) -> Option<Ident> {
        let segment = last_segment(ty)?;
        (segment.ident == show(ty) && self.is_parameter(&segment.ident))
            .then(|| segment.ident.clone())
    }
}

/// Returns the block's parameters, without lifetimes.
fn names(definition: &Definition) -> impl Iterator<Item = &Ident> {
    let generics = &definition.generics;
    let constants = generics.const_params().map(|param| &param.ident);
    generics
        .type_params()
        .map(|param| &param.ident)
        .chain(constants)
}

/// Returns a number that is written out.
fn literal(expression: &Expr) -> Option<f64> {
    match peel(expression) {
        Expr::Lit(ExprLit {
            lit: Lit::Float(number),
            ..
        }) => number.base10_parse().ok(),
        Expr::Lit(ExprLit {
            lit: Lit::Int(number),
            ..
        }) => number.base10_parse().ok(),
        Expr::Unary(ExprUnary {
            op: UnOp::Neg(_),
            expr,
            ..
        }) => Some(-literal(expr)?),
        _ => None,
    }
}

/// Returns whether an expression is `None` or `Some(…)`.
fn is_optional(expression: &Expr) -> bool {
    let function = match peel(expression) {
        Expr::Call(call) => peel(&call.func),
        expression => expression,
    };
    matches!(function, Expr::Path(path) if ["None", "Some"].iter().any(|name| path.path.is_ident(name)))
}

/// Returns whether an expression is certainly no array.
fn is_no_array(expression: &Expr) -> bool {
    let expression = peel(expression);
    let is_vec = |made: &ExprMacro| made.mac.path.is_ident("vec");
    literal(expression).is_some()
        || is_optional(expression)
        || matches!(expression, Expr::Macro(made) if is_vec(made))
        || matches!(
            expression,
            Expr::Lit(_) | Expr::Range(_) | Expr::Tuple(_) | Expr::Closure(_)
        )
}

/// Returns whether the range has been read without a mistake.
fn draws_from_range(draws: &[Draw]) -> bool {
    draws
        .iter()
        .any(|draw| matches!(draw, Draw::Shape(_, Some(_))))
}
