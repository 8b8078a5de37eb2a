#![doc = include_str!("../README.md")]

mod graph;
mod memory;
mod tensors;

pub use tensors::{AsBurn, Rank};

use pullback::InputTensors;
use pullback::foreign::{Recording, TensorFunction};

/// Calls a function of pullback's tensors with tensors of burn, as one operation of burn's graph with the function's
/// backward. The function is a closure or `fn` of one tensor, of a list, or of a tuple of these; the parameter of a
/// closure needs its type written out.
///
/// The function determines element types and ranks. The compiler checks the number and the ranks of burn's tensors, see
/// [`AsBurn`] for the corresponding types. Inputs in row-major order are read in place, others are copied; no memory of
/// burn is ever written to.
///
/// On a device without autodiff, nothing is recorded. On one with autodiff, an input that burn does not track is a
/// constant: no gradient is computed for it. Gradient checkpointing never runs the function again.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use pullback::Tensor1;
///
/// let device = Device::flex().autodiff();
/// let x = Tensor::<1>::from_floats([1.0, 2.0], &device).require_grad();
/// let w = Tensor::<1>::from_floats([3.0, 5.0], &device);
///
/// let both = |(x, w): (&Tensor1<f32>, &Tensor1<f32>)| (x * x * w, x + w);
/// let (y, sum) = pullback_burn::apply(both, (x.clone(), w));
/// assert_eq!(sum.into_data().as_slice::<f32>(), Ok(&[4.0, 7.0][..]));
///
/// let grad = x.grad(&y.sum().backward()).unwrap();
/// assert_eq!(grad.into_data().as_slice::<f32>(), Ok(&[6.0, 20.0][..])); // 2xw
/// ```
///
/// The ranks are checked when the program is compiled:
///
/// ```compile_fail
/// # use burn::tensor::{Device, Tensor};
/// # use pullback::Tensor2;
/// let x = Tensor::<1>::from_floats([1.0, 2.0], &Device::flex());
/// let y = pullback_burn::apply(|x: &Tensor2<f32>| x * 2.0, x); // a function of matrices
/// ```
///
/// # Panics
/// - If an input has another element type than the function takes, or is not a scalar where it takes one; the
///   message counts the inputs from 0.
/// - If an input is on another backend than Flex, or inputs have different gradient checkpointing strategies.
/// - If an output of dynamic rank has another rank than the caller expects, or if a list of outputs is not the last
///   output.
/// - If the function panics; in burn's `backward`, if its backward panics or fails.
#[track_caller]
pub fn apply<M, F, I, O>(function: F, inputs: I) -> O
where
    F: TensorFunction<M>,
    <F::Inputs as InputTensors>::Owned: AsBurn<I>,
    F::Outputs: AsBurn<O>,
{
    let mut call = graph::Call::default();
    <F::Inputs as InputTensors>::Owned::into_call(inputs, &mut call);
    match Recording::of(function, std::mem::take(&mut call.inputs), &call.tracked) {
        Ok((recording, outputs)) => F::Outputs::from_outputs(&mut call.outputs(recording, outputs)),
        Err(error) => panic!("{error}"),
    }
}
