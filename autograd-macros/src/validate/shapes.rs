//! Rules for `shapes(…)`: the axes of tensors, by their names.

use quote::ToTokens;
use syn::ext::IdentExt as _;
use syn::{BinOp, Expr, ExprArray, ExprLit, Ident, Lit, UnOp, parse_quote};

use super::expressions::{lengths, peel};
use super::parameters;
use crate::diagnostics::{Diagnostics, did_you_mean, list};
use crate::lists::Lists as _;
use crate::model::{
    Axis, Computed, Declared, Definition, Forward, FunctionKind, Input, Length, Returned, Role,
    Shape, Shapes,
};
use crate::parse::{Argument, ImplBlock};
use crate::show::show;
use crate::types::{Kind, Rank, TensorType, is_float};
use crate::uses;

/// Reads the declared shapes. What is wrong is left out, so that backward functions can ask for axes in spite of it.
pub(super) fn read(
    argument: &Argument,
    block: &ImplBlock,
    definition: &Definition,
    forward: &Forward,
    diagnostics: &mut Diagnostics,
) -> Shapes {
    let mut reader = Reader {
        definition,
        forward,
        shapes: Shapes {
            axes: Vec::new(),
            inputs: forward.inputs.iter().map(|_| None).listed(),
            returned: forward.returned.iter().map(|_| None).listed(),
        },
        diagnostics,
    };
    let mistakes = reader.diagnostics.len();
    let Some(entries) = reader.entries(argument) else {
        return Shapes::default();
    };
    let is_taken = reader.is_written(block);
    // Inputs first: they bind the axes.
    let is_input = |entry: &&Argument| {
        let mut inputs = forward.inputs.iter();
        inputs.any(|input| input.name == entry.name)
    };
    let (inputs, others): (Vec<_>, Vec<_>) = entries.iter().partition(is_input);
    reader.bind(&inputs);
    for entry in inputs {
        reader.input(entry);
    }
    // An axis that is wrong there would be unknown here.
    if reader.diagnostics.len() == mistakes {
        for entry in others {
            reader.returned(entry);
        }
    }
    if reader.diagnostics.len() == mistakes {
        reader.every_output_has_one(&argument.name);
        reader.are_few(&argument.name);
    }
    if is_taken {
        reader.shapes.inputs.clear();
        reader.shapes.returned.clear();
    }
    reader.shapes
}

struct Reader<'a> {
    definition: &'a Definition,
    forward: &'a Forward,
    shapes: Shapes,
    diagnostics: &'a mut Diagnostics,
}

