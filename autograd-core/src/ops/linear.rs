//! x Wᵀ + b

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, ArrayView1, ArrayView2, Dimension};

use super::{Contract, add_tangents};
use crate::kernels::{self, Subscripts};
use crate::tensor::{Tensor, Tensor1, Tensor2};
use crate::{Element, custom_function};

/// x Wᵀ + b along the last axis of x.
#[derive(Debug)]
pub struct Linear<T, D>(PhantomData<(T, D)>);

/// Returns the names of the axes of x, and of the output, which differ in the last.
fn names(rank: usize) -> [Vec<u8>; 2] {
    // INVARIANT: no tensor has so many axes.
    let lead = u8::try_from(rank - 1).expect("few axes");
    [INPUTS, OUTPUTS].map(|last| (0..lead).chain([last]).collect())
}

const INPUTS: u8 = 255;
const OUTPUTS: u8 = 254;

#[custom_function(gradcheck(x = [2, 3], weight = [4, 3], bias = [4]))]
impl<T: Element, D: Dimension> Linear<T, D> {
    /// Returns x Wᵀ + b along the last axis of x.
    #[doc = crate::math!(r"y = x W^\top + b, \qquad \frac{\partial L}{\partial x} = g \, W, \quad \frac{\partial L}{\partial W} = g^\top x, \quad \frac{\partial L}{\partial b} = \sum_i g_i")]
    /// Here g is the gradient of y.
    ///
    /// # Panics
    /// If the length of the last axis of `x` is not that of a row of `weight`, or the length of `bias` is not the
    /// number of rows of `weight`.
    #[forward]
    #[track_caller]
    pub fn forward(
        x: ArrayView<T, D>,
        weight: ArrayView2<T>,
        bias: Option<ArrayView1<T>>,
    ) -> Array<T, D> {
        let (inputs, outputs) = (weight.ncols(), weight.nrows());
        assert!(
            x.shape().last() == Some(&inputs),
            "linear of a tensor of shape {:?} with weights of shape {:?}: the last lengths differ",
            x.shape(),
            weight.shape()
        );
        assert!(
            bias.is_none_or(|bias| bias.len() == outputs),
            "linear with weights of shape {:?} and a bias of shape [{}]: their first lengths differ",
            weight.shape(),
            bias.map_or(0, |bias| bias.len())
        );
        let last = x.ndim() - 1;
        let rows: usize = x.shape()[..last].iter().product();
        let mut result = x.raw_dim();
        result[last] = outputs;
        // A copy only if the rows are not contiguous.
        let x = x.to_shape((rows, inputs)).expect("as many elements");
        let output = kernels::affine(&x.view(), &weight.t(), bias.as_ref());
        let output = output.into_shape_with_order(result);
        output.expect("as many elements")
    }

    #[backward(x)]
    fn grad_x(grad_output: &Tensor<T, D>, weight: &Tensor2<T>, shape_x: &[usize]) -> Tensor<T, D> {
        let [x, output] = names(shape_x.len());
        let subscripts = Subscripts::new(output, [OUTPUTS, INPUTS], x);
        Contract::apply(grad_output, weight, &subscripts, shape_x)
    }

    #[backward(weight)]
    fn grad_weight(grad_output: &Tensor<T, D>, x: &Tensor<T, D>) -> Tensor2<T> {
        let last = x.ndim() - 1;
        let [names, output] = names(x.ndim());
        let subscripts = Subscripts::new(output, names, [OUTPUTS, INPUTS]);
        let shape = [grad_output.shape()[last], x.shape()[last]];
        Contract::apply(grad_output, x, &subscripts, &shape)
    }

    #[backward(bias)]
    fn grad_bias(grad_output: &Tensor<T, D>) -> Tensor1<T> {
        let last = grad_output.shape().len() - 1;
        grad_output.sum_to(&grad_output.shape()[last..])
    }

    #[jvp]
    fn jvp(
        tangent_x: Option<&Tensor<T, D>>,
        tangent_weight: Option<&Tensor2<T>>,
        tangent_bias: Option<&Tensor1<T>>,
        x: &Tensor<T, D>,
        weight: &Tensor2<T>,
        output: &Tensor<T, D>,
    ) -> Option<Tensor<T, D>> {
        let along_x = tangent_x.map(|tangent| tangent.linear(weight, None));
        let along_weight = tangent_weight.map(|tangent| x.linear(tangent, None));
        let along_bias = tangent_bias.map(|tangent| tangent.broadcast_to(output.shape()));
        add_tangents(add_tangents(along_x, along_weight), along_bias)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns x Wᵀ + b along the last axis: a linear layer, with a row of `weight` for each output.
    ///
    /// [`Linear`](crate::ops::Linear) has the formula.
    ///
    /// # Panics
    /// If the length of the last axis is not that of a row of `weight`, or the length of `bias` is not the number of
    /// rows of `weight`.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// let x = Tensor::from(array![[1.0, 2.0]]);
    /// let weight = Tensor::from(array![[3.0, 4.0], [5.0, 6.0]]);
    /// let bias = Tensor::from(array![0.5, 0.0]);
    /// assert_eq!(x.linear(&weight, Some(&bias)).to_array(), array![[11.5, 17.0]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn linear(&self, weight: &Tensor2<T>, bias: Option<&Tensor1<T>>) -> Self {
        Linear::apply(self, weight, bias)
    }
}
