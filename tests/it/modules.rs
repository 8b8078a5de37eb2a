//! Derived modules: what is visited, under which names, and how it is printed.

use std::collections::HashMap;
use std::marker::PhantomData;

use pullback::Element;
use pullback::ndarray::{Array1, Array2, Dimension, Ix1, Ix2};
use pullback::nn::Mode;
use pullback::prelude::*;

#[derive(Module)]
struct Linear<T> {
    weight: Parameter<T, Ix2>,
    bias: Option<Parameter<T, Ix1>>,
    #[module(skip, show)]
    in_features: usize,
}

impl<T: Element> Linear<T> {
    fn new(inputs: usize, outputs: usize) -> Self {
        Self {
            weight: Parameter::new(Array2::zeros((outputs, inputs))),
            bias: Some(Parameter::new(Array1::zeros(outputs))),
            in_features: inputs,
        }
    }

    fn without_bias(self) -> Self {
        Self { bias: None, ..self }
    }
}

impl<T: Element> Forward<&Tensor2<T>> for Linear<T> {
    type Output = Tensor2<T>;

    fn forward(&self, input: &Tensor2<T>) -> Tensor2<T> {
        let product = input.matmul(&self.weight.t());
        match self.bias.as_deref() {
            Some(bias) => product + bias,
            None => product,
        }
    }
}

#[derive(Module)]
struct Dropout(#[module(skip, show)] f64, Mode);

#[derive(Module)]
struct Relu;

#[derive(Module)]
#[module(name = "Norm", extra_repr = Norm::sizes)]
struct BatchNorm<T, D> {
    #[module(rename = "weight")]
    scale: Parameter<T, D>,
    running_mean: Buffer<T, D>,
    rank: PhantomData<fn() -> D>,
}

struct Norm;

impl Norm {
    fn sizes<T: Element, D: Dimension>(norm: &BatchNorm<T, D>) -> String {
        format!("{} features", norm.scale.shape()[0])
    }
}

#[derive(Module)]
enum Layer<T> {
    Linear(Linear<T>),
    Other(Box<dyn Module>),
    Relu,
    Scale {
        factor: Parameter<T, Ix1>,
        #[module(skip, show)]
        exponent: i32,
    },
    Function(#[module(skip)] fn(T) -> T),
}

#[derive(Module)]
struct Residual<L, const N: usize> {
    inner: [L; N],
    norm: BatchNorm<f32, Ix1>,
}

#[derive(Module)]
struct Model {
    layers: Vec<Layer<f64>>,
    heads: HashMap<String, Linear<f64>>,
    residual: Residual<Layer<f32>, 2>,
    pair: (Parameter<f64, Ix1>, Option<Relu>),
}

fn norm() -> BatchNorm<f32, Ix1> {
    BatchNorm {
        scale: Parameter::new(Array1::ones(3)),
        running_mean: Buffer::new(Array1::zeros(3)),
        rank: PhantomData,
    }
}

fn model() -> Model {
    let scale = || Parameter::new(Array1::ones(2));
    let head = |name: &str| (name.to_owned(), Linear::new(2, 1).without_bias());
    Model {
        layers: vec![
            Layer::Linear(Linear::new(784, 128)),
            Layer::Relu,
            Layer::Other(Box::new(Dropout(0.5, Mode::default()))),
            Layer::Scale {
                factor: scale(),
                exponent: -1,
            },
            Layer::Function(f64::sqrt),
        ],
        heads: ["digit", "colour", "angle"].map(head).into(),
        residual: Residual {
            inner: [Layer::Linear(Linear::new(3, 3)), Layer::Relu],
            norm: norm(),
        },
        pair: (scale(), None),
    }
}

fn paths(module: &dyn Module) -> Vec<String> {
    let named = module.named_parameters().into_iter();
    named.map(|(path, _)| path).collect()
}

#[test]
fn parameters_have_the_paths_of_their_fields() {
    let model = model();
    let expected = [
        "layers.0.weight",
        "layers.0.bias",
        "layers.3.factor",
        "heads.angle.weight",
        "heads.colour.weight",
        "heads.digit.weight",
        "residual.inner.0.weight",
        "residual.inner.0.bias",
        "residual.norm.weight",
        "pair.0",
    ];
    assert_eq!(paths(&model), expected);
    let buffers = model.named_buffers();
    assert_eq!(buffers.len(), 1);
    assert_eq!(buffers[0].0, "residual.norm.running_mean");
}

#[test]
fn a_module_is_printed_as_a_tree() {
    let expected = "\
Model(
  pair.0: [2], pair.1: None
  (layers.0): Linear(in_features=784, weight: [128, 784], bias: [128]) # 100,480 parameters
  (layers.1): Layer::Relu()
  (layers.2): Dropout(0.5)
  (layers.3): Layer::Scale(exponent=-1, factor: [2]) # 2 parameters
  (layers.4): Layer::Function()
  (heads.angle): Linear(in_features=2, weight: [1, 2], bias: None) # 2 parameters
  (heads.colour): Linear(in_features=2, weight: [1, 2], bias: None) # 2 parameters
  (heads.digit): Linear(in_features=2, weight: [1, 2], bias: None) # 2 parameters
  (residual): Residual(
    (inner.0): Linear(in_features=3, weight: [3, 3], bias: [3]) # 12 parameters
    (inner.1): Layer::Relu()
    (norm): Norm(3 features, weight: [3], running_mean: [3] (buffer)) # 3 parameters
  ) # 15 parameters
) # 100,505 parameters";
    assert_eq!(model().to_string(), expected);
}
