//! [`Functional`]: the derivatives of functions, with options.

use std::cell::Cell;
use std::panic::Location;

use super::blocks::Jacobian;
use super::request::Request;
use crate::element::Element;
use crate::erased::{AnyTensor, InputTensors, Lengths, OutputTensors};
use crate::error::Error;
use crate::tensor::Tensor0;

/// The blocks of the Jacobian of a function from `I` to `O`.
type Blocks<O, I> = <O as Jacobian<I>>::Blocks;

/// The blocks of the Hessian of a function of `I`.
type HessianBlocks<I> = Blocks<<I as InputTensors>::Owned, I>;

/// The derivatives of functions, with options. Without any, the functions of
/// [this module](crate::functional) are shorter.
///
/// ```
/// use autograd_core::functional::Functional;
/// use autograd_core::Tensor;
/// use autograd_core::ndarray::array;
///
/// let x = Tensor::from(array![1.0, 2.0]);
/// let options = Functional::new().forward_mode(true).strict(true);
/// let jacobian = options.jacobian(|x| x * x, &x)?;
/// assert_eq!(jacobian.to_array(), array![[2.0, 0.0], [0.0, 4.0]]);
/// # Ok::<(), autograd_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[must_use = "nothing is computed before a derivative is asked for"]
pub struct Functional {
    pub(super) create_graph: bool,
    pub(super) strict: bool,
    pub(super) forward_mode: bool,
}

impl Functional {
    /// No graph, not strict, by backward passes.
    ///
    /// ```
    /// use autograd_core::{Tensor, functional::{Functional, jacobian}};
    /// use autograd_core::ndarray::array;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]);
    /// let plain = jacobian(|x| x * x, &x)?;
    /// assert_eq!(Functional::new().jacobian(|x| x * x, &x)?.to_array(), plain.to_array());
    /// # Ok::<(), autograd_core::Error>(())
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Records what is computed, so that the results can be differentiated: with respect to the tensors
    /// that were handed in, if they require grad, and to others that the function uses. Otherwise the
    /// results are constants.
    ///
    /// ```
    /// use autograd_core::functional::Functional;
    /// use autograd_core::{Tensor, grad};
    /// use autograd_core::ndarray::array;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// let jacobian = Functional::new().create_graph(true).jacobian(|x| x.powi(3), &x)?;
    /// let (second,) = grad(&jacobian.sum(), (&x,))?;
    /// assert_eq!(second.to_array(), array![6.0, 12.0]);
    /// # Ok::<(), autograd_core::Error>(())
    /// ```
    pub fn create_graph(self, create_graph: bool) -> Self {
        Self {
            create_graph,
            ..self
        }
    }

    /// Whether it is an error, [`Error::Independent`], instead of zeros that an output does not depend on
    /// an input. [`jacobian`](Self::jacobian) and [`hessian`](Self::hessian) look at each pair of them;
    /// the others at outputs that depend on no input and inputs that no output depends on. For second
    /// derivatives the same holds of the gradients. What a function depends on is what its recorded graph
    /// leads to; in forward mode this takes a run of its own.
    ///
    /// ```
    /// use autograd_core::functional::Functional;
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::array;
    ///
    /// let (x, w) = (Tensor::from(array![1.0]), Tensor::from(array![2.0]));
    /// let error = Functional::new().strict(true).jacobian(|(x, _)| x * 2.0, (&x, &w)).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "output 0 does not depend on input 1, which `strict` does not allow"
    /// );
    /// ```
    pub fn strict(self, strict: bool) -> Self {
        Self { strict, ..self }
    }

    /// Whether [`jacobian`](Self::jacobian) runs the function in forward mode for each entry of the inputs,
    /// instead of backward for each entry of the outputs; and whether [`hessian`](Self::hessian) and
    /// [`hvp`](Self::hvp) run backward through forward mode, instead of backward twice. The results are
    /// the same; it is faster for few inputs and many outputs, and it is for functions that have a
    /// `#[jvp]` rule. Nothing else minds the option: [`jvp`](Self::jvp) always tries forward mode.
    ///
    /// ```
    /// use autograd_core::functional::Functional;
    /// use autograd_core::{Tensor, Tensor1};
    /// use autograd_core::ndarray::{arr0, array};
    ///
    /// let x = Tensor::from(arr0(2.0));
    /// let powers = |x: &_| Tensor::from(array![1.0, 10.0]) * (x * x);
    /// let jacobian: Tensor1<f64> = Functional::new().forward_mode(true).jacobian(powers, &x)?;
    /// assert_eq!(jacobian.to_array(), array![4.0, 40.0]);
    /// # Ok::<(), autograd_core::Error>(())
    /// ```
    pub fn forward_mode(self, forward_mode: bool) -> Self {
        Self {
            forward_mode,
            ..self
        }
    }

