//! Functions with a rule for a batch, `#[vmap]`, which generated tests compare with a loop.

use std::marker::PhantomData;

use autograd_core::__private::{example, sample, vmap as rule_is_the_loop};
use pullback::functional::vmap;
use pullback::ndarray::{
    Array0, Array1, Array2, ArrayView1, ArrayView2, Axis, Ix1, Ix2, arr0, array,
};
use pullback::prelude::*;

/// y = x Wᵀ + b. All rows of a batch are one product.
pub struct Affine<T>(PhantomData<T>);

#[custom_function(gradcheck(input = [2, 3], weight = [4, 3], bias = [4]))]
impl<T: Element> Affine<T> {
    #[forward]
    pub fn forward(
        input: ArrayView2<T>,
        weight: ArrayView2<T>,
        bias: Option<ArrayView1<T>>,
    ) -> Array2<T> {
        let output = input.dot(&weight.t());
        match bias {
            Some(bias) => output + bias,
            None => output,
        }
    }

    #[backward(input)]
    fn grad_input(grad_output: &Tensor2<T>, weight: &Tensor2<T>) -> Tensor2<T> {
        grad_output.matmul(weight)
    }

    #[backward(weight)]
    fn grad_weight(grad_output: &Tensor2<T>, input: &Tensor2<T>) -> Tensor2<T> {
        grad_output.t().matmul(input)
    }

    #[backward(bias)]
    fn grad_bias(grad_output: &Tensor2<T>) -> Tensor1<T> {
        grad_output.sum_axis(Axis(0))
    }

    #[vmap]
    pub fn vmap(input: &Tensor3<T>, weight: &Tensor2<T>, bias: Option<&Tensor1<T>>) -> Tensor3<T> {
        let [examples, rows, columns] = [0, 1, 2].map(|axis| input.shape()[axis]);
        let rows_of_all = input.reshape((examples * rows, columns));
        let output = Self::apply(&rows_of_all, weight, bias);
        output.reshape((examples, rows, weight.shape()[0]))
    }
}

/// (cₖ·x·w, Σx), where `w` takes no gradient and the factors are a value; too many factors are an error.
struct Scaled;

#[derive(Debug)]
struct TooMany;

#[custom_function(gradcheck(
    x = array![0.5, 2.0, -1.0],
    w = [3] in 0.5..0.9,
    factors = &[1.5, 2.0],
    at = 1,
))]
impl Scaled {
    #[forward(outputs(scaled, sum), saves(factor))]
    fn forward(
        x: ArrayView1<f64>,
        #[non_differentiable] w: ArrayView1<f64>,
        factors: &[f64],
        at: usize,
    ) -> Result<(Array1<f64>, Array0<f64>, f64), TooMany> {
        let factor = *factors.get(at).ok_or(TooMany)?;
        Ok((&x * &w * factor, arr0(x.sum()), factor))
    }

    #[backward(x)]
    fn backward(
        grad_scaled: ArrayView1<f64>,
        grad_sum: Option<pullback::ndarray::ArrayView0<f64>>,
        w: ArrayView1<f64>,
        factor: f64,
    ) -> Array1<f64> {
        let of_sum = grad_sum.map_or(0.0, |grad| grad[()]);
        &grad_scaled * &w * factor + of_sum
    }

    #[vmap]
    fn of_batch(
        x: &Tensor2<f64>,
        w: &Tensor2<f64>,
        factors: &[f64],
        at: usize,
    ) -> Result<(Tensor2<f64>, Tensor1<f64>), TooMany> {
        let factor = *factors.get(at).ok_or(TooMany)?;
        Ok((x * w * factor, x.sum_axis(Axis(1))))
    }
}

