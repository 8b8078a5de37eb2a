//! Custom functions for the random graphs, smooth, and small where their inputs are: the short form, several
//! outputs, intermediates, optional inputs, owned ones, inputs that are returned, passes inside of backward.

use std::marker::PhantomData;

use pullback::ndarray::{Array, ArrayView, Dimension, Zip};
use pullback::prelude::*;

/// sin x, in the short form.
#[custom_function(higher_order, grad(x) = grad_output * cosine(x))]
pub fn sine<D: Dimension>(x: ArrayView<f64, D>) -> Array<f64, D> {
    x.mapv(f64::sin)
}

/// cos x, in the short form.
#[custom_function(higher_order, grad(x) = -(grad_output * sine(x)))]
pub fn cosine<D: Dimension>(x: ArrayView<f64, D>) -> Array<f64, D> {
    x.mapv(f64::cos)
}

/// tanh x · cos w, elementwise.
#[custom_function(elementwise)]
pub fn formula<T: Real>(x: T, w: T) -> T {
    x.tanh() * w.cos()
}

/// sin x · w, elementwise, with a gradient that is given.
#[custom_function(elementwise, grad(x) = grad_output * x.cos() * w)]
pub fn given_formula<T: Real>(x: T, w: T) -> T {
    x.sin() * w
}

/// x·y / 2, in the short form, differentiable once.
#[custom_function(grad(x) = &grad_output * &y * 0.5, grad(y) = &grad_output * &x * 0.5)]
pub fn half_product<D: Dimension>(x: ArrayView<f64, D>, y: ArrayView<f64, D>) -> Array<f64, D> {
    &x * &y * 0.5
}

/// x / (1 + x²), with an intermediate that is saved.
pub struct Damped<D>(PhantomData<D>);

#[custom_function]
impl<D: Dimension> Damped<D> {
    #[forward(outputs(y), saves(scale))]
    pub fn forward(x: ArrayView<f64, D>) -> (Array<f64, D>, Array<f64, D>) {
        let scale = x.mapv(|x| 1.0 / (1.0 + x * x));
        (&x * &scale, scale)
    }

    // (1 − x²) / (1 + x²)² = (1 − x y) scale − x y scale
    #[backward(x)]
    fn backward(
        grad_y: Array<f64, D>,
        x: ArrayView<f64, D>,
        y: ArrayView<f64, D>,
        mut scale: Array<f64, D>,
    ) -> Array<f64, D> {
        Zip::from(&mut scale)
            .and(&x)
            .and(&y)
            .for_each(|scale, x, y| *scale *= 1.0 - 2.0 * x * y);
        grad_y * scale
    }

    #[jvp]
    fn jvp(tangent_x: Array<f64, D>, x: ArrayView<f64, D>, y: ArrayView<f64, D>) -> Array<f64, D> {
        tangent_x * (1.0 - &x * &y * 2.0) / (1.0 + &x * &x)
    }
}

/// (sin x, cos x), each saved for the gradient of the other.
pub struct Waves<D>(PhantomData<D>);

#[custom_function]
impl<D: Dimension> Waves<D> {
    #[forward(outputs(sine, cosine))]
    pub fn forward(x: ArrayView<f64, D>) -> (Array<f64, D>, Array<f64, D>) {
        (x.mapv(f64::sin), x.mapv(f64::cos))
    }

    #[backward(x)]
    fn backward(
        grad_sine: &Tensor<f64, D>,
        grad_cosine: &Tensor<f64, D>,
        sine: &Tensor<f64, D>,
        cosine: &Tensor<f64, D>,
    ) -> Tensor<f64, D> {
        grad_sine * cosine - grad_cosine * sine
    }

    #[jvp]
    fn jvp(
        tangent_x: &Tensor<f64, D>,
        sine: &Tensor<f64, D>,
        cosine: &Tensor<f64, D>,
    ) -> (Tensor<f64, D>, Tensor<f64, D>) {
        (tangent_x * cosine, -(tangent_x * sine))
    }
}

/// (x² / 2, x³ / 3), where an output that is not used has no gradient.
pub struct Powers<D>(PhantomData<D>);

#[custom_function]
impl<D: Dimension> Powers<D> {
    #[forward(outputs(second, third))]
    pub fn forward(x: ArrayView<f64, D>) -> (Array<f64, D>, Array<f64, D>) {
        (x.mapv(|x| x * x / 2.0), x.mapv(|x| x * x * x / 3.0))
    }

    #[backward(x)]
    fn backward(
        grad_second: Option<ArrayView<f64, D>>,
        grad_third: Option<ArrayView<f64, D>>,
        x: ArrayView<f64, D>,
    ) -> Option<Array<f64, D>> {
        let second = grad_second.map(|grad| &grad * &x);
        let third = grad_third.map(|grad| &grad * &x * x);
        match (second, third) {
            (Some(second), Some(third)) => Some(second + third),
            (second, third) => second.or(third),
        }
    }

    #[jvp]
    fn jvp(
        tangent_x: &Tensor<f64, D>,
        x: &Tensor<f64, D>,
    ) -> (Option<Tensor<f64, D>>, Tensor<f64, D>) {
        let second = tangent_x * x;
        let third = &second * x;
        (Some(second), third)
    }
}

/// x · w + b on arrays: one backward function for the first two, in which either may not be needed.
pub struct Affine<D>(PhantomData<D>);

