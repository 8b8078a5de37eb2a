//! Outputs and intermediates that are lists or may be missing, backward functions that fail or are differentiable once,
//! and `needs_input_grad` in forward.

use std::error::Error as _;

use pullback::ndarray::{Array1, ArrayView1, array};
use pullback::{
    ErrorKind, Function, Grad, Gradcheck, Tensor, Tensor0, Tensor1, custom_function, enable_grad,
    grad, jvp, no_grad,
};

/// Parts of `x` of this length, each times its place, and the sum of squares if it is wanted.
struct Parts;

#[custom_function(gradcheck(x = [5], length = 2, with_squares = true))]
impl Parts {
    #[forward(outputs(parts, squares), saves(places))]
    fn forward(
        x: ArrayView1<f64>,
        length: usize,
        with_squares: bool,
    ) -> (Vec<Array1<f64>>, Option<Array1<f64>>, Option<Array1<f64>>) {
        let parts = x.as_slice().map_or_else(|| x.to_vec(), <[f64]>::to_vec);
        let parts = parts.chunks(length).enumerate();
        let parts = parts.map(|(place, part)| Array1::from_vec(part.to_vec()) * (place + 1) as f64);
        let squares = with_squares.then(|| &x * &x);
        let places =
            (!x.is_empty()).then(|| (0..x.len()).map(|at| (at / length + 1) as f64).collect());
        (parts.collect(), squares, places)
    }

    #[backward(x)]
    fn backward(
        grad_parts: &[Option<ArrayView1<f64>>],
        grad_squares: Option<ArrayView1<f64>>,
        parts: &[ArrayView1<f64>],
        squares: Option<ArrayView1<f64>>,
        places: Option<ArrayView1<f64>>,
        x: ArrayView1<f64>,
    ) -> Array1<f64> {
        assert!(grad_squares.is_none() || squares.is_some());
        let whole = grad_parts
            .iter()
            .zip(parts)
            .flat_map(|(grad, part)| match grad {
                Some(grad) => grad.to_vec(),
                None => vec![0.0; part.len()],
            });
        let mut grad: Array1<f64> = whole.collect();
        if let Some(places) = places {
            grad *= &places;
        }
        match grad_squares {
            Some(of_squares) => grad + &of_squares * &x * 2.0,
            None => grad,
        }
    }

    #[jvp]
    fn jvp(
        tangent_x: ArrayView1<f64>,
        x: ArrayView1<f64>,
        length: usize,
        squares: Option<ArrayView1<f64>>,
    ) -> (Vec<Array1<f64>>, Option<Array1<f64>>) {
        let (parts, _, _) = Self::forward(tangent_x, length, false);
        (parts, squares.map(|_| &x * &tangent_x * 2.0))
    }
}

fn leaf(x: Array1<f64>) -> Tensor1<f64> {
    Tensor::from(x).set_requires_grad(true)
}

#[test]
fn each_tensor_of_a_list_has_its_gradient() {
    let x = leaf(array![1.0, 2.0, 3.0, 4.0, 5.0]);
    let (parts, squares) = Parts::apply(&x, 2, false);
    assert!(squares.is_none());
    assert_eq!(parts.len(), 3);
    assert_eq!(parts[2].to_array(), array![15.0]);
    let g = grad(&(parts[1].sum() + parts[2].sum() * 10.0), &x).unwrap();
    assert_eq!(g.to_array(), array![0.0, 0.0, 2.0, 2.0, 30.0]);
    let (parts, squares) = Parts::apply(&x, 5, true);
    let loss = squares.unwrap().sum() + parts[0].sum();
    assert_eq!(
        grad(&loss, &x).unwrap().to_array(),
        array![3.0, 5.0, 7.0, 9.0, 11.0]
    );
}