impl Reader<'_> {
    /// `shapes` must be a list, and is not for elementwise functions.
    ///
    /// ```text
    /// #[custom_function(shapes)]
    /// //                ^^^^^^ `shapes` names the axes of tensors
    /// #[custom_function(elementwise, shapes(x = [n]))]
    /// //                             ^^^^^^ an elementwise function has the shape that its tensors broadcast to
    /// ```
    fn entries<'b>(&mut self, argument: &'b Argument) -> Option<&'b [Argument]> {
        if let FunctionKind::Elementwise(_, formula) = &self.definition.kind {
            let message = if formula.pairs.is_some() {
                "a function of pairs knows the shapes of its tensors"
            } else if formula.scan.is_some() {
                "a scan has the shapes that its tensors broadcast to"
            } else {
                "an elementwise function has the shape that its tensors broadcast to"
            };
            self.diagnostics
                .error_with_help(&argument.name, message, "remove `shapes`");
            return None;
        }
        match (&argument.list, &argument.value) {
            (Some(list), None) if !list.is_empty() => Some(list),
            _ => {
                let message =
                    "`shapes` names the axes of tensors; write `shapes(x = [n, 3], output = [n])`";
                self.diagnostics.error(&argument.name, message);
                None
            }
        }
    }

    /// `output_shape` must not be written by hand.
    ///
    /// ```text
    /// #[custom_function(shapes(x = [n], output = [n]))]
    /// impl Scale { pub fn output_shape(x: usize) -> usize { … } … }
    /// //                  ^^^^^^^^^^^^ `output_shape` is generated
    /// ```
    fn is_written(&mut self, block: &ImplBlock) -> bool {
        let mut methods = block.methods.iter();
        let written = methods.find(|method| method.sig.ident == "output_shape");
        if let Some(method) = written {
            let message =
                "`output_shape` is generated from `shapes`; give this function another name";
            self.diagnostics.error(&method.sig.ident, message);
        }
        written.is_some()
    }

    /// Finds the names that stand alone in the shape of an input.
    fn bind(&mut self, inputs: &[&Argument]) {
        for entry in inputs {
            let Some((_, input)) = self.input_of(&entry.name) else {
                continue;
            };
            let Some(tensor) = &input.tensor else {
                continue;
            };
            let is_there = tensor.kind == Kind::Single;
            let Some(shape) = entry.value.as_ref().and_then(lengths) else {
                continue;
            };
            let shape = match shape.elems.first() {
                Some(first) if tensor.kind == Kind::List => lengths(first).unwrap_or(shape),
                _ => shape,
            };
            let names: Vec<Ident> = (shape.elems.iter())
                .filter_map(|one| self.name(one).cloned())
                .listed();
            for name in names {
                if let Some(axis) = self.shapes.axis(&name) {
                    self.shapes.axes[axis].is_bound |= is_there;
                } else if self.is_free(&name) {
                    self.shapes.axes.push(Axis {
                        name,
                        ty: parse_quote!(usize),
                        is_bound: is_there,
                    });
                }
            }
        }
    }

    /// The name of an axis must mean nothing else.
    ///
    /// ```text
    /// #[custom_function(shapes(x = [n, factor], output = [n]))]
    /// //                               ^^^^^^ `factor` is an input, so an axis cannot have that name
    /// fn forward(x: ArrayView2<f64>, factor: usize) -> Array1<f64>
    /// ```
    fn is_free(&mut self, name: &Ident) -> bool {
        let forward = self.forward;
        let text = name.to_string();
        let is_tangent = forward
            .differentiable()
            .iter()
            .any(|(input, _)| input.tangent_name() == *name);
        let is = if forward.inputs.iter().any(|input| input.name == *name) {
            "an input"
        } else if forward.returned.iter().any(|one| one.name == *name) {
            "something that forward returns"
        } else if forward.gradient_names().contains(&text) {
            "a gradient"
        } else if is_tangent {
            "a tangent"
        } else if ["needs_input_grad", "context"].contains(&&*text) {
            "generated"
        } else {
            return true;
        };
        let message = format!("`{name}` is {is}, so an axis cannot have that name");
        let help = format!(
            "give the axis another name, or write `_` for any length{}",
            if is == "an input" {
                format!("; an expression, as `1 * {name}`, is a length that is compared")
            } else {
                String::new()
            }
        );
        self.diagnostics.error_with_help(name, &message, &help);
        false
    }

    /// Returns the name that an axis has in a list of lengths; a constant is none.
    fn name<'b>(&self, length: &'b Expr) -> Option<&'b Ident> {
        let Expr::Path(path) = peel(length) else {
            return None;
        };
        let name = path.path.get_ident().filter(|_| path.qself.is_none())?;
        let is_constant = name.to_string().starts_with(char::is_uppercase)
            || self
                .definition
                .generics
                .const_params()
                .any(|param| param.ident == *name);
        (!is_constant).then_some(name)
    }

    fn input_of(&self, name: &Ident) -> Option<(usize, &Input)> {
        let mut inputs = self.forward.inputs.iter().enumerate();
        inputs.find(|(_, input)| input.name == *name)
    }

    /// Reads the shape of an input, which must be a tensor.
    ///
    /// ```text
    /// #[custom_function(shapes(x = [n], factor = [n], output = [n]))]
    /// //                                ^^^^^^ `factor` is a value and has no shape
    /// ```
    fn input(&mut self, entry: &Argument) {
        let name = &entry.name;
        let forward = self.forward;
        let mut inputs = forward.inputs.iter().enumerate();
        let Some((index, input)) = inputs.find(|(_, input)| input.name == *name) else {
            return;
        };
        let Some(tensor) = &input.tensor else {
            let message = format!("`{name}` is a value and has no shape");
            let help = format!("remove it: the shape of an output can compute with `{name}`");
            self.diagnostics.error_with_help(name, &message, &help);
            return;
        };
        self.is_given_once(name, self.shapes.inputs[index].is_some());
        let of = Of {
            name,
            ty: &tensor.ty,
            kind: tensor.kind,
            is_input: true,
        };
        let declared = self
            .value(entry)
            .and_then(|value| self.declared(&of, value));
        self.shapes.inputs[index] = declared;
    }

    /// Reads the shape of something that forward returns.
    ///
    /// ```text
    /// #[custom_function(shapes(x = [n], outptu = [n]))]
    /// //                                ^^^^^^ no input, output or saved value is named `outptu`
    /// ```
    fn returned(&mut self, entry: &Argument) {
        let name = &entry.name;
        let forward = self.forward;
        let mut returned = forward.returned.iter().enumerate();
        let Some((index, one)) = returned.find(|(_, one)| one.name == *name) else {
            let tensors = forward.inputs.iter().filter(|input| input.tensor.is_some());
            let tensors = tensors.map(|input| input.name.to_string());
            let returned = forward.returned.iter().filter(|one| has_shape(one));
            let returned = returned.map(|one| one.name.to_string());
            let names: Vec<String> = tensors.chain(returned).listed();
            let message = format!("no input, output or saved value is named `{name}`");
            let suggestion = did_you_mean(&name.to_string(), &names);
            let help = format!("{suggestion}its tensors: {}", list(&names));
            self.diagnostics.error_with_help(name, &message, &help);
            return;
        };
        let Some(ty) = &one.tensor else {
            let message = format!("`{name}` is not an array of floats, and has no declared shape");
            let help = match parameters::as_array(&one.ty) {
                Some(array) => format!("return it as `{array}`, or remove it here"),
                None => "remove it".to_owned(),
            };
            self.diagnostics.error_with_help(name, &message, &help);
            return;
        };
        if let Role::InPlace { input, .. } = one.role {
            let input = &forward.inputs[input].name;
            let message = format!("`{name}` has the shape of `{input}`, which forward writes to");
            self.diagnostics
                .error_with_help(name, &message, "remove it");
            return;
        }
        self.is_given_once(name, self.shapes.returned[index].is_some());
        let Some(value) = self.value(entry) else {
            return;
        };
        let shape = if let Some(like) = self.name(value) {
            self.like(like)
        } else {
            let of = Of {
                name,
                ty,
                kind: one.kind,
                is_input: false,
            };
            self.declared(&of, value).map(Shape::Written)
        };
        self.shapes.returned[index] = shape;
    }

    /// Nothing may be given twice.
    fn is_given_once(&mut self, name: &Ident, given: bool) {
        if given {
            let message = format!("`{name}` is given twice; write it once");
            self.diagnostics.error(name, message);
        }
    }

    /// A name must have a shape.
    ///
    /// ```text
    /// #[custom_function(shapes(x, output = [n]))]
    /// //                       ^ `x` has no shape
    /// ```
    fn value<'b>(&mut self, entry: &'b Argument) -> Option<&'b Expr> {
        let name = &entry.name;
        if let (Some(value), None) = (&entry.value, &entry.list) {
            return Some(value);
        }
        let message =
            format!("`{name}` has no shape; write `{name} = […]`, with a name for each axis");
        self.diagnostics.error(name, message);
        None
    }

    /// `output = x` names an input that is always there.
    ///
    /// ```text
    /// #[custom_function(shapes(x = [n], output = y))]
    /// //                                         ^ forward has no input named `y`
    /// ```
    fn like(&mut self, like: &Ident) -> Option<Shape> {
        let forward = self.forward;
        let tensors = forward.inputs.iter().enumerate();
        let mut tensors =
            tensors.filter_map(|(index, input)| Some((index, input, input.tensor.as_ref()?)));
        let found = tensors.clone().find(|(_, input, _)| input.name == *like);
        let message = match found {
            Some((index, _, tensor)) if tensor.kind == Kind::Single => {
                return Some(Shape::Like(index, like.clone()));
            }
            Some((_, _, tensor)) if tensor.kind == Kind::List => {
                format!("`{like}` is a list, which has no shape of its own")
            }
            Some(_) => format!("`{like}` may be missing, and then has no shape"),
            None if forward.inputs.iter().any(|input| input.name == *like) => {
                format!("`{like}` is a value and has no shape")
            }
            None => format!("forward has no input named `{like}`"),
        };
        let names: Vec<String> = tensors
            .by_ref()
            .filter(|(_, _, tensor)| tensor.kind == Kind::Single)
            .map(|(_, input, _)| input.name.to_string())
            .listed();
        let suggestion = did_you_mean(&like.to_string(), &names);
        let help = format!(
            "{suggestion}write a list, `[n, 3]`, or one of {}",
            list(&names)
        );
        self.diagnostics.error_with_help(like, &message, &help);
        None
    }

    /// A shape must be a list of lengths; that of a list of tensors, a list of one such list.
    ///
    /// ```text
    /// #[custom_function(shapes(x = n, output = [n]))]
    /// //                           ^ the shape of `x` must be a list of lengths
    /// #[custom_function(shapes(parts = [n], output = [n]))]
    /// //                               ^^^ `parts` is a list of tensors
    /// ```
    fn declared(&mut self, of: &Of<'_>, value: &Expr) -> Option<Declared> {
        let name = of.name;
        let Some(shape) = lengths(value) else {
            let message = format!("the shape of `{name}` must be a list of lengths");
            let help = format!("write `{name} = {}`", of.example());
            self.diagnostics.error_with_help(value, &message, &help);
            return None;
        };
        if of.kind == Kind::List {
            let (Some(inner), 1) = (shape.elems.first().and_then(lengths), shape.elems.len())
            else {
                let message = format!("`{name}` is a list of tensors");
                let help = format!(
                    "write the shape of each in a list: `{name} = {}`",
                    of.example()
                );
                self.diagnostics.error_with_help(value, &message, &help);
                return None;
            };
            let declared = self.list(of, inner)?;
            return Some(Declared {
                text: format!("[{}]", declared.text),
                ..declared
            });
        }
        self.list(of, shape)
    }

    fn list(&mut self, of: &Of<'_>, shape: &ExprArray) -> Option<Declared> {
        let mistakes = self.diagnostics.len();
        let mut declared = Declared {
            leading: false,
            lengths: Vec::new(),
            text: String::new(),
        };
        let mut texts = Vec::new();
        for (place, length) in shape.elems.iter().enumerate() {
            if is_leading(length) {
                self.is_first(length, place);
                declared.leading = true;
                texts.push("..".to_owned());
                continue;
            }
            texts.push(text(length));
            if let Some(length) = self.length(of, length) {
                declared.lengths.push(length);
            }
        }
        declared.text = format!("[{}]", texts.join(", "));
        let read = declared.lengths.len() + usize::from(declared.leading);
        if self.diagnostics.len() > mistakes || read < shape.elems.len() {
            return None;
        }
        self.has_the_rank(of, &declared, shape);
        self.leading_axes_are_bound(of, &declared, shape);
        Some(declared)
    }

    /// Leading axes come first.
    ///
    /// ```text
    /// #[custom_function(shapes(x = [n, ..], output = [n]))]
    /// //                               ^^ `..` stands for the leading axes
    /// ```
    fn is_first(&mut self, length: &Expr, place: usize) {
        if place > 0 {
            let message = "`..` stands for the leading axes, and comes first";
            self.diagnostics
                .error_with_help(length, message, "write `[.., n]`");
        }
    }

    /// Some input has leading axes, if an output does.
    ///
    /// ```text
    /// #[custom_function(shapes(x = [n], output = [.., n]))]
    /// //                                         ^^^^^^^ no input has leading axes
    /// ```
    fn leading_axes_are_bound(&mut self, of: &Of<'_>, declared: &Declared, shape: &ExprArray) {
        let inputs = self.shapes.inputs.iter().zip(&self.forward.inputs);
        let mut bound = inputs.filter(|(declared, input)| {
            let is_there = |input: &Input| {
                let tensor = input.tensor.as_ref();
                tensor.is_some_and(|tensor| tensor.kind == Kind::Single)
            };
            declared.as_ref().is_some_and(|declared| declared.leading) && is_there(input)
        });
        if declared.leading && !of.is_input && bound.next().is_none() {
            let message = "no input that is always there has leading axes, so those of an output are not known";
            self.diagnostics
                .error_with_help(shape, message, "write `[.., n]` for an input too");
        }
    }

    /// Reads one length.
    fn length(&mut self, of: &Of<'_>, length: &Expr) -> Option<Length> {
        match peel(length) {
            Expr::Infer(_) => {
                self.may_be_any(of, length);
                return Some(Length::Any);
            }
            Expr::Lit(ExprLit {
                lit: Lit::Int(number),
                ..
            }) => return Some(Length::Number(number.clone())),
            _ => {}
        }
        let axis = self.name(length).and_then(|name| self.shapes.axis(name));
        if let Some(axis) = axis {
            let name = &self.shapes.axes[axis].name;
            if !of.is_input && !self.shapes.axes[axis].is_bound {
                let name = name.clone();
                self.may_be_missing(&name, length);
            }
            return Some(Length::Axis(axis));
        }
        if of.is_input && self.name(length).is_some() {
            // It has another meaning, which has been reported.
            return None;
        }
        self.is_a_number(length)?;
        let names = self.names(of, length)?;
        Some(Length::Computed(Box::new(Computed {
            expression: length.clone(),
            text: text(length),
            names,
        })))
    }

    /// The length of an axis of an output is known before forward runs, so that `output_shape` can tell it.
    fn may_be_any(&mut self, of: &Of<'_>, length: &Expr) {
        let mut outputs = self.forward.outputs();
        if outputs.any(|output| output.name == *of.name) {
            let message = format!(
                "the lengths of `{}` must be known before forward runs",
                of.name
            );
            let help = "write an axis, a number, or an expression of axes and values; without `shapes`, an output may \
                        have any shape";
            self.diagnostics.error_with_help(length, &message, help);
        }
    }

    /// An axis that only optional inputs or lists have may have no length.
    ///
    /// ```text
    /// #[custom_function(shapes(x = [n], bias = [o], output = [n, o]))]
    /// //                                                         ^ only optional inputs or lists have the axis `o`
    /// fn forward(x: ArrayView1<f64>, bias: Option<ArrayView1<f64>>) -> Array2<f64>
    /// ```
    fn may_be_missing(&mut self, name: &Ident, on: &impl ToTokens) {
        let message = format!("only optional inputs or lists have the axis `{name}`");
        let help = "an input may be missing and a list empty: the shape of an output is computed from axes that every \
                    call has, and from values; without `shapes`, an output may have any shape";
        self.diagnostics.error_with_help(on, &message, help);
    }

    /// A length must be a whole number.
    ///
    /// ```text
    /// #[custom_function(shapes(x = [n], output = [0.5 * n]))]
    /// //                                          ^^^ a length is computed with whole numbers
    /// #[custom_function(shapes(x = [n], output = [-1]))]
    /// //                                          ^^ a length cannot be negative
    /// ```
    fn is_a_number(&mut self, length: &Expr) -> Option<()> {
        match peel(length) {
            Expr::Binary(binary) => {
                if !matches!(
                    binary.op,
                    BinOp::Add(_) | BinOp::Sub(_) | BinOp::Mul(_) | BinOp::Div(_) | BinOp::Rem(_)
                ) {
                    let message = "a length is computed with `+`, `-`, `*`, `/` and `%`";
                    let help = "a method or a function may compute another: `2_usize.pow(levels)`, `half(n)`";
                    self.diagnostics.error_with_help(&binary.op, message, help);
                    return None;
                }
                self.is_a_number(&binary.left)?;
                self.is_a_number(&binary.right)
            }
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => self.is_a_number(&unary.expr),
            Expr::Lit(ExprLit {
                lit: Lit::Int(_), ..
            }) => Some(()),
            Expr::Lit(_) | Expr::Array(_) | Expr::Tuple(_) | Expr::Range(_) | Expr::Closure(_) => {
                let message = "a length is computed with whole numbers, axes and values";
                self.diagnostics.error(length, message);
                None
            }
            _ => Some(()),
        }
    }

    /// The names in an expression must be axes or values.
    ///
    /// ```text
    /// #[custom_function(shapes(x = [n], output = [m]))]
    /// //                                          ^ no input has an axis named `m`
    /// #[custom_function(shapes(x = [2 * n], output = [n]))]
    /// //                            ^ the axis `n` is bound only by an expression
    /// ```
    fn names(&mut self, of: &Of<'_>, expression: &Expr) -> Option<Vec<Ident>> {
        let axes = self.shapes.axes.iter();
        let axes: Vec<String> = axes.map(|axis| axis.name.to_string()).listed();
        let inputs = self.forward.inputs.iter();
        let inputs: Vec<String> = inputs.map(|input| input.name.to_string()).listed();
        let known = [&axes[..], &inputs[..]].concat();
        if let Some(stranger) = uses::strangers(expression, &known).into_iter().next() {
            let values = self.forward.inputs.iter();
            let values = values.filter(|input| input.tensor.is_none());
            let names = axes.into_iter();
            let names: Vec<String> = names
                .chain(values.map(|input| input.name.to_string()))
                .listed();
            if of.is_input {
                let message = format!("the axis `{stranger}` is bound only by an expression");
                let help = format!(
                    "let `{stranger}` stand alone in the shape of an input, `x = [{stranger}, …]`, or write `_` here"
                );
                self.diagnostics.error_with_help(&stranger, &message, &help);
                return None;
            }
            let message =
                format!("no input has an axis named `{stranger}`, and no value has that name");
            let suggestion = did_you_mean(&stranger.to_string(), &names);
            let help = format!(
                "{suggestion}a name that stands alone in the shape of an input is an axis, `x = [{stranger}, …]`{}",
                if names.is_empty() {
                    String::new()
                } else {
                    format!("; there are {}", list(&names))
                }
            );
            self.diagnostics.error_with_help(&stranger, &message, &help);
            return None;
        }
        let names = uses::names(expression, &known);
        for name in &names {
            if let Some((_, input)) = self.input_of(name)
                && input.tensor.is_some()
            {
                let message =
                    format!("`{name}` is a tensor; a length is computed from axes and values");
                let help = format!(
                    "name the axis in its shape, `{name} = [n, …]`, and write the name here"
                );
                self.diagnostics.error_with_help(name, &message, &help);
                return None;
            }
            if let Some((_, input)) = self.input_of(name)
                && (is_float(&input.ty) || show(&input.ty) == "bool")
            {
                let message = format!(
                    "`{name}` is `{}`; a length is computed with whole numbers",
                    show(&input.ty)
                );
                self.diagnostics.error(name, message);
                return None;
            }
            let axis = self.shapes.axis(name);
            if axis.is_some_and(|axis| !self.shapes.axes[axis].is_bound) {
                self.may_be_missing(name, name);
                return None;
            }
        }
        Some(names)
    }

    /// A shape must have a length for each axis of the type.
    ///
    /// ```text
    /// #[custom_function(shapes(x = [n], output = [n]))]
    /// //                           ^^^ `x` has rank 2, but this shape has 1 length
    /// fn forward(x: ArrayView2<f64>) -> Array1<f64>
    /// ```
    fn has_the_rank(&mut self, of: &Of<'_>, declared: &Declared, shape: &ExprArray) {
        let Some(Rank::Fixed(rank)) = of.ty.content.rank() else {
            return;
        };
        let (rank, found) = (usize::from(*rank), declared.lengths.len());
        let fits = if declared.leading {
            found <= rank
        } else {
            found == rank
        };
        if !fits {
            let message = format!(
                "`{}` has rank {rank}, but this shape has {}",
                of.name,
                if found == 1 {
                    "1 length".to_owned()
                } else {
                    format!("{found} lengths")
                }
            );
            let help = format!("write one for each axis: `{} = {}`", of.name, of.example());
            self.diagnostics.error_with_help(shape, &message, &help);
        }
    }

    /// The generated table has a byte for each length.
    ///
    /// ```text
    /// #[custom_function(shapes(x = [a, b, c, …], …))]
    /// //                ^^^^^^ these shapes have 65 names of axes; there can be 64
    /// ```
    fn are_few(&mut self, keyword: &Ident) {
        let shapes = &self.shapes;
        let count = |is: fn(&Length) -> bool| {
            let inputs = shapes.inputs.iter().flatten();
            let returned = shapes.returned.iter().flatten();
            let written = returned.filter_map(Shape::written);
            let lengths = inputs.chain(written).flat_map(|one| &one.lengths);
            lengths.filter(|length| is(length)).count()
        };
        let computed = count(|length| matches!(length, Length::Computed(_)));
        let numbers = count(|length| matches!(length, Length::Number(_)));
        for (what, found, limit) in [
            ("names of axes", shapes.axes.len(), 64),
            ("expressions", computed, 64),
            ("numbers", numbers, 127),
            ("inputs", self.forward.inputs.len(), 250),
        ] {
            if found > limit {
                let message = format!("these shapes have {found} {what}; there can be {limit}");
                let help = "write `_` for lengths that no other has";
                self.diagnostics.error_with_help(keyword, &message, help);
                return;
            }
        }
    }

    /// Each output must have a shape.
    ///
    /// ```text
    /// #[custom_function(shapes(x = [n]))]
    /// //                ^^^^^^ the output `output` has no shape
    /// ```
    fn every_output_has_one(&mut self, keyword: &Ident) {
        let returned = self.forward.returned.iter().zip(&self.shapes.returned);
        let is_missing = |(one, shape): &(&Returned, &Option<Shape>)| {
            shape.is_none() && one.tensor.is_some() && matches!(one.role, Role::Output { .. })
        };
        let missing: Vec<&Returned> = returned.filter(is_missing).map(|(one, _)| one).listed();
        let Some(first) = missing.first() else {
            return;
        };
        let names = missing.iter().map(|one| one.name.to_string());
        let message = format!("the shape of {} is not declared", list(names));
        let example = first.tensor.as_ref().map(|ty| {
            let of = Of {
                name: &first.name,
                ty,
                kind: first.kind,
                is_input: false,
            };
            of.example()
        });
        let otherwise = match first.kind {
            Kind::List => "if its tensors have different shapes, leave `shapes` out".to_owned(),
            _ => format!("or `{} = x`, the shape of an input", first.name),
        };
        let help = format!(
            "add `{} = {}`, of axes, numbers and expressions{} {otherwise}",
            first.name,
            example.unwrap_or_default(),
            if first.kind == Kind::List { ";" } else { "," },
        );
        self.diagnostics.error_with_help(keyword, &message, &help);
    }
}