#[custom_function]
impl<D: Dimension> Affine<D> {
    #[forward]
    pub fn forward(
        x: ArrayView<f64, D>,
        w: ArrayView<f64, D>,
        b: Option<ArrayView<f64, D>>,
    ) -> Array<f64, D> {
        let product = &x * &w;
        match b {
            Some(b) => product + b,
            None => product,
        }
    }

    #[backward(x, w)]
    #[expect(clippy::type_complexity, reason = "a tuple is what it returns")]
    fn grad_factors(
        grad_output: ArrayView<f64, D>,
        x: ArrayView<f64, D>,
        w: ArrayView<f64, D>,
        needs_input_grad: AffineNeedsInputGrad,
    ) -> (Option<Array<f64, D>>, Option<Array<f64, D>>) {
        (
            needs_input_grad.x.then(|| &grad_output * &w),
            needs_input_grad.w.then(|| &grad_output * &x),
        )
    }

    #[backward(b)]
    fn grad_b(grad_output: Array<f64, D>) -> Array<f64, D> {
        grad_output
    }

    #[jvp]
    fn jvp(
        tangent_x: ArrayView<f64, D>,
        tangent_w: Option<ArrayView<f64, D>>,
        tangent_b: Option<ArrayView<f64, D>>,
        x: ArrayView<f64, D>,
        w: ArrayView<f64, D>,
    ) -> Array<f64, D> {
        let mut along = &tangent_x * &w;
        if let Some(tangent) = tangent_w {
            along += &(&tangent * &x);
        }
        if let Some(tangent) = tangent_b {
            along += &tangent;
        }
        along
    }
}

/// x · w + b on tensors.
pub struct AffineAgain<D>(PhantomData<D>);

#[custom_function]
impl<D: Dimension> AffineAgain<D> {
    #[forward]
    pub fn forward(
        x: ArrayView<f64, D>,
        w: ArrayView<f64, D>,
        b: Option<ArrayView<f64, D>>,
    ) -> Array<f64, D> {
        Affine::forward(x, w, b)
    }

    #[backward(x)]
    fn grad_x(grad_output: &Tensor<f64, D>, w: &Tensor<f64, D>) -> Tensor<f64, D> {
        grad_output * w
    }

    #[backward(w)]
    fn grad_w(grad_output: &Tensor<f64, D>, x: &Tensor<f64, D>) -> Tensor<f64, D> {
        grad_output * x
    }

    #[backward(b)]
    fn grad_b(grad_output: &Tensor<f64, D>) -> Tensor<f64, D> {
        grad_output.clone()
    }
}

/// The input, twice, as it is; the second is saved.
pub struct Same<D>(PhantomData<D>);

#[custom_function]
impl<D: Dimension> Same<D> {
    #[forward(outputs(first, second))]
    pub fn forward(x: &Tensor<f64, D>) -> (Tensor<f64, D>, Tensor<f64, D>) {
        (x.clone(), x.clone())
    }

    #[backward(x)]
    fn backward(
        grad_first: &Tensor<f64, D>,
        grad_second: &Tensor<f64, D>,
        second: &Tensor<f64, D>,
    ) -> Tensor<f64, D> {
        grad_first + grad_second + second * 0.0
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<f64, D>) -> (Tensor<f64, D>, Tensor<f64, D>) {
        (tangent_x.clone(), tangent_x.clone())
    }
}

/// c · sin x of an owned array and some numbers, beside cos x without a gradient.
pub struct Masked<D>(PhantomData<D>);

#[custom_function]
impl<D: Dimension> Masked<D> {
    #[forward(outputs(y, mask), non_differentiable(mask))]
    pub fn forward(mut x: Array<f64, D>, scales: Vec<f64>) -> (Array<f64, D>, Array<f64, D>) {
        let mask = x.mapv(f64::cos);
        x.mapv_inplace(|x| x.sin() * scales[0]);
        (x, mask)
    }

    #[backward(x)]
    fn backward(
        mut grad_y: Array<f64, D>,
        mask: ArrayView<f64, D>,
        scales: &[f64],
    ) -> Array<f64, D> {
        grad_y *= &mask;
        grad_y * scales[0]
    }

    #[jvp]
    fn jvp(tangent_x: Array<f64, D>, mask: ArrayView<f64, D>, scales: &[f64]) -> Array<f64, D> {
        tangent_x * mask * scales[0]
    }
}

/// x² / 2, whose backward runs a pass over its formula.
pub struct Nested<D>(PhantomData<D>);

#[custom_function]
impl<D: Dimension + 'static> Nested<D> {
    #[forward]
    pub fn forward(x: ArrayView<f64, D>) -> Array<f64, D> {
        &x * &x / 2.0
    }

    #[backward(x)]
    fn backward(grad_output: Array<f64, D>, x: ArrayView<f64, D>) -> Array<f64, D> {
        let (dx,) = enable_grad(|| {
            let x = Tensor::from(x).set_requires_grad(true);
            let y = &x * &x / 2.0;
            Grad::of(&y)
                .seed(grad_output)
                .run((&x,))
                .expect("a graph of its own")
        });
        dx.into_array()
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<f64, D>, x: &Tensor<f64, D>) -> Tensor<f64, D> {
        tangent_x * x
    }
}
