//! Derivatives of functions: Jacobians, Hessians, and products with them from either side.
//!
//! | | | how it is computed |
//! |---|---|---|
//! | [`vjp`] | vᵀJ | one backward pass |
//! | [`jvp`] | Jv | one run of forward mode; backward twice for functions without a `#[jvp]` rule |
//! | [`jacobian`] | J | a backward pass for each entry of the outputs |
//! | [`hvp`] | Hv | backward three times |
//! | [`vhp`] | vᵀH | backward twice: the same numbers as `hvp`, for less, where backward is right |
//! | [`hessian`] | H | a backward pass for each entry of the gradients |
//! | [`vmap`] | a function of one example on a batch, and derivatives of each | the examples on all threads |
//!
//! Read first [`jacobian`] and [`hvp`], whose examples show the form of all these functions.
//!
//! These functions take a closure and the tensors to call it with: one by reference, or a tuple of up to
//! twelve, of any element types and ranks. The closure gets them in the same form, and returns a tensor
//! or a tuple. All but [`jacobian`] and [`hessian`] take lists of tensors too (see
//! [`InputTensors`]). [`Functional`] has the options: results that can be differentiated again, strictness about
//! what does not depend on what, forward mode.
//!
//! The closure is called with new tensors, which require grad except in forward mode. Only uses of these tensors are
//! differentiated, and no gradient is accumulated in any tensor. Results are constant without
//! [`Functional::create_graph`]; to nest these functions, record the inner one. A backward pass inside a run of forward
//! mode is an error, because nodes save no tangents: there is no Hessian by forward mode over backward passes.

mod blocks;
mod builder;
mod call;
mod depends;
mod stack;
pub(crate) mod vmap;

pub use blocks::{Jacobian, JacobianRow};
pub use builder::Functional;
pub use vmap::{Batch, ExampleError, ExampleOutputs, vmap};
pub(crate) use vmap::{example, stacked};

use std::panic::Location;

use call::Call;

use crate::erased::{AnyTensor, ErasedFn, InputTensors, OutputTensors};
use crate::error::Error;
use crate::tensor::Tensor0;
use autograd_kernels::Element;

/// Returns the outputs of a function without types, and their derivatives along `tangents`, one for each input: see
/// [`Functional::jvp`].
#[inline]
pub(crate) fn along(
    options: Functional,
    function: &ErasedFn<'_>,
    inputs: &[AnyTensor],
    tangents: Vec<AnyTensor>,
    called_at: &'static Location<'static>,
) -> Result<(Vec<AnyTensor>, Vec<AnyTensor>), Error> {
    let call = Call {
        options,
        function,
        inputs,
        called_at,
    };
    call.push(tangents)
}

/// Returns the outputs of `function` at `inputs`, and the product of `seeds`, a tensor for each output, with its
/// Jacobian: the gradients of the inputs when those of the outputs are `seeds`. Zeros for an input that
/// no output depends on.
///
/// # Errors
/// If a seed does not have the shape of its output, and those of [`Tensor::backward`](crate::Tensor::backward).
///
/// # Panics
/// If a list of seeds is not as long as that of its outputs.
///
/// ```
/// use pullback::{Tensor, functional::vjp, ndarray::array};
///
/// let (x, w) = (Tensor::from(array![1.0, 2.0]), Tensor::from(array![3.0, 4.0]));
/// let seed = Tensor::from(array![1.0, 10.0]);
/// let (y, (dx, dw)) = vjp(|(x, w)| x * w, (&x, &w), &seed)?;
/// assert_eq!(y.to_array(), array![3.0, 8.0]);
/// assert_eq!((dx.to_array(), dw.to_array()), (array![3.0, 40.0], array![1.0, 20.0]));
/// # Ok::<(), pullback::Error>(())
/// ```
#[track_caller]
pub fn vjp<I, S, F>(function: F, inputs: I, seeds: S) -> Result<(S::Owned, I::Owned), Error>
where
    I: InputTensors,
    S: InputTensors,
    F: for<'a> Fn(I::Refs<'a>) -> S::Owned,
{
    Functional::new().vjp(function, inputs, seeds)
}

