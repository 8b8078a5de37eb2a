//! A function's signature as data, for documentation, pictures and errors.

use std::fmt;

use crate::error::panic::with_shapes;

/// The description of a function: inputs, outputs, saved values, and how often it is differentiable. The attribute
/// reads it from the signatures of forward and backward functions.
///
/// ```
/// use pullback::Function;
/// use pullback::ndarray::Ix1;
/// use pullback::ops::Exp;
///
/// let exp = Exp::<f64, Ix1>::SIGNATURE;
/// assert_eq!((exp.name, exp.inputs[0].name, exp.outputs[0].name), ("Exp", "x", "output"));
/// // Backward multiplies by the output of forward.
/// assert_eq!((exp.saved[0].name, exp.saved[0].needed_for), ("output", &["x"][..]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The function's name.
    pub name: &'static str,
    /// The arguments of `apply`, in order.
    pub inputs: &'static [InputSignature],
    /// The results of `apply`, in order, and then the tensors that it writes to.
    pub outputs: &'static [OutputSignature],
    /// The saved values, and the gradients that need them.
    pub saved: &'static [SavedSignature],
    /// The highest order of a derivative of the function.
    pub order: Order,
    /// Whether the function has a rule for forward mode.
    pub forward_mode: bool,
    /// Whether the function is elementwise: its outputs have the shape that its tensors broadcast to, without the last
    /// axis of those with rows.
    pub elementwise: bool,
}

impl Signature {
    /// Describes a function that can be differentiated once and has no rule for forward mode.
    ///
    /// ```
    /// use pullback::{Function, InputSignature, Order, OutputSignature, SavedSignature, Signature};
    /// use pullback::ndarray::Ix1;
    /// use pullback::ops::Exp;
    ///
    /// const EXP: Signature = Signature::new(
    ///     "Exp",
    ///     &[InputSignature::tensor("x", "ArrayView<T, D>")],
    ///     &[OutputSignature::tensor("output", "Array<T, D>")],
    ///     &[SavedSignature::new("output", &["x"])],
    /// );
    /// assert_eq!((EXP.order, EXP.forward_mode), (Order::Once, false));
    /// assert_eq!(EXP.with_order(Order::Any).forward_mode(), Exp::<f32, Ix1>::SIGNATURE);
    /// ```
    pub const fn new(
        name: &'static str,
        inputs: &'static [InputSignature],
        outputs: &'static [OutputSignature],
        saved: &'static [SavedSignature],
    ) -> Self {
        Self {
            name,
            inputs,
            outputs,
            saved,
            order: Order::Once,
            forward_mode: false,
            elementwise: false,
        }
    }

    /// Sets how often the function can be differentiated.
    #[must_use]
    pub const fn with_order(self, order: Order) -> Self {
        Self { order, ..self }
    }

    /// Sets that the function has a rule for forward mode.
    #[must_use]
    pub const fn forward_mode(self) -> Self {
        Self {
            forward_mode: true,
            ..self
        }
    }

    /// Sets that the function is elementwise.
    #[must_use]
    pub const fn elementwise(self) -> Self {
        Self {
            elementwise: true,
            ..self
        }
    }

    /// Returns the function with tensors of these shapes, for messages. It has no lists.
    pub(crate) fn with_shapes(&self, shapes: &[&[usize]]) -> String {
        let tensors = self.inputs.iter().filter(|input| input.tensor);
        let names = tensors.map(|input| input.name);
        with_shapes(self.name, names.zip(shapes.iter().copied()))
    }

