//! Initial values that are scaled to the size of the layer, so that signals neither grow nor vanish.

use rand_core::Rng;

use autograd_core::Element;
use autograd_core::ndarray::{Array, IntoDimension};

use crate::init::{lengths, normal, uniform};

/// The pass, forward or backward, whose variance is preserved.
///
/// ```
/// use pullback::nn::Generator;
/// use pullback::nn::init::{Fan, Nonlinearity, kaiming_uniform};
///
/// // √(3 / 1000) is the largest with `Fan::In`, √(3 / 10) with `Fan::Out`.
/// let largest = |fan| {
///     let weights = kaiming_uniform::<f64, _>((10, 1000), fan, Nonlinearity::Linear, &mut Generator::seed(7));
///     weights.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()))
/// };
/// assert!(largest(Fan::In) < 0.055 && largest(Fan::Out) > 0.5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fan {
    /// The forward pass: scaled by the number of inputs of an output.
    In,
    /// The backward pass: scaled by the number of outputs of an input.
    Out,
}

/// The function after a layer.
///
/// ```
/// use pullback::nn::init::Nonlinearity;
///
/// // A ReLU sets half of its inputs to 0, so the variance must be twice as large.
/// assert!((Nonlinearity::Relu.gain().powi(2) - 2.0).abs() < 1e-12);
/// assert_eq!(Nonlinearity::LeakyRelu(1.0).gain(), Nonlinearity::Linear.gain());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Nonlinearity {
    /// The identity.
    Linear,
    /// 1 / (1 + e⁻ˣ).
    Sigmoid,
    /// tanh.
    Tanh,
    /// max(x, 0).
    Relu,
    /// x where it is positive, this slope times x elsewhere.
    LeakyRelu(f64),
    /// The self-normalizing function of Klambauer and others (2017).
    Selu,
}

impl Nonlinearity {
    /// Returns the gain of the function, the factor for the standard deviation of weights before it, like PyTorch's
    /// `calculate_gain`.
    pub fn gain(self) -> f64 {
        match self {
            Self::Linear | Self::Sigmoid => 1.0,
            Self::Tanh => 5.0 / 3.0,
            Self::Relu => std::f64::consts::SQRT_2,
            Self::LeakyRelu(slope) => (2.0 / (1.0 + slope * slope)).sqrt(),
            Self::Selu => 0.75,
        }
    }
}

/// Returns the number of inputs of an output and the number of outputs of an input, for weights of shape
/// `[outputs, inputs, kernel…]`.
///
/// # Panics
/// If the shape has fewer than two axes.
///
/// ```
/// use pullback::nn::init::fans;
///
/// assert_eq!(fans(&[10, 784]), (784, 10));
/// assert_eq!(fans(&[16, 3, 5, 5]), (75, 400));
/// ```
#[track_caller]
pub fn fans(shape: &[usize]) -> (usize, usize) {
    let [outputs, inputs, kernel @ ..] = shape else {
        panic!("fans of weights of shape {shape:?}: there are no axes for outputs and inputs")
    };
    let seen: usize = kernel.iter().product();
    (inputs * seen, outputs * seen)
}

/// Draws uniform numbers with the variance 2 · gain² / (inputs + outputs), a compromise between the forward and the
/// backward pass (Glorot and Bengio, 2010).
#[doc = autograd_core::math!(r"\mathcal{U}(-a, a), \qquad a = \text{gain} \cdot \sqrt{\frac{6}{\text{inputs} + \text{outputs}}}")]
/// # Panics
/// If the shape has fewer than two axes, or `gain` is negative or not finite.
#[track_caller]
pub fn xavier_uniform<T: Element, S: IntoDimension>(
    shape: S,
    gain: f64,
    generator: &mut impl Rng,
) -> Array<T, S::Dim> {
    let shape = shape.into_dimension();
    let bound = 3.0_f64.sqrt() * xavier_std(lengths(&shape), gain);
    uniform(shape, -bound, bound, generator)
}