#[test]
fn a_list_may_be_empty_and_an_output_missing() {
    let x = leaf(Array1::zeros(0));
    let (parts, squares) = Parts::apply(&x, 2, false);
    assert!(parts.is_empty() && squares.is_none());
    let (parts, squares) = Parts::apply(&x, 2, true);
    assert!(parts.is_empty());
    let squares = squares.unwrap();
    assert_eq!(squares.grad_fn().unwrap().name(), "Parts");
    squares.sum().backward().unwrap();
    assert_eq!(x.grad().unwrap().len(), 0);
}

#[test]
fn tangents_of_lists_and_of_what_is_missing() {
    let (x, v) = (
        Tensor::from(array![1.0, 2.0, 3.0]),
        Tensor::from(array![1.0, 0.0, 2.0]),
    );
    let run = |x: &Tensor1<f64>| {
        let (parts, squares) = Parts::apply(x, 2, true);
        (parts, squares.unwrap())
    };
    let (_, (parts, squares)) = jvp(run, &x, &v).unwrap();
    assert_eq!(parts[1].to_array(), array![4.0]);
    assert_eq!(squares.to_array(), array![2.0, 0.0, 12.0]);
    let (_, parts) = jvp(|x: &Tensor1<f64>| Parts::apply(x, 2, false).0, &x, &v).unwrap();
    assert_eq!(parts.len(), 2);
}

/// A function whose rule returns `tangents` tangents.
struct Tangents;

#[custom_function]
impl Tangents {
    #[forward]
    fn forward(x: ArrayView1<f64>, tangents: usize) -> Vec<Array1<f64>> {
        vec![x.to_owned(); 2]
    }
    #[backward(x)]
    fn backward(grad_output: &[ArrayView1<f64>]) -> Array1<f64> {
        &grad_output[0] + &grad_output[1]
    }
    #[jvp]
    fn jvp(tangent_x: ArrayView1<f64>, tangents: usize) -> Vec<Array1<f64>> {
        vec![tangent_x.to_owned(); tangents]
    }
}

#[test]
fn another_number_of_tangents_is_an_error() {
    let x = Tensor::from(array![1.0]);
    assert!(jvp(|x: &Tensor1<f64>| Tangents::apply(x, 2), &x, &x).is_ok());
    let error = jvp(|x: &Tensor1<f64>| Tangents::apply(x, 3), &x, &x).unwrap_err();
    let expected = ErrorKind::TangentCount {
        of: "output",
        expected: 2,
        found: 3,
    };
    assert_eq!(
        (error.kind(), error.function()),
        (&expected, Some("Tangents"))
    );
    let output = &Tangents::SIGNATURE.outputs[0];
    assert!(output.list && output.differentiable);
}

/// A list as an output, differentiable again.
#[custom_function(higher_order, gradcheck(x = [3]), grad(x) = grad_output[0] * x * 2.0 + grad_output[1] * x * x * 3.0)]
fn powers(x: ArrayView1<f64>) -> Vec<Array1<f64>> {
    vec![&x * &x, &x * &x * x]
}

#[test]
fn lists_have_second_derivatives() {
    let x = leaf(array![2.0]);
    let y = powers(&x);
    let g = Grad::of(&(y[0].sum() + y[1].sum()))
        .create_graph(true)
        .run(&x)
        .unwrap();
    assert_eq!(g.to_array(), array![16.0]);
    assert_eq!(grad(&g.sum(), &x).unwrap().to_array(), array![14.0]);
    Gradcheck::new()
        .second_order()
        .thorough()
        .run(|x| powers(x), &x)
        .unwrap();
}

/// A list of tensors, whose gradient runs autograd inside.
struct Norm;

