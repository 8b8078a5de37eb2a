//! The three custom functions, for any element type: trained in `f32`, checked in `f64`.

use std::marker::PhantomData;

use pullback::Error;
use pullback::ndarray::{
    Array0, Array1, Array2, ArrayView0, ArrayView1, ArrayView2, Axis, Zip, array,
};
use pullback::prelude::*;

/// y = x Wᵀ + b
pub struct Linear<T>(PhantomData<T>);

#[custom_function(gradcheck(input = [3, 4], weight = [5, 4], bias = [5]))]
impl<T: Element> Linear<T> {
    #[forward]
    pub fn forward(input: ArrayView2<T>, weight: ArrayView2<T>, bias: ArrayView1<T>) -> Array2<T> {
        input.dot(&weight.t()) + bias
    }

    #[backward(input)]
    fn grad_input(grad_output: ArrayView2<T>, weight: ArrayView2<T>) -> Array2<T> {
        grad_output.dot(&weight)
    }

    #[backward(weight)]
    fn grad_weight(grad_output: ArrayView2<T>, input: ArrayView2<T>) -> Array2<T> {
        grad_output.t().dot(&input)
    }

    #[backward(bias)]
    fn grad_bias(grad_output: ArrayView2<T>) -> Array1<T> {
        grad_output.sum_axis(Axis(0))
    }
}

/// y = max(x, 0)
pub struct Relu<T>(PhantomData<T>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element> Relu<T> {
    #[forward]
    pub fn forward(x: ArrayView2<T>) -> Array2<T> {
        x.mapv(|x| x.max(T::zero()))
    }

    // The output shows where the input was positive, so the input need not be saved. The gradient is
    // taken by value and written in place.
    #[backward(x)]
    fn backward(mut grad_output: Array2<T>, output: ArrayView2<T>) -> Array2<T> {
        Zip::from(&mut grad_output)
            .and(output)
            .for_each(|grad, &y| {
                if y <= T::zero() {
                    *grad = T::zero();
                }
            });
        grad_output
    }
}

/// Computes the mean over the rows of −ln softmax(logits)[label].
///
/// Forward computes the probabilities anyway. They are saved for backward, where the gradient is
/// simply (probabilities − one-hot labels) / rows.
pub struct SoftmaxCrossEntropy<T>(PhantomData<T>);

#[custom_function(gradcheck(logits = [3, 4], labels = &[2, 0, 3]))]
impl<T: Element> SoftmaxCrossEntropy<T> {
    #[forward(outputs(loss), saves(probabilities))]
    pub fn forward(logits: ArrayView2<T>, labels: &[usize]) -> (Array0<T>, Array2<T>) {
        assert_eq!(
            logits.nrows(),
            labels.len(),
            "a label for each row of logits"
        );
        let mut probabilities = logits.to_owned();
        let mut loss = T::zero();
        for (mut row, &label) in probabilities.rows_mut().into_iter().zip(labels) {
            let largest = row.fold(T::neg_infinity(), |largest, &x| largest.max(x));
            row.mapv_inplace(|x| x - largest);
            let logit = row[label];
            row.mapv_inplace(T::exp);
            let total = row.sum();
            row.mapv_inplace(|x| x / total);
            loss += total.ln() - logit;
        }
        (Array0::from_elem((), loss / rows(labels)), probabilities)
    }

    #[backward(logits)]
    fn backward(
        grad_loss: ArrayView0<T>,
        probabilities: ArrayView2<T>,
        labels: &[usize],
    ) -> Array2<T> {
        let scale = *grad_loss.into_scalar() / rows(labels);
        let mut gradient = &probabilities * scale;
        for (mut row, &label) in gradient.rows_mut().into_iter().zip(labels) {
            row[label] -= scale;
        }
        gradient
    }
}

/// Returns the number of rows as an element.
fn rows<T: Element>(labels: &[usize]) -> T {
    let rows = labels.len() as f64;
    T::from_f64(rows)
}

/// Checks the gradients of all three functions.
pub fn check() -> Result<(), Error> {
    let x = Tensor::from(array![[0.3, -1.2, 0.8], [1.5, 0.4, -0.6]]).set_requires_grad(true);
    let w = Tensor::from(array![[0.2, 0.7, -0.4], [-0.9, 0.1, 0.5]]).set_requires_grad(true);
    let b = Tensor::from(array![0.1, -0.3]).set_requires_grad(true);
    Gradcheck::new().run(|(x, w, b)| Linear::apply(x, w, b), (&x, &w, &b))?;
    Gradcheck::new().run(|(x,)| Relu::apply(x), (&x,))?;
    Gradcheck::new().run(|(x,)| SoftmaxCrossEntropy::apply(x, &[2, 0]), (&x,))
}