    /// Returns the differentiable input of this number.
    pub(crate) fn differentiable(&self, input: usize) -> Option<&'static InputSignature> {
        let mut inputs = self.inputs.iter().filter(|input| input.differentiable);
        inputs.nth(input)
    }

    /// Returns the name of a differentiable input in errors; of a list with an index.
    pub(crate) fn differentiable_input(&self, input: usize, index: usize) -> String {
        match self.differentiable(input) {
            Some(input) if input.list => format!("{}[{index}]", input.name),
            Some(input) => input.name.to_owned(),
            None => "an input".to_owned(),
        }
    }

    /// Returns the name of the parameter of backward for the gradient of a differentiable output; of a list with an
    /// index.
    pub(crate) fn gradient_name(&self, output: usize, index: usize) -> Option<String> {
        let outputs = || self.outputs.iter().filter(|output| output.differentiable);
        let OutputSignature { name, list, .. } = *outputs().nth(output)?;
        if list {
            return Some(format!("grad_{name}[{index}]"));
        }
        let mut inputs = self.inputs.iter();
        let is_written = inputs.any(|input| input.in_place && input.name == name);
        if is_written && outputs().count() == 1 {
            return Some("grad_output".to_owned());
        }
        Some(format!("grad_{name}"))
    }
}

/// An argument of `apply`.
///
/// ```
/// use pullback::Function;
/// use pullback::ndarray::Ix2;
/// use pullback::ops::Linear;
///
/// let [x, _, bias] = Linear::<f64, Ix2>::SIGNATURE.inputs else { panic!("three arguments") };
/// assert_eq!((x.name, x.optional), ("x", false));
/// assert_eq!((bias.ty, bias.optional), ("Option<ArrayView1<T>>", true));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts of their own, read by name"
)]
pub struct InputSignature {
    /// The argument's name.
    pub name: &'static str,
    /// The type in forward.
    pub ty: &'static str,
    /// Whether it is a tensor rather than a value.
    pub tensor: bool,
    /// Whether it is optional.
    pub optional: bool,
    /// Whether it is a list of tensors.
    pub list: bool,
    /// Whether forward writes to it.
    pub in_place: bool,
    /// Whether it has a gradient.
    pub differentiable: bool,
    /// The declared shape, as it is written: `[n, i]`.
    pub shape: Option<&'static str>,
    /// The length of the last axis, where an elementwise function takes rows of numbers; 0 for slices, which have that of the
    /// tensor.
    pub row: Option<usize>,
    /// Whether the first axis is that of the steps of a scan; all others are broadcast as those of an elementwise function.
    pub step: bool,
}

impl InputSignature {
    /// Describes a differentiable tensor.
    pub const fn tensor(name: &'static str, ty: &'static str) -> Self {
        Self {
            name,
            ty,
            tensor: true,
            optional: false,
            list: false,
            in_place: false,
            differentiable: true,
            shape: None,
            row: None,
            step: false,
        }
    }

    /// Describes a differentiable tensor with a declared shape.
    pub const fn shaped(name: &'static str, ty: &'static str, shape: &'static str) -> Self {
        let shape = Some(shape);
        Self {
            shape,
            ..Self::tensor(name, ty)
        }
    }

    /// Describes a value.
    pub const fn value(name: &'static str, ty: &'static str) -> Self {
        Self {
            tensor: false,
            differentiable: false,
            ..Self::tensor(name, ty)
        }
    }

    /// Sets that the argument is optional.
    #[must_use]
    pub const fn optional(self) -> Self {
        Self {
            optional: true,
            ..self
        }
    }

    /// Sets that it is a list of such tensors.
    #[must_use]
    pub const fn list(self) -> Self {
        Self { list: true, ..self }
    }

    /// Sets that forward writes to the argument.
    #[must_use]
    pub const fn in_place(self) -> Self {
        Self {
            in_place: true,
            ..self
        }
    }

    /// Sets that the argument has no gradient.
    #[must_use]
    pub const fn exempt(self) -> Self {
        Self {
            differentiable: false,
            ..self
        }
    }

    /// Sets the length of the rows of an elementwise function.
    #[must_use]
    pub const fn row(self, length: usize) -> Self {
        Self {
            row: Some(length),
            ..self
        }
    }

    /// Sets that the first axis is that of the steps of a scan.
    #[must_use]
    pub const fn step(self) -> Self {
        Self { step: true, ..self }
    }
}

