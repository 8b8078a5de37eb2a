//! Root mean square propagation.

use super::settings::{below_one, not_negative};
use super::stepper::{Rule, Step, Stepper, optimizer};
use crate::Element;
use crate::kernels::zip_slices_in_place;

/// Root mean square propagation: gradients divided by the root of the average of their squares. With g = ∇θ + decay θ:
#[doc = crate::math!(
    r"\begin{aligned}"
    r"s &\gets \alpha s + (1 - \alpha) \, g^2 \\"
    r"a &\gets \alpha a + (1 - \alpha) \, g \quad \text{if centered, else } 0 \\"
    r"b &\gets \text{momentum} \cdot b + \frac{g}{\sqrt{s - a^2} + \text{eps}} \\"
    r"\theta &\gets \theta - \text{rate} \cdot b"
    r"\end{aligned}"
)]
/// Kept of each parameter: s as `square_avg`, b as `momentum_buffer` if there is momentum, a as `grad_avg` if
/// [`centered`](Self::centered) is set. Tieleman and Hinton, *Lecture 6.5: rmsprop* (2012); centered: Graves,
/// *Generating Sequences With Recurrent Neural Networks* (2013).
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::Parameter;
/// use pullback::optim::{Optimizer, RmsProp};
///
/// let mut w = Parameter::new(array![1.0]);
/// w.set_grad(array![4.0]);
/// RmsProp::new(0.01).alpha(0.75).eps(0.0).step(&mut w);
/// // √(0.25 · 4²) = 2
/// assert_eq!(w.item(), 1.0 - 0.01 * 4.0 / 2.0);
/// ```
#[derive(Debug)]
pub struct RmsProp {
    stepper: Stepper<RmsPropRule>,
}

#[derive(Clone, Debug)]
struct RmsPropRule {
    alpha: f64,
    eps: f64,
    momentum: f64,
    centered: bool,
    weight_decay: f64,
    maximize: bool,
}

impl RmsProp {
    /// `RmsProp` at this learning rate, with α = 0.99, eps = 10⁻⁸ and no momentum.
    ///
    /// # Panics
    /// If the rate is negative or no number.
    ///
    /// ```
    /// use pullback::optim::{Optimizer, RmsProp};
    ///
    /// assert_eq!(RmsProp::new(0.01).learning_rate(), 0.01);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn new(learning_rate: f64) -> Self {
        let rule = RmsPropRule {
            alpha: 0.99,
            eps: 1e-8,
            momentum: 0.0,
            centered: false,
            weight_decay: 0.0,
            maximize: false,
        };
        Self {
            stepper: Stepper::new(learning_rate, rule),
        }
    }

    /// How much of the averages goes on.
    ///
    /// # Panics
    /// If it is not at least 0 and below 1.
    ///
    /// ```
    /// use pullback::optim::RmsProp;
    ///
    /// let optimizer = RmsProp::new(0.01).alpha(0.9);
    /// # let _ = optimizer;
    /// ```
    #[must_use]
    #[track_caller]
    pub fn alpha(mut self, alpha: f64) -> Self {
        self.rule().alpha = below_one("alpha", alpha);
        self
    }

    /// What is added to the root.
    ///
    /// # Panics
    /// If it is negative or no number.
    ///
    /// ```
    /// use pullback::optim::RmsProp;
    ///
    /// let optimizer = RmsProp::new(0.01).eps(1e-6);
    /// # let _ = optimizer;
    /// ```
    #[must_use]
    #[track_caller]
    pub fn eps(mut self, eps: f64) -> Self {
        self.rule().eps = not_negative("eps", eps);
        self
    }

    /// How much of the last step's direction goes on; 0 unless it is set.
    ///
    /// # Panics
    /// If it is negative or no number.
    ///
    /// ```
    /// use pullback::optim::RmsProp;
    ///
    /// let optimizer = RmsProp::new(0.01).momentum(0.9);
    /// # let _ = optimizer;
    /// ```
    #[must_use]
    #[track_caller]
    pub fn momentum(mut self, momentum: f64) -> Self {
        self.rule().momentum = not_negative("momentum", momentum);
        self
    }

    /// Divides by the deviation of the gradients instead: the square of their average is taken off. Where
    /// rounding makes that negative it counts as 0.
    ///
    /// ```
    /// use pullback::optim::RmsProp;
    ///
    /// let optimizer = RmsProp::new(0.01).centered(true);
    /// # let _ = optimizer;
    /// ```
    #[must_use]
    pub fn centered(mut self, centered: bool) -> Self {
        self.rule().centered = centered;
        self
    }

    /// Adds this much of the value to the gradient: that of a penalty on squares; 0 unless it is set.
    ///
    /// # Panics
    /// If it is negative or no number.
    ///
    /// ```
    /// use pullback::optim::RmsProp;
    ///
    /// let optimizer = RmsProp::new(0.01).weight_decay(1e-4);
    /// # let _ = optimizer;
    /// ```
    #[must_use]
    #[track_caller]
    pub fn weight_decay(mut self, decay: f64) -> Self {
        self.rule().weight_decay = not_negative("weight decay", decay);
        self
    }

    /// Goes up instead of down.
    ///
    /// ```
    /// use pullback::optim::RmsProp;
    ///
    /// let optimizer = RmsProp::new(0.01).maximize(true);
    /// # let _ = optimizer;
    /// ```
    #[must_use]
    pub fn maximize(mut self, maximize: bool) -> Self {
        self.rule().maximize = maximize;
        self
    }

    fn rule(&mut self) -> &mut RmsPropRule {
        &mut self.stepper.settings.rule
    }
}

