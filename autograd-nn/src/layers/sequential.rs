//! Chains of layers.

use std::borrow::Cow;
use std::fmt;

use autograd_core::__private::HoldsTensor;

use crate::forward::Forward;
use crate::layers::layer::Layer;
use crate::module::Module;
use crate::path::ParameterPath;
use crate::visit::{Field, Visitor, VisitorMut};

/// A chain of layers, each of which takes the output of the layer before it.
///
/// A tuple of up to twelve layers may contain any types, your own modules too, with outputs of different ranks.
/// Layers that do not fit together are a compile error. Their paths are `0`, `1` and so on.
///
/// ```
/// use pullback::ndarray::Array4;
/// use pullback::nn::{Conv2d, Flatten, Generator, Linear, MaxPool2d, Relu, Sequential};
/// use pullback::prelude::*;
///
/// let mut generator = Generator::seed(7);
/// let model = Sequential::new((
///     Conv2d::<f32>::new(1, 4, 3, &mut generator),
///     Relu,
///     MaxPool2d::new(2),
///     Flatten,
///     Linear::new(4 * 3 * 3, 10, &mut generator),
/// ));
/// let y: Tensor2<f32> = model.forward(&Tensor::from(Array4::zeros((2, 1, 8, 8))));
/// assert_eq!(y.shape(), [2, 10]);
/// let names: Vec<String> = model.named_parameters().into_iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["0.weight", "0.bias", "4.weight", "4.bias"]);
/// ```
///
/// A `Vec` of layers of one type, which may be `Box<dyn Layer<…>>`, has a length that is known at run time:
///
/// ```
/// use pullback::ndarray::Array2;
/// use pullback::nn::{Generator, Layer, Linear, Sequential, Tanh};
/// use pullback::prelude::*;
///
/// type Step = Box<dyn Layer<Tensor2<f32>, Output = Tensor2<f32>>>;
/// let mut generator = Generator::seed(7);
/// let mut steps: Vec<Step> = Vec::new();
/// for _ in 0..3 {
///     steps.push(Box::new(Linear::new(5, 5, &mut generator)));
///     steps.push(Box::new(Tanh));
/// }
/// let model = Sequential::new(steps);
/// assert_eq!(model.forward(&Tensor::from(Array2::zeros((2, 5)))).shape(), [2, 5]);
/// assert_eq!(model.parameter_count(), 90);
/// ```
pub struct Sequential<L> {
    /// The tuple or the `Vec`.
    pub layers: L,
}

impl<L> Sequential<L> {
    /// Creates the sequence of a tuple or a `Vec` of layers.
    pub fn new(layers: L) -> Self {
        Self { layers }
    }
}

/// To add or remove layers of a `Vec`, use the field: `model.layers.push(…)`.
impl<L: Field + Send + Sync + 'static> Module for Sequential<L> {
    fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed("Sequential")
    }

    fn visit_fields<'a>(&'a self, path: &ParameterPath<'_>, visitor: &mut dyn Visitor<'a>) {
        self.layers.visit(path, visitor);
    }

    fn visit_fields_mut(&mut self, path: &ParameterPath<'_>, visitor: &mut dyn VisitorMut) {
        self.layers.visit_mut(path, visitor);
    }

    fn as_module(&self) -> &dyn Module {
        self
    }

    fn as_module_mut(&mut self) -> &mut dyn Module {
        self
    }
}

impl<L> HoldsTensor for Sequential<L> {
    const AS_SKIPPED: bool = true;
}

impl<L: Field + Send + Sync + 'static> fmt::Display for Sequential<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::show::fmt(self, f)
    }
}

/// Prints the tree, so that layers need not be `Debug`.
impl<L: Field + Send + Sync + 'static> fmt::Debug for Sequential<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::show::fmt(self, f)
    }
}

/// A chain of layers: a tuple of up to twelve, or a `Vec`. The first layer takes `&X`.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::{Layers, LeakyRelu, Relu, Sequential};
/// use pullback::prelude::*;
///
/// /// Adds the input to the output of the layers.
/// fn residual<L>(layers: &L, x: &Tensor1<f64>) -> Tensor1<f64>
/// where
///     L: Layers<Tensor1<f64>, Output = Tensor1<f64>>,
/// {
///     x + layers.call(x)
/// }
///
/// let x = Tensor::from(array![-1.0, 2.0]);
/// assert_eq!(residual(&(LeakyRelu::new(0.5), Relu), &x).to_array(), array![-1.0, 4.0]);
/// assert_eq!(residual(&vec![Relu; 3], &x).to_array(), array![-1.0, 4.0]);
/// ```
#[diagnostic::on_unimplemented(
    message = "not every one of these layers takes what the one before it returns: `{Self}`",
    label = "the first takes a `&{X}`"
)]
pub trait Layers<X> {
    /// The output of the last layer.
    type Output;

