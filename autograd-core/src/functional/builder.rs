//! [`Functional`] computes derivatives of functions, with options.

use std::cell::Cell;
use std::panic::Location;

use super::blocks::Jacobian;
use super::call::Call;
use crate::erased::{AnyTensor, ErasedFn, InputTensors, OutputTensors, erased};
use crate::error::{Error, ErrorKind};
use crate::forward_mode::check_tangents;
use crate::recording::{Recording, or_zeros};
use crate::tensor::Tensor0;
use autograd_kernels::Element;

/// The blocks of the Jacobian of a function from `I` to `O`.
type Blocks<O, I> = <O as Jacobian<I>>::Blocks;

/// The blocks of the Hessian of a function of `I`.
type HessianBlocks<I> = Blocks<<I as InputTensors>::Owned, I>;

/// Computes derivatives of functions, with options. Without options, the functions of [this module](crate::functional)
/// are shorter; they document each derivative.
///
/// ```
/// use pullback::{Tensor, functional::Functional, ndarray::array};
///
/// let x = Tensor::from(array![1.0, 2.0]);
/// let options = Functional::new().forward_mode(true).strict(true);
/// let jacobian = options.jacobian(|x| x * x, &x)?;
/// assert_eq!(jacobian.to_array(), array![[2.0, 0.0], [0.0, 4.0]]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[must_use = "nothing is computed before a derivative is asked for"]
pub struct Functional {
    pub(super) create_graph: bool,
    pub(super) strict: bool,
    pub(super) forward_mode: bool,
}

impl Functional {
    /// Returns the default options: no graph, not strict, backward passes.
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether the computation is recorded, so that the results can be differentiated: with respect to the inputs
    /// that require grad, and to other tensors that the function uses. Otherwise the results are constants.
    ///
    /// ```
    /// use pullback::{Tensor, functional::Functional, grad, ndarray::array};
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// let jacobian = Functional::new().create_graph(true).jacobian(|x| x.powi(3), &x)?;
    /// let (second,) = grad(&jacobian.sum(), (&x,))?;
    /// assert_eq!(second.to_array(), array![6.0, 12.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[inline]
    pub fn create_graph(self, create_graph: bool) -> Self {
        Self {
            create_graph,
            ..self
        }
    }

    /// Sets whether an output that does not depend on an input is an error,
    /// [`Independent`](crate::ErrorKind::Independent), instead of zeros. [`jacobian`](Self::jacobian) and
    /// [`hessian`](Self::hessian) check each pair; the other methods look for outputs that depend on no input, and
    /// inputs that no output depends on. For second derivatives, gradients are checked too. An output depends on the
    /// inputs that its recorded graph leads to; forward mode runs the function once more to record a graph.
    ///
    /// ```
    /// use pullback::{Tensor, functional::Functional, ndarray::array};
    ///
    /// let (x, w) = (Tensor::from(array![1.0]), Tensor::from(array![2.0]));
    /// let error = Functional::new().strict(true).jacobian(|(x, _)| x * 2.0, (&x, &w)).unwrap_err();
    /// assert_eq!(
    ///     error.message(),
    ///     "output 0 does not depend on input 1, which `strict` does not allow"
    /// );
    /// ```
    #[inline]
    pub fn strict(self, strict: bool) -> Self {
        Self { strict, ..self }
    }

    /// Sets whether forward mode is used alone, for functions that all have a `#[jvp]` rule.
    /// [`jacobian`](Self::jacobian) then runs the function in forward mode for each entry of the inputs, instead of
    /// backward for each entry of the outputs, which is faster for few inputs and many outputs;
    /// [`hessian`](Self::hessian) and [`hvp`](Self::hvp) run backward through forward mode, instead of backward
    /// twice; [`jvp`](Self::jvp) does not fall back on backward passes. The results are the same, and a function
    /// without a rule is an error.
    #[inline]
    pub fn forward_mode(self, forward_mode: bool) -> Self {
        Self {
            forward_mode,
            ..self
        }
    }

