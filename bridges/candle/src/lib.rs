#![doc = include_str!("../README.md")]

mod graph;
mod memory;

use candle_core::{Error, Result, Tensor, Var};
use pullback::AnyTensor;
use pullback::foreign::{Outputs, Recording, TensorFunction, catch_panic, each_tuple};

/// Calls a function of pullback's tensors with tensors of candle, as one operation of candle's graph.
///
/// `inputs` have the number, the order, the element types and the ranks of the function's parameters, see [`Inputs`].
/// The outputs are returned as tensors of candle, see [`Outputs`].
///
/// Gradients are computed for the inputs that candle tracks: variables, and tensors computed from variables. Without
/// such an input, nothing is recorded.
///
/// ```
/// use candle_core::{Device, Tensor, Var};
/// use pullback::{Tensor0, Tensor1};
///
/// let x = Var::new(&[1.0, 2.0], &Device::Cpu)?;
/// let factor = Tensor::new(3.0, &Device::Cpu)?;
/// let scaled = |(x, factor): (&Tensor1<f64>, &Tensor0<f64>)| x * factor;
/// let y = pullback_candle::apply(scaled, (&x, &factor))?;
/// assert_eq!(y.to_vec1::<f64>()?, [3.0, 6.0]);
/// let grads = y.backward()?;
/// assert_eq!(grads.get(&x).unwrap().to_vec1::<f64>()?, [3.0, 3.0]);
/// assert!(grads.get(&factor).is_none());
///
/// let error = pullback_candle::apply(scaled, (&factor, &factor)).unwrap_err();
/// assert!(error.to_string().starts_with(
///     "input 0 is a tensor of f64 of rank 0; the function takes one of f64 of rank 1"
/// ));
/// # Ok::<(), candle_core::Error>(())
/// ```
///
/// # Errors
/// If there are more or fewer inputs than the function takes; if an input has another rank or element type, or is not
/// on the CPU; and if the function panics, for example on shapes that do not fit.
pub fn apply<M, F>(
    function: F,
    inputs: impl Inputs,
) -> Result<<F::Outputs as Outputs<Tensor>>::Tensors>
where
    F: TensorFunction<M>,
    F::Outputs: Outputs<Tensor>,
{
    let mut tensors = Vec::new();
    inputs.add_to(&mut tensors);
    let values = tensors.iter().enumerate().map(|(index, tensor)| {
        memory::read(tensor).map_err(|found| Error::msg(format!("input {index} is {found}")))
    });
    let values = values.collect::<Result<Vec<AnyTensor>>>()?;
    let requires_grad: Vec<bool> = tensors.iter().map(|tensor| tensor.track_op()).collect();
    let shapes = tensors.iter().map(|tensor| tensor.dims());
    let run = || Recording::of(function, values, &requires_grad);
    let (recording, outputs) = caught("the function", shapes, run)?;
    let tracked = tensors.into_iter().filter(|tensor| tensor.track_op());
    let tracked = tracked.cloned().collect();
    let outputs = outputs.into_iter().map(Some).collect();
    let outputs = graph::attach(recording, requires_grad, tracked, outputs)?;
    Ok(F::Outputs::collect(&mut outputs.into_iter().flatten()))
}

/// Runs `call`, and converts a panic to an error: the name of the call, the shapes of its tensors, and the panic's
/// text.
fn caught<'s, R>(
    what: &str,
    shapes: impl Iterator<Item = &'s [usize]>,
    call: impl FnOnce() -> std::result::Result<R, pullback::Error>,
) -> Result<R> {
    let panic = match catch_panic(call) {
        Ok(result) => return result.map_err(Error::wrap),
        Err(panic) => panic,
    };
    let shapes: Vec<String> = shapes.map(|shape| format!("{shape:?}")).collect();
    let shapes = shapes.join(" and ");
    Err(Error::msg(format!(
        "{what} panicked, given shapes {shapes}: {panic}"
    )))
}

/// The inputs of [`apply`]: a tensor, a variable, a list (a slice, an array or a vector), or a tuple of up to twelve of
/// these, each by reference or by value.
///
/// ```
/// use candle_core::{Device, Tensor, Var};
/// use pullback::Tensor1;
///
/// let x = Var::new(&[1.0_f32], &Device::Cpu)?;
/// let parts = [Tensor::new(&[2.0_f32], &Device::Cpu)?, Tensor::new(&[3.0_f32], &Device::Cpu)?];
/// let sum = |(x, parts): (&Tensor1<f32>, &[Tensor1<f32>])| parts.iter().fold(x.clone(), |sum, part| sum + part);
/// assert_eq!(pullback_candle::apply(sum, (&x, &parts))?.to_vec1::<f32>()?, [6.0]);
/// assert_eq!(pullback_candle::apply(sum, (&x, &parts[0]))?.to_vec1::<f32>()?, [3.0]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub trait Inputs {
    #[doc(hidden)]
    fn add_to<'a>(&'a self, tensors: &mut Vec<&'a Tensor>);
}

impl Inputs for Tensor {
    fn add_to<'a>(&'a self, tensors: &mut Vec<&'a Tensor>) {
        tensors.push(self);
    }
}

impl Inputs for Var {
    fn add_to<'a>(&'a self, tensors: &mut Vec<&'a Tensor>) {
        tensors.push(self);
    }
}

impl<I: Inputs + ?Sized> Inputs for &I {
    fn add_to<'a>(&'a self, tensors: &mut Vec<&'a Tensor>) {
        (**self).add_to(tensors);
    }
}

impl<I: Inputs> Inputs for [I] {
    fn add_to<'a>(&'a self, tensors: &mut Vec<&'a Tensor>) {
        for input in self {
            input.add_to(tensors);
        }
    }
}

impl<I: Inputs, const N: usize> Inputs for [I; N] {
    fn add_to<'a>(&'a self, tensors: &mut Vec<&'a Tensor>) {
        self[..].add_to(tensors);
    }
}

impl<I: Inputs> Inputs for Vec<I> {
    fn add_to<'a>(&'a self, tensors: &mut Vec<&'a Tensor>) {
        self[..].add_to(tensors);
    }
}

macro_rules! tuple {
    ($($Name:ident $place:tt)+) => {
        impl<$($Name: Inputs),+> Inputs for ($($Name,)+) {
            fn add_to<'a>(&'a self, tensors: &mut Vec<&'a Tensor>) {
                $(self.$place.add_to(tensors);)+
            }
        }
    };
}

each_tuple!(tuple);