/// Returns the outputs of `function` at `inputs`, and the product of its Jacobian with `tangents`, a tensor for
/// each input: the derivatives of the outputs in that direction.
///
/// Forward mode computes the derivatives in one run, without a graph, if every function that is applied has a `#[jvp]`
/// rule, as the built-in functions have. If a rule is missing, `function` is called once more, and backward passes
/// through backward passes compute the same derivatives; [`Functional::forward_mode`] makes a missing rule an error.
/// Computations inside [`no_grad`](crate::no_grad) are constants for backward passes, but not for forward mode.
///
/// # Errors
/// [`NeitherMode`](crate::ErrorKind::NeitherMode), if a function has no rule, and that or another one has a
/// backward function written on arrays;
/// [`PassInForwardMode`](crate::ErrorKind::PassInForwardMode), if `function` runs a backward pass that is not
/// recorded; if a tangent does not have the shape of its input; and those of
/// [`Tensor::backward`](crate::Tensor::backward).
///
/// # Panics
/// If a list of tangents is not as long as that of its inputs.
///
/// ```
/// use pullback::{Tensor, functional::jvp, ndarray::array};
///
/// let (x, direction) = (Tensor::from(array![1.0, 2.0]), Tensor::from(array![1.0, 0.5]));
/// let (y, along) = jvp(|x| x * x, &x, &direction)?;
/// assert_eq!((y.to_array(), along.to_array()), (array![1.0, 4.0], array![2.0, 2.0]));
/// // Several inputs, and several outputs, are tuples.
/// let constant = Tensor::from(array![0.0, 0.0]);
/// let (_, (along, _)) = jvp(|(x, w)| (x * w, w.exp()), (&x, &x), (&direction, &constant))?;
/// assert_eq!(along.to_array(), array![1.0, 1.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[track_caller]
pub fn jvp<I, O, F>(function: F, inputs: I, tangents: I) -> Result<(O, O), Error>
where
    I: InputTensors,
    O: OutputTensors,
    F: for<'a> Fn(I::Refs<'a>) -> O,
{
    Functional::new().jvp(function, inputs, tangents)
}

/// Returns the Jacobian of `function` at `inputs`: the derivative of each entry of the outputs by each entry of
/// the inputs.
///
/// The block of an output and an input has the axes of the output, then those of the input, and the
/// input's element type; its rank is known to the compiler up to six. One output and one input give one
/// tensor, several of either a tuple, several of both a tuple for each output.
///
/// # Errors
/// The errors of [`Tensor::backward`](crate::Tensor::backward).
///
/// ```
/// use pullback::{Tensor, Tensor1, Tensor2, functional::jacobian, ndarray::array};
///
/// let (x, w) = (Tensor::from(array![1.0, 2.0]), Tensor::from(array![3.0, 4.0]));
/// let square: Tensor2<f64> = jacobian(|x| x * x, &x)?;
/// assert_eq!(square.to_array(), array![[2.0, 0.0], [0.0, 4.0]]);
/// let (product, sum) = jacobian(|(x, w)| (x * w, x.sum()), (&x, &w))?;
/// let (_, by_w): (Tensor2<f64>, Tensor2<f64>) = product;
/// assert_eq!(by_w.to_array(), array![[1.0, 0.0], [0.0, 2.0]]);
/// let (by_x, _): (Tensor1<f64>, Tensor1<f64>) = sum;
/// assert_eq!(by_x.to_array(), array![1.0, 1.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[track_caller]
pub fn jacobian<I, O, F>(function: F, inputs: I) -> Result<O::Blocks, Error>
where
    I: InputTensors,
    O: Jacobian<I>,
    F: for<'a> Fn(I::Refs<'a>) -> O,
{
    Functional::new().jacobian(function, inputs)
}