    /// As [`vjp`](super::vjp), with these options.
    ///
    /// # Errors
    /// As [`vjp`](super::vjp).
    ///
    /// # Panics
    /// As [`vjp`](super::vjp).
    ///
    /// ```
    /// use autograd_core::functional::Functional;
    /// use autograd_core::{Tensor, grad};
    /// use autograd_core::ndarray::{arr0, array};
    ///
    /// let x = Tensor::from(array![2.0]).set_requires_grad(true);
    /// let one = Tensor::from(arr0(1.0));
    /// let (_, first) = Functional::new().create_graph(true).vjp(|x| x.powi(3).sum(), &x, &one)?;
    /// let (second,) = grad(&first, (&x,))?;
    /// assert_eq!((first.to_array(), second.to_array()), (array![12.0], array![12.0]));
    /// # Ok::<(), autograd_core::Error>(())
    /// ```
    #[track_caller]
    pub fn vjp<I, S, F>(
        self,
        function: F,
        inputs: I,
        seeds: S,
    ) -> Result<(S::Owned, I::Owned), Error>
    where
        I: InputTensors,
        S: InputTensors,
        F: for<'a> FnOnce(I::Refs<'a>) -> S::Owned,
    {
        let (inputs, seeds) = (inputs.to_tensors(), seeds.to_tensors());
        let (lengths, of_outputs) = (inputs.lengths(), seeds.lengths());
        let function =
            |tensors: &[AnyTensor]| Ok(I::with(lengths, tensors, function).into_erased());
        let (inputs, seeds) = (inputs.into_erased(), seeds.into_erased());
        let (outputs, gradients) = self.request().vjp(function, &inputs, seeds)?;
        Ok((
            S::Owned::from_erased(of_outputs, outputs),
            I::Owned::from_erased(lengths, gradients),
        ))
    }

    /// As [`jvp`](super::jvp), with these options.
    ///
    /// # Errors
    /// As [`jvp`](super::jvp).
    ///
    /// # Panics
    /// As [`jvp`](super::jvp).
    ///
    /// ```
    /// use autograd_core::functional::Functional;
    /// use autograd_core::{Tensor, grad};
    /// use autograd_core::ndarray::array;
    ///
    /// let x = Tensor::from(array![2.0]).set_requires_grad(true);
    /// let one = Tensor::from(array![1.0]);
    /// let (_, first) = Functional::new().create_graph(true).jvp(|x| x.powi(3), &x, &one)?;
    /// let (second,) = grad(&first, (&x,))?;
    /// assert_eq!((first.to_array(), second.to_array()), (array![12.0], array![12.0]));
    /// # Ok::<(), autograd_core::Error>(())
    /// ```
    #[track_caller]
    pub fn jvp<I, O, F>(self, function: F, inputs: I, tangents: I) -> Result<(O, O), Error>
    where
        I: InputTensors,
        O: OutputTensors,
        F: for<'a> Fn(I::Refs<'a>) -> O,
    {
        let (inputs, tangents) = (inputs.to_tensors(), tangents.to_tensors());
        let of_outputs = Cell::new(None);
        let function = repeatable::<I, O>(inputs.lengths(), &function, &of_outputs);
        let (inputs, tangents) = (inputs.into_erased(), tangents.into_erased());
        let (outputs, derivatives) = self.request().jvp(&function, &inputs, tangents)?;
        // INVARIANT: the function has returned what is read here.
        let lengths = of_outputs.get().expect("the lengths of the outputs");
        Ok((
            O::from_erased(lengths, outputs),
            O::from_erased(lengths, derivatives),
        ))
    }

    /// As [`jacobian`](super::jacobian), with these options.
    ///
    /// # Errors
    /// As [`jacobian`](super::jacobian); with [`forward_mode`](Self::forward_mode)
    /// [`Error::NoForwardRule`], if a function on the way has no `#[jvp]` rule.
    ///
    /// ```
    /// use autograd_core::functional::Functional;
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::array;
    ///
    /// let x = Tensor::from(array![[1.0], [2.0]]);
    /// let backward = Functional::new().jacobian(|x| x.t().matmul(x), &x)?;
    /// let forward = Functional::new().forward_mode(true).jacobian(|x| x.t().matmul(x), &x)?;
    /// assert_eq!(backward.to_array(), forward.to_array());
    /// assert_eq!(backward.shape(), [1, 1, 2, 1]);
    /// # Ok::<(), autograd_core::Error>(())
    /// ```
    #[track_caller]
    pub fn jacobian<I, O, F>(self, function: F, inputs: I) -> Result<Blocks<O, I>, Error>
    where
        I: InputTensors,
        O: Jacobian<I>,
        F: for<'a> Fn(I::Refs<'a>) -> O,
    {
        let (inputs, of_outputs) = (inputs.to_tensors(), Cell::new(None));
        let function = repeatable::<I, O>(inputs.lengths(), &function, &of_outputs);
        let blocks = self.request().jacobian(&function, &inputs.into_erased())?;
        Ok(O::blocks(&mut blocks.into_iter().flatten()))
    }

    /// As [`hessian`](super::hessian), with these options.
    ///
    /// # Errors
    /// As [`hessian`](super::hessian); with [`forward_mode`](Self::forward_mode)
    /// [`Error::NoForwardRule`], if a function on the way has no `#[jvp]` rule.
    ///
    /// ```
    /// use autograd_core::functional::Functional;
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::array;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]);
    /// let hessian = Functional::new().forward_mode(true).hessian(|x| x.powi(3).sum(), &x)?;
    /// assert_eq!(hessian.to_array(), array![[6.0, 0.0], [0.0, 12.0]]);
    /// # Ok::<(), autograd_core::Error>(())
    /// ```
    #[track_caller]
    pub fn hessian<I, T, F>(self, function: F, inputs: I) -> Result<HessianBlocks<I>, Error>
    where
        I: InputTensors<Owned: Jacobian<I>>,
        T: Element,
        F: for<'a> Fn(I::Refs<'a>) -> Tensor0<T>,
    {
        let (inputs, of_outputs) = (inputs.to_tensors(), Cell::new(None));
        let function = repeatable::<I, Tensor0<T>>(inputs.lengths(), &function, &of_outputs);
        let blocks = self.request().hessian(&function, &inputs.into_erased())?;
        Ok(<I::Owned as Jacobian<I>>::blocks(
            &mut blocks.into_iter().flatten(),
        ))
    }

    /// As [`hvp`](super::hvp), with these options.
    ///
    /// # Errors
    /// As [`hvp`](super::hvp); with [`forward_mode`](Self::forward_mode) [`Error::NoForwardRule`], if a
    /// function on the way has no `#[jvp]` rule.
    ///
    /// # Panics
    /// As [`hvp`](super::hvp).
    ///
    /// ```
    /// use autograd_core::functional::Functional;
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::array;
    ///
    /// let (x, v) = (Tensor::from(array![1.0, 2.0]), Tensor::from(array![1.0, 10.0]));
    /// let (_, product) = Functional::new().forward_mode(true).hvp(|x| x.powi(3).sum(), &x, &v)?;
    /// assert_eq!(product.to_array(), array![6.0, 120.0]);
    /// # Ok::<(), autograd_core::Error>(())
    /// ```
    #[track_caller]
    pub fn hvp<I, T, F>(
        self,
        function: F,
        inputs: I,
        vectors: I,
    ) -> Result<(Tensor0<T>, I::Owned), Error>
    where
        I: InputTensors,
        T: Element,
        F: for<'a> Fn(I::Refs<'a>) -> Tensor0<T>,
    {
        let (inputs, of_outputs) = (inputs.to_tensors(), Cell::new(None));
        let lengths = inputs.lengths();
        let function = repeatable::<I, Tensor0<T>>(lengths, &function, &of_outputs);
        let (inputs, vectors) = (inputs.into_erased(), vectors.to_tensors().into_erased());
        let (value, product) = self.request().hvp(&function, &inputs, vectors)?;
        Ok((
            Tensor0::from_erased((), value),
            I::Owned::from_erased(lengths, product),
        ))
    }

    /// As [`vhp`](super::vhp), with these options.
    ///
    /// # Errors
    /// As [`vhp`](super::vhp).
    ///
    /// # Panics
    /// As [`vhp`](super::vhp).
    ///
    /// ```
    /// use autograd_core::functional::Functional;
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::array;
    ///
    /// let (x, v) = (Tensor::from(array![1.0, 2.0]), Tensor::from(array![1.0, 10.0]));
    /// let (_, product) = Functional::new().strict(true).vhp(|x| x.powi(3).sum(), &x, &v)?;
    /// assert_eq!(product.to_array(), array![6.0, 120.0]);
    /// # Ok::<(), autograd_core::Error>(())
    /// ```
    #[track_caller]
    pub fn vhp<I, T, F>(
        self,
        function: F,
        inputs: I,
        vectors: I,
    ) -> Result<(Tensor0<T>, I::Owned), Error>
    where
        I: InputTensors,
        T: Element,
        F: for<'a> FnOnce(I::Refs<'a>) -> Tensor0<T>,
    {
        let inputs = inputs.to_tensors();
        let lengths = inputs.lengths();
        let function =
            |tensors: &[AnyTensor]| Ok(I::with(lengths, tensors, function).into_erased());
        let (inputs, vectors) = (inputs.into_erased(), vectors.to_tensors().into_erased());
        let (value, product) = self.request().vhp(function, &inputs, vectors)?;
        Ok((
            Tensor0::from_erased((), value),
            I::Owned::from_erased(lengths, product),
        ))
    }

    #[track_caller]
    fn request(self) -> Request {
        Request {
            options: self,
            called_at: Location::caller(),
        }
    }
}

/// A function whose types are forgotten, that can be called any number of times. It notes the lengths of its
/// outputs.
fn repeatable<I: InputTensors, O: OutputTensors>(
    lengths: Lengths<I>,
    function: &impl for<'a> Fn(I::Refs<'a>) -> O,
    of_outputs: &Cell<Option<O::Lengths>>,
) -> impl Fn(&[AnyTensor]) -> Result<Vec<AnyTensor>, Error> {
    move |tensors| {
        let outputs = I::with(lengths, tensors, |refs| function(refs));
        of_outputs.set(Some(outputs.lengths()));
        Ok(outputs.into_erased())
    }
}
