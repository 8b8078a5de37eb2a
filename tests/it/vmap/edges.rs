//! Shapes, types and numbers of what is mapped, and what is refused.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, OnceLock};

use pullback::foreign::panic_text;
use pullback::functional::{jvp, vmap};
use pullback::ndarray::{Array1, Array2, Axis, array};
use pullback::prelude::*;
use pullback::{Backward, Error, ErrorKind};

use super::{leaf, numbers};
use crate::functions::panic_of;

#[test]
fn inputs_of_several_types_and_ranks() {
    let x = Tensor::from(array![[1.0_f32, 2.0], [3.0, 4.0]]).set_requires_grad(true);
    let y = leaf(array![10.0, 20.0]);
    let z = leaf(numbers((2, 3, 2), 0.5).into_dyn());
    let function = |(x, (y,), z): (&Tensor1<f32>, (&Tensor0<f64>,), &TensorD<f64>)| {
        (x * 2.0, (y * y, z * 2.0))
    };
    let (a, (b, c)): (Tensor2<f32>, (Tensor1<f64>, TensorD<f64>)) =
        vmap(function, Axis(0), (&x, (&y,), &z)).unwrap();
    assert_eq!(a.to_array(), array![[2.0, 4.0], [6.0, 8.0]]);
    assert_eq!(b.to_array(), array![100.0, 400.0]);
    assert_eq!(c.to_array(), z.to_array() * 2.0);
    let of_a = Backward::of(&a).seed(Array2::ones((2, 2)));
    let of_a = of_a.output(&b).seed(Array1::ones(2));
    of_a.output(&c).seed(z.to_array()).run().unwrap();
    assert_eq!(x.grad(), Some(array![[2.0, 2.0], [2.0, 2.0]]));
    assert_eq!(y.grad(), Some(array![20.0, 40.0]));
    assert_eq!(z.grad(), Some(z.to_array() * 2.0));
}

#[test]
fn lists_of_inputs() -> Result<(), Error> {
    let parts = [leaf(numbers((4, 3), 0.1)), leaf(numbers((4, 2), 0.2))];
    let factor = leaf(array![1.0, 2.0, 3.0, 4.0]);
    let function = |(parts, factor): (&[Tensor1<f64>], &Tensor0<f64>)| {
        let sums: Vec<Tensor0<f64>> = parts.iter().map(|part| part.sum() * factor).collect();
        sums
    };
    let sums: Vec<Tensor1<f64>> = vmap(function, Axis(0), (&parts, &factor))?;
    assert_eq!(sums.len(), 2);
    for (sums, part) in sums.iter().zip(&parts) {
        let expected = part.sum_axis(Axis(1)) * &factor;
        assert!(
            (sums - expected)
                .to_array()
                .iter()
                .all(|off| off.abs() < 1e-12)
        );
    }
    let gradients = grad(&(sums[0].sum() + sums[1].sum()), &parts)?;
    let by_row = factor.to_array().insert_axis(Axis(1));
    for (gradient, columns) in gradients.iter().zip([3, 2]) {
        assert_eq!(gradient.to_array(), by_row.broadcast((4, columns)).unwrap());
    }

    let two = vmap(|parts: &[Tensor1<f64>]| parts[0].sum(), Axis(0), &parts[..])?;
    assert_eq!(two.shape(), [4]);
    Ok(())
}

#[test]
fn lists_of_outputs_and_outputs_that_are_inputs() {
    let x = leaf(array![[1.0, 2.0], [3.0, 4.0]]);
    let w = leaf(array![5.0]);
    let function = |x: &Tensor1<f64>| {
        let list: Vec<Tensor1<f64>> = vec![x * 2.0, x.clone()];
        (list, w.clone(), x.clone())
    };
    let (list, of_w, same) = vmap(function, Axis(0), &x).unwrap();
    let sums = list[0].sum() + list[1].sum() + same.sum() + of_w.sum();
    sums.backward().unwrap();
    assert_eq!(x.grad(), Some(Array2::from_elem((2, 2), 4.0)));
    assert_eq!(w.grad(), Some(array![2.0]));
    assert_eq!(of_w.to_array(), array![[5.0], [5.0]]);
}

