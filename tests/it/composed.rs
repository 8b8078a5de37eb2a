//! Functions for `compositions`: written on tensors, so that all their derivatives are differentiable.

use std::marker::PhantomData;

use pullback::ndarray::{Array, Array1, ArrayView, ArrayView1, ArrayViewMut1, Dimension};
use pullback::prelude::*;

/// x³, whose derivative is computed in forward and is an output too.
pub struct ArrayCube;

#[custom_function]
impl ArrayCube {
    #[forward(outputs(cube, slope))]
    pub fn forward(x: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) {
        (x.mapv(|x| x.powi(3)), x.mapv(|x| 3.0 * x * x))
    }

    #[backward(x)]
    fn backward(
        grad_cube: &Tensor1<f64>,
        grad_slope: &Tensor1<f64>,
        x: &Tensor1<f64>,
        slope: &Tensor1<f64>,
    ) -> Tensor1<f64> {
        grad_cube * slope + grad_slope * x * 6.0
    }

    #[jvp]
    fn jvp(
        tangent_x: &Tensor1<f64>,
        x: &Tensor1<f64>,
        slope: &Tensor1<f64>,
    ) -> (Tensor1<f64>, Tensor1<f64>) {
        (tangent_x * slope, tangent_x * x * 6.0)
    }
}

/// x · y
pub struct ArrayMul;

#[custom_function]
impl ArrayMul {
    #[forward]
    pub fn forward(x: ArrayView1<f64>, y: ArrayView1<f64>) -> Array1<f64> {
        &x * &y
    }

    #[backward(x)]
    fn grad_x(grad_output: &Tensor1<f64>, y: &Tensor1<f64>) -> Tensor1<f64> {
        grad_output * y
    }

    #[backward(y)]
    fn grad_y(grad_output: &Tensor1<f64>, x: &Tensor1<f64>) -> Tensor1<f64> {
        grad_output * x
    }

    #[jvp]
    fn jvp(
        tangent_x: &Tensor1<f64>,
        tangent_y: &Tensor1<f64>,
        x: &Tensor1<f64>,
        y: &Tensor1<f64>,
    ) -> Tensor1<f64> {
        tangent_x * y + tangent_y * x
    }
}

/// x ← eˣ
pub struct ExpInPlace;

#[custom_function]
impl ExpInPlace {
    #[forward]
    pub fn forward(mut x: ArrayViewMut1<f64>) {
        x.mapv_inplace(f64::exp);
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor1<f64>, output: &Tensor1<f64>) -> Tensor1<f64> {
        grad_output * output
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor1<f64>, output: &Tensor1<f64>) -> Tensor1<f64> {
        tangent_x * output
    }
}

/// The elements in rising order, and where each one was.
pub struct Sort;

#[custom_function]
impl Sort {
    #[forward(outputs(sorted, order))]
    pub fn forward(x: ArrayView1<f64>) -> (Array1<f64>, Array1<usize>) {
        let mut order: Vec<usize> = (0..x.len()).collect();
        order.sort_by(|&one, &other| x[one].total_cmp(&x[other]));
        (order.iter().map(|&place| x[place]).collect(), order.into())
    }

    #[backward(x)]
    fn backward(grad_sorted: &Tensor1<f64>, order: &Array1<usize>) -> Tensor1<f64> {
        let mut back = Array1::zeros(order.len());
        for (place, &from) in order.iter().enumerate() {
            back[from] = place;
        }
        Take::apply(grad_sorted, back)
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor1<f64>, order: &Array1<usize>) -> Tensor1<f64> {
        Take::apply(tangent_x, order.clone())
    }
}

/// The elements at some places.
pub struct Take;

#[custom_function]
impl Take {
    #[forward(outputs(output), saves(length))]
    pub fn forward(x: ArrayView1<f64>, places: Array1<usize>) -> (Array1<f64>, usize) {
        (places.mapv(|place| x[place]), x.len())
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor1<f64>, places: &Array1<usize>, length: usize) -> Tensor1<f64> {
        Put::apply(grad_output, places.clone(), length)
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor1<f64>, places: &Array1<usize>) -> Tensor1<f64> {
        Self::apply(tangent_x, places.clone())
    }
}

/// Zeros, and the elements added at some places.
pub struct Put;

#[custom_function]
impl Put {
    #[forward]
    pub fn forward(x: ArrayView1<f64>, places: Array1<usize>, length: usize) -> Array1<f64> {
        let mut output = Array1::zeros(length);
        for (&place, x) in places.iter().zip(x) {
            output[place] += x;
        }
        output
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor1<f64>, places: &Array1<usize>) -> Tensor1<f64> {
        Take::apply(grad_output, places.clone())
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor1<f64>, places: &Array1<usize>, length: usize) -> Tensor1<f64> {
        Self::apply(tangent_x, places.clone(), length)
    }
}

/// x, with derivatives that are `factor` times too large, by intent.
pub struct ScaleGrad<D>(PhantomData<D>);

#[custom_function]
impl<D: Dimension> ScaleGrad<D> {
    #[forward]
    pub fn forward(x: ArrayView<f64, D>, factor: f64) -> Array<f64, D> {
        assert!(factor.is_finite(), "a factor of gradients");
        x.to_owned()
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor<f64, D>, factor: f64) -> Tensor<f64, D> {
        grad_output * factor
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<f64, D>, factor: f64) -> Tensor<f64, D> {
        tangent_x * factor
    }
}

/// x, without derivatives: backward and forward mode give none.
pub struct ZeroGradients;

#[custom_function]
impl ZeroGradients {
    #[forward]
    pub fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        x.to_owned()
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor1<f64>) -> Option<Tensor1<f64>> {
        grad_output.is_empty().then(|| grad_output.clone())
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor1<f64>) -> Option<Tensor1<f64>> {
        tangent_x.is_empty().then(|| tangent_x.clone())
    }
}

/// scale · x + shift, where both have defaults.
pub struct Defaults;

#[custom_function]
impl Defaults {
    #[forward]
    pub fn forward(
        x: ArrayView1<f64>,
        shift: Option<ArrayView1<f64>>,
        scale: Option<f64>,
    ) -> Array1<f64> {
        let scaled = &x * scale.unwrap_or(2.0);
        match shift {
            Some(shift) => scaled + shift,
            None => scaled,
        }
    }

    #[backward(x)]
    fn grad_x(grad_output: &Tensor1<f64>, scale: Option<f64>) -> Tensor1<f64> {
        grad_output * scale.unwrap_or(2.0)
    }

    #[backward(shift)]
    fn grad_shift(grad_output: &Tensor1<f64>) -> Tensor1<f64> {
        grad_output.clone()
    }

    #[jvp]
    fn jvp(
        tangent_x: &Tensor1<f64>,
        tangent_shift: Option<&Tensor1<f64>>,
        scale: Option<f64>,
    ) -> Tensor1<f64> {
        let scaled = tangent_x * scale.unwrap_or(2.0);
        match tangent_shift {
            Some(shift) => scaled + shift,
            None => scaled,
        }
    }
}
