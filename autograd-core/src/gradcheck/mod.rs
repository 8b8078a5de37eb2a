//! Numerical against analytical derivatives, to first and second order.
//!
//! `run` checks one derivative after the other, `check` a single one, on tensors whose types are forgotten, and
//! `directions` the same with less work; `thorough` checks
//! what a right Jacobian does not show; `samples` has the numbers; `names` says whose derivative is wrong; `generated`
//! and, for the rule of a batch, `batch` are what the macro's tests call.

pub(crate) mod batch;
mod check;
mod directions;
pub(crate) mod generated;
mod names;
mod run;
mod samples;
mod thorough;
mod tolerances;

use std::panic::Location;

use crate::erased::{AnyTensor, InputTensors, OutputTensors, erased};
use crate::error::Error;
use tolerances::Tolerances;

/// Checks the gradients of a function against central differences.
#[doc = crate::math!(r"\frac{\partial y_j}{\partial x_i} \approx \frac{y_j\left(x + \varepsilon e_i\right) - y_j\left(x - \varepsilon e_i\right)}{2 \varepsilon}")]
/// Here ε is [`eps`](Self::eps), and eᵢ is 1 at the entry i and 0 elsewhere.
///
/// Every entry of every input is moved by `eps` to both sides; every entry of every output is
/// differentiated by a backward pass of its own; the two must agree within `atol + rtol · |numerical|`.
/// Inputs that require grad are checked, or all of them if none does.
///
/// The defaults in `f64` are `eps` 1e-6, `atol` 1e-5 and `rtol` 1e-3; if an input is `f32`, whose
/// rounding allows no more, 4e-3, 1e-2 and 1e-2.
///
/// ```
/// use pullback::{Gradcheck, Tensor};
/// use pullback::ndarray::array;
///
/// let x = Tensor::from(array![0.5, -1.0]).set_requires_grad(true);
/// let w = Tensor::from(array![2.0, 3.0]).set_requires_grad(true);
/// Gradcheck::new().second_order().run(|(x, w)| (x * w).exp(), (&x, &w))?;
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[must_use = "nothing is checked before `run`"]
#[expect(clippy::struct_excessive_bools, reason = "each is another option")]
pub struct Gradcheck {
    eps: Option<f64>,
    atol: Option<f64>,
    rtol: Option<f64>,
    second_order: bool,
    thorough: bool,
    forward_mode: bool,
    fast: bool,
}