optimizer!(RmsProp, "RmsProp");

impl Rule for RmsPropRule {
    fn kinds(&self) -> [Option<&'static str>; 3] {
        let direction = (self.momentum != 0.0).then_some("momentum_buffer");
        let average = self.centered.then_some("grad_avg");
        [Some("square_avg"), direction, average]
    }

    fn update<T: Element>(&self, step: Step, value: &mut [T], kept: [&mut [T]; 3], grad: &[T]) {
        let sign = if self.maximize { -1.0 } else { 1.0 };
        let [sign, decay, rate] = [sign, self.weight_decay, step.rate].map(T::from_f64);
        let [alpha, new, eps] = [self.alpha, 1.0 - self.alpha, self.eps].map(T::from_f64);
        let momentum = T::from_f64(self.momentum);

        let squares = move |s: T, g: T| alpha * s + new * g * g;
        let average = move |a: T, g: T| a + new * (g - a);
        let gradient = move |w: T, g: T| sign * g + decay * w;
        let divided = move |g: T, s: T, a: T| {
            let variance = s - a * a;
            let variance = if variance < T::zero() {
                T::zero()
            } else {
                variance
            };
            g / (variance.sqrt() + eps)
        };
        let [s, b, a] = kept;
        match (self.momentum != 0.0, self.centered) {
            (false, false) => zip_slices_in_place([value, s], grad, move |[w, s], g| {
                let g = gradient(w, g);
                let s = squares(s, g);
                [w - rate * divided(g, s, T::zero()), s]
            }),
            (false, true) => zip_slices_in_place([value, s, a], grad, move |[w, s, a], g| {
                let g = gradient(w, g);
                let (s, a) = (squares(s, g), average(a, g));
                [w - rate * divided(g, s, a), s, a]
            }),
            (true, false) => zip_slices_in_place([value, s, b], grad, move |[w, s, b], g| {
                let g = gradient(w, g);
                let s = squares(s, g);
                let b = momentum * b + divided(g, s, T::zero());
                [w - rate * b, s, b]
            }),
            (true, true) => zip_slices_in_place([value, s, b, a], grad, move |[w, s, b, a], g| {
                let g = gradient(w, g);
                let (s, a) = (squares(s, g), average(a, g));
                let b = momentum * b + divided(g, s, a);
                [w - rate * b, s, b, a]
            }),
        }
    }
}