#[custom_function(gradcheck(params = [[3], [2]], scale = 0.5))]
impl Norm {
    #[forward]
    fn forward(params: &[&Tensor1<f64>], scale: f64) -> Array1<f64> {
        let sum: f64 = params
            .iter()
            .map(|param| param.view().dot(&param.view()))
            .sum();
        Array1::from_elem(1, scale * sum)
    }
    #[backward(params, once)]
    fn backward(
        grad_output: ArrayView1<f64>,
        params: &[&Tensor1<f64>],
        scale: f64,
    ) -> Result<Vec<Tensor1<f64>>, pullback::Error> {
        assert!(!pullback::is_grad_enabled());
        assert!(params.iter().all(|param| !param.requires_grad()));
        let leaves: Vec<_> = params
            .iter()
            .map(|param| param.detach().set_requires_grad(true))
            .collect();
        let sum = enable_grad(|| {
            let squares = leaves.iter().map(|leaf| (leaf * leaf).sum());
            squares.sum::<Tensor0<f64>>() * (scale * grad_output[0])
        });
        grad(&sum, &leaves)
    }
}

/// A list of outputs, whose gradients it takes as tensors that may be missing.
struct Twice;

#[custom_function(gradcheck(x = [3]))]
impl Twice {
    #[forward(outputs(ys))]
    fn forward(x: ArrayView1<f64>) -> Vec<Array1<f64>> {
        vec![&x * 2.0, &x * 3.0]
    }
    #[backward(x, once)]
    fn backward(grad_ys: &[Option<&Tensor1<f64>>], x: &Tensor1<f64>) -> Tensor1<f64> {
        let part = |place: usize, factor: f64| match grad_ys[place] {
            Some(grad) => grad * factor,
            None => x * 0.0,
        };
        part(0, 2.0) + part(1, 3.0)
    }
}

#[test]
fn a_gradient_of_a_list_may_be_missing_as_a_tensor() {
    let x = leaf(array![1.0]);
    let ys = Twice::apply(&x);
    assert_eq!(grad(&ys[1], &x).unwrap().to_array(), array![3.0]);
}

#[test]
fn what_is_marked_once_is_differentiable_once() {
    let params = [leaf(array![1.0, 2.0]), leaf(array![3.0])];
    let of = |g: Vec<Tensor1<f64>>| g.iter().map(Tensor::to_array).collect::<Vec<_>>();
    let plain = grad(&Norm::apply(&params, 0.5), &params).unwrap();
    assert_eq!(of(plain), [array![1.0, 2.0], array![3.0]]);
    let recorded = Grad::of(&Norm::apply(&params, 0.5))
        .create_graph(true)
        .run(&params)
        .unwrap();
    let error = grad(&recorded[0].sum(), &params[0]).unwrap_err();
    assert_eq!(
        (error.kind(), error.function()),
        (&ErrorKind::OnceDifferentiable, Some("Norm"))
    );
    assert_eq!(Norm::SIGNATURE.order, pullback::Order::Once);
    // Lists in every way that callers have them.
    let references: Vec<&Tensor1<f64>> = params.iter().collect();
    let vector = params.to_vec();
    for y in [
        Norm::apply(&references, 0.5),
        Norm::apply(&vector, 0.5),
        Norm::apply(&[&params[0], &params[1]], 0.5),
    ] {
        assert_eq!(y.to_array(), array![7.0]);
    }
}

thread_local! {
    /// The leaf of the passes that backward functions of this file run.
    static INNER: Tensor1<f64> = leaf(array![1.0]);
}

/// A function whose backward runs a pass, and then fails if `fails` is set.
struct Fails;

#[custom_function]
impl Fails {
    #[forward(saves(doubled))]
    fn forward(
        x: ArrayView1<f64>,
        other: &Tensor1<f64>,
        #[non_differentiable] inner: &Tensor1<f64>,
        fails: bool,
        needs_input_grad: &FailsNeedsInputGrad,
    ) -> (Array1<f64>, Option<Array1<f64>>) {
        (
            x.to_owned() + other.view(),
            needs_input_grad.x.then(|| &x * 2.0),
        )
    }
    #[backward(x, other, once)]
    fn backward(
        grad_output: &Tensor1<f64>,
        inner: &Tensor1<f64>,
        doubled: Option<&Tensor1<f64>>,
        fails: bool,
    ) -> Result<(Tensor1<f64>, Option<Tensor1<f64>>), std::num::ParseIntError> {
        assert!(inner.shape() == grad_output.shape());
        let own = INNER.with(|inner| enable_grad(|| (inner * 2.0).backward()));
        assert!(own.is_ok());
        if fails {
            "a".parse::<u8>()?;
        }
        let doubled = doubled.map_or_else(|| grad_output.clone(), |doubled| doubled * grad_output);
        Ok((doubled, Some(grad_output.clone())))
    }
}

