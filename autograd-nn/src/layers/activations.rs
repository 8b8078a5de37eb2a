//! Functions of tensors as modules, without parameters, for tensors of any rank.

use autograd_core::ndarray::{Axis, Dimension};
use autograd_core::{Element, Tensor, Tensor2};

use crate::forward::Forward;
use crate::layers::shapes;
use crate::module::Module;

/// Modules without options.
macro_rules! functions {
    ($($(#[$attribute:meta])* $Name:ident => $method:ident;)+) => {$(
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, Default, Module)]
        pub struct $Name;

        impl<T: Element, D: Dimension> Forward<&Tensor<T, D>> for $Name {
            type Output = Tensor<T, D>;

            #[track_caller]
            fn forward(&self, input: &Tensor<T, D>) -> Tensor<T, D> {
                input.$method()
            }
        }
    )+};
}

functions! {
    /// max(x, 0) of each element; see [`Tensor::relu`].
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::Relu;
    /// use pullback::prelude::*;
    ///
    /// assert_eq!(Relu.forward(&Tensor::from(array![-1.0, 2.0])).to_array(), array![0.0, 2.0]);
    /// ```
    Relu => relu;

    /// x Φ(x) of each element, where Φ is the distribution function of the standard normal distribution (Hendrycks
    /// and Gimpel, 2016); see [`Tensor::gelu`].
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::Gelu;
    /// use pullback::prelude::*;
    ///
    /// let y: Tensor1<f64> = Gelu.forward(&Tensor::from(array![0.0, 1.0]));
    /// assert!(y.view()[0] == 0.0 && (y.view()[1] - 0.841_344_746).abs() < 1e-8);
    /// ```
    Gelu => gelu;

    /// The approximation of [`Gelu`] by tanh, with which some models are trained; see [`Tensor::gelu_tanh`].
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::GeluTanh;
    /// use pullback::prelude::*;
    ///
    /// let y: Tensor1<f64> = GeluTanh.forward(&Tensor::from(array![0.0, 1.0]));
    /// assert!(y.view()[0] == 0.0 && (y.view()[1] - 0.841_191_990).abs() < 1e-8);
    /// ```
    GeluTanh => gelu_tanh;

    /// x / (1 + e⁻ˣ) of each element; see [`Tensor::silu`].
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::Silu;
    /// use pullback::prelude::*;
    ///
    /// let y = Silu.forward(&Tensor::from(array![0.0, 100.0])).to_array();
    /// assert_eq!(y, array![0.0, 100.0]);
    /// ```
    Silu => silu;

    /// 1 / (1 + e⁻ˣ) of each element; see [`Tensor::sigmoid`].
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::Sigmoid;
    /// use pullback::prelude::*;
    ///
    /// assert_eq!(Sigmoid.forward(&Tensor::from(array![0.0])).to_array(), array![0.5]);
    /// ```
    Sigmoid => sigmoid;

    /// tanh of each element; see [`Tensor::tanh`].
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::Tanh;
    /// use pullback::prelude::*;
    ///
    /// assert_eq!(Tanh.forward(&Tensor::from(array![0.0, 100.0])).to_array(), array![0.0, 1.0]);
    /// ```
    Tanh => tanh;
}

/// x of each positive element, `negative_slope` · x of the others; see [`Tensor::leaky_relu`].
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::LeakyRelu;
/// use pullback::prelude::*;
///
/// let leaky = LeakyRelu::new(0.5);
/// assert_eq!(leaky.forward(&Tensor::from(array![-1.0, 2.0])).to_array(), array![-0.5, 2.0]);
/// assert_eq!(LeakyRelu::default().to_string(), "LeakyRelu(negative_slope=0.01)");
/// ```
#[derive(Clone, Copy, Debug, Module)]
pub struct LeakyRelu {
    #[module(skip, show)]
    negative_slope: f64,
}

impl LeakyRelu {
    /// Creates the function with this slope for negative elements.
    pub fn new(negative_slope: f64) -> Self {
        Self { negative_slope }
    }
}

/// The default slope is 0.01.
impl Default for LeakyRelu {
    fn default() -> Self {
        Self::new(0.01)
    }
}

impl<T: Element, D: Dimension> Forward<&Tensor<T, D>> for LeakyRelu {
    type Output = Tensor<T, D>;

    #[track_caller]
    fn forward(&self, input: &Tensor<T, D>) -> Tensor<T, D> {
        input.leaky_relu(T::from_f64(self.negative_slope))
    }
}

