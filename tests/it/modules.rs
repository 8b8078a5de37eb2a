//! Derived modules: visited fields, their names, and printing.

use std::collections::HashMap;
use std::marker::PhantomData;

use pullback::Element;
use pullback::ndarray::{Array1, Array2, Dimension, Ix1, Ix2, array};
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
        heads: ["digit", "color", "angle"].map(head).into(),
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
        "heads.color.weight",
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
  (heads.color): Linear(in_features=2, weight: [1, 2], bias: None) # 2 parameters
  (heads.digit): Linear(in_features=2, weight: [1, 2], bias: None) # 2 parameters
  (residual): Residual(
    (inner.0): Linear(in_features=3, weight: [3, 3], bias: [3]) # 12 parameters
    (inner.1): Layer::Relu()
    (norm): Norm(3 features, weight: [3], running_mean: [3] (buffer)) # 3 parameters
  ) # 15 parameters
) # 100,505 parameters";
    assert_eq!(model().to_string(), expected);
}

#[test]
fn neighbors_in_a_list_that_are_alike_are_printed_once() {
    #[derive(Module)]
    struct Block {
        linear: Linear<f32>,
        dropout: Dropout,
    }

    #[derive(Module)]
    struct Stack {
        embedding: Parameter<f32, Ix2>,
        blocks: Vec<Block>,
        ends: (Relu, Relu),
    }

    let block = |width| Block {
        linear: Linear::new(width, width),
        dropout: Dropout(0.1, Mode::default()),
    };
    let stack = Stack {
        embedding: Parameter::new(Array2::zeros((1000, 4))),
        blocks: vec![block(4), block(4), block(4), block(5)],
        ends: (Relu, Relu),
    };
    let expected = "\
Stack(
  embedding: [1000, 4]
  (blocks.0-2): 3 x Block(
    (linear): Linear(in_features=4, weight: [4, 4], bias: [4]) # 20 parameters
    (dropout): Dropout(0.1)
  ) # 20 parameters each
  (blocks.3): Block(
    (linear): Linear(in_features=5, weight: [5, 5], bias: [5]) # 30 parameters
    (dropout): Dropout(0.1)
  ) # 30 parameters
  (ends.0-1): 2 x Relu()
) # 4,090 parameters";
    assert_eq!(stack.to_string(), expected);
}

#[test]
fn frozen_and_tied_parameters_are_printed_as_such() {
    #[derive(Module)]
    struct Pair([Linear<f64>; 2]);

    let mut pair = Pair([Linear::new(2, 2), Linear::new(2, 2)]);
    pair.0[1].weight = pair.0[0].weight.clone();
    pair.0[0].requires_grad(false);
    let expected = "\
Pair(
  (0.0): Linear(in_features=2, weight: [2, 2] (frozen), bias: [2] (frozen)) # 6 parameters
  (0.1): Linear(in_features=2, weight: [2, 2] (tied), bias: [2]) # 2 parameters
) # 8 parameters";
    assert_eq!(pair.to_string(), expected);
    assert_eq!(paths(&pair), ["0.0.weight", "0.0.bias", "0.1.bias"]);
    pair.requires_grad(true);
    assert!(pair.0[1].weight.requires_grad() && pair.0[0].bias.as_ref().unwrap().requires_grad());
}

#[test]
fn a_variant_that_stands_for_a_module_is_that_module() {
    let mut layer = Layer::Linear(Linear::<f64>::new(2, 1));
    assert_eq!(layer.name(), "Linear");
    assert_eq!(layer.extra_repr(), "in_features=2");
    assert_eq!(
        layer.to_string(),
        "Linear(in_features=2, weight: [1, 2], bias: [1]) # 3 parameters"
    );
    let modules = layer.named_modules();
    assert_eq!(modules.len(), 1);
    assert!(modules[0].1.is::<Linear<f64>>());

    let mut seen = 0;
    layer.apply(&mut |module| {
        let linear = module.downcast_mut::<Linear<f64>>().expect("a layer");
        linear.weight.update(|mut weight| weight.fill(2.0));
        seen += 1;
    });
    assert_eq!(seen, 1);
    let Layer::Linear(linear) = &layer else {
        unreachable!("it was one")
    };
    assert_eq!(linear.weight.to_array(), array![[2.0, 2.0]]);
    assert_eq!(Layer::<f32>::Relu.name(), "Layer::Relu");
}

