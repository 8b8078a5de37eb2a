//! xᵀ W y + b

use std::marker::PhantomData;

use rand_core::Rng;

use super::{evenly, print, shapes};
use crate::kernels::Subscripts;
use crate::ndarray::{Dimension, Ix1, Ix3, IxDyn};
use crate::nn::{Forward, Module, Parameter};
use crate::ops::Contract;
use crate::{Element, Tensor};

/// xᵀ W y + b of two tensors along their last axes: for each output a matrix.
#[doc = crate::math!(r"z_k = x^\top W_k \, y + b_k = \sum_{i, j} x_i \, W_{kij} \, y_j + b_k")]
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::{Bilinear, Forward, Parameter};
/// use pullback::prelude::*;
///
/// let matrices = array![[[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]]];
/// let bilinear = Bilinear { weight: Parameter::new(matrices), bias: None };
/// let (x, y) = (Tensor::from(array![[3.0, 4.0]]), Tensor::from(array![[1.0, 10.0, 100.0]]));
/// assert_eq!(bilinear.forward((&x, &y)).to_array(), array![[643.0]]);
/// ```
#[derive(Debug, Module)]
#[module(extra_repr = Self::options)]
pub struct Bilinear<T: Element = f32> {
    /// Of shape `[out_features, in1_features, in2_features]`.
    pub weight: Parameter<T, Ix3>,
    /// Of shape `[out_features]`, if there is one.
    pub bias: Option<Parameter<T, Ix1>>,
}

impl<T: Element> Bilinear<T> {
    /// A layer with a bias, with weights and bias within 1 / √`in1_features` of 0.
    ///
    /// ```
    /// use pullback::nn::{Bilinear, Generator};
    ///
    /// let bilinear = Bilinear::<f32>::new(3, 4, 2, &mut Generator::seed(7));
    /// assert_eq!(bilinear.weight.shape(), [2, 3, 4]);
    /// ```
    pub fn new(
        in1_features: usize,
        in2_features: usize,
        out_features: usize,
        generator: &mut impl Rng,
    ) -> Self {
        Self::builder(in1_features, in2_features, out_features).build(generator)
    }

    /// A layer with other options.
    ///
    /// ```
    /// use pullback::nn::{Bilinear, Generator};
    ///
    /// let bilinear = Bilinear::<f32>::builder(3, 4, 2).bias(false).build(&mut Generator::seed(7));
    /// assert!(bilinear.bias.is_none());
    /// ```
    pub fn builder(
        in1_features: usize,
        in2_features: usize,
        out_features: usize,
    ) -> BilinearBuilder<T> {
        BilinearBuilder {
            shape: [out_features, in1_features, in2_features],
            bias: true,
            element: PhantomData,
        }
    }

    fn options(&self) -> String {
        let [outputs, first, second] = *self.weight.shape() else {
            // INVARIANT: the weight's rank is its type's.
            unreachable!("three axes")
        };
        let bias = print::truth(self.bias.is_some());
        format!("in1_features={first}, in2_features={second}, out_features={outputs}, bias={bias}")
    }
}

impl<T: Element, D: Dimension> Forward<(&Tensor<T, D>, &Tensor<T, D>)> for Bilinear<T> {
    type Output = Tensor<T, D>;

    /// # Panics
    /// If the last lengths are not `in1_features` and `in2_features`, or the others differ.
    #[track_caller]
    fn forward(&self, (first, second): (&Tensor<T, D>, &Tensor<T, D>)) -> Tensor<T, D> {
        let weight = self.weight.shape();
        let fits = |of: &Tensor<T, D>, length, wrong| {
            shapes::fits(self, of.shape(), of.shape().last() == Some(&length), wrong);
        };
        fits(first, weight[1], "its last length is not `in1_features`");
        fits(second, weight[2], "its last length is not `in2_features`");
        let lead = first.ndim() - 1;
        let same = first.shape()[..lead] == second.shape()[..lead];
        shapes::fits(
            self,
            first.shape(),
            same,
            format_args!("the other has shape {:?}", second.shape()),
        );
        // INVARIANT: no tensor has so many axes.
        let lead = u8::try_from(lead).expect("few axes");
        let names = |last: &[u8]| (0..lead).chain(last.iter().copied()).collect::<Vec<u8>>();
        let mut shape = first.shape().to_vec();
        shape.pop();
        shape.extend([weight[0], weight[2]]);
        let subscripts = Subscripts::new(
            names(&[FIRST]),
            [OUTPUTS, FIRST, SECOND],
            names(&[OUTPUTS, SECOND]),
        );
        let rows: Tensor<T, IxDyn> = Contract::apply(first, &self.weight, &subscripts, &shape);
        shape.pop();
        let subscripts = Subscripts::new(
            names(&[OUTPUTS, SECOND]),
            names(&[SECOND]),
            names(&[OUTPUTS]),
        );
        let output: Tensor<T, D> = Contract::apply(&rows, second, &subscripts, &shape);
        match &self.bias {
            Some(bias) => output + bias.broadcast_to::<D>(&shape),
            None => output,
        }
    }
}

// Names of axes; those that both tensors have in front are counted from 0.
const OUTPUTS: u8 = 253;
const FIRST: u8 = 254;
const SECOND: u8 = 255;

/// The options of a [`Bilinear`].
///
/// ```
/// use pullback::nn::{Bilinear, BilinearBuilder, Generator};
///
/// let builder: BilinearBuilder<f32> = Bilinear::builder(3, 4, 2).bias(false);
/// let bilinear = builder.build(&mut Generator::seed(7));
/// assert_eq!(bilinear.weight.shape(), [2, 3, 4]);
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder makes nothing until it is asked to `build`"]
pub struct BilinearBuilder<T> {
    shape: [usize; 3],
    bias: bool,
    element: PhantomData<T>,
}

impl<T: Element> BilinearBuilder<T> {
    /// Whether there is a bias, as there is unless this says otherwise.
    ///
    /// ```
    /// use pullback::nn::{Bilinear, Generator};
    ///
    /// let bilinear = Bilinear::<f32>::builder(3, 4, 2).bias(false).build(&mut Generator::seed(7));
    /// assert!(bilinear.bias.is_none());
    /// ```
    pub fn bias(self, bias: bool) -> Self {
        Self { bias, ..self }
    }

    /// The layer, with values from the generator.
    ///
    /// ```
    /// use pullback::nn::{Bilinear, Generator};
    ///
    /// let bilinear = Bilinear::<f32>::builder(3, 4, 2).build(&mut Generator::seed(7));
    /// assert!(bilinear.weight.view().iter().all(|x| x.abs() <= 1.0 / 3.0_f32.sqrt()));
    /// ```
    pub fn build(self, generator: &mut impl Rng) -> Bilinear<T> {
        let [outputs, first, _] = self.shape;
        Bilinear {
            weight: evenly(self.shape, first, generator),
            bias: self.bias.then(|| evenly(outputs, first, generator)),
        }
    }
}
