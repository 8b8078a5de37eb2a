//! Stochastic gradient descent.

use autograd_core::Element;
use autograd_kernels::{zip_in_place, zip_slices_in_place};

use crate::optim::first_order::FirstOrder;
use crate::optim::rule::{Rule, Step};
use crate::optim::settings::not_negative;

/// Stochastic gradient descent, optionally with momentum:
#[doc = autograd_core::math!(
    r"\begin{aligned}"
    r"g &= \nabla \theta + \text{decay} \cdot \theta \\"
    r"v &\gets \begin{cases}"
    r"    g & \text{at the first update} \\"
    r"    \text{momentum} \cdot v + (1 - \text{dampening}) \, g & \text{then}"
    r"\end{cases} \\"
    r"\theta &\gets \theta - \text{rate} \cdot \begin{cases}"
    r"    g + \text{momentum} \cdot v & \text{with Nesterov's momentum} \\"
    r"    v & \text{else}"
    r"\end{cases}"
    r"\end{aligned}"
)]
/// With momentum, the state of a parameter is v, as `momentum_buffer`. The formula is PyTorch's; see Sutskever et
/// al., *On the importance of initialization and momentum in deep learning* (2013).
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::Parameter;
/// use pullback::optim::{Optimizer, Sgd};
///
/// let mut w = Parameter::new(array![4.0_f64]);
/// let mut optimizer = Sgd::new(0.1).momentum(0.9).nesterov(true);
/// for _ in 0..200 {
///     w.zero_grad();
///     w.square().sum().backward()?;
///     optimizer.step(&mut w);
/// }
/// assert!(w.item().abs() < 1e-3);
/// # Ok::<(), pullback::Error>(())
/// ```
pub type Sgd = FirstOrder<SgdRule>;

#[derive(Clone, Debug)]
pub struct SgdRule {
    momentum: f64,
    dampening: f64,
    nesterov: bool,
    weight_decay: f64,
    maximize: bool,
}

impl Sgd {
    /// Creates gradient descent with this learning rate, without momentum or weight decay.
    ///
    /// # Panics
    /// If the learning rate is negative or not finite.
    #[must_use]
    #[track_caller]
    pub fn new(learning_rate: f64) -> Self {
        let rule = SgdRule {
            momentum: 0.0,
            dampening: 0.0,
            nesterov: false,
            weight_decay: 0.0,
            maximize: false,
        };
        Self::of(learning_rate, rule)
    }

    /// Sets the momentum, the factor of the previous direction v; 0 by default.
    ///
    /// # Panics
    /// If the momentum is negative or not finite.
    #[must_use]
    #[track_caller]
    pub fn momentum(mut self, momentum: f64) -> Self {
        self.settings.rule.momentum = not_negative("momentum", momentum);
        self
    }

    /// Sets the dampening: from the second update on, the gradient is multiplied by 1 − dampening before it is added to
    /// v; 0 by default.
    ///
    /// # Panics
    /// If the dampening is negative or not finite.
    #[must_use]
    #[track_caller]
    pub fn dampening(mut self, dampening: f64) -> Self {
        self.settings.rule.dampening = not_negative("dampening", dampening);
        self
    }

    /// Sets whether to use Nesterov's momentum. It needs momentum and no dampening, or the first step panics.
    #[must_use]
    pub fn nesterov(mut self, nesterov: bool) -> Self {
        self.settings.rule.nesterov = nesterov;
        self
    }

    /// Sets the weight decay, the multiple of the value that is added to the gradient, like a penalty on squares; 0
    /// by default.
    ///
    /// # Panics
    /// If the weight decay is negative or not finite.
    #[must_use]
    #[track_caller]
    pub fn weight_decay(mut self, decay: f64) -> Self {
        self.settings.rule.weight_decay = not_negative("weight decay", decay);
        self
    }

    /// Sets whether to maximize instead of minimizing.
    #[must_use]
    pub fn maximize(mut self, maximize: bool) -> Self {
        self.settings.rule.maximize = maximize;
        self
    }
}

impl Rule for SgdRule {
    fn kinds(&self) -> [Option<&'static str>; 3] {
        let velocity = (self.momentum != 0.0).then_some("momentum_buffer");
        [velocity, None, None]
    }

    fn contradiction(&self) -> Option<String> {
        let (momentum, dampening) = (self.momentum, self.dampening);
        (self.nesterov && (momentum == 0.0 || dampening != 0.0)).then(|| {
            format!(
                "nesterov needs momentum and no dampening, found a momentum of {momentum} and a dampening of {dampening}"
            )
        })
    }

    fn update<T: Element>(&self, step: Step, value: &mut [T], saved: [&mut [T]; 3], grad: &[T]) {
        let sign = if self.maximize { -1.0 } else { 1.0 };
        let [sign, decay, rate] = [sign, self.weight_decay, step.rate].map(T::from_f64);
        if self.momentum == 0.0 {
            return zip_in_place(value, grad, move |w, g| w - rate * (sign * g + decay * w));
        }
        let (old, new) = match step.count {
            1 => (0.0, 1.0),
            _ => (self.momentum, 1.0 - self.dampening),
        };
        let (of_grad, of_velocity) = if self.nesterov {
            (1.0, self.momentum)
        } else {
            (0.0, 1.0)
        };
        let [old, new, of_grad, of_velocity] = [old, new, of_grad, of_velocity].map(T::from_f64);
        let [velocity, ..] = saved;
        zip_slices_in_place([value, velocity], grad, move |[w, v], g| {
            let g = sign * g + decay * w;
            let v = old * v + new * g;
            [w - rate * (of_grad * g + of_velocity * v), v]
        });
    }
}
