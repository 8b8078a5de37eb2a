//! The trait of all modules.

use std::any::Any;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use autograd_core::__private::HoldsTensor;
use autograd_core::AnyTensor;
pub use autograd_macros::Module;

use crate::buffer::AnyBuffer;
use crate::mode::Mode;
use crate::parameter::ParameterId;
use crate::parameter::any::AnyParameter;
use crate::path::ParameterPath;
use crate::visit::{Field, Visitor, VisitorMut, each_parameter, each_parameter_mut};

/// A part of a model: parameters, buffers and other modules. `#[derive(Module)]` implements this trait and `Display`,
/// which prints the tree.
///
/// ```
/// use pullback::ndarray::{Array1, Array2, Ix1, Ix2};
/// use pullback::prelude::*;
///
/// #[derive(Module)]
/// struct Linear {
///     weight: Parameter<f32, Ix2>,
///     bias: Option<Parameter<f32, Ix1>>,
/// }
///
/// #[derive(Module)]
/// struct Model {
///     layers: Vec<Linear>,
/// }
///
/// let linear = |bias| Linear { weight: Parameter::new(Array2::zeros((2, 3))), bias };
/// let bias = Parameter::new(Array1::zeros(2));
/// let model = Model { layers: vec![linear(Some(bias)), linear(None)] };
/// let names: Vec<String> = model.named_parameters().into_iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["layers.0.weight", "layers.0.bias", "layers.1.weight"]);
/// assert_eq!(model.parameter_count(), 14);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a module",
    label = "not a module",
    note = "`#[derive(Module)]` makes a module of a struct or an enum",
    note = "a variant with one unnamed field is the module in it; with named fields it may hold \
            any part of a module"
)]
pub trait Module: Any + Send + Sync {
    /// Returns the name to print, by default the name of the type.
    fn name(&self) -> Cow<'static, str>;

    /// Calls the visitor with each field, in the order of declaration.
    fn visit_fields<'a>(&'a self, path: &ParameterPath<'_>, visitor: &mut dyn Visitor<'a>);

    /// Calls the visitor with each field by mutable reference, in the order of declaration.
    fn visit_fields_mut(&mut self, path: &ParameterPath<'_>, visitor: &mut dyn VisitorMut);

    /// Returns the module as a trait object.
    fn as_module(&self) -> &dyn Module;

    /// Returns the module as a mutable trait object.
    fn as_module_mut(&mut self) -> &mut dyn Module;

    /// Returns sizes and options, to print them in the parentheses beside the fields.
    fn extra_repr(&self) -> String {
        String::new()
    }

    /// Returns the parameters; a tied parameter is listed once.
    fn parameters(&self) -> Vec<&dyn AnyParameter> {
        let list = listed(self.as_module(), |_| ()).into_iter();
        list.map(|((), parameter)| parameter).collect()
    }

    /// Returns the parameters with their dotted paths; a tied parameter is listed once, under its first path. A
    /// picture of a graph takes them as names.
    ///
    /// ```
    /// use pullback::nn::{Generator, Linear, Module, Relu, Sequential};
    ///
    /// let mut generator = Generator::seed(7);
    /// let first = Linear::<f32>::new(3, 8, &mut generator);
    /// let model = Sequential::new((first, Relu, Linear::<f32>::new(8, 2, &mut generator)));
    /// let names: Vec<String> = model.named_parameters().into_iter().map(|(name, _)| name).collect();
    /// assert_eq!(names, ["0.weight", "0.bias", "2.weight", "2.bias"]);
    /// ```
    fn named_parameters(&self) -> Vec<(String, &dyn AnyParameter)> {
        listed(self.as_module(), |path| path.to_string())
    }

    /// Returns the number of elements of all parameters, frozen ones included.
    fn parameter_count(&self) -> usize {
        let parameters = self.parameters().into_iter();
        parameters.map(AnyParameter::len).sum()
    }

    /// Returns the buffers with their dotted paths.
    fn named_buffers(&self) -> Vec<(String, &dyn AnyBuffer)> {
        struct List<'a>(Vec<(String, &'a dyn AnyBuffer)>);
        impl<'a> Visitor<'a> for List<'a> {
            fn buffer(&mut self, path: &ParameterPath<'_>, buffer: &'a dyn AnyBuffer) {
                self.0.push((path.to_string(), buffer));
            }
        }
        let mut list = List(vec![]);
        self.as_module().visit(&ParameterPath::root(), &mut list);
        list.0
    }

    /// Returns this module, under an empty path, and all modules in it, with their dotted paths.
    fn named_modules(&self) -> Vec<(String, &dyn Module)> {
        struct List<'a>(Vec<(String, &'a dyn Module)>);
        impl<'a> Visitor<'a> for List<'a> {
            fn enter(&mut self, path: &ParameterPath<'_>, module: &'a dyn Module) -> bool {
                self.0.push((path.to_string(), module));
                true
            }
        }
        let mut list = List(vec![]);
        self.as_module().visit(&ParameterPath::root(), &mut list);
        list.0
    }

    /// Drops the gradients of all parameters.
    fn zero_grad(&self) {
        each_parameter(self.as_module(), |_, parameter| parameter.zero_grad());
    }

    /// Switches this module and all modules in it to training.
    fn train(&mut self) {
        set_training(self.as_module_mut(), true);
    }

    /// Switches this module and all modules in it to evaluation: dropout changes nothing, batch normalization uses
    /// its running statistics.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::{Dropout, Sequential};
    /// use pullback::prelude::*;
    ///
    /// let mut model = Sequential::new((Dropout::seeded(0.5, 7),));
    /// model.eval();
    /// let x = Tensor::from(array![1.0, 2.0]);
    /// assert_eq!(model.forward(&x).to_array(), x.to_array());
    /// ```
    fn eval(&mut self) {
        set_training(self.as_module_mut(), false);
    }

    /// Sets whether the parameters are trained: `model.encoder.requires_grad(false)` freezes a part. Frozen
    /// parameters drop their gradients.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::{Generator, Linear};
    /// use pullback::prelude::*;
    ///
    /// let mut generator = Generator::seed(7);
    /// let (mut encoder, head) = (Linear::<f64>::new(2, 3, &mut generator), Linear::new(3, 1, &mut generator));
    /// encoder.requires_grad(false);
    /// head.forward(&encoder.forward(&Tensor::from(array![1.0, 2.0]))).sum().backward()?;
    /// assert!(encoder.weight.grad().is_none() && head.weight.grad().is_some());
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn requires_grad(&mut self, required: bool) {
        // The tensors of tied parameters, which have to be shared again.
        let mut seen: HashMap<ParameterId, AnyTensor> = HashMap::new();
        each_parameter_mut(self.as_module_mut(), |parameter| {
            if let Some(tensor) = seen.get(&parameter.id()) {
                return parameter.set_tensor(tensor);
            }
            parameter.set_requires_grad(required);
            seen.insert(parameter.id(), parameter.to_any());
        });
    }

    /// Calls `change` with every module, inner modules before the modules that hold them:
    ///
    /// ```
    /// use pullback::ndarray::{Array1, Ix1};
    /// use pullback::prelude::*;
    ///
    /// #[derive(Module)]
    /// struct Scale {
    ///     factor: Parameter<f64, Ix1>,
    /// }
    ///
    /// #[derive(Module)]
    /// struct Pair {
    ///     first: Scale,
    ///     second: Scale,
    /// }
    ///
    /// let scale = || Scale { factor: Parameter::new(Array1::ones(1)) };
    /// let mut pair = Pair { first: scale(), second: scale() };
    /// pair.apply(&mut |module| {
    ///     if let Some(scale) = module.downcast_mut::<Scale>() {
    ///         scale.factor.update(|mut factor| factor.fill(3.0));
    ///     }
    /// });
    /// assert_eq!(pair.second.factor.item(), 3.0);
    /// ```
    fn apply(&mut self, change: &mut dyn FnMut(&mut dyn Module)) {
        struct Apply<'a>(&'a mut dyn FnMut(&mut dyn Module));
        impl VisitorMut for Apply<'_> {
            fn leave(&mut self, _: &ParameterPath<'_>, module: &mut dyn Module) {
                (self.0)(module);
            }
        }
        self.as_module_mut()
            .visit_mut(&ParameterPath::root(), &mut Apply(change));
    }
}