#[test]
fn a_backward_function_may_fail() {
    let (x, other) = (leaf(array![3.0]), leaf(array![1.0]));
    let inner = Tensor::from(array![5.0]);
    let good = Fails::apply(&x, &other, &inner, false).sum();
    let both = grad(&good, (&x, &other)).unwrap();
    assert_eq!(
        (both.0.to_array(), both.1.to_array()),
        (array![6.0], array![1.0])
    );
    // `x` needs no gradient here, so forward computes nothing for it.
    let frozen = Fails::apply(&x.detach(), &other, &inner, false).sum();
    assert_eq!(grad(&frozen, &other).unwrap().to_array(), array![1.0]);
    no_grad(|| assert!(Fails::apply(&x, &other, &inner, true).grad_fn().is_none()));

    let y = Fails::apply(&x, &other, &inner, true);
    let loss = (&y * &x).sum();
    let error = loss.backward().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Backward { reason } if reason.contains("digit")));
    assert!(error.source().unwrap().is::<std::num::ParseIntError>());
    assert_eq!(error.function(), Some("Fails"));
    assert!(x.grad().is_none() && other.grad().is_none());
    // Nothing was freed.
    assert!(matches!(
        loss.backward().unwrap_err().kind(),
        ErrorKind::Backward { .. }
    ));
}

#[test]
fn a_seed_has_a_derivative() {
    let x = leaf(array![3.0]);
    let (y, v) = (&x * &x, &x * 1.0);
    let plain = Grad::of(&y).seed(&v).retain_graph(true).run(&x).unwrap();
    assert!(plain.grad_fn().is_none());
    let along = Grad::of(&y).seed(v).create_graph(true).run(&x).unwrap();
    assert_eq!(grad(&along.sum(), &x).unwrap().to_array(), array![12.0]);
    let wrong = Grad::of(&y)
        .seed(Tensor::from(array![1.0, 2.0]))
        .run(&x)
        .unwrap_err();
    assert!(matches!(wrong.kind(), ErrorKind::SeedShape { .. }));
}

#[test]
fn the_sum_of_nothing_has_a_shape_only_without_axes() {
    let none: [Tensor0<f32>; 0] = [];
    assert_eq!(none.iter().sum::<Tensor0<f32>>().item(), 0.0);
    let sum = std::panic::catch_unwind(|| std::iter::empty::<Tensor1<f32>>().sum::<Tensor1<f32>>());
    let message = *sum.unwrap_err().downcast::<&str>().unwrap();
    assert_eq!(message, "the sum of no tensors has no shape");
}

/// Tolerances that a wrong gradient is within.
#[custom_function(
    gradcheck(x = Array1::from_elem(3, 2.0), atol = 1.0, rtol = 1.0, eps = 1e-3),
    grad(x) = &grad_output * 2.1
)]
fn roughly_double(x: ArrayView1<f64>) -> Array1<f64> {
    &x * 2.0
}
#[test]
fn what_a_pass_within_a_failing_one_has_accumulated_stays() {
    let (x, other) = (leaf(array![3.0]), leaf(array![1.0]));
    let fails = |fails| Fails::apply(&x, &other, &Tensor::from(array![5.0]), fails).backward();
    let accumulated = || INNER.with(Tensor::grad);
    assert!(fails(true).is_err() && x.grad().is_none());
    assert_eq!(accumulated(), Some(array![2.0]));
    assert!(fails(false).is_ok());
    assert_eq!(
        (x.grad(), accumulated()),
        (Some(array![6.0]), Some(array![4.0]))
    );
}
