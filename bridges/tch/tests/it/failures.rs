//! Errors of calls and of backward.

use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;
use pullback_tch::apply;
use tch::{Kind, TchError, Tensor};

use crate::*;

fn product(x: &Tensor, y: &Tensor) -> Tensor {
    apply(|(x, y): (&Tensor1<f64>, &Tensor1<f64>)| x * y, (x, y)).unwrap()
}

fn add_one(tensor: &Tensor) {
    tch::no_grad(|| {
        let _ = tensor.shallow_clone().g_add_scalar_(1.0);
    });
}

#[test]
fn what_was_saved_must_not_change() {
    let (x, y) = (Tensor::from_slice(&[2.0]), leaf(&[3.0]));
    let z = product(&x, &y);
    // For the gradient of y, x alone is saved.
    add_one(&y);
    Tensor::f_run_backward(&[&z], &[&y], true, false).unwrap();
    add_one(&x);
    let error = z.f_backward().unwrap_err().to_string();
    assert!(
        error.contains(
            "modified by an inplace operation: input 0 is at version 1; expected version 0 instead"
        ),
        "{error}"
    );
    // A view counts with its tensor.
    let base = Tensor::from_slice(&[2.0, 5.0]);
    let z = product(&base.narrow(0, 1, 1), &y);
    add_one(&base);
    assert!(z.f_backward().is_err());
    // A copy is none of the tensor's.
    let base = Tensor::from_slice(&[2.0, 5.0, 7.0, 8.0]).set_requires_grad(false);
    let z = product(&base.slice(0, 0, 4, 2), &leaf(&[1.0, 1.0]));
    add_one(&base);
    z.sum(Kind::Double).f_backward().unwrap();
}

#[test]
fn a_gradient_that_was_saved_must_not_change() {
    let (x, y) = (leaf(&[2.0]), leaf(&[3.0]));
    let seed = leaf(&[1.0]);
    let z = product(&x, &y);
    let grad = Tensor::run_backward(&[&(&z * &seed)], &[&x], true, true).remove(0);
    // The gradient of z is the product of the seed and one.
    grad.f_backward().unwrap();
    assert_eq!(numbers(&seed.grad()), [3.0]);

    let z = product(&x, &y);
    let scaled = product(&z, &seed);
    let grad = Tensor::run_backward(&[&scaled], &[&x], true, true).remove(0);
    add_one(&seed);
    let error = grad.f_backward().unwrap_err().to_string();
    assert!(error.contains("input 1 is at version 1"), "{error}");
}

#[test]
fn memory_that_is_resized_is_not_read_where_it_was() {
    let (mut x, y) = (Tensor::from_slice(&[2.0]), leaf(&[3.0]));
    let z = product(&x, &y);
    let _ = x.resize_([100_000]);
    let _ = x.fill_(0.0);
    assert!(z.f_backward().is_err());
    let mut x = Tensor::from_slice(&[2.0]);
    let z = product(&x, &y);
    let _ = x.resize_([100_000]);
    match z.f_backward() {
        Ok(()) => assert_eq!(numbers(&y.grad()), [2.0]),
        Err(error) => assert!(error.to_string().contains("inplace"), "{error}"),
    }
}

struct Panics;

#[custom_function]
impl Panics {
    #[forward]
    fn forward(x: ArrayView1<f64>, in_forward: bool) -> Array1<f64> {
        assert!(!in_forward, "no forward of {} elements", x.len());
        &x + 1.0
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> {
        panic!("no backward of {} elements", grad_output.len())
    }
}

#[test]
fn panics_are_errors() {
    let x = leaf(&[1.0, 2.0]);
    let error = apply(|x: &Tensor1<f64>| Panics::apply(x, true), &x).unwrap_err();
    assert!(
        matches!(&error, TchError::Torch(text) if text.ends_with("panicked: no forward of 2 elements")),
        "{error}"
    );
    let y = apply(|x: &Tensor1<f64>| Panics::apply(x, false), &x).unwrap();
    let error = y.sum(Kind::Double).f_backward().unwrap_err();
    assert!(
        matches!(&error, TchError::Torch(text) if text.contains("no backward of 2 elements")),
        "{error}"
    );
    // Nothing is left behind.
    squash_1(&x, &leaf(&[1.5]))
        .sum(Kind::Double)
        .f_backward()
        .unwrap();
}

fn refused<'t>(x: &'t Tensor, y: &'t Tensor) -> String {
    let outcome = apply(
        |(x, y): (&Tensor1<f64>, &Tensor2<f32>)| (x * 2.0, y * 2.0),
        (x, y),
    );
    let error = outcome.unwrap_err();
    assert!(matches!(error, TchError::Convert(_)));
    error.to_string()
}

#[test]
fn inputs_have_to_be_what_the_function_takes() {
    let x = Tensor::from_slice(&[1.0]);
    let y = Tensor::from_slice(&[1.0_f32]).view([1, 1]);
    assert_eq!(
        refused(&x, &y.view([1])),
        "conversion error: input 1 is a tensor of f32 of rank 1; the function takes one of f32 of rank 2"
    );
    assert_eq!(
        refused(&y, &y),
        "conversion error: input 0 is a tensor of f32 of rank 2; the function takes one of f64 of rank 1"
    );
    for (kind, name) in [
        (Kind::Int64, "Int64"),
        (Kind::Bool, "Bool"),
        (Kind::Half, "Half"),
        (Kind::BFloat16, "BFloat16"),
        (Kind::ComplexDouble, "ComplexDouble"),
    ] {
        assert_eq!(
            refused(&x, &y.to_kind(kind)),
            format!(
                "conversion error: input 1 is of kind {name}; functions take tensors of Float or Double"
            )
        );
    }
    assert_eq!(
        refused(&Tensor::new(), &y),
        "conversion error: input 0 is not defined"
    );
    assert_eq!(
        refused(&x, &y.to_sparse_sparse_dim(2)),
        "conversion error: input 1 is not dense; functions take dense tensors, see `to_dense`"
    );
    let one = apply(|(x, y): (&Tensor1<f64>, &Tensor1<f64>)| x * y, &x).unwrap_err();
    assert_eq!(
        one.to_string(),
        "conversion error: the function takes 2 tensors, but 1 was given"
    );
    let three = apply(|x: &Tensor1<f64>| x * 2.0, &[&x, &x, &x]).unwrap_err();
    assert_eq!(
        three.to_string(),
        "conversion error: the function takes 1 tensor, but 3 were given"
    );
}
