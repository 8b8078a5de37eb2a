//! Values and gradients of functions, beside burn's own operations.

use burn::tensor::{DType, Tensor};
use pullback::{Tensor0, Tensor1, Tensor2};
use pullback_burn::apply;
use pullback_fixtures::{MulConstant, above_smallest, linear, polar, squash};

use super::{Random, assert_close, devices, numbers, twin};

fn burns_squash(x: Tensor<2>, limit: Tensor<2>) -> Tensor<2> {
    x.clone() / ((x / limit).powi_scalar(2) + 1.0).sqrt()
}

#[test]
fn squash_of_twenty_random_cases() {
    let mut random = Random(1);
    for case in 0..20 {
        let (rows, columns) = (random.length(), random.length());
        // Broadcast along each of the axes, and along none.
        let of_limit = [[rows, columns], [1, columns], [rows, 1]][case % 3];
        for device in devices() {
            for dtype in [DType::F32, DType::F64] {
                let x = random.leaf([rows, columns], dtype, &device);
                let limit = random.tensor(of_limit, dtype, &device).abs() + 0.5;
                let limit = limit.detach().require_grad();
                let weights = random.tensor([rows, columns], dtype, &device);
                let of_burn = (twin(&x), twin(&limit));

                let inputs = (x.clone(), limit.clone());
                let y: Tensor<2> = if dtype == DType::F32 {
                    apply(
                        |(x, limit): (&Tensor2<f32>, &Tensor2<f32>)| squash(x, limit),
                        inputs,
                    )
                } else {
                    apply(
                        |(x, limit): (&Tensor2<f64>, &Tensor2<f64>)| squash(x, limit),
                        inputs,
                    )
                };
                let expected = burns_squash(of_burn.0.clone(), of_burn.1.clone());
                assert_close(y.clone(), expected.clone());
                let grads = (y * weights.clone()).sum().backward();
                let expected = (expected * weights).sum().backward();
                assert_close(x.grad(&grads).unwrap(), of_burn.0.grad(&expected).unwrap());
                assert_close(
                    limit.grad(&grads).unwrap(),
                    of_burn.1.grad(&expected).unwrap(),
                );
            }
        }
    }
}

#[test]
fn linear_of_two_and_three() {
    let mut random = Random(2);
    for device in devices() {
        let x = random.leaf([3, 4], DType::F32, &device);
        let w = random.leaf([2, 4], DType::F32, &device);
        let b = random.leaf([2], DType::F32, &device);
        let burns = (twin(&x), twin(&w), twin(&b));
        let product = || burns.0.clone().matmul(burns.1.clone().transpose());
        let gradients = |y: Tensor<2>, expected: Tensor<2>| {
            assert_close(y.clone(), expected.clone());
            let [grads, expected] = [y, expected].map(|y| y.powi_scalar(2).sum().backward());
            assert_close(x.grad(&grads).unwrap(), burns.0.grad(&expected).unwrap());
            assert_close(w.grad(&grads).unwrap(), burns.1.grad(&expected).unwrap());
            (grads, expected)
        };
        let y = apply(
            |(x, w): (&Tensor2<f32>, &Tensor2<f32>)| linear(x, w, None),
            (x.clone(), w.clone()),
        );
        gradients(y, product());
        let y = apply(
            |(x, w, b): (&Tensor2<f32>, &Tensor2<f32>, &Tensor1<f32>)| linear(x, w, Some(b)),
            (x.clone(), w.clone(), b.clone()),
        );
        let (grads, expected) = gradients(y, product() + burns.2.clone().unsqueeze());
        assert_close(b.grad(&grads).unwrap(), burns.2.grad(&expected).unwrap());
    }
}

#[test]
fn polar_has_two_outputs() {
    let mut random = Random(3);
    for device in devices() {
        let (x, y) = (
            random.leaf([5], DType::F64, &device),
            random.leaf([5], DType::F64, &device),
        );
        // The gradients of both outputs, and of either alone.
        for (of_radius, of_angle) in [(1.0, 1.0), (1.0, 0.0), (0.0, 1.0)] {
            let burns = (twin(&x), twin(&y));
            let loss = |radius: Tensor<1>, angle: Tensor<1>| match (of_radius, of_angle) {
                (1.0, 1.0) => (radius.exp() * angle).sum(),
                (1.0, _) => radius.exp().sum(),
                _ => angle.powi_scalar(2).sum(),
            };
            let (radius, angle) = apply(
                |(x, y): (&Tensor1<f64>, &Tensor1<f64>)| polar(x, y),
                (x.clone(), y.clone()),
            );
            let expected = (
                (burns.0.clone() * burns.0.clone() + burns.1.clone() * burns.1.clone()).sqrt(),
                burns.1.clone().atan2(burns.0.clone()),
            );
            assert_close(radius.clone(), expected.0.clone());
            assert_close(angle.clone(), expected.1.clone());
            let grads = loss(radius, angle).backward();
            let expected = loss(expected.0, expected.1).backward();
            assert_close(x.grad(&grads).unwrap(), burns.0.grad(&expected).unwrap());
            assert_close(y.grad(&grads).unwrap(), burns.1.grad(&expected).unwrap());
        }
    }
}

