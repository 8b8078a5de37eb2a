//! Linear functions with an adjoint in place of backward functions.

use pullback::functional::{hessian, jacobian, vmap};
use pullback::ndarray::{
    Array, Array1, Array2, ArrayView, ArrayView1, ArrayView2, ArrayViewMut1, Dimension, array, s,
};
use pullback::prelude::*;

use crate::functions::leaf;

/// The sums of blocks of `factor` columns.
struct BlockSums;

#[custom_function(shapes(x = [n, l], output = [n, l / factor]), gradcheck(n = 2, l = 7, factor = 3))]
impl BlockSums {
    #[forward]
    fn forward(x: ArrayView2<f64>, factor: usize) -> Array2<f64> {
        Array2::from_shape_fn((x.nrows(), x.ncols() / factor), |(i, j)| {
            x.slice(s![i, j * factor..(j + 1) * factor]).sum()
        })
    }
    #[adjoint(x)]
    fn adjoint(grad_output: ArrayView2<f64>, factor: usize, l: usize) -> Array2<f64> {
        Array2::from_shape_fn((grad_output.nrows(), l), |(i, j)| {
            grad_output.get((i, j / factor)).copied().unwrap_or(0.0)
        })
    }
}

/// The differences of neighbors, in the short form.
#[custom_function(
    shapes(x = [n], output = [n - 1]),
    adjoint(x) = Array1::from_shape_fn(n, |i| {
        let here = |i: Option<usize>| i.and_then(|i| grad_output.get(i)).copied().unwrap_or(0.0);
        here(i.checked_sub(1)) - here(Some(i))
    }),
    gradcheck(n = 5),
)]
fn differences(x: ArrayView1<f64>) -> Array1<f64> {
    &x.slice(s![1..]) - &x.slice(s![..-1])
}

/// A weighted sum of several inputs, one by value, with a mask, a list of numbers, and what is not differentiable.
struct Mixed<T, D>(std::marker::PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3], y = [2, 3], mask = [2, 3], weights = &[2.0, -1.0]))]
impl<T: Element, D: Dimension> Mixed<T, D> {
    #[forward(outputs(sum, first, count))]
    fn forward(
        x: ArrayView<T, D>,
        y: Array<T, D>,
        #[non_differentiable] mask: ArrayView<T, D>,
        weights: &[T],
    ) -> (Array<T, D>, Array<T, D>, usize) {
        let first = &x * &mask;
        (
            x.mapv(|x| x * weights[0]) + y.mapv(|y| y * weights[1]),
            first,
            x.len(),
        )
    }
    #[adjoint(y, x)]
    fn adjoint(
        grad_sum: ArrayView<T, D>,
        grad_first: Array<T, D>,
        weights: &[T],
        mask: ArrayView<T, D>,
    ) -> (Array<T, D>, Array<T, D>) {
        let of_y = grad_sum.mapv(|g| g * weights[1]);
        (of_y, grad_first * mask + grad_sum.mapv(|g| g * weights[0]))
    }
}

/// Writes to its input, and may fail.
struct Shift;

#[custom_function(shapes(x = [n]), gradcheck(n = 4, by = 1))]
impl Shift {
    #[forward]
    fn forward(mut x: ArrayViewMut1<f64>, by: usize) -> Result<(), String> {
        let n = x.len();
        if by > n {
            return Err(format!("cannot shift {n} numbers by {by}"));
        }
        for place in (by..n).rev() {
            x[place] = x[place - by];
        }
        x.slice_mut(s![..by]).fill(0.0);
        Ok(())
    }
    #[adjoint(x)]
    fn adjoint(mut grad_output: Array1<f64>, by: usize) -> Result<Array1<f64>, String> {
        let n = grad_output.len();
        for place in 0..n - by {
            grad_output[place] = grad_output[place + by];
        }
        grad_output.slice_mut(s![n - by..]).fill(0.0);
        Ok(grad_output)
    }
}

/// Lists in and out: each part times each weight.
struct Spread;

#[custom_function(gradcheck(parts = [[2], [3]], weights = vec![2.0, 3.0]))]
impl Spread {
    #[forward]
    fn forward(parts: &[ArrayView1<f64>], weights: Vec<f64>) -> Vec<Array1<f64>> {
        weights
            .iter()
            .flat_map(|weight| parts.iter().map(move |part| part * *weight))
            .collect()
    }
    #[adjoint(parts)]
    fn adjoint(grad_output: &[ArrayView1<f64>], weights: &[f64]) -> Vec<Array1<f64>> {
        let count = grad_output.len() / weights.len();
        let of = |part: usize| {
            let terms = weights.iter().enumerate();
            let mut terms =
                terms.map(|(place, weight)| &grad_output[place * count + part] * *weight);
            let first = terms.next().expect("a weight");
            terms.fold(first, |sum, term| sum + term)
        };
        (0..count).map(of).collect()
    }
}