/// x of each positive element, α(eˣ − 1) of the others (Clevert and others, 2015); see [`Tensor::elu`].
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::Elu;
/// use pullback::prelude::*;
///
/// let y = Elu::default().forward(&Tensor::from(array![f64::NEG_INFINITY, 2.0]));
/// assert_eq!(y.to_array(), array![-1.0, 2.0]);
/// ```
#[derive(Clone, Copy, Debug, Module)]
pub struct Elu {
    #[module(skip, show)]
    alpha: f64,
}

impl Elu {
    /// Creates the function with this α: the limit for x → −∞ is −`alpha`.
    pub fn new(alpha: f64) -> Self {
        Self { alpha }
    }
}

/// The default α is 1.
impl Default for Elu {
    fn default() -> Self {
        Self::new(1.0)
    }
}

impl<T: Element, D: Dimension> Forward<&Tensor<T, D>> for Elu {
    type Output = Tensor<T, D>;

    #[track_caller]
    fn forward(&self, input: &Tensor<T, D>) -> Tensor<T, D> {
        input.elu(T::from_f64(self.alpha))
    }
}

/// ln(1 + e^βx) / β of each element; see [`Tensor::softplus`]. Exact for large x too, so it has no counterpart of
/// PyTorch's threshold.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::Softplus;
/// use pullback::prelude::*;
///
/// let y = Softplus::new(2.0).forward(&Tensor::from(array![0.0, 1000.0]));
/// let [small, large] = [y.to_array()[0], y.to_array()[1]];
/// assert!((small - 2.0_f64.ln() / 2.0).abs() < 1e-15);
/// assert_eq!(large, 1000.0);
/// ```
#[derive(Clone, Copy, Debug, Module)]
pub struct Softplus {
    #[module(skip, show)]
    beta: f64,
}

impl Softplus {
    /// Creates the function with this β; a larger β bends more sharply.
    ///
    /// # Panics
    /// If β is not finite, or not above 0.
    #[track_caller]
    pub fn new(beta: f64) -> Self {
        assert!(
            beta.is_finite() && beta > 0.0,
            "Softplus with the beta {beta}: it must be finite and above 0"
        );
        Self { beta }
    }
}

/// The default β is 1.
impl Default for Softplus {
    fn default() -> Self {
        Self::new(1.0)
    }
}

impl<T: Element, D: Dimension> Forward<&Tensor<T, D>> for Softplus {
    type Output = Tensor<T, D>;

    #[track_caller]
    fn forward(&self, input: &Tensor<T, D>) -> Tensor<T, D> {
        if self.beta == 1.0 {
            return input.softplus();
        }
        let beta = T::from_f64(self.beta);
        (input * beta).softplus() / beta
    }
}

/// Exponentials divided by their sum along an axis; see [`Tensor::softmax`].
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::Softmax;
/// use pullback::prelude::*;
///
/// let y = Softmax::new(1).forward(&Tensor::from(array![[0.0, 0.0], [5.0, 5.0]]));
/// assert_eq!(y.to_array(), array![[0.5, 0.5], [0.5, 0.5]]);
/// ```
#[derive(Clone, Copy, Debug, Module)]
pub struct Softmax {
    #[module(skip, show)]
    dim: usize,
}

impl Softmax {
    /// Creates the function along the axis `dim`.
    pub fn new(dim: usize) -> Self {
        Self { dim }
    }
}

impl<T: Element, D: Dimension> Forward<&Tensor<T, D>> for Softmax {
    type Output = Tensor<T, D>;

    /// # Panics
    /// If the input does not have the axis.
    #[track_caller]
    fn forward(&self, input: &Tensor<T, D>) -> Tensor<T, D> {
        let fits = self.dim < input.ndim();
        shapes::fits(self, input.shape(), fits, "the axis is out of range");
        input.softmax(Axis(self.dim))
    }
}

/// Flattens all axes but the first, so that each example of a batch is one row. It copies only elements that are not
/// in row-major order.
///
/// ```
/// use pullback::ndarray::Array4;
/// use pullback::nn::Flatten;
/// use pullback::prelude::*;
///
/// let images = Tensor::from(Array4::<f32>::zeros((8, 3, 5, 5)));
/// assert_eq!(Flatten.forward(&images).shape(), [8, 75]);
/// ```
#[derive(Clone, Copy, Debug, Default, Module)]
pub struct Flatten;

impl<T: Element, D: Dimension> Forward<&Tensor<T, D>> for Flatten {
    type Output = Tensor2<T>;

    /// # Panics
    /// If the input has no axes.
    #[track_caller]
    fn forward(&self, input: &Tensor<T, D>) -> Tensor2<T> {
        let shape = input.shape();
        shapes::fits(
            self,
            shape,
            !shape.is_empty(),
            "there is no axis for examples",
        );
        input.reshape((shape[0], shape[1..].iter().product::<usize>()))
    }
}
