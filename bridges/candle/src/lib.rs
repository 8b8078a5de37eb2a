#![doc = include_str!("../README.md")]

mod graph;
mod memory;

use std::panic::{AssertUnwindSafe, catch_unwind};

use candle_core::{Error, Result, Tensor, Var};
use pullback::foreign::{Recording, TensorFunction, panic_text};
use pullback::ndarray::Dimension;
use pullback::{AnyTensor, Element};

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
pub fn apply<M, F>(function: F, inputs: impl Inputs) -> Result<<F::Outputs as Outputs>::Tensors>
where
    F: TensorFunction<M>,
    F::Outputs: Outputs,
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
    Ok(F::Outputs::read(&mut outputs.into_iter().flatten()))
}

/// Runs `call`, and converts a panic to an error: the name of the call, the shapes of its tensors, and the panic's
/// text.
fn caught<'s, R>(
    what: &str,
    shapes: impl Iterator<Item = &'s [usize]>,
    call: impl FnOnce() -> std::result::Result<R, pullback::Error>,
) -> Result<R> {
    let panic = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => return result.map_err(Error::wrap),
        Err(panic) => panic,
    };
    let shapes: Vec<String> = shapes.map(|shape| format!("{shape:?}")).collect();
    Err(Error::msg(format!(
        "{what} panicked, given shapes {}: {}",
        shapes.join(" and "),
        panic_text(&*panic)
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

/// What a function of pullback returns, as [`apply`] returns it: a tensor for a tensor, a vector for a vector, a tuple
/// of up to twelve tensors for such a tuple.
///
/// Several outputs of one element type are parts of one result of candle's, so that one backward pass serves all of
/// them.
///
/// ```
/// use candle_core::{Device, Var};
/// use pullback::Tensor1;
///
/// let x = Var::new(&[1.0, 2.0], &Device::Cpu)?;
/// let (sum, double) = pullback_candle::apply(|x: &Tensor1<f64>| (x.sum(), x * 2.0), &x)?;
/// assert_eq!((sum.to_scalar::<f64>()?, double.to_vec1::<f64>()?), (3.0, vec![2.0, 4.0]));
/// let grads = (sum.sqr()? + double.sum_all()?)?.backward()?;
/// assert_eq!(grads.get(&x).unwrap().to_vec1::<f64>()?, [8.0, 8.0]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub trait Outputs {
    /// The same with tensors of candle.
    type Tensors;

    #[doc(hidden)]
    fn read(from: &mut dyn Iterator<Item = Tensor>) -> Self::Tensors;
}

impl<T: Element, D: Dimension> Outputs for pullback::Tensor<T, D> {
    type Tensors = Tensor;

    fn read(from: &mut dyn Iterator<Item = Tensor>) -> Tensor {
        // INVARIANT: a function has as many outputs as its type says.
        from.next().expect("a tensor for each output")
    }
}

impl<T: Element, D: Dimension> Outputs for Vec<pullback::Tensor<T, D>> {
    type Tensors = Vec<Tensor>;

    fn read(from: &mut dyn Iterator<Item = Tensor>) -> Vec<Tensor> {
        from.collect()
    }
}

macro_rules! tuples {
    () => {};
    ($Name:ident $Rank:ident $($More:ident $MoreRank:ident)*) => {
        tuples!($($More $MoreRank)*);

        impl<$Name: Inputs, $($More: Inputs),*> Inputs for ($Name, $($More,)*) {
            #[allow(non_snake_case, reason = "the values are named as their types")]
            fn add_to<'a>(&'a self, tensors: &mut Vec<&'a Tensor>) {
                let ($Name, $($More,)*) = self;
                $Name.add_to(tensors);
                $($More.add_to(tensors);)*
            }
        }

        impl<$Name: Element, $Rank: Dimension, $($More: Element, $MoreRank: Dimension),*> Outputs
            for (pullback::Tensor<$Name, $Rank>, $(pullback::Tensor<$More, $MoreRank>,)*)
        {
            type Tensors = (Tensor, $(<pullback::Tensor<$More, $MoreRank> as Outputs>::Tensors,)*);

            fn read(from: &mut dyn Iterator<Item = Tensor>) -> Self::Tensors {
                (
                    <pullback::Tensor<$Name, $Rank>>::read(from),
                    $(<pullback::Tensor<$More, $MoreRank>>::read(from),)*
                )
            }
        }
    };
}

tuples!(A A1 B B1 C C1 D D1 E E1 F F1 G G1 H H1 I I1 J J1 K K1 L L1);