    /// Calls the layers one after the other.
    fn call(&self, input: &X) -> Self::Output;
}

/// `forward` is a method beside the trait [`Forward`], so that a compile error names the layer that does not fit.
impl<L> Sequential<L> {
    /// Calls the layers one after the other.
    ///
    /// A layer that does not take the output of the layer before it is a compile error that names both:
    ///
    /// ```compile_fail,E0277
    /// use pullback::ndarray::Array4;
    /// use pullback::nn::{Flatten, MaxPool2d, Sequential};
    /// use pullback::prelude::*;
    ///
    /// let layers = Sequential::new((Flatten, MaxPool2d::new(2)));
    /// layers.forward(&Tensor::from(Array4::<f32>::zeros((2, 1, 8, 8))));
    /// ```
    #[track_caller]
    pub fn forward<X, Y>(&self, input: &X) -> Y
    where
        L: Layers<X, Output = Y>,
    {
        self.layers.call(input)
    }
}

impl<X, L: Layers<X>> Forward<&X> for Sequential<L> {
    type Output = L::Output;

    #[track_caller]
    fn forward(&self, input: &X) -> L::Output {
        self.layers.call(input)
    }
}

/// Without layers, the output is the input.
impl<X: Clone, M: Layer<X, Output = X>> Layers<X> for Vec<M> {
    type Output = X;

    #[track_caller]
    fn call(&self, input: &X) -> X {
        let mut layers = self.iter();
        let Some(first) = layers.next() else {
            return input.clone();
        };
        let mut x = first.call(input);
        for layer in layers {
            x = layer.call(&x);
        }
        x
    }
}

macro_rules! tuples {
    ($First:ident $first:ident $X0:ident $($Layer:ident $layer:ident $From:ident $To:ident)* ; $Last:ident) => {
        impl<X, $X0, $($To,)* $First, $($Layer),*> Layers<X> for ($First, $($Layer,)*)
        where
            $First: Layer<X, Output = $X0>,
            $($Layer: Layer<$From, Output = $To>,)*
        {
            type Output = $Last;

            #[track_caller]
            fn call(&self, input: &X) -> $Last {
                let ($first, $($layer,)*) = self;
                let x = $first.call(input);
                $(let x = $layer.call(&x);)*
                x
            }
        }
    };
}

tuples!(A a Y0; Y0);
tuples!(A a Y0 B b Y0 Y1; Y1);
tuples!(A a Y0 B b Y0 Y1 C c Y1 Y2; Y2);
tuples!(A a Y0 B b Y0 Y1 C c Y1 Y2 D d Y2 Y3; Y3);
tuples!(A a Y0 B b Y0 Y1 C c Y1 Y2 D d Y2 Y3 E e Y3 Y4; Y4);
tuples!(A a Y0 B b Y0 Y1 C c Y1 Y2 D d Y2 Y3 E e Y3 Y4 F f Y4 Y5; Y5);
tuples!(A a Y0 B b Y0 Y1 C c Y1 Y2 D d Y2 Y3 E e Y3 Y4 F f Y4 Y5 G g Y5 Y6; Y6);
tuples!(A a Y0 B b Y0 Y1 C c Y1 Y2 D d Y2 Y3 E e Y3 Y4 F f Y4 Y5 G g Y5 Y6 H h Y6 Y7; Y7);
tuples!(A a Y0 B b Y0 Y1 C c Y1 Y2 D d Y2 Y3 E e Y3 Y4 F f Y4 Y5 G g Y5 Y6 H h Y6 Y7 I i Y7 Y8; Y8);
tuples!(A a Y0 B b Y0 Y1 C c Y1 Y2 D d Y2 Y3 E e Y3 Y4 F f Y4 Y5 G g Y5 Y6 H h Y6 Y7 I i Y7 Y8
    J j Y8 Y9; Y9);
tuples!(A a Y0 B b Y0 Y1 C c Y1 Y2 D d Y2 Y3 E e Y3 Y4 F f Y4 Y5 G g Y5 Y6 H h Y6 Y7 I i Y7 Y8
    J j Y8 Y9 K k Y9 Y10; Y10);
tuples!(A a Y0 B b Y0 Y1 C c Y1 Y2 D d Y2 Y3 E e Y3 Y4 F f Y4 Y5 G g Y5 Y6 H h Y6 Y7 I i Y7 Y8
    J j Y8 Y9 K k Y9 Y10 L l Y10 Y11; Y11);