/// Returns the Hessian of `function`, whose output is a number, at `inputs`: the derivative of each entry of each
/// gradient by each entry of each input.
///
/// The block of two inputs has the axes of the first, then those of the second, and the second's element
/// type. One input gives one tensor, several a tuple for each of them.
///
/// # Errors
/// [`OnceDifferentiable`](crate::ErrorKind::OnceDifferentiable), if a backward function is written on arrays, and
/// those of [`Tensor::backward`](crate::Tensor::backward).
///
/// ```
/// use pullback::{Tensor, functional::hessian, ndarray::array};
///
/// let (x, w) = (Tensor::from(array![1.0, 2.0]), Tensor::from(array![3.0, 4.0]));
/// let ((xx, xw), (wx, ww)) = hessian(|(x, w)| (x * x * w).sum(), (&x, &w))?;
/// assert_eq!(xx.to_array(), array![[6.0, 0.0], [0.0, 8.0]]);
/// assert_eq!(xw.to_array(), array![[2.0, 0.0], [0.0, 4.0]]);
/// assert_eq!((wx.to_array(), ww.to_array()), (xw.to_array(), array![[0.0, 0.0], [0.0, 0.0]]));
/// # Ok::<(), pullback::Error>(())
/// ```
#[track_caller]
pub fn hessian<I, T, F>(function: F, inputs: I) -> Result<<I::Owned as Jacobian<I>>::Blocks, Error>
where
    I: InputTensors<Owned: Jacobian<I>>,
    T: Element,
    F: for<'a> Fn(I::Refs<'a>) -> Tensor0<T>,
{
    Functional::new().hessian(function, inputs)
}

/// Returns the value of `function`, which is a number, at `inputs`, and the product of its Hessian with
/// `vectors`, a tensor for each input.
///
/// The product is computed by a backward pass through a backward pass, or with [`Functional::forward_mode`] by a
/// backward pass through forward mode, which saves less. Both need second derivatives alone.
///
/// # Errors
/// [`OnceDifferentiable`](crate::ErrorKind::OnceDifferentiable), if a backward function is written on arrays; if a
/// vector does not have the shape of its input; and those of [`Tensor::backward`](crate::Tensor::backward).
///
/// # Panics
/// If a list of vectors is not as long as that of its inputs.
///
/// ```
/// use pullback::{Tensor, functional::hvp, ndarray::array};
///
/// let (x, v) = (Tensor::from(array![1.0, 2.0]), Tensor::from(array![1.0, 10.0]));
/// let (value, product) = hvp(|x| x.powi(3).sum(), &x, &v)?;
/// assert_eq!(value.item(), 9.0);
/// assert_eq!(product.to_array(), array![6.0, 120.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[track_caller]
pub fn hvp<I, T, F>(function: F, inputs: I, vectors: I) -> Result<(Tensor0<T>, I::Owned), Error>
where
    I: InputTensors,
    T: Element,
    F: for<'a> Fn(I::Refs<'a>) -> Tensor0<T>,
{
    Functional::new().hvp(function, inputs, vectors)
}

/// Returns the value of `function`, which is a number, at `inputs`, and the product of `vectors`, a tensor for
/// each input, with its Hessian.
///
/// The product is that of [`hvp`], because a Hessian is symmetric, and always computed by a backward pass through a
/// backward pass. Errors and panics are those of `hvp`.
///
/// ```
/// use pullback::{Tensor, functional::vhp, ndarray::array};
///
/// let (x, w) = (Tensor::from(array![1.0, 2.0]), Tensor::from(array![3.0, 4.0]));
/// let v = Tensor::from(array![1.0, 0.0]);
/// let (value, (along_x, along_w)) = vhp(|(x, w)| (x * w).sum(), (&x, &w), (&v, &v))?;
/// assert_eq!(value.item(), 11.0);
/// assert_eq!((along_x.to_array(), along_w.to_array()), (array![1.0, 0.0], array![1.0, 0.0]));
/// # Ok::<(), pullback::Error>(())
/// ```
#[track_caller]
pub fn vhp<I, T, F>(function: F, inputs: I, vectors: I) -> Result<(Tensor0<T>, I::Owned), Error>
where
    I: InputTensors,
    T: Element,
    F: for<'a> Fn(I::Refs<'a>) -> Tensor0<T>,
{
    Functional::new().vhp(function, inputs, vectors)
}
