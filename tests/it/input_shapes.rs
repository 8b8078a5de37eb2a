//! The shape of an input, which backward functions and adjoints ask for as `shape_x`.

use std::marker::PhantomData;

use pullback::functional::{hessian, jacobian, vmap};
use pullback::ndarray::{
    Array, Array0, Array1, Array2, ArrayView, ArrayView0, ArrayView1, ArrayView2, ArrayViewMut1,
    Axis, Dimension, Ix2, Ix4, IxDyn, array,
};
use pullback::prelude::*;

/// The sum of all elements, of any rank, as a linear function.
struct Total<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3]), gradcheck(x = [2, 1, 3, 2]), gradcheck(x = []))]
impl<T: Element, D: Dimension> Total<T, D> {
    #[forward]
    fn forward(x: ArrayView<T, D>) -> Array0<T> {
        Array::from_elem((), x.sum())
    }

    #[adjoint(x)]
    fn adjoint(grad_output: ArrayView0<T>, shape_x: &[usize]) -> Array<T, D> {
        let repeated = grad_output.broadcast(IxDyn(shape_x)).expect("a number");
        let repeated = repeated.to_owned().into_dimensionality();
        repeated.expect("the rank of x")
    }
}

/// The elements before `n` of a tensor that forward consumes, times a mask and the sum of a list.
struct Head;

#[custom_function(gradcheck(x = [5], mask = [2], n = 2, others = [[2], [3]]))]
impl Head {
    #[forward]
    fn forward(
        mut x: Array1<f64>,
        #[non_differentiable] mask: ArrayView1<f64>,
        n: usize,
        others: &[ArrayView1<f64>],
    ) -> Array1<f64> {
        x.slice_collapse(pullback::ndarray::s![..n]);
        x * mask * others.iter().map(|other| other.sum()).sum::<f64>()
    }

    #[backward(x, others)]
    fn backward(
        grad_output: ArrayView1<f64>,
        mask: ArrayView1<f64>,
        others: &[ArrayView1<f64>],
        output: ArrayView1<f64>,
        shape_x: &[usize],
        shape_mask: &[usize],
    ) -> (Array1<f64>, Vec<Array1<f64>>) {
        assert_eq!(shape_mask, [mask.len()]);
        let sum: f64 = others.iter().map(|other| other.sum()).sum();
        let mut grad = Array1::zeros(shape_x[0]);
        for (index, (g, m)) in grad_output.iter().zip(&mask).enumerate() {
            grad[index] = g * m * sum;
        }
        let along = grad_output.dot(&output) / sum;
        let each = others
            .iter()
            .map(|other| Array1::from_elem(other.len(), along));
        (grad, each.collect())
    }
}

/// The first row, in the short form.
#[custom_function(
    grad(x) = {
        let mut grad = Array2::zeros((shape_x[0], shape_x[1]));
        grad.row_mut(0).assign(&grad_output);
        grad
    },
    gradcheck(x = [2, 3]),
)]
fn first_row(x: ArrayView2<f64>) -> Array1<f64> {
    x.row(0).to_owned()
}

/// A tensor that is written to has one shape.
struct Doubled;

#[custom_function(gradcheck(x = [3]))]
impl Doubled {
    #[forward]
    fn forward(mut x: ArrayViewMut1<f64>) {
        x *= 2.0;
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>, shape_x: &[usize]) -> Array1<f64> {
        Array1::from_elem(shape_x[0], 2.0) * grad_output
    }
}

/// An input of that name comes first.
struct Named;

#[custom_function(gradcheck(x = [2], shape_x = [2]))]
impl Named {
    #[forward]
    fn forward(x: ArrayView1<f64>, shape_x: ArrayView1<f64>) -> Array1<f64> {
        &x * &shape_x
    }
    #[backward(x)]
    fn grad_x(grad_output: ArrayView1<f64>, shape_x: ArrayView1<f64>) -> Array1<f64> {
        &grad_output * &shape_x
    }
    #[backward(shape_x)]
    fn grad_shape(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> {
        &grad_output * &x
    }
}

#[test]
fn an_adjoint_of_any_rank_is_differentiated_any_number_of_times_and_in_both_modes() {
    let x = Tensor::from(Array::from_shape_fn((2, 3), |(i, j)| {
        (i * 3 + j) as f64 - 1.5
    }));
    let squared = |x: &Tensor<f64, Ix2>| Total::apply(x).powi(2);
    let all: Gradcheck = Gradcheck::new().second_order().forward_mode();
    all.run(squared, &x).unwrap();
    // (Σx)² has the Hessian 2.
    let second = hessian(squared, &x).unwrap();
    assert!(second.to_array().iter().all(|one| *one == 2.0));
    // Of the adjoint itself: its derivative is forward.
    let slope = jacobian(|x| Total::<f64, Ix4>::apply(&x.reshape([1, 2, 1, 3])), &x).unwrap();
    assert!(slope.to_array().iter().all(|one| *one == 1.0));
    let each = vmap(Total::apply, Axis(0), &x).unwrap();
    assert_eq!(each.to_array(), array![-1.5, 7.5]);
}

#[test]
fn no_elements_have_a_shape_too() {
    let x = Tensor::from(Array2::<f64>::zeros((0, 3))).set_requires_grad(true);
    Total::apply(&x).backward().unwrap();
    assert_eq!(x.grad(), Some(Array2::zeros((0, 3))));
}

#[test]
fn the_shape_is_that_of_the_call_also_where_forward_consumes_or_writes() {
    let x = Tensor::from(array![1.0, 2.0, 3.0]).set_requires_grad(true);
    let other = [Tensor::from(array![2.0, 1.0])];
    let y = Head::apply(x.clone(), &Tensor::from(array![1.0, 0.5]), 2, &other);
    y.sum().backward().unwrap();
    assert_eq!(x.grad(), Some(array![3.0, 1.5, 0.0]));
    let leaf = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]).set_requires_grad(true);
    first_row(&leaf).sum().backward().unwrap();
    assert_eq!(leaf.grad(), Some(array![[1.0, 1.0], [0.0, 0.0]]));
}

#[test]
fn the_signature_lists_the_shape_among_what_is_saved() {
    let saved: Vec<&str> = Total::<f64, Ix2>::SIGNATURE
        .saved
        .iter()
        .map(|saved| saved.name)
        .collect();
    assert_eq!(saved, ["shape_x"]);
}