/// A result of `apply`.
///
/// ```
/// use pullback::Function;
/// use pullback::ndarray::Ix1;
/// use pullback::ops::Exp;
///
/// let [output] = Exp::<f64, Ix1>::SIGNATURE.outputs else { panic!("one output") };
/// assert_eq!((output.name, output.ty, output.differentiable), ("output", "Array<T, D>", true));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputSignature {
    /// The output's name.
    pub name: &'static str,
    /// The type in forward.
    pub ty: &'static str,
    /// Whether it is a list of tensors.
    pub list: bool,
    /// Whether it has a gradient.
    pub differentiable: bool,
    /// The declared shape, as it is written: `[n, (l - k) / stride + 1]`.
    pub shape: Option<&'static str>,
    /// The length of the last axis, where an elementwise function returns rows of numbers; 0 for slices, which have that of
    /// their state.
    pub row: Option<usize>,
    /// Whether the first axis is that of the steps of a scan; all others are broadcast as those of an elementwise function.
    pub step: bool,
    /// The state of a scan of which it is the last one.
    pub state: Option<&'static str>,
}

impl OutputSignature {
    /// Describes a differentiable tensor.
    pub const fn tensor(name: &'static str, ty: &'static str) -> Self {
        Self {
            name,
            ty,
            list: false,
            differentiable: true,
            shape: None,
            row: None,
            step: false,
            state: None,
        }
    }

    /// Describes a tensor without a gradient, or a value.
    pub const fn exempt(name: &'static str, ty: &'static str) -> Self {
        Self {
            differentiable: false,
            ..Self::tensor(name, ty)
        }
    }

    /// Sets that it is a list of such tensors.
    #[must_use]
    pub const fn list(self) -> Self {
        Self { list: true, ..self }
    }

    /// Sets the declared shape.
    #[must_use]
    pub const fn shape(self, shape: &'static str) -> Self {
        Self {
            shape: Some(shape),
            ..self
        }
    }

    /// Sets the length of the rows of an elementwise function.
    #[must_use]
    pub const fn row(self, length: usize) -> Self {
        Self {
            row: Some(length),
            ..self
        }
    }

    /// Sets that the first axis is that of the steps of a scan.
    #[must_use]
    pub const fn step(self) -> Self {
        Self { step: true, ..self }
    }

    /// Sets the state of a scan of which it is the last one.
    #[must_use]
    pub const fn state(self, name: &'static str) -> Self {
        Self {
            state: Some(name),
            ..self
        }
    }
}

/// A tensor or a value that is saved for backward.
///
/// ```
/// use pullback::Function;
/// use pullback::ops::MatMul;
///
/// // The gradient of each operand needs the other one.
/// let [x, y] = MatMul::<f64>::SIGNATURE.saved else { panic!("two operands") };
/// assert_eq!((x.name, x.needed_for), ("x", &["y"][..]));
/// assert_eq!((y.name, y.needed_for), ("y", &["x"][..]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedSignature {
    /// The name of the parameter of backward.
    pub name: &'static str,
    /// The inputs whose gradients need it; it is saved if one of these inputs requires grad.
    pub needed_for: &'static [&'static str],
}

impl SavedSignature {
    /// Describes a tensor or a value that is saved for the gradients of these inputs.
    pub const fn new(name: &'static str, needed_for: &'static [&'static str]) -> Self {
        Self { name, needed_for }
    }
}

/// The number of times that a function can be differentiated.
///
/// ```
/// use pullback::ndarray::{Array1, ArrayView1, Ix1};
/// use pullback::{Function, Order, custom_function, ops::Exp};
///
/// struct Double;
///
/// #[custom_function]
/// impl Double {
///     #[forward]
///     fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
///     #[backward(x)]
///     fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 } // arrays
/// }
///
/// assert_eq!((Double::SIGNATURE.order, Exp::<f64, Ix1>::SIGNATURE.order), (Order::Once, Order::Any));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Once: a backward function is written on arrays.
    Once,
    /// This number of times: the generated derivatives of an elementwise function.
    Times(usize),
    /// Any number of times: every backward function is written on tensors.
    Any,
}

/// `once`, `twice`, `three times`, `any number of times`.
impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Once | Self::Times(1) => f.pad("once"),
            Self::Times(2) => f.pad("twice"),
            Self::Times(3) => f.pad("three times"),
            Self::Times(times) => write!(f, "{times} times"),
            Self::Any => f.pad("any number of times"),
        }
    }
}