/// The tensor that a shape is of.
struct Of<'a> {
    name: &'a Ident,
    ty: &'a TensorType,
    kind: Kind,
    is_input: bool,
}

impl Of<'_> {
    /// Returns a shape that it could have: `[n, m]`.
    fn example(&self) -> String {
        let rank = match self.ty.content.rank() {
            Some(Rank::Fixed(rank)) => usize::from(*rank),
            _ => return "[.., n]".to_owned(),
        };
        let names = ["n", "m", "l", "k", "i", "j"];
        let shape = format!("[{}]", names[..rank.min(names.len())].join(", "));
        if self.kind == Kind::List {
            format!("[{shape}]")
        } else {
            shape
        }
    }
}

fn has_shape(returned: &Returned) -> bool {
    returned.tensor.is_some() && !matches!(returned.role, Role::InPlace { .. })
}

fn is_leading(expression: &Expr) -> bool {
    matches!(peel(expression), Expr::Range(range) if range.start.is_none() && range.end.is_none())
}

/// Returns the expression of a length as people type it.
fn text(expression: &Expr) -> String {
    match expression {
        Expr::Group(group) => text(&group.expr),
        Expr::Paren(paren) => format!("({})", text(&paren.expr)),
        Expr::Binary(binary) => format!(
            "{} {} {}",
            text(&binary.left),
            show(&binary.op).trim(),
            text(&binary.right)
        ),
        Expr::Unary(unary) => format!("{}{}", show(&unary.op).trim(), text(&unary.expr)),
        Expr::Path(path) => match path.path.get_ident() {
            Some(name) => name.unraw().to_string(),
            None => show(path),
        },
        other => show(other),
    }
}
