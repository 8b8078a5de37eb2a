//! `Adam` and `AdamW`.

use autograd_core::Element;
use autograd_kernels::zip_slices_in_place;

use crate::optim::first_order::FirstOrder;
use crate::optim::rule::{Rule, Step};
use crate::optim::settings::{below_one, not_negative};

/// Adam, whose steps are about as large as the learning rate, whatever the scale of the gradients. With g = ∇θ +
/// decay θ, the update t is:
#[doc = autograd_core::math!(
    r"\begin{aligned}"
    r"m &\gets \beta_1 m + (1 - \beta_1) \, g \\"
    r"v &\gets \beta_2 v + (1 - \beta_2) \, g^2 \\"
    r"\theta &\gets \theta - \text{rate} \cdot \frac{m / (1 - \beta_1^t)}{\sqrt{v / (1 - \beta_2^t)} + \text{eps}}"
    r"\end{aligned}"
)]
/// The state of a parameter is m, as `exp_avg`, v, as `exp_avg_sq`, and with [`amsgrad`](FirstOrder::amsgrad) the
/// largest v, as `max_exp_avg_sq`. Kingma and Ba, *Adam: A Method for Stochastic Optimization* (2015).
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::Parameter;
/// use pullback::optim::{Adam, Optimizer};
///
/// let mut w = Parameter::new(array![1.0, 1.0]);
/// w.set_grad(array![1e-3, -5e4]);
/// Adam::new(0.1).betas(0.9, 0.999).eps(1e-12).step(&mut w);
/// // The first step depends on the sign of the gradient only.
/// assert!((w.to_array() - array![0.9, 1.1]).iter().all(|off: &f64| off.abs() < 1e-9));
/// ```
pub type Adam = FirstOrder<AdamRule<false>>;

/// Adam with decoupled weight decay: θ = θ − rate decay θ before each update, and g = ∇θ. The decay of a value does
/// not depend on its gradients.
#[doc = autograd_core::math!(r"\theta \gets \theta - \text{rate} \cdot \left(\text{decay} \cdot \theta + \frac{m / (1 - \beta_1^t)}{\sqrt{v / (1 - \beta_2^t)} + \text{eps}}\right)")]
/// All else is as in [`Adam`]; the weight decay is 0.01 by default. Loshchilov and Hutter, *Decoupled Weight Decay
/// Regularization* (2019).
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::Parameter;
/// use pullback::optim::{AdamW, Optimizer};
///
/// let mut w = Parameter::new(array![10.0]);
/// w.set_grad(array![0.0]);
/// AdamW::new(0.1).weight_decay(0.5).step(&mut w);
/// assert_eq!(w.item(), 9.5);
/// ```
pub type AdamW = FirstOrder<AdamRule<true>>;

/// The formula of Adam. The weight decay is added to the gradient, or `DECOUPLED` from it.
#[derive(Clone, Debug)]
pub struct AdamRule<const DECOUPLED: bool> {
    betas: [f64; 2],
    eps: f64,
    weight_decay: f64,
    amsgrad: bool,
    maximize: bool,
}

impl<const DECOUPLED: bool> FirstOrder<AdamRule<DECOUPLED>> {
    /// Creates the optimizer with this learning rate, β₁ = 0.9, β₂ = 0.999, eps = 10⁻⁸ and a weight decay of 0, or
    /// 0.01 for [`AdamW`].
    ///
    /// # Panics
    /// If the learning rate is negative or not finite.
    #[must_use]
    #[track_caller]
    pub fn new(learning_rate: f64) -> Self {
        let rule = AdamRule {
            betas: [0.9, 0.999],
            eps: 1e-8,
            weight_decay: if DECOUPLED { 0.01 } else { 0.0 },
            amsgrad: false,
            maximize: false,
        };
        Self::of(learning_rate, rule)
    }

    /// Sets the decay rates of the averages of the gradient, β₁, and of its square, β₂.
    ///
    /// # Panics
    /// If either is negative, or is not below 1.
    #[must_use]
    #[track_caller]
    pub fn betas(mut self, first: f64, second: f64) -> Self {
        self.settings.rule.betas = [
            below_one("first beta", first),
            below_one("second beta", second),
        ];
        self
    }

    /// Sets the number that is added to the root; gradients far below it make smaller steps.
    ///
    /// # Panics
    /// If `eps` is negative or not finite.
    #[must_use]
    #[track_caller]
    pub fn eps(mut self, eps: f64) -> Self {
        self.settings.rule.eps = not_negative("eps", eps);
        self
    }

    /// Sets the weight decay. [`Adam`] adds `decay` times the value to the gradient, like a penalty on squares;
    /// [`AdamW`] subtracts the learning rate times `decay` times the value in each update.
    ///
    /// # Panics
    /// If the weight decay is negative or not finite.
    #[must_use]
    #[track_caller]
    pub fn weight_decay(mut self, decay: f64) -> Self {
        self.settings.rule.weight_decay = not_negative("weight decay", decay);
        self
    }

    /// Sets whether to divide by the root of the largest v so far, so that steps do not grow when gradients shrink.
    /// Reddi et al., *On the Convergence of Adam and Beyond* (2018); as in PyTorch, the largest v is taken before the
    /// division by 1 − β₂ᵗ.
    #[must_use]
    pub fn amsgrad(mut self, amsgrad: bool) -> Self {
        self.settings.rule.amsgrad = amsgrad;
        self
    }

    /// Sets whether to maximize instead of minimizing.
    #[must_use]
    pub fn maximize(mut self, maximize: bool) -> Self {
        self.settings.rule.maximize = maximize;
        self
    }
}

impl<const DECOUPLED: bool> Rule for AdamRule<DECOUPLED> {
    fn kinds(&self) -> [Option<&'static str>; 3] {
        let largest = self.amsgrad.then_some("max_exp_avg_sq");
        [Some("exp_avg"), Some("exp_avg_sq"), largest]
    }

    fn update<T: Element>(&self, step: Step, value: &mut [T], saved: [&mut [T]; 3], grad: &[T]) {
        let t = step.count as f64;
        let [first, second] = self.betas;
        let decay = |here: bool| if here { self.weight_decay } else { 0.0 };
        let sign = T::from_f64(if self.maximize { -1.0 } else { 1.0 });
        let penalty = T::from_f64(decay(!DECOUPLED));
        let remaining = T::from_f64(1.0 - step.rate * decay(DECOUPLED));
        let size = T::from_f64(step.rate / (1.0 - first.powf(t)));
        let scale = T::from_f64((1.0 - second.powf(t)).sqrt().recip());
        let new = [1.0 - first, 1.0 - second].map(T::from_f64);
        let [old, eps] = [second, self.eps].map(T::from_f64);

        let averages = move |w: T, m: T, v: T, g: T| {
            let g = sign * g + penalty * w;
            (m + new[0] * (g - m), old * v + new[1] * g * g)
        };
        let moved = move |w: T, m: T, v: T| remaining * w - size * m / (v.sqrt() * scale + eps);
        let [average, squares, largest] = saved;
        if self.amsgrad {
            let slices = [value, average, squares, largest];
            return zip_slices_in_place(slices, grad, move |[w, m, v, most], g| {
                let (m, v) = averages(w, m, v, g);
                // A NaN counts as larger.
                let most = if v <= most { most } else { v };
                [moved(w, m, most), m, v, most]
            });
        }
        zip_slices_in_place([value, average, squares], grad, move |[w, m, v], g| {
            let (m, v) = averages(w, m, v, g);
            [moved(w, m, v), m, v]
        });
    }
}