#[test]
fn the_derivative_of_the_adjoint_is_forward() {
    let x = leaf(array![[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]]);
    let y = BlockSums::apply(&x, 3);
    assert_eq!(y.to_array(), array![[6.0, 15.0]]);
    let loss = (&y * &y).sum();
    let g = Grad::of(&loss).create_graph(true).run(&x).unwrap();
    assert_eq!(
        g.to_array(),
        array![[12.0, 12.0, 12.0, 30.0, 30.0, 30.0, 0.0]]
    );
    let g = (&g * &g).sum(); // 4 xᵀAᵀA AᵀA x
    let again = Grad::of(&g).create_graph(true).run(&x).unwrap();
    assert_eq!(again.to_array()[[0, 0]], 8.0 * 3.0 * 6.0);
    let third = grad(&(&again * &again).sum(), &x).unwrap();
    assert_eq!(
        third.to_array()[[0, 0]],
        2.0 * (8.0_f64 * 3.0).powi(2) * 3.0 * 6.0
    );
    assert_eq!(y.grad_fn().expect("a node").name(), "BlockSums");
    assert_eq!(
        again.grad_fn().expect("a node").name(),
        "BlockSums::adjoint"
    );
}

#[test]
fn forward_mode_is_forward() {
    let (x, v) = (
        Tensor::from(Array2::ones((1, 7))),
        Tensor::from(Array2::ones((1, 7))),
    );
    let (_, along) = jvp(|x| BlockSums::apply(x, 3), &x, &v).unwrap();
    assert_eq!(along.to_array(), array![[3.0, 3.0]]);
    let square = |x: &Tensor2<f64>| {
        let y = BlockSums::apply(x, 3);
        (&y * &y).sum()
    };
    let second = hessian(square, &x).unwrap();
    assert_eq!(second.shape(), [1, 7, 1, 7]);
    assert_eq!(
        (second.view()[[0, 0, 0, 2]], second.view()[[0, 0, 0, 3]]),
        (2.0, 0.0)
    );
    let mapped = vmap(
        |x| differences(x),
        pullback::ndarray::Axis(0),
        &Tensor::from(array![[1.0, 4.0], [2.0, 8.0]]),
    )
    .unwrap();
    assert_eq!(mapped.to_array(), array![[3.0], [6.0]]);
    assert_eq!(
        jacobian(|x| differences(x), &Tensor::from(array![1.0, 4.0]))
            .unwrap()
            .to_array(),
        array![[-1.0, 1.0]]
    );
}

#[test]
fn tensors_that_forward_writes_to_have_adjoints_and_it_may_fail() {
    let x = leaf(array![1.0, 2.0, 3.0]);
    let mut y = &x * 1.0;
    Shift::apply(&mut y, 1).unwrap();
    assert_eq!(y.to_array(), array![0.0, 1.0, 2.0]);
    let loss = (&y * &y).sum();
    let g = Grad::of(&loss).create_graph(true).run(&x).unwrap();
    assert_eq!(g.to_array(), array![2.0, 4.0, 0.0]);
    assert_eq!(
        grad(&(&g * &g).sum(), &x).unwrap().to_array(),
        array![8.0, 16.0, 0.0]
    );
    let mut y = &x * 1.0;
    assert_eq!(
        Shift::apply(&mut y, 7).unwrap_err(),
        "cannot shift 3 numbers by 7"
    );
}

#[test]
fn second_derivatives_agree_with_differences() {
    let leaves = || (leaf(array![1.0, -2.0]), leaf(array![0.5, 3.0]));
    let mask = Tensor::from(array![1.0, 0.0]);
    let (x, y) = leaves();
    let weighted = |(x, y): (&Tensor1<f64>, &Tensor1<f64>)| {
        let (sum, first, _) = Mixed::apply(x, y.clone(), &mask, &[2.0, -1.0]);
        (sum.powi(3) + first * x).sum()
    };
    Gradcheck::new()
        .second_order()
        .forward_mode()
        .run(weighted, (&x, &y))
        .unwrap();
    let parts = [leaf(array![1.0, 2.0]), leaf(array![3.0, 4.0, 5.0])];
    let spread = |parts: (&Tensor1<f64>, &Tensor1<f64>)| {
        let all = Spread::apply(&[parts.0, parts.1], vec![2.0, 3.0]);
        all.iter()
            .map(|one| one.powi(3).sum())
            .sum::<Tensor0<f64>>()
    };
    Gradcheck::new()
        .second_order()
        .run(spread, (&parts[0], &parts[1]))
        .unwrap();
}