#[test]
fn examples_without_a_part_in_it_have_zeros() {
    let x = leaf(array![1.0, -2.0, 3.0, -4.0, -5.0]);
    let (w, unused) = (leaf(array![2.0]), leaf(array![7.0]));
    let function = |x: &Tensor0<f64>| {
        let _ = &unused;
        if x.item() > 0.0 {
            (x * &w).sum()
        } else {
            Tensor::from(0.0)
        }
    };
    let y = vmap(function, Axis(0), &x).unwrap();
    y.sum().backward().unwrap();
    assert_eq!(x.grad(), Some(array![2.0, 0.0, 2.0, 0.0, 0.0]));
    assert_eq!((w.grad(), unused.grad()), (Some(array![4.0]), None));
    // The first ones to run give nothing.
    x.zero_grad();
    let function = |x: &Tensor0<f64>| if x.item() < -4.5 { x * x } else { x.detach() };
    vmap(function, Axis(0), &x)
        .unwrap()
        .sum()
        .backward()
        .unwrap();
    assert_eq!(x.grad(), Some(array![0.0, 0.0, 0.0, 0.0, -10.0]));
}

#[test]
fn a_tensor_that_examples_compute_once_belongs_to_all() {
    let x = leaf(array![1.0, 2.0, 3.0]);
    let w = leaf(array![2.0]);
    let computed = OnceLock::new();
    let y = vmap(
        |x| (x * computed.get_or_init(|| w.exp())).sum(),
        Axis(0),
        &x,
    )
    .unwrap();
    y.sum().backward().unwrap();
    let exp = 2.0_f64.exp();
    let found = w.grad().unwrap()[0];
    assert!((found - 6.0 * exp).abs() < 1e-12, "{found}");
    assert_eq!(x.grad(), Some(array![exp, exp, exp]));
}

#[test]
fn a_long_chain_of_maps_is_dropped_without_recursion() {
    let w = leaf(array![1.0]);
    let x = Tensor::from(array![1.0, 1.0]);
    let mut last = w.clone();
    for _ in 0..4_000 {
        // Captured, so that the examples hold what is before them.
        last = vmap(|x| x * &last, Axis(0), &x).unwrap().sum_axis(Axis(0)) * 0.5;
    }
    last.sum().backward().unwrap();
    assert_eq!(w.grad(), Some(array![1.0]));
    drop(last);
}

