//! Checks of analytical against numerical derivatives, to first and second order.
//!
//! `run` checks one derivative after the other. `check` checks one derivative, on tensors of any type, and `directions`
//! does so with less work. `thorough` checks properties that a right Jacobian does not show. `samples` has the numbers;
//! `names` finds the function of a wrong derivative. The tests that the macro generates call `generated` and, for a
//! `#[vmap]` rule, `batch`.
//!
//! What tests call is compiled in this crate with the feature `ops`, and else in the tests: see `compiled`. All below it is
//! `#[inline]`, so that it is compiled in the same place.

pub(crate) mod adjoint;
pub(crate) mod batch;
mod check;
mod directions;
pub(crate) mod generated;
mod names;
mod run;
mod samples;
mod thorough;
mod tolerances;

use std::cell::Cell;
use std::panic::Location;

use crate::erased::{AnyTensor, InputTensors, OutputTensors, erased};
use crate::error::panic::caught_with_passes;
use crate::error::{Error, Unsolved};
use tolerances::Tolerances;

thread_local! {
    pub(crate) static GENERATED: Cell<bool> = const { Cell::new(false) };
    /// Whether a check runs.
    static RUNNING: Cell<bool> = const { Cell::new(false) };
    /// Outputs that do not solve the equations of a residual, which were found in a check.
    static UNSOLVED: Cell<Option<Unsolved>> = const { Cell::new(None) };
}

/// Returns whether a check of a function runs on this thread.
#[inline]
pub(crate) fn is_running() -> bool {
    RUNNING.get() || GENERATED.get()
}

/// Keeps what a message about a derivative that is wrong mentions: outputs that do not solve their equations.
#[inline]
pub(crate) fn note(unsolved: Unsolved) {
    let known = UNSOLVED.get();
    UNSOLVED.set(known.or(Some(unsolved)));
}

/// Returns whether a generated test checks a function on this thread.
#[inline]
pub(crate) fn is_generated() -> bool {
    GENERATED.get()
}

/// Checks the gradients of a function against central differences.
#[doc = crate::math!(r"\frac{\partial y_j}{\partial x_i} \approx \frac{y_j\left(x + \varepsilon e_i\right) - y_j\left(x - \varepsilon e_i\right)}{2 \varepsilon}")]
/// Here ε is [`eps`](Self::eps), and eᵢ is 1 at the entry i and 0 elsewhere.
///
/// Every entry of every input is moved by `eps` to both sides; every entry of every output is
/// differentiated by a separate backward pass; the two derivatives must agree within `atol + rtol · |numerical|`.
/// Inputs that require grad are checked, or all of them if none does.
///
/// The defaults in `f64` are `eps` 1e-6, `atol` 1e-5 and `rtol` 1e-3; if an input is `f32`, whose
/// rounding allows no more, 4e-3, 1e-2 and 1e-2.
///
/// ```
/// use pullback::{Gradcheck, Tensor, ndarray::array};
///
/// let x = Tensor::from(array![0.5, -1.0]).set_requires_grad(true);
/// let w = Tensor::from(array![2.0, 3.0]).set_requires_grad(true);
/// Gradcheck::new().run(|(x, w)| (x * w).exp(), (&x, &w))?;
/// let every_check = Gradcheck::new().second_order().forward_mode().thorough();
/// every_check.run(|(x, w)| (x * w).exp(), (&x, &w))?;
///
/// let off_by_a_hundredth = |x: &Tensor<_, _>| x * 100.0 + x.detach();
/// assert!(Gradcheck::new().fast().run(off_by_a_hundredth, &x).is_err());
/// assert!(Gradcheck::new().eps(1e-5).rtol(0.02).run(off_by_a_hundredth, &x).is_ok());
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
    /// Returns a check of the first order, with the default tolerances.
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the distance by which each entry is moved to either side.
    #[inline]
    pub fn eps(self, eps: f64) -> Self {
        Self {
            eps: Some(eps),
            ..self
        }
    }

    /// Sets the absolute tolerance.
    #[inline]
    pub fn atol(self, atol: f64) -> Self {
        Self {
            atol: Some(atol),
            ..self
        }
    }

    /// Sets the tolerance relative to the numerical value.
    #[inline]
    pub fn rtol(self, rtol: f64) -> Self {
        Self {
            rtol: Some(rtol),
            ..self
        }
    }

    /// Checks the gradients of the gradients too, with respect to the inputs and to the gradients of the outputs.
    ///
    /// ```
    /// use pullback::{ErrorKind, Gradcheck, Tensor, custom_function, ndarray::{Array1, ArrayView1, array}};
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
    #[inline]
    pub fn second_order(self) -> Self {
        Self {
            second_order: true,
            ..self
        }
    }

    /// Checks forward mode too: the tangents along every entry of the inputs. With
    /// [`second_order`](Self::second_order), the derivatives of the tangents are checked too, by backward passes and by
    /// forward mode.
    #[inline]
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
    /// one: a function that fails here fails the whole check.
    ///
    /// A wrong derivative is not found if its errors happen to cancel along these directions, or are small beside the
    /// right entries. The checks of [`thorough`](Self::thorough) are not reduced.
    #[inline]
    pub fn fast(self) -> Self {
        Self { fast: true, ..self }
    }

    /// Checks properties of backward functions that right derivatives do not show. Backward must
    ///
    /// - return the same numbers twice, to the last bit: it has no state and is deterministic;
    /// - be linear in the incoming gradients;
    /// - read gradients and inputs correctly whatever their layout in memory: with gaps, in another
    ///   order of axes, or one number repeated;
    /// - treat a missing gradient as zeros, if the function has several outputs;
    /// - return the same gradient of an input if no other input requires grad.
    ///
    /// [`Mismatch::check`](crate::Mismatch::check) is the one that failed.
    #[inline]
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
    /// use pullback::{Gradcheck, Tensor, ndarray::array};
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
        let check = || run::check(self, &function, &inputs, &[], self.orders(), called_at);
        match caught_with_passes(check) {
            Ok(checked) => checked,
            Err(panic) => panic.again(),
        }
    }

    #[inline]
    fn orders(self) -> [u32; 2] {
        let order = 1 + u32::from(self.second_order);
        [order, if self.forward_mode { order } else { 0 }]
    }

    #[inline]
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