/// Draws normal numbers with the variance 2 · gain² / (inputs + outputs) (Glorot and Bengio,
/// 2010).
#[doc = autograd_core::math!(r"\mathcal{N}\left(0, \sigma^2\right), \qquad \sigma = \text{gain} \cdot \sqrt{\frac{2}{\text{inputs} + \text{outputs}}}")]
/// # Panics
/// If the shape has fewer than two axes, or `gain` is negative or not finite.
#[track_caller]
pub fn xavier_normal<T: Element, S: IntoDimension>(
    shape: S,
    gain: f64,
    generator: &mut impl Rng,
) -> Array<T, S::Dim> {
    let shape = shape.into_dimension();
    let std = xavier_std(lengths(&shape), gain);
    normal(shape, 0.0, std, generator)
}

/// Draws uniform numbers with the variance gain² / fan, with the gain of the `nonlinearity` that follows (He
/// and others, 2015).
#[doc = autograd_core::math!(r"\mathcal{U}(-a, a), \qquad a = \text{gain} \cdot \sqrt{\frac{3}{\text{fan}}}")]
/// # Panics
/// If the shape has fewer than two axes, or the gain is not finite.
#[track_caller]
pub fn kaiming_uniform<T: Element, S: IntoDimension>(
    shape: S,
    fan: Fan,
    nonlinearity: Nonlinearity,
    generator: &mut impl Rng,
) -> Array<T, S::Dim> {
    let shape = shape.into_dimension();
    let bound = 3.0_f64.sqrt() * kaiming_std(lengths(&shape), fan, nonlinearity);
    uniform(shape, -bound, bound, generator)
}

/// Draws normal numbers with the variance gain² / fan, with the gain of the `nonlinearity`
/// that follows (He and others, 2015).
#[doc = autograd_core::math!(r"\mathcal{N}\left(0, \sigma^2\right), \qquad \sigma = \frac{\text{gain}}{\sqrt{\text{fan}}}")]
/// # Panics
/// If the shape has fewer than two axes, or the gain is not finite.
///
/// ```
/// use pullback::nn::init::{self, Fan, Nonlinearity};
/// use pullback::nn::Generator;
///
/// let (shape, generator) = ((300, 200), &mut Generator::seed(7));
/// let weight = init::kaiming_normal::<f32, _>(shape, Fan::In, Nonlinearity::Relu, generator);
/// assert!((weight.std(0.0) - 0.1).abs() < 0.01);
/// ```
#[track_caller]
pub fn kaiming_normal<T: Element, S: IntoDimension>(
    shape: S,
    fan: Fan,
    nonlinearity: Nonlinearity,
    generator: &mut impl Rng,
) -> Array<T, S::Dim> {
    let shape = shape.into_dimension();
    let std = kaiming_std(lengths(&shape), fan, nonlinearity);
    normal(shape, 0.0, std, generator)
}

#[track_caller]
fn xavier_std(shape: &[usize], gain: f64) -> f64 {
    assert!(
        gain.is_finite() && gain >= 0.0,
        "a gain of {gain} for weights of shape {shape:?}: it must be finite and at least 0"
    );
    let (inputs, outputs) = fans(shape);
    gain * (2.0 / at_least_one(inputs + outputs)).sqrt()
}

#[track_caller]
fn kaiming_std(shape: &[usize], fan: Fan, nonlinearity: Nonlinearity) -> f64 {
    let gain = nonlinearity.gain();
    assert!(
        gain.is_finite(),
        "{nonlinearity:?} after weights of shape {shape:?}: its gain is {gain}"
    );
    let (inputs, outputs) = fans(shape);
    let fan = match fan {
        Fan::In => inputs,
        Fan::Out => outputs,
    };
    gain / at_least_one(fan).sqrt()
}

/// Returns a count to divide by, at least 1: if it is 0 there are no elements to scale.
fn at_least_one(count: usize) -> f64 {
    count.max(1) as f64
}