type Vector = Tensor1<f64>;

#[test]
fn five_inputs_and_forty() {
    let five = |(a, b, c, d, e): (&Vector, &Vector, &Vector, &Vector, &Vector)| a * b * c * d * e;
    let mut random = Random(4);
    for device in devices() {
        let [a, b, c, d, e] = std::array::from_fn(|_| random.leaf([3], DType::F64, &device));
        let product = |x: &Tensor<1>, y: &Tensor<1>| x.clone() * y.clone();
        let of_burn = product(&product(&a, &b), &product(&c, &d)) * e.clone();
        let expected = of_burn.clone().powi_scalar(2).sum().backward();
        let y = apply(
            five,
            (a.clone(), b.clone(), c.clone(), d.clone(), e.clone()),
        );
        assert_close(y.clone(), of_burn);
        let grads = y.powi_scalar(2).sum().backward();
        for x in [a, b, c, d, e] {
            assert_close(x.grad(&grads).unwrap(), x.grad(&expected).unwrap());
        }

        let many: Vec<Tensor<1>> = (0..40)
            .map(|_| random.leaf([2], DType::F64, &device))
            .collect();
        let sums = |(first, others): (&Vector, &[Vector])| {
            let sum: Vector = others.iter().cloned().sum();
            (first * &sum, vec![sum.clone(), &sum * first])
        };
        let (y, others) = apply(sums, (many[0].clone(), many[1..].to_vec()));
        assert_eq!(others.len(), 2);
        let sum = many[2..]
            .iter()
            .cloned()
            .fold(many[1].clone(), |sum, x| sum + x);
        assert_close(others[0].clone(), sum.clone());
        let expected = (sum * many[0].clone() * 2.0).sum().backward();
        let grads = (y + others[1].clone()).sum().backward();
        for x in many {
            assert_close(x.grad(&grads).unwrap(), x.grad(&expected).unwrap());
        }
    }
}

#[test]
fn scalars_have_one_axis_in_burn() {
    for device in devices() {
        let x = Tensor::<1>::from_data([1.0, 2.0], (&device, DType::F64)).require_grad();
        let factor = Tensor::<1>::from_data([3.0], (&device, DType::F64)).require_grad();
        let scaled = |(x, factor): (&Vector, &Tensor0<f64>)| (x * factor, factor * 2.0);
        let (y, twice) = apply(scaled, (x.clone(), factor.clone()));
        assert_eq!(
            (numbers(y.clone()), numbers(twice.clone())),
            (vec![3.0, 6.0], vec![6.0])
        );
        let grads = (y.sum() * twice).backward();
        assert_eq!(numbers(x.grad(&grads).unwrap()), [18.0, 18.0]);
        // (x₁+x₂)·2·factor²
        assert_eq!(numbers(factor.grad(&grads).unwrap()), [36.0]);
    }
}

#[test]
fn what_is_not_a_tensor_stays_in_the_closure() {
    for device in devices() {
        let x = Tensor::<2>::from_data([[1.0, -2.0]], (&device, DType::F64)).require_grad();
        let constant = 2.5;
        let y = apply(
            move |x: &Tensor2<f64>| MulConstant::apply(x, constant),
            x.clone(),
        );
        assert_eq!(numbers(x.grad(&y.sum().backward()).unwrap()), [2.5, 2.5]);

        let x = Tensor::<1>::from_data([3.0, 1.0, 2.0], (&device, DType::F64)).require_grad();
        let mut place = 0;
        let seen = std::sync::Mutex::new(&mut place);
        let above = |x: &Vector| {
            let (distances, place) = above_smallest(x);
            **seen.lock().unwrap() = place;
            distances
        };
        let y = apply(above, x.clone());
        assert_eq!(numbers(y.clone()), [2.0, 0.0, 1.0]);
        assert_eq!(
            numbers(x.grad(&y.powi_scalar(2).sum().backward()).unwrap()),
            [4.0, -6.0, 2.0]
        );
        assert_eq!(place, 1);
    }
}
