#![doc = include_str!("../README.md")]

mod ffi;
mod node;

use std::borrow::Borrow;

use pullback::foreign::{Outputs, TensorFunction, each_tuple};
use tch::{TchError, Tensor};

/// Calls a function of pullback on tensors of `tch`, and records it as one node of libtorch's graph.
///
/// The parameter of a closure needs its type: `|(x, w): (&Tensor2<f32>, &Tensor2<f32>)| …`. A `&TensorD<f32>` takes any
/// number of axes. A function that returns a tuple or a `Vec` of tensors returns a tuple or a `Vec` of [`tch::Tensor`];
/// an output has a history if it has a gradient for an input that requires one.
///
/// Contiguous inputs are read in place, others are copied first, and none is written to. As with libtorch's own
/// operations, no other thread may write to an input during the call, and a saved tensor must not change before
/// backward: an operation in place on it is an error there.
///
/// # Errors
/// - [`TchError::Convert`] if an input is not a dense tensor of [`Float`](tch::Kind::Float) or
///   [`Double`](tch::Kind::Double) on the CPU, has another element type or rank than the function takes, or if there
///   are more or fewer inputs. Tensors are never moved between devices: `x.to_device(Device::Cpu)` is part of the graph.
/// - [`TchError::Torch`] with the message of a panic in the function.
///
/// An error in backward is returned by the call that started it, such as [`Tensor::f_backward`].
///
/// ```
/// use pullback::Tensor1;
/// use tch::Tensor;
///
/// let x = Tensor::from_slice(&[3.0_f64, 4.0]).set_requires_grad(true);
/// let (squares, sum) = pullback_tch::apply(
///     |x: &Tensor1<f64>| {
///         let squares = x * x;
///         let sum = squares.sum();
///         (squares, sum)
///     },
///     &x,
/// )?;
/// assert_eq!((Vec::<f64>::try_from(&squares)?, sum.double_value(&[])), (vec![9.0, 16.0], 25.0));
/// sum.f_backward()?;
/// assert_eq!(Vec::<f64>::try_from(x.grad())?, [6.0, 8.0]);
///
/// let numbers = Tensor::from_slice(&[1_i64, 2]);
/// let error = pullback_tch::apply(|x: &Tensor1<f64>| x * 2.0, &numbers).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "conversion error: input 0 is of kind Int64; functions take tensors of Float or Double"
/// );
/// # Ok::<(), tch::TchError>(())
/// ```
pub fn apply<'t, M, F, I>(
    function: F,
    inputs: I,
) -> Result<<F::Outputs as Outputs<Tensor>>::Tensors, TchError>
where
    F: TensorFunction<M>,
    F::Outputs: Outputs<Tensor>,
    I: Inputs<'t>,
{
    let mut given = Vec::new();
    inputs.write(&mut given);
    let outputs = node::apply(function, &given)?;
    Ok(F::Outputs::collect(&mut outputs.into_iter()))
}

/// The inputs of [`apply`]: a tensor by reference, a list of tensors (a slice, an array or a `Vec` by reference), or
/// a tuple of up to twelve of these.
///
/// ```
/// use pullback::Tensor1;
/// use tch::Tensor;
///
/// let (x, parts) = (Tensor::from_slice(&[2.0]), [1.0, 2.0].map(|part| Tensor::from_slice(&[part])));
/// let y = pullback_tch::apply(
///     |(x, parts): (&Tensor1<f64>, &[Tensor1<f64>])| parts.iter().fold(x.clone(), |sum, part| sum + part),
///     (&x, &parts),
/// )?;
/// assert_eq!(y.double_value(&[0]), 5.0);
/// # Ok::<(), tch::TchError>(())
/// ```
pub trait Inputs<'t> {
    #[doc(hidden)]
    fn write(self, to: &mut Vec<&'t Tensor>);
}

impl<'t> Inputs<'t> for &'t Tensor {
    fn write(self, to: &mut Vec<&'t Tensor>) {
        to.push(self);
    }
}

impl<'t, B: Borrow<Tensor>> Inputs<'t> for &'t [B] {
    fn write(self, to: &mut Vec<&'t Tensor>) {
        to.extend(self.iter().map(Borrow::borrow));
    }
}

impl<'t, B: Borrow<Tensor>> Inputs<'t> for &'t Vec<B> {
    fn write(self, to: &mut Vec<&'t Tensor>) {
        self.as_slice().write(to);
    }
}

impl<'t, B: Borrow<Tensor>, const N: usize> Inputs<'t> for &'t [B; N] {
    fn write(self, to: &mut Vec<&'t Tensor>) {
        self.as_slice().write(to);
    }
}

macro_rules! tuple {
    ($($Name:ident $place:tt)+) => {
        impl<'t, $($Name: Inputs<'t>),+> Inputs<'t> for ($($Name,)+) {
            fn write(self, to: &mut Vec<&'t Tensor>) {
                $(self.$place.write(to);)+
            }
        }
    };
}

each_tuple!(tuple);