    /// Computes [`vjp`](super::vjp) with these options.
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
        F: for<'a> Fn(I::Refs<'a>) -> S::Owned,
    {
        let (inputs, seeds) = (inputs.to_tensors(), seeds.to_tensors());
        let (lengths, of_outputs) = (inputs.lengths(), seeds.lengths());
        let function = erased::<I, _>(lengths, function);
        let (inputs, seeds) = (inputs.into_erased(), seeds.into_erased());
        let recorded = self.call(&function, &inputs).record(Recording::check_any)?;
        check_seeds(&recorded.outputs, &seeds)?;
        let found = recorded.vjp(seeds.into_iter().map(Some).collect(), self.create_graph)?;
        Ok((
            self.read(of_outputs, recorded.outputs),
            self.read(lengths, or_zeros(found, &inputs)),
        ))
    }

    /// Computes [`jvp`](super::jvp) with these options.
    ///
    /// # Panics
    /// If a list of tangents is not as long as that of its inputs.
    #[track_caller]
    pub fn jvp<I, O, F>(self, function: F, inputs: I, tangents: I) -> Result<(O, O), Error>
    where
        I: InputTensors,
        O: OutputTensors,
        F: for<'a> Fn(I::Refs<'a>) -> O,
    {
        let inputs = inputs.to_tensors();
        let of_outputs = Cell::new(None);
        let function = erased::<I, _>(inputs.lengths(), |inputs| {
            let outputs = function(inputs);
            of_outputs.set(Some(outputs.lengths()));
            outputs
        });
        let (inputs, tangents) = (inputs.into_erased(), tangents.to_tensors().into_erased());
        check_tangents("jvp", &inputs, &tangents)?;
        let (outputs, derivatives) = self.call(&function, &inputs).push(tangents)?;
        // INVARIANT: the function has returned what is read here.
        let lengths = of_outputs.get().expect("the lengths of the outputs");
        Ok((self.read(lengths, outputs), self.read(lengths, derivatives)))
    }

    /// Computes [`jacobian`](super::jacobian) with these options.
    #[track_caller]
    pub fn jacobian<I, O, F>(self, function: F, inputs: I) -> Result<Blocks<O, I>, Error>
    where
        I: InputTensors,
        O: Jacobian<I>,
        F: for<'a> Fn(I::Refs<'a>) -> O,
    {
        let inputs = inputs.to_tensors();
        let function = erased::<I, _>(inputs.lengths(), function);
        let blocks = self.call(&function, &inputs.into_erased()).jacobian()?;
        Ok(O::blocks(&mut self.finished(blocks)))
    }

    /// Computes [`hessian`](super::hessian) with these options.
    #[track_caller]
    pub fn hessian<I, T, F>(self, function: F, inputs: I) -> Result<HessianBlocks<I>, Error>
    where
        I: InputTensors<Owned: Jacobian<I>>,
        T: Element,
        F: for<'a> Fn(I::Refs<'a>) -> Tensor0<T>,
    {
        let inputs = inputs.to_tensors();
        let function = erased::<I, _>(inputs.lengths(), function);
        let blocks = self.call(&function, &inputs.into_erased()).hessian()?;
        Ok(<I::Owned as Jacobian<I>>::blocks(
            &mut self.finished(blocks),
        ))
    }

    /// Computes [`hvp`](super::hvp) with these options.
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
        let inputs = inputs.to_tensors();
        let lengths = inputs.lengths();
        let function = erased::<I, _>(lengths, function);
        let (inputs, vectors) = (inputs.into_erased(), vectors.to_tensors().into_erased());
        check_tangents("hvp", &inputs, &vectors)?;
        let (value, product) = self.call(&function, &inputs).hvp(vectors)?;
        Ok((self.read((), vec![value]), self.read(lengths, product)))
    }

    /// Computes [`vhp`](super::vhp) with these options.
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
        F: for<'a> Fn(I::Refs<'a>) -> Tensor0<T>,
    {
        let inputs = inputs.to_tensors();
        let lengths = inputs.lengths();
        let function = erased::<I, _>(lengths, function);
        let (inputs, vectors) = (inputs.into_erased(), vectors.to_tensors().into_erased());
        check_tangents("vhp", &inputs, &vectors)?;
        let (value, product) = self.call(&function, &inputs).vhp(vectors)?;
        Ok((self.read((), vec![value]), self.read(lengths, product)))
    }

    #[track_caller]
    #[inline]
    fn call<'f>(self, function: &'f ErasedFn<'f>, inputs: &'f [AnyTensor]) -> Call<'f> {
        Call {
            options: self,
            function,
            inputs,
            called_at: Location::caller(),
        }
    }

    /// Returns a result, without its edge unless `create_graph` is set.
    #[inline]
    pub(super) fn finish(self, tensor: AnyTensor) -> AnyTensor {
        if self.create_graph {
            tensor
        } else {
            tensor.with_edge(None)
        }
    }

    #[inline]
    fn finished(self, tensors: Vec<AnyTensor>) -> impl Iterator<Item = AnyTensor> {
        tensors.into_iter().map(move |tensor| self.finish(tensor))
    }

    fn read<O: OutputTensors>(self, lengths: O::Lengths, tensors: Vec<AnyTensor>) -> O {
        O::read(lengths, &mut self.finished(tensors))
    }
}

/// Checks that the seeds have the shapes of the outputs.
///
/// # Panics
/// If there are more or fewer seeds than outputs, which lists allow.
#[track_caller]
#[inline]
fn check_seeds(outputs: &[AnyTensor], seeds: &[AnyTensor]) -> Result<(), Error> {
    let (expected, found) = (outputs.len(), seeds.len());
    assert!(
        expected == found,
        "`vjp` needs a seed for each output (outputs: {expected}, seeds: {found})"
    );
    let mut pairs = outputs.iter().zip(seeds);
    match pairs.find(|(output, seed)| output.shape() != seed.shape()) {
        None => Ok(()),
        Some((output, seed)) => {
            let (expected, found) = (output.shape().into(), seed.shape().into());
            Err(ErrorKind::SeedShape { expected, found }.at(Location::caller()))
        }
    }
}