#[test]
fn an_error_names_the_example() {
    let x = leaf(array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    let singular = |x: &Tensor1<f64>| -> Result<_, Error> {
        if x.view()[0] > 2.0 {
            grad(&x.detach().sum(), x)
        } else {
            Ok(x.clone())
        }
    };
    let error = vmap(singular, Axis(0), &x).unwrap_err();
    let ErrorKind::Example {
        example,
        error: inner,
    } = error.kind()
    else {
        panic!("{error}");
    };
    assert_eq!((*example, inner.kind()), (1, &ErrorKind::NoGraph));
    assert_eq!(error.applied_at().unwrap().file(), file!());
}

/// Maps over the rows of `x`, and returns the sums and what the function passed to `keep`.
fn keeping(
    x: &Tensor2<f64>,
    of: impl Fn(&Tensor1<f64>) -> Tensor1<f64> + Sync,
) -> (Tensor1<f64>, Vec<Tensor1<f64>>) {
    let kept = Mutex::new(Vec::new());
    let sums = vmap(
        |x: &Tensor1<f64>| {
            let of = of(x);
            kept.lock().unwrap().push(of.clone());
            of.sum()
        },
        Axis(0),
        x,
    );
    (sums.unwrap(), kept.into_inner().unwrap())
}

#[test]
fn a_pass_through_a_tensor_that_left_its_example_is_an_error() {
    let x = leaf(array![[1.0, 2.0], [3.0, 4.0]]);
    let w = leaf(array![5.0, 6.0]);
    let (y, kept) = keeping(&x, |x| x * &w);
    let refused = |error: Error| {
        assert!(
            matches!(error.kind(), ErrorKind::LeftExample { .. }),
            "{error}"
        );
        assert!(
            error.to_string().contains("of `vmap` left the example"),
            "{error}"
        );
        assert_eq!(error.applied_at().unwrap().file(), file!());
    };
    let penalty = kept
        .iter()
        .fold(y.sum() * 0.0, |sum, z| sum + z.powi(2).sum());
    refused(penalty.backward().unwrap_err());
    refused(
        Grad::of(&penalty)
            .retain_graph(true)
            .run((&x, &w))
            .unwrap_err(),
    );
    refused(Backward::of(&penalty).inputs(&x).run().unwrap_err());
    assert_eq!((x.grad(), w.grad()), (None, None));
    // Nothing was freed.
    y.sum().backward().unwrap();
    assert_eq!(x.grad(), Some(array![[5.0, 6.0], [5.0, 6.0]]));

    // In another example, and in another map.
    let first = OnceLock::new();
    let shared = vmap(
        |x: &Tensor1<f64>| (x * first.get_or_init(|| x * 2.0)).sum(),
        Axis(0),
        &x,
    )
    .unwrap();
    refused(shared.sum().backward().unwrap_err());
    let (_, kept) = keeping(&x, |x| x * 2.0);
    let later = vmap(|x: &Tensor1<f64>| (x * &kept[0]).sum(), Axis(0), &x).unwrap();
    refused(later.sum().backward().unwrap_err());
}

#[test]
fn a_tensor_that_left_its_example_is_refused_in_second_derivatives() {
    let x = leaf(array![[1.0, 2.0], [3.0, 4.0]]);
    let inside: Mutex<Vec<Tensor1<f64>>> = Mutex::new(Vec::new());
    let inside = std::sync::Arc::new(inside);
    let y: Tensor2<f64> = vmap(
        |x: &Tensor1<f64>| {
            let cube = x.powi(3);
            let kept = std::sync::Arc::clone(&inside);
            cube.register_hook(move |grad| {
                kept.lock().unwrap().push(grad * 1.0);
                None
            });
            cube.powi(2)
        },
        Axis(0),
        &x,
    )
    .unwrap();
    let v = leaf(array![[1.0, 1.0], [1.0, 1.0]]);
    let first = Grad::of(&y).seed(&v).create_graph(true).run(&x).unwrap();
    let kept = std::mem::take(&mut *inside.lock().unwrap());
    assert!(kept[0].requires_grad());
    let error = kept[0].sum().backward().unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::LeftExample { .. }),
        "{error}"
    );
    // What was returned has its derivatives: 6 x⁵ and 30 x⁴.
    first.sum().backward().unwrap();
    assert_eq!(x.grad(), Some(x.to_array().mapv(|x| 30.0 * x.powi(4))));
    assert_eq!(v.grad(), Some(x.to_array().mapv(|x| 6.0 * x.powi(5))));
}

#[test]
fn passes_within_an_example_end_at_its_inputs() -> Result<(), Error> {
    let (x, w) = (leaf(array![[1.0, 2.0], [3.0, 4.0]]), leaf(array![5.0, 6.0]));
    let y = vmap(
        |x: &Tensor1<f64>| -> Result<_, Error> {
            (x * &w).sum().backward()?;
            // On threads of an inner map, which captures the example.
            vmap(
                |w: &Tensor0<f64>| -> Result<_, Error> {
                    (x * w).sum().backward()?;
                    Ok(x.sum() * w)
                },
                Axis(0),
                &w,
            )
        },
        Axis(0),
        &x,
    )?;
    assert_eq!(w.grad(), Some(array![4.0, 6.0]));
    y.sum().backward()?;
    assert_eq!(x.grad(), Some(array![[11.0, 11.0], [11.0, 11.0]]));
    // Without a gradient to lose, nothing is refused.
    let (y, kept) = keeping(&x.detach(), |x| x * &w);
    w.zero_grad();
    kept.iter()
        .fold(y.sum(), |sum, z| sum + z.sum())
        .backward()?;
    assert_eq!(w.grad(), Some(array![8.0, 12.0]));
    Ok(())
}