impl dyn Module {
    /// Returns whether the module is an `M`.
    pub fn is<M: Module>(&self) -> bool {
        (self as &dyn Any).is::<M>()
    }

    /// Returns the module as an `M`, if it is one.
    pub fn downcast_ref<M: Module>(&self) -> Option<&M> {
        (self as &dyn Any).downcast_ref()
    }

    /// Returns the module as a mutable `M`, if it is one.
    ///
    /// ```
    /// use pullback::nn::{Generator, Linear, Module};
    ///
    /// let mut module: Box<dyn Module> = Box::new(Linear::<f32>::new(3, 2, &mut Generator::seed(7)));
    /// if let Some(linear) = (*module).downcast_mut::<Linear>() {
    ///     linear.bias = None;
    /// }
    /// assert_eq!(module.parameter_count(), 6);
    /// ```
    pub fn downcast_mut<M: Module>(&mut self) -> Option<&mut M> {
        (self as &mut dyn Any).downcast_mut()
    }
}

impl HoldsTensor for dyn Module {
    const AS_SKIPPED: bool = true;
}

/// A boxed module behaves like the module in it.
impl<M: Module + ?Sized> Module for Box<M> {
    fn name(&self) -> Cow<'static, str> {
        (**self).name()
    }

    fn visit_fields<'a>(&'a self, path: &ParameterPath<'_>, visitor: &mut dyn Visitor<'a>) {
        (**self).visit_fields(path, visitor);
    }

    fn visit_fields_mut(&mut self, path: &ParameterPath<'_>, visitor: &mut dyn VisitorMut) {
        (**self).visit_fields_mut(path, visitor);
    }

    fn as_module(&self) -> &dyn Module {
        (**self).as_module()
    }

    fn as_module_mut(&mut self) -> &mut dyn Module {
        (**self).as_module_mut()
    }

    fn extra_repr(&self) -> String {
        (**self).extra_repr()
    }
}

/// Lists the parameters, tied ones once, each with the result of `name` for its path.
fn listed<N>(
    module: &dyn Module,
    name: fn(&ParameterPath<'_>) -> N,
) -> Vec<(N, &dyn AnyParameter)> {
    let (mut seen, mut list) = (HashSet::new(), vec![]);
    each_parameter(module, |path, parameter| {
        if seen.insert(parameter.id()) {
            list.push((name(path), parameter));
        }
    });
    list
}

fn set_training(module: &mut dyn Module, training: bool) {
    struct SetTraining(bool);
    impl VisitorMut for SetTraining {
        fn mode(&mut self, _: &ParameterPath<'_>, mode: &mut Mode) {
            mode.set_training(self.0);
        }
    }
    module.visit_mut(&ParameterPath::root(), &mut SetTraining(training));
}
