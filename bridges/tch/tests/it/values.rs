//! Values and gradients.

use pullback::{Tensor0, Tensor1, Tensor2, TensorD};
use pullback_fixtures::{MulConstant, above_smallest, linear, polar};
use pullback_tch::apply;
use tch::{Kind, Tensor};

use crate::*;

#[test]
fn squash_is_what_libtorch_computes() {
    for seed in 0..20_u32 {
        let (rows, columns) = (1 + i64::from(seed % 4), 1 + i64::from(seed % 7));
        let seed = u64::from(seed);
        for (kind, tolerance) in [(Kind::Float, 2e-5), (Kind::Double, 1e-13)] {
            let x = random(seed, &[rows, columns], kind).set_requires_grad(true);
            let limit = random(seed + 100, &[rows, 1], kind).abs() + 0.5;
            let limit = limit.set_requires_grad(true);
            let (y, expected) = (squash_2(&x, &limit), squash_of_libtorch(&x, &limit));
            assert_same(&y, &expected, &[&x, &limit], tolerance);
        }
    }
}

#[test]
fn linear_with_and_without_a_bias() {
    let x = random(1, &[5, 3], Kind::Float).set_requires_grad(true);
    let weight = random(2, &[4, 3], Kind::Float).set_requires_grad(true);
    let bias = random(3, &[4], Kind::Float).set_requires_grad(true);

    let without = |(x, weight): (&Tensor2<f32>, &Tensor2<f32>)| linear(x, weight, None);
    let found = apply(without, (&x, &weight)).unwrap();
    let expected = x.linear(&weight, None::<&Tensor>);
    assert_same(&found, &expected, &[&x, &weight], 1e-5);

    let with = |(x, weight, bias): (&Tensor2<f32>, &Tensor2<f32>, &Tensor1<f32>)| {
        linear(x, weight, Some(bias))
    };
    let found = apply(with, (&x, &weight, &bias)).unwrap();
    let expected = x.linear(&weight, Some(&bias));
    assert_same(&found, &expected, &[&x, &weight, &bias], 1e-5);
}

#[test]
fn outputs_that_are_not_used_have_gradients_of_zeros() {
    let (x, y) = (random(5, &[6], Kind::Double), random(6, &[6], Kind::Double));
    let (x, y) = (x.set_requires_grad(true), y.set_requires_grad(true));
    let polar = |(x, y): (&Tensor1<f64>, &Tensor1<f64>)| polar(x, y);
    let (radius, angle) = apply(polar, (&x, &y)).unwrap();
    let expected = ((x.square() + y.square()).sqrt(), y.atan2(&x));
    for (found, expected) in [
        (radius.shallow_clone(), expected.0.shallow_clone()),
        (angle.shallow_clone(), expected.1.shallow_clone()),
        (radius * angle, expected.0 * expected.1),
    ] {
        assert_same(&found, &expected, &[&x, &y], 1e-13);
    }
}

#[test]
fn values_beside_tensors_are_the_closures() {
    let x = leaf(&[1.0, 2.0]).view([1, 2]);
    let y = apply(|x: &Tensor2<f64>| MulConstant::apply(x, 2.5), &x).unwrap();
    assert_eq!(numbers(&y), [2.5, 5.0]);
    assert_eq!(numbers(&gradients(&y, &[&x])[0]), [2.5, 2.5]);

    let mut place = 0;
    let x = leaf(&[3.0, 1.0, 2.0]);
    let found = std::cell::Cell::new(0);
    let distances = |x: &Tensor1<f64>| {
        let (distances, place) = above_smallest(x);
        found.set(place);
        distances
    };
    let y = apply(distances, &x).unwrap();
    place += found.get();
    assert_eq!((numbers(&y), place), (vec![2.0, 0.0, 1.0], 1));
    assert_eq!(numbers(&gradients(&y, &[&x])[0]), [1.0, -2.0, 1.0]);
}