#[test]
fn a_panic_in_an_example_reaches_the_caller() {
    let x = Tensor::from(numbers(100, 0.5));
    let small = |x: &Tensor0<f64>| {
        assert!(!x.requires_grad() && x.item() < 2.0);
        assert!(x.item() > 1.0, "a number that is too small");
        x.clone()
    };
    // On whatever thread it was.
    let panic = catch_unwind(AssertUnwindSafe(|| vmap(small, Axis(0), &x)));
    let panic = panic.expect_err("a panic");
    let text = panic_text(&*panic);
    let example = text.strip_prefix("example ");
    let example =
        example.and_then(|text| text.strip_suffix(" of `vmap`: a number that is too small"));
    let example: usize = example.expect(text).parse().expect(text);
    assert!(x.view()[example] <= 1.0);
}

#[test]
fn a_panic_names_the_example_at_the_line_of_vmap() {
    let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    let second = |x: &Tensor0<f64>| {
        assert!(x.item() != 4.0, "no fours");
        x * 2.0
    };
    let of_rows = |x: &Tensor1<f64>| vmap(second, Axis(0), x).unwrap();
    let (message, file, _) = panic_of(|| vmap(of_rows, Axis(0), &x));
    assert_eq!(
        message,
        "example 1 of `vmap`: example 1 of `vmap`: no fours"
    );
    assert_eq!(file, file!());
    // In forward mode, where the examples are one after the other.
    let (message, ..) = panic_of(|| {
        jvp(
            |x: &Tensor2<f64>| vmap(of_rows, Axis(0), x).unwrap(),
            &x,
            &x,
        )
    });
    assert_eq!(
        message,
        "example 1 of `vmap`: example 1 of `vmap`: no fours"
    );
}

#[test]
fn mistakes_in_shapes_are_panics_at_the_call() {
    let refused = |expected: &str, (message, file, _): (String, String, u32)| {
        assert_eq!(message, expected);
        assert_eq!(file, file!());
    };
    let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    let y = Tensor::from(array![1.0, 2.0]);
    refused(
        "vmap over axis 2 of a tensor of shape [3, 2]: the axis is out of range",
        panic_of(|| vmap(|x| x.sum(), Axis(2), &x)),
    );
    refused(
        "vmap over axis 0 of tensors of shapes [3, 2] and [2]: they differ in the number of examples",
        panic_of(|| vmap(|(x, _)| x.sum(), Axis(0), (&x, &y))),
    );
    let empty = Tensor::from(Array2::<f64>::zeros((0, 2)));
    refused(
        "vmap over axis 0 of a tensor of shape [0, 2]: the batch is empty, so output shapes are unknown",
        panic_of(|| vmap(|x| x.sum(), Axis(0), &empty)),
    );
    let by_sign = |x: &Tensor1<f64>| {
        let length = if x.view()[0] > 4.0 { 1 } else { 2 };
        x.slice(pullback::ndarray::s![..length])
    };
    refused(
        "vmap: example 2 returned a tensor of shape [1], others returned one of shape [2]",
        panic_of(|| vmap(by_sign, Axis(0), &x)),
    );
    let list = |x: &Tensor1<f64>| vec![x.clone(); if x.view()[0] > 4.0 { 1 } else { 2 }];
    refused(
        "vmap: examples returned lists of tensors of different lengths",
        panic_of(|| vmap(list, Axis(0), &x)),
    );
}