impl Gradcheck {
    /// A check with the default tolerances, of the first order.
    ///
    /// ```
    /// use pullback::{Gradcheck, Tensor};
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![0.5, -1.0]);
    /// assert!(Gradcheck::new().run(|x| x.sin(), &x).is_ok());
    /// assert!(Gradcheck::new().run(|x| x * x.detach(), &x).is_err());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// How far each entry is moved to either side.
    ///
    /// ```
    /// use pullback::{Gradcheck, Tensor};
    /// use pullback::ndarray::array;
    ///
    /// // So close to its kink, |x| looks straight only from closer still.
    /// let x = Tensor::from(array![1e-7]);
    /// assert!(Gradcheck::new().run(|x| x.abs(), &x).is_err());
    /// assert!(Gradcheck::new().eps(1e-8).run(|x| x.abs(), &x).is_ok());
    /// ```
    pub fn eps(self, eps: f64) -> Self {
        Self {
            eps: Some(eps),
            ..self
        }
    }

    /// Sets the absolute tolerance.
    ///
    /// ```
    /// use pullback::{Gradcheck, Tensor};
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![2.0]);
    /// let off_by_a_little = |x: &Tensor<_, _>| x * 0.0 + x.detach() * 1e-4;
    /// assert!(Gradcheck::new().run(off_by_a_little, &x).is_err());
    /// assert!(Gradcheck::new().atol(1e-3).run(off_by_a_little, &x).is_ok());
    /// ```
    pub fn atol(self, atol: f64) -> Self {
        Self {
            atol: Some(atol),
            ..self
        }
    }

    /// Sets the tolerance relative to the numerical value.
    ///
    /// ```
    /// use pullback::{Gradcheck, Tensor};
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![2.0]);
    /// let off_by_a_hundredth = |x: &Tensor<_, _>| x * 100.0 + x.detach();
    /// assert!(Gradcheck::new().run(off_by_a_hundredth, &x).is_err());
    /// assert!(Gradcheck::new().rtol(0.02).run(off_by_a_hundredth, &x).is_ok());
    /// ```
    pub fn rtol(self, rtol: f64) -> Self {
        Self {
            rtol: Some(rtol),
            ..self
        }
    }

    /// Checks the gradient of the gradient too: with respect to the inputs, and to the gradient that
    /// is given, whose own history must not be lost.
    ///
    /// ```
    /// use pullback::ndarray::{Array1, ArrayView1, array};
    /// use pullback::{ErrorKind, Gradcheck, Tensor, custom_function};
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
    /// let x = Tensor::from(array![0.5, -1.0]);
    /// let check = Gradcheck::new().second_order();
    /// assert!(check.run(|x| x * 2.0, &x).is_ok());
    /// let error = check.run(Double::apply, &x).unwrap_err();
    /// assert!(error.kind() == &ErrorKind::OnceDifferentiable);
    /// ```
    pub fn second_order(self) -> Self {
        Self {
            second_order: true,
            ..self
        }
    }

    /// Checks forward mode too: the tangents along every entry of the inputs. With
    /// [`second_order`](Self::second_order), also what comes of differentiating the tangents, by backward
    /// passes and by forward mode once more.
    ///
    /// ```
    /// use pullback::{Gradcheck, Tensor};
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![0.5, -1.0]);
    /// Gradcheck::new().forward_mode().run(|(x,)| x * &x.tanh(), (&x,))?;
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn forward_mode(self) -> Self {
        Self {
            forward_mode: true,
            ..self
        }
    }

    /// Compares one number for each input and output instead of a derivative for each pair of their
    /// entries: all entries of the input are moved at once along a direction without a pattern, and the
    /// changes of the output are added up with weights without one. The function is called twice for each
    /// input. Only where the numbers differ by more than rounding explains, the entries are compared one by
    /// one: what is found wrong is what the whole check finds wrong.
    ///
    /// A wrong derivative goes unnoticed if its mistakes cancel along these directions, which takes an
    /// accident, or are so small that they are lost among the right ones. What
    /// [`thorough`](Self::thorough) looks at is not less.
    ///
    /// ```
    /// use pullback::{Gradcheck, Tensor};
    /// use pullback::ndarray::Array2;
    ///
    /// let x = Tensor::from(Array2::<f64>::eye(20));
    /// Gradcheck::new().fast().second_order().run(|x| x.matmul(x).tanh(), &x)?;
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn fast(self) -> Self {
        Self { fast: true, ..self }
    }

    /// Checks also what right derivatives do not show. Backward must
    ///
    /// - give the same twice, to the last bit: it has no state and is deterministic;
    /// - be linear in the incoming gradients;
    /// - read gradients and inputs correctly whatever their layout in memory: with gaps, in another
    ///   order of axes, or one number repeated;
    /// - take the lack of a gradient for zeros, where the function has several outputs.
    ///
    /// [`Mismatch::check`](crate::Mismatch::check) says which of these failed.
    ///
    /// ```
    /// use pullback::{Gradcheck, Tensor};
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![[0.5, -1.0], [2.0, 1.0]]);
    /// Gradcheck::new().thorough().run(|(x,)| x.matmul(&x.t()), (&x,))?;
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn thorough(self) -> Self {
        Self {
            thorough: true,
            ..self
        }
    }

    /// Checks `function`, of a tensor by reference, a list, or a tuple of up to twelve, at `inputs`.
    ///
    /// # Errors
    /// [`Gradcheck`](crate::ErrorKind::Gradcheck) names the first entry that disagrees; other errors are those
    /// of the backward passes, [`OnceDifferentiable`](crate::ErrorKind::OnceDifferentiable) among them for the
    /// second order, and of forward mode, [`NoForwardRule`](crate::ErrorKind::NoForwardRule) among them.
    ///
    /// # Panics
    /// If `function` does, or if its outputs change their shapes.
    ///
    /// ```
    /// use pullback::{Gradcheck, Tensor};
    /// use pullback::ndarray::array;
    ///
    /// let (x, w) = (Tensor::from(array![0.5, -1.0]), Tensor::from(array![2.0, 3.0]));
    /// Gradcheck::new().run(|(x, w)| (x * w, x.sum()), (&x, &w))?;
    /// let error = Gradcheck::new().run(|(x, w)| x * w.detach(), (&x, &w)).unwrap_err();
    /// assert!(error.to_string().contains("with respect to input 1"));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[track_caller]
    pub fn run<I, O, F>(self, function: F, inputs: I) -> Result<(), Error>
    where
        I: InputTensors,
        O: OutputTensors,
        F: for<'a> Fn(I::Refs<'a>) -> O,
    {
        let inputs = inputs.to_tensors();
        let function = erased::<I, O>(inputs.lengths(), function);
        let (inputs, called_at) = (inputs.into_erased(), Location::caller());
        run::check(self, &function, &inputs, self.orders(), called_at)
    }

    fn orders(self) -> [u32; 2] {
        let order = 1 + u32::from(self.second_order);
        [order, if self.forward_mode { order } else { 0 }]
    }

    fn tolerances(self, inputs: &[AnyTensor]) -> Tolerances {
        let single = inputs
            .iter()
            .any(|input| matches!(input, AnyTensor::F32(_)));
        let (eps, atol, rtol) = if single {
            (4e-3, 1e-2, 1e-2)
        } else {
            (1e-6, 1e-5, 1e-3)
        };
        Tolerances {
            eps: self.eps.unwrap_or(eps),
            atol: self.atol.unwrap_or(atol),
            rtol: self.rtol.unwrap_or(rtol),
        }
    }
}
