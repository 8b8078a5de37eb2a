//! Backward functions that return their gradients in the generated struct, in every form. Each function has a generated
//! test.

use std::marker::PhantomData;

use pullback::ndarray::{
    Array, Array1, ArrayView, ArrayView1, ArrayView2, ArrayViewMut1, Axis, Dimension, Zip, array,
};
use pullback::prelude::*;

use crate::functions::leaf;

/// y = x w
struct Product;

#[custom_function(gradcheck(x = [3, 2], w = [2]))]
impl Product {
    #[forward]
    fn forward(x: ArrayView2<f64>, w: ArrayView1<f64>) -> Array1<f64> {
        x.dot(&w)
    }

    #[backward]
    fn backward(
        grad_output: ArrayView1<f64>,
        x: ArrayView2<f64>,
        w: ArrayView1<f64>,
    ) -> ProductGradients {
        let column = grad_output.insert_axis(Axis(1));
        ProductGradients {
            w: x.t().dot(&grad_output),
            x: column.dot(&w.insert_axis(Axis(0))),
        }
    }
}

#[test]
fn a_backward_function_can_be_called_alone() {
    let (x, w) = (array![[1.0, 2.0], [3.0, 4.0]], array![10.0, 100.0]);
    let found = Product::backward(array![1.0, -1.0].view(), x.view(), w.view());
    assert_eq!(found.x, array![[10.0, 100.0], [-10.0, -100.0]]);
    let ProductGradients { w, .. } = found;
    assert_eq!(w, array![-2.0, -2.0]);
}

/// y = x / w + b: a function that asks for the flags returns `Option`s, and an optional input has one.
struct Shifted;

#[custom_function(gradcheck(x = [3], w = [3], b = [3], r#type = [3]))]
impl Shifted {
    #[forward]
    fn forward(
        x: ArrayView1<f64>,
        w: ArrayView1<f64>,
        b: Option<ArrayView1<f64>>,
        r#type: ArrayView1<f64>,
    ) -> Array1<f64> {
        let y = &x / &w + r#type;
        b.map_or_else(|| y.clone(), |b| &y + &b)
    }

    #[backward(w, x)]
    fn backward(
        grad_output: ArrayView1<f64>,
        x: ArrayView1<f64>,
        w: ArrayView1<f64>,
        needs_input_grad: ShiftedNeedsInputGrad,
    ) -> ShiftedGradients {
        let grad_x = &grad_output / &w;
        ShiftedGradients {
            w: needs_input_grad.w.then(|| -(&grad_x * &x / w)),
            x: Some(grad_x),
        }
    }

    #[backward(b, r#type)]
    fn others(grad_output: ArrayView1<f64>) -> (Option<Array1<f64>>, Array1<f64>) {
        (Some(grad_output.to_owned()), grad_output.to_owned())
    }
}

#[test]
fn only_what_is_needed_is_computed() {
    let (x, w) = (leaf([1.0, 2.0]), Tensor::from(array![2.0, 4.0]));
    let zeros = Tensor::from(array![0.0, 0.0]);
    Shifted::apply(&x, &w, None, &zeros)
        .sum()
        .backward()
        .unwrap();
    assert_eq!(x.grad(), Some(array![0.5, 0.25]));
}

/// y = x + b, where b may be missing.
struct Added;

#[custom_function(gradcheck(x = [3], r#type = [3]))]
impl Added {
    #[forward]
    fn forward(x: ArrayView1<f64>, r#type: Option<ArrayView1<f64>>) -> Array1<f64> {
        r#type.map_or_else(|| x.to_owned(), |b| &x + &b)
    }

    #[backward]
    fn backward(grad_output: ArrayView1<f64>, r#type: Option<ArrayView1<f64>>) -> AddedGradients {
        AddedGradients {
            x: grad_output.to_owned(),
            r#type: r#type.map(|_| grad_output.to_owned()),
        }
    }
}

/// a·b of any rank, differentiable again: the fields are tensors. `F` and `N` are not those of any field.
struct Blend<T, D, F, const N: usize>(PhantomData<(T, D, F)>);

#[custom_function(gradcheck(a = [2, 3], b = [2, 3], f = |x: f64| x * 3.0, N = 2))]
impl<T: Element, D: Dimension, F, const N: usize> Blend<T, D, F, N>
where
    F: Fn(f64) -> f64 + Clone + Send + Sync + 'static,
{
    #[forward]
    fn forward(a: ArrayView<T, D>, b: ArrayView<T, D>, f: F) -> Array<T, D> {
        &a * &b * T::from_f64(f(N as f64))
    }

    #[backward]
    fn backward(
        grad_output: &Tensor<T, D>,
        a: &Tensor<T, D>,
        b: &Tensor<T, D>,
        f: F,
    ) -> BlendGradients<T, D> {
        let grad = grad_output * T::from_f64(f(N as f64));
        BlendGradients {
            b: &grad * a,
            a: grad * b,
        }
    }
}

/// The sum of scaled parts: the gradients of a list are a `Vec`.
struct Weighted;

#[custom_function(gradcheck(parts = [[3], [3]], weights = [2]))]
impl Weighted {
    #[forward]
    fn forward(parts: &[ArrayView1<f64>], weights: ArrayView1<f64>) -> Array1<f64> {
        let pairs = parts.iter().zip(weights);
        pairs.fold(Array1::zeros(3), |sum, (part, weight)| sum + part * *weight)
    }

    #[backward]
    fn backward(
        grad_output: ArrayView1<f64>,
        parts: &[ArrayView1<f64>],
        weights: ArrayView1<f64>,
    ) -> WeightedGradients {
        WeightedGradients {
            weights: parts.iter().map(|part| part.dot(&grad_output)).collect(),
            parts: weights
                .iter()
                .map(|weight| &grad_output * *weight)
                .collect(),
        }
    }
}

/// y = ab, whose backward fails at zeros.
struct Careful;

#[custom_function(gradcheck(a = [3], b = [3]))]
impl Careful {
    #[forward]
    fn forward(a: ArrayView1<f64>, b: ArrayView1<f64>) -> Array1<f64> {
        &a * &b
    }

    #[backward]
    fn backward(
        grad_output: ArrayView1<f64>,
        a: ArrayView1<f64>,
        output: ArrayView1<f64>,
    ) -> Result<CarefulGradients, String> {
        if a.iter().any(|a| *a == 0.0) {
            return Err("a zero".to_owned());
        }
        Ok(CarefulGradients {
            a: &grad_output * &(&output / &a),
            b: &grad_output * &a,
        })
    }
}

#[test]
fn a_backward_that_fails_has_its_own_error() {
    let (a, b) = (leaf([1.0, 0.0]), leaf([2.0, 3.0]));
    let error = Careful::apply(&a, &b).sum().backward().unwrap_err();
    assert!(error.to_string().contains("a zero"), "{error}");
    assert_eq!((a.grad(), b.grad()), (None, None));
}

/// a² + b, written to `a`: on tensors, once.
struct SquareInto;

#[custom_function(gradcheck(a = [3], b = [3]))]
impl SquareInto {
    #[forward]
    fn forward(mut a: ArrayViewMut1<f64>, b: ArrayView1<f64>) {
        Zip::from(&mut a).and(&b).for_each(|a, b| *a = *a * *a + b);
    }

    #[backward(a, b, once)]
    fn backward(grad_output: &Tensor1<f64>, a: &Tensor1<f64>) -> SquareIntoGradients {
        SquareIntoGradients {
            a: grad_output * a * 2.0,
            b: grad_output.clone(),
        }
    }
}