#[test]
fn memory_in_another_order_is_read_in_its_order() {
    let base = random(7, &[4, 6], Kind::Double).set_requires_grad(true);
    let limit = (random(8, &[3], Kind::Double).abs() + 0.5).expand([4, 3], false);
    let of_imaginary = Tensor::complex(&base, &base).conj().imag();
    let views = [
        base.slice(1, 0, 6, 2),
        base.slice(1, 3, 6, 1),
        base.narrow(1, 1, 3).flip([0]),
        of_imaginary.narrow(1, 0, 3),
        base.view([6, 4]).narrow(0, 1, 3).tr(),
    ];
    for x in &views {
        let (found, expected) = (squash_2(x, &limit), squash_of_libtorch(x, &limit));
        assert_close(&found, &expected, 1e-14);
        // The gradient of a sum has no memory of its own: every element is the same number.
        let (found, expected) = (gradients(&found, &[&base]), gradients(&expected, &[&base]));
        assert_close(&found[0], &expected[0], 1e-13);
    }
    let zeros = Tensor::internal_efficientzerotensor([4, 3], (Kind::Double, tch::Device::Cpu));
    assert_eq!(numbers(&squash_2(&zeros, &limit)), [0.0; 12]);
}

#[test]
fn tensors_without_axes_and_without_elements() {
    let x = Tensor::from(3.0).set_requires_grad(true);
    let y = apply(|x: &Tensor0<f64>| x * x, &x).unwrap();
    assert_eq!((y.size(), y.double_value(&[])), (vec![], 9.0));
    y.backward();
    assert_eq!(x.grad().double_value(&[]), 6.0);

    for shape in [&[0][..], &[3, 0], &[0, 2, 1]] {
        let x = Tensor::zeros(shape, tch::kind::FLOAT_CPU).set_requires_grad(true);
        let (y, sum) = apply(|x: &TensorD<f32>| (x * 2.0, x.sum()), &x).unwrap();
        assert_eq!((y.size(), sum.double_value(&[])), (shape.to_vec(), 0.0));
        (y.sum(Kind::Float) + sum).backward();
        assert_eq!(x.grad().size(), shape);
    }
}

#[test]
fn lists_are_inputs_and_outputs() {
    let x = leaf(&[2.0, 3.0]);
    let parts = [leaf(&[1.0, 1.0]), leaf(&[4.0, 5.0])];
    let scaled = |(x, parts): (&Tensor1<f64>, &[Tensor1<f64>])| {
        parts.iter().map(|part| x * part).collect::<Vec<_>>()
    };
    let outputs = apply(scaled, (&x, &parts)).unwrap();
    assert_eq!((outputs.len(), numbers(&outputs[1])), (2, vec![8.0, 15.0]));
    let grads = gradients(&(&outputs[0] + &outputs[1]), &[&x, &parts[0], &parts[1]]);
    let grads: Vec<_> = grads.iter().map(numbers).collect();
    assert_eq!(grads, [[5.0, 6.0], [2.0, 3.0], [2.0, 3.0]]);
    let none = apply(|parts: &[Tensor1<f64>]| parts.to_vec(), &[] as &[Tensor]).unwrap();
    assert!(none.is_empty());
}

#[test]
fn memory_is_not_copied_on_the_way_in_or_out() {
    let x = leaf(&[1.0, 2.0, 3.0, 4.0]);
    let places = std::cell::Cell::new([0; 2]);
    let function = |x: &Tensor1<f64>| {
        let y = x * 2.0;
        places.set([x.view().as_ptr() as usize, y.view().as_ptr() as usize]);
        y
    };
    let y = apply(function, &x).unwrap();
    assert_eq!(places.get(), [x.data_ptr() as usize, y.data_ptr() as usize]);
    // A view is read where it begins.
    let part = x.narrow(0, 1, 2);
    assert_eq!(numbers(&apply(function, &part).unwrap()), [4.0, 6.0]);
    assert_eq!(places.get()[0], part.data_ptr() as usize);
}

#[test]
fn an_output_never_shares_memory_with_an_input_or_with_what_was_saved() {
    let x = leaf(&[0.0, 1.0]);
    let mut same = apply(|x: &Tensor1<f64>| x.clone(), &x).unwrap();
    assert_ne!(same.data_ptr(), x.data_ptr());
    let _ = same.g_mul_scalar_(2.0);
    assert_eq!(numbers(&x), [0.0, 1.0]);

    // It saves what it returns.
    let mut y = apply(|x: &Tensor1<f64>| x.exp(), &x).unwrap();
    let _ = y.g_mul_scalar_(2.0);
    let grad = &gradients(&y, &[&x])[0];
    assert_close(grad, &(x.exp() * 2.0), 1e-15);
}