#[test]
fn a_rule_is_an_ordinary_function() -> Result<(), pullback::Error> {
    let (x, w) = (super::numbers((5, 2, 3), 0.1), super::numbers((4, 3), 0.2));
    let (x, w) = (super::leaf(x), super::leaf(w));
    let batch = Affine::vmap(&x, &w, None);
    let looped = vmap(|x| Affine::apply(x, &w, None), Axis(0), &x)?;
    assert_eq!(batch.to_array(), looped.to_array());
    let (of_rule, of_loop) = (
        grad(&batch.powi(2).sum(), &w)?,
        grad(&looped.powi(2).sum(), &w)?,
    );
    assert!(
        (&of_rule - &of_loop)
            .to_array()
            .iter()
            .all(|difference| difference.abs() < 1e-12)
    );

    let w = Tensor::from(array![[1.0, 2.0]]);
    let (scaled, sums) =
        Scaled::of_batch(&Tensor::from(array![[3.0, 4.0]]), &w, &[10.0], 0).unwrap();
    assert_eq!(scaled.to_array(), array![[30.0, 80.0]]);
    assert_eq!(sums.to_array(), array![7.0]);
    assert!(Scaled::of_batch(&w, &w, &[], 0).is_err());
    Ok(())
}

/// Checks a rule for x·w as generated tests do. The examples have an `x` each and share `w`.
fn of_product(rule: impl Fn(&Tensor2<f64>, &Tensor1<f64>) -> Tensor2<f64>, order: u32) {
    let (x, w) = (
        sample::<f64, Ix2>(&[3, 2], 0, None),
        sample::<f64, Ix1>(&[2], 1, None),
    );
    rule_is_the_loop(
        "`product`",
        &["x", "w"],
        order,
        |(x, w)| rule(x, w),
        |(x, w), place| &example(x, place) * w,
        (&x, &w),
    );
}

#[test]
fn a_right_rule_passes() {
    of_product(|x, w| x * w, 2);
}

#[test]
#[should_panic(expected = "the output at [0, 0] is")]
fn examples_in_another_order_are_found() {
    of_product(
        |x, w| {
            Tensor::from(array![[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]).matmul(&(x * w))
        },
        1,
    );
}

#[test]
#[should_panic(expected = "the output has the shape [2, 3] in place of [3, 2]")]
fn an_axis_elsewhere_is_found() {
    of_product(|x, w| (x * w).t(), 1);
}

#[test]
#[should_panic(
    expected = "gradcheck of `product`: a batch by `#[vmap]` is not that of its examples: the gradient of `w` at [0] is 0 in place of"
)]
fn a_gradient_that_is_lost_is_found() {
    of_product(|x, w| x * &w.detach(), 1);
}

/// x·w, whose gradient of w is right but does not depend on `x`.
struct Forgetful;

#[custom_function]
impl Forgetful {
    #[forward]
    fn forward(x: ArrayView2<f64>, w: ArrayView2<f64>) -> Array2<f64> {
        &x * &w
    }

    #[backward]
    fn backward(
        grad_output: &Tensor2<f64>,
        x: &Tensor2<f64>,
        w: &Tensor2<f64>,
    ) -> (Tensor2<f64>, Tensor2<f64>) {
        (grad_output * w, grad_output * x.detach())
    }
}

#[test]
#[should_panic(expected = "the derivative of the gradient of `x` at [0, 0] is 0 in place of")]
fn a_second_derivative_that_is_lost_is_found() {
    of_product(|x, w| Forgetful::apply(x, &w.broadcast_to(&[3, 2])), 2);
}

#[test]
#[should_panic(expected = "gradcheck of `product`")]
fn a_rule_that_cannot_be_differentiated_again_is_found() {
    /// x·w, differentiable once.
    #[custom_function(grad(x) = &grad_output * &w, grad(w) = &grad_output * &x)]
    fn product(x: ArrayView2<f64>, w: ArrayView2<f64>) -> Array2<f64> {
        &x * &w
    }
    of_product(|x, w| product(x, &w.broadcast_to(&[3, 2])), 2);
}