#[test]
fn every_mode_in_a_tree_is_set() {
    let modes = |model: &Model| -> Vec<bool> {
        let modules = model.named_modules().into_iter();
        let dropouts = modules.filter_map(|(_, module)| module.downcast_ref::<Dropout>());
        dropouts.map(|dropout| dropout.1.is_training()).collect()
    };
    let mut model = model();
    model.layers.push(Layer::Other(Box::new(Box::new(Dropout(
        0.1,
        Mode::default(),
    )))));
    assert_eq!(modes(&model), [true, true]);
    model.eval();
    assert_eq!(modes(&model), [false, false]);
    model.train();
    assert_eq!(modes(&model), [true, true]);
}

#[test]
fn modules_are_applied_to_from_the_inside() {
    let mut model = model();
    let mut names = Vec::new();
    model.apply(&mut |module| names.push(module.name().into_owned()));
    let expected = [
        "Linear",
        "Layer::Relu",
        "Dropout",
        "Layer::Scale",
        "Layer::Function",
        "Linear",
        "Linear",
        "Linear",
        "Linear",
        "Layer::Relu",
        "Norm",
        "Residual",
        "Model",
    ];
    assert_eq!(names, expected);
    let paths: Vec<String> = model
        .named_modules()
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    assert_eq!(paths[0], "");
    assert_eq!(paths[3], "layers.2");
    assert_eq!(
        paths[9..],
        [
            "residual",
            "residual.inner.0",
            "residual.inner.1",
            "residual.norm"
        ]
    );
}

#[test]
fn traits_of_layers_make_modules_of_boxes() {
    trait Layer: Module + for<'a> Forward<&'a Tensor2<f64>, Output = Tensor2<f64>> {}

    impl<L> Layer for L where L: Module + for<'a> Forward<&'a Tensor2<f64>, Output = Tensor2<f64>> {}

    #[derive(Module)]
    struct Sequential(Vec<Box<dyn Layer>>);

    let mut layers = Sequential(vec![
        Box::new(Linear::new(2, 3)),
        Box::new(Linear::new(3, 1).without_bias()),
    ]);
    layers.requires_grad(false);
    layers.apply(&mut |module| {
        if let Some(linear) = module.downcast_mut::<Linear<f64>>() {
            linear.weight.update(|mut weight| weight.fill(1.0));
        }
    });
    let mut output = Tensor::from(array![[1.0, 2.0]]);
    for layer in &layers.0 {
        output = layer.forward(&output);
    }
    assert_eq!(output.to_array(), array![[9.0]]);
    assert_eq!(paths(&layers), ["0.0.weight", "0.0.bias", "0.1.weight"]);
    assert!(
        layers
            .parameters()
            .iter()
            .all(|parameter| !parameter.requires_grad())
    );
}

#[test]
fn gradients_reach_what_is_registered() {
    let mut linear = Linear::<f64>::new(2, 1);
    let input = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]);
    linear.forward(&input).sum().backward().unwrap();
    assert_eq!(linear.weight.grad(), Some(array![[4.0, 6.0]]));
    assert_eq!(linear.bias.as_ref().unwrap().grad(), Some(array![2.0]));
    linear.zero_grad();
    assert!(
        linear
            .parameters()
            .iter()
            .all(|parameter| { !parameter.with_grad_any(&mut |_| ()) })
    );
    linear.requires_grad(false);
    assert!(!linear.forward(&input).requires_grad());
}
